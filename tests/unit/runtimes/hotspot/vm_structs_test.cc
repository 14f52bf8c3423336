#include "runtimes/hotspot/vm_structs.h"

#include <gtest/gtest.h>

#include "fake_jvm.h"
#include "runtimes/hotspot/code_heap.h"
#include "runtimes/hotspot/hotspot_reader.h"
#include "runtimes/hotspot/symbols.h"
#include "runtimes/hotspot/vm_release.h"

namespace jitscope::hotspot::test {
namespace {

TEST(VmStructs, FieldsTypesAndConstants) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  ASSERT_TRUE(structs) << to_string(structs.error());
  const auto state = structs->member({"CompiledMethod", "nmethod"}, {"_state"});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->offset, 219U);
  EXPECT_EQ(state->width, 1U);
  EXPECT_TRUE(state->is_signed);
  EXPECT_EQ(structs->member({"nmethod"}, {"_comp_level"})->width, 1U);
  EXPECT_EQ(structs->member({"nmethod"}, {"_method"})->width, 8U);
  EXPECT_EQ(*structs->static_address("CodeCache", "_heaps"), jvm.heaps_static());
  EXPECT_EQ(*structs->type_size("nmethod"), 224U);
  EXPECT_EQ(structs->int_constant("InvocationEntryBci"), -1);
  EXPECT_EQ(structs->long_constant("markWord::age_mask"), 0x1234567890U);
  EXPECT_FALSE(structs->int_constant("nothing"));
}

TEST(VmStructs, WidthFollowsTheTypeOfTheField) {
  FakeJvm jvm(FakeJvm::Style::pointers);
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  ASSERT_TRUE(structs);
  EXPECT_EQ(structs->member({"nmethod"}, {"_comp_level"})->width, 4U);
  EXPECT_EQ(structs->member({"Method"}, {"_access_flags"})->width, 4U);
}

TEST(VmStructs, MissingFieldIsNamed) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  ASSERT_TRUE(structs);
  const auto missing = structs->member({"nmethod"}, {"_no_such"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_possible);
  EXPECT_NE(missing.error().what.find("nmethod::_no_such"), std::string::npos);
  EXPECT_FALSE(structs->member({"CodeCache"}, {"_heaps"}));  // static: no member
  EXPECT_FALSE(structs->static_address("nmethod", "_state"));
}

TEST(VmStructs, MissingSymbolIsNotPossible) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  const auto structs = VmStructs::read(jvm, [](std::string_view name) -> std::optional<uint64_t> {
    return name == "gHotSpotVMTypes" ? std::nullopt : fuzz_symbol_lookup(name);
  });
  ASSERT_FALSE(structs);
  EXPECT_EQ(structs.error().kind, ErrorKind::not_possible);
  EXPECT_NE(structs.error().what.find("gHotSpotVMTypes"), std::string::npos);
}

TEST(VmStructs, NonsenseStrideIsAnError) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  for (const uint64_t stride : {uint64_t{7}, uint64_t{1} << 40}) {
    jvm.put(*fuzz_symbol_lookup("gHotSpotVMStructEntryArrayStride"), stride);
    EXPECT_FALSE(VmStructs::read(jvm, jvm.symbols()));
  }
}

TEST(VmStructs, ALibraryThatIsNotInitialisedSaysSo) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  jvm.put(*fuzz_symbol_lookup("gHotSpotVMStructEntryArrayStride"), uint64_t{0});
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  ASSERT_FALSE(structs);
  EXPECT_EQ(structs.error().kind, ErrorKind::not_possible);
  EXPECT_NE(structs.error().hint.find("try again"), std::string::npos);
}

TEST(VmStructs, TableWithoutEndEnds) {
  // An entry stride of 8 over a table of valid pointers never meets a null name in the fake's
  // memory.
  FakeJvm jvm(FakeJvm::Style::offsets);
  struct Endless : MemoryReader {
    explicit Endless(FakeJvm& inner) : jvm(inner) {}
    Status read(uint64_t address, std::span<std::byte> out) override {
      if (address >> 32 == 0x7fff) {
        for (size_t i = 0; i < out.size(); ++i) {
          out[i] =
              static_cast<std::byte>((uint64_t{FakeJvm::kTables} + (100 << 10)) >> (8 * (i % 8)));
        }
        return {};
      }
      return jvm.read(address, out);
    }
    FakeJvm& jvm;
  } endless(jvm);
  jvm.put(*fuzz_symbol_lookup("gHotSpotVMStructs"), uint64_t{0x7fff00000000});
  const auto structs = VmStructs::read(endless, jvm.symbols());
  ASSERT_FALSE(structs);
  EXPECT_EQ(structs.error().kind, ErrorKind::damaged);
}

TEST(VmStructs, UnreadableNameIsAnError) {
  FakeJvm jvm(FakeJvm::Style::offsets);
  jvm.put(FakeJvm::kTables + 8, uint64_t{0xdead0000});
  EXPECT_FALSE(VmStructs::read(jvm, jvm.symbols()));
}

TEST(StructView, ReadsWithSignAndStaysFailed) {
  const std::array<std::byte, 4> bytes{std::byte{0xff}, std::byte{1}, std::byte{2}, std::byte{3}};
  StructView view(bytes);
  EXPECT_EQ(view.get_signed({0, 1, true}), -1);
  EXPECT_EQ(view.get({0, 1, false}), 255U);
  EXPECT_EQ(view.get({0, 4, false}), 0x030201ffU);
  EXPECT_TRUE(view.ok());
  EXPECT_EQ(view.get({2, 4, false}), 0U);
  EXPECT_FALSE(view.ok());
  EXPECT_EQ(view.get({0, 1, false}), 0U);
}

TEST(VmRelease, IsReadThroughTheExportedPointer) {
  FakeJvm jvm(FakeJvm::Style::pointers);
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  ASSERT_TRUE(structs);
  const auto release = read_vm_release(jvm, *structs);
  ASSERT_TRUE(release) << to_string(release.error());
  EXPECT_EQ(*release, "17.0.99+1-fake");
}

TEST(Symbols, LongOnesAndTheLastOfAMapping) {
  struct Memory : MemoryReader {
    std::vector<std::byte> bytes{4096};
    Status read(uint64_t address, std::span<std::byte> out) override {
      if (address < 0x1000 || address - 0x1000 > bytes.size() ||
          out.size() > bytes.size() - (address - 0x1000)) {
        return fail(ErrorKind::not_possible, "outside");
      }
      std::memcpy(out.data(), bytes.data() + (address - 0x1000), out.size());
      return {};
    }
    void symbol(size_t at, std::string_view text) {
      bytes[at + 4] = static_cast<std::byte>(text.size());
      bytes[at + 5] = static_cast<std::byte>(text.size() >> 8);
      std::memcpy(bytes.data() + at + 6, text.data(), text.size());
    }
  } memory;
  const std::string longest(1500, 'x');
  memory.symbol(0, longest);
  memory.symbol(2048, "bad\xff");
  memory.symbol(2064, "");
  memory.symbol(4096 - 16, "lastofall!");
  SymbolLayout layout{{4, 2, false}, 0, 6};
  SymbolBatch batch(layout);
  for (const uint64_t at :
       {0x1000UL, 0x2000UL - 16, 0x1000UL + 2048, 0x1000UL + 2064, 0x1001UL, 0x9000UL}) {
    batch.add(at);
  }
  batch.read(memory);
  ASSERT_NE(batch.get(0x1000), nullptr);
  EXPECT_EQ(*batch.get(0x1000), longest);
  ASSERT_NE(batch.get(0x2000 - 16), nullptr);
  EXPECT_EQ(*batch.get(0x2000 - 16), "lastofall!");
  EXPECT_EQ(batch.get(0x1000 + 2048), nullptr);
  EXPECT_EQ(batch.get(0x1000 + 2064), nullptr);
  EXPECT_EQ(batch.get(0x1001), nullptr);
  EXPECT_EQ(batch.get(0x9000), nullptr);
  EXPECT_EQ(batch.get(0x1008), nullptr);  // never asked for
}

TEST(Symbols, PackedLengthLiesInTheUpperHalf) {
  struct Memory : MemoryReader {
    Status read(uint64_t, std::span<std::byte> out) override {
      std::ranges::fill(out, std::byte{'a'});
      out[0] = std::byte{0xff};  // reference count
      out[1] = std::byte{0xff};
      out[2] = std::byte{5};
      out[3] = std::byte{0};
      return {};
    }
  } memory;
  SymbolBatch batch(SymbolLayout{{0, 4, false}, 16, 6});
  batch.add(0x1000);
  batch.read(memory);
  ASSERT_NE(batch.get(0x1000), nullptr);
  EXPECT_EQ(*batch.get(0x1000), "aaaaa");
}

}  // namespace
}  // namespace jitscope::hotspot::test
