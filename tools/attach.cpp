// strata attach: begins a window in a process that waits for one, as strata run --idle starts it:
// touches the file of its trigger=, which the process looks at where its steps end.
#include <strata/base/utf8.hpp>
#include <strata/options.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

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
           "The window begins where its next step ends; the report comes while the process "
           "continues.";
  }
  void declare(arguments& takes) override {
    takes.required("PID", pid_, "the process, as pgrep shows it");
  }

  exit_code run() override {
    std::string const digits = "0123456789";
    constexpr std::size_t max_digits = 9;
    bool const is_number = !pid_.empty() && pid_.size() <= max_digits &&
                           pid_.find_first_not_of(digits) == pid_.npos && std::stol(pid_) > 0;
    if (!is_number) return refuse(name(), pid_, "It is no process id: a number, such as 1234.");
    std::string hidden = why_hidden();
    if (!hidden.empty()) return refuse(name(), pid_, hidden);
    credentials const process = whose();
    strata::options const session = await_session();
    hidden = why_hidden();  // it may have ended meanwhile
    if (!hidden.empty()) return refuse(name(), pid_, hidden);
    if (!session.enabled)
      return refuse(name(), pid_,
                    "It does not run under Strata, or has renamed itself: start it by strata run "
                    "--idle -- PROGRAM, or touch the file of its trigger=");
    if (session.trigger.empty())
      return refuse(name(), pid_,
                    "It waits for nothing, as it has no trigger=: start it by strata run --idle -- "
                    "PROGRAM");
    if (!records()) {
      report_problem(name(), pid_,
                     "Strata has not begun in it, as it has no CUDA context and no range yet; a "
                     "program that it started has a process id of its own: pgrep -a NAME");
      return exit_code::found;
    }
    if (!process.known || !(process == whose()))
      return refuse(name(), pid_,
                    "It runs with the rights of several users, or has changed them: touch the file "
                    "of its trigger= as the user who started it.");
    return touch(session, process);
  }

 private:
  /// Why the environment of the process cannot be read, and what to do; empty where it can.
  std::string why_hidden() const {
    if (::kill(static_cast<pid_t>(std::stol(pid_)), 0) != 0 && errno == ESRCH)
      return "There is no such process: pgrep -a NAME lists those of a name.";
    int const opened = ::open(("/proc/" + pid_ + "/environ").c_str(), O_RDONLY | O_CLOEXEC);
    if (opened >= 0) {
      (void)::close(opened);
      return {};
    }
    int const error = errno;
    std::string const why =
        "/proc/" + pid_ + "/environ cannot be read (" + std::strerror(error) + ")";
    if (error == ENOENT || error == ESRCH)
      return "It has ended: pgrep -a NAME lists those of a name.";
    if (::geteuid() == 0)
      return "You are root, but " + why +
             ": start the container with --cap-add=SYS_PTRACE, or run strata attach where the "
             "process was started.";
    credentials const process = whose();
    if (process.known && process.user != ::geteuid())
      return "It belongs to another user (uid " + std::to_string(process.user) +
             "): run strata attach as that user, or as root.";
    return "It is protected: " + why + ". Touch the file of its trigger= instead.";
  }
  /// What STRATA says in the process, once a session has begun there or was waited for: strata run
  /// becomes the program within milliseconds, and a program loads its libraries first.
  strata::options await_session() const {
    for (int tenths = 0;; ++tenths) {
      strata::options const found = session();
      int const max_tenths = found.enabled || is_strata_run() ? 50 : 10;
      if (tenths >= max_tenths || (found.enabled && records())) return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  /// Whether the process is this command, which has not become the program yet.
  bool is_strata_run() const {
    std::error_code error;
    fs::path const own = fs::read_symlink("/proc/self/exe", error);
    return !error && fs::read_symlink("/proc/" + pid_ + "/exe", error) == own && !error;
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

  /// Whose a process is.
  struct credentials {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;
    bool known = false;  ///< no: it has gone, or runs with the rights of several users
    bool operator==(credentials const& other) const {
      return known == other.known && user == other.user && group == other.group &&
             groups == other.groups;
    }
  };
  /// A program that is setuid or setgid has an environment of one user and the rights of another:
  /// it is nobody's.
  credentials whose() const {
    credentials found;
    std::ifstream file("/proc/" + pid_ + "/status");
    int single = 0;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string key;
      words >> key;
      std::vector<unsigned> const ids{std::istream_iterator<unsigned>(words), {}};
      bool const is_single = ids.size() == 4 && std::count(ids.begin(), ids.end(), ids[0]) == 4;
      if (key == "Groups:") found.groups.assign(ids.begin(), ids.end());
      if (key != "Uid:" && key != "Gid:") continue;
      if (!is_single) continue;
      (key == "Uid:" ? found.user : found.group) = ids[0];
      ++single;
    }
    found.known = single == 2;
    return found;
  }

  /// From here on this command may do what the process may, and no more: root touches no file for
  /// somebody else.
  static bool act_as(credentials const& process) {
    if (::geteuid() == process.user) return true;
    return ::setgroups(process.groups.size(), process.groups.data()) == 0 &&
           ::setegid(process.group) == 0 && ::seteuid(process.user) == 0;
  }

  /// Touches a file that is there, whoever made it, or makes one; no link is followed to make it.
  static bool touch_or_make(fs::path const& file) {
    if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0) return true;
    if (errno != ENOENT) return false;
    constexpr int flags =
        O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_CREAT | O_EXCL | O_NOFOLLOW;
    constexpr mode_t of_its_user = 0600;
    int const made = ::open(file.c_str(), flags, of_its_user);
    if (made >= 0) (void)::close(made);
    return made >= 0;
  }

  exit_code touch(strata::options const& session, credentials const& process) const {
    std::string const shown = path_of(session.trigger).string();
    std::string const out = path_of(session.out).string();
    if (!act_as(process)) {
      report_problem(name(), pid_,
                     "It belongs to another user, whose rights this command cannot take: run it as "
                     "that user.");
      return exit_code::found;
    }
    if (!touch_or_make(reached(session.trigger))) {
      report_problem(name(), shown,
                     std::string("It cannot be touched: ") + std::strerror(errno) +
                         "; start the process with a trigger= in a folder that is there, and that "
                         "it may write to.");
      return exit_code::found;
    }
    print(
        "strata attach: a window of %s begins where its next step ends; its report will be in "
        "%s-latest\n",
        pid_.c_str(), strata::detail::console_text(out).c_str());
    return exit_code::fine;
  }

  std::string pid_;
};

}  // namespace

subcommand_pointer make_attach() { return std::make_unique<attach_command>(); }

}  // namespace tools
