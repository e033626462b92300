#include <strata/version.hpp>
#ifndef STRATA_PROFILE_SAMPLES_HPP
#define STRATA_PROFILE_SAMPLES_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// The time of a sample.
struct sample_span {
  std::int64_t begin;
  std::int64_t end;
};

/// What a device's counters counted, time by time.
struct samples {
  vec<sample_span> times;
  vec<double> values;  ///< `counters` a sample
  std::size_t counters = 0;

  std::size_t size() const noexcept { return times.size(); }
  double const* at(std::size_t i) const noexcept { return values.data() + i * counters; }
  double* at(std::size_t i) noexcept { return values.data() + i * counters; }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_SAMPLES_HPP
