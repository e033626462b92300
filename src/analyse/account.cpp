#include "account.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/launch_index.hpp>
#include "kernel_amounts.hpp"
#include "kernel_class.hpp"
#include "kernel_look.hpp"
#include "kernel_names.hpp"
#include "rule_context.hpp"
#include "speed_of_light.hpp"
#include "stalls.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
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

/// "launch" or "copies" where these limit a range without ranges below it; else empty.
std::string limiter_of_host(range_limit const& limit) {
  bool const is_of_host = limit.kind == limiter::launch || limit.kind == limiter::copies;
  return is_of_host ? limit.text : std::string();
}

/// What explains a part of a row's own kernels.
struct row_cause {
  std::size_t finding;
  double ns;
  std::string kernel = {};  ///< the kernel it concerns; "": all of them
};

/// Kernels of a row that were counted together: one of them, or what is left of the row.
struct counted_piece {
  range_limit const* own;   ///< of these kernels
  std::string_view stall;   ///< what their warps wait for most; "" where that was not counted
  double stall_part;        ///< of the warps' time
  double ns;                ///< of a step
  std::string_view kernel;  ///< the one that was counted by itself; "" is all others of the row
  bool is_single;           ///< nearly all of its time is one kernel's, for which the counts stand
};

/// What is known of the kernels of a row by their names and times.
struct kernels_of_row {
  std::map<std::string_view, double> names;  ///< of all kernels of the row, with their times
  double ns = 0.0;
  double longest_ns = 0.0;
  double tensor_ns = 0.0;  ///< of those that may work on tensor cores
  double ends_ns = 0.0;    ///< that they take whatever they do
  /// Of kernels that leave half of the SMs without a block, without `ends_ns` and what findings of
  /// the row explain.
  double few_blocks_ns = 0.0;
};

class account_builder {
 public:
  account_builder(table_input const& tables, step_analysis const& steps,
                  roofline_table const& roofline, findings_table const& findings,
                  kernels_apart const* by_kernel)
      : in_(tables),
        steps_(steps),
        rows_(tables.folded),
        roofline_(roofline),
        findings_(findings),
        by_kernel_(by_kernel),
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
    if (lost_all_times(in_.source, steps_)) {
      add(account_kind::unknown, "times lost", account_part::none, made_.period_ns);
      return std::move(made_);
    }
    find_causes();
    find_kernels();
    find_pieces();
    add_busy();
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
    made_.parts.push_back({kind, std::move(name), row, finding, ns, {}, false, {}, {}});
    return made_.parts.back();
  }
  void add_some(account_kind kind, std::string const& name, std::size_t row, double ns,
                std::size_t finding = account_part::none) {
    if (is_finite(ns) && ns > 0.0) add(kind, name, row, ns, finding);
  }

  /// The parts from `first` on are of a whole: what overlaps in time shares it. Returns: what they
  /// have of it.
  double share_out(std::size_t first, double whole) {
    double sum = 0.0;
    for (std::size_t i = first; i < made_.parts.size(); ++i) sum += made_.parts[i].ns;
    if (sum <= whole) return sum;
    for (std::size_t i = first; i < made_.parts.size(); ++i) made_.parts[i].ns *= whole / sum;
    return whole;
  }
  /// The same, where what they leave over is not known.
  void close(std::size_t first, double whole, account_kind rest) {
    constexpr double least_rest = 1e-9;  // of the whole: sums of doubles are off by less
    double const left = whole - share_out(first, whole);
    if (left > least_rest * whole) add_some(rest, std::string(not_known), account_part::none, left);
  }

  // --- busy ---

  /// By row, what the findings gain of its own kernels.
  void find_causes() {
    causes_.resize(rows_.size());
    copies_.resize(rows_.size());
    copies_between_.resize(rows_.size());
    hidden_.resize(rows_.size(), 0.0);
    copies_alone_ns_ = steps_.period_copies_alone_ns();
    std::vector<double> of_host(rows_.size(), 0.0);
    for (copy_time const& time : steps_.copies) {
      hidden_[time.row] += time.ns - time.alone_ns;
      of_host[time.row] += time.alone_ns;
    }
    for (device_copy_time const& time : steps_.device_copies)
      hidden_[time.row] += time.ns - time.alone_ns;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      copies_alone_ns_ += std::max(0.0, copies_alone_ns(row) - of_host[row]);
    // Findings about copies cost the idle time meanwhile too, which is a part of its own.
    for (std::size_t i = 0; i < findings_.findings.size(); ++i)
      for (finding_range const& range : findings_.findings[i].ranges) {
        // A row may have findings of several copies.
        row_cause const of_idle{i, range.idle_ns};
        row_cause& known =
            idle_.try_emplace({range.part, range.row, range.between}, of_idle).first->second;
        if (of_idle.ns > known.ns) known = of_idle;
        if (!(range.cost_ns_per_step > 0.0) || range.row >= rows_.size()) continue;
        row_cause const cause{i, range.cost_ns_per_step, range.kernel};
        if (range.part == finding_part::kernels || range.part == finding_part::order)
          causes_[range.row].push_back(cause);
        else if (range.part == finding_part::copies)
          (range.between ? copies_between_ : copies_)[range.row].push_back(
              {i, cause.ns - range.idle_ns});
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

  /// The names of kernels, and what these say of those that were not counted one by one.
  void find_kernels() {
    kernels_.resize(rows_.size());
    std::map<std::uint32_t, std::size_t> places;  // of the ranges, by path
    for (std::size_t i = 0; i < in_.ranges.size(); ++i) places[in_.ranges[i].path_id] = i;
    double const shortest = shortest_kernel_ns();
    // Of the SMs; chosen. The rule few-blocks, which knows what else may run, says more from 0.75.
    constexpr double few = 0.5;
    for (std::size_t i = 0; i < in_.kernels.size(); ++i) {
      kernel_row const& kernel = in_.kernels[i];
      auto const place = places.find(kernel.path_id);
      if (place == places.end() || place->second >= in_.folded_rows.size()) continue;
      kernels_of_row& all = kernels_[in_.folded_rows[place->second]];
      double const ns = ns_in_step(kernel, in_.ranges[place->second], steps_);
      all.longest_ns = std::max(all.longest_ns, all.names[kernel.short_name] += ns);
      all.ns += ns;
      double const mean = mean_duration(kernel, steps_);
      if (!(mean > 0.0)) continue;
      kernel_class const kind = class_of(kernel);
      bool const may_multiply = kind == kernel_class::product || kind == kernel_class::attention ||
                                kind == kernel_class::unknown;
      if (may_multiply) all.tensor_ns += ns;
      double const ends = ns * std::min(1.0, shortest / mean);
      all.ends_ns += ends;
      bool const has_few = kernel.gpu_utilisation <= few * kernel.sm_utilisation;
      if (has_few && !kernel.collective) all.few_blocks_ns += ns - ends;
    }
    for (std::size_t row = 0; row < rows_.size(); ++row)
      for (row_cause const& cause : causes_[row])
        kernels_[row].few_blocks_ns = std::max(0.0, kernels_[row].few_blocks_ns - cause.ns);
  }
  /// What the shortest kernel of the run takes, which hardly does anything.
  double shortest_kernel_ns() const {
    // Where all do more. Source: operators of 4 to 16 blocks in a graph of PyTorch take 1.4 us
    // each, those of a program in C++ 0.9 to 1.2 us (H200, CUDA 13.0).
    double shortest = 1'000.0;
    for (kernel_row const& kernel : in_.kernels)
      if (double const mean = mean_duration(kernel, steps_); mean > 0.0)
        shortest = std::min(shortest, mean);
    return shortest;
  }

  void find_pieces() {
    pieces_.resize(rows_.size());
    if (by_kernel_ != nullptr) {
      findings_input const& apart = by_kernel_->input;
      step_amounts const amounts(apart.rows, apart.steps);
      for (std::size_t i = 0; i < std::min(apart.rows.size(), apart.roofline.own.size()); ++i)
        add_piece(by_kernel_->ranges[i],
                  {&limit_of(apart.rows, apart.roofline, i), apart.counters, i}, amounts,
                  by_kernel_->kernels[i]);
    }
    // Where the counts of one of its kernels contradict its time, those of the range count, if it
    // has some that do not.
    auto const is_above = [](counted_piece const& piece) { return piece.own->is_above_roof(); };
    for (std::size_t row = 0; row < std::min(rows_.size(), roofline_.own.size()); ++row) {
      std::vector<counted_piece>& all = pieces_[row];
      range_limit const& whole = limit_of(rows_, roofline_, row);
      bool const is_better =
          whole.counted && !whole.is_above_roof() && std::any_of(all.begin(), all.end(), is_above);
      if (by_kernel_ != nullptr && !is_better) continue;
      all.clear();
      add_piece(row, {&whole, gpu_counters(in_), row}, amounts_, {});
    }
    for (std::vector<counted_piece>& all : pieces_) {
      double sum = 0.0;
      for (counted_piece const& piece : all) sum += piece.ns;
      if (!(sum > 0.0)) continue;
      double const whole =
          amounts_.own_work(static_cast<std::size_t>(&all - pieces_.data())).kernel_ns;
      for (counted_piece& piece : all) piece.ns *= whole / sum;
    }
  }
  /// What limits the own kernels of a row: where it has all of the kernels, what tables show.
  static range_limit const& limit_of(vec<range_row> const& rows, roofline_table const& roofline,
                                     std::size_t row) {
    return rows[row].self.kernels == rows[row].total.kernels ? roofline.limits[row]
                                                             : roofline.own[row];
  }
  /// A row of a tree whose kernels were counted.
  struct counted_row {
    range_limit const* own;
    counter_table const* counters;
    std::size_t row;
  };
  void add_piece(std::size_t row, counted_row const& counted, step_amounts const& amounts,
                 std::string_view kernel) {
    double const ns = amounts.own_work(counted.row).kernel_ns;
    if (!(ns > 0.0)) return;
    kernels_of_row const& all = kernels_[row];
    bool const is_single = !kernel.empty() || all.longest_ns >= stands_for_all * all.ns;
    stall_share const most = longest_stall(counted.counters, counted.row, counter_scope::self);
    bool const is_told = most.stall != nullptr && most.part >= most.uncounted &&
                         is_timed_work(counted.counters, counted.row, counter_scope::self);
    pieces_[row].push_back({counted.own, is_told ? most.stall->name : std::string_view{},
                            is_told ? most.part : 0.0, ns, kernel, is_single});
  }

  /// Kernels share what copies that run alone leave them: at the same time as these none runs.
  void add_busy() {
    for (std::size_t row = 0; row < rows_.size(); ++row) add_copies(row);
    add_copies_between();
    double const copies = share_out(0, std::min(copies_alone_ns_, steps_.period_busy_ns()));
    std::size_t const first = made_.parts.size();
    for (std::size_t row = 0; row < rows_.size(); ++row) add_kernels(row);
    close(first, std::max(0.0, steps_.period_busy_ns() - copies), account_kind::unknown);
  }
  /// Of a row's own copies, without those at the same time as kernels.
  double copies_alone_ns(std::size_t row) const {
    return std::max(0.0, amounts_.own_work(row).copy_ns - hidden_[row]);
  }
  void add_copies(std::size_t row) {
    std::string const copies(to_string(limiter::copies));
    double const copied = explain(copies_[row], copies, row, copies_alone_ns(row));
    add_some(account_kind::explained, copies, row, copied);
  }
  void add_kernels(std::size_t row) {
    bool const is_leaf = rows_[row].self.kernels == rows_[row].total.kernels;
    mean_work const work = amounts_.own_work(row);
    std::string const host =
        is_leaf && row < roofline_.limits.size() ? limiter_of_host(roofline_.limits[row]) : "";
    double unknown = 0.0;
    double longest = 0.0;
    for (counted_piece const& piece : pieces_[row]) {
      double const left = add_piece_of(row, piece, host, work.kernel_ns);
      unknown += left;
      if (!(left > longest)) continue;
      longest = left;
      unknown_[row] = &piece;
    }
    if (unknown > 0.0)
      add_some(account_kind::unknown, limiter_name(*unknown_[row]->own), row, unknown);
  }
  /// Adds what is known of kernels that were counted together. `host`: what limits their range
  /// where that is no unit. Returns: what is left of their time.
  double add_piece_of(std::size_t row, counted_piece const& piece, std::string const& host,
                      double of_row) {
    range_limit const& own = *piece.own;
    std::string const name = host.empty() ? limiter_name(own) : host;
    std::vector<row_cause> causes;
    for (row_cause const& cause : causes_[row])
      if (cause.kernel.empty() || !has_piece(row, cause.kernel))
        causes.push_back({cause.finding, cause.ns * piece.ns / of_row});
      else if (cause.kernel == piece.kernel)
        causes.push_back(cause);
    std::size_t const first = made_.parts.size();
    double left = explain(causes, name, row, piece.ns);
    // A cause that gains most of what lies between the kernels and their limit explains them.
    double const gained = piece.ns - left;
    double const distance = piece.ns - std::min(own.roof_ns, piece.ns);
    double const use = own.is_above_roof() || own.roof.empty() ? 0.0 : own.fraction();
    if (use >= bound_use) {
      add_some(account_kind::at_roof, limiter_name(own), row, left);
      return 0.0;
    }
    if (gained > 0.0 && gained >= 0.5 * distance) {
      std::size_t const found = largest(causes).finding;
      add_some(account_kind::explained, name, row, left, found);
      for (std::size_t i = first; i < made_.parts.size(); ++i)
        made_.parts[i].has_rest = made_.parts[i].finding == found;
      return 0.0;
    }
    if (!host.empty()) {
      add_some(account_kind::explained, name, row, left);
      return 0.0;
    }
    left -= add_needed(row, piece, left);
    constexpr double most_common = 0.25;  // of the warps' time; chosen: of several kernels
    // What no unit needs of one kernel's time its warps wait for.
    if (piece.is_single && !piece.stall.empty()) return explain_by_stall(row, piece, left);
    left -= add_of_several(row, piece, kernel_ends, &kernels_of_row::ends_ns, left);
    left -= add_of_several(row, piece, with_few_blocks, &kernels_of_row::few_blocks_ns, left);
    // The kernels of a graph cannot be counted apart.
    bool const stands = piece.stall_part >= most_common && !own.is_above_roof() &&
                        launches_graphs(rows_[row], steps_);
    return stands ? explain_by_stall(row, piece, left) : left;
  }
  /// Returns: 0, what is left of the time.
  double explain_by_stall(std::size_t row, counted_piece const& piece, double left) {
    if (left > 0.0)
      add(account_kind::explained, std::string(to_string(limiter::latency)), row, left).stall =
          piece.stall;
    return 0.0;
  }
  /// Copies that no step launched are no work of their range in a step.
  void add_copies_between() {
    std::string const copies(to_string(limiter::copies));
    for (copy_time const& time : steps_.copies_between) {
      double const left =
          explain(std::exchange(copies_between_[time.row], {}), copies, time.row, time.alone_ns);
      add_some(account_kind::explained, copies, time.row, left);
    }
  }
  bool has_piece(std::size_t row, std::string const& kernel) const {
    return std::any_of(pieces_[row].begin(), pieces_[row].end(),
                       [&](counted_piece const& piece) { return piece.kernel == kernel; });
  }
  /// What the limiter needs at its peak, where it is a unit; of several kernels also what tensor
  /// cores need of those that may use them. Returns: what was added of the time.
  double add_needed(std::size_t row, counted_piece const& piece, double left) {
    range_limit const& own = *piece.own;
    if (own.is_above_roof()) return 0.0;
    if (own.fraction() >= latency_use && !own.roof.empty()) {
      double const needed = std::min(left, piece.ns * own.fraction());
      add_some(account_kind::at_roof, std::string(own.roof), row, needed);
      return needed;
    }
    double const products = std::min(kernels_[row].tensor_ns, piece.ns);
    double const busy = piece.ns * own.use(gpu_unit::tensor);
    if (piece.is_single || !(products > 0.0) || busy < latency_use * products) return 0.0;
    double const needed = std::min(left, busy >= bound_use * products ? products : busy);
    add_some(account_kind::at_roof, std::string(to_string(gpu_unit::tensor)), row, needed);
    return needed;
  }
  /// Adds a part of the kernels' time that their launches explain, where several were counted
  /// together. Returns: the time added.
  double add_of_several(std::size_t row, counted_piece const& piece, std::string_view why,
                        double kernels_of_row::*of, double left) {
    constexpr double least = 0.05;  // of the kernels' time; chosen
    kernels_of_row const& all = kernels_[row];
    if (!piece.kernel.empty() || !(all.ns > 0.0)) return 0.0;
    double const part = std::min(left, all.*of * piece.ns / all.ns);
    if (part < least * piece.ns) return 0.0;
    add_some(account_kind::explained, std::string(why), row, part);
    return part;
  }
  /// Adds what causes take of a time. Returns: what is left of it.
  double explain(std::vector<row_cause> const& causes, std::string const& name, std::size_t row,
                 double left) {
    for (row_cause const& cause : causes) {
      double const part = std::min(cause.ns, left);
      add_some(account_kind::explained, name, row, part, cause.finding);
      left -= std::max(0.0, part);
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
    constexpr finding_part parts[] = {finding_part::launches,    finding_part::host_work,
                                      finding_part::waits,       finding_part::waits,
                                      finding_part::allocations, finding_part::graphs,
                                      finding_part::copies,      finding_part::none};
    static_assert(sizeof(parts) / sizeof(parts[0]) == idle_causes);
    finding_part const wanted = parts[static_cast<std::size_t>(time.cause)];
    if (wanted == finding_part::none) return account_part::none;
    auto const found = idle_.find({wanted, time.row, between});
    if (found == idle_.end()) return account_part::none;
    bool const is_costed = wanted != finding_part::copies || found->second.ns > 0.0;
    return is_costed ? found->second.finding : account_part::none;
  }

  // --- unknown ---

  /// The kernel of a row of which most is unknown; empty if none has a name.
  std::string most_unknown_kernel(std::size_t row) const {
    auto const piece = unknown_.find(row);
    if (piece != unknown_.end() && !piece->second->kernel.empty())
      return std::string(piece->second->kernel);
    std::map<std::string_view, double> names = kernels_[row].names;
    for (row_cause const& cause : causes_[row])
      if (auto const known = names.find(cause.kernel); known != names.end())
        known->second -= cause.ns;
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
  /// "kernel softmax; no unit is saturated: the busiest, L1, is at 53 % of its peak".
  std::string what_is(account_part const& part) const {
    if (part.row == account_part::none) return {};
    std::string text;
    if (part.row == 0) text = launched_elsewhere();
    auto const unknown = unknown_.find(part.row);
    if (unknown == unknown_.end()) return text;
    counted_piece const& piece = *unknown->second;
    std::string const kernel = most_unknown_kernel(part.row);
    bool const is_one = !piece.kernel.empty() || kernels_[part.row].names.size() == 1;
    bool const has_causes =
        std::any_of(causes_[part.row].begin(), causes_[part.row].end(),
                    [](row_cause const& cause) { return !cause.kernel.empty(); });
    char const* const which = is_one       ? "kernel "
                              : has_causes ? "longest kernel without a finding "
                                           : "longest kernel ";
    if (!kernel.empty())
      text += (text.empty() ? "" : "; ") + std::string(which) + kernel_text(kernel);
    range_limit const& own = *piece.own;
    if (own.is_latency() && !own.roof.empty()) {
      add_part(text,
               "no unit is saturated: the busiest, " + std::string(own.roof) +
                   (is_one ? ", is at " : ", averages ") + own.use_text(),
               "; ");
      if (!piece.stall.empty()) add_part(text, "warps most often " + stall_text(piece.stall), "; ");
      return text;
    }
    if (part.name != own.roof)
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
    if (rows_[part.row].is_many) {
      look.words = "fewer names of ranges, with numbers beside them and not in them";
      return look;
    }
    if (part.name == to_string(limiter::above_roof)) {
      auto const above = unknown_.find(part.row);
      bool const is_counted = above != unknown_.end() && above->second->own->counted;
      look.words =
          is_counted ? "fixed clocks" : "other units of flops() and bytes(), or fixed clocks";
      return look;
    }
    auto const unknown = unknown_.find(part.row);
    counter_table const* const counters = gpu_counters(in_);
    bool const asked = counters != nullptr && counters->find("issue_ns") != counter_table::none;
    look.without_graphs = asked && !in_.source.counters().left_out.empty();
    look.counters = "findings";
    if (look.without_graphs || unknown == unknown_.end() ||
        !unknown->second->own->units.are_whole())
      return look;
    bool const is_of_several = kernels_[part.row].names.size() > 1 && pieces_[part.row].size() == 1;
    look.without_graphs = is_of_several && launches_graphs(rows_[part.row], steps_);
    if (look.without_graphs) return look;
    if (is_of_several) look.kernels = part.row == 0 ? "all" : std::string(rows_[part.row].name);
    std::string const kernel = most_unknown_kernel(part.row);
    if (is_of_several || kernel.empty()) return look;
    look.counters = {};
    look.kernel = kernel.substr(0, kernel.find('<'));  // ncu's name has no template arguments
    return look;
  }

  table_input const& in_;
  step_analysis const& steps_;
  vec<range_row> const& rows_;
  roofline_table const& roofline_;
  findings_table const& findings_;
  kernels_apart const* by_kernel_;
  step_amounts amounts_;
  std::vector<std::vector<row_cause>> causes_;          ///< by row, of its own kernels
  std::vector<std::vector<row_cause>> copies_;          ///< by row, of its own copies
  std::vector<std::vector<row_cause>> copies_between_;  ///< the same between steps
  /// By part and row of a finding, and whether it is between steps.
  std::map<std::tuple<finding_part, std::size_t, bool>, row_cause> idle_;
  std::vector<double> hidden_;    ///< by row, of its own copies: time in which kernels ran, too
  double copies_alone_ns_ = 0.0;  ///< of all copies; several at the same time count once
  std::vector<kernels_of_row> kernels_;                  ///< by row
  std::vector<std::vector<counted_piece>> pieces_;       ///< by row
  std::map<std::size_t, counted_piece const*> unknown_;  ///< by row, the one least known of
  period_account made_;
};

/// A limiter with all of its busy time.
struct limiter_time {
  std::string name;
  double ns;
};

/// Of the busy parts, the longest first.
std::vector<limiter_time> limiter_times(period_account const& account) {
  std::vector<limiter_time> times;
  for (account_part const& part : account.parts) {
    if (part.kind == account_kind::idle || part.kind == account_kind::between) continue;
    auto const same = std::find_if(times.begin(), times.end(), [&](limiter_time const& known) {
      return known.name == part.name;
    });
    if (same == times.end())
      times.push_back({part.name, part.ns});
    else
      same->ns += part.ns;
  }
  std::stable_sort(times.begin(), times.end(),
                   [](limiter_time const& a, limiter_time const& b) { return a.ns > b.ns; });
  return times;
}

/// Of the busy time, that the only limiter has. Chosen.
constexpr double most_of_it = 0.5;

/// Whether no limiter has half of the busy time, whatever limits what was not counted.
bool are_mixed(std::vector<limiter_time> const& times, double busy_ns) {
  double longest_ns = 0.0;
  double uncounted_ns = 0.0;
  for (limiter_time const& time : times) {
    double& ns = time.name == not_known ? uncounted_ns : longest_ns;
    ns = std::max(ns, time.ns);
  }
  return longest_ns + uncounted_ns < most_of_it * busy_ns;
}

}  // namespace
}  // namespace detail

std::string period_account::limiter() const {
  std::vector<detail::limiter_time> const times = detail::limiter_times(*this);
  if (times.empty()) return {};
  if (detail::are_mixed(times, busy_ns())) return std::string(to_string(strata::limiter::mixed));
  bool const is_known =
      times[0].name != detail::not_known && times[0].ns >= detail::most_of_it * busy_ns();
  return is_known ? times[0].name : std::string();
}

std::string period_account::limiters_text(std::string const& whole) const {
  constexpr double much = 0.1;  // of the period; chosen
  double const busy = busy_ns();
  if (busy < detail::most_of_it * period_ns) return {};
  std::string text;
  std::size_t count = 0;
  bool is_any_known = false;
  std::vector<detail::limiter_time> const times = detail::limiter_times(*this);
  for (detail::limiter_time const& time : times) {
    if (!(time.ns > much * period_ns)) break;
    bool const is_known = time.name != detail::not_known;
    is_any_known = is_any_known || is_known;
    std::string const name = is_known ? time.name : "not counted";
    std::string const share = detail::fixed_string(100.0 * time.ns / period_ns, 0) + " %";
    detail::add_part(text, name + " for " + share + (count == 0 ? " of the " + whole : ""), ", ");
    ++count;
  }
  if (!is_any_known) return {};
  bool const is_mixed = detail::are_mixed(times, busy);
  return (is_mixed ? "No single limiter: " : count > 1 ? "Limiters: " : "Limiter: ") + text + ".";
}

std::string next_look::text() const {
  if (!words.empty()) return std::string(words);
  if (!kernel.empty()) return "ncu --set full --kernel-name " + detail::shell_word(kernel);
  std::string text = "STRATA=trace,counters=" + std::string(counters);
  if (!kernels.empty()) text += ",kernels=" + detail::shell_word(kernels);
  return without_graphs ? text + " with CUDA graphs switched off" : text;
}

std::string variable_without_graphs(profile const& source) {
  for (kernel_name const& kernel : source.kernel_names)
    for (std::string_view const of_ggml : {"ggml_", "quantize_q8_1", "k_bin_bcast"})
      if (kernel.mangled.find(of_ggml) != std::string::npos) return "GGML_CUDA_DISABLE_GRAPHS=1";
  return {};
}

period_account make_account(table_input const& tables, step_analysis const& steps,
                            roofline_table const& roofline, findings_table const& findings,
                            kernels_apart const* by_kernel) {
  return detail::account_builder(tables, steps, roofline, findings, by_kernel).build();
}

STRATA_END
