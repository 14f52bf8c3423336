// The template of the flame page: the files of this folder, put into the library by the build
// (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace jitscope::flame {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view model_js;
extern const std::string_view forward_js;
extern const std::string_view reverse_js;
extern const std::string_view draw_js;
extern const std::string_view view_js;
extern const std::string_view page_js;

}  // namespace jitscope::flame
