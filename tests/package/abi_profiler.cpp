// collect/counters/cupti_profiler.hpp against CUPTI's own headers, 12.6U2 to 13.x: it compiles or
// not.
#include <cuda.h>
#include <cupti.h>

#if CUPTI_API_VERSION >= 24 && __has_include(<cupti_range_profiler.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_library.hpp>

#include "abi_common.hpp"
#include "abi_params.hpp"

namespace ours = strata::detail::cupti::profiler;
using ours::table;

// ---- codes ----
#if CUDA_VERSION >= 13000
SAME_VALUE(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, strata::detail::mps_enabled);
#endif
SAME_VALUE(CUPTI_METRIC_TYPE_COUNTER, ours::metric_type::counter);
SAME_VALUE(CUPTI_METRIC_TYPE_RATIO, ours::metric_type::ratio);
SAME_VALUE(CUPTI_METRIC_TYPE_THROUGHPUT, ours::metric_type::throughput);
SAME_VALUE(CUPTI_PROFILER_TYPE_RANGE_PROFILER, ours::profiler_type::range);
SAME_VALUE(CUPTI_PROFILER_TYPE_PM_SAMPLING, ours::profiler_type::pm_sampling);
SAME_VALUE(CUPTI_AutoRange, ours::range_mode::automatic);
SAME_VALUE(CUPTI_UserRange, ours::range_mode::user);
SAME_VALUE(CUPTI_ApplicationReplay, ours::replay_mode::application);
SAME_VALUE(CUPTI_KernelReplay, ours::replay_mode::kernel);
SAME_VALUE(CUPTI_UserReplay, ours::replay_mode::user);
SAME_VALUE(CUPTI_PROFILER_RANGE_PROFILING, ours::api_kind::range);
SAME_VALUE(CUPTI_PROFILER_PC_SAMPLING, ours::api_kind::pc_sampling);
SAME_VALUE(CUPTI_PROFILER_SASS_METRICS, ours::api_kind::sass);
SAME_VALUE(CUPTI_PROFILER_PM_SAMPLING, ours::api_kind::pm_sampling);
SAME_VALUE(CUPTI_PROFILER_CONFIGURATION_UNKNOWN, ours::support::unknown);
SAME_VALUE(CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, ours::support::no);
SAME_VALUE(CUPTI_PROFILER_CONFIGURATION_DISABLED, ours::support::disabled);
SAME_VALUE(CUPTI_PROFILER_CONFIGURATION_SUPPORTED, ours::support::yes);
#if CUPTI_API_VERSION >= 130100
SAME_VALUE(CUPTI_METRIC_COLLECTION_SCOPE_CONTEXT, ours::metric_scope::context);
SAME_VALUE(CUPTI_METRIC_COLLECTION_SCOPE_DEVICE, ours::metric_scope::device);
SAME_VALUE(CUPTI_METRIC_COLLECTION_SCOPE_INVALID, ours::metric_scope::unknown);
#endif
#if CUPTI_API_VERSION >= 130300
SAME_VALUE(CUPTI_PROFILER_CONFIGURATION_LIMITED_SUPPORT, ours::support::limited);
#endif
#if CUPTI_API_VERSION >= 130400
SAME_VALUE(CUPTI_CACHE_CONTROL_MODE_NONE, ours::cache_control::none);
SAME_VALUE(CUPTI_CACHE_CONTROL_MODE_ALL, ours::cache_control::invalidate_all);
SAME_VALUE(CUPTI_CACHE_CONTROL_MODE_L2, ours::cache_control::l2);
#endif

// ---- the process and the device ----
SAME_PARAMS(CUpti_Profiler_Initialize_Params, initialize_params, initialize,
            cuptiProfilerInitialize);

using supported = CUpti_Profiler_DeviceSupported_Params;
SAME_PARAMS(CUpti_Profiler_DeviceSupported_Params, device_supported_params, device_supported,
            cuptiProfilerDeviceSupported);
SAME_FIELD(supported, cuDevice, ours::device_supported_params, device);
SAME_FIELD(supported, isSupported, ours::device_supported_params, supported);
SAME_FIELD(supported, architecture, ours::device_supported_params, architecture);
SAME_FIELD(supported, sli, ours::device_supported_params, sli);
SAME_FIELD(supported, vGpu, ours::device_supported_params, virtual_gpu);
SAME_FIELD(supported, confidentialCompute, ours::device_supported_params, confidential_computing);
SAME_FIELD(supported, cmp, ours::device_supported_params, cmp);
SAME_FIELD(supported, wsl, ours::device_supported_params, wsl);
SAME_FIELD(supported, api, ours::device_supported_params, api);
#if CUPTI_API_VERSION >= 130100
SAME_FIELD(supported, sku, ours::device_supported_params, sku);
#endif

using chip = CUpti_Device_GetChipName_Params;
SAME_PARAMS(CUpti_Device_GetChipName_Params, chip_name_params, chip_name, cuptiDeviceGetChipName);
SAME_FIELD(chip, deviceIndex, ours::chip_name_params, device_index);
SAME_FIELD(chip, pChipName, ours::chip_name_params, name);

SAME_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, device_availability_params,
            device_availability, cuptiPmSamplingGetCounterAvailability);
using whole = CUpti_PmSampling_GetCounterAvailability_Params;
SAME_FIELD(whole, deviceIndex, ours::device_availability_params, device_index);
SAME_FIELD(whole, counterAvailabilityImageSize, ours::device_availability_params, image_size);
SAME_FIELD(whole, pCounterAvailabilityImage, ours::device_availability_params, image);
using available = CUpti_Profiler_GetCounterAvailability_Params;
SAME_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, counter_availability_params,
            counter_availability, cuptiProfilerGetCounterAvailability);
SAME_FIELD(available, ctx, ours::counter_availability_params, context);
SAME_FIELD(available, counterAvailabilityImageSize, ours::counter_availability_params, image_size);
SAME_FIELD(available, pCounterAvailabilityImage, ours::counter_availability_params, image);
#if CUPTI_API_VERSION >= 130100
SAME_FIELD(available, bAllowDeviceLevelCounters, ours::counter_availability_params,
           device_wide_counters);
#endif

// ---- the host API ----
using host = CUpti_Profiler_Host_Initialize_Params;
SAME_PARAMS(CUpti_Profiler_Host_Initialize_Params, host_initialize_params, host_initialize,
            cuptiProfilerHostInitialize);
SAME_FIELD(host, profilerType, ours::host_initialize_params, type);
SAME_FIELD(host, pChipName, ours::host_initialize_params, chip);
SAME_FIELD(host, pCounterAvailabilityImage, ours::host_initialize_params, availability);
SAME_FIELD(host, pHostObject, ours::host_initialize_params, object);
#if CUPTI_API_VERSION >= 130200
SAME_FIELD(host, pSinglePassMetricSetName, ours::host_initialize_params, single_pass_set);
#endif

using host_end = CUpti_Profiler_Host_Deinitialize_Params;
SAME_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, host_deinitialize_params, host_deinitialize,
            cuptiProfilerHostDeinitialize);
SAME_FIELD(host_end, pHostObject, ours::host_deinitialize_params, object);

using chips = CUpti_Profiler_Host_GetSupportedChips_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, supported_chips_params, supported_chips,
            cuptiProfilerHostGetSupportedChips);
SAME_FIELD(chips, numChips, ours::supported_chips_params, count);
SAME_FIELD(chips, ppChipNames, ours::supported_chips_params, names);

using base = CUpti_Profiler_Host_GetBaseMetrics_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, base_metrics_params, base_metrics,
            cuptiProfilerHostGetBaseMetrics);
SAME_FIELD(base, pHostObject, ours::base_metrics_params, object);
SAME_FIELD(base, metricType, ours::base_metrics_params, type);
SAME_FIELD(base, ppMetricNames, ours::base_metrics_params, names);
SAME_FIELD(base, numMetrics, ours::base_metrics_params, count);

using properties = CUpti_Profiler_Host_GetMetricProperties_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, metric_properties_params,
            metric_properties, cuptiProfilerHostGetMetricProperties);
SAME_FIELD(properties, pHostObject, ours::metric_properties_params, object);
SAME_FIELD(properties, pMetricName, ours::metric_properties_params, metric);
SAME_FIELD(properties, pDescription, ours::metric_properties_params, description);
SAME_FIELD(properties, pHwUnit, ours::metric_properties_params, hardware_unit);
SAME_FIELD(properties, pDimUnit, ours::metric_properties_params, dimension);
SAME_FIELD(properties, metricType, ours::metric_properties_params, type);
#if CUPTI_API_VERSION >= 130100
SAME_FIELD(properties, metricCollectionScope, ours::metric_properties_params, scope);
#endif

using add = CUpti_Profiler_Host_ConfigAddMetrics_Params;
SAME_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add_metrics_params, add_metrics,
            cuptiProfilerHostConfigAddMetrics);
SAME_FIELD(add, pHostObject, ours::add_metrics_params, object);
SAME_FIELD(add, ppMetricNames, ours::add_metrics_params, names);
SAME_FIELD(add, numMetrics, ours::add_metrics_params, count);

using image_size = CUpti_Profiler_Host_GetConfigImageSize_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, config_image_size_params,
            config_image_size, cuptiProfilerHostGetConfigImageSize);
SAME_FIELD(image_size, pHostObject, ours::config_image_size_params, object);
SAME_FIELD(image_size, configImageSize, ours::config_image_size_params, size);

using image = CUpti_Profiler_Host_GetConfigImage_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, config_image_params, config_image,
            cuptiProfilerHostGetConfigImage);
SAME_FIELD(image, pHostObject, ours::config_image_params, object);
SAME_FIELD(image, configImageSize, ours::config_image_params, size);
SAME_FIELD(image, pConfigImage, ours::config_image_params, image);

using passes = CUpti_Profiler_Host_GetNumOfPasses_Params;
SAME_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, pass_count_params, pass_count,
            cuptiProfilerHostGetNumOfPasses);
SAME_FIELD(passes, configImageSize, ours::pass_count_params, size);
SAME_FIELD(passes, pConfigImage, ours::pass_count_params, image);
SAME_FIELD(passes, numOfPasses, ours::pass_count_params, passes);

using values = CUpti_Profiler_Host_EvaluateToGpuValues_Params;
SAME_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate_params, evaluate,
            cuptiProfilerHostEvaluateToGpuValues);
SAME_FIELD(values, pHostObject, ours::evaluate_params, object);
SAME_FIELD(values, pCounterDataImage, ours::evaluate_params, counter_data);
SAME_FIELD(values, counterDataImageSize, ours::evaluate_params, counter_data_size);
SAME_FIELD(values, rangeIndex, ours::evaluate_params, range);
SAME_FIELD(values, ppMetricNames, ours::evaluate_params, names);
SAME_FIELD(values, numMetrics, ours::evaluate_params, count);
SAME_FIELD(values, pMetricValues, ours::evaluate_params, values);

// ---- the Range Profiler ----
using enable = CUpti_RangeProfiler_Enable_Params;
SAME_PARAMS(CUpti_RangeProfiler_Enable_Params, enable_params, enable, cuptiRangeProfilerEnable);
SAME_FIELD(enable, ctx, ours::enable_params, context);
SAME_FIELD(enable, pRangeProfilerObject, ours::enable_params, object);
#if CUPTI_API_VERSION >= 130400
SAME_FIELD(enable, cacheControlMode, ours::enable_params, caches);
#endif

SAME_PARAMS(CUpti_RangeProfiler_Disable_Params, disable_params, disable, cuptiRangeProfilerDisable);
SAME_FIELD(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject, ours::disable_params, object);
SAME_PARAMS(CUpti_RangeProfiler_Start_Params, start_params, start, cuptiRangeProfilerStart);
SAME_FIELD(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject, ours::start_params, object);
SAME_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop_range_params, pop_range,
            cuptiRangeProfilerPopRange);
SAME_FIELD(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject, ours::pop_range_params,
           object);

using stop = CUpti_RangeProfiler_Stop_Params;
SAME_PARAMS(CUpti_RangeProfiler_Stop_Params, stop_params, stop, cuptiRangeProfilerStop);
SAME_FIELD(stop, pRangeProfilerObject, ours::stop_params, object);
SAME_FIELD(stop, passIndex, ours::stop_params, pass_index);
SAME_FIELD(stop, targetNestingLevel, ours::stop_params, target_nesting_level);
SAME_FIELD(stop, isAllPassSubmitted, ours::stop_params, all_passes_submitted);

using push = CUpti_RangeProfiler_PushRange_Params;
SAME_PARAMS(CUpti_RangeProfiler_PushRange_Params, push_range_params, push_range,
            cuptiRangeProfilerPushRange);
SAME_FIELD(push, pRangeProfilerObject, ours::push_range_params, object);
SAME_FIELD(push, pRangeName, ours::push_range_params, name);

using config = CUpti_RangeProfiler_SetConfig_Params;
SAME_PARAMS(CUpti_RangeProfiler_SetConfig_Params, set_config_params, set_config,
            cuptiRangeProfilerSetConfig);
SAME_FIELD(config, pRangeProfilerObject, ours::set_config_params, object);
SAME_FIELD(config, configSize, ours::set_config_params, config_size);
SAME_FIELD(config, pConfig, ours::set_config_params, config);
SAME_FIELD(config, counterDataImageSize, ours::set_config_params, counter_data_size);
SAME_FIELD(config, pCounterDataImage, ours::set_config_params, counter_data);
SAME_FIELD(config, range, ours::set_config_params, range);
SAME_FIELD(config, replayMode, ours::set_config_params, replay);
SAME_FIELD(config, maxRangesPerPass, ours::set_config_params, max_ranges_per_pass);
SAME_FIELD(config, numNestingLevels, ours::set_config_params, nesting_levels);
SAME_FIELD(config, minNestingLevel, ours::set_config_params, min_nesting_level);
SAME_FIELD(config, passIndex, ours::set_config_params, pass_index);
SAME_FIELD(config, targetNestingLevel, ours::set_config_params, target_nesting_level);

using decode = CUpti_RangeProfiler_DecodeData_Params;
SAME_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode_params, decode,
            cuptiRangeProfilerDecodeData);
SAME_FIELD(decode, pRangeProfilerObject, ours::decode_params, object);
SAME_FIELD(decode, numOfRangeDropped, ours::decode_params, ranges_dropped);

using data_size = CUpti_RangeProfiler_GetCounterDataSize_Params;
SAME_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, counter_data_size_params,
            counter_data_size, cuptiRangeProfilerGetCounterDataSize);
SAME_FIELD(data_size, pRangeProfilerObject, ours::counter_data_size_params, object);
SAME_FIELD(data_size, pMetricNames, ours::counter_data_size_params, names);
SAME_FIELD(data_size, numMetrics, ours::counter_data_size_params, count);
SAME_FIELD(data_size, maxNumOfRanges, ours::counter_data_size_params, max_ranges);
SAME_FIELD(data_size, maxNumRangeTreeNodes, ours::counter_data_size_params, max_tree_nodes);
SAME_FIELD(data_size, counterDataSize, ours::counter_data_size_params, size);

using data_start = CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
SAME_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counter_data_initialize_params,
            counter_data_initialize, cuptiRangeProfilerCounterDataImageInitialize);
SAME_FIELD(data_start, pRangeProfilerObject, ours::counter_data_initialize_params, object);
SAME_FIELD(data_start, counterDataSize, ours::counter_data_initialize_params, size);
SAME_FIELD(data_start, pCounterData, ours::counter_data_initialize_params, image);

using data_info = CUpti_RangeProfiler_GetCounterDataInfo_Params;
SAME_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, counter_data_info_params,
            counter_data_info, cuptiRangeProfilerGetCounterDataInfo);
SAME_FIELD(data_info, pCounterDataImage, ours::counter_data_info_params, image);
SAME_FIELD(data_info, counterDataImageSize, ours::counter_data_info_params, size);
SAME_FIELD(data_info, numTotalRanges, ours::counter_data_info_params, ranges);

using info = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params;
SAME_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, range_info_params, range_info,
            cuptiRangeProfilerCounterDataGetRangeInfo);
SAME_FIELD(info, pCounterDataImage, ours::range_info_params, image);
SAME_FIELD(info, counterDataImageSize, ours::range_info_params, size);
SAME_FIELD(info, rangeIndex, ours::range_info_params, range);
SAME_FIELD(info, rangeDelimiter, ours::range_info_params, delimiter);
SAME_FIELD(info, rangeName, ours::range_info_params, name);

#endif  // CUPTI 12.6U2 and later

int main() { return 0; }
