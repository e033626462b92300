#include <strata/version.hpp>
#ifndef STRATA_REPORT_CONSOLE_TABLE_HPP
#define STRATA_REPORT_CONSOLE_TABLE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/text_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

inline constexpr std::string_view console_bold = "\x1b[1m";
inline constexpr std::string_view console_dim = "\x1b[2m";
inline constexpr std::string_view console_warning = "\x1b[33m";
inline constexpr std::string_view console_bar = "\x1b[36m";

/// Text in a style, where there is colour.
inline void write_styled(text_writer& out, std::string_view text, std::string_view style,
                         bool color) {
  bool const styled = color && !style.empty();
  if (styled) out.write(style);
  out.write(text);
  if (styled) out.write("\x1b[0m");
}

/// Where the word at `at` ends. A number stays with its unit.
inline std::size_t word_end(std::string_view text, std::size_t at) noexcept {
  std::size_t const end = (std::min)(text.find(' ', at), text.size());
  if (end == text.size() || end == at || text[end - 1] < '0' || text[end - 1] > '9') return end;
  std::size_t const next = (std::min)(text.find(' ', end + 1), text.size());
  return next - end <= 6 ? next : end;
}

/// Prose in lines of at most `width` columns. The first begins with `lead`, the others with as many
/// spaces.
inline void write_paragraph(text_writer& out, std::string_view lead, std::string_view text,
                            std::size_t width, std::string_view lead_style, bool color) {
  write_styled(out, lead, lead_style, color);
  std::size_t const indent = display_width(lead);
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = word_end(text, at);
    std::string_view const word = text.substr(at, end - at);
    std::size_t const size = display_width(word);
    if (column > indent && column + 1 + size > width) {
      out.put('\n');
      out.repeat(" ", indent);
      column = indent;
    }
    if (column > indent) {
      out.put(' ');
      ++column;
    }
    std::string const fitting = shortened(word, width > indent + 8 ? width - indent : 8);
    out.write(fitting);
    column += display_width(fitting);
    at = end + 1;
  }
  out.put('\n');
}

/// A table for a terminal. Columns without a value are not shown; where the width does not suffice,
/// the columns of the lowest priority go first; then the middle of long names is cut. No line is
/// longer than the width.
class console_table {
 public:
  struct column {
    std::string_view header;
    int priority = 0;
    std::size_t least = 0;  ///< columns that a name keeps; 0: never cut
    bool left = false;
    std::string_view style = {};
  };
  struct cell {
    std::string text;
    std::string_view unit = {};
    std::size_t indent = 0;

    static cell of(quantity value) { return {std::move(value.number), value.unit}; }
    /// A rate in units that the header has, in groups of three digits from 1,000 on.
    static cell rate(double value) {
      bool const grouped = value >= 999.5 && value < 1e7;
      return {grouped ? human_count(static_cast<std::uint64_t>(value + 0.5)).number
                      : significant(value)};
    }
  };

  explicit console_table(vec<column> columns)
      : columns_(std::move(columns)), layouts_(columns_.size()) {}

  /// Requires: a cell a column.
  void add_row(vec<cell> cells) { rows_.push_back(std::move(cells)); }
  /// The rows from here on are totals.
  void begin_totals() { totals_ = rows_.size(); }

  /// Chooses columns and widths.
  void fit(std::size_t width) {
    for (std::size_t i = 0; i < columns_.size(); ++i) measure(i);
    while (least_width() > width && drop_one()) {
    }
    grow(width);
  }

  bool shows(std::string_view header) const noexcept {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].header == header) return layouts_[i].shown;
    return false;
  }

  /// Requires: fit().
  void write(text_writer& out, bool color) const {
    vec<cell> headers;
    for (column const& c : columns_) headers.push_back({std::string(c.header)});
    write_line(out, headers, true, console_bold, color);
    write_rule(out, color);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == totals_ && i > 0) write_rule(out, color);
      write_line(out, rows_[i], false, i >= totals_ ? console_bold : std::string_view(), color);
    }
  }

 private:
  static constexpr std::size_t gap = 2;

  struct layout {
    bool shown = false;
    std::size_t natural = 0;  ///< widest cell
    std::size_t unit = 0;     ///< widest unit with the space before it
    std::size_t width = 0;
  };

  void measure(std::size_t i) {
    layout& to = layouts_[i];
    to = {};
    for (auto const& row : rows_) {
      cell const& c = row[i];
      if (c.text.empty()) continue;
      to.shown = true;
      if (!c.unit.empty()) to.unit = (std::max)(to.unit, display_width(c.unit) + 1);
    }
    for (auto const& row : rows_)
      to.natural = (std::max)(to.natural, row[i].indent + display_width(row[i].text));
    to.natural = (std::max)(to.natural + to.unit, display_width(columns_[i].header));
    to.width = columns_[i].least == 0 ? to.natural : (std::min)(to.natural, columns_[i].least);
  }

  std::size_t least_width() const noexcept {
    std::size_t width = 0;
    for (layout const& l : layouts_)
      if (l.shown) width += l.width + (width > 0 ? gap : 0);
    return width;
  }

  bool drop_one() noexcept {
    std::size_t lowest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!layouts_[i].shown || columns_[i].least > 0) continue;
      if (lowest == columns_.size() || columns_[i].priority < columns_[lowest].priority) lowest = i;
    }
    if (lowest == columns_.size()) return false;
    layouts_[lowest].shown = false;
    return true;
  }

  /// Gives what is left to the names in turn.
  void grow(std::size_t width) noexcept {
    std::size_t used = least_width();
    for (bool grown = true; grown && used < width;) {
      grown = false;
      for (layout& l : layouts_) {
        if (!l.shown || l.width >= l.natural || used >= width) continue;
        ++l.width;
        ++used;
        grown = true;
      }
    }
    // A terminal so narrow that not even the names fit.
    for (layout& l : layouts_)
      while (l.shown && used > width && l.width > 1) --l.width, --used;
  }

  void write_line(text_writer& out, vec<cell> const& cells, bool header, std::string_view style,
                  bool color) const {
    std::size_t pending = 0;  // spaces, written only before something: no line ends in spaces
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      layout const& l = layouts_[i];
      if (!l.shown) continue;
      if (!first) pending += gap;
      first = false;
      cell const& c = cells[i];
      std::size_t const indent = (std::min)(c.indent, l.width / 2);
      std::size_t const unit = header ? 0 : l.unit;
      std::string const text = shortened(c.text, l.width - indent - unit);
      std::size_t const taken = display_width(text);
      std::size_t const free = l.width - indent - unit - taken;
      pending += indent + (columns_[i].left ? 0 : free);
      if (!text.empty()) {
        out.repeat(" ", pending);
        pending = 0;
        write_styled(out, text, header || columns_[i].style.empty() ? style : columns_[i].style,
                     color);
      }
      if (!text.empty() && !c.unit.empty()) {
        out.put(' ');
        out.write(c.unit);
        pending += unit - 1 - display_width(c.unit);
      } else {
        pending += unit;
      }
      if (columns_[i].left) pending += free;
    }
    out.put('\n');
  }

  void write_rule(text_writer& out, bool color) const {
    std::string rule;
    for (std::size_t width = least_width(); width > 0; --width) rule += "\xE2\x94\x80";
    write_styled(out, rule, console_dim, color);
    out.put('\n');
  }

  vec<column> columns_;
  vec<layout> layouts_;
  vec<vec<cell>> rows_;
  std::size_t totals_ = static_cast<std::size_t>(-1);
};

/// A bar of at most `width` columns, in eighths of a column.
inline std::string share_bar(double part, double whole, std::size_t width) {
  constexpr std::string_view eighths[] = {"",
                                          "\xE2\x96\x8F",
                                          "\xE2\x96\x8E",
                                          "\xE2\x96\x8D",
                                          "\xE2\x96\x8C",
                                          "\xE2\x96\x8B",
                                          "\xE2\x96\x8A",
                                          "\xE2\x96\x89"};
  if (!(whole > 0.0) || !(part > 0.0)) return {};
  double const share = part < whole ? part / whole : 1.0;
  auto const total = static_cast<std::size_t>(share * static_cast<double>(width) * 8.0 + 0.5);
  std::string bar;
  for (std::size_t i = 0; i < total / 8; ++i) bar += "\xE2\x96\x88";
  bar += eighths[total % 8];
  return bar;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_CONSOLE_TABLE_HPP
