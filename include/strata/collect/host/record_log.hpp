#ifndef STRATA_COLLECT_HOST_RECORD_LOG_HPP
#define STRATA_COLLECT_HOST_RECORD_LOG_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/memory_budget.hpp>
#include <strata/profile.hpp>
#include <strata/profile/overflow_names.hpp>

#include <pthread.h>
#include <sys/mman.h>

STRATA_BEGIN
namespace detail {

/// Gives the whole pages of memory that is about to be freed back to the system at once: the C
/// library keeps what lies between blocks in use.
inline void give_pages_back(void* memory, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096;
  auto const begin = reinterpret_cast<std::uintptr_t>(memory);
  std::uintptr_t const first = (begin + page - 1) / page * page;
  std::uintptr_t const last = (begin + bytes) / page * page;
  // Where pages are larger the system refuses, and the memory stays until it is used again.
  if (first < last) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// Records in blocks of 4 KB, doubled up to 64 KB, appended by one thread and read by any: a record
/// is visible once it is counted. Threads: push, drop_last and clear by the owner; the owner
/// excludes readers from drop_last and clear. Cost: a store of the record and of a count.
template <class Record>
class record_log : uncopied {
  static_assert(std::is_trivially_copyable<Record>::value, "records are plain data");

  struct block {
    atomic<block*> next{nullptr};
    std::uint64_t first = 0;  // position of the first record
    atomic<std::uint32_t> count{0};
    std::uint32_t capacity = 0;
    std::uint32_t term = 0;  // of the budget
    std::uint32_t bytes = 0;

    Record* records() noexcept { return reinterpret_cast<Record*>(this + 1); }
    Record const* records() const noexcept { return reinterpret_cast<Record const*>(this + 1); }
  };
  static_assert(sizeof(block) % alignof(Record) == 0, "records follow the head of their block");

 public:
  static constexpr std::uint32_t first_block_bytes = 4u << 10;
  static constexpr std::uint32_t block_bytes = 64u << 10;
  /// How many records a block of this size has.
  static constexpr std::uint32_t records_in(std::uint32_t bytes) noexcept {
    return static_cast<std::uint32_t>((bytes - sizeof(block)) / sizeof(Record));
  }

  explicit record_log(memory_budget& budget) noexcept : budget_(&budget) {}
  ~record_log() { clear(); }

  /// Where the next record is to be written; null when there is no room, neither in the last block
  /// nor in the budget. `keep` makes it one of the log's records.
  STRATA_DETAIL_ALWAYS_INLINE Record* find_room() noexcept {
    if (STRATA_DETAIL_UNLIKELY(last_ == nullptr ||
                               last_->count.load(memory_order_relaxed) == last_->capacity) &&
        !grow())
      return nullptr;
    return last_->records() + last_->count.load(memory_order_relaxed);
  }
  STRATA_DETAIL_ALWAYS_INLINE void keep() noexcept {
    last_->count.store(last_->count.load(memory_order_relaxed) + 1, memory_order_release);
  }

  /// False when there is no room.
  bool push(Record const& record) noexcept {
    Record* const slot = find_room();
    if (slot == nullptr) return false;
    *slot = record;
    keep();
    return true;
  }

  /// How many records were ever pushed; the position of the next one.
  std::uint64_t pushed() const noexcept {
    return last_ == nullptr ? 0 : last_->first + last_->count.load(memory_order_relaxed);
  }

  /// Hands the records of the last block to `sink` and empties it: room for new ones when the
  /// budget is used up. Only a log with a block has room to make.
  template <class Sink>
  bool drop_last(Sink&& sink) {
    if (last_ == nullptr) return false;
    std::uint32_t const count = last_->count.load(memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) sink(last_->records()[i]);
    last_->count.store(0, memory_order_release);
    return true;
  }

  /// The record at a position, null where there is none; `from` remembers a place. Threads: any
  /// that excludes drop_last, drain and clear. Cost: a step for each block.
  struct cursor {
    void const* block = nullptr;
  };
  Record const* find(std::uint64_t position, cursor& from) const noexcept {
    auto const* b = static_cast<block const*>(from.block);
    if (b == nullptr || position < b->first) b = first_.load(memory_order_acquire);
    while (b != nullptr && position - b->first >= b->capacity) {
      auto const* const next = b->next.load(memory_order_acquire);
      if (next == nullptr) break;
      b = next;
    }
    from.block = b;
    if (b == nullptr || position - b->first >= b->count.load(memory_order_acquire)) return nullptr;
    return b->records() + (position - b->first);
  }
  /// Threads: the owner. The position of the first record, and of the first of the last block.
  std::uint64_t begin() const noexcept {
    return last_ == nullptr ? 0 : first_.load(memory_order_relaxed)->first;
  }
  std::uint64_t last_block_begin() const noexcept { return last_ == nullptr ? 0 : last_->first; }

  template <class Sink>
  void for_each(Sink&& sink) const {
    block const* b = first_.load(memory_order_acquire);
    while (b != nullptr) {
      // In this order: a block that has a next one is full, so that nothing is left out in between.
      block const* const next = b->next.load(memory_order_acquire);
      std::uint32_t const count = b->count.load(memory_order_acquire);
      for (std::uint32_t i = 0; i < count; ++i) sink(b->records()[i]);
      b = next;
    }
  }

  /// Hands every record to `sink`, those of the last block if `whole`, and frees each block before
  /// the last one after its records. Threads: any, one at a time; the owner may push meanwhile.
  template <class Sink>
  void drain(Sink&& sink, bool whole = true) {
    block* b = first_.load(memory_order_acquire);
    while (b != nullptr) {
      block* const next = b->next.load(memory_order_acquire);
      if (next == nullptr && !whole) return;
      std::uint32_t const count = b->count.load(memory_order_acquire);
      for (std::uint32_t i = 0; i < count; ++i) sink(b->records()[i]);
      if (next == nullptr) return;  // the owner's
      first_.store(next, memory_order_release);
      free_block(b);
      b = next;
    }
  }

  void clear() noexcept {
    block* b = first_.exchange(nullptr, memory_order_acq_rel);
    while (b != nullptr) {
      block* const next = b->next.load(memory_order_relaxed);
      free_block(b);
      b = next;
    }
    last_ = nullptr;
  }

 private:
  void free_block(block* done) noexcept {
    std::uint32_t const bytes = done->bytes;
    if (done->term == budget_->term()) budget_->give(bytes);
    done->~block();
    give_pages_back(done, bytes);
    std::free(done);
  }

  STRATA_DETAIL_COLD bool grow() noexcept {
    std::uint32_t const twice = last_ == nullptr ? first_block_bytes : last_->bytes * 2;
    std::uint32_t const bytes = twice < block_bytes ? twice : block_bytes;
    if (!budget_->take(bytes, memory_use::record)) return false;
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) {
      budget_->give(bytes);
      budget_->end();
      return false;
    }
    block* const made = ::new (memory) block;
    made->first = pushed();
    made->capacity = records_in(bytes);
    made->bytes = bytes;
    made->term = budget_->term();
    if (last_ == nullptr) {
      first_.store(made, memory_order_release);
    } else {
      last_->next.store(made, memory_order_release);
    }
    last_ = made;
    return true;
  }

  memory_budget* budget_;
  atomic<block*> first_{nullptr};
  block* last_ = nullptr;
};

/// Calls that a full log could not keep, as sums by node. Threads: one at a time.
class overflow_log {
 public:
  explicit overflow_log(memory_budget* budget = nullptr) noexcept : budget_(budget) {}

  /// False where there is no memory; then nothing is added.
  bool add(range_record const& range) noexcept {
    overflow_sums* const sums = sums_of(range.node);
    std::int64_t const duration = range.end - range.begin;
    if (sums == nullptr || !make_room_within(budget_, sums->durations, duration)) return false;
    sums->durations.add(duration);
    return true;
  }

  bool add(attribute_record const& given) noexcept {
    overflow_sums* const sums = sums_of(given.node);
    if (sums == nullptr) return false;
    if (!is_nan(given.flops)) sums->flops += given.flops;
    if (!is_nan(given.bytes)) sums->bytes += given.bytes;
    if (!is_nan(given.tokens)) sums->tokens += given.tokens;
    return true;
  }

  std::uint64_t calls() const noexcept {
    std::uint64_t sum = 0;
    for (overflow_sums const& sums : sums_) sum += sums.durations.count();
    return sum;
  }
  /// Nothing stays here.
  void move_to(vec<overflow_sums>& target) {
    if (target.empty()) {
      target.swap(sums_);
    } else {
      target.reserve(target.size() + sums_.size());
      for (overflow_sums& sums : sums_) target.push_back(std::move(sums));
    }
    sums_ = {};
    position_of_node_ = {};
  }

  void clear() noexcept {
    sums_.clear();
    position_of_node_.clear();
  }

 private:
  overflow_sums* sums_of(std::uint32_t node) noexcept {
    std::size_t const known = position_of_node_.size();
    if (node >= known) {
      if (!position_of_node_.make_room(node + std::size_t{1} - known)) return nullptr;
      position_of_node_.resize(node + std::size_t{1}, 0);
      charge((node + std::size_t{1} - known) * sizeof(std::uint32_t));
    }
    if (position_of_node_[node] == 0) {
      if (!sums_.make_room(1)) return nullptr;
      charge(sizeof(overflow_sums) + 48);  // and the least histogram
      sums_.emplace_back();
      sums_.back().node = node;
      position_of_node_[node] = static_cast<std::uint32_t>(sums_.size());
    }
    return &sums_[position_of_node_[node] - 1];
  }

  void charge(std::size_t bytes) noexcept {
    if (budget_ != nullptr) budget_->charge(bytes);
  }

  memory_budget* budget_;
  vec<overflow_sums> sums_;
  vec<std::uint32_t> position_of_node_;  // position + 1 in sums_
};

/// Host time of one thread's calls directly below places that it inherited. Threads: one.
class inherited_sums {
 public:
  /// Units: ticks. `from` is the range that the thread was in. False without memory.
  bool add(std::uint32_t node, std::uint32_t from, std::int64_t duration) noexcept {
    if (!positions_.make_room() || !sums_.make_room(1)) return false;
    std::uint32_t& position = positions_[std::uint64_t{node} << 32 | from];
    if (position == 0) {
      sums_.push_back({node, from, 0});
      position = static_cast<std::uint32_t>(sums_.size());
    }
    sums_[position - 1].total += duration;
    return true;
  }

  void copy_to(vec<inherited_time>& times) const {
    times.insert(times.end(), sums_.begin(), sums_.end());
  }

  void clear() noexcept {
    sums_.clear();
    positions_.clear();
  }

 private:
  vec<inherited_time> sums_;
  number_map<std::uint32_t> positions_;  // in sums_ and 1, by node and `from`
};

/// The spans of a process: they begin and end in any thread, in any order. Of those that bear the
/// same number the youngest ends first. Threads: any. Cost: a lock, and a look into a map.
class span_log {
 public:
  static constexpr std::size_t most_open = 16'384;

  /// Records while `session` is not 0.
  span_log(tick_source const& clock, name_table& names, memory_budget& budget,
           atomic<std::uint32_t> const& session, atomic<std::uint32_t> const& step) noexcept
      : clock_(&clock), names_(&names), session_(&session), step_(&step), ended_(budget) {}

  /// A session begins: what the last one left is forgotten.
  void clear() noexcept {
    system_lock lock(mutex_);
    ended_.clear();
    open_.clear();
    youngest_.clear();
    free_ = 0;
    open_now_ = dropped_ = 0;
  }

  void start(std::uint64_t id, std::string_view name, std::string_view domain,
             std::uint32_t thread) noexcept {
    if (session_->load(memory_order_acquire) == 0) return;
    span_record const begun = begin(name, domain, thread, span_kind::range);
    system_lock lock(mutex_);
    bool const has_room =
        open_now_ < most_open && youngest_.make_room() && (free_ != 0 || open_.make_room(1));
    if (!has_room) return (void)++dropped_;
    ++open_now_;
    std::uint32_t index = free_;
    if (index == 0) {
      open_.push_back({});
      index = static_cast<std::uint32_t>(open_.size());
    } else {
      free_ = open_[index - 1].next;
    }
    open_[index - 1] = {begun, std::exchange(youngest_[key_of(id)], index)};
  }

  /// Nothing where no span of this session bears the number.
  void end(std::uint64_t id, std::uint32_t thread) noexcept {
    std::int64_t const now = clock_->now();
    system_lock lock(mutex_);
    std::uint32_t* const youngest = youngest_.find(key_of(id));
    if (youngest == nullptr) return;
    std::uint32_t const index = *youngest;
    open_span& span = open_[index - 1];
    span_record ended = span.span;
    *youngest = std::exchange(span.next, std::exchange(free_, index));
    if (*youngest == 0) youngest_.erase(key_of(id));
    --open_now_;
    ended.end = now;
    ended.end_thread = thread;
    add(ended);
  }

  void mark(std::string_view name, std::string_view domain, std::uint32_t thread) noexcept {
    if (session_->load(memory_order_acquire) == 0) return;
    span_record const made = begin(name, domain, thread, span_kind::mark);
    system_lock lock(mutex_);
    add(made);
  }

  /// In the order of their begins; times stay in ticks. Nothing stays here.
  void move_to(profile& target) {
    system_lock lock(mutex_);
    ended_.drain([&](span_record const& span) { target.spans.push_back(span); });
    target.spans.sort([](span_record const& a, span_record const& b) { return a.begin < b.begin; });
    target.losses.spans_dropped = dropped_;
    target.losses.spans_left_open = open_now_;
  }

 private:
  struct open_span {
    span_record span;
    std::uint32_t next;  // position + 1: of an older one of the same number, or of a free place
  };

  static std::uint64_t key_of(std::uint64_t id) noexcept {
    return id == number_map<std::uint32_t>::nothing ? 0 : id;
  }

  span_record begin(std::string_view name, std::string_view domain, std::uint32_t thread,
                    span_kind kind) noexcept {
    span_record made{};
    made.name = names_->intern(name, other_names);
    if (!domain.empty()) made.domain = names_->intern(domain, other_names);
    made.thread = made.end_thread = thread;
    made.step = step_->load(memory_order_relaxed);
    made.kind = kind;
    made.begin = made.end = clock_->now();
    return made;
  }

  void add(span_record const& ended) noexcept {
    if (!ended_.push(ended)) ++dropped_;
  }

  tick_source const* clock_;
  name_table* names_;
  atomic<std::uint32_t> const* session_;
  atomic<std::uint32_t> const* step_;
  system_mutex mutex_;
  record_log<span_record> ended_;
  vec<open_span> open_;
  number_map<std::uint32_t> youngest_;  // position + 1, by number
  std::uint32_t free_ = 0;              // position + 1
  std::size_t open_now_ = 0;
  std::uint64_t dropped_ = 0;
};

/// What recording costs on this machine, measured in a few microseconds on a log of its own.
struct instrumentation_cost {
  double range_ns = 0.0;  ///< two clock reads and a record
  double callback_ns =
      0.0;  ///< half of a launch's two callbacks: a clock read each, and one record

  static instrumentation_cost measure(tick_source const& clock) noexcept {
    constexpr int rounds = 5;  // the median, since another program may take the CPU in one of them
    constexpr int tries = 200;
    memory_budget budget;
    budget.set(std::int64_t{1} << 20);
    record_log<range_record> log(budget);
    double means[rounds];  // in order
    for (int done = 0; done < rounds; ++done) {
      std::int64_t const begin = monotonic_ns();
      for (int i = 0; i < tries; ++i) {
        std::int64_t const first = clock.now();
        (void)log.push({first, clock.now(), 0, 0, 0, 0});
      }
      double const mean = static_cast<double>(monotonic_ns() - begin) / tries;
      int position = done;
      for (; position > 0 && means[position - 1] > mean; --position)
        means[position] = means[position - 1];
      means[position] = mean;
    }
    return {means[rounds / 2], means[rounds / 2] / 2};
  }
};

/// When something was recorded. Units: ticks.
class recorded_periods {
 public:
  void clear() noexcept { all_.clear(); }

  /// False where there is no memory.
  bool begin(std::int64_t now) noexcept {
    if (!all_.make_room(1)) return false;
    all_.push_back({now, latest_time});
    return true;
  }
  void end(std::int64_t now) noexcept {
    if (!all_.empty()) all_.back().end = now;
  }

  /// Whether something was recorded at this time, in ns since the session began.
  bool contains(std::int64_t time, tick_converter const& ticks) const noexcept {
    std::size_t const begun =
        all_.count_first([&](period const& p) { return ticks.to_ns(p.begin) <= time; });
    if (begun == 0) return false;
    std::int64_t const end = all_[begun - 1].end;
    return end == latest_time || time <= ticks.to_ns(end);
  }

 private:
  struct period {
    std::int64_t begin;
    std::int64_t end;
  };

  vec<period> all_;
};

/// The steps of a session: the first ones one by one, the others in sums. Threads: one at a time.
class step_log {
 public:
  static constexpr std::size_t max_kept = 1'000'000;
  /// Steps that wait to be streamed.
  static constexpr std::size_t max_fresh = 65'536;

  void clear() noexcept {
    kept_.clear();
    room_ = max_kept;
    summed_ = {};
  }
  std::size_t size() const noexcept {
    return kept_.size() + static_cast<std::size_t>(summed_.count());
  }

  /// Returns: false where there is no memory.
  bool add(step_record const& step, memory_budget& budget) noexcept {
    if (kept_.size() < room_ && kept_.make_room(1)) {
      kept_.push_back(step);
      budget.charge(sizeof step);
      return true;
    }
    std::int64_t const duration = step.end - step.begin;
    bool const has_room = summed_.make_room(duration);
    if (has_room) summed_.add(duration);
    if (summed_.count() != 0)
      room_ = kept_.size();  // where memory was short, none is asked for again
    return has_room;
  }

  /// Where memory has ended, the sums have all but the first steps.
  void make_room_for_report() noexcept {
    constexpr std::size_t first = 1024;
    vec<step_record> kept;
    if (kept_.size() <= first || !kept.make_room(first)) return;
    while (kept_.size() > first) {
      std::int64_t const duration = kept_.back().end - kept_.back().begin;
      if (!summed_.make_room(duration)) return;
      summed_.add(duration);
      kept_.pop_back();
    }
    for (step_record const& step : kept_) kept.push_back(step);
    kept_.swap(kept);
    room_ = kept_.size();
  }

  void copy_to(profile& target) const {
    target.steps = kept_;
    target.summed_steps = summed_;
    target.losses.steps_summed = summed_.count();
  }

  /// Keeps a step for `stream`. Returns: false where there is no room.
  bool add_fresh(step_record const& step) noexcept {
    if (fresh_.size() >= max_fresh || !fresh_.make_room(1)) return false;
    fresh_.push_back(step);
    return true;
  }
  void forget_fresh() noexcept { fresh_ = {}; }
  /// Hands out the steps that ended until then and were not handed out before.
  template <class Sink>
  void stream(std::int64_t until, Sink sink) {
    std::size_t const ended =
        fresh_.count_first([until](step_record const& step) { return step.end <= until; });
    for (std::size_t i = 0; i < ended; ++i) sink(fresh_[i]);
    fresh_.erase(fresh_.begin(), fresh_.begin() + ended);
  }

 private:
  vec<step_record> kept_;
  std::size_t room_ = max_kept;
  duration_statistics summed_;
  vec<step_record> fresh_;
};

/// The threads of a session, by their ordinals. Threads: one at a time.
class known_threads {
 public:
  /// Threads that have an ordinal of their own: all others have one together.
  static constexpr std::size_t most = 65'536;

  /// Room for another one. False where there is no memory.
  [[nodiscard]] bool make_room() noexcept { return threads_.make_room(1); }

  /// Adds the calling thread. Returns: its ordinal.
  std::uint32_t add(std::uint64_t os_id) {
    if (threads_.size() > most) {
      ++merged_;
      return threads_.back().ordinal;
    }
    profile_thread thread;
    thread.ordinal = next_ordinal_++;
    if (threads_.size() == most) {
      ++merged_;
      thread.name = other_threads;
    } else {
      thread.os_id = os_id;
      char name[32] = {};
      if (pthread_getname_np(pthread_self(), name, sizeof name) == 0) thread.name = name;
    }
    threads_.push_back(thread);
    return thread.ordinal;
  }

  /// A session begins: the threads that ended before are not part of it. `for_each_living(sink)`
  /// hands the ordinals of the others to `sink`.
  template <class Living>
  void begin_session(Living for_each_living) noexcept {
    merged_ = 0;
    vec<bool> lives;
    if (!lives.make_room(next_ordinal_)) return;  // they have no records
    lives.resize(next_ordinal_, false);
    next_ordinal_ = 0;
    for_each_living([&](std::uint32_t ordinal) {
      lives[ordinal] = true;
      next_ordinal_ = larger(next_ordinal_, ordinal + 1);
    });
    threads_.keep_if([&](profile_thread const& thread) { return lives[thread.ordinal]; });
  }

  vec<profile_thread> const& all() const noexcept { return threads_; }
  /// Those that have a part in a profile.
  vec<profile_thread> in(profile const& data) const {
    vec<bool> has_part(next_ordinal_, false);
    auto const mark = [&](std::uint32_t ordinal) {
      if (ordinal < has_part.size()) has_part[ordinal] = true;
    };
    for (range_record const& range : data.ranges) mark(range.thread);
    for (step_record const& step : data.steps) mark(step.thread);
    for (driver_call_record const& call : data.launches) mark(call.thread);
    for (span_record const& span : data.spans) {
      mark(span.thread);
      mark(span.end_thread);
    }
    vec<profile_thread> found;
    for (profile_thread const& thread : threads_)
      if (has_part[thread.ordinal]) found.push_back(thread);
    return found;
  }
  /// How many had no ordinal of their own.
  std::uint64_t merged() const noexcept { return merged_; }

 private:
  vec<profile_thread> threads_;
  std::uint32_t next_ordinal_ = 0;
  std::uint64_t merged_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORD_LOG_HPP
