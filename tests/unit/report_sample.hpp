// A profile of a small transformer, made step by step: records, and by hand the rows that analysis
// would find in them.
#ifndef STRATA_TESTS_UNIT_REPORT_SAMPLE_HPP
#define STRATA_TESTS_UNIT_REPORT_SAMPLE_HPP

#include <strata/base/text_writer.hpp>
#include <strata/recording/format.hpp>
#include <strata/tables/columns.hpp>
#include "report/report_input.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "counter_tables.hpp"

#ifndef STRATA_TEST_DATA
#define STRATA_TEST_DATA STRATA_TEST_DIR "/unit"
#endif

namespace report_test {

using namespace strata;

inline std::vector<std::string> lines(std::string const& text) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = text.find('\n', at);
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

inline bool has(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

/// Where rows made by hand are in the folded ones, by their names.
inline strata::vec<std::uint32_t> folded_rows_of(strata::vec<range_row> const& rows,
                                                 strata::vec<range_row> const& folded) {
  strata::vec<std::uint32_t> places(rows.size(), 0);
  for (std::size_t row = 1; row < rows.size(); ++row)
    for (std::uint32_t place = 1; place < folded.size() && places[row] == 0; ++place)
      if (folded[place].parent == places[rows[row].parent] && folded[place].name == rows[row].name)
        places[row] = place;
  return places;
}

struct report_sample {
  profile source;
  strata::vec<range_row> tree;
  strata::vec<range_row> folded;
  strata::vec<kernel_row> kernels;
  memory_table memory;

  report_input input() const {
    report_input made(source, tree, folded, folded_rows_of(tree, folded), kernels, memory);
    made.find_answer(call_tree(source, folding::by_name));
    return made;
  }
};

/// The tables of a profile, as a session makes them.
struct report_tables {
  profile source;
  call_tree tree;
  call_tree folded;
  strata::vec<kernel_row> kernels;
  memory_table memory;
  kernel_counter_table kernel_counters;

  explicit report_tables(profile const& made)
      : source(made),
        tree(source),
        folded(source, folding::by_name),
        kernels(make_kernel_table(source, tree)),
        memory(make_memory_table(source, tree)),
        kernel_counters(make_kernel_counter_table(source, tree, kernels)) {}
  report_tables(report_tables const&) = delete;

  report_input input() const {
    report_input made(source, tree, folded, kernels, memory);
    for (counter_set const& set : source.counter_sets) {
      if (!set.kernels.empty()) {
        made.kernel_counters = &kernel_counters;
        continue;
      }
      made.counters.push_back({make_counter_table(source, tree, set.name),
                               make_counter_table(source, folded, set.name)});
    }
    made.find_answer(folded);
    return made;
  }
};

inline std::string recording_of(profile const& source) {
  std::string bytes;
  detail::text_writer out(bytes);
  write_recording(out, source);
  out.flush();
  return bytes;
}

/// Kernels per range, with their durations in ns.
struct kernel_shape {
  char const* short_name;
  char const* demangled;
  char const* mangled;
  std::uint32_t grid;
  std::uint16_t block;
  std::int64_t ns;
};

inline kernel_shape const shapes[] = {
    {"layernorm_kernel", "void llm::layernorm_kernel<float, 256>(float*, float const*, int)",
     "_ZN3llm16layernorm_kernelIfLi256EEEvPT_PKS1_i", 256, 256, 4200},
    {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", 144, 128, 61300},
    {"softmax_kernel", "void llm::softmax_kernel<float>(float*, int, int)",
     "_ZN3llm14softmax_kernelIfEEvPT_ii", 3072, 128, 11900},
    {"gelu_kernel", "void llm::gelu_kernel<float>(float*, long)", "_ZN3llm11gelu_kernelIfEEvPT_l",
     768, 256, 5100},
    {"encoder_kernel", "void llm::encoder_kernel(float*, int const*)",
     "_ZN3llm14encoder_kernelEPfPKi", 96, 512, 3700},
};

class sample_maker {
 public:
  sample_maker(std::uint32_t layers, std::uint32_t steps, bool traced) : traced_(traced) {
    describe();
    add_nodes(layers);
    for (std::uint32_t step = 0; step < steps; ++step) run_step(step, layers);
    finish(layers);
  }

  report_sample take() { return std::move(s_); }

 private:
  std::uint32_t name(std::string const& text) {
    for (std::uint32_t i = 0; i < s_.source.names.size(); ++i)
      if (s_.source.names[i] == text) return i;
    s_.source.names.push_back(text);
    return static_cast<std::uint32_t>(s_.source.names.size() - 1);
  }

  std::uint32_t node(std::uint32_t parent, std::string const& text, std::int64_t index = no_index) {
    auto const number = static_cast<std::uint32_t>(s_.source.nodes.size());
    std::uint32_t const depth = number == 0 ? 0 : s_.source.nodes[parent].depth + 1;
    s_.source.nodes.push_back({parent, name(text), index, depth, true});
    range_row row;
    row.node = number;
    row.parent = parent;
    row.depth = depth;
    row.name = text;
    row.index = index;
    row.path_id = number;
    if (number > 0) {
      row.path = s_.tree[parent].path.empty() ? text : s_.tree[parent].path + "/" + text;
      if (index != no_index) row.path += "[" + std::to_string(index) + "]";
    }
    s_.tree.push_back(row);
    return number;
  }

  void describe() {
    profile& p = s_.source;
    p.environment.host = "node7";
    p.environment.command = "./build/train_gpt2 -b 4 -t 64";
    p.environment.options = traced_ ? "trace" : "on";
    p.environment.started_at = "2026-11-03T10:20:30Z";
    p.environment.started_at_unix_ns = 1793701230123456789;
    p.environment.cpu = "AMD EPYC 9654 96-Core Processor";
    p.environment.clock = "tsc";
    p.environment.process_id = 4242;
    p.traced = traced_;
    p.has_steps = true;
    p.threads = {{0, 4242, "main"}, {1, 4250, "loader"}};
    p.cost.range_ns = 38.5;
    p.cost.start_seconds = 0.012;
    p.cost.log_bytes = 1 << 20;
    if (!traced_) return;
    p.environment.cupti_path = "/usr/local/cuda/lib64/libcupti.so.13";
    p.environment.cupti_version = 130000;
    p.environment.driver_version = 13000;
    p.environment.devices.push_back({0,
                                     "NVIDIA H100 80GB HBM3",
                                     132,
                                     9,
                                     0,
                                     1980000,
                                     2619000,
                                     5120,
                                     50u << 20,
                                     80ull << 30,
                                     {},
                                     {},
                                     {}});
    p.cost.callback_ns = 52.0;
    p.cost.activity_seconds = 0.0031;
    p.cost.flush_seconds = 0.0008;
    p.cost.activity_bytes = 4 << 20;
    for (kernel_shape const& shape : shapes) p.kernel_names.push_back({shape.mangled});
  }

  void add_nodes(std::uint32_t layers) {
    node(0, "");
    std::uint32_t const forward = node(0, "forward");
    node(forward, "encoder");
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      std::uint32_t const block = node(forward, "block", layer);
      node(block, "ln1");
      node(block, "attention");
      node(block, "mlp");
    }
    loader_ = node(0, "load batch");
    name("causal");
  }

  void launch(std::uint32_t where, std::uint32_t step, std::uint32_t which) {
    if (!traced_) {
      now_ += shapes[which].ns;
      return;
    }
    kernel_shape const& shape = shapes[which];
    std::uint32_t const correlation = ++correlation_;
    s_.source.launches.push_back(
        {now_, now_ + 4100, correlation, where, step, 0, api_kind::launch, 0});
    work(where, correlation, which, shape.ns, 7, no_node);
    now_ += 4400;
    device_work& self = s_.tree[where].self;
    ++self.launches;
    self.launch_ns += 4100;
  }

  void work(std::uint32_t where, std::uint32_t correlation, std::uint32_t which, std::int64_t ns,
            std::uint32_t stream, std::uint32_t captured_by) {
    kernel_shape const& shape = shapes[which];
    bool const is_first_step = s_.source.launches.back().step == 0;
    std::int64_t const begin = free_ > now_ + 2500 ? free_ : now_ + 2500;
    kernel_record k{};
    k.begin = begin;
    k.end = begin + ns;
    k.node = where;
    k.captured_by = captured_by;
    k.correlation = correlation;
    k.name = which + 1;
    k.stream = stream;
    k.context = 1;
    k.grid_x = shape.grid;
    k.grid_y = k.grid_z = k.block_y = k.block_z = 1;
    k.block_x = shape.block;
    k.registers = 40;
    k.static_shared_bytes = 2048;
    s_.source.kernels.push_back(k);
    free_ = k.end + 600;
    device_work& self = s_.tree[where].self;
    ++self.kernels;
    self.kernel_ns += ns;
    for (kernel_row& row : s_.kernels) {
      if (row.path_id != where || row.name != which + 1) continue;
      ++row.count;
      row.duration.add(ns);
      if (!is_first_step) return;
      ++row.first_step_count;
      row.first_step_ns += ns;
      return;
    }
    kernel_row row;
    row.path_id = where;
    row.path = s_.tree[where].path;
    row.name = which + 1;
    row.mangled = shape.mangled;
    row.demangled = shape.demangled;
    row.short_name = shape.short_name;
    row.count = 1;
    row.duration.add(ns);
    row.first_step_count = is_first_step ? 1 : 0;
    row.first_step_ns = is_first_step ? ns : 0;
    row.blocks_min = row.blocks_median = row.blocks_max = shape.grid;
    row.blocks_mean = shape.grid;
    row.block_threads_min = row.block_threads_max = shape.block;
    row.warps_per_block = shape.block / 32.0;
    row.registers_per_thread = 40;
    row.static_shared_bytes = 2048;
    row.sm_utilisation = 1.0;
    row.gpu_utilisation = shape.grid < 132 ? shape.grid / 132.0 : 1.0;
    row.later_gpu_utilisation = row.gpu_utilisation;
    s_.kernels.push_back(row);
  }

  /// Two kernels of one graph launch on a stream of their own; the first reaches into the second.
  void launch_graph(std::uint32_t where, std::uint32_t step) {
    std::uint32_t const correlation = ++correlation_;
    s_.source.launches.push_back(
        {now_, now_ + 6200, correlation, where, step, 0, api_kind::graph_launch, 0});
    work(where, correlation, 1, shapes[1].ns, 13, where - 1);
    free_ -= 605;
    work(where, correlation, 3, shapes[3].ns, 13, where);
    now_ += 6500;
    ++s_.tree[where].self.launches;
    s_.tree[where].self.launch_ns += 6200;
  }

  void end_range(std::uint32_t where, std::uint32_t step, std::int64_t begin,
                 std::uint32_t attribute = no_reference, std::uint32_t thread = 0) {
    now_ += 300;
    s_.source.ranges.push_back({begin, now_, where, attribute, step, thread});
    range_row& row = s_.tree[where];
    row.host.add(now_ - begin);
    row.host_total_ns += now_ - begin;
    if (step > 0) return;
    ++row.first_step_calls;
    row.first_step_host_ns += now_ - begin;
    if (attribute == no_reference) return;
    row.first_step_flops += s_.source.attributes[attribute - 1].flops;
    row.first_step_bytes += s_.source.attributes[attribute - 1].bytes;
  }

  std::uint32_t attribute(std::uint32_t where, double flops, double bytes, bool noted) {
    double const nan = std::nan("");
    attribute_record a{flops, bytes, nan, where, noted ? name("causal") : no_reference, 0, {}};
    if (noted) {
      a.rank = 3;
      a.dimensions[0] = 4;
      a.dimensions[1] = 64;
      a.dimensions[2] = 768;
      s_.tree[where].shape = "4x64x768";
      s_.tree[where].note = "causal";
    }
    s_.source.attributes.push_back(a);
    range_row& row = s_.tree[where];
    row.flops = std::isnan(row.flops) ? flops : row.flops + flops;
    row.bytes = std::isnan(row.bytes) ? bytes : row.bytes + bytes;
    return static_cast<std::uint32_t>(s_.source.attributes.size());
  }

  void copy_batch(std::uint32_t where, std::uint32_t step) {
    if (!traced_) return;
    std::uint32_t const correlation = ++correlation_;
    s_.source.launches.push_back(
        {now_, now_ + 3000, correlation, where, step, 0, api_kind::copy, 0});
    s_.source.copies.push_back({now_ + 3100,
                                now_ + 4300,
                                1048576,
                                where,
                                correlation,
                                7,
                                1,
                                0,
                                copy_kind::host_to_device,
                                0,
                                0,
                                {}});
    free_ = now_ + 4400;
    now_ += 3300;
    device_work& self = s_.tree[where].self;
    ++self.launches;
    self.launch_ns += 3000;
    ++self.copies;
    self.copy_ns += 1200;
    self.host_to_device_bytes += 1048576;
  }

  void run_step(std::uint32_t step, std::uint32_t layers) {
    std::int64_t const step_begin = now_;
    now_ += 200;
    std::int64_t const load = now_;
    now_ += 9000;
    end_range(loader_, step, load, no_reference, 1);
    std::int64_t const forward = now_;
    now_ += 100;
    std::int64_t begin = now_;
    if (step == 0) now_ += 2500000;  // lazy initialisation
    copy_batch(2, step);
    launch(2, step, 4);
    end_range(2, step, begin);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      std::uint32_t const block = 3 + 4 * layer;
      std::int64_t const block_begin = now_;
      begin = now_;
      launch(block + 1, step, 0);
      end_range(block + 1, step, begin);
      begin = now_;
      launch(block + 2, step, 1);
      launch(block + 2, step, 2);
      launch(block + 2, step, 1);
      end_range(block + 2, step, begin, attribute(block + 2, 1.3e9, 1.9e7, true));
      begin = now_;
      if (traced_ && layer + 1 == layers) {
        launch_graph(block + 3, step);
      } else {
        launch(block + 3, step, 1);
        launch(block + 3, step, 3);
      }
      end_range(block + 3, step, begin, attribute(block + 3, 2.4e9, 3.1e7, false));
      end_range(block, step, block_begin);
    }
    if (traced_) {
      std::int64_t const wait = now_;
      if (now_ < free_) now_ = free_;
      s_.source.synchronizations.push_back(
          {wait, now_ + 900, 1, ++correlation_, 0, synchronization_kind::context, {}});
      now_ += 1000;
      ++s_.tree[1].self.synchronizations;
      s_.tree[1].self.synchronization_ns += now_ - wait;
    }
    end_range(1, step, forward);
    now_ += 500;
    s_.source.steps.push_back({step_begin, now_, step, 0});
    now_ += 1000;
  }

  void odd_work() {
    // A kernel of an unknown launch, and one without times.
    work(0, 999999, 3, shapes[3].ns, 7, no_node);
    kernel_record lost = s_.source.kernels.back();
    lost.begin = lost.end = lost_time;
    s_.source.kernels.push_back(lost);
    s_.source.losses.uncorrelated = 1;
    s_.source.losses.timestamps_lost = 1;
  }

  void remember_memory() {
    s_.tree[2].self.allocations = 2;
    s_.tree[2].self.allocated_bytes = 3u << 20;
    for (std::size_t const i : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
      s_.tree[i].peak_bytes = 3 << 20;
    s_.memory.allocations.push_back({2, "forward/encoder", 0x7f0000200000, 2u << 20,
                                     memory_kind::device, false, 0, 0, 9400, -1, ""});
    s_.memory.allocations.push_back({2, "forward/encoder", 0x7f0000400000, 1u << 20,
                                     memory_kind::device, true, 0, 7, 9500, now_ - 100,
                                     "load batch"});
    s_.memory.timeline = {{9400, 2 << 20}, {9500, 3 << 20}, {now_ - 100, 2 << 20}};
    s_.memory.peak_bytes = 3 << 20;
    s_.memory.peak_at = 9500;
  }

  void finish(std::uint32_t layers) {
    if (traced_) odd_work();
    if (traced_) remember_memory();
    now_ = free_ > now_ ? free_ : now_;
    s_.source.end = now_ + 5000;
    s_.source.cost.seconds_in_window = static_cast<double>(s_.source.end) / 1e9;
    s_.source.cost.ranges = s_.source.ranges.size();
    s_.source.cost.callbacks = s_.source.launches.size();
    for (range_row& row : s_.tree) {
      row.total = row.self;
      row.host_self_ns = row.host_total_ns;
    }
    for (std::size_t i = s_.tree.size(); --i > 0;) {
      s_.tree[s_.tree[i].parent].total.add(s_.tree[i].total);
      s_.tree[s_.tree[i].parent].host_self_ns -= s_.tree[i].host_total_ns;
    }
    s_.tree[0].host_self_ns = 0;
    for (range_row& row : s_.tree) {
      row.gpu_busy_ns = row.total.kernel_ns + row.total.copy_ns;
      row.span_ns = row.host_total_ns + (row.gpu_busy_ns > 0 ? 2500 : 0);
    }
    fold(layers);
    take_parts(s_.tree, call_tree(s_.source));
    take_parts(s_.folded, call_tree(s_.source, folding::by_name));
  }

  /// Which parts lie in steps, as the analysis finds them.
  static void take_parts(strata::vec<range_row>& rows, call_tree const& tree) {
    for (range_row& row : rows) {
      range_row const& found = tree.row_of(row.node);
      row.step_call_share = found.step_call_share;
      row.step_host_share = found.step_host_share;
      row.step_host_self_share = found.step_host_self_share;
      row.step_work_share = found.step_work_share;
      row.step_self_share = found.step_self_share;
      row.step_busy_share = found.step_busy_share;
      row.step_launch_share = found.step_launch_share;
      row.step_self_launch_share = found.step_self_launch_share;
    }
  }

  void fold(std::uint32_t layers) {
    for (range_row const& row : s_.tree) {
      bool const later = row.node > 6 && row.node < 3 + 4 * layers;
      if (!later) {
        s_.folded.push_back(row);
        if (row.node == loader_) s_.folded.back().parent = 0;
        if (row.name == "block") s_.folded.back().index = any_index;
        std::string& path = s_.folded.back().path;
        if (path.find("[0]") != std::string::npos) path.replace(path.find("[0]"), 3, "[*]");
        continue;
      }
      range_row& to = s_.folded[3 + (row.node - 3) % 4];
      to.host.add(row.host);
      to.host_total_ns += row.host_total_ns;
      to.host_self_ns += row.host_self_ns;
      to.gpu_busy_ns += row.gpu_busy_ns;
      to.span_ns += row.span_ns;
      to.flops += row.flops;
      to.bytes += row.bytes;
      to.first_step_flops += row.first_step_flops;
      to.first_step_bytes += row.first_step_bytes;
      to.self.add(row.self);
      to.total.add(row.total);
    }
  }

  report_sample s_;
  bool traced_;
  std::int64_t now_ = 1000;
  std::int64_t free_ = 0;  ///< when the device is free
  std::uint32_t correlation_ = 100;
  std::uint32_t loader_ = 0;
};

inline report_sample gpu_sample(std::uint32_t layers = 2, std::uint32_t steps = 2) {
  return sample_maker(layers, steps, true).take();
}
inline report_sample cpu_sample(std::uint32_t layers = 2, std::uint32_t steps = 2) {
  return sample_maker(layers, steps, false).take();
}

/// What a report writes, as text.
template <class Write>
std::string text_of(Write write) {
  std::string text;
  detail::text_writer out(text);
  write(out);
  out.flush();
  return text;
}

inline std::string read_file(std::string const& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, n);
  std::fclose(file);
  return text;
}

/// The golden file of this name; with STRATA_UPDATE_GOLDEN=1 it becomes `text` first.
inline std::string golden(char const* name, std::string const& text) {
  std::string const path = std::string(STRATA_TEST_DATA "/golden/") + name;
  char const* const update = std::getenv("STRATA_UPDATE_GOLDEN");
  if (update != nullptr && update[0] == '1') {
    if (std::FILE* const file = std::fopen(path.c_str(), "wb")) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fclose(file);
    }
  }
  return read_file(path);
}

}  // namespace report_test

#endif  // STRATA_TESTS_UNIT_REPORT_SAMPLE_HPP
