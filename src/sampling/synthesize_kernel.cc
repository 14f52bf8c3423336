// The kernel's code as records; see synthesize.h.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "ebpf/bpf_symbols.h"
#include "sampling/synthesize.h"

namespace jitscope {
namespace {

using perfdata::RecordBuilder;
using perfdata::RecordHead;

std::string_view next_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

struct KernelText {
  std::string_view symbol;  // _text or _stext: perf relocates by it
  uint64_t start = 0;
  uint64_t end = 0;
  bool hidden = false;  // there are symbols, and all addresses are 0
};

KernelText find_kernel_text(std::string_view kallsyms) {
  KernelText found;
  bool any = false;
  bool nonzero = false;
  ByteCursor cursor(kallsyms);
  while (!cursor.at_end()) {
    std::string_view line = cursor.line();
    const std::string_view digits = next_word(line);
    (void)next_word(line);
    const std::string_view name = next_word(line);
    any = any || !name.empty();
    nonzero = nonzero || digits.find_first_not_of('0') != std::string_view::npos;
    const bool text = name == "_text";
    const bool start = text || (name == "_stext" && found.symbol.empty());
    if (!start && name != "_etext") continue;
    const auto address = parse_hex(digits);
    if (!address || *address == 0) continue;
    if (start) {
      found.symbol = text ? "_text" : "_stext";
      found.start = *address;
    } else {
      found.end = *address;
    }
  }
  found.hidden = any && !nonzero;
  return found;
}

// "kernel/drivers/net/virtio_net.ko.xz" -> "virtio_net", as the kernel calls the module.
std::string module_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  std::string name(path.substr(0, path.find(".ko")));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::unordered_map<std::string, std::string_view> module_files(std::string_view modules_dep) {
  std::unordered_map<std::string, std::string_view> files;
  ByteCursor cursor(modules_dep);
  while (!cursor.at_end()) {
    const std::string_view line = cursor.line();
    const std::string_view path = line.substr(0, line.find(':'));
    if (path.find(".ko") != std::string_view::npos) files.emplace(module_name(path), path);
  }
  return files;
}

void append_kernel_mapping(std::string& out, const RecordBuilder& builder, uint64_t start,
                           uint64_t length, uint64_t offset, const std::string& name) {
  perfdata::Mmap record;
  record.pid = UINT32_MAX;
  record.start = start;
  record.length = length;
  record.page_offset = offset;
  record.path = name;
  RecordHead head;
  head.misc = perfdata::kMiscKernel;
  builder.mmap(out, head, record);
}

// Address, size and file of every module; ascending.
struct Module {
  uint64_t start = 0;
  uint64_t size = 0;
  std::string name;
};
std::vector<Module> parse_modules(const KernelTexts& texts) {
  const auto files = module_files(texts.modules_dep);
  std::vector<Module> modules;
  ByteCursor cursor(texts.modules);
  while (!cursor.at_end()) {
    // "virtio_net 61440 0 - Live 0xffffffffc0120000"
    std::string_view line = cursor.line();
    const std::string name(next_word(line));
    const auto size = parse_decimal(next_word(line));
    for (int i = 0; i < 3; ++i) (void)next_word(line);
    const auto start = parse_hex(next_word(line));
    if (!size || !start || *start == 0) continue;
    const auto file = files.find(name);
    modules.push_back({*start, *size,
                       file == files.end()
                           ? fmt::format("[{}]", name)
                           : fmt::format("{}/{}", texts.module_folder, file->second)});
  }
  std::ranges::sort(modules, {}, &Module::start);
  return modules;
}

void append_bpf_records(std::string& out, const RecordBuilder& builder, std::string_view kallsyms) {
  const std::vector<BpfCode> code = list_bpf_code();
  if (code.empty()) return;
  ByteCursor cursor(kallsyms);
  while (!cursor.at_end()) {
    std::string_view line = cursor.line();
    if (!line.ends_with("[bpf]")) continue;
    const auto address = parse_hex(next_word(line));
    (void)next_word(line);
    if (!address) continue;
    const auto found = std::ranges::lower_bound(code, *address, {}, &BpfCode::address);
    if (found == code.end() || found->address != *address) continue;
    perfdata::Ksymbol symbol;
    symbol.address = *address;
    symbol.length = found->length;
    symbol.kind = 1;  // PERF_RECORD_KSYMBOL_TYPE_BPF
    symbol.name = next_word(line);
    builder.ksymbol(out, {}, symbol);
  }
}

std::string text_or_nothing(const std::string& path) {
  constexpr size_t largest = 256U << 20U;
  auto text = read_text_file(path, largest);
  return text ? std::move(*text) : std::string();
}

}  // namespace

Status append_kernel_records(std::string& out, const RecordBuilder& builder,
                             const KernelTexts& texts) {
  const KernelText kernel = find_kernel_text(texts.kallsyms);
  const std::vector<Module> modules = parse_modules(texts);
  if (kernel.symbol.empty()) {
    if (kernel.hidden) {
      return fail(ErrorKind::not_permitted, "the kernel hides the addresses of its code",
                  "/proc/kallsyms", "run as root, or set the sysctl kernel.kptr_restrict to 0");
    }
    return fail(ErrorKind::not_possible, "the kernel lists no symbols", "/proc/kallsyms",
                "it needs CONFIG_KALLSYMS");
  }
  uint64_t end = kernel.end;
  if (end <= kernel.start) {
    // No _etext: up to the first module behind it, or for ever.
    end = UINT64_MAX;
    for (const Module& module : modules) {
      if (module.start > kernel.start) end = std::min(end, module.start);
    }
  }
  append_kernel_mapping(out, builder, kernel.start, end - kernel.start, kernel.start,
                        fmt::format("[kernel.kallsyms]{}", kernel.symbol));
  for (const Module& module : modules) {
    append_kernel_mapping(out, builder, module.start, module.size, 0, module.name);
  }
  return {};
}

Status append_kernel_records(std::string& out, const RecordBuilder& builder) {
  const std::string kallsyms = text_or_nothing("/proc/kallsyms");
  const std::string modules = text_or_nothing("/proc/modules");
  utsname names = {};
  ::uname(&names);
  KernelTexts texts;
  texts.module_folder = fmt::format("/lib/modules/{}", &names.release[0]);
  const std::string modules_dep =
      modules.empty() ? std::string() : text_or_nothing(texts.module_folder + "/modules.dep");
  texts.kallsyms = kallsyms;
  texts.modules = modules;
  texts.modules_dep = modules_dep;
  JITSCOPE_TRY(append_kernel_records(out, builder, texts));
  append_bpf_records(out, builder, kallsyms);
  return {};
}

}  // namespace jitscope
