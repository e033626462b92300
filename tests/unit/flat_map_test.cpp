#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <strata/base/containers.hpp>
#include <string>
#include <string_view>

namespace flat_map_test {

using strata::detail::flat_map;

TEST_CASE("a flat map holds what a map holds, in order") {
  flat_map<std::uint64_t, std::uint32_t> flat;
  std::map<std::uint64_t, std::uint32_t> reference;
  std::uint64_t state = 1;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t const key = state >> 54;  // keys come again
    flat[key] = i;
    reference[key] = i;
  }
  REQUIRE(flat.size() == reference.size());
  auto entry = flat.entries().begin();
  for (auto const& [key, value] : reference) {
    CHECK(entry->first == key);
    CHECK(entry->second == value);
    REQUIRE(flat.find(key) != nullptr);
    CHECK(*flat.find(key) == value);
    ++entry;
  }
  for (std::uint64_t key = 0; key < 1100; ++key) {
    CHECK((flat.find(key) != nullptr) == (reference.count(key) == 1));
  }
  flat.clear();
  CHECK(flat.size() == 0);
  CHECK(flat.find(std::uint64_t{1}) == nullptr);
}

TEST_CASE("keys are found by what compares like them") {
  flat_map<std::string, int> flat;
  CHECK(flat["b"] == 0);
  flat["b"] = 2;
  flat["a"] = 1;
  CHECK(*flat.find(std::string_view("a")) == 1);
  CHECK(*flat.find(std::string("b")) == 2);
  CHECK(flat.find(std::string("c")) == nullptr);
}

}  // namespace flat_map_test
