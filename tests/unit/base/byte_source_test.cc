#include "base/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace jitscope {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string read_all(ByteSource& source, size_t piece) {
  std::string text;
  std::vector<std::byte> buffer(piece);
  for (;;) {
    const auto got = source.read(buffer);
    EXPECT_TRUE(got);
    if (!got || *got == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
}

TEST(ByteSource, MemoryAsAFileGivesBytesByOffset) {
  const auto source = memory_source(bytes_of("0123456789"));
  EXPECT_TRUE(source->seekable());
  EXPECT_EQ(source->size(), 10U);
  std::array<std::byte, 4> out{};
  EXPECT_EQ(source->read_at(8, out).value(), 2U);
  EXPECT_EQ(source->read_at(10, out).value(), 0U);
  EXPECT_EQ(source->read_at(UINT64_MAX, out).value(), 0U);
  EXPECT_EQ(read_all(*source, 3), "0123456789");
}

TEST(ByteSource, MemoryAsAPipeComesInPiecesAndHasNoOffsets) {
  const auto source = memory_source(bytes_of("0123456789"), false, 4);
  EXPECT_FALSE(source->seekable());
  std::array<std::byte, 8> out{};
  EXPECT_EQ(source->read(out).value(), 4U);
  EXPECT_FALSE(source->read_at(0, out));
}

TEST(ByteSource, AFileIsSeekableAndAPipeIsNot) {
  const std::string path = ::testing::TempDir() + "byte_source_test";
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("hello", file);
  std::fclose(file);
  auto source = open_byte_source(path);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 5U);
  std::array<std::byte, 16> out{};
  EXPECT_EQ((*source)->read_at(1, out).value(), 4U);
  EXPECT_EQ((*source)->read_at(UINT64_MAX - 3, out).value(), 0U);
  EXPECT_EQ(read_all(**source, 2), "hello");
  ::unlink(path.c_str());

  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  auto pipe = byte_source(UniqueFd(ends[0]), "pipe");
  ASSERT_TRUE(pipe);
  EXPECT_FALSE((*pipe)->seekable());
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  ::close(ends[1]);
  EXPECT_EQ(read_all(**pipe, 16), "abc");
}

TEST(ByteSource, AFolderAndAMissingFileAreErrors) {
  EXPECT_FALSE(open_byte_source("/"));
  const auto missing = open_byte_source("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace jitscope
