#include <strata/version.hpp>
#ifndef STRATA_SESSION_REPORT_FILES_HPP
#define STRATA_SESSION_REPORT_FILES_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/analyse/memory_table.hpp>
#include <strata/annotate/process.hpp>
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
#include <strata/report/recorded_fields.hpp>
#include <strata/report/table.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/trace.hpp>
#include <strata/session/machine.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#if defined(_WIN32)
#include <direct.h>
#endif
#if defined(__linux__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// What a file is filled with: refers to a function of a text_writer.
class file_content {
 public:
  template <class Fill>
  file_content(Fill const& fill) noexcept
      : fill_(&fill),
        run_([](void const* of, text_writer& out) { (*static_cast<Fill const*>(of))(out); }) {}

  void write(text_writer& out) const { run_(fill_, out); }

 private:
  void const* fill_;
  void (*run_)(void const*, text_writer&);
};

/// A directory of its own for the files of one run.
class output_directory {
 public:
  /// Makes the directory, with its parents; where it is there already, or a file of its name, the
  /// first free of `-2`, `-3`, ... beside it. `numbered_from` not 0: the first free of `001`,
  /// `002`, ... within it, from that number on.
  status make(std::string const& wanted, int numbered_from = 0) {
    bool const numbered = numbered_from != 0;
    int const first = numbered ? numbered_from : 1;
    if (wanted.empty()) return failure(wanted, ENOENT);
    std::string path = wanted;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (numbered) path += '/';
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      (void)make_one(path.substr(0, slash));
    }
    for (int number = first; number - first < most_runs; ++number) {
      number_ = number;
      path_ = path + (numbered      ? three_digits(number)
                      : number == 1 ? std::string()
                                    : "-" + std::to_string(number));
      int const error = make_one(path_);
      if (error == 0) return {};
      if (error != EEXIST || is_special(path_)) return failure(path_, error);
    }
    return failure(path, EEXIST);
  }

  std::string const& path() const noexcept { return path_; }
  /// That of a numbered directory.
  int number() const noexcept { return number_; }

  /// What a directory is, whatever its name: a link may take its place, or another process make one
  /// of the same name.
  struct identity {
    bool known = false;
    std::uint64_t device = 0;
    std::uint64_t file = 0;
    std::int64_t modified = 0;
  };
  identity which() const noexcept {
    identity is;
#if defined(__linux__) || defined(__APPLE__)
    struct stat found {};
    is.known = ::lstat(path_.c_str(), &found) == 0;
    if (is.known) is = identity_of(found);
#endif
    return is;
  }

  /// Removes these files (`a,b`), and the directory if nothing else is in it: neither where it is
  /// another directory than it was, nor files that were written since. Not on Windows.
  static void remove(std::string const& path, std::string_view files, identity const& made) {
#if defined(__linux__) || defined(__APPLE__)
    int const folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    struct stat now {};
    bool const same = made.known && ::fstat(folder, &now) == 0 &&
                      identity_of(now).device == made.device && identity_of(now).file == made.file;
    while (same && !files.empty()) {
      std::size_t const comma = (std::min)(files.find(','), files.size());
      std::string const name(files.substr(0, comma));
      // The last change of the directory was the rename of the report's last file.
      if (::fstatat(folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
          machine::modified(now) <= made.modified)
        (void)::unlinkat(folder, name.c_str(), 0);
      files.remove_prefix((std::min)(comma + 1, files.size()));
    }
    ::close(folder);
    if (same) remove_empty(path);
#else
    (void)path, (void)files, (void)made;
#endif
  }

  /// Whether `make` would succeed; only parents stay behind.
  static status probe(std::string const& wanted, bool numbered = false) {
    output_directory made;
    status const outcome = made.make(wanted, numbered ? 1 : 0);
    if (outcome.ok()) remove_empty(made.path_);
    return outcome;
  }

  /// Writes one file under a temporary name and renames it when it is whole.
  status write(char const* name, file_content const& content) const {
    std::FILE* file = nullptr;
    status const begun = begin(name, file);
    if (!begun.ok()) return begun;
    int error = 0;
    {
      text_writer out(file);
      content.write(out);
      if (!out.flush()) error = out.error();
    }
    return end(name, file, error);
  }

  /// Begins a file under its temporary name, with `.part` behind it.
  status begin(char const* name, std::FILE*& file) const {
    std::string const part = path_ + "/" + name + ".part";
    file = std::fopen(part.c_str(), "wbe");
    if (file == nullptr) return failure(part, errno);
    // The text_writer has a buffer. A second one here would be written again by a child that the
    // program forks meanwhile.
    (void)std::setvbuf(file, nullptr, _IONBF, 0);
    return {};
  }

  /// Ends it: gives it its name, or removes it where there was an error.
  status end(char const* name, std::FILE* file, int error) const {
    std::string const whole = path_ + "/" + name;
    std::string const part = whole + ".part";
    if (std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(part.c_str(), whole.c_str()) != 0) error = errno;
    if (error == 0) return {};
    (void)std::remove(part.c_str());
    return failure(whole, error);
  }

 private:
  static constexpr int most_runs = 10'000;

  static std::string three_digits(int number) {
    std::string const text = std::to_string(number);
    return std::string(text.size() < 3 ? 3 - text.size() : 0, '0') + text;
  }

#if defined(__linux__) || defined(__APPLE__)
  static identity identity_of(struct stat const& found) noexcept {
    return {true, static_cast<std::uint64_t>(found.st_dev),
            static_cast<std::uint64_t>(found.st_ino), machine::modified(found)};
  }
#endif

  static void remove_empty(std::string const& path) noexcept {
#if defined(_WIN32)
    (void)_rmdir(path.c_str());
#else
    (void)::rmdir(path.c_str());
#endif
  }

  static int make_one(std::string const& path) noexcept {
#if defined(_WIN32)
    return _mkdir(path.c_str()) == 0 ? 0 : errno;
#else
    return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
#endif
  }

  /// Neither a directory nor a file: nothing is made beside /dev/null.
  static bool is_special(std::string const& path) noexcept {
#if defined(_WIN32)
    struct _stat64 found {};
    return _stat64(path.c_str(), &found) != 0 || (found.st_mode & (_S_IFDIR | _S_IFREG)) == 0;
#else
    struct stat found {};
    return ::stat(path.c_str(), &found) != 0 || !(S_ISDIR(found.st_mode) || S_ISREG(found.st_mode));
#endif
  }

  static status failure(std::string const& path, int error) {
    return {errc::input_output, "cannot write " + path + ": " + std::strerror(error) +
                                    "; choose another place with STRATA=...,out=DIRECTORY"};
  }

  std::string path_;
  int number_ = 0;
};

/// The reports of a session's windows, each in a numbered directory. Threads: one at a time.
class window_reports {
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
  void add(output_directory const& made, std::string const& files, std::size_t keep) {
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
    std::string files;
    output_directory::identity made;
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
  explicit report_files(options const& wanted, trace_options const& trace = {},
                        table_options const& table = terminal())
      : options_(&wanted), trace_options_(trace), table_options_(table) {}

  /// The table for the terminal. It reads the environment, which a report beside the running
  /// program leaves alone.
  static table_options terminal() noexcept {
    return {terminal_width(), has_colors(), most_rows, !has_utf8()};
  }

  /// Whether the files of a run can go where they should. Where they cannot, `wanted.out` becomes
  /// a folder of temporary files.
  /// Errors: input_output: it was changed, or there is no such folder either.
  static status find_place(options& wanted, int rank) {
    if (!wants_files(wanted)) return {};
    bool const numbered = wanted.reports_windows();
    if (numbered) wanted.out = machine::absolute(wanted.out);
    status const asked = output_directory::probe(place(wanted.out, rank), numbered);
    if (asked.ok()) return {};
    char const* const folder = std::getenv("TMPDIR");
    std::string const other =
        std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/strata-out";
    if (!output_directory::probe(place(other, rank), numbered).ok()) return asked;
    wanted.out = other;
    return {asked.code(), asked.message() + "; the files of this run go to " + other +
                              (numbered ? "" : ", or the first free of -2, -3, ... of it")};
  }

  /// Makes the directory for the files of this process, where `find_place` would have them if the
  /// place has gone. Returns: whether there is one; `outcome` is ok where it is as wanted.
  static bool make_directory(options const& wanted, int rank, output_directory& made,
                             status& outcome, int number = 1) {
    int const from = wanted.reports_windows() ? number : 0;
    outcome = made.make(place(wanted.out, rank), from);
    if (outcome.ok()) return true;
    options elsewhere = wanted;
    outcome = find_place(elsewhere, rank);
    return made.make(place(elsewhere.out, rank), from).ok();
  }

  /// The files have all problems of the profile; the first `said` of them are not printed again.
  /// `trace`: the trace of this profile, if it was begun. `windows`: those that this is one of;
  /// what an earlier one of them printed is not printed again either.
  status write(profile& source, std::size_t said = 0, running_trace* trace = nullptr,
               window_reports* windows = nullptr) {
    trace_ = trace;
    if (windows != nullptr) number_ = windows->next();
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
    // What the program printed comes before what is printed here; a process that is ending flushes
    // by itself, or not at all, and one that goes on beside the report is left alone.
    if (block().phase.load() == process_phase::running && !options_->reports_windows())
      std::fflush(stdout);
    vec<std::string> const problems = source.problems;
    source.problems.erase(source.problems.begin(),
                          source.problems.begin() + static_cast<std::ptrdiff_t>(said));
    if (!trace_problem_.empty()) source.problems.push_back(trace_problem_);
    if (windows != nullptr) windows->leave_new(source.problems);
    if (options_->table) {
      text_writer out(stderr);
      write_table(out, input, table_options_);
    } else {
      for (std::string const& problem : source.problems) say(problem.c_str());
    }
    source.problems = problems;
    if (!outcome.ok()) say(outcome.message().c_str());
    if (!written_.empty()) {
      bool const several = written_.find(',') != written_.npos;  // a shell expands {a,b}, not {a}
      std::fprintf(stderr, several ? "strata: wrote %s/{%s}\n" : "strata: wrote %s/%s\n",
                   directory_.path().c_str(), written_.c_str());
      // A window that the end of the program cut off takes no whole one's place.
      if (windows != nullptr && !broken_ && !source.steps.empty())
        windows->add(directory_, written_, options_->keep);
    }
    if (windows != nullptr && broken_)
      output_directory::remove(directory_.path(), written_, directory_.which());
    return outcome;
  }

 private:
  static constexpr std::size_t most_rows = 60;

  static bool wants_files(options const& wanted) noexcept {
    return wanted.csv || wanted.json || wanted.chrome_trace || wanted.perfetto || wanted.html ||
           wanted.recording;
  }

  static std::string place(std::string const& out, int rank) {
    return rank < 0 ? out : out + "/rank" + std::to_string(rank);
  }

  status write_files(report_input const& input) {
    if (!wants_files(*options_)) return {};
    status outcome;
    if (trace_ != nullptr) {
      directory_ = trace_->directory();
    } else if (!make_directory(*options_, input.source.environment.rank, directory_, outcome,
                               number_)) {
      return outcome;
    }
    auto const file = [&](std::string const& name, file_content const& content) {
      status const done = directory_.write(name.c_str(), content);
      if (done.ok()) written_ += (written_.empty() ? "" : ",") + name;
      broken_ = broken_ || !done.ok();
      if (outcome.ok()) outcome = done;
    };
    if (options_->csv) {
      file("ranges.csv", [&](text_writer& out) { write_ranges_csv(out, input); });
      file("kernels.csv", [&](text_writer& out) { write_kernels_csv(out, input); });
      file("memory.csv", [&](text_writer& out) { write_memory_csv(out, input); });
      if (!input.source.spans.empty())
        file("spans.csv", [&](text_writer& out) { write_spans_csv(out, input); });
      for (counter_tables const& each : input.counters) {
        counter_table const& table = each.ranges;
        file(table.name + ".csv", [&](text_writer& out) { write_counters_csv(out, input, table); });
        file(table.name + "_wide.csv",
             [&](text_writer& out) { write_counters_wide_csv(out, input, table); });
      }
    }
    if (options_->json) {
      file("findings.json", [&](text_writer& out) { write_findings(out, input); });
      file("profile.json", [&](text_writer& out) { write_json(out, input); });
    }
    if (options_->chrome_trace)
      file("trace.json", [&](text_writer& out) {
        trace_problem_ = write_trace(out, input, trace_options_).problem;
      });
    if (trace_ != nullptr) {
      std::string remark;
      if (trace_->complete(input, remark))
        written_ += (written_.empty() ? "" : ",") + std::string(trace_->file_name());
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
  table_options table_options_;
  std::string trace_problem_;  ///< what a trace leaves out
  running_trace* trace_ = nullptr;
  output_directory directory_;
  int number_ = 1;  // the one that the directory of a window's report asks for
  std::string written_;
  bool broken_ = false;  // a file could not be written
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_REPORT_FILES_HPP
