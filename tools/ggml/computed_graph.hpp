#ifndef STRATA_TOOLS_GGML_COMPUTED_GRAPH_HPP
#define STRATA_TOOLS_GGML_COMPUTED_GRAPH_HPP

#include <ggml-backend.h>
#include <ggml.h>

#include <strata/annotate/process.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/range.hpp>
#include "adapters/ggml.hpp"

#include "known_devices.hpp"

namespace ggml_recorded {

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
    position_ = {};
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
  static constexpr int max_skipped = 64;

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
    for (int i = next_; i < count_ && i < next_ + max_skipped; ++i) {
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
        strata::detail::ggml_label::parse(strata::detail::ggml_name(node));
    auto const position = strata::detail::ggml_part::locate(node, label, position_);
    operation_.end();
    if (position_.role.empty() || position != position_) part_.next(position.role, position.layer);
    position_ = position;
    strata::detail::next_operation(operation_, node, label);
  }

  ggml_backend_dev_t device_ = nullptr;
  ggml_tensor** nodes_ = nullptr;  // null: no graph
  int count_ = 0;
  int next_ = 0;  // where the next node is searched
  pass pass_ = pass::plan;
  asking asks_ = asking::unknown;
  strata::detail::ggml_part position_;
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

}  // namespace ggml_recorded

#endif  // STRATA_TOOLS_GGML_COMPUTED_GRAPH_HPP
