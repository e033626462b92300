#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_GROUP_HPP
#define STRATA_COLLECT_CPU_PERF_GROUP_HPP

#include <strata/base/macros.hpp>
#include <strata/base/spin_mutex.hpp>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/profile/perf_catalogue.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// Events of one thread that the kernel counts at the same time, and one read gives. Its owner
/// closes it.
class perf_group {
 public:
  static constexpr std::size_t most = 8;

  /// 0: the calling thread.
  explicit perf_group(int thread = 0) noexcept : thread_(thread) {}

  /// Which threads count besides the group's own.
  enum class reach : std::uint8_t {
    threads,    ///< those that it makes from then on, and theirs
    processes,  ///< its child processes too: kernels before 5.13 do not tell them apart
    alone       ///< none: kernels before 4.13 cannot read a group of several threads
  };

  struct reading {
    std::uint64_t enabled_ns = 0;  ///< how long the events were wanted
    std::uint64_t running_ns = 0;  ///< how long they had counters
    std::uint64_t values[most] = {};
  };

  /// Adds an event. Where the kernel does not know `who`, a new group takes less, and tells so by
  /// it. Returns: 0 or an error number.
  int add(perf_system const& system, perf_event const& event, reach& who) noexcept {
    if (size_ == most) return EINVAL;
    for (reach less = who;;) {
      int const made =
          system.open(attributes(event, less), thread_, size_ == 0 ? -1 : descriptors_[0]);
      if (made >= 0) {
        descriptors_[size_++] = made;
        who = less;
        return 0;
      }
      bool const unknown = made == -EINVAL || made == -E2BIG;
      if (!unknown || size_ != 0 || less == reach::alone) return -made;
      less = less == reach::threads ? reach::processes : reach::alone;
    }
  }

  /// Counts from now on. The leader is off until all events are there: one that joins a running
  /// group of other kinds does not count before the thread's next turn (Linux 6.18).
  int enable(perf_system const& system) noexcept { return -system.enable(descriptors_[0]); }

  bool read(perf_system const& system, reading& to) const noexcept {
    std::uint64_t words[3 + most];
    std::size_t const bytes = (3 + size_) * sizeof words[0];
    long got = system.read(descriptors_[0], words, bytes);
    // A thread that ends gives its events back one by one, and meanwhile there is no sum.
    for (int i = 0; got == -ECHILD && i < most_waits; ++i) {
      yield_thread();
      got = system.read(descriptors_[0], words, bytes);
    }
    if (got != static_cast<long>(bytes) || words[0] != size_) return false;
    to.enabled_ns = words[1];
    to.running_ns = words[2];
    for (std::size_t i = 0; i < size_; ++i) to.values[i] = words[3 + i];
    return true;
  }

  void close(perf_system const& system) noexcept {
    while (size_ != 0) system.close(descriptors_[--size_]);
  }

  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr int most_waits = 1000;

  perf_attributes attributes(perf_event const& event, reach who) const noexcept {
    using bits = perf_attributes;
    perf_attributes made;
    made.type = event.type;
    made.config = event.config;
    made.read_format = bits::group | bits::total_time_enabled | bits::total_time_running;
    if (!event.in_kernel) made.flags |= bits::exclude_kernel | bits::exclude_hypervisor;
    if (size_ == 0) made.flags |= bits::disabled;
    if (who != reach::alone) made.flags |= bits::inherit;
    if (who == reach::threads) made.flags |= bits::inherit_thread;
    return made;
  }

  int thread_;
  int descriptors_[most] = {};
  std::size_t size_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_GROUP_HPP
