// Sampling against the scripted PM sampling: what is chosen, what is read, and what is lost.
#include <doctest/doctest.h>

#include <cstdint>
#include <strata/collect/counters/device_sampler.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/counters/sample_store.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <string>
#include <vector>

#include "fake.hpp"
#include "fake_profiler.hpp"
#include "fake_sampling.hpp"

namespace device_sampler_test {

using strata::errc;
using strata::status;
using strata::detail::device_sampler;
using strata::detail::profiler_library;
using strata::detail::sample_store;

namespace {

constexpr std::int64_t interval = 1000;

/// A sampler, and what it read.
struct sampled {
  device_sampler sampler;
  std::vector<std::int64_t> begins;
  std::vector<double> first;  ///< of the first counter
  std::size_t misuses = 0;

  sampled() {
    fake_reset();
    fake_profiler_reset();
    fake_sampling_reset();
    REQUIRE(fake_use_cuda() != 0);
    REQUIRE(strata::detail::driver_library::get().ok());
    misuses = fake_misuse_count();
  }
  ~sampled() {
    sampler.close();
    INFO(std::string(fake_last_misuse()));
    CHECK(fake_misuse_count() == misuses);
    CHECK(fake_sampling_enabled() == 0);
    CHECK(fake_sampling_started() == 0);
    fake_profiler_reset();
    fake_sampling_reset();
  }

  void open() {
    status done = sampler.choose(profiler_library::get(), 0, interval);
    CHECK(fake_sampling_enabled() == 0);
    if (done) done = sampler.begin();
    CAPTURE(done.message());
    REQUIRE(done.ok());
  }
  status read(bool continues = true) {
    return sampler.read(
        [this](std::int64_t begin, std::int64_t, double const* values) {
          begins.push_back(begin);
          first.push_back(values[0]);
        },
        [continues] { return continues; });
  }
};

/// Samples one behind the other.
void samples(int from, int to, double amount = 1.0) {
  for (int i = from; i < to; ++i)
    CHECK(fake_sample(static_cast<std::uint64_t>(1000 * i),
                      static_cast<std::uint64_t>(1000 * i + 1000), amount) == 1);
}

}  // namespace

TEST_CASE("samples come in their order, with a value for each counter") {
  sampled s;
  fake_profiler_set_weight("dram__bytes_read.sum", 32.0);
  s.open();
  CHECK(s.sampler.chip() == "GH100");
  CHECK(fake_sampling_interval() == static_cast<std::uint64_t>(interval));
  samples(1, 4, 2.0);
  REQUIRE(s.read().ok());
  CHECK(s.begins == std::vector<std::int64_t>{1000, 2000, 3000});
  CHECK(s.first == std::vector<double>{64.0, 64.0, 64.0});
  samples(4, 5);
  REQUIRE(s.sampler.stop().ok());
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == 4);
  CHECK(s.sampler.samples() == 4);
  CHECK(s.sampler.losses().gaps == 0);
}

TEST_CASE("what is wanted most is chosen of what one pass counts") {
  sampled s;
  SUBCASE("links are counted apart by this chip") {
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.config.passes() == 1);
    CHECK(chosen.set.find("hbm_bytes") != nullptr);
    CHECK(chosen.set.find("tensor_active_cycles") != nullptr);
    REQUIRE(chosen.left_out.size() == 4);
    CHECK(chosen.left_out[0].key == "nvlink_receive_bytes");
  }
  SUBCASE("a pass with room for three") {
    fake_profiler_set_metrics_per_pass(3);
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.config.names().size() == 3);
    CHECK(chosen.set.find("l2_sectors") != nullptr);
    CHECK(chosen.set.find("sm_active_cycles") == nullptr);
    CHECK(chosen.left_out[0].key == "sm_active_cycles");
    CHECK(chosen.left_out[0].reason.find("another pass") != std::string::npos);
  }
  SUBCASE("a chip without one of them has the others") {
    fake_profiler_lack("lts__t_sectors");
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.set.find("l2_sectors") == nullptr);
    CHECK(chosen.set.find("sm_active_cycles") != nullptr);
    REQUIRE(chosen.set.absent.size() == 1);
    CHECK(chosen.set.absent[0].key == "l2_sectors");
  }
}

TEST_CASE("a buffer that was full is begun anew, and the time between is a gap") {
  sampled s;
  s.open();
  fake_sampling_set_room(4);
  samples(1, 4);
  REQUIRE(s.read().ok());
  samples(4, 10);
  REQUIRE(s.read().ok());  // CUPTI_ERROR_OUT_OF_MEMORY
  CHECK(s.sampler.losses().overflows == 1);
  CHECK(s.sampler.stands_still());
  REQUIRE(s.read().ok());
  CHECK(s.sampler.losses().overflows == 1);
  REQUIRE(s.sampler.begin_anew().ok());
  CHECK(!s.sampler.stands_still());
  CHECK(fake_sampling_starts() == 2);
  samples(20, 22);
  REQUIRE(s.read().ok());
  CHECK(s.begins == std::vector<std::int64_t>{1000, 2000, 3000, 20000, 21000});
  CHECK(s.sampler.losses().gaps == 1);
  CHECK(s.sampler.losses().gap_ns == 16000);
}

TEST_CASE("an image that is full is emptied and filled again") {
  sampled s;
  s.open();
  int const many = 2 * static_cast<int>(device_sampler::max_samples) + 10;
  samples(1, many);
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == static_cast<std::size_t>(many - 1));
  CHECK(s.sampler.losses().images_full == 2);
  CHECK(s.sampler.losses().gaps == 0);
  CHECK(fake_sampling_waiting() == 0);
}

TEST_CASE("a reader that is to stop takes one image of a backlog") {
  sampled s;
  s.open();
  samples(1, 2 * static_cast<int>(device_sampler::max_samples) + 10);
  REQUIRE(s.read(false).ok());
  CHECK(s.begins.size() == device_sampler::max_samples);
}

TEST_CASE("a sampler that is abandoned calls nothing any more") {
  sampled s;
  s.open();
  std::size_t const before =
      fake_calls("cuptiPmSamplingStop") + fake_calls("cuptiPmSamplingDisable");
  s.sampler.abandon();
  s.sampler.close();
  CHECK(!s.sampler.is_open());
  CHECK(fake_calls("cuptiPmSamplingStop") + fake_calls("cuptiPmSamplingDisable") == before);
  fake_sampling_forget();
}

TEST_CASE("what a decoding leaves, for whatever reason, the next one has") {
  sampled s;
  s.open();
  SUBCASE("late") { fake_sampling_hold(2); }
  SUBCASE("another reason") { fake_sampling_pause_after(3); }
  samples(1, 6);
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == 3);
  fake_sampling_hold(0);
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == 5);
  CHECK(s.sampler.losses().gaps == 0);
}

TEST_CASE("a sample without a value is lost and counted") {
  sampled s;
  s.open();
  samples(1, 3);
  REQUIRE(s.read().ok());
  fake_profiler_lose_value("dram__bytes_read.sum", nullptr);
  samples(3, 5);
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == 2);
  CHECK(s.sampler.losses().without_value == 2);
}

TEST_CASE("a sample that comes late fills the gap that it left") {
  sampled s;
  s.open();
  samples(1, 2);
  samples(4, 5);
  REQUIRE(s.read().ok());
  CHECK(s.sampler.losses().gap_ns == 2000);
  samples(2, 4);
  REQUIRE(s.read().ok());
  CHECK(s.sampler.losses().gap_ns == 0);
  CHECK(s.begins.size() == 4);
}

TEST_CASE("each refusal of CUPTI ends in one sentence, and gives back what was taken") {
  for (char const* const call :
       {"cuptiProfilerInitialize", "cuptiDeviceGetChipName", "cuptiPmSamplingEnable",
        "cuptiPmSamplingGetCounterDataSize", "cuptiPmSamplingCounterDataImageInitialize",
        "cuptiPmSamplingSetConfig", "cuptiPmSamplingStart"}) {
    CAPTURE(std::string(call));
    sampled s;
    fake_fail(call, 35);
    status done = s.sampler.choose(profiler_library::get(), 0, interval);
    if (done) done = s.sampler.begin();
    CHECK(done.code() == errc::not_permitted);
    CHECK(done.message().find(call) != std::string::npos);
    CHECK(!s.sampler.is_open());
    fake_fail(call, 0);
  }
}

TEST_CASE("a failure to decode is one sentence, and the sampling can be ended") {
  sampled s;
  s.open();
  samples(1, 3);
  fake_fail("cuptiPmSamplingDecodeData", 999);
  CHECK(!s.read().ok());
  fake_fail("cuptiPmSamplingDecodeData", 0);
  REQUIRE(s.read().ok());
  CHECK(s.begins.size() == 2);
}

TEST_CASE("a full store halves its resolution and loses nothing") {
  sample_store store;
  store.begin(2, 16 * (2 * sizeof(std::int64_t) + 2 * sizeof(double)), 0);
  double sum[2] = {};
  for (int i = 0; i < 1000; ++i) {
    double const values[2] = {1.0 * i, 3.0};
    store.add(i * 10, i * 10 + 10, values);
    sum[0] += values[0];
    sum[1] += values[1];
    CHECK(store.all().size() <= 16);
  }
  CHECK(store.halvings() > 5);
  double kept[2] = {};
  std::int64_t end = 0;
  for (std::size_t i = 0; i < store.all().size(); ++i) {
    CHECK(store.all().times[i].begin == end);
    end = store.all().times[i].end;
    kept[0] += store.all().at(i)[0];
    kept[1] += store.all().at(i)[1];
  }
  CHECK(end == 10000);
  CHECK(kept[0] == sum[0]);
  CHECK(kept[1] == sum[1]);
}

TEST_CASE("no sample of a full store is across a gap") {
  sample_store store;
  store.begin(1, 16 * (2 * sizeof(std::int64_t) + sizeof(double)), 2);
  std::size_t each = 0;
  SUBCASE("few") { each = 50; }
  SUBCASE("between all") { each = 1; }
  double sum = 0.0;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    double const value = 1.0;
    auto const begin = static_cast<std::int64_t>(i * 10 + 1000 * (i / each));
    store.add(begin, begin + 9, &value);  // 1 is between two of one time
    ++given;
    CHECK(store.all().size() <= 16);
  }
  for (std::size_t i = 0; i < store.all().size(); ++i) {
    auto const& time = store.all().times[i];
    double const value = store.all().at(i)[0];
    CHECK(time.end - time.begin <= static_cast<std::int64_t>(10 * value));
    sum += value;
  }
  CHECK(sum + static_cast<double>(store.without_room()) == static_cast<double>(given));
}

TEST_CASE("times that cannot be are left out, and late samples take their place") {
  sample_store store;
  store.begin(1, 1 << 20, 0);
  for (std::int64_t const begin : {10, 30, 20, 40, 50}) {
    double const value = static_cast<double>(begin);
    store.add(begin, begin + 10, &value);
  }
  CHECK(store.convert([](std::int64_t& begin, std::int64_t& end) {
    begin += 1000;
    end += 1000;
    return begin != 1040;
  }) == 1);
  REQUIRE(store.all().size() == 4);
  std::vector<double> values;
  for (std::size_t i = 0; i < 4; ++i) values.push_back(store.all().at(i)[0]);
  CHECK(values == std::vector<double>{10, 20, 30, 50});
  CHECK(store.all().times[3].begin == 1050);
}

}  // namespace device_sampler_test
