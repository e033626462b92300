// Another CUPTI client was there first: Strata says so, calls CUPTI no more, and keeps the host's
// times.

#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/range.hpp>

#include "gpu/gpu_fixture.hpp"

TEST_CASE("a second subscriber keeps the host profile") {
  GPU_CHECK(cudaFree(nullptr));
  strata::detail::cupti_library const& library = strata::detail::cupti_library::get();
  REQUIRE(library.ok());
  strata::detail::cupti::subscriber_handle first = nullptr;
  auto const ignore = [](void*, strata::detail::cupti::domain, std::uint32_t, void const*) {};
  REQUIRE(library.api.subscribe(&first, ignore, nullptr) == strata::detail::cupti::result::success);
  {
    strata::session s(gpu::quiet("trace,formats=none"));
    CHECK(s.start().ok());
    {
      STRATA_RANGE("host");
      gpu::spin<<<1, 1>>>(100, nullptr);
      GPU_CHECK(cudaDeviceSynchronize());
    }
    strata::profile const& p = s.profile();
    REQUIRE(p.problems.size() == 1);
    INFO(p.problems[0]);
    CHECK(p.problems[0].find("39") != std::string::npos);
    CHECK(p.kernels.empty());
    CHECK(!p.traced);
    CHECK(p.ranges.size() == 1);
  }
  CHECK(library.api.unsubscribe(first) == strata::detail::cupti::result::success);
  strata::session s(gpu::quiet("trace,formats=none"));
  CHECK(s.start().ok());
  gpu::spin<<<1, 1>>>(100, nullptr);
  GPU_CHECK(cudaDeviceSynchronize());
  CHECK(s.profile().kernels.size() == 1);
}
