// strata compare: what changed between runs of a program, by range.
#include "analyse/compare.hpp"
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include "analyse/range_paths.hpp"
#include "recording/recording.hpp"
#include "report/comparison_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "compare_markdown.hpp"
#include "files.hpp"
#include "profile_json.hpp"

namespace tools {
namespace {

constexpr char command_name[] = "compare";

/// Reads a recording or a profile.json. Returns: why it cannot; nothing where it can.
std::string read_run(std::string const& path, strata::run_tables& run) {
  std::string text;
  std::string problem = read_file(path, text);
  if (!problem.empty()) return problem;
  if (text.rfind(strata::detail::recording_magic, 0) != 0) return read_profile_json(text, run);
  strata::profile recorded;
  strata::status const outcome = tools::read_recording(text, recorded);
  if (!outcome.ok()) return outcome.message();
  // A program that was killed ended within a step.
  std::string const cut = strata::detail::describe_cut(recorded);
  if (recorded.problems.contains(cut)) report_problem(command_name, path, cut);
  run = make_run_tables(recorded);
  return {};
}

bool refuse_run(std::string const& path, std::string const& why) {
  report_problem(command_name, path, why);
  return false;
}

/// Reads the runs of a side. Errors: a line on stderr, and false.
bool read_side(std::vector<std::string> const& paths, std::deque<strata::run_tables>& runs,
               std::vector<strata::run_tables const*>& side) {
  for (std::string const& path : paths) {
    auto const profiles = profiles_in(path, {"profile.json", recording_name, recording_part_name});
    if (profiles.empty())
      return refuse_run(
          path,
          "Neither the folder nor a folder in it has a profile.json or profile.strata: give the "
          "out= of a run.");
    for (std::string const& profile_path : profiles) {
      runs.emplace_back();
      std::string const problem = read_run(profile_path, runs.back());
      if (!problem.empty()) return refuse_run(profile_path, problem);
      side.push_back(&runs.back());
      if (side.back()->origin.rank != side[0]->origin.rank)
        return refuse_run(path, "It has profiles of several ranks: give the folder of one rank.");
    }
  }
  return true;
}

std::string factor(double before, double after) {
  return before > 0 ? strata::detail::fixed_string(after / before, 3) : "-";
}

/// Times and bytes with their unit, counts with all digits.
std::string value_text(strata::compared_column const& column, double value) {
  if (column.unit == "ns") return strata::detail::time_text(value);
  bool const whole = value >= 0 && value < 1e18 && std::floor(value) == value;
  std::string const number = whole ? strata::detail::in_groups(static_cast<std::uint64_t>(value))
                                   : strata::detail::significant(value);
  return column.unit.empty() ? number : number + " " + column.unit;
}

/// The slowest range of those that a sum over indices has, and how many of them are slower.
std::string slower_index(strata::comparison const& c, strata::compared_range const& sum) {
  strata::compared_range const* slowest = nullptr;
  std::size_t count = 0;
  for (strata::compared_range const& one : c.indexed) {
    if (!one.slower || strata::detail::with_folded_indices(one.path) != sum.path) continue;
    ++count;
    if (slowest == nullptr || one.change > slowest->change) slowest = &one;
  }
  if (slowest == nullptr) return {};
  std::string text = strata::detail::console_text(slowest->path) + " is SLOWER";
  if (count > 1) text += ", and " + std::to_string(count - 1) + " more";
  return "  " + text;
}

std::string mark(strata::comparison const& c, strata::compared_range const& range) {
  if (range.verdict == strata::range_verdict::slower) return "  SLOWER";
  if (range.slower) return slower_index(c, range);
  if (range.lost) return "  unsure (times lost)";
  switch (range.verdict) {
    case strata::range_verdict::accepted:
      return "  accepted";
    case strata::range_verdict::unsure:
      return "  unsure";
    default:
      return "";
  }
}

/// The largest changes, and all that are slower, by the times that were judged.
void print_times(strata::comparison const& c) {
  if (c.ranges.empty()) return;
  constexpr std::size_t most = 20;
  print("%12s %12s %12s %18s  range (mean ms a step; largest change first)\n", "difference",
        "before", "after", "change +-noise");
  std::size_t left_out = 0;
  std::size_t unchanged = 0;
  std::size_t unsure = 0;
  std::size_t accepted = 0;
  std::size_t once = 0;
  bool trimmed = false;
  for (strata::compared_range const& range : c.ranges) {
    if (!is_changed(range)) {
      ++unchanged;
      continue;
    }
    if (&range >= c.ranges.data() + most && !range.slower) {
      ++left_out;
      continue;
    }
    unsure += !range.slower && !range.lost && range.verdict == strata::range_verdict::unsure;
    accepted += !range.slower && range.verdict == strata::range_verdict::accepted;
    range_line const line(range);
    once += range.once;
    trimmed = trimmed || range.judged_trimmed;
    print("%+12.4f %12.4f %12.4f %18s  %s (%s%s)%s\n", range.change_ms(), line.before_ms,
          line.after_ms, line.change.c_str(), strata::detail::console_text(range.path).c_str(),
          strata::detail::console_text(line.time).c_str(), range.once ? ", once" : "",
          mark(c, range).c_str());
  }
  if (left_out > 0) print("and %zu more\n", left_out);
  if (unchanged > 0) print("unchanged: %zu\n", unchanged);
  if (once > 0) print("once: in no step, so milliseconds of the whole run\n");
  if (trimmed) print("%s\n", about_trimmed);
  if (unsure > 0)
    print(
        "unsure: it looks slower than the limit, but noise or what slows all ranges can do that\n");
  if (accepted > 0) print("accepted: slower than the limit, as a line of --accepted allows\n");
}

strata::compared_column const* find_column(strata::compared_range const& range,
                                           std::string_view name) {
  for (strata::compared_column const& column : range.columns)
    if (column.name == name) return &column;
  return nullptr;
}

/// A line for each range with a column of them, in the order of the largest changes.
bool print_factors(strata::comparison const& c, std::string_view wanted) {
  std::vector<std::string> names;
  for (std::size_t end = 0; !wanted.empty();
       wanted.remove_prefix((std::min)(end + 1, wanted.size()))) {
    end = (std::min)(wanted.find(','), wanted.size());
    std::string_view const name = strata::detail::trimmed(wanted.substr(0, end));
    if (!name.empty()) names.emplace_back(name);
  }
  if (names.empty()) {
    report_problem(command_name, "--factors", "It takes columns, such as kernels,gpu_busy_ns.");
    return false;
  }
  for (std::string const& name : names) {
    bool found = false;
    for (strata::compared_range const& range : c.ranges)
      found = found || find_column(range, name) != nullptr;
    if (!found) {
      report_problem(command_name, name,
                     "No range of all profiles has this column: --range PATH prints those of one.");
      return false;
    }
    print("%*s ", (std::max)(8, static_cast<int>(name.size())), name.c_str());
  }
  print(" range (factors of a mean step, after / before)\n");
  for (strata::compared_range const& range : c.ranges) {
    for (std::string const& name : names) {
      strata::compared_column const* const column = find_column(range, name);
      std::string const text = column == nullptr ? "-" : factor(column->before, column->after);
      print("%*s ", (std::max)(8, static_cast<int>(name.size())), text.c_str());
    }
    print(" %s\n", strata::detail::console_text(range.path).c_str());
  }
  return true;
}

/// Those that are 0 on both sides are left out.
bool print_columns(strata::comparison const& c, std::string const& path) {
  strata::compared_range const* const range = c.find(path);
  if (range == nullptr) {
    report_problem(
        command_name, path,
        "No range of this path is in all profiles: without --range all of them are listed.");
    return false;
  }
  print("%24s %26s %26s %8s  (%s)\n", "column", "before", "after", "factor",
        c.before_steps > 0 && c.after_steps > 0 && !range->once ? "mean of all steps"
                                                                : "of the whole run");
  for (strata::compared_column const& column : range->columns)
    if (column.before != 0 || column.after != 0)
      print("%24s %26s %26s %8s\n", strata::detail::console_text(column.name).c_str(),
            value_text(column, column.before).c_str(), value_text(column, column.after).c_str(),
            factor(column.before, column.after).c_str());
  return true;
}

/// What would be seen of a step.
std::string resolution_text(double resolution) {
  if (resolution > 10) return "no slowdown is detectable";
  return "smallest detectable slowdown: " + strata::detail::fixed_string(100 * resolution, 1) +
         " %";
}

/// What a person asks first: what became of the step, and where.
void print_headline(strata::comparison const& c) {
  if (!c.headline.empty()) print("%s\n", strata::detail::console_text(c.headline).c_str());
  std::string const most = most_changed_text(c);
  if (!most.empty()) print("changed most: %s\n", strata::detail::console_text(most).c_str());
}

/// The rows that sum to the change of the period: those that changed, and the rest in one line.
void print_period(strata::comparison const& c) {
  if (c.period.rows.empty()) return;
  print("%12s %12s %12s %18s  row (mean ms of a period; the rows sum to its difference)\n",
        "difference", "before", "after", "change +-noise");
  for (period_line const& line : period_lines(c.period))
    print("%+12.4f %12.4f %12.4f %18s  %s\n", line.after_ms - line.before_ms, line.before_ms,
          line.after_ms, line.change.c_str(), strata::detail::console_text(line.text).c_str());
}

void print_sums(strata::comparison const& c) {
  if (c.before_steps > 0 && c.after_steps > 0)
    print("step: %.4f ms%s before, %.4f ms%s after (medians of %zu and %zu)%s\n", c.before_ms,
          strata::detail::on_gpu(c.before_of_gpu), c.after_ms,
          strata::detail::on_gpu(c.after_of_gpu), c.before_steps, c.after_steps,
          c.comparable ? (", " + factor(c.before_ms, c.after_ms) + " times as long").c_str() : "");
  if (c.noise > 0)
    print("noise: %.1f %% %s; %s\n", 100 * c.noise,
          c.runs_known ? "with that between runs" : "within the runs",
          resolution_text(c.resolution).c_str());
  if (c.noisy_times > 0)
    print("ranges: %zu of %zu times are too noisy to show a slowdown of twice the limit%s\n",
          c.noisy_times, c.judged_times,
          c.runs_known ? "" : "; several runs of each side would show it");
  if (c.geometric_mean > 0)
    print("ranges: %.3f times as long (the geometric mean of all)\n", c.geometric_mean);
}

class compare_command final : public subcommand {
 public:
  char const* name() const override { return command_name; }
  char const* about() const override { return "Show what changed between runs, by range"; }
  std::string details() const override {
    return "strata compare [options] BEFORE AFTER\n"
           "strata compare [options] --baseline BEFORE [--baseline BEFORE ...] AFTER [AFTER "
           "...]\n\n"
           "Three runs of each side show the noise between runs. Marks of the lines:\n"
           "  SLOWER    beyond the limit and beyond noise\n"
           "  unsure    it looks slower than the limit, but its noise can do that\n"
           "  accepted  slower than the limit, as a line of --accepted allows\n\n"
           "Exit code: 0 no regression, 1 a regression, 2 an argument or a file, 3 undecided.";
  }
  void declare(arguments& takes) override {
    takes.rest("PATH", paths_, 1,
               "BEFORE and AFTER: profile.json or a recording, or folders that have one or whose "
               "folders have one: each is a run");
    takes.option("--baseline", before_, "a run before the change, or a folder of runs");
    declare_limits(takes);
    takes.option("--range", range_,
                 "all columns of this range (block[*] or block[3]), instead of the ranges' times");
    takes.option("--factors", factors_,
                 "after / before of these columns, by range: kernels,gpu_busy_ns,hbm_bytes");
    takes.output("--html", html_, {".html", ".htm"}, "the result as a page: one file, no network");
    takes.output("--json", json_, {".json"}, "the result for programs");
    takes.output("--markdown", markdown_, {".md", ".markdown", ".txt"},
                 "the result as a table for a comment");
  }
  exit_code run() override {
    std::string const wrong = sort_paths();
    if (!wrong.empty()) return refuse(name(), "PATH", wrong);
    if (!read_accepted_file()) return exit_code::unusable;
    std::deque<strata::run_tables> runs;
    std::vector<strata::run_tables const*> before;
    std::vector<strata::run_tables const*> after;
    if (!read_side(before_, runs, before) || !read_side(paths_, runs, after))
      return exit_code::unusable;
    strata::comparison const result = strata::compare(before, after, options_);
    // The answer is printed also where a file cannot be written.
    bool const is_printed = print_result(result);
    if (!write(result) || !is_printed) return exit_code::unusable;
    switch (result.verdict) {
      case strata::comparison_verdict::no_regression:
        return exit_code::fine;
      case strata::comparison_verdict::regression:
        return exit_code::found;
      default:
        return exit_code::undecided;
    }
  }

 private:
  void declare_limits(arguments& takes) {
    auto const share = [&takes](char const* option, double& value, char const* takes_what,
                                char const* about) {
      takes.option(
          option,
          [&value](std::string const& text) {
            return strata::detail::read_percentage(text, value);
          },
          takes_what, about);
    };
    share("--fail-over", options_.limit, "a percentage such as 5%",
          "how much slower a step or a range may be: 5%");
    takes.option("--accepted", accepted_,
                 "slowdowns that are known, each a line: path,step|host|gpu,10%,reason such as "
                 "block[*]/mlp,gpu,10%,exact GELU; of a step the path is empty; lines that begin "
                 "with # are comments");
    share("--least-share", options_.least_share, "a percentage such as 2%",
          "of a step: 2%; what has less cannot make the result inconclusive");
    share("--run-noise", options_.run_noise, "a percentage such as 1%",
          "how much the step's time differs between runs, where it is known");
    takes.flag("--anyway", options_.anyway,
               "judge also runs of other devices, processors, settings or work");
  }

  /// Which paths are before the change. Returns: what is wrong; nothing where it is known.
  std::string sort_paths() {
    if (!before_.empty()) return {};
    if (paths_.size() == 1) return "only '" + paths_[0] + "' is given: BEFORE and AFTER are needed";
    if (paths_.size() > 2)
      return std::to_string(paths_.size()) +
             " paths need --baseline for each that is before the change";
    before_.push_back(paths_[0]);
    paths_.erase(paths_.begin());
    return {};
  }

  bool read_accepted_file() {
    if (accepted_.empty()) return true;
    std::string text;
    std::string problem = read_file(accepted_, text, expected_text::lines);
    if (problem.empty()) problem = strata::read_accepted(text, options_.accepted);
    return problem.empty() || refuse_run(accepted_, problem);
  }

  bool write(strata::comparison const& result) const {
    using strata::detail::text_writer;
    bool const html = write_file(
        name(), html_, [&](text_writer& out) { write_comparison_html(out, result, options_); });
    bool const json = write_file(
        name(), json_, [&](text_writer& out) { write_comparison_json(out, result, options_); });
    bool const markdown = write_file(
        name(), markdown_, [&](text_writer& out) { write_comparison_markdown(out, result); });
    return html && json && markdown;
  }

  bool print_result(strata::comparison const& result) const {
    if (!range_.empty() && !print_columns(result, range_)) return false;
    if (!factors_.empty() && !print_factors(result, factors_)) return false;
    if (range_.empty() && factors_.empty()) {
      print_times(result);
      print_period(result);
    }
    for (std::string const& note : result.notes)
      print("note: %s\n", strata::detail::console_text(note).c_str());
    print_sums(result);
    print_headline(result);
    print("%s: %s\n", to_string(result.verdict).data(),
          strata::detail::console_text(result.reason).c_str());
    return true;
  }

  strata::compare_options options_;
  std::vector<std::string> before_;
  std::vector<std::string> paths_;
  std::string range_;
  std::string factors_;
  std::string accepted_;
  std::string html_;
  std::string json_;
  std::string markdown_;
};

}  // namespace

subcommand_pointer make_compare() { return std::make_unique<compare_command>(); }

}  // namespace tools
