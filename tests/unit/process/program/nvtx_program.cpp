// A program with NVTX ranges and none of Strata's. With TEST_WITH_SESSION one of its files includes
// Strata, which is all that it knows of it.
#include <nvtx3/nvToolsExt.h>

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

}  // namespace

int main() {
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("pool");
  nvtxEventAttributes_t const task = event(nvtxDomainRegisterStringA(domain, "task"));
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
