#ifndef STRATA_SESSION_SAMPLED_TOTALS_HPP
#define STRATA_SESSION_SAMPLED_TOTALS_HPP

#include <strata/profile/samples.hpp>
#include <strata/tables/step_traffic.hpp>

STRATA_BEGIN
namespace detail {

/// What samples have in all, by the times in which the host was in the steps. Whose it was is found
/// out where a recording is explained (src/live/attribution.hpp).
class sampled_totals {
 public:
  /// Requires: the samples of the profile, and its steps in the same times.
  explicit sampled_totals(profile& target) : target_(target), steps_(target.steps.size()) {}

  /// Adds the totals to the set, and the bytes of each step to the profile. Without steps it is all
  /// samples. Else those of the steps that were sampled, for all: a mean step is a part of that.
  void add_to(counter_set& set) {
    bool is_hbm[counted_sample::max_counters] = {};
    std::size_t const counters = target_.samples.counters;
    for (std::size_t i = 0; i < counters; ++i)
      is_hbm[i] = level_of(set.names[i]) == metric_level::hbm;
    visit([&](counted_sample const& sample, std::size_t step, std::int64_t common, double part) {
      steps_[step].sampled_ns += common;
      for (std::size_t i = 0; i < counters; ++i)
        if (is_hbm[i]) steps_[step].bytes += part * static_cast<double>(sample.counts[i]);
    });
    std::size_t sampled = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!is_sampled(i)) continue;
      ++sampled;
      target_.step_traffic.push_back({target_.steps[i].step, 0, steps_[i].bytes});
    }
    set.about += describe_step_traffic(target_);
    if (!steps_.empty() && sampled == 0) {
      set.about += "No step was sampled from its begin to its end. ";
      return;
    }
    double sums[counted_sample::max_counters] = {};
    visit([&](counted_sample const& sample, std::size_t step, std::int64_t, double part) {
      if (step < steps_.size() && !is_sampled(step)) return;
      for (std::size_t i = 0; i < counters; ++i)
        sums[i] += part * static_cast<double>(sample.counts[i]);
    });
    double const steps = static_cast<double>(steps_.size() + target_.summed_steps.count());
    double const scale = steps_.empty() ? 1.0 : steps / static_cast<double>(sampled);
    for (std::uint32_t i = 0; i < counters; ++i)
      set.values.push_back({root_node, i, scale * sums[i]});
    set.about += target_.traced
                     ? "Which range moved them says \"strata explain\" of the recording "
                       "(formats=recording). "
                     : "Nothing says which range moved them: record with trace,live for that. ";
  }

 private:
  struct step_sums {
    std::int64_t sampled_ns = 0;
    double bytes = 0.0;
  };

  /// Whether samples cover a step, but for what is between two of them.
  bool is_sampled(std::size_t step) const noexcept {
    auto const all = static_cast<double>(target_.steps[step].end - target_.steps[step].begin);
    return all > 0.0 && static_cast<double>(steps_[step].sampled_ns) >= 0.99 * all;
  }

  /// Each sample with each step in its time, and with the part of it in that step; without steps
  /// all of it.
  template <class Look>
  void visit(Look&& look) {
    vec<step_record> const& steps = target_.steps;
    sample_reader reader(target_.samples);
    for (counted_sample now; reader.next(now);) {
      std::int64_t const length = now.end - now.begin;
      if (steps.empty()) look(now, 0, length, 1.0);
      std::size_t i = steps.count_first([&](step_record const& s) { return s.end <= now.begin; });
      for (; i < steps.size() && steps[i].begin < now.end; ++i) {
        std::int64_t const common =
            smaller(steps[i].end, now.end) - larger(steps[i].begin, now.begin);
        if (common > 0)
          look(now, i, common, static_cast<double>(common) / static_cast<double>(length));
      }
    }
  }

  profile& target_;
  vec<step_sums> steps_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SAMPLED_TOTALS_HPP
