#ifndef STRATA_TABLES_RECORD_SUMS_HPP
#define STRATA_TABLES_RECORD_SUMS_HPP

#include <strata/profile/device_summing.hpp>
#include <strata/tables/launch_index.hpp>

STRATA_BEGIN
namespace detail {

/// Adds the nodes, devices and contexts of a profile, which its work refers to.
inline void describe_nodes_and_devices(device_summing& summing, profile const& source) {
  for (std::size_t i = 1; i < source.nodes.size(); ++i) {
    profile_node const& node = source.nodes[i];
    summing.add_node(node.parent < i ? node.parent : root_node, node.name);
  }
  for (profile_device const& device : source.environment.devices)
    summing.describe_device(device.ordinal, device.multiprocessors);
  for (profile_context const& context : source.contexts) summing.describe_context(context);
}

/// The sums over the device work of a profile that has only records; empty where it has none.
inline device_sums sum_records(profile const& source) {
  device_sums sums;
  if (source.launches.empty() && source.kernels.empty() && source.copies.empty() &&
      source.memory.empty() && source.synchronizations.empty())
    return sums;
  device_summing summing(sums);
  describe_nodes_and_devices(summing, source);
  for (driver_call_record const& launch : source.launches)
    if (is_work(launch.kind))
      summing.add_launches(launch.node, 1, elapsed(launch.begin, launch.end));
  vec<kernel_record> kernels = source.kernels;
  vec<copy_record> copies = source.copies;
  vec<memory_record> memory = source.memory;
  sort_by_time(kernels);
  sort_by_time(copies);
  sort_by_time(memory);
  add_by_time(kernels, kernels.size(), copies, copies.size(),
              [&](auto const& record) { summing.add(record); });
  for (memory_record const& change : memory) summing.add(change);
  for (synchronization_record const& wait : source.synchronizations) summing.add(wait);
  summing.finish(1.0);
  return sums;
}

/// The sums over the kernels of one step, as far as their launches are known.
inline device_sums sum_kernels_of_step(profile const& source, std::uint32_t step) {
  device_sums sums;
  device_summing summing(sums);
  describe_nodes_and_devices(summing, source);
  launch_index(source).visit(source.kernels,
                             [&](kernel_record const& kernel, std::uint32_t launch) {
                               if (source.launches[launch].step == step) summing.add(kernel);
                             });
  return sums;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_RECORD_SUMS_HPP
