#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CONTEXTS_HPP
#define STRATA_COLLECT_CUDA_CONTEXTS_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

STRATA_BEGIN
namespace detail {

/// Makes a context current in the calling thread as long as it lives; null leaves all as it is.
class context_scope {
 public:
  explicit context_scope(driver::context_handle context) noexcept {
    driver::table const& api = driver_library::get().api;
    if (context == nullptr) return;
    pushed_ = api.context_push != nullptr && api.context_pop != nullptr &&
              api.context_push(context) == driver::result::success;
    ok_ = pushed_;
  }
  context_scope(context_scope const&) = delete;
  context_scope& operator=(context_scope const&) = delete;
  ~context_scope() {
    driver::context_handle popped = nullptr;
    if (pushed_) (void)driver_library::get().api.context_pop(&popped);
  }

  explicit operator bool() const noexcept { return ok_; }

 private:
  bool pushed_ = false;
  bool ok_ = true;
};

/// The contexts that the calling thread put work into while a session ran. Threads: each has its
/// own. Cost of saw(): a few ns where the context is the last one again.
class thread_contexts {
 public:
  static constexpr std::size_t most = 32;

  static void saw(driver::context_handle context, std::uint32_t session) noexcept {
    list& own = mine();
    if (own.last == context && own.session == session) return;
    if (own.session != session) own.count = 0;
    own.session = session;
    own.last = context;
    driver::context_handle* const end = own.all + own.count;
    bool const known = std::find(own.all, end, context) != end;
    if (context != nullptr && !known && own.count < most) own.all[own.count++] = context;
  }

  template <class Visit>
  static void each(std::uint32_t session, Visit visit) {
    list const& own = mine();
    if (own.session != session) return;
    for (std::size_t i = 0; i < own.count; ++i) visit(own.all[i]);
  }

 private:
  struct list {
    driver::context_handle last = nullptr;
    std::uint32_t session = 0;
    std::size_t count = 0;
    driver::context_handle all[most] = {};
  };
  static list& mine() noexcept {
    static thread_local list own;
    return own;
  }
};

/// Waiting for the devices, and when that is forbidden: a synchronisation while a stream captures a
/// graph would break the capture. Threads: any.
class capture_guard {
 public:
  static constexpr std::size_t most_contexts = 64;

  static void capture_began(driver::stream_handle stream) noexcept {
    process_captures& all = captures();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.known < most_captures) {
      all.streams[all.known++] = stream;
    } else {
      ++all.unknown;
    }
    all.open.store(true);
  }
  /// A capture that was not seen to begin ends without effect.
  static void capture_ended(driver::stream_handle stream) noexcept {
    process_captures& all = captures();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto* const at = std::find(all.streams, all.streams + all.known, stream);
    if (at != all.streams + all.known) {
      *at = all.streams[--all.known];
    } else if (all.unknown != 0) {
      --all.unknown;
    }
    all.open.store(all.known + all.unknown != 0);
  }
  /// Whether a capture was seen to begin and has not ended.
  static bool capturing() noexcept { return captures().open.load(std::memory_order_relaxed); }

  /// Whether no stream of the current context captures a graph, as far as can be known: captures
  /// seen to begin, and those into blocking streams that began before. Source: cuStreamIsCapturing
  /// on the legacy stream, which leaves a capture intact.
  static bool allowed() noexcept {
    if (capturing()) return false;
    driver::table const& api = driver_library::get().api;
    driver::context_handle context = nullptr;
    if (api.stream_is_capturing == nullptr || !has_context(context)) return true;
    auto state = driver::capture_status::none;
    driver::result const code = api.stream_is_capturing(nullptr, &state);
    return code != driver::result::stream_capture_implicit && state == driver::capture_status::none;
  }

  /// Remembers a context that work was launched in.
  static void saw(driver::context_handle context) noexcept {
    std::atomic<driver::context_handle>& last = captures().last_seen;
    if (context == nullptr || last.load(std::memory_order_relaxed) == context) return;
    last.store(context, std::memory_order_relaxed);
    if (lives(context)) return;
    for (std::atomic<driver::context_handle>& slot : captures().contexts) {
      driver::context_handle seen = slot.load();
      bool const free = seen == nullptr || seen == forgotten();
      if (free && slot.compare_exchange_strong(seen, context)) seen = context;
      if (seen == context) return;
    }
  }

  /// Whether a context was seen, and not to be destroyed since.
  static bool lives(driver::context_handle context) noexcept {
    for (std::atomic<driver::context_handle>& slot : captures().contexts) {
      driver::context_handle const seen = slot.load();
      if (seen == context) return true;
      if (seen == nullptr) break;
    }
    return false;
  }

  static void forget(driver::context_handle context) noexcept {
    for (std::atomic<driver::context_handle>& slot : captures().contexts) {
      driver::context_handle seen = context;
      (void)slot.compare_exchange_strong(seen, forgotten());
    }
    captures().last_seen.store(nullptr, std::memory_order_relaxed);
  }

  /// Waits until the work in every context that was seen is done.
  static void all_contexts() noexcept {
    driver::table const& api = driver_library::get().api;
    if (api.context_synchronize == nullptr) return;
    for (std::atomic<driver::context_handle>& slot : captures().contexts) {
      driver::context_handle const context = slot.load();
      if (context == nullptr) break;
      if (context == forgotten()) continue;
      context_scope const here(context);
      if (here) (void)api.context_synchronize();
    }
  }

  /// Waits for the current context, if there is one and no stream captures: for `sync=1`.
  static void current_context() noexcept {
    driver::table const& api = driver_library::get().api;
    driver::context_handle context = nullptr;
    if (api.context_synchronize != nullptr && has_context(context) && allowed())
      (void)api.context_synchronize();
  }

 private:
  static bool has_context(driver::context_handle& context) noexcept {
    driver::table const& api = driver_library::get().api;
    return api.context_current != nullptr &&
           api.context_current(&context) == driver::result::success && context != nullptr;
  }

  static constexpr std::size_t most_captures = 256;
  struct process_captures {
    std::mutex mutex;
    std::atomic<bool> open{false};
    std::size_t known = 0;
    std::size_t unknown = 0;  // beyond the room for streams
    driver::stream_handle streams[most_captures] = {};
    std::atomic<driver::context_handle> last_seen{nullptr};
    std::atomic<driver::context_handle> contexts[most_contexts] = {};
  };
  static process_captures& captures() noexcept {
    static auto* const all = static_cast<process_captures*>(
        shared_object(process_object::captures, []() -> void* { return new process_captures; }));
    return *all;
  }

  /// Stands in a slot whose context was destroyed.
  static driver::context_handle forgotten() noexcept { return static_cast<void*>(&captures()); }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_CONTEXTS_HPP
