#ifndef STRATA_BASE_CLOCK_HPP
#define STRATA_BASE_CLOCK_HPP

#include <strata/base/deadline.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

STRATA_BEGIN
namespace detail {

/// CLOCK_MONOTONIC by the C library, for what something took: 25 ns, where kernel_ns() is a system
/// call. A library such as libfaketime replaces it, so waits, rates and the moments of a session
/// are by kernel_ns(), and the two are never subtracted from each other.
inline std::int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// For how long the machine has been suspended so far, in ns: monotonic_ns() stands still then.
/// Only the difference of two is known.
inline std::int64_t suspended_ns() noexcept {
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    std::int64_t const before = monotonic_ns();
    timespec now{};
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    std::int64_t const found = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - before;
    least = smaller(least, found);  // a thread may wait between the two
  }
  return least;
}

/// Units: ns since 1970; the clock that CUPTI stamps its records with on Linux.
inline std::int64_t realtime_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The processor's counter where it runs at one rate on all cores, else steady_clock. On Linux the
/// TSC is used where the kernel itself uses it: the kernel tests it at boot and while it runs, and
/// gives it up where the cores differ.
class tick_source {
 public:
  static constexpr char const* kernel_clock =
      "/sys/devices/system/clocksource/clocksource0/current_clocksource";

  /// The file that names the kernel's clock. Cost: it is read.
  explicit tick_source(char const* clock_file = kernel_clock) noexcept
      : counter_(has_steady_counter(clock_file)) {}

  std::int64_t now() const noexcept {
#if defined(__x86_64__)
    if (counter_) return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
    if (counter_) {
      std::int64_t ticks;
      asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
      return ticks;
    }
#endif
    return steady_ns();
  }

  char const* name() const noexcept {
#if defined(__x86_64__)
    return counter_ ? "tsc" : "steady_clock";
#else
    return counter_ ? "cntvct" : "steady_clock";
#endif
  }

 private:
  STRATA_DETAIL_COLD static std::int64_t steady_ns() noexcept { return monotonic_ns(); }

  static bool has_steady_counter(char const* clock_file) noexcept {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    bool const invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
    return invariant && kernel_uses_tsc(clock_file);
#elif defined(__aarch64__)
    (void)clock_file;
    return true;
#else
    (void)clock_file;
    return false;
#endif
  }

  static bool kernel_uses_tsc(char const* clock_file) noexcept {
    std::FILE* const file = std::fopen(clock_file, "re");
    if (file == nullptr) return false;
    char name[16] = {};
    bool const read = std::fgets(name, sizeof name, file) != nullptr;
    std::fclose(file);
    return read && std::strcmp(name, "tsc\n") == 0;
  }

  bool counter_;
};

/// Ticks and a second clock, read as near to each other as a few tries allow, between two moments
/// of monotonic_ns().
struct clock_sample {
  std::int64_t ticks = 0;
  std::int64_t other = 0;
  std::int64_t after = 0;   ///< monotonic_ns() just before the two were read: they came after it
  std::int64_t before = 0;  ///< and just after
};

template <class Clock>
clock_sample sample_clock(tick_source const& source, Clock const& other) noexcept {
  clock_sample best;
  for (int i = 0; i < 5; ++i) {
    std::int64_t const after = monotonic_ns();
    std::int64_t const first = source.now();
    std::int64_t const between = other();
    std::int64_t const last = source.now();
    std::int64_t const before = monotonic_ns();
    if (i == 0 || before - after < best.before - best.after)
      best = {first + (last - first) / 2, between, after, before};
  }
  return best;
}

/// What realtime_ns() is at time 0 of kernel_ns(). It changes where the former is set.
inline std::int64_t realtime_origin_ns() noexcept {
  std::int64_t origin = 0;
  std::int64_t narrowest = 0;
  for (int i = 0; i < 5; ++i) {
    std::int64_t const before = kernel_ns();
    std::int64_t const between = realtime_ns();
    std::int64_t const width = kernel_ns() - before;
    if (i != 0 && width >= narrowest) continue;
    narrowest = width;
    origin = between - before - width / 2;
  }
  return origin;
}

/// Converts ticks to ns since a moment, by the rate between two samples of CLOCK_MONOTONIC.
class tick_converter {
 public:
  tick_converter() = default;
  /// A clock that stood still says no rate: a tick is taken for a ns.
  tick_converter(clock_sample first, clock_sample last) noexcept : origin_(first.ticks) {
    std::int64_t const ticks = last.ticks - first.ticks;
    if (ticks > 0 && last.other > first.other)
      ns_per_tick_ = static_cast<double>(last.other - first.other) / static_cast<double>(ticks);
  }
  std::int64_t to_ns(std::int64_t ticks) const noexcept {
    double const ns = static_cast<double>(ticks - origin_) * ns_per_tick_;
    return static_cast<std::int64_t>(ns + (ns < 0 ? -0.5 : 0.5));
  }
  std::int64_t duration_ns(std::int64_t ticks) const noexcept { return to_ns(origin_ + ticks); }
  double ns_per_tick() const noexcept { return ns_per_tick_; }

 private:
  std::int64_t origin_ = 0;
  double ns_per_tick_ = 1.0;
};

/// A clock that continues where it is set back, which CLOCK_REALTIME may be: so that no two moments
/// have one time. Units: ns.
class continued_clock {
 public:
  /// It reads `time`, at some moment between two of CLOCK_MONOTONIC. Returns: whether it was set
  /// back since the last call.
  bool read(std::int64_t time, std::int64_t after, std::int64_t before) noexcept {
    std::int64_t const passed = after - last_before_;
    std::int64_t const least = last_ + passed;
    std::int64_t const drift = 200'000 + passed / 1000;  // a clock that goes wrong by more was set
    bool const was_read = last_before_ != 0;
    bool const was_set = was_read && continued(time) < least - drift;
    bool const was_set_forth = was_read && continued(time) > last_ + (before - last_after_) + drift;
    gap_ = was_set_forth ? continued(time) - least : 0;
    if (was_set) set_back_ = least - time;
    last_ = continued(time);
    last_after_ = after;
    last_before_ = before;
    return was_set;
  }
  /// Where it was set forth before it was read last, it continues as if it had not been. Returns:
  /// whether it was.
  bool close_gap() noexcept {
    set_back_ -= gap_;
    last_ -= gap_;
    return std::exchange(gap_, 0) != 0;
  }
  /// A time that it gave since it was read last.
  std::int64_t continued(std::int64_t time) const noexcept { return time + set_back_; }

 private:
  std::int64_t last_ = 0;
  std::int64_t last_after_ = 0;
  std::int64_t last_before_ = 0;  // 0: it was not read
  std::int64_t set_back_ = 0;
  std::int64_t gap_ = 0;  // that it left where it was set forth
};

/// Converts another clock (CUPTI's) to ns since a moment, by samples taken over the run: between
/// two samples along the line through them, outside along the nearest one. Where the clock was set
/// between two samples, a time belongs to the nearer one, and lies between the two.
class clock_bridge {
 public:
  void add(clock_sample sample) {
    if (samples_.empty() || sample.other > samples_.back().other) samples_.push_back(sample);
  }
  void clear() noexcept { samples_.clear(); }

  std::int64_t to_ns(std::int64_t other, tick_converter const& ticks) const noexcept {
    if (samples_.empty()) return other;
    std::size_t low = 0;
    std::size_t high = samples_.size();
    while (high - low > 1) {
      std::size_t const middle = low + (high - low) / 2;
      (samples_[middle].other <= other ? low : high) = middle;
    }
    clock_sample const& a = samples_[low];
    std::int64_t const a_ns = ticks.to_ns(a.ticks);
    if (low + 1 == samples_.size() || other < a.other) return a_ns + (other - a.other);
    clock_sample const& b = samples_[low + 1];
    std::int64_t const b_ns = ticks.to_ns(b.ticks);
    std::int64_t const drift = (b.other - a.other) - (b_ns - a_ns);
    std::int64_t const most =
        200'000 + (b_ns - a_ns) / 1000;  // a clock that drifts by more was set
    if (drift > most || drift < -most)
      return other - a.other <= b.other - other ? smaller(a_ns + (other - a.other), b_ns)
                                                : larger(b_ns + (other - b.other), a_ns);
    double const part =
        static_cast<double>(other - a.other) / static_cast<double>(b.other - a.other);
    return a_ns + static_cast<std::int64_t>(part * static_cast<double>(b_ns - a_ns));
  }

 private:
  vec<clock_sample> samples_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_CLOCK_HPP
