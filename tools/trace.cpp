// strata trace: the timeline of a recording, or of the ranks of a run, for Perfetto,
// chrome://tracing and what reads PyTorch's traces or Nsight Systems' databases.
#include "report/trace.hpp"
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile.hpp>
#include <strata/tables/table_input.hpp>
#include "analyse/rank_clocks.hpp"
#include "analyse/rank_run.hpp"
#include "report/gzip_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"
#include "nsys_tables.hpp"
#include "run_folders.hpp"

namespace tools {
namespace {

class trace_command final : public subcommand {
 public:
  char const* name() const override { return "trace"; }
  char const* about() const override { return "Write the timeline of a recording"; }
  std::string details() const override {
    return "Open it at https://ui.perfetto.dev, which reads it in the browser. Of a folder with a "
           "folder\nfor each rank, all ranks are in one timeline, by the time of day.\n"
           "A name that ends in .sqlite is written as Nsight Systems exports a run, for tools "
           "that\n"
           "read those.\n\n"
           "  strata trace strata-out --out run.json.gz";
  }
  void declare(arguments& takes) override {
    takes.required("FILE", path_, "the recording, or the folder of a run or of its ranks");
    takes.output("--out", out_, {},
                 "the timeline: .json.gz, .json, or as tables .sqlite (.sqlite3, .db)");
  }

  exit_code run() override {
    std::string const ending = ending_of(out_);
    is_compressed_ = ending == ".gz";
    has_tables_ = ending == ".sqlite" || ending == ".sqlite3" || ending == ".db";
    std::error_code error;
    bool const is_file = !std::filesystem::exists(out_, error) ||
                         std::filesystem::is_regular_file(out_, error);  // no /dev/stdout
    if (is_file && !is_compressed_ && !has_tables_ && ending != ".json")
      return refuse(name(), out_,
                    "A timeline is trace.json.gz, which Perfetto opens, trace.json, or tables of "
                    "one run in trace.sqlite: end its name so.");
    if (is_compressed_ && !strata::detail::gzip_writer::has_zlib()) {
      out_.resize(out_.size() - 3);
      is_compressed_ = false;
      say(strata::detail::gzip_writer::no_zlib);
    }
    std::vector<std::string> const files =
        profiles_in(path_, {recording_name, recording_part_name});
    if (files.size() > 1 && has_tables_)
      return refuse(name(), path_, "Tables are of one run: name the folder of one rank.");
    return files.size() > 1 ? join(files) : write_one();
  }

 private:
  strata::trace_options options() const {
    strata::trace_options how;
    how.compressed = is_compressed_;
    return how;
  }

  void say(std::string const& sentence) const {
    print_error("strata trace: %s\n", strata::detail::console_text(sentence).c_str());
  }
  void say_problems(strata::profile const& recorded, std::string const& problem,
                    std::string const& whose) const {
    for (std::string const& recorded_problem : recorded.problems) {
      bool const is_in_timeline = recorded_problem.compare(0, 8, "counters") != 0;
      if (is_in_timeline) say(whose + recorded_problem);
    }
    if (!problem.empty()) say(whose + problem);
  }
  exit_code end(bool written) const {
    if (written) say("wrote " + out_);
    return written ? exit_code::fine : exit_code::unusable;
  }

  exit_code write_one() {
    strata::profile recorded;
    if (!read_recording(name(), path_, recorded, strata::recording_view::timeline))
      return exit_code::unusable;
    strata::profile_tables tables(recorded);
    std::string problem;
    if (has_tables_) {
      problem = replace_file(
          out_, [&](std::string const& at) { return write_nsys_tables(at, tables.input()); });
      say_problems(recorded, {}, {});
      if (!problem.empty()) report_unwritten(name(), out_, problem);
      return end(problem.empty());
    }
    bool const written = write_file(name(), out_, [&](strata::detail::text_writer& out) {
      problem = strata::write_trace(out, tables.input(), options()).problem;
    });
    say_problems(recorded, problem, {});
    return end(written);
  }

  struct run_file {
    std::string path;
    std::int32_t rank;
    std::int64_t begin;
    std::int64_t began_at;  ///< its program, and when its recording ended
    std::int64_t ended_at;
    strata::rank_run ends{};  ///< of its collectives
    strata::rank_clock clock{};

    /// As it is called in sentences: `rank 3`, or its file.
    std::string called() const {
      return rank < 0 ? path : std::string(strata::detail::sentence("rank ") << rank);
    }
  };

  /// Where a rank is there twice, leaves what the newest run recorded. Returns: how many are left
  /// out.
  std::size_t keep_newest(std::vector<run_file>& runs) const {
    bool is_shared = false;
    std::set<std::int32_t> ranks;
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    for (run_file const& run : runs) {
      bool const is_first = ranks.insert(run.rank).second;
      is_shared = is_shared || !is_first || is_of_later_run(folder_of(run.path));
      times.emplace_back(run.began_at, run.ended_at);
    }
    std::int64_t const newest = is_shared ? begin_of_newest(std::move(times)) : 0;
    if (newest == 0) return 0;
    std::size_t const all = runs.size();
    runs.erase(std::remove_if(runs.begin(), runs.end(),
                              [newest](run_file const& run) { return run.began_at < newest; }),
               runs.end());
    say(about_newest("in the timeline", runs.size(), all - runs.size()));
    return all - runs.size();
  }

  /// Ranks of other hosts get the first rank's clock, by their collectives.
  void join_clocks(std::vector<run_file>& runs) const {
    std::vector<strata::rank_run> ends;
    for (run_file& run : runs) ends.push_back(std::move(run.ends));
    std::vector<strata::rank_clock> const clocks = strata::join_hosts(ends);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!clocks[i].known) continue;
      runs[i].clock = clocks[i];
      runs[i].begin -= std::llround(clocks[i].ahead_at(runs[i].begin));
      say(runs[i].called() + " is set by the collectives: its clock was " +
          strata::detail::time_text(std::abs(clocks[i].ahead_ns)) +
          (clocks[i].ahead_ns < 0 ? " behind." : " ahead."));
    }
  }

  /// Reads each recording twice, since one at a time is in memory: when all began, then what they
  /// have. What cannot be read is left out, and the exit code says so.
  exit_code join(std::vector<std::string> const& files) {
    std::vector<run_file> runs;
    for (std::string const& file : files) {
      strata::profile recorded;
      if (!read_recording(name(), file, recorded, strata::recording_view::timeline)) continue;
      std::int64_t const began_at = recorded.environment.started_at_unix_ns;
      std::int32_t const rank = recorded.environment.rank;
      runs.push_back({file, rank < 0 ? rank_of_folder(folder_of(file)) : rank,
                      strata::trace_begin(recorded), began_at, began_at + recorded.end});
      if (strata::has_rank_steps(recorded)) runs.back().ends = strata::read_rank(recorded);
      if (runs.back().begin != 0) continue;
      runs.pop_back();
      report_problem(name(), file,
                     "It does not say when it began, so it has no place beside the others: record "
                     "it again, or name its folder alone.");
    }
    if (runs.empty()) return exit_code::unusable;
    std::size_t const left_out = keep_newest(runs);
    std::stable_sort(runs.begin(), runs.end(),
                     [](run_file const& a, run_file const& b) { return a.rank < b.rank; });
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (runs[i].rank >= 0 && runs[i].rank == runs[i - 1].rank)
        return refuse(name(), runs[i].path,
                      "It is " + runs[i].called() + ", and so is " + runs[i - 1].path +
                          ": name a folder that has one run.");
    join_clocks(runs);
    std::size_t joined_runs = 0;
    bool const written = write_file(name(), out_, [&](strata::detail::text_writer& out) {
      auto const first =
          std::min_element(runs.begin(), runs.end(),
                           [](run_file const& a, run_file const& b) { return a.begin < b.begin; });
      strata::joined_trace joined(out, first->begin, options());
      for (run_file const& run : runs) {
        strata::profile recorded;
        if (!read_recording(name(), run.path, recorded, strata::recording_view::timeline)) {
          say(run.called() + " is not in the timeline: its recording has changed.");
          continue;
        }
        if (run.clock.known) strata::set_clock(recorded, run.clock);
        strata::profile_tables tables(recorded);
        std::string const whose = run.rank < 0 ? std::string() : run.called() + ": ";
        say_problems(recorded, joined.add(tables.input()).problem, whose);
        ++joined_runs;
      }
      joined.finish();
    });
    exit_code const outcome = end(written);
    if (joined_runs + left_out == files.size()) return outcome;
    if (written)
      say(strata::detail::sentence()
          << joined_runs << " of " << files.size() - left_out << " recordings are in it");
    return exit_code::unusable;
  }

  std::string path_;
  std::string out_ = "trace.json.gz";
  bool is_compressed_ = false;
  bool has_tables_ = false;
};

}  // namespace

subcommand_pointer make_trace() { return std::make_unique<trace_command>(); }

}  // namespace tools
