#include "common.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace jitscope::bench {
namespace {

constexpr size_t stride = 256;
constexpr size_t header_bytes = 64;
constexpr uint64_t page_bytes = 4096;
constexpr std::chrono::seconds patience{60};

// The entry is HotSpot's: a write 80 KiB below the stack pointer (stack bang), then the frame.
constexpr std::array<unsigned char, 21> code = {
    0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff,  // mov %eax,-0x14000(%rsp)
    0x55,                                      // push %rbp
    0x48, 0x83, 0xec, 0x10,                    // sub $16,%rsp
    0x8d, 0x04, 0x37,                          // lea (%rdi,%rsi),%eax
    0x48, 0x83, 0xc4, 0x10,                    // add $16,%rsp
    0x5d,                                      // pop %rbp
    0xc3,                                      // ret
};

// In the header of each function.
struct Identity {
  uint64_t method;
  uint32_t compile_id;
  uint8_t state;
};

Identity identity_of(size_t index) {
  return {0x7f0000001000U + index * 0x80U, static_cast<uint32_t>(index + 1), 0};
}

template <typename T>
IdentityCheck check(uint64_t address, const T& value) {
  IdentityCheck result;
  result.address = address;
  result.expected.resize(sizeof(value));
  std::memcpy(result.expected.data(), &value, sizeof(value));
  return result;
}

volatile std::sig_atomic_t interrupt_seen = 0;

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

Result<StandInCode> StandInCode::make(size_t count) {
  const size_t length = (count * stride + page_bytes - 1) / page_bytes * page_bytes;
  void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(system_error("cannot map a page for code"));
  StandInCode result;
  result.base_ = reinterpret_cast<uintptr_t>(memory);
  result.count_ = count;
  for (size_t i = 0; i < count; ++i) {
    auto* at = static_cast<std::byte*>(memory) + i * stride;
    const Identity identity = identity_of(i);
    std::memcpy(at, &identity, sizeof(identity));
    std::memcpy(at + header_bytes, code.data(), code.size());
  }
  return result;
}

uint64_t StandInCode::high() const {
  return base_ + count_ * stride;
}

uint64_t StandInCode::entry(size_t index) const {
  return base_ + index * stride + header_bytes;
}

StandInCode::Function StandInCode::function(size_t index) const {
  return reinterpret_cast<Function>(static_cast<uintptr_t>(entry(index)));
}

CodeBody StandInCode::body(size_t index) const {
  const uint64_t header = entry(index) - header_bytes;
  const Identity identity = identity_of(index);
  MethodName name;
  name.type = "bench.StandIn";
  name.function = fmt::format("f{}", index);
  name.raw = name.type + "." + name.function;
  CodeBody body;
  body.address = body.entry = entry(index);
  body.size = code.size();
  body.name = std::make_shared<const MethodName>(std::move(name));
  body.tier = Tier::c2;
  body.state = BodyState::in_use;
  body.source = SourceKind::hotspot_memory;
  body.version = identity.compile_id;
  body.convention = CallConvention::hotspot_x86_64;
  body.identity = {check(header + offsetof(Identity, compile_id), identity.compile_id),
                   check(header + offsetof(Identity, state), identity.state),
                   check(header + offsetof(Identity, method), identity.method)};
  return body;
}

void wake(Word& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

void wait_while(Word& word, uint32_t value) {
  while (word.load() == value) {
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
  }
}

void* shared_memory(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return memory;
}

Result<Child> Child::start(const std::function<void()>& work) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(system_error("cannot fork"));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    (void)std::signal(SIGINT, SIG_IGN);
    work();
    ::_exit(0);
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Status Child::wait_for(Word& word, uint32_t value, const std::function<Status()>& meanwhile) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (uint32_t seen = word.load(); seen != value; seen = word.load()) {
    if (meanwhile) {
      JITSCOPE_TRY(meanwhile());
    } else {
      const timespec slice = {0, 100'000'000};
      ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &slice, nullptr, 0);
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return fail(ErrorKind::target_gone, fmt::format("the child died, wait status {:#x}", status));
    }
    if (std::chrono::steady_clock::now() > end) {
      return fail(ErrorKind::not_possible, "the child does not answer");
    }
  }
  return {};
}

std::optional<CpuPair> two_cpus() {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) return std::nullopt;
  return CpuPair{cpus.front(), cpus.back()};
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  (void)::sched_setaffinity(0, sizeof(set), &set);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double maximum(std::span<const double> values) {
  return values.empty() ? 0 : std::ranges::max(values);
}

double minimum(std::span<const double> values) {
  return values.empty() ? 0 : std::ranges::min(values);
}

std::string machine() {
  utsname name = {};
  ::uname(&name);
  double load = 0;
  (void)::getloadavg(&load, 1);
  return fmt::format("Linux {} {}, {} CPUs, load {:.1f}", name.release, name.machine,
                     allowed_cpus().size(), load);
}

std::optional<Options> parse_options(int argc, char** argv, const char* purpose, unsigned rounds,
                                     unsigned most_rounds, int& status) {
  Options options{rounds};
  status = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--rounds" && i + 1 < argc) {
      const std::string_view value = argv[++i];
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), options.rounds);
      if (error == std::errc() && end == value.data() + value.size() && options.rounds >= 1 &&
          options.rounds <= most_rounds) {
        continue;
      }
    }
    status = word == "--help" ? 0 : 2;
    fmt::print(status == 0 ? stdout : stderr, "usage: {} [--rounds N]  (1 to {}, default {})\n{}\n",
               argv[0], most_rounds, rounds, purpose);
    return std::nullopt;
  }
  return options;
}

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return interrupt_seen != 0;
}

std::string why_skipped() {
  if (::geteuid() != 0) return "probes and eBPF programs need root";
  return {};
}

int report_failure(const Error& error) {
  const bool missing = error.kind == ErrorKind::not_permitted;
  fmt::print(stderr, "{}{}\n", missing ? "skipped: " : "error: ", to_string(error));
  return missing ? skipped : 1;
}

}  // namespace jitscope::bench
