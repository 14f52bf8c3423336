/* Moves a part of its own code away from its file, as programs do that want large pages for it:
 *
 *   fixed   copies it to anonymous memory that is mapped over the file's mapping (node)
 *   mremap  copies it aside and moves the copy over the file's mapping (HHVM, ClickHouse)
 *   other   maps anonymous memory over it and writes other code there
 *
 * Requests are lines; each is answered by one: `move KIND`, `spin ROUNDS` (in that code). */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define MOVED __attribute__((noinline, used, section(".moved"), aligned(PAGE)))

MOVED uint64_t spin_in_moved_code(uint64_t rounds) {
  uint64_t sum = 1;
  for (uint64_t i = 0; i < rounds; i++) {
    sum = sum * 6364136223846793005u + i;
    __asm__ volatile("" : "+r"(sum));
  }
  return sum;
}

MOVED void end_of_moved_code(void) {}

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void move_code(const char* kind) {
  char* code = (char*)(uintptr_t)&spin_in_moved_code;
  const size_t size = (size_t)((char*)(uintptr_t)&end_of_moved_code - code);
  const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
  const int memory = MAP_PRIVATE | MAP_ANONYMOUS;
  char* copy = mmap(NULL, size, PROT_READ | PROT_WRITE, memory, -1, 0);
  if (copy == MAP_FAILED) die("mmap");
  memcpy(copy, code, size);
  if (strcmp(kind, "other") == 0) {
    /* mov $1,%eax; loop: dec %rdi; jnz loop; ret */
    static const unsigned char bytes[] = {0xb8, 1, 0, 0, 0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
    memset(copy, 0xcc, size);
    memcpy(copy, bytes, sizeof bytes);
  }
  if (strcmp(kind, "mremap") == 0) {
    if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0) die("mprotect");
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code) die("mremap");
    return;
  }
  if (mmap(code, size, all, memory | MAP_FIXED, -1, 0) != code) die("mmap over the code");
  memcpy(code, copy, size);
  if (mprotect(code, size, PROT_READ | PROT_EXEC) != 0) die("mprotect");
  munmap(copy, size);
}

int main(void) {
  char line[64];
  printf("ready copied_text\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "move ", 5) == 0) {
      move_code(line + 5);
      printf("move done\n");
    } else if (strncmp(line, "spin ", 5) == 0) {
      printf("spin %llu\n", (unsigned long long)spin_in_moved_code(strtoull(line + 5, NULL, 10)));
    }
    fflush(stdout);
  }
  return 0;
}
