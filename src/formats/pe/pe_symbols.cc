// See pe_symbols.h. One pass over all that begins or ends somewhere, in the order of addresses.
#include "formats/pe/pe_symbols.h"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

namespace jitscope {
namespace {

struct Range {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t function = 0;  // of a piece of one
};

// The executable sections, where one covers another what PeHeaders::section_at() finds.
std::vector<Range> code_of(const PeHeaders& headers) {
  std::vector<const PeSection*> sections;
  for (const PeSection& section : headers.sections) sections.push_back(&section);
  std::ranges::stable_sort(sections, {}, &PeSection::rva);
  std::vector<Range> out;
  for (size_t i = 0; i < sections.size(); ++i) {
    const PeSection& section = *sections[i];
    uint64_t end = uint64_t{section.rva} + section.mapped();
    if (i + 1 < sections.size()) end = std::min<uint64_t>(end, sections[i + 1]->rva);
    end = std::min<uint64_t>(end, UINT32_MAX);
    if (section.executable() && section.rva < end) {
      out.push_back({section.rva, static_cast<uint32_t>(end), 0});
    }
  }
  return out;
}

// Pieces that lie next to each other and are of one function, as one.
std::vector<Range> pieces_of(const RuntimeFunctions& functions) {
  std::vector<Range> out;
  for (const RuntimeFunction& row : functions.all()) {
    const bool continues =
        !out.empty() && out.back().end == row.begin && out.back().function == row.function;
    if (continues) {
      out.back().end = row.end;
    } else {
      out.push_back({row.begin, row.end, row.function});
    }
  }
  return out;
}

// The first of each address is the best; `at(i)`: the i-th one, by address.
template <typename Table>
bool first_of_address(const Table& table, size_t i) {
  return i == 0 || table[i - 1].rva != table[i].rva;
}

template <typename Table>
std::optional<NameArena::Name> name_at(const Table& table, uint32_t rva) {
  const auto numbers = std::views::iota(size_t{0}, table.size());
  const auto found =
      std::ranges::lower_bound(numbers, rva, {}, [&](size_t i) { return table[i].rva; });
  if (found == numbers.end() || table[*found].rva != rva) return std::nullopt;
  return table.name_of(*found);
}

}  // namespace

class PeSymbols::Builder {
 public:
  Builder(PeSymbols& out, const CoffSymbols& symbols, const PeExports& exports)
      : out_(out), symbols_(symbols), exports_(exports) {}

  void run(const std::vector<Range>& code, const std::vector<Range>& pieces) {
    for (const Range& each : code) {
      events_.push_back({each.begin, What::code, true, each});
      events_.push_back({each.end, What::code, false, each});
    }
    for (const Range& each : pieces) {
      events_.push_back({each.begin, What::piece, true, each});
      events_.push_back({each.end, What::piece, false, each});
    }
    add_names(symbols_, What::symbol);
    add_names(exports_, What::exported);
    // Of one address: what ends, what begins, names.
    std::ranges::stable_sort(events_, {}, [](const Event& event) {
      const bool ends = event.what <= What::piece && !event.begins;
      return std::tuple(event.rva, !ends, event.what);
    });
    for (const Event& event : events_) take(event);
  }

 private:
  enum class What : uint8_t { code, piece, symbol, exported };
  struct Event {
    uint32_t rva = 0;
    What what = What::code;
    bool begins = false;
    Range range;       // of code and pieces
    uint32_t row = 0;  // of names
  };

  template <typename Table>
  void add_names(const Table& table, What what) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!first_of_address(table, i)) continue;
      events_.push_back({table[i].rva, what, true, {}, static_cast<uint32_t>(i)});
    }
  }

  void take(const Event& event) {
    switch (event.what) {
      case What::code:
        close(event.rva);
        in_code_ = event.begins;
        open_piece(event.rva);
        break;
      case What::piece:
        close(event.rva);
        in_piece_ = event.begins;
        piece_ = event.range;
        open_piece(event.rva);
        break;
      case What::symbol:
        take_symbol(event);
        break;
      case What::exported:
        take_export(event);
        break;
    }
  }

  void take_symbol(const Event& event) {
    if (!in_code_) return;
    ++out_.coff_;
    // A label inside of a function.
    if (!symbols_[event.row].function && in_piece_ && event.rva != piece_.begin && open_ &&
        now_.kind == PeNameKind::symbol) {
      return;
    }
    open(event.rva, symbols_.name_of(event.row), PeNameKind::symbol);
  }

  void take_export(const Event& event) {
    if (!in_code_) return;
    ++out_.exports_;
    if (open_ && now_.kind == PeNameKind::symbol) return;
    open(event.rva, exports_.name_of(event.row), PeNameKind::nearest_export);
  }

  // A piece is known by its bounds until a name comes, a cold part by the name of its function.
  void open_piece(uint32_t rva) {
    if (!in_piece_ || !in_code_) return;
    open(rva, {}, PeNameKind::bounds);
    if (piece_.function == piece_.begin) return;
    now_.part = true;
    if (const auto symbol = name_at(symbols_, piece_.function)) {
      open(rva, *symbol, PeNameKind::symbol);
      now_.part = true;
    } else if (const auto exported = name_at(exports_, piece_.function)) {
      open(rva, *exported, PeNameKind::nearest_export);
      now_.part = true;
    }
  }

  void open(uint32_t rva, NameArena::Name name, PeNameKind kind) {
    close(rva);
    open_ = true;
    now_ = {rva, rva, name, kind, false};
  }

  void close(uint32_t rva) {
    if (open_ && rva > now_.start) {
      now_.end = rva;
      out_.rows_.push_back(now_);
    }
    open_ = false;
  }

  PeSymbols& out_;
  const CoffSymbols& symbols_;
  const PeExports& exports_;
  std::vector<Event> events_;
  bool in_code_ = false;
  bool in_piece_ = false;
  Range piece_;
  bool open_ = false;
  Row now_;
};

PeSymbols PeSymbols::of(const PeImage& image) {
  PeSymbols out;
  const auto take = [&](auto result) {
    if (result) return std::move(*result);
    out.damage_.push_back(std::move(result.error()));
    return typename decltype(result)::value_type();
  };
  CoffSymbols symbols = take(CoffSymbols::parse(image));
  PeExports exports = take(PeExports::parse(image));
  const RuntimeFunctions functions = take(RuntimeFunctions::parse(image));
  Builder(out, symbols, exports).run(code_of(image.headers()), pieces_of(functions));
  out.rows_.shrink_to_fit();
  out.symbol_names_ = std::move(symbols).take_names();
  out.export_names_ = std::move(exports).take_names();
  return out;
}

std::optional<PeSymbol> PeSymbols::at(uint32_t rva) const {
  const auto next = std::ranges::upper_bound(rows_, rva, {}, &Row::start);
  if (next == rows_.begin()) return std::nullopt;
  const Row& row = *std::prev(next);
  if (rva >= row.end) return std::nullopt;
  return symbol_of(row);
}

}  // namespace jitscope
