// A stand-in for ggml's header of backends: buffers, and the callback of a scheduler.
#ifndef STRATA_TESTS_STAND_IN_GGML_BACKEND_H
#define STRATA_TESTS_STAND_IN_GGML_BACKEND_H

#include "ggml.h"

struct ggml_backend_buffer_type {
  bool host = true;
};
using ggml_backend_buffer_type_t = ggml_backend_buffer_type*;

struct ggml_backend_buffer {
  ggml_backend_buffer_type_t type = nullptr;
};
using ggml_backend_buffer_t = ggml_backend_buffer*;

inline ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
  return buffer->type;
}
inline bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) { return buffer->type->host; }

using ggml_backend_sched_eval_callback = bool (*)(ggml_tensor* t, bool ask, void* user_data);

#endif  // STRATA_TESTS_STAND_IN_GGML_BACKEND_H
