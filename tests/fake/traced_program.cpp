// A program that is traced against the stand-ins, in a process of its own: the libraries load once
// a process, and a test wants them otherwise each time. It links none of them; FAKE_CUPTI_FILE and
// FAKE_CUDA_FILE name those that hold the controls. Arguments are done in order:
//   version=26 devices=0 init=803 fail=cuptiSubscribe:39 other=NAME   script the stand-ins
//   per-buffer=N          N records fill a buffer            drop=N  CUPTI drops N records
//   heal=cuptiActivityFlushAll                                        ends a fail=
//   start=CONFIGURATION   begins a session       work=N       N kernels in the range "work"
//   ranges=N              N ranges without device work          host-steps=N  such steps
//   cuda                  begins to use CUDA, as a program does before its first kernel
//   child=HOW             a child that uses CUDA tells how that went: fork, exec, spawn, system
//   opened                tells how many libraries of CUDA are loaded
//   steps=N               N steps, a kernel each  hold         work does not end
//   graph                 makes a graph          launch-graph           launches it
//   capture               makes one by a capture
//   other-device-work     every other kind of work in the range "other"
//   fork                  a child works, ends its session, returns from main
//   stop                  ends the session and tells what it has
//   inits=WHEN            tells how often cuInit was called: `cuInit WHEN: number`
//   two-first-ranges      a thread's first range begins while the session of another's does
//   constructor           a library's constructor begins to use CUDA, and waits for a thread with
//                         ranges and steps
//   leave-running         leaves the session to the end of the process
//   tell-exit             tells at exit, after what begins later, whether Strata has left CUPTI
//   tell=FUNCTION         tells how often the client called it
//   await=FUNCTION        waits until the client has called it
//   sampling              waits until the device is sampled, and lets it be once more
//   hang=WHAT             from now on such calls do not come back; waits for one (fake_hang)
// AROUND_MAIN: a static object works before and after. Last comes how often the client
// unsubscribed. Without start= the ranges begin the session that STRATA asks for. It ends with exit
// code 5.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <strata/base/clock.hpp>
#include <strata/base/dynamic_library.hpp>
#include <strata/collect/cuda/activity_buffers.hpp>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../forked_leaks.hpp"
#include "../patience.hpp"
#include "fake.hpp"
#include "fake_sampling.hpp"

namespace {

/// How often a forked child sleeps, from its main's end on too: it has nobody to wait for.
struct child_sleeps {
  static inline std::atomic<int> count{0};
  static inline bool is_child = false;
  ~child_sleeps() {
    if (is_child) std::printf("sleeps of the child: %d\n", count.load());
    std::fflush(stdout);
  }
} const sleeps;

}  // namespace

extern "C" int nanosleep(timespec const* time, timespec* rest) {
  child_sleeps::count.fetch_add(child_sleeps::is_child ? 1 : 0);
  int const error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
  errno = error;
  return error == 0 ? 0 : -1;
}

namespace {

void* open_library(char const* variable) {
  char const* const file = std::getenv(variable);
  void* const handle = file == nullptr || *file == '\0' ? nullptr : dlopen(file, RTLD_NOW);
  if (file != nullptr && *file != '\0' && handle == nullptr) std::puts(dlerror());
  return handle;
}

/// A control, or a null pointer where its library is not there.
template <class Function>
Function* control(void* library, char const* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}
#define CONTROL(library, name) control<decltype(name)>(library, #name)

/// A static object with device memory: work before main and after it. AROUND_MAIN=range has ranges
/// around both.
class around_main {
 public:
  around_main() {
    if (how_ == nullptr) return;
    cupti_ = open_library("FAKE_CUPTI_FILE");
    if (std::strcmp(how_, "range") == 0) phase_.next("before");
    (void)CONTROL(cupti_, fake_malloc)(0x9000, 4096, 3, 1);
    (void)CONTROL(cupti_, fake_copy)(1, 4096, 7, 100);
    phase_.end();
  }
  ~around_main() {
    if (how_ == nullptr) return;
    if (std::strcmp(how_, "range") == 0) phase_.next("after");
    (void)CONTROL(cupti_, fake_sync)(3, 7, 100);
    (void)CONTROL(cupti_, fake_free)(0x9000, 4096, 3, 1);
    phase_.end();
    std::printf("freed: %zu\n", CONTROL(cupti_, fake_misuse_count)());
    std::fflush(stdout);
  }

 private:
  char const* const how_ = std::getenv("AROUND_MAIN");
  void* cupti_ = nullptr;
  strata::phases phase_;
} const around;

/// The driver is asked for its version while the session begins: meanwhile a second thread comes to
/// its first range, and waits for the session there.
struct two_first_ranges {
  static inline std::atomic<int> thread{0};
  static inline char state = '?';
  static inline std::thread second;

  static void within_start() {
    if (second.joinable()) return;
    second = std::thread([] {
      thread.store(static_cast<int>(gettid()));
      STRATA_RANGE("second");
    });
    test::await([] { return thread.load() != 0; });
    std::string const path = "/proc/self/task/" + std::to_string(thread.load()) + "/stat";
    for (int i = 0; i < 5'000 && state != 'S'; ++i) {
      std::FILE* const file = std::fopen(path.c_str(), "r");
      if (file == nullptr) break;
      if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
      (void)std::fclose(file);
      usleep(100);
    }
  }
};

/// Ranges and steps of a thread that a library's constructor waits for, which begins to use CUDA.
struct in_constructor {
  static inline std::atomic<int> done{0};

  static void run() {
    void* const cuda = open_library("STRATA_LIBCUDA");
    (void)reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit"))(0);
    std::thread([] {
      for (int i = 0; i < 20; ++i) {
        STRATA_STEP();
        STRATA_RANGE("host");
        usleep(1000);  // the session's thread looks meanwhile
      }
      done.store(1);
    }).detach();
    test::await([] { return done.load() != 0; }, [] { usleep(100); });
  }
  static void load() {
    char address[32];
    (void)std::snprintf(address, sizeof address, "%p", reinterpret_cast<void*>(&run));
    (void)setenv("IN_CONSTRUCTOR", address, 1);
    if (dlopen(CONSTRUCTOR_MODULE, RTLD_NOW) == nullptr) std::puts(dlerror());
  }
};

/// A graph of one kernel.
struct the_graph {
  static inline decltype(&fake_graph_launch) launch_it = nullptr;
  static inline fake_graph_t executable = 0;

  static void make(void* cupti) {
    launch_it = CONTROL(cupti, fake_graph_launch);
    fake_graph_t const graph = CONTROL(cupti, fake_graph_create)();
    fake_kernel const kernel;
    (void)CONTROL(cupti, fake_graph_create_node)(graph, &kernel);
    executable = CONTROL(cupti, fake_graph_clone)(graph);
  }
  static void capture(void* cupti) {
    fake_kernel const kernel;
    (void)CONTROL(cupti, fake_begin_capture)(9);
    (void)CONTROL(cupti, fake_launch)(&kernel);  // of another stream
    (void)CONTROL(cupti, fake_end_capture)(9);
  }
  static void launch() { (void)launch_it(executable, 7); }
};

/// Says what became of CUPTI, after all else.
struct last_words {
  ~last_words() {
    if (getpid() != process) return;
    if (void* const cupti = open_library("FAKE_CUPTI_FILE"))
      std::printf("unsubscribed at exit: %zu\n", CONTROL(cupti, fake_calls)("cuptiUnsubscribe"));
    std::fflush(stdout);
  }
  pid_t process = getpid();
} const last;

std::unique_ptr<strata::session> left_running;

struct program {
  void* cuda = open_library("FAKE_CUDA_FILE");
  void* cupti = open_library("FAKE_CUPTI_FILE");
  std::unique_ptr<strata::session> session;

  void work(int times) {
    for (int i = 0; i < times; ++i) {
      STRATA_RANGE("work");
      fake_kernel kernel;
      kernel.name = "_Z4gemmPf";
      if (cupti != nullptr) (void)CONTROL(cupti, fake_launch)(&kernel);
    }
  }

  void other_work() {
    STRATA_RANGE("other");
    (void)CONTROL(cupti, fake_copy)(1, 1000, 7, 100);
    (void)CONTROL(cupti, fake_copy)(10, 2000, 7, 100);
    (void)CONTROL(cupti, fake_memset)(3000, 7, 100);
    (void)CONTROL(cupti, fake_malloc)(0x1000, 4000, 3, 1);
    (void)CONTROL(cupti, fake_free)(0x1000, 4000, 3, 1);
    (void)CONTROL(cupti, fake_sync)(3, 99, 100);
    CONTROL(cupti, fake_overhead)(1 << 16, 100);
  }

  void tell() {
    strata::profile const& p = session->profile();
    auto const line = [](char const* what, auto count) {
      std::printf("%s: %llu\n", what, static_cast<unsigned long long>(count));
    };
    line("traced", p.traced);
    line("ranges", p.ranges.size());
    line("launches", p.launches.size());
    line("kernels", p.kernels.size());
    line("copies", p.copies.size());
    line("allocations", p.memory.size());
    line("waits", p.synchronizations.size());
    line("overheads", p.overheads.size());
    std::uint64_t bytes = 0;
    for (strata::copy_record const& c : p.copies) bytes += c.bytes;
    for (strata::memory_record const& m : p.memory) bytes += m.bytes;
    line("bytes", bytes);
    line("uncorrelated", p.losses.uncorrelated);
    line("dropped", p.losses.activity_dropped);
    line("folded", p.losses.activity_summed);
    line("buffers refused", p.losses.buffers_refused);
    line("MB", p.cost.activity_bytes >> 20);
    line("problems", p.problems.size());
    line("problems of the session", session->problems().size());
    for (std::string const& problem : p.problems) std::printf("problem: %s\n", problem.c_str());
    if (cupti != nullptr) {
      line("misuses", CONTROL(cupti, fake_misuse_count)());
      line("buffers outstanding", CONTROL(cupti, fake_buffers_outstanding)());
      line("subscribed", CONTROL(cupti, fake_subscribed)());
    }
    if (cuda != nullptr) line("waited", CONTROL(cuda, fake_synchronize_count)());
  }

  /// A child works, ends its session and leaves main. True in the child.
  bool fork_child() {
    std::fflush(nullptr);
    strata::phases open;
    open.next("open");
    pid_t const child = ::fork();
    if (child == 0) {
      child_sleeps::is_child = true;
      work(3);
      open.end();
      if (session != nullptr) std::printf("report of the child: %d\n", session->report().ok());
      session.reset();
      return true;
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    std::printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return false;
  }

  /// cuInit, and what else a child may have of its parent.
  static void say_cuda() {
    void* const driver = open_library("FAKE_CUDA_FILE");
    auto* const init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    std::size_t lent = 0;
    for (char** entry = environ; *entry != nullptr; ++entry)
      for (char const* const name : {"STRATA_DETAIL", "NVTX_INJECTION", "CUDA_INJECTION"})
        lent += std::strncmp(*entry, name, std::strlen(name)) == 0 ? 1 : 0;
    std::printf("cuInit in a child: %d, variables: %zu\n", init(0), lent);
    std::fflush(stdout);
  }

  static void child(std::string const& how) {
    std::fflush(stdout);
    char own[4096] = {};
    (void)!readlink("/proc/self/exe", own, sizeof own - 1);
    char word[] = "in-child";
    char* words[] = {own, word, nullptr};
    pid_t made = 0;
    int status = 0;
    if (how == "fork" || how == "exec") made = ::fork();
    if (how == "spawn") (void)posix_spawn(&made, own, nullptr, nullptr, words, environ);
    if (how == "system") status = std::system((std::string(own) + " in-child").c_str());
    if (made == 0 && how == "exec") (void)execv(own, words);
    if (made == 0 && how == "fork") {
      say_cuda();
      ::_exit(5);
    }
    if (how != "system") (void)::waitpid(made, &status, 0);
    std::printf("child by %s: %d\n", how.c_str(), WEXITSTATUS(status));
  }

  static std::size_t cuda_libraries() {
    std::size_t count = 0;
    char line[4096];
    std::FILE* const maps = std::fopen("/proc/self/maps", "r");
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr)
      count += std::strstr(line, "libcu") != nullptr ? 1 : 0;
    if (maps != nullptr) (void)std::fclose(maps);
    return count;
  }

  /// The count of every call of the client in one number.
  std::size_t calls() {
    std::size_t all = 0;
    for (char const* const function :
         {"cuptiActivityFlushAll", "cuptiActivityEnable", "cuptiActivityDisable",
          "cuptiEnableCallback", "cuptiSubscribe", "cuptiGetTimestamp", "cuptiUnsubscribe",
          "cuptiPmSamplingEnable", "cuptiPmSamplingStart", "cuptiPmSamplingDecodeData",
          "cuptiPmSamplingStop", "cuptiPmSamplingDisable"})
      all += CONTROL(cupti, fake_calls)(function);
    return all + (cuda == nullptr ? 0 : CONTROL(cuda, fake_synchronize_count)());
  }

  /// False where the rest is left to nobody: in a forked child.
  bool run(std::string const& word) {
    std::size_t const equals = word.find('=');
    std::string const key = word.substr(0, equals);
    std::string const value = equals == std::string::npos ? "" : word.substr(equals + 1);
    int const number = std::atoi(value.c_str());
    if (key == "version") CONTROL(cupti, fake_set_version)(static_cast<std::uint32_t>(number));
    if (key == "devices") CONTROL(cuda, fake_set_device_count)(number);
    if (key == "init") CONTROL(cuda, fake_set_init_result)(number);
    if (key == "fail") {
      std::size_t const colon = value.find(':');
      CONTROL(cupti, fake_fail)
      (value.substr(0, colon).c_str(), std::atoi(value.c_str() + colon + 1));
    }
    if (key == "heal") CONTROL(cupti, fake_fail)(value.c_str(), 0);
    if (key == "other") CONTROL(cupti, fake_set_other_client)(value.c_str());
    if (key == "hold") CONTROL(cupti, fake_hold)(1);
    if (key == "per-buffer")
      CONTROL(cupti, fake_set_records_per_buffer)(static_cast<std::size_t>(number));
    if (key == "drop") CONTROL(cupti, fake_drop)(static_cast<std::size_t>(number));
    if (key == "start") {
      strata::vec<std::string> problems;
      session = std::make_unique<strata::session>(strata::options::parse(value, problems));
      std::printf("started: %d\n", session->start().ok() ? 1 : 0);
    }
    if (key == "work") work(number);
    if (key == "steps") {
      for (int i = 0; i < number; ++i) {
        STRATA_STEP();
        work(1);
      }
    }
    if (key == "ranges") {
      for (int i = 0; i < number; ++i) {
        STRATA_RANGE("host");
      }
    }
    if (key == "host-steps") {
      for (int i = 0; i < number; ++i) {
        STRATA_STEP();
        STRATA_RANGE("host");
      }
    }
    if (key == "cuda") (void)reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit"))(0);
    if (key == "in-child") say_cuda();
    if (key == "child") child(value);
    if (key == "opened") std::printf("opened: %zu\n", cuda_libraries());
    if (key == "graph") the_graph::make(cupti);
    if (key == "capture") the_graph::capture(cupti);
    if (key == "launch-graph") the_graph::launch();
    if (key == "other-device-work") other_work();
    if (key == "stop") {
      tell();
      session.reset();
    }
    if (key == "inits")
      std::printf("cuInit %s: %zu\n", value.c_str(), CONTROL(cuda, fake_init_count)());
    if (key == "two-first-ranges") {
      CONTROL(cuda, fake_set_version_hook)(&two_first_ranges::within_start);
      { STRATA_RANGE("first"); }
      two_first_ranges::second.join();
      std::printf("waits asleep: %d\n", two_first_ranges::state == 'S');
    }
    if (key == "constructor") {
      in_constructor::load();
      std::printf("done in a constructor: %d\n", in_constructor::done.load());
    }
    if (key == "leave-running") left_running = std::move(session);
    if (key == "tell-exit") {
      static pid_t const parent = ::getpid();
      std::atexit([] {
        bool const left = strata::detail::activity_buffers::instance().presence().has_ended();
        std::printf("%s left CUPTI: %d\n", ::getpid() == parent ? "parent" : "child", left);
      });
    }
    if (key == "tell")
      std::printf("%s: %zu\n", value.c_str(), CONTROL(cupti, fake_calls)(value.c_str()));
    if (key == "await") test::await([&] { return CONTROL(cupti, fake_calls)(value.c_str()) != 0; });
    if (key == "sampling") {
      test::await([&] { return CONTROL(cupti, fake_sampling_started)() == 1; });
      std::uint64_t const now = static_cast<std::uint64_t>(strata::detail::realtime_ns());
      (void)CONTROL(cupti, fake_sample)(now, now + 1000, 7.0);
      test::await([&] { return CONTROL(cupti, fake_sampling_waiting)() == 0; });
    }
    if (key == "hang") {
      CONTROL(cupti, fake_hang)(static_cast<unsigned>(number));
      test::await([&] { return CONTROL(cupti, fake_waits)() == 1; });
    }
    if (key == "fork") {
      std::size_t const before = calls();
      if (fork_child()) {
        bool const silent = calls() == before;
        std::printf("calls in the child: %zu\n", calls() - before);
        std::fflush(stdout);
        exit_code = silent ? 6 : 7;
        return false;
      }
    }
    return true;
  }

  int exit_code = 5;
};

}  // namespace

int main(int count, char** words) {
  program the;
  for (int i = 1; i < count; ++i) {
    if (!the.run(words[i])) break;
  }
  std::fflush(stdout);
  return the.exit_code;
}
