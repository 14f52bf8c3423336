// Unwind tables as .eh_frame and .eh_frame_hdr (LSB 5.0, sections 10.6.1 and 10.6.2); see unwind.h.
//
// Layouts are computed before a byte is written: a size depends on no address. Pointers are
// relative to their own place (DW_EH_PE_pcrel | sdata4), those of the search table to the start of
// the header (datarel | sdata4): the only kinds that all readers take, libunwind among them.
#include "unwind/unwind.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <map>
#include <optional>

#include "base/leb128.h"

namespace jitscope {
namespace {

constexpr uint64_t kAlignment = 8;
constexpr uint64_t kHeaderHead = 12;  // version, encodings, pointer, number of entries
constexpr uint64_t kHeaderEntry = 8;
constexpr uint64_t kFdeHead = 4 + 4 + 4 + 4 + 1;  // length, CIE, place, size, no augmentation data
constexpr uint64_t kTerminator = 4;
constexpr uint8_t kPcRelative4 = 0x1b;
constexpr uint8_t kDataRelative4 = 0x3b;
constexpr uint8_t kUnsigned4 = 0x03;

constexpr uint64_t round_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void put32(std::string& out, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}
void set32(std::string& out, size_t at, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) {
    out[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
  }
}
void put_bytes(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// What FDEs share.
struct Cie {
  const UnwindTable* table;
  auto operator<=>(const Cie& other) const {
    const UnwindTable& a = *table;
    const UnwindTable& b = *other.table;
    if (auto c = a.code_alignment <=> b.code_alignment; c != 0) return c;
    if (auto c = a.data_alignment <=> b.data_alignment; c != 0) return c;
    if (auto c = a.return_register <=> b.return_register; c != 0) return c;
    return a.initial <=> b.initial;
  }
};

std::string cie_bytes(const UnwindTable& table) {
  std::string out;
  put32(out, 0);  // length: set below
  put32(out, 0);  // this is a CIE
  out.push_back(1);
  out.append("zR", 3);
  put_uleb128(out, table.code_alignment);
  put_sleb128(out, table.data_alignment);
  out.push_back(static_cast<char>(table.return_register));
  out.push_back(1);  // bytes of augmentation data
  out.push_back(static_cast<char>(kPcRelative4));
  put_bytes(out, table.initial);
  out.resize(round_up(out.size(), kAlignment), '\0');  // DW_CFA_nop
  set32(out, 0, static_cast<uint32_t>(out.size() - 4));
  return out;
}

uint64_t fde_size(const UnwindTable& table) {
  return round_up(kFdeHead + table.instructions.size(), kAlignment);
}

bool usable(const UnwindTable& table) {
  constexpr size_t largest = 1U << 28U;
  return table.size != 0 && table.size <= UINT32_MAX && table.return_register <= UINT8_MAX &&
         table.initial.size() <= largest && table.instructions.size() <= largest;
}

// `to` as seen from `from`, in 32 bits.
std::optional<uint32_t> distance32(uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  if (distance < INT32_MIN || distance > INT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(static_cast<int32_t>(distance));
}

// Frame and header of bodies at any places.
class Builder {
 public:
  explicit Builder(std::span<const PlacedUnwind> bodies) {
    for (const PlacedUnwind& body : bodies) {
      if (body.table != nullptr && usable(*body.table)) bodies_.push_back(body);
    }
    // A search table is sorted; of two tables that begin at one place no reader would find both.
    std::ranges::stable_sort(bodies_, {}, start_of);
    const auto same = std::ranges::unique(bodies_, {}, start_of);
    bodies_.erase(same.begin(), same.end());
    for (const PlacedUnwind& body : bodies_) cies_.try_emplace(Cie{body.table}, frame_size_);
    for (auto& [cie, offset] : cies_) {
      offset = frame_size_;
      frame_size_ += cie_bytes(*cie.table).size();
    }
    for (const PlacedUnwind& body : bodies_) frame_size_ += fde_size(*body.table);
    frame_size_ += kTerminator;
  }

  [[nodiscard]] uint64_t frame_size() const { return frame_size_; }
  [[nodiscard]] uint64_t header_size() const { return kHeaderHead + kHeaderEntry * bodies_.size(); }

  // False when something is out of reach.
  bool build(uint64_t frame_address, uint64_t header_address, EhFrame& out) const {
    std::string& frame = out.frame;
    std::string& header = out.header;
    frame.clear();
    header.clear();
    frame.reserve(frame_size_);
    header.reserve(header_size());
    for (const auto& [cie, offset] : cies_) frame += cie_bytes(*cie.table);
    header.push_back(1);  // version
    for (const uint8_t encoding : {kPcRelative4, kUnsigned4, kDataRelative4}) {
      header.push_back(static_cast<char>(encoding));
    }
    const auto to_frame = distance32(header_address + 4, frame_address);
    if (!to_frame || bodies_.size() > UINT32_MAX || frame_size_ > UINT32_MAX) return false;
    put32(header, *to_frame);
    put32(header, static_cast<uint32_t>(bodies_.size()));
    for (const PlacedUnwind& body : bodies_) {
      const UnwindTable& table = *body.table;
      const uint64_t at = frame.size();
      const auto place = distance32(frame_address + at + 8, start_of(body));
      const auto key = distance32(header_address, start_of(body));
      const auto entry = distance32(header_address, frame_address + at);
      if (!place || !key || !entry) return false;
      put32(header, *key);
      put32(header, *entry);
      put32(frame, static_cast<uint32_t>(fde_size(table) - 4));
      put32(frame, static_cast<uint32_t>(at + 4 - cies_.at(Cie{&table})));
      put32(frame, *place);
      put32(frame, static_cast<uint32_t>(table.size));
      frame.push_back('\0');
      put_bytes(frame, table.instructions);
      frame.resize(at + fde_size(table), '\0');
    }
    frame.append(kTerminator, '\0');
    return true;
  }

 private:
  static uint64_t start_of(const PlacedUnwind& body) { return body.place + body.table->offset; }

  std::vector<PlacedUnwind> bodies_;
  std::map<Cie, uint64_t> cies_;  // and where they lie
  uint64_t frame_size_ = 0;
};

}  // namespace

uint64_t eh_frame_size(std::span<const PlacedUnwind> bodies) {
  const Builder builder(bodies);
  return round_up(builder.header_size(), kAlignment) + builder.frame_size();
}

Result<EhFrame> eh_frame(std::span<const PlacedUnwind> bodies, uint64_t header_address) {
  if (header_address % kAlignment != 0) {
    return fail(ErrorKind::usage, "unwind tables at an address that is no multiple of 8");
  }
  const Builder builder(bodies);
  EhFrame out;
  const uint64_t frame_address = header_address + round_up(builder.header_size(), kAlignment);
  if (!builder.build(frame_address, header_address, out)) {
    return fail(ErrorKind::not_possible, "code is more than 2 GB away from its unwind tables");
  }
  return out;
}

UnwindingInfo encode_unwinding_info(std::span<const UnwindTable> tables, uint64_t code_size) {
  std::vector<PlacedUnwind> bodies;
  for (const UnwindTable& table : tables) {
    if (usable(table) && table.offset <= code_size && table.size <= code_size - table.offset) {
      bodies.push_back({0, &table});
    }
  }
  if (bodies.empty() || code_size > INT32_MAX) return {};
  const Builder builder(bodies);
  const uint64_t frame_address = round_up(code_size, kAlignment);
  EhFrame made;
  if (!builder.build(frame_address, frame_address + builder.frame_size(), made)) return {};
  // The frame ends 4 bytes behind a multiple of 8, the header is 4 bytes longer than one.
  return {made.frame + made.header, made.header.size(), made.frame.size() + made.header.size()};
}

}  // namespace jitscope
