// The kernel's part of Resolver: kallsyms of this boot when the recording was made on it, BPF
// programs and trampolines as the recording's own KSYMBOL records name them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "formats/perfdata/callchain.h"
#include "naming/offline_images.h"
#include "naming/resolver.h"

namespace jitscope {

void Resolver::set_kernel_build_id(std::span<const std::byte> id) {
  kernel_build_id_.assign(id.begin(), id.end());
}

bool Resolver::apply_kernel(const perfdata::Record& record) {
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

void Resolver::load_kernel() {
  kernel_loaded_ = true;
  // With --root the recording may be a foreign one: only the checks below tell, if it has what they
  // compare.
  const bool checkable = recorded_text_ != 0 || !kernel_build_id_.empty();
  if (!context_.facts.of_this_machine() || (!options_.root.empty() && !checkable)) {
    kernel_reason_ = NoName::other_machine;
    return;
  }
  if (!kernel_build_id_.empty()) {
    const auto running = running_kernel_build_id();
    if (running && *running != kernel_build_id_) {
      kernel_reason_ = NoName::other_kernel;
      return;
    }
  }
  auto symbols = KernelSymbols::running();
  if (!symbols) {
    kernel_reason_ = NoName::kernel_unreadable;
    context_.notes.push_back(to_string(symbols.error()));
    return;
  }
  if (recorded_text_ != 0 && !recorded_text_name_.empty()) {
    const auto now = (*symbols)->address_of(recorded_text_name_);
    if (now && *now != recorded_text_) {
      kernel_reason_ = NoName::earlier_boot;
      return;
    }
  }
  kernel_ = std::move(*symbols);
}

Resolution Resolver::resolve_kernel(const AddressQuery& query) {
  if (!kernel_loaded_) load_kernel();
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
    out.location.dso = dso_number(frame.dso_path);
    out.location.frame = frames_.number(std::move(frame));
    return out;
  }
  if (kernel_ == nullptr) {
    out = nameless(query, kernel_reason_, FramePlace::kernel, "[kernel.kallsyms]",
                   "[kernel.kallsyms]");
    out.range = {lookup, lookup};
    return out;
  }
  auto hit = kernel_->at(lookup);
  if (!hit && lookup != query.ip) hit = kernel_->at(query.ip);
  if (!hit) {
    out = nameless(query, NoName::no_kernel_symbol, FramePlace::kernel, "[kernel.kallsyms]",
                   "[kernel.kallsyms]");
    out.range = {lookup, lookup};
    return out;
  }
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
  out.location.dso = dso_number(frame.dso_path);
  out.location.frame = frames_.number(std::move(frame));
  return out;
}

}  // namespace jitscope
