// text_hash: a fast hash of texts that strangers give, with a key that differs from run to run, so
// that nobody can write a file whose names all fall together.
#pragma once

#include <cstdint>
#include <string_view>

namespace jitscope {

// The key of this process.
[[nodiscard]] uint64_t text_hash_key();

[[nodiscard]] uint64_t text_hash(std::string_view text, uint64_t key = text_hash_key());

}  // namespace jitscope
