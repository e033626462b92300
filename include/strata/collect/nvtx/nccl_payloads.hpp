#ifndef STRATA_COLLECT_NVTX_NCCL_PAYLOADS_HPP
#define STRATA_COLLECT_NVTX_NCCL_PAYLOADS_HPP

#include <strata/collect/nvtx/nvtx_ranges.hpp>

STRATA_BEGIN
namespace detail {
namespace nvtx {

/// NVTX_PAYLOAD_TYPE_EXT: an event's payload is the address of as many payload_data as it says.
inline constexpr auto extended_payload = static_cast<std::int32_t>(0xDFBD0009u);
/// NVTX_PAYLOAD_SCHEMA_ID_STATIC_START: the numbers that a library gives to its schemas begin here.
inline constexpr std::uint64_t first_schema = std::uint64_t{1} << 24;
/// NVTX_PAYLOAD_ENTRY_TYPE_UINT64 and _SIZE.
inline constexpr std::uint64_t uint64_entry = 18;
inline constexpr std::uint64_t size_entry = 22;

/// nvtxPayloadData_t.
struct payload_data {
  std::uint64_t schema;
  std::size_t size;
  void const* data;
};

/// nvtxPayloadSchemaEntry_t.
struct schema_entry {
  std::uint64_t flags;
  std::uint64_t type;
  char const* name;
  char const* description;
  std::uint64_t detail;
  std::uint64_t offset;
  void const* semantics;
  void const* reserved;
};

/// nvtxPayloadSchemaAttr_t.
struct schema {
  std::uint64_t fields;
  char const* name;
  std::uint64_t type;
  std::uint64_t flags;
  schema_entry const* entries;
  std::size_t entry_count;
  std::size_t size;
  std::size_t alignment;
  std::uint64_t id;
  void* extension;
};

}  // namespace nvtx

/// What NCCL says of its calls to NVTX: the bytes of the message. Threads: any.
class nccl_payloads {
 public:
  /// A library tells how a payload is laid out.
  STRATA_DETAIL_COLD static void add(nvtx_domain const* domain,
                                     nvtx::schema const* schema) noexcept {
    if (schema == nullptr || schema->entries == nullptr || !is_nccl(domain)) return;
    if (schema->id < nvtx::first_schema || schema->id - nvtx::first_schema >= max_schemas) return;
    for (std::size_t i = 0; i < schema->entry_count; ++i) {
      nvtx::schema_entry const& entry = schema->entries[i];
      bool const is_number = entry.type == nvtx::uint64_entry || entry.type == nvtx::size_entry;
      bool const is_placed = i == 0 || entry.offset != 0;
      if (!is_number || !is_placed || entry.flags != 0 || entry.name == nullptr) continue;
      if (std::string_view(entry.name).find("[bytes]") == std::string_view::npos) continue;
      if (entry.offset >= max_offset) continue;
      place_of(schema->id).store(static_cast<std::uint8_t>(entry.offset + 1));
      return;
    }
  }

  /// The bytes of the call that an event is of; NaN where it does not tell.
  static double bytes_of(nvtx_domain const* domain, nvtx::event const* event) noexcept {
    if (event == nullptr || event->size < sizeof(nvtx::event) ||
        event->payload_kind != nvtx::extended_payload || event->payload == 0 || !is_nccl(domain))
      return not_a_number;
    auto const* const all =
        reinterpret_cast<nvtx::payload_data const*>(static_cast<std::uintptr_t>(event->payload));
    for (std::int32_t i = 0; i < smaller(event->reserved, max_payloads); ++i) {
      std::size_t const offset = offset_in(all[i]);
      if (offset == nowhere || all[i].data == nullptr) continue;
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, static_cast<char const*>(all[i].data) + offset, sizeof bytes);
      return static_cast<double>(bytes);
    }
    return not_a_number;
  }

 private:
  static constexpr std::size_t max_schemas = 64;
  static constexpr std::int32_t max_payloads = 16;
  static constexpr std::size_t max_offset = 128;
  static constexpr std::size_t nowhere = ~std::size_t{0};

  /// Of NCCL's schemas, by their numbers.
  enum class call : std::uint64_t {
    all_gather = 4,
    last_with_bytes = 10,
    all_to_all = 16,
    scatter = 18
  };

  static bool is_nccl(nvtx_domain const* domain) noexcept {
    return domain != nullptr && domain->name == "NCCL";
  }
  static atomic<std::uint8_t>& place_of(std::uint64_t schema) noexcept {
    static atomic<std::uint8_t> places[max_schemas];  // of the bytes, and 1
    return places[schema - nvtx::first_schema];
  }
  /// By the schema, where CUPTI or an injection heard of it. CUPTI calls back for no schemas: then
  /// by the layouts that NCCL has had, the bytes first (2.18 to 2.22), or behind the communicator.
  static std::size_t offset_in(nvtx::payload_data const& payload) noexcept {
    std::uint64_t const number = payload.schema - nvtx::first_schema;
    if (number >= max_schemas) return nowhere;
    constexpr std::size_t word = sizeof(std::uint64_t);
    std::size_t offset = place_of(payload.schema).load();
    if (offset != 0) {
      --offset;
    } else {
      auto const which = static_cast<call>(number);
      bool const is_short = which == call::all_gather || which == call::all_to_all;
      bool const has_bytes = (which >= call::all_gather && which <= call::last_with_bytes) ||
                             (which >= call::all_to_all && which <= call::scatter);
      if (!has_bytes) return nowhere;
      offset = payload.size > (is_short ? word : 2 * word) ? word : 0;
    }
    bool const fits = payload.size != ~std::size_t{0} && payload.size >= offset + word;
    return fits ? offset : nowhere;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NCCL_PAYLOADS_HPP
