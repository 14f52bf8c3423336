// PerfSampler: samples of running code from perf_event_open(2), as raw records of a perf.data
// stream: samples with stacks, and what they need to be named (mappings, names, forks, exits,
// kernel symbols).
//
// Hardware cycles where the CPU counts them, else the CPU clock; reason() says why. Times are
// CLOCK_MONOTONIC. One ring a CPU: the events of all threads on a CPU write into its ring, and
// threads and children that start later inherit them. Not thread-safe.
//
// Needs root or CAP_PERFMON for the whole machine and for the kernel's part of stacks; without them
// the kernel is left out (notes() says so) where kernel.perf_event_paranoid allows that much.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "perf_event/perf_ring.h"

namespace jitscope {

enum class SampleEvent : uint8_t { automatic, cycles, cpu_clock };

struct SamplerOptions {
  SampleEvent event = SampleEvent::automatic;
  uint64_t frequency = 999;  // samples a second and CPU
  bool stacks = true;        // callers, of user and kernel code
  bool user_registers = false;
  size_t ring_bytes = 0;  // of each CPU, a power of two; 0: by the frequency
};

struct SampleTarget {
  bool system = false;           // all CPUs; else:
  std::vector<pid_t> processes;  // all their threads; else:
  pid_t command = 0;             // a process that is about to call exec, sampled from then on
};

class PerfSampler {
 public:
  // Sampling has begun when it returns (of a command: begins with its exec).
  static Result<std::unique_ptr<PerfSampler>> open(const SampleTarget& target,
                                                   const SamplerOptions& options);

  // The perf_event_attr of the events, as its bytes.
  [[nodiscard]] std::span<const std::byte> attribute() const { return attribute_; }
  [[nodiscard]] uint64_t sample_type() const { return sample_type_; }
  [[nodiscard]] const std::string& name() const { return name_; }  // "cpu-clock", "cycles:u"
  // Why it is not hardware cycles; "" when it is, or when the user wanted it so.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] uint64_t frequency() const { return frequency_; }  // as far as the kernel allows
  [[nodiscard]] bool samples_kernel() const { return kernel_; }
  [[nodiscard]] size_t ring_bytes() const { return ring_bytes_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Ids of events that were opened since the last call.
  [[nodiscard]] std::vector<uint64_t> take_new_ids();
  // Threads that were given events of their own.
  [[nodiscard]] const std::vector<pid_t>& threads() const { return threads_; }

  // Samples one more thread, which no event covers so far. No error when it has ended.
  Status add_thread(pid_t tid);

  // Until a ring is a quarter full, `longest` has passed, or a signal came.
  void wait(std::chrono::milliseconds longest);
  // One pass over all rings: `take` gets the records of one after the other.
  Status read(const std::function<Status(std::string_view)>& take);
  // No more samples; what lies in the rings can still be read.
  void stop();
  // Records that found no room in the rings; nothing where the kernel does not count them
  // (before 6.0): the LOST records in the stream then tell of all but the last.
  [[nodiscard]] std::optional<uint64_t> lost() const;

 private:
  struct Cpu {
    int number = 0;
    UniqueFd leader;  // its ring is the CPU's
    PerfRing ring;
  };
  struct Attempt;

  PerfSampler() = default;
  Status open_events(const SampleTarget& target, Attempt& attempt);
  Status open_thread(pid_t tid, Attempt& attempt);
  Status open_ring(Cpu& cpu, int event);
  Status add_event(Cpu& cpu, UniqueFd event);
  void reset();

  std::vector<std::byte> attribute_;
  uint64_t sample_type_ = 0;
  uint64_t read_format_ = 0;
  std::string name_;
  std::string reason_;
  uint64_t frequency_ = 0;
  bool kernel_ = true;
  size_t ring_bytes_ = 0;
  std::vector<std::string> notes_;
  std::vector<uint64_t> new_ids_;
  std::vector<pid_t> threads_;
  std::vector<Cpu> cpus_;
  std::vector<UniqueFd> events_;  // without the leaders
  UniqueFd epoll_;
  bool enabled_at_exec_ = false;
  std::string scratch_;
};

// PERF_SAMPLE_REGS_USER: the general registers, bit by bit as the kernel numbers them.
[[nodiscard]] uint64_t user_register_mask();

}  // namespace jitscope
