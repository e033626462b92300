// Each field of CUPTI's records, each kind, and the limits of what keeps them: by hand.
#include <doctest/doctest.h>
#include <strata/collect/counters/pass_fingerprint.hpp>
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/session/reported_windows.hpp>
#include <strata/tables/counter_sums.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "counter_tables.hpp"
#include "sample_profile.hpp"

namespace record_amounts_test {

using namespace strata;

namespace {

/// A store of device records and a session of the host log.
struct store_run {
  detail::recorder& host = detail::recorder::instance();
  detail::memory_budget budget;
  detail::graph_captures captures;
  detail::activity_store store{budget, captures};
  std::uint32_t correlations = 0;

  explicit store_run(std::int64_t bytes = 64 << 20, std::int64_t log_bytes = 64 << 20) {
    host.begin_session(log_bytes);
    host.record(true);
    budget.set(bytes);
    store.clear();
  }
  ~store_run() {
    host.record(false);
    host.begin_session(0);
  }
  std::uint32_t launch(api_kind kind = api_kind::launch, std::uint8_t flags = 0) {
    driver_call_record made{};
    made.begin = host.clock().now();
    made.end = made.begin + 100;
    made.correlation = ++correlations;
    made.kind = kind;
    made.flags = flags;
    CHECK(host.state().launches.add(made));
    return made.correlation;
  }
  template <class Record>
  void add(Record const& record) {
    store.add(reinterpret_cast<detail::cupti::record const&>(record));
  }
  profile take() {
    host.record(false);
    detail::tick_converter const ticks = host.converter();
    profile made;
    store.take(made, {}, ticks);
    host.move_to(made);
    return made;
  }
};

detail::cupti::kernel_record kernel_of(std::uint32_t correlation, std::uint64_t begin,
                                       std::uint64_t end) {
  detail::cupti::kernel_record made{};
  made.kind = detail::cupti::activity_kind::concurrent_kernel;
  made.start_ns = begin;
  made.end_ns = end;
  made.correlation_id = correlation;
  made.name = "gemm";
  made.grid_x = made.grid_y = made.grid_z = made.block_x = made.block_y = made.block_z = 1;
  return made;
}

template <class Copy>
Copy copy_of(std::uint32_t correlation, detail::cupti::copy_kind kind) {
  Copy made{};
  made.copy = static_cast<std::uint8_t>(kind);
  made.start_ns = 1000;
  made.end_ns = 1007;
  made.size_bytes = 4096;
  made.device_id = 3;
  made.context_id = 11;
  made.stream_id = 13;
  made.correlation_id = correlation;
  return made;
}

}  // namespace

TEST_CASE(
    "each field of a kernel's record has its place; what is too large is the largest number") {
  store_run run;
  detail::cupti::kernel_record record = kernel_of(run.launch(), 1000, 1234);
  record.grid_x = 5;
  record.grid_y = 6;
  record.grid_z = 7;
  record.block_x = 8;
  record.block_y = 9;
  record.block_z = 10;
  record.registers_per_thread = 40;
  record.static_shared_memory_bytes = 512;
  record.dynamic_shared_memory_bytes = 100'000;
  record.device_id = 2;
  record.context_id = 11;
  record.stream_id = 13;
  run.add(record);
  record = kernel_of(run.launch(), 2000, 2001);
  record.grid_y = -4;
  record.registers_per_thread = 300;
  record.static_shared_memory_bytes = 70'000;
  run.add(record);
  run.add(kernel_of(run.launch(), 3000, 3001));
  profile const p = run.take();
  REQUIRE(p.kernels.size() == 3);
  kernel_record const& kernel = p.kernels[0];
  CHECK(kernel.end - kernel.begin == 234);
  CHECK(kernel.grid_x == 5);
  CHECK(kernel.grid_y == 6);
  CHECK(kernel.grid_z == 7);
  CHECK(kernel.block_x == 8);
  CHECK(kernel.block_y == 9);
  CHECK(kernel.block_z == 10);
  CHECK(kernel.registers == 40);
  CHECK(kernel.static_shared_bytes == 512);
  CHECK(kernel.dynamic_shared_bytes == 100'000);
  CHECK(kernel.device == 2);
  CHECK(kernel.context == 11);
  CHECK(kernel.stream == 13);
  CHECK(kernel.name == 3);  // after the two that a store knows by itself
  CHECK(p.kernels[1].grid_y == 0);
  CHECK(p.kernels[1].registers == 255);
  CHECK(p.kernels[1].static_shared_bytes == 65'535);
  CHECK(p.kernels[2].grid_y == 1);
  CHECK(p.kernels[2].block_z == 1);
}

TEST_CASE("copies: each kind, memory that is not pinned, and other devices") {
  using detail::cupti::copy_kind;
  std::vector<std::pair<copy_kind, strata::copy_kind>> const kinds = {
      {copy_kind::unknown, strata::copy_kind::unknown},
      {copy_kind::host_to_device, strata::copy_kind::host_to_device},
      {copy_kind::device_to_host, strata::copy_kind::device_to_host},
      {copy_kind::host_to_array, strata::copy_kind::host_to_device},
      {copy_kind::array_to_host, strata::copy_kind::device_to_host},
      {copy_kind::array_to_array, strata::copy_kind::device_to_device},
      {copy_kind::array_to_device, strata::copy_kind::device_to_device},
      {copy_kind::device_to_array, strata::copy_kind::device_to_device},
      {copy_kind::device_to_device, strata::copy_kind::device_to_device},
      {copy_kind::host_to_host, strata::copy_kind::host_to_host},
      {copy_kind::peer_to_peer, strata::copy_kind::peer}};
  for (auto const& kind : kinds) {
    CAPTURE(static_cast<int>(kind.first));
    store_run run;
    auto copy = copy_of<detail::cupti::copy_record>(run.launch(api_kind::copy), kind.first);
    copy.kind = detail::cupti::activity_kind::copy;
    copy.source = static_cast<std::uint8_t>(detail::cupti::memory_kind::pageable);
    run.add(copy);
    copy.correlation_id = run.launch(api_kind::copy);
    copy.source = static_cast<std::uint8_t>(detail::cupti::memory_kind::pinned);
    copy.start_ns += 2;
    run.add(copy);
    auto peer = copy_of<detail::cupti::peer_copy_record>(run.launch(api_kind::copy), kind.first);
    peer.kind = detail::cupti::activity_kind::peer_copy;
    peer.start_ns += 4;
    peer.source_device_id = peer.destination_device_id = 1;
    run.add(peer);
    peer.correlation_id = run.launch(api_kind::copy);
    peer.start_ns += 2;
    peer.destination_device_id = 2;
    run.add(peer);
    profile const p = run.take();
    REQUIRE(p.copies.size() == 4);
    CHECK(p.copies[0].kind == kind.second);
    CHECK(p.copies[0].pageable == 1);
    CHECK(p.copies[1].pageable == 0);
    CHECK(p.copies[2].kind == kind.second);  // on one device it is what it says
    CHECK(p.copies[3].kind == strata::copy_kind::peer);
    CHECK(p.copies[0].bytes == 4096);
    CHECK(p.copies[0].device == 3);
    CHECK(p.copies[0].context == 11);
    CHECK(p.copies[0].stream == 13);
  }
}

TEST_CASE("two copies of a call in one direction are two; of both directions they are one") {
  using detail::cupti::copy_kind;
  detail::staged_copies staged;
  auto const bytes_of = [&](copy_kind kind) {
    auto const from = copy_of<detail::cupti::copy_record>(1, kind);
    copy_record made{};
    made.bytes = from.size_bytes;
    staged.pair(from, made);
    CHECK(made.peer.receives == (kind == copy_kind::host_to_device ? 1 : 0));
    return made.bytes;
  };
  CHECK(bytes_of(copy_kind::host_to_device) == 4096);
  CHECK(bytes_of(copy_kind::host_to_device) == 4096);
  CHECK(bytes_of(copy_kind::device_to_host) == 0);
  CHECK(bytes_of(copy_kind::device_to_host) == 0);
  CHECK(bytes_of(copy_kind::device_to_host) == 4096);
}

TEST_CASE("copies between devices that reach each other are two; else both records are one copy") {
  namespace driver = detail::driver;
  detail::driver_library two;
  two.device_count = 2;
  two.api.device_get = [](driver::device_handle* out, int ordinal) {
    *out = ordinal;
    return driver::result::success;
  };
  for (bool const reach : {true, false}) {
    CAPTURE(reach);
    two.api.can_access_peer = reach ? [](int* can, driver::device_handle, driver::device_handle) {
      *can = 1;
      return driver::result::success;
    } : [](int* can, driver::device_handle, driver::device_handle) {
      *can = 0;
      return driver::result::success;
    };
    detail::staged_copies staged;
    staged.look(two);
    auto from = detail::cupti::peer_copy_record{};
    from.correlation_id = 1;
    from.size_bytes = 4096;
    from.destination_device_id = 1;
    std::uint64_t bytes = 0;
    for (std::uint32_t const device : {0u, 1u}) {
      from.device_id = device;
      copy_record made{};
      made.bytes = from.size_bytes;
      staged.pair(from, made);
      bytes += made.bytes;
    }
    CHECK(bytes == (reach ? 8192 : 4096));
  }
}

TEST_CASE("each kind of memory, of waits and of migrations") {
  for (auto const& kind :
       {std::pair(detail::cupti::memory_kind::unknown, memory_kind::unknown),
        std::pair(detail::cupti::memory_kind::pageable, memory_kind::pageable),
        std::pair(detail::cupti::memory_kind::pinned, memory_kind::pinned),
        std::pair(detail::cupti::memory_kind::device, memory_kind::device),
        std::pair(detail::cupti::memory_kind::array, memory_kind::array),
        std::pair(detail::cupti::memory_kind::managed, memory_kind::managed),
        std::pair(detail::cupti::memory_kind::device_static, memory_kind::device_static),
        std::pair(detail::cupti::memory_kind::managed_static, memory_kind::managed_static)})
    CHECK(detail::kind_of(kind.first) == kind.second);
  using wait = detail::cupti::synchronization_type;
  for (auto const& kind :
       {std::pair(wait::unknown, synchronization_kind::unknown),
        std::pair(wait::event_synchronize, synchronization_kind::event),
        std::pair(wait::stream_wait_event, synchronization_kind::stream_wait_event),
        std::pair(wait::stream_synchronize, synchronization_kind::stream),
        std::pair(wait::context_synchronize, synchronization_kind::context)})
    CHECK(detail::kind_of(kind.first) == kind.second);
  using managed = detail::cupti::unified_memory_kind;
  for (auto const& kind : {std::pair(managed::unknown, migration_kind::unknown),
                           std::pair(managed::host_to_device, migration_kind::to_device),
                           std::pair(managed::device_to_host, migration_kind::to_host),
                           std::pair(managed::device_to_device, migration_kind::between_devices),
                           std::pair(managed::gpu_page_fault, migration_kind::gpu_faults)})
    CHECK(detail::kind_of(kind.first) == kind.second);
  detail::traced_kinds only_waits;
  only_waits.kernels = only_waits.copies = only_waits.memory = false;
  CHECK(only_waits.has(api_kind::wait));
  for (api_kind const kind : {api_kind::launch, api_kind::graph_launch, api_kind::copy,
                              api_kind::set, api_kind::allocate, api_kind::release})
    CHECK_FALSE(only_waits.has(kind));
  detail::traced_kinds only_memory;
  only_memory.kernels = only_memory.copies = only_memory.waits = false;
  CHECK(only_memory.has(api_kind::allocate));
  CHECK(only_memory.has(api_kind::release));
  CHECK_FALSE(only_memory.has(api_kind::wait));
}

TEST_CASE("migrations: the device that data go to, and an end where there is one") {
  using kind = detail::cupti::unified_memory_kind;
  struct {
    kind counter;
    std::uint64_t end;
    std::int64_t lasts;
    std::uint32_t device;
  } const cases[] = {{kind::host_to_device, 1'000'300, 300, 2},
                     {kind::device_to_device, 1'000'300, 300, 2},
                     {kind::device_to_host, 1'000'300, 300, 1},
                     {kind::gpu_page_fault, 1'000'300, 300, 1},
                     {kind::gpu_page_fault, 0, 0, 1}};
  store_run run;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the times are recorded ones
  for (auto const& each : cases) {
    detail::cupti::unified_memory_record record{};
    record.kind = detail::cupti::activity_kind::unified_memory;
    record.counter = each.counter;
    record.value = 77;
    record.start_ns = 1'000'000;
    record.end_ns = each.end;
    record.source_id = 1;
    record.destination_id = 2;
    run.add(record);
  }
  profile const p = run.take();
  REQUIRE(p.migrations.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(p.migrations[i].end - p.migrations[i].begin == cases[i].lasts);
    CHECK(p.migrations[i].device == cases[i].device);
    CHECK(p.migrations[i].value == 77);
  }
}

TEST_CASE("the profiler's own kernel without a call is none of the program's") {
  store_run run;
  detail::cupti::kernel_record own = kernel_of(9'999, 100, 200);
  own.name = "WaitNs";
  run.add(own);
  run.add(kernel_of(9'998, 300, 400));
  own = kernel_of(run.launch(), 500, 600);  // a program's kernel may have that name
  own.name = "WaitNs";
  run.add(own);
  auto copy = copy_of<detail::cupti::copy_record>(9'997, detail::cupti::copy_kind::host_to_host);
  copy.kind = detail::cupti::activity_kind::copy;
  run.add(copy);
  profile const p = run.take();
  CHECK(p.kernels.size() == 2);
  CHECK(p.losses.uncorrelated == 2);
}

TEST_CASE("times are lost where one is 0, and work that has not ended is told of recorded calls") {
  store_run run;
  run.add(kernel_of(run.launch(), 0, 5));
  run.add(kernel_of(run.launch(), 0, 0));
  profile p = run.take();
  CHECK(p.losses.timestamps_lost == 2);
  store_run ending;
  ending.store.leave_out_unfinished(true);
  ending.add(kernel_of(ending.launch(), 0, 0));
  ending.add(kernel_of(ending.launch(api_kind::launch, driver_call_record::in_warmup), 0, 0));
  ending.add(kernel_of(ending.launch(), 7, 9));
  p = ending.take();
  CHECK(p.losses.work_unfinished == 1);
  CHECK(p.losses.timestamps_lost == 0);
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("a green context has its multiprocessors, where CUPTI knows how many") {
  store_run run;
  auto const add = [&](std::uint32_t id, std::uint8_t green, std::uint16_t multiprocessors) {
    detail::cupti::context_record record{};
    record.kind = detail::cupti::activity_kind::context;
    record.context_id = id;
    record.is_green = green;
    record.multiprocessors = multiprocessors;
    run.add(record);
  };
  add(1, 0, 16);
  add(2, 1, 0);
  add(3, 1, 16);
  add(4, 1, 24);
  add(4, 1, 32);  // the number again, of a newer context
  profile const p = run.take();
  REQUIRE(p.contexts.size() == 2);
  CHECK(p.contexts[0].context == 3);
  CHECK(p.contexts[0].multiprocessors == 16);
  CHECK(p.contexts[1].context == 4);
  CHECK(p.contexts[1].multiprocessors == 32);
}

TEST_CASE("a timeline that was full once stays full, for smaller records and for migrations too") {
  store_run run(1 << 20);
  detail::cupti::overhead_record
      overhead{};  // a record of 24 bytes, so that 40 are left at the end
  overhead.kind = detail::cupti::activity_kind::overhead;
  overhead.start_ns = 1;
  overhead.end_ns = 2;
  run.add(overhead);
  constexpr std::uint32_t kernels = 40'000;
  std::uint32_t const id = run.launch();
  for (std::uint32_t i = 0; i < kernels; ++i) run.add(kernel_of(id, 10 + 2 * i, 11 + 2 * i));
  detail::cupti::unified_memory_record migration{};
  migration.kind = detail::cupti::activity_kind::unified_memory;
  migration.counter = detail::cupti::unified_memory_kind::host_to_device;
  migration.start_ns = 5;
  migration.end_ns = 6;
  run.add(migration);
  detail::cupti::synchronization_record wait{};
  wait.kind = detail::cupti::activity_kind::synchronization;
  wait.type = detail::cupti::synchronization_type::stream_synchronize;
  wait.start_ns = 200'000;
  wait.end_ns = 200'001;
  wait.correlation_id = run.launch(api_kind::wait);
  run.add(wait);
  profile const p = run.take();
  CHECK(p.kernels.size() < 20'000);
  CHECK(p.kernels.size() > 5'000);
  CHECK(p.synchronizations.empty());
  CHECK(p.migrations.empty());
  CHECK(p.losses.migrations_dropped == 1);
  CHECK(p.losses.activity_summed == kernels - p.kernels.size() + 1);
}

TEST_CASE("ids that begin anew after 2^32: pages of calls continue being used again") {
  store_run run(64 << 20, 1 << 20);
  constexpr std::uint32_t windows = 300;
  constexpr std::uint32_t between = detail::launch_table::page_launches - 1;
  run.correlations =
      0u - 100 * (between + 1);  // the last hundred pages, then the first two hundred
  for (std::uint32_t i = 0; i < windows; ++i) {
    run.correlations += between;
    std::uint32_t const id = run.launch();
    run.add(kernel_of(id, 10 * i + 1, 10 * i + 5));
  }
  profile const p = run.take();
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.launches.size() + p.losses.launches_summed == windows);
}

TEST_CASE("records of one time do not wait for others") {
  store_run run(1 << 20);
  std::uint32_t const id = run.launch();
  constexpr std::uint32_t batches = 5;
  for (std::uint32_t i = 0; i < batches * detail::activity_store::min_batch; ++i)
    run.add(kernel_of(id, 7, 9));
  // A batch of records waits at most, and some more.
  CHECK(run.store.bytes_beyond_budget() < 2 * detail::activity_store::min_batch * 128);
  CHECK(run.take().losses.uncorrelated == 0);
}

// --- calls by their ids ---

namespace {

/// A table of calls with its budget. It keeps its memory: all of them stay for ever.
struct budgeted_table {
  detail::memory_budget budget;
  detail::launch_table table{budget};
};
budgeted_table& make_table() {
  static auto& all = *new std::deque<budgeted_table>;
  return all.emplace_back();
}

struct call_table {
  budgeted_table& kept = make_table();
  detail::memory_budget& budget = kept.budget;
  detail::launch_table& table = kept.table;

  explicit call_table(std::int64_t bytes) { budget.set(bytes); }
  bool add(std::uint32_t id, std::int64_t begin = 1, std::uint8_t flags = 0) {
    driver_call_record made{};
    made.begin = begin;
    made.end = begin + 1;
    made.correlation = id;
    made.kind = api_kind::launch;
    made.flags = flags;
    return table.add(made);
  }
  std::size_t size() const {
    std::size_t count = 0;
    table.for_each([&](driver_call_record const&, bool, bool) { ++count; });
    return count;
  }
  std::size_t retired(std::uint32_t newest) {
    std::size_t count = 0;
    table.retire(newest, [&](driver_call_record const&) { ++count; });
    return count;
  }
};

constexpr std::uint32_t page = detail::launch_table::page_launches;
constexpr std::uint32_t slack = detail::launch_table::slack;

}  // namespace

TEST_CASE("calls beyond the budget go when work of far newer ones has come, not of older ones") {
  call_table calls(0);
  for (std::uint32_t id = 10 * page; id < 12 * page; ++id) CHECK(calls.add(id));
  CHECK(calls.retired(10 * page + slack - 1) == 0);
  CHECK(calls.retired(10 * page - 1) == 0);  // late work of earlier calls
  CHECK(calls.retired(10 * page + slack) == page);
  CHECK(calls.size() == page);
  CHECK(calls.retired(11 * page + slack) == page);
  CHECK(calls.size() == 0);
}

TEST_CASE("pages that are used again know nothing of their last calls") {
  call_table calls(0);
  for (std::uint32_t id = 0; id < page; ++id) CHECK(calls.add(id));
  driver_call_record found{};
  CHECK(calls.table.find(3, found));
  using offered_call = detail::launch_table::offered_call;
  calls.table.stream(true, [](offered_call const& call) { return call.worked; });
  CHECK(calls.retired(slack) == page);
  CHECK(calls.add(50 * page + 3));
  bool worked = true;
  calls.table.for_each(
      [&](driver_call_record const&, bool has_worked, bool) { worked = has_worked; });
  CHECK_FALSE(worked);
  std::size_t streamed = 0;
  calls.table.stream(true, [&](offered_call const& call) {
    CHECK_FALSE(call.worked);
    CHECK_FALSE(call.must_go);
    return ++streamed != 0;
  });
  CHECK(streamed == 1);
}

TEST_CASE("no more than so many pages lie beyond the budget, and only these are told") {
  call_table calls(0);
  for (std::uint32_t i = 0; i < detail::launch_table::most_beyond; ++i) CHECK(calls.add(i * page));
  CHECK_FALSE(calls.add(detail::launch_table::most_beyond * page));
  CHECK(calls.table.bytes_beyond_budget() > std::uint64_t{128} * page * 32);
  call_table kept(1 << 20);
  CHECK(kept.add(1));
  CHECK(kept.table.bytes_beyond_budget() == 0);
}

TEST_CASE("a session gives back what it took of its own budget, nothing of the next one's") {
  call_table calls(1 << 20);
  CHECK(calls.add(1));
  CHECK(calls.budget.used() > 0);
  calls.table.clear();
  CHECK(calls.budget.used() == 0);
  CHECK(calls.add(1));
  calls.budget.set(1 << 20);  // another session begins
  CHECK(calls.budget.used() == 0);
  calls.table.clear();
  CHECK(calls.budget.used() == 0);
}

TEST_CASE("the driver's calls within one of the runtime have one id, also on a page of long ago") {
  call_table calls(1 << 20);
  constexpr std::int64_t long_ago = (std::int64_t{1} << 36) + 100;
  CHECK(calls.add(5, 0));
  CHECK(calls.add(7, long_ago));
  CHECK(calls.add(7, long_ago + 10));
  CHECK(calls.size() == 2);
  CHECK(calls.add(5, long_ago));  // the ids have begun anew
  CHECK(calls.size() == 3);
}

TEST_CASE("a call goes to the stream once, and says whether it has caused work by then") {
  call_table calls(1 << 20);
  CHECK(calls.add(1));
  CHECK(calls.add(2));
  driver_call_record found{};
  CHECK(calls.table.find(2, found));
  std::vector<std::uint32_t> worked;
  std::vector<std::uint32_t> idle;
  auto const take_worked = [&](detail::launch_table::offered_call const& call) {
    (call.worked ? worked : idle).push_back(call.record.correlation);
    return call.worked;
  };
  calls.table.stream(true, take_worked);
  calls.table.stream(true, take_worked);
  CHECK(worked == std::vector<std::uint32_t>{2});
  CHECK(idle == std::vector<std::uint32_t>{1, 1});
}

TEST_CASE("a budget keeps room for what reports need more, and has back what was refused") {
  using detail::memory_use;
  detail::memory_budget budget;
  struct {
    memory_use use;
    std::size_t most;
  } const uses[] = {{memory_use::record, 3200 - 400},
                    {memory_use::detail, 3200 - 800},
                    {memory_use::sum, 3200 - 100},
                    {memory_use::stand_in, 3200}};
  for (auto const& each : uses) {
    budget.set(3200);
    CHECK_FALSE(budget.take(each.most + 1, each.use));
    CHECK(budget.used() == 0);
    CHECK(budget.take(each.most, each.use));
    CHECK(budget.used() == static_cast<std::int64_t>(each.most));
    budget.give(each.most);
    CHECK(budget.used() == 0);
  }
  budget.end();
  CHECK_FALSE(budget.take(1));
  budget.set(3200);
  CHECK(budget.take(1));
}

// --- launches of a counting pass ---

TEST_CASE("launches: partial warps count whole, and streams of a thread are no other functions") {
  detail::launch_shape shape;
  shape.grid[0] = 2;
  shape.grid[1] = 3;
  shape.grid[2] = 1;
  shape.block[0] = 11;
  shape.block[1] = 3;
  shape.block[2] = 1;
  CHECK(shape.threads() == 6 * 33);
  CHECK(shape.warps() == 6 * 2);
  detail::cupti::launch_kernel_params params{};
  for (int i = 0; i < 3; ++i) {
    params.grid[i] = i == 0 ? 4 : 1;
    params.block[i] = i == 0 ? 64 : 1;
  }
  for (char const* const name : {"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernel_ptds",
                                 "cuLaunchCooperativeKernel_ptsz"}) {
    CAPTURE(name);
    detail::cupti::api_data call{};
    call.function_params = &params;
    call.function_name = name;
    CHECK(detail::launch_shape::read(call).threads() == 256);
  }
}

// --- sums of counters ---

namespace {

struct counted_ranges : sample::maker {
  counter_set set;
  std::uint32_t a = node(0, "a");
  std::uint32_t b = node(0, "b");

  detail::counter_sums sums() {
    call(a, 0, 10);
    call(b, 10, 20);
    return detail::counter_sums(made, call_tree(made), set);
  }
};

}  // namespace

TEST_CASE("counters: a name that is there twice counts once, and a maximum is not known in part") {
  counted_ranges ranges;
  ranges.set.names = {"x.sum", "x.sum", "y.max", "z.sum.peak_sustained"};
  double const nan = sample::not_given;
  ranges.set.values = {{ranges.a, 0, 5}, {ranges.a, 1, 5},   {ranges.b, 0, 3},   {ranges.b, 1, 3},
                       {ranges.a, 2, 7}, {ranges.b, 2, nan}, {ranges.a, 3, nan}, {ranges.b, 3, 64}};
  detail::counter_sums const sums = ranges.sums();
  CHECK(sums.value(0, 0, counter_scope::total) == 8);
  CHECK(sums.ranges(0, 0, counter_scope::total) == 2);
  CHECK(std::isnan(sums.value(0, 1, counter_scope::total)));  // the first of that name has it
  CHECK(std::isnan(sums.value(0, 2, counter_scope::total)));
  CHECK(sums.value(0, 3, counter_scope::total) == 64);  // the device has it, whichever range saw it
  CHECK(sums.value(1, 2, counter_scope::self) == 7);
  counted_ranges swapped;
  swapped.set.names = {"y.max", "z.sum.peak_sustained"};
  swapped.set.values = {
      {swapped.a, 0, nan}, {swapped.b, 0, 7}, {swapped.a, 1, 64}, {swapped.b, 1, nan}};
  detail::counter_sums const others = swapped.sums();
  CHECK(std::isnan(others.value(0, 0, counter_scope::total)));
  CHECK(others.value(0, 1, counter_scope::total) == 64);
}

TEST_CASE("counting steps with other kernels stay so, whatever grids the next ones have") {
  counted_ranges ranges;
  auto const add = [&](std::uint32_t pass, std::uint32_t launches, std::uint64_t what,
                       std::uint64_t shapes) {
    ranges.set.work.push_back({ranges.a, pass, launches, 1, what, shapes, 10.0 * launches});
  };
  add(0, 4, 1, 1);
  add(1, 9, 2, 2);
  add(2, 2, 1, 7);
  ranges.call(ranges.a, 0, 10);
  call_tree const tree(ranges.made);
  detail::pass_agreement const work(ranges.set, tree);
  auto const all = work.judge(0, counter_scope::total, {0, 1, 2});
  CHECK(all.what == detail::pass_agreement::kind::inconsistent);
  CHECK(all.launches_min == 2);
  CHECK(all.launches_max == 9);
  CHECK(all.threads_min == 20);
  CHECK(all.threads_max == 90);
  CHECK(all.foreign == 3);
  CHECK(work.judge(0, counter_scope::total, {0, 2}).what == detail::pass_agreement::kind::varying);
}

TEST_CASE("kernels of rows whose steps launched other numbers have no counted values") {
  counted_ranges ranges;
  profile& made = ranges.made;
  made.kernel_names.push_back({"gemm"});
  std::uint32_t const first = ranges.node(0, "block", 0);
  std::uint32_t const second = ranges.node(0, "block", 1);
  for (std::uint32_t const where : {first, second})
    ranges.kernel(ranges.launch(where, 1, 2), 10, 20).name = 1;
  counter_set set;
  set.name = counter_set::gpu_kernels;
  set.names = {"sm__inst_issued.sum"};
  resolved_metric metric;
  metric.key = "sm__inst_issued.sum";
  metric.formula = "sm__inst_issued.sum";
  metric.counters = {"sm__inst_issued.sum"};
  set.metrics.metrics.push_back(metric);
  set.kernels.push_back({first, 1, 3, 3, {30.0}});
  set.kernels.push_back({second, 1, 2, 2, {12.0}});
  made.counter_sets.push_back(set);
  call_tree const tree(made, folding::by_name);
  vec<kernel_row> const rows = make_kernel_table(made, tree);
  REQUIRE(rows.size() == 1);
  kernel_counter_table table = make_kernel_counter_table(made, tree, rows);
  CHECK(table.launches[0] == 5);
  CHECK(table.at(0, 0) == 42);
  made.counter_sets[0].kernels[0].launches_min = 2;  // the first of them varied
  table = make_kernel_counter_table(made, tree, rows);
  CHECK(std::isnan(table.at(0, 0)));
}

TEST_CASE("steps that are in sums only are timed ones too") {
  counted_ranges ranges;
  ranges.call(ranges.a, 0, 10);
  ranges.made.has_steps = true;
  ranges.made.steps = {{0, 5, 0, 0}, {5, 10, 1, 0}};
  for (int i = 0; i < 3; ++i) ranges.made.summed_steps.add(5);
  ranges.set.name = counter_set::gpu;
  ranges.made.counter_sets.push_back(ranges.set);
  CHECK(make_counter_table(ranges.made, call_tree(ranges.made)).timed_steps == 5);
}

TEST_CASE("a counter of the CPU that was never on the hardware has no value, and its reason") {
  counted_ranges ranges;
  ranges.call(ranges.a, 0, 10);
  counter_set& set = ranges.set;
  set.name = counter_set::cpu;
  set.method = counting::while_running;
  set.names = {"cpu__i.sum", "cpu__i_running.sum", "cpu__i_enabled.sum"};
  resolved_metric metric;
  metric.key = "instructions";
  metric.formula = "cpu__i.sum * cpu__i_enabled.sum / cpu__i_running.sum";
  metric.counters = set.names;
  set.metrics.metrics.push_back(metric);
  auto const cell = [&](double running, double enabled) {
    set.values = {{ranges.a, 0, 100}, {ranges.a, 1, running}, {ranges.a, 2, enabled}};
    ranges.made.counter_sets = {};
    ranges.made.counter_sets.push_back(set);
    counter_table const table =
        make_counter_table(ranges.made, call_tree(ranges.made), counter_set::cpu);
    counter_cell const& made = table.at(1, 0, counter_scope::self);
    return std::pair(made.value, table.note(made));
  };
  CHECK(cell(25, 50).first == 200);
  CHECK(cell(25, 50).second == "scaled: the hardware counted 50.0 % of the time");
  CHECK(std::isnan(cell(0, 0).first));
  CHECK(cell(0, 0).second.find("the hardware had no counter free") == 0);
}

// --- windows ---

TEST_CASE("windows that were due while another one was reported are told, once") {
  options how;
  how.every = 10;
  how.active = 2;
  how.keep = 1;
  detail::reported_windows windows;
  REQUIRE(windows.open(how).ok());
  for (std::uint32_t step = 0; step < 8; ++step) CHECK_FALSE(windows.is_due(step));
  CHECK(windows.is_due(8));
  CHECK(windows.late().ok());  // each began when it was due
  windows.begin(8, [] {});
  CHECK_FALSE(windows.is_due(18));
  CHECK_FALSE(windows.is_due(28));
  CHECK(windows.late().message().find("every=: 2 windows left out") == 0);
  CHECK(windows.late().ok());
}

}  // namespace record_amounts_test
