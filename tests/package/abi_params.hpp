// Parameter structures that begin with their size, against CUPTI's. Requires: `ours` and `table`.
#ifndef STRATA_TESTS_ABI_PARAMS_HPP
#define STRATA_TESTS_ABI_PARAMS_HPP

#include <cstddef>
#include <type_traits>

// Their size is on the ladder, and no field of theirs lies beyond ours.
template <class Params>
constexpr bool on_ladder(std::size_t size) {
  for (std::size_t const each : Params::sizes) {
    if (each == size) return true;
  }
  return false;
}
template <class Params>
constexpr bool descending() {
  std::size_t before = sizeof(Params) + 1;
  for (std::size_t const each : Params::sizes) {
    if (each >= before) return false;
    before = each;
  }
  return true;
}
#define SAME_PARAMS(theirs, params, member, function)                    \
  static_assert(on_ladder<ours::params>(theirs##_STRUCT_SIZE), #theirs); \
  static_assert(descending<ours::params>(), #theirs);                    \
  static_assert(sizeof(theirs) <= sizeof(ours::params) &&                \
                    alignof(theirs) == alignof(ours::params) &&          \
                    std::is_standard_layout_v<ours::params>,             \
                #theirs);                                                \
  SAME_FIELD(theirs, structSize, ours::params, struct_size);             \
  SAME_FIELD(theirs, pPriv, ours::params, reserved);                     \
  SAME_FUNCTION(function, table, member)

#endif  // STRATA_TESTS_ABI_PARAMS_HPP
