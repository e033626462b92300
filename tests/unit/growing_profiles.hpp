// Profiles that have many of one thing: ranges, threads, streams, steps, names, metrics.
#ifndef STRATA_TESTS_UNIT_GROWING_PROFILES_HPP
#define STRATA_TESTS_UNIT_GROWING_PROFILES_HPP

#include <strata/profile.hpp>
#include <strata/profile/early_steps.hpp>
#include <strata/profile/samples.hpp>
#include <strata/tables/launch_index.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace growing {

using std::int64_t;
using std::uint32_t;

/// A program of a few steps, to which a dimension adds what it has many of.
class program {
 public:
  strata::profile made;
  int64_t now = 1000;
  uint32_t step = strata::no_step;

  program() {
    made.traced = made.has_steps = true;
    made.names.emplace_back("");
    made.nodes.push_back({0, 0, strata::no_index, 0, true});
    made.threads.push_back({0, 1000, "main"});
    made.environment.command = "train";
    made.environment.rank = 0;
    made.environment.started_at_unix_ns = 1'700'000'000'000'000'000;
    add_device(0);
    for (int i = 0; i < 4; ++i) kernel_name(i);
  }

  void add_device(uint32_t ordinal) {
    strata::profile_device& device = made.environment.devices.emplace_back();
    device.ordinal = ordinal;
    device.name = "GPU";
    device.multiprocessors = 132;
    device.compute_capability_major = 9;
  }

  void kernel_name(int number) {
    made.kernel_names.push_back({"_ZN3llm" + std::to_string(10 + std::to_string(number).size()) +
                                 "some_kernel" + std::to_string(number).substr(1) +
                                 std::to_string(number).substr(0, 1) + "EPf"});
  }

  uint32_t name(std::string text) {
    made.names.push_back(std::move(text));
    return static_cast<uint32_t>(made.names.size() - 1);
  }
  uint32_t node(uint32_t parent, uint32_t name, int64_t index = strata::no_index) {
    made.nodes.push_back({parent, name, index, made.nodes[parent].depth + 1, true});
    return static_cast<uint32_t>(made.nodes.size() - 1);
  }
  uint32_t range(uint32_t parent, std::string text) { return node(parent, name(std::move(text))); }

  strata::range_record& call(uint32_t where, int64_t begin, int64_t end, uint32_t thread = 0) {
    made.ranges.push_back({begin, end, where, strata::no_reference, step, thread});
    return made.ranges.back();
  }

  struct place {
    uint32_t thread = 0;
    uint32_t stream = 7;
    uint32_t context = 1;
    uint32_t name = 1;
    uint32_t device = 0;
    uint32_t captured_by = strata::no_node;
  };
  /// A launch and its kernel; the host continues behind the launch.
  void launch(uint32_t where, place at) {
    auto const number = static_cast<uint32_t>(made.launches.size()) + 1;
    made.launches.push_back({now, now + 3000, number, where, step,
                             static_cast<std::uint16_t>(at.thread), strata::api_kind::launch, 0});
    strata::kernel_record kernel{};
    kernel.begin = std::max(gpu_, now + 6000);
    kernel.end = gpu_ = kernel.begin + 2000 + number % 7 * 300;
    kernel.node = where;
    kernel.captured_by = at.captured_by;
    kernel.correlation = number;
    kernel.name = at.name;
    kernel.stream = at.stream;
    kernel.context = at.context;
    kernel.device = static_cast<std::uint16_t>(at.device);
    kernel.grid_x = 14;
    kernel.grid_y = kernel.grid_z = kernel.block_y = kernel.block_z = 1;
    kernel.block_x = 256;
    made.kernels.push_back(kernel);
    now += 3000;
  }
  void launch(uint32_t where) { launch(where, place()); }
  /// A copy through pageable memory that the host waits for.
  void copy(uint32_t where) {
    auto const number = static_cast<uint32_t>(made.launches.size()) + 1;
    made.launches.push_back({now, now + 30000, number, where, step, 0, strata::api_kind::copy, 0});
    strata::copy_record copy{};
    copy.begin = std::max(gpu_, now + 6000);
    copy.end = gpu_ = copy.begin + 20000;
    copy.bytes = 1 << 20;
    copy.node = where;
    copy.correlation = number;
    copy.stream = 7;
    copy.context = 1;
    copy.pageable = 1;
    copy.kind = strata::copy_kind::host_to_device;
    made.copies.push_back(copy);
    now = std::max(now + 30000, copy.end);
  }
  void wait(uint32_t where) {
    auto const number = static_cast<uint32_t>(made.launches.size()) + 1;
    int64_t const end = std::max(gpu_, now) + 2000;
    made.launches.push_back({now, end, number, where, step, 0, strata::api_kind::wait, 0});
    made.synchronizations.push_back(
        {now, end, where, number, 7, strata::synchronization_kind::stream, {}});
    now = end;
  }

  /// A range's call of one launch.
  void work(uint32_t where, place at) {
    int64_t const begin = now;
    launch(where, at);
    now += 500;
    call(where, begin, now, at.thread);
  }
  void work(uint32_t where) { work(where, place()); }

  template <class Body>
  void steps(uint32_t count, Body body) {
    for (uint32_t i = 0; i < count; ++i) {
      int64_t const begin = now;
      step = i;
      body();
      wait(0);
      made.steps.push_back({begin, now, i, 0});
      step = strata::no_step;
      now += 1000;
    }
  }
  template <class Body>
  void steps(Body body) {
    steps(3, body);
  }

  strata::profile take() {
    made.end = now;
    made.cost.seconds_in_window = static_cast<double>(now) / 1e9;
    made.device = strata::detail::sum_records(made);
    return std::move(made);
  }

 private:
  int64_t gpu_ = 0;
};

inline std::string text(char const* before, std::size_t number) {
  return before + std::to_string(number);
}

/// What a profile has many of. `size`: the least of which the growth shows.
struct dimension {
  char const* name;
  std::size_t size;
  void (*fill)(program&, std::size_t);
};

inline void fill_nodes(program& with, std::vector<uint32_t> const& nodes) {
  with.steps([&] {
    for (uint32_t const node : nodes) with.work(node);
  });
}

inline void names(program& with, std::size_t size) {
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  fill_nodes(with, nodes);
}
inline void idle_names(program& with, std::size_t size) {  // the host computes in each
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  with.steps([&] {
    for (uint32_t const node : nodes) {
      int64_t const begin = with.now;
      with.launch(node);
      with.now += 60'000;
      with.call(node, begin, with.now);
    }
  });
}
inline void indices(program& with, std::size_t size) {
  std::vector<uint32_t> nodes;
  uint32_t const block = with.name("block");
  for (std::size_t i = 0; i < size; ++i)
    nodes.push_back(with.node(0, block, static_cast<int64_t>(i)));
  fill_nodes(with, nodes);
}
inline void paths(program& with, std::size_t size) {
  std::vector<uint32_t> nodes;
  auto const side = static_cast<std::size_t>(std::sqrt(static_cast<double>(size)));
  std::vector<uint32_t> leaves;
  for (std::size_t i = 0; i < side; ++i) leaves.push_back(with.name(text("leaf_", i)));
  for (std::size_t i = 0; i < side; ++i) {
    uint32_t const parent = with.range(0, text("parent_", i));
    for (uint32_t const leaf : leaves) nodes.push_back(with.node(parent, leaf));
  }
  fill_nodes(with, nodes);
}
inline void nest(program& with, std::size_t depth, std::size_t length, std::size_t calls) {
  std::vector<uint32_t> nodes;
  uint32_t parent = 0;
  for (std::size_t i = 0; i < depth; ++i) {
    std::string text = std::to_string(i);
    text.resize(std::max(text.size(), length), 'x');
    nodes.push_back(parent = with.range(parent, text));
  }
  with.steps([&] {
    for (std::size_t i = 0; i < calls; ++i) {
      int64_t const begin = with.now;
      for (uint32_t const node : nodes) with.launch(node);
      with.now += 2 * static_cast<int64_t>(depth);
      for (std::size_t d = 0; d < depth; ++d)
        with.call(nodes[d], begin + static_cast<int64_t>(d), with.now - static_cast<int64_t>(d));
    }
  });
}
inline void depth(program& with, std::size_t size) { nest(with, size, 0, 1); }
inline void long_names(program& with, std::size_t size) { nest(with, 512, size, 1); }
inline void deep_calls(program& with, std::size_t size) { nest(with, 500, 0, size); }
inline void threads(program& with, std::size_t size) {
  uint32_t const request = with.range(0, "request");
  for (std::size_t i = 1; i <= size; ++i)
    with.made.threads.push_back({static_cast<uint32_t>(i), 1000 + i, text("worker ", i)});
  with.steps([&] {
    for (std::size_t i = 1; i <= size; ++i) {
      program::place at;
      at.thread = static_cast<uint32_t>(i);
      with.work(request, at);
    }
  });
}
inline void threads_with_names(program& with, std::size_t size) {  // a range of its own each
  std::vector<uint32_t> nodes;
  for (std::size_t i = 1; i <= size; ++i) {
    with.made.threads.push_back({static_cast<uint32_t>(i), 1000 + i, text("worker ", i)});
    nodes.push_back(with.range(0, text("request_", i)));
  }
  with.steps([&] {
    for (std::size_t i = 1; i <= size; ++i) {
      program::place at;
      at.thread = static_cast<uint32_t>(i);
      with.work(nodes[i - 1], at);
    }
  });
}
inline void streams(program& with, std::size_t size) {
  uint32_t const request = with.range(0, "request");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      program::place at;
      at.stream = static_cast<uint32_t>(7 + i);
      with.work(request, at);
    }
  });
}
inline void contexts(program& with, std::size_t size) {
  uint32_t const request = with.range(0, "request");
  for (std::size_t i = 0; i < size; ++i)
    with.made.contexts.push_back({static_cast<uint32_t>(i + 1), 0, 16});
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      program::place at;
      at.context = static_cast<uint32_t>(1 + i);
      with.work(request, at);
    }
  });
}
inline void devices(program& with, std::size_t size) {
  uint32_t const request = with.range(0, "request");
  for (std::size_t i = 1; i < size; ++i) with.add_device(static_cast<uint32_t>(i));
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      program::place at;
      at.device = static_cast<uint32_t>(i);
      at.context = static_cast<uint32_t>(i + 1);
      with.work(request, at);
    }
  });
}
inline void steps(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps(static_cast<uint32_t>(size), [&] { with.work(forward); });
}
inline void early_steps(program& with, std::size_t size) {  // before the first work on a device
  uint32_t const load = with.range(0, "load");
  with.steps(static_cast<uint32_t>(size), [&] {
    with.call(load, with.now, with.now + 500);
    with.now += 500;
  });
  uint32_t const forward = with.range(0, "forward");
  auto const first = static_cast<uint32_t>(with.made.steps.size());
  with.steps([&] {
    with.step += first;
    with.work(forward);
    with.step -= first;
  });
  for (std::size_t i = first; i < with.made.steps.size(); ++i) with.made.steps[i].step += first;
  strata::detail::set_early_steps_apart(with.made);
}
inline void calls(program& with, std::size_t size) {  // calls without GPU work, next to one with it
  uint32_t const token = with.range(0, "token");
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    with.work(forward);
    for (std::size_t i = 0; i < size; ++i) {
      with.call(token, with.now, with.now + 200);
      with.now += 300;
    }
  });
}
inline void kernels(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) with.launch(forward);
  });
}
inline void kernel_names(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  for (std::size_t i = 0; i < size; ++i) with.kernel_name(static_cast<int>(1000 + i));
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      program::place at;
      at.name = static_cast<uint32_t>(5 + i);
      with.work(forward, at);
    }
  });
}
inline void range_kernels(program& with, std::size_t size) {  // pairs of a range and a kernel
  auto const side = static_cast<std::size_t>(std::sqrt(static_cast<double>(size)));
  for (std::size_t i = 0; i < side; ++i) with.kernel_name(static_cast<int>(1000 + i));
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < side; ++i) nodes.push_back(with.range(0, text("range_", i)));
  with.steps([&] {
    for (uint32_t const node : nodes)
      for (std::size_t i = 0; i < side; ++i) {
        program::place at;
        at.name = static_cast<uint32_t>(5 + i);
        with.work(node, at);
      }
  });
}
inline void graph_nodes(program& with, std::size_t size) {  // captured in ranges of their own
  uint32_t const replay = with.range(0, "replay");
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("captured_", i)));
  with.steps([&] {
    for (uint32_t const node : nodes) {
      program::place at;
      at.captured_by = node;
      with.work(replay, at);
    }
  });
}
inline void graph_launchers(program& with,
                            std::size_t size) {  // one captured range, many that launch
  uint32_t const captured = with.range(0, "captured");
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("replay_", i)));
  with.steps([&] {
    for (uint32_t const node : nodes) {
      program::place at;
      at.captured_by = captured;
      with.work(node, at);
    }
  });
}
inline void counters_of(program& with, std::vector<uint32_t> const& nodes, std::size_t metrics) {
  strata::counter_set& set = with.made.add_counters(strata::counter_set::gpu);
  set.where = "GH100";
  set.devices = {0};
  set.passes = set.passes_done = 1;
  for (std::size_t i = 0; i < metrics; ++i) {
    std::string const counter = text("lts__t_sectors_", i) + ".sum";
    strata::resolved_metric metric;
    metric.key = metric.formula = counter;
    metric.counters.push_back(counter);
    set.metrics.metrics.push_back(metric);
    set.names.push_back(counter);
    set.origins.push_back({0, 1});
    for (uint32_t const node : nodes)
      set.values.push_back({node, static_cast<uint32_t>(i), static_cast<double>(i + 1)});
  }
  for (uint32_t const node : nodes) set.work.push_back({node, 0, 1, 0, 1, 1, 1.0});
}
inline void metrics(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  counters_of(with, {forward}, size);
  with.steps([&] { with.work(forward); });
}
inline void counter_values(program& with, std::size_t size) {  // of many ranges
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  counters_of(with, nodes, 4);
  fill_nodes(with, nodes);
}
inline void counter_sets(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  for (std::size_t i = 0; i < size; ++i) {
    strata::counter_set& set = with.made.counter_sets.emplace_back();
    set.name = text("set_", i);
    set.method = strata::counting::while_running;
    set.names.push_back("instructions");
    strata::resolved_metric metric;
    metric.key = metric.formula = "instructions";
    metric.counters.push_back("instructions");
    set.metrics.metrics.push_back(metric);
    set.values.push_back({forward, 0, 1.0});
  }
  with.steps([&] { with.work(forward); });
}
inline void kernel_counters(program& with, std::size_t size) {
  kernel_names(with, size);
  strata::counter_set& set = with.made.add_counters(strata::counter_set::gpu_kernels);
  set.devices = {0};
  set.passes = set.passes_done = 1;
  set.names.push_back("lts__t_sectors.sum");
  set.origins.push_back({0, 1});
  strata::resolved_metric metric;
  metric.key = metric.formula = set.names[0];
  metric.counters.push_back(set.names[0]);
  set.metrics.metrics.push_back(metric);
  for (std::size_t i = 0; i < size; ++i)
    set.kernels.push_back({1, static_cast<uint32_t>(5 + i), 1, 1, {1.0}});
}
inline void copies(program& with,
                   std::size_t size) {  // each range copies: a finding of many ranges
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  with.steps([&] {
    for (uint32_t const node : nodes) {
      int64_t const begin = with.now;
      with.copy(node);
      with.call(node, begin, with.now);
    }
  });
}
inline void waits(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      with.work(forward);
      with.wait(forward);
    }
  });
}
inline void allocations(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      auto const number = static_cast<uint32_t>(with.made.launches.size()) + 1;
      with.made.launches.push_back({with.now, with.now + 3000, number, forward, with.step, 0,
                                    strata::api_kind::allocate, 0});
      with.made.memory.push_back({with.now,
                                  0x7f0000000000u + (number << 9),
                                  512,
                                  forward,
                                  number,
                                  0,
                                  0,
                                  strata::memory_kind::device,
                                  static_cast<std::uint8_t>(with.step != 1),
                                  0,
                                  {}});
      with.now += 4000;
    }
    with.work(forward);
  });
}
inline void spans(program& with, std::size_t size, bool overlap, bool domains) {
  uint32_t const forward = with.range(0, "forward");
  uint32_t const span = with.name("span");
  for (std::size_t i = 0; i < size; ++i) {
    uint32_t const domain = domains ? with.name(text("domain_", i)) : 0;
    auto const begin = static_cast<int64_t>(2000 + 10 * i);
    int64_t const end = overlap ? begin + static_cast<int64_t>(10 * size) : begin + 5;
    with.made.spans.push_back({begin, end, span, domain, 0, 0, 0, strata::span_kind::range, {}});
  }
  with.steps([&] { with.work(forward); });
}
inline void domains(program& with, std::size_t size) { spans(with, size, false, true); }
inline void overlapping_spans(program& with, std::size_t size) { spans(with, size, true, false); }
inline void overlapping_ranges(program& with, std::size_t size) {  // as a broken recording has them
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] { with.work(forward); });
  with.step = 1;
  for (std::size_t i = 0; i < size; ++i)
    with.call(forward, with.now + static_cast<int64_t>(i),
              with.now + static_cast<int64_t>(size + i + 1));
  with.now += static_cast<int64_t>(2 * size + 2);
}
inline void overlapping_kernels(program& with, std::size_t size) {
  kernels(with, size);
  for (std::size_t i = 0; i < with.made.kernels.size(); ++i)
    with.made.kernels[i].end += static_cast<int64_t>(2000 * size);
}
inline void migrations(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.made.has_migrations = true;
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      with.work(forward);
      with.made.migrations.push_back(
          {with.now, with.now + 5000, 4096, 0, strata::migration_kind::to_device, {}});
    }
  });
}
inline void notes(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      with.work(forward);
      with.made.attributes.push_back({1e6, 1e6, 1, forward, 0, 2, {4, static_cast<uint32_t>(i)}});
      with.made.attributes.back().note = with.name(text("note_", i));
      with.made.ranges.back().attribute = static_cast<uint32_t>(with.made.attributes.size());
    }
  });
}
inline void inherited(program& with, std::size_t size) {
  names(with, size);
  for (uint32_t i = 1; i <= size; ++i) with.made.inherited.push_back({i, 0, 100});
}
inline void problems(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] { with.work(forward); });
  for (std::size_t i = 0; i < size; ++i)
    with.made.problems.push_back(text("something could not be done: ", i));
}
inline void hang(program& with, std::size_t size) {
  names(with, size);
  with.made.hang.found = true;
  for (std::size_t i = 0; i < size; ++i) {
    with.made.hang.ranges.push_back({text("range_", i), 0, 100});
    with.made.hang.work.push_back({text("range_", i), 1, 100});
  }
}
inline void collectives(program& with, std::size_t size) {
  kernels(with, size);
  with.made.kernel_names[1].mangled = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
}
inline void sampled_steps(program& with, std::size_t size) {  // as `trace,live` records them
  uint32_t const forward = with.range(0, "forward");
  uint32_t const backward = with.range(0, "backward");
  with.steps(static_cast<uint32_t>(size), [&] {
    with.work(forward);
    with.work(backward);
  });
  strata::counter_set& set = with.made.add_counters(strata::counter_set::live);
  set.where = "GH100";
  set.devices = {0};
  set.method = strata::counting::sampled;
  set.passes = set.passes_done = 1;
  set.names.push_back("dram__bytes_read.sum");
  strata::resolved_metric metric;
  metric.key = "hbm_read_bytes";
  metric.formula = set.names[0];
  metric.counters.push_back(set.names[0]);
  set.metrics.metrics.push_back(metric);
  with.made.samples.counters = 1;
  strata::detail::sample_writer writer;
  constexpr int64_t interval = 4000;
  for (int64_t at = 0; at < with.now; at += interval) {
    strata::detail::counted_sample sample;
    sample.begin = at;
    sample.end = at + interval;
    sample.counts[0] = 1000 + at / interval % 7 * 100;
    writer.add(with.made.samples, sample);
    if (at / interval % 20 == 0)
      with.made.energy.push_back({at, static_cast<std::uint64_t>(at / 100)});
  }
}

inline dimension const dimensions[] = {
    {"names", 500, names},
    {"idle-names", 1000, idle_names},
    {"indices", 500, indices},
    {"paths", 500, paths},
    {"depth", 2048, depth},
    {"long-names", 125, long_names},
    {"deep-calls", 10, deep_calls},
    {"threads", 500, threads},
    {"threads-with-names", 500, threads_with_names},
    {"streams", 500, streams},
    {"contexts", 250, contexts},
    {"devices", 125, devices},
    {"steps", 500, steps},
    {"early-steps", 500, early_steps},
    {"calls", 2500, calls},
    {"kernels", 1250, kernels},
    {"kernel-names", 1000, kernel_names},
    {"range-kernels", 500, range_kernels},
    {"graph-nodes", 500, graph_nodes},
    {"graph-launchers", 500, graph_launchers},
    {"metrics", 500, metrics},
    {"counter-values", 4000, counter_values},  // of fewer, each range's part is worth a line
    {"counter-sets", 4000, counter_sets},
    {"kernel-counters", 1000, kernel_counters},
    {"copies", 500, copies},
    {"waits", 500, waits},
    {"allocations", 500, allocations},
    {"domains", 500, domains},
    {"overlapping-spans", 500, overlapping_spans},
    {"overlapping-ranges", 500, overlapping_ranges},
    {"overlapping-kernels", 1250, overlapping_kernels},
    {"migrations", 500, migrations},
    {"notes", 500, notes},
    {"inherited", 500, inherited},
    {"problems", 500, problems},
    {"hang", 500, hang},
    {"collectives", 1250, collectives},
    {"sampled-steps", 500, sampled_steps},
};

}  // namespace growing

#endif  // STRATA_TESTS_UNIT_GROWING_PROFILES_HPP
