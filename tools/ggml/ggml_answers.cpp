// What the ranges ask a readable ggml for, of which all agree: this library is loaded before it,
// and into other programs too.
#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>

#include "ggml_behind.hpp"

namespace {

template <class Function>
Function* any(Function*, char const* name) {
  void const* const caller = ggml_behind::ggml::readable_caller().load();
  return ggml_behind::require(ggml_behind::find<Function>(name, caller), name);
}

}  // namespace

std::int64_t ggml_nelements(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nelements, "ggml_nelements");
  return behind(tensor);
}
std::int64_t ggml_nrows(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nrows, "ggml_nrows");
  return behind(tensor);
}
std::size_t ggml_nbytes(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_nbytes, "ggml_nbytes");
  return behind(tensor);
}
std::int64_t ggml_blck_size(ggml_type type) {
  static auto* const behind = any(&ggml_blck_size, "ggml_blck_size");
  return behind(type);
}
std::size_t ggml_type_size(ggml_type type) {
  static auto* const behind = any(&ggml_type_size, "ggml_type_size");
  return behind(type);
}
ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
  static auto* const behind = any(&ggml_backend_get_device, "ggml_backend_get_device");
  return behind(backend);
}
char const* ggml_op_desc(ggml_tensor const* tensor) {
  static auto* const behind = any(&ggml_op_desc, "ggml_op_desc");
  return behind(tensor);
}
bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
  static auto* const behind = any(&ggml_backend_buffer_is_host, "ggml_backend_buffer_is_host");
  return behind(buffer);
}
ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
  static auto* const behind = any(&ggml_backend_buffer_get_type, "ggml_backend_buffer_get_type");
  return behind(buffer);
}
ggml_tensor** ggml_graph_nodes(ggml_cgraph* graph) {
  static auto* const behind = any(&ggml_graph_nodes, "ggml_graph_nodes");
  return behind(graph);
}
int ggml_graph_n_nodes(ggml_cgraph* graph) {
  static auto* const behind = any(&ggml_graph_n_nodes, "ggml_graph_n_nodes");
  return behind(graph);
}
