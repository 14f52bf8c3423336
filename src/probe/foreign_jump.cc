#include "probe/foreign_jump.h"

#include <array>

#include "arch/machine.h"
#include "live_image/live_image.h"
#include "live_image/relocate.h"
#include "surgery/surgery.h"

namespace jitscope {

uint64_t jump_target(const Process& process, uint64_t entry) {
  std::array<std::byte, jump_length> bytes{};
  if (entry == 0 || !process.memory().read(entry, bytes)) return 0;
  return machine::jump_target(entry, bytes);
}

bool leads_into_live_image(const Process& process, uint64_t entry) {
  const uint64_t target = jump_target(process, entry);
  if (target == 0) return false;
  const auto maps = process.maps();
  if (!maps) return false;
  const Mapping* mapping = find_mapping(*maps, target);
  // Uprobes on its pages and what was written to it may have split an image's mapping, so its
  // beginning is looked for by the file.
  if (mapping == nullptr || !mapping->file_backed() || !mapping->executable) return false;
  const uint64_t base = mapping->start - mapping->offset;
  Bytes page(live_image_page);
  return process.memory().read(base, page) && looks_like_live_image(page);
}

}  // namespace jitscope
