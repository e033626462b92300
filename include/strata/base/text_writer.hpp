#include <strata/version.hpp>
#ifndef STRATA_BASE_TEXT_WRITER_HPP
#define STRATA_BASE_TEXT_WRITER_HPP

#include <strata/base/containers.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Replaces bytes that are not UTF-8: U+FFFD.
inline constexpr std::string_view replacement = "\xEF\xBF\xBD";
inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";

/// One character of a text; not valid: the bytes that one replacement replaces.
struct utf8_character {
  char32_t value;
  unsigned length;
  bool valid;
};

/// Requires: at < text.size().
inline utf8_character decode_utf8(std::string_view text, std::size_t index) noexcept {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  unsigned const lead = byte(index);
  if (lead < 0x80) return {lead, 1, true};
  unsigned const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {0, 1, false};
  // The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned const lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned const highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t value = lead & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    unsigned const next = byte(index + i);
    if (next < (i == 1 ? lowest : 0x80) || next > (i == 1 ? highest : 0xBF)) return {0, i, false};
    value = value << 6 | (next & 0x3F);
  }
  return {value, length, true};
}

STRATA_DETAIL_COLD_CODE

/// Columns of a terminal that a character takes: 0, 1 or 2; right for what names are made of.
inline unsigned width_of(char32_t c) noexcept {
  struct span {
    char32_t first;
    char32_t last;
  };
  constexpr span none[] = {
      {0x0300, 0x036F},   {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
      {0x0900, 0x0902},   {0x093C, 0x093C},  {0x0941, 0x0948}, {0x094D, 0x094D}, {0x0E31, 0x0E31},
      {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},  {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
      {0x2060, 0x2064},   {0x20D0, 0x20FF},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
      {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF}};
  constexpr span two[] = {
      {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
      {0x2614, 0x2615},   {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},
      {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
      {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
      {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
      {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};
  if (c < 0x300) return 1;
  for (span const& s : none)
    if (c >= s.first && c <= s.last) return 0;
  for (span const& s : two)
    if (c >= s.first && c <= s.last) return 2;
  return 1;
}

inline std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t index = 0; index < text.size();) {
    utf8_character const c = decode_utf8(text, index);
    width += c.valid ? width_of(c.value) : 1;
    index += c.length;
  }
  return width;
}

/// A name that does no harm on a terminal: control characters and those that change the direction
/// of writing as escapes, bytes that are not UTF-8 replaced.
inline std::string console_text(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (std::size_t index = 0; index < text.size();) {
    utf8_character const c = decode_utf8(text, index);
    std::string_view const bytes = text.substr(index, c.length);
    index += c.length;
    char32_t const v = c.value;
    if (!c.valid) {
      result += replacement;
    } else if (v == '\n' || v == '\t' || v == '\r') {
      result += '\\';
      result += v == '\n' ? 'n' : v == '\t' ? 't' : 'r';
    } else if (v < 0x20 || (v >= 0x7F && v < 0xA0)) {
      result += "\\x";
      result += digits[v >> 4];
      result += digits[v & 15];
    } else if ((v >= 0x200E && v <= 0x200F) || (v >= 0x2028 && v <= 0x202E) ||
               (v >= 0x2066 && v <= 0x2069)) {
      result += "\\u20";
      result += digits[v >> 4 & 15];
      result += digits[v & 15];
    } else {
      result += bytes;
    }
  }
  return result;
}

/// A text as a cell of that width, which a longer one exceeds: on the left, or on the right behind
/// a blank at least.
inline std::string aligned(std::string_view text, std::size_t width, bool left = false) {
  std::size_t const taken = display_width(text);
  std::string cell(taken < width ? width - taken : left ? 0 : 1, ' ');
  return cell.insert(left ? 0 : cell.size(), text);
}

/// The longest begin of a text that fits into `width` columns.
inline std::string_view begin_of(std::string_view text, std::size_t width) noexcept {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    utf8_character const c = decode_utf8(text, end);
    used += c.valid ? width_of(c.value) : 1;
    if (used > width) break;
    end += c.length;
  }
  return text.substr(0, end);
}

/// The text within `width` columns; where it is longer, an ellipsis stands for all but its begin
/// and `tail_width` columns of its end. Requires: `tail_width` < `width`, or both are 0.
inline std::string shortened(std::string_view text, std::size_t width, std::size_t tail_width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t const head = begin_of(text, width - 1 - tail_width).size();
  // The longest end that fits; it begins at a character that takes columns.
  std::size_t tail = head;
  for (std::size_t rest = display_width(text.substr(head)); tail < text.size();) {
    utf8_character const c = decode_utf8(text, tail);
    unsigned const taken = c.valid ? width_of(c.value) : 1;
    if (rest <= tail_width && taken > 0) break;
    rest -= taken;
    tail += c.length;
  }
  std::string result(text.substr(0, head));
  result += ellipsis;
  result += text.substr(tail);
  return result;
}

/// The same without its middle.
inline std::string shortened(std::string_view text, std::size_t width) {
  return shortened(text, width, width == 0 ? 0 : (width - 1) / 2);
}

/// Cuts long names so that different ones stay different.
class name_cutter {
 public:
  /// `tail`: columns of the end that stay.
  name_cutter(std::size_t width, std::size_t tail) : width_(width), tail_(tail) {}
  explicit name_cutter(std::size_t width) : name_cutter(width, width == 0 ? 0 : (width - 1) / 2) {}

  /// The names within the width. What would be equal without its middle has a longer end or
  /// begin; where these have no room for the words that differ, the end is cut too:
  /// `sm80_~tilesize64x64x8_stage3~split`.
  void cut(vec<std::string>& names) const {
    flat_map<std::string, std::size_t> places;
    for (std::string const& name : names) places[name] = 0;
    vec<std::string> whole;
    for (auto const& entry : places.entries()) whole.push_back(entry.first);
    vec<std::string> const cut = cut_distinct(whole);
    for (std::size_t i = 0; i < whole.size(); ++i) places[whole[i]] = i;
    for (std::string& name : names) name = cut[places[name]];
  }

 private:
  vec<std::string> cut_distinct(vec<std::string> const& whole) const {
    vec<std::string> names;
    for (std::string const& text : whole) names.push_back(shortened(text, width_, tail_));
    std::size_t const head = width_ / 5;
    for (std::size_t i = 0; i < whole.size() && head > 1; ++i) {
      vec<std::size_t> alike;
      for (std::size_t k = 0; k < whole.size(); ++k)
        if (names[k] != whole[k] && begin_of(whole[k], head) == begin_of(whole[i], head))
          alike.push_back(k);
      if (alike.empty() || alike[0] != i || !collide(names, alike)) continue;
      std::size_t const from = word_that_differs(whole, alike, head);
      std::size_t const end = width_ - head - 1;
      if (are_ends_within(whole, alike, from, end) && differ(whole, names, alike, end)) continue;
      if (from + head <= end && differ(whole, names, alike, head)) continue;
      for (std::size_t const k : alike) {
        std::string_view const name(whole[k]);
        names[k] = ended(name, head + 1) + ended(name.substr(from), width_ - head - 1);
      }
      for (std::size_t const k : alike) separate(whole, names, alike, k, from, head);
    }
    return names;
  }

  static bool are_ends_within(vec<std::string> const& whole, vec<std::size_t> const& among,
                              std::size_t from, std::size_t room) {
    for (std::size_t const k : among)
      if (display_width(std::string_view(whole[k]).substr(from)) > room) return false;
    return true;
  }
  /// Cuts these once, so that so many columns of their ends stay; whether they differ then.
  bool differ(vec<std::string> const& whole, vec<std::string>& names, vec<std::size_t> const& among,
              std::size_t tail) const {
    for (std::size_t const k : among) names[k] = shortened(whole[k], width_, tail);
    return !collide(names, among);
  }

  /// The longest begin that has room, before an ellipsis where something is left out.
  static std::string ended(std::string_view text, std::size_t room) {
    if (display_width(text) <= room) return std::string(text);
    return std::string(begin_of(text, room - 1)).append(ellipsis);
  }

  static bool collide(vec<std::string> const& cut, vec<std::size_t> const& among) {
    for (std::size_t const i : among)
      for (std::size_t const k : among)
        if (i != k && cut[i] == cut[k]) return true;
    return false;
  }

  /// Those whose begin is still the same get the word in which they differ at the end.
  void separate(vec<std::string> const& whole, vec<std::string>& names,
                vec<std::size_t> const& among, std::size_t i, std::size_t from,
                std::size_t head) const {
    vec<std::size_t> alike;
    for (std::size_t const k : among)
      if (names[k] == names[i]) alike.push_back(k);
    if (alike.size() < 2) return;
    std::size_t const room = width_ - head - 1;
    std::size_t const index = word_that_differs(whole, alike, from);
    std::size_t const enough = larger(room / 6, difference(whole, alike) - index + 1);
    for (std::size_t const k : alike) {
      std::string_view const name(whole[k]);
      std::size_t const word = smaller(name.find_first_of(separators, index), name.size()) - index;
      bool const fits = word >= enough && word <= room / 4 && room >= 28;
      std::string_view const last =
          begin_of(name.substr(index), fits ? word : smaller(enough, room / 2));
      names[k] = ended(name, head + 1) + ended(name.substr(from), room - display_width(last));
      names[k] += last;
    }
  }

  /// How much at the begin the names have in common.
  static std::size_t difference(vec<std::string> const& whole, vec<std::size_t> const& among) {
    std::string_view const first = whole[among[0]];
    std::size_t same = first.size();
    for (std::size_t const k : among) {
      if (k == among[0]) continue;
      std::size_t const most = smaller(same, whole[k].size());
      for (same = 0; same < most && whole[k][same] == first[same];) ++same;
    }
    return same;
  }
  /// Where the word begins in which the names differ first; from `least` on.
  static std::size_t word_that_differs(vec<std::string> const& whole, vec<std::size_t> const& among,
                                       std::size_t least) {
    std::size_t const same = difference(whole, among);
    std::size_t const separator =
        same == 0 ? std::string::npos : whole[among[0]].find_last_of(separators, same - 1);
    std::size_t const word = separator == std::string::npos ? 0 : separator + 1;
    std::size_t index = smaller(larger(word, least), same);
    while (index > 0 && (static_cast<unsigned char>(whole[among[0]][index]) & 0xC0) == 0x80)
      --index;
    return index;
  }

  static constexpr std::string_view separators = "_:<>, /";
  std::size_t width_;
  std::size_t tail_;
};

STRATA_DETAIL_END_CODE

/// Text to a file or a string through one large buffer; numbers do not depend on the locale.
/// The first error is remembered, after it nothing is written. Complete after flush().
class text_writer {
 public:
  /// The error where the program closed the file: what its number is now is left alone.
  static constexpr int file_lost = -1;

  explicit text_writer(std::FILE* file) noexcept : file_(file), begun_(file) {}
  explicit text_writer(std::string& text) noexcept : text_(&text) {}
  /// Without memory for the rest of a string it throws, as `write` does.
  ~text_writer() noexcept(false) {
    bool const whole = if_memory_allows([this] { (void)flush(); });
    delete[] large_;
    if (!whole && std::uncaught_exceptions() == 0) out_of_memory();
  }

  text_writer(text_writer const&) = delete;
  text_writer& operator=(text_writer const&) = delete;

  STRATA_DETAIL_COLD void write(char const* text) { write(std::string_view(text)); }
  void write(std::string_view text) {
    if (text.size() > capacity_ - used_) {
      write_long(text);
    } else if (!text.empty()) {
      std::memcpy(buffer_ + used_, text.data(), text.size());
      used_ += text.size();
    }
  }

  void put(char c) {
    *room(1) = c;
    ++used_;
  }

  void repeat(std::string_view text, std::size_t times) {
    for (; times > 0; --times) write(text);
  }

  template <class Integer>
  void integer(Integer value) {
    auto const bits = static_cast<std::uint64_t>(value);
    bool const negative = is_negative(value);
    whole(negative ? 0 - bits : bits, negative);
  }

  void whole(std::uint64_t magnitude, bool negative) {
    char* const out = room(longest_number);
    *out = '-';
    end_at(digits_text(out + (negative ? 1 : 0), magnitude));
  }

  /// The shortest text that reads back as the same number.
  void number(double value) { end_at(double_text(room(longest_number), value)); }

  /// ns as microseconds with three decimals, exactly.
  void microseconds(std::int64_t ns) { end_at(microseconds_text(room(longest_number), ns)); }

  /// Returns: whether everything has arrived so far.
  bool flush() {
    drain();
    if (file_ != nullptr && error_ == 0 && std::fflush(file_) != 0) remember();
    return error_ == 0;
  }

  /// Nothing is written any more.
  void fail(int error) noexcept { error_ = error; }
  /// errno of the first failure, 0 without one.
  int error() const noexcept { return error_; }
  /// Whether the file is still the one that was given.
  bool has_file() const noexcept { return begun_.is_still(file_); }
  /// Bytes that were written, or would have been without an error.
  std::uint64_t bytes() const noexcept { return drained_ + used_; }

 private:
  static constexpr std::size_t large = std::size_t{256} << 10;

  char* room(std::size_t size) {
    if (capacity_ - used_ < size) make_room();
    return buffer_ + used_;
  }

  void end_at(char const* end) noexcept { used_ = static_cast<std::size_t>(end - buffer_); }

  /// Short texts stay in the writer itself. Without memory for the large buffer it is slower, but
  /// it works.
  STRATA_DETAIL_COLD void make_room() {
    drain();
    if (large_ != nullptr) return;
    large_ = new (std::nothrow) char[large];
    if (large_ == nullptr) return;
    buffer_ = large_;
    capacity_ = large;
  }

  STRATA_DETAIL_COLD void write_long(std::string_view text) {
    make_room();
    if (text.size() <= capacity_) return write(text);
    drained_ += text.size();
    pass_on(text);
  }

  void drain() {
    drained_ += used_;
    pass_on({buffer_, used_});
    used_ = 0;
  }

  void pass_on(std::string_view text) {
    if (text.empty() || error_ != 0) return;
    if (text_ != nullptr) {
      text_->append(text);
    } else if (!has_file()) {
      error_ = file_lost;
    } else if (errno = 0; std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      remember();
    }
  }

  void remember() noexcept { error_ = errno != 0 ? errno : EIO; }

  std::FILE* file_ = nullptr;
  std::string* text_ = nullptr;
  file_identity begun_;
  char* large_ = nullptr;
  char first_[512];
  char* buffer_ = first_;
  std::size_t capacity_ = sizeof first_;
  std::size_t used_ = 0;
  std::uint64_t drained_ = 0;
  int error_ = 0;
};

/// Writes a text and replaces bytes that are not UTF-8 by U+FFFD. `escape` writes the
/// replacement of ASCII characters.
template <class Escape>
inline void write_escaped(text_writer& out, std::string_view text, Escape escape) {
  std::size_t done = 0;
  for (std::size_t index = 0; index < text.size();) {
    auto const c = static_cast<unsigned char>(text[index]);
    utf8_character const character =
        c < 0x80 ? utf8_character{c, 1, true} : decode_utf8(text, index);
    std::size_t const end = index + character.length;
    bool const kept = character.valid && (c >= 0x80 || !escape.needs(text[index]));
    if (!kept) {
      out.write(text.substr(done, index - done));
      done = end;
      if (character.valid) {
        escape.write(text[index]);
      } else {
        out.write(replacement);
      }
    }
    index = end;
  }
  out.write(text.substr(done));
}

/// A JSON string with its quotes. Valid UTF-8 is kept, what is not becomes U+FFFD.
inline void write_json_string(text_writer& out, std::string_view text) {
  struct escapes {
    text_writer& out;
    static bool needs(char c) noexcept {
      return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    }
    void write(char c) {
      char const letter = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c;
      auto const code = static_cast<unsigned char>(c);
      if (letter == c && code < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        out.write("\\u00");
        out.put(digits[code >> 4]);
        out.put(digits[code & 15]);
      } else {
        out.put('\\');
        out.put(letter);
      }
    }
  };
  out.put('"');
  write_escaped(out, text, escapes{out});
  out.put('"');
}

/// Whether a cell keeps the character as it is, and needs no quotes for it.
constexpr bool is_plain_in_csv(char c) noexcept {
  auto const code = static_cast<unsigned char>(c);
  return code - 0x2Du < 0x80u - 0x2Du ||
         (code >= 0x20 && code < 0x2C && code != static_cast<unsigned char>('"'));
}

/// One cell of text as in RFC 4180. What a spreadsheet would run as a formula gets a leading ';
/// bytes that are not UTF-8, and NUL, which many readers refuse, become U+FFFD.
inline void write_csv_cell(text_writer& out, std::string_view text) {
  struct escapes {
    text_writer& out;
    static bool needs(char c) noexcept { return c == '"' || c == '\0'; }
    void write(char c) { out.write(c == '"' ? "\"\"" : replacement); }
  };
  bool plain = true;  // most cells are, and one look at each character is enough for them
  for (char const c : text) plain = plain && is_plain_in_csv(c);
  char const first = text.empty() ? ' ' : text.front();
  bool const guarded = first == '=' || first == '+' || first == '-' || first == '@' ||
                       first == '\t' || first == '\r';  // a formula
  if (plain && !guarded) return out.write(text);
  bool const quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out.put('"');
  if (guarded) out.put('\'');
  write_escaped(out, text, escapes{out});
  if (quoted) out.put('"');
}

/// Takes the values of a row, column by column. A key is a literal: a text of known length would be
/// a call more at each of some five hundred places.
class cell_sink {
 public:
  /// A value that is not known.
  virtual void absent(char const* key) = 0;
  virtual void text(char const* key, std::string_view value) = 0;
  /// A text that only fits where nothing is cut.
  virtual void exact(char const* key, std::string_view value) = 0;
  /// NaN is absent.
  virtual void number(char const* key, double value) = 0;
  virtual void whole(char const* key, std::uint64_t magnitude, bool negative) = 0;

  template <class Integer>
  void integer(char const* key, Integer value) {
    auto const bits = static_cast<std::uint64_t>(value);
    bool const negative = is_negative(value);
    whole(key, negative ? 0 - bits : bits, negative);
  }

 protected:
  ~cell_sink() = default;
};

/// A number with the six digits that say enough on a page.
inline double six_digits(double value) {
  double factor = 1.0;
  double const size = value < 0 ? -value : value;
  if (!is_finite(value) || size == 0.0) return value;
  while (size / factor >= 1e6) factor *= 10.0;
  while (size / factor < 1e5) factor /= 10.0;
  if (factor > 1.0) return rounded_down(value / factor + 0.5) * factor;
  double const inverse = rounded_down(1.0 / factor + 0.5);
  return rounded_down(value * inverse + 0.5) / inverse;
}

/// JSON values with their commas. Keys are written as they are; an empty key, or null, is no key,
/// as in an array.
class json_writer final : public cell_sink {
 public:
  /// Where it rounds, numbers that are not whole have six digits.
  explicit json_writer(text_writer& out, bool rounds = false) noexcept
      : out_(out), rounds_(rounds) {}

  void object(char const* key = nullptr) { open(key, '{'); }
  void end_object() { close('}'); }
  void array(char const* key = nullptr) { open(key, '['); }
  void end_array() { close(']'); }
  /// The next value begins on a line of its own.
  void line() { line_ = true; }

  void text(char const* key, std::string_view value) override {
    begin(key);
    write_json_string(out_, value);
  }
  void exact(char const* key, std::string_view value) override { text(key, value); }
  void whole(char const* key, std::uint64_t magnitude, bool negative) override {
    begin(key);
    out_.whole(magnitude, negative);
  }
  /// JSON has no NaN and no infinity: null.
  void number(char const* key, double value) override {
    if (!is_finite(value)) return absent(key);
    begin(key);
    out_.number(rounds_ ? six_digits(value) : value);
  }
  void boolean(char const* key, bool value) {
    begin(key);
    out_.write(value ? "true" : "false");
  }
  void absent(char const* key) override {
    begin(key);
    out_.write("null");
  }

 private:
  STRATA_DETAIL_COLD void begin(char const* key) {
    if (!first_) out_.put(',');
    first_ = false;
    if (line_) out_.put('\n');
    line_ = false;
    if (key == nullptr || *key == 0) return;
    out_.put('"');
    out_.write(key);
    out_.write("\":");
  }
  STRATA_DETAIL_COLD void open(char const* key, char bracket) {
    begin(key);
    out_.put(bracket);
    first_ = true;
  }
  STRATA_DETAIL_COLD void close(char bracket) {
    if (line_) out_.put('\n');
    line_ = false;
    out_.put(bracket);
    first_ = false;
  }

  text_writer& out_;
  bool rounds_;
  bool first_ = true;
  bool line_ = false;
};

/// What a file is: its name, and the version of its keys.
inline void write_schema(json_writer& json, char const* name, int version) {
  json.object("schema");
  json.text("name", name);
  json.integer("version", version);
  json.text("strata", version_text());
  json.end_object();
}

/// What a file is filled with.
using file_content = callback<void(text_writer&)>;

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_TEXT_WRITER_HPP
