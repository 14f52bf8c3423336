// The table of reasons; see no_name.h.
#include "code/no_name.h"

#include <array>
#include <cstddef>

namespace jitscope {
namespace {

struct Row {
  NoName reason;
  std::string_view text;
  std::string_view advice;
};

constexpr std::string_view kDebugSymbols =
    "install the package's debug symbols (-dbgsym), or set DEBUGINFOD_URLS and use --debuginfod";

constexpr std::array kRows = {
    Row{NoName::none, "", ""},
    Row{NoName::no_source, "JIT code without a map or dump", ""},
    Row{NoName::empty_dump, "the process's jitdump is empty",
        "its runtime had written nothing to it: most write in blocks, or when they end; record to "
        "the end, and see that there is room on the disk"},
    Row{NoName::refused_source, "the JIT's map or dump was refused",
        "see the sources below: the refusal says why; --force accepts what is a regular file"},
    Row{NoName::no_body_then, "no body of the process's jitdump lay there at that time",
        "the dump was started late or was cut (record from the start of the process), or the code "
        "came and went between two looks of `jitscope record`"},
    Row{NoName::after_last_look,
        "compiled after the last look of jitscope record, before the process ended",
        "code that is compiled in the last moments of a process is gone before it is seen: have "
        "the runtime write a jitdump (`jitscope agent`) if these moments matter"},
    Row{NoName::no_line_there, "no line of the process's perf map holds the address",
        "the map was written before the code was compiled, or the code was gone when it was "
        "written: use a jitdump, or `jitscope record`"},
    Row{NoName::replaced, "the code that lay there had been replaced by then",
        "usually a stack walk that went astray: look for frames without frame pointers"},
    Row{NoName::map_rewritten, "the perf map was rewritten while it was read", ""},
    Row{NoName::wasm_jump_table,
        "V8's jump table of a WebAssembly module, through which its functions call each other", ""},
    Row{NoName::no_map_of_file, "a mapped file that is no ELF, without a map",
        "give its symbols with --map FILE=PATH, or have the runtime write a jitdump"},
    Row{NoName::map_of_other_file, "the map given for the file was made for another one",
        "make the map from the file that ran, or correct its build-id, size or guid line"},
    Row{NoName::map_base_is_wrong, "the map given for the file has another base than was said",
        "the note at the end has the figures: --map FILE=PATH:base=rva or base=file"},
    Row{NoName::map_base_not_known, "the base of the map given for the file is not known",
        "say it: --map FILE=PATH:base=file, rva or absolute; the note at the end has the figures"},
    Row{NoName::image_base_not_known,
        "where the image of the map given for the file begins is not certain",
        "the file is mapped in pieces, or cannot be read: use a map with base=file or "
        "base=absolute, "
        "or give the file with --root DIR"},
    Row{NoName::no_line_of_file, "no line of the map given for the file holds the address",
        "check the map's base: --map FILE=PATH:base=file, rva or absolute"},
    Row{NoName::no_function_of_image, "no function of the PE image holds the address",
        "thunks and padding have no names; those of a stripped image have none but exports"},
    Row{NoName::image_not_read, "the PE image cannot be read for names",
        "it is for another machine, has only IL, or is damaged: `jitscope image list FILE` says"},
    Row{NoName::stripped, "the ELF file has no symbols (stripped)", kDebugSymbols},
    Row{NoName::only_exported, "stripped ELF file: only exported symbols are known", kDebugSymbols},
    Row{NoName::not_all_read, "not all symbols of the ELF file were read",
        "the notes at the end say of which file, and why"},
    Row{NoName::no_time_left, "reading files for their names took too long",
        "the notes at the end say which files took so long: remove them or leave their processes "
        "out, and read the recording again"},
    Row{NoName::no_symbol, "no symbol of the ELF file holds the address",
        "assembly or padding without a symbol: nothing names it"},
    Row{NoName::file_changed, "the file changed since the recording",
        "it was upgraded or rebuilt: put the old file below DIR and use --root DIR, or use "
        "--debuginfod"},
    Row{NoName::file_deleted, "the file was deleted",
        "put a copy of it below DIR at the same path and use --root DIR"},
    Row{NoName::file_unreadable, "the file cannot be read",
        "it lies in a container or was removed: give its file system with --root DIR"},
    Row{NoName::elf_damaged, "the ELF file is damaged", "compare it with the package's file"},
    Row{NoName::no_vdso, "this machine has no vdso to read", ""},
    Row{NoName::kernel_unreadable, "kernel symbols cannot be read",
        "run as root, or sysctl kernel.kptr_restrict=0"},
    Row{NoName::other_machine, "kernel code of another machine or boot",
        "read the recording on the machine and boot that made it"},
    Row{NoName::other_kernel, "kernel code of another kernel than the one that runs now",
        "read the recording under the kernel that made it"},
    Row{NoName::earlier_boot, "kernel code of an earlier boot (its addresses were others)",
        "read the recording before the machine is booted again"},
    Row{NoName::no_kernel_symbol, "no kernel symbol holds the address", ""},
    Row{NoName::vsyscall, "the kernel's page for old programs", ""},
    Row{NoName::hypervisor, "hypervisor code", ""},
    Row{NoName::guest, "code of a virtual machine's guest", ""},
    Row{NoName::unknown_mode, "the recording does not say whose code it is", ""},
    Row{NoName::no_mapping, "no mapping of the process holds the address",
        "the stack walk went astray: code built without frame pointers (-fno-omit-frame-pointer "
        "keeps them)"},
    Row{NoName::not_looked_for_process, "no code of a process", ""},
    Row{NoName::not_looked_for_elf, "an ELF file", ""},
    Row{NoName::not_in_text, "the folded text has no name here", ""},
    Row{NoName::copied_text,
        "code that the program copied away from its file: whether it was changed cannot be told",
        "record with `jitscope record`, which compares it with the file while the process runs, or "
        "read the recording while it runs; without large pages for code nothing is copied"},
    Row{NoName::ambiguous,
        "ambiguous: bodies of other names lay at the address, and nothing tells when",
        "use a jitdump with `perf record -k mono`, or `jitscope record`, which knows when code was "
        "there"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].reason) != i) return false;
  }
  return kRows.size() == static_cast<size_t>(NoName::ambiguous) + 1;
}
static_assert(in_order(), "one row for each reason, in their order");

}  // namespace

std::string_view to_string(NoName reason) {
  return kRows[static_cast<size_t>(reason)].text;
}

std::string_view advice_of(NoName reason) {
  return kRows[static_cast<size_t>(reason)].advice;
}

}  // namespace jitscope
