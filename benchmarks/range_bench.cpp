// What one range costs: compiled out, idle, recording; beside NVTX and the clock reads that no
// recorder can avoid. Every benchmark runs a fixed number of iterations, so that a session records
// as much in each; run them interleaved (see run_cpu.py).
#include "range_off.hpp"

#include "host_session.hpp"

#include <benchmark/benchmark.h>
#include <strata/base/clock.hpp>
#include <strata/profile.hpp>
#include <strata/strata.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#if defined(__has_include)
#if __has_include(<nvtx3/nvtx3.hpp>)
#include <nvtx3/nvtx3.hpp>
#define BENCH_NVTX 1
#endif
#endif

namespace {

constexpr std::int64_t most_ranges = 1 << 19;

// ---- what is measured: `ranges` of them in one call ----

struct nothing {
  static constexpr int ranges = 1;
  void operator()() { benchmark::ClobberMemory(); }
};

struct plain {
  static constexpr int ranges = 1;
  void operator()() {
    STRATA_RANGE("range");
    benchmark::ClobberMemory();
  }
};

struct with_index {
  static constexpr int ranges = 1;
  unsigned layer = 0;
  void operator()() {
    STRATA_RANGE("block", layer++ % 12);
    benchmark::ClobberMemory();
  }
};

struct with_attributes {
  static constexpr int ranges = 1;
  double work = 1.0;
  void operator()() {
    STRATA_RANGE("matmul", strata::flops(work), strata::bytes(2.0 * work));
    benchmark::ClobberMemory();
  }
};

struct nested {
  static constexpr int ranges = 4;
  void operator()() {
    STRATA_RANGE("step");
    STRATA_RANGE("block");
    STRATA_RANGE("attention");
    STRATA_RANGE("matmul");
    benchmark::ClobberMemory();
  }
};

/// A model as large as those that people run: four phases of 64 layers of 12 ranges.
struct model {
  static constexpr int layers = 64;
  static constexpr int phases = 4;
  static constexpr int ranges = phases * (1 + layers * 12);

  static void part(int layer) {
    STRATA_RANGE("block", layer);
    { STRATA_RANGE("ln1"); }
    { STRATA_RANGE("q"); }
    { STRATA_RANGE("k"); }
    { STRATA_RANGE("v"); }
    { STRATA_RANGE("rope"); }
    { STRATA_RANGE("attention"); }
    { STRATA_RANGE("projection"); }
    { STRATA_RANGE("ln2"); }
    { STRATA_RANGE("gate"); }
    { STRATA_RANGE("up"); }
    STRATA_RANGE("down");
    benchmark::ClobberMemory();
  }
  void operator()() {
    for (int phase = 0; phase < phases; ++phase) {
      STRATA_RANGE("phase", phase);
      for (int layer = 0; layer < layers; ++layer) part(layer);
    }
  }
};

/// The same size, each name a text that is looked up, as an adapter for another library has them.
struct named_model {
  static constexpr int layers = 64;
  static constexpr int ranges = layers * 5;

  void operator()() {
    for (int layer = 0; layer < layers; ++layer) {
      STRATA_RANGE("block", layer);
      for (char const* const name :
           {"attn_norm", "attention projection", "ffn_norm", "blk.ffn_down.weight"}) {
        strata::scoped_range const r(name);
        benchmark::ClobberMemory();
      }
    }
  }
};

struct push_and_pop {
  static constexpr int ranges = 1;
  void operator()() {
    strata::push("range");
    benchmark::ClobberMemory();
    strata::pop();
  }
};

struct in_phases {
  static constexpr int ranges = 4;
  void operator()() {
    strata::phases phase;
    phase.next("ln1");
    benchmark::ClobberMemory();
    phase.next("attention");
    benchmark::ClobberMemory();
    phase.next("ln2");
    benchmark::ClobberMemory();
    phase.next("mlp");
    benchmark::ClobberMemory();
  }
};

struct with_string {
  static constexpr int ranges = 1;
  std::string name = "attention projection";
  void operator()() {
    STRATA_RANGE(name);
    benchmark::ClobberMemory();
  }
};

#if BENCH_NVTX
struct nvtx_range {
  static constexpr int ranges = 1;
  void operator()() {
    nvtx3::scoped_range const range{"range"};
    benchmark::ClobberMemory();
  }
};

struct nvtx_nested {
  static constexpr int ranges = 4;
  void operator()() {
    nvtx3::scoped_range const step{"step"};
    nvtx3::scoped_range const block{"block"};
    nvtx3::scoped_range const attention{"attention"};
    nvtx3::scoped_range const matmul{"matmul"};
    benchmark::ClobberMemory();
  }
};
#endif

struct two_ticks {
  static constexpr int ranges = 1;
  strata::detail::tick_source clock;
  void operator()() {
    std::int64_t begin = clock.now();
    benchmark::DoNotOptimize(begin);
    benchmark::ClobberMemory();
    std::int64_t end = clock.now();
    benchmark::DoNotOptimize(end);
  }
};

struct two_steady {
  static constexpr int ranges = 1;
  void operator()() {
    auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(begin);
    benchmark::ClobberMemory();
    auto end = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(end);
  }
};

// ---- how it is measured ----

/// A benchmark of recording that has not recorded everything has measured something else.
void check_recorded(benchmark::State& state, strata::session& s, int ranges) {
  auto const expected =
      (static_cast<std::size_t>(state.iterations()) + 1) * static_cast<std::size_t>(ranges);
  strata::profile const& made = s.profile();
  if (made.ranges.size() != expected || made.losses.ranges_summed != 0)
    state.SkipWithError("not every range was recorded");
}

template <class Body>
void idle(benchmark::State& state) {
  Body body;
  for (auto _ : state) body();
  state.counters["ranges"] = Body::ranges;
}

/// As in a program's second window: the log writes into memory that an earlier session has freed.
template <class Body>
void recording(benchmark::State& state) {
  Body body;
  strata::session s{bench::host_only()};
  (void)s.start();
  for (std::int64_t i = 0; i < most_ranges / Body::ranges; ++i) body();
  s.stop();
  (void)s.start();
  body();
  for (auto _ : state) body();
  check_recorded(state, s, Body::ranges);
  state.counters["ranges"] = Body::ranges;
}

/// The same where every page of the log is new to the process.
template <class Body>
void first_touch(benchmark::State& state) {
  Body body;
  strata::session s{bench::host_only()};
  (void)s.start();
  body();
  bench::give_freed_memory_back();
  for (auto _ : state) body();
  check_recorded(state, s, Body::ranges);
  state.counters["ranges"] = Body::ranges;
}

template <class Body>
void add(char const* name, void (*how)(benchmark::State&), std::int64_t ranges) {
  benchmark::RegisterBenchmark(name, how)->Iterations(ranges / Body::ranges);
}

}  // namespace

int main(int argc, char** argv) {
  bench::clear_environment();
  bench::keep_freed_memory();
  { STRATA_RANGE("the first range decides that nobody listens"); }

  constexpr std::int64_t short_ones = most_ranges * 8;
  add<nothing>("empty", &idle<nothing>, short_ones);
  add<plain>("compiled out", &compiled_out, short_ones);
  add<plain>("compiled out, attributes", &compiled_out_attributes, short_ones);
#if BENCH_NVTX
  add<nvtx_range>("nvtx3::scoped_range", &idle<nvtx_range>, short_ones);
  add<nvtx_nested>("nvtx3::scoped_range, nested", &idle<nvtx_nested>, short_ones);
#endif
  add<two_ticks>("clock pair, ticks", &idle<two_ticks>, most_ranges);
  add<two_steady>("clock pair, steady_clock", &idle<two_steady>, most_ranges);
  add<plain>("idle", &idle<plain>, short_ones);
  add<with_index>("idle, index", &idle<with_index>, short_ones);
  add<with_attributes>("idle, attributes", &idle<with_attributes>, short_ones);
  add<nested>("idle, nested", &idle<nested>, short_ones);
  add<push_and_pop>("idle, push and pop", &idle<push_and_pop>, short_ones);
  add<in_phases>("idle, phases", &idle<in_phases>, short_ones);
  add<with_string>("idle, std::string", &idle<with_string>, short_ones);
  add<plain>("recording", &recording<plain>, most_ranges);
  add<plain>("recording, first touch", &first_touch<plain>, most_ranges);
  add<with_index>("recording, index", &recording<with_index>, most_ranges);
  add<with_attributes>("recording, attributes", &recording<with_attributes>, most_ranges);
  add<nested>("recording, nested", &recording<nested>, most_ranges);
  add<model>("recording, 64 layers", &recording<model>, most_ranges);
  add<named_model>("recording, 64 layers, names by text", &recording<named_model>, most_ranges);
  add<push_and_pop>("recording, push and pop", &recording<push_and_pop>, most_ranges);
  add<in_phases>("recording, phases", &recording<in_phases>, most_ranges);
  add<with_string>("recording, std::string", &recording<with_string>, most_ranges);

  benchmark::AddCustomContext("compiler", bench::compiler);
  benchmark::AddCustomContext("flags", BENCH_FLAGS);
  benchmark::AddCustomContext("clock", strata::detail::tick_source().name());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
