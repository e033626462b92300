#include <strata/base/clock.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "../work_folder.hpp"

namespace clock_test {

using namespace strata::detail;

TEST_CASE("ticks continue, in every thread") {
  tick_source const clock;
  std::string const name = clock.name();
  CHECK((name == "tsc" || name == "cntvct" || name == "steady_clock"));
  std::int64_t last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    std::int64_t const now = clock.now();
    if (now < last) CHECK(now >= last);
    last = now;
  }
  std::int64_t other = 0;
  std::thread([&] { other = clock.now(); }).join();
  CHECK(other >= last);
  CHECK(clock.now() >= other);
}

#if defined(__x86_64__)
TEST_CASE("the TSC is used where the kernel uses it, and nowhere else") {
  test::work_folder const here;
  std::string const path = here / "current_clocksource";
  auto const clock_for = [&](char const* kernel_says) {
    std::ofstream(path) << kernel_says;
    return std::string(tick_source(path.c_str()).name());
  };
  for (char const* const other : {"hpet\n", "acpi_pm\n", "kvm-clock\n", "tsc-early\n", "", "ts"})
    CHECK(clock_for(other) == "steady_clock");
  CHECK(std::string(tick_source("/nonexistent/file").name()) == "steady_clock");
  std::ifstream cpus("/proc/cpuinfo");
  std::string const about{std::istreambuf_iterator<char>(cpus), {}};
  bool const invariant = about.find(" nonstop_tsc") != std::string::npos;
  CHECK(clock_for("tsc\n") == (invariant ? "tsc" : "steady_clock"));
}
#endif

TEST_CASE("a clock that is not the TSC continues as well") {
  tick_source const clock("/nonexistent/file");
  std::int64_t const before = clock.now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(clock.now() > before);
}

TEST_CASE("a sample lies between the reads around it") {
  tick_source const clock;
  std::int64_t const before = clock.now();
  std::int64_t const other_before = monotonic_ns();
  clock_sample const sample = sample_clock(clock, monotonic_ns);
  CHECK(sample.ticks >= before);
  CHECK(sample.ticks <= clock.now());
  CHECK(sample.other >= other_before);
  CHECK(sample.other <= monotonic_ns());
}

TEST_CASE("the narrowest of a few samples is taken") {
  struct stub {
    mutable std::int64_t calls = 0;
    std::int64_t operator()() const { return ++calls * 100; }
  };
  stub const other;
  clock_sample const sample = sample_clock(tick_source{}, other);
  CHECK(other.calls == 5);
  CHECK(sample.other >= 100);
  CHECK(sample.other <= 500);
}

TEST_CASE("a thread that waits within one reading makes the sample no wider") {
  constexpr std::int64_t wait_ns = 20'000'000;
  int calls = 0;
  clock_sample const sample = sample_clock(tick_source{}, [&] {
    if (++calls == 2) std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
    return monotonic_ns();
  });
  CHECK(sample.before - sample.after < wait_ns);
  CHECK(sample.other >= sample.after);
  CHECK(sample.other <= sample.before);
}

TEST_CASE("ticks to ns") {
  tick_converter const c({1000, 50}, {3000, 1050});  // half a ns a tick
  CHECK(c.ns_per_tick() == 0.5);
  CHECK(c.to_ns(1000) == 0);
  CHECK(c.to_ns(3000) == 1000);
  CHECK(c.to_ns(1001) == 1);  // rounded
  CHECK(c.to_ns(999) == -1);
  CHECK(c.to_ns(0) == -500);
  CHECK(tick_converter().to_ns(7) == 7);
  CHECK(tick_converter({5, 5}, {5, 9}).to_ns(8) == 3);  // no rate: a tick is a ns
  CHECK(tick_converter({9, 5}, {5, 9}).ns_per_tick() == 1.0);
  // A day at 3 GHz keeps its ns.
  std::int64_t const day = 86'400'000'000'000;
  tick_converter const long_run({1'000'000'007, 0}, {1'000'000'007 + 3 * day, day});
  CHECK(long_run.to_ns(1'000'000'007 + 3 * day) == day);
  CHECK(long_run.to_ns(1'000'000'007 + 3 * (day - 12'345)) == day - 12'345);
}

TEST_CASE("another clock, by samples") {
  tick_converter const ticks({0, 0}, {1000, 1000});
  clock_bridge bridge;
  CHECK(bridge.to_ns(77, ticks) == 77);

  bridge.add({100, 5000});
  CHECK(bridge.to_ns(5000, ticks) == 100);
  CHECK(bridge.to_ns(4900, ticks) == 0);
  CHECK(bridge.to_ns(5100, ticks) == 200);

  bridge.add({300, 5100});  // the other clock was slow here: 2 ns a unit
  bridge.add({350, 5050});  // went back: ignored
  bridge.add({400, 5200});
  CHECK(bridge.to_ns(4990, ticks) == 90);
  CHECK(bridge.to_ns(5000, ticks) == 100);
  CHECK(bridge.to_ns(5050, ticks) == 200);
  CHECK(bridge.to_ns(5100, ticks) == 300);
  CHECK(bridge.to_ns(5150, ticks) == 350);
  CHECK(bridge.to_ns(5200, ticks) == 400);
  CHECK(bridge.to_ns(5300, ticks) == 500);
  bridge.clear();
  CHECK(bridge.to_ns(5300, ticks) == 5300);
}

TEST_CASE("a clock that was set between two samples shifts what is near it, and no more") {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t jump = 50'000'000;
  tick_converter const ticks({0, 0}, {second, second});
  clock_bridge bridge;
  for (std::int64_t i = 0; i <= 3; ++i) bridge.add({i * second, i * second + (i > 1 ? jump : 0)});
  CHECK(bridge.to_ns(second - 7, ticks) == second - 7);
  CHECK(bridge.to_ns(second + second / 4, ticks) == second + second / 4);
  CHECK(bridge.to_ns(2 * second - second / 4 + jump, ticks) == 2 * second - second / 4);
  CHECK(bridge.to_ns(3 * second - 7 + jump, ticks) == 3 * second - 7);
}

TEST_CASE("a clock that is set back continues, and one that drifts is left as it is") {
  constexpr std::int64_t second = 1'000'000'000;
  strata::detail::continued_clock clock;
  CHECK_FALSE(clock.read(500 * second, second, second + 10));
  CHECK_FALSE(clock.read(501 * second - 900'000, 2 * second, 2 * second + 10));  // it drifts
  CHECK_FALSE(clock.read(600 * second, 3 * second, 3 * second + 10));            // it was set
  CHECK(clock.continued(600 * second) == 600 * second);
  CHECK(clock.read(100 * second, 4 * second, 4 * second + 10));
  CHECK(clock.continued(100 * second) == 601 * second - 10);
  CHECK_FALSE(clock.read(101 * second, 5 * second, 5 * second + 10));
  CHECK(clock.continued(102 * second) == 603 * second - 10);
}

TEST_CASE("times around a moment at which the clock was set lie between the two samples") {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t hour = 3600 * second;
  tick_converter const ticks({0, 0}, {second, second});
  clock_bridge bridge;
  bridge.add({0, 0});
  bridge.add({second, second + hour});
  CHECK(bridge.to_ns(second - 7, ticks) == second - 7);  // before
  CHECK(bridge.to_ns(hour + 7, ticks) == 7);             // after
  CHECK(bridge.to_ns(hour / 3, ticks) == second);        // shown at no time
  CHECK(bridge.to_ns(hour / 3 * 2, ticks) == 0);
}

TEST_CASE("a clock that is set forth continues where that is wanted") {
  constexpr std::int64_t second = 1'000'000'000;
  continued_clock clock;
  CHECK_FALSE(clock.read(500 * second, second, second));
  CHECK_FALSE(clock.close_gap());
  CHECK_FALSE(clock.read(501 * second + 900'000, 2 * second, 2 * second));  // it drifts
  CHECK_FALSE(clock.close_gap());
  CHECK_FALSE(clock.read(600 * second, 3 * second, 3 * second));
  CHECK(clock.continued(600 * second) == 600 * second);
  CHECK(clock.close_gap());
  CHECK_FALSE(clock.close_gap());
  CHECK(clock.continued(600 * second) == 502 * second + 900'000);
  CHECK_FALSE(clock.read(601 * second, 4 * second, 4 * second));
  CHECK(clock.continued(601 * second) == 503 * second + 900'000);
}

TEST_CASE("time 0 of the steady clock in ns since 1970") {
  std::int64_t const before = realtime_ns();
  std::int64_t const now = strata::detail::kernel_ns() + realtime_origin_ns();
  std::int64_t const after = realtime_ns();
  CHECK(now > before - 100'000);  // the two clocks are read one after the other
  CHECK(now < after + 100'000);
  CHECK(suspended_ns() >= -1'000'000);
}

TEST_CASE("a bridge over many samples never goes back") {
  tick_converter const ticks({0, 0}, {1000, 1000});
  clock_bridge bridge;
  std::int64_t other = 1'700'000'000'000'000'000;
  for (int i = 0; i < 100; ++i) {
    bridge.add({i * 1000, other});
    other += 900 + (i * 37) % 200;
  }
  std::int64_t last = bridge.to_ns(1'700'000'000'000'000'000 - 50, ticks);
  for (std::int64_t t = 1'700'000'000'000'000'000; t < other; t += 7) {
    std::int64_t const ns = bridge.to_ns(t, ticks);
    if (ns < last) CHECK(ns >= last);
    last = ns;
  }
}

}  // namespace clock_test
