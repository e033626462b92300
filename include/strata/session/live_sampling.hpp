#ifndef STRATA_SESSION_LIVE_SAMPLING_HPP
#define STRATA_SESSION_LIVE_SAMPLING_HPP

#include <strata/base/guest.hpp>
#include <strata/collect/counters/device_sampler.hpp>
#include <strata/collect/counters/energy_meter.hpp>
#include <strata/collect/counters/sample_store.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cuda_use.hpp>
#include <strata/collect/cuda/traced_records.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/options.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/own_threads.hpp>
#include <strata/session/sampled_totals.hpp>

#include <time.h>

STRATA_BEGIN
namespace detail {

/// `live`: samples the counters of a device in a thread of its own, from the program's first use of
/// CUDA to the session's end, or in a window that is reported by itself. The thread alone calls the
/// sampling: it opens it, reads it in batches and closes it. It subscribes to nothing and waits for
/// no device. Threads: that of the session; `choose_device` is for the one that drives the steps.
class live_sampling : uncopied {
 public:
  /// Units of time of an interval that was not given: none that a step's length is a multiple of.
  static constexpr std::int64_t usual_interval_ns = 309'017;

  /// What the samples take of `log=`; the rest of it is the host's.
  static std::size_t room_bytes(options const& wanted) noexcept {
    return wanted.live ? (std::size_t{wanted.log_mb} << 20) / 4 : 0;
  }

  /// Errors: unavailable: no thread can be started, or that of an earlier session does not end.
  status start(options const& wanted) {
    wanted_ = wanted.live;
    if (!wanted_) return {};
    if (!ended_.load()) {  // all below is that thread's
      wanted_ = false;
      return {errc::unavailable,
              "live: nothing is sampled: an earlier session's call of CUPTI has not come back; "
              "start the program again"};
    }
    interval_ns_ =
        wanted.interval_us == 0 ? usual_interval_ns : std::int64_t{1000} * wanted.interval_us;
    room_bytes_ = room_bytes(wanted);
    gave_up_.store(false);
    device_.store(unknown);
    own_ = {};
    own_.clock.begin_session();
    has_driver_.store(cuda_use::has_begun() && driver_library::get().ok());
    choose_device();
    ended_.store(false);
    stop_.reset();
    owned_thread thread;
    if (thread.start(&run, this)) {
      thread.name("strata-live");
      thread.detach();  // it may be in a call that does not come back
      return {};
    }
    ended_.store(true);
    wanted_ = false;
    return {errc::unavailable,
            "live: nothing is sampled, since no thread can be started: raise ulimit -u"};
  }

  /// Samples the device of the calling thread's context, if no other is chosen yet. It opens no
  /// library and looks for none, which takes a lock that a step must not wait for.
  void choose_device() noexcept {
    if (!wanted_ || device_.load(memory_order_relaxed) != unknown || !has_driver_.load()) return;
    driver::device_handle device = 0;
    if (capture_guard::current() != nullptr &&
        driver::succeeds(driver_library::get().api.context_device, &device))
      device_.store(device);
  }

  /// Ends the sampling and the thread. Returns: false where it is in a call that does not come back
  /// within so many ms: then nothing of it may be used any more. It is waited for once.
  bool stop([[maybe_unused]] std::uint32_t patience_ms) noexcept {
    if (!wanted_ || gave_up_.load()) return ended_.load();
    stop_.make();
    deadline patience(std::int64_t{patience_ms} * 1'000'000 + 50'000'000);
    for (unsigned turn = 0; !ended_.load(); ++turn) {
      if (!patience.lasts()) {
        gave_up_.store(true);
        return false;
      }
      wait_a_turn(turn);
    }
    return true;
  }

  /// What to say where stop() returned false, and where counters are to be counted then.
  static constexpr char const* lost =
      "live: CUPTI does not come back from a call, and what was sampled is lost";
  static constexpr char const* in_the_way =
      "counters are not counted: live has the counters of the device, and CUPTI does not come back "
      "from a call; leave live out";

  /// Adds what was sampled, and what was lost. Requires: stop() returned true, and the records are
  /// in the profile, in its times.
  void copy_to(profile& target, tick_converter const& ticks, bool has_schedule,
               vec<status>& problems) {
    if (!wanted_ || !ended_.load()) return;
    if (own_.short_of_memory)
      problems.emplace_back(errc::limit,
                            "live: memory is short, and nothing more is sampled: free some, or "
                            "lower log= and buffers=");
    if (!own_.problem.ok()) problems.push_back(own_.problem);
    sampling_losses const& missed = own_.sampler.losses();
    std::uint64_t const misplaced = own_.store.convert([&](std::int64_t& begin, std::int64_t& end) {
      if (!own_.clock.accept(begin, end, true)) return false;
      begin = own_.bridge.to_ns(begin, ticks);
      end = own_.bridge.to_ns(end, ticks);
      return end > begin;
    });
    if (own_.store.all().count == 0) {
      bool const is_explained = !own_.problem.ok() || own_.short_of_memory;
      if (!is_explained && own_.began_ns != 0)  // else nothing of CUDA was used, which is said
        problems.emplace_back(errc::unavailable,
                              "live: there is no sample: the program or its window ended before "
                              "CUPTI began; let it run "
                              "for 2 s or more");
      return;
    }
    if (missed.overflows + missed.gaps != 0)
      problems.emplace_back(errc::limit, sentence("live: ")
                                             << time_text(double(missed.gap_ns))
                                             << " were not sampled (full buffers of the hardware: "
                                             << missed.overflows << "): choose a longer interval=");
    if (missed.without_value + misplaced + own_.store.without_room() != 0)
      problems.emplace_back(errc::limit, sentence("live: samples are missing, ")
                                             << own_.store.without_room()
                                             << " since memory was short (raise log=), and "
                                             << missed.without_value + misplaced
                                             << " without a value or a possible time");
    target.samples = own_.store.take();
    target.samples.device = static_cast<std::uint32_t>(device_.load());
    target.samples.only_steps = has_schedule || !target.traced;
    target.energy = own_.energy.take();
    if (own_.energy.is_open() && target.energy.empty())
      own_.no_energy = "Energy was not read: its counter did not move meanwhile. ";
    target.samples.about = sentence("Sampled on ")
                           << own_.sampler.chip() << " each " << time_text(double(interval_ns_))
                           << ": " << own_.sampler.samples() << " samples, kept as "
                           << target.samples.count << ", which took "
                           << time_text(double(own_.spent_ns)) << " of a CPU. " << own_.no_energy;
    for (energy_reading& each : target.energy) each.at = ticks.to_ns(each.at);
    if (own_.energy.failures() != 0)
      problems.emplace_back(errc::limit, sentence("live: the energy of the GPU could not be read ")
                                             << own_.energy.failures()
                                             << " times: its values cover longer intervals");
    counter_set& set = target.add_counters(counter_set::live);
    describe(set);
    set.about = target.samples.about;
    add_sampled_totals(target, set);
  }

 private:
  static constexpr int unknown = -1;

  void describe(counter_set& set) const {
    sampled_metrics const& chosen = own_.sampler.chosen();
    set.method = counting::sampled;
    set.where = own_.sampler.chip();
    set.devices.push_back(static_cast<std::uint32_t>(device_.load()));
    set.metrics = chosen.set;
    set.left_out = chosen.left_out;
    set.passes = set.passes_done = 1;
    for (absent_metric const& missing : chosen.left_out) set.metrics.absent.push_back(missing);
    for (std::string const& name : chosen.config.names()) set.names.push_back(name);
  }

  static cupti_presence& presence() noexcept { return cupti::profiler::presence(); }

  static void* run(void* context) {
    auto& self = *static_cast<live_sampling*>(context);
    {
      own_thread const counted;
      guest const as_guest;
      self.sample();
    }
    self.ended_.store(true);
    return nullptr;
  }

  void sample() noexcept {
    program_threads program;
    std::int64_t looked = kernel_ns();
    while (!stop_.is_made()) {
      if (!if_memory_allows([this] { look(); })) own_.short_of_memory = true;
      if (own_.short_of_memory || !own_.problem.ok()) break;
      stop_.pause(program.pause(own_.sampler.is_open() ? pause_ns() : waiting_ns));
      (void)if_memory_allows([this] {
        cupti_presence::use const here(presence());  // no library is called after the exit began
        if (here) own_.energy.look(kernel_ns(), recorder::instance().clock());
      });
      std::int64_t const now = kernel_ns();
      if (now - looked < second_ns) continue;
      looked = now;
      if (program.have_ended()) return;  // and with them the process, soon
    }
    if (!if_memory_allows([this] { finish(); })) {
      own_.short_of_memory = true;
      close();
    }
    timespec used{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
      own_.spent_ns = std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
  }

  /// A batch, or the beginning.
  void look() {
    cupti_presence::use const here(presence());
    if (!here) return;
    if (!own_.sampler.is_open()) return open();
    if (own_.sampler.stands_still()) {
      capture_guard::exclusive const alone(capture_guard::short_patience);
      if (!alone) return;
      own_.sampler.close();
      return keep(own_.sampler.begin());
    }
    read_clock(false);
    keep(read([this] { return !stop_.is_made(); }));
  }

  template <class Continues>
  status read(Continues const& continues) {
    return own_.sampler.read([this](counted_sample const& made) { own_.store.add(made); },
                             continues);
  }

  /// Of the backlog it takes so much as stop() waits for.
  void finish() {
    cupti_presence::use const here(presence());
    if (!here || !own_.sampler.is_open()) return;
    read_clock(true);
    {
      capture_guard::exclusive const alone(capture_guard::short_patience);
      if (alone) keep(own_.sampler.stop());
    }
    int rounds = 16;
    keep(read([&rounds] { return --rounds > 0; }));
    close();
  }

  /// During a capture or a graph call CUPTI is left alone, and its object stays.
  void close() noexcept {
    cupti_presence::use const here(presence());
    capture_guard::exclusive const alone(capture_guard::short_patience);
    if (here && alone) return own_.sampler.close();
    own_.sampler.abandon();
  }

  /// Of the device of the thread that drives the steps; of the first one where there is no such
  /// thread half a second after the program began to use CUDA.
  void open() {
    if (!cuda_use::has_begun()) return;
    has_driver_.store(driver_library::get().ok());
    std::int64_t const now = kernel_ns();
    if (own_.began_ns == 0) own_.began_ns = now;
    if (device_.load() == unknown && now - own_.began_ns < second_ns / 2) return;
    int none = unknown;
    (void)device_.compare_exchange_strong(none, 0);
    profiler_library const& library = profiler_library::get();
    if (!driver_library::get().ok() || !library.ok()) {
      own_.problem = {errc::unavailable, "live: nothing is sampled: " +
                                             (library.ok() ? std::string("the driver does not work")
                                                           : library.problem)};
      return;
    }
    (void)cupti_library::get();
    status opened;
    if (!own_.sampler.is_chosen())
      opened = own_.sampler.choose(library, device_.load(), interval_ns_,
                                   [this] { return !stop_.is_made(); });
    if (opened) {
      capture_guard::exclusive const alone(capture_guard::short_patience);
      if (!alone) return;  // again soon
      read_clock(true);
      opened = own_.sampler.begin();
    }
    if (!opened) {
      if (stop_.is_made()) return;
      own_.problem = {opened.code(), "live: nothing is sampled: " + opened.message()};
      return;
    }
    own_.store.begin(own_.sampler.chosen().config.names().size(), room_bytes_, interval_ns_ / 2);
    own_.no_energy =
        own_.energy.open(machine::uuid_of(driver_library::get(), device_.load())).message();
  }

  void keep(status const& outcome) {
    if (!outcome.ok() && own_.problem.ok())
      own_.problem = {outcome.code(), "live: the sampling ended early: " + outcome.message()};
  }

  /// Each second, and at the begin and end. Source: cuptiGetTimestamp.
  void read_clock(bool at_once) {
    if (!at_once && monotonic_ns() < own_.next_clock_ns) return;
    clock_sample sample = cupti_library::get().sample_clocks(recorder::instance().clock());
    (void)own_.clock.read(sample);
    own_.bridge.add(sample);
    own_.next_clock_ns = sample.before + second_ns;
  }

  /// So that a batch has some hundred samples, and the hardware's buffer is never near its end.
  std::int64_t pause_ns() const noexcept {
    constexpr std::int64_t batch = 256;
    std::int64_t const usual = smaller(batch * interval_ns_, second_ns / 10);
    return larger(std::int64_t{1'000'000}, smaller(usual, own_.energy.due() - kernel_ns()));
  }

  static constexpr std::int64_t second_ns = 1'000'000'000;
  static constexpr std::int64_t waiting_ns = 5'000'000;

  /// Of the thread, until it has ended.
  struct sampling {
    device_sampler sampler;
    sample_store store;
    energy_meter energy;
    std::string no_energy;  // why it is not read
    record_clock clock;
    clock_bridge bridge;
    status problem;
    bool short_of_memory = false;
    std::int64_t began_ns = 0;  // when the program was seen to use CUDA
    std::int64_t next_clock_ns = 0;
    std::int64_t spent_ns = 0;
  };

  stop_request stop_;
  bool wanted_ = false;
  std::int64_t interval_ns_ = usual_interval_ns;
  std::size_t room_bytes_ = 0;
  atomic<int> device_{unknown};
  atomic<bool> has_driver_{false};  // which works, and is open
  atomic<bool> ended_{true};
  atomic<bool> gave_up_{false};  // stop() returned false
  sampling own_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_LIVE_SAMPLING_HPP
