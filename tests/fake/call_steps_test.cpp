// `step=graph`, `step=sync`, `step=auto`: the steps of a program that names none.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <strata/annotate/process.hpp>
#include <strata/collect/cuda/call_steps.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/range.hpp>
#include <strata/session/problem_log.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include "analyse/steps.hpp"

#include "../sanitizers.hpp"
#include "../work_folder.hpp"
#include "counter_run.hpp"
#include "fake_session.hpp"

namespace call_steps_test {

using fake::has_problem;
using fake::launch;
using fake::traced;
using strata::profile;

namespace {

constexpr int layers = 8;
constexpr int kernels_in_layer = 12;
constexpr std::size_t launches_in_step = 2 + layers * kernels_in_layer;

void launch_layers(std::string const& of = "layer") {
  for (int i = 0; i < layers; ++i)
    for (int k = 0; k < kernels_in_layer; ++k) launch((of + std::to_string(k)).c_str());
}

/// A step of a program that is not edited.
void train() {
  launch("embedding");
  launch_layers();
  launch("loss");
  (void)fake_sync(3, 7, 10);
}

struct graphs {
  explicit graphs(char const* kernel = "decode") {
    (void)fake_begin_capture(9);
    launch(kernel, 9);
    captured = fake_end_capture(9);
    executable = fake_graph_clone(captured);
  }
  ~graphs() {
    fake_graph_destroy(executable);
    fake_graph_destroy(captured);
  }
  graphs(graphs const&) = delete;
  graphs& operator=(graphs const&) = delete;
  fake_graph_t captured;
  fake_graph_t executable;
};

/// How many calls in each step are wanted, by the step's number.
template <class Wanted>
std::vector<std::size_t> calls_by_step(profile const& p, Wanted is_wanted) {
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (strata::step_record const& step : p.steps) places.emplace(step.step, places.size());
  std::vector<std::size_t> counts(p.steps.size());
  for (strata::driver_call_record const& each : p.launches) {
    auto const place = places.find(each.step);
    if (place != places.end() && is_wanted(each, p.steps[place->second])) ++counts[place->second];
  }
  return counts;
}

/// Launches of kernels in each step, by its number.
std::vector<std::size_t> launches_by_step(profile const& p) {
  return calls_by_step(
      p, [](auto const& call, auto const&) { return call.kind == strata::api_kind::launch; });
}

bool are_all(std::vector<std::size_t> const& counts, std::size_t wanted) {
  for (std::size_t const each : counts)
    if (each != wanted) return false;
  return !counts.empty();
}
std::size_t count_of(std::vector<std::size_t> const& counts, std::size_t wanted) {
  std::size_t whole = 0;
  for (std::size_t const each : counts) whole += each == wanted ? 1u : 0u;
  return whole;
}

/// Of the kernels, or of other work, those that a step launched.
template <class Records>
std::size_t count_in_steps(profile const& p, Records const& records) {
  std::size_t count = 0;
  for (strata::driver_call_record const& call : p.launches)
    for (auto const& each : records)
      if (call.step != strata::no_step && each.correlation == call.correlation) ++count;
  return count;
}

/// Steps are numbered in the order of their begins, and none overlaps the one before.
void are_in_order(profile const& p) {
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    CHECK(p.steps[i].begin < p.steps[i].end);
    if (i == 0) continue;
    CHECK(p.steps[i].step == p.steps[i - 1].step + 1);
    CHECK(p.steps[i].begin >= p.steps[i - 1].end);
  }
}

/// A thread that does what it is given, one after the other.
class worker {
 public:
  worker() : thread_([this] { work(); }) {}
  ~worker() {
    run(nullptr);
    thread_.join();
  }
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Comes back when it is done.
  void run(std::function<void()> task) {
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = std::move(task);
    has_task_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !has_task_; });
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (bool ends = false; !ends;) {
      changed_.wait(lock, [this] { return has_task_; });
      ends = task_ == nullptr;
      if (!ends) task_();
      has_task_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool has_task_ = false;
  std::thread thread_;
};

/// A runtime's threads.
struct pool {
  explicit pool(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) workers.push_back(std::make_unique<worker>());
  }
  void run(std::size_t which, std::function<void()> task) { workers[which]->run(std::move(task)); }
  /// The thread ends, and a new one has its place.
  void renew(std::size_t which) {
    workers[which].reset();
    workers[which] = std::make_unique<worker>();
  }
  std::vector<std::unique_ptr<worker>> workers;
};

/// Threads that each have a loop.
void train_at_once(int count, int steps) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([steps] {
      for (int i = 0; i < steps; ++i) train();
    });
  for (std::thread& each : threads) each.join();
}

/// A step without a wait.
void train_ahead() {
  launch("embedding");
  launch_layers();
  launch("loss");
}

}  // namespace

TEST_CASE("what a driver function means for steps") {
  using strata::detail::cupti::classify_step_call;
  using strata::detail::cupti::step_call;
  CHECK(classify_step_call("cuLaunchKernel_ptsz") == step_call::launch);
  CHECK(classify_step_call("cuLaunchCooperativeKernel") == step_call::launch);
  CHECK(classify_step_call("cuLaunchKernelEx") == step_call::launch_by_config);
  CHECK(classify_step_call("cuLaunchHostFunc") == step_call::none);
  CHECK(classify_step_call("cuGraphLaunch") == step_call::graph_launch);
  for (char const* const wait :
       {"cuCtxSynchronize", "cuStreamSynchronize_ptsz", "cuEventSynchronize", "cuMemcpyDtoH_v2"})
    CHECK(classify_step_call(wait) == step_call::wait);
  for (char const* const other : {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoD_v2", "cuMemAlloc_v2"})
    CHECK(classify_step_call(other) == step_call::none);
}

TEST_CASE("step=graph: each launch of the graph that is launched most begins a step") {
  graphs const decode;
  graphs const prefill("prefill");
  traced s("step=graph");
  for (int token = 0; token < 30; ++token) {
    if (token % 10 == 0) (void)fake_graph_launch(prefill.executable, 7);
    (void)fake_graph_launch(decode.executable, 7);
    launch("sample");
    (void)fake_sync(3, 7, 10);
  }
  profile const& p = fake::whole(s);
  // The eighth launch is the first step; the last one has no end.
  REQUIRE(p.steps.size() == 22);
  CHECK(are_all(launches_by_step(p), 1));
  for (strata::step_record const& step : p.steps) {
    std::size_t of_decode = 0;
    for (strata::driver_call_record const& each : p.launches) {
      bool const in_step = each.step == step.step && each.kind == strata::api_kind::graph_launch;
      bool const is_within = each.begin >= step.begin && each.end <= step.end;
      if (in_step) CHECK(is_within);
      of_decode += in_step ? 1u : 0u;
    }
    CHECK(of_decode >= 1);
    CHECK(of_decode <= 2);
  }
}

TEST_CASE("step=graph: windows are of such steps") {
  graphs const decode;
  traced s("step=graph,skip=2,warmup=1,active=3");
  for (int token = 0; token < 40; ++token) {
    (void)fake_graph_launch(decode.executable, 7);
    launch("sample");
    bool const in_window = token >= 7 + 2 && token < 7 + 6;
    CAPTURE(token);
    bool const is_beginning = token < 7;
    CHECK((fake_callback_enabled("cuLaunchKernel") != 0) == (is_beginning || in_window));
    CHECK(fake_callback_enabled("cuGraphLaunch") != 0);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].step == 3);
  CHECK(count_in_steps(p, p.kernels) == 6);
  CHECK(p.kernels.size() == 14 + 6);
  CHECK(are_all(launches_by_step(p), 1));
  CHECK(fake_callback_enabled("cuGraphLaunch") == 0);
}

TEST_CASE(
    "step=graph: another graph takes over when the first is launched no more, and it is said") {
  graphs const first;
  graphs const second;
  traced s("step=graph");
  for (int token = 0; token < 20; ++token) (void)fake_graph_launch(first.executable, 7);
  for (int token = 0; token < 20; ++token) (void)fake_graph_launch(second.executable, 7);
  profile const& p = s.profile();
  CHECK(p.steps.size() == 13 + 12);
  CHECK(
      has_problem(p,
                  "step=graph: 26 steps, begun by one graph, with 65 % of 40 launches of graphs; 2 "
                  "graphs in turn: the steps cover only these"));
}

TEST_CASE("step=graph: without graphs it says so") {
  traced s("step=graph,skip=1,active=1");
  for (int i = 0; i < 20; ++i) train();
  CHECK(has_problem(s.profile(),
                    "step=graph: no CUDA graph was launched 8 times, so that there are no"));
  graphs const once;
  traced next("step=graph");
  for (int i = 0; i < 7; ++i) (void)fake_graph_launch(once.executable, 7);
  CHECK(has_problem(next.profile(), "step=graph: no CUDA graph was launched 8 times"));
  CHECK_FALSE(next.profile().has_steps);
}

TEST_CASE("step=sync and step=auto: a step ends with its wait") {
  for (std::string const key : {"step=sync", "step=auto"}) {
    CAPTURE(key);
    traced s(key);
    for (int i = 0; i < 5; ++i) launch("start");
    for (int i = 0; i < 100; ++i) train();
    profile const& p = fake::whole(s);
    // 4,096 weights of 98 launches and a wait.
    CHECK(p.steps.size() >= 70);
    CHECK(are_all(launches_by_step(p), launches_in_step));
    CHECK(are_all(calls_by_step(p,
                                [](auto const& call, auto const& step) {
                                  return call.kind == strata::api_kind::wait &&
                                         call.end <= step.end;
                                }),
                  1));
    CHECK(p.problems.empty());
  }
}

TEST_CASE("step=sync: a copy to the host that blocks is a wait") {
  traced s("step=sync");
  for (int i = 0; i < 80; ++i) {
    launch_layers();
    (void)fake_copy_to_host(4);
  }
  CHECK(s.profile().steps.size() >= 50);
  CHECK(are_all(launches_by_step(s.profile()), layers * kernels_in_layer));
}

TEST_CASE("step=auto: without a wait a launch begins each step") {
  traced s("step=auto");
  for (int i = 0; i < 150; ++i) {
    launch("embedding");
    launch_layers();
  }
  CHECK(s.profile().steps.size() >= 50);
  CHECK(are_all(launches_by_step(s.profile()), launches_in_step - 1));
}

TEST_CASE("step=auto: windows and sums are as with STRATA_STEP()") {
  auto const run = [](std::string const& keys, bool edited) {
    traced s(keys);
    int first = -1;
    bool waits = false;  // for a window
    for (int i = 0; i < 100; ++i) {
      if (edited && i >= 40) {
        STRATA_STEP();
        train();
      } else {
        train();
      }
      bool const is_open = fake_kind_enabled(fake::kernels) != 0;
      if (first < 0 && waits && is_open) first = i;
      waits = waits || !is_open;
    }
    CHECK(first > 0);
    CHECK(fake_kind_enabled(fake::kernels) == 0);
    profile p = s.profile();
    fake::nothing_lost(p);
    return p;
  };
  profile const by_hand = run("skip=5,warmup=1,active=4", true);
  profile const found = run("step=auto,skip=5,warmup=1,active=4", false);
  REQUIRE(found.steps.size() == 4);
  CHECK(found.steps.size() == by_hand.steps.size());
  CHECK(found.steps[0].step == 6);
  CHECK(count_in_steps(found, found.kernels) == by_hand.kernels.size());
  CHECK(count_in_steps(found, found.launches) == by_hand.launches.size());
  CHECK(count_in_steps(found, found.synchronizations) == by_hand.synchronizations.size());
  // Rows have the start-up, and means have not.
  CHECK(found.kernels.size() > by_hand.kernels.size());
  strata::call_tree const tree(found);
  strata::call_tree const folded(found, strata::folding::by_name);
  strata::step_analysis const steps = strata::make_steps(found, folded, tree.rows());
  CHECK(steps.count == 4);
  strata::detail::step_amounts const means(tree.rows(), steps);
  CHECK(means.work(0).kernels == doctest::Approx(launches_in_step));
  CHECK(steps.outside_gpu_ns > 0);
  CHECK(launches_by_step(found) == launches_by_step(by_hand));
}

TEST_CASE("step=auto: outside of windows calls leave nothing") {
  traced s("step=auto,skip=1000,active=1");
  for (int i = 0; i < 40; ++i) train();
  CHECK(fake_callback_enabled("cuLaunchKernel") != 0);
  CHECK(fake_callback_enabled("cuMemcpyHtoDAsync_v2") == 0);
  CHECK(fake_kind_enabled(fake::kernels) == 0);
  for (int i = 0; i < 60; ++i) train();
  CHECK(fake_callback_enabled("cuLaunchKernel") != 0);
  CHECK(fake_callback_enabled("cuMemcpyHtoDAsync_v2") == 0);
  CHECK(fake_kind_enabled(fake::kernels) == 0);
  profile const& p = s.profile();
  CHECK(fake_callback_enabled("cuLaunchKernel") == 0);
  CHECK(fake_callback_enabled("cuStreamSynchronize") == 0);
  CHECK(p.launches.size() >= 26 * (launches_in_step + 1));
  CHECK(p.launches.size() <= 28 * (launches_in_step + 1));
  for (strata::driver_call_record const& each : p.launches) CHECK(each.step == strata::no_step);
  CHECK(p.cost.callbacks < 2 * 29 * (launches_in_step + 1));
}

TEST_CASE("step=auto: what is not traced is no record, although it is followed") {
  traced s("trace=kernels,step=auto");
  for (int i = 0; i < 100; ++i) train();
  profile const& p = s.profile();
  CHECK(p.steps.size() >= 70);
  for (strata::driver_call_record const& each : p.launches)
    CHECK(each.kind == strata::api_kind::launch);
}

TEST_CASE("step=auto: without a period it says so, and records all of it") {
  traced s("step=auto");
  std::uint32_t random = 1;
  for (int i = 0; i < 5000; ++i) {
    random = random * 1664525u + 1013904223u;
    launch(("kernel" + std::to_string(random >> 25)).c_str());
  }
  profile const& p = s.profile();
  CHECK_FALSE(p.has_steps);
  CHECK(p.kernels.size() == 5000);
  CHECK(has_problem(
      p,
      "step=auto: no period was found in 5000 launches, so that there are no steps: the whole run "
      "is shown; name the step with step=NAME"));
}

TEST_CASE(
    "a program without steps is recorded as a whole, though windows or counters wait for them") {
  for (std::string const keys :
       {"step=auto,skip=5,warmup=1,active=4", "step=sync,every=50", "step=graph,skip=1,active=2"}) {
    CAPTURE(keys);
    traced s(keys);
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      STRATA_RANGE("part");
      launch(("kernel" + std::to_string(random() % 100)).c_str());
      if (random() % 7 == 0) (void)fake_sync(3, 7, 10);
    }
    profile const& p = s.profile();
    CHECK_FALSE(p.has_steps);
    CHECK(p.kernels.size() == 300);
    CHECK(p.ranges.size() == 300);
    CHECK(p.cost.seconds_in_window > 0);
    CHECK(p.problems.size() == 1);
    CHECK(has_problem(p, "so that there are no steps: the whole run is shown; name the step with"));
  }
  fake::counting counted(std::string(fake::hbm_read), "step=auto");
  for (int i = 0; i < 12; ++i) launch("once");
  profile const& p = counted.profile();
  CHECK(p.kernels.size() == 12);
  CHECK(has_problem(p,
                    "step=auto: no period was found in 12 launches, so that there are no steps: "
                    "the whole run is shown, without counters; name the step with step=NAME"));
}

TEST_CASE("of a long program without steps the beginning is recorded") {
  constexpr std::uint32_t most = strata::detail::step_patience::max_launches;
  for (std::string const key : {"step=graph", "step=auto"}) {
    // A sanitizer sees a period searched for in the test above, and takes a minute for this one.
    if (test::sanitized && key == "step=auto") break;
    CAPTURE(key);
    traced s("log=1024,buffers=1024," + key + ",skip=5,active=4");
    std::mt19937 random(1);
    char const* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (std::uint32_t i = 1; i < most; ++i) launch(names[random() % 10]);
    CHECK(fake_kind_enabled(fake::kernels) != 0);
    for (int i = 0; i < 1000; ++i) {
      if (i % 100 == 0) usleep(1000);
      launch(names[random() % 10]);
    }
    CHECK(fake_kind_enabled(fake::kernels) == 0);
    CHECK((fake_callback_enabled("cuLaunchKernel") != 0) == (key == "step=auto"));
    profile const& p = s.profile();
    CHECK_FALSE(p.has_steps);
    CHECK(p.kernels.size() == most - 1);
    CHECK(has_problem(p,
                      "so that there are no steps: the beginning is shown, of 100000 launches at "
                      "most, and what follows was not recorded; name the step with step=NAME"));
  }
}

TEST_CASE("half of the logs is kept for the steps, whatever came before") {
  traced s("log=2,step=auto,skip=50,active=4");
  for (int i = 0; i < 200'000; ++i) {
    STRATA_RANGE("early");
  }
  for (int i = 0; i < 200; ++i) train();
  profile const& p = s.profile();
  CHECK(p.losses.ranges_summed > 0);
  CHECK(p.losses.launches_summed == 0);
  REQUIRE(p.steps.size() == 4);
  CHECK(are_all(launches_by_step(p), launches_in_step));
}

TEST_CASE("where the schedule left no step, what came before the first one is shown as that") {
  traced s("step=auto,skip=5000,active=4");
  for (int i = 0; i < 200; ++i) train();
  profile const& p = s.profile();
  CHECK(p.steps.empty());
  CHECK(p.kernels.size() > 0);
  CHECK(has_problem(p, "lower skip, warmup or every; what is shown came before the first step"));
}

TEST_CASE("step=auto: an evaluation is outside of steps") {
  traced s("step=auto");
  for (int i = 0; i < 60; ++i) train();
  for (int i = 0; i < 3; ++i) {
    launch_layers("evaluate");
    launch_layers("evaluate");
    (void)fake_sync(3, 7, 10);
  }
  for (int i = 0; i < 20; ++i) train();
  profile const& p = s.profile();
  std::vector<std::size_t> const counts = launches_by_step(p);
  std::size_t whole = 0;
  for (std::size_t const each : counts) whole += each == launches_in_step ? 1u : 0u;
  CHECK(whole >= 33 + 18);  // 27 until it is found, two after the evaluation
  CHECK(counts.size() - whole <= 1);
}

TEST_CASE("step=auto: no step begins while a stream captures") {
  traced s("step=auto");
  for (int i = 0; i < 50; ++i) train();
  (void)fake_begin_capture(9);
  for (int i = 0; i < 20; ++i) train();
  fake_graph_destroy(fake_end_capture(9));
  for (int i = 0; i < 20; ++i) train();
  profile const& p = s.profile();
  std::vector<std::size_t> const counts = launches_by_step(p);
  // One step has the whole capture in it.
  std::size_t whole = 0;
  for (std::size_t const each : counts) whole += each == launches_in_step ? 1u : 0u;
  CHECK(whole >= 30);
  CHECK(whole + 1 == counts.size());
}

TEST_CASE("step=auto: another thread drives the steps when the first one has ended") {
  traced s("step=auto");
  std::thread([] {
    for (int i = 0; i < 50; ++i) train();
  }).join();
  std::thread([] {
    for (int i = 0; i < 50; ++i) train();
  }).join();
  for (int i = 0; i < 50; ++i) train();
  profile const& p = s.profile();
  CHECK(p.steps.size() >= 60);
  CHECK(p.steps.size() >= 120);
  CHECK(are_all(launches_by_step(p), launches_in_step));
  are_in_order(p);
}

TEST_CASE("step=auto: the threads of a pool launch the steps in turns") {
  // Until it is found, a wait takes 27 steps and a launch 84; before, the first thread is alone.
  struct program {
    void (*step)();
    std::size_t lost;
  };
  for (program const each : {program{&train, 29}, program{&train_ahead, 87}})
    for (std::size_t const threads : {2u, 4u, 8u, 16u})
      for (bool const is_random : {false, true}) {
        CAPTURE(each.lost);
        CAPTURE(threads);
        CAPTURE(is_random);
        traced s("step=auto");
        pool runtime(threads);
        std::mt19937 random(static_cast<std::uint32_t>(threads));
        constexpr std::size_t steps = 200;
        for (std::size_t i = 0; i < steps; ++i)
          runtime.run((is_random ? random() : i) % threads, each.step);
        profile const& p = fake::whole(s);
        CHECK(p.steps.size() >= steps - each.lost);
        CHECK(are_all(launches_by_step(p), launches_in_step));
        CHECK(p.problems.empty());
        are_in_order(p);
      }
}

TEST_CASE("step=auto: threads hand a step over within it") {
  traced s("step=auto");
  pool runtime(3);
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    runtime.run(random() % 3, [] { launch("embedding"); });
    runtime.run(random() % 3, [] { launch_layers(); });
    runtime.run(random() % 3, [] {
      launch("loss");
      (void)fake_sync(3, 7, 10);
    });
  }
  profile const& p = s.profile();
  CHECK(p.steps.size() >= 70);
  CHECK(are_all(launches_by_step(p), launches_in_step));
  are_in_order(p);
}

TEST_CASE("step=auto: a pool's threads end and are made anew") {
  for (std::size_t const lifetime : {1u, 3u, 20u}) {
    CAPTURE(lifetime);
    traced s("step=auto");
    pool runtime(4);
    for (std::size_t i = 0; i < 120; ++i) {
      if (i % lifetime == lifetime - 1) runtime.renew((i + 1) % 4);
      runtime.run(i % 4, &train);
    }
    profile const& p = s.profile();
    CHECK(p.steps.size() >= 90);
    CHECK(are_all(launches_by_step(p), launches_in_step));
    are_in_order(p);
  }
}

TEST_CASE("step=auto: a step that is taken over is of the thread that launched it") {
  for (void (*const step)() : {&train, &train_ahead}) {
    traced s("step=auto");
    pool runtime(3);
    for (std::size_t i = 0; i < 120; ++i) runtime.run(i % 3, step);
    profile const& p = s.profile();
    REQUIRE(p.steps.size() >= 30);
    for (strata::step_record const& each : p.steps) {
      strata::driver_call_record const* first = nullptr;
      for (strata::driver_call_record const& one : p.launches)
        if (one.step == each.step && (first == nullptr || one.begin < first->begin)) first = &one;
      REQUIRE(first != nullptr);
      CHECK(first->thread == each.thread);
    }
  }
}

TEST_CASE("step=auto: an evaluation by another thread of the pool is outside of steps") {
  traced s("step=auto");
  pool runtime(4);
  std::size_t next = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 40; ++i) runtime.run(next++ % 4, &train);
    for (int i = 0; i < 3; ++i)
      runtime.run(next++ % 4, [] {
        launch_layers("evaluate");
        launch_layers("evaluate");
        (void)fake_sync(3, 7, 10);
      });
  }
  profile const& p = s.profile();
  std::vector<std::size_t> const counts = launches_by_step(p);
  // 27 until it is found, two after each evaluation; one step ends early in each.
  std::size_t const whole = count_of(counts, launches_in_step);
  CHECK(whole >= 200 - 28 - 4 * 3);
  CHECK(counts.size() - whole <= 5);
  are_in_order(p);
}

TEST_CASE("step=auto: of two loops at once, one has the steps, and the other is said") {
  // B's step is a fifth of A's, and they continue launch by launch.
  traced s("step=auto");
  pool runtime(2);
  std::size_t calls_of_a = 0;
  std::size_t calls_of_b = 0;
  auto const a = [&] {
    std::size_t const call = calls_of_a++ % launches_in_step;
    launch(("a" + std::to_string(call)).c_str());
    if (call == launches_in_step - 1) (void)fake_sync(3, 7, 10);
  };
  auto const b = [&] {
    std::size_t const call = calls_of_b++ % 19;
    launch(("b" + std::to_string(call)).c_str());
    if (call == 18) (void)fake_sync(3, 8, 10);
  };
  for (std::size_t i = 0; i < 40 * launches_in_step; ++i) runtime.run(0, a);
  for (std::size_t i = 0; i < 60 * launches_in_step; ++i) {
    runtime.run(0, a);
    runtime.run(1, b);
  }
  profile const& p = s.profile();
  CHECK(p.steps.size() >= 60);
  are_in_order(p);
  std::uint32_t const driver = p.steps.front().thread;
  std::size_t whole = 0;
  for (strata::step_record const& step : p.steps) CHECK(step.thread == driver);
  for (std::size_t const own : calls_by_step(p, [driver](auto const&call, auto const&) {
         return call.thread == driver && call.kind == strata::api_kind::launch;
       }))
    whole += own == launches_in_step ? 1u : 0u;
  CHECK(p.steps.size() - whole <= 1);  // the one in which B began
  CHECK(has_problem(p, "steps of step=auto not counted: begun while another thread was within"));
}

TEST_CASE("step=auto: two loops that run freely have steps in order") {
  traced s("step=auto");
  train_at_once(2, 150);
  profile const& p = s.profile();
  CHECK(p.steps.size() >= 20);
  CHECK(p.steps.size() <= 300);
  are_in_order(p);
}

TEST_CASE("step=auto: a thread that stands still hands the steps over") {
  // Two loops begin at once, so that one of them drives by itself; it lives on without a launch.
  traced s("step=auto");
  pool runtime(2);
  auto const layer = [](char const* name) { launch(name); };
  for (int i = 0; i < 60 * 20; ++i) {
    runtime.run(0, [&] {
      layer(("a" + std::to_string(i % 20)).c_str());
      if (i % 20 == 19) (void)fake_sync(3, 7, 10);
    });
    runtime.run(1, [&] {
      layer(("b" + std::to_string(i % 23)).c_str());
      if (i % 23 == 22) (void)fake_sync(3, 7, 10);
    });
  }
  for (int i = 0; i < 150; ++i) {
    runtime.run(1, &train);
    usleep(5000);
  }
  profile const& p = s.profile();
  // 27 until its period is found, 100 ms until it is believed that the other one stands still.
  CHECK(count_of(launches_by_step(p), launches_in_step) >= 150 - 27 - 24);
  are_in_order(p);
}

TEST_CASE("step=graph: the threads of a pool launch the graph in turns") {
  graphs const decode;
  for (std::size_t const threads : {2u, 8u}) {
    CAPTURE(threads);
    traced s("step=graph");
    pool runtime(threads);
    for (std::size_t token = 0; token < 60; ++token)
      runtime.run(token % threads, [&] {
        (void)fake_graph_launch(decode.executable, 7);
        launch("sample");
      });
    profile const& p = s.profile();
    CHECK(p.steps.size() == 60 - 8);
    CHECK(are_all(launches_by_step(p), 1));
    CHECK(p.problems.empty());
    are_in_order(p);
  }
}

TEST_CASE("step=auto: windows and counters of steps that threads launch in turns") {
  {
    traced s("step=auto,skip=5,warmup=1,active=4");
    pool runtime(4);
    for (std::size_t i = 0; i < 60; ++i) runtime.run(i % 4, &train);
    profile const& p = s.profile();
    REQUIRE(p.steps.size() == 4);
    CHECK(count_in_steps(p, p.kernels) == 4 * launches_in_step);
    CHECK(are_all(launches_by_step(p), launches_in_step));
  }
  fake::counting s(std::string(fake::hbm_read) + "+" + fake::l2_bytes, "step=auto");
  pool runtime(4);
  for (std::size_t i = 0; i < 100; ++i) runtime.run(i % 4, &train);
  profile const& p = fake::clean(s);
  CHECK(p.steps.size() == 1);
}

TEST_CASE("step=auto: many threads at once") {
  traced s("step=auto");
  train_at_once(12, 60);
  profile const& p = s.profile();
  CHECK(p.has_steps);
  CHECK(p.kernels.size() == 12 * 60 * launches_in_step);
}

TEST_CASE("STRATA_STEP() is none beside such steps, and a later session has its own") {
  {
    traced s("step=auto");
    for (int i = 0; i < 100; ++i) {
      STRATA_STEP();
      train();
    }
    CHECK(are_all(launches_by_step(s.profile()), launches_in_step));
    CHECK(s.profile().steps.size() < 99);
    CHECK(has_problem(s.profile(),
                      "STRATA_STEP() of the program is not used with step=auto: leave "
                      "step= out to use it"));
  }
  traced s;
  {
    STRATA_STEP();
    train();
  }
  CHECK(s.profile().steps.size() == 1);
  CHECK_FALSE(has_problem(s.profile(), "is not used"));
}

TEST_CASE("counters are of such steps, whose passes begin and end within callbacks") {
  for (std::string const key : {"step=graph", "step=sync", "step=auto"}) {
    CAPTURE(key);
    graphs const decode;
    fake::counting s(std::string(fake::hbm_read) + "+" + fake::l2_bytes, key);
    for (int token = 0; token < 100; ++token) {
      STRATA_RANGE("token");
      fake::launch_blocks(1, "begin");
      (void)fake_graph_launch(decode.executable, 7);
      fake::launch_blocks(2, "sample");
      (void)fake_sync(3, 7, 10);
    }
    profile const& p = fake::clean(s);
    CHECK(p.steps.size() == 1);
    CHECK(fake::counted(p).total("token", fake::hbm_read) == 32.0 * 4);
  }
}

TEST_CASE("windows that are reported one by one are of such steps") {
  test::work_folder const folder;
  std::string const out = folder / "out";
  strata::session s(
      fake::configure("trace,formats=csv,step=auto,every=20,active=2,keep=3,out=" + out));
  fake::unscript();
  fake_set_auto_delivery(1);
  REQUIRE(s.start().ok());
  for (int i = 0; i < 100; ++i) {
    train();
    usleep(1000);
  }
  std::string const printed = folder / "printed";
  int const before = ::dup(STDERR_FILENO);
  int const file = ::open(printed.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(::dup2(file, STDERR_FILENO) >= 0);
  strata::detail::standard_error::begin();  // else nothing is written into another file
  CHECK(s.report().ok());
  REQUIRE(::dup2(before, STDERR_FILENO) >= 0);
  strata::detail::standard_error::begin();
  (void)::close(before);
  (void)::close(file);
  CHECK(test::content(printed).find("steps, ended by waits, with") != std::string::npos);
  std::string const kernels = test::content(out + "/001/kernels.csv");
  CHECK(kernels.find("embedding") != std::string::npos);
  CHECK(kernels.find("layer11") != std::string::npos);
}

TEST_CASE("host: no calls are followed, which is said") {
  strata::session s(fake::configure("host,formats=none,step=auto"));
  REQUIRE(s.start().ok());
  train();
  CHECK(has_problem(s.profile(), "step=auto: no launch was followed"));
}

}  // namespace call_steps_test
