#include <strata/version.hpp>
#ifndef STRATA_SESSION_REPORT_FILES_HPP
#define STRATA_SESSION_REPORT_FILES_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/analyse/memory_table.hpp>
#include <strata/annotate/process.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/csv.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/html.hpp>
#include <strata/report/json.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/recording_format.hpp>
#include <strata/report/table.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/trace.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/output_directory.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// The reports that a session with `trigger=` or `every=` has written of its windows, each in a
/// numbered directory: how many stay, and what was printed. Threads: one at a time.
class kept_reports {
 public:
  /// The number that the next report asks for.
  int next() const noexcept { return next_; }

  /// Leaves the problems that no earlier report printed, numbers aside: they differ at each window.
  void leave_new(vec<std::string>& problems) {
    std::size_t const before = printed_.size();
    vec<std::string> const all = std::exchange(problems, {});
    for (std::string const& each : all) {
      std::size_t known = 0;
      while (known < before && !same_but_for_numbers(printed_[known], each)) ++known;
      if (known != before) continue;
      problems.push_back(each);
      printed_.push_back(each);
    }
  }

  /// One was written. `keep` not 0: so many stay, the last ones. Only files that were written here
  /// are removed.
  void add(output_directory const& made, vec<std::string> const& files, std::size_t keep) {
    next_ = made.number() + 1;
    if (keep == 0) return;
    kept_.push_back({made.path(), files, made.which()});
    while (kept_.size() > keep) {
      output_directory::remove(kept_.front().directory, kept_.front().files, kept_.front().made);
      kept_.erase(kept_.begin());
    }
  }

 private:
  struct report {
    std::string directory;
    vec<std::string> files;
    file_identity made;
  };

  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  /// Whether two texts are the same, but for the digits in them.
  static bool same_but_for_numbers(std::string_view one, std::string_view other) noexcept {
    auto const next = [](std::string_view text, std::size_t from) {
      while (from < text.size() && is_digit(text[from])) ++from;
      return from;
    };
    std::size_t i = next(one, 0);
    std::size_t j = next(other, 0);
    for (; i < one.size() && j < other.size() && one[i] == other[j]; j = next(other, j + 1))
      i = next(one, i + 1);
    return i == one.size() && j == other.size();
  }

  vec<report> kept_;
  vec<std::string> printed_;  // problems, in earlier reports
  int next_ = 1;
};

/// A trace that was begun before the report, in the directory of its files.
class running_trace {
 public:
  virtual char const* file_name() const noexcept = 0;
  virtual output_directory const& directory() const noexcept = 0;
  /// Writes the rest. Returns: whether the file is there; `remark` says what it leaves out.
  virtual bool complete(report_input const& input, std::string& remark) = 0;

 protected:
  ~running_trace() = default;
};

/// All reports of one profile: the files in a directory of their own, the table on stderr.
class report_files {
 public:
  /// What a report takes from the environment, which one beside the running program leaves alone:
  /// the program may change it.
  struct surroundings {
    table_options table;
    std::string spare;  ///< the place of files that cannot be where they should
  };
  static surroundings look_around() {
    return {{terminal_width(), has_colors(), most_rows, !has_utf8()}, spare_place()};
  }

  explicit report_files(options const& wanted, trace_options const& trace = {},
                        surroundings const& around = look_around())
      : options_(&wanted), trace_options_(trace), around_(around) {}

  /// Whether the files of a run can go to `out`. Where they cannot, it becomes `spare`.
  /// Errors: input_output: it was changed, or there is no such folder either.
  static status find_place(options const& wanted, std::string& out, int rank,
                           std::string const& spare) {
    if (!wants_files(wanted)) return {};
    bool const numbered = wanted.reports_windows();
    if (numbered) out = machine::absolute(out);
    status const asked = output_directory::probe(place(out, rank), numbered);
    if (asked.ok()) return {};
    if (!output_directory::probe(place(spare, rank), numbered).ok()) return asked;
    out = spare;
    return {asked.code(), sentence(asked.message())
                              << "; the files of this run go to " << spare
                              << (numbered ? "" : ", or the first free of -2, -3, ... of it")};
  }

  /// Makes the directory for the files of this process, where `find_place` would have them if the
  /// place has gone. Returns: whether there is one; `outcome` is ok where it is as wanted.
  static bool make_directory(options const& wanted, int rank, std::string const& spare,
                             output_directory& made, status& outcome, int number = 1) {
    int const from = wanted.reports_windows() ? number : 0;
    outcome = made.make(place(wanted.out, rank), from);
    if (outcome.ok()) return true;
    std::string elsewhere = wanted.out;
    outcome = find_place(wanted, elsewhere, rank, spare);
    return made.make(place(elsewhere, rank), from).ok();
  }

  /// The files have all problems of the profile; the first `said` of them are not printed again.
  /// `trace`: the trace of this profile, if it was begun. `earlier`: the reports of a session
  /// that this is one of; what one of them printed is not printed again either.
  status write(profile& source, std::size_t said = 0, running_trace* trace = nullptr,
               kept_reports* earlier = nullptr) {
    trace_ = trace;
    if (earlier != nullptr) number_ = earlier->next();
    call_tree const tree(source);
    call_tree const folded(source, folding::by_name);
    vec<kernel_row> const kernels = make_kernel_table(source, tree);
    memory_table const memory = make_memory_table(source, tree);
    report_input input(source, tree, folded, kernels, memory);
    input.sort = static_cast<row_order>(options_->sort);
    input.trace_file = options_->chrome_trace ? "trace.json"
                       : options_->perfetto   ? "trace.perfetto-trace"
                                              : "";
    kernel_counter_table kernel_counters;
    for (counter_set const& set : source.counter_sets) {
      if (!set.values.empty()) {
        input.counters.push_back({make_counter_table(source, tree, set.name),
                                  make_counter_table(source, folded, set.name)});
      }
      if (!set.kernels.empty()) {
        kernel_counters = make_kernel_counter_table(source, tree, kernels);
        input.kernel_counters = &kernel_counters;
      }
    }
    if (options_->table || options_->json || options_->html) input.find_answer(folded);
    status const outcome = write_files(input);
    print(source, input, said, earlier);
    if (!outcome.ok()) say(outcome.message().c_str());
    say_written();
    // A window that the end of the program cut off takes no whole one's place.
    if (earlier != nullptr && !written_.empty() && !broken_ && !source.steps.empty())
      earlier->add(directory_, written_, options_->keep);
    if (earlier != nullptr && broken_)
      output_directory::remove(directory_.path(), written_, directory_.which());
    return outcome;
  }

 private:
  static constexpr std::size_t most_rows = 60;

  static bool wants_files(options const& wanted) noexcept {
    return wanted.csv || wanted.json || wanted.chrome_trace || wanted.perfetto || wanted.html ||
           wanted.recording;
  }

  /// In the folder of temporary files.
  static std::string spare_place() {
    char const* const folder = std::getenv("TMPDIR");
    return std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/strata-out";
  }

  static std::string place(std::string const& out, int rank) {
    return rank < 0 ? out : sentence(out) << "/rank" << rank;
  }

  void print(profile& source, report_input const& input, std::size_t said,
             kept_reports* earlier) const {
    // What the program printed comes before what is printed here; a process that is ending flushes
    // by itself, or not at all, and one that goes on beside the report is left alone.
    if (block().phase.load() == process_phase::running && !options_->reports_windows())
      std::fflush(stdout);
    vec<std::string> const problems = source.problems;
    source.problems.erase(source.problems.begin(),
                          source.problems.begin() + static_cast<std::ptrdiff_t>(said));
    if (!trace_problem_.empty()) source.problems.push_back(trace_problem_);
    if (earlier != nullptr) earlier->leave_new(source.problems);
    if (options_->table) {
      text_writer out(stderr);
      write_table(out, input, around_.table);
    } else {
      for (std::string const& problem : source.problems) say(problem.c_str());
    }
    source.problems = problems;
  }

  void say_written() const {
    if (written_.empty()) return;
    std::string names;
    for (std::string const& each : written_) add_part(names, each, ",");
    bool const several = written_.size() > 1;  // a shell expands {a,b}, not {a}
    std::fprintf(stderr, several ? "strata: wrote %s/{%s}\n" : "strata: wrote %s/%s\n",
                 directory_.path().c_str(), names.c_str());
  }

  status write_files(report_input const& input) {
    if (!wants_files(*options_)) return {};
    status outcome;
    if (trace_ != nullptr) {
      directory_ = trace_->directory();
    } else if (!make_directory(*options_, input.source.environment.rank, around_.spare, directory_,
                               outcome, number_)) {
      return outcome;
    }
    auto const file = [&](char const* name, file_content const& content) {
      status const done = directory_.write(name, content);
      if (done.ok()) written_.emplace_back(name);
      broken_ = broken_ || !done.ok();
      if (outcome.ok()) outcome = done;
    };
    auto const report = [&](char const* name, void (*fill)(text_writer&, report_input const&)) {
      file(name, [&](text_writer& out) { fill(out, input); });
    };
    if (options_->csv) {
      report("ranges.csv", &write_ranges_csv);
      report("kernels.csv", &write_kernels_csv);
      report("memory.csv", &write_memory_csv);
      if (!input.source.spans.empty()) report("spans.csv", &write_spans_csv);
      for (counter_tables const& each : input.counters) {
        counter_table const& table = each.ranges;
        file((table.name + ".csv").c_str(),
             [&](text_writer& out) { write_counters_csv(out, input, table); });
        file((table.name + "_wide.csv").c_str(),
             [&](text_writer& out) { write_counters_wide_csv(out, input, table); });
      }
    }
    if (options_->json) {
      report("findings.json", &write_findings);
      report("profile.json", &write_json);
    }
    if (options_->chrome_trace)
      file("trace.json", [&](text_writer& out) {
        trace_problem_ = write_trace(out, input, trace_options_).problem;
      });
    if (trace_ != nullptr) {
      std::string remark;
      if (trace_->complete(input, remark)) written_.emplace_back(trace_->file_name());
      if (!remark.empty()) trace_problem_ = remark;
    } else if (options_->perfetto) {
      file("trace.perfetto-trace", [&](text_writer& out) {
        std::string const problem = write_perfetto(out, input).problem;
        if (!problem.empty()) trace_problem_ = problem;
      });
    }
    if (options_->html) file("report.html", [&](text_writer& out) { write_html(out, input); });
    if (options_->recording)
      file("profile.strata", [&](text_writer& out) { write_recording(out, input.source); });
    return outcome;
  }

  /// https://no-color.org
  static bool has_colors() noexcept {
#if defined(__linux__) || defined(__APPLE__)
    char const* const none = std::getenv("NO_COLOR");
    char const* const kind = std::getenv("TERM");
    return (none == nullptr || *none == '\0') && kind != nullptr &&
           std::strcmp(kind, "dumb") != 0 && isatty(STDERR_FILENO) != 0;
#else
    return false;
#endif
  }

  /// Whether the environment does not name a locale of another encoding, as LC_ALL=C does.
  static bool has_utf8() noexcept {
    for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
      char const* const locale = std::getenv(name);
      if (locale == nullptr || *locale == '\0') continue;
      for (char const* at = locale; *at != '\0'; ++at)
        if ((at[0] | 0x20) == 'u' && (at[1] | 0x20) == 't' && (at[2] | 0x20) == 'f') return true;
      return false;
    }
    return true;
  }

  static int terminal_width() noexcept {
    if (char const* const columns = std::getenv("COLUMNS")) {
      int const asked = std::atoi(columns);
      if (asked >= 40) return asked;
    }
#if defined(__linux__) || defined(__APPLE__)
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
#endif
    return 120;
  }

  options const* options_;
  trace_options trace_options_;
  surroundings around_;
  std::string trace_problem_;  ///< what a trace leaves out
  running_trace* trace_ = nullptr;
  output_directory directory_;
  int number_ = 1;            // the one that the directory of a window's report asks for
  vec<std::string> written_;  // names of files
  bool broken_ = false;       // a file could not be written
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_REPORT_FILES_HPP
