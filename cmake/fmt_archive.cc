// The compiled part of fmt, for JITSCOPE_STATIC: Debian has fmt's headers, which hold all of it,
// and no archive. libfmt.so would bring a second C++ library into the program.
#include <fmt/format-inl.h>

// What format.h says is elsewhere (`extern template`, and templates without a body).
FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace detail
FMT_END_NAMESPACE
