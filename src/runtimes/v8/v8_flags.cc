// V8's perf flags from a command line; see v8_flags.h. Where it is not sure that an option reaches
// V8, the answer is the safe one: code may move.
#include "runtimes/v8/v8_flags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace jitscope {
namespace {

// Options of node that take the next word as their value, as V8 spells names.
constexpr std::array<std::string_view, 22> kWithValue = {"r",
                                                         "require",
                                                         "import",
                                                         "e",
                                                         "eval",
                                                         "C",
                                                         "conditions",
                                                         "loader",
                                                         "experimental-loader",
                                                         "env-file",
                                                         "env-file-if-exists",
                                                         "input-type",
                                                         "title",
                                                         "icu-data-dir",
                                                         "openssl-config",
                                                         "diagnostic-dir",
                                                         "redirect-warnings",
                                                         "report-dir",
                                                         "report-directory",
                                                         "cpu-prof-dir",
                                                         "heap-prof-dir",
                                                         "stack-trace-limit"};

// "--perf_basic_prof=x" -> "perf-basic-prof"; "" for a word that is no option.
std::string option_name(std::string_view word) {
  if (!word.starts_with('-')) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  std::string name(word.substr(0, word.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::vector<std::string> words(std::string_view text, char separator) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == separator && !quoted) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += text[i];
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

class Reader {
 public:
  void take(std::span<const std::string> options) {
    for (size_t i = 0; i < options.size(); ++i) {
      const std::string& word = options[i];
      const std::string name = option_name(word);
      if (name.empty()) break;  // the script, or "--": what follows is the script's own
      const size_t equals = word.find('=');
      const bool has_value = equals != std::string::npos;
      if (name == "js-flags" && has_value)
        take(words(std::string_view(word).substr(equals + 1), ' '));
      if (name == "v8-flags" && has_value)
        take(words(std::string_view(word).substr(equals + 1), ','));
      if (name == "perf-basic-prof-path") {
        if (has_value) {
          directory_ = word.substr(equals + 1);
        } else if (++i < options.size()) {
          directory_ = options[i];
        }
        continue;
      }
      if (!has_value) set(name);
      if (!has_value && std::ranges::find(kWithValue, name) != kWithValue.end()) ++i;
    }
  }

  [[nodiscard]] V8Flags result() const {
    V8Flags flags;
    flags.writes_map = basic_.value_or(false) || only_functions_.value_or(false);
    // Something that was turned on and off again is not worth a guess.
    flags.code_is_fixed = (flags.writes_map || full_.value_or(false)) && !denied_ && !compacts_;
    if (directory_.starts_with('/')) flags.map_directory = directory_;
    return flags;
  }

 private:
  void set(std::string_view name) {
    bool on = true;
    if (name.starts_with("no-")) {
      name.remove_prefix(3);
      on = false;
    } else if (name.starts_with("noperf")) {
      name.remove_prefix(2);
      on = false;
    }
    std::optional<bool>* flag = nullptr;
    if (name == "perf-basic-prof") flag = &basic_;
    if (name == "perf-basic-prof-only-functions") flag = &only_functions_;
    if (name == "perf-prof") flag = &full_;
    if (flag != nullptr) {
      *flag = on;
      denied_ = denied_ || !on;
    } else if (on && name.find("compact") != std::string_view::npos) {
      compacts_ = true;
    }
  }

  std::optional<bool> basic_;
  std::optional<bool> only_functions_;
  std::optional<bool> full_;
  bool denied_ = false;
  bool compacts_ = false;
  std::string directory_;
};

}  // namespace

V8Flags read_v8_flags(std::span<const std::string> arguments, std::string_view node_options) {
  Reader reader;
  reader.take(words(node_options, ' '));
  if (!arguments.empty()) {
    std::string_view program = arguments[0];
    program = program.substr(program.rfind('/') + 1);
    // deno has a verb before its options.
    const size_t skip = program == "deno" && arguments.size() > 1 ? 2 : 1;
    reader.take(arguments.subspan(skip));
  }
  return reader.result();
}

}  // namespace jitscope
