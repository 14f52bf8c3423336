// What surgery is tried again for, and for how long.
#include "probe/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace jitscope {
namespace {

using std::chrono::milliseconds;

Error with(ErrorKind kind, int code) {
  return {kind, "no", {}, {}, code};
}
const Error held = with(ErrorKind::not_permitted, EBUSY);
const Error late = with(ErrorKind::not_possible, ETIMEDOUT);
const Error refused = with(ErrorKind::not_permitted, EPERM);

Patience patience_of(std::chrono::milliseconds time) {
  Patience patience;
  patience.for_tracer = time;
  return patience;
}

// How often `work` ran; it gives `error` until it has run `failures` times.
unsigned tries(const Patience& patience, const Error& error, unsigned failures) {
  unsigned count = 0;
  (void)patiently<int>(patience, [&]() -> Result<int> {
    if (++count <= failures) return fail(error);
    return 1;
  });
  return count;
}

TEST(Patience, ATracerThatGoesAwayIsWaitedFor) {
  EXPECT_EQ(tries(patience_of(std::chrono::minutes(1)), held, 20), 21U);
}

TEST(Patience, ATracerThatStaysIsNotWaitedForForEver) {
  const unsigned count = tries(patience_of(milliseconds(30)), held, UINT32_MAX);
  EXPECT_GE(count, 2U);
}

TEST(Patience, OneWhoIsInAHurryDoesNotWait) {
  unsigned asked = 0;
  const Patience patience{std::chrono::minutes(1), [&] { return ++asked > 3; }, {}};
  EXPECT_EQ(tries(patience, held, UINT32_MAX), 4U);
}

TEST(Patience, ALongWaitIsToldOnce) {
  unsigned told = 0;
  const Patience patience{milliseconds(1300), {}, [&](const Error&) { ++told; }};
  EXPECT_GT(tries(patience, held, UINT32_MAX), 2U);
  EXPECT_EQ(told, 1U);
}

TEST(Patience, ThreadsThatAreLateGetAFewTries) {
  EXPECT_EQ(tries({}, late, 2), 3U);
  EXPECT_EQ(tries({}, late, UINT32_MAX), 6U);
}

TEST(Patience, ThreadsThatAreLateAreToldOnce) {
  unsigned told = 0;
  const Patience patience{milliseconds(0), {}, [&](const Error&) { ++told; }};
  EXPECT_EQ(tries(patience, late, 1), 2U);
  EXPECT_EQ(told, 0U);
  EXPECT_EQ(tries(patience, late, UINT32_MAX), 6U);
  EXPECT_EQ(told, 1U);
}

TEST(Patience, OtherErrorsAreFinal) {
  EXPECT_EQ(tries({}, refused, UINT32_MAX), 1U);
  EXPECT_EQ(tries({}, with(ErrorKind::target_gone, ESRCH), UINT32_MAX), 1U);
  EXPECT_FALSE(held_by_tracer(refused));
  EXPECT_TRUE(held_by_tracer(held));
}

}  // namespace
}  // namespace jitscope
