// Reads many Symbols in two rounds: most texts fit into the first read, the long ones and those
// near the end of a mapping are read again with their exact length.
#include "runtimes/hotspot/symbols.h"

#include <algorithm>

#include "runtimes/hotspot/batch.h"
#include "runtimes/hotspot/signature.h"

namespace jitscope::hotspot {
namespace {

constexpr uint32_t kFirstRead = 96;
// All texts of one batch together; a real JVM with 100,000 methods stays below 20 MB.
constexpr size_t kMaxTextBytes = 256U << 20U;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<SymbolLayout> SymbolLayout::of(const VmStructs& structs) {
  SymbolLayout layout;
  if (auto packed = structs.member_if({"Symbol"}, {"_length_and_refcount"})) {
    layout.length = *packed;
    layout.length_shift = 16;
  } else {
    JITSCOPE_ASSIGN(layout.length, structs.member({"Symbol"}, {"_length"}));
  }
  const VmField* body = structs.find("Symbol", "_body[0]");
  if (body == nullptr) body = structs.find("Symbol", "_body");
  if (body == nullptr || body->is_static || body->offset > 64 || layout.length.end() > 64) {
    return fail(ErrorKind::not_possible, "this JVM does not describe Symbol::_body");
  }
  layout.body = static_cast<uint32_t>(body->offset);
  return layout;
}

void SymbolBatch::add(uint64_t address) {
  if (address != 0 && (address & 7U) == 0) texts_.try_emplace(address);
}

void SymbolBatch::read(MemoryReader& memory) {
  const uint32_t head = std::max(layout_.body, layout_.length.end());
  std::vector<uint64_t> addresses;
  addresses.reserve(texts_.size());
  for (const auto& [address, text] : texts_) addresses.push_back(address);
  std::ranges::sort(addresses);

  std::vector<ByteRange> ranges;
  ranges.reserve(addresses.size());
  for (const uint64_t address : addresses) ranges.push_back({address, head + kFirstRead});

  std::vector<bool> seen(addresses.size());
  std::vector<ByteRange> longer;
  size_t total = 0;
  const auto take = [&](uint64_t address, std::span<const std::byte> bytes) {
    if (!is_modified_utf8(as_text(bytes)) || total + bytes.size() > kMaxTextBytes) return;
    total += bytes.size();
    texts_[address] = as_text(bytes);
  };
  const auto length_of = [&](std::span<const std::byte> bytes) {
    StructView view(bytes);
    const uint64_t length = view.get(layout_.length) >> layout_.length_shift;
    return view.ok() ? static_cast<uint32_t>(length & 0xffffU) : 0U;
  };
  read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
    seen[i] = true;
    const uint32_t length = length_of(bytes);
    if (length <= kFirstRead) {
      take(addresses[i], bytes.subspan(layout_.body, std::min(length, kFirstRead)));
    } else {
      longer.push_back({addresses[i], length});
    }
  });

  // Those whose first read crossed the end of the mapping: the length alone first.
  std::vector<ByteRange> heads;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!seen[i]) heads.push_back({addresses[i], head});
  }
  read_ranges(memory, heads, [&](size_t i, std::span<const std::byte> bytes) {
    const uint32_t length = length_of(bytes);
    if (length > 0) longer.push_back({heads[i].address, length});
  });

  ranges.clear();
  for (const ByteRange& symbol : longer) {
    ranges.push_back({symbol.address + layout_.body, symbol.length});
  }
  read_ranges(memory, ranges,
              [&](size_t i, std::span<const std::byte> bytes) { take(longer[i].address, bytes); });
}

const std::string* SymbolBatch::get(uint64_t address) const {
  const auto found = texts_.find(address);
  return found == texts_.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace jitscope::hotspot
