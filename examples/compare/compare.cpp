// compare [--fail-over 5%] [--range PATH] before/profile.json after/profile.json
//
// What changed between two runs, by range. Exit code: 0 no regression, 1 a regression or no way to
// tell, 2 usage.
#include <strata/compare.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace {

constexpr char usage[] =
    "compare [--fail-over 5%] [--range PATH] before/profile.json after/profile.json\n"
    "\n"
    "  --fail-over 5%  how much slower a step or a range may be\n"
    "  --range PATH    all columns of this range (block[*] or block[3]), instead of the ranges' "
    "times\n"
    "\n"
    "Exit code: 0 no regression, 1 a regression or no way to tell, 2 usage.\n";

struct options {
  double limit = 0.05;
  char const* range = nullptr;
  char const* files[2] = {};
};

bool read_limit(char const* text, double& limit) {
  char* end = nullptr;
  limit = std::strtod(text, &end) / 100;
  return end != text && std::strcmp(end, "%") == 0 && limit >= 0 && limit < 100;
}

bool read_options(int argc, char** argv, options& to) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    bool const more = i + 1 < argc;
    if (word == "--fail-over" && more) {
      if (!read_limit(argv[++i], to.limit)) return false;
    } else if (word == "--range" && more) {
      to.range = argv[++i];
    } else if (files < 2 && word.substr(0, 2) != "--") {
      to.files[files++] = argv[i];
    } else {
      return false;
    }
  }
  return files == 2;
}

/// False, and a line on stderr, where the file is no profile.
bool read_profile(char const* path, strata::profile_file& to) {
  std::FILE* const file = std::fopen(path, "rb");
  std::string problem = "It cannot be opened.";
  if (file != nullptr) {
    std::string text;
    char part[1 << 16];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;)
      text.append(part, got);
    bool const broken = std::ferror(file) != 0;
    std::fclose(file);
    problem = broken ? "It cannot be read." : to.read(std::move(text));
  }
  if (!problem.empty()) std::fprintf(stderr, "compare: %s: %s\n", path, problem.c_str());
  return problem.empty();
}

std::string factor(double before, double after) {
  return before > 0 ? strata::detail::fixed_string(after / before, 3) : "-";
}

/// Times with their unit, counts with all digits.
std::string value_text(std::string const& column, double value) {
  bool const time = column.size() > 3 && column.compare(column.size() - 3, 3, "_ns") == 0;
  if (time) return strata::detail::human_time(value).text();
  bool const whole = value >= 0 && value < 1e18 && std::floor(value) == value;
  return whole ? strata::detail::in_groups(static_cast<std::uint64_t>(value))
               : strata::detail::significant(value);
}

void print_times(strata::comparison const& c) {
  if (c.ranges.empty()) return;
  std::printf("%12s %12s %12s %8s  range (ms a step, largest change first)\n", "change", "before",
              "after", "factor");
  std::size_t lines = 0;
  for (strata::compared_range const& each : c.ranges) {
    if (++lines > 20) {
      std::printf("and %zu more\n", c.ranges.size() - 20);
      break;
    }
    std::printf("%+12.4f %12.4f %12.4f %8s  %s (%s)%s\n", each.change_ms(), each.before_ms,
                each.after_ms, factor(each.before_ms, each.after_ms).c_str(), each.path.c_str(),
                each.gpu ? "GPU" : "host", each.slower ? "  SLOWER" : "");
  }
}

bool print_columns(strata::comparison const& c, char const* path) {
  strata::compared_range const* const range = c.find(path);
  if (range == nullptr) {
    std::fprintf(stderr, "compare: no range '%s' is in both profiles.\n", path);
    return false;
  }
  std::printf("%24s %20s %20s %8s  (of the whole run)\n", "column", "before", "after", "factor");
  for (strata::compared_column const& each : range->columns)
    std::printf("%24s %20s %20s %8s\n", each.name.c_str(),
                value_text(each.name, each.before).c_str(),
                value_text(each.name, each.after).c_str(), factor(each.before, each.after).c_str());
  return true;
}

void print_sums(strata::comparison const& c) {
  if (c.before_steps > 0 && c.after_steps > 0)
    std::printf("step: %.4f ms and %.4f ms (median of %zu and %zu), factor %s\n", c.before_ms,
                c.after_ms, c.before_steps, c.after_steps, factor(c.before_ms, c.after_ms).c_str());
  if (c.geometric_mean > 0) std::printf("ranges: factor %.3f (geometric mean)\n", c.geometric_mean);
}

char const* word(strata::comparison_verdict verdict) {
  switch (verdict) {
    case strata::comparison_verdict::no_regression:
      return "no regression";
    case strata::comparison_verdict::regression:
      return "regression";
    default:
      return "inconclusive";
  }
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  if (!read_options(argc, argv, chosen)) {
    std::fputs(usage, stderr);
    return 2;
  }
  strata::profile_file before, after;
  if (!read_profile(chosen.files[0], before) || !read_profile(chosen.files[1], after)) return 2;
  strata::comparison const c = strata::compare(before, after, chosen.limit);
  if (chosen.range != nullptr) {
    if (!print_columns(c, chosen.range)) return 2;
  } else {
    print_times(c);
  }
  for (std::string const& note : c.notes) std::printf("note: %s\n", note.c_str());
  print_sums(c);
  std::printf("%s: %s\n", word(c.verdict), c.reason.c_str());
  return c.verdict == strata::comparison_verdict::no_regression ? 0 : 1;
}
