#include <strata/version.hpp>
#ifndef STRATA_SESSION_COUNTING_WAITS_HPP
#define STRATA_SESSION_COUNTING_WAITS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/activity.hpp>
#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/cuda/launch_streams.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/session/device_patience.hpp>
#include <strata/session/hang_report.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// How long a step that counts waits for the devices. CUPTI waits for them without an end, so that
/// a pass begins, changes its range and ends only while they are idle. Threads: the one that drives
/// the steps; `in_the_way` is for the session's too.
class counting_waits {
 public:
  static counting_waits& instance() noexcept {
    static counting_waits only;
    return only;
  }

  /// A session begins.
  void reset() noexcept {
    own_hang_ = pass_failed_ = false;
    busy_in_row_ = 0;
    longest_ns_ = 0;
    blocker_begin_ns_.store(0);
  }

  /// A step begins, whether it counts or not.
  static void choose_streams() noexcept {
    thread_recorder const* const own = thread_recorder::current();
    if (own != nullptr) activity().streams().choose(own->ordinal());
  }

  /// Before a pass: for the streams that the stepping thread launches most into, `drain=` ms: a
  /// program may run ahead of the device by many steps. Where that was not enough they are not
  /// waited for again until they are done.
  void await_own_streams() {
    if (!activity().is_open()) return;
    choose_streams();
    device_patience const patience;
    pause_outcome const outcome =
        activity().streams().wait_for_chosen([&] { return !own_hang_ && patience.lasts(); });
    if (outcome != pause_outcome::captures) own_hang_ = outcome == pause_outcome::busy;
  }

  /// Before a pass, and where a part of it is over: for all devices, a moment. It gets shorter in
  /// steps in a row that wait in vain, so that they cost milliseconds together.
  pause_outcome await_all() {
    return briefly([](auto goes_on) { return device_fence::wait_for_all(goes_on); });
  }
  /// As await_all; what is traced has come then, and is traced no more.
  pause_outcome suspend() {
    return briefly([](auto goes_on) { return activity().pause(goes_on); });
  }

  /// In a pass: for what was launched in it, `drain=` ms. Once that was not enough, as with a
  /// collective that needs this thread, later passes are given up after twice what such a wait took
  /// that was not in vain.
  bool await_pass() {
    if (!activity().is_open()) return true;
    std::int64_t const begin = monotonic_ns();
    std::int64_t const most = larger(moment_ns, 2 * longest_ns_);
    device_patience const patience;
    pause_outcome const outcome = device_fence::wait_for_all(
        [&] { return patience.lasts() && (!pass_failed_ || monotonic_ns() - begin < most); });
    bool const failed = outcome == pause_outcome::busy;
    if (!failed) longest_ns_ = larger(longest_ns_, monotonic_ns() - begin);
    pass_failed_ = pass_failed_ || failed;
    if (failed) find_blocker();
    return !failed;
  }

  /// What the last of those waits was in vain for: "a stream whose last traced launch was in stuck,
  /// 8.0 s before"; empty where it had no traced launch.
  std::string in_the_way() const {
    std::int64_t const begin = blocker_begin_ns_.load();
    if (begin == 0) return {};
    return sentence("a stream whose last traced launch was in ")
           << hang_finder::shown_path(blocker_node_.load()) << ", "
           << hang_finder::seconds(blocked_ns_.load() - begin) << " before";
  }

 private:
  static constexpr std::int64_t moment_ns = 2'000'000;

  static activity_collector& activity() { return activity_collector::instance(); }

  template <class Wait>
  pause_outcome briefly(Wait wait) {
    if (!activity().is_open()) return pause_outcome::paused;
    std::int64_t const latest = monotonic_ns() + moment_ns / (busy_in_row_ + 1);
    pause_outcome const outcome = wait([latest] { return monotonic_ns() < latest; });
    if (outcome == pause_outcome::paused) busy_in_row_ = 0;
    if (outcome != pause_outcome::busy) return outcome;
    ++busy_in_row_;
    find_blocker();
    return outcome;
  }

  /// Looks for it once in steps in a row: each question is of all streams.
  void find_blocker() {
    launch_streams::launch oldest;
    bool const known = busy_in_row_ > 1 && blocker_begin_ns_.load() != 0;
    bool const found = !known && activity().streams().find_busy(oldest);
    if (found) {
      blocker_node_.store(oldest.node);
      blocker_begin_ns_.store(oldest.begin_ns);
    }
    blocked_ns_.store(monotonic_ns());
  }

  bool own_hang_ = false;         // since they did not answer in time
  bool pass_failed_ = false;      // a device was not idle in time within one
  std::int64_t busy_in_row_ = 0;  // waits in vain
  std::int64_t longest_ns_ = 0;   // that a pass waited, not in vain
  atomic<std::uint32_t> blocker_node_{no_reference};
  atomic<std::int64_t> blocker_begin_ns_{0};  // of its last launch; 0: not known
  atomic<std::int64_t> blocked_ns_{0};        // the last time
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_COUNTING_WAITS_HPP
