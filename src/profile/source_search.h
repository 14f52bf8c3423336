// SourceSearch: where the JIT sources of a recorded process may lie, and whether a file found there
// may be believed. The process may be gone, may have lived in a container, or its pid may have been
// used again.
//
// A file counts when it is a regular file, no symbolic link, of root or of a user that the process
// or the recording belongs to, and when its times do not contradict the process's. Every refusal is
// kept with its reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/mapped_files.h"
#include "profile/naming_options.h"
#include "profile/processes.h"
#include "profile/recording_facts.h"

namespace jitscope {

struct FoundFile {
  UniqueFd fd;
  std::string shown;        // its path as opened
  int64_t modified_ns = 0;  // CLOCK_REALTIME
  uint64_t device = 0;
  uint64_t inode = 0;
  bool copied = false;  // beside the recording: its times say nothing
};

class SourceSearch {
 public:
  SourceSearch(const RecordingFacts& facts, const NamingOptions& options);

  // The perf map of a process. `other_pids` are what it may call itself (pid namespaces).
  // not_found: looked at every place; not_permitted: the best one was refused.
  Result<FoundFile> perf_map(const ProcessLife& life,
                             const std::vector<uint32_t>& other_pids) const;
  // The file behind an executable mapping that may be a jitdump. not_found when it is none.
  Result<FoundFile> mapped_dump(const ProcessLife& life, const MappedFileInfo& file) const;
  // Dumps that the user named, or that jitscope record left for this pid; opened and trusted.
  [[nodiscard]] std::vector<FoundFile> given_dumps(std::vector<std::string>& refused) const;
  [[nodiscard]] std::vector<FoundFile> recorded_dumps(const ProcessLife& life,
                                                      std::vector<std::string>& refused) const;
  // Its pid in its own namespace, when the process still lives; 0 otherwise.
  [[nodiscard]] uint32_t namespace_pid(const ProcessLife& life) const;

 private:
  [[nodiscard]] bool lives(const ProcessLife& life) const;
  Result<FoundFile> open_trusted(const std::string& root, const std::string& path,
                                 const std::vector<uid_t>& owners) const;
  [[nodiscard]] Result<FoundFile> map_by_addresses(const ProcessLife& life,
                                                   const std::vector<uid_t>& allowed) const;
  [[nodiscard]] std::vector<uid_t> owners(const ProcessLife* live) const;
  [[nodiscard]] Status times_fit(const FoundFile& file, const ProcessLife& life) const;

  const RecordingFacts& facts_;
  const NamingOptions& options_;
};

}  // namespace jitscope
