// TextCompare: whether memory that a recorded process mapped over code of a file holds a copy of
// that code, by comparing a page of the living process with the file's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/open_file.h"
#include "naming/source_search.h"
#include "process/process.h"
#include "replay/naming_options.h"
#include "replay/processes.h"

namespace jitscope {

class TextCompare {
 public:
  static constexpr uint64_t kPage = 4096;

  TextCompare(const SourceSearch& search, const MappedFiles& files, const NamingOptions& options)
      : search_(search), files_(files), options_(options) {}

  enum class Verdict : uint8_t { same, differs, unknown };
  // The page that holds `address` of the range. unknown: the process is gone, or the file.
  Verdict page(const ProcessLife& life, const MappedRange& range, uint64_t address);

 private:
  Verdict compare(const ProcessLife& life, const MappedRange& range, uint64_t start);
  ProcessMemory* memory(const ProcessLife& life);
  int file(uint32_t number);

  const SourceSearch& search_;
  const MappedFiles& files_;
  const NamingOptions& options_;
  std::map<uint32_t, std::optional<ProcessMemory>> memories_;  // by life
  std::map<uint32_t, UniqueFd> opened_;                        // by file
  std::map<std::pair<uint32_t, uint64_t>, Verdict> known_;     // by life and page
};

}  // namespace jitscope
