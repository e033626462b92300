// A stand-in for ggml's header of backends: buffers.
#ifndef STRATA_TESTS_STAND_IN_GGML_BACKEND_H
#define STRATA_TESTS_STAND_IN_GGML_BACKEND_H

#include "ggml.h"

struct ggml_backend_buffer_type {
  bool host = true;
};

struct ggml_backend_buffer {
  ggml_backend_buffer_type_t type = nullptr;
};

inline ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
  return buffer->type;
}
inline bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) { return buffer->type->host; }

#endif  // STRATA_TESTS_STAND_IN_GGML_BACKEND_H
