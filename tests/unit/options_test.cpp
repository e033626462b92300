#include <strata/base/text.hpp>
#include <strata/options.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>
#include "../word_list.hpp"

namespace options_test {

using namespace strata;

namespace {

options good(std::string_view text) {
  strata::vec<std::string> problems;
  options const chosen = options::parse(text, problems);
  CAPTURE(text);
  CHECK(problems == strata::vec<std::string>{});
  return chosen;
}

/// Parses a text with one mistake; gives what is said of it.
std::string bad(std::string_view text, options* chosen = nullptr) {
  strata::vec<std::string> problems;
  options const read = options::parse(text, problems);
  if (chosen != nullptr) *chosen = read;
  CAPTURE(text);
  REQUIRE(problems.size() == 1);
  return problems[0];
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("defaults") {
  options const chosen = good("");
  CHECK(chosen.enabled);
  CHECK(chosen.trace);
  CHECK(chosen.out == "strata-out");
  CHECK(chosen.table);
  CHECK(chosen.csv);
  CHECK(chosen.json);
  CHECK(chosen.chrome_trace);
  CHECK_FALSE(chosen.plain_trace);
  CHECK_FALSE(chosen.has_schedule());
  CHECK(chosen.only.empty());
  CHECK_FALSE(chosen.synchronize);
  CHECK_FALSE(chosen.verbose);
  CHECK_FALSE(chosen.strict);
  CHECK(chosen.nvtx == options::nvtx_mode::automatic);
}

TEST_CASE("every key") {
  options const chosen = good(
      "trace,out=runs/a-b,formats=csv+json,skip=10,warmup=2,active=5,repeat=3,only=attn*+mlp,"
      "sync=1,nvtx=out,verbose,strict=1,log=64,buffers=128");
  CHECK(chosen.trace);
  CHECK(chosen.out == "runs/a-b");
  CHECK_FALSE(chosen.table);
  CHECK(chosen.csv);
  CHECK(chosen.json);
  CHECK_FALSE(chosen.chrome_trace);
  CHECK(chosen.skip == 10);
  CHECK(chosen.warmup == 2);
  CHECK(chosen.active == 5);
  CHECK(chosen.repeat == 3);
  CHECK(chosen.has_schedule());
  CHECK(chosen.sort == options::order::cost);
  CHECK(chosen.only == strata::vec<std::string>{"attn*", "mlp"});
  CHECK(chosen.synchronize);
  CHECK(chosen.nvtx == options::nvtx_mode::out);
  CHECK(chosen.verbose);
  CHECK(chosen.strict);
  CHECK(chosen.log_mb == 64);
  CHECK(chosen.buffers_mb == 128);
  CHECK(chosen.text.substr(0, 9) == "trace,out");
}

TEST_CASE("the range that is the step, and how long a session lasts") {
  CHECK(good("trace").step.empty());
  CHECK(good("step= Train step ,skip=1").step == "Train step");
  CHECK(bad("trace,step=") ==
        "STRATA: \"step=\" is ignored: step takes the name of a range, as in step=Train step.");
  CHECK(good("trace").for_s == 0);
  CHECK(good("for=30").for_s == 30);
  CHECK(has(bad("trace,for=0"), "for takes a whole number of s from 1"));
  CHECK(has(bad("trace,for=30s"), "for takes a whole number of s from 1"));
}

TEST_CASE("some kinds of device work") {
  CHECK(good("trace").trace_waits);
  options const some = good("trace=kernels+memory,every=100,active=2");
  CHECK(some.trace);
  CHECK(some.enabled);
  CHECK(some.trace_kernels);
  CHECK(some.trace_memory);
  CHECK_FALSE(some.trace_copies);
  CHECK_FALSE(some.trace_waits);
  CHECK(some.every == 100);
  CHECK(some.has_schedule());
}

TEST_CASE("the order of ranges") {
  CHECK(good("sort=order").sort == options::order::execution);
  CHECK(good("sort=name").sort == options::order::name);
  CHECK(good("sort=name,sort=cost").sort == options::order::cost);
  options chosen;
  CHECK(bad("sort=costs,sort=name", &chosen) ==
        "STRATA: \"sort=costs\" is ignored, did you mean cost? sort takes cost, order or name.");
  CHECK(chosen.sort == options::order::name);
  CHECK(bad("sort", &chosen) == "STRATA: \"sort=\" is ignored: sort takes cost, order or name.");
}

TEST_CASE("when CUPTI comes") {
  CHECK_FALSE(good("every=9").attach_in_window);
  CHECK(good("attach=window,trigger=now").attaches_in_windows());
  CHECK(good("attach=window,every=9").attaches_in_windows());
  CHECK_FALSE(good("attach=window,attach=start,every=9").attaches_in_windows());
  for (char const* const never : {"", "host,every=9", "every=9,nvtx=in", "every=9,nvtx=in+out"})
    CHECK_FALSE(good(std::string("attach=window,") + never).attaches_in_windows());
  CHECK(bad("attach=late") == "STRATA: \"attach=late\" is ignored: attach takes start or window.");
}

TEST_CASE("whether ranges adopt work") {
  CHECK(good("trace").adopt);
  CHECK_FALSE(good("adopt=off").adopt);
  CHECK(good("adopt=off,adopt").adopt);
  CHECK(bad("adopt=some") == "STRATA: \"adopt=some\" is ignored: adopt takes 1 or 0.");
}

TEST_CASE("on, off and host") {
  CHECK(good("1").enabled);
  CHECK(good("on").enabled);
  CHECK(good("trace").enabled);
  CHECK_FALSE(good("off").enabled);
  CHECK_FALSE(good("0").enabled);
  CHECK_FALSE(good("trace,off").enabled);
  CHECK(good("off,trace").enabled);
  CHECK_FALSE(good("host").trace);
  CHECK(good("host").enabled);
  CHECK(good("host=0").trace);
  CHECK_FALSE(good("trace=0").trace);
  CHECK(good("trace=0").enabled);
  CHECK_FALSE(good("nvtx=off,strict=off,sync=0").strict);
  CHECK(good("nvtx=0").nvtx == options::nvtx_mode::off);
  CHECK(good("nvtx=in").nvtx == options::nvtx_mode::in);
  CHECK(good("nvtx=1").nvtx == options::nvtx_mode::out);
  CHECK(good("nvtx = out + in").nvtx == options::nvtx_mode::in_and_out);
  CHECK(good("nvtx=in").nvtx_in());
  CHECK_FALSE(good("nvtx=in").nvtx_out());
  CHECK(good("nvtx=in+out").nvtx_in());
  CHECK(good("nvtx=in+out").nvtx_out());
  CHECK_FALSE(good("nvtx=off").nvtx_in());
  CHECK_FALSE(good("").nvtx_in());
}

TEST_CASE("live uses nothing else of CUPTI, unless a trace is asked for") {
  CHECK_FALSE(good("host").live);
  options chosen = good("live");
  CHECK(chosen.live);
  CHECK(chosen.enabled);
  CHECK_FALSE(chosen.trace);
  CHECK(chosen.interval_us == 0);
  for (std::string const both :
       {"trace,live", "live,trace", "on,live", "live,trace=kernels", "live,counters=hbm"}) {
    CAPTURE(both);
    CHECK(good(both).live);
    CHECK(good(both).trace);
  }
  for (std::string const apart : {"host,live", "live,host", "trace,live,host"}) {
    CAPTURE(apart);
    CHECK(has(bad(apart, &chosen), "\"live\" is ignored with host"));
    CHECK_FALSE(chosen.live);
    CHECK_FALSE(chosen.trace);
  }
  CHECK(good("live,host=0").live);
  CHECK_FALSE(good("live,counters=cpu").trace);
  CHECK(good("trace,live=0").trace);
  CHECK(good("live,interval=20").interval_us == 20);
  CHECK(good("live,interval=1000").interval_us == 1000);
  for (std::string const wrong : {"19", "1001", "0", "", "20us", "-5"}) {
    CAPTURE(wrong);
    CHECK(
        has(bad("live,interval=" + wrong, &chosen), "interval takes a whole number of us from 20"));
    CHECK(chosen.interval_us == 0);
  }
  CHECK(has(bad("trace,interval=20"), "it is the time of a sample of live"));
}

TEST_CASE("a text without a key records nothing, and says so") {
  for (std::string const text : {",", ",,", " ", " , \t"}) {
    options chosen;
    CHECK(has(bad(text, &chosen), "STRATA: there is no key in it, so that nothing is recorded"));
    CHECK_FALSE(chosen.enabled);
  }
  CHECK(good("").enabled);  // of a session in code
}

TEST_CASE("a colon for an equals sign, and blanks") {
  options const chosen = good(" host , out: run 1 ,\tformats : table + csv , skip=\t3,, ,\n");
  CHECK_FALSE(chosen.trace);
  CHECK(chosen.out == "run 1");
  CHECK(chosen.table);
  CHECK(chosen.csv);
  CHECK_FALSE(chosen.json);
  CHECK(chosen.skip == 3);
  CHECK(good("out=C:/run").out == "C:/run");
  CHECK(good("out:a=b").out == "a=b");
}

TEST_CASE("formats") {
  options const none = good("formats=none");
  CHECK_FALSE(none.table);
  CHECK_FALSE(none.csv);
  CHECK_FALSE(none.json);
  CHECK_FALSE(none.chrome_trace);
  CHECK(good("formats=trace").chrome_trace);
  CHECK_FALSE(good("formats=trace").table);
  CHECK_FALSE(good("formats=trace").plain_trace);
  CHECK(good("formats=table+trace.json").plain_trace);
  CHECK_FALSE(good("formats=table+trace.json").chrome_trace);
  CHECK_FALSE(good("formats=trace").html);
  CHECK(good("formats=table+html").html);
  options chosen;
  std::string const said = bad("formats=csv+xml,skip=4", &chosen);
  CHECK(has(said, "\"formats=xml\""));
  CHECK(has(said, "table, csv, json, trace, trace.json, html, recording, openmetrics"));
  CHECK(chosen.csv);
  CHECK_FALSE(chosen.table);
  CHECK(chosen.skip == 4);
  (void)bad("formats=xml", &chosen);
  CHECK(chosen.table);
  CHECK(chosen.chrome_trace);
  CHECK(has(bad("formats=", &chosen), "\"formats=\""));
  CHECK(chosen.table);
  CHECK(has(bad("formats"), "formats"));
  CHECK(bad("formats=none+table", &chosen) ==
        "STRATA: in \"formats=none+table\" none is ignored: it cannot be combined with others.");
  CHECK(chosen.table);
  CHECK_FALSE(chosen.csv);
}

TEST_CASE("an unknown key names the keys, and the rest applies") {
  options chosen;
  std::string const said = bad("host,gpu=3,out=x", &chosen);
  CHECK(has(said, "\"gpu\"; the keys are "));
  for (char const* key : {"trace", "host", "off", "out", "formats", "skip", "warmup", "active",
                          "repeat", "only", "sync", "nvtx", "verbose", "strict", "log", "buffers"})
    CHECK(has(said, key));
  CHECK_FALSE(chosen.trace);
  CHECK(chosen.out == "x");
  CHECK(has(bad("=3"), "\"\""));
  CHECK(has(bad("Trace"), "\"Trace\""));
  CHECK(bad("host,skp=1") ==
        "STRATA: there is no key \"skp\", did you mean skip? STRATA=help prints the keys.");
  for (char const* const given : {"yes", "true"}) CHECK(has(bad(given), "\", did you mean on?"));
  for (char const* const given : {"no", "false"}) CHECK(has(bad(given), "\", did you mean off?"));
  CHECK(bad("trace,formats=html,csv") ==
        "STRATA: there is no key \"csv\": formats are joined by +, as in formats=table+html.");
  for (char const* const given : {"trace;skip=1", "trace skip=1", "skip=1,trace|host"})
    CHECK(has(bad(given), "\": keys are separated by commas, as in STRATA=trace,skip=1."));
}

TEST_CASE("an unknown value names the key and what it takes, and changes nothing") {
  struct mistake {
    char const* text;
    char const* wanted;
  };
  for (mistake const& m : std::vector<mistake>{
           {"skip=ten", "a whole number"},
           {"skip=", "a whole number"},
           {"skip", "a whole number"},
           {"warmup=-1", "a whole number"},
           {"warmup=+1", "a whole number"},
           {"repeat=1.5", "a whole number"},
           {"repeat=4294967296", "ignored, since it is too large: repeat takes 4294967295 at most"},
           {"skip=99999999999999999999", "too large"},
           {"active=0", "a whole number from 1"},
           {"active=5x", "a whole number from 1"},
           {"log=0", "a whole number of MB from 1"},
           {"buffers=1", "a whole number of MB from 16"},
           {"sync=maybe", "1 or 0"},
           {"strict=2", "1 or 0"},
           {"verbose=yes please", "1 or 0"},
           {"trace=foo", "1, 0, or kernels, copies, memory, waits and managed joined by +"},
           {"trace=no", "1, 0, or kernels, copies, memory, waits and managed joined by +"},
           {"trace=gpu", "1, 0, or kernels, copies, memory, waits and managed joined by +"},
           {"every=0", "a whole number from 1"},
           {"host=name", "1 or 0"},
           {"off=3", "no value"},
           {"nvtx=inn", "in, out, in+out, or off"},
           {"nvtx=in+off", "in, out, in+out, or off"},
           {"nvtx", "in, out, in+out, or off"},
           {"out=", "a directory"},
           {"out", "a directory"},
           {"only=", "names of ranges"},
           {"only=+ +", "names of ranges"}}) {
    options chosen;
    std::string const said = bad(std::string(m.text) + ",repeat=7", &chosen);
    std::string const key = std::string(m.text).substr(0, std::string(m.text).find('='));
    CHECK(has(said, "\"" + key + "="));
    CHECK(has(said, m.wanted));
    CHECK(chosen.repeat == 7);
    options const usual;
    CHECK(chosen.skip == usual.skip);
    CHECK(chosen.warmup == usual.warmup);
    CHECK(chosen.active == usual.active);
    CHECK(chosen.log_mb == usual.log_mb);
    CHECK(chosen.buffers_mb == usual.buffers_mb);
    CHECK(chosen.trace == usual.trace);
    CHECK(chosen.enabled == usual.enabled);
    CHECK(chosen.out == usual.out);
    CHECK(chosen.only.empty());
    CHECK(chosen.nvtx == usual.nvtx);
  }
  options chosen;
  (void)bad("only=a+b,only=", &chosen);
  CHECK(chosen.only == strata::vec<std::string>{"a", "b"});
}

TEST_CASE("what is wrong is told in one line of a bounded length") {
  std::string const long_key(100'000, 'k');
  CHECK(bad(long_key).size() < 420);
  CHECK(bad("skip=" + long_key).size() < 400);
  for (std::string const& text : {std::string("ke\ny"), std::string("skip=1\x1b[2J2"),
                                  std::string("k\0y", 3), std::string("out\x7f=1")}) {
    for (char const c : bad(text)) CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST_CASE("any text can be read") {
  std::mt19937 random(20'240'817);
  static auto const words = test::listed(
      "trace, host, off, out, formats, skip, warmup, active, repeat, only, sync, nvtx, verbose, "
      "strict, log, buffers, table, csv, none, json, 1, 0, 99999999999999999999, -1, on, *, ?");
  static constexpr char const* marks[] = {"=", ":", ",", "+", " ", "", "\t", "==", ",,"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    std::size_t const parts = random() % 12;
    for (std::size_t part = 0; part < parts; ++part) {
      switch (random() % 4) {
        case 0:
          text += static_cast<char>(random() % 256);
          break;
        case 1:
          text += words[random() % words.size()];
          break;
        default:
          text += marks[random() % (sizeof marks / sizeof *marks)];
      }
    }
    strata::vec<std::string> problems;
    options const chosen = options::parse(text, problems);
    bool const sane = chosen.text == text && !chosen.out.empty() && chosen.log_mb >= 1 &&
                      chosen.buffers_mb >= 16 && problems.size() <= text.size();
    CAPTURE(text);
    if (!sane) CHECK(sane);
    for (std::string const& problem : problems) {
      if (problem.find('\n') != std::string::npos || problem.compare(0, 8, "STRATA: ") != 0)
        FAIL_CHECK(problem);
    }
  }
}

TEST_CASE("patterns") {
  using detail::matches;
  CHECK(matches("attention", "attention"));
  CHECK(matches("attention", "att*"));
  CHECK(matches("attention", "*"));
  CHECK(matches("attention", "**"));
  CHECK(matches("attention", "*tion"));
  CHECK(matches("attention", "a*e*n"));
  CHECK(matches("attention", "?tt?ntion"));
  CHECK(matches("", ""));
  CHECK(matches("", "*"));
  CHECK(matches("aab", "*ab"));
  CHECK(matches("mississippi", "m*iss*ip*"));
  CHECK_FALSE(matches("attention", "attentio"));
  CHECK_FALSE(matches("attention", "attention?"));
  CHECK_FALSE(matches("attention", "Attention"));
  CHECK_FALSE(matches("attention", ""));
  CHECK_FALSE(matches("", "?"));
  CHECK_FALSE(matches("mississippi", "m*issx*"));
  CHECK_FALSE(matches(std::string(30'000, 'a'), "*a*a*a*a*b"));
}

}  // namespace options_test
