#include "session/pipeline.h"

#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/hand_over.h"
#include "base/quiet_thread.h"

namespace jitscope {
namespace {

// So many are under way: a step that takes longer for once does not stop the others at once.
constexpr size_t kBatches = 24;
// Less than a third: whoever waits for a few gets them in the end.
constexpr size_t kFew = 6;

// At most so many steps at work at a time. Where there are no more cores the kernel sees to that.
class Cores {
 public:
  explicit Cores(unsigned cores)
      : limited_(cores < kSteps && cores < std::thread::hardware_concurrency()), free_(cores) {}
  void acquire() {
    if (limited_) free_.acquire();
  }
  void release() {
    if (limited_) free_.release();
  }

 private:
  static constexpr unsigned kSteps = 3;
  bool limited_;
  std::counting_semaphore<> free_;
};

class Pipeline final : public perfdata::BatchSink {
 public:
  Pipeline(const PipelineSteps& steps, unsigned cores) : steps_(steps), cores_(cores) {
    for (SampleBatch& batch : batches_) empty_.give(&batch);
  }

  std::optional<Status> run();

  // Of the reading thread.
  perfdata::RecordBatch* empty() override {
    cores_.release();
    SampleBatch* const batch = empty_.take_last();
    cores_.acquire();
    if (batch != nullptr) batch->clear();
    return batch;
  }
  void full(perfdata::RecordBatch* batch) override { read_.give(static_cast<SampleBatch*>(batch)); }
  bool settle() override {
    cores_.release();
    read_.hurry(true);
    resolved_.hurry(true);
    const bool all = empty_.wait_for(kBatches);
    read_.hurry(false);
    resolved_.hurry(false);
    cores_.acquire();
    return all;
  }

 private:
  void read();
  void resolve();
  void take_in();
  // Ends all steps.
  void stop() {
    empty_.cancel();
    read_.cancel();
    resolved_.cancel();
  }
  // Of which one is rethrown where all ends.
  void keep_exception() {
    const std::lock_guard lock(mutex_);
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }

  const PipelineSteps& steps_;
  Cores cores_;
  std::array<SampleBatch, kBatches> batches_;
  HandOver<SampleBatch> empty_{kFew};
  HandOver<SampleBatch> read_{kFew};
  HandOver<SampleBatch> resolved_{kFew};
  Status status_;  // of the reading
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

void Pipeline::read() {
  ::pthread_setname_np(::pthread_self(), "jitscope-read");
  cores_.acquire();
  try {
    status_ = steps_.read(*this);
  } catch (...) {
    keep_exception();
  }
  cores_.release();
  read_.close();
}

// The batches that come, one after the other, as long as they are wanted.
void each_batch(HandOver<SampleBatch>& from, Cores& cores,
                const std::function<bool(SampleBatch&)>& step, HandOver<SampleBatch>& to) {
  while (SampleBatch* const batch = from.take()) {
    cores.acquire();
    bool wanted = false;
    try {
      wanted = step(*batch);
    } catch (...) {
      cores.release();
      throw;
    }
    cores.release();
    to.give(batch);
    if (!wanted) return;
  }
}

void Pipeline::resolve() {
  ::pthread_setname_np(::pthread_self(), "jitscope-name");
  try {
    each_batch(read_, cores_, steps_.resolve, resolved_);
  } catch (...) {
    keep_exception();
  }
  resolved_.close();
  // What still comes has nobody to go to.
  empty_.close();
}

void Pipeline::take_in() {
  try {
    each_batch(steps_.resolve ? resolved_ : read_, cores_, steps_.take_in, empty_);
  } catch (...) {
    keep_exception();
  }
  stop();
}

std::optional<Status> Pipeline::run() {
  std::optional<std::thread> resolver;
  if (steps_.resolve) resolver = start_quiet_thread([this] { resolve(); });
  std::optional<std::thread> reader;
  if (resolver || !steps_.resolve) reader = start_quiet_thread([this] { read(); });
  if (!reader) {
    stop();
    if (resolver) resolver->join();
    return std::nullopt;
  }
  take_in();
  reader->join();
  if (resolver) resolver->join();
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  return std::move(status_);
}

}  // namespace

std::optional<Status> run_pipeline(const PipelineSteps& steps, unsigned cores) {
  return Pipeline(steps, cores).run();
}

}  // namespace jitscope
