// A stand-in for ggml's header: what the adapter uses of it, for tests without ggml.
#ifndef STRATA_TESTS_STAND_IN_GGML_H
#define STRATA_TESTS_STAND_IN_GGML_H

#include <cstddef>
#include <cstdint>

#include "../../../ggml_types.h"

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
inline char const* ggml_op_desc(ggml_tensor const* t) { return ggml_op_names[t->op]; }

#endif  // STRATA_TESTS_STAND_IN_GGML_H
