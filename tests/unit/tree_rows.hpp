// The rows of a call tree by their paths.
#ifndef STRATA_TESTS_TREE_ROWS_HPP
#define STRATA_TESTS_TREE_ROWS_HPP

#include <strata/tables/call_tree.hpp>

#include <string>
#include <vector>

#include "profile_checks.hpp"
#include "sample_profile.hpp"

namespace sample {

using test::row_at;
using texts = std::vector<std::string>;

inline texts paths(strata::call_tree const& tree) {
  texts all;
  for (strata::range_row const& row : tree.rows()) all.push_back(row.path);
  return all;
}

}  // namespace sample

#endif  // STRATA_TESTS_TREE_ROWS_HPP
