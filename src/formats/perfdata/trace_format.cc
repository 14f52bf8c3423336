// Formats of tracepoints and the fields of their payloads; see trace_format.h.
#include "formats/perfdata/trace_format.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/byte_cursor.h"

namespace jitscope::perfdata {
namespace {

// No event of a kernel has as many; beyond it a stranger only wants our memory.
constexpr size_t kMostFields = 512;
constexpr size_t kLongestName = 256;
constexpr size_t kMostNumbers = 64;
constexpr std::string_view kTracingMagic = "\x17\x08\x44tracing";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::string_view take_until(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::optional<uint32_t> small_number(std::string_view text) {
  const auto number = parse_decimal(trimmed(text));
  if (!number || *number > UINT16_MAX) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    if (take_until(text, ' ') == word) return true;
  }
  return false;
}

uint32_t element_size(std::string_view type, uint32_t size, std::optional<uint32_t> count) {
  if (count && *count != 0 && size != 0 && size % *count == 0) return size / *count;
  if (has_word(type, "short") || type.contains("16")) return 2;
  if (has_word(type, "long") || type.contains("64")) return 8;
  if (has_word(type, "int") || type.contains("32")) return 4;
  return 1;
}

// "char prev_comm[16]", "__data_loc char[] filename", "const char * filename": name and kind.
bool take_declaration(std::string_view text, TraceField& field) {
  constexpr std::string_view kDataLoc = "__data_loc ";
  constexpr std::string_view kRelLoc = "__rel_loc ";
  if (text.starts_with(kDataLoc)) {
    field.place = TraceField::Place::data_loc;
    text.remove_prefix(kDataLoc.size());
  } else if (text.starts_with(kRelLoc)) {
    field.place = TraceField::Place::rel_loc;
    text.remove_prefix(kRelLoc.size());
  }
  bool array = field.place != TraceField::Place::here;
  std::optional<uint32_t> count;
  if (text.ends_with(']')) {
    array = true;
    const size_t open = text.rfind('[');
    if (open == std::string_view::npos) return false;
    count = small_number(text.substr(open + 1, text.size() - open - 2));
    text = trimmed(text.substr(0, open));
  }
  const size_t blank = text.find_last_of(" *");
  const std::string_view name = blank == std::string_view::npos ? text : text.substr(blank + 1);
  std::string_view type = blank == std::string_view::npos ? "" : text.substr(0, blank + 1);
  if (name.empty() || name.size() > kLongestName) return false;
  field.name = name;
  const bool pointer = type.contains('*');
  type = trimmed(type);
  if (type.ends_with("[]")) type = trimmed(type.substr(0, type.size() - 2));
  if (array) {
    const bool text_like = has_word(type, "char") && !has_word(type, "unsigned") && !pointer;
    field.kind = text_like ? TraceField::Kind::text : TraceField::Kind::numbers;
    field.element = element_size(type, field.size, count);
  } else if (pointer || (has_word(type, "unsigned") && has_word(type, "long"))) {
    field.kind = TraceField::Kind::hexadecimal;  // most of them are addresses
  }
  return true;
}

// Behind "field:".
std::optional<TraceField> parse_field(std::string_view line) {
  TraceField field;
  const std::string_view declaration = trimmed(take_until(line, ';'));
  std::optional<uint32_t> offset;
  std::optional<uint32_t> size;
  while (!line.empty()) {
    std::string_view part = trimmed(take_until(line, ';'));
    const std::string_view key = take_until(part, ':');
    const auto value = small_number(part);
    if (key == "offset") offset = value;
    if (key == "size") size = value;
    if (key == "signed") field.is_signed = value.value_or(0) != 0;
  }
  if (!offset || !size) return std::nullopt;
  field.offset = *offset;
  field.size = *size;
  if (!take_declaration(declaration, field)) return std::nullopt;
  return field;
}

std::optional<std::string_view> sized_text(ByteCursor& cursor) {
  const std::span<const std::byte> bytes = cursor.bytes(cursor.u64());
  if (!cursor.ok()) return std::nullopt;
  return text_of(bytes);
}

bool skip_preamble(ByteCursor& cursor) {
  if (text_of(cursor.bytes(kTracingMagic.size())) != kTracingMagic) return false;
  (void)cursor.c_string();  // version
  const uint8_t endian = cursor.u8();
  cursor.skip(1 + 4);
  for (const std::string_view section : {"header_page", "header_event"}) {
    if (!cursor.ok() || cursor.c_string() != section) return false;
    (void)sized_text(cursor);
  }
  const uint32_t count = cursor.u32();
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) (void)sized_text(cursor);
  return cursor.ok() && endian == 0;
}

uint64_t extended(uint64_t value, size_t bytes, bool is_signed) {
  if (!is_signed || bytes >= sizeof(value) || bytes == 0) return value;
  const uint64_t sign = 1ULL << (bytes * 8 - 1);
  return (value ^ sign) - sign;
}

std::optional<uint64_t> number_of(std::span<const std::byte> bytes, bool is_signed) {
  ByteCursor cursor(bytes);
  switch (bytes.size()) {
    case 1:
      return extended(cursor.u8(), 1, is_signed);
    case 2:
      return extended(cursor.u16(), 2, is_signed);
    case 4:
      return extended(cursor.u32(), 4, is_signed);
    case 8:
      return cursor.u64();
    default:
      return std::nullopt;
  }
}

std::optional<std::span<const std::byte>> bytes_of(const TraceField& field,
                                                   std::span<const std::byte> payload) {
  ByteCursor cursor(payload);
  cursor.skip(field.offset);
  std::span<const std::byte> bytes = cursor.bytes(field.size);
  if (!cursor.ok()) return std::nullopt;
  if (field.place == TraceField::Place::here) return bytes;
  ByteCursor where(bytes);
  uint64_t offset = where.u16();
  const uint64_t size = where.u16();
  if (!where.ok()) return std::nullopt;
  if (field.place == TraceField::Place::rel_loc) offset += field.offset + field.size;
  ByteCursor target(payload);
  target.skip(offset);
  bytes = target.bytes(size);
  if (!target.ok()) return std::nullopt;
  return bytes;
}

}  // namespace

TraceFormat parse_trace_format(std::string_view text) {
  TraceFormat format;
  while (!text.empty() && format.fields.size() < kMostFields) {
    std::string_view line = trimmed(take_until(text, '\n'));
    const std::string_view key = take_until(line, ':');
    if (key == "name") {
      format.name = trimmed(line).substr(0, kLongestName);
    } else if (key == "ID") {
      format.id = parse_decimal(trimmed(line)).value_or(0);
    } else if (key == "field") {
      auto field = parse_field(line);
      if (field && !field->name.starts_with("common_")) format.fields.push_back(std::move(*field));
    } else if (key == "print fmt") {
      break;
    }
  }
  return format;
}

std::vector<TraceFormat> parse_tracing_data(std::span<const std::byte> bytes,
                                            std::set<uint64_t> wanted) {
  std::vector<TraceFormat> formats;
  ByteCursor cursor(bytes);
  if (!skip_preamble(cursor)) return formats;
  const uint32_t systems = cursor.u32();
  for (uint32_t i = 0; i < systems && cursor.ok(); ++i) {
    (void)cursor.c_string();
    const uint32_t count = cursor.u32();
    for (uint32_t k = 0; k < count && cursor.ok(); ++k) {
      const auto text = sized_text(cursor);
      if (!text) break;
      TraceFormat format = parse_trace_format(*text);
      if (wanted.erase(format.id) != 0) formats.push_back(std::move(format));
    }
  }
  return formats;
}

bool read_trace_field(const TraceField& field, std::span<const std::byte> payload,
                      TraceValue& value) {
  const auto bytes = bytes_of(field, payload);
  if (!bytes) return false;
  switch (field.kind) {
    case TraceField::Kind::text: {
      const std::string_view text = text_of(*bytes);
      value = text.substr(0, text.find('\0'));
      return true;
    }
    case TraceField::Kind::numbers: {
      TraceNumbers numbers;
      for (size_t at = 0; numbers.size() < kMostNumbers && at < bytes->size();
           at += field.element) {
        if (field.element > bytes->size() - at) break;
        const auto number = number_of(bytes->subspan(at, field.element), field.is_signed);
        if (!number) return false;
        numbers.push_back(*number);
      }
      value = std::move(numbers);
      return true;
    }
    case TraceField::Kind::number:
    case TraceField::Kind::hexadecimal:
      break;
  }
  const auto number = number_of(*bytes, field.is_signed);
  if (number) value = *number;
  return number.has_value();
}

}  // namespace jitscope::perfdata
