// SCOPES as bytes and back, and DEBUG_INFO as scopes; see code_scopes.h.
//
// Payload: u8 version; number of methods, each: name, file (length and bytes); number of scopes,
// each: parent + 1, method, bci + 1, line; number of ranges, each: distance from the end of the
// one before, length, scope * 2 + exact. All numbers ULEB128.
#include "formats/jitdump/code_scopes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/byte_cursor.h"
#include "base/leb128.h"
#include "formats/jitdump/jitdump.h"

namespace jitscope {

const CodeScopes::Range* CodeScopes::at(uint32_t offset) const {
  const auto behind = std::ranges::upper_bound(ranges, offset, {}, &Range::begin);
  if (behind == ranges.begin()) return nullptr;
  const Range& range = *std::prev(behind);
  return offset < range.end ? &range : nullptr;
}

bool CodeScopes::any_inlined() const {
  return std::ranges::any_of(scopes, [](const Scope& scope) { return scope.parent != kNone; });
}

namespace jitdump {
namespace {

constexpr uint8_t kScopesVersion = 1;
// Lines and offsets go up to UINT32_MAX. A method takes 32 times the memory that it must take in
// the payload, so there may not be as many as fit there.
constexpr uint64_t kMostMethods = 1U << 16U;
constexpr int32_t kLargestBci = INT32_MAX - 1;
// Files that a DEBUG_INFO's entries may name before they have none: each costs a name of the body.
constexpr size_t kMostFiles = 256;

// What decode_scopes() promises, whoever made them.
class Rules {
 public:
  explicit Rules(uint64_t body_size) : body_size_(body_size) {}

  [[nodiscard]] static bool text(std::string_view text) {
    return text.size() <= kLongestScopeText && text.find('\0') == std::string_view::npos;
  }
  // Scopes must be told in order.
  [[nodiscard]] bool scope(const CodeScopes::Scope& scope, size_t methods) {
    if (scope.method >= methods || scope.bci < -1 || scope.bci > kLargestBci) return false;
    uint32_t depth = 1;
    if (scope.parent != CodeScopes::kNone) {
      if (scope.parent >= depths_.size()) return false;
      depth = depths_[scope.parent] + 1;
      if (depth > CodeScopes::kDeepest) return false;
    }
    depths_.push_back(static_cast<uint16_t>(depth));
    return true;
  }
  [[nodiscard]] bool range(const CodeScopes::Range& range, uint32_t previous_end) const {
    return range.begin >= previous_end && range.begin < range.end && range.end <= body_size_ &&
           range.scope < depths_.size();
  }

 private:
  uint64_t body_size_;
  std::vector<uint16_t> depths_;
};

bool sayable(const CodeScopes& scopes) {
  Rules rules(UINT32_MAX);
  const auto texts = [](const CodeScopes::Method& method) {
    return Rules::text(method.name) && Rules::text(method.file);
  };
  if (scopes.ranges.empty() || scopes.methods.size() > kMostMethods) return false;
  if (!std::ranges::all_of(scopes.methods, texts)) return false;
  for (const auto& scope : scopes.scopes) {
    if (!rules.scope(scope, scopes.methods.size())) return false;
  }
  uint32_t end = 0;
  for (const auto& range : scopes.ranges) {
    if (!rules.range(range, end)) return false;
    end = range.end;
  }
  return true;
}

void put_scope_text(std::string& out, std::string_view text) {
  put_uleb128(out, text.size());
  out += text;
}

// A number of up to 32 bits.
uint32_t number(ByteCursor& bytes, uint64_t largest = UINT32_MAX) {
  const uint64_t value = read_uleb128(bytes);
  if (value > largest) bytes.mark_failed();
  return bytes.ok() ? static_cast<uint32_t>(value) : 0;
}

std::string scope_text(ByteCursor& bytes) {
  const auto text = bytes.bytes(read_uleb128(bytes));
  std::string result(reinterpret_cast<const char*>(text.data()), text.size());
  if (!Rules::text(result)) bytes.mark_failed();
  return result;
}

// How many things there are: more than bytes for them are a lie, and nothing is reserved for it.
uint64_t count(ByteCursor& bytes, uint64_t least_size) {
  const uint64_t value = read_uleb128(bytes);
  if (bytes.ok() && value > bytes.remaining() / least_size) bytes.mark_failed(value);
  return bytes.ok() ? value : 0;
}

void read_scopes(ByteCursor& bytes, uint64_t body_size, CodeScopes& scopes) {
  Rules rules(body_size);
  const uint64_t methods = count(bytes, 2);
  if (methods > kMostMethods) bytes.mark_failed(methods);
  for (uint64_t left = methods; left != 0 && bytes.ok(); --left) {
    CodeScopes::Method method;
    method.name = scope_text(bytes);
    method.file = scope_text(bytes);
    scopes.methods.push_back(std::move(method));
  }
  for (uint64_t left = count(bytes, 4); left != 0 && bytes.ok(); --left) {
    CodeScopes::Scope scope;
    scope.parent = number(bytes) - 1;  // 0 becomes kNone
    scope.method = number(bytes);
    scope.bci = static_cast<int32_t>(int64_t{number(bytes, kLargestBci + 1U)} - 1);
    scope.line = number(bytes);
    if (bytes.ok() && !rules.scope(scope, scopes.methods.size())) bytes.mark_failed();
    scopes.scopes.push_back(scope);
  }
  uint32_t end = 0;
  for (uint64_t left = count(bytes, 3); left != 0 && bytes.ok(); --left) {
    CodeScopes::Range range;
    range.begin = end + number(bytes, UINT32_MAX - end);
    range.end = range.begin + number(bytes, UINT32_MAX - range.begin);
    const uint64_t scope = read_uleb128(bytes);
    if (scope / 2 > UINT32_MAX) bytes.mark_failed();
    range.scope = static_cast<uint32_t>(scope / 2);
    range.exact = scope % 2 != 0;
    if (bytes.ok() && !rules.range(range, end)) bytes.mark_failed();
    end = range.end;
    scopes.ranges.push_back(range);
  }
}

// DEBUG_INFO has no methods, only files: the body's method once for each of them.
class LineScopes {
 public:
  explicit LineScopes(std::string_view name) : name_(name) {}

  void add(uint32_t begin, uint32_t end, const LineEntry& entry) {
    const CodeScopes::Scope scope{CodeScopes::kNone, method(entry.file), -1, entry.line};
    auto& ranges = result_.ranges;
    if (!ranges.empty() && result_.scopes.back() == scope) {
      if (ranges.back().end == begin) {
        ranges.back().end = end;
        return;
      }
    } else {
      result_.scopes.push_back(scope);
    }
    ranges.push_back({begin, end, static_cast<uint32_t>(result_.scopes.size() - 1), true});
  }
  CodeScopes take() { return std::move(result_); }

 private:
  uint32_t method(std::string_view file) {
    auto& methods = result_.methods;
    // A dump has few files in one body, most often one.
    if (last_ < methods.size() && methods[last_].file == file) return last_;
    auto known = files_.find(file);
    if (known == files_.end() && files_.size() >= kMostFiles) file = {};
    known = files_.try_emplace(file, static_cast<uint32_t>(methods.size())).first;
    if (known->second == methods.size()) {
      methods.push_back({std::string(name_), std::string(file)});
    }
    last_ = known->second;
    return last_;
  }

  std::string_view name_;
  std::map<std::string_view, uint32_t> files_;
  uint32_t last_ = 0;
  CodeScopes result_;
};

CodeScopes scopes_of_lines(const Load& load, uint64_t bias) {
  struct Start {
    uint32_t offset;
    uint32_t entry;
  };
  std::vector<Start> starts;
  if (load.size > UINT32_MAX || load.lines.size() > UINT32_MAX) return {};
  for (size_t i = 0; i < load.lines.size(); ++i) {
    const uint64_t offset = load.lines[i].address - bias - load.address;  // wraps below: too large
    if (offset < load.size) {
      starts.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(i)});
    }
  }
  // Of entries for one place the last one counts.
  std::ranges::stable_sort(starts, {}, &Start::offset);
  LineScopes result(load.name.substr(0, kLongestScopeText));
  for (size_t i = 0; i < starts.size(); ++i) {
    const LineEntry& entry = load.lines[starts[i].entry];
    const uint32_t begin = starts[i].offset;
    const auto end =
        i + 1 < starts.size() ? starts[i + 1].offset : static_cast<uint32_t>(load.size);
    if (begin != end && entry.line != 0) result.add(begin, end, entry);
  }
  return result.take();
}

}  // namespace

void encode_scopes(std::string& out, const CodeScopes& scopes) {
  if (!sayable(scopes)) return;
  const size_t start = out.size();
  out.push_back(static_cast<char>(kScopesVersion));
  put_uleb128(out, scopes.methods.size());
  for (const auto& method : scopes.methods) {
    put_scope_text(out, method.name);
    put_scope_text(out, method.file);
  }
  put_uleb128(out, scopes.scopes.size());
  for (const auto& scope : scopes.scopes) {
    put_uleb128(out, scope.parent == CodeScopes::kNone ? 0 : uint64_t{scope.parent} + 1);
    put_uleb128(out, scope.method);
    put_uleb128(out, static_cast<uint64_t>(int64_t{scope.bci} + 1));
    put_uleb128(out, scope.line);
  }
  put_uleb128(out, scopes.ranges.size());
  uint32_t end = 0;
  for (const auto& range : scopes.ranges) {
    put_uleb128(out, range.begin - end);
    put_uleb128(out, range.end - range.begin);
    put_uleb128(out, uint64_t{range.scope} * 2 + (range.exact ? 1 : 0));
    end = range.end;
  }
  if (out.size() - start > kLargestScopes) out.resize(start);
}

Result<CodeScopes> decode_scopes(std::span<const std::byte> payload, uint64_t body_size) {
  if (payload.size() > kLargestScopes) return fail(ErrorKind::damaged, "scopes that are too large");
  ByteCursor bytes(payload);
  if (bytes.u8() != kScopesVersion) return fail(ErrorKind::damaged, "scopes of another version");
  CodeScopes scopes;
  read_scopes(bytes, body_size, scopes);
  if (!bytes.ok()) return fail(ErrorKind::damaged, "scopes that make no sense");
  if (!bytes.at_end()) return fail(ErrorKind::damaged, "scopes with bytes behind them");
  return scopes;
}

CodeScopes scopes_of(const Load& load, uint64_t bias) {
  if (!load.scopes.empty()) {
    auto scopes = decode_scopes(load.scopes, load.size);
    if (scopes) return std::move(*scopes);
  }
  return scopes_of_lines(load, bias);
}

}  // namespace jitdump
}  // namespace jitscope
