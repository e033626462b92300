// Steps of Strata and ranges of NVTX for the corpus's Python programs, whatever library runs the
// kernels. Without libstrata_inject.so and without a profiler they do nothing.
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

// Of the whole process: for libraries that launch from threads of their own.
unsigned long long corpus_range_start(char const* name);
unsigned long long corpus_range_start(char const* name) { return nvtxRangeStartA(name); }

void corpus_range_end(unsigned long long id);
void corpus_range_end(unsigned long long id) { nvtxRangeEnd(id); }
