// Java method descriptors ("(ILjava/lang/String;[J)V", JVMS 4.3.3) as parameters of code bodies.
// The texts are java_names.h's. The input is hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "formats/java/java_names.h"

namespace jitscope::hotspot {

struct Signature {
  std::vector<Parameter> parameters;  // without `this`
  std::string result;                 // "void", "int", "java.lang.String[]"
};

Result<Signature> parse_signature(std::string_view descriptor);

// "java.lang.Object,int[]"
[[nodiscard]] std::string join_type_names(const std::vector<Parameter>& parameters);

// Spelled as the JVMTI agent spells them.
using java::is_modified_utf8;
using java::java_class_name;
using java::to_utf8;

}  // namespace jitscope::hotspot
