// A scripted libnvidia-ml: what reads energy runs without a GPU. It knows the devices of the fake
// driver by their UUIDs.
#include "fake_nvml.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct use {
  std::uint64_t begin, end;
  double watts;
};

struct nvml_state {
  std::mutex mutex;
  std::uint64_t begun = 0;
  std::uint64_t period = 100'000'000;
  std::vector<use> uses;
  std::map<std::string, int> failing;
  std::size_t reads = 0;
};

nvml_state& the_nvml() {
  static nvml_state& all = *new nvml_state;
  return all;
}

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

template <class Change>
auto with_nvml(Change change) {
  nvml_state& all = the_nvml();
  std::lock_guard<std::mutex> const lock(all.mutex);
  if (all.begun == 0) all.begun = now();
  return change(all);
}

constexpr int not_found = 6;
char device;

}  // namespace

extern "C" {

void fake_nvml_reset(std::uint64_t period_ns) {
  with_nvml([&](nvml_state& all) {
    all.begun = now();
    all.period = period_ns;
    all.uses.clear();
    all.failing.clear();
    all.reads = 0;
  });
}

void fake_nvml_use(std::uint64_t begin_ns, std::uint64_t end_ns, double watts) {
  with_nvml([&](nvml_state& all) { all.uses.push_back({begin_ns, end_ns, watts}); });
}

void fake_nvml_fail(char const* function, int code) {
  with_nvml([&](nvml_state& all) { all.failing[function] = code; });
}

std::size_t fake_nvml_reads() {
  return with_nvml([](nvml_state& all) { return all.reads; });
}

FAKE_EXPORT int nvmlInit_v2() {
  return with_nvml([](nvml_state& all) { return all.failing["nvmlInit_v2"]; });
}

FAKE_EXPORT int nvmlDeviceGetHandleByUUID(char const* uuid, void** found) {
  *found = &device;
  return with_nvml([&](nvml_state& all) {
    bool const is_known = std::string(uuid).rfind("GPU-fa000000-0000-0000-0000-", 0) == 0;
    return is_known ? all.failing["nvmlDeviceGetHandleByUUID"] : not_found;
  });
}

FAKE_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void* of, unsigned long long* millijoules) {
  return with_nvml([&](nvml_state& all) {
    ++all.reads;
    if (of != &device) return not_found;
    if (int const code = all.failing["nvmlDeviceGetTotalEnergyConsumption"]; code != 0) return code;
    std::uint64_t const moved = all.begun + (now() - all.begun) / all.period * all.period;
    double joules = 1000.0 + 100e-9 * static_cast<double>(moved - all.begun);
    for (use const& each : all.uses)
      if (each.begin < moved)
        joules += 1e-9 * each.watts * static_cast<double>(std::min(each.end, moved) - each.begin);
    *millijoules = static_cast<unsigned long long>(1e3 * joules);
    return 0;
  });
}
}
