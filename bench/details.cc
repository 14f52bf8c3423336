// How long it takes to read lines and inlining of all bodies of a JVM, the first time and again.
//
// For each JDK that is there, a JVM compiles all it runs (-Xcomp) while it compiles
// ManyBodies.java: some 5,000 nmethods. Each round opens the source anew, reads the bodies, then
// their details, then both once more. What is read must be the same in every round, and nothing may
// be torn: the JVM does nothing any more.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "common.h"
#include "runtimes/common/code_source.h"
#include "runtimes/open_source.h"

namespace jitscope::bench {
namespace {

constexpr unsigned most_rounds = 1000;
constexpr int start_limit_ms = 120'000;

std::vector<std::string> javas() {
  namespace fs = std::filesystem;
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("JAVA_HOME")) homes.emplace_back(home);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/jvm", error)) {
    homes.push_back(entry.path());
  }
  std::vector<std::string> found;
  for (const fs::path& home : homes) {
    const fs::path java = fs::canonical(home / "bin/java", error);
    // Running a source file takes the JDK's compiler.
    if (!error && fs::exists(java.parent_path() / "javac", error)) found.push_back(java.string());
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

struct Jvm {
  Child child;
  UniqueFd output;
};

// Until it has printed "ready".
Result<Jvm> start(const std::string& java) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe"));
  UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  JITSCOPE_ASSIGN(Child child, Child::start([&] {
                    ::dup2(input.get(), STDOUT_FILENO);
                    ::execl(java.c_str(), java.c_str(), "-Xcomp", "-XX:TieredStopAtLevel=1",
                            "-Xmx256m", JITSCOPE_BENCH_DIR "/ManyBodies.java", nullptr);
                    ::_exit(127);
                  }));
  input = UniqueFd();
  std::string said;
  while (said.find("ready") == std::string::npos) {
    pollfd wait{output.get(), POLLIN, 0};
    std::array<char, 256> buffer{};
    const bool more = ::poll(&wait, 1, start_limit_ms) > 0;
    const ssize_t got = more ? ::read(output.get(), buffer.data(), buffer.size()) : 0;
    if (got <= 0) return fail(ErrorKind::not_possible, fmt::format("{} does not start", java));
    said.append(buffer.data(), static_cast<size_t>(got));
  }
  return Jvm{std::move(child), std::move(output)};
}

struct Found {
  size_t nmethods = 0;
  size_t with_scopes = 0;
  size_t ranges = 0;
  size_t inlined = 0;  // bodies
  uint64_t torn = 0;
};

struct Times {
  std::vector<double> bodies, details, bodies_again, details_again, places;  // ms
};

template <typename Work>
auto timed(std::vector<double>& times, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = work();
  times.push_back(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  return result;
}

Result<Found> round(const Process& process, Times& times) {
  JITSCOPE_ASSIGN(const auto source, open_code_source(process));
  Found found;
  for (const bool first : {true, false}) {
    JITSCOPE_ASSIGN(const Snapshot snapshot, timed(first ? times.bodies : times.bodies_again,
                                                   [&] { return source->read(); }));
    std::vector<const CodeBody*> bodies;
    for (const CodeBody& body : snapshot.bodies) bodies.push_back(&body);
    JITSCOPE_ASSIGN(const auto details, timed(first ? times.details : times.details_again,
                                              [&] { return source->details(bodies); }));
    found = {};
    for (size_t i = 0; i < bodies.size(); ++i) {
      if (bodies[i]->tier == Tier::stub) continue;
      ++found.nmethods;
      if (!details[i].scopes) continue;
      ++found.with_scopes;
      found.ranges += details[i].scopes->ranges.size();
      found.inlined += details[i].scopes->any_inlined() ? 1 : 0;
    }
  }
  // As the follower of a recording looks.
  source->only_places();
  JITSCOPE_TRY(timed(times.places, [&] { return source->read(); }));
  for (const Diagnostics::Entry& entry : source->diagnostics().entries()) {
    if (entry.kind.find("changed while") == std::string::npos) {
      return fail(ErrorKind::damaged, fmt::format("{} x {}", entry.count, entry.kind), entry.first);
    }
    found.torn += entry.count;
  }
  return found;
}

Result<bool> run(const std::string& java, unsigned rounds) {
  JITSCOPE_ASSIGN(const Jvm jvm, start(java));
  JITSCOPE_ASSIGN(const Process process, Process::open(jvm.child.pid()));
  Times times;
  Found last;
  uint64_t torn = 0;
  for (unsigned done = 0; done < rounds && !interrupted(); ++done) {
    JITSCOPE_ASSIGN(last, round(process, times));
    torn += last.torn;
    if (last.ranges == 0 || last.inlined == 0) {
      fmt::print(stderr, "error: {} nmethods, {} ranges, {} with inlining\n", last.nmethods,
                 last.ranges, last.inlined);
      return false;
    }
  }
  fmt::print("{}\n  {} nmethods, {} with scopes ({} with inlining), {} ranges, {} torn in all\n",
             java, last.nmethods, last.with_scopes, last.inlined, last.ranges, torn);
  const auto row = [](const char* what, const std::vector<double>& each) {
    fmt::print("  {:<26} {:>9.2f} {:>9.2f} {:>9.2f}\n", what, minimum(each), median(each),
               maximum(each));
  };
  row("bodies and names, first", times.bodies);
  row("lines and inlining, first", times.details);
  row("bodies and names, again", times.bodies_again);
  row("lines and inlining, again", times.details_again);
  row("places and names, again", times.places);
  return true;
}

int run_all(unsigned rounds) {
  const std::vector<std::string> found = javas();
  if (found.empty()) {
    fmt::print(stderr, "skipped: no JDK under /usr/lib/jvm\n");
    return skipped;
  }
  fmt::print("{}\n{} rounds; ms: least, median, most\n\n", machine(), rounds);
  for (const std::string& java : found) {
    if (interrupted()) break;
    const auto right = run(java, rounds);
    if (!right) return report_failure(right.error());
    if (!*right) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace jitscope::bench

int main(int argc, char** argv) {
  using namespace jitscope::bench;
  int status = 0;
  const auto options =
      parse_options(argc, argv, "Measures how long lines and inlining of a JVM's bodies take.", 10,
                    most_rounds, status);
  if (!options) return status;
  catch_interrupt();
  return run_all(options->rounds);
}
