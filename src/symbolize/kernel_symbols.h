// KernelSymbols: names of the running kernel and its modules from /proc/kallsyms, or of another
// kernel from an image with symbols (vmlinux).
//
// Addresses in kallsyms are those of this boot (KASLR included). Whether the recording was made on
// this very boot is told by the build-id and by the address of its [kernel.kallsyms]_text mapping
// (the reference symbol's address): when they differ the caller must not use it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/elf_image.h"

namespace jitscope {

class KernelSymbols {
 public:
  // Parses kallsyms text. not_permitted when every address is 0 (kptr_restrict).
  static Result<std::unique_ptr<KernelSymbols>> parse(std::string_view kallsyms);
  // /proc/kallsyms of this machine.
  static Result<std::unique_ptr<KernelSymbols>> running();
  ~KernelSymbols();

  struct Hit {
    std::string_view name;
    uint64_t start = 0;
    uint64_t size = 0;
    std::string_view module;  // "" = the kernel itself, else "ext4"; "bpf" for BPF programs
  };
  // As perf chooses (aliases: choose_best_symbol; a symbol ends at the next one, the last of the
  // kernel's text and of a module at a page boundary).
  [[nodiscard]] std::optional<Hit> at(uint64_t address) const;
  // The address of a symbol by name ("_text", "_stext"), for the KASLR check.
  [[nodiscard]] std::optional<uint64_t> address_of(std::string_view name) const;

 private:
  struct State;
  explicit KernelSymbols(std::unique_ptr<State> state);
  static Result<std::unique_ptr<KernelSymbols>> take(std::string kallsyms);
  std::unique_ptr<State> state_;
};

// The build-id of the running kernel (/sys/kernel/notes).
Result<BuildIdBytes> running_kernel_build_id();
// A copy of this process's own vdso image; empty when it has none.
[[nodiscard]] std::vector<std::byte> vdso_image();

}  // namespace jitscope
