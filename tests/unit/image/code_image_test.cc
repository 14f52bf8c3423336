// The ELF side of code images: places, symbols, bytes, segments, build-id, what is refused.
#include "image/code_image.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <string>

#include "tests/unit/image/image_file.h"
#include "tests/unit/image/written_image.h"

namespace jitscope {
namespace {

using test::flat_unwind;
using test::image_options;
using test::ImageLayout;
using test::SampleBody;
using test::some_code;
using test::WrittenImage;

std::vector<SampleBody> plain_bodies(size_t count, uint64_t base, uint64_t step,
                                     size_t size = 100) {
  std::vector<SampleBody> bodies(count);
  for (size_t i = 0; i < count; ++i) {
    bodies[i].begin = base + i * step;
    bodies[i].name = fmt::format("pkg.Type.method{}", i);
    bodies[i].code = some_code(size, i);
  }
  return bodies;
}

void expect_bodies(const WrittenImage& image, std::vector<SampleBody> bodies) {
  const auto reader = image.reader();
  const auto symbols = reader.symbols();
  std::ranges::sort(bodies, {}, &SampleBody::begin);
  ASSERT_EQ(symbols.size(), bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(symbols[i].name, bodies[i].name);
    EXPECT_EQ(symbols[i].value, bodies[i].begin);
    EXPECT_EQ(symbols[i].size, bodies[i].view().size);
    EXPECT_EQ(symbols[i].type, static_cast<unsigned>(STT_FUNC));
    EXPECT_EQ(symbols[i].binding, static_cast<unsigned>(STB_GLOBAL));
    if (!bodies[i].code.empty()) {
      EXPECT_EQ(reader.code(symbols[i]), bodies[i].code) << i;
    }
  }
}

std::vector<GElf_Phdr> loads(const WrittenImage& image, unsigned flags) {
  auto segments = image.reader().segments();
  std::erase_if(segments,
                [&](const GElf_Phdr& s) { return s.p_type != PT_LOAD || s.p_flags != flags; });
  return segments;
}

TEST(CodeImage, HoldsSymbolsAndCodeInBothLayouts) {
  const auto bodies = plain_bodies(300, 0x7f0000012345, 777);
  const WrittenImage absolute(bodies, image_options(ImageLayout::absolute));
  EXPECT_EQ(absolute.summary().bodies, 300u);
  EXPECT_EQ(absolute.summary().with_bytes, 300u);
  EXPECT_EQ(absolute.summary().symbols, 300u);
  EXPECT_EQ(absolute.summary().first_text, 0x7f0000012000u);
  expect_bodies(absolute, bodies);

  const auto placed = plain_bodies(300, 0x1040, 777);
  const WrittenImage mapped(placed, image_options(ImageLayout::mapped));
  EXPECT_EQ(mapped.summary().first_text, 0x1000u);
  expect_bodies(mapped, placed);
  // Address is offset.
  for (const SampleBody& body : placed) {
    EXPECT_EQ(test::read_range(mapped.fd(), body.begin, body.code.size()), body.code);
  }
}

TEST(CodeImage, OrderOfBodiesDoesNotMatter) {
  auto bodies = plain_bodies(500, 0x7f0000000000, 512, 512);
  for (size_t i = 250; i < 500; ++i) bodies[i].begin += 10U << 20U;
  std::mt19937 random(7);
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    CodeImageOptions options = image_options(layout);
    options.debug_info = false;  // names and entries come in the order of the bodies
    const WrittenImage sorted(bodies, options);
    auto shuffled = bodies;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const WrittenImage other(shuffled, options);
    expect_bodies(sorted, bodies);
    expect_bodies(other, bodies);
    EXPECT_EQ(sorted.summary().file_bytes, other.summary().file_bytes);
    EXPECT_EQ(loads(sorted, PF_R | PF_X).size(), 2u);
    EXPECT_EQ(loads(other, PF_R | PF_X).size(), 2u);
  }
}

TEST(CodeImage, AbsoluteTextIsPackedAndMappedTextIsSparse) {
  auto bodies = plain_bodies(3, 0x10000, 0);
  bodies[1].begin = 0x7000000000;
  bodies[2].begin = 0x7f0000000000;
  const WrittenImage packed(bodies, image_options(ImageLayout::absolute));
  expect_bodies(packed, bodies);
  EXPECT_LT(packed.summary().file_bytes, 200'000u);
  for (const GElf_Phdr& segment : loads(packed, PF_R | PF_X)) {
    EXPECT_EQ(segment.p_offset % 4096, segment.p_vaddr % 4096);
  }
  bodies[2].begin = 0x7010000000;
  const WrittenImage sparse(bodies, image_options(ImageLayout::mapped));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(test::read_range(sparse.fd(), bodies[i].begin, 100), bodies[i].code);
  }
  EXPECT_GT(static_cast<uint64_t>(sparse.stat().st_size), 0x7010000000u);
  EXPECT_EQ(static_cast<uint64_t>(sparse.stat().st_size), sparse.summary().file_bytes);
  EXPECT_LT(sparse.stat().st_blocks * 512, 200'000);
}

TEST(CodeImage, StretchesAreJoinedWhenTheyAreTooMany) {
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    auto bodies = plain_bodies(1500, 0x100000, 0x20000);
    bodies[700].begin += 0x100;
    bodies.back().begin += 1U << 30U;  // the widest gap stays one
    const WrittenImage image(bodies, image_options(layout));
    expect_bodies(image, bodies);
    const auto text = loads(image, PF_R | PF_X);
    EXPECT_EQ(text.size(), layout == ImageLayout::absolute ? 1000u : 60u);
    EXPECT_EQ(text.back().p_vaddr, bodies.back().begin);
    EXPECT_TRUE(std::ranges::is_sorted(text, {}, &GElf_Phdr::p_vaddr));
  }
}

TEST(CodeImage, BodiesWithoutBytesHaveSymbols) {
  auto bodies = plain_bodies(4, 0x400000, 0x200);
  bodies[1].code.clear();
  bodies[1].size = 0x80;
  bodies[3].begin = 0x90000000;
  bodies[3].code.clear();
  bodies[3].size = 0x7654321;
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    const WrittenImage image(bodies, image_options(layout));
    expect_bodies(image, bodies);
    EXPECT_EQ(image.summary().with_bytes, 2u);
    const auto reader = image.reader();
    const auto symbols = reader.symbols();
    EXPECT_EQ(reader.code(symbols[1]), std::vector<std::byte>(0x80));  // a hole in a stretch
    EXPECT_EQ(reader.code(symbols[3]), std::nullopt);                  // a stretch of its own
    const auto text = loads(image, PF_R | PF_X);
    ASSERT_EQ(text.size(), 2u);
    EXPECT_EQ(text[1].p_filesz, 0u);
    EXPECT_EQ(text[1].p_memsz, 0x7654321u);
    EXPECT_LT(image.stat().st_blocks * 512, 100'000);
  }
}

TEST(CodeImage, TheAliasIsAWeakSymbolOfTheSamePlace) {
  auto bodies = plain_bodies(1, 0x400000, 0);
  bodies[0].alias = "pkg.Type.method0(int)";
  const WrittenImage image(bodies, image_options(ImageLayout::absolute));
  const auto symbols = image.reader().symbols();
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[1].name, "pkg.Type.method0(int)");
  EXPECT_EQ(symbols[1].binding, static_cast<unsigned>(STB_WEAK));
  EXPECT_EQ(symbols[1].value, symbols[0].value);
  EXPECT_EQ(symbols[1].size, 100u);
}

TEST(CodeImage, OddNamesAreKept) {
  auto bodies = plain_bodies(6, 0x400000, 0x100);
  bodies[0].name = std::string("nul\0inside", 10);
  bodies[1].name = "";
  bodies[2].name = "";
  bodies[2].alias = "only the alias";
  bodies[3].name = "\xff\xfe line\nfeed";
  bodies[4].name = std::string(70'000, 'n');
  bodies[5].name = bodies[5].alias = "same";
  const WrittenImage image(bodies, image_options(ImageLayout::absolute));
  std::vector<std::string> names;
  for (const auto& symbol : image.reader().symbols()) names.push_back(symbol.name);
  EXPECT_THAT(names, testing::ElementsAre("nul?inside", "code@0x400100", "only the alias",
                                          "\xff\xfe line\nfeed", std::string(70'000, 'n'), "same"));
}

TEST(CodeImage, AnImageWithoutBodiesIsAnElfFile) {
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    const WrittenImage image({}, image_options(layout));
    EXPECT_EQ(image.summary().bodies, 0u);
    const auto reader = image.reader();
    EXPECT_TRUE(reader.symbols().empty());
    EXPECT_EQ(reader.build_id(), image.summary().build_id);
    EXPECT_EQ(elf_kind(reader.elf()), ELF_K_ELF);
  }
}

TEST(CodeImage, BuildIdIsOfTheContent) {
  std::set<std::string> ids;
  const auto id_of = [](std::vector<SampleBody> bodies, CodeImageOptions options) {
    const WrittenImage image(bodies, std::move(options));
    EXPECT_EQ(image.summary().build_id.size(), 20u);
    EXPECT_EQ(image.reader().build_id(), image.summary().build_id);
    const auto& id = image.summary().build_id;
    return std::string(reinterpret_cast<const char*>(id.data()), id.size());
  };
  const auto bodies =
      std::vector{test::inlined_body(0x400000, "a.B.c"), test::inlined_body(0x500000, "a.B.d")};
  const auto options = image_options(ImageLayout::absolute);
  ids.insert(id_of(bodies, options));
  EXPECT_EQ(id_of(bodies, options), *ids.begin());
  size_t changes = 1;
  const auto changed = [&](auto change) {
    auto other = bodies;
    auto other_options = options;
    change(other, other_options);
    ids.insert(id_of(other, other_options));
    EXPECT_EQ(ids.size(), ++changes);
  };
  changed([](auto& b, auto&) { b[1].code[63] ^= std::byte{1}; });
  changed([](auto& b, auto&) { b[1].begin += 1; });
  changed([](auto& b, auto&) { b[0].name += "x"; });
  changed([](auto& b, auto&) { b[0].alias += "x"; });
  changed([](auto& b, auto&) { b[0].full_name = "x"; });
  changed([](auto& b, auto&) { b[0].scopes.scopes[0].line = 11; });
  changed([](auto& b, auto&) { b[0].scopes.scopes[1].line = 11; });
  changed([](auto& b, auto&) { b[0].scopes.methods[1].name += "x"; });
  changed([](auto& b, auto&) { b[0].code.clear(), b[0].size = 64; });
  changed([](auto& b, auto&) { b.pop_back(); });
  changed([](auto&, auto& o) { o.dwarf = 4; });
  changed([](auto&, auto& o) { o.layout = ImageLayout::mapped; });
  changed([](auto&, auto& o) { o.debug_info = false; });
  changed([](auto&, auto& o) { o.source_folder = "/other"; });
}

TEST(CodeImage, UnwindTablesAreFoundInBothLayouts) {
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    auto bodies = plain_bodies(50, 0x400000, 0x200);
    for (size_t i = 0; i < 50; i += 2) bodies[i].unwind = {flat_unwind(100)};
    const WrittenImage image(bodies, image_options(layout));
    auto reader = image.reader();
    for (size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(reader.unwinds(bodies[i].begin), i % 2 == 0);
      EXPECT_EQ(reader.unwinds(bodies[i].begin + 99), i % 2 == 0);
      EXPECT_FALSE(reader.unwinds(bodies[i].begin + 100));
    }
    EXPECT_GT(image.summary().unwind_size, 0u);
    EXPECT_EQ(loads(image, PF_R).size(), 2u);
    if (layout == ImageLayout::mapped) {
      EXPECT_EQ(image.summary().unwind_place, 0x407000u);  // behind all
    }
  }
}

TEST(CodeImage, UnwindTablesGoWhereTheyAreWanted) {
  auto bodies = plain_bodies(2, 0x10000, 0x8000);
  for (SampleBody& body : bodies) body.unwind = {flat_unwind(100)};
  auto image = CodeImage::create(test::image_file(), image_options(ImageLayout::mapped));
  ASSERT_TRUE(image);
  EXPECT_EQ(image->unwind_size(), 0u);
  for (const SampleBody& body : bodies) ASSERT_TRUE(image->add(body.view()));
  const uint64_t promised = image->unwind_size();
  EXPECT_GT(promised, 0u);

  const WrittenImage between(bodies, image_options(ImageLayout::mapped), 0x12000);
  EXPECT_EQ(between.summary().unwind_place, 0x12000u);
  EXPECT_LE(between.summary().unwind_size, promised);
  auto reader = between.reader();
  EXPECT_TRUE(reader.unwinds(0x10000));
  EXPECT_TRUE(reader.unwinds(0x18000 + 99));
  GElf_Shdr header;
  ASSERT_NE(reader.section(".eh_frame_hdr", header), nullptr);
  EXPECT_EQ(header.sh_addr, 0x12000u);
  EXPECT_EQ(header.sh_offset, 0x12000u);
  EXPECT_EQ(loads(between, PF_R | PF_X).size(), 2u);  // no text lies over the tables
  expect_bodies(between, bodies);

  for (const uint64_t wrong : {0x10000, 0x18000, 0x12345, 0x800}) {
    const WrittenImage refused(bodies, image_options(ImageLayout::mapped), wrong);
    ASSERT_FALSE(refused.status()) << wrong;
    EXPECT_EQ(refused.status().error().kind, ErrorKind::usage);
  }
  EXPECT_FALSE(WrittenImage(bodies, image_options(ImageLayout::absolute), 0x12000).status());
}

// 32-bit differences: the tables lie where the most code is.
TEST(CodeImage, UnwindTablesOfCodeOutOfReachAreLeftOut) {
  auto bodies = plain_bodies(12, 0x7f0000000000, 0x200);
  bodies[0].begin = 0x10000;
  bodies[11].begin = 0x7fff00000000;
  for (SampleBody& body : bodies) body.unwind = {flat_unwind(100)};
  const WrittenImage image(bodies, image_options(ImageLayout::absolute));
  expect_bodies(image, bodies);
  auto reader = image.reader();
  EXPECT_FALSE(reader.unwinds(bodies[0].begin));
  for (size_t i = 1; i < 11; ++i) EXPECT_TRUE(reader.unwinds(bodies[i].begin)) << i;
  EXPECT_FALSE(reader.unwinds(bodies[11].begin));
}

TEST(CodeImage, BodiesOnEachOtherAreRefused) {
  for (const ImageLayout layout : {ImageLayout::absolute, ImageLayout::mapped}) {
    for (const uint64_t second : {0x400000, 0x400063, 0x3fffff}) {
      auto bodies = plain_bodies(2, 0x400000, 0);
      bodies[1].begin = second;
      const WrittenImage image(bodies, image_options(layout));
      ASSERT_FALSE(image.status());
      EXPECT_EQ(image.status().error().kind, ErrorKind::usage);
      EXPECT_THAT(image.status().error().what, testing::HasSubstr("pkg.Type.method1"));
    }
    auto neighbours = plain_bodies(2, 0x400000, 100);
    expect_bodies(WrittenImage(neighbours, image_options(layout)), neighbours);
  }
}

TEST(CodeImage, BodiesThatMakeNoSenseAreRefused) {
  const auto refused = [](const ImageBody& body) {
    auto image = CodeImage::create(test::image_file(), image_options(ImageLayout::mapped));
    const Status status = image->add(body);
    return !status && status.error().kind == ErrorKind::usage;
  };
  const auto code = some_code(100, 1);
  ImageBody good;
  good.place = 0x1000;
  good.size = 100;
  good.name = "f";
  good.code = code;
  EXPECT_FALSE(refused(good));
  ImageBody body = good;
  body.size = 0;
  EXPECT_TRUE(refused(body));
  body.size = 99;
  EXPECT_TRUE(refused(body));
  body = good;
  body.place = kImageHeaderRoom - 1;
  EXPECT_TRUE(refused(body));
  body.place = UINT64_MAX - 50;
  EXPECT_TRUE(refused(body));
  body.place = 0x1000;
  body.code = {};
  body.size = UINT64_MAX;
  EXPECT_TRUE(refused(body));
  body = good;
  const std::vector<UnwindTable> too_long = {flat_unwind(101)};
  body.unwind = too_long;
  EXPECT_TRUE(refused(body));
}

TEST(CodeImage, FinishedImagesAndOddFilesAreRefused) {
  auto image = CodeImage::create(test::image_file(), image_options(ImageLayout::absolute));
  ASSERT_TRUE(image);
  ASSERT_TRUE(image->finish());
  EXPECT_FALSE(image->finish());
  EXPECT_FALSE(image->add(plain_bodies(1, 0x400000, 0)[0].view()));

  UniqueFd used = test::image_file();
  ASSERT_EQ(::write(used.get(), "x", 1), 1);
  EXPECT_FALSE(CodeImage::create(std::move(used), {}));
  EXPECT_FALSE(CodeImage::create(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)), {}));
  EXPECT_FALSE(CodeImage::create(UniqueFd(), {}));
  CodeImageOptions options;
  options.dwarf = 3;
  EXPECT_FALSE(CodeImage::create(test::image_file(), options));
}

TEST(CodeImage, AFullDiskIsAnError) {
  UniqueFd full(::memfd_create("code-image-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(full.get(), F_ADD_SEALS, F_SEAL_GROW), 0);  // EPERM for each write
  auto image = CodeImage::create(std::move(full), image_options(ImageLayout::absolute));
  ASSERT_TRUE(image);
  Status added;
  for (const SampleBody& body : plain_bodies(3, 0x400000, 0x1000)) {
    if (added) added = image->add(body.view());
  }
  EXPECT_FALSE(added && image->finish());
}

}  // namespace
}  // namespace jitscope
