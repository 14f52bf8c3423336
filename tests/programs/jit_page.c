// A stand-in for a runtime with a JIT: a few small functions in an anonymous rwx page. The test
// writes the perf map for it. It answers lines on standard input:
//   go N      calls every function N times and checks the results
//   fork N    does the same in a forked child as well, and waits for it
//   exec      becomes itself anew (prints "ready" again)
//   seccomp   from now on openat, memfd_create and executable mmap kill the process
//   usurp N   from now on a thread puts descriptor N in the place of every new one
//   quit N    ends with status N
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
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

#include "page_functions.h"

static long call_all(long n) {
  long errors = 0;
  for (long i = 0; i < n; i++) {
    for (int k = 0; k < functions; k++) {
      // POSIX lets an object pointer be a function; ISO C does not say so.
      function call = __extension__(function)(void*)(page + k * stride);
      if (call((int)i, 3) != (int)i + 6 + k) errors++;
    }
  }
  return errors;
}

static long fork_and_call(long n) {
  const pid_t child = fork();
  if (child == 0) _exit(call_all(n) == 0 ? 0 : 1);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

static int forbid(void) {
  static struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// What it put somewhere just too late stays open, so the new numbers rise with every try.
enum { reach = 128 };
static int first_new;

static void* usurp(void* given) {
  const int mine = *(const int*)given;
  for (;;) {
    for (int fd = first_new; fd < first_new + reach; fd++) {
      if (fcntl(fd, F_GETFD) >= 0) dup3(mine, fd, O_CLOEXEC);
    }
  }
  return NULL;
}

static int begin_to_usurp(int given) {
  static int mine;
  static pthread_t thread;
  mine = given;
  first_new = dup(0);
  if (first_new < 0 || close(first_new) != 0) return -1;
  return pthread_create(&thread, NULL, usurp, &mine);
}

int main(int argc, char** argv) {
  (void)argc;
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  for (int k = 0; k < functions; k++) emit(k);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready %d %#lx %d %d\n", getpid(), (unsigned long)page, functions, stride);

  char line[128];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char verb[32] = "";
    long n = 0;
    sscanf(line, "%31s %ld", verb, &n);
    if (strcmp(verb, "go") == 0) {
      printf("go calls %ld errors %ld\n", n, call_all(n));
    } else if (strcmp(verb, "fork") == 0) {
      const long status = fork_and_call(n);
      printf("fork child %ld errors %ld\n", status, call_all(n));
    } else if (strcmp(verb, "exec") == 0) {
      execv("/proc/self/exe", argv);
      return 1;
    } else if (strcmp(verb, "seccomp") == 0) {
      printf("seccomp %d\n", forbid());
    } else if (strcmp(verb, "usurp") == 0) {
      printf("usurp %d\n", begin_to_usurp((int)n));
    } else if (strcmp(verb, "quit") == 0) {
      return (int)n;
    } else {
      printf("unknown %s\n", verb);
    }
  }
  return 0;
}
