// A program whose memory ends: `short_memory_program FOLDER WHAT OPTIONS FIRST:COUNT...` forks once
// for each FIRST:COUNT. There COUNT allocations of this program fail from the FIRST one on that its
// first range causes, 0: all of them, -COUNT: each COUNT-th of them. Strata's are all that it makes
// by then, and the stand-ins' are not counted: the linker wraps the functions of the program alone,
// into which the C++ library is linked. It prints `FIRST:COUNT CODE SIGNAL MADE FAILED RECORDS` for
// each: RECORDS says whether its ranges were listened to at its end.
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "fake.hpp"
#include "fake_profiler.hpp"
#include "fake_sampling.hpp"

namespace {

std::atomic<bool> armed{false};
std::atomic<long> made{0};
std::atomic<long> failed{0};
std::atomic<pid_t> thread{0};  // whose allocations fail; 0: those of all threads
bool listened_to = false;
long first = 0;
long count = 0;

/// Whether this allocation is one that fails.
bool fails() noexcept {
  if (!armed.load(std::memory_order_relaxed)) return false;
  if (thread.load() != 0 && thread.load() != gettid()) return false;
  long const number = made.fetch_add(1) + 1;
  if (number < first || (count > 0 && number >= first + count)) return false;
  if (count < 0 && (number - first) % -count != 0) return false;
  failed.fetch_add(1);
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t items, std::size_t bytes);
void* __real_realloc(void* former, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __real_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset);

void* __wrap_malloc(std::size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
void* __wrap_calloc(std::size_t items, std::size_t bytes) {
  return fails() ? nullptr : __real_calloc(items, bytes);
}
void* __wrap_realloc(void* former, std::size_t bytes) {
  return fails() ? nullptr : __real_realloc(former, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset) {
  return fails() ? MAP_FAILED : __real_mmap(at, bytes, access, flags, file, offset);
}

// A sanitizer has these by itself, and not by malloc: WRAPS_NEW.
void* __real__Znwm(std::size_t bytes);
void* __real__Znam(std::size_t bytes);
void* __real__ZnwmRKSt9nothrow_t(std::size_t bytes, std::nothrow_t const& how);
void* __real__ZnamRKSt9nothrow_t(std::size_t bytes, std::nothrow_t const& how);

#if WRAPS_NEW
void* __wrap__Znwm(std::size_t bytes) {
  return fails() ? throw std::bad_alloc() : __real__Znwm(bytes);
}
void* __wrap__Znam(std::size_t bytes) {
  return fails() ? throw std::bad_alloc() : __real__Znam(bytes);
}
void* __wrap__ZnwmRKSt9nothrow_t(std::size_t bytes, std::nothrow_t const& how) {
  return fails() ? nullptr : __real__ZnwmRKSt9nothrow_t(bytes, how);
}
void* __wrap__ZnamRKSt9nothrow_t(std::size_t bytes, std::nothrow_t const& how) {
  return fails() ? nullptr : __real__ZnamRKSt9nothrow_t(bytes, how);
}
#endif
}

namespace {

template <class Function>
Function* control(char const* name) {
  static void* const cupti = dlopen(std::getenv("FAKE_CUPTI_FILE"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}
#define CONTROL(name) control<decltype(name)>(#name)

bool has_device = false;

void launch(char const* name, std::uint32_t stream) {
  fake_kernel kernel;
  kernel.name = name;
  kernel.stream = stream;
  if (!has_device) return;
  static auto* const launches = CONTROL(fake_launch);
  (void)launches(&kernel);
}

void* work_in_thread(void*) {
  STRATA_RANGE("worker");
  STRATA_RANGE("part");
  launch("worker_kernel", 9);
  return nullptr;
}

/// Of what Strata keeps, each thing grows.
void work(int steps) {
  for (int step = 0; step < steps; ++step) {
    STRATA_STEP();
    STRATA_RANGE("train");
    for (int layer = 0; layer < 6; ++layer) {
      STRATA_RANGE("layer", layer, strata::flops(1e6), strata::note("a note"));
      char name[32];
      std::snprintf(name, sizeof name, "kernel_%d", (step * 6 + layer) % 40);
      launch(name, 7);
      if (layer == 0 && step % 4 == 0) usleep(1000u << (step / 4 % 6));
    }
    char name[32];
    std::snprintf(name, sizeof name, "new_%d", step);
    STRATA_RANGE(static_cast<char const*>(name));
    if (has_device) {
      auto const address = 0x1000u * (static_cast<std::uint64_t>(step) + 1);
      (void)CONTROL(fake_malloc)(address, 4096, 3, 0);
      (void)CONTROL(fake_copy)(1, 4096, 7, 100);
      (void)CONTROL(fake_sync)(3, 7, 100);
      if (step % 2 == 0) (void)CONTROL(fake_free)(address, 4096, 3, 0);
      if (step == 2) {
        fake_graph_t const graph = CONTROL(fake_graph_create)();
        fake_kernel kernel;
        (void)CONTROL(fake_graph_create_node)(graph, &kernel);
        fake_graph_t const made = CONTROL(fake_graph_clone)(graph);
        (void)CONTROL(fake_graph_launch)(made, 7);
        CONTROL(fake_graph_destroy)(graph);
      }
    }
    if (step % 5 == 1) {
      pthread_t made{};
      if (pthread_create(&made, nullptr, &work_in_thread, nullptr) == 0)
        (void)pthread_join(made, nullptr);
    }
  }
}

/// One log is full at once, and the durations differ.
void fold(int calls) {
  for (int i = 0; i < calls; ++i) {
    STRATA_RANGE("train");
    STRATA_RANGE("layer", i % 6, strata::flops(1e6));
    for (int wait = 0; wait < (i % 97) * (i % 13); ++wait)
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

/// The device is sampled meanwhile, unless memory ended before that.
void be_sampled() {
  for (int wait = 0; wait < 60 && CONTROL(fake_sampling_started)() == 0; ++wait) usleep(1000);
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  auto const begin = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                     static_cast<std::uint64_t>(now.tv_nsec);
  for (std::uint64_t i = 0; i < 5'000; ++i)
    (void)CONTROL(fake_sample)(begin + i * 1000, begin + i * 1000 + 1000, 7.0 + double(i % 90));
  for (int wait = 0; wait < 60 && CONTROL(fake_sampling_waiting)() != 0; ++wait) usleep(1000);
}

/// More kernels than wait to be summed up at a time.
void fill_batch() {
  static char names[64][16];
  for (int i = 0; i < 64; ++i) (void)std::snprintf(names[i], sizeof names[i], "kernel_%d", i);
  for (int i = 0; i < 140'000; ++i) {
    STRATA_RANGE("range", i % 8);
    launch(names[i / 8 % 64], 7);
  }
}

/// Passes that the program drives itself: each body runs, whatever is counted.
void count_by_hand(char const* settings) {
  strata::vec<std::string> problems;
  strata::options const wanted = strata::options::parse(settings, problems);
  strata::session run(wanted);
  armed.store(true);
  (void)run.start();
  work(2);
  int bodies = 0;
  for (auto const& pass : run.counters("hbm+flops")) {
    (void)pass;
    ++bodies;
    work(1);
  }
  (void)run.counters("hbm+flops").replay([&] { ++bodies, work(1); });
  (void)run.counters("l1").replay([&] { ++bodies, work(1); }, strata::repeatable);
  if (bodies < 3) std::_Exit(7);
  run.stop();
  if (CONTROL(fake_profiler_enabled)() != 0 || CONTROL(fake_misuse_count)() != 0) std::_Exit(8);
  (void)run.profile();
  (void)run.report();
}

/// In every window the step that is counted has no memory, and the window's report has all.
void starve_windows(std::string const& folder) {
  thread.store(gettid());
  for (int i = 0; i < 18; ++i) {
    bool const counted = i % 6 == 0 && i != 0;
    armed.store(counted);
    work(1);
    armed.store(false);
    if (!counted) continue;
    std::string const report = folder + "/00" + std::to_string(i / 6) + "/profile.json";
    for (int wait = 0; wait < 9'000 && access(report.c_str(), R_OK) != 0; ++wait) usleep(10'000);
  }
}

/// The file of trigger=; empty without one.
std::string trigger_of(std::string const& settings) {
  std::string const key = "trigger=";
  std::size_t const at = settings.find(key);
  if (at == settings.npos) return {};
  std::size_t const begin = at + key.size();
  return settings.substr(begin, settings.find(',', begin) - begin);
}

[[noreturn]] void be_child(std::string const& folder, std::string const& what,
                           char const* options) {
  std::string const settings = std::string(options) + ",out=" + folder;
  (void)setenv("STRATA", settings.c_str(), 1);
  (void)!std::freopen((folder + ".err").c_str(), "w", stderr);
  (void)alarm(200);
  has_device = what != "fold" && what != "start";
  if (has_device) {
    CONTROL(fake_set_auto_delivery)(what == "batch" ? 4000 : 50);
    CONTROL(fake_set_records_per_buffer)(what == "batch" ? 0 : 20);
    launch("before", 7);  // the stand-in is there
  }
  if (what == "by-hand") {
    (void)unsetenv("STRATA");
    count_by_hand(settings.c_str());
    std::exit(6);
  }
  if (what == "windows") {
    starve_windows(folder);
    std::exit(6);
  }
  std::string const file = trigger_of(settings);
  armed.store(true);
  if (what == "fold") fold(60'000);
  if (what == "touch") {
    for (int i = 0; i < 2; ++i) {
      (void)std::fclose(std::fopen(file.c_str(), "we"));
      usleep(150'000);  // the file is looked at ten times a second
      work(4);
    }
  }
  if (what == "live") {
    work(2);
    be_sampled();
  }
  what == "batch" ? fill_batch() : work(what == "start" ? 1 : 16);
  listened_to = strata::detail::active_listener() != nullptr;
  std::exit(6);
}

}  // namespace

int main(int words, char** word) {
  auto* const counts = static_cast<std::atomic<long>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::string const folder = word[1];
  for (int i = 4; i < words; ++i) {
    (void)std::sscanf(word[i], "%ld:%ld", &first, &count);
    pid_t const child = fork();
    if (child == 0) {
      static std::atomic<long>* const to = counts;
      std::atexit(
          [] { to[0].store(made.load()), to[1].store(failed.load()), to[2].store(listened_to); });
      be_child(folder + "/" + word[i], word[2], word[3]);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    std::printf("%s %d %d %ld %ld %ld\n", word[i], WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                WIFSIGNALED(status) ? WTERMSIG(status) : 0, counts[0].load(), counts[1].load(),
                counts[2].load());
    (void)std::fflush(stdout);
  }
  return 0;
}
