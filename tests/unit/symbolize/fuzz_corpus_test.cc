// The fuzz targets of this layer over their seeds, so that what they check is checked everywhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/elf_image_check.h"
#include "fuzz/kallsyms_check.h"
#include "symbolize/demangle.h"

namespace jitscope {
namespace {

using Check = std::string_view (*)(std::span<const std::byte>);

// Runs the check on every seed and on damaged copies of it; the number of seeds.
size_t replay(const std::string& name, Check check) {
  size_t seeds = 0;
  std::error_code error;
  const auto directory = std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz" / "corpus" / name;
  for (const auto& file : std::filesystem::directory_iterator(directory, error)) {
    std::ifstream stream(file.path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_writable_bytes(std::span(text));
    EXPECT_EQ(check(bytes), "") << file.path();
    ++seeds;
    const size_t step = std::max<size_t>(1, bytes.size() / 256);
    for (size_t i = 0; i < bytes.size(); i += step) {
      EXPECT_EQ(check(bytes.first(i)), "") << file.path() << " cut at " << i;
      for (const std::byte flip : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
        bytes[i] ^= flip;
        EXPECT_EQ(check(bytes), "") << file.path() << " changed at " << i;
        bytes[i] ^= flip;
      }
    }
  }
  EXPECT_FALSE(error) << error.message();
  return seeds;
}

TEST(FuzzCorpus, ElfImage) {
  EXPECT_GE(replay("elf_image", fuzz::check_elf_image), 8U);
}

TEST(FuzzCorpus, Kallsyms) {
  EXPECT_GE(replay("kallsyms", fuzz::check_kallsyms), 4U);
}

TEST(FuzzCorpus, Demangle) {
  const auto check = [](std::span<const std::byte> bytes) -> std::string_view {
    const std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t most = (size_t{1} << 18U) + name.size();
    if (demangle(name).size() > most || demangle_short(name).size() > most) return "too long";
    return {};
  };
  EXPECT_GE(replay("demangle", check), 5U);
}

}  // namespace
}  // namespace jitscope
