// See dotnet_stubs.h.
#include "runtimes/dotnet/dotnet_stubs.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/work_limit.h"
#include "runtimes/dotnet/stub_patterns.h"

namespace jitscope {
namespace {

// Loader heaps are made of blocks of this size, so that no stub lies across a piece's end.
constexpr uint64_t kPiece = 256U << 10U;

// Memory of a JIT, and of what the runtime makes beside that: mapped twice, or anonymous.
bool may_hold_stubs(const Mapping& mapping) {
  if (!mapping.executable || !mapping.readable) return false;
  if (mapping.path.starts_with("/memfd:doublemapper")) return true;
  return !mapping.file_backed() && (mapping.path.empty() || mapping.path.starts_with("[anon"));
}

class StubScan {
 public:
  StubScan(const std::vector<Mapping>& maps, MemoryReader& memory) : maps_(maps), memory_(memory) {}

  Snapshot run() {
    uint64_t bytes = 0;
    for (const Mapping& mapping : maps_) {
      if (!may_hold_stubs(mapping)) continue;
      for (uint64_t at = mapping.start; at < mapping.end; at += kPiece) {
        const uint64_t size = std::min(kPiece, mapping.end - at);
        bytes += size;
        if (bytes > DotnetStubs::kMostBytes || WorkLimit::over() ||
            snapshot_.bodies.size() >= DotnetStubs::kMostBodies) {
          ++snapshot_.torn;
          return std::move(snapshot_);
        }
        look_at(at, size);
      }
    }
    return std::move(snapshot_);
  }

 private:
  void look_at(uint64_t start, uint64_t size) {
    buffer_.resize(size);
    if (!memory_.read(start, buffer_)) {
      ++snapshot_.torn;
      return;
    }
    const std::span<const std::byte> bytes(buffer_);
    for (size_t at = 0; at + kDotnetStubAlignment <= bytes.size();) {
      const auto found = dotnet_stub_at(bytes.subspan(at), start + at,
                                        [this](uint64_t address) { return is_code(address); });
      if (!found || found->size == 0) {
        at += kDotnetStubAlignment;
        continue;
      }
      add(start + at + found->begin, found->size, found->name);
      const size_t end = at + found->begin + found->size;
      at = (end + kDotnetStubAlignment - 1) / kDotnetStubAlignment * kDotnetStubAlignment;
    }
  }

  void add(uint64_t address, uint64_t size, std::string_view name) {
    if (!snapshot_.bodies.empty()) {
      CodeBody& last = snapshot_.bodies.back();
      if (last.address + last.size == address && last.name->function == name) {
        last.size += size;
        return;
      }
    }
    CodeBody body;
    body.address = address;
    body.size = size;
    body.name = named(name);
    body.tier = Tier::stub;
    body.not_probeable = "code of the runtime itself";
    snapshot_.bodies.push_back(std::move(body));
  }

  std::shared_ptr<const MethodName> named(std::string_view name) {
    auto& known = names_[name];
    if (known == nullptr) {
      MethodName made;
      made.function = made.raw = std::string(name);
      known = std::make_shared<const MethodName>(std::move(made));
    }
    return known;
  }

  [[nodiscard]] bool is_code(uint64_t address) const {
    const Mapping* mapping = find_mapping(maps_, address);
    return mapping != nullptr && mapping->executable;
  }

  const std::vector<Mapping>& maps_;
  MemoryReader& memory_;
  std::vector<std::byte> buffer_;
  std::map<std::string_view, std::shared_ptr<const MethodName>> names_;  // of constants
  Snapshot snapshot_;
};

}  // namespace

Snapshot find_dotnet_stubs(const std::vector<Mapping>& maps, MemoryReader& memory) {
  return StubScan(maps, memory).run();
}

Result<Snapshot> DotnetStubs::read() {
  JITSCOPE_TRY(process_.check_same());
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process_.maps());
  return find_dotnet_stubs(maps, process_.memory());
}

}  // namespace jitscope
