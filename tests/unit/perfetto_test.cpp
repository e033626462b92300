#include "report/perfetto.hpp"
#include <doctest/doctest.h>
#include "report/protobuf.hpp"
#include "report/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "perfetto_reader.hpp"
#include "report_sample.hpp"

namespace perfetto_test {

using namespace report_test;
using namespace perfetto_reading;

namespace {

std::string perfetto(report_sample const& s, trace_options const& options = {},
                     trace_summary* summary = nullptr) {
  return text_of([&](detail::text_writer& out) {
    trace_summary const made = write_perfetto(out, s.input(), options);
    if (summary != nullptr) *summary = made;
  });
}
std::string chrome(report_sample const& s, trace_options const& options = {}) {
  return text_of([&](detail::text_writer& out) { (void)write_trace(out, s.input(), options); });
}

/// Both traces say the same. Returns: what Perfetto's has.
contents check_same(report_sample const& s, trace_options const& options = {}) {
  contents found = reader().read(perfetto(s, options));
  contents wanted = from_json(chrome(s, options));
  found.sort();
  wanted.sort();
  compare(found.slices, wanted.slices);
  compare(found.instants, wanted.instants);
  CHECK(found.counters == wanted.counters);
  compare(found.arrows, wanted.arrows);
  return found;
}

std::uint32_t name(report_sample& s, char const* text) {
  s.source.names.emplace_back(text);
  return static_cast<std::uint32_t>(s.source.names.size() - 1);
}

/// Kernels and copies whose times the device did not lose.
std::size_t timed_work(report_sample const& s) {
  std::size_t count = 0;
  for (kernel_record const& kernel : s.source.kernels) count += kernel.begin != lost_time;
  for (copy_record const& copy : s.source.copies) count += copy.begin != lost_time;
  return count;
}

/// With spans that overlap, one of no length, and marks that are not in the order of their times.
report_sample spans_sample() {
  report_sample s = gpu_sample();
  std::uint32_t const batch = name(s, "batch"), loader = name(s, "loader"), now = name(s, "now");
  s.source.spans.push_back({500, 9000, batch, loader, 0, 0, 1, span_kind::range, {}});
  s.source.spans.push_back({7000, 20000, batch, 0, no_step, 1, 1, span_kind::range, {}});
  s.source.spans.push_back({7000, 7000, now, 0, 1, 0, 0, span_kind::range, {}});
  s.source.spans.push_back({8000, 8000, now, 0, 1, 0, 0, span_kind::mark, {}});
  s.source.spans.push_back({100, 100, now, loader, no_step, 1, 1, span_kind::mark, {}});
  return s;
}

}  // namespace

TEST_CASE("Perfetto's trace says what trace.json says") {
  contents const gpu = check_same(gpu_sample());
  CHECK(gpu.slices.size() > 50);
  CHECK(gpu.arrows.size() > 10);
  CHECK(gpu.counters.size() == gpu_sample().memory.timeline.size());
  CHECK(gpu.states == gpu.sequences.size());  // a sequence for each track
  (void)check_same(gpu_sample(6, 5));
  (void)check_same(cpu_sample());
  (void)check_same(report_sample{});
  contents const spans = check_same(spans_sample());
  CHECK(spans.slices.size() == gpu.slices.size() + 3);
  CHECK(spans.instants.size() == 2);
}

TEST_CASE("the golden file, which the script reads with Perfetto's own definitions") {
  std::string const made = perfetto(spans_sample());
  CHECK(made == golden("trace.perfetto-trace", made));
  std::string const beside = chrome(spans_sample());
  CHECK(beside == golden("trace_spans.json", beside));
}

TEST_CASE("kernels and copies are work of Perfetto's GPUs, and of nothing else") {
  report_sample const s = gpu_sample();
  contents const found = check_same(s);
  CHECK(found.work.size() == timed_work(s));
  for (event const& slice : found.slices)
    if (slice.category == "kernel" || slice.category == "copy")
      CHECK(slice.process == "GPU 0: NVIDIA H100 80GB HBM3");
  CHECK(found.architectures == std::set<std::string>{"sm_90"});
  CHECK(found.arrows.size() == found.work.size() - 1);  // one has no launch
  CHECK(found.uses.empty());
}

TEST_CASE("work without a launch has a number of its own, and a GPU without a name its ordinal") {
  report_sample s = gpu_sample();
  s.source.launches.clear();
  s.source.environment.devices[0].ordinal = 1;
  for (kernel_record& kernel : s.source.kernels) kernel.context = 0;
  contents const found = check_same(s);
  CHECK(found.work.size() == timed_work(s));
  CHECK(found.arrows.empty());
  CHECK(found.work.begin()->second.process == "GPU 0");
  CHECK(found.architectures == std::set<std::string>{""});
}

TEST_CASE("traces of ranks in one file: none takes the numbers of another") {
  report_sample s = gpu_sample();
  std::string both;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    s.source.environment.rank = rank;
    both += perfetto(s);
  }
  contents const found = reader().read(both);
  CHECK(found.work.size() == 3 * timed_work(s));
  CHECK(found.arrows.size() == found.work.size() - 3);
  CHECK(found.queues.count("rank 0, stream 13") == 1);
  CHECK(found.queues.count("rank 2, stream 13") == 1);
}

TEST_CASE("Perfetto's trace of ranks, contexts, odd clocks and odd records") {
  report_sample s = spans_sample();
  s.source.environment.rank = 1;
  s.source.kernels[0].context = 2;
  s.source.copies[0].begin = s.source.launches[0].begin - 50;
  s.source.copies[0].end = s.source.launches[0].begin + 10;
  s.source.kernels[0].end = s.source.launches[1].begin - 1;
  s.source.kernels[0].begin = s.source.kernels[0].end - 20;
  range_record other = s.source.ranges.back();
  other.begin += 10;
  other.end += 10;
  s.source.ranges.push_back(other);
  s.source.kernels[3].name = 12345;
  s.source.launches[4].node = 12345;
  s.source.ranges[0].attribute = 12345;
  s.source.launches[5].end = s.source.launches[5].begin - 5;
  (void)check_same(s);
}

TEST_CASE("an arrow to work that seems to begin before its call ends where the work ends") {
  report_sample s = gpu_sample();
  s.source.copies[0].begin = s.source.launches[0].begin - 50;
  s.source.copies[0].end = s.source.launches[0].begin;
  CHECK(check_same(s).arrows.size() == reader().read(perfetto(gpu_sample())).arrows.size());
}

TEST_CASE("times before the session move all of a trace: viewers drop what is below zero") {
  report_sample s = gpu_sample();
  s.source.ranges[0].begin = -1234;
  contents const found = check_same(s);
  contents const plain = reader().read(perfetto(gpu_sample()));
  std::int64_t lowest = 1;
  for (event const& e : found.slices) lowest = std::min(lowest, e.begin);
  CHECK(lowest == 0);
  CHECK(found.counters.front().first == plain.counters.front().first + 1234);
}

TEST_CASE("a wait for a whole context names no stream") {
  auto const streams = [](std::string const& trace) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = trace.find("\"stream\":", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  report_sample s = gpu_sample();
  REQUIRE(s.source.synchronizations.size() > 0);
  std::size_t const all = streams(chrome(s));
  s.source.synchronizations[0].stream = strata::no_stream;
  CHECK(streams(chrome(s)) == all - 1);
  CHECK(chrome(s).find("4294967295") == std::string::npos);
  (void)check_same(s);
}

TEST_CASE("hostile names are UTF-8 in Perfetto's trace") {
  std::string const hostile = "q\" c, \\ \n \x01 \xFF\xFE 注意 =cmd() \xE6" + std::string(300, 't');
  report_sample s = spans_sample();
  for (range_row& row : s.tree) row.name = row.path = hostile;
  for (kernel_row& row : s.kernels) row.short_name = row.demangled = hostile;
  for (std::string& text : s.source.names) text = hostile;
  s.source.threads[0].name = s.source.environment.devices[0].name = hostile;
  (void)check_same(s);
}

TEST_CASE("a limit of events: Perfetto's trace says what is left out") {
  trace_options few;
  few.max_events = 100;
  report_sample const s = gpu_sample(12, 20);
  trace_summary summary;
  std::string const file = perfetto(s, few, &summary);
  CHECK(summary.left_out > 0);
  contents const found = check_same(s, few);
  REQUIRE(found.instants.size() == 1);
  CHECK(found.instants[0].name == summary.problem);
  CHECK(summary.events == found.slices.size() + found.counters.size() + 1);
}

TEST_CASE("mangled names") {
  trace_options mangled;
  mangled.mangled_names = true;
  (void)check_same(gpu_sample(), mangled);
}

TEST_CASE("a launch of a graph with more arrows than a packet usually has") {
  report_sample s = gpu_sample(1, 1);
  kernel_record const one = s.source.kernels[1];
  for (int i = 1; i < 7000; ++i) {
    kernel_record more = one;
    more.begin += 1000 * 1000 + 10 * i;
    more.end = more.begin + 5;
    s.source.kernels.push_back(more);
  }
  contents const found = check_same(s);
  CHECK(found.arrows.size() > 7000);
}

TEST_CASE("a file that was cut opens, and so does what is left of one without its first part") {
  report_sample const s = gpu_sample(12, 200);
  trace_options all;
  all.max_events = 1'000'000'000;
  std::string const file = perfetto(s, all);
  contents const whole = reader().read(file);
  CHECK(whole.states > whole.sequences.size() + 1);  // known again every MB
  CHECK(whole.skipped == 0);
  reader cut;
  cut.whole = false;
  contents const first = cut.read(std::string_view(file).substr(0, file.size() * 2 / 3));
  CHECK(first.slices.size() > whole.slices.size() / 2);
  CHECK(first.slices.size() < whole.slices.size());
  std::size_t at = 0;
  while (at < file.size() / 10) {
    std::uint64_t const size = varint(file, ++at);
    at += size;
  }
  reader rest;
  rest.whole = false;
  contents const last = rest.read(std::string_view(file).substr(at));
  CHECK(last.skipped > 0);
  CHECK(last.slices.size() > whole.slices.size() / 4);
  for (event const& e : last.slices) CHECK(!e.name.empty());
}

#if defined(__linux__)
TEST_CASE("a full disk: the writer remembers the error and continues to its end") {
  report_sample const s = gpu_sample(12, 150);
  std::FILE* const full = std::fopen("/dev/full", "wb");
  REQUIRE(full != nullptr);
  {
    detail::text_writer out(full);
    trace_summary const summary = write_perfetto(out, s.input());
    CHECK(summary.events > 10000);
    CHECK_FALSE(out.flush());
    CHECK(out.error() == ENOSPC);
  }
  std::fclose(full);
}
#endif

TEST_CASE("messages of every length in a message") {
  for (std::size_t const size : {0u, 1u, 125u, 126u, 127u, 128u, 16382u, 16384u, 70000u}) {
    detail::proto_message outer;
    {
      detail::inner_message const first(outer, 7);
      {
        detail::inner_message const second(outer, 100);
        outer.bytes(1, std::string(size, 'b'));
      }
      outer.integer(3, ~std::uint64_t{0});
    }
    outer.fixed(4, 0x0102030405060708u);
    auto const found = fields(outer.bytes());
    REQUIRE(found.size() == 2);
    CHECK(value(found, 4) == 0x0102030405060708u);
    auto const inner = fields(found[0].bytes);
    CHECK(value(inner, 3) == ~std::uint64_t{0});
    CHECK(text(fields(find(inner, 100)->bytes), 1) == std::string(size, 'b'));
  }
}

}  // namespace perfetto_test
