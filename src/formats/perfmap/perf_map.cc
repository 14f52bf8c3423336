// Perf map lines from chunks of text; see perf_map.h. Relies on ByteCursor for every access.
#include "formats/perfmap/perf_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// The characters up to the next blank, which stays.
std::string_view take_word(std::string_view& text) {
  const auto end = std::ranges::find_if(text, is_blank);
  const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

// A line as an example in a message: short, and nothing that a terminal would act on.
std::string shown(std::string_view line) {
  std::string out(line.substr(0, 60));
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  if (line.size() > 60) out += "...";
  return out;
}

}  // namespace

void PerfMapParser::damaged(std::string_view kind, std::string_view line) {
  diagnostics_->note(kind, fmt::format("{}:{}: {}", where_, number_, shown(line)));
}

void PerfMapParser::take_line(std::string_view line, std::vector<PerfMapLine>& out) {
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kLongestLine) {
    damaged("perf map line that is too long", line);
    return;
  }
  std::string_view rest = line;
  skip_blanks(rest);
  if (rest.empty()) return;  // an empty line says nothing and hides nothing
  const std::optional<uint64_t> address = parse_hex(take_word(rest));
  if (!address) {
    damaged("perf map line without an address", line);
    return;
  }
  skip_blanks(rest);
  const std::optional<uint64_t> size = parse_hex(take_word(rest));
  if (!size) {
    damaged("perf map line without a size", line);
    return;
  }
  skip_blanks(rest);
  if (rest.empty()) {
    damaged("perf map line without a name", line);
    return;
  }
  if (!checked_add(*address, *size)) {
    damaged("perf map line whose range leaves the address space", line);
    return;
  }
  out.push_back(PerfMapLine{*address, *size, std::string(rest), number_});
}

void PerfMapParser::feed(std::string_view chunk, std::vector<PerfMapLine>& out) {
  ByteCursor cursor(chunk);
  while (!cursor.at_end()) {
    const std::string_view piece = cursor.line();
    const bool complete = chunk[cursor.offset() - 1] == '\n';
    if (skipping_) {
      skipping_ = !complete;
      continue;
    }
    if (partial_.empty() && complete) {
      take_line(piece, out);
      continue;
    }
    // One byte more than allowed is enough to know that the line is too long.
    partial_ += piece.substr(0, std::min(piece.size(), kLongestLine + 2 - partial_.size()));
    if (complete) {
      take_line(partial_, out);
      partial_.clear();
    } else if (partial_.size() > kLongestLine + 1) {
      take_line(partial_, out);  // counts it as too long
      partial_.clear();
      skipping_ = true;
    }
  }
}

void PerfMapParser::finish(std::vector<PerfMapLine>& out) {
  if (!partial_.empty()) take_line(partial_, out);
  partial_.clear();
  skipping_ = false;
}

void PerfMapParser::reset() {
  partial_.clear();
  skipping_ = false;
  number_ = 0;
}

}  // namespace jitscope
