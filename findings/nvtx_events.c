// A tool of NVTX for the scripts beside it: prints the ranges of domains as they begin and end.
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>

static char const* names[256];
static int count;

static nvtxStringHandle_t add(nvtxDomainHandle_t domain, char const* text) {
  (void)domain;
  names[++count] = text;
  return (nvtxStringHandle_t)(intptr_t)count;
}
static int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* event) {
  (void)domain;
  int const known = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  printf("push %s payload %d\n",
         known ? names[(intptr_t)event->message.registered] : event->message.ascii,
         event->payloadType);
  fflush(stdout);
  return 0;
}
static int pop(nvtxDomainHandle_t domain) {
  (void)domain;
  puts("pop");
  fflush(stdout);
  return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table) {
  NvtxExportTableCallbacks const* callbacks =
      (NvtxExportTableCallbacks const*)table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions;
  unsigned last;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &last)) return 0;
  *functions[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)add;
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
