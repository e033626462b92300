// libstrata_ggml.so: libstrata_inject.so for programs of a shared ggml as they are, those of
// llama.cpp among them. A graph is the range `prefill` or `decode`, and in it are the parts of the
// model, layer by layer, with their operations. A decoded token is a step, to the next one. Nothing
// is stopped, and CUDA graphs stay whole. The dynamic linker puts these functions before ggml's own
// (LD_PRELOAD, as strata run does), which do the work. README.md has how to build and use it.
#include <strata/adapters/injection.hpp>
// Brings the implementation, so it comes first.
#include <strata/adapters/ggml.hpp>

#include <cstddef>
#include <cstdint>

#include "ggml_behind.hpp"

namespace {

/// How often in a graph the backends of a device ask of a node whether it is empty.
enum class asking : unsigned char { unknown, once, twice };

/// What is known of the devices of this process, which live as long as it does, where backends come
/// and go. Threads: any.
class known_devices {
 public:
  static known_devices& instance() {
    static known_devices only;
    return only;
  }
  asking find(ggml_backend_dev_t device) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry const& known : entries_)
      if (known.device == device) return known.asks;
    return asking::unknown;
  }
  /// Who was seen to ask twice does so. A device without room stays unknown.
  void learn(ggml_backend_dev_t device, asking asks) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry& known : entries_) {
      if (known.device != nullptr && known.device != device) continue;
      known.device = device;
      if (known.asks != asking::twice) known.asks = asks;
      return;
    }
  }

 private:
  struct entry {
    ggml_backend_dev_t device = nullptr;
    asking asks = asking::unknown;
  };
  static constexpr std::size_t most = 64;

  strata::detail::spin_mutex mutex_;
  entry entries_[most];
};

/// The graph that a backend computes in this thread, and the ranges of its nodes. A backend asks of
/// each node whether it is empty: as it plans the graph, and again as it launches the node, so that
/// the second time begins the node's range. One that launches a captured graph again asks the first
/// time only. Backends that do not plan ask once: theirs have ranges from the second graph on.
class computed_graph {
 public:
  static computed_graph& of_this_thread() {
    static thread_local computed_graph own;
    return own;
  }

  /// Of the graph, the nodes from the first to the last that works are followed.
  void begin(ggml_backend_t backend, ggml_cgraph* graph) {
    device_ = ggml_backend_get_device(backend);
    nodes_ = ggml_graph_nodes(graph);
    count_ = ggml_graph_n_nodes(graph);
    while (count_ > 0 && strata::detail::ggml_only_views(nodes_[count_ - 1])) --count_;
    while (count_ > 0 && strata::detail::ggml_only_views(*nodes_)) {
      ++nodes_;
      --count_;
    }
    asks_ = known_devices::instance().find(device_);
    next_ = 0;
    pass_ = pass::plan;
  }

  void end() {
    if (nodes_ == nullptr) return;
    operation_.end();
    part_.end();
    place_ = {};
    nodes_ = nullptr;
    if (pass_ == pass::plan) return;
    known_devices::instance().learn(device_, pass_ == pass::launch ? asking::twice : asking::once);
  }

  /// The backend asks whether a node is empty.
  void ask(ggml_tensor const* node) {
    if (nodes_ == nullptr || strata::detail::ggml_only_views(node)) return;
    if (pass_ == pass::plan && breaks_off(node)) end_plan();
    if (!advance(node)) return;
    if (pass_ == pass::planned) pass_ = pass::launch;
    if (pass_ == pass::launch || asks_ == asking::once) begin_node(node);
    if (pass_ == pass::plan && next_ == count_) end_plan();
  }

 private:
  /// The first question about each node; when all were asked; the second one.
  enum class pass : unsigned char { plan, planned, launch };

  /// Nodes that are fused with the one before them, or idle, are not asked about.
  static constexpr int most_skipped = 64;

  /// Whether the graph is launched before all of it was planned: its first node comes again, which
  /// is not a source that the operation asks about.
  bool breaks_off(ggml_tensor const* node) const {
    if (next_ < 2 || node != *nodes_) return false;
    for (ggml_tensor const* const source : nodes_[next_ - 1]->src)
      if (source == node) return false;
    return true;
  }

  void end_plan() {
    pass_ = pass::planned;
    next_ = 0;
  }

  /// Whether the node comes next: an operation may ask about its sources, which came before.
  bool advance(ggml_tensor const* node) {
    for (int i = next_; i < count_ && i < next_ + most_skipped; ++i) {
      if (nodes_[i] != node) continue;
      next_ = i + 1;
      return true;
    }
    return false;
  }

  /// Between windows, too, a node that is captured has its range: the graph outlives the capture.
  void begin_node(ggml_tensor const* node) {
    if (!strata::detail::anyone_listens() && !strata::detail::capture_guard::capturing()) return;
    strata::detail::ggml_label const label =
        strata::detail::ggml_label::of(strata::detail::ggml_name(node));
    auto const place = strata::detail::ggml_place::of(node, label, place_);
    operation_.end();
    if (place_.role.empty() || place != place_) part_.next(place.role, place.layer);
    place_ = place;
    strata::detail::next_operation(operation_, node, label);
  }

  ggml_backend_dev_t device_ = nullptr;
  ggml_tensor** nodes_ = nullptr;  // null: no graph
  int count_ = 0;
  int next_ = 0;  // where the next node is searched
  pass pass_ = pass::plan;
  asking asks_ = asking::unknown;
  strata::detail::ggml_place place_;
  strata::phases part_;
  strata::phases operation_;
};

/// A graph that a backend computes, as long as this lives: an exception ends it too.
class graph_scope {
 public:
  graph_scope(ggml_backend_t backend, ggml_cgraph* graph)
      : computed_(computed_graph::of_this_thread()) {
    computed_.begin(backend, graph);
  }
  ~graph_scope() { computed_.end(); }
  graph_scope(graph_scope const&) = delete;
  graph_scope& operator=(graph_scope const&) = delete;

 private:
  computed_graph& computed_;
};

/// What a graph computes.
struct graph_work {
  std::int64_t tokens = 0;  // 0: not known
  bool decodes = false;     // each token has an output: one of each sequence

  /// Source: the rows that llama.cpp takes from the table of tokens first, and those of the last
  /// node, which is the output.
  static graph_work read(ggml_cgraph* graph) {
    constexpr std::int64_t most_sequences = 256;  // llama.cpp's own limit
    ggml_tensor* const* const nodes = ggml_graph_nodes(graph);
    int const count = ggml_graph_n_nodes(graph);
    graph_work found;
    for (int i = 0; i < count; ++i) {
      if (nodes[i]->op != GGML_OP_GET_ROWS) continue;
      found.tokens = nodes[i]->ne[1];
      found.decodes = found.tokens <= most_sequences && nodes[count - 1]->ne[1] == found.tokens;
      break;
    }
    return found;
  }
};

/// The step of a decoded token, to the next graph of its scheduler, in whichever thread, or of its
/// thread. Threads: any; a token beside another's, of other schedulers and threads, has none.
class token_step {
 public:
  static void next(ggml_backend_sched_t scheduler, bool decodes) {
    std::uint64_t const self = strata::detail::recorder::thread_id();
    bool const others = scheduler_.load() != scheduler && thread_.load() != self;
    if (others && open_.load()) return;
    bool open = true;
    if (open_.compare_exchange_strong(open, false)) {
      strata::detail::recorder::instance().take_step(true);
      if (auto const* const active = strata::detail::active_listener()) active->step_end();
    }
    auto const* const active = strata::detail::active_listener();
    if (!decodes || active == nullptr || !active->step_begin()) return;
    scheduler_.store(scheduler);
    thread_.store(self);
    open_.store(true);
  }

 private:
  static inline strata::detail::atomic<bool> open_{false};
  static inline strata::detail::atomic<ggml_backend_sched_t> scheduler_{nullptr};
  static inline strata::detail::atomic<std::uint64_t> thread_{0};
};

/// Whether there is something to record, of a ggml that can be read.
bool is_recorded(ggml_behind::ggml const& ggml) {
  if (strata::detail::active_listener() == nullptr) return false;
  if (!ggml.readable) ggml_behind::say_unreadable();
  return ggml.readable;
}

}  // namespace

// What ggml and its backends call.

bool ggml_is_empty(ggml_tensor const* tensor) {
  auto const& ggml = ggml_behind::callers::find(__builtin_return_address(0));
  if (strata::detail::active_listener() != nullptr) computed_graph::of_this_thread().ask(tensor);
  return ggml_behind::require(ggml.is_empty, "ggml_is_empty")(tensor);
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph* graph) {
  auto const& ggml = ggml_behind::callers::find(__builtin_return_address(0));
  auto* const compute = ggml_behind::require(ggml.compute, "ggml_backend_graph_compute_async");
  if (!is_recorded(ggml)) return compute(backend, graph);
  graph_scope const scope(backend, graph);
  return compute(backend, graph);
}

ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler,
                                                   ggml_cgraph* graph) {
  auto const& ggml = ggml_behind::callers::find(__builtin_return_address(0));
  auto* const compute =
      ggml_behind::require(ggml.compute_all, "ggml_backend_sched_graph_compute_async");
  if (!is_recorded(ggml)) return compute(scheduler, graph);
  graph_work const work = graph_work::read(graph);
  token_step::next(scheduler, work.decodes);
  strata::scoped_range const range(work.decodes ? "decode" : "prefill",
                                   strata::tokens(work.tokens));
  return compute(scheduler, graph);
}

// What the ranges ask a readable ggml for, of which all agree: this library is loaded before it,
// and into other programs too.

namespace {

template <class Function>
Function* any(Function*, char const* name) {
  void const* const caller = ggml_behind::ggml::readable_caller().load();
  return ggml_behind::require(ggml_behind::find<Function>(name, caller), name);
}

}  // namespace

std::int64_t ggml_nelements(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nelements, "ggml_nelements");
  return behind(tensor);
}
std::int64_t ggml_nrows(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nrows, "ggml_nrows");
  return behind(tensor);
}
std::size_t ggml_nbytes(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nbytes, "ggml_nbytes");
  return behind(tensor);
}
std::int64_t ggml_blck_size(ggml_type type) {
  static auto* const behind = any(&ggml_blck_size, "ggml_blck_size");
  return behind(type);
}
std::size_t ggml_type_size(ggml_type type) {
  static auto* const behind = any(&ggml_type_size, "ggml_type_size");
  return behind(type);
}
ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
  static auto* const behind = any(&ggml_backend_get_device, "ggml_backend_get_device");
  return behind(backend);
}
char const* ggml_op_desc(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_op_desc, "ggml_op_desc");
  return behind(tensor);
}
bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
  static auto* const behind = any(&ggml_backend_buffer_is_host, "ggml_backend_buffer_is_host");
  return behind(buffer);
}
ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
  static auto* const behind = any(&ggml_backend_buffer_get_type, "ggml_backend_buffer_get_type");
  return behind(buffer);
}
ggml_tensor** ggml_graph_nodes(ggml_cgraph* graph) {
  static auto* const behind = any(&ggml_graph_nodes, "ggml_graph_nodes");
  return behind(graph);
}
int ggml_graph_n_nodes(ggml_cgraph* graph) {
  static auto* const behind = any(&ggml_graph_n_nodes, "ggml_graph_n_nodes");
  return behind(graph);
}
