#include "symbolize/debug_files.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/byte_cursor.h"
#include "base/same_file.h"
#include "base/work_limit.h"

namespace jitscope {
namespace {

// The largest are those of browsers, some 4 GB.
constexpr uint64_t most_checked_bytes = uint64_t{8} << 30;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// CRC-32 (reflected 0xedb88320), eight bytes a step: debug files are large.
constexpr Tables make_tables() {
  Tables tables = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0);
    tables[0][i] = value;
  }
  for (size_t t = 1; t < tables.size(); ++t) {
    for (size_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}
constexpr Tables tables = make_tables();

uint32_t checksum(uint32_t state, std::span<const uint8_t> bytes) {
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    word ^= state;
    state = 0;
    for (size_t i = 0; i < 8; ++i) state ^= tables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; at < bytes.size(); ++at) state = (state >> 8) ^ tables[0][(state ^ bytes[at]) & 0xff];
  return state;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string home_cache() {
  const char* home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? std::string() : std::string(home) + "/.debug";
}

// "ab/cdef01": where a build-id lies below .build-id.
std::string place_of(std::span<const std::byte> id) {
  std::string text = build_id_text(id);
  return text.size() < 4 ? std::string() : text.insert(2, "/");
}

bool is_same_file(const ElfFile& a, const ElfFile& b) {
  return a.fd() >= 0 && same_file(a.status(), b.status());
}

struct DebugPlace {
  std::string root;
  std::string path;
};

std::unique_ptr<ElfFile> open_with_id(const DebugPlace& place, std::span<const std::byte> id) {
  auto opened = ElfFile::open(place.path, place.root);
  if (!opened || !same_build_id((*opened)->build_id(), id)) return nullptr;
  return std::move(*opened);
}

std::vector<std::string> roots_of(const ElfImageOptions& options) {
  if (options.root.empty() || options.root == "/") return {""};
  return {options.root, ""};
}

std::vector<DebugPlace> places_by_id(std::span<const std::byte> id, const ElfImageOptions& options,
                                     bool debug_only) {
  std::vector<DebugPlace> places;
  const std::string place = place_of(id);
  if (place.empty()) return places;
  const std::string cache = home_cache();
  if (!cache.empty() && !debug_only) {
    // A directory in newer caches, the file itself in older ones.
    places.push_back({"", cache + "/.build-id/" + place + "/elf"});
    places.push_back({"", cache + "/.build-id/" + place});
  }
  for (const std::string& root : roots_of(options)) {
    for (const std::string& directory : options.debug_directories) {
      const std::string start = fmt::format("{}/.build-id/{}", directory, place);
      if (!debug_only) places.push_back({root, start});
      places.push_back({root, start + ".debug"});
    }
  }
  if (!cache.empty()) {
    places.push_back({"", cache + "/.build-id/" + place + "/debug"});
    places.push_back({"", cache + "/.build-id/" + place + ".debug"});
  }
  return places;
}

bool tells_where_code_is(const ElfFile& file) {
  const auto& segments = file.segments();
  return segments.empty() || std::ranges::any_of(segments, [](const ElfFile::Segment& segment) {
           return segment.executable && segment.file_size != 0;
         });
}

struct DebugLink {
  std::string name;
  uint32_t checksum = 0;
};

std::optional<DebugLink> debug_link(const ElfFile& file) {
  const auto* section = file.filled_section(".gnu_debuglink");
  const Elf_Data* data = section != nullptr ? file.data(*section) : nullptr;
  if (data == nullptr) return std::nullopt;
  ByteCursor cursor(std::span(static_cast<const std::byte*>(data->d_buf), data->d_size));
  DebugLink link;
  link.name = cursor.c_string();
  cursor.align(4);
  link.checksum = cursor.u32();
  return cursor.ok() ? std::optional(link) : std::nullopt;
}

// The client library, loaded when the first server is asked: it brings some thirty others along
// (curl's), which every start would wait for, and is not everywhere.
struct Debuginfod {
  decltype(&debuginfod_begin) begin = nullptr;
  decltype(&debuginfod_end) end = nullptr;
  decltype(&debuginfod_set_progressfn) set_progress = nullptr;
  decltype(&debuginfod_find_debuginfo) find_debuginfo = nullptr;
  decltype(&debuginfod_find_executable) find_executable = nullptr;
  bool there = false;

  Debuginfod() {
    // By its bare name: only where the system's libraries are. Never closed, as libdw does it.
    void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    there = library != nullptr && find(library, "debuginfod_begin", begin) &&
            find(library, "debuginfod_end", end) &&
            find(library, "debuginfod_set_progressfn", set_progress) &&
            find(library, "debuginfod_find_debuginfo", find_debuginfo) &&
            find(library, "debuginfod_find_executable", find_executable);
  }

 private:
  template <typename Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
};

const Debuginfod& debuginfod() {
  static const Debuginfod library;
  return library;
}

std::unique_ptr<ElfFile> ask_debuginfod(std::span<const std::byte> id, bool debug_information) {
  if (id.empty() || !debuginfod_available()) return nullptr;
  const Debuginfod& library = debuginfod();
  const std::unique_ptr<debuginfod_client, void (*)(debuginfod_client*)> client(library.begin(),
                                                                                library.end);
  if (client == nullptr) return nullptr;
  // A server may take its time; asked now and then while it does.
  library.set_progress(client.get(), [](debuginfod_client* /*client*/, long /*done*/,
                                        long /*all*/) { return WorkLimit::over() ? 1 : 0; });
  const auto* bytes = reinterpret_cast<const unsigned char*>(id.data());
  const int length = static_cast<int>(id.size());
  char* path = nullptr;
  UniqueFd fd(debug_information ? library.find_debuginfo(client.get(), bytes, length, &path)
                                : library.find_executable(client.get(), bytes, length, &path));
  const std::unique_ptr<char, void (*)(void*)> held(path, std::free);
  if (!fd) return nullptr;
  auto opened = ElfFile::from_fd(std::move(fd), path != nullptr ? path : "debuginfod");
  // A server may answer anything.
  if (!opened || !same_build_id((*opened)->build_id(), id)) return nullptr;
  return std::move(*opened);
}

}  // namespace

bool debuginfod_available() {
  return debuginfod().there;
}

std::optional<uint32_t> debug_link_checksum(int fd) {
  std::vector<uint8_t> buffer(size_t{1} << 18);
  uint32_t state = 0xffffffffU;
  for (off_t at = 0; !WorkLimit::over();) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0) return std::nullopt;
    if (got == 0) return ~state;
    state = checksum(state, std::span(buffer).first(static_cast<size_t>(got)));
    at += got;
  }
  return std::nullopt;
}

std::optional<uint32_t> debug_link_checksum(std::span<const std::byte> bytes) {
  constexpr size_t step = size_t{1} << 20;
  uint32_t state = 0xffffffffU;
  while (!bytes.empty()) {
    if (WorkLimit::over()) return std::nullopt;
    const auto part = bytes.first(std::min(step, bytes.size()));
    state = checksum(state, std::span(reinterpret_cast<const uint8_t*>(part.data()), part.size()));
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

std::vector<std::string> debug_link_paths(const std::string& path, const std::string& name,
                                          const ElfImageOptions& options) {
  // A name in a directory that we choose, not a path to anywhere.
  if (name.empty() || name.contains('/') || name == "..") return {};
  const std::string beside = directory_of(path);
  std::vector<std::string> paths = {beside + "/" + name, beside + "/.debug/" + name};
  for (const std::string& directory : options.debug_directories) {
    if (beside.starts_with('/')) paths.push_back(fmt::format("{}{}/{}", directory, beside, name));
    paths.push_back(fmt::format("{}/{}", directory, name));
  }
  return paths;
}

std::unique_ptr<ElfFile> find_debug_file(const ElfFile& file, const ElfImageOptions& options,
                                         std::string_view wanted, std::string& left) {
  const auto serves = [&](const std::unique_ptr<ElfFile>& found) {
    return found != nullptr && !is_same_file(file, *found) &&
           found->filled_section(wanted) != nullptr;
  };
  const auto& id = file.build_id();
  std::vector<DebugPlace> places = places_by_id(id, options, true);
  if (!id.empty() && file.path().starts_with('/')) {
    for (const std::string& root : roots_of(options)) {
      for (const std::string& directory : options.debug_directories) {
        places.push_back({root, directory + file.path() + ".debug"});
        places.push_back({root, directory + file.path()});
      }
    }
  }
  for (const DebugPlace& place : places) {
    if (auto found = open_with_id(place, id); serves(found)) return found;
  }
  if (const auto link = debug_link(file)) {
    for (const std::string& path : debug_link_paths(file.path(), link->name, options)) {
      auto opened = ElfFile::open(path, options.root);
      if (!opened || !serves(*opened)) continue;
      const auto& other = (*opened)->build_id();
      if (!id.empty() && !other.empty() && !same_build_id(id, other)) continue;
      const std::string why = why_too_large((*opened)->status(), most_checked_bytes);
      if (!why.empty()) {
        left = fmt::format("its debug file {} {}", path, why);
        continue;
      }
      if (debug_link_checksum((*opened)->fd()) == link->checksum) return std::move(*opened);
      if (WorkLimit::over()) {
        left = fmt::format("no time was left to check its debug file {}", path);
        return nullptr;
      }
    }
  }
  if (options.debuginfod) {
    if (auto found = ask_debuginfod(id, true); serves(found)) return found;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> find_by_build_id(std::span<const std::byte> id,
                                          const ElfImageOptions& options) {
  for (const DebugPlace& place : places_by_id(id, options, false)) {
    if (auto found = open_with_id(place, id); found != nullptr && tells_where_code_is(*found)) {
      return found;
    }
  }
  if (!options.debuginfod) return nullptr;
  for (const bool debug_information : {false, true}) {
    auto found = ask_debuginfod(id, debug_information);
    if (found != nullptr && tells_where_code_is(*found)) return found;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> find_shared_debug_file(const ElfFile& file, const ElfImageOptions& options,
                                                bool& shares) {
  const auto* section = file.filled_section(".gnu_debugaltlink");
  shares = section != nullptr;
  const Elf_Data* data = shares ? file.data(*section) : nullptr;
  if (data == nullptr) return nullptr;
  ByteCursor cursor(std::span(static_cast<const std::byte*>(data->d_buf), data->d_size));
  const std::string name(cursor.c_string());
  const auto id = cursor.rest();
  if (!cursor.ok() || id.empty() || id.size() > 64) return nullptr;
  std::vector<DebugPlace> places = places_by_id(id, options, true);
  const std::string path = name.starts_with('/') ? name : directory_of(file.path()) + "/" + name;
  for (const std::string& root : roots_of(options)) places.push_back({root, path});
  for (const DebugPlace& place : places) {
    if (auto found = open_with_id(place, id)) return found;
  }
  return nullptr;
}

}  // namespace jitscope
