/* Ranges and steps in C99. The program's one C++ file is Strata's implementation.
 *
 *   STRATA=host ./c
 */
#include <strata/c.h>

static float x[1 << 16];

static void attention(void) {
  int i;
  strata_push("attention");
  for (i = 0; i < 1 << 16; ++i) x[i] = x[i] * 0.5f + 1.0f;
  strata_pop(); /* every way out of a function needs it */
}

static void forward(int layers) {
  int layer;
  for (layer = 0; layer < layers; ++layer) {
    strata_push_indexed("block", layer);
    attention();
    strata_pop();
  }
}

int main(void) {
  int step;
  for (step = 0; step < 3; ++step) {
    strata_step_begin();
    forward(2);
    strata_step_end();
  }
  return 0;
}
