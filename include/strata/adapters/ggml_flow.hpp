#include <strata/version.hpp>
#ifndef STRATA_ADAPTERS_GGML_FLOW_HPP
#define STRATA_ADAPTERS_GGML_FLOW_HPP

#include <strata/adapters/ggml_ends.hpp>
#include <strata/adapters/ggml_place.hpp>
#include <strata/adapters/ggml_work.hpp>
#include <strata/base/macros.hpp>
#include <strata/range.hpp>

#include <cstdint>

#if STRATA_ENABLED

STRATA_BEGIN

namespace detail {

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

  /// Takes a node that will be computed into the piece that is asked about.
  /// Returns: whether the node is the last of its part, as far as is known.
  bool take(ggml_tensor const* node, ggml_ends& ends) noexcept {
    label_ = ggml_label::of(ggml_name(node));
    std::uint64_t const key = ggml_ends::key_of(ggml_name(node), static_cast<int>(node->op));
    bool const other_graph = before_ != 0 && key == first_;
    ggml_place const place = ggml_place::of(node, label_, other_graph ? ggml_place{} : place_);
    bool const other_part = other_graph || place != place_;
    if (before_ != 0)
      ends.learn(before_, other_part ? ggml_ends::what::last : ggml_ends::what::inside);
    if (before_ != 0 && other_part) {
      part_.end();
      part_open_ = false;
      // What was asked about in another graph, or on another device, is computed by now.
      if (other_graph || place.device != place_.device) work_ = {};
    }
    if (first_ == 0) first_ = key;
    before_ = key;
    place_ = place;
    double const flops = ggml_work::flops_of(node);
    if (work_.empty() || flops > most_flops_) {  // the part that works most names the piece
      named_ = place;
      most_flops_ = flops;
    }
    work_.add(node);
    ggml_ends::what const known = ends.known(key);
    last_ = known == ggml_ends::what::unknown ? ggml_role::ends(label_, place.role)
                                              : known == ggml_ends::what::last;
    return last_;
  }

  /// The piece is computed now, as one range.
  void begin_part() noexcept {
    computing_ = true;
    if (!work_.empty()) piece_.next(named_.role, named_.layer, work_);
  }

  /// The piece is computed now, as one range of its last operation within the range of its part.
  void begin_operation(ggml_tensor const* node) noexcept {
    computing_ = true;
    if (work_.empty()) return;
    if (!part_open_) part_.next(place_.role, place_.layer);
    part_open_ = true;
    piece_.next(ggml_operation(node, label_).name(), work_);
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
    place_ = {};
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
  ggml_place place_;
  ggml_place named_;
  double most_flops_ = 0;
  ggml_work work_;
  phases part_;
  phases piece_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ENABLED
#endif  // STRATA_ADAPTERS_GGML_FLOW_HPP
