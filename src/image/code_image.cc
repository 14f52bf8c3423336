// Takes bodies in: code goes to the file, names and debug information to tables in memory.
#include "image/code_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "image/code_image_draft.h"

namespace jitscope {
namespace {

Status check(const ImageBody& body, bool mapped) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorKind::usage, std::string(what),
                fmt::format("{:#x}+{:#x}", body.address, body.size));
  };
  const uint64_t begin = mapped ? body.place : body.address;
  if (body.size == 0) return wrong("a body of no bytes has no place in an image");
  if (body.size > elf_layout::kMostAddress || begin > elf_layout::kMostAddress - body.size) {
    return wrong("a body lies where no image can reach");
  }
  if (!body.code.empty() && body.code.size() != body.size) {
    return wrong("the code of a body is not as long as the body");
  }
  if (mapped && begin < kImageHeaderRoom) {
    return wrong("a body lies where the headers of the image are");
  }
  for (const UnwindTable& table : body.unwind) {
    if (table.offset > body.size || table.size > body.size - table.offset) {
      return wrong("an unwind table covers more than its body");
    }
  }
  return {};
}

}  // namespace

ImageDraft::ImageDraft(ElfOutput file, CodeImageOptions wanted)
    : options(std::move(wanted)), output(std::move(file)) {
  if (options.debug_info) {
    debug.emplace(
        DebugSections::Unit{options.dwarf, options.producer, options.title, options.source_folder});
  }
}

struct CodeImage::State : ImageDraft {
  using ImageDraft::ImageDraft;
};

CodeImage::CodeImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
CodeImage::CodeImage(CodeImage&&) noexcept = default;
CodeImage& CodeImage::operator=(CodeImage&&) noexcept = default;
CodeImage::~CodeImage() = default;

Result<CodeImage> CodeImage::create(UniqueFd fd, CodeImageOptions options) {
  if (options.dwarf != 4 && options.dwarf != 5) {
    return fail(ErrorKind::usage, fmt::format("there is no DWARF {} here", options.dwarf), {},
                "take 4 or 5");
  }
  JITSCOPE_ASSIGN(ElfOutput output, ElfOutput::open(std::move(fd)));
  return CodeImage(std::make_unique<State>(std::move(output), std::move(options)));
}

Status CodeImage::add(const ImageBody& body) {
  State& state = *state_;
  if (state.finished) return fail(ErrorKind::usage, "a finished image takes no more bodies");
  JITSCOPE_TRY(check(body, state.mapped()));
  ImageDraft::Body kept;
  kept.begin = state.mapped() ? body.place : body.address;
  kept.end = kept.begin + body.size;
  kept.bytes = !body.code.empty();
  kept.offset =
      state.mapped() ? body.place : state.packer.place({kept.begin, kept.end, kept.bytes});
  std::string without_name;
  std::string_view name = body.name.empty() ? body.alias : body.name;
  if (name.empty()) {
    without_name = fmt::format("code@{:#x}", body.address);
    name = without_name;
  }
  kept.name = state.names.add(name);
  if (body.alias != name) kept.alias = state.names.add(body.alias);
  if (state.names.too_large()) {
    return fail(ErrorKind::not_possible, "the symbol names of the image exceed 4 GiB");
  }
  if (kept.bytes) {
    kept.digest = content_digest(body.code);
    JITSCOPE_TRY(state.output.write(kept.offset, body.code));
    ++state.with_bytes;
  }
  if (state.debug) {
    const std::string_view shown = body.alias.empty() ? name : body.alias;
    JITSCOPE_TRY(state.debug->add(kept.begin, body.size,
                                  body.full_name.empty() ? shown : body.full_name, body.scopes));
  }
  for (const UnwindTable& table : body.unwind) state.unwind.push_back({kept.begin, table});
  state.bodies.push_back(kept);
  return {};
}

uint64_t CodeImage::unwind_size() const {
  if (state_->unwind.empty()) return 0;
  std::vector<PlacedUnwind> placed;
  placed.reserve(state_->unwind.size());
  for (const auto& unwind : state_->unwind) placed.push_back({unwind.place, &unwind.table});
  return eh_frame_size(placed);
}

Result<ImageSummary> CodeImage::finish(uint64_t unwind_place) {
  if (state_->finished) return fail(ErrorKind::usage, "an image is finished once");
  state_->finished = true;
  return finish_image(*state_, unwind_place);
}

Status move_code(ImageDraft& draft, std::span<const elf_layout::Stretch> stretches) {
  struct Move {
    size_t body = 0;
    uint64_t to = 0;
    uint64_t kept = 0;  // where its bytes lie in memory meanwhile
  };
  std::vector<Move> moves;
  uint64_t total = 0;
  bool moved = false;
  size_t at = 0;
  for (size_t i = 0; i < draft.bodies.size(); ++i) {
    const ImageDraft::Body& body = draft.bodies[i];
    while (body.begin >= stretches[at].end) ++at;
    if (!body.bytes) continue;
    const uint64_t to = stretches[at].offset + (body.begin - stretches[at].begin);
    moved |= to != body.offset;
    moves.push_back({i, to, 0});
    total += body.end - body.begin;
  }
  if (!moved) return {};

  std::vector<std::byte> code(total);
  std::ranges::sort(moves, {}, [&](const Move& move) { return draft.bodies[move.body].offset; });
  uint64_t kept = 0;
  for (size_t i = 0; i < moves.size();) {
    // Neighbours are read together.
    const uint64_t from = draft.bodies[moves[i].body].offset;
    uint64_t length = 0;
    for (; i < moves.size() && draft.bodies[moves[i].body].offset == from + length; ++i) {
      moves[i].kept = kept + length;
      length += draft.bodies[moves[i].body].end - draft.bodies[moves[i].body].begin;
    }
    JITSCOPE_TRY(draft.output.read(from, std::span(code).subspan(kept, length)));
    kept += length;
  }
  JITSCOPE_TRY(draft.output.restart());
  std::ranges::sort(moves, {}, &Move::to);
  for (const Move& move : moves) {
    ImageDraft::Body& body = draft.bodies[move.body];
    body.offset = move.to;
    JITSCOPE_TRY(
        draft.output.write(move.to, std::span(code).subspan(move.kept, body.end - body.begin)));
  }
  return {};
}

}  // namespace jitscope
