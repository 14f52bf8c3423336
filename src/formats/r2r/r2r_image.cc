// See r2r_image.h.
#include "formats/r2r/r2r_image.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "formats/r2r/instance_entry.h"

namespace jitscope {
namespace {

constexpr uint64_t kFunctionRow = 12;  // begin, end, unwind information
constexpr uint64_t kComponentRow = 16;
constexpr uint64_t kHotColdRow = 8;

std::string_view machine_text(const PeHeaders& headers) {
  if (headers.machine == PeMachine::arm64) return "arm64";
  if (headers.machine == PeMachine::x86) return "32-bit x86";
  return "another machine";
}

}  // namespace

Result<R2rImage> R2rImage::read(PeImage image, std::shared_ptr<const void> keep) {
  R2rImage out;
  out.image_ = std::move(image);
  out.keep_ = std::move(keep);
  JITSCOPE_ASSIGN(out.header_, R2rHeader::read(out.image_));
  const R2rKind kind = out.header_.kind;
  if (kind == R2rKind::ngen || kind == R2rKind::il_only || kind == R2rKind::native) {
    return fail(ErrorKind::not_possible, std::string(describe(kind)));
  }
  if (kind == R2rKind::component) {
    JITSCOPE_ASSIGN(const auto owner, out.section(R2rSection::owner_composite));
    out.owner_ = ByteCursor(owner).c_string();
    JITSCOPE_TRY(out.read_component({}, {}));
    return out;
  }
  const PeHeaders& headers = out.image_.headers();
  if (headers.machine != PeMachine::x86_64 || !headers.wide) {
    return fail(ErrorKind::not_possible,
                std::string("ReadyToRun code for ").append(machine_text(headers)));
  }
  JITSCOPE_TRY(out.read_components());
  JITSCOPE_TRY(out.read_functions());
  JITSCOPE_TRY(out.read_method_entries());
  JITSCOPE_TRY(out.read_instance_entries());
  JITSCOPE_TRY(out.build());
  return out;
}

Result<EcmaMetadata> R2rImage::metadata_at(PeDirectory where) const {
  return EcmaMetadata::parse(image_.bytes(where));
}

Result<std::span<const std::byte>> R2rImage::section(R2rSection type) const {
  const PeDirectory where = header_.sections.at(type);
  const std::span<const std::byte> bytes = image_.bytes(where);
  if (bytes.size() != where.size) {
    return fail(ErrorKind::damaged, "a section of a ReadyToRun image is not in the file");
  }
  return bytes;
}

Status R2rImage::read_components() {
  const PeDirectory manifest = header_.sections.at(R2rSection::manifest_metadata);
  if (manifest.size != 0) {
    JITSCOPE_ASSIGN(manifest_, metadata_at(manifest));
  }
  if (header_.kind != R2rKind::composite) return read_component({}, {});
  JITSCOPE_ASSIGN(const auto rows, section(R2rSection::component_assemblies));
  ByteCursor table(rows);
  const size_t count = table.size() / kComponentRow;
  if (count > kMostComponents) {
    return fail(ErrorKind::damaged, "a composite image of too many assemblies");
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t cli_rva = table.u32();
    const PeDirectory cli{cli_rva, table.u32()};
    const uint32_t core_rva = table.u32();
    JITSCOPE_TRY(read_component(cli, {core_rva, table.u32()}));
    // Rows of the manifest's references are those of this table.
    if (manifest_) {
      components_.back().name =
          manifest_->name({EcmaTable::assembly_ref, static_cast<uint32_t>(i + 1)});
    }
  }
  return {};
}

Status R2rImage::read_component(PeDirectory cli_header, PeDirectory core_header) {
  Component component;
  R2rSections core;
  const bool own = header_.kind != R2rKind::composite;
  const PeDirectory metadata = own ? header_.metadata : R2rHeader::metadata_of(image_, cli_header);
  // The assemblies of a composite image can have their metadata in their own files alone.
  if (own || (cli_header.size != 0 && metadata.size != 0)) {
    JITSCOPE_ASSIGN(component.metadata, metadata_at(metadata));
  }
  if (!own) {
    ByteCursor cursor(image_.bytes(core_header));
    JITSCOPE_ASSIGN(core, R2rSections::read(cursor));
  }
  const PeDirectory entries = (own ? header_.sections : core).at(R2rSection::method_entries);
  if (entries.size != 0) {
    JITSCOPE_ASSIGN(component.entries, NativeArray::read(image_.bytes(entries)));
  }
  components_.push_back(std::move(component));
  return {};
}

Status R2rImage::read_functions() {
  JITSCOPE_ASSIGN(function_bytes_, section(R2rSection::runtime_functions));
  functions_ = static_cast<uint32_t>(function_bytes_.size() / kFunctionRow);
  uint32_t before = 0;
  for (uint32_t row = 0; row < functions_; ++row) {
    const auto [begin, end] = function(row);
    if (begin < before || end < begin) {
      return fail(ErrorKind::damaged, "the functions of a ReadyToRun image are not in order");
    }
    before = begin;
  }
  origins_.resize(functions_);
  return {};
}

R2rImage::Function R2rImage::function(uint32_t row) const {
  ByteCursor cursor(function_bytes_);
  cursor.seek(row * kFunctionRow);
  const uint32_t begin = cursor.u32();
  return {begin, cursor.u32()};
}

Status R2rImage::add_origin(uint32_t function, Origin origin) {
  if (function >= functions_) {
    return fail(ErrorKind::damaged, "the entry of a method names a function that is not there");
  }
  // Methods that were folded into one have the first's name.
  if (origins_[function].component == kNobody) origins_[function] = origin;
  return {};
}

Status R2rImage::read_method_entries() {
  uint64_t lookups = 0;
  for (uint32_t i = 0; i < components_.size(); ++i) {
    const Component& component = components_[i];
    uint32_t rows = component.entries.size();
    if (component.metadata) rows = std::min(rows, component.metadata->rows(EcmaTable::method_def));
    lookups += rows;
    if (lookups > kMostLookups) return fail(ErrorKind::damaged, "too many entries of methods");
    for (uint32_t row = 0; row < rows; ++row) {
      std::optional<ByteCursor> entry = component.entries.at(row);
      if (!entry) continue;
      const uint32_t function = read_function_number(*entry);
      if (!entry->ok()) return fail(entry->error("the entry of a method"));
      ++method_entries_;
      JITSCOPE_TRY(add_origin(function, {i, row + 1}));
    }
  }
  return {};
}

Status R2rImage::read_instance_entries() {
  const PeDirectory where = header_.sections.at(R2rSection::instance_entries);
  if (where.size == 0) return {};
  // Entries lie before and behind the table, in the same section.
  const PeSection* section = image_.headers().section_at(where.rva);
  if (section == nullptr) return fail(ErrorKind::damaged, "a table of instances in no section");
  instance_bytes_ = image_.from(section->rva);
  signature_budget_ = instance_bytes_.size();
  return each_native_entry(instance_bytes_, where.rva - section->rva, where.size,
                           [&](ByteCursor& entry) { return read_instance(entry); });
}

Status R2rImage::read_instance(ByteCursor& cursor) {
  const size_t start = cursor.offset();
  const auto signature = read_instance_signature(cursor);
  ++instance_entries_;
  if (!signature) {
    // What cannot be read for its kind alone is left out; bytes that make no sense are an error.
    if (signature.error().kind != ErrorKind::not_possible) return fail(signature.error());
    ++unknown_entries_;
    return {};
  }
  const uint32_t function = read_function_number(cursor);
  if (!cursor.ok()) return fail(cursor.error("the entry of a method instance"));
  // Each entry has bytes of its own, so that together they cannot be more than there are.
  const size_t size = cursor.offset() - start;
  if (size > signature_budget_) {
    return fail(ErrorKind::damaged, "the entries of method instances overlap");
  }
  signature_budget_ -= size;
  return add_origin(function, {kInstance, static_cast<uint32_t>(start)});
}

Status R2rImage::build() {
  JITSCOPE_ASSIGN(const auto map, section(R2rSection::hot_cold_map));
  ByteCursor hot_cold(map);
  const auto next_cold = [&]() -> std::pair<uint32_t, uint32_t> {
    if (hot_cold.remaining() < kHotColdRow) return {kNobody, kNobody};
    const uint32_t cold = hot_cold.u32();
    return {cold, hot_cold.u32()};
  };
  auto [cold, hot] = next_cold();
  bool extends = false;  // the last of methods_ goes on with the next row
  for (uint32_t row = 0; row < functions_; ++row) {
    const auto [begin, end] = function(row);
    if (row == cold) {
      extends = hot < functions_ && origins_[hot].component != kNobody;
      if (extends) methods_.push_back({begin, end, hot, true});
      std::tie(cold, hot) = next_cold();
      if (cold <= row) return fail(ErrorKind::damaged, "the cold code is not in order");
      continue;
    }
    if (origins_[row].component != kNobody) {
      methods_.push_back({begin, end, row, false});
      extends = unknown_entries_ == 0;
    } else if (extends) {
      methods_.back().end = std::max(methods_.back().end, end);
    }
  }
  for (size_t i = 1; i < methods_.size(); ++i) {
    if (methods_[i].start < methods_[i - 1].end) {
      return fail(ErrorKind::damaged, "the functions of a ReadyToRun image overlap");
    }
  }
  return {};
}

std::optional<size_t> R2rImage::method_at(uint32_t rva) const {
  const auto next = std::ranges::upper_bound(methods_, rva, {}, &R2rMethod::start);
  if (next == methods_.begin()) return std::nullopt;
  const auto found = std::prev(next);
  if (rva >= found->end) return std::nullopt;
  return static_cast<size_t>(found - methods_.begin());
}

const EcmaMetadata* R2rImage::metadata() const {
  for (const Component& each : components_) {
    if (each.metadata) return &*each.metadata;
  }
  return nullptr;
}

std::vector<std::string_view> R2rImage::components() const {
  std::vector<std::string_view> out;
  if (header_.kind != R2rKind::composite) return out;
  for (const Component& each : components_) {
    const bool named = each.name.empty() && each.metadata;
    out.push_back(named ? each.metadata->assembly_name() : each.name);
  }
  return out;
}

}  // namespace jitscope
