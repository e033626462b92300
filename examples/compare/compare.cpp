// compare [options] BEFORE AFTER; see usage.
//
// What changed between runs of a program, by range. Exit code: 0 no regression, 1 a regression or
// no way to tell, 2 usage.
#include <strata/compare.hpp>
#include <strata/report/comparison_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "output.hpp"

namespace {

constexpr char usage[] =
    R"(compare [options] BEFORE AFTER
compare [options] --baseline BEFORE [--baseline BEFORE ...] AFTER [AFTER ...]

BEFORE and AFTER are profile.json, or folders that have one or whose folders have one: each is a run.
Three runs of each side tell the noise between runs.

  --baseline PATH     a run before the change, or a folder of runs
  --fail-over 5%      how much slower a step or a range may be
  --accepted FILE     slowdowns that are known, each a line: path,step|host|gpu,10%,reason
                      such as block[*]/mlp,gpu,10%,exact GELU; of a step the path is empty;
                      lines that begin with # are comments
  --least-share 2%    of a step; what has less cannot make the result inconclusive
  --run-noise 1%      how much the step's time differs between runs, where it is known
  --anyway            judge also runs of other devices, processors, settings or work
  --range PATH        all columns of this range (block[*] or block[3]), instead of the ranges' times
  --factors COLUMNS   after / before of these columns, by range: kernels,gpu_busy_ns,hbm_bytes
  --html FILE         the result as a page: one file, no network
  --json FILE         the result for programs
  --markdown FILE     the result as a table for a comment
  --help              this text

--option=value is taken as well. Marks of the lines:
  SLOWER              beyond the limit and beyond noise
  unsure              it looks slower than the limit, but its noise can do that
  accepted            slower than the limit, as a line of --accepted allows

Exit code: 0 no regression, 1 a regression or no way to tell, 2 usage.
)";

struct options {
  strata::compare_options compare;
  std::vector<std::string> before, after;
  std::string range, factors, accepted, html, json, markdown;
};

int refuse(std::string const& what, std::string const& why) {
  std::fprintf(stderr, "compare: %s: %s\n", strata::detail::console_text(what).c_str(),
               strata::detail::console_text(why).c_str());
  return 2;
}

/// Puts the value of an option to its place.
/// Returns: what the option takes, where the value is none; nothing where it is one; a text of
/// length 0 where there is no such option.
char const* take_value(std::string const& name, std::string const& value, options& to) {
  struct {
    char const* name;
    char const* takes;
    double* share;
    std::string* text;
    std::vector<std::string>* list;
  } const all[] = {
      {"--baseline", "the path of a run or of a folder", nullptr, nullptr, &to.before},
      {"--fail-over", "a percentage such as 5%", &to.compare.limit, nullptr, nullptr},
      {"--accepted", "the path of a file", nullptr, &to.accepted, nullptr},
      {"--least-share", "a percentage such as 2%", &to.compare.least_share, nullptr, nullptr},
      {"--run-noise", "a percentage such as 1%", &to.compare.run_noise, nullptr, nullptr},
      {"--range", "the path of a range, such as block[*]", nullptr, &to.range, nullptr},
      {"--factors", "names of columns, such as kernels,gpu_busy_ns", nullptr, &to.factors, nullptr},
      {"--html", "the path of a file", nullptr, &to.html, nullptr},
      {"--json", "the path of a file", nullptr, &to.json, nullptr},
      {"--markdown", "the path of a file", nullptr, &to.markdown, nullptr},
  };
  for (auto const& each : all) {
    if (name != each.name) continue;
    if (value.empty()) return each.takes;
    if (each.share != nullptr)
      return strata::detail::read_percentage(value, *each.share) ? nullptr : each.takes;
    if (each.text != nullptr)
      *each.text = value;
    else
      each.list->push_back(value);
    return nullptr;
  }
  return "";
}

/// Returns: what is wrong, in a sentence without its end; nothing where the command line is right.
std::string read_options(int argc, char** argv, options& to) {
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word.size() < 2 || word[0] != '-') {
      paths.push_back(word);
      continue;
    }
    std::size_t const mark = word.find('=');
    std::string const name = word.substr(0, mark);
    if (name == "--anyway") {
      if (mark != word.npos) return "--anyway takes no value";
      to.compare.anyway = true;
      continue;
    }
    bool const follows =
        mark == word.npos && i + 1 < argc && std::string_view(argv[i + 1]).substr(0, 2) != "--";
    std::string const value = mark != word.npos ? word.substr(mark + 1)
                              : follows         ? argv[i + 1]
                                                : "";
    char const* const takes = take_value(name, value, to);
    if (takes != nullptr && *takes == 0) return "there is no option '" + name + "'";
    if (takes != nullptr)
      return name + " takes " + takes + (value.empty() ? "" : ", not '" + value + "'");
    if (follows) ++i;
  }
  if (!to.before.empty()) {
    if (paths.empty()) return "--baseline is given, and no run after it to compare with";
  } else if (paths.empty()) {
    return "no path is given: BEFORE and AFTER are needed";
  } else if (paths.size() == 1) {
    return "only '" + paths[0] + "' is given: BEFORE and AFTER are needed";
  } else if (paths.size() > 2) {
    return (paths.size() == 3 ? "three" : std::to_string(paths.size())) +
           " paths need --baseline for each that is before the change";
  } else {
    to.before.push_back(paths[0]);
    paths.erase(paths.begin());
  }
  to.after = paths;
  return {};
}

/// Returns: why the file cannot be read; nothing where it is.
std::string read_file(std::string const& path, std::string& text) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "It cannot be opened.";
  char part[1 << 16];
  for (std::size_t got; text.size() <= most && (got = std::fread(part, 1, sizeof part, file)) > 0;)
    text.append(part, got);
  bool const broken = std::ferror(file) != 0;
  std::fclose(file);
  if (broken) return "It cannot be read.";
  return text.size() > most ? "It has more than 1 GiB: record fewer steps." : "";
}

/// The profile of a folder, or those of its folders in the order of their names.
std::vector<std::string> profiles_in(std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  fs::path const own = fs::path(path) / "profile.json";
  if (fs::exists(own, error)) return {own.string()};
  std::vector<std::string> found;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    fs::path const inner = at->path() / "profile.json";
    std::error_code absent;
    if (fs::exists(inner, absent)) found.push_back(inner.string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Reads the runs of a side. Returns: 0, or 2 and a line on stderr.
int read_side(std::vector<std::string> const& paths, std::deque<strata::profile_file>& files,
              strata::vec<strata::profile_file const*>& side) {
  for (std::string const& path : paths) {
    auto const profiles = profiles_in(path);
    if (profiles.empty())
      return refuse(path, "Neither the folder nor a folder in it has a profile.json.");
    for (std::string const& each : profiles) {
      std::string text;
      std::string problem = read_file(each, text);
      files.emplace_back();
      if (problem.empty()) problem = files.back().read(std::move(text));
      if (!problem.empty()) return refuse(each, problem);
      side.push_back(&files.back());
      auto const rank = [](strata::profile_file const& of) {
        return of.number("environment", "rank", -1);
      };
      if (rank(*side.back()) != rank(*side[0]))
        return refuse(path, "It has profiles of several ranks: give the folder of one rank.");
    }
  }
  return 0;
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

char const* mark(strata::compared_range const& of) {
  if (of.slower) return "  SLOWER";
  switch (of.verdict) {
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
  std::printf("%12s %12s %12s %18s  range (ms a step, largest change first)\n", "change", "before",
              "after", "change +-noise");
  std::size_t left_out = 0, unsure = 0, accepted = 0, once = 0;
  for (strata::compared_range const& each : c.ranges) {
    if (&each >= c.ranges.begin() + most && !each.slower) {
      ++left_out;
      continue;
    }
    unsure += !each.slower && each.verdict == strata::range_verdict::unsure;
    accepted += !each.slower && each.verdict == strata::range_verdict::accepted;
    range_line const line(each);
    once += each.once;
    std::printf("%+12.4f %12.4f %12.4f %18s  %s (%s%s)%s\n", each.change_ms(), line.before_ms,
                line.after_ms, line.change.c_str(), strata::detail::console_text(each.path).c_str(),
                line.time, each.once ? ", once" : "", mark(each));
  }
  if (left_out > 0) std::printf("and %zu more\n", left_out);
  if (once > 0) std::puts("once: in no step, so milliseconds of the whole run");
  if (unsure > 0) std::puts("unsure: it looks slower than the limit, but its noise can do that");
  if (accepted > 0) std::puts("accepted: slower than the limit, as a line of --accepted allows");
}

strata::compared_column const* find_column(strata::compared_range const& of,
                                           std::string_view name) {
  for (strata::compared_column const& each : of.columns)
    if (each.name == name) return &each;
  return nullptr;
}

/// A line for each range with a column of them, in the order of the largest changes.
bool print_factors(strata::comparison const& c, std::string_view wanted) {
  std::vector<std::string> names;
  for (std::size_t end = 0; !wanted.empty();
       wanted.remove_prefix((std::min)(end + 1, wanted.size()))) {
    end = (std::min)(wanted.find(','), wanted.size());
    names.emplace_back(strata::detail::trimmed(wanted.substr(0, end)));
  }
  for (std::string const& name : names) {
    bool found = false;
    for (strata::compared_range const& each : c.ranges)
      found = found || find_column(each, name) != nullptr;
    if (!found) {
      refuse(name, "No range of all profiles has this column: --range PATH prints those of one.");
      return false;
    }
    std::printf("%*s ", (std::max)(8, static_cast<int>(name.size())), name.c_str());
  }
  std::puts(" range (factors of a mean step, after / before)");
  for (strata::compared_range const& each : c.ranges) {
    for (std::string const& name : names) {
      strata::compared_column const* const column = find_column(each, name);
      std::string const text = column == nullptr ? "-" : factor(column->before, column->after);
      std::printf("%*s ", (std::max)(8, static_cast<int>(name.size())), text.c_str());
    }
    std::printf(" %s\n", strata::detail::console_text(each.path).c_str());
  }
  return true;
}

/// Those that are 0 on both sides are left out.
bool print_columns(strata::comparison const& c, std::string const& path) {
  strata::compared_range const* const range = c.find(path);
  if (range == nullptr) {
    refuse(path, "No range of this path is in all profiles.");
    return false;
  }
  std::printf(
      "%24s %26s %26s %8s  (%s)\n", "column", "before", "after", "factor",
      c.before_steps > 0 && c.after_steps > 0 && !range->once ? "a mean step" : "of the whole run");
  for (strata::compared_column const& each : range->columns)
    if (each.before != 0 || each.after != 0)
      std::printf("%24s %26s %26s %8s\n", strata::detail::console_text(each.name).c_str(),
                  value_text(each, each.before).c_str(), value_text(each, each.after).c_str(),
                  factor(each.before, each.after).c_str());
  return true;
}

/// What would be seen of a step.
std::string told_text(double resolution) {
  if (resolution > 10) return "no slowdown is detectable";
  return "smallest detectable slowdown: " + strata::detail::fixed_string(100 * resolution, 1) +
         " %";
}

void print_sums(strata::comparison const& c) {
  if (c.before_steps > 0 && c.after_steps > 0)
    std::printf("step: %.4f ms and %.4f ms (median of %zu and %zu), factor %s\n", c.before_ms,
                c.after_ms, c.before_steps, c.after_steps, factor(c.before_ms, c.after_ms).c_str());
  if (c.noise > 0)
    std::printf("noise: %.1f %% %s; %s\n", 100 * c.noise,
                c.runs_known ? "with that between runs" : "within the runs",
                told_text(c.resolution).c_str());
  if (c.noisy_times > 0)
    std::printf("ranges: %zu of %zu times are too noisy to show a slowdown of twice the limit%s\n",
                c.noisy_times, c.judged_times,
                c.runs_known ? "" : "; several runs of each side show more");
  if (c.geometric_mean > 0) std::printf("ranges: factor %.3f (geometric mean)\n", c.geometric_mean);
}

/// Returns: whether the file is written; otherwise a line is on stderr.
template <class Write>
bool write_file(std::string const& path, Write const& write) {
  if (path.empty()) return true;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  bool good = file != nullptr;
  if (good) {
    {
      strata::detail::text_writer out(file);
      write(out);
      good = out.flush();
    }
    good = std::fclose(file) == 0 && good;
  }
  if (!good) refuse(path, "It cannot be written.");
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help" || std::string_view(argv[i]) == "-h")
      return std::fputs(usage, stdout) < 0 ? 2 : 0;
  options chosen;
  std::string const wrong = read_options(argc, argv, chosen);
  if (!wrong.empty()) {
    std::fprintf(stderr, "compare: %s\ncompare --help tells all options\n",
                 strata::detail::console_text(wrong).c_str());
    return 2;
  }
  if (!chosen.accepted.empty()) {
    std::string text;
    std::string problem = read_file(chosen.accepted, text);
    if (problem.empty()) problem = strata::read_accepted(text, chosen.compare.accepted);
    if (!problem.empty()) return refuse(chosen.accepted, problem);
  }
  std::deque<strata::profile_file> files;
  strata::vec<strata::profile_file const*> before, after;
  if (read_side(chosen.before, files, before) != 0 || read_side(chosen.after, files, after) != 0)
    return 2;
  strata::comparison const c = strata::compare(before, after, chosen.compare);
  using strata::detail::text_writer;
  bool const written =
      write_file(chosen.html,
                 [&](text_writer& to) { write_comparison_html(to, c, chosen.compare); }) &&
      write_file(chosen.json,
                 [&](text_writer& to) { write_comparison_json(to, c, chosen.compare); }) &&
      write_file(chosen.markdown, [&](text_writer& to) { write_comparison_markdown(to, c); });
  if (!written) return 2;
  if (!chosen.range.empty() && !print_columns(c, chosen.range)) return 2;
  if (!chosen.factors.empty() && !print_factors(c, chosen.factors)) return 2;
  if (chosen.range.empty() && chosen.factors.empty()) print_times(c);
  for (std::string const& note : c.notes)
    std::printf("note: %s\n", strata::detail::console_text(note).c_str());
  print_sums(c);
  std::printf("%s: %s\n", to_string(c.verdict).data(),
              strata::detail::console_text(c.reason).c_str());
  return c.verdict == strata::comparison_verdict::no_regression ? 0 : 1;
}
