#include "symbolize/mapping_kind.h"

#include "base/path.h"

namespace jitscope {
namespace {
constexpr std::string_view kDeleted = " (deleted)";
}

std::string_view without_deleted(std::string_view path) {
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

MappingKind mapping_kind(std::string_view path) {
  const std::string_view plain = without_deleted(path);
  if (plain.empty() || plain.starts_with("//anon") || plain.starts_with("[anon") ||
      plain.starts_with("/anon_hugepage") || plain == "[heap]" || plain.starts_with("[stack") ||
      plain.starts_with("/SYSV")) {
    return MappingKind::anonymous;
  }
  if (plain.starts_with("/memfd:") || plain == "/dev/zero" || plain.starts_with("/dev/shm/")) {
    return MappingKind::memory_file;
  }
  if (plain.starts_with("[vdso")) return MappingKind::vdso;
  if (plain == "[vsyscall]") return MappingKind::vsyscall;
  if (plain.starts_with("[kernel") || plain.starts_with("[guest.kernel")) {
    return MappingKind::kernel;
  }
  if (plain.starts_with('[') || plain.starts_with("anon_inode:")) return MappingKind::special;
  return path.ends_with(kDeleted) ? MappingKind::deleted_file : MappingKind::file;
}

bool is_jit_memory(MappingKind kind) {
  return kind == MappingKind::anonymous || kind == MappingKind::memory_file ||
         kind == MappingKind::special;
}

std::string_view mapping_base_name(std::string_view path) {
  return path.starts_with('[') ? path : base_name(path);
}

}  // namespace jitscope
