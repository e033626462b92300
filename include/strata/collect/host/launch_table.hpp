#ifndef STRATA_COLLECT_HOST_LAUNCH_TABLE_HPP
#define STRATA_COLLECT_HOST_LAUNCH_TABLE_HPP

#include <strata/collect/host/record_log.hpp>

STRATA_BEGIN
namespace detail {

/// The calls into the driver by their correlation id. Ids are dense and ascending, so pages of
/// consecutive ids hold them. Pages within the budget stay for the timeline; those beyond it stay
/// until their work has arrived. After 2^32 ids they come again: then a page that is still here
/// lies behind the new one of the same ids, and is not searched any more.
/// Threads: add and find from any, without a lock. A page is never freed, only used again: a thread
/// that comes late writes an id that nobody looks for there.
class launch_table : uncopied {
 public:
  static constexpr std::uint32_t page_launches = 4096;
  /// The most pages beyond the budget.
  static constexpr std::size_t most_beyond = 128;
  /// How many ids behind the newest work that arrived other work may still come.
  static constexpr std::uint32_t slack = 32 * page_launches;

  explicit launch_table(memory_budget& budget) noexcept : budget_(&budget) {}

  /// False where there is no memory.
  /// Cost: four stores; a page for each 4,096 ids.
  bool add(driver_call_record const& launch) noexcept {
    page* holder = page_of(launch.correlation);
    if (STRATA_DETAIL_UNLIKELY(holder == nullptr || is_of_last_turn(*holder, launch)))
      holder = make_page(launch);
    if (holder == nullptr) return false;
    slot& entry = holder->slots[launch.correlation % page_launches];
    entry.begin.store(launch.begin, memory_order_relaxed);
    entry.end.store(launch.end, memory_order_relaxed);
    entry.step_node.store(std::uint64_t{launch.step} << 32 | launch.node, memory_order_relaxed);
    entry.id.store(std::uint64_t{launch.correlation} | std::uint64_t{launch.thread} << 32 |
                       static_cast<std::uint64_t>(launch.kind) << 48 |
                       std::uint64_t{launch.flags} << 56,
                   memory_order_release);
    return true;
  }

  /// The call with this id, if there is one; it has caused work then.
  bool find(std::uint32_t id, driver_call_record& found) noexcept {
    page* const holder = page_of(id);
    if (holder == nullptr || !read(holder->slots[id % page_launches], id, found)) return false;
    holder->notes[id % page_launches] |= worked;
    return true;
  }

  /// Threads: as find. The work of this call runs: no capture at that time has taken it.
  /// Returns: whether the call is known, and no part of the profile.
  bool leaves_out_running(std::uint32_t id) noexcept {
    driver_call_record found{};
    page* const holder = page_of(id);
    if (holder == nullptr || !read(holder->slots[id % page_launches], id, found)) return false;
    atomic<std::uint64_t>& word = holder->slots[id % page_launches].id;
    std::uint64_t with_flags = word.load(memory_order_relaxed);
    if (static_cast<std::uint32_t>(with_flags) == id)
      (void)word.compare_exchange_strong(
          with_flags, with_flags & ~(std::uint64_t{driver_call_record::in_capture} << 56));
    return found.is_left_out();
  }

  /// A call that a recording may take.
  struct offered_call {
    driver_call_record record;
    bool worked;   ///< it has caused work
    bool must_go;  ///< its page was used again: it is not offered another time

    /// Whether a later piece takes it. A call during a capture waits until `old` for work that
    /// shows that it was not captured.
    bool waits(std::int64_t until, std::int64_t old) const noexcept {
      bool const has_no_work = record.only_captured() && !worked && record.end > old;
      return (record.end > until || has_no_work) && !must_go;
    }
  };

  /// Threads: as find. Offers each call that was not taken before to `take(offered_call)`, which
  /// says whether it takes it. Calls that must go come first. `all`: also those that were noted
  /// when `slack` others had been made since they began; else `stream_call` offers them.
  template <class Take>
  void stream(bool all, Take take) {
    for (offered_call const& call : overdue_.calls) (void)take(call);
    overdue_.calls.clear();
    std::uint64_t i = first_page_.load(memory_order_acquire);
    std::uint64_t last = last_page_.load(memory_order_acquire);
    if (i > last) return;
    std::uint64_t const newest = newest_page_.load(memory_order_acquire);
    std::uint64_t const fresh = (newest - stream_page_) % max_pages;
    std::uint64_t const recent = fresh < slack / page_launches ? slack / page_launches : fresh;
    if (!all && (newest < last || i + recent < last)) {  // ids may have begun anew
      i = newest + max_pages - recent;
      last = newest + max_pages;
    }
    stream_page_ = newest;
    for (bool is_whole = true; i <= last; ++i) {
      page* turn = page_of(static_cast<std::uint32_t>(i % max_pages * page_launches));
      for (; turn != nullptr; turn = turn->last_turn)
        if (!stream_page(*turn, take) && std::exchange(is_whole, false))
          stream_page_ = i % max_pages;
    }
  }
  /// Threads: as find. Offers this call, if it is here and was not taken. Returns: false where it
  /// is not taken now.
  template <class Take>
  bool stream_call(std::uint32_t id, Take take) {
    driver_call_record found{};
    page* const holder = page_of(id);
    if (holder == nullptr || !read(holder->slots[id % page_launches], id, found)) return true;
    std::uint8_t& note = holder->notes[id % page_launches];
    if ((note & streamed) == 0 && take(offered_call{found, (note & worked) != 0, false}))
      note |= streamed;
    return (note & streamed) != 0;
  }

  /// Threads: as find. Whether calls are kept for `stream` when their page is used again.
  void keep_for_stream(bool on) noexcept {
    streams_ = on;
    stream_page_ = 0;
    overdue_ = {};
  }
  /// How many of these there was no room for.
  std::uint64_t dropped_from_stream() const noexcept { return overdue_.dropped; }

  /// The memory of pages beyond the budget, in use or to be used again.
  std::uint64_t bytes_beyond_budget() const noexcept {
    spin_lock const lock(mutex_);
    std::uint64_t pages = 0;
    for (page const* const made : pages_) {
      bool const is_forgotten = made->term == 0;
      pages += is_forgotten || made->kept ? 0 : 1;
    }
    return pages * sizeof(page);
  }

  /// Threads: one. Hands the calls of those pages beyond the budget to `sink` whose work has
  /// arrived, since that of call `newest` has, and uses the pages again.
  template <class Sink>
  void retire(std::uint32_t newest, Sink sink) {
    while (page* const oldest = take_oldest(newest)) {
      for_each_of_page(*oldest, [&](driver_call_record const& launch, std::uint8_t note) {
        sink(launch);
        if (streams_ && (note & streamed) == 0) keep_overdue(launch, (note & worked) != 0);
      });
      release(oldest);
    }
  }

  /// Hands every call that is here to `sink`, by ascending ids, with whether it has caused work and
  /// whether it stays for the timeline. Threads: as find.
  template <class Sink>
  void for_each(Sink sink) const {
    for_each_page([&sink](page const& first) { for_each_with_notes(first, sink); });
  }
  /// The same without what is noted of a call. Threads: any.
  template <class Sink>
  void for_each_call(Sink sink) const {
    for_each_page([&sink](page const& first) {
      for_each_by_id(first, [&sink](driver_call_record const& launch, page const&, std::uint32_t) {
        sink(launch);
      });
    });
  }

  /// The same at the end of a session: the memory of each page is given back after its calls.
  template <class Sink>
  void drain(Sink sink) {
    std::uint64_t const last = last_page_.load(memory_order_acquire);
    for (std::uint64_t i = first_page_.load(memory_order_acquire); i <= last; ++i) {
      page* const first = page_of(static_cast<std::uint32_t>(i * page_launches));
      if (first == nullptr) continue;
      for_each_with_notes(*first, sink);
      spin_lock const lock(mutex_);
      for (page* turn = first; turn != nullptr;) {
        page* const before = turn->last_turn;
        put_away(turn);
        turn = before;
      }
    }
    spin_lock const lock(mutex_);
    beyond_.clear();
  }

  /// Threads: one, between sessions.
  void clear() noexcept {
    spin_lock const lock(mutex_);
    for (page* const made : pages_)
      if (made->used) put_away(made);
    beyond_.clear();
    first_page_.store(max_pages, memory_order_release);
    last_page_.store(0, memory_order_release);
  }

 private:
  static constexpr std::size_t max_pages = (std::uint64_t{1} << 32) / page_launches;
  /// Ticks between a call and one with the same id that is another call: 2^32 calls, of 50 ns or
  /// more, take 2^37 ns. The driver's calls within one of the runtime have one id too, and are less
  /// apart than this, which is 23 s of a TSC of 3 GHz, even where modules are loaded in between.
  static constexpr std::int64_t turn_ticks = std::int64_t{1} << 36;

  // What is noted of a call.
  static constexpr std::uint8_t streamed = 1;
  static constexpr std::uint8_t worked = 2;

  /// Calls of pages that were used again before these were streamed.
  struct overdue_calls {
    vec<offered_call> calls;
    std::uint64_t dropped = 0;
  };
  static constexpr std::size_t max_overdue = 32 * page_launches;

  struct slot {
    atomic<std::int64_t> begin;
    atomic<std::int64_t> end;
    atomic<std::uint64_t> step_node;  // step and node
    atomic<std::uint64_t> id;         // flags, kind, thread and id
  };
  struct page {
    atomic<std::int64_t> made;  // the start of its first call; a call that comes late reads it
    page* last_turn;            // the page that had the same ids before
    std::uint32_t first;        // id
    std::uint32_t term;         // of the budget
    bool kept;                  // for the timeline
    bool used;
    char apart[64];  // what all threads read, from what they write
    slot slots[page_launches];
    std::uint8_t notes[page_launches];  // by the one thread that finds
  };

  /// Returns: whether all was taken.
  template <class Take>
  static bool stream_page(page& held, Take& take) {
    bool is_whole = true;
    driver_call_record call{};
    for (std::uint32_t i = 0; i < page_launches; ++i) {
      std::uint8_t& note = held.notes[i];
      if ((note & streamed) != 0 || !read(held.slots[i], held.first + i, call)) continue;
      bool const taken = take(offered_call{call, (note & worked) != 0, false});
      if (taken) note |= streamed;
      is_whole = is_whole && taken;
    }
    return is_whole;
  }

  void keep_overdue(driver_call_record const& call, bool has_worked) {
    if (overdue_.calls.size() < max_overdue && overdue_.calls.make_room(1)) {
      overdue_.calls.push_back({call, has_worked, true});
    } else {
      ++overdue_.dropped;
    }
  }

  page* page_of(std::uint32_t id) const noexcept {
    atomic<page*> const* const all = directory_.load(memory_order_acquire);
    return all == nullptr ? nullptr : all[id / page_launches].load(memory_order_acquire);
  }

  static bool read(slot const& from, std::uint32_t id, driver_call_record& call) noexcept {
    std::uint64_t const word = from.id.load(memory_order_acquire);
    if (static_cast<std::uint32_t>(word) != id || word >> 48 == 0) return false;
    std::uint64_t const packed = from.step_node.load(memory_order_relaxed);
    call.begin = from.begin.load(memory_order_relaxed);
    call.end = from.end.load(memory_order_relaxed);
    call.correlation = id;
    call.node = static_cast<std::uint32_t>(packed);
    call.step = static_cast<std::uint32_t>(packed >> 32);
    call.thread = static_cast<std::uint16_t>(word >> 32);
    call.kind = static_cast<api_kind>(static_cast<std::uint8_t>(word >> 48));
    call.flags = static_cast<std::uint8_t>(word >> 56);
    return true;
  }

  template <class Sink>
  static void for_each_of_page(page const& from, Sink sink) {
    driver_call_record launch{};
    for (std::uint32_t i = 0; i < page_launches; ++i)
      if (read(from.slots[i], from.first + i, launch)) sink(launch, from.notes[i]);
  }

  template <class Look>
  void for_each_page(Look look) const {
    std::uint64_t const last = last_page_.load(memory_order_acquire);
    for (std::uint64_t i = first_page_.load(memory_order_acquire); i <= last; ++i) {
      page const* const first = page_of(static_cast<std::uint32_t>(i * page_launches));
      if (first != nullptr) look(*first);
    }
  }
  /// The calls of a page and of those that had the same ids before, by ascending ids, with their
  /// pages and their places there.
  template <class Sink>
  static void for_each_by_id(page const& first, Sink sink) {
    driver_call_record launch{};
    for (std::uint32_t i = 0; i < page_launches; ++i)
      for (page const* turn = &first; turn != nullptr; turn = turn->last_turn)
        if (read(turn->slots[i], turn->first + i, launch)) sink(launch, *turn, i);
  }
  template <class Sink>
  static void for_each_with_notes(page const& first, Sink& sink) {
    for_each_by_id(first,
                   [&sink](driver_call_record const& launch, page const& turn, std::uint32_t i) {
                     sink(launch, (turn.notes[i] & worked) != 0, turn.kept);
                   });
  }

  static bool is_of_last_turn(page const& current, driver_call_record const& launch) noexcept {
    if (launch.begin - current.made.load(memory_order_relaxed) <= turn_ticks) return false;
    slot const& here = current.slots[launch.correlation % page_launches];
    return here.id.load(memory_order_relaxed) != 0 &&
           launch.begin - here.begin.load(memory_order_relaxed) > turn_ticks;
  }

  STRATA_DETAIL_COLD page* make_page(driver_call_record const& launch) noexcept {
    spin_lock const lock(mutex_);
    std::uint32_t const id = launch.correlation;
    if (directory_.load(memory_order_relaxed) == nullptr) {
      void* const made = std::calloc(max_pages, sizeof(page*));
      if (made == nullptr) return nullptr;
      directory_.store(static_cast<atomic<page*>*>(made), memory_order_release);
    }
    page* const before = page_of(id);
    if (before != nullptr && !is_of_last_turn(*before, launch)) return before;
    std::size_t const index = id / page_launches;
    bool const kept = budget_->take(sizeof(page), memory_use::record);
    page* const made =
        (!kept && beyond_.size() >= most_beyond) || !beyond_.make_room(1) ? nullptr : find_memory();
    if (made == nullptr) {
      if (kept) {
        budget_->give(sizeof(page));
        budget_->end();
      }
      return nullptr;
    }
    made->first = static_cast<std::uint32_t>(index * page_launches);
    made->term = budget_->term();
    made->kept = kept;
    made->used = true;
    made->made.store(launch.begin, memory_order_relaxed);
    made->last_turn = before;
    if (before != nullptr) beyond_.keep_if([before](page const* other) { return other != before; });
    if (!kept) beyond_.push_back(made);
    std::uint64_t const newest = newest_page_.load(memory_order_relaxed);
    bool const is_late = (newest - index) % max_pages < slack / page_launches;
    if (!is_late || first_page_.load(memory_order_relaxed) == max_pages)
      newest_page_.store(index, memory_order_release);
    if (index < first_page_.load(memory_order_relaxed))
      first_page_.store(index, memory_order_release);
    if (index > last_page_.load(memory_order_relaxed))
      last_page_.store(index, memory_order_release);
    set_page(index, made);
    return made;
  }

  void set_page(std::size_t index, page* new_page) noexcept {
    directory_.load(memory_order_relaxed)[index].store(new_page, memory_order_release);
  }

  page* find_memory() noexcept {
    if (!free_.empty()) {
      page* const again = free_.back();
      free_.pop_back();
      return again;
    }
    // Any page may be put away without memory.
    if (!pages_.make_room(1) || !free_.make_room(pages_.size() + 1)) return nullptr;
    void* const memory =
        mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const made = static_cast<page*>(memory);
    pages_.push_back(made);
    return made;
  }

  /// Requires: the lock. The page is empty and not used afterwards.
  void put_away(page* done) noexcept {
    if (done->kept && done->term == budget_->term()) budget_->give(sizeof(page));
    set_page(done->first / page_launches, nullptr);
    done->used = false;
    done->last_turn = nullptr;
    free_.push_back(done);
    forget(*done);
  }

  page* take_oldest(std::uint32_t newest) noexcept {
    spin_lock const lock(mutex_);
    if (beyond_.empty()) return nullptr;
    page* const oldest = beyond_.front();
    std::uint32_t const behind = newest - oldest->first;  // also where the ids began anew
    if (behind < slack || behind > 0x80000000u) return nullptr;
    beyond_.erase(beyond_.begin());
    set_page(oldest->first / page_launches, std::exchange(oldest->last_turn, nullptr));
    return oldest;
  }

  void release(page* done) noexcept {
    empty(*done);
    spin_lock const lock(mutex_);
    done->used = false;
    free_.push_back(done);
  }

  /// Empties a page and gives its memory back to the system.
  static void forget(page& done) noexcept {
    if (madvise(&done, sizeof done, MADV_DONTNEED) != 0) empty(done);
  }
  static void empty(page& done) noexcept {
    for (slot& emptied : done.slots) emptied.id.store(0, memory_order_relaxed);
    std::memset(done.notes, 0, sizeof done.notes);
  }

  memory_budget* budget_;
  atomic<atomic<page*>*> directory_{nullptr};  // by id / page_launches
  atomic<std::uint64_t> first_page_{max_pages};
  atomic<std::uint64_t> last_page_{0};
  atomic<std::uint64_t> newest_page_{0};
  mutable spin_mutex mutex_;
  vec<page*> pages_;
  vec<page*> free_;
  vec<page*> beyond_;  // the budget, in the order of their making
  // Of the stream, by the one thread that finds.
  bool streams_ = false;
  std::uint64_t stream_page_ = 0;
  overdue_calls overdue_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_LAUNCH_TABLE_HPP
