// What cannot be had is said in one sentence; ranges, the program and its exit code stay as they
// are.
#include <doctest/doctest.h>

#include <string>

#include "child_process.hpp"

namespace failure_test {

using fake::child_process;

namespace {

char const* const start = "start=trace,formats=none";

}  // namespace

TEST_CASE("the same without a failure") {
  child_process const p({start, "work=3", "stop"});
  CHECK(p.number("problems") == 0);
  CHECK(p.number("traced") == 1);
  CHECK(p.number("ranges") == 3);
  CHECK(p.number("kernels") == 3);
  CHECK(p.number("uncorrelated") == 0);
  CHECK(p.number("misuses") == 0);
  CHECK(p.err.empty());
}

TEST_CASE("no driver") {
  child_process const p({start, "work=3", "stop"}, {{"STRATA_LIBCUDA", "/nonexistent/libcuda.so.1"},
                                                    {"FAKE_CUPTI_FILE", ""},
                                                    {"FAKE_CUDA_FILE", ""}});
  p.check_one_problem({"/nonexistent/libcuda.so.1"});
  CHECK(p.number("traced") == 0);
}

TEST_CASE("a driver without a device, or that does not start") {
  for (char const* const word : {"devices=0", "init=803", "init=34", "init=999"}) {
    CAPTURE(word);
    child_process const p({word, start, "work=3", "stop", "tell=cuptiSubscribe"});
    p.check_one_problem({"CUDA is not initialised, though libcuda is loaded", "cuInit failed"});
    CHECK(p.number("traced") == 0);
    CHECK(p.number("cuptiSubscribe") == 0);
    CHECK(p.number("misuses") == 0);
  }
}

TEST_CASE("no libcupti") {
  child_process const p({"cuda", start, "work=3", "stop"},
                        {{"STRATA_CUPTI", "/nonexistent/libcupti.so.13"}, {"FAKE_CUPTI_FILE", ""}});
  p.check_one_problem({"STRATA_CUPTI=/nonexistent/libcupti.so.13"});
  CHECK(p.number("traced") == 0);
}

TEST_CASE("a libcupti without what must be there, or too old") {
  std::string const broken = fake::library_dir + "/broken/libcupti.so.13";
  child_process const p({start, "work=3", "stop"},
                        {{"STRATA_CUPTI", broken}, {"FAKE_CUPTI_FILE", broken}});
  p.check_one_problem({"broken/libcupti.so.13 lacks cuptiSubscribe"});
  child_process const old({"version=17", start, "work=3", "stop"});
  old.check_one_problem({"CUDA 11"});
  child_process const silent({"fail=cuptiGetVersion:999", start, "work=3", "stop"});
  silent.check_one_problem({"cuptiGetVersion", "(999)"});
}

TEST_CASE("a libcupti without what may be missing does all but to follow graphs") {
  std::string const missing = fake::library_dir + "/missing/libcupti.so.13";
  child_process const p({start, "work=3", "other-device-work", "stop"},
                        {{"STRATA_CUPTI", missing}, {"FAKE_CUPTI_FILE", missing}});
  CHECK(p.number("problems") == 0);
  CHECK(p.number("kernels") == 3);
  CHECK(p.number("copies") == 3);
  CHECK(p.number("uncorrelated") == 0);
  CHECK(p.number("misuses") == 0);
}

TEST_CASE("another client owns CUPTI: its name is told and CUPTI is left alone") {
  child_process const p({"other=Nsight Systems", start, "work=3", "stop",
                         "tell=cuptiEnableCallback", "tell=cuptiActivityEnable",
                         "tell=cuptiActivityRegisterCallbacks", "tell=cuptiActivityFlushAll",
                         "tell=cuptiSubscribe", "tell=cuptiGetTimestamp"});
  p.check_one_problem({"MULTIPLE_SUBSCRIBERS", "(39)", "Nsight Systems"});
  CHECK(fake::count_of(p.out, "Nsight Systems]") == 1);
  CHECK(p.number("cuptiSubscribe") == 1);
  for (char const* const function :
       {"cuptiEnableCallback", "cuptiActivityEnable", "cuptiActivityRegisterCallbacks",
        "cuptiActivityFlushAll", "cuptiGetTimestamp"})
    CHECK(p.number(function) == 0);
  CHECK(p.number("subscribed") == 0);
}

TEST_CASE("subscribing fails") {
  for (char const* const code : {"39", "35", "15", "999"}) {
    CAPTURE(code);
    child_process const p({std::string("fail=cuptiSubscribe:") + code, start, "work=3", "stop",
                           "tell=cuptiActivityEnable", "tell=cuptiEnableCallback",
                           "tell=cuptiActivityFlushAll"});
    p.check_one_problem({"cuptiSubscribe", std::string("(") + code + ")"});
    CHECK(p.number("traced") == 0);
    CHECK(p.number("cuptiActivityEnable") == 0);
    CHECK(p.number("cuptiEnableCallback") == 0);
    CHECK(p.number("cuptiActivityFlushAll") == 0);
    CHECK(p.number("subscribed") == 0);
    CHECK(p.number("misuses") == 0);
  }
}

TEST_CASE("the buffers are not taken, or no kind is") {
  for (char const* const function : {"cuptiActivityRegisterCallbacks", "cuptiActivityEnable"}) {
    CAPTURE(function);
    child_process const p({std::string("fail=") + function + ":999", start, "work=3", "stop"});
    p.check_one_problem({function, "(999)"});
    CHECK(p.number("kernels") == 0);
    CHECK(p.number("traced") == 0);
    CHECK(p.number("subscribed") == 0);
    CHECK(p.number("misuses") == 0);
    CHECK(p.number("buffers outstanding") == 0);
  }
}

TEST_CASE("a session after one that failed works") {
  child_process const p({"fail=cuptiActivityEnable:999", start, "work=3", "stop",
                         "heal=cuptiActivityEnable", "start=trace,formats=none", "work=2", "stop"});
  CHECK(fake::count_of(p.out, "kernels: 0\n") == 1);
  CHECK(fake::count_of(p.out, "kernels: 2\n") == 1);
  CHECK(fake::count_of(p.out, "problems: 0\n") == 1);
}

TEST_CASE("launches that cannot be followed") {
  child_process const p({"fail=cuptiEnableCallback:14", start, "work=3", "stop"});
  p.check_one_problem({"not joined to ranges", "cuptiEnableCallback", "(14)"});
  CHECK(p.number("kernels") == 3);
  CHECK(p.number("uncorrelated") == 3);
  child_process const q({"fail=cuptiGetCallbackName:1", start, "work=3", "stop"});
  q.check_one_problem({"not joined to ranges", "cuptiGetCallbackName"});
  CHECK(q.number("kernels") == 3);
}

TEST_CASE("a flush that fails") {
  child_process const p({"fail=cuptiActivityFlushAll:999", start, "work=3", "stop"});
  p.check_one_problem({"incomplete", "cuptiActivityFlushAll", "(999)"});
  CHECK(p.number("kernels") == 0);
}

TEST_CASE("windows of one report have the device's work all of them, or none") {
  std::string const attached = "start=trace,formats=none,attach=window,every=10,active=1";
  SUBCASE("what is in the way after two windows leaves out those until it is gone") {
    child_process const p({attached, "steps=20", "fail=cuptiActivityEnable:39", "steps=50",
                           "heal=cuptiActivityEnable", "steps=10", "stop"});
    p.check_one_problem({"windows are left out", "cuptiActivityEnable", "(39)"});
    CHECK(p.number("kernels") == 3);
    CHECK(p.number("subscribed") == 0);
  }
  SUBCASE("before the first window: none has it") {
    child_process const p({attached, "fail=cuptiSubscribe:39", "steps=10", "heal=cuptiSubscribe",
                           "steps=20", "stop"});
    p.check_one_problem({"cuptiSubscribe", "(39)"});
    CHECK(p.number("traced") == 0);
  }
}

TEST_CASE("a failure in a schedule is said once") {
  for (char const* const fails : {"cuptiActivityFlushAll:999", "cuptiEnableCallback:14"}) {
    CAPTURE(fails);
    child_process const p({std::string("fail=") + fails,
                           "start=trace,formats=none,skip=1,active=1,repeat=3", "steps=6", "stop"});
    p.check_one_problem({fails[5] == 'A' ? "cuptiActivityFlushAll" : "cuptiEnableCallback"});
  }
}

}  // namespace failure_test
