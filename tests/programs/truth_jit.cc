// A JIT whose samples say what really ran: it writes x86-64 functions into a small arena, again and
// again over each other, and each keeps its number in r15, which nothing else here touches. So a
// profile taken with --user-regs=r15 holds, for every address in the arena, the true function.
//
//   truth_jit [OPTION…] [-- COMMAND…]
//     --jitdump DIR      DIR/jit-PID.dump, with its executable mapping; times are CLOCK_MONOTONIC
//     --perf-map         /tmp/perf-PID.map            --perf-map-file FILE   the same elsewhere
//     --functions N      how many to compile over each other (4000)
//     --permanent N      how many that nothing ever overlaps (24)
//     --microseconds N   how long each is run (400)   --arena BYTES (65536)  --first N (0)
//     --seed N           of sizes, places and order
//     --address HEX      where the arena lies         --debug-info  lines: line of func_N is N
//   what kind of memory the arena is (anonymous and private when nothing is said):
//     --shared  --memfd  --file FILE (FILE is made, no ELF)  --mprotect (never writable and
//     executable)
//   what happens:
//     --move             some functions are moved, and the dump says so
//     --fork             a child runs what it inherited, then compiles its own into its own dump;
//     with
//                        --shared it goes on with what its parent compiles (numbers of a child of
//                        its own: from 1000000)
//     --cut              the last record stops in the middle of its code; ends by SIGKILL
//     --arch-timestamp   times are rdtsc, and the header says so
//     --claim-pid N      the dump (name, header, records) says this pid, as in a pid namespace
//     --map-offsets      lines of the map are offsets in the arena, as in a map made offline
//   COMMAND              is executed at the end, in the same process
//
// It prints `arena START END`, `permanent START END`, `child PID` and at the end `done …`. Every
// record and line is written before its function runs.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "truth_jit.h"
#include "truth_jit_arena.h"

namespace {

void finish_child(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "the child ended with %#x\n", static_cast<unsigned>(status));
    std::exit(1);
  }
}

// Private memory: the child keeps the code of that moment while the parent writes over its own.
void run_with_child(Jit& jit) {
  for (uint32_t i = 0; i < options.functions / 4; i++) jit.compile_one();
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    jit.inherit(kChildFirst);
    for (uint32_t i = 0; i < options.functions / 4; i++) {
      if (!jit.live().empty()) {
        jit.run(jit.live()[roll(static_cast<uint32_t>(jit.live().size()))]);
      }
    }
    jit.open_files();
    for (uint32_t i = 0; i < options.functions / 4; i++) {
      jit.compile_one();
      jit.run_some();
    }
    std::_Exit(0);
  }
  std::printf("child %d\n", child);
  for (uint32_t i = 0; i < options.functions / 2; i++) {
    jit.compile_one();
    jit.run_some();
  }
  finish_child(child);
}

// Shared memory: parent and child take turns, so that nothing is overwritten while it runs.
void run_with_sharing_child(Jit& jit) {
  int work[2];
  int done[2];
  if (pipe2(work, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0) die("pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    close(work[1]);
    jit.inherit(kChildFirst);
    Function function{};
    while (read(work[0], &function, sizeof function) == sizeof function) {
      jit.run(function);
      write_all(done[1], "d");
    }
    std::_Exit(0);
  }
  std::printf("child %d\n", child);
  close(work[0]);
  for (uint32_t i = 0; i < options.functions; i++) {
    jit.compile_one();
    if (i % 2 == 0) {
      char answer = 0;
      const Function& last = jit.live().back();
      write_all(work[1], {reinterpret_cast<const char*>(&last), sizeof last});
      if (read(done[0], &answer, 1) != 1) die("the child's answer");
    }
  }
  close(work[1]);
  finish_child(child);
}

struct Flag {
  std::string_view name;
  bool Options::* at;
};
constexpr Flag flags[] = {
    {"--perf-map", &Options::perf_map},
    {"--debug-info", &Options::debug_info},
    {"--shared", &Options::shared},
    {"--memfd", &Options::memfd},
    {"--mprotect", &Options::mprotect},
    {"--move", &Options::move},
    {"--fork", &Options::fork},
    {"--cut", &Options::cut},
    {"--map-offsets", &Options::map_offsets},
    {"--arch-timestamp", &Options::arch_timestamp},
};
struct Number {
  std::string_view name;
  uint32_t Options::* at;
};
constexpr Number numbers[] = {
    {"--functions", &Options::functions}, {"--permanent", &Options::permanent},
    {"--arena", &Options::arena},         {"--microseconds", &Options::microseconds},
    {"--first", &Options::first},         {"--seed", &Options::seed},
    {"--claim-pid", &Options::claim_pid},
};
struct Text {
  std::string_view name;
  std::string Options::* at;
};
constexpr Text texts[] = {
    {"--jitdump", &Options::dump_directory},
    {"--perf-map-file", &Options::map_file},
    {"--file", &Options::arena_file},
};

bool take(std::string_view word, const char* value, bool& used) {
  for (const Flag& each : flags) {
    if (word == each.name) return options.*each.at = true;
  }
  used = value != nullptr;
  if (!used) return false;
  for (const Number& each : numbers) {
    if (word != each.name) continue;
    options.*each.at = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    return true;
  }
  for (const Text& each : texts) {
    if (word != each.name) continue;
    options.*each.at = value;
    return true;
  }
  if (word == "--address") options.address = std::strtoul(value, nullptr, 16);
  return word == "--address";
}

void parse(int count, char** words) {
  for (int i = 1; i < count; i++) {
    const std::string_view word = words[i];
    if (word == "--") {
      if (i + 1 < count) options.command = words + i + 1;
      break;
    }
    bool used = false;
    if (!take(word, i + 1 < count ? words[i + 1] : nullptr, used)) {
      std::fprintf(stderr, "unknown option, or one without its value: %s\n", words[i]);
      std::exit(2);
    }
    if (used) i++;
  }
  options.arena &= ~4095U;
}

}  // namespace

int main(int count, char** words) {
  parse(count, words);
  dice.seed(options.seed);
  Jit jit(options.first);
  jit.map_arena();
  jit.open_files();
  jit.make_permanent();
  if (options.fork && options.shared) {
    run_with_sharing_child(jit);
  } else if (options.fork) {
    run_with_child(jit);
  } else {
    for (uint32_t i = 0; i < options.functions; i++) {
      jit.compile_one();
      jit.run_some();
    }
  }
  if (options.cut) {
    std::printf("done %s cut\n", jit.told().c_str());
    std::fflush(stdout);
    jit.cut_one();
    raise(SIGKILL);
  }
  jit.dump.close_record();
  std::printf("done %s\n", jit.told().c_str());
  std::fflush(stdout);
  if (options.command != nullptr) {
    execvp(options.command[0], options.command);
    die(options.command[0]);
  }
  return 0;
}
