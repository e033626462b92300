#ifndef STRATA_PROFILE_ROW_ORDER_HPP
#define STRATA_PROFILE_ROW_ORDER_HPP

#include <strata/base/macros.hpp>

#include <string_view>

STRATA_BEGIN_SWITCH

/// In which order the ranges below one stand.
enum class row_order : unsigned char {
  cost,       ///< the most expensive first
  execution,  ///< as they ran
  name
};
/// By row_order, as `sort=` and the page have them.
inline constexpr std::string_view row_order_names[] = {"cost", "order", "name"};

STRATA_END_SWITCH

#endif  // STRATA_PROFILE_ROW_ORDER_HPP
