// The library of tools/inject in programs without Strata, and in annotated programs without an
// implementation.
#include <csignal>

#include "unit/process/child.hpp"

using namespace processes;

namespace {

std::string const library = INJECT_LIBRARY;
std::string const fakes = FAKE_DIR;

/// A program with the library, by the driver or by the dynamic linker.
enum class way { driver, preload };

struct injected {
  work_folder folder;
  ending end;

  explicit injected(texts words, std::string const& strata, way by = way::driver,
                    std::string const& name = "injected_program", texts const& more = {},
                    std::vector<int> const& signals = {}) {
    words.insert(words.begin(), program(name));
    texts environment{
        "STRATA_CUPTI=" + fakes + "/libcupti.so.13", "STRATA_LIBCUDA=" + fakes + "/libcuda.so.1",
        "FAKE_CUPTI_FILE=" + fakes + "/libcupti.so.13", "FAKE_CUDA_FILE=" + fakes + "/libcuda.so.1",
        (by == way::driver ? "CUDA_INJECTION64_PATH=" : "LD_PRELOAD=") + library};
    if (!strata.empty()) environment.push_back("STRATA=" + strata + ",out=" + folder / "out");
    environment.insert(environment.begin(), more.begin(), more.end());  // the first one counts
    end = run(words, environment, signals);
    INFO(end.out);
    INFO(end.err);
    CHECK_FALSE(has(end.out, "cuInit: 3"));
  }
  bool reported() const { return fs::exists(folder / "out"); }
  std::string file(std::string const& name) const { return content(folder / ("out/" + name)); }
  call_counts calls() const { return calls_in(folder / "out"); }
  /// Kernels called gemm, with the path of their range, by path.
  std::string kernels() const {
    std::istringstream lines(file("kernels.csv"));
    std::map<std::string, std::string> found;  // by path: times may be equal, or nearly so
    std::string line;
    std::map<std::string, std::size_t> column;
    while (std::getline(lines, line)) {
      texts cells(1);
      for (char const c : line) {
        if (c == ',') {
          cells.emplace_back();
        } else if (c != '\r') {
          cells.back() += c;
        }
      }
      if (column.empty()) {
        for (std::size_t i = 0; i < cells.size(); ++i) column[cells[i]] = i;
      } else if (has(line, "gemm")) {
        found[cells.at(column.at("path"))] += ":" + cells.at(column.at("count")) + " ";
      }
    }
    std::string text;
    for (auto const& each : found) text += each.first + each.second;
    return text;
  }
};

bool has_nvtx() { return with_nvtx(INJECT_NVTX != 0); }

}  // namespace

TEST_CASE("kernels of a program without any mark appear under the root") {
  way by = way::driver;
  SUBCASE("loaded by the driver") {}
  SUBCASE("preloaded") { by = way::preload; }
  injected const p({"init", "context", "work=3", "copy", "work=1", "tell"}, "trace", by);
  CHECK(p.end.code == 5);
  CHECK(p.end.out == "cuInit: 0\nsubscribed: 1\nmisuses: 0 0\ndone\n");
  CHECK(reports_in(p.end) == 1);
  CHECK(count_of(p.end.err, "strata: wrote") == 1);
  CHECK(p.kernels() == ":4 ");
  CHECK(has(p.file("ranges.csv"), ",4096,"));
}

TEST_CASE("a session that a range began continues as the first context is made") {
  injected const p({"work=0", "init", "context", "copy", "tell"}, "trace", way::preload,
                   "injected_ranges");
  CHECK(has(p.end.out, "subscribed: 1\nmisuses: 0 0\n"));
  CHECK(has(p.file("ranges.csv"), ",4096,"));
  CHECK(p.calls() == call_counts{{"own", 1}});
}

TEST_CASE("as NCCL's profiler plugin it tells what NCCL chose, in the range that launched it") {
  texts const plugin{"NCCL_PROFILER_PLUGIN=strata"};
  for (std::string const version : {"4", "5"}) {
    CAPTURE(version);
    injected const p({"init", "context", "push=step", "nccl=" + version, "pop"}, "trace",
                     way::driver, "injected_program", plugin);
    CAPTURE(p.end.err);
    CHECK(p.end.code == 5);
    CHECK(has(p.end.out, "strata wants 7\n"));
    CHECK_FALSE(has(p.end.out, "no "));
    call_counts const calls = p.calls();
    bool const by_nvtx = calls.count("step") != 0;
    std::string const in = by_nvtx ? "step/" : "";
    std::string const reduce = in + "NCCL:AllReduce RING LL128 (16 channels of 8 ranks)";
    CHECK(calls.at(reduce) == 1);
    CHECK(calls.at(in + "NCCL:Send (1 channel of 8 ranks)") == 2);
    CHECK(calls.at(in + "NCCL:AllGather unknown unknown (0 channels of 8 ranks)") == 1);
    // The bytes of the message, where NVTX does not have them already.
    CHECK(has(p.file("profile.json"), "\"collective_bytes\":2000") == !by_nvtx);
    CHECK(p.kernels() == (by_nvtx ? "step:1 " : ":1 "));
    injected const alone({"init", "context", "nccl=" + version}, "trace,nvtx=off", way::driver,
                         "injected_program", plugin);
    CHECK(has(alone.file("profile.json"), "\"collective_bytes\":2000"));
    // Of two sends one is from the rank to itself.
    CHECK(has(alone.file("profile.json"), "\"collective_bytes\":4096"));
    injected const off({"init", "context", "nccl=" + version}, "", way::driver, "injected_program",
                       {"NCCL_PROFILER_PLUGIN=" + library});
    CHECK(has(off.end.out, "strata wants 0\n"));
    CHECK(off.end.err == "");
  }
}

TEST_CASE("without STRATA it does nothing") {
  for (std::string const strata : {"", "off"}) {
    for (way const by : {way::driver, way::preload}) {
      injected const p({"push=a", "init", "context", "work=3", "pop", "tell"}, strata, by);
      CHECK(p.end.code == 5);
      CHECK(p.end.out == "cuInit: 0\nsubscribed: 0\nmisuses: 0 0\ndone\n");
      CHECK(p.end.err == "");
      CHECK_FALSE(p.reported());
    }
  }
}

TEST_CASE("a text without a key that is known: sentences, and nothing is recorded") {
  for (way const by : {way::driver, way::preload}) {
    injected const p({"init", "context", "work=3", "tell"}, "", by, "injected_program",
                     {"STRATA=foo"});
    CAPTURE(p.end.err);
    CHECK(p.end.code == 5);
    CHECK(p.end.out == "cuInit: 0\nsubscribed: 0\nmisuses: 0 0\ndone\n");
    CHECK(count_of(p.end.err, "there is no key \"foo\"") == 1);
    CHECK(count_of(p.end.err, "Nothing is recorded") == 1);
    injected const help({"init", "context", "work=3", "tell"}, "", by, "injected_program",
                        {"STRATA=help"});
    CHECK(count_of(help.end.out, "  out=DIRECTORY ") == 1);
    CHECK(count_of(help.end.out, "\n") < 60);      // a screen
    CHECK(count_of(help.end.out, "done\n") == 1);  // the program continues
    CHECK(help.end.err == "");
  }
}

TEST_CASE("host times need no CUPTI") {
  injected const p({"init", "context", "work=3", "tell"}, "host");
  CHECK(p.end.code == 5);
  CHECK(has(p.end.out, "subscribed: 0\n"));
  CHECK(reports_in(p.end) == 1);
  CHECK(p.kernels() == "");
}

TEST_CASE("a process that makes no context says nothing") {
  for (way const by : {way::driver, way::preload}) {
    injected const p({"init", "tell"}, "trace", by);
    CHECK(p.end.code == 5);
    CHECK(p.end.err == "");
    CHECK_FALSE(p.reported());
  }
}

TEST_CASE("what keeps kernels from being recorded is told once") {
  injected const busy({"other=Somebody", "init", "context", "work=3"}, "trace");
  CHECK(busy.end.code == 5);
  CHECK(count_of(busy.end.err, "\n") == 1);
  CHECK(has(busy.end.err, "strata: nothing was recorded: cuptiSubscribe: "));
  CHECK(has(busy.end.err, "(39)"));
  injected const none({"init"}, "trace", way::driver, "injected_program",
                      {"STRATA_CUPTI=/nowhere/libcupti.so"});
  CHECK(none.end.code == 5);
  CHECK(has(none.end.err, "strata: nothing was recorded: STRATA_CUPTI=/nowhere/libcupti.so"));
  injected const child({"other=Somebody", "init", "child"}, "trace");
  CHECK(has(child.end.out, "child 0\n"));
  CHECK(count_of(child.end.err, "nothing was recorded") == 1);
}

TEST_CASE("an annotated program without an implementation gets its whole profile") {
  for (std::string const name :
       {"injected_ranges", "injected_light", "injected_c", "injected_cu"}) {
    if (name == "injected_cu" && INJECTED_CU == 0) continue;  // no nvcc
    CAPTURE(name);
    texts const words{"init", "context", "step=1", "copy", "work=2", "step=3", "tell"};
    for (way const by : {way::driver, way::preload}) {
      injected const p(words, "trace", by, name);
      CHECK(p.end.code == 5);
      CHECK(has(p.end.out, "subscribed: 1\nmisuses: 0 0\n"));
      CHECK_FALSE(has(p.end.err, "no implementation"));
      CHECK(reports_in(p.end) == 1);
      CHECK(p.calls() == call_counts{{"own", 3}});
      CHECK(p.kernels() == "own:6 ");
      CHECK(has(p.file("ranges.csv"), ",4096,"));
      // Steps: the schedule records the second one alone.
      injected const second(words, "trace,skip=1,active=1", by, name);
      CHECK(second.calls() == call_counts{{"own", 1}});
      CHECK(second.kernels() == "own:3 ");
      injected const late(words, "trace,skip=1,active=1,attach=window", by, name);
      CHECK(has(late.end.out, "subscribed: 1\nmisuses: 0 0\n"));
      CHECK(late.kernels() == "own:3 ");
      injected const never(words, "trace,skip=9,active=1,attach=window", by, name);
      CHECK(has(never.end.out, "subscribed: 0\nmisuses: 0 0\n"));
      CHECK(has(never.end.err, "the first one to keep is step 9"));
    }
    // The first range comes before the driver, or without one.
    injected const early({"work=0", "init", "context", "work=3", "tell"}, "trace", way::preload,
                         name);
    CHECK(has(early.end.out, "subscribed: 1\nmisuses: 0 0\n"));
    CHECK(early.calls() == call_counts{{"own", 2}});
    CHECK(early.kernels() == "own:3 ");
    injected const host({"work=0", "work=0"}, "host", way::preload, name);
    CHECK(host.calls() == call_counts{{"own", 2}});
    // Idle.
    injected const off({"init", "context", "work=1", "tell"}, "", way::preload, name);
    CHECK(off.end.err == "");
    CHECK_FALSE(off.reported());
  }
}

TEST_CASE("a range of the program is the step") {
  for (std::string const name : {"injected_ranges", "injected_c"}) {
    CAPTURE(name);
    texts const words{"init", "context", "work=1", "work=2", "copy", "work=3", "work=4", "tell"};
    for (way const by : {way::driver, way::preload}) {
      for (std::string const attach : {"", ",attach=window"}) {
        injected const p(words, "trace,step=own,skip=1,active=2" + attach, by, name);
        CAPTURE(p.end.err);
        CHECK(has(p.end.out, "subscribed: 1\nmisuses: 0 0\n"));
        CHECK(p.calls() == call_counts{{"own", 2}});
        CHECK(p.kernels() == "own:5 ");
        CHECK(has(p.end.err, "(mean of 2,"));
      }
    }
  }
}

TEST_CASE("a program that has Strata built in keeps its session") {
  for (way const by : {way::driver, way::preload}) {
    injected const p({"init", "context", "work=3", "tell"}, "trace", by, "injected_session");
    CHECK(p.end.code == 5);
    CHECK(has(p.end.out, "subscribed: 1\n"));
    CHECK(count_of(p.end.err, "has Strata built in") == 1);
    CHECK(reports_in(p.end) == 1);
    CHECK(p.kernels() == "own:3 ");
  }
}

TEST_CASE("a report comes however the program ends") {
  texts const words{"init", "context", "work=3"};
  auto const with = [&](std::string const& word) {
    texts all = words;
    all.push_back(word);
    return all;
  };
  injected const signalled(with("wait"), "trace", way::driver, "injected_program", {}, {SIGINT});
  CHECK(signalled.end.signal == SIGINT);
  CHECK(signalled.kernels() == ":3 ");
  texts handled = words;
  handled.insert(handled.begin(), "handler");
  handled.push_back("wait");
  injected const own(handled, "trace", way::driver, "injected_program", {}, {SIGINT});
  CHECK(own.end.code == 5);
  CHECK(own.kernels() == ":3 ");
  injected const thrown(with("throw"), "trace");
  CHECK(thrown.end.signal == SIGABRT);
  CHECK(has(thrown.end.err, "nobody catches this"));
  // Where the program has a C++ library of its own inside, nobody else hears of the exception.
  CHECK(thrown.kernels() == (has(thrown.end.out, "shared C++ library") ? ":3 " : ""));
  injected const forked(with("child"), "trace");
  CHECK(has(forked.end.out, "child 0\n"));
  CHECK(reports_in(forked.end) == 1);
}

TEST_CASE("the NVTX ranges of the program are ranges" * doctest::skip(!has_nvtx())) {
  texts const words{"init", "context", "push=outer", "work=1", "push=inner", "work=2",
                    "pop",  "work=1",  "pop",        "work=1", "tell"};
  for (way const by : {way::driver, way::preload}) {
    injected const p(words, "trace", by);
    CHECK(p.end.code == 5);
    CHECK(has(p.end.out, "subscribed: 1\nmisuses: 0 0\n"));
    CHECK(p.calls() == call_counts{{"outer", 1}, {"outer/inner", 1}});
    CHECK(p.kernels() == ":1 outer:2 outer/inner:2 ");
    injected const deaf(words, "trace,nvtx=off", by);
    CHECK(deaf.kernels() == ":5 ");
    injected const explicitly(words, "trace,nvtx=in", by);
    CHECK(explicitly.calls() == call_counts{{"outer", 1}, {"outer/inner", 1}});
    CHECK_FALSE(has(explicitly.end.err, "nvtx=in: "));
  }
  // Ranges before the driver, and without one.
  texts early = words;
  early.insert(early.begin(), {"push=first", "pop"});
  injected const first(early, "trace", way::preload);
  CHECK(first.calls() == call_counts{{"first", 1}, {"outer", 1}, {"outer/inner", 1}});
  CHECK(first.kernels() == ":1 outer:2 outer/inner:2 ");
  injected const host({"push=a", "pop"}, "host", way::preload);
  CHECK(host.calls() == call_counts{{"a", 1}});
  // Another tool was named.
  injected const other(words, "trace,nvtx=in", way::driver, "injected_program",
                       {"NVTX_INJECTION64_PATH=/nowhere/tool.so"});
  CHECK(other.end.code == 5);
  CHECK(has(other.end.err, "/nowhere/tool.so"));
  CHECK(other.kernels() == ":5 ");
}

TEST_CASE("a child that the program starts is left in peace") {
  ending const shell =
      run({"/bin/sh", "-c", "echo inner; exit 3"}, {"LD_PRELOAD=" + library, "STRATA=trace"});
  CHECK(shell.code == 3);
  CHECK(shell.out == "inner\n");
  CHECK(shell.err == "");
}
