#ifndef STRATA_TESTS_FAKE_HELD_FOR_FORK_HPP
#define STRATA_TESTS_FAKE_HELD_FOR_FORK_HPP

#include <mutex>
#include <new>

#include <unistd.h>

/// A mutex that the thread which forks holds meanwhile: a child gets what it guards as it is
/// between two calls, and the mutex free. A fork waits for it for 0.2 s, since a callback may fork.
class held_for_fork {
 public:
  explicit held_for_fork(std::mutex& which) : which_(which) {}

  void begin() {
    for (int turn = 0; turn < 2000 && !held_; ++turn) {
      held_ = which_.try_lock();
      if (!held_) usleep(100);
    }
  }
  void end() {
    if (held_) which_.unlock();
    held_ = false;
  }
  void end_in_child() {
    new (&which_) std::mutex;  // nobody there would unlock it
    held_ = false;
  }

 private:
  std::mutex& which_;
  bool held_ = false;
};

#endif  // STRATA_TESTS_FAKE_HELD_FOR_FORK_HPP
