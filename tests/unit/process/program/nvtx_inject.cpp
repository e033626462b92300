// A library that NVTX_INJECTION64_PATH names: Strata for programs that know nothing of it.
#include <strata/strata.hpp>

#include "../../../../tools/inject/nvtx_injection.hpp"

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    strata::detail::nvtx::export_table_function* get_table) {
  return strata::detail::nvtx_injection::attach(get_table);
}
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    strata::detail::nvtx::extension* program) {
  return strata::detail::nvtx_injection::attach_extension(program);
}
