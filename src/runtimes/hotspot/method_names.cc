// Follows the pointers from Methods to their names; see method_names.h.
#include "runtimes/hotspot/method_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/work_limit.h"
#include "runtimes/hotspot/batch.h"
#include "runtimes/hotspot/signature.h"

namespace jitscope::hotspot {
namespace {

// Of one call: a method has some 100 bytes. Many methods may share one symbol of 64 KB.
constexpr uint64_t kMaxNameBytes = 256U << 20U;
constexpr size_t kMethodsAtOnce = 1U << 15U;
constexpr uint64_t kSlotBytes = 8;  // a constant pool slot is an intptr_t

bool is_method_handle_intrinsic(std::string_view holder, std::string_view method, uint16_t access) {
  // MethodHandles::signature_polymorphic_name_id: all of them are native methods of MethodHandle.
  return (access & 0x0100U) != 0 && holder == "java/lang/invoke/MethodHandle" &&
         (method == "invokeBasic" || method.starts_with("linkTo"));
}

// The numbers of one method on its way down the levels.
struct Chain {
  uint64_t const_method = 0;
  uint64_t pool = 0;
  uint64_t name_slot = 0;
  uint64_t signature_slot = 0;
  uint64_t holder = 0;
  uint64_t name = 0;
  uint64_t signature = 0;
  uint64_t holder_name = 0;
  uint16_t access = 0;
};

}  // namespace

Result<MethodNames> MethodNames::open(const VmStructs& structs) {
  MethodNames names;
  JITSCOPE_ASSIGN(names.const_method_, structs.member({"Method"}, {"_constMethod"}));
  JITSCOPE_ASSIGN(names.access_flags_, structs.member({"Method"}, {"_access_flags"}));
  JITSCOPE_ASSIGN(names.constants_, structs.member({"ConstMethod"}, {"_constants"}));
  JITSCOPE_ASSIGN(names.name_index_, structs.member({"ConstMethod"}, {"_name_index"}));
  JITSCOPE_ASSIGN(names.signature_index_, structs.member({"ConstMethod"}, {"_signature_index"}));
  JITSCOPE_ASSIGN(names.pool_holder_, structs.member({"ConstantPool"}, {"_pool_holder"}));
  JITSCOPE_ASSIGN(names.pool_length_, structs.member({"ConstantPool"}, {"_length"}));
  JITSCOPE_ASSIGN(names.klass_name_, structs.member({"Klass"}, {"_name"}));
  JITSCOPE_ASSIGN(const uint64_t pool_size, structs.type_size("ConstantPool"));
  JITSCOPE_ASSIGN(names.symbol_layout_, SymbolLayout::of(structs));
  if (pool_size > 4096 || (pool_size & 7U) != 0) {
    return fail(ErrorKind::not_possible,
                fmt::format("this JVM's ConstantPool is {} bytes large", pool_size));
  }
  names.pool_size_ = static_cast<uint32_t>(pool_size);
  return names;
}

std::vector<std::optional<MethodInfo>> MethodNames::read(MemoryReader& memory,
                                                         std::span<const uint64_t> methods) const {
  std::vector<std::optional<MethodInfo>> result;
  result.reserve(methods.size());
  uint64_t bytes = 0;
  for (size_t first = 0; first < methods.size(); first += kMethodsAtOnce) {
    const auto some = methods.subspan(first, std::min(kMethodsAtOnce, methods.size() - first));
    if (bytes > kMaxNameBytes || WorkLimit::over()) break;
    read_some(memory, some, bytes, result);
  }
  result.resize(methods.size());
  return result;
}

void MethodNames::read_some(MemoryReader& memory, std::span<const uint64_t> methods,
                            uint64_t& name_bytes,
                            std::vector<std::optional<MethodInfo>>& all) const {
  std::vector<Chain> chains(methods.size());

  StructBatch method_batch(std::max(const_method_.end(), access_flags_.end()));
  for (const uint64_t method : methods) method_batch.add(method);
  method_batch.read(memory);
  StructBatch const_batch(std::max({constants_.end(), name_index_.end(), signature_index_.end()}));
  for (size_t i = 0; i < methods.size(); ++i) {
    StructView view(method_batch.get(methods[i]));
    chains[i].const_method = view.get(const_method_);
    chains[i].access = static_cast<uint16_t>(view.get(access_flags_));
    if (view.ok()) const_batch.add(chains[i].const_method);
  }

  const_batch.read(memory);
  StructBatch pool_batch(std::max(pool_holder_.end(), pool_length_.end()));
  for (Chain& chain : chains) {
    StructView view(const_batch.get(chain.const_method));
    chain.pool = view.get(constants_);
    chain.name_slot = view.get(name_index_);  // an index until the pool is known
    chain.signature_slot = view.get(signature_index_);
    if (!view.ok()) chain.pool = 0;
    pool_batch.add(chain.pool);
  }

  pool_batch.read(memory);
  StructBatch klass_batch(klass_name_.end());
  StructBatch slot_batch(kSlotBytes);
  for (Chain& chain : chains) {
    StructView view(pool_batch.get(chain.pool));
    chain.holder = view.get(pool_holder_);
    const int64_t length = view.get_signed(pool_length_);
    const auto in_pool = [&](uint64_t index) {
      return index > 0 && length > 0 && index < static_cast<uint64_t>(length);
    };
    if (!view.ok() || !in_pool(chain.name_slot) || !in_pool(chain.signature_slot)) {
      chain = {};
      continue;
    }
    chain.name_slot = chain.pool + pool_size_ + chain.name_slot * kSlotBytes;
    chain.signature_slot = chain.pool + pool_size_ + chain.signature_slot * kSlotBytes;
    klass_batch.add(chain.holder);
    slot_batch.add(chain.name_slot);
    slot_batch.add(chain.signature_slot);
  }

  klass_batch.read(memory);
  slot_batch.read(memory);
  SymbolBatch symbols(symbol_layout_);
  constexpr FieldRef kSlot{0, 8, false};
  for (Chain& chain : chains) {
    chain.holder_name = StructView(klass_batch.get(chain.holder)).get(klass_name_);
    chain.name = StructView(slot_batch.get(chain.name_slot)).get(kSlot);
    chain.signature = StructView(slot_batch.get(chain.signature_slot)).get(kSlot);
    symbols.add(chain.holder_name);
    symbols.add(chain.name);
    symbols.add(chain.signature);
  }

  symbols.read(memory);
  for (size_t i = 0; i < methods.size(); ++i) {
    std::optional<MethodInfo>& result = all.emplace_back();
    const std::string* holder = symbols.get(chains[i].holder_name);
    const std::string* name = symbols.get(chains[i].name);
    const std::string* signature = symbols.get(chains[i].signature);
    if (holder == nullptr || name == nullptr || signature == nullptr) continue;
    name_bytes += holder->size() + name->size() + signature->size();
    if (name_bytes > kMaxNameBytes) continue;
    result = make_method_info(*holder, *name, *signature, chains[i].access);
    if (!result) continue;
    result->holder = chains[i].holder;
    result->const_method = chains[i].const_method;
    result->pool = chains[i].pool;
  }
}

std::optional<MethodInfo> make_method_info(std::string_view holder, std::string_view method,
                                           std::string_view descriptor, uint16_t access) {
  auto signature = parse_signature(descriptor);
  if (!signature) return std::nullopt;
  // A torn pointer gives some other text of the pool: a class or a descriptor more often than a
  // name. A whole descriptor may be a method's name, but nobody calls one so.
  if (!java::is_class_name(holder) || !java::is_method_name(method) ||
      java::descriptor_at_end(method) == 0) {
    return std::nullopt;
  }
  MethodName name;
  name.type = java_class_name(holder);
  name.function = to_utf8(method);
  name.parameters = join_type_names(signature->parameters);
  name.has_parameters = true;
  name.raw.reserve(holder.size() + method.size() + descriptor.size() + 1);
  name.raw.append(holder).append(".").append(method).append(descriptor);

  MethodInfo info;
  info.access = access;
  info.method_handle_intrinsic = is_method_handle_intrinsic(holder, method, access);
  if (!info.is_static()) {
    signature->parameters.insert(signature->parameters.begin(),
                                 Parameter{ValueType::reference, "this"});
  }
  info.name = std::make_shared<const MethodName>(std::move(name));
  info.parameters =
      std::make_shared<const std::vector<Parameter>>(std::move(signature->parameters));
  return info;
}

}  // namespace jitscope::hotspot
