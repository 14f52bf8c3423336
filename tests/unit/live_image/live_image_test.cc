// Live images: what is written is read back; what a stranger or a half-done write left is refused
// or left out.
#include "live_image/live_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <functional>

#include "live_image/live_image_layout.h"
#include "tests/unit/image/image_file.h"

namespace jitscope {
namespace {

namespace layout = live_image_layout;
using test::bytes_of;
using test::new_memfd;
using test::read_all;
using test::read_range;
using test::reopen;

struct Fixture {
  explicit Fixture(uint32_t sites = 64, uint32_t text_pages = 4) {
    UniqueFd fd = new_memfd();
    other = reopen(fd.get(), O_RDWR);
    auto created = LiveImage::create(std::move(fd), {4711, 123456789}, sites, text_pages);
    EXPECT_TRUE(created) << to_string(created.error());
    image.emplace(std::move(*created));
  }
  UniqueFd other;
  std::optional<LiveImage> image;
};

ImageRecord record(uint64_t entry, uint64_t slot, std::initializer_list<int> original) {
  ImageRecord result;
  result.entry = entry;
  result.slot_offset = slot;
  result.original_length = static_cast<uint32_t>(original.size());
  std::ranges::copy(bytes_of(original), result.original);
  return result;
}

TEST(LiveImage, RoundsUpToPagesAndSaysWhereThingsAre) {
  Fixture f(65, 3);
  EXPECT_EQ(f.image->record_capacity(), 128u);
  EXPECT_EQ(f.image->text_begin(), 3 * live_image_page);
  EXPECT_EQ(f.image->text_end(), 6 * live_image_page);
  EXPECT_EQ(f.image->mapped_length(), 6 * live_image_page);
  EXPECT_GE(read_all(f.other.get()).size(), f.image->mapped_length());
}

TEST(LiveImage, WhatIsWrittenIsParsedFromTheFile) {
  Fixture f;
  const auto batch = f.image->begin_batch(128);
  ASSERT_TRUE(batch);
  EXPECT_EQ(*batch, f.image->text_begin());
  const auto code = bytes_of({0x0f, 0x1f, 0x40, 0x00, 0xc3});
  ASSERT_TRUE(f.image->write_text(*batch + 64, code));
  ASSERT_TRUE(f.image->add_record(
      record(0x7f0012345678, *batch, {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff})));
  ASSERT_TRUE(f.image->add_record(record(0xffffffffffffff00, *batch + 64, {1, 2, 3, 4, 5})));
  EXPECT_EQ(f.image->record_count(), 2u);

  const auto bytes = read_all(f.other.get());
  EXPECT_TRUE(looks_like_live_image(std::span(bytes).first(live_image_page)));
  const auto parsed = parse_live_image(bytes);
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->identity.pid, 4711u);
  EXPECT_EQ(parsed->identity.start_ticks, 123456789u);
  EXPECT_EQ(parsed->text_begin, f.image->text_begin());
  EXPECT_EQ(parsed->text_end, f.image->text_end());
  EXPECT_EQ(parsed->damaged_records, 0u);
  ASSERT_EQ(parsed->records.size(), 2u);
  EXPECT_EQ(parsed->records[0].entry, 0x7f0012345678u);
  EXPECT_EQ(parsed->records[0].slot_offset, *batch);
  EXPECT_EQ(parsed->records[0].original_length, 7u);
  EXPECT_THAT(std::vector<std::byte>(parsed->records[0].original, parsed->records[0].original + 7),
              testing::ElementsAreArray(bytes_of({0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff})));
  EXPECT_EQ(parsed->records[1].entry, 0xffffffffffffff00u);
  EXPECT_EQ(read_range(f.other.get(), *batch + 64, 5), code);
}

TEST(LiveImage, HeaderAndTableSufficeToParse) {
  Fixture f;
  const auto batch = f.image->begin_batch(1);
  ASSERT_TRUE(f.image->add_record(record(0x1000, *batch, {1, 2, 3, 4, 5})));
  const auto bytes = read_range(f.other.get(), 0, f.image->text_begin());
  const auto parsed = parse_live_image(bytes);
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->records.size(), 1u);
}

TEST(LiveImage, AFullTableIsReadToItsEnd) {
  Fixture f(64);
  const auto batch = f.image->begin_batch(64);
  for (uint64_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(f.image->add_record(record(0x1000 + i, *batch, {1, 2, 3, 4, 5})));
  }
  const auto more = f.image->add_record(record(0x2000, *batch, {1, 2, 3, 4, 5}));
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().what, testing::HasSubstr("table of the code image is full"));
  const auto parsed = parse_live_image(read_all(f.other.get()));
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->records.size(), 64u);
  EXPECT_EQ(parsed->records[63].entry, 0x103fu);
}

TEST(LiveImage, EveryBatchBeginsOnAFreshPageAndTheImageGetsFull) {
  Fixture f(64, 4);
  const uint64_t begin = f.image->text_begin();
  EXPECT_EQ(f.image->begin_batch(64).value(), begin);
  EXPECT_EQ(f.image->begin_batch(live_image_page + 1).value(), begin + live_image_page);
  const auto too_much = f.image->begin_batch(live_image_page + 1);
  ASSERT_FALSE(too_much);
  EXPECT_THAT(too_much.error().what, testing::HasSubstr("full"));
  EXPECT_EQ(f.image->begin_batch(live_image_page).value(), begin + 3 * live_image_page);
  EXPECT_FALSE(f.image->begin_batch(1));
  EXPECT_FALSE(f.image->begin_batch(0));
  EXPECT_FALSE(f.image->begin_batch(UINT64_MAX));
}

TEST(LiveImage, TheRestOfABatchPageIsBreakpoints) {
  Fixture f;
  const auto batch = f.image->begin_batch(64);
  ASSERT_TRUE(f.image->write_text(*batch, bytes_of({0x90})));
  const auto page = read_range(f.other.get(), *batch, live_image_page);
  EXPECT_EQ(page[0], std::byte{0x90});
  EXPECT_THAT(std::span(page).subspan(1), testing::Each(std::byte{0xcc}));
}

TEST(LiveImage, TextIsWrittenOnlyWhereItWasReserved) {
  Fixture f;
  const auto code = bytes_of({1, 2, 3, 4});
  EXPECT_FALSE(f.image->write_text(f.image->text_begin(), code));
  const auto batch = f.image->begin_batch(8);
  EXPECT_TRUE(f.image->write_text(*batch + 4, code));
  EXPECT_FALSE(f.image->write_text(*batch + 5, code));
  EXPECT_FALSE(f.image->write_text(*batch - 1, code));
  EXPECT_FALSE(f.image->write_text(UINT64_MAX, code));
  EXPECT_FALSE(f.image->write_text(0, code));
}

TEST(LiveImage, RecordsThatMakeNoSenseAreRefused) {
  Fixture f;
  const auto batch = f.image->begin_batch(64);
  EXPECT_FALSE(f.image->add_record(record(0, *batch, {1, 2, 3, 4, 5})));
  EXPECT_FALSE(f.image->add_record(record(0x1000, *batch, {1, 2, 3, 4})));
  EXPECT_FALSE(f.image->add_record(record(0x1000, *batch + 64, {1, 2, 3, 4, 5})));
  EXPECT_FALSE(f.image->add_record(record(0x1000, 0, {1, 2, 3, 4, 5})));
  ImageRecord long_one = record(0x1000, *batch, {1, 2, 3, 4, 5});
  long_one.original_length = live_image_max_original + 1;
  EXPECT_FALSE(f.image->add_record(long_one));
  EXPECT_EQ(f.image->record_count(), 0u);
  EXPECT_TRUE(parse_live_image(read_all(f.other.get()))->records.empty());
}

TEST(LiveImage, AFileWithContentIsRefusedAndLeftAlone) {
  UniqueFd fd = new_memfd();
  const UniqueFd other = reopen(fd.get(), O_RDWR);
  ASSERT_EQ(::pwrite(fd.get(), "precious", 8, 0), 8);
  const auto created = LiveImage::create(std::move(fd), {});
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error().what, testing::HasSubstr("not empty"));
  EXPECT_EQ(read_all(other.get()).size(), 8u);
}

TEST(LiveImage, AHoleOfTheRightLengthIsTaken) {
  UniqueFd fd = new_memfd();
  ASSERT_EQ(::ftruncate(fd.get(), 3 * live_image_page), 0);
  EXPECT_TRUE(LiveImage::create(std::move(fd), {}, 1, 1));
  UniqueFd longer = new_memfd();
  ASSERT_EQ(::ftruncate(longer.get(), 3 * live_image_page + 1), 0);
  EXPECT_FALSE(LiveImage::create(std::move(longer), {}, 1, 1));
}

TEST(LiveImage, NoRegularFileAndNoFileAreRefused) {
  EXPECT_FALSE(LiveImage::create(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)), {}));
  EXPECT_FALSE(LiveImage::create(UniqueFd(), {}));
  EXPECT_FALSE(LiveImage::create(new_memfd(), {}, 1, UINT32_MAX));
  EXPECT_FALSE(LiveImage::create(new_memfd(), {}, UINT32_MAX, 1));
}

TEST(LiveImage, TwoImagesHaveDifferentBuildIds) {
  Fixture a;
  Fixture b;
  const auto id = [](int fd) {
    return read_range(fd, layout::build_id_offset + 16, layout::build_id_size);
  };
  EXPECT_EQ(id(a.other.get()).size(), layout::build_id_size);
  EXPECT_NE(id(a.other.get()), id(b.other.get()));
}

// A tmpfs of that size that is mounted nowhere: its root directory.
UniqueFd tiny_file_system(const char* size) {
  const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", size, 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return {};
  }
  return UniqueFd(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
}

UniqueFd new_file(const UniqueFd& directory) {
  return UniqueFd(::openat(directory.get(), "image", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

TEST(LiveImage, AFullDiskIsAnErrorOfCreate) {
  const UniqueFd directory = tiny_file_system("8k");
  if (!directory) GTEST_SKIP() << "no tmpfs can be made: needs CAP_SYS_ADMIN";
  const auto created = LiveImage::create(new_file(directory), {}, 128, 4);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().system_errno, ENOSPC);
  EXPECT_THAT(created.error().hint, testing::HasSubstr("make room"));
}

TEST(LiveImage, AFullDiskIsAnErrorOfTheBatchAndSpoilsNothing) {
  const UniqueFd directory = tiny_file_system("32k");
  if (!directory) GTEST_SKIP() << "no tmpfs can be made: needs CAP_SYS_ADMIN";
  UniqueFd fd = new_file(directory);
  const UniqueFd other = reopen(fd.get());
  auto image = LiveImage::create(std::move(fd), {}, 64, 512);  // the text is not allocated yet
  ASSERT_TRUE(image) << to_string(image.error());
  const auto too_much = image->begin_batch(32 * live_image_page);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().system_errno, ENOSPC);
  const auto batch = image->begin_batch(4 * live_image_page);
  ASSERT_TRUE(batch) << to_string(batch.error());
  EXPECT_EQ(*batch, image->text_begin());

  // Symbols need room, too; those that were there stay.
  ASSERT_TRUE(image->add_symbols(std::vector<ImageSymbol>{{"kept", *batch, 1, true}}));
  const std::string long_name(2 * live_image_page, 'x');
  const auto symbols = image->add_symbols(std::vector<ImageSymbol>{{long_name, *batch, 1, true}});
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().system_errno, ENOSPC);
  const auto read = test::read_symbols(other.get());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().name, "kept");
}

TEST(LiveImage, AFullDiskIsAnErrorOfTheRecordThatNeedsTheNextPageOfTheTable) {
  const UniqueFd directory = tiny_file_system("16k");
  if (!directory) GTEST_SKIP() << "no tmpfs can be made: needs CAP_SYS_ADMIN";
  UniqueFd fd = new_file(directory);
  const UniqueFd other = reopen(fd.get());
  auto image = LiveImage::create(std::move(fd), {}, 256, 4);
  ASSERT_TRUE(image) << to_string(image.error());
  const auto batch = image->begin_batch(64);
  ASSERT_TRUE(batch) << to_string(batch.error());
  for (uint64_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(image->add_record(record(0x1000 + i, *batch, {1, 2, 3, 4, 5})));
  }
  const auto more = image->add_record(record(0x2000, *batch, {1, 2, 3, 4, 5}));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().system_errno, ENOSPC);
  const auto parsed = parse_live_image(read_all(other.get()));
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->records.size(), 64u);
}

TEST(LiveImage, TellsHowMuchOfItMustBeReadAndWhereATableEnds) {
  Fixture f(128);
  const auto batch = f.image->begin_batch(64);
  auto bytes = read_all(f.other.get());
  EXPECT_EQ(live_image_bytes_to_parse(bytes), f.image->text_begin());
  const auto table = [&] { return std::span(bytes).subspan(live_image_page, live_image_page); };
  EXPECT_FALSE(live_image_table_goes_on(table()));
  for (uint64_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(f.image->add_record(record(0x1000 + i, *batch, {1, 2, 3, 4, 5})));
  }
  bytes = read_all(f.other.get());
  EXPECT_TRUE(live_image_table_goes_on(table()));
  EXPECT_FALSE(live_image_table_goes_on({}));
  EXPECT_EQ(live_image_bytes_to_parse({}), 0u);
  bytes[layout::image_header_offset + 30] ^= std::byte{1};
  EXPECT_EQ(live_image_bytes_to_parse(bytes), 0u);
}

TEST(LiveImage, SaysHowFarABatchWillReach) {
  Fixture f(64, 8);
  const uint64_t begin = f.image->text_begin();
  EXPECT_EQ(f.image->batch_end(1), begin + live_image_page);
  ASSERT_TRUE(f.image->begin_batch(64));
  EXPECT_EQ(f.image->batch_end(live_image_page + 1), begin + 3 * live_image_page);
}

class ParseLiveImage : public testing::Test {
 protected:
  ParseLiveImage() {
    const auto batch = f.image->begin_batch(256);
    slot = *batch;
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(f.image->add_record(record(0x1000 * (i + 1), slot + 64 * i, {1, 2, 3, 4, 5})));
    }
    bytes = read_all(f.other.get());
  }
  template <typename T>
  void poke(uint64_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }
  // A header with a right check sum: not what accidents, but what strangers write.
  void poke_header(const std::function<void(layout::ImageHeader&)>& change) {
    layout::ImageHeader header;
    std::memcpy(&header, bytes.data() + layout::image_header_offset, sizeof(header));
    change(header);
    header.check = layout::header_check(header);
    poke(layout::image_header_offset, header);
  }
  void poke_record(uint64_t index, const std::function<void(layout::SiteRecord&)>& change) {
    const uint64_t at = live_image_page + index * layout::record_size;
    layout::SiteRecord site;
    std::memcpy(&site, bytes.data() + at, sizeof(site));
    change(site);
    site.check = layout::record_check(site, index);
    poke(at, site);
  }
  ErrorKind error() {
    const auto parsed = parse_live_image(bytes);
    EXPECT_FALSE(parsed);
    return parsed ? ErrorKind::usage : parsed.error().kind;
  }
  Fixture f;
  uint64_t slot = 0;
  std::vector<std::byte> bytes;
};

TEST_F(ParseLiveImage, OtherBytesAreNotFound) {
  EXPECT_EQ(parse_live_image({}).error().kind, ErrorKind::not_found);
  EXPECT_FALSE(looks_like_live_image({}));
  const std::vector<std::byte> zeros(live_image_page);
  EXPECT_EQ(parse_live_image(zeros).error().kind, ErrorKind::not_found);
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto program = read_range(self.get(), 0, live_image_page);
  ASSERT_EQ(program.size(), live_image_page);
  EXPECT_FALSE(looks_like_live_image(program));
  EXPECT_EQ(parse_live_image(program).error().kind, ErrorKind::not_found);
}

TEST_F(ParseLiveImage, EveryTruncationEndsWithoutAnImage) {
  for (size_t length = 0; length < f.image->text_begin(); ++length) {
    ASSERT_FALSE(parse_live_image(std::span(bytes).first(length))) << length;
  }
  EXPECT_TRUE(parse_live_image(std::span(bytes).first(f.image->text_begin())));
}

TEST_F(ParseLiveImage, AnyChangedBitOfTheHeaderIsNoticed) {
  for (uint64_t i = 0; i < sizeof(layout::ImageHeader) * 8; ++i) {
    auto changed = bytes;
    changed[layout::image_header_offset + i / 8] ^= std::byte(1U << (i % 8));
    EXPECT_FALSE(parse_live_image(changed)) << i;
  }
}

TEST_F(ParseLiveImage, AnyChangedBitOfARecordLeavesThatRecordOut) {
  for (uint64_t i = 0; i < layout::record_size * 8; ++i) {
    auto changed = bytes;
    changed[live_image_page + layout::record_size + i / 8] ^= std::byte(1U << (i % 8));
    const auto parsed = parse_live_image(changed);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->records.size(), 2u) << i;
    EXPECT_EQ(parsed->damaged_records, 1u) << i;
  }
}

TEST_F(ParseLiveImage, AHalfWrittenRecordIsLeftOut) {
  for (uint64_t written = 0; written < layout::record_size; ++written) {
    auto torn = bytes;
    std::fill_n(torn.begin() + live_image_page + 2 * layout::record_size + written,
                layout::record_size - written, std::byte{0});
    const auto parsed = parse_live_image(torn);
    ASSERT_TRUE(parsed);
    // The last 35 bytes of this record are zeros anyway.
    const bool whole = written >= 24 + 5;
    EXPECT_EQ(parsed->records.size(), whole ? 3u : 2u) << written;
  }
}

TEST_F(ParseLiveImage, ARecordCopiedElsewhereIsNotTaken) {
  std::copy_n(bytes.begin() + live_image_page, layout::record_size,
              bytes.begin() + live_image_page + layout::record_size);
  const auto parsed = parse_live_image(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 2u);
  EXPECT_EQ(parsed->damaged_records, 1u);
}

TEST_F(ParseLiveImage, RecordsWithARightCheckSumMustStillMakeSense) {
  poke_record(0, [](auto& site) { site.original_length = live_image_max_original + 1; });
  poke_record(1, [](auto& site) { site.slot_offset = UINT64_MAX; });
  poke_record(2, [](auto& site) { site.entry = 0; });
  const auto parsed = parse_live_image(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->records.empty());
  EXPECT_EQ(parsed->damaged_records, 3u);
}

TEST_F(ParseLiveImage, GeometryThatMakesNoSenseIsDamage) {
  const auto saved = bytes;
  const std::vector<std::function<void(layout::ImageHeader&)>> changes = {
      [](auto& h) { h.table_offset = 0; },
      [](auto& h) { h.table_length = 0; },
      [](auto& h) { h.table_length = UINT64_MAX; },
      [](auto& h) { h.table_length -= 1; },
      [](auto& h) { h.text_offset += live_image_page; },
      [](auto& h) { h.text_length = 0; },
      [](auto& h) { h.text_length = 1ULL << 63; },
      [](auto& h) { h.text_length = layout::max_mapped_length; },
      [](auto& h) { h.record_size = 0; },
      [](auto& h) { h.record_size = 128; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    bytes = saved;
    poke_header(changes[i]);
    EXPECT_EQ(error(), ErrorKind::damaged) << i;
  }
  // The table reaches beyond what there is.
  bytes = saved;
  poke_header([&](auto& h) {
    h.table_length = 1ULL << 24;
    h.text_offset = h.table_offset + h.table_length;
  });
  EXPECT_EQ(error(), ErrorKind::damaged);
}

TEST_F(ParseLiveImage, ALaterVersionIsRecognisedAndRefused) {
  poke_header([](auto& h) { h.version = 2; });
  EXPECT_TRUE(looks_like_live_image(bytes));
  EXPECT_EQ(error(), ErrorKind::not_possible);
}

}  // namespace
}  // namespace jitscope
