// Targets of unusual kinds, one a mode:
//   zombie-leader  the main thread has exited, another one runs on
//   seccomp        a filter kills the program at openat and at mmap with PROT_EXEC
//   forker         forks all the time; children exit with 0 or are counted as wrong
//   execer N       executes itself N times, with threads around, then waits
//   churn          threads are made and exit all the time
//   vfork          one thread waits uninterruptibly for a vfork child that sleeps
//   signals        waits in pause() for SIGUSR1, counts the pauses that it ended
//   exiter         exits after a line of input, with many threads
// Each prints "ready" and answers every line of input with "alive" (what it counts behind it).
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<uint64_t> g_count{0};
std::atomic<uint64_t> g_wrong{0};

void* answer(void*) {
  char line[64];
  ssize_t got = 0;
  while ((got = read(0, line, sizeof(line))) > 0 || (got < 0 && errno == EINTR)) {
    if (got < 0) continue;
    char text[96];
    const int size =
        snprintf(text, sizeof(text), "alive %lu %lu\n", static_cast<unsigned long>(g_count),
                 static_cast<unsigned long>(g_wrong));
    (void)!write(1, text, static_cast<size_t>(size));
  }
  _exit(0);
}

void ready() {
  (void)!write(1, "ready\n", 6);
}

void spawn(void* (*body)(void*), void* argument = nullptr) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, body, argument) != 0) ++g_wrong;
}

void* sleep_for_ever(void*) {
  while (true) pause();
}

[[noreturn]] void zombie_leader() {
  spawn(answer);
  ready();
  pthread_exit(nullptr);
}

void install_filter() {
  const auto load = [](size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
  };
  sock_filter code[] = {
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 2),
      load(offsetof(seccomp_data, args) + 16),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof(code) / sizeof(code[0]), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(3);
  }
}

[[noreturn]] void forker() {
  spawn(answer);
  ready();
  while (true) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++g_wrong;
    ++g_count;
  }
}

[[noreturn]] void execer(const char* self, int left) {
  for (int i = 0; i < 4; ++i) spawn(sleep_for_ever);
  if (left == 0) {
    ready();
    answer(nullptr);
  }
  char text[16];
  snprintf(text, sizeof(text), "%d", left - 1);
  execl(self, self, "execer", text, nullptr);
  _exit(4);
}

void* short_life(void*) {
  --g_wrong;
  ++g_count;
  return nullptr;
}

[[noreturn]] void churn() {
  spawn(answer);
  ready();
  while (true) {
    for (int i = 0; i < 4; ++i) {
      ++g_wrong;  // taken back by the thread
      spawn(short_life);
    }
    while (g_wrong != 0) usleep(100);
  }
}

void* wait_for_child(void*) {
  const pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  return nullptr;
}

void on_signal(int) {}

[[noreturn]] void signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  spawn(answer);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  ready();
  while (true) {
    if (pause() != -1 || errno != EINTR) ++g_wrong;
    ++g_count;
  }
}

[[noreturn]] void exiter() {
  for (int i = 0; i < 50; ++i) spawn(sleep_for_ever);
  ready();
  char line[64];
  (void)!read(0, line, sizeof(line));
  _exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "zombie-leader") == 0) zombie_leader();
  if (strcmp(mode, "forker") == 0) forker();
  if (strcmp(mode, "execer") == 0) execer(argv[0], argc > 2 ? atoi(argv[2]) : 0);
  if (strcmp(mode, "churn") == 0) churn();
  if (strcmp(mode, "signals") == 0) signals();
  if (strcmp(mode, "exiter") == 0) exiter();
  if (strcmp(mode, "vfork") == 0) spawn(wait_for_child);
  if (strcmp(mode, "seccomp") == 0) install_filter();
  ready();
  answer(nullptr);
}
