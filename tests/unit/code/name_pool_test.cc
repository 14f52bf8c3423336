#include "code/name_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text_hash.h"

namespace jitscope {
namespace {

TEST(NamePool, KeepsEachTextOnce) {
  NamePool pool;
  std::vector<std::pair<uint32_t, std::string>> kept;
  for (int i = 0; i < 5000; ++i) {
    // Some longer than a chunk.
    const std::string text(i % 1000 == 7 ? 100'000 : 20, static_cast<char>('a' + i % 20));
    kept.emplace_back(pool.intern(text + std::to_string(i)), text + std::to_string(i));
  }
  EXPECT_EQ(pool.size(), 5000U);
  const uint32_t empty = pool.intern("");
  const NamePool moved = std::move(pool);
  for (const auto& [id, text] : kept) EXPECT_EQ(moved.view(id), text);
  EXPECT_EQ(moved.view(empty), "");
  NamePool again;
  EXPECT_EQ(again.intern("x"), again.intern("x"));
  EXPECT_NE(again.intern("x"), again.intern(std::string_view("x\0", 2)));
}

TEST(TextHash, EveryByteAndTheLengthCount) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const uint64_t before = text_hash(text);
    EXPECT_EQ(before, text_hash(std::string(text)));
    for (char& c : text) {
      c ^= 1;
      EXPECT_NE(text_hash(text), before);
      c ^= 1;
    }
    text += '\0';
    EXPECT_NE(text_hash(text), before);
  }
  EXPECT_NE(text_hash("name", 1), text_hash("name", 2));
}

}  // namespace
}  // namespace jitscope
