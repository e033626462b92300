#include <strata/version.hpp>
#ifndef STRATA_DETAIL_RANGE_PROFILER_HPP
#define STRATA_DETAIL_RANGE_PROFILER_HPP

#include <strata/config.hpp>
#include <strata/detail/cupti_profiler.hpp>
#include <strata/detail/metric_config.hpp>
#include <strata/detail/profiler_library.hpp>
#include <strata/status.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

STRATA_BEGIN

namespace detail {

/// CUPTI's Range Profiler on one context, in user ranges and user replay: the program's own steps
/// are the passes. Ranges are named by numbers; equal numbers add up in the image. Threads: the one
/// whose ranges are counted. Source: cuptiRangeProfilerEnable, -SetConfig, -Start, -PushRange,
/// -PopRange, -Stop, -DecodeData.
class range_profiler {
 public:
  /// Prepares the profiling of a context that is current; learns the chip and what may be counted
  /// on it. Errors: not_permitted without the privilege, busy where another profiler has the
  /// counters, not_supported.
  status open(profiler_library const& library, cupti::context_handle context, int device) {
    library_ = &library;
    cupti::profiler::initialize_params initialize;
    status done = outcome("cuptiProfilerInitialize", call(library.api.initialize, initialize));
    if (!done) return done;
    cupti::profiler::device_supported_params supported;
    supported.device = device;
    if (call(library.api.device_supported, supported) == cupti::result::success &&
        supported.supported == cupti::profiler::support::no) {
      return {errc::not_supported, why_not(supported)};
    }
    cupti::profiler::chip_name_params chip;
    chip.device_index = static_cast<std::size_t>(device);
    done = outcome("cuptiDeviceGetChipName", call(library.api.chip_name, chip));
    if (!done) return done;
    chip_ = chip.name == nullptr ? "" : chip.name;
    cupti::profiler::counter_availability_params available;
    available.context = context;
    done = outcome("cuptiProfilerGetCounterAvailability",
                   call(library.api.counter_availability, available));
    if (!done) return done;
    availability_.assign(available.image_size, 0);
    available.image = availability_.data();
    done = outcome("cuptiProfilerGetCounterAvailability",
                   call(library.api.counter_availability, available));
    if (!done) return done;
    context_ = context;
    return enable();
  }

  std::string const& chip() const noexcept { return chip_; }
  std::vector<std::uint8_t> const& availability() const noexcept { return availability_; }

  /// Sets the counters of the next passes, with room for this many different ranges.
  /// CUPTI keeps the first configuration of an object: another one needs a new object.
  status configure(metric_config& config, std::size_t most_ranges) {
    if (configured_) {
      close();
      status const enabled = enable();
      if (!enabled) return enabled;
    }
    configured_ = true;
    cupti::profiler::counter_data_size_params size;
    size.object = object_;
    size.names = config.c_names();
    size.count = config.names().size();
    size.max_ranges = most_ranges;
    size.max_tree_nodes = static_cast<std::uint32_t>(most_ranges + 1);
    status done = outcome("cuptiRangeProfilerGetCounterDataSize",
                          call(library_->api.counter_data_size, size));
    if (!done) return done;
    data_.assign(size.size, 0);
    cupti::profiler::counter_data_initialize_params clear;
    clear.object = object_;
    clear.size = data_.size();
    clear.image = data_.data();
    done = outcome("cuptiRangeProfilerCounterDataImageInitialize",
                   call(library_->api.counter_data_initialize, clear));
    if (!done) return done;
    cupti::profiler::set_config_params set;
    set.object = object_;
    set.config = config.image().data();
    set.config_size = config.image().size();
    set.counter_data = data_.data();
    set.counter_data_size = data_.size();
    set.max_ranges_per_pass = most_ranges;
    return outcome("cuptiRangeProfilerSetConfig", call(library_->api.set_config, set));
  }

  status start() {
    cupti::profiler::start_params params;
    params.object = object_;
    return outcome("cuptiRangeProfilerStart", call(library_->api.start, params));
  }

  /// Ends a pass; `complete` tells whether it was the last one of the configuration.
  status stop(bool& complete) {
    cupti::profiler::stop_params params;
    params.object = object_;
    status const done = outcome("cuptiRangeProfilerStop", call(library_->api.stop, params));
    complete = params.all_passes_submitted != 0;
    return done;
  }

  void push(std::uint32_t range) noexcept {
    char name[16];
    *std::to_chars(name, name + sizeof name - 1, range).ptr = '\0';
    cupti::profiler::push_range_params params;
    params.object = object_;
    params.name = name;
    if (call(library_->api.push_range, params) != cupti::result::success) ++refused_;
  }

  void pop() noexcept {
    cupti::profiler::pop_range_params params;
    params.object = object_;
    if (call(library_->api.pop_range, params) != cupti::result::success) ++refused_;
  }

  /// Pushes and pops that CUPTI refused, and ranges that it dropped.
  std::uint64_t lost() const noexcept { return refused_ + dropped_; }

  /// Hands the values of every counted range to `sink(range, values)`, in the order of the
  /// configuration's names.
  template <class Sink>
  status read(metric_config& config, Sink sink) {
    cupti::profiler::decode_params decode;
    decode.object = object_;
    status done = outcome("cuptiRangeProfilerDecodeData", call(library_->api.decode, decode));
    if (!done) return done;
    dropped_ += decode.ranges_dropped;
    cupti::profiler::counter_data_info_params info;
    info.image = data_.data();
    info.size = data_.size();
    done = outcome("cuptiRangeProfilerGetCounterDataInfo",
                   call(library_->api.counter_data_info, info));
    std::vector<double> values;
    for (std::size_t i = 0; done && i < info.ranges; ++i) {
      cupti::profiler::range_info_params range;
      range.image = data_.data();
      range.size = data_.size();
      range.range = i;
      range.delimiter = "/";
      done = outcome("cuptiRangeProfilerCounterDataGetRangeInfo",
                     call(library_->api.range_info, range));
      if (done) done = config.evaluate(data_, i, values);
      std::uint32_t number = 0;
      char const* const name = range.name == nullptr ? "" : range.name;
      if (done && std::from_chars(name, name + std::strlen(name), number).ec == std::errc{})
        sink(number, values);
    }
    return done;
  }

  void close() noexcept {
    if (object_ == nullptr) return;
    cupti::profiler::disable_params params;
    params.object = object_;
    (void)call(library_->api.disable, params);
    object_ = nullptr;
  }

 private:
  status enable() {
    cupti::profiler::enable_params params;
    params.context = context_;
    status const done = outcome("cuptiRangeProfilerEnable", call(library_->api.enable, params));
    object_ = params.object;
    return done;
  }

  status outcome(char const* what, cupti::result code) const {
    if (code == cupti::result::success) return {};
    return {errc_of(code), library_->describe(what, code)};
  }

  static std::string why_not(cupti::profiler::device_supported_params const& p) {
    using cupti::profiler::support;
    auto const bad = [](support s) { return s == support::no || s == support::disabled; };
    char const* reason = "this device";
    if (bad(p.architecture))
      reason = "this device's architecture: counters need compute capability 7.5 or later";
    if (bad(p.virtual_gpu)) reason = "this virtual GPU: enable profiling in its settings";
    if (bad(p.confidential_computing)) reason = "confidential computing";
    if (bad(p.cmp)) reason = "CMP mining GPUs";
    if (bad(p.wsl)) reason = "this WSL";
    if (bad(p.sli)) reason = "SLI";
    return std::string("the Range Profiler does not support ") + reason;
  }

  profiler_library const* library_ = nullptr;
  cupti::context_handle context_ = nullptr;
  cupti::profiler::range_object* object_ = nullptr;
  bool configured_ = false;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::vector<std::uint8_t> data_;
  std::uint64_t refused_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_DETAIL_RANGE_PROFILER_HPP
