// From calls of the driver to findings.json.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "fake_session.hpp"

namespace findings_test {

using fake::launch;

namespace {

void compute_for(std::chrono::microseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// findings.json of a session of `steps` steps.
template <class Body>
nlohmann::json findings_of(char const* name, int steps, Body body) {
  std::string const out =
      std::string(STRATA_TEST_WORK_DIR) + "/" + name + "-" + std::to_string(getpid());
  std::filesystem::remove_all(out);
  strata::session run(fake::configure("trace,formats=json,out=" + out));
  fake::unscript();
  REQUIRE(run.start().ok());
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    body();
  }
  run.stop();
  REQUIRE(run.report().ok());
  std::ifstream file(out + "/findings.json");
  REQUIRE(file.good());
  nlohmann::json const made = nlohmann::json::parse(file);
  std::filesystem::remove_all(out);
  return made;
}

}  // namespace

TEST_CASE("findings.json names the range in which the host computes while the device is idle") {
  nlohmann::json const made = findings_of("host-work", 6, [] {
    for (int layer = 0; layer < 3; ++layer) {
      {
        STRATA_RANGE("model", layer);
        launch("kernel", 7, 20'000);
      }
      STRATA_RANGE("tokenise");
      compute_for(std::chrono::microseconds(500));
    }
  });
  INFO(made.dump(1));
  CHECK(made["schema"]["name"] == "strata.findings");
  CHECK(made["step"]["from_steps"] == true);
  CHECK(made["step"]["count"] == 6);
  CHECK(made["step"]["mean_ns"].get<double>() > 1.5e6);
  CHECK(made["step"]["gpu_busy_ns"].get<double>() > 3 * 19'000);
  // On a busy machine the calls of the program vary as well, and lose their CPU: both may cost
  // more.
  nlohmann::json found;
  for (nlohmann::json const& each : made["findings"])
    if (found.is_null() && each["rule"] != "varying-calls" && each["rule"] != "preempted")
      found = each;
  REQUIRE(found.is_object());
  CHECK(found["rule"] == "host-work");
  CHECK(found["path"] == "tokenise");
  CHECK(found["cost_ns_per_step"].get<double>() > 1.2e6);  // of 1.5 ms that it computes
  CHECK(made["bound"].get<std::string>().find("CPU-bound: ") == 0);
  CHECK(!made["undecided"].empty());
}

TEST_CASE("copies of pageable memory are told from others") {
  for (bool const pageable : {true, false}) {
    CAPTURE(pageable);
    nlohmann::json const made = findings_of(pageable ? "pageable" : "pinned", 6, [&] {
      STRATA_RANGE("load batch");
      fake_set_pageable(pageable ? 1 : 0);
      (void)fake_copy(1, 1 << 20, 7, 300'000);
      compute_for(std::chrono::microseconds(400));
    });
    fake_set_pageable(0);
    INFO(made.dump(1));
    bool found = false;
    for (auto const& each : made["findings"]) {
      CHECK(each["rule"] != (pageable ? "copy-in-step" : "pageable-copy"));
      found = found || each["rule"] == (pageable ? "pageable-copy" : "copy-in-step");
    }
    CHECK(found);
  }
}

}  // namespace findings_test
