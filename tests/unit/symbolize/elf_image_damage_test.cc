// ELF images cut short, damaged and forged: errors in bounded time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "symbolize/elf_image.h"
#include "tests/unit/symbolize/elf_builder.h"

namespace jitscope {
namespace {

using Image = Result<std::unique_ptr<ElfImage>>;
using test::ElfBuilder;

Image image_of(const std::string& bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  return ElfImage::from_memory({span.begin(), span.end()}, "test");
}
std::string name_at(const Image& image, uint64_t address) {
  if (!image) return "no image: " + to_string(image.error());
  const auto hit = (*image)->symbol_at(address);
  return hit ? std::string(hit->name) : std::string();
}

// Asks for all that can be asked; the answers of broken files do not matter, crashes do.
size_t ask(const Image& image) {
  if (!image) return 0;
  size_t length = 0;
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x401000}, uint64_t{0x401010},
                                 uint64_t{0x401fff}, uint64_t{1} << 63U, UINT64_MAX}) {
    if (const auto hit = (*image)->symbol_at(address)) length += hit->name.size();
    (void)(*image)->address_of_offset(address);
    (void)(*image)->source_frames(address);
  }
  return length;
}

TEST(ElfImageDamage, EveryTruncationIsSurvived) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}, {"second", 0x401010, 0}};
  const std::string whole = elf.build();
  size_t named = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    named += ask(image_of(whole.substr(0, length))) > 0 ? 1 : 0;
  }
  EXPECT_GE(named, 1U);  // the whole one, at least
}

TEST(ElfImageDamage, RandomDamageIsSurvived) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}, {"_Z6secondv", 0x401010, 0}};
  const std::string whole = elf.build();
  std::mt19937 random(11);
  size_t opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (unsigned hits = 1 + random() % 4; hits-- > 0;) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto image = image_of(damaged);
    opened += image.has_value() ? 1 : 0;
    ask(image);
  }
  EXPECT_GT(opened, 1000U);  // the damage must get behind the first check
}

TEST(ElfImageDamage, ForgedTablesAreSurvived) {
  const auto forged = [&](const std::function<void(ElfBuilder&)>& forge) {
    ElfBuilder elf;
    elf.symbols = {{"first", 0x401000, 0x10}, {"second", 0x401010, 0x10}};
    forge(elf);
    return ask(image_of(elf.build()));
  };
  EXPECT_GT(forged([](ElfBuilder&) {}), 0U);
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{7}, UINT64_MAX}) {
    forged([&](ElfBuilder& elf) { elf.entry_size = size; });
  }
  for (const uint32_t link : {0U, 1U, 2U, 5U, 0xffffU, 0xffffffffU}) {
    forged([&](ElfBuilder& elf) { elf.link = link; });
  }
  for (const uint64_t size : {uint64_t{1}, uint64_t{25}, uint64_t{1} << 40U, UINT64_MAX}) {
    forged([&](ElfBuilder& elf) { elf.symbols_size = size; });
    forged([&](ElfBuilder& elf) { elf.names_size = size; });
  }
  EXPECT_GT(forged([](ElfBuilder& elf) { elf.close_names = false; }), 0U);
  forged([](ElfBuilder& elf) { elf.text_offset = UINT64_MAX - 8; });
  forged([](ElfBuilder& elf) { elf.text_size = UINT64_MAX; });
  forged([](ElfBuilder& elf) {
    elf.symbols = {{"wraps", UINT64_MAX - 4, 0x100}, {"huge", 0, UINT64_MAX}};
  });
}

TEST(ElfImageDamage, ASectionCountFromAnotherFieldIsBounded) {
  ElfBuilder elf;
  std::string bytes = elf.build();
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shnum = 0;  // "in section 0"
  std::memcpy(bytes.data(), &header, sizeof(header));
  const uint64_t count = uint64_t{1} << 40U;
  std::memcpy(bytes.data() + header.e_shoff + offsetof(Elf64_Shdr, sh_size), &count, sizeof(count));
  const auto image = image_of(bytes);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::damaged);
}

TEST(ElfImageDamage, ManySymbolsThatShareOneLongNameTakeNoMoreThanTheFile) {
  ElfBuilder elf;
  const std::string name(4U << 20U, 'n');
  elf.symbols = {{name, 0x401000, 1}};
  for (uint64_t i = 1; i < 4096; ++i) elf.symbols.push_back({"", 0x401000 + i, 1});
  std::string bytes = elf.build();
  // All of them point to the one name: 16 GB when each had its own copy.
  for (size_t i = 2; i <= elf.symbols.size(); ++i) {
    const uint32_t offset = 1;
    std::memcpy(bytes.data() + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + i * sizeof(Elf64_Sym),
                &offset, sizeof(offset));
  }
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto image = image_of(bytes);
  EXPECT_THAT(name_at(image, 0x401000 + 4000), testing::StartsWith("nnnn"));
  EXPECT_LE(name_at(image, 0x401000 + 4000).size(), 64U << 10U);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 512 * 1024) << "KiB";
}

// Aliases of one address that differ in size have to be compared by name while the file is read.
TEST(ElfImageDamage, AliasesWithCostlyNamesEnd) {
  ElfBuilder elf;
  std::string costly = "_Z1fISt4pairIiiE";
  for (size_t i = 0; i < 12; ++i) {
    const std::string before(1, "0123456789AB"[i]);
    costly += "S_IS" + before + "_S" + before + "_E";
  }
  for (uint64_t i = 0; i < 20'000; ++i) {
    elf.symbols.push_back({costly + std::to_string(i), 0x401000, i + 1});
  }
  const auto image = image_of(elf.build());
  EXPECT_NE(name_at(image, 0x401000), "");
}

TEST(ElfImageDamage, ASparseFileOfATerabyteCostsNothing) {
  std::string path = testing::TempDir() + "/jitscope-elf-XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ::close(fd);
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}};
  for (const auto& [names, size] : {std::pair(false, uint64_t{1} << 40U),
                                    {true, uint64_t{1} << 40U},
                                    {false, uint64_t{3} << 30U},
                                    {true, uint64_t{3} << 30U}}) {
    elf.names_size = names ? size - 0x10000 : 0;
    elf.symbols_size = names ? 0 : size - 0x10000;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << elf.build();
    if (::truncate(path.c_str(), off_t{1} << 40U) != 0) break;  // no sparse files here
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    ask(ElfImage::open(path, {}));
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace jitscope
