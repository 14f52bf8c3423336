// MethodTable: what JVMTI knows of the methods of one event, each asked for once.
//
// It lives no longer than the event: a jmethodID may be reused or freed when its class is unloaded,
// so nothing is kept by it. Methods that JVMTI does not know any more keep what it does know.
#pragma once

#include <jvmti.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/compiled_code.h"

namespace jitscope::agent {

class MethodTable {
 public:
  MethodTable(jvmtiEnv* jvmti, JNIEnv* jni) : jvmti_(jvmti), jni_(jni) {}
  // Index of a method; those that come first have the lowest.
  uint32_t operator()(jmethodID method);
  [[nodiscard]] std::span<const MethodFacts> all() const { return facts_; }

 private:
  MethodFacts ask(jmethodID method) const;

  jvmtiEnv* jvmti_;
  JNIEnv* jni_;  // to give back references to classes at once; may be null
  std::map<jmethodID, uint32_t> known_;
  std::vector<MethodFacts> facts_;
};

}  // namespace jitscope::agent
