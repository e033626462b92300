// What kernels do, by the names that libraries and people give them.
#include "analyse/kernel_class.hpp"
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

namespace kernel_class_test {

using namespace strata;
using detail::kernel_class;

namespace {

kernel_row row_of(std::string const& demangled, std::string const& short_name = {}) {
  kernel_row row;
  row.mangled = row.demangled = demangled;
  row.short_name = short_name.empty() ? demangled : short_name;
  return row;
}

void are(kernel_class kind, std::initializer_list<char const*> names) {
  for (char const* const name : names) {
    INFO(name);
    CHECK(detail::class_of(row_of(name)) == kind);
  }
}

}  // namespace

TEST_CASE("Kernels are what their names say: of libraries and of programs") {
  are(kernel_class::product,
      {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_cublas",
       "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "mul_mat_vec_q", "mul_mat_q",
       "splitKreduce_kernel", "gemv2T_kernel_val", "triton_tem_fused_mm_0", "matmul_forward",
       "product_kernel", "cutlass_80_tensorop_bf16_s16816gemm", "dequant_gemm", "gelu_matmul"});
  are(kernel_class::attention,
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", "flash_fwd_kernel",
       "fmha_cutlassF_bf16_aligned", "flash_attn_ext_vec", "paged_attention_v2"});
  are(kernel_class::normalise,
      {"softmax_warp_forward", "cunn_SoftMaxForward", "soft_max_f32", "rms_norm_f32",
       "vectorized_layer_norm_kernel", "layernorm_forward_kernel3", "add_rms_norm", "RMSNorm",
       "triton_red_fused_add_mean_mul_0", "triton_per_fused_sum_1", "log_softmax"});
  are(kernel_class::reduce, {"reduce_kernel", "row_sum", "mean_kernel", "nll_loss_forward",
                             "grad_norm", "cross_entropy", "GammaBetaBackwardCUDAKernel"});
  are(kernel_class::copy,
      {"CatArrayBatchedCopy", "cpy_scalar", "transpose_kernel", "permute", "dequantize_block_q4_K",
       "int8_to_bf16", "cast_to_float", "convert_fp16", "copy_columns", "splitHeads"});
  are(kernel_class::elementwise,
      {"gelu_forward", "add_residual", "k_bin_bcast", "scale", "apply_rotary", "tanh_kernel",
       "triton_poi_fused_add_mean_0", "siluAndMul", "quantize_q8_1", "mul"});
  are(kernel_class::optimizer,
      {"adamw_kernel3", "sgd_momentum", "lamb_stage2", "multiTensorApply"});
  are(kernel_class::unknown, {"work", "k1", "topk", "gather_rows", "triad_kernel", ""});
}

TEST_CASE("What a kernel is made for says more than its own name") {
  std::string const copies =
      "void at::native::elementwise_kernel<128, 4, "
      "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(...)>>(int)";
  CHECK(detail::class_of(row_of(copies, "elementwise_kernel")) == kernel_class::copy);
  std::string const adam =
      "void at::native::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>>"
      "(int)";
  CHECK(detail::class_of(row_of(adam, "multi_tensor_apply_kernel")) == kernel_class::optimizer);
  std::string const cutlass = "void cutlass::Kernel2<cutlass_80_wmma_tensorop>(Params)";
  CHECK(detail::class_of(row_of(cutlass, "Kernel2")) == kernel_class::product);
  CHECK(detail::class_of(row_of("void llm::map_kernel<llm::square>(float*)", "map_kernel")) ==
        kernel_class::elementwise);
  kernel_row sends = row_of("add");
  sends.collective.operation = collective_operation::all_reduce;
  CHECK(detail::class_of(sends) == kernel_class::collective);
}

TEST_CASE("A kernel of PyTorch is called by its operation") {
  auto const called = [](char const* whole, char const* name) {
    return detail::operation_of(row_of(whole, name));
  };
  CHECK(called("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, "
               "float, float, at::native::binary_internal::MulFunctor<float>>>(int)",
               "vectorized_elementwise_kernel") == "Mul");
  CHECK(called("void at::native::vectorized_elementwise_kernel<4, "
               "at::native::CUDAFunctor_add<float>>(int)",
               "vectorized_elementwise_kernel") == "add");
  CHECK(called("void at::native::vectorized_elementwise_kernel<4, "
               "at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}>(int)",
               "vectorized_elementwise_kernel") == "tanh");
  CHECK(called("void llm::map_kernel<llm::square>(float*)", "map_kernel") == "map_kernel<square>");
  CHECK(called("elementwise_kernel", "elementwise_kernel") == "elementwise_kernel");
}

}  // namespace kernel_class_test
