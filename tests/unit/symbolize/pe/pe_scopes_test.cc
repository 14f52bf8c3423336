// Lines and inlined functions of whole functions of a PE image; the DWARF is made by hand.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "support/pe_builder.h"
#include "symbolize/elf_image.h"
#include "symbolize/pe/pe_debug.h"

namespace jitscope {
namespace {

using test::LittleBytes;

constexpr uint64_t kCode = 0x140001000;
constexpr uint64_t kSize = 0x20;

// A unit a.c with `outer` at kCode: `middle` is inlined at [4, 16), in it `inner` at [8, 12).
struct Dwarf {
  std::string abbreviations;
  std::string info;
  std::string lines;
};

std::string line_program(const LittleBytes& rows) {
  LittleBytes head;
  head.u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(10);
  for (const unsigned operands : {0, 1, 1, 1, 1, 0, 0, 0, 1}) head.u8(operands);
  head.u8(0);
  for (const char* const file : {"a.c", "./a.h"}) head.text(file).zeros(4);
  head.u8(0);
  LittleBytes out;
  out.u32(6 + head.size() + rows.size()).u16(4).u32(head.size());
  return out.text(head.bytes()).text(rows.bytes()).bytes();
}

// Rows: outer 10 | 4: middle a.h:20 | 8: inner 30, and at once 31 | 12: a.h:21 | 16: outer 12 | end
// at 24.
std::string rows_of_outer() {
  LittleBytes rows;
  rows.u8(0).u8(9).u8(2).u64(kCode);
  const auto row = [&](unsigned advance, unsigned file, int lines) {
    rows.u8(2).u8(advance).u8(4).u8(file).u8(3).u8(static_cast<unsigned>(lines) & 0x7fU).u8(1);
  };
  row(0, 1, 9);
  row(4, 2, 10);
  row(4, 2, 10);
  row(0, 2, 1);
  row(4, 2, -10);
  row(4, 1, -9);
  rows.u8(2).u8(8).u8(0).u8(1).u8(1);
  return line_program(rows);
}

Dwarf dwarf_of_outer(const std::string& folder = "/src", unsigned copies_deep = 2) {
  Dwarf out;
  LittleBytes abbreviations;
  const auto entry = [&](unsigned number, unsigned tag, bool children,
                         std::initializer_list<unsigned> fields) {
    abbreviations.u8(number).u8(tag).u8(children ? 1 : 0);
    for (const unsigned field : fields) abbreviations.u8(field);
    abbreviations.u16(0);
  };
  entry(1, 0x11, true, {0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07});
  entry(2, 0x2e, false, {0x03, 0x08, 0x20, 0x0b});
  entry(3, 0x2e, true, {0x03, 0x08, 0x11, 0x01, 0x12, 0x07});
  entry(4, 0x1d, true, {0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b});
  abbreviations.u8(0);
  out.abbreviations = abbreviations.bytes();

  LittleBytes info;
  constexpr size_t kHeader = 11;
  info.u8(1).text("a.c").u8(0).text(folder).u8(0).u32(0).u64(kCode).u64(kSize);
  const size_t middle = kHeader + info.size();
  info.u8(2).text("middle").u8(0).u8(1);
  const size_t inner = kHeader + info.size();
  info.u8(2).text("inner").u8(0).u8(1);
  info.u8(3).text("outer").u8(0).u64(kCode).u64(kSize);
  for (unsigned i = 0; i < copies_deep; ++i) {
    const bool first = i == 0;
    info.u8(4).u32(first ? middle : inner);
    info.u64(kCode + (first ? 4 : 8)).u64(first ? 12 : 4).u8(first ? 1 : 2).u8(first ? 11 : 22);
  }
  info.zeros(copies_deep + 2);
  LittleBytes whole;
  whole.u32(7 + info.size()).u16(4).u32(0).u8(8).text(info.bytes());
  out.info = whole.bytes();
  out.lines = rows_of_outer();
  return out;
}

CodeScopes scopes_of(const Dwarf& dwarf, uint64_t begin = kCode, uint64_t size = kSize) {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, "code"},
                 {"/4", 0x2000, dwarf.info},
                 {"/16", 0x3000, dwarf.abbreviations},
                 {"/30", 0x4000, dwarf.lines}};
  pe.strings = std::string(".debug_info\0.debug_abbrev\0.debug_line\0", 38);
  const std::string bytes = pe.build();
  const auto image = PeImage::parse(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(image);
  auto elf = ElfImage::from_memory(debug_elf(*image), "a.exe");
  if (!elf) return {};
  return (*elf)->scopes(begin, begin + size);
}

// "0-4 outer /src/a.c:10", innermost first.
std::string told(const CodeScopes& scopes) {
  std::string out;
  for (const CodeScopes::Range& range : scopes.ranges) {
    out += fmt::format("{}-{}", range.begin, range.end);
    for (uint32_t at = range.scope; at != CodeScopes::kNone; at = scopes.scopes[at].parent) {
      const CodeScopes::Scope& scope = scopes.scopes[at];
      const CodeScopes::Method& method = scopes.methods[scope.method];
      out += fmt::format(" {} {}:{}", method.name, method.file, scope.line);
    }
    out += '\n';
  }
  return out;
}

TEST(PeScopes, LinesAndInlinedFunctionsOfAFunction) {
  EXPECT_EQ(told(scopes_of(dwarf_of_outer())),
            "0-4 outer /src/a.c:10\n"
            "4-8 middle /src/./a.h:20 outer /src/a.c:11\n"
            "8-12 inner /src/./a.h:31 middle /src/./a.h:22 outer /src/a.c:11\n"
            "12-16 middle /src/./a.h:21 outer /src/a.c:11\n"
            "16-24 outer /src/a.c:12\n");
}

TEST(PeScopes, OfAPartOnly) {
  EXPECT_EQ(told(scopes_of(dwarf_of_outer(), kCode + 6, 4)),
            "0-2 middle /src/./a.h:20 outer /src/a.c:11\n"
            "2-4 inner /src/./a.h:31 middle /src/./a.h:22 outer /src/a.c:11\n");
  EXPECT_EQ(told(scopes_of(dwarf_of_outer(), kCode + 0x100, 4)), "");
  // A symbol that ends behind its function, or begins before it.
  EXPECT_EQ(told(scopes_of(dwarf_of_outer(), kCode - 8, 12)), "8-12 outer /src/a.c:10\n");
}

TEST(PeScopes, FilesWithoutAFolderStayRelative) {
  EXPECT_EQ(told(scopes_of(dwarf_of_outer("."), kCode + 4, 4)), "0-4 middle a.h:20 outer a.c:11\n");
}

TEST(PeScopes, DeepCopiesAreCut) {
  const CodeScopes scopes = scopes_of(dwarf_of_outer("/src", 600));
  ASSERT_FALSE(scopes.ranges.empty());
  for (const CodeScopes::Range& range : scopes.ranges) {
    unsigned depth = 0;
    for (uint32_t at = range.scope; at != CodeScopes::kNone; at = scopes.scopes[at].parent) ++depth;
    EXPECT_LE(depth, CodeScopes::kDeepest);
  }
}

// Whatever the bytes are, scopes keep their rules: encode_scopes() leaves out those that do not.
TEST(PeScopes, DamageGivesLessAndNeverAnError) {
  const Dwarf whole = dwarf_of_outer();
  for (std::string Dwarf::* const part : {&Dwarf::info, &Dwarf::lines, &Dwarf::abbreviations}) {
    for (size_t i = 0; i < (whole.*part).size(); ++i) {
      for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
        Dwarf damaged = whole;
        (damaged.*part)[i] = static_cast<char>(value);
        const CodeScopes scopes = scopes_of(damaged);
        uint32_t end = 0;
        for (const CodeScopes::Range& range : scopes.ranges) {
          ASSERT_TRUE(range.begin >= end && range.begin < range.end && range.end <= kSize);
          ASSERT_LT(range.scope, scopes.scopes.size());
          end = range.end;
        }
        std::string payload;
        jitdump::encode_scopes(payload, scopes);
        ASSERT_EQ(payload.empty(), scopes.ranges.empty());
      }
    }
    Dwarf cut = whole;
    for (; (cut.*part).size() > 1; (cut.*part).pop_back()) (void)scopes_of(cut);
  }
}

}  // namespace
}  // namespace jitscope
