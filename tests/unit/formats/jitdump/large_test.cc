// Large dumps: nothing is read that is not needed, nothing is held that a size field only claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "dump_builder.h"

namespace jitscope {
namespace {

using test::DumpBuilder;

// A file of many gigabytes: one load, a hole where its code would be, another load.
class HoleSource : public ByteSource {
 public:
  HoleSource(std::string front, uint64_t hole, std::string back)
      : front_(std::move(front)), hole_(hole), back_(std::move(back)) {}

  Result<size_t> read(std::span<std::byte> out) override {
    JITSCOPE_ASSIGN(const size_t got, read_at(next_, out));
    next_ += got;
    return got;
  }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    const size_t count = std::min<uint64_t>(out.size(), size() - std::min(offset, size()));
    for (size_t i = 0; i < count; ++i) out[i] = at(offset + i);
    bytes_read += count;
    return count;
  }
  [[nodiscard]] bool seekable() const override { return true; }
  [[nodiscard]] uint64_t size() const override { return front_.size() + hole_ + back_.size(); }
  [[nodiscard]] std::string where() const override { return "hole"; }

  uint64_t bytes_read = 0;

 private:
  [[nodiscard]] std::byte at(uint64_t offset) const {
    if (offset < front_.size()) return std::byte(front_[offset]);
    if (offset < front_.size() + hole_) return std::byte{0xcc};
    return std::byte(back_[offset - front_.size() - hole_]);
  }
  std::string front_;
  uint64_t hole_;
  std::string back_;
  uint64_t next_ = 0;
};

TEST(JitdumpLarge, SkipsCodeWithoutReadingIt) {
  constexpr uint32_t kCode = 4'000'000'000U;
  DumpBuilder front;
  front.header().load_head(1, 0x1000, kCode, "huge");
  const auto head = static_cast<uint32_t>(front.bytes().size() - 40);
  front.end(head + kCode);
  DumpBuilder back;
  back.load(2, 0x9'0000'0000, "after it", "code");
  for (const bool code : {false, true}) {
    auto source = std::make_unique<HoleSource>(front.bytes(), kCode, back.bytes());
    HoleSource* const counter = source.get();
    auto reader =
        jitdump::Reader::open(std::move(source), {.code = code, .lines = true, .unwind = true});
    ASSERT_TRUE(reader);
    test::Dump dump;
    ASSERT_TRUE((*reader)->read(dump));
    ASSERT_EQ(dump.loads.size(), 2U);
    EXPECT_EQ(dump.loads[0].load.size, kCode);
    EXPECT_EQ(dump.loads[0].name, "huge");
    EXPECT_EQ(dump.loads[0].code, "");  // more than is ever held
    EXPECT_FALSE(dump.loads[0].load.cut);
    EXPECT_EQ(dump.loads[1].name, "after it");
    EXPECT_LT(counter->bytes_read, 4U << 20U);
    EXPECT_EQ((*reader)->diagnostics().count("jitdump code that is too large to be held"),
              code ? 1U : 0U);
  }
}

TEST(JitdumpLarge, ManyLoadsThroughSmallPieces) {
  DumpBuilder builder;
  builder.header();
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t address = 0x10000 + i * 256;
    builder.lines(i, address, 2).line(address, 1, "/src/one.c").line(address + 9, 2, "\xff").end();
    builder.load(i, address, "function " + std::to_string(i), std::string(100 + i % 100, 'c'));
  }
  for (const size_t piece : {size_t{1}, size_t{1000}, size_t{1} << 20U}) {
    const auto dump = test::read_dump(test::as_source(builder.bytes(), false, piece));
    ASSERT_TRUE(dump);
    ASSERT_EQ(dump->loads.size(), 5000U);
    EXPECT_EQ(dump->loads[4999].name, "function 4999");
    EXPECT_EQ(dump->loads[4999].lines.size(), 2U);
    EXPECT_EQ(dump->loads[1234].code.size(), 134U);
  }
}

}  // namespace
}  // namespace jitscope
