// What the parts of truth_jit share: its options, times, and writing to files.
#pragma once

#include <unistd.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

inline constexpr uint64_t kBase = 0x5EED0000;
inline constexpr uint32_t kChildFirst = 1'000'000;

struct Options {
  std::string dump_directory;
  std::string map_file;
  std::string arena_file;
  bool perf_map = false;
  bool debug_info = false;
  bool shared = false;
  bool memfd = false;
  bool mprotect = false;
  bool move = false;
  bool fork = false;
  bool cut = false;
  bool arch_timestamp = false;
  bool map_offsets = false;
  uint32_t functions = 4000;
  uint32_t permanent = 24;
  uint32_t microseconds = 400;
  uint32_t arena = 65536;
  uint32_t first = 0;
  uint32_t seed = 1;
  uint32_t claim_pid = 0;
  uint64_t address = 0x500000000000;
  char** command = nullptr;
};
inline Options options;

[[noreturn]] inline void die(const char* what) {
  std::perror(what);
  std::exit(2);
}

inline uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

inline uint64_t stamp() {
  return options.arch_timestamp ? __rdtsc() : now();
}

inline void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0) die("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

template <class... Values>
void put(std::string& out, Values... values) {
  (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
}
