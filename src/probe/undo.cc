#include "probe/undo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "image/live_image.h"
#include "image/relocate.h"
#include "probe/image_home.h"
#include "process/surgery.h"

namespace jitscope {
namespace {

// A jitscope at work holds a lock on the image's open file; the kernel drops it when it dies.
bool held_by_another(const Mapping& mapping, pid_t pid) {
  const UniqueFd fd(::open(mapping.map_files_path(pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

// The file's name goes only if it still is the mapped file.
bool remove_file(const Process& process, const Mapping& mapping) {
  if (mapping.deleted || !is_image_name(mapping.path)) return false;
  const std::string path = process.path_in_root(mapping.path);
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_ino != mapping.inode) return false;
  return ::unlink(path.c_str()) == 0;
}

}  // namespace

Result<UndoReport> undo_all(const Process& process, bool even_in_use) {
  UndoReport report;
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  std::vector<Patch> patches;
  std::vector<Mapping> images;
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
    Bytes bytes(mapping.size());
    JITSCOPE_TRY(process.memory().read(mapping.start, bytes));
    auto image = parse_live_image(bytes);
    if (!image) {
      report.notes.push_back(fmt::format("image at {:#x}: {}", mapping.start, to_string(image.error())));
      continue;
    }
    for (const ImageRecord& record : image->records) {
      auto jump = encode_jump(record.entry, mapping.start + record.slot_offset);
      if (!jump || record.original_length < jump_length) {
        ++report.entries_not_ours;
        continue;
      }
      Patch patch;
      patch.address = record.entry;
      patch.expected = std::move(*jump);
      patch.replacement.assign(record.original, record.original + jump_length);
      patches.push_back(std::move(patch));
    }
    images.push_back(mapping);
  }
  if (!patches.empty()) {
    JITSCOPE_ASSIGN(const SurgeryReport surgery, apply_patches(process, patches));
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
  for (const Mapping& mapping : images) {
    if (remove_file(process, mapping)) ++report.files_removed;
  }
  return report;
}

}  // namespace jitscope
