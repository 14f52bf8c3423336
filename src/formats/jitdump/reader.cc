// The records of a jitdump in file order; see jitdump.h. Relies on InputWindow for what is there
// and on ByteCursor for every field.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/byte_cursor.h"
#include "base/work_limit.h"
#include "formats/jitdump/code_scopes.h"
#include "formats/jitdump/input_window.h"
#include "formats/jitdump/jitdump.h"
#include "formats/jitdump/line_table.h"
#include "formats/jitdump/pending_records.h"

namespace jitscope::jitdump {
namespace {

constexpr uint64_t kPrefixSize = 16;
constexpr uint64_t kHeaderSize = 40;
constexpr uint64_t kLoadHead = 56;  // prefix and fixed fields; the name follows
constexpr uint64_t kArchTimestamp = 1;
// Enough of a LOAD for its fields and all but the longest names.
constexpr uint64_t kFirstLook = 512;

struct Prefix {
  uint32_t id = 0;
  uint32_t size = 0;
  uint64_t time = 0;
};

std::optional<std::endian> byte_order(std::span<const std::byte> first_bytes) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    ByteCursor bytes(first_bytes, order);
    if (bytes.u32() == kMagic) return order;
  }
  return std::nullopt;
}

}  // namespace

bool looks_like_jitdump(std::span<const std::byte> first_bytes) {
  return byte_order(first_bytes).has_value();
}

struct Reader::State {
  State(std::unique_ptr<ByteSource> source, const ReadOptions& what)
      : options(what), window(std::move(source)) {}

  Status read_header();
  // One record at the window's position, without moving on; whether the handler wants more.
  Result<bool> record(const Prefix& prefix, Handler& handler);
  Result<bool> load(const Prefix& prefix, Handler& handler);
  Status line_table(const Prefix& prefix);
  Status unwinding(const Prefix& prefix);
  Status scopes_record(const Prefix& prefix);
  Result<std::optional<ByteCursor>> small_record(const Prefix& prefix, uint64_t size);
  void note(std::string_view kind) {
    diagnostics.note(kind,
                     fmt::format("{}, offset {:#x}", window.source().where(), window.position()));
  }

  ReadOptions options;
  InputWindow window;
  Header header;
  Diagnostics diagnostics;
  LineTables lines;
  PendingRecords scopes{"jitdump scopes without their code"};
  std::vector<std::byte> unwind;
  uint64_t unwind_header_size = 0;
  uint64_t unwind_mapped_size = 0;
  uint32_t unwinds = 0;                                // since the last load
  std::optional<std::pair<uint64_t, uint64_t>> since;  // code address, time
};

Status Reader::State::read_header() {
  JITSCOPE_ASSIGN(const auto bytes, window.peek(kHeaderSize));
  const auto order = byte_order(bytes);
  const std::string where = window.source().where();
  if (!order) return fail(ErrorKind::damaged, "is no jitdump", where);
  header.order = *order;
  ByteCursor fields(bytes, *order);
  fields.skip(sizeof(kMagic));
  header.version = fields.u32();
  header.header_size = fields.u32();
  header.e_machine = fields.u32();
  header.pad = fields.u32();
  header.pid = fields.u32();
  header.timestamp = fields.u64();
  header.arch_timestamp = (fields.u64() & kArchTimestamp) != 0;
  if (!fields.ok()) return fail(fields.error("the jitdump ends inside its header", where));
  if (header.version != kVersion) {
    return fail(ErrorKind::damaged,
                fmt::format("jitdump of version {}, {} is known", header.version, kVersion), where);
  }
  if (header.header_size < kHeaderSize) note("jitdump header of an impossible size");
  JITSCOPE_TRY(window.skip(std::max<uint64_t>(header.header_size, kHeaderSize)));
  return {};
}

// The first `size` bytes of a record, or nothing (and a note) when it is shorter or not there.
Result<std::optional<ByteCursor>> Reader::State::small_record(const Prefix& prefix, uint64_t size) {
  if (prefix.size < size) {
    note("jitdump record without its fields");
    return std::optional<ByteCursor>();
  }
  JITSCOPE_ASSIGN(const auto bytes, window.peek(size));
  if (bytes.size() < size) {
    note("jitdump that ends inside a record");
    return std::optional<ByteCursor>();
  }
  ByteCursor fields(bytes, header.order);
  fields.skip(kPrefixSize);
  return std::optional<ByteCursor>(fields);
}

Status Reader::State::line_table(const Prefix& prefix) {
  if (!options.lines) return {};
  if (prefix.size > kLargestRecord) {
    note("jitdump record that is too large");
    return {};
  }
  JITSCOPE_ASSIGN(const auto bytes, window.peek(prefix.size));
  if (bytes.size() < prefix.size) {
    note("jitdump that ends inside a record");
    return {};
  }
  lines.keep(bytes, header, diagnostics);
  return {};
}

Status Reader::State::unwinding(const Prefix& prefix) {
  if (!options.unwind) return {};
  if (prefix.size > kLargestRecord) {
    note("jitdump record that is too large");
    return {};
  }
  JITSCOPE_ASSIGN(auto fields, small_record(prefix, prefix.size));
  if (!fields) return {};
  ++unwinds;
  const uint64_t size = fields->u64();
  unwind_header_size = fields->u64();
  unwind_mapped_size = fields->u64();
  const auto data = fields->bytes(size);
  if (!fields->ok() || unwind_header_size > size) {
    note("jitdump unwinding record with impossible sizes");
    unwind.clear();
    unwind_header_size = unwind_mapped_size = 0;
    return {};
  }
  unwind.assign(data.begin(), data.end());
  return {};
}

Status Reader::State::scopes_record(const Prefix& prefix) {
  if (!options.scopes) return {};
  if (prefix.size > kLargestScopes + kPrefixSize + sizeof(uint64_t)) {
    note("jitdump record that is too large");
    return {};
  }
  JITSCOPE_ASSIGN(auto fields, small_record(prefix, prefix.size));
  if (!fields) return {};
  const uint64_t address = fields->u64();
  const auto payload = fields->rest();
  if (!fields->ok()) {
    note("jitdump record without its fields");
    return {};
  }
  scopes.keep(address, payload, diagnostics);
  return {};
}

Result<bool> Reader::State::load(const Prefix& prefix, Handler& handler) {
  // Whatever stood before this record was for this load, good or bad.
  const uint32_t unwinding_records = std::exchange(unwinds, 0);
  const auto waiting_since = std::exchange(since, std::nullopt);

  if (prefix.size < kLoadHead) {
    note("jitdump record without its fields");
    return true;
  }
  const uint64_t most = std::min<uint64_t>(prefix.size, kLargestRecord);
  // A pipe's bytes must be read anyway; code that cannot be held is not handed out.
  const bool too_large = prefix.size > kLargestRecord;
  const bool whole = !window.source().seekable() || (options.code && !too_large);
  uint64_t look = whole ? most : std::min(most, kFirstLook);
  std::span<const std::byte> bytes;
  const void* nul = nullptr;
  for (;;) {
    JITSCOPE_ASSIGN(bytes, window.peek(look));
    if (bytes.size() < kLoadHead) {
      note("jitdump that ends inside a record");
      return true;
    }
    nul = std::memchr(bytes.data() + kLoadHead, 0, bytes.size() - kLoadHead);
    if (nul != nullptr || bytes.size() < look || look == most) break;
    look = std::min(most, look * 2);
  }

  ByteCursor fields(bytes, header.order);
  fields.skip(kPrefixSize);
  Load found;
  found.time = found.since = prefix.time;
  found.pid = fields.u32();
  found.tid = fields.u32();
  fields.skip(sizeof(uint64_t));  // vma
  found.address = fields.u64();
  found.size = fields.u64();
  found.index = fields.u64();
  if (nul != nullptr) {
    found.name = fields.c_string();
  } else if (bytes.size() < most) {
    found.name_cut = true;
    const auto rest = fields.rest();
    found.name = {reinterpret_cast<const char*>(rest.data()), rest.size()};
  } else {
    note("jitdump load without an end of its name");
    return true;
  }

  const uint64_t behind_name = prefix.size - fields.offset();
  if (found.size > behind_name && behind_name != 0) {
    note("jitdump load whose code is larger than its record");
    return true;
  }
  if (!checked_add(found.address, found.size)) {
    note("jitdump load whose code leaves the address space");
    return true;
  }
  if (whole) {
    found.cut = bytes.size() < most;
  } else {
    JITSCOPE_ASSIGN(const bool there, window.has(prefix.size));  // reads nothing into the window
    found.cut = !there;
  }
  if (found.cut) note("jitdump that ends inside a record");
  if (options.code && too_large) note("jitdump code that is too large to be held");
  if (options.code && !too_large && !found.cut && found.size <= behind_name) {
    found.code = bytes.last(static_cast<size_t>(found.size));
  }
  if (options.lines) found.lines = lines.take(header, found, diagnostics);
  if (options.scopes) {
    if (const auto mine = scopes.take(found.address, diagnostics)) found.scopes = *mine;
  }
  if (unwinding_records == 1) {
    found.unwind = unwind;
    found.unwind_header_size = unwind_header_size;
    found.unwind_mapped_size = unwind_mapped_size;
  } else if (unwinding_records > 1) {
    note("jitdump unwinding records of which one load has several");
  }
  if (waiting_since && waiting_since->first == found.address &&
      waiting_since->second < found.time) {
    found.since = waiting_since->second;
  }
  return handler.on_load(found);
}

Result<bool> Reader::State::record(const Prefix& prefix, Handler& handler) {
  enum : uint32_t { load_id = 0, move_id = 1, debug_id = 2, close_id = 3, unwind_id = 4 };
  switch (prefix.id) {
    case load_id:
      return load(prefix, handler);
    case debug_id:
      JITSCOPE_TRY(line_table(prefix));
      return true;
    case unwind_id:
      JITSCOPE_TRY(unwinding(prefix));
      return true;
    case close_id:
      return handler.on_close(Close{prefix.time});
    case move_id: {
      JITSCOPE_ASSIGN(auto fields, small_record(prefix, 64));
      if (!fields) return true;
      Move move;
      move.time = prefix.time;
      move.pid = fields->u32();
      move.tid = fields->u32();
      fields->skip(sizeof(uint64_t));  // vma
      move.old_address = fields->u64();
      move.new_address = fields->u64();
      move.size = fields->u64();
      move.index = fields->u64();
      if (!checked_add(move.old_address, move.size) || !checked_add(move.new_address, move.size)) {
        note("jitdump move that leaves the address space");
        return true;
      }
      return handler.on_move(move);
    }
    case kSinceId: {
      JITSCOPE_ASSIGN(auto fields, small_record(prefix, 32));
      if (!fields) return true;
      const uint64_t address = fields->u64();
      since = std::pair(address, fields->u64());
      return true;
    }
    case kScopesId:
      JITSCOPE_TRY(scopes_record(prefix));
      return true;
    case kGoneId: {
      JITSCOPE_ASSIGN(auto fields, small_record(prefix, 32));
      if (!fields) return true;
      Gone gone{prefix.time, fields->u64(), 0};
      gone.size = fields->u64();
      if (!checked_add(gone.address, gone.size)) {
        note("jitdump end of code that leaves the address space");
        return true;
      }
      return handler.on_gone(gone);
    }
    default:
      return true;  // the specification lets readers pass over what they do not know
  }
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::open(std::unique_ptr<ByteSource> source,
                                             const ReadOptions& options) {
  auto state = std::make_unique<State>(std::move(source), options);
  JITSCOPE_TRY(state->read_header());
  return std::unique_ptr<Reader>(new Reader(std::move(state)));
}

const Header& Reader::header() const {
  return state_->header;
}

const Diagnostics& Reader::diagnostics() const {
  return state_->diagnostics;
}

Status Reader::read(Handler& handler) {
  State& state = *state_;
  for (WorkMeter work(1024);;) {
    if (work.over()) {
      state.note(kRestTookTooLong);
      return {};
    }
    JITSCOPE_ASSIGN(const auto bytes, state.window.peek(kPrefixSize));
    if (bytes.empty()) return {};
    if (bytes.size() < kPrefixSize) {
      state.note("jitdump that ends inside a record");
      return {};
    }
    ByteCursor fields(bytes, state.header.order);
    Prefix prefix;
    prefix.id = fields.u32();
    prefix.size = fields.u32();
    prefix.time = fields.u64();
    if (prefix.size < kPrefixSize) {
      // Where the next record begins cannot be known.
      state.note(kRestNotRead);
      return {};
    }
    JITSCOPE_ASSIGN(const bool more, state.record(prefix, handler));
    if (!more) return {};
    JITSCOPE_TRY(state.window.skip(prefix.size));
  }
}

}  // namespace jitscope::jitdump
