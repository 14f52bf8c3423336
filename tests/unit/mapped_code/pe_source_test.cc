// Images as loaders map them, here into the test itself: what of them is a body, where, and in
// which file.
#include "mapped_code/pe_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "mapped_code/joint_source.h"
#include "support/bundle_builder.h"
#include "support/pe_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

constexpr uint32_t kTextRva = 0x3000;
constexpr uint32_t kTextOffset = 0x1000;
constexpr size_t kTextSize = 0x800;
constexpr size_t kOnePage = 0x1000;

// Memory that is given back.
class Area {
 public:
  explicit Area(size_t size, void* at = nullptr, int flags = MAP_PRIVATE | MAP_ANONYMOUS,
                int fd = -1, off_t offset = 0, int protection = PROT_READ | PROT_EXEC)
      : size_(size),
        at_(::mmap(at, size, protection, at != nullptr ? flags | MAP_FIXED : flags, fd, offset)) {}
  ~Area() {
    if (at_ != MAP_FAILED) ::munmap(at_, size_);
  }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  [[nodiscard]] uint64_t start() const { return reinterpret_cast<uint64_t>(at_); }
  [[nodiscard]] void* at(size_t offset) const { return static_cast<char*>(at_) + offset; }

 private:
  size_t size_;
  void* at_;
};

class PeSourceTest : public test::ScratchFolderTest {
 protected:
  static test::PeBuilder image() {
    test::PeBuilder pe;
    pe.size_of_image = 0x5000;
    pe.sections = {{".text", kTextRva, std::string(kTextSize, '\x90'), 0, kTextOffset}};
    pe.add_symbol({"first", 0x10});
    pe.add_symbol({"_ZN4game5PointC1Eii", 0x80});
    return pe;
  }
  UniqueFd open(const std::string& path) {
    return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  // "first 0x10": names, and where they lie behind `start`.
  static std::vector<std::string> bodies(PeSource& source, uint64_t start) {
    std::vector<std::string> found;
    const auto snapshot = source.read();
    if (!snapshot) return {to_string(snapshot.error())};
    for (const CodeBody& body : snapshot->bodies) {
      found.push_back(fmt::format("{} {:#x}", body.name->display(), body.address - start));
    }
    return found;
  }
  Result<std::unique_ptr<PeSource>> source() {
    return PeSource::open(process_, Runtime::unknown, "");
  }

  const Process process_ = *Process::open(::getpid());
};

using Names = std::vector<std::string>;

TEST_F(PeSourceTest, NoImage) {
  const auto none = source();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
}

TEST_F(PeSourceTest, SectionsOfAFile) {
  const std::string path = write("game.exe", image().build());
  const UniqueFd file = open(path);
  const Area text(kOnePage, nullptr, MAP_PRIVATE, file.get(), kTextOffset);
  const auto found = source();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(bodies(**found, text.start()),
            (Names{"first 0x10", "game::Point::Point(int, int) 0x80"}));
  const Snapshot snapshot = *(*found)->read();
  const CodeBody& second = snapshot.bodies.back();
  ASSERT_NE(second.file, nullptr);
  EXPECT_EQ(second.file->path, path);
  EXPECT_EQ(second.file_offset, kTextOffset + 0x80);
  EXPECT_EQ(second.entry, second.address);
  EXPECT_EQ(second.name->raw, "_ZN4game5PointC1Eii");
  EXPECT_EQ(second.source, SourceKind::mapped_image);
  EXPECT_TRUE((*found)->holds(text.start() + kOnePage - 1));
  EXPECT_FALSE((*found)->holds(text.start() + kOnePage));
}

TEST_F(PeSourceTest, OneBodyOfAFileThatIsMappedTwice) {
  const UniqueFd file = open(write("game.exe", image().build()));
  const Area both(3 * kOnePage, nullptr, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, PROT_NONE);
  const Area low(kOnePage, both.at(0), MAP_PRIVATE, file.get(), kTextOffset);
  const Area high(kOnePage, both.at(2 * kOnePage), MAP_PRIVATE, file.get(), kTextOffset);
  const auto found = source();
  ASSERT_TRUE(found);
  EXPECT_EQ(bodies(**found, low.start()),
            (Names{"first 0x10", "game::Point::Point(int, int) 0x80"}));
}

TEST_F(PeSourceTest, CopiedBehindItsHeader) {
  const UniqueFd file = open(write("game.exe", image().build()));
  const Area all(0x5000, nullptr, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, PROT_NONE);
  const Area header(kOnePage, all.at(0), MAP_PRIVATE, file.get(), 0, PROT_READ);
  const Area text(kOnePage, all.at(kTextRva), MAP_PRIVATE | MAP_ANONYMOUS);
  // Of no image: behind its end.
  const Area other(kOnePage, all.at(0x4000), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, PROT_READ);
  const auto found = source();
  ASSERT_TRUE(found);
  EXPECT_EQ(bodies(**found, all.start()),
            (Names{"first 0x3010", "game::Point::Point(int, int) 0x3080"}));
  EXPECT_EQ((*found)->read()->bodies.front().file, nullptr);
}

TEST_F(PeSourceTest, NothingOfWhatIsShared) {
  const UniqueFd file = open(write("game.exe", image().build()));
  const Area text(kOnePage, nullptr, MAP_SHARED, file.get(), kTextOffset);
  EXPECT_FALSE(source());
}

TEST_F(PeSourceTest, PartsThatLieApartAreNotProbed) {
  test::PeBuilder pe = image();
  pe.symbols.clear();
  pe.add_symbol({"split", 0});
  test::LittleBytes pdata;
  pdata.u32(kTextRva).u32(kTextRva + 0x10).u32(0x4100);
  pdata.u32(kTextRva + 0x100).u32(kTextRva + 0x110).u32(0x4104);
  test::LittleBytes xdata;
  xdata.u8(1).zeros(3).u8(1 | 4U << 3U).zeros(3).u32(kTextRva).u32(kTextRva + 0x10).u32(0x4100);
  pe.sections.push_back({".pdata", 0x4000,
                         pdata.bytes() + std::string(0x100 - pdata.size(), '\0') + xdata.bytes(), 0,
                         0, 0x40000040});
  pe.directories[3] = {0x4000, static_cast<uint32_t>(pdata.size())};
  const UniqueFd file = open(write("game.exe", pe.build()));
  const Area text(kOnePage, nullptr, MAP_PRIVATE, file.get(), kTextOffset);
  const auto found = source();
  ASSERT_TRUE(found);
  const Snapshot snapshot = *(*found)->read();
  Names probed;
  Names not_probed;
  for (const CodeBody& body : snapshot.bodies) {
    (body.not_probeable.empty() ? probed : not_probed)
        .push_back(fmt::format("{} {:#x}", body.name->display(), body.address - text.start()));
  }
  EXPECT_EQ(probed.front(), "split 0x0");
  EXPECT_EQ(not_probed, Names{"split 0x100"});
}

TEST_F(PeSourceTest, ImagesThatComeAndGo) {
  const UniqueFd first = open(write("game.exe", image().build()));
  test::PeBuilder other = image();
  other.symbols.clear();
  other.add_symbol({"third", 0x20});
  const UniqueFd second = open(write("more.dll", other.build()));
  const Area text(kOnePage, nullptr, MAP_PRIVATE, first.get(), kTextOffset);
  const auto found = source();
  ASSERT_TRUE(found);
  EXPECT_EQ(bodies(**found, text.start()).size(), 2U);
  {
    const Area more(kOnePage, nullptr, MAP_PRIVATE, second.get(), kTextOffset);
    EXPECT_EQ(bodies(**found, text.start()).size(), 3U);
    EXPECT_TRUE((*found)->holds(more.start()));
  }
  EXPECT_EQ(bodies(**found, text.start()).size(), 2U);
  (*found)->only([](const MethodName& name) { return name.display() == "third"; });
  EXPECT_EQ(bodies(**found, text.start()).size(), 0U);
  const Area more(kOnePage, nullptr, MAP_PRIVATE, second.get(), kTextOffset);
  EXPECT_EQ(bodies(**found, more.start()), Names{"third 0x20"});
}

TEST_F(PeSourceTest, FilesThatAreNoImages) {
  std::string damaged = image().build();
  damaged.resize(0x90);
  damaged.resize(2 * kOnePage, 'x');
  const UniqueFd file = open(write("game.exe", damaged));
  const UniqueFd text_file = open(write("notes.txt", std::string(2 * kOnePage, 'M')));
  const Area one(kOnePage, nullptr, MAP_PRIVATE, file.get(), 0);
  const Area two(kOnePage, nullptr, MAP_PRIVATE, text_file.get(), 0);
  EXPECT_FALSE(source());
}

TEST_F(PeSourceTest, DeletedFilesAreRead) {
  const std::string path = write("game.exe", image().build());
  const UniqueFd file = open(path);
  const Area text(kOnePage, nullptr, MAP_PRIVATE, file.get(), kTextOffset);
  std::filesystem::remove(path);
  const auto found = source();
  ASSERT_TRUE(found);
  EXPECT_EQ(bodies(**found, text.start()).size(), 2U);
}

// What a perf map lists of an image, too, is the image's.
class ListedSource final : public CodeSource {
 public:
  explicit ListedSource(std::vector<uint64_t> addresses) : addresses_(std::move(addresses)) {}
  Result<Snapshot> read() override {
    Snapshot all;
    for (const uint64_t address : addresses_) {
      CodeBody body;
      body.address = address;
      MethodName name;
      name.function = name.raw = "listed";
      body.name = std::make_shared<const MethodName>(name);
      all.bodies.push_back(body);
    }
    return all;
  }
  [[nodiscard]] SourceKind kind() const override { return SourceKind::perf_map; }
  [[nodiscard]] std::string describe() const override { return "a list"; }
  [[nodiscard]] bool code_is_fixed() const override { return false; }

 private:
  std::vector<uint64_t> addresses_;
};

TEST_F(PeSourceTest, BothSourcesTogether) {
  const UniqueFd file = open(write("game.exe", image().build()));
  const Area around(3 * kOnePage, nullptr, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, PROT_NONE);
  const Area text(kOnePage, around.at(kOnePage), MAP_PRIVATE, file.get(), kTextOffset);
  auto images = source();
  ASSERT_TRUE(images);
  JointSource both(std::make_unique<ListedSource>(
                       std::vector{text.start() - 8, text.start() + 0x80, text.start() + kOnePage}),
                   std::move(*images));
  const auto snapshot = both.read();
  ASSERT_TRUE(snapshot);
  Names found;
  std::vector<const CodeBody*> pointers;
  for (const CodeBody& body : snapshot->bodies) {
    pointers.push_back(&body);
    found.push_back(fmt::format("{} {}", body.name->display(), to_string(body.source)));
  }
  EXPECT_EQ(found, (Names{"listed perf-map", "first mapped-image",
                          "game::Point::Point(int, int) mapped-image", "listed perf-map"}));
  EXPECT_EQ(both.details(pointers)->size(), 4U);
  EXPECT_FALSE(both.code_is_fixed()) << "the JIT's";
  EXPECT_TRUE(both.has_images());
}

}  // namespace
}  // namespace jitscope
