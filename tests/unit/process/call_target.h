// CallTarget: a forked child that calls functions when told to, as a target whose code and calls a
// test knows to the byte. Its code page is anonymous, private and writable, like a JIT's, and lies
// at the same address here (the parent's copy keeps the original bytes). Killed at the end, by its
// pid.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <thread>
#include <vector>

namespace jitscope {

class CallTarget {
 public:
  // A function's first bytes as HotSpot writes them: mov %eax,-0x14000(%rsp) (the stack bang), then
  // lea (%rdi,%rsi),%rax; ret.
  static constexpr std::array<unsigned char, 12> bang_and_add = {
      0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x48, 0x8d, 0x04, 0x37, 0xc3};
  // push %rbp; mov %rsp,%rbp; lea (%rdi,%rsi),%rax; pop %rbp; ret
  static constexpr std::array<unsigned char, 10> frame_and_add = {0x55, 0x48, 0x89, 0xe5, 0x48,
                                                                  0x8d, 0x04, 0x37, 0x5d, 0xc3};

  explicit CallTarget(size_t pages = 1) : size_(pages * 4096) {
    void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    code_ = static_cast<unsigned char*>(at);
    std::memset(code_, 0xcc, size_);
  }
  CallTarget(const CallTarget&) = delete;
  CallTarget& operator=(const CallTarget&) = delete;
  ~CallTarget() {
    stop();
    ::munmap(code_, size_);
  }

  // Before start(): bytes at an offset of the code page; their address.
  uint64_t put(size_t offset, std::span<const unsigned char> bytes) {
    if (pid_ > 0 || offset + bytes.size() > size_) std::abort();
    std::memcpy(code_ + offset, bytes.data(), bytes.size());
    return address(offset);
  }
  [[nodiscard]] uint64_t address(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(code_) + offset;
  }
  [[nodiscard]] size_t size() const { return size_; }
  // As it was at start().
  [[nodiscard]] std::span<const std::byte> original(size_t offset, size_t length) const {
    return std::as_bytes(std::span(code_ + offset, length));
  }

  void start() {
    std::array<int, 2> commands{};
    std::array<int, 2> replies{};
    if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(replies.data(), O_CLOEXEC) != 0) {
      std::abort();
    }
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(commands[0], replies[1]);
    }
    ::close(commands[0]);
    ::close(replies[1]);
    commands_ = commands[1];
    replies_ = replies[0];
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Calls function(argument + 0, 1) `count` times from each of `threads` new threads (0: from the
  // main thread); the sum of the results.
  uint64_t call(uint64_t function, uint64_t count, uint64_t threads = 0) {
    send({Kind::call, function, count, threads, 0, {0, 1}});
    return receive();
  }
  uint64_t call_with(uint64_t function, const std::array<uint64_t, 8>& arguments) {
    send({Kind::call, function, 1, 0, 0, arguments});
    return receive();
  }
  // `count` calls of each of `functions` functions that lie `stride` bytes apart.
  uint64_t call_each(uint64_t first, uint64_t stride, uint64_t functions, uint64_t count) {
    send({Kind::each, first, count, functions, stride, {0, 1}});
    return receive();
  }
  // The same as call(), by a forked child of the target, which then exits.
  uint64_t call_in_fork(uint64_t function, uint64_t count) {
    send({Kind::in_fork, function, count, 0, 0, {0, 1}});
    return receive();
  }
  // Keeps a word on the main thread's stack.
  void keep_on_stack(uint64_t word) {
    send({Kind::keep, word, 0, 0, 0, {}});
    (void)receive();
  }
  // Begins calls that end with the target: it exits after `count` calls.
  void call_and_exit(uint64_t function, uint64_t count) {
    send({Kind::last, function, count, 0, 0, {0, 1}});
  }
  // Begins calls; end_calls() waits for their end.
  void begin_calls(uint64_t function, uint64_t count, uint64_t threads = 0) {
    send({Kind::call, function, count, threads, 0, {0, 1}});
  }
  uint64_t end_calls() { return receive(); }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    if (pid_ <= 0) return status_;
    ::waitpid(pid_, &status_, __WALL);
    pid_ = 0;
    ::close(commands_);
    ::close(replies_);
    return status_;
  }

 private:
  using Function = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t, uint64_t);
  enum class Kind : uint64_t { call, each, in_fork, keep, last };
  struct Command {
    Kind kind = Kind::call;
    uint64_t address = 0;
    uint64_t count = 0;
    uint64_t number = 0;
    uint64_t stride = 0;
    std::array<uint64_t, 8> arguments{};
  };

  static uint64_t run(uint64_t address, uint64_t count, const std::array<uint64_t, 8>& a) {
    const auto function = reinterpret_cast<Function>(address);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      sum += function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    }
    return sum;
  }
  static uint64_t obey(const Command& command) {
    const std::array<uint64_t, 8>& a = command.arguments;
    switch (command.kind) {
      case Kind::call: {
        if (command.number == 0) return run(command.address, command.count, a);
        std::vector<std::thread> threads;
        std::vector<uint64_t> sums(command.number);
        for (uint64_t& sum : sums) {
          threads.emplace_back([&] { sum = run(command.address, command.count, a); });
        }
        uint64_t total = 0;
        for (size_t i = 0; i < sums.size(); ++i) {
          threads[i].join();
          total += sums[i];
        }
        return total;
      }
      case Kind::each: {
        uint64_t total = 0;
        for (uint64_t i = 0; i < command.number; ++i) {
          total += run(command.address + i * command.stride, command.count, a);
        }
        return total;
      }
      case Kind::in_fork: {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(run(command.address, command.count, a) == command.count ? 7 : 8);
        int status = 0;
        ::waitpid(child, &status, 0);
        return static_cast<uint64_t>(status);
      }
      case Kind::last:
        (void)run(command.address, command.count, a);
        ::_exit(0);
      case Kind::keep:
        break;
    }
    return 0;
  }
  [[noreturn]] static void serve(int commands, int replies) {
    volatile uint64_t kept[4] = {};
    Command command;
    while (::read(commands, &command, sizeof(command)) == static_cast<ssize_t>(sizeof(command))) {
      if (command.kind == Kind::keep) {
        for (volatile uint64_t& word : kept) word = command.address;
      }
      const uint64_t answer = obey(command);
      if (::write(replies, &answer, sizeof(answer)) != static_cast<ssize_t>(sizeof(answer))) break;
    }
    ::_exit(static_cast<int>(kept[0] & 1U));
  }

  void send(const Command& command) const {
    if (::write(commands_, &command, sizeof(command)) != static_cast<ssize_t>(sizeof(command))) {
      std::abort();
    }
  }
  [[nodiscard]] uint64_t receive() const {
    uint64_t answer = UINT64_MAX;  // also when the target died
    if (::read(replies_, &answer, sizeof(answer)) != static_cast<ssize_t>(sizeof(answer))) {
      return UINT64_MAX;
    }
    return answer;
  }

  size_t size_;
  unsigned char* code_ = nullptr;
  pid_t pid_ = 0;
  int status_ = 0;
  int commands_ = -1;
  int replies_ = -1;
};

}  // namespace jitscope
