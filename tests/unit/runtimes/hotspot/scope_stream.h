// Writers of what the JVM's compilers leave behind for debuggers: UNSIGNED5 numbers, scopes and
// line number tables, in either form. Written from the readers' descriptions, not with them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/hotspot/unsigned5.h"

namespace jitscope::hotspot::test {

inline void put_unsigned5(std::string& out, uint32_t value, Unsigned5 form) {
  const uint32_t excluded = form == Unsigned5::no_zero ? 1 : 0;
  const uint32_t low_codes = 192 - excluded;
  for (int i = 0; i < 4 && value >= low_codes; ++i) {
    value -= low_codes;
    out += static_cast<char>(excluded + low_codes + value % 64);
    value /= 64;
  }
  out += static_cast<char>(excluded + value);
}

inline void put_signed5(std::string& out, int32_t value, Unsigned5 form) {
  const auto bits = static_cast<uint32_t>(value);
  put_unsigned5(out, (bits << 1U) ^ (value < 0 ? 0xffffffffU : 0U), form);
}

class ScopeStream {
 public:
  explicit ScopeStream(Unsigned5 form) : form_(form) {}

  // Returns where it lies in the stream. `caller` 0: none; `method` counts from 1.
  int32_t scope(int32_t caller, uint32_t method, int32_t bci) {
    const auto offset = static_cast<int32_t>(bytes_.size());
    for (const uint32_t value :
         {static_cast<uint32_t>(caller), method, static_cast<uint32_t>(bci + 1), 0U, 0U, 0U}) {
      put_unsigned5(bytes_, value, form_);
    }
    return offset;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  Unsigned5 form_;
  std::string bytes_ = "\xff";  // offset 0 is never a scope's
};

// Pairs {bci, line} in the order given.
inline std::string line_table(const std::vector<std::pair<int, int>>& lines, Unsigned5 form) {
  std::string out;
  int bci = 0;
  int line = 0;
  for (const auto& [next_bci, next_line] : lines) {
    const int more_bci = next_bci - bci;
    const int more_line = next_line - line;
    const int packed = more_bci * 8 + more_line;
    if (more_bci >= 0 && more_bci < 32 && more_line >= 0 && more_line < 8 && packed != 0 &&
        packed != 0xff) {
      out += static_cast<char>(packed);
    } else {
      out += '\xff';
      put_signed5(out, more_bci, form);
      put_signed5(out, more_line, form);
    }
    bci = next_bci;
    line = next_line;
  }
  out += '\0';
  return out;
}

}  // namespace jitscope::hotspot::test
