#ifndef STRATA_TABLES_CONSOLE_TABLE_HPP
#define STRATA_TABLES_CONSOLE_TABLE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/profile/metric_set.hpp>

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

/// Where the word at `index` ends. A number stays with its unit.
inline std::size_t word_end(std::string_view text, std::size_t index) noexcept {
  std::size_t const end = smaller(text.find(' ', index), text.size());
  if (end == text.size() || end == index || text[end - 1] < '0' || text[end - 1] > '9') return end;
  std::size_t const next = smaller(text.find(' ', end + 1), text.size());
  return next - end <= 6 ? next : end;
}

/// Prose in lines of at most `width` columns, the first behind `lead`.
inline void write_paragraph(text_writer& out, std::string_view lead, std::string_view text,
                            std::size_t width, std::string_view lead_style, bool color) {
  write_styled(out, lead, lead_style, color);
  std::size_t const indent = display_width(lead);
  std::size_t column = indent;
  for (std::size_t index = 0; index < text.size();) {
    std::size_t const end = word_end(text, index);
    std::string_view const word = text.substr(index, end - index);
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
    index = end + 1;
  }
  out.put('\n');
}

/// How a column shows its values.
enum class console_form : std::uint8_t {
  text,     ///< names, on the left
  count,    ///< all digits
  amount,   ///< three digits and K, M, G, ...
  time,     ///< of ns
  bytes,    ///< three digits and KiB, MiB, ...
  percent,  ///< one decimal
  bar,      ///< a bar in ten columns, of percent
  rate,     ///< digits in groups, in units that the header has
  plain     ///< three digits
};

/// A bar of at most ten columns, in eighths of a column.
inline std::string percent_bar(double percent) {
  if (!(percent > 0.0)) return {};
  auto const eighths =
      static_cast<std::size_t>((percent < 100.0 ? percent : 100.0) / 100.0 * 80.0 + 0.5);
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "\xE2\x96\x88";
  // U+2589 has seven eighths of a column, U+258F has one.
  if (eighths % 8 != 0) bar.append("\xE2\x96").push_back(static_cast<char>(0x90 - eighths % 8));
  return bar;
}

/// In percent of a whole; NaN where it has no such share.
inline double percent_of(double part, double whole) noexcept {
  return 100.0 * share_of(part, whole);
}

/// The value, or NaN where there is nothing to show.
inline double if_any(double value) noexcept {
  return value > 0.0 ? value : std::numeric_limits<double>::quiet_NaN();
}
template <class Integer>
inline double if_any(Integer value) noexcept {
  return if_any(static_cast<double>(value));
}

/// Lines of a legend, each a paragraph.
inline void write_legend(text_writer& out, std::string_view legend, std::size_t width) {
  while (!legend.empty()) write_paragraph(out, {}, take_until(legend, "\n"), width, {}, false);
}

/// A table for a terminal. Columns without a value are not shown; where the width does not suffice,
/// the columns of the lowest priority go first; then the middle of long names is cut. No line is
/// longer than the width.
class console_table {
 public:
  struct column {
    std::string_view header;
    int priority = 0;
    console_form form = console_form::text;
    std::size_t least = 0;         ///< columns that a name keeps; 0: never cut
    std::string_view legend = {};  ///< a line for below the table, where the column is shown

    bool left() const noexcept { return form == console_form::text || form == console_form::bar; }
  };
  struct cell {
    std::string text;
    std::string_view unit = {};
    std::size_t level = 0;  ///< of a tree
  };

  explicit console_table(vec<column> columns)
      : columns_(std::move(columns)), layouts_(columns_.size()) {}

  /// Adds the texts of the first columns and a value for each of the others, NaN for none.
  void add_row(vec<cell> texts, vec<double> const& values) {
    for (double const value : values) texts.push_back(cell_of(columns_[texts.size()].form, value));
    texts.resize(columns_.size());
    rows_.push_back(std::move(texts));
  }
  /// The rows from here on are totals.
  void begin_totals() { totals_ = rows_.size(); }

  /// Chooses columns and widths. `bars`: whether columns of bars are shown where they have room.
  void fit(std::size_t width, bool bars) {
    for (std::size_t i = 0; i < columns_.size(); ++i) measure(i);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].form == console_form::bar && !bars) layouts_[i].shown = false;
    dropped_ = 0;
    while (least_width() > width && drop_one()) {
    }
    grow(width);
  }

  /// Lets `cut(names, width)` cut the names of each column that is too narrow and no tree.
  /// Requires: fit().
  template <class Cut>
  void cut_names(Cut cut) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      layout const& l = layouts_[i];
      if (!l.shown || l.width >= l.natural || l.deepest != 0) continue;
      vec<std::string> names;
      for (auto const& row : rows_) names.push_back(row[i].text);
      cut(names, l.width);
      for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row][i].text = names[row];
    }
  }

  vec<column>& columns() noexcept { return columns_; }
  bool shows(std::size_t i) const noexcept { return layouts_[i].shown; }
  /// Columns that have values and no room, bars left out. Requires: fit().
  std::size_t dropped() const noexcept { return dropped_; }

  /// The lines of the columns that are shown.
  std::string legend() const {
    std::string text;
    std::string_view last;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::string_view const more = columns_[i].legend;
      if (more.empty() || !layouts_[i].shown || more == last) continue;
      last = more;
      text.append(more) += '\n';
    }
    return text;
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

  /// A value as a column shows it; nothing where there is none.
  static cell cell_of(console_form form, double value) {
    constexpr std::string_view thousands[] = {"", "K", "M", "G", "T", "P", "E"};
    if (!is_finite(value)) return {};
    switch (form) {
      case console_form::count:
        return count_cell(value);
      case console_form::amount:
        return cell_of(in_units(value, 1000.0, thousands));
      case console_form::time:
        return cell_of(human_time(value));
      case console_form::bytes:
        return cell_of(human_bytes(value));
      case console_form::percent:
        return {fixed_string(value, 1)};
      case console_form::bar:
        return {percent_bar(value)};
      case console_form::rate:
        if (value >= 999.5 && value < 1e18)
          return {in_groups(static_cast<std::uint64_t>(value + 0.5))};
        return {significant(value)};
      default:
        return {significant(value)};
    }
  }

 private:
  /// A count of a mean step is the nearest whole number, but for what a share rounds off.
  static cell count_cell(double value) {
    double const whole = rounded_down(value + 0.5);
    bool const is_whole = larger(value, whole) - smaller(value, whole) <= 1e-9 * whole;
    if (value < 100.0 && !is_whole) return {significant(value)};
    return cell_of(human_count(static_cast<std::uint64_t>(whole)));
  }
  static constexpr std::size_t gap = 2;

  struct layout {
    bool shown = false;
    std::size_t natural = 0;  ///< widest cell
    std::size_t unit = 0;     ///< widest unit with the space before it
    std::size_t width = 0;
    std::size_t deepest = 0;  ///< level of a cell
    std::size_t indent = 2;   ///< of a level
  };

  static cell cell_of(quantity value) { return {std::move(value.number), value.unit}; }

  void measure(std::size_t i) {
    layout& measured = layouts_[i];
    measured = {};
    for (auto const& row : rows_) {
      cell const& c = row[i];
      if (c.text.empty()) continue;
      measured.shown = true;
      if (!c.unit.empty()) measured.unit = larger(measured.unit, display_width(c.unit) + 1);
    }
    for (auto const& row : rows_) {
      measured.natural = larger(measured.natural, 2 * row[i].level + display_width(row[i].text));
      measured.deepest = larger(measured.deepest, row[i].level);
    }
    measured.natural = larger(measured.natural + measured.unit, display_width(columns_[i].header));
    measured.width =
        columns_[i].least == 0 ? measured.natural : smaller(measured.natural, columns_[i].least);
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
    if (!columns_[lowest].header.empty()) ++dropped_;
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
    for (layout& l : layouts_) {
      while (l.shown && used > width && l.width > 1) {
        --l.width;
        --used;
      }
    }
    for (layout& l : layouts_)
      l.indent = l.width < l.natural && 2 * l.deepest > most_indent(l) ? 1 : 2;
  }

  /// What is left of a column that is too narrow has room for the start and the end of a name.
  static std::size_t most_indent(layout const& l) noexcept {
    return l.width - smaller(l.width / 2, std::size_t{10});
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
      std::size_t indent = l.indent * c.level;
      if (l.width < l.natural) indent = smaller(indent, most_indent(l));
      std::size_t const unit = header ? 0 : l.unit;
      std::string const text = shortened(c.text, l.width - indent - unit);
      std::size_t const taken = display_width(text);
      std::size_t const free = l.width - indent - unit - taken;
      pending += indent + (columns_[i].left() ? 0 : free);
      if (!text.empty()) {
        out.repeat(" ", pending);
        pending = 0;
        bool const bar = !header && columns_[i].form == console_form::bar;
        std::string const unit_text = c.unit.empty() ? std::string() : ' ' + std::string(c.unit);
        write_styled(out, text + unit_text, bar ? console_bar : style, color);
        pending += unit - display_width(unit_text);
      } else {
        pending += unit;
      }
      if (columns_[i].left()) pending += free;
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
  std::size_t dropped_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_CONSOLE_TABLE_HPP
