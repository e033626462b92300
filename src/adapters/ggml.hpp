#ifndef STRATA_ADAPTERS_GGML_HPP
#define STRATA_ADAPTERS_GGML_HPP

// Ranges for programs that compute ggml graphs, llama.cpp's among them. ggml's own headers have to
// be in the include path.
//
//   strata::ggml_ranges ranges;                       // outlives the context
//   llama_context_params params = llama_context_default_params();
//   ranges.attach(params);                            // before llama_init_from_model
//   ...
//   { auto const batch = ranges.batch(count);         // "prefill", or "decode" for one token
//     llama_decode(context, llama_batch_get_one(tokens, count)); }
//
// Other users of ggml_backend_sched give `callback` and `user_data()` to
// ggml_backend_sched_set_eval_callback.

#include <strata/base/text.hpp>
#include <strata/range.hpp>
#include "ggml_graph.hpp"

STRATA_BEGIN
namespace detail {

/// Remembers which nodes of the graphs so far were the last of their part: a node is asked about
/// before the one behind it is known. Threads: any. Cost: 128 kB, when the first node is learned;
/// once it is three quarters full, later nodes stay unknown.
class ggml_ends {
 public:
  enum class what : unsigned char { unknown, inside, last };

  ggml_ends() = default;
  ~ggml_ends() { delete[] keys_; }
  ggml_ends(ggml_ends const&) = delete;
  ggml_ends& operator=(ggml_ends const&) = delete;

  /// Never 0; its lowest bit is free.
  static std::uint64_t key_of(std::string_view name, int operation) noexcept {
    fnv1a hash;
    hash.add(static_cast<std::uint64_t>(operation));
    hash.add(name);
    return (hash.value() ^ (hash.value() >> 32)) | 2u;
  }

  /// What is known of a node: nothing until one was seen behind it, in whichever thread.
  what known(std::uint64_t key) noexcept {
    spin_lock lock(mutex_);
    if (keys_ == nullptr) return what::unknown;
    std::uint64_t const entry = place_of(key);
    if (entry == 0) return what::unknown;
    return (entry & 1u) != 0 ? what::last : what::inside;
  }

  /// A node was followed by another of its part, or was the last of it. The last stays the last.
  void learn(std::uint64_t key, what is) noexcept {
    spin_lock lock(mutex_);
    if (keys_ == nullptr) keys_ = new (std::nothrow) std::uint64_t[size]();
    if (keys_ == nullptr) return;
    std::uint64_t& entry = place_of(key);
    if (entry == 0) {
      if (count_ == size / 4 * 3) return;
      entry = key & ~std::uint64_t{1};
      ++count_;
    }
    if (is == what::last) entry |= 1u;
  }

 private:
  static constexpr std::size_t size = 1u << 14;

  /// Where this key is, or else would be. There is always a free place.
  std::uint64_t& place_of(std::uint64_t key) noexcept {
    key &= ~std::uint64_t{1};
    std::size_t index = static_cast<std::size_t>(key >> 2) % size;
    while (keys_[index] != 0 && (keys_[index] & ~std::uint64_t{1}) != key)
      index = (index + 1) % size;
    return keys_[index];
  }

  spin_mutex mutex_;
  std::uint64_t* keys_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace detail
STRATA_END

#if STRATA_ENABLED

STRATA_BEGIN
namespace detail {

/// Whether a range that this thread begins now would be recorded or counted: not between windows.
STRATA_DETAIL_OF_MODULE inline bool anyone_listens() noexcept {
  listener const* active = active_listener();
  return active != nullptr && active->listens();
}

/// Begins the range of one node's operation, with what it has to do.
inline void next_operation(phases& operations, ggml_tensor const* node,
                           ggml_label const& label) noexcept {
  ggml_work work;
  work.add(node);
  operations.next(ggml_operation(node, label).name(), work);
}

/// How far a thread is in the graph that it computes, and the ranges that are open for it: they
/// belong to the thread. Threads: the owner.
class ggml_flow {
 public:
  /// The calling thread's. What another adapter left behind there is ended.
  static ggml_flow& of_this_thread(std::uint64_t adapter) noexcept {
    static thread_local ggml_flow flow;
    if (flow.adapter_ != adapter) {
      flow.forget();
      flow.adapter_ = adapter;
    }
    return flow;
  }

  /// Takes a node into the piece that is asked about. Returns: whether it is the last of its part.
  bool take(ggml_tensor const* node, ggml_ends& ends) noexcept {
    label_ = ggml_label::parse(ggml_name(node));
    std::uint64_t const key = ggml_ends::key_of(ggml_name(node), static_cast<int>(node->op));
    bool const other_graph = before_ != 0 && key == first_;
    ggml_part const position =
        ggml_part::locate(node, label_, other_graph ? ggml_part{} : position_);
    bool const other_part = other_graph || position != position_;
    if (before_ != 0)
      ends.learn(before_, other_part ? ggml_ends::what::last : ggml_ends::what::inside);
    if (before_ != 0 && other_part) {
      part_.end();
      part_open_ = false;
      // What was asked about in another graph, or on another device, is computed by now.
      if (other_graph || position.device != position_.device) work_ = {};
    }
    if (first_ == 0) first_ = key;
    before_ = key;
    position_ = position;
    double const flops = ggml_work::flops_of(node);
    if (work_.empty() || flops > max_flops_) {  // the part that works most names the piece
      named_ = position;
      max_flops_ = flops;
    }
    work_.add(node);
    ggml_ends::what const known = ends.known(key);
    last_ = known == ggml_ends::what::unknown ? ggml_role::ends(label_, position.role)
                                              : known == ggml_ends::what::last;
    return last_;
  }

  /// The piece is computed now, as one range.
  void begin_part() noexcept {
    computing_ = true;
    if (!work_.empty()) piece_.next(named_.role, named_.layer, work_, *this);
  }

  /// The piece is computed now, as one range of its last operation within the range of its part.
  void begin_operation(ggml_tensor const* node) noexcept {
    computing_ = true;
    if (work_.empty()) return;
    if (!part_open_) part_.next(position_.role, position_.layer);
    part_open_ = true;
    piece_.next(ggml_operation(node, label_).name(), work_, *this);
  }

  /// For the range of a piece: the backend waits at its end for nobody else.
  void apply(range_attributes& attributes) const noexcept {
    if (!wanted_) note(stops_at_end).apply(attributes);
  }

  /// The piece was computed. `keep`: its part's range may wait for more.
  void end_piece(bool keep) noexcept {
    piece_.end();
    if (!keep || last_) {
      part_.end();
      part_open_ = false;
    }
    computing_ = false;
    work_ = {};
  }

  /// Whether a piece was begun and never ended: its computing failed.
  bool computing() const noexcept { return computing_; }

  /// Whether the program's own callback wants the node that was asked about last.
  void want(bool theirs) noexcept { wanted_ = theirs; }
  bool wanted() const noexcept { return wanted_; }

  /// The graph is left: nothing is known of what comes next.
  void leave() noexcept {
    end_piece(false);
    before_ = 0;
  }

  /// A node is skipped: the nodes before and after it are not neighbours.
  void lose() noexcept {
    if (before_ != 0) forget();
  }

  /// Whether a batch is open: it ends whatever is open within it.
  bool in_batch() const noexcept { return batches_ != 0; }

  /// A batch begins: what a graph that failed has left is not within it.
  void begin_batch() noexcept {
    forget();
    ++batches_;
  }

  /// The batch's graphs were computed to their end, or one failed.
  void end_batch(std::uint64_t adapter, ggml_ends& ends) noexcept {
    if (adapter_ == adapter && before_ != 0 && !computing_)
      ends.learn(before_, ggml_ends::what::last);
    forget();
    --batches_;
  }

 private:
  void forget() noexcept {
    leave();
    first_ = 0;
    position_ = {};
  }

  std::uint64_t adapter_ = 0;
  std::uint32_t batches_ = 0;
  bool wanted_ = false;
  bool computing_ = false;
  bool part_open_ = false;
  bool last_ = false;
  std::uint64_t first_ = 0;   // the graph's first node
  std::uint64_t before_ = 0;  // the node that was taken last
  ggml_label label_;
  ggml_part position_;
  ggml_part named_;
  double max_flops_ = 0;
  ggml_work work_;
  phases part_;
  phases piece_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ENABLED

STRATA_BEGIN

/// Where ggml_ranges stops the backend. What it costs: at each stop the scheduler waits until the
/// device is idle, and launches the next nodes only then; what is between two stops is one
/// graph for the backend (with CUDA, a CUDA graph of its own). A callback of any kind makes
/// llama_decode wait for its last piece.
enum class ggml_mode : unsigned char {
  coarse,  ///< where a part of the model ends: four or five stops a layer, one range each
  per_op,  ///< after every node that computes something, as llama.cpp's own callback does
};

STRATA_END

STRATA_BEGIN_SWITCH

#if STRATA_ENABLED

/// Ranges for the graphs that a ggml scheduler computes: for each part of the model, with its layer
/// as the index (`attention[12]`, `mlp[12]`, `norm[12]`, `embedding`, `output`); in per_op mode
/// each operation (`MUL_MAT Qcur`) within them. With flops, bytes and shape from the tensors. A
/// range begins before its nodes are computed and ends when they are, and none stays open when a
/// graph is aborted. A part's last node is known by its name, or from the first time that it was
/// computed: warm up before you measure. While nobody listens, and between the windows of a
/// session, it asks for nothing, so that the backend computes whole graphs; with `warmup=` the
/// first steps of a window are those in which the backend finds its pieces. Threads: any, several
/// contexts too; a graph is computed in one thread. Cost: see ggml_mode; besides 0.2 us a node in
/// coarse mode, 0.5 us in per_op, and 3 ns while nobody listens.
class ggml_ranges {
 public:
  /// `next` is the program's own callback: it is asked too, and gets its data and its say.
  explicit ggml_ranges(ggml_mode mode = ggml_mode::coarse,
                       ggml_backend_sched_eval_callback next = nullptr,
                       void* next_data = nullptr) noexcept
      : mode_(mode), next_(next), next_data_(next_data), number_(new_number()) {}

  ggml_ranges(ggml_ranges const&) = delete;
  ggml_ranges& operator=(ggml_ranges const&) = delete;

  /// Sets cb_eval and cb_eval_user_data of llama_context_params; a callback that is there already
  /// becomes the next one.
  template <class Parameters>
  void attach(Parameters& parameters) noexcept {
    if (parameters.cb_eval != &callback && parameters.cb_eval != nullptr) {
      next_ = parameters.cb_eval;
      next_data_ = parameters.cb_eval_user_data;
    }
    parameters.cb_eval = &callback;
    parameters.cb_eval_user_data = user_data();
  }

  static bool callback(ggml_tensor* node, bool ask, void* user_data) {
    auto& self = *static_cast<ggml_ranges*>(user_data);
    return ask ? self.asked(node) : self.computed(node);
  }
  void* user_data() noexcept { return this; }

  /// What `batch` returns: one call of llama_decode, as long as it lives.
  class batch_scope {
   public:
    batch_scope(ggml_ranges& ranges, std::string_view name, std::int64_t token_count) noexcept
        : ranges_(&ranges), flow_(&ranges.begin_batch()), range_(name, tokens(token_count)) {}
    ~batch_scope() { flow_->end_batch(ranges_->number_, ranges_->ends_); }
    batch_scope(batch_scope const&) = delete;
    batch_scope& operator=(batch_scope const&) = delete;

   private:
    ggml_ranges* ranges_;
    detail::ggml_flow* flow_;
    scoped_range range_;
  };

  /// A range around a call of llama_decode: `decode` for one token, `prefill` for more; or the name
  /// that is given, for instance where many sequences decode together.
  [[nodiscard]] batch_scope batch(std::int64_t token_count, std::string_view name = {}) noexcept {
    if (name.empty()) name = token_count == 1 ? "decode" : "prefill";
    return {*this, name, token_count};
  }

 private:
  static std::uint64_t new_number() noexcept {
    static detail::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, detail::memory_order_relaxed) + 1;
  }

  detail::ggml_flow& begin_batch() noexcept {
    detail::ggml_flow& flow = detail::ggml_flow::of_this_thread(number_);
    flow.begin_batch();
    return flow;
  }

  /// The scheduler asks of one node after another, until one is wanted; then it computes them all.
  bool asked(ggml_tensor* node) {
    bool const theirs = next_ != nullptr && next_(node, true, next_data_);
    detail::ggml_flow& flow = detail::ggml_flow::of_this_thread(number_);
    flow.want(theirs);
    if (flow.computing()) flow.leave();
    if (!detail::anyone_listens()) {
      flow.lose();
      return theirs;
    }
    bool const works = !detail::ggml_idles(node);
    bool const last = works && flow.take(node, ends_);
    if (!theirs && !(mode_ == ggml_mode::per_op ? works : last)) return false;
    if (mode_ == ggml_mode::per_op)
      flow.begin_operation(node);
    else
      flow.begin_part();
    return true;
  }

  /// The node, and those that were asked about before it, are computed.
  bool computed(ggml_tensor* node) {
    detail::ggml_flow& flow = detail::ggml_flow::of_this_thread(number_);
    flow.end_piece(flow.in_batch());
    if (!flow.wanted() || next_ == nullptr) return true;
    if (next_(node, false, next_data_)) return true;
    flow.leave();
    return false;
  }

  ggml_mode mode_;
  ggml_backend_sched_eval_callback next_;
  void* next_data_;
  std::uint64_t number_;
  detail::ggml_ends ends_;
};

/// A range for one node in a backend's own loop, for a fork of ggml: its part of the model, and
/// within it the operation. Nothing is stopped, so it shows where the work is launched; kernels
/// that are captured into a CUDA graph are counted for it in `graph_kernels`.
class ggml_node_range {
 public:
  [[nodiscard]] explicit ggml_node_range(ggml_tensor const* node) noexcept {
    if (detail::active_listener() == nullptr) return;
    static thread_local detail::ggml_part before;
    detail::ggml_label const label = detail::ggml_label::parse(detail::ggml_name(node));
    detail::ggml_part const position = detail::ggml_part::locate(node, label, before);
    before = position;
    part_.next(position.role, position.layer);
    detail::next_operation(operation_, node, label);
  }

 private:
  phases part_;
  phases operation_;
};

#else

class ggml_ranges {
 public:
  explicit ggml_ranges(ggml_mode = ggml_mode::coarse,
                       ggml_backend_sched_eval_callback next = nullptr,
                       void* next_data = nullptr) noexcept
      : next_(next), next_data_(next_data) {}
  ggml_ranges(ggml_ranges const&) = delete;
  ggml_ranges& operator=(ggml_ranges const&) = delete;

  template <class Parameters>
  void attach(Parameters& parameters) noexcept {
    if (parameters.cb_eval != nullptr || next_ == nullptr) return;
    parameters.cb_eval = next_;
    parameters.cb_eval_user_data = next_data_;
  }
  static bool callback(ggml_tensor* node, bool ask, void* user_data) {
    auto& self = *static_cast<ggml_ranges*>(user_data);
    return self.next_ == nullptr ? !ask : self.next_(node, ask, self.next_data_);
  }
  void* user_data() noexcept { return this; }

  class batch_scope {
   public:
    batch_scope() noexcept = default;
    ~batch_scope() {}
    batch_scope(batch_scope const&) = delete;
    batch_scope& operator=(batch_scope const&) = delete;
  };
  [[nodiscard]] batch_scope batch(std::int64_t, std::string_view = {}) noexcept { return {}; }

 private:
  ggml_backend_sched_eval_callback next_;
  void* next_data_;
};

class ggml_node_range {
 public:
  [[nodiscard]] explicit ggml_node_range(ggml_tensor const*) noexcept {}
  ~ggml_node_range() {}
};

#endif  // STRATA_ENABLED

STRATA_END_SWITCH

#endif  // STRATA_ADAPTERS_GGML_HPP
