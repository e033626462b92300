#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
#define STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/nvtx/nvtx_types.hpp>

#include <cstdint>

// The part of CUPTI that tells NVTX calls; tests/package/abi_nvtx.cpp holds it against the
// toolkit's headers.

STRATA_BEGIN
namespace detail {
namespace cupti {

/// CUpti_nvtx_api_trace_cbid: the NVTX calls in use.
enum class nvtx_id : std::uint32_t {
  mark = 1,
  mark_wide = 2,
  mark_event = 3,
  start = 4,
  start_wide = 5,
  start_event = 6,
  end = 7,
  push = 8,
  push_wide = 9,
  push_event = 10,
  pop = 11,
  domain_mark = 30,
  domain_start = 31,
  domain_end = 32,
  domain_push = 33,
  domain_pop = 34,
  register_string = 39,
  register_string_wide = 40,
  create_domain = 41,
  create_domain_wide = 42
};

inline constexpr nvtx_id nvtx_ids[] = {nvtx_id::mark,
                                       nvtx_id::mark_wide,
                                       nvtx_id::mark_event,
                                       nvtx_id::start,
                                       nvtx_id::start_wide,
                                       nvtx_id::start_event,
                                       nvtx_id::end,
                                       nvtx_id::push,
                                       nvtx_id::push_wide,
                                       nvtx_id::push_event,
                                       nvtx_id::pop,
                                       nvtx_id::domain_mark,
                                       nvtx_id::domain_start,
                                       nvtx_id::domain_end,
                                       nvtx_id::domain_push,
                                       nvtx_id::domain_pop,
                                       nvtx_id::register_string,
                                       nvtx_id::register_string_wide,
                                       nvtx_id::create_domain,
                                       nvtx_id::create_domain_wide};

/// CUpti_NvtxData: domain nvtx.
struct nvtx_data {
  char const* function_name;
  void const* parameters;
  void const* result;  // points to what the call returns
};

/// The parameters of the calls, as generated_nvtx_meta.h has them: at most a domain and one more.
struct nvtx_text_parameters {
  void const* text;
};
struct nvtx_event_parameters {
  nvtx::event const* event;
};
struct nvtx_end_parameters {
  nvtx::range_id id;
};
struct nvtx_domain_parameters {
  void const* domain;
};
struct nvtx_domain_event_parameters {
  void const* domain;
  nvtx::event const* event;
};
struct nvtx_domain_end_parameters {
  void const* domain;
  nvtx::range_id id;
};
struct nvtx_domain_text_parameters {
  void const* domain;
  void const* text;
};

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
