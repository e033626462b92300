// How paths of ranges are written, and what stands for an empty one.
#include <doctest/doctest.h>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/range_rows.hpp>

namespace range_paths_test {

using namespace strata;

TEST_CASE("an empty path is outside ranges, in a table and within a sentence") {
  CHECK(detail::path_label("block[3]/mlp") == "block[3]/mlp");
  CHECK(detail::path_label("") == "(outside ranges)");
  CHECK(detail::in_range("block[3]/mlp") == "in block[3]/mlp");
  CHECK(detail::in_range("") == "outside ranges");
}

TEST_CASE("a path lies within another one by whole names") {
  CHECK(detail::is_below("block/mlp/up", "block"));
  CHECK_FALSE(detail::is_below("blocks/mlp", "block"));
  CHECK_FALSE(detail::is_below("block", "block"));
  CHECK(detail::is_within("block", "block"));
  CHECK(detail::is_within("block/mlp", "block"));
  CHECK_FALSE(detail::is_within("block", "block/mlp"));
}

TEST_CASE("a name has its index behind it") {
  CHECK(detail::name_with_index("block", no_index) == "block");
  CHECK(detail::name_with_index("block", any_index) == "block[*]");
  CHECK(detail::name_with_index("block", -3) == "block[-3]");
  CHECK(detail::name_with_index("", 0) == "[0]");
}

TEST_CASE("indices are folded where the whole bracket is a number") {
  CHECK(detail::with_folded_indices("") == "");
  CHECK(detail::with_folded_indices("block[3]/mlp[12]") == "block[*]/mlp[*]");
  CHECK(detail::with_folded_indices("a[]/b[x]/c[1]d") == "a[]/b[x]/c[1]d");
}

}  // namespace range_paths_test
