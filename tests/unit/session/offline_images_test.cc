// Maps that users give for mapped files: what their addresses count from, whatever way the file is
// mapped, and what is told of maps that are not used.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "naming/trace_folder.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kPid = 0x7fff0043;  // no machine gives out pids like this
constexpr uint64_t kBase = 0x7f0000000000;

class LeafNames : public SampleConsumer {
 public:
  explicit LeafNames(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    const Location location = session_.location(sample.stack.back());
    const Frame& frame = session_.resolver().frames()[location.frame];
    found.push_back(frame.method.empty()
                        ? std::string(to_string(frame.no_name))
                        : fmt::format("{}+{}", frame.method, location.symbol_offset));
    return true;
  }
  std::vector<std::string> found;

 private:
  Session& session_;
};

class OfflineImagesTest : public test::ScratchFolderTest {
 protected:
  void SetUp() override {
    ScratchFolderTest::SetUp();
    builder_.comm(kPid, kPid, "loader", Stamp{kPid, kPid, 10, 0});
    flat_ = write("code.bin", std::string(0x4000, '\x90'));
    std::string lines;
    for (unsigned at = 0; at < 0x4000; at += 0x100)
      lines += fmt::format("{:x} 100 f{:x}\n", at, at);
    lines_ = write("names.map", lines);
  }
  void map(uint64_t start, uint64_t length, uint64_t offset, const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) status = {};
    builder_.mmap2({.pid = kPid,
                    .tid = kPid,
                    .start = start,
                    .length = length,
                    .page_offset = offset,
                    .path = path,
                    .major = major(status.st_dev),
                    .minor = minor(status.st_dev),
                    .inode = status.st_ino,
                    .stamp = {.pid = kPid, .time = ++time_}});
  }
  void sample(uint64_t address) {
    builder_.sample({.pid = kPid,
                     .tid = kPid,
                     .time = ++time_,
                     .ip = address,
                     .callchain = {perfdata::kContextUser, address}});
  }
  std::vector<std::string> leaves(const std::vector<std::string>& maps) {
    SessionOptions options;
    options.naming.offline_maps = maps;
    auto session = Session::open(write("perf.data", builder_.file()), options);
    EXPECT_TRUE(session) << to_string(session.error());
    if (!session) return {};
    LeafNames leaves(**session);
    EXPECT_TRUE((*session)->run(leaves));
    notes_ = (*session)->sources().notes;
    return leaves.found;
  }
  std::vector<std::string> by_rva(const std::string& image) {
    return leaves({image + "=" + lines_ + ":base=rva"});
  }

  PerfDataBuilder builder_;
  uint64_t time_ = 100;
  std::string flat_, lines_;
  std::vector<std::string> notes_;
};

const std::string kNoBase(to_string(NoName::image_base_not_known));
const std::string kNoLine(to_string(NoName::no_line_of_file));

TEST_F(OfflineImagesTest, AFileThatLiesAsItIs) {
  map(kBase, 0x4000, 0, flat_);
  sample(kBase + 0x1234);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f1200+52"));
  EXPECT_THAT(leaves({"code.bin=" + lines_}), ElementsAre("f1200+52"));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(OfflineImagesTest, AFileThatIsMappedTwice) {
  map(kBase, 0x4000, 0, flat_);
  map(kBase + 0x100000, 0x4000, 0, flat_);
  sample(kBase + 0x1234);
  sample(kBase + 0x101234);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f1200+52", "f1200+52"));
}

TEST_F(OfflineImagesTest, AFileFromItsMiddle) {
  map(kBase, 0x2000, 0x2000, flat_);
  sample(kBase + 0x134);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f2100+52"));
  EXPECT_THAT(leaves({flat_ + "=" + lines_ + ":base=file"}), ElementsAre("f2100+52"));
}

TEST_F(OfflineImagesTest, TheSamePartTwice) {
  map(kBase, 0x2000, 0x2000, flat_);
  map(kBase + 0x100000, 0x2000, 0x2000, flat_);
  sample(kBase + 0x134);
  sample(kBase + 0x100134);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f2100+52", "f2100+52"));
}

TEST_F(OfflineImagesTest, OneImageOfMappingsThatFollowOneAnother) {
  map(kBase, 0x1000, 0, flat_);
  map(kBase + 0x1000, 0x1000, 0x1000, flat_);
  map(kBase + 0x3000, 0x1000, 0x3000, flat_);
  sample(kBase + 0x34);
  sample(kBase + 0x1034);
  sample(kBase + 0x3034);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f0+52", "f1000+52", "f3000+52"));
}

TEST_F(OfflineImagesTest, PiecesOfAFileHaveNoBaseOfTheirOwn) {
  map(kBase, 0x1000, 0x2000, flat_);
  map(kBase + 0x10000, 0x1000, 0x1000, flat_);
  map(kBase + 0x20000, 0x1000, 0, flat_);
  for (const uint64_t at : {0x34, 0x10034, 0x20034}) sample(kBase + at);
  EXPECT_THAT(by_rva(flat_), ElementsAre(kNoBase, kNoBase, "f0+52"));
  EXPECT_THAT(leaves({flat_ + "=" + lines_}), ElementsAre("f2000+52", "f1000+52", "f0+52"));
  EXPECT_THAT(leaves({flat_ + "=" + write("absolute", fmt::format("{:x} 10000 all\n", kBase)) +
                      ":base=absolute"}),
              ElementsAre("all+52", kNoLine, kNoLine));
}

TEST_F(OfflineImagesTest, PiecesThatComeLater) {
  map(kBase, 0x1000, 0x2000, flat_);
  sample(kBase + 0x34);
  map(kBase + 0x10000, 0x1000, 0x1000, flat_);
  sample(kBase + 0x10034);
  sample(kBase + 0x44);
  EXPECT_THAT(by_rva(flat_), ElementsAre("f2000+52", kNoBase, kNoBase));
}

TEST_F(OfflineImagesTest, AFileThatIsGoneMayBeAPeImage) {
  map(kBase, 0x1000, 0, "/gone/code.bin");
  sample(kBase + 0x34);
  EXPECT_THAT(by_rva("/gone/code.bin"), ElementsAre(kNoBase));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr(kNoBase)));
  EXPECT_THAT(leaves({"/gone/code.bin=" + lines_}), ElementsAre("f0+52"));
}

// On another machine than that of the recording nothing but the folder is there.
TEST_F(OfflineImagesTest, ATraceFolderTellsWhereImagesLay) {
  const std::string guid = "{026D4D21-B3EE-3D93-843F-F7A964235822}";
  const std::string other = "{126D4D21-B3EE-3D93-843F-F7A964235822}";
  const std::string folder = folder_ + "/trace";
  std::filesystem::create_directory(folder);
  const auto text = [&](const std::string& name, const std::string& bytes) {
    write("trace/" + name, bytes);
  };
  text("Core.ni." + guid + ".map", "# base: rva\n11000 100 Core.Run\n");
  text("Other.ni." + other + ".map", "# base: rva\n11000 100 Other.Run\n");
  text("Odd.ni." + guid + ".map", "11000 100 Odd.Run\n");
  text("Never.r2rmap", "11000 100 Never.Run\n");
  text(fmt::format("perfinfo-{}.map", kPid),
       fmt::format("ImageLoad;/gone/Core.dll;{};0x{:x};\nImageLoad;/gone/Other.dll;{};0x{:x};\n"
                   "ImageLoad;/gone/Odd.dll;{};0x{:x};\n",
                   guid, kBase, guid, kBase + 0x100000, guid, kBase + 0x200000));
  map(kBase + 0x11000, 0x1000, 0x1000, "/gone/Core.dll");
  map(kBase + 0x111000, 0x1000, 0x1000, "/gone/Other.dll");
  map(kBase + 0x211000, 0x1000, 0x1000, "/gone/Odd.dll");
  sample(kBase + 0x11034);
  sample(kBase + 0x111034);
  sample(kBase + 0x211034);
  SessionOptions options;
  ASSERT_TRUE(add_trace_folder(folder, options.naming));
  auto session = Session::open(write("perf.data", builder_.file()), options);
  ASSERT_TRUE(session) << to_string(session.error());
  LeafNames leaves(**session);
  ASSERT_TRUE((*session)->run(leaves));
  EXPECT_THAT(leaves.found,
              ElementsAre("Core.Run+52", std::string(to_string(NoName::map_of_other_file)),
                          std::string(to_string(NoName::map_base_not_known))));
  // Never.r2rmap is of no use: a folder may hold many of those.
  EXPECT_THAT((*session)->sources().notes,
              UnorderedElementsAre(HasSubstr("Other.ni." + other),
                                   HasSubstr("neither option nor map says its base")));
}

class OfflinePeTest : public OfflineImagesTest {
 protected:
  static constexpr uint32_t kRva = 0x11000;
  static constexpr uint32_t kOffset = 0x1000;
  static test::PeBuilder image() {
    test::PeBuilder pe;
    pe.size_of_image = 0x13000;
    pe.sections = {{".text", kRva, std::string(0x800, '\x90'), 0, kOffset}};
    test::LittleBytes functions;
    for (const uint32_t at : {0x0, 0x100, 0x200}) {
      functions.u32(kRva + at).u32(kRva + at + 0x100).u32(kRva + 0x700);
    }
    pe.sections.push_back({".pdata", 0x12000, functions.bytes(), 0, 0x2000, 0x40000040});
    pe.directories[3] = {0x12000, 36};
    return pe;
  }
  std::string map_of(uint32_t first) {
    return write(fmt::format("{:x}.map", first),
                 fmt::format("{:x} 100 one\n{:x} 100 two\n{:x} 100 three\n", first, first + 0x100,
                             first + 0x200));
  }
};

TEST_F(OfflinePeTest, SectionsLieWhereTheHeaderSays) {
  const std::string path = write("a.dll", image().build());
  map(kBase + kRva, 0x1000, kOffset, path);
  sample(kBase + kRva + 0x134);
  for (const uint32_t first : {kRva, kOffset}) {
    EXPECT_THAT(leaves({path + "=" + map_of(first)}), ElementsAre("two+52"));
    EXPECT_THAT(notes_, IsEmpty());
  }
  const auto bounds = ElementsAre("a.dll+0x11100+52");
  EXPECT_THAT(leaves({path + "=" + map_of(kRva) + ":base=file"}), bounds);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("its base is not file: of its 3 lines 100.0 % begin")));
  EXPECT_THAT(leaves({path + "=" + map_of(kRva + 4)}), bounds);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("0.0 % begin where functions do as RVAs, 0.0 %")));
}

TEST_F(OfflinePeTest, WhatALoaderCopiedToMemory) {
  const std::string path = write("a.exe", image().build());
  map(kBase, 0x1000, 0, path);
  map(kBase + kRva, 0x1000, 0, "//anon");
  sample(kBase + kRva + 0x134);
  for (const uint32_t first : {kRva, kOffset}) {
    EXPECT_THAT(leaves({path + "=" + map_of(first)}), ElementsAre("two+52"));
  }
}

TEST_F(OfflinePeTest, AReplacedImageIsNotRead) {
  const std::string path = write("a.dll", image().build());
  map(kBase + kRva, 0x1000, kOffset, path);
  sample(kBase + kRva + 0x134);
  const std::string old = path + ".old";
  std::filesystem::rename(path, old);
  write("a.dll", image().build());
  EXPECT_THAT(leaves({path + "=" + map_of(kRva)}),
              ElementsAre(std::string(to_string(NoName::file_changed))));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr(to_string(NoName::file_changed))));
}

TEST_F(OfflinePeTest, PartsOfASingleFileProgram) {
  constexpr uint64_t kPart = 0x2040;
  const std::string part = image().build();
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
  test::BundleBuilder bundle;
  bundle.files = {{"lib/One.dll", kPart, part.size(), 0, 1}};
  const std::string marker = test::BundleBuilder::marker(0x9000);
  host.replace(0x800, marker.size(), marker);
  host.replace(kPart, part.size(), part);
  const std::string manifest = bundle.build();
  host.replace(0x9000, manifest.size(), manifest);
  const std::string path = write("app", host);
  map(kBase, 0x2000, 0, path);
  map(kBase + 0x100000, 0x2000, 0x3000, path);
  sample(kBase + 0x100000 + kPart + kOffset - 0x3000 + 0x134);
  for (const std::string& image :
       {path + "!One.dll", std::string("app!One.dll"), std::string("One.dll")}) {
    for (const uint32_t first : {kRva, kOffset}) {
      EXPECT_THAT(leaves({image + "=" + map_of(first)}), ElementsAre("two+52")) << image;
      EXPECT_THAT(notes_, IsEmpty());
    }
  }
  const auto bounds = ElementsAre("One.dll+0x11100+52");
  EXPECT_THAT(leaves({"other!One.dll=" + map_of(kRva)}), bounds);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("no process mapped a file of that name")));
  EXPECT_THAT(leaves({path + "=" + map_of(kRva)}), bounds);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is an ELF file, whose own symbols name it")));
}

TEST_F(OfflineImagesTest, MapsOfNoUseAreTold) {
  map(kBase, 0x4000, 0, flat_);
  sample(kBase + 0x1234);
  for (const auto& [text, says] :
       {std::pair{std::string(), "not used: it is empty"},
        std::pair{std::string("\x01\x02\xff\n\x80zz", 7), "none of its 2 lines can be read"},
        std::pair{std::string("3000 10 far\n"), "none of its 1 line holds any of the addresses"},
        std::pair{std::string("# size: 7\n0 4000 f\n"), "made for an image of 7 bytes"}}) {
    EXPECT_EQ(leaves({flat_ + "=" + write("odd.map", text)}).size(), 1U);
    EXPECT_THAT(notes_, ElementsAre(HasSubstr(says)));
  }
  leaves({"absent.bin=" + lines_});
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("no process mapped a file of that name")));
  SessionOptions options;
  options.naming.offline_maps = {flat_ + "=/nonexistent"};
  const auto session = Session::open(folder_ + "/perf.data", options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace jitscope
