// The fuzz targets of this layer over their seeds, so that what they check is checked everywhere.
#include <gtest/gtest.h>

#include "fuzz/elf_image_check.h"
#include "fuzz/kallsyms_check.h"
#include "symbolize/demangle.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(FuzzCorpus, ElfImage) {
  EXPECT_GE(test::replay_corpus("elf_image", fuzz::check_elf_image), 8U);
}

TEST(FuzzCorpus, Kallsyms) {
  EXPECT_GE(test::replay_corpus("kallsyms", fuzz::check_kallsyms), 4U);
}

TEST(FuzzCorpus, Demangle) {
  const auto check = [](std::span<const std::byte> bytes) -> std::string_view {
    const std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t most = (size_t{1} << 18U) + name.size();
    if (demangle(name).size() > most || demangle_short(name).size() > most) return "too long";
    return {};
  };
  EXPECT_GE(test::replay_corpus("demangle", check), 5U);
}

}  // namespace
}  // namespace jitscope
