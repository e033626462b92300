// A program with NVTX ranges and none of Strata's. With TEST_WITH_SESSION one of its files includes
// Strata, which is all that it knows of it.
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <cstdio>
#include <thread>
#if TEST_WITH_SESSION
#include <strata/strata.hpp>
#endif

namespace {

nvtxEventAttributes_t event(nvtxStringHandle_t text) {
  nvtxEventAttributes_t e{};
  e.version = NVTX_VERSION;
  e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  e.message.registered = text;
  return e;
}

/// Ranges that end with a payload, as NCCL's do, and those that also begin with one.
void use_payloads(nvtxDomainHandle_t domain, nvtxEventAttributes_t const& task) {
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
  long const bytes = 4096;
  nvtxPayloadData_t const payload{NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof bytes, &bytes};
  for (int i = 0; i < 3; ++i) {
    nvtxDomainRangePushEx(domain, &task);
    nvtxRangePopPayload(domain, &payload, 1);
    nvtxRangePushA("after");
    nvtxRangePop();
  }
  nvtxRangePushPayload(domain, &payload, 1);
  nvtxRangePopPayload(domain, &payload, 1);
  nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &payload, 1), &payload, 1);
  nvtxMarkPayload(domain, &payload, 1);
  std::puts(nvtxDomainIsEnabled(domain) != 0 ? "enabled" : "disabled");
#else
  (void)domain;
  (void)task;
  std::puts("no payloads");
#endif
}

}  // namespace

int main(int count, char**) {
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("pool");
  nvtxEventAttributes_t const task = event(nvtxDomainRegisterStringA(domain, "task"));
  if (count > 1) {
    use_payloads(domain, task);
    return 5;
  }
  nvtxRangeId_t const batch = nvtxRangeStartA("batch");
  for (int i = 0; i < 3; ++i) {
    nvtxRangePushA("step");
    nvtxDomainRangePushEx(domain, &task);
    nvtxRangePushW(L"w\u00efde");
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxRangePop();
  }
  nvtxMarkA("here");
  std::thread([batch] { nvtxRangeEnd(batch); }).join();
  nvtxRangePop();  // one too many
  std::puts("done");
  return 5;
}
