#include <strata/version.hpp>
#ifndef STRATA_SESSION_CUDA_WATCH_HPP
#define STRATA_SESSION_CUDA_WATCH_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/session/own_threads.hpp>
#include <strata/status.hpp>

#include <cstdint>

#if defined(__linux__)
#include <time.h>
#endif

STRATA_BEGIN
namespace detail {

/// A thread that looks every 5 ms for what the session waits for, the program's first use of CUDA.
/// Between cuInit and the first kernel lies the making of a context, 80 ms and more, in which CUPTI
/// comes (40 ms; H200, driver 580): so a kernel is traced whose launch is the first call of CUDA.
/// Threads: that of the session.
class cuda_watch {
 public:
  cuda_watch() = default;
  cuda_watch(cuda_watch const&) = delete;
  cuda_watch& operator=(cuda_watch const&) = delete;

  /// Errors: unavailable: no thread can be started, and only ranges look.
  status start() {
#if defined(__linux__)
    ended_.store(false);
    asked_to_end_.store(false);
    if (thread_.start(&run, this)) return {};
#endif
    return {errc::unavailable,
            "kernels of the range in which the program begins to use CUDA may be missing, since no "
            "thread can be started: raise ulimit -u, or call cudaFree(0) before the first range"};
  }

  /// Ends the thread. Cost: up to 5 ms. Returns: false where it is in a call that does not come
  /// back within so many ms.
  bool stop([[maybe_unused]] std::uint32_t patience_ms) noexcept {
#if defined(__linux__)
    if (!thread_.runs()) return true;
    asked_to_end_.store(true);
    std::int64_t const latest =
        monotonic_ns() + std::int64_t{patience_ms} * 1'000'000 + 2 * period_ns;
    for (unsigned turn = 0; !ended_.load(); ++turn) {
      if (monotonic_ns() > latest) return false;
      wait_a_turn(turn);
    }
    thread_.join();
#endif
    return true;
  }

#if defined(__linux__)
 private:
  static constexpr std::int64_t period_ns = 5'000'000;

  static void* run(void* context) {
    auto& self = *static_cast<cuda_watch*>(context);
    name_thread("strata-cuda");
    {
      own_thread const counted;
      program_threads program;
      constexpr unsigned second = 200;
      for (unsigned turn = 1; !self.asked_to_end_.load(); ++turn) {
        timespec const pause = program.pause(period_ns);
        (void)nanosleep(&pause, nullptr);
        if (recorder::instance().look()) break;
        if (turn % second == 0 && program.have_ended()) break;
      }
    }
    self.ended_.store(true);
    return nullptr;
  }

  owned_thread thread_;
  atomic<bool> ended_{false};
  atomic<bool> asked_to_end_{false};
#endif
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_CUDA_WATCH_HPP
