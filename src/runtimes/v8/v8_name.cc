// V8's perf map names in their parts; see v8_name.h.
#include "runtimes/v8/v8_name.h"

#include <algorithm>
#include <array>

namespace jitscope {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_function_tag(std::string_view tag) {
  constexpr std::array<std::string_view, 5> kTags = {"JS", "LazyCompile", "Function", "Script",
                                                     "Eval"};
  return std::ranges::find(kTags, tag) != kTags.end();
}

// Tags of code that is no function of the program. Older V8 has one a kind of stub and handler.
bool is_runtime_tag(std::string_view tag) {
  constexpr std::array<std::string_view, 24> kTags = {
      "Builtin",      "BytecodeHandler", "RegExp",       "Stub",
      "Handler",      "Callback",        "DebugBreak",   "LoadIC",
      "KeyedLoadIC",  "StoreIC",         "KeyedStoreIC", "CallIC",
      "LoadGlobalIC", "StoreGlobalIC",   "BinaryOpIC",   "CompareIC",
      "ToBooleanIC",  "CodeStub",        "Wasm",         "WasmFunction",
      "JSToWasm",     "NativeFunction",  "NativeScript", "NativeLazyCompile"};
  return std::ranges::find(kTags, tag) != kTags.end();
}

// Where ":line" or ":line:column" at the end begins; npos without one.
size_t position_at_end(std::string_view text) {
  size_t begin = std::string_view::npos;
  for (int field = 0; field < 2; ++field) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == text.size() ||
        !std::ranges::all_of(text.substr(colon + 1), is_digit)) {
      break;
    }
    begin = colon;
    text = text.substr(0, colon);
  }
  return begin;
}

bool begins_a_script(std::string_view text) {
  constexpr std::array<std::string_view, 10> kBeginnings = {
      "/",       "file:",   "node:",       "http://",   "https://",
      "wasm://", "webpack", "evalmachine", "internal/", ":"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return text.starts_with(begin); });
}

// "get size /srv/my app/a.js:2:113": function names and paths may both hold blanks, so the first
// place that looks like a path or URL decides, else the last blank.
void split_location(std::string_view text, MethodName& name) {
  if (position_at_end(text) == std::string_view::npos) {
    // Without a script (or cut): all of it is the function's name.
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    name.function = text;
    return;
  }
  size_t blank = std::string_view::npos;
  for (size_t i = text.find(' '); i != std::string_view::npos; i = text.find(' ', i + 1)) {
    if (begins_a_script(text.substr(i + 1))) {
      blank = i;
      break;
    }
  }
  if (blank == std::string_view::npos) blank = text.rfind(' ');
  if (blank == std::string_view::npos) {
    name.location = text;
    return;
  }
  name.function = text.substr(0, blank);
  name.location = text.substr(blank + 1);
}

// "fib<weird, name>-0-turbofan": name, index in the module, compiler.
bool split_wasm(std::string_view text, V8Name& out) {
  Tier tier = Tier::unknown;
  if (text.ends_with("-turbofan")) {
    tier = Tier::turbofan;
    text.remove_suffix(9);
  } else if (text.ends_with("-liftoff")) {
    tier = Tier::baseline;
    text.remove_suffix(8);
  } else {
    return false;
  }
  const size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == text.size() ||
      !std::ranges::all_of(text.substr(dash + 1), is_digit)) {
    return false;
  }
  out.name.function = text.substr(0, dash);
  out.name.type = kWasmType;
  if (out.name.function.empty()) out.name.function = text;
  out.tier = tier;
  return true;
}

}  // namespace

std::optional<V8Name> parse_v8_name(std::string_view raw) {
  const size_t colon = raw.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view tag = raw.substr(0, colon);
  std::string_view text = raw.substr(colon + 1);
  V8Name out;
  out.name.raw = raw;
  if (is_runtime_tag(tag)) {
    out.name.type = tag;
    out.name.function = text;
    out.tier = Tier::stub;
    return out;
  }
  if (!is_function_tag(tag)) return std::nullopt;
  if (text.size() > 1 && text[0] == 'o' && (text[1] == '*' || text[1] == '+')) {
    out.osr = true;
    text.remove_prefix(1);
  }
  const char mark = text.empty() ? '\0' : text.front();
  switch (mark) {
    case '~':
      out.tier = Tier::bytecode;
      break;
    case '^':
      out.tier = Tier::baseline;
      break;
    case '+':
      out.tier = Tier::maglev;
      break;
    case '*':
      out.tier = Tier::turbofan;
      break;
    default:
      break;
  }
  if (out.tier != Tier::unknown) {
    text.remove_prefix(1);
    if (text.starts_with('\'')) text.remove_prefix(1);
  } else if (split_wasm(text, out)) {
    return out;
  }
  split_location(text, out.name);
  out.function = true;
  return out;
}

std::optional<MapName> parse_v8_map_name(std::string_view raw) {
  auto v8 = parse_v8_name(raw);
  if (!v8) return std::nullopt;
  MapName out;
  out.name = std::move(v8->name);
  out.tier = v8->tier;
  out.osr = v8->osr;
  if (v8->tier == Tier::stub) {
    out.not_probeable = kRuntimeStub;
  } else if (v8->tier == Tier::bytecode) {
    out.not_probeable = "bytecode";
  } else if (v8->function) {
    out.convention = CallConvention::v8_x86_64;
  }
  return out;
}

}  // namespace jitscope
