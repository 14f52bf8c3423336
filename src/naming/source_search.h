// SourceSearch: where the JIT sources of a recorded process may lie, and whether a file found there
// may be believed. The process may be gone, may have lived in a container, or its pid may have been
// used again.
//
// A file counts when it is a regular file, no symbolic link, of root or of a user that the process
// or the recording belongs to, and when its times do not contradict the process's. A file of
// another user counts where the recording proves that it is the very one that the process mapped,
// and nobody but its owner can write it: the process might as well have run his library. Every
// refusal is kept with its reason: `refused` gets those of files beside the one that is handed out
// or that the error tells of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "replay/mapped_files.h"
#include "replay/naming_options.h"
#include "replay/processes.h"
#include "replay/recording_facts.h"

namespace jitscope {

struct FoundFile {
  UniqueFd fd;
  std::string shown;        // its path as opened
  int64_t modified_ns = 0;  // CLOCK_REALTIME
  uint64_t device = 0;
  uint64_t inode = 0;
  uid_t owner = 0;
  mode_t mode = 0;
  bool proven = false;  // the recording tells that the process mapped this very file
  bool copied = false;  // beside the recording: its times say nothing
};

// A file that might have told, and why it was not taken.
struct PassedOver {
  std::string text;
  bool refused = false;  // it is there, and not to be trusted
};

// Of an error that SourceSearch returned: the file was there and opened, and is not to be trusted.
[[nodiscard]] inline bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::not_permitted && error.system_errno == 0;
}

class SourceSearch {
 public:
  SourceSearch(const RecordingFacts& facts, const NamingOptions& options);

  // What is known of a process beyond its records: what else it may call itself (pid namespaces),
  // and users that it writes as.
  struct Hints {
    std::vector<uint32_t> pids;
    std::vector<uid_t> owners;
  };
  // The perf map of a process.
  // not_found: looked at every place; not_permitted: the best one was refused.
  Result<FoundFile> perf_map(const ProcessLife& life, const Hints& hints,
                             std::vector<PassedOver>& passed_over) const;
  // The file behind an executable mapping, made at `mapped`, that may be a jitdump. not_found:
  // nothing is there, or a file that is neither a jitdump nor called like one. damaged: it is only
  // called so. not_permitted: it was refused.
  Result<FoundFile> mapped_dump(const ProcessLife& life, const MappedFileInfo& file,
                                uint64_t mapped, std::vector<PassedOver>& passed_over) const;
  // Dumps that the user named, or that jitscope record left for this pid; opened and trusted.
  [[nodiscard]] std::vector<FoundFile> given_dumps(std::vector<std::string>& notes) const;
  [[nodiscard]] std::vector<FoundFile> recorded_dumps(const ProcessLife& life,
                                                      std::vector<PassedOver>& passed_over) const;
  // Its pid in its own namespace, when the process still lives; 0 otherwise.
  [[nodiscard]] uint32_t namespace_pid(const ProcessLife& life) const;

  // It runs still, and may be asked.
  [[nodiscard]] bool lives(const ProcessLife& life) const;

 private:
  Result<FoundFile> open_regular(const std::string& root, const std::string& path) const;
  [[nodiscard]] Status trusted(const FoundFile& found, const std::vector<uid_t>& owners) const;
  Result<FoundFile> open_trusted(const std::string& root, const std::string& path,
                                 const std::vector<uid_t>& owners) const;
  [[nodiscard]] Status proven(const FoundFile& found, const MappedFileInfo& file,
                              uint64_t mapped) const;
  [[nodiscard]] Status is_mapped(const FoundFile& found, const MappedFileInfo& file) const;
  [[nodiscard]] Result<FoundFile> map_by_addresses(const ProcessLife& life,
                                                   const std::vector<uid_t>& allowed) const;
  [[nodiscard]] std::vector<uid_t> owners(const ProcessLife* live) const;
  [[nodiscard]] Status times_fit(const FoundFile& file, const ProcessLife& life) const;

  const RecordingFacts& facts_;
  const NamingOptions& options_;
};

}  // namespace jitscope
