// fmt itself, compiled here once.
//
// Debian has fmt as headers and as a shared library.  A plugin shall not pull a library into
// slurmctld, and the implementation read from headers costs a file more than all else that it
// includes.  So this file is that library: what fmt's headers leave to it (fmt 9 to 11).
#include <fmt/format-inl.h>

namespace detail = fmt::detail;

template auto detail::dragonbox::to_decimal(float) noexcept -> detail::dragonbox::decimal_fp<float>;
template auto detail::dragonbox::to_decimal(double) noexcept
    -> detail::dragonbox::decimal_fp<double>;
template auto detail::thousands_sep_impl(detail::locale_ref) -> detail::thousands_sep_result<char>;
template auto detail::decimal_point_impl(detail::locale_ref) -> char;
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000
template void detail::vformat_to(detail::buffer<char>&, fmt::string_view,
                                 detail::vformat_args<>::type, detail::locale_ref);
#endif
