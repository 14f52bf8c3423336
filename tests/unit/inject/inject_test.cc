// The output of inject, read by a reader that knows no rule but perf's: a new mapping takes the
// place of what it covers, a fork inherits, and a symbol is what the mapped file has at the offset.
#include "inject/inject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "formats/jitdump/jitdump.h"
#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"
#include "symbolize/elf_image.h"

namespace jitscope {
namespace {

using perfdata::kContextUser;
using perfdata::test::Bytes;
using perfdata::test::EventSpec;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;
using ::testing::ElementsAre;

// No machine gives out pids like these.
constexpr uint32_t kPid = 0x7fff0001;
constexpr uint32_t kChild = 0x7fff0002;
constexpr uint64_t kCode = 0x7f0000000000;
constexpr uint64_t kCodeSize = 0x10000;
constexpr uint64_t kMilli = 1'000'000;
constexpr std::string_view kNone = "-";

// What perf would say of each address of each stack.
class Perf : public perfdata::Handler {
 public:
  bool on_record(const perfdata::Record& record) override {
    if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
      maps_[mmap->pid].push_back(
          {mmap->start, mmap->start + mmap->length, mmap->page_offset, std::string(mmap->path)});
      ++mappings;
    } else if (const auto* fork = std::get_if<perfdata::Fork>(&record.body)) {
      if (fork->pid != fork->parent_pid) maps_[fork->pid] = maps_[fork->parent_pid];
    }
    return true;
  }
  bool on_sample(const perfdata::Sample& sample) override {
    std::string text;
    for (const uint64_t ip : sample.callchain) {
      if (ip >= perfdata::kContextMax) continue;
      if (!text.empty()) text += ' ';
      text += symbol(sample.head.pid, ip);
    }
    names.push_back(text);
    return true;
  }
  std::vector<std::string> names;
  size_t mappings = 0;

 private:
  struct Map {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    std::string path;
  };
  std::string symbol(uint32_t pid, uint64_t ip) {
    const std::vector<Map>& maps = maps_[pid];
    for (size_t i = maps.size(); i-- > 0;) {
      if (ip < maps[i].start || ip >= maps[i].end) continue;
      if (maps[i].path.find(".images/") == std::string::npos) break;
      auto& image = images_[maps[i].path];
      if (image == nullptr) {
        auto opened = ElfImage::open(maps[i].path, {}, {});
        EXPECT_TRUE(opened) << to_string(opened.error());
        if (!opened) break;
        image = std::move(*opened);
      }
      const auto address = image->address_of_offset(ip - maps[i].start + maps[i].offset);
      const auto hit = address ? image->symbol_at(*address) : std::nullopt;
      return std::string(hit ? hit->raw : kNone);
    }
    return std::string(kNone);
  }
  std::map<uint32_t, std::vector<Map>> maps_;
  std::map<std::string, std::unique_ptr<ElfImage>> images_;
};

// What jitscope says of the input.
class Names : public SampleConsumer {
 public:
  explicit Names(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    std::string text;
    for (size_t i = sample.stack.size(); i-- > 0;) {
      const Location location = session_.location(sample.stack[i]);
      const Frame& frame = session_.resolver().frames()[location.frame];
      if (!text.empty()) text += ' ';
      text += frame.method.empty() ? kNone : frame.raw;
      if (frame.ambiguous) text += '?';
    }
    names.push_back(text);
    return true;
  }
  std::vector<std::string> names;

 private:
  Session& session_;
};

class InjectTest : public test::ScratchFolderTest {
 protected:
  static void load(jitdump::Writer& writer, std::string& bytes, std::string_view name,
                   uint64_t address, uint64_t size, uint64_t time) {
    const std::vector<std::byte> code(size, std::byte{0x90});
    jitdump::Load load;
    load.time = load.since = time;
    load.pid = load.tid = kPid;
    load.address = address;
    load.size = size;
    load.name = name;
    load.code = code;
    writer.load(bytes, load);
  }
  static void map_code(PerfDataBuilder& builder, uint64_t time, uint64_t start = kCode,
                       uint64_t length = kCodeSize) {
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = start,
                   .length = length,
                   .path = "//anon",
                   .inode = 0,
                   .stamp = {.pid = kPid, .tid = kPid, .time = time}});
  }
  static void begin(PerfDataBuilder& builder, const std::string& dump) {
    builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
    map_code(builder, 20);
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = 0x1000,
                   .length = 0x1000,
                   .path = dump,
                   .inode = 0,
                   .stamp = {.pid = kPid, .tid = kPid, .time = 30}});
  }
  static void sample(PerfDataBuilder& builder, uint32_t pid, uint64_t time, uint64_t ip) {
    builder.sample(
        {.pid = pid, .tid = pid, .time = time, .ip = ip, .callchain = {kContextUser, ip}});
  }
  InjectOptions options() {
    InjectOptions result;
    result.output = folder_ + "/out.data";
    result.force = true;
    return result;
  }
  Perf read_output(const std::string& path) {
    Perf perf;
    auto source = open_byte_source(path);
    EXPECT_TRUE(source);
    auto reader = perfdata::Reader::open(std::move(*source));
    EXPECT_TRUE(reader) << to_string(reader.error());
    if (!reader) return perf;
    EXPECT_TRUE((*reader)->read(perf));
    EXPECT_TRUE((*reader)->diagnostics().empty());
    return perf;
  }
  std::vector<std::string> expected(const std::string& input) {
    SessionOptions session_options;
    session_options.naming.jit_inlined = false;
    auto session = Session::open(input, session_options);
    EXPECT_TRUE(session);
    Names names(**session);
    EXPECT_TRUE((*session)->run(names));
    return names.names;
  }
};

TEST_F(InjectTest, EachSampleSeesTheBodyOfItsTime) {
  jitdump::Writer writer(kPid);
  std::string dump;
  writer.header(dump, 0);
  load(writer, dump, "first", kCode, 0x100, 100 * kMilli);
  load(writer, dump, "second", kCode + 0x40, 0x100, 200 * kMilli);
  PerfDataBuilder builder;
  begin(builder, write("any.dump", dump));
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  map_code(builder, 160 * kMilli);  // as mprotect tells it
  sample(builder, kPid, 170 * kMilli, kCode + 0x50);
  sample(builder, kPid, 250 * kMilli, kCode + 0x50);
  sample(builder, kPid, 260 * kMilli, kCode + 0x10);  // of the first, which has ended
  builder.fork(kChild, kPid, Stamp{kPid, kPid, 270 * kMilli, 0});
  sample(builder, kChild, 280 * kMilli, kCode + 0x13f);
  const std::string input = write("in.data", builder.file());
  const auto summary = inject(input, options());
  ASSERT_TRUE(summary) << to_string(summary.error());
  const Perf perf = read_output(options().output);
  EXPECT_THAT(perf.names, ElementsAre("first", "first", "second", kNone, "second"));
  EXPECT_EQ(summary->images.size(), 1U);
  EXPECT_EQ(summary->images[0].bodies, 2U);
  EXPECT_EQ(summary->images[0].with_bytes, 2U);
  EXPECT_EQ(summary->jit_samples, 4U);
  EXPECT_EQ(summary->nameless, 1U);
}

TEST_F(InjectTest, MemoryThatGrowsHidesNothingAndCostsNothing) {
  jitdump::Writer writer(kPid);
  std::string dump;
  writer.header(dump, 0);
  load(writer, dump, "code", kCode, 0x100, 100 * kMilli);
  PerfDataBuilder builder;
  begin(builder, write("any.dump", dump));
  sample(builder, kPid, 150 * kMilli, kCode);
  for (uint64_t i = 1; i < 50; ++i) {
    map_code(builder, (150 + i) * kMilli, kCode, kCodeSize + i * 0x1000);
    sample(builder, kPid, (150 + i) * kMilli + 1, kCode + i);
  }
  const std::string input = write("in.data", builder.file());
  const auto summary = inject(input, options());
  ASSERT_TRUE(summary) << to_string(summary.error());
  EXPECT_EQ(summary->mappings, 1U);
  const Perf perf = read_output(options().output);
  EXPECT_THAT(perf.names, ::testing::Each("code"));
  EXPECT_EQ(perf.names.size(), 50U);
  EXPECT_EQ(perf.mappings, 2 + 1 + 49U);  // what is new of each is told
}

TEST_F(InjectTest, AFileMappedOverTheCodeIsTheFile) {
  jitdump::Writer writer(kPid);
  std::string dump;
  writer.header(dump, 0);
  load(writer, dump, "code", kCode, 0x100, 100 * kMilli);
  PerfDataBuilder builder;
  begin(builder, write("any.dump", dump));
  sample(builder, kPid, 150 * kMilli, kCode);
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x1000,
                 .path = "//anon",
                 .prot = 3,
                 .inode = 0,
                 .stamp = {.pid = kPid, .tid = kPid, .time = 160 * kMilli}});
  sample(builder, kPid, 170 * kMilli, kCode);
  const std::string input = write("in.data", builder.file());
  ASSERT_TRUE(inject(input, options()));
  EXPECT_EQ(read_output(options().output).names, expected(input));
}

TEST_F(InjectTest, ItSaysWhatJitscopeSaysWhateverHappens) {
  std::mt19937 random(11);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 40; ++round) {
    jitdump::Writer writer(kPid);
    std::string dump;
    writer.header(dump, 0);
    PerfDataBuilder builder;
    const std::string path = folder_ + "/any.dump";
    begin(builder, path);
    uint64_t time = 100 * kMilli;
    bool child = false;
    for (int step = 0; step < 150; ++step) {
      time += 1000 + below(30 * kMilli);
      switch (below(12)) {
        case 0:
        case 1:
        case 2: {
          const uint64_t address = kCode + below(24) * 0x80;
          load(writer, dump, "body_" + std::to_string(step), address, 0x10 + below(0x200), time);
          break;
        }
        case 3:
          map_code(builder, time, kCode + below(3) * 0x1000, 0x1000 + below(4) * 0x1000);
          break;
        case 4:
          if (!child) builder.fork(kChild, kPid, Stamp{kPid, kPid, time, 0});
          child = true;
          break;
        case 5:
          builder.comm(kPid, kPid, "again", Stamp{kPid, kPid, time, 0}, below(8) == 0);
          break;
        case 6:
          writer.move(dump, {.time = time,
                             .pid = kPid,
                             .tid = kPid,
                             .old_address = kCode + below(24) * 0x80,
                             .new_address = kCode + below(24) * 0x80,
                             .size = 0x10 + below(0x100)});
          break;
        default: {
          const uint32_t pid = child && below(3) == 0 ? kChild : kPid;
          // Return addresses that end a body are of the one behind it to perf: not here.
          sample(builder, pid, time, kCode + below(0xe00));
          break;
        }
      }
    }
    write("any.dump", dump);
    const std::string input = write("in.data", builder.file());
    const auto summary = inject(input, options());
    ASSERT_TRUE(summary) << to_string(summary.error());
    const std::vector<std::string> told = read_output(options().output).names;
    const std::vector<std::string> wanted = expected(input);
    ASSERT_EQ(told.size(), wanted.size());
    for (size_t i = 0; i < told.size(); ++i) {
      ASSERT_EQ(told[i], wanted[i]) << "round " << round << ", sample " << i;
    }
  }
}

TEST_F(InjectTest, UnwindersFindWhatTheStackPointsTo) {
  jitdump::Writer writer(kPid);
  std::string dump;
  writer.header(dump, 0);
  load(writer, dump, "leaf", kCode, 0x100, 100 * kMilli);
  load(writer, dump, "caller", kCode + 0x200, 0x100, 100 * kMilli);
  load(writer, dump, "bystander", kCode + 0x400, 0x100, 100 * kMilli);
  namespace bit = perfdata::sample_bit;
  EventSpec event;
  event.sample_type = bit::kIdentifier | bit::kIp | bit::kTid | bit::kTime | bit::kCallchain |
                      bit::kRegsUser | bit::kStackUser;
  event.user_regs_mask = 1U << 8U;  // ip
  PerfDataBuilder builder{event};
  begin(builder, write("any.dump", dump));
  std::string stack(64, '\0');
  const uint64_t caller = kCode + 0x210;
  std::memcpy(stack.data() + 24, &caller, sizeof(caller));
  builder.sample({.pid = kPid,
                  .tid = kPid,
                  .time = 150 * kMilli,
                  .ip = kCode + 8,
                  .callchain = {kContextUser, kCode + 8},
                  .user_regs = {kCode + 8},
                  .user_stack = stack});
  builder.sample({.pid = kPid,
                  .tid = kPid,
                  .time = 160 * kMilli,
                  .ip = kCode + 8,
                  .callchain = {kContextUser, kCode + 8, caller},
                  .user_regs = {kCode + 8},
                  .user_stack = stack});
  const std::string input = write("in.data", builder.file());
  const auto summary = inject(input, options());
  ASSERT_TRUE(summary) << to_string(summary.error());
  EXPECT_EQ(summary->images.at(0).bodies, 2U);
  // Of both bodies, the image's beginning and its tables.
  EXPECT_EQ(summary->mappings, 4U);
  EXPECT_THAT(read_output(options().output).names, ElementsAre("leaf", "leaf caller"));
}

TEST_F(InjectTest, AttributesAndFeaturesStayAsTheyAre) {
  PerfDataBuilder builder(
      {EventSpec{.ids = {7, 8}}, EventSpec{.config = 1, .flags = 1U << 30U, .ids = {9}}});
  builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
  sample(builder, kPid, 100, 0x1000);
  builder.feature(static_cast<perfdata::Feature>(19), Bytes().u64(0x1234567));
  builder.feature(perfdata::Feature::hostname, Bytes().u32(64).chars("here").zeros(60));
  builder.feature(perfdata::Feature::compressed, Bytes().u32(1).u32(1).u32(1).u32(1).u32(1));
  const std::string input = write("in.data", builder.file());
  ASSERT_TRUE(inject(input, options()));
  perfdata::ReadOptions keep;
  keep.keep_raw = true;
  auto before = perfdata::Reader::open(*open_byte_source(input), keep);
  auto after = perfdata::Reader::open(*open_byte_source(options().output), keep);
  ASSERT_TRUE(before && after);
  auto features = (*before)->header().raw_features;
  features.erase(static_cast<uint8_t>(perfdata::Feature::compressed));
  EXPECT_EQ((*after)->header().raw_features, features);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*after)->header().events[i].raw, (*before)->header().events[i].raw);
    EXPECT_EQ((*after)->header().events[i].ids, (*before)->header().events[i].ids);
  }
}

TEST_F(InjectTest, APipeBecomesAFile) {
  PerfDataBuilder builder;
  builder.feature_record(perfdata::Feature::hostname, Bytes().u32(64).chars("here").zeros(60));
  // The payload stands behind its record.
  builder.record(perfdata::RecordType::tracing_data, 0, Bytes().u32(11));
  const Bytes payload = Bytes().chars("tracing...!").zeros(5);
  builder.raw(payload.data());
  builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
  sample(builder, kPid, 100, 0x1000);
  builder.round();
  const std::string input = write("in.data", builder.pipe());
  const auto summary = inject(input, options());
  ASSERT_TRUE(summary) << to_string(summary.error());
  perfdata::ReadOptions keep;
  keep.keep_raw = true;
  auto after = perfdata::Reader::open(*open_byte_source(options().output), keep);
  ASSERT_TRUE(after);
  EXPECT_FALSE((*after)->header().pipe);
  EXPECT_EQ((*after)->header().hostname, "here");
  EXPECT_EQ((*after)->header().raw_features.at(1), payload.data());
  EXPECT_EQ(read_output(options().output).names.size(), 1U);
}

TEST_F(InjectTest, HardwareTracesAreRefused) {
  PerfDataBuilder builder;
  builder.record(perfdata::RecordType::auxtrace_info, 0, Bytes().u64(1));
  sample(builder, kPid, 100, 0x1000);
  const auto summary = inject(write("in.data", builder.file()), options());
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, ErrorKind::not_possible);
  EXPECT_FALSE(std::filesystem::exists(options().output));
  EXPECT_FALSE(std::filesystem::exists(options().output + ".images"));
}

TEST_F(InjectTest, NothingIsOverwrittenUnasked) {
  PerfDataBuilder builder;
  sample(builder, kPid, 100, 0x1000);
  const std::string input = write("in.data", builder.file());
  InjectOptions careful = options();
  careful.force = false;
  ASSERT_TRUE(inject(input, careful));
  const auto again = inject(input, careful);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::usage);
  InjectOptions itself = options();
  itself.output = input;
  const auto refused = inject(input, itself);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
}

// Whatever is cut off or overwritten: an error, or an output that can be read.
TEST_F(InjectTest, DamagedRecordingsDoNoHarm) {
  jitdump::Writer writer(kPid);
  std::string dump;
  writer.header(dump, 0);
  load(writer, dump, "first", kCode, 0x100, 100 * kMilli);
  load(writer, dump, "second", kCode + 0x40, 0x100, 200 * kMilli);
  const std::string dump_path = write("any.dump", dump);
  PerfDataBuilder builder;
  begin(builder, dump_path);
  for (uint64_t i = 0; i < 6; ++i) sample(builder, kPid, (120 + i * 30) * kMilli, kCode + i * 0x30);
  const std::vector<std::byte> whole = builder.file();
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes = whole;
    std::string damaged = dump;
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    for (int i = 0; i < 3 && !bytes.empty() && round % 3 != 0; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      damaged[40 + random() % (damaged.size() - 40)] = static_cast<char>(random());
    }
    write("any.dump", damaged);
    const std::string input = write("in.data", bytes);
    const auto summary = inject(input, options());
    if (!summary) continue;
    auto reader = perfdata::Reader::open(*open_byte_source(options().output));
    ASSERT_TRUE(reader);
    Perf perf;
    EXPECT_TRUE((*reader)->read(perf));
    EXPECT_EQ(perf.names.size(), summary->samples);
  }
}

}  // namespace
}  // namespace jitscope
