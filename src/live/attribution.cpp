#include "attribution.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/samples.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/step_traffic.hpp>
#include "sample_split.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace live {
namespace {

/// How far CUPTI's times of samples and of records may be apart.
constexpr std::int64_t clock_error_ns = 1000;

/// The samples of a profile in their order.
samples samples_of(profile const& source) {
  device_samples const& coded = source.samples;
  std::vector<detail::counted_sample> all;
  detail::sample_reader reader(coded);
  for (detail::counted_sample now; reader.next(now);) all.push_back(now);
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.begin < b.begin; });
  samples made;
  made.counters = coded.counters;
  for (detail::counted_sample const& each : all) {
    made.times.push_back({each.begin, each.end});
    for (std::size_t i = 0; i < made.counters; ++i)
      made.values.push_back(static_cast<double>(each.counts[i]));
  }
  return made;
}

class attribution {
 public:
  attribution(profile& target, counter_set& set)
      : target_(target), set_(set), given_(samples_of(target)) {}

  void run() {
    if (given_.size() == 0) return;
    std::vector<sampled_work> work = find_work();
    std::vector<sample_span> times;
    for (sampled_work const& each : work) times.push_back({each.begin, each.end});
    std::vector<sample_span> const steps = times_of_steps();
    std::vector<sample_span> busy_steps;
    for (sample_span const& each : steps)
      if (each.begin < each.end) busy_steps.push_back(each);
    if (!can_run_together(given_.times, times) || !can_run_together(times, times) ||
        !can_run_together(given_.times, busy_steps)) {
      set_.about = target_.samples.about +
                   "Its records say that more ran at once than a GPU can run, so that no range has "
                   "its part: record the program again. ";
      return;
    }
    sample_split const made =
        split_samples(given_, std::move(work), nodes_.size(), clock_error_ns, recorded());
    vec<step_traffic_record> traffic = traffic_of(steps);
    fill(made);
    target_.step_traffic = std::move(traffic);
    set_.about = target_.samples.about + closure(made) + detail::describe_step_traffic(target_);
  }

 private:
  /// Owners are the nodes that have work.
  std::vector<sampled_work> find_work() {
    std::uint32_t const device = target_.samples.device;
    std::vector<sampled_work> work;
    std::vector<std::uint32_t> owner_of(target_.nodes.size(), no_node);
    auto const add = [&](auto const& record, std::uint32_t kind) {
      if (record.device != device || record.begin == lost_time) return;
      std::uint32_t& owner = owner_of[record.node];
      if (owner == no_node) {
        owner = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back(record.node);
      }
      work.push_back({record.begin, record.end, owner, kind});
    };
    for (kernel_record const& kernel : target_.kernels) add(kernel, kernel.name);
    constexpr std::uint32_t copies = 1u << 31;
    for (copy_record const& copy : target_.copies)
      add(copy, copies | static_cast<std::uint32_t>(copy.kind));
    return work;
  }

  /// Nothing where all is recorded.
  std::vector<sample_span> recorded() const {
    std::vector<sample_span> made;
    if (target_.samples.only_steps)
      for (step_record const& step : target_.steps) made.push_back({step.begin, step.end});
    std::sort(made.begin(), made.end(),
              [](sample_span const& a, sample_span const& b) { return a.begin < b.begin; });
    return made;
  }

  void fill(sample_split const& made) {
    auto const counters = static_cast<std::uint32_t>(given_.counters);
    vec<std::string> names;
    for (std::uint32_t i = 0; i < counters; ++i) names.push_back(set_.names[i]);
    for (std::uint32_t i = 0; i < counters; ++i)
      names.push_back(detail::sampled_names::variance(set_.names[i]));
    for (std::string_view const name : {detail::sampled_names::work, detail::sampled_names::covered,
                                        detail::sampled_names::shared})
      names.emplace_back(name);
    vec<counter_value> values;
    for (std::uint32_t owner = 0; owner < nodes_.size(); ++owner) {
      std::uint32_t const node = nodes_[owner];
      double const covered = made.covered_ns[owner];
      if (!(made.work_ns[owner] > 0.0)) continue;
      values.push_back({node, 2 * counters, made.work_ns[owner]});
      values.push_back({node, 2 * counters + 1, covered});
      values.push_back({node, 2 * counters + 2, made.shared_ns[owner]});
      if (!(covered > 0.0)) continue;
      double const whole = made.work_ns[owner] / covered;  // also of the time without samples
      for (std::uint32_t i = 0; i < counters; ++i) {
        double const deviation = whole * made.error(owner, i) / detail::sampled_names::deviations;
        values.push_back({node, i, whole * made.value(owner, i)});
        values.push_back({node, counters + i, deviation * deviation});
      }
    }
    set_.names = std::move(names);
    set_.origins = {};
    set_.values = std::move(values);
  }

  bool is_hbm(std::size_t counter) const {
    return level_of(set_.names[counter]) == metric_level::hbm;
  }

  /// "Bytes of memory: 1.20 GB = 1.18 GB while work ran + 0.02 GB while none did (1.7 %). "
  std::string closure(sample_split const& made) const {
    double total = 0.0;
    double idle = 0.0;
    for (std::size_t i = 0; i < given_.counters; ++i) {
      if (!is_hbm(i)) continue;
      total += made.total[i];
      idle += made.unexplained[i];
    }
    if (!(total > 0.0)) return {};
    return detail::sentence("Bytes of memory: ")
           << detail::bytes_text(total) << " = " << detail::bytes_text(total - idle)
           << " while work ran + " << detail::bytes_text(idle) << " while none did ("
           << detail::fixed_string(100.0 * idle / total, 1) << " %). ";
  }

  /// When the device did the work of each step: from its first kernel or copy to its last, or to
  /// the first of the next step.
  std::vector<sample_span> times_of_steps() const {
    std::vector<sample_span> made(target_.steps.size(), {INT64_MAX, INT64_MIN});
    detail::launch_index(target_).visit_work([&](auto const& record, std::uint32_t launch) {
      std::uint32_t const step = target_.launches[launch].step;
      if (record.device != target_.samples.device || record.begin == lost_time) return;
      auto const at = std::partition_point(  // steps are in their order
          target_.steps.begin(), target_.steps.end(),
          [step](step_record const& each) { return each.step < step; });
      if (at == target_.steps.end() || at->step != step) return;
      sample_span& time = made[static_cast<std::size_t>(at - target_.steps.begin())];
      time = {std::min(time.begin, record.begin), std::max(time.end, record.end)};
    });
    for (std::size_t i = 1; i < made.size(); ++i)
      if (made[i].begin > made[i - 1].begin)
        made[i - 1].end = std::min(made[i - 1].end, made[i].begin);
    return made;
  }

  /// The bytes of each step that was sampled from its begin to its end, but for what is between two
  /// samples.
  vec<step_traffic_record> traffic_of(std::vector<sample_span> const& steps) const {
    samples known;
    known.counters = 2;  // the time, and the bytes
    known.times = given_.times;
    for (std::size_t k = 0; k < given_.size(); ++k) {
      double sum = 0.0;
      for (std::size_t i = 0; i < given_.counters; ++i)
        if (is_hbm(i)) sum += given_.at(k)[i];
      known.values.push_back(static_cast<double>(given_.times[k].end - given_.times[k].begin));
      known.values.push_back(sum);
    }
    std::vector<double> const ns = sum_by_time(known, 0, steps);
    std::vector<double> const bytes = sum_by_time(known, 1, steps);
    vec<step_traffic_record> made;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].end <= steps[i].begin) continue;
      auto const all = static_cast<double>(steps[i].end - steps[i].begin);
      if (ns[i] >= 0.99 * all) made.push_back({target_.steps[i].step, 0, bytes[i]});
    }
    return made;
  }

  profile& target_;
  counter_set& set_;
  samples given_;
  std::vector<std::uint32_t> nodes_;  // by owner
};

}  // namespace

void attribute_samples(profile& target) {
  if (!target.traced || target.samples.coded.empty()) return;
  std::size_t const counters = target.samples.counters;
  for (counter_set& set : target.counter_sets) {
    bool const is_sampled = set.name == counter_set::live && set.method == counting::sampled &&
                            set.kernels.empty() && counters <= set.names.size() &&
                            counters <= detail::counted_sample::max_counters && counters != 0;
    if (is_sampled) return attribution(target, set).run();
  }
}

}  // namespace live
STRATA_END
