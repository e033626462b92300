#include <doctest/doctest.h>
#include <strata/tables/csv.hpp>

#include <string>
#include <vector>

#include "report_sample.hpp"

namespace csv_test {

using namespace report_test;

namespace {

/// An RFC 4180 reader.
std::vector<std::vector<std::string>> parse(std::string const& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = rows.back().back();
    char const c = text[i];
    if (quoted) {
      bool const twice = c == '"' && i + 1 < text.size() && text[i + 1] == '"';
      if (twice) ++i;
      if (c != '"' || twice) cell += c;
      if (c == '"' && !twice) quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.emplace_back(1);
    } else {
      cell += c;
    }
  }
  rows.pop_back();
  return rows;
}

std::string ranges(report_sample const& s) {
  return text_of([&](detail::text_writer& out) { write_ranges_csv(out, s.input()); });
}
std::string kernels(report_sample const& s) {
  return text_of([&](detail::text_writer& out) { write_kernels_csv(out, s.input()); });
}
std::string memory(report_sample const& s) {
  return text_of([&](detail::text_writer& out) { write_memory_csv(out, s.input()); });
}

/// The cell of a row by the name of its column.
std::string value(std::vector<std::vector<std::string>> const& table, std::size_t row,
                  std::string const& column) {
  for (std::size_t i = 0; i < table[0].size(); ++i)
    if (table[0][i] == column) return table[row][i];
  FAIL("no column " << column);
  return {};
}

}  // namespace

TEST_CASE("the CSV files are as they were") {
  report_sample const gpu = gpu_sample();
  report_sample const cpu = cpu_sample();
  CHECK(ranges(gpu) == golden("ranges_gpu.csv", ranges(gpu)));
  CHECK(ranges(cpu) == golden("ranges_cpu.csv", ranges(cpu)));
  CHECK(kernels(gpu) == golden("kernels_gpu.csv", kernels(gpu)));
  CHECK(memory(gpu) == golden("memory_gpu.csv", memory(gpu)));
}

TEST_CASE("every row has the columns of the header") {
  report_sample const s = gpu_sample();
  for (std::string const& text : {ranges(s), kernels(s), memory(s)}) {
    auto const table = parse(text);
    REQUIRE(table.size() > 2);
    for (auto const& row : table) CHECK(row.size() == table[0].size());
  }
  CHECK(parse(ranges(s)).size() == s.tree.size() + 1);
  CHECK(parse(kernels(s)).size() == s.kernels.size() + 1);
}

TEST_CASE("an unknown number is an empty cell") {
  auto const cpu = parse(ranges(cpu_sample()));
  CHECK(value(cpu, 2, "path") == "forward");
  CHECK(value(cpu, 2, "rank") == "");
  CHECK(value(cpu, 2, "calls") == "2");
  CHECK(value(cpu, 2, "gpu_busy_ns") == "");
  CHECK(value(cpu, 2, "kernels") == "");
  CHECK(value(cpu, 2, "peak_bytes") == "");
  CHECK(value(cpu, 2, "flops") == "");
  CHECK(value(cpu, 1, "host_p50_ns") == "");
  auto const gpu = parse(ranges(gpu_sample()));
  CHECK(value(gpu, 2, "kernels") != "");
  CHECK(value(gpu, 4, "index") == "0");
  CHECK(value(gpu, 2, "index") == "");
  auto const allocations = parse(memory(gpu_sample()));
  CHECK(value(allocations, 1, "released_at_ns") == "");
  CHECK(value(allocations, 2, "released_at_ns") != "");
}

TEST_CASE("a span is empty where the timeline lacks a part of the work") {
  report_sample s = gpu_sample();
  CHECK(value(parse(ranges(s)), 2, "span_ns") != "");
  s.source.losses.activity_summed = 1;
  CHECK(value(parse(ranges(s)), 2, "span_ns") == "");
}

TEST_CASE("ranks and indices without a number") {
  report_sample s = gpu_sample();
  s.source.environment.rank = 3;
  s.tree[3].index = any_index;
  auto const table = parse(ranges(s));
  CHECK(value(table, 1, "rank") == "3");
  CHECK(value(table, 4, "index") == "*");
  CHECK(value(parse(kernels(s)), 1, "rank") == "3");
  CHECK(value(parse(memory(s)), 1, "rank") == "3");
}

TEST_CASE("hostile names come back as they were, but for formulas and broken bytes") {
  std::string const long_name(4096, 't');
  struct {
    std::string written, read;
  } const names[] = {{"a,b", "a,b"},
                     {"say \"hi\"", "say \"hi\""},
                     {"two\nlines\r\n", "two\nlines\r\n"},
                     {"注意 é", "注意 é"},
                     {"\x01\x1b[0m", "\x01\x1b[0m"},
                     {"bad \xFF\xC3", "bad \xEF\xBF\xBD\xEF\xBF\xBD"},
                     {long_name, long_name},
                     {"=cmd()", "'=cmd()"},
                     {"@SUM(1,2)", "'@SUM(1,2)"}};
  report_sample s = gpu_sample();
  for (auto const& name : names) {
    s.tree[2].name = s.tree[2].path = s.tree[2].note = name.written;
    s.kernels[0].demangled = s.kernels[0].short_name = name.written;
    s.memory.allocations[0].released_in = name.written;
    auto const table = parse(ranges(s));
    CHECK(table[3].size() == table[0].size());
    CHECK(value(table, 3, "name") == name.read);
    CHECK(value(table, 3, "path") == name.read);
    CHECK(value(table, 3, "note") == name.read);
    CHECK(value(parse(kernels(s)), 1, "demangled") == name.read);
    CHECK(value(parse(memory(s)), 1, "released_in") == name.read);
  }
}

TEST_CASE("empty tables have a header") {
  profile const source;
  report_sample s;
  s.source = source;
  CHECK(parse(ranges(s)).size() == 1);
  CHECK(parse(kernels(s)).size() == 1);
  CHECK(parse(memory(s)).size() == 1);
}

}  // namespace csv_test
