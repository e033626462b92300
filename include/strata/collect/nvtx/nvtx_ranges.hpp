#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_NVTX_RANGES_HPP
#define STRATA_COLLECT_NVTX_NVTX_RANGES_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/host/span_log.hpp>
#include <strata/collect/nvtx/nvtx_name.hpp>
#include <strata/collect/nvtx/nvtx_types.hpp>
#include <strata/profile/records.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

STRATA_BEGIN
namespace detail {

/// The push/pop ranges of NVTX that one thread has open, of all domains, also those that nobody
/// heard: pops and pushes stay in step.
class nvtx_stack {
 public:
  struct entry {
    range_token range;
    nvtx_domain const* domain;
  };

  nvtx_stack() = default;
  nvtx_stack(nvtx_stack const&) = delete;
  nvtx_stack& operator=(nvtx_stack const&) = delete;
  ~nvtx_stack() {
    std::free(entries_);
    entries_ = nullptr;
    count_ = capacity_ = 0;
    refused_ = gone;
  }

  static nvtx_stack& of_this_thread() noexcept {
    static thread_local nvtx_stack own;
    return own;
  }

  /// False where the thread ends, or has too many open.
  bool has_room() noexcept {
    if (refused_ == gone) return false;
    if (refused_ == 0 && (count_ < capacity_ || grow())) return true;
    ++refused_;
    return false;
  }
  /// Requires: has_room. Its level, from 0.
  int push(entry const& opened) noexcept {
    entries_[count_] = opened;
    return static_cast<int>(count_++);
  }
  /// Takes the innermost range of this domain out; its level, or no_level.
  int pop(nvtx_domain const* domain, range_token& range) noexcept {
    if (refused_ != 0) {
      if (refused_ != gone) --refused_;
      return nvtx::no_level;
    }
    for (std::size_t at = count_; at-- > 0;) {
      if (entries_[at].domain != domain) continue;
      range = entries_[at].range;
      for (std::size_t i = at + 1; i < count_; ++i) entries_[i - 1] = entries_[i];
      --count_;
      return static_cast<int>(at);
    }
    return nvtx::no_level;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;
  static constexpr std::size_t gone = ~std::size_t{0};

  STRATA_DETAIL_COLD bool grow() noexcept {
    if (capacity_ >= most) return false;
    std::size_t const capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    auto* const grown = static_cast<entry*>(std::realloc(entries_, capacity * sizeof(entry)));
    if (grown == nullptr) return false;
    entries_ = grown;
    capacity_ = capacity;
    return true;
  }

  entry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::size_t refused_ = 0;  // pushes beyond the limit, whose pops end nothing
};

/// The program's NVTX calls as ranges, wherever they come from. Push/pop ranges are ranges like any
/// other, nested with Strata's own in their thread; start/end ranges, which need not nest and may
/// end in another thread, become spans, and marks spans without a length. Ranges that Strata itself
/// sends to NVTX are left alone. Threads: any. Cost: that of a range whose name is not constant.
class nvtx_ranges {
 public:
  static int push(nvtx_name const& name) noexcept {
    if (name.own()) return nvtx::no_level;
    nvtx_stack& open = nvtx_stack::of_this_thread();
    if (!open.has_room()) return nvtx::no_level;
    range_token range;
    if (listener const* const to = listening()) {
      std::string_view const full = name.full();
      range = to->begin(name.number(), full.data(), full.size(), no_index, nullptr, false);
    }
    return open.push({range, name.where()});
  }

  static int pop(nvtx_domain const* domain) noexcept {
    if (domain != nullptr && domain->own) return nvtx::no_level;
    range_token range;
    int const level = nvtx_stack::of_this_thread().pop(domain, range);
    if (range.owner != nullptr) range.owner->end(range);
    return level;
  }

  /// A number for a range to start, where nobody else gives one.
  static nvtx::range_id next_id() noexcept {
    static std::atomic<nvtx::range_id> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }

  static void start(nvtx_name const& name, nvtx::range_id id) noexcept {
    if (name.own() || listening() == nullptr) return;
    recorder& to = recorder::instance();
    thread_recorder const* const own = to.of_this_thread();
    if (own != nullptr) to.state().spans.start(id, name.text(), name.domain(), own->ordinal());
  }
  static void end(nvtx::range_id id) noexcept {
    if (listening() == nullptr) return;
    recorder& to = recorder::instance();
    thread_recorder const* const own = to.of_this_thread();
    if (own != nullptr) to.state().spans.end(id, own->ordinal());
  }
  static void mark(nvtx_name const& name) noexcept {
    if (name.own() || listening() == nullptr) return;
    recorder& to = recorder::instance();
    thread_recorder const* const own = to.of_this_thread();
    if (own != nullptr) to.state().spans.mark(name.text(), name.domain(), own->ordinal());
  }

  /// Whether anything was heard since this was called last.
  static bool heard() noexcept { return heard_.exchange(false, std::memory_order_relaxed); }

 private:
  /// Who hears ranges; the first range starts the session that STRATA asks for.
  static listener const* listening() noexcept {
    static process_block const& ours = block();
    if (!heard_.load(std::memory_order_relaxed)) heard_.store(true, std::memory_order_relaxed);
    listener const* to = active_listener();
    if (STRATA_DETAIL_UNLIKELY(to == &bootstrap_listener)) to = decide_listener();
    return ours.nvtx_ignored.load(std::memory_order_relaxed) ? nullptr : to;
  }

  static inline std::atomic<bool> heard_{false};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NVTX_RANGES_HPP
