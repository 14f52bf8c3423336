#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/printable.h"

namespace jitscope::CLI {
namespace {

template <typename Number>
Check range(Number low, Number high) {
  const ::CLI::Range real(low, high);
  return {[real](std::string text) { return real(text); }, {}};
}

Check one_of(std::vector<std::string> choices) {
  auto wrong = [choices](const std::string& text) {
    return std::ranges::find(choices, text) != choices.end()
               ? std::string()
               : fmt::format("{} not in {{{}}}", text, fmt::join(choices, ","));
  };
  return {std::move(wrong), std::move(choices)};
}

}  // namespace

Check Range(int low, int high) {
  return range(low, high);
}

Check Range(double low, double high) {
  return range(low, high);
}

Check IsMember(std::initializer_list<const char*> choices) {
  return one_of({choices.begin(), choices.end()});
}

Check IsMember(std::initializer_list<int> choices) {
  std::vector<std::string> texts;
  for (const int each : choices) texts.push_back(std::to_string(each));
  return one_of(std::move(texts));
}

Check IsMember(std::vector<std::string> choices) {
  return one_of(std::move(choices));
}

Option* Option::required() {
  about_.required = true;
  real_->required();
  return this;
}

Option* Option::check(const Check& check) {
  if (!check.choices.empty()) {
    about_.choices = check.choices;
    real_->type_name(fmt::format("{}", fmt::join(check.choices, "|")));
  }
  return this->check(check.wrong);
}

Option* Option::check(std::function<std::string(const std::string&)> wrong) {
  real_->check(std::move(wrong));
  return this;
}

Option* Option::transform(std::function<std::string(const std::string&)> change) {
  real_->transform(std::move(change));
  return this;
}

Option* Option::excludes(Option* other) {
  real_->excludes(other->real_);
  return this;
}

Option* Option::needs(Option* other) {
  real_->needs(other->real_);
  return this;
}

Option* Option::capture_default_str() {
  real_->capture_default_str();
  return this;
}

Option* Option::delimiter(char separator) {
  real_->delimiter(separator);
  return this;
}

Option* Option::allow_extra_args(bool allowed) {
  real_->allow_extra_args(allowed);
  return this;
}

Option* Option::expected(int values) {
  real_->expected(values);
  return this;
}

bool Option::has_name(std::string_view name) const {
  return std::ranges::find(about_.names, name) != about_.names.end();
}

App* App::add_subcommand(const std::string& name, const std::string& about) {
  return &commands_.emplace_back(real_->add_subcommand(name, about), this, name, about);
}

void App::require_subcommand(int count) {
  real_->require_subcommand(count);
}

template <typename Value>
Option* App::add(const std::string& names, Value& value, const std::string& about, bool several) {
  Option::About declared;
  declared.names = ::CLI::detail::split(names, ',');
  declared.text = about;
  declared.several = several;
  declared.positional = !declared.names.front().starts_with('-');
  declared.value = option_value(declared.names.back());
  ::CLI::Option* real = real_->add_option(names, value, about);
  real->type_name(std::string(declared.value.name));
  return &options_.emplace_back(real, std::move(declared));
}

Option* App::add_flag(const std::string& names, bool& value, const std::string& about) {
  Option::About declared;
  declared.names = ::CLI::detail::split(names, ',');
  declared.text = about;
  declared.flag = true;
  return &options_.emplace_back(real_->add_flag(names, value, about), std::move(declared));
}

Option* App::add_option(const std::string& names, int& value, const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, std::optional<int>& value,
                        const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, unsigned& value, const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, uint64_t& value, const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, double& value, const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, std::string& value, const std::string& about) {
  return add(names, value, about, false);
}

Option* App::add_option(const std::string& names, std::vector<int>& value,
                        const std::string& about) {
  return add(names, value, about, true);
}

Option* App::add_option(const std::string& names, std::vector<std::string>& value,
                        const std::string& about) {
  return add(names, value, about, true);
}

void App::callback(std::function<void()> run) {
  real_->callback([this, run = std::move(run)] {
    if (!parses_only()) run();
  });
}

void App::footer(const std::string& text) {
  real_->footer(text);
}

void App::only_parse() {
  parse_only_ = true;
}

std::string App::full_name() const {
  return parent_ == nullptr ? name_ : parent_->full_name() + " " + name_;
}

const App* App::command(std::string_view name) const {
  const auto found = std::ranges::find(commands_, name, &App::name_);
  return found == commands_.end() ? nullptr : &*found;
}

const Option* App::option(std::string_view name) const {
  const auto found =
      std::ranges::find_if(options_, [&](const Option& each) { return each.has_name(name); });
  return found == options_.end() ? nullptr : &*found;
}

std::string App::help() const {
  return real_->help(parent_ == nullptr ? "" : parent_->full_name());
}

Root::Root(const std::string& name, const std::string& about, const std::string& version)
    : real_(std::make_unique<::CLI::App>(about, name)),
      app_(std::make_unique<App>(real_.get(), nullptr, name, about)) {
  real_->set_version_flag("--version", version);
  real_->failure_message([](const ::CLI::App* command, const ::CLI::Error& error) {
    // One line, whatever line ends were typed.
    const ::CLI::Error shown(error.get_name(), printable(error.what()), error.get_exit_code());
    return ::CLI::FailureMessage::simple(command, shown);
  });
}

Root::~Root() = default;

// CLI11's own way of saying "help was asked for" is an error with code 0.
Parsing Root::parse(const std::vector<std::string>& words) {
  Parsing result;
  try {
    real_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const ::CLI::ParseError& error) {
    // CLI11 only says that a command is missing.
    result.named_no_command = dynamic_cast<const ::CLI::RequiredError*>(&error) != nullptr &&
                              !words.empty() && !words.front().starts_with('-') &&
                              app_->command(words.front()) == nullptr;
    std::ostringstream out;
    std::ostringstream errors;
    result.fine = real_->exit(error, out, errors) == 0;
    result.out = out.str();
    result.errors = errors.str();
  }
  return result;
}

}  // namespace jitscope::CLI
