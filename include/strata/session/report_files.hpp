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
#include <strata/report/json.hpp>
#include <strata/report/table.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/trace.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(_WIN32)
#include <direct.h>
#endif
#if defined(__linux__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// A directory of its own for the files of one run.
class output_directory {
 public:
  /// Makes the directory, with its parents; where it exists already, the first free of `-2`, `-3`,
  /// ... beside it.
  status make(std::string const& wanted) {
    std::string path = wanted;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      (void)make_one(path.substr(0, slash));
    }
    for (int number = 1; number <= most_runs; ++number) {
      path_ = number == 1 ? path : path + "-" + std::to_string(number);
      int const error = make_one(path_);
      if (error == 0) return {};
      if (error != EEXIST) return failure(path_, error);
      if (!is_directory(path_)) return failure(path_, EEXIST);
    }
    return failure(path, EEXIST);
  }

  std::string const& path() const noexcept { return path_; }

  /// Writes one file under a temporary name and renames it when it is whole.
  template <class Fill>
  status write(char const* name, Fill fill) const {
    std::string const whole = path_ + "/" + name;
    std::string const part = whole + ".part";
    std::FILE* const file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return failure(part, errno);
    int error = 0;
    {
      text_writer out(file);
      fill(out);
      if (!out.flush()) error = out.error();
    }
    if (std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && std::rename(part.c_str(), whole.c_str()) != 0) error = errno;
    if (error == 0) return {};
    (void)std::remove(part.c_str());
    return failure(whole, error);
  }

 private:
  static constexpr int most_runs = 10'000;

  static int make_one(std::string const& path) noexcept {
#if defined(_WIN32)
    return _mkdir(path.c_str()) == 0 ? 0 : errno;
#else
    return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
#endif
  }

  static bool is_directory(std::string const& path) noexcept {
#if defined(_WIN32)
    struct _stat64 found {};
    return _stat64(path.c_str(), &found) == 0 && (found.st_mode & _S_IFDIR) != 0;
#else
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
#endif
  }

  static status failure(std::string const& path, int error) {
    return {errc::input_output, "cannot write " + path + ": " + std::strerror(error) +
                                    "; choose another place with STRATA=...,out=DIRECTORY"};
  }

  std::string path_;
};

/// All reports of one profile: the files in a directory of their own, the table on stderr.
class report_files {
 public:
  explicit report_files(options const& wanted) : options_(&wanted) {}

  /// The files tell all problems of the profile; the first `said` of them are not printed again.
  status write(profile& source, std::size_t said = 0) {
    call_tree const tree(source);
    call_tree const folded(source, folding::by_name);
    vec<kernel_row> const kernels = make_kernel_table(source, tree);
    memory_table const memory = make_memory_table(source, tree);
    report_input input(source, tree, folded, kernels, memory);
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
    status const outcome = write_files(input);
    std::fflush(stdout);  // what the program printed stands above what is printed here
    vec<std::string> const problems = source.problems;
    source.problems.erase(source.problems.begin(),
                          source.problems.begin() + static_cast<std::ptrdiff_t>(said));
    if (options_->table) {
      text_writer out(stderr);
      write_table(out, input, {terminal_width(), false, most_rows});
    } else {
      for (std::string const& problem : source.problems) say(problem.c_str());
    }
    source.problems = problems;
    if (!outcome.ok()) {
      say(outcome.message().c_str());
    } else if (!written_.empty()) {
      std::fprintf(stderr, "strata: wrote %s/{%s}\n", directory_.path().c_str(), written_.c_str());
    }
    return outcome;
  }

 private:
  static constexpr std::size_t most_rows = 60;

  status write_files(report_input const& input) {
    if (!options_->csv && !options_->json && !options_->chrome_trace) return {};
    std::string place = options_->out;
    if (input.source.environment.rank >= 0)
      place += "/rank" + std::to_string(input.source.environment.rank);
    status outcome = directory_.make(place);
    if (!outcome.ok()) return outcome;
    auto const file = [&](std::string const& name, auto fill) {
      if (!outcome.ok()) return;
      outcome = directory_.write(name.c_str(), fill);
      if (outcome.ok()) written_ += (written_.empty() ? "" : ",") + name;
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
    if (options_->json) file("profile.json", [&](text_writer& out) { write_json(out, input); });
    if (options_->chrome_trace)
      file("trace.json", [&](text_writer& out) { write_trace(out, input); });
    return outcome;
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
  output_directory directory_;
  std::string written_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_REPORT_FILES_HPP
