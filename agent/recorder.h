// Recorder: turns the JVM's events into records of the dump.
//
// Events come from many threads at once (the service thread, the one that attaches, compiler
// threads): what JVMTI is asked is asked without a lock, and one lock makes indexes unique and
// records whole. Each event is one write(2), so that nothing that was reported is lost when the JVM
// is killed. When writing fails, a line on standard error says so, once, and the JVM goes on.
//
// A forked child that goes on as a JVM writes nothing: the dump is its parent's.
#pragma once

#include <jvmti.h>
#include <jvmticmlr.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent/dump_file.h"
#include "base/result.h"
#include "formats/jitdump/jitdump.h"

namespace jitscope::agent {

// "jitscope agent: ..." on standard error, in one write.
void say(std::string_view text);

class Recorder {
 public:
  // Writes the header and maps the marker. `exact`: HotSpot records the places between safepoints
  // for all code that will be told.
  static Result<std::unique_ptr<Recorder>> start(std::unique_ptr<DumpFile> file, bool exact);

  void method_loaded(jvmtiEnv* jvmti, JNIEnv* jni, jmethodID method, uint64_t address,
                     uint64_t size, std::span<const jvmtiAddrLocationMap> map,
                     const void* compile_info);
  // `method` is only compared: its class may be gone.
  void method_unloaded(jmethodID method, uint64_t address);
  void stub_generated(std::string_view name, uint64_t address, uint64_t size);
  // Writes CLOSE and nothing after it.
  void close();

 private:
  struct Body {
    uint64_t size = 0;
    jmethodID method = nullptr;
  };
  Recorder(std::unique_ptr<DumpFile> file, bool exact);
  [[nodiscard]] bool is_owner() const;
  void write_load(const jitdump::Load& load, jmethodID method);
  void append();  // what buffer_ holds; under the lock

  const bool exact_;
  const uint32_t pid_;
  std::mutex lock_;
  std::unique_ptr<DumpFile> file_;
  jitdump::Writer writer_;
  bool ended_ = false;
  std::string buffer_;
  std::unordered_map<uint64_t, Body> bodies_;  // that were loaded and not unloaded, by address
};

}  // namespace jitscope::agent
