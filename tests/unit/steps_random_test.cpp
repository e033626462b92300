// The mean step of random programs, compared with a reference that looks at every nanosecond.
#include <doctest/doctest.h>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/steps.hpp>
#include "analyse/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "random_steps.hpp"

namespace steps_random_test {

using namespace strata;
using sample::random_steps;
using sample::step_end;

namespace {

/// What each nanosecond is.
class reference {
 public:
  explicit reference(profile const& source) : source_(source) {
    auto const length = static_cast<std::size_t>(source.end) + 10'000;
    owner_.assign(length, nobody);
    for (kernel_record const& each : source.kernels)
      works_.push_back({each.begin, each.end, step_of(each.correlation), true});
    for (copy_record const& each : source.copies)
      works_.push_back({each.begin, each.end, step_of(each.correlation), false});
    std::stable_sort(works_.begin(), works_.end(),
                     [](work const& a, work const& b) { return a.begin < b.begin; });
    for (work const& each : works_)
      for (std::int64_t ns = each.begin; ns < each.end; ++ns)
        if (owner(ns) == nobody) owner(ns) = each.step;
  }

  /// Time in which the device worked, by the step of what began to work first.
  double busy(std::uint32_t first) const {
    double sum = 0.0;
    for (std::uint32_t const step : owner_)
      sum += step != nobody && step != no_step && step >= first;
    return sum;
  }
  double busy_beside_steps() const {
    return static_cast<double>(std::count(owner_.begin(), owner_.end(), no_step));
  }
  /// Time of the steps in which the device did nothing.
  double idle(std::uint32_t first) const {
    double sum = 0.0;
    for (step_record const& step : source_.steps)
      if (step.step >= first)
        sum += static_cast<double>(
            std::count(owner_.begin() + step.begin, owner_.begin() + step.end, nobody));
    return sum;
  }
  /// Kernels of these steps beyond the first at a time.
  double overlap(std::uint32_t first) const {
    std::vector<std::uint32_t> running(owner_.size(), 0);
    for (work const& each : works_)
      if (each.is_kernel && each.step != no_step && each.step >= first)
        for (std::int64_t ns = each.begin; ns < each.end; ++ns)
          ++running[static_cast<std::size_t>(ns)];
    double sum = 0.0;
    for (std::uint32_t const count : running) sum += count > 1 ? count - 1 : 0;
    return sum;
  }
  double host(std::uint32_t first) const {
    double sum = 0.0;
    for (step_record const& step : source_.steps)
      if (step.step >= first) sum += static_cast<double>(step.end - step.begin);
    return sum;
  }
  /// From the first work to the last one's end.
  std::pair<std::size_t, std::size_t> active() const {
    std::size_t first = 0;
    while (owner_[first] == nobody) ++first;
    std::size_t last = owner_.size();
    while (owner_[last - 1] == nobody) --last;
    return {first, last};
  }
  bool has_work() const { return !works_.empty(); }
  bool is_idle(std::size_t ns) const { return owner_[ns] == nobody; }

 private:
  struct work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t step;
    bool is_kernel;
  };
  static constexpr std::uint32_t nobody = 0xfffffff0u;

  std::uint32_t& owner(std::int64_t ns) { return owner_[static_cast<std::size_t>(ns)]; }
  std::uint32_t step_of(std::uint32_t correlation) const {
    for (driver_call_record const& each : source_.launches)
      if (each.correlation == correlation) return each.step;
    return no_step;
  }

  profile const& source_;
  std::vector<work> works_;
  std::vector<std::uint32_t> owner_;  ///< the step whose work runs, by ns
};

double idle_sum(step_analysis const& steps) {
  double sum = 0.0;
  for (idle_time const& idle : steps.idle) sum += idle.ns;
  return sum;
}

step_analysis steps_of(profile const& source) {
  call_tree const folded(source, folding::by_name);
  call_tree const tree(source);
  step_analysis const steps = make_steps(source, folded, tree.rows());
  // What the analysis adds changes nothing of what the tables alone show.
  steps_summary const mean = make_mean_step(source, folded, tree.rows());
  CHECK(mean.period_ns() == steps.period_ns());
  CHECK(mean.period_busy_ns() == steps.period_busy_ns());
  CHECK(mean.outside_gpu_ns == steps.outside_gpu_ns);
  return steps;
}

doctest::Approx about(double ns) { return doctest::Approx(ns).epsilon(1e-9).scale(1.0); }

}  // namespace

TEST_CASE("random steps that wait: busy, idle and overlap are those of every nanosecond") {
  std::size_t dear = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    random_steps program(seed, step_end::waits);
    profile const& source = program.run(1 + static_cast<std::uint32_t>(seed % 9));
    reference const expected(source);
    step_analysis const steps = steps_of(source);
    REQUIRE_FALSE(steps.period_of_gpu);
    std::uint32_t const first = steps.without_first ? 1 : 0;
    dear += first;
    double const count = static_cast<double>(source.steps.size() - first);
    CHECK(steps.typical_count() == count);
    CHECK(steps.mean_ns == about(expected.host(first) / count));
    CHECK(steps.gpu_busy_ns == about(expected.busy(first) / count));
    CHECK(steps.active_busy_ns == about(steps.gpu_busy_ns));
    CHECK(steps.gpu_idle_ns == about(expected.idle(first) / count));
    CHECK(idle_sum(steps) == about(steps.gpu_idle_ns));
    CHECK(steps.overlap_ns == about(expected.overlap(first) / count));
    CHECK(steps.outside_gpu_ns == about(expected.busy_beside_steps()));
    CHECK(steps.gpu_busy_ns <= steps.mean_ns);
  }
  CHECK(dear > 20);
}

TEST_CASE("random steps that only launch: the device is never busier than a step is long") {
  std::size_t periods = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    random_steps program(seed, seed % 2 == 0 ? step_end::goes_on : step_end::sometimes);
    profile const& source = program.run(1 + static_cast<std::uint32_t>(seed % 9));
    reference const expected(source);
    step_analysis const steps = steps_of(source);
    periods += steps.period_of_gpu;
    std::uint32_t const first = steps.without_first ? 1 : 0;
    double const count = static_cast<double>(source.steps.size() - first);
    double const busy = expected.busy(first) / count;
    CHECK(steps.gpu_busy_ns == about(std::min(busy, steps.mean_ns)));
    CHECK(steps.active_busy_ns == about(steps.gpu_busy_ns));
    CHECK(steps.gpu_idle_ns == about(steps.mean_ns - steps.gpu_busy_ns));
    CHECK(steps.overlap_ns == about(expected.overlap(first) / count));
    CHECK(steps.outside_gpu_ns == about(expected.busy_beside_steps()));
    for (idle_time const& idle : steps.idle) CHECK(idle.ns >= 0.0);
  }
  CHECK(periods > 100);
}

TEST_CASE("random programs without steps: active is from the first work to the last") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    random_steps program(seed, step_end::goes_on);
    profile source = program.run(6);
    source.has_steps = false;
    source.steps.clear();
    for (driver_call_record& each : source.launches) each.step = no_step;
    reference const expected(source);
    if (!expected.has_work()) continue;
    step_analysis const steps = steps_of(source);
    auto const active = expected.active();
    double idle = 0.0;
    for (std::size_t ns = active.first; ns < active.second; ++ns) idle += expected.is_idle(ns);
    CHECK(steps.active_ns == about(static_cast<double>(active.second - active.first)));
    CHECK(steps.active_busy_ns == about(steps.active_ns - idle));
    CHECK(idle_sum(steps) == about(idle));
    CHECK(steps.gpu_busy_ns <= steps.mean_ns);
  }
}

TEST_CASE("a loop that only launches is seen as one beside a dear first step") {
  for (std::int64_t const dear : {0, 1'000'000, 1'000'000'000}) {
    CAPTURE(dear);
    sample::maker program;
    std::uint32_t const range = program.node(0, "a");
    profile& made = program.made;
    made.traced = made.has_steps = true;
    made.kernel_names.push_back({"work"});
    std::int64_t now = 1000;
    std::int64_t free = 0;
    for (std::uint32_t step = 0; step < 20; ++step) {
      std::int64_t const begin = now;
      if (step == 0) now += dear;  // modules are loaded
      std::uint32_t const id = program.launch(range, now, now + 3'000);
      made.launches.back().step = step;
      now += 3'000;
      std::int64_t const start = std::max(now, free) + 500;
      free = start + 99'500;
      program.kernel(id, start, free).name = 1;
      now += 7'000;
      made.steps.push_back({begin, now, step, 0});
    }
    made.end = free + 1;
    made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
    step_analysis const steps = steps_of(made);
    CHECK(steps.period_of_gpu);
    CHECK(steps.p50_ns == about(100'000));
    CHECK(steps.mean_ns == about(100'000));
    CHECK(steps.gpu_busy_ns == about(99'500));
    CHECK(idle_sum(steps) == doctest::Approx(500).epsilon(0.01));
  }
}

}  // namespace steps_random_test
