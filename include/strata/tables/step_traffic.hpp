#ifndef STRATA_TABLES_STEP_TRAFFIC_HPP
#define STRATA_TABLES_STEP_TRAFFIC_HPP

#include <strata/profile.hpp>

STRATA_BEGIN

/// The bytes of device memory that steps moved, of those that were sampled; NaN without such.
struct step_traffic {
  double p50 = detail::not_a_number;
  double p99 = detail::not_a_number;
};

inline step_traffic make_step_traffic(profile const& source) {
  if (source.step_traffic.empty()) return {};
  vec<double> bytes;
  for (step_traffic_record const& step : source.step_traffic) bytes.push_back(step.bytes);
  bytes.sort();
  std::size_t const last = bytes.size() - 1;
  return {bytes[last / 2], bytes[last - last / 100]};
}

namespace detail {

inline std::string describe_step_traffic(profile const& source) {
  step_traffic const known = make_step_traffic(source);
  if (!is_finite(known.p50)) return {};
  return sentence("A step moved ") << bytes_text(known.p50) << " (median), 99 % of the steps up to "
                                   << bytes_text(known.p99) << ". ";
}

/// What is known before bytes have ranges, and what would tell them.
inline std::string describe_unattributed(profile const& source) {
  return describe_step_traffic(source) +
         (source.traced ? "Which range moved them: strata report profile.strata. "
                        : "Which range moved them: strata report --map, or trace,live. ");
}

}  // namespace detail

STRATA_END

#endif  // STRATA_TABLES_STEP_TRAFFIC_HPP
