// How people write .NET's names, out of how the runtime writes them: "List<System.Int32>" for
// "List`1[System.Int32]", "System.ReadOnlySpan<char>" for "valuetype
// [System.Runtime]System.ReadOnlySpan`1<char>". Nested types keep their '+'. Pure text; anything
// else passes as it is.
#pragma once

#include <string>
#include <string_view>

namespace jitscope {

[[nodiscard]] std::string dotnet_spelling(std::string_view text);

}  // namespace jitscope
