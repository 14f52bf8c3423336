// What doctor prints of a diagnosis, and its JSON lines.
#include "render/doctor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace jitscope {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Diagnosis forked_server() {
  Diagnosis diagnosis;
  diagnosis.samples = 100;
  diagnosis.frames = 300;
  diagnosis.named_frames = 150;
  diagnosis.unnamed_leaves = 47;
  diagnosis.complaints = {{9, "cc1", NoName::stripped, 12, 12, "/usr/bin/cc1", "install symbols"},
                          {1, "worker", NoName::stripped, 11, 20, "/bin/worker", "install symbols"},
                          {2, "worker", NoName::stripped, 10, 20, "/bin/worker", "install symbols"},
                          {3, "worker", NoName::stripped, 8, 20, "/bin/worker", "install symbols"},
                          {4, "worker", NoName::stripped, 6, 20, "/bin/worker", "install symbols"},
                          {4, "worker", NoName::no_mapping, 0, 30, "", ""}};
  return diagnosis;
}

TEST(DoctorText, ProcessesOfOneNameThatLackTheSameAreOneEntry) {
  const std::string text = doctor_text(forked_server());
  EXPECT_THAT(text, HasSubstr("       35         80  worker 1, 2, 3 and 1 more: the ELF file has "
                              "no symbols (stripped)\n"));
  EXPECT_THAT(text,
              HasSubstr("       12         12  cc1 9: the ELF file has no symbols (stripped)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("        0         30  worker 4: no mapping of the process holds the address\n"));
  EXPECT_LT(text.find("worker 1"), text.find("cc1 9")) << "ordered by what they have together";
  EXPECT_THAT(text, Not(HasSubstr("sources of names")));
}

TEST(DoctorText, JsonKeepsProcessesApart) {
  std::istringstream lines(doctor_json(forked_server()));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["type"], "diagnosis");
  uint64_t leaves = 0;
  size_t complaints = 0;
  while (std::getline(lines, line)) {
    const Json each = Json::parse(line);
    EXPECT_EQ(each["type"], "complaint");
    leaves += each["leaf_samples"].get<uint64_t>();
    ++complaints;
  }
  EXPECT_EQ(complaints, 6u);
  EXPECT_EQ(leaves, 47u);
}

}  // namespace
}  // namespace jitscope
