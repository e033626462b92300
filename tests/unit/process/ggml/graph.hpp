// Graphs as llama.cpp names them, and a scheduler that asks about their nodes as ggml's does.
#ifndef STRATA_TESTS_UNIT_PROCESS_GGML_GRAPH_HPP
#define STRATA_TESTS_UNIT_PROCESS_GGML_GRAPH_HPP

#include <cstdint>
#include <cstdio>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "ggml-backend.h"

namespace ggml_test {

/// Tensors, the nodes among them in the order in which they are computed.
class graph {
 public:
  ggml_tensor* tensor(std::string const& name, ggml_type type,
                      std::initializer_list<std::int64_t> shape) {
    ggml_tensor& t = tensors_.emplace_back();
    std::snprintf(t.name, sizeof t.name, "%s", name.c_str());
    t.type = type;
    int i = 0;
    for (std::int64_t const n : shape) t.ne[i++] = n;
    t.nb[0] = ggml_type_size(type);
    t.nb[1] = t.nb[0] * static_cast<std::size_t>(t.ne[0] / ggml_blck_size(type));
    for (int d = 2; d < GGML_MAX_DIMS; ++d)
      t.nb[d] = t.nb[d - 1] * static_cast<std::size_t>(t.ne[d - 1]);
    return &t;
  }

  ggml_tensor* node(ggml_op op, std::string const& name, std::initializer_list<std::int64_t> shape,
                    std::initializer_list<ggml_tensor*> sources = {},
                    ggml_type type = GGML_TYPE_F32) {
    ggml_tensor* const t =
        tensor(name.empty() ? "node_" + std::to_string(nodes.size()) : name, type, shape);
    t->op = op;
    t->buffer = buffer;
    int i = 0;
    for (ggml_tensor* const s : sources) t->src[i++] = s;
    nodes.push_back(t);
    return t;
  }

  std::vector<ggml_tensor*> nodes;
  ggml_backend_buffer* buffer = nullptr;  // of the nodes that are made from now on

 private:
  std::deque<ggml_tensor> tensors_;
};

/// A llama of width 64: Q8_0 weights for attention, Q4_0 for the rest, `n` tokens.
inline void llama(graph& g, int layers, std::int64_t n) {
  ggml_tensor* cur = g.node(GGML_OP_GET_ROWS, "embd", {64, n},
                            {g.tensor("token_embd.weight", GGML_TYPE_F16, {64, 512}),
                             g.tensor("inp_tokens", GGML_TYPE_I32, {n})});
  for (int i = 0; i < layers; ++i) {
    std::string const il = "-" + std::to_string(i);
    std::string const blk = "blk." + std::to_string(i) + ".";
    ggml_tensor* const input = cur;
    auto const norm = [&](std::string const& name, ggml_tensor* of) {
      ggml_tensor* const plain = g.node(GGML_OP_RMS_NORM, "norm" + il, {64, n}, {of});
      return g.node(GGML_OP_MUL, name + il, {64, n},
                    {plain, g.tensor(blk + name + ".weight", GGML_TYPE_F32, {64})});
    };
    auto const product = [&](std::string const& name, std::string const& weight, ggml_type type,
                             std::int64_t out, ggml_tensor* of) {
      return g.node(GGML_OP_MUL_MAT, name, {out, n},
                    {g.tensor(blk + weight + ".weight", type, {of->ne[0], out}), of});
    };
    cur = norm("attn_norm", cur);
    ggml_tensor* const q = product("Qcur" + il, "attn_q", GGML_TYPE_Q8_0, 64, cur);
    g.node(GGML_OP_VIEW, "Qcur" + il + " (view)", {64, n}, {q});
    ggml_tensor* const attended = g.node(GGML_OP_SOFT_MAX, "kqv_out" + il, {64, n}, {q});
    cur = product("", "attn_output", GGML_TYPE_Q8_0, 64, attended);  // llama.cpp names it or not
    ggml_tensor* const middle = g.node(GGML_OP_ADD, "ffn_inp" + il, {64, n}, {cur, input});
    cur = norm("ffn_norm", middle);
    cur = product("ffn_up" + il, "ffn_up", GGML_TYPE_Q4_0, 128, cur);
    cur = product("ffn_out" + il, "ffn_down", GGML_TYPE_Q4_0, 64, cur);
    cur = g.node(GGML_OP_ADD, "l_out" + il, {64, n}, {cur, middle});
  }
  cur = g.node(GGML_OP_RMS_NORM, "norm", {64, n}, {cur});
  cur = g.node(GGML_OP_MUL, "result_norm", {64, n},
               {cur, g.tensor("output_norm.weight", GGML_TYPE_F32, {64})});
  g.node(GGML_OP_MUL_MAT, "result_output", {512, n},
         {g.tensor("output.weight", GGML_TYPE_Q8_0, {64, 512}), cur});
}

inline constexpr std::size_t nobody = static_cast<std::size_t>(-1);

/// Computes nodes as a scheduler does that has a callback; computing the node `fails` does not
/// succeed. Returns: the pieces, each by its last node.
inline std::vector<std::string> compute(std::vector<ggml_tensor*> const& nodes,
                                        ggml_backend_sched_eval_callback callback, void* data,
                                        std::size_t fails = nobody) {
  std::vector<std::string> pieces;
  for (std::size_t first = 0; first < nodes.size();) {
    std::size_t last = first;
    bool need = callback(nodes[last], true, data);
    while (!need && last + 1 < nodes.size()) need = callback(nodes[++last], true, data);
    if (first <= fails && fails <= last) return pieces;
    pieces.emplace_back(nodes[last]->name);
    if (need && !callback(nodes[last], false, data)) return pieces;
    first = last + 1;
  }
  return pieces;
}

}  // namespace ggml_test

#endif  // STRATA_TESTS_UNIT_PROCESS_GGML_GRAPH_HPP
