#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_RANGE_STEPS_HPP
#define STRATA_COLLECT_HOST_RANGE_STEPS_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/host/thread_recorder.hpp>

#include <cstddef>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// `step=NAME`: the calls of the ranges of one name are the steps. The first thread that is in one
/// drives the steps as long as it lives; in other threads they are ranges alone, and so they are
/// within each other. Threads: any, except where a function says otherwise.
class range_steps {
 public:
  /// A name, or a pattern of names (`*`, `?`); an index is none of it: `block` and `block[*]` are
  /// all of `block[3]`. Nothing: no range is a step. Threads: while no range comes here.
  void choose(std::string_view name) noexcept {
    constexpr std::string_view all_indices = "[*]";
    bool const folded = name.size() > all_indices.size() &&
                        name.substr(name.size() - all_indices.size()) == all_indices;
    if (folded) name.remove_suffix(all_indices.size());
    size_ = name.copy(text_, sizeof text_);
    is_pattern_ = name.find_first_of("*?") != name.npos;
    driver_.store(nullptr, memory_order_relaxed);
  }

  bool chosen() const noexcept { return size_ != 0; }

  /// Whether ranges of this name are steps.
  bool has(std::string_view name) const noexcept {
    std::string_view const wanted(text_, size_);
    return is_pattern_ ? matches(name, wanted) : name == wanted;
  }

  /// Whether this thread drives the steps; the first one that asks does from then on.
  bool may_drive(thread_recorder* own) noexcept {
    thread_recorder* nobody = nullptr;
    if (own == nullptr) return false;
    if (!driver_.compare_exchange_strong(nobody, own)) return nobody == own;
    open_ = {};
    return true;
  }
  bool drives(thread_recorder const* own) const noexcept {
    return own != nullptr && driver_.load(memory_order_relaxed) == own;
  }

  /// Threads: the driver. The range that is the step, as long as it is open or has just ended.
  void opened(range_token const& range) noexcept { open_ = range; }
  bool in_step() const noexcept { return open_.owner != nullptr; }
  /// Whether that range has ended, by itself or with one around it; asked once.
  bool has_ended(thread_recorder const& own) noexcept {
    if (!in_step() || own.has_open(open_)) return false;
    open_ = {};
    return true;
  }

  /// The thread ends: another one may drive the steps.
  void leave(thread_recorder* own) noexcept { (void)driver_.compare_exchange_strong(own, nullptr); }

 private:
  char text_[name_table::longest];  // no name has more
  std::size_t size_ = 0;
  bool is_pattern_ = false;
  atomic<thread_recorder*> driver_{nullptr};
  range_token open_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_RANGE_STEPS_HPP
