#include "probe/exposer.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>

#include "base/clock.h"
#include "probe/body_tracker.h"
#include "probe/foreign_jump.h"
#include "probe/never_compiled.h"
#include "probe/symbol_names.h"
#include "probe/trampolines.h"
#include "probe/undo.h"
#include "process/word_size.h"
#include "runtimes/detect.h"
#include "runtimes/machine.h"

namespace jitscope {
namespace {

// How long another tracer of the target is waited for: what could not be placed is tried again at
// the next look; at the end, giving up would leave the jumps in the target.
constexpr std::chrono::milliseconds patience_at_start{3000};
constexpr std::chrono::milliseconds patience_between{500};
constexpr std::chrono::milliseconds patience_at_end{10'000};

// What comes right after other news is dealt with together: nobody counts here to the millisecond.
constexpr std::chrono::milliseconds shortest_pause{20};
// How often it is made sure that the process is still the same program.
constexpr uint64_t identity_period_ns = 1'000'000'000;

class LiveExposer final : public Exposer {
 public:
  LiveExposer(const Process& process, CodeSource& source, const ExposeOptions& options,
              MethodSet methods)
      : process_(process),
        source_(source),
        options_(options),
        tracker_(process, source, std::move(methods)),
        trampolines_(process) {}

  ~LiveExposer() override {
    if (!done_) (void)finish();
  }

  Status begin();

  [[nodiscard]] std::vector<ExposedMethod> exposed() const override;
  [[nodiscard]] size_t methods() const override { return shown_.size(); }
  [[nodiscard]] uint64_t base() const override {
    return trampolines_.prepared() ? trampolines_.base() : 0;
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::chrono::nanoseconds stopped() const override { return trampolines_.stopped(); }
  Result<bool> step(std::chrono::milliseconds wait) override;
  [[nodiscard]] uint64_t looks() const override { return tracker_.looks(); }
  Result<size_t> finish() override;
  void keep() override { done_ = true; }

 private:
  struct Site {
    uint64_t address = 0;
    uint64_t version = 0;
    size_t method = 0;
    bool placed = false;
    std::string reason;
  };

  // One of exposed(): a method's symbol, or its code in a file.
  struct Shown {
    size_t method = 0;
    std::optional<CodeBody> in_file;
  };

  [[nodiscard]] Error code_moves() const;
  Status prepare(const BodyTracker::Change& change, const RuntimeInfo& runtime);
  Status take(const BodyTracker::Change& change);
  void show_files(const BodyTracker::Change& change);
  [[nodiscard]] ExposedMethod exposed_point(size_t method) const;
  [[nodiscard]] ExposedMethod exposed_body(size_t method, const CodeBody& body) const;
  // Shown where it lies in its file.
  [[nodiscard]] bool stays_in_file(const CodeBody& body) const {
    return body.file != nullptr && !options_.symbols;
  }
  [[nodiscard]] bool moves(const CodeBody& body) const {
    return body.file == nullptr && !source_.code_is_fixed();
  }
  [[nodiscard]] bool only_in_files(const BodyTracker::Change& change) const;
  void name_symbols();
  [[nodiscard]] std::vector<SymbolName> new_symbols() const;
  Status add_points();
  void note(std::string text);
  void wait_for_news(std::chrono::milliseconds wait);

  const Process& process_;
  CodeSource& source_;
  ExposeOptions options_;
  BodyTracker tracker_;
  Trampolines trampolines_;
  std::vector<SymbolName> symbols_;
  std::vector<uint64_t> points_;  // file offset a method; empty without a live image
  std::vector<Shown> shown_;
  bool windows_ = false;  // its functions have the calling convention of Windows
  std::vector<Site> sites_;
  std::vector<std::string> notes_;
  uint32_t next_id_ = 0;
  bool woken_ = false;
  bool gone_ = false;
  uint64_t last_identity_check_ns_ = 0;
  bool done_ = false;
};

Status LiveExposer::begin() {
  trampolines_.set_patience(options_.waiting.while_placing(patience_at_start));
  JITSCOPE_TRY(check_64_bit(process_));
  RuntimeInfo runtime;
  if (options_.runtime) {
    runtime = *options_.runtime;
  } else {
    JITSCOPE_ASSIGN(runtime, detect_runtime(process_));
  }
  JITSCOPE_TRY(check_machine(process_, runtime));
  windows_ = runtime.runtime != Runtime::dotnet;
  // Nothing to do with what lies in images.
  if (!source_.code_is_fixed() && !source_.has_images()) {
    return fail(code_moves());
  }
  JITSCOPE_TRY(tracker_.start(notes_));
  tracker_.only_watched();
  JITSCOPE_ASSIGN(const BodyTracker::Change change, tracker_.look());
  name_symbols();
  show_files(change);
  if (!only_in_files(change)) {
    if (Status ready = prepare(change, runtime); !ready) {
      if (shown_.empty()) return ready;
      note("only code in files is exposed: " + to_string(ready.error()));
    }
  }
  return take(change);
}

Error LiveExposer::code_moves() const {
  return {ErrorKind::not_possible,
          fmt::format("methods can be exposed only where code does not move: {}",
                      source_.movable_reason()),
          {},
          "`jitscope trace --backend breakpoint` works without that",
          0};
}

bool LiveExposer::only_in_files(const BodyTracker::Change& change) const {
  return !change.appeared.empty() &&
         std::ranges::all_of(change.appeared, [&](const BodyTracker::Found& found) {
           return stays_in_file(found.body);
         });
}

// The live image, for code in memory.
Status LiveExposer::prepare(const BodyTracker::Change& change, const RuntimeInfo& runtime) {
  if (!source_.code_is_fixed() &&
      std::ranges::all_of(change.appeared, [&](const auto& found) { return moves(found.body); })) {
    return fail(code_moves());
  }
  uint64_t anchor = 0;
  for (const BodyTracker::Found& found : change.appeared) {
    if (anchor == 0 && !stays_in_file(found.body) && !moves(found.body)) anchor = found.body.entry;
  }
  if (anchor == 0) {
    // Nothing of it is compiled yet: the image must reach where its bodies will come.
    for (const CodeBody& body : tracker_.snapshot().bodies) {
      if (body.tier != Tier::stub) anchor = body.address;
    }
  }
  if (change.appeared.empty()) JITSCOPE_TRY(check_compiles(process_, runtime));
  if (anchor == 0) {
    return fail(ErrorKind::not_possible, "the process has no compiled method yet", {},
                "try again when it has run for a while");
  }
  JITSCOPE_TRY(trampolines_.prepare_near(anchor, tracker_.snapshot()));
  if (std::string remark = trampolines_.remark(); !remark.empty()) {
    notes_.push_back(std::move(remark));
  }
  return add_points();
}

// Code in files is there to be probed, whoever runs.
void LiveExposer::show_files(const BodyTracker::Change& change) {
  for (const BodyTracker::Found& found : change.appeared) {
    if (!stays_in_file(found.body) || found.method >= symbols_.size()) continue;
    const auto same = [&](const Shown& shown) {
      return shown.in_file && shown.in_file->file == found.body.file &&
             shown.in_file->file_offset == found.body.file_offset;
    };
    if (std::ranges::none_of(shown_, same)) shown_.push_back({found.method, found.body});
  }
}

std::vector<SymbolName> LiveExposer::new_symbols() const {
  std::vector<const MethodName*> names;
  for (size_t i = 0; i < tracker_.methods().size(); ++i) {
    names.push_back(&tracker_.methods().name(i));
  }
  std::vector<SymbolName> symbols = symbol_names(names);
  if (!options_.aliases) {
    for (SymbolName& symbol : symbols) symbol.alias.clear();
  }
  std::unordered_set<std::string> taken;
  for (const SymbolName& symbol : symbols_) taken.insert({symbol.symbol, symbol.alias});
  symbols.erase(symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(symbols_.size()));
  // A symbol that was given out stays what it is, also where a name beside it would now have made
  // it longer.
  for (SymbolName& symbol : symbols) {
    const std::string wanted = symbol.symbol;
    for (unsigned n = 2; taken.contains(symbol.symbol); ++n) {
      symbol.symbol = fmt::format("{}-{}", wanted, n);
    }
    if (taken.contains(symbol.alias)) symbol.alias.clear();
    taken.insert({symbol.symbol, symbol.alias});
  }
  return symbols;
}

void LiveExposer::name_symbols() {
  if (symbols_.size() < tracker_.methods().size()) {
    std::ranges::move(new_symbols(), std::back_inserter(symbols_));
  }
}

Status LiveExposer::add_points() {
  if (!trampolines_.prepared() || points_.size() >= symbols_.size()) return {};
  std::vector<Trampolines::CommonPoint> points;
  for (size_t i = points_.size(); i < symbols_.size(); ++i) {
    points.push_back({symbols_[i].symbol, symbols_[i].alias});
  }
  JITSCOPE_ASSIGN(const std::vector<uint64_t> offsets, trampolines_.add_common_points(points));
  for (const uint64_t offset : offsets) {
    const size_t method = points_.size();
    points_.push_back(offset);
    // What lies in files alone leads through no symbol.
    const bool in_file = std::ranges::any_of(
        shown_, [&](const Shown& shown) { return shown.method == method && shown.in_file; });
    if (!in_file) shown_.push_back({method, std::nullopt});
  }
  return {};
}

void LiveExposer::note(std::string text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

Status LiveExposer::take(const BodyTracker::Change& change) {
  for (const auto& [address, version] : change.gone) {
    std::erase_if(sites_, [&](const Site& site) {
      return site.address == address && site.version == version;
    });
  }
  // Methods that match and appear later get symbols too.
  name_symbols();
  show_files(change);
  if (Status added = add_points(); !added) {
    note(fmt::format("methods appeared later and are not exposed: {}", to_string(added.error())));
  }
  if (tracker_.methods().full()) {
    note(fmt::format("more methods match than --max {} allows: those are not exposed",
                     options_.max_methods));
  }
  std::vector<SiteRequest> requests;
  std::vector<size_t> methods;
  for (const BodyTracker::Found& found : change.appeared) {
    std::erase_if(sites_, [&](const Site& site) {
      return site.address == found.body.address && site.version == found.body.version;
    });
    if (stays_in_file(found.body)) continue;
    if (found.method >= points_.size()) {  // it has no symbol: said above
      if (!trampolines_.prepared() && found.method < symbols_.size()) {
        sites_.push_back({found.body.address, found.body.version, found.method, false,
                          source_.code_is_fixed()
                              ? "it was compiled when only code in files was exposed"
                              : source_.movable_reason()});
      }
      continue;
    }
    if (moves(found.body)) {
      sites_.push_back(
          {found.body.address, found.body.version, found.method, false, source_.movable_reason()});
      continue;
    }
    requests.push_back({next_id_++, found.body, trampolines_.base() + points_[found.method]});
    methods.push_back(found.method);
  }
  if (requests.empty()) return {};
  const auto placed = trampolines_.place(requests, {});
  if (!placed) {
    for (const SiteRequest& request : requests) tracker_.offer_again(request.body);
    return fail(placed.error());
  }
  const std::vector<SiteOutcome>& outcomes = *placed;
  for (size_t i = 0; i < requests.size(); ++i) {
    sites_.push_back({requests[i].body.address, requests[i].body.version, methods[i],
                      outcomes[i].placed, outcomes[i].reason});
    if (outcomes[i].retry) {
      tracker_.retry(requests[i].body);
    } else if (!outcomes[i].placed && leads_into_live_image(process_, requests[i].body.entry)) {
      // Another jitscope works there: as soon as it has ended, the body is taken in.
      sites_.back().reason = foreign_jump_reason;
      tracker_.offer_again(requests[i].body);
    }
  }
  return {};
}

ExposedMethod LiveExposer::exposed_point(size_t method) const {
  ExposedMethod each;
  each.method = tracker_.methods().display(method);
  each.symbol = symbols_[method].symbol;
  each.alias = symbols_[method].alias;
  each.file = trampolines_.file_here();
  each.offset = points_[method];
  each.bodies = tracker_.alive(method);
  for (const Site& site : sites_) {
    if (site.method != method) continue;
    if (site.placed) {
      ++each.sites;
    } else {
      each.reasons.push_back(site.reason);
    }
  }
  add_symbol_commands(each, process_.pid());
  return each;
}

ExposedMethod LiveExposer::exposed_body(size_t method, const CodeBody& body) const {
  ExposedMethod each;
  each.method = tracker_.methods().display(method);
  each.symbol = symbols_[method].symbol;
  each.file = body.file->path;
  each.offset = body.file_offset;
  each.in_place = true;
  each.bodies = tracker_.alive(method);
  each.sites = 1;
  for (const Site& site : sites_) {
    if (site.method == method && !site.placed) each.reasons.push_back(site.reason);
  }
  add_file_commands(each, tracker_.methods().name(method).short_name(), process_.pid(),
                    body.file->elf, windows_);
  return each;
}

std::vector<ExposedMethod> LiveExposer::exposed() const {
  std::vector<ExposedMethod> result;
  for (const Shown& shown : shown_) {
    result.push_back(shown.in_file ? exposed_body(shown.method, *shown.in_file)
                                   : exposed_point(shown.method));
  }
  return result;
}

// Sleeps until the kernel tells of something; not woken twice in a row without a pause, so that
// nobody keeps it busy by waking it.
void LiveExposer::wait_for_news(std::chrono::milliseconds wait) {
  const std::chrono::milliseconds shortest = std::max(tracker_.shortest_pause(), shortest_pause);
  wait = std::min(wait, tracker_.pause());
  std::vector<pollfd> handles{{process_.pidfd(), POLLIN, 0}, {options_.waiting.wake_fd, POLLIN, 0}};
  if (wait > shortest && !woken_) {
    for (const int each : tracker_.wake_fds()) handles.push_back({each, POLLIN, 0});
  } else {
    wait = std::min(wait, shortest);
  }
  const int ready = ::poll(handles.data(), handles.size(), static_cast<int>(wait.count()));
  woken_ = ready > 0;
  if (process_.pidfd() >= 0 && ready > 0 && handles.front().revents != 0) gone_ = true;
}

Result<bool> LiveExposer::step(std::chrono::milliseconds wait) {
  wait_for_news(wait);
  if (gone_) return false;
  if (const uint64_t now = monotonic_ns(); now - last_identity_check_ns_ >= identity_period_ns) {
    last_identity_check_ns_ = now;
    if (!process_.check_same()) return false;
  }
  if (!tracker_.due()) return true;
  trampolines_.set_patience(options_.waiting.while_placing(patience_between));
  if (!process_.check_same()) return false;
  auto change = tracker_.look();
  const Status status = change ? take(*change) : Status(fail(std::move(change.error())));
  if (status) return true;
  if (status.error().kind == ErrorKind::target_gone || !process_.check_same()) return false;
  // What is in place stays; new bodies are tried again at the next look.
  note(to_string(status.error()));
  return true;
}

Result<size_t> LiveExposer::finish() {
  done_ = true;
  if (!trampolines_.prepared()) return 0;
  if (!process_.check_same()) {
    trampolines_.unlink_file();
    return 0;
  }
  trampolines_.set_patience(options_.waiting.while_leaving(patience_at_end));
  auto restored = trampolines_.withdraw();
  if (restored) {
    trampolines_.unlink_file();
    return *restored;
  }
  if (restored.error().kind == ErrorKind::target_gone || !process_.check_same()) {
    trampolines_.unlink_file();
    return 0;
  }
  restored.error().hint = left_text(trampolines_.jumps().size(), process_.pid());
  return fail(std::move(restored.error()));
}

}  // namespace

Result<std::unique_ptr<Exposer>> Exposer::start(const Process& process, CodeSource& source,
                                                const ExposeOptions& options) {
  JITSCOPE_ASSIGN(auto patterns, parse_patterns(options.patterns));
  auto exposer = std::make_unique<LiveExposer>(process, source, options,
                                               MethodSet(std::move(patterns), options.max_methods));
  JITSCOPE_TRY(exposer->begin());
  return exposer;
}

}  // namespace jitscope
