// collect/counters/cupti_sampling.hpp against CUPTI's own headers, 12.6U2 to 13.x: it compiles or
// not.
#include <cuda.h>
#include <cupti.h>

#if CUPTI_API_VERSION >= 24 && __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>

#include <cstddef>
#include <strata/collect/counters/cupti_sampling.hpp>

#include "abi_common.hpp"
#include "abi_params.hpp"

namespace ours = strata::detail::cupti::sampling;
using ours::table;

SAME_VALUE(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL, ours::trigger::system_clock);
SAME_VALUE(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL, ours::trigger::gpu_time);
SAME_VALUE(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER, ours::stop_reason::other);
SAME_VALUE(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL, ours::stop_reason::image_full);
SAME_VALUE(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS, ours::stop_reason::end_of_records);

using enable = CUpti_PmSampling_Enable_Params;
SAME_PARAMS(CUpti_PmSampling_Enable_Params, enable_params, enable, cuptiPmSamplingEnable);
SAME_FIELD(enable, deviceIndex, ours::enable_params, device_index);
SAME_FIELD(enable, pPmSamplingObject, ours::enable_params, object);

SAME_PARAMS(CUpti_PmSampling_Disable_Params, disable_params, disable, cuptiPmSamplingDisable);
SAME_FIELD(CUpti_PmSampling_Disable_Params, pPmSamplingObject, ours::disable_params, object);
SAME_PARAMS(CUpti_PmSampling_Start_Params, start_params, start, cuptiPmSamplingStart);
SAME_FIELD(CUpti_PmSampling_Start_Params, pPmSamplingObject, ours::start_params, object);
SAME_PARAMS(CUpti_PmSampling_Stop_Params, stop_params, stop, cuptiPmSamplingStop);
SAME_FIELD(CUpti_PmSampling_Stop_Params, pPmSamplingObject, ours::stop_params, object);

using config = CUpti_PmSampling_SetConfig_Params;
SAME_PARAMS(CUpti_PmSampling_SetConfig_Params, set_config_params, set_config,
            cuptiPmSamplingSetConfig);
SAME_FIELD(config, pPmSamplingObject, ours::set_config_params, object);
SAME_FIELD(config, configSize, ours::set_config_params, config_size);
SAME_FIELD(config, pConfig, ours::set_config_params, config);
SAME_FIELD(config, hardwareBufferSize, ours::set_config_params, hardware_buffer_size);
SAME_FIELD(config, samplingInterval, ours::set_config_params, interval);
SAME_FIELD(config, triggerMode, ours::set_config_params, by);
#if CUPTI_API_VERSION >= 28
SAME_FIELD(config, hwBufferAppendMode, ours::set_config_params, keeps);
SAME_VALUE(CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST, ours::append::keep_oldest);
SAME_VALUE(CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST, ours::append::keep_latest);
#endif

using decode = CUpti_PmSampling_DecodeData_Params;
SAME_PARAMS(CUpti_PmSampling_DecodeData_Params, decode_params, decode, cuptiPmSamplingDecodeData);
SAME_FIELD(decode, pPmSamplingObject, ours::decode_params, object);
SAME_FIELD(decode, pCounterDataImage, ours::decode_params, image);
SAME_FIELD(decode, counterDataImageSize, ours::decode_params, size);
SAME_FIELD(decode, decodeStopReason, ours::decode_params, reason);
SAME_FIELD(decode, overflow, ours::decode_params, overflow);

using data_size = CUpti_PmSampling_GetCounterDataSize_Params;
SAME_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, counter_data_size_params, counter_data_size,
            cuptiPmSamplingGetCounterDataSize);
SAME_FIELD(data_size, pPmSamplingObject, ours::counter_data_size_params, object);
SAME_FIELD(data_size, pMetricNames, ours::counter_data_size_params, names);
SAME_FIELD(data_size, numMetrics, ours::counter_data_size_params, count);
SAME_FIELD(data_size, maxSamples, ours::counter_data_size_params, max_samples);
SAME_FIELD(data_size, counterDataSize, ours::counter_data_size_params, size);

using data_start = CUpti_PmSampling_CounterDataImage_Initialize_Params;
SAME_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params, counter_data_initialize_params,
            counter_data_initialize, cuptiPmSamplingCounterDataImageInitialize);
SAME_FIELD(data_start, pPmSamplingObject, ours::counter_data_initialize_params, object);
SAME_FIELD(data_start, counterDataSize, ours::counter_data_initialize_params, size);
SAME_FIELD(data_start, pCounterData, ours::counter_data_initialize_params, image);

using data_info = CUpti_PmSampling_GetCounterDataInfo_Params;
SAME_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, counter_data_info_params, counter_data_info,
            cuptiPmSamplingGetCounterDataInfo);
SAME_FIELD(data_info, pCounterDataImage, ours::counter_data_info_params, image);
SAME_FIELD(data_info, counterDataImageSize, ours::counter_data_info_params, size);
SAME_FIELD(data_info, numTotalSamples, ours::counter_data_info_params, samples);
SAME_FIELD(data_info, numPopulatedSamples, ours::counter_data_info_params, populated);
SAME_FIELD(data_info, numCompletedSamples, ours::counter_data_info_params, completed);

using info = CUpti_PmSampling_CounterData_GetSampleInfo_Params;
SAME_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, sample_info_params, sample_info,
            cuptiPmSamplingCounterDataGetSampleInfo);
SAME_FIELD(info, pPmSamplingObject, ours::sample_info_params, object);
SAME_FIELD(info, pCounterDataImage, ours::sample_info_params, image);
SAME_FIELD(info, counterDataImageSize, ours::sample_info_params, size);
SAME_FIELD(info, sampleIndex, ours::sample_info_params, sample);
SAME_FIELD(info, startTimestamp, ours::sample_info_params, begin);
SAME_FIELD(info, endTimestamp, ours::sample_info_params, end);

#endif  // CUPTI 12.6U2 and later

int main() { return 0; }
