#ifndef STRATA_SESSION_WATCHDOG_HPP
#define STRATA_SESSION_WATCHDOG_HPP

#include <strata/collect/cuda/activity.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/session/hang_report.hpp>
#include <strata/session/own_threads.hpp>
#include <strata/status.hpp>

#if defined(__linux__)
#include <time.h>
#endif

STRATA_BEGIN
namespace detail {

/// Says on the console where the program is when nothing has gone on for a while: no range or step
/// began or ended, no call into the driver was followed, no record came, and a range is open or
/// device work is without its end. A thread of its own looks, which calls neither CUPTI nor the
/// driver, and takes no lock that is held while a device is waited for.
class watchdog {
 public:
  watchdog() = default;
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog() { stop(); }

  /// Errors: unavailable: no thread can be started.
  status start(std::uint32_t patience_s) {
    patience_ns_ = std::int64_t{patience_s} * 1'000'000'000;
    if (patience_s == 0) return {};
#if defined(__linux__)
    ended_.reset();
    if (thread_.start(&run, this)) return {};
#endif
    return {errc::unavailable,
            "watchdog= does not watch, since no thread can be started: raise ulimit -u"};
  }

  /// Ends the thread. Threads: any.
  void stop() noexcept {
#if defined(__linux__)
    if (!thread_.runs()) return;
    ended_.make();
    thread_.join();
#endif
  }

 private:
  static constexpr std::int64_t period_ns = 50'000'000;
  static constexpr std::int64_t between_reports_ns = 60'000'000'000;

#if defined(__linux__)
  /// Until the session ends, or no other thread is left in the process.
  static void* run(void* context) {
    auto& self = *static_cast<watchdog*>(context);
    name_thread("strata-watchdog");
    own_thread const counted;
    program_threads program;
    while (!program.have_ended()) {
      self.ended_.pause(program.pause(period_ns));
      if (self.ended_.is_made()) break;
      (void)if_memory_allows([&self] { self.look(); });
    }
    return nullptr;
  }
#endif

  void look() {
    std::int64_t const now = kernel_ns();
    std::uint64_t const mark = recorder_mark() * 31 + activity_collector::instance().mark();
    if (mark != mark_ || since_ == 0) {
      mark_ = mark;
      since_ = now;
      return;
    }
    if (now - since_ < patience_ns_ || now < next_) return;
    profile_hang found;
    finder_.look_at_ranges(found);
    finder_.look_at_work(found);
    if (found.ranges.empty() && found.work.empty()) return;
    next_ = now + between_reports_ns;
    std::string const heading = sentence("nothing has gone on for ")
                                << (now - since_) / 1'000'000'000 << " s (watchdog=)";
    hang_finder::print(heading.c_str(), found, false);
  }

  /// Another number after each range and step.
  static std::uint64_t recorder_mark() {
    recorder& all = recorder::instance();
    std::uint64_t mark = all.steps_begun();
    all.for_each_thread([&](thread_recorder const& thread) { mark = mark * 31 + thread.mark(); });
    return mark;
  }

  hang_finder finder_;
  std::int64_t patience_ns_ = 0;
  std::int64_t since_ = 0;
  std::int64_t next_ = 0;
  std::uint64_t mark_ = 0;
#if defined(__linux__)
  stop_request ended_;
  owned_thread thread_;
#endif
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_WATCHDOG_HPP
