// Resolver: an address of a process at a moment -> frames. It asks the sources of names in the
// order of trust (resolver.cc lists them) until one answers; whatever has no name has a reason.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/jitdump/code_scopes.h"
#include "formats/perfdata/records.h"
#include "naming/jit_names.h"
#include "naming/jit_sources.h"
#include "naming/kernel_names.h"
#include "naming/name_tables.h"
#include "naming/question.h"
#include "replay/naming_options.h"
#include "replay/processes.h"

namespace jitscope {

class OfflineImages;
class PeImages;
struct PeStory;

class Resolver {
 public:
  Resolver(SourceContext& context, const NamingOptions& options);
  ~Resolver();

  Resolution resolve(ProcessLife& life, const AddressQuery& query);
  // KSYMBOL records and the kernel's mapping, in the order of time. True when kernel answers given
  // so far may no longer hold.
  bool apply_kernel(const perfdata::Record& record) { return kernel_.apply(record); }
  void set_kernel_build_id(std::span<const std::byte> id) { kernel_.set_build_id(id); }
  Status add_offline_map(const std::string& option, bool tell_unused = true);
  // perfinfo-PID.map of a process.
  Status add_image_loads(uint32_t pid, const std::string& path);
  // When all samples were seen: notes of maps of add_offline_map() that were refused or of no use.
  void note_unused_maps();
  // Asked after all others. Before the first address is resolved.
  void add(std::unique_ptr<SourceOfNames> source) { sources_.push_back(std::move(source)); }

  // The PE images that addresses were looked up in.
  [[nodiscard]] std::vector<PeStory> images() const;

  [[nodiscard]] NameTables& tables() { return tables_; }
  [[nodiscard]] FrameTable& frames() { return tables_.frames(); }
  [[nodiscard]] const FrameTable& frames() const { return tables_.frames(); }
  [[nodiscard]] const std::string& dso(const Location& location) const {
    return tables_.dso(location.dso);
  }
  // Innermost first, without the function itself.
  [[nodiscard]] const std::vector<FrameId>& inlined(const Location& location) const {
    return tables_.inlined(location.inlined);
  }
  // Of a Location::jit that is not 0.
  [[nodiscard]] const JitCode& jit_code(uint32_t number) const { return tables_.jit_code(number); }
  // Lines and inlined functions of such a body that no dump knows, as far as there is time left; no
  // ranges: none.
  [[nodiscard]] CodeScopes scopes_of(uint32_t number);

 private:
  Resolution resolve_user(ProcessLife& life, const AddressQuery& query);
  Resolution resolve_mapped(ProcessLife& life, const MappedRange& range, const AddressQuery& query,
                            uint64_t lookup);
  Resolution ask(Question& question);
  Resolution nameless(Question& question);
  [[nodiscard]] bool lies_before_code(const ProcessLife& life, const Resolution& answer) const;

  SourceContext& context_;
  const NamingOptions& options_;
  NameTables tables_;
  KernelNames kernel_;
  JitNames jit_;
  std::unique_ptr<PeImages> pe_images_;
  std::vector<std::unique_ptr<SourceOfNames>> sources_;  // in the order of trust
  OfflineImages* offline_ = nullptr;                     // one of them
};

}  // namespace jitscope
