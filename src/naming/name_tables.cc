#include "naming/name_tables.h"

#include <utility>

namespace jitscope {

uint32_t NameTables::dso_number(const std::string& dso) {
  const auto [it, fresh] = dso_numbers_.try_emplace(dso, static_cast<uint32_t>(dsos_.size()));
  if (fresh) dsos_.push_back(dso);
  return it->second;
}

uint32_t NameTables::inlined_number(std::vector<FrameId> frames) {
  inlined_.push_back(std::move(frames));
  return static_cast<uint32_t>(inlined_.size() - 1);
}

uint32_t NameTables::jit_number(const void* origin, uint64_t number, const JitCode& code) {
  const auto [it, fresh] = jit_numbers_.try_emplace({origin, number, code.frame},
                                                    static_cast<uint32_t>(jit_codes_.size()));
  if (fresh) jit_codes_.push_back(code);
  return it->second;
}

Resolution NameTables::nameless(const AddressQuery& query, NoName reason, FramePlace place,
                                std::string dso, std::string dso_path) {
  Frame frame;
  frame.kind = FrameKind::unknown;
  frame.no_name = reason;
  frame.place = place;
  frame.dso = std::move(dso);
  frame.dso_path = std::move(dso_path);
  Resolution result;
  result.location.ip = query.ip;
  result.location.shown_ip = query.ip;
  result.location.dso = dso_number(frame.dso_path.empty() ? "[unknown]" : frame.dso_path);
  result.location.frame = frames_.number(std::move(frame));
  return result;
}

}  // namespace jitscope
