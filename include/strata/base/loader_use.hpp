#ifndef STRATA_BASE_LOADER_USE_HPP
#define STRATA_BASE_LOADER_USE_HPP

#include <strata/base/threads.hpp>
#include <strata/base/vocabulary.hpp>

#include <pthread.h>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Lives while this thread opens a library or walks the list of libraries. glibc (2.36) leaves the
/// loader's lock over that list taken in a child that was forked meanwhile: the child's next
/// dlopen() or dlclose() would never return. So a fork waits until no other thread has a use, for
/// 30 ms at most, and a use waits until no thread forks, for 1 s at most: a fork copies the page
/// tables of the process. Threads: any.
class loader_use : uncopied {
 public:
  enum class on_fork { wait, give_up };

  explicit loader_use(on_fork what = on_fork::wait) noexcept {
    for (unsigned turn = 0;; ++turn) {
      instance().uses.fetch_add(1);
      ++own_uses();
      is_safe_ = own_uses() > 1 || instance().forks.load() == 0;
      if (is_safe_ || what == on_fork::give_up || turn == most_turns_of_use) return;
      leave();
      wait_a_turn(turn);
    }
  }
  ~loader_use() { leave(); }

  /// False while a thread forks: whoever can wait tries again later.
  [[nodiscard]] bool is_safe() const noexcept { return is_safe_; }

  /// From now on a fork waits for uses, 30 ms at most: a library's constructor may wait for the
  /// thread that forks.
  static void guard_forks() noexcept {
    static int const guarded = pthread_atfork(&begin_fork, &end_fork, &end_fork_in_child);
    (void)guarded;
  }

 private:
  static constexpr unsigned most_turns_of_fork = 200;  // some 30 ms
  static constexpr unsigned most_turns_of_use = 5000;  // some 1 s

  struct counts {
    atomic<unsigned> forks{0};  // under way
    atomic<unsigned> uses{0};
  };
  static counts& instance() noexcept {
    static counts only;
    return only;
  }
  /// A library's constructor may fork in the thread that opens it.
  static unsigned& own_uses() noexcept {
    static thread_local unsigned own = 0;
    return own;
  }

  static void leave() noexcept {
    instance().uses.fetch_sub(1);
    --own_uses();
  }

  static void begin_fork() noexcept {
    counts& all = instance();
    all.forks.fetch_add(1);
    for (unsigned turn = 0; all.uses.load() > own_uses() && turn < most_turns_of_fork; ++turn)
      wait_a_turn(turn);
  }
  static void end_fork() noexcept { instance().forks.fetch_sub(1); }
  static void end_fork_in_child() noexcept {
    instance().uses.store(own_uses());  // other threads are not there
    instance().forks.store(0);
  }

  bool is_safe_ = true;
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_LOADER_USE_HPP
