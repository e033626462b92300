#ifndef STRATA_SRC_RECORDING_RECORDING_HPP
#define STRATA_SRC_RECORDING_RECORDING_HPP

// Record now, report later: reads what `formats=recording` wrote, also in a program that was
// killed, and makes any report of it, on any machine. report_recording() needs Strata's
// implementation once in the program, as a session in code does.

#include <strata/base/macros.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN

/// What of a recording is read.
enum class recording_view {
  report,   ///< what the session reported; where it did not, what was written until then
  timeline  ///< the same with every event that was written while the program ran, also those that
            ///< `log=` and `buffers=` had no room for
};

/// Makes a profile of a recording's bytes, whatever they are.
/// Errors: bad_argument: they are no recording, of a newer Strata, not whole, or were changed.
status read_recording(std::string_view bytes, profile& target,
                      recording_view wanted = recording_view::report);

/// The same of a file. Of pieces the first GiB is read.
/// Errors: input_output: it is no regular file, cannot be opened or read, or its report has more
/// than 1 GiB. bad_argument: as above, with what it seems to be.
status read_recording_file(std::string const& path, profile& target,
                           recording_view wanted = recording_view::report);

/// Prints and writes what the options ask for (`formats`, `out`, `sort`), as the session that
/// recorded the profile would have done.
/// Errors: input_output; the table is printed all the same.
status report_recording(profile& recorded, options const& wanted);

namespace detail {

/// Says that a session has no report.
std::string describe_cut(profile const& cut);

/// `limit`: bytes that are read; of pieces the first ones.
status read_recording_file(std::string const& path, profile& target, recording_view wanted,
                           std::size_t limit);

}  // namespace detail

STRATA_END

#endif  // STRATA_SRC_RECORDING_RECORDING_HPP
