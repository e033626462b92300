// strata attach: begins a window in a process that waits for one, as strata run --idle starts it:
// touches the file of its trigger=, which the process looks at where its steps end.
#include <strata/options.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

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
    strata::options const session = await_session();
    if (!std::ifstream("/proc/" + pid_ + "/environ").is_open())
      return refuse(name(), pid_, "You may not look at it: be the user who started it, or root.");
    if (!session.enabled)
      return refuse(name(), pid_,
                    "It does not run under Strata, or has renamed itself: start it by strata run "
                    "--idle -- PROGRAM, or touch the file of its trigger=");
    if (session.trigger.empty())
      return refuse(name(), pid_,
                    "It waits for nothing, as it has no trigger=: start it by strata run --idle -- "
                    "PROGRAM");
    if (!records()) {
      (void)refuse(name(), pid_,
                   "Strata has not begun in it, as it has no CUDA context and no range yet; a "
                   "program that it started has a process id of its own: pgrep -a NAME");
      return exit_code::found;
    }
    return touch(session);
  }

 private:
  /// What STRATA says in the process, once a session has begun there or was waited for: strata run
  /// becomes the program within milliseconds, and a program loads its libraries first.
  strata::options await_session() const {
    for (int tenths = 0;; ++tenths) {
      strata::options const found = session();
      int const most_tenths = found.enabled ? 50 : 10;
      if (tenths >= most_tenths || (found.enabled && records())) return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  /// What the variable STRATA of the process says.
  strata::options session() const {
    std::ifstream file("/proc/" + pid_ + "/environ", std::ios::binary);
    std::string const text = '\0' + std::string{std::istreambuf_iterator<char>(file), {}};
    std::string const wanted = std::string("\0STRATA=", 8);
    std::size_t const found = text.find(wanted);
    strata::vec<std::string> said_by_the_process;
    if (found != text.npos)
      return strata::options::parse(text.c_str() + found + wanted.size(), said_by_the_process);
    strata::options none;
    none.enabled = false;
    return none;
  }

  /// Whether a session has begun: one of its threads has the name "strata".
  bool records() const {
    std::error_code error;
    for (fs::directory_iterator task("/proc/" + pid_ + "/task", error), end; !error && task != end;
         task.increment(error)) {
      std::string thread_name;
      std::getline(std::ifstream(task->path() / "comm"), thread_name);
      if (thread_name == "strata") return true;
    }
    return false;
  }

  /// A path of the process as it reads it, which may have another folder and another root.
  fs::path path_of(std::string const& path) const {
    std::error_code error;
    return fs::read_symlink("/proc/" + pid_ + "/cwd", error) / path;
  }
  fs::path reached(std::string const& path) const {
    fs::path const of_process = "/proc/" + pid_;
    bool const is_absolute = fs::path(path).is_absolute();
    return is_absolute ? of_process / "root" / fs::path(path).relative_path()
                       : of_process / "cwd" / path;
  }

  /// A file that is there is opened, whoever made it; no link is followed to make one.
  static int open_or_make(fs::path const& file) {
    constexpr int flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    constexpr mode_t of_its_user = 0600;
    int const opened = ::open(file.c_str(), flags);
    if (opened >= 0 || errno != ENOENT) return opened;
    return ::open(file.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW, of_its_user);
  }

  exit_code touch(strata::options const& session) const {
    int const opened = open_or_make(reached(session.trigger));
    bool const is_touched = opened >= 0 && ::futimens(opened, nullptr) == 0;
    std::string const why = std::strerror(errno);
    if (opened >= 0) (void)::close(opened);
    if (!is_touched) {
      (void)refuse(name(), path_of(session.trigger).string(), "It cannot be touched: " + why + ".");
      return exit_code::found;
    }
    print(
        "strata attach: a window of %s begins where its next step ends; its report will be in "
        "%s-latest\n",
        pid_.c_str(), path_of(session.out).c_str());
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
