#ifndef STRATA_INJECT_NCCL_PROFILER_HPP
#define STRATA_INJECT_NCCL_PROFILER_HPP

// libstrata_inject.so as NCCL's profiler plugin (NCCL_PROFILER_PLUGIN): what NCCL decides for each
// collective, as a range without length below the one that launched it. NCCL asks for the newest
// interface that it knows, down to the first. Source: the interface in NCCL's repository,
// src/include/plugin/profiler/profiler_v4.h and _v5.h (NCCL 2.27 to 2.32).

#include "injection.hpp"

#include <strata/annotate/process.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/text.hpp>
#include <strata/range.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {
namespace nccl {

inline constexpr int success = 0;
/// Kinds of events, and bits of what a plugin wants. NCCL 2.27 tells of a collective only where
/// the plugin has taken its group.
enum event : std::uint64_t { group = 1 << 0, collective = 1 << 1, point_to_point = 1 << 2 };

/// A collective as version 4 has it. Later versions have more behind it.
struct collective_description {
  std::uint64_t sequence;
  char const* function;  // AllReduce
  void const* from;
  void* to;
  std::size_t count;  // of elements, of one rank
  int root;
  char const* datatype;  // ncclFloat32
  std::uint8_t channels;
  std::uint8_t warps;
  char const* algorithm;  // RING
  char const* protocol;   // LL128
};

/// A send or a receive.
struct point_description {
  char const* function;
  void* buffer;
  char const* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

template <class Type>
struct description {
  Type type;
  void* parent;
  int rank;
  union {
    collective_description collective;
    point_description point;
  };
};
using description_v4 = description<std::uint8_t>;
using description_v5 = description<std::uint64_t>;

struct profiler_v4 {
  char const* name;
  int (*init)(void** context, int* wanted, char const* name, std::uint64_t hash, int nodes,
              int ranks, int rank, void* log);
  int (*start)(void* context, void** handle, description_v4* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

struct profiler_v5 {
  char const* name;
  int (*init)(void** context, std::uint64_t id, int* wanted, char const* name, int nodes, int ranks,
              int rank, void* log);
  int (*start)(void* context, void** handle, description_v5* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

}  // namespace nccl

/// What NCCL calls. Threads: any, those that launch among them.
class nccl_profiler {
 public:
  /// A communicator begins. Without STRATA NCCL is asked for nothing.
  static int init(void** context, int* wanted, int ranks) noexcept {
    char const* const text = variable("STRATA");
    bool const records = text != nullptr && *text != '\0';
    if (wanted != nullptr)
      *wanted = records ? nccl::group | nccl::collective | nccl::point_to_point : 0;
    if (context != nullptr)
      *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(ranks > 0 ? ranks : 0));
    return nccl::success;
  }

  template <class Description>
  static int start(void* context, void** handle, Description const* event) noexcept {
    static char taken;
    if (handle != nullptr) *handle = &taken;  // ends say nothing of interest
    if (event == nullptr || active_listener() == nullptr) return nccl::success;
    auto const ranks = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(context));
    (void)if_memory_allows([&] {
      if (event->type == nccl::collective) note(event->collective, ranks);
      if (event->type == nccl::point_to_point) note(event->point, ranks, event->rank);
    });
    return nccl::success;
  }

  static int stop(void*) noexcept { return nccl::success; }
  static int record(void*, int, void*) noexcept { return nccl::success; }
  static int finalize(void*) noexcept { return nccl::success; }

 private:
  /// `NCCL:AllReduce RING LL128 (16 channels of 8 ranks)`, with the bytes of the message.
  static void note(nccl::collective_description const& call, unsigned ranks) {
    sentence name("NCCL:");
    name << text_of(call.function) << " " << text_of(call.algorithm) << " "
         << text_of(call.protocol);
    add(name, call.channels, ranks, call.count, call.datatype);
  }
  /// What a rank sends to itself crosses no link: it has no bytes.
  static void note(nccl::point_description const& call, unsigned ranks, int rank) {
    sentence name("NCCL:");
    name << text_of(call.function);
    add(name, call.channels, ranks, call.peer == rank ? 0 : call.count, call.datatype);
  }
  static void add(sentence& name, std::uint8_t channels, unsigned ranks, std::size_t count,
                  char const* datatype) {
    name << " (" << std::uint32_t{channels} << (channels == 1 ? " channel" : " channels") << " of "
         << ranks << " ranks)";
    std::size_t const bytes = count * size_of(text_of(datatype));
    std::string const text = name;
    if (bytes == 0 || gives_bytes_by_nvtx()) {
      scoped_range const range(text);
    } else {
      scoped_range const range(text, strata::bytes(static_cast<double>(bytes)));
    }
  }

  static std::string_view text_of(char const* text) noexcept {
    return text == nullptr ? std::string_view("unknown") : std::string_view(text);
  }
  /// NVTX has the bytes of the same call.
  static bool gives_bytes_by_nvtx() noexcept {
    process_block const& ours = block();
    return ours.nvtx_from.load() != nvtx_source::none && !ours.nvtx_ignored.load();
  }
  /// In bytes; 0 of a type that is not known.
  static std::size_t size_of(std::string_view datatype) noexcept {
    for (std::string_view const before : {"nccl", "Nccl"})
      if (begins_with(datatype, before)) datatype.remove_prefix(before.size());
    std::size_t digits = 0;
    std::size_t end = datatype.find_first_of("0123456789");
    if (datatype == "Bfloat16" || end == datatype.npos) return datatype == "Bfloat16" ? 2 : 0;
    for (; end < datatype.size() && is_digit(datatype[end]); ++end)
      digits = digits * 10 + static_cast<std::size_t>(datatype[end] - '0');
    return digits / 8;  // Float8e4m3: the digits up to the letter
  }
};

}  // namespace detail
STRATA_END

extern "C" STRATA_DETAIL_EXPORT strata::detail::nccl::profiler_v4 const ncclProfiler_v4;
strata::detail::nccl::profiler_v4 const ncclProfiler_v4{
    "strata",
    [](void** context, int* wanted, char const*, std::uint64_t, int, int ranks, int, void*) {
      return strata::detail::nccl_profiler::init(context, wanted, ranks);
    },
    [](void* context, void** handle, strata::detail::nccl::description_v4* event) {
      return strata::detail::nccl_profiler::start(context, handle, event);
    },
    &strata::detail::nccl_profiler::stop,
    &strata::detail::nccl_profiler::record,
    &strata::detail::nccl_profiler::finalize};

extern "C" STRATA_DETAIL_EXPORT strata::detail::nccl::profiler_v5 const ncclProfiler_v5;
strata::detail::nccl::profiler_v5 const ncclProfiler_v5{
    "strata",
    [](void** context, std::uint64_t, int* wanted, char const*, int, int ranks, int, void*) {
      return strata::detail::nccl_profiler::init(context, wanted, ranks);
    },
    [](void* context, void** handle, strata::detail::nccl::description_v5* event) {
      return strata::detail::nccl_profiler::start(context, handle, event);
    },
    &strata::detail::nccl_profiler::stop,
    &strata::detail::nccl_profiler::record,
    &strata::detail::nccl_profiler::finalize};

#endif  // STRATA_INJECT_NCCL_PROFILER_HPP
