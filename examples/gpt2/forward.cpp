// The annotated forward pass. These ranges are all that Strata needs to know of the program; the
// three implementations share them.
#include <strata/strata.hpp>

#include "model.hpp"
#include "needs.hpp"

namespace gpt2 {

namespace llm = strata::llm;

model::model(dimensions const& d) : d_(d), llm_(gpt2_124m(d)), pass_(whole_batch(d)) {}

float model::forward(int const* tokens, int const* targets) {
  {
    STRATA_RANGE("embedding", llm::embedding(llm_, pass_));
    embedding(tokens);
  }
  for (std::size_t layer = 0; layer < d_.L; ++layer) block(layer);
  {
    STRATA_RANGE("lnf", llm::norm(llm_, pass_));
    lnf();
  }
  {
    STRATA_RANGE("lm_head", llm::head(llm_, pass_));
    lm_head();
  }
  STRATA_RANGE("loss", llm::loss(llm_, pass_));
  return loss(targets);
}

void model::block(std::size_t layer) {
  STRATA_RANGE("block", layer, strata::tokens(d_.rows()), strata::shape(d_.B, d_.T, d_.C));
  {
    STRATA_RANGE("ln1", llm::norm(llm_, pass_));
    ln1(layer);
  }
  attention(layer);
  {
    STRATA_RANGE("residual1", llm::residual(llm_, pass_));
    residual1(layer);
  }
  {
    STRATA_RANGE("ln2", llm::norm(llm_, pass_));
    ln2(layer);
  }
  mlp(layer);
  {
    STRATA_RANGE("residual2", llm::residual(llm_, pass_));
    residual2(layer);
  }
}

void model::attention(std::size_t layer) {
  STRATA_RANGE("attention", llm::attention(llm_, pass_), strata::tokens(d_.rows()),
               strata::shape(d_.B, d_.T, d_.C));
  {
    STRATA_RANGE("qkv", llm::qkv(llm_, pass_));
    qkv(layer);
  }
  {
    STRATA_RANGE("scores", llm::scores(llm_, pass_), strata::shape(d_.B, d_.H, d_.T, d_.T));
    scores(layer);
  }
  {
    STRATA_RANGE("softmax", llm::softmax(llm_, pass_), strata::shape(d_.B, d_.H, d_.T, d_.T));
    softmax(layer);
  }
  {
    STRATA_RANGE("values", llm::values(llm_, pass_));
    values(layer);
  }
  {
    STRATA_RANGE("projection", llm::output(llm_, pass_));
    projection(layer);
  }
}

void model::mlp(std::size_t layer) {
  STRATA_RANGE("mlp", llm::mlp(llm_, pass_), strata::tokens(d_.rows()),
               strata::shape(d_.B, d_.T, d_.C));
  {
    STRATA_RANGE("up", llm::up(llm_, pass_));
    up(layer);
  }
  {
    STRATA_RANGE("gelu", llm::nonlinearity(llm_, pass_));
    gelu(layer);
  }
  {
    STRATA_RANGE("down", llm::down(llm_, pass_));
    down(layer);
  }
}

}  // namespace gpt2
