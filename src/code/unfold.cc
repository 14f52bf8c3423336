// Unfolding and perf-map-agent's spellings; see unfold.h.
#include "code/unfold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "code/display_name.h"

namespace jitscope {
namespace {

constexpr size_t kDeepest = 256;

// A field descriptor (JVMS 4.3.2) of a type as Java writes it.
std::string descriptor(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, char>, 9> kBasic = {{{"boolean", 'Z'},
                                                                        {"byte", 'B'},
                                                                        {"char", 'C'},
                                                                        {"double", 'D'},
                                                                        {"float", 'F'},
                                                                        {"int", 'I'},
                                                                        {"long", 'J'},
                                                                        {"short", 'S'},
                                                                        {"void", 'V'}}};
  std::string out;
  while (type.ends_with("[]")) {
    type.remove_suffix(2);
    out += '[';
  }
  const auto basic = std::ranges::find(kBasic, type, &std::pair<std::string_view, char>::first);
  if (basic != kBasic.end()) return out + basic->second;
  out += 'L';
  out += type;
  std::ranges::replace(out, '.', '/');
  return out + ';';
}

std::string class_text(std::string_view type, const NameStyle& style) {
  if (style.dotted_class) return std::string(type);
  std::string out = style.clean_class ? std::string(type) : descriptor(type);
  if (style.clean_class) std::ranges::replace(out, '.', '/');
  return out;
}

std::string method_text(std::string_view name, const NameStyle& style) {
  const DisplayParts parts = split_display(name);
  std::string out;
  if (!parts.type.empty()) {
    out = class_text(parts.type, style);
    // As perf-map-agent has it, between any spelling of the class and the method.
    out += "::";
  }
  out += parts.function;
  if (!style.signature || !parts.has_parameters) return out;
  out += '(';
  if (style.dotted_class) {
    out += parts.parameters;
  } else {
    std::string_view rest = parts.parameters;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      out += descriptor(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return out + ')';
}

// "(HashMap.java:12)", as far as it is known.
std::string position(std::string_view file, uint32_t line) {
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file = file.substr(slash + 1);
  if (file.empty() && line == 0) return {};
  if (line == 0) return fmt::format("({})", file);
  return fmt::format("({}:{})", file.empty() ? "line" : file, line);
}

class Unfolder {
 public:
  Unfolder(const MethodName& name, const CodeScopes* scopes, Unfold how, const NameStyle& style)
      : own_(name), scopes_(scopes), how_(how), style_(style) {}

  // What the code of a scope is called; kNone: code of the body of which no more is known.
  [[nodiscard]] std::string name_of(uint32_t scope) const {
    const std::vector<const CodeScopes::Scope*> chain = chain_of(scope);
    if (chain.size() < 2 || how_ == Unfold::none) {
      std::string out = method_text(own_.display(), own_style());
      if (style_.source_position && !chain.empty()) out += place_text(*chain.back());
      return out;
    }
    switch (how_) {
      case Unfold::none:
      case Unfold::simple:
        return shown(*chain.front());
      case Unfold::inlined:
        return shown(*chain.front()) + " in " + shown(*chain.back());
      case Unfold::all:
        break;
    }
    std::string out;
    for (size_t i = chain.size(); i-- > 0;) {
      out += shown(*chain[i]);
      if (i != 0) out += "->";
    }
    return out;
  }

 private:
  // Innermost first.
  [[nodiscard]] std::vector<const CodeScopes::Scope*> chain_of(uint32_t scope) const {
    std::vector<const CodeScopes::Scope*> chain;
    while (scope != CodeScopes::kNone && chain.size() < kDeepest) {
      chain.push_back(&scopes_->scopes[scope]);
      scope = scopes_->scopes[scope].parent;
    }
    return chain;
  }
  // Names that are no Java methods are left as they are.
  [[nodiscard]] NameStyle own_style() const {
    NameStyle style = style_;
    style.signature = style_.signature && own_.has_parameters;
    return style;
  }
  [[nodiscard]] std::string place_text(const CodeScopes::Scope& scope) const {
    return position(scopes_->methods[scope.method].file, scope.line);
  }
  [[nodiscard]] std::string shown(const CodeScopes::Scope& scope) const {
    std::string out = method_text(scopes_->methods[scope.method].name, style_);
    if (style_.source_position) out += place_text(scope);
    return out;
  }

  const MethodName& own_;
  const CodeScopes* scopes_;
  Unfold how_;
  const NameStyle& style_;
};

}  // namespace

std::vector<UnfoldedRange> unfold(uint64_t address, uint64_t size, const MethodName& name,
                                  const CodeScopes* scopes, Unfold how, const NameStyle& style) {
  std::vector<UnfoldedRange> out;
  if (size == 0) return out;
  // Stubs and names with a location have no class to spell.
  if (name.type.empty() || !name.location.empty()) {
    out.push_back({address, size, name.display()});
    return out;
  }
  const Unfolder unfolder(name, scopes, how, style);
  const auto add = [&](uint64_t begin, uint64_t end, uint32_t scope) {
    if (begin >= end) return;
    std::string text = unfolder.name_of(scope);
    if (!out.empty() && out.back().name == text) {
      out.back().size = address + end - out.back().address;
    } else {
      out.push_back({address + begin, end - begin, std::move(text)});
    }
  };
  if (scopes == nullptr || scopes->ranges.empty()) {
    add(0, size, CodeScopes::kNone);
    return out;
  }
  if (how == Unfold::none) {
    add(0, size, scopes->ranges.front().scope);
    return out;
  }
  uint64_t at = 0;
  for (const CodeScopes::Range& range : scopes->ranges) {
    add(at, std::min<uint64_t>(range.begin, size), CodeScopes::kNone);
    add(std::min<uint64_t>(range.begin, size), std::min<uint64_t>(range.end, size), range.scope);
    at = std::max<uint64_t>(at, range.end);
  }
  add(at, size, CodeScopes::kNone);
  return out;
}

}  // namespace jitscope
