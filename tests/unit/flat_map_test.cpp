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
  auto expected = reference.begin();
  flat.for_each([&](std::uint64_t key, std::uint32_t value) {
    REQUIRE(expected != reference.end());
    CHECK(expected->first == key);
    CHECK(expected->second == value);
    ++expected;
  });
  for (auto const& [key, value] : reference) {
    REQUIRE(flat.find(key) != nullptr);
    CHECK(*flat.find(key) == value);
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

/// A key that counts how often it is moved or copied.
struct counted_key {
  std::uint32_t value = 0;
  static inline std::uint64_t moves = 0;

  counted_key() = default;
  counted_key(std::uint32_t number) : value(number) {}
  counted_key(counted_key const& other) noexcept : value(other.value) { ++moves; }
  counted_key(counted_key&& other) noexcept : value(other.value) { ++moves; }
  counted_key& operator=(counted_key const& other) noexcept = default;
  counted_key& operator=(counted_key&& other) noexcept = default;
  bool operator<(counted_key const& other) const noexcept { return value < other.value; }
};

TEST_CASE("what a new key moves does not grow with the map") {
  constexpr std::uint32_t keys = 20'000;
  for (bool const falling : {true, false}) {
    flat_map<counted_key, int> flat;
    counted_key::moves = 0;
    for (std::uint32_t i = 0; i < keys; ++i)
      flat[counted_key(falling ? keys - i : i * 2654435761u)] = 1;
    CHECK(flat.size() == keys);
    CHECK(counted_key::moves < std::uint64_t{keys} * 1000);
  }
}

}  // namespace flat_map_test
