// The fake profiler notices each misuse of CUPTI's rules.
#include <doctest/doctest.h>

#include <cstdint>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_call.hpp>
#include <strata/collect/counters/profiler_library.hpp>
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
  result decode() {
    api::decode_params params;
    params.object = object;
    return api::call(call.decode, params);
  }
};

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

}  // namespace counter_fake_test
