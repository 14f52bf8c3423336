// Images out of jitdumps and perf maps, as libelf reads them back.
#include "export/image_build.h"

#include <fcntl.h>
#include <gelf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "base/unique_fd.h"
#include "formats/jitdump/jitdump.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Symbol {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
  std::string bytes;  // "" where the file has none
  bool operator==(const Symbol&) const = default;
};
void PrintTo(const Symbol& symbol, std::ostream* out) {
  *out << symbol.name << "@" << std::hex << symbol.address << "+" << symbol.size;
}

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// Its functions, in the order of the symbol table.
std::vector<Symbol> symbols_of(const std::string& path) {
  elf_version(EV_CURRENT);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<Elf, EndElf> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
  std::vector<Symbol> out;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr && i < static_cast<int>(header.sh_size / header.sh_entsize);
         ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) continue;
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      Symbol mine{elf_strptr(elf.get(), header.sh_link, symbol.st_name),
                  symbol.st_value,
                  symbol.st_size,
                  {}};
      GElf_Shdr text;
      Elf_Scn* place = elf_getscn(elf.get(), symbol.st_shndx);
      if (gelf_getshdr(place, &text) != nullptr && text.sh_type == SHT_PROGBITS) {
        const Elf_Data* code = elf_rawdata(place, nullptr);
        mine.bytes =
            std::string(static_cast<const char*>(code->d_buf) + (symbol.st_value - text.sh_addr),
                        symbol.st_size);
      }
      out.push_back(std::move(mine));
    }
  }
  return out;
}

constexpr uint64_t kBase = 0x7f0000001000;

class ImageBuildTest : public test::ScratchFolderTest {
 protected:
  ImageBuildTest() { writer_.header(dump_, 1); }
  void load(std::string_view name, uint64_t address, const std::string& code) {
    jitdump::Load load;
    load.time = ++time_;
    load.pid = load.tid = 12;
    load.address = address;
    load.size = code.size();
    load.name = name;
    load.code = std::as_bytes(std::span(code));
    writer_.load(dump_, load);
  }
  void move(uint64_t from, uint64_t to, uint64_t size) {
    jitdump::Move move;
    move.time = ++time_;
    move.pid = move.tid = 12;
    move.old_address = from;
    move.new_address = to;
    move.size = size;
    writer_.move(dump_, move);
  }
  Result<ImageBuild> build(bool packed = false) {
    ImageSetOptions options;
    options.output = folder_ + "/out/code.elf";
    options.packed = packed;
    options.force = true;
    fs::create_directory(folder_ + "/out");
    return image_of_jitdump(write("jit-12.dump", dump_), options);
  }
  Result<ImageBuild> build_map(std::string_view text, bool packed = false) {
    ImageSetOptions options;
    options.output = folder_ + "/out/map.elf";
    options.packed = packed;
    options.force = true;
    fs::create_directory(folder_ + "/out");
    return image_of_perf_map(write("perf-12.map", text), options);
  }

  std::string dump_;
  jitdump::Writer writer_{12};
  uint64_t time_ = 1;
};

TEST_F(ImageBuildTest, WhatLayThereLastIsInTheFirstImage) {
  load("old", kBase, std::string(16, '\1'));
  load("beside", kBase + 64, std::string(16, '\2'));
  load("new", kBase + 8, std::string(16, '\3'));
  const auto built = build();
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->bodies, 3U);
  EXPECT_EQ(built->with_bytes, 3U);
  ASSERT_EQ(built->images.size(), 2U);
  EXPECT_THAT(
      symbols_of(built->images[0].path),
      ::testing::UnorderedElementsAre(Symbol{"new", kBase + 8, 16, std::string(16, '\3')},
                                      Symbol{"beside", kBase + 64, 16, std::string(16, '\2')}));
  EXPECT_THAT(symbols_of(built->images[1].path),
              ElementsAre(Symbol{"old", kBase, 16, std::string(16, '\1')}));
}

TEST_F(ImageBuildTest, CodeThatMovedIsInBothPlaces) {
  load("a.B.c(int)", kBase, std::string(16, '\1'));
  move(kBase, kBase + 0x1000, 16);
  load("later", kBase, std::string(16, '\2'));
  move(kBase + 0x5000, kBase + 0x6000, 16);  // of nothing
  const auto built = build();
  ASSERT_TRUE(built) << to_string(built.error());
  ASSERT_EQ(built->images.size(), 2U);
  const std::string code(16, '\1');
  EXPECT_THAT(symbols_of(built->images[0].path),
              ::testing::UnorderedElementsAre(Symbol{"later", kBase, 16, std::string(16, '\2')},
                                              Symbol{"a.B.c", kBase + 0x1000, 16, code},
                                              Symbol{"a.B.c(int)", kBase + 0x1000, 16, code}));
  EXPECT_THAT(symbols_of(built->images[1].path),
              ::testing::UnorderedElementsAre(Symbol{"a.B.c", kBase, 16, code},
                                              Symbol{"a.B.c(int)", kBase, 16, code}));
}

TEST_F(ImageBuildTest, MovesMakeNoImageOfAnySize) {
  constexpr uint64_t kSize = 16U << 20U;
  load("huge", kBase, std::string(kSize, '\0'));
  for (uint64_t i = 0; i < 200; ++i) move(kBase + i * kSize, kBase + (i + 1) * kSize, kSize);
  const auto built = build();
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_LE(built->bodies, 70U);
  EXPECT_THAT(built->notes, Contains(HasSubstr("moves that were not followed")));
}

TEST_F(ImageBuildTest, AsManyImagesAsThereMayBe) {
  for (int i = 0; i < 2000; ++i) load("f" + std::to_string(i), kBase, std::string(8, '\1'));
  const auto built = build();
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->images.size(), EpochPlan::kMostEpochs);
  EXPECT_THAT(built->notes, ElementsAre(HasSubstr(std::to_string(2000 - EpochPlan::kMostEpochs))));
  EXPECT_THAT(symbols_of(built->images[0].path),
              ElementsAre(::testing::Field(&Symbol::name, "f1999")));

  const auto packed = build(true);
  ASSERT_TRUE(packed) << to_string(packed.error());
  ASSERT_EQ(packed->images.size(), 1U);
  EXPECT_THAT(packed->notes, IsEmpty());
  EXPECT_EQ(symbols_of(packed->images[0].path).size(), 2000U);
}

TEST_F(ImageBuildTest, ADumpThatEndsInARecordGivesWhatCameBefore) {
  load("whole", kBase, std::string(16, '\1'));
  const size_t whole = dump_.size();
  load("cut", kBase + 64, std::string(16, '\2'));
  const std::string all = dump_;
  for (size_t size = whole; size < all.size(); ++size) {
    dump_ = all.substr(0, size);
    const auto built = build();
    ASSERT_TRUE(built) << size << ": " << to_string(built.error());
    const auto symbols = symbols_of(built->images[0].path);
    EXPECT_THAT(symbols, Contains(Symbol{"whole", kBase, 16, std::string(16, '\1')})) << size;
    EXPECT_LE(symbols.size(), 2U);
    EXPECT_EQ(built->notes.empty(), size == whole) << size;
  }
}

TEST_F(ImageBuildTest, BodiesBehindAllAddressesDoNotSpoilTheOthers) {
  load("fine", kBase, std::string(16, '\1'));
  load("kernel", 0xffffffffa0000000, std::string(16, '\2'));
  const auto built = build();
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_THAT(symbols_of(built->images[0].path),
              ElementsAre(Symbol{"fine", kBase, 16, std::string(16, '\1')}));
  EXPECT_THAT(built->notes, ElementsAre(HasSubstr("where no program has code")));

  const auto map = build_map(
      "7f0000001000 10 fine\nffffffffa0000000 10 kernel\n1000 0 empty\n"
      "2000 fffffffffff huge\n");
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_THAT(symbols_of(map->images[0].path), ElementsAre(Symbol{"fine", kBase, 16, {}}));
}

TEST_F(ImageBuildTest, NothingIsLeftWhereThereIsNothing) {
  const auto built = build();
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(fs::is_empty(folder_ + "/out"));
  dump_ = "no jitdump at all, but long enough to be one: 0123456789";
  EXPECT_EQ(build().error().kind, ErrorKind::damaged);
  EXPECT_EQ(build_map("\n").error().kind, ErrorKind::not_found);
  EXPECT_TRUE(fs::is_empty(folder_ + "/out"));
}

TEST_F(ImageBuildTest, ThePerfMapsLaterLineHasTheFirstRight) {
  const auto built = build_map(
      "7f0000001000 10 a.B.old()\n7f0000001010 8 a.B.c(int,long)\n"
      "7f0000001000 10 new\nnonsense\n");
  ASSERT_TRUE(built) << to_string(built.error());
  ASSERT_EQ(built->images.size(), 2U);
  EXPECT_EQ(built->with_bytes, 0U);
  EXPECT_THAT(symbols_of(built->images[0].path),
              ::testing::UnorderedElementsAre(Symbol{"new", kBase, 16, {}},
                                              Symbol{"a.B.c", kBase + 16, 8, {}},
                                              Symbol{"a.B.c(int,long)", kBase + 16, 8, {}}));
  EXPECT_THAT(symbols_of(built->images[1].path), Contains(Symbol{"a.B.old", kBase, 16, {}}));
  EXPECT_THAT(built->notes, Contains(HasSubstr("perf map line")));
}

TEST_F(ImageBuildTest, DevicesAndPipesAreRefusedBeforeTheyAreOpened) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ImageSetOptions options;
  options.output = folder_ + "/code.elf";
  EXPECT_EQ(image_of_jitdump(pipe, options).error().kind, ErrorKind::usage);
  EXPECT_EQ(image_of_jitdump("/dev/zero", options).error().kind, ErrorKind::usage);
  EXPECT_EQ(image_of_perf_map("/dev/zero", options).error().kind, ErrorKind::usage);
  EXPECT_EQ(image_of_perf_map(folder_, options).error().kind, ErrorKind::usage);
  EXPECT_EQ(image_of_perf_map(folder_ + "/none", options).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace jitscope
