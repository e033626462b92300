#include <strata/version.hpp>
#ifndef STRATA_SESSION_ENVIRONMENT_SESSION_HPP
#define STRATA_SESSION_ENVIRONMENT_SESSION_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/options.hpp>
#include <strata/session/list_metrics.hpp>
#include <strata/session/nvtx_input.hpp>
#include <strata/session/session_core.hpp>
#include <strata/status.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <semaphore.h>
#endif

STRATA_BEGIN

namespace detail {

/// Calls a function once when the process ends: at exit, when an exception leaves main, and on
/// Linux on SIGINT and SIGTERM where the program leaves these to the system. A forked child is
/// silent. Threads: `install` once; a signal is served by a thread of its own, so that nothing runs
/// in a handler.
class exit_hooks {
 public:
  /// `finish` hears whether the process ends by exit.
  static void install(void (*finish)(bool at_exit)) noexcept {
    hooks& all = instance();
    if (all.finish.exchange(finish) != nullptr) return;
    all.process = process_id();
    std::atexit([] { run(true); });
    all.previous_terminate = std::set_terminate([] {
      run(false);
      std::terminate_handler const previous = instance().previous_terminate;
      if (previous != nullptr) previous();
      std::abort();
    });
#if defined(__linux__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { silence(); });
#endif
#if defined(__linux__)
    watch_signals();
#endif
  }

 private:
  enum class phase { waiting, running, done };

  struct hooks {
    std::atomic<void (*)(bool)> finish{nullptr};
    std::atomic<phase> now{phase::waiting};
    unsigned long process = 0;
    std::terminate_handler previous_terminate = nullptr;
#if defined(__linux__)
    std::atomic<int> signal{0};
    sem_t signalled;
#endif
  };

  static hooks& instance() noexcept {
    static auto* const all = static_cast<hooks*>(
        shared_object(process_object::exit_hooks, []() -> void* { return new hooks; }));
    return *all;
  }

  static void run(bool at_exit) {
    static thread_local bool in_this_thread = false;
    hooks& all = instance();
    if (all.process != process_id() || in_this_thread) return;
    phase expected = phase::waiting;
    if (!all.now.compare_exchange_strong(expected, phase::running)) {
      // Another thread is at it: the process must not end before.
      while (all.now.load() == phase::running) pause();
      return;
    }
    in_this_thread = true;
    if (auto* const finish = all.finish.load()) finish(at_exit);
    in_this_thread = false;
    all.now.store(phase::done);
  }

  static void pause() noexcept {
#if defined(__linux__) || defined(__APPLE__)
    timespec const moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
#endif
  }

  /// In a forked child: ranges idle. No lock is taken, since its owner may not exist here.
  static void silence() noexcept {
    instance().now.store(phase::done);
    process_block& ours = block();
    ours.installed = nullptr;
    ours.decided = true;
    for (std::size_t i = 0; i < ours.slot_count; ++i) ours.slots[i]->store(nullptr);
#if defined(__linux__)
    leave_signals();
#endif
  }

#if defined(__linux__)
  static void watch_signals() noexcept {
    if (sem_init(&instance().signalled, 0, 0) != 0) return;
    pthread_t watcher{};
    sigset_t everything;
    sigset_t before;
    sigfillset(&everything);
    pthread_sigmask(SIG_SETMASK, &everything,
                    &before);  // the watcher takes no signals of the program
    bool const started = pthread_create(&watcher, nullptr, &watch, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started) return;
    pthread_detach(watcher);
    for (int const signal : {SIGINT, SIGTERM}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
      struct sigaction ours {};
      ours.sa_handler = &on_signal;
      ours.sa_flags = SA_RESTART;
      sigaction(signal, &ours, nullptr);
    }
  }

  static void on_signal(int which) {
    int const error = errno;
    hooks& all = instance();
    if (all.process == process_id()) {
      all.signal.store(which);
      sem_post(&all.signalled);
    } else {  // a child that was made without the C library's knowledge
      leave_signals();
      raise(which);  // arrives when this handler returns
    }
    errno = error;
  }

  /// From now on a signal does what it would have done without us.
  static void leave_signals() noexcept {
    for (int const signal : {SIGINT, SIGTERM}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != &on_signal) continue;
      struct sigaction usual {};
      usual.sa_handler = SIG_DFL;
      sigaction(signal, &usual, nullptr);
    }
  }

  static void* watch(void*) {
    hooks& all = instance();
    while (sem_wait(&all.signalled) != 0) {
    }
    leave_signals();  // a second one ends the process at once
    run(false);
    kill(getpid(), all.signal.load());
    return nullptr;
  }
#endif
};

/// The session that STRATA=... asks for: begun by the first range, reported when the process ends.
/// With nvtx=in it begins before main, since a program may have no other ranges than NVTX's, and
/// NVTX must know where to send them.
class environment_session {
 public:
  static bool start() noexcept {
    vec<std::string> problems;
    char const* const text = std::getenv("STRATA");
    options const wanted = options::parse(text == nullptr ? "" : text, problems);
    for (std::string const& problem : problems) say(problem.c_str());
    if (wanted.list_metrics) {
      std::string const chip = wanted.chip.empty() ? chip_of_device() : wanted.chip;
      if (chip.empty()) {
        say("list-metrics finds no GPU here: name a chip, as in list-metrics,chip=GH100");
      } else {
        std::fputs((list_metrics(chip) + '\n').c_str(), stderr);
      }
      std::fputs(list_cpu_metrics().c_str(), stderr);
      return false;
    }
    if (!wanted.enabled) return false;
    auto* const made = new session_core(wanted);
    current() = made;
    status const outcome = made->start();
    for (std::string& problem : problems) made->add_said_problem(std::move(problem));
    if (!outcome.ok()) {
      say(outcome.message().c_str());
      return false;
    }
    exit_hooks::install(&finish);
    return true;
  }

  /// True.
  static bool start_for_nvtx() noexcept {
    char const* const text = std::getenv("STRATA");
    if (text == nullptr || std::strstr(text, "nvtx") == nullptr) return true;
    vec<std::string> told_later;
    if (options::parse(text, told_later).nvtx_in() && !nvtx_input::is_the_tool())
      (void)decide_listener();
    return true;
  }

 private:
  static session_core*& current() noexcept {
    static session_core* the = nullptr;
    return the;
  }

  static void finish(bool at_exit) {
    session_core& the = *current();
    (void)the.report();
    if (at_exit && the.options().strict && !the.problems().empty()) {
      std::fflush(nullptr);
      std::_Exit(3);
    }
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_ENVIRONMENT_SESSION_HPP
