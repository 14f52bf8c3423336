// What the C++ library would bring an unwinder for: the functions that it throws with, and the
// operators new that throw. Here they end the process, as exceptions would that nobody catches: the
// agent is built without, and a JVM that has no memory left ends itself anyway.
//
// So no part of the unwinder is linked in, and the agent loads with any glibc from 2.28 on (the
// unwinder needs 2.35). For the same reason nothing here may use fmt or streams.
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

[[noreturn]] void end(const char* what) {
  constexpr char kWho[] = "jitscope agent: ";
  (void)!::write(STDERR_FILENO, kWho, sizeof kWho - 1);
  (void)!::write(STDERR_FILENO, what, std::strlen(what));
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::abort();
}

void* allocate(size_t size) {
  void* const got = std::malloc(size == 0 ? 1 : size);
  if (got == nullptr) end("no memory");
  return got;
}

}  // namespace

void* operator new(size_t size) {
  return allocate(size);
}
void* operator new[](size_t size) {
  return allocate(size);
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* place, const std::nothrow_t& /*tag*/) noexcept {
  std::free(place);
}
void operator delete(void* place) noexcept {
  std::free(place);
}
void operator delete[](void* place) noexcept {
  std::free(place);
}
void operator delete(void* place, size_t /*size*/) noexcept {
  std::free(place);
}
void operator delete[](void* place, size_t /*size*/) noexcept {
  std::free(place);
}

// NOLINTBEGIN(bugprone-reserved-identifier): these are the library's names
namespace std {

const nothrow_t nothrow;

void __throw_bad_alloc() {
  end("no memory");
}
void __throw_bad_array_new_length() {
  end("no memory");
}
void __throw_length_error(const char* what) {
  end(what);
}
void __throw_out_of_range(const char* what) {
  end(what);
}
void __throw_out_of_range_fmt(const char* what, ...) {
  end(what);
}
void __throw_logic_error(const char* what) {
  end(what);
}
void __throw_invalid_argument(const char* what) {
  end(what);
}
void __throw_bad_function_call() {
  end("bad function call");
}
void __throw_system_error(int /*code*/) {
  end("system error");
}
void __throw_bad_cast() {
  end("bad cast");
}

}  // namespace std
// NOLINTEND(bugprone-reserved-identifier)
