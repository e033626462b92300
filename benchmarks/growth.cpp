// How the cost of reports grows with a profile, one dimension at a time: ranges, depth, threads,
// streams, steps, names, metrics. Each report is made of profiles of 1, 2, 4 and 8 times a size,
// and the exponent of its time is printed: 1 is linear, 2 is quadratic. No GPU is needed.
//
//     growth                      all dimensions
//     growth names depth          these alone
//     growth --size=N names       one profile of this size, for a profiler
#include <strata/analyse/rank_comparison.hpp>
#include <strata/analyse/rank_run.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/compare.hpp>
#include <strata/profile.hpp>
#include <strata/recording.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/fleet_metrics.hpp>
#include <strata/report/page.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tools/explanation.hpp"

namespace {

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
  /// A launch and its kernel; the host goes on behind the launch.
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

std::string text(char const* before, std::size_t number) { return before + std::to_string(number); }

/// What a profile has many of. `size`: the smallest of the four.
struct dimension {
  char const* name;
  std::size_t size;
  void (*fill)(program&, std::size_t);
};

void fill_nodes(program& with, std::vector<uint32_t> const& nodes) {
  with.steps([&] {
    for (uint32_t const node : nodes) with.work(node);
  });
}

void names(program& with, std::size_t size) {
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  fill_nodes(with, nodes);
}
void idle_names(program& with, std::size_t size) {  // the host computes in each
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
void indices(program& with, std::size_t size) {
  std::vector<uint32_t> nodes;
  uint32_t const block = with.name("block");
  for (std::size_t i = 0; i < size; ++i)
    nodes.push_back(with.node(0, block, static_cast<int64_t>(i)));
  fill_nodes(with, nodes);
}
void paths(program& with, std::size_t size) {
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
void nest(program& with, std::size_t depth, std::size_t length, std::size_t calls) {
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
void depth(program& with, std::size_t size) { nest(with, size, 0, 1); }
void long_names(program& with, std::size_t size) { nest(with, 64, size, 1); }
void deep_calls(program& with, std::size_t size) { nest(with, 500, 0, size); }
void threads(program& with, std::size_t size) {
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
void threads_with_names(program& with, std::size_t size) {  // a range of its own each
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
void streams(program& with, std::size_t size) {
  uint32_t const request = with.range(0, "request");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      program::place at;
      at.stream = static_cast<uint32_t>(7 + i);
      with.work(request, at);
    }
  });
}
void contexts(program& with, std::size_t size) {
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
void devices(program& with, std::size_t size) {
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
void steps(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps(static_cast<uint32_t>(size), [&] { with.work(forward); });
}
void kernels(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) with.launch(forward);
  });
}
void kernel_names(program& with, std::size_t size) {
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
void range_kernels(program& with, std::size_t size) {  // pairs of a range and a kernel
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
void graph_nodes(program& with, std::size_t size) {  // captured in ranges of their own
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
void graph_launchers(program& with, std::size_t size) {  // one captured range, many that launch
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
void counters_of(program& with, std::vector<uint32_t> const& nodes, std::size_t metrics) {
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
void metrics(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  counters_of(with, {forward}, size);
  with.steps([&] { with.work(forward); });
}
void counter_values(program& with, std::size_t size) {  // of many ranges
  std::vector<uint32_t> nodes;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(with.range(0, text("range_", i)));
  counters_of(with, nodes, 4);
  fill_nodes(with, nodes);
}
void counter_sets(program& with, std::size_t size) {
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
void kernel_counters(program& with, std::size_t size) {
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
void copies(program& with, std::size_t size) {  // each range copies: a finding of many ranges
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
void waits(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] {
    for (std::size_t i = 0; i < size; ++i) {
      with.work(forward);
      with.wait(forward);
    }
  });
}
void allocations(program& with, std::size_t size) {
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
void spans(program& with, std::size_t size, bool overlap, bool domains) {
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
void domains(program& with, std::size_t size) { spans(with, size, false, true); }
void overlapping_spans(program& with, std::size_t size) { spans(with, size, true, false); }
void overlapping_ranges(program& with, std::size_t size) {  // as a broken recording has them
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] { with.work(forward); });
  with.step = 1;
  for (std::size_t i = 0; i < size; ++i)
    with.call(forward, with.now + static_cast<int64_t>(i),
              with.now + static_cast<int64_t>(size + i + 1));
  with.now += static_cast<int64_t>(2 * size + 2);
}
void overlapping_kernels(program& with, std::size_t size) {
  kernels(with, size);
  for (std::size_t i = 0; i < with.made.kernels.size(); ++i)
    with.made.kernels[i].end += static_cast<int64_t>(2000 * size);
}
void migrations(program& with, std::size_t size) {
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
void notes(program& with, std::size_t size) {
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
void inherited(program& with, std::size_t size) {
  names(with, size);
  for (uint32_t i = 1; i <= size; ++i) with.made.inherited.push_back({i, 0, 100});
}
void problems(program& with, std::size_t size) {
  uint32_t const forward = with.range(0, "forward");
  with.steps([&] { with.work(forward); });
  for (std::size_t i = 0; i < size; ++i)
    with.made.problems.push_back(text("something could not be done: ", i));
}
void hang(program& with, std::size_t size) {
  names(with, size);
  with.made.hang.found = true;
  for (std::size_t i = 0; i < size; ++i) {
    with.made.hang.ranges.push_back({text("range_", i), 0, 100});
    with.made.hang.work.push_back({text("range_", i), 1, 100});
  }
}
void collectives(program& with, std::size_t size) {
  kernels(with, size);
  with.made.kernel_names[1].mangled = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
}

dimension const dimensions[] = {
    {"names", 4000, names},
    {"idle-names", 4000, idle_names},
    {"indices", 4000, indices},
    {"paths", 4000, paths},
    {"depth", 128, depth},
    {"long-names", 1000, long_names},
    {"deep-calls", 10, deep_calls},
    {"threads", 4000, threads},
    {"threads-with-names", 4000, threads_with_names},
    {"streams", 4000, streams},
    {"contexts", 2000, contexts},
    {"devices", 1000, devices},
    {"steps", 4000, steps},
    {"kernels", 10000, kernels},
    {"kernel-names", 4000, kernel_names},
    {"range-kernels", 4000, range_kernels},
    {"graph-nodes", 4000, graph_nodes},
    {"graph-launchers", 4000, graph_launchers},
    {"metrics", 2000, metrics},
    {"counter-values", 2000, counter_values},
    {"counter-sets", 500, counter_sets},
    {"kernel-counters", 2000, kernel_counters},
    {"copies", 4000, copies},
    {"waits", 4000, waits},
    {"allocations", 4000, allocations},
    {"domains", 4000, domains},
    {"overlapping-spans", 4000, overlapping_spans},
    {"overlapping-ranges", 4000, overlapping_ranges},
    {"overlapping-kernels", 10000, overlapping_kernels},
    {"migrations", 4000, migrations},
    {"notes", 4000, notes},
    {"inherited", 4000, inherited},
    {"problems", 4000, problems},
    {"hang", 4000, hang},
    {"collectives", 10000, collectives},
};

// ---- measuring ----

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a report cost, one line to the parent.
struct cost {
  char output[24];
  double seconds;
  std::uint64_t bytes;
};

int results = -1;

void send(cost const& made) {
  if (write(results, &made, sizeof made) != static_cast<ssize_t>(sizeof made)) _exit(1);
}

/// Makes a report, up to three times where that is short, and sends the least time.
template <class Make>
void measure(char const* output, Make make) {
  cost made{};
  std::snprintf(made.output, sizeof made.output, "%s", output);
  made.seconds = 1e9;
  double sum = 0;
  for (int i = 0; i < 5 && (i == 0 || sum < 0.5); ++i) {
    double const begin = cpu_seconds();
    made.bytes = make();
    double const taken = cpu_seconds() - begin;
    made.seconds = std::min(made.seconds, taken);
    sum += taken;
  }
  send(made);
}

template <class Write>
std::string written(Write write) {
  std::string made;
  strata::detail::text_writer out(made);
  write(out);
  out.flush();
  return made;
}

std::uint64_t made_rows(strata::profile const& source) {
  strata::profile_tables const tables(source);
  return 0;
}

void measure_reports(dimension const& grows, std::size_t size) {
  program made;
  grows.fill(made, size);
  strata::profile const source = made.take();

  measure("sums", [&] { return strata::detail::sum_records(source).nodes.size(); });
  measure("tables", [&] { return made_rows(source); });
  strata::profile_tables tables(source);
  strata::report_input input(std::move(tables.input()));
  measure("answer", [&] {
    input.find_answer(tables.folded());
    return std::uint64_t{0};
  });
  auto const measure_text = [](char const* output, auto write) {
    measure(output, [&] { return written(write).size(); });
  };
  using writer = strata::detail::text_writer;
  measure_text("console", [&](writer& out) { write_table(out, input); });
  measure_text("csv", [&](writer& out) {
    write_ranges_csv(out, input);
    write_kernels_csv(out, input);
    write_memory_csv(out, input);
    write_spans_csv(out, input);
    for (strata::counter_tables const& set : input.counters) {
      write_counters_csv(out, input, set.ranges);
      write_counters_wide_csv(out, input, set.ranges);
    }
  });
  measure_text("findings.json", [&](writer& out) { write_findings(out, input); });
  measure_text("profile.json", [&](writer& out) { write_json(out, input); });
  measure_text("page", [&](writer& out) { write_html(out, input); });
  measure_text("trace", [&](writer& out) { (void)write_trace(out, input); });
  measure_text("openmetrics", [&](writer& out) { write_openmetrics(out, input); });
  measure_text("recording", [&](writer& out) { write_recording(out, source); });
  std::string const bytes = written([&](writer& out) { write_recording(out, source); });
  measure("read", [&] {
    strata::profile read;
    if (!strata::read_recording(bytes, read).ok()) std::fputs("the recording is refused\n", stderr);
    return std::uint64_t{0};
  });
  measure("explain", [&] {
    return std::uint64_t{tools::bounded_explanation(source, "profile.strata", "text").size()};
  });
  std::string const json = written([&](writer& out) { write_json(out, input); });
  measure("compare", [&] {
    strata::profile_file before;
    strata::profile_file after;
    std::string const problem = before.read(json) + after.read(json);
    if (!problem.empty()) std::fprintf(stderr, "profile.json is refused: %s\n", problem.c_str());
    return std::uint64_t{compare(before, after).ranges.size()};
  });
  measure("ranks", [&] {
    strata::vec<strata::rank_run> runs;
    for (int rank = 0; rank < 2; ++rank) {
      runs.push_back(read_rank(source));
      runs.back().rank = rank;
    }
    (void)compare_ranks(runs);
    return std::uint64_t{0};
  });
}

// ---- a session of its own ----

strata::options host_only() {
  strata::options how;
  how.trace = false;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.log_mb = 1024;
  return how;
}
void session_threads(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) std::thread([] { STRATA_RANGE("request"); }).join();
}
void session_names(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    strata::push(text("range_", i).c_str());
    strata::pop();
  }
}
void session_depth(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) strata::push(text("range_", i).c_str());
  for (std::size_t i = 0; i < size; ++i) strata::pop();
}
void session_paths(std::size_t size) {
  auto const side = static_cast<std::size_t>(std::sqrt(static_cast<double>(size)));
  for (std::size_t i = 0; i < side; ++i) {
    strata::push(text("parent_", i).c_str());
    for (std::size_t j = 0; j < side; ++j) {
      strata::push(text("leaf_", j).c_str());
      strata::pop();
    }
    strata::pop();
  }
}
void session_steps(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    STRATA_STEP();
    STRATA_RANGE("forward");
  }
}

struct live_dimension {
  char const* name;
  std::size_t size;
  void (*run)(std::size_t);
};
live_dimension const live_dimensions[] = {
    {"session-threads", 4000, session_threads}, {"session-names", 16000, session_names},
    {"session-depth", 128, session_depth},      {"session-paths", 16000, session_paths},
    {"session-steps", 40000, session_steps},
};

void measure_session(live_dimension const& grows, std::size_t size) {
  strata::session session(host_only());
  if (!session.start().ok()) _exit(1);
  double begin = cpu_seconds();
  grows.run(size);
  send({"run", cpu_seconds() - begin, 0});
  begin = cpu_seconds();
  session.stop();
  send({"stop", cpu_seconds() - begin, 0});
}

// ---- the table ----

/// Runs in a process of its own, which has so many seconds and so much memory.
template <class Run>
std::vector<cost> in_child(Run run) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    close(ends[0]);
    results = ends[1];
    rlimit const seconds{120, 120};
    setrlimit(RLIMIT_CPU, &seconds);
    rlimit const memory{rlim_t{8} << 30, rlim_t{8} << 30};
    setrlimit(RLIMIT_AS, &memory);
    run();
    _exit(0);
  }
  close(ends[1]);
  std::vector<cost> all;
  cost next;
  while (read(ends[0], &next, sizeof next) == static_cast<ssize_t>(sizeof next))
    all.push_back(next);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) all.push_back({"(not finished)", 0.0, 0});
  return all;
}

constexpr int sizes = 4;
int too_steep = 0;

void print_rows(char const* name, std::size_t size, std::vector<cost> const (&of)[sizes]) {
  std::vector<cost> const& largest = of[sizes - 1];
  for (std::size_t i = 0; i < largest.size(); ++i) {
    if (of[1].size() <= i) break;
    double const last = largest[i].seconds;
    double const first = of[1][i].seconds;
    // From 2 to 8 times the size; what takes less than a few milliseconds has no exponent.
    bool const measurable = last > 0.004 && first > 0.0;
    double const exponent = measurable ? std::log2(last / first) / 2 : 0.0;
    double const of_bytes = largest[i].bytes > 0 && of[1][i].bytes > 0
                                ? std::log2(static_cast<double>(largest[i].bytes) /
                                            static_cast<double>(of[1][i].bytes)) /
                                      2
                                : 0.0;
    bool const steep = exponent > 1.15 || of_bytes > 1.1;
    too_steep += steep;
    std::printf("| %s | %zu | %s | %.1f | %.1f |", name, size * 8, largest[i].output, 1e3 * first,
                1e3 * last);
    if (measurable)
      std::printf(" %.2f |", exponent);
    else
      std::printf(" - |");
    std::printf(" %.2f | %.2f |%s\n", static_cast<double>(largest[i].bytes) / 1e6, of_bytes,
                steep ? " STEEP" : "");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  unsetenv("STRATA");
  std::size_t only_size = 0;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--size=", 7) == 0)
      only_size = static_cast<std::size_t>(std::atoll(argv[i] + 7));
    else
      wanted.emplace_back(argv[i]);
  }
  auto const is_wanted = [&](char const* name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  auto const run = [&](char const* name, std::size_t size, auto measure_size) {
    if (!is_wanted(name)) return;
    if (only_size != 0) {
      for (cost const& each : in_child([&] { measure_size(only_size); }))
        std::printf("| %s | %zu | %s | %.1f ms | %.2f MB |\n", name, only_size, each.output,
                    1e3 * each.seconds, static_cast<double>(each.bytes) / 1e6);
      return;
    }
    std::vector<cost> of[sizes];
    for (int i = 0; i < sizes; ++i) of[i] = in_child([&] { measure_size(size << i); });
    print_rows(name, size, of);
  };
  std::printf(
      "| dimension | size | report | ms at a quarter | ms | exponent | MB | exponent of MB |\n"
      "|---|--:|---|--:|--:|--:|--:|--:|\n");
  for (dimension const& each : dimensions)
    run(each.name, each.size, [&](std::size_t size) { measure_reports(each, size); });
  for (live_dimension const& each : live_dimensions)
    run(each.name, each.size, [&](std::size_t size) { measure_session(each, size); });
  return too_steep == 0 ? 0 : 1;
}
