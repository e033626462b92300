#include "report/fleet_metrics.hpp"
#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "finding_sample.hpp"
#include "report_sample.hpp"

namespace fleet_metrics_test {

using namespace report_test;
using finding_test::us;

namespace {

std::string prometheus(report_input const& input) {
  return text_of([&](detail::text_writer& out) { write_openmetrics(out, input); });
}
std::string prometheus(report_sample const& sample) { return prometheus(sample.input()); }
std::string prometheus(profile const& made) { return prometheus(report_tables(made).input()); }

/// The values by what stands before them: the name with its labels.
std::map<std::string, double> values(std::string const& text) {
  std::map<std::string, double> found;
  for (std::string const& line : lines(text)) {
    if (line.empty() || line.front() == '#') continue;
    std::size_t const blank = line.rfind(' ');
    CHECK_MESSAGE(found.count(line.substr(0, blank)) == 0, line, " is there twice");
    found[line.substr(0, blank)] = std::stod(line.substr(blank + 1));
  }
  return found;
}

std::size_t count_of(std::string const& text, std::string const& begin) {
  std::size_t found = 0;
  for (std::string const& line : lines(text)) found += line.compare(0, begin.size(), begin) == 0;
  return found;
}

/// Ranges of one program, the last the longest.
profile with_ranges(std::size_t many, std::string const& prefix) {
  sample::maker maker;
  for (std::size_t i = 0; i < many; ++i) {
    auto const begin = static_cast<std::int64_t>(i) * 1'000'000;
    maker.call(maker.node(strata::root_node, prefix + std::to_string(i) + "x"), begin,
               begin + 1'000 * static_cast<std::int64_t>(i + 1));
  }
  return maker.made;
}

}  // namespace

TEST_CASE("metrics.prom is as it was") {
  report_sample const gpu = gpu_sample();
  CHECK(prometheus(gpu) == golden("metrics_gpu.prom", prometheus(gpu)));
}

TEST_CASE("metrics.prom has the mean step in seconds, its ranges and what limits them") {
  finding_test::program p;
  p.made.environment.command = "/usr/bin/server --port 80";
  p.made.environment.rank = 3;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t range) {
      p.kernel_of(range, 600 * us);
      p.kernel_of(range, 200 * us);
      p.wait(range);
    });
    p.in(p.mlp, [&](std::uint32_t range) {
      p.copy_of(range, copy_kind::host_to_device, 100 * us, false, 4096);
    });
    p.wait();
  });
  p.count_nothing(p.attention);
  p.hbm(p.attention, 0.5);
  std::string const text = prometheus(p.made);
  std::map<std::string, double> const found = values(text);
  auto const value = [&](std::string const& name, std::string const& labels) {
    std::string const whole = name + "{program=\"server\",rank=\"3\"" + labels + "}";
    auto const place = found.find(whole);
    REQUIRE_MESSAGE(place != found.end(), whole, " is not in\n", text);
    return place->second;
  };
  report_tables const tables(p.made);
  report_input const input = tables.input();
  double const step = input.steps.mean_ns * 1e-9;
  CHECK(value("strata_step_seconds", "") == doctest::Approx(step).epsilon(1e-5));
  CHECK(value("strata_steps", "") == 4.0);
  CHECK(value("strata_step_gpu_busy_seconds", "") ==
        doctest::Approx(input.steps.gpu_busy_ns * 1e-9).epsilon(1e-5));
  CHECK(value("strata_problems", "") == 0.0);
  CHECK(value("strata_range_gpu_busy_seconds", ",range=\"attention\"") == doctest::Approx(800e-6));
  CHECK(value("strata_range_gpu_busy_seconds", ",range=\"mlp\"") == doctest::Approx(100e-6));
  CHECK(value("strata_range_host_seconds", ",range=\"mlp\"") == doctest::Approx(105e-6));
  CHECK(value("strata_range_kernels", ",range=\"attention\"") == 2.0);
  CHECK(value("strata_range_kernels", ",range=\"mlp\"") == 0.0);
  CHECK(value("strata_range_copied_bytes", ",range=\"mlp\"") == 4096.0);
  CHECK(value("strata_range_hbm_bytes", ",range=\"attention\"") ==
        doctest::Approx(0.5 * p.hbm_peak * 1e6));
  // Half of 1 ms at the peak, of 0.8 ms.
  CHECK(value("strata_range_use_ratio", ",range=\"attention\",unit=\"HBM\"") ==
        doctest::Approx(0.625));
  CHECK(value("strata_ranges_left_out", "") == 0.0);
  CHECK_FALSE(has(text, "memory_peak"));  // no allocation was recorded
  CHECK(count_of(text, "strata_finding_gain_seconds{") > 0);
  for (finding const& cause : input.findings.findings) {
    if (!cause.shortens_step(input.steps.mean_ns)) continue;
    std::string const range = cause.path.empty() ? "(outside ranges)" : cause.path;
    CHECK(value("strata_finding_gain_seconds",
                ",range=\"" + range + "\",rule=\"" + std::string(cause.rule) + "\"") ==
          doctest::Approx(cause.gain_ns(input.steps.mean_ns) * 1e-9).epsilon(1e-5));
  }
}

TEST_CASE("metrics.prom has what collectives take, and their bytes") {
  finding_test::program p;
  p.made.kernel_names.push_back({"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL4args"});
  std::uint32_t const reduced = p.node(p.attention, "NCCL:ncclAllReduce");
  p.run(4, [&] {
    std::int64_t begin = 0;
    p.in(p.mlp, [&](std::uint32_t range) { begin = p.kernel_of(range, 400 * us).begin; });
    p.in(p.attention, [&](std::uint32_t) {
      range_record& call = p.in(reduced, [&](std::uint32_t range) {
        kernel_record& kernel = p.kernel_of(range, 300 * us, 24, 8);
        kernel.name = 2;
        kernel.begin = begin + 300 * us;  // 100 us of it overlap the other
        kernel.end = kernel.begin + 300 * us;
        p.free = kernel.end;
      });
      p.describe(call).bytes = 4096.0;
    });
    p.wait();
  });
  std::string const text = prometheus(p.made);
  std::map<std::string, double> found = values(text);
  INFO(text);
  CHECK(count_of(text, "strata_step_collectives_seconds ") == 1);
  for (auto const& [name, value] : found) {
    bool const is_of_message = name.find("ncclAllReduce\"") != std::string::npos ||
                               name.find("range=\"attention\"") != std::string::npos;
    if (detail::begins_with(name, "strata_step_collectives_seconds"))
      CHECK(value == doctest::Approx(300e-6));
    if (detail::begins_with(name, "strata_step_exposed_collectives_seconds"))
      CHECK(value == doctest::Approx(200e-6));
    if (detail::begins_with(name, "strata_range_collective_bytes"))
      CHECK((value == 4096.0 && is_of_message));
  }
  CHECK(count_of(text, "strata_range_collective_bytes{") == 2);
  CHECK(count_of(prometheus(gpu_sample()), "strata_step_collectives") == 0);
}

TEST_CASE("metrics.prom: each gauge is described once, and the text has an end") {
  std::string const text = prometheus(gpu_sample());
  for (detail::fleet_gauge const& gauge : detail::fleet_gauges) {
    std::string const name(gauge.prometheus_name);
    bool const is_there = count_of(text, name + "{") > 0 || count_of(text, name + " ") > 0;
    CHECK(count_of(text, "# TYPE " + name + " gauge") == (is_there ? 1 : 0));
    CHECK(count_of(text, "# HELP " + name + " ") == (is_there ? 1 : 0));
    bool const has_unit = is_there && !gauge.prometheus_unit.empty();
    CHECK(count_of(text, "# UNIT " + name + " " + std::string(gauge.prometheus_unit)) ==
          (has_unit ? 1 : 0));
    if (has_unit) CHECK(detail::ends_with(name, std::string(gauge.prometheus_unit)));
  }
  CHECK(lines(text).back() == "# EOF");
}

TEST_CASE("metrics.prom: the longest ranges have series, and the rest is counted") {
  std::string const text = prometheus(with_ranges(120, "layer "));
  CHECK(count_of(text, "strata_range_host_seconds{") == 50);
  CHECK(has(text, "strata_range_host_seconds{range=\"layer 119x\"} 0.00012\n"));
  CHECK(has(text, "strata_range_host_seconds{range=\"layer 70x\"} "));
  CHECK_FALSE(has(text, "\"layer 69x\""));
  CHECK(has(text, "strata_ranges_left_out 70\n"));
  // Without a device nothing is said of one.
  for (char const* name : {"gpu_busy", "kernels", "copied", "memory_peak", "hbm", "use_ratio"})
    CHECK_FALSE(has(text, name));
  CHECK(has(text, "strata_steps 0\n"));
}

TEST_CASE("metrics.prom: names that are one label are one series") {
  // Cut to 200 columns in their middle, they differ no more.
  std::string const half(200, 'n');
  sample::maker maker;
  for (int i = 0; i < 3; ++i)
    maker.call(maker.node(strata::root_node, half + std::to_string(i) + half), i * 1000,
               i * 1000 + 10 * (i + 1));
  std::string const text = prometheus(maker.made);
  CHECK(values(text).size() > 0);
  CHECK(count_of(text, "strata_range_host_seconds{") == 1);
  CHECK(has(text, "} 3e-08\n"));  // the longest
  CHECK(has(text, "strata_ranges_left_out 2\n"));
}

TEST_CASE("metrics.prom: work of the GPU comes before that of the host") {
  finding_test::program p;
  p.run(4, [&] {
    for (int i = 0; i < 60; ++i)
      p.in(p.node(root_node, "host " + std::to_string(i) + "x"),
           [&](std::uint32_t) { p.now += 100 * us; });
    p.in(p.mlp, [&](std::uint32_t range) { p.kernel_of(range, us); });
    p.wait();
  });
  std::string const text = prometheus(p.made);
  CHECK(count_of(text, "strata_range_host_seconds{") == 50);
  CHECK(count_of(text, "strata_range_gpu_busy_seconds{range=\"mlp\"} ") == 1);
}

TEST_CASE("metrics.prom: work beyond a roof is no use of it") {
  finding_test::program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t range) { p.kernel_of(range, 600 * us); });
    p.wait();
  });
  p.count_nothing(p.attention);
  p.hbm(p.attention, 0.5);
  CHECK(count_of(prometheus(p.made), "strata_range_use_ratio{range=\"attention\"") == 1);
  p.hbm(p.attention, 2.0);
  CHECK(count_of(prometheus(p.made), "strata_range_use_ratio{range=\"attention\"") == 0);
}

TEST_CASE("metrics.prom: the findings that gain most have series, and each of them one") {
  report_tables const tables(with_ranges(1, "layer "));
  report_input input = tables.input();
  finding cause{};
  cause.rule = "idle";
  cause.cost_ns_per_step = 1000.0;
  input.findings.findings.clear();
  for (int i = 0; i < 12; ++i) {
    cause.path = "range " + std::to_string(i) + "x";
    input.findings.findings.push_back(cause);
    input.findings.findings.push_back(cause);
  }
  std::string const text = prometheus(input);
  CHECK(values(text).size() > 0);
  CHECK(count_of(text, "strata_finding_gain_seconds{") == 10);
  CHECK(has(text, "{range=\"range 9x\",rule=\"idle\"} "));
}

TEST_CASE("metrics.prom: labels are escaped") {
  sample::maker maker;
  maker.made.environment.command = "./a\"b";
  maker.call(maker.node(strata::root_node, "top \"k\" \\ of\nall \xFF"), 0, 1000);
  std::string const text = prometheus(maker.made);
  // A line break is the text \\n, whose backslash is escaped.
  CHECK(has(text,
            "strata_range_host_seconds{program=\"a\\\"b\",range=\"top \\\"k\\\" \\\\ of\\\\nall "
            "\xEF\xBF\xBD\"} 1e-06\n"));
}

TEST_CASE("a program's name is its file's, of Python the script's or module's") {
  struct {
    char const* command;
    char const* name;
  } const programs[] = {{"/usr/bin/server --port 80", "server"},
                        {"server", "server"},
                        {"", ""},
                        {"/opt/venv/bin/python3 -u jobs/train.py --steps 3", "train.py"},
                        {"python3.12 -m vllm.entrypoints --model x", "vllm.entrypoints"},
                        {"python3 -c import", "python3"},
                        {"python3 -uc import os", "python3"},
                        {"python3 -Ium jobs.train -m x", "jobs.train"},
                        {"python3 -mjobs.train run.py", "jobs.train"},
                        {"python3 -uW ignore -X dev -Xcpu_count=4 a/run.py", "run.py"},
                        {"python3 --check-hash-based-pycs always run.py", "run.py"},
                        {"python3 - input.txt", "python3"},
                        {"python3  -m  jobs.train", "jobs.train"},
                        {"python3 jobs/ --steps 3", "jobs"},
                        {"python3 /", "python3"},
                        {"python", "python"},
                        {"python3 -m", "python3"},
                        {"'/opt/my tools/server' --port 80", "server"},
                        {"'it'\\''s a train' 'a b'", "it's a train"},
                        {"'/my env/bin/python3' -u 'my jobs/train it.py' x", "train it.py"},
                        {"python3 -W 'ignore: all' '' run.py", "run.py"},
                        {"python3 -c 'import os' run.py", "python3"},
                        {"'unclosed quote", "unclosed quote"},
                        {"python3 -u", "python3"}};
  for (auto const& program : programs) {
    CAPTURE(program.command);
    CHECK(detail::program_of(program.command) == program.name);
  }
}

}  // namespace fleet_metrics_test
