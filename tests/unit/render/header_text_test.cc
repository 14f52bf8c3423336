// --header: one line a fact, nothing of what is not known, and nothing that a terminal would obey.
#include "render/header_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HeaderText, HasALineForEachFact) {
  perfdata::Header header;
  header.hostname = "machine\n# arch : other";
  header.cpus_available = 8;
  header.cpus_online = 4;
  header.total_memory = 4096;
  header.command_line = {"perf", "record"};
  header.first_sample_time = 1'000'000'500;
  header.last_sample_time = 3'500'000'500;
  header.events.emplace_back();
  header.events[0].name = "cycles";
  header.events[0].frequency = true;
  header.events[0].sample_period = 99;
  const std::string text = recording_header_text(header, "today");
  EXPECT_THAT(text, HasSubstr("# captured on    : today\n"));
  EXPECT_THAT(text, HasSubstr("# hostname : machine\\x0a# arch : other\n"));
  EXPECT_THAT(text, HasSubstr("# nrcpus online : 4\n# nrcpus avail : 8\n"));
  EXPECT_THAT(text, HasSubstr("# total memory : 4096 kB\n# cmdline : perf record \n"));
  EXPECT_THAT(text,
              HasSubstr("# event : name = cycles, type = 0, config = 0x0, sample_freq = 99,"));
  EXPECT_THAT(text, HasSubstr("# time of first sample : 1.000000\n"));
  EXPECT_THAT(text, HasSubstr("# sample duration :   2500.000 ms\n"));
}

TEST(HeaderText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(recording_header_text({}, ""), "# ========\n# ========\n#\n");
  perfdata::Header backwards;
  backwards.first_sample_time = 2;
  backwards.last_sample_time = 1;
  EXPECT_THAT(recording_header_text(backwards, ""), Not(HasSubstr("sample")));
}

}  // namespace
}  // namespace jitscope
