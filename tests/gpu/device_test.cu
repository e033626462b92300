// What the driver says of a device, work in a green context, copies between devices by pointers.

#include <cuda.h>
#include <dlfcn.h>

#include <strata/range.hpp>
#include <strata/session.hpp>
#include "analyse/devices.hpp"
#include "analyse/occupancy.hpp"

#include "gpu/gpu_fixture.hpp"

namespace {

using gpu::nothing_lost;
using gpu::quiet;
using strata::profile;
using strata::session;

/// A function of the driver, or null where it is too old.
template <class Function>
Function* driver_function(char const* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// A green context with as few multiprocessors as may be; `stream` is null where the driver has
/// none. Source: cuGreenCtxCreate, CUDA 12.4.
struct green_context {
  CUgreenCtx handle = nullptr;
  CUstream stream = nullptr;
  unsigned multiprocessors = 0;

  green_context() {
    auto* const resource_of =
        driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource");
    auto* const split =
        driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
    auto* const describe =
        driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
    auto* const create = driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate");
    auto* const open_stream =
        driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
    if (resource_of == nullptr || split == nullptr || describe == nullptr || create == nullptr ||
        open_stream == nullptr)
      return;
    CUdevResource all{};
    CUdevResource part{};
    CUdevResourceDesc description = nullptr;
    unsigned groups = 1;
    if (resource_of(0, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) return;
    if (split(&part, &groups, &all, nullptr, 0, 8) != CUDA_SUCCESS) return;
    if (describe(&description, &part, 1) != CUDA_SUCCESS) return;
    if (create(&handle, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS) return;
    multiprocessors = part.sm.smCount;
    (void)open_stream(&stream, handle, CU_STREAM_NON_BLOCKING, 0);
  }
  green_context(green_context const&) = delete;
  green_context& operator=(green_context const&) = delete;
  ~green_context() {
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
    auto* const destroy = driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy");
    if (handle != nullptr && destroy != nullptr) (void)destroy(handle);
  }
};

/// The multiprocessors that the one kernel of a range may use, as the profile has it.
std::uint32_t multiprocessors_of(profile const& p, char const* path) {
  strata::call_tree const tree(p);
  for (strata::kernel_record const& kernel : p.kernels) {
    if (tree.rows()[tree.position_of(kernel.node)].path != path) continue;
    return strata::detail::usable_multiprocessors(p).of(kernel.device, kernel.context);
  }
  return 0;
}

}  // namespace

TEST_CASE("a device's attributes are those that the runtime tells") {
  GPU_CHECK(cudaFree(nullptr));
  session s(quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  gpu::spin<<<1, 32>>>(1000, nullptr);
  s.stop();
  cudaDeviceProp is{};
  GPU_CHECK(cudaGetDeviceProperties(&is, 0));
  auto const worked = strata::detail::worked_devices(s.profile());
  REQUIRE(worked.size() == 1);
  strata::profile_device const& device = *worked[0];
  CHECK(device.warp_size == static_cast<std::uint32_t>(is.warpSize));
  CHECK(device.threads_per_multiprocessor ==
        static_cast<std::uint32_t>(is.maxThreadsPerMultiProcessor));
  CHECK(device.blocks_per_multiprocessor ==
        static_cast<std::uint32_t>(is.maxBlocksPerMultiProcessor));
  CHECK(device.registers_per_multiprocessor ==
        static_cast<std::uint32_t>(is.regsPerMultiprocessor));
  CHECK(device.shared_bytes_per_multiprocessor == is.sharedMemPerMultiprocessor);
  CHECK(device.reserved_shared_bytes_per_block == is.reservedSharedMemPerBlock);
  // The table for recordings without attributes says the same of this compute capability.
  strata::profile_device bare;
  bare.compute_capability_major = device.compute_capability_major;
  bare.compute_capability_minor = device.compute_capability_minor;
  strata::detail::sm_limits const table = strata::detail::limits_of(bare);
  strata::detail::sm_limits const driver = strata::detail::limits_of(device);
  if (!table.known()) return;
  CHECK(table.warps == driver.warps);
  CHECK(table.blocks == driver.blocks);
  CHECK(table.registers == driver.registers);
  CHECK(table.shared_bytes == driver.shared_bytes);
  CHECK(table.reserved_shared_bytes == driver.reserved_shared_bytes);
}

TEST_CASE("work in a green context has its multiprocessors, other work the device's") {
  GPU_CHECK(cudaFree(nullptr));
  for (bool const before : {true, false}) {
    CAPTURE(before);  // the context was made before the session
    green_context* early = before ? new green_context : nullptr;
    session s(quiet("trace,formats=none"));
    REQUIRE(s.start().ok());
    green_context* const green = before ? early : new green_context;
    if (green->stream == nullptr) {
      MESSAGE("the driver makes no green context here");
    } else {
      {
        STRATA_RANGE("part");
        gpu::spin<<<256, 128, 0, green->stream>>>(1000, nullptr);
      }
      STRATA_RANGE("whole");
      gpu::spin<<<256, 128>>>(1000, nullptr);
    }
    GPU_CHECK(cudaDeviceSynchronize());
    s.stop();
    profile const& p = s.profile();
    nothing_lost(p);
    if (green->stream != nullptr) {
      MESSAGE("green: ", green->multiprocessors, " of ", p.environment.devices[0].multiprocessors);
      // CUPTI 13.0 tells nothing of green contexts that are older than its records.
      if (!before) CHECK(multiprocessors_of(p, "part") == green->multiprocessors);
      CHECK(multiprocessors_of(p, "whole") == p.environment.devices[0].multiprocessors);
    }
    delete green;
  }
}

namespace {

char const* name_of(strata::copy_kind kind) {
  switch (kind) {
    case strata::copy_kind::host_to_device:
      return "host to device";
    case strata::copy_kind::device_to_host:
      return "device to host";
    case strata::copy_kind::device_to_device:
      return "device to device";
    case strata::copy_kind::peer:
      return "between devices";
    default:
      return "another kind";
  }
}

/// Each record that was traced, in a line of the test's output.
void say_copies(profile const& p) {
  for (strata::copy_record const& copy : p.copies)
    MESSAGE("copy: ", std::string(name_of(copy.kind)), ", ", copy.bytes, " bytes, device ",
            copy.device, ", context ", copy.context, ", stream ", copy.stream, ", call ",
            copy.correlation, ", ", copy.end - copy.begin, " ns from ", copy.begin, ", pageable ",
            int{copy.pageable});
}

/// Bytes of all copies of a kind.
std::uint64_t bytes_of(profile const& p, strata::copy_kind kind) {
  std::uint64_t sum = 0;
  for (strata::copy_record const& copy : p.copies)
    if (copy.kind == kind) sum += copy.bytes;
  return sum;
}

}  // namespace

// In some virtual machines the driver copies by way of the host, even where the devices can reach
// each other: such a copy has a record out of one device and one into the other.
TEST_CASE("a copy between two devices' pointers is one between devices") {
  int count = 0;
  GPU_CHECK(cudaGetDeviceCount(&count));
  if (count < 2) return;
  constexpr std::size_t bytes = 1 << 20;
  int there = 0;
  int back = 0;
  GPU_CHECK(cudaDeviceCanAccessPeer(&there, 0, 1));
  GPU_CHECK(cudaDeviceCanAccessPeer(&back, 1, 0));
  void* memory[2] = {};
  for (int device = 0; device < 2; ++device) {
    GPU_CHECK(cudaSetDevice(device));
    GPU_CHECK(cudaMalloc(&memory[device], bytes));
  }
  GPU_CHECK(cudaSetDevice(0));
  session s(quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  {
    STRATA_RANGE("copies");
    GPU_CHECK(cudaMemcpy(memory[1], memory[0], bytes, cudaMemcpyDefault));
    GPU_CHECK(cudaMemcpyAsync(memory[0], memory[1], bytes, cudaMemcpyDeviceToDevice));
    GPU_CHECK(cudaDeviceSynchronize());
  }
  s.stop();
  profile const& p = s.profile();
  MESSAGE("device 0 reaches 1: ", there, ", device 1 reaches 0: ", back);
  say_copies(p);
  nothing_lost(p);
  REQUIRE((p.copies.size() == 2 || p.copies.size() == 4));
  // Each byte counts once, in the column of copies between devices.
  CHECK(bytes_of(p, strata::copy_kind::peer) == 2 * bytes);
  bool const staged = p.copies.size() == 4;
  for (strata::copy_record const& copy : p.copies) {
    CHECK(copy.kind == strata::copy_kind::peer);
    bool const is_told = !staged || copy.peer.again != 0;
    if (is_told) CHECK(copy.peer.device - 1 == 1 - int{copy.device});
  }
  strata::call_tree const tree(p);
  strata::device_work const& work = gpu::row_at(tree, "copies").total;
  CHECK(work.peer_copies == 2);
  CHECK(work.peer_bytes == 2 * bytes);
  CHECK(work.copies == 2);
  CHECK(work.device_to_device_bytes + work.device_to_host_bytes + work.host_to_device_bytes == 0);
  for (void* const address : memory) GPU_CHECK(cudaFree(address));
}
