// attach=window: CUPTI comes with the first window, and stays.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <strata/collect/cuda/contexts.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../patience.hpp"
#include "../work_folder.hpp"
#include "counter_run.hpp"
#include "fake_session.hpp"

namespace attach_test {

using fake::hbm_read;
using fake::launch;
using test::content;
using test::work_folder;
namespace fs = test::fs;

namespace {

/// A session that attaches with its windows, and steps that launch.
struct attached : work_folder, strata::session {
  explicit attached(std::string const& windows)
      : session(fake::configure("trace,attach=window,formats=csv,out=" + (*this / "out") + "," +
                                windows)) {
    fake::unscript();
    fake_profiler_reset();
    REQUIRE(start().ok());
  }
  static std::string on_touch(work_folder const& in) { return "trigger=" + in / "now"; }

  void step(int launches = 1) {
    STRATA_STEP();
    STRATA_RANGE("work");
    for (int i = 0; i < launches; ++i) launch();
  }
  /// Whether the n-th window's report says that the range "work" has so many kernels.
  bool has_kernels(int number, int kernels) const {
    std::string const csv = content(*this / ("out/00" + std::to_string(number) + "/kernels.csv"));
    std::string const count = "," + std::to_string(kernels) + ",";
    return csv.find("work") != csv.npos && csv.find(count) != csv.npos;
  }
};

/// Touches the file and steps until the window's report is there.
template <class Step>
void window(attached const& s, std::string const& file, int number, Step step) {
  for (int i = 0; i < 110; ++i) {
    step();
    usleep(1000);
  }
  test::threads_of_before const threads;
  test::touch(file);
  fs::path const last = s / ("out/00" + std::to_string(number) + "/memory.csv");
  for (int i = 0; i < 100'000 && !fs::exists(last); ++i) {
    step();
    usleep(1000);
  }
  REQUIRE(fs::exists(last));
  threads.await_others();
}

/// Nobody is subscribed, and no launch calls back or leaves a record.
bool nothing_of_cupti() {
  std::size_t const before = fake_callbacks_made();
  for (int i = 0; i < 100; ++i) launch();
  return fake_subscribed() == 0 && fake_callbacks_made() == before && fake_pending() == 0;
}

}  // namespace

TEST_CASE("passes of the program before the first window: CUPTI comes for them") {
  pid_t const child = fork();  // a process of its own, since counting keeps the subscription
  if (child == 0) {
    fake::session s(fake::configure("trace,attach=window,every=300,active=1,formats=none"));
    bool right = s.start().ok();
    auto const step = [] {
      STRATA_RANGE("work");
      fake::launch_blocks(2);
    };
    fake::run_steps(250, step);
    right = right && fake_subscribed() == 0;
    for (auto const& pass : s.counters(hbm_read)) {
      (void)pass;
      right = right && fake_subscribed() == 1 && fake_callback_enabled("cuGraphDestroy") == 1;
      step();
    }
    fake::run_steps(350, step);
    right = right && fake_subscribed() == 1;
    strata::profile const& p = s.profile();
    right = right && p.problems.empty() && fake::row(p, "work").self.kernels == 2 &&
            fake::counted(p).total("work", hbm_read) == 64;
    right = right && fake_subscribed() == 1 && fake_calls("cuptiUnsubscribe") == 0;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a program whose file nobody touched has no CUPTI; from the first window on it stays") {
  work_folder const files;
  std::size_t const before = fake_calls("cuptiSubscribe");
  attached s(attached::on_touch(files));
  for (int i = 0; i < 50; ++i) s.step();
  CHECK(fake_calls("cuptiSubscribe") == before);
  CHECK(nothing_of_cupti());
  for (int number = 1; number <= 3; ++number) {
    CAPTURE(number);
    window(s, files / "now", number, [&] { s.step(number); });
    CHECK(s.has_kernels(number, number));
    CHECK(fake_subscribed() == 1);
    CHECK(fake_calls("cuptiSubscribe") == before + 1);
    fake::check_tracing(false);
  }
  CHECK(s.report().ok());
  CHECK(nothing_of_cupti());
  CHECK(s.problems().empty());
  CHECK(fake_misuse_count() == 0);
  CHECK(fake_buffers_outstanding() == 0);
}

TEST_CASE("windows that are reported together: CUPTI comes with the first, and all add up") {
  attached s("every=10,active=2");
  for (int step = 0; step < 40; ++step) {
    CAPTURE(step);
    CHECK(fake_subscribed() == (step < 9 ? 0 : 1));
    s.step(3);
    if (step % 10 != 8) fake::check_tracing(false);
  }
  strata::profile const& p = fake::whole(s);
  CHECK(fake::row(p, "work").self.kernels == 24);
  CHECK(fake::row(p, "work").self.launches == 24);
  CHECK(p.launches.size() == 24);
  for (std::size_t i = 1; i < p.launches.size(); ++i)
    CHECK(p.launches[i].correlation > p.launches[i - 1].correlation);
  CHECK(p.steps.size() == 8);
  CHECK(nothing_of_cupti());
}

TEST_CASE("a session that ends before its first window needs no CUPTI") {
  attached s("skip=10,active=1");
  for (int i = 0; i < 5; ++i) s.step();
  strata::profile const& p = s.profile();
  CHECK_FALSE(p.traced);
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("the first one to keep is step 10") != std::string::npos);
  CHECK(nothing_of_cupti());
}

TEST_CASE("what keeps CUPTI from coming is told with the window, and the next one tries again") {
  work_folder const files;
  attached s(attached::on_touch(files) + ",formats=csv+json");
  CHECK(s.problems().empty());
  fake_fail("cuptiSubscribe", 39);
  window(s, files / "now", 1, [&] { s.step(); });
  CHECK_FALSE(s.has_kernels(1, 1));
  fake_fail("cuptiSubscribe", 0);
  window(s, files / "now", 2, [&] { s.step(2); });
  CHECK(s.has_kernels(2, 2));
  fake_fail("cuptiActivityEnable", 39);
  window(s, files / "now", 3, [&] { s.step(3); });
  fake_fail("cuptiActivityEnable", 0);
  window(s, files / "now", 4, [&] { s.step(4); });
  CHECK(s.has_kernels(4, 4));
  for (char const* const number : {"1", "2", "3"}) {
    CAPTURE(std::string(number));
    std::string const json = content(s / (std::string("out/00") + number + "/profile.json"));
    CHECK((json.find("\"traced\":true") != json.npos) == (*number == '2'));
  }
  s.stop();
  CHECK(nothing_of_cupti());
}

TEST_CASE("windows come and go beside threads that launch") {
  work_folder const files;
  attached s(attached::on_touch(files));
  std::atomic<bool> go_on{true};
  std::atomic<std::uint64_t> launched{0};
  std::vector<std::thread> all;
  for (std::uint32_t t = 0; t < 3; ++t) {
    all.emplace_back([&, t] {
      while (go_on.load()) {
        STRATA_RANGE("worker");
        launch("beside", 20 + t, 10);
        launched.fetch_add(1);
        std::this_thread::yield();
      }
    });
  }
  for (int number = 1; number <= 5; ++number) {
    CAPTURE(number);
    window(s, files / "now", number, [&] {
      STRATA_STEP();
      STRATA_RANGE("work");
      for (int i = 0; i < number; ++i) launch();
      std::uint64_t const begin = launched.load();
      test::await([&] { return launched.load() >= begin + 20; });
    });
    CHECK(s.has_kernels(number, number));
    CHECK(fake_subscribed() == 1);
  }
  go_on.store(false);
  for (std::thread& t : all) t.join();
  window(s, files / "now", 6, [&] { s.step(6); });
  s.stop();
  CHECK(nothing_of_cupti());
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE(
    "launches of graphs are looked at until one was seen, and traced in windows that want them") {
  fake_graph_t const graph = fake_graph_create();
  fake_kernel kernel;
  (void)fake_graph_create_node(graph, &kernel);
  fake_graph_t const executable = fake_graph_clone(graph);
  attached s("every=3,active=1,trace=copies");
  for (int step = 0; step < 12; ++step) {
    CAPTURE(step);
    CHECK(fake_callback_enabled("cuGraphLaunch") == (step >= 3 && step < 6 ? 1 : 0));
    STRATA_STEP();
    if (step == 5) (void)fake_graph_launch(executable, 7);
  }
  CHECK(s.profile().launches.empty());
  CHECK(fake_subscribed() == 1);  // kept, since the program has graphs
}

TEST_CASE("where there is no window to wait for, a sentence says so and CUPTI comes at once") {
  for (std::string const more : {"", "active=1,nvtx=in"}) {
    CAPTURE(more);
    strata::session s(fake::configure("trace,formats=none,attach=window," + more));
    fake::unscript();
    REQUIRE(s.start().ok());
    CHECK(fake_subscribed() == 1);
    REQUIRE(!s.problems().empty());
    CHECK(s.problems()[0].message().find("attach=window is ignored") != std::string::npos);
    if (more.empty()) continue;  // the last one keeps CUPTI
    s.stop();
  }
}

TEST_CASE("counters are read in windows that CUPTI came with") {
  work_folder const files;
  attached s(attached::on_touch(files) + ",counters=" + hbm_read);
  for (int number = 1; number <= 2; ++number) {
    CAPTURE(number);
    window(s, files / "now", number, [&] {
      STRATA_STEP();
      STRATA_RANGE("work");
      fake::launch_blocks(2);
    });
    fs::path const file = s / ("out/00" + std::to_string(number) + "/counters.csv");
    for (int i = 0; i < 100'000 && !fs::exists(file); ++i) usleep(1000);
    CHECK(content(file.string()).find(std::string(",work,") + hbm_read + ",64,") !=
          std::string::npos);
  }
  s.stop();
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("a graph call that is under way when a window begins is waited for before counting") {
  fake_graph_t const graph = fake_graph_create();
  attached s(std::string("every=2,active=1,counters=") + hbm_read);
  for (int i = 0; i < 3; ++i) s.step();
  static std::atomic<bool> begun, goes_on;
  begun = goes_on = false;
  fake_set_call_hook([] {
    begun = true;
    test::await([] { return goes_on.load(); });
  });
  std::thread other([graph] { fake_graph_destroy(graph); });
  test::await([] { return begun.load(); });
  {
    STRATA_STEP();
    CHECK(fake_kind_enabled(fake::kernels) != 0);
    strata::detail::capture_guard::exclusive const alone(0);
    CHECK_FALSE(static_cast<bool>(alone));
  }
  goes_on = true;
  other.join();
  s.stop();
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("a graph that was captured after the first window is known in the next one") {
  work_folder const files;
  attached s(attached::on_touch(files));
  fake_graph_t executable = 0;
  auto const capture = [&] {
    STRATA_RANGE("captured");
    (void)fake_begin_capture(9);
    launch("node", 9);
    executable = fake_graph_clone(fake_end_capture(9));
  };
  window(s, files / "now", 1, [&] {
    STRATA_STEP();
    STRATA_RANGE("work");
    if (executable == 0) capture();
    (void)fake_graph_launch(executable, 9);
  });
  CHECK(fake_subscribed() == 1);
  capture();
  window(s, files / "now", 2, [&] {
    STRATA_STEP();
    STRATA_RANGE("work");
    (void)fake_graph_launch(executable, 9);
  });
  std::string const ranges = content(s / "out/002/ranges.csv");
  CHECK(ranges.find("captured") != ranges.npos);
  s.stop();
  CHECK(fake_misuse_count() == 0);
}

}  // namespace attach_test
