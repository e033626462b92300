// How paths of ranges are written, and what stands for an empty one.
#include "analyse/range_paths.hpp"
#include <doctest/doctest.h>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/range_rows.hpp>

#include <cstddef>
#include <string>

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

namespace {

/// The path of nested ranges with these names, the outermost first.
std::string path_of(strata::vec<std::string> const& names) {
  std::string path;
  detail::path_end end;
  for (std::string const& name : names) path = detail::path_below(path, end, name, end);
  return path;
}

/// So many nested names of so many letters.
strata::vec<std::string> nested(std::size_t depth, std::size_t letters, char letter = 'a') {
  return strata::vec<std::string>(depth, std::string(letters, letter));
}

}  // namespace

TEST_CASE("a path up to 2,000 bytes is whole") {
  CHECK(path_of({"block[3]", "mlp"}) == "block[3]/mlp");
  std::string const whole = path_of(nested(2, 999)) + "/";
  CHECK(whole.size() == 2000);
  strata::vec<std::string> names = nested(2, 999);
  names.push_back("");
  CHECK(path_of(names) == whole);
  names.back() = "b";
  CHECK(path_of(names) != whole + "b");
  CHECK(path_of(names).size() <= detail::longest_path);
}

TEST_CASE("of a longer path the middle is left out, whose mark tells it from others") {
  std::string const dots = "\xE2\x80\xA6";
  strata::vec<std::string> names = nested(1024, 1000);
  std::string const path = path_of(names);
  CHECK(path.size() == detail::longest_path);
  CHECK(path.substr(0, 900) == std::string(900, 'a'));
  CHECK(path.substr(900, 3) == dots);
  CHECK(path.substr(911, 3) == dots);
  CHECK(path.find_first_not_of("0123456789abcdef", 903) == 911);
  CHECK(path.substr(path.size() - 1001) == "/" + std::string(1000, 'a'));
  names.back() = "mlp";
  CHECK(path_of(names).substr(path.size() - 4) == "/mlp");
  std::string const same = path_of(names);
  names[500] = std::string(1000, 'b');
  CHECK(path_of(names) != same);
  CHECK(path_of(names).substr(0, 903) == same.substr(0, 903));
  CHECK(path_of(names).substr(911) == same.substr(911));
  names[500] = std::string(1000, 'a');
  CHECK(path_of(names) == same);
}

TEST_CASE("a path is cut between characters, and empty names do not reach its mark") {
  strata::vec<std::string> names;
  for (int i = 0; i < 400; ++i) names.push_back(std::string(i % 3, 'x') + "\xE2\x82\xAC");
  for (int i = 0; i < 40; ++i) {
    names.push_back({});
    std::string const path = path_of(names);
    CHECK(path.size() <= detail::longest_path);
    CHECK(path.size() > detail::longest_path - 60);
    for (std::size_t at = 0; at < path.size();) {
      detail::utf8_character const c = detail::decode_utf8(path, at);
      REQUIRE(c.valid);
      at += c.length;
    }
  }
}

}  // namespace range_paths_test
