// Hand-made programs for the rules of findings: a timeline, and the counters of its kernels.
#ifndef STRATA_TESTS_UNIT_FINDING_SAMPLE_HPP
#define STRATA_TESTS_UNIT_FINDING_SAMPLE_HPP

#include <doctest/doctest.h>
#include <strata/profile/metric_resolver.hpp>
#include "report/findings.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "report_sample.hpp"
#include "sample_profile.hpp"

namespace finding_test {

using namespace strata;

inline constexpr std::int64_t us = 1000;

/// A traced program on a device of 132 SMs, one thread, its clock at `now`.
struct program : sample::maker {
  std::int64_t now = 1000;
  std::int64_t free = 0;  ///< when the device is
  std::uint32_t step = no_step;
  std::uint32_t steps = 0;
  std::uint32_t attention = node(0, "attention");
  std::uint32_t mlp = node(0, "mlp");
  std::uint32_t other = node(0, "sample");

  program() {
    made.traced = true;
    made.environment.devices.push_back(
        {0, "H200", 132, 9, 0, 1980000, 3201000, 6016, 50u << 20, 0, {}, {}, {}});
    made.kernel_names.push_back({"work"});
  }

  template <class Body>
  void run(std::uint32_t count, Body body) {
    made.has_steps = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::int64_t const begin = now;
      step = steps++;
      body();
      made.steps.push_back({begin, now, step, 0});
      step = no_step;
    }
    made.end = now + 1000;
    made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
  }

  template <class Body>
  range_record& in(std::uint32_t where, Body body) {
    std::int64_t const begin = now;
    body(where);
    range_record& record = call(where, begin, now);
    record.step = step;
    return record;
  }

  std::uint32_t api(std::uint32_t where, std::int64_t ns, api_kind kind) {
    std::uint32_t const id = launch(where, now, now + ns, kind);
    made.launches.back().step = step;
    now += ns;
    return id;
  }

  kernel_record& kernel_of(std::uint32_t where, std::int64_t ns, std::uint32_t blocks = 1000,
                           std::uint32_t stream = 7) {
    std::uint32_t const id = api(where, 3 * us, api_kind::launch);
    std::int64_t const begin = now > free ? now + 500 : free + 500;
    free = begin + ns;
    kernel_record record{};  // the maker looks for the launch, which long runs have no time for
    record.begin = begin;
    record.end = free;
    record.node = where;
    record.captured_by = no_node;
    record.correlation = id;
    record.grid_y = record.grid_z = record.block_y = record.block_z = 1;
    record.name = 1;
    record.grid_x = blocks;
    record.block_x = 256;
    record.stream = stream;
    record.registers = 32;
    made.kernels.push_back(record);
    return made.kernels.back();
  }

  void wait(std::uint32_t where = 0) {
    std::int64_t const until = free > now ? free + 2 * us : now + us;
    api(where, until - now, api_kind::wait);
  }

  void copy_of(std::uint32_t where, copy_kind kind, std::int64_t ns, bool pageable,
               std::uint64_t bytes = 1u << 20) {
    std::int64_t const begin = now;
    api(where, ns + 5 * us, api_kind::copy);
    copy_record& record = copy(correlations, begin + us, begin + us + ns, bytes, kind);
    record.pageable = pageable;
    free = begin + us + ns;
  }

  // --- counters of one step, by range ---

  counter_set& counted() { return made.add_counters(counter_set::gpu); }
  void set(std::uint32_t where, std::string const& name, double value) {
    counter_set& to = counted();
    if (to.names.empty()) {
      to.where = "GH100";
      to.devices = {0};
      to.passes = to.passes_done = 1;
      to.metrics = resolve_metrics(expand_metrics("findings+tensor"),
                                   [](std::string const&) { return true; });
      to.names = to.metrics.counters();
    }
    std::uint32_t const at = static_cast<std::uint32_t>(to.names.index_of(name));
    REQUIRE_MESSAGE(at < to.names.size(), name);
    for (counter_value& each : to.values)
      if (each.node == where && each.counter == at) {
        each.value = value;
        return;
      }
    to.values.push_back({where, at, value});
  }
  /// As if only this had been asked for: other counts are forgotten.
  void count_only(std::string const& request) {
    counter_set const all = counted();
    counter_set& kept = counted();
    kept.metrics =
        resolve_metrics(expand_metrics(request), [](std::string const&) { return true; });
    kept.names = kept.metrics.counters();
    kept.values.clear();
    for (counter_value const& value : all.values) {
      std::size_t const place = kept.names.index_of(all.names[value.counter]);
      if (place < kept.names.size())
        kept.values.push_back({value.node, static_cast<std::uint32_t>(place), value.value});
    }
  }
  /// Takes the values of a counter away.
  void drop(std::string const& name) {
    counter_set& from = counted();
    auto const lost = static_cast<std::uint32_t>(from.names.index_of(name));
    for (strata::counter_value& each : from.values)
      if (each.counter == lost) each.value = std::numeric_limits<double>::quiet_NaN();
  }
  /// All counters 0, with the peaks of 4.8 TB/s, 10 TB/s, 33 TB/s, 67 TFLOP/s and 989 TFLOP/s. Of
  /// the units, a count is a ns at the peak: all clocks have a cycle a ns. One instruction a slot
  /// in four cycles, and 20 % of device memory.
  void count_nothing(std::uint32_t where) {
    set(where, "gpu__time_duration.sum", 1000);
    for (std::size_t i = 0; i < counted().names.size(); ++i) {
      std::string const name = counted().names[i];
      set(where, name, detail::ends_with(name, ".peak_sustained") ? 1 : 0);
    }
    for (char const* name : {"gpu__time_duration.sum", "dram__cycles_elapsed.avg",
                             "lts__cycles_elapsed.avg", "gpc__cycles_elapsed.avg"})
      set(where, name, 1000);
    set(where, "dram__bytes.sum.peak_sustained", hbm_peak);
    set(where, "lts__t_bytes.sum.peak_sustained", l2_peak);
    set(where, "lts__t_sectors.sum.peak_sustained", l2_peak / 32);
    set(where, "l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained", l1_peak);
    set(where, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.peak_sustained", l1_peak);
    set(where, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 33500);
    set(where, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", 16750);
    set(where, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 33500);
    tensor_peaks(where, 989000);
    set(where, "sm__warps_active.avg.peak_sustained", 64);
    set(where, "sm__pipe_tensor_cycles_active.avg.peak_sustained", 4);
    set(where, "sm__cycles_active.sum", 132 * 1e6);  // of 1 ms
    set(where, "sm__warps_active.sum", 132 * 1e6 * 32);
    use(where, "issue", 0.25);
    hbm(where, 0.2);
  }
  /// Dense operations of BF16 in a cycle, and of the other formats as GH100 has them.
  void tensor_peaks(std::uint32_t where, double bf16) {
    struct entry {
      char const* format;
      double speed;
    };
    constexpr entry formats[] = {{"bf16_dst_fp32_sparsity_off", 1.0},
                                 {"fp16_dst_fp32_sparsity_off", 1.0},
                                 {"tf32_dst_fp32_sparsity_off", 0.5},
                                 {"fp8_sparsity_off", 2.0},
                                 {"fp4_dst_fp32_sparsity_off", 4.0},
                                 {"int8_sparsity_off", 2.0},
                                 {"fp64", 1.0 / 16.0}};
    for (entry const& known : formats) {
      std::string const name = std::string("sm__ops_path_tensor_src_") + known.format;
      set(where, name + ".sum.peak_sustained", bf16 * known.speed);
    }
  }
  static constexpr double hbm_peak = 4800;          ///< bytes a ns
  static constexpr double l2_peak = 10000;          ///< bytes a ns
  static constexpr double l1_peak = 33000 / 128.0;  ///< wavefronts a ns

  /// A unit of the SMs is used by this part of 1 ms.
  void use(std::uint32_t where, std::string const& unit, double part) {
    struct entry {
      char const* unit;
      char const* counter;
    };
    constexpr entry counters[] = {{"tensor", "sm__pipe_tensor_cycles_active.sum"},
                                  {"fma", "sm__pipe_fma_cycles_active.sum"},
                                  {"alu", "sm__pipe_alu_cycles_active.sum"},
                                  {"fp64", "sm__pipe_fp64_cycles_active.sum"},
                                  {"xu", "sm__inst_executed_pipe_xu.sum"},
                                  {"adu", "sm__inst_executed_pipe_adu.sum"},
                                  {"lsu", "sm__inst_executed_pipe_lsu.sum"},
                                  {"issue", "sm__inst_issued.sum"},
                                  {"l2", "lts__t_tag_requests.sum"}};
    for (entry const& known : counters)
      if (unit == known.unit) return set(where, known.counter, part * 1e6);
    FAIL("no unit of the SMs: " << unit);
  }
  /// Bytes at a part of the roof for 1 ms, all of them coalesced global loads.
  void hbm(std::uint32_t where, double part) {
    double const bytes = part * hbm_peak * 1e6;
    set(where, "dram__bytes_read.sum", bytes);
    set(where, "lts__t_bytes.sum", bytes);
    set(where, "lts__t_sectors.sum", bytes / 32);
    l1(where, bytes / 128, 0.0);
    set(where, "l1tex__t_sectors.sum", bytes / 32);
    set(where, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", bytes / 32);
    set(where, "smsp__sass_data_bytes_mem_global_op_ld.sum", bytes);
  }
  /// Wavefronts of L1's data path.
  void l1(std::uint32_t where, double global, double shared) {
    set(where, "l1tex__data_pipe_lsu_wavefronts.sum", global + shared);
    set(where, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", shared);
  }
};

/// What the analysis says of a profile.
struct answer : report_test::report_tables {
  report_input const input = report_tables::input();

  using report_tables::report_tables;

  step_analysis const& steps() const { return input.analysed; }
  std::vector<finding> const& findings() const { return input.findings.findings; }
  finding const* find(std::string_view rule) const {
    for (finding const& each : findings())
      if (each.rule == rule) return &each;
    return nullptr;
  }
  std::string all() const {
    std::string text;
    for (finding const& each : findings())
      text += std::string(each.rule) + " " + each.path + " " +
              std::to_string(each.cost_ns_per_step) + ": " + each.title + "\n";
    return text;
  }
  void first_is(std::string_view rule, std::string_view path) const {
    INFO(all());
    REQUIRE(!findings().empty());
    CHECK(findings()[0].rule == rule);
    CHECK(findings()[0].path == path);
    CHECK_FALSE(findings()[0].evidence.empty());
    CHECK(findings()[0].cost_ns_per_step <= steps().mean_ns * 1.001);
  }
  /// Nothing costs more than this part of a step.
  void is_silent(double most = 0.05) const {
    INFO(all());
    for (finding const& each : findings()) CHECK(each.cost_ns_per_step <= most * steps().mean_ns);
  }
};

/// 0 where the rule is silent.
inline double cost_of(profile const& made, std::string_view rule) {
  answer const a(made);
  finding const* const found = a.find(rule);
  return found == nullptr ? 0.0 : found->cost_ns_per_step;
}
/// Empty where the rule is silent.
inline std::string title_of(profile const& made, std::string_view rule) {
  answer const a(made);
  finding const* const found = a.find(rule);
  return found == nullptr ? std::string() : found->title;
}
/// Checks that a text has this part.
inline bool has(std::string const& text, std::string_view part) {
  INFO(text);
  bool const found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

/// One kernel of 1 ms a step, and a wait.
inline program one_kernel(std::uint32_t blocks = 10000) {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us, blocks); });
    p.wait();
  });
  p.count_nothing(p.attention);
  return p;
}

inline std::string text_of(answer const& of, bool json) {
  std::string text;
  detail::text_writer out(text);
  if (json)
    write_findings(out, of.input);
  else
    of.input.write_answer(out, 120, false);
  out.flush();
  return text;
}

}  // namespace finding_test

#endif  // STRATA_TESTS_UNIT_FINDING_SAMPLE_HPP
