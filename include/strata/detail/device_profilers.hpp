#include <strata/version.hpp>
#ifndef STRATA_DETAIL_DEVICE_PROFILERS_HPP
#define STRATA_DETAIL_DEVICE_PROFILERS_HPP

#include <strata/config.hpp>
#include <strata/detail/cupti.hpp>
#include <strata/detail/device_wait.hpp>
#include <strata/detail/driver.hpp>
#include <strata/detail/metric_config.hpp>
#include <strata/detail/profiler_library.hpp>
#include <strata/detail/range_profiler.hpp>
#include <strata/record.hpp>
#include <strata/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

/// The range profilers of all devices that a program uses, driven as one: a range is pushed on each
/// of them. Threads: as range_profiler.
class device_profilers {
 public:
  enum class which : unsigned char { current, all };

  /// The device of the current context, and with `all` every other that work was launched on and
  /// that has the same chip: what one chip counts is not comparable with another. `problems` takes
  /// a sentence for each device that is left out. Errors: those of the current device.
  status open(profiler_library const& library, which devices, std::vector<status>& problems) {
    driver_library const& driver = driver_library::get();
    driver::context_handle context = nullptr;
    driver::device_handle device = 0;
    if (driver.api.context_current == nullptr || driver.api.context_device == nullptr ||
        driver.api.context_current(&context) != driver::result::success || context == nullptr ||
        driver.api.context_device(&device) != driver::result::success) {
      return {errc::unavailable,
              "counters: the thread that drives the steps has no CUDA context; call the CUDA "
              "runtime in it before"};
    }
    close();
    members_.clear();
    members_.emplace_back(context, device);
    status const done = members_[0].profiler.open(library, context, device);
    if (!done || devices == which::current) return done;
    device_wait::each_context([&](driver::context_handle other) {
      if (other != context) open_other(library, other, problems);
    });
    return {};
  }

  bool is_open() const noexcept { return !members_.empty() && members_[0].profiler.is_open(); }
  bool several() const noexcept { return members_.size() > 1; }
  std::string const& chip() const noexcept {
    static std::string const none;
    return members_.empty() ? none : members_[0].profiler.chip();
  }
  std::vector<std::uint8_t> const& availability() const noexcept {
    return members_[0].profiler.availability();
  }
  /// As the driver numbers them.
  std::vector<std::uint32_t> devices() const {
    std::vector<std::uint32_t> all;
    for (member const& each : members_) all.push_back(static_cast<std::uint32_t>(each.device));
    std::sort(all.begin(), all.end());
    return all;
  }

  /// As range_profiler::configure, on each.
  status configure(metric_config& config, std::size_t most_ranges, bool by_kernel = false) {
    return on_all([&](member& each) {
      each.worked.clear();
      return each.profiler.configure(config, most_ranges, by_kernel);
    });
  }
  /// Starts all or none.
  status start() {
    std::size_t started = 0;
    status const done = on_all([&](member& each) {
      status const its = each.profiler.start();
      started += its.ok() ? 1 : 0;
      return its;
    });
    bool complete = false;
    if (!done) (void)stop(complete, started);
    return done;
  }
  /// Stops all, also where one fails.
  status stop(bool& complete) { return stop(complete, members_.size()); }

  void push(std::uint32_t range) noexcept {
    for (member& each : members_) {
      current_context const here(several() ? each.context : nullptr);
      each.profiler.push(range);
    }
  }
  void pop() noexcept {
    for (member& each : members_) {
      current_context const here(several() ? each.context : nullptr);
      each.profiler.pop();
    }
  }

  /// The program puts work on a device while a range is counted. A copy may be another device's
  /// too.
  void launched(std::uint32_t range, api_kind kind, driver::context_handle context) {
    if (!several()) return;
    for (member& each : members_)
      if (each.context == context || kind == api_kind::copy) each.mark(range);
  }
  /// Whether this context's work is counted.
  bool counts(driver::context_handle context) const noexcept {
    for (member const& each : members_)
      if (each.context == context) return true;
    return false;
  }

  /// Whether the passes should be made again, with more room on one of them.
  bool should_repeat() noexcept {
    bool repeat = false;
    for (member& each : members_) repeat = each.profiler.should_repeat() || repeat;
    return repeat;
  }
  std::uint64_t lost() const noexcept {
    std::uint64_t sum = 0;
    for (member const& each : members_) sum += each.profiler.lost();
    return sum;
  }
  status trouble() const {
    for (member const& each : members_) {
      status const its = each.profiler.trouble();
      if (!its.ok()) return its;
    }
    return {};
  }

  /// As range_profiler::read: the values of one device after those of another. A range in which a
  /// device had nothing to do has none of it.
  template <class Sink>
  status read(metric_config& config, Sink sink) {
    return on_all([&](member& each) {
      return each.profiler.read(config,
                                [&](std::uint32_t range, std::vector<double> const& values) {
                                  if (!several() || each.has_work_in(range)) sink(range, values);
                                });
    });
  }

  void abandon() {
    for (member& each : members_) each.profiler.abandon();
  }
  void close() noexcept {
    for (member& each : members_) {
      current_context const here(several() ? each.context : nullptr);
      each.profiler.close();
    }
  }

 private:
  struct member {
    member(driver::context_handle in, driver::device_handle of) : context(in), device(of) {}

    void mark(std::uint32_t range) {
      if (range >= worked.size()) worked.resize(range + std::size_t{1});
      worked[range] = true;
    }
    bool has_work_in(std::uint32_t range) const noexcept {
      return range < worked.size() && worked[range];
    }

    driver::context_handle context;
    driver::device_handle device;
    range_profiler profiler;
    std::vector<bool> worked;  // by range, since `configure`
  };

  /// Makes a context current as long as it lives; null leaves all as it is.
  class current_context {
   public:
    explicit current_context(driver::context_handle context) noexcept
        : pushed_(context != nullptr &&
                  driver_library::get().api.context_push(context) == driver::result::success) {}
    current_context(current_context const&) = delete;
    current_context& operator=(current_context const&) = delete;
    ~current_context() {
      driver::context_handle popped = nullptr;
      if (pushed_) (void)driver_library::get().api.context_pop(&popped);
    }
    explicit operator bool() const noexcept { return pushed_; }

   private:
    bool pushed_;
  };

  status stop(bool& complete, std::size_t count) {
    status first;
    complete = true;
    for (std::size_t i = 0; i < count; ++i) {
      member& each = members_[i];
      current_context const here(several() ? each.context : nullptr);
      bool ended = false;
      status const done = each.profiler.stop(ended);
      complete = complete && ended;
      if (first.ok()) first = done;
    }
    return first;
  }

  template <class Action>
  status on_all(Action action) {
    for (member& each : members_) {
      current_context const here(several() ? each.context : nullptr);
      status done = action(each);
      if (!done) return done;
    }
    return {};
  }

  void open_other(profiler_library const& library, driver::context_handle context,
                  std::vector<status>& problems) {
    driver::table const& api = driver_library::get().api;
    if (api.context_push == nullptr || api.context_pop == nullptr) return;
    current_context const here(context);
    driver::device_handle device = 0;
    if (!here || api.context_device(&device) != driver::result::success) return;
    std::string const name = "counters: device " + std::to_string(device);
    for (member const& each : members_) {
      if (each.device != device) continue;
      problems.emplace_back(errc::not_supported,
                            name +
                                " has several contexts, of which one is counted: the one of "
                                "the thread that drives the steps, if it is of this device");
      return;
    }
    member made(context, device);
    status const done = made.profiler.open(library, context, device);
    if (!done) {
      problems.emplace_back(done.code(), name + " is not counted: " + done.message());
    } else if (made.profiler.chip() != chip()) {
      problems.emplace_back(errc::not_supported, name + " is not counted: it is a " +
                                                     made.profiler.chip() + ", the first one a " +
                                                     chip() + "; run on devices of one kind");
      made.profiler.close();
    } else {
      members_.push_back(std::move(made));
    }
  }

  std::vector<member> members_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_DETAIL_DEVICE_PROFILERS_HPP
