// StackNamer: the callers of a method from a copy of the top of its stack, taken at its entry.
//
// At the entry [sp] is the return address and rbp the caller's. From there:
// - HotSpot bodies and stubs of known frame size: the caller's sp is sp + frame size, its pc lies 8
//   below that and its saved rbp 16 below (frame::sender_for_compiled_frame): no frame pointers
//   needed;
// - HotSpot's interpreter: by rbp; the sender's sp is stored at rbp - 8;
// - all else (V8, ELF) by the chain of frame pointers.
// A return address must lie in executable memory behind a call instruction, or the walk ends there:
// no frame is made up. Why the walk ended stands in Stack::end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/work_limit.h"
#include "code/code_body.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "symbolize/elf_image.h"

namespace jitscope {

struct StackFrame {
  uint64_t address = 0;  // return address (the call is before it)
  std::string name;      // "" when unnamed, then `reason` says why
  std::string module;    // "HotSpot c2", "libjvm.so", ...
  std::string reason;
  // Unnamed, and in memory that no file backs: perhaps a body newer than the snapshot.
  bool in_jit_memory = false;
};

struct Stack {
  std::vector<StackFrame> frames;  // callers, nearest first; the probed method itself is not in it
  std::string end;                 // "complete", "copied stack ends", "no frame pointer", ...
};

class StackNamer {
 public:
  explicit StackNamer(const Process& process) : process_(process) {}

  // Bodies as of now; call again when they changed.
  void update(const Snapshot& snapshot);
  // `stack` are the bytes from `sp` on, `fp` is rbp.
  Stack walk(uint64_t sp, uint64_t fp, std::span<const std::byte> stack, size_t most = 127);

 private:
  [[nodiscard]] const CodeBody* body_at(uint64_t address) const;
  [[nodiscard]] bool after_call(uint64_t address);
  StackFrame name_frame(uint64_t address, const CodeBody* body);
  [[nodiscard]] std::unique_ptr<ElfImage> open_image(const Mapping& mapping) const;
  StackFrame name_in_file(uint64_t address, const Mapping& mapping);
  const Mapping* executable_mapping(uint64_t address);

  const Process& process_;
  std::vector<CodeBody> bodies_;  // by address
  std::vector<Mapping> maps_;
  // By device, inode, path; nullptr: no ELF file.
  std::map<std::string, std::unique_ptr<ElfImage>> files_;
  std::unordered_map<uint64_t, bool> call_sites_;
  WorkBudget budget_{std::chrono::minutes(1), std::chrono::seconds(10)};  // of reading files
};

}  // namespace jitscope
