// Programs as what their steps do on the GPU, in order: drawn from recordings or made up, with the
// noise of a machine and one planted change, as recordings.
#ifndef STRATA_TESTS_UNIT_RESAMPLED_PROGRAM_HPP
#define STRATA_TESTS_UNIT_RESAMPLED_PROGRAM_HPP

#include <strata/profile.hpp>
#include <strata/tables/launch_index.hpp>
#include "recording/recording.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace resampled {

/// A kernel or copy, and how long the GPU is idle before it. Units: ns.
struct piece {
  bool is_copy = false;
  std::uint32_t node = 0;
  std::uint32_t name = 1;  ///< of kernels
  strata::copy_kind kind = strata::copy_kind::host_to_device;
  double gap = 0.0;
  double ns = 0.0;
};
using step = std::vector<piece>;

/// The nodes and names of a program, and what its steps do.
struct program {
  strata::profile frame;
  std::vector<step> steps;
};

/// How runs of one program differ; deviations, as parts.
struct machine {
  double step = 0.01;   ///< of a step's pieces together
  double piece = 0.02;  ///< of each piece
  double gap = 0.05;    ///< of each gap
  double run = 0.003;   ///< of a run
  double part = 0.003;  ///< in a run, of each range, of all gaps, of all copies
};

/// What is changed in the later runs; factors.
struct planted {
  std::uint32_t node = strata::no_node;
  double of_node = 1.0;
  double of_gaps = 1.0;
  double of_copies = 1.0;
};

/// The steps of a recording of examples/report without the first, which pays for the others.
inline program recorded(char const* name) {
  std::ifstream file(std::string(STRATA_TEST_DIR) + "/../examples/report/" + name,
                     std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  strata::profile source;
  program made;
  if (!strata::read_recording(bytes, source).ok()) return made;
  strata::detail::launch_index const launches(source);
  struct timed {
    std::int64_t begin, end;
    piece what;
  };
  std::map<std::uint32_t, std::vector<timed>> by_step;
  launches.visit(source.kernels, [&](strata::kernel_record const& kernel, std::uint32_t launch) {
    piece const what{false, kernel.node, kernel.name, strata::copy_kind::host_to_device, 0, 0};
    by_step[source.launches[launch].step].push_back({kernel.begin, kernel.end, what});
  });
  launches.visit(source.copies, [&](strata::copy_record const& copy, std::uint32_t launch) {
    piece const what{true, copy.node, 0, copy.kind, 0, 0};
    by_step[source.launches[launch].step].push_back({copy.begin, copy.end, what});
  });
  by_step.erase(strata::no_step);
  if (by_step.size() > 2) by_step.erase(by_step.begin());
  for (auto& [number, all] : by_step) {
    std::sort(all.begin(), all.end(),
              [](timed const& a, timed const& b) { return a.begin < b.begin; });
    step one;
    std::int64_t until = all.front().begin;
    for (timed& each : all) {
      each.what.gap = static_cast<double>(std::max<std::int64_t>(0, each.begin - until));
      each.what.ns = static_cast<double>(each.end - each.begin);
      until = std::max(until, each.end);
      one.push_back(each.what);
    }
    made.steps.push_back(std::move(one));
  }
  made.frame.names = source.names;
  made.frame.nodes = source.nodes;
  made.frame.kernel_names = source.kernel_names;
  return made;
}

/// A step of 100 ranges with a kernel of 100 us each, gaps of 20 us and two copies of 500 us.
inline program made_up(std::mt19937& random) {
  program made;
  made.frame.names.emplace_back("");
  made.frame.nodes.push_back({0, 0, strata::no_index, 0, true});
  made.frame.kernel_names.push_back({"_Z6kernelPf"});
  std::uniform_real_distribution<double> even(0.5, 1.5);
  step one;
  one.push_back({true, 0, 0, strata::copy_kind::host_to_device, 0, 5e5});
  for (std::uint32_t i = 0; i < 100; ++i) {
    made.frame.names.emplace_back(("r" + std::to_string(i)).c_str());
    made.frame.nodes.push_back({0, i + 1, strata::no_index, 1, true});
    one.push_back({false, i + 1, 1, strata::copy_kind::host_to_device, 2e4 * even(random),
                   1e5 * even(random)});
  }
  one.push_back({true, 0, 0, strata::copy_kind::device_to_host, 1e4, 5e5});
  made.steps.push_back(std::move(one));
  return made;
}

/// A recording of that many steps, each drawn from those of the program.
inline strata::profile run_of(program const& from, std::mt19937& random, int count,
                              machine const& on = {}, planted const& change = {}) {
  std::normal_distribution<double> normal(0.0, 1.0);
  auto const about = [&](double deviation) {
    return std::max(0.1, 1.0 + deviation * normal(random));
  };
  strata::profile made;
  made.names = from.frame.names;
  made.nodes = from.frame.nodes;
  made.kernel_names = from.frame.kernel_names;
  made.traced = made.has_steps = true;
  made.threads.push_back({0, 1000, "main"});
  made.environment.command = "train";
  strata::profile_device& device = made.environment.devices.emplace_back();
  device.name = "GPU";
  device.clock_khz = 1980000;
  device.multiprocessors = 132;
  device.compute_capability_major = 9;
  double const of_run = about(on.run);
  double const of_gaps = of_run * about(on.part) * change.of_gaps;
  double const of_copies = of_run * about(on.part) * change.of_copies;
  std::vector<double> of_node(made.nodes.size(), of_run);
  for (std::size_t i = 0; i < of_node.size(); ++i)
    of_node[i] *= about(on.part) * (i == change.node ? change.of_node : 1.0);
  double now = 1e4;
  auto const at = [](double time) { return static_cast<std::int64_t>(time); };
  for (int i = 0; i < count; ++i) {
    step const& one = from.steps[random() % from.steps.size()];
    auto const number = static_cast<std::uint32_t>(i);
    double const of_step = about(on.step);
    double const begin = now;
    now += 2000;
    for (piece const& each : one) {
      double const launched = now;
      now += each.gap * of_step * of_gaps * about(on.gap) + 100;
      double const ns =
          each.ns * of_step * about(on.piece) * (each.is_copy ? of_copies : of_node[each.node]);
      auto const id = static_cast<std::uint32_t>(made.launches.size()) + 1;
      made.launches.push_back({at(launched), at(now - 50), id, each.node, number, 0,
                               each.is_copy ? strata::api_kind::copy : strata::api_kind::launch,
                               0});
      if (each.is_copy) {
        strata::copy_record copy{};
        copy.begin = at(now);
        copy.end = at(now + ns);
        copy.bytes = 1 << 20;
        copy.node = each.node;
        copy.correlation = id;
        copy.kind = each.kind;
        made.copies.push_back(copy);
      } else {
        strata::kernel_record kernel{};
        kernel.begin = at(now);
        kernel.end = at(now + ns);
        kernel.node = each.node;
        kernel.captured_by = strata::no_node;
        kernel.correlation = id;
        kernel.name = each.name;
        kernel.grid_x = 1000;
        kernel.grid_y = kernel.grid_z = kernel.block_y = kernel.block_z = 1;
        kernel.block_x = 256;
        made.kernels.push_back(kernel);
        made.ranges.push_back({at(launched), at(now), each.node, strata::no_reference, number, 0});
      }
      now += ns;
    }
    made.steps.push_back({at(begin), at(now), number, 0});
    now += 3000 * of_run;
  }
  made.end = at(now);
  made.cost.seconds_in_window = now / 1e9;
  made.device = strata::detail::sum_records(made);
  return made;
}

}  // namespace resampled

#endif  // STRATA_TESTS_UNIT_RESAMPLED_PROGRAM_HPP
