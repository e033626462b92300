// Counters of kernels whose traffic and instructions are known by hand, and the sum of nested
// ranges compared with one range around all of them. Prints a table of every comparison.

#include <cmath>
#include <cstdio>
#include <strata/range.hpp>
#include <strata/tables/counter_table.hpp>
#include <string>
#include <vector>

#include "counter_tables.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/known_memory.hpp"

namespace {

using namespace known;

void known_kernels(buffers const& m) {
  {
    STRATA_RANGE("copy");
    copy(m);
  }
  {
    STRATA_RANGE("triad");
    triad(m);
  }
  {
    STRATA_RANGE("strided");
    strided(m);
  }
  {
    STRATA_RANGE("atomics");
    atomics(m);
  }
  {
    STRATA_RANGE("matmul");
    matmul(m);
  }
  GPU_CHECK(cudaDeviceSynchronize());
}

/// Counted values by path and key.
struct counted {
  strata::profile profile;
  strata::call_tree tree;
  strata::counter_table table;

  explicit counted(strata::profile const& p)
      : profile(p), tree(profile), table(strata::make_counter_table(profile, tree)) {}

  double of(std::string const& path, char const* key) const {
    std::size_t const metric = table.find(key);
    REQUIRE_MESSAGE(metric != strata::counter_table::none, key);
    strata::counter_cell const& cell =
        table.at(test::place_of(tree.rows(), path), metric, strata::counter_scope::total);
    INFO(path, " ", key, ": ", table.note(cell));
    CHECK(std::isfinite(cell.value));
    return cell.value;
  }
};

/// Counts a step with this request, after a timed one.
template <class Step>
counted count(char const* request, Step step) {
  strata::session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  step();
  std::size_t passes = 0;
  for (auto pass : s.counters(request)) {
    (void)pass;
    ++passes;
    step();
  }
  // A kernel that was not seen before ends its pass, which is made again.
  CHECK(s.counters(request).passes() <= passes);
  CHECK(s.counters(request).passes_done() == s.counters(request).passes());
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.losses.counter_ranges_lost == 0);
  return counted(p);
}

void compare(counted const& c, char const* path, char const* key, double expected, double within) {
  double const value = c.of(path, key);
  std::printf("| %s | %s | %.0f | %.0f | %+.3f %% |\n", path, key, expected, value,
              100.0 * (value / expected - 1.0));
  CAPTURE(path);
  CAPTURE(key);
  if (within == 0.0) {
    CHECK(value == expected);
  } else {
    CHECK(std::fabs(value / expected - 1.0) <= within);
  }
}

}  // namespace

TEST_CASE("known kernels") {
  buffers const m;
  counted const c = count("memory+flops+instructions", [&] { known_kernels(m); });
  double const all = double(items) * sizeof(float);
  double const warps = double(items) / 32;
  constexpr double traffic = 0.03;
  constexpr double exact = 0.0;
  std::puts("| range | metric | by hand | counted | difference |\n|---|---|---|---|---|");
  compare(c, "copy", "hbm_read_bytes", all, traffic);
  compare(c, "copy", "hbm_write_bytes", all, traffic);
  compare(c, "copy", "global_load_instructions", warps, exact);
  compare(c, "copy", "global_store_instructions", warps, exact);
  compare(c, "copy", "global_load_bytes", all, exact);
  compare(c, "copy", "global_store_bytes", all, exact);
  compare(c, "triad", "hbm_read_bytes", 2 * all, traffic);
  compare(c, "triad", "hbm_write_bytes", all, traffic);
  compare(c, "triad", "global_load_bytes", 2 * all, exact);
  compare(c, "triad", "flop_fp32", 2.0 * items, exact);
  // Every sector is touched for the sake of 4 of its 32 bytes.
  compare(c, "strided", "hbm_read_bytes", all, traffic);
  // With its writes, which alone are less than what L2 still holds of the range before.
  compare(c, "strided", "hbm_bytes", all + all / sector_floats, traffic);
  compare(c, "strided", "global_load_bytes", all / sector_floats, exact);
  compare(c, "strided", "l1_global_load_sectors", double(items) / sector_floats, exact);
  compare(c, "atomics", "hbm_read_bytes", all, traffic);
  compare(c, "atomics", "hbm_write_bytes", all, traffic);
  double const cube = double(side) * side * side;
  // Not `flop`: it was one HFMA2 a thread more, by which compilers may load a constant.
  compare(c, "matmul", "flop_fp32", 2 * cube, exact);
  compare(c, "matmul", "global_load_instructions", 2 * cube / tile / 32, exact);
  compare(c, "matmul", "global_load_bytes", 2 * cube / tile * sizeof(float), exact);
  compare(c, "matmul", "global_store_bytes", double(side) * side * sizeof(float), exact);
}

TEST_CASE("the sum of nested ranges is one range around all of them") {
  buffers const m;
  auto const request = "memory+flops+instructions";
  counted const nested = count(request, [&] {
    STRATA_RANGE("all");
    known_kernels(m);
  });
  // The same work where only the outer range is there.
  counted const one = count(request, [&] {
    STRATA_RANGE("all");
    copy(m);
    triad(m);
    strided(m);
    atomics(m);
    matmul(m);
    GPU_CHECK(cudaDeviceSynchronize());
  });
  std::puts("| range | metric | one range | sum of nested | difference |\n|---|---|---|---|---|");
  for (char const* key : {"hbm_bytes", "l2_bytes", "l1_bytes"})
    compare(nested, "all", key, one.of("all", key), 0.01);
  for (char const* key : {"instructions_executed", "global_load_instructions", "flop",
                          "global_load_bytes", "shared_load_instructions"})
    compare(nested, "all", key, one.of("all", key), 0.0);
}

TEST_CASE("steps with other work are distinguished") {
  buffers const m;
  unsigned step = 0;
  counted const c = count("memory+flops+instructions", [&] {
    ++step;
    {
      STRATA_RANGE("same");
      copy_kernel<<<1024, threads>>>(m.a, m.b);
    }
    {
      STRATA_RANGE("growing");
      copy_kernel<<<1024 + 64 * step, threads>>>(m.a, m.b);
    }
    {
      STRATA_RANGE("other");
      if (step % 2 == 0) copy_kernel<<<1024, threads>>>(m.a, m.b);
      if (step % 2 == 1) triad_kernel<<<1024, threads>>>(m.a, m.b, m.c);
    }
    GPU_CHECK(cudaDeviceSynchronize());
  });
  REQUIRE(c.profile.counters().passes_done > 1);
  auto const work = [&](std::string const& path) {
    return c.table.notes[c.table.work[test::place_of(c.tree.rows(), path)]];
  };
  CHECK(work("same") == "");
  CHECK(work("growing").find("varying") == 0);
  CHECK(work("other").find("inconsistent") == 0);
  MESSAGE(work("growing"));
  MESSAGE(work("other"));
}

TEST_CASE("replay, and a pass that breaks off") {
  buffers const m;
  auto const step = [&] {
    STRATA_RANGE("copy");
    copy(m);
    GPU_CHECK(cudaDeviceSynchronize());
  };
  double const all = double(items) * sizeof(float);
  {
    strata::session s(gpu::quiet("trace,formats=none"));
    REQUIRE(s.start().ok());
    strata::counter_passes counters = s.counters("hbm");
    REQUIRE(counters.passes() == 1);
    for (auto pass : counters) {
      (void)pass;
      step();
      break;
    }
    CHECK(counters.passes_done() == 0);
    CHECK(counters.replay(step).ok());
    CHECK(counters.passes_done() == 1);
    counted const c(s.profile());
    compare(c, "copy", "hbm_read_bytes", all, 0.03);
  }
  {
    strata::session s(gpu::quiet("trace,formats=none"));
    REQUIRE(s.start().ok());
    strata::counter_passes counters = s.counters("memory");
    REQUIRE(counters.passes() > 1);
    unsigned runs = 0;
    auto const counting = [&] {
      ++runs;
      step();
    };
    CHECK(counters.replay(counting).code() == strata::errc::bad_argument);
    CHECK(runs == 1);
  }
  {
    strata::session s(gpu::quiet("trace,formats=none"));
    REQUIRE(s.start().ok());
    strata::counter_passes counters = s.counters("memory");
    CHECK(counters.replay(step, strata::repeatable).ok());
    counted const c(s.profile());
    compare(c, "copy", "hbm_write_bytes", all, 0.03);
    // The passes left no trace in the timed part: nothing was timed at all.
    CHECK(c.tree.rows().size() >= 1);
    CHECK(c.profile.kernels.empty());
  }
}
