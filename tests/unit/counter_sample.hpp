// A small model with counted values, made by hand: two timed steps, then counted ones.
#ifndef STRATA_TESTS_UNIT_COUNTER_SAMPLE_HPP
#define STRATA_TESTS_UNIT_COUNTER_SAMPLE_HPP

#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/counter_table.hpp>

#include <cstdint>
#include <string>

#include "sample_profile.hpp"

namespace counter_test {

using namespace strata;

/// A chip without counters of L2.
inline bool has_no_l2(std::string const& name) { return name.compare(0, 5, "lts__") != 0; }

struct counter_sample : sample::maker {
  // step > block[0], block[1] > attention, mlp; load launches nothing.
  std::uint32_t step = node(0, "step");
  std::uint32_t block0 = node(step, "block", 0);
  std::uint32_t attention0 = node(block0, "attention");
  std::uint32_t mlp0 = node(block0, "mlp");
  std::uint32_t block1 = node(step, "block", 1);
  std::uint32_t attention1 = node(block1, "attention");
  std::uint32_t mlp1 = node(block1, "mlp");
  std::uint32_t load = node(0, "load");
  std::int64_t now = 0;

  counter_set& counted() { return made.add_counters(counter_set::gpu); }

  explicit counter_sample(std::string const& request = default_request()) {
    made.traced = made.has_steps = true;
    counted().where = "GH100";
    counted().devices = {0};
    counted().passes = counted().passes_done = 3;
    counted().metrics = resolve_metrics(expand_metrics(request), has_no_l2);
    counted().names = counted().metrics.counters();
    for (std::uint32_t i = 0; i < 2; ++i) run_step(i);
    made.end = now;
    //             read  write  hits  sectors  fused multiply-adds
    count(step, {100, 0, 5, 10, 1});
    count(attention0, {1000, 500, 90, 100, 10});
    count(attention1, {3000, 500, 10, 900, 20});
    count(mlp0, {200, 100, 0, 0, 5});
    count(mlp1, {400, 200, 30, 40, 7});
  }

  static char const* default_request() {
    return "hbm_read_bytes+hbm_write_bytes+hbm_bytes+hbm_peak_bytes_per_second+l1_hit_rate+flop+"
           "fp32_peak_per_second+l2_hit_rate";
  }

  /// A counter of one range; other ranges do not have it.
  void set(std::uint32_t node, std::string const& name, double value) {
    for (std::uint32_t i = 0; i < counted().names.size(); ++i) {
      if (counted().names[i] != name) continue;
      for (counter_value& each : counted().values) {
        if (each.node == node && each.counter == i) {
          each.value = value;
          return;
        }
      }
      counted().values.push_back({node, i, value});
    }
  }

  void forget(std::uint32_t node, std::string const& name) {
    vec<counter_value> kept;
    for (counter_value const& each : counted().values) {
      if (each.node != node || counted().names[each.counter] != name) kept.push_back(each);
    }
    counted().values = kept;
  }

 private:
  struct counts {
    double read, write, hits, sectors, fused;
  };

  void count(std::uint32_t node, counts const& of) {
    for (std::string const& name : counted().names) {
      double value = 0;
      if (name == "dram__bytes_read.sum") value = of.read;
      if (name == "dram__bytes_write.sum") value = of.write;
      if (name == "l1tex__t_sectors_lookup_hit.sum") value = of.hits;
      if (name == "l1tex__t_sectors.sum") value = of.sectors;
      if (name.find("op_ffma_pred_on.sum") != std::string::npos) value = of.fused;
      // 2 GHz at 2 B a cycle, and 1.5 GHz at 2 * 4 FLOP: 4 GB/s and 12 GFLOP/s.
      if (name == "gpu__time_duration.sum") value = 5000;
      if (name == "dram__cycles_elapsed.avg") value = 10000;
      if (name == "gpc__cycles_elapsed.avg") value = 7500;
      if (name == "dram__bytes.sum.peak_sustained") value = 2;
      if (name == "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained") value = 4;
      set(node, name, value);
    }
  }

  /// Work of ns on the device, after what is there.
  void run(std::uint32_t node, std::int64_t ns) {
    kernel(launch(node, now, now + 10), now + 20, now + 20 + ns);
    call(node, now, now + 30 + ns);
    now += 40 + ns;
  }

  void run_step(std::uint32_t number) {
    std::int64_t const begin = now;
    call(load, now, now + 100);
    now += 100;
    std::int64_t const step_begin = now;
    kernel(launch(step, now, now + 10), now + 20, now + 520);
    now += 540;
    for (int block = 0; block < 2; ++block) {
      std::int64_t const block_begin = now;
      run(block == 0 ? attention0 : attention1, 1000);
      run(block == 0 ? mlp0 : mlp1, number == 0 ? 150 : 250);  // 200 in the mean
      call(block == 0 ? block0 : block1, block_begin, now);
    }
    call(step, step_begin, now);
    made.steps.push_back({begin, now, number, 0});
    now += 100;
  }
};

}  // namespace counter_test

#endif  // STRATA_TESTS_UNIT_COUNTER_SAMPLE_HPP
