// Records to bytes; see record_builder.h. Layouts: include/uapi/linux/perf_event.h.
#include "formats/perfdata/record_builder.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace jitscope::perfdata {
namespace {

constexpr size_t kLongestText = 4095;
constexpr size_t kLongestSymbol = 511;  // KSYM_NAME_LEN

// PERF_SAMPLE_*, as far as they are in a sample_id trailer; in this order.
constexpr uint64_t kSampleTid = 1U << 1U;
constexpr uint64_t kSampleTime = 1U << 2U;
constexpr uint64_t kSampleId = 1U << 6U;
constexpr uint64_t kSampleCpu = 1U << 7U;
constexpr uint64_t kSampleStreamId = 1U << 9U;
constexpr uint64_t kSampleIdentifier = 1U << 16U;

template <typename T>
void put(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

// With its NUL, to the next multiple of 8.
void put_text(std::string& out, std::string_view text, size_t longest) {
  text = text.substr(0, std::min(text.find('\0'), longest));
  out.append(text);
  out.append(8 - text.size() % 8, '\0');
}

size_t begin_record(std::string& out, RecordType type, uint16_t misc) {
  const size_t begin = out.size();
  put(out, static_cast<uint32_t>(type));
  put(out, misc);
  put(out, uint16_t{0});  // the size, see finish()
  return begin;
}

}  // namespace

void RecordBuilder::finish(std::string& out, size_t begin, const RecordHead& head) const {
  if ((sample_type_ & kSampleTid) != 0) {
    put(out, head.pid);
    put(out, head.tid);
  }
  if ((sample_type_ & kSampleTime) != 0) put(out, head.time);
  if ((sample_type_ & kSampleId) != 0) put(out, head.id);
  if ((sample_type_ & kSampleStreamId) != 0) put(out, head.id);
  if ((sample_type_ & kSampleCpu) != 0) {
    put(out, head.cpu == UINT32_MAX ? uint32_t{0} : head.cpu);
    put(out, uint32_t{0});
  }
  if ((sample_type_ & kSampleIdentifier) != 0) put(out, head.id);
  const auto size = static_cast<uint16_t>(out.size() - begin);
  std::memcpy(out.data() + begin + 6, &size, sizeof(size));
}

void RecordBuilder::mmap(std::string& out, const RecordHead& head, const Mmap& mmap) const {
  const size_t begin = begin_record(out, RecordType::mmap, head.misc);
  put(out, mmap.pid);
  put(out, mmap.tid);
  put(out, mmap.start);
  put(out, mmap.length);
  put(out, mmap.page_offset);
  put_text(out, mmap.path, kLongestText);
  finish(out, begin, head);
}

void RecordBuilder::mmap2(std::string& out, const RecordHead& head, const Mmap& mmap,
                          uint32_t protection, uint32_t flags) const {
  const size_t begin = begin_record(out, RecordType::mmap2, head.misc);
  put(out, mmap.pid);
  put(out, mmap.tid);
  put(out, mmap.start);
  put(out, mmap.length);
  put(out, mmap.page_offset);
  put(out, mmap.major);
  put(out, mmap.minor);
  put(out, mmap.inode);
  put(out, mmap.generation);
  put(out, protection);
  put(out, flags);
  put_text(out, mmap.path, kLongestText);
  finish(out, begin, head);
}

void RecordBuilder::comm(std::string& out, const RecordHead& head, const Comm& comm) const {
  const size_t begin = begin_record(out, RecordType::comm, head.misc);
  put(out, comm.pid);
  put(out, comm.tid);
  put_text(out, comm.name, kLongestText);
  finish(out, begin, head);
}

void RecordBuilder::fork(std::string& out, const RecordHead& head, const Fork& fork) const {
  const size_t begin = begin_record(out, RecordType::fork, head.misc);
  put(out, fork.pid);
  put(out, fork.parent_pid);
  put(out, fork.tid);
  put(out, fork.parent_tid);
  put(out, fork.time);
  finish(out, begin, head);
}

void RecordBuilder::namespaces(std::string& out, const RecordHead& head,
                               const Namespaces& namespaces) const {
  const size_t begin = begin_record(out, RecordType::namespaces, head.misc);
  const size_t count = std::min(namespaces.count, namespaces.links.size());
  put(out, namespaces.pid);
  put(out, namespaces.tid);
  put(out, static_cast<uint64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    put(out, namespaces.links.at(i).device);
    put(out, namespaces.links.at(i).inode);
  }
  finish(out, begin, head);
}

void RecordBuilder::ksymbol(std::string& out, const RecordHead& head, const Ksymbol& symbol) const {
  const size_t begin = begin_record(out, RecordType::ksymbol, head.misc);
  put(out, symbol.address);
  put(out, symbol.length);
  put(out, symbol.kind);
  put(out, static_cast<uint16_t>(symbol.unregister ? 1 : 0));
  put_text(out, symbol.name, kLongestSymbol);
  finish(out, begin, head);
}

void RecordBuilder::lost(std::string& out, const RecordHead& head, const Lost& lost) const {
  const size_t begin =
      begin_record(out, lost.samples ? RecordType::lost_samples : RecordType::lost, head.misc);
  if (!lost.samples) put(out, head.id);
  put(out, lost.count);
  finish(out, begin, head);
}

}  // namespace jitscope::perfdata
