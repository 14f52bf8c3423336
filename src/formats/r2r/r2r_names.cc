// Names of the methods of a ReadyToRun image. See r2r_image.h.
#include "formats/ecma335/signatures.h"
#include "formats/ecma335/type_path.h"
#include "formats/r2r/instance_entry.h"
#include "formats/r2r/r2r_image.h"

namespace jitscope {
namespace {

constexpr uint16_t kManifestHasAnIndex = 6;  // since version 6.3
constexpr uint16_t kManifestHasAnIndexMinor = 3;

Error no_metadata() {
  return {ErrorKind::not_found, "a method of an assembly whose metadata is not at hand", {}, {}, 0};
}

}  // namespace

class R2rNamer final : public EcmaModules {
 public:
  R2rNamer(const R2rImage& image, const EcmaAssemblies* others) : image_(image), others_(others) {}

  [[nodiscard]] const EcmaMetadata* module(uint32_t index) const override;
  [[nodiscard]] Result<R2rName> method(uint32_t component, uint32_t row) const;
  [[nodiscard]] Result<R2rName> instance(ByteCursor cursor) const;

 private:
  struct Owner {
    std::string runtime;  // in the runtime's spelling
    std::string csharp;
  };

  [[nodiscard]] const EcmaMetadata* component(uint32_t index) const;
  [[nodiscard]] const EcmaMetadata* assembly(std::string_view name) const;
  [[nodiscard]] static Result<Owner> owner_of(const EcmaMetadata& metadata, EcmaToken type);
  [[nodiscard]] Result<Owner> owner_of(const EcmaMetadata* metadata, ByteCursor type) const;
  // `signature` is of `metadata`, the method of `assembly`.
  [[nodiscard]] static Result<R2rName> join(const EcmaMetadata& metadata, const EcmaMember& member,
                                            std::string_view assembly, Owner owner);

  const R2rImage& image_;
  const EcmaAssemblies* others_;
};

const EcmaMetadata* R2rNamer::assembly(std::string_view name) const {
  if (name.empty()) return nullptr;
  for (const R2rImage::Component& each : image_.components_) {
    if (each.metadata && each.metadata->assembly_name() == name) return &*each.metadata;
  }
  return others_ != nullptr ? others_->assembly(name) : nullptr;
}

const EcmaMetadata* R2rNamer::component(uint32_t index) const {
  const R2rImage::Component& found = image_.components_[index];
  return found.metadata ? &*found.metadata : assembly(found.name);
}

// 0: the image's own. Then come the references of its metadata, a number for the manifest itself
// (in later versions), and the references of the manifest. A composite image has only the latter.
const EcmaMetadata* R2rNamer::module(uint32_t index) const {
  if (image_.components_.empty()) return nullptr;
  if (image_.kind() == R2rKind::composite) {
    if (index == 0) return nullptr;  // it does not say which
  } else {
    if (index == 0) return component(0);
    const EcmaMetadata* own = component(0);
    const uint32_t own_count = own != nullptr ? own->rows(EcmaTable::assembly_ref) : 0;
    if (own != nullptr && index <= own_count) {
      return assembly(own->name({EcmaTable::assembly_ref, index}));
    }
    index -= own_count;
    const R2rHeader& header = image_.header();
    if (header.major > kManifestHasAnIndex ||
        (header.major == kManifestHasAnIndex && header.minor >= kManifestHasAnIndexMinor)) {
      if (--index == 0) return nullptr;
    }
  }
  if (!image_.manifest_) return nullptr;
  return assembly(image_.manifest_->name({EcmaTable::assembly_ref, index}));
}

Result<R2rName> R2rNamer::join(const EcmaMetadata& metadata, const EcmaMember& member,
                               std::string_view assembly, Owner owner) {
  std::string name = "[";
  if (!(append_bounded(name, assembly) && append_bounded(name, "] ") &&
        append_bounded(name, owner.runtime) && append_bounded(name, "::") &&
        append_bounded(name, member.name))) {
    return fail(ErrorKind::damaged, "the name of a method is too long");
  }
  R2rName out;
  JITSCOPE_ASSIGN(out.full, il_method(metadata, member.signature, name));
  const size_t at = out.full.rfind(name);  // what stands in front of it is the type it returns
  if (at != std::string::npos) {
    out.parameters = out.full.substr(at + name.size() + 1);
    out.parameters.pop_back();
  }
  out.assembly = assembly;
  out.type = std::move(owner.csharp);
  out.method = member.name;
  return out;
}

Result<R2rNamer::Owner> R2rNamer::owner_of(const EcmaMetadata& metadata, EcmaToken type) {
  // A generic type that is no instance has its own parameters as arguments.
  std::vector<std::string> arguments;
  for (uint32_t i = 0; i < kMostEcmaNesting; ++i) {
    const std::string_view parameter = metadata.type_parameter(type, i);
    if (parameter.empty()) break;
    arguments.emplace_back(parameter);
  }
  const EcmaTypePath path = type_path(metadata, type);
  Owner out;
  if (!append_type_name(out.runtime, metadata, path, arguments, EcmaSpelling::runtime) ||
      !append_type_name(out.csharp, metadata, path, arguments, EcmaSpelling::csharp)) {
    return fail(ErrorKind::damaged, "a method of a type that is not there");
  }
  return out;
}

Result<R2rNamer::Owner> R2rNamer::owner_of(const EcmaMetadata* metadata, ByteCursor type) const {
  Owner out;
  ByteCursor again = type;
  JITSCOPE_ASSIGN(out.runtime, type_text(type, metadata, this, EcmaSpelling::runtime));
  JITSCOPE_ASSIGN(out.csharp, type_text(again, metadata, this, EcmaSpelling::csharp));
  return out;
}

Result<R2rName> R2rNamer::method(uint32_t index, uint32_t row) const {
  const EcmaMetadata* metadata = component(index);
  if (metadata == nullptr) return fail(no_metadata());
  const EcmaMember member = metadata->method(row);
  JITSCOPE_ASSIGN(Owner owner, owner_of(*metadata, member.owner));
  return join(*metadata, member, metadata->assembly_name(), std::move(owner));
}

Result<R2rName> R2rNamer::instance(ByteCursor cursor) const {
  JITSCOPE_ASSIGN(const R2rInstance entry, read_instance_signature(cursor));
  const EcmaMetadata* context = module(entry.module);
  // Whose the method is: the module that its type names, when it names one.
  EcmaTypeHead head{context, {}};
  if (entry.has_owner()) {
    const auto found = type_head(entry.owner, context, this);
    if (!found) return fail(no_metadata());
    head = *found;
  }
  const EcmaMetadata* metadata = entry.member_ref() ? context : head.metadata;
  if (metadata == nullptr) return fail(no_metadata());
  const EcmaMember member =
      entry.member_ref() ? metadata->member_ref(entry.row) : metadata->method(entry.row);
  Owner owner;
  if (entry.has_owner()) {
    JITSCOPE_ASSIGN(owner, owner_of(context, entry.owner));
  } else if (member.owner.table == EcmaTable::type_spec) {
    const ByteCursor spec(metadata->type_spec(member.owner.row));
    JITSCOPE_ASSIGN(owner, owner_of(metadata, spec));
    if (const auto found = type_head(spec, metadata, this)) head = *found;
  } else {
    JITSCOPE_ASSIGN(owner, owner_of(*metadata, member.owner));
    head = {metadata, member.owner};
  }

  // Of a method of another assembly the image knows what it refers to. Where that forwards to a
  // third one, the runtime would print the latter.
  std::string_view assembly = metadata->assembly_name();
  if (entry.member_ref() && head.type.table == EcmaTable::type_ref) {
    const std::string_view outside =
        head.metadata->name(type_path(*head.metadata, head.type).outside);
    if (!outside.empty()) assembly = outside;
  }
  JITSCOPE_ASSIGN(R2rName out, join(*metadata, member, assembly, std::move(owner)));
  ByteCursor arguments = entry.arguments;
  for (uint32_t i = 0; i < entry.argument_count; ++i) {
    JITSCOPE_ASSIGN(const std::string text,
                    type_text(arguments, context, this, EcmaSpelling::csharp));
    if (!append_bounded(out.arguments, i == 0 ? "<" : ",") ||
        !append_bounded(out.arguments, text)) {
      return fail(ErrorKind::damaged, "the name of a method is too long");
    }
  }
  if (!out.arguments.empty()) out.arguments += '>';
  return out;
}

std::string R2rName::display() const {
  std::string out = type;
  return out.append(".")
      .append(method)
      .append(arguments)
      .append("(")
      .append(parameters)
      .append(")");
}

Result<R2rName> R2rImage::name(size_t index, const EcmaAssemblies* others) const {
  if (index >= methods_.size()) return fail(ErrorKind::not_found, "no such method");
  const Origin origin = origins_[methods_[index].function];
  const R2rNamer namer(*this, others);
  if (origin.component != kInstance) return namer.method(origin.component, origin.value);
  ByteCursor cursor(instance_bytes_);
  cursor.seek(origin.value);
  return namer.instance(cursor);
}

}  // namespace jitscope
