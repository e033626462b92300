// strata attach: begins a window in a process that waits for one, as strata run --idle starts it:
// touches the file of its trigger=, which the process looks at where its steps end.
#include <strata/options.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#if defined(__linux__)
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "arguments.hpp"
#include "command.hpp"

namespace tools {
namespace {

namespace fs = std::filesystem;

class attach_command final : public subcommand {
 public:
  char const* name() const override { return "attach"; }
  char const* about() const override { return "Record a window of a process that waits for it"; }
  std::string details() const override {
    return "The process is one of strata run --idle, or has trigger= in its STRATA:\n\n"
           "  strata run --idle -- ./server 8080 &\n"
           "  strata attach $!\n\n"
           "The window begins where its next step ends; the report comes while it goes on.";
  }
  void declare(arguments& takes) override {
    takes.required("PID", pid_, "the process, as pgrep tells it");
  }

#if defined(__linux__)
  exit_code run() override {
    std::string const digits = "0123456789";
    constexpr std::size_t most_digits = 9;
    bool const is_number = !pid_.empty() && pid_.size() <= most_digits &&
                           pid_.find_first_not_of(digits) == pid_.npos && std::stol(pid_) > 0;
    if (!is_number) return refuse(name(), pid_, "It is no process id: a number, such as 1234.");
    if (::kill(static_cast<pid_t>(std::stol(pid_)), 0) != 0 && errno == ESRCH)
      return refuse(name(), pid_, "There is no such process: pgrep -a NAME lists those of a name.");
    std::ifstream file("/proc/" + pid_ + "/environ", std::ios::binary);
    std::string const all{std::istreambuf_iterator<char>(file), {}};
    if (file.bad() || !file.is_open())
      return refuse(name(), pid_, "You may not look at it: be the user who started it, or root.");
    strata::options const session = session_of(all);
    if (!session.enabled)
      return refuse(name(), pid_,
                    "It does not run under Strata: start it by strata run --idle -- PROGRAM");
    if (session.trigger.empty())
      return refuse(name(), pid_,
                    "It waits for nothing, as it has no trigger=: start it by strata run --idle -- "
                    "PROGRAM");
    return touch(path_of(session.trigger), path_of(session.out));
  }

 private:
  /// What the variable STRATA says among those of a process, each of which ends with a 0.
  static strata::options session_of(std::string const& all) {
    std::string const wanted = std::string("\0STRATA=", 8);
    std::string const text = '\0' + all;
    std::size_t const found = text.find(wanted);
    strata::vec<std::string> said_by_the_process;
    if (found != text.npos)
      return strata::options::parse(text.c_str() + found + wanted.size(), said_by_the_process);
    strata::options none;
    none.enabled = false;
    return none;
  }

  /// A path of the process, which may have another folder than this one.
  fs::path path_of(std::string const& path) const {
    std::error_code error;
    return fs::read_symlink("/proc/" + pid_ + "/cwd", error) / path;
  }

  exit_code touch(fs::path const& file, fs::path const& out) const {
    constexpr mode_t of_its_user = 0600;
    int const opened =
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, of_its_user);
    bool const is_touched = opened >= 0 && ::futimens(opened, nullptr) == 0;
    std::string const why = std::strerror(errno);
    if (opened >= 0) (void)::close(opened);
    if (!is_touched) {
      (void)refuse(name(), file.string(), "It cannot be touched: " + why + ".");
      return exit_code::found;
    }
    std::printf("strata attach: a window of %s begins where its next step ends; the report: %s\n",
                pid_.c_str(), out.c_str());
    return exit_code::fine;
  }
#else
  exit_code run() override {
    return refuse(name(), pid_, "Processes are attached to on Linux alone.");
  }

 private:
#endif

  std::string pid_;
};

}  // namespace

subcommand_pointer make_attach() { return std::make_unique<attach_command>(); }

}  // namespace tools
