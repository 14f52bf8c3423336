// The JIT of truth_jit: the arena, the functions in it, and what is told of them.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "truth_jit.h"
#include "truth_jit_dump.h"

struct Function {
  uint64_t address;
  uint32_t size;
  uint32_t number;
};

inline std::mt19937 dice;
inline uint32_t roll(uint32_t below) {
  return std::uniform_int_distribution<uint32_t>(0, below - 1)(dice);
}

// mov r15d, kBase + number; again: nops; dec edi; jnz again; ret
inline constexpr uint32_t kFrame = 6 + 2 + 6 + 1;

inline std::vector<uint8_t> emit(uint32_t number, uint32_t size) {
  static constexpr uint8_t nops[][4] = {
      {0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x00}, {0x0f, 0x1f, 0x40, 0x00}};
  std::vector<uint8_t> code;
  const auto bytes = [&](std::initializer_list<uint8_t> some) { code.insert(code.end(), some); };
  const auto word = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      code.push_back(static_cast<uint8_t>(value >> shift));
  };
  bytes({0x41, 0xbf});
  word(static_cast<uint32_t>(kBase) + number);
  for (uint32_t left = size - kFrame; left > 0;) {
    const uint32_t length = 1 + roll(left < 4 ? left : 4);
    code.insert(code.end(), nops[length - 1], nops[length - 1] + length);
    left -= length;
  }
  bytes({0xff, 0xcf, 0x0f, 0x85});
  word(6U - static_cast<uint32_t>(code.size() + 4));
  bytes({0xc3});
  return code;
}

class Jit {
 public:
  explicit Jit(uint32_t first) : number_(first) {}

  void map_arena() {
    const int writable = options.mprotect ? 0 : PROT_WRITE;
    int file = -1;
    int flags = MAP_FIXED_NOREPLACE | (options.shared ? MAP_SHARED : MAP_PRIVATE);
    if (options.memfd) {
      file = static_cast<int>(syscall(SYS_memfd_create, "truth", 0));
    } else if (!options.arena_file.empty()) {
      file = open(options.arena_file.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0644);
      if (file >= 0) write_all(file, "This is no ELF file.\n");
    } else {
      flags |= MAP_ANONYMOUS;
    }
    if (file >= 0 && ftruncate(file, options.arena) != 0) die("ftruncate");
    void* const wanted = reinterpret_cast<void*>(options.address);
    void* const at = mmap(wanted, options.arena, PROT_READ | PROT_EXEC | writable, flags, file, 0);
    if (at != wanted) die("mmap of the arena");
    if (file >= 0) close(file);
    end_ = options.address + options.arena;
    std::printf("arena %#lx %#lx\n", options.address, end_);
  }

  void open_files() {
    dump.open();
    if (!options.map_file.empty()) {
      map_path_ = options.map_file;
    } else if (options.perf_map) {
      map_path_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    }
    if (map_path_.empty()) return;
    map_ = open(map_path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (map_ < 0) die(map_path_.c_str());
  }

  // Side by side from the arena's begin; what is compiled later keeps off.
  void make_permanent() {
    uint64_t at = options.address;
    for (uint32_t i = 0; i < options.permanent; i++) {
      const uint32_t size = size_of_one();
      permanent_.push_back(place(at, size, number_++));
      at += size;
    }
    free_ = (at + 15) & ~uint64_t{15};
    if (free_ + 4096 > end_) {
      std::fputs("the arena is too small\n", stderr);
      std::exit(2);
    }
    std::printf("permanent %#lx %#lx\n", options.address, free_);
  }

  void compile_one() {
    const uint32_t size = size_of_one();
    live_.push_back(place(somewhere(size), size, number_++));
    run(live_.back());
  }

  void run_some() {
    if (!live_.empty() && roll(3) == 0) run(live_[roll(static_cast<uint32_t>(live_.size()))]);
    if (!permanent_.empty() && roll(8) == 0) {
      run(permanent_[roll(static_cast<uint32_t>(permanent_.size()))]);
    }
    if (options.move && live_.size() > 1 && roll(4) == 0) move_one();
  }

  void run(const Function& function) {
    uint32_t laps = 100'000 / function.size + 1;
    const uint64_t until = now() + uint64_t{options.microseconds} * 1000;
    do {
      call(function, laps);
    } while (now() < until);
    runs_++;
  }

  // The caller sets r15 as well: an interrupt may come before the first or after the last
  // instruction. The red zone is stepped over, since the compiler sees no call here.
  static void call(const Function& function, uint32_t laps) {
    const uint64_t number = kBase + function.number;
    asm volatile(
        "sub $128, %%rsp\n\t"
        "mov %[number], %%r15\n\t"
        "call *%[address]\n\t"
        "add $128, %%rsp"
        : "+D"(laps)
        : [number] "r"(number), [address] "r"(function.address)
        : "r15", "cc", "memory");
  }

  // Compiled and run as every function, but its record is cut in its code.
  void cut_one() {
    const uint32_t size = 512;
    const Function last = place(somewhere(size), size, number_++, true);
    for (int i = 0; i < 200; i++) run(last);
  }

  void inherit(uint32_t first) {
    number_ = first;
    if (map_ >= 0) close(map_);
    map_ = -1;
    dump = Dump{};
  }

  [[nodiscard]] const std::vector<Function>& live() const { return live_; }
  [[nodiscard]] std::string told() const {
    return "functions " + std::to_string(number_) + " runs " + std::to_string(runs_) + " moves " +
           std::to_string(moves_);
  }

  Dump dump;

 private:
  static uint32_t size_of_one() { return roll(3) == 0 ? kFrame + 1 + roll(64) : 64 + roll(2000); }

  uint64_t somewhere(uint32_t size) {
    const uint64_t alignment = uint64_t{1} << (2 * roll(4));  // 1, 4, 16, 64
    const uint64_t at = free_ + roll(static_cast<uint32_t>(end_ - free_ - size));
    const uint64_t aligned = at & ~(alignment - 1);
    return aligned < free_ ? free_ : aligned;
  }

  void end_overlapped(uint64_t address, uint32_t size) {
    std::erase_if(live_, [&](const Function& each) {
      return each.address < address + size && address < each.address + each.size;
    });
  }

  Function place(uint64_t address, uint32_t size, uint32_t number, bool cut = false) {
    end_overlapped(address, size);
    const std::vector<uint8_t> code = emit(number, size);
    copy(address, code);
    const std::string name = "func_" + std::to_string(number);
    dump.load(address, code, number, name, cut);
    map_line(address, size, name);
    return {address, size, number};
  }

  void move_one() {
    const Function old = live_[roll(static_cast<uint32_t>(live_.size()))];
    const auto* bytes = reinterpret_cast<const uint8_t*>(old.address);
    const std::vector<uint8_t> code(bytes, bytes + old.size);
    Function moved = old;
    moved.address = somewhere(old.size);
    end_overlapped(old.address, old.size);
    end_overlapped(moved.address, moved.size);
    copy(moved.address, code);
    dump.move(old.address, moved.address, old.size);
    map_line(moved.address, moved.size, "func_" + std::to_string(old.number));
    live_.push_back(moved);
    moves_++;
    run(moved);
  }

  void copy(uint64_t address, std::span<const uint8_t> code) const {
    const uint64_t page = 4096;
    const uint64_t begin = address & ~(page - 1);
    const uint64_t length = ((address + code.size() + page - 1) & ~(page - 1)) - begin;
    void* const pages = reinterpret_cast<void*>(begin);
    if (options.mprotect && mprotect(pages, length, PROT_READ | PROT_WRITE) != 0) die("mprotect");
    std::memcpy(reinterpret_cast<void*>(address), code.data(), code.size());
    if (options.mprotect && mprotect(pages, length, PROT_READ | PROT_EXEC) != 0) die("mprotect");
  }

  void map_line(uint64_t address, uint32_t size, const std::string& name) const {
    if (map_ < 0) return;
    char line[96];
    const uint64_t told = options.map_offsets ? address - options.address : address;
    const int length = std::snprintf(line, sizeof line, "%lx %x %s\n", told, size, name.c_str());
    write_all(map_, {line, static_cast<size_t>(length)});
  }

  uint32_t number_;
  uint64_t end_ = 0;
  uint64_t free_ = 0;
  uint64_t runs_ = 0;
  uint64_t moves_ = 0;
  int map_ = -1;
  std::string map_path_;
  std::vector<Function> live_;
  std::vector<Function> permanent_;
};
