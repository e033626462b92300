#ifndef STRATA_SESSION_SAMPLED_TOTALS_HPP
#define STRATA_SESSION_SAMPLED_TOTALS_HPP

#include <strata/profile/samples.hpp>
#include <strata/tables/step_traffic.hpp>

STRATA_BEGIN
namespace detail {

/// Adds up the samples of a profile: all of them, or those of its steps, for all steps. The
/// steps get their bytes while the host was in them. Whose it was is found out where a recording is
/// explained (src/live/attribution.hpp).
inline void add_sampled_totals(profile& target, counter_set& set) {
  struct step_sums {
    std::int64_t sampled_ns = 0;
    double bytes = 0.0;
  };
  device_samples const& samples = target.samples;
  vec<step_record> const& steps = target.steps;
  vec<step_sums> by_step(steps.size());
  bool const of_steps = samples.only_steps && !steps.empty();
  double totals[counted_sample::max_counters] = {};
  bool is_hbm[counted_sample::max_counters] = {};
  bool has_hbm = false;
  for (std::size_t i = 0; i < samples.counters; ++i) {
    is_hbm[i] = level_of(set.names[i]) == metric_level::hbm;
    has_hbm = has_hbm || is_hbm[i];
  }
  sample_reader reader(samples);
  for (counted_sample now; reader.next(now);) {
    double bytes = 0.0;
    for (std::size_t i = 0; i < samples.counters; ++i)
      if (is_hbm[i]) bytes += static_cast<double>(now.counts[i]);
    double in_steps = 0.0;
    std::size_t at = steps.count_first([&](step_record const& s) { return s.end <= now.begin; });
    for (; at < steps.size() && steps[at].begin < now.end; ++at) {
      std::int64_t const ns = smaller(steps[at].end, now.end) - larger(steps[at].begin, now.begin);
      double const part = static_cast<double>(ns) / static_cast<double>(now.end - now.begin);
      by_step[at].sampled_ns += ns;
      by_step[at].bytes += part * bytes;
      in_steps += part;
    }
    for (std::size_t i = 0; i < samples.counters; ++i)
      totals[i] += (of_steps ? in_steps : 1.0) * static_cast<double>(now.counts[i]);
  }
  double sampled_steps = 0.0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::int64_t const all = larger(steps[i].end - steps[i].begin, std::int64_t{1});
    double const part = static_cast<double>(by_step[i].sampled_ns) / static_cast<double>(all);
    sampled_steps += part;
    if (has_hbm && part >= 0.99)  // but for what is between two samples
      target.step_traffic.push_back({steps[i].step, 0, by_step[i].bytes});
  }
  set.about += describe_unattributed(target);
  if (of_steps && !(sampled_steps > 0.0)) return;
  auto const all = static_cast<double>(steps.size() + target.summed_steps.count());
  double const scale = of_steps ? all / sampled_steps : 1.0;
  for (std::uint32_t i = 0; i < samples.counters; ++i)
    set.values.push_back({root_node, i, scale * totals[i]});
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SAMPLED_TOTALS_HPP
