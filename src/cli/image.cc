// jitscope image: ELF files made of JIT code, for perf, gdb, binutils, LLVM and debuginfod.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/output_folder.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/target.h"
#include "export/image_build.h"
#include "export/image_store.h"
#include "render/json.h"
#include "symbolize/elf_image.h"

namespace jitscope {
namespace {

constexpr mode_t kFolderMode = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;

struct BuildCommand {
  std::string process;
  pid_t pid = 0;
  std::string jitdump;
  std::string perf_map;
  std::string recording;
  std::string image;
  ImageSetOptions set;
  std::string layout = "absolute";
  bool no_debug = false;
  bool json = false;
  SourceOptions source;
};

struct StoreCommand {
  std::vector<std::string> images;
  std::string directory;
  bool perf = false;
  bool json = false;
};

std::string built_json(const BuiltImage& image, const ImageBuild& build) {
  JsonObject line("image");
  line.text("path", image.path)
      .text("build_id", build_id_text(image.summary.build_id))
      .text("source", build.source)
      .number("bodies", image.summary.bodies)
      .number("symbols", image.summary.symbols)
      .number("with_bytes", image.summary.with_bytes)
      .number("file_bytes", image.summary.file_bytes);
  return line.str() + "\n";
}

void report_built(const ImageBuild& build, const BuildCommand& command) {
  for (const BuiltImage& image : build.images) {
    if (command.json) {
      write_out(built_json(image, build));
    } else {
      write_out(fmt::format("{}  {}  {} bodies, {} symbols\n", printable(image.path),
                            build_id_text(image.summary.build_id), image.summary.bodies,
                            image.summary.symbols));
    }
  }
  report_note(fmt::format("{} code bodies from {}: {} with bytes, {} with lines", build.bodies,
                          printable(build.source), build.with_bytes,
                          command.no_debug ? 0 : build.with_lines));
  for (const std::string& note : build.notes) report_note("note: " + printable(note));
}

// A recording of several processes makes an image for each: FOLDER/NAME-PID.elf.
Result<int> build_recorded(const BuildCommand& command) {
  JITSCOPE_ASSIGN(std::vector<RecordedDump> dumps, recorded_dumps_of(command.recording));
  if (command.pid != 0) {
    std::erase_if(dumps, [&](const RecordedDump& dump) {
      return dump.pid != static_cast<uint32_t>(command.pid);
    });
    if (dumps.empty()) {
      return fail(ErrorKind::not_found, "the recording has no code of this process",
                  std::to_string(command.pid));
    }
  }
  struct stat there = {};
  const bool taken = ::lstat(command.set.output.c_str(), &there) == 0;
  const bool folder = taken && S_ISDIR(there.st_mode);
  if (dumps.size() > 1 && taken && !folder) {
    return fail(ErrorKind::usage,
                fmt::format("the recording has code of {} processes", dumps.size()),
                command.set.output, "give a folder with -o, or one process with -p");
  }
  ImageSetOptions set = command.set;
  const bool several = folder || dumps.size() > 1;
  if (several) {
    JITSCOPE_ASSIGN(OwnFolder own, make_own_folder(command.set.output, kFolderMode));
    set.folder = std::make_shared<const UniqueFd>(std::move(own.fd));
  }
  for (const RecordedDump& dump : dumps) {
    ImageSetOptions options = set;
    const std::string file = fmt::format("jit-{}.elf", dump.pid);
    if (several) options.output += "/" + file;
    if (several && !options.force &&
        ::fstatat(set.folder->get(), file.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
      // A pid that was used again has a dump for each process.
      const std::string name = dump.path.substr(dump.path.rfind('/') + 1);
      options.output = command.set.output + "/" + name.substr(0, name.size() - 5) + ".elf";
    }
    JITSCOPE_ASSIGN(const ImageBuild build, image_of_jitdump(dump.path, std::move(options)));
    report_built(build, command);
  }
  return status_with_output(0);
}

Result<int> build(BuildCommand& command) {
  command.set.packed = command.layout == "packed";
  command.set.image.debug_info = !command.no_debug;
  const int sources = (command.jitdump.empty() ? 0 : 1) + (command.perf_map.empty() ? 0 : 1) +
                      (command.recording.empty() ? 0 : 1) + (command.image.empty() ? 0 : 1);
  if (sources > 1 || (sources == 0 && command.pid == 0)) {
    return fail(ErrorKind::usage, "one source of code is wanted", {},
                "-p PID, --jitdump FILE, --perf-map FILE, -i RECORDING, or a PE image (FILE.dll)");
  }
  if (command.pid != 0 && sources != 0 && command.recording.empty()) {
    return fail(ErrorKind::usage, "a file's code is not chosen by process", {},
                "-p PID stands alone, or with -i RECORDING");
  }
  if (!command.recording.empty()) return build_recorded(command);
  Result<ImageBuild> built =
      !command.image.empty()      ? image_of_pe(command.image, command.set)
      : !command.jitdump.empty()  ? image_of_jitdump(command.jitdump, command.set)
      : !command.perf_map.empty() ? image_of_perf_map(command.perf_map, command.set)
                                  : image_of_process(command.pid, command.source, command.set);
  if (!built) return fail(std::move(built.error()));
  report_built(*built, command);
  return status_with_output(0);
}

std::string store_directory(const StoreCommand& command) {
  if (!command.directory.empty()) return command.directory;
  if (!command.perf) return "/usr/lib/debug";
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.debug";
}

Result<int> install(const StoreCommand& command) {
  const std::string directory = store_directory(command);
  for (const std::string& image : command.images) {
    JITSCOPE_ASSIGN(
        const std::string place,
        install_image(image, directory,
                      command.perf ? StoreLayout::perf_cache : StoreLayout::debug_directory));
    write_out(printable(place) + "\n");
  }
  return status_with_output(0);
}

Result<int> list(const StoreCommand& command) {
  JITSCOPE_ASSIGN(const auto images, installed_images(store_directory(command)));
  for (const InstalledImage& image : images) {
    if (command.json) {
      JsonObject line("image");
      line.text("path", image.path)
          .text("build_id", image.facts.build_id)
          .text("title", image.facts.title)
          .number("functions", image.facts.functions)
          .number("bytes", image.facts.bytes);
      write_out(line.str() + "\n");
    } else {
      write_out(fmt::format("{}  {:>7} functions  {:>9} bytes  {}  {}\n", image.facts.build_id,
                            image.facts.functions, image.facts.bytes, printable(image.facts.title),
                            printable(image.path)));
    }
  }
  if (images.empty()) {
    report_note("no image of jitscope's is installed in " + printable(store_directory(command)));
    return 1;
  }
  return status_with_output(0);
}

Result<int> remove(const StoreCommand& command) {
  for (const std::string& id : command.images) {
    JITSCOPE_ASSIGN(const auto removed, remove_images(store_directory(command), id));
    for (const std::string& path : removed) write_out(printable(path) + "\n");
  }
  return status_with_output(0);
}

void add_build(CLI::App& image, int& status) {
  auto options = std::make_shared<BuildCommand>();
  CLI::App* command = image.add_subcommand(
      "build", "An ELF file with the code, symbols, lines and unwind tables of a source");
  add_process_option(*command, options->process,
                     "A running process, by pid or name (with -i: one of it)");
  command->add_option("FILE", options->image,
                      "A PE image (.dll, .exe), or HOST!ENTRY of a .NET single-file program");
  command->add_option("--jitdump", options->jitdump, "A jitdump");
  command->add_option("--perf-map", options->perf_map, "A perf map: symbols without bytes");
  command->add_option("-i,--input", options->recording, "What jitscope record wrote");
  command
      ->add_option("-o,--output", options->set.output,
                   "File (a folder with -i of several processes)")
      ->required();
  command
      ->add_option("--layout", options->layout,
                   "absolute: at the addresses of the process; packed: one behind the other")
      ->check(CLI::IsMember({"absolute", "packed"}))
      ->capture_default_str();
  command->add_option("--dwarf", options->set.image.dwarf, "Version of the line tables")
      ->check(CLI::Range(4, 5))
      ->capture_default_str();
  add_source_folder_option(*command, options->set.image.source_folder,
                           "Where the sources lie (java/util/HashMap.java in it)");
  command->add_flag("--no-debug", options->no_debug, "Symbols and code alone");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_flag("--force", options->set.force, "Replace files that are there");
  command->callback([options, &status] {
    options->source.force = options->set.force;
    if (!options->process.empty()) {
      const auto chosen = process_of(options->process);
      if (!chosen) {
        status = report_error(chosen.error());
        return;
      }
      options->pid = *chosen;
    }
    const Result<int> result = build(*options);
    status = result ? *result : report_error(result.error());
  });
}

void add_store(CLI::App& image, int& status, const char* name, const char* about,
               Result<int> (*action)(const StoreCommand&), const char* argument) {
  auto options = std::make_shared<StoreCommand>();
  CLI::App* command = image.add_subcommand(name, about);
  if (argument != nullptr) {
    command->add_option(argument, options->images, "Which")->required();
  }
  command->add_option("--debugdir", options->directory,
                      "Where (default /usr/lib/debug, with --perf ~/.debug)");
  command->add_flag("--perf", options->perf, "In the layout of perf's cache");
  if (argument == nullptr) command->add_flag("--json", options->json, "One JSON object a line");
  command->callback([options, action, &status] {
    const Result<int> result = action(*options);
    status = result ? *result : report_error(result.error());
  });
}

}  // namespace

void add_image_command(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "image", "ELF files made of JIT code, for perf, gdb, binutils and debuginfod");
  command->require_subcommand(1);
  add_build(*command, status);
  add_store(*command, status, "install", "Lay images out by build-id, where tools look for them",
            install, "IMAGE");
  add_store(*command, status, "list", "The images that are installed", list, nullptr);
  add_store(*command, status, "remove", "Remove installed images, by build-id (or `all`)", remove,
            "BUILD_ID");
}

}  // namespace jitscope
