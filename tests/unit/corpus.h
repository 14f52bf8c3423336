// Runs a fuzz target's check over its seeds and over damaged copies of them, so that what it checks
// is checked everywhere.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace jitscope::test {

// How many seeds there were. `damages`: about how many places of each seed are damaged.
template <typename Check>
size_t replay_corpus(const std::string& name, Check check, size_t damages = 256) {
  size_t seeds = 0;
  std::error_code error;
  const auto directory = std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz" / "corpus" / name;
  for (const auto& file : std::filesystem::directory_iterator(directory, error)) {
    std::ifstream stream(file.path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_writable_bytes(std::span(text));
    EXPECT_EQ(check(bytes), "") << file.path();
    ++seeds;
    const size_t step = std::max<size_t>(1, bytes.size() / damages);
    for (size_t i = 0; i < bytes.size(); i += step) {
      EXPECT_EQ(check(bytes.first(i)), "") << file.path() << " cut at " << i;
      for (const std::byte flip : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
        bytes[i] ^= flip;
        EXPECT_EQ(check(bytes), "") << file.path() << " changed at " << i;
        bytes[i] ^= flip;
      }
    }
  }
  EXPECT_FALSE(error) << error.message();
  return seeds;
}

}  // namespace jitscope::test
