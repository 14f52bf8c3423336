#include "render/output_form.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "render/firefox_profile.h"
#include "render/flame_page.h"
#include "render/folded.h"
#include "render/pprof.h"
#include "render/speedscope.h"

namespace jitscope {
namespace {

Status write_page(const OutputInput& input, const OutputSink& sink) {
  FlameOptions options;
  options.title = input.title;
  options.event = input.event;
  return sink(flame_page(input.profile, options));
}

// Folded stacks of a large recording go out in pieces.
Status write_folded_stacks(const OutputInput& input, const OutputSink& sink) {
  FoldedOptions options;
  options.event = input.event;
  options.per_thread = input.per_thread;
  Status status;
  write_folded(input.profile, options, [&](std::string_view piece) {
    if (status) status = sink(piece);
  });
  return status;
}

Status write_pprof(const OutputInput& input, const OutputSink& sink) {
  PprofOptions options;
  options.wall_clock_start = input.wall_clock_start;
  options.build_ids = input.build_ids;
  JITSCOPE_ASSIGN(const std::string text, pprof_profile(input.profile, options));
  return sink(text);
}

Status write_speedscope(const OutputInput& input, const OutputSink& sink) {
  return sink(speedscope_json(input.profile, {.name = input.title}));
}

Status write_firefox(const OutputInput& input, const OutputSink& sink) {
  FirefoxOptions options;
  options.wall_clock_start = input.wall_clock_start;
  return sink(firefox_profile(input.profile, options));
}

constexpr OutputForm kPage = {"flame graph page", {".html"}, false, true, write_page};
constexpr OutputForm kFolded = {
    "folded stacks", {".folded", ".txt"}, false, false, write_folded_stacks};
constexpr OutputForm kPprof = {"pprof", {".pb.gz", ".pprof"}, false, false, write_pprof};
constexpr OutputForm kSpeedscope = {
    "speedscope", {".speedscope.json"}, true, false, write_speedscope};
constexpr OutputForm kFirefox = {"Firefox Profiler", {".firefox.json"}, true, false, write_firefox};

std::vector<const OutputForm*>& forms() {
  static std::vector<const OutputForm*> all = {&kPage, &kFolded, &kPprof, &kSpeedscope, &kFirefox};
  return all;
}

// ".html, .folded (.txt), .pb.gz (.pprof), ..."
std::string all_endings() {
  std::string text;
  const auto& all = forms();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i != 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i]->endings[0];
    if (!all[i]->endings[1].empty()) text += fmt::format(" ({})", all[i]->endings[1]);
  }
  return text + "; -.folded is standard output";
}

// What users of other tools try.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOthers = {
    {{".svg", "an interactive page: -o x.html"},
     {".collapsed", "the same is -o x.folded"},
     {".jfr",
      "JFR is not written; Firefox Profiler and speedscope show a timeline too: -o "
      "x.firefox.json, -o x.speedscope.json"},
     {".otlp", "of OpenTelemetry's formats none is written; its tools read pprof: -o x.pb.gz"},
     {".json", "-o x.speedscope.json or -o x.firefox.json, each for its viewer"},
     {".pb", "pprof is compressed: -o x.pb.gz"},
     {".gz", "pprof: -o x.pb.gz"}}};

}  // namespace

std::span<const OutputForm* const> output_forms() {
  return forms();
}

Result<const OutputForm*> output_form_of(const std::string& path) {
  for (const OutputForm* form : forms()) {
    for (const std::string_view ending : form->endings) {
      if (!ending.empty() && path.ends_with(ending)) return form;
    }
  }
  for (const auto& [ending, instead] : kOthers) {
    if (!path.ends_with(ending)) continue;
    return fail(ErrorKind::usage, fmt::format("flame does not write {}", ending), path,
                fmt::format("{}. It takes {}", instead, all_endings()));
  }
  return fail(ErrorKind::usage, "the extension of -o says no form", path, all_endings());
}

ExtraOutputForm::ExtraOutputForm(const OutputForm& form) {
  forms().push_back(&form);
}

ExtraOutputForm::~ExtraOutputForm() {
  forms().pop_back();
}

}  // namespace jitscope
