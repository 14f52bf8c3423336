// HotspotReader's answers about the inside of bodies: which nmethod or stub a body is, then frames
// and scopes (body_details.h).
#include <algorithm>
#include <array>

#include "runtimes/hotspot/hotspot_reader.h"

namespace jitscope::hotspot {
namespace {

// Blobs whose frame grows and shrinks while they run: they put interpreter frames in its place.
constexpr std::array<std::string_view, 2> kChangingFrames = {"DeoptimizationBlob",
                                                             "UncommonTrapBlob"};

// Blobs that jump on without ever touching the stack: their frame is the return address.
constexpr std::array<std::string_view, 2> kNoFrames = {"vtable chunks", "InlineCacheBuffer"};
constexpr uint32_t kReturnAddress = 8;

template <size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void HotspotReader::remember(std::span<const Nmethod> nmethods, std::span<const Stub> stubs) {
  placed_.clear();
  for (const Nmethod& nmethod : nmethods) {
    placed_.push_back({nmethod.block, nmethod.blob, nmethod.header.method,
                       nmethod.header.compile_id, nmethod.header.entry_bci});
  }
  std::ranges::sort(placed_, {}, [](const PlacedNmethod& placed) { return placed.blob.blob; });
  if (details_) details_->keep_only(placed_);
  stub_frames_.clear();
  for (const Stub& stub : stubs) {
    FrameInfo frame;
    if (stub.name == "Interpreter") {
      frame.shape = FrameShape::interpreter;
    } else if (is_one_of(kNoFrames, stub.name)) {
      frame = {FrameShape::fixed, kReturnAddress};
    } else if (stub.blob.frame_bytes != 0 && !is_one_of(kChangingFrames, stub.name)) {
      frame = {FrameShape::fixed, stub.blob.frame_bytes};
    }
    stub_frames_.insert_or_assign(stub.blob.code_begin, frame);
  }
}

std::vector<BodyDetail> HotspotReader::details(MemoryReader& memory, Diagnostics& diagnostics,
                                               std::span<const CodeBody* const> bodies) {
  std::vector<BodyDetail> result(bodies.size());
  std::vector<const PlacedNmethod*> wanted;
  std::vector<size_t> owners;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const CodeBody& body = *bodies[i];
    if (body.tier == Tier::stub) {
      const auto found = stub_frames_.find(body.address);
      if (found != stub_frames_.end()) result[i].frame = found->second;
      continue;
    }
    const auto found = std::ranges::upper_bound(
        placed_, body.address, {}, [](const PlacedNmethod& placed) { return placed.blob.blob; });
    if (found == placed_.begin()) continue;
    const PlacedNmethod& placed = *std::prev(found);
    if (placed.blob.code_begin != body.address || placed.compile_id != body.version) continue;
    if (placed.blob.frame_bytes != 0) {
      result[i].frame = {FrameShape::fixed, placed.blob.frame_bytes};
    } else if (body.tier == Tier::native) {
      // MethodHandle.linkTo* and invokeBasic jump on.
      result[i].frame = {FrameShape::fixed, kReturnAddress};
    }
    wanted.push_back(&placed);
    owners.push_back(i);
  }
  if (!details_) return result;
  auto scopes = details_->read(memory, heaps_, layout_, names_, wanted, diagnostics);
  for (size_t i = 0; i < wanted.size(); ++i) result[owners[i]].scopes = std::move(scopes[i]);
  return result;
}

}  // namespace jitscope::hotspot
