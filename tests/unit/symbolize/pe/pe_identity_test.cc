#include "symbolize/pe/pe_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/r2r_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using test::R2rBuilder;

// As in the file: the first three fields of a GUID are little-endian there.
const std::string kBytes = test::bytes_of({0x21, 0x4d, 0x6d, 0x02, 0xee, 0xb3, 0x93, 0x3d, 0x84,
                                           0x3f, 0xf7, 0xa9, 0x64, 0x23, 0x58, 0x22});
constexpr const char* kSpelled = "026d4d21b3ee3d93843ff7a964235822";
constexpr const char* kInOrder = "214d6d02eeb3933d843ff7a964235822";
constexpr const char* kMvid = "33323130353437363839616263646566";  // EcmaBuilder's

class PeIdentityTest : public test::ScratchFolderTest {
 protected:
  PeIdentity of(const std::string& bytes) {
    auto file = open_regular_file(write("file", bytes));
    EXPECT_TRUE(file);
    auto opened = PeFile::open(std::make_shared<const OpenedFile>(std::move(*file)),
                               {0, bytes.size()}, "a.dll");
    EXPECT_TRUE(opened);
    return opened ? PeIdentity::of(**opened) : PeIdentity();
  }
};

R2rBuilder ready_to_run() {
  test::EcmaBuilder metadata;
  metadata.module("App.dll");
  metadata.assembly("App");
  metadata.type_def("", "<Module>");
  metadata.type_def("App", "Program");
  metadata.method("Main", test::bytes_of({0, 0, 0x01}));
  R2rBuilder out;
  out.metadata = metadata.build();
  out.functions = {{0x10000, 0x10010}};
  out.entries = {{1, 0}};
  return out;
}

TEST_F(PeIdentityTest, OfAReadyToRunImage) {
  R2rBuilder image = ready_to_run();
  image.debug = {{21, R2rBuilder::perf_map_entry(kBytes)}, {2, R2rBuilder::code_view(kBytes)}};
  const PeIdentity found = of(image.build());
  EXPECT_EQ(found.guids, (std::vector<std::string>{kMvid, kSpelled}));
  EXPECT_EQ(found.code_view, kSpelled);
  EXPECT_EQ(found.perf_map_signature, kInOrder);  // the map spells it byte by byte
}

TEST_F(PeIdentityTest, OfAnAssemblyOfIlAlone) {
  R2rBuilder image = ready_to_run();
  image.native_header = false;
  image.machine = 0x14c;
  const PeIdentity found = of(image.build());
  EXPECT_EQ(found.guids, std::vector<std::string>{kMvid});
  EXPECT_EQ(found.perf_map_signature, std::nullopt);
}

TEST_F(PeIdentityTest, OfAnImageThatSaysNothing) {
  test::PeBuilder plain;
  plain.sections = {{".text", 0x1000, std::string(0x200, '\x90')}};
  const PeIdentity found = of(plain.build());
  EXPECT_TRUE(found.guids.empty());
  EXPECT_EQ(found.code_view, std::nullopt);
}

// Cut anywhere, with whatever is damaged by it.
TEST_F(PeIdentityTest, OfADamagedImage) {
  R2rBuilder image = ready_to_run();
  image.debug = {{2, R2rBuilder::code_view(kBytes)}, {21, R2rBuilder::perf_map_entry(kBytes)}};
  const std::string whole = image.build();
  for (size_t size = 0x400; size < whole.size(); size += 7) {
    const PeIdentity found = of(whole.substr(0, size));
    for (const std::string& guid : found.guids) {
      EXPECT_TRUE(guid == kMvid || guid == kSpelled) << guid;
    }
  }
}

}  // namespace
}  // namespace jitscope
