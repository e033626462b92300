// The fake profiler itself: it counts exactly, and each misuse of CUPTI's rules is noticed.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fake.hpp"
#include "fake_profiler.hpp"

namespace counter_fake_test {

namespace api = strata::detail::cupti::profiler;
using strata::detail::cupti::result;

namespace {

/// One object of each kind, and the calls with their parameters.
struct client {
  api::table const& call = strata::detail::profiler_library::get().api;
  api::host_object* host = nullptr;
  api::range_object* object = nullptr;
  std::vector<char const*> names;
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> data;

  explicit client(std::vector<char const*> metrics) : names(std::move(metrics)) {
    REQUIRE(strata::detail::driver_library::get().ok());
    REQUIRE(strata::detail::profiler_library::get().problem == "");
    fake_profiler_reset();
    fake_reset();
    api::initialize_params initialize;
    REQUIRE(api::call(call.initialize, initialize) == result::success);
    api::host_initialize_params open;
    open.chip = "GH100";
    REQUIRE(api::call(call.host_initialize, open) == result::success);
    host = open.object;
    api::enable_params enable;
    enable.context = reinterpret_cast<void*>(std::uintptr_t{192});
    REQUIRE(api::call(call.enable, enable) == result::success);
    object = enable.object;
  }
  ~client() {
    api::disable_params disable;
    disable.object = object;
    (void)api::call(call.disable, disable);
    api::host_deinitialize_params close;
    close.object = host;
    (void)api::call(call.host_deinitialize, close);
    CHECK(fake_profiler_enabled() == 0);
    CHECK(fake_profiler_hosts() == 0);
    fake_profiler_reset();
    fake_reset();
  }

  result add(std::vector<char const*> what) {
    api::add_metrics_params params;
    params.object = host;
    params.names = what.data();
    params.count = what.size();
    return api::call(call.add_metrics, params);
  }

  std::size_t prepare(std::size_t room = 8) {
    REQUIRE(add(names) == result::success);
    api::config_image_size_params size;
    size.object = host;
    REQUIRE(api::call(call.config_image_size, size) == result::success);
    config.assign(size.size, 0);
    api::config_image_params fill;
    fill.object = host;
    fill.size = config.size();
    fill.image = config.data();
    REQUIRE(api::call(call.config_image, fill) == result::success);
    api::counter_data_size_params data_size;
    data_size.object = object;
    data_size.names = names.data();
    data_size.count = names.size();
    data_size.max_ranges = room;
    data_size.max_tree_nodes = static_cast<std::uint32_t>(room);
    REQUIRE(api::call(call.counter_data_size, data_size) == result::success);
    data.assign(data_size.size, 0);
    api::counter_data_initialize_params clear;
    clear.object = object;
    clear.size = data.size();
    clear.image = data.data();
    REQUIRE(api::call(call.counter_data_initialize, clear) == result::success);
    REQUIRE(set(room) == result::success);
    api::pass_count_params count;
    count.size = config.size();
    count.image = config.data();
    REQUIRE(api::call(call.pass_count, count) == result::success);
    return count.passes;
  }
  result set(std::size_t room) {
    api::set_config_params params;
    params.object = object;
    params.config = config.data();
    params.config_size = config.size();
    params.counter_data = data.data();
    params.counter_data_size = data.size();
    params.max_ranges_per_pass = room;
    return api::call(call.set_config, params);
  }
  result start() {
    api::start_params params;
    params.object = object;
    return api::call(call.start, params);
  }
  bool stop() {
    api::stop_params params;
    params.object = object;
    CHECK(api::call(call.stop, params) == result::success);
    return params.all_passes_submitted != 0;
  }
  result push(char const* name) {
    api::push_range_params params;
    params.object = object;
    params.name = name;
    return api::call(call.push_range, params);
  }
  result pop() {
    api::pop_range_params params;
    params.object = object;
    return api::call(call.pop_range, params);
  }
  result decode(std::size_t* dropped = nullptr) {
    api::decode_params params;
    params.object = object;
    result const code = api::call(call.decode, params);
    if (dropped != nullptr) *dropped = params.ranges_dropped;
    return code;
  }
  std::vector<double> values(std::size_t range) {
    std::vector<double> made(names.size());
    api::evaluate_params params;
    params.object = host;
    params.counter_data = data.data();
    params.counter_data_size = data.size();
    params.range = range;
    params.names = names.data();
    params.count = names.size();
    params.values = made.data();
    CHECK(api::call(call.evaluate, params) == result::success);
    return made;
  }
  void count(char const* range, int blocks) {
    CHECK(push(range) == result::success);
    fake_kernel kernel;
    kernel.grid[0] = blocks;
    (void)fake_launch(&kernel);
    CHECK(pop() == result::success);
  }
};

/// Switches CUPTI's kernel records as a client that traces does.
void trace_kernels(bool on) {
  using strata::detail::cupti::activity_kind;
  auto const& cupti = strata::detail::cupti_library::get().api;
  auto const request = [](std::uint8_t**, std::size_t*, std::size_t*) {};
  auto const complete = [](void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {};
  (void)cupti.register_callbacks(request, complete);
  CHECK((on ? cupti.activity_enable(activity_kind::concurrent_kernel)
            : cupti.activity_disable(activity_kind::concurrent_kernel)) == result::success);
}

/// Exactly one misuse since the last time, of which this is told.
void check_misuse(std::string const& text) {
  static std::size_t before = 0;
  if (text.empty()) {
    before = fake_misuse_count();
    return;
  }
  CHECK(fake_misuse_count() == before + 1);
  CHECK(std::string(fake_last_misuse()) == text);
  before = fake_misuse_count();
}

}  // namespace

TEST_CASE("a set of several passes, and SASS in one of its own") {
  client c({"dram__bytes_read.sum", "lts__t_bytes.sum", "smsp__sass_inst_executed.sum",
            "dram__bytes.sum.peak_sustained"});
  fake_profiler_set_metrics_per_pass(1);
  REQUIRE(c.prepare() == 3);
  for (int pass = 1; pass <= 3; ++pass) {
    REQUIRE(c.start() == result::success);
    c.count("1", pass);
    c.count("2", 10);
    c.count("1", pass);
    CHECK(c.stop() == (pass == 3));
  }
  CHECK(c.decode() == result::success);
  CHECK(c.values(0) == std::vector<double>{64, 128, 192, 1000});
  CHECK(c.values(1) == std::vector<double>{320, 320, 320, 1000});
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("instrumented code reads 0 beside CUPTI's kernel records") {
  client c({"dram__bytes_read.sum", "smsp__sass_inst_executed.sum"});
  REQUIRE(c.prepare() == 2);
  trace_kernels(true);
  while (c.start() == result::success) {
    c.count("1", 1);
    if (c.stop()) break;
  }
  trace_kernels(false);
  CHECK(c.decode() == result::success);
  CHECK(c.values(0) == std::vector<double>{32, 0});
}

TEST_CASE("a full image") {
  client c({"dram__bytes_read.sum"});
  REQUIRE(c.prepare(2) == 1);
  REQUIRE(c.start() == result::success);
  std::size_t dropped = 0;
  for (char const* const name : {"1", "2", "3", "1", "4"}) {
    if (fake_profiler_pushes() == 4) fake_profiler_set_full(fake_full::refuse, 0);
    if (c.push(name) == result::success) CHECK(c.pop() == result::success);
  }
  CHECK(c.push("5") == result::max_limit_reached);
  CHECK(c.stop());
  CHECK(c.decode(&dropped) == result::success);
  CHECK(dropped == 1);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("every misuse is noticed") {
  client c({"dram__bytes_read.sum"});
  check_misuse("");
  CHECK(c.start() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerStart without a configuration");
  REQUIRE(c.prepare() == 1);
  CHECK(c.push("1") == result::invalid_operation);
  check_misuse("cuptiRangeProfilerPushRange without Start");
  CHECK(c.decode() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerDecodeData of nothing");
  REQUIRE(c.start() == result::success);
  CHECK(c.start() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerStart twice");
  CHECK(c.pop() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerPopRange without PushRange");
  CHECK(c.push("") == result::invalid_parameter);
  check_misuse("cuptiRangeProfilerPushRange without a fit name");
  REQUIRE(c.push("1") == result::success);
  CHECK(c.push("2") == result::invalid_operation);
  check_misuse("cuptiRangeProfilerPushRange deeper than the levels");
  CHECK(c.decode() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerDecodeData before Stop");
  (void)fake_begin_capture(9);
  CHECK(c.pop() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerPopRange while a stream captures");
  (void)fake_end_capture(9);
  CHECK(c.stop());
  check_misuse("cuptiRangeProfilerStop in a range");
  CHECK(c.start() == result::invalid_operation);
  check_misuse("cuptiRangeProfilerStart after the last pass");
  CHECK(c.add({"dram__bytes_raed"}) == result::invalid_parameter);
  CHECK(c.add({"dram__bytes_read.sum"}) == result::unknown);
  check_misuse("cuptiProfilerHostConfigAddMetrics on an object that a refused name has spoilt");
  api::enable_params again;
  again.context = reinterpret_cast<void*>(std::uintptr_t{192});
  CHECK(api::call(c.call.enable, again) == result::invalid_operation);
  check_misuse("cuptiRangeProfilerEnable twice on one context");
  api::pop_range_params params;
  params.object = c.object;
  params.struct_size = 23;
  CHECK(c.call.pop_range(&params) == result::invalid_parameter);
  check_misuse("cuptiRangeProfilerPopRange with a wrong structSize");
  params.struct_size = 24;
  params.reserved = &params;
  CHECK(c.call.pop_range(&params) == result::invalid_parameter);
  check_misuse("cuptiRangeProfilerPopRange with pPriv set");
}

TEST_CASE("a second configuration of one object has no values") {
  client c({"dram__bytes_read.sum"});
  REQUIRE(c.prepare() == 1);
  check_misuse("");
  CHECK(c.set(8) == result::success);
  check_misuse("cuptiRangeProfilerSetConfig a second time on one object");
  REQUIRE(c.start() == result::success);
  c.count("1", 1);
  CHECK(c.stop());
  CHECK(c.decode() == result::success);
  CHECK(std::isnan(c.values(0).at(0)));
}

TEST_CASE("sizes belong to versions") {
  client c({"dram__bytes_read.sum"});
  api::device_supported_params params;
  for (auto const& each : {std::pair{24U, 52U}, {130001U, 52U}, {130100U, 56U}, {130400U, 56U}}) {
    auto const& version = each.first;
    auto const& size = each.second;
    CAPTURE(version);
    fake_set_version(version);
    for (std::size_t const given : {52U, 56U}) {
      params.struct_size = given;
      CHECK((c.call.device_supported(&params) == result::success) == (given == size));
    }
    CHECK(api::call(c.call.device_supported, params) == result::success);
    CHECK(params.struct_size == size);
  }
  CHECK(fake_misuse_count() == 0);
}

}  // namespace counter_fake_test
