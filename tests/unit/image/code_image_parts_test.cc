// The parts under a code image: where stretches lie, the sparse output, texts kept once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "image/byte_writer.h"
#include "image/dwarf_strings.h"
#include "image/elf_build_id.h"
#include "image/elf_layout.h"
#include "image/elf_output.h"
#include "tests/unit/image/image_file.h"

namespace jitscope {
namespace {

using elf_layout::Extent;
using elf_layout::Stretch;

std::vector<Extent> random_extents(std::mt19937& random, size_t count, bool far) {
  std::vector<Extent> extents;
  uint64_t at = 0x7f0000000000;
  for (size_t i = 0; i < count; ++i) {
    at += random() % 3 == 0 ? random() % (far ? 1'000'000 : 200) : 0;
    const uint64_t size = 1 + random() % 5000;
    extents.push_back({at, at + size, random() % 4 != 0});
    at += size;
  }
  return extents;
}

TEST(ElfLayout, StreamedPlacesAreThoseOfTheEnd) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto extents = random_extents(random, 1 + random() % 300, round % 2 == 0);
    auto stretches = elf_layout::stretches_of(extents, elf_layout::kMostPackedStretches, {});
    const uint64_t end = elf_layout::pack(stretches);
    elf_layout::Packer packer;
    size_t at = 0;
    for (const Extent& extent : extents) {
      const uint64_t place = packer.place(extent);
      while (extent.begin >= stretches[at].end) ++at;
      if (!stretches[at].bytes) {
        ASSERT_LT(stretches[at].offset, elf_layout::kPackedHeaderRoom);
        continue;
      }
      ASSERT_EQ(place, stretches[at].offset + (extent.begin - stretches[at].begin));
      if (extent.bytes) {
        ASSERT_LE(place + (extent.end - extent.begin), end);
      }
    }
  }
}

TEST(ElfLayout, StreamedPlacesNeverLieOnEachOther) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    auto extents = random_extents(random, 200, true);
    std::shuffle(extents.begin() + 50, extents.end(), random);
    elf_layout::Packer packer;
    std::map<uint64_t, uint64_t> used;
    for (const Extent& extent : extents) {
      const uint64_t place = packer.place(extent);
      if (extent.bytes) {
        ASSERT_TRUE(used.emplace(place, place + (extent.end - extent.begin)).second);
      }
    }
    uint64_t last = elf_layout::kPackedHeaderRoom;
    for (const auto& [begin, end] : used) {
      ASSERT_GE(begin, last);
      last = end;
    }
  }
}

TEST(ElfLayout, StretchesEndWhereGapsAreWideOrCut) {
  const std::vector<Extent> extents = {{0x1000, 0x1100, true},
                                       {0x1100, 0x1200, false},
                                       {0x11200, 0x11300, false},
                                       {0x13000, 0x13100, false}};
  auto stretches = elf_layout::stretches_of(extents, 10, {});
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].end, 0x1200u);
  EXPECT_TRUE(stretches[0].bytes);
  EXPECT_FALSE(stretches[1].bytes);
  EXPECT_EQ(elf_layout::stretches_of(extents, 10, Extent{0x12000, 0x12000, false}).size(), 3u);
  EXPECT_EQ(elf_layout::stretches_of(extents, 1, {}).size(), 1u);
  // A cut is kept before any gap.
  stretches = elf_layout::stretches_of(extents, 2, Extent{0x12000, 0x12000, false});
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[1].begin, 0x13000u);
  EXPECT_TRUE(elf_layout::stretches_of({}, 10, {}).empty());
}

TEST(ElfOutput, WritesAnyOrderAndKeepsHoles) {
  std::mt19937 random(5);
  for (int round = 0; round < 6; ++round) {
    UniqueFd fd = test::new_memfd();
    const UniqueFd other = test::reopen(fd.get());
    auto output = ElfOutput::open(std::move(fd));
    ASSERT_TRUE(output);
    std::vector<std::byte> model;
    uint64_t near = 0;
    for (int i = 0; i < 300; ++i) {
      // Mostly behind the last, sometimes anywhere, seldom large.
      const uint64_t offset = random() % 4 != 0 ? near + random() % 100 : random() % 3'000'000;
      const size_t size = random() % 50 == 0 ? random() % 2'000'000 : 1 + random() % 3000;
      std::vector<std::byte> bytes(size);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
      ASSERT_TRUE(output->write(offset, bytes));
      model.resize(std::max<size_t>(model.size(), offset + size));
      std::ranges::copy(bytes, model.begin() + static_cast<ptrdiff_t>(offset));
      near = offset + size;
      if (random() % 40 == 0) {
        std::vector<std::byte> back(size);
        ASSERT_TRUE(output->read(offset, back));
        ASSERT_EQ(back, bytes);
      }
    }
    EXPECT_EQ(output->end(), model.size());
    ASSERT_TRUE(output->flush());
    ASSERT_TRUE(test::read_all(other.get()) == model);
  }
}

TEST(ElfOutput, FarAwayBytesCostNoBlocks) {
  UniqueFd fd = test::new_memfd();
  const UniqueFd other = test::reopen(fd.get());
  auto output = ElfOutput::open(std::move(fd));
  ASSERT_TRUE(output);
  const std::byte byte{7};
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(output->write(i << 36U, std::span(&byte, 1)));
  ASSERT_TRUE(output->flush());
  struct stat status{};
  ASSERT_EQ(::fstat(other.get(), &status), 0);
  EXPECT_EQ(static_cast<uint64_t>(status.st_size), (uint64_t{9} << 36U) + 1);
  EXPECT_LE(status.st_blocks * 512, 10 * 4096);
  EXPECT_FALSE(output->write(INT64_MAX, std::span(&byte, 1)));
  ASSERT_TRUE(output->restart());
  EXPECT_EQ(output->end(), 0u);
  std::byte gone{};
  EXPECT_FALSE(output->read(0, std::span(&gone, 1)));
}

TEST(StringSection, KeepsEachTextOnce) {
  StringSection strings;
  std::map<std::string, uint32_t> known;
  std::mt19937 random(6);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = fmt::format("name{}", random() % 5000);
    const uint32_t offset = strings.add(text);
    const auto [at, fresh] = known.emplace(text, offset);
    ASSERT_EQ(at->second, offset);
    const auto* stored = reinterpret_cast<const char*>(strings.bytes().data()) + offset;
    ASSERT_EQ(std::string(stored), text);
  }
  size_t size = 1;
  for (const auto& [text, offset] : known) size += text.size() + 1;
  EXPECT_EQ(strings.bytes().size(), size);
  EXPECT_EQ(strings.add(""), 0u);
  EXPECT_EQ(strings.add(std::string_view("a\0b", 3)), strings.add("a?b"));
  EXPECT_NE(strings.add("name"), strings.add("name1"));
  EXPECT_FALSE(strings.too_large());
}

TEST(ByteWriter, Numbers) {
  ByteWriter out;
  out.u8(0x12);
  out.u16(0x3456);
  out.u32(0x789abcde);
  out.u64(0x1122334455667788);
  out.uleb(0);
  out.uleb(624485);
  out.uleb(UINT64_MAX);
  out.sleb(-1);
  out.sleb(63);
  out.sleb(64);
  out.sleb(-65);
  out.sleb(INT64_MIN);
  out.text("ab");
  const auto want =
      test::bytes_of({0x12, 0x56, 0x34, 0xde, 0xbc, 0x9a, 0x78, 0x88, 0x77, 0x66, 0x55, 0x44,
                      0x33, 0x22, 0x11, 0x00, 0xe5, 0x8e, 0x26, 0xff, 0xff, 0xff, 0xff, 0xff,
                      0xff, 0xff, 0xff, 0xff, 0x01, 0x7f, 0x3f, 0xc0, 0x00, 0xbf, 0x7f, 0x80,
                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 'a',  'b',  0});
  EXPECT_THAT(out.bytes(), testing::ElementsAreArray(want));
}

TEST(BuildIdHash, DependsOnEachByteAndTheirOrder) {
  const auto id = [](std::initializer_list<std::string_view> texts) {
    BuildIdHash hash;
    for (const std::string_view text : texts) {
      hash.add(content_digest(std::as_bytes(std::span(text))));
    }
    return hash.finish();
  };
  EXPECT_EQ(id({"a", "b"}), id({"a", "b"}));
  EXPECT_NE(id({"a", "b"}), id({"b", "a"}));
  EXPECT_NE(id({"a", "b"}), id({"ab"}));
  EXPECT_NE(id({"a", ""}), id({"a"}));
}

}  // namespace
}  // namespace jitscope
