#include "symbolize/symbol_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "symbolize/demangle.h"

namespace jitscope {
namespace {

constexpr uint32_t nothing = std::numeric_limits<uint32_t>::max();

// Names longer than this are no names.
constexpr size_t longest_name = size_t{1} << 16;
// Readable names made to choose by, in bytes: a table of aliases must not cost minutes.
constexpr size_t budget_of_all = size_t{16} << 20;
constexpr size_t budget_of_one = size_t{1} << 20;

std::string_view text_of(const char* name) {
  return {name, ::strnlen(name, longest_name)};
}

size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

void SymbolTable::finish() {
  for (Pool& pool : pools_) pool.copied_from = nullptr;  // the files may go
  sort();
  make_groups();
  cover();
}

// By address, and as they came where that is equal. The keys alone are sorted: they are smaller.
void SymbolTable::sort() {
  struct Key {
    uint64_t start = 0;
    uint64_t index = 0;
  };
  std::vector<Key> keys(symbols_.size());
  uint64_t bits = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = {symbols_[i].start, i};
    bits |= keys[i].start;
  }
  // Digit by digit, from the least: stable, and for a hundred thousand symbols much faster.
  constexpr unsigned digit = 11;
  constexpr uint64_t digits = uint64_t{1} << digit;
  std::vector<Key> other(keys.size());
  for (unsigned shift = 0; shift < 64 && bits >> shift != 0; shift += digit) {
    std::array<uint32_t, digits> next{};
    const auto digit_of = [shift](const Key& key) { return key.start >> shift & (digits - 1); };
    for (const Key& key : keys) ++next[digit_of(key)];
    uint32_t sum = 0;
    for (uint32_t& count : next) sum += std::exchange(count, sum);
    for (const Key& key : keys) other[next[digit_of(key)]++] = key;
    keys.swap(other);
  }
  std::vector<Symbol> sorted(symbols_.size());
  for (size_t i = 0; i < keys.size(); ++i) sorted[i] = symbols_[keys[i].index];
  symbols_ = std::move(sorted);
}

void SymbolTable::make_groups() {
  const auto count = static_cast<uint32_t>(std::min<size_t>(symbols_.size(), nothing / 2));
  for (uint32_t first = 0; first < count;) {
    uint32_t after = first + 1;
    while (after < count && symbols_[after].start == symbols_[first].start) ++after;
    // The last of them, when it has no size, goes on to the next symbol or to the section's end.
    Symbol& last = symbols_[after - 1];
    if (last.end == last.start) {
      uint64_t end = std::max(last.limit, last.start);
      if (after < count && !symbols_[after].stub) end = std::min(end, symbols_[after].start);
      last.end = end;
      last.open = true;
    }
    Group group;
    group.start = symbols_[first].start;
    group.first = first;
    group.count = (after - first) & nothing / 2;
    groups_.push_back(group);
    first = after;
  }
  size_t budget = budget_of_all;
  for (Group& group : groups_) {
    // The choice waits, unless it decides where the range ends.
    const auto* symbols = &symbols_[group.first];
    bool same_end = true;
    for (uint32_t i = 1; i < group.count; ++i) same_end &= symbols[i].end == symbols[0].end;
    const Symbol& chosen = same_end ? symbols[group.count - 1] : best(group, budget);
    group.end = chosen.end;
    group.open = chosen.open ? 1 : 0;
  }
}

// Ranges that overlap become pieces that do not: where several hold an address, the one that begins
// last has it. `open` are the groups that hold the present address, the innermost last.
void SymbolTable::cover() {
  std::vector<uint32_t> open;
  const auto begin_piece = [this](uint64_t start, uint32_t group) {
    if (!pieces_.empty() && pieces_.back().start == start) {
      pieces_.back().group = group;
    } else {
      pieces_.push_back({start, group});
    }
  };
  // Up to `until`: what lies open there ends, and what lies below it shows again.
  const auto close = [&](uint64_t until) {
    while (!open.empty() && groups_[open.back()].end <= until) {
      const uint64_t end = groups_[open.back()].end;
      open.pop_back();
      while (!open.empty() && groups_[open.back()].end <= end) open.pop_back();
      begin_piece(end, open.empty() ? nothing : open.back());
    }
  };
  pieces_.reserve(groups_.size() + groups_.size() / 2);
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].end <= groups_[i].start) continue;
    close(groups_[i].start);
    if (groups_[i].open != 0 && !open.empty() && groups_[open.back()].open == 0) continue;
    begin_piece(groups_[i].start, i);
    open.push_back(i);
  }
  close(UINT64_MAX);
  pieces_.shrink_to_fit();
}

std::string SymbolTable::shown(const Symbol& symbol) const {
  const std::string_view name = text_of(symbol.name);
  return readable_names_ ? demangle_short(name) : std::string(name);
}

bool SymbolTable::first_is_better(const Symbol& a, const Symbol& b, size_t& budget) const {
  const bool a_empty = a.end == a.start;
  const bool b_empty = b.end == b.start;
  if (a_empty != b_empty) return b_empty;
  if (a.stub != b.stub) return b.stub;
  const bool a_weak = a.binding == STB_WEAK;
  const bool b_weak = b.binding == STB_WEAK;
  if (a_weak != b_weak) return b_weak;
  const bool a_global = a.binding == STB_GLOBAL;
  const bool b_global = b.binding == STB_GLOBAL;
  if (a_global != b_global) return a_global;
  if (a.name == nullptr || b.name == nullptr) return a.name != nullptr;
  if (std::strcmp(a.name, b.name) == 0) return true;
  const auto readable = [&](const Symbol& symbol) {
    std::string name = budget == 0 ? std::string(text_of(symbol.name)) : shown(symbol);
    budget -= std::min(budget, name.size() + 16);
    return name;
  };
  const std::string a_name = readable(a);
  const std::string b_name = readable(b);
  const size_t a_underscores = leading_underscores(a_name);
  const size_t b_underscores = leading_underscores(b_name);
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  if (a_name.size() != b_name.size()) return a_name.size() > b_name.size();
  return !a_name.starts_with("SyS") && !a_name.starts_with("compat_SyS");
}

const SymbolTable::Symbol& SymbolTable::best(const Group& group, size_t& budget) const {
  const Symbol* chosen = &symbols_[group.first];
  for (uint32_t i = 1; i < group.count; ++i) {
    const Symbol& other = symbols_[group.first + i];
    if (!first_is_better(*chosen, other, budget)) chosen = &other;
  }
  return *chosen;
}

const SymbolTable::Name& SymbolTable::name_of(uint32_t number) {
  const auto known = names_.find(number);
  if (known != names_.end()) return known->second;
  size_t budget = budget_of_one;
  const Symbol& symbol = best(groups_[number], budget);
  Name name;
  name.code = symbol.code;
  if (!symbol.stub) {
    name.raw = text_of(symbol.name);
    name.readable = shown(symbol);
  } else if (symbol.name != nullptr) {
    name.raw = std::string(text_of(symbol.name)) + "@plt";
    name.readable = shown(symbol) + "@plt";
  } else {
    // The function that the stub's slot is filled from, when it has a name.
    const auto target = std::ranges::lower_bound(groups_, symbol.limit, {}, &Group::start);
    if (target != groups_.end() && target->start == symbol.limit) {
      const Symbol& function = best(*target, budget);
      if (!function.stub) {
        name.raw = std::string(text_of(function.name)) + "@plt";
        name.readable = shown(function) + "@plt";
      }
    }
    if (name.raw.empty()) name.raw = name.readable = "*indirect*@plt";
  }
  return names_.emplace(number, std::move(name)).first->second;
}

std::optional<SymbolHit> SymbolTable::at(uint64_t address) {
  const auto after = std::ranges::upper_bound(pieces_, address, {}, &Piece::start);
  if (after == pieces_.begin()) return std::nullopt;
  const uint32_t number = std::prev(after)->group;
  if (number == nothing) return std::nullopt;
  const Group& group = groups_[number];
  const Name& name = name_of(number);
  return SymbolHit{name.readable, name.raw, group.start, group.end - group.start, name.code};
}

void SymbolTable::narrow(uint64_t address, uint64_t& low, uint64_t& high) const {
  const auto after = std::ranges::upper_bound(pieces_, address, {}, &Piece::start);
  if (after != pieces_.begin()) low = std::max(low, std::prev(after)->start);
  if (after != pieces_.end()) high = std::min(high, after->start - 1);
}

}  // namespace jitscope
