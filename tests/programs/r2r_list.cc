// Not a target: prints what src/formats/r2r makes of an image, for the tests of it.
//   e2e_r2r_list IMAGE[@OFFSET:SIZE] [--with OTHER[@OFFSET:SIZE]...]
// One line each: "kind K functions N methods N instances N unknown N", then for each method
// "START END FULL NAME" with a tab between. --with: assemblies that methods may come from.
// --time: only CPU milliseconds of decoding, without and with names.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "formats/r2r/r2r_image.h"

namespace {

using namespace jitscope;

double cpu_ms() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct File {
  std::shared_ptr<MappedFile> mapped;
  std::span<const std::byte> bytes;
};

std::map<std::string, std::shared_ptr<MappedFile>> opened;

bool open(std::string_view argument, File& out) {
  const size_t at = argument.rfind('@');
  const std::string path(argument.substr(0, at));
  std::shared_ptr<MappedFile>& mapped = opened[path];
  if (!mapped) {
    auto file = MappedFile::open(path);
    if (!file) {
      fmt::print(stderr, "{}\n", to_string(file.error()));
      return false;
    }
    mapped = std::make_shared<MappedFile>(std::move(*file));
  }
  out.mapped = mapped;
  out.bytes = mapped->bytes();
  if (at == std::string_view::npos) return true;
  const std::string_view place = argument.substr(at + 1);
  const size_t colon = place.find(':');
  const auto offset = parse_decimal(place.substr(0, colon));
  const auto size =
      colon == std::string_view::npos ? std::nullopt : parse_decimal(place.substr(colon + 1));
  if (!offset || !size || *offset > out.bytes.size() || *size > out.bytes.size() - *offset) {
    fmt::print(stderr, "no such place: {}\n", argument);
    return false;
  }
  out.bytes = out.bytes.subspan(*offset, *size);
  return true;
}

struct Others final : EcmaAssemblies {
  [[nodiscard]] const EcmaMetadata* assembly(std::string_view name) const override {
    const auto found = by_name.find(name);
    return found != by_name.end() ? &found->second : nullptr;
  }
  void add(const File& file) {
    const auto image = PeImage::parse(file.bytes);
    if (!image) return;
    const auto header = R2rHeader::read(*image);
    if (!header) return;
    auto metadata = EcmaMetadata::parse(image->bytes(header->metadata));
    if (metadata) by_name.try_emplace(std::string(metadata->assembly_name()), *metadata);
  }
  std::map<std::string, EcmaMetadata, std::less<>> by_name;
};

int list(const File& file, const Others& others, bool time) {
  const double start = cpu_ms();
  auto image = PeImage::parse(file.bytes);
  if (!image) {
    fmt::print("kind none: {}\n", to_string(image.error()));
    return 0;
  }
  const auto header = R2rHeader::read(*image);
  if (!header) {
    fmt::print("kind none: {}\n", to_string(header.error()));
    return 1;
  }
  const auto code = R2rImage::read(std::move(*image), file.mapped);
  if (!code) {
    fmt::print("kind {}: {}\n", describe(header->kind), to_string(code.error()));
    return code.error().kind == ErrorKind::not_possible ? 0 : 1;
  }
  const double decoded = cpu_ms();
  fmt::print("kind {} functions {} methods {} instances {} unknown {} {}\n", describe(code->kind()),
             code->runtime_functions(), code->method_entries(), code->instance_entries(),
             code->unknown_entries(), code->owner_composite());
  for (size_t i = 0; i < code->methods().size(); ++i) {
    const auto name = code->name(i, &others);
    if (time) continue;
    const R2rMethod& method = code->methods()[i];
    fmt::print("{:x}\t{:x}\t{}\t{}\n", method.start, method.end,
               name ? name->full : "ERROR " + to_string(name.error()), name ? name->display() : "");
  }
  if (time) fmt::print("decode {:.2f} ms, names {:.2f} ms\n", decoded - start, cpu_ms() - decoded);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<File> files;
  Others others;
  bool with = false;
  bool time = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--with" || argument == "--time") {
      (argument == "--with" ? with : time) = true;
      continue;
    }
    File file;
    if (!open(argument, file)) return 2;
    if (with) {
      others.add(file);
    } else {
      files.push_back(file);
    }
  }
  int status = 0;
  for (const File& file : files) status |= list(file, others, time);
  return status;
}
