// Writes files of each format from folded text, for tests that look at them without a recording:
//   flame_from_folded IN.folded OUT.html            the flame page
//   flame_from_folded --diff A.folded B.folded OUT.html
//   flame_from_folded --demo OUT.html               a made-up profile with all kinds of frames
//   flame_from_folded IN.folded OUT                 by OUT's extension: .pb.gz .speedscope.json
//                                                   .firefox.json .folded, else the table
#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "render/firefox_profile.h"
#include "render/flame_page.h"
#include "render/folded.h"
#include "render/pprof.h"
#include "render/report_tree.h"
#include "render/speedscope.h"
#include "tests/unit/render/sample_profile.h"

namespace {

using namespace jitscope;

Result<Profile> read(const std::string& path) {
  JITSCOPE_ASSIGN(const auto source, open_byte_source(path));
  Diagnostics diagnostics;
  return read_folded(*source, diagnostics);
}

int write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  std::fprintf(stderr, "%s: %zu bytes\n", path.c_str(), text.size());
  return file ? 0 : 1;
}

Result<std::string> convert(const Profile& profile, std::string_view path) {
  if (path.ends_with(".html")) return flame_page(profile, {});
  if (path.ends_with(".pb.gz")) return pprof_profile(profile);
  if (path.ends_with(".speedscope.json")) return speedscope_json(profile);
  if (path.ends_with(".firefox.json")) return firefox_profile(profile);
  if (path.ends_with(".folded")) return folded_text(profile);
  if (path.ends_with(".json")) return report_json(build_report(profile));
  if (path.ends_with(".callers")) {
    const Report report = build_report(profile);
    return report_with_trees(report, {.min_percent = 0.5}, {});
  }
  return report_text(build_report(profile));
}

int run(std::span<const std::string> words) {
  if (words.size() == 2 && words[0] == "--demo") {
    return write(words[1], flame_page(test::sample_profile(), {}));
  }
  if (words.size() == 4 && words[0] == "--diff") {
    const auto before = read(words[1]);
    const auto after = read(words[2]);
    if (!before || !after) return 1;
    const FlameDiffOptions options;
    return write(words[3], flame_diff_page(*before, *after, options));
  }
  if (words.size() != 2) return 2;
  const auto profile = read(words[0]);
  if (!profile) {
    std::fprintf(stderr, "%s\n", to_string(profile.error()).c_str());
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto text = convert(*profile, words[1]);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%zu frames, %zu nodes, %zu stacks: %.3f s\n", profile->frames.size(),
               profile->nodes.size(), profile->stacks.size(), took.count());
  return text ? write(words[1], *text) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return run(words);
}
