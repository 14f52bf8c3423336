// 32-bit programs are told by their auxiliary vector.
#include "process/word_size.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace jitscope {
namespace {

template <typename Word>
std::string vector_of(const std::vector<Word>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)};
}

TEST(WordSize, A32BitProgram) {
  EXPECT_TRUE(is_32_bit_auxv(vector_of<uint32_t>(
      {AT_SYSINFO, 0xf7f00000, AT_HWCAP, 4, AT_PHDR, 0x8048034, AT_PHENT, 32, AT_PHNUM, 9, 0, 0})));
}

TEST(WordSize, A64BitProgram) {
  EXPECT_FALSE(is_32_bit_auxv(vector_of<uint64_t>({AT_SYSINFO_EHDR, 0x7ffff7fc1000, AT_HWCAP, 32,
                                                   AT_PHDR, 0x555555554040, AT_PHENT, 56, 0, 0})));
  // Values that look like tags.
  EXPECT_FALSE(is_32_bit_auxv(
      vector_of<uint64_t>({AT_HWCAP, AT_PHENT, AT_PHENT, 56, AT_PHNUM, AT_PHENT, 0, 0})));
}

TEST(WordSize, WhatIsCutOffOrEmpty) {
  EXPECT_FALSE(is_32_bit_auxv(""));
  EXPECT_FALSE(is_32_bit_auxv(std::string(3, '\4')));
  EXPECT_FALSE(is_32_bit_auxv(vector_of<uint32_t>({AT_PHENT})));
}

TEST(WordSize, ThisProgram) {
  const auto text = read_text_file("/proc/self/auxv");
  ASSERT_TRUE(text);
  EXPECT_FALSE(is_32_bit_auxv(*text));
}

}  // namespace
}  // namespace jitscope
