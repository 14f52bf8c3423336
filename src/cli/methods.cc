// jitscope methods: the live code bodies of a process, what was inlined into them, and which of
// their code is which line.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "code/inlined_copies.h"
#include "code/pattern_settle.h"
#include "mapped_code/open_code.h"
#include "probe/methods.h"
#include "process/process.h"
#include "render/fit_text.h"
#include "render/json.h"
#include "runtimes/common/code_source.h"


namespace jitscope {
namespace {

struct MethodsOptions {
  std::string process;
  pid_t pid = 0;
  std::vector<std::string> patterns;
  std::vector<std::string> inlined;
  bool json = false;
  bool stubs = false;
  bool ranges = false;
  SourceOptions source;
};

// Collects output and writes it in large pieces.
class Pieces {
 public:
  // False when nobody reads any more.
  bool add(std::string_view text) {
    text_ += text;
    return text_.size() <= kPiece || flush();
  }
  bool flush() { return write_out(std::exchange(text_, {})); }

 private:
  static constexpr size_t kPiece = 1U << 20U;
  std::string text_;
};

// The columns of a body, in a line that fits the terminal: names are cut, and a narrow one has no
// place for entries besides.
std::string line_text(std::string_view address, std::string_view size, std::string_view entry,
                      std::string_view tier, std::string_view state, std::string_view osr,
                      std::string_view name) {
  constexpr size_t narrow = 100;
  constexpr size_t least_name = 10;
  const size_t width = terminal().width;
  std::string line = fmt::format("{:>14} {:>7} ", address, size);
  if (width == 0 || width >= narrow) fmt::format_to(std::back_inserter(line), "{:>14} ", entry);
  fmt::format_to(std::back_inserter(line), "{:<10} {:<11} {:<3} ", tier, state, osr);
  if (width == 0) return fmt::format("{}{}\n", line, name);
  return line + fit_name(name, std::max(least_name, width - std::min(width, line.size()))) + "\n";
}

std::string head_text() {
  return line_text("ADDRESS", "SIZE", "ENTRY", "TIER", "STATE", "OSR", "METHOD");
}

std::string body_json(const CodeBody& body) {
  JsonObject line("body");
  line.text("method", body.name->display())
      .text("raw", body.name->raw)
      .address("address", body.address)
      .number("size", body.size)
      .address("entry", body.entry)
      .text("tier", to_string(body.tier))
      .text("state", to_string(body.state))
      .boolean("osr", body.osr)
      .number("version", body.version)
      .text("source", to_string(body.source));
  return line.str() + "\n";
}

std::string body_text(const CodeBody& body) {
  return line_text(fmt::format("{:x}", body.address), std::to_string(body.size),
                   fmt::format("{:x}", body.entry), to_string(body.tier), to_string(body.state),
                   body.osr ? "osr" : "-", printable(body.name->display()));
}

// "HashMap.java:577", "?:577" without a file, "" without a line.
std::string position(const CodeScopes::Method& method, uint32_t line) {
  if (line == 0) return {};
  const std::string_view file(method.file);
  return fmt::format("{}:{}", file.empty() ? "?" : file.substr(file.rfind('/') + 1), line);
}

std::string place_text(const CodeScopes& scopes, uint32_t at) {
  const CodeScopes::Scope& scope = scopes.scopes[at];
  const CodeScopes::Method& method = scopes.methods[scope.method];
  const std::string where = position(method, scope.line);
  if (where.empty()) return printable(method.name);
  return fmt::format("{} ({})", printable(method.name), printable(where));
}

std::string place_json(const CodeScopes& scopes, uint32_t at) {
  const CodeScopes::Scope& scope = scopes.scopes[at];
  const CodeScopes::Method& method = scopes.methods[scope.method];
  JsonObject place("");
  place.text("method", method.name)
      .text("file", method.file)
      .number("line", scope.line)
      .raw("bci", scope.bci < 0 ? "null" : std::to_string(scope.bci));
  return place.str();
}

// From the body's own method to what lies at the range.
std::vector<uint32_t> chain_of(const CodeScopes& scopes, uint32_t scope) {
  std::vector<uint32_t> chain;
  for (uint32_t at = scope; at != CodeScopes::kNone; at = scopes.scopes[at].parent) {
    chain.push_back(at);
  }
  std::ranges::reverse(chain);
  return chain;
}

std::string range_json(const CodeBody& body, const CodeScopes& scopes,
                       const CodeScopes::Range& range) {
  JsonObject line("range");
  line.text("method", body.name->display())
      .address("address", body.address)
      .number("version", body.version)
      .number("begin", range.begin)
      .number("end", range.end)
      .boolean("exact", range.exact)
      .raw("chain", json_array(chain_of(scopes, range.scope),
                               [&](uint32_t at) { return place_json(scopes, at); }));
  return line.str() + "\n";
}

std::string range_text(const CodeScopes& scopes, const CodeScopes::Range& range) {
  std::string chain;
  for (const uint32_t at : chain_of(scopes, range.scope)) {
    if (!chain.empty()) chain += " -> ";
    chain += place_text(scopes, at);
  }
  return fmt::format("  {:>12} {:>6} {}\n", fmt::format("+{:x}-{:x}", range.begin, range.end),
                     range.exact ? "" : "about", chain);
}

std::string copy_json(const CodeBody& body, const CodeScopes& scopes, const InlinedCopy& copy) {
  const CodeScopes::Method& method = scopes.methods[copy.method];
  JsonObject line("inlined");
  line.text("method", method.name)
      .text("file", method.file)
      .raw("lines", json_array(copy.lines, [](uint32_t each) { return std::to_string(each); }))
      .number("ranges", copy.ranges)
      .number("bytes", copy.bytes)
      .boolean("exact", copy.exact)
      .raw("callers", json_array(copy.callers, [&](uint32_t at) { return place_json(scopes, at); }))
      .text("into", body.name->display())
      .address("address", body.address)
      .text("tier", to_string(body.tier))
      .text("state", to_string(body.state))
      .boolean("osr", body.osr);
  return line.str() + "\n";
}

std::string copy_text(const CodeScopes& scopes, const InlinedCopy& copy) {
  std::string chain;
  for (const uint32_t at : copy.callers) chain += place_text(scopes, at) + " -> ";
  const CodeScopes::Method& method = scopes.methods[copy.method];
  chain += printable(method.name);
  std::string lines;
  if (!copy.lines.empty()) {
    lines = fmt::format(", {} {}", copy.lines.size() == 1 ? "line" : "lines",
                        fmt::join(copy.lines, " "));
  }
  return fmt::format("    {}: {} range{}, {}{} bytes{}\n", chain, copy.ranges,
                     copy.ranges == 1 ? "" : "s", copy.exact ? "" : "about ", copy.bytes, lines);
}

// Which methods of any body's scopes a pattern names; what is asked again is known.
class InlinedSelection {
 public:
  explicit InlinedSelection(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

  // What the patterns mean among all that is inlined anywhere; what is to be said of that.
  Result<std::vector<std::string>> settle(const std::vector<BodyDetail>& details) {
    std::set<std::string> inlined;
    for (const BodyDetail& detail : details) {
      if (!detail.scopes) continue;
      for (const CodeScopes::Scope& scope : detail.scopes->scopes) {
        if (scope.parent == CodeScopes::kNone) continue;
        inlined.insert(detail.scopes->methods[scope.method].name);
      }
    }
    std::vector<MethodName> names;
    names.reserve(inlined.size());
    for (const std::string& display : inlined) names.push_back(method_name_of_display(display));
    std::vector<const MethodName*> pointers;
    for (const MethodName& name : names) pointers.push_back(&name);
    return settle_patterns(patterns_, pointers);
  }

  std::vector<InlinedCopy> copies(const CodeScopes& scopes) {
    for (const CodeScopes::Scope& scope : scopes.scopes) {
      if (scope.parent != CodeScopes::kNone) matches(scopes.methods[scope.method].name);
    }
    return inlined_copies(scopes,
                          [&](uint32_t method) { return known(scopes.methods[method].name); });
  }

  // Nothing that is inlined anywhere has such a name.
  [[nodiscard]] Error none(bool knows_inlining) const {
    std::vector<MethodName> names;
    names.reserve(known_.size());
    for (const auto& [display, matched] : known_) names.push_back(method_name_of_display(display));
    std::vector<const MethodName*> pointers;
    for (const MethodName& name : names) pointers.push_back(&name);
    const auto near = nearest_names(patterns_.front().text(), pointers);
    std::string hint = "nothing is inlined anywhere";
    if (!near.empty()) hint = fmt::format("nearest: {}", fmt::join(near, ", "));
    if (!knows_inlining) hint = "this source of names knows nothing of inlining";
    return Error{ErrorKind::not_found,
                 fmt::format("no inlined method matches '{}'", patterns_.front().text()),
                 {},
                 hint};
  }

 private:
  bool matches(const std::string& display) {
    const auto [place, added] = known_.try_emplace(display, false);
    if (added) {
      const MethodName name = method_name_of_display(display);
      place->second = std::ranges::any_of(
          patterns_, [&](const Pattern& pattern) { return pattern.matches(name); });
    }
    return place->second;
  }
  [[nodiscard]] bool known(const std::string& display) const {
    const auto found = known_.find(display);
    return found != known_.end() && found->second;
  }

  std::vector<Pattern> patterns_;
  std::map<std::string, bool> known_;
};

Status list_inlined(const MethodsOptions& options, const std::vector<const CodeBody*>& bodies,
                    const std::vector<BodyDetail>& details) {
  JITSCOPE_ASSIGN(auto patterns, parse_patterns(options.inlined));
  InlinedSelection selection(std::move(patterns));
  JITSCOPE_ASSIGN(const auto remarks, selection.settle(details));
  for (const std::string& remark : remarks) report_note("note: " + remark);
  Pieces out;
  bool any = false;
  bool knows = false;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (!details[i].scopes) continue;
    const CodeScopes& scopes = *details[i].scopes;
    knows = knows || scopes.any_inlined();
    const auto copies = selection.copies(scopes);
    if (copies.empty()) continue;
    std::string text;
    if (!options.json) text = (any ? "" : head_text()) + body_text(*bodies[i]);
    any = true;
    for (const InlinedCopy& copy : copies) {
      text += options.json ? copy_json(*bodies[i], scopes, copy) : copy_text(scopes, copy);
    }
    if (!out.add(text)) return {};
  }
  out.flush();
  if (!any) return std::unexpected(selection.none(knows));
  return {};
}

void list_bodies(const MethodsOptions& options, const std::vector<const CodeBody*>& bodies,
                 const std::vector<BodyDetail>& details) {
  Pieces out;
  if (!options.json) out.add(head_text());
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::string text = options.json ? body_json(*bodies[i]) : body_text(*bodies[i]);
    if (!details.empty() && details[i].scopes) {
      const CodeScopes& scopes = *details[i].scopes;
      for (const CodeScopes::Range& range : scopes.ranges) {
        text += options.json ? range_json(*bodies[i], scopes, range) : range_text(scopes, range);
      }
    }
    if (!out.add(text)) return;
  }
  out.flush();
}

Status list_methods(const MethodsOptions& options) {
  JITSCOPE_ASSIGN(const auto patterns, parse_patterns(options.patterns));
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  JITSCOPE_ASSIGN(const auto source, open_all_code(process, options.source));
  JITSCOPE_ASSIGN(const Snapshot snapshot, source->read());
  std::vector<std::string> notes;
  LoadedMethods loaded;
  if (source->knows_loaded_methods()) loaded = [&] { return source->loaded_methods(); };
  JITSCOPE_ASSIGN(auto bodies, select_bodies(snapshot, patterns, loaded, &notes));
  // Stubs and adapters are no methods: shown when a pattern or --stubs asks for them.
  if (!options.stubs && options.patterns.empty()) {
    std::erase_if(bodies, [](const CodeBody* body) { return body->tier == Tier::stub; });
  }
  std::vector<BodyDetail> details;
  if (options.ranges || !options.inlined.empty()) {
    JITSCOPE_ASSIGN(details, source->details(bodies));
  }
  if (!options.json) {
    report_note(
        fmt::format("# {} ({})", process.command_line().substr(0, 120), source->describe()));
    if (!source->caveat().empty()) report_note("# " + source->caveat());
  }
  for (const std::string& note : notes) report_note("note: " + note);
  if (options.inlined.empty()) {
    list_bodies(options, bodies, details);
  } else {
    JITSCOPE_TRY(list_inlined(options, bodies, details));
  }
  if (snapshot.torn != 0) {
    report_note(
        fmt::format("# {} bodies changed while they were read and are not shown", snapshot.torn));
  }
  for (const Diagnostics::Entry& entry : source->diagnostics().entries()) {
    report_note(fmt::format("# {} x {}{}", entry.count, entry.kind,
                            entry.first.empty() ? "" : " (first: " + entry.first + ")"));
  }
  return {};
}

}  // namespace

void add_methods_command(CLI::App& app, int& status) {
  auto options = std::make_shared<MethodsOptions>();
  CLI::App* command = app.add_subcommand("methods", "The live code bodies of a process");
  add_process_option(*command, options->process);
  command->add_option("PATTERN", options->patterns, "Methods, e.g. 'java.util.HashMap.*'");
  auto* inlined =
      command
          ->add_option("--inlined-by", options->inlined,
                       "Where methods were inlined, e.g. 'java.util.HashMap.hash': the bodies that "
                       "have copies of them, by way of which calls")
          ->allow_extra_args(false);
  command->add_flag("--ranges", options->ranges, "Lines and inlining of each stretch of code")
      ->excludes(inlined);
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_flag("--stubs", options->stubs, "Runtime stubs and adapters too");
  command->add_flag("--force", options->source.force,
                    "Read a perf map in spite of its owner, age or being a link");
  command->add_option("--map", options->source.map_path, "Read this perf map");
  command->callback([options, &status] {
    if (auto chosen = choose_process(options->process, options->patterns)) {
      options->pid = *chosen;
    } else {
      status = report_error(chosen.error());
      return;
    }
    const Status result = list_methods(*options);
    status = result ? status_with_output(0) : report_error(result.error());
  });
}

}  // namespace jitscope
