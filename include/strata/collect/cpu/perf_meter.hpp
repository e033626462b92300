#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_METER_HPP
#define STRATA_COLLECT_CPU_PERF_METER_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/spin_mutex.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/collect/cpu/perf_group.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

STRATA_BEGIN

namespace detail {

/// Reads groups whenever the range of a thread changes, and adds what was counted to the range that
/// it leaves. Threads: any; the one that is counted calls `change`.
class perf_meter {
 public:
  /// Of one range: how often it was read, then of each group the times and the values.
  using slot = std::uint64_t;

  explicit perf_meter(perf_system const& system) noexcept : system_(&system) {}
  perf_meter(perf_meter const&) = delete;
  perf_meter& operator=(perf_meter const&) = delete;
  ~perf_meter() {
    close();
    std::free(sums_);
  }

  /// Adds the groups of a thread; those of all threads give the same counters, which are added up.
  void take(vec<perf_group> const& groups) {
    spin_lock const lock(mutex_);
    std::size_t at = 1;
    for (perf_group const& each : groups) {
      groups_.push_back({each, {}, at});
      at += 2 + each.size();
    }
    slots_ = at;
  }

  void begin(std::uint32_t node) noexcept {
    spin_lock const lock(mutex_);
    node_ = node;
    known_ = false;
    on_ = true;
    read(false);
  }

  void change(std::uint32_t node) noexcept {
    spin_lock const lock(mutex_);
    if (!on_) return;
    read(true);
    node_ = node;
  }

  void end() noexcept {
    spin_lock const lock(mutex_);
    if (!on_) return;
    read(true);
    on_ = false;
  }

  /// Gives the counters back; the sums stay.
  void close() noexcept {
    spin_lock const lock(mutex_);
    on_ = false;
    for (part& each : groups_) each.group.close(*system_);
  }

  /// Hands the sums of each range that was read to `sink(node, slots)`.
  template <class Sink>
  void each_node(Sink sink) const {
    for (std::size_t node = 0; node < nodes_; ++node) {
      slot const* const of = sums_ + node * slots_;
      if (of[0] != 0) sink(static_cast<std::uint32_t>(node), of);
    }
  }

  std::uint64_t reads() const noexcept { return reads_; }
  std::uint64_t failures() const noexcept { return failures_; }
  std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  struct part {
    perf_group group;
    perf_group::reading last;
    std::size_t at;  ///< of its first slot
  };

  /// What was counted since the last reading goes to the current node.
  void read(bool add) noexcept {
    std::int64_t const begin = monotonic_ns();
    slot* const sums = add && known_ ? sums_of(node_) : nullptr;
    if (sums != nullptr) ++sums[0];
    bool complete = true;
    for (part& each : groups_) {
      perf_group::reading now;
      complete = each.group.read(*system_, now);
      if (!complete) break;
      if (sums != nullptr) {
        slot* at = sums + each.at;
        *at++ += now.enabled_ns - each.last.enabled_ns;
        *at++ += now.running_ns - each.last.running_ns;
        for (std::size_t i = 0; i < each.group.size(); ++i)
          *at++ += now.values[i] - each.last.values[i];
      }
      each.last = now;
    }
    // What passes until the next reading belongs to several ranges then, and to none of them.
    known_ = complete;
    failures_ += !complete;
    ++reads_;
    spent_ns_ += monotonic_ns() - begin;
  }

  slot* sums_of(std::uint32_t node) noexcept {
    if (node >= nodes_) {
      std::size_t const wanted = node + std::size_t{1} > 2 * nodes_ ? node + 64 : 2 * nodes_;
      auto* const grown = static_cast<slot*>(std::realloc(sums_, wanted * slots_ * sizeof(slot)));
      if (grown == nullptr) {
        ++failures_;
        return nullptr;
      }
      std::memset(grown + nodes_ * slots_, 0, (wanted - nodes_) * slots_ * sizeof(slot));
      sums_ = grown;
      nodes_ = wanted;
    }
    return sums_ + node * slots_;
  }

  perf_system const* system_;
  spin_mutex mutex_;
  vec<part> groups_;
  slot* sums_ = nullptr;
  std::size_t slots_ = 0;  ///< of a node
  std::size_t nodes_ = 0;
  std::uint32_t node_ = 0;
  bool on_ = false;
  bool known_ = false;  ///< the last reading is that of the moment when node_ was entered
  std::uint64_t reads_ = 0;
  std::uint64_t failures_ = 0;
  std::int64_t spent_ns_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_METER_HPP
