// What is left to do when a session ends, and what was done while it ran: a model of 64 layers with
// 12 ranges each, one launch and one kernel a range, at the default memory limits.
#include <benchmark/benchmark.h>
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/kernel_table.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "memory.hpp"

namespace {

using strata::detail::activity_store;
using strata::detail::recorder;

constexpr std::int64_t million = 1'000'000;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// MB that the process has in memory: now (`VmRSS`), or at most since `forget_peak` (`VmHWM`).
double memory_mb(char const* what) { return memory_kib(what) * 1024.0 / 1e6; }
double resident_mb() { return memory_mb("VmRSS"); }
void forget_peak() {
  if (std::FILE* const file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

class traced_model {
 public:
  traced_model() {
    host_.begin_session(std::int64_t{256} << 20);
    host_.record(true);
    budget_.set(std::int64_t{512} << 20);
    store_.clear();
    std::uint32_t const forward = node(strata::root_node, "forward", strata::no_index);
    for (std::int64_t layer = 0; layer < 64; ++layer) {
      std::uint32_t const block = node(forward, "block", layer);
      for (int leaf = 0; leaf < 12; ++leaf)
        leaves_.push_back(node(block, "leaf" + std::to_string(leaf), strata::no_index));
    }
  }

  void deliver(std::int64_t kernels) {
    static char const* const names[] = {"gemm", "norm", "softmax"};
    for (std::int64_t i = 0; i < kernels; ++i) {
      strata::driver_call_record launch{};
      launch.begin = host_.clock().now();
      launch.end = launch.begin + 1000;
      launch.correlation = ++correlation_;
      launch.node = leaves_[correlation_ % leaves_.size()];
      launch.kind = strata::api_kind::launch;
      if (!host_.state().launches.add(launch)) std::abort();
      strata::detail::cupti::kernel_record kernel{};
      kernel.kind = strata::detail::cupti::activity_kind::concurrent_kernel;
      kernel.start_ns = 1000 + std::uint64_t{correlation_} * 10;
      kernel.end_ns = kernel.start_ns + 8;
      kernel.correlation_id = correlation_;
      kernel.name = names[correlation_ % 3];
      kernel.grid_x = 128;
      kernel.grid_y = kernel.grid_z = kernel.block_y = kernel.block_z = 1;
      kernel.block_x = 256;
      store_.add(reinterpret_cast<strata::detail::cupti::record const&>(kernel));
    }
  }

  strata::profile stop() {
    host_.record(false);
    strata::detail::tick_converter const ticks = host_.converter();
    strata::profile made;
    store_.take(made, {}, ticks);
    host_.move_to(made);
    for (strata::driver_call_record& each : made.launches) {
      each.begin = ticks.to_ns(each.begin);
      each.end = ticks.to_ns(each.end);
    }
    made.traced = true;
    return made;
  }

 private:
  std::uint32_t node(std::uint32_t parent, std::string const& name, std::int64_t index) {
    return host_.state().nodes.child(parent, host_.state().names.intern(name, {}), index);
  }

  recorder& host_ = recorder::instance();
  strata::detail::memory_budget budget_;
  strata::detail::graph_captures captures_;
  activity_store store_{budget_, captures_};
  std::vector<std::uint32_t> leaves_;
  std::uint32_t correlation_ = 0;
};

/// While the program runs, in CUPTI's thread: joins and sums up. Two clock reads are in it.
void deliver(benchmark::State& state) {
  for (auto _ : state) {
    traced_model model;
    auto const begin = std::chrono::steady_clock::now();
    model.deliver(state.range(0));
    state.SetIterationTime(seconds_since(begin));
    state.counters["resident_mb"] = resident_mb();
  }
  state.counters["kernels"] = static_cast<double>(state.range(0));
}

/// The log and the records of the device become the profile: what was there before, at most
/// meanwhile, and after it, of which `profile_mb` are the records of the profile.
void stop(benchmark::State& state) {
  for (auto _ : state) {
    traced_model model;
    model.deliver(state.range(0));
    state.counters["before_mb"] = resident_mb();
    forget_peak();
    auto const begin = std::chrono::steady_clock::now();
    strata::profile const made = model.stop();
    state.SetIterationTime(seconds_since(begin));
    state.counters["peak_mb"] = memory_mb("VmHWM");
    state.counters["after_mb"] = resident_mb();
    state.counters["profile_mb"] =
        static_cast<double>(made.kernels.size() * sizeof(strata::kernel_record) +
                            made.launches.size() * sizeof(strata::driver_call_record)) /
        1e6;
    state.counters["kernels_kept"] = static_cast<double>(made.kernels.size());
  }
  state.counters["kernels"] = static_cast<double>(state.range(0));
}

/// The tables of the console and of the CSV files.
void report(benchmark::State& state) {
  traced_model model;
  model.deliver(state.range(0));
  strata::profile const made = model.stop();
  for (auto _ : state) {
    auto const begin = std::chrono::steady_clock::now();
    strata::call_tree const tree(made);
    strata::call_tree const folded(made, strata::folding::by_name);
    auto const kernels = strata::make_kernel_table(made, tree);
    benchmark::DoNotOptimize(kernels.data());
    state.SetIterationTime(seconds_since(begin));
  }
  state.counters["kernels"] = static_cast<double>(state.range(0));
  state.counters["resident_mb"] = resident_mb();
}

/// What an updated graph stood for at a launch: the steps grow with the digits of the number of
/// updates (and the cache misses); where each took as many as there are updates, ten times as many
/// would take ten times as long each.
void captured_by(benchmark::State& state) {
  auto const count = static_cast<std::uint32_t>(state.range(0));
  strata::detail::graph_captures captures;
  for (std::uint32_t i = 1; i <= count; ++i) {
    captures.add(1, i);
    captures.update(1, 2, i);
  }
  std::uint32_t launched = 0;
  for (auto _ : state) {
    launched = (launched + 7919) % count;
    benchmark::DoNotOptimize(captures.range_of(2, launched));
  }
}

BENCHMARK(captured_by)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(deliver)->Arg(million)->Arg(10 * million)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(stop)->Arg(million)->Arg(10 * million)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(report)->Arg(million)->Arg(10 * million)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
