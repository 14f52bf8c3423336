#include "ebpf/bpf_symbols.h"

#include <bpf/bpf.h>

#include <algorithm>

#include "base/unique_fd.h"
#include "ebpf/bpf_support.h"

namespace jitscope {
namespace {

constexpr size_t kMostPrograms = 16384;
constexpr uint32_t kMostFunctions = 4096;  // of one program

void append_code(std::vector<BpfCode>& out, int program) {
  bpf_prog_info info = {};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return;
  const uint32_t count = std::min({info.nr_jited_ksyms, info.nr_jited_func_lens, kMostFunctions});
  if (count == 0) return;
  std::vector<uint64_t> addresses(count);
  std::vector<uint32_t> lengths(count);
  info = {};
  info.nr_jited_ksyms = count;
  info.jited_ksyms = reinterpret_cast<uint64_t>(addresses.data());
  info.nr_jited_func_lens = count;
  info.jited_func_lens = reinterpret_cast<uint64_t>(lengths.data());
  size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    if (addresses[i] != 0 && lengths[i] != 0) out.push_back({addresses[i], lengths[i]});
  }
}

}  // namespace

std::vector<BpfCode> list_bpf_code() {
  prepare_libbpf();
  std::vector<BpfCode> code;
  uint32_t id = 0;
  for (size_t i = 0; i < kMostPrograms && bpf_prog_get_next_id(id, &id) == 0; ++i) {
    const UniqueFd program(bpf_prog_get_fd_by_id(id));
    if (program) append_code(code, program.get());
  }
  std::ranges::sort(code, {}, &BpfCode::address);
  return code;
}

}  // namespace jitscope
