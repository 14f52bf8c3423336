#include "probe/undo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/plural.h"
#include "base/unique_fd.h"
#include "image/live_image.h"
#include "image/relocate.h"
#include "probe/image_home.h"
#include "probe/patience.h"
#include "process/surgery.h"

namespace jitscope {
namespace {

constexpr uint64_t most_image_bytes = 64U << 20U;

// A jitscope at work holds a lock on the image's open file; the kernel drops it when it dies.
bool held_by_another(const Mapping& mapping, pid_t pid) {
  const UniqueFd fd(::open(mapping.map_files_path(pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

// Files of this target's images that no living jitscope holds: of images, and of pages that an
// in-place site was put on (their mapping stays, as the image's does).
size_t remove_files(const Process& process, bool even_in_use) {
  size_t removed = 0;
  for (const std::string& path : find_image_files(process)) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info = {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_uid != 0 && info.st_uid != ::geteuid()) continue;  // not made by us
    if (!even_in_use && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (::unlink(path.c_str()) == 0) ++removed;
  }
  return removed;
}

// Our jumps that lie in the target now. An entry may stand in several records (it was tried again,
// or another body came to lie there): the jump that is there tells which one counts.
std::vector<Patch> jumps_in_place(const Process& process, uint64_t base, const ParsedImage& image,
                                  size_t& not_ours) {
  std::vector<Patch> jumps;
  Bytes seen(image.records.size() * jump_length);
  std::vector<MemoryReader::Range> ranges;
  for (const ImageRecord& record : image.records) {
    const auto out = std::span(seen).subspan(ranges.size() * jump_length, jump_length);
    ranges.push_back({record.entry, out, false});
  }
  process.memory().read_many(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ImageRecord& record = image.records[i];
    auto jump = encode_jump(record.entry, base + record.slot_offset);
    if (!ranges[i].ok || !jump || record.original_length < jump_length ||
        !std::ranges::equal(ranges[i].out, *jump)) {
      ++not_ours;
      continue;
    }
    Patch patch;
    patch.address = record.entry;
    patch.expected = std::move(*jump);
    patch.replacement.assign(record.original, record.original + jump_length);
    jumps.push_back(std::move(patch));
  }
  return jumps;
}

// Records that repeat each other (a damaged or forged table) would make one surgery of all
// impossible.
void drop_overlaps(std::vector<Patch>& patches, size_t& not_ours) {
  std::ranges::stable_sort(patches, {}, &Patch::address);
  uint64_t taken_to = 0;
  not_ours += std::erase_if(patches, [&](const Patch& patch) {
    if (patch.address < taken_to) return true;
    taken_to = patch.address + jump_length;
    return false;
  });
}

}  // namespace

std::string undo_command(pid_t pid) {
  return fmt::format("jitscope expose --undo -p {}", pid);
}

std::string left_text(size_t entries, pid_t pid) {
  const std::string_view them = entries == 1 ? "it" : "them";
  return fmt::format("{} left in the target, which runs on with {}; take {} back with: {}",
                     plural(entries, "jump is", "jumps are"), them, them, undo_command(pid));
}

Result<UndoReport> undo_all(const Process& process, bool even_in_use) {
  UndoReport report;
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  std::vector<Patch> patches;
  for (const Mapping& mapping : maps) {
    // By content, not by name alone: a deleted or renamed image is recognised too.
    if (!mapping.file_backed() || !mapping.executable || mapping.writable || mapping.offset != 0) {
      continue;
    }
    Bytes page(live_image_page);
    if (mapping.size() < page.size() || !process.memory().read(mapping.start, page)) continue;
    if (!looks_like_live_image(page)) continue;
    ++report.images;
    if (!even_in_use && held_by_another(mapping, process.pid())) {
      ++report.in_use;
      continue;
    }
    // Header and table lie in front; the target decides how large the mapping is.
    Bytes bytes(std::min<uint64_t>(mapping.size(), most_image_bytes));
    if (Status status = process.memory().read(mapping.start, bytes); !status) {
      if (status.error().kind == ErrorKind::target_gone) return fail(std::move(status.error()));
      report.notes.push_back(
          fmt::format("image at {:#x}: {}", mapping.start, to_string(status.error())));
      continue;
    }
    auto image = parse_live_image(bytes);
    if (!image) {
      report.notes.push_back(
          fmt::format("image at {:#x}: {}", mapping.start, to_string(image.error())));
      continue;
    }
    std::ranges::move(jumps_in_place(process, mapping.start, *image, report.entries_not_ours),
                      std::back_inserter(patches));
  }
  drop_overlaps(patches, report.entries_not_ours);
  if (!patches.empty()) {
    JITSCOPE_ASSIGN(const SurgeryReport surgery, apply_patiently(process, patches));
    report.stopped = surgery.stop.stopped;
    for (const PatchOutcome outcome : surgery.outcomes) {
      if (outcome == PatchOutcome::applied) {
        ++report.entries_restored;
      } else if (outcome == PatchOutcome::rolled_back) {
        return fail(ErrorKind::not_possible, "entries could not be written back", {},
                    "the target runs on with the trampolines, which is safe; try again");
      } else {
        ++report.entries_not_ours;
      }
    }
  }
  report.files_removed = remove_files(process, even_in_use);
  return report;
}

}  // namespace jitscope
