#ifndef STRATA_SESSION_SAMPLED_RANGES_HPP
#define STRATA_SESSION_SAMPLED_RANGES_HPP

#include <strata/collect/counters/sampled_metrics.hpp>
#include <strata/profile/sample_split.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/step_traffic.hpp>

STRATA_BEGIN
namespace detail {

/// Gives what was sampled to the ranges whose kernels and copies ran meanwhile, as a set of
/// counters. Without a trace it is the program's as a whole.
class sampled_ranges {
 public:
  sampled_ranges(sampled_metrics const& chosen, samples const& given)
      : chosen_(chosen), given_(given) {}

  /// Requires: the records of the profile, in its times, as the samples are.
  void copy_to(profile& target, std::uint32_t device, std::string const& chip, bool has_schedule) {
    counter_set& set = target.add_counters(counter_set::live);
    set.method = counting::sampled;
    set.where = chip;
    set.devices.push_back(device);
    set.metrics = chosen_.set;
    set.left_out = chosen_.left_out;
    set.passes = set.passes_done = 1;
    for (absent_metric const& missing : chosen_.left_out) set.metrics.absent.push_back(missing);
    for (std::string const& name : chosen_.config.names()) set.names.push_back(name);
    for (std::string const& name : chosen_.config.names())
      set.names.push_back(sampled_names::variance(name));
    for (std::string_view const name :
         {sampled_names::work, sampled_names::covered, sampled_names::shared})
      set.names.emplace_back(name);
    vec<sample_span> recorded = recorded_in(target, has_schedule || !target.traced);
    if (target.traced) {
      split(target, device, std::move(recorded), set);
    } else {
      sum_up(target, recorded, set);
    }
    add_steps(target, device);
  }

 private:
  /// How far CUPTI's times of samples and of records may be apart.
  static constexpr std::int64_t clock_error_ns = 1000;

  /// Of the steps of windows; nothing where all is recorded.
  static vec<sample_span> recorded_in(profile const& target, bool has_schedule) {
    vec<sample_span> made;
    if (has_schedule)
      for (step_record const& step : target.steps) made.push_back({step.begin, step.end});
    made.sort([](sample_span const& a, sample_span const& b) { return a.begin < b.begin; });
    return made;
  }

  void split(profile const& source, std::uint32_t device, vec<sample_span> recorded,
             counter_set& set) {
    vec<sampled_work> work;
    for (kernel_record const& kernel : source.kernels)
      if (kernel.device == device && kernel.begin != lost_time)
        work.push_back({kernel.begin, kernel.end, kernel.node, kernel.name});
    constexpr std::uint32_t copies = 1u << 31;
    for (copy_record const& copy : source.copies)
      if (copy.device == device && copy.begin != lost_time)
        work.push_back(
            {copy.begin, copy.end, copy.node, copies | static_cast<std::uint32_t>(copy.kind)});
    sample_split const made = sample_splitter(given_, std::move(work), source.nodes.size(),
                                              clock_error_ns, std::move(recorded))
                                  .split();
    auto const counters = static_cast<std::uint32_t>(given_.counters);
    for (std::uint32_t node = 0; node < source.nodes.size(); ++node) {
      double const covered = made.covered_ns[node];
      if (!(made.work_ns[node] > 0.0)) continue;
      set.values.push_back({node, 2 * counters, made.work_ns[node]});
      set.values.push_back({node, 2 * counters + 1, covered});
      set.values.push_back({node, 2 * counters + 2, made.shared_ns[node]});
      if (!(covered > 0.0)) continue;
      double const whole = made.work_ns[node] / covered;  // also of the time without samples
      for (std::uint32_t i = 0; i < counters; ++i) {
        double const deviation = whole * made.error(node, i) / sampled_names::deviations;
        set.values.push_back({node, i, whole * made.value(node, i)});
        set.values.push_back({node, counters + i, deviation * deviation});
      }
    }
    set.about = closure(made);
  }

  /// "hbm_bytes: 1.20 GB = 1.18 GB in ranges + 0.02 GB while nothing ran."
  std::string closure(sample_split const& made) const {
    double total = 0.0;
    double idle = 0.0;
    for (std::size_t i = 0; i < chosen_.config.names().size(); ++i) {
      if (level_of(chosen_.config.names()[i]) != metric_level::hbm) continue;
      total += made.total[i];
      idle += made.unexplained[i];
    }
    if (!(total > 0.0)) return {};
    return sentence("Bytes of memory: ")
           << bytes_text(total) << " = " << bytes_text(total - idle) << " while work ran + "
           << bytes_text(idle) << " while none did (" << fixed_string(100.0 * idle / total, 1)
           << " %). ";
  }
  /// All samples where there are no steps. Else those of the steps that were sampled, for all
  /// steps: a mean step is a part of that.
  void sum_up(profile const& source, vec<sample_span> recorded, counter_set& set) {
    double scale = 1.0;
    if (!source.steps.empty()) {
      vec<bool> const sampled = are_sampled(recorded);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < recorded.size(); ++i)
        if (sampled[i]) recorded[kept++] = recorded[i];
      recorded.resize(kept);
      set.about = "No step was sampled from its begin to its end. ";
      if (kept == 0) return;
      scale = static_cast<double>(sampled.size() + source.summed_steps.count()) /
              static_cast<double>(kept);
    }
    sample_split const made = sample_splitter(given_, {}, 0, 0, std::move(recorded)).split();
    for (std::uint32_t i = 0; i < given_.counters; ++i)
      set.values.push_back({root_node, i, scale * made.total[i]});
    set.about = "Nothing says which range moved them: record with trace,live for that. ";
  }

  /// Whether samples cover each of these times, but for what is between two of them.
  vec<bool> are_sampled(vec<sample_span> const& times) const {
    samples covered;
    covered.counters = 1;
    covered.times = given_.times;
    for (sample_span const& each : given_.times)
      covered.values.push_back(static_cast<double>(each.end - each.begin));
    vec<double> const ns = sum_by_time(covered, 0, times);
    vec<bool> made;
    for (std::size_t i = 0; i < times.size(); ++i) {
      auto const all = static_cast<double>(times[i].end - times[i].begin);
      made.push_back(all > 0.0 && ns[i] >= 0.99 * all);
    }
    return made;
  }

  /// When the device did the work of each step: from its first kernel or copy to its last, or to
  /// the first of the next step. Without a trace that is not known: when the host was in it.
  static vec<sample_span> times_of_steps(profile const& source, std::uint32_t device) {
    vec<sample_span> made;
    for (step_record const& step : source.steps) made.push_back({step.begin, step.end});
    if (!source.traced) return made;
    for (sample_span& each : made) each = {INT64_MAX, INT64_MIN};
    launch_index(source).visit_work([&](auto const& record, std::uint32_t launch) {
      std::uint32_t const step = source.launches[launch].step;
      if (record.device != device || record.begin == lost_time) return;
      std::size_t const at = source.steps.count_first(  // steps are in their order
          [step](step_record const& each) { return each.step < step; });
      if (at == made.size() || source.steps[at].step != step) return;
      made[at] = {smaller(made[at].begin, record.begin), larger(made[at].end, record.end)};
    });
    for (std::size_t i = 1; i < made.size(); ++i)
      if (made[i].begin > made[i - 1].begin)
        made[i - 1].end = smaller(made[i - 1].end, made[i].begin);
    return made;
  }

  /// The bytes of memory of each step that was sampled from its begin to its end, without a gap.
  void add_steps(profile& target, std::uint32_t device) const {
    vec<sample_span> const steps = times_of_steps(target, device);
    samples bytes;
    bytes.counters = 1;
    bytes.times = given_.times;
    for (std::size_t k = 0; k < given_.size(); ++k) {
      double sum = 0.0;
      for (std::size_t i = 0; i < given_.counters; ++i)
        if (level_of(chosen_.config.names()[i]) == metric_level::hbm) sum += given_.at(k)[i];
      bytes.values.push_back(sum);
    }
    vec<double> const sums = sum_by_time(bytes, 0, steps);
    vec<bool> const sampled = are_sampled(steps);
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (sampled[i]) target.step_traffic.push_back({target.steps[i].step, 0, sums[i]});
    step_traffic const known = make_step_traffic(target);
    if (is_finite(known.p50))
      target.add_counters(counter_set::live).about += sentence("A step moved ")
                                                      << bytes_text(known.p50)
                                                      << " (median), 99 % of the steps up to "
                                                      << bytes_text(known.p99) << ". ";
  }

  sampled_metrics const& chosen_;
  samples const& given_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SAMPLED_RANGES_HPP
