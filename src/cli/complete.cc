#include "cli/complete.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/complete_values.h"

namespace jitscope {
namespace {

// What the words before the last one say.
class Typed {
 public:
  explicit Typed(const CLI::App& app) : root_(&app), app_(&app) {}

  void word(const std::string& word) {
    if (waiting_ != nullptr) {
      value(*waiting_, word);
      waiting_ = nullptr;
    } else if (only_positional_) {
      ++positional_;
    } else if (word == "--") {
      only_positional_ = true;
    } else if (word.starts_with('-') && word.size() > 1) {
      option(word);
    } else if (const CLI::App* command = app_->command(word)) {
      app_ = command;
      help_ = help_ || (command->name() == "help" && command->options().empty());
      if (command->name() == "help") app_ = root_;
    } else {
      // What a command is given to run has options of its own.
      if (const auto* taken = positional(); taken != nullptr) {
        value(*taken, word);
        only_positional_ = taken->about().value.kind == ValueKind::command;
      }
      ++positional_;
    }
  }

  [[nodiscard]] Completions last(const std::string& word) {
    if (waiting_ != nullptr) return values(*waiting_, "", word);
    if (!only_positional_ && word.starts_with("--") && word.contains('=')) {
      const size_t equals = word.find('=');
      const CLI::Option* given = app_->option(word.substr(0, equals));
      if (given == nullptr || given->about().flag) return {};
      return values(*given, word.substr(0, equals + 1), word.substr(equals + 1));
    }
    if (!only_positional_ && word.starts_with('-')) return options(word);
    if (!only_positional_ && !app_->commands().empty()) return commands(word);
    if (help_) return {};
    if (const CLI::Option* next = positional()) return values(*next, "", word);
    return only_positional_ || !word.empty() ? Completions() : options(word);
  }

 private:
  void option(const std::string& word) {
    const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const bool attached = !word.starts_with("--") && word.size() > 2;
    const CLI::Option* given = app_->option(attached ? word.substr(0, 2) : word.substr(0, equals));
    if (given == nullptr) return;
    used_.insert(given);
    if (given->about().flag) return;
    if (equals != std::string::npos) {
      value(*given, word.substr(equals + 1));
    } else if (attached) {
      value(*given, word.substr(2));
    } else {
      waiting_ = given;
    }
  }

  void value(const CLI::Option& option, const std::string& text) {
    if (option.has_name("--pid")) context_.pid = text;
    if (option.has_name("--input") || option.has_name("RECORDING")) context_.recording = text;
    if (option.has_name("--map")) context_.map = text;
  }

  [[nodiscard]] const CLI::Option* positional() const {
    size_t number = 0;
    for (const CLI::Option& each : app_->options()) {
      if (!each.about().positional) continue;
      if (number++ == positional_ || each.about().several) return &each;
    }
    return nullptr;
  }

  [[nodiscard]] Completions values(const CLI::Option& option, const std::string& before,
                                   const std::string& begun) const {
    Completions found = complete_value(option.about(), context_, begun);
    for (auto& each : found.candidates) each.text = before + each.text;
    return found;
  }

  [[nodiscard]] Completions commands(const std::string& begun) const {
    Completions found;
    for (const CLI::App& each : app_->commands()) {
      if (help_ && each.name() == "help") continue;
      if (each.name().starts_with(begun)) found.candidates.push_back({each.name(), each.about()});
    }
    return found;
  }

  // The long names; the short one of what has no other.
  [[nodiscard]] Completions options(const std::string& begun) const {
    Completions found;
    const auto offer = [&](const std::string& name, const std::string& about) {
      if (name.starts_with(begun)) found.candidates.push_back({name, about});
    };
    if (help_) return found;
    for (const CLI::Option& each : app_->options()) {
      const auto& about = each.about();
      if (about.positional || (used_.contains(&each) && !about.several)) continue;
      offer(about.names.back(), about.text);
      if (about.names.size() > 1 && begun == about.names.front()) {
        offer(about.names.front(), about.text);
      }
    }
    if (!begun.empty()) offer("--help", "What the command does");
    if (!begun.empty() && app_ == root_) offer("--version", "Which jitscope this is");
    return found;
  }

  const CLI::App* root_;
  const CLI::App* app_;
  const CLI::Option* waiting_ = nullptr;
  std::set<const CLI::Option*> used_;
  CompletionContext context_;
  size_t positional_ = 0;
  bool only_positional_ = false;
  bool help_ = false;
};

}  // namespace

Completions complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  Typed typed(app);
  for (size_t i = 0; i + 1 < words.size(); ++i) typed.word(words[i]);
  return typed.last(words.back());
}

int print_completions(const CLI::App& app, const std::vector<std::string>& words) {
  const Completions found = complete(app, words);
  std::string text;
  for (const auto& each : found.candidates) {
    text += printable(each.text) + '\t' + printable(each.about) + '\n';
  }
  if (!found.by_shell.empty()) text += found.by_shell + '\n';
  write_out(text);
  return found.candidates.empty() && found.by_shell.empty() ? 1 : 0;
}

}  // namespace jitscope
