// Signatures of methods as CoreCLR and ildasm print them. See signatures.h.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "formats/ecma335/compressed.h"
#include "formats/ecma335/elements.h"
#include "formats/ecma335/signatures.h"

namespace jitscope {
namespace {

using namespace ecma;

constexpr std::array<std::string_view, 10> kConventions = {"",
                                                           "unmanaged cdecl ",
                                                           "unmanaged stdcall ",
                                                           "unmanaged thiscall ",
                                                           "unmanaged fastcall ",
                                                           "vararg ",
                                                           {},
                                                           {},
                                                           {},
                                                           "unmanaged "};

class IlPrinter {
 public:
  explicit IlPrinter(const EcmaMetadata& metadata) : metadata_(metadata) {}

  bool method(ByteCursor& cursor, std::string_view name, std::string& out, size_t depth) {
    const uint8_t convention = cursor.u8();
    const auto kind = static_cast<uint8_t>(convention & kConventionMask);
    if (kind >= kConventions.size() || (kind != 0 && kConventions[kind].empty())) return false;
    if ((convention & kExplicitThis) != 0 && !append_bounded(out, "explicit ")) return false;
    if ((convention & kHasThis) != 0 && !append_bounded(out, "instance ")) return false;
    if (!append_bounded(out, kConventions[kind])) return false;
    if ((convention & kGeneric) != 0) (void)compressed_uint(cursor);
    const uint32_t count = compressed_uint(cursor);
    if (!cursor.ok() || !type(cursor, out, depth)) return false;
    if (!(append_bounded(out, " ") && append_bounded(out, name) && append_bounded(out, "("))) {
      return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0 && !append_bounded(out, ",")) return false;
      ByteCursor ahead = cursor;
      if (ahead.u8() == kSentinel) {
        cursor = ahead;
        if (!append_bounded(out, "...,")) return false;
      }
      if (!type(cursor, out, depth)) return false;
    }
    return append_bounded(out, ")");
  }

 private:
  bool type(ByteCursor& cursor, std::string& out, size_t depth) {
    std::string behind;  // what is written behind the type: the last one read comes first
    const auto modify = [&](std::string_view text) {
      behind.insert(0, text);
      return behind.size() <= kMostEcmaText;
    };
    if (depth > kMostEcmaNesting) return false;
    while (++steps_ <= kMostEcmaSteps) {
      const uint8_t element = cursor.u8();
      if (!cursor.ok()) return false;
      switch (element) {
        case kVector:
          if (!modify("[]")) return false;
          continue;
        case kPointer:
          if (!modify("*")) return false;
          continue;
        case kByRef:
          if (!modify("&")) return false;
          continue;
        case kPinned:
          if (!modify(" pinned")) return false;
          continue;
        case kModifierRequired:
        case kModifierOptional: {
          std::string text = element == kModifierRequired ? " modreq(" : " modopt(";
          if (!class_name(cursor, text, depth) || !modify(text + ")")) return false;
          continue;
        }
        default:
          return plain(element, cursor, out, depth) && append_bounded(out, behind);
      }
    }
    return false;
  }

  bool plain(uint8_t element, ByteCursor& cursor, std::string& out, size_t depth) {
    switch (element) {
      case kValueType:
        return append_bounded(out, "valuetype ") && class_name(cursor, out, depth);
      case kClass:
        return append_bounded(out, "class ") && class_name(cursor, out, depth);
      case kVar:
      case kMethodVar: {
        const uint32_t number = compressed_uint(cursor);
        return cursor.ok() &&
               append_bounded(out, fmt::format("{}{}", element == kVar ? "!" : "!!", number));
      }
      case kArray:
        return type(cursor, out, depth + 1) && shape(cursor, out);
      case kFunctionPointer:
        return append_bounded(out, "method ") && method(cursor, "*", out, depth + 1);
      case kGenericInstance:
        return instance(cursor, out, depth + 1);
      default: {
        const std::string_view name = primitive(element).il;
        return !name.empty() && append_bounded(out, name);
      }
    }
  }

  bool instance(ByteCursor& cursor, std::string& out, size_t depth) {
    if (!type(cursor, out, depth) || !append_bounded(out, "<")) return false;
    const uint32_t count = compressed_uint(cursor);
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0 && !append_bounded(out, ",")) return false;
      if (!type(cursor, out, depth)) return false;
    }
    return cursor.ok() && append_bounded(out, ">");
  }

  // "[0...,3]": lower bounds and sizes, where they are given.
  static bool shape(ByteCursor& cursor, std::string& out) {
    const uint32_t rank = compressed_uint(cursor);
    if (!cursor.ok() || rank == 0 || rank > kMostEcmaRank) return false;
    std::vector<int64_t> sizes;
    std::vector<int64_t> bounds;
    const uint32_t size_count = compressed_uint(cursor);
    if (size_count > rank) return false;
    for (uint32_t i = 0; i < size_count; ++i) sizes.push_back(compressed_uint(cursor));
    const uint32_t bound_count = compressed_uint(cursor);
    if (bound_count > rank) return false;
    for (uint32_t i = 0; i < bound_count; ++i) bounds.push_back(compressed_int(cursor));
    if (!cursor.ok()) return false;
    if (rank == 1 && sizes.empty() && bounds.empty()) return append_bounded(out, "[...]");
    std::string text = "[";
    for (size_t i = 0; i < rank; ++i) {
      if (i != 0) text += ',';
      const int64_t bound = i < bounds.size() ? bounds[i] : 0;
      if (bound == 0 && i < sizes.size()) {
        text += std::to_string(sizes[i]);
      } else if (i < bounds.size()) {
        text += std::to_string(bound) + "...";
        if (i < sizes.size()) text += std::to_string(bound + sizes[i] - 1);
      }
    }
    return append_bounded(out, text + "]");
  }

  bool class_name(ByteCursor& cursor, std::string& out, size_t depth) {
    const EcmaToken token = type_def_or_ref(compressed_uint(cursor));
    if (!cursor.ok()) return false;
    if (token.table != EcmaTable::type_spec) {
      return append_il_name(out, metadata_, type_path(metadata_, token));
    }
    ByteCursor spec(metadata_.type_spec(token.row));
    return type(spec, out, depth + 1);
  }

  const EcmaMetadata& metadata_;
  uint32_t steps_ = 0;
};

}  // namespace

Result<std::string> il_method(const EcmaMetadata& metadata, std::span<const std::byte> signature,
                              std::string_view name) {
  std::string out;
  ByteCursor cursor(signature);
  if (!IlPrinter(metadata).method(cursor, name, out, 0)) {
    return fail(ErrorKind::damaged, "a method's signature makes no sense");
  }
  return out;
}

}  // namespace jitscope
