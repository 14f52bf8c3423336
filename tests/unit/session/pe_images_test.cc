// PE images as recordings map them: by sections, copied to memory behind a header, in a flat view,
// in a single-file program; and images that are not, or no longer, what the mapping says.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "naming/pe_images.h"
#include "session/session.h"
#include "support/bundle_builder.h"
#include "support/pe_builder.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;
using ::testing::ElementsAre;

constexpr uint32_t kPid = 0x7fff0042;  // no machine gives out pids like this
constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint32_t kTextRva = 0x11000;
constexpr uint32_t kTextOffset = 0x1000;
constexpr uint64_t kTextSize = 0x800;
constexpr uint8_t kReadOnly = 1;
constexpr uint16_t kData = 2 | (1U << 13U);  // PERF_RECORD_MISC_USER, _MMAP_DATA

class Leaves : public SampleConsumer {
 public:
  explicit Leaves(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    const Location location = session_.location(sample.stack.back());
    const Frame& frame = session_.resolver().frames()[location.frame];
    found.push_back(frame.method.empty()
                        ? std::string(to_string(frame.no_name))
                        : fmt::format("{}+{} {}", frame.method, location.symbol_offset, frame.dso));
    return true;
  }
  std::vector<std::string> found;

 private:
  Session& session_;
};

class PeImagesTest : public test::ScratchFolderTest {
 protected:
  static test::PeBuilder image() {
    test::PeBuilder pe;
    pe.size_of_image = 0x13000;
    pe.sections = {{".text", kTextRva, std::string(kTextSize, '\x90'), 0, kTextOffset}};
    return pe;
  }
  static test::PeBuilder with_symbols() {
    test::PeBuilder pe = image();
    pe.add_symbol({"first", 0x10});
    pe.add_symbol({"second", 0x80});
    return pe;
  }
  void SetUp() override {
    ScratchFolderTest::SetUp();
    builder_.comm(kPid, kPid, "wine", Stamp{kPid, kPid, 10, 0});
  }
  void map(uint64_t start, uint64_t length, uint64_t offset, const std::string& path,
           uint32_t protection = 5) {
    builder_.mmap2({.pid = kPid,
                    .tid = kPid,
                    .start = start,
                    .length = length,
                    .page_offset = offset,
                    .path = path,
                    .misc = (protection & 4U) != 0 ? uint16_t{2} : kData,
                    .prot = protection,
                    .major = major(status_of(path).st_dev) + (overlaid_ ? 1 : 0),
                    .minor = minor(status_of(path).st_dev),
                    .inode = status_of(path).st_ino + (replaced_ ? 1 : 0),
                    .stamp = {.pid = kPid, .time = ++time_}});
  }
  // Zeros of memory and of files that are gone, as the kernel tells them.
  static struct stat status_of(const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) status = {};
    return status;
  }
  void sample(uint64_t address) {
    builder_.sample({.pid = kPid,
                     .tid = kPid,
                     .time = ++time_,
                     .ip = address,
                     .callchain = {perfdata::kContextUser, address}});
  }
  std::vector<std::string> leaves() {
    const std::string path = write("perf.data", builder_.file());
    session_ = *Session::open(path, SessionOptions());
    Leaves leaves(*session_);
    EXPECT_TRUE(session_->run(leaves));
    return leaves.found;
  }

  PerfDataBuilder builder_;
  std::unique_ptr<Session> session_;
  uint64_t time_ = 100;
  bool overlaid_ = false;  // files lie on another device than mappings say
  bool replaced_ = false;  // files have other inodes than when they were mapped
};

const std::string kJit(to_string(NoName::no_source));
const std::string kNoFunction(to_string(NoName::no_function_of_image));

TEST_F(PeImagesTest, SectionsAreMappedWhereTheHeaderSays) {
  const std::string path = write("a.dll", with_symbols().build());
  map(kBase + 0x40000, 0x1000, kTextOffset, path);
  for (const uint64_t at : {0x10, 0x7f, 0x80, 0x85, 0x8}) sample(kBase + 0x40000 + at);
  EXPECT_THAT(leaves(), ElementsAre("first+0 a.dll", "first+111 a.dll", "second+0 a.dll",
                                    "second+5 a.dll", kNoFunction));
  const std::vector<PeStory> stories = session_->resolver().images();
  ASSERT_EQ(stories.size(), 1U);
  EXPECT_EQ(stories[0].path, path);
  EXPECT_EQ(stories[0].names, "COFF symbols");
}

TEST_F(PeImagesTest, WhatALoaderCopiedBelongsToTheHeaderInFrontOfIt) {
  const std::string path = write("a.exe", with_symbols().build());
  map(kBase, 0x13000, 0, "//anon", 7);
  map(kBase, 0x1000, 0, path, kReadOnly);
  map(kBase + kTextRva, 0x1000, 0, "//anon");
  map(kBase + 0x13000, 0x1000, 0, "//anon");
  sample(kBase + kTextRva + 0x82);
  sample(kBase + kTextRva + 0xff0);  // of the section's page, behind its end
  sample(kBase + 0x13010);           // behind the image
  EXPECT_THAT(leaves(), ElementsAre("second+2 a.exe", kNoFunction, kJit));
}

TEST_F(PeImagesTest, AFlatViewOfTheFileIsNoHeader) {
  const std::string path = write("a.dll", with_symbols().build());
  map(kBase, 0x2000, 0, path, kReadOnly);
  map(kBase + kTextRva, 0x1000, 0, "//anon");
  sample(kBase + kTextRva + 0x82);
  EXPECT_THAT(leaves(), ElementsAre(kJit));
}

TEST_F(PeImagesTest, AFileThatWasReplacedNamesNothing) {
  replaced_ = true;
  const std::string path = write("a.dll", with_symbols().build());
  map(kBase, 0x1000, kTextOffset, path);
  sample(kBase + 0x10);
  EXPECT_THAT(leaves(), ElementsAre(std::string(to_string(NoName::file_changed))));
  const std::vector<PeStory> stories = session_->resolver().images();
  ASSERT_EQ(stories.size(), 1U);
  EXPECT_EQ(stories[0].names, to_string(NoName::file_changed));
}

TEST_F(PeImagesTest, AnOverlaysFileIsToldWithTheDeviceBelowIt) {
  overlaid_ = replaced_ = true;
  map(kBase, 0x1000, kTextOffset, write("a.dll", with_symbols().build()));
  sample(kBase + 0x10);
  EXPECT_THAT(leaves(), ElementsAre("first+0 a.dll"));
}

TEST_F(PeImagesTest, BoundsOfAStrippedImage) {
  test::PeBuilder pe = image();
  test::LittleBytes functions;
  functions.u32(kTextRva + 0x100).u32(kTextRva + 0x180).u32(kTextRva + 0x700);
  pe.sections.push_back({".pdata", 0x12000, functions.bytes(), 0, 0x2000, 0x40000040});
  pe.directories[3] = {0x12000, 12};
  map(kBase, 0x1000, kTextOffset, write("busys.exe", pe.build()));
  sample(kBase + 0x150);
  sample(kBase + 0x180);
  EXPECT_THAT(leaves(), ElementsAre("busys.exe+0x11100+80 busys.exe", kNoFunction));
}

TEST_F(PeImagesTest, FilesThatAreGoneOrAreNoImages) {
  map(kBase, 0x1000, kTextOffset, "/nowhere/a.dll");
  map(kBase + 0x10000, 0x1000, 0x1000, write("b.dll", "MZ, and that is all"));
  sample(kBase + 0x10);
  sample(kBase + 0x10010);
  const auto found = leaves();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], to_string(NoName::file_unreadable));
  EXPECT_NE(found[1], kJit);
}

TEST_F(PeImagesTest, ImagesOfASingleFileProgram) {
  // Images lie at multiples of 64 in the host, so that no page of the host is one of theirs.
  constexpr uint64_t kFirst = 0x2040;
  constexpr uint64_t kSecond = 0x6080;
  const std::string one = with_symbols().build();
  test::PeBuilder other = image();
  other.add_symbol({"of_the_other", 0x20});
  const std::string two = other.build();
  test::BundleBuilder bundle;
  bundle.files = {{"One.dll", kFirst, one.size(), 0, 1},
                  {"b/Two.dll", kSecond, two.size(), 0, 1},
                  {"Packed.dll", 0x8000, 0x800, 0x400, 1}};
  std::string host(0xa000, '\0');
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(header);
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr load = {};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_X;
  load.p_filesz = load.p_memsz = 0x2000;
  std::memcpy(host.data(), &header, sizeof(header));
  std::memcpy(host.data() + sizeof(header), &load, sizeof(load));
  const std::string marker = test::BundleBuilder::marker(0x9000);
  host.replace(0x800, marker.size(), marker);
  host.replace(kFirst, one.size(), one);
  host.replace(kSecond, two.size(), two);
  const std::string manifest = bundle.build();
  host.replace(0x9000, manifest.size(), manifest);
  const std::string path = write("app", host);
  map(kBase, 0x2000, 0, path);
  map(kBase + 0x100000, 0x2000, 0x3000, path);
  map(kBase + 0x200000, 0x2000, 0x7000, path);
  map(kBase + 0x300000, 0x1000, 0x8000, path);
  sample(kBase + 0x100000 + kFirst + kTextOffset - 0x3000 + 0x81);
  sample(kBase + 0x200000 + kSecond + kTextOffset - 0x7000 + 0x21);
  sample(kBase + 0x1000);    // the host's own
  sample(kBase + 0x300010);  // an image that is packed cannot run from here
  const auto found = leaves();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], "second+1 One.dll");
  EXPECT_EQ(found[1], "of_the_other+1 Two.dll");
  EXPECT_NE(found[2], kJit);
  EXPECT_NE(found[3], kJit);
  const std::vector<PeStory> stories = session_->resolver().images();
  ASSERT_EQ(stories.size(), 2U);
  EXPECT_EQ(stories[0].path, path + "!One.dll");
}

}  // namespace
}  // namespace jitscope
