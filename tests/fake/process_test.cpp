// The session that STRATA asks for, and forked children.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "../sanitizers.hpp"
#include "child_process.hpp"
#include "fake.hpp"

namespace process_test {

using fake::child_process;
using fake::count_of;

TEST_CASE("STRATA=trace traces a program that has no session") {
  REQUIRE(std::system("rm -rf traced") == 0);
  child_process const p({"work=3", "other-device-work"},
                        {{"STRATA", "trace,formats=table+csv+json+trace.json,out=traced"}});
  INFO(p.err);
  CHECK(count_of(p.err, "work") > 0);
  CHECK(count_of(p.err, "gemm") > 0);
  CHECK(count_of(p.err, "/traced/{") == 1);
  CHECK(fake::text_of("traced/ranges.csv").find("work") != std::string::npos);
  CHECK(fake::text_of("traced/kernels.csv").find("gemm") != std::string::npos);
  CHECK(fake::text_of("traced/memory.csv").size() > 0);
  CHECK(fake::text_of("traced/profile.json").find("gemm") != std::string::npos);
  CHECK(count_of(fake::text_of("traced/trace.json"), "gemm") >= 3);
}

TEST_CASE("a thread's first range waits asleep for the session that another's begins") {
  REQUIRE(std::system("rm -rf first-ranges") == 0);
  child_process const p({"cuda", "two-first-ranges"},
                        {{"STRATA", "trace,formats=csv,out=first-ranges"}});
  INFO(p.err);
  CHECK(p.number("waits asleep") == 1);
  std::string const ranges = fake::text_of("first-ranges/ranges.csv");
  CHECK(count_of(ranges, "first,") > 0);
  CHECK(count_of(ranges, "second,") > 0);
}

TEST_CASE("its table has the problems and the losses") {
  REQUIRE(std::system("rm -rf problems losses") == 0);
  child_process const problems({"fail=cuptiSubscribe:35", "work=3"},
                               {{"STRATA", "trace,out=problems"}});
  INFO(problems.err);
  CHECK(count_of(problems.err, "INSUFFICIENT_PRIVILEGES (35)") == 1);
  CHECK(count_of(problems.err, "work") > 0);
  CHECK(fake::text_of("problems/profile.json").find("INSUFFICIENT_PRIVILEGES") !=
        std::string::npos);
  child_process const losses({"work=3", "drop=1234"}, {{"STRATA", "trace,out=losses"}});
  INFO(losses.err);
  CHECK(losses.err.find("records of device work dropped by CUPTI") != std::string::npos);
  CHECK(losses.err.find("1,234") != std::string::npos);
}

TEST_CASE("without STRATA nothing is loaded and nothing is said") {
  child_process const p({"work=3", "tell=cuptiGetVersion", "tell=cuptiSubscribe"});
  CHECK(p.err.empty());
  CHECK(p.number("cuptiGetVersion") == 0);
  CHECK(p.number("cuptiSubscribe") == 0);
}

TEST_CASE("nothing of CUDA runs before the program uses it") {
  for (std::string const how :
       {"", "help", "host,formats=none", "trace,formats=none", "trace,counters=hbm,formats=none",
        "trace,skip=1,active=1,attach=window,formats=none", "trace,step=auto,formats=none",
        "trace,sync=1,formats=none", "host,sync=1,formats=none",
        "host,counters=hbm,formats=none"}) {
    CAPTURE(how);
    child_process const p(
        {"ranges=3000", "host-steps=9", "inits=own", "tell=cuptiSubscribe", "tell=cuptiGetVersion"},
        {{"STRATA", how}});
    CHECK(p.number("cuInit own") == 0);
    CHECK(p.number("cuptiSubscribe") == 0);
    CHECK(p.number("cuptiGetVersion") == 0);
    child_process const alone({"ranges=3000", "host-steps=9", "opened"},
                              {{"STRATA", how}, {"FAKE_CUPTI_FILE", ""}, {"FAKE_CUDA_FILE", ""}});
    CHECK(alone.number("opened") == 0);
  }
}

TEST_CASE("Strata does not start CUDA by itself, and traces from the first launch on") {
  child_process const traced({"ranges=2", "inits=before", "work=3", "inits=after"},
                             {{"STRATA", "trace,formats=csv,out=first-launch"}});
  CHECK(traced.number("cuInit before") == 0);
  CHECK(traced.number("cuInit after") == 1);  // the program's
  CHECK(fake::text_of("first-launch/kernels.csv").find("gemm") != std::string::npos);
  child_process const in_code({"start=trace,formats=none", "ranges=1", "inits=range", "work=3",
                               "inits=work", "stop", "start=trace,formats=none", "work=3",
                               "inits=again", "stop"});
  CHECK(in_code.number("cuInit range") == 0);
  CHECK(in_code.number("cuInit work") == 1);
  CHECK(in_code.number("cuInit again") == 1);
  CHECK(in_code.number("kernels") == 3);
  CHECK(in_code.number("launches") == 3);
  CHECK(in_code.number("problems") == 0);
}

TEST_CASE("a library's constructor that begins to use CUDA may wait for ranges and steps") {
  for (std::string const how : {"trace", "trace,counters=hbm", "host,sync=1",
                                "trace,attach=window,skip=1,active=1,repeat=0"}) {
    for (std::string const& file : {fake::cupti_file, std::string()}) {  // loaded before, or not
      CAPTURE(how);
      CAPTURE(file);
      child_process const p(
          {"start=" + how + ",formats=none", "ranges=1", "constructor", "ranges=1", "stop"},
          {{"FAKE_CUPTI_FILE", file}, {"FAKE_CUDA_FILE", ""}});
      CHECK(p.number("done in a constructor") == 1);
    }
  }
}

TEST_CASE("sync=1 alone waits for the device from the program's use of CUDA on") {
  child_process const p({"start=host,sync=1,formats=none", "ranges=3", "inits=before", "work=3",
                         "inits=after", "stop", "start=host,sync=1,formats=none", "ranges=3",
                         "stop", "inits=again"});
  CHECK(p.number("cuInit before") == 0);
  CHECK(p.number("cuInit after") == 1);  // the program's
  CHECK(p.number("cuInit again") == 1);
  CHECK(p.number("problems") == 0);
  CHECK(p.number("waited") > 0);
}

TEST_CASE("steps before CUDA are recorded, and counting begins after it") {
  child_process const p({"start=trace,formats=none,counters=hbm", "host-steps=6", "steps=9", "stop",
                         "tell=cuptiRangeProfilerStart"});
  CHECK(p.number("problems") == 0);
  CHECK(p.number("kernels") == 4);     // of the step in which CUDA comes, and the timed ones
  CHECK(p.number("ranges") == 6 + 4);  // without the one of warm-up
  CHECK(p.number("cuptiRangeProfilerStart") > 0);
  child_process const without({"start=trace,formats=none,counters=hbm", "host-steps=9", "stop"});
  CHECK(without.number("ranges") == 9);
  CHECK(without.number("problems") == 1);
}

TEST_CASE("children have CUDA and the environment as without Strata") {
  for (char const* const how : {"fork", "exec", "spawn", "system"}) {
    // The sanitizers' allocators, unlike the C library's, may stay locked in a forked child.
    if (test::sanitized && how == std::string("fork")) continue;
    std::string const child = std::string("child=") + how;
    for (std::vector<std::string> const& words :
         std::vector<std::vector<std::string>>{{child, "ranges=1", child},
                                               {"ranges=3", child, child, "ranges=1"},
                                               {"host-steps=2", child, "cuda", "ranges=1", child},
                                               {"cuda", child, "ranges=1", child},
                                               {"ranges=1", child, "work=2", child},
                                               {"work=2", child}}) {
      std::string line;
      for (std::string const& word : words) line += word + " ";
      CAPTURE(line);
      child_process const without(words);
      CHECK(fake::count_of(without.out, "cuInit in a child") > 0);
      for (char const* const session :
           {"trace,formats=none", "trace,counters=hbm,formats=none", "host,formats=none"}) {
        CAPTURE(session);
        child_process const with(words, {{"STRATA", session}});
        std::string const said = with.out.substr(0, with.out.find("unsubscribed at exit"));
        CHECK(said == without.out.substr(0, without.out.find("unsubscribed at exit")));
      }
    }
  }
}

TEST_CASE("a forked child is silent and leaves CUPTI alone") {
  SUBCASE("of a program with a session of its own") {
    child_process const p({"start=trace,formats=none", "work=2", "fork", "work=2", "stop"});
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("child") == 6);
    CHECK(p.number("kernels") == 4);
    CHECK(p.number("problems") == 0);
    CHECK(p.err.empty());
  }
  SUBCASE("whose range waits for the device, and which asks for a report") {
    REQUIRE(std::system("rm -rf forked forked-2") == 0);
    child_process const p(
        {"start=trace,formats=csv,sync=1,out=forked", "work=2", "fork", "work=2", "stop"});
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("report of the child") == 0);
    CHECK(p.number("child") == 6);
    CHECK(p.number("kernels") == 4);
    CHECK(std::system("test -e forked -o -e forked-2") != 0);
    CHECK(p.err.empty());
  }
  SUBCASE("and waits for none of the parent's callbacks at its exit") {
    child_process const p({"tell-exit", "start=trace,formats=none", "work=2", "fork", "stop"});
    CHECK(p.number("child left CUPTI") == 0);
    CHECK(p.number("parent left CUPTI") == 1);
    CHECK(p.number("child") == 6);
  }
  SUBCASE("of a program that STRATA traces") {
    REQUIRE(std::system("rm -rf forked forked-2") == 0);
    child_process const p({"work=2", "fork", "work=2"}, {{"STRATA", "trace,out=forked"}});
    INFO(p.err);
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("child") == 6);
    CHECK(count_of(p.err, "strata: wrote") == 1);
    CHECK(count_of(fake::text_of("forked/kernels.csv"), "gemm") > 0);
  }
}

TEST_CASE("a forked child of a program that is sampled samples nothing and waits for nobody") {
  for (std::string const& hang : {std::string(), "hang=" + std::to_string(fake_blocks_sampling)}) {
    CAPTURE(hang);
    REQUIRE(std::system("rm -rf forked forked-2") == 0);
    std::vector<std::string> words{"work=2", "sampling", "fork", "work=2"};
    if (!hang.empty()) words.insert(words.begin() + 2, hang);
    child_process const p(words, {{"STRATA", "trace,live,interval=20,drain=50,out=forked"}});
    INFO(p.err);
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("sleeps of the child") == 0);
    CHECK(p.number("child") == 6);
    CHECK(count_of(p.err, "strata: wrote") == 1);
    CHECK(count_of(p.err, "what was sampled is lost") == (hang.empty() ? 0 : 1));
  }
}

TEST_CASE("the functions that sample are looked up for live alone") {
  if (test::sanitized) return;  // an instrumented library looks up its own functions
  for (char const* const what : {"trace,counters=hbm", "trace", "live", "trace,live"}) {
    CAPTURE(std::string(what));
    REQUIRE(std::system("rm -f symbols.*") == 0);
    bool const samples = std::string(what).find("live") != std::string::npos;
    std::vector<std::string> words{std::string("start=formats=none,") + what, "cuda", "steps=9"};
    if (samples) words.emplace_back("sampling");
    words.emplace_back("stop");
    // The dynamic linker writes what it looks up.
    child_process const p(words, {{"LD_DEBUG", "symbols"}, {"LD_DEBUG_OUTPUT", "symbols"}});
    REQUIRE(std::system("cat symbols.* > all-symbols && rm -f symbols.*") == 0);
    std::string const all = fake::text_of("all-symbols");
    CHECK(count_of(all, "symbol=cuptiActivity") + (samples ? 1 : 0) > 0);
    CHECK((count_of(all, "symbol=cuptiPmSamplingStart;") != 0) == samples);
    CHECK((count_of(all, "symbol=cuptiPmSamplingDecodeData;") != 0) == samples);
  }
}

TEST_CASE("the device is used before main and its memory freed after it") {
  REQUIRE(std::system("rm -rf around") == 0);
  SUBCASE("without Strata") {
    child_process const p({"work=1"}, {{"AROUND_MAIN", "1"}});
    CHECK(p.number("freed") == 0);
    CHECK(p.err.empty());
  }
  SUBCASE("outside of the session: neither is in its report") {
    child_process const p({"work=1"}, {{"AROUND_MAIN", "1"}, {"STRATA", "trace,out=around"}});
    INFO(p.err);
    CHECK(p.number("freed") == 0);
    CHECK(count_of(p.err, "strata: wrote") == 1);
    CHECK(fake::text_of("around/ranges.csv").find("work") != std::string::npos);
    CHECK(count_of(p.err, "problem:") == 0);
    CHECK(count_of(p.err, "lost:") == 0);
  }
  SUBCASE("the session begins before main and ends after it: the main thread is over by then") {
    child_process const p({"work=1"}, {{"AROUND_MAIN", "range"}, {"STRATA", "trace,out=around"}});
    INFO(p.err);
    CHECK(p.number("freed") == 0);
    CHECK(count_of(p.err, "strata: wrote") == 1);
    std::string const ranges = fake::text_of("around/ranges.csv");
    CHECK(count_of(ranges, ",before,before,") == 1);
    CHECK(count_of(ranges, ",work,work,") == 1);
    CHECK(count_of(ranges, ",after,after,") == 0);
    CHECK(count_of(p.err, "problem:") == 0);
    CHECK(count_of(p.err, "lost:") == 0);
  }
  SUBCASE("a session in code that ended long before") {
    child_process const p({"start=trace,formats=none", "work=2", "stop"}, {{"AROUND_MAIN", "1"}});
    CHECK(p.number("kernels") == 2);
    CHECK(p.number("freed") == 0);
    CHECK(p.number("problems") == 0);
  }
}

}  // namespace process_test
