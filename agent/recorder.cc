#include "agent/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <span>
#include <utility>
#include <vector>

#include "agent/compiled_code.h"
#include "agent/method_table.h"
#include "base/clock.h"

namespace jitscope::agent {
namespace {

constexpr size_t kLargestKeptBuffer = 1U << 20U;
// Of chains in the list of records of one event: it is the JVM's, but it is a linked list.
constexpr int kMostRecords = 1024;

std::span<const std::byte> code_at(uint64_t address, uint64_t size) {
  return {reinterpret_cast<const std::byte*>(address), size};
}

uint32_t thread_id() {
  return static_cast<uint32_t>(::syscall(SYS_gettid));
}

// The inlining records of HotSpot's compile_info.
void add_inlining(const void* compile_info, MethodTable& methods, CompiledCode& code) {
  const auto* header = static_cast<const jvmtiCompiledMethodLoadRecordHeader*>(compile_info);
  std::vector<Frame> frames;
  for (int left = kMostRecords; header != nullptr && left > 0; header = header->next, --left) {
    if (header->kind != JVMTI_CMLR_INLINE_INFO ||
        header->majorinfoversion != JVMTI_CMLR_MAJOR_VERSION_1) {
      continue;
    }
    const auto* record = reinterpret_cast<const jvmtiCompiledMethodLoadInlineRecord*>(header);
    if (record->numpcs <= 0 || record->pcinfo == nullptr) continue;
    for (const PCStackInfo& each : std::span(record->pcinfo, static_cast<size_t>(record->numpcs))) {
      frames.clear();
      for (jint i = 0; i < each.numstackframes; ++i) {
        frames.push_back({methods(each.methods[i]), each.bcis[i]});
      }
      code.ends_at(reinterpret_cast<uint64_t>(each.pc), frames);
    }
  }
}

}  // namespace

void say(std::string_view text) {
  const std::string line = "jitscope agent: " + std::string(text) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

Recorder::Recorder(std::unique_ptr<DumpFile> file, bool exact)
    : exact_(exact),
      pid_(static_cast<uint32_t>(::getpid())),
      file_(std::move(file)),
      writer_(pid_) {}

Result<std::unique_ptr<Recorder>> Recorder::start(std::unique_ptr<DumpFile> file, bool exact) {
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(file), exact));
  std::string header;
  recorder->writer_.header(header, monotonic_ns());
  JITSCOPE_TRY(recorder->file_->append(header));
  const Status marked = recorder->file_->map_marker();
  if (!marked) say(to_string(marked.error()));
  return recorder;
}

bool Recorder::is_owner() const {
  return static_cast<uint32_t>(::getpid()) == pid_;
}

void Recorder::append() {
  const Status written = file_->append(buffer_);
  if (!written) {
    ended_ = true;
    bodies_.clear();
    say(to_string(written.error()));
  }
  buffer_.clear();
  if (buffer_.capacity() > kLargestKeptBuffer) buffer_.shrink_to_fit();
}

void Recorder::write_load(const jitdump::Load& load, jmethodID method) {
  const std::lock_guard<std::mutex> guard(lock_);
  if (ended_) return;
  writer_.load(buffer_, load);
  if (method != nullptr) bodies_[load.address] = {load.size, method};
  append();
}

void Recorder::method_loaded(jvmtiEnv* jvmti, JNIEnv* jni, jmethodID method, uint64_t address,
                             uint64_t size, std::span<const jvmtiAddrLocationMap> map,
                             const void* compile_info) {
  if (size == 0 || !is_owner()) return;
  jitdump::Load load;
  load.time = monotonic_ns();
  load.tid = thread_id();
  load.address = address;
  load.size = size;
  load.code = code_at(address, size);

  MethodTable methods(jvmti, jni);
  const uint32_t own = methods(method);
  CompiledCode code(address, size, exact_);
  if (compile_info != nullptr) {
    add_inlining(compile_info, methods, code);
  } else {
    for (const jvmtiAddrLocationMap& each : map) {
      const Frame frame{own, static_cast<int32_t>(each.location)};
      code.begins_at(reinterpret_cast<uint64_t>(each.start_address), {&frame, 1});
    }
  }
  const CodeScopes scopes = code.finish(methods.all());
  std::string encoded;
  jitdump::encode_scopes(encoded, scopes);
  const auto lines = line_entries(scopes, address, size);
  load.name = methods.all()[own].name;
  load.lines = lines;
  load.scopes = std::as_bytes(std::span<const char>(encoded));
  write_load(load, method);
}

void Recorder::method_unloaded(jmethodID method, uint64_t address) {
  const uint64_t time = monotonic_ns();
  if (!is_owner()) return;
  const std::lock_guard<std::mutex> guard(lock_);
  if (ended_) return;
  const auto found = bodies_.find(address);
  // A late event: newer code lies there, which that LOAD has told.
  if (found == bodies_.end() || found->second.method != method) return;
  writer_.gone(buffer_, {time, address, found->second.size});
  bodies_.erase(found);
  append();
}

void Recorder::stub_generated(std::string_view name, uint64_t address, uint64_t size) {
  if (size == 0 || !is_owner()) return;
  jitdump::Load load;
  load.time = monotonic_ns();
  load.tid = thread_id();
  load.address = address;
  load.size = size;
  load.name = name;
  load.code = code_at(address, size);
  write_load(load, nullptr);
}

void Recorder::close() {
  if (!is_owner()) return;
  const std::lock_guard<std::mutex> guard(lock_);
  if (ended_) return;
  writer_.close(buffer_, monotonic_ns());
  append();
  ended_ = true;
}

}  // namespace jitscope::agent
