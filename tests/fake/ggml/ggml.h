// A stand-in for ggml's header: what libstrata_ggml.so uses of it.
#ifndef STRATA_TESTS_FAKE_GGML_H
#define STRATA_TESTS_FAKE_GGML_H

#include <cstddef>
#include <cstdint>

#define GGML_MAX_DIMS 4
#define GGML_MAX_SRC 10
#define GGML_MAX_NAME 64

enum ggml_status { GGML_STATUS_FAILED = -1, GGML_STATUS_SUCCESS = 0 };
enum ggml_type { GGML_TYPE_F32, GGML_TYPE_Q4_0 };
enum ggml_op {
  GGML_OP_NONE,
  GGML_OP_ADD,
  GGML_OP_RMS_NORM,
  GGML_OP_MUL_MAT,
  GGML_OP_MUL_MAT_ID,
  GGML_OP_OUT_PROD,
  GGML_OP_CPY,
  GGML_OP_RESHAPE,
  GGML_OP_VIEW,
  GGML_OP_PERMUTE,
  GGML_OP_TRANSPOSE,
  GGML_OP_GET_ROWS,
  GGML_OP_SET_ROWS,
  GGML_OP_FLASH_ATTN_EXT
};

struct ggml_backend_buffer;

struct ggml_tensor {
  ggml_type type;
  ggml_backend_buffer* buffer;
  std::int64_t ne[GGML_MAX_DIMS];
  ggml_op op;
  ggml_tensor* src[GGML_MAX_SRC];
  ggml_tensor* view_src;
  char name[GGML_MAX_NAME];
};
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
