#include "render/script_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "render/json.h"

namespace jitscope {
namespace {

// A name must not look like the end of a line or of a frame.
void append_name(std::string& out, std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
}

}  // namespace

ScriptText::ScriptText(const Session& session, const FrameTable& frames,
                       const ScriptOptions& options, Write write)
    : session_(session),
      frames_(frames),
      options_(options),
      write_(std::move(write)),
      texts_(kBlock, '\0'),
      buffer_(kPiece + kBlock) {}

bool ScriptText::flush() {
  const bool going_on = used_ == 0 || write_(std::string_view(buffer_.data(), used_));
  used_ = 0;
  return going_on;
}

void ScriptText::reserve(size_t bytes) {
  if (used_ + bytes + kBlock > buffer_.size()) buffer_.resize((used_ + bytes) * 2 + kBlock);
}

void ScriptText::put(std::string_view text) {
  reserve(text.size());
  std::memcpy(buffer_.data() + used_, text.data(), text.size());
  used_ += text.size();
}

void ScriptText::put_padded(std::string_view text, size_t width) {
  constexpr std::string_view blanks = "                                ";
  for (size_t missing = text.size() < width ? width - text.size() : 0; missing > 0;) {
    const size_t count = std::min(missing, blanks.size());
    put(blanks.substr(0, count));
    missing -= count;
  }
  put(text);
}

void ScriptText::put_decimal(uint64_t value, size_t width, char fill) {
  std::array<char, 24> digits{};
  size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (digits.size() - at < width && at > 0) digits[--at] = fill;
  put(std::string_view(digits.data() + at, digits.size() - at));
}

void ScriptText::make_text(LocationId id) {
  const Location& location = session_.location(id);
  std::string text;
  std::vector<FrameId> ids = session_.resolver().inlined(location);
  ids.push_back(location.frame);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Frame& frame = frames_[ids[i]];
    const bool inlined = i + 1 < ids.size();
    text += fmt::format("{:16x} ", location.shown_ip);
    if (frame.method.empty()) {
      text += "[unknown]";
    } else {
      const bool jit = frame.kind == FrameKind::jit || frame.kind == FrameKind::runtime ||
                       frame.kind == FrameKind::interpreted;
      append_name(text, jit ? frame.raw : frame.method);
      if (!inlined) text += fmt::format("+0x{:x}", location.symbol_offset);
      if (frame.ambiguous) text += '?';
    }
    text += " (";
    append_name(text, inlined ? "inlined" : std::string_view(session_.resolver().dso(location)));
    text += ")\n";
    if (options_.lines && !frame.file.empty()) {
      text += "  ";
      append_name(text, frame.file);
      text += fmt::format(":{}\n", frame.line);
    }
    // Frames behind the first begin a line of their own.
    if (inlined) text += '\t';
  }
  if (index_.size() <= id) index_.resize(std::max<size_t>(id + 1, session_.location_count()));
  const size_t offset = texts_.size() - kBlock;
  index_[id] = {static_cast<uint32_t>(offset), static_cast<uint32_t>(text.size())};
  texts_.replace(offset, std::string::npos, text);
  texts_.append(kBlock, '\0');
}

void ScriptText::put_location(LocationId id, bool tab) {
  if (index_.size() <= id || index_[id].length == 0) make_text(id);
  const Text text = index_[id];
  reserve(text.length + 1);
  char* to = buffer_.data() + used_;
  if (tab) *to++ = '\t';
  const char* from = texts_.data() + text.offset;
  for (size_t done = 0; done < text.length; done += kBlock) {
    std::memcpy(to + done, from + done, kBlock);
  }
  used_ = static_cast<size_t>(to - buffer_.data()) + text.length;
}

void ScriptText::append_head(const ResolvedSample& resolved) {
  const perfdata::Sample& sample = resolved.sample;
  const std::vector<perfdata::EventInfo>& events = session_.header().events;
  if (event_width_ == 0) {
    for (const perfdata::EventInfo& event : events) {
      event_width_ = std::max(event_width_, event.name.size());
    }
  }
  std::string name;
  append_name(name, resolved.thread.comm.empty() ? ":-1" : resolved.thread.comm);
  put_padded(name, resolved.callchain ? 0 : 16);
  put(" ");
  put_decimal(sample.head.tid, 5);
  put(" ");
  if (sample.head.cpu != UINT32_MAX) {
    put("[");
    put_decimal(sample.head.cpu, 3, '0');
    put("] ");
  }
  if (sample.head.has_time) {
    constexpr uint64_t second = 1'000'000'000;
    put_decimal(sample.head.time / second, 5);
    put(".");
    put_decimal(sample.head.time % second / 1000, 6, '0');
    put(": ");
  }
  if (sample.event < events.size()) {
    constexpr uint64_t sample_period_bit = 1U << 8U;
    if ((events[sample.event].sample_type & sample_period_bit) != 0) {
      put_decimal(sample.period, 10);
      put(" ");
    }
    put_padded(events[sample.event].name, event_width_);
    put(": ");
  }
}

void ScriptText::prefetch(LocationId id, bool text) const {
  if (id >= index_.size()) return;
  if (!text) {
    __builtin_prefetch(&index_[id]);
    return;
  }
  const char* from = texts_.data() + index_[id].offset;
  __builtin_prefetch(from);
  __builtin_prefetch(from + 64);
}

bool ScriptText::append(const ResolvedSample& sample) {
  append_head(sample);
  if (sample.callchain) {
    put("\n");
    // Texts lie far apart: those of the next frames are fetched while these are copied.
    constexpr size_t ahead = 6;
    for (size_t i = sample.stack.size(); i-- > 0;) {
      if (i >= 2 * ahead) prefetch(sample.stack[i - 2 * ahead], false);
      if (i >= ahead) prefetch(sample.stack[i - ahead], true);
      put_location(sample.stack[i], true);
    }
    put("\n");
  } else {
    put(" ");
    if (sample.stack.empty()) {
      put("\n");
    } else {
      put_location(sample.stack.back(), false);
    }
  }
  return used_ < kPiece || flush();
}

void append_script_json(std::string& out, const Session& session, const FrameTable& frames,
                        const ResolvedSample& resolved) {
  const perfdata::Sample& sample = resolved.sample;
  const std::vector<perfdata::EventInfo>& events = session.header().events;
  JsonObject object("sample");
  object.text("comm", resolved.thread.comm)
      .number("pid", sample.head.pid)
      .number("tid", sample.head.tid)
      .number("time", sample.head.time);
  if (sample.head.cpu != UINT32_MAX) object.number("cpu", sample.head.cpu);
  if (sample.event < events.size()) object.text("event", events[sample.event].name);
  object.number("period", sample.period).address("ip", sample.ip);
  std::string list = "[";
  for (size_t i = resolved.stack.size(); i-- > 0;) {
    const Location& location = session.location(resolved.stack[i]);
    std::vector<FrameId> ids = session.resolver().inlined(location);
    ids.push_back(location.frame);
    for (size_t k = 0; k < ids.size(); ++k) {
      const Frame& frame = frames[ids[k]];
      JsonObject each("");
      each.address("ip", location.shown_ip)
          .address("address", location.ip)
          .text("method", frame.method)
          .text("raw", frame.raw)
          .text("dso", frame.dso_path)
          .text("source", to_string(frame.source))
          .text("tier", to_string(frame.tier))
          .boolean("ambiguous", frame.ambiguous);
      if (k + 1 < ids.size()) {
        each.boolean("inlined", true);
      } else {
        each.number("offset", location.symbol_offset);
      }
      if (frame.ambiguous) each.text("candidates", frame.candidates);
      if (!frame.reason.empty()) each.text("reason", frame.reason);
      if (!frame.file.empty()) each.text("file", frame.file).number("line", frame.line);
      if (list.size() > 1) list += ',';
      list += each.str();
    }
  }
  object.raw("frames", list + "]");
  if (!sample.user_regs.empty()) {
    std::string registers = "{";
    size_t next = 0;
    for (unsigned bit = 0; bit < 64 && next < sample.user_regs.size(); ++bit) {
      if ((sample.user_regs_mask >> bit & 1U) == 0) continue;
      if (next != 0) registers += ',';
      registers += fmt::format("\"{}\":{}", bit, json_address(sample.user_regs[next]));
      ++next;
    }
    object.raw("user_regs", registers + "}");
  }
  out += object.str();
  out += '\n';
}

}  // namespace jitscope
