#include "account.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/steps_summary.hpp>
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

std::string limiter_name(range_limit const& limit) {
  if (limit.is_above_roof()) return std::string(to_string(limit.kind));
  if (limit.fraction() >= latency_use) return std::string(limit.roof);
  return std::string(limit.is_latency() ? to_string(limiter::latency) : not_known);
}

namespace {

/// The same of a range without ranges below it, as its limit says it in words.
std::string limiter_name_of_leaf(range_limit const& limit) {
  bool const is_of_host = limit.kind == limiter::launch || limit.kind == limiter::copies;
  return is_of_host ? limit.text : limiter_name(limit);
}

/// What explains a part of a row's own kernels.
struct row_cause {
  std::size_t finding;
  double ns;
};

class account_builder {
 public:
  account_builder(table_input const& tables, roofline_table const& roofline,
                  findings_table const& findings)
      : in_(tables),
        steps_(tables.steps),
        rows_(tables.folded),
        roofline_(roofline),
        findings_(findings),
        amounts_(rows_, steps_) {}

  period_account build() {
    made_.step_ns = steps_.usual_ns();
    made_.between_ns = steps_.between_ns;
    made_.period_ns = steps_.period_ns();
    if (!(made_.period_ns > 0.0) || rows_.empty()) return std::move(made_);
    if (!in_.source.traced) {
      add(account_kind::unknown, "not traced", account_part::none, made_.period_ns);
      made_.parts.back().tells.words = "STRATA=trace";
      return std::move(made_);
    }
    find_causes();
    find_kernels_at_roofs();
    for (std::size_t row = 0; row < smaller(rows_.size(), roofline_.own.size()); ++row)
      add_busy(row);
    close(0, steps_.period_busy_ns(), account_kind::unknown);
    add_idle();
    auto const is_none = [](account_part const& part) { return !(part.ns > 0.0); };
    made_.parts.erase(std::remove_if(made_.parts.begin(), made_.parts.end(), is_none),
                      made_.parts.end());
    std::stable_sort(
        made_.parts.begin(), made_.parts.end(), [](account_part const& a, account_part const& b) {
          return group_of(a.kind) != group_of(b.kind) ? group_of(a.kind) < group_of(b.kind)
                                                      : a.ns > b.ns;
        });
    for (account_part& part : made_.parts) {
      if (part.kind != account_kind::unknown) continue;
      part.about = what_is(part);
      part.tells = what_tells(part);
    }
    return std::move(made_);
  }

 private:
  /// Busy, idle in steps, idle between them.
  static int group_of(account_kind kind) noexcept {
    return kind == account_kind::idle ? 1 : kind == account_kind::between ? 2 : 0;
  }

  account_part& add(account_kind kind, std::string name, std::size_t row, double ns,
                    std::size_t finding = account_part::none) {
    made_.parts.push_back({kind, std::move(name), row, finding, ns, {}, {}});
    return made_.parts.back();
  }
  void add_some(account_kind kind, std::string const& name, std::size_t row, double ns,
                std::size_t finding = account_part::none) {
    if (is_finite(ns) && ns > 0.0) add(kind, name, row, ns, finding);
  }

  /// The parts from `first` on are of a whole: what overlaps in time shares it, and what they leave
  /// over is not known.
  void close(std::size_t first, double whole, account_kind rest) {
    constexpr double least_rest = 1e-9;  // of the whole: sums of doubles are off by less
    double sum = 0.0;
    for (std::size_t i = first; i < made_.parts.size(); ++i) sum += made_.parts[i].ns;
    if (sum > whole)
      for (std::size_t i = first; i < made_.parts.size(); ++i) made_.parts[i].ns *= whole / sum;
    else if (whole - sum > least_rest * whole)
      add_some(rest, std::string(not_known), account_part::none, whole - sum);
  }

  // --- busy ---

  /// By row, what the findings gain of its own kernels.
  void find_causes() {
    causes_.resize(rows_.size());
    copies_.resize(rows_.size());
    // Findings about copies cost them and what the device is idle meanwhile, which is a part of its
    // own here.
    std::vector<double> idle(rows_.size(), 0.0);
    for (idle_time const& time : steps_.idle)
      if (time.cause == idle_cause::copy) idle[time.row] += steps_.own_idle_ns(time.ns);
    for (std::size_t i = 0; i < findings_.findings.size(); ++i)
      for (finding_range const& range : findings_.findings[i].ranges) {
        if (!(range.cost_ns_per_step > 0.0) || range.row >= rows_.size()) continue;
        row_cause const cause{i, range.cost_ns_per_step};
        if (range.part == finding_part::kernels || range.part == finding_part::order)
          causes_[range.row].push_back(cause);
        else if (range.part == finding_part::copies)
          copies_[range.row].push_back({i, cause.ns - std::exchange(idle[range.row], 0.0)});
        else if (range.part == finding_part::kernels_below)
          add_below(range, i);
      }
  }
  /// A cause in a range and those below it takes the same part of each.
  void add_below(finding_range const& range, std::size_t finding) {
    std::size_t end = range.row + 1;
    while (end < rows_.size() && rows_[end].depth > rows_[range.row].depth) ++end;
    double all = 0.0;
    for (std::size_t row = range.row; row < end; ++row) all += amounts_.own_work(row).kernel_ns;
    if (!(all > 0.0)) return;
    for (std::size_t row = range.row; row < end; ++row)
      causes_[row].push_back(
          {finding, range.cost_ns_per_step * amounts_.own_work(row).kernel_ns / all});
  }

  /// Of kernels that were counted by themselves: by row and unit the time of those at a roof.
  void find_kernels_at_roofs() {
    at_roofs_.resize(rows_.size());
    names_.resize(rows_.size());
    counted_.resize(rows_.size(), false);
    std::map<std::uint32_t, std::size_t> places;  // of the ranges, by path
    for (std::size_t i = 0; i < in_.ranges.size(); ++i) places[in_.ranges[i].path_id] = i;
    for (std::size_t i = 0; i < in_.kernels.size(); ++i) {
      kernel_row const& kernel = in_.kernels[i];
      auto const place = places.find(kernel.path_id);
      if (place == places.end() || place->second >= in_.folded_rows.size()) continue;
      std::size_t const row = in_.folded_rows[place->second];
      double const ns = ns_in_step(kernel, in_.ranges[place->second], steps_);
      names_[row][kernel.short_name] += ns;
      if (in_.kernel_counters == nullptr || in_.kernel_counters->launches[i] == 0) continue;
      counted_[row] = true;
      unit_times units;
      for (std::size_t unit = 0; unit < gpu_units; ++unit)
        units[static_cast<gpu_unit>(unit)] =
            in_.kernel_counters->at(i, gpu_unit_table[unit].metric);
      double const time =
          mean_duration(kernel, steps_) * static_cast<double>(in_.kernel_counters->launches[i]);
      if (units.is_known() && units.longest_ns() >= bound_use * time)
        at_roofs_[row][std::string(units.longest_name(roofline_.memory))] += ns;
    }
  }

  void add_busy(std::size_t row) {
    range_limit const& own = roofline_.own[row];
    mean_work const work = amounts_.own_work(row);
    bool const is_leaf = rows_[row].self.kernels == rows_[row].total.kernels;
    std::string const name =
        is_leaf ? limiter_name_of_leaf(roofline_.limits[row]) : limiter_name(own);
    double left = explain(causes_[row], name, row, work.kernel_ns);
    // A cause that gains most of what lies between the kernels and their limit explains them.
    double const gained = work.kernel_ns - left;
    double const distance = work.kernel_ns - smaller(own.roof_ns, work.kernel_ns);
    bool const is_at_roof =
        !own.is_above_roof() && !own.roof.empty() && own.fraction() >= bound_use;
    if (is_at_roof) {
      add_some(account_kind::at_roof, name, row, left);
    } else if (gained > 0.0 && gained >= 0.5 * distance) {
      add_some(account_kind::explained, name, row, left, largest(causes_[row]).finding);
    } else if (name == to_string(limiter::launch) || name == to_string(limiter::copies)) {
      add_some(account_kind::explained, name, row, left);
    } else {
      for (auto const& [unit, ns] : at_roofs_[row]) {
        double const part = smaller(ns, left);
        add_some(account_kind::at_roof, unit, row, part);
        left -= part;
      }
      add_some(account_kind::unknown, name, row, left);
    }
    std::string const copies(to_string(limiter::copies));
    double const copied = explain(copies_[row], copies, row, work.copy_ns);
    add_some(account_kind::explained, copies, row, copied);
  }
  /// Adds what causes take of a time. Returns: what is left of it.
  double explain(std::vector<row_cause> const& causes, std::string const& name, std::size_t row,
                 double left) {
    for (row_cause const& cause : causes) {
      double const part = smaller(cause.ns, left);
      add_some(account_kind::explained, name, row, part, cause.finding);
      left -= larger(0.0, part);
    }
    return left;
  }
  static row_cause largest(std::vector<row_cause> const& causes) {
    return *std::max_element(causes.begin(), causes.end(),
                             [](row_cause const& a, row_cause const& b) { return a.ns < b.ns; });
  }

  // --- idle ---

  void add_idle() {
    bool const works = steps_.period_busy_ns() > 0.0;
    double const whole = steps_.period_idle_ns();
    std::size_t const first = made_.parts.size();
    if (!works) {
      add_some(account_kind::idle, "no work", account_part::none, whole);
      return;
    }
    for (idle_time const& time : steps_.idle)
      add_some(account_kind::idle, std::string(to_string(time.cause)), time.row,
               steps_.own_idle_ns(time.ns), cause_of(time, false));
    for (idle_time const& time : steps_.idle_between)
      add_some(account_kind::between, std::string(to_string(time.cause)), time.row, time.ns,
               cause_of(time, true));
    if (!steps_.from_steps)
      add_some(account_kind::idle, "before the first work and after the last", account_part::none,
               steps_.mean_ns - steps_.active_ns);
    close(first, whole, account_kind::idle);
  }
  /// The finding of an idle time.
  std::size_t cause_of(idle_time const& time, bool between) const {
    constexpr finding_part parts[] = {finding_part::launches, finding_part::host_work,
                                      finding_part::waits,    finding_part::allocations,
                                      finding_part::copies,   finding_part::none};
    finding_part const wanted = parts[static_cast<std::size_t>(time.cause)];
    if (wanted == finding_part::none) return account_part::none;
    for (std::size_t i = 0; i < findings_.findings.size(); ++i)
      for (finding_range const& range : findings_.findings[i].ranges)
        if (range.part == wanted && range.row == time.row && range.between == between) return i;
    return account_part::none;
  }

  // --- unknown ---

  /// The longest kernel of a row itself; empty where none is known.
  std::string longest_kernel(std::size_t row) const {
    std::map<std::string_view, double> const& names = names_[row];
    auto const longest =
        std::max_element(names.begin(), names.end(),
                         [](auto const& a, auto const& b) { return a.second < b.second; });
    return longest == names.end() ? std::string() : std::string(longest->first);
  }
  /// Of the work outside ranges, where most of it is of one thread that does not drive the steps:
  /// "launched by pt_autograd_0, which is in no range (PyTorch's backward pass: ...)".
  std::string launched_elsewhere() const {
    profile const& source = in_.source;
    if (source.steps.empty()) return {};
    std::map<std::uint32_t, double> threads;
    double all = 0.0;
    launch_index const launches(source);
    launches.visit_work([&](auto const& record, std::uint32_t launch) {
      if (record.node != root_node) return;
      auto const ns = static_cast<double>(elapsed(record.begin, record.end));
      threads[source.launches[launch].thread] += ns;
      all += ns;
    });
    for (auto const& [thread, ns] : threads)
      if (thread != source.steps.back().thread && 2.0 * ns > all) return in_no_range(thread);
    return {};
  }
  std::string in_no_range(std::uint32_t thread) const {
    std::string name = "thread " + std::to_string(thread);
    for (profile_thread const& known : in_.source.threads)
      if (known.ordinal == thread && !known.name.empty()) name = known.name;
    std::string const text = "launched by " + shortened(name, 30, 0) + ", which is in no range";
    bool const is_autograd = begins_with(name, "pt_autograd");
    if (!is_autograd && in_.source.environment.command.find("python") == std::string::npos)
      return text + ": mark what it does, or the call that waits for it";
    return text + (is_autograd ? " (PyTorch's backward pass" : " (in PyTorch the backward pass") +
           ": put a range around loss.backward())";
  }
  /// "kernel softmax; latency: long scoreboard; the busiest unit, L1, is at 53 % of its peak".
  std::string what_is(account_part const& part) const {
    constexpr std::size_t widest = 60;  // columns of a name
    if (part.row == account_part::none) return {};
    std::string text;
    if (part.row == 0) text = launched_elsewhere();
    std::string const kernel = longest_kernel(part.row);
    if (!kernel.empty())
      text += (text.empty() ? "" : "; ") +
              std::string(names_[part.row].size() > 1 ? "longest kernel " : "kernel ") +
              shortened(kernel, widest, 0);
    bool const is_leaf = rows_[part.row].self.kernels == rows_[part.row].total.kernels;
    range_limit const& said = roofline_.limits[part.row];
    bool const has_stall = is_leaf && said.kind == limiter::latency && !said.stall.empty();
    range_limit const& own = roofline_.own[part.row];
    if (has_stall)
      add_part(text, said.text, "; ");
    else if (part.name != own.roof)
      add_part(text, part.name == not_known ? "limiter not counted" : part.name, "; ");
    if (!own.is_above_roof() && !own.roof.empty() && own.counted)
      add_part(text, "the busiest unit, " + std::string(own.roof) + ", is at " + own.use_text(),
               "; ");
    return text;
  }
  /// What would tell why a busy part takes so long.
  next_look what_tells(account_part const& part) const {
    next_look look;
    if (part.row == account_part::none) {
      look.words = steps_.stepless_busy_ns + steps_.between_busy_ns > 0.0
                       ? "STRATA_STEP() around that work"
                       : "larger buffers= and log=";
      return look;
    }
    if (part.name == to_string(limiter::above_roof)) {
      look.words = "other units of flops() and bytes(), or fixed clocks";
      return look;
    }
    range_limit const& own = roofline_.own[part.row];
    counter_table const* const counters = in_.gpu_counters();
    bool const asked = counters != nullptr && counters->find("issue_ns") != counter_table::none;
    look.without_graphs = asked && !in_.source.counters().left_out.empty();
    look.counters = "findings";
    if (look.without_graphs || !own.units.are_whole()) return look;
    bool const is_of_several = names_[part.row].size() > 1 && !counted_[part.row];
    if (is_of_several) look.kernels = part.row == 0 ? "all" : std::string(rows_[part.row].name);
    std::string const kernel = longest_kernel(part.row);
    if (is_of_several || kernel.empty()) return look;
    look.counters = {};
    look.kernel = kernel.substr(0, kernel.find('<'));  // ncu's name has no template arguments
    return look;
  }

  table_input const& in_;
  steps_summary const& steps_;
  vec<range_row> const& rows_;
  roofline_table const& roofline_;
  findings_table const& findings_;
  step_amounts amounts_;
  std::vector<std::vector<row_cause>> causes_;             ///< by row, of its own kernels
  std::vector<std::vector<row_cause>> copies_;             ///< by row, of its own copies
  std::vector<std::map<std::string, double>> at_roofs_;    ///< by row and unit
  std::vector<std::map<std::string_view, double>> names_;  ///< of kernels, by row
  std::vector<bool> counted_;  ///< by row: kernels of it were counted by themselves
  period_account made_;
};

}  // namespace
}  // namespace detail

std::string next_look::text() const {
  if (!words.empty()) return std::string(words);
  if (!kernel.empty()) return "ncu --set full --kernel-name " + detail::shell_word(kernel);
  std::string text = "STRATA=trace,counters=" + std::string(counters);
  if (!kernels.empty()) text += ",kernels=" + detail::shell_word(kernels);
  return without_graphs ? text + " with CUDA graphs switched off" : text;
}

std::string variable_without_graphs(profile const& source) {
  bool const is_llama = source.environment.command.find("llama") != std::string::npos;
  return is_llama ? "GGML_CUDA_DISABLE_GRAPHS=1" : "";
}

period_account make_account(table_input const& tables, roofline_table const& roofline,
                            findings_table const& findings) {
  return detail::account_builder(tables, roofline, findings).build();
}

STRATA_END
