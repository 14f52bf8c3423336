// Names copied out of an image's string tables into one run of memory, for tables that outlive the
// file. Inside src/formats/pe only.
//
// Strings of a table may share bytes: each byte is read and copied once, however many names begin
// in it, so that time and memory are bounded by the bytes that are there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

class NameArena {
 public:
  struct Name {
    uint32_t at = 0;
    uint32_t size = 0;
  };
  // A name that begins at `position` (an offset, an address), for the row of this number.
  struct Wanted {
    uint64_t position = 0;
    uint32_t row = 0;
  };

  // Nothing (an empty name) when the arena is full at 4 GiB.
  Name add(std::string_view text) {
    if (text.size() > UINT32_MAX - text_.size()) return {};
    const Name name{static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(text.size())};
    text_ += text;
    return name;
  }
  [[nodiscard]] std::string_view text(Name name) const {
    return std::string_view(text_).substr(name.at, name.size);
  }
  void shrink() { text_.shrink_to_fit(); }

  // Names that end with a NUL. `bytes_at(position)`: the bytes from there on; `tell(row, name)` is
  // called for each that is there and not empty. False: the names took more than `most` bytes (in
  // an image whose sections lie over each other), and what was left is missing.
  template <typename BytesAt, typename Tell>
  bool add_all(std::vector<Wanted> wanted, uint64_t most, BytesAt bytes_at, Tell tell) {
    std::ranges::sort(wanted, {}, &Wanted::position);
    uint64_t begin = 0;
    uint64_t end = 0;      // of the last string that was read: its NUL
    uint64_t unended = 0;  // up to here no NUL follows
    Name last;
    for (const Wanted& each : wanted) {
      if (each.position < unended) continue;
      if (each.position >= end) {
        const std::span<const std::byte> bytes = bytes_at(each.position);
        if (bytes.empty()) continue;
        const void* nul = std::memchr(bytes.data(), 0, bytes.size());
        const size_t size =
            nul != nullptr ? static_cast<const std::byte*>(nul) - bytes.data() : bytes.size();
        if (size > most) return false;
        most -= size;
        if (nul == nullptr) {
          unended = each.position + size;
          continue;
        }
        begin = each.position;
        end = begin + size;
        last = add({reinterpret_cast<const char*>(bytes.data()), size});
        if (last.size != size) return false;
      }
      const auto inside = static_cast<uint32_t>(each.position - begin);
      if (inside < last.size) tell(each.row, Name{last.at + inside, last.size - inside});
    }
    return true;
  }

 private:
  std::string text_;
};

}  // namespace jitscope
