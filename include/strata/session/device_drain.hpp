#ifndef STRATA_SESSION_DEVICE_DRAIN_HPP
#define STRATA_SESSION_DEVICE_DRAIN_HPP

#include <strata/options.hpp>
#include <strata/session/hang_report.hpp>
#include <strata/session/machine.hpp>

STRATA_BEGIN
namespace detail {

/// What a thread of Strata's own does. It lives as long as that thread may.
struct apart_work {
  void (*body)(void* context) noexcept;
  void* context;
};

/// For a thread that began after main had ended. The last thread of the program may be in exit()
/// since then: it counts as ended, so that the C library would take the end of this one for the
/// last, and call exit() too. Returns: only where another thread of Strata's exits.
inline void end_with_program() noexcept {
  program_threads program;
  while (!program.have_ended()) {
    timespec const pause = program.pause(1'000'000'000);
    (void)::nanosleep(&pause, nullptr);
  }
  program_threads::end_process();
}

/// Runs `what`, a call that may never come back, in a separate thread of Strata's. The thread
/// is not waited for: what it uses has to live as long as the process. Threads: any.
/// Returns: false where no thread can be started.
inline bool do_apart(apart_work& what) noexcept {
  pthread_t made{};
  void* (*const run)(void*) = [](void* context) -> void* {
    name_thread("strata-drain");
    own_thread const counted;
    bool const is_late = main_has_ended();
    {
      guest const as_guest;
      apart_work const work = *static_cast<apart_work*>(context);
      work.body(work.context);
    }
    if (is_late) end_with_program();
    return nullptr;
  };
  if (start_thread(made, run, &what)) {
    pthread_detach(made);
    return true;
  }
  return false;
}

/// A call of a thread of Strata's own does not come back: that thread keeps the process alive. It
/// ends with the last of the program's threads, as it would have, once that main has ended by
/// pthread_exit. Threads: any.
inline void end_with_last_thread() noexcept {
  static apart_work ends{[](void*) noexcept { end_with_program(); }, nullptr};
  static atomic<bool> begun{false};
  if (!begun.exchange(true)) (void)do_apart(ends);
}

/// How long the work of a device is waited for: `drain=` ms, and so long after each record that is
/// read, up to 60 times. Threads: one.
class record_patience {
 public:
  explicit record_patience(std::int64_t ms) noexcept
      : patience_ns_(ms * 1'000'000),
        whole_(max_patiences * patience_ns_),
        next_(patience_ns_),
        seen_(delivered()) {}

  bool lasts() noexcept {
    std::uint64_t const records = delivered();
    if (records != seen_ && whole_.lasts()) next_ = deadline(patience_ns_);
    seen_ = records;
    return next_.lasts();
  }

 private:
  static constexpr std::int64_t max_patiences = 60;

  static std::uint64_t delivered() noexcept { return activity_collector::instance().delivered(); }

  std::int64_t patience_ns_;
  deadline whole_;
  deadline next_;  // of a record
  std::uint64_t seen_;
};

/// How long the program's own threads wait for a device, in steps that count and with `sync=1`:
/// `drain=` ms of the last session. Threads: any.
class device_patience {
 public:
  device_patience() noexcept : end_(patience_ns().load()) {}

  static void set(std::uint32_t ms) noexcept { patience_ns().store(std::int64_t{ms} * 1'000'000); }
  bool lasts() noexcept { return end_.lasts(); }

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
    device_patience patience;
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
                            << hang_finder::path_now(static_cast<std::uint32_t>(node))
                            << ", so no range waited for it from then on: raise drain=, or leave "
                               "sync=1 out if work does not end"};
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

  deadline end_;
};

/// The end of a session's device activity. The devices are waited for as long as `drain=` says;
/// what may not come back is called by a thread of Strata's own, which is not waited for much
/// longer: then CUPTI is not called any more, and the profile has what has come so far. Captures
/// and graph calls are kept out until the events are recorded, in `begin` as a rule; where
/// the driver is older than CUDA 12.5, as long as a device is waited for. Threads: that of the
/// session. Where CUPTI is silent, the drain has to live as long as the process.
class device_drain : uncopied {
 public:
  enum class outcome : unsigned char {
    idle,
    busy,   // the devices did not end their work in time
    silent  // CUPTI or the driver did not come back
  };

  explicit device_drain(std::uint32_t patience_ms) noexcept : patience_ms_(patience_ms) {}

  /// Has what is complete delivered, and begins to wait for the devices. Requires: CUPTI is open.
  void begin() noexcept {
    alone_.emplace(capture_guard::short_patience);
    captures_ = !*alone_;  // nothing is waited for then: that would ruin the capture
    begun_ = call(awaits_devices_);
    // The events take microseconds; what the session does before it waits may take a disk's time.
    deadline patience(capture_guard::short_patience);
    while (begun_ && !added_.load() && patience.lasts()) capture_guard::rest();
    if (added_.load()) alone_.reset();
  }

  /// Until the devices are idle, or not to be waited for.
  outcome wait() noexcept {
    if (begun_) wait_for_calls();
    alone_.reset();
    return outcome_;
  }

  /// Takes what is left, which may take its time while records come. Requires: `wait` came back.
  void finish() noexcept {
    if (outcome_ == outcome::silent) return;
    bool const process_ends = block().phase.load() != process_phase::running;
    if (outcome_ == outcome::busy && process_ends) return;
    if (call(takes_rest_)) wait_for_calls();
    if (outcome_ == outcome::idle) activity().let_go();
  }

  /// How the devices fared.
  outcome found() const noexcept { return outcome_; }

 private:
  /// For what the thread does when its own patience is over.
  static constexpr std::uint32_t grace_ms = 300;

  static activity_collector& activity() { return activity_collector::instance(); }
  static cupti_client& client() { return activity().client_of_cupti(); }

  void await_devices() noexcept {
    bool idle = true;
    (void)if_memory_allows([&] {
      maybe<record_patience> patience;
      idle = activity().await_devices(
          captures_,
          [&] {
            added_.store(true);
            patience.emplace(patience_ms_);
          },
          [&] { return patience->lasts(); });
    });
    added_.store(true);
    idle_.store(idle);
    client().calls_end();
  }
  void take_rest() noexcept {
    (void)if_memory_allows([] { activity().finish(); });
    client().calls_end();
  }

  /// Begins the work in a thread of Strata's own, or does it. Returns: whether there is a thread.
  static bool call(apart_work& work) noexcept {
    client().calls_begin();
    bool const started = do_apart(work);
    if (!started) work.body(work.context);
    return started;
  }

  void wait_for_calls() noexcept {
    record_patience patience(std::int64_t{patience_ms_} + grace_ms);
    while (client().calls_last() && patience.lasts()) {
      if (added_.load()) alone_.reset();
      capture_guard::rest();
    }
    bool const silent = client().give_up();
    if (silent) activity().give_up();
    if (silent || outcome_ == outcome::silent) outcome_ = outcome::silent;
    if (silent && block().phase.load() == process_phase::running) end_with_last_thread();
    if (!silent && !idle_.load()) outcome_ = outcome::busy;
  }

  std::uint32_t patience_ms_;
  maybe<capture_guard::exclusive> alone_;
  apart_work awaits_devices_{
      [](void* self) noexcept { static_cast<device_drain*>(self)->await_devices(); }, this};
  apart_work takes_rest_{[](void* self) noexcept { static_cast<device_drain*>(self)->take_rest(); },
                         this};
  bool captures_ = false;
  bool begun_ = false;
  outcome outcome_ = outcome::idle;
  atomic<bool> added_{false};  // the events are recorded
  atomic<bool> idle_{true};
};

/// The devices for the head of a report. Where one does not answer, the driver may not come back
/// from this either: it is asked by a thread of Strata's own then, and after 0.2 s the report names
/// no device. Threads: that of the session.
class devices_of_machine {
 public:
  static status describe(profile_environment& environment, options const& wanted, bool hangs) {
    if (!hangs) return machine::describe_devices(environment, wanted.ceilings);
    answer& own = *new answer;
    own.ceilings = wanted.ceilings;
    own.asks = {&ask, &own};
    if (!do_apart(own.asks)) {
      delete &own;
      return {};
    }
    deadline patience(patience_ns);
    while (own.state.load() == answer_state::awaited && patience.lasts()) capture_guard::rest();
    if (own.state.exchange(answer_state::given_up) == answer_state::awaited) {
      if (block().phase.load() == process_phase::running) end_with_last_thread();
      return {};
    }
    environment.driver_version = std::move(own.made.driver_version);
    environment.devices = std::move(own.made.devices);
    status const outcome = own.outcome;
    delete &own;
    return outcome;
  }

 private:
  static constexpr std::int64_t patience_ns = 200'000'000;

  /// An answer that nobody awaits any more is the thread's to delete.
  enum class answer_state : std::uint8_t { awaited, there, given_up };
  struct answer {
    std::string ceilings;
    profile_environment made;
    status outcome;
    atomic<answer_state> state{answer_state::awaited};
    apart_work asks{};
  };
  static void ask(void* context) noexcept {
    answer& own = *static_cast<answer*>(context);
    (void)if_memory_allows(
        [&own] { own.outcome = machine::describe_devices(own.made, own.ceilings); });
    if (own.state.exchange(answer_state::there) == answer_state::given_up) delete &own;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_DRAIN_HPP
