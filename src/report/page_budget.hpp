#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_BUDGET_HPP
#define STRATA_REPORT_PAGE_BUDGET_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/step_amounts.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../analyse/roofline.hpp"
#include "report_input.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The first screen of report.html: what a mean step's time goes to, and how long each step took.

STRATA_BEGIN
namespace detail {

/// What limits the kernels of a range: a unit ("HBM"), "latency", "launch", "copies", "above the
/// roof" or "not known". Of `roofline_table::own`, which has no kind.
inline std::string limiter_name(range_limit const& limit) {
  if (limit.is_above_roof()) return std::string(to_string(limit.kind));
  if (limit.fraction() >= latency_use) return std::string(limit.roof);
  return limit.is_latency() ? std::string(to_string(limiter::latency)) : "not known";
}

/// The same of a range without ranges below it, as its limit says it in words.
inline std::string limiter_name_of_leaf(range_limit const& limit) {
  bool const is_of_host = limit.kind == limiter::launch || limit.kind == limiter::copies;
  return is_of_host ? limit.text : limiter_name(limit);
}

/// Writes the mean step as a budget: GPU time by what limits it and idle time by its cause, each
/// with the range that it is of. They add up to `gpu_busy_ns` of the steps, and to `gpu_idle_ns` as
/// it is without recording.
class page_budget {
 public:
  /// `places`: on the page, by row of the folded tree.
  page_budget(json_writer& json, report_input const& input, vec<std::uint32_t> const& places)
      : json_(json), input_(input), places_(places) {}

  void write() {
    json_.line();
    json_.object("budget");
    find_busy();
    write_parts("busy", input_.steps.gpu_busy_ns);
    find_idle();
    write_parts("idle", input_.steps.own_idle_ns(input_.steps.gpu_idle_ns));
    json_.end_object();
    write_steps();
  }

 private:
  struct part {
    std::string name;
    std::uint32_t position;  ///< on the page
    double ns;
  };
  /// Time of which nothing is known is a part of its own from this part of the whole on.
  static constexpr double least_rest = 0.002;
  static constexpr std::size_t most_parts = 200;
  static constexpr std::size_t most_groups = 300;

  void add(std::string const& name, std::size_t row, double ns) {
    if (!(ns > 0.0) || !is_finite(ns)) return;
    std::uint32_t const position = row < places_.size() ? places_[row] : 0;
    std::size_t& number = positions_[name + '\n' + std::to_string(position)];
    if (number == 0) {
      parts_.push_back({name, position, 0.0});
      number = parts_.size();
    }
    parts_[number - 1].ns += ns;
  }

  void find_busy() {
    roofline_table const& roofline = input_.roofline;
    step_amounts const amounts(input_.folded, input_.steps);
    for (std::size_t i = 0; i < smaller(input_.folded.size(), roofline.own.size()); ++i) {
      range_row const& row = input_.folded[i];
      bool const leaf = row.self.kernels == row.total.kernels;
      add(leaf ? limiter_name_of_leaf(roofline.limits[i]) : limiter_name(roofline.own[i]), i,
          amounts.own_work(i).kernel_ns);
      double const copies = static_cast<double>(row.self.copy_ns);
      add("copies", i, input_.steps.per_step(copies, row.step_self_share));
    }
  }

  void find_idle() {
    for (idle_time const& time : input_.steps.idle)
      add(std::string(to_string(time.cause)), time.row, input_.steps.own_idle_ns(time.ns));
  }

  /// Parts that overlap in time share it; what they leave over is not known.
  void write_parts(char const* key, double whole) {
    double sum = 0.0;
    for (part const& shown : parts_) sum += shown.ns;
    double const factor = sum > whole ? whole / sum : 1.0;
    if (whole - sum > least_rest * input_.steps.mean_ns)
      add("not known", input_.folded.size(), whole - sum);
    parts_.sort([](part const& a, part const& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      return a.name != b.name ? a.name < b.name : a.position < b.position;
    });
    json_.array(key);  // what, range (-1: of many), ns
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      json_.text({}, parts_[i].name);
      if (i < most_parts)
        json_.integer({}, parts_[i].position);
      else
        json_.integer({}, -1);
      json_.number({}, parts_[i].ns * factor);
    }
    json_.end_array();
    parts_.clear();
    positions_.clear();
  }

  /// The length of each step; of many, the shortest and the longest of neighbours.
  void write_steps() {
    vec<step_record> const& steps = input_.source.steps;
    std::size_t const together = steps.size() / most_groups + 1;
    json_.line();
    json_.array("steps");  // the first of a group, how many, the shortest, the longest
    for (std::size_t i = 0; i < steps.size(); i += together) {
      std::size_t const end = smaller(steps.size(), i + together);
      std::int64_t shortest = steps[i].end - steps[i].begin;
      std::int64_t longest = shortest;
      for (std::size_t step = i; step < end; ++step) {
        shortest = smaller(shortest, steps[step].end - steps[step].begin);
        longest = larger(longest, steps[step].end - steps[step].begin);
      }
      json_.integer({}, steps[i].step);
      json_.integer({}, end - i);
      json_.integer({}, shortest);
      json_.integer({}, longest);
    }
    json_.end_array();
  }

  json_writer& json_;
  report_input const& input_;
  vec<std::uint32_t> const& places_;
  vec<part> parts_;
  flat_map<std::string, std::size_t> positions_;  ///< 1 + position in parts_, by name and place
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_BUDGET_HPP
