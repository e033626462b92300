// Device records meet the calls that caused them as they arrive; sums never stop.
#include <strata/base/text_writer.hpp>
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/recording/format.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>

#include <doctest/doctest.h>
#include "recording/recording.hpp"

#include <cstdint>
#include <string>

#include "../sanitizers.hpp"
#include "profile_checks.hpp"

namespace activity_store_test {

using namespace strata;
using test::row;

namespace {

/// More than are known at a time.
constexpr std::uint64_t many_nodes =
    detail::graph_captures::max_nodes * (test::sanitized ? 3 : 6) / 2;

/// A session of the host log with calls into the driver, and a store of device records.
struct traced_run {
  detail::recorder& host = detail::recorder::instance();
  detail::memory_budget budget;
  detail::graph_captures captures;
  detail::activity_store store{budget, captures};
  std::uint32_t a = node("a");
  std::uint32_t b = node("b");
  std::uint32_t correlations = 0;

  explicit traced_run(std::int64_t log_bytes = 64 << 20, std::int64_t buffer_bytes = 64 << 20) {
    host.begin_session(log_bytes);
    host.record(true);
    budget.set(buffer_bytes);
    store.clear();
  }
  ~traced_run() {
    host.record(false);
    host.begin_session(0);
  }

  std::uint32_t node(char const* name) {
    detail::recorder_state& state = host.state();
    return state.nodes.child(root_node, state.names.intern(name, {}), no_index);
  }

  std::uint32_t launch(std::uint32_t node, std::uint8_t flags = 0, api_kind kind = api_kind::launch,
                       std::int64_t end = 0) {
    driver_call_record made{};
    made.begin = host.clock().now();
    made.end = end != 0 ? end : made.begin + 100;
    made.correlation = ++correlations;
    made.node = node;
    made.kind = kind;
    made.flags = flags;
    CHECK(host.state().launches.add(made));
    return made.correlation;
  }

  void kernel(std::uint32_t correlation, std::uint64_t begin, std::uint64_t end,
              char const* name = "gemm", std::uint64_t graph_node = 0) {
    detail::cupti::kernel_record record{};
    record.kind = detail::cupti::activity_kind::concurrent_kernel;
    record.start_ns = begin;
    record.end_ns = end;
    record.correlation_id = correlation;
    record.graph_node_id = graph_node;
    record.name = name;
    record.grid_x = record.grid_y = record.grid_z = 1;
    record.block_x = record.block_y = record.block_z = 1;
    store.add(reinterpret_cast<detail::cupti::record const&>(record));
  }

  void memory(std::uint32_t correlation, std::uint64_t time, std::uint64_t address,
              std::uint64_t bytes, bool allocates) {
    detail::cupti::memory_record record{};
    record.kind = detail::cupti::activity_kind::memory;
    record.timestamp_ns = time;
    record.address = address;
    record.size_bytes = bytes;
    record.correlation_id = correlation;
    record.memory = detail::cupti::memory_kind::device;
    record.operation = allocates ? detail::cupti::memory_operation::allocation
                                 : detail::cupti::memory_operation::release;
    store.add(reinterpret_cast<detail::cupti::record const&>(record));
  }

  void wait(std::uint32_t correlation, std::uint64_t begin, std::uint64_t end) {
    detail::cupti::synchronization_record record{};
    record.kind = detail::cupti::activity_kind::synchronization;
    record.type = detail::cupti::synchronization_type::stream_synchronize;
    record.start_ns = begin;
    record.end_ns = end;
    record.correlation_id = correlation;
    store.add(reinterpret_cast<detail::cupti::record const&>(record));
  }

  void stream_from_now() {
    host.state().launches.keep_for_stream(true);
    store.keep_for_stream(true);
  }
  using offered_call = detail::launch_table::offered_call;
  /// What the next pieces of a recording get, with the calls that `take` takes.
  template <class Take>
  profile stream(Take take) {
    profile made;
    store.find_fresh_calls();
    host.state().launches.stream(false, take);
    while (store.stream(made, {}, host.converter(), detail::latest_time, take)) {
    }
    return made;
  }
  /// With all calls or without.
  profile stream(bool with_calls) {
    return stream([&](offered_call const& call) { return with_calls || call.must_go; });
  }

  profile take() {
    host.record(false);
    detail::tick_converter const ticks = host.converter();
    profile made;
    store.take(made, {}, ticks);
    host.move_to(made);
    made.traced = true;
    return made;
  }
};

}  // namespace

TEST_CASE("what is streamed never comes before its call") {
  traced_run run;
  run.stream_from_now();
  std::uint32_t const id = run.launch(run.a);
  run.kernel(id, 1000, 1010);
  run.memory(id, 1000, 4096, 512, true);
  run.wait(id, 1000, 1010);
  run.kernel(id + 1000, 1000, 1010);  // its call is not known
  CHECK(run.stream(false).kernels.size() == 1);
  profile const p = run.stream(true);
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].node == run.a);
  CHECK(p.memory.size() == 1);
  CHECK(p.synchronizations.size() == 1);
  CHECK(run.stream(true).kernels.empty());
}

TEST_CASE("what came before its call and is left out with it is not streamed") {
  traced_run run;
  run.stream_from_now();
  run.kernel(run.correlations + 1, 10, 20);
  (void)run.launch(run.a, driver_call_record::in_warmup);
  CHECK(run.stream(true).kernels.empty());
}

TEST_CASE("what is streamed late has found its call before that is forgotten") {
  constexpr std::uint32_t count = detail::launch_table::slack * 3 / 2;
  traced_run run(0);
  run.stream_from_now();
  run.kernel(run.correlations + 1, 10, 20);  // its call is still under way
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t const id = run.launch(run.b);
    if (id != 1) run.kernel(id, 10 * id, 10 * id + 10);
  }
  std::size_t gone = 0;
  profile const early = run.stream([&](traced_run::offered_call const& call) {
    gone += call.must_go ? 1 : 0;
    return call.must_go;
  });
  CHECK(gone > 0);  // their pages were used again
  CHECK(early.kernels.size() == gone);
  REQUIRE(early.kernels.size() > 0);
  CHECK(early.kernels[0].node == run.b);
  CHECK(run.stream(true).kernels.size() == count - gone);
  run.store.keep_for_stream(false);
  CHECK(run.store.bytes_beyond_budget() >=
        (count + detail::activity_store::batch) * sizeof(kernel_record));
}

TEST_CASE("a recording that is written late, by pieces of time, has all work of each piece") {
  constexpr std::uint32_t count = detail::launch_table::slack * 3 / 2;
  constexpr std::int64_t piece = 16'384;
  traced_run run(std::int64_t{1} << 30);
  run.stream_from_now();
  std::int64_t time = 0;
  for (int late = 0; late < 3; ++late) {
    std::int64_t const begin = time;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t const id = run.launch(run.a, 0, api_kind::launch, ++time);
      if (i % 2 == 0) run.kernel(id, 10 * id, 10 * id + 5);  // the others' has not come
    }
    for (std::int64_t until = begin + piece; until <= time; until += piece) {
      std::int64_t calls = 0;
      profile const made = run.stream([&](traced_run::offered_call const& call) {
        bool const taken = call.record.end <= until;
        calls += taken ? 1 : 0;
        return taken;
      });
      REQUIRE(calls == piece);
      REQUIRE(static_cast<std::int64_t>(made.kernels.size()) == piece / 2);
    }
  }
  CHECK(run.store.dropped_from_stream() == 0);
}

TEST_CASE("work of a call that lasted while many others were made is streamed with it") {
  traced_run run(std::int64_t{1} << 30);
  run.stream_from_now();
  run.correlations = 1;  // the first one is under way
  for (std::uint32_t i = 0; i < detail::launch_table::slack * 3 / 2; ++i) (void)run.launch(run.a);
  (void)run.stream(true);
  run.correlations = 0;
  run.wait(run.launch(run.b), 10, 20);
  std::size_t calls = 0;
  profile const made = run.stream([&](traced_run::offered_call const&) { return ++calls != 0; });
  CHECK(calls == 1);
  REQUIRE(made.synchronizations.size() == 1);
  CHECK(made.synchronizations[0].node == run.b);
}

TEST_CASE("work without a call is kept and counted") {
  traced_run run;
  std::uint32_t const known = run.launch(run.a);
  run.kernel(known, 2, 3);
  run.kernel(known + 1000, 4, 5);
  run.kernel(known + 100'000, 4, 5);
  profile const p = run.take();
  CHECK(p.kernels.size() == 3);
  CHECK(p.losses.uncorrelated == 2);
  CHECK(row(p, "").self.kernels == 2);
}

TEST_CASE("a recording of kernels that all lost their times can be read") {
  traced_run run;
  run.kernel(run.launch(run.a), 0, 0);
  std::string bytes;
  detail::text_writer out(bytes);
  write_recording(out, run.take());
  out.flush();
  profile again;
  CHECK(read_recording(bytes, again).ok());
  CHECK(again.losses.timestamps_lost == 1);
  CHECK(row(again, "a").self.kernels == 1);
}

TEST_CASE("calls of warm-up steps and between windows are left out with their work") {
  traced_run run;
  for (std::uint8_t const flags :
       {driver_call_record::in_warmup, driver_call_record::outside_window}) {
    std::uint32_t const warm = run.launch(run.a, flags);
    run.kernel(warm, 2, 3);
    run.memory(warm, 2, 0x1000, 64, true);
  }
  std::uint32_t const active = run.launch(run.a);
  run.kernel(active, 12, 13);
  run.memory(active, 12, 0x2000, 64, true);
  profile const p = run.take();
  REQUIRE(p.launches.size() == 1);
  CHECK(p.launches[0].correlation == active);
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].correlation == active);
  CHECK(p.memory.size() == 1);
  CHECK(row(p, "a").self.launches == 1);
  CHECK(row(p, "a").self.allocations == 1);
  CHECK(p.losses.uncorrelated == 0);
}

TEST_CASE("a call that only captured keeps its mark; one that worked loses it") {
  traced_run run;
  run.launch(run.a, driver_call_record::in_capture);
  std::uint32_t const worked = run.launch(run.a, driver_call_record::in_capture);
  run.kernel(worked, 4, 5);
  profile const p = run.take();
  REQUIRE(p.launches.size() == 2);
  CHECK(p.launches[0].flags == driver_call_record::in_capture);
  CHECK(p.launches[1].flags == 0);
}

TEST_CASE("a graph's kernels are of the range that captured the node before the launch") {
  traced_run run;
  run.captures.add(900, run.a);
  run.captures.add(901, run.b);
  std::uint32_t const before = run.launch(run.a, 0, api_kind::graph_launch);
  run.captures.update(901, 900, run.host.clock().now());
  std::uint32_t const after = run.launch(run.a, 0, api_kind::graph_launch);
  run.kernel(before, 10, 14, "gemm", 900);
  run.kernel(after, 20, 21, "gemm", 900);
  run.kernel(after, 21, 22, "gemm", 4711);
  profile const p = run.take();
  REQUIRE(p.kernels.size() == 3);
  CHECK(p.kernels[0].captured_by == run.a);
  CHECK(p.kernels[1].captured_by == run.b);
  CHECK(p.kernels[2].captured_by == no_node);
  CHECK(row(p, "b").self.graph_kernels == 1);
  CHECK(row(p, "b").self.graph_kernel_ns == 1);
}

TEST_CASE("nodes of destroyed graphs make room, after their last records") {
  detail::graph_captures captures;
  captures.add(1, 7);
  captures.destroy(1);  // no window is open
  CHECK(captures.size() == 0);
  captures.await_records(true);
  std::uint32_t range = 0;
  for (std::uint64_t node = 1; node <= many_nodes; ++node) {
    captures.add(node, ++range);
    if (node % 1000 == 0) {
      CHECK(captures.range_of(node, 0) == range);
      for (std::uint64_t gone = node - 999; gone <= node; ++gone) captures.destroy(gone);
      CHECK(captures.range_of(node, 0) == range);
    }
  }
  CHECK(captures.refused() == 0);
  CHECK(captures.size() < detail::graph_captures::max_nodes / 2);
  captures.await_records(false);
  CHECK(captures.size() == many_nodes % 1000);  // never destroyed
}

TEST_CASE("graph nodes beyond the limit are counted and harm none that is known") {
  detail::graph_captures captures;
  std::uint64_t const most = detail::graph_captures::max_nodes;
  for (std::uint64_t node = 1; node <= most + 5; ++node) captures.add(node, 7);
  CHECK(captures.refused() == 5);
  captures.update(2, 1, 100);
  captures.update(4711 * most, 3, 100);  // by one that is not known
  CHECK(captures.range_of(1, 0) == 7);
  CHECK(captures.range_of(2, 0) == 7);
  CHECK(captures.range_of(3, 200) == no_node);
  CHECK(captures.range_of(most + 1, 0) == no_node);
}

TEST_CASE("beyond the limits the sums continue: a million kernels in a log of one megabyte") {
  constexpr std::uint64_t count = test::sanitized ? 200'000 : 1'000'000;
  traced_run run(1 << 20, 1 << 20);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t const id = run.launch(i % 4 == 0 ? run.a : run.b);
    std::uint64_t const begin = 1000 + 10 * i;
    run.kernel(id, begin, begin + (i % 4 == 0 ? 10 : 5), i % 4 == 0 ? "long" : "short");
    if (i % 100 == 0) run.memory(run.launch(run.a, 0, api_kind::allocate), begin, 64, 100, true);
    if (i % 100 == 50) run.memory(run.launch(run.a, 0, api_kind::release), begin, 64, 0, false);
  }
  profile const p = run.take();
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.kernels.size() < 20'000);
  CHECK(p.kernels.size() + p.copies.size() + p.memory.size() + p.losses.activity_summed ==
        count + count / 50);
  CHECK(p.launches.size() + p.losses.launches_summed == count + count / 50);
  range_row const a = row(p, "a");
  range_row const b = row(p, "b");
  CHECK(a.self.kernels == count / 4);
  CHECK(a.self.launches == count / 4);
  CHECK(a.self.kernel_ns == static_cast<std::int64_t>(10 * count / 4));
  CHECK(a.gpu_busy_ns == a.self.kernel_ns);
  CHECK(a.self.allocations == count / 100);
  CHECK(a.self.releases == count / 100);
  CHECK(a.self.released_bytes == count);
  CHECK(a.peak_bytes == 100);
  CHECK(b.self.kernels == 3 * count / 4);
  CHECK(row(p, "").gpu_busy_ns == a.gpu_busy_ns + b.gpu_busy_ns);
  call_tree const tree(p);
  vec<kernel_row> const kernels = make_kernel_table(p, tree);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].short_name == "short");
  CHECK(kernels[0].count == 3 * count / 4);
  CHECK(kernels[1].duration.maximum() == 10);
}

TEST_CASE("records without times, all of them, are joined by batches") {
  traced_run run;
  run.captures.await_records(true);
  run.captures.add(900, run.a);
  run.captures.destroy(900);
  std::uint32_t const by = run.launch(run.a);
  for (std::size_t i = 0; i < detail::activity_store::batch + 2; ++i) run.kernel(by, 0, 0);
  CHECK(run.captures.size() == 1);  // two batches would have forgotten it
  profile const p = run.take();
  CHECK(p.losses.timestamps_lost == detail::activity_store::batch + 2);
  CHECK(row(p, "a").self.kernels == detail::activity_store::batch + 2);
}

TEST_CASE("records that come after the end of a session are none of the next one's") {
  traced_run run;
  run.kernel(run.launch(run.a), 10, 20);
  CHECK(run.take().kernels.size() == 1);
  for (std::uint64_t i = 0; i < 2 * detail::activity_store::batch; ++i) run.kernel(1, i + 1, i + 2);
  run.store.clear();
  run.kernel(run.launch(run.a), 10, 20);
  profile const p = run.take();
  CHECK(row(p, "a").self.kernels == 1);
  CHECK(p.losses.uncorrelated == 0);
}

TEST_CASE("a session that begins with high ids keeps calls until their work has arrived") {
  constexpr std::uint32_t count = test::sanitized ? 200'000 : 800'000;
  constexpr std::uint32_t behind = 100'000;
  for (std::uint32_t const before : {0x7fff0000u, 0xa0000000u, 0xfff00000u}) {
    CAPTURE(before);
    traced_run run(1 << 20, 1 << 20);
    run.correlations = before;
    for (std::uint32_t i = 1; i <= count + behind; ++i) {
      if (i <= count) (void)run.launch(run.a);
      if (i > behind) run.kernel(before + i - behind, i, i + 1);
    }
    profile const p = run.take();
    CHECK(p.losses.uncorrelated == 0);
    CHECK(row(p, "a").self.launches == count);
    CHECK(row(p, "a").self.kernels == count);
  }
}

TEST_CASE("a graph that is updated at each step leaves room for others") {
  detail::graph_captures captures;
  for (std::uint32_t step = 1; step <= many_nodes; ++step) {
    captures.add(1, step);
    captures.update(1, 2, 0);
    captures.update(1, 3, step);
    if (step % 1000 == 0) {
      CHECK(captures.range_of(3, step) == step);
      CHECK(captures.range_of(3, step - 1) == step - 1);
    }
    if (step % 100'000 == 0) captures.forget_updated();
  }
  captures.add(4, 7);
  CHECK(captures.range_of(4, 0) == 7);
  CHECK(captures.refused() == 0);
}

TEST_CASE("what an updated graph stood for, long ago and last") {
  constexpr std::uint32_t count = 100'000;
  detail::graph_captures captures;
  for (std::uint32_t i = 1; i <= count; ++i) {
    captures.add(1, i);
    captures.update(1, 2, i);
  }
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 1; i <= count; ++i) wrong += captures.range_of(2, i) != i;
  for (std::uint32_t i = count; i != 0; --i) wrong += captures.range_of(2, i) != i;
  CHECK(wrong == 0);
  CHECK(captures.range_of(2, 0) == no_node);
}

TEST_CASE("what updated graphs stood for, beside each other and as they are forgotten") {
  constexpr std::uint32_t graphs = 7;
  detail::graph_captures captures;
  for (std::uint32_t now = 0; now < 20'000; ++now) {
    captures.add(1, now + 1);
    captures.update(1, 100 + now % graphs, now);
    if (now % 5000 == 4999) captures.forget_updated();
  }
  std::uint32_t known = 0;
  for (std::uint32_t now = 0; now < 20'000; ++now) {
    for (std::uint32_t graph = 0; graph < graphs; ++graph) {
      std::uint32_t const last = now - (now + graphs - graph) % graphs;  // its last update
      std::uint32_t const range = captures.range_of(100 + graph, now);
      bool const right = range == (now < graph ? no_node : last + 1);
      bool const forgotten = now < 15'000 + graphs && range == no_node;
      if (!right && !forgotten) CHECK(range == last + 1);
      known += right;
    }
  }
  CHECK(known >= graphs * 5000);
}

TEST_CASE("waits without a call are kept while there is room, and counted beyond") {
  constexpr std::uint64_t count = 2 * detail::activity_store::batch;
  traced_run none(64 << 20, 0);
  for (std::uint64_t i = 1; i <= count; ++i) none.wait(0x40000000u, i, i + 1);
  CHECK(none.take().losses.activity_dropped == count - detail::activity_store::batch);
  traced_run some;
  for (std::uint64_t i = 1; i <= count; ++i) some.wait(0x40000000u, i, i + 1);
  CHECK(some.take().losses.activity_dropped == 0);
}

TEST_CASE("a call beside a capture waits for work that shows that it was not captured") {
  detail::launch_table::offered_call call{};
  call.record.end = 100;
  auto const waits = [&] { return call.waits(200, 50); };
  CHECK_FALSE(waits());
  CHECK(call.waits(99, 50));  // it ended after the time of the piece
  call.record.flags = driver_call_record::in_capture;
  CHECK(waits());
  CHECK_FALSE(call.waits(200, 100));
  call.must_go = true;
  CHECK_FALSE(waits());
  call.must_go = false;
  call.worked = true;
  CHECK_FALSE(waits());
}

}  // namespace activity_store_test
