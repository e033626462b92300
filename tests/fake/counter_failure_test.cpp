// When counters cannot be had: the trace continues without them, and one sentence tells the fix.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include "child_process.hpp"
#include "counter_run.hpp"

namespace counter_failure_test {

using fake::child_process;
using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::l2_bytes;
using fake::launch_blocks;
using fake::one_problem;
using fake::run_steps;
using fake::sass;
using fake::says;
using strata::profile;

namespace {

void step() {
  STRATA_RANGE("a");
  launch_blocks(2);
}

struct code_text {
  int code;
  char const* fix;
};

code_text const codes[] = {
    {1, "12.6U2 or later"},
    {2, "a CUDA toolkit as new as the GPU"},
    {3, "call the CUDA runtime in it before"},
    {7, "Run with one profiler at a time"},
    {8, "out of memory"},
    {10, "count fewer ranges"},
    {11, "12.6U2 or later"},
    {12, "count fewer ranges"},
    {13, "without other profilers"},
    {14, "one profiler at a time"},
    {15, "libcupti"},  // which of two fixes depends on the machine
    {23, "disabled in this process"},
    {26, "dcgmi profile --pause"},
    {27, "fewer counters at a time"},
    {33, "vGPU"},
    {35, "NVreg_RestrictProfilingToAdminUsers=0"},
    {36, "the old profiling API"},
    {38, "CUDA 13 or later"},
    {39, "stop it or run without it"},
    {40, "enable_profiling"},
    {41, "devtools mode"},
    {42, "CMP"},
    {43, "MIG"},
    {44, "SLI"},
    {45, "WSL"},
    {46, "use that of a newer toolkit"},
    {999, "where the chip lacks what was asked for"},
};

}  // namespace

TEST_CASE("the privilege is missing: the trace is there, and the fix is named") {
  for (char const* const function : {"cuptiProfilerGetCounterAvailability",
                                     "cuptiRangeProfilerStart", "cuptiRangeProfilerEnable"}) {
    CAPTURE(std::string(function));
    counting s(hbm_read);
    fake_profiler_fail(function, 1, 100, 35);
    run_steps(3, step);
    profile const& p = s.profile();
    CHECK(fake_profiler_passes() == 0);
    REQUIRE(p.problems.size() >= 1);
    std::string const text = p.problems[0];
    CAPTURE(text);
    CHECK(says(text, std::string(function) + ": CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35): "));
    CHECK(says(text, "NVreg_RestrictProfilingToAdminUsers=0"));
    CHECK(says(text, "CAP_SYS_ADMIN"));
    CHECK(s.problems().at(0).code() == strata::errc::not_permitted);
    CHECK(p.traced);
    CHECK(p.kernels.size() == 1);
    CHECK(p.counters().values.empty());
    CHECK(fake_calls(function) > 0);
  }
}

TEST_CASE("a pass that cannot start takes nothing from the trace") {
  counting s(hbm_read, "repeat=0");
  fake_profiler_fail("cuptiRangeProfilerStart", 1, 100, 35);
  run_steps(4, step);
  CHECK(s.profile().kernels.size() == 4);
  CHECK(s.profile().ranges.size() == 4);
}

TEST_CASE("every code at every call, until the first pass ends: one sentence with the fix") {
  for (char const* const function :
       {"cuptiProfilerInitialize", "cuptiDeviceGetChipName", "cuptiProfilerGetCounterAvailability",
        "cuptiRangeProfilerEnable", "cuptiProfilerHostInitialize",
        "cuptiRangeProfilerGetCounterDataSize", "cuptiRangeProfilerCounterDataImageInitialize",
        "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart", "cuptiRangeProfilerStop",
        "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerGetCounterDataInfo",
        "cuptiRangeProfilerCounterDataGetRangeInfo", "cuptiProfilerHostEvaluateToGpuValues"}) {
    for (code_text const& each : codes) {
      CAPTURE(std::string(function));
      CAPTURE(each.code);
      counting s(hbm_read);
      fake_profiler_fail(function, 1, 100, each.code);
      run_steps(3, step);
      profile const& p = s.profile();
      REQUIRE(p.problems.size() >= 1);
      std::string const text = p.problems[0];
      CAPTURE(text);
      CHECK(says(text, std::string(function) + ": "));
      CHECK(says(text, '(' + std::to_string(each.code) + ')'));
      CHECK(says(text, each.fix));
      CHECK(p.kernels.size() == 1);
      for (strata::counter_value const& value : p.counters().values) CHECK(std::isnan(value.value));
    }
  }
}

TEST_CASE("a configuration that CUPTI refuses is named, and nothing is counted") {
  for (char const* const function :
       {"cuptiProfilerHostConfigAddMetrics", "cuptiProfilerHostGetConfigImageSize",
        "cuptiProfilerHostGetConfigImage", "cuptiProfilerHostGetNumOfPasses"}) {
    CAPTURE(std::string(function));
    counting s(std::string(hbm_read) + '+' + l2_bytes);
    fake_profiler_fail(function, 1, 1000, 8);
    run_steps(3, step);
    profile const& p = s.profile();
    REQUIRE(p.problems.size() == 3);
    CHECK(says(p.problems[0], std::string(hbm_read) + " is not counted: " + function));
    CHECK(says(p.problems[1], std::string(l2_bytes) + " is not counted: " + function));
    CHECK(says(p.problems[2], "refused every group"));
    CHECK(fake_profiler_passes() == 0);
    CHECK(p.kernels.size() == 1);
  }
}

TEST_CASE("codes have kinds") {
  using strata::errc;
  for (auto const& each : std::vector<std::pair<int, errc>>{{0, errc::ok},
                                                            {8, errc::limit},
                                                            {17, errc::bad_argument},
                                                            {26, errc::busy},
                                                            {33, errc::not_supported},
                                                            {35, errc::not_permitted},
                                                            {36, errc::busy},
                                                            {40, errc::not_permitted},
                                                            {43, errc::not_supported},
                                                            {46, errc::bad_argument},
                                                            {999, errc::internal},
                                                            {77, errc::not_supported}}) {
    auto const& code = each.first;
    auto const& kind = each.second;
    CAPTURE(code);
    CHECK(strata::detail::errc_of(static_cast<strata::detail::cupti::result>(code)) == kind);
  }
}

TEST_CASE("a failure in a later pass: what is complete is reported") {
  for (char const* const function :
       {"cuptiRangeProfilerStart", "cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData"}) {
    CAPTURE(std::string(function));
    counting s(std::string(hbm_read) + '+' + sass);
    fake_profiler_fail(function, 2, 100, 26);
    run_steps(5, step);
    profile const& p = s.profile();
    CHECK(says(p.problems.at(0), std::string(function) + ": CUPTI_ERROR_HARDWARE_BUSY (26): "));
    counted const c(p);
    CHECK(c.self("a", hbm_read) == 64);
    CHECK(c.empty("a", sass));
  }
}

TEST_CASE("devices that have no Range Profiler say why") {
  for (auto const& each : std::vector<std::pair<char const*, char const*>>{
           {"architecture", "compute capability 7.5 or later"},
           {"vgpu", "virtual GPU"},
           {"confidential", "confidential computing"},
           {"cmp", "CMP"},
           {"wsl", "WSL"},
           {"sli", "SLI"},
           {"", "does not support this device"}}) {
    auto const& why = each.first;
    auto const& says_why = each.second;
    CAPTURE(why);
    counting s(hbm_read);
    fake_profiler_set_unsupported(why);
    run_steps(2, step);
    one_problem(s.profile(), says_why);
    CHECK(s.profile().kernels.size() == 1);
  }
}

TEST_CASE("a GPU older than compute capability 7.5") {
  counting s(hbm_read);
  fake_set_device_attribute(75, 7);
  fake_set_device_attribute(76, 0);
  run_steps(2, step);
  one_problem(s.profile(),
              "counters need a GPU of compute capability 7.5 or later; this one has 7.0");
  counting newer(hbm_read);
  fake_set_device_attribute(75, 7);
  fake_set_device_attribute(76, 5);
  run_steps(2, step);
  fake::no_problem(newer.profile());
}

TEST_CASE("under MPS a failure names it") {
  {
    counting s(hbm_read);
    fake_set_device_attribute(133, 1);
    fake_profiler_fail("cuptiRangeProfilerEnable", 1, 1, 27);
    run_steps(2, step);
    one_problem(s.profile(), "shared through MPS");
  }
  counting s(hbm_read);
  fake_profiler_fail("cuptiRangeProfilerEnable", 1, 1, 27);
  run_steps(2, step);
  CHECK_FALSE(says(s.profile().problems.at(0), "MPS"));
}

TEST_CASE("no context in the thread that drives the steps") {
  counting s(hbm_read);
  fake_set_current_context(0);
  run_steps(2, step);
  one_problem(s.profile(), "has no CUDA context; call the CUDA runtime in it before");
}

TEST_CASE("a libcupti before 12.6U2") {
  std::string const missing = fake::library_dir + "/missing/libcupti.so.13";
  child_process const p({"start=trace,formats=none,active=1,counters=hbm", "steps=3", "stop"},
                        {{"STRATA_CUPTI", missing}, {"FAKE_CUPTI_FILE", missing}});
  CHECK(p.number("problems") == 1);
  CHECK(p.number("kernels") == 1);
  CHECK(says(p.out, missing + " lacks cupti"));
  CHECK(says(p.out, ": counters need the libcupti of CUDA 12.6U2 or later"));
}

TEST_CASE("parameters of every version that has the Range Profiler") {
  for (char const* const version :
       {"24", "26", "28", "130001", "130100", "130200", "130300", "130400"}) {
    CAPTURE(version);
    child_process const p({std::string("version=") + version,
                           "start=trace,formats=none,active=1,counters=hbm+flops", "steps=4",
                           "stop"});
    CHECK(p.number("problems") == 0);
    CHECK(p.number("misuses") == 0);
  }
}

TEST_CASE("unknown metrics are named with the nearest ones, and the rest is counted") {
  counting s(std::string("dram__bytes_raed.sum+hbm_raed_bytes+") + hbm_read);
  fake_profiler_lack("raed");
  run_steps(2, step);
  profile const& p = s.profile();
  REQUIRE(p.problems.size() == 2);
  CHECK(says(p.problems[1],
             "unknown metric 'dram__bytes_raed.sum': did you mean dram__bytes_read.sum or "));
  CHECK(says(p.problems[0], "unknown metric 'hbm_raed_bytes': did you mean hbm_read_bytes"));
  CHECK(counted(p).self("a", hbm_read) == 64);
}

TEST_CASE("metrics that this chip lacks are named, and the rest is counted") {
  counting s(std::string("hbm_read_bytes+") + l2_bytes);
  for (char const* const part : {"dram__", "fbpa__", "sysmem"}) fake_profiler_lack(part);
  run_steps(2, step);
  profile const& p = s.profile();
  one_problem(p, "hbm_read_bytes cannot be counted: this chip lacks dram__bytes_read.sum");
  counted const c(p);
  CHECK(c.self("a", l2_bytes) == 64);
  CHECK(c.empty("a", "hbm_read_bytes"));
  CHECK(says(c.note("a", "hbm_read_bytes"), "this chip lacks"));
}

TEST_CASE("without the tensor cores' cycles their formats are counted as any counter") {
  std::string const format = "sm__ops_path_tensor_src_fp16_dst_fp32.sum";
  counting s("sm__pipe_tensor_cycles_active.sum+" + format);
  fake_profiler_fail("cuptiProfilerHostConfigAddMetrics", 1, 2, 8);  // as a group and alone
  run_steps(3, step);
  profile const& p = s.profile();
  CHECK(p.problems.size() == 1);
  CHECK(p.counters().passes == 1);
  CHECK(p.counters().passes_done == 1);
  CHECK(counted(p).self("a", format.c_str()) > 0.0);
}

TEST_CASE("what a preset has for other chips is no problem") {
  counting formats("tensor");
  fake_profiler_lack("fp4");
  run_steps(12, step);
  fake::no_problem(formats.profile());
  CHECK(says(counted(formats.profile()).note("a", "tensor_fp4"), "this chip lacks"));
  counting by_name("tensor+tensor_fp4");
  fake_profiler_lack("fp4");
  run_steps(12, step);
  one_problem(by_name.profile(), "tensor_fp4 cannot be counted: this chip lacks");
  counting nothing(std::string("stalls+") + hbm_read);
  fake_profiler_lack("stall");
  run_steps(12, step);
  one_problem(nothing.profile(), "stalls cannot be counted: this chip lacks");
  counting memory("hbm");
  for (char const* const part : {"dram__", "fbpa__", "sysmem"}) fake_profiler_lack(part);
  run_steps(12, step);
  CHECK(memory.profile().problems.size() == 3);  // read, written, both
}

TEST_CASE("nothing that can be counted is left") {
  counting s("hbm_read_bytes");
  for (char const* const part : {"dram__", "fbpa__", "sysmem"}) fake_profiler_lack(part);
  run_steps(3, step);
  REQUIRE(s.profile().problems.size() == 2);
  CHECK(says(s.profile().problems[1], "nothing is left to count"));
  CHECK(fake_profiler_passes() == 0);
}

TEST_CASE("links and memory do not share a pass: each has its own") {
  counting s(std::string("pcie__read_bytes.sum+") + hbm_read);
  run_steps(4, step);
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes == 2);
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.self("a", "pcie__read_bytes.sum") == 64);
}

TEST_CASE("NVLink is counted, which the image of a context hides; C2C that is not there is not") {
  constexpr char const* received = "nvlrx__bytes.sum";
  counting s(std::string(received) + "+pcie__read_bytes.sum+ctc__rx_bytes.sum+" + hbm_read);
  run_steps(5, step);
  profile const& p = s.profile();
  CHECK(p.counters().passes == 2);
  counted const c(p);
  CHECK(c.self("a", received) == 64);
  CHECK(c.self("a", "pcie__read_bytes.sum") == 64);
  CHECK(c.self("a", hbm_read) == 64);
  REQUIRE(p.problems.size() == 1);
  CHECK(says(p.problems[0], "ctc__rx_bytes.sum is not counted: "));
}

TEST_CASE(
    "without the image of a device, as of older libraries, NVLink is refused with a sentence") {
  counting s(std::string("nvlrx__bytes.sum+") + hbm_read);
  fake_profiler_fail("cuptiPmSamplingGetCounterAvailability", 1, 100, 35);
  run_steps(4, step);
  profile const& p = s.profile();
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  REQUIRE(p.problems.size() == 1);
  CHECK(says(p.problems[0], "nvlrx__bytes.sum is not counted: "));
}

TEST_CASE("counters that refuse each other's company are counted apart") {
  strata::detail::chip_metrics host;
  fake_profiler_reset();
  REQUIRE(host.open(strata::detail::profiler_library::get(), "GH100").ok());
  strata::vec<strata::detail::metric_config> made;
  strata::vec<strata::status> problems;
  host.configure_apart({"pcie__read_bytes.sum", hbm_read, "nvlrx__bytes.sum", l2_bytes,
                        "gpu__time_duration.sum", "dram__no_rollup"},
                       made, problems);
  REQUIRE(made.size() == 2);
  CHECK(made[0].names().size() == 3);  // the links, and time, which joins either
  CHECK(made[1].names() == strata::vec<std::string>{hbm_read, l2_bytes});
  REQUIRE(problems.size() == 1);
  CHECK(says(problems[0].message(), "dram__no_rollup is not counted: "));
}

TEST_CASE("without a driver unknown names are told, and no step is cut off") {
  child_process const p(
      {"start=trace,formats=none,counters=nonsense+hbm_raed_bytes", "steps=10", "stop"},
      {{"STRATA_LIBCUDA", "/nowhere/libcuda.so"}, {"FAKE_CUPTI_FILE", ""}, {"FAKE_CUDA_FILE", ""}});
  CHECK(p.number("ranges") == 10);
  CHECK(says(p.out, "problem: STRATA_LIBCUDA=/nowhere/libcuda.so"));
  CHECK(says(p.out, "problem: unknown metric 'nonsense'"));
  CHECK(says(p.out, "problem: unknown metric 'hbm_raed_bytes': did you mean hbm_read_bytes"));
  CHECK(p.number("problems") == 3);
}

TEST_CASE("a request without any known name cuts no step off either") {
  fake::session s(fake::configure("trace,formats=none,counters=nonsense"));
  fake::unscript();
  REQUIRE(s.start().ok());
  run_steps(10, step);
  one_problem(s.profile(), "unknown metric 'nonsense'");
  CHECK(s.profile().kernels.size() == 10);
}

TEST_CASE("a session that starts again counts again") {
  fake::session s(fake::configure(std::string("trace,formats=none,counters=") + hbm_read));
  fake::unscript();
  fake_profiler_reset();
  for (int round = 0; round < 2; ++round) {
    REQUIRE(s.start().ok());
    run_steps(6, step);
    CHECK(s.profile().kernels.size() == 3);  // the timed steps, after one of warm-up
    CHECK(s.profile().counters().passes_done == 1);
  }
}

TEST_CASE("replay tells why it counted nothing") {
  fake::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_profiler_reset();
  REQUIRE(s.start().ok());
  fake_profiler_fail("cuptiProfilerGetCounterAvailability", 1, 1, 35);
  int runs = 0;
  auto const body = [&] {
    step();
    ++runs;
  };
  for (bool const again : {false, true}) {
    strata::status const done = again ? s.counters(hbm_read).replay(body, strata::repeatable)
                                      : s.counters(hbm_read).replay(body);
    CHECK(done.code() == strata::errc::not_permitted);
    CHECK(says(done.message(), "NVreg_RestrictProfilingToAdminUsers=0"));
  }
  CHECK(runs == 2);
  strata::status const other = s.counters(l2_bytes).replay(body);
  CHECK(other.code() == strata::errc::bad_argument);
  CHECK(says(other.message(), "this run has"));
  CHECK(s.counters(hbm_read).replay(body).code() == strata::errc::not_permitted);
  CHECK(runs == 4);
}

}  // namespace counter_failure_test
