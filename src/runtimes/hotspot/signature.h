// Java method descriptors ("(ILjava/lang/String;[J)V", JVMS 4.3.3) and class names in the form that
// people read. Pure text; the input is hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"

namespace jitscope::hotspot {

struct Signature {
  std::vector<Parameter> parameters;  // without `this`
  std::string result;                 // "void", "int", "java.lang.String[]"
};

Result<Signature> parse_signature(std::string_view descriptor);

// "java.lang.Object,int[]"
[[nodiscard]] std::string join_type_names(const std::vector<Parameter>& parameters);

// "java/util/Map$Entry" -> "java.util.Map$Entry". A hidden class carries the address of its
// metadata
// ("Main$$Lambda+0x00007f2c", other JVMs "/0x..."), which differs in every run: it becomes
// "+<hidden>".
[[nodiscard]] std::string java_class_name(std::string_view internal_name);

// Modified UTF-8 (JVMS 4.4.7) to UTF-8: a surrogate pair becomes one character, a lone surrogate
// the replacement character. The input must be well formed (is_modified_utf8).
[[nodiscard]] std::string to_utf8(std::string_view modified);
[[nodiscard]] bool is_modified_utf8(std::string_view text);

}  // namespace jitscope::hotspot
