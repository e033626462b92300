#ifndef STRATA_SRC_RECORDING_LIMITS_HPP
#define STRATA_SRC_RECORDING_LIMITS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

STRATA_BEGIN
namespace detail {

/// What a report of a recording may take, by the recording's bytes. A few of them can stand for
/// much: a name that nests in itself, a table of every range by every counter. No session makes as
/// much of as few.
class recording_limits {
 public:
  /// `bytes`: of the recording.
  explicit recording_limits(std::uint64_t bytes) noexcept
      : path_bytes_((std::uint64_t{32} << 20) + 64 * bytes),
        cells_((std::uint64_t{4} << 20) + 16 * bytes) {}

  /// Whether the paths of all ranges, each written out, have few enough bytes. Requires: a sound
  /// tree.
  bool allow_paths(profile const& made) const {
    std::uint64_t all = 0;
    vec<std::uint64_t> sizes(made.nodes.size());
    for (std::size_t i = 1; i < sizes.size() && all <= path_bytes_; ++i) {
      profile_node const& node = made.nodes[i];
      sizes[i] = sizes[node.parent] + 1 + made.names[node.name].size();
      all += sizes[i];
    }
    return all <= path_bytes_;
  }

  /// Whether it names no more devices than a machine can have.
  static bool allow_devices(profile const& made) {
    std::uint32_t highest = 0;
    auto const look = [&highest](auto const& records) {
      for (auto const& record : records) highest = std::max(highest, std::uint32_t{record.device});
    };
    look(made.kernels);
    look(made.copies);
    look(made.memory);
    for (migration_record const& moved : made.migrations)  // former kinds, not shown, have none
      if (moved.kind <= migration_kind::gpu_faults) highest = std::max(highest, moved.device);
    return highest < max_devices && made.environment.devices.size() <= max_devices;
  }

  /// Leaves out sets of counters whose tables would have too many cells, and says so.
  void drop_counters(profile& made) const {
    vec<counter_set> kept;
    for (counter_set& set : made.counter_sets) {
      if (allows(set, made.nodes.size()) && kept.size() < max_sets) {
        kept.push_back(std::move(set));
        continue;
      }
      made.problems.push_back(
          sentence("The recording has ")
          << set.names.size() << " counters with " << set.metrics.metrics.size() << " metrics and "
          << set.passes_done << " passes of " << made.nodes.size()
          << " ranges, more than a report can hold, so they are left out; count fewer metrics, or "
             "choose ranges with only=.");
    }
    made.counter_sets = std::move(kept);
  }

 private:
  static constexpr std::uint32_t max_devices = 1'024;
  static constexpr std::size_t max_sets = 8;       ///< a session makes three
  static constexpr std::size_t max_names = 4'096;  ///< counters, or metrics, of a set

  bool allows(counter_set const& set, std::size_t nodes) const {
    std::size_t const metrics = set.metrics.metrics.size();
    std::size_t const absent = set.metrics.absent.size() + set.metrics.unknown.size();
    if (set.names.size() > max_names || metrics + absent > max_names) return false;
    std::uint64_t const columns = set.names.size() + 2 * metrics + set.passes_done + 2;
    return columns * (nodes + set.kernels.size()) <= cells_;
  }

  std::uint64_t path_bytes_;
  std::uint64_t cells_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SRC_RECORDING_LIMITS_HPP
