// perf_event_open for sampling; see perf_sampler.h. What the kernel (or its settings) does not
// allow is left out step by step: settle() has the order.
#include "sampling/perf_sampler.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <ctime>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "perf_event/cpus.h"
#include "perf_event/perf_event.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr size_t kSmallestRing = 64U << 10U;

UniqueFd open_event(perf_event_attr& attributes, pid_t pid, int cpu) {
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::optional<uint64_t> read_number(const char* path) {
  auto text = read_text_file(path);
  if (!text) return std::nullopt;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return parse_decimal(*text);
}

perf_event_attr wanted_attributes(const SamplerOptions& options, uint64_t frequency,
                                  bool whole_cpu) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.freq = 1;
  attr.sample_freq = frequency;
  // The identifier comes first in every record: also what others merge into this recording can be
  // told apart.
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
  if (options.stacks) attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (options.user_registers) {
    attr.sample_type |= PERF_SAMPLE_REGS_USER;
    attr.sample_regs_user = user_register_mask();
  }
  attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
  attr.sample_id_all = 1;
  attr.disabled = 1;
  attr.inherit = whole_cpu ? 0 : 1;
  attr.exclude_guest = 1;  // nobody here could name a guest's code
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.ksymbol = 1;
  attr.bpf_event = 1;
  attr.namespaces = 1;
  attr.watermark = 1;
  return attr;
}

void choose_event(perf_event_attr& attr, bool cycles) {
  attr.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr.config = cycles ? static_cast<uint64_t>(PERF_COUNT_HW_CPU_CYCLES)
                       : static_cast<uint64_t>(PERF_COUNT_SW_CPU_CLOCK);
  attr.precise_ip = 0;
  if (cycles) {
    // As near to the instruction as the CPU can.
    const uint64_t best =
        read_number("/sys/bus/event_source/devices/cpu/caps/max_precise").value_or(0);
    attr.precise_ip = static_cast<unsigned>(std::min<uint64_t>(best, 3)) & 3U;
  }
}

bool no_such_event(int code) {
  return code == ENOENT || code == EOPNOTSUPP || code == ENXIO || code == ENOSYS;
}

// Takes away one thing that older kernels do not know, or precision; false when all is gone.
bool ask_for_less(perf_event_attr& attr) {
  if ((attr.read_format & PERF_FORMAT_LOST) != 0) {  // 6.0
    attr.read_format &= ~static_cast<uint64_t>(PERF_FORMAT_LOST);
  } else if (attr.precise_ip != 0) {
    attr.precise_ip = static_cast<unsigned>(attr.precise_ip - 1) & 3U;
  } else if (attr.ksymbol != 0) {  // 5.1
    attr.ksymbol = 0;
    attr.bpf_event = 0;
  } else if (attr.namespaces != 0) {  // 4.12
    attr.namespaces = 0;
  } else if (attr.exclude_guest != 0) {
    attr.exclude_guest = 0;
  } else {
    return false;
  }
  return true;
}

// The same for what needs a privilege.
bool ask_as_user(perf_event_attr& attr) {
  if (attr.namespaces != 0) {
    attr.namespaces = 0;
  } else if (attr.exclude_kernel == 0) {
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.exclude_callchain_kernel = 1;
  } else {
    return false;
  }
  return true;
}

std::string paranoid_hint() {
  return fmt::format(
      "run as root or with CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN), and for processes of "
      "other users with CAP_SYS_PTRACE; kernel.perf_event_paranoid is {}",
      perf_event_paranoid());
}

Error open_error(int code, pid_t pid, int cpu) {
  Error error = system_error(
      "cannot sample", pid < 0 ? fmt::format("CPU {}", cpu) : fmt::format("thread {}", pid), code);
  if (code == EPERM || code == EACCES) {
    error.kind = ErrorKind::not_permitted;
    error.hint = paranoid_hint();
  } else if (code == EMFILE) {
    error.hint = "a file is needed for each thread and CPU: raise the limit (ulimit -n), or use -a";
  } else if (code == ENOSYS) {
    error.hint = "this kernel, or the filter of this container, has no perf_event_open";
  }
  return error;
}

// A file for each thread and CPU may be needed.
void raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

size_t ring_for(uint64_t frequency) {
  // Half a second of deep stacks.
  constexpr uint64_t sample_bytes = 1024;
  constexpr uint64_t smallest = 512U << 10U;
  constexpr uint64_t largest = 8U << 20U;
  return static_cast<size_t>(
      std::bit_ceil(std::clamp(frequency * sample_bytes / 2, smallest, largest)));
}

}  // namespace

// What is asked for, with what already proved impossible taken away.
struct PerfSampler::Attempt {
  perf_event_attr attr = {};
  bool fixed = false;  // one event was opened with it: all must be alike

  // perf_event_open, asking for less until the kernel agrees. errno tells when nothing helps.
  UniqueFd open(pid_t pid, int cpu) {
    while (true) {
      UniqueFd event = open_event(attr, pid, cpu);
      if (event) {
        fixed = true;
        return event;
      }
      const int code = errno;
      if (fixed) break;
      if (code == EINVAL || code == E2BIG || code == EOPNOTSUPP) {
        if (!ask_for_less(attr)) break;
      } else if (code == EACCES || code == EPERM) {
        if (!ask_as_user(attr)) break;
      } else {
        break;
      }
      errno = code;
    }
    return {};
  }
};

Result<std::unique_ptr<PerfSampler>> PerfSampler::open(const SampleTarget& target,
                                                       const SamplerOptions& options) {
  std::unique_ptr<PerfSampler> sampler(new PerfSampler);
  raise_file_limit();
  sampler->frequency_ = std::max<uint64_t>(options.frequency, 1);
  const auto most = read_number("/proc/sys/kernel/perf_event_max_sample_rate");
  if (most && *most != 0 && sampler->frequency_ > *most) {
    sampler->notes_.push_back(
        fmt::format("{} samples a second instead of {}: the kernel allows no more (sysctl "
                    "kernel.perf_event_max_sample_rate)",
                    *most, options.frequency));
    sampler->frequency_ = *most;
  }
  sampler->ring_bytes_ =
      options.ring_bytes != 0 ? options.ring_bytes : ring_for(sampler->frequency_);
  sampler->enabled_at_exec_ = target.command != 0;

  const auto attempt_with = [&](bool cycles, Attempt& attempt) -> Status {
    sampler->reset();
    attempt.attr = wanted_attributes(options, sampler->frequency_, target.system);
    attempt.attr.enable_on_exec = target.command != 0 ? 1 : 0;
    attempt.attr.wakeup_watermark = static_cast<uint32_t>(sampler->ring_bytes_ / 4);
    choose_event(attempt.attr, cycles);
    return sampler->open_events(target, attempt);
  };
  Attempt attempt;
  bool cycles = options.event != SampleEvent::cpu_clock;
  Status opened = attempt_with(cycles, attempt);
  if (!opened && cycles && no_such_event(opened.error().system_errno)) {
    std::string reason = opened.error().system_errno == ENOENT
                             ? "the CPU's counters are not there, as in most virtual machines"
                             : opened.error().what;
    if (options.event == SampleEvent::cycles) {
      return fail(ErrorKind::not_possible, "hardware cycles cannot be sampled: " + reason, {},
                  "use -e cpu-clock");
    }
    sampler->reason_ = std::move(reason);
    cycles = false;
    attempt = {};
    opened = attempt_with(cycles, attempt);
  }
  if (!opened) return fail(std::move(opened.error()));

  const perf_event_attr& attr = attempt.attr;
  sampler->attribute_.resize(sizeof(attr));
  std::memcpy(sampler->attribute_.data(), &attr, sizeof(attr));
  sampler->sample_type_ = attr.sample_type;
  sampler->read_format_ = attr.read_format;
  sampler->kernel_ = attr.exclude_kernel == 0;
  sampler->name_ =
      fmt::format("{}{}", cycles ? "cycles" : "cpu-clock", attr.exclude_kernel != 0 ? ":u" : "");
  if (!sampler->kernel_) {
    sampler->notes_.push_back("kernel code is not sampled: " + paranoid_hint());
  }
  return sampler;
}

void PerfSampler::reset() {
  events_.clear();
  cpus_.clear();
  threads_.clear();
  new_ids_.clear();
  epoll_.reset();
}

Status PerfSampler::open_events(const SampleTarget& target, Attempt& attempt) {
  JITSCOPE_ASSIGN(const auto online, list_online_cpus());
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail(system_error("cannot make an epoll descriptor"));
  for (const int number : online) {
    cpus_.emplace_back();
    cpus_.back().number = number;
  }
  if (target.system) {
    JITSCOPE_TRY(open_thread(-1, attempt));
  } else if (target.command != 0) {
    JITSCOPE_TRY(open_thread(target.command, attempt));
  } else {
    for (const pid_t process : target.processes) {
      for (const pid_t tid : list_threads(process)) JITSCOPE_TRY(open_thread(tid, attempt));
    }
  }
  std::erase_if(cpus_, [](const Cpu& cpu) { return !cpu.leader; });
  if (cpus_.empty()) return fail(ErrorKind::target_gone, "no thread to sample: all have ended");
  return {};
}

Status PerfSampler::open_thread(pid_t tid, Attempt& attempt) {
  bool any = false;
  for (Cpu& cpu : cpus_) {
    UniqueFd event = attempt.open(tid, cpu.number);
    if (!event) {
      const int code = errno;
      if (code == ESRCH && tid > 0) return {};  // it has ended
      if (code == ENODEV) continue;             // the CPU went offline
      return fail(open_error(code, tid, cpu.number));
    }
    JITSCOPE_TRY(add_event(cpu, std::move(event)));
    any = true;
  }
  if (any && tid > 0) threads_.push_back(tid);
  return {};
}

Status PerfSampler::open_ring(Cpu& cpu, int event) {
  while (true) {
    auto ring = PerfRing::map(event, ring_bytes_);
    if (ring) {
      cpu.ring = std::move(*ring);
      break;
    }
    const int code = ring.error().system_errno;
    if ((code != EPERM && code != ENOMEM) || ring_bytes_ / 2 < kSmallestRing) {
      Error error = std::move(ring.error());
      error.hint = "sysctl kernel.perf_event_mlock_kb and ulimit -l bound the memory for rings";
      return fail(std::move(error));
    }
    ring_bytes_ /= 2;
  }
  // Edge-triggered: an event whose thread has ended says "hung up" for ever, and must not keep
  // the others' wakeups from being waited for.
  epoll_event entry = {};
  entry.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event, &entry) != 0) {
    return fail(system_error("cannot wait for an event"));
  }
  return {};
}

Status PerfSampler::add_event(Cpu& cpu, UniqueFd event) {
  if (!cpu.leader) {
    JITSCOPE_TRY(open_ring(cpu, event.get()));
  } else if (::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, cpu.leader.get()) != 0) {
    return fail(system_error("cannot share the ring of a CPU"));
  }
  uint64_t id = 0;
  if (::ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0) {
    return fail(system_error("cannot get the id of an event"));
  }
  new_ids_.push_back(id);
  // After the output is set: from here on nothing that happens goes unrecorded.
  if (!enabled_at_exec_ && ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return fail(system_error("cannot enable an event"));
  }
  if (!cpu.leader) {
    cpu.leader = std::move(event);
  } else {
    events_.push_back(std::move(event));
  }
  return {};
}

std::vector<uint64_t> PerfSampler::take_new_ids() {
  return std::exchange(new_ids_, {});
}

Status PerfSampler::add_thread(pid_t tid) {
  Attempt attempt;
  std::memcpy(&attempt.attr, attribute_.data(), std::min(attribute_.size(), sizeof(attempt.attr)));
  attempt.fixed = true;
  return open_thread(tid, attempt);
}

void PerfSampler::wait(std::chrono::milliseconds longest) {
  epoll_event entry = {};
  (void)::epoll_wait(epoll_.get(), &entry, 1, static_cast<int>(longest.count()));
}

Status PerfSampler::read(const std::function<Status(std::string_view)>& take) {
  for (Cpu& cpu : cpus_) {
    scratch_.clear();
    if (cpu.ring.read(scratch_) != 0) JITSCOPE_TRY(take(scratch_));
  }
  return {};
}

void PerfSampler::stop() {
  for (const UniqueFd& event : events_) (void)::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  for (const Cpu& cpu : cpus_) (void)::ioctl(cpu.leader.get(), PERF_EVENT_IOC_DISABLE, 0);
}

std::optional<uint64_t> PerfSampler::lost() const {
  if ((read_format_ & PERF_FORMAT_LOST) == 0) return std::nullopt;
  uint64_t sum = 0;
  const auto add = [&](const UniqueFd& event) {
    // struct read_format: value, id, lost.
    std::array<uint64_t, 3> values{};
    if (::read(event.get(), values.data(), sizeof(values)) == static_cast<ssize_t>(sizeof(values)))
      sum += values[2];
  };
  for (const UniqueFd& event : events_) add(event);
  for (const Cpu& cpu : cpus_) add(cpu.leader);
  return sum;
}

}  // namespace jitscope
