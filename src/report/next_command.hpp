#include <strata/version.hpp>
#ifndef STRATA_REPORT_NEXT_COMMAND_HPP
#define STRATA_REPORT_NEXT_COMMAND_HPP

// The next command: console, page, strata explain and findings.json show this one.

#include <strata/base/macros.hpp>
#include "report_input.hpp"

#include <string>

STRATA_BEGIN
namespace detail {

/// The command that would tell most of what a run does not, whole and as a shell takes it: with the
/// program, its arguments and the keys of the run. Each word is quoted anew, so that no shell runs
/// what a recording says.
struct next_command {
  std::string text;
  std::string first;        ///< what to do before, a sentence; mostly empty
  bool tells_more = false;  ///< another run would measure more; else it is for after a change
  bool is_whole = true;     ///< PROGRAM or VALUE stand for nothing that is too long to show
};
/// Cost: O(rows).
next_command make_next_command(report_input const& input);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_NEXT_COMMAND_HPP
