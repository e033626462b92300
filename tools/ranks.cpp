// strata ranks: which rank of a distributed run is last, how often, by how much, and where.
#include <strata/analyse/profile_file.hpp>
#include <strata/analyse/rank_comparison.hpp>
#include <strata/analyse/rank_run.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/recording.hpp>
#include <strata/tables/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"

namespace tools {
namespace {

constexpr char command_name[] = "ranks";
constexpr std::size_t most_rows = 10;

using strata::detail::console_text;
using strata::detail::path_label;
using strata::detail::time_text;

std::string rank_name(std::int32_t rank) { return "rank " + std::to_string(rank); }

std::string range_name(std::string const& path) {
  return path.empty() ? "its work outside ranges" : "its range " + console_text(path);
}

/// Reads one rank. Returns: why it cannot; nothing where it can.
std::string read_run(std::string const& path, strata::rank_run& run) {
  std::string text;
  std::string problem = read_file(path, text);
  if (!problem.empty()) return problem;
  if (text.rfind(strata::detail::recording_magic, 0) == 0) {
    strata::profile recorded;
    strata::status const outcome = read_recording(text, recorded);
    if (!outcome.ok()) return outcome.message();
    if (strata::has_rank_steps(recorded)) {
      run = strata::read_rank(recorded);
      return {};
    }
    text = profile_json(recorded);
  }
  strata::profile_file file;
  problem = file.read(std::move(text));
  if (!problem.empty()) return problem;
  if (!file.traced()) return "It has no GPU work: record with STRATA=trace.";
  run = strata::read_rank(file);
  return {};
}

/// Why this is no rank with steps; nothing where it is one.
std::string flaw_of(strata::rank_run const& run) {
  if (run.rank < 0) return "It has no rank: MPI, torchrun and Slurm give one, and so does RANK=N.";
  if (run.recorded_steps == 0) return "It has no steps: mark them with STRATA_STEP() or step=NAME.";
  return {};
}

/// What was run, without its arguments: they may have the rank in them.
std::string program_of(strata::rank_run const& run) {
  return std::string(strata::detail::program_of(run.command));
}

/// What keeps ranks from being those of one run; nothing where they are.
std::string difference(strata::vec<strata::rank_run> const& runs) {
  strata::rank_run const& first = runs.front();
  bool by_step = true;
  for (strata::rank_run const& run : runs) by_step = by_step && run.by_step;
  for (strata::rank_run const& run : runs) {
    std::string const both =
        "Of " + rank_name(first.rank) + " and " + rank_name(run.rank) + " the ";
    if (program_of(run) != program_of(first))
      return both + "programs are " + program_of(first) + " and " + program_of(run) +
             ": give the ranks of one run";
    if (!by_step && run.recorded_steps != first.recorded_steps)
      return both + "means are of " + std::to_string(first.recorded_steps) + " and " +
             std::to_string(run.recorded_steps) +
             " steps: record the same with active=, or with formats=recording, of which the steps "
             "that all have are compared";
  }
  return {};
}

/// The ranks below the highest one that are not there, as a part of a sentence; empty where all
/// are. Requires: the ranks are in order.
std::string missing_ranks(strata::vec<strata::rank_run> const& runs) {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> named;
  std::size_t missing = 0;
  std::int32_t expected = 0;
  for (strata::rank_run const& run : runs) {
    missing += static_cast<std::size_t>(run.rank - expected);
    for (; expected < run.rank && named.size() < most_named; ++expected)
      named.push_back(std::to_string(expected));
    expected = run.rank + 1;
  }
  if (missing == 0) return {};
  std::string list;
  for (std::string const& rank : named) strata::detail::add_part(list, rank);
  if (missing > named.size()) list += ", ...";
  return "Of ranks 0 to " + std::to_string(runs.back().rank) + " there is no " + list +
         ": copy what is missing";
}

/// What the result says, and the sentences about it.
struct told_ranks {
  std::string answer;
  std::vector<std::string> notes;
};

/// Where the last rank has its extra time.
std::string cause_of(strata::rank_comparison const& made) {
  strata::rank_row const& last = made.last();
  strata::vec<double> others;
  for (strata::rank_row const& row : made.ranks)
    if (row.rank != last.rank) others.push_back(row.work_ns);
  double const more = last.work_ns - strata::detail::median(std::move(others));
  strata::rank_spread const* const extra = made.extra();
  if (extra != nullptr && extra->last_more_ns >= last.late_ns / 2)
    return range_name(extra->path) + " takes " + time_text(extra->last_more_ns) +
           " more than the median of the others";
  if (more >= last.late_ns / 2) {
    std::string const work =
        "its work takes " + time_text(more) + " more than the median of the others";
    if (extra == nullptr || extra->last_more_ns < more / 10) return work + ", in no single range";
    return work + ", the most of it, " + time_text(extra->last_more_ns) + ", " +
           range_name(extra->path);
  }
  bool const works_longer = more >= last.late_ns / 10;
  return (works_longer ? "its GPU works " + time_text(more) +
                             " longer than the median of the others, and for the rest its host"
                       : std::string("its GPU works no longer than the others', so its host")) +
         " is late: strata explain tells where its GPU is idle";
}

/// Why nothing can be said.
std::string undecided_by(strata::rank_comparison const& made) {
  if (!made.same_collectives)
    return "the ranks take part in different collectives, so compare those that take part in the "
           "same with --anyway";
  return std::to_string(made.steps) + (made.steps == 1 ? " step is" : " steps are") +
         " too few to tell, record " + std::to_string(strata::fewest_rank_steps) +
         " or more beside the first";
}

std::string answer_of(strata::rank_comparison const& made) {
  strata::rank_row const& last = made.last();
  std::string const steps = std::to_string(made.steps);
  std::string const when = made.by_step
                               ? "in " + std::to_string(last.times_last) + " of " + steps + " steps"
                               : "in the mean of " + steps + " steps";
  std::string const share = strata::detail::human_percent(last.late_ns, last.step_ns);
  std::string const amount =
      "by " + time_text(last.late_ns) + (share.empty() ? "" : " (" + share + " % of the step)");
  switch (made.verdict) {
    case strata::rank_verdict::stands_out:
      return "Rank " + std::to_string(last.rank) + " is last " + when + ", " + amount + ": " +
             cause_of(made) + ".";
    case strata::rank_verdict::undecided:
      return "Undecided: " + undecided_by(made) + "; " + rank_name(last.rank) + " is last " + when +
             ", " + amount + ".";
    default:
      break;
  }
  bool const is_noise = last.late_ns <= made.noise_ns;
  return "No rank stands out: the latest, " + rank_name(last.rank) + ", is last " + when + ", " +
         amount + ", " + (is_noise ? "within the noise" : "less than 1 % of the step") + ".";
}

/// What the numbers are, and what was not there to tell more.
void add_notes(strata::rank_comparison const& made, std::vector<std::string>& notes) {
  std::string const noise = "The noise is " + time_text(made.noise_ns) + ": ";
  std::string const kernels = made.has_collectives ? "collectives" : "kernels";
  if (made.by_step)
    notes.push_back(noise + "how much a rank's lateness differs from step to step.");
  else
    notes.push_back(noise + "how much a rank's " + kernels + " differ from launch to launch.");
  if (!made.by_step)
    notes.push_back("Mean steps are compared: formats=recording tells how often a rank is last.");
  if (!made.has_collectives)
    notes.push_back(
        "No kernel is a collective of NCCL: work alone is compared, waiting is not known.");
}

std::string milliseconds(double ns) {
  std::string const text = strata::detail::fixed_string(ns / 1e6, 3);
  return text == "-0.000" ? "0.000" : text;
}

void print_ranks(strata::rank_comparison const& made) {
  print("\n%6s %10s %10s %10s %10s %10s %10s %6s  %s\n", "rank", "step", "GPU busy", "work",
        "transfer", "wait", "late", "last", "host, device (ms a step, the latest first)");
  std::size_t const shown = std::min(most_rows, made.ranks.size());
  for (std::size_t i = 0; i < shown; ++i) {
    strata::rank_row const& row = made.ranks[i];
    std::string const transfer = made.has_collectives ? milliseconds(row.transfer_ns) : "-";
    std::string const wait = made.has_collectives ? milliseconds(row.wait_ns) : "-";
    std::string const times = made.by_step ? std::to_string(row.times_last) : "-";
    print("%6d %10s %10s %10s %10s %10s %10s %6s  %s, %s\n", row.rank,
          milliseconds(row.step_ns).c_str(), milliseconds(row.busy_ns).c_str(),
          milliseconds(row.work_ns).c_str(), transfer.c_str(), wait.c_str(),
          milliseconds(row.late_ns).c_str(), times.c_str(), console_text(row.host).c_str(),
          console_text(row.device).c_str());
  }
  if (shown < made.ranks.size())
    print("and %zu ranks that are less late\n", made.ranks.size() - shown);
}

void print_ranges(strata::rank_comparison const& made) {
  if (made.ranges.empty()) return;
  print("\n%10s %10s %10s %9s  %s\n", "min", "median", "max", "max rank",
        "range (ms of own work a step, the largest spread first)");
  std::size_t const shown = std::min(most_rows, made.ranges.size());
  for (std::size_t i = 0; i < shown; ++i) {
    strata::rank_spread const& range = made.ranges[i];
    print("%10s %10s %10s %9d  %s\n", milliseconds(range.min_ns).c_str(),
          milliseconds(range.median_ns).c_str(), milliseconds(range.max_ns).c_str(), range.max_rank,
          console_text(path_label(range.path)).c_str());
  }
  if (shown < made.ranges.size()) print("and %zu more\n", made.ranges.size() - shown);
}

char const* verdict_name(strata::rank_verdict verdict) {
  switch (verdict) {
    case strata::rank_verdict::stands_out:
      return "stands_out";
    case strata::rank_verdict::none_stands_out:
      return "none_stands_out";
    default:
      return "undecided";
  }
}

void write_ranks(strata::detail::json_writer& json, strata::rank_comparison const& made) {
  strata::detail::write_list(json, "ranks", made.ranks, [&json](strata::rank_row const& row) {
    json.integer("rank", row.rank);
    json.text("host", row.host);
    json.text("device", row.device);
    json.number("step_ns", row.step_ns);
    json.number("gpu_busy_ns", row.busy_ns);
    json.number("work_ns", row.work_ns);
    json.number("transfer_ns", row.transfer_ns);
    json.number("wait_ns", row.wait_ns);
    json.number("late_ns", row.late_ns);
    json.number("deviation_ns", row.deviation_ns);
    json.integer("times_last", row.times_last);
  });
}

void write_ranges(strata::detail::json_writer& json, strata::rank_comparison const& made) {
  strata::detail::write_list(json, "ranges", made.ranges,
                             [&json](strata::rank_spread const& range) {
                               json.text("path", range.path);
                               json.number("min_ns", range.min_ns);
                               json.number("median_ns", range.median_ns);
                               json.number("max_ns", range.max_ns);
                               json.integer("max_rank", range.max_rank);
                               json.number("last_more_ns", range.last_more_ns);
                             });
}

void write_result(strata::detail::text_writer& out, strata::rank_comparison const& made,
                  told_ranks const& summary) {
  strata::detail::json_writer json(out);
  json.object();
  json.line();
  strata::detail::write_schema(json, "strata.ranks", 1);
  json.line();
  json.text("verdict", verdict_name(made.verdict));
  json.text("answer", summary.answer);
  json.line();
  json.array("notes");
  for (std::string const& note : summary.notes) json.text({}, note);
  json.end_array();
  json.line();
  json.boolean("by_step", made.by_step);
  json.boolean("has_collectives", made.has_collectives);
  json.boolean("same_collectives", made.same_collectives);
  json.integer("steps", made.steps);
  json.number("noise_ns", made.noise_ns);
  write_ranks(json, made);
  write_ranges(json, made);
  json.line();
  json.end_object();
  out.put('\n');
}

class ranks_command final : public subcommand {
 public:
  char const* name() const override { return command_name; }
  char const* about() const override { return "Tell which rank of a distributed run is last"; }
  std::string details() const override {
    return "FOLDER is the out= of a run, whose folders rank0, rank1, ... have a recording or "
           "profile.json; or several of these:\n\n"
           "  STRATA=trace,formats=recording,out=run srun -n 8 ./train\n"
           "  strata ranks run\n\n"
           "  work      time in which the GPU ran something that is no collective\n"
           "  transfer  of collectives, the least time of all ranks: what they need\n"
           "  wait      the rest of them: what the rank waited for the last one to come\n"
           "  late      how much less it waits than the median of the others\n\n"
           "A rank stands out that is late by 1 % of the step and by more than the noise.\n\n"
           "Exit code: 0 no rank stands out, 1 one does, 2 an argument or a file, 3 no way to "
           "tell.";
  }
  void declare(arguments& takes) override {
    takes.rest("FOLDER", paths_, 1, "the folder of a run, or of each rank");
    takes.output("--json", json_, "the result for programs");
    takes.flag("--anyway", anyway_, "where ranks are missing, or differ in program or steps");
  }
  exit_code run() override {
    if (!read_runs() || !check_runs()) return exit_code::unusable;
    bool const is_uneven = has_other_steps();
    strata::rank_comparison const made = strata::compare_ranks(runs_);
    if (made.steps == 0)
      return refuse(name(), paths_.front(),
                    "The ranks have no step in common: record the same steps with active=.");
    summary_.answer = answer_of(made);
    add_notes(made, summary_.notes);
    if (made.by_step && is_uneven)
      summary_.notes.push_back("The ranks recorded other steps: those that all have are compared.");
    auto const write = [&](strata::detail::text_writer& out) { write_result(out, made, summary_); };
    print("%s\n", console_text(summary_.answer).c_str());
    print_ranks(made);
    print_ranges(made);
    print("\n");
    for (std::string const& note : summary_.notes) print("note: %s\n", console_text(note).c_str());
    if (!write_file(name(), json_, write)) return exit_code::unusable;
    switch (made.verdict) {
      case strata::rank_verdict::stands_out:
        return exit_code::found;
      case strata::rank_verdict::none_stands_out:
        return exit_code::fine;
      default:
        return exit_code::undecided;
    }
  }

 private:
  bool refuse_run(std::string const& path, std::string const& why) const {
    (void)refuse(name(), path, why);
    return false;
  }
  /// Reads all ranks, in their order. Errors: a line on stderr, and false.
  bool read_runs() {
    std::vector<std::pair<std::int32_t, std::string>> read;
    for (std::string const& path : paths_) {
      auto const files = profiles_in(path, {recording_name, "profile.json", recording_part_name});
      if (files.empty())
        return refuse_run(path,
                          "Neither the folder nor a folder in it has a profile.strata or "
                          "profile.json: give the out= of the run.");
      for (std::string const& file : files) {
        strata::rank_run run;
        std::string problem = read_run(file, run);
        if (problem.empty()) problem = flaw_of(run);
        if (!problem.empty()) return refuse_run(file, problem);
        read.emplace_back(run.rank, file);
        runs_.push_back(std::move(run));
      }
    }
    std::sort(read.begin(), read.end());
    for (std::size_t i = 1; i < read.size(); ++i)
      if (read[i].first == read[i - 1].first)
        return refuse_run(read[i].second, "It is " + rank_name(read[i].first) + ", and so is " +
                                              read[i - 1].second + ": give one run.");
    runs_.sort(
        [](strata::rank_run const& a, strata::rank_run const& b) { return a.rank < b.rank; });
    return true;
  }
  /// Whether ranks recorded steps that others did not.
  bool has_other_steps() const {
    for (strata::rank_run const& run : runs_)
      if (run.steps != runs_.front().steps) return true;
    return false;
  }
  /// Whether these are the ranks of one run, or are to be compared anyway.
  bool check_runs() {
    if (runs_.size() == 1)
      return refuse_run(paths_.front(), "It has " + rank_name(runs_.front().rank) +
                                            " alone: give the folder that has all of them.");
    for (std::string const& problem : {difference(runs_), missing_ranks(runs_)}) {
      if (problem.empty()) continue;
      if (!anyway_)
        return refuse_run(paths_.front(), problem + ", or compare these with --anyway.");
      summary_.notes.push_back("Compared all the same: " + problem + ".");
    }
    return true;
  }

  std::vector<std::string> paths_;
  std::string json_;
  bool anyway_ = false;
  strata::vec<strata::rank_run> runs_;
  told_ranks summary_;
};

}  // namespace

subcommand_pointer make_ranks() { return std::make_unique<ranks_command>(); }

}  // namespace tools
