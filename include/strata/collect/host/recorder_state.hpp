#ifndef STRATA_COLLECT_HOST_RECORDER_STATE_HPP
#define STRATA_COLLECT_HOST_RECORDER_STATE_HPP

#include <strata/collect/host/launch_table.hpp>
#include <strata/collect/host/node_table.hpp>

STRATA_BEGIN
namespace detail {

/// A range that is open. Other threads than its own may read what is atomic.
struct open_range {
  atomic<std::int64_t> begin;  ///< in ticks
  std::int64_t index;
  atomic<std::uint32_t> node;
  atomic<std::uint32_t> session;  ///< that recorded when the range began, 0 if none
  union {
    std::uint32_t attribute;   ///< of a range: what the program gave it, or no_reference
    std::uint32_t base_below;  ///< of an inherited place: the depth of the one around it, 0 if none
  };
  std::uint32_t serial;
  std::uint32_t name;  ///< 0: an inherited place
  bool pushed;         ///< `pop` ends it
  bool stacked;        ///< a pop does, of Strata or NVTX, and no scope of the program
  bool forwarded;

  std::uint32_t node_now() const noexcept { return node.load(memory_order_relaxed); }
};

/// The ranges that one thread has open, from the outermost on. What is read of them is in memory
/// that stays, so that another thread can say where this one is while it hangs.
/// Threads: the owner, except where a function says otherwise. Cost: that of an array.
class open_ranges : uncopied {
 public:
  static constexpr std::uint32_t most = 1u << 20;

  open_ranges() = default;
  ~open_ranges() {
    std::free(places_.load(memory_order_relaxed));
    for (open_range* const smaller : outgrown_) std::free(smaller);
  }

  STRATA_DETAIL_ALWAYS_INLINE open_range& operator[](std::uint32_t position) const noexcept {
    return places_.load(memory_order_relaxed)[position];
  }

  /// Threads: any. How many are open.
  STRATA_DETAIL_ALWAYS_INLINE std::uint32_t depth() const noexcept {
    return depth_.load(memory_order_relaxed);
  }
  STRATA_DETAIL_ALWAYS_INLINE void set_depth(std::uint32_t depth) noexcept {
    depth_.store(depth, memory_order_relaxed);
  }

  /// The number of the last range that began.
  std::uint32_t last_serial() const noexcept { return serial_.load(memory_order_relaxed); }
  /// The number of the next range to begin.
  STRATA_DETAIL_ALWAYS_INLINE std::uint32_t next_serial() noexcept {
    std::uint32_t const next = serial_.load(memory_order_relaxed) + 1;
    serial_.store(next, memory_order_relaxed);
    return next;
  }

  /// Whether there is room for one more, in the memory that is there.
  STRATA_DETAIL_ALWAYS_INLINE bool has_room() const noexcept { return depth() != capacity_; }

  /// Makes room for one more. False where there is no memory, or too many are open.
  STRATA_DETAIL_COLD bool grow() noexcept {
    if (capacity_ >= most) return false;
    std::uint32_t const capacity = capacity_ == 0 ? first_capacity : capacity_ * 2;
    if (!outgrown_.make_room(1)) return false;
    auto* const grown = static_cast<open_range*>(std::calloc(capacity, sizeof(open_range)));
    if (grown == nullptr) return false;
    open_range* const before = places_.load(memory_order_relaxed);
    if (before != nullptr) {
      std::memcpy(static_cast<void*>(grown), static_cast<void const*>(before),
                  capacity_ * sizeof(open_range));
      outgrown_.push_back(before);  // another thread may be reading it
    }
    places_.store(grown, memory_order_release);
    capacity_ = capacity;
    return true;
  }

  static constexpr std::int64_t no_begin = -1;

  /// Threads: any. Hands what is open to `sink(node, begin)`, the outermost first and at most 64;
  /// no_begin where this session did not record it.
  template <class Sink>
  void for_each(std::uint32_t session, Sink sink) const {
    std::uint32_t const depth = depth_.load(memory_order_acquire);
    open_range const* const all = places_.load(memory_order_acquire);
    for (std::uint32_t position = 0;
         all != nullptr && position < depth && position < first_capacity; ++position) {
      open_range const& open = all[position];
      bool const recorded = session != 0 && open.session.load(memory_order_relaxed) == session;
      sink(open.node_now(), recorded ? open.begin.load(memory_order_relaxed) : no_begin);
    }
  }

  /// Threads: any. Another number after a range has begun or ended, for the most part.
  std::uint64_t mark() const noexcept {
    return std::uint64_t{serial_.load(memory_order_relaxed)} * most + depth();
  }

 private:
  static constexpr std::uint32_t first_capacity = 64;

  atomic<std::uint32_t> depth_{0};
  atomic<std::uint32_t> serial_{0};
  std::uint32_t capacity_ = 0;
  atomic<open_range*> places_{nullptr};
  vec<open_range*> outgrown_;  // the smaller arrays before this one
};

/// What the last thread that ended had open: main ends before the functions of atexit, and where it
/// was then is what one wants to know of a program that hangs at its end. Threads: any.
class left_ranges {
 public:
  static constexpr std::size_t most = 64;

  void note(std::uint32_t thread, open_ranges const& ranges, std::uint32_t session,
            std::int64_t now) noexcept {
    spin_lock const lock(mutex_);
    count_ = 0;
    thread_ = thread;
    ended_ = now;
    ranges.for_each(session, [this](std::uint32_t node, std::int64_t begin) {
      if (count_ < most) all_[count_++] = {node, begin};
    });
  }

  /// Hands them to `sink(thread, node, begin)`, where the thread has ended since the time `since`.
  template <class Sink>
  void for_each(std::int64_t since, Sink sink) const {
    spin_lock const lock(mutex_);
    for (std::size_t i = 0; i < count_ && ended_ >= since; ++i)
      sink(thread_, all_[i].node, all_[i].begin);
  }

 private:
  struct left {
    std::uint32_t node;
    std::int64_t begin;
  };
  mutable spin_mutex mutex_;
  std::uint32_t thread_ = 0;
  std::int64_t ended_ = 0;  // in ticks
  std::size_t count_ = 0;
  left all_[most] = {};
};

/// What the threads' recorders have in common.
struct recorder_state {
  tick_source clock;
  name_table names{name_table::long_texts::cut};
  memory_budget budget;
  node_table nodes{names.intern(deeper_ranges, {}), names.intern(other_ranges, {}), &budget};
  std::uint32_t const others = names.intern(other_names, {});  // a stand-in needs no memory
  launch_table launches{budget};
  atomic<std::uint32_t> session{0};    // that records now, 0 while none does
  atomic<std::uint32_t> forgotten{0};  // whose records nobody needs any more
  atomic<std::uint32_t> step{no_step};
  // Work of threads in no range belongs to the range of the thread that drives the steps: of the
  // one that began the last step, if `adopt=` does not say otherwise.
  atomic<bool> adopts{true};
  atomic<thread_place const*> of_steps{nullptr};
  atomic<bool> warming{false};  // calls into the driver are followed but not reported
  atomic<void (*)() noexcept> before_end{nullptr};  // `sync=1`
  atomic<void (*)(char const* name, std::size_t length) noexcept> forward_begin{nullptr};  // NVTX
  atomic<void (*)() noexcept> forward_end{nullptr};
  left_ranges left;  // of the thread that ended last
  atomic<std::uint64_t> ended_elsewhere{0};
  atomic<std::uint64_t> pops_without_push{0};
  // Ranges that no pop has ended: how many, and the name of the first one.
  atomic<std::uint64_t> left_in_steps{0};
  atomic<std::uint32_t> first_left{0};
  // NVTX's stack of the calling thread: a step begins, or has ended what was pushed in it.
  atomic<void (*)(bool ends) noexcept> other_stack{nullptr};
  atomic<std::uint64_t> too_many_open{0};
  atomic<std::uint64_t> unrecorded{0};  // memory was short
  // Ranges that leave a full log before they are streamed to a file.
  atomic<bool> streaming{false};
  memory_budget stream_budget;
  atomic<std::uint64_t> stream_dropped{0};

  span_log spans{clock, names, budget, session, step};

  /// The range that the thread which drives the steps is in; the root if none is known.
  std::uint32_t node_of_steps() const noexcept {
    thread_place const* const position = of_steps.load(memory_order_acquire);
    return position == nullptr ? root_node : position->seen_at(nodes.term());
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORDER_STATE_HPP
