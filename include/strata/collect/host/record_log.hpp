#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_RECORD_LOG_HPP
#define STRATA_COLLECT_HOST_RECORD_LOG_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>

STRATA_BEGIN

namespace detail {

/// Bytes that several logs may take together.
class memory_budget {
 public:
  /// Begins anew: what was taken before is no longer counted, and not to be given back.
  void set(std::int64_t limit) noexcept {
    limit_ = limit;
    left_.store(limit, std::memory_order_relaxed);
    term_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Which `set` counts now.
  std::uint32_t term() const noexcept { return term_.load(std::memory_order_relaxed); }
  bool take(std::size_t bytes) noexcept {
    auto const wanted = static_cast<std::int64_t>(bytes);
    if (left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
    left_.fetch_add(wanted, std::memory_order_relaxed);
    return false;
  }
  void give(std::size_t bytes) noexcept {
    left_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  bool exhausted() const noexcept {
    return left_.load(std::memory_order_relaxed) < (std::int64_t{64} << 10);
  }
  std::int64_t used() const noexcept { return limit_ - left_.load(std::memory_order_relaxed); }

 private:
  std::int64_t limit_ = 0;
  std::atomic<std::int64_t> left_{0};
  std::atomic<std::uint32_t> term_{0};
};

/// Records in blocks of 64 KB, appended by one thread and read by any: a record is visible once it
/// is counted. Threads: push, drop_last and clear by the owner; the owner excludes readers from
/// drop_last and clear. Cost: a store of the record and of a count.
template <class Record>
class record_log {
  static_assert(std::is_trivially_copyable<Record>::value, "records are plain data");

 public:
  static constexpr std::size_t block_bytes = std::size_t{64} << 10;
  static constexpr std::uint32_t block_records = (block_bytes - 64) / sizeof(Record);

  explicit record_log(memory_budget& budget) noexcept : budget_(&budget) {}
  record_log(record_log const&) = delete;
  record_log& operator=(record_log const&) = delete;
  ~record_log() { clear(); }

  /// False when there is no room, neither in the last block nor in the budget.
  bool push(Record const& record) noexcept {
    block* const last = last_;
    std::uint32_t const count =
        last == nullptr ? block_records : last->count.load(std::memory_order_relaxed);
    if (count == block_records) {
      if (!grow()) return false;
      return push(record);
    }
    last->records[count] = record;
    last->count.store(count + 1, std::memory_order_release);
    ++pushed_;
    return true;
  }

  /// How many records were ever pushed; the position of the next one.
  std::uint64_t pushed() const noexcept { return pushed_; }

  /// Hands the records of the last block to `sink` and empties it: room for new ones when the
  /// budget is used up. Only a log with a block has room to make.
  template <class Sink>
  bool drop_last(Sink&& sink) {
    if (last_ == nullptr) return false;
    std::uint32_t const count = last_->count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) sink(last_->records[i]);
    last_->count.store(0, std::memory_order_release);
    pushed_ -= count;
    return true;
  }

  /// Threads: the owner. The record at a position, null where there is none. Cost: a step for each
  /// block; fewer where `from` was left by a search for a position shortly before.
  struct cursor {
    void const* block = nullptr;
    std::uint64_t position = 0;  // of the block's first record
  };
  Record const* find(std::uint64_t position, cursor& from) const noexcept {
    auto const* b = static_cast<block const*>(from.block);
    if (b == nullptr || position < from.position) {
      b = first_.load(std::memory_order_relaxed);
      from.position = 0;
    }
    while (b != nullptr && position - from.position >= block_records) {
      b = b->next.load(std::memory_order_relaxed);
      from.position += block_records;
    }
    from.block = b;
    if (b == nullptr) return nullptr;
    auto const at = static_cast<std::uint32_t>(position - from.position);
    return at < b->count.load(std::memory_order_relaxed) ? &b->records[at] : nullptr;
  }

  template <class Sink>
  void for_each(Sink&& sink) const {
    block const* b = first_.load(std::memory_order_acquire);
    while (b != nullptr) {
      // In this order: a block that has a next one is full, so that nothing is left out in between.
      block const* const next = b->next.load(std::memory_order_acquire);
      std::uint32_t const count = b->count.load(std::memory_order_acquire);
      for (std::uint32_t i = 0; i < count; ++i) sink(b->records[i]);
      b = next;
    }
  }

  void clear() noexcept {
    block* b = first_.exchange(nullptr, std::memory_order_acq_rel);
    while (b != nullptr) {
      block* const next = b->next.load(std::memory_order_relaxed);
      if (b->term == budget_->term()) budget_->give(block_bytes);
      b->~block();
      std::free(b);
      b = next;
    }
    last_ = nullptr;
    pushed_ = 0;
  }

 private:
  struct block {
    std::atomic<block*> next{nullptr};
    std::atomic<std::uint32_t> count{0};
    std::uint32_t term = 0;  // of the budget
    Record records[block_records];
  };
  static_assert(sizeof(block) <= block_bytes, "a block and its head fit");

  STRATA_DETAIL_COLD bool grow() noexcept {
    if (!budget_->take(block_bytes)) return false;
    void* const memory = std::malloc(block_bytes);
    if (memory == nullptr) {
      budget_->give(block_bytes);
      return false;
    }
    block* const made = ::new (memory) block;
    made->term = budget_->term();
    if (last_ == nullptr) {
      first_.store(made, std::memory_order_release);
    } else {
      last_->next.store(made, std::memory_order_release);
    }
    last_ = made;
    return true;
  }

  memory_budget* budget_;
  std::atomic<block*> first_{nullptr};
  block* last_ = nullptr;
  std::uint64_t pushed_ = 0;
};

/// The spans of a process: they begin and end in any thread, in any order. Threads: any. Cost: a
/// lock; an end is looked for among the open ones, the youngest first.
class span_log {
 public:
  static constexpr std::size_t most_open = 16'384;

  /// Records while `session` is not 0.
  span_log(tick_source const& clock, name_table& names, memory_budget& budget,
           std::atomic<std::uint32_t> const& session,
           std::atomic<std::uint32_t> const& step) noexcept
      : clock_(&clock), names_(&names), session_(&session), step_(&step), ended_(budget) {}

  /// A session begins: what the last one left is forgotten.
  void clear() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_.clear();
    open_.clear();
    dropped_ = 0;
  }

  void start(std::uint64_t id, std::string_view name, std::string_view domain,
             std::uint32_t thread) noexcept {
    if (session_->load(std::memory_order_acquire) == 0) return;
    span_record const begun = begin(name, domain, thread, span_kind::range);
    std::lock_guard<std::mutex> lock(mutex_);
    if (open_.size() < most_open) {
      open_.push_back({id, begun});
    } else {
      ++dropped_;
    }
  }

  /// Nothing where no span of this session bears the number.
  void end(std::uint64_t id, std::uint32_t thread) noexcept {
    std::int64_t const now = clock_->now();
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t at = open_.size(); at-- > 0;) {
      if (open_[at].id != id) continue;
      span_record ended = open_[at].span;
      open_[at] = open_.back();
      open_.pop_back();
      ended.end = now;
      ended.end_thread = thread;
      add(ended);
      return;
    }
  }

  void mark(std::string_view name, std::string_view domain, std::uint32_t thread) noexcept {
    if (session_->load(std::memory_order_acquire) == 0) return;
    span_record const made = begin(name, domain, thread, span_kind::mark);
    std::lock_guard<std::mutex> lock(mutex_);
    add(made);
  }

  /// In the order of their begins; times stay in ticks.
  void copy_to(profile& to) {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_.for_each([&](span_record const& span) { to.spans.push_back(span); });
    to.spans.sort([](span_record const& a, span_record const& b) { return a.begin < b.begin; });
    to.losses.spans_dropped = dropped_;
    to.losses.spans_left_open = open_.size();
  }

 private:
  struct open_span {
    std::uint64_t id;
    span_record span;
  };

  span_record begin(std::string_view name, std::string_view domain, std::uint32_t thread,
                    span_kind kind) noexcept {
    span_record made{};
    made.name = names_->intern(name, other_names);
    if (!domain.empty()) made.domain = names_->intern(domain, other_names);
    made.thread = made.end_thread = thread;
    made.step = step_->load(std::memory_order_relaxed);
    made.kind = kind;
    made.begin = made.end = clock_->now();
    return made;
  }

  void add(span_record const& ended) noexcept {
    if (!ended_.push(ended)) ++dropped_;
  }

  static constexpr std::string_view other_names = "[other names]";

  tick_source const* clock_;
  name_table* names_;
  std::atomic<std::uint32_t> const* session_;
  std::atomic<std::uint32_t> const* step_;
  std::mutex mutex_;
  record_log<span_record> ended_;
  vec<open_span> open_;
  std::uint64_t dropped_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORD_LOG_HPP
