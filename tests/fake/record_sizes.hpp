// Sizes of CUPTI's activity records by CUPTI_API_VERSION, as the fake library writes them.
#ifndef STRATA_TESTS_FAKE_RECORD_SIZES_HPP
#define STRATA_TESTS_FAKE_RECORD_SIZES_HPP

#include <cstddef>
#include <cstdint>

struct fake_record_sizes {
  std::size_t kernel, copy, peer_copy, set, memory, synchronization, overhead, context,
      unified_memory;
};

constexpr fake_record_sizes fake_sizes_of(std::uint32_t version) {
  fake_record_sizes sizes{208, 88, 96, 88, 120, 40, 40, 16, 64};  // 12.0 to 12.2
  if (version >= 21) sizes.overhead = 48;                         // 12.3
  if (version >= 22) sizes.overhead = 56;                         // 12.4
  if (version >= 22) sizes.context = 24;                          // 12.4
  if (version >= 23) sizes.context = 32;                          // 12.5
  if (version >= 24) sizes.memory = 128;                          // 12.6
  if (version >= 26) sizes.copy = 96;                             // 12.8
  if (version >= 26) sizes.synchronization = 56;                  // 12.8
  if (version >= 130000) sizes.kernel = 216;                      // 13.0
  if (version >= 130000) sizes.unified_memory = 104;              // 13.0
  if (version >= 130100) sizes.kernel = 224;                      // 13.1
  if (version >= 130300) sizes.kernel = 232;                      // 13.3
  if (version >= 130400) sizes.kernel = 248;                      // 13.4
  if (version >= 130400) sizes.copy = 112;                        // 13.4
  if (version >= 130400) sizes.set = 104;                         // 13.4
  return sizes;
}

#endif  // STRATA_TESTS_FAKE_RECORD_SIZES_HPP
