// Signatures of types as CoreCLR prints type handles. See signatures.h.
#include <fmt/format.h>

#include <vector>

#include "formats/ecma335/compressed.h"
#include "formats/ecma335/elements.h"
#include "formats/ecma335/signatures.h"

namespace jitscope {
namespace {

using namespace ecma;

// Without a text to write to it only goes over the bytes.
class TypeReader {
 public:
  TypeReader(const EcmaMetadata* metadata, const EcmaModules* modules, EcmaSpelling spelling)
      : outer_(metadata), modules_(modules), spelling_(spelling) {}

  // `current`: whose the tokens are.
  bool type(ByteCursor& cursor, const EcmaMetadata* current, std::string* out, size_t depth = 0) {
    if (++steps_ > kMostEcmaSteps || depth > kMostEcmaNesting) return false;
    const uint8_t element = cursor.u8();
    if (!cursor.ok()) return false;
    switch (element) {
      case kModule:
        return of_module(cursor, out, depth + 1);
      case kCanon:
        return write(out, "System.__Canon");
      case kNativeValueType:
        return write(out, "VALUETYPE") && inner(cursor, out, depth + 1);
      case kValueType:
      case kClass:
        return type_name(cursor, current, {}, out);
      case kGenericInstance:
        return instance(cursor, current, out, depth + 1);
      case kPointer:
        return inner(cursor, out, depth + 1) && write(out, "*");
      case kByRef:
        return inner(cursor, out, depth + 1) && write(out, "&");
      case kVector:
        return inner(cursor, out, depth + 1) && write(out, "[]");
      case kArray:
        return inner(cursor, out, depth + 1) && shape(cursor, out);
      case kFunctionPointer:
        return function_pointer(cursor, depth + 1) && write(out, "(fnptr)");
      case kVar:
      case kMethodVar:
      case kVarZap: {
        const uint32_t number = compressed_uint(cursor);
        return cursor.ok() &&
               write(out, fmt::format("{}{}", element == kMethodVar ? "!!" : "!", number));
      }
      default: {
        const std::string_view name = primitive(element).type;
        return !name.empty() && write(out, name);
      }
    }
  }

 private:
  // A part of a type is again of the outer module.
  bool inner(ByteCursor& cursor, std::string* out, size_t depth) {
    return type(cursor, outer_, out, depth);
  }

  bool of_module(ByteCursor& cursor, std::string* out, size_t depth) {
    const uint32_t index = compressed_uint(cursor);
    if (out == nullptr) return cursor.ok() && type(cursor, nullptr, nullptr, depth);
    const EcmaMetadata* module = modules_ != nullptr ? modules_->module(index) : nullptr;
    return cursor.ok() && module != nullptr && type(cursor, module, out, depth);
  }

  bool instance(ByteCursor& cursor, const EcmaMetadata* current, std::string* out, size_t depth) {
    ByteCursor generic = cursor;  // its name is written when the arguments are known
    if (!type(cursor, current, nullptr, depth)) return false;
    std::vector<std::string> arguments;
    const uint32_t count = compressed_uint(cursor);
    for (uint32_t i = 0; i < count; ++i) {
      std::string text;
      if (!inner(cursor, out != nullptr ? &text : nullptr, depth)) return false;
      if (out != nullptr) arguments.push_back(std::move(text));
    }
    if (!cursor.ok()) return false;
    if (out == nullptr) return true;
    uint8_t element = generic.u8();
    if (element == kModule) {
      current = modules_ != nullptr ? modules_->module(compressed_uint(generic)) : nullptr;
      element = generic.u8();
    }
    if (element != kClass && element != kValueType) return false;
    return type_name(generic, current, arguments, out);
  }

  bool type_name(ByteCursor& cursor, const EcmaMetadata* current,
                 std::span<const std::string> arguments, std::string* out) {
    const EcmaToken token = type_def_or_ref(compressed_uint(cursor));
    if (!cursor.ok()) return false;
    if (out == nullptr) return true;
    return current != nullptr &&
           append_type_name(*out, *current, type_path(*current, token), arguments, spelling_);
  }

  static bool shape(ByteCursor& cursor, std::string* out) {
    const uint32_t rank = compressed_uint(cursor);
    if (!cursor.ok() || rank == 0 || rank > kMostEcmaRank) return false;
    for (int sizes_then_bounds = 0; sizes_then_bounds < 2; ++sizes_then_bounds) {
      const uint32_t count = compressed_uint(cursor);
      if (count > rank) return false;
      for (uint32_t i = 0; i < count; ++i) (void)compressed_uint(cursor);
    }
    if (!cursor.ok()) return false;
    return write(out, rank == 1 ? "[*]" : "[" + std::string(rank - 1, ',') + "]");
  }

  bool function_pointer(ByteCursor& cursor, size_t depth) {
    if ((cursor.u8() & kGeneric) != 0) (void)compressed_uint(cursor);
    const uint32_t count = compressed_uint(cursor);
    if (!cursor.ok()) return false;
    for (uint64_t i = 0; i <= count; ++i) {  // what it returns comes first
      if (!inner(cursor, nullptr, depth)) return false;
    }
    return true;
  }

  static bool write(std::string* out, std::string_view text) {
    return out == nullptr || append_bounded(*out, text);
  }

  const EcmaMetadata* outer_;
  const EcmaModules* modules_;
  EcmaSpelling spelling_;
  uint32_t steps_ = 0;
};

Error no_type() {
  return {ErrorKind::damaged,
          "a type's signature makes no sense, or is of a module not at hand",
          {},
          {},
          0};
}

}  // namespace

Result<std::string> type_text(ByteCursor& cursor, const EcmaMetadata* metadata,
                              const EcmaModules* modules, EcmaSpelling spelling) {
  std::string out;
  if (!TypeReader(metadata, modules, spelling).type(cursor, metadata, &out)) {
    return fail(no_type());
  }
  return out;
}

Status skip_type(ByteCursor& cursor) {
  if (!TypeReader(nullptr, nullptr, EcmaSpelling::runtime).type(cursor, nullptr, nullptr)) {
    return fail(no_type());
  }
  return {};
}

std::optional<EcmaTypeHead> type_head(ByteCursor cursor, const EcmaMetadata* metadata,
                                      const EcmaModules* modules) {
  EcmaTypeHead out{metadata, {}};
  for (size_t i = 0; i < 4; ++i) {  // at most: 3f n 15 3f n 12
    switch (cursor.u8()) {
      case kModule: {
        const uint32_t index = compressed_uint(cursor);
        out.metadata = modules != nullptr ? modules->module(index) : nullptr;
        break;
      }
      case kGenericInstance:
        break;
      case kClass:
      case kValueType:
        out.type = type_def_or_ref(compressed_uint(cursor));
        if (!cursor.ok() || out.metadata == nullptr || !out.metadata->has(out.type)) {
          return std::nullopt;
        }
        return out;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace jitscope
