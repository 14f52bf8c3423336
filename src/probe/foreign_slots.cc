#include "probe/foreign_slots.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "probe/eligibility.h"
#include "probe/foreign_jump.h"
#include "probe/mapped_images.h"

namespace jitscope {
namespace {

struct KnownImage {
  uint64_t begin = 0;
  uint64_t end = 0;
  ParsedImage content;
  Bytes build_id;
  std::shared_ptr<UniqueFd> file;
};

// Who owns the file can write into it, and so decides what lies there tomorrow.
bool made_by_us_or_root(int fd) {
  struct stat about{};
  return ::fstat(fd, &about) == 0 && (about.st_uid == 0 || about.st_uid == ::geteuid());
}

Bytes build_id_at(const Process& process, uint64_t image) {
  Bytes page(live_image_page);
  if (!process.memory().read(image, page)) return {};
  const auto id = live_image_build_id(page);
  return {id.begin(), id.end()};
}

std::vector<KnownImage> known_images(const Process& process) {
  std::vector<KnownImage> known;
  const auto maps = process.maps();
  if (!maps) return known;
  for (MappedImage& mapped : find_mapped_images(process, *maps)) {
    if (!mapped.file || !made_by_us_or_root(mapped.file.get())) continue;
    auto content = read_mapped_image(process, mapped);
    if (!content) continue;
    known.push_back({mapped.address(), mapped.address() + mapped.length, std::move(*content),
                     build_id_at(process, mapped.address()),
                     std::make_shared<UniqueFd>(std::move(mapped.file))});
  }
  return known;
}

// What lay at the entry before the jump.
Bytes original_entry(const Process& process, const ImageRecord& record) {
  Bytes bytes(live_image_max_original);
  if (!process.memory().read(record.entry, bytes)) return {};
  std::copy_n(record.original, std::min(record.original_length, live_image_max_original),
              bytes.begin());
  return bytes;
}

ForeignSlot slot_of(const Process& process, const std::vector<KnownImage>& images,
                    const CodeBody& body) {
  const uint64_t target = jump_target(process, body.entry);
  for (const KnownImage& image : images) {
    if (target < image.begin || target >= image.end) continue;
    const uint64_t offset = target - image.begin;
    const auto record = std::ranges::find_if(image.content.records, [&](const ImageRecord& each) {
      return each.entry == body.entry && each.slot_offset == offset;
    });
    if (record == image.content.records.end() ||
        !why_not(body, original_entry(process, *record), EntryUse::jump).empty()) {
      return {};
    }
    return {target, offset, image.build_id, image.file};
  }
  return {};
}

}  // namespace

std::vector<ForeignSlot> find_foreign_slots(const Process& process,
                                            std::span<const CodeBody* const> bodies) {
  std::vector<ForeignSlot> slots(bodies.size());
  const bool any_jump = std::ranges::any_of(
      bodies, [&](const CodeBody* body) { return jump_target(process, body->entry) != 0; });
  if (!any_jump) return slots;
  const std::vector<KnownImage> images = known_images(process);
  std::ranges::transform(bodies, slots.begin(),
                         [&](const CodeBody* body) { return slot_of(process, images, *body); });
  return slots;
}

bool leads_to(const Process& process, uint64_t entry, const ForeignSlot& slot) {
  return jump_target(process, entry) == slot.address;
}

bool image_is_there(const Process& process, const ForeignSlot& slot) {
  return build_id_at(process, slot.address - slot.offset) == slot.build_id;
}

}  // namespace jitscope
