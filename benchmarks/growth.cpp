// How the work of reports grows with a profile, one dimension at a time: ranges, depth, threads,
// streams, steps, names, metrics. Each report is made of profiles of 1, 2, 4 and 8 times a size.
// Work is counted, not timed: the branches that the program takes, by the compiler's coverage. The
// exponent is that of the growth from 2 to 4 and from 4 to 8 times: 1 is linear, 2 is quadratic;
// n log n is 1.1 at these sizes. No GPU is needed.
//
//     growth                      all dimensions
//     growth names depth          these alone
//     growth --size=N names       one profile of this size: times and memory, for a profiler
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tests/unit/counted_branches.hpp"
#include "../tests/unit/growing_profiles.hpp"
#include "../tools/explanation.hpp"

namespace {

using growing::text;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a report cost, one line to the parent.
struct cost {
  char report[24];
  double seconds;
  std::uint64_t branches;
  std::uint64_t bytes;
  long resident_kb;  ///< the most so far
};

int results = -1;

template <class Make>
void measure(char const* report, Make make) {
  cost made{};
  std::snprintf(made.report, sizeof made.report, "%s", report);
  double const begin = cpu_seconds();
  std::uint64_t const before = counted_branches;
  made.bytes = make();
  made.branches = counted_branches - before;
  made.seconds = cpu_seconds() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  made.resident_kb = usage.ru_maxrss;
  if (write(results, &made, sizeof made) != static_cast<ssize_t>(sizeof made)) _exit(1);
}

void measure_reports(growing::dimension const& grows, std::size_t size) {
  growing::program made;
  grows.fill(made, size);
  strata::profile const source = made.take();
  growing::analysed from(source);
  for (growing::report const& report : growing::reports)
    measure(report.name, [&] { return report.make(from).size(); });
  measure("explain",
          [&] { return tools::bounded_explanation(source, "profile.strata", "text").size(); });
}

// ---- a session of its own ----

strata::options host_only() {
  strata::options how;
  how.trace = false;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.log_mb = 1024;
  return how;
}
void session_threads(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) std::thread([] { STRATA_RANGE("request"); }).join();
}
void session_names(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    strata::push(text("range_", i).c_str());
    strata::pop();
  }
}
void session_depth(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) strata::push(text("range_", i).c_str());
  for (std::size_t i = 0; i < size; ++i) strata::pop();
}
void session_paths(std::size_t size) {
  auto const side = static_cast<std::size_t>(std::sqrt(static_cast<double>(size)));
  for (std::size_t i = 0; i < side; ++i) {
    strata::push(text("parent_", i).c_str());
    for (std::size_t j = 0; j < side; ++j) {
      strata::push(text("leaf_", j).c_str());
      strata::pop();
    }
    strata::pop();
  }
}
void session_steps(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    STRATA_STEP();
    STRATA_RANGE("forward");
  }
}

struct live_dimension {
  char const* name;
  std::size_t size;
  void (*run)(std::size_t);
};
live_dimension const live_dimensions[] = {
    {"session-threads", 4000, session_threads}, {"session-names", 16000, session_names},
    {"session-depth", 128, session_depth},      {"session-paths", 16000, session_paths},
    {"session-steps", 40000, session_steps},
};

void measure_session(live_dimension const& grows, std::size_t size) {
  strata::session session(host_only());
  if (!session.start().ok()) _exit(1);
  measure("run", [&] {
    grows.run(size);
    return std::size_t{0};
  });
  measure("stop", [&] {
    session.stop();
    return std::size_t{0};
  });
}

// ---- the table ----

/// Runs in a process of its own, which has so many seconds and so much memory.
template <class Run>
std::vector<cost> in_child(Run run) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    close(ends[0]);
    results = ends[1];
    rlimit const seconds{120, 120};
    setrlimit(RLIMIT_CPU, &seconds);
    rlimit const memory{rlim_t{8} << 30, rlim_t{8} << 30};
    setrlimit(RLIMIT_AS, &memory);
    run();
    _exit(0);
  }
  close(ends[1]);
  std::vector<cost> all;
  cost next;
  while (read(ends[0], &next, sizeof next) == static_cast<ssize_t>(sizeof next))
    all.push_back(next);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) all.push_back({"(not finished)", 0.0, 0, 0, 0});
  return all;
}

constexpr int sizes = 4;

/// Of amounts at 2, 4 and 8 times a size, without what does not grow; NaN where nothing does.
double exponent(std::uint64_t two, std::uint64_t four, std::uint64_t eight) {
  if (four <= two || eight <= four) return std::nan("");
  return std::log2(static_cast<double>(eight - four) / static_cast<double>(four - two));
}

void print_exponent(double value) {
  if (value == value)
    std::printf(" %.2f |", value);
  else
    std::printf(" - |");
}

/// Returns: how many reports grow too fast.
int print_rows(char const* name, std::size_t size, std::vector<cost> const (&of)[sizes]) {
  constexpr double most = 1.2;
  constexpr std::uint64_t least = 100'000;  // branches; what takes less may well bend
  int steep = 0;
  for (std::size_t i = 0; i < of[3].size() && i < of[1].size() && i < of[2].size(); ++i) {
    cost const& last = of[3][i];
    double const by_work = exponent(of[1][i].branches, of[2][i].branches, last.branches);
    double const by_bytes = exponent(of[1][i].bytes, of[2][i].bytes, last.bytes);
    bool const is_steep = (by_work > most && last.branches > least) || by_bytes > most;
    steep += is_steep;
    std::printf("| %s | %zu | %s | %.3f |", name, size * 8, last.report,
                static_cast<double>(last.branches) / 1e6);
    print_exponent(by_work);
    std::printf(" %.0f | %.3f |", 1e3 * last.seconds, static_cast<double>(last.bytes) / 1e6);
    print_exponent(by_bytes);
    std::printf("%s\n", is_steep ? " STEEP" : "");
  }
  std::fflush(stdout);
  return steep;
}

}  // namespace

int main(int argc, char** argv) {
  unsetenv("STRATA");
  std::size_t only_size = 0;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--size=", 7) == 0)
      only_size = static_cast<std::size_t>(std::atoll(argv[i] + 7));
    else
      wanted.emplace_back(argv[i]);
  }
  int steep = 0;
  auto const run = [&](char const* name, std::size_t size, auto measure_size) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    if (only_size != 0) {
      for (cost const& each : in_child([&] { measure_size(only_size); }))
        std::printf("| %s | %zu | %s | %.0f ms | %.2f MB | %ld MB resident |\n", name, only_size,
                    each.report, 1e3 * each.seconds, static_cast<double>(each.bytes) / 1e6,
                    each.resident_kb / 1024);
      return;
    }
    std::vector<cost> of[sizes];
    for (int i = 0; i < sizes; ++i) of[i] = in_child([&] { measure_size(size << i); });
    steep += print_rows(name, size, of);
  };
  if (only_size == 0)
    std::printf(
        "| dimension | size | report | 10^6 branches | exponent | ms | MB | exponent of MB |\n"
        "|---|--:|---|--:|--:|--:|--:|--:|\n");
  for (growing::dimension const& each : growing::dimensions)
    run(each.name, each.size, [&](std::size_t size) { measure_reports(each, size); });
  for (live_dimension const& each : live_dimensions)
    run(each.name, each.size, [&](std::size_t size) { measure_session(each, size); });
  return steep == 0 ? 0 : 1;
}
