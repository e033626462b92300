#undef STRATA_ENABLED
#define STRATA_ENABLED 0
#include "adapters/ggml.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph.hpp"

using namespace ggml_test;
using names = std::vector<std::string>;

TEST_CASE("compiled out, a context keeps its callback and none asks for anything") {
  struct {
    ggml_backend_sched_eval_callback cb_eval = nullptr;
    void* cb_eval_user_data = nullptr;
  } context;
  strata::ggml_ranges ranges(strata::ggml_mode::per_op);
  ranges.attach(context);
  CHECK((context.cb_eval == nullptr));
  graph g;
  llama(g, 1, 1);
  auto const batch = ranges.batch(1);
  strata::ggml_node_range const node(g.nodes[0]);
  CHECK(compute(g.nodes, &strata::ggml_ranges::callback, ranges.user_data()) ==
        names{"result_output"});
}

TEST_CASE("compiled out, the program's own callback is called as it was") {
  auto const own = [](ggml_tensor* t, bool ask, void*) {
    return ask ? std::string(t->name) == "l_out-0" : false;
  };
  strata::ggml_ranges ranges(strata::ggml_mode::coarse, own);
  graph g;
  llama(g, 1, 1);
  CHECK(compute(g.nodes, &strata::ggml_ranges::callback, ranges.user_data()) == names{"l_out-0"});
}
