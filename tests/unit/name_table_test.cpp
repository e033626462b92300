#include <strata/base/containers.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace name_table_test {

using strata::detail::name_memo;
using strata::detail::name_table;
using strata::detail::text_words;

TEST_CASE("equal texts have one number, counted from one") {
  name_table t;
  CHECK(t.intern("a", "") == 1);
  CHECK(t.intern("b", "") == 2);
  CHECK(t.intern(std::string("a"), "") == 1);
  CHECK(t.intern("", "") == 3);
  CHECK(t.intern(std::string_view("a\0b", 3), "") == 4);
  CHECK(t.intern(std::string_view("a\0c", 3), "") == 5);
  CHECK(t.intern(std::string(4096, 'x'), "") == 6);
  CHECK(t.intern(std::string(4096, 'x'), "") == 6);
  strata::vec<std::string> const texts = t.texts();
  REQUIRE(texts.size() == 7);
  CHECK(texts[0].empty());
  CHECK(texts[1] == "a");
  CHECK(texts[4] == std::string("a\0b", 3));
  CHECK(t.refused() == 0);
}

TEST_CASE("a full table refuses by count") {
  auto const t = std::make_unique<name_table>();
  bool refused = false;
  for (std::size_t i = 1; i < name_table::max_names; ++i)
    (void)t->intern(std::to_string(i), "[other]", &refused);
  CHECK_FALSE(refused);
  std::uint32_t const other = t->intern("one too many", "[other]", &refused);
  CHECK(refused);
  CHECK(t->texts()[other] == "[other]");
  CHECK(t->intern("another", "[other]") == other);
  CHECK(t->refused() == 2);
  refused = false;
  std::uint32_t const known = t->intern("17", "[other]", &refused);
  CHECK(t->texts()[known] == "17");  // known ones stay
  CHECK(t->intern("[other]", "[other]", &refused) == other);
  CHECK_FALSE(refused);
  CHECK(t->texts().size() == name_table::max_names + 1);
}

TEST_CASE("a long text is cut, and is one with those that begin alike") {
  name_table t(name_table::long_texts::cut);
  name_memo memo(t);
  std::string const most(name_table::longest, 'x');
  std::string const longer(1'000'000, 'x');
  std::uint32_t const whole = t.intern(most, "");
  std::uint32_t const cut = t.intern(longer, "");
  CHECK(t.text(whole) == most);
  CHECK(t.text(cut) == std::string(name_table::longest - 3, 'x') + "\u2026");
  CHECK(t.intern(longer + "y", "") == cut);
  CHECK(memo.number(longer + "z", "") == cut);
  CHECK(memo.number(most, "") == whole);
  CHECK(t.text(t.intern("y" + longer, "")).size() == name_table::longest);
  std::string character = std::string(name_table::longest - 4, 'x') + "\U0001F600";
  CHECK(t.text(t.intern(character + longer, "")) ==
        std::string(name_table::longest - 4, 'x') + "\u2026");
  std::string const no_utf8(2'000, '\x80');
  CHECK(t.text(t.intern(no_utf8, "")).size() > name_table::longest - 8);
  CHECK(name_table().is_cut(longer) == false);
}

TEST_CASE("a full table refuses by bytes") {
  name_table t;
  std::string large(std::size_t{20} << 20, 'x');
  for (char c : {'a', 'b', 'c'}) {
    large[0] = c;
    (void)t.intern(large, "[other]");
  }
  CHECK(t.refused() == 0);
  large[0] = 'd';
  std::uint32_t const other = t.intern(large, "[other]");
  CHECK(t.texts()[other] == "[other]");
  CHECK(t.refused() == 1);
  bool refused = false;
  std::uint32_t const small = t.intern("small", "[other]", &refused);
  CHECK(t.texts()[small] == "small");
  CHECK_FALSE(refused);
}

TEST_CASE("threads agree on the numbers") {
  name_table t;
  constexpr std::size_t count = 2000;
  std::vector<std::vector<std::uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto& mine : numbers) {
    threads.emplace_back([&mine, &t] {
      for (std::size_t i = 0; i < count; ++i) mine.push_back(t.intern(std::to_string(i % 500), ""));
    });
  }
  for (std::thread& each : threads) each.join();
  for (auto const& mine : numbers) CHECK(mine == numbers[0]);
  CHECK(t.texts().size() == 501);
}

TEST_CASE("texts of every length, and such that differ in one character") {
  std::string const sample = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (std::size_t length = 0; length <= sample.size(); ++length) {
    std::string const text = sample.substr(0, length);
    CHECK(text_words::equal(text, std::string(text)));
    CHECK(text_words::hash(text) == text_words::hash(std::string(text)));
    if (length > 0) CHECK_FALSE(text_words::equal(text, text.substr(1)));
    for (std::size_t at = 0; at < length; ++at) {
      std::string other = text;
      other[at] = '\0';
      if (text_words::equal(text, other)) CHECK(other != text);
      if (text_words::hash(text) == text_words::hash(other)) CHECK(other != text);
    }
  }
  CHECK(text_words::equal({}, ""));
  CHECK_FALSE(text_words::equal(std::string_view("\0", 1), std::string_view("\0\0", 2)));
}

TEST_CASE("a thread asks for the number of a text once") {
  name_table t;
  name_memo mine(t);
  std::string buffer;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) {
      buffer = "blk." + std::to_string(i) + ".ffn_down.weight";  // one address, many texts
      std::uint32_t const number = mine.number(buffer, "");
      if (number != static_cast<std::uint32_t>(i + 1)) CHECK(t.texts()[number] == buffer);
    }
    CHECK(mine.number("", "") == 1001);
    CHECK(t.asked() == 1001);
  }
  name_memo other(t);
  CHECK(other.number("blk.7.ffn_down.weight", "") == 8);
}

TEST_CASE("each refused text is counted, also by a thread that asked before") {
  auto const t = std::make_unique<name_table>();
  for (std::size_t i = 1; i < name_table::max_names; ++i) (void)t->intern(std::to_string(i), "");
  name_memo mine(*t);
  bool refused = false;
  for (int i = 0; i < 3; ++i) {
    std::uint32_t const number = mine.number("new", "[other]", &refused);
    CHECK(t->text(number) == "[other]");
  }
  CHECK(refused);
  CHECK(t->refused() == 3);
}

}  // namespace name_table_test
