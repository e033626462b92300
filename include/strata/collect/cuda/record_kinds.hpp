#ifndef STRATA_COLLECT_CUDA_RECORD_KINDS_HPP
#define STRATA_COLLECT_CUDA_RECORD_KINDS_HPP

#include <strata/base/containers.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile/overflow_names.hpp>
#include <strata/profile/records.hpp>

// CUPTI's kinds, numbers and names, as a profile has them.

STRATA_BEGIN
namespace detail {

/// A number in fewer bits: the nearest that these have.
template <class To, class From>
constexpr To narrow(From value) noexcept {
  constexpr auto most = static_cast<std::uint64_t>(static_cast<To>(~To{0}));
  if constexpr (std::is_signed<From>::value)
    if (value < 0) return 0;
  auto const wide = static_cast<std::uint64_t>(value);
  return static_cast<To>(wide < most ? wide : most);
}

/// What a number of CUPTI's stands for in a list by these numbers; beyond it, the list's first.
template <class Kind, std::size_t Count, class Number>
constexpr Kind of_number(Kind const (&kinds)[Count], Number number) noexcept {
  auto const position = static_cast<std::size_t>(number);
  return position < Count ? kinds[position] : kinds[0];
}

/// Arrays are memory of a device.
inline strata::copy_kind kind_of(cupti::copy_kind kind) noexcept {
  using to = strata::copy_kind;
  constexpr to kinds[] = {to::unknown,
                          to::host_to_device,
                          to::device_to_host,
                          to::host_to_device,
                          to::device_to_host,
                          to::device_to_device,
                          to::device_to_device,
                          to::device_to_device,
                          to::device_to_device,
                          to::host_to_host,
                          to::peer};
  return of_number(kinds, kind);
}

/// Whether a record is one half of a copy between devices that cannot reach each other's memory,
/// which goes by way of the host: to it on one device, from it on the other (two H200 without peer
/// access, CUDA 13.0). Both ends are a device's memory then.
inline bool is_half(cupti::copy_record const& from) noexcept {
  constexpr auto device = static_cast<std::uint8_t>(cupti::memory_kind::device);
  auto const kind = static_cast<cupti::copy_kind>(from.copy);
  return (kind == cupti::copy_kind::host_to_device || kind == cupti::copy_kind::device_to_host) &&
         from.source == device && from.destination == device;
}
inline strata::copy_kind kind_of(cupti::copy_record const& from) noexcept {
  if (is_half(from)) return strata::copy_kind::peer;
  return kind_of(static_cast<cupti::copy_kind>(from.copy));
}
/// CUPTI has a record of its own for copies between devices, whichever function made them: with
/// unified addresses cuMemcpyAsync and cuMemcpyDtoDAsync do, too.
inline strata::copy_kind kind_of(cupti::peer_copy_record const& from) noexcept {
  if (from.source_device_id != from.destination_device_id) return strata::copy_kind::peer;
  return kind_of(static_cast<cupti::copy_kind>(from.copy));
}

inline strata::memory_kind kind_of(cupti::memory_kind kind) noexcept {
  using to = strata::memory_kind;
  constexpr to kinds[] = {to::unknown, to::pageable, to::pinned,        to::device,
                          to::array,   to::managed,  to::device_static, to::managed_static};
  return of_number(kinds, kind);
}

inline strata::migration_kind kind_of(cupti::unified_memory_kind kind) noexcept {
  using to = strata::migration_kind;
  constexpr to kinds[] = {to::unknown, to::to_device,  to::to_host,
                          to::unknown, to::gpu_faults, to::unknown,
                          to::unknown, to::unknown,    to::between_devices};
  return of_number(kinds, kind);
}

inline strata::synchronization_kind kind_of(cupti::synchronization_type type) noexcept {
  using to = strata::synchronization_kind;
  constexpr to kinds[] = {to::unknown, to::event, to::stream_wait_event, to::stream, to::context};
  return of_number(kinds, type);
}

/// The numbers of kernels' names, by their address and text. Threads: one at a time.
class kernel_name_memo {
 public:
  explicit kernel_name_memo(name_table& names) noexcept : names_(&names) {}

  /// Without memory it throws, as a vec does.
  std::uint32_t number(char const* text) {
    if (text == nullptr) return no_reference;
    auto const address = reinterpret_cast<std::uintptr_t>(text);
    known_name& known = known_[(address >> 4 ^ address >> 13) & (known_names - 1)];
    if (known.text != text || known.copy != text) {
      std::string_view const copy(text);
      known.text = nullptr;
      known.copy.assign(copy.data(), copy.size());
      known.number = names_->intern(copy, other_kernels);
      if (known.number == no_reference) out_of_memory();
      known.text = text;
    }
    return known.number;
  }

 private:
  struct known_name {
    char const* text = nullptr;
    std::uint32_t number = 0;
    std::string copy;
  };
  static constexpr std::size_t known_names = 256;

  name_table* names_;
  known_name known_[known_names];
};

/// Whether that moves bytes.
inline bool takes_time(strata::migration_kind kind) noexcept {
  return kind == strata::migration_kind::to_device || kind == strata::migration_kind::to_host ||
         kind == strata::migration_kind::between_devices;
}

/// A migration or fault of managed memory, without its times.
inline strata::migration_record migration_of(cupti::unified_memory_record const& from) noexcept {
  strata::migration_record migration{};
  migration.kind = kind_of(from.counter);
  migration.device = from.source_id;
  if (migration.kind == migration_kind::to_device ||
      migration.kind == migration_kind::between_devices)
    migration.device = from.destination_id;
  migration.value = from.value;
  return migration;
}

/// Copies between devices that cannot reach each other's memory go by way of the host: CUPTI tells
/// two records of a copy, and both have all of its bytes. The bytes count with the first.
/// Bounded: the last copies of which one record has come are known.
class staged_copies {
 public:
  /// Which devices reach each other. Requires: CUDA is initialised. Threads: one that may call the
  /// driver.
  void look(driver_library const& driver) noexcept {
    auto const count = static_cast<std::uint32_t>(smaller(driver.device_count, int{max_devices}));
    for (std::uint32_t source = 0; source < count; ++source)
      for (std::uint32_t destination = 0; destination < count; ++destination)
        apart_[source][destination] =
            source != destination &&
            !driver.reaches(static_cast<int>(source), static_cast<int>(destination));
  }

  /// Says which devices a copy is between. Requires: it is of kind peer.
  void pair(cupti::peer_copy_record const& from, strata::copy_record& copy) noexcept {
    copy.peer = {};
    bool const receives = from.device_id != from.source_device_id;
    copy.peer.receives = receives ? 1 : 0;
    copy.peer.device = coded(receives ? from.source_device_id : from.destination_device_id);
    if (is_apart(from.source_device_id, from.destination_device_id))
      find_first(
          {from.correlation_id, false, from.size_bytes, from.graph_node_id,
           std::uint64_t{from.source_device_id} << 32 | from.destination_device_id, from.device_id},
          copy);
  }
  void pair(cupti::copy_record const& from, strata::copy_record& copy) noexcept {
    bool const receives =
        static_cast<cupti::copy_kind>(from.copy) == cupti::copy_kind::host_to_device;
    copy.peer = {};
    copy.peer.receives = receives ? 1 : 0;
    half const* const first = find_first(
        {from.correlation_id, receives, from.size_bytes, from.graph_node_id, 0, from.device_id},
        copy);
    if (first != nullptr) copy.peer.device = coded(first->device);
  }

 private:
  static constexpr std::uint32_t max_devices = 16;
  static constexpr std::size_t max_copies = 64;

  /// The first record of a copy.
  struct half {
    std::uint32_t correlation = 0;
    bool receives = false;
    std::uint64_t bytes = 0;  ///< 0: its second one has come
    std::uint64_t graph_node = 0;
    std::uint64_t between = 0;  ///< the devices, where the record has both
    std::uint32_t device = 0;
  };

  static std::uint8_t coded(std::uint32_t device) noexcept {
    return device < 255 ? static_cast<std::uint8_t>(device + 1) : std::uint8_t{0};
  }
  bool is_apart(std::uint32_t from, std::uint32_t destination) const noexcept {
    return from < max_devices && destination < max_devices && apart_[from][destination];
  }
  static bool is_same(half const& a, half const& b) noexcept {
    bool const is_other_half = a.between != 0 || b.between != 0 || a.receives != b.receives;
    return a.correlation == b.correlation && a.graph_node == b.graph_node && a.bytes == b.bytes &&
           a.between == b.between && is_other_half;
  }
  /// Of the second record, the first one, and its bytes count no more.
  half const* find_first(half const& own, strata::copy_record& copy) noexcept {
    for (half& first : firsts_) {
      if (first.bytes == 0 || !is_same(first, own)) continue;
      first.bytes = copy.bytes = 0;
      copy.peer.again = 1;
      return &first;
    }
    firsts_[next_++ % max_copies] = own;
    return nullptr;
  }

  bool apart_[max_devices][max_devices] = {};
  half firsts_[max_copies];
  std::size_t next_ = 0;
};

/// What is traced.
struct traced_kinds {
  bool kernels = true;
  bool copies = true;    // and fills
  bool memory = true;    // allocations and releases
  bool waits = true;     // of the host for the device
  bool managed = false;  // migrations of managed memory, also before an allocation was seen

  using choice = bool traced_kinds::*;  // one of them

  /// Whether the records of such calls are.
  bool has(api_kind kind) const noexcept {
    switch (kind) {
      case api_kind::copy:
      case api_kind::set:
        return copies;
      case api_kind::allocate:
      case api_kind::release:
        return memory;
      case api_kind::wait:
        return waits;
      default:
        return kernels;
    }
  }
};

/// A kind of CUPTI's records, and what it is chosen by.
struct traced_kind {
  cupti::activity_kind kind;
  char const* name;
  traced_kinds::choice chosen;
};
inline constexpr traced_kind traced_kind_table[] = {
    {cupti::activity_kind::concurrent_kernel, "kernels", &traced_kinds::kernels},
    {cupti::activity_kind::copy, "copies", &traced_kinds::copies},
    {cupti::activity_kind::peer_copy, "copies between devices", &traced_kinds::copies},
    {cupti::activity_kind::set, "fills", &traced_kinds::copies},
    {cupti::activity_kind::memory, "allocations", &traced_kinds::memory},
    {cupti::activity_kind::synchronization, "synchronizations", &traced_kinds::waits},
    {cupti::activity_kind::overhead, "CUPTI's overhead", &traced_kinds::kernels}};

/// Has CUPTI record migrations of managed memory and the faults of devices, and nothing else: with
/// all kinds of records it left out up to nine tenths of the migrations to the host, without a
/// word (two H200, CUDA 13.0). Threads: any.
/// Source: cuptiActivityConfigureUnifiedMemoryCounter, cuptiActivityEnable.
inline cupti::result enable_migrations(cupti::table const& api) noexcept {
  using cupti::unified_memory_kind;
  if (api.configure_unified_memory == nullptr) return cupti::result::not_supported;
  // The first ones are all that is needed where CUPTI knows no others.
  constexpr std::uint32_t needed = 3;
  constexpr unified_memory_kind counters[] = {
      unified_memory_kind::host_to_device, unified_memory_kind::device_to_host,
      unified_memory_kind::gpu_page_fault, unified_memory_kind::device_to_device};
  constexpr std::uint32_t all = sizeof counters / sizeof *counters;
  cupti::unified_memory_config wanted[all];
  for (std::uint32_t i = 0; i < all; ++i)
    wanted[i] = {cupti::unified_memory_config::process_all_devices, counters[i], 0, 1};
  auto code = api.configure_unified_memory(wanted, all);
  if (code != cupti::result::success) code = api.configure_unified_memory(wanted, needed);
  if (code != cupti::result::success) return code;
  return api.activity_enable(cupti::activity_kind::unified_memory);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_RECORD_KINDS_HPP
