#include "symbolize/demangle.h"

// Else libiberty.h declares a basename() that is not string.h's.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <csetjmp>

namespace jitscope {
namespace {

// A mangled name says "the same again" in three letters (S1_, T0_, Rust's B1_), each time for
// something twice as long as the time before: some hundred bytes can stand for terabytes. The text
// is therefore taken piece by piece, and the demangler is left when it has written too much.
constexpr size_t most_text = size_t{1} << 18;
// Pieces may be empty, and the search for parameter packs (Dp, sZ, sP, folds) walks such doubled
// trees without writing: names with packs get so many references, none of which costs a second.
constexpr size_t most_references_with_packs = 36;
// libiberty's own limit is on about the same size (it bounds its stack); longer names would only be
// copied in vain.
constexpr size_t longest_mangled = 16384;

constexpr std::string_view base62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view base36 = base62.substr(0, 36);

// Of the form S1_: one of `kinds`, digits, an underscore.
size_t back_references(std::string_view name, std::string_view kinds, std::string_view digits) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (!kinds.contains(name[i])) continue;
    const size_t end = name.find_first_not_of(digits, i + 1);
    if (end != name.npos && name[end] == '_') ++count;
  }
  return count;
}

bool has_packs(std::string_view name) {
  for (const char* const mark : {"Dp", "sZ", "sP", "fl", "fr", "fL", "fR"}) {
    if (name.contains(mark)) return true;
  }
  return false;
}

// Identifiers in punycode, for which the Rust demangler allocates: it cannot be left half-way.
bool has_punycode(std::string_view name) {
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == 'u' && name[i + 1] >= '0' && name[i + 1] <= '9') return true;
  }
  return false;
}

struct Text {
  std::string* out = nullptr;
  std::jmp_buf too_long;
};

void take(const char* piece, size_t size, void* opaque) {
  auto* text = static_cast<Text*>(opaque);
  // Nothing with a destructor and no allocation of libiberty's lies between here and setjmp().
  // NOLINTNEXTLINE(cert-err52-cpp)
  if (text->out->size() + size > most_text) std::longjmp(text->too_long, 1);
  text->out->append(piece, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// A frame of its own, in which nothing changes after setjmp().
[[gnu::noinline]] bool run(Demangler demangler, const char* name, int options, Text& text) {
  // NOLINTNEXTLINE(cert-err52-cpp)
  if (setjmp(text.too_long) != 0) return false;
  return demangler(name, options, take, &text) != 0;
}

std::string demangle_with(std::string_view name, int options) {
  // _GLOBAL__I_x: what runs the constructors of x.
  const bool itanium = name.starts_with("_Z") || name.starts_with("_GLOBAL_");
  const bool rust = name.starts_with("_R");
  if ((!itanium && !rust) || name.size() > longest_mangled || name.contains('\0')) {
    return std::string(name);
  }
  std::string out;
  Text text;
  text.out = &out;
  std::string mangled(name);
  if (rust) {
    if (has_punycode(name) && back_references(name, "B", base62) > most_references_with_packs) {
      return mangled;
    }
    return run(rust_demangle_callback, mangled.c_str(), options, text) ? out : mangled;
  }
  // Rust's legacy names are C++ names with a hash as their last part: ask Rust first.
  if (run(rust_demangle_callback, mangled.c_str(), options, text)) return out;
  out.clear();
  if (has_packs(name) && back_references(name, "ST", base36) > most_references_with_packs)
    return mangled;
  return run(cplus_demangle_v3_callback, mangled.c_str(), options, text) ? out : mangled;
}

}  // namespace

std::string demangle(std::string_view name) {
  return demangle_with(name, DMGL_PARAMS | DMGL_ANSI);
}

std::string demangle_short(std::string_view name) {
  return demangle_with(name, DMGL_NO_OPTS);
}

}  // namespace jitscope
