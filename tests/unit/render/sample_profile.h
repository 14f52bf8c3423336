// A small made-up profile with every kind of frame, for the tests of the writers.
#pragma once

#include <initializer_list>
#include <string>

#include "profile/profile.h"

namespace jitscope::test {

inline Frame named(std::string method, std::string dso, FrameKind kind, NameSource source,
                   Tier tier = Tier::unknown) {
  Frame frame;
  frame.raw = method;
  frame.method = std::move(method);
  frame.dso_path = dso.empty() || dso.front() == '[' ? dso : "/usr/lib/" + dso;
  frame.dso = std::move(dso);
  frame.kind = kind;
  frame.source = source;
  frame.tier = tier;
  return frame;
}

class ProfileBuilder {
 public:
  Profile profile;

  FrameId frame(Frame frame) {
    profile.frames.push_back(std::move(frame));
    return static_cast<FrameId>(profile.frames.size() - 1);
  }
  // Root first.
  StackId stack(std::initializer_list<FrameId> frames) {
    StackId at = kRootStack;
    for (const FrameId frame : frames) {
      StackId found = kRootStack;
      for (StackId id = 1; id < profile.nodes.size(); ++id) {
        if (profile.nodes[id].parent == at && profile.nodes[id].frame == frame) found = id;
      }
      if (found == kRootStack) {
        profile.nodes.push_back({at, frame});
        found = static_cast<StackId>(profile.nodes.size() - 1);
      }
      at = found;
    }
    return at;
  }
  void add(uint32_t group, StackId stack, uint64_t samples, uint32_t event = 0) {
    profile.stacks.push_back({event, group, stack, samples, samples * 10'000'000});
    profile.samples += samples;
  }
};

// 100 samples of cpu-clock in two threads of java (pid 100), 20 in node (pid 200), 3 of faults.
inline Profile sample_profile() {
  ProfileBuilder b;
  b.profile.events = {{"cpu-clock", "nanoseconds"}, {"page-faults", "count"}};
  b.profile.groups = {
      {100, 100, "java", "java"}, {100, 101, "C2 Compiler", "java"}, {200, 200, "node", "node"}};
  b.profile.command = "jitscope record -a -g";
  b.profile.hostname = "build-7";
  b.profile.lost = 4;
  b.profile.first_time = 5'000'000'000;
  b.profile.last_time = 6'500'000'000;

  const auto elf = NameSource::elf;
  const auto dump = NameSource::jitdump;
  const FrameId start = b.frame(named("start_thread", "libc.so.6", FrameKind::native, elf));
  const FrameId call_stub =
      b.frame(named("StubRoutines (call)", "JIT", FrameKind::runtime, dump, Tier::stub));
  const FrameId interpreter = b.frame(
      named("org.example.Main.main(java.lang.String[])", "JIT", FrameKind::interpreted, dump));
  Frame put = named("java.util.HashMap.put(java.lang.Object,java.lang.Object)", "JIT",
                    FrameKind::jit, dump, Tier::c2);
  put.raw = "Ljava/util/HashMap;::put";
  put.file = "HashMap.java";
  put.line = 610;
  const FrameId put_c2 = b.frame(put);
  put.tier = Tier::c1_full;
  put.line = 612;
  const FrameId put_c1 = b.frame(put);
  const FrameId hash = b.frame(named("java.util.HashMap.hash(java.lang.Object)", "JIT",
                                     FrameKind::jit_inlined, dump, Tier::c2));
  Frame maybe = named("org.example.Cache.get(int)", "JIT", FrameKind::jit, NameSource::perf_map);
  maybe.ambiguous = true;
  maybe.candidates = "org.example.Cache.get(int) | org.example.Other.run()";
  const FrameId cache = b.frame(maybe);
  const FrameId compile =
      b.frame(named("Compile::Code_Gen()", "libjvm.so", FrameKind::native, elf));
  const FrameId inlined =
      b.frame(named("Node::grow(unsigned int)", "libjvm.so", FrameKind::native_inlined, elf));
  const FrameId syscall = b.frame(
      named("entry_SYSCALL_64", "[kernel.kallsyms]", FrameKind::kernel, NameSource::kernel));
  const FrameId fault = b.frame(
      named("asm_exc_page_fault", "[kernel.kallsyms]", FrameKind::kernel, NameSource::kernel));
  Frame gone;
  gone.dso = "memfd:jit (deleted)";
  gone.no_name = NoName::no_source;
  const FrameId unknown = b.frame(gone);
  Frame nowhere;
  nowhere.no_name = NoName::no_mapping;
  const FrameId lost = b.frame(nowhere);
  const FrameId handler =
      b.frame(named("handle /srv/app/server.js:12:7", "JIT", FrameKind::jit, dump, Tier::turbofan));
  Frame evil = named("</script><img src=x onerror=alert(1)>;\n\"quoted\" \xff", "JIT",
                     FrameKind::jit, dump, Tier::baseline);
  const FrameId hostile = b.frame(evil);

  b.add(0, b.stack({start, call_stub, interpreter, put_c2, hash}), 40);
  b.add(0, b.stack({start, call_stub, interpreter, put_c2}), 10);
  b.add(0, b.stack({start, call_stub, interpreter, put_c1}), 5);
  b.add(0, b.stack({start, call_stub, interpreter, cache, put_c2, put_c2}), 7);  // recursion
  b.add(0, b.stack({start, call_stub, interpreter, unknown}), 4);
  b.add(0, b.stack({start, call_stub, interpreter, put_c2, syscall}), 9);
  b.add(0, b.stack({lost}), 1);
  b.add(1, b.stack({start, compile, inlined}), 20);
  b.add(1, b.stack({start, compile}), 4);
  b.add(2, b.stack({start, handler}), 12);
  b.add(2, b.stack({start, handler, hostile}), 8);
  b.add(0, b.stack({start, call_stub, interpreter, put_c2, fault}), 3, 1);
  return b.profile;
}

}  // namespace jitscope::test
