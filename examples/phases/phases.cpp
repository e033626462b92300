// A flat function in parts, without braces: each next() ends one part and begins the following one.
//
//   STRATA=host ./phases
#include <strata/range.hpp>
#include <vector>

static void scale(std::vector<float>& x, float factor) {
  for (float& v : x) v *= factor;
}

static void block(std::vector<float>& x, int layer) {
  STRATA_RANGE("block", layer);
  strata::phases part;
  part.next("norm");
  scale(x, 0.9f);
  part.next("attention", strata::flops(static_cast<double>(x.size())));
  scale(x, 1.1f);
  part.next("mlp");
  scale(x, 1.0f);
  part.end();       // the destructor does the same
  scale(x, 0.99f);  // in no part: self time of block
}

int main() {
  std::vector<float> x(1 << 16, 1.0f);
  for (int step = 0; step < 3; ++step) {
    STRATA_STEP();
    for (int layer = 0; layer < 2; ++layer) block(x, layer);
  }
}
