// A live image in use: mapped private r-x, a function's entry patched to its slot, and the kernel's
// uprobe on the slot counting every call. Needs the right to open uprobes (root).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <fstream>

#include "live_image/live_image.h"
#include "live_image/relocate.h"
#include "tests/unit/image/image_file.h"

namespace jitscope {
namespace {

using test::bytes_of;

// A counter of hits of file offset `offset` in this process.
UniqueFd count_hits(int file, uint64_t offset) {
  std::ifstream type_file("/sys/bus/event_source/devices/uprobe/type");
  uint32_t type = 0;
  if (!(type_file >> type)) return {};
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  struct perf_event_attr attr{};
  attr.type = type;
  attr.size = sizeof(attr);
  attr.uprobe_path = reinterpret_cast<uint64_t>(path.c_str());
  attr.probe_offset = offset;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

uint64_t read_count(const UniqueFd& event) {
  uint64_t count = 0;
  EXPECT_EQ(::read(event.get(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
  return count;
}

class LiveImageUprobe : public testing::Test {
 protected:
  using Function = uint64_t (*)(uint64_t, uint64_t);

  void SetUp() override {
    UniqueFd fd = test::new_memfd();
    auto created = LiveImage::create(std::move(fd), {}, 64, 8);
    ASSERT_TRUE(created) << to_string(created.error());
    image.emplace(std::move(*created));
    // Code and image in one reservation, so that they lie within reach of each other.
    length = image->mapped_length();
    void* at =
        ::mmap(nullptr, length + live_image_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    base = static_cast<std::byte*>(at);
    ASSERT_NE(::mmap(base, length, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, image->fd(), 0),
              MAP_FAILED);
    if (::mprotect(base + length, live_image_page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
      GTEST_SKIP() << "this system gives no writable and executable memory";
    }
  }
  void TearDown() override {
    if (base != nullptr) ::munmap(base, length + live_image_page);
  }

  uint64_t address(uint64_t offset) const { return reinterpret_cast<uint64_t>(base + offset); }

  // A function that adds its arguments, entered by way of a slot in a batch of its own; its offset.
  uint64_t probed_function(size_t number, uint64_t common, uint64_t batch, Function& function) {
    // mov [rsp-0x4000],eax; lea rax,[rdi+rsi]; ret
    const auto body =
        bytes_of({0x89, 0x84, 0x24, 0x00, 0xc0, 0xff, 0xff, 0x48, 0x8d, 0x04, 0x37, 0xc3});
    std::byte* entry = base + length + number * 64;
    std::memcpy(entry, body.data(), body.size());
    const uint64_t offset = batch;
    auto slot = build_slot(body, reinterpret_cast<uint64_t>(entry), address(offset),
                           common == 0 ? 0 : address(common));
    EXPECT_TRUE(slot);
    EXPECT_TRUE(image->write_text(offset, slot->code));
    const auto jump = encode_jump(reinterpret_cast<uint64_t>(entry), address(offset));
    std::memcpy(entry, jump->data(), jump->size());
    function = reinterpret_cast<Function>(entry);
    return offset;
  }

  std::optional<LiveImage> image;
  std::byte* base = nullptr;
  uint64_t length = 0;
};

TEST_F(LiveImageUprobe, CountsEveryCallOfADirectSlot) {
  Function function = nullptr;
  const uint64_t slot = probed_function(0, 0, image->begin_batch(slot_stride).value(), function);
  EXPECT_EQ(function(2, 3), 5u);
  const UniqueFd event = count_hits(image->fd(), slot);
  if (!event) GTEST_SKIP() << "uprobes cannot be opened here: " << std::strerror(errno);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(function(i, 1), i + 1);
  EXPECT_EQ(read_count(event), 1000u);

  // A batch that is added while the first one's page carries a uprobe works, too.
  Function second = nullptr;
  const uint64_t other = probed_function(1, 0, image->begin_batch(slot_stride).value(), second);
  const UniqueFd other_event = count_hits(image->fd(), other);
  ASSERT_TRUE(other_event);
  for (uint64_t i = 0; i < 500; ++i) ASSERT_EQ(second(i, 2), i + 2);
  EXPECT_EQ(read_count(event), 1000u);
  EXPECT_EQ(read_count(other_event), 500u);
}

TEST_F(LiveImageUprobe, OneCommonPointCountsAllBodies) {
  const uint64_t batch = image->begin_batch(3 * slot_stride).value();
  ASSERT_TRUE(image->write_text(batch, common_probe_point()));
  Function first = nullptr;
  Function second = nullptr;
  probed_function(0, batch, batch + slot_stride, first);
  probed_function(1, batch, batch + 2 * slot_stride, second);
  EXPECT_EQ(first(2, 3), 5u);
  const UniqueFd event = count_hits(image->fd(), batch);
  if (!event) GTEST_SKIP() << "uprobes cannot be opened here: " << std::strerror(errno);
  for (uint64_t i = 0; i < 300; ++i) ASSERT_EQ(first(i, 1), i + 1);
  for (uint64_t i = 0; i < 200; ++i) ASSERT_EQ(second(i, 2), i + 2);
  EXPECT_EQ(read_count(event), 500u);
}

}  // namespace
}  // namespace jitscope
