#include <strata/version.hpp>
#ifndef STRATA_SESSION_DEVICE_DRAIN_HPP
#define STRATA_SESSION_DEVICE_DRAIN_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/activity.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_client.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/session/machine.hpp>
#include <strata/status.hpp>

#include <cstdint>
#include <string>

#if defined(__linux__)
#include <pthread.h>
#include <unistd.h>
#endif

STRATA_BEGIN
namespace detail {

/// Does a thing in a thread of Strata's own, that of a call which may never come back. The thread
/// is not waited for: what it uses has to live as long as the process. Threads: any.
/// Returns: false where no thread can be started.
inline bool do_apart([[maybe_unused]] void (*body)() noexcept) noexcept {
#if defined(__linux__)
  pthread_t made{};
  machine::own_threads().fetch_add(1);
  void* (*const run)(void*) = [](void* what) -> void* {
    pthread_setname_np(pthread_self(), "strata-drain");
    {
      guest const as_guest;
      reinterpret_cast<void (*)() noexcept>(what)();
    }
    // The end of the last thread ends the process, and main may have ended before: then another
    // thread is in exit(), and ends the process when the report is written.
    bool const ends = block().phase.load() != process_phase::running;
    while (ends && machine::main_has_ended("/proc/self/stat")) (void)::pause();
    machine::own_threads().fetch_sub(1);
    return nullptr;
  };
  if (machine::start_thread(made, run, reinterpret_cast<void*>(body))) {
    pthread_detach(made);
    return true;
  }
  machine::own_threads().fetch_sub(1);
#endif
  return false;
}

/// The end of a session's device activity: what may wait for a device without an end is called by a
/// thread of Strata's own, which is waited for up to a deadline. Beyond it CUPTI is not called any
/// more, and the profile has what has come so far. While a device is waited for, nothing is held
/// but the exclusive scope of the capture_guard, by the thread that waits here.
/// Threads: that of the session.
class device_drain {
 public:
  explicit device_drain(std::uint32_t patience_ms) noexcept
      : patience_ns_(std::int64_t{patience_ms} * 1'000'000) {}
  device_drain(device_drain const&) = delete;
  device_drain& operator=(device_drain const&) = delete;

  /// Has what is complete delivered, and begins to wait for the devices. Requires: CUPTI is open.
  void begin() noexcept {
    alone_.emplace(capture_guard::patience / 10);
    // While a stream captures nothing is waited for: that would ruin the capture.
    auto* const wait = *alone_ ? &await_idle : &take_complete;
    latest_ = monotonic_ns() + patience_ns_;
    begun_ = call(wait);
  }

  /// Whether the devices are idle, or not to be waited for. The records that were complete come
  /// first, which may take its time.
  bool is_idle() noexcept {
    bool idle = true;
    if (begun_) {
      wait_while_records_come();
      idle = !give_up();
    }
    alone_.reset();
    return idle;
  }

  /// Takes what is left, as activity_collector::close. It may take its time while records come.
  /// Requires: is_idle() was true.
  void finish() noexcept {
    if (!begun_ || !call(&take_rest)) return activity().close();
    latest_ = monotonic_ns() + patience_ns_;
    wait_while_records_come();
    if (!give_up()) activity().let_go();
  }

  /// Whether a device did not answer.
  bool gave_up() const noexcept { return gave_up_; }

 private:
  /// How much longer than a device without an answer one may take that delivers records: 60 s by
  /// default, 10^8 records.
  static constexpr std::int64_t most_patiences = 60;

  static activity_collector& activity() { return activity_collector::instance(); }
  static cupti_client& client() { return activity().client_of_cupti(); }

  static void await_idle() noexcept {
    (void)if_memory_allows([] { activity().await_devices(true); });
    client().calls_end();
  }
  static void take_complete() noexcept {
    (void)if_memory_allows([] { activity().await_devices(false); });
    client().calls_end();
  }
  static void take_rest() noexcept {
    (void)if_memory_allows([] { activity().finish(); });
    client().calls_end();
  }

  static bool call(void (*body)() noexcept) noexcept {
    client().calls_begin();
    bool const started = do_apart(body);
    if (!started) client().calls_end();
    return started;
  }

  /// Until the calls come back, or no record has come for the patience. What other threads launch
  /// meanwhile is no answer of a device.
  void wait_while_records_come() noexcept {
    std::uint64_t seen = activity().delivered();
    std::int64_t const begin = monotonic_ns();
    while (client().calls_last() && monotonic_ns() < latest_) {
      capture_guard::rest();
      std::uint64_t const now = activity().delivered();
      bool const goes_on = now != seen && monotonic_ns() - begin < most_patiences * patience_ns_;
      if (goes_on) latest_ = monotonic_ns() + patience_ns_;
      seen = now;
    }
  }

  bool give_up() noexcept {
    gave_up_ = client().give_up();
    if (gave_up_) activity().give_up();
    return gave_up_;
  }

  std::int64_t patience_ns_;
  std::int64_t latest_ = 0;
  maybe<capture_guard::exclusive> alone_;
  bool begun_ = false;
  bool gave_up_ = false;
};

/// The devices for the head of a report. Where one does not answer, the driver may not come back
/// from this either: it is asked by a thread of Strata's own then, and after 0.2 s the report names
/// no device. Threads: that of the session.
class devices_of_machine {
 public:
  static status describe(profile_environment& to, options const& wanted, bool hangs) {
    if (!hangs) return machine::describe_devices(to, wanted.ceilings);
    answer& own = *new answer;  // stays, since nobody knows when the thread comes back
    own.ceilings = wanted.ceilings;
    asked().store(&own);
    if (!do_apart(&ask)) return {};
    std::int64_t const latest = monotonic_ns() + patience_ns;
    while (!own.there.load() && monotonic_ns() < latest) capture_guard::rest();
    if (!own.there.load()) return {};
    to.driver_version = own.made.driver_version;
    to.devices = own.made.devices;
    return own.outcome;
  }

 private:
  static constexpr std::int64_t patience_ns = 200'000'000;

  struct answer {
    std::string ceilings;
    profile_environment made;
    status outcome;
    atomic<bool> there{false};
  };
  static atomic<answer*>& asked() noexcept {
    static atomic<answer*> last{nullptr};
    return last;
  }
  static void ask() noexcept {
    answer& own = *asked().load();
    (void)if_memory_allows(
        [&own] { own.outcome = machine::describe_devices(own.made, own.ceilings); });
    own.there.store(true);
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_DRAIN_HPP
