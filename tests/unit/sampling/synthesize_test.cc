#include "sampling/synthesize.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/byte_cursor.h"
#include "base/unique_fd.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::RecordBuilder;
using perfdata::RecordType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Without trailers, so that a record is what its type says and no more.
const RecordBuilder kPlain(0, false);

struct Raw {
  RecordType type{};
  uint16_t misc = 0;
  std::string body;
};

std::vector<Raw> split(const std::string& records) {
  std::vector<Raw> out;
  ByteCursor cursor{std::string_view(records)};
  while (!cursor.at_end()) {
    Raw raw;
    raw.type = static_cast<RecordType>(cursor.u32());
    raw.misc = cursor.u16();
    const uint16_t size = cursor.u16();
    const auto body = cursor.bytes(size - 8U);
    EXPECT_TRUE(cursor.ok());
    if (!cursor.ok()) break;
    raw.body.assign(reinterpret_cast<const char*>(body.data()), body.size());
    out.push_back(std::move(raw));
  }
  return out;
}

struct RawMmap2 {
  uint32_t pid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t offset = 0;
  uint32_t major = 0;
  uint64_t inode = 0;
  uint32_t protection = 0;
  uint32_t flags = 0;
  std::string path;
};

RawMmap2 mmap2_of(const Raw& raw) {
  EXPECT_EQ(raw.type, RecordType::mmap2);
  EXPECT_EQ(raw.misc & ~perfdata::kMiscMmapData, perfdata::kMiscUser);
  ByteCursor cursor{std::string_view(raw.body)};
  RawMmap2 out;
  out.pid = cursor.u32();
  EXPECT_EQ(cursor.u32(), out.pid);
  out.start = cursor.u64();
  out.length = cursor.u64();
  out.offset = cursor.u64();
  out.major = cursor.u32();
  (void)cursor.u32();
  out.inode = cursor.u64();
  (void)cursor.u64();
  out.protection = cursor.u32();
  out.flags = cursor.u32();
  out.path = cursor.c_string();
  EXPECT_TRUE(cursor.ok());
  return out;
}

TEST(Synthesize, ExecutableMappingsOfAMapsFile) {
  const auto maps = parse_maps(
      "00400000-00401000 r--p 00000000 08:01 77                 /bin/a b\n"
      "00401000-00403000 r-xp 00001000 08:01 77                 /bin/a b\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000001000-7f0000002000 r-xs 00000000 00:05 9          /dev/zero (deleted)\n"
      "7f0000002000-7f0000003000 rwxp 00000000 00:00 0          [anon:v8]\n"
      "7f0000003000-7f0000004000 --xp 00000000 00:01 1024       /memfd:x (deleted)\n"
      "7f0000004000-7f0000005000 rw-p 00000000 00:00 0          [heap]\n"
      "7fff00000000-7fff00002000 r-xp 00000000 00:00 0          [vdso]\n");
  std::string out;
  append_mapping_records(out, kPlain, 12, maps);
  const auto records = split(out);
  ASSERT_THAT(records, SizeIs(6));
  const RawMmap2 file = mmap2_of(records[0]);
  EXPECT_EQ(file.pid, 12);
  EXPECT_EQ(file.start, 0x401000);
  EXPECT_EQ(file.length, 0x2000);
  EXPECT_EQ(file.offset, 0x1000);
  EXPECT_EQ(file.major, 8);
  EXPECT_EQ(file.inode, 77);
  EXPECT_EQ(file.protection, static_cast<uint32_t>(PROT_READ | PROT_EXEC));
  EXPECT_EQ(file.flags, static_cast<uint32_t>(MAP_PRIVATE));
  EXPECT_EQ(file.path, "/bin/a b");
  EXPECT_EQ(mmap2_of(records[1]).path, "//anon");
  EXPECT_EQ(mmap2_of(records[1]).protection,
            static_cast<uint32_t>(PROT_READ | PROT_WRITE | PROT_EXEC));
  EXPECT_EQ(mmap2_of(records[2]).path, "/dev/zero (deleted)");
  EXPECT_EQ(mmap2_of(records[2]).flags, static_cast<uint32_t>(MAP_SHARED));
  EXPECT_EQ(mmap2_of(records[3]).path, "[anon:v8]");
  EXPECT_EQ(mmap2_of(records[4]).path, "/memfd:x (deleted)");
  EXPECT_EQ(mmap2_of(records[4]).protection, static_cast<uint32_t>(PROT_EXEC));
  EXPECT_EQ(mmap2_of(records[5]).path, "[vdso]");
}

class SynthesizeImages : public test::ScratchFolderTest {
 protected:
  void* mapped(const std::string& name, std::string_view content) {
    const UniqueFd fd(::open(write(name, content).c_str(), O_RDONLY | O_CLOEXEC));
    return ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  }
};

TEST_F(SynthesizeImages, HeadersThatAreNotExecutableAreTold) {
  void* const image = mapped("a.dll", "MZ and so on");
  void* const text = mapped("a.txt", "no image");
  ASSERT_NE(image, MAP_FAILED);
  ASSERT_NE(text, MAP_FAILED);
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps);
  const std::vector<Mapping> headers = image_headers(::getpid(), *maps);
  ASSERT_THAT(headers, SizeIs(1));
  EXPECT_EQ(headers[0].start, reinterpret_cast<uintptr_t>(image));
  std::string out;
  append_mapping_records(out, kPlain, ::getpid(), headers);
  const auto records = split(out);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].misc, perfdata::kMiscUser | perfdata::kMiscMmapData);
  const RawMmap2 told = mmap2_of(records[0]);
  EXPECT_TRUE(told.path.ends_with("a.dll")) << told.path;
  EXPECT_EQ(told.start, headers[0].start);
  EXPECT_EQ(told.protection, static_cast<uint32_t>(PROT_READ));
  ::munmap(image, 4096);
  ::munmap(text, 4096);
}

class NoMemory : public MemoryReader {
 public:
  Status read(uint64_t /*address*/, std::span<std::byte> /*out*/) override {
    return fail(ErrorKind::not_permitted, "not yours");
  }
};

TEST_F(SynthesizeImages, FilesTellWhereMemoryMayNotBeRead) {
  write("a.dll", "MZ and so on");
  write("b.so", "\x7f ELF");
  write("c.dll", "M");
  ASSERT_EQ(::mkfifo((folder_ + "/d.dll").c_str(), 0600), 0);
  std::vector<Mapping> maps;
  for (const char* name : {"a.dll", "b.so", "c.dll", "d.dll", "gone.dll"}) {
    struct stat status = {};
    (void)::stat((folder_ + "/" + name).c_str(), &status);
    Mapping mapping;
    mapping.start = 0x1000;
    mapping.end = 0x2000;
    mapping.inode = std::max<uint64_t>(status.st_ino, 1);
    mapping.readable = true;
    mapping.path = std::string("/") + name;
    maps.push_back(mapping);
  }
  maps.push_back(maps.front());
  ++maps.back().inode;  // another file lies there now
  maps.push_back(maps.front());
  maps.back().deleted = true;
  maps.push_back(maps.front());
  maps.back().offset = 0x1000;
  NoMemory none;
  const std::vector<Mapping> headers = image_headers(none, folder_, maps);
  ASSERT_THAT(headers, SizeIs(1));
  EXPECT_EQ(headers[0].path, "/a.dll");
}

TEST(Synthesize, ThreadsOfThisProcess) {
  std::string out;
  append_thread_records(out, kPlain, ::getpid());
  const auto records = split(out);
  ASSERT_GE(records.size(), 3U);
  EXPECT_EQ(records[0].type, RecordType::namespaces);
  ByteCursor namespaces{std::string_view(records[0].body)};
  EXPECT_EQ(namespaces.u32(), static_cast<uint32_t>(::getpid()));
  (void)namespaces.u32();
  EXPECT_EQ(namespaces.u64(), 7);
  EXPECT_EQ(records[1].type, RecordType::fork);
  EXPECT_EQ(records[1].misc, perfdata::kMiscForkExec);
  ByteCursor fork{std::string_view(records[1].body)};
  EXPECT_EQ(fork.u32(), static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(fork.u32(), static_cast<uint32_t>(::getppid()));
  EXPECT_EQ(fork.u32(), static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(records[2].type, RecordType::comm);
  ByteCursor comm{std::string_view(records[2].body)};
  comm.skip(8);
  EXPECT_EQ(comm.c_string(), std::string(program_invocation_short_name).substr(0, 15));
}

TEST(Synthesize, NothingOfAProcessThatIsGone) {
  std::string out;
  append_thread_records(out, kPlain, 0x7ffffffe);
  EXPECT_THAT(out, IsEmpty());
}

struct KernelMmap {
  uint64_t start;
  uint64_t length;
  uint64_t offset;
  std::string path;
  bool operator==(const KernelMmap&) const = default;
};

std::vector<KernelMmap> kernel_mmaps(const std::string& records) {
  std::vector<KernelMmap> out;
  for (const Raw& raw : split(records)) {
    EXPECT_EQ(raw.type, RecordType::mmap);
    EXPECT_EQ(raw.misc, perfdata::kMiscKernel);
    ByteCursor cursor{std::string_view(raw.body)};
    EXPECT_EQ(cursor.u32(), UINT32_MAX);
    EXPECT_EQ(cursor.u32(), 0);
    KernelMmap mmap{cursor.u64(), cursor.u64(), cursor.u64(), {}};
    mmap.path = cursor.c_string();
    EXPECT_TRUE(cursor.ok());
    out.push_back(std::move(mmap));
  }
  return out;
}

TEST(Synthesize, TheKernelAndItsModules) {
  KernelTexts texts;
  texts.kallsyms =
      "0000000000000000 A fixed_percpu_data\n"
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T _text\n"
      "ffffffff81000100 T start_kernel\n"
      "ffffffff82209988 T _etext\n"
      "ffffffffc0000010 t f\t[virtio_net]\n";
  texts.modules =
      "zram 4096 0 - Live 0xffffffffc0100000\n"
      "virtio_net 61440 1 zram, Live 0xffffffffc0000000 (E)\n"
      "hidden 4096 0 - Live 0x0000000000000000\n"
      "nonsense\n";
  texts.modules_dep = "kernel/drivers/net/virtio-net.ko.xz: kernel/a.ko\nkernel/a.ko:\n";
  texts.module_folder = "/lib/modules/6.1";
  std::string out;
  ASSERT_TRUE(append_kernel_records(out, kPlain, texts));
  EXPECT_THAT(kernel_mmaps(out),
              ElementsAre(KernelMmap{0xffffffff81000000, 0x1209988, 0xffffffff81000000,
                                     "[kernel.kallsyms]_text"},
                          KernelMmap{0xffffffffc0000000, 61440, 0,
                                     "/lib/modules/6.1/kernel/drivers/net/virtio-net.ko.xz"},
                          KernelMmap{0xffffffffc0100000, 4096, 0, "[zram]"}));
}

TEST(Synthesize, WithoutAnEndTheKernelReachesToItsFirstModule) {
  KernelTexts texts;
  texts.kallsyms = "ffffffff81000000 T _stext\n";
  std::string out;
  ASSERT_TRUE(append_kernel_records(out, kPlain, texts));
  EXPECT_THAT(kernel_mmaps(out),
              ElementsAre(KernelMmap{0xffffffff81000000, UINT64_MAX - 0xffffffff81000000,
                                     0xffffffff81000000, "[kernel.kallsyms]_stext"}));
  texts.modules = "m 8192 0 - Live 0xffffffffc0000000\n";
  out.clear();
  ASSERT_TRUE(append_kernel_records(out, kPlain, texts));
  EXPECT_EQ(kernel_mmaps(out)[0].length, 0xffffffffc0000000 - 0xffffffff81000000);
}

TEST(Synthesize, AKernelThatHidesItsAddresses) {
  KernelTexts texts;
  texts.kallsyms = "0000000000000000 T _text\n0000000000000000 T _etext\n";
  std::string out;
  const Status status = append_kernel_records(out, kPlain, texts);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::not_permitted);
  texts.kallsyms = "";
  EXPECT_EQ(append_kernel_records(out, kPlain, texts).error().kind, ErrorKind::not_possible);
  texts.kallsyms = std::string_view("\xff\x00 _text\n_etext zz\n   \n", 22);
  EXPECT_FALSE(append_kernel_records(out, kPlain, texts));
  EXPECT_THAT(out, IsEmpty());
}

}  // namespace
}  // namespace jitscope
