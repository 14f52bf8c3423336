#include "inject/plan.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/page.h"
#include "image/code_image.h"

namespace jitscope {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t page_floor(uint64_t value) {
  return value & ~(kPage - 1);
}
uint64_t page_ceil(uint64_t value) {
  return page_floor(value + kPage - 1);
}

}  // namespace

uint32_t InjectPlan::need(uint32_t jit, const JitCode& code, uint32_t pid) {
  const auto found = numbers_.find(jit);
  if (found != numbers_.end()) return found->second;
  PlannedCode planned;
  planned.dump = code.dump.get();
  planned.body = code.body;
  planned.start = code.start;
  planned.size = std::clamp<uint64_t>(code.size, 1, kMostSpan);
  planned.frame = code.frame;
  planned.bytes = code.code;
  planned.jit = jit;
  if (planned.size > UINT64_MAX - planned.start) planned.size = UINT64_MAX - planned.start;
  const uint32_t owner =
      planned.dump == nullptr ? pid : dump_owners_.try_emplace(planned.dump, pid).first->second;
  const uint32_t number = add(planned, owner, true);
  numbers_.emplace(jit, number);
  return number;
}

uint32_t InjectPlan::add(PlannedCode code, uint32_t process, bool own_image) {
  const auto number = static_cast<uint32_t>(codes_.size());
  code.image = image_for(code, process, own_image, code.packed);
  PlannedImage& image = images_[code.image];
  image.codes.push_back(number);
  if (!code.packed) {
    image.taken.emplace(code.start, code.start + code.size);
    image.low = std::min(image.low, code.start);
    image.high = std::max(image.high, code.start + code.size);
  }
  codes_.push_back(code);
  return number;
}

uint32_t InjectPlan::image_for(const PlannedCode& code, uint32_t process, bool own_image,
                               bool& packed) {
  const uint64_t end = code.start + code.size;
  const auto fits = [&](const PlannedImage& image) {
    if (std::max(image.high, end) - std::min(image.low, code.start) > kMostSpan) return false;
    const auto after = image.taken.lower_bound(code.start);
    if (after != image.taken.end() && after->first < end) return false;
    return after == image.taken.begin() || std::prev(after)->second <= code.start;
  };
  std::vector<uint32_t>& mine = images_of_[process];
  for (const uint32_t image : mine) {
    if (fits(images_[image])) return image;
    if (!tables_) break;
  }
  if (!mine.empty() && (!tables_ || !own_image || mine.size() == kMostImages)) {
    packed = true;
    return mine.back();
  }
  PlannedImage image;
  image.pid = process;
  image.number = static_cast<uint32_t>(mine.size() + 1);
  mine.push_back(static_cast<uint32_t>(images_.size()));
  images_.push_back(std::move(image));
  return mine.back();
}

void InjectPlan::need_all() {
  std::unordered_map<const LoadedDump*, std::vector<bool>> there;
  for (const PlannedCode& code : codes_) {
    if (code.dump == nullptr) continue;
    std::vector<bool>& bodies = there[code.dump];
    if (bodies.empty()) bodies.resize(code.dump->timeline.size() + 1);
    bodies[code.body] = true;
  }
  for (const auto& [dump, bodies] : there) {
    for (BodyId id = 0; id < dump->loads && id < bodies.size(); ++id) {
      const TimedBody& body = dump->timeline.body(id);
      if (bodies[id] || body.size == 0 || body.size > kMostSpan) continue;
      PlannedCode code;
      code.dump = dump;
      code.body = id;
      code.start = body.address;
      code.size = body.size;
      add(code, dump_owners_.at(dump), false);
    }
  }
}

void InjectPlan::mapped(uint64_t start, uint64_t end) {
  if (!tables_ || start >= end) return;
  auto next = mapped_.upper_bound(start);
  if (next != mapped_.begin() && std::prev(next)->second >= start) --next;
  while (next != mapped_.end() && next->first <= end) {
    start = std::min(start, next->first);
    end = std::max(end, next->second);
    next = mapped_.erase(next);
  }
  mapped_.emplace(start, end);
}

uint64_t InjectPlan::hole_below(uint64_t limit, uint64_t size) const {
  uint64_t end = page_floor(limit);
  const uint64_t lowest = end > kMostSpan ? end - kMostSpan : kPage;
  auto next = mapped_.lower_bound(end);
  while (end > lowest && end - lowest >= size) {
    if (next == mapped_.begin()) return end - size;
    --next;
    const uint64_t from = next->second >= end ? end : page_ceil(next->second);
    if (from < end && end - from >= size) return end - size;
    end = std::min(end, page_floor(next->first));
  }
  return 0;
}

void InjectPlan::settle() {
  for (const PlannedCode& code : codes_) mapped(code.start, code.start + code.size);
  for (PlannedImage& image : images_) settle(image);
}

void InjectPlan::settle(PlannedImage& image) {
  uint64_t bytes = 0;
  uint64_t on_pages = 0;
  uint64_t touched = 0;  // up to here
  for (const auto& [start, end] : image.taken) {
    bytes += end - start;
    const uint64_t from = std::max(touched, page_floor(start));
    touched = page_ceil(end);
    if (touched > from) on_pages += touched - from;
  }
  constexpr uint64_t allowed_waste = 16U << 20U;
  constexpr uint64_t allowed_gaps = 1U << 20U;
  // Few bytes on many pages make a large file of nothing.
  image.sparse = !image.taken.empty() && page_floor(image.low) > kImageHeaderRoom &&
                 (tables_ || on_pages <= 4 * bytes + allowed_waste);
  uint64_t first = page_floor(image.low);  // of what the image says of the process
  if (image.sparse && tables_) {
    const uint64_t room = (uint64_t{4} << 20U) + page_ceil(image.codes.size() * 1024);
    const uint64_t size = kPage + room;
    if (const uint64_t hole = hole_below(first, size); hole > kImageHeaderRoom) {
      mapped(hole, hole + size);
      first = hole;
      image.anchor_place = kImageHeaderRoom;
      image.tables_place = kImageHeaderRoom + kPage;
      image.tables_room = room;
    }
  }
  uint64_t behind = kImageHeaderRoom;
  if (image.sparse) {
    image.base = first - kImageHeaderRoom;
    behind = page_ceil(image.high - image.base);
  }
  uint64_t size = 0;
  std::vector<uint32_t> packed;
  std::unordered_map<const LoadedDump*, size_t> dumps;  // as they will be read
  for (const uint32_t number : image.codes) {
    PlannedCode& code = codes_[number];
    code.packed = code.packed || !image.sparse;
    if (code.packed) {
      size += code.size;
      packed.push_back(number);
      dumps.try_emplace(code.dump, dumps.size());
    } else {
      code.place = code.start - image.base;
    }
  }
  // In the order in which they will come, so that the file is written from its front to its end.
  std::ranges::sort(packed, {}, [&](uint32_t number) {
    const PlannedCode& code = codes_[number];
    return std::tuple(dumps.at(code.dump), code.body, number);
  });
  // At the same place of a page as in the process, unless that leaves too much between them.
  const uint64_t end = pack(packed, behind, kPage);
  if (end - behind > size + size / 4 + allowed_gaps) pack(packed, behind, kAlignment);
}

uint64_t InjectPlan::pack(std::span<const uint32_t> numbers, uint64_t from, uint64_t modulus) {
  uint64_t next = from;
  for (const uint32_t number : numbers) {
    PlannedCode& code = codes_[number];
    code.place = next + (code.start - next) % modulus;
    // A byte between them, so that a return address behind a last call is not in the next body.
    next = code.place + code.size + 1;
  }
  return next;
}

}  // namespace jitscope
