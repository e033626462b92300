#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_SPAN_LOG_HPP
#define STRATA_COLLECT_HOST_SPAN_LOG_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/name_table.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The spans of a process: they begin and end in any thread, in any order. Threads: any. Cost: a
/// lock; an end is looked for among the open ones, the youngest first.
class span_log {
 public:
  static constexpr std::size_t most_open = 16'384;

  /// Records while `session` is not 0.
  span_log(tick_source const& clock, name_table& names, memory_budget& budget,
           std::atomic<std::uint32_t> const& session,
           std::atomic<std::uint32_t> const& step) noexcept
      : clock_(&clock), names_(&names), session_(&session), step_(&step), ended_(budget) {}

  /// A session begins: what the last one left is forgotten.
  void clear() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_.clear();
    open_.clear();
    dropped_ = 0;
  }

  void start(std::uint64_t id, std::string_view name, std::string_view domain,
             std::uint32_t thread) noexcept {
    if (session_->load(std::memory_order_acquire) == 0) return;
    span_record const begun = begin(name, domain, thread, span_kind::range);
    std::lock_guard<std::mutex> lock(mutex_);
    if (open_.size() < most_open) {
      open_.push_back({id, begun});
    } else {
      ++dropped_;
    }
  }

  /// Nothing where no span of this session bears the number.
  void end(std::uint64_t id, std::uint32_t thread) noexcept {
    std::int64_t const now = clock_->now();
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t at = open_.size(); at-- > 0;) {
      if (open_[at].id != id) continue;
      span_record ended = open_[at].span;
      open_[at] = open_.back();
      open_.pop_back();
      ended.end = now;
      ended.end_thread = thread;
      add(ended);
      return;
    }
  }

  void mark(std::string_view name, std::string_view domain, std::uint32_t thread) noexcept {
    if (session_->load(std::memory_order_acquire) == 0) return;
    span_record const made = begin(name, domain, thread, span_kind::mark);
    std::lock_guard<std::mutex> lock(mutex_);
    add(made);
  }

  /// In the order of their begins; times stay in ticks.
  void copy_to(profile& to) {
    std::lock_guard<std::mutex> lock(mutex_);
    ended_.for_each([&](span_record const& span) { to.spans.push_back(span); });
    std::sort(to.spans.begin(), to.spans.end(),
              [](span_record const& a, span_record const& b) { return a.begin < b.begin; });
    to.losses.spans_dropped = dropped_;
    to.losses.spans_left_open = open_.size();
  }

 private:
  struct open_span {
    std::uint64_t id;
    span_record span;
  };

  span_record begin(std::string_view name, std::string_view domain, std::uint32_t thread,
                    span_kind kind) noexcept {
    span_record made{};
    made.name = names_->intern(name, other_names);
    if (!domain.empty()) made.domain = names_->intern(domain, other_names);
    made.thread = made.end_thread = thread;
    made.step = step_->load(std::memory_order_relaxed);
    made.kind = kind;
    made.begin = made.end = clock_->now();
    return made;
  }

  void add(span_record const& ended) noexcept {
    if (!ended_.push(ended)) ++dropped_;
  }

  static constexpr std::string_view other_names = "[other names]";

  tick_source const* clock_;
  name_table* names_;
  std::atomic<std::uint32_t> const* session_;
  std::atomic<std::uint32_t> const* step_;
  std::mutex mutex_;
  record_log<span_record> ended_;
  vec<open_span> open_;
  std::uint64_t dropped_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_SPAN_LOG_HPP
