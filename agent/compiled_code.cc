#include "agent/compiled_code.h"

#include <algorithm>

namespace jitscope::agent {
namespace {

// No method of a class file is named so, and an empty one ends a file table of old DWARF versions.
constexpr std::string_view kNoFile = "?";

std::string scope_text(const std::string& text) {
  return text.substr(0, jitdump::kLongestScopeText);
}

}  // namespace

uint32_t MethodFacts::line_at(int32_t bci) const {
  // Tables need not be sorted (JVMS 4.7.12): the entry that begins last at or before it.
  const Line* found = nullptr;
  const int64_t wanted = std::max(bci, 0);
  for (const Line& each : lines) {
    if (each.begin <= wanted && (found == nullptr || each.begin >= found->begin)) found = &each;
  }
  return found == nullptr ? 0 : found->line;
}

uint32_t CompiledCode::scope_of(std::span<const Frame> leaf_first) {
  uint32_t parent = CodeScopes::kNone;
  const size_t depth = std::min<size_t>(leaf_first.size(), CodeScopes::kDeepest);
  for (size_t i = 0; i < depth; ++i) {
    const Frame& frame = leaf_first[leaf_first.size() - 1 - i];
    const int32_t bci = std::max(frame.bci, -1);
    const auto [at, added] =
        known_.try_emplace({parent, frame.method, bci}, static_cast<uint32_t>(scopes_.size()));
    if (added) scopes_.push_back({parent, frame.method, bci, 0});
    parent = at->second;
  }
  return parent;
}

void CompiledCode::ends_at(uint64_t pc, std::span<const Frame> leaf_first) {
  if (pc <= address_ || pc - address_ > size_ || leaf_first.empty()) return;
  if (pc - address_ >= UINT32_MAX) return;
  ends_.push_back({static_cast<uint32_t>(pc - address_), scope_of(leaf_first)});
}

void CompiledCode::begins_at(uint64_t pc, std::span<const Frame> leaf_first) {
  if (pc < address_ || pc - address_ >= size_ || leaf_first.empty()) return;
  if (pc - address_ >= UINT32_MAX) return;
  begins_.push_back({static_cast<uint32_t>(pc - address_), scope_of(leaf_first)});
}

CodeScopes CompiledCode::finish(std::span<const MethodFacts> methods) {
  CodeScopes result;
  const auto add = [&](uint32_t begin, uint32_t end, uint32_t scope, bool exact) {
    if (begin >= end) return;  // two PCs at one place: the first one's is told
    if (!result.ranges.empty()) {
      auto& last = result.ranges.back();
      if (last.end == begin && last.scope == scope && last.exact == exact) {
        last.end = end;
        return;
      }
    }
    result.ranges.push_back({begin, end, scope, exact});
  };
  if (!ends_.empty()) {
    std::ranges::stable_sort(ends_, {}, &Mark::offset);
    uint32_t begin = 0;
    for (const Mark& mark : ends_) {
      add(begin, mark.offset, mark.scope, exact_);
      begin = std::max(begin, mark.offset);
    }
  } else {
    std::ranges::stable_sort(begins_, {}, &Mark::offset);
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(size_, UINT32_MAX));
    for (size_t i = 0; i < begins_.size(); ++i) {
      const uint32_t next = i + 1 < begins_.size() ? begins_[i + 1].offset : end;
      add(begins_[i].offset, next, begins_[i].scope, true);
    }
  }
  if (result.ranges.empty()) return result;
  result.scopes = scopes_;
  for (auto& scope : result.scopes) scope.line = methods[scope.method].line_at(scope.bci);
  for (const MethodFacts& each : methods) {
    result.methods.push_back({scope_text(each.name), scope_text(each.file)});
  }
  return result;
}

std::vector<jitdump::LineEntry> line_entries(const CodeScopes& scopes, uint64_t address,
                                             uint64_t size) {
  std::vector<jitdump::LineEntry> entries;
  uint64_t known_until = 0;
  const auto end_last = [&](uint64_t at) {
    if (entries.empty() || entries.back().line == 0 || at >= size) return;
    entries.push_back({address + at, 0, 0, entries.back().file});
  };
  for (const auto& range : scopes.ranges) {
    if (range.begin != known_until) end_last(known_until);
    known_until = range.end;
    const auto& scope = scopes.scopes[range.scope];
    if (scope.line == 0) {
      end_last(range.begin);
      continue;
    }
    const std::string& file = scopes.methods[scope.method].file;
    const jitdump::LineEntry entry{address + range.begin, scope.line, 0,
                                   file.empty() ? kNoFile : std::string_view(file)};
    const bool same =
        !entries.empty() && entries.back().line == entry.line && entries.back().file == entry.file;
    if (!same) entries.push_back(entry);
  }
  end_last(known_until);
  return entries;
}

}  // namespace jitscope::agent
