// Finds the areas of debug information in nmethods; see scope_layout.h.
#include "runtimes/hotspot/scope_layout.h"

#include <algorithm>

namespace jitscope::hotspot {
namespace {

constexpr uint32_t kMaxScopeHeader = 4096;
// Far above real nmethods: the JVM limits one to some hundred KB of code.
constexpr uint64_t kMaxScopeBytes = 4U << 20U;
constexpr uint64_t kMaxMetadataBytes = 1U << 20U;
constexpr uint64_t kMaxAddress = 1ULL << 56U;

// [from, to) if it makes sense.
std::optional<ByteRange> area(uint64_t from, uint64_t to, uint64_t most) {
  if (from >= kMaxAddress || to < from || to - from > most) return std::nullopt;
  return ByteRange{from, static_cast<uint32_t>(to - from)};
}

}  // namespace

Result<ScopeLayout> ScopeLayout::open(const VmStructs& structs) {
  ScopeLayout layout;
  JITSCOPE_ASSIGN(layout.pc_desc_.pc_offset, structs.member({"PcDesc"}, {"_pc_offset"}));
  JITSCOPE_ASSIGN(layout.pc_desc_.scope_offset,
                  structs.member({"PcDesc"}, {"_scope_decode_offset"}));
  JITSCOPE_ASSIGN(const uint64_t size, structs.type_size("PcDesc"));
  JITSCOPE_ASSIGN(layout.blob_size_, structs.member({"CodeBlob"}, {"_size"}));
  JITSCOPE_ASSIGN(layout.data_offset_, structs.member({"CodeBlob"}, {"_data_offset"}));
  JITSCOPE_ASSIGN(layout.pcs_, structs.member({"nmethod"}, {"_scopes_pcs_offset"}));
  layout.immutable_data_ = structs.member_if({"nmethod"}, {"_immutable_data"});
  layout.immutable_size_ = structs.member_if({"nmethod"}, {"_immutable_data_size"});
  if (layout.immutable_data_ && layout.immutable_size_) {
    JITSCOPE_ASSIGN(layout.scopes_, structs.member({"nmethod"}, {"_scopes_data_offset"}));
    layout.pcs_end_ = layout.scopes_;
  } else {
    layout.immutable_data_.reset();
    layout.immutable_size_.reset();
    JITSCOPE_ASSIGN(layout.pcs_end_, structs.member({"nmethod"}, {"_dependencies_offset"}));
    const auto pointer = structs.member_if({"nmethod", "CompiledMethod"}, {"_scopes_data_begin"});
    layout.scopes_are_pointer_ = pointer.has_value();
    if (pointer) {
      layout.scopes_ = *pointer;
    } else {
      JITSCOPE_ASSIGN(layout.scopes_, structs.member({"nmethod"}, {"_scopes_data_offset"}));
    }
  }
  layout.mutable_data_ = structs.member_if({"CodeBlob"}, {"_mutable_data"});
  layout.mutable_size_ = structs.member_if({"CodeBlob"}, {"_mutable_data_size"});
  layout.relocation_size_ = structs.member_if({"CodeBlob"}, {"_relocation_size"});
  if (!layout.mutable_data_ || !layout.mutable_size_ || !layout.relocation_size_) {
    layout.mutable_data_.reset();
    JITSCOPE_ASSIGN(layout.metadata_, structs.member({"nmethod"}, {"_metadata_offset"}));
  }
  layout.oop_maps_ = structs.member_if({"CodeBlob"}, {"_oop_maps"});
  const VmField* maps = structs.find("CodeBlob", "_oop_maps");
  layout.oop_map_count_ = maps != nullptr && maps->type == "OopMapSet*"
                              ? structs.member_if({"OopMapSet"}, {"_om_count"})
                              : structs.member_if({"ImmutableOopMapSet"}, {"_count"});

  uint32_t end = 0;
  for (const FieldRef& field : {layout.blob_size_, layout.data_offset_, layout.scopes_, layout.pcs_,
                                layout.pcs_end_, layout.metadata_}) {
    end = std::max(end, field.end());
  }
  for (const auto& field : {layout.immutable_data_, layout.immutable_size_, layout.mutable_data_,
                            layout.mutable_size_, layout.relocation_size_, layout.oop_maps_}) {
    if (field) end = std::max(end, field->end());
  }
  const uint32_t desc_end =
      std::max(layout.pc_desc_.pc_offset.end(), layout.pc_desc_.scope_offset.end());
  if (end > kMaxScopeHeader || size < desc_end || size > 256 || size == 0 ||
      (layout.oop_map_count_ && layout.oop_map_count_->end() > 256)) {
    return fail(ErrorKind::not_possible,
                "this JVM's description of its debug information contradicts itself");
  }
  layout.pc_desc_.size = static_cast<uint32_t>(size);
  layout.header_bytes_ = end;
  return layout;
}

std::optional<ScopeAreas> ScopeLayout::areas(const BlobHeader& blob,
                                             std::span<const std::byte> bytes) const {
  StructView view(bytes);
  const auto offset = [&](const FieldRef& field) { return view.get(field) & 0xffffffffU; };
  const uint64_t blob_end = blob.blob + offset(blob_size_);
  const uint64_t data_begin = blob.blob + offset(data_offset_);
  const uint64_t base = immutable_data_ ? view.get(*immutable_data_) : blob.blob;
  const uint64_t pcs = base + offset(pcs_);
  const uint64_t pcs_end = base + offset(pcs_end_);
  const uint64_t scopes = scopes_are_pointer_ ? view.get(scopes_) : base + offset(scopes_);
  const uint64_t scopes_end = immutable_size_ ? base + offset(*immutable_size_) : pcs;
  uint64_t metadata = 0;
  uint64_t metadata_end = 0;
  if (mutable_data_) {
    const uint64_t start = view.get(*mutable_data_);
    metadata = start + offset(*relocation_size_);
    metadata_end = start + offset(*mutable_size_);
  } else {
    metadata = (immutable_data_ ? data_begin : blob.blob) + offset(metadata_);
    metadata_end = immutable_data_ ? blob_end : scopes;
  }
  ScopeAreas result;
  if (oop_maps_) result.oop_maps = view.get(*oop_maps_);
  if (!view.ok()) return std::nullopt;
  if (immutable_data_ && base == 0) return ScopeAreas{};

  // One PcDesc for each offset of the code, and two sentinels.
  const uint64_t most_descs = blob.code_end - blob.code_begin + 3;
  const auto pc_area =
      area(pcs, pcs_end, std::min<uint64_t>(most_descs * pc_desc_.size, kMaxScopeBytes));
  const auto scope_area = area(scopes, scopes_end, kMaxScopeBytes);
  const auto metadata_area = area(metadata, metadata_end, kMaxMetadataBytes);
  if (!pc_area || !scope_area || !metadata_area) return std::nullopt;
  result.pc_descs = *pc_area;
  result.scopes = *scope_area;
  result.metadata = *metadata_area;
  const bool inside = result.pc_descs.address >= blob.blob &&
                      result.metadata.address >= blob.blob && scopes_end <= blob_end &&
                      pcs_end <= blob_end && metadata_end <= blob_end;
  if (!immutable_data_ && !inside) return std::nullopt;
  return result;
}

}  // namespace jitscope::hotspot
