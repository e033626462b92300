// What rules say of steps as a whole: by hand, and of programs that sleep, wait for a CPU, grow or
// have one slow step.
#include <doctest/doctest.h>

#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "finding_sample.hpp"
#include "recording.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace step_rules_test {

using namespace strata;
using finding_test::answer;
using finding_test::program;
using finding_test::us;

namespace {

constexpr std::string_view rules[] = {"preempted", "host-waits", "steps-drift", "slow-step"};

/// Steps of these lengths on the host, of which the thread has a CPU for that part; with a range.
program of_host(std::vector<double> const& steps_us, double cpu = 1.0, std::uint32_t voluntary = 0,
                std::uint32_t involuntary = 0) {
  program p;
  p.made.traced = false;
  for (double const each : steps_us)
    p.run(1, [&] {
      p.in(p.mlp, [&](std::uint32_t) { p.now += static_cast<std::int64_t>(each * 1000.0); });
    });
  for (step_record& step : p.made.steps) {
    step.cpu_ns = static_cast<std::int64_t>(cpu * static_cast<double>(step.end - step.begin));
    step.voluntary_switches = voluntary;
    step.involuntary_switches = involuntary;
  }
  return p;
}
std::vector<double> even(std::size_t count) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(1000.0 + 10.0 * static_cast<double>(i * 7 % 5));
  return all;
}
std::vector<double> growing(std::size_t count, double factor) {
  std::vector<double> all = even(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] *= 1.0 + (factor - 1.0) * static_cast<double>(i) / static_cast<double>(count - 1);
  return all;
}
void is_silent(profile const& made) {
  answer const a(made);
  INFO(a.all());
  for (std::string_view const rule : rules) {
    CAPTURE(rule);
    CHECK(a.find(rule) == nullptr);
  }
}
/// Exactly that rule of these speaks.
finding says(answer const& a, std::string_view rule) {
  INFO(a.all());
  for (std::string_view const other : rules) {
    CAPTURE(other);
    CHECK((a.find(other) != nullptr) == (other == rule));
  }
  REQUIRE(a.find(rule) != nullptr);
  CHECK(a.find(rule)->of_step);
  return *a.find(rule);
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("even steps with a CPU of their own: silence") {
  for (std::size_t const count : {1u, 2u, 3u, 8u, 12u, 40u, 500u}) {
    CAPTURE(count);
    is_silent(of_host(even(count)).made);
    is_silent(of_host(even(count), 0.99, 0, 3).made);  // a tick now and then
    is_silent(of_host(even(count), 0.97, 2, 1).made);
    is_silent(of_host(even(count), 0.0).made);  // not measured
  }
}

TEST_CASE("preempted: others take the CPU of the steps") {
  std::vector<double> const steps = even(20);
  answer const a(of_host(steps, 0.41, 2, 814).made);
  finding const found = says(a, "preempted");
  CHECK(has(found.title, "has a CPU for 41 % of a step: others take it 814 times a step"));
  CHECK(found.cost_ns_per_step == doctest::Approx(0.59 * 1.02e6).epsilon(0.01));
  CHECK(has(a.input.findings.bound, "The thread of the steps has a CPU for 41 % of it."));
  is_silent(of_host(steps, 0.96, 0, 5).made);          // less than a twentieth
  is_silent(of_host({900.0, 900.0}, 0.4, 0, 5).made);  // one step after the first
  // The first step is no evidence.
  program p = of_host(steps);
  p.made.steps[0].cpu_ns /= 3;
  p.made.steps[0].involuntary_switches = 1000;
  is_silent(p.made);
}

TEST_CASE("preempted: not where the thread sleeps as well, for how long is not known") {
  std::vector<double> const steps = even(20);
  for (std::uint32_t const taken : {1u, 2u}) {
    CAPTURE(taken);
    says(answer(of_host(steps, 0.2, 1, taken).made), "host-waits");
  }
  is_silent(of_host(steps, 0.2, 2, 10).made);  // either may take the time
  says(answer(of_host(steps, 0.2, 1, 10).made), "preempted");
}

TEST_CASE("preempted: it names the cause of calls that vary, unless these take far more") {
  // Every fifth step takes 2 ms more.
  std::vector<double> steps = even(40);
  for (std::size_t i = 4; i < steps.size(); i += 5) steps[i] += 2000.0;
  auto const with = [&](double min_cpu) {
    program p = of_host(steps, 1.0, 0, 2);
    for (step_record& step : p.made.steps) {
      std::int64_t const ns = step.end - step.begin;
      bool const is_long = ns > 2'000'000;
      step.cpu_ns =
          is_long ? static_cast<std::int64_t>(min_cpu * static_cast<double>(ns)) : ns * 90 / 100;
    }
    return p;
  };
  answer const taken(with(0.33).made);  // the 2 ms are those without a CPU
  INFO(taken.all());
  CHECK(taken.find("preempted") != nullptr);
  CHECK(taken.find("varying-calls") == nullptr);
  answer const computed(with(0.95).made);  // they are not
  INFO(computed.all());
  CHECK(computed.find("preempted") != nullptr);
  CHECK(computed.find("varying-calls") != nullptr);
}

TEST_CASE("slow-step: what takes the CPU of one step alone is not said of all") {
  std::vector<double> steps = even(20);
  steps[9] = 40'000.0;
  program p = of_host(steps, 1.0, 0, 0);
  p.made.steps[9].cpu_ns /= 40;
  p.made.steps[9].involuntary_switches = 100;
  answer const a(p.made);
  finding const found = says(a, "slow-step");
  CHECK(has(found.title, "its thread has a CPU for 2 % of it"));
}

TEST_CASE("host-waits: it sleeps or waits") {
  std::vector<double> const steps = even(20);
  answer const a(of_host(steps, 0.3, 10, 1).made);
  finding const found = says(a, "host-waits");
  CHECK(has(found.title, "of a step, 10 times a step"));
  CHECK(found.cost_ns_per_step == doctest::Approx(0.7 * 1.02e6).epsilon(0.01));
  is_silent(of_host(steps, 0.85, 10, 1).made);  // a sixth of a step
  // Threads with ranges work for it meanwhile.
  program p = of_host(steps, 0.3, 10, 1);
  std::uint32_t const worker = p.node(0, "worker");
  for (step_record const& step : p.made.steps) {
    range_record& range = p.call(worker, step.begin, step.end - 10);
    range.step = step.step;
    range.thread = 1;
  }
  is_silent(p.made);
}

TEST_CASE("steps-drift: steps grow, or get shorter") {
  answer const a(of_host(growing(30, 2.5)).made);
  finding const found = says(a, "steps-drift");
  CHECK(has(found.title, "Steps grow over the run: "));
  CHECK(has(found.title, ", as does the CPU time of their thread"));
  CHECK(found.cost_ns_per_step > 0.2e6);
  // The CPU time stays: the thread waits.
  program waits = of_host(growing(30, 2.5), 1.0, 0, 0);
  for (step_record& step : waits.made.steps) step.cpu_ns = 1'000'000;
  for (step_record& step : waits.made.steps) step.voluntary_switches = 0;
  answer const b(waits.made);
  INFO(b.all());
  REQUIRE(b.find("steps-drift") != nullptr);
  CHECK(has(b.find("steps-drift")->title, "in which their thread waits, or has no CPU"));
  // It grows as many times, from microseconds: they are not what makes the step longer.
  for (std::size_t i = 0; i < waits.made.steps.size(); ++i)
    waits.made.steps[i].cpu_ns = 1'000 + 200 * static_cast<std::int64_t>(i);
  answer const sleeps(waits.made);
  REQUIRE(sleeps.find("steps-drift") != nullptr);
  CHECK(has(sleeps.find("steps-drift")->title, "in which their thread waits, or has no CPU"));
  is_silent(of_host(growing(30, 1.15)).made);
  is_silent(of_host(growing(10, 2.5)).made);  // few
  answer const c(of_host(growing(30, 0.5)).made);
  finding const shorter = says(c, "steps-drift");
  CHECK(has(shorter.title, "Steps get shorter over the run: "));
  CHECK(has(std::string(shorter.advice), "warmup=1") == false);
  CHECK(has(std::string(shorter.advice), "warmup="));
  CHECK(shorter.cost_ns_per_step == 0.0);
  // Up and down is no drift.
  std::vector<double> waves = even(30);
  for (std::size_t i = 0; i < waves.size(); ++i) waves[i] *= i / 5 % 2 == 0 ? 1.0 : 1.28;
  is_silent(of_host(waves).made);
}

TEST_CASE("the sentence: of few steps with a far longer one none takes the mean") {
  auto const bound = [](std::vector<std::int64_t> const& steps_us) {
    program p;
    for (std::int64_t const each : steps_us)
      p.run(1, [&] {
        p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, each * us, 10000); });
        p.wait();
      });
    return answer(p.made).input.findings.bound;
  };
  CHECK(
      has(bound({1000, 1000, 3000}), "No step is like the mean of these 3: the longest takes 3.0"));
  CHECK_FALSE(has(bound({1000, 1000, 1400}), "No step is like"));
  CHECK_FALSE(has(bound({3000, 1000, 1000, 1000}), "No step is like"));  // the mean is without it
  CHECK_FALSE(has(bound({1000, 3000}), "No step is like"));
  CHECK_FALSE(has(bound({1000, 1000, 1000, 1000, 1000, 1000, 1000, 3000}), "No step is like"));
}

TEST_CASE("slow-step: one among even ones") {
  std::vector<double> steps = even(40);
  steps[17] = 9000.0;
  answer const a(of_host(steps).made);
  finding const found = says(a, "slow-step");
  CHECK(has(found.title, "Step 17 takes 9.00 ms, the median one 1.02 ms"));
  CHECK(found.cost_ns_per_step == doctest::Approx(7.98e6 / 39).epsilon(0.01));
  steps[18] = 5000.0;
  CHECK(answer(of_host(steps).made).find("slow-step") == nullptr);  // one of twenty at most
  std::vector<double> many = even(100);
  many[17] = many[50] = 30000.0;
  CHECK(has(says(answer(of_host(many).made), "slow-step").title, "; 1 more are as slow"));
  std::vector<double> first = even(40);
  first[0] = 9000.0;
  is_silent(of_host(first).made);  // that is finding first-step
  std::vector<double> uneven = even(40);
  for (std::size_t i = 0; i < uneven.size(); i += 2) uneven[i] *= 1.5;
  uneven[17] = 9000.0;
  is_silent(of_host(uneven).made);
}

TEST_CASE("a GPU that works all the time is not accused") {
  for (int const kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    program p;
    for (int i = 0; i < 40; ++i)
      p.run(1, [&] {
        double const factor = kind == 2 ? 1.0 + i / 20.0 : kind == 3 && i == 17 ? 10.0 : 1.0;
        p.in(p.attention, [&](std::uint32_t at) {
          p.kernel_of(at, static_cast<std::int64_t>(2000.0 * factor) * us);
        });
        p.wait();
      });
    for (step_record& step : p.made.steps) {
      step.cpu_ns = (step.end - step.begin) / (kind == 0 ? 2 : 10);
      step.involuntary_switches = kind == 0 ? 300 : 0;
      step.voluntary_switches = kind == 0 ? 0 : 5;
    }
    is_silent(p.made);
  }
}

namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}
void compute(double ms) {
  double const until = cpu_ms() + ms;
  while (cpu_ms() < until) {
  }
}
void nap(double ms) {
  timespec const time{0, static_cast<long>(ms * 1e6)};
  nanosleep(&time, nullptr);
}
/// Another process that computes on the CPU of this thread, which stays on it, until the end.
class competitor {
 public:
  competitor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    child_ = fork();
    if (child_ == 0) {
      alarm(60);
      for (;;) {
      }
    }
  }
  ~competitor() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    sched_setaffinity(0, sizeof before_, &before_);
  }
  competitor(competitor const&) = delete;

 private:
  cpu_set_t before_;
  pid_t child_ = -1;
};
template <class Body>
profile recorded(int steps, Body body) {
  recording_test::recording all;
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    STRATA_RANGE("work");
    body(i);
  }
  return all.profile();
}

}  // namespace

TEST_CASE("a step has the CPU time and the switches of its thread") {
  profile const p = recorded(4, [](int) {
    compute(3.0);
    for (int i = 0; i < 5; ++i) nap(0.5);
  });
  REQUIRE(p.steps.size() == 4);
  for (step_record const& step : p.steps) {
    CHECK(step.cpu_ns >= 2'900'000);
    CHECK(step.cpu_ns <= step.end - step.begin + 10'000'000);  // kernels may count it by ticks
    CHECK(step.voluntary_switches >= 5);
  }
}

TEST_CASE("steps that are too short for it are left out, and the recorder asks seldom") {
  profile const p = recorded(10'000, [](int) {});
  std::size_t measured = 0;
  for (step_record const& step : p.steps) measured += step.cpu_ns != 0 ? 1 : 0;
  CHECK(measured > 0);
  CHECK(measured < 2'000);
}

TEST_CASE("a program that sleeps in its steps") {
  answer const a(recorded(8, [](int) {
    compute(0.2);
    for (int i = 0; i < 10; ++i) nap(1.0);
  }));
  INFO(a.all());
  REQUIRE(a.find("host-waits") != nullptr);
  CHECK(a.find("host-waits")->cost_ns_per_step > 8e6);
  CHECK(a.find("preempted") == nullptr);
}

TEST_CASE("a program beside another one on its CPU") {
  competitor const other;
  answer const a(recorded(6, [](int) { compute(40.0); }));
  INFO(a.all());
  REQUIRE(a.find("preempted") != nullptr);
  CHECK(a.find("preempted")->cost_ns_per_step > 10e6);
  CHECK(a.find("host-waits") == nullptr);
}

TEST_CASE("a program whose steps grow") {
  answer const a(recorded(24, [](int i) { nap(1.0 + 3.0 * i); }));
  INFO(a.all());
  REQUIRE(a.find("steps-drift") != nullptr);
  CHECK(has(a.find("steps-drift")->title, "in which their thread waits, or has no CPU"));
}

}  // namespace step_rules_test
