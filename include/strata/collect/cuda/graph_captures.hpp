#ifndef STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP
#define STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/memory_budget.hpp>
#include <strata/profile/records.hpp>

#include <limits>

STRATA_BEGIN
namespace detail {

/// Which launch of a graph a kernel belongs to that has the id of no call, as in the body of a
/// conditional node (H200, CUDA 13.0): that of the kernel before it in the same graph or stream,
/// else by time. Bounded: the last launches and some graphs and streams are known. Threads:
/// `launched` any, within callbacks; the rest one at a time.
class graph_launches {
 public:
  /// A launch of an executable graph begins. Units: `time` in CUPTI's ns.
  void launched(std::uint32_t correlation, void const* graph, std::int64_t time) noexcept {
    spin_lock const lock(mutex_);
    launches_[count_++ % most] = {time, graph, correlation};
  }

  /// A kernel whose launch is known, in the order of their begins.
  void saw(kernel_record const& kernel, std::uint32_t graph_id) noexcept {
    if (!follow(graph_id, kernel)) return;
    std::uint32_t const correlation = kernel.correlation;
    if (correlation == last_seen_) return;
    last_seen_ = correlation;
    spin_lock const lock(mutex_);
    launch const* const own = find(correlation);
    if (own == nullptr || own->graph == nullptr) return;
    if (with_kernels_.size() >= most || !with_kernels_.make_room()) with_kernels_ = {};
    if (with_kernels_.make_room()) with_kernels_[key_of(own->graph)] = true;
  }

  /// The id of the launch of a kernel that has none; false where no launch is known.
  bool find(kernel_record const& kernel, std::uint32_t graph_id, continued_clock const& clock,
            std::uint32_t& correlation) const noexcept {
    std::uint32_t const* before = graph_id == 0 ? nullptr : by_graph_.find(graph_id);
    if (before != nullptr) {
      correlation = *before;
      return true;
    }
    before = by_stream_.find(stream_of(kernel));
    if (before == nullptr) before = by_stream_.find(context_of(kernel));
    spin_lock const lock(mutex_);
    launch const* const last = last_before(kernel.begin, clock);
    // A graph without kernels of its own leaves no trace but its launch.
    bool const is_bare = last != nullptr && with_kernels_.find(key_of(last->graph)) == nullptr;
    bool const is_newer = is_bare && (before == nullptr || last->correlation - *before < half);
    if (before == nullptr && last == nullptr) return false;
    correlation = before == nullptr || is_newer ? last->correlation : *before;
    return true;
  }

  void clear() noexcept {
    by_graph_ = {};
    by_stream_ = {};
    last_seen_ = 0;
    spin_lock const lock(mutex_);
    with_kernels_ = {};
    count_ = 0;
    found_ = 0;
  }

 private:
  static constexpr std::size_t most = 1024;
  static constexpr std::uint32_t half = 0x80000000u;

  struct launch {
    std::int64_t time;
    void const* graph;  ///< the executable one; null where that is not known
    std::uint32_t correlation;
  };

  static std::uint64_t key_of(void const* graph) noexcept {
    return reinterpret_cast<std::uintptr_t>(graph);
  }
  /// Of no stream: a context as a whole.
  static std::uint64_t context_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.context} << 32 | 0xffffffffu;
  }
  static std::uint64_t stream_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.context} << 32 | kernel.stream;
  }

  /// False where there is no memory.
  bool follow(std::uint32_t graph_id, kernel_record const& kernel) noexcept {
    if (by_graph_.size() >= most) by_graph_ = {};
    if (by_stream_.size() >= most) by_stream_ = {};
    if (!by_graph_.make_room() || !by_stream_.make_room()) return false;
    if (graph_id != 0) by_graph_[graph_id] = kernel.correlation;
    by_stream_[stream_of(kernel)] = kernel.correlation;
    if (!by_stream_.make_room()) return false;
    by_stream_[context_of(kernel)] = kernel.correlation;
    return true;
  }

  std::size_t known() const noexcept { return count_ < most ? count_ : most; }
  /// Cost: two comparisons where kernels begin in the order of their launches.
  launch const* find(std::uint32_t correlation) noexcept {
    std::size_t const oldest = count_ - known();
    if (count_ > most && launches_[oldest % most].correlation - correlation - 1 < half)
      return nullptr;
    std::size_t number = found_ < oldest ? oldest : found_;
    for (std::size_t i = 0; i < known(); ++i) {
      launch const& candidate = launches_[number % most];
      if (candidate.correlation == correlation) {
        found_ = number;
        return &candidate;
      }
      if (++number == count_) number = oldest;
    }
    return nullptr;
  }
  launch const* last_before(std::int64_t begin, continued_clock const& clock) const noexcept {
    for (std::size_t i = 1; i <= known(); ++i) {
      launch const& latest = launches_[(count_ - i) % most];
      if (clock.continued(latest.time) <= begin) return &latest;
    }
    return nullptr;
  }

  mutable spin_mutex mutex_;  // guards the launches and their graphs
  launch launches_[most] = {};
  std::size_t count_ = 0;
  std::size_t found_ = 0;          ///< the number of the launch that was found last
  number_map<bool> with_kernels_;  ///< executable graphs
  number_map<std::uint32_t> by_graph_;
  number_map<std::uint32_t> by_stream_;
  std::uint32_t last_seen_ = 0;
};

}  // namespace detail
STRATA_END

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Which range captured which node of a CUDA graph. Bounded: graphs beyond the limit are not
/// followed, and counted. What is known is charged to a budget, if there is one. Threads: any.
class graph_captures {
 public:
  static constexpr std::size_t max_nodes = std::size_t{1} << 20;

  explicit graph_captures(memory_budget* budget = nullptr) noexcept : budget_(budget) {}

  /// A session with a new budget begins: what is known since earlier ones counts in it.
  void begin_session() noexcept {
    system_lock lock(mutex_);
    if (budget_ != nullptr) budget_->charge(nodes_.bytes());
  }

  /// `range` is the handle of a node, since graphs outlive sessions.
  void add(std::uint64_t graph_node, std::uint32_t range) noexcept {
    system_lock lock(mutex_);
    set(graph_node, range);
  }

  /// An instantiated graph's node has the range of the node that it was cloned from.
  void copy(std::uint64_t from, std::uint64_t clone) noexcept {
    system_lock lock(mutex_);
    if (capture const* const original = nodes_.find(from)) set(clone, capture(*original).range);
  }

  /// From now on the node has the range of another one: the executable graph was updated. Where the
  /// other one is not known it has none.
  /// Units: `now` in ticks.
  void update(std::uint64_t from, std::uint64_t node, std::int64_t now) noexcept {
    system_lock lock(mutex_);
    capture const* const original = nodes_.find(from);
    std::uint32_t const range = original == nullptr ? no_node : original->range;
    capture* const present = nodes_.find(node);
    if (present == nullptr) {
      if (range != no_node && set(node, range)) nodes_.find(node)->since = now;
    } else if (present->range != range) {
      if (!remember(node, *present)) ++refused_;
      *present = {range, now};
      if (formers_.size() - forgettable_formers_ >= max_nodes / 2) forget_former();
    }
  }

  /// The node is destroyed. It stays known while records of its launches may come.
  void destroy(std::uint64_t graph_node) noexcept {
    system_lock lock(mutex_);
    if (!awaits_records_) return nodes_.erase(graph_node);
    if (nodes_.find(graph_node) == nullptr) return;
    if (!destroyed_.make_room(1)) return;  // it stays
    destroyed_.push_back(graph_node);
    if (destroyed_.size() < 2 * kept_destroyed) return;
    for (std::size_t i = 0; i < kept_destroyed; ++i) nodes_.erase(destroyed_[i]);
    destroyed_.erase(destroyed_.begin(), destroyed_.begin() + kept_destroyed);
  }

  /// Whether records of launches may come: the last nodes that were destroyed stay known meanwhile.
  void await_records(bool on) noexcept {
    system_lock lock(mutex_);
    awaits_records_ = on;
    if (on) return;
    for (std::uint64_t const node : destroyed_) nodes_.erase(node);
    destroyed_.clear();
  }

  /// Forgets what updated nodes stood for before the last call of this.
  void forget_updated() noexcept {
    system_lock lock(mutex_);
    forget_former();
  }

  /// The handle of the range that captured a graph's node, as it was when the graph was launched.
  /// Units: `launched` in ticks. Cost: logarithmic in how often the node was updated.
  std::uint32_t range_of(std::uint64_t graph_node, std::int64_t launched) const noexcept {
    system_lock lock(mutex_);
    capture const* const present = nodes_.find(graph_node);
    if (present == nullptr) return no_node;
    if (launched >= present->since) return present->range;
    std::uint64_t const* const newest = newest_former_.find(graph_node);
    former const* look = newest == nullptr ? nullptr : former_at(*newest);
    while (look != nullptr && launched < look->was.since) {
      former const* const skipped = former_at(look->skip);
      look =
          skipped != nullptr && launched < skipped->was.since ? skipped : former_at(look->earlier);
    }
    return look == nullptr ? no_node : look->was.range;
  }

  /// How many nodes are known.
  std::size_t size() const noexcept {
    system_lock lock(mutex_);
    return nodes_.size();
  }
  /// How many nodes were one too many.
  std::uint64_t refused() const noexcept {
    system_lock lock(mutex_);
    return refused_;
  }

 private:
  static constexpr std::size_t kept_destroyed = max_nodes / 8;

  struct capture {
    std::uint32_t range = no_node;
    std::int64_t since = (std::numeric_limits<std::int64_t>::min)();
  };
  /// What a node stood for before an update. Formers have numbers from 1 on, by time.
  struct former {
    std::uint64_t graph_node;
    capture was;
    std::uint64_t earlier;  // the node's former before it; 0 where there is none
    std::uint64_t skip;     // one long before it, so that a way back takes few steps
    std::uint32_t depth;    // how many the node has up to this one
  };

  /// For one more node. Before the first session there is no limit.
  bool has_room() noexcept {
    std::size_t const wanted = nodes_.growth();
    if (wanted == 0) return true;
    bool const is_bounded = budget_ != nullptr && budget_->limit() > 0;
    if (is_bounded && !budget_->take(wanted, memory_use::detail)) return false;
    return nodes_.make_room();
  }

  bool set(std::uint64_t graph_node, std::uint32_t range) noexcept {
    if (graph_node == 0) return false;
    bool const is_new = nodes_.find(graph_node) == nullptr;
    if (is_new && (nodes_.size() >= max_nodes || !has_room())) {
      ++refused_;
      return false;
    }
    nodes_[graph_node] = {range, capture().since};
    return true;
  }

  /// Null where it is forgotten; then so are all before it.
  former const* former_at(std::uint64_t number) const noexcept {
    return number > formers_forgotten_ ? &formers_[number - formers_forgotten_ - 1] : nullptr;
  }

  /// False where there is no memory.
  bool remember(std::uint64_t node, capture const& was) noexcept {
    if (!newest_former_.make_room() || !formers_.make_room(1)) return false;
    std::uint64_t& newest = newest_former_[node];
    former made{node, was, newest, newest, 1};
    if (former const* const earlier = former_at(newest)) {
      made.depth = earlier->depth + 1;
      former const* const skipped = former_at(earlier->skip);
      if (goes_far(made.depth)) made.skip = skipped == nullptr ? 0 : skipped->skip;
    }
    formers_.push_back(made);
    newest = formers_forgotten_ + formers_.size();
    return true;
  }

  /// Whether `skip` at this depth is the skip of the earlier one's skip; else it is the
  /// earlier one. Source: Myers, an applicative random-access stack: where the depth as a
  /// skew-binary number (digits 1, 3, 7, 15, ...) does not end in a 1.
  static bool goes_far(std::uint32_t depth) noexcept {
    std::uint32_t digit = 1;
    while (digit <= depth / 2) digit = 2 * digit + 1;
    for (; digit != 1; digit /= 2) {
      while (depth >= digit)
        if ((depth -= digit) == 0) return true;
    }
    return false;
  }

  void forget_former() noexcept {
    for (std::size_t i = 0; i < forgettable_formers_; ++i) {
      former const& forgotten = formers_[i];
      std::uint64_t const* const newest = newest_former_.find(forgotten.graph_node);
      if (newest != nullptr && *newest == formers_forgotten_ + i + 1)
        newest_former_.erase(forgotten.graph_node);
    }
    formers_.erase(formers_.begin(), formers_.begin() + forgettable_formers_);
    formers_forgotten_ += forgettable_formers_;
    forgettable_formers_ = formers_.size();
  }

  memory_budget* budget_;
  mutable system_mutex mutex_;
  number_map<capture> nodes_;
  vec<former> formers_;  // by time
  number_map<std::uint64_t> newest_former_;
  std::uint64_t formers_forgotten_ = 0;
  std::size_t forgettable_formers_ = 0;
  vec<std::uint64_t> destroyed_;  // the last ones
  bool awaits_records_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP
