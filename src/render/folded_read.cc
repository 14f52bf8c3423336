// The reader of folded text: an own bounded scanner, since the format is text without any sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "render/folded.h"
#include "render/folded_escape.h"

namespace jitscope {
namespace {

constexpr unsigned kMostDecimals = 6;

// digits * 10^-decimals: collapsers of times write "0.0125".
struct Count {
  uint64_t digits = 0;
  unsigned decimals = 0;
};

std::optional<uint64_t> times_ten_to(uint64_t value, unsigned power) {
  std::optional<uint64_t> product = value;
  for (; product && power > 0; --power) product = checked_multiply(*product, 10);
  return product;
}

// "12", "12." or "12.75". More decimals than kept are cut off.
std::optional<Count> parse_count(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  if (!std::ranges::all_of(fraction, [](char c) { return c >= '0' && c <= '9'; })) return {};
  fraction = fraction.substr(0, kMostDecimals);
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  Count count;
  count.decimals = static_cast<unsigned>(fraction.size());
  const auto whole = parse_decimal(text.substr(0, point));
  const auto scaled = whole ? times_ten_to(*whole, count.decimals) : std::nullopt;
  const auto sum =
      scaled ? checked_add(*scaled, parse_decimal(fraction).value_or(0)) : std::nullopt;
  if (!sum) return std::nullopt;
  count.digits = *sum;
  return count;
}

// The number at the end, which `text` loses, blanks included.
std::optional<Count> take_count(std::string_view& text) {
  const size_t blank = text.find_last_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  const auto count = parse_count(text.substr(blank + 1));
  if (!count) return std::nullopt;
  text = text.substr(0, blank);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return count;
}

struct Marked {
  std::string_view name;
  FrameKind kind;
};

Marked split_mark(std::string_view text) {
  if (text.ends_with("_[k]")) return {text.substr(0, text.size() - 4), FrameKind::kernel};
  if (text.ends_with("_[j]")) return {text.substr(0, text.size() - 4), FrameKind::jit};
  // Which code was inlined the text does not say; JIT'd or not, it is shown as inlined.
  if (text.ends_with("_[i]")) return {text.substr(0, text.size() - 4), FrameKind::jit_inlined};
  return {text, FrameKind::native};
}

Frame frame_of(std::string_view text) {
  Frame frame;
  const Marked marked = split_mark(text);
  const std::string_view name = marked.name;
  const bool bracketed = name.size() >= 2 && name.front() == '[' && name.back() == ']' &&
                         (name.size() == text.size() || name == "[unknown]");
  if (name.empty() || bracketed) {
    const std::string inside =
        bracketed ? folded_unescape(name.substr(1, name.size() - 2)) : std::string();
    if (inside != "unknown") frame.dso = inside;
    frame.no_name = NoName::not_in_text;
    return frame;
  }
  frame.method = folded_unescape(name);
  frame.raw = frame.method;
  frame.kind = marked.kind;
  return frame;
}

// Stack numbers by caller and frame: an open table, since a large file asks it millions of times.
class StackNumbers {
 public:
  // The slot of the key: `number` is 0 when it is a new one, to be set by the caller.
  StackId& slot(StackId parent, FrameId frame) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& found = place(uint64_t{parent} << 32U | frame);
    if (found.number == kRootStack) {
      found.key = uint64_t{parent} << 32U | frame;
      ++used_;
    }
    return found.number;
  }
  void withdraw() { --used_; }  // of a new slot that gets no number

 private:
  struct Slot {
    uint64_t key = 0;
    StackId number = kRootStack;
  };

  Slot& place(uint64_t key) {
    // Mixed with where this object lies, so that no file can be made to collide.
    uint64_t hash = key ^ reinterpret_cast<uintptr_t>(this);
    hash = (hash ^ hash >> 32U) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ hash >> 29U) * 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 32U;
    while (true) {
      Slot& slot = slots_[hash & (slots_.size() - 1)];
      if (slot.number == kRootStack || slot.key == key) return slot;
      ++hash;
    }
  }

  void grow() {
    std::vector<Slot> old(std::max<size_t>(1024, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kRootStack) place(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace

struct FoldedParser::State {
  FoldedReadOptions options;
  Diagnostics& diagnostics;
  Profile profile;
  std::string rest;       // a line whose end is not here yet
  bool overlong = false;  // its beginning was dropped already
  TextMap<FrameId> frames;
  StackNumbers numbers;
  TextMap<uint32_t> groups;
  std::unordered_map<uint64_t, size_t> entries;  // group << 32 | stack
  struct Step {
    size_t end;  // of the frame's text in last_text
    StackId id;
  };
  std::string last_text;  // the stack of the line before
  std::vector<Step> last_path;
  uint64_t line_number = 0;
  size_t columns = 0;                // counts in each line; 0: no line yet
  std::optional<uint64_t> odd_line;  // the first with fewer counts than those before it
  unsigned decimals = 0;             // of all counts kept so far

  State(const FoldedReadOptions& read_options, Diagnostics& notes)
      : options(read_options), diagnostics(notes) {
    profile.events.push_back({std::string(kFoldedEvent), "count"});
  }

  void note(std::string_view what, std::string_view text) {
    diagnostics.note(what, fmt::format("line {}: {}", line_number, text.substr(0, 60)));
  }

  FrameId frame(std::string_view text) {
    const auto found = frames.find(text);
    if (found != frames.end()) return found->second;
    const auto id = static_cast<FrameId>(profile.frames.size());
    frames.emplace(text, id);
    profile.frames.push_back(frame_of(text));
    return id;
  }

  uint32_t group(std::string_view comm) {
    const auto [at, added] =
        groups.try_emplace(std::string(comm), static_cast<uint32_t>(profile.groups.size()));
    if (added) {
      const std::string name = folded_unescape(comm);
      profile.groups.push_back({0, 0, name, name});
    }
    return at->second;
  }

  // The stack of "a;b;c", or nothing when there are too many nodes already. What the line has in
  // common with the one before is not looked up again.
  std::optional<StackId> stack(std::string_view text) {
    const auto [a, b] = std::mismatch(text.begin(), text.end(), last_text.begin(), last_text.end());
    const auto same = static_cast<size_t>(a - text.begin());
    // Frames that end before the difference, or where it is the end of either text.
    size_t depth = 0;
    size_t at = 0;
    while (depth < last_path.size()) {
      const size_t end = last_path[depth].end;
      if (end > same || (end < text.size() && text[end] != ';')) break;
      at = end;
      ++depth;
    }
    last_path.resize(depth);
    StackId id = depth == 0 ? kRootStack : last_path.back().id;
    last_text = text;
    while (depth == 0 || at < text.size()) {
      if (depth == options.max_depth) {
        diagnostics.note("folded stack cut off: too deep");
        break;
      }
      if (depth != 0) ++at;  // behind the `;`
      const size_t end = std::min(text.find(';', at), text.size());
      const FrameId frame_id = frame(text.substr(at, end - at));
      StackId& number = numbers.slot(id, frame_id);
      if (number == kRootStack) {
        if (profile.nodes.size() >= options.max_nodes) {
          numbers.withdraw();
          return std::nullopt;
        }
        number = static_cast<StackId>(profile.nodes.size());
        profile.nodes.push_back({id, frame_id});
      }
      id = number;
      at = end;
      ++depth;
      last_path.push_back({end, id});
    }
    return id;
  }

  // All counts so far as multiples of a smaller unit. False where one would not fit.
  bool refine(unsigned wanted) {
    const unsigned power = wanted - decimals;
    if (!times_ten_to(profile.samples, power)) return false;
    for (StackWeight& each : profile.stacks) {
      each.samples = *times_ten_to(each.samples, power);  // no more than their sum
      each.weight = each.samples;
    }
    profile.samples = *times_ten_to(profile.samples, power);
    decimals = wanted;
    return true;
  }

  // In the unit of the profile, which becomes that of the count where that is smaller.
  std::optional<uint64_t> in_unit(const Count& count) {
    if (count.decimals > decimals && !refine(count.decimals)) return std::nullopt;
    return times_ten_to(count.digits, decimals - count.decimals);
  }

  // The counts at the end of the line, which `text` loses: one, or two where the first line has
  // two.
  std::optional<std::pair<Count, Count>> take_counts(std::string_view& text) {
    const auto last = take_count(text);
    if (!last || text.empty()) return std::nullopt;
    if (columns == 1) return std::pair(*last, Count());
    std::string_view shorter = text;
    const auto before = take_count(shorter);
    const bool two = before && !shorter.empty();
    if (columns == 0) columns = two ? 2 : 1;
    if (columns == 1) return std::pair(*last, Count());
    if (!two) {
      if (!odd_line) odd_line = line_number;
      return std::nullopt;
    }
    text = shorter;
    return std::pair(*before, *last);
  }

  void add(uint32_t group_number, StackId leaf, std::span<const uint64_t> counts) {
    const auto [entry, added] =
        entries.try_emplace(uint64_t{group_number} << 32U | leaf, profile.stacks.size());
    for (uint32_t event = 0; event < columns; ++event) {
      if (added) profile.stacks.push_back({event, group_number, leaf, 0, 0});
      StackWeight& weight = profile.stacks[entry->second + event];
      weight.samples += counts[event];
      weight.weight = weight.samples;
      profile.samples += counts[event];
    }
  }

  void line(std::string_view text) {
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) {
      text.remove_suffix(1);
    }
    if (text.empty() || text.front() == '#') return;
    std::string_view path = text;
    const auto counts = take_counts(path);
    if (!counts) {
      note("folded line without a stack and a count", text);
      return;
    }
    std::string_view comm;
    if (options.first_is_comm) {
      const size_t end = std::min(path.find(';'), path.size());
      comm = path.substr(0, end);
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    const auto first = in_unit(counts->first);
    const auto second = in_unit(counts->second);
    // The second may have made the unit smaller.
    const auto again = first && second ? in_unit(counts->first) : std::nullopt;
    const auto both = again ? checked_add(*again, *second) : std::nullopt;
    if (!both || !checked_add(profile.samples, *both)) {
      note("folded line left out: counts beyond 64 bits", text);
      return;
    }
    const auto leaf = path.empty() ? std::optional<StackId>(kRootStack) : stack(path);
    if (!leaf) {
      diagnostics.note("folded line left out: too many different stacks");
      return;
    }
    add(group(comm), *leaf, std::array{*again, *second});
  }

  // What the numbers of the profile are.
  void name_events() {
    std::string unit = "count";
    if (decimals != 0) unit = fmt::format("1/{}", *times_ten_to(1, decimals));
    profile.events[0].unit = unit;
    if (decimals != 0) profile.events[0].name = fmt::format("{} (in {})", kFoldedEvent, unit);
    if (columns != 2) return;
    const std::string name = profile.events[0].name;
    profile.events = {{std::string(kFoldedBefore) + name, unit},
                      {std::string(kFoldedAfter) + name, unit}};
    std::erase_if(profile.stacks, [](const StackWeight& each) { return each.samples == 0; });
  }

  // The line ends here.
  void end_line(std::string_view last) {
    ++line_number;
    if (overlong || rest.size() + last.size() > options.max_line) {
      diagnostics.note("folded line left out: too long");
    } else if (rest.empty()) {
      line(last);
    } else {
      rest += last;
      line(rest);
    }
    rest.clear();
    overlong = false;
  }
};

FoldedParser::FoldedParser(const FoldedReadOptions& options, Diagnostics& diagnostics)
    : state_(std::make_unique<State>(options, diagnostics)) {}
FoldedParser::~FoldedParser() = default;

void FoldedParser::feed(std::string_view text) {
  State& state = *state_;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      if (state.rest.size() + text.size() > state.options.max_line) {
        state.overlong = true;
        state.rest.clear();
      } else if (!state.overlong) {
        state.rest += text;
      }
      return;
    }
    state.end_line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

Profile FoldedParser::finish() {
  if (state_->overlong || !state_->rest.empty()) state_->end_line({});
  state_->name_events();
  Profile profile = std::move(state_->profile);
  state_ = std::make_unique<State>(state_->options, state_->diagnostics);
  return profile;
}

std::optional<uint64_t> FoldedParser::odd_line() const {
  return state_->odd_line;
}

Profile parse_folded(std::string_view text, Diagnostics& diagnostics,
                     const FoldedReadOptions& options) {
  FoldedParser parser(options, diagnostics);
  parser.feed(text);
  return parser.finish();
}

Result<Profile> read_folded(ByteSource& source, Diagnostics& diagnostics,
                            const FoldedReadOptions& options) {
  FoldedParser parser(options, diagnostics);
  std::vector<std::byte> buffer(1U << 18U);
  while (true) {
    JITSCOPE_ASSIGN(const size_t size, source.read(buffer));
    if (size == 0) break;
    parser.feed({reinterpret_cast<const char*>(buffer.data()), size});
  }
  const std::optional<uint64_t> odd_line = parser.odd_line();
  Profile profile = parser.finish();
  if (odd_line) {
    return fail(ErrorKind::damaged,
                fmt::format("line {} has not the two counts of the lines before it", *odd_line),
                source.where(),
                "difffolded.pl writes two counts in each line; where a name ends with a number, "
                "write its blank as \\x20");
  }
  if (profile.stacks.empty()) {
    return fail(ErrorKind::damaged, "no folded stacks in it", source.where(),
                "a line is \"main;work;leaf 12\", as `jitscope flame -o x.folded` writes it");
  }
  return profile;
}

}  // namespace jitscope
