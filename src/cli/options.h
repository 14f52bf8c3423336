// How commands declare their options: the part of CLI11 that they use, under CLI11's own names.
// CLI11 is all in its headers, which take ten seconds to compile; here they are compiled once
// (options.cc). What was declared can be read again, for help, completion and manual pages.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_values.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace jitscope::CLI {

// What a value must be. The text is "" when it is fine, else what is wrong with it.
struct Check {
  std::function<std::string(const std::string&)> wrong;
  std::vector<std::string> choices;  // the only values, where there are few
};
[[nodiscard]] Check Range(int low, int high);
[[nodiscard]] Check Range(double low, double high);
[[nodiscard]] Check IsMember(std::initializer_list<const char*> choices);
[[nodiscard]] Check IsMember(std::initializer_list<int> choices);
[[nodiscard]] Check IsMember(std::vector<std::string> choices);

class Option {
 public:
  // As it was declared.
  struct About {
    std::vector<std::string> names;  // "-p", "--pid"; "PATTERN" of what stands without a dash
    std::string text;
    bool positional = false;
    bool flag = false;
    bool required = false;
    bool several = false;  // values, or times to be given
    OptionValue value;     // not of flags
    std::vector<std::string> choices;
  };

  Option(::CLI::Option* real, About about) : real_(real), about_(std::move(about)) {}
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  Option* required();
  Option* check(const Check& check);
  Option* check(std::function<std::string(const std::string&)> wrong);
  Option* transform(std::function<std::string(const std::string&)> change);
  Option* excludes(Option* other);
  Option* needs(Option* other);
  // The default is shown in the help.
  Option* capture_default_str();
  Option* delimiter(char separator);
  // false: one value each time that the option is given.
  Option* allow_extra_args(bool allowed);
  Option* expected(int values);

  [[nodiscard]] const About& about() const { return about_; }
  // Is it called so ("--pid")?
  [[nodiscard]] bool has_name(std::string_view name) const;

 private:
  ::CLI::Option* real_;
  About about_;
};

// A command with its options and its own commands.
class App {
 public:
  App(::CLI::App* real, App* parent, std::string name, std::string about)
      : real_(real), parent_(parent), name_(std::move(name)), about_(std::move(about)) {}
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  App* add_subcommand(const std::string& name, const std::string& about);
  // One command of its own must be given.
  void require_subcommand(int count);
  Option* add_flag(const std::string& names, bool& value, const std::string& about);
  Option* add_option(const std::string& names, int& value, const std::string& about);
  Option* add_option(const std::string& names, std::optional<int>& value, const std::string& about);
  Option* add_option(const std::string& names, unsigned& value, const std::string& about);
  Option* add_option(const std::string& names, uint64_t& value, const std::string& about);
  Option* add_option(const std::string& names, double& value, const std::string& about);
  Option* add_option(const std::string& names, std::string& value, const std::string& about);
  Option* add_option(const std::string& names, std::vector<int>& value, const std::string& about);
  Option* add_option(const std::string& names, std::vector<std::string>& value,
                     const std::string& about);
  // Called when the command was given and its options were read.
  void callback(std::function<void()> run);
  // Shown at the end of the command's help.
  void footer(const std::string& text);
  // Words of the command line are read, and nothing is done.
  void only_parse();

  [[nodiscard]] const std::string& name() const { return name_; }
  // "jitscope image build".
  [[nodiscard]] std::string full_name() const;
  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] const std::deque<Option>& options() const { return options_; }
  [[nodiscard]] const std::deque<App>& commands() const { return commands_; }
  [[nodiscard]] std::deque<App>& commands() { return commands_; }
  // nullptr: there is none of this name.
  [[nodiscard]] const App* command(std::string_view name) const;
  [[nodiscard]] const Option* option(std::string_view name) const;
  // What --help prints.
  [[nodiscard]] std::string help() const;

 private:
  template <typename Value>
  Option* add(const std::string& names, Value& value, const std::string& about, bool several);
  [[nodiscard]] bool parses_only() const { return parent_ ? parent_->parses_only() : parse_only_; }

  ::CLI::App* real_;
  App* parent_;
  std::string name_;
  std::string about_;
  bool parse_only_ = false;
  // Their addresses are given out.
  std::deque<Option> options_;
  std::deque<App> commands_;
};

struct Parsing {
  bool fine = true;
  bool named_no_command = false;  // there is none of the name that was given
  std::string out;                // the help or the version that was asked for
  std::string errors;
};

// The program's own command, which all others stand in.
class Root {
 public:
  Root(const std::string& name, const std::string& about, const std::string& version);
  ~Root();
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  [[nodiscard]] App& app() { return *app_; }
  // The words behind the program's name. Runs what was given.
  [[nodiscard]] Parsing parse(const std::vector<std::string>& words);

 private:
  std::unique_ptr<::CLI::App> real_;
  std::unique_ptr<App> app_;
};

}  // namespace jitscope::CLI
