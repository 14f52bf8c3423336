#include "capture/record_scan.h"

#include <algorithm>

#include "base/byte_cursor.h"
#include "formats/perfdata/record_builder.h"
#include "formats/perfdata/records.h"

namespace jitscope {
namespace {

using perfdata::RecordType;

constexpr size_t kHeaderBytes = 8;
constexpr uint32_t kProtExec = 4;
// FORK records only matter while the recording starts; JIT-like mappings are told once a process.
constexpr size_t kMostRemembered = 1U << 20U;
// What other records than samples end in: TID, TIME, CPU, IDENTIFIER, of 8 bytes each.
constexpr size_t kTrailerBytes = 32;
constexpr size_t kTimeInTrailer = 8;

}  // namespace

bool path_suggests_jit(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.empty() || path.starts_with("//anon") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/zero") || path.starts_with("[anon") || path.starts_with("/SYSV") ||
         name.starts_with("libjvm.so");
}

void RecordScan::tell(pid_t pid) {
  if (told_.size() >= kMostRemembered) told_.clear();
  if (!told_.insert(pid).second) return;
  const auto began = began_.find(pid);
  watcher_.on_code(pid, began == began_.end() ? 0 : began->second);
}

void RecordScan::began(pid_t pid, uint64_t time) {
  if (began_.size() >= kMostRemembered) began_.clear();
  began_[pid] = time;
}

// FORK and EXIT after their header: pid, parent's pid, tid, parent's tid, time.
void RecordScan::scan_fork(std::string_view body) {
  ByteCursor cursor(body);
  const auto pid = static_cast<pid_t>(cursor.u32());
  const auto parent = static_cast<pid_t>(cursor.u32());
  const auto tid = static_cast<pid_t>(cursor.u32());
  (void)cursor.u32();
  const uint64_t time = cursor.u64();
  if (!cursor.ok()) return;
  if (started_.size() < kMostRemembered) started_.insert(tid);
  if (pid != parent) began(pid, time);
}

void RecordScan::scan_exit(std::string_view body) {
  ByteCursor cursor(body);
  const auto pid = static_cast<pid_t>(cursor.u32());
  (void)cursor.u32();
  const auto tid = static_cast<pid_t>(cursor.u32());
  if (cursor.ok() && pid == tid) began_.erase(pid);
}

// COMM of an exec after its header.
void RecordScan::scan_exec(std::string_view body) {
  ByteCursor cursor(body);
  const auto pid = static_cast<pid_t>(cursor.u32());
  if (!cursor.ok()) return;
  // Another program: it is looked at anew when it maps code.
  told_.erase(pid);
  if (body.size() < kTrailerBytes + 8) return;
  ByteCursor trailer(body.substr(body.size() - kTrailerBytes + kTimeInTrailer));
  const uint64_t time = trailer.u64();
  began(pid, time);
  watcher_.on_exec(pid, time);
}

// MMAP2 after its header.
void RecordScan::scan_mapping(std::string_view body) {
  ByteCursor cursor(body);
  const auto pid = static_cast<pid_t>(cursor.u32());
  cursor.skip(4 + 8 + 8 + 8);  // tid, address, length, offset
  cursor.skip(8);              // device
  const uint64_t inode = cursor.u64();
  cursor.skip(8);  // generation
  const uint32_t protection = cursor.u32();
  (void)cursor.u32();  // flags
  const std::string_view path = cursor.c_string();
  if (!cursor.ok() || (protection & kProtExec) == 0 || pid <= 0) return;
  // A runtime's library comes after what its process did before: worth another look at once.
  const bool library = path.ends_with("libjvm.so");
  if (library) told_.erase(pid);
  if (inode != 0) watcher_.on_file(pid, path, inode);
  if (path_suggests_jit(path)) tell(pid);
}

void RecordScan::scan(std::string_view records) {
  ByteCursor cursor(records);
  while (cursor.remaining() >= kHeaderBytes) {
    const uint32_t type = cursor.u32();
    const uint16_t misc = cursor.u16();
    const uint16_t size = cursor.u16();
    if (size < kHeaderBytes) return;
    const auto bytes = cursor.bytes(size - kHeaderBytes);
    if (!cursor.ok()) return;
    ByteCursor body(bytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (static_cast<RecordType>(type)) {
      case RecordType::sample: {
        ++samples_;
        body.skip(24);  // identifier, ip, tid
        const uint64_t time = body.u64();
        if (!body.ok()) break;
        first_sample_ = std::min(first_sample_, time);
        last_sample_ = std::max(last_sample_, time);
        break;
      }
      case RecordType::lost: {
        (void)body.u64();  // id
        lost_ += body.u64();
        break;
      }
      case RecordType::lost_samples:
        lost_ += body.u64();
        break;
      case RecordType::fork:
        scan_fork(text);
        break;
      case RecordType::exit:
        scan_exit(text);
        break;
      case RecordType::comm:
        if ((misc & perfdata::kMiscCommExec) != 0) scan_exec(text);
        break;
      case RecordType::mmap2:
        scan_mapping(text);
        break;
      default:
        break;
    }
  }
}

}  // namespace jitscope
