// libfake_ggml.so: a model of two layers whose graph a backend computes as ggml's do. It plans the
// graph, launches it node by node, with two nodes fused, and launches a captured one again without
// a look at its nodes. With FAKE_GGML_PLANS=none it plans nothing and captures nothing; with `cut`
// it gives up planning midway; with `throw` it fails midway. With FAKE_GGML_OTHER its tensors are
// other ones than those of its header.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../fake.hpp"
#include "ggml-backend.h"
#include "program.hpp"

struct ggml_cgraph {
  std::vector<ggml_tensor*> nodes;
};

namespace {

constexpr std::int64_t width = 64;

ggml_tensor* new_tensor(ggml_op operation, char const* name, std::int64_t tokens) {
  auto* const made = new ggml_tensor{};
  made->op = operation;
  made->ne[0] = width;
  made->ne[1] = tokens;
  std::snprintf(made->name, sizeof made->name, "%s", name);
  return made;
}

ggml_tensor* new_node(ggml_op operation, char const* name, ggml_tensor* input,
                      char const* weight = nullptr) {
  ggml_tensor* const made = new_tensor(operation, name, input->ne[1]);
  made->src[0] = weight == nullptr ? input : new_tensor(GGML_OP_NONE, weight, width);
  made->src[1] = weight == nullptr ? nullptr : input;
  return made;
}

ggml_cgraph* new_graph(int tokens, int outputs) {
  auto* const graph = new ggml_cgraph;
  ggml_tensor* last = new_tensor(GGML_OP_NONE, "inp_tokens", tokens);
  last->flags = GGML_TENSOR_FLAG_INPUT;
  bool const embeds = outputs == 0;  // as an encoder of images or sounds
  auto const add = [&](ggml_op operation, char const* name, char const* weight = nullptr) {
    last = new_node(operation, name, last, weight);
    graph->nodes.push_back(last);
  };
  if (!embeds) add(GGML_OP_GET_ROWS, "inp_embd", "token_embd.weight");
  for (int layer = 0; layer < 2; ++layer) {
    auto const in_layer = [&](ggml_op operation, char const* base, char const* weight = nullptr) {
      char name[GGML_MAX_NAME];
      char from[GGML_MAX_NAME];
      std::snprintf(name, sizeof name, "%s-%d", base, layer);
      if (weight != nullptr) std::snprintf(from, sizeof from, "blk.%d.%s.weight", layer, weight);
      add(operation, name, weight == nullptr ? nullptr : from);
    };
    ggml_tensor* const residual = last;
    in_layer(GGML_OP_RMS_NORM, "norm");
    in_layer(GGML_OP_MUL_MAT, "Qcur", "attn_q");
    in_layer(GGML_OP_VIEW, "Qcur_view");
    in_layer(GGML_OP_MUL_MAT, "attn_out", "attn_output");
    in_layer(GGML_OP_ADD, "ffn_inp");
    last->src[1] = residual;
    in_layer(GGML_OP_MUL_MAT, "ffn_up", "ffn_up");
    in_layer(GGML_OP_ADD, "l_out");
  }
  add(GGML_OP_MUL_MAT, "result_output", "output.weight");
  if (!embeds) last->ne[1] = outputs;
  return graph;
}

enum class planning { whole, none, cut, fails };

planning wish() {
  char const* const text = std::getenv("FAKE_GGML_PLANS");
  std::string const wished = text == nullptr ? "" : text;
  if (wished == "none") return planning::none;
  if (wished == "cut") return planning::cut;
  return wished == "throw" ? planning::fails : planning::whole;
}

#define CUPTI(name) in_cupti<decltype(name)>(#name)

bool has_device() { return std::getenv("FAKE_CUPTI_FILE") != nullptr; }

template <class Function>
Function* in_cupti(char const* name) {
  void* const library = dlopen(std::getenv("FAKE_CUPTI_FILE"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

constexpr std::uint32_t stream = 7;
ggml_cgraph* captured = nullptr;
fake_graph_t executable = 0;  // of what was captured
int launched = 0;

void launch_kernel() {
  if (!has_device()) return;
  fake_kernel kernel;
  kernel.stream = stream;
  (void)CUPTI(fake_launch)(&kernel);
}

void launch(ggml_cgraph* graph) {
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    ggml_tensor* const node = graph->nodes[i];
    if (ggml_is_empty(node) || node->op == GGML_OP_VIEW) continue;
    if (node->op == GGML_OP_ADD && node->src[1] != nullptr && ggml_is_empty(node->src[1])) continue;
    ++launched;
    launch_kernel();
    if (i == 6 && wish() == planning::fails) throw std::runtime_error("the graph fails midway");
    if (node->op == GGML_OP_RMS_NORM) ++i;  // fused with what follows
  }
}

void capture(ggml_cgraph* graph) {
  if (has_device()) (void)CUPTI(fake_begin_capture)(stream);
  launch(graph);
  if (has_device()) executable = CUPTI(fake_graph_clone)(CUPTI(fake_end_capture)(stream));
  captured = graph;
}

}  // namespace

extern "C" {

std::int64_t ggml_nelements(ggml_tensor const* t) {
  return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}
std::int64_t ggml_nrows(ggml_tensor const* t) { return t->ne[1] * t->ne[2] * t->ne[3]; }
std::size_t ggml_nbytes(ggml_tensor const* t) {
  return static_cast<std::size_t>(ggml_nelements(t)) * sizeof(float);
}
std::int64_t ggml_blck_size(ggml_type) { return 1; }
std::size_t ggml_type_size(ggml_type) { return sizeof(float); }
char const* ggml_op_desc(ggml_tensor const* t) { return ggml_op_names[t->op]; }
bool ggml_is_empty(ggml_tensor const* t) { return ggml_nelements(t) == 0; }
ggml_tensor** ggml_graph_nodes(ggml_cgraph* graph) { return graph->nodes.data(); }
int ggml_graph_n_nodes(ggml_cgraph* graph) { return static_cast<int>(graph->nodes.size()); }

ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t) { return nullptr; }
bool ggml_backend_buffer_is_host(ggml_backend_buffer_t) { return false; }

std::size_t ggml_tensor_overhead() {
  bool const other = std::getenv("FAKE_GGML_OTHER") != nullptr;
  return sizeof(ggml_tensor) + (other ? 64 : 32);
}
char const* ggml_op_name(ggml_op operation) {
  ggml_tensor named{};
  named.op = operation;
  return ggml_op_desc(&named);
}
ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t) {
  static int device = 0;
  return reinterpret_cast<ggml_backend_dev_t>(&device);
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t, ggml_cgraph* graph) {
  planning const plan = wish();
  std::size_t const planned = plan == planning::none ? 0 : graph->nodes.size();
  for (std::size_t i = 0; i < (plan == planning::cut ? planned / 2 : planned); ++i)
    (void)ggml_is_empty(graph->nodes[i]);
  if (graph != captured || plan != planning::whole) capture(graph);
  if (has_device()) (void)CUPTI(fake_graph_launch)(executable, stream);
  return GGML_STATUS_SUCCESS;
}
ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t, ggml_cgraph* graph) {
  static char backends[64];  // one after the other, as backends come and go
  static int next = 0;
  return ggml_backend_graph_compute_async(reinterpret_cast<ggml_backend_t>(&backends[next++ % 64]),
                                          graph);
}

int compute(int tokens, int outputs) {
  static std::map<std::pair<int, int>, ggml_cgraph*> graphs;
  ggml_cgraph*& graph = graphs[{tokens, outputs}];
  if (graph == nullptr) graph = new_graph(tokens, outputs);
  try {
    (void)ggml_backend_sched_graph_compute_async(nullptr, graph);
  } catch (std::runtime_error const&) {
    // The next graph is built.
    for (ggml_tensor const* const node : graph->nodes) (void)ggml_is_empty(node);
  }
  return launched;
}
}
