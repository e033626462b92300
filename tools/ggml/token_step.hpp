#ifndef STRATA_TOOLS_GGML_TOKEN_STEP_HPP
#define STRATA_TOOLS_GGML_TOKEN_STEP_HPP

#include <ggml-backend.h>
#include <ggml.h>

#include <strata/annotate/process.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/host/recorder.hpp>
#include "adapters/ggml.hpp"

#include <cstdint>

namespace ggml_recorded {

/// What a graph computes.
struct graph_work {
  std::int64_t tokens = 0;  // 0: not known
  bool decodes = false;     // each token has an output: one of each sequence

  /// Source: the rows that llama.cpp takes from the table of tokens first, and those of the last
  /// node, which is the output.
  static graph_work read(ggml_cgraph* graph) {
    constexpr std::int64_t max_sequences = 256;  // llama.cpp's own limit
    ggml_tensor* const* const nodes = ggml_graph_nodes(graph);
    int const count = ggml_graph_n_nodes(graph);
    graph_work found;
    for (int i = 0; i < count; ++i) {
      if (nodes[i]->op != GGML_OP_GET_ROWS) continue;
      found.tokens = nodes[i]->ne[1];
      found.decodes = found.tokens <= max_sequences && nodes[count - 1]->ne[1] == found.tokens;
      break;
    }
    return found;
  }
};

/// What a graph reads of weights and of the cache; 0 where nobody listens.
inline double kept_bytes(ggml_cgraph* graph) {
  double sum = 0;
  if (!strata::detail::anyone_listens()) return sum;
  ggml_tensor* const* const nodes = ggml_graph_nodes(graph);
  int const count = ggml_graph_n_nodes(graph);
  for (int i = 0; i < count; ++i) sum += strata::detail::ggml_work::kept_bytes_of(nodes[i]);
  return sum;
}

/// The step of a decoded token, to the next graph of its scheduler, in whichever thread, or of its
/// thread. Threads: any; a token that another scheduler and thread computes meanwhile has none.
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

}  // namespace ggml_recorded

#endif  // STRATA_TOOLS_GGML_TOKEN_STEP_HPP
