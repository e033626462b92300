// A GPT-2 with small kernels as a profile with counters, made by hand: what report.html draws of a
// whole run on a GPU.
#ifndef STRATA_TESTS_UNIT_PAGE_SAMPLE_HPP
#define STRATA_TESTS_UNIT_PAGE_SAMPLE_HPP

#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include "report/page.hpp"

#include <cstdint>
#include <string>

#include "finding_sample.hpp"
#include "report_sample.hpp"
#include "sample_profile.hpp"

namespace page_test {

using namespace strata;

struct page_tables : report_test::report_tables {
  using report_tables::report_tables;

  std::string page() const {
    std::string text;
    detail::text_writer out(text);
    write_html(out, input());
    out.flush();
    return text;
  }
  std::string data() const {
    std::string text;
    detail::text_writer out(text);
    write_page_data(out, input());
    out.flush();
    return text;
  }
};

struct gpt2_sample : sample::maker {
  /// Work of one kernel.
  struct work {
    char const* kernel;
    std::int64_t ns;
    double flops, hbm, l2, l1;
    std::uint32_t blocks;
    std::uint16_t threads;
    std::uint32_t times;
  };

  explicit gpt2_sample(std::uint32_t layers = 12, std::uint32_t steps = 5) {
    describe_run();
    describe_counters();
    std::uint32_t const step = node(0, "step");
    allocate_weights(child(step, "memory:weights"));
    for (std::uint32_t i = 0; i < steps; ++i) run_step(step, i, layers);
    made.end = now + 1000000;
    made.cost.seconds_in_window = static_cast<double>(made.end) / 1e9;
    made.cost.ranges = made.ranges.size();
    made.cost.callbacks = made.launches.size();
    made.losses.uncorrelated = 2;
  }

  std::int64_t now = 1000000;
  std::int64_t device = 0;

 private:
  void describe_run() {
    made.traced = made.has_steps = true;
    made.environment.host = "node7";
    made.environment.command = "build/examples/gpt2/gpt2 --impl eager";
    made.environment.options = "trace,counters=memory+roofline+flops+instructions+occupancy+l2hit";
    made.environment.started_at = "2026-11-03T10:20:30Z";
    made.environment.cpu = "AMD EPYC 9654 96-Core Processor";
    made.environment.clock = "tsc";
    made.environment.cupti_path = "/usr/local/cuda/lib64/libcupti.so.13";
    made.environment.cupti_version = 130000;
    made.environment.driver_version = 13000;
    made.environment.devices.push_back(
        {0, "NVIDIA H200", 132, 9, 0, 1980000, 3201000, 6144, 50u << 20, 141ull << 30, {}, {}, {}});
    made.threads = {{0, 4242, "main"}};
    made.cost.range_ns = 38.5;
    made.cost.callback_ns = 52.0;
    made.cost.flush_seconds = 0.0008;
    made.cost.start_seconds = 0.012;
    made.cost.activity_seconds = 0.0031;
    made.cost.log_bytes = 1 << 20;
    made.cost.activity_bytes = 4 << 20;
  }

  void describe_counters() {
    counter_set& set = made.add_counters(counter_set::gpu);
    set.where = "GH100";
    set.devices = {0};
    set.passes = set.passes_done = 9;
    set.metrics =
        resolve_metrics(expand_metrics("memory+roofline+flops+instructions+occupancy+l2hit"),
                        [](std::string const&) { return true; });
    set.names = set.metrics.counters();
  }

  /// One step of what a kernel counts, by CUPTI's names.
  double counted(std::string const& name, work const& of) const {
    struct amount {
      char const* name;
      double value;
    };
    double const times = of.times, ns = static_cast<double>(of.ns);
    double const sm_cycles = ns * 1.755 * 132;
    amount const amounts[] = {
        {"gpu__time_duration.sum", ns},
        {"dram__bytes_read.sum", of.hbm * 0.62},
        {"dram__bytes_write.sum", of.hbm * 0.38},
        {"dram__cycles_elapsed.avg", ns * 3.2},
        {"lts__cycles_elapsed.avg", ns * 1.6},
        {"gpc__cycles_elapsed.avg", ns * 1.755},
        {"gpc__cycles_elapsed.max", ns * 1.755},
        {"sm__cycles_elapsed.avg", ns * 1.755},
        {"lts__t_bytes.sum", of.l2},
        {"lts__t_sectors.sum", of.l2 / 32},
        {"lts__t_sectors_op_read.sum", of.l2 / 48},
        {"lts__t_sectors_op_write.sum", of.l2 / 96},
        {"lts__t_sectors_srcunit_tex.sum", of.l2 / 40},
        {"lts__t_sectors_lookup_hit.sum", (of.l2 - of.hbm) / 32},
        {"lts__t_sectors_lookup_miss.sum", of.hbm / 32},
        {"l1tex__t_bytes.sum", of.l1},
        {"l1tex__data_pipe_lsu_wavefronts.sum", of.l1 / 128},
        {"l1tex__t_sectors.sum", of.l1 / 32},
        {"l1tex__t_sectors_lookup_hit.sum", of.l1 / 32 * 0.31},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", of.l1 / 45},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", of.l1 / 150},
        {"sm__cycles_active.sum", sm_cycles * 0.7},
        {"sm__warps_active.sum", sm_cycles * 0.7 * 22},
        {"smsp__cycles_active.sum", sm_cycles * 2.8},
        {"smsp__issue_active.sum", sm_cycles * 0.9},
        {"smsp__warps_eligible.sum", sm_cycles * 1.7},
        {"smsp__inst_executed.sum", of.flops / 40},
        {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", of.flops / 2},
        {"smsp__sass_data_bytes_mem_global_op_ld.sum", of.l1 * 0.7},
        {"smsp__sass_data_bytes_mem_global_op_st.sum", of.l1 * 0.2},
        {"smsp__sass_inst_executed_op_global_ld.sum", of.l1 / 128 * 0.7},
        {"smsp__sass_inst_executed_op_global_st.sum", of.l1 / 128 * 0.2},
    };
    for (amount const& each : amounts)
      if (name == each.name) return each.value * times;
    struct amount const peaks[] = {
        {"dram__bytes.sum.peak_sustained", 1536},
        {"lts__t_bytes.sum.peak_sustained", 6144},
        {"l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained", 132},
        {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 132 * 128},
        {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 132 * 256},
        {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", 132 * 64},
        {"sm__warps_active.avg.peak_sustained", 64}};
    for (amount const& each : peaks)
      if (name == each.name) return each.value;
    return name.find("tensor") != name.npos && name.find("peak") != name.npos ? 132 * 4096 : 0.0;
  }

  std::uint32_t kernel_number(std::string const& text) {
    for (std::uint32_t i = 0; i < made.kernel_names.size(); ++i)
      if (made.kernel_names[i].mangled == text) return i + 1;
    made.kernel_names.push_back({text});
    return static_cast<std::uint32_t>(made.kernel_names.size());
  }

  /// A range that launches one kernel several times; counted once.
  void run(std::uint32_t range, std::uint32_t step, work const& of) {
    std::int64_t const begin = now;
    for (std::uint32_t i = 0; i < of.times; ++i) {
      now += 1500;
      std::uint32_t const correlation = launch(range, now, now + 3800);
      made.launches.back().step = step;
      now += 3800;
      device = device > now + 1800 ? device + 600 : now + 1800;
      kernel_record& record = kernel(correlation, device, device + of.ns + step * 7);
      record.node = range;
      record.name = kernel_number(of.kernel);
      record.grid_x = of.blocks;
      record.block_x = of.threads;
      record.registers = 40;
      record.stream = 7;
      record.context = 1;
      device += of.ns + step * 7;
    }
    range_record& made_range = call(range, begin, now + 300);
    made_range.step = step;
    now += 700;
    attribute_record& said = describe(made_range);
    said.flops = of.flops * of.times;
    if (step == 0) count_once(range, of);
  }

  void count_once(std::uint32_t range, work const& of) {
    counter_set& set = made.add_counters(counter_set::gpu);
    for (std::uint32_t i = 0; i < set.names.size(); ++i)
      set.values.push_back({range, i, counted(set.names[i], of)});
  }

  std::uint32_t child(std::uint32_t parent, char const* text, std::int64_t index = no_index) {
    std::uint32_t const wanted = name(text);
    for (std::uint32_t i = 1; i < made.nodes.size(); ++i)
      if (made.nodes[i].parent == parent && made.nodes[i].name == wanted &&
          made.nodes[i].index == index)
        return i;
    return node(parent, text, index);
  }

  void allocate_weights(std::uint32_t step) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      now += 40000;
      allocate(launch(step, now, now + 9000, api_kind::allocate), now + 9000,
               0x1000000ull * (i + 1), 28ull << 20);
    }
  }

  void run_step(std::uint32_t node, std::uint32_t step, std::uint32_t layers) {
    constexpr double mib = 1 << 20;
    std::int64_t const begin = now;
    run(child(node, "embedding"), step,
        {"_Z16embedding_kernelPfPKfPKi", 6100, 2e5, 1.6 * mib, 2.4 * mib, 2.3 * mib, 256, 256, 1});
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      std::uint32_t const block = child(node, "block", layer);
      std::int64_t const block_begin = now;
      run(child(block, "ln1"), step,
          {"_Z16layernorm_kernelPfPKf", 4200, 1.6e6, 1.5 * mib, 2.2 * mib, 3 * mib, 64, 256, 1});
      std::uint32_t const attention = child(block, "attention");
      std::int64_t const attention_begin = now;
      std::uint64_t const address = 0x900000000ull + layer * 0x1000000ull;
      allocate(launch(attention, now, now + 5000, api_kind::allocate), now + 5000, address,
               (2ull + layer) << 20);
      now += 6000;
      run(child(attention, "qkv"), step,
          {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8", 31000, 9.06e8, 8.5 * mib,
           34 * mib, 30 * mib, 144, 128, 1});
      run(child(attention, "scores"), step,
          {"_Z13scores_kernelPfPKfi", 5200, 6.3e6, 1.9 * mib, 9 * mib, 14 * mib, 48, 128, 4});
      run(child(attention, "softmax"), step,
          {"_Z14softmax_kernelPfi", 3900, 4e5, 0.9 * mib, 1.6 * mib, 2 * mib, 3072, 32, 4});
      run(child(attention, "projection"), step,
          {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8", 14000, 3.02e8, 3.4 * mib,
           12 * mib, 11 * mib, 48, 128, 1});
      release(launch(attention, now, now + 4000, api_kind::release), now + 4000, address,
              (2ull + layer) << 20);
      now += 5000;
      call(attention, attention_begin, now).step = step;
      run(child(block, "mlp"), step,
          {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8", 78000, 2.41e9, 36 * mib,
           140 * mib, 120 * mib, 192, 256, 2});
      call(block, block_begin, now).step = step;
    }
    run(child(node, "loss"), step,
        {"_Z14softmax_kernelPfi", 48000, 1.1e8, 71 * mib, 127 * mib, 99 * mib, 2048, 1024, 1});
    std::uint32_t const logits = child(node, "logits");
    std::int64_t const copy_begin = now;
    std::uint32_t const correlation = launch(logits, now, now + 2000, api_kind::copy);
    copy(correlation, device + 500, device + 310000, 49ull << 18, copy_kind::device_to_host)
        .stream = 7;
    made.copies.back().node = logits;
    made.copies.back().context = 1;
    device += 310500;
    synchronization_record wait{};
    wait.begin = now + 2500;
    wait.end = now = device + 3000;
    wait.node = logits;
    wait.kind = synchronization_kind::stream;
    made.synchronizations.push_back(wait);
    call(logits, copy_begin, now).step = step;
    range_record& whole = call(node, begin, now + 2000);
    whole.step = step;
    describe(whole).tokens = 256;
    made.steps.push_back({begin, now + 2000, step, 0});
    now += 30000;
  }
};

/// The same with the kernels of attention counted one by one; each of its ranges has one kernel.
inline gpt2_sample with_counted_kernels() {
  constexpr std::uint64_t steps = 5;
  gpt2_sample s;
  counter_set counted = s.made.add_counters(counter_set::gpu);
  counted.name = counter_set::gpu_kernels;
  std::size_t const counters = counted.names.size();
  for (kernel_record const& each : s.made.kernels) {
    profile_node const& above = s.made.nodes[s.made.nodes[each.node].parent];
    if (s.made.names[above.name] != "attention") continue;
    std::size_t at = 0;
    while (at < counted.kernels.size() && counted.kernels[at].node != each.node) ++at;
    if (at == counted.kernels.size())
      counted.kernels.push_back({each.node, each.name, 0, 0, vec<double>(counters, 0.0)});
    ++counted.kernels[at].launches_max;
  }
  for (counted_kernel& each : counted.kernels) {
    each.launches_min = each.launches_max /= steps;
    for (auto const& value : counted.values)
      if (value.node == each.node) each.values[value.counter] = value.value;
  }
  counted.values.clear();
  s.made.counter_sets.push_back(counted);
  return s;
}

/// Four steps with an all-reduce, of which NCCL's plugin tells the ranks of the communicator, those
/// of a second one too, and a group of sends and receives whose bytes are not known.
inline profile with_collectives(std::uint32_t other_ranks = 4) {
  using finding_test::us;
  finding_test::program p;
  p.made.kernel_names.push_back({"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL4args"});
  p.made.kernel_names.push_back({"_Z22ncclDevKernel_SendRecvPv"});
  p.made.environment.devices[0].name = "NVIDIA H200";
  std::uint32_t const reduced = p.node(p.attention, "NCCL:ncclAllReduce");
  std::uint32_t const group = p.node(p.mlp, "NCCL:ncclGroupEnd");
  std::uint32_t const ring = p.node(reduced, "NCCL:AllReduce RING LL (4 channels of 4 ranks)");
  std::uint32_t const tree = p.node(
      reduced, "NCCL:AllReduce TREE LL (4 channels of " + std::to_string(other_ranks) + " ranks)");
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t) {
      range_record& call = p.in(reduced, [&](std::uint32_t range) {
        p.kernel_of(range, 300 * us, 24, 8).name = 2;
        p.in(ring, [](std::uint32_t) {});
        p.in(tree, [](std::uint32_t) {});
      });
      p.describe(call).bytes = 3e6;
    });
    p.in(group, [&](std::uint32_t range) { p.kernel_of(range, 100 * us, 24, 8).name = 3; });
    p.wait();
  });
  return p.made;
}

}  // namespace page_test

#endif  // STRATA_TESTS_UNIT_PAGE_SAMPLE_HPP
