// Features and attributes; see features.h.
#include "formats/perfdata/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/byte_cursor.h"
#include "formats/perfdata/attr.h"
#include "formats/perfdata/decode.h"
#include "formats/perfdata/format.h"

namespace jitscope::perfdata {
namespace {

// No recording has more; beyond it a stranger only wants our memory.
constexpr size_t kMostBuildIdBytes = 64U << 20U;
constexpr size_t kMostArguments = 1U << 16U;
constexpr size_t kLongestEventName = 512;
constexpr uint64_t kUpdateName = 2;

// u32 length, then so many bytes that hold a NUL-terminated text.
std::string_view header_text(ByteCursor& cursor) {
  const std::span<const std::byte> bytes = cursor.bytes(cursor.u32());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

bool take_text(ByteCursor& cursor, std::string& out) {
  const std::string_view text = header_text(cursor);
  if (!cursor.ok()) return false;
  out = text;
  return true;
}

bool take_arguments(ByteCursor& cursor, std::vector<std::string>& out) {
  const uint32_t count = cursor.u32();
  std::vector<std::string> arguments;
  for (uint32_t i = 0; i < count && cursor.ok() && i < kMostArguments; ++i) {
    arguments.emplace_back(header_text(cursor));
  }
  if (!cursor.ok()) return false;
  out = std::move(arguments);
  return true;
}

}  // namespace

Status Gatherer::add_event(std::span<const std::byte> attr, std::span<const std::byte> ids) {
  const size_t size = std::min<size_t>(stored_attr_size(attr), attr.size());
  JITSCOPE_ASSIGN(EventInfo event, parse_attr(attr.first(size)));
  JITSCOPE_TRY(events_->add(event));
  if (keep_raw_) event.raw.assign(attr.begin(), attr.begin() + static_cast<ptrdiff_t>(size));
  const auto index = static_cast<uint32_t>(header_->events.size());
  ByteCursor cursor(ids);
  while (cursor.remaining() >= kWord) {
    const uint64_t id = cursor.u64();
    if (ids_left() == 0) {
      diagnostics_->note("more event ids than any recording has");
      break;
    }
    ++ids_;
    events_->add_id(id, index);
    event.ids.push_back(id);
  }
  header_->events.push_back(std::move(event));
  return {};
}

Status Gatherer::add_event_record(std::span<const std::byte> body) {
  const uint32_t size = stored_attr_size(body);
  if (size < kSmallestAttr || size > body.size()) {
    return fail(ErrorKind::damaged,
                fmt::format("an event attribute says it has {} bytes, its record has {}", size,
                            body.size()));
  }
  return add_event(body.first(size), body.subspan(size));
}

bool Gatherer::wants(uint64_t feature) const {
  using enum Feature;
  if (keep_raw_) return true;
  constexpr std::array wanted = {build_id,     hostname,     os_release,  version,
                                 arch,         cpu_count,    cpu_id,      cpu_description,
                                 total_memory, command_line, sample_time, event_descriptions,
                                 clockid,      compressed,   clock_data,  tracing_data};
  return std::ranges::find(wanted, static_cast<Feature>(feature)) != wanted.end();
}

void Gatherer::add_feature(uint64_t feature, std::span<const std::byte> bytes) {
  if (keep_raw_ && feature < kFeatureBits) {
    header_->raw_features[static_cast<uint8_t>(feature)].assign(bytes.begin(), bytes.end());
  }
  if (!take_feature(feature, bytes)) {
    diagnostics_->note("feature section that cannot be read", fmt::format("feature {}", feature));
  }
}

bool Gatherer::take_feature(uint64_t feature, std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  switch (static_cast<Feature>(feature)) {
    case Feature::tracing_data:
      if (!keep_raw_) header_->tracing_data.assign(bytes.begin(), bytes.end());
      return true;
    case Feature::build_id:
      return take_build_ids(bytes);
    case Feature::hostname:
      return take_text(cursor, header_->hostname);
    case Feature::os_release:
      return take_text(cursor, header_->os_release);
    case Feature::version:
      return take_text(cursor, header_->version);
    case Feature::arch:
      return take_text(cursor, header_->arch);
    case Feature::cpu_count:
      header_->cpus_available = cursor.u32();
      header_->cpus_online = cursor.u32();
      return cursor.ok();
    case Feature::cpu_description:
      return take_text(cursor, header_->cpu_description);
    case Feature::cpu_id:
      return take_text(cursor, header_->cpu_id);
    case Feature::total_memory:
      header_->total_memory = cursor.u64();
      return cursor.ok();
    case Feature::command_line:
      return take_arguments(cursor, header_->command_line);
    case Feature::event_descriptions:
      return take_event_names(bytes);
    case Feature::sample_time: {
      const uint64_t first = cursor.u64();
      const uint64_t last = cursor.u64();
      if (!cursor.ok()) return false;
      if (first == 0 && last == 0) return true;  // a pipe's: not known when it was written
      header_->first_sample_time = first;
      header_->last_sample_time = last;
      return true;
    }
    case Feature::clockid:
      header_->clockid_resolution = cursor.u64();
      return cursor.ok();
    case Feature::compressed: {
      cursor.skip(4);  // version
      const uint32_t kind = cursor.u32();
      if (cursor.ok()) compression_ = kind;
      return cursor.ok();
    }
    case Feature::clock_data: {
      cursor.skip(4);  // version
      Header::ClockPair pair;
      pair.clockid = cursor.u32();
      pair.wall = cursor.u64();
      pair.clock = cursor.u64();
      if (cursor.ok()) header_->clock_pair = pair;
      return cursor.ok();
    }
    default:
      return true;
  }
}

bool Gatherer::take_build_ids(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  while (cursor.remaining() >= kRecordHeadSize) {
    cursor.skip(4);  // type: 0 or 67
    const uint16_t misc = cursor.u16();
    const uint16_t size = cursor.u16();
    if (size < kRecordHeadSize) return false;
    BuildId build_id;
    if (!decode_build_id(misc, cursor.bytes(size - kRecordHeadSize), build_id)) return false;
    add_build_id(build_id);
  }
  return true;
}

void Gatherer::add_build_id(const BuildId& build_id) {
  build_id_bytes_ += sizeof(BuildIdEntry) + build_id.id.size() + build_id.path.size();
  if (build_id_bytes_ > kMostBuildIdBytes) {
    diagnostics_->note("more build ids than any recording has");
    return;
  }
  header_->build_ids.push_back({build_id.pid,
                                build_id.kernel,
                                {build_id.id.begin(), build_id.id.end()},
                                std::string(build_id.path)});
}

bool Gatherer::take_event_names(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const uint32_t count = cursor.u32();
  const uint32_t attr_size = cursor.u32();
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) {
    cursor.skip(attr_size);
    const uint32_t ids = cursor.u32();
    const std::string_view name = header_text(cursor);
    ByteCursor id_list = cursor.slice(uint64_t{ids} * kWord);
    if (!cursor.ok() || !id_list.ok()) return false;
    // An event without ids is known by its place alone.
    const uint32_t event = ids == 0 ? i : events_->event_of_id(id_list.u64());
    name_event(event, name);
  }
  return cursor.ok();
}

void Gatherer::name_event(uint32_t event, std::string_view name) {
  if (event >= header_->events.size() || name.empty()) return;
  header_->events[event].name = name.substr(0, kLongestEventName);
}

void Gatherer::update_event(std::span<const std::byte> body) {
  ByteCursor cursor(body);
  const uint64_t kind = cursor.u64();
  const uint64_t id = cursor.u64();
  if (!cursor.ok()) {
    diagnostics_->note("record too short for its type", "EVENT_UPDATE");
    return;
  }
  if (kind != kUpdateName) return;
  const std::span<const std::byte> rest = cursor.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  name_event(events_->event_of_id(id), text.substr(0, text.find('\0')));
}

}  // namespace jitscope::perfdata
