// The whole public API, once: compiled in both modes, by every compiler and language level, with
// all warnings as errors.
#include <strata/strata.hpp>

namespace {

void names(int layer) {
  STRATA_FUNCTION();
  STRATA_RANGE("block");
  STRATA_RANGE("block", layer);
  STRATA_RANGE("attention", layer, strata::flops(1.0), strata::bytes(2.0), strata::tokens(3),
               strata::shape(1, 2, 3), strata::note("x"));
  STRATA_RANGE("mlp", strata::flops(4.0 * layer));
  STRATA_MEMORY("weights");
}

void branches(bool condition) {
  if (condition) {
    STRATA_RANGE("then");
  } else {
    STRATA_RANGE("else");
  }
  for (int step = 0; step < 2; ++step) {
    STRATA_STEP();
    STRATA_RANGE("step", step);
  }
  auto const lambda = [] { STRATA_RANGE("lambda"); };
  lambda();
}

template <class Number>
Number templated(Number x) {
  STRATA_RANGE("templated");
  return x;
}

void classes(int layer) {
  strata::scoped_range r{"a"};
  strata::scoped_range const indexed{"b", layer};
  strata::scoped_range const described{"c", layer, strata::flops(1.0), strata::note("x")};
  strata::phases p;
  p.next("x");
  p.next("y", layer);
  p.next("z", layer, strata::bytes(2.0));
  p.end();
  strata::push("a");
  strata::push("b", layer, strata::tokens(3));
  strata::pop();
  strata::pop();
  strata::range_handle const here = strata::current();
  strata::inherit const as_child(here);
  strata::inherit const nothing{strata::range_handle()};
}

}  // namespace

int main() {
  names(1);
  branches(true);
  classes(2);
  return templated(0);
}
