#include "probe/placers.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace jitscope {

Result<SitePlacer*> Placers::of(const Backend& backend) {
  const auto known = std::ranges::find(placers_, &backend, &Made::backend);
  if (known != placers_.end()) return known->placer.get();
  JITSCOPE_ASSIGN(auto placer, backend.make(context_));
  placer->set_patience(patience_);
  HitSource* const source = &placer->hits();
  if (std::ranges::find(sources_, source) == sources_.end()) sources_.push_back(source);
  placers_.push_back({&backend, std::move(placer)});
  return placers_.back().placer.get();
}

void Placers::set_patience(const Patience& patience) {
  patience_ = patience;
  for (const Made& each : placers_) each.placer->set_patience(patience);
}

Result<size_t> Placers::poll(std::chrono::milliseconds wait,
                             const std::function<void(const Hit&)>& on_hit) {
  size_t handed = 0;
  for (HitSource* source : sources_) {
    // One wait for all: the others are looked at when it is over.
    JITSCOPE_ASSIGN(const size_t got,
                    source->poll(std::exchange(wait, std::chrono::milliseconds(0)), on_hit));
    handed += got;
  }
  return handed;
}

Result<size_t> Placers::sleep(std::chrono::milliseconds wait, std::span<const int> others,
                              const std::function<void(const Hit&)>& on_hit) {
  std::vector<pollfd> handles;
  for (HitSource* source : sources_) handles.push_back({source->wait_for_hit(true), POLLIN, 0});
  for (const int each : others) handles.push_back({each, POLLIN, 0});
  // What came before the sources knew that this thread sleeps.
  auto handed = poll(std::chrono::milliseconds(0), on_hit);
  if (handed && *handed == 0) {
    (void)::poll(handles.data(), handles.size(), static_cast<int>(wait.count()));
    handed = poll(std::chrono::milliseconds(0), on_hit);
  }
  for (HitSource* source : sources_) (void)source->wait_for_hit(false);
  return handed;
}

std::vector<LostSite> Placers::look() {
  std::vector<LostSite> lost;
  for (const Made& each : placers_) {
    std::ranges::move(each.placer->look(), std::back_inserter(lost));
  }
  return lost;
}

std::chrono::milliseconds Placers::longest_pause() const {
  auto pause = std::chrono::milliseconds::max();
  for (const Made& each : placers_) pause = std::min(pause, each.placer->longest_pause());
  return pause;
}

Placers::Withdrawn Placers::withdraw() {
  Withdrawn all;
  for (const Made& each : placers_) {
    auto restored = each.placer->withdraw();
    if (restored) {
      all.restored += *restored;
      continue;
    }
    all.left += each.placer->entries_left();
    if (!all.failure) all.failure = std::move(restored.error());
  }
  return all;
}

void Placers::discard() {
  for (const Made& each : placers_) each.placer->discard();
}

StopTimes Placers::stops() const {
  StopTimes all;
  for (const Made& each : placers_) {
    const StopTimes stops = each.placer->stops();
    all.stopped += stops.stopped;
    all.longest = std::max(all.longest, stops.longest);
  }
  return all;
}

std::vector<std::string> Placers::remarks() const {
  std::vector<std::string> remarks;
  for (const Made& each : placers_) {
    if (std::string remark = each.placer->remark(); !remark.empty()) {
      remarks.push_back(std::move(remark));
    }
  }
  return remarks;
}

}  // namespace jitscope
