#include "capture/body_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/output_folder.h"
#include "base/write_all.h"
#include "unwind/unwind.h"

namespace jitscope {
namespace {

// Code that is read from the process and held at a time.
constexpr size_t kBatchBytes = 4U << 20U;
constexpr size_t kBatchBodies = 1024;
// perf lays unwind tables behind the code (tools/perf/util/jitdump.c).
constexpr uint64_t kUnwindAlignment = 8;

// As many tables as have room behind the code: what would lie in the next body's range is lost to
// perf. Stubs hold many routines; the one that calls Java is among the first.
UnwindingInfo as_fits(const std::vector<UnwindTable>& tables, uint64_t size, uint64_t room) {
  const uint64_t padding = (kUnwindAlignment - size % kUnwindAlignment) % kUnwindAlignment;
  UnwindingInfo result;
  size_t fit = 0;
  size_t tried = tables.size();
  for (size_t too_many = tables.size() + 1; fit < tried; tried = fit + (too_many - fit) / 2) {
    UnwindingInfo info = encode_unwinding_info(std::span(tables).first(tried), size);
    if (padding + info.mapped_size <= room) {
      fit = tried;
      result = std::move(info);
    } else {
      too_many = tried;
    }
  }
  return result;
}

// What came to the name meanwhile stays, where the file system can tell.
bool give_name(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  return errno == EINVAL && ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

// Of its code in memory.
size_t bytes_of(const BodyFile::Body& body) {
  return body.code ? static_cast<size_t>(std::min(body.size, BodyFile::kLargestBody)) : 0;
}

}  // namespace

BodyFile::~BodyFile() {
  if (file_ && !named_) ::unlinkat(folder_->get(), unfinished().c_str(), 0);
}

Status BodyFile::create(uint64_t time) {
  if (file_) return {};
  if (!folder_) {
    auto place = output_place(path_);
    if (!place) {
      place.error().what = "cannot create a file for the names of JIT code: " + place.error().what;
      return fail(std::move(place.error()));
    }
    folder_ = std::make_shared<const UniqueFd>(std::move(place->folder));
  }
  file_.reset(::openat(folder_->get(), unfinished().c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file_) return fail(system_error("cannot create a file for the names of JIT code", path_));
  std::string header;
  writer_.header(header, time);
  pending_.insert(0, header);
  return {};
}

Status BodyFile::write_out() {
  const int code = write_all(file_.get(), pending_);
  if (code == 0) written_ += pending_.size();
  pending_.clear();
  if (code != 0) {
    // Whole records alone.
    (void)!::ftruncate(file_.get(), static_cast<off_t>(written_));
    return fail(system_error("cannot write down the names of JIT code", path_, code));
  }
  if (!named_ && !give_name(folder_->get(), unfinished(), name())) {
    return fail(system_error("cannot name a file with the names of JIT code", path_));
  }
  named_ = true;
  return {};
}

UniqueFd BodyFile::reopen() const {
  if (!file_) return {};
  const std::string open_file = fmt::format("/proc/self/fd/{}", file_.get());
  return UniqueFd(::open(open_file.c_str(), O_RDONLY | O_CLOEXEC));
}

void BodyFile::append(const Body& body, std::span<const std::byte> code) {
  jitdump::Load load;
  load.time = body.time;
  load.since = own_records_ ? body.since : body.time;
  load.pid = pid_;
  load.tid = pid_;
  load.address = body.address;
  load.size = body.size;
  load.name = body.name;
  load.code = code;
  lines_.clear();
  scopes_.clear();
  if (body.scopes != nullptr) {
    for (const CodeScopes::Range& range : body.scopes->ranges) {
      const CodeScopes::Scope& scope = body.scopes->scopes[range.scope];
      if (scope.line == 0) continue;
      lines_.push_back(
          {body.address + range.begin, scope.line, 0, body.scopes->methods[scope.method].file});
    }
    if (own_records_) jitdump::encode_scopes(scopes_, *body.scopes);
    load.lines = lines_;
    load.scopes = std::as_bytes(std::span<const char>(scopes_));
  }
  UnwindingInfo unwinding;
  if (body.unwind && !code.empty()) {
    unwinding = as_fits(unwind_of_code(code, body.frame, body.entry), body.size, body.room);
  }
  load.unwind = std::as_bytes(std::span<const char>(unwinding.bytes));
  load.unwind_header_size = unwinding.header_size;
  load.unwind_mapped_size = unwinding.mapped_size;
  writer_.load(pending_, load);
}

Status BodyFile::load(std::span<const Body> bodies, MemoryReader& memory) {
  std::vector<std::byte> code;
  std::vector<MemoryReader::Range> ranges;
  while (!bodies.empty()) {
    JITSCOPE_TRY(create(bodies.front().time));
    // As many as fit, at least one.
    size_t count = 0;
    size_t total = 0;
    while (count < bodies.size() && count < kBatchBodies) {
      const size_t size = bytes_of(bodies[count]);
      if (count != 0 && total + size > kBatchBytes) break;
      total += size;
      ++count;
    }
    code.assign(total, std::byte{0});
    ranges.clear();
    size_t at = 0;
    for (const Body& body : bodies.first(count)) {
      const size_t size = bytes_of(body);
      ranges.push_back({body.address, std::span(code).subspan(at, size), false});
      at += size;
    }
    memory.read_many(ranges);
    for (size_t i = 0; i < count; ++i) {
      const Body& body = bodies[i];
      if (body.size == 0 || body.size > kLargestBody) continue;
      append(body, ranges[i].ok && body.code ? ranges[i].out : std::span<std::byte>());
    }
    bodies = bodies.subspan(count);
    if (written_ + pending_.size() > kLargestFile) {
      pending_.clear();
      return fail(ErrorKind::not_possible, "the file for the names of JIT code is full", path_);
    }
    JITSCOPE_TRY(write_out());
  }
  return flush();
}

void BodyFile::gone(uint64_t address, uint64_t size, uint64_t time) {
  if (own_records_) writer_.gone(pending_, {time, address, size});
}

Status BodyFile::flush() {
  if (!file_) {
    // Only bodies that were written down can be gone.
    pending_.clear();
    return {};
  }
  return write_out();
}

Status BodyFile::close(uint64_t time) {
  if (!file_) return {};
  writer_.close(pending_, time);
  const Status status = write_out();
  file_.reset();
  return status;
}

}  // namespace jitscope
