// Slots of another jitscope: which may be shared, and when that ends.
#include "probe/foreign_slots.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "live_image/relocate.h"
#include "probe/image_home.h"
#include "probe/trampolines.h"
#include "tests/unit/probe/live_target.h"

namespace jitscope {
namespace {

class ForeignSlotsTest : public test::LiveTargetTest {
 protected:
  // What the other one does; its slots carry no probe.
  std::unique_ptr<Trampolines> other(size_t function) {
    auto trampolines = std::make_unique<Trampolines>(*process_);
    EXPECT_TRUE(trampolines->prepare(target_->address(), target_->address(target_->size())));
    const SiteRequest request{0, body(function, "f"), 0};
    const auto outcomes = trampolines->place({&request, 1}, {});
    EXPECT_TRUE(outcomes && outcomes->front().placed);
    return trampolines;
  }
  ForeignSlot slot_of(const CodeBody& body) const {
    const std::array<const CodeBody*, 1> bodies = {&body};
    return find_foreign_slots(*process_, bodies).front();
  }
};

TEST_F(ForeignSlotsTest, AreSharedAsLongAsTheirJumpIsThere) {
  EXPECT_EQ(slot_of(body(3, "f")).address, 0U);
  const auto first = other(3);
  const ForeignSlot slot = slot_of(body(3, "f"));
  ASSERT_EQ(slot.address, first->jumps().front().slot);
  ASSERT_TRUE(slot.file);
  EXPECT_EQ(slot_of(body(2, "g")).address, 0U);
  EXPECT_TRUE(leads_to(*process_, entry(3), slot));
  EXPECT_FALSE(leads_to(*process_, entry(2), slot));

  auto counting = session();
  ASSERT_TRUE(counting);
  const std::string file = path_of_descriptor(slot.file->get());
  ASSERT_TRUE(counting->add_uprobe(0, file, slot.offset, {}));
  EXPECT_EQ(target_->call(entry(3), 100), 100U);
  EXPECT_EQ(counting->counts(0).calls, 100U);
  EXPECT_EQ(first->withdraw().value_or(0), 1U);
  first->unlink_file();
  EXPECT_FALSE(leads_to(*process_, entry(3), slot));
  EXPECT_EQ(target_->call(entry(3), 100), 100U);
  EXPECT_EQ(counting->counts(0).calls, 100U);
}

// The next image takes the idle one's place, so that its jump is the same, byte for byte.
TEST_F(ForeignSlotsTest, AnotherImageAtTheSamePlaceIsAnother) {
  uint64_t place = 0;
  ForeignSlot old;
  {
    const auto first = other(3);
    place = first->base();
    old = slot_of(body(3, "f"));
    ASSERT_EQ(first->withdraw().value_or(0), 1U);
    first->unlink_file();
  }
  const auto second = other(3);
  ASSERT_EQ(second->base(), place);
  const ForeignSlot fresh = slot_of(body(3, "f"));
  ASSERT_EQ(fresh.address, old.address);
  EXPECT_FALSE(image_is_there(*process_, old));
  EXPECT_TRUE(image_is_there(*process_, fresh));
  EXPECT_TRUE(leads_to(*process_, entry(3), fresh));
  EXPECT_TRUE(second->withdraw());
  second->unlink_file();
}

// A jump that somebody else put there, into the middle of a slot, or to the slot of another entry.
TEST_F(ForeignSlotsTest, OnlyWhatTheImagesTableHas) {
  const auto first = other(3);
  const uint64_t slot = first->jumps().front().slot;
  for (const uint64_t to : {slot, slot + 4, first->base(), slot + slot_stride}) {
    const auto jump = encode_jump(entry(5), to);
    ASSERT_TRUE(jump);
    ASSERT_TRUE(write_memory(*process_, entry(5), *jump));
    EXPECT_EQ(slot_of(body(5, "h")).address, 0U) << to - slot;
  }
  EXPECT_TRUE(first->withdraw());
  first->unlink_file();
}

TEST_F(ForeignSlotsTest, NotWhereATrampolineMayNotBe) {
  const auto first = other(3);
  CodeBody moved = body(3, "f");
  moved.not_probeable = "it moves";
  EXPECT_EQ(slot_of(moved).address, 0U);
  EXPECT_TRUE(first->withdraw());
  first->unlink_file();
}

}  // namespace
}  // namespace jitscope
