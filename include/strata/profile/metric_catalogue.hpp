#include <strata/version.hpp>
#ifndef STRATA_PROFILE_METRIC_CATALOGUE_HPP
#define STRATA_PROFILE_METRIC_CATALOGUE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric_set.hpp>

#include <cstdint>
#include <string>
#include <string_view>

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

// Names differ between chips: GB202 counts DRAM bytes by `_op_`; integrated chips have no DRAM
// counters, so L2's system-memory sectors (32 B) stand in; TU102's tensor path is one for all
// formats with FP32 sums; GH100 has one for FP16 whatever the sum. Peaks are CUPTI's
// `.peak_sustained`, in units a cycle of the clock beside them. SASS counters are exact, but they
// run instrumented code in a pass of their own.
struct metric_catalogue {
  using lv = metric_level;
  using by = metric_combine;
  static const metric entries[];
  static const metric_preset presets[];
  static const perf_event events[];
  static const metric cpu[];
  static const metric rates[];
};

#define STRATA_DETAIL_STALL(NAME, MEANING)                                                         \
  {"stall_" NAME,        "warp cycles", lv::sm, by::sum, "smsp__warps_issue_stalled_" NAME ".sum", \
   "warps that " MEANING},                                                                         \
  {                                                                                                \
    "stall_" NAME "_share", "%", lv::sm, by::ratio, "100 * stall_" NAME " / scheduler_warps",      \
        "share of warps that " MEANING                                                             \
  }

inline constexpr metric metric_catalogue::entries[] = {
    {"time_ns", "ns", lv::device, by::sum, "gpu__time_duration.sum",
     "GPU time of the counted range; counting makes it longer than it is in a timed step"},
    {"sm_cycles", "cycles", lv::sm, by::sum, "gpc__cycles_elapsed.avg | sm__cycles_elapsed.avg",
     "cycles of the SM clock while the range ran; read beside the SMs, so it is cheap"},

    {"hbm_read_bytes", "B", lv::hbm, by::sum,
     "dram__bytes_read.sum | dram__bytes_op_read.sum | fbpa__dram_read_bytes.sum | "
     "32 * lts__t_sectors_aperture_sysmem_op_read.sum",
     "bytes read from device memory"},
    {"hbm_write_bytes", "B", lv::hbm, by::sum,
     "dram__bytes_write.sum | dram__bytes_op_write.sum | fbpa__dram_write_bytes.sum | "
     "32 * lts__t_sectors_aperture_sysmem_op_write.sum",
     "bytes written to device memory"},
    {"hbm_bytes", "B", lv::hbm, by::sum, "hbm_read_bytes + hbm_write_bytes",
     "bytes moved to and from device memory"},
    {"hbm_cycles", "cycles", lv::hbm, by::sum, "dram__cycles_elapsed.avg",
     "cycles of the memory clock while the range ran"},
    {"hbm_peak_bytes_per_cycle", "B/cycle", lv::hbm, by::maximum, "dram__bytes.sum.peak_sustained",
     "what device memory can move in a cycle"},
    {"hbm_peak_bytes_per_second", "B/s", lv::hbm, by::ratio,
     "1e9 * hbm_cycles / time_ns * hbm_peak_bytes_per_cycle", "roof of device memory"},

    {"l2_bytes", "B", lv::l2, by::sum, "lts__t_bytes.sum", "bytes requested from L2 by all units"},
    {"l2_sectors", "sectors", lv::l2, by::sum, "lts__t_sectors.sum",
     "sectors of 32 B requested from L2"},
    {"l2_read_sectors", "sectors", lv::l2, by::sum, "lts__t_sectors_op_read.sum",
     "sectors read from L2"},
    {"l2_write_sectors", "sectors", lv::l2, by::sum, "lts__t_sectors_op_write.sum",
     "sectors written to L2"},
    {"l2_atomic_sectors", "sectors", lv::l2, by::sum,
     "lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum",
     "sectors of atomics and reductions in L2"},
    {"l2_from_sm_sectors", "sectors", lv::l2, by::sum, "lts__t_sectors_srcunit_tex.sum",
     "sectors that the SMs requested from L2"},
    {"l2_sector_hits", "sectors", lv::l2, by::sum, "lts__t_sectors_lookup_hit.sum",
     "sectors found in L2"},
    {"l2_sector_misses", "sectors", lv::l2, by::sum, "lts__t_sectors_lookup_miss.sum",
     "sectors not found in L2; no pass counts them together with the hits"},
    {"l2_hit_rate", "%", lv::l2, by::ratio,
     "100 * l2_sector_hits / (l2_sector_hits + l2_sector_misses)", "hit rate of L2 by sectors"},
    {"l2_request_hits", "requests", lv::l2, by::sum, "lts__t_requests_lookup_hit.sum",
     "requests found in L2"},
    {"l2_request_misses", "requests", lv::l2, by::sum, "lts__t_requests_lookup_miss.sum",
     "requests not found in L2"},
    {"l2_request_hit_rate", "%", lv::l2, by::ratio,
     "100 * l2_request_hits / (l2_request_hits + l2_request_misses)",
     "hit rate of L2 by requests: coarser than by sectors, but in one pass"},
    {"l2_cycles", "cycles", lv::l2, by::sum, "lts__cycles_elapsed.avg",
     "cycles of the L2 clock while the range ran"},
    {"l2_peak_bytes_per_cycle", "B/cycle", lv::l2, by::maximum, "lts__t_bytes.sum.peak_sustained",
     "what L2 can move in a cycle"},
    {"l2_peak_bytes_per_second", "B/s", lv::l2, by::ratio,
     "1e9 * l2_cycles / time_ns * l2_peak_bytes_per_cycle", "roof of L2"},

    {"l1_bytes", "B", lv::l1, by::sum, "l1tex__t_bytes.sum", "bytes requested from L1"},
    {"l1_sectors", "sectors", lv::l1, by::sum, "l1tex__t_sectors.sum",
     "sectors of 32 B requested from L1; TMA copies pass it by"},
    {"l1_hit_sectors", "sectors", lv::l1, by::sum, "l1tex__t_sectors_lookup_hit.sum",
     "sectors found in L1"},
    {"l1_hit_rate", "%", lv::l1, by::ratio, "100 * l1_hit_sectors / l1_sectors",
     "hit rate of L1 by sectors"},
    {"l1_global_load_sectors", "sectors", lv::l1, by::sum,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors of global loads"},
    {"l1_global_store_sectors", "sectors", lv::l1, by::sum,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors of global stores"},
    {"l1_global_load_requests", "requests", lv::l1, by::sum,
     "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "warp-wide global loads"},
    {"l1_global_store_requests", "requests", lv::l1, by::sum,
     "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "warp-wide global stores"},
    {"l1_sectors_per_load", "sectors", lv::l1, by::ratio,
     "l1_global_load_sectors / l1_global_load_requests",
     "sectors a global load touches: 4 for coalesced 4-byte loads"},
    {"l1_sectors_per_store", "sectors", lv::l1, by::ratio,
     "l1_global_store_sectors / l1_global_store_requests",
     "sectors a global store touches: 4 for coalesced 4-byte stores"},
    {"l1_local_load_sectors", "sectors", lv::l1, by::sum,
     "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sectors of local loads: spilled registers"},
    {"l1_local_store_sectors", "sectors", lv::l1, by::sum,
     "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "sectors of local stores: spilled registers"},
    {"l1_from_l2_bytes", "B", lv::l1, by::sum, "l1tex__m_xbar2l1tex_read_bytes.sum",
     "bytes that L1 received from L2"},
    {"shared_wavefronts", "wavefronts", lv::l1, by::sum,
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "wavefronts of shared-memory accesses"},
    {"shared_bank_conflicts", "conflicts", lv::l1, by::sum,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank conflicts in shared memory"},
    {"l1_data_bytes", "B", lv::l1, by::sum,
     "128 * l1tex__data_pipe_lsu_wavefronts_mem_lg.sum | "
     "128 * l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum",
     "what L1 moved for global and local memory, in turns of 128 B that strides leave part empty"},
    {"l1_peak_bytes_per_cycle", "B/cycle", lv::l1, by::maximum,
     "128 * l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained",
     "what all L1s can move in a cycle"},
    {"l1_peak_bytes_per_second", "B/s", lv::l1, by::ratio,
     "1e9 * sm_cycles / time_ns * l1_peak_bytes_per_cycle", "roof of L1"},

    {"sm_active_cycles", "cycles", lv::sm, by::sum, "sm__cycles_active.sum",
     "cycles with a warp in the SM, all SMs"},
    {"warps_active", "warp cycles", lv::sm, by::sum, "sm__warps_active.sum",
     "warps in flight, summed over cycles and SMs"},
    {"warps_per_sm", "warps", lv::sm, by::maximum, "sm__warps_active.avg.peak_sustained",
     "warps that fit into an SM"},
    {"achieved_occupancy", "%", lv::sm, by::ratio,
     "100 * warps_active / sm_active_cycles / warps_per_sm",
     "warps in flight in active SMs, of those that fit"},
    {"warps_eligible", "warp cycles", lv::sm, by::sum, "smsp__warps_eligible.sum",
     "warps that could issue, summed over cycles and schedulers"},
    {"scheduler_cycles", "cycles", lv::sm, by::sum, "smsp__cycles_active.sum",
     "cycles with a warp in the scheduler, all schedulers"},
    {"issue_cycles", "cycles", lv::sm, by::sum, "smsp__issue_active.sum",
     "cycles in which a scheduler issued"},
    {"issue_rate", "%", lv::sm, by::ratio, "100 * issue_cycles / scheduler_cycles",
     "active scheduler cycles with an instruction issued"},
    {"eligible_warps", "warps", lv::sm, by::ratio, "warps_eligible / scheduler_cycles",
     "warps that could issue, in an active scheduler cycle"},
    {"instructions_executed", "instructions", lv::sm, by::sum, "smsp__inst_executed.sum",
     "warp instructions"},
    {"instructions_per_cycle", "instructions", lv::sm, by::ratio,
     "instructions_executed / sm_active_cycles", "warp instructions in an active SM cycle"},
    {"alu_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_alu.sum",
     "warp instructions of the integer and logic pipe"},
    {"fma_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_fma.sum",
     "warp instructions of the FP32 pipe"},
    {"fp64_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_fp64.sum",
     "warp instructions of the FP64 pipe"},
    {"lsu_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_lsu.sum",
     "warp instructions of the load and store pipe"},
    {"xu_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_xu.sum",
     "warp instructions of the pipe for exp, sin, conversions"},
    {"tensor_instructions", "instructions", lv::sm, by::sum, "sm__inst_executed_pipe_tensor.sum",
     "warp instructions of the tensor cores"},

    {"global_load_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_global_ld.sum", "warp-wide global loads, exact"},
    {"global_store_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_global_st.sum", "warp-wide global stores, exact"},
    {"shared_load_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_shared_ld.sum", "warp-wide shared loads, exact"},
    {"shared_store_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_shared_st.sum", "warp-wide shared stores, exact"},
    {"local_load_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_local_ld.sum", "warp-wide local loads, exact"},
    {"local_store_instructions", "instructions", lv::sm, by::sum,
     "smsp__sass_inst_executed_op_local_st.sum", "warp-wide local stores, exact"},
    {"global_load_bytes", "B", lv::sm, by::sum,
     "smsp__sass_data_bytes_mem_global_op_ld.sum + "
     "smsp__sass_data_bytes_mem_global_op_ldgsts.sum | "
     "smsp__sass_data_bytes_mem_global_op_ld.sum",
     "bytes that threads asked global loads for, copies to shared memory (cp.async) among them"},
    {"global_store_bytes", "B", lv::sm, by::sum, "smsp__sass_data_bytes_mem_global_op_st.sum",
     "bytes that threads gave to global stores"},
    {"shared_load_bytes", "B", lv::sm, by::sum, "smsp__sass_data_bytes_mem_shared_op_ld.sum",
     "bytes that threads asked shared loads for"},
    {"shared_store_bytes", "B", lv::sm, by::sum, "smsp__sass_data_bytes_mem_shared_op_st.sum",
     "bytes that threads gave to shared stores"},

    {"fadd", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
     "FP32 additions of threads"},
    {"fmul", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
     "FP32 multiplications of threads"},
    {"ffma", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
     "FP32 fused multiply-adds of threads"},
    {"dadd", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
     "FP64 additions of threads"},
    {"dmul", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
     "FP64 multiplications of threads"},
    {"dfma", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
     "FP64 fused multiply-adds of threads"},
    {"hadd", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
     "packed half additions of threads"},
    {"hmul", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum",
     "packed half multiplications"},
    {"hfma", "instructions", lv::sm, by::sum, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
     "packed half fused multiply-adds"},
    {"flop_fp32", "FLOP", lv::sm, by::sum, "fadd + fmul + 2 * ffma", "FP32, without tensor cores"},
    {"flop_fp64", "FLOP", lv::sm, by::sum, "dadd + dmul + 2 * dfma", "FP64, without tensor cores"},
    {"flop_fp16", "FLOP", lv::sm, by::sum, "2 * hadd + 2 * hmul + 4 * hfma",
     "half precision, without tensor cores; an instruction works on two values"},
    {"flop", "FLOP", lv::sm, by::sum, "flop_fp32 + flop_fp64 + flop_fp16",
     "floating-point operations without tensor cores"},

    {"tensor_active_cycles", "cycles", lv::sm, by::sum, "sm__pipe_tensor_cycles_active.sum",
     "cycles in which tensor cores worked, all that CUPTI counts apart in all SMs"},
    {"tensor_cycles_per_sm", "cycles/cycle", lv::sm, by::maximum,
     "sm__pipe_tensor_cycles_active.avg.peak_sustained",
     "the most of tensor_active_cycles that an SM counts in a cycle"},
    {"tensor_active_rate", "%", lv::sm, by::ratio,
     "100 * tensor_active_cycles / sm_active_cycles / tensor_cycles_per_sm",
     "active SM cycles in which tensor cores worked, of all their cycles"},
    {"tensor_fp16", "FLOP", lv::sm, by::sum,
     "sm__ops_path_tensor_src_fp16.sum | sm__ops_path_tensor_src_fp16_dst_fp16.sum + "
     "sm__ops_path_tensor_src_fp16_dst_fp32.sum | sm__ops_path_tensor_src_fp16_dst_fp16.sum + "
     "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum",
     "tensor-core operations on FP16"},
    {"tensor_bf16", "FLOP", lv::sm, by::sum, "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
     "tensor-core operations on BF16"},
    {"tensor_tf32", "FLOP", lv::sm, by::sum, "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
     "tensor-core operations on TF32"},
    {"tensor_fp8", "FLOP", lv::sm, by::sum,
     "sm__ops_path_tensor_src_fp8.sum | sm__ops_path_tensor_src_fp8_dst_fp16.sum + "
     "sm__ops_path_tensor_src_fp8_dst_fp32.sum | sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum "
     "+ sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum",
     "tensor-core operations on FP8; on GB100 also FP6 and FP4 that share its path"},
    {"tensor_fp4", "FLOP", lv::sm, by::sum,
     "sm__ops_path_tensor_src_fp4_dst_fp32.sum + ?sm__ops_path_tensor_src_fp4_fp6_dst_fp16.sum + "
     "?sm__ops_path_tensor_src_fp4_fp6_dst_fp32.sum",
     "tensor-core operations on FP4; on GB202 also FP6"},
    {"tensor_fp64", "FLOP", lv::sm, by::sum, "sm__ops_path_tensor_src_fp64.sum",
     "tensor-core operations on FP64"},
    {"tensor_int8", "OP", lv::sm, by::sum, "sm__ops_path_tensor_src_int8.sum",
     "tensor-core operations on INT8"},
    {"tensor_flop", "FLOP", lv::sm, by::sum,
     "?tensor_fp16 + ?tensor_bf16 + ?tensor_tf32 + ?tensor_fp8 + ?tensor_fp4",
     "tensor-core operations on the formats of language models"},

    {"fp32_peak_per_cycle", "FLOP/cycle", lv::sm, by::maximum,
     "2 * sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", "FP32 in a cycle"},
    {"fp32_peak_per_second", "FLOP/s", lv::sm, by::ratio,
     "1e9 * sm_cycles / time_ns * fp32_peak_per_cycle", "roof of FP32 without tensor cores"},
    {"fp64_peak_per_cycle", "FLOP/cycle", lv::sm, by::maximum,
     "2 * sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", "FP64 in a cycle"},
    {"fp64_peak_per_second", "FLOP/s", lv::sm, by::ratio,
     "1e9 * sm_cycles / time_ns * fp64_peak_per_cycle", "roof of FP64 without tensor cores"},
    {"fp16_peak_per_cycle", "FLOP/cycle", lv::sm, by::maximum,
     "4 * sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", "FP16 in a cycle"},
    {"fp16_peak_per_second", "FLOP/s", lv::sm, by::ratio,
     "1e9 * sm_cycles / time_ns * fp16_peak_per_cycle", "roof of FP16 without tensor cores"},
    {"tensor_peak_per_cycle", "FLOP/cycle", lv::sm, by::maximum,
     "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
     "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained | "
     "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained | "
     "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32.sum.peak_sustained",
     "dense BF16 (TU102: FP16) of the tensor cores in a cycle"},
    {"tensor_peak_per_second", "FLOP/s", lv::sm, by::ratio,
     "1e9 * sm_cycles / time_ns * tensor_peak_per_cycle", "roof of dense BF16 in tensor cores"},

    {"scheduler_warps", "warp cycles", lv::sm, by::sum, "smsp__warps_active.sum",
     "warps in flight, summed over cycles and schedulers"},
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
    STRATA_DETAIL_STALL("not_selected", "could issue, but another was chosen"),
    STRATA_DETAIL_STALL("selected", "issue"),

    {"pcie_read_bytes", "B", lv::link, by::sum, "pcie__read_bytes.sum", "bytes read over PCIe"},
    {"pcie_write_bytes", "B", lv::link, by::sum, "pcie__write_bytes.sum",
     "bytes written over PCIe"},
    {"nvlink_receive_bytes", "B", lv::link, by::sum, "nvlrx__bytes.sum",
     "bytes received over NVLink"},
    {"nvlink_transmit_bytes", "B", lv::link, by::sum, "nvltx__bytes.sum", "bytes sent over NVLink"},
    {"c2c_receive_bytes", "B", lv::link, by::sum, "ctc__rx_bytes.sum",
     "bytes received over NVLink-C2C"},
    {"c2c_transmit_bytes", "B", lv::link, by::sum, "ctc__tx_bytes.sum",
     "bytes sent over NVLink-C2C"},
};

#undef STRATA_DETAIL_STALL

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
     "tensor_instructions tensor_active_rate tensor_fp16 tensor_bf16 tensor_tf32 tensor_fp8 "
     "tensor_fp4 tensor_flop"},
    {"roofline", "bytes at each level and all roofs; the work comes from flops, tensor or code",
     "time_ns hbm_bytes l2_bytes l1_bytes l1_data_bytes hbm_peak_bytes_per_second "
     "l2_peak_bytes_per_second "
     "l1_peak_bytes_per_second fp32_peak_per_second fp64_peak_per_second fp16_peak_per_second "
     "tensor_peak_per_second"},
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
     "stall_no_instruction_share stall_not_selected_share stall_selected_share"},
    {"occupancy", "warps in flight, issue rate, instructions a cycle",
     "achieved_occupancy issue_rate eligible_warps instructions_per_cycle"},
    {"findings", "what the rules of findings.json look at",
     "time_ns hbm_bytes l2_bytes l2_sectors l2_atomic_sectors l1_bytes l1_data_bytes l1_sectors "
     "l1_global_load_sectors l1_global_store_sectors l1_local_load_sectors l1_local_store_sectors "
     "global_load_bytes global_store_bytes shared_wavefronts shared_bank_conflicts "
     "shared_load_bytes shared_store_bytes sm_active_cycles achieved_occupancy issue_rate ffma "
     "flop_fp32 tensor_instructions "
     "tensor_fp16 tensor_bf16 tensor_tf32 hbm_peak_bytes_per_second l2_peak_bytes_per_second "
     "l1_peak_bytes_per_second fp32_peak_per_second tensor_peak_per_second"},
    {"links", "PCIe, NVLink and NVLink-C2C; cannot be counted together with anything else",
     "pcie_read_bytes pcie_write_bytes nvlink_receive_bytes nvlink_transmit_bytes "
     "c2c_receive_bytes c2c_transmit_bytes"},
};

// The CPU's metrics, by perf's terms. The kernel's software events count all the time. Hardware
// events are scaled by time_enabled / time_running.
inline constexpr perf_event metric_catalogue::events[] = {
    {"perf__cycles.sum", 0, 0, perf_set::core},
    {"perf__instructions.sum", 0, 1, perf_set::core},
    {"perf__branches.sum", 0, 4, perf_set::core},
    {"perf__branch_misses.sum", 0, 5, perf_set::core},
    {"perf__l1d_loads.sum", 3, 0x00000, perf_set::cache},
    {"perf__l1d_load_misses.sum", 3, 0x10000, perf_set::cache},
    {"perf__cache_references.sum", 0, 2, perf_set::cache},
    {"perf__cache_misses.sum", 0, 3, perf_set::cache},
    {"perf__task_clock.sum", 1, 1, perf_set::software},
    {"perf__page_faults.sum", 1, 2, perf_set::software},
    {"perf__context_switches.sum", 1, 3, perf_set::software, true},
};

inline constexpr metric metric_catalogue::cpu[] = {
    {"cpu_cycles", "cycles", lv::cpu, by::sum, "perf__cycles.sum", "cycles of the CPU"},
    {"cpu_instructions", "instructions", lv::cpu, by::sum, "perf__instructions.sum",
     "instructions retired"},
    {"cpu_ipc", "instructions/cycle", lv::cpu, by::ratio, "cpu_instructions / cpu_cycles",
     "instructions in a cycle"},
    {"cpu_branches", "branches", lv::cpu, by::sum, "perf__branches.sum", "branches retired"},
    {"cpu_branch_misses", "misses", lv::cpu, by::sum, "perf__branch_misses.sum",
     "branches mispredicted"},
    {"cpu_branch_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_branch_misses / cpu_branches",
     "share of branches mispredicted"},
    {"cpu_l1d_loads", "loads", lv::cpu, by::sum, "perf__l1d_loads.sum",
     "loads from the L1 data cache"},
    {"cpu_l1d_load_misses", "misses", lv::cpu, by::sum, "perf__l1d_load_misses.sum",
     "loads that the L1 data cache did not have; some CPUs count the fills"},
    {"cpu_l1d_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_l1d_load_misses / cpu_l1d_loads",
     "share of loads that the L1 data cache did not have"},
    {"cpu_llc_references", "references", lv::cpu, by::sum, "perf__cache_references.sum",
     "accesses that the kernel calls cache-references: the last level on Intel, another on some "
     "CPUs"},
    {"cpu_llc_misses", "misses", lv::cpu, by::sum, "perf__cache_misses.sum",
     "accesses that the kernel calls cache-misses, of the same level"},
    {"cpu_llc_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_llc_misses / cpu_llc_references",
     "share of these accesses that missed"},
    {"cpu_task_clock_ns", "ns", lv::cpu, by::sum, "perf__task_clock.sum",
     "time on a CPU, of all threads, in the kernel too"},
    {"cpu_page_faults", "faults", lv::cpu, by::sum, "perf__page_faults.sum",
     "page faults of user code, also those that need no disk"},
    {"cpu_context_switches", "switches", lv::cpu, by::sum, "perf__context_switches.sum",
     "times that a thread was taken from its CPU"},
};

/// The event with this name, or null where the formula is one over keys.
inline perf_event const* find_perf_event(std::string_view formula) noexcept {
  for (perf_event const& each : metric_catalogue::events) {
    if (each.counter == formula) return &each;
  }
  return nullptr;
}

/// Used like one of CUPTI's names: the GPU busy time of a timed step, which the trace gives.
/// Units: s.
inline constexpr std::string_view timed_input = "strata__timed_gpu_seconds";

// What follows from counts and times, as entries of the metric catalogue. A counted step is slow,
// so its own time is never used: rates divide its counts by the time of the timed steps.
inline constexpr metric metric_catalogue::rates[] = {
    {"timed_gpu_seconds", "s", lv::device, by::sum, timed_input,
     "GPU busy time in a timed step, without counting: the mean over the timed steps, added up "
     "over devices"},

    {"hbm_bytes_per_second", "B/s", lv::hbm, by::ratio, "hbm_bytes / timed_gpu_seconds",
     "counted bytes of device memory by timed GPU busy time"},
    {"hbm_of_peak", "%", lv::hbm, by::ratio,
     "100 * hbm_bytes_per_second / hbm_peak_bytes_per_second", "of the roof of device memory"},
    {"l2_bytes_per_second", "B/s", lv::l2, by::ratio, "l2_bytes / timed_gpu_seconds",
     "counted bytes of L2 by timed GPU busy time"},
    {"l2_of_peak", "%", lv::l2, by::ratio, "100 * l2_bytes_per_second / l2_peak_bytes_per_second",
     "of the roof of L2"},
    {"l1_bytes_per_second", "B/s", lv::l1, by::ratio, "l1_bytes / timed_gpu_seconds",
     "counted bytes of L1 by timed GPU busy time"},
    {"l1_of_peak", "%", lv::l1, by::ratio,
     "100 * l1_data_bytes / timed_gpu_seconds / l1_peak_bytes_per_second", "of the roof of L1"},

    {"flop_per_second", "FLOP/s", lv::sm, by::ratio, "flop / timed_gpu_seconds",
     "counted operations without tensor cores by timed GPU busy time"},
    {"fp32_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp32 / timed_gpu_seconds / fp32_peak_per_second", "of the roof of FP32"},
    {"fp64_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp64 / timed_gpu_seconds / fp64_peak_per_second", "of the roof of FP64"},
    {"fp16_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp16 / timed_gpu_seconds / fp16_peak_per_second",
     "of the roof of FP16 without tensor cores"},
    {"tensor_flop_per_second", "FLOP/s", lv::sm, by::ratio, "tensor_flop / timed_gpu_seconds",
     "counted operations of tensor cores by timed GPU busy time"},
    {"tensor_of_peak", "%", lv::sm, by::ratio,
     "100 * (0 * tensor_flop + 4 * ?tensor_fp16 + 4 * ?tensor_bf16 + 8 * ?tensor_tf32 + "
     "2 * ?tensor_fp8 + ?tensor_fp4) / 4 / timed_gpu_seconds / tensor_peak_per_second",
     "of the roofs of the formats: TF32 has half of BF16's, FP8 two and FP4 four times as much"},

    {"flop_per_hbm_byte", "FLOP/B", lv::hbm, by::ratio,
     "(flop + ?tensor_flop) / hbm_bytes | tensor_flop / hbm_bytes",
     "arithmetic intensity: counted operations per byte of device memory"},
};

}  // namespace detail

/// What the metrics of a part of the catalogue are made from.
enum class metric_source : std::uint8_t {
  cupti,  ///< counters of the GPU
  perf,   ///< counters of the CPU
  rates   ///< metrics of `cupti` and the time of timed steps
};

/// All metrics of one source.
struct metric_list {
  metric_source source = metric_source::cupti;

  metric const* begin() const noexcept {
    using all = detail::metric_catalogue;
    return source == metric_source::cupti  ? std::begin(all::entries)
           : source == metric_source::perf ? std::begin(all::cpu)
                                           : std::begin(all::rates);
  }
  metric const* end() const noexcept {
    using all = detail::metric_catalogue;
    return source == metric_source::cupti  ? std::end(all::entries)
           : source == metric_source::perf ? std::end(all::cpu)
                                           : std::end(all::rates);
  }
};

/// All presets.
struct preset_list {
  metric_preset const* begin() const noexcept {
    return std::begin(detail::metric_catalogue::presets);
  }
  metric_preset const* end() const noexcept { return std::end(detail::metric_catalogue::presets); }
};

/// The metric with this key, or null.
inline metric const* find_metric(std::string_view key,
                                 metric_source source = metric_source::cupti) noexcept {
  for (metric const& each : metric_list{source}) {
    if (each.key == key) return &each;
  }
  return nullptr;
}

namespace detail {

/// The metric with this key, of whichever source, or null.
inline metric const* find_entry(std::string_view key) noexcept {
  for (metric_source const source :
       {metric_source::cupti, metric_source::perf, metric_source::rates}) {
    if (metric const* const entry = find_metric(key, source)) return entry;
  }
  return nullptr;
}

}  // namespace detail

/// The preset with this name, or null.
inline metric_preset const* find_preset(std::string_view name) noexcept {
  for (metric_preset const& each : preset_list()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

namespace detail {

inline void expand_into(std::string_view request, vec<std::string>& names) {
  while (!request.empty()) {
    std::string_view const item = take_until(request, "+, \t");
    if (item.empty()) continue;
    if (metric_preset const* preset = find_preset(item)) {
      expand_into(preset->items, names);
    } else if (!names.contains(item)) {
      names.emplace_back(item);
    }
  }
}

}  // namespace detail

/// The names in a request such as `hbm+l1_hit_rate+dram__bytes.sum`: presets become their metrics,
/// in order, each once; whatever else stays as it is.
inline vec<std::string> expand_metrics(std::string_view request) {
  vec<std::string> names;
  detail::expand_into(request, names);
  return names;
}

STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_METRIC_CATALOGUE_HPP
