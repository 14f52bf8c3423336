#include "code/recorded_name.h"

#include <algorithm>
#include <array>
#include <optional>

namespace jitscope {
namespace {

constexpr std::string_view kOpen = " [tier=";
constexpr std::string_view kRuntime = ",runtime=";
constexpr size_t kLongestEnding = 64;

constexpr std::array kTiers = {Tier::unknown,  Tier::bytecode, Tier::baseline,   Tier::maglev,
                               Tier::turbofan, Tier::c1,       Tier::c1_limited, Tier::c1_full,
                               Tier::c2,       Tier::native,   Tier::stub,       Tier::dfg,
                               Tier::ftl,      Tier::bbq,      Tier::omg,      Tier::prejit};
constexpr std::array kRuntimes = {Runtime::unknown, Runtime::hotspot, Runtime::v8,  Runtime::dotnet,
                                  Runtime::erlang,  Runtime::php,     Runtime::mono};

// The only runtime that has this tier.
Runtime runtime_of(Tier tier) {
  switch (tier) {
    case Tier::bytecode:
    case Tier::baseline:
    case Tier::maglev:
    case Tier::turbofan:
      return Runtime::v8;
    case Tier::c1:
    case Tier::c1_limited:
    case Tier::c1_full:
    case Tier::c2:
    case Tier::native:
      return Runtime::hotspot;
    case Tier::prejit:
      return Runtime::dotnet;
    case Tier::unknown:
    case Tier::stub:
    case Tier::dfg:
    case Tier::ftl:
    case Tier::bbq:
    case Tier::omg:
      break;
  }
  return Runtime::unknown;
}

template <typename List>
auto find_word(const List& list, std::string_view word)
    -> std::optional<typename List::value_type> {
  const auto found = std::ranges::find_if(list, [&](auto each) { return to_string(each) == word; });
  if (found == list.end()) return std::nullopt;
  return *found;
}

std::optional<RecordedName> split(std::string_view text) {
  if (!text.ends_with(']')) return std::nullopt;
  const size_t from = text.size() - std::min(text.size(), kLongestEnding);
  const size_t open = text.substr(from).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  RecordedName found;
  found.name = text.substr(0, from + open);
  std::string_view rest = text.substr(from + open + kOpen.size());
  rest.remove_suffix(1);
  const size_t comma = rest.find(kRuntime);
  const auto tier = find_word(kTiers, rest.substr(0, comma));
  if (!tier) return std::nullopt;
  found.tier = *tier;
  found.runtime = runtime_of(*tier);
  if (comma != std::string_view::npos) {
    const auto runtime = find_word(kRuntimes, rest.substr(comma + kRuntime.size()));
    if (!runtime) return std::nullopt;
    found.runtime = *runtime;
  }
  return found;
}

}  // namespace

std::string encode_recorded_name(std::string_view name, Tier tier, Runtime runtime) {
  std::string out(name.substr(0, kLongestRecordedName));
  std::erase(out, '\0');
  const bool plain = tier == Tier::unknown && runtime == Runtime::unknown;
  // A name that ends as if it were encoded is marked, so that its own ending stays.
  if (plain && !split(out)) return out;
  out += kOpen;
  out += to_string(tier);
  if (runtime != runtime_of(tier)) {
    out += kRuntime;
    out += to_string(runtime);
  }
  out += ']';
  return out;
}

RecordedName decode_recorded_name(std::string_view text) {
  return split(text).value_or(RecordedName{text, Tier::unknown, Runtime::unknown});
}

}  // namespace jitscope
