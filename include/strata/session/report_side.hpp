#include <strata/version.hpp>
#ifndef STRATA_SESSION_REPORT_SIDE_HPP
#define STRATA_SESSION_REPORT_SIDE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/session/report_formats.hpp>
#include <strata/tables/table_input.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstdint>
#include <string>

// The seam: all that a session knows of what is made of a profile beyond tables.
// <strata/reports.hpp> installs it.

STRATA_BEGIN
namespace detail {

/// The reports of one profile.
class made_reports {
 public:
  /// The `made_file` of a format. `most_events` of trace.json, 0: the usual limit. Returns: a
  /// sentence where something was left out.
  virtual std::string write(report_format format, text_writer& out,
                            std::uint64_t most_events) const = 0;

 protected:
  ~made_reports() = default;
};

/// What the reports' side does for a session.
struct report_side {
  using user = callback<void(table_input& input, made_reports const* reports)>;

  /// Finds the answer, if it is wanted, and hands the input that has it to `use`.
  void (*make)(profile_tables& tables, bool with_answer, user use);
};

/// Null in a program that has the recorder alone. Threads: written before main.
inline report_side const*& installed_reports() noexcept {
  static report_side const* installed = nullptr;
  return installed;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_REPORT_SIDE_HPP
