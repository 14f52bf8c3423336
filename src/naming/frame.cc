#include "naming/frame.h"

namespace jitscope {

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::unknown:
      return "unknown";
    case FrameKind::native:
      return "native";
    case FrameKind::native_inlined:
      return "native inlined";
    case FrameKind::kernel:
      return "kernel";
    case FrameKind::jit:
      return "jit";
    case FrameKind::jit_inlined:
      return "jit inlined";
    case FrameKind::runtime:
      return "runtime";
    case FrameKind::interpreted:
      return "interpreted";
  }
  return "unknown";
}

std::string_view to_string(NameSource source) {
  switch (source) {
    case NameSource::none:
      return "none";
    case NameSource::jitdump:
      return "jitdump";
    case NameSource::recording:
      return "recording";
    case NameSource::elf:
      return "elf";
    case NameSource::kernel:
      return "kernel";
    case NameSource::bpf:
      return "bpf";
    case NameSource::vdso:
      return "vdso";
    case NameSource::offline_map:
      return "offline map";
    case NameSource::ready_to_run:
      return "readytorun";
    case NameSource::pe_symbol:
      return "pe symbol";
    case NameSource::pe_export:
      return "nearest export";
    case NameSource::pe_bounds:
      return "function bounds";
    case NameSource::perf_map:
      return "perf map";
  }
  return "none";
}

}  // namespace jitscope
