// Reads source files and line tables; see method_sources.h.
#include "runtimes/hotspot/method_sources.h"

#include <algorithm>

#include "runtimes/hotspot/batch.h"
#include "runtimes/hotspot/signature.h"

namespace jitscope::hotspot {
namespace {

constexpr uint64_t kWordBytes = 8;
// A ConstMethod with 64 KB of bytecode and all its tables; and of all methods of one call together.
constexpr uint64_t kMaxTable = 2U << 20U;
constexpr uint64_t kMaxTables = 256U << 20U;

// The class of "java/util/HashMap.put(Ljava/lang/Object;)V": no internal name holds a dot.
std::string_view class_of(const MethodName& name) {
  const std::string_view raw = name.raw;
  return raw.substr(0, raw.find('.'));
}

}  // namespace

std::string source_path(std::string_view class_name, std::string_view file) {
  const bool name = !file.empty() && file.find('\0') == std::string_view::npos &&
                    file.front() != '/' && file != ".." && !file.starts_with("../") &&
                    file.find("/../") == std::string_view::npos && !file.ends_with("/..");
  if (!name) return {};
  // A hidden class's name ends in an address behind a slash in some JVMs.
  if (const size_t hidden = class_name.rfind("/0x"); hidden != std::string_view::npos) {
    class_name = class_name.substr(0, hidden);
  }
  std::string result;
  // Some compilers write a path; it is theirs then.
  if (const size_t slash = class_name.rfind('/');
      slash != std::string_view::npos && file.find('/') == std::string_view::npos) {
    result = to_utf8(class_name.substr(0, slash + 1));
  }
  result += to_utf8(file);
  std::erase(result, '\0');
  return result;
}

Result<MethodSources> MethodSources::open(const VmStructs& structs) {
  MethodSources sources;
  JITSCOPE_ASSIGN(sources.code_size_, structs.member({"ConstMethod"}, {"_code_size"}));
  JITSCOPE_ASSIGN(sources.total_size_, structs.member({"ConstMethod"}, {"_constMethod_size"}));
  JITSCOPE_ASSIGN(sources.flags_, structs.member({"ConstMethod"}, {"_flags", "_flags._flags"}));
  auto flag = structs.int_constant("ConstMethod::_has_linenumber_table");
  if (!flag) flag = structs.int_constant("ConstMethodFlags::_misc_has_linenumber_table");
  JITSCOPE_ASSIGN(const uint64_t size, structs.type_size("ConstMethod"));
  JITSCOPE_ASSIGN(const uint64_t pool_size, structs.type_size("ConstantPool"));
  JITSCOPE_ASSIGN(sources.pool_length_, structs.member({"ConstantPool"}, {"_length"}));
  JITSCOPE_ASSIGN(sources.symbol_layout_, SymbolLayout::of(structs));
  if (!flag || *flag <= 0 || size == 0 || size > 4096 || pool_size > 4096) {
    return fail(ErrorKind::not_possible, "this JVM does not describe its line number tables");
  }
  sources.line_table_flag_ = static_cast<uint64_t>(*flag);
  sources.const_method_size_ = static_cast<uint32_t>(size);
  sources.pool_size_ = static_cast<uint32_t>(pool_size);
  sources.pool_file_index_ = structs.member_if({"ConstantPool"}, {"_source_file_name_index"});
  sources.klass_file_index_ = structs.member_if({"InstanceKlass"}, {"_source_file_name_index"});
  return sources;
}

std::vector<MethodSource> MethodSources::read(MemoryReader& memory,
                                              std::span<const MethodInfo* const> methods,
                                              Unsigned5 form, uint64_t& unreadable) const {
  std::vector<MethodSource> result(methods.size());
  read_files(memory, methods, result);

  StructBatch heads(std::max({code_size_.end(), total_size_.end(), flags_.end()}));
  for (const MethodInfo* method : methods) {
    if (method != nullptr) heads.add(method->const_method);
  }
  heads.read(memory);
  std::vector<ByteRange> tables;
  std::vector<size_t> owners;
  uint64_t total = 0;
  uint64_t wanted = 0;
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i] == nullptr) continue;
    StructView view(heads.get(methods[i]->const_method));
    const uint64_t start = const_method_size_ + view.get(code_size_);
    const uint64_t end = (view.get(total_size_) & 0xffffffffU) * kWordBytes;
    const bool has_table = (view.get(flags_) & line_table_flag_) != 0;
    if (view.ok() && !has_table) continue;
    ++wanted;
    if (!view.ok() || end <= start || end - start > kMaxTable || end - start > kMaxTables - total) {
      continue;
    }
    total += end - start;
    tables.push_back({methods[i]->const_method + start, static_cast<uint32_t>(end - start)});
    owners.push_back(i);
  }
  uint64_t decoded = 0;
  read_ranges(memory, tables, [&](size_t i, std::span<const std::byte> bytes) {
    auto lines = LineNumbers::decode(bytes, form);
    if (!lines) return;
    result[owners[i]].lines = std::move(*lines);
    ++decoded;
  });
  unreadable += wanted - decoded;
  return result;
}

void MethodSources::read_files(MemoryReader& memory, std::span<const MethodInfo* const> methods,
                               std::vector<MethodSource>& result) const {
  if (!pool_file_index_ && !klass_file_index_) return;
  const FieldRef index_field = pool_file_index_ ? *pool_file_index_ : *klass_file_index_;
  StructBatch pools(std::max(pool_length_.end(), pool_file_index_ ? index_field.end() : 0U));
  StructBatch klasses(index_field.end());
  for (const MethodInfo* method : methods) {
    if (method == nullptr) continue;
    pools.add(method->pool);
    if (!pool_file_index_) klasses.add(method->holder);
  }
  pools.read(memory);
  klasses.read(memory);
  StructBatch slots(kWordBytes);
  std::vector<uint64_t> slot_of(methods.size());
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i] == nullptr) continue;
    StructView pool(pools.get(methods[i]->pool));
    StructView klass(klasses.get(methods[i]->holder));
    const uint64_t index = pool_file_index_ ? pool.get(index_field) : klass.get(index_field);
    const int64_t length = pool.get_signed(pool_length_);
    // 0: the class file has no such attribute.
    if (!pool.ok() || index == 0 || length <= 0 || index >= static_cast<uint64_t>(length)) continue;
    slot_of[i] = methods[i]->pool + pool_size_ + index * kWordBytes;
    slots.add(slot_of[i]);
  }
  slots.read(memory);
  SymbolBatch symbols(symbol_layout_);
  constexpr FieldRef kSlot{0, 8, false};
  for (uint64_t& slot : slot_of) {
    slot = StructView(slots.get(slot)).get(kSlot);
    symbols.add(slot);
  }
  symbols.read(memory);
  for (size_t i = 0; i < methods.size(); ++i) {
    const std::string* file = symbols.get(slot_of[i]);
    if (file != nullptr) result[i].file = source_path(class_of(*methods[i]->name), *file);
  }
}

}  // namespace jitscope::hotspot
