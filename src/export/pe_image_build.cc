// image build FILE: the code of a PE image (.NET ReadyToRun, Wine) as an ELF file, with the names
// that the image itself knows, and lines and inlining of its DWARF; see image_build.h.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/open_file.h"
#include "base/path.h"
#include "base/work_limit.h"
#include "export/image_build.h"
#include "formats/jitdump/code_scopes.h"
#include "naming/jit_name.h"
#include "symbolize/demangle.h"
#include "symbolize/pe/bundle_file.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {
namespace {

Result<std::unique_ptr<PeFile>> open_whole(OpenedFile file, const std::string& path) {
  const auto size = static_cast<uint64_t>(file.status.st_size);
  return PeFile::open(std::make_shared<const OpenedFile>(std::move(file)), {0, size},
                      std::string(base_name(path)), {path, {}});
}

// "HOST!ENTRY": a file of a single-file program.
Result<std::unique_ptr<PeFile>> open_image(const std::string& path) {
  if (auto whole = open_regular_file(path)) return open_whole(std::move(*whole), path);
  const size_t mark = path.rfind('!');
  if (mark == std::string::npos) {
    JITSCOPE_ASSIGN(OpenedFile file, open_regular_file(path));
    return open_whole(std::move(file), path);
  }
  const std::string host = path.substr(0, mark);
  const std::string_view wanted = std::string_view(path).substr(mark + 1);
  JITSCOPE_ASSIGN(OpenedFile file, open_regular_file(host));
  const auto bundle = read_bundle(file);
  if (!bundle) {
    return fail(ErrorKind::not_found, "no .NET single-file program", host,
                "give the image's own file");
  }
  for (const BundleEntry& entry : bundle->entries) {
    if (entry.path != wanted && base_name(entry.path) != wanted) continue;
    if (entry.compressed != 0) {
      return fail(ErrorKind::not_possible, "the image is compressed in its single-file program",
                  path, "publish it with EnableCompressionInSingleFile=false");
    }
    return PeFile::open(std::make_shared<const OpenedFile>(std::move(file)),
                        {entry.offset, entry.size}, std::string(base_name(entry.path)));
  }
  return fail(ErrorKind::not_found, fmt::format("it has no file {}", wanted), host,
              "jitscope doctor lists those that a recording ran");
}

// Who made the image decides how long its DWARF takes to read.
constexpr std::chrono::seconds kTimeForLines{60};

Status add_function(ImageBuild& build, ImageSet& set, PeFile& file, const PeName& name,
                    const CodeScopes* scopes) {
  std::string shown = name.source == PeNameSource::ready_to_run
                          ? jit_name(Runtime::dotnet, name.raw, false).method
                          : demangle(name.raw);
  ImageBody body;
  body.address = file.headers().image_base + name.start;
  body.size = name.size;
  body.name = without_parameters(shown);
  if (body.name.size() != shown.size()) body.alias = shown;
  body.full_name = shown;
  body.code = file.code(name.start, name.size);
  body.scopes = scopes;
  ++build.bodies;
  if (scopes != nullptr) ++build.with_lines;
  return set.add(body, 0);
}

}  // namespace

Result<ImageBuild> image_of_pe(const std::string& path, ImageSetOptions options) {
  ImageBuild build;
  JITSCOPE_ASSIGN(const std::unique_ptr<PeFile> file, open_image(path));
  build.source = fmt::format("{} ({})", path, file->describe());
  if (options.image.title.empty()) options.image.title = file->name();
  const bool with_lines = options.image.debug_info;
  JITSCOPE_ASSIGN(ImageSet set, ImageSet::create(std::move(options)));
  WorkBudget time(kTimeForLines, kTimeForLines);
  JITSCOPE_TRY(file->for_each_function([&](const PeName& name) {
    if (name.size == 0) return Status();
    CodeScopes scopes;
    if (with_lines && !time.spent()) {
      const WorkBudget::Piece piece(time);
      scopes = file->scopes(name.start, name.size, {});
    }
    return add_function(build, set, *file, name, scopes.ranges.empty() ? nullptr : &scopes);
  }));
  if (time.spent()) build.notes.emplace_back("no time was left to read all lines of the image");
  if (build.bodies == 0) {
    return fail(ErrorKind::not_found,
                file->why_not().empty() ? "there is no code to write down" : file->why_not(), path);
  }
  JITSCOPE_ASSIGN(build.images, set.finish());
  for (const BuiltImage& image : build.images) build.with_bytes += image.summary.with_bytes;
  return build;
}

}  // namespace jitscope
