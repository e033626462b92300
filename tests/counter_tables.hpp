#ifndef STRATA_TESTS_COUNTER_TABLES_HPP
#define STRATA_TESTS_COUNTER_TABLES_HPP

#include <strata/tables/counter_table.hpp>

#include <string_view>

STRATA_BEGIN

/// The counted values of the set with this name, of the mean step of the profile.
inline counter_table make_counter_table(profile const& source, call_tree const& tree,
                                        std::string_view set = counter_set::gpu) {
  call_tree const folded(source, folding::by_name);
  return make_counter_table(source, tree, source.counters(set),
                            make_mean_step(source, folded, tree.rows()));
}

STRATA_END

#endif  // STRATA_TESTS_COUNTER_TABLES_HPP
