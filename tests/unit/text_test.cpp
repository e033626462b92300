#include "report/trace.hpp"

#include <doctest/doctest.h>
#include <strata/base/json_writer.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/tables/csv.hpp>
#include "report/name_cutter.hpp"

#include <cerrno>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "report_sample.hpp"

namespace text_test {

using namespace strata::detail;
using report_test::text_of;

namespace {

std::string json(std::string_view text) {
  return text_of([&](text_writer& out) { write_json_string(out, text); });
}
std::string cell(std::string_view text) {
  return text_of([&](text_writer& out) { write_csv_cell(out, text); });
}
std::string microseconds(std::int64_t ns) {
  char text[strata::detail::longest_number];
  return {text, strata::detail::microseconds_text(text, ns)};
}
std::string number(double value) {
  return text_of([&](text_writer& out) { out.number(value); });
}

}  // namespace

template <class Part, class = void>
constexpr bool is_part = false;
template <class Part>
constexpr bool
    is_part<Part, std::void_t<decltype(std::declval<sentence&>() << std::declval<Part>())>> = true;
static_assert(is_part<int> && is_part<char> && !is_part<double> && !is_part<float>,
              "a fraction is no letter");

TEST_CASE("a sentence takes texts, letters and numbers of every width in turn") {
  std::string const long_name(100, 'n');
  std::string const text = sentence("a ")
                           << std::uint8_t{200} << ' ' << long_name << ' '
                           << std::numeric_limits<std::int64_t>::min() << ' '
                           << std::numeric_limits<std::uint64_t>::max() << std::string_view("!");
  CHECK(text == "a 200 " + long_name + " -9223372036854775808 18446744073709551615!");
  sentence named;
  named << "one" << ',';
  CHECK(std::string_view(named << 2) == "one,2");
  std::string const moved = sentence(std::string("moved")) << '.';
  CHECK(moved == "moved.");
}

TEST_CASE("a whole number is all of its text, and has 32 bits at most") {
  std::uint32_t read = 7;
  for (std::string_view const none : {"", " 1", "1 ", "-1", "+1", "1x", "0x1", "4294967296",
                                      "18446744073709551617", "100000000000000000000000"}) {
    CAPTURE(none);
    CHECK_FALSE(read_number(none, read));
    CHECK(read == 7);
  }
  CHECK((read_number("4294967295", read) && read == 4294967295u));
  CHECK((read_number("0010", read) && read == 10));
}

TEST_CASE("a writer puts numbers as they are") {
  CHECK(text_of([](text_writer& out) {
          out.integer((std::numeric_limits<std::int64_t>::min)());
          out.put(' ');
          out.integer((std::numeric_limits<std::uint64_t>::max)());
          out.put(' ');
          out.integer(static_cast<unsigned char>(200));
        }) == "-9223372036854775808 18446744073709551615 200");
  CHECK(number(0.1) == "0.1");
  CHECK(number(1e300) == "1e+300");
  CHECK(number(-2.2250738585072014e-308) == "-2.2250738585072014e-308");
  CHECK(fixed_string(2.0 / 3.0, 3) == "0.667");
  CHECK(fixed_string(-1e308, 9).size() == 1 + 309 + 1 + 9);
  CHECK(microseconds(0) == "0.000");
  CHECK(microseconds(7) == "0.007");
  CHECK(microseconds(-1) == "-0.001");
  CHECK(microseconds(1234567890123456789) == "1234567890123456.789");
  CHECK(microseconds((std::numeric_limits<std::int64_t>::min)()) == "-9223372036854775.808");
}

TEST_CASE("a text longer than the buffer arrives whole and in order") {
  std::string expected;
  std::string text;
  text_writer out(text);
  std::string const large(700000, 'x');
  for (int i = 0; i < 100000; ++i) {
    out.integer(i);
    out.put(',');
    expected += std::to_string(i) + ",";
    if (i % 25000 == 0) {
      out.write(large);
      expected += large;
    }
  }
  CHECK(out.bytes() == expected.size());
  CHECK(out.flush());
  CHECK(text == expected);
}

TEST_CASE("a full disk is an error of the writer, once and for good") {
  std::FILE* const full = std::fopen("/dev/full", "wb");
  REQUIRE(full != nullptr);
  {
    text_writer out(full);
    out.write("short");
    CHECK(out.error() == 0);
    CHECK_FALSE(out.flush());
    CHECK(out.error() == ENOSPC);
    out.write(std::string(1000000, 'x'));
    CHECK_FALSE(out.flush());
    CHECK(out.error() == ENOSPC);
  }
  std::fclose(full);
}

TEST_CASE("a file that cannot be written to is an error") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::FILE* const readable = std::freopen("/dev/null", "rb", file);
  REQUIRE(readable != nullptr);
  text_writer out(readable);
  out.write(std::string(1000000, 'x'));
  CHECK_FALSE(out.flush());
  CHECK(out.error() == EBADF);
  std::fclose(readable);
}

TEST_CASE("the locale changes no number") {
  char const* const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
  char const* found = nullptr;
  for (char const* name : names)
    if (found == nullptr) found = std::setlocale(LC_ALL, name);
  if (found == nullptr) MESSAGE("no locale with a decimal comma here");
  CHECK(number(1234567.25) == "1234567.25");
  CHECK(fixed_string(1234567.25, 2) == "1234567.25");
  CHECK(time_text(1234567) == "1.23 ms");
  double read = 0.0;
  CHECK((read_double("1.25e+3", read) && read == 1250.0));
  // What stands in for std::to_chars prints through the C library.
  char text[longest_fixed];
  CHECK(std::string(text, portable_double_text(text, -1234567.25)) == "-1234567.25");
  CHECK(std::string(text, portable_double_text(text, 0.1)) == "0.1");
  CHECK(std::string(text, portable_double_text(text, 1.0 / 3.0)) == "0.3333333333333333");
  CHECK(std::string(text, portable_double_text(text, 1e300)) == "1e+300");
  CHECK(std::string(text, portable_fixed_text(text, -0.5, 3)) == "-0.500");
  std::setlocale(LC_ALL, "C");
  char comma[] = "1,5e+10";
  CHECK(std::string(comma, without_locale(comma, comma + 7)) == "1.5e+10");
  char arabic[] =
      "1\xD9\xAB"
      "5";
  CHECK(std::string(arabic, without_locale(arabic, arabic + 4)) == "1.5");
}

TEST_CASE("a number is all of its text") {
  double read = 0.0;
  CHECK((read_double("-4.5e+12", read) && read == -4.5e12));
  for (char const* none : {"", "x", "1x", "1 ", "1,5", "--1"}) {
    CAPTURE(none);
    CHECK_FALSE(read_double(none, read));
  }
}

TEST_CASE("JSON strings") {
  CHECK(json("") == "\"\"");
  CHECK(json("plain") == "\"plain\"");
  CHECK(json("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(json("\n\t\r\x01\x1f") == "\"\\n\\t\\r\\u0001\\u001f\"");
  CHECK(json(std::string_view("a\0b", 3)) == "\"a\\u0000b\"");
  CHECK(json("注意 é 🔥") == "\"注意 é 🔥\"");
  CHECK(json("\xFF") == "\"\xEF\xBF\xBD\"");
  CHECK(json("a\x80z") == "\"a\xEF\xBF\xBDz\"");
  CHECK(json("\xE6\xB3") == "\"\xEF\xBF\xBD\"");              // cut short
  CHECK(json("\xC0\xAF") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // overlong
  CHECK(json("\xED\xA0\x80").size() == 2 + 9);                // a surrogate
  CHECK(json("\xF4\x90\x80\x80").size() == 2 + 12);           // beyond U+10FFFF
  CHECK(json("\xE6\xB3\"") == "\"\xEF\xBF\xBD\\\"\"");        // does not eat the quote
}

TEST_CASE("CSV cells") {
  CHECK(cell("") == "");
  CHECK(cell("plain text") == "plain text");
  CHECK(cell("a,b") == "\"a,b\"");
  CHECK(cell("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(cell("two\nlines") == "\"two\nlines\"");
  CHECK(cell("\r") == "\"'\r\"");
  CHECK(cell("=cmd()") == "'=cmd()");
  CHECK(cell("=a,b") == "\"'=a,b\"");
  CHECK(cell("+1") == "'+1");
  CHECK(cell("-1") == "'-1");
  CHECK(cell("@x") == "'@x");
  CHECK(cell("\tx") == "'\tx");
  CHECK(cell("a=b") == "a=b");
  CHECK(cell("注意,é") == "\"注意,é\"");
  CHECK(cell("\xFF,\"") == "\"\xEF\xBF\xBD,\"\"\"");
  CHECK(cell(std::string_view("a\0b", 3)) ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("CSV cells: each character at the front, within and at the end") {
  for (int code = 0; code < 128; ++code) {
    char const c = static_cast<char>(code);
    for (std::string const& text :
         {std::string{c, 'b'}, std::string{'a', c, 'b'}, std::string{'a', c}}) {
      CAPTURE(text);
      std::string inner = text;
      if (std::string("=+-@\t\r").find(text[0]) != std::string::npos) inner = "'" + inner;
      bool const quoted = c == ',' || c == '"' || c == '\r' || c == '\n';
      std::size_t const at = inner.find(c);
      if (c == '"') inner.insert(at, 1, '"');
      if (code == 0) inner.replace(at, 1, "\xEF\xBF\xBD");
      CHECK(cell(text) == (quoted ? '"' + inner + '"' : inner));
    }
  }
}

TEST_CASE("a word of a shell is quoted where it needs it") {
  using strata::detail::shell_word;
  CHECK(shell_word("--layers=12,attn[0]") == "'--layers=12,attn[0]'");
  CHECK(shell_word("--layers=12,/a/b:c") == "--layers=12,/a/b:c");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("=ls") == "'=ls'");  // zsh
  for (char const letter : std::string(" \t\n\r\x1b\"`$&|;<>()*?!#~\\^{}")) {
    CAPTURE(letter);
    CHECK(shell_word(std::string("a") + letter) == std::string("'a") + letter + "'");
  }
}

TEST_CASE("columns that a text takes") {
  CHECK(display_width("attention") == 9);
  CHECK(display_width("注意") == 4);
  CHECK(display_width("é") == 1);
  CHECK(display_width("e\xCC\x81") == 1);  // e and a combining acute
  CHECK(display_width("🔥") == 2);
  CHECK(display_width("\xFF\xFE") == 2);
}

TEST_CASE("names for a terminal do no harm") {
  CHECK(console_text("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(console_text("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(console_text("\xC2\x9B") == "\\x9b");
  CHECK(console_text("a\xE2\x80\xAE"
                     "b") == "a\\u202eb");
  CHECK(console_text("注意\xFF") == "注意\xEF\xBF\xBD");
}

TEST_CASE("names that differ still differ when they are cut") {
  std::string const gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize",
                    end = "x8_stage3_aligna4_";
  strata::vec<std::string> const names = {
      gemm + "64x64" + end + "execute_kernel__5x_cublas",
      gemm + "128x256" + end + "execute_kernel__5x_cublas",
      gemm + "128x64" + end + "execute_kernel__5x_cublas",
      gemm + "128x64" + end + "execute_split_k_kernel__5x_cublas",
      gemm + "64x64" + end + "execute_kernel__5x_cublas",
      "split_heads",
      "\xE6\xB3\xA8\xE6\x84\x8F_" + gemm,
      "\xE6\xB3\xA8\xE6\x84\x8E_" + gemm};
  for (std::size_t width = 24; width < 100; ++width) {
    CAPTURE(width);
    strata::vec<std::string> cut = names;
    strata::detail::name_cutter(width).cut(cut);
    CHECK(cut[0] == cut[4]);
    CHECK(cut[5] == "split_heads");
    for (std::size_t i = 0; i < names.size(); ++i) {
      CHECK(display_width(cut[i]) <= width);
      CHECK(strata::detail::console_text(cut[i]) == cut[i]);
      for (std::size_t k = 0; k < i; ++k) CHECK((cut[i] == cut[k]) == (names[i] == names[k]));
    }
  }
  strata::vec<std::string> once = names;
  strata::detail::name_cutter(84).cut(once);
  CHECK(
      once[1] ==
      "sm80_xmma_gemm_f\u2026f32_tn_n_tilesize128x256x8_stage3_aligna4_execute_kernel__5x_cublas");
  for (std::string const& name : once) CHECK(name.find("\u2026") == name.rfind("\u2026"));
  std::string const begin = "vectorized_elementwise_kernel<8, Gelu";
  strata::vec<std::string> alike = {begin + "Backward(TensorIteratorBase&, GeluType), float> >",
                                    begin + "Forward(TensorIteratorBase&, GeluType), float> >"};
  strata::detail::name_cutter(64).cut(alike);  // both ends of 31 columns are the same
  CHECK(alike[0] == "vectorized_elementwise_kernel<8, GeluBackward(Tenso\u2026e), float> >");
  alike.pop_back();
  alike[0] = begin + "Backward(TensorIteratorBase&, GeluType), float> >";
  strata::detail::name_cutter(64, 14).cut(alike);
  CHECK(alike[0] == "vectorized_elementwise_kernel<8, GeluBackward(Ten\u2026ype), float> >");
  strata::vec<std::string> apart = {"block[*]/attention/query", "block[*]/attention/key"};
  strata::detail::name_cutter(16).cut(apart);
  CHECK(apart[0] == "block[*]\u2026n/query");
}

TEST_CASE("long names lose their middle") {
  CHECK(shortened("attention", 9) == "attention");
  CHECK(shortened("attention", 8) == "atte…ion");
  CHECK(shortened("attention", 2) == "a…");
  CHECK(shortened("attention", 1) == "…");
  CHECK(shortened("attention", 0) == "");
  CHECK(shortened("注意机制", 5) == "注…制");
  std::string const name(4096, 'x');
  for (std::size_t width = 1; width < 30; ++width)
    CHECK(display_width(shortened(name, width)) == width);
  // A wide character may leave one column free, never take one too many.
  for (std::size_t width = 1; width < 12; ++width) {
    std::size_t const taken = display_width(shortened("注意a机制e\xCC\x81🔥xyz", width));
    CHECK(taken <= width);
    CHECK(taken + 2 >= width);
  }
}

TEST_CASE("times, bytes, counts and rates as people read them") {
  CHECK(time_text(0) == "0 ns");
  CHECK(time_text(1) == "1 ns");
  CHECK(time_text(38.52) == "38.5 ns");
  CHECK(time_text(999) == "999 ns");
  CHECK(time_text(999.7) == "1.00 us");
  CHECK(time_text(1234) == "1.23 us");
  CHECK(time_text(99960) == "100 us");
  CHECK(time_text(12345678) == "12.3 ms");
  CHECK(time_text(999999999) == "1.00 s");
  CHECK(time_text(12345e9) == "12345 s");
  CHECK(time_text(-1500) == "-1.50 us");
  CHECK(time_text(std::nan("")) == "");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1000) == "1000 B");
  CHECK(bytes_text(1536) == "1.50 KiB");
  CHECK(bytes_text(3ull << 30) == "3.00 GiB");
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(9999999) == "9,999,999");
  CHECK(count_text(12345678) == "12.3 M");
  CHECK(count_text((std::numeric_limits<std::uint64_t>::max)()) == "18.4 E");
  CHECK(human_percent(1, 3) == "33.3");
  CHECK(human_percent(1, 0) == "");
}

TEST_CASE("prose keeps to the width, numbers to their units") {
  auto const wrapped = [](std::size_t width) {
    return text_of([&](text_writer& out) {
      write_paragraph(out, "cost: ", "it took 12.5 ms in all and 3 s", width, {}, false);
    });
  };
  CHECK(wrapped(80) == "cost: it took 12.5 ms in all and 3 s\n");
  CHECK(wrapped(20) == "cost: it took\n      12.5 ms in all\n      and 3 s\n");
  CHECK(text_of([](text_writer& out) {
          write_paragraph(out, {}, std::string(50, 'x'), 20, {}, false);
        }) == std::string(10, 'x') + "…" + std::string(9, 'x') + "\n");
}

}  // namespace text_test
