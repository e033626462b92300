#include "attribution.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/profile/samples.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/step_traffic.hpp>
#include "drift.hpp"
#include "energy.hpp"
#include "median.hpp"
#include "range_kinds.hpp"
#include "sample_split.hpp"
#include "step_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace live {
namespace {

/// How far CUPTI's times of samples and of records may be apart.
constexpr std::int64_t clocks_apart_ns = 1000;

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

/// Where the step of that number stands among the recorded ones; their count where it does not.
std::size_t place_of_step(profile const& source, std::uint32_t step) {
  std::size_t const place =  // steps are in their order
      source.steps.count_first([step](step_record const& other) { return other.step < step; });
  bool const is_there = place < source.steps.size() && source.steps[place].step == step;
  return is_there ? place : source.steps.size();
}

bool is_hbm(counter_set const& set, std::size_t counter) {
  return level_of(set.names[counter]) == metric_level::hbm;
}

/// What each sample moved through device memory.
std::vector<double> bytes_of_samples(counter_set const& set, samples const& given) {
  std::vector<double> bytes(given.size(), 0.0);
  for (std::size_t i = 0; i < given.counters; ++i) {
    if (!is_hbm(set, i)) continue;
    for (std::size_t k = 0; k < given.size(); ++k) bytes[k] += given.at(k)[i];
  }
  return bytes;
}

/// "Bytes of memory: 1.20 GB = 1.18 GB while work ran + 0.02 GB while none did (1.7 %). "
std::string closure(counter_set const& set, sample_split const& made, std::size_t counters) {
  double total = 0.0;
  double idle = 0.0;
  for (std::size_t i = 0; i < counters; ++i) {
    if (!is_hbm(set, i)) continue;
    total += made.total[i];
    idle += made.unexplained[i];
  }
  if (!(total > 0.0)) return {};
  return detail::sentence("Bytes of memory: ")
         << detail::bytes_text(total) << " = " << detail::bytes_text(total - idle)
         << " while work ran + " << detail::bytes_text(idle) << " while none did ("
         << detail::fixed_string(100.0 * idle / total, 1) << " %). ";
}

/// Makes the values of a set of the first counters of a split, whose owners are nodes, times a
/// factor. Owners without work are left out.
void fill(counter_set& set, sample_split const& made, std::size_t all,
          std::vector<std::uint32_t> const& node_of, double factor) {
  auto const counters = static_cast<std::uint32_t>(all);
  vec<std::string> names;
  for (std::uint32_t i = 0; i < counters; ++i) names.push_back(set.names[i]);
  for (std::uint32_t i = 0; i < counters; ++i)
    names.push_back(detail::sampled_names::variance(set.names[i]));
  for (std::string_view const name :
       {detail::sampled_names::work, detail::sampled_names::covered, detail::sampled_names::shared})
    names.emplace_back(name);
  std::map<std::uint32_t, std::vector<double>> sums;  // by node, as the names
  for (std::size_t owner = 0; owner < node_of.size(); ++owner) {
    double const covered = made.covered_ns[owner];
    if (!(made.work_ns[owner] > 0.0)) continue;
    std::vector<double>& sum = sums[node_of[owner]];
    sum.resize(names.size());
    sum[2 * all] += factor * made.work_ns[owner];
    sum[2 * all + 1] += factor * covered;
    sum[2 * all + 2] += factor * made.shared_ns[owner];
    if (!(covered > 0.0)) continue;
    double const whole = factor * made.work_ns[owner] / covered;  // also of time without samples
    for (std::size_t i = 0; i < all; ++i) {
      double const deviation = whole * made.error(owner, i) / detail::sampled_names::deviations;
      sum[i] += whole * made.value(owner, i);
      sum[all + i] += deviation * deviation;
    }
  }
  vec<counter_value> values;
  for (auto const& [node, sum] : sums)
    for (std::uint32_t i = 0; i < names.size(); ++i)
      if (i >= 2 * counters || sum[2 * all + 1] > 0.0) values.push_back({node, i, sum[i]});
  set.names = std::move(names);
  set.origins = {};
  set.values = std::move(values);
}

/// "11 % longer", "20 % more bytes"
std::string change_text(double part, bool of_time) {
  std::string const percent = detail::fixed_string(100.0 * std::abs(part), 0) + " % ";
  if (of_time) return percent + (part > 0.0 ? "longer" : "less time");
  return percent + (part > 0.0 ? "more bytes" : "fewer bytes");
}

/// "Since step 1200, a step has taken 11 % longer than before. "
template <class Records, class Value>
std::string describe_change(Records const& records, bool of_time, Value const& value) {
  constexpr std::size_t most_blocks = 256;
  constexpr std::size_t least_block = 8;
  std::size_t const count = records.size();
  std::size_t const blocks = std::min(most_blocks, count / least_block);
  std::vector<double> medians;
  for (std::size_t i = 0; i < blocks; ++i) {
    std::vector<double> values;
    for (std::size_t k = i * count / blocks; k < (i + 1) * count / blocks; ++k)
      values.push_back(value(records[k]));
    medians.push_back(median(std::move(values)));
  }
  auto const change = find_lasting_change(medians, {});
  if (!change) return {};
  return detail::sentence("Since step ") << records[change->at * count / blocks].step
                                         << ", a step has " << (of_time ? "taken " : "moved ")
                                         << change_text(change->part, of_time) << " than before. ";
}

/// What changes from step to step.
std::string describe_changes(profile const& source) {
  return describe_change(
             source.steps, true,
             [](step_record const& step) { return static_cast<double>(step.end - step.begin); }) +
         describe_change(source.step_traffic, false,
                         [](step_traffic_record const& step) { return step.bytes; });
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
    sample_split made = split_samples(given_, work, nodes_.size(), clocks_apart_ns, recorded());
    add_border_errors(made, work);
    vec<step_traffic_record> traffic = traffic_of(steps);
    fill(set_, made, given_.counters, nodes_, 1.0);
    target_.step_traffic = std::move(traffic);
    std::string const energy = add_energy(target_, set_, work, nodes_, windows());
    set_.about = target_.samples.about + closure(set_, made, given_.counters) +
                 detail::describe_step_traffic(target_) + describe_changes(target_) + energy;
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

  /// The times that are recorded without a pause: steps that follow each other. Nothing where all
  /// is.
  std::vector<sample_span> windows() const {
    std::vector<sample_span> made;
    std::uint32_t last = 0;
    for (step_record const& step : target_.steps) {
      if (!target_.samples.only_steps) break;
      bool const goes_on = !made.empty() && step.step == last + 1;
      last = step.step;
      if (goes_on) made.back().end = step.end;
      if (!goes_on) made.push_back({step.begin, step.end});
    }
    return made;
  }

  /// When the device did the work of each step: from its first kernel or copy to its last, or to
  /// the first of the next step.
  std::vector<sample_span> times_of_steps() const {
    std::vector<sample_span> made(target_.steps.size(), {INT64_MAX, INT64_MIN});
    detail::launch_index(target_).visit_work([&](auto const& record, std::uint32_t launch) {
      if (record.device != target_.samples.device || record.begin == lost_time) return;
      std::size_t const place = place_of_step(target_, target_.launches[launch].step);
      if (place == made.size()) return;
      sample_span& time = made[place];
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
    std::vector<double> const bytes_of = bytes_of_samples(set_, given_);
    for (std::size_t k = 0; k < given_.size(); ++k) {
      known.values.push_back(static_cast<double>(given_.times[k].end - given_.times[k].begin));
      known.values.push_back(bytes_of[k]);
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

/// The set of sampled counters, if its samples can be read.
counter_set* sampled_set(profile& target) {
  std::size_t const counters = target.samples.counters;
  for (counter_set& set : target.counter_sets)
    if (set.name == counter_set::live && set.method == counting::sampled && set.kernels.empty() &&
        counters <= set.names.size() && counters <= detail::counted_sample::max_counters &&
        counters != 0 && !target.samples.coded.empty())
      return &set;
  return nullptr;
}

/// The work of a usual step: of those with as much work as most have, the one of median length.
struct usual_step {
  step_map map;
  std::vector<std::uint32_t> nodes;  // by owner
  std::int64_t begins_after = 0;     // the host's begin of the step
  std::int64_t differs_by = 0;       // in the median step
  bool has_bytes = false;            // of what was sampled with the trace; else time stands for it
  double bytes = 0.0;

  explicit usual_step(profile const& traced) {
    struct work {
      std::int64_t begin, end;
      std::uint32_t node;
    };
    std::vector<std::vector<work>> steps(traced.steps.size());
    std::uint32_t const device =
        traced.kernels.empty() ? 0 : std::uint32_t{traced.kernels[0].device};
    detail::launch_index(traced).visit_work([&](auto const& record, std::uint32_t launch) {
      if (record.device != device) return;
      std::size_t const place = place_of_step(traced, traced.launches[launch].step);
      if (place == steps.size()) return;
      steps[place].push_back({record.begin, std::max(record.end, record.begin + 1), record.node});
    });
    std::map<std::size_t, std::size_t> sizes;
    for (std::vector<work>& each : steps) {
      std::sort(each.begin(), each.end(),
                [](work const& a, work const& b) { return a.begin < b.begin; });
      if (!each.empty()) ++sizes[each.size()];
    }
    if (sizes.empty()) return;
    std::size_t const size =
        std::max_element(sizes.begin(), sizes.end(), [](auto const& a, auto const& b) {
          return a.second < b.second;
        })->first;
    auto const length = [](std::vector<work> const& step) {
      std::int64_t end = 0;
      for (work const& each : step) end = std::max(end, each.end);
      return end - step.front().begin;
    };
    std::vector<std::size_t> usual;
    std::vector<std::int64_t> late;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].size() != size) continue;
      usual.push_back(i);
      late.push_back(steps[i].front().begin - traced.steps[i].begin);
    }
    begins_after = median(late);
    for (std::int64_t& each : late) each = std::abs(each - begins_after);
    differs_by = median(late);
    std::sort(usual.begin(), usual.end(),
              [&](std::size_t a, std::size_t b) { return length(steps[a]) < length(steps[b]); });
    std::vector<work> const& chosen = steps[usual[usual.size() / 2]];
    std::vector<double> const rates = rates_of(traced);
    std::map<std::uint32_t, std::uint32_t> owners;
    for (work const& each : chosen) {
      auto const [owner, is_new] =
          owners.try_emplace(each.node, static_cast<std::uint32_t>(nodes.size()));
      if (is_new) nodes.push_back(each.node);
      double const rate = has_bytes ? rates[each.node] : 1.0;
      std::int64_t const begin = each.begin - chosen.front().begin;
      std::int64_t const end = each.end - chosen.front().begin;
      map.work.push_back({begin, end, owner->second, rate * static_cast<double>(end - begin)});
      bytes += map.work.back().bytes;
    }
    map.has_bytes = has_bytes;
  }

 private:
  /// Bytes in a ns, by node, if they were sampled.
  std::vector<double> rates_of(profile const& traced) {
    counter_set const& set = traced.counters(counter_set::live);
    std::size_t const at = set.names.index_of(detail::sampled_names::work);
    std::vector<double> rates(traced.nodes.size(), 0.0);
    std::vector<double> ns(traced.nodes.size(), 0.0);
    for (counter_value const& value : set.values) {
      if (value.counter == at) ns[value.node] += value.value;
      bool const is_bytes = value.counter < at && is_hbm(set, value.counter) &&
                            set.names[value.counter].find("_variance.") == std::string::npos;
      if (is_bytes) rates[value.node] += value.value;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      rates[i] = ns[i] > 0.0 ? rates[i] / ns[i] : 0.0;
      has_bytes = has_bytes || rates[i] > 0.0;
    }
    return rates;
  }
};

class map_attribution {
 public:
  map_attribution(profile& target, counter_set& set, profile const& traced)
      : target_(target), set_(set), traced_(traced), usual_(traced), given_(samples_of(target)) {}

  status run() {
    if (usual_.map.work.empty())
      return {errc::bad_argument,
              "the map has no step with work on the GPU: record it with STRATA=trace, and mark "
              "steps"};
    if (usual_.map.work.size() > most_work)
      return {errc::bad_argument,
              "the steps of the map have more than 200,000 kernels: mark "
              "smaller ones"};
    find_steps();
    sampled_steps const steps = choose_steps();
    if (steps.begins.empty())
      return {errc::bad_argument,
              "the recording has no step that was sampled from its begin to its end: mark steps, "
              "and record "
              "for longer"};
    find_nodes();
    add_bytes();
    std::size_t const counters = given_.counters - 1;
    mapped_traffic const made = map_traffic(usual_.map, steps, given_);
    std::size_t const fits = steps.begins.size() - made.misfits.size();
    if (made.groups.empty() || fits == 0)
      return {errc::bad_argument,
              "none of its steps looks like the map: record the map again, with what runs now"};
    auto const all = static_cast<double>(target_.steps.size() + target_.summed_steps.count());
    std::string about = target_.samples.about + closure(set_, made.split, counters) +
                        detail::describe_step_traffic(target_) + describe_changes(target_) +
                        describe(steps, made) + describe_drift() + describe_energy(target_);
    std::vector<std::uint32_t> node_of(usual_.nodes.size(), root_node);
    for (traffic_group const& group : made.groups)
      node_of[group.owners.front()] = node_of_group(group);
    for (traffic_group const& group : made.groups)
      if (group.owners.size() > 1) about += describe(group, static_cast<double>(fits));
    fill(set_, made.split, counters, node_of, all / static_cast<double>(fits));
    mark_merged(made, node_of);
    set_.about = std::move(about);
    return {};
  }

 private:
  static constexpr std::size_t most_work = 200'000;  // in all steps that the map is aligned with
  static constexpr std::size_t block = 32;           // of steps that follow each other

  /// The steps that were sampled without a gap.
  void find_steps() {
    std::vector<std::int64_t>& all = all_.begins;
    std::size_t at = 0;
    std::int64_t const length = usual_.map.length();
    for (step_traffic_record const& known : target_.step_traffic) {
      while (at < target_.steps.size() && target_.steps[at].step < known.step) ++at;
      if (at == target_.steps.size() || target_.steps[at].step != known.step) continue;
      std::int64_t const begin = target_.steps[at].begin + usual_.begins_after;
      if (!all.empty() && begin < all.back() + length / 2) continue;  // cannot be
      all.push_back(begin);
      all_numbers_.push_back(known.step);
    }
    all_.counter = given_.counters;  // the one that add_bytes adds
    if (all.empty()) return;
    std::vector<std::int64_t> periods{length};
    for (std::size_t i = 1; i < all.size(); ++i) periods.push_back(all[i] - all[i - 1]);
    // A trace delays launches, so that the device may begin sooner without one.
    all_.tolerance_ns = std::min(std::max<std::int64_t>(0, median(periods)) / 4,
                                 std::max<std::int64_t>(0, usual_.begins_after) / 2 +
                                     4 * usual_.differs_by + 2 * median(lengths_of(given_)));
  }

  /// These, or blocks of them where they are many.
  sampled_steps choose_steps() {
    std::vector<std::int64_t> const& all = all_.begins;
    sampled_steps made{{}, all_.tolerance_ns, all_.counter};
    std::size_t const most = std::max<std::size_t>(1, most_work / usual_.map.work.size());
    std::size_t const blocks = std::max<std::size_t>(1, most / block);
    std::size_t const size = std::min(block, most);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all.size() > most) {  // the begin of the block that it would be in
        std::size_t const number = i * blocks / all.size();
        std::size_t const first = (number * all.size() + blocks - 1) / blocks;
        if (i - first >= size) continue;
      }
      made.begins.push_back(all[i]);
      numbers_.push_back(all_numbers_[i]);
    }
    return made;
  }

  static std::vector<std::int64_t> lengths_of(samples const& given) {
    std::vector<std::int64_t> lengths{0};
    for (sample_span const& each : given.times) lengths.push_back(each.end - each.begin);
    return lengths;
  }

  /// As one counter more, by which steps are aligned.
  void add_bytes() {
    samples made;
    made.counters = given_.counters + 1;
    made.times = given_.times;
    std::vector<double> const bytes = bytes_of_samples(set_, given_);
    for (std::size_t k = 0; k < given_.size(); ++k) {
      for (std::size_t i = 0; i < given_.counters; ++i) made.values.push_back(given_.at(k)[i]);
      made.values.push_back(bytes[k]);
    }
    given_ = std::move(made);
  }

  /// The ranges here of the same paths; of one that this run does not have, the last one above it.
  void find_nodes() {
    using place = std::tuple<std::uint32_t, std::string_view, std::int64_t>;
    std::map<place, std::uint32_t> here;
    for (std::uint32_t i = 1; i < target_.nodes.size(); ++i) {
      profile_node const& node = target_.nodes[i];
      here.try_emplace({node.parent, target_.names[node.name], node.index}, i);
    }
    node_here_.assign(traced_.nodes.size(), root_node);
    std::vector<bool> is_there(traced_.nodes.size(), true);
    for (std::size_t i = 1; i < traced_.nodes.size(); ++i) {  // parents come first
      profile_node const& node = traced_.nodes[i];
      std::uint32_t const above = node_here_[node.parent];
      auto const found = here.find({above, traced_.names[node.name], node.index});
      is_there[i] = is_there[node.parent] && found != here.end();
      node_here_[i] = is_there[i] ? found->second : above;
    }
  }

  std::uint32_t node_of_group(traffic_group const& group) const {
    std::uint32_t common = node_here_[usual_.nodes[group.owners.front()]];
    for (std::uint32_t const owner : group.owners) {
      std::uint32_t other = node_here_[usual_.nodes[owner]];
      while (common != other)  // parents come first
        (common > other ? common : other) = target_.nodes[std::max(common, other)].parent;
    }
    return common;
  }

  /// Ranges that are counted in one above them.
  void mark_merged(mapped_traffic const& made, std::vector<std::uint32_t> const& node_of) {
    auto const counter = static_cast<std::uint32_t>(set_.names.size());
    set_.names.emplace_back(detail::sampled_names::merged);
    for (traffic_group const& group : made.groups)
      for (std::uint32_t const owner : group.owners) {
        std::uint32_t const node = node_here_[usual_.nodes[owner]];
        if (node != node_of[group.owners.front()]) set_.values.push_back({node, counter, 1.0});
      }
  }

  std::string describe(sampled_steps const& steps, mapped_traffic const& made) const {
    detail::sentence text("By a map of the step with ");
    text << usual_.map.work.size() << " kernels and copies, aligned with " << steps.begins.size()
         << " steps. ";
    if (!usual_.has_bytes)
      text << "It has no bytes, so that ranges are separated by time alone: record it with "
              "STRATA=trace,live. ";
    if (!made.misfits.empty())
      text << made.misfits.size()
           << (goes_on(steps, made) ? " of them do not look like the map, nearly all since step "
                                    : " of them do not look like the map, the first is step ")
           << numbers_[made.misfits.front()]
           << ": their work is in no range, so record the map again if that goes on. ";
    double const fits = static_cast<double>(steps.begins.size() - made.misfits.size());
    double const now = made.total / fits;
    constexpr double least = 0.1;  // chosen
    if (usual_.has_bytes && std::abs(now - usual_.bytes) > least * usual_.bytes)
      text << "A step moved " << detail::bytes_text(now) << " where the map has "
           << detail::bytes_text(usual_.bytes) << ". ";
    return text;
  }

  static bool goes_on(sampled_steps const& steps, mapped_traffic const& made) {
    constexpr std::size_t least = 10;  // chosen
    std::size_t const since = steps.begins.size() - made.misfits.front();
    return made.misfits.size() >= least && 10 * made.misfits.size() >= 9 * since;
  }

  /// "Since step 1200, attention has taken 11 % longer than before. "
  std::string describe_drift() const {
    if (!usual_.has_bytes) return {};  // lengths show in what is moved alone
    step_map map = usual_.map;
    std::vector<std::uint32_t> const kinds = range_kinds(traced_, usual_.nodes);
    std::vector<std::uint32_t> node_of;  // the first one of a kind
    for (std::size_t owner = 0; owner < kinds.size(); ++owner)
      if (kinds[owner] == node_of.size()) node_of.push_back(usual_.nodes[owner]);
    for (mapped_work& each : map.work) each.owner = kinds[each.owner];
    std::vector<range_drift> const found = find_drift(map, all_, given_);
    detail::sentence text;
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i)
      text << "Since step " << all_numbers_[found[i].since] << ", "
           << (node_of[found[i].owner] == root_node ? std::string("work outside of ranges")
                                                    : path_of(node_of[found[i].owner], true))
           << (found[i].of_time ? " has taken " : " has moved ")
           << change_text(found[i].part, found[i].of_time) << " than before. ";
    return text;
  }

  /// `of_all`: with `[*]` in place of indices.
  std::string path_of(std::uint32_t node, bool of_all = false) const {
    constexpr int most_names = 8;
    std::string path;
    for (int i = 0; node != root_node && i < most_names; ++i) {
      profile_node const& range = traced_.nodes[node];
      std::string name = detail::name_with_index(traced_.names[range.name], range.index);
      if (of_all && range.index != no_index) name = traced_.names[range.name] + "[*]";
      path = path.empty() ? name : name + '/' + path;
      node = range.parent;
    }
    return path.empty() ? std::string(detail::outside_ranges) : path;
  }

  /// "Not separable: a, b; 12.0 MB +- 0.3 MB a step, counted in block. "
  std::string describe(traffic_group const& group, double steps) const {
    constexpr std::size_t most_named = 4;
    detail::sentence text("Not separable: ");
    for (std::size_t i = 0; i < std::min(group.owners.size(), most_named); ++i)
      text << (i == 0 ? "" : ", ") << path_of(usual_.nodes[group.owners[i]]);
    if (group.owners.size() > most_named)
      text << " and " << group.owners.size() - most_named << " more";
    return text << "; " << detail::bytes_text(group.bytes / steps) << " +- "
                << detail::bytes_text(group.plus_minus / steps)
                << " a step, counted in the range above them. ";
  }

  profile& target_;
  counter_set& set_;
  profile const& traced_;
  usual_step usual_;
  samples given_;
  sampled_steps all_;
  std::vector<std::uint32_t> all_numbers_;
  std::vector<std::uint32_t> node_here_;  // by node of the map
  std::vector<std::uint32_t> numbers_;    // of the steps that the map is aligned with
};

/// What is known of a recording without a trace.
void describe_whole(profile const& source, counter_set& set) {
  set.about = source.samples.about + detail::describe_unattributed(source) +
              describe_changes(source) + describe_energy(source);
}

}  // namespace

void attribute_samples(profile& target) {
  counter_set* const set = sampled_set(target);
  if (set != nullptr && target.traced) attribution(target, *set).run();
  if (set != nullptr && !target.traced) describe_whole(target, *set);
}

status attribute_by_map(profile& target, profile const& traced) {
  if (target.traced)
    return {errc::bad_argument,
            "the recording has a trace, which says whose work was sampled: leave --map out"};
  counter_set* const set = sampled_set(target);
  if (set == nullptr)
    return {errc::bad_argument, "the recording has no samples: record it with STRATA=live"};
  return map_attribution(target, *set, traced).run();
}

}  // namespace live
STRATA_END
