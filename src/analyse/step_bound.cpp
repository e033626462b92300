#include "step_bound.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/kernel_table.hpp>
#include "findings.hpp"
#include "kernel_amounts.hpp"
#include "kernel_names.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

class bound_sentence {
 public:
  bound_sentence(rule_context const& run, std::vector<finding> const& findings)
      : run_(run), findings_(findings) {}

  std::string text() const {
    // Of the time that the GPU is busy; chosen between the planted programs: where it waits for the
    // host it is busy 4 to 50 % of the step, in sound ones 87 to 100 % (H200, CUDA 13.0).
    constexpr double gpu_bound = 0.7;
    step_analysis const& steps = run_.in.steps;
    if (run_.in.source.hang.found) return hang_text(run_.in.source.hang);
    if (are_steps_empty())
      return "The steps are empty, since a step ends with the block of STRATA_STEP(): put it first "
             "into the body of the loop.";
    if (!run_.in.source.traced) return longest_on_host();
    if (lost_all_times(run_.in.source, steps))
      return "What bounds the " + std::string(steps.whole()) +
             " is not known: all times of the GPU's work were lost (" + run_.losses.device_text +
             "). Most often the program met an error of CUDA: read its messages, or run it under "
             "compute-sanitizer.";
    if (!run_.has_device_work())
      return was_recorded() ? "The GPU had nothing to do." : "Nothing was recorded: see problems.";
    // Work that overlaps the next step's is not part of this one.
    double const busy = whole_ns() > 0.0 ? std::min(1.0, busy_ns() / whole_ns()) : 0.0;
    bool const is_part = !steps.from_steps && steps.active_ns < 0.99 * steps.mean_ns;
    std::string const whole =
        is_part ? "run from its first work on the GPU to its last" : steps.whole();
    double const most = std::min(1.0, busy * (1.0 + run_.lost_part()));
    if (busy < gpu_bound && (most >= gpu_bound || !(run_.sure_idle_part() > 0.0)))
      return std::string("What bounds the ") + whole + " is not known: the GPU is busy " +
                 percent_text(busy) + " of it, and with what was lost up to " + percent_text(most) +
                 " (" + run_.losses.device_text +=
             "). Record fewer steps, or with larger buffers= and log=.";
    return bound_by(whole, busy, busy >= gpu_bound) + base_text() + outlier_text();
  }

 private:
  std::string bound_by(std::string const& whole, double busy, bool works) const {
    if (works) return bound_by_work(whole, busy) + rest_of_run();
    if (run_.in.steps.has_timeline) return bound_by_host(whole, busy) + rest_of_run();
    return std::string(busy_text(whole, busy)) +
           " Why it is idle otherwise is not known: raise buffers= or log=.";
  }
  /// Whether a window began, as none does where no step is found.
  bool was_recorded() const noexcept {
    profile const& source = run_.in.source;
    bool const has_host = !source.ranges.empty() || !source.summed_ranges.empty();
    return has_host || source.cost.seconds_in_window > 0.0;
  }
  /// What the sentences are of: the period, or without steps from the first device work to the
  /// last.
  double whole_ns() const noexcept {
    return run_.in.steps.from_steps ? run_.in.steps.period_ns() : run_.in.steps.active_ns;
  }
  double busy_ns() const noexcept {
    step_analysis const& steps = run_.in.steps;
    return steps.from_steps ? steps.period_busy_ns() : steps.active_busy_ns;
  }
  double idle_ns() const noexcept { return std::max(0.0, whole_ns() - busy_ns()); }

  /// What the whole is, where that is not the recorded step. What recording adds to a step is idle
  /// time of the device: CUPTI delays CUDA graphs.
  std::string base_text() const {
    step_analysis const& steps = run_.in.steps;
    std::string text;
    if (steps.between_ns > 0.0)
      text = " A period is a step of " + time_text(steps.usual_ns()) + " and " +
             time_text(steps.between_ns) + " until the next one begins.";
    if (!steps.is_slowed()) return text;
    return text + " These are parts of a step without recording, which takes " +
           time_text(steps.unrecorded_ns) + "; with recording it takes " +
           time_text(steps.mean_ns) + ".";
  }

  /// Where one of few steps is far longer than the others, none of them takes the mean.
  std::string outlier_text() const {
    constexpr std::size_t fewest = 3;
    constexpr std::size_t most = 7;     // from 8 on the rule slow-step tells it
    constexpr double far_longer = 1.5;  // times the median; chosen
    step_analysis const& steps = run_.in.steps;
    std::vector<double> ns(steps.step_lengths.begin(), steps.step_lengths.end());
    if (steps.without_first && !ns.empty()) ns.erase(ns.begin());
    if (!steps.from_steps || steps.period_of_gpu || ns.size() < fewest || ns.size() > most)
      return {};
    std::sort(ns.begin(), ns.end());
    double const median = ns[ns.size() / 2];
    if (!(ns.back() > far_longer * median)) return {};
    return " No step is like the mean of these " + std::to_string(ns.size()) +
           ": the longest takes " + time_text(ns.back()) + ", the median one " + time_text(median) +
           "; record more of them.";
  }

  /// Of a device that did not end its work: what it does, and where the program waits for it.
  static std::string hang_text(profile_hang const& hang) {
    std::string text;
    text += "The GPU hangs: at the end ";
    if (hang.work.empty()) {
      text += "it had not done its work";
    } else {
      hung_work const& most = hang.work.front();
      text += "the work of " + amount_text(static_cast<double>(most.calls), "call", "calls") + " " +
              in_range(most.path) + " was not done, " +
              time_text(static_cast<double>(most.last_ns)) + " after " +
              (most.calls == 1 ? "it" : "the last one");
    }
    if (!hang.ranges.empty()) {
      hung_range const& open = hang.ranges.back();
      text += "; thread " + std::to_string(open.thread) + " was " + in_range(open.path);
      if (open.open_ns >= 0) text += " for " + time_text(static_cast<double>(open.open_ns));
    }
    return text += ".";
  }
  /// "The GPU is busy 87 % of the step."
  std::string busy_text(std::string const& whole, double busy) const {
    bool const many = run_.in.roofline.devices > 1;
    return std::string(many ? "At least one of " : "") +
           (many ? run_.gpus() : std::string("The GPU")) + " is busy " + percent_text(busy) +
           " of the " + whole + ".";
  }
  /// Whether most time from the first step to the last lies between them.
  bool has_long_gaps() const {
    vec<step_record> const& steps = run_.in.source.steps;
    if (steps.empty()) return false;
    std::int64_t in_steps = 0;
    std::int64_t first = steps.front().begin;
    std::int64_t last = steps.front().end;
    for (step_record const& step : steps) {
      in_steps = add_saturated(in_steps, elapsed(step.begin, step.end));
      first = std::min(first, step.begin);
      last = std::max(last, step.end);
    }
    return static_cast<double>(elapsed(first, last)) > 2.0 * static_cast<double>(in_steps);
  }
  /// Whether steps end before their work begins: STRATA_STEP() in a block of its own.
  bool are_steps_empty() const {
    if (!run_.in.steps.from_steps || !has_long_gaps()) return false;
    if (run_.has_device_work() && run_.rows[0].step_launch_share.in_steps > 0.0) return false;
    step_amounts const amounts(run_.rows, run_.in.steps);
    bool any = false;
    for (std::size_t i = 1; i < run_.rows.size(); ++i) {
      if (run_.rows[i].host.count() == 0) continue;
      if (!amounts.is_outside(i)) return false;
      any = true;
    }
    return any;
  }
  std::string longest_on_host() const {
    std::string const whole = std::string(" of ") + run_.in.steps.one_whole();
    std::string first;
    if (run_.in.steps.without_first)
      first =
          std::string("; without the first step, which took ") + time_text(run_.in.steps.first_ns);
    double const mean = run_.in.steps.mean_ns + run_.in.steps.between_ns;
    auto const part = [&](double ns) {
      std::string text = time_text(ns) + whole;
      if (ns <= mean) text += std::string(" (") + percent_text(ns / mean) + ")";
      return text;
    };
    std::size_t longest = 0;
    double most = 0.0;
    double marked = 0.0;
    double in_many = 0.0;  // that rows of many ranges have
    step_amounts const amounts(run_.rows, run_.in.steps);
    for (std::size_t i = 1; i < run_.rows.size(); ++i) {
      double const own = amounts.stepping_self_ns(i);
      marked += own;
      if (!run_.is_judged(i)) in_many += own;
      if (!run_.is_judged(i) || !(own > most)) continue;
      longest = i;
      most = own;
    }
    double const rest = mean - marked;
    std::string const many = cpu_text() + many_text(in_many, mean);
    if (longest == 0 || (in_many > most && in_many > rest))
      return many.empty() ? many : "Only host times are known:" + many;
    if (rest > most && rest > 0.1 * mean)
      return std::string("Only host times are known: ") + part(rest) +
             " is outside ranges: mark what the program does there" + first + "." + many;
    return std::string("Only host times are known: ") + run_.rows[longest].path +
           " takes the longest by itself, " + part(most) + first + "." + many;
  }
  /// " The thread of the steps has a CPU for 38 % of it."; empty where it nearly has one.
  std::string cpu_text() const {
    constexpr double most = 0.8;    // chosen
    constexpr double fewest = 3.0;  // steps; chosen
    cpu_of_step const& cpu = run_.cpu;
    if (cpu.steps < fewest || cpu.cpu_ns > most * cpu.wall_ns) return {};
    return std::string(" The thread of the steps has a CPU for ") +
           percent_text(cpu.cpu_ns / cpu.wall_ns) + " of it.";
  }
  /// " 34 % of the step is in rows that stand for many ranges, ..."; empty where it is little.
  std::string many_text(double ns, double whole) const {
    constexpr double least = 0.05;  // chosen
    if (!(ns > least * whole)) return {};
    return std::string(" ") + percent_text(ns / whole) + " of the " + run_.in.steps.whole() +
           " is in rows that stand for many ranges (such as " + std::string(many_example()) +
           "), of which nothing is said.";
  }
  std::string_view many_example() const noexcept {
    for (range_row const& row : run_.rows)
      if (row.is_many) return row.name;
    return {};
  }
  /// Without steps: what of the run is before its first work on the device, and after its last.
  std::string rest_of_run() const {
    constexpr double least_rest = 0.1;  // of the run; chosen
    if (run_.in.steps.from_steps) return {};
    double const rest = 1.0 - run_.in.steps.active_ns / run_.in.steps.mean_ns;
    if (!(rest > least_rest)) return {};
    return std::string(" ") + percent_text(rest) +
           " of the run is before its first work or after its last.";
  }
  /// Copies from and to the host in a step, while no kernel ran.
  double copies_alone_ns() const noexcept {
    if (run_.in.steps.has_timeline) return run_.in.steps.period_copies_alone_ns();
    // At least what kernels leave of the time, unless there are more copies within devices.
    device_work const& all = run_.rows[0].total;
    auto const sum = [](std::uint64_t one, std::uint64_t other) {
      return static_cast<double>(one) + static_cast<double>(other);
    };
    bool const by_host = sum(all.host_to_device_bytes, all.device_to_host_bytes) >=
                         sum(all.device_to_device_bytes + all.peer_bytes, all.set_bytes);
    if (!by_host) return 0.0;
    return busy_ns() - run_.per_step(0, static_cast<double>(all.kernel_ns));
  }
  /// Of the copies between host and GPU: " to the GPU"; empty where both directions take long.
  std::string direction_text() const {
    constexpr double most = 0.75;  // of their time; chosen
    double to_device = 0.0;
    double all = 0.0;
    for (vec<copy_time> const* const copies :
         {&run_.in.steps.copies, &run_.in.steps.copies_between})
      for (copy_time const& time : *copies) {
        all += time.alone_ns;
        if (time.to_device) to_device += time.alone_ns;
      }
    if (!(all > 0.0)) return {};
    return to_device >= most * all         ? " to the GPU"
           : all - to_device >= most * all ? " from the GPU"
                                           : "";
  }
  /// Of a device that works most of the time, on kernels or on copies.
  std::string bound_by_work(std::string const& whole, double busy) const {
    std::size_t longest = 0;
    double in_many = 0.0;  // that rows of many ranges have
    for (std::size_t row = 1; row < run_.rows.size(); ++row) {
      if (!run_.is_judged(row))
        in_many += own_busy_ns(row);
      else if (own_busy_ns(row) > own_busy_ns(longest))
        longest = row;
    }
    std::string const many_ranges = many_text(in_many, whole_ns());
    bool const many = run_.in.roofline.devices > 1;
    bool const copying = copies_alone_ns() > 0.5 * busy_ns();
    std::string const turns = turns_text();
    std::string const whom = many && turns.empty() ? "at least one of " : "";
    char const* const is = many && !turns.empty() ? ", in turns, are" : " is";
    std::string const text = std::string(copying ? "Copy-bound: " : "GPU-bound: ") + whom +
                             run_.gpus() + is + " busy " + percent_text(busy) + " of the " + whole +
                             (copying ? ", mostly with copies" + direction_text() + "." : ".") +
                             (turns.empty() ? unequal_text() : turns);
    return (longest == 0 ? text : text + most_time(longest)) + many_ranges;
  }
  /// " Each runs kernels for 47 % of it at most." Empty where they work at the same time.
  std::string turns_text() const {
    // Times the part in which one of them works; chosen: what they do at once is little.
    constexpr double in_turns = 1.1;
    constexpr double least_part = 0.1;  // of all work, that a second one has; chosen
    double sum = 0.0;
    double most = 0.0;
    for (device_time const& device : run_.in.steps.devices) {
      double const busy = device.ns - device.overlap_ns;
      sum += busy;
      most = std::max(most, busy);
    }
    bool const is_shared = sum - most > least_part * sum;
    double const together = run_.in.steps.active_busy_ns - run_.in.steps.copies_alone_ns;
    if (is_shared && sum <= in_turns * together)
      return std::string(" Each runs kernels for ") + percent_text(most / whole_ns()) +
             " of it at most.";
    return {};
  }
  /// " The busiest of them runs kernels for 99 % of it, the least busy for 30 %."; empty where they
  /// work as much.
  std::string unequal_text() const {
    constexpr double as_much = 1.25;  // times; chosen
    double least = whole_ns();
    double most = 0.0;
    for (device_time const& device : run_.in.steps.devices) {
      double const busy = std::min(whole_ns(), device.ns - device.overlap_ns);
      least = std::min(least, busy);
      most = std::max(most, busy);
    }
    if (run_.in.steps.devices.size() < 2 || most <= as_much * least) return {};
    return std::string(" The busiest of them runs kernels for ") + percent_text(most / whole_ns()) +
           " of it, the least busy for " + percent_text(least / whole_ns()) + ".";
  }
  double own_busy_ns(std::size_t row) const {
    device_work const& own = run_.rows[row].self;
    return run_.own_ns_per_step(row, static_cast<double>(own.kernel_ns + own.copy_ns));
  }
  /// " The longest range is block[*]/mlp/up, 452 us (17 % of the step); its limiter is HBM ..."
  std::string most_time(std::size_t row) const {
    // What overlaps counts once.
    double const all_ns = run_.in.steps.busy_ns(run_.rows[row]);
    double const ns = std::min(std::min(own_busy_ns(row), all_ns), whole_ns());
    device_work const& own = run_.rows[row].self;
    device_work const& all = run_.rows[row].total;
    bool const is_leaf = own.kernels == all.kernels && own.copies == all.copies;
    std::map<std::string_view, double> const kernels = kernels_of(row);
    std::string text(" The longest range is ");
    text += run_.rows[row].path + (is_leaf ? ", " : ", by itself ") + time_text(ns) + " (" +
            percent_text(ns / whole_ns()) + " of " +
            (run_.in.steps.from_steps ? std::string("the ") + run_.in.steps.whole() : "it") + ")" +
            limiter_text(run_.in.roofline.limits[row], kernels.size() > 1) + ".";
    range_limit const& limit = run_.in.roofline.limits[row];
    finding const* const cause = cause_of_kernels(row, ns);
    if (limit.kind == limiter::latency && cause != nullptr && cause->rule != "latency-bound")
      text += " The finding " + std::string(cause->rule) + " says why.";
    else if (limit.kind == limiter::latency && !limit.stall.empty())
      text += " Its warps most often " + stall_text(limit.stall) + ".";
    return text += longest_kernel_text(kernels);
  }
  /// What takes a good part of a range's time in kernels; null where nothing does.
  finding const* cause_of_kernels(std::size_t row, double ns) const {
    constexpr double good_part = 0.25;  // chosen
    for (finding const& found : findings_)
      for (finding_range const& range : found.ranges)
        if (range.row == row && range.part == finding_part::kernels &&
            range.cost_ns_per_step >= good_part * ns)
          return &found;
    return nullptr;
  }
  /// "; its limiter is HBM, at 76 % of its peak"; empty where it is not known.
  static std::string limiter_text(range_limit const& limit, bool is_mean) {
    if (limit.text.empty()) return {};
    if (limit.kind == limiter::unit)
      return (limit.beside.empty() ? "; its limiter is " : "; its limiters are ") + limit.words();
    bool const has_use = limit.kind == limiter::latency && !limit.roof.empty();
    if (!has_use) return "; its limiter is " + limit.text;
    return std::string("; no unit is saturated: the busiest, ") + limit.first_name() +
           (is_mean ? ", averages " : ", is at ") + limit.use_text();
  }
  /// The names of the kernels of a range itself, with their times.
  std::map<std::string_view, double> kernels_of(std::size_t row) const {
    std::map<std::string_view, double> times;
    for (kernel_row const& kernel : run_.in.kernels)
      if (kernel.path_id == run_.rows[row].path_id)
        times[kernel.short_name] += ns_in_step(kernel, run_.rows[row], run_.in.steps);
    return times;
  }
  /// " Its longest kernel is flash_bprop_kernel, 60 % of its kernels' time.": all of that name; of
  /// a single one its name. A part, since kernels at the same time take more together than their
  /// range. Empty if none has much of the time.
  static std::string longest_kernel_text(std::map<std::string_view, double> const& times) {
    constexpr double much = 0.2;  // of the time of the range's own kernels; chosen
    double all = 0.0;
    double most = 0.0;
    std::string_view longest;
    for (auto const& [kernel, ns] : times) {
      all += ns;
      if (!(ns > most)) continue;
      most = ns;
      longest = kernel;
    }
    if (longest.empty() || most < much * all) return {};
    std::string const name = kernel_text(longest);
    char const* const end = ends_with(name, ellipsis) ? "" : ".";
    if (times.size() == 1) return std::string(" Its kernel is ") + name + end;
    return std::string(" Its longest kernel is ") + name + ", " + percent_text(most / all) +
           " of its kernels' time.";
  }
  /// Whether half of the idle time that the program's own code takes is spent on pages.
  bool awaits_pages() const {
    double ns = 0.0;
    for (idle_time const& time : run_.in.steps.idle)
      if (time.cause == idle_cause::host_work && run_.migrating[time.row])
        ns += run_.in.steps.own_idle_ns(time.ns);
    return ns > 0.0 && ns >= 0.5 * run_.in.steps.idle_of(idle_cause::host_work);
  }
  double idle_between(idle_cause cause) const noexcept {
    double ns = 0.0;
    for (idle_time const& time : run_.in.steps.idle_between)
      if (time.cause == cause) ns += time.ns;
    return ns;
  }
  /// Whether most of a cause's idle time is between steps.
  bool is_between(idle_cause cause) const noexcept {
    return idle_between(cause) > 0.5 * run_.in.steps.idle_of(cause);
  }
  /// Names a cause that explains half of the idle time, and none otherwise.
  std::string bound_by_host(std::string const& whole, double busy) const {
    std::string const idle = std::string(run_.gpus()) +
                             (run_.in.roofline.devices > 1 ? " are" : " is") + " idle " +
                             percent_text(1.0 - busy) + " of the " + whole;
    for (std::size_t i = 0; i < std::size(idle_cause_table); ++i) {
      auto const cause = static_cast<idle_cause>(i);
      if (run_.in.steps.idle_of(cause) < 0.5 * idle_ns()) continue;
      bool const is_own = cause == idle_cause::host_work;
      bool const pages = is_own && awaits_pages();
      bool const sleeps =
          is_own && !pages && run_.cpu.sleeps(run_.in.steps.idle_of(cause) - idle_between(cause));
      bool const loads = is_own && !is_between(cause) && run_.steps_that_load_code() > 0.0;
      return std::string(sleeps && !loads ? "Idle" : entry_of(cause).bound) + ": " + idle +
             ", mostly " +
             (pages    ? "while the CPU waits for pages of managed memory"
              : loads  ? "while the program computes on the CPU and loads code for the GPU"
              : sleeps ? "while the program sleeps or waits for something else"
                       : std::string(entry_of(cause).meanwhile)) +
             (is_between(cause) ? ", between steps." : ".");
    }
    return std::string("Idle: ") + idle + ", for several causes.";
  }

  rule_context const& run_;
  std::vector<finding> const& findings_;
};

}  // namespace

std::string step_bound(rule_context const& run, std::vector<finding> const& findings) {
  return bound_sentence(run, findings).text();
}

}  // namespace detail
STRATA_END
