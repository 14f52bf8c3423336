#include "naming/resolver.h"

#include <utility>

#include "formats/perfdata/callchain.h"
#include "naming/copied_names.h"
#include "naming/elf_names.h"
#include "naming/offline_images.h"
#include "naming/pe_images.h"
#include "naming/pe_names.h"
#include "runtimes/all_runtimes.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {
namespace {

// The kernel's own pages in a process: no other source has anything to say of them.
class KernelPages : public SourceOfNames {
 public:
  explicit KernelPages(NameTables& tables) : tables_(tables) {}
  std::optional<Resolution> answer(Question& question) override {
    if (!question.special()) return std::nullopt;
    return tables_.nameless(question.query, NoName::vsyscall, FramePlace::file, question.file.base,
                            question.file.shown);
  }

 private:
  NameTables& tables_;
};

}  // namespace

Resolver::Resolver(SourceContext& context, const NamingOptions& options)
    : context_(context),
      options_(options),
      kernel_(context, options, tables_),
      jit_(context, options, tables_) {
  auto elf = std::make_unique<ElfNames>(context, options, tables_);
  auto copied = std::make_unique<CopiedNames>(*elf, context, options, tables_);
  pe_images_ = std::make_unique<PeImages>(context, options);
  auto offline = std::make_unique<OfflineImages>(context.files, *pe_images_, tables_, options.root);
  offline_ = offline.get();
  auto pe = std::make_unique<PeNames>(*pe_images_, context, options, tables_);
  auto pe_without = std::make_unique<PeWithoutNames>(*pe_images_, *pe);
  // In the order of trust (docs/naming.md).
  sources_.push_back(std::make_unique<TimedNames>(jit_));
  sources_.push_back(std::make_unique<KernelPages>(tables_));
  sources_.push_back(std::move(offline));
  sources_.push_back(std::move(pe));
  sources_.push_back(std::move(elf));
  sources_.push_back(std::make_unique<UntimedNames>(jit_));
  sources_.push_back(std::move(pe_without));
  sources_.push_back(std::move(copied));
}
Resolver::~Resolver() = default;

CodeScopes Resolver::scopes_of(uint32_t number) {
  const JitCode& code = tables_.jit_code(number);
  WorkBudget& budget = context_.files.budget();
  if (code.image == nullptr || code.size > UINT32_MAX || budget.spent()) return {};
  const WorkBudget::Piece piece(budget);
  return code.image->scopes(code.rva, static_cast<uint32_t>(code.size),
                            context_.files.elf_options());
}

std::vector<PeStory> Resolver::images() const {
  return pe_images_->stories();
}

Status Resolver::add_offline_map(const std::string& option, bool tell_unused) {
  return offline_->add(option, tell_unused);
}

Status Resolver::add_image_loads(uint32_t pid, const std::string& path) {
  return offline_->add_loads(pid, path);
}

void Resolver::note_unused_maps() {
  for (std::string& note : offline_->notes()) context_.notes.push_back(std::move(note));
}

Resolution Resolver::resolve(ProcessLife& life, const AddressQuery& query) {
  if (options_.jit_only && query.mode != perfdata::CpuMode::user) {
    return tables_.nameless(query, NoName::not_looked_for_process, FramePlace::kernel, "", "");
  }
  switch (query.mode) {
    case perfdata::CpuMode::kernel:
      return kernel_.answer(query);
    case perfdata::CpuMode::user:
      return resolve_user(life, query);
    case perfdata::CpuMode::hypervisor:
      return tables_.nameless(query, NoName::hypervisor, FramePlace::kernel, "[hypervisor]",
                              "[hypervisor]");
    case perfdata::CpuMode::guest_kernel:
    case perfdata::CpuMode::guest_user:
      return tables_.nameless(query, NoName::guest, FramePlace::kernel, "[guest]", "[guest]");
    case perfdata::CpuMode::unknown:
      break;
  }
  return tables_.nameless(query, NoName::unknown_mode, FramePlace::unmapped, "", "");
}

bool Resolver::lies_before_code(const ProcessLife& life, const Resolution& answer) const {
  const RuntimeRow& row = row_of(life.runtime);
  return row.lies_before_code != nullptr && answer.named &&
         row.lies_before_code(frames()[answer.location.frame].raw);
}

Resolution Resolver::resolve_user(ProcessLife& life, const AddressQuery& query) {
  const uint64_t lookup = perfdata::call_address(query.ip, query.caller);
  const MappedRange* range = life.space.at(lookup);
  const bool unmapped = range == nullptr;
  if (unmapped) range = life.before_exec.at(lookup);
  if (range == nullptr) {
    Resolution out =
        tables_.nameless(query, NoName::no_mapping, FramePlace::unmapped, "[unknown]", "");
    out.unmapped = true;
    out.range = {lookup, lookup};
    return out;
  }
  Resolution out = resolve_mapped(life, *range, query, lookup);
  if (lookup != query.ip && query.ip < range->end && lies_before_code(life, out)) {
    // No call lies before the entry of a function: what an Erlang process returns to at its end.
    if (Resolution entry = resolve_mapped(life, *range, query, query.ip);
        entry.named && entry.location.symbol_offset == 0) {
      out = entry;
      out.range = {lookup, lookup};
    }
  }
  out.unmapped = unmapped;
  if (unmapped) out.range = {lookup, lookup};
  out.location.ip = query.ip;
  return out;
}

Resolution Resolver::resolve_mapped(ProcessLife& life, const MappedRange& range,
                                    const AddressQuery& query, uint64_t lookup) {
  Question question(life, range, context_.files.info(range.file), query, lookup);
  // Lines and maps by hand have answers of their own for each address.
  if (offline_->any() || options_.lines) question.reach.narrow(lookup, lookup);
  Resolution out = ask(question);
  out.range = question.reach;
  out.valid_from = question.from;
  out.valid_until = question.until;
  return out;
}

Resolution Resolver::ask(Question& question) {
  for (const auto& source : sources_) {
    if (auto answer = source->answer(question)) return *answer;
  }
  return nameless(question);
}

Resolution Resolver::nameless(Question& question) {
  const AddressQuery& query = question.query;
  const NoName jit_why = jit_.why_not(question);
  if (question.in_memory()) {
    return tables_.nameless(query, jit_why, FramePlace::memory, std::string(JitNames::kDso),
                            JitNames::map_dso(question.life));
  }
  NoName why = question.why;
  const bool map_told = is_of_given_map(why);
  // A perf map does not list the code of images (.NET ReadyToRun).
  const bool image = context_.files.open(question.range.file).format == FileFormat::pe;
  if (!map_told && !image && jit_.sources(question.life).any()) why = jit_why;
  if (why == NoName::none) why = NoName::no_map_of_file;
  return tables_.nameless(query, why, FramePlace::file, question.file.base, question.file.shown);
}

}  // namespace jitscope
