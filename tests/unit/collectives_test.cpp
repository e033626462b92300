// Which kernels are collectives, by the names that libraries give them.
#include "analyse/kernel_names.hpp"

#include <doctest/doctest.h>

#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_names.hpp>
#include <strata/tables/kernel_table.hpp>
#include <string>
#include "analyse/collective_finder.hpp"

#include "sample_profile.hpp"

namespace collectives_test {

using strata::collective_kind;
using strata::collective_operation;

namespace {

/// As the tables ask: by the short name and the whole one, of a mangled or a demangled name.
collective_kind kind_of(std::string const& name, std::string const& listed = "") {
  std::string const whole = strata::detail::full_kernel_name(name);
  std::string const short_name(name.rfind("_Z", 0) == 0
                                   ? strata::detail::short_kernel_name(name)
                                   : std::string(strata::detail::short_function_name(name)));
  return strata::detail::collective_named(short_name, whole, listed);
}

struct known_name {
  char const* name;
  collective_operation operation;
};

}  // namespace

TEST_CASE("collectives are known by the names of their libraries") {
  using op = collective_operation;
  known_name const names[] = {
      // NCCL, RCCL, MSCCL
      {"_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE",
       op::all_reduce},
      {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       op::reduce_scatter},
      {"ncclDevKernel_AllGather_RING_LL", op::all_gather},
      {"ncclDevKernel_SendRecv", op::send_receive},
      {"ncclDevKernel_Broadcast_RING_LL", op::broadcast},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL", op::reduce},
      {"ncclDevKernel_Generic_4", op::other},
      {"ncclKernel_AllReduce_RING_LL_Sum_float", op::all_reduce},
      {"ncclAllReduceRingLLKernel_sum_f16", op::all_reduce},
      {"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC", op::all_reduce},
      {"ncclSymkDevKernel_ReduceScatter_LL_sum_f8e4m3", op::reduce_scatter},
      {"mscclKernel_Sum_half_Simple_false", op::other},
      // vLLM, SGLang
      {"_ZN4vllm26cross_device_reduce_2stageIfLi8EEEvv", op::all_reduce},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, "
       "vllm::RankSignals)",
       op::all_reduce},
      {"void sglang::cross_device_reduce_1stage<half, 4>(sglang::RankData*)", op::all_reduce},
      {"void quickreduce::allreduce_prototype_twoshot<quickreduce::CodecFP>(half const*)",
       op::all_reduce},
      // TensorRT-LLM, FlashInfer, LMDeploy
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 4, false>(AllReduceParams)",
       op::all_reduce},
      {"void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 4>(AllReduceParams)",
       op::all_reduce},
      {"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<1, half>()",
       op::all_reduce},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<half, 8>()",
       op::all_reduce},
      {"void flashinfer::moereduce_allreduce_fusion_kernel_oneshot_lamport<half, 8>()",
       op::all_reduce},
      {"void lamport_style_one_shot_all_reduce_norm_kernel<half, 4, true>()", op::all_reduce},
      {"void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8, half>()",
       op::all_reduce},
      {"void oneshotAllreduceFusionKernel<8, half>()", op::all_reduce},
      {"void RMSNorm_lamport<half, 4>()", op::other},
      {"void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<half>()", op::dispatch},
      {"void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<half>()", op::combine},
      {"moeAllToAllKernel", op::all_to_all},
      // PyTorch's symmetric memory
      {"void c10d::symmetric_memory::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>()",
       op::all_reduce},
      {"two_shot_all_reduce_kernel_inplace", op::all_reduce},
      {"void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
       op::all_reduce},
      {"multimem_one_shot_reduce_kernel", op::reduce},
      {"multimem_all_gather_kernel", op::all_gather},
      {"reduce_scatter_lastdim", op::reduce_scatter},
      {"c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int)", op::barrier},
      {"c10d::nvshmem_extension::allToAllV(void*, void*)", op::all_to_all},
      // NVSHMEM, user buffers, MSCCL++, DeepEP and others
      {"barrier_on_stream_kernel_threadgroup(nvshmem_team_t, int)", op::barrier},
      {"alltoall_on_stream_kernel", op::all_to_all},
      {"fcollect_on_stream_kernel", op::all_gather},
      {"nvshmemi_signal_wait_until_on_stream_kernel", op::other},
      {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", op::other},
      {"kuserbuffers_pushrecv", op::send_receive},
      {"mscclpp::collective::allgather5(void*)", op::all_gather},
      {"allreduce7", op::all_reduce},
      {"void deep_ep::intranode::dispatch<8, 768>(int4*, float*)", op::dispatch},
      {"_ZN7deep_ep12internode_ll7combineILb0ELi7168EEEvPv", op::combine},
      {"void deep_ep::intranode::notify_dispatch<8>(int const*)", op::dispatch},
      {"a2a_dispatch_send_kernel", op::dispatch},
      {"mori::collective::OneShotAllReduceKernel<float>(int, int)", op::all_reduce},
      {"AllReduceKernelImpl", op::all_reduce}};
  for (known_name const& known : names) {
    CAPTURE(known.name);
    CHECK(to_string(kind_of(known.name).operation) == to_string(known.operation));
  }
}

TEST_CASE("kernels that work on one GPU are no collectives") {
  char const* const names[] = {
      // cuBLAS, cuDNN, CUTLASS
      "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "sm90_xmma_gemm_bf16bf16_tn_n",
      "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
      "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16>(Params)",
      "void cutlass::device_kernel<flash::FlashAttnFwdSm90<1>>(Params)",
      "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)",
      "void cub::detail::reduce::DeviceReduceSingleTileKernel<Policy, float*>(float*)",
      "void cub::DeviceReduceKernel<Policy>(float*)", "DeviceScanKernel", "DeviceSelectSweepKernel",
      "cudnn::bn_fw_tr_1C11_kernel_NCHW", "void cusparse::csr_scatter_kernel<float>()",
      // PyTorch
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()",
      "void at::native::_scatter_gather_elementwise_kernel<128, 8, ReduceAdd>()",
      "void at::native::index_elementwise_kernel<128, 4>()", "index_put_kernel",
      "void at::native::vectorized_gather_kernel<16, long>()", "broadcast_kernel",
      "void (anonymous namespace)::softmax_warp_forward<float>()",
      "void c10d::checkForNaN<float>(float*, unsigned long)",
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>()",
      "multi_tensor_apply_kernel", "void gather_scatter_reduce<float>()",
      // Inductor's names have the operations around them
      "triton_poi_fused_all_gather_into_tensor_cat_0", "triton_red_fused_all_reduce_mean_pow_3",
      "triton_per_fused_add_rsqrt_1", "matmul_kernel_0d1d2d", "_attn_fwd",
      // llama.cpp, flash-attention, vLLM, TensorRT-LLM
      "void mul_mat_q<(ggml_type)12, 128, false>(char const*)", "void rms_norm_f32<1024>()",
      "void flash_attn_ext_f16<128, 8>()", "void flash::flash_fwd_splitkv_combine_kernel<Traits>()",
      "void vllm::paged_attention_v2_reduce_kernel<half, 128>()", "reshape_and_cache_kernel",
      "void tensorrt_llm::kernels::lamport_initialize_kernel<half>()",
      "void vllm::moe::topkGatingSoftmax<8>()", "moeA2APrepareDispatchKernel",
      "void tensorrt_llm::kernels::moeDispatchKernel<half>()", "fused_moe_combine_kernel",
      // that meet within a GPU
      "block_all_reduce_sum_f32x4_f32_kernel", "BlockAllReduceKernel", "warp_all_reduce",
      "void oneflow::WarpAllReduceSoftmax<float>()", "tvm_thread_allreduce_kernel",
      // with a part of such a name, or with products too
      "small_gather_kernel", "overall_gather_kernel", "reduce_all_kernel", "segment_scatter_reduce",
      "all_gather_gemm_persistent_kernel", "fused_gemm_all_reduce", "sendgrid",
      "synchronize_tokens", "barrier_kernel", "dispatch", "combine", "stage2_reduce", "k", ""};
  for (char const* const name : names) {
    CAPTURE(name);
    CHECK(to_string(kind_of(name).operation) == "");
  }
}

TEST_CASE("a name tells algorithm and protocol only where it means them") {
  struct known_kind {
    char const* name;
    char const* algorithm;
    char const* protocol;
  };
  known_kind const names[] = {
      // NCCL's name of most kernels, whatever they run.
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", ""},
      {"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL", "tree", ""},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE", "ring", "simple"},
      {"ncclDevKernel_AllReduce_Sum_f32_NVLS_SIMPLE", "nvls", "simple"},
      {"ncclDevKernel_AllReduce_Sum_f32_NVLS_TREE_SIMPLE", "nvls_tree", "simple"},
      {"ncclDevKernel_AllReduce_Sum_f32_COLLNET_DIRECT_SIMPLE", "collnet_direct", "simple"},
      {"ncclDevKernel_AllGather_PAT_SIMPLE", "pat", "simple"},
      {"ncclDevKernel_AllReduce_Sum_f32_TREE_LL128", "tree", "ll128"},
      {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32", "", "ll"},
      {"ncclDevKernel_SendRecv", "", ""},
      {"cross_device_reduce_1stage", "one_shot", ""},
      {"cross_device_reduce_2stage", "two_shot", ""},
      {"allreduce_fusion_kernel_oneshot_lamport", "one_shot", "lamport"},
      {"twoShotAllReduceKernel", "two_shot", ""},
      {"multimem_all_reduce_kernel", "nvls", ""},
      {"at::native::ring_tree_simple", "", ""}};  // no collective
  for (known_kind const& known : names) {
    CAPTURE(known.name);
    collective_kind const kind = kind_of(known.name);
    CHECK(kind.algorithm == known.algorithm);
    CHECK(kind.protocol == known.protocol);
  }
}

TEST_CASE("collectives= adds kernels by pattern, of the short name or of the whole") {
  CHECK(!kind_of("void mine::exchange<float>(float*)"));
  CHECK(to_string(kind_of("void mine::exchange<float>(float*)", "exchange").operation) == "other");
  CHECK(static_cast<bool>(kind_of("void mine::exchange<float>(float*)", "other+*mine::*")));
  CHECK(!kind_of("void mine::exchange<float>(float*)", "exchang"));
  CHECK(to_string(kind_of("gemm_all_reduce", "gemm_all*").operation) == "all_reduce");
}

TEST_CASE("within a range of NCCL's every kernel is a collective") {
  using strata::detail::collective_in;
  CHECK(to_string(collective_in("step/NCCL:ncclAllReduce", {}).operation) == "all_reduce");
  CHECK(to_string(collective_in("step/NCCL:ncclReduceScatter/copy", {}).operation) ==
        "reduce_scatter");
  CHECK(to_string(collective_in("NCCL:ncclGroupEnd", {}).operation) == "other");
  CHECK(to_string(collective_in("NCCL:ncclSend", {}).operation) == "send_receive");
  CHECK(!collective_in("step/MyNCCL:ncclAllReduce", {}));
  CHECK(!collective_in("step/allreduce", {}));
  CHECK(!collective_in("", {}));
}

TEST_CASE("the tables say which kernels are collectives") {
  for (bool const is_listed : {false, true}) {
    sample::maker make;
    make.made.traced = true;
    make.made.kernel_names = {{"work"}, {"mine"}, {"ncclDevKernel_AllGather_RING_LL"}};
    if (is_listed) make.made.environment.collectives = "min?";
    std::uint32_t const node = make.node(0, "step");
    for (std::uint32_t name = 1; name <= 3; ++name)
      make.kernel(make.launch(node, name, name + 1), 10 * name, 10 * name + 5).name = name;
    strata::call_tree const tree(make.made);
    strata::detail::collective_finder finder(make.made, tree);
    for (strata::kernel_record const& kernel : make.made.kernels)
      CHECK(finder.is_collective(kernel) == (kernel.name == 3 || (kernel.name == 2 && is_listed)));
    for (strata::kernel_row const& row : strata::make_kernel_table(make.made, tree)) {
      CAPTURE(row.short_name);
      std::string_view const wanted = row.name == 3                ? "all_gather"
                                      : row.name == 2 && is_listed ? "other"
                                                                   : "";
      CHECK(to_string(row.collective.operation) == wanted);
    }
  }
}

}  // namespace collectives_test
