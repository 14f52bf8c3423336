// A target for surgery that checks itself: threads in many kinds of system calls (which must not
// see EINTR), threads that compute (whose registers must stay as they are), and two functions to
// patch.
//
//   selfcheck [IDLE [eintr]]   IDLE more threads that wait for ever; with "eintr" the calls that
//   may
//                              say EINTR when a tracer dies before it has repaired them are let
//                              pass
//
// Prints "ready ONE TWO" with the addresses of the functions. Commands on its input: "check" waits
// until every thread has made progress and prints "alive"; "signals" prints how many SIGRTMIN it
// got and the sum of their values; "end" prints "ok" when nothing went wrong. A thread that sees
// something wrong prints "wrong: WHAT" at once.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <vector>

// Two functions that return a constant. `patch_one` is one instruction of 5 bytes; `patch_two`
// returns 2 by several small ones with a slow one among them, so that threads are often inside.
asm(R"(
  .text
  .balign 64
  .globl patch_one
patch_one:
  movl $1, %eax
  ret
  .balign 64
  .globl patch_two
patch_two:
  xorl %eax, %eax
  pause
  incl %eax
  incl %eax
  ret
  .balign 64

  # uint64_t keep_registers(const uint64_t* values, uint64_t rounds): loads the integer registers and
  # xmm0-15 from values, counts down, and returns how many differ afterwards.
  .globl keep_registers
keep_registers:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  push %rdi
  push %rsi
  mov %rdi, %rax
  movdqu (%rax), %xmm0
  movdqu 16(%rax), %xmm5
  movdqu 32(%rax), %xmm10
  movdqu 48(%rax), %xmm15
  mov 64(%rax), %rbx
  mov 72(%rax), %rcx
  mov 80(%rax), %rdx
  mov 88(%rax), %rsi
  mov 96(%rax), %rdi
  mov 104(%rax), %rbp
  mov 112(%rax), %r8
  mov 120(%rax), %r9
  mov 128(%rax), %r10
  mov 136(%rax), %r11
  mov 144(%rax), %r12
  mov 152(%rax), %r13
  mov 160(%rax), %r14
  mov 168(%rax), %r15
  # The red zone must stay as it is, too.
  movq $0x1234567, -8(%rsp)
  movq $0x7654321, -120(%rsp)
  mov (%rsp), %rax
1:
  stc
  dec %rax
  jnc 9f
  jnz 1b
  mov 8(%rsp), %rax
  cmpq $0x1234567, -8(%rsp)
  jne 9f
  cmpq $0x7654321, -120(%rsp)
  jne 9f
  cmp 64(%rax), %rbx
  jne 9f
  cmp 72(%rax), %rcx
  jne 9f
  cmp 80(%rax), %rdx
  jne 9f
  cmp 88(%rax), %rsi
  jne 9f
  cmp 96(%rax), %rdi
  jne 9f
  cmp 104(%rax), %rbp
  jne 9f
  cmp 112(%rax), %r8
  jne 9f
  cmp 120(%rax), %r9
  jne 9f
  cmp 128(%rax), %r10
  jne 9f
  cmp 136(%rax), %r11
  jne 9f
  cmp 144(%rax), %r12
  jne 9f
  cmp 152(%rax), %r13
  jne 9f
  cmp 160(%rax), %r14
  jne 9f
  cmp 168(%rax), %r15
  jne 9f
  movdqu (%rax), %xmm1
  pcmpeqb %xmm0, %xmm1
  movdqu 16(%rax), %xmm2
  pcmpeqb %xmm5, %xmm2
  pand %xmm2, %xmm1
  movdqu 32(%rax), %xmm2
  pcmpeqb %xmm10, %xmm2
  pand %xmm2, %xmm1
  movdqu 48(%rax), %xmm2
  pcmpeqb %xmm15, %xmm2
  pand %xmm2, %xmm1
  pmovmskb %xmm1, %eax
  xor $0xffff, %eax
  jmp 8f
9:
  mov $1, %eax
8:
  pop %rsi
  pop %rdi
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
)");

extern "C" int patch_one();
extern "C" int patch_two();
extern "C" uint64_t keep_registers(const uint64_t* values, uint64_t rounds);

namespace {

constexpr int kThreads = 16;
bool g_let_eintr_pass = false;
std::atomic<bool> g_stop{false};
std::atomic<bool> g_wrong{false};
std::atomic<uint64_t> g_progress[kThreads];
std::atomic<uint64_t> g_signals{0};
std::atomic<uint64_t> g_signal_sum{0};
int g_pipe[2];

void wrong(const char* what, int code) {
  g_wrong = true;
  char text[128];
  const int size = snprintf(text, sizeof(text), "wrong: %s (%s)\n", what, strerror(code));
  (void)!write(1, text, static_cast<size_t>(size));
}

// A call must succeed or say that its time was up. `not_restarted`: the kernel does not repeat it.
void expect(const char* what, long result, int time_out, bool not_restarted = false) {
  if (result < 0 && errno == EINTR && g_let_eintr_pass && not_restarted) return;
  if (result < 0 && errno != time_out) wrong(what, errno);
}

void on_signal(int, siginfo_t* info, void*) {
  ++g_signals;
  g_signal_sum += static_cast<uint64_t>(info->si_value.sival_int);
}

timespec milliseconds(long count) {
  return {0, count * 1000000};
}

void compute(int index, bool (*body)()) {
  while (!g_stop) {
    for (int i = 0; i < 100; ++i) {
      if (!body()) {
        wrong("computed", 0);
        g_stop = true;
        return;
      }
    }
    ++g_progress[index];
    // Leaves time to the others.
    const timespec pause = milliseconds(1);
    expect("nanosleep (short)", nanosleep(&pause, nullptr), 0);
  }
}

bool check_registers() {
  static thread_local std::vector<uint64_t> values = [] {
    std::vector<uint64_t> v(22);
    for (size_t i = 0; i < v.size(); ++i) v[i] = 0x0101010101010101U * (i + 1) + i;
    return v;
  }();
  return keep_registers(values.data(), 20000) == 0;
}
bool check_one() {
  for (int i = 0; i < 2000; ++i) {
    const int got = patch_one();
    if (got != 1 && got != 2) return false;
  }
  return true;
}
bool check_two() {
  for (int i = 0; i < 500; ++i) {
    if (patch_two() != 2) return false;
  }
  return true;
}

void body(int index) {
  static std::atomic<int> word{0};
  const int epoll = epoll_create1(0);
  const int semaphore = semget(IPC_PRIVATE, 1, 0600);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  const timeval time_out{0, 5000};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time_out, sizeof(time_out));
  sigset_t mask;  // for calls that wait with their own: a signal may end them only here
  sigemptyset(&mask);
  sigaddset(&mask, SIGRTMIN);
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGUSR2);
  while (!g_stop && index < 12) {
    timespec wait = milliseconds(5);
    epoll_event event{};
    char byte = 0;
    sembuf take{0, -1, 0};
    pollfd entry{ends[0], POLLIN, 0};
    timespec later{};
    switch (index) {
      case 0:
        expect("futex", syscall(SYS_futex, &word, FUTEX_WAIT, 0, &wait, nullptr, 0), ETIMEDOUT);
        break;
      case 1:
        expect("nanosleep", nanosleep(&wait, nullptr), 0);
        break;
      case 2:
        expect("epoll_wait", epoll_wait(epoll, &event, 1, 5), 0, true);
        break;
      case 3:
        expect("read", read(g_pipe[0], &byte, 1), 0);
        break;
      case 4:
        expect("poll", poll(&entry, 1, 5), 0);
        break;
      case 5:
        expect("recv", recv(ends[0], &byte, 1, 0), EAGAIN, true);
        break;
      case 6:
        expect("semtimedop", semtimedop(semaphore, &take, 1, &wait), EAGAIN, true);
        break;
      case 7:
        expect("sigtimedwait", sigtimedwait(&waited, nullptr, &wait), EAGAIN, true);
        break;
      case 8:
        clock_gettime(CLOCK_MONOTONIC, &later);
        later.tv_nsec += 5000000;
        if (later.tv_nsec >= 1000000000) {
          later.tv_nsec -= 1000000000;
          ++later.tv_sec;
        }
        if (const int code = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &later, nullptr)) {
          wrong("clock_nanosleep", code);
        }
        break;
      case 9:
        expect("ppoll", ppoll(&entry, 1, &wait, &mask), 0);
        break;
      case 10:
        expect("epoll_pwait", epoll_pwait(epoll, &event, 1, 5, &mask), 0, true);
        break;
      case 11:
        expect("write", write(g_pipe[1], "x", 1), 0);
        nanosleep(&wait, nullptr);
        break;
      default:
        break;
    }
    ++g_progress[index];
  }
  if (index == 12 || index == 13) compute(index, check_registers);
  if (index == 14) compute(index, check_one);
  if (index == 15) compute(index, check_two);
  semctl(semaphore, 0, IPC_RMID);
}

void* start(void* argument) {
  body(static_cast<int>(reinterpret_cast<intptr_t>(argument)));
  return nullptr;
}

void* idle(void*) {
  int word = 0;
  while (true) {
    if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0) != 0) wrong("idle", errno);
  }
}

void check_progress() {
  uint64_t before[kThreads];
  for (int i = 0; i < kThreads; ++i) before[i] = g_progress[i];
  for (int i = 0; i < kThreads; ++i) {
    while (g_progress[i] < before[i] + 2 && !g_wrong) {
      const timespec pause = milliseconds(1);
      nanosleep(&pause, nullptr);
    }
  }
  if (!g_wrong) printf("alive\n");
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);  // for sigtimedwait
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN, &action, nullptr);
  if (pipe(g_pipe) != 0) return 2;
  // Only the main thread takes the signals.
  sigaddset(&set, SIGRTMIN);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::vector<pthread_t> threads(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[static_cast<size_t>(i)], nullptr, start,
                       reinterpret_cast<void*>(static_cast<intptr_t>(i))) != 0) {
      return 2;
    }
  }
  g_let_eintr_pass = argc > 2 && strcmp(argv[2], "eintr") == 0;
  const int more = argc > 1 ? atoi(argv[1]) : 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int i = 0; i < more; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, idle, nullptr) != 0) return 2;
  }
  sigset_t unblock;
  sigemptyset(&unblock);
  sigaddset(&unblock, SIGRTMIN);
  pthread_sigmask(SIG_UNBLOCK, &unblock, nullptr);
  printf("ready %p %p\n", reinterpret_cast<void*>(patch_one), reinterpret_cast<void*>(patch_two));
  char line[64];
  while (true) {
    errno = 0;
    if (fgets(line, sizeof(line), stdin) == nullptr) {
      if (errno != 0) wrong("read of a command", errno);
      break;
    }
    if (strcmp(line, "check\n") == 0) check_progress();
    if (strcmp(line, "signals\n") == 0) {
      printf("signals %lu %lu\n", static_cast<unsigned long>(g_signals),
             static_cast<unsigned long>(g_signal_sum));
    }
    if (strcmp(line, "end\n") == 0) break;
  }
  g_stop = true;
  (void)!write(g_pipe[1], "x", 1);  // the reader may wait for a byte that nobody else will write
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (!g_wrong) printf("ok\n");
  fflush(stdout);
  _exit(g_wrong ? 1 : 0);
}
