// Trials timed by records of device work.
#include "benchmark/benchmark.hpp"
#include <doctest/doctest.h>
#include <strata/session/problem_log.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "fake_session.hpp"

namespace benchmark_test {

using fake::about;
using fake::launch;

namespace {

std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A kernel with these times on the device, whenever the host launches it; returns its end.
std::int64_t launch_at(std::int64_t at, std::int64_t ns) {
  fake_set_next_times(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(at + ns));
  (void)launch();
  return at + ns;
}

std::int64_t whole(double ns) { return static_cast<std::int64_t>(ns); }

}  // namespace

TEST_CASE("trials are timed from the start of their first kernel to the end of the last") {
  fake::unscript();
  strata::benchmarks all;
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n : {100, 200, 400}) {
      strata::benchmark_options how{2, 4};
      how.x = {"n", n};
      all.run(
          "kernels", [&] { launch_at(launch_at(now(), n * 1000), n * 1000); }, how,
          [] { launch("flush", 7, 5'000'000); });
    }
  strata::benchmark_options several{0, 4, 5};
  several.x = {"n", 100};
  several.y = {"k", 3};
  int calls = 0;
  std::int64_t end = 0;
  all.run(
      "pair",
      [&] {
        if (calls++ % 5 == 0) end = now();
        end = launch_at(end, 10'000);
      },
      several);
  all.run("host", [] {}, {0, 4});
  strata::vec<strata::benchmark_result> const& found = all.results();
  REQUIRE(found.size() == 5);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(found[i].by_device);
    CHECK(found[i].ns.size() == 8);
    std::int64_t const expected = 2000 * found[i].how.x.value;
    CHECK(about(whole(found[i].median_ns), expected));
    CHECK(about(whole(found[i].p95_ns), expected));
  }
  CHECK(found[3].by_device);
  CHECK(about(whole(found[3].median_ns), 10'000));  // of one of five calls
  CHECK_FALSE(found[4].by_device);
}

TEST_CASE("a trial whose work was not recorded leaves the run to the host") {
  fake::unscript();
  strata::benchmarks all;
  int calls = 0;
  constexpr std::int64_t hour = 3'600'000'000'000;
  all.run("f",
          [&] {
            if (++calls != 3) launch_at(now(), hour);
          },
          {0, 4});
  CHECK_FALSE(all.results()[0].by_device);
  for (double const ns : all.results()[0].ns) CHECK(ns < static_cast<double>(hour));
}

TEST_CASE("where nothing is traced events of the driver time the trials, loudly") {
  fake::unscript();
  (void)launch();  // the program's context
  strata::benchmarks all("host,formats=none");
  std::size_t const waits = fake_synchronize_count();
  int calls = 0;
  auto const f = [&] {
    ++calls;
    fake_pass_event_time(10'000);
  };
  all.run("f", f, {2, 5, 4}, [] { fake_pass_event_time(7'000'000); });
  CHECK(calls == 2 + 5 * 4);
  CHECK(fake_synchronize_count() == waits + 2 * 5);
  // A nested run has events of its own.
  all.run("outer", [&] { all.run("inner", f, {0, 1}); }, {0, 2});
  fake_set_current_context(0);
  all.run("without a context", f, {0, 3});
  fake_set_current_context(1);
  int odd = 0;  // one trial without a context: then the host times all of them
  all.run("once without", f, {0, 3}, [&] { fake_set_current_context(odd++ == 1 ? 0 : 1); });
  fake_set_current_context(1);
  std::FILE* const written = std::tmpfile();
  REQUIRE(written != nullptr);
  int const before = dup(2);
  (void)dup2(fileno(written), 2);
  strata::detail::standard_error::begin();  // else nothing is written into another file
  strata::vec<strata::benchmark_result> const& found = all.results();
  (void)dup2(before, 2);
  strata::detail::standard_error::begin();
  (void)close(before);
  std::rewind(written);
  char line[256] = "";
  CHECK(std::fgets(line, sizeof line, written) != nullptr);
  CHECK(std::string(line) ==
        "strata: timed by events, with launches and a wait: only host times are asked for: "
        "STRATA=trace asks for those of the device (f, outer, inner)\n");
  CHECK(std::fgets(line, sizeof line, written) != nullptr);
  CHECK(std::string(line).find("strata: timed by the host: ") == 0);
  (void)std::fclose(written);
  REQUIRE(found.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(found[i].name);
    CHECK_FALSE(found[i].by_device);
    CHECK(found[i].by_events == (i < 3));
    if (found[i].by_events) CHECK(found[i].median_ns == doctest::Approx(10'000));
  }
  CHECK(found[0].ns.size() == 5);
  CHECK(strata::benchmark_text(found).find("  events\n") != std::string::npos);
  CHECK(fake_cuda_events() == 0);
}

TEST_CASE("traced trials wait for nothing, and no event is made") {
  fake::unscript();
  strata::benchmarks all;
  std::size_t const waits = fake_synchronize_count();
  all.run("f", [] { launch(); }, {0, 5});
  CHECK(fake_synchronize_count() == waits);
  CHECK(fake_cuda_events() == 0);
  CHECK(all.results()[0].by_device);
  CHECK_FALSE(all.results()[0].by_events);
}

TEST_CASE("a cold run overwrites twice the L2 ahead of each call; a warm one overwrites nothing") {
  fake::unscript();
  constexpr std::size_t twice = 2 * 52428800;
  std::size_t const before = fake_cuda_filled_bytes();
  std::vector<std::size_t> seen;
  auto const f = [&] {
    seen.push_back(fake_cuda_filled_bytes() - before);
    launch();
  };
  strata::benchmarks all;
  strata::benchmark_options how{2, 3};
  all.run("f", f, how);
  CHECK(seen == std::vector<std::size_t>(5, 0));
  seen.clear();
  how.cold = true;
  all.run("f", f, how);
  CHECK(seen == std::vector<std::size_t>{twice, 2 * twice, 3 * twice, 4 * twice, 5 * twice});
  REQUIRE(all.results().size() == 2);  // each with trials of its own
  CHECK(all.results()[0].name == "f");
  CHECK(all.results()[1].name == "f cold");
  for (strata::benchmark_result const& each : all.results()) {
    CHECK(each.by_device);
    CHECK(each.ns.size() == 3);
  }
}

TEST_CASE(
    "where L2 cannot be overwritten there is a sentence; without a context it is the host's") {
  fake::unscript();
  std::size_t const before = fake_cuda_filled_bytes();
  strata::detail::cache_flush first, second;
  fake_set_current_context(0);
  first();
  CHECK(fake_cuda_filled_bytes() == before);
  CHECK(first.problem().empty());
  fake_set_current_context(1);
  first();
  CHECK(fake_cuda_filled_bytes() > before);
  CHECK(first.problem().empty());
  second();  // the fake has memory for one
  CHECK(second.problem().find("cuMemAlloc: ") == 0);
  CHECK(second.problem().find("out of memory") != std::string::npos);
}

}  // namespace benchmark_test
