// The smallest CUPTI client there is: counts kernels by name, without Strata. The driver loads it
// into any program that CUDA_INJECTION64_PATH names it for; at exit it writes "count name" lines to
// the file BARE_CLIENT_OUT.

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

std::mutex& lock() {
  static std::mutex& only = *new std::mutex;
  return only;
}

std::map<std::string, unsigned long>& counts() {
  static auto& all = *new std::map<std::string, unsigned long>;
  return all;
}

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *records = 0;
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) {
  std::lock_guard<std::mutex> guard(lock());
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    ++counts()[reinterpret_cast<CUpti_ActivityKernel9*>(record)->name];
  }
  std::free(buffer);
}

void finish() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  char const* path = std::getenv("BARE_CLIENT_OUT");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::lock_guard<std::mutex> guard(lock());
  for (auto const& entry : counts())
    std::fprintf(file, "%lu %s\n", entry.second, entry.first.c_str());
  std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(&request, &complete);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::atexit(&finish);
  return 1;
}
