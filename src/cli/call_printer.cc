#include "cli/call_printer.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "cli/command.h"

namespace jitscope {
namespace {

// Of 8 KiB each.
constexpr size_t kMostWaiting = 1024;
// A thread that names nothing for so long is stuck; a large file with symbols takes some seconds.
constexpr std::chrono::seconds kStuck{20};
// After the end of the trace.
constexpr uint64_t kLongestEnd = 10'000'000'000;
constexpr std::chrono::milliseconds kPause{20};

}  // namespace

CallPrinter::CallPrinter(const CallPrinterOptions& options, const Process& process,
                         CodeSource& source, Tracer& tracer)
    : options_(options), source_(source), tracer_(tracer) {
  without_.end = "not named: naming took too long";
  if (!options_.stacks) return;
  auto worker = StackWorker::start(process);
  if (worker) {
    worker_ = std::move(*worker);
  } else {
    without_.end = "not named: " + worker.error().what;
  }
}

void CallPrinter::take(const TracedCall& call, const std::function<bool()>& stop) {
  if (full()) {
    ++not_shown_;
    return;
  }
  ++events_;
  if (call.method >= shown_of_.size()) shown_of_.resize(call.method + 1);
  ++shown_of_[call.method];
  Call line;
  line.time_ns = call.hit.time_ns;
  line.pid = call.hit.pid;
  line.tid = call.hit.tid;
  line.method = tracer_.methods().display(call.method);
  line.short_name = tracer_.methods().name(call.method).short_name();
  line.arguments = decode_arguments(*call.body, call.hit);
  if (!options_.stacks) {
    print(line, nullptr);
  } else {
    name(std::move(line), call.hit, stop);
  }
}

void CallPrinter::print(const Call& call, const Stack* stack) {
  CallLine line;
  line.time_ns = call.time_ns;
  line.pid = call.pid;
  line.tid = call.tid;
  line.method = call.method;
  line.short_name = call.short_name;
  line.arguments = call.arguments;
  line.stack = stack;
  if (options_.json) {
    append_call_json(out_, line);
  } else {
    append_call_text(out_, line);
  }
}

void CallPrinter::name(Call call, const Hit& hit, const std::function<bool()>& stop) {
  while (worker_ != nullptr && worker_->waiting() >= kMostWaiting && !stop()) {
    worker_->wait(kPause);
    collect();
  }
  if (worker_ == nullptr) {
    print(call, &without_);
    ++not_named_;
    return;
  }
  worker_->add(hit.sp, hit.fp, hit.stack);
  calls_.push_back(std::move(call));
}

void CallPrinter::collect() {
  if (worker_ == nullptr) return;
  if (worker_->wants_bodies()) worker_->update(source_.read());
  for (const Stack& stack : worker_->take()) {
    print(calls_.front(), &stack);
    calls_.pop_front();
  }
  if (!calls_.empty() && worker_->idle() > kStuck) give_up();
}

void CallPrinter::give_up() {
  for (const Call& call : calls_) print(call, &without_);
  not_named_ += calls_.size();
  calls_.clear();
  worker_.reset();
}

bool CallPrinter::flush(const std::function<bool()>& stop) {
  collect();
  while (!out_.empty() && !stop()) {
    if (!output().write_some(out_, kPause)) return false;
  }
  return true;
}

std::string CallPrinter::finish(const std::function<bool()>& stop) {
  const uint64_t deadline = monotonic_ns() + kLongestEnd;
  while (worker_ != nullptr && !calls_.empty() && !stop() && monotonic_ns() < deadline) {
    worker_->wait(kPause);
    collect();
  }
  give_up();
  return std::exchange(out_, {});
}

}  // namespace jitscope
