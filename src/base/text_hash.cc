// Eight bytes at a time, folded by a 64x64-bit multiplication; see text_hash.h.
#include "base/text_hash.h"

#include <cstring>
#include <random>

namespace jitscope {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
}

uint64_t load(const char* from, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, from, count);
  return value;
}

}  // namespace

uint64_t text_hash_key() {
  static const uint64_t key = [] {
    std::random_device device;
    return (uint64_t{device()} << 32U) ^ device();
  }();
  return key;
}

uint64_t text_hash(std::string_view text, uint64_t key) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;
  constexpr uint64_t kOther = 0xd6e8feb86659fd93U;
  uint64_t hash = key ^ (text.size() * kOdd);
  const char* at = text.data();
  size_t left = text.size();
  while (left >= 16) {
    hash = fold(load(at, 8) ^ kOdd ^ key, load(at + 8, 8) ^ hash);
    at += 16;
    left -= 16;
  }
  uint64_t low = 0;
  uint64_t high = 0;
  if (left > 8) {
    low = load(at, 8);
    high = load(at + 8, left - 8);
  } else if (left > 0) {
    low = load(at, left);
  }
  hash = fold(low ^ kOdd ^ key, high ^ hash);
  return fold(hash ^ kOther, kOdd ^ key);
}

}  // namespace jitscope
