#include <strata/version.hpp>
#ifndef STRATA_SESSION_DEVICE_PATIENCE_HPP
#define STRATA_SESSION_DEVICE_PATIENCE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/session/hang_report.hpp>
#include <strata/status.hpp>

#include <cstdint>

STRATA_BEGIN
namespace detail {

/// How long the program's own threads wait for a device, in steps that count and with `sync=1`:
/// `drain=` ms of the last session. Threads: any.
class device_patience {
 public:
  device_patience() noexcept : latest_(monotonic_ns() + patience_ns().load()) {}

  static void set(std::uint32_t ms) noexcept { patience_ns().store(std::int64_t{ms} * 1'000'000); }
  bool lasts() const noexcept { return monotonic_ns() < latest_; }

  /// Waits for the work of the current context, if there is one and nothing captures. Once that was
  /// in vain no range waits any more: this one is where it was given up.
  static void wait_for_range() noexcept {
    driver::context_handle const context = capture_guard::current();
    if (context == nullptr || given_up().load() != still_waits) return;
    device_fence work;
    {
      capture_guard::exclusive const alone(0);
      if (!alone) return;
      work.add(context);
    }
    device_patience const patience;
    bool const done =
        work.wait([&patience] { return patience.lasts() && given_up().load() == still_waits; });
    thread_recorder* const own = thread_recorder::current();
    std::uint64_t waits = still_waits;
    if (!done)
      (void)given_up().compare_exchange_strong(waits, own == nullptr ? root_node : own->node());
  }

  /// A session begins: ranges wait again.
  static void begin_again() noexcept { given_up().store(still_waits); }
  /// What to say where a range of the session waited in vain.
  static status problem() {
    std::uint64_t const node = given_up().load();
    if (node == still_waits) return {};
    return {errc::busy, sentence("sync=1: the GPU had not done its work ")
                            << patience_ns().load() / 1'000'000 << " ms (drain=) after the end of "
                            << hang_finder::shown_path(static_cast<std::uint32_t>(node))
                            << ", so no range waited for it from then on: raise drain=, or leave "
                               "sync=1 out beside work that does not end"};
  }

 private:
  static atomic<std::int64_t>& patience_ns() noexcept {
    static atomic<std::int64_t> ns{1'000'000'000};
    return ns;
  }
  static constexpr std::uint64_t still_waits = ~std::uint64_t{0};  // no node
  static atomic<std::uint64_t>& given_up() noexcept {
    static atomic<std::uint64_t> node{still_waits};
    return node;
  }

  std::int64_t latest_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_PATIENCE_HPP
