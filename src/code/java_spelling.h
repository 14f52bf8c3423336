// Other spellings of Java methods than the one that jitscope shows: JVM descriptors, slashes, a
// return type in front, as JVMs, jcmd, javap, async-profiler and perf maps write them. Pure text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace jitscope {

// What jitscope would show for
//   java/util/HashMap.put             java.util.HashMap.put
//   Ljava/util/HashMap;.put           java.util.HashMap.put
//   A.m(ILjava/lang/String;[J)V       A.m(int,java.lang.String,long[])
//   public static int A.m(int)        A.m(int)
// with "::" and "#" turned to "." before. nullopt when it is none of these. The return type is left
// out: methods are shown without.
[[nodiscard]] std::optional<std::string> java_spelling(std::string_view text);

}  // namespace jitscope
