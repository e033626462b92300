#ifndef STRATA_TABLES_MEMORY_TABLE_HPP
#define STRATA_TABLES_MEMORY_TABLE_HPP

#include <strata/tables/call_tree.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN

/// One allocation with its life. Units: ns since the session began, bytes.
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
  std::uint32_t purpose = 0;      ///< position in memory_table::purposes
};

/// Device memory that was allocated for one purpose, whoever released it. Units: bytes.
struct memory_purpose {
  std::string name;                          ///< as in STRATA_MEMORY(name); "other" outside of any
  std::uint64_t allocations = 0;             ///< in steps; in the whole run where there are none
  std::int64_t allocated = 0;                ///< the same
  std::int64_t released = 0;                 ///< the same
  std::int64_t live = 0;                     ///< at the end
  std::int64_t peak = 0;                     ///< most at one time
  std::int64_t at_peak = 0;                  ///< when all purposes together had most
  std::uint64_t first_step_allocations = 0;  ///< of these, in the first recorded step
  std::int64_t first_step_allocated = 0;     ///< the same
  std::int64_t first_step_released = 0;      ///< the same
};

/// Device memory in one step. Units: bytes.
struct memory_step {
  std::uint32_t step = no_step;
  std::int64_t allocated = 0;
  std::int64_t released = 0;
  std::int64_t live = 0;  ///< at its end
  std::int64_t peak = 0;
};

/// Device memory in use after an event, without pinned and pageable memory.
struct memory_point {
  std::int64_t time;
  std::int64_t bytes;
};

/// The allocations of a profile and the memory in use over time.
struct memory_table {
  vec<allocation_row> allocations;  ///< in order of time
  vec<memory_point> timeline;       ///< in order of time
  vec<memory_purpose> purposes;     ///< most at the peak first; none where there are no records
  vec<memory_step> steps;           ///< in order of time; none where there are no records
  std::int64_t peak_bytes = 0;
  std::int64_t peak_at = 0;
  /// Releases of memory that was allocated before the session.
  std::uint64_t releases_of_older_memory = 0;
};

namespace detail {

/// How the name of a range begins that names a purpose, as STRATA_MEMORY has it.
inline constexpr std::string_view memory_prefix = "memory:";

/// The purpose of each node: that of the nearest range that names one, itself included. Beyond 256
/// of them the others are "other".
inline vec<std::uint32_t> purposes_of(profile const& source, vec<memory_purpose>& purposes) {
  constexpr std::size_t most = 256;
  vec<std::uint32_t> of_node(source.nodes.size(), 0);
  purposes.emplace_back().name = "other";
  for (std::size_t i = 1; i < of_node.size(); ++i) {
    profile_node const& node = source.nodes[i];
    of_node[i] = node.parent < i ? of_node[node.parent] : 0;
    if (node.name >= source.names.size()) continue;
    std::string_view name = source.names[node.name];
    if (name.substr(0, memory_prefix.size()) != memory_prefix) continue;
    name.remove_prefix(memory_prefix.size());
    std::uint32_t index = 0;
    while (index < purposes.size() && purposes[index].name != name) ++index;
    if (index == purposes.size() && index <= most) purposes.emplace_back().name = std::string(name);
    of_node[i] = index < purposes.size() ? index : 0;
  }
  return of_node;
}

/// Makes a row of each allocation. A release ends the life of one, and so does an allocation at an
/// address that is still in use, because its release was lost.
class memory_table_builder {
 public:
  memory_table_builder(profile const& source, call_tree const& tree) : tree_(tree) {
    if (source.memory.empty()) return;
    purpose_of_node_ = purposes_of(source, table_.purposes);
    steps_ = source.steps;
    steps_.sort([](step_record const& a, step_record const& b) { return a.begin < b.begin; });
    for (step_record const& step : steps_) table_.steps.emplace_back().step = step.step;
  }

  memory_table build(vec<memory_record> records) {
    sort_by_time(records);
    for (memory_record const& record : records) {
      std::int64_t const before = in_use_;
      go_to(record.time);
      ++event_;
      if (std::size_t const* const row = live_.find(record.address)) {
        end(*row, record);
        live_.erase(record.address);
      } else if (record.allocates == 0) {
        ++table_.releases_of_older_memory;
      }
      if (record.allocates != 0) begin(record);
      if (in_use_ != before) table_.timeline.push_back({record.time, in_use_});
      if (memory_step* const step = counted_step()) step->live = in_use_;
    }
    go_to(latest_time);
    find_holders();
    sort_purposes();
    // The timeline may not have all.
    table_.peak_bytes = larger(table_.peak_bytes, tree_.rows()[0].peak_bytes);
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
    row.purpose = record.node < purpose_of_node_.size() ? purpose_of_node_[record.node] : 0;
    lives_.push_back({event_, latest_event});
    if (!is_device_memory(record.kind)) return;
    std::int64_t const bytes = signed_bytes(record.bytes);
    memory_purpose& purpose = table_.purposes[row.purpose];
    purpose.live = add_saturated(purpose.live, bytes);
    purpose.peak = larger(purpose.peak, purpose.live);
    in_use_ = add_saturated(in_use_, bytes);
    if (memory_step* const step = counted_step()) {
      step->allocated = add_saturated(step->allocated, bytes);
      step->peak = larger(step->peak, in_use_);
    }
    if (counts()) {
      ++purpose.allocations;
      purpose.allocated = add_saturated(purpose.allocated, bytes);
    }
    if (is_first_step()) {
      ++purpose.first_step_allocations;
      purpose.first_step_allocated = add_saturated(purpose.first_step_allocated, bytes);
    }
    if (in_use_ <= table_.peak_bytes) return;
    table_.peak_bytes = in_use_;
    table_.peak_at = record.time;
    peak_event_ = event_;
  }

  void end(std::size_t index, memory_record const& record) {
    allocation_row& row = table_.allocations[index];
    row.released_at = record.time;
    lives_[index].end = event_;
    if (record.allocates == 0) row.released_in = range_of(record).path;
    if (!is_device_memory(row.kind)) return;
    std::int64_t const bytes = signed_bytes(row.bytes);
    memory_purpose& purpose = table_.purposes[row.purpose];
    purpose.live -= smaller(purpose.live, bytes);
    in_use_ -= smaller(in_use_, bytes);
    if (memory_step* const step = counted_step())
      step->released = add_saturated(step->released, bytes);
    if (counts()) purpose.released = add_saturated(purpose.released, bytes);
    if (is_first_step())
      purpose.first_step_released = add_saturated(purpose.first_step_released, bytes);
  }

  /// Leaves and enters the steps up to a time.
  void go_to(std::int64_t time) {
    for (; next_ < steps_.size() && steps_[next_].begin <= time; ++next_)
      table_.steps[next_].live = table_.steps[next_].peak = in_use_;
    is_in_step_ = next_ > 0 && time <= steps_[next_ - 1].end;
  }

  memory_step* counted_step() noexcept { return is_in_step_ ? &table_.steps[next_ - 1] : nullptr; }
  /// Whether what happens now is in a step, or all counts.
  bool counts() const noexcept { return is_in_step_ || steps_.empty(); }
  bool is_first_step() const noexcept { return is_in_step_ && next_ == 1; }

  /// Who held the memory when most was in use.
  void find_holders() {
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      allocation_row const& row = table_.allocations[i];
      if (!is_device_memory(row.kind)) continue;
      if (lives_[i].begin > peak_event_ || lives_[i].end <= peak_event_) continue;
      std::int64_t& held = table_.purposes[row.purpose].at_peak;
      held = add_saturated(held, signed_bytes(row.bytes));
    }
  }

  /// The purposes that held most at the peak first; rows refer to the new places.
  void sort_purposes() {
    vec<memory_purpose> const old = table_.purposes;
    vec<std::uint32_t> order;
    for (std::uint32_t i = 0; i < old.size(); ++i) order.push_back(i);
    order.sort([&old](std::uint32_t a, std::uint32_t b) {
      return old[a].at_peak != old[b].at_peak ? old[a].at_peak > old[b].at_peak
                                              : old[a].name < old[b].name;
    });
    vec<std::uint32_t> places(order.size(), 0);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      places[order[i]] = i;
      table_.purposes[i] = old[order[i]];
    }
    for (allocation_row& allocation : table_.allocations)
      allocation.purpose = places[allocation.purpose];
  }

  struct life {  ///< of a row, in events
    std::uint64_t begin;
    std::uint64_t end;
  };
  static constexpr std::uint64_t latest_event = ~std::uint64_t{0};

  call_tree const& tree_;
  memory_table table_;
  vec<std::uint32_t> purpose_of_node_;
  vec<step_record> steps_;
  number_map<std::size_t> live_;  ///< rows by address
  vec<life> lives_;               ///< by row
  std::int64_t in_use_ = 0;
  std::uint64_t event_ = 0;
  std::uint64_t peak_event_ = 0;
  std::size_t next_ = 0;  ///< the step that begins next
  bool is_in_step_ = false;
};

}  // namespace detail

/// Cost: O(m log m) for m allocations and releases.
inline memory_table make_memory_table(profile const& source, call_tree const& tree) {
  return detail::memory_table_builder(source, tree).build(source.memory);
}

/// `device`, `managed`, `pinned`, ...
constexpr char const* to_string(memory_kind kind) noexcept {
  constexpr char const* names[] = {"unknown",  "device", "managed",       "pinned",
                                   "pageable", "array",  "device_static", "managed_static"};
  auto const index = static_cast<std::size_t>(kind);
  return names[index < sizeof names / sizeof *names ? index : 0];
}

STRATA_END

#endif  // STRATA_TABLES_MEMORY_TABLE_HPP
