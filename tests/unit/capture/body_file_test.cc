#include "capture/body_file.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "formats/jitdump/jitdump.h"
#include "support/scratch_folder.h"
#include "unwind/unwind.h"

namespace jitscope {
namespace {

constexpr uint64_t kCode = 0x7f0000000000;

// The code of one body, and nothing else.
class OneBody : public MemoryReader {
 public:
  explicit OneBody(std::vector<std::byte> code) : code_(std::move(code)) {}
  Status read(uint64_t address, std::span<std::byte> out) override {
    if (address < kCode || address + out.size() > kCode + code_.size()) {
      return fail(ErrorKind::not_found, "nothing there");
    }
    std::memcpy(out.data(), code_.data() + (address - kCode), out.size());
    return {};
  }

 private:
  std::vector<std::byte> code_;
};

// A stub of routines, each with a frame of its own.
std::vector<std::byte> routines(size_t count) {
  constexpr std::array<uint8_t, 16> one = {
      0x55,                    // push rbp
      0x48, 0x89, 0xe5,        // mov rbp, rsp
      0x48, 0x83, 0xec, 0x20,  // sub rsp, 0x20
      0xff, 0xd2,              // call rdx
      0xc9,                    // leave
      0xc3,                    // ret
      0x90, 0x90, 0x90, 0x90,
  };
  std::vector<std::byte> code;
  for (size_t i = 0; i < count; ++i) {
    for (const uint8_t byte : one) code.push_back(std::byte{byte});
  }
  return code;
}

struct Unwinding : jitdump::Handler {
  std::vector<UnwindTable> tables;
  uint64_t mapped = 0;
  int loads = 0;
  bool on_load(const jitdump::Load& load) override {
    ++loads;
    mapped = load.unwind_mapped_size;
    if (load.unwind.empty()) return true;
    auto parsed = parse_unwinding_info(load.unwind, load.unwind_header_size, load.size);
    EXPECT_TRUE(parsed);
    if (parsed) tables = std::move(*parsed);
    return true;
  }
  bool on_move(const jitdump::Move& /*move*/) override { return true; }
};

class BodyFileTest : public test::ScratchFolderTest {
 protected:
  Unwinding unwinding(const std::vector<std::byte>& code, uint64_t room) {
    const std::string path = folder_ + "/" + std::to_string(++files_) + ".dump";
    BodyFile file(path, 1);
    OneBody memory(code);
    BodyFile::Body body;
    body.time = 1;
    body.address = kCode;
    body.size = code.size();
    body.name = "stub";
    body.unwind = true;
    body.room = room;
    EXPECT_TRUE(file.load(std::span(&body, 1), memory));
    EXPECT_TRUE(file.close(2));
    Unwinding seen;
    auto source = open_byte_source(path);
    EXPECT_TRUE(source);
    if (!source) return seen;
    auto reader = jitdump::Reader::open(std::move(*source));
    EXPECT_TRUE(reader);
    if (!reader) return seen;
    EXPECT_TRUE((*reader)->read(seen));
    EXPECT_EQ(seen.loads, 1);
    return seen;
  }

  int files_ = 0;
};

TEST_F(BodyFileTest, UnwindTablesGoWhereNothingElseLies) {
  const std::vector<std::byte> code = routines(20);
  const Unwinding all = unwinding(code, UINT64_MAX);
  ASSERT_GT(all.tables.size(), 1U);
  ASSERT_GT(all.mapped, 0U);
  const uint64_t padding = (8 - code.size() % 8) % 8;
  EXPECT_EQ(unwinding(code, padding + all.mapped).tables.size(), all.tables.size());
  EXPECT_TRUE(unwinding(code, 0).tables.empty());
  // The last ones go first.
  const Unwinding some = unwinding(code, padding + all.mapped - 1);
  EXPECT_LT(some.tables.size(), all.tables.size());
  EXPECT_LT(some.mapped, all.mapped);
  for (size_t i = 0; i < some.tables.size(); ++i)
    EXPECT_EQ(some.tables[i].offset, all.tables[i].offset);
}

}  // namespace
}  // namespace jitscope
