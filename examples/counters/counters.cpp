// Hardware counters of one piece of a program, which drives the passes itself.
//
//   ./counters        without a GPU it says why there are none, and the piece runs once
#include <cstdio>
#include <strata/session.hpp>
#include <strata/strata.hpp>
#if defined(WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

static constexpr unsigned bytes = 64u << 20;
static void* buffer = nullptr;
static int runs = 0;

static void forward() {
  STRATA_RANGE("forward", strata::bytes(bytes));
  ++runs;
#if defined(WITH_CUDA)
  if (buffer != nullptr) (void)cudaMemset(buffer, runs, bytes);  // or kernels of your own
#endif
}

int main() {
#if defined(WITH_CUDA)
  (void)cudaMalloc(&buffer, bytes);  // counting needs a CUDA context in this thread
#endif
  strata::options options;
  options.out = "counters-out";
  strata::session session(options);
  if (strata::status const started = session.start(); !started)
    std::fprintf(stderr, "%s\n", started.message().c_str());

  forward();  // timed: rates divide counts by this time
  strata::counter_passes passes = session.counters("hbm+l1");
  for (auto const& pass : passes) {  // each pass counts some of the counters
    (void)pass;
    forward();
  }
  std::printf("%d runs, %d passes counted\n", runs, static_cast<int>(passes.passes_done()));
  (void)session.report();  // what could not be counted stands under the table
}
