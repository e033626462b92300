#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_MEMORY_TABLE_HPP
#define STRATA_ANALYSE_MEMORY_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/profile/sums.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN

/// One allocation with its life.
/// Units: ns since the session began, bytes.
struct allocation_row {
  std::uint32_t path_id = 0;
  std::string path;  ///< of the range that allocated; "" outside any
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  memory_kind kind = memory_kind::unknown;
  bool asynchronous = false;
  std::uint16_t device = 0;
  std::uint32_t stream = 0;
  std::int64_t allocated_at = 0;
  std::int64_t released_at = -1;  ///< -1 while it lives at the end
  std::string released_in;        ///< path of the range that released it; "" where that was lost
};

/// Device memory in use after an event: device, managed, array and static memory of kernels, but
/// neither pinned nor pageable memory.
struct memory_point {
  std::int64_t time;
  std::int64_t bytes;
};

/// The allocations of a profile and the memory in use over time.
struct memory_table {
  vec<allocation_row> allocations;  ///< in order of time
  vec<memory_point> timeline;       ///< in order of time
  std::int64_t peak_bytes = 0;
  std::int64_t peak_at = 0;
  /// Releases of memory that was allocated before the session.
  std::uint64_t releases_of_older_memory = 0;
};

namespace detail {

/// Makes a row of each allocation. A release ends the life of one, and so does an allocation at an
/// address that is still in use, because its release was lost.
class memory_table_builder {
 public:
  explicit memory_table_builder(call_tree const& tree) : tree_(tree) {}

  memory_table build(vec<memory_record> records) {
    sort_by_time(records);
    for (memory_record const& record : records) {
      std::int64_t const before = in_use_;
      if (std::size_t const* const row = live_.find(record.address)) {
        end(table_.allocations[*row], record);
        live_.erase(record.address);
      } else if (record.allocates == 0) {
        ++table_.releases_of_older_memory;
      }
      if (record.allocates != 0) begin(record);
      if (in_use_ != before) table_.timeline.push_back({record.time, in_use_});
    }
    // The timeline may not have all.
    table_.peak_bytes = (std::max)(table_.peak_bytes, tree_.rows()[0].peak_bytes);
    return std::move(table_);
  }

 private:
  range_row const& range_of(memory_record const& record) const noexcept {
    return tree_.row_of(record.node);
  }

  void begin(memory_record const& record) {
    range_row const& range = range_of(record);
    live_[record.address] = table_.allocations.size();
    table_.allocations.emplace_back();
    allocation_row& row = table_.allocations.back();
    row.path_id = range.path_id;
    row.path = range.path;
    row.address = record.address;
    row.bytes = record.bytes;
    row.kind = record.kind;
    row.asynchronous = record.asynchronous != 0;
    row.device = record.device;
    row.stream = record.stream;
    row.allocated_at = record.time;
    if (!is_device_memory(record.kind)) return;
    in_use_ = add_saturated(in_use_, signed_bytes(record.bytes));
    if (in_use_ <= table_.peak_bytes) return;
    table_.peak_bytes = in_use_;
    table_.peak_at = record.time;
  }

  void end(allocation_row& row, memory_record const& by) {
    row.released_at = by.time;
    if (by.allocates == 0) row.released_in = range_of(by).path;
    if (is_device_memory(row.kind)) in_use_ -= (std::min)(in_use_, signed_bytes(row.bytes));
  }

  call_tree const& tree_;
  number_map<std::size_t> live_;  ///< rows by address
  memory_table table_;
  std::int64_t in_use_ = 0;
};

}  // namespace detail

/// Cost: O(m log m) for m allocations and releases.
inline memory_table make_memory_table(profile const& source, call_tree const& tree) {
  return detail::memory_table_builder(tree).build(source.memory);
}

/// `device`, `managed`, `pinned`, ...
constexpr char const* to_string(memory_kind kind) noexcept {
  constexpr char const* names[] = {"unknown",  "device", "managed",       "pinned",
                                   "pageable", "array",  "device_static", "managed_static"};
  auto const at = static_cast<std::size_t>(kind);
  return names[at < sizeof names / sizeof *names ? at : 0];
}

STRATA_END

#endif  // STRATA_ANALYSE_MEMORY_TABLE_HPP
