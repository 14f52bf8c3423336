// A stand-in for a runtime with a JIT that gets into odd states. Its functions lie in an anonymous
// rwx page, and it writes the perf map for them itself, as a runtime does, also after each exec.
// Lines on standard input:
//   go N       calls every function N times and checks the results
//   check      how many bytes of the page differ from what was emitted
//   vfork      a child by vfork() answers the lines from here on, in the same memory, while this
//   thread waits for it leave      the child executes another program, and with it the vfork ends
//   orphan     in such a child: its parent becomes itself anew by its other thread, the child keeps
//   the old memory spawns N   N times: a vfork child that executes another program, and calls in
//   between share      a child with the same memory that is no vfork child (clone(2)); it calls
//   until "unshare" retire     the main thread exits, another one goes on answering exec becomes
//   itself anew (prints "ready" again) texec      the same by a thread that is not the main one
//   execs N    N times, as fast as it can, each image with some calls; by both kinds of threads in
//   turn narrow     gives itself the auxiliary vector of a 32-bit program beats      how often its
//   other thread has called all functions (odd_states ... beat)
// As odd_states ... privileged COPY UID, "execs" goes through COPY, which belongs to UID and is
// setuid; as odd_states
// ... capable COPY N, through COPY that has the capability N. Each image checks that it has what
// the file gives.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "page_functions.h"

enum { page_size = 4096 };

static unsigned char emitted[page_size];
static char** arguments;
static volatile unsigned long beats;
static volatile unsigned long wrong;  // results of the other thread, or of children
static volatile int sharing;
static volatile int exec_wanted;

static void* become_new(void* unused);

static unsigned long call_all(long n) {
  unsigned long errors = 0;
  for (long i = 0; i < n; i++) {
    for (int k = 0; k < functions; k++) {
      // POSIX lets an object pointer be a function; ISO C does not say so.
      function call = __extension__(function)(void*)(page + k * stride);
      if (call((int)i, 3) != (int)i + 6 + k) errors++;
    }
  }
  return errors;
}

static int changed(void) {
  int count = 0;
  for (int i = 0; i < page_size; i++) count += page[i] != emitted[i];
  return count;
}

static void write_map(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  unlink(path);  // of an image with other rights
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  for (int k = 0; k < functions; k++) {
    dprintf(file, "%lx %x JS:*page_f%d /page.js:%d:1\n", (unsigned long)(page + k * stride),
            k % 2 == 0 ? 8 : 14, k, k + 1);
  }
  close(file);
}

static void loop(void);

static void* answer(void* unused) {
  (void)unused;
  loop();
  exit(0);
}

static void* beat(void* unused) {
  (void)unused;
  while (!exec_wanted) {
    wrong += call_all(1);
    beats++;
  }
  return become_new(NULL);
}

static pthread_t start(void* (*body)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) exit(5);
  return thread;
}

static void begin_vfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    printf("vfork child %d\n", getpid());
    loop();
    _exit(6);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("vforked %d\n", status);
}

__attribute__((noinline)) static pid_t spawn(void) {
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(7);
  }
  return child;
}

static void spawns(long n) {
  unsigned long errors = 0;
  for (long i = 0; i < n; i++) {
    const pid_t child = spawn();
    int status = -1;
    errors += call_all(1);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) errors++;
  }
  printf("spawns calls %ld errors %lu\n", n, errors);
}

static int share(void* unused) {
  (void)unused;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (sharing) wrong += call_all(1);
  return 0;
}

static pid_t begin_to_share(void) {
  enum { size = 65536 };
  char* stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return -1;
  sharing = 1;
  return clone(share, stack + size, CLONE_VM | SIGCHLD, NULL);
}

static char* last_argument(void) {
  char** last = arguments;
  while (last[1] != NULL) last++;
  return *last;
}

// The words "KIND COPY NUMBER", if they are there.
static char** words_of(const char* kind) {
  for (char** each = arguments; *each != NULL; each++) {
    if (strcmp(*each, kind) == 0) return each;
  }
  return NULL;
}

static void* become_new(void* unused) {
  (void)unused;
  char** words = words_of("privileged");
  // Gives up what the image before had, so that only the file can give it again.
  if (words != NULL && setuid(getuid()) != 0) _exit(8);
  if (words == NULL) words = words_of("capable");
  execv(words != NULL ? words[1] : arguments[0], arguments);
  _exit(9);
}

// The last argument counts the images that are still to come.
static void next_image(long left) {
  snprintf(last_argument(), 8, "%07u", (unsigned)(left - 1) % 1000000);
  if (left % 2 == 0) become_new(NULL);
  start(become_new);
  for (;;) pause();
}

// All else of the map as it is (proc_pid_stat(5), fields 26 to 28 and 45 to 51).
static int narrow(void) {
  static uint32_t words[32] = {AT_PHDR, 0x8048034, AT_PHENT, 32, AT_PHNUM, 9, AT_PAGESZ, page_size};
  unsigned long fields[53] = {0};
  char text[2048] = "";
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) return -1;
  close(file);
  char* at = strrchr(text, ')') + 4;
  for (int i = 4; i < 53; i++) fields[i] = strtoul(at, &at, 10);
  struct prctl_mm_map map = {
      fields[26],   fields[27], fields[45], fields[46], fields[47], (uint64_t)(uintptr_t)sbrk(0),
      fields[28],   fields[48], fields[49], fields[50], fields[51], (void*)words,
      sizeof words, -1U};
  return prctl(PR_SET_MM, PR_SET_MM_MAP, (unsigned long)&map, sizeof map, 0);
}

static void loop(void) {
  char line[128];
  // A line at a time from the descriptor: stdio would lose at exec what it had read ahead.
  for (;;) {
    size_t size = 0;
    for (; size < sizeof line - 1; size++) {
      if (read(0, line + size, 1) != 1) _exit(0);
      if (line[size] == '\n') break;
    }
    line[size] = 0;
    char verb[32] = "";
    long n = 0;
    sscanf(line, "%31s %ld", verb, &n);
    if (strcmp(verb, "go") == 0) {
      printf("go calls %ld errors %lu\n", n, call_all(n) + wrong);
    } else if (strcmp(verb, "check") == 0) {
      printf("check changed %d\n", changed());
    } else if (strcmp(verb, "vfork") == 0) {
      begin_vfork();
    } else if (strcmp(verb, "leave") == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(10);
    } else if (strcmp(verb, "orphan") == 0) {
      prctl(PR_SET_PDEATHSIG, 0);
      exec_wanted = 1;
      for (;;) pause();
    } else if (strcmp(verb, "narrow") == 0) {
      printf("narrow %d\n", narrow());
    } else if (strcmp(verb, "spawns") == 0) {
      spawns(n);
    } else if (strcmp(verb, "share") == 0) {
      printf("share child %d\n", begin_to_share());
    } else if (strcmp(verb, "unshare") == 0) {
      int status = -1;
      sharing = 0;
      wait(&status);
      printf("unshare child %d\n", status);
    } else if (strcmp(verb, "retire") == 0) {
      start(answer);
      pthread_exit(NULL);
    } else if (strcmp(verb, "exec") == 0) {
      become_new(NULL);
    } else if (strcmp(verb, "texec") == 0) {
      start(become_new);
    } else if (strcmp(verb, "execs") == 0) {
      next_image(n);
    } else if (strcmp(verb, "beats") == 0) {
      printf("beats %lu\n", beats);
    } else {
      printf("unknown %s\n", verb);
    }
  }
}

// From none to 190 ms, so that each phase of a probing tool's work meets the end of some image.
static void live_on(long left) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const struct timespec begin = now;
  const long most = left * 7 % 20 * 10;
  do {
    wrong += call_all(100);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < most);
}

static int without_privileges(void) {
  char** words = words_of("privileged");
  if (words != NULL) return strtoul(words[2], NULL, 10) != geteuid();
  words = words_of("capable");
  if (words == NULL) return 0;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return 1;
  return (data[0].effective >> strtoul(words[2], NULL, 10) & 1U) == 0;
}

int main(int argc, char** argv) {
  arguments = argv;
  page =
      mmap(NULL, page_size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  for (int k = 0; k < functions; k++) emit(k);
  memcpy(emitted, page, page_size);
  write_map();
  setvbuf(stdout, NULL, _IOLBF, 0);
  // The last word is seven characters wide, for the number of images to come.
  if (argc < 2 || strlen(argv[argc - 1]) != 7) return 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "beat") == 0) start(beat);
  }
  const long left = strtol(argv[argc - 1], NULL, 10);
  if (left > 0) {
    if (without_privileges()) return 3;
    live_on(left);
    if (wrong != 0) return 4;
    next_image(left);
  }
  printf("ready %d %#lx %d %d %d\n", getpid(), (unsigned long)page, functions, stride,
         without_privileges());
  loop();
}
