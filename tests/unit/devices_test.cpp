#include "sample_profile.hpp"

#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>
#include "analyse/devices.hpp"
#include "analyse/steps.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace devices_test {

using strata::profile_device;
using strata::detail::usable_multiprocessors;
using strata::detail::worked_devices;
using strata::detail::worked_ordinals;

namespace {

/// Four visible devices, a big one and a small one among them, at the ordinals 1 and 3.
sample::maker with_devices() {
  sample::maker make;
  for (std::uint32_t const ordinal : {3u, 0u, 1u, 2u}) {
    profile_device device;
    device.ordinal = ordinal;
    device.multiprocessors = ordinal == 1 ? 170 : 28;
    make.made.environment.devices.push_back(device);
  }
  return make;
}

using ordinals = strata::vec<std::uint32_t>;

}  // namespace

TEST_CASE("the devices that worked are those of kernels and copies") {
  sample::maker make = with_devices();
  CHECK(worked_devices(make.made).empty());
  make.kernel(0, 0, 10).device = 3;
  make.kernel(0, 10, 20).device = 1;
  make.kernel(0, 20, 30).device = 3;
  CHECK(worked_ordinals(make.made) == ordinals{1, 3});
  make.copy(0, 30, 40, 8, strata::copy_kind::device_to_device).device = 2;
  CHECK(worked_ordinals(make.made) == ordinals{1, 2, 3});
  REQUIRE(worked_devices(make.made).size() == 3);
  CHECK(worked_devices(make.made)[0]->multiprocessors == 170);
  CHECK(worked_devices(make.made)[2]->ordinal == 3);
  make.kernel(0, 40, 50).device = 9;  // which the driver did not describe
  CHECK(worked_ordinals(make.made) == ordinals{1, 2, 3, 9});
  CHECK(worked_devices(make.made).size() == 3);
}

TEST_CASE("what the timeline had no room for worked, too") {
  sample::maker make = with_devices();
  make.kernel(0, 0, 10).device = 3;
  make.made.device = strata::detail::sum_records(make.made);
  make.made.kernels.clear();
  CHECK(worked_ordinals(make.made) == ordinals{3});
  make.kernel(0, 0, 10).device = 3;
  make.kernel(0, 20, 30).device = 1;
  make.made.device = strata::detail::sum_records(make.made);
  make.made.kernels.clear();
  CHECK(worked_ordinals(make.made) == ordinals{1, 3});
}

TEST_CASE("the work of a green context has its multiprocessors, other work the device's") {
  sample::maker make = with_devices();
  make.made.contexts.push_back({7, 1, 40});
  usable_multiprocessors const usable(make.made);
  CHECK(usable.of(1, 7) == 40);
  CHECK(usable.of(1, 6) == 170);
  CHECK(usable.of(3, 7) == 28);
  CHECK(usable.of(5, 1) == 0);
}

TEST_CASE("a kernel is compared with the device that it ran on, or with its green context") {
  auto const small_ns = [](std::uint32_t blocks, std::uint16_t device, std::uint32_t context) {
    sample::maker make = with_devices();
    make.made.traced = true;
    make.made.contexts.push_back({7, 1, 40});
    make.made.end = 1000;
    strata::kernel_record& kernel = make.kernel(make.launch(0, 0, 10), 100, 200);
    kernel.grid_x = blocks;
    kernel.device = device;
    kernel.context = context;
    strata::call_tree const tree(make.made);
    strata::call_tree const folded(make.made, strata::folding::by_name);
    strata::step_analysis const steps = strata::make_steps(make.made, folded, tree.rows());
    REQUIRE(steps.streams.size() == 1);
    return steps.streams[0].small_ns;
  };
  CHECK(small_ns(28, 1, 1) == 100.0);  // of 170
  CHECK(small_ns(28, 3, 1) == 0.0);    // of 28
  CHECK(small_ns(40, 1, 7) == 0.0);    // of 40
  CHECK(small_ns(10, 1, 7) == 100.0);
}

TEST_CASE("a green context fills its part of the GPU at most") {
  auto const filled = [](std::uint32_t blocks, std::uint32_t context) {
    sample::maker make = with_devices();
    make.made.contexts.push_back({7, 1, 34});
    make.made.kernel_names.push_back({"kernel"});
    strata::kernel_record& kernel = make.kernel(0, 0, 100);
    kernel.name = 1;
    kernel.grid_x = blocks;
    kernel.block_x = 128;
    kernel.device = 1;
    kernel.context = context;
    strata::device_sums const sums = strata::detail::sum_records(make.made);
    REQUIRE(sums.kernels.size() == 1);
    return sums.kernels[0].by_time.gpu / sums.kernels[0].by_time.placed_weight;
  };
  CHECK(filled(170, 1) == 1.0);
  CHECK(filled(170, 7) == doctest::Approx(0.2));
  CHECK(filled(17, 7) == doctest::Approx(0.1));
}

}  // namespace devices_test
