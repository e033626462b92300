#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_THREAD_RECORDER_HPP
#define STRATA_COLLECT_HOST_THREAD_RECORDER_HPP

#include <strata/annotate/attributes.hpp>
#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// What the threads' recorders have in common.
struct recorder_state {
  tick_source clock;
  name_table names;
  node_table nodes{names.intern("[deeper]", {}), names.intern("[other ranges]", {})};
  memory_budget budget;
  std::atomic<std::uint32_t> session{
      0};  // number of the session that records now, 0 while none does
  std::atomic<std::uint32_t> step{no_step};
  std::atomic<bool> warming{false};  // calls into the driver are followed but not reported
  std::atomic<void (*)() noexcept> before_end{nullptr};  // `sync=1`
  std::atomic<void (*)(char const* name, std::size_t length) noexcept> forward_begin{
      nullptr};  // NVTX
  std::atomic<void (*)() noexcept> forward_end{nullptr};
  std::atomic<std::uint64_t> ended_elsewhere{0};
  std::atomic<std::uint64_t> pops_without_push{0};
  std::atomic<std::uint64_t> too_many_open{0};

  span_log spans{clock, names, budget, session, step};

  static constexpr std::string_view other_names = "[other names]";
};

/// The calls that a full log could not keep one by one, as sums by node.
/// Threads: one at a time.
class overflow_log {
 public:
  void add(range_record const& range) { of(range.node).durations.add(range.end - range.begin); }

  void add(attribute_record const& given) {
    overflow_sums& sums = of(given.node);
    if (!is_nan(given.flops)) sums.flops += given.flops;
    if (!is_nan(given.bytes)) sums.bytes += given.bytes;
    if (!is_nan(given.tokens)) sums.tokens += given.tokens;
  }

  vec<overflow_sums> const& all() const noexcept { return sums_; }

  void clear() noexcept {
    sums_.clear();
    position_of_node_.clear();
  }

 private:
  overflow_sums& of(std::uint32_t node) {
    if (node >= position_of_node_.size()) position_of_node_.resize(node + std::size_t{1}, 0);
    if (position_of_node_[node] == 0) {
      sums_.emplace_back();
      sums_.back().node = node;
      position_of_node_[node] = static_cast<std::uint32_t>(sums_.size());
    }
    return sums_[position_of_node_[node] - 1];
  }

  vec<overflow_sums> sums_;
  vec<std::uint32_t> position_of_node_;  // position + 1 in sums_
};

/// The host time of one thread's calls directly below places that it inherited from others.
/// Threads: one at a time.
class inherited_sums {
 public:
  /// Units: ticks. `from` is the range that the thread itself was in.
  void add(std::uint32_t node, std::uint32_t from, std::int64_t duration) {
    if (node >= last_of_node_.size()) last_of_node_.resize(node + std::size_t{1}, 0);
    std::uint32_t at = last_of_node_[node];  // position + 1
    while (at != 0 && sums_[at - 1].from != from) at = earlier_[at - 1];
    if (at == 0) {
      earlier_.push_back(last_of_node_[node]);
      sums_.push_back({node, from, 0});
      last_of_node_[node] = at = static_cast<std::uint32_t>(sums_.size());
    }
    sums_[at - 1].total += duration;
  }

  void copy_to(vec<inherited_time>& to) const { to.insert(to.end(), sums_.begin(), sums_.end()); }

  void clear() noexcept {
    sums_.clear();
    earlier_.clear();
    last_of_node_.clear();
  }

 private:
  vec<inherited_time> sums_;
  vec<std::uint32_t> earlier_;  // of the same node
  vec<std::uint32_t> last_of_node_;
};

/// What one thread records: the ranges that are open, and the logs of those that ended.
/// Threads: the owner, except where a function says otherwise.
class thread_recorder : public range_owner {
 public:
  explicit thread_recorder(recorder_state& shared) noexcept
      : range_owner{&thread_recorder::end_range},
        shared_(&shared),
        children_(shared.nodes),
        ranges_(shared.budget),
        attributes_(shared.budget),
        launches_(shared.budget) {}

  thread_recorder(thread_recorder const&) = delete;
  thread_recorder& operator=(thread_recorder const&) = delete;
  ~thread_recorder() { std::free(frames_); }

  static constexpr std::uint32_t most_open = 1u << 20;
  static constexpr std::uint32_t no_base = 0xffffffffu;

  /// A thread takes this recorder over.
  void adopt(std::uint32_t ordinal, std::uint64_t os_id) noexcept {
    range_owner::end = &thread_recorder::end_range;  // of the copy of Strata that adopts
    ordinal_ = ordinal;
    os_id_ = os_id;
    owned_.store(true, std::memory_order_relaxed);
  }
  void leave() noexcept {
    watch_ = nullptr;
    owned_.store(false, std::memory_order_relaxed);
  }
  bool owned() const noexcept { return owned_.load(std::memory_order_relaxed); }

  /// Threads: one, while no thread owns this recorder. What the former owner left is forgotten.
  void forget() noexcept { renew(0); }

  /// The recorder of the calling thread, null before its first range.
  static thread_recorder*& current() noexcept { return current_; }

  range_token begin(name_cache* cached, std::string_view name, std::int64_t index,
                    range_attributes const* attributes, bool pushed) noexcept {
    std::uint32_t const depth = depth_.load(std::memory_order_relaxed);
    if (STRATA_DETAIL_UNLIKELY(depth == capacity_) && !grow()) return refuse(pushed);
    std::uint32_t number = known_number(name, cached);
    if (STRATA_DETAIL_UNLIKELY(number == 0)) number = number_of(name, cached);
    frame& f = frames_[depth];
    f.node = children_.find(depth == 0 ? root_node : frames_[depth - 1].node, number, index);
    f.attribute = no_reference;
    f.serial = ++serial_;
    f.pushed = pushed;
    f.session = shared_->session.load(std::memory_order_acquire);
    f.forwarded = false;
    if (f.session != 0) {
      if (STRATA_DETAIL_UNLIKELY(f.session != session_)) renew(f.session);
      if (STRATA_DETAIL_UNLIKELY(attributes != nullptr)) f.attribute = log(*attributes, f.node);
    }
    depth_.store(depth + 1, std::memory_order_relaxed);
    if (STRATA_DETAIL_UNLIKELY(watch_ != nullptr ||
                               shared_->forward_begin.load(std::memory_order_relaxed) != nullptr)) {
      tell_begin(name, f);
    }
    if (f.session != 0) f.begin = shared_->clock.now();
    return {this, depth + 1, f.serial};
  }

  /// Until it ends, this thread's ranges and launches stand below `node`, another thread's range.
  STRATA_DETAIL_COLD range_token inherit(std::uint32_t node) noexcept {
    std::uint32_t const depth = depth_.load(std::memory_order_relaxed);
    if (node == root_node || node == this->node()) return {};
    if (depth == capacity_ && !grow()) return refuse(false);
    frames_[depth] = {0, node, base_, 0, ++serial_, false, false};
    base_ = depth + 1;
    bases_.fetch_add(1, std::memory_order_relaxed);
    depth_.store(depth + 1, std::memory_order_relaxed);
    if (watch_ != nullptr) watch_(watch_context_, node);
    return {this, depth + 1, serial_};
  }

  /// Ends the range at this depth and whatever is still open within it.
  STRATA_DETAIL_COLD void end(std::uint32_t depth) noexcept {
    if (auto* const wait = shared_->before_end.load(std::memory_order_relaxed)) wait();
    std::int64_t const now = shared_->clock.now();
    while (depth_.load(std::memory_order_relaxed) >= depth) close_top(now);
    if (pushes_refused_.load(std::memory_order_relaxed) != 0)
      pushes_refused_.store(0, std::memory_order_relaxed);
  }

  /// Records the ranges that are still open as if they ended now; they stay open for the program.
  /// Returns: how many.
  std::uint32_t cut() noexcept {
    std::uint32_t const session = shared_->session.load(std::memory_order_relaxed);
    std::int64_t const now = shared_->clock.now();
    std::uint32_t count = pushes_refused_.load(std::memory_order_relaxed);
    if (session == 0) return count;
    std::uint32_t base = base_;
    for (std::uint32_t depth = depth_.load(std::memory_order_relaxed); depth != 0; --depth) {
      frame& f = frames_[depth - 1];
      if (depth == base) base = f.attribute;
      if (f.session != session) continue;
      record(f, now);
      if (depth - 1 == base) add_inherited(f, base, now);
      f.session = 0;
      ++count;
    }
    return count;
  }

  /// The thread ends: so do its ranges.
  void abandon() noexcept {
    std::int64_t const now = shared_->clock.now();
    while (depth_.load(std::memory_order_relaxed) != 0) close_top(now);
    pushes_refused_.store(0, std::memory_order_relaxed);
  }

  /// Ends the innermost range if `push` began it.
  void pop() noexcept {
    if (std::uint32_t const refused = pushes_refused_.load(std::memory_order_relaxed)) {
      pushes_refused_.store(refused - 1, std::memory_order_relaxed);
      return;
    }
    std::uint32_t const depth = depth_.load(std::memory_order_relaxed);
    if (depth == 0 || !frames_[depth - 1].pushed) {
      shared_->pops_without_push.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    end(depth);
  }

  /// The range that the thread is in.
  std::uint32_t node() const noexcept {
    std::uint32_t const depth = depth_.load(std::memory_order_relaxed);
    return depth == 0 ? root_node : frames_[depth - 1].node;
  }

  /// Tells `watcher` the range that the thread is in whenever that changes; null ends it.
  void watch(void (*watcher)(void* context, std::uint32_t node) noexcept, void* context) noexcept {
    watch_context_ = context;
    watch_ = watcher;
  }

  /// Threads: any. Hands every call into the driver of this session to `sink`.
  template <class Sink>
  void each_launch(std::uint32_t session, Sink sink) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (session_ == session) launches_.for_each(sink);
  }

  /// Threads: any. Hands every range of this session to `sink`.
  template <class Sink>
  void each_range(std::uint32_t session, Sink sink) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (session_ == session) ranges_.for_each(sink);
  }

  /// Keeps one call into the driver; the range and the step are filled in here.
  bool add_launch(launch_record launch, std::uint32_t session) noexcept {
    if (session != session_) renew(session);
    launch.node = node();
    launch.step = shared_->step.load(std::memory_order_relaxed);
    launch.thread = static_cast<std::uint16_t>(ordinal_ < 0xffff ? ordinal_ : 0xffff);
    return launches_.push(launch);
  }

  /// Threads: any. How many ranges are open now.
  std::uint32_t depth() const noexcept {
    return depth_.load(std::memory_order_relaxed) - bases_.load(std::memory_order_relaxed) +
           pushes_refused_.load(std::memory_order_relaxed);
  }
  /// Threads: any.
  std::uint32_t ordinal() const noexcept { return ordinal_; }
  std::uint64_t os_id() const noexcept { return os_id_; }

  /// Threads: any. Adds what was recorded in this session; times stay in ticks.
  void copy_to(profile& to, std::uint32_t session) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (session_ != session) return;
    auto const first_attribute = static_cast<std::uint32_t>(to.attributes.size());
    ranges_.for_each([&](range_record r) {
      if (r.attribute != no_reference) r.attribute += first_attribute;
      to.ranges.push_back(r);
    });
    attributes_.for_each([&](attribute_record const& a) { to.attributes.push_back(a); });
    launches_.for_each([&](launch_record const& l) { to.launches.push_back(l); });
    for (overflow_sums const& f : sums_.all()) {
      to.folded.push_back(f);
      to.losses.ranges_folded += f.durations.count();
    }
    inherited_.copy_to(to.inherited);
  }

 private:
  struct frame {
    std::int64_t begin;
    std::uint32_t node;
    std::uint32_t attribute;  // of an inherited place: the base_ below it
    std::uint32_t session;    // that recorded when the range began, 0 if none
    std::uint32_t serial;
    bool pushed;
    bool forwarded;
  };
  static void end_range(range_token range) noexcept {
    auto& recorder = static_cast<thread_recorder&>(*range.owner);
    if (current_ != &recorder) {
      if (!recorder.owned()) return;  // it has ended with its thread
      recorder.shared_->ended_elsewhere.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    // A range that ended with an outer one is not there any more.
    if (recorder.depth_.load(std::memory_order_relaxed) < range.depth ||
        recorder.frames_[range.depth - 1].serial != range.serial)
      return;
    if (STRATA_DETAIL_UNLIKELY(recorder.depth_.load(std::memory_order_relaxed) != range.depth ||
                               recorder.shared_->before_end.load(std::memory_order_relaxed) !=
                                   nullptr ||
                               recorder.pushes_refused_.load(std::memory_order_relaxed) != 0)) {
      return recorder.end(range.depth);
    }
    recorder.close_top(recorder.shared_->clock.now());
  }

  void close_top(std::int64_t now) noexcept {
    std::uint32_t const depth = depth_.load(std::memory_order_relaxed) - 1;
    frame const& f = frames_[depth];
    depth_.store(depth, std::memory_order_relaxed);
    if (STRATA_DETAIL_UNLIKELY(f.forwarded || watch_ != nullptr)) tell_end(f);
    if (STRATA_DETAIL_UNLIKELY(depth + 1 == base_)) return leave_inherited(f);
    if (f.session == 0 || f.session != shared_->session.load(std::memory_order_relaxed)) return;
    record(f, now);
    if (STRATA_DETAIL_UNLIKELY(depth == base_)) add_inherited(f, base_, now);
  }

  STRATA_DETAIL_COLD void leave_inherited(frame const& f) noexcept {
    base_ = f.attribute;
    bases_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Keeps account of a range directly below an inherited place, and of the own range around it.
  STRATA_DETAIL_COLD void add_inherited(frame const& f, std::uint32_t base,
                                        std::int64_t now) noexcept {
    while (base > 1 && frames_[base - 1].attribute == base - 1) --base;
    bool const around = base > 1 && frames_[base - 2].session == f.session;
    std::uint32_t const from = around ? frames_[base - 2].node : root_node;
    std::lock_guard<std::mutex> lock(mutex_);
    inherited_.add(f.node, from, now - f.begin);
  }

  STRATA_DETAIL_COLD void tell_begin(std::string_view name, frame& f) noexcept {
    auto* const forward = shared_->forward_begin.load(std::memory_order_relaxed);
    f.forwarded = forward != nullptr;
    if (f.forwarded) forward(name.data(), name.size());
    if (watch_ != nullptr) watch_(watch_context_, f.node);
  }

  STRATA_DETAIL_COLD void tell_end(frame const& f) noexcept {
    if (f.forwarded) {
      if (auto* const forward = shared_->forward_end.load(std::memory_order_relaxed)) forward();
    }
    if (watch_ != nullptr) watch_(watch_context_, node());
  }

  void record(frame const& f, std::int64_t now) noexcept {
    range_record const r{
        f.begin, now, f.node, f.attribute, shared_->step.load(std::memory_order_relaxed), ordinal_};
    if (STRATA_DETAIL_UNLIKELY(!ranges_.push(r))) fold(r);
  }

  static std::uint64_t tag_of(std::string_view name) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(name.data())) << 32;
  }

  /// The number that the name's place in the source remembers; 0 where it does not know this text.
  static std::uint32_t known_number(std::string_view name, name_cache const* cached) noexcept {
    if (cached == nullptr) return 0;
    std::uint64_t const known = cached->load(std::memory_order_relaxed);
    return (known ^ tag_of(name)) >> 32 == 0 ? static_cast<std::uint32_t>(known) : 0;
  }

  STRATA_DETAIL_COLD std::uint32_t number_of(std::string_view name, name_cache* cached) noexcept {
    bool refused = false;
    std::uint32_t const number = shared_->names.intern(name, recorder_state::other_names, &refused);
    if (cached != nullptr && !refused) {
      cached->store(tag_of(name) | number, std::memory_order_relaxed);
    }
    return number;
  }

  /// There is no room for one more open range.
  STRATA_DETAIL_COLD range_token refuse(bool pushed) noexcept {
    if (pushed) {
      pushes_refused_.fetch_add(1, std::memory_order_relaxed);
    } else {
      shared_->too_many_open.fetch_add(1, std::memory_order_relaxed);
    }
    return {};
  }

  STRATA_DETAIL_COLD bool grow() noexcept {
    if (capacity_ >= most_open) return false;
    std::uint32_t const capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    auto* const grown = static_cast<frame*>(std::realloc(frames_, capacity * sizeof(frame)));
    if (grown == nullptr) return false;
    frames_ = grown;
    capacity_ = capacity;
    return true;
  }

  /// The first record of another session: what the last one left is forgotten.
  STRATA_DETAIL_COLD void renew(std::uint32_t session) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    ranges_.clear();
    attributes_.clear();
    launches_.clear();
    sums_.clear();
    inherited_.clear();
    session_ = session;
  }

  STRATA_DETAIL_COLD std::uint32_t log(range_attributes const& attributes,
                                       std::uint32_t node) noexcept {
    attribute_record record = attributes.record;
    record.node = node;
    if (!attributes.note.empty())
      record.note = shared_->names.intern(attributes.note, recorder_state::other_names);
    if (attributes_.push(record)) return static_cast<std::uint32_t>(attributes_.pushed());
    std::lock_guard<std::mutex> lock(mutex_);
    sums_.add(record);
    return no_reference;
  }

  /// The log is full: its newest block, or where there is none the record alone, lives on in sums.
  STRATA_DETAIL_COLD void fold(range_record const& record) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    typename record_log<attribute_record>::cursor at;
    auto const add = [&](range_record const& r) {
      sums_.add(r);
      if (r.attribute == no_reference) return;
      if (attribute_record const* const a = attributes_.find(r.attribute - 1u, at)) sums_.add(*a);
    };
    if (ranges_.drop_last(add)) {
      (void)ranges_.push(record);
    } else {
      add(record);
    }
  }

  STRATA_DETAIL_EXPORT static inline thread_local thread_recorder* current_ = nullptr;

  void (*watch_)(void* context, std::uint32_t node) noexcept = nullptr;
  void* watch_context_ = nullptr;
  recorder_state* shared_;
  std::atomic<std::uint32_t> depth_{0};
  std::atomic<std::uint32_t> pushes_refused_{0};
  std::atomic<std::uint32_t> bases_{0};  // inherited places among the open ranges
  std::uint32_t base_ = no_base;         // depth of the innermost inherited place
  std::uint32_t serial_ = 0;
  std::uint32_t capacity_ = 0;
  frame* frames_ = nullptr;
  std::uint32_t session_ = 0;
  std::uint32_t ordinal_ = 0;
  std::atomic<bool> owned_{false};
  std::uint64_t os_id_ = 0;
  child_cache children_;
  record_log<range_record> ranges_;
  record_log<attribute_record> attributes_;
  record_log<launch_record> launches_;
  std::mutex mutex_;   // excludes readers while records are taken out of the logs
  overflow_log sums_;  // of what the logs had no room for
  inherited_sums inherited_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_THREAD_RECORDER_HPP
