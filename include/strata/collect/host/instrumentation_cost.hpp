#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_INSTRUMENTATION_COST_HPP
#define STRATA_COLLECT_HOST_INSTRUMENTATION_COST_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>

STRATA_BEGIN

namespace detail {

/// What recording costs on this machine, measured in a few microseconds on a log of its own.
struct instrumentation_cost {
  double range_ns = 0.0;  ///< two clock reads and a record
  double callback_ns =
      0.0;  ///< half of a launch's two callbacks: a clock read each, and one record

  static instrumentation_cost measure() noexcept {
    constexpr int tries = 1000;
    tick_source const clock;
    memory_budget budget;
    budget.set(std::int64_t{1} << 20);
    record_log<range_record> log(budget);
    std::int64_t const begin = monotonic_ns();
    for (int i = 0; i < tries; ++i) {
      std::int64_t const first = clock.now();
      (void)log.push({first, clock.now(), 0, 0, 0, 0});
    }
    double const each = static_cast<double>(monotonic_ns() - begin) / tries;
    return {each, each / 2};
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_INSTRUMENTATION_COST_HPP
