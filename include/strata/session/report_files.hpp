#ifndef STRATA_SESSION_REPORT_FILES_HPP
#define STRATA_SESSION_REPORT_FILES_HPP

#include <strata/profile/loss_advice.hpp>
#include <strata/session/recording_stream.hpp>
#include <strata/session/report_side.hpp>

#include <sys/ioctl.h>

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
    for (std::string const& problem : all) {
      std::size_t known = 0;
      while (known < before && !same_but_for_digits(printed_[known], problem)) ++known;
      if (known != before) continue;
      problems.push_back(problem);
      printed_.push_back(problem);
    }
  }

  /// One was written. `keep` not 0: so many stay, the last ones. Only this session's files go.
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

  vec<report> kept_;
  vec<std::string> printed_;  // problems, in earlier reports
  int next_ = 1;
};

/// The files of one report: where each is, and which could not be written where they should be.
class written_files {
 public:
  /// Where the files are wanted, first; then where they go instead.
  void add(output_directory const& made) { folders_.push_back({made, {}}); }

  /// Writes one, in the first folder that takes it. `add_folder` finds another folder, once it is
  /// needed. Returns: whether it is there.
  bool write(char const* name, file_content const& content, callback<bool()> add_folder) {
    for (std::size_t i = 0; i < folders_.size(); ++i) {
      int const error = folders_[i].directory.put(name, content);
      if (error == 0) {
        folders_[i].files.emplace_back(name);
        if (i != 0) refused_.emplace_back(name);
        return true;
      }
      if (error_ == 0) error_ = error;
      if (i + 1 == folders_.size() && !add_folder()) break;
    }
    refused_.emplace_back(name);
    return false;
  }

  /// One was written in the first folder, by somebody else.
  void add_written(char const* name) { folders_.front().files.emplace_back(name); }

  /// Where a file is; nothing where it could not be written.
  std::string folder_of(std::string_view name) const {
    for (folder const& here : folders_)
      for (std::string const& file : here.files)
        if (file == name) return here.directory.path();
    return {};
  }

  output_directory const& wanted() const noexcept { return folders_.front().directory; }
  vec<std::string> const& in_wanted() const noexcept { return folders_.front().files; }
  bool has_folder() const noexcept { return !folders_.empty(); }
  bool refused() const noexcept { return !refused_.empty(); }

  /// All that could not be written where they should be, and where they are instead.
  status outcome() const {
    if (refused_.empty()) return {};
    std::string text = sentence("cannot write ")
                       << output_directory::joined(wanted().path(), refused_) << ": "
                       << output_directory::reason(error_);
    char const* before = "; instead there are ";
    for (std::size_t i = 1; i < folders_.size(); ++i) {
      if (folders_[i].files.empty()) continue;
      text += before + output_directory::joined(folders_[i].directory.path(), folders_[i].files);
      before = " and ";
    }
    if (error_ != text_writer::file_lost) text += output_directory::fix;
    return {errc::input_output, text};
  }

  void say_written() const {
    for (folder const& here : folders_) {
      if (here.files.empty()) continue;
      say(("wrote " + output_directory::joined(here.directory.path(), here.files)).c_str());
    }
  }

  /// Directories that were made in vain go, but for the first one.
  void remove_empty() const {
    for (std::size_t i = 1; i < folders_.size(); ++i)
      if (folders_[i].files.empty()) folders_[i].directory.remove_empty();
  }

 private:
  struct folder {
    output_directory directory;
    vec<std::string> files;  // names
  };
  vec<folder> folders_;
  vec<std::string> refused_;
  int error_ = 0;  // the first one
};

/// All reports of one profile: files in a directory of their own, the table on the console.
class report_files {
 public:
  /// What a report takes from the environment, which a report during the run does not read:
  /// the program may change it.
  struct surroundings {
    console_look look;
    std::string spare;       ///< the folder of files that cannot be where they should
    bool on_stdout = false;  ///< the table; else on stderr
    std::string_view out = "STRATA=...,out=";  ///< how the place of the files was given
  };
  static surroundings look_around(bool on_stdout = false) {
    bool const bars = is_terminal(on_stdout);  // what reads a pipe looks for columns
    console_look const look{terminal_width(on_stdout), has_colors(on_stdout), bars};
    return {look, spare_folder(), on_stdout};
  }

  explicit report_files(options const& wanted, surroundings const& around = look_around())
      : options_(wanted), around_(around) {
    // Findings, page and traces can be made of the recording later.
    lacks_files_ = lacks_analysis() && wants_made_file(wanted);
    if (lacks_files_) options_.recording = true;
  }

  /// Whether files can go to `out`; else it becomes `spare`. Errors: input_output.
  static status find_folder(options const& wanted, std::string& out, int rank,
                            std::string const& spare) {
    if (!wants_files(wanted)) return {};
    bool const numbered = wanted.reports_windows();
    out = machine::absolute(out);
    status const asked = output_directory::probe(folder_of_rank(out, rank), numbered);
    if (asked.ok()) return {};
    if (!output_directory::probe(folder_of_rank(spare, rank), numbered).ok()) return asked;
    out = spare;
    return {asked.code(), sentence(asked.message())
                              << "; the files of this run go to " << spare
                              << (numbered ? "" : ", or the first free of -2, -3, ... of it")};
  }

  /// Makes the directory for the files of this process, where `find_folder` would have them if the
  /// place has gone. Returns: whether there is one; `outcome` is ok where it is as wanted.
  static bool make_directory(options const& wanted, int rank, std::string const& spare,
                             output_directory& made, status& outcome, int number = 1) {
    int const from = wanted.reports_windows() ? number : 0;
    std::string elsewhere = machine::absolute(wanted.out);
    outcome = made.make(folder_of_rank(elsewhere, rank), from);
    if (outcome.ok()) return true;
    outcome = find_folder(wanted, elsewhere, rank, spare);
    return made.make(folder_of_rank(elsewhere, rank), from).ok();
  }

  /// The files have all problems of the profile; the first `said` of them are not printed again.
  /// `stream`: the recording of this profile, if it was begun. `earlier`: the reports of a session
  /// that this is one of; what one of them printed is not printed again either.
  status write(profile const& source, std::size_t said = 0, recording_stream* stream = nullptr,
               kept_reports* earlier = nullptr) {
    stream_ = stream;
    if (earlier != nullptr) number_ = earlier->next();
    status outcome;
    auto const write_all = [&](made_reports const* reports) {
      reports_ = reports;
      outcome = write_files(source);
      print(source, said, earlier);
      reports_ = nullptr;
    };
    // A recording is the profile as it is: who wants no more does not pay for tables, which take as
    // much memory as the profile of many ranges.
    report_side const* const side = installed_reports();
    if (side != nullptr && wants_format_of(options_, format_source::tables)) {
      side->make(source, options_, [&](made_reports const& reports) { write_all(&reports); });
    } else {
      write_all(nullptr);
    }
    finish(source, outcome, earlier);
    return outcome;
  }

 private:
  /// In the folder of temporary files.
  static std::string spare_folder() {
    char const* const folder = variable("TMPDIR");
    return std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/strata-out";
  }

  /// What comes after the files: words about them, and what becomes of those of earlier reports.
  void finish(profile const& source, status const& outcome, kept_reports* earlier) {
    if (!outcome.ok()) say(in_terms_of_caller(outcome.message()).c_str());
    files_.say_written();
    bool const is_first = earlier == nullptr || number_ == 1;
    if (lacks_files_ && is_first) say_what_is_left();
    if (!files_.has_folder()) return;
    files_.remove_empty();
    // A window that the end of the program cut off takes no whole one's place.
    bool const broken = files_.refused();
    bool const whole = !broken && !source.steps.empty() && !files_.in_wanted().empty();
    bool const is_last = options_.reports_windows() ? whole : !files_.in_wanted().empty();
    std::int32_t const rank = source.environment.rank;
    bool const is_watched = options_.openmetrics;  // by its path
    if (is_last && (rank < 0 || is_watched))
      files_.wanted().link_latest(machine::absolute(folder_of_rank(options_.out, rank)));
    if (earlier == nullptr) return;
    if (whole) earlier->add(files_.wanted(), files_.in_wanted(), options_.keep);
    if (broken)
      output_directory::remove(files_.wanted().path(), files_.in_wanted(), files_.wanted().which());
  }

  /// A message names the option by which the place of the files was given.
  std::string in_terms_of_caller(std::string text) const {
    constexpr std::string_view usual = "STRATA=...,out=";
    std::size_t const found = text.find(usual);
    if (found != text.npos) text.replace(found, usual.size(), around_.out);
    return text;
  }

  static bool lacks_analysis() noexcept {
    report_side const* const side = installed_reports();
    return side == nullptr || !side->has_analysis;
  }

  /// The command that makes what this program cannot.
  void say_what_is_left() const {
    std::string const folder = files_.folder_of(growing_file::name);
    if (folder.empty()) return;
    std::string const word = shell_word(folder);
    std::string const text =
        sentence("findings are made from the recording: strata explain ")
        << word << "; page and trace: strata report " << word
        << "; CMake makes strata in Strata's repository: target strata_command";
    say(text.c_str());
  }

  static std::string folder_of_rank(std::string const& out, int rank) {
    return rank < 0 ? out : sentence(out) << "/rank" << rank;
  }

  void print(profile const& source, std::size_t said, kept_reports* earlier) const {
    // What the program printed comes before what is printed here; a process that is ending flushes
    // by itself, or not at all, and one that continues during the report is left alone.
    if (block().phase.load() == process_phase::running && !options_.reports_windows())
      flush_output();
    vec<std::string> problems = source.problems;
    problems.erase(problems.begin(), problems.begin() + static_cast<std::ptrdiff_t>(said));
    if (!trace_problem_.empty()) problems.push_back(trace_problem_);
    // The table shows losses; without a table they are printed as problems.
    bool const has_table = options_.table && reports_ != nullptr;
    if (!has_table)
      for (std::string const& loss : loss_advice(source))
        problems.push_back(sentence("lost: ") << loss);
    if (earlier != nullptr) earlier->leave_new(problems);
    if (has_table) {
      std::string table;
      {
        text_writer out(table);
        reports_->write_table(out, around_.look, problems);
      }
      if (around_.on_stdout) {
        std::fwrite(table.data(), 1, table.size(), stdout);
        flush_output();
      } else {
        console::print(table.data(), table.size(), console::table_ms);
      }
    } else {
      for (std::string const& problem : problems) say(problem.c_str());
    }
  }

  /// Another folder for files that cannot be written: the folder of temporary files, once. Not for
  /// a window: the next one may have room.
  bool add_folder(int rank) {
    if (options_.reports_windows() || asked_for_folder_) return false;
    asked_for_folder_ = true;
    output_directory made;
    bool const found = made.make(folder_of_rank(around_.spare, rank)).ok();
    if (found) files_.add(made);
    return found;
  }

  /// Errors: input_output, with the files that are not where they should be.
  status write_files(profile const& source) {
    if (!wants_files(options_)) return {};
    status outcome;
    output_directory made;
    stream_gone_ = stream_ != nullptr && stream_->file().has_gone();
    if (stream_ != nullptr && !stream_gone_) {
      made = stream_->file().directory();
    } else if (!make_directory(options_, source.environment.rank, around_.spare, made, outcome,
                               number_)) {
      return outcome;
    }
    files_.add(made);
    for (format_turn const turn :
         {format_turn::brief, format_turn::page, format_turn::recording, format_turn::timeline}) {
      for (report_format_entry const& format : report_formats)
        if (format.turn == turn && options_.*format.field) write_format(format, source);
    }
    return outcome.ok() ? files_.outcome() : outcome;
  }

  bool write_file(profile const& source, char const* name, file_content const& content) {
    return files_.write(name, content, [&] { return add_folder(source.environment.rank); });
  }

  void write_format(report_format_entry const& format, profile const& source) {
    if (format.format == report_format::recording) return write_profile(source);
    if (reports_ == nullptr) return;
    std::string const problem =
        reports_->write_files(format, [&](char const* name, file_content const& content) {
          (void)write_file(source, name, content);
        });
    if (!problem.empty()) trace_problem_ = problem;
  }

  void write_profile(profile const& source) {
    if (stream_ != nullptr && stream_->complete(source))
      return files_.add_written(growing_file::name);
    // What was written while the program ran has gone with its directory: the rest of it is kept.
    if (stream_ == nullptr || stream_gone_)
      (void)write_file(source, growing_file::name,
                       [&](text_writer& out) { write_recording(out, source); });
  }

  /// https://no-color.org
  static bool has_colors(bool on_stdout) noexcept {
    char const* const none = variable("NO_COLOR");
    char const* const kind = variable("TERM");
    return (none == nullptr || *none == '\0') && kind != nullptr &&
           std::strcmp(kind, "dumb") != 0 && is_terminal(on_stdout);
  }

  static bool is_terminal(bool on_stdout) noexcept {
    return isatty(on_stdout ? STDOUT_FILENO : STDERR_FILENO) != 0;
  }

  static int terminal_width(bool on_stdout) noexcept {
    if (char const* const columns = variable("COLUMNS")) {
      int const asked = std::atoi(columns);
      if (asked >= 40) return asked;
    }
    winsize size{};
    int const file = on_stdout ? STDOUT_FILENO : STDERR_FILENO;
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
    return 120;
  }

  options options_;
  surroundings around_;
  std::string trace_problem_;              ///< what a trace leaves out
  recording_stream* stream_ = nullptr;     // null where the recording was not begun
  made_reports const* reports_ = nullptr;  // null if none is wanted, or can be made
  int number_ = 1;  // the one that the directory of a window's report asks for
  written_files files_;
  bool lacks_files_ = false;       // which this program cannot make
  bool stream_gone_ = false;       // with the directory that it was begun in
  bool asked_for_folder_ = false;  // another one for files
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_REPORT_FILES_HPP
