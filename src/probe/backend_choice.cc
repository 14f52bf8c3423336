#include "probe/backend_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace jitscope {
namespace {

// "" when it can be used.
std::string why_not_here(const Backend& backend, const Process& process, const CodeSource& source) {
  if (backend.changes_code && !source.code_is_fixed()) return source.movable_reason();
  return backend.why_not != nullptr ? backend.why_not(process, source) : std::string();
}

}  // namespace

Result<BackendChoice> choose_backend(const Backend* asked_for,
                                     std::span<const Backend* const> backends,
                                     const Process& process, const CodeSource& source) {
  if (asked_for != nullptr) {
    if (asked_for->changes_code && !source.code_is_fixed()) {
      return fail(ErrorKind::not_possible,
                  fmt::format("the {} backend changes code, and here that is not safe: {}",
                              asked_for->name, source.movable_reason()),
                  {}, "use --backend breakpoint");
    }
    if (const std::string why = why_not_here(*asked_for, process, source); !why.empty()) {
      return fail(ErrorKind::not_possible,
                  fmt::format("the {} backend cannot be used here: {}", asked_for->name, why));
    }
    return BackendChoice{asked_for, false, "asked for"};
  }
  std::string refused;  // why not the ones before
  for (const Backend* each : backends) {
    if (!each->automatic) continue;
    const bool files = source.kind() == SourceKind::mapped_image;
    if (each->takes == TakesCode::of_files && !files) continue;
    std::string why = why_not_here(*each, process, source);
    if (!why.empty()) {
      if (refused.empty()) refused = std::move(why);
      continue;
    }
    if (refused.empty()) {
      refused = files                ? "the code is mapped from files"
                : each->changes_code ? "the runtime's code does not move"
                                     : "the first choice";
    }
    return BackendChoice{each, true, std::move(refused)};
  }
  return fail(ErrorKind::not_possible, "calls cannot be caught in this process",
              fmt::format("pid {}", process.pid()), refused);
}

const Backend* next_backend(const Backend& after, std::span<const Backend* const> backends,
                            const Process& process, const CodeSource& source,
                            const CodeBody& body) {
  auto at = std::ranges::find(backends, &after);
  if (at == backends.end()) return nullptr;
  while (++at != backends.end()) {
    if ((*at)->automatic && takes(**at, body) && why_not_here(**at, process, source).empty()) {
      return *at;
    }
  }
  return nullptr;
}

const Backend& backend_for(const BackendChoice& choice, std::span<const Backend* const> backends,
                           const Process& process, const CodeSource& source, const CodeBody& body) {
  const Backend& chosen = *choice.backend;
  if (!choice.automatic || (body.file == nullptr && takes(chosen, body))) return chosen;
  for (const Backend* each : backends) {
    if (each->automatic && takes(*each, body) && why_not_here(*each, process, source).empty()) {
      return *each;
    }
  }
  return chosen;
}

std::string why_not_taken(const Backend& backend, const CodeBody& body) {
  if (takes(backend, body)) return {};
  return body.file != nullptr
             ? fmt::format("it is mapped from a file, which the {} backend leaves alone",
                           backend.name)
             : fmt::format("it is mapped from no file, as the {} backend needs it", backend.name);
}

Status check_number(const Backend& backend, size_t bodies, const CodeSource& source) {
  return backend.check_number != nullptr ? backend.check_number(bodies, source) : Status();
}

}  // namespace jitscope
