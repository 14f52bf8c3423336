// Maps that belong to a PE image and maps that do not, by all that both say and by where functions
// begin.
#include "naming/map_fit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/r2r_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kTextRva = 0x11000;
constexpr uint32_t kTextOffset = 0x1000;
constexpr uint32_t kFunctions = 40;
constexpr uint32_t kEach = 0x20;

const std::string kBytes = test::bytes_of({0x21, 0x4d, 0x6d, 0x02, 0xee, 0xb3, 0x93, 0x3d, 0x84,
                                           0x3f, 0xf7, 0xa9, 0x64, 0x23, 0x58, 0x22});

class MapFitTest : public test::ScratchFolderTest {
 protected:
  // Functions with bounds alone: their code lies 0x10000 lower in the file.
  static test::PeBuilder image(uint32_t text_rva = kTextRva) {
    test::PeBuilder pe;
    pe.sections = {{".text", text_rva, std::string(0x800, '\x90'), 0, kTextOffset}};
    test::LittleBytes functions;
    for (uint32_t i = 0; i < kFunctions; ++i) {
      functions.u32(text_rva + i * kEach).u32(text_rva + i * kEach + kEach).u32(text_rva + 0x700);
    }
    pe.sections.push_back({".pdata", 0x20000, functions.bytes(), 0, 0x3000, 0x40000040});
    pe.directories[3] = {0x20000, 12 * kFunctions};
    return pe;
  }
  // Methods Main and Other of .NET, with the identity that the debug entries tell.
  static test::R2rBuilder ready_to_run() {
    test::EcmaBuilder metadata;
    metadata.module("App.dll");
    metadata.assembly("App");
    metadata.type_def("", "<Module>");
    metadata.type_def("App", "Program");
    metadata.method("Main", test::bytes_of({0, 0, 0x01}));
    metadata.method("Other", test::bytes_of({0, 0, 0x01}));
    test::R2rBuilder out;
    out.metadata = metadata.build();
    out.functions = {{0x10000, 0x10010}, {0x10010, 0x10020}};
    out.entries = {{1, 0}, {2, 1}};
    return out;
  }
  static std::string lines(uint32_t first, uint32_t from = 0, uint32_t to = kFunctions) {
    std::string out;
    for (uint32_t i = from; i < to; ++i) out += fmt::format("{:x} 20 f{}\n", first + i * kEach, i);
    return out;
  }
  std::unique_ptr<PeFile> open(const std::string& bytes) {
    auto file = open_regular_file(write("a.dll", bytes));
    EXPECT_TRUE(file);
    auto opened = PeFile::open(std::make_shared<const OpenedFile>(std::move(*file)),
                               {0, bytes.size()}, "a.dll");
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  std::unique_ptr<OfflineMap> map(const std::string& text,
                                  std::optional<OfflineMapBase> base = std::nullopt,
                                  const std::string& name = "a.map") {
    Diagnostics diagnostics;
    auto source = open_byte_source(write(name, text));
    EXPECT_TRUE(source);
    auto read = OfflineMap::read(std::move(*source), base, diagnostics);
    EXPECT_TRUE(read) << to_string(read.error());
    return std::move(*read);
  }
  MapFit fit(const std::string& text, const std::string& bytes,
             std::optional<OfflineMapBase> base = std::nullopt, const std::string& name = "a.map") {
    const auto opened = open(bytes);
    return fit_to_image(*map(text, base, name), *opened);
  }
  void used(const MapFit& found, OfflineMapBase base) {
    EXPECT_EQ(found.why, NoName::none) << found.text;
    EXPECT_EQ(found.base, base);
    EXPECT_EQ(found.text, "");
  }
};

TEST_F(MapFitTest, FunctionsTellABaseThatNobodySaid) {
  const std::string bytes = image().build();
  used(fit(lines(kTextRva), bytes), OfflineMapBase::rva);
  used(fit(lines(kTextOffset), bytes), OfflineMapBase::file);
  // 95 and 5 of a hundred.
  used(fit(lines(kTextRva, 0, 38) + "12345 1 x\n12349 1 y\n", bytes), OfflineMapBase::rva);
  used(fit(lines(kTextRva, 0, 38) + lines(kTextOffset, 0, 2), bytes), OfflineMapBase::rva);
  used(fit("", bytes), OfflineMapBase::file);
}

TEST_F(MapFitTest, ABaseThatFunctionsDoNotTell) {
  const std::string bytes = image().build();
  for (const auto& [text, rva, file] :
       {std::tuple{lines(kTextRva + 4), "0.0", "0.0"},
        std::tuple{lines(kTextRva, 0, 37) + "12345 1 x\n12349 1 y\n1234d 1 z\n", "92.5", "0.0"},
        std::tuple{lines(kTextRva, 0, 37) + lines(kTextOffset, 0, 3), "92.5", "7.5"},
        std::tuple{lines(kTextRva, 0, 20) + lines(kTextOffset, 0, 20), "50.0", "50.0"}}) {
    const MapFit found = fit(text, bytes);
    EXPECT_EQ(found.why, NoName::map_base_not_known);
    EXPECT_THAT(found.text, HasSubstr(fmt::format("of its 40 lines {} % begin where functions do "
                                                  "as RVAs, {} % as file offsets",
                                                  rva, file)));
  }
  test::PeBuilder silent = image();
  silent.directories[3] = {};
  EXPECT_EQ(fit(lines(kTextRva), silent.build()).why, NoName::map_base_not_known);
}

TEST_F(MapFitTest, BothBasesOfAnImageThatIsMappedAsItLies) {
  used(fit(lines(kTextOffset), image(kTextOffset).build()), OfflineMapBase::rva);
}

TEST_F(MapFitTest, SymbolsAndExportsAreFunctionsToo) {
  test::PeBuilder pe = image();
  pe.directories[3] = {};
  for (uint32_t i = 0; i < kFunctions; ++i) pe.add_symbol({"symbol", i * kEach});
  used(fit(lines(kTextRva), pe.build()), OfflineMapBase::rva);
}

TEST_F(MapFitTest, ABaseThatIsNotTheOneThatWasSaid) {
  const std::string bytes = image().build();
  for (const auto& [first, said, word] : {std::tuple{kTextRva, OfflineMapBase::file, "file"},
                                          std::tuple{kTextOffset, OfflineMapBase::rva, "rva"}}) {
    const MapFit found = fit(lines(first), bytes, said);
    EXPECT_EQ(found.why, NoName::map_base_is_wrong);
    EXPECT_THAT(found.text, HasSubstr(fmt::format("its base is not {}: of its 40 lines", word)));
    EXPECT_EQ(fit(fmt::format("# base: {}\n", word) + lines(first), bytes).why,
              NoName::map_base_is_wrong);
  }
  // Functions that lie close to each other hit by chance.
  const std::string dense = lines(kTextRva) + lines(kTextOffset, 0, 2);
  EXPECT_EQ(fit(dense, bytes, OfflineMapBase::file).why, NoName::map_base_is_wrong);
  used(fit(dense, bytes, OfflineMapBase::rva), OfflineMapBase::rva);
  used(fit(lines(kTextRva), bytes, OfflineMapBase::rva), OfflineMapBase::rva);
  used(fit(lines(kTextOffset), bytes, OfflineMapBase::file), OfflineMapBase::file);
  // Addresses of a process, and lines of which no function tells: as they were said to be.
  used(fit(lines(kTextRva), bytes, OfflineMapBase::absolute), OfflineMapBase::absolute);
  used(fit(lines(kTextRva + 4), bytes, OfflineMapBase::rva), OfflineMapBase::rva);
}

TEST_F(MapFitTest, WhoseMapItIs) {
  test::PeBuilder pe = image();
  pe.time_stamp = 0x5f3c0d12;
  const std::string bytes = pe.build();
  const std::string text = lines(kTextRva);
  used(fit("# time-stamp: 0x5f3c0d12\n" + text, bytes), OfflineMapBase::rva);
  used(fit(fmt::format("# size: {}\n", bytes.size()) + text, bytes), OfflineMapBase::rva);
  for (const char* line : {"# time-stamp: 7\n", "# size: 7\n"}) {
    EXPECT_EQ(fit(line + text, bytes).why, NoName::map_of_other_file) << line;
  }
  const auto opened = open(bytes);
  used(fit_to_image(*map("# build-id: aabb\n" + text), *opened, "aabb"), OfflineMapBase::rva);
  EXPECT_EQ(fit_to_image(*map("# build-id: aabb\n" + text), *opened, "aacc").why,
            NoName::map_of_other_file);
}

TEST_F(MapFitTest, GuidsOfNetImages) {
  test::R2rBuilder image = ready_to_run();
  image.debug = {{2, test::R2rBuilder::code_view(kBytes)}};
  const std::string bytes = image.build();
  const std::string text = "10000 10 Main\n10010 10 Other\n";
  for (const char* mine :
       {"33323130-3534-3736-3839-616263646566", "026d4d21-b3ee-3d93-843f-f7a964235822"}) {
    used(fit(fmt::format("# guid: {}\n", mine) + text, bytes), OfflineMapBase::rva);
    used(fit(text, bytes, {}, fmt::format("App.ni.{{{}}}.map", mine)), OfflineMapBase::rva);
  }
  used(fit("# build-id: 026d4d21b3ee3d93843ff7a964235822\n" + text, bytes), OfflineMapBase::rva);
  const char* foreign = "126D4D21-B3EE-3D93-843F-F7A964235822";
  EXPECT_EQ(fit(fmt::format("# guid: {}\n", foreign) + text, bytes).why, NoName::map_of_other_file);
  const MapFit by_name = fit(text, bytes, {}, fmt::format("App.ni.{{{}}}.map", foreign));
  EXPECT_EQ(by_name.why, NoName::map_of_other_file);
  EXPECT_THAT(by_name.text, HasSubstr("made for guid 126d4d21b3ee3d93843ff7a964235822, the image "
                                      "has 33323130353437363839616263646566, 026d4d21"));
}

TEST_F(MapFitTest, HeadersOfCrossgen2) {
  test::R2rBuilder image = ready_to_run();
  image.debug = {{21, test::R2rBuilder::perf_map_entry(kBytes)}};
  const std::string bytes = image.build();
  const std::string mine = "214D6D02EEB3933D843FF7A964235822";
  const auto header = [&](std::string_view signature, int system, int architecture, int abi = 1) {
    return fmt::format(
        "FFFFFFFF 00 {}\nFFFFFFFE 00 1\nFFFFFFFD 00 {}\nFFFFFFFC 00 {}\nFFFFFFFB 00 {}\n"
        "00010000 10 Main\n00010010 10 Other\n",
        signature, system, architecture, abi);
  };
  used(fit(header(mine, 2, 3), bytes), OfflineMapBase::rva);
  used(fit(header(mine, 0, 0, 0), bytes), OfflineMapBase::rva);
  for (const auto& [text, says] :
       {std::pair{header("026D4D21B3EE3D93843FF7A964235822", 2, 3),
                  "made for signature 026d4d21b3ee3d93843ff7a964235822, the image has 214d6d02"},
        std::pair{header(mine, 1, 3), "made for Windows, the image is for Linux"},
        std::pair{header(mine, 2, 2), "made for ARM64, the image is for X64"},
        std::pair{header(mine, 2, 3, 2), "made for the ABI Armel, the image is for Default"}}) {
    const MapFit found = fit(text, bytes);
    EXPECT_EQ(found.why, NoName::map_of_other_file);
    EXPECT_THAT(found.text, HasSubstr(says));
  }
}

// Nothing to compare the signature with: the functions tell.
TEST_F(MapFitTest, ASignatureThatTheImageDoesNotHave) {
  const std::string bytes = ready_to_run().build();
  const std::string header = "FFFFFFFF 00 214D6D02EEB3933D843FF7A964235822\nFFFFFFFE 00 1\n";
  used(fit(header + "10000 10 Main\n10010 10 Other\n", bytes), OfflineMapBase::rva);
  const MapFit found = fit(header + "11000 10 Foreign\n11020 10 Another\n", bytes);
  EXPECT_EQ(found.why, NoName::map_of_other_file);
  EXPECT_THAT(found.text, HasSubstr("the image has none, and of its 2 lines 0.0 %"));
}

TEST_F(MapFitTest, ImagesThatAreCut) {
  const std::string whole = image().build();
  for (const size_t size : {size_t{0x400}, size_t{0x1100}, whole.size() - 6}) {
    const MapFit found = fit(lines(kTextRva), whole.substr(0, size));
    EXPECT_TRUE(found.why == NoName::none || found.why == NoName::map_base_not_known);
  }
}

TEST_F(MapFitTest, OtherFiles) {
  const auto text = map("# build-id: aa\n# size: 16\n0 10 f\n");
  EXPECT_EQ(fit_to_file(*text, {}).why, NoName::none);
  EXPECT_EQ(fit_to_file(*text, {.build_id = "aa", .size = 16}).why, NoName::none);
  EXPECT_EQ(fit_to_file(*text, {.build_id = "ab", .size = 16}).why, NoName::map_of_other_file);
  EXPECT_EQ(fit_to_file(*text, {.size = 17}).why, NoName::map_of_other_file);
}

}  // namespace
}  // namespace jitscope
