#include <strata/version.hpp>
#ifndef STRATA_BENCHMARK_BENCHMARK_HPP
#define STRATA_BENCHMARK_BENCHMARK_HPP

// Trials of a function: each is a call of a range in a profile, timed by the records of its device
// work, else by events of the driver, else by the host. It needs Strata's implementation once in
// the program, as a session in code does.

#if !defined(__linux__)
#error "benchmark/benchmark.hpp measures on Linux only: leave it out elsewhere"
#endif

#include <strata/base/clock.hpp>
#include <strata/base/utf8.hpp>
#include <strata/collect/cuda/cuda_use.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include "trials.hpp"

#include <algorithm>

STRATA_BEGIN
namespace detail {

/// What a trial does, for its range: only what was given.
struct trial_work {
  benchmark_options const& how;

  void apply(range_attributes& attributes) const noexcept {
    auto const calls = static_cast<double>(how.calls);
    if (how.flops >= 0.0) attributes.set(attributes.record.flops, calls * how.flops);
    if (how.bytes >= 0.0) attributes.set(attributes.record.bytes, calls * how.bytes);
    if (how.tokens >= 0.0) attributes.set(attributes.record.tokens, calls * how.tokens);
  }
};

/// Overwrites the L2 of the device of the first use's context; without one, 64 MiB of the host.
class cache_flush : uncopied {
 public:
  ~cache_flush() {
    if (buffer_ != 0) (void)free_(buffer_);
  }

  void operator()() {
    if (buffer_ == 0 && problem_.empty()) allocate();
    ++value_;  // other bytes each time
    if (buffer_ == 0) {
      host_.resize(std::size_t{64} << 20);
      std::memset(host_.data(), value_, host_.size());
      return;
    }
    driver_library const& driver = driver_library::get();
    // Work of streams that do not wait for the default one would bring its data back.
    driver::result code = driver.api.context_synchronize();
    if (code == driver::result::success) code = set_(buffer_, value_, bytes_, nullptr);
    if (code == driver::result::success) code = driver.api.context_synchronize();
    if (code != driver::result::success) problem_ = driver.describe("cuMemsetD8Async", code);
  }

  /// Why the L2 of a device was not overwritten; empty where it was, or where there is none.
  std::string const& problem() const noexcept { return problem_; }

 private:
  using device_pointer = unsigned long long;  // CUdeviceptr

  void allocate() {
    if (!cuda_use::has_begun()) return;
    driver_library const& driver = driver_library::get();
    driver::context_handle context = nullptr;
    driver::device_handle device = 0;
    if (!driver.ok() || driver.api.context_current == nullptr ||
        driver.api.context_current(&context) != driver::result::success || context == nullptr)
      return;
    dynamic_library library;
    driver::result (*memory)(device_pointer*, std::size_t) = nullptr;
    if (!driver_library::open(library, problem_)) return;
    if (!library.bind("cuMemAlloc_v2", memory) || !library.bind("cuMemFree_v2", free_) ||
        !library.bind("cuMemsetD8Async", set_) || driver.api.context_device == nullptr ||
        driver.api.context_synchronize == nullptr) {
      problem_ = "libcuda lacks functions that fill memory: is it NVIDIA's?";
      return;
    }
    (void)driver.api.context_device(&device);
    int const l2 = driver.attribute(device, driver::attribute::l2_cache_size_bytes);
    bytes_ = 2 * static_cast<std::size_t>(l2 > 0 ? l2 : 128 << 20);
    driver::result const code = memory(&buffer_, bytes_);
    if (code == driver::result::success) return;
    buffer_ = 0;
    problem_ = driver.describe("cuMemAlloc", code);
  }

  driver::result (*free_)(device_pointer) = nullptr;
  driver::result (*set_)(device_pointer, unsigned char, std::size_t,
                         driver::stream_handle) = nullptr;
  device_pointer buffer_ = 0;
  std::size_t bytes_ = 0;
  unsigned char value_ = 0;
  vec<unsigned char> host_;
  std::string problem_;
};

/// Events of the driver in the context that is current. It never loads the driver: a context has.
class event_clock {
 public:
  using event = void*;  // CUevent

  /// An event on the legacy default stream after a wait for all streams of the context, so that two
  /// of them enclose the work in between wherever it runs. Null where no context is current.
  event mark() noexcept {
    using driver::result;
    driver::context_handle context = nullptr;
    event made = nullptr;
    if (!bind() || current_(&context) != result::success || context == nullptr ||
        synchronize_() != result::success || create_(&made, 0) != result::success)
      return nullptr;
    if (record_(made, nullptr) == result::success) return made;
    (void)destroy_(made);
    return nullptr;
  }

  /// The time between two, which are then gone. Returns: a negative time where one is missing.
  double ns_between(event begin, event end) noexcept {
    float ms = -1.0f;
    if (begin != nullptr && end != nullptr && wait_(end) == driver::result::success &&
        elapsed_(&ms, begin, end) != driver::result::success)
      ms = -1.0f;
    for (event const done : {begin, end})
      if (done != nullptr) (void)destroy_(done);
    return static_cast<double>(ms) * 1e6;
  }

 private:
  bool bind() noexcept {
    if (elapsed_ != nullptr) return true;
    dynamic_library driver;
    return driver.open_loaded("libcuda.so.1") && driver.bind("cuCtxGetCurrent", current_) &&
           driver.bind("cuCtxSynchronize", synchronize_) && driver.bind("cuEventCreate", create_) &&
           driver.bind("cuEventDestroy_v2", destroy_) && driver.bind("cuEventRecord", record_) &&
           driver.bind("cuEventSynchronize", wait_) && driver.bind("cuEventElapsedTime", elapsed_);
  }

  driver::result (*current_)(driver::context_handle*) = nullptr;
  driver::result (*synchronize_)() = nullptr;
  driver::result (*create_)(event*, unsigned) = nullptr;
  driver::result (*destroy_)(event) = nullptr;
  driver::result (*record_)(event, driver::stream_handle) = nullptr;
  driver::result (*wait_)(event) = nullptr;
  driver::result (*elapsed_)(float* ms, event, event) = nullptr;
};

/// The name of a run and its parameters, as a terminal may have it.
inline std::string shown_name(benchmark_result const& result) {
  return console_text(name_of(result));
}

/// ` 95.13 GFLOP`
inline std::string flop_text(double flops) {
  constexpr std::string_view units[] = {" TFLOP", " GFLOP", " MFLOP", " kFLOP"};
  double unit = 1e12;
  std::size_t index = 0;
  for (; index < 3 && flops < unit; ++index) unit /= 1e3;
  return aligned(fixed_string(flops / unit, 2), 6).append(units[index]);
}

}  // namespace detail

/// A table of all runs, and a line for each parameter.
inline std::string benchmark_text(vec<benchmark_result> const& results) {
  std::size_t width = 9;
  for (benchmark_result const& result : results)
    width = std::max(width, detail::display_width(detail::shown_name(result)));
  std::string text = detail::aligned("benchmark", width, true) +
                     "  trials     median         p5        p95     MAD  outliers    GFLOP/s"
                     "       GB/s  ceiling  clock\n";
  for (benchmark_result const& result : results) {
    auto const time = [](double ns) { return detail::time_text(ns); };
    auto const rate = [](double per_s) {
      return detail::is_finite(per_s) ? detail::fixed_string(per_s / 1e9, 2) : std::string("-");
    };
    auto const percent = [](double part) {
      return part > 0.0 ? detail::fixed_string(100.0 * part, 1) + " %" : std::string("-");
    };
    text += detail::aligned(detail::shown_name(result), width, true);
    text += detail::aligned(detail::sentence() << result.ns.size(), 8);
    text += detail::aligned(time(result.median_ns), 11);
    text += detail::aligned(time(result.p5_ns), 11);
    text += detail::aligned(time(result.p95_ns), 11);
    text += detail::aligned(percent(result.mad_ns / result.median_ns), 8);
    text += detail::aligned(detail::sentence() << result.outliers, 10);
    text += detail::aligned(rate(result.flops_per_s()), 11);
    text += detail::aligned(rate(result.bytes_per_s()), 11);
    std::string const reached = detail::human_percent(result.of_ceiling(), 1.0);
    bool const known = result.of_ceiling() > 0.0 && !reached.empty();
    text += detail::aligned(known ? reached + " %" : std::string("-"), 9);
    text += result.by_device ? "  device\n" : result.by_events ? "  events\n" : "  host\n";
  }
  for (benchmark_growth const& growth : growth_of(results)) {
    std::string const power = detail::console_text(growth.parameter) + "^";
    text += detail::console_text(growth.name) + ": time grows with " + power +
            detail::fixed_string(growth.exponent, 2);
    if (detail::is_finite(growth.expected))
      text += ", expected " + power + detail::fixed_string(growth.expected, 2);
    text += detail::sentence(" (") << growth.values << " runs)\n";
  }
  return text;
}

/// Lines as llama.cpp's `test-backend-ops perf` prints them: mean time, and GFLOPS where flops are
/// given, else GB/s (of 2^30 bytes).
inline std::string backend_ops_text(vec<benchmark_result> const& results) {
  std::string text;
  for (benchmark_result const& result : results) {
    char line[128];
    std::snprintf(line, sizeof line, "%8llu runs - %8.2f us/run - ",
                  static_cast<unsigned long long>(result.ns.size()) * result.how.calls,
                  result.mean_ns / 1e3);
    text += "  " + detail::shown_name(result) + ": " + line;
    double const per_s = result.how.flops / result.mean_ns * 1e9;
    if (result.how.flops > 0.0)
      text += detail::flop_text(result.how.flops) + "/run - " + detail::flop_text(per_s) + "S\n";
    else if (result.how.bytes > 0.0) {
      std::snprintf(line, sizeof line, "%8.0f kB/run - %7.2f GB/s\n", result.how.bytes / 1024.0,
                    result.how.bytes / result.mean_ns * 1e9 / (1024.0 * 1024.0 * 1024.0));
      text += line;
    } else {
      text += "\n";
    }
  }
  return text;
}

/// The runs with tokens as a Markdown table with llama-bench's columns `test` and `t/s`: the mean
/// of the trials' rates and their standard deviation.
inline std::string llama_bench_text(vec<benchmark_result> const& results) {
  std::string text = "| test | t/s |\n| --- | ---: |\n";
  for (benchmark_result const& result : results) {
    if (!(result.how.tokens > 0.0) || result.ns.empty()) continue;
    vec<double> rates;
    for (double const ns : result.ns) rates.push_back(result.how.tokens / ns * 1e9);
    text += "| " + detail::shown_name(result) + " | " +
            detail::fixed_string(detail::mean(rates), 2) + " \xC2\xB1 " +
            detail::fixed_string(detail::sample_deviation(rates), 2) + " |\n";
  }
  return text;
}

STRATA_END

STRATA_BEGIN_SWITCH

/// Runs functions and keeps their trials in one profile, with a session of its own by the options
/// of `STRATA`, or as ranges of the session that runs already. What is not traced is timed by
/// events of the driver, else by the host. Threads: one thread uses it.
class benchmarks : detail::uncopied {
 public:
  explicit benchmarks(std::string_view options = "trace,formats=none")
      : session_(options_of(options)), started_(session_.start()) {}

  /// Calls `f` for the warm-up, then `calls` times in each trial: a call of the range `name[x]`, or
  /// of `y[value]` below it. `f` waits for the device only where the host times it. After `results`
  /// nothing is run.
  template <class Function>
  void run(std::string_view name, Function&& f, benchmark_options const& how = {}) {
    run(name, f, how, [] {});
  }
  /// The same; `before` is called ahead of each call of the warm-up and each trial, and not timed:
  /// it fills the input anew, say. Caches are warm; with `how.cold` L2 is overwritten after it.
  template <class Function, class Before>
  void run(std::string_view name, Function&& f, benchmark_options const& how, Before&& before) {
    if (ended_) return;
    for (std::uint32_t i = 0; i < how.warmup; ++i) {
      before();
      if (how.cold) flush_();
      scoped_range const mark("warmup");
      f();
    }
    std::size_t const index = result_of(name, how);  // `f` may call `run`
    for (std::uint32_t i = 0; i < how.trials; ++i) {
      before();
      if (how.cold) flush_();
      std::uint32_t const calls = results_[index].how.calls;
      detail::event_clock::event const first = expects_records() ? nullptr : events_.mark();
      std::int64_t begin = 0;
      std::int64_t end = 0;
      {
        trial const mark(results_[index]);
        begin = detail::monotonic_ns();
        for (std::uint32_t call = 0; call < calls; ++call) f();
        end = detail::monotonic_ns();
      }
      double const ns = first == nullptr ? -1.0 : events_.ns_between(first, events_.mark());
      if (ns >= 0.0) event_ns_[index].push_back(ns / calls);
      results_[index].ns.push_back(static_cast<double>(end - begin) / calls);
    }
  }

  /// All runs; ends the session. Where runs were not timed by records, stderr says so once.
  vec<benchmark_result> const& results() {
    if (ended_) return results_;
    ended_ = true;
    session_.stop();
    bool traced = false;
    if (started_.ok()) {
      profile const& recorded = session_.profile();
      traced = recorded.traced;
      if (traced) detail::device_times const read(recorded, results_);
    }
    std::string by_host;
    std::string by_events;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      benchmark_result& result = results_[i];
      result.by_events =
          !result.by_device && !result.ns.empty() && event_ns_[i].size() == result.ns.size();
      if (result.by_events) result.ns = std::move(event_ns_[i]);
      detail::summarise(result);
      std::string& names = result.by_events ? by_events : by_host;
      if (!result.by_device) detail::add_part(names, detail::name_of(result));
    }
    if (!by_events.empty())
      say("timed by events, with launches and a wait: " + why_host(traced) + " (" + by_events +
          ")");
    if (!by_host.empty()) say("timed by the host: " + why_host(traced) + " (" + by_host + ")");
    if (!flush_.problem().empty()) say("L2 was not overwritten: " + flush_.problem());
    return results_;
  }

  /// The session of the trials, for its profile and its problems.
  strata::session& session() noexcept { return session_; }

  /// Writes what the options ask for: files, table, page.
  status report() {
    (void)results();
    return session_.report();
  }

 private:
  /// The ranges of a trial.
  class trial : uncopied {
   public:
    explicit trial(benchmark_result const& result) noexcept : two_(!result.how.y.name.empty()) {
      detail::trial_work const work{result.how};
      std::int64_t const index = result.how.x.name.empty() ? no_index : result.how.x.value;
      if (two_) {
        push(result.name, index);
        push(result.how.y.name, result.how.y.value, work);
      } else {
        push(result.name, index, work);
      }
    }
    ~trial() {
      pop();
      if (two_) pop();
    }

   private:
    scoped_step step_;
    bool two_;
  };

  /// Whether the session traces, as far as it is known before its end.
  bool expects_records() const noexcept {
    return started_.ok() && session_.options().trace && session_.problems().empty();
  }

  std::string why_host(bool traced) const {
    if (!started_.ok()) return started_.message();
    if (traced)
      return "no work on the device was recorded in each trial: a function of the CPU has none; "
             "for others raise log= and buffers=";
    if (!session_.options().trace)
      return "only host times are asked for: STRATA=trace asks for those of the device";
    return "no device was traced" + (session_.problems().empty()
                                         ? std::string(": see docs/reference/messages.md")
                                         : ": " + session_.problems()[0].message());
  }

  std::size_t result_of(std::string_view name, benchmark_options const& how) {
    benchmark_result made;
    made.name = std::string(name) + (how.cold ? " cold" : "");
    made.how = how;
    made.how.calls = std::max(std::uint32_t{1}, how.calls);
    std::string const full = detail::name_of(made);
    for (std::size_t index = 0; index < results_.size(); ++index)
      if (detail::name_of(results_[index]) == full) return index;
    results_.push_back(made);
    event_ns_.emplace_back();
    return results_.size() - 1;
  }

  static void say(std::string const& message) { detail::say(message.c_str()); }

  static strata::options options_of(std::string_view text) {
    char const* const wish = detail::variable("STRATA");
    vec<std::string> problems;
    strata::options made = strata::options::parse(wish != nullptr ? wish : text, problems);
    for (std::string const& problem : problems) say(problem);
    return made;
  }

  strata::session session_;
  status started_;
  bool ended_ = false;
  detail::cache_flush flush_;
  detail::event_clock events_;
  vec<benchmark_result> results_;
  vec<vec<double>> event_ns_;  // of each result, by trial; fewer where there was no context
};

/// Runs one function: `benchmark("norm", [&] { norm(x); }, {3, 30})`.
template <class Function>
benchmark_result benchmark(std::string_view name, Function&& f, benchmark_options const& how = {}) {
  benchmarks all;
  all.run(name, f, how);
  return all.results()[0];
}

STRATA_END_SWITCH

#endif  // STRATA_BENCHMARK_BENCHMARK_HPP
