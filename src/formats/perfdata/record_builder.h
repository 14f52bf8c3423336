// RecordBuilder: the records that describe what was there before a recording began, as bytes of a
// perf.data stream (what perf calls synthesised events), and the few that a recorder adds itself.
//
// Takes the structs that the reader hands out. Every record gets the sample_id trailer that the
// recording's events have. Text is cut at a NUL and at the longest path. No system calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

// PERF_RECORD_MISC_*: who the record is about, and marks of single types.
inline constexpr uint16_t kMiscKernel = 1;
inline constexpr uint16_t kMiscUser = 2;
inline constexpr uint16_t kMiscForkExec = 1U << 13U;  // FORK: the mappings are not inherited
inline constexpr uint16_t kMiscCommExec = 1U << 13U;
inline constexpr uint16_t kMiscMmapData = 1U << 13U;

class RecordBuilder {
 public:
  // As in the attribute of the recording's events.
  RecordBuilder(uint64_t sample_type, bool sample_id_all)
      : sample_type_(sample_id_all ? sample_type : 0) {}

  // Of `head` misc, pid, tid, time, id and cpu count.
  void mmap(std::string& out, const RecordHead& head, const Mmap& mmap) const;
  void mmap2(std::string& out, const RecordHead& head, const Mmap& mmap, uint32_t protection,
             uint32_t flags) const;
  void comm(std::string& out, const RecordHead& head, const Comm& comm) const;
  void fork(std::string& out, const RecordHead& head, const Fork& fork) const;
  void namespaces(std::string& out, const RecordHead& head, const Namespaces& namespaces) const;
  void ksymbol(std::string& out, const RecordHead& head, const Ksymbol& symbol) const;
  void lost(std::string& out, const RecordHead& head, const Lost& lost) const;

 private:
  void finish(std::string& out, size_t begin, const RecordHead& head) const;
  uint64_t sample_type_;
};

}  // namespace jitscope::perfdata
