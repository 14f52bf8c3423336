// RandomRecording: a recording made at random of all that tells what code lies where: processes
// that fork, call exec, exit and come again under the same pid, threads, mappings of memory and
// files over code, jitdumps of bodies that overlap, move, go and come again, a perf map; and
// samples with stacks into all of it. The same seed makes the same recording, but for what lies in
// `folder`.
// Records stand as perf leaves them: sorted on each CPU, the CPUs one behind the other, some of a
// round in the next one. The period of a sample is its number.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/jitdump/jitdump.h"
#include "support/perfdata_builder.h"

namespace jitscope::test {

using perfdata::RecordType;
using perfdata::test::Bytes;
using perfdata::test::EventSpec;
using perfdata::test::MmapSpec;
using perfdata::test::PerfDataBuilder;
using perfdata::test::SampleSpec;
using perfdata::test::Stamp;

inline constexpr uint64_t kMilli = 1'000'000;
inline constexpr std::string_view kElf = "/bin/true";
// No machine gives out pids like these.
inline constexpr std::array<uint32_t, 4> kPids = {0x7fff0001, 0x7fff0002, 0x7fff0003, 0x7fff0004};
// Where code lies: the second so far away that one image cannot hold both.
inline constexpr std::array<uint64_t, 3> kAreas = {0x7f0000000000, 0x7fff00000000, 0x30000};
inline constexpr uint64_t kAreaSize = 0x4000;

// A recording, its jitdumps and its perf map.
class RandomRecording {
 public:
  RandomRecording(uint64_t seed, const std::string& folder) : random_(seed), folder_(folder) {
    timed_ = !one_in(8);
    stacks_copied_ = one_in(4);
    late_ = one_in(4);
    orderly_ = one_in(2);
    made_up_ = one_in(4);
    make_events();
    for (uint32_t i = 0; i < 1 + below(3); ++i) {
      dumps_.push_back({jitdump::Writer(kPids.at(i)), {}});
      dumps_.back().writer.header(dumps_.back().bytes, 0);
    }
    start();
    for (uint64_t step = 100 + below(200); step-- > 0;) {
      if (!one_in(4)) time_ += one_in(10) ? below(30 * kMilli) : below(kMilli);
      act();
      if (one_in(25)) end_window();
    }
    end_window();
    end_window();
  }

  [[nodiscard]] std::vector<std::byte> bytes() {
    PerfDataBuilder whole(events_);
    // Of another machine: nobody needs to read this one's kernel symbols.
    const Bytes host = Bytes().u32(64).chars("other").zeros(59);
    whole.feature(perfdata::Feature::hostname, host);
    whole.feature_record(perfdata::Feature::hostname, host);
    for (const std::vector<std::byte>& record : written_) whole.raw(record);
    return one_in(4) ? whole.pipe() : whole.file();
  }
  [[nodiscard]] std::string dump_path(size_t number) const {
    return folder_ + "/any-" + std::to_string(number) + ".dump";
  }
  [[nodiscard]] bool orderly() const { return orderly_; }  // nobody runs after his EXIT
  [[nodiscard]] size_t dump_count() const { return dumps_.size(); }
  [[nodiscard]] const std::string& dump(size_t number) const { return dumps_[number].bytes; }
  [[nodiscard]] const std::string& map() const { return map_; }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  static constexpr uint16_t kMadeUp = 1U << 13U;  // PERF_RECORD_MISC_FORK_EXEC
  struct Dump {
    jitdump::Writer writer;
    std::string bytes;
  };
  struct Pending {
    uint64_t key = 0;  // by which records are written within their window
    std::vector<std::byte> bytes;
  };

  void make_events() {
    namespace bit = perfdata::sample_bit;
    EventSpec event;
    event.size = 128;  // which perf 6.1 reads too
    if (!timed_) event.sample_type &= ~bit::kTime;
    event.sample_id_all = !one_in(6);
    if (one_in(8)) event.use_clockid = false;
    events_.push_back(event);
    if (one_in(2)) {  // without stacks
      event.config = 1;
      event.sample_type &= ~bit::kCallchain;
      events_.push_back(event);
      event.sample_type |= bit::kCallchain;
    }
    if (stacks_copied_) {
      event.config = 2;
      event.sample_type |= bit::kRegsUser | bit::kStackUser;
      event.user_regs_mask = 1U << 8U;  // ip
      events_.push_back(event);
    }
  }

  // ---- records ----
  PerfDataBuilder record() const { return PerfDataBuilder(events_); }
  // Within its window it may stand anywhere; in time's order on its CPU, of which there are three.
  void put(const PerfDataBuilder& builder) {
    const uint64_t cpu = timed_ && events_[0].sample_id_all ? below(3) : 0;
    auto& window = one_in(6) && timed_ && events_[0].sample_id_all ? next_ : window_;
    window.push_back({cpu, builder.records()});
  }
  // As records of a round may come in the next one, but not later.
  void end_window() {
    std::ranges::stable_sort(window_, {}, &Pending::key);
    for (Pending& each : window_) written_.push_back(std::move(each.bytes));
    window_ = std::move(next_);
    next_.clear();
    for (Pending& each : window_) each.key = 0;
    if (timed_) written_.push_back(record().round().records());
  }
  Stamp stamp(uint32_t pid, uint32_t tid) { return {pid, tid, time_, 0, below(events_.size())}; }

  void start() {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t pid = kPids.at(i);
      put(record().comm(pid, pid, "jit", stamp(pid, pid)));
      for (const uint64_t area : kAreas) map_at(pid, area, kAreaSize, "//anon", 5);
      map_at(pid, 0x1000, 0x1000, dump_path(below(dumps_.size())), 5);
    }
    for (int i = 0; i < 12; ++i) load();
    for (int i = 0; i < 8; ++i) hot_.push_back(address());
  }
  void map_at(uint32_t pid, uint64_t address, uint64_t length, const std::string& path,
              uint32_t prot) {
    MmapSpec spec{.pid = pid,
                  .tid = pid,
                  .start = address,
                  .length = length,
                  .page_offset = one_in(4) ? 0x1000U : 0U,
                  .path = path,
                  .prot = prot,
                  .inode = 0};
    if (path == kElf) {
      struct stat status{};
      if (::stat(path.c_str(), &status) == 0) spec.inode = status.st_ino;
      spec.major = major(status.st_dev);
      spec.minor = minor(status.st_dev);
    }
    spec.stamp = stamp(pid, pid);
    // perf makes up records of what was there before, without a time.
    if (made_up_ && one_in(10)) spec.stamp.time = 0;
    put(one_in(12) ? record().mmap(spec) : record().mmap2(spec));
  }

  uint64_t area() { return kAreas.at(one_in(4) ? below(kAreas.size()) : 0); }
  // Of bodies: mostly one of few, so that they meet.
  uint64_t place() { return area() + (one_in(3) ? below(0x1000) : below(24) * 0x80); }
  uint64_t size() { return one_in(12) ? 0x800 + below(0x1800) : 1 + below(0x180); }
  uint64_t address() {
    if (bodies_.empty() || one_in(6)) return area() + below(kAreaSize + 0x20) - 0x10;
    const auto& [start, length] =
        bodies_[bodies_.size() - 1 - below(std::min<size_t>(bodies_.size(), 20))];
    switch (below(8)) {
      case 0:
        return start;
      case 1:
        return start + length;
      case 2:
        return start + length - 1;
      case 3:
        return start + 1;
      default:
        return start + below(length);
    }
  }
  // Of a process that has not ended, when there is one.
  uint32_t pid() {
    uint32_t result = kPids[0];
    for (int i = 0; i < 20; ++i) {
      result = kPids.at(one_in(3) ? below(kPids.size()) : below(2));
      if (!orderly_ || !ended_.contains(result)) break;
    }
    return result;
  }

  void load() {
    Dump& dump = dumps_[below(dumps_.size())];
    jitdump::Load load;
    load.address = place();
    load.size = size();
    if (!bodies_.empty() && one_in(4)) {  // inside another, or around it
      const auto& [start, length] = bodies_.back();
      const bool inside = length > 8 && one_in(2);
      load.address = inside ? start + length / 4 : start - below(0x10);
      load.size = inside ? length / 2 : length + 0x20;
    } else if (!bodies_.empty() && one_in(6)) {  // the same again
      std::tie(load.address, load.size) = bodies_[below(bodies_.size())];
    }
    const std::string name =
        one_in(5) ? "same" : "body_" + std::to_string(one_in(8) ? below(10) : bodies_.size());
    const std::vector<std::byte> code(load.size, std::byte{0x90});
    load.time = time_ + (one_in(5) ? below(25 * kMilli) : 0);
    load.since = one_in(6) ? load.time - below(10 * kMilli) : load.time;
    load.pid = load.tid = kPids[0];
    load.name = name;
    load.code = code;
    dump.writer.load(dump.bytes, load);
    bodies_.emplace_back(load.address, load.size);
  }
  void act() {
    switch (below(24)) {
      case 0:
      case 1:
      case 2:
        return load();
      case 3: {
        Dump& dump = dumps_[below(dumps_.size())];
        const auto& [start, length] = bodies_[below(bodies_.size())];
        dump.writer.move(dump.bytes, {time_, kPids[0], kPids[0], start, place(), length, 0});
        return;
      }
      case 4: {
        Dump& dump = dumps_[below(dumps_.size())];
        const auto& [start, length] = bodies_[below(bodies_.size())];
        dump.writer.gone(dump.bytes, {time_, start, one_in(3) ? 0 : length});
        return;
      }
      case 5: {
        const auto& [start, length] = bodies_[below(bodies_.size())];
        std::array<char, 96> line{};
        std::snprintf(line.data(), line.size(), "%llx %llx line_%llu\n",
                      static_cast<unsigned long long>(start + (one_in(3) ? below(0x40) : 0)),
                      static_cast<unsigned long long>(length),
                      static_cast<unsigned long long>(below(40)));
        map_ += line.data();
        return;
      }
      case 6:
      case 7:
        return remap();
      case 8:
        return begin_or_end();
      default:
        return sample();
    }
  }
  void remap() {
    const uint32_t of = pid();
    const uint64_t at = area();
    switch (below(10)) {
      case 0:
        return map_at(of, at + below(4) * 0x400, 0x200 + below(4) * 0x400, "/no/such.so", 5);
      case 1:
        return map_at(of, at + below(4) * 0x1000, 0x1000, std::string(kElf), 5);
      case 2:
        return map_at(of, at + below(4) * 0x1000, 0x1000, "//anon", 3);
      case 3:
        return map_at(of, at + below(4) * 0x1000, 0x1000 + below(2) * 0x1000, "/memfd:jit", 5);
      case 4:  // answers that were given for children are not given anew
        if (parents_.contains(of)) return;
        return map_at(of, 0x1000 * (1 + below(3)), 0x1000, dump_path(below(dumps_.size())), 5);
      case 5:  // grown
        return map_at(of, at, kAreaSize + below(3) * 0x1000, "//anon", 5);
      default:  // as mprotect tells it
        return map_at(of, at + below(4) * 0x1000, 0x1000 + below(3) * 0x1000, "//anon", 5);
    }
  }
  // Threads have numbers of their own in each life of a process, as machines give them out.
  uint32_t thread_of(uint32_t pid) {
    return pid + 0x100 * (1 + static_cast<uint32_t>(below(2))) + 0x1000 * lives_[pid];
  }
  void begin_or_end() {
    ++time_;  // not in one moment with what he did before
    const uint32_t of = pid();
    const uint32_t other = kPids.at(below(kPids.size()));
    const uint32_t thread = thread_of(of);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return fork(of, other);
      case 3:
        put(record().comm(of, of, "again", stamp(of, of), true));
        return begin_life(of);
      case 4:
        return put(record().comm(of, thread, "thread", stamp(of, thread)));
      case 5:
        ended_.insert(of);
        return put(record().exit(of, of, stamp(of, of)));
      case 6:
        ended_.insert(thread);
        return put(record().thread(RecordType::exit, of, of, thread, of, stamp(of, thread)));
      default:
        ended_.erase(thread);
        return put(record().thread(RecordType::fork, of, of, thread, of, stamp(of, of)));
    }
  }
  // Of the process `of`. perf makes up some for processes that are there already.
  void fork(uint32_t of, uint32_t child) {
    if (of == child || (orderly_ && ended_.contains(of))) return;
    PerfDataBuilder builder = record();
    Bytes body = Bytes().u32(child).u32(of).u32(child).u32(of).u64(time_);
    if (!one_in(4)) {
      builder.fork(child, of, stamp(of, of));
    } else if (events_[0].sample_id_all) {
      builder.record(perfdata::RecordType::fork, kMadeUp, std::move(body), stamp(of, of));
    } else {
      builder.record(perfdata::RecordType::fork, kMadeUp, body);
    }
    put(builder);
    parents_.insert(of);
    begin_life(child);
    ended_.erase(child);
  }
  void begin_life(uint32_t pid) {
    ++lives_[pid];
    born_[pid] = ++time_;
  }
  void sample() {
    SampleSpec spec;
    spec.event = below(events_.size());
    spec.pid = pid();
    spec.tid = one_in(3) ? thread_of(spec.pid) : spec.pid;
    if (orderly_ && (ended_.contains(spec.tid) || ended_.contains(spec.pid))) return;
    // Nobody runs before he is there.
    spec.time = late_ && one_in(20)
                    ? time_ - below(std::min(time_ - born_[spec.pid], 60 * kMilli) + 1)
                    : time_;
    spec.period = ++samples_;
    if (one_in(3)) hot_[below(hot_.size())] = address();
    std::vector<uint64_t>& root = roots_[spec.tid];
    for (uint64_t i = below(3); i-- > 0 && !root.empty();) root.pop_back();
    for (uint64_t i = below(4); i-- > 0 && root.size() < 12;) {
      root.push_back(one_in(4) ? address() : hot_[below(hot_.size())]);
    }
    std::vector<uint64_t>& chain = spec.callchain;
    if (one_in(6)) {
      chain = {perfdata::kContextKernel, 0xffffffff81000010, 0xffffffff81000020};
      spec.misc = 1;
    }
    if (one_in(30)) chain.insert(chain.end(), {perfdata::kContextGuestUser, address()});
    if (spec.misc == 1 || !one_in(10)) chain.push_back(perfdata::kContextUser);
    spec.ip = one_in(2) ? hot_[below(hot_.size())] : address();
    chain.push_back(spec.ip);
    chain.insert(chain.end(), root.rbegin(), root.rend());
    if (one_in(20)) chain.insert(chain.end() - below(2), one_in(2) ? 0 : UINT64_MAX);
    if (one_in(40)) chain.resize(below(chain.size()));
    if (one_in(60)) chain.clear();
    if (chain.size() > 1 && spec.misc == 1) spec.ip = chain[1];
    if (events_[spec.event].user_regs_mask != 0) {
      spec.user_regs = {one_in(2) ? spec.ip : address()};
      for (uint64_t i = below(6); i-- > 0;) {
        const uint64_t word = one_in(3) ? below(1000) : address();
        spec.user_stack.append(reinterpret_cast<const char*>(&word), sizeof(word));
      }
    }
    put(record().sample(spec));
  }

  std::mt19937_64 random_;
  std::string folder_;
  bool timed_ = true;
  bool stacks_copied_ = false;
  bool late_ = false;
  bool orderly_ = false;
  bool made_up_ = false;
  std::map<uint32_t, uint32_t> lives_;  // by pid
  std::map<uint32_t, uint64_t> born_;   // when the present one began
  std::set<uint32_t> ended_, parents_;  // tids
  std::vector<EventSpec> events_;
  std::vector<Dump> dumps_;
  std::string map_;
  std::vector<std::pair<uint64_t, uint64_t>> bodies_;
  std::vector<uint64_t> hot_;
  std::map<uint32_t, std::vector<uint64_t>> roots_;  // by tid
  uint64_t time_ = 100 * kMilli;
  uint64_t samples_ = 0;
  std::vector<Pending> window_;
  std::vector<Pending> next_;
  std::vector<std::vector<std::byte>> written_;
};

}  // namespace jitscope::test
