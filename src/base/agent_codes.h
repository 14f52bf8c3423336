// What the JVMTI agent (agent/) answers when it is loaded into a running JVM, which hands it to
// whoever asked for that (runtimes/hotspot/agent_loader.h).
#pragma once

namespace jitscope::agent {

inline constexpr int kLoaded = 0;
// Above what JNI uses (negative) and the small numbers that agents like to use.
inline constexpr int kHasDump = 201;         // this process writes a jitdump already
inline constexpr int kWrongOptions = 202;    // standard error of the JVM says what
inline constexpr int kNoDump = 203;          // the file cannot be made: standard error says why
inline constexpr int kNoCapabilities = 204;  // this JVM does not tell of compiled methods

}  // namespace jitscope::agent
