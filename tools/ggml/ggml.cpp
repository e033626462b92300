// libstrata_ggml.so: libstrata_inject.so for programs of a shared ggml as they are, those of
// llama.cpp among them. A graph is the range `prefill` or `decode`, and in it are the parts of the
// model, layer by layer, with their operations. A decoded token is a step, to the next one. Nothing
// is stopped, and CUDA graphs stay whole. The dynamic linker puts these functions before ggml's own
// (LD_PRELOAD, as strata run does), which do the work. README.md has how to build and use it.

// Brings the implementation, so it comes first.
#include "../inject/injection.hpp"

#include <strata/range.hpp>

#include "computed_graph.hpp"
#include "ggml_behind.hpp"
#include "token_step.hpp"

namespace {

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
  if (strata::detail::active_listener() != nullptr)
    ggml_recorded::computed_graph::of_this_thread().ask(tensor);
  return ggml_behind::require(ggml.is_empty, "ggml_is_empty")(tensor);
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph* graph) {
  auto const& ggml = ggml_behind::callers::find(__builtin_return_address(0));
  auto* const compute = ggml_behind::require(ggml.compute, "ggml_backend_graph_compute_async");
  if (!is_recorded(ggml)) return compute(backend, graph);
  ggml_recorded::graph_scope const scope(backend, graph);
  return compute(backend, graph);
}

ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler,
                                                   ggml_cgraph* graph) {
  auto const& ggml = ggml_behind::callers::find(__builtin_return_address(0));
  auto* const compute =
      ggml_behind::require(ggml.compute_all, "ggml_backend_sched_graph_compute_async");
  if (!is_recorded(ggml)) return compute(scheduler, graph);
  auto const work = ggml_recorded::graph_work::read(graph);
  ggml_recorded::token_step::next(scheduler, work.decodes);  // it may begin a window
  strata::scoped_range const range(work.decodes ? "decode" : "prefill", strata::tokens(work.tokens),
                                   strata::bytes(ggml_recorded::kept_bytes(graph)));
  return compute(scheduler, graph);
}
