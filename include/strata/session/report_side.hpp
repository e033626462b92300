#ifndef STRATA_SESSION_REPORT_SIDE_HPP
#define STRATA_SESSION_REPORT_SIDE_HPP

// All that a session knows of what is made of a profile. table_reports.hpp makes the
// tables; src, where it is linked in, makes all reports.

#include <strata/base/text_writer.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// What `formats=` takes, in the order of the help.
enum class report_format : std::uint8_t {
  table,
  csv,
  json,
  trace,
  plain_trace,
  html,
  recording,
  openmetrics
};

/// What a format is made of; each has what the ones before it have.
enum class format_source : std::uint8_t { profile, tables, answer };

/// When the files of a format are written. The small ones come before the large ones: a disk that
/// becomes full keeps what fits.
enum class format_turn : std::uint8_t {
  printed,  ///< after all files
  brief,
  page,
  recording,
  timeline
};

// A name for the type: nvcc writes parentheses around it that g++ warns of.
using flag_field = bool options::*;

/// A format: all that the options, the help and the writers know of it.
struct report_format_entry {
  report_format format;
  std::string_view name;
  flag_field field;
  format_source made_of;
  format_turn turn;
  char const* made_file;  ///< the one that is made of the answer or is a trace; null: there is none
};

inline constexpr report_format_entry report_formats[] = {
    {report_format::table, "table", &options::table, format_source::answer, format_turn::printed,
     nullptr},
    {report_format::csv, "csv", &options::csv, format_source::tables, format_turn::brief, nullptr},
    {report_format::json, "json", &options::json, format_source::answer, format_turn::brief,
     "findings.json"},
    {report_format::trace, "trace", &options::chrome_trace, format_source::tables,
     format_turn::timeline, "trace.json.gz"},
    {report_format::plain_trace, "trace.json", &options::plain_trace, format_source::tables,
     format_turn::timeline, "trace.json"},
    {report_format::html, "html", &options::html, format_source::answer, format_turn::page,
     "report.html"},
    {report_format::recording, "recording", &options::recording, format_source::profile,
     format_turn::recording, nullptr},
    {report_format::openmetrics, "openmetrics", &options::openmetrics, format_source::answer,
     format_turn::brief, "metrics.prom"}};

/// All names of formats.
inline std::string format_names(char const* between) {
  std::string names;
  for (report_format_entry const& format : report_formats) {
    if (!names.empty()) names += between;
    names += format.name;
  }
  return names;
}

/// Whether any of the formats that are wanted is made of this, or of more.
inline bool wants_format_of(options const& wanted, format_source least) noexcept {
  for (report_format_entry const& format : report_formats)
    if (wanted.*format.field && format.made_of >= least) return true;
  return false;
}

/// Whether any of the formats that are wanted has a file that is made of the answer, or a trace.
inline bool wants_made_file(options const& wanted) noexcept {
  for (report_format_entry const& format : report_formats)
    if (wanted.*format.field && format.made_file != nullptr) return true;
  return false;
}

/// Whether any of the formats that are wanted is a file.
inline bool wants_files(options const& wanted) noexcept {
  for (report_format_entry const& format : report_formats)
    if (wanted.*format.field && format.turn != format_turn::printed) return true;
  return false;
}

/// How the console shows text.
struct console_look {
  int width = 120;     ///< columns of the terminal, 40 or more
  bool color = false;  ///< ANSI escapes
  bool bars = false;   ///< beside shares: for a terminal, not for a pipe
};

/// The reports of one profile.
class made_reports {
 public:
  using file_taker = callback<void(char const* name, file_content const& content)>;

  /// Hands over the files of a format. Returns: a sentence where something was left out.
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
  /// Whether it makes findings, page and traces too, rather than the table of ranges alone.
  bool has_analysis;
  /// Gives what was sampled to the ranges whose work ran meanwhile. Null: without the analysis.
  void (*attribute_samples)(profile& target) = nullptr;
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
