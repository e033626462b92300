#include "kernel_class.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/collectives.hpp>
#include <strata/tables/kernel_table.hpp>
#include "kernel_names.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {
namespace {

struct class_words {
  kernel_class kind;
  std::initializer_list<std::string_view> words;  ///< lower case, however they are parted
};

/// The first line that has a word of the name says what the kernel does: `dequant_gemm` is a
/// product, `add_rms_norm` a norm, `scale_copy` a copy, and a norm of gradients is one number.
class_words const class_table[] = {
    {kernel_class::optimizer,
     {"optimizer", "adam", "adamw", "sgd", "lamb", "lars", "lion", "adagrad", "adadelta",
      "adafactor", "rmsprop", "muon", "multitensorapply"}},
    {kernel_class::attention,
     {"attention", "attn", "fmha", "sdpa", "mha", "mla", "flash", "flashattn", "mmha"}},
    {kernel_class::product,
     {"gemm",   "gemv",   "gemvx",  "gemvnsp", "sgemm",   "hgemm",       "dgemm",
      "igemm",  "matmul", "mulmat", "matvec",  "nvjet",   "xmma",        "mma",
      "wgmma",  "wmma",   "mm",     "bmm",     "linear",  "product",     "conv",
      "conv1d", "conv2d", "dgrad",  "wgrad",   "cutlass", "splitkreduce"}},
    {kernel_class::reduce,
     {"gradnorm", "globalnorm", "totalnorm", "vectornorm", "sumofsquares", "gammabeta", "nll",
      "loss", "entropy"}},
    {kernel_class::normalise,
     {"softmax", "norm", "layernorm", "rmsnorm", "groupnorm", "batchnorm", "normalize",
      "normalise"}},
    {kernel_class::reduce,
     {"reduce", "reduction", "sum", "mean", "argmax", "argmin", "variance", "amax", "rowsum",
      "rowmax"}},
    {kernel_class::copy,
     {"copy",       "cpy",       "cast",   "convert", "cont",    "contiguous", "transpose",
      "permute",    "unpermute", "cat",    "concat",  "dequant", "dequantize", "dequantise",
      "unpack",     "repack",    "repeat", "expand",  "layout",  "relayout",   "splitheads",
      "mergeheads", "tofloat",   "tohalf", "tobf16",  "tofp16",  "tofp32"}},
    {kernel_class::elementwise,
     {"elementwise", "pointwise", "add",         "sub",       "subtract", "mul",        "multiply",
      "div",         "divide",    "scale",       "mask",      "bias",     "residual",   "relu",
      "gelu",        "silu",      "swiglu",      "geglu",     "glu",      "swish",      "tanh",
      "sigmoid",     "exp",       "exponential", "pow",       "power",    "square",     "cube",
      "sqrt",        "rsqrt",     "dropout",     "rope",      "rotary",   "activation", "act",
      "unary",       "binary",    "bcast",       "broadcast", "fill",     "clamp",      "plus",
      "minus",       "axpy",      "where",       "softcap",   "lerp",     "addcmul",    "addcdiv",
      "quantize",    "quantise",  "quant",       "tangent"}}};

kernel_class class_of(name_words const& words) {
  for (class_words const& known : class_table)
    for (std::string_view const word : known.words)
      if (words.has(word)) return known.kind;
  return kernel_class::unknown;
}

/// The functor of a kernel of PyTorch: `Mul` of MulFunctor, `tanh` of tanh_kernel_cuda; "" where
/// the name has none.
std::string functor_in(std::string_view whole) {
  constexpr std::string_view suffixes[] = {"Functor", "_kernel_cuda", "CUDAKernelImpl",
                                           "_kernel_impl"};
  constexpr std::string_view generic[] = {"AUnary", "BUnary", "Binary", "gpu", "opmath"};
  constexpr std::string_view prefix = "CUDAFunctor_";
  for (std::size_t begin = 0; begin < whole.size();) {
    if (!is_of_name(whole[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < whole.size() && is_of_name(whole[end])) ++end;
    std::string_view const word = whole.substr(begin, end - begin);
    begin = end;
    if (begins_with(word, prefix)) return std::string(word.substr(prefix.size()));
    for (std::string_view const suffix : suffixes) {
      if (!ends_with(word, suffix)) continue;
      std::string_view const stem = word.substr(0, word.size() - suffix.size());
      bool const says =
          std::find(std::begin(generic), std::end(generic), stem) == std::end(generic);
      if (says && !stem.empty()) return std::string(stem);
    }
  }
  return {};
}

}  // namespace

kernel_class class_of(kernel_row const& kernel) {
  if (kernel.collective) return kernel_class::collective;
  std::string_view const name = kernel.short_name;
  std::string_view const whole = kernel.demangled;
  auto const is_in = [whole](std::string_view part) { return whole.find(part) != whole.npos; };
  // Inductor's are named after all operations in them.
  if (begins_with(name, "triton_poi")) return kernel_class::elementwise;
  if (begins_with(name, "triton_red") || begins_with(name, "triton_per"))
    return kernel_class::normalise;
  if (begins_with(name, "triton_tem")) return kernel_class::product;
  if (is_in("Optimizer")) return kernel_class::optimizer;
  kernel_class const made = class_of(name_words(name));
  if (made == kernel_class::attention || made == kernel_class::optimizer) return made;
  // CUTLASS calls its kernels Kernel: their arguments say what they do.
  if (is_in("cutlass") && (is_in("flash") || is_in("fmha"))) return kernel_class::attention;
  if (is_in("cutlass") || is_in("gemm") || is_in("gemv")) return kernel_class::product;
  if (is_in("copy_kernel")) return kernel_class::copy;
  // `map_kernel<square>` is what its argument is.
  return made != kernel_class::unknown ? made : class_of(name_words(name_with_arguments(kernel)));
}

bool results_are_integers(kernel_row const& kernel) {
  return name_words(kernel.short_name)
      .has_any({"hash", "hashes", "hashing", "minhash", "simhash", "murmur", "xxhash", "crc",
                "checksum", "philox", "rng", "bloom", "popcount"});
}

bool is_depthwise(kernel_row const& kernel) {
  name_words const words(kernel.short_name);
  return words.has_any({"depthwise", "dwconv", "causalconv", "shortconv", "longconv"}) &&
         !words.has_any({"gemm", "matmul", "pointwise"});
}

std::string operation_of(kernel_row const& kernel) {
  bool const is_made_for_many = kernel.short_name.find("elementwise") != std::string::npos;
  std::string const functor = is_made_for_many ? functor_in(kernel.demangled) : std::string();
  if (!functor.empty()) return functor;
  std::string const full = name_with_arguments(kernel);
  return full.size() <= 32 ? full : kernel.short_name;
}

}  // namespace detail
STRATA_END
