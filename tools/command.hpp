// What each subcommand of `strata` is, and what it can say by its exit code.
#ifndef STRATA_TOOLS_COMMAND_HPP
#define STRATA_TOOLS_COMMAND_HPP

#include <memory>
#include <string>
#include <vector>

namespace tools {

class arguments;

/// The exit codes of all subcommands; docs/reference/command.md has what each means for which.
enum class exit_code {
  fine = 0,
  found = 1,           ///< a regression, a late rank, a sum that does not close, no window
  unusable = 2,        ///< arguments or files are not what they should be, or cannot be written
  undecided = 3,       ///< the runs do not tell
  not_runnable = 126,  ///< of a program that is to be run, as shells say it
  not_found = 127      ///< the same
};

/// One subcommand: what it takes, and what it does.
class subcommand {
 public:
  virtual ~subcommand() = default;
  virtual char const* name() const = 0;
  virtual char const* about() const = 0;
  /// The first line of `--help`, where the arguments do not make it.
  virtual char const* usage() const { return ""; }
  /// What `--help` prints below the options; nothing by itself.
  virtual std::string details() const { return {}; }
  /// Names the arguments and where their values go.
  virtual void declare(arguments& takes) = 0;
  /// Takes the words behind `--`, if they are a program's; null is behind the last one.
  virtual void set_program(char**) {}
  /// Errors: a sentence on stderr, and `unusable`.
  virtual exit_code run() = 0;
};

#if defined(__GNUC__)
#define STRATA_TOOLS_FORMAT __attribute__((format(printf, 1, 2)))
#else
#define STRATA_TOOLS_FORMAT
#endif

/// Prints lines on stdout, as printf does. What a recording, a profile or another process names may
/// be in them: but for the lines' ends nothing controls a terminal. All subcommands print by this
/// one and the next two.
void print(char const* format, ...) STRATA_TOOLS_FORMAT;
/// Prints JSON on stdout: what could control a terminal as escapes of JSON.
void print_json(std::string const& text);
/// As `print`, on stderr.
void print_error(char const* format, ...) STRATA_TOOLS_FORMAT;

/// Says on stderr what is wrong with a file or a value.
void report_problem(char const* command, std::string const& what, std::string const& why);
/// The same, of what the command cannot work with. Returns: its exit code for that.
exit_code refuse(char const* command, std::string const& what, std::string const& why);

using subcommand_pointer = std::unique_ptr<subcommand>;
subcommand_pointer make_run();
subcommand_pointer make_attach();
subcommand_pointer make_report();
subcommand_pointer make_compare();
subcommand_pointer make_ranks();
subcommand_pointer make_trace();
subcommand_pointer make_ledger();
subcommand_pointer make_metrics();
subcommand_pointer make_ceilings();
subcommand_pointer make_explain();
subcommand_pointer make_help();
/// All of them, in the order of the help.
std::vector<subcommand_pointer> make_all();

}  // namespace tools

#endif  // STRATA_TOOLS_COMMAND_HPP
