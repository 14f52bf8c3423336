// What must hold for any bodies that are made an image: libelf and libdw find each of them again,
// with its bytes, the chain of functions and lines of each of its ranges, and its unwind tables.
// The bytes given are choices; any bytes will do. Shared by the fuzz target and by the test that
// replays its corpus. Empty: all is well.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "code_image_reader.h"
#include "image/code_image.h"

namespace jitscope::fuzz {

struct ImageModel {
  struct Body {
    uint64_t begin = 0;
    uint64_t size = 0;
    std::string name;
    std::string alias;
    std::vector<std::byte> code;
    CodeScopes scopes;
    std::vector<UnwindTable> unwind;
    bool scoped = false;
  };
  CodeImageOptions options;
  std::vector<Body> bodies;
  bool overlaps = false;
  bool backwards = false;
};

// Numbers and texts out of the bytes; zeros when there are no more.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : cursor_(bytes) {}
  [[nodiscard]] bool more() const { return !cursor_.at_end(); }
  uint32_t number() { return cursor_.at_end() ? 0 : cursor_.u8(); }
  uint32_t below(uint32_t end) { return number() % end; }
  // Often small, sometimes as large as it can be.
  uint32_t wide() {
    const uint32_t kind = number();
    if (kind < 200) return kind;
    return (number() << 24U) | (number() << 16U) | (number() << 8U) | number();
  }
  std::string text() {
    static constexpr std::array<std::string_view, 8> known = {
        "java.util.HashMap.get(java.lang.Object)",
        "a",
        "",
        "x y;z\n",
        "\xff\xfe",
        "<init>",
        "/src/app.js",
        "java/util/HashMap.java"};
    std::string made(known[below(known.size())]);
    for (uint32_t left = below(4); left > 0; --left) made.push_back(static_cast<char>(number()));
    return made;
  }

 private:
  ByteCursor cursor_;
};

inline CodeScopes choose_scopes(Choices& choices, uint64_t size) {
  CodeScopes made;
  for (uint32_t left = 1 + choices.below(4); left > 0; --left) {
    made.methods.push_back({choices.text(), choices.text()});
  }
  const auto methods = static_cast<uint32_t>(made.methods.size());
  for (uint32_t i = 0, count = 1 + choices.below(16); i < count; ++i) {
    CodeScopes::Scope scope;
    const uint32_t parent = choices.below(i + 1);
    scope.parent = parent == i ? CodeScopes::kNone : parent;
    scope.method = choices.below(methods);
    scope.bci = static_cast<int32_t>(choices.below(4)) - 1;
    scope.line = choices.wide();
    made.scopes.push_back(scope);
  }
  uint64_t at = choices.below(3) == 0 ? choices.number() : 0;
  for (uint32_t left = choices.below(24); left > 0 && at < size; --left) {
    const uint64_t end = std::min<uint64_t>(size, at + 1 + choices.below(64));
    made.ranges.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end),
                           choices.below(static_cast<uint32_t>(made.scopes.size())),
                           choices.below(2) == 0});
    at = end + (choices.below(4) == 0 ? choices.number() : 0);
  }
  return made;
}

inline UnwindTable choose_unwind(Choices& choices, uint64_t size) {
  UnwindTable made;
  made.size = size;
  // CFA is rsp + 8, the return address lies below it; then a push.
  for (const int byte : {0x0c, 7, 8, 0x90, 1}) made.initial.push_back(static_cast<std::byte>(byte));
  if (size > 1 && choices.below(2) == 0) {
    for (const int byte : {0x41, 0x0e, 16}) {
      made.instructions.push_back(static_cast<std::byte>(byte));
    }
  }
  return made;
}

inline ImageModel choose_image(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  ImageModel made;
  const uint32_t flags = choices.number();
  const bool mapped = (flags & 1U) != 0;
  made.options.layout =
      mapped ? CodeImageOptions::Layout::mapped : CodeImageOptions::Layout::absolute;
  made.options.dwarf = (flags & 2U) != 0 ? 4 : 5;
  made.options.source_folder = (flags & 4U) != 0 ? "/home/u/src" : "";
  made.options.title = "java (pid 12)";
  made.backwards = (flags & 8U) != 0;
  uint64_t at =
      mapped ? kImageHeaderRoom + choices.wide() % 0x10000 : uint64_t{choices.wide()} << 15U;
  while (choices.more() && made.bodies.size() < 24) {
    ImageModel::Body body;
    const uint32_t kind = choices.number();
    at += kind < 32 ? uint64_t{choices.wide()} << (kind % 8) : kind % 64;
    body.size = 1 + choices.number() + ((kind & 1U) != 0 ? 256 * choices.below(8) : 0);
    if (kind == 255 && !made.bodies.empty()) {
      at = made.bodies.back().begin + made.bodies.back().size - 1;
      made.overlaps = true;
    }
    body.begin = at;
    body.name = choices.text();
    if (choices.below(2) == 0) body.alias = choices.text();
    if (choices.below(4) != 0) {
      for (uint64_t i = 0; i < body.size; ++i) {
        body.code.push_back(static_cast<std::byte>(i * 7 + kind));
      }
    }
    body.scoped = choices.below(4) != 0;
    if (body.scoped) body.scopes = choose_scopes(choices, body.size);
    if (choices.below(3) == 0) body.unwind.push_back(choose_unwind(choices, body.size));
    at += body.size;
    made.bodies.push_back(std::move(body));
  }
  return made;
}

inline Result<ImageSummary> write_image(const ImageModel& model, int fd) {
  UniqueFd own(::dup(fd));
  JITSCOPE_ASSIGN(CodeImage image, CodeImage::create(std::move(own), model.options));
  for (size_t i = 0; i < model.bodies.size(); ++i) {
    const auto& from = model.bodies[model.backwards ? model.bodies.size() - 1 - i : i];
    ImageBody body;
    body.address = from.begin;
    body.place = from.begin;
    body.size = from.size;
    body.name = from.name;
    body.alias = from.alias;
    body.code = from.code;
    body.scopes = from.scoped ? &from.scopes : nullptr;
    body.unwind = from.unwind;
    JITSCOPE_TRY(image.add(body));
  }
  return image.finish();
}

class ImageCheck {
 public:
  ImageCheck(const ImageModel& model, int fd) : model_(model), reader_(fd) {}

  std::string_view run(const ImageSummary& summary) {
    if (reader_.elf() == nullptr) return "libelf does not take it";
    if (reader_.build_id() != summary.build_id) return "another build-id";
    if (std::string_view wrong = symbols(summary); !wrong.empty()) return wrong;
    if (model_.bodies.empty()) return {};
    if (reader_.dwarf() == nullptr) return "libdw does not take it";
    for (const auto& body : model_.bodies) {
      if (std::string_view wrong = lines(body); !wrong.empty()) return wrong;
      if (!body.unwind.empty() && in_reach(body) &&
          (!reader_.unwinds(body.begin) || !reader_.unwinds(body.begin + body.size - 1))) {
        return "no unwind table";
      }
    }
    return {};
  }

 private:
  using Frame = CodeImageReader::Frame;

  static std::string cleaned(std::string text) {
    std::ranges::replace(text, '\0', '?');
    return text;
  }
  static std::string first_of(std::initializer_list<std::string> texts) {
    for (const std::string& text : texts) {
      if (!text.empty()) return cleaned(text);
    }
    return {};
  }
  static int known_line(uint32_t line) { return line > INT32_MAX ? 0 : static_cast<int>(line); }

  // Tables reach 2 GB; what is nearer than that to everything else is always reached.
  bool in_reach(const ImageModel::Body& body) const {
    return body.begin < (1U << 30U) && model_.bodies.back().begin < (1U << 30U);
  }

  std::string name_of(const ImageModel::Body& body) const {
    const std::string name = first_of({body.name, body.alias});
    return name.empty() ? fmt::format("code@{:#x}", body.begin) : name;
  }
  std::string file_of(const CodeScopes::Method& method) const {
    const std::string file = method.file.empty() ? "<unknown>" : cleaned(method.file);
    if (file.starts_with('/')) return file;
    const std::string& folder = model_.options.source_folder;
    return (folder.empty() ? "." : folder) + "/" + file;
  }

  std::string_view symbols(const ImageSummary& summary) {
    const auto all = reader_.symbols();
    if (all.size() != summary.symbols) return "another number of symbols";
    size_t next = 0;
    for (const auto& body : model_.bodies) {
      const std::string name = name_of(body);
      for (const bool alias : {false, true}) {
        const std::string wanted = alias ? cleaned(body.alias) : name;
        if (alias && (body.alias.empty() || body.alias == body.name || body.name.empty())) break;
        if (next >= all.size()) return "too few symbols";
        const auto& symbol = all[next++];
        if (symbol.name != wanted || symbol.value != body.begin || symbol.size != body.size ||
            symbol.type != STT_FUNC || symbol.binding != (alias ? STB_WEAK : STB_GLOBAL)) {
          return "another symbol";
        }
        const auto code = reader_.code(symbol);
        if (!body.code.empty() && code != body.code) return "other code";
        if (body.code.empty() && code &&
            std::ranges::any_of(*code, [](std::byte b) { return b != std::byte{0}; })) {
          return "code of a body without any";
        }
      }
    }
    return next == all.size() ? "" : "too many symbols";
  }

  std::vector<Frame> wanted_frames(const ImageModel::Body& body, uint32_t scope_index) const {
    std::vector<Frame> wanted;
    const CodeScopes& scopes = body.scopes;
    while (true) {
      const CodeScopes::Scope& scope = scopes.scopes[scope_index];
      const CodeScopes::Method& method = scopes.methods[scope.method];
      Frame frame;
      frame.line = known_line(scope.line);
      if (frame.line != 0 || (!wanted.empty() && !method.file.empty()))
        frame.file = file_of(method);
      const bool outermost = scope.parent == CodeScopes::kNone;
      frame.function = outermost ? shown_name(body) : first_of({method.name, "?"});
      wanted.push_back(frame);
      if (outermost) return wanted;
      scope_index = scope.parent;
    }
  }
  std::string shown_name(const ImageModel::Body& body) const {
    return body.alias.empty() ? name_of(body) : cleaned(body.alias);
  }

  std::string_view lines(const ImageModel::Body& body) {
    uint64_t behind = 0;
    for (const CodeScopes::Range& range : body.scopes.ranges) {
      const auto wanted = wanted_frames(body, range.scope);
      for (const uint64_t offset :
           {range.begin, range.begin + (range.end - range.begin) / 2, range.end - 1}) {
        auto found = reader_.frames(body.begin + offset);
        // The first place may have the line of the function, where none is known.
        if (range.begin == 0 && wanted.size() == 1 && wanted[0].line == 0 && !found.empty()) {
          found[0].line = 0;
          found[0].file.clear();
        }
        if (found != wanted) return "another chain of functions";
      }
      if (behind != 0 && behind < range.begin && !nothing_at(body, behind))
        return "a line in a gap";
      behind = range.end;
    }
    if (behind < body.size && behind != 0 && !nothing_at(body, behind)) return "a line behind all";
    if (body.scopes.ranges.empty() && !nothing_at(body, 0)) return "a line out of nothing";
    return {};
  }

  // The body itself is known there, no line is.
  bool nothing_at(const ImageModel::Body& body, uint64_t offset) {
    const auto found = reader_.frames(body.begin + offset);
    return found.size() == 1 && found[0] == Frame{shown_name(body), "", 0};
  }

  const ImageModel& model_;
  CodeImageReader reader_;
};

inline std::string_view check_code_image(std::span<const std::byte> bytes) {
  const ImageModel model = choose_image(bytes);
  const UniqueFd file(::memfd_create("code-image", MFD_CLOEXEC));
  const auto summary = write_image(model, file.get());
  if (!summary) {
    const bool usage = summary.error().kind == ErrorKind::usage;
    return usage && model.overlaps ? "" : "bodies that make sense are refused";
  }
  if (model.overlaps) return "bodies that lie on each other are taken";
  if (std::string_view wrong = ImageCheck(model, file.get()).run(*summary); !wrong.empty()) {
    return wrong;
  }
  const UniqueFd again(::memfd_create("code-image", MFD_CLOEXEC));
  const auto same = write_image(model, again.get());
  return same && same->build_id == summary->build_id ? "" : "the same bodies, another build-id";
}

}  // namespace jitscope::fuzz
