// Ranges of a unit that is compiled with STRATA_ENABLED=0.
#ifndef STRATA_BENCHMARKS_RANGE_OFF_HPP
#define STRATA_BENCHMARKS_RANGE_OFF_HPP

#include <benchmark/benchmark.h>

void compiled_out(benchmark::State& state);
void compiled_out_attributes(benchmark::State& state);

#endif  // STRATA_BENCHMARKS_RANGE_OFF_HPP
