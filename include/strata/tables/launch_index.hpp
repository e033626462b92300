#ifndef STRATA_TABLES_LAUNCH_INDEX_HPP
#define STRATA_TABLES_LAUNCH_INDEX_HPP

// Which calls into the driver did which work.

#include <strata/profile.hpp>
#include <strata/profile/device_summing.hpp>

STRATA_BEGIN
namespace detail {

/// Which call into the driver caused the work of a record.
/// Cost: O(l) for l launches, whose correlation ids are dense; O(1) a question.
class launch_index {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  explicit launch_index(profile const& source) : source_(source) {
    if (source.launches.empty()) return;
    std::uint32_t last = 0;
    first_ = none;
    for (driver_call_record const& launch : source.launches) {
      first_ = smaller(first_, launch.correlation);
      last = larger(last, launch.correlation);
    }
    std::size_t const ids = std::size_t{last} - first_ + 1;
    is_dense_ = ids / 8 <= source.launches.size();
    if (is_dense_) positions_.resize(ids, none);
    for (std::size_t i = 0; i < source.launches.size(); ++i) {
      driver_call_record const& launch = source.launches[i];
      if (!launch.causes_work()) continue;
      auto const position = static_cast<std::uint32_t>(i);
      if (is_dense_) {
        positions_[launch.correlation - first_] = position;
      } else {
        sparse_[launch.correlation] = position;
      }
    }
  }

  /// Position in profile::launches, or none.
  std::uint32_t launch_of(std::uint32_t correlation) const noexcept {
    if (is_dense_)
      return correlation - first_ < positions_.size() ? positions_[correlation - first_] : none;
    std::uint32_t const* const found = sparse_.find(correlation);
    return found == nullptr ? none : *found;
  }

  /// Hands each record of a list whose time and launch are known to `sink(record, launch)`, with
  /// the launch's position.
  template <class Record, class Sink>
  void visit(vec<Record> const& records, Sink sink) const {
    for (Record const& record : records) {
      std::uint32_t const launch = launch_of(record.correlation);
      if (launch != none && record.begin != lost_time) sink(record, launch);
    }
  }
  /// The same of the kernels, and then of the copies.
  template <class Sink>
  void visit_work(Sink sink) const {
    visit(source_.kernels, sink);
    visit(source_.copies, sink);
  }

 private:
  profile const& source_;
  std::uint32_t first_ = 0;
  bool is_dense_ = false;
  vec<std::uint32_t> positions_;  ///< by correlation - first_
  number_map<std::uint32_t> sparse_;
};

/// Which calls of ranges only captured work into a graph, and did not do it.
/// Cost: two sorts of the launches, nothing if none was captured; O(log n) a question.
class captured_calls {
 public:
  explicit captured_calls(profile const& source) {
    for (driver_call_record const& launch : source.launches)
      if (launch.only_captured() && is_work(launch.kind)) captured_.push_back(moment_of(launch));
    if (captured_.empty()) return;
    for (driver_call_record const& launch : source.launches)
      if (launch.causes_work() && is_work(launch.kind)) worked_.push_back(moment_of(launch));
    captured_.sort();
    worked_.sort();
  }

  bool only_captured(range_record const& range) const noexcept {
    return within(captured_, range) && !within(worked_, range);
  }

 private:
  using moment = pair<std::uint32_t, std::int64_t>;  ///< thread and time

  static moment moment_of(driver_call_record const& launch) noexcept {
    return {launch.thread, launch.begin};
  }

  static bool within(vec<moment> const& moments, range_record const& range) noexcept {
    moment const wanted{range.thread, range.begin};
    moment const* const found =
        moments.begin() + moments.count_first([&](moment const& other) { return other < wanted; });
    return found != moments.end() && found->first == range.thread && found->second <= range.end;
  }

  vec<moment> captured_;
  vec<moment> worked_;
};

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

#endif  // STRATA_TABLES_LAUNCH_INDEX_HPP
