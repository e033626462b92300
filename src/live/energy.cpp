#include "energy.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/samples.hpp>
#include "median.hpp"
#include "range_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

STRATA_BEGIN
namespace live {
namespace {

/// How far the time of an update may be from the known one, and how late the counter may be.
constexpr std::int64_t updates_apart_ns = 20'000'000;

/// An update that took so many times as long as those around it is late: the counter or its reader
/// stood still. Chosen. Of long runs the first updates are rarer than the last ones.
constexpr std::int64_t late_by = 4;
constexpr std::ptrdiff_t updates_around = 4;  // before it, and behind it

/// Powers of ranges are about equal, as far as the updates do not tell them apart, and the power of
/// a device drifts by some percent with its temperature and clock. No GPU uses more than the most,
/// in J a ns.
constexpr expected_rates expected_powers{0.5, 0.05, 2000e-9};

/// Readings in order: a later one has no less energy.
std::vector<energy_reading> ordered(vec<energy_reading> const& all) {
  std::vector<energy_reading> made;
  for (energy_reading const& each : all)
    if (made.empty() || (each.at > made.back().at && each.millijoules > made.back().millijoules))
      made.push_back(each);
  return made;
}

std::string joules_text(double joules) { return detail::fixed_string(joules, 1) + " J"; }

/// "Energy: 412.3 J in 3.20 s (129 W)"
std::string whole_text(double joules, double seconds) {
  return "Energy: " + joules_text(joules) + " in " + detail::time_text(1e9 * seconds) + " (" +
         detail::fixed_string(joules / seconds, 0) + " W)";
}

double joules(energy_reading const& from, energy_reading const& to) {
  return 1e-3 * static_cast<double>(to.millijoules - from.millijoules);
}

bool is_late(std::vector<energy_reading> const& readings, std::size_t update) {
  auto const end = static_cast<std::ptrdiff_t>(readings.size());
  auto const place = static_cast<std::ptrdiff_t>(update);
  std::vector<std::int64_t> around;
  for (auto i = std::max<std::ptrdiff_t>(1, place - updates_around);
       i < std::min(end, place + updates_around + 1); ++i)
    around.push_back(readings[i].at - readings[i - 1].at);
  return readings[update].at - readings[update - 1].at > late_by * median(around);
}

/// What is between two updates, where all of it was recorded and it did not come late.
samples between_updates(std::vector<energy_reading> const& readings,
                        std::vector<sample_span> const& recorded, energy_split& all) {
  samples made;
  made.counters = 1;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    sample_span const time{readings[i - 1].at, readings[i].at};
    auto const behind =
        std::upper_bound(recorded.begin(), recorded.end(), time.begin,
                         [](std::int64_t t, sample_span const& each) { return t < each.begin; });
    if (!recorded.empty() && (behind == recorded.begin() || (behind - 1)->end < time.end)) continue;
    double const used = joules(readings[i - 1], readings[i]);
    all.total += used;
    all.seconds += 1e-9 * static_cast<double>(time.end - time.begin);
    if (is_late(readings, i)) {
      all.late += used;
      continue;
    }
    made.times.push_back(time);
    made.values.push_back(used);
  }
  return made;
}

/// The work of the owner behind all others: the times in which the others have none.
void add_pauses(std::vector<sampled_work>& work, samples const& given, std::uint32_t owner) {
  auto const is_before = [](sampled_work const& a, sampled_work const& b) {
    return a.begin < b.begin;
  };
  if (!std::is_sorted(work.begin(), work.end(), is_before))
    std::sort(work.begin(), work.end(), is_before);
  std::int64_t done = given.times.front().begin;
  std::vector<sampled_work> pauses;
  for (sampled_work const& each : work) {
    if (each.begin > done) pauses.push_back({done, each.begin, owner, 0});
    done = std::max(done, each.end);
  }
  if (given.times.back().end > done) pauses.push_back({done, given.times.back().end, owner, 0});
  std::vector<sampled_work> all;
  std::merge(work.begin(), work.end(), pauses.begin(), pauses.end(), std::back_inserter(all),
             is_before);
  work = std::move(all);
}

}  // namespace

energy_split split_energy(std::vector<energy_reading> const& readings,
                          std::vector<sampled_work> const& work,
                          std::vector<std::uint32_t> const& kind_of,
                          std::vector<sample_span> const& recorded) {
  energy_split made;
  samples const given = between_updates(readings, recorded, made);
  made.updates = given.size();
  std::size_t const owners = kind_of.size();
  for (std::vector<double>* const list :
       {&made.values, &made.errors, &made.covered_ns, &made.work_ns})
    list->assign(owners, 0.0);
  std::vector<sample_span> times;
  for (sampled_work const& each : work) times.push_back({each.begin, each.end});
  if (!can_run_together(given.times, times)) made.updates = 0;  // such records cannot be
  if (made.updates < least_updates) return made;

  std::uint32_t idle = 0;
  for (std::uint32_t const kind : kind_of) idle = std::max(idle, kind + 1);
  std::vector<sampled_work> by_kind;
  for (sampled_work const& each : work) {
    made.work_ns[each.owner] +=
        static_cast<double>(std::max(each.end, each.begin + 1) - each.begin);
    by_kind.push_back({each.begin, each.end, kind_of[each.owner], 0});
  }
  add_pauses(by_kind, given, idle);
  sample_split const split =
      split_samples(given, std::move(by_kind), idle + 1, updates_apart_ns, {}, expected_powers);
  made.idle = split.value(idle, 0) + split.unexplained[0];

  // An owner has the part of its kind's energy that it has of its time.
  for (std::size_t owner = 0; owner < owners; ++owner) {
    std::uint32_t const kind = kind_of[owner];
    double const part = split.work_ns[kind] > 0.0 ? made.work_ns[owner] / split.work_ns[kind] : 0.0;
    made.values[owner] = part * split.value(kind, 0);
    made.covered_ns[owner] = part * split.covered_ns[kind];
    // So that the squares of a kind's owners, which are off together, add up to its own.
    made.errors[owner] = std::sqrt(part) * split.error(kind, 0);
  }
  return made;
}

std::string add_energy(profile const& source, counter_set& set,
                       std::vector<sampled_work> const& work,
                       std::vector<std::uint32_t> const& nodes,
                       std::vector<sample_span> const& recorded) {
  using names = detail::sampled_names;
  if (source.energy.empty()) return {};
  energy_split const made =
      split_energy(ordered(source.energy), work, range_kinds(source, nodes), recorded);
  if (made.updates < least_updates) {
    detail::sentence why("its counter moved ");
    why << made.updates << " times while work was recorded: " << least_updates
        << " are needed, a second or more";
    if (set.metrics.find(names::energy) == nullptr)
      set.metrics.absent.push_back({std::string(names::energy), why});
    return describe_energy(source);
  }
  auto const counter = static_cast<std::uint32_t>(set.names.size());
  set.names.emplace_back(names::energy_counter);
  set.names.push_back(names::variance(names::energy_counter));
  if (set.metrics.find(names::energy) == nullptr) {
    resolved_metric metric;
    metric.key = std::string(names::energy);
    metric.formula = std::string(names::energy_counter);
    metric.unit = "J";
    metric.counters.push_back(metric.formula);
    set.metrics.metrics.push_back(std::move(metric));
  }
  for (std::size_t owner = 0; owner < nodes.size(); ++owner) {
    if (!(made.covered_ns[owner] > 0.0)) continue;
    double const whole = made.work_ns[owner] / made.covered_ns[owner];
    double const deviation = whole * made.errors[owner] / names::deviations;
    set.values.push_back({nodes[owner], counter, whole * made.values[owner]});
    set.values.push_back({nodes[owner], counter + 1, deviation * deviation});
  }
  std::string const late =
      made.late > 0.0 ? " + " + joules_text(made.late) + " that came too late to be of a range"
                      : "";
  return whole_text(made.total, made.seconds) + " = " +
         joules_text(made.total - made.late - made.idle) + " while work ran + " +
         joules_text(made.idle) + " while none did" + late + ", by " +
         std::to_string(made.updates) + " updates of its counter. ";
}

std::string describe_energy(profile const& source) {
  std::vector<energy_reading> const all = ordered(source.energy);
  if (all.size() < 2) return {};
  double const seconds = 1e-9 * static_cast<double>(all.back().at - all.front().at);
  return whole_text(joules(all.front(), all.back()), seconds) + ". ";
}

}  // namespace live
STRATA_END
