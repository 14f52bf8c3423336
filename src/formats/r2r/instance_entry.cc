// See instance_entry.h.
#include "formats/r2r/instance_entry.h"

#include "formats/ecma335/compressed.h"
#include "formats/ecma335/signatures.h"
#include "formats/r2r/native_reader.h"

namespace jitscope {
namespace {

constexpr uint32_t kArguments = 0x04;
constexpr uint32_t kSlot = 0x08;  // a slot in place of a token: no entry has one
constexpr uint32_t kConstrained = 0x20;
constexpr uint32_t kUpdateContext = 0x80;
constexpr uint32_t kKnown = 0xff & ~kSlot;
constexpr uint32_t kMostArguments = 4096;

}  // namespace

Result<R2rInstance> read_instance_signature(ByteCursor& cursor) {
  R2rInstance out;
  out.flags = compressed_uint(cursor);
  if ((out.flags & ~kKnown) != 0) {
    return fail(ErrorKind::not_possible, "a method instance of a later format");
  }
  if ((out.flags & kUpdateContext) != 0) out.module = compressed_uint(cursor);
  out.owner = cursor;
  if (out.has_owner()) JITSCOPE_TRY(skip_type(cursor));
  out.row = compressed_uint(cursor);
  if ((out.flags & kArguments) != 0) {
    out.argument_count = compressed_uint(cursor);
    if (out.argument_count > kMostArguments) {
      return fail(ErrorKind::damaged, "a method instance with too many arguments");
    }
  }
  out.arguments = cursor;
  for (uint32_t i = 0; i < out.argument_count; ++i) JITSCOPE_TRY(skip_type(cursor));
  if ((out.flags & kConstrained) != 0) JITSCOPE_TRY(skip_type(cursor));
  if (!cursor.ok()) return fail(cursor.error("a method instance"));
  return out;
}

uint32_t read_function_number(ByteCursor& cursor) {
  const uint32_t id = native_unsigned(cursor);
  // With the lowest bit the method has fixups, and the next one says where their list is. The
  // format's document has one bit less.
  return (id & 1U) != 0 ? id >> 2U : id >> 1U;
}

}  // namespace jitscope
