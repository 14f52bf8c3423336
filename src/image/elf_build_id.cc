#include "image/elf_build_id.h"

#include <xxhash.h>

#include <cstring>
#include <new>

namespace jitscope {
namespace {

XXH3_state_t* state_of(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

}  // namespace

ContentDigest content_digest(std::span<const std::byte> bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  ContentDigest result;
  static_assert(sizeof(digest) == sizeof(result));
  std::memcpy(result.data(), &digest, sizeof(digest));
  return result;
}

void BuildIdHash::Free::operator()(void* state) const {
  XXH3_freeState(state_of(state));
}

BuildIdHash::BuildIdHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_of(state_.get()));
}

void BuildIdHash::add(uint64_t number) {
  add(std::as_bytes(std::span(&number, 1)));
}

void BuildIdHash::add(const ContentDigest& digest) {
  add(std::span<const std::byte>(digest));
}

void BuildIdHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_of(state_.get()), bytes.data(), bytes.size());
}

std::array<std::byte, kBuildIdSize> BuildIdHash::finish() const {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state_of(state_.get())));
  // Four bytes more, so that it has the length of the build-ids that linkers write.
  XXH32_canonical_t rest;
  XXH32_canonicalFromHash(&rest, XXH32(&digest, sizeof(digest), 0));
  std::array<std::byte, kBuildIdSize> id;
  static_assert(sizeof(digest) + sizeof(rest) == kBuildIdSize);
  std::memcpy(id.data(), &digest, sizeof(digest));
  std::memcpy(id.data() + sizeof(digest), &rest, sizeof(rest));
  return id;
}

}  // namespace jitscope
