#include "capture/build_ids.h"

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "base/work_limit.h"
#include "formats/perfdata/writer.h"
#include "symbolize/elf_file.h"

namespace jitscope {
namespace {

// Of reading the files, at the end of a recording: those that are left out have names all the same,
// as long as they are not replaced.
constexpr std::chrono::seconds kLongestWork{5};

// Inside the process's own root directory as long as it lives, else as seen from here.
std::vector<std::byte> build_id_of(const std::string& path, pid_t pid, uint64_t inode) {
  for (const std::string& root : {root_of(pid), std::string()}) {
    const auto file = ElfFile::open(path, root);
    if (file && (*file)->status().st_ino == inode) return (*file)->build_id();
  }
  return {};
}

}  // namespace

void BuildIds::saw(pid_t pid, std::string_view path, uint64_t inode) {
  if (inode == 0 || !path.starts_with('/') || path.starts_with("//") ||
      path.ends_with(" (deleted)")) {
    return;
  }
  const auto known = files_.find(path);
  if (known != files_.end()) {
    known->second.several = known->second.several || known->second.inode != inode;
    known->second.pid = pid;  // the youngest lives longest
    return;
  }
  if (files_.size() < kMostFiles) files_.emplace(path, File{pid, inode, false});
}

std::string BuildIds::section(bool kernel) const {
  constexpr int32_t host = -1;
  std::string out;
  if (kernel) {
    const auto text = read_text_file("/sys/kernel/notes", 1U << 20U);
    const auto id = text ? build_id_of_notes(std::as_bytes(std::span(*text))) : std::nullopt;
    if (id) out += perfdata::build_id_entry(host, true, *id, "[kernel.kallsyms]");
  }
  const WorkLimit limit{kLongestWork};
  for (const auto& [path, file] : files_) {
    if (file.several || WorkLimit::over()) continue;
    const auto id = build_id_of(path, file.pid, file.inode);
    if (!id.empty()) out += perfdata::build_id_entry(host, false, id, path);
  }
  return out;
}

std::optional<std::vector<std::byte>> build_id_of_notes(std::span<const std::byte> notes) {
  constexpr uint32_t gnu_build_id = 3;  // NT_GNU_BUILD_ID
  ByteCursor cursor(notes);
  while (!cursor.at_end()) {
    const uint32_t name_size = cursor.u32();
    const uint32_t size = cursor.u32();
    const uint32_t type = cursor.u32();
    const auto name = cursor.bytes(name_size);
    cursor.align(4);
    const auto id = cursor.bytes(size);
    cursor.align(4);
    if (!cursor.ok()) break;
    const std::string_view owner(reinterpret_cast<const char*>(name.data()), name.size());
    if (type == gnu_build_id && owner == std::string_view("GNU\0", 4) && !id.empty()) {
      return std::vector<std::byte>(id.begin(), id.end());
    }
  }
  return std::nullopt;
}

}  // namespace jitscope
