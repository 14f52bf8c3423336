#include "export/image_set.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/path.h"

namespace jitscope {
namespace {

constexpr uint64_t kAlignment = 16;

}  // namespace

std::optional<uint32_t> EpochPlan::place(uint64_t address, uint64_t size) {
  const uint64_t end = address + size;
  for (uint32_t epoch = 0; epoch < kMostEpochs; ++epoch) {
    if (epoch == taken_.size()) taken_.emplace_back();
    std::map<uint64_t, uint64_t>& taken = taken_[epoch];
    const auto after = taken.lower_bound(end);
    const bool is_free = after == taken.begin() || std::prev(after)->second <= address;
    if (!is_free) continue;
    taken.emplace_hint(after, address, end);
    return epoch;
  }
  return std::nullopt;
}

Result<ImageSet> ImageSet::create(ImageSetOptions options) {
  if (options.output.empty()) {
    return fail(ErrorKind::usage, "an image wants a file name", {}, "-o FILE");
  }
  if (options.output == "-") {
    return fail(ErrorKind::usage, "an image is not written to standard output", {}, "-o FILE");
  }
  // Before the work, not after it; nothing is left of this.
  JITSCOPE_TRY(create_file(options, options.output));
  options.image.layout =
      options.packed ? CodeImageOptions::Layout::mapped : CodeImageOptions::Layout::absolute;
  return ImageSet(std::move(options));
}

Result<OutputFile> ImageSet::create_file(const ImageSetOptions& options, std::string path) {
  const Replace replace = options.force ? Replace::any : Replace::never;
  if (!options.folder) return OutputFile::create(std::move(path), replace);
  JITSCOPE_ASSIGN(UniqueFd folder, duplicate_folder(options.folder->get()));
  std::string name(base_name(path));
  return OutputFile::create({std::move(folder), std::move(name), std::move(path)}, replace);
}

Status ImageSet::open(uint32_t epoch) {
  std::string path = options_.output;
  if (epoch != 0) path += fmt::format(".{}", epoch + 1);
  JITSCOPE_ASSIGN(OutputFile file, create_file(options_, std::move(path)));
  JITSCOPE_ASSIGN(UniqueFd fd, file.duplicate());
  JITSCOPE_ASSIGN(CodeImage image, CodeImage::create(std::move(fd), options_.image));
  images_.emplace(epoch, Open{std::move(file), std::move(image)});
  return {};
}

Status ImageSet::add(ImageBody body, uint32_t epoch) {
  if (options_.packed) {
    epoch = 0;
    body.place = next_place_;
    next_place_ += (body.size + kAlignment - 1) / kAlignment * kAlignment;
  }
  auto it = images_.find(epoch);
  if (it == images_.end()) {
    JITSCOPE_TRY(open(epoch));
    it = images_.find(epoch);
  }
  return it->second.image.add(body);
}

Result<std::vector<BuiltImage>> ImageSet::finish() {
  std::vector<BuiltImage> out;
  for (auto& [epoch, open] : images_) {
    JITSCOPE_ASSIGN(ImageSummary summary, open.image.finish());
    out.push_back({open.file.path(), std::move(summary)});
  }
  for (auto& [epoch, open] : images_) {
    // Debuggers and servers of other users read it too; bpftrace lists only what is executable.
    JITSCOPE_TRY(open.file.commit(S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH));
  }
  images_.clear();
  return out;
}

}  // namespace jitscope
