// A stand-in for ggml's header: what libstrata_ggml.so uses of it.
#ifndef STRATA_TESTS_FAKE_GGML_H
#define STRATA_TESTS_FAKE_GGML_H

#include <cstddef>
#include <cstdint>

#include "../../ggml_types.h"

enum ggml_status { GGML_STATUS_FAILED = -1, GGML_STATUS_SUCCESS = 0 };
struct ggml_cgraph;

extern "C" {
std::int64_t ggml_nelements(ggml_tensor const* tensor);
std::int64_t ggml_nrows(ggml_tensor const* tensor);
std::size_t ggml_nbytes(ggml_tensor const* tensor);
std::int64_t ggml_blck_size(ggml_type type);
std::size_t ggml_type_size(ggml_type type);
std::size_t ggml_tensor_overhead();
char const* ggml_op_name(ggml_op operation);
char const* ggml_op_desc(ggml_tensor const* tensor);
bool ggml_is_empty(ggml_tensor const* tensor);
ggml_tensor** ggml_graph_nodes(ggml_cgraph* graph);
int ggml_graph_n_nodes(ggml_cgraph* graph);
}

#endif  // STRATA_TESTS_FAKE_GGML_H
