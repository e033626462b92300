// The fake profiler's controls, and what a kernel adds to the range that is counted.
#include "fake_profiler.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "fake_profiler_state.hpp"

namespace fake {

profiler_state& the_profiler() {
  static profiler_state& p = *new profiler_state;
  return p;
}

void profile_kernel(state& s, fake_kernel const& kernel) {
  profiler_state& p = the_profiler();
  // Instrumented code and CUPTI's kernel records exclude each other.
  bool const blind =
      s.kinds.count(static_cast<std::uint32_t>(cupti::activity_kind::concurrent_kernel)) != 0;
  double threads = 1;
  for (int i = 0; i < 3; ++i) threads *= double(kernel.grid[i]) * double(kernel.block[i]);
  for (auto& each : p.objects) {
    profiler_object& object = *each.second;
    if (object.context != context_handle_of(kernel.context)) continue;
    if (!object.started || !object.open || object.ignored) continue;
    profiler_config const& config = p.configs[object.config - 1];
    profiled_range& range = object.ranges[object.at];
    for (std::size_t i = 0; i < config.names.size(); ++i) {
      bool const counts = config.pass_of[i] == object.pass;
      if (!counts || (blind && is_sass(config.names[i]))) continue;
      auto const weight = p.weights.find(config.names[i]);
      range.values[i] += threads * (weight == p.weights.end() ? 1.0 : weight->second);
    }
  }
}

bool serialises_kernels(std::uint32_t context) {
  profiler_state& p = the_profiler();
  for (auto const& each : p.objects) {
    profiler_object const& object = *each.second;
    if (object.context != context_handle_of(context) || !object.started) continue;
    std::vector<std::string> const& names = p.configs[object.config - 1].names;
    bool const instruments = std::any_of(names.begin(), names.end(), is_sass);
    if (instruments && object.open) return true;
  }
  return false;
}

}  // namespace fake

using fake::the_profiler;
using fake::the_state;

namespace {

template <class Change>
void with_profiler(Change change) {
  std::lock_guard<std::mutex> const lock(the_state().mutex);
  change(the_profiler());
}

}  // namespace

extern "C" {

void fake_profiler_reset() {
  with_profiler([](fake::profiler_state& p) {
    static_cast<fake::profiler_settings&>(p) = fake::profiler_settings{};
  });
}
void fake_profiler_lack(char const* part) {
  with_profiler([&](fake::profiler_state& p) { p.lacking.insert(part); });
}
void fake_profiler_set_metrics_per_pass(std::size_t count) {
  with_profiler([&](fake::profiler_state& p) { p.metrics_per_pass = count; });
}
void fake_profiler_set_metrics_per_pass_of(std::uint32_t context, std::size_t count) {
  with_profiler([&](fake::profiler_state& p) {
    p.metrics_per_pass_of[fake::device_byte(fake::context_handle_of(context))] = count;
  });
}
void fake_profiler_set_weight(char const* metric, double weight) {
  with_profiler([&](fake::profiler_state& p) { p.weights[metric] = weight; });
}
void fake_profiler_lose_value(char const* metric, char const* range) {
  with_profiler([&](fake::profiler_state& p) {
    p.without_value.insert({metric, range == nullptr ? "" : range});
  });
}
void fake_profiler_fail(char const* function, std::size_t first, std::size_t count, int code) {
  with_profiler([&](fake::profiler_state& p) { p.failures[function] = {first - 1, count, code}; });
}
void fake_profiler_set_full(fake_full how, int count_pushes) {
  with_profiler([&](fake::profiler_state& p) {
    p.full = how;
    p.count_pushes = count_pushes != 0;
  });
}
void fake_profiler_set_chip(std::size_t device, char const* chip) {
  with_profiler([&](fake::profiler_state& p) { p.chips[device] = chip; });
}
void fake_profiler_drop(std::size_t ranges) {
  with_profiler([&](fake::profiler_state& p) { p.drop = ranges; });
}
void fake_profiler_set_unsupported(char const* why) {
  with_profiler([&](fake::profiler_state& p) {
    p.supported = false;
    p.unsupported = why;
  });
}
std::size_t fake_profiler_pushes() {
  std::size_t count = 0;
  with_profiler([&](fake::profiler_state& p) { count = p.pushes; });
  return count;
}
std::size_t fake_profiler_passes() {
  std::size_t count = 0;
  with_profiler([&](fake::profiler_state& p) { count = p.passes; });
  return count;
}
std::size_t fake_profiler_room() {
  std::size_t count = 0;
  with_profiler([&](fake::profiler_state& p) { count = p.room; });
  return count;
}
std::size_t fake_profiler_enabled() {
  std::size_t count = 0;
  with_profiler([&](fake::profiler_state& p) { count = p.objects.size(); });
  return count;
}
std::size_t fake_profiler_hosts() {
  std::size_t count = 0;
  with_profiler([&](fake::profiler_state& p) { count = p.hosts.size(); });
  return count;
}

}  // extern "C"
