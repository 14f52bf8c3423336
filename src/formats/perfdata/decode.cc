// Record bodies, field by field through ByteCursor; see decode.h.
#include "formats/perfdata/decode.h"

#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"
#include "formats/perfdata/format.h"
#include "formats/perfdata/word.h"

namespace jitscope::perfdata {
namespace {

constexpr uint32_t kProtExec = 4;
constexpr uint32_t kMapTypeMask = 0xf;
constexpr uint32_t kMapPrivate = 2;
constexpr size_t kBuildIdSpace = 20;

// Text that ends at a NUL, or with the record when a careless writer left it out.
std::string_view text_field(ByteCursor& cursor) {
  const std::span<const std::byte> rest = cursor.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  return text.substr(0, text.find('\0'));
}

void decode(ByteCursor& cursor, const RecordHead& head, Mmap& out) {
  out.pid = cursor.u32();
  out.tid = cursor.u32();
  out.start = cursor.u64();
  out.length = cursor.u64();
  out.page_offset = cursor.u64();
  const CpuMode mode = cpu_mode(head.misc);
  out.kernel = mode == CpuMode::kernel || mode == CpuMode::guest_kernel;
  out.guest = mode == CpuMode::guest_kernel || mode == CpuMode::guest_user;
  if (head.type == RecordType::mmap) {
    out.executable = (head.misc & misc_bit::kMmapData) == 0;
    out.path = text_field(cursor);
    return;
  }
  if ((head.misc & misc_bit::kMmapBuildId) != 0) {
    const size_t length = std::min<size_t>(cursor.u8(), kBuildIdSpace);
    cursor.skip(3);
    const std::span<const std::byte> id = cursor.bytes(kBuildIdSpace);
    if (cursor.ok()) out.build_id = id.first(length);
  } else {
    out.has_inode = true;
    out.major = cursor.u32();
    out.minor = cursor.u32();
    out.inode = cursor.u64();
    out.generation = cursor.u64();
  }
  // perf makes up records for the kernel and its modules without saying how they are mapped.
  out.executable = (cursor.u32() & kProtExec) != 0 || out.kernel;
  const uint32_t flags = cursor.u32() & kMapTypeMask;
  out.shared = flags != 0 && flags != kMapPrivate;
  out.path = text_field(cursor);
}

void decode(ByteCursor& cursor, const RecordHead& head, Comm& out) {
  out.pid = cursor.u32();
  out.tid = cursor.u32();
  out.name = text_field(cursor);
  out.exec = (head.misc & misc_bit::kCommExec) != 0;
}

void decode(ByteCursor& cursor, const RecordHead& /*head*/, Fork& out) {
  out.pid = cursor.u32();
  out.parent_pid = cursor.u32();
  out.tid = cursor.u32();
  out.parent_tid = cursor.u32();
  out.time = cursor.u64();
}

void decode(ByteCursor& cursor, const RecordHead& head, Lost& out) {
  out.samples = head.type == RecordType::lost_samples;
  if (!out.samples) cursor.skip(8);  // id
  out.count = cursor.u64();
}

void decode(ByteCursor& cursor, const RecordHead& head, Switch& out) {
  out.out = (head.misc & misc_bit::kSwitchOut) != 0;
  if (head.type != RecordType::switch_cpu_wide) return;
  out.other_pid = cursor.u32();
  out.other_tid = cursor.u32();
}

void decode(ByteCursor& cursor, const RecordHead& /*head*/, Namespaces& out) {
  out.pid = cursor.u32();
  out.tid = cursor.u32();
  const uint64_t count = cursor.u64();
  // A later kernel may know more kinds than we do.
  out.count = static_cast<size_t>(std::min<uint64_t>(count, out.links.size()));
  for (size_t i = 0; i < out.count; ++i) {
    out.links[i].device = cursor.u64();
    out.links[i].inode = cursor.u64();
  }
}

void decode(ByteCursor& cursor, const RecordHead& /*head*/, Ksymbol& out) {
  out.address = cursor.u64();
  out.length = cursor.u32();
  out.kind = cursor.u16();
  out.unregister = (cursor.u16() & 1U) != 0;
  out.name = text_field(cursor);
}

void decode(ByteCursor& cursor, const RecordHead& /*head*/, BpfEvent& out) {
  out.kind = cursor.u16();
  cursor.skip(2);
  out.id = cursor.u32();
  out.tag = cursor.bytes(8);
}

void decode(ByteCursor& cursor, const RecordHead& /*head*/, Cgroup& out) {
  out.id = cursor.u64();
  out.path = text_field(cursor);
}

template <typename T>
bool decode_as(std::span<const std::byte> body, Record& record) {
  ByteCursor cursor(body);
  decode(cursor, record.head, record.body.emplace<T>());
  return cursor.ok();
}

bool decode_fork(std::span<const std::byte> body, Record& record, bool exit) {
  Fork fork;
  ByteCursor cursor(body);
  decode(cursor, record.head, fork);
  if (!cursor.ok()) return false;
  if (!record.head.has_time && fork.time != 0) {
    record.head.time = fork.time;
    record.head.has_time = true;
  }
  if (exit) {
    record.body = Exit{fork};
  } else {
    record.body = fork;
  }
  return true;
}

}  // namespace

CpuMode cpu_mode(uint16_t misc) {
  const uint16_t mode = misc & misc_bit::kCpuModeMask;
  return mode <= static_cast<uint16_t>(CpuMode::guest_user) ? static_cast<CpuMode>(mode)
                                                            : CpuMode::unknown;
}

std::span<const std::byte> split_trailer(const SampleLayout* layout,
                                         std::span<const std::byte> body, RecordHead& head) {
  constexpr uint8_t absent = SampleLayout::kAbsent;
  if (layout == nullptr || body.size() < layout->trailer_words * kWord) return body;
  const std::span<const std::byte> trailer = body.last(layout->trailer_words * kWord);
  if (layout->trailer_tid != absent) {
    const uint64_t ids = word_at(trailer, layout->trailer_tid);
    head.pid = low_half(ids);
    head.tid = high_half(ids);
  }
  if (layout->trailer_time != absent) {
    head.time = word_at(trailer, layout->trailer_time);
    head.has_time = true;
  }
  if (layout->trailer_id != absent) head.id = word_at(trailer, layout->trailer_id);
  if (layout->trailer_cpu != absent) head.cpu = low_half(word_at(trailer, layout->trailer_cpu));
  return body.first(body.size() - trailer.size());
}

bool decode_body(std::span<const std::byte> body, Record& record) {
  switch (record.head.type) {
    case RecordType::mmap:
    case RecordType::mmap2:
      return decode_as<Mmap>(body, record);
    case RecordType::comm:
      return decode_as<Comm>(body, record);
    case RecordType::fork:
      return decode_fork(body, record, false);
    case RecordType::exit:
      return decode_fork(body, record, true);
    case RecordType::lost:
    case RecordType::lost_samples:
      return decode_as<Lost>(body, record);
    case RecordType::switch_:
    case RecordType::switch_cpu_wide:
      return decode_as<Switch>(body, record);
    case RecordType::namespaces:
      return decode_as<Namespaces>(body, record);
    case RecordType::ksymbol:
      return decode_as<Ksymbol>(body, record);
    case RecordType::bpf_event:
      return decode_as<BpfEvent>(body, record);
    case RecordType::cgroup:
      return decode_as<Cgroup>(body, record);
    case RecordType::build_id:
      return decode_build_id(record.head.misc, body, record.body.emplace<BuildId>());
    default:
      record.body = Other{body};
      return true;
  }
}

bool decode_build_id(uint16_t misc, std::span<const std::byte> body, BuildId& out) {
  ByteCursor cursor(body);
  out.pid = cursor.i32();
  const std::span<const std::byte> id = cursor.bytes(kBuildIdSpace);
  const uint8_t size = cursor.u8();
  cursor.skip(3);
  if (!cursor.ok()) return false;
  const CpuMode mode = cpu_mode(misc);
  out.kernel = mode == CpuMode::kernel || mode == CpuMode::guest_kernel;
  size_t length = kBuildIdSpace;
  if ((misc & misc_bit::kBuildIdSize) != 0) {
    length = std::min<size_t>(size, kBuildIdSpace);
  } else {
    // Older writers filled up with zeros and did not say how long the id is.
    const auto zero = [](std::byte b) { return b == std::byte{0}; };
    while (length != 0 && std::ranges::all_of(id.subspan(length - 4, 4), zero)) length -= 4;
  }
  out.id = id.first(length);
  out.path = text_field(cursor);
  return true;
}

std::optional<Header::TimeConversion> decode_time_conversion(std::span<const std::byte> body) {
  ByteCursor cursor(body);
  Header::TimeConversion conversion;
  conversion.shift = cursor.u64();
  conversion.multiplier = cursor.u64();
  conversion.zero = cursor.u64();
  if (!cursor.ok()) return std::nullopt;
  // Added later.
  conversion.cycles = cursor.u64();
  conversion.mask = cursor.u64();
  cursor.skip(1);  // whether user space can read the zero time
  conversion.capable_short = cursor.u8() != 0;
  if (!cursor.ok()) {
    conversion.cycles = conversion.mask = 0;
    conversion.capable_short = false;
  }
  return conversion;
}

}  // namespace jitscope::perfdata
