// TargetImage: the live image of one run, made, mapped into the target and known to be what is
// mapped there before anything else happens. See idle_image.h for where it lies.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "live_image/live_image.h"
#include "probe/image_home.h"
#include "probe/mapped_images.h"
#include "probe/patience.h"
#include "process/process.h"
#include "surgery/surgery.h"

namespace jitscope {

class TargetImage {
 public:
  explicit TargetImage(const Process& process) : process_(process) {}

  // How long to wait where another tracer holds the process; from now on.
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  // Within reach of [low, high). `on_stop` hears of each stop of the target.
  using OnStop = std::function<void(const StopReport&)>;
  Status map_near(uint64_t low, uint64_t high, const OnStop& on_stop);
  [[nodiscard]] bool mapped() const { return base_ != 0; }

  // Maps more of it where it is too short for a batch of so many bytes.
  Status make_room(uint64_t bytes, const OnStop& on_stop);

  [[nodiscard]] LiveImage& image() { return *image_; }
  [[nodiscard]] const LiveImage& image() const { return *image_; }
  [[nodiscard]] uint64_t base() const { return base_; }
  [[nodiscard]] uint64_t length() const { return mapped_to_; }
  [[nodiscard]] const ImageHome& home() const { return home_; }
  // The file for the kernel, by its descriptor.
  [[nodiscard]] std::string file_for_kernel() const { return path_of_descriptor(image_->fd()); }
  // Takes the file's name away (the mapping stays in the target).
  void unlink_file();

 private:
  Status make_file();
  Status map_at(const Placement& place, const OnStop& on_stop);
  Status map_file_at(const Placement& place, const OnStop& on_stop);
  Status map_memfd_at(const Placement& place, const OnStop& on_stop);
  // False: none of them; look for free space.
  Result<bool> map_over_idle(const std::vector<Mapping>& maps, uint64_t low, uint64_t high,
                             const OnStop& on_stop);
  Result<bool> map_in_gap(const std::vector<Mapping>& maps, uint64_t low, uint64_t high,
                          const OnStop& on_stop);

  const Process& process_;
  Patience patience_;
  ImageHome home_;
  std::optional<LiveImage> image_;
  uint64_t base_ = 0;
  uint64_t mapped_to_ = 0;  // offset
};

}  // namespace jitscope
