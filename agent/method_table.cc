#include "agent/method_table.h"

#include <algorithm>
#include <string_view>

#include "formats/java/java_names.h"

namespace jitscope::agent {
namespace {

// What JVMTI allocated, given back at the end of the scope.
template <typename T>
class Allocated {
 public:
  explicit Allocated(jvmtiEnv* jvmti) : jvmti_(jvmti) {}
  Allocated(const Allocated&) = delete;
  Allocated& operator=(const Allocated&) = delete;
  ~Allocated() {
    if (value_ != nullptr) jvmti_->Deallocate(reinterpret_cast<unsigned char*>(value_));
  }
  T** out() { return &value_; }
  [[nodiscard]] T* get() const { return value_; }

 private:
  jvmtiEnv* jvmti_;
  T* value_ = nullptr;
};

std::string_view text(const Allocated<char>& value) {
  return value.get() == nullptr ? std::string_view() : std::string_view(value.get());
}

// "Ljava/util/Map$Entry;" -> "java/util/Map$Entry". JVMTI writes the '+' before the number of a
// hidden class as a '.', which no internal name holds.
std::string internal_name(std::string_view signature) {
  if (signature.starts_with('L')) signature.remove_prefix(1);
  if (signature.ends_with(';')) signature.remove_suffix(1);
  std::string name(signature);
  std::ranges::replace(name, '.', '+');
  return name;
}

}  // namespace

uint32_t MethodTable::operator()(jmethodID method) {
  const auto [at, added] = known_.try_emplace(method, static_cast<uint32_t>(facts_.size()));
  if (added) facts_.push_back(ask(method));
  return at->second;
}

MethodFacts MethodTable::ask(jmethodID method) const {
  MethodFacts facts;
  Allocated<char> name(jvmti_);
  Allocated<char> descriptor(jvmti_);
  Allocated<char> class_signature(jvmti_);
  Allocated<char> source(jvmti_);
  jclass holder = nullptr;
  std::string package;
  if (jvmti_->GetMethodDeclaringClass(method, &holder) == JVMTI_ERROR_NONE) {
    if (jvmti_->GetClassSignature(holder, class_signature.out(), nullptr) == JVMTI_ERROR_NONE) {
      const std::string internal = internal_name(text(class_signature));
      facts.name = java::java_class_name(internal) + ".";
      package = internal.substr(0, internal.rfind('/') + 1);
    }
    if (jvmti_->GetSourceFileName(holder, source.out()) == JVMTI_ERROR_NONE) {
      facts.file = java::to_utf8(package + std::string(text(source)));
    }
    if (jni_ != nullptr) jni_->DeleteLocalRef(holder);
  }
  if (jvmti_->GetMethodName(method, name.out(), descriptor.out(), nullptr) == JVMTI_ERROR_NONE) {
    facts.name += java::to_utf8(text(name));
    const auto parameters = java::parameter_names(text(descriptor));
    facts.name += parameters ? "(" + *parameters + ")" : std::string(text(descriptor));
  } else {
    facts.name += "[method of an unloaded class]";
  }
  Allocated<jvmtiLineNumberEntry> table(jvmti_);
  jint count = 0;
  if (jvmti_->GetLineNumberTable(method, &count, table.out()) == JVMTI_ERROR_NONE) {
    for (const jvmtiLineNumberEntry& entry : std::span(table.get(), static_cast<size_t>(count))) {
      facts.lines.push_back({entry.start_location, static_cast<uint32_t>(entry.line_number)});
    }
  }
  return facts;
}

}  // namespace jitscope::agent
