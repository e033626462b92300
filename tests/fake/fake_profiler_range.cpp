// The fake CUPTI's Range Profiler, and what it tells of devices. A library
// without it stands for CUPTI before 12.6U2: FAKE_MISSING_SYMBOLS.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "fake_profiler_call.hpp"

#ifndef FAKE_MISSING_SYMBOLS
#define FAKE_MISSING_SYMBOLS 0
#endif
#if FAKE_MISSING_SYMBOLS < 1

namespace api = fake::api;
using fake::misuse;
using fake::cupti::result;

extern "C" {

FAKE_EXPORT result cuptiProfilerInitialize(api::initialize_params* params) {
  PROFILER_CALL(driver, {0, 16});
  c.p.initialized = true;
  return result::success;
}

FAKE_EXPORT result cuptiProfilerDeviceSupported(api::device_supported_params* params) {
  PROFILER_CALL(initialized, {130100, 56}, {0, 52});
  auto const answer = [&](char const* what) {
    return c.p.unsupported == what ? api::support::no : api::support::yes;
  };
  params->supported = c.p.supported ? api::support::yes : api::support::no;
  params->architecture = answer("architecture");
  params->sli = answer("sli");
  params->virtual_gpu = answer("vgpu");
  params->confidential_computing = answer("confidential");
  params->cmp = answer("cmp");
  params->wsl = answer("wsl");
  if (params->struct_size == 56) params->sku = answer("sku");
  return result::success;
}

FAKE_EXPORT result cuptiDeviceGetChipName(api::chip_name_params* params) {
  PROFILER_CALL(driver, {0, 32});
  auto const chip = c.p.chips.find(params->device_index);
  params->name = chip == c.p.chips.end() ? "GH100" : fake::intern(c.s, chip->second.c_str());
  return result::success;
}

FAKE_EXPORT result cuptiProfilerGetCounterAvailability(api::counter_availability_params* params) {
  PROFILER_CALL(initialized, {130100, 41}, {0, 40});
  if (params->context == nullptr) {
    c.fail("without a context", result::invalid_context);
    return c.code;
  }
  if (params->image == nullptr) {
    params->image_size = 128;
    return result::success;
  }
  if (params->image_size < 128) return result::size_not_sufficient;
  std::memset(params->image, 0x5A, 128);
  params->image[1] = fake::device_byte(params->context);
  params->image[2] = 0;  // without links
  return result::success;
}

FAKE_EXPORT result cuptiPmSamplingGetCounterAvailability(api::device_availability_params* params) {
  PROFILER_CALL(initialized, {0, 40});
  if (params->image == nullptr) {
    params->image_size = 128;
    return result::success;
  }
  if (params->image_size < 128) return result::size_not_sufficient;
  std::memset(params->image, 0x5A, 128);
  // Contexts follow their devices in the tests.
  auto const context = static_cast<std::uint32_t>(params->device_index + 1);
  params->image[1] = fake::device_byte(fake::context_handle_of(context));
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerEnable(api::enable_params* params) {
  PROFILER_CALL(initialized, {130400, 36}, {0, 32});
  if (params->context == nullptr) {
    c.fail("without a context", result::invalid_context);
    return c.code;
  }
  for (auto const& each : c.p.objects) {
    if (each.second->context == params->context) {
      c.fail("twice on one context", result::invalid_operation);
      return c.code;
    }
  }
  auto made = std::make_unique<fake::profiler_object>();
  made->context = params->context;
  params->object = reinterpret_cast<api::range_object*>(made.get());
  c.p.objects[made.get()] = std::move(made);
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerDisable(api::disable_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  fake::profiler_object const* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (object->started && c.p.failures.count("cuptiRangeProfilerStop") == 0)
    misuse(c.s, "cuptiRangeProfilerDisable between Start and Stop");
  c.p.objects.erase(params->object);
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerGetCounterDataSize(api::counter_data_size_params* params) {
  PROFILER_CALL(initialized, {0, 64});
  if (c.object_of(params->object) == nullptr) return c.code;
  if (params->max_ranges == 0 || params->max_tree_nodes < params->max_ranges) {
    c.fail("without room", result::invalid_parameter);
    return c.code;
  }
  params->size = fake::values_at(params->max_ranges, params->count) + 64;
  return result::success;
}

FAKE_EXPORT result
cuptiRangeProfilerCounterDataImageInitialize(api::counter_data_initialize_params* params) {
  PROFILER_CALL(initialized, {0, 40});
  if (c.object_of(params->object) == nullptr) return c.code;
  if (params->image == nullptr || params->size < sizeof(fake::image_head) ||
      reinterpret_cast<std::uintptr_t>(params->image) % 8 != 0) {
    c.fail("of an image that is small or misaligned", result::invalid_parameter);
    return c.code;
  }
  fake::image_head const head{fake::data_magic, 0, 0, 0, 0, 0};
  std::memcpy(params->image, &head, sizeof(head));
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerSetConfig(api::set_config_params* params) {
  PROFILER_CALL(initialized, {0, 90});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  fake::image_head head{};
  std::uint64_t const config = fake::config_in(params->config, params->config_size);
  if (object->started) c.fail("between Start and Stop", result::invalid_operation);
  if (config == 0) c.fail("of what is no configuration", result::invalid_parameter);
  if (!fake::read_head(params->counter_data, params->counter_data_size, head))
    c.fail("with an image that was not initialised", result::invalid_parameter);
  if (params->range != api::range_mode::user || params->replay != api::replay_mode::user)
    c.fail("with other ranges or another replay than the user's", result::invalid_operation);
  if (params->nesting_levels != 1 || params->min_nesting_level != 1 ||
      params->target_nesting_level != 1 || params->pass_index != 0)
    c.fail("with other levels than one", result::invalid_parameter);
  if (!c.go) return c.code;
  std::size_t const values = c.p.configs[config - 1].names.size();
  if (fake::values_at(params->max_ranges_per_pass, values) > params->counter_data_size) {
    c.fail("with an image too small", result::size_not_sufficient);
    return c.code;
  }
  if (object->config != 0) {
    misuse(c.s, "cuptiRangeProfilerSetConfig a second time on one object");
    object->spoiled = true;
  }
  object->config = config;
  object->image = params->counter_data;
  object->image_size = params->counter_data_size;
  object->room = c.p.room = params->max_ranges_per_pass;
  object->pass = 0;
  object->ranges.clear();
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerStart(api::start_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (object->config == 0) c.fail("without a configuration", result::invalid_operation);
  if (object->started) c.fail("twice", result::invalid_operation);
  if (!c.s.captures.empty()) c.fail("while a stream captures", result::invalid_operation);
  if (c.go && object->pass >= c.p.configs[object->config - 1].passes)
    c.fail("after the last pass", result::invalid_operation);
  if (!c.go) return c.code;
  object->started = true;
  object->pushes = 0;
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerStop(api::stop_params* params) {
  PROFILER_CALL(initialized, {0, 41});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (!object->started) c.fail("without Start", result::invalid_operation);
  if (!c.s.captures.empty()) c.fail("while a stream captures", result::invalid_operation);
  if (!c.go) return c.code;
  if (object->open && c.p.failures.count("cuptiRangeProfilerPopRange") == 0)
    misuse(c.s, "cuptiRangeProfilerStop in a range");
  object->started = object->open = false;
  std::size_t const passes = c.p.configs[object->config - 1].passes;
  ++object->pass;
  ++c.p.passes;
  params->pass_index = object->pass;
  params->target_nesting_level = 1;
  params->all_passes_submitted = object->pass == passes ? std::uint8_t{1} : std::uint8_t{0};
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerPushRange(api::push_range_params* params) {
  PROFILER_CALL(initialized, {0, 32});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (!object->started) c.fail("without Start", result::invalid_operation);
  if (object->open) c.fail("deeper than the levels", result::invalid_operation);
  if (!c.s.captures.empty()) c.fail("while a stream captures", result::invalid_operation);
  std::string const name = params->name == nullptr ? "" : params->name;
  if (name.empty() || name.size() >= fake::name_size)
    c.fail("without a fit name", result::invalid_parameter);
  if (!c.go) return c.code;
  ++c.p.pushes;
  std::size_t at = 0;
  while (at < object->ranges.size() && object->ranges[at].name != name) ++at;
  bool const room = c.p.count_pushes ? object->pushes < object->room : at < object->room;
  ++object->pushes;
  if (!room && c.p.full == fake_full::refuse) return result::max_limit_reached;
  object->open = true;
  object->ignored = !room;
  if (!room) {
    if (c.p.full != fake_full::ignore) ++object->dropped;
    return result::success;
  }
  if (at == object->ranges.size()) {
    object->ranges.push_back({name, {}, {}});
    object->ranges[at].values.resize(c.p.configs[object->config - 1].names.size());
  }
  object->at = at;
  object->ranges[at].passes.insert(object->pass);
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerPopRange(api::pop_range_params* params) {
  PROFILER_CALL(initialized, {0, 24});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (!object->started) c.fail("without Start", result::invalid_operation);
  if (!object->open) c.fail("without PushRange", result::invalid_operation);
  if (!c.s.captures.empty()) c.fail("while a stream captures", result::invalid_operation);
  if (!c.go) return c.code;
  object->open = false;
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerDecodeData(api::decode_params* params) {
  PROFILER_CALL(initialized, {0, 32});
  fake::profiler_object* const object = c.object_of(params->object);
  if (object == nullptr) return c.code;
  if (object->started) c.fail("before Stop", result::invalid_operation);
  if (c.go && (object->config == 0 || object->pass == 0))
    c.fail("of nothing", result::invalid_operation);
  if (!c.go) return c.code;
  fake::profiler_config const& config = c.p.configs[object->config - 1];
  for (; c.p.drop != 0 && !object->ranges.empty(); --c.p.drop) {
    object->ranges.pop_back();
    ++object->dropped;
  }
  params->ranges_dropped = object->dropped;
  object->dropped = 0;
  fake::image_head const head{fake::data_magic,    object->config,
                              object->room,        object->ranges.size(),
                              config.names.size(), fake::device_byte(object->context)};
  std::memcpy(object->image, &head, sizeof(head));
  for (std::size_t i = 0; i < object->ranges.size(); ++i) {
    fake::profiled_range const& range = object->ranges[i];
    std::uint8_t* at = object->image + fake::values_at(i, config.names.size());
    std::memset(at - fake::name_size, 0, fake::name_size);
    std::memcpy(at - fake::name_size, range.name.c_str(), range.name.size());
    for (std::size_t m = 0; m < config.names.size(); ++m, at += sizeof(double)) {
      std::string const& metric = config.names[m];
      bool const constant = config.pass_of[m] == fake::profiler_config::none;
      bool const lost = object->spoiled ||
                        (!constant && range.passes.count(config.pass_of[m]) == 0) ||
                        c.p.without_value.count({metric, ""}) != 0 ||
                        c.p.without_value.count({metric, range.name}) != 0;
      double const value = lost       ? std::numeric_limits<double>::quiet_NaN()
                           : constant ? 1000.0
                                      : range.values[m];
      std::memcpy(at, &value, sizeof(value));
    }
  }
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerGetCounterDataInfo(api::counter_data_info_params* params) {
  PROFILER_CALL(nothing, {0, 40});
  fake::image_head head{};
  if (!fake::read_head(params->image, params->size, head)) {
    c.fail("of what is no counter data", result::invalid_parameter);
    return c.code;
  }
  params->ranges = head.ranges;
  return result::success;
}

FAKE_EXPORT result cuptiRangeProfilerCounterDataGetRangeInfo(api::range_info_params* params) {
  PROFILER_CALL(nothing, {0, 56});
  fake::image_head head{};
  if (!fake::read_head(params->image, params->size, head) || params->range >= head.ranges ||
      params->delimiter == nullptr) {
    c.fail("of a range that is not there", result::invalid_parameter);
    return c.code;
  }
  auto const* const name = reinterpret_cast<char const*>(
      params->image + fake::values_at(params->range, head.values) - fake::name_size);
  params->name = fake::intern(c.s, name);
  return result::success;
}

}  // extern "C"

#endif
