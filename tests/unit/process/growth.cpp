// No report's work grows faster than n log n with what a profile has many of. Work is counted, not
// timed: this file is compiled with -fsanitize-coverage=trace-pc, see tests/CMakeLists.txt.
// STRATA_TEST_GROWTH=all, or names of dimensions, prints the table of exponents instead.
#include <strata/base/text_writer.hpp>
#include <strata/recording/format.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>
#include "analyse/compare.hpp"
#include "analyse/rank_clocks.hpp"
#include "analyse/rank_collectives.hpp"
#include "analyse/rank_comparison.hpp"
#include "analyse/rank_run.hpp"
#include "analyse/run_tables.hpp"
#include "recording/recording.hpp"
#include "report/findings.hpp"
#include "report/fleet_metrics.hpp"
#include "report/page.hpp"
#include "report/report_input.hpp"
#include "report/trace.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../../../tools/explanation.hpp"
#include "../counted_branches.hpp"
#include "../growing_profiles.hpp"

namespace growth {

template <class Write>
std::string written(Write write) {
  std::string made;
  {
    strata::detail::text_writer out(made);
    write(out);
  }
  return made;
}

/// A profile with its tables and its answer.
struct analysed {
  explicit analysed(strata::profile const& from)
      : source(from), tables(source), input(std::move(tables.input())) {}

  strata::profile const& source;
  strata::profile_tables tables;
  strata::report_input input;
};

/// A report of the tables, as a text; its size is what is looked at.
struct report {
  char const* name;
  std::string (*make)(analysed& from);
};

using writer = strata::detail::text_writer;

inline report const reports[] = {
    {"sums",
     [](analysed& from) {
       (void)strata::detail::sum_records(from.source);
       return std::string();
     }},
    {"tables",
     [](analysed& from) {
       analysed const again(from.source);
       return std::string();
     }},
    {"answer",
     [](analysed& from) {
       from.input.find_answer(from.tables.folded());
       return std::string();
     }},
    {"console",
     [](analysed& from) { return written([&](writer& out) { write_table(out, from.input); }); }},
    {"csv",
     [](analysed& from) {
       return written([&](writer& out) {
         write_ranges_csv(out, from.input);
         write_kernels_csv(out, from.input);
         write_memory_csv(out, from.input);
         write_spans_csv(out, from.input);
         for (strata::counter_tables const& set : from.input.counters) {
           write_counters_csv(out, from.input, set.ranges);
           write_counters_wide_csv(out, from.input, set.ranges);
         }
       });
     }},
    {"findings.json",
     [](analysed& from) { return written([&](writer& out) { write_findings(out, from.input); }); }},
    {"profile.json",
     [](analysed& from) { return written([&](writer& out) { write_json(out, from.input); }); }},
    {"page",
     [](analysed& from) { return written([&](writer& out) { write_html(out, from.input); }); }},
    {"trace",
     [](analysed& from) {
       return written([&](writer& out) { (void)write_trace(out, from.input); });
     }},
    {"openmetrics",
     [](analysed& from) {
       return written([&](writer& out) { write_openmetrics(out, from.input); });
     }},
    {"recording",
     [](analysed& from) {
       return written([&](writer& out) { write_recording(out, from.source); });
     }},
    {"read",
     [](analysed& from) {
       strata::profile read;
       strata::status const outcome = strata::read_recording(
           written([&](writer& out) { write_recording(out, from.source); }), read);
       return outcome.ok() ? std::string() : outcome.message();
     }},
    {"compare",
     [](analysed& from) {
       strata::run_tables const run = make_run_tables(from.source);
       (void)compare(run, run);
       return std::string();
     }},
    {"ranks",
     [](analysed& from) {
       std::vector<strata::rank_run> runs;
       for (int rank = 0; rank < 2; ++rank) {
         runs.push_back(read_rank(from.source));
         runs.back().rank = rank;
       }
       (void)compare_ranks(runs);
       (void)list_collectives(runs);
       (void)join_clocks(runs);
       return std::string();
     }},
    {"explain",
     [](analysed& from) {
       return tools::bounded_explanation(from.source, "profile.strata", "text");
     }},
};

/// What each report took at a size: branches and bytes.
struct cost {
  std::uint64_t branches;
  std::uint64_t bytes;
};

std::vector<cost> costs_of(growing::dimension const& grows, std::size_t size) {
  growing::program made;
  grows.fill(made, size);
  strata::profile const source = made.take();
  analysed from(source);
  std::vector<cost> all;
  for (report const& report : reports) {
    std::uint64_t const before = counted_branches;
    std::uint64_t const bytes = report.make(from).size();
    all.push_back({counted_branches - before, bytes});
  }
  return all;
}

/// Of amounts at 1, 2 and 4 times a size, without what does not grow: 1 is linear, 2 is quadratic,
/// n log n is 1.1 to 1.2 at these sizes. 0 where nearly all of it does not grow, so that a bend
/// says nothing.
double exponent(std::uint64_t one, std::uint64_t two, std::uint64_t four) {
  if (two <= one || four <= two || 20 * (four - two) < four) return 0.0;
  return std::log2(static_cast<double>(four - two) / static_cast<double>(two - one));
}

TEST_CASE("the branches of each report are counted") {
  std::vector<cost> const of = costs_of(growing::dimensions[0], 100);
  for (std::size_t i = 0; i < of.size(); ++i) {
    CAPTURE(std::string(reports[i].name));
    bool const is_empty = reports[i].name == std::string("sums");  // no work of a device
    CHECK(of[i].branches > (is_empty ? 0 : 10'000));
  }
}

TEST_CASE("no report grows faster than n log n") {
  constexpr double most = 1.7;
  // Fewer bend where a rule stops to look at what is small.
  constexpr std::uint64_t least_branches = 250'000, least_bytes = 500'000;
  for (growing::dimension const& grows : growing::dimensions) {
    std::vector<cost> const one = costs_of(grows, grows.size / 2);
    std::vector<cost> const two = costs_of(grows, grows.size);
    std::vector<cost> const four = costs_of(grows, 2 * grows.size);
    for (std::size_t i = 0; i < four.size(); ++i) {
      CAPTURE(std::string(grows.name));
      CAPTURE(std::string(reports[i].name));
      CAPTURE(four[i].branches);
      if (four[i].branches > least_branches)
        CHECK(exponent(one[i].branches, two[i].branches, four[i].branches) < most);
      if (four[i].bytes > least_bytes)
        CHECK(exponent(one[i].bytes, two[i].bytes, four[i].bytes) < most);
    }
  }
}

/// What to compare so many ranks takes: branches.
std::uint64_t cost_of_ranks(std::size_t ranks) {
  growing::program made;
  growing::names(made, 50);
  made.made.kernel_names[0].mangled = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)";
  strata::profile const source = made.take();
  std::vector<strata::rank_run> runs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    runs.push_back(read_rank(source));
    runs.back().rank = static_cast<std::int32_t>(rank);
  }
  std::uint64_t const before = counted_branches;
  (void)compare_ranks(runs);
  (void)list_collectives(runs);
  (void)join_clocks(runs);
  return counted_branches - before;
}

TEST_CASE("nothing that is said of ranks grows faster than n log n with them") {
  std::uint64_t const four = cost_of_ranks(256);
  CHECK(four > 500'000);
  CHECK(exponent(cost_of_ranks(64), cost_of_ranks(128), four) < 1.7);
}

/// A cell of the table, of amounts at 1, 2, 4 and 8 times a size: the exponent over both doublings
/// of what is added, and where it is above 1.1, that of the last one. "-": too little work to tell.
std::string cell(std::vector<std::uint64_t> const& amounts, std::uint64_t least) {
  double const first = exponent(amounts[0], amounts[1], amounts[2]);
  double const last = exponent(amounts[1], amounts[2], amounts[3]);
  if (amounts[3] < least || first == 0.0 || last == 0.0) return "-";
  char text[32];
  double const both = (first + last) / 2;
  std::snprintf(text, sizeof text, both > 1.1 ? "%.2f (%.2f)" : "%.2f", both, last);
  return text;
}

void print_exponents(growing::dimension const& grows) {
  std::vector<cost> of[4];
  for (std::size_t i = 0; i < 4; ++i) of[i] = costs_of(grows, grows.size << i);
  std::printf("| %s | %zu |", grows.name, 8 * grows.size);
  for (std::size_t i = 0; i < of[0].size(); ++i) {
    std::vector<std::uint64_t> branches, bytes;
    for (std::vector<cost> const& each : of) {
      branches.push_back(each[i].branches);
      bytes.push_back(each[i].bytes);
    }
    std::string const work = cell(branches, 100'000);
    std::string const size = cell(bytes, 500'000);
    bool const grows_more = size != "-" && std::atof(size.c_str()) > std::atof(work.c_str()) + 0.1;
    std::printf(" %s%s |", (grows_more ? size : work).c_str(), grows_more ? " of bytes" : "");
  }
  std::printf("\n");
  std::fflush(stdout);
}

TEST_CASE("the table of exponents") {
  char const* const asked = std::getenv("STRATA_TEST_GROWTH");
  if (asked == nullptr) return;
  std::string const wanted = asked == std::string("all") ? "" : "," + std::string(asked) + ",";
  std::string rule = "|---|--:|";
  std::printf("| dimension | largest |");
  for (report const& report : reports) {
    std::printf(" %s |", report.name);
    rule += "--:|";
  }
  std::printf("\n%s\n", rule.c_str());
  for (growing::dimension const& grows : growing::dimensions)
    if (wanted.empty() || wanted.find("," + std::string(grows.name) + ",") != std::string::npos)
      print_exponents(grows);
  if (wanted.empty() || wanted == ",ranks,") {
    std::vector<std::uint64_t> of;
    for (std::size_t const ranks : {64, 128, 256, 512}) of.push_back(cost_of_ranks(ranks));
    std::printf("\n512 ranks, compared: %s\n", cell(of, 100'000).c_str());
  }
}

}  // namespace growth
