#include <strata/version.hpp>
#ifndef STRATA_ADAPTERS_GGML_WORK_HPP
#define STRATA_ADAPTERS_GGML_WORK_HPP

#include <ggml.h>

#include <strata/annotate/attributes.hpp>
#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// Whether computing this node does nothing: views, and tensors without elements.
inline bool ggml_idles(ggml_tensor const* node) noexcept {
  switch (node->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
      return true;
    default:
      return ggml_is_empty(node);
  }
}

/// What nodes of a graph have to do, summed, as attributes of a range.
/// Units: floating-point operations of matrix products and flash attention, a multiply-add counts
/// two; bytes that each node reads and writes once, quantised types as they are stored; the shape
/// is the last node's, the outermost dimension first.
class ggml_work {
 public:
  void add(ggml_tensor const* node) noexcept {
    flops_ += flops_of(node);
    bytes_ += bytes_of(node);
    last_ = node;
  }
  bool empty() const noexcept { return last_ == nullptr; }

  /// For ranges. The nodes still have to exist.
  void apply(range_attributes& to) const noexcept {
    if (empty()) return;
    if (flops_ > 0) to.record.flops = flops_;
    to.record.bytes = bytes_;
    unsigned rank = GGML_MAX_DIMS;
    while (rank > 1 && last_->ne[rank - 1] == 1) --rank;
    to.record.rank = rank;
    for (unsigned i = 0; i < rank; ++i)
      to.record.dimensions[i] = static_cast<std::uint32_t>(last_->ne[rank - 1 - i]);
  }

  static double flops_of(ggml_tensor const* node) noexcept {
    ggml_tensor const* const a = node->src[0];
    ggml_tensor const* const b = node->src[1];
    if (a == nullptr || b == nullptr) return 0;
    switch (node->op) {
      case GGML_OP_MUL_MAT:     // each element of the result is a dot product along a's rows;
      case GGML_OP_MUL_MAT_ID:  // the result has the chosen experts only
        return 2.0 * elements(node) * static_cast<double>(a->ne[0]);
      case GGML_OP_OUT_PROD:
        return 2.0 * elements(node) * static_cast<double>(a->ne[1]);
      case GGML_OP_FLASH_ATTN_EXT: {  // q k^T, and its product with v
        ggml_tensor const* const v = node->src[2];
        double const inner = static_cast<double>(a->ne[0] + (v == nullptr ? 0 : v->ne[0]));
        return 2.0 * static_cast<double>(a->ne[1] * a->ne[2] * a->ne[3]) *
               static_cast<double>(b->ne[1]) * inner;
      }
      default:
        return 0;
    }
  }

  static double bytes_of(ggml_tensor const* node) noexcept {
    ggml_tensor const* const a = node->src[0];
    ggml_tensor const* const b = node->src[1];
    if (ggml_idles(node)) return 0;
    if (a != nullptr && b != nullptr) {
      switch (node->op) {
        case GGML_OP_GET_ROWS:  // of the table only the rows that are named
          return row_bytes(a, a->ne[0]) * rows(node) + stored(b) + stored(node);
        case GGML_OP_SET_ROWS:  // a view of all it writes into: only the rows that come
          return stored(a) + stored(b) + row_bytes(node, node->ne[0]) * rows(a);
        case GGML_OP_CPY:  // b is where it goes
          return stored(a) + stored(node);
        case GGML_OP_MUL_MAT_ID:
          if (ggml_tensor const* const ids = node->src[2]) {
            // As many experts as can be different.
            double const experts = static_cast<double>(a->ne[2]);
            double const named = elements(ids);
            double const used = named < experts ? named : experts;
            return (experts > 0 ? stored(a) / experts * used : 0) + stored(b) + stored(ids) +
                   stored(node);
          }
          break;
        default:
          break;
      }
    }
    double sum = stored(node);
    for (ggml_tensor const* const source : node->src) {
      if (source != nullptr) sum += stored(source);
    }
    return sum;
  }

 private:
  static double elements(ggml_tensor const* tensor) noexcept {
    return static_cast<double>(ggml_nelements(tensor));
  }
  static double rows(ggml_tensor const* tensor) noexcept {
    return static_cast<double>(ggml_nrows(tensor));
  }
  /// As ggml_row_size, which asserts that rows are whole blocks; those of a view may not be.
  static double row_bytes(ggml_tensor const* tensor, std::int64_t length) noexcept {
    return static_cast<double>(ggml_type_size(tensor->type)) * static_cast<double>(length) /
           static_cast<double>(ggml_blck_size(tensor->type));
  }
  /// Without the gaps of a strided view, and once what a broadcast repeats.
  static double stored(ggml_tensor const* tensor) noexcept {
    double const packed = row_bytes(tensor, tensor->ne[0]) * rows(tensor);
    double const span = static_cast<double>(ggml_nbytes(tensor));
    return packed < span ? packed : span;
  }

  double flops_ = 0;
  double bytes_ = 0;
  ggml_tensor const* last_ = nullptr;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ADAPTERS_GGML_WORK_HPP
