#include <doctest/doctest.h>
#include <strata/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <strata/base/containers.hpp>
#include <strata/base/vec.hpp>
#include <string>
#include <utility>
#include <vector>

namespace vec_test {

using strata::vec;

namespace {

/// Counts how many live, and knows its own address, as a short std::string does.
struct tracked {
  static inline int living = 0;
  static inline int copies_left = -1;  // then a copy throws; negative: never

  tracked(int v) : value(v), self(this) { ++living; }
  tracked() : tracked(7) {}
  tracked(tracked const& from) : value(from.value), self(this) {
    if (copies_left == 0) throw std::bad_alloc();
    if (copies_left > 0) --copies_left;
    CHECK(from.self == &from);
    ++living;
  }
  tracked(tracked&& from) noexcept : value(std::exchange(from.value, -1)), self(this) {
    CHECK(from.self == &from);
    ++living;
  }
  tracked& operator=(tracked const& from) {
    value = from.value;
    return *this;
  }
  ~tracked() {
    CHECK(self == this);
    --living;
  }

  bool operator==(tracked const& other) const { return value == other.value; }
  bool operator<(tracked const& other) const { return value < other.value; }

  int value;
  tracked* self;
};

vec<tracked> counted(int count) {
  vec<tracked> made;
  for (int i = 0; i < count; ++i) made.emplace_back(i);
  return made;
}

vec<int> values(vec<tracked> const& of) {
  vec<int> made;
  for (tracked const& each : of) made.push_back(each.value);
  return made;
}

}  // namespace

TEST_CASE("a new vec is empty, holds no memory and can be copied, moved and cleared") {
  vec<std::string> empty;
  CHECK(empty.empty());
  CHECK(empty.size() == 0);
  CHECK(empty.capacity() == 0);
  CHECK(empty.begin() == empty.end());
  CHECK(empty.data() == nullptr);
  vec<std::string> copy = empty;
  vec<std::string> moved = std::move(empty);
  CHECK(copy == moved);
  copy.clear();
  copy.resize(0);
  copy.reserve(0);
  copy.erase(copy.begin(), copy.end());
  copy.insert(copy.end(), moved.begin(), moved.end());
  copy.insert(copy.begin(), {"a"});
  CHECK(copy == vec<std::string>{"a"});
  copy = moved;
  CHECK(copy.empty());
}

TEST_CASE("plain elements survive growth, and resize gives them their default value") {
  vec<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 1000; ++i) all.push_back(i * i);
  REQUIRE(all.size() == 1000);
  CHECK(all.capacity() >= 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(all[i] == i * i);
  CHECK(all.front() == 0);
  CHECK(all.back() == 999 * 999);
  all.resize(3);
  all.resize(5);
  CHECK(all == vec<std::uint64_t>{0, 1, 4, 0, 0});
  all.resize(6, 9);
  all.pop_back();
  all.pop_back();
  all.resize(7, 8);
  CHECK(all == vec<std::uint64_t>{0, 1, 4, 0, 8, 8, 8});
  all.assign(2, 6);
  CHECK(all == vec<std::uint64_t>{6, 6});

  struct defaulted {
    int a = 3;
    double b = 0.5;
  };
  vec<defaulted> made(4);
  CHECK(made[3].a == 3);
  CHECK(made[3].b == 0.5);
}

TEST_CASE("reserve keeps addresses until it is used up") {
  vec<int> all;
  all.reserve(100);
  int const* const first = all.data();
  for (int i = 0; i < 100; ++i) all.push_back(i);
  CHECK(all.data() == first);
  all.clear();
  CHECK(all.capacity() == 100);
  CHECK(all.data() == first);
}

TEST_CASE("bool is an element like any other") {
  vec<bool> flags(70, false);
  flags[69] = true;
  bool& last = flags.back();
  CHECK(last);
  CHECK(std::count(flags.begin(), flags.end(), true) == 1);
}

TEST_CASE("elements with an address of their own are moved by their own functions") {
  {
    vec<tracked> all = counted(100);
    CHECK(tracked::living == 100);
    for (int i = 0; i < 100; ++i) REQUIRE(all[static_cast<std::size_t>(i)].value == i);
    vec<tracked> copy = all;
    CHECK(tracked::living == 200);
    CHECK(copy == all);
    copy.resize(101);
    CHECK(copy.back().value == 7);
    CHECK(copy != all);
    vec<tracked> moved = std::move(copy);
    CHECK(copy.empty());
    CHECK(moved.size() == 101);
    CHECK(tracked::living == 201);
    all = moved;
    CHECK(tracked::living == 202);
    all = std::move(moved);
    CHECK(tracked::living == 101);
    vec<tracked>& same = all;
    all = same;
    all = std::move(same);
    CHECK(all.size() == 101);
    all.clear();
    CHECK(tracked::living == 0);
    all = counted(5);
    all.pop_back();
    CHECK(values(all) == vec<int>{0, 1, 2, 3});
    vec<tracked> other = counted(2);
    all.swap(other);
    CHECK(values(other) == vec<int>{0, 1, 2, 3});
    std::swap(all, other);
    CHECK(values(other) == vec<int>{0, 1});
  }
  CHECK(tracked::living == 0);
}

TEST_CASE("erase closes the gap") {
  vec<int> plain{0, 1, 2, 3, 4, 5};
  CHECK(plain.erase(plain.begin()) == plain.begin());
  CHECK(*plain.erase(plain.begin() + 1, plain.begin() + 3) == 4);
  CHECK(plain == vec<int>{1, 4, 5});
  int const* const end = plain.erase(plain.begin() + 2);
  CHECK(end == plain.end());
  plain.erase(std::remove(plain.begin(), plain.end(), 4), plain.end());
  CHECK(plain == vec<int>{1});

  vec<tracked> all = counted(10);
  all.erase(all.begin() + 2, all.begin() + 5);
  all.erase(all.begin());
  all.erase(all.end() - 1);
  CHECK(values(all) == vec<int>{1, 5, 6, 7, 8});
  CHECK(tracked::living == 5);
}

TEST_CASE("insert opens a gap, with and without room") {
  vec<int> plain{1, 2, 3};
  CHECK(*plain.insert(plain.begin(), 0) == 0);
  plain.insert(plain.end(), 4);
  int const nines[] = {9, 9, 9};
  plain.insert(plain.begin() + 2, nines, nines + 3);
  CHECK(plain == vec<int>{0, 1, 9, 9, 9, 2, 3, 4});
  vec<int> const others{7, 8};
  plain.insert(plain.begin() + 1, others.begin(), others.end());
  CHECK(plain == vec<int>{0, 7, 8, 1, 9, 9, 9, 2, 3, 4});
  plain.insert(plain.end(), plain.begin(), plain.begin() + 2);
  CHECK(plain.size() == 12);
  CHECK(plain.back() == 7);

  {
    vec<tracked> all = counted(3);
    for (int i = 0; i < 20; ++i) all.insert(all.begin() + 1, tracked(100 + i));
    tracked const nine(9);
    all.insert(all.begin(), nine);
    all.emplace(all.end(), 8);
    CHECK(all.size() == 25);
    CHECK(all[0].value == 9);
    CHECK(all[1].value == 0);
    CHECK(all[2].value == 119);
    CHECK(all[21].value == 100);
    CHECK(all[22].value == 1);
    CHECK(all[24].value == 8);
    vec<tracked> const more = counted(30);
    all.insert(all.begin() + 1, more.begin(), more.end());
    CHECK(all.size() == 55);
    CHECK(all[1].value == 0);
    CHECK(all[30].value == 29);
    CHECK(all[31].value == 0);
    CHECK(tracked::living == 86);
  }
  CHECK(tracked::living == 0);
}

TEST_CASE("an element can be appended to its own vec while that grows") {
  vec<std::uint32_t> plain{5};
  vec<std::string> texts{"a text that is too long to be stored within the string itself"};
  vec<tracked> all = counted(1);
  for (int i = 0; i < 100; ++i) {
    plain.push_back(plain.front());
    plain.emplace_back(plain.back());
    texts.push_back(texts.front());
    texts.emplace_back(texts.back());
    all.push_back(all.front());
  }
  CHECK(std::count(plain.begin(), plain.end(), 5u) == 201);
  CHECK(std::count(texts.begin(), texts.end(), texts.front()) == 201);
  CHECK(all.back().value == 0);
  all.push_back(std::move(all.front()));
  CHECK(all.front().value == -1);
  CHECK(all.back().value == 0);
  plain.resize(1000, plain.front());
  CHECK(plain.back() == 5);
  plain.insert(plain.begin(), plain.back());
  CHECK(plain.front() == 5);
  texts.insert(texts.begin() + 1, texts.back());
  CHECK(texts[1] == texts[0]);
}

TEST_CASE("elements that can only be moved, and vecs of vecs") {
  vec<std::unique_ptr<int>> owners;
  for (int i = 0; i < 50; ++i) owners.push_back(std::make_unique<int>(i));
  owners.erase(owners.begin(), owners.begin() + 10);
  owners.insert(owners.begin(), std::make_unique<int>(77));
  CHECK(owners.size() == 41);
  CHECK(*owners[0] == 77);
  CHECK(*owners[40] == 49);

  vec<vec<std::string>> table(3);
  table[1].push_back("b");
  table.resize(9, table[1]);
  CHECK(table[8] == vec<std::string>{"b"});
  CHECK(table[2].empty());
  vec<vec<std::string>> const copy = table;
  table[1][0] = "c";
  CHECK(copy[1][0] == "b");
}

TEST_CASE("a vec is made from what a std::vector holds") {
  std::vector<std::string> const from{"a", "b"};
  vec<std::string> const made(from.begin(), from.end());
  CHECK(made == vec<std::string>{"a", "b"});
  char const text[] = "text";
  CHECK(vec<char>(text, text + 4).size() == 4);
  CHECK(vec<std::uint32_t>(3, 1).size() == 3);
}

TEST_CASE("elements are aligned as malloc aligns") {
  struct aligned {
    alignas(std::max_align_t) char c = 'x';
  };
  vec<aligned> all;
  for (int i = 0; i < 9; ++i) {
    all.emplace_back();
    CHECK(reinterpret_cast<std::uintptr_t>(&all.back()) % alignof(std::max_align_t) == 0);
  }
}

TEST_CASE("sort keeps the order of what is equal, and moves what memcpy cannot") {
  for (std::uint32_t const size : {0u, 1u, 2u, 8u, 9u, 100u, 1000u}) {
    vec<std::pair<std::uint32_t, std::uint32_t>> pairs;
    vec<tracked> all;
    std::uint32_t state = 7;
    for (std::uint32_t i = 0; i < size; ++i) {
      state = state * 1664525u + 1013904223u;
      pairs.emplace_back(state >> 28, i);
      all.emplace_back(static_cast<int>(state >> 20));
    }
    auto expected = pairs;
    std::sort(expected.begin(), expected.end());
    pairs.sort([](auto const& a, auto const& b) { return a.first < b.first; });
    CHECK(pairs == expected);
    pairs.sort([](auto const& a, auto const& b) { return a.second > b.second; });
    for (std::uint32_t i = 0; i < size; ++i) REQUIRE(pairs[i].second == size - 1 - i);
    pairs.sort();
    CHECK(pairs == expected);
    pairs.sort();
    CHECK(pairs == expected);
    auto const reference = values(all);
    all.sort();
    CHECK(tracked::living == static_cast<int>(size));
    CHECK(std::is_sorted(all.begin(), all.end()));
    auto sorted = reference;
    std::sort(sorted.begin(), sorted.end());
    CHECK(values(all) == sorted);
    all.emplace_back(1);
  }
  CHECK(tracked::living == 0);
}

TEST_CASE("std::sort works on the pointers") {
  vec<std::string> names{"d", "a", "c", "b"};
  std::sort(names.begin(), names.end());
  CHECK(names == vec<std::string>{"a", "b", "c", "d"});
  vec<std::pair<int, unsigned>> pairs{{2, 1u}, {1, 5u}, {1, 2u}};
  std::stable_sort(pairs.begin(), pairs.end());
  CHECK(pairs[0] == std::pair<int, unsigned>{1, 2u});
  vec<tracked> all = counted(40);
  std::reverse(all.begin(), all.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < 40; ++i) CHECK(all[i].value == static_cast<int>(i));
}

TEST_CASE("a copy that throws leaves nothing behind, and no memory is std::bad_alloc") {
  {
    vec<tracked> const all = counted(10);
    tracked::copies_left = 4;
    CHECK_THROWS_AS(vec<tracked>{all}, std::bad_alloc);
    tracked::copies_left = -1;
    CHECK(tracked::living == 10);
    vec<tracked> few = counted(2);
    tracked::copies_left = 3;
    CHECK_THROWS_AS(few = all, std::bad_alloc);
    CHECK(few.size() == 2);
    tracked::copies_left = 1;
    CHECK_THROWS_AS(few.insert(few.begin(), all.begin(), all.end()), std::bad_alloc);
    tracked::copies_left = 0;
    CHECK_THROWS_AS(few.push_back(all[0]), std::bad_alloc);
    tracked::copies_left = -1;
    CHECK(values(few) == vec<int>{0, 1});
    CHECK(tracked::living == 12);
  }
  CHECK(tracked::living == 0);
  vec<std::uint64_t> huge{1};
  CHECK_THROWS_AS(huge.reserve(static_cast<std::size_t>(-1) / 8), std::bad_alloc);
  CHECK(huge == vec<std::uint64_t>{1});
  CHECK_FALSE(strata::detail::if_memory_allows(
      [&huge] { huge.reserve(static_cast<std::size_t>(-1) / 8); }));
  CHECK(strata::detail::if_memory_allows([] {}));
}

TEST_CASE("a vec takes one that its own element owns") {
  struct node {
    std::unique_ptr<strata::vec<node>> below;
    std::string name;
  };
  strata::vec<node> tree;
  tree.emplace_back().below = std::make_unique<strata::vec<node>>();
  tree[0].below->emplace_back().name = "a name that is longer than a short string";
  tree = std::move(*tree[0].below);
  REQUIRE(tree.size() == 1);
  CHECK(tree[0].name == "a name that is longer than a short string");
}

TEST_CASE("count_first asks no more elements than a number has digits") {
  vec<int> all;
  for (int i = 0; i < 40'000; ++i) all.push_back(i);
  for (int first : {0, 1, 777, 20'000, 39'999, 40'000}) {
    int asked = 0;
    CHECK(all.count_first([&](int each) { return ++asked, each < first; }) ==
          static_cast<std::size_t>(first));
    CHECK(asked <= 16);  // 2^15 < 40,000 < 2^16
  }
}

TEST_CASE("a status without a text") {
  CHECK(strata::status(strata::errc::limit, static_cast<char const*>(nullptr)).message().empty());
}

}  // namespace vec_test
