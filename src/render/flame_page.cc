#include "render/flame_page.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "render/flame/files.h"
#include "render/flame_data.h"

namespace jitscope {
namespace {

// In a script element only `<` can begin what ends or nests it (`</script>`, `<!--`).
std::string without_angles(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const size_t angle = std::min(json.find('<', at), json.size());
    out += json.substr(at, angle - at);
    if (angle < json.size()) out += "\\u003c";
    at = angle + 1;
  }
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Fills the places {{name}} of the template in one pass, so that no text is taken for a place.
std::string assemble(std::string_view title, std::string_view data) {
  const std::string shown_title = escape_html(printable(title));
  std::string script = "\"use strict\";\n";
  for (const std::string_view part : {flame::model_js, flame::forward_js, flame::reverse_js,
                                      flame::draw_js, flame::view_js, flame::page_js}) {
    script += part;
  }
  const std::array<std::pair<std::string_view, std::string_view>, 4> places = {{
      {"{{title}}", shown_title},
      {"{{style}}", flame::page_css},
      {"{{data}}", data},
      {"{{script}}", script},
  }};
  std::string_view page = flame::page_html;
  std::string out;
  out.reserve(page.size() + script.size() + data.size() + flame::page_css.size() + 1024);
  while (!page.empty()) {
    size_t next = page.size();
    const std::pair<std::string_view, std::string_view>* place = nullptr;
    for (const auto& each : places) {
      const size_t at = page.find(each.first);
      if (at < next) {
        next = at;
        place = &each;
      }
    }
    out += page.substr(0, next);
    if (place == nullptr) break;
    out += place->second;
    page.remove_prefix(next + place->first.size());
  }
  return out;
}

std::string title_of(const FlameOptions& options, const Profile& profile) {
  const std::string& name = options.title.empty() ? profile.command : options.title;
  return name.empty() ? "Flame graph" : name + " - flame graph";
}

}  // namespace

std::string flame_page(const Profile& profile, const FlameOptions& options) {
  const std::array<const Profile*, 1> sides = {&profile};
  const std::array<std::string, 1> names = {"samples"};
  return assemble(title_of(options, profile), without_angles(flame_data(sides, names, options)));
}

std::string flame_diff_page(const Profile& before, const Profile& after,
                            const FlameDiffOptions& options) {
  const std::array<const Profile*, 2> sides = {&before, &after};
  const std::array<std::string, 2> names = {options.before_name, options.after_name};
  return assemble(title_of(options, after), without_angles(flame_data(sides, names, options)));
}

}  // namespace jitscope
