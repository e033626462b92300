// The rows of a call tree by their paths.
#ifndef STRATA_TESTS_TREE_ROWS_HPP
#define STRATA_TESTS_TREE_ROWS_HPP

#include <doctest/doctest.h>
#include <strata/analyse/call_tree.hpp>

#include <string>
#include <vector>

#include "sample_profile.hpp"

namespace sample {

using texts = std::vector<std::string>;

inline strata::range_row const& row_at(strata::call_tree const& tree, std::string const& path) {
  for (strata::range_row const& row : tree.rows())
    if (row.path == path) return row;
  FAIL("no row " << path);
  return tree.rows()[0];
}

inline texts paths(strata::call_tree const& tree) {
  texts all;
  for (strata::range_row const& row : tree.rows()) all.push_back(row.path);
  return all;
}

}  // namespace sample

#endif  // STRATA_TESTS_TREE_ROWS_HPP
