// What both stand-ins for ggml's headers have of its types.
#ifndef STRATA_TESTS_GGML_TYPES_H
#define STRATA_TESTS_GGML_TYPES_H

#include <cstddef>
#include <cstdint>

#define GGML_MAX_DIMS 4
#define GGML_MAX_SRC 10
#define GGML_MAX_NAME 64

enum ggml_type { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_I32 };

enum ggml_op {
  GGML_OP_NONE,
  GGML_OP_ADD,
  GGML_OP_MUL,
  GGML_OP_RMS_NORM,
  GGML_OP_MUL_MAT,
  GGML_OP_MUL_MAT_ID,
  GGML_OP_OUT_PROD,
  GGML_OP_CPY,
  GGML_OP_CONT,
  GGML_OP_RESHAPE,
  GGML_OP_VIEW,
  GGML_OP_PERMUTE,
  GGML_OP_TRANSPOSE,
  GGML_OP_GET_ROWS,
  GGML_OP_SET_ROWS,
  GGML_OP_SOFT_MAX,
  GGML_OP_FLASH_ATTN_EXT
};

enum ggml_tensor_flag { GGML_TENSOR_FLAG_INPUT = 1 };

struct ggml_backend_buffer_type;
struct ggml_backend_buffer;
using ggml_backend_buffer_type_t = ggml_backend_buffer_type*;
using ggml_backend_buffer_t = ggml_backend_buffer*;

struct ggml_tensor {
  ggml_type type = GGML_TYPE_F32;
  ggml_backend_buffer* buffer = nullptr;
  std::int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
  std::size_t nb[GGML_MAX_DIMS] = {};
  ggml_op op = GGML_OP_NONE;
  std::int32_t flags = 0;
  ggml_tensor* src[GGML_MAX_SRC] = {};
  ggml_tensor* view_src = nullptr;
  char name[GGML_MAX_NAME] = {};
};

using ggml_backend_sched_eval_callback = bool (*)(ggml_tensor* tensor, bool ask, void* user_data);

/// In the order of ggml_op.
inline constexpr char const* ggml_op_names[] = {
    "NONE",      "ADD",      "MUL",      "RMS_NORM", "MUL_MAT",       "MUL_MAT_ID",
    "OUT_PROD",  "CPY",      "CONT",     "RESHAPE",  "VIEW",          "PERMUTE",
    "TRANSPOSE", "GET_ROWS", "SET_ROWS", "SOFT_MAX", "FLASH_ATTN_EXT"};

#endif  // STRATA_TESTS_GGML_TYPES_H
