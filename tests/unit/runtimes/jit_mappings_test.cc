// find_jit_mappings over mappings of this process that the tests make.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"
#include "runtimes/detect.h"
#include "runtimes/v8/node_version.h"

namespace jitscope {
namespace {

constexpr size_t kPage = 4096;

class JitMappings : public ::testing::Test {
 protected:
  void TearDown() override {
    for (void* page : pages_) ::munmap(page, kPage);
  }
  void* map(int fd, int flags, off_t offset = 0) {
    void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, flags, fd, offset);
    EXPECT_NE(page, MAP_FAILED);
    pages_.push_back(page);
    return page;
  }
  static void fill(int fd, std::string_view head) {
    std::string bytes(2 * kPage, 'x');
    bytes.replace(0, head.size(), head);
    ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  // The kind, "" when the page is not among them.
  static std::string kind(const void* page) {
    const auto self = Process::open(::getpid());
    const auto maps = self->maps();
    const auto address = reinterpret_cast<uint64_t>(page);
    for (const JitMapping& jit : find_jit_mappings(*self, *maps)) {
      if (jit.mapping.contains(address)) return jit.kind;
    }
    return {};
  }

  std::vector<void*> pages_;
};

TEST_F(JitMappings, AnonymousAndShared) {
  EXPECT_EQ(kind(map(-1, MAP_PRIVATE | MAP_ANONYMOUS)), "anonymous");
  EXPECT_EQ(kind(map(-1, MAP_SHARED | MAP_ANONYMOUS)), "shared /dev/zero");
}

TEST_F(JitMappings, ProgramsAndLibrariesAreNot) {
  EXPECT_EQ(kind(reinterpret_cast<const void*>(&::getenv)), "");
  EXPECT_EQ(kind(reinterpret_cast<const void*>(&find_jit_mappings)), "");
  const auto self = Process::open(::getpid());
  for (const JitMapping& jit : find_jit_mappings(*self, *self->maps())) {
    EXPECT_FALSE(jit.mapping.path.starts_with("[v")) << jit.mapping.path;
  }
}

TEST_F(JitMappings, Memfd) {
  const UniqueFd code(::memfd_create("doublemapper", MFD_CLOEXEC));
  fill(code.get(), "code");
  EXPECT_EQ(kind(map(code.get(), MAP_SHARED)), "memfd");
  const UniqueFd elf(::memfd_create("image", MFD_CLOEXEC));
  fill(elf.get(),
       "\x7f"
       "ELF");
  EXPECT_EQ(kind(map(elf.get(), MAP_PRIVATE, kPage)), "")
      << "an ELF image, mapped from its second page";
  const UniqueFd empty(::memfd_create("empty", MFD_CLOEXEC));
  EXPECT_EQ(kind(map(empty.get(), MAP_PRIVATE)), "memfd");
}

TEST_F(JitMappings, FilesOfOtherFormatsAndDeletedOnes) {
  std::string path = (std::filesystem::temp_directory_path() / "jit_mappings.XXXXXX").string();
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  ASSERT_TRUE(file);
  fill(file.get(), "MZ");
  void* page = map(file.get(), MAP_PRIVATE, kPage);
  EXPECT_EQ(kind(page), "not ELF");
  std::filesystem::remove(path);
  EXPECT_EQ(kind(page), "deleted file");
  ASSERT_EQ(::pwrite(file.get(),
                     "\x7f"
                     "ELF",
                     4, 0),
            4);
  EXPECT_EQ(kind(page), "") << "a library that was replaced on disk";
}

TEST(NodeVersion, StringsOfBothLibraries) {
  const auto self = Process::open(::getpid());
  ASSERT_TRUE(self);
  const std::string version = "20.20.2";
  EXPECT_EQ(read_version_string(self->memory(), reinterpret_cast<uint64_t>(&version)), "20.20.2");
  const std::string nightly = "23.0.0-nightly20240101abcdef";
  EXPECT_EQ(read_version_string(self->memory(), reinterpret_cast<uint64_t>(&nightly)), nightly);
  std::array<char, 32> libcxx{};
  libcxx[0] = 14;
  std::copy(version.begin(), version.end(), libcxx.begin() + 1);
  EXPECT_EQ(read_version_string(self->memory(), reinterpret_cast<uint64_t>(&libcxx)), "20.20.2");
  for (const std::string text :
       {"", "hello", "20", "20.20", "20.20.", "99999.1.1", "1.2.3 x", "1.2.\n"}) {
    EXPECT_EQ(read_version_string(self->memory(), reinterpret_cast<uint64_t>(&text)), "") << text;
  }
  EXPECT_EQ(read_version_string(self->memory(), 8), "");
}

}  // namespace
}  // namespace jitscope
