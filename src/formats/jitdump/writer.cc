// Records as bytes; see Writer in jitdump.h.
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include "formats/jitdump/code_scopes.h"
#include "formats/jitdump/jitdump.h"

namespace jitscope::jitdump {
namespace {

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A text up to its first NUL, and a NUL.
void put_text(std::string& out, std::string_view text) {
  out.append(text.substr(0, text.find('\0')));
  out.push_back('\0');
}

// Puts the prefix, and its size when the record is whole.
class Record {
 public:
  Record(std::string& out, uint32_t id, uint64_t time) : out_(&out), start_(out.size()) {
    put(out, id);
    put(out, uint32_t{0});
    put(out, time);
  }
  ~Record() {
    const auto size = static_cast<uint32_t>(out_->size() - start_);
    std::memcpy(out_->data() + start_ + sizeof(uint32_t), &size, sizeof(size));
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

 private:
  std::string* out_;
  size_t start_;
};

}  // namespace

void Writer::header(std::string& out, uint64_t timestamp) const {
  put(out, kMagic);
  put(out, kVersion);
  put(out, uint32_t{40});
  put(out, machine_);
  put(out, uint32_t{0});
  put(out, pid_);
  put(out, timestamp);
  put(out, uint64_t{0});
}

uint64_t Writer::load(std::string& out, const Load& load) {
  if (!load.lines.empty()) {
    const Record record(out, 2, load.time);
    const size_t start = out.size();
    put(out, load.address);
    const size_t count_at = out.size();
    put(out, uint64_t{0});
    uint64_t count = 0;
    for (const LineEntry& entry : load.lines) {
      if (out.size() - start + entry.file.size() + 64 > kLargestRecord) break;
      put(out, entry.address);
      put(out, entry.line);
      put(out, entry.discriminator);
      put_text(out, entry.file);  // always in full: perf before 2023 misreads the same-file mark
      ++count;
    }
    std::memcpy(out.data() + count_at, &count, sizeof(count));
  }
  if (!load.unwind.empty() && load.unwind.size() + 64 <= kLargestRecord) {
    const Record record(out, 4, load.time);
    put(out, uint64_t{load.unwind.size()});
    put(out, load.unwind_header_size);
    put(out, load.unwind_mapped_size);
    put(out, load.unwind);
  }
  if (!load.scopes.empty() && load.scopes.size() <= kLargestScopes) {
    const Record record(out, kScopesId, load.time);
    put(out, load.address);
    put(out, load.scopes);
  }
  if (load.since != 0 && load.since < load.time) {
    const Record record(out, kSinceId, load.time);
    put(out, load.address);
    put(out, load.since);
  }
  const uint64_t index = next_index_++;
  const Record record(out, 0, load.time);
  put(out, load.pid != 0 ? load.pid : pid_);
  put(out, load.tid != 0 ? load.tid : pid_);
  put(out, load.address);  // vma
  put(out, load.address);
  put(out, load.size);
  put(out, index);
  put_text(out, load.name.substr(0, kLongestName));
  const uint64_t given = std::min<uint64_t>(load.code.size(), load.size);
  const uint64_t missing = load.size - given;
  if (missing <= kMostFill && given <= kLargestRecord / 2) {
    put(out, load.code.first(static_cast<size_t>(given)));
    out.append(static_cast<size_t>(missing), '\0');
  }
  return index;
}

void Writer::move(std::string& out, const Move& move) const {
  const Record record(out, 1, move.time);
  put(out, move.pid != 0 ? move.pid : pid_);
  put(out, move.tid != 0 ? move.tid : pid_);
  put(out, move.new_address);  // vma
  put(out, move.old_address);
  put(out, move.new_address);
  put(out, move.size);
  put(out, move.index);
}

void Writer::gone(std::string& out, const Gone& gone) const {
  const Record record(out, kGoneId, gone.time);
  put(out, gone.address);
  put(out, gone.size);
}

void Writer::close(std::string& out, uint64_t time) const {
  const Record record(out, 3, time);
}

}  // namespace jitscope::jitdump
