#include <strata/collect/host/thread_recorder.hpp>
#include <strata/profile.hpp>
#include "adapters/ggml.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "unit/recording.hpp"
#include "word_list.hpp"

using namespace strata;
using namespace recording_test;
using namespace ggml_test;

namespace {

using names = std::vector<std::string>;

names run(ggml_ranges& ranges, graph const& g, std::size_t fails = nobody) {
  return compute(g.nodes, &ggml_ranges::callback, ranges.user_data(), fails);
}

/// The program's own callback: what it wants, and what it saw.
struct own_callback {
  std::string wants;  // a node's name
  bool go_on = true;
  names asked;
  names seen;
  std::size_t open_when_seen = 0;

  static bool call(ggml_tensor* t, bool ask, void* data) {
    auto& self = *static_cast<own_callback*>(data);
    (ask ? self.asked : self.seen).emplace_back(t->name);
    if (ask) return self.wants == t->name;
    if (auto const* const own = strata::detail::thread_recorder::current())
      self.open_when_seen = own->depth();
    return self.go_on;
  }
};

/// As the context parameters of llama.cpp.
struct parameters {
  ggml_backend_sched_eval_callback cb_eval = nullptr;
  void* cb_eval_user_data = nullptr;
};

attribute_record attribute_of(profile const& p, std::string const& path) {
  range_record const* const r = find_range(p, path);
  REQUIRE_MESSAGE(r != nullptr, path);
  REQUIRE(r->attribute != no_reference);
  return p.attributes[r->attribute - 1];
}

/// Whether a range says that the backend stops at its end because it is there.
bool is_stopping(profile const& p, std::string const& path) {
  attribute_record const attribute = attribute_of(p, path);
  return attribute.note != no_reference && p.names.at(attribute.note) == stops_at_end;
}

void check_nothing_is_open(profile const& p) {
  CHECK(p.losses.ranges_left_open == 0);
  CHECK(p.losses.pops_without_push == 0);
  CHECK(p.losses.ranges_ended_elsewhere == 0);
  auto const* const own = strata::detail::thread_recorder::current();
  if (own != nullptr) CHECK(own->depth() == 0);
}

call_counts const one_coarse_decode{{"decode", 1},
                                    {"decode/embedding", 1},
                                    {"decode/norm[0]", 2},
                                    {"decode/attention[0]", 1},
                                    {"decode/mlp[0]", 1},
                                    {"decode/norm[1]", 2},
                                    {"decode/attention[1]", 1},
                                    {"decode/mlp[1]", 1},
                                    {"decode/output", 1}};

call_counts times(call_counts counts, std::uint64_t factor) {
  for (auto& entry : counts) entry.second *= factor;
  return counts;
}

}  // namespace

TEST_CASE("names of tensors tell base and layer") {
  using strata::detail::ggml_label;
  std::vector<std::tuple<char const*, char const*, std::int64_t, bool>> const cases{
      {"Qcur-12", "Qcur", 12, false},
      {"Qcur-12 (reshaped)", "Qcur", 12, false},
      {"Qcur-post-rope-3", "Qcur-post-rope", 3, false},
      {"blk.3.attn_q.weight", "attn_q", 3, true},
      {"blk.117.ffn_gate_inp.bias", "ffn_gate_inp", 117, true},
      {"output_norm.weight", "output_norm", no_index, true},
      {"cache_k_l7 (view)", "cache_k", 7, false},
      {"cache_v_l10 (copy of Vcur-10)", "cache_v", 10, false},
      {"l_out-3", "l_out", 3, false},
      {"model.layers.{}.ffn_out-5", "ffn_out", 5, false},
      {"ffn_norm_2", "ffn_norm_2", no_index, false},
      {"node_31", "", no_index, false},
      {"leaf_4 (view)", "", no_index, false},
      {"", "", no_index, false},
      {" (reshaped)", "", no_index, false},
      {"-5", "", 5, false},
      {"x-99999999999999999999", "x-99999999999999999999", no_index, false},
  };
  for (auto const& [text, base, layer, weight] : cases) {
    char const* const name = text;
    CAPTURE(name);
    ggml_label const found = ggml_label::parse(text);
    CHECK(found.base == base);
    CHECK(found.layer == layer);
    CHECK(found.weight == weight);
  }
}

TEST_CASE("names of tensors tell the part of the model") {
  using strata::detail::ggml_label;
  using strata::detail::ggml_role;
  std::pair<std::string_view, char const*> const cases[] = {
      {ggml_role::embedding, "inp_embd, token_embd.weight, inp_norm"},
      {ggml_role::norm, "norm-0, attn_norm-0, ffn_norm-0, attn_post_norm-2"},
      {ggml_role::attention,
       "Qcur-1, Qcur_normed-1, blk.0.attn_q_norm.weight, kq_soft_max-1, cache_k_l1, ffn_inp-1, "
       "blk.9.attn_output.weight, q-3, wqkv-3"},
      {ggml_role::mlp,
       "ffn_moe_weights_norm-1, ffn_out-1, l_out-1, blk.1.ffn_down_exps.weight, mtp_ffn_out-1"},
      {ggml_role::output, "norm, result_norm, result_output, output.weight"},
      {ggml_role::recurrent, "mamba_in_proj-1, cache_s_l1, q_conv-1"},
      {"", "node_5, something"}};
  for (auto const& [role, names] : cases)
    for (std::string const& name : test::listed(names)) {
      CAPTURE(name);
      CHECK(ggml_role::find(ggml_label::parse(name.c_str())) == role);
    }
}

TEST_CASE("flops and bytes of nodes, quantised tensors as they are stored") {
  using work = strata::detail::ggml_work;
  graph g;
  ggml_tensor* const x = g.tensor("x", GGML_TYPE_F32, {64, 5});
  ggml_tensor* const ids = g.tensor("ids", GGML_TYPE_I32, {2, 5});
  SUBCASE("MUL_MAT") {
    ggml_tensor* const w = g.tensor("w", GGML_TYPE_Q4_0, {64, 96});
    ggml_tensor* const y = g.node(GGML_OP_MUL_MAT, "y", {96, 5}, {w, x});
    CHECK(work::flops_of(y) == 2.0 * 64 * 96 * 5);
    CHECK(work::bytes_of(y) == 96 * (64 / 32 * 18) + 64 * 5 * 4 + 96 * 5 * 4);
    x->flags = GGML_TENSOR_FLAG_INPUT;
    CHECK(work::kept_bytes_of(y) == 96 * (64 / 32 * 18));
  }
  SUBCASE("MUL_MAT of heads that share their keys") {  // grouped queries
    ggml_tensor* const k = g.tensor("k", GGML_TYPE_F16, {16, 40, 2});
    ggml_tensor* const q = g.tensor("q", GGML_TYPE_F32, {16, 5, 8});
    ggml_tensor* const kq = g.node(GGML_OP_MUL_MAT, "kq", {40, 5, 8}, {k, q});
    CHECK(work::flops_of(kq) == 2.0 * 16 * 40 * 5 * 8);
    CHECK(work::bytes_of(kq) == 16 * 40 * 2 * 2 + 16 * 5 * 8 * 4 + 40 * 5 * 8 * 4);
  }
  SUBCASE("MUL_MAT_ID: the experts that are used") {
    ggml_tensor* const w = g.tensor("w", GGML_TYPE_Q8_0, {64, 96, 16});
    ggml_tensor* const y = g.node(GGML_OP_MUL_MAT_ID, "y", {96, 2, 5}, {w, x, ids});
    CHECK(work::flops_of(y) == 2.0 * 64 * 96 * 2 * 5);
    CHECK(work::bytes_of(y) == 96 * (64 / 32 * 34) * 10 + 64 * 5 * 4 + 2 * 5 * 4 + 96 * 2 * 5 * 4);
    w->ne[2] = 4;  // fewer than are named
    CHECK(work::bytes_of(y) == 96 * (64 / 32 * 34) * 4 + 64 * 5 * 4 + 2 * 5 * 4 + 96 * 2 * 5 * 4);
    w->ne[2] = 16;
    x->flags = ids->flags = GGML_TENSOR_FLAG_INPUT;
    CHECK(work::kept_bytes_of(y) == 96 * (64 / 32 * 34) * 10);
  }
  SUBCASE("FLASH_ATTN_EXT: queries, keys and values of other widths") {
    ggml_tensor* const q = g.tensor("q", GGML_TYPE_F32, {24, 5, 8, 3});
    ggml_tensor* const k = g.tensor("k", GGML_TYPE_F16, {24, 40, 2, 3});
    ggml_tensor* const v = g.tensor("v", GGML_TYPE_F16, {16, 40, 2, 3});
    ggml_tensor* const y = g.node(GGML_OP_FLASH_ATTN_EXT, "y", {16, 8, 5, 3}, {q, k, v});
    CHECK(work::flops_of(y) == 2.0 * (5 * 8 * 3) * 40 * (24 + 16));
    CHECK(work::bytes_of(y) ==
          24 * 5 * 8 * 3 * 4 + 24 * 40 * 2 * 3 * 2 + 16 * 40 * 2 * 3 * 2 + 16 * 8 * 5 * 3 * 4);
    q->op = GGML_OP_ADD;                                                 // that a node computes
    k->view_src = g.tensor("cache_k", GGML_TYPE_F16, {24, 4096, 2, 3});  // a view of the cache
    v->view_src = q;
    CHECK(work::kept_bytes_of(y) == 24 * 40 * 2 * 3 * 2);
  }
  SUBCASE("OUT_PROD") {
    ggml_tensor* const b = g.tensor("b", GGML_TYPE_F32, {48, 5});
    CHECK(work::flops_of(g.node(GGML_OP_OUT_PROD, "y", {64, 48}, {x, b})) == 2.0 * 64 * 48 * 5);
  }
  SUBCASE("rows that are read or written, not the table") {
    ggml_tensor* const table = g.tensor("table", GGML_TYPE_Q8_0, {64, 100000});
    ggml_tensor* const index = g.tensor("index", GGML_TYPE_I32, {5});
    ggml_tensor* const read = g.node(GGML_OP_GET_ROWS, "y", {64, 5}, {table, index});
    CHECK(work::bytes_of(read) == 5 * (64 / 32 * 34) + 5 * 4 + 64 * 5 * 4);
    CHECK(work::flops_of(read) == 0);
    ggml_tensor* const cache =
        g.node(GGML_OP_SET_ROWS, "cache", {64, 100000}, {x, index}, GGML_TYPE_F16);
    CHECK(work::bytes_of(cache) == 64 * 5 * 4 + 5 * 4 + 64 * 5 * 2);
    index->flags = x->flags = GGML_TENSOR_FLAG_INPUT;
    cache->src[2] = table;  // where it goes
    CHECK(work::bytes_of(cache) == 64 * 5 * 4 + 5 * 4 + 64 * 5 * 2);
    CHECK(work::kept_bytes_of(read) == 5 * (64 / 32 * 34));
    CHECK(work::kept_bytes_of(cache) == 0);
  }
  SUBCASE("what is copied is not read at its destination") {
    ggml_tensor* const to = g.tensor("to", GGML_TYPE_F16, {64, 5});
    CHECK(work::bytes_of(g.node(GGML_OP_CPY, "y", {64, 5}, {x, to}, GGML_TYPE_F16)) ==
          64 * 5 * 4 + 64 * 5 * 2);
  }
  SUBCASE("a strided view counts without its gaps, a broadcast once") {
    ggml_tensor* const view = g.tensor("view", GGML_TYPE_F32, {8, 5});
    view->nb[1] = 4096;
    ggml_tensor* const same = g.tensor("same", GGML_TYPE_F32, {8, 5});
    same->nb[1] = 0;
    CHECK(work::bytes_of(g.node(GGML_OP_ADD, "y", {8, 5}, {view, same})) ==
          8 * 5 * 4 + 8 * 4 + 8 * 5 * 4);
  }
  SUBCASE("rows that are not whole blocks") {
    ggml_tensor* const part = g.tensor("part", GGML_TYPE_Q4_0, {32, 5});
    part->ne[0] = 16;
    CHECK(work::bytes_of(g.node(GGML_OP_CONT, "y", {16, 5}, {part})) <= 16 * 5 * 4 + 5 * 18);
  }
  SUBCASE("nodes that compute nothing") {
    CHECK(work::bytes_of(g.node(GGML_OP_RESHAPE, "y", {320}, {x})) == 0);
    CHECK(work::bytes_of(g.node(GGML_OP_ADD, "y", {64, 0}, {x, x})) == 0);
  }
}

TEST_CASE("coarse: one range a part, from the first graph on") {
  graph g;
  llama(g, 2, 1);
  ggml_ranges ranges;
  recording all;
  names const stops{"embd",        "attn_norm-0", "ffn_inp-0",  "ffn_norm-0", "l_out-0",
                    "attn_norm-1", "ffn_inp-1",   "ffn_norm-1", "l_out-1",    "result_output"};
  for (int i = 0; i < 3; ++i) {
    auto const batch = ranges.batch(1);
    CHECK(run(ranges, g) == stops);
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == times(one_coarse_decode, 3));
  attribute_record const attention = attribute_of(p, "decode/attention[1]");
  CHECK(attention.flops == 2.0 * 64 * 64 * 2);
  CHECK(attention.bytes == 2 * (64 * 64 / 32 * 34 + 64 * 4 * 2) + 64 * 4 * 2 + 64 * 4 * 3);
  CHECK(attention.rank == 1);
  CHECK(attention.dimensions[0] == 64);
  CHECK(attribute_of(p, "decode/mlp[0]").flops == 2.0 * 64 * 128 * 2);
  CHECK(std::isnan(attribute_of(p, "decode/norm[0]").flops));
  CHECK(attribute_of(p, "decode").tokens == 1);
  CHECK(is_stopping(p, "decode/attention[1]"));
  CHECK_FALSE(is_stopping(p, "decode"));
  check_nothing_is_open(p);
}

TEST_CASE("nodes without a name belong where their weights do") {
  graph g;
  auto const product = [&](std::string const& name, std::string const& weight) {
    g.node(GGML_OP_MUL_MAT, name, {8},
           {g.tensor(weight, GGML_TYPE_F32, {8, 8}), g.tensor("x", GGML_TYPE_F32, {8})});
  };
  product("", "blk.4.attn_q.weight");
  product("", "blk.4.ffn_up.weight");
  product("", "output.weight");
  product("result_extra-7", "output.weight");  // of no layer
  ggml_ranges ranges(ggml_mode::per_op);
  recording all;
  run(ranges, g);
  CHECK(calls_of(all.profile()) == call_counts{{"attention[4]", 1},
                                               {"attention[4]/MUL_MAT", 1},
                                               {"mlp[4]", 1},
                                               {"mlp[4]/MUL_MAT", 1},
                                               {"output", 2},
                                               {"output/MUL_MAT", 1},
                                               {"output/MUL_MAT result_extra", 1}});
}

TEST_CASE("coarse: a piece of several parts is named by the one that works most") {
  graph g;
  ggml_tensor* const x = g.tensor("x", GGML_TYPE_F32, {8});
  g.node(GGML_OP_ADD, "inp_scaled", {8}, {x, x});
  g.node(GGML_OP_MUL_MAT, "kqv-0", {8}, {g.tensor("w", GGML_TYPE_F32, {8, 8}), x});
  g.node(GGML_OP_ADD, "l_out-0", {8}, {x, x});
  ggml_ranges ranges;
  recording all;
  run(ranges, g);
  CHECK(calls_of(all.profile()) == call_counts{{"attention[0]", 1}});
}

TEST_CASE("coarse: without a batch, within a range of the program") {
  graph g;
  llama(g, 1, 7);
  ggml_ranges ranges;
  recording all;
  {
    STRATA_RANGE("mine");
    run(ranges, g);
    CHECK(strata::detail::thread_recorder::current()->depth() == 1);
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"mine", 1},
                                   {"mine/embedding", 1},
                                   {"mine/norm[0]", 2},
                                   {"mine/attention[0]", 1},
                                   {"mine/mlp[0]", 1},
                                   {"mine/output", 1}});
  attribute_record const output = attribute_of(p, "mine/output");
  CHECK(output.rank == 2);
  CHECK(output.dimensions[0] == 7);
  CHECK(output.dimensions[1] == 512);
  check_nothing_is_open(p);
}

TEST_CASE("coarse: graphs with unknown names are learned") {
  graph g;
  for (int i = 0; i < 3; ++i) g.node(GGML_OP_ADD, "", {8});
  g.node(GGML_OP_ADD, "Vcur-0", {8});
  g.node(GGML_OP_ADD, "", {8});
  ggml_ranges ranges;
  recording all;
  bool with_batch = true;
  SUBCASE("with batches") {}
  SUBCASE("without") { with_batch = false; }
  for (int i = 0; i < 3; ++i) {
    names pieces;
    if (with_batch) {
      auto const batch = ranges.batch(1, "step");
      pieces = run(ranges, g);
    } else {
      pieces = run(ranges, g);
    }
    if (i == 0) CHECK(pieces == names{"node_4"});  // and no range: the scheduler does not come back
    if (i == 2) CHECK(pieces == names{"node_2", "node_4"});
  }
  call_counts const counts = calls_of(all.profile());
  std::string const before = with_batch ? "step/" : "";
  CHECK(counts.at(before + "graph") == 2);
  CHECK(counts.at(before + "attention[0]") >= 1);
  check_nothing_is_open(all.profile());
}

TEST_CASE("coarse: a part that runs on two devices is two pieces, once that is known") {
  ggml_backend_buffer_type types[2] = {{false}, {true}};
  ggml_backend_buffer buffers[2] = {{&types[0]}, {&types[1]}};
  graph first;
  first.buffer = &buffers[0];
  first.node(GGML_OP_ADD, "Qcur-0", {8});
  first.node(GGML_OP_ADD, "Kcur-0", {8});
  graph second;
  second.buffer = &buffers[1];
  second.node(GGML_OP_ADD, "kq-0", {8});
  second.node(GGML_OP_ADD, "ffn_inp-0", {8});
  ggml_ranges ranges;
  recording all;
  for (int i = 0; i < 2; ++i) {
    auto const batch = ranges.batch(1);
    CHECK(run(ranges, first) == names{"Kcur-0"});
    CHECK(run(ranges, second) == names{"ffn_inp-0"});
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"decode", 2}, {"decode/attention[0]", 3}});
  CHECK(attribute_of(p, "decode/attention[0]").bytes == 2 * 8 * 4);  // not those of both devices
}

TEST_CASE("per_op: each operation within its part") {
  graph g;
  llama(g, 2, 1);
  ggml_ranges ranges(ggml_mode::per_op);
  recording all;
  for (int i = 0; i < 2; ++i) {
    auto const batch = ranges.batch(1);
    names const pieces = run(ranges, g);
    CHECK(pieces.size() == g.nodes.size() - 2);  // views are no pieces of their own
    CHECK(strata::detail::thread_recorder::current()->depth() == 1);  // the last part has ended
  }
  profile const& p = all.profile();
  call_counts counts = calls_of(p);
  for (auto const& [path, count] : times(one_coarse_decode, 2)) CHECK(counts[path] == count);
  CHECK(counts["decode/attention[1]/MUL_MAT Qcur"] == 2);
  CHECK(counts["decode/attention[1]/MUL_MAT"] == 2);  // it has no name, but its weight has
  CHECK(counts["decode/attention[1]/ADD ffn_inp"] == 2);
  CHECK(counts["decode/norm[0]/RMS_NORM norm"] == 4);
  CHECK(counts["decode/output/MUL_MAT result_output"] == 2);
  CHECK(counts["decode/embedding/GET_ROWS embd"] == 2);
  attribute_record const up = attribute_of(p, "decode/mlp[1]/MUL_MAT ffn_up");
  CHECK(up.flops == 2.0 * 64 * 128);
  CHECK(up.bytes == 64 * 128 / 32 * 18 + 64 * 4 + 128 * 4);
  CHECK(is_stopping(p, "decode/mlp[1]/MUL_MAT ffn_up"));
  check_nothing_is_open(p);
}

TEST_CASE("per_op without a batch: no range waits for the next node") {
  graph g;
  llama(g, 1, 1);
  ggml_ranges ranges(ggml_mode::per_op);
  recording all;
  run(ranges, g);
  CHECK(strata::detail::thread_recorder::current()->depth() == 0);
  CHECK(calls_of(all.profile())["mlp[0]"] == 3);
}

TEST_CASE("the program's own callback is asked, gets its data and has its say") {
  graph g;
  llama(g, 1, 1);
  own_callback own;
  own.wants = "ffn_up-0";
  parameters context{&own_callback::call, &own};
  ggml_ranges ranges;
  ranges.attach(context);
  CHECK((context.cb_eval == &ggml_ranges::callback));
  CHECK(context.cb_eval_user_data == ranges.user_data());
  ranges.attach(context);  // twice does not make it its own next
  recording all;
  names pieces;
  {
    auto const batch = ranges.batch(1);
    pieces = run(ranges, g);
  }
  CHECK(own.open_when_seen == 1);  // its time is not the range's
  names every;
  for (ggml_tensor* const t : g.nodes) every.emplace_back(t->name);
  CHECK(own.asked == every);
  CHECK(own.seen == names{"ffn_up-0"});
  CHECK(pieces == names{"embd", "attn_norm-0", "ffn_inp-0", "ffn_norm-0", "ffn_up-0", "l_out-0",
                        "result_output"});
  call_counts const counts = calls_of(all.profile());
  CHECK(counts.at("decode/mlp[0]") == 2);
  CHECK_FALSE(
      is_stopping(all.profile(), "decode/mlp[0]"));  // the program wanted the first piece of it
  CHECK(counts.at("decode/attention[0]") == 1);
}

TEST_CASE("a callback that says no ends the graph, and ranges continue with the next") {
  graph g;
  llama(g, 1, 1);
  own_callback own;
  own.wants = "ffn_up-0";
  own.go_on = false;
  for (ggml_mode const mode : {ggml_mode::coarse, ggml_mode::per_op}) {
    ggml_ranges ranges(mode, &own_callback::call, &own);
    recording all;
    {
      auto const batch = ranges.batch(1);
      CHECK(run(ranges, g).back() == "ffn_up-0");
      CHECK(strata::detail::thread_recorder::current()->depth() == 1);
    }
    own.wants = "";
    {
      auto const batch = ranges.batch(1);
      CHECK(run(ranges, g).back() == "result_output");
    }
    own.wants = "ffn_up-0";
    call_counts const counts = calls_of(all.profile());
    CHECK(counts.at("decode/mlp[0]") == 2);
    CHECK(counts.at("decode/output") == 1);
    check_nothing_is_open(all.profile());
  }
}

TEST_CASE("computing that fails leaves no range open") {
  graph g;
  llama(g, 1, 1);
  for (ggml_mode const mode : {ggml_mode::coarse, ggml_mode::per_op}) {
    for (std::size_t fails = 0; fails < g.nodes.size(); ++fails) {
      CAPTURE(fails);
      ggml_ranges ranges(mode);
      recording all;
      {
        auto const batch = ranges.batch(1, "failed");
        run(ranges, g, fails);
      }
      CHECK(strata::detail::thread_recorder::current()->depth() == 0);
      run(ranges, g, fails);  // without a batch the next graph ends it
      auto const batch = ranges.batch(1);
      CHECK(strata::detail::thread_recorder::current()->depth() == 1);
    }
  }
}

TEST_CASE("without a batch, the range of what failed ends when the next graph begins") {
  graph g;
  llama(g, 1, 1);
  ggml_ranges ranges;
  recording all;
  run(ranges, g, 4);
  CHECK(strata::detail::thread_recorder::current()->depth() == 1);
  CHECK_FALSE(ggml_ranges::callback(g.nodes[1], true, ranges.user_data()));
  CHECK(strata::detail::thread_recorder::current()->depth() == 0);
  check_nothing_is_open(all.profile());
}

TEST_CASE("after a failure the pieces are as before") {
  graph g;
  llama(g, 2, 1);
  for (ggml_mode const mode : {ggml_mode::coarse, ggml_mode::per_op}) {
    ggml_ranges ranges(mode);
    recording all;
    names whole;
    {
      auto const batch = ranges.batch(1);
      whole = run(ranges, g);
    }
    for (std::size_t fails = 0; fails < g.nodes.size(); ++fails) {
      auto const batch = ranges.batch(1, "failed");
      run(ranges, g, fails);
    }
    {
      auto const batch = ranges.batch(1);
      CHECK(run(ranges, g) == whole);
    }
    call_counts counts = calls_of(all.profile());
    for (auto const& [path, count] : times(one_coarse_decode, 2)) CHECK(counts[path] == count);
  }
}

TEST_CASE("an exception of the program's callback passes and leaves nothing open") {
  graph g;
  llama(g, 1, 1);
  ggml_ranges ranges(
      ggml_mode::per_op,
      [](ggml_tensor* t, bool ask, void*) -> bool {
        if (!ask) throw std::runtime_error("stop");
        return std::string_view(t->name) == "ffn_up-0";
      },
      nullptr);
  recording all;
  try {
    auto const batch = ranges.batch(1);
    run(ranges, g);
    FAIL("it did not throw");
  } catch (std::runtime_error const&) {
  }
  check_nothing_is_open(all.profile());
}

TEST_CASE("contexts in several threads, with adapters of their own and with a common one") {
  ggml_ranges common;
  recording all;
  auto const work = [&](int thread) {
    graph g;
    llama(g, 2, 1);
    ggml_ranges own;
    for (int i = 0; i < 200; ++i) {
      {
        auto const batch = common.batch(1);
        run(common, g);
      }
      auto const batch = own.batch(1, thread == 0 ? "zero" : "one");
      run(own, g);
    }
  };
  std::thread zero(work, 0);
  std::thread one(work, 1);
  zero.join();
  one.join();
  profile const& p = all.profile();
  call_counts const counts = calls_of(p);
  for (auto const& [path, count] : times(one_coarse_decode, 400)) CHECK(counts.at(path) == count);
  CHECK(counts.at("zero/attention[1]") == 200);
  CHECK(counts.at("one/mlp[1]") == 200);
  check_nothing_is_open(p);
}

TEST_CASE("a thread that stops at the end of a part does not hide that end from another") {
  graph g;
  llama(g, 2, 1);
  ggml_ranges ranges;
  recording all;
  names stops;
  std::thread([&] { stops = run(ranges, g); }).join();
  ggml_ranges common;
  std::thread([&] {
    for (ggml_tensor* const node : g.nodes) {
      bool const stop = ggml_ranges::callback(node, true, common.user_data());
      if (node->name != std::string_view("attn_norm-0")) continue;
      CHECK(stop);
      std::thread([&] { CHECK(run(common, g) == stops); }).join();
      CHECK(ggml_ranges::callback(node, false, common.user_data()));
      return;
    }
  }).join();
  check_nothing_is_open(all.profile());
}

TEST_CASE("two contexts by turns in one thread, as in speculative decoding") {
  graph draft;
  llama(draft, 1, 1);
  graph target;
  llama(target, 2, 4);
  ggml_ranges small;
  ggml_ranges large(ggml_mode::per_op);
  recording all;
  for (int i = 0; i < 3; ++i) {
    {
      auto const batch = small.batch(1, "draft");
      run(small, draft);
    }
    auto const batch = large.batch(4, "verify");
    run(large, target);
  }
  profile const& p = all.profile();
  call_counts const counts = calls_of(p);
  CHECK(counts.at("draft/attention[0]") == 3);
  CHECK(counts.at("verify/attention[1]") == 3);
  CHECK(counts.at("verify/output") == 3);
  CHECK(attribute_of(p, "verify").tokens == 4);
  check_nothing_is_open(p);
}

TEST_CASE("names of batches") {
  ggml_ranges ranges;
  recording all;
  { auto const batch = ranges.batch(1); }
  { auto const batch = ranges.batch(2); }
  { auto const batch = ranges.batch(8, "decode"); }
  CHECK(calls_of(all.profile()) == call_counts{{"decode", 2}, {"prefill", 1}});
}

TEST_CASE("while nobody listens nothing is asked for") {
  graph g;
  llama(g, 1, 1);
  own_callback own;
  ggml_ranges ranges(ggml_mode::per_op, &own_callback::call, &own);
  { recording all; }  // from here on there is no session
  auto const batch = ranges.batch(1);
  CHECK(run(ranges, g) == names{"result_output"});
  own.wants = "ffn_up-0";
  CHECK(run(ranges, g) == names{"ffn_up-0", "result_output"});
  CHECK(own.seen == names{"ffn_up-0"});
}

TEST_CASE("between the windows of a session the backend's graph is whole") {
  graph g;
  llama(g, 1, 1);
  options how = quiet();
  how.every = 4;
  how.warmup = 1;
  how.active = 1;
  recording all(how);
  REQUIRE(all.started());
  ggml_ranges ranges(ggml_mode::coarse);
  std::vector<std::size_t> stops;
  for (int step = 0; step < 8; ++step) {
    STRATA_STEP();
    auto const batch = ranges.batch(1);
    stops.push_back(run(ranges, g).size());
  }
  // run() asks for the last node's result itself.
  CHECK(stops == std::vector<std::size_t>{1, 1, 6, 6, 1, 1, 6, 6});
  CHECK(calls_of(all.profile()) == times({{"decode", 1},
                                          {"decode/embedding", 1},
                                          {"decode/norm[0]", 2},
                                          {"decode/attention[0]", 1},
                                          {"decode/mlp[0]", 1},
                                          {"decode/output", 1}},
                                         2));
}

TEST_CASE("what a session that ends within a graph has seen adds no stop to later ones") {
  graph g;
  llama(g, 2, 1);
  struct ending {
    std::size_t left;  // nodes
    session* one = nullptr;
  };
  for (std::size_t at = 1; at < g.nodes.size(); ++at) {
    ending state{at, nullptr};
    ggml_ranges ranges(
        ggml_mode::coarse,
        [](ggml_tensor*, bool ask, void* data) -> bool {
          auto& s = *static_cast<ending*>(data);
          if (ask && s.one != nullptr && s.left-- == 0) {
            s.one->stop();
            s.one = nullptr;
          }
          return !ask;
        },
        &state);
    auto const whole = [&] {
      session all(quiet());
      REQUIRE(all.start().ok());
      for (int i = 0; i < 2; ++i) {
        auto const batch = ranges.batch(1);
        run(ranges, g);
      }
      auto const batch = ranges.batch(1);
      return run(ranges, g);
    };
    names const before = whole();
    {
      session one(quiet());
      REQUIRE(one.start().ok());
      state.one = &one;
      auto const batch = ranges.batch(1);
      run(ranges, g);
    }
    CAPTURE(at);
    CHECK(whole() == before);
  }
}

TEST_CASE("a session that begins and ends within a graph") {
  graph g;
  llama(g, 1, 1);
  struct switching {
    std::size_t calls = 0;
    std::size_t at = 0;
    session* one = nullptr;
  };
  for (std::size_t at = 0; at < g.nodes.size(); ++at) {
    session one(quiet());
    switching state{0, at, &one};
    ggml_ranges ranges(
        ggml_mode::per_op,
        [](ggml_tensor*, bool ask, void* data) -> bool {
          auto& s = *static_cast<switching*>(data);
          if (!ask) return true;
          if (s.calls == s.at) CHECK(s.one->start().ok());
          if (s.calls == s.at + 4) s.one->stop();
          ++s.calls;
          return false;
        },
        &state);
    {
      auto const batch = ranges.batch(1);
      run(ranges, g);
    }
    one.stop();
    auto const* const own = strata::detail::thread_recorder::current();
    CHECK((own == nullptr || own->depth() == 0));
  }
}

TEST_CASE("a backend's own loop: one range a node") {
  graph g;
  llama(g, 2, 1);
  recording all;
  for (ggml_tensor const* const node : g.nodes) {
    ggml_node_range const range(node);
  }
  profile const& p = all.profile();
  call_counts const counts = calls_of(p);
  CHECK(counts.at("attention[1]/MUL_MAT") == 1);
  CHECK(counts.at("mlp[1]/MUL_MAT ffn_up") == 1);
  CHECK(attribute_of(p, "mlp[1]/MUL_MAT ffn_up").flops == 2.0 * 64 * 128);
  CHECK_FALSE(is_stopping(p, "mlp[1]/MUL_MAT ffn_up"));
  check_nothing_is_open(p);
}
