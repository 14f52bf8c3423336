// Decodes PcDescs and scopes; see scope_reader.h.
#include "runtimes/hotspot/scope_reader.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope::hotspot {
namespace {

constexpr int32_t kLowestBci = -8;  // InvocationEntryBci is -1, a few kinds of "none" lie below it
constexpr int32_t kHighestBci = UINT16_MAX;

class Decoder {
 public:
  Decoder(const PcDescLayout& layout, const ScopeBytes& bytes, Unsigned5 form)
      : layout_(layout), bytes_(bytes), form_(form), known_(bytes.scopes.size()) {}

  std::optional<DecodedScopes> run() {
    int64_t last = -1;
    uint32_t begin = 0;
    for (size_t at = 0; at + layout_.size <= bytes_.pc_descs.size(); at += layout_.size) {
      StructView desc(bytes_.pc_descs.subspan(at, layout_.size));
      const int64_t pc = desc.get_signed(layout_.pc_offset);
      const int64_t offset = desc.get_signed(layout_.scope_offset);
      if (!desc.ok()) return std::nullopt;
      // The sentinels: -1, and beyond the code.
      if (offset == 0 && (pc == -1 || pc > int64_t{bytes_.code_bytes})) continue;
      if (pc <= last || pc > int64_t{bytes_.code_bytes}) return std::nullopt;
      last = pc;
      ++result_.pc_descs;
      const auto end = static_cast<uint32_t>(pc);
      // Offset 0 is never a scope's: nothing is known up to here.
      if (offset != 0) {
        const auto scope = scope_at(offset);
        if (!scope) return std::nullopt;
        if (end > begin) result_.ranges.push_back({begin, end, *scope, false});
      }
      begin = end;
    }
    return std::move(result_);
  }

 private:
  struct Link {
    int64_t offset = 0;
    uint64_t method = 0;
    int32_t bci = 0;
  };

  // The scope at an offset of the stream and, made before it, those of its callers.
  std::optional<uint32_t> scope_at(int64_t offset) {
    chain_.clear();
    uint32_t parent = CodeScopes::kNone;
    while (offset != 0) {
      if (offset < 0 || static_cast<uint64_t>(offset) >= known_.size()) return std::nullopt;
      if (const Known known = known_[static_cast<size_t>(offset)]; known.depth != 0) {
        parent = known.scope;
        break;
      }
      if (chain_.size() >= CodeScopes::kDeepest) return std::nullopt;
      ByteCursor stream(bytes_.scopes.subspan(static_cast<size_t>(offset)));
      const int64_t caller = read_unsigned5(stream, form_);
      const uint32_t number = read_unsigned5(stream, form_);
      // Minus one in 32 bits: the JVM's special indices are negative.
      const auto bci = static_cast<int32_t>(read_unsigned5(stream, form_) - 1U);
      if (!stream.ok() || caller >= offset || bci < kLowestBci || bci > kHighestBci) {
        return std::nullopt;
      }
      const auto method = method_of(number);
      if (!method || (caller == 0 && *method != bytes_.own_method)) return std::nullopt;
      chain_.push_back({offset, *method, bci});
      offset = caller;
    }
    for (auto link = chain_.rbegin(); link != chain_.rend(); ++link) {
      const uint32_t depth = parent == CodeScopes::kNone ? 1 : depths_[parent] + 1;
      if (depth > CodeScopes::kDeepest) return std::nullopt;
      const auto scope = static_cast<uint32_t>(result_.scopes.size());
      result_.scopes.push_back({parent, link->method, link->bci});
      depths_.push_back(depth);
      known_[static_cast<size_t>(link->offset)] = {scope, depth};
      parent = scope;
    }
    return parent;
  }

  std::optional<uint64_t> method_of(uint32_t number) const {
    if (number == 0) return std::nullopt;
    ByteCursor pointers(bytes_.metadata);
    pointers.seek(uint64_t{number - 1} * 8);
    const uint64_t method = pointers.u64();
    if (!pointers.ok() || method == 0 || (method & 7U) != 0) return std::nullopt;
    return method;
  }

  struct Known {
    uint32_t scope = 0;
    uint32_t depth = 0;  // 0: not known yet
  };
  const PcDescLayout& layout_;
  const ScopeBytes& bytes_;
  Unsigned5 form_;
  std::vector<Known> known_;  // by offset
  std::vector<uint32_t> depths_;
  std::vector<Link> chain_;
  DecodedScopes result_;
};

}  // namespace

std::optional<DecodedScopes> decode_scopes(const PcDescLayout& layout, const ScopeBytes& bytes,
                                           Unsigned5 form) {
  return Decoder(layout, bytes, form).run();
}

}  // namespace jitscope::hotspot
