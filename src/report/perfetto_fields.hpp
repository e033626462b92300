#include <strata/version.hpp>
#ifndef STRATA_REPORT_PERFETTO_FIELDS_HPP
#define STRATA_REPORT_PERFETTO_FIELDS_HPP

#include <strata/base/macros.hpp>
#include "protobuf.hpp"

#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Numbers of the fields that are written: the message, then the name in Perfetto's definitions.
/// Source: github.com/google/perfetto, protos/perfetto/trace, 2026-08; each file has the name of
/// the message.
namespace perfetto {
using field = proto_field;
inline constexpr field trace_packet = 1;
inline constexpr field packet_clock_snapshot = 6;
inline constexpr field packet_timestamp = 8;
inline constexpr field packet_trusted_packet_sequence_id = 10;
inline constexpr field packet_track_event = 11;
inline constexpr field packet_interned_data = 12;
inline constexpr field packet_sequence_flags = 13;
inline constexpr field packet_gpu_counter_event = 52;
inline constexpr field packet_gpu_render_stage_event = 53;
inline constexpr field packet_trace_packet_defaults = 59;
inline constexpr field packet_track_descriptor = 60;
inline constexpr field packet_gpu_info = 128;
inline constexpr field defaults_track_event_defaults = 11;
inline constexpr field defaults_timestamp_clock_id = 58;
inline constexpr field snapshot_clocks = 1;
inline constexpr field snapshot_primary_trace_clock = 2;
inline constexpr field clock_clock_id = 1;
inline constexpr field clock_timestamp = 2;
inline constexpr field clock_is_incremental = 3;
inline constexpr field event_category_iids = 3;
inline constexpr field event_debug_annotations = 4;
inline constexpr field event_type = 9;
inline constexpr field event_name_iid = 10;
inline constexpr field event_track_uuid = 11;
inline constexpr field event_name = 23;
inline constexpr field event_counter_value = 30;
inline constexpr field event_gpu_correlation = 3000;
inline constexpr field correlation_submitted_events = 1;
inline constexpr field annotation_name_iid = 1;
inline constexpr field annotation_bool_value = 2;
inline constexpr field annotation_int_value = 4;
inline constexpr field annotation_double_value = 5;
inline constexpr field annotation_string_value = 6;
inline constexpr field annotation_string_value_iid = 17;
inline constexpr field interned_event_categories = 1;
inline constexpr field interned_event_names = 2;
inline constexpr field interned_debug_annotation_names = 3;
inline constexpr field interned_graphics_contexts = 23;
inline constexpr field interned_gpu_specifications = 24;
inline constexpr field interned_debug_annotation_string_values = 29;
inline constexpr field interned_gpu_counter_descriptors = 47;
inline constexpr field interned_compute_kernels = 1000;
inline constexpr field interned_compute_arg_names = 1001;
inline constexpr field entry_iid = 1;
inline constexpr field entry_name = 2;
inline constexpr field track_uuid = 1;
inline constexpr field track_name = 2;
inline constexpr field track_process = 3;
inline constexpr field track_thread = 4;
inline constexpr field track_parent_uuid = 5;
inline constexpr field track_counter = 8;
inline constexpr field track_sibling_order_rank = 12;
inline constexpr field track_sibling_merge_behavior = 15;
inline constexpr field process_pid = 1;
inline constexpr field process_legacy_sort_index = 3;
inline constexpr field process_process_name = 6;
inline constexpr field thread_pid = 1;
inline constexpr field thread_tid = 2;
inline constexpr field thread_legacy_sort_index = 3;
inline constexpr field thread_thread_name = 5;
inline constexpr field counter_unit = 3;
inline constexpr field context_pid = 2;
inline constexpr field context_api = 3;
inline constexpr field specification_category = 4;
inline constexpr field work_event_id = 1;
inline constexpr field work_duration = 2;
inline constexpr field work_context = 5;
inline constexpr field work_gpu_id = 11;
inline constexpr field work_hw_queue_iid = 13;
inline constexpr field work_stage_iid = 14;
inline constexpr field work_kernel_iid = 19;
inline constexpr field work_name_iid = 20;
inline constexpr field work_launch = 21;
inline constexpr field launch_grid_size = 1;
inline constexpr field launch_workgroup_size = 2;
inline constexpr field launch_args = 3;
inline constexpr field argument_int_value = 3;
inline constexpr field argument_double_value = 5;
inline constexpr field argument_string_value = 6;
inline constexpr field argument_string_value_iid = 7;
inline constexpr field kernel_name = 2;
inline constexpr field kernel_demangled_name = 3;
inline constexpr field kernel_arch = 4;
inline constexpr field counters_descriptor = 2;
inline constexpr field counters_gpu_id = 3;
inline constexpr field descriptor_specs = 1;
inline constexpr field counter_id = 1;
inline constexpr field counter_name = 2;
inline constexpr field counter_numerator_units = 7;
inline constexpr field counter_value_direction = 11;
inline constexpr field sample_counters = 2;
inline constexpr field sample_descriptor_iid = 4;
inline constexpr field sample_counter_id = 1;
inline constexpr field sample_double_value = 3;
inline constexpr field info_gpus = 1;
inline constexpr field gpu_name = 1;
inline constexpr field gpu_vendor = 2;
inline constexpr field gpu_model = 3;
inline constexpr field gpu_architecture = 4;
enum : std::uint64_t {
  SEQ_INCREMENTAL_STATE_CLEARED = 1,
  SEQ_NEEDS_INCREMENTAL_STATE = 2,
  TYPE_SLICE_BEGIN = 1,
  TYPE_SLICE_END = 2,
  TYPE_INSTANT = 3,
  TYPE_COUNTER = 4,
  UNIT_SIZE_BYTES = 3,
  SIBLING_MERGE_BEHAVIOR_NONE = 2,
  BUILTIN_CLOCK_BOOTTIME = 6,
  CUDA = 4,
  OTHER = 0,
  COMPUTE = 2,
  PERCENT = 37,
  FORWARDS_LOOKING = 2,
  sequence_clock = 64  ///< the first of those that belong to a sequence
};
}  // namespace perfetto

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PERFETTO_FIELDS_HPP
