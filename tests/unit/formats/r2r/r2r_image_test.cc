#include "formats/r2r/r2r_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/r2r_builder.h"

namespace jitscope {
namespace {

using test::bytes_of;
using test::EcmaBuilder;
using test::R2rBuilder;

Result<R2rImage> read(const std::string& bytes) {
  auto kept = std::make_shared<const std::string>(bytes);
  auto image = PeImage::parse(std::as_bytes(std::span(*kept)));
  if (!image) return fail(image.error());
  return R2rImage::read(std::move(*image), kept);
}

// Types: 2 App.Program (methods 1, 2), 3 App.Box`1 (method 3), 4 App.Box`1+Lid (method 4),
// 5 App.Empty.
EcmaBuilder metadata(const std::string& assembly = "App") {
  EcmaBuilder out;
  out.module(assembly + ".dll");
  out.assembly(assembly);
  out.assembly_ref("System.Runtime");
  out.type_ref(EcmaBuilder::in_assembly(1), "System.Collections.Generic", "List`1");
  out.type_def("", "<Module>");
  out.type_def("App", "Program");
  out.method("Main", bytes_of({0, 1, 0x08, 0x1d, 0x0e}));
  out.method("Swap", bytes_of({0x10, 1, 2, 0x01, 0x10, 0x1e, 0, 0x10, 0x1e, 0}));
  const uint32_t box = out.type_def("App", "Box`1");
  out.method("Add", bytes_of({0x20, 1, 0x01, 0x13, 0}));
  const uint32_t lid = out.type_def("", "Lid");
  out.method(".cctor", bytes_of({0, 0, 0x01}));
  out.nested(lid, box);
  out.type_parameter(box, 0, "T");
  out.type_def("App", "Empty");
  out.member_ref(EcmaBuilder::parent_ref(1), "Add", bytes_of({0x20, 1, 0x01, 0x13, 0}));
  out.type_spec(bytes_of({0x15, 0x12, 0x05, 1, 0x0e}));
  out.member_ref(EcmaBuilder::parent_spec(1), "Clear", bytes_of({0x20, 0, 0x01}));
  return out;
}

// Seven functions: Main with two funclets, Swap<__Canon>, Box<__Canon>.Add with one, List<int>.Add.
R2rBuilder sample() {
  R2rBuilder out;
  out.metadata = metadata().build();
  out.functions = {{0x1000, 0x1010}, {0x1010, 0x1020}, {0x1020, 0x102c}, {0x1030, 0x1040},
                   {0x1040, 0x1080}, {0x1080, 0x10a0}, {0x10b0, 0x10c0}};
  out.entries = {{1, 0}};
  out.instances = {
      {bytes_of({0x04, 2, 1, 0x3e}), 3},
      {bytes_of({0x40, 0x15, 0x12, 0x0c, 1, 0x3e, 3}), 4},
      {bytes_of({0x50, 0x15, 0x12, 0x05, 1, 0x08, 1}), 6},
  };
  return out;
}

std::string full(const R2rImage& image, size_t index, const EcmaAssemblies* others = nullptr) {
  const auto name = image.name(index, others);
  return name ? name->full : to_string(name.error());
}
std::string display(const R2rImage& image, size_t index) {
  const auto name = image.name(index);
  return name ? name->display() : to_string(name.error());
}

TEST(R2rImage, MethodsAndNames) {
  for (const bool fixups : {false, true}) {
    R2rBuilder builder = sample();
    builder.fixups = fixups;
    const auto image = read(builder.build());
    ASSERT_TRUE(image) << to_string(image.error());
    EXPECT_EQ(image->kind(), R2rKind::ready_to_run);
    EXPECT_EQ(image->runtime_functions(), 7U);
    EXPECT_EQ(image->method_entries(), 1U);
    EXPECT_EQ(image->instance_entries(), 3U);
    EXPECT_EQ(image->unknown_entries(), 0U);
    EXPECT_EQ(image->metadata()->assembly_name(), "App");
    const std::vector<R2rMethod> wanted = {{0x1000, 0x102c, 0, false},
                                           {0x1030, 0x1040, 3, false},
                                           {0x1040, 0x10a0, 4, false},
                                           {0x10b0, 0x10c0, 6, false}};
    ASSERT_TRUE(std::ranges::equal(image->methods(), wanted));
    EXPECT_EQ(image->method_at(0xfff), std::nullopt);
    EXPECT_EQ(image->method_at(0x1000), 0U);
    EXPECT_EQ(image->method_at(0x102b), 0U);
    EXPECT_EQ(image->method_at(0x102c), std::nullopt);
    EXPECT_EQ(image->method_at(0x109f), 2U);
    EXPECT_EQ(image->method_at(0x10c0), std::nullopt);
    EXPECT_EQ(full(*image, 0), "int32 [App] App.Program::Main(string[])");
    EXPECT_EQ(full(*image, 1), "void [App] App.Program::Swap(!!0&,!!0&)");
    EXPECT_EQ(full(*image, 2), "instance void [App] App.Box`1[System.__Canon]::Add(!0)");
    EXPECT_EQ(full(*image, 3),
              "instance void [System.Runtime] System.Collections.Generic.List`1[System.Int32]"
              "::Add(!0)");
    EXPECT_EQ(display(*image, 0), "App.Program.Main(string[])");
    EXPECT_EQ(display(*image, 1), "App.Program.Swap<System.__Canon>(!!0&,!!0&)");
    EXPECT_EQ(display(*image, 2), "App.Box<System.__Canon>.Add(!0)");
    EXPECT_EQ(display(*image, 3), "System.Collections.Generic.List<System.Int32>.Add(!0)");
    EXPECT_FALSE(image->name(4));
  }
}

TEST(R2rImage, MoreNames) {
  R2rBuilder builder = sample();
  builder.entries = {{1, 0}, {3, 3}, {4, 4}};
  builder.instances = {{bytes_of({0x10, 2}), 5}, {bytes_of({0x24, 2, 1, 0x08, 0x12, 0x08}), 6}};
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(full(*image, 1), "instance void [App] App.Box`1[T]::Add(!0)") << "no instance of it";
  EXPECT_EQ(full(*image, 2), "void [App] App.Box`1+Lid::.cctor()");
  EXPECT_EQ(full(*image, 3),
            "instance void [System.Runtime] System.Collections.Generic.List`1[System.String]"
            "::Clear()")
      << "of a TypeSpec";
  EXPECT_EQ(display(*image, 4), "App.Program.Swap<System.Int32>(!!0&,!!0&)") << "constrained";
}

TEST(R2rImage, ColdCodeBelongsToItsHotMethod) {
  R2rBuilder builder = sample();
  builder.instances.clear();
  builder.entries = {{1, 0}, {2, 2}};
  // Row 3 is a funclet of Swap; 4 and 5 are Swap's cold code, 6 is Main's.
  builder.hot_cold = {{4, 2}, {6, 0}};
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  const std::vector<R2rMethod> wanted = {{0x1000, 0x1020, 0, false},
                                         {0x1020, 0x1040, 2, false},
                                         {0x1040, 0x10a0, 2, true},
                                         {0x10b0, 0x10c0, 0, true}};
  ASSERT_TRUE(std::ranges::equal(image->methods(), wanted));
  EXPECT_EQ(full(*image, 2), full(*image, 1));
  EXPECT_EQ(full(*image, 3), full(*image, 0));

  builder.hot_cold = {{4, 3}, {6, 0}};  // of a function that nothing names
  const auto unnamed = read(builder.build());
  ASSERT_TRUE(unnamed);
  EXPECT_EQ(unnamed->methods().size(), 3U);
  EXPECT_EQ(unnamed->method_at(0x1050), std::nullopt);
  builder.hot_cold = {{6, 0}, {4, 2}};
  EXPECT_FALSE(read(builder.build())) << "not in order";
}

TEST(R2rImage, EntriesOfLaterFormatsAreLeftOutAndNothingIsGuessed) {
  R2rBuilder builder = sample();
  builder.instances.emplace_back(bytes_of({0x81, 0x00, 1}), 5);  // flag 0x100
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(image->unknown_entries(), 1U);
  // An unnamed function may be the one that the entry names, so none is taken for a funclet.
  EXPECT_EQ(image->method_at(0x100f), 0U);
  EXPECT_EQ(image->method_at(0x1010), std::nullopt);
  EXPECT_EQ(image->method_at(0x1080), std::nullopt);
}

TEST(R2rImage, FunctionsOfTwoNamesKeepTheFirst) {
  R2rBuilder builder = sample();
  builder.instances.emplace_back(bytes_of({0x04, 2, 1, 0x08}), 0);
  const auto image = read(builder.build());
  ASSERT_TRUE(image);
  EXPECT_EQ(image->instance_entries(), 4U);
  EXPECT_EQ(image->methods().size(), 4U);
  EXPECT_EQ(display(*image, 0), "App.Program.Main(string[])");
}

TEST(R2rImage, TypesOfOtherModules) {
  struct Others final : EcmaAssemblies {
    [[nodiscard]] const EcmaMetadata* assembly(std::string_view name) const override {
      return name == wanted ? &metadata : nullptr;
    }
    std::string wanted;
    EcmaMetadata metadata;
  };
  const std::string other = metadata("Lib").build();
  Others others;
  others.metadata = EcmaMetadata::parse(std::as_bytes(std::span(other))).value();
  EcmaBuilder manifest;
  manifest.module("manifest");
  manifest.assembly_ref("Lib");
  R2rBuilder builder = sample();
  builder.more_sections[112] = manifest.build();
  // 1: a reference of its own; 2: the manifest itself; 3: the manifest's first.
  builder.instances = {
      {bytes_of({0x40, 0x3f, 1, 0x15, 0x12, 0x0c, 1, 0x08, 3}), 3},
      {bytes_of({0x40, 0x3f, 3, 0x15, 0x12, 0x0c, 1, 0x08, 3}), 4},
      {test::packed(0x84) + bytes_of({3, 2, 1, 0x08}), 5},
      {bytes_of({0x40, 0x3f, 2, 0x12, 0x0c, 3}), 6},
  };
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_FALSE(image->name(1));
  EXPECT_FALSE(image->name(2));
  others.wanted = "System.Runtime";
  EXPECT_EQ(full(*image, 1, &others), "instance void [Lib] App.Box`1[System.Int32]::Add(!0)");
  EXPECT_FALSE(image->name(2, &others));
  others.wanted = "Lib";
  EXPECT_EQ(full(*image, 2, &others), "instance void [Lib] App.Box`1[System.Int32]::Add(!0)");
  EXPECT_EQ(full(*image, 3, &others), "void [Lib] App.Program::Swap(!!0&,!!0&)");
  EXPECT_FALSE(image->name(4, &others)) << "the manifest defines no types";
  builder.minor = 2;
  builder.major = 6;  // it has no number of its own
  const auto old = read(builder.build());
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->name(2, &others));
  EXPECT_EQ(full(*old, 4, &others), "instance void [Lib] App.Box`1::Add(!0)");
}

TEST(R2rImage, CompositeImages) {
  EcmaBuilder manifest;
  manifest.module("manifest");
  manifest.assembly_ref("First");
  manifest.assembly_ref("Second");
  R2rBuilder builder = sample();
  builder.flags = 2;
  builder.more_sections[112] = manifest.build();
  builder.components = {{metadata("First").build(), {{1, 0}}}, {"", {{1, 3}, {4, 4}}}};
  builder.entries.clear();
  builder.instances = {{bytes_of({0x40, 0x3f, 1, 0x15, 0x12, 0x0c, 1, 0x3e, 3}), 5},
                       {bytes_of({0x04, 2, 1, 0x08}), 6}};
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(image->kind(), R2rKind::composite);
  EXPECT_EQ(image->components(), (std::vector<std::string_view>{"First", "Second"}));
  EXPECT_EQ(image->method_entries(), 3U);
  ASSERT_EQ(image->methods().size(), 5U);
  EXPECT_EQ(full(*image, 0), "int32 [First] App.Program::Main(string[])");
  EXPECT_FALSE(image->name(1)) << "Second's metadata is in its own file";
  EXPECT_EQ(full(*image, 3), "instance void [First] App.Box`1[System.__Canon]::Add(!0)");
  EXPECT_FALSE(image->name(4)) << "it does not say of which assembly it is";
  EXPECT_EQ(image->name(4).error().kind, ErrorKind::not_found);

  struct Others final : EcmaAssemblies {
    [[nodiscard]] const EcmaMetadata* assembly(std::string_view name) const override {
      return name == "Second" ? &metadata : nullptr;
    }
    EcmaMetadata metadata;
  };
  const std::string second = metadata("Second").build();
  Others others;
  others.metadata = EcmaMetadata::parse(std::as_bytes(std::span(second))).value();
  EXPECT_EQ(full(*image, 1, &others), "int32 [Second] App.Program::Main(string[])");
  EXPECT_EQ(full(*image, 2, &others), "void [Second] App.Box`1+Lid::.cctor()");
}

TEST(R2rImage, ComponentsNameTheirComposite) {
  R2rBuilder builder;
  builder.metadata = metadata().build();
  builder.flags = 0x20;
  builder.machine = 0x14c;  // IL, whose machine does not matter
  builder.more_sections[116] = std::string("framework.r2r.dll\0", 18);
  const auto image = read(builder.build());
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_EQ(image->kind(), R2rKind::component);
  EXPECT_EQ(image->owner_composite(), "framework.r2r.dll");
  EXPECT_TRUE(image->methods().empty());
  EXPECT_EQ(image->method_at(0), std::nullopt);
}

TEST(R2rImage, OtherKindsAreToldApart) {
  const auto kind_and_error = [](const R2rBuilder& builder) {
    const std::string bytes = builder.build();
    const auto pe = PeImage::parse(std::as_bytes(std::span(bytes)));
    const auto header = R2rHeader::read(pe.value());
    const auto image = read(bytes);
    EXPECT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::not_possible);
    return std::pair(header.value().kind, image.error().what);
  };
  R2rBuilder builder = sample();
  builder.magic = 0x0045474e;
  EXPECT_EQ(kind_and_error(builder).first, R2rKind::ngen);
  EXPECT_THAT(kind_and_error(builder).second, testing::HasSubstr("NGEN"));
  builder = sample();
  builder.native_header = false;
  EXPECT_EQ(kind_and_error(builder).first, R2rKind::il_only);
  builder = sample();
  for (const auto& [machine, text] : {std::pair{0xaa64 ^ 0x7b79, "arm64"},
                                      std::pair{0x14c, "32-bit"}, std::pair{0x1c4, "another"}}) {
    builder.machine = static_cast<uint16_t>(machine);
    EXPECT_EQ(kind_and_error(builder).first, R2rKind::ready_to_run);
    EXPECT_THAT(kind_and_error(builder).second, testing::HasSubstr(text));
  }
  test::PeBuilder native;
  native.sections = {{".text", 0x1000, "code"}};
  const auto image = read(native.build());
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::not_possible);
}

void expect_damaged(const R2rBuilder& builder, std::string_view what) {
  const auto image = read(builder.build());
  ASSERT_FALSE(image) << what;
  EXPECT_EQ(image.error().kind, ErrorKind::damaged) << what;
}

TEST(R2rImage, DamagedOnes) {
  R2rBuilder builder = sample();
  builder.magic = 0x12345678;
  expect_damaged(builder, "another magic");
  builder = sample();
  builder.metadata = "BSJB";
  expect_damaged(builder, "metadata cut short");
  builder = sample();
  builder.entries[1] = 7;
  expect_damaged(builder, "an entry of a function that is not there");
  builder = sample();
  builder.instances[0].second = 1000;
  expect_damaged(builder, "an instance of a function that is not there");
  builder = sample();
  builder.functions[2].begin = 0x1000;
  expect_damaged(builder, "functions that are not in order");
  builder = sample();
  builder.functions[2].end = 0x1000;
  expect_damaged(builder, "a function that ends before it begins");
  builder = sample();
  builder.functions[2].end = 0x1038;
  expect_damaged(builder, "methods that overlap");
  for (const std::string& signature : {bytes_of({0x40, 0x15}), bytes_of({0x40, 0x77, 1}),
                                       bytes_of({0x04, 1, 0xdf, 0xff, 0xff, 0xff}),
                                       bytes_of({0x04, 1, 1, 0x00}), bytes_of({0xe0})}) {
    builder = sample();
    builder.instances[1].first = signature;
    expect_damaged(builder, testing::PrintToString(signature));
  }
  builder = sample();
  builder.more_sections[109] = std::string();
  builder.instances = {{bytes_of({0x04, 2, 1, 0x3e}), 3}};
  std::string bytes = builder.build();
  for (size_t size = 0; size < bytes.size(); size += 3) EXPECT_FALSE(read(bytes.substr(0, size)));
}

// Each entry has bytes of its own. Were they allowed to share a long signature, a file could make
// its reader go over the same bytes as often as it has entries.
TEST(R2rImage, InstancesThatShareBytes) {
  R2rBuilder builder = sample();
  std::string signature = bytes_of({0x04, 2}) + test::packed(400) + std::string(400, '\x3e');
  const std::string one = signature + test::native_number(3U << 1U);
  // One entry many times: two buckets, of which the second is empty.
  constexpr uint32_t kCopies = 2000;
  test::LittleBytes out;
  out.u8(1U << 2U | 2U).u32(12).u32(12 + 6 * kCopies).u32(12 + 6 * kCopies);
  for (uint32_t i = 0; i < kCopies; ++i) out.u8(0).u8(15).u32(6 * kCopies - 6 * i - 1);
  out.text(one);
  builder.instances.clear();
  builder.more_sections[109] = out.bytes();
  expect_damaged(builder, "shared");
}

}  // namespace
}  // namespace jitscope
