// A stand-in for ggml's header: what the adapter uses of it, for tests without ggml.
#ifndef STRATA_TESTS_STAND_IN_GGML_H
#define STRATA_TESTS_STAND_IN_GGML_H

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

struct ggml_backend_buffer;

struct ggml_tensor {
  ggml_type type = GGML_TYPE_F32;
  ggml_backend_buffer* buffer = nullptr;
  std::int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
  std::size_t nb[GGML_MAX_DIMS] = {};
  ggml_op op = GGML_OP_NONE;
  ggml_tensor* src[GGML_MAX_SRC] = {};
  ggml_tensor* view_src = nullptr;
  char name[GGML_MAX_NAME] = {};
};

inline std::size_t ggml_type_size(ggml_type type) {
  constexpr std::size_t sizes[] = {4, 2, 18, 34, 4};
  return sizes[type];
}
inline std::int64_t ggml_blck_size(ggml_type type) {
  return type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q8_0 ? 32 : 1;
}
inline std::int64_t ggml_nelements(ggml_tensor const* t) {
  return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}
inline std::int64_t ggml_nrows(ggml_tensor const* t) { return t->ne[1] * t->ne[2] * t->ne[3]; }
inline bool ggml_is_empty(ggml_tensor const* t) { return ggml_nelements(t) == 0; }
/// From the first byte to the last, gaps included.
inline std::size_t ggml_nbytes(ggml_tensor const* t) {
  if (ggml_is_empty(t)) return 0;
  auto const blocks = static_cast<std::size_t>(t->ne[0] / ggml_blck_size(t->type));
  std::size_t size = blocks * ggml_type_size(t->type);
  for (int i = 1; i < GGML_MAX_DIMS; ++i) size += static_cast<std::size_t>(t->ne[i] - 1) * t->nb[i];
  return size;
}
inline char const* ggml_op_desc(ggml_tensor const* t) {
  constexpr char const* names[] = {
      "NONE",      "ADD",      "MUL",      "RMS_NORM", "MUL_MAT",       "MUL_MAT_ID",
      "OUT_PROD",  "CPY",      "CONT",     "RESHAPE",  "VIEW",          "PERMUTE",
      "TRANSPOSE", "GET_ROWS", "SET_ROWS", "SOFT_MAX", "FLASH_ATTN_EXT"};
  return names[t->op];
}

#endif  // STRATA_TESTS_STAND_IN_GGML_H
