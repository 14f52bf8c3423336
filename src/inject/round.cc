#include "inject/round.h"

#include <algorithm>
#include <cstring>

namespace jitscope {

void InjectRound::add(std::span<const std::byte> record, uint64_t time) {
  std::memcpy(records_.data() + used_, record.data(), record.size());
  used_ += record.size();
  latest_ = std::max(latest_, time);
}

InjectRound::Place InjectRound::add_mapping(std::span<const std::byte> record, uint64_t time) {
  if (time > latest_) {
    const Place place{mappings_.size(), true};
    mappings_.insert(mappings_.end(), record.begin(), record.end());
    return place;
  }
  const Place place{used_, false};
  add(record, 0);
  return place;
}

Status InjectRound::write(perfdata::Writer& writer) {
  if (used_ == 0 && mappings_.empty()) return {};
  JITSCOPE_TRY(writer.records(mappings_));
  JITSCOPE_TRY(writer.records(std::span(records_).first(used_)));
  mappings_.clear();
  used_ = 0;
  latest_ = 0;
  return writer.finished_round();
}

}  // namespace jitscope
