#include "formats/pe/exports.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

constexpr uint32_t kAt = 0x2000;
using Texts = std::vector<std::string>;

struct Directory {
  uint32_t first_ordinal = 10;
  std::vector<uint32_t> functions;
  std::vector<std::pair<std::string, uint16_t>> names;  // and the index of the function
};

// Header, functions, names, ordinals, strings.
test::PeBuilder with_exports(const Directory& directory) {
  const auto functions_at = static_cast<uint32_t>(kAt + 40);
  const auto names_at = static_cast<uint32_t>(functions_at + 4 * directory.functions.size());
  const auto ordinals_at = static_cast<uint32_t>(names_at + 4 * directory.names.size());
  const auto strings_at = static_cast<uint32_t>(ordinals_at + 2 * directory.names.size());
  test::LittleBytes bytes;
  bytes.zeros(16).u32(directory.first_ordinal).u32(directory.functions.size());
  bytes.u32(directory.names.size()).u32(functions_at).u32(names_at).u32(ordinals_at);
  for (const uint32_t function : directory.functions) bytes.u32(function);
  std::string strings;
  for (const auto& [name, index] : directory.names) {
    bytes.u32(strings_at + strings.size());
    strings += name + '\0';
  }
  for (const auto& [name, index] : directory.names) bytes.u16(index);
  bytes.text(strings);
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, std::string(0x100, '\xcc')},
                 {".edata", kAt, bytes.bytes(), 0, 0, 0x40000040}};
  pe.directories[0] = {kAt, static_cast<uint32_t>(bytes.size())};
  return pe;
}

Texts all(const std::string& bytes) {
  const test::PeFile file(bytes);
  const auto exports = PeExports::parse(*file);
  if (!exports) return {to_string(exports.error())};
  Texts out;
  for (size_t i = 0; i < exports->size(); ++i) {
    out.push_back(std::to_string((*exports)[i].rva - 0x1000) + " " +
                  std::string((*exports)[i].name));
  }
  return out;
}

TEST(PeExports, NamesAndOrdinals) {
  const Directory directory{10,
                            {0x1040, 0x1010, 0, kAt + 50, 0x1020, 0x1010},
                            {{"aliased", 1}, {"alias", 1}, {"forwarder", 3}, {"later", 0}}};
  EXPECT_EQ(all(with_exports(directory).build()),
            (Texts{"16 alias", "16 aliased", "16 #15", "32 #14", "64 later"}));
}

TEST(PeExports, None) {
  test::PeBuilder pe = with_exports({});
  EXPECT_EQ(all(pe.build()), Texts{});
  pe.directories[0] = {};
  EXPECT_EQ(all(pe.build()), Texts{});
}

TEST(PeExports, NamesOfNothing) {
  const Directory directory{1, {0x1000, 0x1010}, {{"beyond", 2}, {"", 0}, {"good", 1}}};
  EXPECT_EQ(all(with_exports(directory).build()), (Texts{"16 good"}));
  test::PeBuilder pe = with_exports(directory);
  pe.sections[1].data.pop_back();
  EXPECT_EQ(all(pe.build()), Texts{}) << "the last name has no end";
}

TEST(PeExports, DamagedTables) {
  const test::PeBuilder good = with_exports({1, {0x1000}, {{"name", 0}}});
  for (const size_t field : {20, 24, 28, 32, 36}) {  // counts and addresses
    test::PeBuilder pe = good;
    test::overwrite(pe.sections[1].data, field, 0xfffffff0, 4);
    const test::PeFile file(pe);
    const auto exports = PeExports::parse(*file);
    ASSERT_FALSE(exports) << field;
    EXPECT_EQ(exports.error().kind, ErrorKind::damaged);
  }
  test::PeBuilder pe = good;
  pe.directories[0].rva = 0x9000;
  const test::PeFile nowhere(pe);
  EXPECT_FALSE(PeExports::parse(*nowhere));
}

// Sections that lie over each other in the file make many long names out of few bytes.
TEST(PeExports, NamesOfMoreBytesThanTheFile) {
  Directory directory{1, {}, {}};
  for (uint16_t i = 0; i < 16; ++i) {
    directory.functions.push_back(0x1000U + i);
    directory.names.emplace_back("", i);
  }
  test::PeBuilder pe = with_exports(directory);
  const std::string name(0x400, 'n');
  pe.sections.push_back({"names", 0x10000, name + '\0', 0, 0x2000, 0x40000040});
  for (uint32_t i = 1; i < 16; ++i) {
    pe.sections.push_back({"names", 0x10000 + i * 0x1000, name + '\0', 0, 0x2000, 0x40000040});
  }
  for (uint32_t i = 0; i < 16; ++i) {
    test::overwrite(pe.sections[1].data, 40 + 4 * (16 + i), 0x10000 + i * 0x1000, 4);
  }
  EXPECT_EQ(all(pe.build()), Texts{"the names of a PE image's exports make no sense"});
}

}  // namespace
}  // namespace jitscope
