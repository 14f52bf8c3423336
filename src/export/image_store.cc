#include "export/image_store.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarf.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <ranges>
#include <utility>

#include "base/byte_cursor.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "base/unique_fd.h"
#include "symbolize/elf_image.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProducer = "jitscope";
constexpr size_t kShortestId = 4;

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct EndDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

Error not_ours(const std::string& path) {
  return Error{ErrorKind::usage, "this is no code image of jitscope's", path,
               "jitscope image build makes them", 0};
}

// Copies with its holes.
Status copy_sparse(int from, int to, const std::string& path) {
  struct stat status = {};
  if (::fstat(from, &status) != 0) return fail(system_error("cannot read an image", path));
  off_t at = 0;
  while (at < status.st_size) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0) {
      if (errno == ENXIO) break;
      data = at;  // a file system without holes
    }
    off_t end = ::lseek(from, data, SEEK_HOLE);
    if (end < 0) end = status.st_size;
    if (::lseek(to, data, SEEK_SET) < 0) return fail(system_error("cannot write an image", path));
    while (data < end) {
      const ssize_t done = ::sendfile(to, from, &data, static_cast<size_t>(end - data));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return fail(system_error("cannot copy an image", path));
    }
    at = end;
  }
  if (::ftruncate(to, status.st_size) != 0) {
    return fail(system_error("cannot write an image", path));
  }
  return {};
}

Status copy_to(const std::string& from, int folder, std::string name, std::string path) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return fail(system_error("cannot read an image", from));
  JITSCOPE_ASSIGN(UniqueFd own, duplicate_folder(folder));
  JITSCOPE_ASSIGN(
      OutputFile out,
      OutputFile::create({std::move(own), std::move(name), std::move(path)}, Replace::own));
  JITSCOPE_TRY(copy_sparse(source.get(), out.fd(), from));
  return out.commit(S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

Result<UniqueFd> open_store(const std::string& directory) {
  UniqueFd store(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!store) return fail(system_error("cannot use a folder", directory));
  return store;
}

// The folders on the way to an image, from the store's own down. What was made is removed when
// nothing came of it.
class FolderChain {
 public:
  explicit FolderChain(const std::string& directory) : directory_(directory), path_(directory) {}
  FolderChain(const FolderChain&) = delete;
  FolderChain& operator=(const FolderChain&) = delete;
  ~FolderChain() {
    if (keep_) return;
    remove_empty([](const OwnFolder& folder) { return folder.made; });
    if (made_) ::rmdir(directory_.c_str());
  }

  // The store's own folder is the user's choice.
  Status begin(bool make = false) {
    std::error_code error;  // opening tells
    made_ = make && fs::create_directories(directory_, error);
    JITSCOPE_ASSIGN(store_, open_store(directory_));
    return {};
  }
  Status make(const std::string& name) {
    JITSCOPE_ASSIGN(OutputPlace place, next(name));
    JITSCOPE_ASSIGN(OwnFolder folder, make_own_folder(std::move(place), kFolderMode));
    folders_.push_back(std::move(folder));
    return {};
  }
  Status enter(const std::string& name) {
    JITSCOPE_ASSIGN(OutputPlace place, next(name));
    OwnFolder folder;
    JITSCOPE_ASSIGN(folder.fd, open_own_folder(place.folder.get(), place.name, place.path));
    folder.place = std::move(place);
    folders_.push_back(std::move(folder));
    return {};
  }
  [[nodiscard]] int fd() const {
    return folders_.empty() ? store_.get() : folders_.back().fd.get();
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { keep_ = true; }
  // From the innermost on, as far as they are empty.
  template <typename Which>
  void remove_empty(Which&& which) const {
    for (const OwnFolder& folder : folders_ | std::views::reverse) {
      if (which(folder)) folder.remove();
    }
  }

 private:
  static constexpr mode_t kFolderMode = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
  Result<OutputPlace> next(const std::string& name) {
    JITSCOPE_ASSIGN(UniqueFd parent, duplicate_folder(fd()));
    path_ += "/" + name;
    return OutputPlace{std::move(parent), name, path_};
  }

  std::string directory_;
  std::string path_;  // of the innermost one
  UniqueFd store_;
  bool made_ = false;
  std::vector<OwnFolder> folders_;
  bool keep_ = false;
};

Status remove_at(int folder, const std::string& name, const std::string& path) {
  if (::unlinkat(folder, name.c_str(), 0) == 0) return {};
  return fail(system_error("cannot remove an image", path));
}

// "../../jitscope/NAME/ID", as a link of .build-id has it: the folders from the store's own on;
// empty when it leads elsewhere.
std::vector<std::string> folders_of_link(int ids, const std::string& name) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(ids, name.c_str(), text.data(), text.size());
  std::string_view rest(text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
  constexpr std::string_view up = "../../";
  std::vector<std::string> folders;
  if (!rest.starts_with(up)) return folders;
  rest.remove_prefix(up.size());
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part == "..") return {};
    if (!part.empty() && part != ".") folders.emplace_back(part);
  }
  return folders;
}

// perf's cache has a folder behind the link.
fs::path file_behind(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? path / "elf" : path;
}

// What the DWARF says of the image; false when it is not of our making.
bool take_unit(Elf* elf, ImageFacts& facts) {
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
  if (dwarf == nullptr) return false;
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die die;
  if (dwarf_get_units(dwarf.get(), nullptr, &unit, &version, &type, &die, nullptr) != 0) {
    return false;
  }
  Dwarf_Attribute attribute;
  const char* producer = dwarf_formstring(dwarf_attr(&die, DW_AT_producer, &attribute));
  if (producer == nullptr || !std::string_view(producer).starts_with(kProducer)) return false;
  const char* title = dwarf_diename(&die);
  if (title != nullptr) facts.title = title;
  Dwarf_Die child;
  if (dwarf_child(&die, &child) == 0) {
    do {
      Dwarf_Addr address = 0;
      const bool body =
          dwarf_tag(&child) == DW_TAG_subprogram && dwarf_lowpc(&child, &address) == 0;
      facts.functions += body ? 1 : 0;
    } while (dwarf_siblingof(&child, &child) == 0);
  }
  return true;
}

// The same of an image without DWARF: its .comment has the producer and the title.
bool take_comment(Elf* elf, ImageFacts& facts) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  bool ours = false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    const bool comment = name != nullptr && std::string_view(name) == ".comment";
    if (!comment && header.sh_type != SHT_SYMTAB) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    if (comment) {
      ByteCursor texts({static_cast<const std::byte*>(data->d_buf), data->d_size});
      ours = texts.c_string().starts_with(kProducer);
      facts.title = texts.c_string();
      continue;
    }
    GElf_Sym symbol;
    for (int i = 1; gelf_getsym(const_cast<Elf_Data*>(data), i, &symbol) != nullptr; ++i) {
      const bool function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
      facts.functions += function && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL ? 1 : 0;
    }
  }
  return ours;
}

}  // namespace

Result<ImageFacts> image_facts(const std::string& path) {
  // O_NONBLOCK: not to wait for the writer of a pipe.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(system_error("cannot read an image", path));
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fail(not_ours(path));
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, EndElf> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return fail(not_ours(path));
  ImageFacts facts;
  const void* id = nullptr;
  const ssize_t id_size = dwelf_elf_gnu_build_id(elf.get(), &id);
  if (id_size < 3) return fail(not_ours(path));
  facts.build_id = build_id_text({static_cast<const std::byte*>(id), static_cast<size_t>(id_size)});
  if (!take_unit(elf.get(), facts) && !take_comment(elf.get(), facts)) return fail(not_ours(path));
  facts.bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  return facts;
}

Result<std::string> install_image(const std::string& path, const std::string& directory,
                                  StoreLayout layout) {
  JITSCOPE_ASSIGN(const ImageFacts facts, image_facts(path));
  FolderChain ids(directory);
  JITSCOPE_TRY(ids.begin(true));
  JITSCOPE_TRY(ids.make(".build-id"));
  JITSCOPE_TRY(ids.make(facts.build_id.substr(0, 2)));
  const std::string rest = facts.build_id.substr(2);
  if (layout == StoreLayout::debug_directory) {
    const std::string name = rest + ".debug";
    std::string place = ids.path() + "/" + name;
    JITSCOPE_TRY(copy_to(path, ids.fd(), name, place));
    ids.keep();
    return place;
  }
  const std::string name(base_name(path));
  FolderChain folder(directory);
  JITSCOPE_TRY(folder.begin());
  for (const std::string& part : {std::string("jitscope"), name, facts.build_id}) {
    JITSCOPE_TRY(folder.make(part));
  }
  JITSCOPE_TRY(copy_to(path, folder.fd(), "elf", folder.path() + "/elf"));
  const std::string target = fmt::format("../../jitscope/{}/{}", name, facts.build_id);
  struct stat there = {};
  if (::fstatat(ids.fd(), rest.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(there.st_mode)) {
    ::unlinkat(ids.fd(), rest.c_str(), 0);
  }
  if (::symlinkat(target.c_str(), ids.fd(), rest.c_str()) != 0) {
    const int code = errno;
    ::unlinkat(folder.fd(), "elf", 0);
    return fail(system_error("cannot link an image", ids.path() + "/" + rest, code));
  }
  ids.keep();
  folder.keep();
  return fmt::format("{}/{}/elf", ids.path(), rest);
}

Result<std::vector<InstalledImage>> installed_images(const std::string& directory) {
  std::vector<InstalledImage> out;
  std::error_code error;
  const fs::path ids = fs::path(directory) / ".build-id";
  if (!fs::is_directory(ids, error)) return out;
  for (fs::directory_iterator group(ids, error); !error && group != fs::directory_iterator();
       group.increment(error)) {
    std::error_code inner;
    for (fs::directory_iterator it(group->path(), inner); !inner && it != fs::directory_iterator();
         it.increment(inner)) {
      const std::string file = file_behind(it->path()).native();
      auto facts = image_facts(file);
      if (facts) out.push_back({file, std::move(*facts)});
    }
  }
  if (error) return fail(system_error("cannot read a folder", ids.native(), error.value()));
  std::ranges::sort(out, {}, &InstalledImage::path);
  return out;
}

namespace {

const auto any_folder = [](const OwnFolder&) { return true; };

// perf's layout: the file in the folder that the link names, that folder, and those above it that
// are empty then.
Status remove_linked(const std::string& directory, int ids, const std::string& name,
                     const InstalledImage& image) {
  const std::vector<std::string> parts = folders_of_link(ids, name);
  if (parts.empty()) {
    return fail(ErrorKind::not_permitted, "the link of the image leads out of the folder",
                image.path, "remove it by hand");
  }
  FolderChain folder(directory);
  JITSCOPE_TRY(folder.begin());
  for (const std::string& part : parts) JITSCOPE_TRY(folder.enter(part));
  JITSCOPE_TRY(remove_at(folder.fd(), "elf", image.path));
  JITSCOPE_TRY(remove_at(ids, name, image.path));
  folder.remove_empty(any_folder);
  return {};
}

// `image.path` is DIRECTORY/.build-id/xx/yyyy.debug or DIRECTORY/.build-id/xx/yyyy/elf.
Status remove_image(const std::string& directory, const InstalledImage& image) {
  const fs::path file(image.path);
  const bool linked = file.filename() == "elf";
  const fs::path entry = linked ? file.parent_path() : file;
  FolderChain ids(directory);
  JITSCOPE_TRY(ids.begin());
  JITSCOPE_TRY(ids.enter(".build-id"));
  JITSCOPE_TRY(ids.enter(entry.parent_path().filename().native()));
  const std::string name = entry.filename().native();
  JITSCOPE_TRY(linked ? remove_linked(directory, ids.fd(), name, image)
                      : remove_at(ids.fd(), name, image.path));
  ids.remove_empty([](const OwnFolder& folder) { return folder.place.name != ".build-id"; });
  return {};
}

}  // namespace

Result<std::vector<std::string>> remove_images(const std::string& directory, std::string_view id) {
  JITSCOPE_ASSIGN(std::vector<InstalledImage> images, installed_images(directory));
  if (id != "all") {
    if (id.size() < kShortestId) {
      return fail(ErrorKind::usage, "a build-id wants at least 4 digits", std::string(id),
                  "jitscope image list shows them; `all` removes all");
    }
    std::erase_if(
        images, [&](const InstalledImage& image) { return !image.facts.build_id.starts_with(id); });
    const bool several = std::ranges::any_of(images, [&](const InstalledImage& image) {
      return image.facts.build_id != images.front().facts.build_id;
    });
    if (several) {
      return fail(ErrorKind::usage, "several images have build-ids that begin so", std::string(id),
                  "give more digits");
    }
  }
  if (images.empty()) {
    return fail(ErrorKind::not_found, "no such image of jitscope's is installed",
                fmt::format("{} in {}", id, directory), "jitscope image list shows them");
  }
  std::vector<std::string> removed;
  for (const InstalledImage& image : images) {
    JITSCOPE_TRY(remove_image(directory, image));
    removed.push_back(image.path);
  }
  return removed;
}

}  // namespace jitscope
