#include "export/image_places.h"

#include <fmt/format.h>

#include "image/elf_layout.h"

namespace jitscope {

std::optional<uint32_t> ImagePlaces::place(uint64_t address, uint64_t size) {
  if (size == 0 || size > kLargestBody || size > UINT64_MAX - address) {
    ++unusable_;
    return std::nullopt;
  }
  if (packed_) return 0;
  if (address > elf_layout::kMostAddress - size) {
    ++out_of_reach_;
    return std::nullopt;
  }
  const auto epoch = epochs_.place(address, size);
  if (!epoch) ++too_many_;
  return epoch;
}

void ImagePlaces::note(std::vector<std::string>& notes) const {
  note_bodies(notes, unusable_, "bodies left out, without a size or of an impossible one");
  note_bodies(notes, out_of_reach_,
              "bodies left out, where no program has code (--layout packed takes them)");
  note_bodies(notes, too_many_,
              fmt::format("bodies left out, where {} later ones lay (--layout packed takes them)",
                          EpochPlan::kMostEpochs));
}

void note_bodies(std::vector<std::string>& notes, uint64_t count, std::string_view what) {
  if (count != 0) notes.push_back(fmt::format("{}: {}", what, count));
}

}  // namespace jitscope
