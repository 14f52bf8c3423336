// SampleFilter: which samples a user wants to see, by what can be told of them without looking at
// their stacks: thread, CPU, time. And how many were left out.
//
// As in perf, an empty list takes all, several lists must all take a sample, and what is left out
// by CPU or time is as if it had not been recorded, while what is left out by thread still counts
// where percentages are of the whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/reader.h"
#include "session/dso_names.h"
#include "session/filter_words.h"
#include "session/time_windows.h"

namespace jitscope {

struct FilterOptions {
  std::vector<std::string> comms;  // a thread's at the sample's time; ":TID" where there is none
  std::vector<NumberRange> pids;
  std::vector<NumberRange> tids;
  std::vector<NumberRange> cpus;
  TimeWindows times;
  DsoNames leaf_dsos;  // of the code where the sample hit: session/leaf_filter.h
};

class SampleFilter {
 public:
  // Of the samples of one event that were left out by thread.
  struct LeftOut {
    uint64_t samples = 0;
    uint64_t periods = 0;
    uint64_t without_period = 0;  // samples
  };

  SampleFilter() = default;
  explicit SampleFilter(FilterOptions options);
  // What is relative to the recording becomes absolute; errors when the recording lacks what is
  // asked for.
  Status settle(const perfdata::Header& header);
  // Each sample once.
  bool takes(const perfdata::Sample& sample, std::string_view comm) {
    return !active_ || choose(sample, comm);
  }

  [[nodiscard]] uint64_t left_out() const { return left_out_; }
  [[nodiscard]] LeftOut left_out_by_thread(uint32_t event) const {
    return event < by_thread_.size() ? by_thread_[event] : LeftOut();
  }

 private:
  bool choose(const perfdata::Sample& sample, std::string_view comm);
  [[nodiscard]] bool takes_thread(const perfdata::Sample& sample, std::string_view comm) const;

  FilterOptions options_;
  bool active_ = false;
  uint64_t left_out_ = 0;
  std::vector<LeftOut> by_thread_;  // by event
};

}  // namespace jitscope
