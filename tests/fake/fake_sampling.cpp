// The fake CUPTI's PM sampling. A library without it stands for CUPTI before 12.6U2:
// FAKE_MISSING_SYMBOLS. What an H200 did (CUPTI 13.0 and 13.5, driver 580): decoding a buffer that
// was full says CUPTI_ERROR_OUT_OF_MEMORY, and a second start without decoding says 999.
#include "fake_sampling.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <strata/collect/counters/cupti_sampling.hpp>

#include "fake_profiler_call.hpp"

#ifndef FAKE_MISSING_SYMBOLS
#define FAKE_MISSING_SYMBOLS 0
#endif
#if FAKE_MISSING_SYMBOLS < 1

namespace sampling = fake::cupti::sampling;
using fake::misuse;
using fake::cupti::result;

namespace {

struct record {
  std::uint64_t begin, end;
  double amount;
};

struct sampler {
  std::size_t device = 0;
  std::size_t config = 0;  // position + 1
  std::size_t room = 0;    // samples of an image
  bool started = false;
  bool overflown = false;
  std::deque<record> buffer;
};

struct sampling_settings {
  std::size_t hold = 0;
  std::size_t room = std::size_t{1} << 20;
  std::size_t pause = 0;
  std::int64_t skew = 0;
  std::size_t starts = 0;
  std::uint64_t interval = 0;
  std::size_t device = 0;
};

struct sampling_state : sampling_settings {
  std::map<void*, std::unique_ptr<sampler>> objects;
};

/// Guarded by the mutex of the_state().
sampling_state& the_sampling() {
  static sampling_state& all = *new sampling_state;
  return all;
}

template <class Change>
auto with_sampling(Change change) {
  std::lock_guard<std::mutex> const lock(fake::the_state().mutex);
  return change(the_sampling());
}

sampler* object_of(fake::profiler_call& c, sampling::sampling_object* handle) {
  auto const found = the_sampling().objects.find(handle);
  if (found != the_sampling().objects.end()) return found->second.get();
  c.fail("with an object that is not enabled", result::invalid_parameter);
  return nullptr;
}

/// Where an image has the times of a sample: in the place of a range's name.
std::uint8_t* times_at(std::uint8_t* image, std::size_t sample, std::size_t values) {
  return image + fake::values_at(sample, values) - fake::name_size;
}

}  // namespace

extern "C" {

void fake_sampling_reset() {
  with_sampling(
      [](sampling_state& all) { static_cast<sampling_settings&>(all) = sampling_settings{}; });
}
void fake_sampling_forget() {
  with_sampling([](sampling_state& all) { all.objects.clear(); });
}
std::size_t fake_sample(std::uint64_t begin_ns, std::uint64_t end_ns, double amount) {
  return with_sampling([&](sampling_state& all) {
    std::size_t count = 0;
    for (auto& each : all.objects) {
      sampler& object = *each.second;
      if (!object.started) continue;
      ++count;
      object.overflown = object.overflown || object.buffer.size() >= all.room;
      if (!object.overflown) object.buffer.push_back({begin_ns, end_ns, amount});
    }
    return count;
  });
}
void fake_sampling_hold(std::size_t records) {
  with_sampling([&](sampling_state& all) { all.hold = records; });
}
void fake_sampling_set_room(std::size_t records) {
  with_sampling([&](sampling_state& all) { all.room = records; });
}
void fake_sampling_pause_after(std::size_t records) {
  with_sampling([&](sampling_state& all) { all.pause = records; });
}
void fake_sampling_skew(std::int64_t ns) {
  with_sampling([&](sampling_state& all) { all.skew = ns; });
}
std::size_t fake_sampling_enabled() {
  return with_sampling([](sampling_state& all) { return all.objects.size(); });
}
std::size_t fake_sampling_started() {
  return with_sampling([](sampling_state& all) {
    return static_cast<std::size_t>(std::count_if(all.objects.begin(), all.objects.end(),
                                                  [](auto& each) { return each.second->started; }));
  });
}
std::size_t fake_sampling_starts() {
  return with_sampling([](sampling_state& all) { return all.starts; });
}
std::size_t fake_sampling_waiting() {
  return with_sampling([](sampling_state& all) {
    std::size_t count = 0;
    for (auto& each : all.objects) count += each.second->buffer.size();
    return count;
  });
}
std::uint64_t fake_sampling_interval() {
  return with_sampling([](sampling_state& all) { return all.interval; });
}
std::size_t fake_sampling_device() {
  return with_sampling([](sampling_state& all) { return all.device; });
}

FAKE_EXPORT result cuptiPmSamplingEnable(sampling::enable_params* params) {
  PROFILER_CALL(initialized, {0, 32});
  sampling_state& all = the_sampling();
  for (auto const& each : all.objects) {
    if (each.second->device != params->device_index) continue;
    c.fail("twice on one device", result::invalid_operation);
    return c.code;
  }
  auto made = std::make_unique<sampler>();
  made->device = all.device = params->device_index;
  params->object = reinterpret_cast<sampling::sampling_object*>(made.get());
  all.objects[made.get()] = std::move(made);
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingDisable(sampling::disable_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  sampler const* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  if (object->started) misuse(c.s, "cuptiPmSamplingDisable between Start and Stop");
  the_sampling().objects.erase(params->object);
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingSetConfig(sampling::set_config_params* params) {
  PROFILER_CALL(initialized, {28, 64}, {0, 60});
  sampler* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  std::uint64_t const config = fake::config_in(params->config, params->config_size);
  if (object->started) c.fail("between Start and Stop", result::invalid_operation);
  if (config == 0) c.fail("of what is no configuration", result::invalid_parameter);
  if (params->hardware_buffer_size == 0 || params->interval == 0)
    c.fail("without a buffer or an interval", result::invalid_parameter);
  if (!c.go) return c.code;
  if (c.p.configs[config - 1].passes != 1) {
    c.fail("of several passes", result::not_supported);
    return c.code;
  }
  object->config = config;
  the_sampling().interval = params->interval;
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingStart(sampling::start_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  sampler* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  if (object->config == 0) c.fail("without a configuration", result::invalid_operation);
  if (object->started) c.fail("twice", result::invalid_operation);
  if (!c.go) return c.code;
  if (!object->buffer.empty() || object->overflown) return result::unknown;
  object->started = true;
  ++the_sampling().starts;
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingStop(sampling::stop_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  sampler* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  if (!object->started) {
    c.fail("without Start", result::invalid_operation);
    return c.code;
  }
  object->started = false;
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingGetCounterDataSize(sampling::counter_data_size_params* params) {
  PROFILER_CALL(initialized, {0, 56});
  sampler* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  if (params->max_samples == 0) {
    c.fail("without room", result::invalid_parameter);
    return c.code;
  }
  object->room = params->max_samples;
  params->size = fake::values_at(params->max_samples, params->count) + 64;
  return result::success;
}

FAKE_EXPORT result
cuptiPmSamplingCounterDataImageInitialize(sampling::counter_data_initialize_params* params) {
  PROFILER_CALL(initialized, {0, 40});
  if (object_of(c, params->object) == nullptr) return c.code;
  if (params->image == nullptr || params->size < sizeof(fake::image_head)) {
    c.fail("of an image that is small", result::invalid_parameter);
    return c.code;
  }
  fake::image_head const head{fake::data_magic, 0, 0, 0, 0, 0};
  std::memcpy(params->image, &head, sizeof(head));
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingDecodeData(sampling::decode_params* params) {
  PROFILER_CALL(initialized, {0, 45});
  sampler* const object = object_of(c, params->object);
  if (object == nullptr) return c.code;
  fake::image_head head{};
  if (object->config == 0) c.fail("of nothing", result::invalid_operation);
  if (!fake::read_head(params->image, params->size, head))
    c.fail("into what is no image", result::invalid_parameter);
  if (!c.go) return c.code;
  sampling_state& all = the_sampling();
  params->overflow = object->overflown ? 1 : 0;
  if (object->overflown) return result::out_of_memory;
  fake::profiler_config const& config = c.p.configs[object->config - 1];
  std::size_t const values = config.names.size();
  params->reason = sampling::stop_reason::end_of_records;
  for (std::size_t taken = 0; object->buffer.size() > (object->started ? all.hold : 0); ++taken) {
    if (head.ranges == object->room) params->reason = sampling::stop_reason::image_full;
    if (all.pause != 0 && taken == all.pause) params->reason = sampling::stop_reason::other;
    if (params->reason != sampling::stop_reason::end_of_records) break;
    record const& next = object->buffer.front();
    std::uint64_t const times[2] = {next.begin + static_cast<std::uint64_t>(all.skew),
                                    next.end + static_cast<std::uint64_t>(all.skew)};
    std::uint8_t* at = times_at(params->image, head.ranges, values);
    std::memset(at, 0, fake::name_size);
    std::memcpy(at, times, sizeof(times));
    at += fake::name_size;
    for (std::size_t i = 0; i < values; ++i, at += sizeof(double)) {
      auto const weight = c.p.weights.find(config.names[i]);
      double value = next.amount * (weight == c.p.weights.end() ? 1.0 : weight->second);
      if (c.p.without_value.count({config.names[i], ""}) != 0)
        value = std::numeric_limits<double>::quiet_NaN();
      std::memcpy(at, &value, sizeof(value));
    }
    ++head.ranges;
    object->buffer.pop_front();
  }
  auto const context = static_cast<std::uint32_t>(object->device + 1);
  fake::image_head const made{
      fake::data_magic, object->config, object->room,
      head.ranges,      values,         fake::device_byte(fake::context_handle_of(context))};
  std::memcpy(params->image, &made, sizeof(made));
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingGetCounterDataInfo(sampling::counter_data_info_params* params) {
  PROFILER_CALL(nothing, {0, 56});
  fake::image_head head{};
  if (!fake::read_head(params->image, params->size, head)) {
    c.fail("of what is no counter data", result::invalid_parameter);
    return c.code;
  }
  params->samples = head.room;
  params->populated = params->completed = head.ranges;
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingCounterDataGetSampleInfo(sampling::sample_info_params* params) {
  PROFILER_CALL(nothing, {0, 64});
  fake::image_head head{};
  if (object_of(c, params->object) == nullptr) return c.code;
  if (!fake::read_head(params->image, params->size, head) || params->sample >= head.ranges) {
    c.fail("of a sample that is not there", result::invalid_parameter);
    return c.code;
  }
  std::uint64_t times[2] = {};
  std::memcpy(times,
              times_at(const_cast<std::uint8_t*>(params->image), params->sample, head.values),
              sizeof(times));
  params->begin = times[0];
  params->end = times[1];
  return result::success;
}

}  // extern "C"

#endif
