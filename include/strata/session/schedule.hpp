#include <strata/version.hpp>
#ifndef STRATA_SESSION_SCHEDULE_HPP
#define STRATA_SESSION_SCHEDULE_HPP

#include <strata/base/macros.hpp>
#include <strata/options.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>

STRATA_BEGIN

namespace detail {

/// What happens to each step: windows of skipped, warm-up and active steps, repeated.
class schedule {
 public:
  enum class phase : unsigned char { skip, warmup, active };

  schedule() = default;
  explicit schedule(configuration const& from) noexcept
      : skip_(from.skip), warmup_(from.warmup), active_(from.active), repeat_(from.repeat) {}

  phase of(std::uint32_t step) const noexcept {
    std::uint64_t position = step;
    if (active_ != 0) {
      if (repeat_ != 0 && position / window() >= repeat_) return phase::skip;
      position %= window();
    }
    if (position < skip_) return phase::skip;
    return position < std::uint64_t{skip_} + warmup_ ? phase::warmup : phase::active;
  }

  /// Those of all windows, of the first one where they have no end, none where there are no
  /// windows.
  std::uint64_t steps_before_counting() const noexcept {
    constexpr std::uint64_t most = no_step;
    std::uint64_t const windows = repeat_ == 0 ? 1 : repeat_;
    if (active_ == 0) return 0;
    return windows > most / window() ? most : windows * window();
  }

 private:
  std::uint64_t window() const noexcept { return std::uint64_t{skip_} + warmup_ + active_; }

  std::uint32_t skip_ = 0;
  std::uint32_t warmup_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t repeat_ = 1;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_SCHEDULE_HPP
