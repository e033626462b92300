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
/// nvtxPayloadData_t.
struct payload_data {
  std::uint64_t schema;
  std::size_t size;
  void const* data;
};

}  // namespace nvtx

/// What NCCL says of its calls to NVTX: the bytes of the message. Threads: any.
class nccl_payloads {
 public:
  /// Whether a domain is NCCL's.
  static bool is_nccl(nvtx_domain const* domain) noexcept {
    return domain != nullptr && domain->name == "NCCL";
  }
  /// A library told that payloads of its schema have the bytes there.
  static void place(std::uint64_t schema, std::uint64_t offset) noexcept {
    if (schema < nvtx::first_schema || schema - nvtx::first_schema >= max_schemas) return;
    if (offset < max_offset) place_of(schema).store(static_cast<std::uint8_t>(offset + 1));
  }

  /// The bytes of the call that an event describes; NaN where it does not tell.
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
  static constexpr std::uint64_t max_offset = 128;
  static constexpr std::size_t nowhere = ~std::size_t{0};

  /// Of NCCL's schemas, by their numbers.
  enum class call : std::uint64_t {
    all_gather = 4,
    last_with_bytes = 10,
    all_to_all = 16,
    scatter = 18
  };

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
