#ifndef STRATA_SESSION_REPORT_SIDE_HPP
#define STRATA_SESSION_REPORT_SIDE_HPP

#include <strata/base/text_writer.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/session/report_formats.hpp>

// All that a session knows of what is made of a profile. table_reports.hpp makes the
// tables; src, where it is linked in, makes all reports.

STRATA_BEGIN
namespace detail {

/// How the console shows text.
struct console_look {
  int width = 120;     ///< columns of the terminal, 40 or more
  bool color = false;  ///< ANSI escapes
  bool ascii = false;  ///< lines and bars of ASCII, and ? for letters that it lacks
  bool bars = false;   ///< beside shares: for a terminal, not for a pipe
};

/// The reports of one profile.
class made_reports {
 public:
  using file_taker = callback<void(char const* name, file_content const& content)>;

  /// Hands over the files of a format, one after another. Returns: a sentence where something was
  /// left out.
  virtual std::string write_files(report_format_entry const& format, file_taker take) const = 0;
  /// `problems`: those that the table shows.
  virtual void write_table(text_writer& out, console_look const& look,
                           vec<std::string> const& problems) const = 0;

 protected:
  ~made_reports() = default;
};

/// What the reports' side does for a session.
struct report_side {
  /// Makes what `wanted` asks for, as it is sorted there, and hands it to `use`.
  void (*make)(profile const& source, options const& wanted,
               callback<void(made_reports const&)> use);
  /// The part of the help on the columns of the table.
  std::string (*help_on_columns)();
  /// Whether it makes findings, page and traces too, rather than tables alone.
  bool has_analysis;
};

/// Who makes reports for the sessions of this program or shared object. Null before the
/// implementation has registered itself. Threads: written before main.
STRATA_DETAIL_OF_MODULE inline report_side const*& installed_reports() noexcept {
  static report_side const* installed = nullptr;
  return installed;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_REPORT_SIDE_HPP
