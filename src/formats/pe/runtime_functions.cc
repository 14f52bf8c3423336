// See runtime_functions.h.
#include "formats/pe/runtime_functions.h"

#include <algorithm>
#include <tuple>

#include "base/byte_cursor.h"

namespace jitscope {

Result<RuntimeFunctions> RuntimeFunctions::parse(const PeImage& image) {
  RuntimeFunctions out;
  const PeDirectory directory = image.headers().directory(PeTable::exceptions);
  if (image.headers().machine != PeMachine::x86_64 || directory.rva == 0 || directory.size == 0) {
    return out;
  }
  const std::span<const std::byte> bytes = image.bytes(directory);
  if (bytes.empty()) {
    return fail(ErrorKind::damaged, "the exception directory of a PE image is not in the file");
  }
  ByteCursor cursor(bytes);
  out.rows_.reserve(bytes.size() / PeFunctionRow::kSize);
  while (cursor.remaining() >= PeFunctionRow::kSize) {
    RuntimeFunction row;
    row.begin = cursor.u32();
    row.end = cursor.u32();
    row.unwind = cursor.u32();
    if (row.begin < row.end) out.rows_.push_back(row);
  }
  // The longest of one beginning first; the others are dropped.
  std::ranges::sort(out.rows_, {}, [](const RuntimeFunction& row) {
    return std::tuple(row.begin, UINT32_MAX - row.end, row.unwind);
  });
  const auto same = std::ranges::unique(out.rows_, {}, &RuntimeFunction::begin);
  out.rows_.erase(same.begin(), same.end());
  for (size_t i = 0; i < out.rows_.size(); ++i) {
    RuntimeFunction& row = out.rows_[i];
    row.function = primary_row(image, row.row()).begin;
    if (i + 1 < out.rows_.size()) row.end = std::min(row.end, out.rows_[i + 1].begin);
  }
  return out;
}

const RuntimeFunction* RuntimeFunctions::at(uint32_t rva) const {
  const auto next = std::ranges::upper_bound(rows_, rva, {}, &RuntimeFunction::begin);
  if (next == rows_.begin()) return nullptr;
  const RuntimeFunction& row = *std::prev(next);
  return rva < row.end ? &row : nullptr;
}

}  // namespace jitscope
