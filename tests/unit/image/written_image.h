// Bodies for the tests of code images, and the image written of them: in a memfd, read back by
// libelf and libdw.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <vector>

#include "fuzz/code_image_reader.h"
#include "image/code_image.h"

namespace jitscope::test {

using ImageLayout = CodeImageOptions::Layout;
using ImageReader = fuzz::CodeImageReader;

struct SampleBody {
  uint64_t begin = 0;  // address and place
  std::string name;
  std::string alias;
  std::string full_name;
  std::vector<std::byte> code;
  CodeScopes scopes;
  std::vector<UnwindTable> unwind;
  uint64_t size = 0;  // of a body without code

  [[nodiscard]] ImageBody view() const {
    ImageBody body;
    body.address = begin;
    body.place = begin;
    body.size = code.empty() ? size : code.size();
    body.name = name;
    body.alias = alias;
    body.full_name = full_name;
    body.code = code;
    body.scopes = scopes.ranges.empty() ? nullptr : &scopes;
    body.unwind = unwind;
    return body;
  }
};

// `size` bytes that differ from body to body: nops, and a ret at the end.
inline std::vector<std::byte> some_code(size_t size, uint64_t seed) {
  std::vector<std::byte> code(size, std::byte{0x90});
  for (size_t i = 0; i + 5 < size; i += 8) {
    const auto word = static_cast<uint32_t>((seed + i) * 2654435761U);
    code[i] = std::byte{0xb8};  // mov $word,%eax
    std::memcpy(&code[i + 1], &word, sizeof(word));
  }
  code.back() = std::byte{0xc3};
  return code;
}

// CFA at rsp + 8 all over.
inline UnwindTable flat_unwind(uint64_t size) {
  UnwindTable table;
  table.size = size;
  for (const int byte : {0x0c, 7, 8, 0x90, 1})
    table.initial.push_back(static_cast<std::byte>(byte));
  return table;
}

// 64 bytes with what HotSpot's compilers leave: own lines, a call inlined in two pieces, another
// one inside it, a stretch of which nothing is known.
//   0-8 put:10   8-16 put:12>hash:5   16-24 put:12>hash:6>mix:70   24-32 put:14   32-40
//   put:12>hash:7 40-48 nothing   48-56 put, no line   56-64 put:20
inline CodeScopes inlined_scopes(const std::string& own) {
  CodeScopes scopes;
  scopes.methods = {{own, "pkg/Table.java"},
                    {"pkg.Hash.hash(int)", "pkg/Hash.java"},
                    {"pkg.Mixer.mix(int)", "pkg/Mixer.java"}};
  constexpr uint32_t none = CodeScopes::kNone;
  scopes.scopes = {{none, 0, 0, 10}, {none, 0, 9, 12}, {1, 1, 3, 5},
                   {1, 1, 8, 6},     {3, 2, 2, 70},    {none, 0, 20, 14},
                   {1, 1, 12, 7},    {none, 0, -1, 0}, {none, 0, 40, 20}};
  scopes.ranges = {{0, 8, 0, true},   {8, 16, 2, true},  {16, 24, 4, true}, {24, 32, 5, true},
                   {32, 40, 6, true}, {48, 56, 7, true}, {56, 64, 8, true}};
  return scopes;
}

inline SampleBody inlined_body(uint64_t begin, const std::string& name) {
  SampleBody body;
  body.begin = begin;
  body.name = name;
  body.alias = name + "(java.lang.Object)";
  body.code = some_code(64, begin);
  body.scopes = inlined_scopes(body.alias);
  return body;
}

inline UniqueFd image_file() {
  return UniqueFd(::memfd_create("code-image-test", MFD_CLOEXEC));
}

class WrittenImage {
 public:
  WrittenImage(const std::vector<SampleBody>& bodies, CodeImageOptions options,
               uint64_t unwind_place = 0)
      : file_(image_file()), status_(write(bodies, std::move(options), unwind_place)) {}

  // Fails the test when there is no image.
  [[nodiscard]] const ImageSummary& summary() const {
    EXPECT_TRUE(status_) << to_string(status_.error());
    static const ImageSummary none;
    return status_ ? *status_ : none;
  }
  [[nodiscard]] const Result<ImageSummary>& status() const { return status_; }
  [[nodiscard]] ImageReader reader() const { return ImageReader(file_.get()); }
  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] std::string path() const {
    return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get());
  }
  [[nodiscard]] struct stat stat() const {
    struct stat status{};
    EXPECT_EQ(::fstat(file_.get(), &status), 0);
    return status;
  }

 private:
  Result<ImageSummary> write(const std::vector<SampleBody>& bodies, CodeImageOptions options,
                             uint64_t unwind_place) {
    JITSCOPE_ASSIGN(CodeImage image,
                    CodeImage::create(UniqueFd(::dup(file_.get())), std::move(options)));
    for (const SampleBody& body : bodies) JITSCOPE_TRY(image.add(body.view()));
    return image.finish(unwind_place);
  }

  UniqueFd file_;
  Result<ImageSummary> status_;
};

inline CodeImageOptions image_options(ImageLayout layout, unsigned dwarf = 5) {
  CodeImageOptions options;
  options.layout = layout;
  options.dwarf = dwarf;
  options.title = "java (pid 12)";
  options.source_folder = "/src";
  return options;
}

// Every layout with every DWARF.
struct ImageKind {
  ImageLayout layout = ImageLayout::absolute;
  unsigned dwarf = 5;
};
inline const std::vector<ImageKind> image_kinds = {{ImageLayout::absolute, 4},
                                                   {ImageLayout::absolute, 5},
                                                   {ImageLayout::mapped, 4},
                                                   {ImageLayout::mapped, 5}};

}  // namespace jitscope::test
