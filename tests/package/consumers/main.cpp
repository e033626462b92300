// What every consumer builds: exit code 42, and not a word unless STRATA asks for it.
#include <strata/strata.hpp>

static int work(int layer) {
  STRATA_RANGE("work", layer, strata::flops(2.0));
  return layer + 1;
}

int main() {
  int sum = 0;
  for (int layer = 0; layer < 8; ++layer) {
    STRATA_STEP();
    sum += work(layer);
  }
  return sum + 6;
}
