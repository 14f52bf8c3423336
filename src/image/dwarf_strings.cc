#include "image/dwarf_strings.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/text_hash.h"

namespace jitscope {

bool StringSection::holds(uint32_t offset, std::string_view text) const {
  const auto all = bytes_.bytes();
  return all.size() - offset > text.size() && all[offset + text.size()] == std::byte{0} &&
         std::memcmp(all.data() + offset, text.data(), text.size()) == 0;
}

void StringSection::grow() {
  std::vector<Slot> old(std::max<size_t>(slots_.size() * 2, 256));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.offset == 0) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].offset != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

uint32_t StringSection::add(std::string_view text) {
  if (text.empty()) return 0;
  std::string cleaned;
  if (std::memchr(text.data(), 0, text.size()) != nullptr) {
    cleaned = text;
    std::ranges::replace(cleaned, '\0', '?');
    text = cleaned;
  }
  if ((used_ + 1) * 2 > slots_.size()) grow();
  const auto hash = static_cast<uint32_t>(text_hash(text) >> 32U);
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  for (; slots_[i].offset != 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && holds(slots_[i].offset, text)) return slots_[i].offset;
  }
  const auto offset = static_cast<uint32_t>(bytes_.size());
  bytes_.text(text);
  if (!too_large()) {
    slots_[i] = {hash, offset};
    ++used_;
  }
  return offset;
}

}  // namespace jitscope
