// collect/nvtx/nvtx_ranges.hpp and collect/nvtx/cupti_nvtx.hpp against NVTX's and CUPTI's own
// headers. It compiles or it does not.
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/collect/nvtx/nccl_payloads.hpp>
#include <strata/collect/nvtx/nvtx_ranges.hpp>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <cuda.h>
#include <cupti.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <generated_nvtx_meta.h>  // includes no NVTX by itself

#include <cstddef>

#include "abi_common.hpp"

namespace nvtx = strata::detail::nvtx;
namespace ours = strata::detail::cupti;

// ---- what is said of a range ----
SAME_VALUE(NVTX_MESSAGE_UNKNOWN, nvtx::message_kind::none);
SAME_VALUE(NVTX_MESSAGE_TYPE_ASCII, nvtx::message_kind::text);
SAME_VALUE(NVTX_MESSAGE_TYPE_UNICODE, nvtx::message_kind::wide_text);
SAME_VALUE(NVTX_MESSAGE_TYPE_REGISTERED, nvtx::message_kind::registered);
SAME_VALUE(NVTX_NO_PUSH_POP_TRACKING, nvtx::no_level);
static_assert(sizeof(nvtxEventAttributes_t) == sizeof(nvtx::event));
static_assert(sizeof(nvtxRangeId_t) == sizeof(nvtx::range_id));
SAME_FIELD(nvtxEventAttributes_t, version, nvtx::event, version);
SAME_FIELD(nvtxEventAttributes_t, size, nvtx::event, size);
SAME_FIELD(nvtxEventAttributes_t, category, nvtx::event, category);
SAME_FIELD(nvtxEventAttributes_t, colorType, nvtx::event, color_kind);
SAME_FIELD(nvtxEventAttributes_t, color, nvtx::event, color);
SAME_FIELD(nvtxEventAttributes_t, payloadType, nvtx::event, payload_kind);
SAME_FIELD(nvtxEventAttributes_t, reserved0, nvtx::event, reserved);
SAME_FIELD(nvtxEventAttributes_t, payload, nvtx::event, payload);
SAME_FIELD(nvtxEventAttributes_t, messageType, nvtx::event, kind);
SAME_FIELD(nvtxEventAttributes_t, message, nvtx::event, message);

// ---- the tool's side ----
SAME_VALUE(NVTX_ETID_CALLBACKS, nvtx::callbacks_table);
SAME_VALUE(NVTX_CB_MODULE_CORE, nvtx::module_id::core);
SAME_VALUE(NVTX_CB_MODULE_CORE2, nvtx::module_id::core2);
SAME_VALUE(NVTX_CBID_CORE_MarkEx, nvtx::core_id::mark_event);
SAME_VALUE(NVTX_CBID_CORE_MarkA, nvtx::core_id::mark);
SAME_VALUE(NVTX_CBID_CORE_MarkW, nvtx::core_id::mark_wide);
SAME_VALUE(NVTX_CBID_CORE_RangeStartEx, nvtx::core_id::start_event);
SAME_VALUE(NVTX_CBID_CORE_RangeStartA, nvtx::core_id::start);
SAME_VALUE(NVTX_CBID_CORE_RangeStartW, nvtx::core_id::start_wide);
SAME_VALUE(NVTX_CBID_CORE_RangeEnd, nvtx::core_id::end);
SAME_VALUE(NVTX_CBID_CORE_RangePushEx, nvtx::core_id::push_event);
SAME_VALUE(NVTX_CBID_CORE_RangePushA, nvtx::core_id::push);
SAME_VALUE(NVTX_CBID_CORE_RangePushW, nvtx::core_id::push_wide);
SAME_VALUE(NVTX_CBID_CORE_RangePop, nvtx::core_id::pop);
SAME_VALUE(NVTX_CBID_CORE2_DomainMarkEx, nvtx::core2_id::domain_mark);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangeStartEx, nvtx::core2_id::domain_start);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangeEnd, nvtx::core2_id::domain_end);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangePushEx, nvtx::core2_id::domain_push);
SAME_VALUE(NVTX_CBID_CORE2_DomainRangePop, nvtx::core2_id::domain_pop);
SAME_VALUE(NVTX_CBID_CORE2_DomainRegisterStringA, nvtx::core2_id::register_string);
SAME_VALUE(NVTX_CBID_CORE2_DomainRegisterStringW, nvtx::core2_id::register_string_wide);
SAME_VALUE(NVTX_CBID_CORE2_DomainCreateA, nvtx::core2_id::create_domain);
SAME_VALUE(NVTX_CBID_CORE2_DomainCreateW, nvtx::core2_id::create_domain_wide);
SAME_VALUE(NVTX_CBID_CORE2_DomainDestroy, nvtx::core2_id::destroy_domain);
SAME_FIELD(NvtxExportTableCallbacks, struct_size, nvtx::export_callbacks, struct_size);
SAME_FIELD(NvtxExportTableCallbacks, GetModuleFunctionTable, nvtx::export_callbacks,
           get_module_table);
static_assert(sizeof(NvtxExportTableCallbacks) == sizeof(nvtx::export_callbacks));
SAME_CALLBACK(NvtxGetExportTableFunc_t, nvtx::export_table_function);

// ---- the extension with payloads ----
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
SAME_VALUE(NVTX_EXT_PAYLOAD_MODULEID, nvtx::payload_extension);
SAME_VALUE(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, nvtx::payload_id::add_schema);
SAME_VALUE(NVTX_PAYLOAD_TYPE_EXT, nvtx::extended_payload);
#if defined(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START)
SAME_VALUE(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START, nvtx::first_schema);
#endif
SAME_VALUE(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, nvtx::uint64_entry);
SAME_VALUE(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, nvtx::size_entry);
static_assert(sizeof(nvtxPayloadData_t) == sizeof(nvtx::payload_data));
SAME_FIELD(nvtxPayloadData_t, schemaId, nvtx::payload_data, schema);
SAME_FIELD(nvtxPayloadData_t, size, nvtx::payload_data, size);
SAME_FIELD(nvtxPayloadData_t, payload, nvtx::payload_data, data);
static_assert(sizeof(nvtxPayloadSchemaEntry_t) == sizeof(nvtx::schema_entry));
SAME_FIELD(nvtxPayloadSchemaEntry_t, type, nvtx::schema_entry, type);
SAME_FIELD(nvtxPayloadSchemaEntry_t, name, nvtx::schema_entry, name);
SAME_FIELD(nvtxPayloadSchemaEntry_t, offset, nvtx::schema_entry, offset);
static_assert(sizeof(nvtxPayloadSchemaAttr_t) == sizeof(nvtx::schema));
SAME_FIELD(nvtxPayloadSchemaAttr_t, entries, nvtx::schema, entries);
SAME_FIELD(nvtxPayloadSchemaAttr_t, numEntries, nvtx::schema, entry_count);
SAME_FIELD(nvtxPayloadSchemaAttr_t, schemaId, nvtx::schema, id);
SAME_VALUE(NVTX3EXT_CBID_nvtxRangePushPayload, nvtx::payload_id::push);
SAME_VALUE(NVTX3EXT_CBID_nvtxRangePopPayload, nvtx::payload_id::pop);
SAME_VALUE(NVTX3EXT_CBID_nvtxRangeStartPayload, nvtx::payload_id::start);
SAME_VALUE(NVTX3EXT_CBID_nvtxRangeEndPayload, nvtx::payload_id::end);
static_assert(sizeof(nvtxExtModuleSegment_t) == sizeof(nvtx::extension_segment));
SAME_FIELD(nvtxExtModuleSegment_t, slotCount, nvtx::extension_segment, slot_count);
SAME_FIELD(nvtxExtModuleSegment_t, functionSlots, nvtx::extension_segment, slots);
static_assert(sizeof(nvtxExtModuleInfo_t) == sizeof(nvtx::extension));
SAME_FIELD(nvtxExtModuleInfo_t, structSize, nvtx::extension, struct_size);
SAME_FIELD(nvtxExtModuleInfo_t, moduleId, nvtx::extension, which);
SAME_FIELD(nvtxExtModuleInfo_t, segmentsCount, nvtx::extension, segment_count);
SAME_FIELD(nvtxExtModuleInfo_t, segments, nvtx::extension, segments);
#endif

// ---- CUPTI's callbacks ----
using ours::nvtx_id;
SAME_VALUE(CUPTI_CBID_NVTX_nvtxMarkA, nvtx_id::mark);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxMarkW, nvtx_id::mark_wide);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxMarkEx, nvtx_id::mark_event);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangeStartA, nvtx_id::start);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangeStartW, nvtx_id::start_wide);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangeStartEx, nvtx_id::start_event);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangeEnd, nvtx_id::end);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangePushA, nvtx_id::push);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangePushW, nvtx_id::push_wide);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangePushEx, nvtx_id::push_event);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxRangePop, nvtx_id::pop);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainMarkEx, nvtx_id::domain_mark);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRangeStartEx, nvtx_id::domain_start);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRangeEnd, nvtx_id::domain_end);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, nvtx_id::domain_push);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRangePop, nvtx_id::domain_pop);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, nvtx_id::register_string);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainRegisterStringW, nvtx_id::register_string_wide);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainCreateA, nvtx_id::create_domain);
SAME_VALUE(CUPTI_CBID_NVTX_nvtxDomainCreateW, nvtx_id::create_domain_wide);
SAME_FIELD(CUpti_NvtxData, functionName, ours::nvtx_data, function_name);
SAME_FIELD(CUpti_NvtxData, functionParams, ours::nvtx_data, parameters);
SAME_FIELD(CUpti_NvtxData, functionReturnValue, ours::nvtx_data, result);
SAME_FIELD(nvtxRangePushA_params, message, ours::nvtx_parameters, first);
SAME_FIELD(nvtxRangeStartW_params, message, ours::nvtx_parameters, first);
SAME_FIELD(nvtxMarkA_params, message, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainCreateA_params, name, ours::nvtx_parameters, first);
SAME_FIELD(nvtxRangePushEx_params, eventAttrib, ours::nvtx_parameters, first);
SAME_FIELD(nvtxRangeStartEx_params, eventAttrib, ours::nvtx_parameters, first);
SAME_FIELD(nvtxMarkEx_params, eventAttrib, ours::nvtx_parameters, first);
SAME_FIELD(nvtxRangeEnd_params, id, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainRangePop_params, domain, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainRangePushEx_params, domain, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainRangePushEx_params, core.eventAttrib, ours::nvtx_parameters, second);
SAME_FIELD(nvtxDomainRangeStartEx_params, core.eventAttrib, ours::nvtx_parameters, second);
SAME_FIELD(nvtxDomainMarkEx_params, core.eventAttrib, ours::nvtx_parameters, second);
SAME_FIELD(nvtxDomainRangeEnd_params, domain, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainRangeEnd_params, core.id, ours::nvtx_parameters, second);
SAME_FIELD(nvtxDomainRegisterStringA_params, domain, ours::nvtx_parameters, first);
SAME_FIELD(nvtxDomainRegisterStringA_params, string, ours::nvtx_parameters, second);
SAME_FIELD(nvtxDomainRegisterStringW_params, string, ours::nvtx_parameters, second);
#endif

int main() { return 0; }
