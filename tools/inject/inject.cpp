// libstrata_inject.so: Strata for programs that know nothing of it, and for annotated programs that
// have no implementation.
#include "nccl_profiler.hpp"
