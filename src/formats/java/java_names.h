// Class names and method descriptors of class files ("java/util/Map$Entry",
// "(ILjava/lang/String;[J)V", JVMS 4.2 and 4.3) in the form that people read, and modified UTF-8
// (JVMS 4.4.7). Pure text; the input is hostile. Used by the readers of HotSpot's memory and by the
// JVMTI agent, so that both spell a method alike.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace jitscope::java {

struct FieldType {
  char code = 0;          // of the element, as in a descriptor: one of ZCBSIJFDL
  size_t dimensions = 0;  // of an array; 0: none
  std::string name;       // "int", "java.util.Map$Entry[][]"
};

// Takes one field type off the front of `rest`; nothing when it is malformed.
std::optional<FieldType> take_field_type(std::string_view& rest);

// "(I[Ljava/lang/String;)V" -> "int,java.lang.String[]"; nothing when it is malformed.
[[nodiscard]] std::optional<std::string> parameter_names(std::string_view descriptor);

// Where the method descriptor that `text` ends with begins ("even (number)(I)V": 13). Method names
// may hold parentheses themselves, so only a whole descriptor counts; npos when there is none.
[[nodiscard]] size_t descriptor_at_end(std::string_view text);

// JVMS 4.2.1, 4.2.2: Kotlin, Groovy and Scala names hold blanks, parentheses, quotes and what else
// is not forbidden. Both are internal names as class files have them. (`<` and `>` are forbidden
// too in names of methods other than <init> and <clinit>, but not in classes that a JVM does not
// verify.)
[[nodiscard]] bool is_class_name(std::string_view internal_name);
[[nodiscard]] bool is_method_name(std::string_view name);

// "java/util/Map$Entry" -> "java.util.Map$Entry". A hidden class carries the address of its
// metadata ("Main$$Lambda+0x00007f2c", other JVMs "/0x..."), which differs in every run: it becomes
// "+<hidden>".
[[nodiscard]] std::string java_class_name(std::string_view internal_name);

// Modified UTF-8 to UTF-8: a surrogate pair becomes one character, a lone surrogate and what is not
// well formed the replacement character.
[[nodiscard]] std::string to_utf8(std::string_view modified);
[[nodiscard]] bool is_modified_utf8(std::string_view text);

inline constexpr size_t kMaxParameters = 255;  // JVMS 4.3.3

}  // namespace jitscope::java
