#include "replay/last_chain.h"

#include <algorithm>

#include "formats/perfdata/callchain.h"

namespace jitscope {

size_t LastChain::shared(std::span<const uint64_t> now) const {
  // The first one behind a marker is no return address.
  const size_t most = std::min(now.size(), tail_ == 0 ? 0 : tail_ - 1);
  const uint64_t* const mine = words_.data() + words_.size();
  const uint64_t* const other = now.data() + now.size();
  const auto differ = [&](size_t i) { return *(mine - 1 - i) ^ *(other - 1 - i); };
  size_t count = 0;
  constexpr size_t step = 4;
  while (count + step <= most &&
         (differ(count) | differ(count + 1) | differ(count + 2) | differ(count + 3)) == 0) {
    count += step;
  }
  while (count < most && differ(count) == 0) ++count;
  if (count != 0 && (count == now.size() || perfdata::is_marker(now[now.size() - 1 - count]))) {
    --count;
  }
  return count;
}

void LastChain::set(std::span<const uint64_t> now, size_t shared, size_t tail,
                    perfdata::CpuMode mode) {
  if (words_.size() < tail) {
    std::vector<uint64_t> words(2 * tail);
    std::copy_backward(words_.end() - static_cast<ptrdiff_t>(shared), words_.end(), words.end());
    words_.swap(words);
  }
  std::ranges::copy(now.subspan(now.size() - tail, tail - shared),
                    words_.end() - static_cast<ptrdiff_t>(tail));
  tail_ = tail;
  mode_ = mode;
}

}  // namespace jitscope
