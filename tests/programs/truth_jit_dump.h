// The jitdump that truth_jit writes: its own few lines, so that what reads it is not checked with
// itself.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>

#include "truth_jit.h"

inline uint32_t dump_pid() {
  return options.claim_pid != 0 ? options.claim_pid : static_cast<uint32_t>(getpid());
}

class Dump {
 public:
  void open() {
    if (options.dump_directory.empty()) return;
    const std::string path =
        options.dump_directory + "/jit-" + std::to_string(dump_pid()) + ".dump";
    file_ = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
    if (file_ < 0) die(path.c_str());
    // By this mapping a recording learns of the file.
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0) == MAP_FAILED) {
      die("mmap of the dump");
    }
    std::string header;
    const uint64_t flags = options.arch_timestamp ? 1 : 0;
    put(header, 0x4A695444U, 1U, 40U, 62U, 0U, dump_pid(), stamp(), flags);
    write_all(file_, header);
  }

  void load(uint64_t address, std::span<const uint8_t> code, uint32_t number,
            const std::string& name, bool cut = false) {
    if (file_ < 0) return;
    if (options.debug_info) debug_info(address, number);
    std::string body;
    put(body, dump_pid(), dump_pid(), address, address, uint64_t{code.size()}, index_++);
    body.append(name.c_str(), name.size() + 1);
    body.append(reinterpret_cast<const char*>(code.data()), code.size());
    std::string record = prefixed(0, body);
    if (cut) record.resize(record.size() - code.size() / 2);
    write_all(file_, record);
  }

  void move(uint64_t from, uint64_t to, uint64_t size) {
    if (file_ < 0) return;
    std::string body;
    put(body, dump_pid(), dump_pid(), to, from, to, size, index_++);
    write_all(file_, prefixed(1, body));
  }

  void close_record() {
    if (file_ >= 0) write_all(file_, prefixed(3, {}));
  }

 private:
  static std::string prefixed(uint32_t id, const std::string& body) {
    std::string record;
    put(record, id, static_cast<uint32_t>(16 + body.size()), stamp());
    return record + body;
  }

  void debug_info(uint64_t address, uint32_t number) {
    std::string body;
    put(body, address, uint64_t{1}, address, static_cast<int>(number), 0);
    body.append("truth.jit", sizeof "truth.jit");
    write_all(file_, prefixed(2, body));
  }

  int file_ = -1;
  uint64_t index_ = 0;
};
