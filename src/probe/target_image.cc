#include "probe/target_image.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "probe/idle_image.h"
#include "probe/image_lock.h"

namespace jitscope {
namespace {

constexpr uint32_t image_sites = 8192;
constexpr uint32_t image_text_pages = 2048;
constexpr uint64_t whole = live_image_length(image_sites, image_text_pages);
// What is mapped at first: the table and room for some batches. More when it is needed.
constexpr uint32_t first_text_pages = 64;
constexpr uint64_t first = live_image_length(image_sites, first_text_pages);
constexpr uint64_t text_begin = live_image_length(image_sites, 0);
// What a new image really occupies on disk: header, table and the first slots.
constexpr uint64_t image_space = 1024 * 1024;

ImageIdentity identity(const Process& process) {
  return {static_cast<uint32_t>(process.ns_pid()), process.start_ticks()};
}

}  // namespace

Status TargetImage::make_file() {
  home_ = ImageHome{};
  image_.reset();
  auto home = create_image_file(process_, image_space);
  if (!home) {
    home_.passed_over.push_back(home.error().where);
    return {};
  }
  home_ = std::move(*home);
  JITSCOPE_ASSIGN(image_, LiveImage::create(std::move(home_.fd), identity(process_), image_sites,
                                            image_text_pages));
  return {};
}

Status TargetImage::map_file_at(const Placement& place, const OnStop& on_stop) {
  JITSCOPE_ASSIGN(const StopReport report, patiently<StopReport>(patience_, [&] {
                    return map_file(process_, home_.path_in_target, image_->fd(), place);
                  }));
  on_stop(report);
  return {};
}

// No directory will do: a memfd made inside the target. Other tools find it by /proc only.
Status TargetImage::map_memfd_at(const Placement& place, const OnStop& on_stop) {
  std::optional<LiveImage> image;
  const auto fill = [&](UniqueFd fd) -> Status {
    JITSCOPE_TRY(hold_image(fd.get()));
    JITSCOPE_ASSIGN(
        image, LiveImage::create(std::move(fd), identity(process_), image_sites, image_text_pages));
    return {};
  };
  const std::string name = fmt::format("jitscope-{}", process_.ns_pid());
  JITSCOPE_ASSIGN(const StopReport report, patiently<StopReport>(patience_, [&] {
                    return map_memfd(process_, name, place, fill);
                  }));
  on_stop(report);
  image_ = std::move(image);
  home_.path_here = fmt::format("/proc/{}/fd/{}", ::getpid(), image_->fd());
  return {};
}

Status TargetImage::map_at(const Placement& place, const OnStop& on_stop) {
  const bool by_path = !home_.path_in_target.empty();
  JITSCOPE_TRY(by_path ? map_file_at(place, on_stop) : map_memfd_at(place, on_stop));
  base_ = place.address;
  mapped_to_ = place.length;
  return {};
}

Result<bool> TargetImage::map_over_idle(const std::vector<Mapping>& maps, uint64_t low,
                                        uint64_t high, const OnStop& on_stop) {
  // What has no path cannot be mapped again to grow.
  const uint64_t least = home_.path_in_target.empty() ? whole : first;
  for (const MappedImage& idle : find_idle_images(process_, maps, low, high, least, whole)) {
    bool busy = false;
    const Status done =
        map_at({idle.address(), idle.length, 0, nobody_in(process_, idle, busy)}, on_stop);
    if (done) return true;
    if (!busy) return fail(done.error());
  }
  return false;
}

// False: it was taken meanwhile.
Result<bool> TargetImage::map_in_gap(const std::vector<Mapping>& maps, uint64_t low, uint64_t high,
                                     const OnStop& on_stop) {
  // Where it could grow in place, if there is such a gap.
  const uint64_t roomy = find_gap_near(maps, low, high, whole);
  const uint64_t address = roomy != 0 ? roomy : find_gap_near(maps, low, high, first);
  if (address == 0) {
    return fail(ErrorKind::not_possible, "no free address range within 2 GB of the code",
                fmt::format("{:#x}-{:#x}", low, high),
                "`jitscope trace --backend breakpoint` works without that");
  }
  const bool by_path = !home_.path_in_target.empty();
  const Status done = map_at({address, roomy != 0 && !by_path ? whole : first, 0, {}}, on_stop);
  if (done) return true;
  if (done.error().system_errno == EEXIST) return false;
  return fail(done.error());
}

Status TargetImage::map_near(uint64_t low, uint64_t high, const OnStop& on_stop) {
  JITSCOPE_TRY(wait_until_alone(process_, patience_));
  JITSCOPE_TRY(make_file());
  constexpr int tries = 5;  // another jitscope may be at the same
  for (int attempt = 0; attempt < tries; ++attempt) {
    JITSCOPE_ASSIGN(const auto maps, process_.maps());
    JITSCOPE_ASSIGN(const bool over, map_over_idle(maps, low, high, on_stop));
    if (over) return {};
    JITSCOPE_ASSIGN(const bool done, map_in_gap(maps, low, high, on_stop));
    if (done) return {};
  }
  return fail(ErrorKind::not_possible, "the addresses near the code are taken again and again",
              fmt::format("pid {}", process_.pid()), "try again");
}

Status TargetImage::make_room(uint64_t bytes, const OnStop& on_stop) {
  const uint64_t needed = image_->batch_end(bytes);
  if (needed <= mapped_to_ || needed > image_->text_end())
    return {};  // the image says if it is full
  if (home_.path_in_target.empty()) {
    return fail(ErrorKind::not_possible, "the live image cannot grow: it has no path", {},
                "what is in place stays; a new run gets a new image");
  }
  // Twice as much text each time, so that there are few such stops.
  const uint64_t end =
      std::clamp(text_begin + 2 * (mapped_to_ - text_begin), needed, image_->text_end());
  JITSCOPE_TRY(map_file_at({base_ + mapped_to_, end - mapped_to_, mapped_to_, {}}, on_stop));
  mapped_to_ = end;
  return {};
}

void TargetImage::unlink_file() {
  remove_image_file(home_);
}

}  // namespace jitscope
