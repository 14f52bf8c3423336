// A loader that no runtime is: it makes an image file of x86-64 functions, maps it in a way of its
// own, runs the functions and says which code lay where. Each function keeps its number in r15
// while it runs, so a profile taken with --user-regs=r15 tells the true one of every sample.
//
//   foreign_loader WAY FOLDER [--perf-map] [--milliseconds N]
//     flat     a flat file, as it is             twice    the same, two times
//     middle   from the file's middle on         pieces   its pages in another order, far apart
//     pe       a PE file by sections, at addresses other than their file offsets
//     copied   a PE file's header, and its sections in anonymous memory
//   --perf-map  /tmp/perf-PID.map, with the addresses of this process
//
// It writes FOLDER/image, and FOLDER/file.map and FOLDER/rva.map, which count from the file's and
// the image's beginning. It prints `ready PID`, `mapped START END FIRST` for each mapping of code
// (FIRST: the number of its first function), and at the end `calls NUMBER COUNT` for each function.
// Functions are called truth_NUMBER.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr uint32_t kMark = 0x5eed0000;  // of the numbers in r15
constexpr size_t kPage = 0x1000;
constexpr size_t kPages = 4;     // of code
constexpr size_t kSize = 0x100;  // of a function
constexpr size_t kFunctions = kPages * kPage / kSize;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

// void f(long n, long* calls)
std::string function(uint32_t number) {
  std::string code("\x41\x57\x41\xbf", 4);  // push %r15; mov $NUMBER,%r15d
  const uint32_t mark = kMark + number;
  code.append(reinterpret_cast<const char*>(&mark), 4);
  code += std::string_view("\x48\xff\x06\x48\x89\xf9", 6);  // incq (%rsi); mov %rdi,%rcx
  code += std::string_view("\x48\xff\xc9\x75\xfb", 5);      // 1: dec %rcx; jne 1b
  code += std::string_view("\x41\x5f\xc3", 3);              // pop %r15; ret
  code.resize(kSize, '\xcc');
  return code;
}

struct Section {
  size_t offset = 0;  // in the file
  size_t rva = 0;
  size_t size = 0;
  size_t first = 0;  // function
};

void put(std::string& bytes, size_t at, uint64_t value, size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

// Nothing in it tells where functions begin.
void put_pe_header(std::string& bytes, const std::vector<Section>& sections) {
  constexpr size_t pe = 0x80;
  constexpr size_t optional = pe + 24;
  constexpr size_t table = optional + 240;
  bytes.replace(0, 2, "MZ");
  put(bytes, 0x3c, pe, 4);
  bytes.replace(pe, 2, "PE");
  put(bytes, pe + 4, 0x8664, 2);
  put(bytes, pe + 6, sections.size(), 2);
  put(bytes, pe + 20, 240, 2);
  put(bytes, optional, 0x20b, 2);
  put(bytes, optional + 32, kPage, 4);
  put(bytes, optional + 36, kPage, 4);
  put(bytes, optional + 56, 0x20000, 4);
  put(bytes, optional + 60, 0x400, 4);
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t at = table + 40 * i;
    bytes.replace(at, 5, i == 0 ? ".text" : ".more");
    put(bytes, at + 8, sections[i].size, 4);
    put(bytes, at + 12, sections[i].rva, 4);
    put(bytes, at + 16, sections[i].size, 4);
    put(bytes, at + 20, sections[i].offset, 4);
    put(bytes, at + 36, 0x60000020, 4);
  }
}

void write_file(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
      std::fclose(file) != 0) {
    die(path.c_str());
  }
}

void add_line(std::string& lines, uint64_t at, size_t number) {
  char line[64];
  std::snprintf(line, sizeof(line), "%llx %zx truth_%zu\n", static_cast<unsigned long long>(at),
                kSize, number);
  lines += line;
}

struct Placed {
  char* start = nullptr;
  size_t first = 0;  // function
  size_t count = 0;
};

char* checked(void* got) {
  if (got == MAP_FAILED) die("mmap");
  return static_cast<char*>(got);
}

char* map_file(int file, char* at, size_t size, size_t offset, int protection) {
  const int fixed = at != nullptr ? MAP_FIXED : 0;
  return checked(mmap(at, size, protection, MAP_PRIVATE | fixed, file, static_cast<off_t>(offset)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view way = argv[1];
  const std::string folder = argv[2];
  bool perf_map = false;
  long milliseconds = 1500;
  for (int i = 3; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--perf-map") perf_map = true;
    if (std::string_view(argv[i]) == "--milliseconds" && i + 1 < argc) {
      milliseconds = std::atol(argv[++i]);
    }
  }
  const bool pe = way == "pe" || way == "copied";
  constexpr size_t half = kPages / 2 * kPage;
  std::vector<Section> sections = {{0, 0, kPages * kPage, 0}};
  if (pe) {
    // The second section's code lies in front of the first one's in memory.
    sections = {{kPage, 0x9000, half, 0}, {kPage + half, 0x5000, half, kFunctions / 2}};
  }
  std::string bytes((pe ? kPage : 0) + kPages * kPage, '\0');
  std::string by_offset;
  std::string by_rva;
  for (const Section& section : sections) {
    for (size_t at = 0; at < section.size; at += kSize) {
      const size_t number = section.first + at / kSize;
      bytes.replace(section.offset + at, kSize, function(static_cast<uint32_t>(number)));
      add_line(by_offset, section.offset + at, number);
      add_line(by_rva, section.rva + at, number);
    }
  }
  if (pe) put_pe_header(bytes, sections);
  const std::string image = folder + "/image";
  write_file(image, bytes);
  write_file(folder + "/file.map", by_offset);
  write_file(folder + "/rva.map", by_rva);

  const int file = open(image.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) die(image.c_str());
  char* const space = checked(
      mmap(nullptr, 1U << 20U, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  constexpr int code = PROT_READ | PROT_EXEC;
  constexpr size_t each = kPage / kSize;
  std::vector<Placed> placed;
  if (way == "flat" || way == "twice") {
    placed.push_back({map_file(file, space + 0x10000, kPages * kPage, 0, code), 0, kFunctions});
    if (way == "twice") {
      placed.push_back({map_file(file, space + 0x80000, kPages * kPage, 0, code), 0, kFunctions});
    }
  } else if (way == "middle") {
    placed.push_back(
        {map_file(file, space + 0x10000, half, half, code), kFunctions / 2, kFunctions / 2});
  } else if (way == "pieces") {
    for (size_t i = 0; i < kPages; ++i) {
      const size_t page = (i + 2) % kPages;
      char* const at = space + 0x10000 * (i + 1);
      placed.push_back({map_file(file, at, kPage, page * kPage, code), page * each, each});
    }
  } else if (pe) {
    map_file(file, space, kPage, 0, PROT_READ);
    for (const Section& section : sections) {
      char* const at = space + section.rva;
      if (way == "pe") {
        map_file(file, at, section.size, section.offset, code);
      } else {
        checked(mmap(at, section.size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
        std::memcpy(at, bytes.data() + section.offset, section.size);
        if (mprotect(at, section.size, code) != 0) die("mprotect");
      }
      placed.push_back({at, section.first, section.size / kSize});
    }
  } else {
    return 2;
  }

  std::string lines;
  for (const Placed& part : placed) {
    for (size_t i = 0; i < part.count; ++i) {
      add_line(lines, reinterpret_cast<uint64_t>(part.start) + i * kSize, part.first + i);
    }
  }
  if (perf_map) write_file("/tmp/perf-" + std::to_string(getpid()) + ".map", lines);
  std::printf("ready %d\n", getpid());
  for (const Placed& part : placed) {
    std::printf("mapped %llx %llx %zu\n", reinterpret_cast<unsigned long long>(part.start),
                reinterpret_cast<unsigned long long>(part.start + part.count * kSize), part.first);
  }
  std::fflush(stdout);

  std::vector<long> calls(kFunctions);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    for (const Placed& part : placed) {
      for (size_t i = 0; i < part.count; ++i) {
        using Function = void (*)(long, long*);
        const auto call = reinterpret_cast<Function>(part.start + i * kSize);
        call(200'000, &calls[part.first + i]);
      }
    }
  } while (Clock::now() < end);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] != 0) std::printf("calls %zu %ld\n", i, calls[i]);
  }
  return 0;
}
