#ifndef STRATA_COLLECT_COUNTERS_DEVICE_SAMPLER_HPP
#define STRATA_COLLECT_COUNTERS_DEVICE_SAMPLER_HPP

#include <strata/collect/counters/cupti_sampling.hpp>
#include <strata/collect/counters/sampled_metrics.hpp>

STRATA_BEGIN
namespace detail {

/// Takes a sample, in times of CUPTI's clock.
using sample_sink = callback<void(counted_sample const& made)>;

/// What was lost while a device was sampled.
struct sampling_losses {
  std::uint64_t overflows = 0;      ///< the hardware's buffer was full
  std::uint64_t without_value = 0;  ///< samples that CUPTI gave no value or no time for
  std::uint64_t gaps = 0;           ///< times between two samples
  std::int64_t gap_ns = 0;          ///< their sum
};

/// CUPTI's PM sampling of one device: its hardware writes counters into a buffer at equal times,
/// whatever runs, and nothing waits for the device. It needs no context and no subscriber.
/// Threads: one at a time. Source: cuptiPmSamplingEnable, -SetConfig, -Start, -DecodeData, -Stop.
class device_sampler {
 public:
  /// Samples of one decoding, and the bytes of the hardware's buffer: CUPTI takes some 18 KiB of
  /// memory for each sample of the former (H200, 13.0).
  static constexpr std::uint32_t max_samples = 1024;
  static constexpr std::size_t hardware_buffer_bytes = std::size_t{128} << 20;

  /// Samples of so long after the beginning are left out: in the first 0.2 to 0.35 s CUPTI counts a
  /// 200th to a 275th of what memory moves (H200, CUPTI 13.0). Units: ns. Tests shorten it.
  static std::int64_t& settling_ns() noexcept {
    static std::int64_t ns = 400'000'000;
    return ns;
  }

  /// Chooses what is sampled of this chip. `continues()` is asked before each call that takes long.
  /// Errors: not_supported, not_permitted; unavailable: it does not continue.
  status choose(profiler_library const& library, int device, std::int64_t interval_ns,
                callback<bool()> continues) {
    library_ = &library;
    device_ = static_cast<std::size_t>(device);
    interval_ns_ = interval_ns;
    dynamic_library cupti;
    if (!cupti.open_loaded(library.path.c_str()) || !sampling_.bind(cupti))
      return {errc::not_supported,
              library.path + " cannot sample: use the libcupti of CUDA 12.6U2 or later"};
    status done = library_->outcome("cuptiProfilerInitialize", library.initialize());
    if (!done) return done;
    cupti::profiler::chip_name_params named;
    named.device_index = device_;
    done = library_->outcome("cuptiDeviceGetChipName", call(library.api.chip_name, named));
    if (!done) return done;
    chip_ = named.name == nullptr ? "" : named.name;
    counter_images images({}, device_);
    chosen_ = {};
    return chosen_.choose(library, chip_, images.of_device(library), continues);
  }

  /// Takes the counters of the device: from nothing to samples that come. Requires: choose().
  /// Errors: not_supported, not_permitted, busy where another profiler has them.
  status begin() {
    cupti::sampling::enable_params enabled;
    enabled.device_index = device_;
    status done = library_->outcome("cuptiPmSamplingEnable", call(sampling_.enable, enabled));
    if (!done) return done;
    object_ = enabled.object;
    stands_still_ = false;
    first_begin_ = 0;
    done = configure();
    if (done) done = start();
    if (!done) close();
    return done;
  }

  bool is_chosen() const noexcept { return !chosen_.config.names().empty(); }
  bool is_open() const noexcept { return object_ != nullptr; }
  std::string const& chip() const noexcept { return chip_; }
  sampled_metrics const& chosen() const noexcept { return chosen_; }
  sampling_losses const& losses() const noexcept { return losses_; }
  std::uint64_t samples() const noexcept { return samples_; }

  /// Hands all samples to `sink` that are complete, in the order in which they come.
  /// Where the hardware's buffer was full it stands still until close() and begin(): what is
  /// left in it goes, and `losses` has the time without samples. `continues()` is
  /// asked after each `max_samples` whether to take more.
  /// Cost: 11 us a sample of two counters (H200, CUPTI 13.0).
  status read(sample_sink sink, callback<bool()> continues) {
    if (stands_still_) return {};
    constexpr int max_rounds = 64;  // of one call: a decoder that is too slow lets others run
    for (int round = 0; round < max_rounds; ++round) {
      cupti::sampling::decode_params decode;
      decode.object = object_;
      decode.image = image_.data();
      decode.size = image_.size();
      cupti::result const code = call(sampling_.decode, decode);
      bool const overflow = code == cupti::result::out_of_memory || decode.overflow != 0;
      if (code != cupti::result::success && !overflow)
        return library_->outcome("cuptiPmSamplingDecodeData", code);
      status done = take(sink);
      if (done) done = clear_image();
      if (overflow) {
        ++losses_.overflows;
        stands_still_ = true;
        return done;
      }
      if (!done || decode.reason != cupti::sampling::stop_reason::image_full) return done;
      if (!continues()) break;
    }
    return {};
  }

  bool stands_still() const noexcept { return stands_still_; }

  /// No more samples are made; those that were can still be read.
  status stop() {
    if (!std::exchange(running_, false)) return {};
    cupti::sampling::stop_params params;
    params.object = object_;
    return library_->outcome("cuptiPmSamplingStop", call(sampling_.stop, params));
  }

  void close() noexcept {
    if (object_ == nullptr) return;
    (void)stop();
    cupti::sampling::disable_params params;
    params.object = std::exchange(object_, nullptr);
    (void)call(sampling_.disable, params);
  }

  /// As close, but CUPTI is not called, and keeps its object.
  void abandon() noexcept {
    object_ = nullptr;
    running_ = false;
  }

 private:
  status configure() {
    cupti::sampling::counter_data_size_params size;
    size.object = object_;
    size.names = chosen_.config.c_names();
    size.count = chosen_.config.names().size();
    size.max_samples = max_samples;
    status done = library_->outcome("cuptiPmSamplingGetCounterDataSize",
                                    call(sampling_.counter_data_size, size));
    if (!done) return done;
    image_.assign(size.size, 0);
    done = clear_image();
    if (!done) return done;
    cupti::sampling::set_config_params set;
    set.object = object_;
    set.config = chosen_.config.image().data();  // CUPTI reads it later too
    set.config_size = chosen_.config.image().size();
    set.hardware_buffer_size = hardware_buffer_bytes;
    set.interval = static_cast<std::uint64_t>(interval_ns_);
    return library_->outcome("cuptiPmSamplingSetConfig", call(sampling_.set_config, set));
  }

  status clear_image() {
    cupti::sampling::counter_data_initialize_params clear;
    clear.object = object_;
    clear.size = image_.size();
    clear.image = image_.data();
    return library_->outcome("cuptiPmSamplingCounterDataImageInitialize",
                             call(sampling_.counter_data_initialize, clear));
  }

  status start() {
    cupti::sampling::start_params params;
    params.object = object_;
    status const done = library_->outcome("cuptiPmSamplingStart", call(sampling_.start, params));
    running_ = done.ok();
    return done;
  }

  status take(sample_sink sink) {
    cupti::sampling::counter_data_info_params info;
    info.image = image_.data();
    info.size = image_.size();
    status done = library_->outcome("cuptiPmSamplingGetCounterDataInfo",
                                    call(sampling_.counter_data_info, info));
    for (std::size_t i = 0; done && i < info.completed; ++i) {
      cupti::sampling::sample_info_params when;
      when.object = object_;
      when.image = image_.data();
      when.size = image_.size();
      when.sample = i;
      bool good = call(sampling_.sample_info, when) == cupti::result::success &&
                  when.end > when.begin && when.begin != 0;
      good = good && chosen_.config.evaluate(image_, i, values_).ok();
      counted_sample made{
          static_cast<std::int64_t>(when.begin), static_cast<std::int64_t>(when.end), {}};
      for (std::size_t k = 0; good && k < values_.size(); ++k) {
        good = values_[k] >= 0.0 && values_[k] <= counted_sample::most;  // not NaN
        if (good) made.counts[k] = static_cast<std::int64_t>(values_[k] + 0.5);
      }
      if (!good) {
        ++losses_.without_value;
        continue;
      }
      if (first_begin_ == 0) first_begin_ = made.begin;
      if (made.begin - first_begin_ < settling_ns()) continue;
      ++samples_;
      note_gap(made.begin, made.end);
      sink(made);
    }
    return done;
  }

  /// A sample that comes late fills a gap.
  void note_gap(std::int64_t begin, std::int64_t end) noexcept {
    if (last_end_ != 0 && begin > last_end_ + interval_ns_ / 2) {
      ++losses_.gaps;
      losses_.gap_ns += begin - last_end_;
    }
    if (end <= last_end_) losses_.gap_ns = larger(std::int64_t{0}, losses_.gap_ns - (end - begin));
    last_end_ = larger(last_end_, end);
  }

  profiler_library const* library_ = nullptr;
  cupti::sampling::table sampling_;
  cupti::sampling::sampling_object* object_ = nullptr;
  std::size_t device_ = 0;
  std::int64_t interval_ns_ = 0;
  bool running_ = false;
  bool stands_still_ = false;  // records were lost
  std::string chip_;
  sampled_metrics chosen_;
  vec<std::uint8_t> image_;
  vec<double> values_;
  std::int64_t first_begin_ = 0;  // of all samples since begin()
  std::int64_t last_end_ = 0;
  std::uint64_t samples_ = 0;
  sampling_losses losses_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_DEVICE_SAMPLER_HPP
