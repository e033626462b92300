// Sampling against the scripted PM sampling: what is chosen, what is read, and what is lost.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
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

using strata::device_samples;
using strata::errc;
using strata::status;
using strata::detail::counted_sample;
using strata::detail::device_sampler;
using strata::detail::profiler_library;
using strata::detail::sample_reader;
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
    device_sampler::settling_ns() = 0;
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
    status done = sampler.choose(profiler_library::get(), 0, interval, [] { return true; });
    CHECK(fake_sampling_enabled() == 0);
    if (done) done = sampler.begin();
    CAPTURE(done.message());
    REQUIRE(done.ok());
  }
  status read(bool continues = true) {
    return sampler.read(
        [this](counted_sample const& made) {
          begins.push_back(made.begin);
          first.push_back(static_cast<double>(made.counts[0]));
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

TEST_CASE("samples of the beginning are left out, also where sampling is begun anew") {
  sampled s;
  device_sampler::settling_ns() = 2500;
  s.open();
  samples(1, 6);
  REQUIRE(s.read().ok());
  CHECK(s.begins == std::vector<std::int64_t>{4000, 5000});
  CHECK(s.sampler.losses().gaps == 0);
  s.sampler.close();
  REQUIRE(s.sampler.begin().ok());
  samples(10, 14);
  REQUIRE(s.read().ok());
  CHECK(s.begins == std::vector<std::int64_t>{4000, 5000, 13000});
  device_sampler::settling_ns() = 0;
}

TEST_CASE("what is wanted most is chosen of what one pass counts") {
  sampled s;
  SUBCASE("links are counted apart by this chip") {
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.config.passes() == 1);
    CHECK(chosen.set.find("hbm_bytes") != nullptr);
    REQUIRE(chosen.left_out.size() >= 2);
    CHECK(chosen.left_out[0].key == "nvlink_receive_bytes");
  }
  SUBCASE("a pass with room for one") {
    fake_profiler_set_metrics_per_pass(1);
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.config.names().size() == 1);
    CHECK(chosen.set.find("hbm_read_bytes") != nullptr);
    CHECK(chosen.set.find("hbm_write_bytes") == nullptr);
    CHECK(chosen.left_out[0].key == "hbm_write_bytes");
    CHECK(chosen.left_out[0].reason.find("another pass") != std::string::npos);
  }
  SUBCASE("a chip without one of them has the others") {
    fake_profiler_lack("nvlrx__bytes");
    s.open();
    auto const& chosen = s.sampler.chosen();
    CHECK(chosen.set.find("hbm_bytes") != nullptr);
    REQUIRE(chosen.set.absent.size() == 1);
    CHECK(chosen.set.absent[0].key == "nvlink_receive_bytes");
  }
}

TEST_CASE("a choice ends between two calls of CUPTI where it is not to go on") {
  sampled s;
  int calls = 0;
  int left = 2;
  status const done = s.sampler.choose(profiler_library::get(), 0, interval, [&] {
    ++calls;
    return --left >= 0;
  });
  CHECK(done.code() == strata::errc::unavailable);
  CHECK(calls > 2);
  CHECK(!s.sampler.is_chosen());
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
  s.sampler.close();
  REQUIRE(s.sampler.begin().ok());
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
    status done = s.sampler.choose(profiler_library::get(), 0, interval, [] { return true; });
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

namespace {

std::vector<counted_sample> read_all(device_samples const& from) {
  std::vector<counted_sample> all;
  sample_reader reader(from);
  for (counted_sample now; reader.next(now);) all.push_back(now);
  CHECK(all.size() == from.count);
  return all;
}

}  // namespace

TEST_CASE("samples take few bytes and are read as they were") {
  std::mt19937_64 random(5);
  auto const any = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random() % (1 + (most >> random() % 50)));
  };
  for (std::size_t counters : {1u, 7u, 16u}) {
    sample_store store;
    store.begin(counters, 1 << 22, 0);
    std::vector<counted_sample> given;
    std::int64_t at = 1'790'000'000'000'000'000;
    for (int i = 0; i < 500; ++i) {
      counted_sample made{at, at + 1 + any(std::uint64_t{1} << 60), {}};
      for (std::size_t k = 0; k < counters; ++k) made.counts[k] = any(std::uint64_t{1} << 60);
      at = made.end + any(std::uint64_t{1} << 60) / 500 - 1000;
      if (at > std::int64_t{1} << 62) at = 5;  // back
      given.push_back(made);
      store.add(made);
    }
    std::vector<counted_sample> const all = read_all(store.all());
    REQUIRE(all.size() == given.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].begin == given[i].begin);
      CHECK(all[i].end == given[i].end);
      for (std::size_t k = 0; k < counters; ++k) CHECK(all[i].counts[k] == given[i].counts[k]);
    }
  }
  // As a decode loop has them: 10 counters, of which the half counts much that changes by a tenth.
  sample_store store;
  store.begin(10, 1 << 22, 0);
  for (int i = 0; i < 1000; ++i) {
    counted_sample made{i * 309'017, (i + 1) * 309'017, {}};
    for (int k = 0; k < 5; ++k) made.counts[k] = 1'000'000 + any(100'000);
    store.add(made);
  }
  CHECK(store.all().coded.size() < 25 * 1000);
}

TEST_CASE("bytes that are no samples end the reading") {
  device_samples from;
  from.counters = 2;
  for (int i = 0; i < 40; ++i) from.coded.push_back(0xff);  // a number without an end
  sample_reader reader(from);
  counted_sample made;
  CHECK(!reader.next(made));
  CHECK(!reader.next(made));
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    from.coded = {};
    for (unsigned i = random() % 300; i > 0; --i)
      from.coded.push_back(static_cast<std::uint8_t>(random() % (round % 2 == 0 ? 256 : 128)));
    sample_reader any(from);
    std::size_t count = 0;
    while (any.next(made)) ++count;
    CHECK(count * 4 <= from.coded.size());
  }
}

TEST_CASE("a full store halves its resolution and loses nothing") {
  sample_store store;
  constexpr std::size_t bytes = 1000;
  store.begin(2, bytes, 0);
  std::int64_t sum[2] = {};
  for (int i = 0; i < 20'000; ++i) {
    counted_sample const next{i * 10, i * 10 + 10, {i, 3}};
    store.add(next);
    sum[0] += next.counts[0];
    sum[1] += next.counts[1];
    CHECK(store.all().coded.size() <= bytes / 2);
  }
  CHECK(store.all().count < 100);
  std::int64_t kept[2] = {};
  std::int64_t end = 0;
  for (counted_sample const& each : read_all(store.all())) {
    CHECK(each.begin == end);
    end = each.end;
    kept[0] += each.counts[0];
    kept[1] += each.counts[1];
  }
  CHECK(end == 200'000);
  CHECK(kept[0] == sum[0]);
  CHECK(kept[1] == sum[1]);
  CHECK(store.without_room() == 0);
}

TEST_CASE("no sample of a full store is across a gap") {
  sample_store store;
  store.begin(1, 1000, 2);
  std::int64_t each = 0;
  SUBCASE("few") { each = 500; }
  SUBCASE("between all") { each = 1; }
  std::int64_t sum = 0;
  std::int64_t given = 0;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    std::int64_t const begin = i * 10 + 1000 * (i / each);
    store.add({begin, begin + 9, {1}});  // 1 is between two of one time
    ++given;
    CHECK(store.all().coded.size() <= 500);
  }
  for (counted_sample const& now : read_all(store.all())) {
    CHECK(now.end - now.begin <= 10 * now.counts[0]);
    sum += now.counts[0];
  }
  CHECK(sum + static_cast<std::int64_t>(store.without_room()) == given);
  CHECK((store.without_room() != 0) == (each == 1));
}

TEST_CASE("times that cannot be are left out") {
  sample_store store;
  store.begin(1, 1 << 20, 0);
  for (std::int64_t const begin : {10, 30, 20, 40, 50}) store.add({begin, begin + 10, {begin}});
  CHECK(store.convert([](std::int64_t& begin, std::int64_t& end) {
    begin += 1000;
    end += 1000;
    return begin != 1040;
  }) == 1);
  std::vector<std::int64_t> counts;
  for (counted_sample const& each : read_all(store.all())) {
    CHECK(each.begin == 1000 + each.counts[0]);
    counts.push_back(each.counts[0]);
  }
  CHECK(counts == std::vector<std::int64_t>{10, 30, 20, 50});
}

}  // namespace device_sampler_test
