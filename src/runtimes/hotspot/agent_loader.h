// Loads the JVMTI agent (agent/) into a running HotSpot JVM, by its attach protocol.
//
// The JVM opens the library by a path in its own mount namespace and as its own user. Where it
// cannot read ours, a copy of a private name is put into its /tmp for the length of the loading.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

// libjitscope-agent.so beside this executable, in ../lib/jitscope or in ../lib. not_found with the
// places that were looked at.
Result<std::string> find_agent_library();

struct AgentRequest {
  std::string library;    // absolute path, here
  std::string directory;  // for the dump, as the JVM sees it; "": the agent's default
};

struct AgentLoad {
  bool already = false;  // this process writes a jitdump already: nothing was done
  bool copied = false;   // the library was copied into the JVM's /tmp, and removed again
  // The dump as the JVM sees it; "" when its folder does not allow the mapping that shows it.
  std::string dump;
};

// Waits until what is compiled already has been told. Errors: not_possible with the JVM's words.
Result<AgentLoad> load_agent(const Process& process, const AgentRequest& request);

// The agent's own code in what the JVM answers to the command `load`: "0" (JDK 8), "return code: 0"
// (later; nothing means 0). Error: the library was not loaded, in the JVM's words.
Result<int> parse_load_answer(std::string_view answer);

}  // namespace jitscope
