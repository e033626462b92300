// The one unit of the benchmark in which Strata is compiled out.
#undef STRATA_ENABLED
#define STRATA_ENABLED 0
#include "range_off.hpp"

#include <strata/range.hpp>

void compiled_out(benchmark::State& state) {
  for (auto _ : state) {
    STRATA_RANGE("range");
    benchmark::ClobberMemory();
  }
}

void compiled_out_attributes(benchmark::State& state) {
  double work = 1.0;
  for (auto _ : state) {
    STRATA_RANGE("range", strata::flops(work), strata::bytes(2.0 * work));
    benchmark::ClobberMemory();
  }
}
