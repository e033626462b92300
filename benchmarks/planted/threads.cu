// A second thread launches, as PyTorch's autograd does: the driving thread waits for it in a range.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "planted.hpp"

namespace {

/// A thread that does what it is given, one thing after another, and ends with the program.
class worker {
 public:
  worker() : thread_([this] { work(); }) {}
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;
  ~worker() {
    {
      std::lock_guard<std::mutex> const lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  /// Gives it the task and waits for its end; what it launched may still run.
  void run(void (*task)()) {
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return over_ || task_ != nullptr; });
      if (task_ == nullptr) return;
      task_();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  void (*task_)() = nullptr;
  bool over_ = false;
  std::thread thread_;
};

worker& autograd() {
  static worker only;
  return only;
}

void forward() {
  STRATA_RANGE("forward");
  triad(large);
}

void backward_thread() {
  forward();
  {
    STRATA_RANGE("backward");
    autograd().run([] {
      std::size_t const all = std::size_t{1} << 13 << 8;
      strided_kernel<<<1u << 13, threads>>>(a, c, mended ? 1 : 64, mended ? all : 1048, large);
    });
  }
  wait();
}

void sound_backward_thread() {
  forward();
  {
    STRATA_RANGE("backward");
    autograd().run([] {
      for (int i = 0; i < 2; ++i) triad(large);
    });
  }
  wait();
}

constexpr planted programs[] = {{"backward_thread", backward_thread},
                                {"sound_backward_thread", sound_backward_thread}};
planted_list const list{programs};

}  // namespace
