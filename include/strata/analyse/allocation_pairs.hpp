#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_ALLOCATION_PAIRS_HPP
#define STRATA_ANALYSE_ALLOCATION_PAIRS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Memory that the device owns or that moves to it: what counts as memory in use.
constexpr bool is_device_memory(memory_kind kind) noexcept {
  return kind == memory_kind::device || kind == memory_kind::managed ||
         kind == memory_kind::array || kind == memory_kind::device_static ||
         kind == memory_kind::managed_static;
}

/// The memory records of a profile in order of time, each with the allocation that it ends.
struct allocation_pairs {
  static constexpr std::uint32_t none = 0xffffffffu;

  vec<std::uint32_t> order;  ///< positions in profile::memory
  /// For each record the position of the allocation whose life ends there: a release ends one, and
  /// so does an allocation at an address that is still in use, because its release was lost.
  vec<std::uint32_t> ended;

  explicit allocation_pairs(vec<memory_record> const& records)
      : order(records.size()), ended(records.size(), none) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    auto const earlier = [&records](std::uint32_t a, std::uint32_t b) {
      return records[a].time != records[b].time ? records[a].time < records[b].time : a < b;
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return records[a].address != records[b].address ? records[a].address < records[b].address
                                                      : earlier(a, b);
    });
    std::uint32_t live = none;
    for (std::size_t i = 0; i < order.size(); ++i) {
      memory_record const& record = records[order[i]];
      if (i == 0 || records[order[i - 1]].address != record.address) live = none;
      ended[order[i]] = live;
      live = record.allocates != 0 ? order[i] : none;
    }
    std::sort(order.begin(), order.end(), earlier);
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_ALLOCATION_PAIRS_HPP
