#include <strata/version.hpp>
#ifndef STRATA_SESSION_ENVIRONMENT_SESSION_HPP
#define STRATA_SESSION_ENVIRONMENT_SESSION_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/options.hpp>
#include <strata/profile/metric_catalogue.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/options_reader.hpp>
#include <strata/session/session_core.hpp>
#include <strata/status.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#if defined(__linux__)
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

STRATA_BEGIN
namespace detail {

/// Lines of a table of metrics.
struct metric_lines {
  static constexpr std::size_t key_width = 34;
  static constexpr std::size_t unit_width = 20;
  static constexpr std::size_t level_width = 8;

  static std::string padded(std::string_view text, std::size_t width) {
    std::string out(text);
    out.append(out.size() < width ? width - out.size() : 1, ' ');
    return out;
  }
  static std::string heading() {
    return sentence(padded("metric", key_width))
           << padded("unit", unit_width) << padded("level", level_width) << "what\n";
  }
  static std::string of(metric const& entry) {
    return padded(entry.key(), key_width) + padded(entry.unit(), unit_width) +
           padded(to_string(entry.level), level_width) + std::string(entry.meaning());
  }
};

/// Writes what list_metrics() returns.
class metric_lister : metric_lines {
 public:
  explicit metric_lister(profiler_library const& library) : library_(library) {}

  std::string run(std::string_view chip) {
    status const opened = host_.open(library_, std::string(chip));
    if (!opened) return sentence("No metrics can be listed: ") << opened.message() << ".\n";
    text_ =
        sentence("Metrics of ")
        << chip << ", by " << library_.path
        << ".\nA pass is one step of the program. \"apart\" counts the passes where the SMs and L1 "
           "are read apart\nfrom the memory, which makes ranges far cheaper.\n\n";
    text_ += padded("preset", name_width) + "passes  apart  what\n";
    for (metric_preset const& each : preset_list()) add_preset(each);
    text_ += '\n' + heading();
    for (metric const& each : metric_list()) add_metric(each);
    return std::move(text_);
  }

 private:
  static constexpr std::size_t name_width = 14;

  /// Passes of all groups of a set; a dash where nothing is left to count.
  std::string passes(metric_set const& set, pass_layout layout) {
    std::size_t sum = 0;
    bool conditional = false;
    for (metric_group const& group : group_metrics(set, layout)) {
      conditional = conditional || group.conditional;
      metric_config config;
      if (group.conditional) continue;
      if (!host_.configure(group.counters, config)) return "?";
      sum += config.passes();
    }
    if (sum == 0) return "-";
    return sentence() << sum << (conditional ? "+" : "");
  }

  void add_preset(metric_preset const& preset) {
    metric_set const set = host_.resolve(expand_metrics(preset.name));
    text_ += sentence(padded(preset.name, name_width))
             << padded(passes(set, pass_layout::fewest_passes), 8)
             << padded(passes(set, pass_layout::cheap_ranges_apart), 7) << preset.meaning << '\n';
    for (absent_metric const& each : set.absent) {
      text_ += sentence("    without ") << each.key << ": " << each.reason << '\n';
    }
    for (resolved_metric const& each : set.metrics) {
      if (each.stand_in) text_ += sentence("    ") << each.key << " by " << each.formula << '\n';
    }
  }

  void add_metric(metric const& entry) {
    metric_set const set = host_.resolve({std::string(entry.key())});
    text_ += of(entry);
    if (resolved_metric const* found = set.find(entry.key())) {
      text_ += " = " + found->formula;
    } else if (!set.absent.empty()) {
      text_ += sentence(" (") << set.absent.front().reason << ')';
    }
    text_ += '\n';
  }

  profiler_library const& library_;
  chip_metrics host_;
  std::string text_;
};

}  // namespace detail

/// The presets with their passes on a chip (GH100, AD102, ...), what it lacks, and every metric.
/// Needs libcupti, but no GPU. Where libcupti is missing or does not know the chip, the text is one
/// sentence that says so.
/// Cost: 50 to 500 ms.
inline std::string list_metrics(std::string_view chip) {
  return detail::metric_lister(detail::profiler_library::get()).run(chip);
}

/// What `counters=cpu` and its keys count on a CPU. Needs nothing; whether this machine counts it
/// is known when it is asked for.
inline std::string list_cpu_metrics() {
  using lines = detail::metric_lines;
  std::string text =
      "Metrics of the CPU, by Linux's perf, in the timed steps and at no extra pass. The preset "
      "\"cpu\"\nhas all of them.\n\n" +
      lines::heading();
  for (metric const& each : metric_list{metric_source::perf}) {
    text += lines::of(each);
    bool const counted = detail::find_perf_event(each.formula()) != nullptr;
    if (!counted) text += " = " + std::string(each.formula());
    text += '\n';
  }
  return text;
}

namespace detail {

/// How a process comes to its end.
enum class ending : unsigned char { exit, quick_exit, terminate, signal };

/// Calls a function once when the process ends: by exit, quick_exit, an exception that leaves main,
/// and on Linux by SIGINT, SIGTERM and SIGHUP where the program leaves these to the system. The
/// program ends as it would have without. A forked child is silent. Threads: `install` once.
class exit_hooks {
 public:
  /// Returns: the exit code that replaces the program's, 0 for none.
  using finisher = int(ending how);

  /// What `install` needs memory for.
  static void make_ready() { (void)instance(); }

  static void install(finisher* finish) noexcept {
    hooks& all = instance();
    if (all.finish.exchange(finish) != nullptr) return;
    share_account();
    std::atexit([] { run(ending::exit); });
    block().report_at_exit.store([] { run(ending::exit); });
#if defined(__linux__)
    std::at_quick_exit([] { run(ending::quick_exit); });
#endif
    all.previous_terminate = std::set_terminate([] {
      run(ending::terminate);
      std::terminate_handler const previous = instance().previous_terminate;
      if (previous != nullptr) previous();
      std::abort();
    });
#if defined(__linux__)
    pthread_atfork(nullptr, nullptr, [] { leave_signals(); });
    watch_signals();
#endif
  }

 private:
  struct hooks {
    atomic<finisher*> finish{nullptr};
    std::terminate_handler previous_terminate = nullptr;
    atomic<bool> own_account{false};
    atomic<bool>* reported = &own_account;  // shared with forked children
    atomic<int> signal{0};
  };

  static hooks& instance() {
    static auto* const all = static_cast<hooks*>(
        shared_object(process_object::exit_hooks, []() -> void* { return new hooks; }));
    return *all;
  }

  static atomic<process_phase>& phase() noexcept { return block().phase; }

  static void run(ending how) {
    static thread_local bool in_this_thread = false;
    if (in_this_thread) return;
    // Strata itself has failed, and may hold a lock that a report needs.
    if (how == ending::terminate && (guest::is_here() || locks_of_this_thread() != 0)) return;
    if (in_forked_child()) return say_lost();
    process_phase expected = process_phase::running;
    if (!phase().compare_exchange_strong(expected, process_phase::ending)) {
      // Another thread writes the report: the process must not end before.
      for (unsigned turn = 0; phase().load() == process_phase::ending; ++turn) wait_a_turn(turn);
      return;
    }
    in_this_thread = true;
    instance().reported->store(true);
    finisher* const finish = instance().finish.load();
    int const code = finish == nullptr ? 0 : finish(how);
    in_this_thread = false;
    phase().store(process_phase::reported);
    if (code != 0) end_with(how, code);
  }

  /// Ends with another code than the program's. The C library of GNU goes on with the handlers that
  /// are left, and takes the last code; elsewhere the handlers are lost.
  static void end_with(ending how, int code) {
#if defined(__GLIBC__)
    if (how == ending::exit) std::exit(code);
    if (how == ending::quick_exit) std::quick_exit(code);
#else
    std::fflush(nullptr);
    if (how == ending::exit || how == ending::quick_exit) std::_Exit(code);
#endif
  }

  /// A page that forked children share: whether the report was written.
  static void share_account() noexcept {
#if defined(__linux__)
    void* const page = mmap(nullptr, sizeof(atomic<bool>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) instance().reported = new (page) atomic<bool>{false};
#endif
  }

  /// A forked child ends: the report is lost where the process that recorded has ended without one,
  /// as after daemon().
  static void say_lost() noexcept {
#if defined(__linux__)
    auto const recorder = static_cast<pid_t>(block().owner.load());
    static atomic<bool> said{false};
    char path[40];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(recorder));
    bool const gone = kill(recorder, 0) != 0 || machine::main_has_ended(path);
    if (instance().reported->load() || !gone || said.exchange(true)) return;
    say("the process that recorded ended without a report, by _exit, daemon() or a signal, and a "
        "forked child records nothing: let the first range come after daemon()");
#endif
  }

#if defined(__linux__)
  static constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

  /// Replaces a signal's default action.
  static void handle(int signal, void (*handler)(int)) noexcept {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction ours {};
    ours.sa_handler = handler;
    ours.sa_flags = SA_RESTART | SA_NODEFER;  // a second one may end the process at once
    sigaction(signal, &ours, nullptr);
  }

  /// Nothing can be reported in a handler, so that a thread waits for the signals.
  static void watch_signals() noexcept {
    handle(SIGABRT, &on_abort);
    pthread_t watcher{};
    if (!machine::start_thread(watcher, &watch, nullptr)) return;
    pthread_detach(watcher);
    for (int const signal : ending_signals) handle(signal, &on_signal);
  }

  static void on_signal(int which) {
    int const error = errno;
    hooks& all = instance();
    if (in_forked_child()) {  // one that was made without the C library's knowledge
      leave_signals();
      raise(which);  // arrives when this handler returns
    } else {
      all.signal.store(which);
      (void)syscall(SYS_futex, &all.signal, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
      await_end();
    }
    errno = error;
  }

  /// A signal that ends a program does not return, so that this thread waits for the report. It may
  /// hold a lock that the report needs: it goes on after a second.
  static void await_end() noexcept {
    timespec const pause{0, 5'000'000};
    for (int i = 0; i < 200; ++i) (void)nanosleep(&pause, nullptr);
  }

  /// abort() may come from anywhere, from malloc say: a sentence is all that is safe. The default
  /// action follows when this handler returns.
  static void on_abort(int which) {
    static constexpr char lost[] =
        "strata: the program aborted: nothing was reported, since a report is not safe then\n";
    int const error = errno;
    std::signal(which, SIG_DFL);
    if (phase().load() != process_phase::reported && !in_forked_child())
      (void)!write(STDERR_FILENO, lost, sizeof lost - 1);
    raise(which);
    errno = error;
  }

  /// From now on a signal does what it would have done without us.
  static void leave_signals() noexcept {
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) != 0) continue;
      if (now.sa_handler == &on_signal || now.sa_handler == &on_abort) std::signal(signal, SIG_DFL);
    }
  }

  /// Waits for a signal, and leaves when no other thread is left: the process ends with its last
  /// thread, if main has ended by pthread_exit.
  static void* watch(void*) {
    hooks& all = instance();
    pthread_setname_np(pthread_self(), "strata");
    timespec const usual{1, 0};
    timespec const soon{0, 10'000'000};
    bool ended = false;
    while (all.signal.load() == 0) {
      (void)syscall(SYS_futex, &all.signal, FUTEX_WAIT_PRIVATE, 0, ended ? &soon : &usual, nullptr,
                    0);
      ended = ended || machine::main_has_ended("/proc/self/stat");
      if (ended && machine::threads_left() <= 2 + machine::own_threads().load() &&
          all.signal.load() == 0)
        return nullptr;
    }
    int const which = all.signal.load();
    leave_signals();  // a second one ends the process at once
    run(ending::signal);
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, which);
    kill(getpid(), which);
    pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);  // the other threads may have blocked it
    return nullptr;
  }
#endif
};

/// Ranges of exit handlers and static destructors that run after the report: a sentence says that
/// they are not in it. Other threads' ranges idle.
class late_ranges {
 public:
  static void listen() noexcept {
    if (active_listener() != nullptr) return;  // they go to NVTX's tools
    in_this_thread() = true;
    install_listener(&late_listener);
  }

 private:
  static bool& in_this_thread() noexcept {
    static thread_local bool exits = false;
    return exits;
  }
  static range_token begin(name_cache*, char const*, std::size_t, std::int64_t,
                           range_attributes const*, bool) noexcept {
    quiet_writes const quiet;
    if (in_this_thread()) say_late();
    return {};
  }
  static constexpr listener late_listener{
      &begin,      []() noexcept {}, []() noexcept { return false; }, []() noexcept {},
      &no_current, &no_inherit,      []() noexcept { return false; }};
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
    if (wanted.list_metrics) {
      std::string const chip = wanted.chip.empty() ? chip_of_device() : wanted.chip;
      if (chip.empty()) {
        say("list-metrics finds no GPU here: name a chip, as in list-metrics,chip=GH100");
      } else {
        std::fputs((list_metrics(chip) + '\n').c_str(), stdout);
      }
      std::fputs(list_cpu_metrics().c_str(), stdout);
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
    exit_hooks::install(&finish);  // from here on nothing that fails leaves a session unreported
    made->add_said_problems(problems);
    return true;
  }

  static session_core*& current() noexcept {
    static session_core* the = nullptr;
    return the;
  }

  static int finish(ending how) {
    session_core& the = *current();
    if (how == ending::exit) std::fflush(stdout);
    (void)the.report();
    bool const others_follow = how == ending::exit || how == ending::quick_exit;
    if (others_follow) late_ranges::listen();
    return others_follow && the.options().strict && the.had_problems() ? 3 : 0;
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_ENVIRONMENT_SESSION_HPP
