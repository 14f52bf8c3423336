// Level-by-level reading of structs; see batch.h.
#include "runtimes/hotspot/batch.h"

#include <algorithm>

namespace jitscope::hotspot {

void StructBatch::add(uint64_t address) {
  // Everything that is read here is allocated on 8 bytes; anything else is a torn pointer.
  if (address == 0 || (address & 7U) != 0) return;
  if (index_.try_emplace(address, addresses_.size()).second) addresses_.push_back(address);
}

void StructBatch::read(MemoryReader& memory) {
  // In order of address: neighbours share pages, which process_vm_readv pins one by one.
  std::sort(addresses_.begin(), addresses_.end());
  for (size_t i = 0; i < addresses_.size(); ++i) index_[addresses_[i]] = i;
  bytes_.resize(addresses_.size() * size_);
  readable_.assign(addresses_.size(), false);
  std::vector<MemoryReader::Range> ranges;
  ranges.reserve(addresses_.size());
  for (size_t i = 0; i < addresses_.size(); ++i) {
    ranges.push_back({addresses_[i], std::span(bytes_).subspan(i * size_, size_), false});
  }
  memory.read_many(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) readable_[i] = ranges[i].ok;
}

std::span<const std::byte> StructBatch::get(uint64_t address) const {
  const auto found = index_.find(address);
  if (found == index_.end() || found->second >= readable_.size() || !readable_[found->second]) {
    return {};
  }
  return std::span(bytes_).subspan(found->second * size_, size_);
}

}  // namespace jitscope::hotspot
