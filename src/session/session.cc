#include "session/session.h"

#include <algorithm>

#include "formats/perfdata/callchain.h"
#include "session/leaf_filter.h"
#include "session/pipeline.h"

namespace jitscope {
namespace {

using perfdata::is_marker;

// In the note of an address, beside the number of its span: the answer may not hold later.
constexpr uint32_t kExpires = 1;

AnswerCache& answers_of(const ProcessLife& life) {
  return static_cast<AnswerCache&>(*life.answers);
}

// An answer of the thread's stack holds only so long.
void limit(ThreadState& thread, const AnswerLimits& limits) {
  thread.valid_until = std::min(thread.valid_until, limits.until);
  if (limits.growth != 0) thread.growth = limits.growth;
}

}  // namespace

Session::~Session() {
  if (!leave_tables_) return;
  (void)resolver_.release();
  (void)context_.release();
  (void)dumps_.release();
  (void)processes_.release();
  (void)files_.release();
}

Result<std::unique_ptr<Session>> Session::open(const std::string& path,
                                               const SessionOptions& options) {
  auto session = std::unique_ptr<Session>(new Session());
  session->options_ = options;
  JITSCOPE_TRY(session->prepare(path));
  return session;
}

Status Session::prepare(const std::string& path) {
  JITSCOPE_ASSIGN(auto source, open_byte_source(path));
  perfdata::ReadOptions reading;
  reading.keep_raw = options_.keep_raw;
  reading.meter = options_.meter;
  JITSCOPE_ASSIGN(reader_, perfdata::Reader::open(std::move(source), reading));
  const perfdata::Header& header = reader_->header();
  filter_ = SampleFilter(options_.filter);
  JITSCOPE_TRY(filter_.settle(header));
  facts_ = std::make_unique<RecordingFacts>(path, header);
  files_ = std::make_unique<MappedFiles>(options_.naming);
  processes_ = std::make_unique<Processes>(*files_);
  search_ = std::make_unique<SourceSearch>(*facts_, options_.naming);
  dumps_ = std::make_unique<DumpCache>(*facts_, options_.naming.lines, options_.keep_raw);
  context_ = std::make_unique<SourceContext>(
      SourceContext{*facts_, *search_, *files_, *dumps_, {}, {}, {}, {}, {}});
  resolver_ = std::make_unique<Resolver>(*context_, options_.naming);
  for (const perfdata::BuildIdEntry& entry : header.build_ids) {
    if (entry.kernel && entry.path.starts_with("[kernel")) {
      resolver_->set_kernel_build_id(entry.id);
    } else {
      files_->add_build_id(entry.path, entry.id);
    }
  }
  for (const std::string& option : options_.naming.offline_maps) {
    JITSCOPE_TRY(resolver_->add_offline_map(option, true));
  }
  for (const std::string& option : options_.naming.folder_maps) {
    // What is damaged among many is told, and the others count.
    if (const Status added = resolver_->add_offline_map(option, false); !added) {
      context_->notes.push_back(to_string(added.error()));
    }
  }
  for (const auto& [pid, loads] : options_.naming.image_loads) {
    if (const Status added = resolver_->add_image_loads(pid, loads); !added) {
      context_->notes.push_back(to_string(added.error()));
    }
  }
  for (FoundFile& file : search_->given_dumps(context_->notes)) {
    auto dump = dumps_->load(std::move(file), false);
    if (dump) {
      context_->given.push_back(std::move(*dump));
    } else {
      context_->notes.push_back(to_string(dump.error()));
    }
  }
  return {};
}

Status Session::run(SampleConsumer& consumer) {
  if (options_.filter.leaf_dsos.empty()) {
    consumer_ = &consumer;
    return read();
  }
  LeafFilter filter(*this, options_.filter.leaf_dsos, consumer);
  consumer_ = &filter;
  const Status status = read();
  leaves_left_out_ = filter.left_out();
  return status;
}

Status Session::run_by_code(SampleConsumer& consumer) {
  addresses_ = false;
  return run(consumer);
}

Status Session::scan(RecordConsumer& consumer) {
  scanner_ = &consumer;
  addresses_ = false;
  const Status status = read();
  if (scanned_) return status;
  if (scanned_.error().where.empty()) scanned_.error().where = facts_->path();
  return std::move(scanned_);
}

Status Session::read() {
  std::optional<Status> read;
  if (options_.cores > 1 && reader_->batches_fit()) read = read_in_threads();
  const Status status = read ? std::move(*read) : reader_->read(*this);
  note_unused(*context_, options_.naming);
  resolver_->note_unused_maps();
  return status;
}

std::optional<Status> Session::read_in_threads() {
  Diagnostics notes;
  Diagnostics noted_before;  // the same once more
  const auto decoder = reader_->decoder(notes);
  const auto second = reader_->decoder(noted_before);
  PipelineSteps steps;
  steps.read = [&](perfdata::BatchSink& sink) { return reader_->read(sink); };
  steps.take_in = [&](SampleBatch& batch) { return batch.hand_out(*decoder, *this); };
  // What is done with leaves alone is less than what a third thread costs.
  if (consumer_ != nullptr && !options_.leaf_only) {
    steps.resolve = [&](SampleBatch& batch) {
      batch_ = &batch;
      return batch.hand_out(*decoder, *this);
    };
    steps.take_in = [&](SampleBatch& batch) { return batch.hand_out(*second, *consumer_); };
  }
  std::optional<Status> read = run_pipeline(steps, options_.cores);
  batch_ = nullptr;
  if (read) reader_->take_notes(notes);
  return read;
}

bool Session::on_record(const perfdata::Record& record) {
  if (scanner_ != nullptr) scanner_->before_record(record);
  if (const auto* lost = std::get_if<perfdata::Lost>(&record.body)) {
    lost_ += lost->count;
  } else if (const auto* id = std::get_if<perfdata::BuildId>(&record.body)) {
    if (id->kernel && id->path.starts_with("[kernel")) {
      resolver_->set_kernel_build_id(id->id);
    } else {
      files_->add_build_id(id->path, id->id);
    }
  }
  if (resolver_->apply_kernel(record)) ++kernel_generation_;
  processes_->apply(record);
  if (scanner_ != nullptr) scanned_ = scanner_->on_record(record);
  return scanned_.has_value();
}

AnswerCache& Session::cache_of(ProcessLife& life, perfdata::CpuMode mode) {
  return mode == perfdata::CpuMode::user ? answers_of(life) : others_[static_cast<size_t>(mode)];
}

// Answers that no longer hold are forgotten.
void Session::prepare_caches(ProcessLife& life) {
  if (life.answers == nullptr) life.answers = std::make_unique<AnswerCache>();
  answers_of(life).keep_for(life.space.generation());
  for (AnswerCache& cache : others_) cache.keep_for(kernel_generation_);
}

// The code that the address lies in.
uint32_t Session::span_of(CodeSpans& known, ProcessLife& life, const AddressQuery& query) {
  const uint64_t address = perfdata::call_address(query.ip, query.caller);
  const auto holds = [&](uint32_t id) {
    return spans_[id].holds(address, query.time, life.space.growth());
  };
  const uint32_t found = known.find(address, holds);
  if (found != CodeSpans::kNone) return found;
  const uint32_t around = known.around(address);
  if (around != CodeSpans::kNone && holds(around)) {
    known.add(address, around, spans_[around]);
    return around;
  }
  const Resolution resolution = resolver_->resolve(life, query);
  const CodeSpan fresh(resolution, resolution.unmapped ? life.space.growth() : 0);
  // What is asked again is mostly answered as before.
  uint32_t id = known.find(address, [&](uint32_t other) { return spans_[other].same_code(fresh); });
  if (id == CodeSpans::kNone) {
    id = static_cast<uint32_t>(spans_.size());
    spans_.push_back(fresh);
  } else {
    spans_[id].limits = fresh.limits;
  }
  known.add(address, id, fresh);
  return id;
}

LocationId Session::new_place(uint64_t ip, uint32_t span) {
  places_.push_back({ip, span});
  return static_cast<LocationId>(places_.size() - 1);
}

LocationId Session::locate(ThreadState& thread, const AddressQuery& query) {
  ProcessLife& life = *thread.process;
  AnswerCache& cache = cache_of(life, query.mode);
  // Of the places where code was interrupted few are seen twice.
  const bool kept = addresses_ || query.caller;
  AddressCache& addresses = query.caller ? cache.callers : cache.exact;
  const AddressCache::Entry entry = kept ? addresses.at(query.ip) : AddressCache::Entry();
  LocationId id = entry.location;
  if (id == AddressCache::kNone && !late_) {
    const CodeSpans::Known known =
        cache.spans.quick(perfdata::call_address(query.ip, query.caller));
    if (known.span != CodeSpans::kNone && !known.expires) {
      id = addresses_ ? new_place(query.ip, known.span) : known.span;
      if (kept) addresses.set(query.ip, {id, known.span << 1U});
      return id;
    }
  } else if (id != AddressCache::kNone) {
    if ((entry.note & kExpires) == 0 && !late_) return id;
    const AnswerLimits& limits = spans_[entry.note >> 1U].limits;
    if (limits.allow(query.time, life.space.growth())) {
      limit(thread, limits);
      return id;
    }
  }
  const uint32_t span = span_of(cache.spans, life, query);
  const AnswerLimits& limits = spans_[span].limits;
  if (!addresses_) {
    id = span;
  } else if (id == AddressCache::kNone || location(id) != spans_[span].at(query.ip)) {
    id = new_place(query.ip, span);
  }
  if (kept) addresses.set(query.ip, {id, span << 1U | (limits.expires() ? kExpires : 0)});
  limit(thread, limits);
  return id;
}

LocationId Session::locate(ThreadState& thread, uint64_t ip, bool caller, uint64_t time) {
  AddressQuery query;
  query.ip = ip;
  query.caller = caller;
  query.time = time;
  prepare_caches(*thread.process);
  return locate(thread, query);
}

void Session::resolve_leaf(ThreadState& thread, const perfdata::Sample& sample) {
  AddressQuery query;
  query.ip = sample.ip;
  query.mode = sample.mode;
  query.time = sample.head.time;
  thread.locations.assign(1, locate(thread, query));
  thread.of_process = nullptr;
}

size_t Session::resolve_stack(ThreadState& thread, const perfdata::Sample& sample) {
  const std::span<const uint64_t> chain = sample.callchain;
  const uint64_t time = sample.head.time;
  const ProcessLife* life = thread.process.get();
  size_t shared = 0;
  if (thread.of_process == life && thread.generation == life->space.generation() &&
      thread.kernel_generation == kernel_generation_ &&
      (thread.growth == 0 || thread.growth == life->space.growth()) && !late_ &&
      time < thread.valid_until) {
    shared = thread.chain.shared(chain);
  }
  perfdata::ChainEnd end = perfdata::end_of(chain.first(chain.size() - shared), sample.mode);
  if (shared != 0 && end.mode != thread.chain.mode()) {
    shared = 0;
    end = perfdata::end_of(chain, sample.mode);
  }
  if (shared == 0) {
    thread.valid_until = kForever;
    thread.growth = 0;
  }
  resolve_fresh(thread, sample, shared);
  thread.chain.set(chain, shared, chain.size() - end.marked, end.mode);
  thread.of_process = life;
  thread.generation = life->space.generation();
  thread.kernel_generation = kernel_generation_;
  return shared;
}

// What the last sample's stack does not have, from the leaf on.
void Session::resolve_fresh(ThreadState& thread, const perfdata::Sample& sample, size_t shared) {
  const std::span<const uint64_t> fresh = sample.callchain.first(sample.callchain.size() - shared);
  const AnswerCache& cache = answers_of(*thread.process);
  size_t markers = 0;
  if (fresh.size() > 1) {  // the leaf's address, which mostly stands behind a marker
    if (addresses_) cache.exact.prefetch(fresh[1]);
    cache.spans.prefetch(fresh[1]);
  }
  for (const uint64_t value : fresh) {
    cache.callers.prefetch(value);
    markers += is_marker(value) ? 1 : 0;
  }
  thread.locations.resize(sample.callchain.size() - markers);
  // From the leaf's side, so from the back.
  LocationId* out = thread.locations.data() + thread.locations.size();
  AddressQuery query;
  query.time = sample.head.time;
  perfdata::for_each_run(fresh, sample.mode,
                         [&](perfdata::CpuMode mode, std::span<const uint64_t> run) {
                           query.mode = mode;
                           resolve_run(thread, query, run, out);
                         });
}

// What is not known at once is looked for when all else has been taken, and memory has had time.
void Session::resolve_run(ThreadState& thread, AddressQuery& query, std::span<const uint64_t> run,
                          LocationId*& out) {
  const AnswerCache& cache = answers_of(*thread.process);
  unknown_.clear();
  unknown_.push_back({run.front(), --out, false});
  const bool quick = query.mode == perfdata::CpuMode::user && !late_;
  for (const uint64_t ip : run.subspan(1)) {
    const AddressCache::Entry known = cache.callers.at(ip);
    *--out = known.location;
    if (quick && known.location != AddressCache::kNone && (known.note & kExpires) == 0) continue;
    cache.spans.prefetch(ip - 1);
    unknown_.push_back({ip, out, true});
  }
  for (const Unknown& each : unknown_) {
    query.ip = each.ip;
    query.caller = each.caller;
    *each.place = locate(thread, query);
  }
}

bool Session::on_sample(const perfdata::Sample& sample) {
  ++samples_;
  late_ = sample.head.time < last_time_;
  if (sample.head.time != 0) {
    if (first_time_ == 0) first_time_ = sample.head.time;
    last_time_ = std::max(last_time_, sample.head.time);
  }
  ThreadState& thread = processes_->thread(sample.head.pid, sample.head.tid);
  if (thread.process->end != UINT64_MAX || thread.process->pid != thread.pid) {
    thread.process = processes_->process(thread.pid);
  }
  if (!filter_.takes(sample, thread.comm)) return true;
  if (thread.slot == UINT32_MAX) thread.slot = sampled_threads_++;
  if (scanner_ != nullptr) {
    scanned_ = scanner_->on_sample({sample, thread});
    return scanned_.has_value();
  }
  const bool callchain = !sample.callchain.empty();
  size_t shared = 0;
  prepare_caches(*thread.process);
  if (callchain && !options_.leaf_only) {
    shared = resolve_stack(thread, sample);
  } else {
    resolve_leaf(thread, sample);
  }
  return deliver(sample, thread, shared, callchain);
}

bool Session::deliver(const perfdata::Sample& sample, ThreadState& thread, size_t shared,
                      bool callchain) {
  if (thread.label == nullptr) {
    thread.label = std::make_shared<SampledThread>(SampledThread{
        thread.pid, thread.tid, thread.slot, thread.comm, thread.process->comm, UINT32_MAX});
    thread.kept_by = nullptr;
  }
  if (batch_ == nullptr) {
    return consumer_->on_sample({sample, *thread.label, thread.locations, shared, callchain});
  }
  batch_->add(thread, thread.locations, shared, callchain);
  return true;
}

}  // namespace jitscope
