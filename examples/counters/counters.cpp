// Hardware counters of one piece of a program, which drives the passes itself.
//
//   ./counters        without a GPU it says why there are none, and the piece runs once
#include <cstdio>
#include <strata/strata.hpp>

static int runs = 0;

static void forward() {
  STRATA_RANGE("forward");
  ++runs;  // launches its kernels here
}

int main() {
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
  (void)session.report();  // the problems stand under the table
}
