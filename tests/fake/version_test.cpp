// Every version of CUPTI has records of its own sizes, and takes buffers its own way.
#include <doctest/doctest.h>

#include <string>

#include "child_process.hpp"

namespace version_test {

using fake::child_process;

TEST_CASE("records of each version") {
  for (char const* const version : {"18", "20", "21", "22", "24", "26", "27", "28", "130001",
                                    "130100", "130200", "130300", "130400", "130500"}) {
    CAPTURE(version);
    child_process const p({std::string("version=") + version, "start=trace,formats=none", "work=3",
                           "other-device-work", "other-device-work", "work=2", "stop"});
    CHECK(p.number("problems") == 0);
    CHECK(p.number("kernels") == 5);
    CHECK(p.number("copies") == 6);
    CHECK(p.number("allocations") == 4);
    CHECK(p.number("waits") == 2);
    CHECK(p.number("overheads") == 2);
    CHECK(p.number("bytes") == 2 * (1000 + 2000 + 3000 + 4000 + 4000));
    CHECK(p.number("uncorrelated") == 0);
    CHECK(p.number("dropped") == 0);
    CHECK(p.number("misuses") == 0);
    CHECK(p.number("buffers outstanding") == 0);
  }
}

TEST_CASE("a buffer is declined where CUPTI can bear it, and there only") {
  for (char const* const version : {"18", "26", "27", "28", "130001"}) {
    CAPTURE(version);
    bool const may_decline = std::stoi(version) >= 27;
    child_process const p({std::string("version=") + version, "start=trace,formats=none,buffers=16",
                           "per-buffer=100", "work=2000", "stop"});
    CHECK(p.number("misuses") == 0);
    CHECK((p.number("buffers refused") > 0) == may_decline);
    CHECK((p.number("dropped") > 0) == may_decline);
    CHECK(p.number("kernels") + p.number("dropped") + p.number("folded") == 2000);
    // What was given beyond the limit, because it had to be, is in the account.
    CHECK((p.number("MB") <= 32) == may_decline);  // 16 for what is beyond the timeline
    CHECK(p.number("buffers outstanding") == 0);
  }
}

}  // namespace version_test
