// Unwind tables of hand-written or compiled code, read back by FrameReader with known registers.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frame_reader.h"
#include "unwind/unwind.h"

namespace jitscope::test {

inline constexpr uint64_t kPlace = 0x1000;  // of the body
inline constexpr uint64_t kTables = 0x100000;
inline constexpr uint64_t kSp = 0x7ffe0000;
inline constexpr uint64_t kFp = 0x5000;
inline constexpr uint64_t kR12 = 0x6000;

using Code = std::vector<std::byte>;

inline Code code_of(std::initializer_list<std::initializer_list<int>> instructions) {
  Code code;
  for (const auto& instruction : instructions) {
    for (const int byte : instruction) code.push_back(static_cast<std::byte>(byte));
  }
  return code;
}

inline FrameReader::Registers registers() {
  FrameReader::Registers result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = 0x100 + i;
  result[6] = kFp;
  result[7] = kSp;
  result[12] = kR12;
  return result;
}
inline std::optional<uint64_t> no_memory(uint64_t /*address*/) {
  return std::nullopt;
}

inline std::unique_ptr<FrameReader> reader_of(std::span<const PlacedUnwind> bodies) {
  const auto made = eh_frame(bodies, kTables);
  EXPECT_TRUE(made) << to_string(made.error());
  const uint64_t frame = (kTables + made->header.size() + 7) / 8 * 8;
  EXPECT_EQ(frame - kTables + made->frame.size(), eh_frame_size(bodies));
  return std::make_unique<FrameReader>(elf_of_frames(made->header, kTables, made->frame, frame));
}

// The frames of one body at all its bytes.
class Frames {
 public:
  Frames(const Code& code, const FrameInfo& frame, uint64_t entry = 0)
      : tables_(unwind_of_code(code, frame, entry)) {
    std::vector<PlacedUnwind> bodies;
    for (const UnwindTable& table : tables_) bodies.push_back({kPlace, &table});
    reader_ = reader_of(bodies);
  }
  [[nodiscard]] std::optional<FoundFrame> at(uint64_t offset,
                                             const FrameReader::ReadWord& word = no_memory) const {
    return reader_->at(kPlace + offset, registers(), word);
  }
  // Of a frame told by rsp: how far rsp is below the CFA; -1: nothing is told.
  [[nodiscard]] int64_t depth(uint64_t offset) const {
    const auto found = at(offset);
    if (!found) return -1;
    EXPECT_EQ(found->return_at, found->cfa - 8);
    return static_cast<int64_t>(found->cfa - kSp);
  }
  // Where the caller's rbp is below the CFA; 0: in the register; -1: lost.
  [[nodiscard]] int64_t rbp(uint64_t offset) const {
    const auto found = at(offset);
    if (!found || !found->rbp_at) return -1;
    return *found->rbp_at == 0 ? 0 : static_cast<int64_t>(found->cfa - *found->rbp_at);
  }
  [[nodiscard]] const std::vector<UnwindTable>& tables() const { return tables_; }

 private:
  std::vector<UnwindTable> tables_;
  std::unique_ptr<FrameReader> reader_;
};

}  // namespace jitscope::test
