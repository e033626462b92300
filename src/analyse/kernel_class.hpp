#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_CLASS_HPP
#define STRATA_ANALYSE_KERNEL_CLASS_HPP

// What a kernel does, as its name says.

#include <strata/base/macros.hpp>
#include <strata/tables/kernel_table.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// What a kernel does with the values that it reads.
enum class kernel_class : std::uint8_t {
  unknown,
  elementwise,  ///< one value out of each one in
  copy,         ///< the same values elsewhere, in another layout or in another format
  normalise,    ///< softmax and norms: a row is reduced, and as many values come out
  reduce,       ///< far fewer values come out
  product,
  attention,
  optimizer,
  collective
};

/// What a kernel does, by its name alone: the words of people and libraries, as PyTorch, cuBLAS,
/// cuDNN, CUTLASS, Triton, ggml and hand-written programs have them.
kernel_class class_of(kernel_row const& kernel);

/// Whether a kernel's results are integers that it computes from data (hashes, checksums, random
/// bits), as its name says.
bool results_are_integers(kernel_row const& kernel);

/// Whether a kernel is a depthwise convolution, as its name says: no matrix product.
bool is_depthwise(kernel_row const& kernel);

/// The name of a kernel for a sentence: of a kernel that PyTorch makes for many operations its
/// operation, `Mul` of `vectorized_elementwise_kernel<4, ...MulFunctor<float>...>`; else the short
/// name.
std::string operation_of(kernel_row const& kernel);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_CLASS_HPP
