// Which backend a trace begins with, and why; and which one comes after it.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "probe/backend.h"
#include "probe/site.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

struct BackendChoice {
  const Backend* backend = nullptr;
  bool automatic = true;  // single bodies may fall back to another one
  std::string reason;
};

// `asked_for` null: the best of `backends`. not_possible where the one that is asked for would not
// be safe.
Result<BackendChoice> choose_backend(const Backend* asked_for,
                                     std::span<const Backend* const> backends,
                                     const Process& process, const CodeSource& source);

// For a body that `after` cannot serve; null: there is none.
[[nodiscard]] const Backend* next_backend(const Backend& after,
                                          std::span<const Backend* const> backends,
                                          const Process& process, const CodeSource& source,
                                          const CodeBody& body);

// Which one serves a body first: the choice, unless another one is made for where it lies.
[[nodiscard]] const Backend& backend_for(const BackendChoice& choice,
                                         std::span<const Backend* const> backends,
                                         const Process& process, const CodeSource& source,
                                         const CodeBody& body);
// "" when the backend can have sites where the body lies.
[[nodiscard]] std::string why_not_taken(const Backend& backend, const CodeBody& body);

// not_possible where the backend cannot serve so many bodies.
Status check_number(const Backend& backend, size_t bodies, const CodeSource& source);

}  // namespace jitscope
