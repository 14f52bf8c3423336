// What must hold for any bytes given to the jitdump reader; shared by the fuzz target and by the
// test that replays its corpus. Empty: all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/jitdump/jitdump.h"

namespace jitscope::fuzz {

// Everything that a reader told, as text, and what was wrong with it.
class JitdumpLog : public jitdump::Handler {
 public:
  explicit JitdumpLog(bool with_code) : with_code_(with_code) {}

  bool on_load(const jitdump::Load& load) override {
    if (load.name.find('\0') != std::string_view::npos) wrong = "a name with a NUL";
    if (load.address + load.size < load.address) wrong = "code that leaves the address space";
    if (!load.code.empty() && load.code.size() != load.size) wrong = "code of another size";
    if (load.cut && !load.code.empty()) wrong = "code of a cut record";
    if (load.name_cut && !load.cut) wrong = "a cut name in a whole record";
    if (load.since > load.time) wrong = "since after the time";
    if (load.unwind_header_size > load.unwind.size()) wrong = "an unwind header beyond the data";
    add({0, load.time, load.pid, load.tid, load.address, load.size, load.index, load.cut,
         load.name_cut, load.since, load.unwind.size()});
    text += load.name;
    if (with_code_) append(load.code);
    append(load.unwind);
    append(load.scopes);
    for (const jitdump::LineEntry& line : load.lines) {
      add({line.address, line.line, line.discriminator});
      text += line.file;
    }
    // Bodies without their code would be filled up with zeros, megabytes of them.
    const bool small = load.size <= 4096 || load.code.size() == load.size;
    if (!load.cut && small) writer_.load(written, load);
    ++records;
    return true;
  }
  bool on_move(const jitdump::Move& move) override {
    add({1, move.time, move.pid, move.tid, move.old_address, move.new_address, move.size,
         move.index});
    ++records;
    return true;
  }
  bool on_gone(const jitdump::Gone& gone) override {
    add({2, gone.time, gone.address, gone.size});
    ++records;
    return true;
  }
  bool on_close(const jitdump::Close& close) override {
    add({3, close.time});
    ++records;
    return true;
  }

  std::string text;
  std::string written;  // the loads again, by the writer
  std::string_view wrong;
  size_t records = 0;

 private:
  void add(std::initializer_list<uint64_t> numbers) {
    for (const uint64_t number : numbers) text += std::to_string(number) + ' ';
  }
  void append(std::span<const std::byte> bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  bool with_code_;
  jitdump::Writer writer_{1};
};

inline std::string_view read_jitdump(std::unique_ptr<ByteSource> source,
                                     const jitdump::ReadOptions& options, JitdumpLog& log) {
  auto reader = jitdump::Reader::open(std::move(source), options);
  if (!reader) return "not opened";
  if (!(*reader)->read(log)) return "an error from memory";
  return log.wrong;
}

inline std::string_view check_jitdump(std::span<const std::byte> bytes) {
  const auto copy = [&] { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  auto first = jitdump::Reader::open(memory_source(copy()));
  if (!first) return {};
  if (!jitdump::looks_like_jitdump(bytes)) return "opened what does not look like a jitdump";

  JitdumpLog whole(true);
  if (!(*first)->read(whole)) return "an error from memory";
  if (!whole.wrong.empty()) return whole.wrong;
  if (whole.records * 16 > bytes.size()) return "more records than bytes";

  JitdumpLog piped(true);
  if (auto wrong = read_jitdump(memory_source(copy(), false, 7), {}, piped); !wrong.empty()) {
    return wrong;
  }
  if (piped.text != whole.text) return "a pipe tells other records";

  JitdumpLog no_code(false);
  if (auto wrong = read_jitdump(memory_source(copy()), {.code = false}, no_code); !wrong.empty()) {
    return wrong;
  }
  JitdumpLog no_code_piped(false);
  if (auto wrong = read_jitdump(memory_source(copy(), false, 31), {.code = false}, no_code_piped);
      !wrong.empty()) {
    return wrong;
  }
  if (no_code.text != no_code_piped.text) return "a pipe without code tells other records";
  if (no_code.records != whole.records) return "other records without code";

  // What the writer writes is read back as it was; a second time the bytes are the same.
  std::string once;
  jitdump::Writer(1).header(once, 0);
  once += whole.written;
  JitdumpLog again(true);
  const auto as_source = [](std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return memory_source(std::vector<std::byte>(view.begin(), view.end()));
  };
  if (auto wrong = read_jitdump(as_source(once), {}, again); !wrong.empty()) return wrong;
  if (again.written != whole.written) return "written and read again it is not the same";
  return {};
}

}  // namespace jitscope::fuzz
