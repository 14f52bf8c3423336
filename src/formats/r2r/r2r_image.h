// The native code of a ReadyToRun image (.NET): which method lies at which address, and what the
// runtime calls it. No system calls.
//
// Functions are rows of a table sorted by address. Some of them are named, as entries of methods;
// those behind one of them, up to the next that is named, are funclets (handlers) of its method.
// Cold parts of methods lie apart and have a map of their own.
//
// The bytes are hostile. read() takes time and memory in proportion to the file: 24 bytes a row of
// the function table (which has 12), and at most kMostLookups elements of all sparse arrays
// together. Names are decoded when they are asked for, within the bounds of formats/ecma335.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/ecma335/assemblies.h"
#include "formats/ecma335/metadata.h"
#include "formats/pe/pe_image.h"
#include "formats/r2r/native_reader.h"
#include "formats/r2r/r2r_header.h"

namespace jitscope {

// The code of a method that lies together. A method with a cold part has two of these.
struct R2rMethod {
  uint32_t start = 0;     // RVA
  uint32_t end = 0;       // of its last funclet
  uint32_t function = 0;  // row of the function table that names it
  bool cold = false;

  bool operator==(const R2rMethod&) const = default;
};

struct R2rName {
  // As the runtime writes it into perf maps and jitdumps:
  // "instance void [System.Private.CoreLib]
  // System.Collections.Generic.List`1[System.__Canon]::Add(!0)"
  std::string full;
  std::string assembly;    // "System.Private.CoreLib"
  std::string type;        // "System.Collections.Generic.List<System.__Canon>"
  std::string method;      // "Add"
  std::string arguments;   // of a generic method, which `full` lacks: "<System.__Canon>"; or empty
  std::string parameters;  // "!0"

  // "System.Collections.Generic.List<System.__Canon>.Add(!0)"
  [[nodiscard]] std::string display() const;
};

class R2rImage {
 public:
  static constexpr uint64_t kMostLookups = uint64_t{1} << 26U;
  static constexpr size_t kMostComponents = 1U << 14U;

  // `keep` owns the image's bytes, unless these outlive the R2rImage anyway.
  // not_possible: no ReadyToRun image (R2rHeader::read tells which kind), or another machine than
  // x86-64. A component of a composite image is read: it has no methods but owner_composite().
  static Result<R2rImage> read(PeImage image, std::shared_ptr<const void> keep = {});

  [[nodiscard]] R2rKind kind() const { return header_.kind; }
  [[nodiscard]] const R2rHeader& header() const { return header_; }
  [[nodiscard]] const PeImage& image() const { return image_; }
  // Of a component: the file name of the composite image that has its code. Else empty.
  [[nodiscard]] std::string_view owner_composite() const { return owner_; }
  // Its own metadata; of a composite image that of its first component that has any. May be null.
  [[nodiscard]] const EcmaMetadata* metadata() const;
  // Of a composite image: the assemblies whose code it has.
  [[nodiscard]] std::vector<std::string_view> components() const;

  [[nodiscard]] uint32_t runtime_functions() const { return functions_; }
  [[nodiscard]] uint32_t method_entries() const { return method_entries_; }
  [[nodiscard]] uint32_t instance_entries() const { return instance_entries_; }
  // Entries that are not understood: those of a later format. What they name is in no method.
  [[nodiscard]] uint32_t unknown_entries() const { return unknown_entries_; }

  // Sorted by start; they do not overlap.
  [[nodiscard]] std::span<const R2rMethod> methods() const { return methods_; }
  [[nodiscard]] std::optional<size_t> method_at(uint32_t rva) const;
  // Of methods()[index]. `others`: for types of other assemblies, and for the methods of a
  // composite image that does not contain the metadata of its assemblies. not_found: it would be
  // needed.
  [[nodiscard]] Result<R2rName> name(size_t index, const EcmaAssemblies* others = nullptr) const;

 private:
  friend class R2rNamer;  // r2r_names.cc

  struct Component {
    std::optional<EcmaMetadata> metadata;
    std::string_view name;  // as the composite image's manifest has it; else empty
    NativeArray entries;    // index: row of MethodDef - 1
  };
  // Who names a function: the row of a MethodDef of a component, or an instance entry at an offset
  // in instance_bytes_.
  struct Origin {
    uint32_t component = kNobody;
    uint32_t value = 0;
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr uint32_t kInstance = UINT32_MAX - 1;
  struct Function {
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  Status read_components();
  Status read_component(PeDirectory cli_header, PeDirectory core_header);
  Status read_functions();
  Status read_method_entries();
  Status read_instance_entries();
  Status read_instance(ByteCursor& cursor);
  Status build();
  Status add_origin(uint32_t function, Origin origin);
  [[nodiscard]] Function function(uint32_t row) const;
  [[nodiscard]] Result<EcmaMetadata> metadata_at(PeDirectory where) const;
  // Empty: the image has none. damaged: they are not all in the file.
  [[nodiscard]] Result<std::span<const std::byte>> section(R2rSection type) const;

  PeImage image_;
  std::shared_ptr<const void> keep_;
  R2rHeader header_;
  std::string_view owner_;
  std::vector<Component> components_;
  std::optional<EcmaMetadata> manifest_;
  std::span<const std::byte> function_bytes_;
  uint32_t functions_ = 0;
  std::span<const std::byte> instance_bytes_;  // the PE section with the table, up to its end
  uint64_t signature_budget_ = 0;
  std::vector<Origin> origins_;  // by row of the function table
  std::vector<R2rMethod> methods_;
  uint32_t method_entries_ = 0;
  uint32_t instance_entries_ = 0;
  uint32_t unknown_entries_ = 0;
};

}  // namespace jitscope
