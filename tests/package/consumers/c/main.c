/* A training loop in C; exit code 42, and not a word unless STRATA asks for it. */
#include <strata/c.h>

#include "engine.h"

static void hook(int layer) {
  (void)layer;
  strata_push("work");
  strata_pop();
}

int main(void) {
  int sum = 0;
  int step;
  for (step = 0; step < 4; ++step) {
    strata_step_begin();
    if (step == 1) continue; /* leaves its step open: the next one ends it */
    sum += engine_forward(3, hook);
    strata_step_end();
    strata_step_end(); /* ends nothing */
  }
  strata_push(0); /* a mistake, and no crash */
  strata_pop();
  return sum + 24;
}
