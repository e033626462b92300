// Counting during work that only the program ends, after its launch: values in memory that streams
// wait for, functions of the host, kernels that spin. A launch in a range of instrumented or single
// kernels waits for all of that; so none of them is made.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "counter_run.hpp"

namespace waiting_work_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::launch_blocks;
using fake::run_steps;
using fake::sass;
using fake::says;
using strata::profile;

namespace {

constexpr std::uint32_t own = 9;  // streams
constexpr std::uint32_t other = 13;

/// Work that the program ends once it has launched all of it.
struct waiting {
  char const* what;
  void (*launch)();
};

void spin(std::uint32_t stream) {
  fake_kernel kernel;
  kernel.name = "spin";
  kernel.stream = stream;
  kernel.waits = true;
  (void)fake_launch(&kernel);
}

template <int Which>
void wait_call() {
  constexpr char const* functions[] = {"cuStreamWaitValue32_v2", "cuStreamBatchMemOp_v2_ptsz",
                                       "cuWaitExternalSemaphoresAsync", "cuLaunchHostFunc",
                                       "cuStreamAddCallback"};
  (void)fake_wait_call(functions[Which], own);
  launch_blocks(1, "after", own);
}

constexpr waiting of_memory[] = {{"cuStreamWaitValue32_v2", &wait_call<0>},
                                 {"cuStreamBatchMemOp_v2_ptsz", &wait_call<1>},
                                 {"cuWaitExternalSemaphoresAsync", &wait_call<2>}};
constexpr waiting of_host[] = {
    {"cuLaunchHostFunc", &wait_call<3>},
    {"cuStreamAddCallback", &wait_call<4>},
    {"a kernel that spins on a flag of the host", [] { spin(own); }},
    {"a kernel that waits for one of another stream",
     [] {
       spin(other);
       launch_blocks(1, "sets the flag", own);
     }},
    {"a kernel of another thread", [] { std::thread([] { spin(other); }).join(); }}};

void plain() {
  STRATA_RANGE("plain");
  launch_blocks(2, "plain", own);
}

void step(waiting const& work) {
  plain();
  {
    STRATA_RANGE("waits");
    work.launch();
    fake_go();
  }
}

std::vector<waiting> all_waiting() {
  std::vector<waiting> all(std::begin(of_memory), std::end(of_memory));
  all.insert(all.end(), std::begin(of_host), std::end(of_host));
  return all;
}

std::string problems_of(profile const& p) {
  std::string all;
  for (std::string const& problem : p.problems) all += problem + '\n';
  return all;
}

}  // namespace

TEST_CASE("beside work that waits for the program nothing is counted by instrumented code") {
  for (waiting const& work : all_waiting()) {
    for (char const* const more : {"", "warmup=1"}) {
      for (std::string const& request : {std::string(sass), std::string(hbm_read) + '+' + sass}) {
        std::string const what = work.what;
        CAPTURE(what);
        CAPTURE(std::string(more));
        CAPTURE(request);
        counting s(request, std::string("drain=60,") + more);
        run_steps(8, [&] { step(work); });
        CHECK(fake_stuck_calls() == 0);
        profile const& p = s.profile();
        CAPTURE(problems_of(p));
        REQUIRE(p.problems.size() == 1);
        CHECK(says(p.problems[0],
                   "counters that instrument kernels are left out: " + std::string(sass)));
        CHECK(says(p.problems[0], "in waits"));
        CHECK(says(p.problems[0], "counters=hbm or counters=limits"));
        counted const c(p);
        CHECK(c.empty("plain", sass));
        CHECK(says(c.note("plain", sass), "left out because of "));
        if (request != sass) CHECK(c.self("plain", hbm_read) == 64);
      }
    }
  }
}

TEST_CASE("kernels of collectives are not instrumented, though they end at once") {
  struct entry {
    char const* options;
    char const* kernel;
  };
  for (entry const& each :
       {entry{"", "_Z42ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgs"},
        entry{"warmup=1", "_Z42ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgs"},
        entry{"", "_Z34ncclSymkDevKernel_AllReduce_LSA_LD20ncclSymkDevWorkArgs"},
        entry{"", "_ZN4vllm26cross_device_reduce_1stageI6__halfLi2EEEvPv"},
        entry{"collectives=exchange_*", "_Z15exchange_expertPf"}}) {
    CAPTURE(std::string(each.options));
    CAPTURE(std::string(each.kernel));
    counting s(std::string(hbm_read) + '+' + sass, each.options);
    run_steps(8, [&] {
      plain();
      STRATA_RANGE("reduce");
      launch_blocks(2, each.kernel, own);
    });
    profile const& p = s.profile();
    CAPTURE(problems_of(p));
    REQUIRE(p.problems.size() == 1);
    CHECK(says(p.problems[0],
               "with kernels of collectives in reduce, counters that instrument kernels"));
    counted const c(p);
    CHECK(c.empty("plain", sass));
    CHECK(c.self("plain", hbm_read) == 64);
    CHECK(c.self("reduce", hbm_read) == 64);
  }
}

TEST_CASE("what makes the stream wait is named") {
  counting s(sass, "drain=60");
  run_steps(4, [] { step(of_memory[0]); });
  fake::one_problem(s.profile(), "counters: with cuStreamWaitValue32_v2 in waits, ");
}

TEST_CASE("counters that instrument nothing are counted beside work that waits") {
  for (waiting const& work : all_waiting()) {
    std::string const what = work.what;
    CAPTURE(what);
    counting s(hbm_read);
    run_steps(3, [&] { step(work); });
    CHECK(fake_stuck_calls() == 0);
    profile const& p = fake::clean(s);
    CHECK(counted(p).self("plain", hbm_read) == 64);
  }
}

TEST_CASE("single kernels are not counted beside work that waits for the program") {
  for (waiting const& work : all_waiting()) {
    std::string const what = work.what;
    CAPTURE(what);
    counting s(hbm_read, "drain=60,kernels=*");
    run_steps(8, [&] { step(work); });
    CHECK(fake_stuck_calls() == 0);
    profile const& p = s.profile();
    CAPTURE(problems_of(p));
    REQUIRE(p.problems.size() == 1);
    CHECK(says(p.problems[0], "kernels=: single kernels are not counted beside "));
    CHECK(says(p.problems[0], "in waits"));
    CHECK(counted(p).self("plain", hbm_read) == 64);
  }
}

TEST_CASE("work that waits comes for the first time in a step that counts") {
  for (waiting const& work : all_waiting()) {
    for (int const first : {1, 2, 3, 4}) {
      std::string const what = work.what;
      CAPTURE(what);
      CAPTURE(first);
      counting s(std::string(hbm_read) + '+' + sass, "drain=60");
      int number = 0;
      run_steps(9, [&] {
        plain();
        if (number++ < first) return;
        STRATA_RANGE("waits");
        work.launch();
        fake_go();
      });
      CHECK(fake_stuck_calls() == 0);
      profile const& p = s.profile();
      CAPTURE(problems_of(p));
      CHECK(counted(p).self("plain", hbm_read) == 64);
      bool const was_counted = !counted(p).empty("plain", sass);
      CHECK(p.problems.size() == (was_counted ? 0u : 1u));
      if (was_counted) CHECK(counted(p).self("plain", sass) == 64);
    }
  }
}

TEST_CASE("a trial costs no step where one warms up, or where bytes are counted before") {
  SUBCASE("a step that warms up") {
    counting s(sass, "warmup=1");
    run_steps(3, plain);
    profile const& p = fake::clean(s);
    CHECK(counted(p).self("plain", sass) == 64);
  }
  SUBCASE("bytes before") {
    counting s(std::string(hbm_read) + '+' + sass);
    run_steps(3, plain);
    profile const& p = fake::clean(s);
    CHECK(counted(p).self("plain", sass) == 64);
  }
  SUBCASE("none of both") {
    counting s(sass);
    run_steps(3, plain);
    profile const& p = fake::clean(s);
    CHECK(counted(p).self("plain", sass) == 64);
  }
}

TEST_CASE("a kernel that comes later is tried, and counted in the next step") {
  counting s(std::string(hbm_read) + '+' + sass);
  int number = 0;
  run_steps(4, [&] {
    STRATA_RANGE("work");
    launch_blocks(2, "early", own);
    if (number++ >= 2) launch_blocks(3, "late", own);
  });
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", sass) == 160);
}

TEST_CASE("each step has a kernel of its own: that counting ends, with the reason") {
  counting s(std::string(hbm_read) + '+' + sass);
  int number = 0;
  run_steps(12, [&] {
    STRATA_RANGE("work");
    std::string const name = "kernel" + std::to_string(number++);
    launch_blocks(2, name.c_str(), own);
  });
  profile const& p = s.profile();
  CHECK(fake_stuck_calls() == 0);
  CHECK(counted(p).self("work", hbm_read) == 64);
  CHECK(says(problems_of(p), "steps in a row launched what no step before them had"));
}

TEST_CASE("host functions that end by themselves are no reason against it") {
  counting s(std::string(hbm_read) + '+' + sass);
  run_steps(3, [] {
    STRATA_RANGE("work");
    (void)fake_memory_call("cuLaunchHostFunc", '-', 0, 0);
    launch_blocks(2, "plain", own);
  });
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", sass) == 64);
}

TEST_CASE("threads that launch at the same time pass a trial, one after the other") {
  counting s(std::string(hbm_read) + '+' + sass);
  run_steps(3, [] {
    STRATA_RANGE("work");
    std::thread second([] {
      for (int i = 0; i < 20; ++i) launch_blocks(1, "second", other);
    });
    for (int i = 0; i < 20; ++i) launch_blocks(1, "first", own);
    second.join();
  });
  profile const& p = fake::clean(s);
  CHECK(fake_stuck_calls() == 0);
  CHECK(counted(p).self("work", sass) == 1280);
}

TEST_CASE("two threads whose kernels need each other are not counted by instrumented code") {
  counting s(sass, "drain=60");
  run_steps(5, [] {
    STRATA_RANGE("waits");
    std::thread second([] { spin(other); });
    launch_blocks(1, "plain", own);
    second.join();
    fake_go();
  });
  CHECK(fake_stuck_calls() == 0);
  fake::one_problem(s.profile(), "counters that instrument kernels are left out");
}

TEST_CASE("counting ends after two steps whose ranges end before their work may") {
  counting s(hbm_read, "drain=80");
  int waits = 0;
  auto const begin_of_waits = [] { return fake_calls("cuptiRangeProfilerStart"); };
  std::size_t const before = begin_of_waits();
  run_steps(12, [&] {
    plain();
    {
      STRATA_RANGE("waits");
      spin(own);
    }
    {
      STRATA_RANGE("host");
      ++waits;
    }
    fake_go();
  });
  CHECK(begin_of_waits() - before == 2);
  CHECK(fake_stuck_calls() == 0);
  profile const& p = s.profile();
  CAPTURE(problems_of(p));
  CHECK(says(p.problems.at(0),
             "counters: in 2 counting steps the GPU had not done the work of a range"));
  CHECK(says(p.problems.at(0), "last traced launch was in waits"));
}

TEST_CASE("a body that the program has counted waits for it: it runs, and is not counted") {
  for (bool const again : {false, true}) {
    for (waiting const& work :
         again ? all_waiting() : std::vector<waiting>(of_memory, of_memory + 3)) {
      std::string const what = work.what;
      CAPTURE(what);
      CAPTURE(again);
      fake::started s("trace,formats=none,drain=60");
      launch_blocks(1);
      int runs = 0;
      auto const body = [&] {
        ++runs;
        step(work);
      };
      strata::status const done =
          again ? s.counters(sass).replay(body, strata::repeatable) : s.counters(sass).replay(body);
      CHECK(runs == 1);
      CHECK(fake_stuck_calls() == 0);
      CHECK(says(done.message(), "counters that instrument kernels are left out"));
    }
  }
}

TEST_CASE("a body that may run once is counted without a trial, a repeatable one after it") {
  for (bool const again : {false, true}) {
    fake::started s("trace,formats=none");
    launch_blocks(1);
    int runs = 0;
    auto const body = [&] {
      ++runs;
      plain();
    };
    strata::status const done =
        again ? s.counters(sass).replay(body, strata::repeatable) : s.counters(sass).replay(body);
    CAPTURE(problems_of(s.profile()));
    CAPTURE(done.message());
    CHECK(done.ok());
    CHECK(runs == (again ? 2 : 1));
    CHECK(counted(s.profile()).self("plain", sass) == 64);
  }
}

}  // namespace waiting_work_test
