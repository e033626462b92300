#include <doctest/doctest.h>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include "report/console_tables.hpp"

#include <set>
#include <string>
#include <vector>

#include "report_sample.hpp"
#include "sample_profile.hpp"

namespace table_test {

using namespace report_test;

namespace {

std::string table(report_sample const& s, int width, std::size_t max_rows = 60,
                  bool color = false) {
  return text_of([&](detail::text_writer& out) {
    write_table(out, s.input(), {width, color, max_rows, true});
  });
}

}  // namespace

TEST_CASE("the tables are as they were") {
  report_sample gpu = gpu_sample(12, 10);
  gpu.source.losses.ranges_summed = 1234567;
  gpu.source.problems = {
      "Counters need permission: load the driver with "
      "NVreg_RestrictProfilingToAdminUsers=0, or run as root."};
  report_sample const cpu = cpu_sample(12, 10);
  for (int const width : {80, 120, 200}) {
    std::string const name = std::to_string(width) + ".txt";
    CHECK(table(gpu, width) == golden(("table_gpu_" + name).c_str(), table(gpu, width)));
    CHECK(table(cpu, width) == golden(("table_cpu_" + name).c_str(), table(cpu, width)));
  }
}

TEST_CASE("a count of a mean step is whole where only a share rounds it off") {
  auto const shown = [](double value) {
    return detail::console_table::cell_of(detail::console_form::count, value).text;
  };
  CHECK(shown(11.999999999999998) == "12");
  CHECK(shown(203.99999999999997) == "204");
  CHECK(shown(12.5) == "12.5");
  CHECK(shown(0.0) == "0");
}

TEST_CASE("steps that are kept in sums only have a part in the headline") {
  report_sample s = cpu_sample(2, 3);
  for (int i = 0; i < 1'000'000; ++i) s.source.summed_steps.add(5'000'000);
  s.source.losses.steps_summed = s.source.summed_steps.count();
  std::string const text = table(s, 200);
  CHECK(has(text, "(mean of 1,000,003, median 5.0"));
  CHECK(has(text, "steps kept in the sums only: 1,000,000."));
}

TEST_CASE("the headline has the median of the steps that were not recorded") {
  report_sample s = cpu_sample(2, 3);
  CHECK_FALSE(has(table(s, 200), "unrecorded"));
  CHECK(has(table(s, 200), "; first "));
  CHECK(has(table(s, 200), " left out"));
  CHECK(has(table(gpu_sample(2, 2), 200), ", first 2.94 ms included)"));
  s.source.cost.unrecorded_steps = 5;
  s.source.cost.unrecorded_step_ns = 3e6;
  CHECK(has(table(s, 200), "; unrecorded steps 3.00 ms)"));
  CHECK(has(table(s, 200), "Values are of a mean step"));  // recording made it no longer
  s.source.cost.unrecorded_step_ns = 1e3;
  CHECK(has(table(s, 200), "Values are of a mean recorded step"));
}

TEST_CASE("no line is wider than the terminal, and none ends in a space") {
  report_sample s = gpu_sample(3, 3);
  s.folded[4].path = "forward/block[*]/" + std::string(300, 'n');
  s.kernels[1].short_name = std::string(4096, 'k');
  s.source.problems = {std::string(500, 'p') + " and more"};
  s.source.losses.activity_dropped = s.source.losses.threads_merged = 5;
  for (int width = 40; width < 260; width += 3) {
    for (std::string const& line : lines(table(s, width))) {
      bool const is_command = has(line, " strata run --out ");  // a shell takes it whole
      if (!is_command)
        CHECK_MESSAGE(detail::display_width(line) <= static_cast<std::size_t>(width), line);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
  CHECK(table(s, 0) == table(s, 40));
}

TEST_CASE("columns give way in order of importance") {
  report_sample const s = gpu_sample(12, 10);
  CHECK(has(table(s, 40), "GPU busy"));
  CHECK_FALSE(has(table(s, 80), "GFLOP/s"));
  CHECK(has(table(s, 80), "kernels"));
  CHECK(has(table(s, 120), "GFLOP/s"));
  CHECK_FALSE(has(table(s, 120), "kernel sum"));
  CHECK(has(table(s, 200), "kernel sum"));
  CHECK(has(table(s, 200), "peak"));
  CHECK(has(table(s, 40), "COLUMNS=240 shows "));
  CHECK_FALSE(has(table(s, 240), "COLUMNS=240"));
  CHECK_FALSE(has(table(s, 80), "max: of a call."));
}

TEST_CASE("columns without a value are not there") {
  std::string const cpu = table(cpu_sample(), 200);
  CHECK_FALSE(has(cpu, "GPU"));
  CHECK_FALSE(has(cpu, "driver calls"));
  CHECK_FALSE(has(cpu, "tokens/s"));
  CHECK_FALSE(has(cpu, "outside ranges"));
  CHECK(has(cpu, "host times only"));
  report_sample s = cpu_sample();
  s.folded[2].tokens = 1000.0;
  CHECK(has(table(s, 200), "tokens/s"));
}

TEST_CASE("tokens wait for the host or for the device, whichever takes longer") {
  report_sample s = gpu_sample(2, 2);
  s.folded[5].tokens = 1e6;
  s.folded[5].host_total_ns = 1'000'000;
  s.folded[5].gpu_busy_ns = 2'000'000;
  CHECK(has(table(s, 300), "500,000,000"));
  s.folded[5].host_total_ns = 4'000'000;
  CHECK(has(table(s, 300), "250,000,000"));
  CHECK(has(table(s, 300), "tokens/s: by host or GPU busy time"));
}

TEST_CASE("siblings are in order of their GPU time, or host time without a GPU") {
  report_sample s = gpu_sample(2, 2);
  std::string text = table(s, 120);
  CHECK(text.find("  attention  ") < text.find("  mlp  "));
  s.folded[6].gpu_busy_ns = s.folded[5].gpu_busy_ns + 1;
  text = table(s, 120);
  CHECK(text.find("  mlp  ") < text.find("  attention  "));
  report_sample cpu = cpu_sample(2, 2);
  cpu.folded[6].host_total_ns = cpu.folded[5].host_total_ns + 1;
  text = table(cpu, 120);
  CHECK(text.find("mlp") < text.find("attention"));
}

TEST_CASE("siblings in the order of execution, or by name") {
  report_sample const s = gpu_sample(2, 2);
  auto const sorted = [&s](row_order order) {
    report_input input = s.input();
    input.sort = order;
    return text_of([&](detail::text_writer& out) { write_table(out, input, {200}); });
  };
  auto const in_order = [](std::string const& text, std::vector<char const*> const& names) {
    std::size_t at = text.find("\nforward");
    for (char const* const name : names) {
      std::size_t const next = text.find(name, at);
      if (next == text.npos || text.find("total", at) < next) return false;
      at = next;
    }
    return true;
  };
  CHECK(in_order(sorted(row_order::cost), {"\n  block", "attention", "mlp", "ln1", "encoder"}));
  CHECK(
      in_order(sorted(row_order::execution), {"encoder", "\n  block", "ln1", "attention", "mlp"}));
  CHECK(in_order(sorted(row_order::name), {"\n  block", "attention", "ln1", "mlp", "encoder"}));
}

TEST_CASE("one range is, two ranges are") {
  report_sample const s = gpu_sample(2, 2);
  auto const text = [&s](std::size_t most) {
    return text_of([&](detail::text_writer& out) {
      write_table(out, s.input(), {200, false, most});
    });
  };
  std::size_t const all = s.folded.size() - 1;
  CHECK(has(text(all - 1), "\n1 smaller range: ranges.csv"));
  CHECK(has(text(all - 2), "\n2 smaller ranges: ranges.csv"));
}

TEST_CASE("ranges around steps stand above them, and ranges outside of steps stand once apart") {
  constexpr std::int64_t ms = 1'000'000;
  sample::maker m;
  std::uint32_t const train = m.node(0, "train");
  std::uint32_t const load = m.node(train, "load");
  std::uint32_t const read = m.node(load, "read");
  std::uint32_t const forward = m.node(train, "forward");
  std::uint32_t const save = m.node(0, "save");
  m.made.has_steps = m.made.traced = true;
  auto const work = [&m](std::uint32_t node, std::int64_t begin, std::int64_t end,
                         std::uint32_t step) {
    m.call(node, begin, end).step = step;
    std::uint32_t const id = m.launch(node, begin, begin + 1000);
    m.made.launches.back().step = step;
    m.kernel(id, begin + 2000, end - 2000);
  };
  m.call(train, 0, 200 * ms).step = no_step;
  m.call(load, 0, 100 * ms).step = no_step;
  work(read, 10 * ms, 90 * ms, no_step);
  for (std::uint32_t step = 0; step < 10; ++step) {
    std::int64_t const begin = (100 + 10 * step) * ms;
    work(forward, begin + ms, begin + 9 * ms, step);
    m.made.steps.push_back({begin, begin + 10 * ms, step, 0});
  }
  m.call(save, 200 * ms, 220 * ms).step = no_step;
  m.made.end = 220 * ms;
  report_tables const tables(m.made);
  range_row const& row = tables.folded.rows()[1];
  CHECK(row.path == "train");
  CHECK(row.step_share == doctest::Approx(0.5));
  CHECK(row.step_work_share.in_steps == doctest::Approx(0.5).epsilon(0.001));
  CHECK(tables.folded.row_of(read).step_share == 0.0);
  std::string const text =
      text_of([&](detail::text_writer& out) { write_table(out, tables.input(), {200}); });
  INFO(text);
  std::vector<std::string> const all = lines(text);
  auto const cells = [&all](std::string const& name) {
    for (std::string const& line : all)
      if (line.compare(0, name.size() + 1, name + " ") == 0) return line;
    return std::string();
  };
  // Of a mean step: 10 ms of the host, 2 ms of them in train itself, and 8 ms of the GPU.
  CHECK(has(cells("train"), " 8.00 ms       80.0"));
  CHECK(has(cells("train"), " 8.00 ms        1            10.0 ms   100.0    2.00 ms"));
  CHECK(has(cells("  forward"), " 8.00 ms "));
  CHECK(has(cells("all, a step"), " 8.00 ms        1            10.0 ms"));
  CHECK_FALSE(has(text, "  load"));
  // Once.
  CHECK(has(text, "\noutside of steps "));
  CHECK(has(cells("train/load"), " 80.0 ms "));
  CHECK(has(cells("train/load"), " 100 ms"));
  CHECK(has(cells("save"), " 20.0 ms"));
  CHECK(text.find("train/load ") < text.find("\nsave "));
  CHECK(has(text, "\nValues are of the whole run."));
  CHECK_FALSE(has(text, "read "));
}

TEST_CASE("adopted work of a range around steps is shared out by the steps that it is in") {
  constexpr std::int64_t ms = 1'000'000;
  sample::maker m;
  std::uint32_t const train = m.node(0, "train");
  m.made.has_steps = m.made.traced = true;
  m.call(train, 0, 200 * ms).step = no_step;
  auto const adopt = [&m](std::int64_t begin, std::int64_t duration, std::uint32_t step) {
    std::uint32_t const id = m.launch(1, begin, begin + 1000);
    m.made.launches.back().step = step;
    m.made.launches.back().flags = driver_call_record::adopted;
    m.kernel(id, begin + 2000, begin + 2000 + duration);
  };
  adopt(10 * ms, 30 * ms, no_step);
  adopt(110 * ms, 10 * ms, 0);
  m.made.steps.push_back({100 * ms, 200 * ms, 0, 0});
  m.made.end = 200 * ms;
  report_tables const tables(m.made);
  range_row const& row = tables.folded.rows()[1];
  CHECK(row.path == "train");
  CHECK(row.step_self_share.in_steps == doctest::Approx(0.25));
  CHECK(row.step_work_share.in_steps == doctest::Approx(0.25));
}

TEST_CASE("the use of the limiter is a column beside it") {
  report_sample const s = gpu_sample(2, 2);
  report_input input = s.input();
  range_limit& counted = input.roofline.limits[5];
  counted = {"HBM 88 %", "HBM", 87.6, 100.0, true, limiter::unit, {}};
  input.roofline.limits[6] = {"HBM 61 %", "HBM", 61.0, 100.0, false, limiter::unit, {}};
  auto const row = [&](char const* name) {
    input.show_limits();
    bool is_table = false;  // behind the answer
    for (std::string const& line :
         lines(text_of([&](detail::text_writer& out) { write_table(out, input, {120}); }))) {
      is_table = is_table || line.compare(0, 6, "range ") == 0;
      if (is_table && has(line, name)) return line;
    }
    return std::string();
  };
  CHECK(has(row("limiter"), "  limiter   use %  GPU busy"));
  CHECK(has(row("attention"), "  HBM        87.6  "));
  CHECK(has(row("mlp"), "  HBM 61 %         "));
  counted.text = "latency";
  counted.kind = limiter::latency;
  CHECK(has(row("attention"), "  latency (HBM)   87.6  "));
  counted.kind = limiter::above_roof;
  CHECK_FALSE(has(row("limiter"), "use %"));
}

TEST_CASE("the legend says what the warps of a limiter wait for") {
  report_sample const s = gpu_sample(2, 2);
  report_input input = s.input();
  auto const text = [&] {
    input.show_limits();
    return text_of([&](detail::text_writer& out) { write_table(out, input, {120}); });
  };
  char const* const line =
      "\nshort scoreboard: warps wait for shared memory or the special-function pipe\n";
  CHECK_FALSE(has(text(), line));
  for (std::size_t const row : {5, 6}) {
    input.roofline.limits[row].text = "latency: short scoreboard";
    input.roofline.limits[row].stall = "short_scoreboard";
  }
  std::string const all = text();
  CHECK(has(all, line));
  CHECK(all.find(line) == all.rfind(line));  // once for both
}

TEST_CASE("a pipe has no bars, and each line of the legend is of one column that is shown") {
  report_sample const s = gpu_sample(2, 2);
  auto const written = [&s](bool bars) {
    return text_of([&](detail::text_writer& out) {
      write_table(out, s.input(), {200, false, 60, bars});
    });
  };
  CHECK(has(written(true), "\xE2\x96\x88"));
  CHECK_FALSE(has(written(false), "\xE2\x96\x88"));
  for (int const width : {80, 120, 200}) {
    std::string const text = table(s, width);
    for (std::string const& line : lines(text)) {
      std::size_t const colon = line.find(": ");
      bool const explains = line.rfind("median: ", 0) == 0 ||
                            line.rfind("driver calls: ", 0) == 0 ||
                            line.rfind("GPU busy: ", 0) == 0 || line.rfind("max: ", 0) == 0;
      if (explains) CHECK(has(text, ("  " + line.substr(0, colon)).c_str()));
    }
    CHECK(has(text, "\nGPU busy: overlapping work counts once\n"));
    CHECK(has(text, "\nmax: of all calls, the first step's too\n") == has(text, "      max"));
  }
}

TEST_CASE("a range's part of the step is the page's: of the mean step, not of the GPU's time") {
  report_sample const s = gpu_sample(12, 10);
  report_input const input = s.input();
  detail::step_amounts const mean(input.folded, input.steps);
  std::string const text = table(s, 200);
  CHECK(has(text, "% of step"));
  std::string const share = detail::fixed_string(100.0 * mean.busy_ns(0) / input.steps.mean_ns, 1);
  std::size_t shown = 0;
  for (std::string const& line : lines(text)) {
    if (line.rfind("all, a step", 0) != 0) continue;
    CHECK(has(line, (" " + share).c_str()));
    ++shown;
  }
  CHECK(shown == 1);
}

TEST_CASE("what the GPU did stands before what the host did") {
  std::string const text = table(gpu_sample(2, 2), 200);
  CHECK(has(text, "limiter  GPU busy"));
  CHECK(text.find("  kernels") < text.find("  host total"));
}

TEST_CASE("time in CUDA graphs is shown where the graphs were captured, and counts in the order") {
  report_sample s = gpu_sample(2, 2);
  CHECK_FALSE(has(table(s, 120), "in graphs"));
  s.folded[6].captured.push_back({2, 123'000'000});  // mlp, behind attention without it
  std::string const text = table(s, 120);
  CHECK(has(text, "in graphs  kernels"));
  CHECK(has(text, "61.5 ms"));  // of two steps
  CHECK(has(table(s, 2000),
            "\nin graphs: kernels that it captured; busy where the graph is launched\n"));
  CHECK(text.find("  mlp  ") < text.find("  attention  "));
}

TEST_CASE("rates by host time beside rates by GPU time are told") {
  report_sample s = gpu_sample(2, 2);
  CHECK_FALSE(has(table(s, 200), "where there is none"));
  s.folded[7].bytes = 1e6;
  s.folded[7].gpu_busy_ns = 0;
  CHECK(has(table(s, 200), "where there is none"));
}

TEST_CASE("the smallest ranges go where rows are limited") {
  report_sample const s = gpu_sample(12, 10);
  std::string const text = table(s, 120, 3);
  CHECK(has(text, "    attention"));
  CHECK(has(text, "  block[*]"));
  CHECK_FALSE(has(text, "\nload batch"));
  CHECK_FALSE(has(text, "\n    mlp"));
  CHECK(has(text, "4 smaller ranges"));
}

TEST_CASE("colour only where it is asked for") {
  report_sample const s = gpu_sample();
  CHECK_FALSE(has(table(s, 120), "\x1b"));
  CHECK(has(table(s, 120, 60, true), "\x1b[1m"));
}

TEST_CASE("hostile names do not break the table") {
  report_sample s = gpu_sample();
  s.folded[1].path = s.folded[1].name = "x\n\x1b[2J\xFF 注意";
  s.source.environment.host = "\x1b]0;title\x07";
  s.kernels[0].short_name = "=k\r";
  std::string const text = table(s, 120);
  CHECK(has(text, "x\\n\\x1b[2J\xEF\xBF\xBD 注意"));
  CHECK_FALSE(has(text, "\x1b"));
  CHECK_FALSE(has(text, "\r"));
}

TEST_CASE("every loss is told with its fix") {
  report_sample s = cpu_sample();
  CHECK_FALSE(has(table(s, 120), "lost:"));
  auto* const counts = reinterpret_cast<std::uint64_t*>(&s.source.losses);
  for (std::size_t i = 0; i < sizeof(profile_losses) / sizeof *counts; ++i) {
    s.source.losses = {};
    counts[i] = 7;
    CHECK_MESSAGE(has(table(s, 120), "lost:    "), i);
  }
  s.source.losses = {};
  s.source.losses.ranges_summed = 40000000;
  CHECK(has(table(s, 400), "log=4096 (MB)"));
  s.source.losses.activity_summed = 10;
  CHECK(has(table(s, 400), "buffers=512 (MB)"));
  s.source.losses = {};
  s.source.losses.launches_dropped = 40000000;
  CHECK(has(table(s, 400), "log=4096 (MB)"));
}

TEST_CASE("memory by purpose has a table where the program named one") {
  report_sample s = gpu_sample(2, 2);
  CHECK_FALSE(has(table(s, 120), "at the peak"));
  s.memory.purposes = {{"kv cache", 2, 6 << 20, 0, 9 << 20, 9 << 20, 3 << 20},
                       {"other", 4, 3 << 20, 1 << 20, 2 << 20, 3 << 20, 1 << 20},
                       {"never", 0, 0, 0, 0, 0, 0}};
  s.memory.steps.resize(2);
  s.memory.peak_bytes = 4 << 20;
  s.memory.peak_at = 2'500'000;
  std::string const text = table(s, 120);
  CHECK(has(
      text,
      "memory    allocations  allocated  released  live at end      peak  at the peak  peak %"));
  CHECK(has(
      text,
      "kv cache            1   3.00 MiB               9.00 MiB  9.00 MiB     3.00 MiB    75.0"));
  CHECK(has(
      text,
      "other               2   1.50 MiB   512 KiB     2.00 MiB  3.00 MiB     1.00 MiB    25.0"));
  CHECK_FALSE(has(text, "never"));
  CHECK(has(text, "At the peak, 2.50 ms after the start, 4.00 MiB were in use."));
  CHECK(has(table(s, 60), "Allocated and"));
}

TEST_CASE("memory by purpose: without a dear first step, where the mean step is") {
  sample::maker m;
  sample::fill_cache_first(m, [](std::uint32_t, std::uint32_t, std::int64_t) {});
  report_tables const tables(m.made);
  REQUIRE(tables.input().steps.without_first);
  std::string const text =
      text_of([&](detail::text_writer& out) { write_table(out, tables.input(), {120}); });
  INFO(text);
  CHECK(has(text, "\nkv cache            1   2.00 MiB  2.00 MiB     64.0 MiB  66.0 MiB"));
  std::string const json =
      text_of([&](detail::text_writer& out) { write_json(out, tables.input()); });
  CHECK(has(json, "\"allocated_bytes\":75497472"));  // of all steps
  CHECK(has(json, "\"first_step_allocated_bytes\":67108864"));
}

TEST_CASE("without the reports' side the console has the ranges, and names the files of the rest") {
  report_sample s = gpu_sample(2, 2);
  table_input const alone = s.input();  // without what the reports' side adds
  std::string const text =
      text_of([&](detail::text_writer& out) { write_table(out, alone, {120}); });
  CHECK(has(text, "\n  block[*] "));
  CHECK(has(text, "\nBeside the ranges: kernels.csv, memory.csv\n"));
  CHECK_FALSE(has(text, "\nkernel "));
  CHECK_FALSE(has(text, "answer:"));
  CHECK(has(table(s, 120), "\nkernel "));
  CHECK_FALSE(has(table(s, 120), "Beside the ranges"));
  s.kernels.clear();
  s.memory = {};
  table_input const bare = s.input();
  CHECK_FALSE(has(text_of([&](detail::text_writer& out) { write_table(out, bare, {120}); }),
                  "Beside the ranges"));
}

TEST_CASE("ranges whose long names differ in the middle stay apart on a narrow console") {
  sample::maker m;
  std::string const begin = "evaluate_the_backward_function_of_";
  std::string const end = "_in_the_autograd_engine_of_the_program";
  std::int64_t at = 0;
  for (char const* middle : {"addition", "a_matmul"}) {
    m.call(m.node(0, (begin + middle + end).c_str()), at, at + 1000);
    at += 1000;
  }
  m.made.end = at;
  report_tables const tables(m.made);
  std::string const text =
      text_of([&](detail::text_writer& out) { write_table(out, tables.input(), {60}); });
  INFO(text);
  std::set<std::string> names;
  for (std::string const& line : lines(text))
    if (line.compare(0, 4, "eval") == 0) names.insert(line.substr(0, line.find("  ")));
  CHECK(names.size() == 2);
}

TEST_CASE("kernels of folded ranges are one row") {
  report_sample const s = gpu_sample(12, 2);
  auto const rows = detail::fold_kernels(s.input());
  CHECK(rows.size() == 7);
  CHECK(rows[0].path == "forward/block[*]/attention");
  CHECK(rows[0].launches == 12 * 2);
  CHECK(rows[0].step_ns == 12 * 2 * shapes[1].ns);
  CHECK(rows[0].filled_ns == doctest::Approx(rows[0].step_ns * rows[0].row->gpu_utilisation));
  report_sample outside = gpu_sample(12, 2);
  for (range_row& row : outside.tree)
    if (row.name == "attention") row.step_self_share = row.step_self_launch_share = {0.5, 0.5};
  CHECK(detail::fold_kernels(outside.input())[0].launches == 12);
  for (range_row& row : outside.tree)
    if (row.name == "attention") row.step_self_share = {0.0, 0.0};
  CHECK(detail::fold_kernels(outside.input())[0].path == "forward/block[*]/mlp");
}

TEST_CASE("ranges of one name are folded together where only some have an index") {
  sample::maker m;
  std::uint32_t const block = m.node(0, "block");
  std::uint32_t const mlp = m.node(block, "mlp");
  std::uint32_t const other = m.node(0, "block", 7);
  std::uint32_t const other_mlp = m.node(other, "mlp");
  for (std::uint32_t const node : {block, mlp, other, other_mlp}) m.call(node, 0, 100);
  report_tables const tables(m.made);
  CHECK(tables.input().folded_rows == vec<std::uint32_t>{0, 1, 2, 1, 2});
}

TEST_CASE("a range whose name looks like a path is another than the path") {
  sample::maker m;
  std::uint32_t const block = m.node(0, "block");
  std::uint32_t const mlp = m.node(block, "mlp");
  std::uint32_t const other = m.node(0, "block/mlp", 3);
  std::uint32_t const unused = m.node(0, "block", 4);
  (void)unused;  // in no window: only the folded row knows that one has an index
  for (std::uint32_t const node : {block, mlp, other}) m.call(node, 0, 100);
  report_tables const tables(m.made);
  CHECK(tables.input().folded_rows == vec<std::uint32_t>{0, 1, 2, 3});
  CHECK(tables.folded.row_of(mlp).path == "block[*]/mlp");
  CHECK(tables.folded.row_of(other).path == "block/mlp[*]");
}

TEST_CASE("an empty profile has a table") {
  report_sample s;
  std::string const text = table(s, 80);
  CHECK(has(text, "Strata"));
  CHECK_FALSE(has(text, "cost:"));  // nobody has measured it
  s.source.cost.range_ns = 39.1;
  CHECK(has(table(s, 80), "cost:"));
}

TEST_CASE("a child is further right than its parent, as deep as the tree is") {
  report_sample s;
  std::string path;
  s.folded.resize(16);
  for (std::uint32_t i = 1; i < s.folded.size(); ++i) {
    range_row& row = s.folded[i];
    row.name = "level_" + std::to_string(i);
    path += (path.empty() ? "" : "/") + row.name;
    row.path = path;
    row.parent = i - 1;
    row.depth = i;
    row.host.add(1000);
    row.host_total_ns = 1000;
  }
  for (int const width : {60, 80, 120, 200}) {
    std::vector<std::size_t> begins;
    for (std::string const& line : lines(table(s, width)))
      if (has(line, "1.00 us") && !has(line, "total"))
        begins.push_back(line.find_first_not_of(' '));
    REQUIRE(begins.size() == 15);
    CAPTURE(width);
    for (std::size_t i = 1; i < begins.size(); ++i) CHECK(begins[i] > begins[i - 1]);
    if (width > 80) CHECK(begins.back() == 2 * 14);  // there is room for whole indents
  }
}

}  // namespace table_test
