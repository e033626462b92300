#ifndef STRATA_COLLECT_COUNTERS_ENERGY_METER_HPP
#define STRATA_COLLECT_COUNTERS_ENERGY_METER_HPP

#include <strata/base/clock.hpp>
#include <strata/base/dynamic_library.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// Reads the driver's counter of the energy that a device has used, and keeps when it moved: each
/// 100 ms, and a read takes 3.6 ms (H200, driver 580), so never in a thread of the program.
/// Threads: one at a time. Source: nvmlDeviceGetTotalEnergyConsumption.
class energy_meter {
 public:
  /// Of the device with this UUID. Errors: not_supported.
  status open(std::string const& uuid) {
    dynamic_library nvml;
    int (*init)() = nullptr;
    int (*find)(char const* uuid, device** found) = nullptr;
    if (!nvml.open("libnvidia-ml.so.1")) return missing("libnvidia-ml.so.1 is not found");
    if (!nvml.bind("nvmlInit_v2", init) || !nvml.bind("nvmlDeviceGetHandleByUUID", find) ||
        !nvml.bind("nvmlDeviceGetTotalEnergyConsumption", read_))
      return missing("libnvidia-ml.so.1 lacks a function");
    if (int const code = init(); code != 0) return missing("nvmlInit_v2", code);
    if (int const code = find(("GPU-" + uuid).c_str(), &device_); code != 0)
      return missing("nvmlDeviceGetHandleByUUID", code);
    if (int const code = read_(device_, &value_); code != 0)
      return missing("nvmlDeviceGetTotalEnergyConsumption", code);
    is_open_ = true;
    return {};
  }

  bool is_open() const noexcept { return is_open_; }

  /// Reads it, if that is due: rarely while it cannot have moved, then often, so that it is known
  /// when it moves. Units: ns.
  void look(std::int64_t now, tick_source const& clock) {
    if (!is_open_ || now < next_ns_) return;
    std::int64_t const before = clock.now();
    std::uint64_t value = 0;
    if (read_(device_, &value) != 0) {
      ++failures_;
      next_ns_ = now + resting_ns;
      return;
    }
    std::int64_t const after = clock.now();
    bool const moved = value != std::exchange(value_, value);  // when it did before is not known
    wait_ns_ = moved ? resting_ns : wait_ns_ == resting_ns ? least_ns : 2 * wait_ns_;
    if (wait_ns_ > resting_ns / 2) wait_ns_ = resting_ns;
    next_ns_ = now + wait_ns_;
    std::int64_t const since = last_ == 0 ? before : last_;
    last_ = before;
    if (!moved) return;
    if (readings_.size() == most) halve();
    readings_.push_back({since + (after - since) / 2, value});
  }
  /// When look() reads it next. Units: ns.
  std::int64_t due() const noexcept { return is_open_ ? next_ns_ : INT64_MAX; }

  std::uint64_t failures() const noexcept { return failures_; }
  /// Their times are ticks.
  vec<energy_reading> take() noexcept { return std::move(readings_); }

 private:
  struct device;
  static constexpr std::int64_t resting_ns = 80'000'000;  // and what a read takes
  static constexpr std::int64_t least_ns = 4'000'000;
  static constexpr std::size_t most = 1 << 16;  // 1 MiB, of two hours if none is left out

  static status missing(std::string why) {
    return {errc::not_supported, "Energy was not read: " + why + ". "};
  }
  static status missing(char const* call, int code) {
    return missing(call + (" says " + std::to_string(code)));
  }

  /// The counter adds up: half of the readings have the same energy.
  void halve() noexcept {
    for (std::size_t i = 0; i < most / 2; ++i) readings_[i] = readings_[2 * i];
    readings_.resize(most / 2);
  }

  int (*read_)(device* of, std::uint64_t* millijoules) = nullptr;
  device* device_ = nullptr;
  bool is_open_ = false;
  std::int64_t next_ns_ = 0;
  std::int64_t wait_ns_ = least_ns;
  std::int64_t last_ = 0;  // ticks before the read before
  std::uint64_t value_ = 0;
  std::uint64_t failures_ = 0;
  vec<energy_reading> readings_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_ENERGY_METER_HPP
