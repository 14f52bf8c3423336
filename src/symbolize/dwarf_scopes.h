// DwarfScopes: CodeScopes in the making, out of what DWARF says of stretches of code: each method
// and each place is told once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "formats/jitdump/code_scopes.h"

namespace jitscope {

class DwarfScopes {
 public:
  explicit DwarfScopes(uint64_t begin) : begin_(begin) {}

  // A place in a function, whose call `caller` is (kNone: it is the body's own). The file is that
  // of the place: a function that was written in several is one method for each.
  uint32_t scope(uint32_t caller, const std::string& function, const std::string& file,
                 uint32_t line);
  // Stretches come by address.
  void add(uint64_t begin, uint64_t end, uint32_t scope);
  [[nodiscard]] bool too_large() const { return text_ > kMostText; }
  // Nothing when it was too large.
  [[nodiscard]] CodeScopes take() { return too_large() ? CodeScopes() : std::move(scopes_); }

 private:
  // Of names and files: those of a stranger may be long, and each other's ends.
  static constexpr uint64_t kMostText = 16U << 20U;

  uint32_t method(const std::string& function, const std::string& file);

  uint64_t begin_;
  uint64_t text_ = 0;
  CodeScopes scopes_;
  std::map<std::pair<std::string, std::string>, uint32_t> methods_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> places_;
};

}  // namespace jitscope
