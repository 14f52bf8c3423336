// Formats by the endings of names, and one that there is not: what the recipe "add an output
// format" of CONTRIBUTING.md promises.
#include "render/output_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_profile.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

std::string written(const OutputForm& form, const OutputInput& input) {
  std::string text;
  EXPECT_TRUE(form.write(input, [&](std::string_view piece) {
    text += piece;
    return Status();
  }));
  return text;
}

Status write_total(const OutputInput& input, const OutputSink& sink) {
  uint64_t samples = 0;
  for (const StackWeight& each : input.profile.stacks) {
    if (each.event == input.event) samples += each.samples;
  }
  return sink(std::to_string(samples));
}
constexpr OutputForm kTotal = {"a number", {".total"}, false, false, write_total};

TEST(OutputForm, APretendOneIsARow) {
  EXPECT_FALSE(output_form_of("x.total"));
  const ExtraOutputForm extra(kTotal);
  const auto form = output_form_of("x.total");
  ASSERT_TRUE(form);
  const Profile profile = test::sample_profile();
  EXPECT_NE(written(**form, {.profile = profile}), "0");
  EXPECT_THAT(output_form_of("x.svg").error().hint, HasSubstr(".firefox.json or .total"));
}

TEST(OutputForm, EachWritesAndIsFoundByItsEndings) {
  const Profile profile = test::sample_profile();
  for (const OutputForm* form : output_forms()) {
    for (const std::string_view ending : form->endings) {
      if (ending.empty()) continue;
      const auto found = output_form_of("some/file" + std::string(ending));
      ASSERT_TRUE(found) << ending;
      EXPECT_EQ(*found, form);
    }
    EXPECT_FALSE(written(*form, {.profile = profile, .title = "a title"}).empty()) << form->name;
  }
}

TEST(OutputForm, WhatOtherToolsWriteHasAHint) {
  for (const char* path : {"x.svg", "x.jfr", "x.json", "x.otlp", "x.collapsed"}) {
    const auto form = output_form_of(path);
    ASSERT_FALSE(form);
    EXPECT_EQ(form.error().kind, ErrorKind::usage);
    EXPECT_THAT(form.error().hint, HasSubstr("It takes .html, .folded (.txt), ")) << path;
  }
  EXPECT_THAT(output_form_of("x").error().what, HasSubstr("says no form"));
}

TEST(OutputForm, ASinkThatFailsEndsTheWriting) {
  const Profile profile = test::sample_profile();
  for (const OutputForm* form : output_forms()) {
    const Status status = form->write({.profile = profile}, [](std::string_view) -> Status {
      return fail(ErrorKind::not_possible, "full");
    });
    EXPECT_FALSE(status) << form->name;
  }
}

}  // namespace
}  // namespace jitscope
