#include <strata/strata.hpp>
#include <vector>

static float attend(std::vector<float>& x) {
  STRATA_RANGE("attention", strata::flops(2.0 * static_cast<double>(x.size())));
  float sum = 0;
  for (float& v : x) sum += v = v * 0.5f + 1.0f;
  return sum;
}

int main() {
  std::vector<float> x(1 << 20, 1.0f);
  float sum = 0;
  for (int step = 0; step < 10; ++step) {
    STRATA_STEP();
    for (int layer = 0; layer < 4; ++layer) {
      STRATA_RANGE("block", layer);
      sum += attend(x);
    }
  }
  return sum > 0 ? 0 : 1;
}
