#include "symbolize/mapping_kind.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(MappingKind, EveryNameOfMemoryThatAJitMayHaveWritten) {
  for (const char* path : {"//anon", "", "[anon:v8]", "/anon_hugepage (deleted)", "[heap]",
                           "[stack]", "[stack:12]", "/SYSV00000000 (deleted)"}) {
    EXPECT_EQ(mapping_kind(path), MappingKind::anonymous) << path;
    EXPECT_TRUE(is_jit_memory(mapping_kind(path))) << path;
  }
  for (const char* path : {"/memfd:doublemapper (deleted)", "/memfd:x", "/dev/zero (deleted)",
                           "/dev/zero", "/dev/shm/jit"}) {
    EXPECT_EQ(mapping_kind(path), MappingKind::memory_file) << path;
  }
}

TEST(MappingKind, FilesAndSpecialMappings) {
  EXPECT_EQ(mapping_kind("/usr/lib/libc.so.6"), MappingKind::file);
  EXPECT_EQ(mapping_kind("/usr/lib/libc.so.6 (deleted)"), MappingKind::deleted_file);
  EXPECT_EQ(mapping_kind("[vdso]"), MappingKind::vdso);
  EXPECT_EQ(mapping_kind("[vsyscall]"), MappingKind::vsyscall);
  EXPECT_EQ(mapping_kind("[kernel.kallsyms]_text"), MappingKind::kernel);
  EXPECT_EQ(mapping_kind("[uprobes]"), MappingKind::special);
  EXPECT_FALSE(is_jit_memory(MappingKind::file));
  EXPECT_FALSE(is_jit_memory(MappingKind::vdso));
}

TEST(MappingKind, BaseNames) {
  EXPECT_EQ(mapping_base_name("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(mapping_base_name("[a/b]"), "[a/b]");
  EXPECT_EQ(mapping_base_name("plain"), "plain");
  EXPECT_EQ(without_deleted("/a (deleted)"), "/a");
}

}  // namespace
}  // namespace jitscope
