// What the benchmarks share: a stand-in for JIT'd code in an anonymous rwx page (entries as HotSpot
// writes them), a forked child that holds it, and the words and figures around both.
//
// The child is forked before this process has a second thread, shares one page of memory with it,
// and dies with it. Bodies are made by hand and go through the same classes as those of a real JVM.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"

namespace jitscope::bench {

inline constexpr int skipped = 77;  // exit status of a test that lacks something

// `count` functions `int f(int a, int b) { return a + b; }`, each 256 bytes after the one before
// and each behind a header with the compile id, state and method pointer that a HotSpot nmethod
// has.
class StandInCode {
 public:
  using Function = int (*)(int, int);
  // Maps and fills the pages. They are inherited by a fork.
  static Result<StandInCode> make(size_t count);

  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] uint64_t low() const { return base_; }
  [[nodiscard]] uint64_t high() const;
  [[nodiscard]] uint64_t entry(size_t index) const;
  [[nodiscard]] Function function(size_t index) const;
  [[nodiscard]] CodeBody body(size_t index) const;

 private:
  uint64_t base_ = 0;
  size_t count_ = 0;
};

using Word = std::atomic<uint32_t>;  // a futex in shared memory
void wake(Word& word);
void wait_while(Word& word, uint32_t value);

// Zeroed memory that a forked child shares; never unmapped.
void* shared_memory(size_t bytes);

// A forked child that runs `work` and exits. Killed by its pid at the end of this object, and by
// the kernel should this process die.
class Child {
 public:
  static Result<Child> start(const std::function<void()>& work);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits until the word has this value; an error when the child died or a minute has passed.
  // `meanwhile`, when given, is called in a loop and does the waiting between two looks itself.
  Status wait_for(Word& word, uint32_t value, const std::function<Status()>& meanwhile = {});

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// The first and the last CPU this process may use; empty when there is only one.
struct CpuPair {
  int first;
  int last;
};
[[nodiscard]] std::optional<CpuPair> two_cpus();
void pin_to(int cpu);

[[nodiscard]] double median(std::vector<double> values);  // 0 of none
[[nodiscard]] double maximum(std::span<const double> values);
[[nodiscard]] double minimum(std::span<const double> values);

// Kernel, allowed CPUs and load: what every table should stand under. To be asked before pin_to.
[[nodiscard]] std::string machine();

// `--rounds N`; anything else prints the usage. nullopt: leave with `status`.
struct Options {
  unsigned rounds = 0;
};
std::optional<Options> parse_options(int argc, char** argv, const char* purpose, unsigned rounds,
                                     unsigned most_rounds, int& status);

// From now on Ctrl-C sets a flag, so that a benchmark ends after its round and cleans up.
void catch_interrupt();
[[nodiscard]] bool interrupted();

// Says why this process cannot benchmark here, if so.
[[nodiscard]] std::string why_skipped();
// Prints an error and gives the exit status: 77 for a missing permission, 1 for anything else.
int report_failure(const Error& error);

}  // namespace jitscope::bench
