#include "naming/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "formats/perfdata/callchain.h"

namespace jitscope {

void KernelNames::set_build_id(std::span<const std::byte> id) {
  build_id_.assign(id.begin(), id.end());
}

bool KernelNames::apply(const perfdata::Record& record) {
  if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
    // "[kernel.kallsyms]_text": the page offset is the address of the symbol behind the bracket.
    constexpr std::string_view prefix = "[kernel.kallsyms]";
    if (mmap->kernel && mmap->path.starts_with(prefix)) {
      recorded_text_name_ = mmap->path.substr(prefix.size());
      recorded_text_ = mmap->page_offset;
    }
    return false;
  }
  const auto* symbol = std::get_if<perfdata::Ksymbol>(&record.body);
  if (symbol == nullptr) return false;
  // What was there before is covered or gone.
  const uint64_t end = symbol->address + std::max<uint64_t>(symbol->length, 1);
  auto it = bpf_.lower_bound(symbol->address);
  if (it != bpf_.begin() && std::prev(it)->second.end > symbol->address) --it;
  while (it != bpf_.end() && it->first < end) it = bpf_.erase(it);
  if (!symbol->unregister) bpf_[symbol->address] = {end, std::string(symbol->name)};
  return true;
}

void KernelNames::load() {
  if (loaded_) return;
  loaded_ = true;
  reason_ = load_symbols();
}

NoName KernelNames::load_symbols() {
  // With --root the recording may be a foreign one: only the checks below tell, if it has what they
  // compare.
  const bool checkable = recorded_text_ != 0 || !build_id_.empty();
  if (!context_.facts.of_this_machine() || (!options_.root.empty() && !checkable)) {
    return NoName::other_machine;
  }
  if (!build_id_.empty()) {
    const auto running = running_kernel_build_id();
    if (running && *running != build_id_) return NoName::other_kernel;
  }
  auto symbols = KernelSymbols::running();
  if (!symbols) {
    context_.notes.push_back(to_string(symbols.error()));
    return NoName::kernel_unreadable;
  }
  if (recorded_text_ != 0 && !recorded_text_name_.empty()) {
    const auto now = (*symbols)->address_of(recorded_text_name_);
    if (now && *now != recorded_text_) return NoName::earlier_boot;
  }
  kernel_ = std::move(*symbols);
  return NoName::none;
}

Resolution KernelNames::nameless(const AddressQuery& query, uint64_t lookup, NoName reason) {
  constexpr const char* dso = "[kernel.kallsyms]";
  Resolution out = tables_.nameless(query, reason, FramePlace::kernel, dso, dso);
  out.range = {lookup, lookup};
  return out;
}

Resolution KernelNames::answer(const AddressQuery& query) {
  load();
  const uint64_t lookup = perfdata::call_address(query.ip, query.caller);
  Resolution out;
  out.location.ip = query.ip;
  out.location.shown_ip = query.ip;
  out.range = {lookup, lookup};
  Frame frame;
  frame.kind = FrameKind::kernel;
  frame.place = FramePlace::kernel;
  const auto next = bpf_.upper_bound(lookup);
  const uint64_t next_bpf = next != bpf_.end() ? next->first : UINT64_MAX;
  const auto bpf = next != bpf_.begin() ? std::prev(next) : bpf_.end();
  const uint64_t bpf_end = bpf != bpf_.end() ? bpf->second.end : 0;  // of the one before
  if (lookup < bpf_end) {
    frame.method = frame.raw = frame.dso = frame.dso_path = bpf->second.name;
    frame.source = NameSource::bpf;
    out.location.symbol_offset = query.ip - bpf->first;
    out.named = true;
    out.location.dso = tables_.dso_number(frame.dso_path);
    out.location.frame = tables_.frames().number(std::move(frame));
    return out;
  }
  if (kernel_ == nullptr) return nameless(query, lookup, reason_);
  auto hit = kernel_->at(lookup);
  if (!hit && lookup != query.ip) hit = kernel_->at(query.ip);
  if (!hit) return nameless(query, lookup, NoName::no_kernel_symbol);
  // The symbol is asked for when no BPF program has the address.
  if (lookup >= hit->start && lookup - hit->start < hit->size) {
    out.range = {std::max(hit->start, bpf_end),
                 std::min(hit->start + (hit->size - 1), next_bpf - 1)};
  }
  out.named = true;
  frame.method = frame.raw = hit->name;
  frame.dso = hit->module.empty() ? "[kernel.kallsyms]" : fmt::format("[{}]", hit->module);
  frame.dso_path = frame.dso;
  frame.source = NameSource::kernel;
  out.location.symbol_offset = query.ip - hit->start;
  out.location.dso = tables_.dso_number(frame.dso_path);
  out.location.frame = tables_.frames().number(std::move(frame));
  return out;
}

}  // namespace jitscope
