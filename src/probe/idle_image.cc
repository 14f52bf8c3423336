#include "probe/idle_image.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/same_file.h"
#include "surgery/stack_scan.h"

namespace jitscope {
namespace {

bool ours(const MappedImage& image) {
  struct stat info = {};
  return image.file && ::fstat(image.file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         (info.st_uid == 0 || info.st_uid == ::geteuid()) &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool without_jumps(const Process& process, const MappedImage& image) {
  const auto parsed = read_mapped_image(process, image);
  size_t not_ours = 0;
  return parsed && jumps_in_place(process, image.address(), *parsed, not_ours).empty();
}

// The mapping is the very file that was looked at: another jitscope may have come first.
bool unchanged(const Process& process, const MappedImage& image) {
  struct stat now = {};
  struct stat then = {};
  return ::stat(image.first.map_files_path(process.pid()).c_str(), &now) == 0 &&
         ::fstat(image.file.get(), &then) == 0 && same_file(now, then);
}

// Where the kernel runs instructions that a uprobe sits on; a thread in there goes back to a place
// that only the kernel knows.
bool in_uprobe_page(const std::vector<Mapping>& maps, std::span<const StoppedThread> threads) {
  return std::ranges::any_of(maps, [&](const Mapping& mapping) {
    return mapping.path.starts_with("[uprobes") &&
           any_thread_at(threads, {mapping.start, mapping.end});
  });
}

}  // namespace

std::vector<MappedImage> find_idle_images(const Process& process, const std::vector<Mapping>& maps,
                                          uint64_t low, uint64_t high, uint64_t least,
                                          uint64_t most) {
  std::vector<MappedImage> images = find_mapped_images(process, maps);
  // The holder first: who has let go of an image places no jump into it any more.
  std::erase_if(images, [&](const MappedImage& image) {
    return image.length < least || image.length > most ||
           !within_reach(image.address(), image.length, low, high) || !ours(image) ||
           is_in_use(image) || !without_jumps(process, image);
  });
  return images;
}

StopCheck nobody_in(const Process& process, const MappedImage& image, bool& busy) {
  return [&](std::span<const StoppedThread> threads) -> Status {
    const CodeRange range{image.address(), image.address() + image.length};
    JITSCOPE_ASSIGN(const auto maps, process.maps());
    busy = !unchanged(process, image) || is_in_use(image) || any_thread_at(threads, range) ||
           in_uprobe_page(maps, threads) || any_stack_points_into(process, threads, range);
    if (!busy) return {};
    return fail(ErrorKind::not_possible, "an earlier live image is still in use",
                fmt::format("pid {}, address {:#x}", process.pid(), image.address()));
  };
}

}  // namespace jitscope
