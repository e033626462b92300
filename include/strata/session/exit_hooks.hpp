#ifndef STRATA_SESSION_EXIT_HOOKS_HPP
#define STRATA_SESSION_EXIT_HOOKS_HPP

#include <strata/base/guest.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/own_threads.hpp>

#include <csignal>
#include <exception>

STRATA_BEGIN
namespace detail {

/// How a process, or with `for=` its session, comes to its end.
enum class ending : unsigned char { exit, quick_exit, terminate, signal, time_is_up };

/// Calls a function once when the process ends: by exit, quick_exit, an exception that leaves main,
/// and on Linux by SIGINT, SIGTERM and SIGHUP where the program leaves these to the system. The
/// program ends as it would have without. A forked child is silent. Threads: `install` once.
class exit_hooks {
 public:
  /// Returns: the exit code that replaces the program's, 0 for none.
  using finisher = int(ending how);

  /// What `install` needs memory for.
  static void make_ready() { (void)instance(); }

  /// Whether the calling thread ends the program: what it does from now on is too late.
  static bool& end_here() noexcept {
    static thread_local bool ends = false;
    return ends;
  }

  /// The report comes after so many seconds at the latest. To be called before `install`.
  static void end_after(std::uint32_t seconds) noexcept {
    instance().latest.store(kernel_ns() + std::int64_t{seconds} * 1'000'000'000);
  }

  /// Names the file that stays where the program aborts. To be called before `install`.
  static void name_recording(std::string const& path) noexcept {
    hooks& all = instance();
    int const size = std::snprintf(
        all.recording, sizeof all.recording,
        "strata: all but the last second is in %s, which strata report takes\n", path.c_str());
    if (size >= static_cast<int>(sizeof all.recording)) all.recording[0] = '\0';
  }

  /// In a forked child: whether it is the first to ask, while the parent has no report yet.
  static bool is_first_child() noexcept {
    hooks& all = instance();
    return !all.shared->reported.load() && !all.shared->child_spoke.exchange(true);
  }

  static void install(finisher* finish) noexcept {
    hooks& all = instance();
    if (all.finish.exchange(finish) != nullptr) return;
    share_account();
    // Twice: where a signal's handler interrupts the report and exits, the other one says so.
    for (int i = 0; i < 2; ++i) std::atexit([] { run(ending::exit); });
    block().report_at_exit.store([] { run(ending::exit); });
    for (int i = 0; i < 2; ++i) std::at_quick_exit([] { run(ending::quick_exit); });
    all.previous_terminate = std::set_terminate([] {
      run(ending::terminate);
      std::terminate_handler const previous = instance().previous_terminate;
      if (previous != nullptr) previous();
      std::abort();
    });
    pthread_atfork([] { instance().forked_by.store(getpid()); }, nullptr, [] { leave_signals(); });
    watch_signals();
  }

 private:
  static constexpr std::int64_t never = INT64_MAX;

  /// With forked children.
  struct shared_account {
    atomic<bool> reported{false};
    atomic<bool> child_spoke{false};
  };
  using python_question = int();

  struct hooks {
    atomic<finisher*> finish{nullptr};
    std::terminate_handler previous_terminate = nullptr;
    shared_account own_account;
    shared_account* shared = &own_account;
    atomic<int> wanted{0};     // for which the watcher reports: a signal, or number_of an exit
    atomic<int> exit_code{0};  // that replaces the program's; 0: none
    /// What keeps what was recorded, or the file that has it.
    char recording[512] = "strata: with formats=recording an abort loses only the last second\n";
    atomic<std::int64_t> latest{never};  // when the watcher reports unasked, by kernel_ns()
    atomic<bool> watches{false};
    atomic<bool> leaves_interrupt{false};         // to Python
    python_question* python_has_begun = nullptr;  // of Python, where it is left SIGINT
    atomic<pid_t> forked_by{0};
    atomic<clockid_t> computed{CLOCK_REALTIME};  // CPU time of the thread that makes the report
    atomic<long> reporter{0};                    // that thread, as Linux numbers it
    sigset_t mask{};                             // of the thread that installed the hooks
  };

  static hooks& instance() {
    static auto* const all = static_cast<hooks*>(
        shared_object(process_object::exit_hooks, []() -> void* { return new hooks; }));
    return *all;
  }

  static atomic<process_phase>& phase() noexcept { return block().phase; }

  static void run(ending how) {
    static thread_local bool reports = false;
    // A signal's handler has interrupted the report, which can continue no more.
    if (reports && how != ending::terminate) return lose_report();
    // Strata itself has failed, and may hold a lock that a report needs.
    if (how == ending::terminate && (guest::is_here() || locks_of_this_thread() != 0)) return;
    if (in_forked_child()) return say_lost();
    end_here() = true;
    // In this order: to ask for the stack allocates memory.
    bool const cannot_report = interrupts_something() || !has_stack();
    if (cannot_report && phase().load() != process_phase::reported && leave_to_watcher(how)) return;
    reports = true;
    report(how);
    reports = false;
    if (int const code = instance().exit_code.exchange(0)) end_with(how, code);
  }

  /// Leaves the exit code that replaces the program's in `exit_code`.
  static void report(ending how) {
    process_phase expected = process_phase::running;
    if (!phase().compare_exchange_strong(expected, process_phase::ending)) {
      // Another thread writes the report, for which the process waits.
      if (how == ending::signal) {
        (void)await_report();
        return;
      }
      for (unsigned turn = 0; phase().load() == process_phase::ending; ++turn) wait_a_turn(turn);
      return;
    }
    note_reporter();
    finisher* const finish = instance().finish.load();
    instance().exit_code.store(finish == nullptr ? 0 : finish(how));
    instance().shared->reported.store(true);
    phase().store(process_phase::reported);
  }

  /// Whether what this thread has interrupted may hold a lock that a report needs, of malloc or of
  /// Strata: it may be in a signal's handler, as a signal that has one is blocked in it.
  static bool interrupts_something() noexcept {
    if (locks_of_this_thread() != 0) return true;
    sigset_t blocked;
    sigemptyset(&blocked);
    (void)pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (int which = 1; which < NSIG; ++which) {
      if (sigismember(&blocked, which) == 1 && is_handled(which)) return true;
    }
    return false;
  }

  /// Whether a report fits on this thread's stack, with room to spare.
  static bool has_stack() noexcept {
    constexpr std::size_t max_of_a_report = std::size_t{256} << 10;
    return machine::stack_left() > max_of_a_report;
  }

  /// The watcher, the thread that waits for signals, makes the report, and this one waits for it.
  /// Where the report stands still, it waits for a lock that this thread holds: it is given up.
  /// Returns: false where there is no such thread, and this one may make the report.
  static bool leave_to_watcher(ending how) noexcept {
    hooks& all = instance();
    if (all.watches.load()) {
      int nothing = 0;
      (void)all.wanted.compare_exchange_strong(nothing, number_of(how));
      wake_watcher();
      if (await_report()) {
        if (int const code = all.exit_code.exchange(0)) end_with(how, code);
        return true;
      }
    } else if (locks_of_this_thread() == 0) {
      return false;
    }
    lose_report();
    return true;
  }

  static void lose_report() noexcept {
    if (phase().exchange(process_phase::reported) == process_phase::reported) return;
    say("the report is lost: the program ended in a signal's handler, which had interrupted malloc "
        "or Strata: let the handler set a flag, and end where the program looks at it");
  }

  /// This thread makes the report.
  static void note_reporter() noexcept {
    clockid_t own{};
    if (pthread_getcpuclockid(pthread_self(), &own) == 0) instance().computed.store(own);
    instance().reporter.store(syscall(SYS_gettid));
  }

  /// Ends with another code than the program's. The C library of GNU continues with the handlers
  /// that are left, and takes the last code; elsewhere the handlers are lost.
  static void end_with(ending how, int code) {
#if defined(__GLIBC__)
    if (how == ending::exit) std::exit(code);
    if (how == ending::quick_exit) std::quick_exit(code);
#else
    std::fflush(nullptr);
    if (how == ending::exit || how == ending::quick_exit) std::_Exit(code);
#endif
  }

  /// On a page that forked children share.
  static void share_account() noexcept {
    void* const page = mmap(nullptr, sizeof(shared_account), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) instance().shared = new (page) shared_account;
  }

  /// The process that recorded.
  static pid_t recorder() noexcept { return static_cast<pid_t>(block().owner.load()); }

  /// Whether a process has ended with all of its threads, and nobody has waited for it.
  static bool has_ended(pid_t process) noexcept {
    char path[40];
    struct stat tasks {};
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(process));
    bool const has_threads = ::stat(path, &tasks) == 0 && tasks.st_nlink > 3;
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    return !has_threads && main_has_ended(path);
  }

  /// A forked child ends: the report is lost where its parent has ended without one.
  static void say_lost() noexcept {
    static atomic<bool> said{false};
    // A child gets another parent once each thread of its parent is about to end.
    bool const is_orphan = instance().forked_by.load() == recorder() && getppid() != recorder();
    bool const gone = is_orphan || kill(recorder(), 0) != 0 || has_ended(recorder());
    if (instance().shared->reported.load() || !gone || said.exchange(true)) return;
    say("the process that recorded ended without a report, by _exit, daemon() or a signal, and a "
        "forked child records nothing: let the first range come after daemon()");
  }

  static constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

  /// How the watcher is asked for the report of an exit: no signal has such a number.
  static constexpr int number_of(ending how) noexcept { return -1 - static_cast<int>(how); }
  static constexpr ending ending_of(int number) noexcept {
    return static_cast<ending>(-1 - number);
  }

  static void wake_watcher() noexcept {
    (void)syscall(SYS_futex, &instance().wanted, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// Returns: false where the thread that makes the report has waited for a lock for 1.5 s.
  static bool await_report() noexcept {
    constexpr std::int64_t patience_ns = 1'500'000'000;
    // A thread that waits for a spin_mutex, which this one may hold, computes a little: 2 %.
    std::int64_t const min_ns = locks_of_this_thread() == 0 ? 0 : patience_ns / 10;
    std::int64_t seen = 0;
    deadline patience(patience_ns);
    for (unsigned turn = 0; phase().load() != process_phase::reported; ++turn) {
      wait_a_turn(turn);
      std::int64_t const computed = computed_ns();
      bool const over = !patience.lasts();
      bool const goes_on = computed - seen > min_ns || (over && !waits_for_lock());
      if (over && !goes_on) return false;
      if (goes_on) seen = computed;
      if (goes_on) patience = deadline(patience_ns);
    }
    return true;
  }

  /// Of the thread that makes the report.
  static std::int64_t computed_ns() noexcept {
    timespec computed{};
    if (phase().load() == process_phase::ending)
      (void)clock_gettime(instance().computed, &computed);
    return std::int64_t{computed.tv_sec} * 1'000'000'000 + computed.tv_nsec;
  }

  /// Whether the thread that makes the report waits for a mutex, or may: not where it waits for a
  /// disk, or for a CPU. Source: proc(5), /proc/PID/task/TID/syscall.
  static bool waits_for_lock() noexcept {
    if (phase().load() == process_phase::running) return false;  // its thread has not begun
    char text[64];
    std::snprintf(text, sizeof text, "/proc/self/task/%ld/syscall", instance().reporter.load());
    int const file = ::open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    ssize_t const size = ::read(file, text, sizeof text - 1);
    ::close(file);
    text[size < 0 ? 0 : size] = '\0';
    if (text[0] < '0' || text[0] > '9') return size <= 0;  // "running"
    long const call = std::strtol(text, nullptr, 10);
#if defined(SYS_nanosleep)
    if (call == SYS_nanosleep) return true;
#endif
    return call == SYS_futex || call == SYS_clock_nanosleep;
  }

  /// Whether the program has a handler of its own for a signal.
  static bool is_handled(int which) noexcept {
    struct sigaction now {};
    return sigaction(which, nullptr, &now) == 0 && now.sa_handler != SIG_DFL &&
           now.sa_handler != SIG_IGN && now.sa_handler != &on_signal && now.sa_handler != &on_abort;
  }

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
    hooks& all = instance();
    (void)pthread_sigmask(SIG_BLOCK, nullptr, &all.mask);
    pthread_t watcher{};
    all.watches.store(true);
    if (!start_thread(watcher, &watch, nullptr)) return all.watches.store(false);
    pthread_detach(watcher);
    for (int const signal : ending_signals) handle(signal, &on_signal);
    leave_interrupt_to_python();
  }

  /// Python takes SIGINT as it begins, unless something has it. Where it is loaded and has not
  /// begun, SIGINT stays the system's until then, and has no report.
  static void leave_interrupt_to_python() noexcept {
    hooks& all = instance();
    auto* const has_begun =
        reinterpret_cast<python_question*>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
    if (has_begun == nullptr) (void)dynamic_library::forget_error();
    if (has_begun == nullptr || has_begun() != 0) return;
    struct sigaction now {};
    if (sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler != &on_signal) return;
    // The library stays, since the watcher asks it. The watcher itself must not take the dynamic
    // loader's lock, which a library that hangs as it is loaded holds.
    Dl_info where{};
    if (dladdr(reinterpret_cast<void*>(has_begun), &where) != 0)
      (void)dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    all.python_has_begun = has_begun;
    std::signal(SIGINT, SIG_DFL);
    all.leaves_interrupt.store(true);
  }
  /// Takes SIGINT where Python has begun without it.
  static void take_interrupt_back() noexcept {
    hooks& all = instance();
    if (!all.leaves_interrupt.load() || all.python_has_begun() == 0) return;
    if (all.leaves_interrupt.exchange(false)) handle(SIGINT, &on_signal);
  }

  static void on_signal(int which) {
    int const error = errno;
    hooks& all = instance();
    if (in_forked_child()) {  // one that was made without the C library's knowledge
      end_at_once(which);
    } else {
      bool const again = all.wanted.exchange(which) > 0 && phase().load() == process_phase::ending;
      wake_watcher();
      if (again) return end_at_once(which);
      await_end(which);
    }
    errno = error;
  }

  static void end_at_once(int which) noexcept {
    leave_signals();
    raise(which);
  }

  /// Waits for the report, since a signal that ends a program does not return; a second at most, as
  /// this thread may hold a lock that the report needs.
  static void await_end(int which) noexcept {
    timespec const pause{0, 5'000'000};
    for (int i = 0; i < 200; ++i) {
      if (phase().load() == process_phase::reported && is_handled(which)) return;
      (void)nanosleep(&pause, nullptr);
    }
  }

  /// abort() may come from anywhere, from malloc say: a sentence is all that is safe. The default
  /// action follows when this handler returns.
  static void on_abort(int which) {
    static constexpr char lost[] =
        "strata: the program aborted: nothing was reported, since a report is not safe then\n";
    int const error = errno;
    std::signal(which, SIG_DFL);
    sigset_t of_writes;  // a pipe that nobody reads, or a full file, ends nothing now
    sigemptyset(&of_writes);
    sigaddset(&of_writes, SIGPIPE);
    sigaddset(&of_writes, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &of_writes, nullptr);
    if (phase().load() != process_phase::reported && !in_forked_child()) {
      (void)console::write(STDERR_FILENO, lost, sizeof lost - 1, console::sentence_ms);
      char const* const kept = instance().recording;
      (void)console::write(STDERR_FILENO, kept, std::strlen(kept), console::sentence_ms);
    }
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

  /// A signal that came when no thread was left that takes it, 0 for none.
  static int pending_signal() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    (void)sigpending(&pending);
    for (int const signal : ending_signals) {
      struct sigaction now {};
      if (sigismember(&pending, signal) == 1 && sigaction(signal, nullptr, &now) == 0 &&
          now.sa_handler == &on_signal)
        return signal;
    }
    return 0;
  }

  /// How long the watcher waits for a signal before it looks around.
  static timespec watcher_pause(program_threads const& program) noexcept {
    constexpr std::int64_t usual_ns = 1'000'000'000;
    std::int64_t const left = instance().latest.load() - kernel_ns();
    return program.pause(left < usual_ns ? larger<std::int64_t>(left, 0) : usual_ns);
  }

  /// Waits for a signal, and ends the process with the last thread of the program, if main has
  /// ended by pthread_exit: a thread of Strata's may be in a call that does not come back.
  static void* watch(void*) {
    hooks& all = instance();
    name_thread("strata");
    own_thread const counted;
    program_threads program;
    for (;;) {
      int const which = all.wanted.load();
      if (which > 0) return end_by(which);
      if (which < 0) {
        report(ending_of(which));
        int expected = which;
        (void)all.wanted.compare_exchange_strong(expected, 0);
        continue;
      }
      if (kernel_ns() >= all.latest.load()) {
        all.latest.store(never);
        report(ending::time_is_up);
        continue;
      }
      timespec const pause = watcher_pause(program);
      (void)syscall(SYS_futex, &all.wanted, FUTEX_WAIT_PRIVATE, 0, &pause, nullptr, 0);
      if (all.wanted.load() == 0) take_interrupt_back();
      if (!program.have_ended() || all.wanted.load() != 0) continue;
      if (int const late = pending_signal(); late != 0) return end_by(late);
      break;
    }
    // The exit handlers of the program run in this thread.
    leave_signals();
    all.watches.store(false);
    (void)pthread_sigmask(SIG_SETMASK, &all.mask, nullptr);
    program_threads::end_process();
    return nullptr;
  }

  /// A signal has come. Where the program has a handler by now, which has called this one, that
  /// handler ends the process, or does not.
  static void* end_by(int which) noexcept {
    leave_signals();  // a second one ends the process at once
    console::hurry();
    report(ending::signal);
    instance().watches.store(false);
    if (is_handled(which)) return nullptr;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, which);
    kill(getpid(), which);
    pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);  // the other threads may have blocked it
    return nullptr;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_EXIT_HOOKS_HPP
