#ifndef STRATA_PROFILE_OVERFLOW_NAMES_HPP
#define STRATA_PROFILE_OVERFLOW_NAMES_HPP

#include <strata/base/macros.hpp>

#include <string_view>

STRATA_BEGIN
namespace detail {

// The names of what is counted together once a limit is reached.
inline constexpr std::string_view deeper_ranges = "[deeper]";  ///< below the deepest level
inline constexpr std::string_view other_names = "[other names]";
inline constexpr std::string_view other_ranges = "[other ranges]";  ///< places in the tree
inline constexpr std::string_view other_kernels = "[other kernels]";
inline constexpr std::string_view other_threads = "[other threads]";

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_OVERFLOW_NAMES_HPP
