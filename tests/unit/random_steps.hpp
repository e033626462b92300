// Random programs with steps, work outside them and several streams.
#ifndef STRATA_TESTS_UNIT_RANDOM_STEPS_HPP
#define STRATA_TESTS_UNIT_RANDOM_STEPS_HPP

#include <algorithm>
#include <cstdint>

#include "sample_profile.hpp"

namespace sample {

/// How the host leaves a step.
enum class step_end {
  waits,      ///< for all of its work
  goes_on,    ///< its work queues up on the device
  sometimes,  ///< waits in some steps
};

/// A thread that launches into several streams, in steps and outside them.
class random_steps : public maker {
 public:
  random_steps(std::uint64_t seed, step_end how) : random_(seed), how_(how) {
    made.traced = true;
    made.kernel_names.push_back({"work"});
    ranges_[0] = strata::root_node;
    ranges_[1] = node(0, "a");
    ranges_[2] = node(0, "b");
    ranges_[3] = node(ranges_[1], "c");
  }

  strata::profile const& run(std::uint32_t steps) {
    made.has_steps = steps > 0;
    beside_steps();
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (random_.below(8) == 0) beside_steps();
      now_ += random_.below(100);
      std::int64_t const begin = now_;
      step_ = step;
      if (step == 0 && random_.below(3) == 0) now_ += 5'000;  // modules are loaded
      body();
      if (how_ == step_end::waits || (how_ == step_end::sometimes && random_.below(3) == 0)) wait();
      made.steps.push_back({begin, now_, step, 0});
      step_ = strata::no_step;
    }
    beside_steps();
    wait();
    made.end = now_ + 1;
    made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
    return made;
  }

 private:
  void beside_steps() {
    if (how_ == step_end::waits) wait();
    if (random_.below(3) == 0) {
      std::int64_t const begin = now_;
      now_ += random_.below(2'000);
      call(ranges_[1 + random_.below(3)], begin, now_).step = strata::no_step;
    }
    if (random_.below(2) == 0) return;
    work();
    if (how_ == step_end::waits) wait();
  }
  void body() {
    std::uint32_t const count = random_.below(12);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t const what = random_.below(10);
      if (what == 0) {
        wait();
      } else if (what == 1) {
        std::int64_t const begin = now_;
        now_ += random_.below(300);
        call(ranges_[1 + random_.below(3)], begin, now_).step = step_;
      } else {
        work();
      }
    }
  }
  void work() {
    std::uint32_t const stream = random_.below(3);
    bool const copies = random_.below(5) == 0;
    std::int64_t const call_end = now_ + 3 + random_.below(20);
    std::uint32_t const id = launch(ranges_[random_.below(4)], now_, call_end,
                                    copies ? strata::api_kind::copy : strata::api_kind::launch);
    made.launches.back().step = step_;
    now_ = call_end;
    std::int64_t const begin = std::max(now_, free_[stream]) + random_.below(30);
    std::int64_t const end = begin + 1 + random_.below(200);
    free_[stream] = end;
    if (copies) {
      copy(id, begin, end, 64, strata::copy_kind::host_to_device).stream = stream;
      return;
    }
    strata::kernel_record& record = kernel(id, begin, end);
    record.name = 1;
    record.stream = stream;
  }
  void wait() {
    std::int64_t const until = std::max(now_, *std::max_element(free_, free_ + 3)) + 2;
    launch(strata::root_node, now_, until, strata::api_kind::wait);
    made.launches.back().step = step_;
    now_ = until;
  }

  random_numbers random_;
  step_end how_;
  std::int64_t now_ = 100;
  std::int64_t free_[3] = {};
  std::uint32_t step_ = strata::no_step;
  std::uint32_t ranges_[4];
};

}  // namespace sample

#endif  // STRATA_TESTS_UNIT_RANDOM_STEPS_HPP
