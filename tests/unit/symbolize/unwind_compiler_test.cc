// The unwind tables of this very program: what its compiler says, and what is found in the code.
#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <iterator>

#include "unwind_frames.h"

namespace jitscope {
namespace {

using test::kPlace;
using test::kSp;
using test::no_memory;
using test::reader_of;
using test::registers;

// What a compiler says of its own code, and what is found in the code alone, must not differ.
TEST(UnwindTables, AsTheCompilerSaysOfThisProgram) {
#ifdef __clang__
  GTEST_SKIP() << "clang does not always tell where rbp is kept: the program of g++ is compared";
#endif
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string elf((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const test::FrameReader compilers(elf);
  ASSERT_TRUE(compilers.ok());
  uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &base);

  const auto moved = compilers.moved_parts();
  uint64_t functions = 0;
  uint64_t places = 0;
  uint64_t silent = 0;
  uint64_t wrong = 0;
  for (const auto& [begin, end] : compilers.ranges()) {
    if (end - begin > 100000 || functions == 4000 || moved.contains(begin)) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(base + begin);
    const std::span<const std::byte> code(bytes, end - begin);
    // A part that was split off begins in the middle of a frame.
    const auto first = compilers.at(begin, registers(), no_memory);
    if (!first || first->cfa != kSp + 8) continue;
    const auto tables = unwind_of_code(code, {});
    std::vector<PlacedUnwind> bodies;
    for (const UnwindTable& table : tables) bodies.push_back({kPlace, &table});
    const auto ours = reader_of(bodies);
    ++functions;
    for (uint64_t i = 0; i < code.size(); ++i) {
      auto values = registers();
      const auto theirs = compilers.at(begin + i, values, no_memory);
      for (size_t number = 0; number < values.size(); ++number) {
        if (number != 7) values[number] += 0x1000;
      }
      const auto elsewhere = compilers.at(begin + i, values, no_memory);
      // By something else it is told where ours is told by rsp; or the stack ends here (_start).
      if (!theirs || !elsewhere || theirs->cfa != elsewhere->cfa) continue;
      if (theirs->return_at != theirs->cfa - 8) continue;
      const auto found = ours->at(kPlace + i, registers(), no_memory);
      ++places;
      if (!found) {
        ++silent;
        continue;
      }
      // Compilers do not always tell that a register is back: what is below rsp is the same value.
      const bool same = found->rbp_at == theirs->rbp_at ||
                        (found->rbp_at == 0U && theirs->rbp_at && *theirs->rbp_at < kSp);
      if (found->cfa != theirs->cfa || found->return_at != theirs->return_at || !same) {
        if (++wrong <= 10) {
          ADD_FAILURE() << std::hex << begin << "+" << i << ": CFA rsp+" << found->cfa - kSp
                        << " instead of rsp+" << theirs->cfa - kSp << ", rbp "
                        << found->rbp_at.value_or(1) << " instead of "
                        << theirs->rbp_at.value_or(1);
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(functions, 500U);
  EXPECT_LT(silent * 4, places);
  std::cout << functions << " functions, " << places << " places, " << silent
            << " of which nothing is told, " << wrong << " wrong\n";
}

}  // namespace
}  // namespace jitscope
