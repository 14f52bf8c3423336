// jitdump: what a JIT writes about each function it compiles (linux:
// tools/perf/Documentation/jitdump-specification.txt), and how perf's and other writers depart from
// the text: bytes in, records out; and the same way back. No system calls.
//
// Times are nanoseconds of CLOCK_MONOTONIC, or raw TSC ticks when Header::arch_timestamp is set.
// The header's own time and pid are hints only (V8 and CPython write microseconds of the wall
// clock, a container writes its namespace's pid).
//
// What is known of writers and kept here:
//  - DEBUG_INFO belongs to the next LOAD of the code address it names (threads interleave), and is
//    forgotten when none follows among the next kMostPending loads. UNWINDING_INFO names no
//    address: it belongs to the next LOAD, and to none when two stand before one load.
//  - Code lies at the end of its LOAD, as perf has it: bytes beyond the name's NUL and the code
//    are padding before the code.
//  - A LOAD with nothing behind its name is a body whose bytes the writer did not have.
//  - Line entries that lie nowhere near the code are dropped. V8 (Node 20) writes the file names of
//    user scripts from freed memory: right in length, garbage in content, NULs included. Entries
//    are found again by their addresses, and the name is taken from the LOAD's own
//    (`JS:*f /srv/app.js:1:2`) where the length fits; else it is empty.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "base/result.h"

namespace jitscope::jitdump {

inline constexpr uint32_t kMagic = 0x4A695444;  // as a number in the writer's byte order
inline constexpr uint32_t kVersion = 1;

struct Header {
  uint32_t version = 0;
  uint32_t header_size = 0;
  uint32_t e_machine = 0;  // 0 in CPython's
  uint32_t pad = 0;        // 0xdeadbeef in V8's
  uint32_t pid = 0;
  uint64_t timestamp = 0;
  bool arch_timestamp = false;
  std::endian order = std::endian::little;
};

struct LineEntry {
  uint64_t address = 0;  // as written (V8: 0x40 too high, see v8_line_bias)
  uint32_t line = 0;
  uint32_t discriminator = 0;
  std::string_view file;  // "same as before" is resolved; empty when it is not text
};

// Views are valid during the call that hands them out.
struct Load {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t address = 0;  // code_addr; vma is ignored where it differs or is 0
  uint64_t size = 0;
  uint64_t index = 0;
  std::string_view name;
  std::span<const std::byte> code;  // empty in a cut record, or when the reader skips code
  bool cut = false;                 // the file ends inside this record
  bool name_cut = false;            // and inside its name: `name` is the beginning
  // Of the DEBUG_INFO and UNWINDING_INFO that came before and belong to it.
  std::span<const LineEntry> lines;
  std::span<const std::byte> unwind;  // .eh_frame_hdr and .eh_frame as written
  uint64_t unwind_header_size = 0;    // of .eh_frame_hdr within `unwind`
  uint64_t unwind_mapped_size = 0;
  // jitscope's own record `since` (id kSinceId): the body may have lain there from then on; what
  // was seen in between is not known. Equal to `time` otherwise.
  uint64_t since = 0;
  // jitscope's own record SCOPES: the payload of code_scopes.h; empty when there is none.
  std::span<const std::byte> scopes;
};
struct Move {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t old_address = 0;
  uint64_t new_address = 0;
  uint64_t size = 0;
  uint64_t index = 0;
};
// jitscope's own record (id kGoneId): a body was seen to be gone at `time`.
struct Gone {
  uint64_t time = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};
struct Close {
  uint64_t time = 0;
};

// Ids outside the specification, which readers skip by size. Written only by jitscope record.
// SINCE: prefix; u64 code_addr; u64 since. Belongs to the next LOAD.
inline constexpr uint32_t kSinceId = 0x6A730001;
// GONE: prefix; u64 code_addr; u64 code_size.
inline constexpr uint32_t kGoneId = 0x6A730002;
// SCOPES: prefix; u64 code_addr; payload of code_scopes.h. Belongs to the next LOAD of that
// address.
inline constexpr uint32_t kScopesId = 0x6A730003;

class Handler {
 public:
  virtual ~Handler() = default;
  virtual bool on_load(const Load& load) = 0;
  virtual bool on_move(const Move& move) = 0;
  virtual bool on_gone(const Gone& /*gone*/) { return true; }
  virtual bool on_close(const Close& /*close*/) { return true; }
};

struct ReadOptions {
  bool code = true;   // false: Load::code stays empty (the bytes are skipped, not read)
  bool lines = true;  // false: DEBUG_INFO is skipped
  bool unwind = true;
  bool scopes = true;  // false: SCOPES is skipped
};

// True when the first bytes are those of a jitdump in either byte order.
[[nodiscard]] bool looks_like_jitdump(std::span<const std::byte> first_bytes);

class Reader {
 public:
  // Reads the header. Errors: damaged (no jitdump, an unknown version).
  static Result<std::unique_ptr<Reader>> open(std::unique_ptr<ByteSource> source,
                                              const ReadOptions& options = {});
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  [[nodiscard]] const Header& header() const;
  // Records in file order, in bounded memory (one record of at most kLargestRecord is held).
  // Damage that can be stepped over is counted; an impossible record size ends the reading with a
  // note, never with a loop.
  Status read(Handler& handler);
  [[nodiscard]] const Diagnostics& diagnostics() const;

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};
// The kind of damage after which what the dump would still tell is not known.
inline constexpr std::string_view kRestNotRead =
    "jitdump record of an impossible size: the rest is not read";
inline constexpr std::string_view kRestTookTooLong =
    "jitdump that took too long to read: the rest is not read";
inline constexpr uint64_t kLargestRecord = 256U << 20U;
inline constexpr size_t kMostPending = 64;

// V8 writes the addresses of its line entries 0x40 too high (it counted on the text offset of the
// ELF files that old perf made). What to subtract from LineEntry::address: 0x40 when the dump or
// the load is V8's (the header's pad, or a name such as `JS:*f`) and every entry lies in
// [code + 0x40, code + size + 0x40]; else 0.
[[nodiscard]] uint64_t v8_line_bias(const Header& header, const Load& load);

// Appends records to `out` as bytes in native order. The caller writes them to a file; a record is
// complete when the call returns, so a writer that flushes whole strings leaves no torn record.
// A name ends at its first NUL. Code that is shorter than the body is filled up with zeros (perf
// needs as many bytes as the body has), or left out where that would be more than kMostFill.
class Writer {
 public:
  static constexpr uint64_t kMostFill = 16U << 20U;
  static constexpr size_t kLongestName = 1U << 20U;  // longer ones are cut
  explicit Writer(uint32_t pid, uint32_t e_machine = 62 /* EM_X86_64 */)
      : pid_(pid), machine_(e_machine) {}
  void header(std::string& out, uint64_t timestamp) const;
  // DEBUG_INFO (when there are lines), UNWINDING_INFO and SCOPES (when there are any), SINCE (when
  // 0 < since < time), LOAD. Returns the code index it gave (Load::index is ignored: indexes never
  // collide).
  uint64_t load(std::string& out, const Load& load);
  void move(std::string& out, const Move& move) const;
  void gone(std::string& out, const Gone& gone) const;
  void close(std::string& out, uint64_t time) const;

 private:
  uint32_t pid_;
  uint32_t machine_;
  uint64_t next_index_ = 1;
};

}  // namespace jitscope::jitdump
