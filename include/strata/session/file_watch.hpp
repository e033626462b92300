#ifndef STRATA_SESSION_FILE_WATCH_HPP
#define STRATA_SESSION_FILE_WATCH_HPP

#include <strata/base/guest.hpp>
#include <strata/base/text.hpp>
#include <strata/session/own_threads.hpp>
#include <strata/status.hpp>

STRATA_BEGIN
namespace detail {

/// Looks at a file ten times a second, in a thread of its own: a file system that does not answer
/// holds nobody else, neither a step nor the end. Threads: `start` and `stop` one at a time,
/// `was_touched` one.
class file_watch : uncopied {
 public:
  ~file_watch() {
    stop();
    release();
  }

  /// The file as it is now is not a touched one. Errors: input_output: it cannot be looked at, yet;
  /// unavailable: there is no thread.
  status start(std::string const& path) {
    stop();
    release();
    look_ = new look(path);
    is_stopped_ = false;
    if (!start_thread(thread_, &run, look_)) {
      delete std::exchange(look_, nullptr);
      return {errc::unavailable,
              "trigger= is not looked at, since no thread can be started: raise ulimit -u"};
    }
    deadline patience(longest_wait_ns);
    for (unsigned turn = 0; look_->looks.load() == 0; ++turn) {
      if (!patience.lasts()) {
        look_->said.store(true);
        return {errc::input_output,
                sentence("trigger=") << path
                                     << " cannot be looked at: its file system has not answered "
                                        "for 1 s; no window begins until it does: name a file in "
                                        "a directory that answers"};
      }
      wait_a_turn(turn);
    }
    return look_->problem();
  }

  /// Whether the file was made or touched since the last call. Cost: an atomic is read.
  bool was_touched() noexcept {
    return look_ != nullptr && look_->touched.load(memory_order_relaxed) &&
           look_->touched.exchange(false);
  }

  /// Ends the thread, or leaves it behind where the file system does not answer. What the thread
  /// looked at stays until the next start, since a step of another thread may read it meanwhile.
  void stop() noexcept {
    if (look_ == nullptr || std::exchange(is_stopped_, true)) return;
    look& own = *look_;
    own.ended.make();
    deadline patience(longest_wait_ns);
    unsigned turn = 0;
    while (own.in_stat.load() && patience.lasts()) wait_a_turn(turn++);
    if (own.in_stat.load() || pthread_equal(thread_, pthread_self())) {
      pthread_detach(thread_);
    } else {
      pthread_join(thread_, nullptr);
    }
  }

 private:
  void release() noexcept {
    if (look_ != nullptr) std::exchange(look_, nullptr)->release();
  }

  static constexpr std::int64_t period_ns = 100'000'000;
  static constexpr std::int64_t longest_wait_ns = 1'000'000'000;

  /// What the thread and the session share; the last one of them deletes it.
  struct look {
    explicit look(std::string const& file) : path(file) {}

    void release() noexcept {
      if (users.fetch_sub(1) == 1) delete this;
    }

    void at_file() {
      struct stat found {};
      in_stat.store(true);
      if (ended.is_made()) return in_stat.store(false);
      bool const exists = ::stat(path.c_str(), &found) == 0;
      int error = exists || errno == ENOENT ? 0 : errno;
      if (!exists && error == 0 && looks.load() == 0) error = folder_error();
      in_stat.store(false);
      if (ended.is_made()) return;
      file_identity const now = exists ? file_identity(found) : file_identity();
      file_identity const before = std::exchange(seen, now);
      bool const is_new = !(now.same_as(before) && now.modified == before.modified);
      int const reason_before = reason.exchange(error);
      // Who starts the watch says the first problem.
      bool const is_first = looks.fetch_add(1) == 0;
      if (!is_first && now.known && is_new) touched.store(true);
      if (is_first && !said.load()) return;
      if (error != 0 && error != reason_before) say(problem().message().c_str());
    }

    /// Of the directory that the file is not in yet.
    int folder_error() const {
      struct stat folder {};
      std::size_t const slash = path.rfind('/') + 1;
      return ::stat(path.substr(0, slash).c_str(), &folder) != 0 ? errno : 0;
    }

    status problem() const {
      int const error = reason.load();
      if (error == 0) return {};
      return {errc::input_output, sentence("trigger=")
                                      << path << " cannot be looked at: " << std::strerror(error)
                                      << "; no window begins until it can: make its directory, or "
                                         "name a file in another one"};
    }

    std::string path;
    file_identity seen;     // the thread's
    atomic<int> reason{0};  // errno: why it cannot be looked at
    atomic<std::uint64_t> looks{0};
    atomic<bool> said{false};  // that the first look does not come back
    atomic<bool> in_stat{false};
    atomic<bool> touched{false};
    stop_request ended;
    atomic<int> users{2};
  };

  /// Until the session ends, or no other thread is left in the process.
  static void* run(void* context) {
    auto& own = *static_cast<look*>(context);
    name_thread("strata-trigger");
    {
      own_thread const counted;
      program_threads program;
      while (!own.ended.is_made() && !program.have_ended()) {
        quiet_writes const quiet;
        (void)if_memory_allows([&own] { own.at_file(); });
        own.ended.pause(program.pause(period_ns));
      }
    }
    own.release();
    return nullptr;
  }

  look* look_ = nullptr;
  bool is_stopped_ = false;
  pthread_t thread_{};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_FILE_WATCH_HPP
