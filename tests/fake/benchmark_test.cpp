// Trials timed by records of device work.
#include <doctest/doctest.h>
#include <strata/benchmark.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "fake_session.hpp"

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

TEST_CASE("trials are timed from the begin of their first kernel to the end of the last") {
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
