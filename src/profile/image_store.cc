#include "profile/image_store.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarf.h>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/byte_cursor.h"
#include "base/path.h"
#include "base/unique_fd.h"
#include "profile/output_file.h"
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

Status copy_to(const std::string& from, const std::string& to) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return fail(system_error("cannot read an image", from));
  JITSCOPE_ASSIGN(OutputFile out, OutputFile::create(to, true));
  JITSCOPE_TRY(copy_sparse(source.get(), out.fd(), from));
  return out.commit(S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

// Folders that are made; taken back when nothing came of it.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    std::error_code error;
    // The innermost first; one that somebody uses stays.
    for (size_t i = made_.size(); i-- > 0;) fs::remove(made_[i], error);
  }
  Status make(const fs::path& path) {
    std::error_code error;
    fs::path part;
    for (const fs::path& name : path) {
      part /= name;
      if (part.empty() || !fs::create_directory(part, error)) {
        if (error) break;
        continue;
      }
      made_.push_back(part);
    }
    if (error) {
      return fail(system_error("cannot create a folder", part.native(), error.value()));
    }
    return {};
  }
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

Status remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    return fail(system_error("cannot remove an image", path.native(), error.value()));
  }
  return {};
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
  const fs::path ids = fs::path(directory) / ".build-id" / facts.build_id.substr(0, 2);
  const std::string rest = facts.build_id.substr(2);
  NewFolders folders;
  JITSCOPE_TRY(folders.make(ids));
  if (layout == StoreLayout::debug_directory) {
    std::string place = (ids / (rest + ".debug")).native();
    JITSCOPE_TRY(copy_to(path, place));
    folders.keep();
    return place;
  }
  const fs::path folder =
      fs::path(directory) / "jitscope" / std::string(base_name(path)) / facts.build_id;
  JITSCOPE_TRY(folders.make(folder));
  JITSCOPE_TRY(copy_to(path, (folder / "elf").native()));
  std::error_code error;
  const fs::path link = ids / rest;
  const fs::path target =
      fs::path("../..") / "jitscope" / std::string(base_name(path)) / facts.build_id;
  if (fs::symlink_status(link, error).type() == fs::file_type::symlink) fs::remove(link, error);
  fs::create_directory_symlink(target, link, error);
  if (error) {
    const int code = error.value();
    fs::remove(folder / "elf", error);
    return fail(system_error("cannot link an image", link.native(), code));
  }
  folders.keep();
  return (link / "elf").native();
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
    std::error_code error;
    const fs::path file(image.path);
    const fs::path link = file.parent_path();
    if (file.filename() == "elf" && fs::is_symlink(fs::symlink_status(link, error))) {
      // perf's layout: the folder behind the link, the folder of its name when it was the last.
      const fs::path folder = fs::weakly_canonical(link, error);
      JITSCOPE_TRY(remove_file(folder / "elf"));
      JITSCOPE_TRY(remove_file(link));
      fs::remove(folder, error);  // these only when they are empty
      fs::remove(folder.parent_path(), error);
      fs::remove(folder.parent_path().parent_path(), error);
      fs::remove(link.parent_path(), error);
    } else {
      JITSCOPE_TRY(remove_file(file));
      fs::remove(file.parent_path(), error);  // only when it is empty
    }
    removed.push_back(image.path);
  }
  return removed;
}

}  // namespace jitscope
