#ifndef STRATA_PROFILE_METRIC_CATALOGUE_HPP
#define STRATA_PROFILE_METRIC_CATALOGUE_HPP

#include <strata/profile/metric_set.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Events that are read together, with one read.
enum class perf_set : std::uint8_t { core, cache, software };

/// What the kernel counts.
struct perf_event {
  std::string_view counter;  ///< its name in formulas
  std::uint32_t type;        ///< 0: hardware, 1: software, 3: caches
  std::uint64_t config;
  perf_set set;
  bool in_kernel = false;  ///< happens in the kernel: user space alone never counts it
};

// Names differ between chips: GB202 counts DRAM bytes by `_op_`; on integrated chips what L2 filled
// from memory (sectors of 32 B) is what was read, and nothing tells what was written; TU102's
// tensor path is one for all formats with FP32 sums, GH100's one for FP16 whatever the sum. Peaks
// are CUPTI's `.peak_sustained`, dense (`_sparsity_off`), in units a cycle of the clock beside
// them; a name that only TU102 has, times 0, keeps an alternative to it. SASS counters are exact,
// but they run instrumented code in a pass of their own.
struct metric_catalogue {
  static const metric entries[];
  static const metric_preset presets[];
  static const perf_event events[];
  static const metric cpu[];
  static const metric rates[];
};

#define STRATA_DETAIL_STALL(NAME, MEANING)                                                         \
  "sm stall_" NAME " [warp cycles] = smsp__warps_issue_stalled_" NAME ".sum: warps that " MEANING, \
      "sm stall_" NAME "_share [%] = 100 * stall_" NAME                                            \
      " / warps_active: share of warps that " MEANING

// The time that a unit of the SMs needs for its work at its peak: work by what it can do in a
// cycle, by the SM's clock. A range takes no less than the longest of them.
#define STRATA_DETAIL_UNIT(KEY, COUNTER, MEANING)   \
  "sm " KEY "_ns [ns] = " COUNTER ".sum / " COUNTER \
  ".sum.peak_sustained * time_ns / sm_cycles: time at peak of " MEANING

inline constexpr metric metric_catalogue::entries[] = {
    "device time_ns [ns] = gpu__time_duration.sum: GPU time of the counted range; counting makes "
    "it longer than it is in a timed step",
    "sm sm_cycles [cycles] = gpc__cycles_elapsed.avg | sm__cycles_elapsed.avg: cycles of the SM "
    "clock while the range ran; read beside the SMs, so it is cheap",

    "hbm hbm_read_bytes [B] = dram__bytes_read.sum | dram__bytes_op_read.sum | "
    "fbpa__dram_read_bytes.sum | 32 * lts__d_sectors_fill_sysmem.sum: bytes read from device "
    "memory",
    "hbm hbm_write_bytes [B] = dram__bytes_write.sum | dram__bytes_op_write.sum | "
    "fbpa__dram_write_bytes.sum: bytes written to device memory",
    "hbm hbm_bytes [B] = hbm_read_bytes + hbm_write_bytes: bytes moved to and from device memory",
    "hbm hbm_channel_bytes_max [B] = dram__bytes.max: bytes of the channel of device memory that "
    "moves the most",
    "hbm hbm_channel_bytes_mean [B] = dram__bytes.avg: bytes of the mean channel of device memory",
    "hbm hbm_cycles [cycles] = dram__cycles_elapsed.avg: cycles of the memory clock while the "
    "range ran",
    "hbm hbm_peak_bytes_per_cycle [B/cycle] = dram__bytes.sum.peak_sustained: what device memory "
    "can move in a cycle",
    "hbm hbm_peak_bytes_per_second [B/s] = 1e9 * hbm_cycles / time_ns * hbm_peak_bytes_per_cycle: "
    "roof of device memory",

    "l2 l2_bytes [B] = lts__t_bytes.sum: bytes requested from L2 by all units",
    "l2 l2_sectors [sectors] = lts__t_sectors.sum: sectors of 32 B requested from L2",
    "l2 l2_slice_sectors_max [sectors] = lts__t_sectors.max: sectors of the slice of L2 that "
    "serves the most",
    "l2 l2_slice_sectors_mean [sectors] = lts__t_sectors.avg: sectors of the mean slice of L2",
    "l2 l2_read_sectors [sectors] = lts__t_sectors_op_read.sum: sectors read from L2",
    "l2 l2_write_sectors [sectors] = lts__t_sectors_op_write.sum: sectors written to L2",
    "l2 l2_atomic_sectors [sectors] = lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum: "
    "sectors of atomics and reductions in L2",
    "l2 l2_from_sm_sectors [sectors] = lts__t_sectors_srcunit_tex.sum: sectors that the SMs "
    "requested from L2",
    "l2 l2_host_sectors [sectors] = lts__t_sectors_srcunit_tex_aperture_sysmem.sum | "
    "syslts__t_sectors_srcunit_tex_aperture_sysmem.sum: sectors of host memory that SMs requested "
    "from L2, or from the part of it for host memory and peers",
    "l2 l2_peer_sectors [sectors] = lts__t_sectors_aperture_peer.sum | "
    "syslts__t_sectors_aperture_peer.sum: sectors of other GPUs' memory requested from L2, or "
    "from the part of it for host memory and peers",
    "l2 l2_sector_hits [sectors] = lts__t_sectors_lookup_hit.sum: sectors found in L2",
    "l2 l2_sector_misses [sectors] = lts__t_sectors_lookup_miss.sum: sectors not found in L2; no "
    "pass counts them together with the hits",
    "l2 l2_hit_rate [%] = 100 * l2_sector_hits / (l2_sector_hits + l2_sector_misses): hit rate of "
    "L2 by sectors",
    "l2 l2_request_hits [requests] = lts__t_requests_lookup_hit.sum: requests found in L2",
    "l2 l2_request_misses [requests] = lts__t_requests_lookup_miss.sum: requests not found in L2",
    "l2 l2_request_hit_rate [%] = 100 * l2_request_hits / (l2_request_hits + l2_request_misses): "
    "hit rate of L2 by requests: coarser than by sectors, but in one pass",
    "l2 l2_cycles [cycles] = lts__cycles_elapsed.avg: cycles of the L2 clock while the range ran",
    "l2 l2_peak_bytes_per_cycle [B/cycle] = lts__t_bytes.sum.peak_sustained: what L2 can move in "
    "a cycle",
    "l2 l2_peak_bytes_per_second [B/s] = 1e9 * l2_cycles / time_ns * l2_peak_bytes_per_cycle: "
    "roof of L2",

    "l1 l1_bytes [B] = l1tex__t_bytes.sum: bytes requested from L1",
    "l1 l1_sectors [sectors] = l1tex__t_sectors.sum: sectors of 32 B requested from L1; TMA "
    "copies pass it by",
    "l1 l1_hit_sectors [sectors] = l1tex__t_sectors_lookup_hit.sum: sectors found in L1",
    "l1 l1_hit_rate [%] = 100 * l1_hit_sectors / l1_sectors: hit rate of L1 by sectors",
    "l1 l1_global_load_sectors [sectors] = l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum: "
    "sectors of global loads",
    "l1 l1_global_store_sectors [sectors] = l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum: "
    "sectors of global stores",
    "l1 l1_global_load_requests [requests] = l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum: "
    "warp-wide global loads",
    "l1 l1_global_store_requests [requests] = l1tex__t_requests_pipe_lsu_mem_global_op_st.sum: "
    "warp-wide global stores",
    "l1 l1_sectors_per_load [sectors] = l1_global_load_sectors / l1_global_load_requests: sectors "
    "a global load touches: 4 for coalesced 4-byte loads",
    "l1 l1_sectors_per_store [sectors] = l1_global_store_sectors / l1_global_store_requests: "
    "sectors a global store touches: 4 for coalesced 4-byte stores",
    "l1 l1_local_load_sectors [sectors] = l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum: sectors "
    "of local loads: spilled registers",
    "l1 l1_local_store_sectors [sectors] = l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum: sectors "
    "of local stores: spilled registers",
    "l1 l1_from_l2_bytes [B] = l1tex__m_xbar2l1tex_read_bytes.sum: bytes that L1 received from L2",
    "l1 shared_wavefronts [wavefronts] = l1tex__data_pipe_lsu_wavefronts_mem_shared.sum: "
    "wavefronts of shared-memory accesses",
    "l1 shared_bank_conflicts [conflicts] = "
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum + "
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum: bank conflicts of loads from and "
    "stores to shared memory",
    "l1 l1_data_bytes [B] = 128 * l1tex__data_pipe_lsu_wavefronts.sum: what L1 moved for global, "
    "local and shared memory, in turns of 128 B that strides leave part empty",
    "l1 l1_peak_bytes_per_cycle [B/cycle] = 128 * "
    "l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained: what all L1s can move in a cycle",
    "l1 l1_peak_bytes_per_second [B/s] = 1e9 * sm_cycles / time_ns * l1_peak_bytes_per_cycle: "
    "roof of L1",

    "sm sm_active_cycles [cycles] = sm__cycles_active.sum: cycles with a warp in the SM, all SMs",
    "sm sm_active_cycles_max [cycles] = sm__cycles_active.max: cycles with a warp in the SM that "
    "has the most of them",
    "sm warps_active [warp cycles] = sm__warps_active.sum: warps in flight, summed over cycles "
    "and SMs",
    "sm warps_per_sm [warps] = sm__warps_active.avg.peak_sustained: warps that fit into an SM",
    "sm achieved_occupancy [%] = 100 * warps_active / sm_active_cycles / warps_per_sm: warps in "
    "flight in active SMs, of those that fit",
    "sm warps_eligible [warp cycles] = smsp__warps_eligible.sum: warps that could issue, summed "
    "over cycles and schedulers",
    "sm scheduler_cycles [cycles] = smsp__cycles_active.sum: cycles with a warp in the scheduler, "
    "all schedulers",
    "sm issue_cycles [cycles] = smsp__issue_active.sum: cycles in which a scheduler issued",
    "sm issue_rate [%] = 100 * issue_cycles / scheduler_cycles: active scheduler cycles with an "
    "instruction issued",
    "sm eligible_warps [warps] = warps_eligible / scheduler_cycles: warps that could issue, in an "
    "active scheduler cycle",
    "sm instructions_executed [instructions] = smsp__inst_executed.sum: warp instructions",
    "sm instructions_per_cycle [instructions] = instructions_executed / sm_active_cycles: warp "
    "instructions in an active SM cycle",
    "sm alu_instructions [instructions] = sm__inst_executed_pipe_alu.sum: warp instructions of "
    "the integer and logic pipe",
    "sm fma_instructions [instructions] = sm__inst_executed_pipe_fma.sum: warp instructions of "
    "the FP32 pipe",
    "sm fp64_instructions [instructions] = sm__inst_executed_pipe_fp64.sum: warp instructions of "
    "the FP64 pipe",
    "sm lsu_instructions [instructions] = sm__inst_executed_pipe_lsu.sum: warp instructions of "
    "the load and store pipe",
    "sm xu_instructions [instructions] = sm__inst_executed_pipe_xu.sum: warp instructions of the "
    "pipe for exp, sin, conversions",
    "sm tensor_instructions [instructions] = sm__inst_executed_pipe_tensor.sum: warp instructions "
    "of the tensor cores",

    "sm warp_instructions [instructions] = smsp__sass_inst_executed.sum: instructions of warps, "
    "exact",
    "sm thread_instructions [instructions] = smsp__sass_thread_inst_executed.sum: instructions of "
    "threads that had not left the branch",
    "sm predicated_on_instructions [instructions] = smsp__sass_thread_inst_executed_pred_on.sum: "
    "instructions of threads whose predicate let them work",
    "sm threads_per_instruction [threads] = predicated_on_instructions / warp_instructions: "
    "threads of a warp that work in a mean instruction: 32 without branches",
    "sm integer_instructions [instructions] = "
    "smsp__sass_thread_inst_executed_op_integer_pred_on.sum: integer instructions of threads",
    "sm conversion_instructions [instructions] = "
    "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum: conversions between formats, of "
    "threads",
    "sm global_load_instructions [instructions] = smsp__sass_inst_executed_op_global_ld.sum: "
    "warp-wide global loads, exact",
    "sm global_store_instructions [instructions] = smsp__sass_inst_executed_op_global_st.sum: "
    "warp-wide global stores, exact",
    "sm shared_load_instructions [instructions] = smsp__sass_inst_executed_op_shared_ld.sum: "
    "warp-wide shared loads, exact",
    "sm shared_store_instructions [instructions] = smsp__sass_inst_executed_op_shared_st.sum: "
    "warp-wide shared stores, exact",
    "sm local_load_instructions [instructions] = smsp__sass_inst_executed_op_local_ld.sum: "
    "warp-wide local loads, exact",
    "sm local_store_instructions [instructions] = smsp__sass_inst_executed_op_local_st.sum: "
    "warp-wide local stores, exact",
    "sm global_load_bytes [B] = smsp__sass_data_bytes_mem_global_op_ld.sum + "
    "smsp__sass_data_bytes_mem_global_op_ldgsts.sum | smsp__sass_data_bytes_mem_global_op_ld.sum: "
    "bytes that threads asked global loads for, copies to shared memory (cp.async) among them",
    "sm global_store_bytes [B] = smsp__sass_data_bytes_mem_global_op_st.sum: bytes that threads "
    "gave to global stores",
    "sm shared_load_bytes [B] = smsp__sass_data_bytes_mem_shared_op_ld.sum: bytes that threads "
    "asked shared loads for",
    "sm shared_store_bytes [B] = smsp__sass_data_bytes_mem_shared_op_st.sum: bytes that threads "
    "gave to shared stores",

    "sm fadd [instructions] = smsp__sass_thread_inst_executed_op_fadd_pred_on.sum: FP32 additions "
    "of threads",
    "sm fmul [instructions] = smsp__sass_thread_inst_executed_op_fmul_pred_on.sum: FP32 "
    "multiplications of threads",
    "sm ffma [instructions] = smsp__sass_thread_inst_executed_op_ffma_pred_on.sum: FP32 fused "
    "multiply-adds of threads",
    "sm dadd [instructions] = smsp__sass_thread_inst_executed_op_dadd_pred_on.sum: FP64 additions "
    "of threads",
    "sm dmul [instructions] = smsp__sass_thread_inst_executed_op_dmul_pred_on.sum: FP64 "
    "multiplications of threads",
    "sm dfma [instructions] = smsp__sass_thread_inst_executed_op_dfma_pred_on.sum: FP64 fused "
    "multiply-adds of threads",
    "sm hadd [instructions] = smsp__sass_thread_inst_executed_op_hadd_pred_on.sum: packed half "
    "additions of threads",
    "sm hmul [instructions] = smsp__sass_thread_inst_executed_op_hmul_pred_on.sum: packed half "
    "multiplications",
    "sm hfma [instructions] = smsp__sass_thread_inst_executed_op_hfma_pred_on.sum: packed half "
    "fused multiply-adds",
    "sm fadd2 [instructions] = smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum: FP32 "
    "additions of two values, of threads",
    "sm fmul2 [instructions] = smsp__sass_thread_inst_executed_op_fmul2_pred_on.sum: FP32 "
    "multiplications of two values, of threads",
    "sm ffma2 [instructions] = smsp__sass_thread_inst_executed_op_ffma2_pred_on.sum: FP32 fused "
    "multiply-adds of two values, of threads",
    "sm ufadd [instructions] = smsp__sass_thread_inst_executed_op_ufadd_pred_on.sum: FP32 "
    "additions of the uniform pipe",
    "sm ufmul [instructions] = smsp__sass_thread_inst_executed_op_ufmul_pred_on.sum: FP32 "
    "multiplications of the uniform pipe",
    "sm uffma [instructions] = smsp__sass_thread_inst_executed_op_uffma_pred_on.sum: FP32 fused "
    "multiply-adds of the uniform pipe",
    "sm flop_fp32 [FLOP] = fadd + fmul + 2 * ffma + 2 * ?fadd2 + 2 * ?fmul2 + 4 * ?ffma2 + ?ufadd "
    "+ ?ufmul + 2 * ?uffma: FP32, without tensor cores, packed and uniform instructions with it",
    "sm flop_fp64 [FLOP] = dadd + dmul + 2 * dfma: FP64, without tensor cores",
    "sm flop_fp16 [FLOP] = 2 * hadd + 2 * hmul + 4 * hfma: half precision, without tensor cores; "
    "an instruction works on two values",
    "sm flop_fp8 [FLOP] = 4 * smsp__sass_thread_inst_executed_op_qadd4_pred_on.sum + 4 * "
    "smsp__sass_thread_inst_executed_op_qmul4_pred_on.sum + 8 * "
    "smsp__sass_thread_inst_executed_op_qfma4_pred_on.sum: FP8, without tensor cores; an "
    "instruction works on four values",
    "sm flop [FLOP] = flop_fp32 + flop_fp64 + flop_fp16 + ?flop_fp8: floating-point operations "
    "without tensor cores",

    "sm tensor_active_cycles [cycles] = sm__pipe_tensor_cycles_active.sum: cycles in which tensor "
    "cores worked, all that CUPTI counts apart in all SMs",
    "sm tensor_cycles_per_sm [cycles/cycle] = sm__pipe_tensor_cycles_active.avg.peak_sustained: "
    "the most of tensor_active_cycles that an SM counts in a cycle",
    "sm tensor_active_rate [%] = 100 * tensor_active_cycles / sm_active_cycles / "
    "tensor_cycles_per_sm: active SM cycles in which tensor cores worked, of all their cycles",
    "sm tensor_fp16 [FLOP] = sm__ops_path_tensor_src_fp16.sum | "
    "sm__ops_path_tensor_src_fp16_dst_fp16.sum + sm__ops_path_tensor_src_fp16_dst_fp32.sum | "
    "sm__ops_path_tensor_src_fp16_dst_fp16.sum + "
    "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum: tensor-core operations on FP16",
    "sm tensor_fp16_fp16 [FLOP] = sm__ops_path_tensor_src_fp16_dst_fp16.sum: of tensor_fp16, "
    "those with sums in FP16",
    "sm tensor_bf16 [FLOP] = sm__ops_path_tensor_src_bf16_dst_fp32.sum: tensor-core operations on "
    "BF16",
    "sm tensor_tf32 [FLOP] = sm__ops_path_tensor_src_tf32_dst_fp32.sum: tensor-core operations on "
    "TF32",
    "sm tensor_fp8 [FLOP] = sm__ops_path_tensor_src_fp8.sum | "
    "sm__ops_path_tensor_src_fp8_dst_fp16.sum + sm__ops_path_tensor_src_fp8_dst_fp32.sum + "
    "?sm__ops_path_tensor_src_fp4_fp6_dst_fp16.sum + "
    "?sm__ops_path_tensor_src_fp4_fp6_dst_fp32.sum | "
    "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum + "
    "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum: tensor-core operations on FP8; on "
    "Blackwell and Rubin also on FP6, and FP4 at the speed of FP8",
    "sm tensor_fp8_fp16 [FLOP] = sm__ops_path_tensor_src_fp8_dst_fp16.sum + "
    "?sm__ops_path_tensor_src_fp4_fp6_dst_fp16.sum | "
    "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum: of tensor_fp8, those with sums in FP16",
    "sm tensor_fp4 [FLOP] = sm__ops_path_tensor_src_fp4_dst_fp32.sum: tensor-core operations on "
    "FP4 at its own speed",
    "sm tensor_fp64 [FLOP] = sm__ops_path_tensor_src_fp64.sum: tensor-core operations on FP64",
    "sm tensor_int8 [OP] = sm__ops_path_tensor_src_int8.sum: tensor-core operations on INT8",
    "sm tensor_flop [FLOP] = ?tensor_fp16 + ?tensor_bf16 + ?tensor_tf32 + ?tensor_fp8 + "
    "?tensor_fp4: tensor-core operations on the formats of language models",

    "sm fp32_peak_per_cycle [FLOP/cycle] = 2 * "
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained: FP32 in a cycle",
    "sm fp32_peak_per_second [FLOP/s] = 1e9 * sm_cycles / time_ns * fp32_peak_per_cycle: roof of "
    "FP32 without tensor cores",
    "sm fp64_peak_per_cycle [FLOP/cycle] = 2 * "
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained: FP64 in a cycle",
    "sm fp64_peak_per_second [FLOP/s] = 1e9 * sm_cycles / time_ns * fp64_peak_per_cycle: roof of "
    "FP64 without tensor cores",
    "sm fp16_peak_per_cycle [FLOP/cycle] = 4 * "
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained: FP16 in a cycle",
    "sm fp16_peak_per_second [FLOP/s] = 1e9 * sm_cycles / time_ns * fp16_peak_per_cycle: roof of "
    "FP16 without tensor cores",
    "sm tensor_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utchmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum.peak_sustained: dense BF16 (TU102: FP16) "
    "of the tensor cores in a cycle",
    "sm tensor_fp16_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utchmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum.peak_sustained: dense FP16 of the tensor "
    "cores in a cycle",
    "sm tensor_fp16_fp16_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp16_dst_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utchmma_src_fp16_dst_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_src_fp16_dst_fp16.sum.peak_sustained + 0 * "
    "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum.peak_sustained: dense FP16 with sums in "
    "FP16 of the tensor cores in a cycle",
    "sm tensor_tf32_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utchmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained: dense TF32 of "
    "the tensor cores in a cycle",
    "sm tensor_fp8_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp8_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_src_fp8_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcqmma_src_fp8_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off.sum.peak_sustained: "
    "dense FP8 of the tensor cores in a cycle",
    "sm tensor_fp8_fp16_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp8_dst_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcqmma_src_fp8_dst_fp16_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcqmma_src_fp4_fp6_fp8_dst_fp16_sparsity_off.sum.peak_sustained: "
    "dense FP8 with sums in FP16 of the tensor cores in a cycle",
    "sm tensor_fp4_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp4_dst_fp32_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcomma_src_fp4_dst_fp32_sparsity_off.sum.peak_sustained: dense FP4 "
    "of the tensor cores in a cycle",
    "sm tensor_int8_peak_per_cycle [OP/cycle] = "
    "sm__ops_path_tensor_src_int8_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_igmma_src_int8_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_utcimma_src_int8_sparsity_off.sum.peak_sustained | "
    "sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum.peak_sustained: dense INT8 of the "
    "tensor cores in a cycle",
    "sm tensor_fp64_peak_per_cycle [FLOP/cycle] = "
    "sm__ops_path_tensor_src_fp64.sum.peak_sustained: FP64 of the tensor cores in a cycle, which "
    "have no sparsity for it",
    "sm tensor_peak_per_second [FLOP/s] = 1e9 * sm_cycles / time_ns * tensor_peak_per_cycle: roof "
    "of dense BF16 in tensor cores",

    STRATA_DETAIL_UNIT("tensor", "sm__pipe_tensor_cycles_active",
                       "the tensor cores, whatever the format"),
    "sm fma_ns [ns] = max(sm__pipe_fma_cycles_active.sum / "
    "sm__pipe_fma_cycles_active.sum.peak_sustained, max(?sm__pipe_fmaheavy_cycles_active.sum / "
    "?sm__pipe_fmaheavy_cycles_active.sum.peak_sustained, ?sm__inst_executed_pipe_fp16.sum / "
    "?sm__inst_executed_pipe_fp16.sum.peak_sustained)) * time_ns / sm_cycles: time at peak of the "
    "pipe of FP32 and integer multiply-adds, or of FP16's where that is one of its own",
    "sm alu_ns [ns] = max(sm__pipe_alu_cycles_active.sum / "
    "sm__pipe_alu_cycles_active.sum.peak_sustained, ?sm__pipe_aluheavy_cycles_active.sum / "
    "?sm__pipe_aluheavy_cycles_active.sum.peak_sustained) * time_ns / sm_cycles: time at peak of "
    "the pipe of integers, logic and comparisons",
    STRATA_DETAIL_UNIT("fp64", "sm__pipe_fp64_cycles_active", "the FP64 pipe"),
    "sm xu_ns [ns] = max(sm__inst_executed_pipe_xu.sum / "
    "sm__inst_executed_pipe_xu.sum.peak_sustained, ?sm__pipe_xu_cycles_active.sum / "
    "?sm__pipe_xu_cycles_active.sum.peak_sustained) * time_ns / sm_cycles: time at peak of the "
    "pipe of exp, sin, reciprocals and conversions",
    STRATA_DETAIL_UNIT("adu", "sm__inst_executed_pipe_adu",
                       "the pipe of barriers, votes and addresses of constants"),
    STRATA_DETAIL_UNIT("tma", "sm__pipe_tma_cycles_active", "the pipe of TMA, which copies tiles"),
    "sm tmem_ns [ns] = max(sm__mem_tensor_cycles_active.sum / "
    "sm__mem_tensor_cycles_active.sum.peak_sustained, max(sm__pipe_tc_cycles_active.sum / "
    "sm__pipe_tc_cycles_active.sum.peak_sustained, ?sm__pipe_tmem_cycles_active.sum / "
    "?sm__pipe_tmem_cycles_active.sum.peak_sustained)) * time_ns / sm_cycles: time at peak of "
    "tensor memory, or of the pipes of its instructions",
    STRATA_DETAIL_UNIT("lsu", "sm__inst_executed_pipe_lsu", "the load and store pipe"),
    STRATA_DETAIL_UNIT("issue", "sm__inst_issued", "the issue slots of the schedulers"),
    STRATA_DETAIL_UNIT("shared", "l1tex__data_pipe_lsu_wavefronts_mem_shared",
                       "L1's data path, for shared memory alone"),
    "l1 l1_ns [ns] = max(l1tex__data_pipe_lsu_wavefronts.sum / "
    "l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained, "
    "max(l1tex__m_l1tex2xbar_req_cycles_active.sum / "
    "l1tex__m_l1tex2xbar_req_cycles_active.sum.peak_sustained, "
    "?l1tex__data_pipe_tc_wavefronts.sum / ?l1tex__data_pipe_tc_wavefronts.sum.peak_sustained)) * "
    "time_ns / sm_cycles: time at peak of L1: its data path, shared memory and tensor cores with "
    "it, or its requests to L2",
    "l2 l2_ns [ns] = max(lts__t_sectors.sum / lts__t_sectors.sum.peak_sustained, "
    "max(lts__t_tag_requests.sum / lts__t_tag_requests.sum.peak_sustained, "
    "lts__xbar2lts_cycles_active.sum / lts__xbar2lts_cycles_active.sum.peak_sustained)) * time_ns "
    "/ l2_cycles: time at peak of L2: its sectors, its tags, or what comes to it",
    "hbm hbm_ns [ns] = hbm_bytes / hbm_peak_bytes_per_cycle * time_ns / hbm_cycles: time at peak "
    "of device memory",

    "sm scheduler_warps [warp cycles] = smsp__warps_active.sum: warps in flight, summed over "
    "cycles and schedulers",
    STRATA_DETAIL_STALL("long_scoreboard", "wait for L1, L2 or device memory"),
    STRATA_DETAIL_STALL("short_scoreboard", "wait for shared memory or the special-function pipe"),
    STRATA_DETAIL_STALL("barrier", "wait at a block barrier"),
    STRATA_DETAIL_STALL("membar", "wait at a memory fence"),
    STRATA_DETAIL_STALL("wait", "wait out a fixed latency"),
    STRATA_DETAIL_STALL("math_pipe_throttle", "wait for a busy arithmetic pipe"),
    STRATA_DETAIL_STALL("lg_throttle", "wait for the queue of global and local accesses"),
    STRATA_DETAIL_STALL("mio_throttle",
                        "wait for the queue of shared-memory and special instructions"),
    STRATA_DETAIL_STALL("tex_throttle", "wait for the queue of L1 and texture"),
    STRATA_DETAIL_STALL("gmma", "wait for warpgroup matrix instructions (GH100)"),
    STRATA_DETAIL_STALL("no_instruction", "wait for instructions to be fetched"),
    STRATA_DETAIL_STALL("imc_miss", "wait for constants to be fetched"),
    STRATA_DETAIL_STALL("branch_resolving", "wait for the target of a branch"),
    STRATA_DETAIL_STALL("dispatch_stall", "wait for the dispatcher, which holds instructions back"),
    STRATA_DETAIL_STALL("sleeping", "sleep by their own instruction"),
    STRATA_DETAIL_STALL("drain", "have ended but wait for their stores"),
    STRATA_DETAIL_STALL("misc", "wait for something that has no name"),
    STRATA_DETAIL_STALL("not_selected", "could issue, but another was chosen"),
    STRATA_DETAIL_STALL("selected", "issue"),

    "link pcie_read_bytes [B] = pcie__read_bytes.sum: bytes read over PCIe",
    "link pcie_write_bytes [B] = pcie__write_bytes.sum: bytes written over PCIe",
    "link nvlink_receive_bytes [B] = nvlrx__bytes.sum: bytes received over NVLink",
    "link nvlink_transmit_bytes [B] = nvltx__bytes.sum: bytes sent over NVLink",
    "link pcie_clock_hertz [Hz] = pcie__cycles_elapsed.avg.per_second: clock of PCIe",
    "link pcie_ns [ns] = 1e9 * max(pcie__read_bytes.sum / pcie__read_bytes.sum.peak_sustained, "
    "pcie__write_bytes.sum / pcie__write_bytes.sum.peak_sustained) / pcie_clock_hertz: time at "
    "peak of PCIe, in the busier direction",
    "link nvlink_clock_hertz [Hz] = nvlrx__cycles_elapsed.avg.per_second: clock of NVLink",
    "link nvlink_ns [ns] = 1e9 * max(nvlrx__bytes.sum / nvlrx__bytes.sum.peak_sustained, "
    "nvltx__bytes.sum / nvltx__bytes.sum.peak_sustained) / nvlink_clock_hertz: time at peak of "
    "NVLink, in the busier direction",
    "link c2c_receive_bytes [B] = ctc__rx_bytes.sum | ctc__rx_bytes_data_user.sum: bytes received "
    "over NVLink-C2C",
    "link c2c_transmit_bytes [B] = ctc__tx_bytes.sum | ctc__tx_bytes_data_user.sum: bytes sent "
    "over NVLink-C2C",
};

#undef STRATA_DETAIL_STALL
#undef STRATA_DETAIL_UNIT

inline constexpr metric_preset metric_catalogue::presets[] = {
    {"hbm", "traffic of device memory and L2",
     "time_ns hbm_read_bytes hbm_write_bytes hbm_bytes l2_bytes l2_sectors l2_read_sectors "
     "l2_write_sectors l2_from_sm_sectors"},
    {"l1", "traffic and hits of L1, tensor instructions, occupancy",
     "l1_bytes l1_sectors l1_hit_sectors l1_hit_rate l1_global_load_sectors "
     "l1_global_store_sectors tensor_instructions achieved_occupancy"},
    {"memory", "the whole hierarchy", "hbm l1"},
    {"l2hit", "hit rate of L2 by sectors", "l2_hit_rate"},
    {"flops", "floating-point operations outside tensor cores, exact",
     "fadd fmul ffma dadd dmul dfma hadd hmul hfma flop_fp32 flop_fp64 flop_fp16 flop"},
    {"tensor", "work of the tensor cores by format",
     "tensor_instructions tensor_active_rate tensor_fp16 tensor_fp16_fp16 tensor_bf16 tensor_tf32 "
     "tensor_fp8 tensor_fp8_fp16 tensor_fp4 tensor_flop tensor_peak_per_cycle "
     "tensor_fp16_peak_per_cycle tensor_fp16_fp16_peak_per_cycle tensor_tf32_peak_per_cycle "
     "tensor_fp8_peak_per_cycle tensor_fp8_fp16_peak_per_cycle tensor_fp4_peak_per_cycle"},
    {"roofline", "bytes at each level and all roofs; the work comes from flops, tensor or code",
     "time_ns hbm_bytes l2_bytes l1_bytes l1_data_bytes hbm_peak_bytes_per_second "
     "l2_peak_bytes_per_second l1_peak_bytes_per_second fp32_peak_per_second fp64_peak_per_second "
     "fp16_peak_per_second tensor_peak_per_second tensor_fp16_peak_per_cycle "
     "tensor_fp16_fp16_peak_per_cycle tensor_tf32_peak_per_cycle tensor_fp8_peak_per_cycle "
     "tensor_fp8_fp16_peak_per_cycle tensor_fp4_peak_per_cycle tensor_int8_peak_per_cycle "
     "tensor_fp64_peak_per_cycle"},
    {"instructions", "loads and stores with their bytes, exact; instructions by pipe",
     "global_load_instructions global_store_instructions shared_load_instructions "
     "shared_store_instructions local_load_instructions local_store_instructions "
     "global_load_bytes global_store_bytes shared_load_bytes shared_store_bytes "
     "instructions_executed alu_instructions fma_instructions lsu_instructions "
     "tensor_instructions"},
    {"stalls", "what warps wait for",
     "stall_long_scoreboard_share stall_short_scoreboard_share stall_barrier_share "
     "stall_membar_share stall_wait_share stall_math_pipe_throttle_share stall_lg_throttle_share "
     "stall_mio_throttle_share stall_tex_throttle_share stall_gmma_share "
     "stall_no_instruction_share stall_imc_miss_share stall_branch_resolving_share "
     "stall_dispatch_stall_share stall_sleeping_share stall_drain_share stall_misc_share "
     "stall_not_selected_share stall_selected_share"},
    {"occupancy", "warps in flight, issue rate, instructions a cycle",
     "achieved_occupancy issue_rate eligible_warps instructions_per_cycle"},
    {"limits", "how near each unit is to its peak, as Nsight Compute's speed of light",
     "time_ns hbm_bytes l2_bytes l1_data_bytes hbm_peak_bytes_per_second l2_peak_bytes_per_second "
     "l1_peak_bytes_per_second tensor_ns tmem_ns tma_ns fma_ns alu_ns fp64_ns xu_ns adu_ns lsu_ns "
     "issue_ns shared_ns l1_ns l2_ns hbm_ns"},
    {"findings", "what the rules of findings.json look at",
     "limits hbm_read_bytes hbm_write_bytes l2_sectors l2_atomic_sectors l1_sectors "
     "l1_global_load_sectors l1_global_store_sectors l1_local_load_sectors l1_local_store_sectors "
     "global_load_bytes global_store_bytes shared_wavefronts shared_bank_conflicts "
     "shared_load_bytes shared_store_bytes sm_active_cycles sm_active_cycles_max "
     "l2_slice_sectors_max l2_slice_sectors_mean hbm_channel_bytes_max hbm_channel_bytes_mean "
     "l2_host_sectors tensor_active_cycles achieved_occupancy lsu_instructions xu_instructions "
     "warp_instructions thread_instructions predicated_on_instructions integer_instructions "
     "conversion_instructions fp64_peak_per_cycle stall_long_scoreboard_share "
     "stall_short_scoreboard_share stall_barrier_share stall_wait_share "
     "stall_no_instruction_share stall_imc_miss_share fadd fmul ffma dadd dmul dfma hfma "
     "flop_fp32 flop_fp64 flop_fp16 flop tensor_bf16 tensor_fp16 tensor_fp16_fp16 tensor_tf32 "
     "tensor_fp8 tensor_fp8_fp16 tensor_fp4 tensor_int8 tensor_fp64 tensor_flop "
     "fp32_peak_per_second fp64_peak_per_second fp16_peak_per_second tensor_peak_per_second "
     "tensor_fp16_peak_per_cycle tensor_fp16_fp16_peak_per_cycle tensor_tf32_peak_per_cycle "
     "tensor_fp8_peak_per_cycle tensor_fp8_fp16_peak_per_cycle tensor_fp4_peak_per_cycle "
     "tensor_int8_peak_per_cycle tensor_fp64_peak_per_cycle"},
    {"links", "PCIe, NVLink and NVLink-C2C; cannot be counted together with anything else",
     "pcie_read_bytes pcie_write_bytes pcie_ns nvlink_receive_bytes nvlink_transmit_bytes "
     "nvlink_ns c2c_receive_bytes c2c_transmit_bytes"},
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_METRIC_CATALOGUE_HPP
