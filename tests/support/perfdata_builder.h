// Builds the bytes of perf.data files and pipes, record by record, for tests and for fuzz seeds.
//
//   PerfDataBuilder b;
//   b.comm(10, 10, "java", {.time = 1}).mmap2({.pid = 10, .start = 0x1000, .length = 0x1000,
//                                              .path = "/lib/a.so", .stamp = {.time = 2}});
//   b.sample({.pid = 10, .tid = 10, .time = 3, .ip = 0x1010, .callchain = {kContextUser, 0x1010}});
//   b.round();
//   auto bytes = b.file();   // or b.pipe()
//
// Nothing is checked: raw() and record() put down whatever a test of damage needs.
#pragma once

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/perfdata/format.h"
#include "formats/perfdata/records.h"
#include "support/perfdata_bytes.h"

namespace jitscope::perfdata::test {

inline constexpr uint64_t kUsualSample = sample_bit::kIdentifier | sample_bit::kIp |
                                         sample_bit::kTid | sample_bit::kTime | sample_bit::kCpu |
                                         sample_bit::kPeriod | sample_bit::kCallchain;

// Every member has an initializer, so that designated ones may leave any of them out.
struct EventSpec {
  uint32_t type = 1;  // software: cpu-clock
  uint64_t config = 0;
  uint64_t period = 1000000;
  bool frequency = false;
  uint64_t sample_type = kUsualSample;
  uint64_t read_format = 0;
  uint64_t flags = 0;  // added to those of the fields here
  bool sample_id_all = true;
  bool use_clockid = true;
  int32_t clockid = 1;
  uint64_t branch_sample_type = 0;
  uint64_t user_regs_mask = 0;
  uint64_t intr_regs_mask = 0;
  std::vector<uint64_t> ids{};  // empty: 100 + its number
  uint32_t size = 136;          // of the attribute: 64 is the oldest
  std::string name{};           // in the EVENT_DESC feature; empty: none there
};

// What the sample_id trailer of a record says.
struct Stamp {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint32_t cpu = 0;
  size_t event = 0;
};

struct SampleSpec {
  size_t event = 0;
  uint16_t misc = 2;  // user
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint32_t cpu = 0;
  uint64_t ip = 0;
  uint64_t address = 0;
  uint64_t period = 1;
  std::optional<uint64_t> id{};  // else the event's first
  std::vector<uint64_t> callchain{};
  std::vector<uint64_t> read{};  // the words of PERF_SAMPLE_READ as they are
  std::string raw{};
  size_t branches = 0;
  uint64_t user_regs_abi = 2;
  std::vector<uint64_t> user_regs{};
  std::string user_stack{};
  uint64_t user_stack_copied = UINT64_MAX;  // else all
  std::vector<uint64_t> intr_regs{};
  std::string aux{};
};

struct MmapSpec {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t page_offset = 0;
  std::string path{};
  uint16_t misc = 2;
  uint32_t prot = 5;   // read, execute
  uint32_t flags = 2;  // private
  uint32_t major = 8;
  uint32_t minor = 1;
  uint64_t inode = 1234;
  uint64_t generation = 0;
  std::string build_id{};  // raw bytes; when set, in place of the inode
  Stamp stamp{};
};

class PerfDataBuilder {
 public:
  PerfDataBuilder() : PerfDataBuilder(std::vector<EventSpec>(1)) {}
  PerfDataBuilder(std::initializer_list<EventSpec> events)
      : PerfDataBuilder(std::vector<EventSpec>(events)) {}
  explicit PerfDataBuilder(std::vector<EventSpec> events) : events_(std::move(events)) {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].ids.empty()) events_[i].ids = {100 + i};
    }
  }

  // ---- records ----
  PerfDataBuilder& raw(std::span<const std::byte> bytes) {
    records_.append(bytes);
    return *this;
  }
  PerfDataBuilder& record(RecordType type, uint16_t misc, const Bytes& body) {
    return record_of_size(type, misc, body, static_cast<uint16_t>(body.size() + 8));
  }
  PerfDataBuilder& record_of_size(RecordType type, uint16_t misc, const Bytes& body,
                                  uint16_t size) {
    records_.u32(static_cast<uint32_t>(type)).u16(misc).u16(size).append(body.data());
    return *this;
  }
  // With the trailer that the stamp's event has.
  PerfDataBuilder& record(RecordType type, uint16_t misc, Bytes body, const Stamp& stamp) {
    trailer(body, stamp);
    return record(type, misc, body);
  }
  PerfDataBuilder& sample(const SampleSpec& spec) {
    return record(RecordType::sample, spec.misc, sample_body(spec));
  }
  PerfDataBuilder& mmap(const MmapSpec& m) {
    Bytes body;
    body.u32(m.pid).u32(m.tid).u64(m.start).u64(m.length).u64(m.page_offset).text(m.path);
    return record(RecordType::mmap, m.misc, std::move(body), m.stamp);
  }
  PerfDataBuilder& mmap2(const MmapSpec& m) {
    Bytes body;
    body.u32(m.pid).u32(m.tid).u64(m.start).u64(m.length).u64(m.page_offset);
    uint16_t misc = m.misc;
    if (m.build_id.empty()) {
      body.u32(m.major).u32(m.minor).u64(m.inode).u64(m.generation);
    } else {
      misc |= misc_bit::kMmapBuildId;
      body.u8(static_cast<uint8_t>(m.build_id.size())).zeros(3);
      body.chars(m.build_id).zeros(20 - m.build_id.size());
    }
    body.u32(m.prot).u32(m.flags).text(m.path);
    return record(RecordType::mmap2, misc, std::move(body), m.stamp);
  }
  PerfDataBuilder& comm(uint32_t pid, uint32_t tid, std::string_view name, const Stamp& stamp = {},
                        bool exec = false) {
    return record(RecordType::comm, exec ? misc_bit::kCommExec : 0,
                  Bytes().u32(pid).u32(tid).text(name), stamp);
  }
  PerfDataBuilder& fork(uint32_t pid, uint32_t parent, const Stamp& stamp = {}) {
    return thread(RecordType::fork, pid, parent, pid, parent, stamp);
  }
  PerfDataBuilder& exit(uint32_t pid, uint32_t parent, const Stamp& stamp = {}) {
    return thread(RecordType::exit, pid, parent, pid, parent, stamp);
  }
  PerfDataBuilder& thread(RecordType type, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                          uint32_t parent_tid, const Stamp& stamp) {
    return record(type, 0,
                  Bytes().u32(pid).u32(parent_pid).u32(tid).u32(parent_tid).u64(stamp.time), stamp);
  }
  PerfDataBuilder& lost(uint64_t count, const Stamp& stamp = {}) {
    return record(RecordType::lost, 0, Bytes().u64(100).u64(count), stamp);
  }
  PerfDataBuilder& lost_samples(uint64_t count, const Stamp& stamp = {}) {
    return record(RecordType::lost_samples, 0, Bytes().u64(count), stamp);
  }
  PerfDataBuilder& namespaces(uint32_t pid, uint32_t tid,
                              const std::vector<Namespaces::Link>& links, const Stamp& stamp = {}) {
    Bytes body;
    body.u32(pid).u32(tid).u64(links.size());
    for (const Namespaces::Link& link : links) body.u64(link.device).u64(link.inode);
    return record(RecordType::namespaces, 0, std::move(body), stamp);
  }
  PerfDataBuilder& ksymbol(uint64_t address, uint32_t length, uint16_t kind, bool unregister,
                           std::string_view name, const Stamp& stamp = {}) {
    return record(RecordType::ksymbol, 0,
                  Bytes().u64(address).u32(length).u16(kind).u16(unregister ? 1 : 0).text(name),
                  stamp);
  }
  PerfDataBuilder& build_id(int32_t pid, std::string_view id, std::string_view path,
                            uint16_t misc = 2U | misc_bit::kBuildIdSize) {
    return record(RecordType::build_id, misc, build_id_body(pid, id, path));
  }
  PerfDataBuilder& round() { return record(RecordType::finished_round, 0, Bytes()); }
  // HEADER_FEATURE, as pipes carry it.
  PerfDataBuilder& feature_record(Feature feature, const Bytes& content) {
    return record(RecordType::header_feature, 0,
                  Bytes().u64(static_cast<uint64_t>(feature)).append(content.data()));
  }
  PerfDataBuilder& attr_records() {
    for (const EventSpec& event : events_) {
      record(RecordType::header_attr, 0, Bytes().append(attr(event).data()).words(event.ids));
    }
    return *this;
  }
  // The records of another builder as one zstd stream, cut into compressed records of `piece`
  // bytes, so that records inside straddle.
  PerfDataBuilder& compressed(const PerfDataBuilder& other, size_t piece = 4096,
                              bool second_form = false) {
    const std::vector<std::byte>& plain = other.records_.data();
    std::vector<std::byte> packed(ZSTD_compressBound(plain.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 1));
    for (size_t at = 0; at < packed.size(); at += piece) {
      const auto part = std::span(packed).subspan(at, std::min(piece, packed.size() - at));
      if (second_form) {
        Bytes body;
        body.u64(part.size()).append(part).zeros((8 - part.size() % 8) % 8);
        record(RecordType::compressed2, 0, body);
      } else {
        record(RecordType::compressed, 0, Bytes().append(part));
      }
    }
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& records() const { return records_.data(); }

  // ---- features of a file ----
  PerfDataBuilder& feature(Feature feature, Bytes content) {
    features_.emplace_back(static_cast<uint64_t>(feature), std::move(content));
    return *this;
  }
  static Bytes build_id_body(int32_t pid, std::string_view id, std::string_view path) {
    Bytes body;
    body.u32(static_cast<uint32_t>(pid)).chars(id).zeros(20 - id.size());
    return body.u8(static_cast<uint8_t>(id.size())).zeros(3).text(path);
  }
  // The content of EVENT_DESC.
  [[nodiscard]] Bytes event_names() const {
    Bytes content;
    content.u32(static_cast<uint32_t>(events_.size())).u32(136);
    for (EventSpec event : events_) {
      event.size = 136;
      content.append(attr(event).data()).u32(static_cast<uint32_t>(event.ids.size()));
      content.header_text(event.name).words(event.ids);
    }
    return content;
  }

  // ---- the whole ----
  [[nodiscard]] std::vector<std::byte> pipe() const {
    PerfDataBuilder whole(events_);
    whole.records_.chars("PERFILE2").u64(kPipeHeaderSize);
    whole.attr_records();
    return whole.records_.append(records_.data()).data();
  }
  // `data_size`: what the header says, when it is not to be the truth.
  [[nodiscard]] std::vector<std::byte> file(std::optional<uint64_t> data_size = {}) const {
    const uint64_t attr_size = events_.empty() ? 152 : events_[0].size + 16;
    uint64_t at = kFileHeaderSize;
    Bytes ids;
    Bytes attrs;
    for (const EventSpec& event : events_) {
      attrs.append(attr(event).data()).u64(at + ids.size()).u64(event.ids.size() * 8);
      ids.words(event.ids);
    }
    at += ids.size();
    const uint64_t data_at = at + attrs.size();
    Bytes out;
    out.chars("PERFILE2").u64(kFileHeaderSize).u64(attr_size);
    out.u64(at).u64(attrs.size()).u64(data_at).u64(data_size.value_or(records_.size()));
    out.zeros(16);
    uint64_t bits[4] = {};
    for (const auto& [feature, content] : features_) bits[feature / 64] |= 1ULL << (feature % 64);
    out.words(bits).append(ids.data()).append(attrs.data()).append(records_.data());
    // Sections in the order of their bits, their contents behind the table.
    uint64_t content_at = out.size() + features_.size() * 16;
    Bytes contents;
    for (uint64_t bit = 0; bit < kFeatureBits; ++bit) {
      for (const auto& [feature, content] : features_) {
        if (feature != bit) continue;
        out.u64(content_at + contents.size()).u64(content.size());
        contents.append(content.data());
      }
    }
    return out.append(contents.data()).data();
  }

  static Bytes attr(const EventSpec& e) {
    Bytes full;
    uint64_t flags = e.flags;
    if (e.frequency) flags |= attr_bit::kFrequency;
    if (e.sample_id_all) flags |= attr_bit::kSampleIdAll;
    if (e.use_clockid) flags |= attr_bit::kUseClockId;
    full.u32(e.type).u32(e.size).u64(e.config).u64(e.period).u64(e.sample_type);
    full.u64(e.read_format).u64(flags).zeros(24);
    full.u64(e.branch_sample_type).u64(e.user_regs_mask).u32(0);
    full.u32(static_cast<uint32_t>(e.clockid)).u64(e.intr_regs_mask).zeros(32);
    if (e.size > full.size()) full.zeros(e.size - full.size());
    return Bytes().append(std::span(full.data()).first(e.size));
  }
  [[nodiscard]] const std::vector<EventSpec>& events() const { return events_; }

  [[nodiscard]] Bytes sample_body(const SampleSpec& s) const {
    namespace bit = sample_bit;
    const EventSpec& e = events_[s.event];
    const auto has = [&](uint64_t field) { return (e.sample_type & field) != 0; };
    const uint64_t id = s.id.value_or(e.ids[0]);
    Bytes b;
    if (has(bit::kIdentifier)) b.u64(id);
    if (has(bit::kIp)) b.u64(s.ip);
    if (has(bit::kTid)) b.u32(s.pid).u32(s.tid);
    if (has(bit::kTime)) b.u64(s.time);
    if (has(bit::kAddress)) b.u64(s.address);
    if (has(bit::kId)) b.u64(id);
    if (has(bit::kStreamId)) b.u64(id + 1000);
    if (has(bit::kCpu)) b.u32(s.cpu).u32(0);
    if (has(bit::kPeriod)) b.u64(s.period);
    if (has(bit::kRead)) b.words(s.read);
    if (has(bit::kCallchain)) b.u64(s.callchain.size()).words(s.callchain);
    if (has(bit::kRaw)) {
      const size_t padded = (s.raw.size() + 4 + 7) / 8 * 8 - 4;
      b.u32(static_cast<uint32_t>(padded)).chars(s.raw).zeros(padded - s.raw.size());
    }
    if (has(bit::kBranchStack)) {
      b.u64(s.branches);
      if ((e.branch_sample_type & branch_bit::kHardwareIndex) != 0) b.u64(7);
      b.zeros(s.branches * 24);
      if ((e.branch_sample_type & branch_bit::kCounters) != 0) b.zeros(s.branches * 8);
    }
    if (has(bit::kRegsUser)) {
      b.u64(s.user_regs_abi);
      if (s.user_regs_abi != 0) b.words(s.user_regs);
    }
    if (has(bit::kStackUser)) {
      b.u64(s.user_stack.size()).chars(s.user_stack);
      if (!s.user_stack.empty()) b.u64(std::min(s.user_stack_copied, s.user_stack.size()));
    }
    if (has(bit::kWeight | bit::kWeightStruct)) b.u64(11);
    if (has(bit::kDataSource)) b.u64(12);
    if (has(bit::kTransaction)) b.u64(13);
    if (has(bit::kRegsIntr)) b.u64(s.intr_regs.empty() ? 0 : 2).words(s.intr_regs);
    if (has(bit::kPhysicalAddress)) b.u64(14);
    if (has(bit::kCgroup)) b.u64(15);
    if (has(bit::kDataPageSize)) b.u64(4096);
    if (has(bit::kCodePageSize)) b.u64(4096);
    if (has(bit::kAux)) b.u64(s.aux.size()).chars(s.aux);
    return b;
  }

 private:
  void trailer(Bytes& body, const Stamp& stamp) const {
    namespace bit = sample_bit;
    const EventSpec& e = events_[stamp.event];
    if (!e.sample_id_all) return;
    const auto has = [&](uint64_t field) { return (e.sample_type & field) != 0; };
    // perf leaves the id out of what it makes up itself.
    const uint64_t id = stamp.time == 0 ? 0 : e.ids[0];
    if (has(bit::kTid)) body.u32(stamp.pid).u32(stamp.tid);
    if (has(bit::kTime)) body.u64(stamp.time);
    if (has(bit::kId)) body.u64(id);
    if (has(bit::kStreamId)) body.u64(id);
    if (has(bit::kCpu)) body.u32(stamp.cpu).u32(0);
    if (has(bit::kIdentifier)) body.u64(id);
  }

  std::vector<EventSpec> events_;
  Bytes records_;
  std::vector<std::pair<uint64_t, Bytes>> features_;
};

}  // namespace jitscope::perfdata::test
