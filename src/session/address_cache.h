// AddressCache: answers for addresses of one process.
//
// This is asked for every frame of a recording and waits for memory most of the time, so addresses
// are kept in buckets of one cache line, which are compared without a branch. When mappings change,
// everything is forgotten.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/large_pages.h"

namespace jitscope {

class AddressCache {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    uint32_t location = kNone;
    uint32_t note = 0;  // the user's
  };

  AddressCache() : buckets_(kFirstSize) {}

  // Answers were given for another generation of the mappings: they no longer hold.
  void keep_for(uint32_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    if (used_ == 0) return;
    buckets_ = LargeVector<Bucket>(kFirstSize);
    used_ = 0;
  }

  void prefetch(uint64_t ip) const { __builtin_prefetch(&buckets_[place(ip)]); }
  // The answer for an address; without location when there is none.
  [[nodiscard]] Entry at(uint64_t ip) const {
    const size_t mask = buckets_.size() - 1;
    for (size_t i = place(ip);; i = (i + 1) & mask) {
      const Bucket& bucket = buckets_[i];
      if (const unsigned hits = bucket.hits(ip); hits != 0) return bucket.entries[first_way(hits)];
      if (bucket.entries.back().location == kNone) return {};
    }
  }
  void set(uint64_t ip, Entry entry) {
    const size_t mask = buckets_.size() - 1;
    for (size_t i = place(ip);; i = (i + 1) & mask) {
      Bucket& bucket = buckets_[i];
      for (size_t k = 0; k < kWays; ++k) {
        const bool fresh = bucket.entries[k].location == kNone;
        if (!fresh && bucket.ips[k] != ip) continue;
        bucket.ips[k] = ip;
        bucket.entries[k] = entry;
        if (fresh && ++used_ > buckets_.size() * kWays * 5 / 8) grow();
        return;
      }
    }
  }

 private:
  static constexpr size_t kFirstSize = 64;
  static constexpr size_t kWays = 4;
  // Filled from the front.
  struct alignas(64) Bucket {
    // Free ways have an ip that hardly anybody asks for, and no location.
    std::array<uint64_t, kWays> ips{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    std::array<Entry, kWays> entries{};
    // Four bits for each way that has the address.
    [[nodiscard]] unsigned hits(uint64_t ip) const {
#ifdef __SSE2__
      const __m128i wanted = _mm_set1_epi64x(static_cast<int64_t>(ip));
      const auto* pairs = reinterpret_cast<const __m128i*>(ips.data());
      const auto same = [&wanted](__m128i pair) {
        const __m128i halves = _mm_cmpeq_epi32(pair, wanted);
        return _mm_and_si128(halves, _mm_shuffle_epi32(halves, _MM_SHUFFLE(2, 3, 0, 1)));
      };
      const __m128i all =
          _mm_packs_epi32(same(_mm_load_si128(pairs)), same(_mm_load_si128(pairs + 1)));
      return static_cast<unsigned>(_mm_movemask_epi8(all));
#else
      unsigned found = 0;
      for (unsigned way = 0; way < kWays; ++way) found |= (ips[way] == ip ? 0xfU : 0U) << (4 * way);
      return found;
#endif
    }
  };
  static size_t first_way(unsigned hits) { return static_cast<size_t>(std::countr_zero(hits)) / 4; }
  static_assert(sizeof(Bucket) == 64);
  [[nodiscard]] size_t place(uint64_t ip) const {
    return static_cast<size_t>((ip * 0x9e3779b97f4a7c15ULL) >> 32U) & (buckets_.size() - 1);
  }
  void grow() {
    LargeVector<Bucket> old(buckets_.size() * 2);
    old.swap(buckets_);
    used_ = 0;
    for (const Bucket& bucket : old) {
      for (size_t k = 0; k < kWays && bucket.entries[k].location != kNone; ++k) {
        set(bucket.ips[k], bucket.entries[k]);
      }
    }
  }
  LargeVector<Bucket> buckets_;
  size_t used_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace jitscope
