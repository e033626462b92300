#include "engine.h"

#include <strata/c.h>

static int attention(int layer) {
  strata_push("attention");
  layer += 1;
  strata_pop();
  return layer;
}

int engine_forward(int layers, engine_hook inside) {
  int sum = 0;
  int layer;
  for (layer = 0; layer < layers; ++layer) {
    strata_push_indexed("block", layer);
    sum += attention(layer);
    inside(layer);
    strata_pop();
  }
  return sum;
}
