#ifndef STRATA_COLLECT_HOST_NODE_TABLE_HPP
#define STRATA_COLLECT_HOST_NODE_TABLE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/memory_budget.hpp>
#include <strata/profile/records.hpp>

STRATA_BEGIN
namespace detail {

/// What distinguishes a node from others.
struct node_key {
  std::uint32_t parent;
  std::uint32_t name;
  std::int64_t index;

  std::uint64_t hash() const noexcept {
    std::uint64_t h = (std::uint64_t{parent} << 32 | name) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(index)) * 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 32);
  }
  friend bool operator==(node_key const& a, node_key const& b) noexcept {
    return a.parent == b.parent && a.name == b.name && a.index == b.index;
  }
};

/// The call tree while it grows: a node for each (parent, name, index), shared by all threads.
/// Bounded: in nodes, in indices of one name under one parent, and in depth; what is beyond goes to
/// a stand-in node. The number of a node is valid in its epoch. Threads: any.
class node_table {
 public:
  static constexpr std::size_t max_nodes = 262'144;
  static constexpr std::uint32_t max_indices = 4'096;
  static constexpr std::uint32_t max_depth = 128;

  struct node {
    std::uint32_t parent;
    std::uint32_t name;
    std::int64_t index;
    std::uint32_t depth;
    std::uint32_t indices;  // distinct indices seen; counted in the node without one
  };

  struct refusals {
    std::uint64_t nodes = 0;
    std::uint64_t indices = 0;
    std::uint64_t depth = 0;
  };

  /// The names are those of the stand-ins. The nodes are charged to the budget, if there is one.
  node_table(std::uint32_t deeper_name, std::uint32_t other_name, memory_budget* budget = nullptr)
      : budget_(budget), deeper_name_(deeper_name), other_name_(other_name) {
    nodes_.push_back({root_node, 0, no_index, 0, 0});
    if (!has_room()) out_of_memory();
  }

  /// A session begins. Where an earlier one has filled the table, or half of it, all nodes but the
  /// root are given up, and another epoch begins.
  void begin_session() noexcept {
    system_lock lock(mutex_);
    if (was_full_ || nodes_.size() > max_nodes / 2) forget();
    charge(nodes_.size());
  }
  /// Nobody follows the program's ranges from now on, until a session begins.
  void end_session() noexcept { term_.fetch_add(std::uint64_t{1} << 32, memory_order_release); }
  std::uint32_t epoch() const noexcept { return static_cast<std::uint32_t>(term()); }
  /// The epoch, and in the upper half how many sessions have ended.
  std::uint64_t term() const noexcept { return term_.load(memory_order_acquire); }

  /// A node with its epoch, to be kept beyond a session; 0 is the root.
  std::uint32_t handle(std::uint32_t number) const noexcept {
    return number == root_node ? 0 : epoch() << node_bits | number;
  }
  /// `otherwise` where the handle is of an earlier epoch.
  std::uint32_t node_of(std::uint32_t handle, std::uint32_t otherwise) const noexcept {
    std::uint32_t const number = handle & ((1u << node_bits) - 1);
    return handle == 0 || epoch() << node_bits == handle - number ? number : otherwise;
  }

  /// The node of a call. Where a stand-in takes its place, `refused` is set.
  std::uint32_t child(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                      bool* refused = nullptr) noexcept {
    system_lock lock(mutex_);
    if (parent >= nodes_.size()) parent = root_node;  // of the epoch before
    ++asked_;
    if (std::uint32_t const known = numbers_.find({parent, name, index})) return known;
    std::uint64_t* reason = nullptr;
    std::uint32_t const found = child_or_stand_in(parent, name, index, reason);
    if (reason != nullptr) {
      ++*reason;
      if (reason != &refusals_.depth) was_full_ = true;
      if (refused != nullptr) *refused = true;
    }
    return found;
  }

  vec<node> nodes() const {
    system_lock lock(mutex_);
    return nodes_;
  }

  /// Hands each node from this one on to `sink`.
  template <class Sink>
  void for_each_from(std::size_t first, Sink sink) const {
    system_lock lock(mutex_);
    for (; first < nodes_.size(); ++first) sink(nodes_[first]);
  }

  /// How many nodes were asked for, each under a lock.
  std::uint64_t asked() const {
    system_lock lock(mutex_);
    return asked_;
  }

  refusals refused() const {
    system_lock lock(mutex_);
    return refusals_;
  }

 private:
  /// With its place in the map of numbers, which is half full.
  static constexpr std::size_t bytes_of_node = sizeof(node) + 2 * (sizeof(node_key) + 8);

  void charge(std::size_t nodes) noexcept {
    if (budget_ != nullptr) budget_->charge(nodes * bytes_of_node);
  }

  void forget() noexcept {
    was_full_ = false;
    nodes_.resize(1);
    nodes_[root_node].indices = 0;
    numbers_.clear_but_room();
    term_.fetch_add(1, memory_order_release);
  }

  std::uint32_t child_or_stand_in(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                                  std::uint64_t*& reason) {
    if (nodes_[parent].depth >= max_depth) {
      std::uint32_t const deeper = nodes_[parent].name == deeper_name_
                                       ? parent
                                       : find_or_add(parent, deeper_name_, no_index, reason);
      reason = &refusals_.depth;
      return deeper;
    }
    if (index == no_index || index == any_index) return find_or_add(parent, name, index, reason);
    std::uint32_t const family = find_or_add(parent, name, no_index, reason);
    if (reason != nullptr) return family;  // a stand-in
    if (nodes_[family].indices >= max_indices) {
      std::uint32_t const any = find_or_add(parent, name, any_index, reason);
      if (reason == nullptr) reason = &refusals_.indices;
      return any;
    }
    std::uint32_t const made = find_or_add(parent, name, index, reason);
    if (reason == nullptr) ++nodes_[family].indices;
    return made;
  }

  /// The node, made if need be; the one stand-in below the root when there are too many.
  std::uint32_t find_or_add(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                            std::uint64_t*& reason) {
    if (std::uint32_t const known = numbers_.find({parent, name, index})) return known;
    bool const is_other = parent == root_node && name == other_name_;
    if (!is_other && (nodes_.size() + 1 >= max_nodes || !has_room())) {
      std::uint32_t const other = find_or_add(root_node, other_name_, no_index, reason);
      reason = &refusals_.nodes;
      return other;
    }
    auto const made = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({parent, name, index, nodes_[parent].depth + 1, 0});
    (void)numbers_.add({parent, name, index}, made);
    charge(1);
    return made;
  }

  /// For a node, and for the stand-in of all that find none afterwards.
  bool has_room() noexcept { return nodes_.make_room(2) && numbers_.make_room(2); }

  static constexpr std::uint32_t node_bits = 18;
  static_assert(max_nodes <= std::size_t{1} << node_bits, "a handle has room for a node");

  memory_budget* budget_;
  atomic<std::uint64_t> term_{0};
  mutable system_mutex mutex_;
  bool was_full_ = false;  // in this epoch
  std::uint32_t deeper_name_;
  std::uint32_t other_name_;
  key_numbers<node_key> numbers_;  // the root is never looked up
  vec<node> nodes_;
  refusals refusals_;
  std::uint64_t asked_ = 0;
};

/// The nodes that one thread was in, so that the shared table is asked for new ones only.
class child_memo {
 public:
  explicit child_memo(node_table& nodes) noexcept : nodes_(&nodes) {}

  std::uint32_t find(node_key const& key) noexcept {
    std::uint32_t const known = known_.find(key);
    return STRATA_DETAIL_UNLIKELY(known == 0) ? ask(key) : known;
  }

  void clear() noexcept { known_.clear(); }

 private:
  STRATA_DETAIL_COLD std::uint32_t ask(node_key const& key) noexcept {
    bool refused = false;
    std::uint32_t const node = nodes_->child(key.parent, key.name, key.index, &refused);
    if (!refused) (void)known_.add(key, node);  // each refused call is counted
    return node;
  }

  node_table* nodes_;
  key_numbers<node_key> known_{key_numbers<node_key>::max_remembered};
};

/// Where a thread is in the tree of ranges: the node of its innermost open range, and the term of
/// the node table in which the node has that number.
/// Threads: the owner, except where a function says otherwise. Cost: a store at each begin and end.
class thread_place {
 public:
  std::uint32_t node() const noexcept { return node_.load(memory_order_relaxed); }
  void enter(std::uint32_t node) noexcept { node_.store(node, memory_order_relaxed); }

  /// Threads: any.
  std::uint64_t term() const noexcept { return term_.load(memory_order_relaxed); }
  /// The nodes that the thread enters from now on are of this term. Until then it is in none, so
  /// that no thread takes a node of the former term for one of this.
  void begin_term(std::uint64_t term) noexcept {
    enter(root_node);
    term_.store(term, memory_order_release);
  }

  /// Threads: any. The node, if its number is of this term; else the root.
  std::uint32_t seen_at(std::uint64_t term) const noexcept {
    return term_.load(memory_order_acquire) == term ? node() : root_node;
  }

 private:
  atomic<std::uint32_t> node_{root_node};
  atomic<std::uint64_t> term_{0};
};

/// Who is given the node that a thread is in, whenever that changes. Threads: that one.
class place_observers {
 public:
  using place_changed = void(void* context, std::uint32_t node) noexcept;

  /// Threads: any.
  bool any() const noexcept { return count_.load(memory_order_relaxed) != 0; }

  /// False where there are too many.
  bool add(place_changed* changed, void* context) noexcept {
    spin_lock const lock(mutex_);
    for (observer& known : all_) {
      if (known.changed != nullptr) continue;
      known = {changed, context};
      count_.fetch_add(1, memory_order_relaxed);
      return true;
    }
    return false;
  }

  /// Threads: any, which says whether it is the thread itself. No call with this context is under
  /// way when this returns, unless it comes from one.
  void remove(void const* context, bool by_thread) noexcept {
    bool const inside = by_thread && reporting_;
    if (!inside) mutex_.lock();
    for (observer& known : all_) {
      if (known.changed == nullptr || known.context != context) continue;
      known = {};
      count_.fetch_sub(1, memory_order_relaxed);
    }
    if (!inside) mutex_.unlock();
  }

  void clear() noexcept {
    spin_lock const lock(mutex_);
    for (observer& known : all_) known = {};
    forget();
  }
  /// In a forked child, whose lock may have no owner: nobody is notified any more.
  void forget() noexcept { count_.store(0, memory_order_relaxed); }

  /// Tells all of them. Nothing where one of them calls it meanwhile.
  void report(std::uint32_t node) noexcept {
    if (reporting_) return;
    spin_lock const lock(mutex_);
    reporting_ = true;
    for (observer const& known : all_)
      if (known.changed != nullptr) known.changed(known.context, node);
    reporting_ = false;
  }

 private:
  struct observer {
    place_changed* changed = nullptr;
    void* context = nullptr;
  };

  atomic<std::uint32_t> count_{0};
  observer all_[4];
  spin_mutex mutex_{held_over::calls};
  bool reporting_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_NODE_TABLE_HPP
