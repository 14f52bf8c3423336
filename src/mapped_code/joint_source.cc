// See joint_source.h.
#include "mapped_code/joint_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace jitscope {

Result<Snapshot> JointSource::read() {
  JITSCOPE_ASSIGN(Snapshot all, jit_->read());
  JITSCOPE_ASSIGN(Snapshot images, images_->read());
  std::erase_if(all.bodies, [&](const CodeBody& body) { return images_->holds(body.address); });
  const auto middle = static_cast<ptrdiff_t>(all.bodies.size());
  std::ranges::move(images.bodies, std::back_inserter(all.bodies));
  std::ranges::inplace_merge(all.bodies, all.bodies.begin() + middle, {}, &CodeBody::address);
  all.torn += images.torn;
  diagnostics_ = jit_->diagnostics();
  diagnostics_.add(images_->diagnostics());
  return all;
}

void JointSource::only(const NameFilter& wanted) {
  jit_->only(wanted);
  images_->only(wanted);
}

Result<std::vector<BodyDetail>> JointSource::details(std::span<const CodeBody* const> bodies) {
  std::vector<const CodeBody*> of_jit;
  for (const CodeBody* body : bodies) {
    if (body->source != SourceKind::mapped_image) of_jit.push_back(body);
  }
  JITSCOPE_ASSIGN(std::vector<BodyDetail> found, jit_->details(of_jit));
  std::vector<BodyDetail> all(bodies.size());
  for (size_t i = 0, next = 0; i < bodies.size(); ++i) {
    if (bodies[i]->source != SourceKind::mapped_image) all[i] = std::move(found[next++]);
  }
  return all;
}

}  // namespace jitscope
