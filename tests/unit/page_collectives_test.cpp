#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "finding_sample.hpp"
#include "page_sample.hpp"

namespace page_collectives_test {

using namespace strata;
using finding_test::us;

namespace {

nlohmann::json data_of_collectives(std::uint32_t other_ranks) {
  return nlohmann::json::parse(
      page_test::page_tables(page_test::with_collectives(other_ranks)).data());
}

}  // namespace

TEST_CASE("the page has the collectives of its rank, the longest first") {
  nlohmann::json const data = data_of_collectives(4);
  nlohmann::json const& made = data["collectives"];
  CHECK(made["link_bytes_per_s"] == 450e9);
  REQUIRE(made["rows"].size() == 2);
  nlohmann::json const& reduced = made["rows"][0];
  CHECK(reduced["operation"] == "all_reduce");
  CHECK(reduced["calls"].get<double>() == doctest::Approx(1));
  CHECK(reduced["bytes"].get<double>() == doctest::Approx(3e6));
  CHECK(reduced["ns"].get<double>() == doctest::Approx(300 * us));
  CHECK(reduced["alone_ns"].get<double>() == doctest::Approx(300 * us));
  // 2 * 3/4 of 3 MB in 300 us.
  CHECK(reduced["bus_bytes_per_s"].get<double>() == doctest::Approx(15e9));
  nlohmann::json const& group = made["rows"][1];
  CHECK(group["operation"] == "send_receive");
  CHECK(group["ns"].get<double>() == doctest::Approx(100 * us));
  CHECK(group["bytes"].is_null());
  CHECK(group["bus_bytes_per_s"].is_null());
}

TEST_CASE("communicators of several sizes in one range tell no bandwidth") {
  nlohmann::json const data = data_of_collectives(8);
  CHECK(data["collectives"]["rows"][0]["bytes"].get<double>() == doctest::Approx(3e6));
  CHECK(data["collectives"]["rows"][0]["bus_bytes_per_s"].is_null());
}

TEST_CASE("a page without collectives says nothing of them") {
  page_test::gpt2_sample const sample;
  CHECK_FALSE(
      nlohmann::json::parse(page_test::page_tables(sample.made).data()).contains("collectives"));
}

}  // namespace page_collectives_test
