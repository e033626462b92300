// The annotated forward pass. These ranges are all that Strata needs to know of the program; the
// three implementations share them.
#include <strata/strata.hpp>

#include "model.hpp"

namespace gpt2 {

float model::forward(int const* tokens, int const* targets) {
  {
    auto const w = cost_.embedding();
    STRATA_RANGE("embedding", strata::flops(w.flops), strata::bytes(w.bytes));
    embedding(tokens);
  }
  for (std::size_t layer = 0; layer < d_.L; ++layer) block(layer);
  {
    auto const w = cost_.layernorm();
    STRATA_RANGE("lnf", strata::flops(w.flops), strata::bytes(w.bytes));
    lnf();
  }
  {
    auto const w = cost_.lm_head();
    STRATA_RANGE("lm_head", strata::flops(w.flops), strata::bytes(w.bytes));
    lm_head();
  }
  auto const w = cost_.loss();
  STRATA_RANGE("loss", strata::flops(w.flops), strata::bytes(w.bytes));
  return loss(targets);
}

void model::block(std::size_t layer) {
  STRATA_RANGE("block", layer, strata::tokens(d_.rows()), strata::shape(d_.B, d_.T, d_.C));
  {
    auto const w = cost_.layernorm();
    STRATA_RANGE("ln1", strata::flops(w.flops), strata::bytes(w.bytes));
    ln1(layer);
  }
  attention(layer);
  {
    auto const w = cost_.residual();
    STRATA_RANGE("residual1", strata::flops(w.flops), strata::bytes(w.bytes));
    residual1(layer);
  }
  {
    auto const w = cost_.layernorm();
    STRATA_RANGE("ln2", strata::flops(w.flops), strata::bytes(w.bytes));
    ln2(layer);
  }
  mlp(layer);
  {
    auto const w = cost_.residual();
    STRATA_RANGE("residual2", strata::flops(w.flops), strata::bytes(w.bytes));
    residual2(layer);
  }
}

void model::attention(std::size_t layer) {
  auto const all = cost_.attention();
  STRATA_RANGE("attention", strata::flops(all.flops), strata::bytes(all.bytes),
               strata::tokens(d_.rows()), strata::shape(d_.B, d_.T, d_.C));
  {
    auto const w = cost_.qkv();
    STRATA_RANGE("qkv", strata::flops(w.flops), strata::bytes(w.bytes));
    qkv(layer);
  }
  {
    auto const w = cost_.scores();
    STRATA_RANGE("scores", strata::flops(w.flops), strata::bytes(w.bytes),
                 strata::shape(d_.B, d_.H, d_.T, d_.T));
    scores(layer);
  }
  {
    auto const w = cost_.softmax();
    STRATA_RANGE("softmax", strata::flops(w.flops), strata::bytes(w.bytes),
                 strata::shape(d_.B, d_.H, d_.T, d_.T));
    softmax(layer);
  }
  {
    auto const w = cost_.values();
    STRATA_RANGE("values", strata::flops(w.flops), strata::bytes(w.bytes));
    values(layer);
  }
  {
    auto const w = cost_.projection();
    STRATA_RANGE("projection", strata::flops(w.flops), strata::bytes(w.bytes));
    projection(layer);
  }
}

void model::mlp(std::size_t layer) {
  auto const all = cost_.mlp();
  STRATA_RANGE("mlp", strata::flops(all.flops), strata::bytes(all.bytes), strata::tokens(d_.rows()),
               strata::shape(d_.B, d_.T, d_.C));
  {
    auto const w = cost_.up();
    STRATA_RANGE("up", strata::flops(w.flops), strata::bytes(w.bytes));
    up(layer);
  }
  {
    auto const w = cost_.gelu();
    STRATA_RANGE("gelu", strata::flops(w.flops), strata::bytes(w.bytes));
    gelu(layer);
  }
  {
    auto const w = cost_.down();
    STRATA_RANGE("down", strata::flops(w.flops), strata::bytes(w.bytes));
    down(layer);
  }
}

}  // namespace gpt2
