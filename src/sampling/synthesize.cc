// Running processes as records; see synthesize.h. The kernel's part is in synthesize_kernel.cc.
#include "sampling/synthesize.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "process/process.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

using perfdata::RecordBuilder;
using perfdata::RecordHead;

uint32_t id_of(pid_t pid) {
  return static_cast<uint32_t>(pid);
}

// The parent of a process (PPid of its status), 0 when it cannot be told.
uint32_t parent_of(pid_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/status", pid), 1U << 20U);
  if (!text) return 0;
  ByteCursor cursor{std::string_view(*text)};
  while (!cursor.at_end()) {
    std::string_view line = cursor.line();
    constexpr std::string_view key = "PPid:\t";
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    return static_cast<uint32_t>(parse_decimal(line).value_or(0));
  }
  return 0;
}

void append_thread(std::string& out, const RecordBuilder& builder, pid_t pid, pid_t tid) {
  auto name = read_text_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), 4096);
  if (!name) return;  // it has ended
  if (name->ends_with('\n')) name->pop_back();
  RecordHead head;
  perfdata::Fork fork;
  fork.pid = id_of(pid);
  fork.tid = id_of(tid);
  // Which thread started another is not known: the first one, as perf has it.
  fork.parent_pid = pid == tid ? parent_of(pid) : id_of(pid);
  fork.parent_tid = fork.parent_pid;
  head.misc = perfdata::kMiscForkExec;  // what is mapped is said by records of its own
  builder.fork(out, head, fork);
  head.misc = 0;
  builder.comm(out, head, {id_of(pid), id_of(tid), *name, false});
}

void append_namespaces(std::string& out, const RecordBuilder& builder, pid_t pid) {
  constexpr std::array<const char*, 7> files = {"net",  "uts", "ipc",   "pid",
                                                "user", "mnt", "cgroup"};
  perfdata::Namespaces namespaces;
  namespaces.pid = id_of(pid);
  namespaces.tid = id_of(pid);
  namespaces.count = files.size();
  bool any = false;
  for (size_t i = 0; i < files.size(); ++i) {
    struct stat info = {};
    if (::stat(fmt::format("/proc/{}/ns/{}", pid, files.at(i)).c_str(), &info) != 0) continue;
    namespaces.links.at(i) = {info.st_dev, info.st_ino};
    any = true;
  }
  if (any) builder.namespaces(out, {}, namespaces);
}

bool begins_image(MemoryReader& memory, const std::string& root, const Mapping& mapping) {
  constexpr std::array magic = {std::byte{'M'}, std::byte{'Z'}};
  std::array<std::byte, magic.size()> first{};
  if (memory.read(mapping.start, first)) return first == magic;
  if (mapping.deleted || !mapping.path.starts_with('/')) return false;
  const auto file = open_regular_file(mapping.path, root);
  if (!file || file->status.st_ino != mapping.inode) return false;
  const ssize_t got = ::pread(file->fd.get(), first.data(), first.size(), 0);
  return got == static_cast<ssize_t>(first.size()) && first == magic;
}

}  // namespace

std::vector<Mapping> image_headers(MemoryReader& memory, const std::string& root,
                                   const std::vector<Mapping>& maps) {
  std::vector<Mapping> headers;
  for (const Mapping& mapping : maps) {
    if (mapping.executable || !mapping.readable || !mapping.file_backed() || mapping.offset != 0) {
      continue;
    }
    if (begins_image(memory, root, mapping)) headers.push_back(mapping);
  }
  return headers;
}

std::vector<Mapping> image_headers(pid_t pid, const std::vector<Mapping>& maps) {
  ProcessMemory memory(pid);
  return image_headers(memory, root_of(pid), maps);
}

void append_mapping_records(std::string& out, const RecordBuilder& builder, pid_t pid,
                            const std::vector<Mapping>& maps, uint64_t time, uint64_t id) {
  std::vector<Mapping> told = image_headers(pid, maps);
  std::ranges::copy_if(maps, std::back_inserter(told), &Mapping::executable);
  std::ranges::sort(told, {}, &Mapping::start);
  for (const Mapping& mapping : told) {
    // As the kernel names them in its own records.
    std::string path = mapping.path.empty() ? "//anon" : mapping.path;
    if (mapping.deleted) path += " (deleted)";
    perfdata::Mmap record;
    record.pid = id_of(pid);
    record.tid = id_of(pid);
    record.start = mapping.start;
    record.length = mapping.size();
    record.page_offset = mapping.offset;
    record.major = mapping.dev_major;
    record.minor = mapping.dev_minor;
    record.inode = mapping.inode;
    record.path = path;
    RecordHead head;
    head.misc = perfdata::kMiscUser;
    if (!mapping.executable) head.misc |= perfdata::kMiscMmapData;
    head.time = time;
    head.id = id;
    head.pid = head.tid = time == 0 ? 0 : id_of(pid);
    const uint32_t protection = (mapping.executable ? static_cast<uint32_t>(PROT_EXEC) : 0U) |
                                (mapping.readable ? static_cast<uint32_t>(PROT_READ) : 0U) |
                                (mapping.writable ? static_cast<uint32_t>(PROT_WRITE) : 0U);
    builder.mmap2(out, head, record, protection,
                  static_cast<uint32_t>(mapping.shared ? MAP_SHARED : MAP_PRIVATE));
  }
}

void append_thread_records(std::string& out, const RecordBuilder& builder, pid_t pid) {
  append_namespaces(out, builder, pid);
  std::vector<pid_t> threads = list_threads(pid);
  // The leader first, whatever the order: it is the parent of the others.
  std::erase(threads, pid);
  append_thread(out, builder, pid, pid);
  for (const pid_t tid : threads) append_thread(out, builder, pid, tid);
}

}  // namespace jitscope
