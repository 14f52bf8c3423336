// AddressSpace: the executable mappings of one process as they are at one moment of a recording.
// Records are applied in the order of time; copies (fork) are cheap until one of them changes.
//
// Addresses are virtual addresses. Files are numbers that the caller gives out. No system calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace jitscope {

inline constexpr uint32_t kNoFile = UINT32_MAX;

struct MappedRange {
  uint64_t start = 0;
  uint64_t end = 0;          // exclusive
  uint64_t page_offset = 0;  // of `start` in the file, bytes
  uint32_t file = 0;         // the caller's number of the mapped file
  bool shared = false;
  bool executable = true;
  bool memory = false;  // no file behind it: page_offset means nothing
  uint64_t time = 0;    // of the mmap
  // Executable memory that was mapped over code of a file may hold a copy of that code: the file,
  // and what to add to an address for the offset in it. Set by AddressSpace::map().
  uint32_t under = kNoFile;
  uint64_t under_bias = 0;
  // Where in the file the byte at an address of the range is.
  [[nodiscard]] uint64_t file_offset(uint64_t address) const {
    return address - start + page_offset;
  }
};

class AddressSpace {
 public:
  AddressSpace() : ranges_(std::make_shared<Ranges>()) {}

  // A new mapping takes the place of what it covers; what sticks out keeps its part of the file.
  // Executable memory within one mapping of a file remembers it; so does what takes the place of
  // such memory (mprotect makes records like that). Empty ranges and ranges that wrap are ignored
  // (false).
  bool map(const MappedRange& mapping);
  void clear();
  [[nodiscard]] const MappedRange* at(uint64_t address) const;
  [[nodiscard]] size_t size() const { return ranges_->size(); }
  // Changes whenever another mapping than before may lie at an address that had one. Mapping the
  // same again (mprotect makes such records) does not count.
  [[nodiscard]] uint32_t generation() const { return generation_; }
  // Changes with every mapping: for answers about addresses that had none.
  [[nodiscard]] uint32_t growth() const { return growth_; }
  // Where an address of both is the same byte of the same file.
  [[nodiscard]] static bool continues(const MappedRange& now, const MappedRange& before);
  // What is kept about any address is to be asked anew.
  void touch() { ++generation_; }

  // The mappings that begin at or before an address, the nearest first, at most so many, while the
  // function wants more.
  template <typename Function>
  void before(uint64_t address, size_t most, Function&& wants_more) const {
    auto next = ranges_->upper_bound(address);
    for (size_t i = 0; i < most && next != ranges_->begin(); ++i) {
      --next;
      if (!wants_more(next->second)) return;
    }
  }
  template <typename Function>
  void for_each(Function&& function) const {
    for (const auto& [start, range] : *ranges_) function(range);
  }

 private:
  using Ranges = std::map<uint64_t, MappedRange>;  // by start; they do not overlap
  Ranges& own();
  void remember_file(MappedRange& range) const;

  std::shared_ptr<Ranges> ranges_;
  uint32_t generation_ = 0;
  uint32_t growth_ = 1;
};

}  // namespace jitscope
