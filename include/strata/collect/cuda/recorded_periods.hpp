#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_RECORDED_PERIODS_HPP
#define STRATA_COLLECT_CUDA_RECORDED_PERIODS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// When something was recorded: what lies outside, such as our own wait at the end of a window, is
/// left out. Units: ticks.
class recorded_periods {
 public:
  bool empty() const noexcept { return all_.empty(); }
  void clear() noexcept { all_.clear(); }

  void begin(std::int64_t now) {
    if (all_.empty() || !all_.back().open) all_.push_back({now, 0, true});
  }
  void end(std::int64_t now) noexcept {
    if (all_.empty() || !all_.back().open) return;
    all_.back().end = now;
    all_.back().open = false;
  }

  /// Takes out the records that began outside; their times are in ns.
  template <class Record>
  void keep(vec<Record>& records, tick_converter const& ticks) const {
    auto const outside = [&](Record const& r) {
      if (r.begin == lost_time) return false;
      for (period const& p : all_) {
        if (r.begin >= ticks.to_ns(p.begin) && (p.open || r.begin <= ticks.to_ns(p.end)))
          return false;
      }
      return true;
    };
    records.erase(std::remove_if(records.begin(), records.end(), outside), records.end());
  }

 private:
  struct period {
    std::int64_t begin;
    std::int64_t end;
    bool open;
  };

  vec<period> all_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_RECORDED_PERIODS_HPP
