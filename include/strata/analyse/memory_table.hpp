#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_MEMORY_TABLE_HPP
#define STRATA_ANALYSE_MEMORY_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/joins.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

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
  std::uint64_t releases_of_older_memory =
      0;  ///< releases of memory that was allocated before the session
};

namespace detail {

class memory_table_builder {
 public:
  memory_table_builder(profile const& source, call_tree const& tree)
      : source_(source), tree_(tree), launches_(source), rows_(source.memory.size(), 0) {}

  memory_table build() {
    allocation_pairs const pairs(source_.memory);
    for (std::uint32_t const at : pairs.order) {
      memory_record const& record = source_.memory[at];
      std::int64_t const before = in_use_;
      if (pairs.ended[at] != allocation_pairs::none)
        end(pairs.ended[at], record);
      else if (record.allocates == 0)
        ++table_.releases_of_older_memory;
      if (record.allocates != 0) begin(at);
      if (in_use_ != before) table_.timeline.push_back({record.time, in_use_});
    }
    return std::move(table_);
  }

 private:
  range_row const& range_of(memory_record const& record) const noexcept {
    return tree_.row_of(launches_.node_of(record.correlation));
  }

  void begin(std::uint32_t at) {
    memory_record const& record = source_.memory[at];
    range_row const& range = range_of(record);
    rows_[at] = static_cast<std::uint32_t>(table_.allocations.size());
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

  void end(std::uint32_t allocation, memory_record const& by) {
    allocation_row& row = table_.allocations[rows_[allocation]];
    row.released_at = by.time;
    if (by.allocates == 0) row.released_in = range_of(by).path;
    if (is_device_memory(row.kind)) in_use_ -= (std::min)(in_use_, signed_bytes(row.bytes));
  }

  profile const& source_;
  call_tree const& tree_;
  launch_index launches_;
  vec<std::uint32_t> rows_;  ///< of each allocation's record
  memory_table table_;
  std::int64_t in_use_ = 0;
};

}  // namespace detail

/// Cost: O(m log m) for m allocations and releases, and a sort of the launches.
inline memory_table make_memory_table(profile const& source, call_tree const& tree) {
  return detail::memory_table_builder(source, tree).build();
}

/// `device`, `managed`, `pinned`, ...
constexpr char const* to_string(memory_kind kind) noexcept {
  switch (kind) {
    case memory_kind::device:
      return "device";
    case memory_kind::managed:
      return "managed";
    case memory_kind::pinned:
      return "pinned";
    case memory_kind::pageable:
      return "pageable";
    case memory_kind::array:
      return "array";
    case memory_kind::device_static:
      return "device_static";
    case memory_kind::managed_static:
      return "managed_static";
    default:
      return "unknown";
  }
}

STRATA_END

#endif  // STRATA_ANALYSE_MEMORY_TABLE_HPP
