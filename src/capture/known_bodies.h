// KnownBodies: the code bodies of a process as the last look saw them, and what the next look
// changes: which are new, and which are gone.
//
// Bodies that were torn while they were read are missing from a snapshot without being gone: after
// such a look only what a new body covers is gone. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/code_body.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class KnownBodies {
 public:
  struct Gone {
    uint64_t address = 0;
    uint64_t size = 0;
    bool operator==(const Gone&) const = default;
  };
  struct Changes {
    std::vector<const CodeBody*> fresh;  // of the snapshot, by address
    std::vector<Gone> gone;              // before any of `fresh` came
    uint64_t skipped = 0;                // bodies larger than `largest`
  };

  [[nodiscard]] Changes update(const Snapshot& snapshot, uint64_t largest);
  // All of them, and forgets them.
  [[nodiscard]] std::vector<Gone> clear();
  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  struct Key {
    uint64_t address = 0;
    uint64_t version = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()(key.address * 0x9E3779B97F4A7C15U ^ key.version);
    }
  };
  struct Kept {
    uint64_t size = 0;
    std::shared_ptr<const MethodName> name;
    uint64_t look = 0;  // the last one that saw it
  };

  std::unordered_map<Key, Kept, KeyHash> known_;
  uint64_t look_ = 0;
};

}  // namespace jitscope
