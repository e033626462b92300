// collect/cuda/driver.hpp against cuda.h. It compiles or it does not.
#include <cuda.h>

#include <cstddef>
#include <strata/collect/cuda/driver.hpp>
#include "ceilings/ceiling_runs.hpp"

#include "abi_common.hpp"

namespace ours = strata::detail::driver;
using ours::attribute;
using ours::capture_status;
using ours::result;
using ours::table;

static_assert(sizeof(result) == sizeof(CUresult) &&
              sizeof(attribute) == sizeof(CUdevice_attribute));
static_assert(sizeof(ours::device_handle) == sizeof(CUdevice));
static_assert(sizeof(ours::uuid) == sizeof(CUuuid));
static_assert(sizeof(ours::device_pointer) == sizeof(CUdeviceptr));

SAME_VALUE(CUDA_SUCCESS, result::success);
SAME_VALUE(CUDA_ERROR_INVALID_VALUE, result::invalid_value);
SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY, result::out_of_memory);
SAME_VALUE(CUDA_ERROR_NOT_INITIALIZED, result::not_initialized);
SAME_VALUE(CUDA_ERROR_DEINITIALIZED, result::deinitialized);
SAME_VALUE(CUDA_ERROR_STUB_LIBRARY, result::stub_library);
SAME_VALUE(CUDA_ERROR_NO_DEVICE, result::no_device);
SAME_VALUE(CUDA_ERROR_INVALID_DEVICE, result::invalid_device);
SAME_VALUE(CUDA_ERROR_INVALID_CONTEXT, result::invalid_context);
SAME_VALUE(CUDA_ERROR_NOT_PERMITTED, result::not_permitted);
SAME_VALUE(CUDA_ERROR_NOT_SUPPORTED, result::not_supported);
SAME_VALUE(CUDA_ERROR_SYSTEM_NOT_READY, result::system_not_ready);
SAME_VALUE(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, result::system_driver_mismatch);
SAME_VALUE(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, result::compat_not_supported_on_device);
SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, result::stream_capture_unsupported);
SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, result::stream_capture_invalidated);
SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, result::stream_capture_implicit);
SAME_VALUE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, result::stream_capture_wrong_thread);
SAME_VALUE(CUDA_ERROR_UNKNOWN, result::unknown);

SAME_VALUE(CU_DEVICE_ATTRIBUTE_WARP_SIZE, attribute::warp_size);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, attribute::clock_rate_khz);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, attribute::multiprocessor_count);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, attribute::memory_clock_rate_khz);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, attribute::memory_bus_width_bits);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, attribute::l2_cache_size_bytes);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, attribute::compute_capability_major);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, attribute::compute_capability_minor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
           attribute::threads_per_multiprocessor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
           attribute::shared_bytes_per_multiprocessor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
           attribute::registers_per_multiprocessor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, attribute::blocks_per_multiprocessor);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
           attribute::reserved_shared_bytes_per_block);

SAME_VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ours::pointer_attribute::memory_type);
SAME_VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ours::pointer_attribute::device_ordinal);
SAME_VALUE(CU_MEMORYTYPE_HOST, ours::memory_type::host);
SAME_VALUE(CU_MEMORYTYPE_DEVICE, ours::memory_type::device);
static_assert(sizeof(ours::memory_type) == sizeof(CUmemorytype) &&
              sizeof(ours::pointer_attribute) == sizeof(CUpointer_attribute));

SAME_VALUE(CU_STREAM_CAPTURE_STATUS_NONE, capture_status::none);
SAME_VALUE(CU_STREAM_CAPTURE_STATUS_ACTIVE, capture_status::active);
SAME_VALUE(CU_STREAM_CAPTURE_STATUS_INVALIDATED, capture_status::invalidated);

SAME_FUNCTION(cuInit, table, init);
SAME_FUNCTION(cuDriverGetVersion, table, driver_version);
SAME_FUNCTION(cuDeviceGetCount, table, device_count);
SAME_FUNCTION(cuDeviceGet, table, device_get);
SAME_FUNCTION(cuDeviceGetName, table, device_name);
SAME_FUNCTION(cuDeviceGetAttribute, table, device_attribute);
SAME_FUNCTION(cuDeviceTotalMem, table, device_total_memory);
SAME_FUNCTION(cuDeviceGetUuid, table, device_uuid);
SAME_FUNCTION(cuDeviceCanAccessPeer, table, can_access_peer);
SAME_FUNCTION(cuCtxGetCurrent, table, context_current);
SAME_FUNCTION(cuCtxGetDevice, table, context_device);
SAME_FUNCTION(cuCtxPushCurrent, table, context_push);
SAME_FUNCTION(cuCtxPopCurrent, table, context_pop);
SAME_FUNCTION(cuCtxSynchronize, table, context_synchronize);
#if CUDA_VERSION >= 12050
SAME_FUNCTION(cuCtxRecordEvent, table, context_record_event);
#endif
SAME_FUNCTION(cuEventCreate, table, event_create);
SAME_FUNCTION(cuEventDestroy, table, event_destroy);
SAME_FUNCTION(cuEventQuery, table, event_query);
SAME_FUNCTION(cuStreamQuery, table, stream_query);
SAME_FUNCTION(cuThreadExchangeStreamCaptureMode, table, exchange_capture_mode);
SAME_FUNCTION(cuStreamIsCapturing, table, stream_is_capturing);
SAME_FUNCTION(cuPointerGetAttributes, table, pointer_attributes);
SAME_FUNCTION(cuGetErrorName, table, error_name);

using ours::function_attribute;
using ours::work_table;
SAME_VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           function_attribute::max_dynamic_shared_bytes);
SAME_VALUE(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function_attribute::shared_carveout);
SAME_FUNCTION(cuDevicePrimaryCtxRetain, work_table, primary_retain);
SAME_FUNCTION(cuDevicePrimaryCtxRelease, work_table, primary_release);
SAME_FUNCTION(cuMemGetInfo, work_table, memory_info);
SAME_FUNCTION(cuMemAlloc, work_table, memory_allocate);
SAME_FUNCTION(cuMemFree, work_table, memory_free);
SAME_FUNCTION(cuMemcpyDtoHAsync, work_table, copy_to_host);
SAME_FUNCTION(cuMemcpyDtoDAsync, work_table, copy_on_device);
SAME_FUNCTION(cuStreamCreate, work_table, stream_create);
SAME_FUNCTION(cuStreamDestroy, work_table, stream_destroy);
SAME_FUNCTION(cuStreamSynchronize, work_table, stream_synchronize);
SAME_FUNCTION(cuEventCreate, work_table, event_create);
SAME_FUNCTION(cuEventDestroy, work_table, event_destroy);
SAME_FUNCTION(cuEventRecord, work_table, event_record);
SAME_FUNCTION(cuEventElapsedTime, work_table, event_elapsed);
SAME_FUNCTION(cuModuleLoadDataEx, work_table, module_load);
SAME_FUNCTION(cuModuleUnload, work_table, module_unload);
SAME_FUNCTION(cuModuleGetFunction, work_table, module_function);
SAME_FUNCTION(cuFuncSetAttribute, work_table, function_set);
SAME_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, work_table, occupancy);
SAME_FUNCTION(cuLaunchKernel, work_table, launch);

int main() { return 0; }
