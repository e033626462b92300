// What the kernel counts by itself, for real: page faults, time on a CPU, context switches.
#include "../../sanitizers.hpp"
#include "cpu_counting.hpp"

#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <strata/base/clock.hpp>

using namespace strata;
using cpu_counting::counted;

int main(int argc, char** argv) {
  return cpu_counting::run_tests("cpu_page_faults+cpu_task_clock_ns", argc, argv);
}

namespace {

/// Takes one page fault a page.
void touch(std::size_t pages) {
  auto const size = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  madvise(memory, size, MADV_NOHUGEPAGE);
  auto* const bytes = static_cast<char volatile*>(memory);
  for (std::size_t i = 0; i < size; i += size / pages) bytes[i] = 1;
  munmap(memory, size);
}

std::int64_t thread_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Instrumented code takes page faults and time of its own.
bool within(double value, double of, double share) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return value >= (1.0 - share) * of;
#else
  return std::fabs(value - of) <= share * of;
#endif
}

/// Descriptors of perf events.
std::vector<int> perf_numbers() {
  std::vector<int> found;
  DIR* const all = opendir("/proc/self/fd");
  while (dirent const* const each = readdir(all)) {
    char target[128] = {};
    std::string const path = std::string("/proc/self/fd/") + each->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) <= 0) continue;
    if (std::string(target).find("perf_event") == std::string::npos) continue;
    found.push_back(std::atoi(each->d_name));
  }
  closedir(all);
  return found;
}
/// Whether each of them is closed on exec.
std::vector<bool> perf_descriptors() {
  std::vector<bool> found;
  for (int const each : perf_numbers()) found.push_back((fcntl(each, F_GETFD) & FD_CLOEXEC) != 0);
  return found;
}

}  // namespace

TEST_CASE("page faults are counted in the range that takes them") {
  counted const made("cpu", [] {
    STRATA_RANGE("outer");
    touch(1000);
    {
      STRATA_RANGE("inner");
      touch(3000);
    }
  });
  CHECK(within(made.value("outer/inner", "cpu_page_faults"), 3000, 0.01));
  CHECK(within(made.value("outer", "cpu_page_faults"), 1000, 0.01));
  CHECK(within(made.value("outer", "cpu_page_faults", counter_scope::total), 4000, 0.01));
  CHECK(made.data().cost.counter_reads == 6);
  CHECK(made.data().cost.counter_read_ns > 0);
}

TEST_CASE("time on a CPU is the thread's own, whatever the wall clock") {
  std::int64_t spent = 0;
  std::int64_t wall = 0;
  counted const made("cpu", [&] {
    STRATA_RANGE("spin");
    std::int64_t const wall_begin = detail::monotonic_ns();
    std::int64_t const begin = thread_time_ns();
    while (thread_time_ns() - begin < 50'000'000) {
    }
    usleep(50'000);
    spent = thread_time_ns() - begin;
    wall = detail::monotonic_ns() - wall_begin;
  });
  // The kernel's two clocks differ where a hypervisor takes the CPU away: that is the host's time.
  double const counted_ns = made.value("spin", "cpu_task_clock_ns");
  INFO("counted ", counted_ns, " ns, spent ", spent, " ns, of ", wall, " ns");
  CHECK(counted_ns >= 0.99 * static_cast<double>(spent));
  CHECK(counted_ns <= static_cast<double>(wall) - 40e6);
}

TEST_CASE("a thread that sleeps is switched") {
  counted const made("cpu", [] {
    STRATA_RANGE("sleep");
    for (int i = 0; i < 20; ++i) usleep(100);
  });
  if (made.says("cpu_context_switches cannot be counted")) return;  // not for everybody
  CHECK(made.value("sleep", "cpu_context_switches") >= 15);  // a nap may end before it begins
}

TEST_CASE("threads that come and go count for the range that they were made in") {
  counted const made("cpu", [] {
    for (int i = 0; i < 10; ++i) {
      STRATA_RANGE("threads");
      std::thread([] { touch(1000); }).join();
    }
    STRATA_RANGE("none");
  });
  CHECK(within(made.value("threads", "cpu_page_faults"), 10'000, 0.02));  // and their stacks
  CHECK(made.value("none", "cpu_page_faults") < 10);
}

TEST_CASE("a pool that lives counts for the range that the stepping thread is in") {
  counted const made("cpu", [] {
    std::mutex mutex;
    std::condition_variable changed;
    int task = 0;
    std::thread worker([&] {
      std::unique_lock<std::mutex> lock(mutex);
      for (int done = 0; done < 2;) {
        changed.wait(lock, [&] { return task == done + 1; });
        touch(done == 0 ? 1000 : 3000);
        ++done;
        task = -done;
        changed.notify_all();
      }
    });
    for (int i = 1; i <= 2; ++i) {
      STRATA_RANGE("parallel", i);
      std::unique_lock<std::mutex> lock(mutex);
      task = i;
      changed.notify_all();
      changed.wait(lock, [&] { return task == -i; });
    }
    worker.join();
  });
  double const first = made.value("parallel[1]", "cpu_page_faults");
  double const second = made.value("parallel[2]", "cpu_page_faults");
  INFO("counted ", first, " and ", second, " page faults");
  CHECK(within(first, 1000, 0.02));
  CHECK(within(second, 3000, 0.02));
}

TEST_CASE("a thread that is older counts, and so do those that it makes") {
  std::mutex mutex;
  mutex.lock();
  std::thread older([&] {
    std::lock_guard<std::mutex> const wait(mutex);
    touch(1000);
    std::thread([] { touch(1000); }).join();
  });
  counted const made("cpu", [&] {
    STRATA_RANGE("around the step");
    STRATA_STEP();
    STRATA_RANGE("older");
    mutex.unlock();
    older.join();
  });
  CHECK_FALSE(made.says("thread"));
  CHECK(within(made.value("around the step", "cpu_page_faults"), 2000, 0.02));
  CHECK(made.value("around the step/older", "cpu_page_faults") < 100);
}

TEST_CASE("a forked child is another program") {
  utsname kernel{};
  REQUIRE(uname(&kernel) == 0);
  double const version = std::atof(kernel.release);
  bool const told_apart = version >= 6 || (version < 5.1995 && version >= 5.129);  // from 5.13
  counted const made("cpu", [] {
    STRATA_RANGE("fork");
    pid_t const child = fork();
    if (child == 0) {
      touch(3000);
      _exit(0);
    }
    int code = 0;
    waitpid(child, &code, 0);
  });
  if (told_apart) CHECK(made.value("fork", "cpu_page_faults") < 1000);
}

TEST_CASE("descriptors are closed on exec, and when the session ends") {
  CHECK(perf_descriptors().empty());
  counted const made("cpu", [] {
    STRATA_RANGE("a");
    std::vector<bool> const open = perf_descriptors();
    CHECK(open.size() >= 2);
    for (bool const closes : open) CHECK(closes);
  });
  CHECK(perf_descriptors().empty());
}

TEST_CASE("a program that closes all descriptors keeps its own files to itself") {
  options how = recording_test::quiet();
  how.cpu_counters = "cpu";
  recording_test::recording all(how);
  REQUIRE(all.started());
  {
    STRATA_RANGE("before");
    touch(1000);
  }
  std::vector<int> const numbers = perf_numbers();
  REQUIRE(numbers.size() > 1);
  for (int const each : numbers) close(each);
  // Another event, and files of which a reading takes something away.
  detail::perf_attributes what;
  what.type = 1;
  what.flags = detail::perf_attributes::disabled | detail::perf_attributes::exclude_kernel;
  what.read_format = 11;
  int const event = detail::perf_system::real().open(what, 0, -1);
  REQUIRE(event >= 0);
  int const counter = eventfd(7, EFD_CLOEXEC | EFD_NONBLOCK);
  for (int const each : numbers)
    if (each != event && each != counter) REQUIRE(dup2(counter, each) == each);
  for (int i = 0; i < 10; ++i) {
    STRATA_STEP();
    STRATA_RANGE("after");
  }
  profile const& data = all.profile();
  for (int const each : numbers) CHECK(fcntl(each, F_GETFD) >= 0);
  std::uint64_t left = 0;
  CHECK(read(counter, &left, sizeof left) == sizeof left);
  CHECK(left == 7);
  close(event);
  close(counter);
  for (int const each : numbers) close(each);
  std::size_t told = 0;
  for (std::string const& each : data.problems)
    told += each.find("the program closed the descriptors") != std::string::npos;
  CHECK(told == 1);
}

TEST_CASE("a schedule of steps counts the active ones") {
  options how = recording_test::quiet();
  how.cpu_counters = "cpu_page_faults";
  how.skip = 1;
  how.active = 2;
  recording_test::recording all(how);
  for (int step = 0; step < 5; ++step) {
    STRATA_STEP();
    STRATA_RANGE("work");
    touch(1000);
  }
  profile const& data = all.profile();
  double faults = 0;
  counter_set const& set = data.counters(counter_set::cpu);
  for (counter_value const& each : set.values) {
    if (set.names[each.counter] == "perf__page_faults.sum") faults += each.value;
  }
  CHECK(within(faults, 2000, 0.02));
}
