// strata ranks: which rank of a distributed run is last, how often, by how much, and where.
#include <strata/base/json_writer.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/tables/json.hpp>
#include "analyse/change_statistics.hpp"
#include "analyse/range_paths.hpp"
#include "analyse/rank_clocks.hpp"
#include "analyse/rank_collectives.hpp"
#include "analyse/rank_comparison.hpp"
#include "analyse/rank_run.hpp"
#include "analyse/run_tables.hpp"
#include "recording/recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"
#include "profile_json.hpp"
#include "run_folders.hpp"

namespace tools {
namespace {

constexpr std::size_t max_rows = 10;

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
  strata::run_tables tables;
  if (text.rfind(strata::detail::recording_magic, 0) == 0) {
    strata::profile recorded;
    strata::status const outcome = tools::read_recording(text, recorded);
    if (!outcome.ok()) return outcome.message();
    if (strata::has_rank_steps(recorded)) {
      run = strata::read_rank(recorded);
      return {};
    }
    tables = make_run_tables(recorded);
  } else {
    problem = read_profile_json(text, tables);
    if (!problem.empty()) return problem;
  }
  if (!tables.traced) return "It has no GPU work: record with STRATA=trace.";
  run = strata::read_rank(tables);
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
  return strata::detail::program_of(run.command);
}

/// What keeps ranks from being those of one run; nothing where they are.
std::string difference(std::vector<strata::rank_run> const& runs) {
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

/// A rank that died before it had recorded two steps, of which the first one counts nowhere.
struct dead_rank {
  std::int32_t rank;
  std::string left;           ///< the file or folder that it left behind
  std::int64_t began_at = 0;  ///< since 1970; 0: not known
};

/// A rank that was read, and its file.
struct read_rank {
  std::string file;
  strata::rank_run run;
  std::size_t argument = 0;  ///< the path of the command line that it is in
};

/// Whether a file is the recording of a program that did not end.
bool is_unfinished(std::string const& file) {
  std::string const name = strata::detail::recording_part_name;
  return file.size() > name.size() &&
         file.compare(file.size() - name.size() - 1, std::string::npos, '/' + name) == 0;
}

/// What is said of the ranks that died.
std::string about_dead(std::vector<dead_rank> const& dead) {
  std::string list;
  for (dead_rank const& each : dead) strata::detail::add_part(list, std::to_string(each.rank));
  std::string const left = console_text(dead.front().left);
  if (dead.size() == 1)
    return "Rank " + list + " died before it had recorded two steps (" + left +
           "): the others are compared without it.";
  return "Ranks " + list + " died before they had recorded two steps (" + left +
         ", ...): the others are compared without them.";
}

/// The ranks below the highest one that are not there, as a part of a sentence; empty where all
/// are. Requires: the ranks are in order.
std::string missing_ranks(std::vector<strata::rank_run> const& runs,
                          std::vector<dead_rank> const& dead) {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> named;
  std::size_t missing = 0;
  std::int32_t expected = 0;
  std::vector<std::int32_t> known;
  for (strata::rank_run const& run : runs) known.push_back(run.rank);
  for (dead_rank const& each : dead)
    if (each.rank < runs.back().rank) known.push_back(each.rank);
  std::sort(known.begin(), known.end());
  for (std::int32_t const rank : known) {
    missing += static_cast<std::size_t>(rank - expected);
    for (; expected < rank && named.size() < most_named; ++expected)
      named.push_back(std::to_string(expected));
    expected = rank + 1;
  }
  if (missing == 0) return {};
  std::string list;
  for (std::string const& rank : named) strata::detail::add_part(list, rank);
  if (missing > named.size()) list += ", ...";
  return "Of ranks 0 to " + std::to_string(runs.back().rank) + " there is no " + list +
         ": copy what is missing";
}

/// What the result says, and the sentences about it.
struct rank_summary {
  std::string answer;
  std::vector<std::string> notes;
};

/// Whether losses hide where the last rank has its extra time: it may be in a range, or not.
bool is_hidden(strata::rank_comparison const& made, double more_work) {
  strata::rank_row const& last = made.last();
  double const enough = last.late_ns / 2;
  double of_others = 0;
  for (strata::rank_row const& row : made.ranks)
    if (row.rank != last.rank) of_others = std::max(of_others, row.work_lost_ns);
  auto const is_open = [enough](double least, double most) {
    return least < enough && most >= enough;
  };
  bool is_known = false;
  bool may_be = is_open(more_work - of_others, more_work + last.work_lost_ns);
  for (strata::rank_spread const& range : made.ranges) {
    is_known = is_known || range.least_more_ns >= enough;
    bool const has_losses = range.least_more_ns < range.most_more_ns;
    may_be = may_be || (has_losses && is_open(range.least_more_ns, range.most_more_ns));
  }
  return may_be && !is_known;
}

/// The GPU of the last rank where the others have another one: it may be slower.
std::string other_device(strata::rank_comparison const& made) {
  strata::rank_row const& last = made.last();
  std::string others;
  for (strata::rank_row const& row : made.ranks) {
    if (row.rank == last.rank) continue;
    if (row.device == last.device || (!others.empty() && row.device != others)) return {};
    others = row.device;
  }
  return "; it has another GPU, " + last.device + " instead of " + others;
}

/// Where the last rank has its extra time.
std::string cause_of(strata::rank_comparison const& made) {
  strata::rank_row const& last = made.last();
  std::vector<double> others;
  for (strata::rank_row const& row : made.ranks)
    if (row.rank != last.rank) others.push_back(row.work_ns);
  double const more = last.work_ns - strata::detail::median(std::move(others));
  strata::rank_spread const* const extra = made.extra();
  if (is_hidden(made, more)) return "where is not known, by what was lost (" + made.losses + ")";
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
         " is late: strata explain shows where its GPU is idle";
}

/// Why nothing can be said.
std::string undecided_by(strata::rank_comparison const& made) {
  if (!made.same_collectives)
    return "the ranks take part in different collectives, so compare those that take part in the "
           "same with --anyway";
  if (made.lost)
    return "what was lost hides it (" + made.losses +
           "), so record fewer steps, or with larger buffers= and log=";
  return std::to_string(made.steps) + (made.steps == 1 ? " step is" : " steps are") +
         " too few to tell, record " + std::to_string(strata::fewest_rank_steps) +
         " or more after the first";
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
             cause_of(made) + other_device(made) + ".";
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
    notes.push_back("Mean steps are compared: formats=recording shows how often a rank is last.");
  if (!made.losses.empty()) {
    std::string note = "Lost, " + made.losses + ": ";
    if (made.left_out > 0)
      note += std::to_string(made.left_out) +
              " steps in which a rank lost what is compared are left out.";
    else if (made.lost_ns > 0)
      note += "how late a rank is may differ by " + time_text(made.lost_ns) + ".";
    else
      note += "it does not change how late a rank is.";
    notes.push_back(note);
  }
  for (strata::rank_row const& row : made.ranks)
    if (row.device != made.ranks[0].device) {
      notes.push_back("The ranks' GPUs differ: " + made.ranks[0].device + " and " + row.device +
                      ".");
      break;
    }
  if (!made.has_collectives)
    notes.push_back(
        "No kernel is a collective: work alone is compared, waiting is not known. Record "
        "with collectives=NAME where one is.");
}

/// How far the clocks of ranks are apart, and how well collectives join them; empty where one is
/// not known.
std::string about_clocks(std::vector<strata::rank_clock> const& clocks) {
  double least = 0;
  double most = 0;
  double spread = 0;
  double drift = 0;
  for (strata::rank_clock const& clock : clocks) {
    if (!clock.known) return {};
    drift = std::max(drift, std::abs(clock.drift));
    least = std::min(least, clock.ahead_ns);
    most = std::max(most, clock.ahead_ns);
    spread = std::max(spread, clock.spread_ns);
  }
  if (clocks.size() < 2) return {};
  std::string const drifting =
      drift > 0 ? " and drift by up to " + time_text(drift * 1e9) + " a second" : std::string();
  return "By the ends of collectives the clocks of the ranks are up to " + time_text(most - least) +
         " apart" + drifting + "; single collectives differ from that by " + time_text(spread) +
         " at the median.";
}

std::string milliseconds(double ns) {
  std::string const text = strata::detail::fixed_string(ns / 1e6, 3);
  return text == "-0.000" ? "0.000" : text;
}

void print_ranks(strata::rank_comparison const& made) {
  print("\n%6s %10s %10s %10s %10s %10s %10s %6s  %s\n", "rank", "step", "GPU busy", "work",
        "transfer", "wait", "late", "last", "host, device (ms a step, the latest first)");
  std::size_t const shown = std::min(max_rows, made.ranks.size());
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
  std::size_t const shown = std::min(max_rows, made.ranges.size());
  for (std::size_t i = 0; i < shown; ++i) {
    strata::rank_spread const& range = made.ranges[i];
    print("%10s %10s %10s %9d  %s\n", milliseconds(range.min_ns).c_str(),
          milliseconds(range.median_ns).c_str(), milliseconds(range.max_ns).c_str(), range.max_rank,
          console_text(path_label(range.path)).c_str());
  }
  if (shown < made.ranges.size()) print("and %zu more\n", made.ranges.size() - shown);
}

/// 1.5 MiB, or nothing where the bytes are not known.
std::string message_text(strata::rank_collective_row const& row) {
  return row.bytes > 0.0 ? strata::detail::bytes_text(row.bytes) : "-";
}
/// 171.0 GB/s, 38 % of NVLink; 171.0 GB/s for 8 ranks, where the communicator is not known.
std::string bus_text(strata::rank_collective_row const& row) {
  if (!(row.bus_bytes_per_s > 0.0)) return "-";
  std::string text = strata::detail::fixed_string(row.bus_bytes_per_s / 1e9, 1) + " GB/s";
  if (row.link_bytes_per_s > 0.0)
    text += ", " +
            strata::detail::fixed_string(100.0 * row.bus_bytes_per_s / row.link_bytes_per_s, 0) +
            " % of NVLink";
  if (row.communicator_ranks == 0) text += " for " + std::to_string(row.ranks) + " ranks";
  return text;
}

void print_collectives(std::vector<strata::rank_collective_row> const& rows) {
  if (rows.empty()) return;
  print("\n%10s %10s %10s %6s %10s %26s  %s\n", "transfer", "wait", "longest", "rank", "message",
        "bus", "collective (ms a step, the longest first; wait: mean of the ranks)");
  std::size_t const shown = std::min(max_rows, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    strata::rank_collective_row const& row = rows[i];
    std::string what = row.operation;
    for (std::string const& more : {row.algorithm, row.protocol})
      if (!more.empty()) what += ' ' + more;
    print("%10s %10s %10s %6d %10s %26s  %s, %s in %s\n", milliseconds(row.transfer_ns).c_str(),
          milliseconds(row.wait_ns).c_str(), milliseconds(row.longest_wait_ns).c_str(),
          row.longest_wait_rank, message_text(row).c_str(), bus_text(row).c_str(),
          console_text(what).c_str(), console_text(row.kernel).c_str(),
          console_text(path_label(row.path)).c_str());
  }
  if (shown < rows.size()) print("and %zu more\n", rows.size() - shown);
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

void write_ranks(strata::detail::json_writer& json, strata::rank_comparison const& made,
                 std::map<std::int32_t, strata::rank_clock> const& clocks) {
  strata::detail::write_list(json, "ranks", made.ranks, [&](strata::rank_row const& row) {
    json.integer("rank", row.rank);
    json.text("host", row.host);
    json.text("device", row.device);
    json.number("step_ns", row.step_ns);
    json.number("gpu_busy_ns", row.busy_ns);
    json.number("work_ns", row.work_ns);
    json.number("work_lost_ns", row.work_lost_ns);
    json.number("transfer_ns", row.transfer_ns);
    json.number("wait_ns", row.wait_ns);
    json.number("late_ns", row.late_ns);
    json.number("deviation_ns", row.deviation_ns);
    json.integer("times_last", row.times_last);
    auto const clock = clocks.find(row.rank);
    if (clock == clocks.end() || !clock->second.known) {
      json.absent("clock_ahead_ns");
      json.absent("clock_drift_ns_per_s");
      json.absent("clock_spread_ns");
    } else {
      json.number("clock_ahead_ns", clock->second.ahead_ns);
      json.number("clock_drift_ns_per_s", clock->second.drift * 1e9);
      json.number("clock_spread_ns", clock->second.spread_ns);
    }
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
                               json.number("least_more_ns", range.least_more_ns);
                               json.number("most_more_ns", range.most_more_ns);
                             });
}

void write_collectives(strata::detail::json_writer& json,
                       std::vector<strata::rank_collective_row> const& rows) {
  strata::detail::write_list(json, "collectives", rows,
                             [&json](strata::rank_collective_row const& row) {
                               json.text("path", row.path);
                               json.text("kernel", row.kernel);
                               json.text("operation", row.operation);
                               json.text("algorithm", row.algorithm);
                               json.text("protocol", row.protocol);
                               json.number("bytes", row.bytes);
                               json.integer("ranks", row.ranks);
                               if (row.communicator_ranks == 0)
                                 json.absent("communicator_ranks");
                               else
                                 json.integer("communicator_ranks", row.communicator_ranks);
                               json.number("bus_bytes_per_s", row.bus_bytes_per_s);
                               json.number("link_bytes_per_s", row.link_bytes_per_s);
                               json.number("transfer_ns", row.transfer_ns);
                               json.number("wait_ns", row.wait_ns);
                               json.number("longest_wait_ns", row.longest_wait_ns);
                               json.integer("longest_wait_rank", row.longest_wait_rank);
                               json.integer("least_wait_rank", row.least_wait_rank);
                             });
}

/// What is written in addition to the comparison.
struct rank_lists {
  std::vector<strata::rank_collective_row> collectives;
  std::vector<dead_rank> dead;
  std::map<std::int32_t, strata::rank_clock> clocks;  ///< by rank
};

void write_result(strata::detail::text_writer& out, strata::rank_comparison const& made,
                  rank_summary const& summary, rank_lists const& lists) {
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
  json.integer("steps_left_out", made.left_out);
  json.boolean("lost", made.lost);
  json.number("lost_ns", made.lost_ns);
  json.number("noise_ns", made.noise_ns);
  write_ranks(json, made, lists.clocks);
  write_ranges(json, made);
  write_collectives(json, lists.collectives);
  json.line();
  json.array("dead_ranks");
  for (dead_rank const& each : lists.dead) json.integer({}, each.rank);
  json.end_array();
  json.line();
  json.end_object();
  out.put('\n');
}

class ranks_command final : public subcommand {
 public:
  char const* name() const override { return "ranks"; }
  char const* about() const override { return "Show which rank of a distributed run is last"; }
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
           "Exit code: 0 no rank stands out, 1 one does, 2 an argument or a file, 3 undecided.";
  }
  void declare(arguments& takes) override {
    takes.rest("FOLDER", paths_, 1, "the folder of a run, or of each rank");
    takes.output("--json", json_, {".json"}, "the result for programs");
    takes.flag("--anyway", anyway_, "where ranks are missing, or differ in program or steps");
  }
  exit_code run() override {
    if (!read_runs() || !check_runs()) return exit_code::unusable;
    bool const is_uneven = has_other_steps();
    std::vector<strata::rank_clock> const clocks = strata::join_clocks(runs_);
    for (std::size_t i = 0; i < runs_.size(); ++i) lists_.clocks.emplace(runs_[i].rank, clocks[i]);
    strata::rank_comparison const made = strata::compare_ranks(runs_);
    if (made.steps == 0)
      return refuse(name(), paths_.front(),
                    "The ranks have no step in common: record the same steps with active=.");
    lists_.collectives = strata::list_collectives(runs_);
    summary_.answer = answer_of(made);
    if (!lists_.dead.empty()) summary_.notes.push_back(about_dead(lists_.dead));
    add_notes(made, summary_.notes);
    std::string const joined = about_clocks(clocks);
    if (!joined.empty()) summary_.notes.push_back(joined);
    auto const is_assumed = [](strata::rank_collective_row const& row) {
      return row.bus_bytes_per_s > 0.0 && row.communicator_ranks == 0;
    };
    if (std::any_of(lists_.collectives.begin(), lists_.collectives.end(), is_assumed))
      summary_.notes.push_back(
          "How many ranks a communicator has is not known, so no share of NVLink is shown: record "
          "with NCCL_PROFILER_PLUGIN=strata.");
    if (made.by_step && is_uneven)
      summary_.notes.push_back("The ranks recorded other steps: those that all have are compared.");
    auto const write = [&](strata::detail::text_writer& out) {
      write_result(out, made, summary_, lists_);
    };
    print("%s\n", console_text(summary_.answer).c_str());
    print_ranks(made);
    print_ranges(made);
    print_collectives(lists_.collectives);
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
    report_problem(name(), path, why);
    return false;
  }
  /// Reads all ranks, in their order. Errors: a line on stderr, and false.
  bool read_runs() {
    std::vector<read_rank> read;
    for (std::size_t argument = 0; argument < paths_.size(); ++argument) {
      std::string const& path = paths_[argument];
      auto const files = profiles_in(path, file_names());
      if (files.empty() && paths_.size() > 1 && rank_of_folder(path) >= 0) {
        lists_.dead.push_back({rank_of_folder(path), path, 0});
        continue;
      }
      if (files.empty() && folders_of_ranks(path).empty())
        return refuse_run(path,
                          "Neither the folder nor a folder in it has a profile.strata or "
                          "profile.json: give the out= of the run.");
      for (std::string const& file : files) {
        strata::rank_run run;
        std::string problem = read_run(file, run);
        if (problem.empty()) problem = flaw_of(run);
        std::int32_t const rank = rank_of_folder(folder_of(file));
        bool const is_short = !problem.empty() || run.recorded_steps < 2;
        if (is_short && is_unfinished(file) && rank >= 0) {
          lists_.dead.push_back({rank, file, run.began_at});
          continue;
        }
        if (!problem.empty()) return refuse_run(file, problem);
        read.push_back({file, std::move(run), argument});
      }
    }
    keep_newest(read);
    find_dead(read);
    if (read.empty())
      return refuse_run(paths_.front(),
                        "No rank recorded two steps before it died: mark steps, and record again.");
    std::sort(read.begin(), read.end(), [](read_rank const& a, read_rank const& b) {
      return a.run.rank != b.run.rank ? a.run.rank < b.run.rank : a.file < b.file;
    });
    for (std::size_t i = 1; i < read.size(); ++i)
      if (read[i].run.rank == read[i - 1].run.rank)
        return refuse_run(read[i].file, "It is " + rank_name(read[i].run.rank) + ", and so is " +
                                            read[i - 1].file + ": give one run.");
    for (read_rank& each : read) runs_.push_back(std::move(each.run));
    return true;
  }
  /// Of several runs that wrote into one folder, leaves the ranks of the newest one.
  void keep_newest(std::vector<read_rank>& read) {
    bool is_shared = false;
    std::set<std::pair<std::size_t, std::int32_t>> found;
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    for (read_rank const& each : read) {
      bool const is_first = found.emplace(each.argument, each.run.rank).second;
      is_shared = is_shared || !is_first || is_of_later_run(folder_of(each.file));
      times.emplace_back(each.run.began_at, each.run.ended_at);
    }
    for (dead_rank const& each : lists_.dead)
      is_shared = is_shared || is_of_later_run(each.left) || is_of_later_run(folder_of(each.left));
    std::int64_t const newest = is_shared ? begin_of_newest(std::move(times)) : 0;
    if (newest == 0) return;
    std::size_t const all = read.size();
    auto const is_older = [newest](read_rank const& each) { return each.run.began_at < newest; };
    read.erase(std::remove_if(read.begin(), read.end(), is_older), read.end());
    auto const died_before = [newest](dead_rank const& each) {
      return each.began_at != 0 && each.began_at < newest;
    };
    lists_.dead.erase(std::remove_if(lists_.dead.begin(), lists_.dead.end(), died_before),
                      lists_.dead.end());
    summary_.notes.push_back(about_newest("compared", read.size(), all - read.size()));
  }
  /// Those in a folder that have nothing to read.
  static std::vector<std::string> folders_of_ranks(std::string const& path) {
    std::vector<std::string> folders = folders_without(path, file_names());
    auto const is_other = [](std::string const& folder) { return rank_of_folder(folder) < 0; };
    folders.erase(std::remove_if(folders.begin(), folders.end(), is_other), folders.end());
    return folders;
  }
  /// Folders of ranks that have nothing to read. A rank that another folder has did not die.
  void find_dead(std::vector<read_rank> const& read) {
    for (std::string const& path : paths_)
      for (std::string const& folder : folders_of_ranks(path))
        lists_.dead.push_back({rank_of_folder(folder), folder, 0});
    auto const lives = [&read](dead_rank const& each) {
      for (read_rank const& other : read)
        if (other.run.rank == each.rank) return true;
      return false;
    };
    auto const by_rank = [](dead_rank const& a, dead_rank const& b) { return a.rank < b.rank; };
    lists_.dead.erase(std::remove_if(lists_.dead.begin(), lists_.dead.end(), lives),
                      lists_.dead.end());
    std::sort(lists_.dead.begin(), lists_.dead.end(), by_rank);
  }
  static std::vector<std::string> const& file_names() {
    static std::vector<std::string> const names{recording_name, "profile.json",
                                                recording_part_name};
    return names;
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
    for (std::string const& problem : {difference(runs_), missing_ranks(runs_, lists_.dead)}) {
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
  std::vector<strata::rank_run> runs_;
  rank_summary summary_;
  rank_lists lists_;
};

}  // namespace

subcommand_pointer make_ranks() { return std::make_unique<ranks_command>(); }

}  // namespace tools
