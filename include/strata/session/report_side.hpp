#include <strata/version.hpp>
#ifndef STRATA_SESSION_REPORT_SIDE_HPP
#define STRATA_SESSION_REPORT_SIDE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/options.hpp>
#include <strata/session/output_directory.hpp>
#include <strata/status.hpp>
#include <strata/tables/table_input.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstdint>
#include <string>

// The seam: all that a session knows of what is made of a profile beyond tables.
// <strata/reports.hpp> installs it.

STRATA_BEGIN
namespace detail {

/// A trace that was begun before the report, in the directory of its files.
class running_trace {
 public:
  virtual char const* file_name() const noexcept = 0;
  virtual output_directory const& directory() const noexcept = 0;
  /// Writes the rest. Returns: whether the file is there; `remark` says what it leaves out.
  virtual bool complete(table_input const& input, std::string& remark) = 0;

 protected:
  ~running_trace() = default;
};

/// One that a session writes while the program runs. Threads: the session's, one at a time.
class streamed_trace : public running_trace {
 public:
  virtual ~streamed_trace() = default;
  /// Makes the directory and begins the file. Requires: the collectors are open, and record nothing
  /// yet. Errors: input_output: then the trace is written at the end.
  virtual status open() = 0;
  virtual void stop() noexcept = 0;
  /// Writes what was recorded until the session ended. Requires: `stop`, and that nothing was taken
  /// from the collectors.
  virtual void write_rest() = 0;
  /// Why the file ends early; it was said.
  virtual status const& problem() const noexcept = 0;
};

/// The reports of one profile.
class made_reports {
 public:
  virtual void write_findings(text_writer& out) const = 0;
  virtual void write_page(text_writer& out) const = 0;
  virtual void write_openmetrics(text_writer& out) const = 0;
  virtual void write_otlp(text_writer& out) const = 0;
  /// `most_events` 0: the usual limit. Returns: a sentence where something was left out.
  virtual std::string write_trace(text_writer& out, std::uint64_t most_events) const = 0;
  virtual std::string write_perfetto(text_writer& out) const = 0;

 protected:
  ~made_reports() = default;
};

/// What the reports' side does for a session.
struct report_side {
  using user = callback<void(table_input& input, made_reports const* reports)>;

  /// Finds the answer, if it is wanted, and hands the input that has it to `use`.
  void (*make)(profile_tables& tables, bool with_answer, user use);
  streamed_trace* (*new_trace)(options const& wanted, bool tracing);
};

/// Null in a program that has the recorder alone. Threads: written before main.
inline report_side const*& installed_reports() noexcept {
  static report_side const* installed = nullptr;
  return installed;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_REPORT_SIDE_HPP
