#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_JOINS_HPP
#define STRATA_ANALYSE_JOINS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// Joins device records to the calls that caused them, in place: leaves out what belongs to warm-up
/// steps or to none, and the profiler's own kernels, marks calls that only captured, and counts
/// what has no call or no time. Afterwards the launches are sorted by correlation. Cost: O((l + r)
/// log l) for l launches and r records.
class correlation {
 public:
  /// Set in launch_record::captured while nothing was recorded, as between two windows: the call
  /// and its work are left out.
  static constexpr std::uint8_t outside_window = 4;

  explicit correlation(profile& data) : data_(&data) {
    std::sort(data.launches.begin(), data.launches.end(),
              [](launch_record const& a, launch_record const& b) {
                return a.correlation < b.correlation;
              });
    worked_.assign(data.launches.size(), false);
  }

  void run() {
    keep_if(data_->kernels,
            [this](kernel_record const& r) { return keep_work(r, is_profilers_own(r)); });
    keep_if(data_->copies, [this](copy_record const& r) { return keep_work(r, false); });
    auto const keep_call = [this](auto const& r, auto const& without_call) {
      std::size_t const at = find(r.correlation);
      if (at == none) return without_call();
      worked_[at] = true;
      return !left_out(at);
    };
    keep_if(data_->memory,
            [&](memory_record const& r) { return keep_call(r, [] { return true; }); });
    note_warmup_times();
    keep_if(data_->synchronizations, [&](synchronization_record const& r) {
      return keep_call(r, [&] { return !in_warmup_step(r.begin); });
    });
    keep_if(data_->overheads,
            [this](overhead_record const& r) { return !in_warmup_step(r.begin); });
    drop_launches();
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  template <class Record, class Predicate>
  static void keep_if(vec<Record>& records, Predicate keep) {
    records.erase(
        std::remove_if(records.begin(), records.end(), [&](Record const& r) { return !keep(r); }),
        records.end());
  }

  std::size_t find(std::uint32_t id) const noexcept {
    auto const& launches = data_->launches;
    auto const at = std::lower_bound(
        launches.begin(), launches.end(), id,
        [](launch_record const& l, std::uint32_t wanted) { return l.correlation < wanted; });
    return at == launches.end() || at->correlation != id
               ? none
               : static_cast<std::size_t>(at - launches.begin());
  }

  bool left_out(std::size_t at) const noexcept {
    return (data_->launches[at].captured & (launch_record::in_warmup | outside_window)) != 0;
  }

  void note_warmup_times() {
    for (launch_record const& l : data_->launches) {
      if ((l.captured & launch_record::in_warmup) != 0) warmup_times_.push_back(l.begin);
    }
    std::sort(warmup_times_.begin(), warmup_times_.end());
  }

  /// For records that no call is known of: whether a time lies between recorded steps, together
  /// with a call of a warm-up step.
  bool in_warmup_step(std::int64_t time) const noexcept {
    if (warmup_times_.empty() || time == lost_time) return false;
    auto const& steps = data_->steps;
    auto const next =
        std::upper_bound(steps.begin(), steps.end(), time,
                         [](std::int64_t t, step_record const& s) { return t < s.begin; });
    auto call = warmup_times_.begin();
    if (next != steps.begin()) {
      std::int64_t const end = (next - 1)->end;
      if (time <= end) return false;
      call = std::lower_bound(call, warmup_times_.end(), end);
    }
    return call != warmup_times_.end() && (next == steps.end() || *call < next->begin);
  }

  /// CUPTI's Range Profiler launches a kernel of its own, without a call of the program.
  bool is_profilers_own(kernel_record const& r) const noexcept {
    return r.name != no_reference && r.name <= data_->kernel_names.size() &&
           data_->kernel_names[r.name - 1].mangled == "WaitNs";
  }

  template <class Record>
  bool keep_work(Record const& r, bool profilers_own) {
    std::size_t const at = find(r.correlation);
    if (at == none) {
      if (profilers_own) return false;
      ++data_->losses.uncorrelated;
    } else {
      if (left_out(at)) return false;
      worked_[at] = true;
    }
    if (r.begin == lost_time) ++data_->losses.timestamps_lost;
    return true;
  }

  void drop_launches() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < data_->launches.size(); ++i) {
      launch_record launch = data_->launches[i];
      if (left_out(i)) continue;
      if (worked_[i]) launch.captured = 0;
      data_->launches[kept++] = launch;
    }
    data_->launches.resize(kept);
  }

  profile* data_;
  vec<bool> worked_;
  vec<std::int64_t> warmup_times_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_JOINS_HPP
