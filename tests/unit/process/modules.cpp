// Programs of several parts, each with its own copy of Strata, and the tools that listen to NVTX.
#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../../patience.hpp"
#include "../../sanitizers.hpp"

#include "child.hpp"
#include "recording/recording.hpp"

using namespace processes;

namespace {

struct recorded {
  work_folder folder;
  ending end;

  explicit recorded(texts command) {
    for (std::string& word : command) {
      std::size_t const name = word.find_first_not_of("-=");
      if (word != "+") word = word.substr(0, name) + program(word.substr(name));
    }
    end = run(command, {"STRATA=host,formats=table+csv,out=" + folder / "out"});
  }
  call_counts calls() const { return calls_in(folder / "out"); }
};

constexpr char const* not_linked =
    "strata: STRATA is set, but this program has no implementation of Strata";

bool has_nvtx() { return with_nvtx(fs::exists(program("nvtx_tool.so"))); }

}  // namespace

TEST_CASE("a program with ranges but without a session tells so, once") {
  recorded const r({"loader_ranges", "module_a.so", "module_b.so", "module_merged.so"});
  CHECK(r.end.code == 0);
  CHECK(count_of(r.end.err, not_linked) == 1);
  CHECK(count_of(r.end.err, "\n") == 1);
  CHECK_FALSE(fs::exists(r.folder / "out"));
  ending const silent = run({program("loader_ranges"), program("module_a.so")});
  CHECK(silent.code == 0);
  CHECK(silent.err == "");
}

TEST_CASE("modules that are loaded apart from each other go into one profile") {
  recorded const r({"loader_session", "module_a.so", "module_b.so", "module_merged.so"});
  CAPTURE(r.end.err);
  CHECK(r.end.code == 0);
  CHECK(reports_in(r.end) == 1);
  CHECK(r.calls() == call_counts{{"loader", 3},
                                 {"loader/module_a", 3},
                                 {"loader/module_b", 2},
                                 {"loader/module_merged", 1}});
}

TEST_CASE("the same where the dynamic loader is started by name") {
  Dl_info loader{};
  REQUIRE(dladdr(reinterpret_cast<void*>(getauxval(AT_BASE)), &loader) != 0);
  work_folder const folder;
  ending const e = run(
      {loader.dli_fname, program("loader_session"), program("module_a.so"), program("module_b.so")},
      {"STRATA=host,formats=csv,out=" + folder / "out"});
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(count_of(e.err, "strata: wrote") == 1);
  CHECK(calls_in(folder / "out") ==
        call_counts{{"loader", 2}, {"loader/module_a", 2}, {"loader/module_b", 1}});
}

TEST_CASE("a session begun in code hears modules that idled before") {
  ending const e = run({program("loader_session"), program("module_a.so"),
                        program("module_merged.so"), "+", program("module_b.so")});
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(reports_in(e) == 1);
  for (char const* name : {"loader", "module_a", "module_b", "module_merged"})
    CHECK(has(e.err, name));
}

TEST_CASE("the session comes with a module, after the first ranges") {
  recorded const r({"loader_ranges", "module_a.so", "module_session.so", "module_b.so"});
  CAPTURE(r.end.err);
  CHECK(r.end.code == 0);
  CHECK(reports_in(r.end) == 1);
  CHECK_FALSE(has(r.end.err, not_linked));
  CHECK(r.calls() == call_counts{{"loader", 2},
                                 {"loader/module_a", 2},
                                 {"loader/module_b", 1},
                                 {"loader/module_session", 2}});
}

TEST_CASE("a module with ranges is unloaded as without Strata, and again and again") {
  // `=` says whether it is still loaded, and what the environment has of Strata.
  for (char const* const loader : {"loader_ranges", "loader_session"}) {
    CAPTURE(loader);
    ending const e = run({program(loader), "=" + program("module_inline.so"),
                          "=" + program("module_inline.so"), program("module_a.so")});
    CHECK(e.code == 0);
    CHECK(count_of(e.out, "gone\n") == 2);
    CHECK(count_of(e.out, "loaded: 0, variables: 0\n") == 2);
    CHECK(e.err.empty());
  }
  recorded const r({"loader_session", "=module_inline.so", "module_a.so", "=module_inline.so"});
  CHECK(r.end.code == 0);
  CHECK(count_of(r.end.out, "gone\n") == 2);
  CHECK(r.calls().at("module_inline") == 2);
  CHECK(r.calls().at("module_inline/inline") == 2);
  CHECK(r.calls().at("loader/module_a") == 2);
}

TEST_CASE("modules that are unloaded stay where the process needs them") {
  // `-` unloads at once, `--` after it has worked.
  recorded const a({"loader_ranges", "-module_session.so", "module_a.so"});
  CHECK(a.end.code == 0);
  CHECK(a.end.signal == 0);
  CHECK(a.calls().at("loader/module_a") == 1);
  recorded const b({"loader_session", "--module_a.so", "module_b.so", "--module_a.so"});
  CHECK(b.end.code == 0);
  CHECK(b.calls().at("module_a") == 2);
  CHECK(b.calls().at("loader/module_b") == 2);
  ending const idle = run({program("loader_session"), "--" + program("module_a.so"),
                           "-" + program("module_b.so"), "+", program("module_merged.so")});
  CHECK(idle.code == 0);
  CHECK(reports_in(idle) == 1);
}

TEST_CASE("a module is unloaded while a range of it is open") {
  recorded const r({"loader_session", "--module_dying.so", "module_a.so", "--module_dying.so"});
  CAPTURE(r.end.err);
  CHECK(r.end.code == 0);
  CHECK(r.end.signal == 0);
  CHECK(r.calls().at("left by the plugin/plugin") == 1000);
  CHECK(r.calls().at("left by the plugin/left by the plugin/plugin") == 1000);
  CHECK(r.calls().at("left by the plugin/loader/module_a") == 1);
  ending const idle = run({program("loader_ranges"), "--" + program("module_dying.so"),
                           program("module_a.so"), "--" + program("module_dying.so")});
  CHECK(idle.code == 0);
  CHECK(idle.err == "");
}

TEST_CASE("a module that crashes ends the process as without Strata, and the recording is there") {
  for (std::string const how : {"segv", "bus", "ill", "fpe", "abort", "exit", "throw"}) {
    CAPTURE(how);
    work_folder const folder;
    texts const command{program("loader_session"), program("module_dying.so")};
    ending const without = run(command, {"TEST_DIES=" + how});
    ending const with =
        run(command, {"TEST_DIES=" + how, "TEST_RECORDING=" + folder / "out/profile.strata.part",
                      "STRATA=host,formats=recording,out=" + folder / "out"});
    CAPTURE(with.err);
    CHECK(with.code == without.code);
    CHECK(with.signal == without.signal);
    CHECK(with.out == without.out);
    // A sanitizer makes an exit of a crash.
    CHECK((how == "exit" ? with.code == 9 : with.signal != 0 || test::sanitized));
    bool const has_end = fs::exists(folder / "out/profile.strata");
    strata::profile read;
    strata::status const outcome = strata::read_recording_file(
        folder / (has_end ? "out/profile.strata" : "out/profile.strata.part"), read);
    INFO(outcome.message());
    REQUIRE(outcome.ok());
    CHECK(read.ranges.size() >= 1000);
    CHECK((read.problems.size() == 1) == !has_end);
  }
}

TEST_CASE("ranges as NVTX ranges, beside a session" * doctest::skip(!has_nvtx())) {
  texts const tool{"NVTX_INJECTION64_PATH=" + program("nvtx_tool.so")};
  work_folder const folder;
  for (std::string const mode : {"", "nvtx=out,"}) {
    std::string const out = folder / ("out" + std::to_string(mode.size()));
    texts environment = tool;
    environment.push_back("STRATA=host,formats=csv," + mode + "out=" + out);
    ending const e = run({program("scenarios"), "return"}, environment);
    CHECK(e.code == 5);
    CHECK(e.out == "nvtx domain=strata push=4 pop=4 registered=2 other=0 inner=3 outer=1\n");
    CHECK(calls_in(out).at("outer") == 1);
  }
  texts environment = tool;
  environment.push_back("STRATA=host,formats=none,nvtx=off");
  ending const off = run({program("scenarios"), "return"}, environment);
  CHECK_FALSE(has(off.out, "push=4"));
}

TEST_CASE("ranges to NVTX alone, without STRATA" * doctest::skip(!has_nvtx())) {
  ending const e =
      run({program("scenarios"), "return"}, {"NVTX_INJECTION64_PATH=" + program("nvtx_tool.so")});
  CHECK(e.code == 5);
  CHECK(e.err == "");
  CHECK(e.out == "nvtx domain=strata push=4 pop=4 registered=2 other=0 inner=3 outer=1\n");
}

TEST_CASE("pushes and pops of NVTX balance however the program ends" * doctest::skip(!has_nvtx())) {
  ending const e =
      run({program("scenarios"), "exit"},
          {"NVTX_INJECTION64_PATH=" + program("nvtx_tool.so"), "STRATA=host,formats=none"});
  CHECK(e.code == 0);
  CHECK(has(e.out, "push=5 pop=5 "));
}

TEST_CASE("without a tool NVTX is left alone" * doctest::skip(!has_nvtx())) {
  ending const e = run({program("scenarios"), "return"}, {"STRATA=host,formats=none"});
  CHECK(e.out == "");
  CHECK(e.err == "");
}

TEST_CASE("a unit of C finds an implementation that comes after its first call") {
  ending const e = run({program("late_c"), program("module_session.so")});
  CHECK(e.code == 0);
  CHECK(e.out == "before: 0\nafter: 1\n");
  CHECK(e.err == "");
}

// The search comes when this process ends, and these threads are still there. The first thing that
// each allocates is the module's block, which so begins 16 bytes into a page.
TEST_CASE("a search for leaks ends well beside threads with a loaded module's variables") {
  void* const module = dlopen(program("module_block.so").c_str(), RTLD_NOW);
  REQUIRE(module != nullptr);
  auto const work = reinterpret_cast<void (*)()>(dlsym(module, "module_work"));
  REQUIRE(bool(work));
  constexpr int count = 16;
  static std::atomic<int> worked{0};
  for (int i = 0; i < count; ++i) {
    std::thread([work] {
      work();
      worked.fetch_add(1);
      for (;;) ::pause();
    }).detach();
  }
  test::await([] { return worked.load() == count; });
}
