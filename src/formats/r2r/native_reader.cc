// See native_reader.h.
#include "formats/r2r/native_reader.h"

namespace jitscope {
namespace {

constexpr uint32_t kBlock = 16;
constexpr uint32_t kMostBucketBits = 31;

// The bytes that a packed integer has, and how many bits of the first of them say so.
struct Packed {
  uint32_t size;
  uint32_t tag_bits;
};
Packed packed(uint8_t first) {
  if ((first & 1U) == 0) return {1, 1};
  if ((first & 2U) == 0) return {2, 2};
  if ((first & 4U) == 0) return {3, 3};
  if ((first & 8U) == 0) return {4, 4};
  return {5, 8};
}

}  // namespace

uint32_t native_unsigned(ByteCursor& cursor) {
  const uint8_t first = cursor.u8();
  const auto [size, tag_bits] = packed(first);
  if (size == 5) {
    if ((first & 0x10U) != 0) cursor.mark_failed();  // no writer sets it
    return cursor.u32();
  }
  uint32_t value = first;
  for (uint32_t i = 1; i < size; ++i) value |= uint32_t{cursor.u8()} << 8 * i;
  return cursor.ok() ? value >> tag_bits : 0;
}

int32_t native_signed(ByteCursor& cursor) {
  const uint32_t size = [ahead = cursor]() mutable { return packed(ahead.u8()).size; }();
  const uint32_t value = native_unsigned(cursor);
  if (size == 5) return static_cast<int32_t>(value);
  const uint32_t unused = 32 - 7 * size;
  return static_cast<int32_t>(value << unused) >> unused;
}

Result<NativeArray> NativeArray::read(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const uint32_t header = native_unsigned(cursor);
  NativeArray out;
  out.bytes_ = bytes;
  out.base_ = cursor.offset();
  out.size_ = header >> 2U;
  out.entry_size_ = 1U << (header & 3U);
  if (out.entry_size_ == 8) return fail(ErrorKind::damaged, "a sparse array of an unknown kind");
  cursor.skip((uint64_t{out.size_} + kBlock - 1) / kBlock * out.entry_size_);
  if (!cursor.ok()) return fail(cursor.error("a sparse array"));
  return out;
}

std::optional<ByteCursor> NativeArray::at(uint32_t index) const {
  if (index >= size_) return std::nullopt;
  ByteCursor cursor(bytes_);
  cursor.seek(base_ + uint64_t{index / kBlock} * entry_size_);
  uint64_t offset = entry_size_ == 1 ? cursor.u8() : entry_size_ == 2 ? cursor.u16() : cursor.u32();
  offset += base_;
  // A binary tree of the block's elements, from the highest bit of the index down.
  for (uint32_t bit = kBlock / 2; bit != 0; bit /= 2) {
    ByteCursor node(bytes_);
    node.seek(offset);
    const uint32_t value = native_unsigned(node);
    if (!node.ok()) return std::nullopt;
    if ((index & bit) != 0) {
      if ((value & 2U) != 0) {
        offset += value >> 2U;
        continue;
      }
    } else if ((value & 1U) != 0) {
      offset = node.offset();
      continue;
    }
    // A subtree of one element, whose number the node has in place of branches.
    if ((value & 3U) != 0 || value >> 2U != index % kBlock) return std::nullopt;
    offset = node.offset();
    break;
  }
  ByteCursor element(bytes_);
  element.seek(offset);
  return element.ok() ? std::optional(element) : std::nullopt;
}

Status each_native_entry(std::span<const std::byte> bytes, uint64_t offset, uint64_t size,
                         const std::function<Status(ByteCursor&)>& entry) {
  ByteCursor whole(bytes);
  whole.seek(offset);
  ByteCursor table = whole.slice(size);
  const uint8_t header = table.u8();
  const uint32_t cell_size = 1U << (header & 3U);
  const uint32_t bucket_bits = header >> 2U;
  if (!table.ok() || cell_size == 8 || bucket_bits > kMostBucketBits) {
    return fail(ErrorKind::damaged, "a hash table of an unknown kind");
  }
  const uint64_t buckets = uint64_t{1} << bucket_bits;
  ByteCursor cells = table.slice((buckets + 1) * cell_size);
  if (!cells.ok()) return fail(cells.error("a hash table"));
  const auto cell = [&]() -> uint64_t {
    return cell_size == 1 ? cells.u8() : cell_size == 2 ? cells.u16() : cells.u32();
  };
  uint64_t begin = cell();
  for (uint64_t i = 0; i < buckets; ++i) {
    const uint64_t end = cell();
    if (end < begin) return fail(ErrorKind::damaged, "the buckets of a hash table overlap");
    ByteCursor bucket(bytes);
    bucket.seek(offset + 1 + begin);
    while (bucket.ok() && bucket.offset() < offset + 1 + end) {
      bucket.skip(1);  // of the hash
      const uint64_t from = bucket.offset();
      const int64_t at = static_cast<int64_t>(from) + native_signed(bucket);
      ByteCursor target(bytes);
      target.seek(at < 0 ? UINT64_MAX : static_cast<uint64_t>(at));
      if (!bucket.ok() || !target.ok()) {
        return fail(ErrorKind::damaged, "an entry of a hash table lies outside its section");
      }
      JITSCOPE_TRY(entry(target));
    }
    if (!bucket.ok()) return fail(bucket.error("a bucket of a hash table"));
    begin = end;
  }
  return {};
}

}  // namespace jitscope
