#include "export/live_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "base/output_file.h"
#include "base/printable.h"

namespace jitscope {
namespace {

bool is_java(SourceKind kind) {
  return kind == SourceKind::hotspot_memory || kind == SourceKind::compiler_perfmap;
}

// A name is the rest of its line; perf, and whoever reads the map, prints it as it is.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return printable(text);
}

}  // namespace

void LiveMap::insert(const CodeBody& body, const CodeScopes* scopes) {
  const uint64_t end = body.address + body.size;
  // What it overlaps is older: it is gone.
  auto it = known_.upper_bound(body.address);
  if (it != known_.begin() && std::prev(it)->first + std::prev(it)->second.size > body.address)
    --it;
  while (it != known_.end() && it->first < end) it = known_.erase(it);
  known_[body.address] = {
      body.size, body.version,
      unfold(body.address, body.size, *body.name, scopes, options_.unfold, options_.style)};
}

Result<bool> LiveMap::update(CodeSource& source) {
  JITSCOPE_ASSIGN(const Snapshot snapshot, source.read());
  torn_ = snapshot.torn;
  bodies_ = snapshot.bodies.size();
  without_ranges_ = 0;
  std::vector<const CodeBody*> fresh;
  for (const CodeBody& body : snapshot.bodies) {
    if (body.size == 0 || body.size > UINT64_MAX - body.address) continue;
    const auto known = known_.find(body.address);
    if (known != known_.end() && known->second.size == body.size &&
        known->second.version == body.version) {
      continue;
    }
    fresh.push_back(&body);
  }
  if (fresh.empty()) return false;
  const bool java = is_java(source.kind());
  const bool inside = java && (options_.unfold != Unfold::none || options_.style.source_position);
  std::vector<BodyDetail> details(fresh.size());
  if (inside) {
    JITSCOPE_ASSIGN(details, source.details(fresh));
  }
  for (size_t i = 0; i < fresh.size(); ++i) {
    const CodeBody& body = *fresh[i];
    if (java) {
      const bool method = body.tier != Tier::stub && body.tier != Tier::native;
      if (inside && method && details[i].scopes == nullptr) ++without_ranges_;
      insert(body, details[i].scopes.get());
      continue;
    }
    MethodName name;
    name.raw = body.name->raw;
    CodeBody plain = body;
    plain.name = std::make_shared<const MethodName>(std::move(name));
    insert(plain, nullptr);
  }
  return true;
}

std::string LiveMap::text() const {
  std::string out;
  for (const auto& [address, body] : known_) {
    for (const UnfoldedRange& range : body.ranges) {
      fmt::format_to(std::back_inserter(out), "{:x} {:x} {}\n", range.address, range.size,
                     one_line(range.name));
    }
  }
  return out;
}

size_t LiveMap::lines() const {
  size_t count = 0;
  for (const auto& [address, body] : known_) count += body.ranges.size();
  return count;
}

Status replace_file(const std::string& path, std::string_view text, bool force) {
  JITSCOPE_ASSIGN(OutputFile file, OutputFile::create(path, force ? Replace::any : Replace::own));
  JITSCOPE_TRY(file.write(text));
  // perf asks for the file's owner, other users' profilers for its mode.
  return file.commit(S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

}  // namespace jitscope
