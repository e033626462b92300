// An NVTX tool that keeps account of one domain and prints it when the process ends.
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

struct account {
  std::mutex mutex;
  std::string domain;
  std::map<std::string, int> pushed;
  std::map<std::string, std::string*> strings;
  int registered = 0;
  int pushes = 0;
  int pops = 0;
  int unregistered = 0;
};
account& all() {
  static account& only = *new account;
  return only;
}

nvtxDomainHandle_t NVTX_API create_domain(char const* name) {
  std::lock_guard<std::mutex> lock(all().mutex);
  all().domain += name;
  return reinterpret_cast<nvtxDomainHandle_t>(&all().domain);
}

nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, char const* text) {
  std::lock_guard<std::mutex> lock(all().mutex);
  ++all().registered;
  std::string*& known = all().strings[text];
  if (known == nullptr) known = new std::string(text);
  return reinterpret_cast<nvtxStringHandle_t>(known);
}

int NVTX_API push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* event) {
  std::lock_guard<std::mutex> lock(all().mutex);
  ++all().pushes;
  if (domain != reinterpret_cast<nvtxDomainHandle_t>(&all().domain) ||
      event->messageType != NVTX_MESSAGE_TYPE_REGISTERED) {
    ++all().unregistered;
    return 0;
  }
  ++all().pushed[*reinterpret_cast<std::string*>(event->message.registered)];
  return 0;
}

int NVTX_API pop(nvtxDomainHandle_t) {
  std::lock_guard<std::mutex> lock(all().mutex);
  ++all().pops;
  return 0;
}

void __attribute__((destructor)) print() {
  std::lock_guard<std::mutex> lock(all().mutex);
  std::printf("nvtx domain=%s push=%d pop=%d registered=%d other=%d", all().domain.c_str(),
              all().pushes, all().pops, all().registered, all().unregistered);
  for (auto const& [name, count] : all().pushed) std::printf(" %s=%d", name.c_str(), count);
  std::printf("\n");
  std::fflush(stdout);
}

template <class Function>
NvtxFunctionPointer erased(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  auto const* const callbacks =
      static_cast<NvtxExportTableCallbacks const*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  if (size <= NVTX_CBID_CORE2_DomainRegisterStringA) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = erased(&create_domain);
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = erased(&register_string);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = erased(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = erased(&pop);
  return 1;
}
