#ifndef STRATA_SESSION_PROBLEM_LOG_HPP
#define STRATA_SESSION_PROBLEM_LOG_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/vec.hpp>
#include <strata/status.hpp>

STRATA_BEGIN
namespace detail {

/// Whether number 2 is the stderr of the program, or a file that got the number since: a database
/// of a program that was started without stderr, say. No copy of stderr is kept: whoever reads a
/// pipe would wait for its end until the process ends. Threads: any, also in a signal's handler.
class standard_error {
 public:
  /// The library is loaded: a number that is free now is no stderr later.
  static void watch() noexcept {
    is_open_.store(look().known);
    console::ask_first(&is_here);
  }

  /// A session begins: from now on it is this file.
  static void begin() noexcept {
    file_identity const now = look();
    device_.store(now.device);
    file_.store(now.file);
    is_known_.store(now.known);
  }

 private:
  static bool is_here() noexcept {
    if (!is_open_.load()) return false;
    if (!is_known_.load()) return true;
    file_identity const now = look();
    return now.known && now.device == device_.load() && now.file == file_.load();
  }

  static file_identity look() noexcept {
    int const error = errno;
    file_identity const now(STDERR_FILENO);
    errno = error;
    return now;
  }

  static inline atomic<bool> is_open_{false};
  static inline atomic<bool> is_known_{false};
  static inline atomic<std::uint64_t> device_{0};
  static inline atomic<std::uint64_t> file_{0};
};

/// Adds what went wrong, once. Returns: whether nothing went wrong.
inline bool keep_once(vec<status>& problems, status const& outcome) {
  if (outcome.ok()) return true;
  for (status const& known : problems)
    if (known.message() == outcome.message()) return false;
  problems.push_back(outcome);
  return false;
}

/// What a session could not do, one sentence each: first those that were printed when they came up.
/// Threads: the session's, one at a time; `short_of_memory`, `attempt` and `say`: any.
class problem_log {
 public:
  /// All sentences. What is added here is printed with the report.
  vec<status>& all() noexcept { return all_; }
  vec<status> const& all() const noexcept { return all_; }
  /// How many of them, the first ones, were printed before.
  std::size_t printed() const noexcept { return printed_; }
  /// Whether it was printed that memory is short.
  bool memory_was_short() const noexcept { return memory_was_short_; }
  /// Whether there was any problem, also in windows that were reported before.
  bool had_any() const noexcept { return had_any_ || !all_.empty(); }

  /// A session is asked to begin.
  void begin_session() noexcept {
    memory_was_short_ = false;
    had_any_ = false;
  }
  void clear() noexcept {
    all_.clear();
    printed_ = 0;
  }

  /// What comes from now on belongs to a window that is reported by itself.
  void begin_window() noexcept {
    before_window_ = all_.size();
    printed_before_window_ = printed_;
  }
  /// The window was reported: forgets its problems. `whole`: its report is.
  void end_window(bool whole) {
    memory_was_short_ = false;
    had_any_ = !whole || had_any();
    all_.erase(all_.begin() + printed_before_window_, all_.begin() + printed_);
    all_.resize(before_window_);
    printed_ = printed_before_window_;
  }

  /// Returns: whether nothing went wrong.
  bool keep(status const& outcome) { return keep_once(all_, outcome); }

  static void say(std::string const& message) noexcept {
    quiet_writes const quiet;
    detail::say(message.c_str());
  }
  /// Prints it, and keeps it as printed.
  void say_now(status const& outcome) {
    if (outcome.ok()) return;
    say(outcome.message());
    add_printed(outcome.message());
  }
  void add_printed(std::string const& message) {
    all_.emplace(all_.begin() + printed_, errc::bad_argument, message);
    ++printed_;
  }

  /// Says so at once, where the session has not. Returns: the same, or without memory the code.
  status short_of_memory(char const* consequence) noexcept {
    char text[160];
    std::snprintf(text, sizeof text,
                  "%s, since memory is short: free some, or lower log= and buffers=", consequence);
    quiet_writes const quiet;
    had_any_ = true;
    if (!memory_was_short_.exchange(true)) detail::say(text);
    status made{errc::limit, std::string()};
    (void)if_memory_allows([&] { made = {errc::limit, text}; });
    return made;
  }

  /// Does a part of what a session does, or leaves it out where memory is short.
  void attempt(callback<void()> body) noexcept {
    guest const as_guest;
    if (!if_memory_allows(body)) (void)short_of_memory(left_out);
  }

  static constexpr char const* left_out = "a part of this run is left out";

 private:
  vec<status> all_;
  std::size_t printed_ = 0;
  std::size_t before_window_ = 0;          // of all
  std::size_t printed_before_window_ = 0;  // of these
  atomic<bool> had_any_{false};            // in windows that were reported
  atomic<bool> memory_was_short_{false};   // which was printed
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_PROBLEM_LOG_HPP
