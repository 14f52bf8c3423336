// LiveMap: a perf map of a live process, made from outside and kept current (the successor of
// perf-map-agent).
//
// A line stays when its body is gone, as long as nothing newer lies there: samples from before
// still get their name. Names are perf-map-agent's spellings where the code is HotSpot's, else the
// source's own. The file is written beside its name and renamed, so readers see a whole one or the
// one before. Never stops or changes the process. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/unfold.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

struct LiveMapOptions {
  Unfold unfold = Unfold::none;
  NameStyle style;
};

class LiveMap {
 public:
  explicit LiveMap(const LiveMapOptions& options) : options_(options) {}

  // Takes in what the source knows now. True when the map has changed.
  Result<bool> update(CodeSource& source);
  // The lines, by address; sizes and addresses in hexadecimal (jit-interface.txt).
  [[nodiscard]] std::string text() const;
  [[nodiscard]] size_t lines() const;
  // Of the last update.
  [[nodiscard]] uint64_t bodies() const { return bodies_; }
  [[nodiscard]] uint64_t torn() const { return torn_; }
  // Bodies that changed while their insides were read: named as a whole, though ranges were asked
  // for.
  [[nodiscard]] uint64_t without_ranges() const { return without_ranges_; }

 private:
  struct Body {
    uint64_t size = 0;
    uint64_t version = 0;
    std::vector<UnfoldedRange> ranges;
  };
  void insert(const CodeBody& body, const CodeScopes* scopes);

  LiveMapOptions options_;
  std::map<uint64_t, Body> known_;  // by address; never overlapping
  uint64_t bodies_ = 0;
  uint64_t torn_ = 0;
  uint64_t without_ranges_ = 0;
};

// Replaces `path` by a file with this text, for this user alone. An existing file is replaced only
// if it belongs to this user (or with `force`) and is a regular file. Errors: usage, not_permitted,
// what the system says.
Status replace_file(const std::string& path, std::string_view text, bool force);

}  // namespace jitscope
