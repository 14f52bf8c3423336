#include "render/script_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "naming/frame_name.h"
#include "render/json.h"

namespace jitscope {
namespace {

void append_hex(std::string& out, uint64_t value, size_t width) {
  std::array<char, 16> digits{};
  size_t at = digits.size();
  do {
    digits[--at] = "0123456789abcdef"[value & 15U];
    value >>= 4U;
  } while (value != 0);
  while (digits.size() - at < width) digits[--at] = ' ';
  out.append(digits.data() + at, digits.size() - at);
}

}  // namespace

// A line that begins with a blank is a frame to those who read the text, one with `#` a comment:
// the sample of a thread that calls itself so would be lost.
void append_comm(std::string& out, std::string_view comm) {
  if (comm.empty()) {
    out += ":-1";
    return;
  }
  if (comm.front() == ' ' || comm.front() == '\t' || comm.front() == '#') {
    out += fmt::format("\\x{:02x}", comm.front());
    comm.remove_prefix(1);
  }
  append_printable(out, comm);
}

namespace {

char* put(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// At most 24 bytes.
char* put_decimal(char* to, uint64_t value, size_t width, char fill = ' ') {
  std::array<char, 24> digits{};
  size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (digits.size() - at < width && at > 0) digits[--at] = fill;
  return put(to, std::string_view(digits.data() + at, digits.size() - at));
}

}  // namespace

ScriptText::ScriptText(const Session& session, const FrameTable& frames,
                       const ScriptOptions& options, Write write)
    : session_(session),
      frames_(frames),
      options_(options),
      payloads_(session.header()),
      write_(std::move(write)),
      buffer_(3 * kPiece) {}

bool ScriptText::flush() {
  finish_stack();
  return write_out();
}

bool ScriptText::write_out() {
  const bool going_on =
      used_ == written_ || write_(std::string_view(buffer_.data() + written_, used_ - written_));
  written_ = used_;
  if (used_ >= 2 * kPiece) {
    written_ = used_ = 0;
    ++lap_;
  }
  return going_on;
}

char* ScriptText::reserve(size_t bytes) {
  const size_t needed = used_ + bytes + sizeof(Text);
  if (needed > buffer_.size()) buffer_.resize(needed * 2);
  return buffer_.data() + used_;
}

const std::string& ScriptText::name_text(FrameId id, const Frame& frame) {
  if (names_.size() <= id) names_.resize(std::max<size_t>(id + 1, frames_.size()));
  std::string& text = names_[id];
  if (text.empty()) text = symbol_text(frame);
  return text;
}

void ScriptText::make_text(LocationId id) {
  const Location location = session_.location(id);
  std::string& text = line_;
  text.clear();
  const auto append = [&](FrameId frame_id, bool inlined) {
    const Frame& frame = frames_[frame_id];
    text += '\t';
    append_hex(text, location.shown_ip, 16);
    text += ' ';
    text += name_text(frame_id, frame);
    if (!frame.method.empty()) {
      if (!inlined) {
        text += "+0x";
        append_hex(text, location.symbol_offset, 0);
      }
      if (frame.ambiguous) text += '?';
    }
    text += " (";
    append_printable(text,
                     inlined ? "inlined" : std::string_view(session_.resolver().dso(location)));
    text += ")\n";
    if (options_.lines && !frame.file.empty()) {
      text += "  ";
      append_printable(text, frame.file);
      text += fmt::format(":{}\n", frame.line);
    }
  };
  for (const FrameId inlined : session_.resolver().inlined(location)) append(inlined, true);
  append(location.frame, false);
  if (!is_printable_lines(text)) text = printable_lines(text);
  Text& made = texts_[id];
  made.length = static_cast<uint16_t>(std::min(text.size(), Text::kRoom + 1));
  if (text.size() > Text::kRoom) {
    long_texts_[id] = text;
  } else {
    std::ranges::copy(text, made.bytes.begin());
  }
}

// The period and the event; of a tracepoint the event and its payload.
std::string_view ScriptText::event_text(const perfdata::Sample& sample) {
  const perfdata::EventInfo& event = session_.header().events[sample.event];
  const auto name = [&](std::string& out) {
    out.append(event_width_ - std::min(event_width_, event.name.size()), ' ');
    append_printable(out, event.name);
    out += ": ";
  };
  if (!sample.raw.empty()) {
    payload_text_.clear();
    name(payload_text_);
    if (payloads_.append_text(payload_text_, sample)) {
      if (!is_printable_lines(payload_text_)) payload_text_ = printable_lines(payload_text_);
      return payload_text_;
    }
  }
  if (sample.event != event_ || sample.period != period_) {
    event_ = sample.event;
    period_ = sample.period;
    constexpr uint64_t sample_period_bit = 1U << 8U;
    const bool period = (event.sample_type & sample_period_bit) != 0;
    event_text_ = period ? fmt::format("{:10} ", sample.period) : "";
    name(event_text_);
  }
  return event_text_;
}

void ScriptText::append_head(const ResolvedSample& resolved) {
  const perfdata::Sample& sample = resolved.sample;
  const std::vector<perfdata::EventInfo>& events = session_.header().events;
  if (event_width_ == 0) {
    for (const perfdata::EventInfo& event : events) {
      event_width_ = std::max(event_width_, event.name.size());
    }
  }
  line_.clear();
  append_comm(line_, resolved.thread.comm);
  const std::string_view event = sample.event < events.size() ? event_text(sample) : "";
  constexpr size_t numbers = 128;
  char* to = reserve(line_.size() + event.size() + numbers);
  to = put(to, line_);
  *to++ = ' ';
  // A thread that is ending has no number any more.
  to = sample.head.tid == UINT32_MAX ? put(to, "   -1") : put_decimal(to, sample.head.tid, 5);
  *to++ = ' ';
  if (sample.head.cpu != UINT32_MAX) {
    *to++ = '[';
    to = put_decimal(to, sample.head.cpu, 3, '0');
    to = put(to, "] ");
  }
  if (sample.head.has_time) {
    constexpr uint64_t second = 1'000'000'000;
    to = put_decimal(to, sample.head.time / second, 5);
    *to++ = '.';
    to = put_decimal(to, sample.head.time % second / 1000, 6, '0');
    to = put(to, ": ");
  }
  to = put(to, event);
  used_ = static_cast<size_t>(to - buffer_.data());
}

// Texts lie far apart: they are asked for now, and copied when the next sample comes.
void ScriptText::begin_stack(const ResolvedSample& sample) {
  if (sample.thread.slot >= last_.size()) last_.resize(sample.thread.slot + size_t{1});
  pending_ = true;
  slot_ = sample.thread.slot;
  shared_frames_ = std::min(sample.shared, last_[slot_].sizes.size() - 1);
  stack_.assign(sample.stack.begin(), sample.stack.end());
  for (const LocationId id : std::span(stack_).subspan(shared_frames_)) {
    if (id >= texts_.size()) [[unlikely]]
      texts_.grow_to(session_.location_count());
    __builtin_prefetch(&texts_[id]);
    __builtin_prefetch(&texts_[id].bytes[64]);
  }
}

// The lines of the stack, the leaf's first: those of the root's side are the end of the text.
void ScriptText::finish_stack() {
  if (!std::exchange(pending_, false)) return;
  Last& last = last_[slot_];
  const std::span<const LocationId> stack = stack_;
  size_t shared = shared_frames_;
  size_t tail = last.sizes[shared];
  last.sizes.resize(stack.size() + 1);
  const size_t most = stack.size() * sizeof(Text) + tail;  // unless there are long ones
  reserve(most);
  // Of the lap before, what the new text does not reach is there still.
  if (last.lap != lap_ && (last.lap + 1 != lap_ || last.end - tail < used_ + most + sizeof(Text))) {
    shared = 0;
    tail = 0;
  }
  const char* shared_text = buffer_.data() + (last.end - tail);
  size_t at = used_;
  for (size_t i = stack.size(); i-- > shared;) {
    const LocationId id = stack[i];
    if (texts_[id].length == 0) [[unlikely]]
      make_text(id);
    last.sizes[i + 1] = at - used_;  // from the front, as yet
    const Text& text = texts_[id];
    if (text.length <= Text::kRoom) [[likely]] {
      std::memcpy(buffer_.data() + at, text.bytes.data(), Text::kRoom);
      at += text.length;
      continue;
    }
    const std::string& all = long_texts_.find(id)->second;
    if (shared_text != shared_.data()) {
      // It may reach what is shared, and the buffer may move.
      shared_.assign(shared_text, tail);
      shared_text = shared_.data();
    }
    if (const size_t needed = at + all.size() + most + sizeof(Text); needed > buffer_.size()) {
      buffer_.resize(needed * 2);
    }
    put(buffer_.data() + at, all);
    at += all.size();
  }
  std::memcpy(buffer_.data() + at, shared_text, tail);
  const size_t size = at + tail - used_;
  for (size_t i = shared; i < stack.size(); ++i) last.sizes[i + 1] = size - last.sizes[i + 1];
  used_ += size;
  last.lap = lap_;
  last.end = used_;
  *reserve(1) = '\n';
  ++used_;
}

bool ScriptText::append(const ResolvedSample& sample) {
  finish_stack();
  const bool going_on = used_ - written_ < kPiece || write_out();
  append_head(sample);
  *reserve(1) = '\n';
  ++used_;
  begin_stack(sample);
  return going_on;
}

void append_script_json(std::string& out, const Session& session, const FrameTable& frames,
                        TracePayloads& payloads, const ResolvedSample& resolved) {
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
    const Location location = session.location(resolved.stack[i]);
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
      if (frame.no_name != NoName::none) each.text("reason", to_string(frame.no_name));
      if (!frame.file.empty()) each.text("file", frame.file).number("line", frame.line);
      if (list.size() > 1) list += ',';
      list += each.str();
    }
  }
  object.raw("frames", list + "]");
  if (std::string fields; payloads.append_json(fields, sample)) object.raw("fields", fields);
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
