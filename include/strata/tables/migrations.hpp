#ifndef STRATA_TABLES_MIGRATIONS_HPP
#define STRATA_TABLES_MIGRATIONS_HPP

#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

STRATA_BEGIN
namespace detail {

/// Which of some records runs at a time: of several the one that began last.
template <class Record>
class running_records {
 public:
  explicit running_records(vec<Record> records) : all_(std::move(records)) {
    all_.sort([](Record const& a, Record const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  /// Null where none runs. Requires: times ascend from call to call.
  Record const* running_at(std::int64_t time) {
    for (; next_ < all_.size() && all_[next_].begin <= time; ++next_) open_.push_back(next_);
    while (!open_.empty() && all_[open_.back()].end <= time) open_.pop_back();
    return open_.empty() ? nullptr : &all_[open_.back()];
  }

 private:
  vec<Record> all_;
  std::size_t next_ = 0;   // the first one that has not begun
  vec<std::size_t> open_;  // in the order of their begins; those below the last may be over
};

/// Joins migrations and faults of managed memory to ranges, by time, since no call stands behind
/// them: to the range whose kernel runs on the device as one begins, else to the innermost range of
/// the thread that drives the steps.
class migration_places {
 public:
  explicit migration_places(profile const& source) : source_(source) {}

  /// Calls take(migration, node) for each, in no order.
  /// Cost: O(r log r) for r migrations, kernels and ranges; nothing without migrations.
  template <class Take>
  void for_each(Take take) const {
    if (source_.migrations.empty()) return;
    vec<migration_record> all = source_.migrations;
    all.sort([](migration_record const& a, migration_record const& b) {
      return a.device != b.device ? a.device < b.device : a.begin < b.begin;
    });
    vec<kernel_record> const known = known_kernels();
    vec<migration_record> rest;
    for (std::size_t i = 0; i < all.size();) {
      std::uint32_t const device = all[i].device;
      running_records<kernel_record> kernels(kernels_of(known, device));
      for (; i < all.size() && all[i].device == device; ++i) {
        if (kernel_record const* const kernel = kernels.running_at(all[i].begin)) {
          take(all[i], kernel->node);
        } else {
          rest.push_back(all[i]);
        }
      }
    }
    rest.sort(begins_before);
    running_records<range_record> ranges(ranges_of_steps());
    for (migration_record const& one : rest) {
      range_record const* const range = ranges.running_at(one.begin);
      take(one, range == nullptr ? root_node : range->node);
    }
  }

 private:
  static bool begins_before(migration_record const& a, migration_record const& b) noexcept {
    return a.begin < b.begin;
  }

  /// Those with times, in the order of their devices.
  vec<kernel_record> known_kernels() const {
    vec<kernel_record> known;
    for (kernel_record const& kernel : source_.kernels)
      if (kernel.begin != lost_time) known.push_back(kernel);
    known.sort([](kernel_record const& a, kernel_record const& b) { return a.device < b.device; });
    return known;
  }
  static vec<kernel_record> kernels_of(vec<kernel_record> const& known, std::uint32_t device) {
    vec<kernel_record> own;
    std::size_t const first =
        known.count_first([device](kernel_record const& other) { return other.device < device; });
    for (std::size_t i = first; i < known.size() && known[i].device == device; ++i)
      own.push_back(known[i]);
    return own;
  }

  vec<range_record> ranges_of_steps() const {
    std::uint32_t const thread = source_.steps.empty() ? 0 : source_.steps[0].thread;
    vec<range_record> own;
    for (range_record const& range : source_.ranges)
      if (range.thread == thread) own.push_back(range);
    return own;
  }

  profile const& source_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_MIGRATIONS_HPP
