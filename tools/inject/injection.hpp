#ifndef STRATA_INJECT_INJECTION_HPP
#define STRATA_INJECT_INJECTION_HPP

// libstrata_inject.so: the one source file of a shared library includes this header and nothing
// else. The CUDA driver loads the library (CUDA_INJECTION64_PATH), or NVTX (NVTX_INJECTION64_PATH),
// or the dynamic linker (LD_PRELOAD). The session starts with the first CUDA context, or with the
// first range, and reports when the process ends. Without STRATA nothing starts. Linux only.

#if defined(STRATA_IMPLEMENTATION_HPP)
#error tools/inject/injection.hpp brings the implementation and has to come first
#endif
#define STRATA_DETAIL_INJECTION

#include <strata/annotate/process.hpp>
#include <strata/base/dynamic_library.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/implementation.hpp>
#include <strata/options.hpp>
#include <strata/session/environment_session.hpp>
#include <strata/session/problem_log.hpp>
#include "nvtx_injection.hpp"

#if !STRATA_ENABLED
#error "With STRATA_ENABLED=0 there is nothing to inject."
#endif

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Lets exceptions that leave main reach the terminate handler of this library's C++ library, which
/// may be another one than the program's: sets the program's handler here, and on destruction the
/// handler that was set meanwhile there.
class terminate_link {
 public:
  terminate_link() noexcept {
    void* const shared = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (shared == nullptr) return;
    auto const get =
        reinterpret_cast<std::terminate_handler (*)()>(dlsym(shared, "_ZSt13get_terminatev"));
    set_ = reinterpret_cast<setter*>(dlsym(shared, "_ZSt13set_terminatePFvvE"));
    // Compares functions, not handlers: the handler of two libraries can be the same.
    if (get == nullptr || set_ == static_cast<setter*>(&std::set_terminate)) set_ = nullptr;
    if (set_ != nullptr) std::set_terminate(get());
  }
  ~terminate_link() {
    if (set_ != nullptr) (void)set_(std::get_terminate());
  }
  terminate_link(terminate_link const&) = delete;
  terminate_link& operator=(terminate_link const&) = delete;

 private:
  using setter = std::terminate_handler(std::terminate_handler) noexcept;
  setter* set_ = nullptr;
};

/// The library's life in the process. Threads: any.
class injection {
 public:
  /// Before main, or within dlopen: makes this library the one that starts the session, unless the
  /// program has an implementation, and names the library to the driver and to NVTX, whoever loaded
  /// it. It writes to the environment.
  static void register_library() noexcept {
    process_block& ours = block();
    if (starter(ours) == nullptr) (void)register_session(&begin_session, &c_calls);
    install_tables();
    if (!wanted().enabled) return;
    Dl_info own{};
    char path[PATH_MAX];
    if (dladdr(static_cast<void*>(&module_mark), &own) == 0 || own.dli_fname == nullptr ||
        realpath(own.dli_fname, path) == nullptr)
      return;
    for (char const* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
      if (filled_variable(name) == nullptr) (void)set_variable(name, path);
    char const* const plugin = filled_variable("NCCL_PROFILER_PLUGIN");
    if (plugin != nullptr && std::string_view(plugin) == "strata")
      (void)set_variable("NCCL_PROFILER_PLUGIN", path);
    if (is_program_of_run()) std::atexit(&say_what_was_missing);
  }

  /// The driver calls this within cuInit.
  static void initialize() {
    strata::options const asked = wanted();
    if (asked.enabled && now().load() == stage::begun) return await_context(asked);
    if (!asked.enabled || now().load() != stage::idle || !starts_session()) return;
    // CUPTI waits for a window; the first range begins the session.
    if (asked.attaches_in_windows() && !asked.help) return;
    if (!asked.help && asked.trace) {
      subscribe();
    } else {
      (void)begin_session();
    }
  }

  /// NVTX calls this at the first NVTX call of each module of the program.
  static int initialize_nvtx(nvtx::export_table_function* get_table) {
    return wanted().enabled ? nvtx_injection::attach(get_table) : 0;
  }
  /// The same at the first call of an extension of NVTX.
  static int initialize_nvtx_extension(nvtx::extension* program) {
    return wanted().enabled ? nvtx_injection::attach_extension(program) : 0;
  }

 private:
  enum class stage { idle, subscribing, subscribed, begun };

  static atomic<stage>& now() noexcept {
    static atomic<stage> only{stage::idle};
    return only;
  }
  static std::string& problem() {
    static std::string& only = *new std::string;
    return only;
  }

  static strata::options wanted() {
    char const* const text = variable("STRATA");
    vec<std::string> said_by_the_session;
    strata::options asked = options::parse(text == nullptr ? "" : text, said_by_the_session);
    // A session that begins, says what is wrong and ends.
    if (!asked.enabled && !said_by_the_session.empty()) asked.enabled = asked.help = true;
    asked.enabled = asked.enabled && text != nullptr && *text != '\0';
    return asked;
  }

  using session_starter = bool (*)() noexcept;
  static session_starter starter(process_block& ours) noexcept {
    spin_lock const lock(ours.mutex);
    return ours.start_session;
  }

  /// Whether the session of this process comes from this library.
  static bool starts_session() {
    // Another version was here first, or the process records nothing.
    if (other_version_first.load() || active_listener() == nullptr) return false;
    if (starter(block()) == &begin_session) return true;
    say("this program has Strata built in: libstrata_inject.so leaves the session to it");
    return false;
  }

  /// Whether `strata run` became this process.
  static bool is_program_of_run() noexcept {
    char const* const runner = variable("STRATA_DETAIL_RUN");
    return runner != nullptr && std::strtoul(runner, nullptr, 10) == process_id();
  }

  /// At the end of the program of `strata run`: silence would leave its user without a fix.
  static void say_what_was_missing() {
    bool const idle = now().load() == stage::idle || now().load() == stage::subscribed;
    if (!idle || !is_program_of_run() || !problem().empty() || starter(block()) != &begin_session)
      return;
    say("nothing was recorded: this program made no CUDA context and had no range; a program that "
        "it started has a report of its own");
  }

  /// Starts the session of the environment, once.
  static bool begin_session() noexcept {
    stage before = now().load();
    do {
      if (before == stage::begun || before == stage::subscribing) return true;
    } while (!now().compare_exchange_strong(before, stage::begun));
    terminate_link const link;
    if (!environment_session::start()) return false;
    report_as_python_ends();
    return true;
  }

  /// Python ends a program by SIGINT after Ctrl-C, when its own end is over: what is to run at exit
  /// does not.
  static void report_as_python_ends() noexcept {
    char program[PATH_MAX];
    ssize_t const size = readlink("/proc/self/exe", program, sizeof program);
    std::string_view const path(program, size > 0 ? static_cast<std::size_t>(size) : 0);
    if (!begins_with(without_folder(path), "python")) return;
    using at_exit = int(void (*)());
    auto* const add = reinterpret_cast<at_exit*>(dlsym(RTLD_DEFAULT, "Py_AtExit"));
    if (add == nullptr) {
      (void)dynamic_library::forget_error();
      return;
    }
    (void)add([] {
      if (auto* const report = block().report_at_exit.load()) report();
    });
  }

  /// The session has begun by a range, and waits for CUDA: it continues as the first context is
  /// made. Where another thread has found CUDA by then, nobody waits for it here, within the
  /// driver.
  static void await_context(strata::options const& asked) {
    if (!asked.trace || asked.attaches_in_windows()) return;
    (void)cupti_library::subscribe_early([] { (void)recorder::instance().look(0); });
  }

  static void subscribe() {
    stage before = stage::idle;
    if (!now().compare_exchange_strong(before, stage::subscribing)) return;
    problem() = cupti_library::subscribe_early([] { (void)begin_session(); });
    now().store(problem().empty() ? stage::subscribed : stage::idle);
    if (problem().empty()) return;
    // A range may still start a session, which then reports the problem.
    static unsigned long const process = process_id();
    std::atexit([] {
      if (now().load() != stage::begun && process == process_id())
        say(("nothing was recorded: " + problem()).c_str());
    });
  }
};

__attribute__((constructor(102))) static void register_injection() {
  injection::register_library();
}

}  // namespace detail

STRATA_END

/// The entry point for CUDA_INJECTION64_PATH. A result of 0 would fail the program's cuInit.
extern "C" STRATA_DETAIL_EXPORT int InitializeInjection();
extern "C" STRATA_DETAIL_BODY int InitializeInjection() {
  strata::detail::injection::initialize();
  return 1;
}

/// The entry point for NVTX_INJECTION64_PATH.
extern "C" STRATA_DETAIL_EXPORT int InitializeInjectionNvtx2(
    strata::detail::nvtx::export_table_function* get_table);
extern "C" STRATA_DETAIL_BODY int InitializeInjectionNvtx2(
    strata::detail::nvtx::export_table_function* get_table) {
  return strata::detail::injection::initialize_nvtx(get_table);
}

/// The entry point for extensions of NVTX in the same library.
extern "C" STRATA_DETAIL_EXPORT int InitializeInjectionNvtxExtension(
    strata::detail::nvtx::extension* program);
extern "C" STRATA_DETAIL_BODY int InitializeInjectionNvtxExtension(
    strata::detail::nvtx::extension* program) {
  return strata::detail::injection::initialize_nvtx_extension(program);
}

// The calls of <strata/c.h> for ctypes and other foreign functions. In C they are inline, so that
// the functions have other names here than for the linker.
#define STRATA_DETAIL_FOREIGN(name, parameters) \
  extern "C" STRATA_DETAIL_EXPORT void strata_foreign_##name parameters __asm__("strata_" #name)
STRATA_DETAIL_FOREIGN(push, (char const* text));
STRATA_DETAIL_FOREIGN(push_indexed, (char const* text, long long index));
STRATA_DETAIL_FOREIGN(pop, ());
STRATA_DETAIL_FOREIGN(step_begin, ());
STRATA_DETAIL_FOREIGN(step_end, ());
#undef STRATA_DETAIL_FOREIGN

extern "C" STRATA_DETAIL_BODY void strata_foreign_push(char const* text) {
  strata::detail::c_push(text);
}
extern "C" STRATA_DETAIL_BODY void strata_foreign_push_indexed(char const* text, long long index) {
  strata::detail::c_push_indexed(text, index);
}
extern "C" STRATA_DETAIL_BODY void strata_foreign_pop() { strata::detail::c_pop(); }
extern "C" STRATA_DETAIL_BODY void strata_foreign_step_begin() { strata::detail::c_step_begin(); }
extern "C" STRATA_DETAIL_BODY void strata_foreign_step_end() { strata::detail::c_step_end(); }

#endif  // STRATA_INJECT_INJECTION_HPP
