// Compiled with and without the marks: in off mode both have to give the same instructions.
#ifdef OFF_MARKED
#include <strata/strata.hpp>
#else
#define STRATA_RANGE(...) static_cast<void>(0)
#define STRATA_FUNCTION() static_cast<void>(0)
#define STRATA_STEP() static_cast<void>(0)
#endif

double expensive(
    int layer);  // never called: arguments of a range that is compiled out are not evaluated

extern "C" float off_macros(float const* x, int n, int layer) {
  STRATA_FUNCTION();
  STRATA_RANGE("layer", layer, strata::flops(expensive(layer)), strata::bytes(4.0 * n));
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    STRATA_STEP();
    STRATA_RANGE("element", i, strata::note("x"));
    sum += x[i] * static_cast<float>(layer);
  }
  return sum;
}

extern "C" float off_classes(float const* x, int n, int layer) {
#ifdef OFF_MARKED
  strata::scoped_range const scope{"layer", layer};
  strata::phases phase;
  strata::range_handle const here = strata::current();
#endif
  float sum = 0;
  for (int i = 0; i < n; ++i) {
#ifdef OFF_MARKED
    strata::inherit const as_child(here);
    phase.next("element", i);
    strata::push("inner", strata::flops(1.0));
#endif
    sum += x[i] * static_cast<float>(layer);
#ifdef OFF_MARKED
    strata::pop();
    phase.end();
#endif
  }
  return sum;
}
