#include "probe/undo.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/plural.h"
#include "live_image/relocate.h"
#include "probe/image_home.h"
#include "probe/mapped_images.h"
#include "probe/patience.h"
#include "surgery/surgery.h"

namespace jitscope {
namespace {

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
  for (const MappedImage& mapped : find_mapped_images(process, maps)) {
    ++report.images;
    if (!even_in_use && is_in_use(mapped)) {
      ++report.in_use;
      continue;
    }
    auto image = read_mapped_image(process, mapped);
    if (!image) {
      if (image.error().kind == ErrorKind::target_gone) return fail(std::move(image.error()));
      ++report.unreadable;
      report.notes.push_back(
          fmt::format("image at {:#x}: {}", mapped.address(), to_string(image.error())));
      continue;
    }
    std::ranges::move(jumps_in_place(process, mapped.address(), *image, report.entries_not_ours),
                      std::back_inserter(patches));
  }
  drop_overlaps(patches, report.entries_not_ours);
  if (!patches.empty()) {
    JITSCOPE_TRY(wait_until_alone(process, {}));
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
  const RemovedFiles files = remove_image_files(process, even_in_use);
  report.files_removed = files.removed;
  report.files_in_use = files.in_use;
  return report;
}

}  // namespace jitscope
