// A stand-in for ggml's header of backends.
#ifndef STRATA_TESTS_FAKE_GGML_BACKEND_H
#define STRATA_TESTS_FAKE_GGML_BACKEND_H

#include "ggml.h"

struct ggml_backend;
struct ggml_backend_sched;
struct ggml_backend_device;
using ggml_backend_t = ggml_backend*;
using ggml_backend_dev_t = ggml_backend_device*;
using ggml_backend_sched_t = ggml_backend_sched*;

extern "C" {
ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer);
ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend);
bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer);
ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph* graph);
ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler,
                                                   ggml_cgraph* graph);
}

#endif  // STRATA_TESTS_FAKE_GGML_BACKEND_H
