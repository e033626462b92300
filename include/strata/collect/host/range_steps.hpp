#ifndef STRATA_COLLECT_HOST_RANGE_STEPS_HPP
#define STRATA_COLLECT_HOST_RANGE_STEPS_HPP

#include <strata/collect/host/thread_recorder.hpp>

STRATA_BEGIN
namespace detail {

/// `step=NAME`: the calls of the ranges of one name are the steps. The first thread that is in one
/// drives the steps as long as it lives; in other threads they are ranges alone, and so they are
/// within each other. Where a pop ends them, one that begins within one of its own name ends that
/// one first: its pop is missing. Each session has its own, as a range may still be under way when
/// the next one begins; `before` keeps them. Threads: any, except where a function says otherwise.
class range_steps {
 public:
  /// A name, or a pattern of names (`*`, `?`); an index is none of it: `block` and `block[*]` are
  /// all of `block[3]`.
  range_steps(std::string_view name, range_steps const* before) noexcept : before_(before) {
    constexpr std::string_view all_indices = "[*]";
    bool const folded = name.size() > all_indices.size() && ends_with(name, all_indices);
    if (folded) name.remove_suffix(all_indices.size());
    size_ = name.copy(text_, sizeof text_);
    is_pattern_ = name.find_first_of("*?") != name.npos;
  }

  /// Whether this thread drives the steps.
  bool drives(thread_recorder const* own) const noexcept {
    return own != nullptr && driver_.load(memory_order_relaxed) == own;
  }

  /// Before a range begins: begins a step, by `steps.begin_step()`, where the range is one.
  /// Returns: whether it did; the range has to be handed to `begun`. Threads: that of `own`.
  template <class Steps>
  bool begin(Steps& steps, thread_recorder* own, std::string_view name) noexcept {
    if (!has(name)) return false;
    if (!may_drive(own)) {
      steps.leave_out_step();
      return false;
    }
    end(steps, *own);  // where it ended with a range around it
    if (open_.owner != nullptr && own->awaits_pop(open_, name)) {
      own->leave_step();
      end(steps, *own);
    }
    return open_.owner == nullptr && steps.begin_step();
  }

  /// From now on `end_by` ends the ranges of the driver: it asks whether the step is over.
  template <class Steps>
  void begun(Steps& steps, range_token const& range, thread_recorder* own,
             void (*end_by)(range_token range) noexcept) noexcept {
    if (range.owner == nullptr || own == nullptr) return steps.end_step();  // no room for the range
    open_ = range;
    own->end_by(end_by);
  }

  /// After a range of the driver has ended: ends the step, by `steps.end_step()`, where its range
  /// has ended, by itself or with one around it.
  template <class Steps>
  void end(Steps& steps, thread_recorder const& own) noexcept {
    if (open_.owner == nullptr || own.has_open(open_)) return;
    open_ = {};
    steps.end_step();
  }

  /// A range begins that need not nest, under a number that its end bears.
  template <class Steps>
  void begin_span(Steps& steps, thread_recorder* own, std::string_view name,
                  std::uint64_t id) noexcept {
    if (!has(name)) return;
    if (!may_drive(own)) return steps.leave_out_step();
    end_span(steps, span_.load());  // its end is missing, or comes too late
    if (open_.owner == nullptr && steps.begin_step()) span_.store(id);
  }
  /// It ends. Threads: any.
  template <class Steps>
  void end_span(Steps& steps, std::uint64_t id) noexcept {
    if (id == no_span || !span_.compare_exchange_strong(id, no_span)) return;
    steps.take_step(false);
    steps.end_step();
  }

  /// The thread ends, and its ranges have ended: another one may drive the steps.
  template <class Steps>
  void leave(Steps& steps, thread_recorder* own) noexcept {
    if (!drives(own)) return;
    end(steps, *own);
    end_span(steps, span_.load());
    driver_.store(nullptr, memory_order_release);
  }

 private:
  static constexpr std::uint64_t no_span = ~std::uint64_t{0};

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

  [[maybe_unused]] range_steps const* before_;  // keeps it in reach
  char text_[name_table::longest];              // no name has more
  std::size_t size_ = 0;
  bool is_pattern_ = false;
  atomic<thread_recorder*> driver_{nullptr};
  range_token open_;                     // the driver's: the range that is the step
  atomic<std::uint64_t> span_{no_span};  // the same, where it need not nest
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RANGE_STEPS_HPP
