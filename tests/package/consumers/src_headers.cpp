// A program with headers of src, which are not in include/strata.
#include "benchmark/benchmark.hpp"
#include "model/llm.hpp"

int main() {
  strata::llm::model const one;
  strata::benchmark_result const run = strata::benchmark("work", [] {}, {1, 2});
  return run.name == "work" && strata::llm::parameters(one).total >= 0 ? 42 : 1;
}
