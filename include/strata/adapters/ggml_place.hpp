#include <strata/version.hpp>
#ifndef STRATA_ADAPTERS_GGML_PLACE_HPP
#define STRATA_ADAPTERS_GGML_PLACE_HPP

#include <ggml-backend.h>
#include <ggml.h>

#include <strata/adapters/ggml_graph.hpp>
#include <strata/base/macros.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

STRATA_BEGIN

namespace detail {

inline std::string_view ggml_name(ggml_tensor const* tensor) noexcept {
  return {tensor->name, strnlen(tensor->name, sizeof tensor->name)};
}

/// Where in the model, and on which device, a node of a graph is.
struct ggml_place {
  std::string_view role;
  std::int64_t layer = no_index;
  void const* device = nullptr;  // null is the host

  /// What the node's name leaves open is taken from its weight's name, then from the node before.
  static ggml_place of(ggml_tensor const* node, ggml_label const& label,
                       ggml_place const& before) noexcept {
    ggml_place found{ggml_role::of(label), label.layer, device_of(node)};
    for (ggml_tensor const* const source : {node->src[0], node->src[1]}) {
      if (source == nullptr || (!found.role.empty() && found.layer != no_index)) continue;
      ggml_label const weight = ggml_label::of(ggml_name(source));
      if (!weight.weight) continue;
      if (found.role.empty()) found.role = ggml_role::of(weight);
      if (found.layer == no_index) found.layer = weight.layer;
    }
    if (found.role.empty()) found.role = before.role.empty() ? ggml_role::unknown : before.role;
    if (found.layer == no_index && found.role == before.role) found.layer = before.layer;
    if (!ggml_role::in_layer(found.role)) found.layer = no_index;
    return found;
  }

  bool operator!=(ggml_place const& other) const noexcept {
    return role != other.role || layer != other.layer || device != other.device;
  }

 private:
  static void const* device_of(ggml_tensor const* node) noexcept {
    ggml_backend_buffer* const in =
        node->view_src == nullptr ? node->buffer : node->view_src->buffer;
    return in == nullptr || ggml_backend_buffer_is_host(in) ? nullptr
                                                            : ggml_backend_buffer_get_type(in);
  }
};

/// The operation, and the tensor's name without its layer: `MUL_MAT ffn_up`.
class ggml_operation {
 public:
  ggml_operation(ggml_tensor const* node, ggml_label const& label) noexcept {
    int const length = std::snprintf(text_, sizeof text_, "%s%s%.*s", ggml_op_desc(node),
                                     label.base.empty() ? "" : " ",
                                     static_cast<int>(label.base.size()), label.base.data());
    if (length > 0) length_ = static_cast<std::size_t>(length);
    if (length_ >= sizeof text_) length_ = sizeof text_ - 1;
  }
  std::string_view name() const noexcept { return {text_, length_}; }

 private:
  char text_[128];
  std::size_t length_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ADAPTERS_GGML_PLACE_HPP
