// perf.data as bytes; see writer.h. Layout: header, ids, attributes, data, table of feature
// sections, their payloads, and the ids that came late.
#include "formats/perfdata/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "formats/perfdata/records.h"

namespace jitscope::perfdata {
namespace {

static_assert(std::endian::native == std::endian::little, "perf.data is written in native order");

constexpr uint64_t kFileMagic = 0x32454c4946524550;  // "PERFILE2"
constexpr size_t kNameAlignment = 64;                // NAME_ALIGN of tools/perf/util/header.c
constexpr uint64_t kDataSizeOffset = 48;             // of data.size in the header

template <typename T>
void put_value(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

void put_string(std::string& out, std::string_view text) {
  const size_t size = (text.size() / kNameAlignment + 1) * kNameAlignment;
  put_value(out, static_cast<uint32_t>(size));
  out.append(text.substr(0, text.find('\0')));
  out.append(size - std::min(text.size(), text.find('\0')), '\0');
}

void put_ids(std::string& out, std::span<const uint64_t> ids) {
  for (const uint64_t id : ids) put_value(out, id);
}

std::string string_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status MemoryOutput::append(std::span<const std::byte> bytes) {
  bytes_ += string_of(bytes);
  return {};
}

Status MemoryOutput::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset) {
    return fail(ErrorKind::not_possible, "overwriting beyond the end");
  }
  bytes_.replace(offset, bytes.size(), string_of(bytes));
  return {};
}

Status Writer::append(std::string_view bytes) {
  JITSCOPE_TRY(output_.append(std::as_bytes(std::span(bytes))));
  written_ += bytes.size();
  return {};
}

std::string Writer::attribute_entries() const {
  std::string out;
  for (const Entry& entry : entries_) {
    out += string_of(entry.attribute.attr);
    put_value(out, entry.ids_offset);
    put_value(out, entry.ids_written * sizeof(uint64_t));
  }
  return out;
}

std::string Writer::header_bytes(bool with_features) const {
  std::string out;
  put_value(out, kFileMagic);
  put_value(out, kFileHeaderSize);
  put_value(out, static_cast<uint64_t>(attr_bytes_ + 16));
  put_value(out, attrs_offset_);
  put_value(out, static_cast<uint64_t>(entries_.size() * (attr_bytes_ + 16)));
  put_value(out, data_offset_);
  put_value(out, data_size_);
  put_value(out, uint64_t{0});  // event types: gone since Linux 3.12
  put_value(out, uint64_t{0});
  std::array<uint64_t, 4> bits{};
  if (with_features) {
    for (const auto& [bit, payload] : features_) bits.at(bit / 64U) |= uint64_t{1} << (bit % 64U);
  }
  for (const uint64_t word : bits) put_value(out, word);
  return out;
}

Status Writer::check(const std::vector<Attribute>& attributes) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.attr.size() != attr_bytes_ || attr_bytes_ < kSmallestAttr ||
        attr_bytes_ % 8 != 0) {
      return fail(ErrorKind::usage,
                  fmt::format("perf_event_attr of {} bytes", attribute.attr.size()));
    }
  }
  return {};
}

Status Writer::begin(std::vector<Attribute> attributes) {
  if (attributes.empty()) return fail(ErrorKind::usage, "a perf.data file needs an event");
  attr_bytes_ = attributes.front().attr.size();
  JITSCOPE_TRY(check(attributes));
  std::string ids;
  for (Attribute& attribute : attributes) {
    Entry entry{std::move(attribute), kFileHeaderSize + ids.size(), 0};
    entry.ids_written = entry.attribute.ids.size();
    put_ids(ids, entry.attribute.ids);
    entries_.push_back(std::move(entry));
  }
  attrs_written_ = entries_.size();
  attrs_offset_ = kFileHeaderSize + ids.size();
  data_offset_ = attrs_offset_ + entries_.size() * (attr_bytes_ + 16);
  checkpoint_ = 0;
  return append(header_bytes(false) + ids + attribute_entries());
}

Status Writer::records(std::span<const std::byte> bytes) {
  JITSCOPE_TRY(output_.append(bytes));
  written_ += bytes.size();
  data_size_ += bytes.size();
  return {};
}

Status Writer::finished_round() {
  std::string record;
  put_value(record, static_cast<uint32_t>(RecordType::finished_round));
  put_value(record, uint16_t{0});
  put_value(record, uint16_t{8});
  return records(record);
}

Status Writer::checkpoint() {
  if (checkpoint_ == data_size_) return {};
  std::string size;
  put_value(size, data_size_);
  JITSCOPE_TRY(output_.overwrite(kDataSizeOffset, std::as_bytes(std::span(size))));
  checkpoint_ = data_size_;
  return {};
}

Status Writer::add_attributes(std::vector<Attribute> attributes) {
  JITSCOPE_TRY(check(attributes));
  for (Attribute& attribute : attributes) entries_.push_back({std::move(attribute), 0, 0});
  return {};
}

void Writer::add_ids(size_t attribute, std::span<const uint64_t> ids) {
  auto& known = entries_.at(attribute).attribute.ids;
  known.insert(known.end(), ids.begin(), ids.end());
}

void Writer::set_feature(uint8_t bit, std::string payload) {
  if (bit == 0) return;  // HEADER_RESERVED
  features_[bit] = std::move(payload);
}

Status Writer::write_new_ids() {
  bool any = false;
  for (Entry& entry : entries_) {
    if (entry.ids_written == entry.attribute.ids.size()) continue;
    std::string ids;
    put_ids(ids, entry.attribute.ids);
    entry.ids_offset = written_;
    entry.ids_written = entry.attribute.ids.size();
    JITSCOPE_TRY(append(ids));
    any = true;
  }
  if (!any || attrs_written_ != entries_.size()) return {};
  const std::string entries = attribute_entries();
  return output_.overwrite(attrs_offset_, std::as_bytes(std::span(entries)));
}

// The list of attributes cannot grow where it is: the whole of it goes to the end.
Status Writer::write_new_attributes() {
  if (attrs_written_ == entries_.size()) return {};
  attrs_offset_ = written_;
  attrs_written_ = entries_.size();
  return append(attribute_entries());
}

Status Writer::finish() {
  const auto descriptions = static_cast<uint8_t>(Feature::event_descriptions);
  const bool named = std::ranges::any_of(
      entries_, [](const Entry& entry) { return !entry.attribute.name.empty(); });
  if (named && !features_.contains(descriptions)) {
    std::string out;
    put_value(out, static_cast<uint32_t>(entries_.size()));
    put_value(out, static_cast<uint32_t>(attr_bytes_));
    for (const Entry& entry : entries_) {
      out += string_of(entry.attribute.attr);
      put_value(out, static_cast<uint32_t>(entry.attribute.ids.size()));
      put_string(out, entry.attribute.name);
      put_ids(out, entry.attribute.ids);
    }
    features_[descriptions] = std::move(out);
  }
  std::string table;
  uint64_t at = data_offset_ + data_size_ + features_.size() * 16;
  for (const auto& [bit, payload] : features_) {
    put_value(table, at);
    put_value(table, static_cast<uint64_t>(payload.size()));
    at += payload.size();
  }
  JITSCOPE_TRY(append(table));
  for (const auto& [bit, payload] : features_) JITSCOPE_TRY(append(payload));
  JITSCOPE_TRY(write_new_ids());
  JITSCOPE_TRY(write_new_attributes());
  const std::string header = header_bytes(true);
  JITSCOPE_TRY(output_.overwrite(0, std::as_bytes(std::span(header))));
  checkpoint_ = data_size_;
  return {};
}

std::string string_feature(std::string_view text) {
  std::string out;
  put_string(out, text);
  return out;
}

std::string string_list_feature(std::span<const std::string> words) {
  std::string out;
  put_value(out, static_cast<uint32_t>(words.size()));
  for (const std::string& word : words) put_string(out, word);
  return out;
}

std::string cpu_count_feature(uint32_t available, uint32_t online) {
  std::string out;
  put_value(out, available);
  put_value(out, online);
  return out;
}

std::string sample_time_feature(uint64_t first, uint64_t last) {
  std::string out;
  put_value(out, first);
  put_value(out, last);
  return out;
}

std::string clockid_feature(uint64_t resolution_ns) {
  std::string out;
  put_value(out, resolution_ns);
  return out;
}

std::string clock_data_feature(uint32_t clockid, uint64_t wall_ns, uint64_t clock_ns) {
  std::string out;
  put_value(out, uint32_t{1});  // version
  put_value(out, clockid);
  put_value(out, wall_ns);
  put_value(out, clock_ns);
  return out;
}

std::string build_id_entry(int32_t pid, bool kernel, std::span<const std::byte> id,
                           std::string_view path) {
  constexpr size_t kIdBytes = 20;
  constexpr uint16_t kUser = 2;           // PERF_RECORD_MISC_USER
  constexpr uint16_t kKernel = 1;         // PERF_RECORD_MISC_KERNEL
  constexpr uint16_t kSized = 1U << 15U;  // PERF_RECORD_MISC_BUILD_ID_SIZE
  constexpr size_t kLongestPath = 4095;
  id = id.first(std::min(id.size(), kIdBytes));
  path = path.substr(0, std::min(path.find('\0'), kLongestPath));
  const size_t name = (path.size() / kNameAlignment + 1) * kNameAlignment;
  std::string out;
  put_value(out, uint32_t{0});
  put_value(out, static_cast<uint16_t>((kernel ? kKernel : kUser) | kSized));
  put_value(out, static_cast<uint16_t>(8 + 4 + 24 + name));
  put_value(out, pid);
  out += string_of(id);
  out.append(kIdBytes - id.size(), '\0');
  put_value(out, static_cast<uint8_t>(id.size()));
  out.append(3, '\0');
  out.append(path);
  out.append(name - path.size(), '\0');
  return out;
}

}  // namespace jitscope::perfdata
