// Doctor: why frames of a recording have no certain name, counted by process and reason, and what
// to do about each; and which sources were used or refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "session/session.h"

namespace jitscope {

struct Complaint {
  uint32_t pid = 0;
  std::string process;
  NoName reason = NoName::none;
  uint64_t leaf_samples = 0;  // samples whose leaf has it
  uint64_t frames = 0;        // frames in all samples that have it
  std::string example;        // an address's file or a name with its candidates
  std::string advice;         // which flag, which option, which file
};

struct SourceUse {
  uint32_t pid = 0;
  std::string process;
  bool used = false;
  std::string text;
};

// A mapped file that is no ELF but is read for its names.
struct ImageUse {
  std::string path;
  std::string names;   // what named its code, or why nothing did
  std::string advice;  // what would name more; may be empty
};

struct Diagnosis {
  uint64_t samples = 0;
  uint64_t frames = 0;
  uint64_t named_frames = 0;
  uint64_t lost = 0;
  uint64_t unnamed_leaves = 0;
  uint64_t ambiguous_leaves = 0;
  std::vector<Complaint> complaints;  // most leaf samples first
  std::vector<SourceUse> sources;
  std::vector<ImageUse> images;    // by path
  std::vector<std::string> notes;  // about the recording as a whole
};

// After session.run() and Collector::take().
[[nodiscard]] Diagnosis diagnose(Session& session, const Profile& profile);
// "" or: the stacks were recorded in a form that is not read, so that callers are missing.
[[nodiscard]] std::string unread_stacks(const perfdata::Header& header);

}  // namespace jitscope
