// Split debug files of PE images, built here: found where they may lie, believed by their checksum.
#include "symbolize/pe/pe_debug_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/pe_builder.h"
#include "support/scratch_folder.h"
#include "symbolize/debug_files.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

// What objcopy --only-keep-debug leaves: the sections without their bytes, and the symbols.
test::PeBuilder debug_image() {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, "", 0x200}};
  pe.add_symbol({"first", 0x10});
  pe.add_symbol({"second", 0x40});
  return pe;
}

uint32_t checksum(const std::string& bytes) {
  return debug_link_checksum(std::as_bytes(std::span(bytes))).value_or(0);
}

std::string stripped_image(const std::string& name, uint32_t crc) {
  test::PeBuilder pe;
  test::LittleBytes link;
  link.text(name).zeros(4 - (name.size() % 4)).u32(crc);
  pe.sections = {{".text", 0x1000, std::string(0x200, '\x90')},
                 {"/4", 0x2000, link.bytes(), 0, 0, 0x42000040}};
  pe.strings = std::string(".gnu_debuglink\0", 15);
  return pe.build();
}

class PeDebugFileTest : public test::ScratchFolderTest {
 protected:
  void SetUp() override {
    ScratchFolderTest::SetUp();
    debug_ = debug_image().build();
    image_ = write("a.exe", stripped_image("a.debug", checksum(debug_)));
  }

  [[nodiscard]] std::unique_ptr<PeFile> open(const ElfImageOptions& options = {}) const {
    auto file = open_regular_file(image_);
    EXPECT_TRUE(file);
    const auto size = static_cast<uint64_t>(file->status.st_size);
    auto opened = PeFile::open(std::make_shared<const OpenedFile>(std::move(*file)), {0, size},
                               "a.exe", {image_, options});
    EXPECT_TRUE(opened);
    return opened ? std::move(*opened) : nullptr;
  }
  [[nodiscard]] std::string name_of(uint32_t rva, const ElfImageOptions& options = {}) const {
    const auto name = open(options)->at(rva);
    return name ? name->raw : "";
  }
  [[nodiscard]] std::string folder() const { return fs::path(image_).parent_path().string(); }

  std::string debug_;
  std::string image_;
};

TEST_F(PeDebugFileTest, BesideTheImage) {
  EXPECT_EQ(name_of(0x1044), "");
  EXPECT_NE(open()->advice().find("put its debug file a.debug beside it"), std::string::npos);
  write("a.debug", debug_);
  EXPECT_EQ(name_of(0x1044), "second");
  EXPECT_EQ(name_of(0x1010), "first");
  const auto file = open();
  EXPECT_EQ(file->describe(), "COFF symbols, with its debug file " + folder() + "/a.debug");
  EXPECT_EQ(file->advice(), "");
}

TEST_F(PeDebugFileTest, InDebugBesideIt) {
  fs::create_directory(folder() + "/.debug");
  write(".debug/a.debug", debug_);
  EXPECT_EQ(name_of(0x1044), "second");
}

TEST_F(PeDebugFileTest, UnderADebugDirectory) {
  ElfImageOptions options;
  options.debug_directories = {folder() + "/debug"};
  fs::create_directories(folder() + "/debug" + folder());
  write("debug" + folder() + "/a.debug", debug_);
  EXPECT_EQ(name_of(0x1044, options), "second");
  EXPECT_EQ(name_of(0x1044), "");
}

TEST_F(PeDebugFileTest, AnotherFileOfItsNameIsNotBelieved) {
  write("a.debug", debug_ + "x");
  const auto file = open();
  EXPECT_FALSE(file->at(0x1044));
  EXPECT_NE(file->advice().find("another checksum"), std::string::npos) << file->advice();
}

TEST_F(PeDebugFileTest, WhatDescribesOtherCodeIsNotBelieved) {
  test::PeBuilder moved = debug_image();
  moved.sections[0].rva = 0x3000;
  debug_ = moved.build();
  image_ = write("a.exe", stripped_image("a.debug", checksum(debug_)));
  write("a.debug", debug_);
  const auto file = open();
  EXPECT_FALSE(file->at(0x1044));
  EXPECT_NE(file->advice().find("its code lies elsewhere"), std::string::npos) << file->advice();
  const std::string text = "no image at all";
  image_ = write("a.exe", stripped_image("a.debug", checksum(text)));
  write("a.debug", text);
  EXPECT_NE(open()->advice().find("no PE image"), std::string::npos);
}

TEST_F(PeDebugFileTest, OnlyRegularFilesInDirectoriesThatWeChoose) {
  ASSERT_EQ(::mkfifo((folder() + "/a.debug").c_str(), 0600), 0);
  EXPECT_EQ(name_of(0x1044), "");
  fs::create_directory(folder() + "/sub");
  write("sub/b.debug", debug_);
  image_ = write("a.exe", stripped_image("sub/b.debug", checksum(debug_)));
  EXPECT_EQ(name_of(0x1044), "");
}

}  // namespace
}  // namespace jitscope
