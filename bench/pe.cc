// What it takes to know the functions of PE images: CPU time and memory of decoding .NET 8's own,
// relative to reading their bytes.
//
// The images are those of a real single-file program (the one that the
// end-to-end tests fetched into JITSCOPE_TEST_CACHE). Each round opens the images anew: first
// System.Private.CoreLib, its functions and then all of its names; then every image, its functions.
// What is found must be the same in every round.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/open_file.h"
#include "base/path.h"
#include "common.h"
#include "symbolize/pe/bundle_file.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope::bench {
namespace {

constexpr unsigned most_rounds = 1000;
constexpr std::string_view core_library = "System.Private.CoreLib.dll";

// The program among what the tests fetched; "" when it is not there.
std::string fetched_program() {
  namespace fs = std::filesystem;
  const char* cache = std::getenv("JITSCOPE_TEST_CACHE");
  const char* home = std::getenv("HOME");
  const fs::path folder = cache != nullptr  ? fs::path(cache)
                          : home != nullptr ? fs::path(home) / ".cache/jitscope-tests"
                                            : fs::path();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path program = entry.path() / "package/Sarif.Multitool";
    if (fs::exists(program, error)) return program.string();
  }
  return {};
}

// Of this process so far, in MiB.
double peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Times {
  std::vector<double> core_read, core_open, core_names, all_read, all_open;  // CPU ms
};

void timed(std::vector<double>& times, const std::function<void()>& work) {
  const uint64_t begin = thread_cpu_ns();
  work();
  times.push_back(static_cast<double>(thread_cpu_ns() - begin) / 1e6);
}

struct Found {
  size_t core_functions = 0;
  size_t core_names = 0;
  size_t images = 0;
  size_t functions = 0;
  bool operator==(const Found&) const = default;
};

class Rounds {
 public:
  Rounds(std::shared_ptr<const OpenedFile> file, const BundleManifest& manifest)
      : file_(std::move(file)), manifest_(manifest) {}

  // Nothing: the program has no such image.
  std::optional<Found> run(Times& times) {
    Found found;
    const BundleEntry* core = nullptr;
    for (const BundleEntry& entry : manifest_.entries) {
      if (base_name(entry.path) == core_library) core = &entry;
    }
    if (core == nullptr || core->compressed != 0) return std::nullopt;
    timed(times.core_read, [&] { read(*core); });
    auto image = open(*core);
    if (image == nullptr) return std::nullopt;
    timed(times.core_open, [&] { found.core_functions = functions_of(*image); });
    timed(times.core_names, [&] {
      (void)image->for_each_function([&](const PeName& name) {
        found.core_names += name.source == PeNameSource::ready_to_run ? 1 : 0;
        return Status();
      });
    });
    image.reset();
    std::vector<const BundleEntry*> compiled;
    timed(times.all_open, [&] {
      for (const BundleEntry& entry : manifest_.entries) {
        if (entry.compressed != 0 || !entry.path.ends_with(".dll")) continue;
        const auto each = open(entry);
        const size_t functions = each != nullptr ? functions_of(*each) : 0;
        if (functions == 0) continue;
        found.functions += functions;
        compiled.push_back(&entry);
      }
    });
    found.images = compiled.size();
    timed(times.all_read, [&] {
      for (const BundleEntry* entry : compiled) read(*entry);
    });
    return found;
  }

 private:
  std::unique_ptr<PeFile> open(const BundleEntry& entry) const {
    auto opened = PeFile::open(file_, {entry.offset, entry.size}, std::string(entry.path));
    return opened ? std::move(*opened) : nullptr;
  }
  static size_t functions_of(PeFile& image) {
    const R2rImage* compiled = image.ready_to_run();
    return compiled != nullptr ? compiled->methods().size() : 0;
  }
  // And looks at each word, so that no copy is left out.
  void read(const BundleEntry& entry) {
    std::vector<uint64_t> words(entry.size / sizeof(uint64_t));
    (void)!::pread(file_->fd.get(), words.data(), words.size() * sizeof(uint64_t),
                   static_cast<off_t>(entry.offset));
    uint64_t sum = 0;
    for (const uint64_t word : words) sum += word;
    sum_ = sum;
  }

  std::shared_ptr<const OpenedFile> file_;
  const BundleManifest& manifest_;
  volatile uint64_t sum_ = 0;
};

int run_all(unsigned rounds) {
  const std::string program = fetched_program();
  if (program.empty()) {
    fmt::print(stderr, "skipped: no .NET 8 program in JITSCOPE_TEST_CACHE (tests/e2e/dotnet.py)\n");
    return skipped;
  }
  auto file = open_regular_file(program);
  if (!file) return report_failure(file.error());
  const auto shared = std::make_shared<const OpenedFile>(std::move(*file));
  const auto manifest = read_bundle(*shared);
  if (!manifest) {
    fmt::print(stderr, "skipped: {} is no single-file program\n", program);
    return skipped;
  }
  Rounds all(shared, *manifest);
  Times times;
  std::optional<Found> first;
  unsigned done = 0;
  for (; done < rounds && !interrupted(); ++done) {
    const auto found = all.run(times);
    if (!found || (first && *first != *found) || found->core_names == 0) {
      fmt::print(stderr, "error: {}\n",
                 found ? "another result than before" : "no System.Private.CoreLib.dll");
      return 1;
    }
    first = found;
  }
  if (!first) return 0;
  fmt::print("{}\n{} rounds; CPU ms: least, median, most; median by that of reading the bytes\n\n",
             machine(), done);
  const auto row = [](const char* what, const std::vector<double>& each,
                      const std::vector<double>& base) {
    fmt::print("  {:<34} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.1f}\n", what, minimum(each), median(each),
               maximum(each), median(each) / std::max(median(base), 1e-6));
  };
  fmt::print("{}: {} functions, {} names\n", core_library, first->core_functions,
             first->core_names);
  row("reading its bytes", times.core_read, times.core_read);
  row("its functions", times.core_open, times.core_read);
  row("all of their names", times.core_names, times.core_read);
  fmt::print("all images with code: {}, {} functions\n", first->images, first->functions);
  row("reading their bytes", times.all_read, times.all_read);
  row("their functions", times.all_open, times.all_read);
  fmt::print("peak memory: {:.0f} MiB\n", peak_memory());
  return 0;
}

}  // namespace
}  // namespace jitscope::bench

int main(int argc, char** argv) {
  using namespace jitscope::bench;
  int status = 0;
  const auto options = parse_options(argc, argv, "Measures how long PE images take to be read.", 10,
                                     most_rounds, status);
  if (!options) return status;
  catch_interrupt();
  return run_all(options->rounds);
}
