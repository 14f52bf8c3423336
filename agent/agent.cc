// The JVMTI agent: entry points, capabilities and events. What is told goes to the Recorder.
//
// A JVM is never kept from starting or working: whatever fails is said on standard error, and the
// JVM goes on without a dump.
#include <jvmti.h>

#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "agent/dump_file.h"
#include "agent/options.h"
#include "agent/recorder.h"
#include "base/agent_codes.h"

namespace jitscope::agent {
namespace {

// Both are made once and never freed: threads of the JVM may still report while the process ends.
Recorder* recorder = nullptr;
JavaVM* java = nullptr;

JNIEnv* jni_here() {
  void* environment = nullptr;
  if (java->GetEnv(&environment, JNI_VERSION_1_6) != JNI_OK) return nullptr;
  return static_cast<JNIEnv*>(environment);
}

void JNICALL on_method_load(jvmtiEnv* jvmti, jmethodID method, jint size, const void* address,
                            jint map_length, const jvmtiAddrLocationMap* map,
                            const void* compile_info) {
  const size_t count = map == nullptr || map_length < 0 ? 0 : static_cast<size_t>(map_length);
  recorder->method_loaded(jvmti, jni_here(), method, reinterpret_cast<uint64_t>(address),
                          size < 0 ? 0 : static_cast<uint64_t>(size), std::span(map, count),
                          compile_info);
}

void JNICALL on_method_unload(jvmtiEnv* /*jvmti*/, jmethodID method, const void* address) {
  recorder->method_unloaded(method, reinterpret_cast<uint64_t>(address));
}

void JNICALL on_stub(jvmtiEnv* /*jvmti*/, const char* name, const void* address, jint length) {
  recorder->stub_generated(name == nullptr ? "" : name, reinterpret_cast<uint64_t>(address),
                           length < 0 ? 0 : static_cast<uint64_t>(length));
}

// Those that cost nothing while they are not used: no breakpoints, no retransformation, no local
// variables. Without the last two there are names but no lines.
bool add_capabilities(jvmtiEnv* jvmti) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_compiled_method_load_events = 1;
  if (jvmti->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return false;
  jvmtiCapabilities files{};
  files.can_get_source_file_name = 1;
  jvmtiCapabilities lines{};
  lines.can_get_line_numbers = 1;
  if (jvmti->AddCapabilities(&files) != JVMTI_ERROR_NONE ||
      jvmti->AddCapabilities(&lines) != JVMTI_ERROR_NONE) {
    say("this JVM does not tell files and lines: names only");
  }
  return true;
}

constexpr jvmtiEvent kEvents[] = {JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
                                  JVMTI_EVENT_COMPILED_METHOD_LOAD,
                                  JVMTI_EVENT_DYNAMIC_CODE_GENERATED};

bool enable_events(jvmtiEnv* jvmti) {
  jvmtiEventCallbacks callbacks{};
  callbacks.CompiledMethodLoad = on_method_load;
  callbacks.CompiledMethodUnload = on_method_unload;
  callbacks.DynamicCodeGenerated = on_stub;
  if (jvmti->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) return false;
  for (const jvmtiEvent event : kEvents) {
    if (jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      for (const jvmtiEvent each : kEvents) {
        jvmti->SetEventNotificationMode(JVMTI_DISABLE, each, nullptr);
      }
      return false;
    }
  }
  return true;
}

// HotSpot records the places between safepoints when an agent of this kind is there from the start,
// unless it was told not to.
bool records_all_places(bool from_start) {
  if (!from_start) return false;
  std::string words = read_proc_file("/proc/self/cmdline");
  const char* const variables[] = {"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"};
  for (const char* const each : variables) {
    const char* const value = ::getenv(each);
    if (value != nullptr) words.append(1, ' ').append(value);
  }
  return !turns_off_non_safepoints(words);
}

int start(JavaVM* vm, const char* options_text, bool from_start) {
  const std::string path = mapped_dump();
  if (recorder != nullptr || !path.empty()) {
    say("this process has a jitdump already, a second one is not written: " + path);
    return kHasDump;
  }
  auto options = parse_options(options_text == nullptr ? "" : options_text);
  if (!options) {
    say(to_string(options.error()));
    return kWrongOptions;
  }
  void* environment = nullptr;
  if (vm->GetEnv(&environment, JVMTI_VERSION_1_2) != JNI_OK) {
    say("this JVM has no JVMTI");
    return kNoCapabilities;
  }
  auto* const jvmti = static_cast<jvmtiEnv*>(environment);
  if (!add_capabilities(jvmti)) {
    say("this JVM does not tell of compiled methods");
    jvmti->DisposeEnvironment();
    return kNoCapabilities;
  }
  auto file = DumpFile::create(options->directory);
  if (!file) {
    say("no dump: " + to_string(file.error()));
    jvmti->DisposeEnvironment();
    return kNoDump;
  }
  auto made = Recorder::start(std::move(*file), records_all_places(from_start));
  if (!made) {
    say("no dump: " + to_string(made.error()));
    jvmti->DisposeEnvironment();
    return kNoDump;
  }
  java = vm;
  recorder = made->release();
  if (!enable_events(jvmti)) {
    say("this JVM does not tell of compiled methods");
    return kNoCapabilities;
  }
  if (!from_start) {
    // What is there already, as if it came now. Events of what comes meanwhile may tell it twice.
    jvmti->GenerateEvents(JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
    jvmti->GenerateEvents(JVMTI_EVENT_COMPILED_METHOD_LOAD);
  }
  return kLoaded;
}

}  // namespace
}  // namespace jitscope::agent

extern "C" {

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* /*reserved*/) {
  jitscope::agent::start(vm, options, true);
  return JNI_OK;  // anything else would keep the JVM from starting
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void* /*reserved*/) {
  return jitscope::agent::start(vm, options, false);
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM* /*vm*/) {
  if (jitscope::agent::recorder != nullptr) jitscope::agent::recorder->close();
}
}
