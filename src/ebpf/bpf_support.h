// What the users of libbpf here share: its messages kept for our errors, and links as owners.
#pragma once

#include <bpf/libbpf.h>

#include <memory>
#include <string_view>

#include "base/result.h"

namespace jitscope {

struct BpfLinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using BpfLink = std::unique_ptr<bpf_link, BpfLinkDeleter>;

// Quiets libbpf (its warnings are kept for bpf_error) and asks for its strict behaviour.
void prepare_libbpf();
// An error with the capability that is missing, or with what libbpf said last.
[[nodiscard]] Error bpf_error(std::string_view what, int code);

}  // namespace jitscope
