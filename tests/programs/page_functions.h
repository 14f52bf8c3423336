// The little functions of the test programs that stand in for a runtime with a JIT, in a page of
// their own.
#pragma once

#include <stdint.h>
#include <string.h>

enum { functions = 6, stride = 64 };

typedef int (*function)(int a, int b);
static unsigned char* page;

// a + 2 * b + k. Even ones begin with one long instruction, odd ones with three short ones.
static void emit(int k) {
  unsigned char* at = page + k * stride;
  static const unsigned char even[] = {0x8d, 0x84, 0x77, 0, 0, 0, 0, 0xc3};
  static const unsigned char odd[] = {0x55, 0x48, 0x89, 0xe5, 0x8d, 0x04, 0x77,
                                      0x05, 0,    0,    0,    0,    0x5d, 0xc3};
  const int32_t added = k;
  if (k % 2 == 0) {
    memcpy(at, even, sizeof even);
    memcpy(at + 3, &added, sizeof added);
  } else {
    memcpy(at, odd, sizeof odd);
    memcpy(at + 8, &added, sizeof added);
  }
}
