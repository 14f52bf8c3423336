// Programs built by the compiler at hand: stripped, with a debug file elsewhere, with symbols in
// .gnu_debugdata, compressed, of another build, cut, and their PLTs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/work_limit.h"
#include "symbolize/elf_image.h"
#include "tests/unit/symbolize/built_program.h"

namespace jitscope {
namespace {

using testing::HasSubstr;
using Image = Result<std::unique_ptr<ElfImage>>;

std::string name_at(const Image& image, uint64_t address) {
  if (!image) return "no image: " + to_string(image.error());
  const auto hit = (*image)->symbol_at(address);
  return hit ? std::string(hit->name) : std::string();
}

class BuiltImageTest : public test::BuiltProgramTest {
 protected:
  void SetUp() override {
    BuiltProgramTest::SetUp();
    for (const char* const tool : {"g++", "objcopy", "strip", "nm"}) {
      if (!have(tool)) GTEST_SKIP() << tool << " is not installed";
    }
    // perf's cache of whoever runs the test has no say.
    ::setenv("HOME", directory_.c_str(), 1);
    write("p.cc",
          "#include <cstdlib>\n"
          "#include <cstring>\n"
          "namespace app {\n"
          "static __attribute__((noipa)) int inner(int x) { asm volatile(\"\"); return x * 3; }\n"
          "__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }\n"
          "}\n"
          "int main(int argc, char** argv) {\n"
          "  return app::outer(argc) + std::atoi(argv[0]) + (int)std::strlen(argv[0]);\n"
          "}\n");
    ASSERT_TRUE(run("g++ -O1 -g -fno-builtin -Wl,-z,lazy -Wl,--build-id=sha1 p.cc -o p"))
        << output_;
    inner_ = address_of("p", "_ZN3appL5innerEi");
    ASSERT_NE(inner_, 0U);
    const auto whole = ElfImage::open(path("p"), {}, options());
    ASSERT_TRUE(whole) << to_string(whole.error());
    id_ = (*whole)->build_id();
    ASSERT_EQ(id_.size(), 20U);
  }
  void TearDown() override {
    if (home_.empty()) {
      ::unsetenv("HOME");
    } else {
      ::setenv("HOME", home_.c_str(), 1);
    }
    BuiltProgramTest::TearDown();
  }
  // Debug files are looked for in the test's own directory only.
  [[nodiscard]] ElfImageOptions options() const {
    ElfImageOptions options;
    options.debug_directories = {path("debug")};
    return options;
  }
  Image open(const std::string& name) const { return ElfImage::open(path(name), {}, options()); }
  [[nodiscard]] std::string id_path() const {
    return "debug/.build-id/" + build_id_text(id_).insert(2, "/") + ".debug";
  }

  std::string home_ = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  uint64_t inner_ = 0;
  BuildIdBytes id_;
};

TEST_F(BuiltImageTest, WithItsOwnSymbols) {
  const auto image = open("p");
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  EXPECT_EQ(name_at(image, inner_ + 1), "app::inner");
  EXPECT_EQ(name_at(image, address_of("p", "main")), "main");
  EXPECT_EQ((*image)->symbol_file(), path("p"));
  EXPECT_FALSE((*image)->only_dynamic());
}

TEST_F(BuiltImageTest, StrippedItHasOnlyWhatItExports) {
  ASSERT_TRUE(run("g++ -O1 -rdynamic p.cc -o q && cp q whole && strip q")) << output_;
  const auto image = open("q");
  EXPECT_EQ(name_at(image, address_of("whole", "main")), "main");
  EXPECT_NE(name_at(image, address_of("whole", "_ZN3appL5innerEi")), "app::inner");
  EXPECT_TRUE((*image)->only_dynamic());
  EXPECT_TRUE((*image)->has_symbols());
  ASSERT_TRUE(run("strip p")) << output_;
  EXPECT_FALSE((*open("p"))->has_symbols());
}

TEST_F(BuiltImageTest, ADebugFileByBuildId) {
  ASSERT_TRUE(run("mkdir -p $(dirname " + id_path() + ") && objcopy --only-keep-debug p " +
                  id_path() + " && strip p"))
      << output_;
  const auto image = open("p");
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  EXPECT_EQ((*image)->symbol_file(), path(id_path()));
  EXPECT_FALSE((*image)->only_dynamic());
  // Lines come from there too.
  const auto frames = (*image)->source_frames(inner_);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "app::inner");
  EXPECT_THAT(frames[0].file, testing::EndsWith("p.cc"));
  EXPECT_EQ(frames[0].line, 4U);
}

TEST_F(BuiltImageTest, ADebugFileOfAnotherBuildIsNotTaken) {
  ASSERT_TRUE(run("mkdir -p $(dirname " + id_path() +
                  ") && g++ -O2 -g -Wl,--build-id=md5 p.cc -o other && objcopy --only-keep-debug "
                  "other " +
                  id_path() + " && strip p"))
      << output_;
  EXPECT_FALSE((*open("p"))->has_symbols());
}

TEST_F(BuiltImageTest, ADebugFileByItsLink) {
  ASSERT_TRUE(
      run("objcopy --only-keep-debug p p.dbg && strip p && objcopy "
          "--add-gnu-debuglink=p.dbg p"))
      << output_;
  for (const std::string& place :
       {path("p.dbg"), path(".debug/p.dbg"), path("debug") + directory_ + "/p.dbg"}) {
    std::filesystem::create_directories(std::filesystem::path(place).parent_path());
    if (place != path("p.dbg")) std::filesystem::rename(path("p.dbg"), place);
    const auto image = open("p");
    EXPECT_EQ(name_at(image, inner_), "app::inner") << place;
    EXPECT_EQ((*image)->symbol_file(), place);
    if (place != path("p.dbg")) std::filesystem::rename(place, path("p.dbg"));
  }
  std::ofstream(path("p.dbg"), std::ios::app) << 'x';  // another checksum
  EXPECT_FALSE((*open("p"))->has_symbols());
}

TEST_F(BuiltImageTest, ALinkWithoutABuildIdToo) {
  ASSERT_TRUE(
      run("g++ -O1 -g -Wl,--build-id=none p.cc -o n && cp n whole && objcopy "
          "--only-keep-debug n n.dbg && strip n && objcopy --add-gnu-debuglink=n.dbg n"))
      << output_;
  const auto image = open("n");
  EXPECT_EQ(name_at(image, address_of("whole", "_ZN3appL5innerEi")), "app::inner");
  EXPECT_TRUE((*image)->build_id().empty());
}

TEST_F(BuiltImageTest, ALinkThatIsAFifoDoesNotStopUs) {
  ASSERT_TRUE(
      run("objcopy --only-keep-debug p p.dbg && strip p && objcopy "
          "--add-gnu-debuglink=p.dbg p && rm p.dbg && mkfifo p.dbg"))
      << output_;
  EXPECT_FALSE((*open("p"))->has_symbols());
}

TEST_F(BuiltImageTest, ALinkToAFileThatIsAllHolesIsLeftAlone) {
  ASSERT_TRUE(
      run("objcopy --only-keep-debug p p.dbg && strip p && objcopy "
          "--add-gnu-debuglink=p.dbg p"))
      << output_;
  if (!run("truncate -s 8T p.dbg")) GTEST_SKIP() << "no file of 8 TiB can be made here";
  const auto image = open("p");  // its sum would take an hour
  EXPECT_FALSE((*image)->has_symbols());
  EXPECT_THAT((*image)->left_out(), testing::HasSubstr("p.dbg is 8.0 TiB large"));
}

TEST_F(BuiltImageTest, ALinkIsNotFollowedWhenTheTimeIsOver) {
  ASSERT_TRUE(
      run("objcopy --only-keep-debug p p.dbg && strip p && objcopy "
          "--add-gnu-debuglink=p.dbg p"))
      << output_;
  {
    const WorkLimit over{std::chrono::nanoseconds(0)};
    const auto image = open("p");
    EXPECT_FALSE((*image)->has_symbols());
    EXPECT_THAT((*image)->left_out(), testing::HasSubstr("no time"));
  }
  EXPECT_EQ(name_at(open("p"), inner_), "app::inner") << "its own time only";
}

TEST_F(BuiltImageTest, MiniDebugInfo) {
  if (!have("xz")) GTEST_SKIP() << "xz is not installed";
  ASSERT_TRUE(
      run("objcopy --only-keep-debug p small && strip --strip-debug small && xz small && "
          "cp p m && strip m && objcopy --add-section .gnu_debugdata=small.xz m"))
      << output_;
  const auto image = open("m");
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  EXPECT_FALSE((*image)->only_dynamic());
  EXPECT_EQ((*image)->symbol_file(), path("m"));
}

TEST_F(BuiltImageTest, MiniDebugInfoThatExpandsWithoutEndIsLeft) {
  if (!have("xz")) GTEST_SKIP() << "xz is not installed";
  ASSERT_TRUE(
      run("head -c 300000000 /dev/zero | xz -0 -T1 > bomb.xz && strip p && objcopy "
          "--add-section .gnu_debugdata=bomb.xz p"))
      << output_;
  EXPECT_FALSE((*open("p"))->has_symbols());
}

TEST_F(BuiltImageTest, AnotherBuildThanTheRecordingsIsRefused) {
  const auto right = ElfImage::open(path("p"), id_, options());
  EXPECT_EQ(name_at(right, inner_), "app::inner");
  // perf fills short ones up to 20 bytes.
  ASSERT_TRUE(run("g++ -O1 -g -Wl,--build-id=md5 p.cc -o md5")) << output_;
  BuildIdBytes padded = (*open("md5"))->build_id();
  ASSERT_EQ(padded.size(), 16U);
  padded.resize(20);
  EXPECT_TRUE(ElfImage::open(path("md5"), padded, options()));

  BuildIdBytes changed = id_;
  changed[3] ^= std::byte{1};
  const auto refused = ElfImage::open(path("p"), changed, options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::damaged);
  EXPECT_THAT(refused.error().what, HasSubstr(build_id_text(id_)));
  EXPECT_THAT(refused.error().what, HasSubstr(build_id_text(changed)));
  EXPECT_FALSE(refused.error().hint.empty());

  ASSERT_TRUE(run("g++ -O1 -Wl,--build-id=none p.cc -o none")) << output_;
  const auto without = ElfImage::open(path("none"), id_, options());
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().what, HasSubstr("no build-id"));
}

TEST_F(BuiltImageTest, TheFileThatRanIsFoundByItsBuildId) {
  // perf's cache, as it is now and as it was.
  const std::string place = ".debug/.build-id/" + build_id_text(id_).insert(2, "/");
  ASSERT_TRUE(run("mkdir -p " + place + " && mv p " + place + "/elf && g++ -O2 p.cc -o p"))
      << output_;
  auto image = ElfImage::open(path("p"), id_, options());
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  EXPECT_EQ((*image)->symbol_file(), path(place) + "/elf");
  EXPECT_FALSE((*image)->source_frames(inner_).empty());
  // Not even a file of that name is needed.
  EXPECT_EQ(name_at(ElfImage::open(path("gone"), id_, options()), inner_), "app::inner");
  ASSERT_TRUE(run("mv " + place + "/elf x && rmdir " + place + " && mv x " + place)) << output_;
  EXPECT_EQ(name_at(ElfImage::open(path("p"), id_, options()), inner_), "app::inner");
}

TEST_F(BuiltImageTest, ADebugFileAloneServesIfItTellsWhereCodeIs) {
  // objcopy forgets where in the program the code lay: its offsets would name the wrong functions.
  const auto offset_of_inner = [&](const Image& image) -> std::optional<uint64_t> {
    for (uint64_t i = 0; i < 0x10000; ++i) {
      if ((*image)->address_of_offset(i) == inner_) return i;
    }
    return std::nullopt;
  };
  const auto offset = offset_of_inner(open("p"));
  ASSERT_TRUE(offset);
  ASSERT_TRUE(
      run("mkdir -p $(dirname " + id_path() + ") && objcopy --only-keep-debug p " + id_path()))
      << output_;
  const auto refused = ElfImage::open(path("gone"), id_, options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_found);
  if (!have("eu-strip")) GTEST_SKIP() << "eu-strip is not installed";
  ASSERT_TRUE(run("eu-strip -f " + id_path() + " -o stripped p")) << output_;
  const auto image = ElfImage::open(path("gone"), id_, options());
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  EXPECT_EQ(offset_of_inner(image), offset);
}

TEST_F(BuiltImageTest, InsideAnotherRoot) {
  ASSERT_TRUE(
      run("mkdir -p root/usr/lib root/debug && mv p root/usr/lib/ && ln -s /usr/lib "
          "root/lib && ln -s /usr/lib/p root/absolute"))
      << output_;
  ElfImageOptions in_root = options();
  in_root.root = path("root");
  EXPECT_EQ(name_at(ElfImage::open("/lib/p", {}, in_root), inner_), "app::inner");
  EXPECT_EQ(name_at(ElfImage::open("/absolute", {}, in_root), inner_), "app::inner");
  EXPECT_EQ(name_at(ElfImage::open("/../../../usr/lib/p", {}, in_root), inner_), "app::inner");
  const auto outside = ElfImage::open(path("root/usr/lib/p"), {}, in_root);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, ErrorKind::not_found);
}

TEST_F(BuiltImageTest, CompressedDebugSections) {
  ASSERT_TRUE(run("objcopy --compress-debug-sections=zlib p z")) << output_;
  const auto image = open("z");
  EXPECT_EQ(name_at(image, inner_), "app::inner");
  const auto frames = (*image)->source_frames(inner_);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].line, 4U);
}

TEST_F(BuiltImageTest, EveryCutOfAFileIsSurvived) {
  const std::string whole = read("p");
  size_t opened = 0;
  for (size_t length = 0; length < whole.size(); length += 1 + whole.size() / 300) {
    write("cut", whole.substr(0, length));
    const auto image = open("cut");
    if (!image) continue;
    ++opened;
    (void)name_at(image, inner_);
    (void)(*image)->source_frames(inner_);
  }
  EXPECT_GT(opened, 100U);
}

TEST_F(BuiltImageTest, StubsAreNamedForWhatTheyCall) {
  for (const char* const flags : {"-Wl,-z,lazy", "-Wl,-z,now -fno-plt -fplt", "-no-pie -Wl,-z,lazy",
                                  "-fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy"}) {
    ASSERT_TRUE(run(std::string("g++ -O1 -fno-builtin ") + flags + " p.cc -o s")) << output_;
    // Where objdump sees the stub.
    ASSERT_TRUE(run("objdump -d s | sed -n 's/^\\([0-9a-f]*\\) <strlen@plt>:.*/\\1/p'"));
    const uint64_t stub = std::strtoull(output_.c_str(), nullptr, 16);
    ASSERT_NE(stub, 0U) << flags;
    const auto image = open("s");
    EXPECT_EQ(name_at(image, stub), "strlen@plt") << flags;
    EXPECT_EQ(name_at(image, stub + 5), "strlen@plt") << flags;
    EXPECT_EQ((*image)->symbol_at(stub)->start, stub);
    ASSERT_TRUE(run("strip s")) << output_;
    EXPECT_EQ(name_at(open("s"), stub), "strlen@plt") << flags;
  }
}

TEST_F(BuiltImageTest, ObjectFilesByOffset) {
  ASSERT_TRUE(
      run("g++ -O1 -c p.cc -o p.o && readelf -SW p.o | awk '$2 == \".text\" || $3 == "
          "\".text\" {print $(NF-5)}' && readelf -SW p.o"))
      << output_;
  const auto image = open("p.o");
  ASSERT_TRUE(image);
  // .text follows the ELF header.
  const auto address = (*image)->address_of_offset(0x40);
  ASSERT_TRUE(address);
  EXPECT_EQ(name_at(image, *address), "app::inner");
}

TEST_F(BuiltImageTest, ThirtyTwoBitsToo) {
  write("s.s", ".text\n.globl f\n.type f,@function\nf: nop\n nop\n ret\n.size f, .-f\n");
  if (!run("as --32 s.s -o s.o && ld -m elf_i386 -Ttext=0x8049000 -e f s.o -o s32")) {
    GTEST_SKIP() << "no 32-bit assembler and linker: " << output_;
  }
  const auto image = open("s32");
  EXPECT_EQ(name_at(image, 0x8049000), "f");
  EXPECT_EQ(name_at(image, 0x8049002), "f");
  EXPECT_EQ(name_at(image, 0x8049003), "");
}

}  // namespace
}  // namespace jitscope
