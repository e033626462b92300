// collect/cuda/cupti.hpp against CUPTI's own headers, 12.0 to 13.x. It compiles or it does not.
#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <strata/collect/counters/counting_pass.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

#include "../fake/record_sizes.hpp"
#include "abi_common.hpp"

namespace ours = strata::detail::cupti;
using ours::table;

// ---- codes ----
using ours::result;
SAME_VALUE(CUPTI_SUCCESS, result::success);
SAME_VALUE(CUPTI_ERROR_INVALID_PARAMETER, result::invalid_parameter);
SAME_VALUE(CUPTI_ERROR_INVALID_DEVICE, result::invalid_device);
SAME_VALUE(CUPTI_ERROR_INVALID_CONTEXT, result::invalid_context);
SAME_VALUE(CUPTI_ERROR_INVALID_OPERATION, result::invalid_operation);
SAME_VALUE(CUPTI_ERROR_OUT_OF_MEMORY, result::out_of_memory);
SAME_VALUE(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, result::size_not_sufficient);
SAME_VALUE(CUPTI_ERROR_API_NOT_IMPLEMENTED, result::not_implemented);
SAME_VALUE(CUPTI_ERROR_MAX_LIMIT_REACHED, result::max_limit_reached);
SAME_VALUE(CUPTI_ERROR_NOT_READY, result::not_ready);
SAME_VALUE(CUPTI_ERROR_NOT_COMPATIBLE, result::not_compatible);
SAME_VALUE(CUPTI_ERROR_NOT_INITIALIZED, result::not_initialized);
SAME_VALUE(CUPTI_ERROR_INVALID_METRIC_NAME, result::invalid_metric_name);
SAME_VALUE(CUPTI_ERROR_INVALID_KIND, result::invalid_kind);
SAME_VALUE(CUPTI_ERROR_DISABLED, result::disabled);
SAME_VALUE(CUPTI_ERROR_HARDWARE_BUSY, result::hardware_busy);
SAME_VALUE(CUPTI_ERROR_NOT_SUPPORTED, result::not_supported);
SAME_VALUE(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, result::virtualized_device_not_supported);
SAME_VALUE(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, result::insufficient_privileges);
SAME_VALUE(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, result::old_profiler_api_initialized);
SAME_VALUE(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, result::legacy_profiler_not_supported);
SAME_VALUE(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
           result::multiple_subscribers_not_supported);
SAME_VALUE(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
           result::virtualized_device_insufficient_privileges);
SAME_VALUE(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
           result::confidential_computing_not_supported);
SAME_VALUE(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, result::cmp_device_not_supported);
#if CUPTI_API_VERSION >= 26
SAME_VALUE(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, result::mig_device_not_supported);
SAME_VALUE(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, result::sli_device_not_supported);
SAME_VALUE(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, result::wsl_device_not_supported);
#endif
#if CUPTI_API_VERSION >= 130000
SAME_VALUE(CUPTI_ERROR_INVALID_CHIP_NAME, result::invalid_chip_name);
#endif
SAME_VALUE(CUPTI_ERROR_UNKNOWN, result::unknown);

using ours::activity_kind;
SAME_VALUE(CUPTI_ACTIVITY_KIND_INVALID, activity_kind::invalid);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMCPY, activity_kind::copy);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMSET, activity_kind::set);
SAME_VALUE(CUPTI_ACTIVITY_KIND_KERNEL, activity_kind::kernel);
SAME_VALUE(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, activity_kind::concurrent_kernel);
SAME_VALUE(CUPTI_ACTIVITY_KIND_OVERHEAD, activity_kind::overhead);
SAME_VALUE(CUPTI_ACTIVITY_KIND_CONTEXT, activity_kind::context);
SAME_VALUE(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, activity_kind::unified_memory);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMCPY2, activity_kind::peer_copy);
SAME_VALUE(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, activity_kind::synchronization);
SAME_VALUE(CUPTI_ACTIVITY_KIND_MEMORY2, activity_kind::memory);

using ours::attribute;
SAME_VALUE(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, attribute::zeroed_out_activity_buffer);
#if CUPTI_API_VERSION >= 21
SAME_VALUE(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, attribute::per_thread_activity_buffer);
#endif
SAME_VALUE(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, ours::flush_flag::forced);

using ours::domain;
SAME_VALUE(CUPTI_CB_DOMAIN_INVALID, domain::invalid);
SAME_VALUE(CUPTI_CB_DOMAIN_DRIVER_API, domain::driver_api);
SAME_VALUE(CUPTI_CB_DOMAIN_RUNTIME_API, domain::runtime_api);
SAME_VALUE(CUPTI_CB_DOMAIN_RESOURCE, domain::resource);
SAME_VALUE(CUPTI_CB_DOMAIN_NVTX, domain::nvtx);
SAME_VALUE(CUPTI_API_ENTER, ours::api_site::enter);
SAME_VALUE(CUPTI_API_EXIT, ours::api_site::exit);

using ours::resource_id;
SAME_VALUE(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, resource_id::context_created);
SAME_VALUE(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, resource_id::context_destroy_starting);
SAME_VALUE(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, resource_id::stream_destroy_starting);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_CREATED, resource_id::graph_created);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_CLONED, resource_id::graph_cloned);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, resource_id::graph_node_create_starting);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, resource_id::graph_node_created);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
           resource_id::graph_node_destroy_starting);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, resource_id::graph_exec_created);
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, resource_id::graph_node_cloned);
#if CUPTI_API_VERSION >= 130000
SAME_VALUE(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, resource_id::graph_node_updated);
#endif

SAME_VALUE(CU_GRAPH_NODE_TYPE_KERNEL, ours::graph_node_type::kernel);

using ours::copy_kind;
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN, copy_kind::unknown);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, copy_kind::host_to_device);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, copy_kind::device_to_host);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, copy_kind::host_to_array);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, copy_kind::array_to_host);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, copy_kind::array_to_array);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, copy_kind::array_to_device);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, copy_kind::device_to_array);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, copy_kind::device_to_device);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, copy_kind::host_to_host);
SAME_VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, copy_kind::peer_to_peer);

using ours::memory_kind;
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN, memory_kind::unknown);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, memory_kind::pageable);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_PINNED, memory_kind::pinned);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, memory_kind::device);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, memory_kind::array);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, memory_kind::managed);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, memory_kind::device_static);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC, memory_kind::managed_static);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, ours::memory_operation::allocation);
SAME_VALUE(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, ours::memory_operation::release);

using ours::synchronization_type;
SAME_VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
           synchronization_type::event_synchronize);
SAME_VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
           synchronization_type::stream_wait_event);
SAME_VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
           synchronization_type::stream_synchronize);
SAME_VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
           synchronization_type::context_synchronize);

using ours::overhead_type;
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, overhead_type::driver_compiler);
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, overhead_type::buffer_flush);
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, overhead_type::instrumentation);
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, overhead_type::resource);
#if CUPTI_API_VERSION >= 21
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, overhead_type::module_loading);
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, overhead_type::lazy_function_loading);
#endif
#if CUPTI_API_VERSION >= 22
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, overhead_type::command_buffer_full);
#endif
#if CUPTI_API_VERSION >= 24
SAME_VALUE(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, overhead_type::buffer_request);
#endif

// ---- records: the prefix is checked against each version of the record that the headers hold ----
#define KERNEL(T)                                                                                 \
  PREFIX_OF(T, ours::kernel_record);                                                              \
  SAME_FIELD(T, kind, ours::kernel_record, kind);                                                 \
  SAME_FIELD(T, cacheConfig, ours::kernel_record, cache_config);                                  \
  SAME_FIELD(T, sharedMemoryConfig, ours::kernel_record, shared_memory_config);                   \
  SAME_FIELD(T, registersPerThread, ours::kernel_record, registers_per_thread);                   \
  SAME_FIELD(T, partitionedGlobalCacheRequested, ours::kernel_record,                             \
             partitioned_cache_requested);                                                        \
  SAME_FIELD(T, partitionedGlobalCacheExecuted, ours::kernel_record, partitioned_cache_executed); \
  SAME_FIELD(T, start, ours::kernel_record, start_ns);                                            \
  SAME_FIELD(T, end, ours::kernel_record, end_ns);                                                \
  SAME_FIELD(T, completed, ours::kernel_record, completed_ns);                                    \
  SAME_FIELD(T, deviceId, ours::kernel_record, device_id);                                        \
  SAME_FIELD(T, contextId, ours::kernel_record, context_id);                                      \
  SAME_FIELD(T, streamId, ours::kernel_record, stream_id);                                        \
  SAME_FIELD(T, gridX, ours::kernel_record, grid_x);                                              \
  SAME_FIELD(T, gridY, ours::kernel_record, grid_y);                                              \
  SAME_FIELD(T, gridZ, ours::kernel_record, grid_z);                                              \
  SAME_FIELD(T, blockX, ours::kernel_record, block_x);                                            \
  SAME_FIELD(T, blockY, ours::kernel_record, block_y);                                            \
  SAME_FIELD(T, blockZ, ours::kernel_record, block_z);                                            \
  SAME_FIELD(T, staticSharedMemory, ours::kernel_record, static_shared_memory_bytes);             \
  SAME_FIELD(T, dynamicSharedMemory, ours::kernel_record, dynamic_shared_memory_bytes);           \
  SAME_FIELD(T, localMemoryPerThread, ours::kernel_record, local_memory_per_thread_bytes);        \
  SAME_FIELD(T, localMemoryTotal, ours::kernel_record, local_memory_total_bytes);                 \
  SAME_FIELD(T, correlationId, ours::kernel_record, correlation_id);                              \
  SAME_FIELD(T, gridId, ours::kernel_record, grid_id);                                            \
  SAME_FIELD(T, name, ours::kernel_record, name);                                                 \
  SAME_FIELD(T, reserved0, ours::kernel_record, reserved);                                        \
  SAME_FIELD(T, queued, ours::kernel_record, queued_ns);                                          \
  SAME_FIELD(T, submitted, ours::kernel_record, submitted_ns);                                    \
  SAME_FIELD(T, launchType, ours::kernel_record, launch_type);                                    \
  SAME_FIELD(T, isSharedMemoryCarveoutRequested, ours::kernel_record,                             \
             is_shared_memory_carveout_requested);                                                \
  SAME_FIELD(T, sharedMemoryCarveoutRequested, ours::kernel_record,                               \
             shared_memory_carveout_requested);                                                   \
  SAME_FIELD(T, sharedMemoryExecuted, ours::kernel_record, shared_memory_executed_bytes);         \
  SAME_FIELD(T, graphNodeId, ours::kernel_record, graph_node_id);                                 \
  SAME_FIELD(T, shmemLimitConfig, ours::kernel_record, shared_memory_limit_config);               \
  SAME_FIELD(T, graphId, ours::kernel_record, graph_id)

#define COPY(T)                                                                   \
  PREFIX_OF(T, ours::copy_record);                                                \
  SAME_FIELD(T, kind, ours::copy_record, kind);                                   \
  SAME_FIELD(T, copyKind, ours::copy_record, copy);                               \
  SAME_FIELD(T, srcKind, ours::copy_record, source);                              \
  SAME_FIELD(T, dstKind, ours::copy_record, destination);                         \
  SAME_FIELD(T, flags, ours::copy_record, flags);                                 \
  SAME_FIELD(T, bytes, ours::copy_record, size_bytes);                            \
  SAME_FIELD(T, start, ours::copy_record, start_ns);                              \
  SAME_FIELD(T, end, ours::copy_record, end_ns);                                  \
  SAME_FIELD(T, deviceId, ours::copy_record, device_id);                          \
  SAME_FIELD(T, contextId, ours::copy_record, context_id);                        \
  SAME_FIELD(T, streamId, ours::copy_record, stream_id);                          \
  SAME_FIELD(T, correlationId, ours::copy_record, correlation_id);                \
  SAME_FIELD(T, runtimeCorrelationId, ours::copy_record, runtime_correlation_id); \
  SAME_FIELD(T, reserved0, ours::copy_record, reserved);                          \
  SAME_FIELD(T, graphNodeId, ours::copy_record, graph_node_id);                   \
  SAME_FIELD(T, graphId, ours::copy_record, graph_id)

#define SET(T)                                                    \
  PREFIX_OF(T, ours::set_record);                                 \
  SAME_FIELD(T, kind, ours::set_record, kind);                    \
  SAME_FIELD(T, value, ours::set_record, value);                  \
  SAME_FIELD(T, bytes, ours::set_record, size_bytes);             \
  SAME_FIELD(T, start, ours::set_record, start_ns);               \
  SAME_FIELD(T, end, ours::set_record, end_ns);                   \
  SAME_FIELD(T, deviceId, ours::set_record, device_id);           \
  SAME_FIELD(T, contextId, ours::set_record, context_id);         \
  SAME_FIELD(T, streamId, ours::set_record, stream_id);           \
  SAME_FIELD(T, correlationId, ours::set_record, correlation_id); \
  SAME_FIELD(T, flags, ours::set_record, flags);                  \
  SAME_FIELD(T, memoryKind, ours::set_record, memory);            \
  SAME_FIELD(T, reserved0, ours::set_record, reserved);           \
  SAME_FIELD(T, graphNodeId, ours::set_record, graph_node_id);    \
  SAME_FIELD(T, graphId, ours::set_record, graph_id)

#define MEMORY(T)                                                     \
  PREFIX_OF(T, ours::memory_record);                                  \
  SAME_FIELD(T, kind, ours::memory_record, kind);                     \
  SAME_FIELD(T, memoryOperationType, ours::memory_record, operation); \
  SAME_FIELD(T, memoryKind, ours::memory_record, memory);             \
  SAME_FIELD(T, correlationId, ours::memory_record, correlation_id);  \
  SAME_FIELD(T, address, ours::memory_record, address);               \
  SAME_FIELD(T, bytes, ours::memory_record, size_bytes);              \
  SAME_FIELD(T, timestamp, ours::memory_record, timestamp_ns);        \
  SAME_FIELD(T, PC, ours::memory_record, program_counter);            \
  SAME_FIELD(T, processId, ours::memory_record, process_id);          \
  SAME_FIELD(T, deviceId, ours::memory_record, device_id);            \
  SAME_FIELD(T, contextId, ours::memory_record, context_id);          \
  SAME_FIELD(T, streamId, ours::memory_record, stream_id);            \
  SAME_FIELD(T, name, ours::memory_record, name);                     \
  SAME_FIELD(T, isAsync, ours::memory_record, is_async)

#define SYNCHRONIZATION(T)                                                    \
  PREFIX_OF(T, ours::synchronization_record);                                 \
  SAME_FIELD(T, kind, ours::synchronization_record, kind);                    \
  SAME_FIELD(T, type, ours::synchronization_record, type);                    \
  SAME_FIELD(T, start, ours::synchronization_record, start_ns);               \
  SAME_FIELD(T, end, ours::synchronization_record, end_ns);                   \
  SAME_FIELD(T, correlationId, ours::synchronization_record, correlation_id); \
  SAME_FIELD(T, contextId, ours::synchronization_record, context_id);         \
  SAME_FIELD(T, streamId, ours::synchronization_record, stream_id);           \
  SAME_FIELD(T, cudaEventId, ours::synchronization_record, event_id)

#define OVERHEAD(T)                                              \
  PREFIX_OF(T, ours::overhead_record);                           \
  SAME_FIELD(T, kind, ours::overhead_record, kind);              \
  SAME_FIELD(T, overheadKind, ours::overhead_record, overhead);  \
  SAME_FIELD(T, objectKind, ours::overhead_record, object_kind); \
  SAME_FIELD(T, objectId, ours::overhead_record, object);        \
  SAME_FIELD(T, start, ours::overhead_record, start_ns);         \
  SAME_FIELD(T, end, ours::overhead_record, end_ns)

#define UNIFIED_MEMORY(T)                                            \
  PREFIX_OF(T, ours::unified_memory_record);                         \
  SAME_FIELD(T, kind, ours::unified_memory_record, kind);            \
  SAME_FIELD(T, counterKind, ours::unified_memory_record, counter);  \
  SAME_FIELD(T, value, ours::unified_memory_record, value);          \
  SAME_FIELD(T, start, ours::unified_memory_record, start_ns);       \
  SAME_FIELD(T, end, ours::unified_memory_record, end_ns);           \
  SAME_FIELD(T, address, ours::unified_memory_record, address);      \
  SAME_FIELD(T, srcId, ours::unified_memory_record, source_id);      \
  SAME_FIELD(T, dstId, ours::unified_memory_record, destination_id); \
  SAME_FIELD(T, streamId, ours::unified_memory_record, stream_id);   \
  SAME_FIELD(T, processId, ours::unified_memory_record, process_id); \
  SAME_FIELD(T, flags, ours::unified_memory_record, flags)

PREFIX_OF(CUpti_Activity, ours::record);
SAME_FIELD(CUpti_Activity, kind, ours::record, kind);

KERNEL(CUpti_ActivityKernel9);
COPY(CUpti_ActivityMemcpy5);
SET(CUpti_ActivityMemset4);
MEMORY(CUpti_ActivityMemory3);
SYNCHRONIZATION(CUpti_ActivitySynchronization);
OVERHEAD(CUpti_ActivityOverhead);
UNIFIED_MEMORY(CUpti_ActivityUnifiedMemoryCounter2);
#if CUPTI_API_VERSION >= 130000
UNIFIED_MEMORY(CUpti_ActivityUnifiedMemoryCounter3);
#endif
using ours::unified_memory_kind;
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
           unified_memory_kind::host_to_device);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
           unified_memory_kind::device_to_host);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
           unified_memory_kind::gpu_page_fault);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
           unified_memory_kind::device_to_device);
SAME_VALUE(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
           ours::unified_memory_config::process_all_devices);
using unified_config = CUpti_ActivityUnifiedMemoryCounterConfig;
static_assert(sizeof(unified_config) == sizeof(ours::unified_memory_config));
SAME_FIELD(unified_config, scope, ours::unified_memory_config, scope);
SAME_FIELD(unified_config, kind, ours::unified_memory_config, kind);
SAME_FIELD(unified_config, deviceId, ours::unified_memory_config, device_id);
SAME_FIELD(unified_config, enable, ours::unified_memory_config, enable);
#if CUPTI_API_VERSION >= 21
OVERHEAD(CUpti_ActivityOverhead2);
#endif
#if CUPTI_API_VERSION >= 22
OVERHEAD(CUpti_ActivityOverhead3);
#endif
#if CUPTI_API_VERSION >= 24
MEMORY(CUpti_ActivityMemory4);
#endif
#if CUPTI_API_VERSION >= 26
COPY(CUpti_ActivityMemcpy6);
SYNCHRONIZATION(CUpti_ActivitySynchronization2);
#endif
#if CUPTI_API_VERSION >= 130000
KERNEL(CUpti_ActivityKernel10);
#endif
#if CUPTI_API_VERSION >= 130100
KERNEL(CUpti_ActivityKernel11);
#endif
#if CUPTI_API_VERSION >= 130300
KERNEL(CUpti_ActivityKernel12);
#endif
#if CUPTI_API_VERSION >= 130400
KERNEL(CUpti_ActivityKernel13);
COPY(CUpti_ActivityMemcpy7);
SET(CUpti_ActivityMemset5);
#endif

#if CUPTI_API_VERSION >= 23
using context = ours::context_record;
PREFIX_OF(CUpti_ActivityContext3, context);
SAME_FIELD(CUpti_ActivityContext3, kind, context, kind);
SAME_FIELD(CUpti_ActivityContext3, contextId, context, context_id);
SAME_FIELD(CUpti_ActivityContext3, deviceId, context, device_id);
SAME_FIELD(CUpti_ActivityContext3, computeApiKind, context, compute_api);
SAME_FIELD(CUpti_ActivityContext3, nullStreamId, context, null_stream_id);
SAME_FIELD(CUpti_ActivityContext3, parentContextId, context, parent_context_id);
SAME_FIELD(CUpti_ActivityContext3, isGreenContext, context, is_green);
SAME_FIELD(CUpti_ActivityContext3, padding, context, padding);
SAME_FIELD(CUpti_ActivityContext3, numMultiprocessors, context, multiprocessors);
static_assert(fake_sizes_of(CUPTI_API_VERSION).context == sizeof(CUpti_ActivityContext3));
#endif

using peer = ours::peer_copy_record;
PREFIX_OF(CUpti_ActivityMemcpyPtoP4, peer);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, kind, peer, kind);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, copyKind, peer, copy);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, srcKind, peer, source);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, dstKind, peer, destination);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, flags, peer, flags);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, bytes, peer, size_bytes);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, start, peer, start_ns);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, end, peer, end_ns);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, deviceId, peer, device_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, contextId, peer, context_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, streamId, peer, stream_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, srcDeviceId, peer, source_device_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, srcContextId, peer, source_context_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, dstDeviceId, peer, destination_device_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, dstContextId, peer, destination_context_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, correlationId, peer, correlation_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, reserved0, peer, reserved);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, graphNodeId, peer, graph_node_id);
SAME_FIELD(CUpti_ActivityMemcpyPtoP4, graphId, peer, graph_id);

// ---- the strides with which the fake library writes them ----
constexpr fake_record_sizes sizes = fake_sizes_of(CUPTI_API_VERSION);
#if CUPTI_API_VERSION < 21
using overhead_record = CUpti_ActivityOverhead;
#elif CUPTI_API_VERSION < 22
using overhead_record = CUpti_ActivityOverhead2;
#else
using overhead_record = CUpti_ActivityOverhead3;
#endif
#if CUPTI_API_VERSION < 24
using memory_record = CUpti_ActivityMemory3;
#else
using memory_record = CUpti_ActivityMemory4;
#endif
#if CUPTI_API_VERSION < 26
using copy_record = CUpti_ActivityMemcpy5;
using synchronization_record = CUpti_ActivitySynchronization;
#else
using synchronization_record = CUpti_ActivitySynchronization2;
#endif
#if CUPTI_API_VERSION < 130000
using kernel_record = CUpti_ActivityKernel9;
#elif CUPTI_API_VERSION < 130100
using kernel_record = CUpti_ActivityKernel10;
#elif CUPTI_API_VERSION < 130300
using kernel_record = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION < 130400
using kernel_record = CUpti_ActivityKernel12;
#else
using kernel_record = CUpti_ActivityKernel13;
using copy_record = CUpti_ActivityMemcpy7;
using set_record = CUpti_ActivityMemset5;
#endif
#if CUPTI_API_VERSION < 130400
using set_record = CUpti_ActivityMemset4;
#if CUPTI_API_VERSION >= 26
using copy_record = CUpti_ActivityMemcpy6;
#endif
#endif
static_assert(sizes.kernel == sizeof(kernel_record));
static_assert(sizes.copy == sizeof(copy_record));
static_assert(sizes.peer_copy == sizeof(CUpti_ActivityMemcpyPtoP4));
static_assert(sizes.set == sizeof(set_record));
static_assert(sizes.memory == sizeof(memory_record));
static_assert(sizes.synchronization == sizeof(synchronization_record));
static_assert(sizes.overhead == sizeof(overhead_record));
#if CUPTI_API_VERSION >= 130000
static_assert(sizes.unified_memory == sizeof(CUpti_ActivityUnifiedMemoryCounter3));
#else
static_assert(sizes.unified_memory == sizeof(CUpti_ActivityUnifiedMemoryCounter2));
#endif

// ---- what callbacks receive ----
static_assert(sizeof(CUpti_CallbackData) == sizeof(ours::api_data));
SAME_FIELD(CUpti_CallbackData, callbackSite, ours::api_data, site);
SAME_FIELD(CUpti_CallbackData, functionName, ours::api_data, function_name);
SAME_FIELD(CUpti_CallbackData, functionParams, ours::api_data, function_params);
SAME_FIELD(CUpti_CallbackData, functionReturnValue, ours::api_data, return_value);
SAME_FIELD(CUpti_CallbackData, symbolName, ours::api_data, symbol_name);
SAME_FIELD(CUpti_CallbackData, context, ours::api_data, context);
SAME_FIELD(CUpti_CallbackData, contextUid, ours::api_data, context_uid);
SAME_FIELD(CUpti_CallbackData, correlationData, ours::api_data, correlation_data);
SAME_FIELD(CUpti_CallbackData, correlationId, ours::api_data, correlation_id);

static_assert(sizeof(CUpti_ResourceData) == sizeof(ours::resource_data));
SAME_FIELD(CUpti_ResourceData, context, ours::resource_data, context);
SAME_FIELD(CUpti_ResourceData, resourceHandle, ours::resource_data, stream);
SAME_FIELD(CUpti_ResourceData, resourceDescriptor, ours::resource_data, descriptor);

static_assert(sizeof(CUpti_GraphData) == sizeof(ours::graph_data));
SAME_FIELD(CUpti_GraphData, graph, ours::graph_data, graph);
SAME_FIELD(CUpti_GraphData, originalGraph, ours::graph_data, original_graph);
SAME_FIELD(CUpti_GraphData, node, ours::graph_data, node);
SAME_FIELD(CUpti_GraphData, originalNode, ours::graph_data, original_node);
SAME_FIELD(CUpti_GraphData, nodeType, ours::graph_data, node_type);
SAME_FIELD(CUpti_GraphData, dependency, ours::graph_data, dependency);
SAME_FIELD(CUpti_GraphData, graphExec, ours::graph_data, exec);

// ---- functions ----
SAME_CALLBACK(CUpti_CallbackFunc, ours::callback_function);
SAME_CALLBACK(CUpti_BuffersCallbackRequestFunc, ours::buffer_request_function);
SAME_CALLBACK(CUpti_BuffersCallbackCompleteFunc, ours::buffer_complete_function);
SAME_FUNCTION(cuptiGetVersion, table, get_version);
SAME_FUNCTION(cuptiSubscribe, table, subscribe);
SAME_FUNCTION(cuptiUnsubscribe, table, unsubscribe);
SAME_FUNCTION(cuptiEnableCallback, table, enable_callback);
SAME_FUNCTION(cuptiGetCallbackName, table, get_callback_name);
SAME_FUNCTION(cuptiActivityRegisterCallbacks, table, register_callbacks);
SAME_FUNCTION(cuptiActivityEnable, table, activity_enable);
SAME_FUNCTION(cuptiActivityEnableAndDump, table, activity_enable_and_dump);
SAME_FUNCTION(cuptiActivityDisable, table, activity_disable);
SAME_FUNCTION(cuptiActivityGetNextRecord, table, get_next_record);
SAME_FUNCTION(cuptiActivityGetNumDroppedRecords, table, get_dropped_records);
SAME_FUNCTION(cuptiActivityFlushPeriod, table, flush_period);
SAME_FUNCTION(cuptiActivityFlushAll, table, flush_all);
SAME_FUNCTION(cuptiActivityConfigureUnifiedMemoryCounter, table, configure_unified_memory);
SAME_FUNCTION(cuptiActivitySetAttribute, table, set_attribute);
SAME_FUNCTION(cuptiGetTimestamp, table, get_timestamp);
SAME_FUNCTION(cuptiGetGraphNodeId, table, get_graph_node_id);
#if CUPTI_API_VERSION >= 21
#endif
#if CUPTI_API_VERSION >= 130000
SAME_FUNCTION(cuptiSubscribe_v2, table, subscribe_v2);
using params = ours::subscriber_params;
SAME_FIELD(CUpti_SubscriberParams, structSize, params, struct_size);
SAME_FIELD(CUpti_SubscriberParams, subscriberName, params, subscriber_name);
SAME_FIELD(CUpti_SubscriberParams, oldSubscriberName, params, old_subscriber_name);
SAME_FIELD(CUpti_SubscriberParams, oldSubscriberSize, params, old_subscriber_capacity);
static_assert(CUpti_SubscriberParams_STRUCT_SIZE == 32 || CUpti_SubscriberParams_STRUCT_SIZE == 40);
static_assert(sizeof(CUpti_SubscriberParams) <= sizeof(params));
#endif

int main() { return 0; }

// ---- arguments of launches ----
SAME_FIELD(cuLaunchKernel_params, f, ours::launch_kernel_params, function);
static_assert(offsetof(cuLaunchKernel_params, gridDimX) ==
              offsetof(ours::launch_kernel_params, grid));
static_assert(offsetof(cuLaunchKernel_params, gridDimZ) ==
              offsetof(ours::launch_kernel_params, grid) + 2 * sizeof(std::uint32_t));
static_assert(offsetof(cuLaunchKernel_params, blockDimX) ==
              offsetof(ours::launch_kernel_params, block));
static_assert(offsetof(cuLaunchCooperativeKernel_params, gridDimX) ==
              offsetof(ours::launch_kernel_params, grid));
static_assert(offsetof(cuLaunchCooperativeKernel_params, blockDimX) ==
              offsetof(ours::launch_kernel_params, block));
SAME_FIELD(cuLaunchKernel_params, hStream, ours::launch_kernel_params, stream);
SAME_FIELD(cuLaunchCooperativeKernel_params, hStream, ours::launch_kernel_params, stream);
SAME_FIELD(CUlaunchConfig, hStream, ours::launch_config, stream);
SAME_FIELD(cuGraphLaunch_params, hGraph, ours::graph_launch_params, graph);
SAME_FIELD(cuGraphLaunch_params, hStream, ours::graph_launch_params, stream);
static_assert(offsetof(CUlaunchConfig, gridDimX) == offsetof(ours::launch_config, grid));
static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(ours::launch_config, block));
SAME_FIELD(cuLaunchKernelEx_params, config, ours::launch_kernel_ex_params, config);
SAME_FIELD(cuLaunchKernelEx_params, f, ours::launch_kernel_ex_params, function);
