// Steps that a program marks before it uses a GPU are apart from those that work on one.
#include <doctest/doctest.h>
#include "recording/recording.hpp"

#include <algorithm>
#include <cstdint>
#include <strata/base/text_writer.hpp>
#include <strata/profile/early_steps.hpp>
#include <strata/recording/format.hpp>
#include <string>
#include "analyse/steps.hpp"

#include "child_process.hpp"
#include "fake_session.hpp"

namespace early_steps_test {

using fake::child_process;
using fake::count_of;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

void host_step() {
  STRATA_STEP();
  STRATA_RANGE("load");
}

void device_step(int kernels) {
  STRATA_STEP();
  STRATA_RANGE("train");
  for (int i = 0; i < kernels; ++i) fake::launch();
}

std::string recording_of(profile const& source) {
  std::string bytes;
  strata::detail::text_writer out(bytes);
  strata::write_recording(out, source);
  out.flush();
  return bytes;
}

/// 4 steps without device work, then 5 with 2 kernels each, of which one step in between has none.
void check(profile const& p) {
  REQUIRE(p.steps.size() == 6);
  CHECK(p.steps[0].step == 4);
  REQUIRE(p.early_steps.size() == 4);
  CHECK(p.early_steps[3].step == 3);
  CHECK(row(p, "load").host.count() == 5);
  CHECK(row(p, "load").step_share == doctest::Approx(0.2));
  CHECK(row(p, "train").step_share == 1.0);
  CHECK(row(p, "train").first_step_calls == 1);
  CHECK(p.first_recorded_step() == 4);
  strata::call_tree const tree(p);
  strata::step_analysis const steps =
      strata::make_steps(p, strata::call_tree(p, strata::folding::by_name), tree.rows());
  CHECK(steps.count == 6);
  CHECK(steps.early == 4);
}

}  // namespace

TEST_CASE("steps before the first work on a device are no steps of a mean one") {
  traced s;
  for (int step = 0; step < 4; ++step) host_step();
  for (int step = 0; step < 5; ++step) {
    device_step(2);
    if (step == 1) host_step();
  }
  profile const& p = fake::whole(s);
  check(p);
  profile read;
  REQUIRE(strata::read_recording(recording_of(p), read).ok());
  check(read);
  // An older recording has them among its steps.
  profile old = p;
  old.steps = p.early_steps;
  for (strata::step_record const& step : p.steps) old.steps.push_back(step);
  old.early_steps = {};
  REQUIRE(strata::read_recording(recording_of(old), read).ok());
  check(read);
}

TEST_CASE("all steps count where none works on a device, and where work may be missing") {
  traced s;
  for (int step = 0; step < 4; ++step) host_step();
  profile const idle = s.profile();
  CHECK(idle.steps.size() == 4);
  CHECK(idle.early_steps.empty());
  traced next;
  for (int step = 0; step < 3; ++step) host_step();
  device_step(1);
  profile read = next.profile();
  CHECK(read.steps.size() == 1);
  for (strata::step_record const& step : read.early_steps) read.steps.push_back(step);
  read.early_steps = {};
  read.losses.launches_dropped = 1;
  strata::detail::set_early_steps_apart(read);
  CHECK(read.steps.size() == 4);
}

TEST_CASE("early steps are counted in words, in files, and not in the time of unrecorded steps") {
  REQUIRE(std::system("rm -rf early") == 0);
  child_process const whole({"host-steps=4", "cuda", "await=cuptiSubscribe", "steps=5"},
                            {{"STRATA", "trace,formats=table+json+trace.json,out=early"}});
  INFO(whole.err);
  std::string said = whole.err;  // wherever its lines break
  std::replace(said.begin(), said.end(), '\n', ' ');
  CHECK(count_of(said, "4 before any recorded GPU work left out") == 1);
  CHECK(count_of(fake::text_of("early/trace.json"), "\"name\":\"ProfilerStep#") == 9);
  REQUIRE(std::system("rm -rf early") == 0);
  child_process const window({"host-steps=4", "cuda", "await=cuptiSubscribe", "steps=12"},
                             {{"STRATA", "trace,skip=10,active=2,formats=json,out=early"}});
  INFO(window.err);
  // Steps 4 to 9 and 12 to 15: CUDA begins before the fifth.
  CHECK(count_of(fake::text_of("early/profile.json"), "\"unrecorded_steps\":10,") == 1);
}

}  // namespace early_steps_test
