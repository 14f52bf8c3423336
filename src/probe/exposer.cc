#include "probe/exposer.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "probe/body_tracker.h"
#include "probe/code_range.h"
#include "probe/symbol_names.h"
#include "probe/trampolines.h"

namespace jitscope {
namespace {

// A tracefs event name: letters, digits and '_', not longer than 63 characters.
std::string event_name(std::string_view symbol) {
  std::string name;
  for (const char c : symbol) {
    name += (std::isalnum(static_cast<unsigned char>(c)) != 0) ? c : '_';
  }
  if (name.size() > 60) name = name.substr(name.size() - 60);
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name = "_" + name;
  return name;
}

class LiveExposer final : public Exposer {
 public:
  LiveExposer(const Process& process, CodeSource& source, MethodSet methods)
      : process_(process),
        source_(source),
        tracker_(process, source, std::move(methods)),
        trampolines_(process) {}

  ~LiveExposer() override {
    if (!done_) (void)finish();
  }

  Status begin();

  [[nodiscard]] std::vector<ExposedMethod> exposed() const override;
  [[nodiscard]] uint64_t base() const override { return trampolines_.base(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::chrono::nanoseconds stopped() const override { return trampolines_.stopped(); }
  Result<bool> step() override;
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

  Status take(const BodyTracker::Change& change);

  const Process& process_;
  CodeSource& source_;
  BodyTracker tracker_;
  Trampolines trampolines_;
  std::vector<SymbolName> symbols_;
  std::vector<uint64_t> points_;  // file offset a method
  std::vector<Site> sites_;
  std::vector<std::string> notes_;
  uint32_t next_id_ = 0;
  bool done_ = false;
};

Status LiveExposer::begin() {
  if (!source_.code_is_fixed()) {
    return fail(ErrorKind::not_possible,
                fmt::format("methods can be exposed only where code does not move: {}",
                            source_.movable_reason()),
                {}, "`jitscope trace --backend breakpoint` works without that");
  }
  JITSCOPE_TRY(tracker_.start(notes_));
  JITSCOPE_ASSIGN(const BodyTracker::Change change, tracker_.look());
  uint64_t anchor = change.appeared.empty() ? 0 : change.appeared.front().body.entry;
  if (anchor == 0) {
    // Nothing of it is compiled yet: the image must reach where its bodies will come.
    for (const CodeBody& body : tracker_.snapshot().bodies) {
      if (body.tier != Tier::stub) anchor = body.address;
    }
  }
  if (anchor == 0) {
    return fail(ErrorKind::not_possible, "the process has no compiled method yet", {},
                "try again when it has run for a while");
  }
  JITSCOPE_ASSIGN(const auto maps, process_.maps());
  const auto [low, high] = code_range_around(anchor, tracker_.snapshot(), maps);
  JITSCOPE_TRY(trampolines_.prepare(low, high));
  if (std::string remark = trampolines_.remark(); !remark.empty()) {
    notes_.push_back(std::move(remark));
  }

  std::vector<const MethodName*> names;
  for (size_t i = 0; i < tracker_.methods().size(); ++i) {
    names.push_back(&tracker_.methods().name(i));
  }
  symbols_ = symbol_names(names);
  std::vector<Trampolines::CommonPoint> points;
  for (const SymbolName& symbol : symbols_) points.push_back({symbol.symbol, symbol.alias});
  JITSCOPE_ASSIGN(points_, trampolines_.add_common_points(points));
  return take(change);
}

Status LiveExposer::take(const BodyTracker::Change& change) {
  for (const auto& [address, version] : change.gone) {
    std::erase_if(sites_, [&](const Site& site) {
      return site.address == address && site.version == version;
    });
  }
  std::vector<SiteRequest> requests;
  std::vector<size_t> methods;
  for (const BodyTracker::Found& found : change.appeared) {
    std::erase_if(sites_, [&](const Site& site) {
      return site.address == found.body.address && site.version == found.body.version;
    });
    // A method that matches but was not there at the start has no symbol.
    if (found.method >= points_.size()) {
      notes_.push_back(fmt::format("{} appeared later and is not exposed: start expose again",
                                   tracker_.methods().display(found.method)));
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
    if (outcomes[i].retry) tracker_.retry(requests[i].body);
  }
  return {};
}

std::vector<ExposedMethod> LiveExposer::exposed() const {
  std::vector<ExposedMethod> result;
  const std::string& file = trampolines_.file_here();
  const bool proc_path = file.starts_with("/proc/");
  for (size_t i = 0; i < points_.size(); ++i) {
    ExposedMethod each;
    each.method = tracker_.methods().display(i);
    each.symbol = symbols_[i].symbol;
    each.alias = symbols_[i].alias;
    each.file = file;
    each.offset = points_[i];
    each.bodies = tracker_.alive(i);
    for (const Site& site : sites_) {
      if (site.method != i) continue;
      if (site.placed) {
        ++each.sites;
      } else {
        each.reasons.push_back(site.reason);
      }
    }
    const std::string event = event_name(each.symbol);
    each.bpftrace =
        fmt::format("bpftrace -e 'uprobe:{}:\"{}\" {{ @calls = count(); }}'", file, each.symbol);
    if (!proc_path) {
      each.perf_probe = fmt::format("perf probe -x {} '{}={}'", file, event, each.symbol);
      each.perf_record =
          fmt::format("perf record -e 'probe_jitscope:{}' -p {}", event, process_.pid());
    }
    each.tracefs = fmt::format(
        "echo 'p:jitscope/{} {}:{:#x} this_or_arg1=%si arg2=%dx' >> "
        "/sys/kernel/tracing/uprobe_events",
        event, file, each.offset);
    result.push_back(std::move(each));
  }
  return result;
}

Result<bool> LiveExposer::step() {
  pollfd handle = {process_.pidfd(), POLLIN, 0};
  if (process_.pidfd() >= 0 && ::poll(&handle, 1, 0) > 0) return false;
  if (!tracker_.due()) return true;
  if (!process_.check_same()) return false;
  auto change = tracker_.look();
  const Status status = change ? take(*change) : Status(fail(std::move(change.error())));
  if (status) return true;
  if (status.error().kind == ErrorKind::target_gone || !process_.check_same()) return false;
  // What is in place stays; new bodies are tried again at the next look.
  const std::string text = to_string(status.error());
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
  return true;
}

Result<size_t> LiveExposer::finish() {
  done_ = true;
  if (!trampolines_.prepared()) return 0;
  if (!process_.check_same()) {
    trampolines_.unlink_file();
    return 0;
  }
  JITSCOPE_ASSIGN(const size_t restored, trampolines_.withdraw());
  trampolines_.unlink_file();
  return restored;
}

}  // namespace

Result<std::unique_ptr<Exposer>> Exposer::start(const Process& process, CodeSource& source,
                                                const ExposeOptions& options) {
  JITSCOPE_ASSIGN(auto patterns, parse_patterns(options.patterns));
  auto exposer = std::make_unique<LiveExposer>(process, source,
                                               MethodSet(std::move(patterns), options.max_methods));
  JITSCOPE_TRY(exposer->begin());
  return exposer;
}

}  // namespace jitscope
