// Steps of Strata and ranges of NVTX for the corpus's Python programs, whatever library runs the
// kernels. Without libstrata_inject.so and without a profiler all four do nothing.
//
//   cc -O1 -shared -fPIC -I../../include -I/usr/local/cuda/include -o libmarkers.so markers.c -ldl

#include <nvtx3/nvToolsExt.h>
#include <strata/c.h>

void corpus_step_begin(void);
void corpus_step_begin(void) { strata_step_begin(); }

void corpus_step_end(void);
void corpus_step_end(void) { strata_step_end(); }

void corpus_range_push(char const* name);
void corpus_range_push(char const* name) { (void)nvtxRangePushA(name); }

void corpus_range_pop(void);
void corpus_range_pop(void) { (void)nvtxRangePop(); }
