// Injector: takes a recording in the order of time and writes it again, with a mapping before each
// sample for which perf would see something else than the body that lay there (inject.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/perfdata/record_builder.h"
#include "formats/perfdata/writer.h"
#include "inject/chain.h"
#include "inject/images.h"
#include "inject/inject.h"
#include "inject/output.h"
#include "inject/plan.h"
#include "inject/round.h"
#include "inject/settled.h"
#include "inject/stack.h"
#include "inject/view.h"
#include "session/session.h"

namespace jitscope {

class Injector final : public SampleConsumer {
 public:
  Injector(Session& session, InjectOutput& output, const InjectOptions& options);

  bool on_sample(const ResolvedSample& resolved) override;
  void before_record(const perfdata::Record& record) override;
  bool on_record(const perfdata::Record& record) override;
  // All addresses of a body are one: what matters is where it lies.
  [[nodiscard]] bool wants_addresses() const override { return false; }
  [[nodiscard]] bool wants_stacks() const override { return false; }

  // When all is read: images, places, features.
  Result<InjectSummary> finish();
  // Why on_sample() or on_record() ended the reading.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  // What is known of a location.
  struct Known {
    // elsewhere: in no process. native: in a mapped file. unmapped: nobody knows.
    enum class Kind : uint8_t { unseen, elsewhere, native, unmapped, nameless, jit };
    uint64_t stamp = 0;  // state of a view for which it was found right
    uint32_t code = PerfView::kNoCode;
    Kind kind = Kind::unseen;
  };
  // Of a thread's last sample.
  struct Last {
    PerfView* view = nullptr;
    uint64_t epoch = 0;
    uint32_t life = UINT32_MAX;   // ProcessLife::number
    SettledCode* code = nullptr;  // of the life
    LastChain chain;
    const SettledCode* settled = nullptr;  // whose `opened` it is that the chain was looked at for
    uint64_t opened = 0;
  };
  // Part of a stack that was looked at.
  struct Walked {
    size_t marked = 0;                                    // entries up to the last marker
    perfdata::CpuMode mode = perfdata::CpuMode::unknown;  // behind it
  };
  // A mapping whose place is not known yet.
  struct Patch {
    enum class Kind : uint8_t { code, anchor, tables };
    uint64_t offset = 0;  // of the record in the output, or in its part of the present round
    uint64_t delta = 0;   // from the start of the body
    uint32_t number = 0;  // of the code or the image
    Kind kind = Kind::code;
    bool front = false;
  };

  bool begin() { return begun_ || begin_output(); }
  bool begin_output();
  [[nodiscard]] std::vector<perfdata::Attribute> attributes(size_t from) const;
  bool write(std::span<const std::byte> bytes, const perfdata::RecordHead& head);
  bool end_round();
  bool keep_order(const perfdata::RecordHead& head);
  bool write_mmap(const perfdata::Record& record, const perfdata::Mmap& mmap);
  bool fail_with(Status status);

  Last& last_of(const ResolvedSample& resolved);
  SettledCode& settled_of(const ProcessLife& life);
  bool check_sample(const ResolvedSample& resolved, PerfView& view, Last& last);
  Walked check_chain(std::span<const uint64_t> chain, const ResolvedSample& resolved,
                     PerfView& view);
  LocationId locate(const ResolvedSample& resolved, uint64_t ip, bool caller);
  void check_address(uint64_t ip, bool caller, const ResolvedSample& resolved, PerfView& view);
  void check_return(LocationId id, uint64_t ip, const ResolvedSample& resolved, PerfView& view);
  static SettledCode::Kind kind_of(const Known& known);
  void settle(LocationId id, uint64_t address);
  void count_leaf(const ResolvedSample& resolved);
  void check(LocationId id, const ResolvedSample& resolved, PerfView& view);
  void classify(LocationId id, Known& known, const ResolvedSample& resolved);
  void check_stack_words(const ResolvedSample& resolved, PerfView& view);
  void show(LocationId id, uint32_t code, const ResolvedSample& resolved, PerfView& view);
  void hide(LocationId id, const ResolvedSample& resolved, PerfView& view);
  void add_tables(uint32_t image, const ResolvedSample& resolved, PerfView& view);
  // Before the sample.
  void write_mapping(const ResolvedSample& resolved, perfdata::Mmap mmap,
                     const Patch* patch = nullptr);
  const InjectImageFile& image_file(uint32_t image, const ProcessLife& life);

  Status patch(const std::vector<WrittenImage>& images);
  void fill_in(const Patch& patch, std::span<std::byte> record,
               const std::vector<WrittenImage>& images) const;
  void set_features(const std::vector<WrittenImage>& images);
  void tell(const std::vector<WrittenImage>& images);

  Session& session_;
  InjectOutput& output_;
  const InjectOptions& options_;
  perfdata::Writer writer_;
  bool begun_ = false;
  size_t attributes_ = 0;  // written
  size_t attr_bytes_ = 0;
  std::string early_;  // records that came before all attributes were known
  InjectRound round_;
  uint64_t newest_ = 0;  // time of what perf may still hold back when it reads the next record
  bool tables_ = false;  // some event records user stacks
  std::string out_;      // the record that is being made
  Status status_;

  PerfViews views_;
  InjectPlan plan_;
  StackWords words_;
  std::vector<Known> known_;                                 // by location
  std::vector<Last> last_;                                   // by ThreadState::slot
  std::vector<std::unique_ptr<SettledCode>> settled_codes_;  // by ProcessLife::number
  // Of the present sample.
  SettledCode* settled_ = nullptr;
  bool all_settled_ = false;  // of what was looked at
  bool narrow_ = false;       // what is shown for one has hidden another
  bool late_ = false;         // it is older than one before: nothing is settled for it, or by it
  uint64_t latest_ = 0;       // time
  std::vector<InjectImageFile> files_;  // by image
  std::vector<Patch> patches_;
  size_t patches_written_ = 0;  // that are of rounds which are written
  // Of the present MMAP record: what of it is new, (start, end); all of it when whole_.
  std::vector<std::pair<uint64_t, uint64_t>> fresh_;
  bool whole_ = true;
  InjectSummary summary_;
};

}  // namespace jitscope
