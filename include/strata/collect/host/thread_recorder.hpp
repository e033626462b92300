#ifndef STRATA_COLLECT_HOST_THREAD_RECORDER_HPP
#define STRATA_COLLECT_HOST_THREAD_RECORDER_HPP

#include <strata/annotate/attributes.hpp>
#include <strata/annotate/process.hpp>
#include <strata/collect/host/recorder_state.hpp>

STRATA_BEGIN
namespace detail {

/// What one thread records: open ranges, and logs of those that ended. Threads: the owner.
class thread_recorder : public range_owner, uncopied {
 public:
  explicit thread_recorder(recorder_state& shared) noexcept
      : range_owner{&thread_recorder::end_range},
        shared_(&shared),
        memos_{name_memo(shared.names), child_memo(shared.nodes)},
        ranges_(shared.budget),
        attributes_(shared.budget),
        sums_{overflow_log(&shared.budget), {}, false} {}

  static constexpr std::uint32_t most_open = open_ranges::most;
  static constexpr std::uint32_t no_base = 0xffffffffu;

  /// A thread takes this recorder over.
  void adopt(std::uint32_t ordinal, std::uint64_t os_id) noexcept {
    range_owner::end = &thread_recorder::end_range;  // of the copy of Strata that adopts
    owner_.ordinal = ordinal;
    owner_.os_id = os_id;
    owner_.lives.store(true, memory_order_relaxed);
  }
  void leave() noexcept {
    observers_.clear();
    thread_place const* own = &position_;
    shared_->of_steps.compare_exchange_strong(own, nullptr);
    owner_.lives.store(false, memory_order_relaxed);
  }
  bool owned() const noexcept { return owner_.lives.load(memory_order_relaxed); }

  /// Threads: one, while no thread owns this recorder. What the former owner left is forgotten.
  void forget() noexcept { renew(0); }

  /// The recorder of the calling thread, null before its first range.
  static thread_recorder*& current() noexcept { return current_; }

  STRATA_DETAIL_ALWAYS_INLINE range_token begin(name_cache* cached, std::string_view name,
                                                std::int64_t index,
                                                range_attributes const* attributes,
                                                bool pushed) noexcept {
    if (STRATA_DETAIL_UNLIKELY(within_)) return leave_out();
    within const guard(within_);
    std::uint32_t const session = shared_->session.load(memory_order_acquire);
    if (STRATA_DETAIL_UNLIKELY(session != session_) &&
        (session != 0 || session_ == shared_->forgotten.load(memory_order_relaxed)))
      renew(session);
    if (STRATA_DETAIL_UNLIKELY(is_of_before())) renew_places();
    std::uint32_t const depth = frames_.depth();
    if (STRATA_DETAIL_UNLIKELY(!frames_.has_room()) && !frames_.grow()) return refuse(pushed);
    std::uint32_t number = known_number(name, cached);
    if (number == 0) number = number_of(name, cached);
    frame& f = frames_[depth];
    std::uint32_t const node = memos_.children.find({position_.node(), number, index});
    std::uint32_t const serial = frames_.next_serial();
    f.node.store(node, memory_order_relaxed);
    f.index = index;
    f.name = number;
    f.session.store(session, memory_order_relaxed);
    f.attribute = no_reference;
    f.serial = serial;
    f.pushed = f.stacked = pushed;
    f.forwarded = false;
    if (STRATA_DETAIL_UNLIKELY(attributes != nullptr) && session != 0)
      f.attribute = log(*attributes, node);
    frames_.set_depth(depth + 1);
    position_.enter(node);
    if (STRATA_DETAIL_UNLIKELY(is_observed() ||
                               shared_->forward_begin.load(memory_order_relaxed) != nullptr))
      after_begin(name, f);
    range_token const token{this, depth + 1, serial};
    if (session != 0) f.begin.store(shared_->clock.now(), memory_order_relaxed);
    return token;
  }

  /// Until it ends, this thread's ranges and launches count below `node`, another thread's range.
  STRATA_DETAIL_COLD range_token inherit(std::uint32_t node) noexcept {
    if (within_) return leave_out();
    within const guard(within_);
    if (is_of_before()) renew_places();
    std::uint32_t const depth = frames_.depth();
    if (node == root_node || node == this->node()) return {};
    if (!frames_.has_room() && !frames_.grow()) return refuse(false);
    frame& f = frames_[depth];
    f.begin.store(0, memory_order_relaxed);
    f.index = no_index;
    f.node.store(node, memory_order_relaxed);
    f.session.store(0, memory_order_relaxed);
    f.base_below = bases_.innermost;
    f.serial = frames_.next_serial();
    f.name = 0;
    f.pushed = f.stacked = f.forwarded = false;
    bases_.innermost = depth + 1;
    bases_.count.fetch_add(1, memory_order_relaxed);
    frames_.set_depth(depth + 1);
    position_.enter(node);
    report_place();
    return {this, depth + 1, f.serial};
  }

  /// Ends the range at this depth and whatever is still open within it.
  STRATA_DETAIL_COLD void end(std::uint32_t depth) noexcept {
    if (auto* const wait = shared_->before_end.load(memory_order_relaxed)) wait();
    std::int64_t const now = shared_->clock.now();
    for (std::uint32_t left = frames_.depth(); left > depth; --left)
      if (frames_[left - 1].pushed) note_left(frames_[left - 1]);
    while (frames_.depth() >= depth) close_top(now);
    pushes_refused_.store(0, memory_order_relaxed);
  }

  /// A pop ends this range, which has just begun, and no scope does.
  void end_by_pop(range_token const& range) noexcept {
    if (current_ == this && has_open(range)) frames_[range.depth - 1].stacked = true;
  }
  /// Whether a range of such a name, but for digits, is open and waits for its pop.
  bool awaits_pop(range_token const& range, std::string_view name) const noexcept {
    if (!has_open(range)) return false;
    frame const& f = frames_[range.depth - 1];
    return f.stacked && same_but_for_digits(shared_->names.text(f.name), name);
  }
  /// A step of the program begins in this thread: what is pushed from now on ends with it.
  void enter_step() noexcept {
    steps_begin_ = frames_.last_serial();
    if (auto* const stack = shared_->other_stack.load(memory_order_relaxed)) stack(false);
  }
  /// That step ends, or the next one begins: so does what no pop has ended.
  STRATA_DETAIL_COLD void leave_step() noexcept {
    if (within_) return;
    within const guard(within_);
    if (is_of_before()) renew_places();
    std::uint32_t first = 0;
    // By number: what was around the step as it began may have ended in it. Numbers start over.
    while (first < frames_.depth() &&
           (!frames_[first].stacked ||
            static_cast<std::int32_t>(frames_[first].serial - steps_begin_) <= 0))
      ++first;
    if (first >= frames_.depth()) return;
    for (std::uint32_t i = first; i < frames_.depth(); ++i)
      if (frames_[i].stacked && (i == first || !frames_[i].pushed)) note_left(frames_[i]);
    end(first + 1);
    if (auto* const stack = shared_->other_stack.load(memory_order_relaxed)) stack(true);
  }

  /// Records the open ranges as if they ended now; they stay open. Returns: how many.
  std::uint32_t cut() noexcept {
    std::uint32_t const session = shared_->session.load(memory_order_relaxed);
    std::int64_t const now = shared_->clock.now();
    std::uint32_t count = pushes_refused_.load(memory_order_relaxed);
    if (session == 0) return count;
    std::uint32_t base = bases_.innermost;
    for (std::uint32_t depth = frames_.depth(); depth != 0; --depth) {
      frame& f = frames_[depth - 1];
      if (depth == base) base = f.base_below;
      if (f.session.load(memory_order_relaxed) != session) continue;
      record(f, now, is_contained(depth - 1, base));
      if (depth - 1 == base) add_inherited(f, base, now);
      f.session.store(0, memory_order_relaxed);
      ++count;
    }
    return count;
  }

  /// The thread ends: what it has open now is what it was in. To be called before `cut`.
  void note_end() noexcept {
    shared_->left.note(owner_.ordinal, frames_, session_, shared_->clock.now());
  }

  /// The thread ends: so do its ranges.
  void abandon() noexcept {
    std::int64_t const now = shared_->clock.now();
    while (frames_.depth() != 0) close_top(now);
    pushes_refused_.store(0, memory_order_relaxed);
  }

  /// Ends the innermost range if `push` began it, outside of Strata.
  void pop() noexcept {
    if (within_) return;
    within const guard(within_);
    if (is_of_before()) renew_places();
    if (std::uint32_t const refused = pushes_refused_.load(memory_order_relaxed))
      return pushes_refused_.store(refused - 1, memory_order_relaxed);
    std::uint32_t const depth = frames_.depth();
    if (depth != 0 && frames_[depth - 1].pushed) return end(depth);
    shared_->pops_without_push.fetch_add(1, memory_order_relaxed);
  }

  /// The range that the thread is in.
  std::uint32_t node() noexcept {
    if (is_of_before() && !within_) {
      within const guard(within_);
      renew_places();
    }
    return is_of_before() ? root_node : position_.node();
  }
  /// The range that the thread's work on the device belongs to: where it is in none, the range of
  /// the thread that drives the steps.
  std::uint32_t work_node() noexcept {
    std::uint32_t const own = node();
    return own == root_node ? shared_->node_of_steps() : own;
  }

  /// The thread drives the steps from now on: it adopts work of threads that are in no range.
  void drive_steps() noexcept {
    if (!shared_->adopts.load(memory_order_relaxed)) return;
    (void)node();  // the open ranges have their places in this session
    shared_->of_steps.store(&position_, memory_order_release);
  }

  bool is_observed() const noexcept { return observers_.any(); }
  /// Hands the range that the thread is in to `changed` whenever that changes. False where there
  /// are too many observers.
  bool observe(place_observers::place_changed* changed, void* context) noexcept {
    return observers_.add(changed, context);
  }
  /// Threads: any. Ends what `observe` began with this context; no call to it is under way when
  /// this returns, unless it comes from one.
  void stop_observing(void const* context) noexcept {
    observers_.remove(context, current_ == this);
  }
  /// In a forked child, whose lock may have no owner: this thread is not observed any more.
  void forget_observers() noexcept { observers_.forget(); }
  /// Gives the observers the range that the thread is in.
  STRATA_DETAIL_COLD void report_place() noexcept {
    if (observers_.any()) observers_.report(node());
  }

  /// Threads: any. Hands every range of this session to `sink`.
  template <class Sink>
  void for_each_range(std::uint32_t session, Sink sink) {
    system_lock lock(mutex_);
    if (session_ == session) ranges_.for_each(sink);
  }

  /// Threads: any, one at a time. Hands the ranges of this session that ended until then, and that
  /// were not taken before, to `take(range, attribute or null)`.
  template <class Take>
  void stream(std::uint32_t session, std::int64_t until, Take take) {
    system_lock lock(mutex_);
    if (session_ != session) return;
    typename record_log<attribute_record>::cursor from;
    auto const hand = [&](range_record const& r) {
      attribute_record const* given = nullptr;
      if (r.attribute >= beyond_log) {
        given = stream_.overdue.take_attribute(r.attribute);
      } else if (r.attribute != no_reference) {
        given = attributes_.find(r.attribute - 1u, from);
      }
      take(r, given);
    };
    std::size_t done = 0;
    auto& overdue = stream_.overdue.ranges;
    for (; done < overdue.size() && overdue[done].end <= until; ++done) hand(overdue[done]);
    shared_->stream_budget.give(done * sizeof(range_record));
    overdue.erase(overdue.begin(), overdue.begin() + done);
    // Also while some are overdue: those have left the newest block, and older ones may wait.
    range_record const* next = ranges_.find(stream_.next, stream_.nearby);
    for (; next != nullptr && next->end <= until;
         next = ranges_.find(stream_.next, stream_.nearby)) {
      hand(*next);
      ++stream_.next;
    }
    shared_->stream_budget.give(stream_.overdue.forget_taken());
  }

  /// Keeps one call into the driver; the range and the step are filled in here.
  bool add_launch(driver_call_record launch) noexcept {
    std::uint32_t const own = node();
    launch.node = own == root_node ? shared_->node_of_steps() : own;
    if (launch.node != own) launch.flags |= driver_call_record::adopted;
    launch.step = shared_->step.load(memory_order_relaxed);
    launch.thread = static_cast<std::uint16_t>(owner_.ordinal < 0xffff ? owner_.ordinal : 0xffff);
    return shared_->launches.add(launch);
  }

  /// Whether a range that began here has not ended.
  bool has_open(range_token const& range) const noexcept {
    return frames_.depth() >= range.depth && frames_[range.depth - 1].serial == range.serial;
  }
  /// From now on `function` ends the ranges of this thread: it calls `end_range` and may do more.
  void end_by(void (*function)(range_token range) noexcept) noexcept {
    range_owner::end = function;
  }
  static void end_range(range_token range) noexcept {
    auto& recorder = static_cast<thread_recorder&>(*range.owner);
    if (STRATA_DETAIL_UNLIKELY(current_ != &recorder || recorder.frames_.depth() != range.depth ||
                               recorder.frames_[range.depth - 1].serial != range.serial ||
                               recorder.shared_->before_end.load(memory_order_relaxed) != nullptr ||
                               recorder.pushes_refused_.load(memory_order_relaxed) != 0))
      return recorder.end_unusual(range);
    within const guard(recorder.within_);
    recorder.close_top(recorder.shared_->clock.now());
  }

  /// Threads: any. How many ranges are open now, as far as the thread has come to this session.
  std::uint32_t depth() const noexcept {
    if (is_of_before()) return 0;
    return frames_.depth() - bases_.count.load(memory_order_relaxed) +
           pushes_refused_.load(memory_order_relaxed);
  }
  /// Threads: any. As open_ranges::for_each and mark.
  template <class Sink>
  void for_each_open(std::uint32_t session, Sink sink) const {
    if (!is_of_before()) frames_.for_each(session, sink);
  }
  std::uint64_t mark() const noexcept { return frames_.mark(); }
  /// Threads: any.
  std::uint32_t ordinal() const noexcept { return owner_.ordinal; }
  std::uint64_t os_id() const noexcept { return owner_.os_id; }

  /// Threads: any, while nothing is recorded. The logs go into sums, which take little memory.
  STRATA_DETAIL_COLD void fold_all(std::uint32_t session) noexcept {
    system_lock lock(mutex_);
    if (session_ != session) return;
    typename record_log<attribute_record>::cursor cursor;
    ranges_.drain([&](range_record const& r) { add_to_sums(r, cursor); });
    attributes_.drain([](attribute_record const&) {});
    sums_.has_all = true;  // their last blocks are the owner's, which may be writing a record
  }

  /// Threads: any. Hands over what was recorded in this session; times stay in ticks. The memory of
  /// the logs is freed piece by piece. Requires: nothing is recorded.
  void move_to(profile& target, std::uint32_t session) {
    system_lock lock(mutex_);
    if (session_ != session) return;
    auto const first_attribute = static_cast<std::uint32_t>(target.attributes.size());
    auto const add_range = [&](range_record r) {
      if (r.attribute >= beyond_log) r.attribute = no_reference;  // it is in the sums
      if (r.attribute != no_reference) r.attribute += first_attribute;
      target.ranges.push_back(r);
    };
    auto const add_attribute = [&](attribute_record const& a) { target.attributes.push_back(a); };
    if (!sums_.has_all) {
      ranges_.drain(add_range);
      attributes_.drain(add_attribute);
    }
    target.losses.ranges_summed += sums_.beyond_log.calls();
    sums_.beyond_log.move_to(target.summed_ranges);
    sums_.inherited.copy_to(target.inherited);
  }

 private:
  using frame = open_range;

  /// Numbers of attributes from here on are those of overdue ones.
  static constexpr std::uint32_t beyond_log = 1u << 31;

  /// What waits to be streamed, and is in no log.
  struct overdue_records {
    struct numbered {
      std::uint32_t number;
      bool taken;
      attribute_record record;
    };
    static constexpr std::size_t attribute_bytes = sizeof(numbered);

    vec<range_record> ranges;
    vec<numbered> attributes;  // of ranges that began while the log was full, by number
    std::uint32_t next = beyond_log;

    /// Requires: there is room.
    std::uint32_t add(attribute_record const& attribute) noexcept {
      next = next == ~0u ? beyond_log : next + 1;
      attributes.push_back({next, false, attribute});
      return next;
    }
    attribute_record const* take_attribute(std::uint32_t number) noexcept {
      if (attributes.empty()) return nullptr;
      // By number from the first one, also where they began anew.
      std::uint32_t const first = attributes[0].number;
      std::size_t const position = attributes.count_first(
          [&](numbered const& n) { return n.number - first < number - first; });
      if (position == attributes.size() || attributes[position].number != number) return nullptr;
      attributes[position].taken = true;
      return &attributes[position].record;
    }
    /// Returns: the bytes of what is forgotten.
    std::size_t forget_taken() noexcept {
      std::size_t const before = attributes.size();
      attributes.keep_if([](numbered const& n) { return !n.taken; });
      return (before - attributes.size()) * attribute_bytes;
    }
  };

  /// The range may belong to another thread, or be not the innermost one.
  STRATA_DETAIL_COLD void end_unusual(range_token range) noexcept {
    if (current_ != this) {
      if (!owned()) return;  // it has ended with its thread
      shared_->ended_elsewhere.fetch_add(1, memory_order_relaxed);
      return;
    }
    within const guard(within_);
    // A range that ended with an outer one is not there any more.
    if (has_open(range)) end(range.depth);
  }

  /// No pop ended this range.
  void note_left(frame const& left) noexcept {
    std::uint32_t nobody = 0;
    if (left.session.load(memory_order_relaxed) == 0) return;
    (void)shared_->first_left.compare_exchange_strong(nobody, left.name);
    shared_->left_in_steps.fetch_add(1, memory_order_relaxed);
  }

  STRATA_DETAIL_ALWAYS_INLINE void close_top(std::int64_t now) noexcept {
    std::uint32_t const depth = frames_.depth() - 1;
    frame const& f = frames_[depth];
    frames_.set_depth(depth);
    position_.enter(depth == 0 ? root_node : frames_[depth - 1].node_now());
    if (STRATA_DETAIL_UNLIKELY(f.forwarded || is_observed())) after_end(f);
    if (STRATA_DETAIL_UNLIKELY(depth + 1 == bases_.innermost)) return leave_inherited(f);
    std::uint32_t const session = f.session.load(memory_order_relaxed);
    if (session == 0 || session != shared_->session.load(memory_order_relaxed)) return;
    record(f, now, is_contained(depth, bases_.innermost));
    if (STRATA_DETAIL_UNLIKELY(depth == bases_.innermost)) add_inherited(f, bases_.innermost, now);
  }

  STRATA_DETAIL_COLD void leave_inherited(frame const& f) noexcept {
    bases_.innermost = f.base_below;
    bases_.count.fetch_sub(1, memory_order_relaxed);
  }

  /// Keeps account of a range directly below an inherited place, and of the own range around it.
  STRATA_DETAIL_COLD void add_inherited(frame const& f, std::uint32_t base,
                                        std::int64_t now) noexcept {
    while (base > 1 && frames_[base - 1].base_below == base - 1) --base;
    bool const around = base > 1 && frames_[base - 2].session.load(memory_order_relaxed) ==
                                        f.session.load(memory_order_relaxed);
    std::uint32_t const from = around ? frames_[base - 2].node_now() : root_node;
    std::int64_t const duration = now - f.begin.load(memory_order_relaxed);
    system_lock lock(mutex_);
    if (!sums_.inherited.add(f.node_now(), from, duration)) lose();
  }

  STRATA_DETAIL_COLD void after_begin(std::string_view name, frame& f) noexcept {
    auto* const forward = shared_->forward_begin.load(memory_order_relaxed);
    f.forwarded = forward != nullptr;
    if (f.forwarded) forward(name.data(), name.size());
    report_place();
  }

  STRATA_DETAIL_COLD void after_end(frame const& f) noexcept {
    if (f.forwarded) {
      if (auto* const forward = shared_->forward_end.load(memory_order_relaxed)) forward();
    }
    report_place();
  }

  /// Whether the range around the one at this place has the same node, as a stand-in has for calls
  /// within each other. Its time then contains the inner call's, which counts as one without time.
  STRATA_DETAIL_ALWAYS_INLINE bool is_contained(std::uint32_t index,
                                                std::uint32_t base) const noexcept {
    return index != 0 && index != base &&
           frames_[index - 1].node_now() == frames_[index].node_now();
  }

  STRATA_DETAIL_ALWAYS_INLINE void record(frame const& f, std::int64_t now,
                                          bool contained) noexcept {
    if (STRATA_DETAIL_UNLIKELY(contained)) now = f.begin.load(memory_order_relaxed);
    range_record* const range = ranges_.find_room();
    if (STRATA_DETAIL_UNLIKELY(range == nullptr)) return fold(f, now);
    write(*range, f, now);
    ranges_.keep();
  }

  STRATA_DETAIL_ALWAYS_INLINE void write(range_record& range, frame const& f,
                                         std::int64_t now) const noexcept {
    range.begin = f.begin.load(memory_order_relaxed);
    range.end = now;
    range.node = f.node_now();
    range.attribute = f.attribute;
    range.step = shared_->step.load(memory_order_relaxed);
    range.thread = owner_.ordinal;
  }

  static std::uint64_t tag_of(std::string_view name) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(name.data())) << 32;
  }

  /// The number that the name's place in the source remembers; 0 where it does not know this text.
  static std::uint32_t known_number(std::string_view name, name_cache const* cached) noexcept {
    if (cached == nullptr) return 0;
    std::uint64_t const known = cached->load(memory_order_relaxed);
    return (known ^ tag_of(name)) >> 32 == 0 ? static_cast<std::uint32_t>(known) : 0;
  }

  std::uint32_t number_of(std::string_view name, name_cache* cached) noexcept {
    bool refused = false;
    std::uint32_t const number = memos_.names.number(name, other_names, &refused);
    if (cached != nullptr && !refused) cached->store(tag_of(name) | number, memory_order_relaxed);
    return number;
  }

  /// While it lives, the thread is within Strata: a range of a signal handler would find the
  /// recorder half changed, or one of its locks taken by its own thread.
  class within {
   public:
    explicit within(bool volatile& flag) noexcept : flag_(flag) { flag_ = true; }
    ~within() { flag_ = false; }

   private:
    bool volatile& flag_;
  };

  STRATA_DETAIL_COLD static range_token leave_out() noexcept {
    block().interrupting_ranges.fetch_add(1, memory_order_relaxed);
    return {};
  }

  /// There is no room for one more open range.
  STRATA_DETAIL_COLD range_token refuse(bool pushed) noexcept {
    if (pushed) {
      pushes_refused_.fetch_add(1, memory_order_relaxed);
    } else {
      shared_->too_many_open.fetch_add(1, memory_order_relaxed);
    }
    return {};
  }

  /// The first record of another session: what the last one left is forgotten.
  STRATA_DETAIL_COLD void renew(std::uint32_t session) noexcept {
    system_lock lock(mutex_);
    ranges_.clear();
    attributes_.clear();
    sums_.beyond_log.clear();
    sums_.inherited.clear();
    stream_.overdue = {};
    stream_.next = 0;
    stream_.nearby = {};
    sums_.has_all = false;
    session_ = session;
  }

  /// Whether a session has ended, or the nodes were given up, since the thread's last call.
  bool is_of_before() const noexcept { return position_.term() != shared_->nodes.term(); }
  /// Where a session has ended, nobody saw the pops of its pushes: they end now, and so does what
  /// is within them. Where the nodes were given up, the open ranges get new ones; what is below an
  /// inherited place counts below the root.
  STRATA_DETAIL_COLD void renew_places() noexcept {
    std::uint64_t const now = shared_->nodes.term();
    std::uint64_t const changed = now ^ position_.term();
    position_.begin_term(now);
    if (changed >> 32 != 0) {
      std::uint32_t first = 0;
      while (first < frames_.depth() && !frames_[first].pushed) ++first;
      while (frames_.depth() > first) close_top(0);
      pushes_refused_.store(0, memory_order_relaxed);
    }
    bool const has_new_nodes = static_cast<std::uint32_t>(changed) != 0;
    if (has_new_nodes) memos_.children.clear();
    std::uint32_t parent = root_node;
    for (std::uint32_t i = 0; i < frames_.depth(); ++i) {
      frame& f = frames_[i];
      if (has_new_nodes && f.name == 0) f.node.store(root_node, memory_order_relaxed);
      if (has_new_nodes && f.name != 0)
        f.node.store(memos_.children.find({parent, f.name, f.index}), memory_order_relaxed);
      parent = f.node_now();
    }
    position_.enter(parent);
  }

  STRATA_DETAIL_COLD std::uint32_t log(range_attributes const& attributes,
                                       std::uint32_t node) noexcept {
    attribute_record record = attributes.record;
    record.node = node;
    if (text_span const note = attributes.note; note.size != 0)
      record.note = memos_.names.number({note.data, note.size}, other_names);
    if (attributes_.push(record)) return static_cast<std::uint32_t>(attributes_.pushed());
    system_lock lock(mutex_);
    if (!sums_.beyond_log.add(record)) lose();
    return keep_for_stream(record);
  }

  void lose() noexcept { shared_->unrecorded.fetch_add(1, memory_order_relaxed); }

  /// The log is full: its newest block, or all of it where memory has ended, lives on in sums.
  STRATA_DETAIL_COLD void fold(frame const& f, std::int64_t now) noexcept {
    range_record record;
    write(record, f, now);
    system_lock lock(mutex_);
    if (sums_.has_all) return lose();
    typename record_log<attribute_record>::cursor cursor;
    bool const all = shared_->budget.ended();
    std::uint64_t position = all ? ranges_.begin() : ranges_.last_block_begin();
    auto const add = [&](range_record const& r) {
      if (position++ >= stream_.next) keep_for_stream(r);
      add_to_sums(r, cursor);
    };
    if (all) {
      ranges_.drain(add, false);
      stream_.nearby = {};
    }
    if (!ranges_.drop_last(add)) return add(record);
    if (all || stream_.next > ranges_.last_block_begin()) stream_.next = ranges_.last_block_begin();
    (void)ranges_.push(record);
  }

  /// Requires: the lock.
  void add_to_sums(range_record const& range,
                   typename record_log<attribute_record>::cursor& cursor) noexcept {
    if (!sums_.beyond_log.add(range)) return lose();
    if (range.attribute == no_reference || range.attribute >= beyond_log) return;
    attribute_record const* const a = attributes_.find(range.attribute - 1u, cursor);
    if (a != nullptr && !sums_.beyond_log.add(*a)) lose();
  }

  /// Requires: the lock.
  void keep_for_stream(range_record const& range) noexcept {
    if (!shared_->streaming.load(memory_order_relaxed)) return;
    if (stream_.overdue.ranges.make_room(1) && shared_->stream_budget.take(sizeof range))
      return stream_.overdue.ranges.push_back(range);
    shared_->stream_dropped.fetch_add(1, memory_order_relaxed);
  }
  /// Returns: the number that its range bears.
  std::uint32_t keep_for_stream(attribute_record const& attribute) noexcept {
    if (!shared_->streaming.load(memory_order_relaxed)) return no_reference;
    if (stream_.overdue.attributes.make_room(1) &&
        shared_->stream_budget.take(overdue_records::attribute_bytes))
      return stream_.overdue.add(attribute);
    shared_->stream_dropped.fetch_add(1, memory_order_relaxed);
    return no_reference;
  }

  STRATA_DETAIL_EXPORT static inline thread_local thread_recorder* current_ = nullptr;

  /// Inherited places among the open ranges.
  struct inherited_places {
    atomic<std::uint32_t> count{0};
    std::uint32_t innermost = no_base;  // its depth
  };
  struct owning_thread {
    std::uint32_t ordinal = 0;
    atomic<bool> lives{false};
    std::uint64_t os_id = 0;
  };
  struct place_memos {
    name_memo names;
    child_memo children;
  };
  struct thread_sums {
    overflow_log beyond_log;  // of what the logs had no room for
    inherited_sums inherited;
    bool has_all = false;  // that the logs have
  };
  /// What is written meanwhile.
  struct stream_part {
    overdue_records overdue;
    std::uint64_t next = 0;  // position of the next range
    typename record_log<range_record>::cursor nearby;
  };

  place_observers observers_;
  recorder_state* shared_;
  bool volatile within_ = false;
  thread_place position_;
  open_ranges frames_;
  atomic<std::uint32_t> pushes_refused_{0};
  inherited_places bases_;
  std::uint32_t session_ = 0;
  std::uint32_t steps_begin_ = 0;  // the number of the last range before the step
  owning_thread owner_;
  place_memos memos_;
  record_log<range_record> ranges_;
  record_log<attribute_record> attributes_;
  system_mutex mutex_;  // excludes readers while records are taken out of the logs
  thread_sums sums_;
  stream_part stream_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_THREAD_RECORDER_HPP
