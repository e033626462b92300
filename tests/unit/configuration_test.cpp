#include <strata/base/text.hpp>
#include <strata/options.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace strata;

namespace {

options good(std::string_view text) {
  strata::vec<std::string> problems;
  options const how = options::parse(text, problems);
  CAPTURE(text);
  CHECK(problems == strata::vec<std::string>{});
  return how;
}

/// Parses a text with one mistake; gives what is said of it.
std::string bad(std::string_view text, options* how = nullptr) {
  strata::vec<std::string> problems;
  options const read = options::parse(text, problems);
  if (how != nullptr) *how = read;
  CAPTURE(text);
  REQUIRE(problems.size() == 1);
  return problems[0];
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("defaults") {
  options const how = good("");
  CHECK(how.enabled);
  CHECK(how.trace);
  CHECK(how.out == "strata-out");
  CHECK(how.table);
  CHECK(how.csv);
  CHECK(how.json);
  CHECK(how.chrome_trace);
  CHECK_FALSE(how.has_schedule());
  CHECK(how.only.empty());
  CHECK_FALSE(how.synchronize);
  CHECK_FALSE(how.verbose);
  CHECK_FALSE(how.strict);
  CHECK(how.nvtx == options::nvtx_mode::automatic);
}

TEST_CASE("every key") {
  options const how = good(
      "trace,out=runs/a-b,formats=csv+json,skip=10,warmup=2,active=5,repeat=3,only=attn*+mlp,"
      "sync=1,nvtx=out,verbose,strict=1,log=64,buffers=128");
  CHECK(how.trace);
  CHECK(how.out == "runs/a-b");
  CHECK_FALSE(how.table);
  CHECK(how.csv);
  CHECK(how.json);
  CHECK_FALSE(how.chrome_trace);
  CHECK(how.skip == 10);
  CHECK(how.warmup == 2);
  CHECK(how.active == 5);
  CHECK(how.repeat == 3);
  CHECK(how.has_schedule());
  CHECK(how.only == strata::vec<std::string>{"attn*", "mlp"});
  CHECK(how.synchronize);
  CHECK(how.nvtx == options::nvtx_mode::out);
  CHECK(how.verbose);
  CHECK(how.strict);
  CHECK(how.log_mb == 64);
  CHECK(how.buffers_mb == 128);
  CHECK(how.text.substr(0, 9) == "trace,out");
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

TEST_CASE("a colon for an equals sign, and blanks") {
  options const how = good(" host , out: run 1 ,\tformats : table + csv , skip=\t3,, ,\n");
  CHECK_FALSE(how.trace);
  CHECK(how.out == "run 1");
  CHECK(how.table);
  CHECK(how.csv);
  CHECK_FALSE(how.json);
  CHECK(how.skip == 3);
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
  options how;
  std::string const said = bad("formats=csv+xml,skip=4", &how);
  CHECK(has(said, "\"formats=xml\""));
  CHECK(has(said, "table, csv, json and trace"));
  CHECK(how.csv);
  CHECK_FALSE(how.table);
  CHECK(how.skip == 4);
  (void)bad("formats=xml", &how);
  CHECK(how.table);
  CHECK(how.chrome_trace);
  CHECK(has(bad("formats=", &how), "\"formats=\""));
  CHECK(how.table);
  CHECK(has(bad("formats"), "formats"));
}

TEST_CASE("an unknown key names the keys, and the rest applies") {
  options how;
  std::string const said = bad("host,tracee=3,out=x", &how);
  CHECK(has(said, "\"tracee\""));
  for (char const* key : {"trace", "host", "off", "out", "formats", "skip", "warmup", "active",
                          "repeat", "only", "sync", "nvtx", "verbose", "strict", "log", "buffers"})
    CHECK(has(said, key));
  CHECK_FALSE(how.trace);
  CHECK(how.out == "x");
  CHECK(has(bad("=3"), "\"\""));
  CHECK(has(bad("Trace"), "\"Trace\""));
}

TEST_CASE("an unknown value names the key and what it takes, and changes nothing") {
  struct mistake {
    char const* text;
    char const* wanted;
  };
  for (mistake const& m : std::vector<mistake>{{"skip=ten", "a whole number"},
                                               {"skip=", "a whole number"},
                                               {"skip", "a whole number"},
                                               {"warmup=-1", "a whole number"},
                                               {"warmup=+1", "a whole number"},
                                               {"repeat=1.5", "a whole number"},
                                               {"repeat=4294967296", "a whole number"},
                                               {"active=0", "a whole number from 1"},
                                               {"active=5x", "a whole number from 1"},
                                               {"log=0", "a whole number from 1"},
                                               {"buffers=1", "a whole number from 16"},
                                               {"sync=maybe", "1 or 0"},
                                               {"strict=2", "1 or 0"},
                                               {"verbose=yes please", "1 or 0"},
                                               {"trace=gpu", "1 or 0"},
                                               {"host=name", "1 or 0"},
                                               {"off=3", "no value"},
                                               {"nvtx=inn", "in, out, in+out, or off"},
                                               {"nvtx=in+off", "in, out, in+out, or off"},
                                               {"nvtx", "in, out, in+out, or off"},
                                               {"out=", "a directory"},
                                               {"out", "a directory"},
                                               {"only=", "names of ranges"},
                                               {"only=+ +", "names of ranges"}}) {
    options how;
    std::string const said = bad(std::string(m.text) + ",repeat=7", &how);
    std::string const key = std::string(m.text).substr(0, std::string(m.text).find('='));
    CHECK(has(said, "\"" + key + "="));
    CHECK(has(said, m.wanted));
    CHECK(how.repeat == 7);
    options const usual;
    CHECK(how.skip == usual.skip);
    CHECK(how.warmup == usual.warmup);
    CHECK(how.active == usual.active);
    CHECK(how.log_mb == usual.log_mb);
    CHECK(how.buffers_mb == usual.buffers_mb);
    CHECK(how.trace == usual.trace);
    CHECK(how.enabled == usual.enabled);
    CHECK(how.out == usual.out);
    CHECK(how.only.empty());
    CHECK(how.nvtx == usual.nvtx);
  }
  options how;
  (void)bad("only=a+b,only=", &how);
  CHECK(how.only == strata::vec<std::string>{"a", "b"});
}

TEST_CASE("what is wrong is told in one line of a bounded length") {
  std::string const long_key(100'000, 'k');
  CHECK(bad(long_key).size() < 400);
  CHECK(bad("skip=" + long_key).size() < 400);
  for (std::string const& text : {std::string("ke\ny"), std::string("skip=1\x1b[2J2"),
                                  std::string("k\0y", 3), std::string("out\x7f=1")}) {
    for (char const c : bad(text)) CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST_CASE("any text can be read") {
  std::mt19937 random(20'240'817);
  static constexpr char const* words[] = {"trace",
                                          "host",
                                          "off",
                                          "out",
                                          "formats",
                                          "skip",
                                          "warmup",
                                          "active",
                                          "repeat",
                                          "only",
                                          "sync",
                                          "nvtx",
                                          "verbose",
                                          "strict",
                                          "log",
                                          "buffers",
                                          "table",
                                          "csv",
                                          "none",
                                          "json",
                                          "1",
                                          "0",
                                          "99999999999999999999",
                                          "-1",
                                          "on",
                                          "*",
                                          "?"};
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
          text += words[random() % (sizeof words / sizeof *words)];
          break;
        default:
          text += marks[random() % (sizeof marks / sizeof *marks)];
      }
    }
    strata::vec<std::string> problems;
    options const how = options::parse(text, problems);
    bool const sane = how.text == text && !how.out.empty() && how.log_mb >= 1 &&
                      how.buffers_mb >= 16 && problems.size() <= text.size();
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
