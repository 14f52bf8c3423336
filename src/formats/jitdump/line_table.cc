// DEBUG_INFO records; see line_table.h and what jitdump.h says of writers.
#include "formats/jitdump/line_table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/byte_cursor.h"
#include "base/utf8.h"

namespace jitscope::jitdump {
namespace {

constexpr uint64_t kV8Bias = 0x40;
constexpr uint32_t kV8Pad = 0xdeadbeef;
constexpr size_t kEntryHead = 16;  // address, line, discriminator
constexpr std::string_view kSameFile = "\xff";

bool is_text(std::string_view name) {
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control) return false;
  while (!name.empty()) {
    const size_t length = utf8_length(name);
    if (length == 0) return false;
    name.remove_prefix(length);
  }
  return true;
}

// Of a V8 name `JS:*f /srv/app.js:1:2` (Node 18: `LazyCompile:*f /srv/app.js:1`) the script, when
// it has this length; else nothing.
std::string_view script_of(std::string_view name, size_t length) {
  for (int i = 0; i < 2; ++i) {
    const size_t colon = name.find_last_not_of("0123456789");
    if (colon == std::string_view::npos || colon + 1 == name.size() || name[colon] != ':') {
      if (i == 0) return {};
      break;
    }
    name = name.substr(0, colon);
  }
  if (length == 0 || name.size() <= length || name[name.size() - length - 1] != ' ') return {};
  return name.substr(name.size() - length);
}

// The entries of one record, one after the other, found again where a name is garbage.
class EntryScan {
 public:
  EntryScan(std::span<const std::byte> bytes, const Header& header, const Load& load)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        order_(header.order),
        v8_(header.pad == kV8Pad),
        load_(&load),
        // Addresses of a body without a size say nothing.
        low_(load.size == 0 ? 0 : load.address),
        high_(load.size == 0
                  ? UINT64_MAX
                  : checked_add(load.address + load.size, kV8Bias).value_or(UINT64_MAX)) {}

  void run(uint64_t count, std::vector<LineEntry>& out) {
    count_ = count;
    std::optional<size_t> at = find(0);
    dropped_ = at != std::optional<size_t>(0) && count != 0;
    while (at && done_ < count_) at = take(*at, out);
    if (done_ < count_) dropped_ = true;
  }
  [[nodiscard]] bool dropped() const { return dropped_; }

 private:
  [[nodiscard]] ByteCursor cursor(size_t at) const {
    ByteCursor result(std::as_bytes(std::span<const char>(text_.data(), text_.size())), order_);
    result.seek(at);
    return result;
  }
  [[nodiscard]] bool plausible(size_t at) const {
    ByteCursor bytes = cursor(at);
    const uint64_t address = bytes.u64();
    bytes.skip(kEntryHead - sizeof(uint64_t));
    return bytes.ok() && !bytes.at_end() && address >= low_ && address <= high_;
  }
  // The first plausible entry at or behind `at`. Every offset is tried once in a whole run.
  [[nodiscard]] std::optional<size_t> find(size_t at) const {
    for (; at + kEntryHead < text_.size(); ++at) {
      if (plausible(at)) return at;
    }
    return std::nullopt;
  }

  // Takes the entry at `at`; where the next one is.
  std::optional<size_t> take(size_t at, std::vector<LineEntry>& out) {
    ByteCursor bytes = cursor(at);
    LineEntry entry;
    entry.address = bytes.u64();
    entry.line = bytes.u32();
    entry.discriminator = bytes.u32();
    const size_t start = at + kEntryHead;
    const size_t nul = text_.find('\0', start);
    if (nul == std::string_view::npos) {
      dropped_ = true;
      done_ = count_;
      return std::nullopt;
    }
    ++done_;
    std::string_view name = text_.substr(start, nul - start);
    size_t next = nul + 1;
    std::optional<size_t> found = next;
    if (done_ < count_ && !plausible(next)) {
      dropped_ = true;
      found = find(next + 1);
      if (v8_) name = text_.substr(start, (found ? *found - 1 : last_name_end(start)) - start);
    } else if (done_ == count_ && v8_ && text_.size() - next >= sizeof(uint64_t)) {
      // More than padding is left: the name had a NUL inside.
      name = text_.substr(start, last_name_end(start) - start);
    }
    entry.file = file_of(name);
    out.push_back(entry);
    return found;
  }

  // Where the name of the last entry ends when it holds NULs: as long as the script's.
  [[nodiscard]] size_t last_name_end(size_t start) const {
    const size_t rest = text_.size() - start;  // name, NUL, up to 7 bytes of padding
    for (size_t padding = 0; padding < sizeof(uint64_t) && padding < rest; ++padding) {
      const size_t length = rest - 1 - padding;
      if (!script_of(load_->name, length).empty()) return start + length;
    }
    return start;
  }

  std::string_view file_of(std::string_view name) {
    if (name == kSameFile) return last_file_;
    if (name == last_name_ && name.data() != nullptr && known_) return last_file_;
    last_name_ = name;
    known_ = true;
    if (is_text(name)) {
      last_file_ = name;
    } else {
      dropped_ = true;
      last_file_ = v8_ ? script_of(load_->name, name.size()) : std::string_view();
      if (!is_text(last_file_)) last_file_ = {};
    }
    return last_file_;
  }

  std::string_view text_;
  std::endian order_;
  bool v8_;
  const Load* load_;
  uint64_t low_;
  uint64_t high_;
  uint64_t count_ = 0;
  uint64_t done_ = 0;
  bool dropped_ = false;
  bool known_ = false;
  std::string_view last_name_;
  std::string_view last_file_;
};

}  // namespace

void LineTables::keep(std::span<const std::byte> record, const Header& header,
                      Diagnostics& diagnostics) {
  ByteCursor bytes(record, header.order);
  bytes.skip(16);  // prefix
  const uint64_t address = bytes.u64();
  const auto content = bytes.rest();  // the number of entries, and the entries
  if (!bytes.ok() || content.size() < sizeof(uint64_t)) {
    diagnostics.note("jitdump line table without its fields");
    return;
  }
  pending_.keep(address, content, diagnostics);
}

std::span<const LineEntry> LineTables::take(const Header& header, const Load& load,
                                            Diagnostics& diagnostics) {
  lines_.clear();
  const auto mine = pending_.take(load.address, diagnostics);
  if (mine) {
    ByteCursor bytes(*mine, header.order);
    const uint64_t count = bytes.u64();
    EntryScan scan(bytes.rest(), header, load);
    scan.run(count, lines_);
    if (scan.dropped()) diagnostics.note("jitdump line table with damaged entries", load.name);
  }
  return lines_;
}

uint64_t v8_line_bias(const Header& header, const Load& load) {
  static constexpr std::string_view kPrefixes[] = {
      "JS:",      "LazyCompile:",     "Function:", "Script:",  "Eval:",     "RegExp:",
      "Builtin:", "BytecodeHandler:", "Stub:",     "Handler:", "Callback:",
  };
  const bool v8 = header.pad == kV8Pad || std::ranges::any_of(kPrefixes, [&](std::string_view p) {
                    return load.name.starts_with(p);
                  });
  if (!v8 || load.lines.empty()) return 0;
  const bool biased = std::ranges::all_of(load.lines, [&](const LineEntry& entry) {
    return entry.address >= kV8Bias && entry.address - kV8Bias >= load.address &&
           entry.address - kV8Bias - load.address <= load.size;
  });
  return biased ? kV8Bias : 0;
}

}  // namespace jitscope::jitdump
