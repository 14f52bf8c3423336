// The uprobe backend: the kernel's uprobes in the very file that code is mapped from, for this
// process alone. For images that are no ELF files but are mapped as they are (ReadyToRun, PE).
// Nothing is written by jitscope: the kernel puts its breakpoint into the process's private copy of
// the page, and takes it away when the probe goes, also when jitscope is killed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "probe/backend.h"
#include "probe/eligibility.h"

namespace jitscope {
namespace {

constexpr size_t kEntryBytes = 16;  // no instruction is longer

// A uprobe that is there already shows as its breakpoint, and so does one of a debugger, which the
// kernel would take for its own and remove when the probe goes. Debuggers are the process's tracer
// for as long as their breakpoints are there.
bool may_be_a_debuggers(const Process& process) {
  const auto status = read_status(process.pid());
  return !status || status->tracer_pid != 0;
}

// "" or why the kernel would not see at the body's entry what the process does.
std::string why_file_differs(const Process& process, const CodeBody& body) {
  std::array<std::byte, kEntryBytes> in_memory{};
  std::array<std::byte, kEntryBytes> in_file{};
  const size_t size = std::min<uint64_t>(kEntryBytes, std::max<uint64_t>(body.size, 1));
  const auto memory = std::span(in_memory).first(size);
  if (!process.memory().read(body.entry, memory)) return "its entry cannot be read";
  const ssize_t got = ::pread(body.file->opened.fd.get(), in_file.data(), size,
                              static_cast<off_t>(body.file_offset));
  if (got != static_cast<ssize_t>(size)) return "its file cannot be read there";
  constexpr std::byte breakpoint{0xcc};
  const size_t from = in_memory.front() == breakpoint ? 1 : 0;
  if (from == 1 && in_file.front() != breakpoint && may_be_a_debuggers(process)) {
    return "its entry carries a breakpoint, perhaps of the debugger that holds the process";
  }
  if (!std::ranges::equal(memory.subspan(from), std::span(in_file).first(size).subspan(from))) {
    return "its code in memory is not what the file has there";
  }
  return {};
}

class UprobePlacer final : public SitePlacer {
 public:
  UprobePlacer(const Process& process, std::shared_ptr<KernelProbes> probes)
      : process_(process), probes_(std::move(probes)) {}

  [[nodiscard]] HitSource& hits() override { return *probes_; }
  PlaceReport place(std::span<const SiteRequest> requests) override;
  void remove(uint32_t id) override { probes_->session().remove(id); }

 private:
  const Process& process_;
  std::shared_ptr<KernelProbes> probes_;
};

PlaceReport UprobePlacer::place(std::span<const SiteRequest> requests) {
  PlaceReport report;
  report.outcomes.resize(requests.size());
  std::map<const CodeFile*, std::vector<size_t>> by_file;
  for (size_t i = 0; i < requests.size(); ++i) {
    const CodeBody& body = requests[i].body;
    std::string& reason = report.outcomes[i].reason;
    reason = body.not_probeable;
    if (reason.empty()) reason = why_file_differs(process_, body);
    if (reason.empty()) by_file[body.file.get()].push_back(i);
  }
  for (const auto& [file, numbers] : by_file) {
    std::vector<UprobeSite> sites;
    for (const size_t i : numbers) {
      sites.push_back({requests[i].id, requests[i].body.file_offset, {}});
    }
    // By the descriptor: its name may mean another file by now.
    const std::string path = fmt::format("/proc/self/fd/{}", file->opened.fd.get());
    Status added = probes_->session().add_uprobes(path, sites);
    if (!added && added.error().kind == ErrorKind::not_permitted) {
      report.status = std::move(added);
      for (const SiteRequest& request : requests) remove(request.id);
      report.outcomes.assign(requests.size(), {});
      return report;
    }
    for (const size_t i : numbers) {
      report.outcomes[i].placed = added.has_value();
      if (!added) report.outcomes[i].reason = to_string(added.error());
    }
  }
  return report;
}

Result<std::unique_ptr<SitePlacer>> make(PlacerContext& context) {
  JITSCOPE_ASSIGN(auto probes, context.kernel_probes());
  return std::make_unique<UprobePlacer>(context.process, std::move(probes));
}

}  // namespace

extern const Backend uprobe_backend = {
    .name = "uprobe",
    .takes = TakesCode::of_files,
    .automatic = true,
    .make = make,
};

}  // namespace jitscope
