// NVTX calls of the program as ranges, by CUPTI's callbacks.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <string>
#include <thread>
#include <vector>
#include "report/trace.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "counter_run.hpp"
#include "fake_session.hpp"
#include "nvtx_module.hpp"

namespace nvtx_test {

extern "C" int InitializeInjectionNvtx2(strata::detail::nvtx::export_table_function*);

using fake::has_problem;
using fake::launch;
using fake::row;
using fake::traced;
using nvtx_calls::registered_event;
using nvtx_calls::text_event;
using nvtx_calls::wide_event;
using strata::profile;

namespace {

constexpr char const* path_variable = "NVTX_INJECTION64_PATH";

/// The program's one module, as its first NVTX call leaves it.
nvtx_calls::module& program() {
  static nvtx_calls::module& only = *new nvtx_calls::module;
  static int const attached = only.attach(&InitializeInjectionNvtx2);
  REQUIRE(attached == 1);
  return only;
}

struct no_tool {
  no_tool() { ::unsetenv(path_variable); }
  ~no_tool() { ::unsetenv(path_variable); }
};

std::string name_of(profile const& p, std::uint32_t name) { return p.names.at(name); }

template <class Write>
std::string written(profile const& p, Write write) {
  strata::call_tree const tree(p);
  strata::call_tree const folded(p, strata::folding::by_name);
  auto const kernels = strata::make_kernel_table(p, tree);
  auto const memory = strata::make_memory_table(p, tree);
  strata::table_input const input(p, tree, folded, kernels, memory);
  std::string text;
  strata::detail::text_writer out(text);
  write(out, input);
  return text;
}

}  // namespace

TEST_CASE("nothing is heard unless it is asked for") {
  no_tool const none;
  for (char const* const more : {"", "nvtx=off", "nvtx=out"}) {
    CAPTURE(more);
    {
      traced s(more);
      program().push("quiet");
      launch();
      program().pop();
      program().end(program().start("quiet"));
      profile const& p = s.profile();
      CHECK(row(p, "").self.kernels == 1);
      CHECK(strata::call_tree(p).rows().size() == 1);
      CHECK(p.spans.empty());
    }
    CHECK(std::getenv(path_variable) == nullptr);
  }
}

TEST_CASE("pushes and pops are ranges, nested with Strata's own") {
  no_tool const none;
  traced s("nvtx=in");
  REQUIRE(std::getenv(path_variable) != nullptr);
  CHECK(std::string(std::getenv(path_variable)).find("libcupti.so") != std::string::npos);
  for (int i = 0; i < 3; ++i) {
    program().push("step");
    {
      STRATA_RANGE("block", i);
      program().push("attention");
      launch();
      launch();
      program().pop();
      launch();
    }
    launch();
    program().pop();
  }
  launch();
  profile const& p = fake::whole(s);
  CHECK(row(p, "step").host.count() == 3);
  CHECK(row(p, "step").self.kernels == 3);
  CHECK(row(p, "step").total.kernels == 12);
  CHECK(row(p, "step/block[2]").self.kernels == 1);
  CHECK(row(p, "step/block[2]/attention").self.kernels == 2);
  CHECK(row(p, "").self.kernels == 1);
}

TEST_CASE("the variable is the process's, and the session's") {
  no_tool const none;
  {
    traced s("nvtx=in");
    REQUIRE(std::getenv(path_variable) != nullptr);
    pid_t const child = ::fork();
    if (child == 0) ::_exit(std::getenv(path_variable) == nullptr ? 6 : 7);
    int status = 0;
    (void)::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 6);
    CHECK(std::getenv(path_variable) != nullptr);
  }
  CHECK(std::getenv(path_variable) == nullptr);
  {
    traced s("nvtx=in");
    ::setenv(path_variable, "/the/programs.so", 1);
  }
  CHECK(std::string(std::getenv(path_variable)) == "/the/programs.so");
  {
    traced s("nvtx=in");  // that tool gets them
  }
  CHECK(std::string(std::getenv(path_variable)) == "/the/programs.so");
}

TEST_CASE("NVTX ranges are counted like others") {
  no_tool const none;
  fake::counting s(fake::hbm_read, "nvtx=in");
  fake::run_steps(2, [] {
    program().push("layer");
    fake::launch_blocks(2);
    program().push("inner");
    fake::launch_blocks(3);
    program().pop();
    program().pop();
  });
  fake::counted const c(s.profile());
  CHECK(c.self("layer", fake::hbm_read) == 64);
  CHECK(c.self("layer/inner", fake::hbm_read) == 96);
  CHECK(c.total("layer", fake::hbm_read) == 160);
}

TEST_CASE("NCCL's calls have their bytes, and these are no traffic of memory") {
  no_tool const none;
  traced s("nvtx=in");
  auto const nccl = program().create("NCCL");
  auto const reduce = program().enlist(nccl, "ncclAllReduce");
  for (std::uint64_t i = 1; i <= 3; ++i) {
    STRATA_RANGE("backward", strata::bytes(10));
    std::uint64_t const described[] = {0x1234, 1000 * i, 0};  // communicator, bytes, operation
    nvtx_calls::nvtx::payload_data const payload{nvtx_calls::nvtx::first_schema + 5,
                                                 sizeof described, described};
    program().push(nccl, nvtx_calls::described_event(reduce, payload));
    launch();
    program().pop(nccl);
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "backward/NCCL:ncclAllReduce").collective_bytes == 6000);
  CHECK(std::isnan(row(p, "backward/NCCL:ncclAllReduce").bytes));
  CHECK(row(p, "backward").collective_bytes == 6000);
  CHECK(row(p, "backward").bytes == 30);
  std::string const csv =
      written(p, [](auto& out, auto const& input) { write_ranges_csv(out, input); });
  CHECK(csv.find(",collective_bytes\n") != std::string::npos);
  auto const json = nlohmann::json::parse(
      written(p, [](auto& out, auto const& input) { write_json(out, input); }));
  for (auto const& range : json.at("ranges")) CHECK(range.at("collective_bytes") == 6000);
}

TEST_CASE("NVTX ranges are the steps of windows") {
  no_tool const none;
  traced s("nvtx=in,step=Train step,skip=1,active=2");
  for (int i = 0; i < 5; ++i) {
    program().push(("Train step " + std::to_string(i)).c_str());
    program().push("layers.0");
    launch();
    program().pop();
    launch();
    program().pop();
    launch();  // in no step
  }
  profile const& p = fake::whole(s);
  fake::no_problem(p);
  REQUIRE(p.steps.size() == 2);
  CHECK(p.steps[0].step == 1);
  CHECK(row(p, "Train step[1]").total.kernels == 2);
  CHECK(row(p, "Train step[2]/layers[0]").self.kernels == 1);
  CHECK(row(p, "").total.kernels == 5);  // with the one between them
}

TEST_CASE("counters count in the steps that NVTX ranges are") {
  no_tool const none;
  fake::counting s(fake::hbm_read, "nvtx=in,step=token");
  for (int i = 0; i < 3; ++i) {
    program().push("token");
    fake::launch_blocks(2);
    program().push("inner");
    fake::launch_blocks(3);
    program().pop();
    program().pop();
  }
  profile const& p = fake::clean(s);
  fake::counted const c(p);
  CHECK(c.self("token", fake::hbm_read) == 64);
  CHECK(c.total("token", fake::hbm_read) == 160);
}

TEST_CASE("each way to give a text") {
  no_tool const none;
  traced s("nvtx=in");
  auto const domain = program().create("NCCL");
  auto const again = program().create("NCCL");
  auto const wide_domain = program().create(L"\u00fcber");
  auto const reduce = program().enlist(domain, "reduce");
  auto const wide = program().enlist(domain, L"\U0001F600");
  auto const everywhere = program().enlist(nullptr, "everywhere");
  auto const once = [&](auto... arguments) {
    program().push(arguments...);
    launch();
    program().pop();
  };
  auto const in = [&](nvtx_calls::domain where, auto event) {
    program().push(where, event);
    launch();
    program().pop(where);
  };
  once("plain");
  once(L"w\u00efde \u20ac \U0001F600");
  once(static_cast<char const*>(nullptr));
  once(text_event("event"));
  once(wide_event(L"wide event"));
  once(text_event(nullptr));
  once(registered_event(everywhere));
  once(registered_event(everywhere));
  in(domain, text_event("gather"));
  in(again, text_event("gather"));
  in(domain, wide_event(L"w\u00efde"));
  in(domain, registered_event(reduce));
  in(domain, registered_event(reduce));
  in(domain, registered_event(wide));
  in(wide_domain, text_event("text"));
  in(nullptr, text_event("default"));
  nvtx_calls::nvtx::event old = text_event("of a former version");
  old.size = 40;
  once(old);
  nvtx_calls::nvtx::event none_given = text_event("payload only");
  none_given.kind = nvtx_calls::nvtx::message_kind::none;
  in(domain, none_given);
  profile const& p = fake::whole(s);
  for (auto const& each :
       std::vector<std::pair<std::string, std::uint64_t>>{{"plain", 1},
                                                          {"w\u00efde \u20ac \U0001F600", 1},
                                                          {"[no text]", 3},
                                                          {"event", 1},
                                                          {"wide event", 1},
                                                          {"everywhere", 2},
                                                          {"NCCL:gather", 2},
                                                          {"NCCL:w\u00efde", 1},
                                                          {"NCCL:reduce", 2},
                                                          {"NCCL:\U0001F600", 1},
                                                          {"\u00fcber:text", 1},
                                                          {"default", 1},
                                                          {"NCCL:[no text]", 1}}) {
    auto const& path = each.first;
    auto const& kernels = each.second;
    CAPTURE(path);
    CHECK(row(p, path).self.kernels == kernels);
  }
  CHECK(strata::call_tree(p).rows().size() == 14);
}

TEST_CASE("a text that is too long is cut between characters, behind its domain too") {
  no_tool const none;
  traced s("nvtx=in");
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "\u20ac";
  auto const domain = program().create("d");
  program().push(domain, text_event(text.c_str()));
  program().pop(domain);
  program().push(text.c_str());
  program().pop();
  profile const& p = s.profile();
  REQUIRE(p.ranges.size() == 2);
  CHECK(name_of(p, p.nodes[p.ranges[0].node].name) == "d:" + text.substr(0, 331 * 3) + "\u2026");
  CHECK(name_of(p, p.nodes[p.ranges[1].node].name) == text.substr(0, 332 * 3) + "\u2026");
}

TEST_CASE("ranges that Strata itself sends to NVTX are not counted twice") {
  no_tool const none;
  traced s("nvtx=in");
  auto const own = program().create("strata");
  auto const name = program().enlist(own, "layer");
  {
    STRATA_RANGE("layer");
    program().push(own, registered_event(name));
    launch();
    program().mark(own, text_event("layer"));
    program().end(own, program().start(own, text_event("layer")));
    program().pop(own);
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "layer").host.count() == 1);
  CHECK(strata::call_tree(p).rows().size() == 2);
  CHECK(p.spans.empty());
}

TEST_CASE("domains have stacks of their own, and what does not match ends nothing else") {
  no_tool const none;
  traced s("nvtx=in");
  auto const a = program().create("a");
  auto const b = program().create("b");
  program().pop();
  program().pop(a);
  SUBCASE("ranges of two domains cross") {
    program().push(a, text_event("x"));
    program().push(b, text_event("y"));
    program().pop(a);  // ends b:y as well
    launch();
    program().pop(b);
    program().pop(b);
    launch();
    profile const& p = fake::whole(s);
    CHECK(row(p, "").self.kernels == 2);
    CHECK(row(p, "a:x/b:y").host.count() == 1);
  }
  SUBCASE("one of Strata's ranges ends around it") {
    {
      STRATA_RANGE("scope");
      program().push("left open");
    }
    launch();
    STRATA_RANGE("next");
    program().pop();
    launch();
    profile const& p = s.profile();
    CHECK(row(p, "").self.kernels == 1);
    CHECK(row(p, "scope/left open").host.count() == 1);
    CHECK(row(p, "next").self.kernels == 1);
  }
  SUBCASE("strata::pop does not end it, nor the reverse") {
    program().push("nvtx");
    strata::pop();
    launch();
    program().pop();
    strata::push("pushed");
    program().pop();
    launch();
    strata::pop();
    profile const& p = s.profile();
    CHECK(p.losses.pops_without_push == 1);
    CHECK(row(p, "nvtx").self.kernels == 1);
    CHECK(row(p, "pushed").self.kernels == 1);
  }
}

TEST_CASE("ranges across the ends of sessions") {
  no_tool const none;
  program().push("before all");
  {
    traced s("nvtx=in");
    program().pop();  // of the range before: CUPTI did not tell its begin
    program().push("open at the end");
    launch();
    profile const& p = s.profile();
    CHECK(row(p, "open at the end").self.kernels == 1);
    CHECK(p.losses.ranges_left_open == 1);
  }
  program().push("between");
  {
    traced s("nvtx=in");
    program().push("inner");
    launch();
    program().pop();
    program().pop();  // of `between`
    program().pop();  // of `open at the end`
    launch();
    program().push("after");
    program().pop();
    profile const& p = fake::whole(s);
    CHECK(row(p, "open at the end/inner").self.kernels == 1);
    CHECK(row(p, "").self.kernels == 1);
    CHECK(row(p, "after").host.count() == 1);
  }
  {
    traced s;  // CUPTI still tells, but this session did not ask
    program().push("unasked");
    launch();
    program().pop();
    CHECK(row(s.profile(), "").self.kernels == 1);
    CHECK(s.profile().names.size() > 0);
    CHECK(strata::call_tree(s.profile()).rows().size() == 1);
  }
}

TEST_CASE("start and end make spans, across threads and overlapping") {
  no_tool const none;
  traced s("nvtx=in");
  auto const domain = program().create("loader");
  auto const never = program().start("never ended");
  nvtx_calls::nvtx::range_id first = 0;
  std::thread([&] { first = program().start(domain, text_event("batch")); }).join();
  auto const second = program().start(L"\u00fcber");
  REQUIRE(first != second);
  {
    STRATA_RANGE("work");
    launch();
    program().mark("now");
    program().mark(domain, text_event("there"));
  }
  program().end(domain, first);
  program().end(domain, first);  // again
  program().end(987'654'321);
  std::thread([&] { program().end(second); }).join();
  profile const& p = s.profile();
  (void)never;
  CHECK(row(p, "work").self.kernels == 1);
  CHECK(strata::call_tree(p).rows().size() == 2);
  REQUIRE(p.spans.size() == 4);
  CHECK(p.losses.spans_left_open == 1);
  CHECK(p.losses.spans_dropped == 0);
  strata::span_record const& batch = p.spans[0];
  strata::span_record const& uber = p.spans[1];
  CHECK(name_of(p, batch.name) == "batch");
  CHECK(name_of(p, batch.domain) == "loader");
  CHECK(batch.kind == strata::span_kind::range);
  CHECK(name_of(p, uber.name) == "\u00fcber");
  CHECK(uber.domain == 0);
  CHECK(batch.begin < uber.begin);
  CHECK(batch.end < uber.end);
  CHECK(batch.end > uber.begin);
  std::uint32_t const main_thread = p.ranges[0].thread;
  CHECK(batch.end_thread == main_thread);
  CHECK(batch.thread != main_thread);
  CHECK(uber.thread == main_thread);
  CHECK(uber.end_thread != main_thread);
  CHECK(uber.end_thread != batch.thread);
  for (std::uint32_t const thread : {batch.thread, uber.end_thread}) {
    bool known = false;
    for (strata::profile_thread const& t : p.threads) known = known || t.ordinal == thread;
    CHECK(known);
  }
  for (std::size_t i : {2, 3}) {
    CHECK(p.spans[i].kind == strata::span_kind::mark);
    CHECK(p.spans[i].begin == p.spans[i].end);
    CHECK(p.spans[i].begin >= p.ranges[0].begin);
    CHECK(p.spans[i].end <= p.ranges[0].end);
  }

  std::string const csv =
      written(p, [](auto& out, auto const& input) { strata::write_spans_csv(out, input); });
  CHECK(csv.find("rank,kind,domain,name,step,thread,end_thread,begin_ns,end_ns,duration_ns\n") ==
        0);
  CHECK(csv.find("\n,range,loader,batch,,") != std::string::npos);
  CHECK(csv.find("\n,mark,,now,,") != std::string::npos);
  auto const json = nlohmann::json::parse(
      written(p, [](auto& out, auto const& input) { strata::write_json(out, input); }));
  REQUIRE(json["spans"].size() == 4);
  CHECK(json["spans"][0]["name"] == "batch");
  CHECK(json["spans"][0]["duration_ns"] == batch.end - batch.begin);
  CHECK(json["losses"]["spans_left_open"] == 1);
  auto const trace = nlohmann::json::parse(
      written(p, [](auto& out, auto const& input) { (void)strata::write_trace(out, input); }));
  int begins = 0, ends = 0, marks = 0;
  for (auto const& e : trace["traceEvents"]) {
    if (!e.contains("cat") || e["cat"] != "nvtx") continue;
    begins += e["ph"] == "b";
    ends += e["ph"] == "e";
    marks += e["ph"] == "i";
    if (e["ph"] == "b" && e["name"] == "batch") {
      CHECK(e["args"]["domain"] == "loader");
      CHECK(e["args"]["end_thread"] == batch.end_thread);
      CHECK(e["ts"].get<double>() * 1000 == doctest::Approx(static_cast<double>(batch.begin)));
    }
  }
  CHECK(begins == 2);
  CHECK(ends == 2);
  CHECK(marks == 2);
}

TEST_CASE("a trace that is cut short says so for spans too") {
  no_tool const none;
  traced s("nvtx=in");
  for (int i = 0; i < 100; ++i) program().end(program().start("span"));
  profile const& p = s.profile();
  REQUIRE(p.spans.size() == 100);
  strata::trace_summary summary;
  (void)written(p, [&](auto& out, auto const& input) {
    strata::trace_options few;
    few.max_events = 50;
    summary = strata::write_trace(out, input, few);
  });
  CHECK(summary.left_out >= 75);
  CHECK(summary.left_out < 100);
}

TEST_CASE("what a session leaves open is no part of the next") {
  no_tool const none;
  nvtx_calls::nvtx::range_id old = 0;
  {
    traced s("nvtx=in");
    old = program().start("old");
    CHECK(s.profile().losses.spans_left_open == 1);
  }
  traced s("nvtx=in");
  program().end(old);
  program().end(program().start("new"));
  profile const& p = s.profile();
  REQUIRE(p.spans.size() == 1);
  CHECK(name_of(p, p.spans[0].name) == "new");
  CHECK(p.losses.spans_left_open == 0);
}

TEST_CASE("too many open spans are counted") {
  no_tool const none;
  traced s("nvtx=in");
  std::size_t const most = strata::detail::span_log::most_open;
  for (std::size_t i = 0; i < most + 5; ++i) (void)program().start("open");
  profile const& p = s.profile();
  CHECK(p.losses.spans_dropped == 5);
  CHECK(p.losses.spans_left_open == most);
}

TEST_CASE("a thread in an NVTX range of its own keeps it; in none its work is adopted") {
  no_tool const none;
  traced s("nvtx=in");
  STRATA_STEP();
  program().push("backward");
  std::thread([] {
    launch();
    program().push("gradient");
    launch();
    program().pop();
  }).join();
  program().pop();
  profile const& p = fake::whole(s);
  CHECK(row(p, "backward").self.adopted_kernels == 1);
  CHECK(row(p, "gradient").self.kernels == 1);
  CHECK(row(p, "").total.adopted_kernels == 1);
}

TEST_CASE("threads push and pop at once") {
  no_tool const none;
  traced s("nvtx=in");
  auto const domain = program().create("pool");
  auto const task = program().enlist(domain, "task");
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        program().push("outer");
        program().push(domain, registered_event(task));
        launch();
        program().pop(domain);
        program().end(program().start("span"));
        program().pop();
      }
      program().push("left open in a thread");
    });
  }
  for (std::thread& each : all) each.join();
  profile const& p = fake::whole(s);
  CHECK(row(p, "outer/pool:task").self.kernels == 800);
  CHECK(row(p, "outer").host.count() == 800);
  CHECK(p.spans.size() == 800);
  CHECK(p.losses.ranges_left_open == 4);
}

TEST_CASE("a tool that the user named keeps NVTX") {
  no_tool const none;
  ::setenv(path_variable, "/opt/tool/libtool.so", 1);
  traced s("nvtx=in");
  CHECK(std::string(std::getenv(path_variable)) == "/opt/tool/libtool.so");
  STRATA_RANGE("work");
  profile const& p = s.profile();
  CHECK(p.problems.size() == 1);
  CHECK(has_problem(p, "/opt/tool/libtool.so"));
  CHECK(has_problem(p, "unset it"));
}

TEST_CASE("libcupti named by the user is as good as by Strata") {
  no_tool const none;
  ::setenv(path_variable, "/somewhere/libcupti.so.13", 1);
  traced s("nvtx=in");
  program().push("x");
  program().pop();
  CHECK(s.profile().problems.empty());
  CHECK(std::string(std::getenv(path_variable)) == "/somewhere/libcupti.so.13");
}

TEST_CASE("what keeps NVTX away is told in one sentence") {
  no_tool const none;
  SUBCASE("no call came") {
    traced s("nvtx=in");
    profile const& p = s.profile();
    CHECK(p.problems.size() == 1);
    CHECK(has_problem(p, "no NVTX call arrived"));
  }
  SUBCASE("host times only") {
    strata::session s(fake::configure("host,nvtx=in,formats=none"));
    REQUIRE(s.start().ok());
    profile const& p = s.profile();
    CHECK(p.problems.size() == 1);
    CHECK(has_problem(p, "which needs trace"));
    CHECK(std::getenv(path_variable) == nullptr);
  }
  SUBCASE("CUPTI refuses") {
    strata::session s(fake::configure("trace,nvtx=in,formats=none"));
    fake_fail("cuptiEnableCallback", 27);
    REQUIRE(s.start().ok());
    fake_fail("cuptiEnableCallback", 0);
    CHECK(has_problem(s.profile(), "nvtx=in: cuptiEnableCallback"));
  }
}

TEST_CASE("in and out at once") {
  no_tool const none;
  traced s("nvtx=in+out");
  program().push("nvtx");
  launch();
  program().pop();
  STRATA_RANGE("own");
  profile const& p = s.profile();
  CHECK(row(p, "nvtx").self.kernels == 1);
  CHECK(row(p, "own").host.count() == 1);
}

}  // namespace nvtx_test
