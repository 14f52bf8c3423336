// Decodes CodeBlob and nmethod headers; see nmethod_layout.h.
#include "runtimes/hotspot/nmethod_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope::hotspot {
namespace {

constexpr uint64_t kMaxHeader = 4096;
constexpr int64_t kMaxFrameWords = 1 << 20;
constexpr uint64_t kMaxLevel = 4;  // CompLevel_full_optimization

}  // namespace

Result<NmethodLayout> NmethodLayout::open(const VmStructs& structs) {
  NmethodLayout layout;
  JITSCOPE_ASSIGN(layout.name_, structs.member({"CodeBlob"}, {"_name"}));
  JITSCOPE_ASSIGN(layout.size_, structs.member({"CodeBlob"}, {"_size"}));
  JITSCOPE_ASSIGN(layout.frame_size_, structs.member({"CodeBlob"}, {"_frame_size"}));
  if (auto pointer = structs.member_if({"CodeBlob"}, {"_code_begin"})) {
    layout.code_start_ = *pointer;
    layout.code_start_is_pointer_ = true;
  } else {
    JITSCOPE_ASSIGN(layout.code_start_, structs.member({"CodeBlob"}, {"_code_offset"}));
  }
  if (auto pointer = structs.member_if({"CodeBlob"}, {"_code_end"})) {
    layout.code_end_ = *pointer;
    layout.code_end_is_pointer_ = true;
  } else {
    // The data section follows the code (codeBlob.hpp: code_end() is header_begin() +
    // _data_offset).
    JITSCOPE_ASSIGN(layout.code_end_, structs.member({"CodeBlob"}, {"_data_offset"}));
  }
  const auto nmethod_kind = structs.int_constant("CodeBlobKind::Nmethod");
  if (nmethod_kind && *nmethod_kind >= 0) {
    layout.kind_ = structs.member_if({"CodeBlob"}, {"_kind"});
    layout.nmethod_kind_ = static_cast<uint64_t>(*nmethod_kind);
  }

  JITSCOPE_ASSIGN(layout.method_, structs.member({"nmethod", "CompiledMethod"}, {"_method"}));
  if (auto pointer = structs.member_if({"nmethod"}, {"_verified_entry_point"})) {
    layout.verified_entry_ = *pointer;
    layout.entry_is_pointer_ = true;
  } else {
    JITSCOPE_ASSIGN(layout.verified_entry_,
                    structs.member({"nmethod"}, {"_verified_entry_offset"}));
  }
  JITSCOPE_ASSIGN(layout.osr_entry_, structs.member({"nmethod"}, {"_osr_entry_point"}));
  JITSCOPE_ASSIGN(layout.entry_bci_, structs.member({"nmethod"}, {"_entry_bci"}));
  JITSCOPE_ASSIGN(layout.level_, structs.member({"nmethod"}, {"_comp_level"}));
  JITSCOPE_ASSIGN(layout.state_, structs.member({"nmethod"}, {"_state"}));
  JITSCOPE_ASSIGN(layout.compile_id_, structs.member({"nmethod"}, {"_compile_id"}));
  JITSCOPE_ASSIGN(layout.blob_size_, structs.type_size("CodeBlob"));
  JITSCOPE_ASSIGN(layout.nmethod_size_, structs.type_size("nmethod"));
  layout.invocation_bci_ = structs.int_constant("InvocationEntryBci").value_or(-1);
  layout.invalidated_osr_bci_ = structs.int_constant("InvalidOSREntryBci").value_or(-2);

  if (structs.find("nmethod", "_stack_traversal_mark") != nullptr) {
    layout.last_not_entrant_ = structs.has_type("CompiledMethod") ? 2 : 1;
    layout.last_state_ = layout.last_not_entrant_ + 2;
  }
  const uint32_t end = std::max(
      {layout.name_.end(), layout.size_.end(), layout.frame_size_.end(), layout.code_start_.end(),
       layout.code_end_.end(), layout.method_.end(), layout.verified_entry_.end(),
       layout.osr_entry_.end(), layout.entry_bci_.end(), layout.level_.end(), layout.state_.end(),
       layout.compile_id_.end(), layout.kind_ ? layout.kind_->end() : 0U});
  if (layout.method_.width != 8 || layout.state_.width != 1 || end > layout.nmethod_size_ ||
      layout.nmethod_size_ > kMaxHeader || layout.blob_size_ > layout.nmethod_size_) {
    return fail(
        ErrorKind::not_possible,
        fmt::format("this JVM's description of nmethod contradicts itself ({} bytes, fields "
                    "up to {})",
                    layout.nmethod_size_, end),
        {}, "its perf map can be used (jcmd PID Compiler.perfmap)");
  }
  layout.header_bytes_ = end;
  return layout;
}

std::optional<BlobHeader> NmethodLayout::decode_blob(uint64_t blob, uint64_t limit,
                                                     std::span<const std::byte> bytes) const {
  StructView view(bytes);
  BlobHeader header;
  header.blob = blob;
  header.name = view.get(name_);
  const uint64_t size = view.get(size_);
  const uint64_t start = view.get(code_start_);
  const uint64_t end = view.get(code_end_);
  const int64_t frame_words = view.get_signed(frame_size_);
  if (kind_) header.is_nmethod = view.get(*kind_) == nmethod_kind_;
  if (!view.ok() || limit < blob || size < blob_size_ || size > limit - blob) return std::nullopt;
  const auto place = [&](uint64_t value, bool is_pointer) -> uint64_t {
    if (is_pointer) return value;
    return value <= size ? blob + value : 0;
  };
  header.code_begin = place(start, code_start_is_pointer_);
  header.code_end = place(end, code_end_is_pointer_);
  if (header.code_begin < blob + blob_size_ || header.code_end < header.code_begin ||
      header.code_end > blob + size) {
    return std::nullopt;
  }
  if (frame_words > 0 && frame_words < kMaxFrameWords) {
    header.frame_bytes = static_cast<uint32_t>(frame_words) * 8;
  }
  return header;
}

std::optional<NmethodState> NmethodLayout::state_of(int64_t raw) const {
  if (raw == 0) return NmethodState::in_use;
  if (raw == -1) return NmethodState::not_installed;
  if (raw < -1 || raw > last_state_) return std::nullopt;
  return raw <= last_not_entrant_ ? NmethodState::not_entrant : NmethodState::dead;
}

std::optional<NmethodHeader> NmethodLayout::decode_nmethod(const BlobHeader& header,
                                                           std::span<const std::byte> bytes) const {
  StructView view(bytes);
  NmethodHeader result;
  result.method = view.get(method_);
  const uint64_t entry = view.get(verified_entry_);
  result.osr_entry = view.get(osr_entry_);
  result.entry_bci = view.get_signed(entry_bci_);
  const uint64_t level = view.get(level_);
  const uint64_t raw_state = view.get(state_);
  result.compile_id = static_cast<uint32_t>(view.get(compile_id_));
  if (!view.ok()) return std::nullopt;

  // `volatile unsigned char` before JDK 9; -1 exists only in the signed form.
  result.raw_state = static_cast<uint8_t>(raw_state);
  const auto state = state_of(static_cast<int8_t>(result.raw_state));
  if (!state || level > kMaxLevel) return std::nullopt;
  result.state = *state;
  result.level = static_cast<uint8_t>(level);
  result.entry = entry_is_pointer_ ? entry : header.code_begin + entry;
  if (result.state == NmethodState::dead) return result;  // the rest may be cleared already

  if (result.method == 0 || (result.method & 7U) != 0) return std::nullopt;
  if (result.entry < header.code_begin || result.entry >= header.code_end) return std::nullopt;
  if (result.entry_bci < 0 && result.entry_bci != invocation_bci_) {
    if (result.entry_bci != invalidated_osr_bci_) return std::nullopt;
    result.entry_bci = NmethodHeader::kInvalidatedOsr;
  }
  if (result.osr() &&
      (result.osr_entry < header.code_begin || result.osr_entry >= header.code_end)) {
    return std::nullopt;
  }
  return result;
}

bool is_nmethod_name(std::string_view name) {
  return name == "nmethod" || name == "native nmethod";
}

}  // namespace jitscope::hotspot
