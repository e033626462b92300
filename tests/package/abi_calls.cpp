// Each driver function whose name mentions captures, graphs or memory has a kind, or is left alone
// here, with the reason: what a new release adds fails until somebody has looked at it.
// driver_calls.hpp is made by abi.py of CUPTI's cupti_driver_cbid.h: a line CALL(cuMemCreate) each.
#include <cstddef>
#include <strata/collect/cuda/cupti_library.hpp>
#include <string_view>

namespace {

/// Without _v2, _ptsz and _ptds.
constexpr std::string_view plain(std::string_view name) {
  std::size_t const size = name.size();
  if (size > 5 && (name.substr(size - 5) == "_ptsz" || name.substr(size - 5) == "_ptds"))
    return plain(name.substr(0, size - 5));
  if (size > 3 && name.substr(size - 3, 2) == "_v") return name.substr(0, size - 3);
  return name;
}

/// `*`: any characters, at one place at most.
constexpr bool fits(std::string_view name, std::string_view pattern) {
  std::size_t const star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  std::string_view const begin = pattern.substr(0, star);
  std::string_view const end = pattern.substr(star + 1);
  return name.size() >= begin.size() + end.size() && name.substr(0, begin.size()) == begin &&
         name.substr(name.size() - end.size()) == end;
}

constexpr std::string_view left_alone[] = {
    // Graphs that are not executable, on the host: CUPTI tells of their nodes by its resource
    // callbacks, and no device is concerned.
    "cuGraphAdd*", "cuGraphClone", "cuGraphConditionalHandleCreate", "cuGraphCreate",
    "cuGraphCreateWithArguments", "cuGraphNodeAddRelocation", "cuGraphDebugDotPrint",
    "cuGraphNodeFindInClone", "cuGraphReleaseUserObject", "cuGraphRemoveDependencies",
    "cuGraphRetainUserObject",
    // Arguments of nodes of graphs that are not executable, and of nodes that wait for nothing.
    "cuGraph*NodeSetParams", "cuGraph*NodeSetEvent", "cuGraphKernelNodeCopyAttributes",
    "cuGraphKernelNodeSetAttribute",
    // A capture that is open already, or may begin later: its begin and its end are told.
    "cuStreamCreateForCaptureToCig", "cuStreamUpdateCaptureDependencies",
    "cuThreadExchangeStreamCaptureMode",
    // Addresses, rights and advice: no memory comes or goes.
    "cuMemAddressFree", "cuMemAddressReserve", "cuMemAdvise", "cuMemSetAccess", "cuMemPeerRegister",
    "cuMemPeerUnregister",
    // Memory that somebody has allocated already: another process, the program's malloc, or the
    // same handle once more.
    "cuMemExport*", "cuMemImport*", "cuMemRetainAllocationHandle", "cuMemHostRegister",
    "cuMemHostUnregister",
    // Pools as such: what is taken of them is known by cuMemAllocAsync and cuMemFreeAsync, and the
    // driver's cache is not the program's memory.
    "cuMemPool*", "cuMemSetMemPool", "cuDeviceSetMemPool", "cuDeviceGraphMemTrim",
    "cuDeviceSetGraphMemAttribute",
    // Work of the driver without a record of a kernel, a copy or a fill: migrations have records of
    // their own, without a call.
    "cuMemPrefetch*", "cuMemDiscard*", "cuMemBatchDecompressAsync", "cuMemMapArrayAsync",
    // Graphics, 32-bit programs, formats of tensors and what no header declares.
    "cuGraphics*", "cuD3D*", "cuGL*", "cu64*", "cuTensorMap*", "cuNNSetAllocator", "cuBinaryFree"};

constexpr bool is_known(std::string_view name) {
  using strata::api_kind;
  if (strata::detail::cupti::classify_api(name) != api_kind::none) return true;
  std::string_view const word = plain(name);
  if (word.find("Get") != std::string_view::npos) return true;  // it asks
  for (std::string_view const pattern : left_alone)
    if (fits(word, pattern)) return true;
  return false;
}

static_assert(!is_known("cuStreamBeginAnotherCapture") && !is_known("cuGraphExecRewrite"));
static_assert(is_known("cuMemCreate") && is_known("cuMemMapArrayAsync_ptsz"));

}  // namespace

#define CALL(name) static_assert(is_known(#name), #name " has no kind and is not left alone");
#include "driver_calls.hpp"

int main() { return 0; }
