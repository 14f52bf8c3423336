// KernelNames: kernel code by kallsyms of this boot, when the recording was made on it; BPF
// programs and trampolines as the recording's own KSYMBOL records name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/perfdata/records.h"
#include "naming/jit_sources.h"
#include "naming/name_tables.h"
#include "replay/naming_options.h"
#include "symbolize/kernel_symbols.h"

namespace jitscope {

class KernelNames {
 public:
  KernelNames(SourceContext& context, const NamingOptions& options, NameTables& tables)
      : context_(context), options_(options), tables_(tables) {}

  // KSYMBOL records and the kernel's mapping, in the order of time. True when answers given so far
  // may no longer hold.
  bool apply(const perfdata::Record& record);
  void set_build_id(std::span<const std::byte> id);
  Resolution answer(const AddressQuery& query);

 private:
  struct BpfSymbol {
    uint64_t end = 0;
    std::string name;
  };
  void load();
  NoName load_symbols();
  Resolution nameless(const AddressQuery& query, uint64_t lookup, NoName reason);

  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  bool loaded_ = false;
  std::unique_ptr<KernelSymbols> kernel_;
  NoName reason_ = NoName::none;  // why there are no symbols
  std::vector<std::byte> build_id_;
  uint64_t recorded_text_ = 0;  // address of the kernel's first symbol in the recording
  std::string recorded_text_name_;
  std::map<uint64_t, BpfSymbol> bpf_;  // by start
};

}  // namespace jitscope
