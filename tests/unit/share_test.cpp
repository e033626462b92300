// A share is never above 100 %: its part and its whole are of the same work, or it is not there.
#include <doctest/doctest.h>
#include <strata/tables/csv.hpp>
#include <strata/tables/steps_summary.hpp>
#include <strata/tables/table.hpp>
#include "report/findings.hpp"
#include "report/page.hpp"

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "random_steps.hpp"
#include "report_sample.hpp"

namespace share_test {

using namespace report_test;
using sample::random_steps;
using sample::step_end;

namespace {

constexpr double max_percent = 100.0;

/// The number that ends before a place of a text; less than 0 if none does.
double number_before(std::string const& text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                       text[begin - 1] == '.' || text[begin - 1] == ','))
    --begin;
  std::string digits;
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != ',') digits += text[i];
  return digits.empty() ? -1.0 : std::strtod(digits.c_str(), nullptr);
}

/// The length of " of step" behind a per cent sign.
std::size_t words_behind(std::string const& line, std::size_t at) {
  for (std::string const words : {" of step", " of run"})
    if (line.compare(at, words.size(), words) == 0) return words.size();
  return 0;
}

/// "12.3 %" in sentences, and the columns of tables whose header ends with % or begins so.
std::vector<double> console_shares(std::string const& text) {
  std::vector<double> found;
  std::vector<std::size_t> columns;  // where they end
  for (std::string const& line : lines(text)) {
    if (line.empty()) columns.clear();
    std::vector<std::size_t> headers;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] != '%' || line[i - 1] != ' ') continue;
      double const share = number_before(line, i - 1);
      if (share >= 0.0)
        found.push_back(share);
      else if (columns.empty() && (i + 1 == line.size() || line[i + 1] == ' '))
        headers.push_back(i + 1 + words_behind(line, i + 1));
    }
    for (std::size_t const end : columns)
      if (end <= line.size())
        if (double const share = number_before(line, end); share >= 0.0) found.push_back(share);
    if (columns.empty() && headers.size() > 0 && line.compare(0, 4, "rang") == 0) columns = headers;
    if (columns.empty() && headers.size() > 0 && line.compare(0, 6, "kernel") == 0)
      columns = headers;
  }
  return found;
}

/// The values of a key of JSON, which has no spaces.
std::vector<double> json_values(std::string const& text, std::string const& key) {
  std::vector<double> found;
  std::string const wanted = "\"" + key + "\":";
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1))
    found.push_back(std::strtod(text.c_str() + at + wanted.size(), nullptr));
  return found;
}

std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (char const c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      found.emplace_back();
    else
      found.back() += c;
  }
  return found;
}

bool ends(std::string const& text, std::string const& with) {
  return text.size() >= with.size() &&
         text.compare(text.size() - with.size(), with.size(), with) == 0;
}

/// In percent.
std::vector<double> csv_shares(std::string const& text) {
  std::vector<double> found;
  std::vector<std::string> const all = lines(text);
  if (all.empty()) return found;
  std::vector<std::string> const names = cells(all[0]);
  for (std::size_t row = 1; row < all.size(); ++row) {
    std::vector<std::string> const values = cells(all[row]);
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) {
      if (values[i].empty()) continue;
      double const value = std::strtod(values[i].c_str(), nullptr);
      if (ends(names[i], "_pct")) found.push_back(value);
      if (ends(names[i], "_share") || ends(names[i], "_utilisation"))
        found.push_back(100.0 * value);
    }
  }
  return found;
}

template <class Write>
std::string text_of(Write write) {
  std::string text;
  detail::text_writer out(text);
  write(out);
  out.flush();
  return text;
}

std::string console(report_input const& input) {
  table_options options;
  options.width = 400;
  return text_of([&](detail::text_writer& out) { write_table(out, input, options); });
}

struct counts {
  std::size_t console = 0;
  std::size_t json = 0;
  std::size_t csv = 0;
};

void check_shares(report_input const& input, counts& seen) {
  std::string const table = console(input);
  CAPTURE(table);
  for (double const share : console_shares(table)) {
    ++seen.console;
    CHECK(share <= max_percent);
  }
  std::string const found = text_of([&](detail::text_writer& out) { write_findings(out, input); });
  for (char const* key : {"part", "cost_of_step"})
    for (double const share : json_values(found, key)) {
      ++seen.json;
      CHECK(share <= 1.0);
    }
  for (double const share :
       csv_shares(text_of([&](detail::text_writer& out) { write_ranges_csv(out, input); }))) {
    ++seen.csv;
    CHECK(share <= max_percent);
  }
  for (double const share :
       csv_shares(text_of([&](detail::text_writer& out) { write_kernels_csv(out, input); }))) {
    ++seen.csv;
    CHECK(share <= max_percent);
  }
  for (counter_tables const& each : input.counters)
    for (double const share : csv_shares(text_of(
             [&](detail::text_writer& out) { write_counters_wide_csv(out, input, each.ranges); })))
      CHECK(share <= max_percent);
}

void check_rows(strata::vec<range_row> const& rows) {
  for (range_row const& row : rows) {
    CAPTURE(row.path);
    CHECK(row.step_share == row.step_call_share.in_steps);
    for (step_part const& part :
         {row.step_call_share, row.step_host_share, row.step_host_self_share, row.step_work_share,
          row.step_self_share, row.step_busy_share}) {
      CHECK(part.typical >= 0.0);
      CHECK(part.typical <= 1.0);
      CHECK(part.in_steps >= 0.0);
      CHECK(part.in_steps <= 1.0);
    }
    CHECK(row.step_host_share.typical <= row.step_host_share.in_steps);
    CHECK(row.step_work_share.typical <= row.step_work_share.in_steps);
    CHECK(row.step_busy_share.typical <= row.step_busy_share.in_steps);
  }
}

/// Some kernels have no record, as when the device hangs or a buffer is lost.
void lose_records(profile& made, sample::random_numbers& random) {
  strata::vec<kernel_record> kept;
  for (kernel_record const& each : made.kernels)
    if (random.below(4) != 0) kept.push_back(each);
  made.kernels = kept;
}

/// Of steps in which a kernel runs while longer work, launched before, continues.
profile small_steps(std::uint32_t steps, std::int64_t dear_first) {
  sample::maker program;
  std::uint32_t const good = program.node(0, "good");
  std::uint32_t const hang = program.node(0, "hang");
  profile& made = program.made;
  made.traced = made.has_steps = true;
  made.kernel_names.push_back({"work"});
  std::int64_t now = 1'000;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::int64_t const begin = now;
    if (step == 0) now += dear_first;
    std::uint32_t const id = program.launch(good, now, now + 3'000);
    made.launches.back().step = step;
    program.call(good, now, now + 9'000).step = step;
    program.kernel(id, now + 4'000, now + 5'030).name = 1;
    now += 10'000;
    made.steps.push_back({begin, now, step, 0});
    now += 1'000;
  }
  program.call(hang, now, now + 9'000).step = strata::no_step;
  program.launch(hang, now, now + 3'000);  // and no record
  made.launches.back().step = strata::no_step;
  made.end = now + 10'000;
  made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
  return made;
}

}  // namespace

TEST_CASE("shares: work that has no record takes none from the others") {
  for (std::int64_t const dear : {0, 180'000}) {
    CAPTURE(dear);
    report_tables const tables(small_steps(3, dear));
    report_input const input = tables.input();
    CHECK(input.steps.without_first == (dear > 0));
    detail::step_amounts const amounts(input.folded, input.steps);
    CHECK(amounts.busy_ns(0) == doctest::Approx(1'030));
    CHECK(amounts.busy_ns(1) == doctest::Approx(1'030));
    CHECK(has(console(input), " 100.0 "));
    CHECK_FALSE(has(console(input), "133.3"));
  }
}

TEST_CASE("shares: a dear first step is in no row") {
  profile made = small_steps(4, 180'000);
  made.kernels[0].end += 4'000;  // a library tries what is fastest
  made.ranges[0].end += 5'000;
  report_tables const tables(made);
  report_input const input = tables.input();
  REQUIRE(input.steps.without_first);
  detail::step_amounts const amounts(input.folded, input.steps);
  CHECK(input.steps.gpu_busy_ns == doctest::Approx(1'030));
  CHECK(amounts.busy_ns(0) == doctest::Approx(1'030));
  CHECK(amounts.busy_ns(1) == doctest::Approx(1'030));
  CHECK(amounts.host_ns(1) == doctest::Approx(9'000));
  CHECK(amounts.self_ns(1) == doctest::Approx(9'000));
  CHECK(amounts.calls(1) == doctest::Approx(1.0));
  CHECK(input.roofline.limits[1].time_ns == doctest::Approx(1'030));
}

TEST_CASE("shares: calls outside of steps take longer than those in steps") {
  sample::maker program;
  std::uint32_t const outer = program.node(0, "outer");
  std::uint32_t const inner = program.node(outer, "inner");
  profile& made = program.made;
  made.has_steps = true;
  program.call(outer, 100, 90'100).step = strata::no_step;
  program.call(inner, 200, 80'200).step = strata::no_step;
  program.call(outer, 100'000, 110'000).step = 0;
  made.steps.push_back({100'000, 110'000, 0, 0});
  made.end = 120'000;
  report_tables const tables(made);
  report_input const input = tables.input();
  detail::step_amounts const amounts(input.folded, input.steps);
  CHECK(amounts.host_ns(1) == doctest::Approx(10'000));
  CHECK(amounts.self_ns(1) == doctest::Approx(10'000));
  CHECK(amounts.host_ns(2) == 0.0);
  CHECK(amounts.self_ns(2) == 0.0);
}

TEST_CASE("shares: what another thread does for a range is no part of its own host time") {
  sample::maker program;
  std::uint32_t const outer = program.node(0, "outer");
  std::uint32_t const worker = program.node(outer, "worker");
  profile& made = program.made;
  made.has_steps = true;
  program.call(outer, 0, 100'000).step = strata::no_step;
  program.call(worker, 0, 100'000, 1).step = strata::no_step;
  made.inherited.push_back({worker, root_node, 100'000});
  program.call(outer, 200'000, 210'000).step = 0;
  made.steps.push_back({200'000, 210'000, 0, 0});
  made.end = 220'000;
  report_tables const tables(made);
  report_input const input = tables.input();
  detail::step_amounts const amounts(input.folded, input.steps);
  CHECK(amounts.self_ns(1) == doctest::Approx(10'000));
  CHECK(amounts.self_ns(2) == 0.0);
}

TEST_CASE("shares: a part that is larger than its whole has none") {
  CHECK(detail::human_percent(3.0, 4.0) == "75.0");
  CHECK(detail::human_percent(4.001, 4.0) == "100.0");
  CHECK(detail::human_percent(5.0, 4.0).empty());
  CHECK(detail::human_percent(5.0, 0.0).empty());
  CHECK(strata::detail::percent_of(1.0, 4.0) == 25.0);
  CHECK(strata::detail::is_nan(strata::detail::percent_of(5.0, 4.0)));
}

TEST_CASE("shares: random programs, whole and with losses") {
  counts seen;
  for (std::uint64_t seed = 1; seed <= 440; ++seed) {
    CAPTURE(seed);
    step_end const ways[] = {step_end::waits, step_end::goes_on, step_end::sometimes};
    random_steps program(seed, ways[seed % 3]);
    profile made = program.run(static_cast<std::uint32_t>(seed % 9));
    sample::random_numbers random(seed);
    bool const whole = seed % 4 != 3;
    if (seed % 4 >= 2) lose_records(made, random);
    if (!whole) made.losses.unrecorded = 1;
    report_tables const tables(made);
    report_input const input = tables.input();
    check_rows(input.folded);
    check_rows(input.ranges);
    check_shares(input, seen);
    if (!whole) continue;
    // They are there, and not only left out.
    detail::step_amounts const amounts(input.folded, input.steps);
    for (std::size_t i = 0; i < input.folded.size(); ++i) {
      double const busy = amounts.busy_ns(i);
      CHECK(busy <= amounts.busy_ns(0) * (1.0 + 1e-12));
    }
  }
  CHECK(seen.console > 5'000);
  CHECK(seen.csv > 1'000);
}

}  // namespace share_test
