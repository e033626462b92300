#ifndef STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP

#include <strata/base/guest.hpp>
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

STRATA_BEGIN
namespace detail {

/// Buffers of one size for CUPTI to write into: zeroed, touched before they are needed, reused.
/// Those in CUPTI's hands are never freed, since it may hold one at any time. Threads: any.
class buffer_pool {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{2} << 20;
  static constexpr std::size_t alignment = 64;

  explicit buffer_pool(memory_budget& budget) noexcept : budget_(&budget) {}

  /// Makes sure that this many buffers lie ready, as far as the budget goes.
  void prepare(std::size_t count) noexcept {
    for (;;) {
      {
        system_lock lock(mutex_);
        if (free_.size() >= count) return;
      }
      std::uint8_t* const made = make(false);
      if (made == nullptr) return;
      system_lock lock(mutex_);
      free_.push_back(made);
    }
  }

  /// The memory of all buffers, in CUPTI's hands or here.
  std::uint64_t bytes() const noexcept { return made_.load(memory_order_relaxed) * buffer_bytes; }

  /// Frees buffers that lie here until all of them, also those in CUPTI's hands, take no more than
  /// this; what was made beyond an earlier budget counts from now on like the rest.
  void shrink(std::uint64_t bytes_left) noexcept {
    system_lock lock(mutex_);
    while (!free_.empty() && bytes() > bytes_left) {
      ::operator delete (free_.back(), std::align_val_t{alignment});
      free_.pop_back();
      made_.fetch_sub(1, memory_order_relaxed);
    }
    beyond_.store(0, memory_order_relaxed);
  }

  /// The memory of buffers that were made although the budget was used up.
  std::uint64_t bytes_beyond_budget() const noexcept {
    return beyond_.load(memory_order_relaxed) * buffer_bytes;
  }

  /// Buffers that may be made beyond the budget, so that the sums continue.
  static constexpr std::size_t most_beyond = 8;

  /// A zeroed buffer; null when there are too many, unless one is `needed`.
  std::uint8_t* take(bool needed) noexcept {
    std::uint8_t* taken = nullptr;
    {
      system_lock lock(mutex_);
      if (!free_.empty()) {
        taken = free_.back();
        free_.pop_back();
      }
    }
    if (taken == nullptr) taken = make(needed || beyond_.load(memory_order_relaxed) < most_beyond);
    if (taken == nullptr) return nullptr;
    system_lock lock(mutex_);
    taken_.push_back(taken);
    return taken;
  }

  /// Takes a buffer back of which the first `used` bytes were written. Another client's, which
  /// CUPTI may complete here, is left alone.
  void give_back(std::uint8_t* buffer, std::size_t used) noexcept {
    std::memset(buffer, 0, used < buffer_bytes ? used : buffer_bytes);
    system_lock lock(mutex_);
    std::size_t const before = taken_.size();
    taken_.keep_if([buffer](std::uint8_t const* taken) { return taken != buffer; });
    if (taken_.size() != before) free_.push_back(buffer);
  }

 private:
  std::uint8_t* make(bool beyond_budget) noexcept {
    bool const within = budget_->take(buffer_bytes, memory_use::record);
    if (!within && !beyond_budget) return nullptr;
    auto* const made = static_cast<std::uint8_t*>(
        ::operator new (buffer_bytes, std::align_val_t{alignment}, std::nothrow));
    if (made == nullptr) {
      if (within) {
        budget_->give(buffer_bytes);
        budget_->end();
      }
      return nullptr;
    }
    bool has_room = false;
    {
      system_lock lock(mutex_);
      std::size_t const all = static_cast<std::size_t>(made_.load(memory_order_relaxed)) + 1;
      // Each buffer may come to either list without memory.
      has_room = free_.make_room(all - free_.size()) && taken_.make_room(all - taken_.size());
      if (has_room) made_.fetch_add(1, memory_order_relaxed);
    }
    if (!has_room) {
      ::operator delete (made, std::align_val_t{alignment});
      if (within) budget_->give(buffer_bytes);
      return nullptr;
    }
    std::memset(made, 0, buffer_bytes);
    if (!within) beyond_.fetch_add(1, memory_order_relaxed);
    return made;
  }

  memory_budget* budget_;
  atomic<std::uint64_t> made_{0};
  atomic<std::uint64_t> beyond_{0};
  system_mutex mutex_;
  vec<std::uint8_t*> free_;
  vec<std::uint8_t*> taken_;  // in CUPTI's hands
};

/// The buffers that CUPTI fills with records, and the records in compact form. There is one in a
/// process, since CUPTI knows one pair of buffer callbacks; it is never destroyed, since CUPTI may
/// call back at any time. Threads: one thread attaches, flushes and takes; CUPTI's threads request
/// and complete.
class activity_buffers {
 public:
  static activity_buffers& instance() {
    static auto* const only = static_cast<activity_buffers*>(shared_object(
        process_object::activity_buffers, []() -> void* { return new activity_buffers; }));
    return *only;
  }

  /// Gives CUPTI the callbacks, unless it has them, and makes some buffers ready.
  /// Source: cuptiActivityRegisterCallbacks.
  status attach(cupti_library const& library) {
    if (!cupti_.has_callbacks) {
      cupti::table const& api = library.api;
      std::uint8_t zeroed = 1;
      std::size_t size = sizeof zeroed;
      if (api.set_attribute != nullptr) {
        (void)api.set_attribute(cupti::attribute::zeroed_out_activity_buffer, &size, &zeroed);
      }
      library_ = &library;
      auto const code = api.register_callbacks(&request, &complete);
      if (code != cupti::result::success)
        return {errc::unavailable, library.describe("cuptiActivityRegisterCallbacks", code)};
      cupti_.has_callbacks = true;
      std::uint64_t const ours = dropped_.load();
      count_dropped();
      dropped_.store(ours);
    }
    // CUPTI holds full buffers until the period is over, so a long one needs many.
    if (library.api.flush_period != nullptr) (void)library.api.flush_period(flush_period_ms);
    pool_.prepare(ready_buffers);
    store_.describe_devices();
    return {};
  }

  /// The subscription was given back: another client may give CUPTI callbacks of its own, and the
  /// next window gives ours again. Source: cuptiActivityFlushPeriod.
  void detach() noexcept {
    if (cupti_.has_callbacks.exchange(false) && library_->api.flush_period != nullptr)
      (void)library_->api.flush_period(0);
  }

  /// Of CUPTI in this process. Callbacks that call it do so within a cupti_presence::use.
  cupti_presence& presence() noexcept { return cupti_.presence; }

  /// CUPTI may not be called any more. As cupti_presence::end.
  void forget() noexcept {
    cupti_.presence.end();
    cupti_.has_callbacks.store(false);
  }

  /// A new session begins: what came too late for the last one is forgotten.
  void reset(std::int64_t memory_limit_bytes) {
    pool_.shrink(ready_buffers * buffer_pool::buffer_bytes);
    budget_.set(memory_limit_bytes);
    budget_.charge(static_cast<std::size_t>(pool_.bytes()));  // that earlier sessions left
    captures_.begin_session();
    store_.clear();
    {
      system_lock lock(store_.mutex());
      bridge_.clear();
    }
    problem_ = {};
    dropped_.store(0);
    refused_.store(0);
    ticks_.store(0);
  }

  /// Compares CUPTI's clock with ours. `needed`: also where it was not set since the last time.
  /// Source: cuptiGetTimestamp.
  void sample_clocks(bool needed = true) {
    system_lock const asking(asking_);
    if (!cupti_.has_callbacks) return;
    clock_sample sample = library_->sample_clocks(recorder::instance().clock());
    system_lock lock(store_.mutex());
    bool const was_set = store_.clock().read(sample);
    if (!needed && !was_set) return;
    bridge_.add(sample);
    next_sample_.store(sample.before + 1'000'000'000, memory_order_relaxed);
  }

  /// Has CUPTI deliver what it holds. No lock is held here: CUPTI calls back from within.
  void flush(cupti::flush_flag flag) {
    if (!cupti_.has_callbacks) return;
    auto const code = library_->api.flush_all(flag);
    if (code != cupti::result::success && problem_.ok()) {
      problem_ = {errc::unavailable, "device activity is incomplete; " +
                                         library_->describe("cuptiActivityFlushAll", code)};
    }
    count_dropped();
  }

  /// Awaits the records of all calls while `goes_on`.
  void await_records(callback<bool()> goes_on) {
    flush(cupti::flush_flag::complete_only);
    while (unfinished() != 0 && goes_on()) {
      for (int i = 0; i < 10; ++i) capture_guard::rest();
      flush(cupti::flush_flag::complete_only);
    }
  }
  /// Has CUPTI deliver all that has ended; what has not is lost, and its calls stay unfinished.
  /// Returns: how many records of such there were.
  std::uint64_t flush_ended() {
    auto const leave_out = [this](bool on) {
      system_lock lock(store_.mutex());
      store_.leave_out_unfinished(on);
      return store_.work_unfinished();
    };
    std::uint64_t const before = leave_out(true);
    flush(cupti::flush_flag::forced);
    return leave_out(false) - before;
  }

  /// How many records of what the program does CUPTI has delivered. Threads: any.
  std::uint64_t delivered() const noexcept { return delivered_.load(memory_order_relaxed); }

  /// Threads: any. Hands each call to `sink` of which no work has arrived.
  template <class Sink>
  void for_each_unfinished(Sink sink) {
    system_lock lock(store_.mutex());
    store_.find_calls();
    recorder::instance().state().launches.for_each(
        [&](driver_call_record const& call, bool worked, bool) {
          if (!worked && is_work(call.kind) && call.causes_work()) sink(call);
        });
  }

  /// How many calls those are.
  std::uint64_t unfinished() {
    std::uint64_t count = 0;
    for_each_unfinished([&count](driver_call_record const&) { ++count; });
    return count;
  }

  /// Joins what is complete, and hands everything to the profile.
  void take(profile& target, tick_converter const& ticks) {
    store_.take(target, bridge_, ticks);
    target.losses.activity_dropped += dropped_.load();
    target.losses.buffers_refused += refused_.load();
    target.cost.activity_seconds += static_cast<double>(ticks_.load()) * ticks.ns_per_tick() * 1e-9;
    target.cost.activity_bytes += static_cast<std::uint64_t>(budget_.used()) +
                                  pool_.bytes_beyond_budget() + store_.bytes_beyond_budget();
  }

  /// From now on, or no more, device work and calls are kept for `stream`.
  void set_streaming(bool on) {
    system_lock lock(store_.mutex());
    store_.keep_for_stream(on);
    recorder::instance().state().launches.keep_for_stream(on);
  }
  /// Threads: one, while CUPTI delivers. Offers calls to `take`, all of them or those that may have
  /// come since the last time, then hands the device work that has arrived to the profile. What
  /// begins after `until` waits where its call is not known, and what has a call waits until that
  /// was taken. Returns: whether there is more than a piece takes.
  template <class Take>
  bool stream(profile& target, tick_converter const& ticks, std::int64_t until, bool all,
              Take take) {
    bool arrived;
    {
      system_lock lock(store_.mutex());
      arrived = store_.has_fresh();
    }
    if (arrived) sample_clocks();  // so that the times of these records lie between two samples
    system_lock lock(store_.mutex());
    store_.find_fresh_calls();
    recorder::instance().state().launches.stream(all, take);
    return store_.stream(target, bridge_, ticks, until, take);
  }
  /// How many records and calls there was no room for.
  std::uint64_t dropped_from_stream() {
    system_lock lock(store_.mutex());
    return store_.dropped_from_stream() +
           recorder::instance().state().launches.dropped_from_stream();
  }

  graph_captures& captures() noexcept { return captures_; }
  /// A launch of an executable graph begins. Threads: any, within a callback.
  void graph_launch_begins(std::uint32_t correlation, void const* graph) noexcept {
    std::uint64_t now = 0;
    auto const get = library_ == nullptr ? nullptr : library_->api.get_timestamp;
    if (get == nullptr || get(&now) != cupti::result::success) return;
    store_.graphs().launched(correlation, graph, static_cast<std::int64_t>(now));
  }

  /// Why records are missing, if CUPTI did not hand them out.
  status const& problem() const noexcept { return problem_; }

 private:
  struct cupti_side {
    atomic<bool> has_callbacks{false};
    cupti_presence presence;
  };

  static constexpr std::size_t ready_buffers = 4;
  static constexpr std::uint32_t flush_period_ms = 100;

  activity_buffers() = default;

  /// Strata's own flushes and waits have records too, as long as they last.
  static bool is_progress(cupti::activity_kind kind) noexcept {
    return kind != cupti::activity_kind::overhead && kind != cupti::activity_kind::synchronization;
  }

  /// What CUPTI dropped since it was asked last.
  void count_dropped() noexcept {
    std::size_t dropped = 0;
    auto const get = library_->api.get_dropped_records;
    if (get != nullptr && get(nullptr, 0, &dropped) == cupti::result::success)
      dropped_.fetch_add(dropped, memory_order_relaxed);
  }

  static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
    activity_buffers& self = instance();
    *max_records = 0;
    *buffer = self.pool_.take(!self.library_->takes_null_buffers());
    *size = *buffer == nullptr ? 0 : buffer_pool::buffer_bytes;
    if (*buffer == nullptr) self.refused_.fetch_add(1, memory_order_relaxed);
  }

  static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) noexcept {
    guest const as_guest;
    activity_buffers& self = instance();
    if (buffer == nullptr) return;
    cupti_presence::use const answers(self.cupti_.presence);
    if (!answers) return self.pool_.give_back(buffer, valid);
    tick_source const& clock = recorder::instance().clock();
    std::int64_t const begin = clock.now();
    cupti::table const& api = self.library_->api;
    self.sample_clocks_now_and_then();
    {
      system_lock lock(self.store_.mutex());
      cupti::record* record = nullptr;
      std::size_t offset = 0;  // of the last record that could be read
      std::size_t read = 0;
      auto code = valid == 0 ? cupti::result::max_limit_reached
                             : api.get_next_record(buffer, valid, &record);
      for (; code == cupti::result::success; code = api.get_next_record(buffer, valid, &record)) {
        auto const index =
            static_cast<std::size_t>(reinterpret_cast<std::uint8_t const*>(record) - buffer);
        if (read++ != 0) self.record_bytes_ = index - offset;
        offset = index;
        self.store_.try_add(*record);
        if (is_progress(record->kind))
          self.delivered_.store(self.delivered() + 1,
                                memory_order_relaxed);  // the lock's holder alone
      }
      // Work that had not ended leaves a record that cannot be read, and so cannot be passed over:
      // what follows it is lost too, and is counted by the size of the records before.
      if (code != cupti::result::max_limit_reached) {
        std::size_t const rest = (valid - offset) / self.record_bytes_;
        self.dropped_.fetch_add(larger(std::size_t{1}, rest - (read != 0 && rest != 0 ? 1 : 0)),
                                memory_order_relaxed);
      }
    }
    self.pool_.give_back(buffer, valid);
    self.count_dropped();
    self.ticks_.fetch_add(static_cast<std::uint64_t>(clock.now() - begin), memory_order_relaxed);
  }

  /// The clocks drift apart: they are compared each second of delivery. CUPTI's may be set back,
  /// which is known before what comes is added.
  void sample_clocks_now_and_then() {
    bool const due = monotonic_ns() >= next_sample_.load(memory_order_relaxed);
    (void)if_memory_allows([this, due] { sample_clocks(due); });  // else the next delivery does
  }

  cupti_library const* library_ = nullptr;
  cupti_side cupti_;
  clock_bridge bridge_;                    // guarded by the store's mutex
  system_mutex asking_{held_over::calls};  // while CUPTI's clock is read; before the store's
  atomic<std::int64_t> next_sample_{0};
  memory_budget budget_;
  buffer_pool pool_{budget_};
  std::size_t record_bytes_ = 208;  // of the last record; at first a kernel's of CUPTI 12
  graph_captures captures_{&budget_};
  activity_store store_{budget_, captures_};
  status problem_;
  atomic<std::uint64_t> dropped_{0};
  atomic<std::uint64_t> refused_{0};
  atomic<std::uint64_t> delivered_{0};
  atomic<std::uint64_t> ticks_{0};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP
