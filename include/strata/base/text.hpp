#ifndef STRATA_BASE_TEXT_HPP
#define STRATA_BASE_TEXT_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>

#include <charconv>
#include <string>
#include <string_view>

// std::to_chars for doubles: libstdc++ 11, libc++ 14, every MSVC of C++17.
#if defined(__cpp_lib_to_chars) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 14000)
#define STRATA_DETAIL_DOUBLE_TO_CHARS 1
#else
#define STRATA_DETAIL_DOUBLE_TO_CHARS 0
#endif

STRATA_BEGIN
namespace detail {

// Numbers as text, the same in every locale. Each writes at `out`, which has room for the longest
// result, and returns the end of what it wrote.

/// Room for any integer, any time and the shortest form of any double.
inline constexpr std::size_t longest_number = 40;
/// Room for a double with up to 9 decimals.
inline constexpr std::size_t longest_fixed = 344;

/// The one instantiation of std::to_chars for integers (each adds 1.2 KB). The base is 10 or more.
inline char* digits_text(char* out, std::uint64_t value, int base = 10) noexcept {
  constexpr std::size_t max_digits = 20;
  return std::to_chars(out, out + max_digits, value, base).ptr;
}

template <class Integer>
constexpr bool is_negative(Integer value) noexcept {
  if constexpr (std::is_signed<Integer>::value) return value < 0;
  return false;
}

template <class Integer>
inline char* integer_text(char* out, Integer value) noexcept {
  static_assert(std::is_integral<Integer>::value && !std::is_same<Integer, bool>::value &&
                    !std::is_same<Integer, char>::value,
                "a number");
  auto magnitude = static_cast<std::uint64_t>(value);
  if (is_negative(value)) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  return digits_text(out, magnitude);
}

STRATA_DETAIL_COLD_CODE

/// The number that all of a text is, with a point whatever the locale; false where it is none.
inline bool read_double(std::string_view text, double& number) {
#if STRATA_DETAIL_DOUBLE_TO_CHARS && !defined(_LIBCPP_VERSION)
  auto const read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
#else
  std::string const whole(text);
  char* end = nullptr;
  number = std::strtod(whole.c_str(), &end);
  return !whole.empty() && end == whole.c_str() + whole.size();
#endif
}

/// The whole number that all of a text is; false where it is none, or has more than 32 bits.
inline bool read_number(std::string_view text, std::uint32_t& number) noexcept {
  constexpr std::uint64_t most = 0xffffffff;
  std::uint64_t value = 0;
  for (char const c : text) {
    if (c < '0' || c > '9' || value > most) return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (text.empty() || value > most) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

/// Whatever the locale.
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Letters, digits, - and _ of ASCII: no shell, path or format gives them a meaning.
constexpr bool is_name_character(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/// What the C library printed, with a point where the locale has something else.
inline char* without_locale(char* first, char* last) noexcept {
  char* out = first;
  for (char const* from = first; from != last;) {
    char const c = *from;
    if (is_digit(c) || c == '-' || c == '+' || (c >= 'a' && c <= 'z')) {
      *out++ = c;
      ++from;
      continue;
    }
    *out++ = '.';
    while (from != last && !is_digit(*from)) ++from;
  }
  return out;
}

/// The fewest digits that read back the same, without std::to_chars for doubles.
inline char* portable_double_text(char* out, double value) noexcept {
  int length = 0;
  for (int digits = 15; digits <= 17; ++digits) {
    length = std::snprintf(out, longest_number, "%.*g", digits, value);
    if (std::strtod(out, nullptr) == value) break;
  }
  return without_locale(out, out + length);
}

inline char* portable_fixed_text(char* out, double value, int decimals) noexcept {
  int const length = std::snprintf(out, longest_fixed, "%.*f", decimals, value);
  return without_locale(out, out + length);
}

STRATA_DETAIL_END_CODE

/// The shortest text that reads back as the same double.
inline char* double_text(char* out, double value) noexcept {
#if STRATA_DETAIL_DOUBLE_TO_CHARS
  return std::to_chars(out, out + longest_number, value).ptr;
#else
  return portable_double_text(out, value);
#endif
}

/// Requires: 0 to 9 decimals, longest_fixed characters of room.
inline char* fixed_text(char* out, double value, int decimals) noexcept {
#if STRATA_DETAIL_DOUBLE_TO_CHARS
  return std::to_chars(out, out + longest_fixed, value, std::chars_format::fixed, decimals).ptr;
#else
  return portable_fixed_text(out, value, decimals);
#endif
}

/// The hash FNV-1a of bytes; a number counts as one of them.
class fnv1a {
 public:
  void add(std::uint64_t value) noexcept { value_ = (value_ ^ value) * 0x100000001b3u; }
  void add(std::string_view bytes) noexcept {
    for (char const c : bytes) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

STRATA_DETAIL_COLD_CODE

/// Without the blanks around it; a line's end is one.
inline std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  while (!text.empty() && blanks.find(text.front()) != blanks.npos) text.remove_prefix(1);
  while (!text.empty() && blanks.find(text.back()) != blanks.npos) text.remove_suffix(1);
  return text;
}

/// Text as one word of a shell, in quotes.
inline std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (char const letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

/// Text as one word of a shell, in quotes unless no shell gives any of its characters a meaning.
inline std::string shell_word(std::string_view text) {
  bool is_plain = !text.empty() && text.front() != '=';  // zsh
  for (char const c : text)
    is_plain = is_plain && (is_name_character(c) ||
                            std::string_view("@%+=:,./").find(c) != std::string_view::npos);
  return is_plain ? std::string(text) : shell_quoted(text);
}

/// A name that comes from elsewhere as a part of a file's name: letters, digits, - and _, at most
/// 64, whatever it is. Two names may become one.
inline std::string file_stem(std::string_view name) {
  constexpr std::size_t longest = 64;
  std::string stem(name.substr(0, longest));
  for (char& c : stem)
    if (!is_name_character(c)) c = '_';
  return stem.empty() ? "_" : stem;
}

/// A text of parts, as in `sentence("pass ") << pass << " of " << passes`. What is added goes into
/// the same text: the standard library's + makes one more at each step, and code to destroy it.
class sentence : uncopied {
 public:
  sentence() = default;
  explicit sentence(std::string&& begin) noexcept : text_(std::move(begin)) {}
  explicit sentence(std::string_view begin) : text_(begin) {}
  explicit sentence(char const* begin) : text_(begin) {}

  sentence& operator<<(char const* part) {
    text_.append(part);
    return *this;
  }
  sentence& operator<<(std::string const& part) {
    text_.append(part);
    return *this;
  }
  sentence& operator<<(std::string_view part) {
    text_.append(part);
    return *this;
  }
  sentence& operator<<(char part) {
    text_.push_back(part);
    return *this;
  }
  template <class Integer, std::enable_if_t<std::is_integral<Integer>::value, int> = 0>
  sentence& operator<<(Integer number) {
    char digits[longest_number];
    text_.append(digits, integer_text(digits, number));
    return *this;
  }
  sentence& operator<<(double number) = delete;  // it would be a letter: say how many digits

  /// Takes the text: a sentence that has a name is not to be read any more.
  operator std::string() noexcept { return std::move(text_); }
  operator std::string_view() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Appends to a list in a text, as in `a, b`. What is empty is no part.
inline void add_part(std::string& list, std::string_view part, char const* between = ", ") {
  if (part.empty()) return;
  if (!list.empty()) list.append(between);
  list.append(part);
}

/// A number as people read it; the unit apart, so that a column can align both.
struct quantity {
  std::string number;
  std::string_view unit;

  std::string text() const {
    std::string result = number;
    if (!unit.empty()) result.append(" ").append(unit);
    return result;
  }
};

inline std::string fixed_string(double value, int decimals) {
  char text[longest_fixed];
  return std::string(text, fixed_text(text, value, decimals));
}

/// `1.2.3`
inline std::string version_text() {
  char text[3 * longest_number];
  char* end = text;
  for (int const part : {STRATA_VERSION_MAJOR, STRATA_VERSION_MINOR, STRATA_VERSION_PATCH}) {
    if (end != text) *end++ = '.';
    end = integer_text(end, part);
  }
  return std::string(text, end);
}

/// Three significant digits; whole numbers from 100 on.
inline std::string significant(double value) {
  double const magnitude = std::abs(value);
  if (!is_finite(value)) return {};
  if (magnitude >= 99.95 || value == 0.0) return fixed_string(value, 0);
  if (magnitude >= 9.995) return fixed_string(value, 1);
  return fixed_string(value, magnitude >= 0.09995 ? 2 : 3);
}

/// The largest unit in which the rounded value is at least one; `factor` between units.
template <std::size_t Units>
inline quantity in_units(double value, double factor, std::string_view const (&units)[Units]) {
  if (!is_finite(value)) return {};
  std::size_t unit = 0;
  while (unit + 1 < Units && std::abs(value) >= (factor > 1000.0 ? factor - 0.5 : 999.5)) {
    value /= factor;
    ++unit;
  }
  bool const whole = unit == 0 && rounded_down(value) == value;
  return {whole ? fixed_string(value, 0) : significant(value), units[unit]};
}

inline quantity human_time(double ns) {
  constexpr std::string_view units[] = {"ns", "us", "ms", "s"};
  return in_units(ns, 1000.0, units);
}

inline quantity human_bytes(double bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return in_units(bytes, 1024.0, units);
}

/// Digits in groups of three.
inline std::string in_groups(std::uint64_t count) {
  char digits[longest_number];
  auto const length = static_cast<std::size_t>(integer_text(digits, count) - digits);
  std::string number;
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0) number += ',';
    number += digits[i];
  }
  return number;
}

/// All digits with separators, up to ten million: `1,234,567`, then `12.3 M`.
inline quantity human_count(std::uint64_t count) {
  if (count >= 10000000) {
    constexpr std::string_view units[] = {"M", "G", "T", "P", "E"};
    return in_units(static_cast<double>(count) / 1e6, 1000.0, units);
  }
  return {in_groups(count), {}};
}

/// The same as one text: `1.23 ms`, `1.50 KiB`, `12.3 M`.
inline std::string time_text(double ns) { return human_time(ns).text(); }
inline std::string bytes_text(double bytes) { return human_bytes(bytes).text(); }
inline std::string count_text(std::uint64_t count) { return human_count(count).text(); }

constexpr bool begins_with(std::string_view text, std::string_view with) noexcept {
  return text.substr(0, with.size()) == with;
}

constexpr bool ends_with(std::string_view text, std::string_view with) noexcept {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

/// Takes the first word off a command line, as `shell_word` made it; empty at its end.
inline std::string take_word(std::string_view& command) {
  std::size_t at = smaller(command.find_first_not_of(' '), command.size());
  std::string word;
  bool is_quoted = false;
  for (; at < command.size() && (is_quoted || command[at] != ' '); ++at) {
    bool const is_escape = !is_quoted && command[at] == '\\' && at + 1 < command.size();
    if (command[at] == '\'')
      is_quoted = !is_quoted;
    else
      word += command[is_escape ? ++at : at];
  }
  command.remove_prefix(at);
  return word;
}
inline std::string_view without_folder(std::string_view path) noexcept {
  std::size_t const slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// A share of a whole in percent with one decimal; nothing where it has no such share.
inline std::string human_percent(double part, double whole) {
  double const share = share_of(part, whole);
  return is_finite(share) ? fixed_string(100.0 * share, 1) : std::string();
}

/// A letter of ASCII as a small one.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Insertions, deletions, replacements and exchanges that make `a` of `b`; case is ignored.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  vec<std::size_t> before(b.size() + 1);
  vec<std::size_t> row(b.size() + 1);
  vec<std::size_t> next(b.size() + 1);
  auto const same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = smaller(row[j] + (same(i, j) ? 0 : 1), smaller(row[j + 1], next[j]) + 1);
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j))
        next[j + 1] = smaller(next[j + 1], before[j - 1] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

/// The names nearest to a misspelt one, best first.
class nearest_names {
 public:
  explicit nearest_names(std::string_view wanted) : wanted_(wanted) {}

  void consider(std::string_view name) {
    std::size_t const limit = larger<std::size_t>(1, (wanted_.size() + 1) / 3);
    std::size_t const shorter = smaller(name.size(), wanted_.size());
    std::size_t const longer = larger(name.size(), wanted_.size());
    bool const begins = shorter >= 3 && name.substr(0, shorter) == wanted_.substr(0, shorter);
    if (longer - shorter > limit && !begins) return;
    std::size_t distance = edit_distance(wanted_, name);
    if (begins) distance = smaller(distance, limit);
    if (distance <= limit) found_.push_back({distance, std::string(name)});
  }

  /// At most `count` of them.
  vec<std::string> best(std::size_t count = 3) {
    found_.sort();
    vec<std::string> names;
    for (auto& candidate : found_) {
      if (names.size() == count) break;
      if (names.empty() || names.back() != candidate.second)
        names.push_back(std::move(candidate.second));
    }
    return names;
  }

 private:
  std::string_view wanted_;
  vec<pair<std::size_t, std::string>> found_;
};

/// Whether a text matches a pattern of characters, `?` (any one) and `*` (any number).
inline bool matches(std::string_view text, std::string_view pattern) noexcept {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

STRATA_DETAIL_END_CODE

/// Whether two texts are the same, but for the digits in them.
inline bool same_but_for_digits(std::string_view one, std::string_view other) noexcept {
  auto const next = [](std::string_view text, std::size_t from) {
    while (from < text.size() && is_digit(text[from])) ++from;
    return from;
  };
  std::size_t i = next(one, 0);
  std::size_t j = next(other, 0);
  for (; i < one.size() && j < other.size() && one[i] == other[j]; j = next(other, j + 1))
    i = next(one, i + 1);
  return i == one.size() && j == other.size();
}

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_TEXT_HPP
