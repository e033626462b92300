#ifndef STRATA_SESSION_ENVIRONMENT_SESSION_HPP
#define STRATA_SESSION_ENVIRONMENT_SESSION_HPP

#include <strata/session/exit_hooks.hpp>
#include <strata/session/options_reader.hpp>
#include <strata/session/session_core.hpp>

STRATA_BEGIN
namespace detail {

/// A listener that hears of ranges, and records none.
constexpr listener unrecorded(decltype(listener::begin) begin) noexcept {
  return {begin,       []() noexcept {}, []() noexcept { return false; }, []() noexcept {},
          &no_current, &no_inherit,      []() noexcept { return false; }};
}

/// Ranges of exit handlers and static destructors that run after the report: a sentence says that
/// they are not in it. Other threads' ranges idle.
class late_ranges {
 public:
  static void listen() noexcept {
    if (active_listener() == nullptr) install_listener(&late_listener);  // else to NVTX's tools
  }

 private:
  static range_token begin(name_cache*, char const*, std::size_t, std::int64_t,
                           range_attributes const*, bool) noexcept {
    quiet_writes const quiet;
    if (exit_hooks::end_here()) say_late();
    return {};
  }
  static constexpr listener late_listener = unrecorded(&begin);
};

/// Ranges of a forked child, which nobody records: the first child that has one says so, and all
/// ranges of a child idle after its first.
class child_ranges {
 public:
  /// Requires: silence_child() came before.
  static void listen() noexcept { store_listener(block(), &child_listener); }

 private:
  static range_token begin(name_cache*, char const*, std::size_t, std::int64_t,
                           range_attributes const*, bool) noexcept {
    store_listener(block(), nullptr);
    quiet_writes const quiet;
    if (exit_hooks::is_first_child())
      say("a forked child has ranges, which are not recorded: start it by exec, as Python's "
          "multiprocessing does by spawn");
    return {};
  }
  static constexpr listener child_listener = unrecorded(&begin);
};

/// The session that STRATA=... asks for: begun by the first range, reported when the process ends.
/// With nvtx=in it begins before main, since a program may have no other ranges than NVTX's, and
/// NVTX must know where to send them.
class environment_session {
 public:
  static bool start() noexcept {
    guest const as_guest;
    bool started = false;
    if (!if_memory_allows([&] { started = try_start(); }))
      say("this program is not recorded, since memory is short: free some before the first range");
    return started;
  }

  /// Begins a session with nvtx=in. Returns: true, for a static object to be initialised by it.
  static bool start_for_nvtx() noexcept {
    char const* const text = variable("STRATA");
    if (text == nullptr || std::strstr(text, "nvtx") == nullptr) return true;
    (void)if_memory_allows([text] {
      vec<std::string> reported_later;
      if (options::parse(text, reported_later).nvtx_in() && !nvtx_input::is_the_tool())
        (void)decide_listener();
    });
    return true;
  }

 private:
  static bool try_start() {
    vec<std::string> problems;
    options const wanted = options::parse(read_request(block()) ? block().request : "", problems);
    {
      quiet_writes const quiet;  // not while CUDA starts: its threads would inherit the mask
      for (std::string const& problem : problems) say(problem.c_str());
    }
    if (wanted.help) {
      std::fputs(options_reader::help().c_str(), stdout);
      std::fflush(stdout);
      return false;
    }
    if (!wanted.enabled) return false;
    auto* const made = new session_core(wanted);
    current() = made;
    exit_hooks::make_ready();
    status const outcome = made->start();
    if (!outcome.ok()) {
      if (!made->said_short()) say(outcome.message().c_str());
      return false;
    }
    if (wanted.for_s != 0) exit_hooks::end_after(wanted.for_s);
    if (std::string const file = made->recording_file(); !file.empty())
      exit_hooks::name_recording(file);
    exit_hooks::install(&finish);  // from here on nothing that fails leaves a session unreported
    pthread_atfork(nullptr, nullptr, &child_ranges::listen);
    made->add_said_problems(problems);
    return true;
  }

  static session_core*& current() noexcept {
    static session_core* the = nullptr;
    return the;
  }

  static int finish(ending how) {
    session_core& the = *current();
    if (how == ending::exit) flush_output();
    (void)the.report();
    bool const others_follow = how == ending::exit || how == ending::quick_exit;
    if (others_follow) late_ranges::listen();
    if (how == ending::time_is_up && the.had_problems())
      say("for= ended the session, and the program continues: raise it where steps are missing");
    bool const exits_later = others_follow || how == ending::time_is_up;
    return exits_later && the.options().strict && the.had_problems() ? 3 : 0;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_ENVIRONMENT_SESSION_HPP
