// Exposing methods of a small real target, and undoing what a jitscope that is gone has left.
#include "probe/exposer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "live_image/live_image.h"
#include "probe/image_home.h"
#include "probe/trampolines.h"
#include "probe/undo.h"
#include "symbolize/elf_image.h"
#include "tests/unit/probe/live_target.h"

namespace jitscope {
namespace {

using testing::HasSubstr;

ExposeOptions options_for(std::vector<std::string> patterns, size_t most = 100) {
  ExposeOptions options;
  options.patterns = std::move(patterns);
  options.max_methods = most;
  return options;
}

class ExposerTest : public test::LiveTargetTest {
 protected:
  void SetUp() override {
    LiveTargetTest::SetUp();
    if (IsSkipped()) return;
    source_.bodies = {body(0, "first"), body(1, "first", 2), body(2, "second")};
  }
  std::unique_ptr<Exposer> expose(std::vector<std::string> patterns = {"T.first", "T.second"}) {
    auto exposer = Exposer::start(*process_, source_, options_for(std::move(patterns)));
    EXPECT_TRUE(exposer) << to_string(exposer.error());
    return exposer ? std::move(*exposer) : nullptr;
  }
  UndoReport undo(bool even_in_use = false) {
    auto report = undo_all(*process_, even_in_use);
    EXPECT_TRUE(report) << to_string(report.error());
    return report ? *report : UndoReport{};
  }
  test::FakeSource source_;
};

TEST_F(ExposerTest, OneProbePointForAllBodiesOfAMethod) {
  auto exposer = expose();
  ASSERT_TRUE(exposer);
  const auto methods = exposer->exposed();
  ASSERT_EQ(methods.size(), 2U);
  EXPECT_EQ(methods[0].method, "T.first");
  EXPECT_EQ(methods[0].symbol, "T.first");
  EXPECT_EQ(methods[0].bodies, 2U);
  EXPECT_EQ(methods[0].sites, 2U);
  EXPECT_TRUE(methods[0].reasons.empty());
  EXPECT_THAT(methods[0].bpftrace, HasSubstr("uprobe:" + methods[0].file + ":\"T.first\""));
  EXPECT_EQ(methods[1].sites, 1U);
  EXPECT_NE(methods[0].offset, methods[1].offset);
  auto counting = session();
  ASSERT_TRUE(counting);
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(counting->add_uprobe(i, methods[i].file, methods[i].offset, {}));
  }
  EXPECT_EQ(target_->call(entry(0), 100), 100U);
  EXPECT_EQ(target_->call(entry(1), 10, 4), 40U);
  EXPECT_EQ(target_->call(entry(2), 7), 7U);
  EXPECT_EQ(counting->counts(0).calls, 140U);
  EXPECT_EQ(counting->counts(1).calls, 7U);

  // A body that comes later leads through the same point.
  source_.bodies.push_back(body(9, "first", 3));
  EXPECT_TRUE(eventually([&] { return exposer->step({}).value_or(false) && is_jump(9); }));
  EXPECT_EQ(target_->call(entry(9), 5), 5U);
  EXPECT_EQ(counting->counts(0).calls, 145U);
  EXPECT_EQ(exposer->exposed()[0].sites, 3U);

  EXPECT_EQ(exposer->finish().value_or(99), 4U);
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(std::filesystem::exists(methods[0].file));
  EXPECT_EQ(target_->call_each(entry(0), stride, 10, 3), 30U);
  EXPECT_EQ(counting->counts(0).calls, 145U);
}

TEST_F(ExposerTest, TheSymbolsAreInTheFile) {
  auto exposer = expose();
  ASSERT_TRUE(exposer);
  const auto methods = exposer->exposed();
  auto image = ElfImage::open(methods[0].file, {});
  ASSERT_TRUE(image) << to_string(image.error());
  for (const ExposedMethod& method : methods) {
    const auto address = (*image)->address_of_offset(method.offset);
    ASSERT_TRUE(address);
    const auto hit = (*image)->symbol_at(*address);
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->raw, method.symbol);
  }
}

TEST_F(ExposerTest, CommandsForToolsHaveNamesThatTheyTake) {
  const std::string name = "1" + std::string(80, 'x') + "9" + std::string(58, 'y');
  source_.bodies = {test::code_body(entry(0), test::method_name("T", name), 1, stride)};
  auto exposer = expose({"T.*"});
  ASSERT_TRUE(exposer);
  const ExposedMethod method = exposer->exposed().at(0);
  const std::string start = "p:jitscope/";
  const size_t at = method.tracefs.find(start);
  ASSERT_NE(at, std::string::npos);
  const size_t begin = at + start.size();
  const std::string event = method.tracefs.substr(begin, method.tracefs.find(' ', begin) - begin);
  EXPECT_LE(event.size(), 63U);
  EXPECT_FALSE(std::isdigit(static_cast<unsigned char>(event.at(0)))) << event;
}

TEST_F(ExposerTest, BodiesThatGoAreCountedOutAndOthersSayWhyNot) {
  CodeBody odd = body(3, "first", 9);
  odd.not_probeable = "the source says no";
  source_.bodies.push_back(odd);
  auto exposer = expose();
  ASSERT_TRUE(exposer);
  EXPECT_EQ(exposer->exposed()[0].bodies, 3U);
  EXPECT_EQ(exposer->exposed()[0].sites, 2U);
  EXPECT_THAT(exposer->exposed()[0].reasons, testing::ElementsAre("the source says no"));
  source_.bodies.erase(source_.bodies.begin());
  EXPECT_TRUE(eventually(
      [&] { return exposer->step({}).value_or(false) && exposer->exposed()[0].sites == 1; }));
  EXPECT_EQ(exposer->exposed()[0].bodies, 2U);
  EXPECT_EQ(exposer->exposed()[0].reasons.size(), 1U);
}

TEST_F(ExposerTest, AMethodThatAppearsLaterIsExposedToo) {
  auto exposer = expose({"T.*"});
  ASSERT_TRUE(exposer);
  const auto before = exposer->exposed();
  source_.bodies.push_back(body(7, "third"));
  EXPECT_TRUE(eventually([&] { return exposer->step({}).value_or(false) && is_jump(7); }));
  EXPECT_EQ(exposer->methods(), 3U);
  const auto after = exposer->exposed();
  ASSERT_EQ(after.size(), 3U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].symbol, before[i].symbol);
    EXPECT_EQ(after[i].offset, before[i].offset);
  }
  EXPECT_EQ(after[2].symbol, "T.third");
  EXPECT_EQ(after[2].sites, 1U);
  EXPECT_THAT(exposer->notes(), testing::IsEmpty());
  // A tool that is started now finds all three.
  auto image = ElfImage::open(after[0].file, {});
  ASSERT_TRUE(image) << to_string(image.error());
  for (const ExposedMethod& method : after) {
    const auto address = (*image)->address_of_offset(method.offset);
    ASSERT_TRUE(address);
    const auto hit = (*image)->symbol_at(*address);
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->raw, method.symbol);
  }
  auto counting = session();
  ASSERT_TRUE(counting);
  ASSERT_TRUE(counting->add_uprobe(0, after[2].file, after[2].offset, {}));
  EXPECT_EQ(target_->call(entry(7), 30), 30U);
  EXPECT_EQ(counting->counts(0).calls, 30U);
  EXPECT_EQ(exposer->finish().value_or(99), 4U);
  EXPECT_TRUE(untouched());
}

TEST_F(ExposerTest, AnOverloadThatAppearsLaterLeavesTheSymbolsAsTheyAre) {
  source_.bodies = {test::code_body(entry(0), test::method_name("T", "f", "int"), 1, stride)};
  auto exposer = expose({"T.f"});
  ASSERT_TRUE(exposer);
  const std::string first = exposer->exposed().at(0).symbol;
  source_.bodies.push_back(
      test::code_body(entry(1), test::method_name("T", "f", "long"), 1, stride));
  EXPECT_TRUE(eventually([&] { return exposer->step({}).value_or(false) && is_jump(1); }));
  const auto exposed = exposer->exposed();
  ASSERT_EQ(exposed.size(), 2U);
  EXPECT_EQ(exposed[0].symbol, first);
  EXPECT_NE(exposed[1].symbol, first);
  EXPECT_THAT(exposed[1].symbol, HasSubstr("long"));
}

TEST_F(ExposerTest, MoreMethodsThanAskedForAreNotedOnce) {
  auto exposer = Exposer::start(*process_, source_, options_for({"T.*"}, 2));
  ASSERT_TRUE(exposer) << to_string(exposer.error());
  source_.bodies.push_back(body(7, "third"));
  EXPECT_TRUE(eventually(
      [&] { return (*exposer)->step({}).value_or(false) && !(*exposer)->notes().empty(); }));
  const size_t reads = source_.reads;
  EXPECT_TRUE(eventually(
      [&] { return (*exposer)->step({}).value_or(false) && source_.reads > reads + 1; }));
  EXPECT_THAT((*exposer)->notes(), testing::ElementsAre(HasSubstr("--max 2")));
  EXPECT_FALSE(is_jump(7));
}

TEST_F(ExposerTest, MovableCodeIsRefused) {
  source_.fixed = false;
  const auto refused = Exposer::start(*process_, source_, options_for({"T.first"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("the test moves it"));
  EXPECT_TRUE(untouched());
}

TEST_F(ExposerTest, ATargetThatExitsEndsIt) {
  auto exposer = expose();
  ASSERT_TRUE(exposer);
  const std::string file = exposer->exposed()[0].file;
  target_->stop();
  EXPECT_TRUE(eventually([&] {
    const auto alive = exposer->step({});
    return alive && !*alive;
  }));
  EXPECT_EQ(exposer->finish().value_or(99), 0U);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(ExposerTest, UndoTakesBackWhatWasKept) {
  std::string file;
  {
    auto exposer = expose();
    ASSERT_TRUE(exposer);
    file = exposer->exposed()[0].file;
    exposer->keep();
  }
  EXPECT_TRUE(is_jump(0));
  EXPECT_EQ(target_->call_each(entry(0), stride, 3, 5), 15U);
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 1U);
  EXPECT_EQ(report.in_use, 0U);
  EXPECT_EQ(report.entries_restored, 3U);
  EXPECT_EQ(report.entries_not_ours, 0U);
  EXPECT_EQ(report.files_removed, 1U);
  EXPECT_GT(report.stopped.count(), 0);
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(target_->call_each(entry(0), stride, 3, 5), 15U);
  // A second time there is nothing to do.
  const UndoReport again = undo();
  EXPECT_EQ(again.images, 1U);
  EXPECT_EQ(again.entries_restored, 0U);
  EXPECT_EQ(again.entries_not_ours, 3U);
}

TEST_F(ExposerTest, UndoLeavesALivingJitscopeAlone) {
  auto exposer = expose();
  ASSERT_TRUE(exposer);
  const std::string file = exposer->exposed()[0].file;
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 1U);
  EXPECT_EQ(report.in_use, 1U);
  EXPECT_EQ(report.entries_restored, 0U);
  EXPECT_EQ(report.files_removed, 0U);
  EXPECT_TRUE(is_jump(0));
  EXPECT_TRUE(std::filesystem::exists(file));
  const UndoReport forced = undo(true);
  EXPECT_EQ(forced.entries_restored, 3U);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(exposer->finish().value_or(99), 0U);  // nothing of it is there any more
}

TEST_F(ExposerTest, UndoOfAnImageWhoseFileIsGone) {
  {
    auto exposer = expose();
    ASSERT_TRUE(exposer);
    ::unlink(exposer->exposed()[0].file.c_str());
    exposer->keep();
  }
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 1U);
  EXPECT_EQ(report.entries_restored, 3U);
  EXPECT_EQ(report.files_removed, 0U);
  EXPECT_TRUE(untouched());
}

TEST_F(ExposerTest, UndoWhereOneEntryWasPatchedMoreThanOnce) {
  {
    Trampolines trampolines(*process_);
    ASSERT_TRUE(trampolines.prepare(target_->address(), target_->address(target_->size())));
    const std::vector<SiteRequest> requests = {{0, body(0, "first"), 0}};
    ASSERT_TRUE(trampolines.place(requests, {}).value().at(0).placed);
    // Another body comes to lie there; and a try that is refused leaves a record as well.
    write(0, CallTarget::frame_and_add);
    auto refused = requests;
    refused[0].body.identity = {{entry(5), {std::byte{0}, std::byte{0}}}};
    ASSERT_TRUE(trampolines.place(refused, {}).value().at(0).retry);
    ASSERT_TRUE(trampolines.place(requests, {}).value().at(0).placed);
  }  // dies here: nothing is taken back
  EXPECT_TRUE(is_jump(0));
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  const UndoReport report = undo();
  EXPECT_EQ(report.entries_restored, 1U);
  EXPECT_EQ(report.entries_not_ours, 2U);
  const Bytes now = bytes_at(entry(0), CallTarget::frame_and_add.size());
  EXPECT_TRUE(std::ranges::equal(now, std::as_bytes(std::span(CallTarget::frame_and_add))));
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
}

TEST_F(ExposerTest, UndoOfTwoImagesAtOnce) {
  for (size_t i = 0; i < 2; ++i) {
    Trampolines trampolines(*process_);
    ASSERT_TRUE(trampolines.prepare(target_->address(), target_->address(target_->size())));
    const std::vector<SiteRequest> requests = {{0, body(i, "first"), 0}};
    ASSERT_TRUE(trampolines.place(requests, {}).value().at(0).placed);
  }
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 2U);
  EXPECT_EQ(report.entries_restored, 2U);
  EXPECT_EQ(report.files_removed, 2U);
  EXPECT_TRUE(untouched());
}

TEST_F(ExposerTest, UndoOfAProcessWithoutImagesDoesNothing) {
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 0U);
  EXPECT_EQ(report.entries_restored, 0U);
  EXPECT_EQ(report.files_removed, 0U);
  EXPECT_EQ(report.stopped.count(), 0);
}

TEST_F(ExposerTest, UndoOfADeadProcessIsAnError) {
  target_->stop();
  EXPECT_FALSE(undo_all(*process_));
}

// A file that a program made itself, in the form of a live image, mapped by the target.
class ForgedImageTest : public ExposerTest {
 protected:
  // `forge` gets the image's open file before the target (which inherits the mapping) is made.
  void forge(uint64_t length, const std::function<void(LiveImage&)>& fill,
             const std::function<void(int)>& spoil = {}) {
    std::string path = testing::TempDir() + "/forged-image-XXXXXX";
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    ASSERT_GE(fd, 0);
    path_ = path;
    auto image = LiveImage::create(UniqueFd(fd), {}, 64, 4);
    ASSERT_TRUE(image) << to_string(image.error());
    fill(*image);
    if (length > image->mapped_length()) {
      ASSERT_EQ(::ftruncate(image->fd(), static_cast<off_t>(length)), 0);
    }
    mapped_length_ = std::max(length, image->mapped_length());
    mapped_ = ::mmap(nullptr, mapped_length_, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_NORESERVE,
                     image->fd(), 0);
    ASSERT_NE(mapped_, MAP_FAILED);
    make(16);
    if (spoil) spoil(image->fd());
  }
  void TearDown() override {
    if (mapped_ != nullptr) ::munmap(mapped_, mapped_length_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void* mapped_ = nullptr;
  size_t mapped_length_ = 0;
  std::string path_;
};

TEST_F(ForgedImageTest, AHugeOneIsNotReadWhole) {
  forge(uint64_t{64} << 30U, [](LiveImage&) {});
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 1U);
  EXPECT_EQ(report.entries_restored, 0U);
  EXPECT_TRUE(std::filesystem::exists(path_));  // not a name of ours
}

TEST_F(ForgedImageTest, OneThatWasCutShortIsNotedAndTheOthersAreUndone) {
  forge(0, [](LiveImage&) {}, [](int fd) { ASSERT_EQ(::ftruncate(fd, 4096), 0); });
  {
    Trampolines trampolines(*process_);
    ASSERT_TRUE(trampolines.prepare(target_->address(), target_->address(target_->size())));
    const std::vector<SiteRequest> requests = {{0, body(0, "first"), 0}};
    ASSERT_TRUE(trampolines.place(requests, {}).value().at(0).placed);
  }
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 2U);
  EXPECT_EQ(report.entries_restored, 1U);
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_TRUE(untouched());
}

TEST_F(ForgedImageTest, RecordsThatContradictEachOtherAreNotOurs) {
  forge(0, [](LiveImage& image) {
    const uint64_t text = image.begin_batch(256).value();
    for (const uint64_t entry :
         {uint64_t{0x10000}, uint64_t{0x10000}, uint64_t{0x10003}, UINT64_MAX - 2, uint64_t{1}}) {
      ImageRecord record;
      record.entry = entry;
      record.slot_offset = text;
      record.original_length = 5;
      ASSERT_TRUE(image.add_record(record));
    }
  });
  const UndoReport report = undo();
  EXPECT_EQ(report.images, 1U);
  EXPECT_EQ(report.entries_restored, 0U);
  EXPECT_EQ(report.entries_not_ours, 5U);
  EXPECT_TRUE(untouched());
}

}  // namespace
}  // namespace jitscope
