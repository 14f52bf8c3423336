// See type_path.h.
#include "formats/ecma335/type_path.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

// What the runtime writes a backslash before (IsTypeNameReservedChar).
constexpr std::string_view kReserved = ",[]&*+\\";

bool append_escaped(std::string& out, std::string_view name) {
  if (name.find_first_of(kReserved) == std::string_view::npos) return append_bounded(out, name);
  std::string escaped;
  for (const char each : name) {
    if (kReserved.find(each) != std::string_view::npos) escaped += '\\';
    escaped += each;
  }
  return append_bounded(out, escaped);
}

// "Dictionary`2": 2 and the name without it. None: 0.
size_t take_arity(std::string_view& name) {
  const size_t tick = name.rfind('`');
  if (tick == std::string_view::npos) return 0;
  const auto arity = parse_decimal(name.substr(tick + 1));
  if (!arity) return 0;
  name = name.substr(0, tick);
  return *arity;
}

std::string listed(std::span<const std::string> arguments) {
  std::string out;
  for (const std::string& each : arguments) {
    if (!out.empty()) out += ',';
    if (!append_bounded(out, each)) break;
  }
  return out;
}

}  // namespace

bool append_bounded(std::string& out, std::string_view text) {
  if (text.size() > kMostEcmaText - std::min(kMostEcmaText, out.size())) return false;
  out += text;
  return true;
}

EcmaTypePath type_path(const EcmaMetadata& metadata, EcmaToken type) {
  EcmaTypePath out;
  for (EcmaToken at = type;; at = out.outside) {
    if (!metadata.has(at) || out.types.size() == kMostEcmaNesting) return {};
    out.types.push_back(at);
    out.outside = metadata.scope(at);
    if (out.outside.table != type.table) break;
  }
  std::ranges::reverse(out.types);
  return out;
}

bool append_type_name(std::string& out, const EcmaMetadata& metadata, const EcmaTypePath& path,
                      std::span<const std::string> arguments, EcmaSpelling spelling) {
  std::string text;
  bool fits = !path.types.empty();
  bool first = true;
  for (const EcmaToken type : path.types) {
    auto [space, name] = metadata.type_name(type);
    if (!first) text += '+';
    first = false;
    size_t arity = 0;
    if (spelling == EcmaSpelling::csharp) {
      std::string_view plain = name;
      arity = take_arity(plain);
      if (arity != 0 && arity <= arguments.size()) {
        name = plain;
      } else {
        arity = 0;
      }
    }
    if (!space.empty()) fits = fits && append_escaped(text, space) && append_bounded(text, ".");
    fits = fits && append_escaped(text, name);
    if (arity != 0) {
      fits = fits && append_bounded(text, "<" + listed(arguments.first(arity)) + ">");
      arguments = arguments.subspan(arity);
    }
  }
  // The runtime's place for all of them; else what no name of the path has announced.
  if (!arguments.empty()) {
    const bool square = spelling == EcmaSpelling::runtime;
    fits = fits &&
           append_bounded(text, (square ? "[" : "<") + listed(arguments) + (square ? "]" : ">"));
  }
  return fits && append_bounded(out, text);
}

bool append_il_name(std::string& out, const EcmaMetadata& metadata, const EcmaTypePath& path) {
  if (path.types.empty()) return false;
  std::string text;
  const EcmaToken outside = path.outside;
  if (path.types.front().table == EcmaTable::type_ref) {
    const std::string_view name = metadata.name(outside);
    if (!outside) {
      text = "[*]";
    } else if (!name.empty()) {
      text = outside.table == EcmaTable::module_ref ? "[.module " : "[";
      if (!append_bounded(text, name)) return false;
      text += ']';
    }
  }
  bool first = true;
  for (const EcmaToken type : path.types) {
    const EcmaTypeName name = metadata.type_name(type);
    if (!first) text += '/';
    first = false;
    if (!name.space.empty() && !(append_bounded(text, name.space) && append_bounded(text, "."))) {
      return false;
    }
    if (!append_bounded(text, name.name)) return false;
  }
  return append_bounded(out, text);
}

}  // namespace jitscope
