// A range hands its place to the threads of an OpenMP region, and to one of its own.
#include <strata/strata.hpp>

#include <omp.h>

#include <thread>

int main() {
  int const heads = 32;
  int busy = 0;
  STRATA_RANGE("attention", 7);
  strata::range_handle const here = strata::current();
#pragma omp parallel for num_threads(4) reduction(+ : busy) schedule(static)
  for (int head = 0; head < heads; ++head) {
    strata::inherit const as_child(here);
    STRATA_RANGE("head", head);
    ++busy;
  }
  std::thread([here] {
    strata::inherit const as_child(here);
    STRATA_RANGE("load");
  }).join();
  return busy == heads && omp_get_max_threads() > 0 ? 42 : 1;
}
