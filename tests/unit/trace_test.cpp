#include "report/trace.hpp"
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report_sample.hpp"

namespace trace_test {

using namespace report_test;
using nlohmann::json;

namespace {

std::string trace_text(report_sample const& s, trace_options const& options = {},
                       trace_summary* summary = nullptr) {
  return text_of([&](detail::text_writer& out) {
    trace_summary const made = write_trace(out, s.input(), options);
    if (summary != nullptr) *summary = made;
  });
}

json events(report_sample const& s, trace_options const& options = {},
            trace_summary* summary = nullptr) {
  return json::parse(trace_text(s, options, summary))["traceEvents"];
}

std::int64_t ns(json const& time) { return std::llround(time.get<double>() * 1000.0); }

using track = std::pair<int, int>;

track track_of(json const& e) { return {e["pid"].get<int>(), e["tid"].get<int>()}; }

std::map<track, std::string> track_names(json const& all) {
  std::map<track, std::string> names;
  for (json const& e : all)
    if (e["name"] == "thread_name") names[track_of(e)] = e["args"]["name"].get<std::string>();
  return names;
}

/// What every trace keeps to; tests/script/check_trace.py checks the same on files.
void check_rules(json const& all) {
  struct open_slice {
    std::int64_t end;
    std::string category;
  };
  std::map<track, std::vector<open_slice>> open;
  std::map<track, std::int64_t> last;
  std::map<std::uint64_t, std::int64_t> producers;
  auto const names = track_names(all);
  for (json const& e : all) {
    REQUIRE(e.contains("pid"));
    REQUIRE(e.contains("tid"));
    if (e["ph"] != "X") continue;
    std::int64_t const begin = ns(e["ts"]);
    std::int64_t const end = begin + ns(e["dur"]);
    auto const at = last.find(track_of(e));
    if (at != last.end()) CHECK(at->second <= begin);
    last[track_of(e)] = begin;
    CHECK(names.count(track_of(e)) == 1);
    auto& stack = open[track_of(e)];
    while (!stack.empty() && stack.back().end <= begin) stack.pop_back();
    if (!stack.empty()) {
      CHECK(end <= stack.back().end);
      // Nothing holds others on a device but ranges.
      if (e["pid"] < 1000) CHECK(stack.back().category == "gpu_user_annotation");
    }
    stack.push_back({end, e["cat"]});
    if (e.contains("flow_out")) {
      CHECK(e["cat"] == "cuda_runtime");
      CHECK(producers.count(e["bind_id"].get<std::uint64_t>()) == 0);
      producers[e["bind_id"].get<std::uint64_t>()] = begin;
    }
  }
  for (json const& e : all) {
    if (!e.contains("flow_in")) continue;
    auto const from = producers.find(e["bind_id"].get<std::uint64_t>());
    REQUIRE(from != producers.end());
    CHECK(from->second <= ns(e["ts"]));
  }
}

std::size_t arrows_in(json const& all) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](json const& e) {
    return e.contains("flow_in") || e["ph"] == "f";
  }));
}

std::size_t count(json const& all, char const* key, char const* value) {
  std::size_t n = 0;
  for (json const& e : all) n += e.contains(key) && e[key] == value;
  return n;
}

/// A kernel of a range lies within the range's slice, on the same track.
void check_projections(json const& all) {
  std::map<std::string, std::int64_t> ranges;
  for (json const& e : all)
    if (e["ph"] == "X" && e["cat"] == "gpu_user_annotation") {
      CHECK_FALSE(e["args"].contains("stream"));
      ranges[e["args"]["path"].get<std::string>()] += ns(e["dur"]);
    }
  REQUIRE(ranges.count("forward/block[0]/attention") == 1);
  CHECK(ranges["forward"] >= ranges["forward/block[0]"]);
  CHECK(ranges["forward/block[0]"] >= ranges["forward/block[0]/attention"]);
  for (json const& e : all) {
    if (e["ph"] != "X" || e["cat"] != "kernel" || !e["args"].contains("range")) continue;
    bool inside = false;
    for (json const& other : all)
      inside = inside ||
               (other["ph"] == "X" && other["cat"] == "gpu_user_annotation" &&
                other["args"]["path"] == e["args"]["range"] && ns(other["ts"]) <= ns(e["ts"]) &&
                ns(e["ts"]) + ns(e["dur"]) <= ns(other["ts"]) + ns(other["dur"]));
    CHECK(inside);
  }
}

}  // namespace

TEST_CASE("a trace says when its time 0 was") {
  report_sample s = gpu_sample();
  auto const base = [](report_sample const& of) { return json::parse(trace_text(of)); };
  CHECK(base(s)["baseTimeNanoseconds"] == s.source.environment.started_at_unix_ns);
  s.source.environment.started_at_unix_ns = 0;  // an older recording
  CHECK_FALSE(base(s).contains("baseTimeNanoseconds"));
}

TEST_CASE("the trace is as it was") {
  report_sample const s = gpu_sample();
  CHECK(trace_text(s) == golden("trace_gpu.json", trace_text(s)));
  CHECK(trace_text(cpu_sample()) == golden("trace_cpu.json", trace_text(cpu_sample())));
}

TEST_CASE("slices nest, times do not go back, arrows have both ends") {
  check_rules(events(gpu_sample()));
  check_rules(events(gpu_sample(6, 5)));
  check_rules(events(cpu_sample()));
}

TEST_CASE("the streams of a device have the ranges of their work above them") {
  check_projections(events(gpu_sample()));
}

TEST_CASE("everything with a time is in the trace") {
  report_sample const s = gpu_sample();
  trace_summary summary;
  json const all = events(s, {}, &summary);
  CHECK(summary.events == all.size());
  CHECK(summary.left_out == 0);
  CHECK(summary.problem.empty());
  CHECK(summary.without_time == 1);
  CHECK(count(all, "cat", "user_annotation") == s.source.ranges.size() + s.source.steps.size());
  CHECK(count(all, "cat", "cuda_runtime") == s.source.launches.size());
  CHECK(count(all, "cat", "kernel") == s.source.kernels.size() - 1);
  CHECK(count(all, "cat", "gpu_memcpy") + count(all, "cat", "gpu_memset") ==
        s.source.copies.size());
  CHECK(count(all, "cat", "cuda_sync") == s.source.synchronizations.size());
  CHECK(count(all, "ph", "C") == s.memory.timeline.size());
  // One arrow a kernel or copy, but for the kernel whose launch is unknown.
  CHECK(arrows_in(all) == s.source.kernels.size() - 2 + s.source.copies.size());
}

TEST_CASE("tracks have names; overlapping kernels have a track of their own") {
  auto const names = track_names(events(gpu_sample()));
  std::vector<std::string> found;
  for (auto const& name : names)
    if (name.first.first >= 1000) found.push_back(name.second);
  for (auto const& name : names)
    if (name.first.first < 1000) found.push_back(name.second);
  CHECK(found == std::vector<std::string>{"main (4242)", "loader (4250)", "waits for the device",
                                          "stream 7", "stream 13", "stream 13 (overlap)"});
}

TEST_CASE("contexts are told where there are several") {
  report_sample s = gpu_sample();
  s.source.kernels[0].context = 2;
  json const all = events(s);
  check_rules(all);
  auto const names = track_names(all);
  bool told = false;
  for (auto const& name : names) told |= name.second == "context 2, stream 7";
  CHECK(told);
}

TEST_CASE("arguments") {
  json const all = events(gpu_sample());
  json range, on_device, kernel, graph;
  for (json const& e : all) {
    if (!e.contains("args") || !e.contains("cat")) continue;
    if (e["name"] == "attention" && e["cat"] == "user_annotation" && range.is_null())
      range = e["args"];
    if (e["name"] == "attention" && e["cat"] == "gpu_user_annotation") on_device = e["args"];
    if (e["name"] == "layernorm_kernel" && kernel.is_null()) kernel = e["args"];
    if (e["args"].contains("captured_range") && graph.is_null()) graph = e["args"];
  }
  CHECK(on_device["path"] == "forward/block[1]/attention");
  CHECK(range["flops"] == 1.3e9);
  CHECK(range["shape"] == json::array({4, 64, 768}));
  CHECK(range["note"] == "causal");
  CHECK_FALSE(range.contains("tokens"));
  CHECK(kernel["grid"] == json::array({256, 1, 1}));
  CHECK(kernel["block"] == json::array({256, 1, 1}));
  CHECK(kernel["registers per thread"] == 40);
  CHECK(kernel["kernel"].get<std::string>().find("llm::layernorm_kernel<") != std::string::npos);
  CHECK_FALSE(kernel.contains("mangled"));
  CHECK(graph["captured_range"] == "forward/block[1]/attention");
  trace_options mangled;
  mangled.mangled_names = true;
  CHECK(trace_text(gpu_sample(), mangled).find("_ZN3llm16layernorm") != std::string::npos);
}

TEST_CASE("a row does not repeat what the rows around it say") {
  auto const args_of = [](json const& all, char const* category, char const* name) {
    std::vector<json> found;
    for (json const& e : all)
      if (e.contains("cat") && e["cat"] == category && e["name"] == name)
        found.push_back(e["args"]);
    REQUIRE_FALSE(found.empty());
    return found;
  };
  report_sample s = gpu_sample();
  json const all = events(s);
  for (char const* category : {"user_annotation", "gpu_user_annotation"}) {
    for (json const& args : args_of(all, category, "forward")) CHECK(args.contains("step"));
    for (json const& args : args_of(all, category, "mlp")) CHECK_FALSE(args.contains("step"));
  }
  for (json const& args : args_of(all, "kernel", "layernorm_kernel")) {
    CHECK_FALSE(args.contains("range"));
    CHECK_FALSE(args.contains("step"));
  }
  for (json const& args : args_of(all, "cuda_runtime", "cudaLaunchKernel"))
    CHECK_FALSE(args.contains("range"));
  // A thread without ranges: what it launches counts for the range of another one.
  std::uint32_t const node = s.source.launches[1].node;
  for (driver_call_record& launch : s.source.launches)
    if (launch.node == node) launch.thread = 7;
  std::size_t told = 0;
  for (json const& args : args_of(events(s), "cuda_runtime", "cudaLaunchKernel"))
    told += args.contains("range");
  CHECK(told > 0);
}

TEST_CASE("clocks that disagree by a little do not break arrows") {
  report_sample s = gpu_sample();
  // The copy seems to begin before its call, but to end after the call began: an arrow in it.
  s.source.copies[0].begin = s.source.launches[0].begin - 50;
  s.source.copies[0].end = s.source.launches[0].begin + 10;
  // The kernel seems to be over before it was launched: no arrow.
  s.source.kernels[0].end = s.source.launches[1].begin - 1;
  s.source.kernels[0].begin = s.source.kernels[0].end - 20;
  json const all = events(s);
  check_rules(all);
  CHECK(arrows_in(all) == s.source.kernels.size() - 3 + s.source.copies.size());
  CHECK(count(all, "ph", "s") == 1);
  for (json const& e : all) {
    if (e["ph"] != "s" && e["ph"] != "f") continue;
    CHECK(ns(e["ts"]) == s.source.launches[0].begin);
    CHECK(e["id"] == (std::uint64_t{1} << 52) + 1);
    CHECK((e["pid"] == 0) == (e["ph"] == "f"));
  }
}

TEST_CASE("ranges that do not nest go to a track of their own") {
  report_sample s = gpu_sample();
  range_record other = s.source.ranges.back();
  other.begin += 10;
  other.end += 10;
  s.source.ranges.push_back(other);
  json const all = events(s);
  check_rules(all);
  bool told = false;
  for (auto const& name : track_names(all)) told |= name.second == "main (4242) (overlap)";
  CHECK(told);
}

TEST_CASE("records in any order give the same trace") {
  report_sample s = gpu_sample();
  std::string const before = trace_text(s);
  std::reverse(s.source.ranges.begin(), s.source.ranges.end());
  std::reverse(s.source.launches.begin(), s.source.launches.end());
  std::reverse(s.source.copies.begin(), s.source.copies.end());
  CHECK(trace_text(s) == before);
}

TEST_CASE(
    "ranges that only= leaves out are not drawn, their kernels are those of the range above") {
  report_sample s = gpu_sample(1, 1);
  s.tree.erase(s.tree.begin() + 4);  // ln1, the first child of block
  for (range_row& row : s.tree)
    if (row.parent > 4) --row.parent;
  json const all = events(s);
  check_rules(all);
  CHECK(count(all, "name", "ln1") == 0);
  std::string around;
  for (json const& e : all) {
    if (e.contains("cat") && e["cat"] == "gpu_user_annotation") around = e["args"]["path"];
    if (e["name"] == "layernorm_kernel") CHECK(around == "forward/block[0]");
  }
}

TEST_CASE("a limit keeps the first part and says so") {
  report_sample s = gpu_sample(12, 20);
  std::size_t const whole = events(s).size();
  for (std::uint64_t const limit : {0u, 1u, 10u, 100u, 1000u, 5000u}) {
    trace_options options;
    options.max_events = limit;
    trace_summary summary;
    json const document = json::parse(trace_text(s, options, &summary));
    json const& all = document["traceEvents"];
    check_rules(all);
    REQUIRE(limit < whole);
    std::size_t named = 0;
    for (json const& e : all) named += e["ph"] == "M" || e["ph"] == "i";
    CHECK(all.size() - named <= limit);
    if (limit >= 100) CHECK((all.size() - named) * 2 >= limit);
    CHECK(summary.left_out > 0);
    CHECK(summary.problem.find("left out") != std::string::npos);
    CHECK(count(all, "ph", "i") == 1);
    CHECK(document["otherData"]["events_left_out"] == summary.left_out);
    CHECK(document["otherData"]["problems"].back() == summary.problem);
    std::size_t const records = s.source.steps.size() + s.source.ranges.size() +
                                s.source.launches.size() + s.source.kernels.size() - 1 +
                                s.source.copies.size() + s.source.synchronizations.size() +
                                s.memory.timeline.size();
    std::size_t const projected = count(all, "cat", "gpu_user_annotation");  // these are no records
    CHECK(count(all, "ph", "X") - projected + count(all, "ph", "C") + summary.left_out == records);
  }
}

TEST_CASE("a limit of events is one of bytes: those with long paths count more") {
  trace_options options;
  options.max_events = 1000;
  report_sample s = gpu_sample(12, 20);
  std::size_t const bytes = trace_text(s, options).size();
  std::size_t named = 0;
  for (range_row& row : s.tree) {
    if (row.path.empty()) continue;
    row.path.insert(0, std::string(2000, 'x') + "/");
    named += row.path.size();
  }
  std::size_t const longer = trace_text(s, options).size();
  CHECK(longer < bytes + named + 1000 / 4 * 2100);  // 1 + 2000 / 512 events each
}

TEST_CASE("the words are those of PyTorch's profiler") {
  report_sample s = gpu_sample();
  s.source.environment.rank = 3;
  json const document = json::parse(trace_text(s));
  // HolisticTraceAnalysis finds the rank in the text, by a blank behind the colon.
  CHECK(trace_text(s).find("\"distributedInfo\": {\"rank\": 3}") != std::string::npos);
  CHECK(document["deviceProperties"][0]["name"] == "NVIDIA H100 80GB HBM3");
  std::set<std::string> calls, copies;
  std::size_t steps = 0;
  for (json const& e : document["traceEvents"]) {
    if (e["ph"] != "X") continue;
    std::string const category = e["cat"];
    bool const is_work =
        category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    json const& args = e["args"];
    CHECK(args.contains("stream") == is_work);  // a reader takes what has a stream for work
    if (is_work) {
      for (char const* key : {"device", "stream", "context", "correlation"})
        CHECK(args[key].is_number_unsigned());
      CHECK(e["pid"] == args["device"]);
    }
    if (category == "cuda_runtime") calls.insert(e["name"].get<std::string>());
    if (category == "gpu_memcpy" || category == "gpu_memset")
      copies.insert(e["name"].get<std::string>());
    if (e["name"].get<std::string>().find("ProfilerStep#") == 0)
      steps += e["name"] == "ProfilerStep#" + std::to_string(args["step"].get<int>());
  }
  CHECK(steps == s.source.steps.size());
  CHECK(calls.count("cudaLaunchKernel") == 1);
  CHECK(calls.count("cudaMemcpyAsync") == 1);
  for (std::string const& name : calls) CHECK(name.find("cuda") == 0);
  for (std::string const& name : copies) CHECK((name.find("Memcpy ") == 0 || name == "Memset"));
}

TEST_CASE("a wait has the name of the call that waits") {
  report_sample s = gpu_sample();
  s.source.launches[0].kind = api_kind::wait;
  s.source.synchronizations[0].correlation = s.source.launches[0].correlation;
  s.source.synchronizations[0].kind = synchronization_kind::stream;
  CHECK(count(events(s), "name", "cudaStreamSynchronize") == 1);
  s.source.synchronizations[0].kind = synchronization_kind::event;
  CHECK(count(events(s), "name", "cudaEventSynchronize") == 1);
}

TEST_CASE("a collective has the bytes of NCCL's own range") {
  report_sample s = gpu_sample();
  std::uint32_t const name = s.source.nodes[s.source.launches[1].node].name;
  s.source.names[name] = "NCCL:ncclAllReduce";
  for (range_record& range : s.source.ranges)
    if (range.node == s.source.launches[1].node) {
      attribute_record said{};
      said.bytes = 4096.0;
      s.source.attributes.push_back(said);
      range.attribute = static_cast<std::uint32_t>(s.source.attributes.size());
    }
  for (kernel_row& row : s.kernels)
    if (row.name == s.source.kernels[0].name)
      row.collective.operation = collective_operation::all_reduce;
  std::size_t told = 0;
  for (json const& e : events(s)) {
    if (e["ph"] != "X" || !e["args"].contains("Collective name")) continue;
    CHECK(e["cat"] == "kernel");
    told += e["args"].contains("In msg size") && e["args"]["In msg size"] == 4096;
  }
  CHECK(told > 0);
}

TEST_CASE("runs side by side: by the time of day, each in processes of its own") {
  report_sample first = gpu_sample(), second = gpu_sample();
  first.source.environment.rank = 0;
  second.source.environment.rank = 1;
  second.source.environment.started_at_unix_ns += 5000000;
  second.source.problems = {"a problem"};
  std::int64_t const begin = trace_begin(first.source);
  CHECK(trace_begin(second.source) == begin + 5000000);
  std::string const text = text_of([&](detail::text_writer& out) {
    joined_trace joined(out, begin);
    trace_summary const one = joined.add(first.input());
    trace_summary const two = joined.add(second.input());
    CHECK(one.events == two.events);
    joined.finish();
  });
  json const document = json::parse(text);
  CHECK(document["baseTimeNanoseconds"] == begin);
  CHECK_FALSE(document.contains("distributedInfo"));
  CHECK(document["otherData"]["problems"][0] == "rank 1: a problem");
  json const& all = document["traceEvents"];
  json const alone = events(first);
  CHECK(all.size() == 2 * alone.size());
  CHECK(arrows_in(all) == 2 * arrows_in(alone));
  std::map<int, std::vector<std::int64_t>> begins;  // by the rank's number in the file
  std::set<std::uint64_t> ids;
  for (json const& e : all) {
    if (e.contains("flow_out")) CHECK(ids.insert(e["bind_id"].get<std::uint64_t>()).second);
    if (e["ph"] == "X") begins[e["pid"].get<int>() / 1000].push_back(ns(e["ts"]));
  }
  REQUIRE(begins.size() == 2);
  for (std::int64_t& time : begins[2]) time -= 5000000;
  CHECK(begins[1] == begins[2]);
  first.source.environment.started_at_unix_ns = 0;
  CHECK(trace_begin(first.source) == 0);
}

TEST_CASE("the numbers of arrows are exact in JavaScript and no two are one, of 600 ranks too") {
  report_sample s = gpu_sample(1, 1);
  s.source.copies[0].begin = s.source.launches[0].begin - 50;  // an arrow with rows of its own
  s.source.copies[0].end = s.source.launches[0].begin + 10;
  std::string const text = text_of([&](detail::text_writer& out) {
    joined_trace joined(out, trace_begin(s.source));
    for (int run = 0; run < 600; ++run) (void)joined.add(s.input());
    joined.finish();
  });
  std::set<std::uint64_t> ids;
  std::size_t begins = 0;
  json const all = json::parse(text)["traceEvents"];
  for (json const& e : all) {
    bool const has_rows = e["ph"] == "s";
    if (!has_rows && !e.contains("flow_out")) continue;
    ++begins;
    auto const id = e[has_rows ? "id" : "bind_id"].get<std::uint64_t>();
    CHECK(id < std::uint64_t{1} << 53);
    ids.insert(id);
  }
  CHECK(begins >= 1200);
  CHECK(ids.size() == begins);
}

TEST_CASE("a trace begins with the first record, whatever it is") {
  report_sample s = gpu_sample();
  std::int64_t const start = s.source.environment.started_at_unix_ns;
  CHECK(trace_begin(s.source) == start);
  s.source.memory.push_back({});
  s.source.memory.back().time = -700;
  CHECK(trace_begin(s.source) == start - 700);
  s.source.ranges[0].begin = -900;
  CHECK(trace_begin(s.source) == start - 900);
  CHECK(json::parse(trace_text(s))["baseTimeNanoseconds"] == start - 900);
}

TEST_CASE("hostile names are valid JSON") {
  std::string const hostile = "q\" c, \\ \n \x01 \xFF 注意 =cmd() " + std::string(4096, 't');
  report_sample s = gpu_sample();
  for (range_row& row : s.tree) row.name = row.path = hostile;
  for (kernel_row& row : s.kernels) row.short_name = row.demangled = hostile;
  for (std::string& name : s.source.names) name = hostile;
  s.source.threads[0].name = s.source.environment.devices[0].name = hostile;
  s.source.environment.command = s.source.environment.host = hostile;
  s.source.problems = {hostile};
  check_rules(events(s));
}

TEST_CASE("broken references and an empty profile are no harm") {
  check_rules(events(report_sample{}));
  report_sample s = gpu_sample();
  s.source.kernels[0].name = 12345;
  s.source.launches[0].node = 12345;
  s.source.ranges[0].attribute = 12345;
  s.source.ranges[1].node = 12345;
  s.source.ranges[2].thread = 4000000000u;
  s.source.launches[3].end = s.source.launches[3].begin - 5;
  check_rules(events(s));
  s.tree.clear();
  s.kernels.clear();
  check_rules(events(s));
}

}  // namespace trace_test
