// PerfModel: what perf report and perf script would say of each address of each stack of a
// recording: a small reader of its own that knows perf's rules (linux: tools/perf/util/
// ordered-events.c, session.c, machine.c, thread.c, maps.c) and nothing of jitscope's:
//
//  - records wait until a round is over, then come by time; those of one time by their place. What
//    has no time, or 0, does not wait. Without sample_id_all nothing waits.
//  - threads are known by tid; those of a process share its mappings, a fork copies them, exec
//    leaves them. A new mapping takes the place of what it covers.
//  - an address of a stack is looked for as it is, also when it is a return address.
//  - a symbol is what the mapped ELF file has at the offset: only those of code images, files in a
//    folder `*.images`, are read, by libelf.
//
// Of records only the parsing is taken from formats/perfdata.
#pragma once

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "formats/perfdata/callchain.h"
#include "formats/perfdata/reader.h"

namespace jitscope::test {

// Of one ELF file, by offset in it.
class ElfSymbols {
 public:
  explicit ElfSymbols(const std::string& path) {
    elf_version(EV_CURRENT);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Elf* const elf = elf_begin(fd.get(), ELF_C_READ, nullptr);
    if (elf == nullptr) return;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header{};
      gelf_getshdr(section, &header);
      if (header.sh_type != SHT_SYMTAB) continue;
      Elf_Data* const data = elf_getdata(section, nullptr);
      for (size_t i = 1; i < header.sh_size / header.sh_entsize; ++i) {
        GElf_Sym symbol{};
        gelf_getsym(data, static_cast<int>(i), &symbol);
        GElf_Shdr code{};
        Elf_Scn* const of = elf_getscn(elf, symbol.st_shndx);
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || gelf_getshdr(of, &code) == nullptr)
          continue;
        const uint64_t start = symbol.st_value - code.sh_addr + code.sh_offset;
        const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
        symbols_.push_back({start, start + symbol.st_size, name});
      }
    }
    elf_end(elf);
    std::ranges::sort(symbols_, {}, &Symbol::start);
    for (size_t i = 1; i < symbols_.size(); ++i) {
      overlap_ = overlap_ || symbols_[i].start < symbols_[i - 1].end;
    }
  }
  // perf's choice among several is not modelled: there must be none.
  [[nodiscard]] bool overlap() const { return overlap_; }
  [[nodiscard]] std::string at(uint64_t offset) const {
    auto after = std::ranges::upper_bound(symbols_, offset, {}, &Symbol::start);
    if (after == symbols_.begin() || (--after)->end <= offset) return "[no symbol]";
    return after->name;
  }

 private:
  struct Symbol {
    uint64_t start = 0;
    uint64_t end = 0;
    std::string name;
  };
  std::vector<Symbol> symbols_;
  bool overlap_ = false;
};

class PerfModel : private perfdata::Handler {
 public:
  static constexpr const char* kNone = "-";  // no code of an image

  struct Seen {
    std::vector<std::string> names;  // for each entry of the stack, markers too
    std::vector<std::string> words;  // of the copied user stack, for the call before each
  };
  // `forgets_exited`: EXIT takes a thread away with its mappings, as perf does from 6.7 on.
  explicit PerfModel(bool forgets_exited) : forgets_exited_(forgets_exited) {}

  Status read(const std::string& path) {
    JITSCOPE_ASSIGN(auto source, open_byte_source(path));
    perfdata::ReadOptions in_file_order;
    in_file_order.in_order = false;
    JITSCOPE_ASSIGN(auto reader, perfdata::Reader::open(std::move(source), in_file_order));
    waits_ = !reader->header().events.empty() && reader->header().events.front().sample_id_all;
    JITSCOPE_TRY(reader->read(*this));
    flush(UINT64_MAX);
    return {};
  }
  // By the period of the sample, which the recording's maker made a number.
  std::map<uint64_t, Seen> samples;
  bool overlap = false;  // of symbols in one image

 private:
  struct Event {
    perfdata::RecordType type{};
    uint16_t misc = 0;
    uint32_t pid = 0;
    uint32_t tid = 0;
    uint32_t parent_pid = 0;
    uint32_t parent_tid = 0;
    uint64_t start = 0;  // of a mapping; the number of a sample
    uint64_t end = 0;
    uint64_t offset = 0;
    std::string path;
    std::vector<uint64_t> chain;
    std::vector<uint64_t> words;
  };
  struct Map {
    uint64_t end = 0;
    uint64_t offset = 0;
    std::string path;
  };
  using Maps = std::map<uint64_t, Map>;
  struct Thread {
    uint32_t pid = 0;
    std::shared_ptr<Maps> maps;
  };

  bool on_sample(const perfdata::Sample& sample) override {
    Event event;
    event.type = perfdata::RecordType::sample;
    event.pid = sample.head.pid;
    event.tid = sample.head.tid;
    event.start = sample.period;
    event.chain.assign(sample.callchain.begin(), sample.callchain.end());
    if (event.chain.empty()) event.chain = {sample.ip};
    event.words.resize(sample.user_stack.size() / sizeof(uint64_t));
    if (!event.words.empty()) {
      std::memcpy(event.words.data(), sample.user_stack.data(), event.words.size() * 8);
    }
    take(sample.head, std::move(event));
    return true;
  }
  bool on_record(const perfdata::Record& record) override {
    Event event;
    event.type = record.head.type;
    event.misc = record.head.misc;
    if (event.type == perfdata::RecordType::finished_round) {
      flush(next_flush_);
      next_flush_ = latest_;
      return true;
    }
    if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
      if (mmap->kernel || mmap->guest) return true;
      event.pid = mmap->pid;
      event.tid = mmap->tid;
      event.start = mmap->start;
      event.end = mmap->start + mmap->length;
      event.offset = mmap->page_offset;
      event.path = mmap->path;
    } else if (const auto* fork = std::get_if<perfdata::Fork>(&record.body)) {
      take_task(*fork, event);
    } else if (const auto* exit = std::get_if<perfdata::Exit>(&record.body)) {
      take_task(*exit, event);
    } else if (const auto* comm = std::get_if<perfdata::Comm>(&record.body)) {
      event.pid = comm->pid;
      event.tid = comm->tid;
    } else {
      return true;
    }
    take(record.head, std::move(event));
    return true;
  }
  static void take_task(const perfdata::Fork& task, Event& event) {
    event.pid = task.pid;
    event.tid = task.tid;
    event.parent_pid = task.parent_pid;
    event.parent_tid = task.parent_tid;
  }

  void take(const perfdata::RecordHead& head, Event event) {
    if (!waits_ || !head.has_time || head.time == 0 || head.time == UINT64_MAX) {
      return apply(event);
    }
    latest_ = std::max(latest_, head.time);
    waiting_.emplace(head.time, std::move(event));  // behind those of the same time
  }
  void flush(uint64_t limit) {
    while (!waiting_.empty() && waiting_.begin()->first <= limit) {
      apply(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

  Thread& thread(uint32_t pid, uint32_t tid) {
    const auto found = threads_.find(tid);
    if (found != threads_.end()) return found->second;
    Thread fresh;
    fresh.pid = pid;
    fresh.maps = pid == tid ? std::make_shared<Maps>() : thread(pid, pid).maps;
    return threads_.emplace(tid, fresh).first->second;
  }

  void apply(const Event& event) {
    switch (event.type) {
      case perfdata::RecordType::mmap:
      case perfdata::RecordType::mmap2:
        if (event.start < event.end) map(*thread(event.pid, event.tid).maps, event);
        return;
      case perfdata::RecordType::comm:
        thread(event.pid, event.tid);
        return;
      case perfdata::RecordType::exit:
        if (forgets_exited_) threads_.erase(event.tid);
        return;
      case perfdata::RecordType::fork:
        return fork(event);
      case perfdata::RecordType::sample:
        return look(event);
      default:
        return;
    }
  }
  void fork(const Event& event) {
    if (thread(event.parent_pid, event.parent_tid).pid != event.parent_pid) {
      threads_.erase(event.parent_tid);
    }
    const std::shared_ptr<Maps> parent = thread(event.parent_pid, event.parent_tid).maps;
    threads_.erase(event.tid);
    Thread& child = thread(event.pid, event.tid);
    constexpr uint16_t made_up = 1U << 13U;  // PERF_RECORD_MISC_FORK_EXEC
    if (event.pid == event.parent_pid || child.maps == parent || (event.misc & made_up) != 0)
      return;
    for (const auto& [start, map] : *parent) child.maps->emplace(start, map);
  }
  static void map(Maps& maps, const Event& event) {
    auto old = maps.upper_bound(event.start);
    if (old != maps.begin() && std::prev(old)->second.end > event.start) --old;
    while (old != maps.end() && old->first < event.end) {
      const uint64_t start = old->first;
      const Map piece = old->second;
      old = maps.erase(old);
      if (start < event.start) maps[start] = {event.start, piece.offset, piece.path};
      if (piece.end > event.end) {
        maps[event.end] = {piece.end, piece.offset + (event.end - start), piece.path};
        break;
      }
    }
    maps[event.start] = {event.end, event.offset, event.path};
  }

  void look(const Event& event) {
    const Maps& maps = *thread(event.pid, event.tid).maps;
    Seen& seen = samples[event.start];
    for (const uint64_t ip : event.chain) seen.names.push_back(name_at(maps, ip));
    for (const uint64_t word : event.words) seen.words.push_back(name_at(maps, word - 1));
  }
  std::string name_at(const Maps& maps, uint64_t ip) {
    auto map = maps.upper_bound(ip);
    if (map == maps.begin() || (--map)->second.end <= ip) return kNone;
    const std::string& path = map->second.path;
    if (path.find(".images/") == std::string::npos) return kNone;
    std::unique_ptr<ElfSymbols>& image = images_[path];
    if (image == nullptr) {
      image = std::make_unique<ElfSymbols>(path);
      overlap = overlap || image->overlap();
    }
    return image->at(ip - map->first + map->second.offset);
  }

  bool forgets_exited_;
  bool waits_ = false;
  uint64_t latest_ = 0;
  uint64_t next_flush_ = 0;
  std::multimap<uint64_t, Event> waiting_;
  std::map<uint32_t, Thread> threads_;
  std::map<std::string, std::unique_ptr<ElfSymbols>> images_;
};

}  // namespace jitscope::test
