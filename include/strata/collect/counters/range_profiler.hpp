#ifndef STRATA_COLLECT_COUNTERS_RANGE_PROFILER_HPP
#define STRATA_COLLECT_COUNTERS_RANGE_PROFILER_HPP

#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/contexts.hpp>

STRATA_BEGIN
namespace detail {

/// The ranges that were pushed in the passes of a configuration: which of them CUPTI counted whole,
/// how many had no room in its image, and whether the passes should be made again with more.
class pushed_ranges {
 public:
  /// A configuration begins, with room for so many ranges, or those it needed. Returns: the room.
  std::size_t begin(std::size_t max_ranges) noexcept {
    room_ = larger(max_ranges, needed_);
    if (!repeating_) lost_ += refused_ + unfit_;
    repeating_ = false;
    seen_.clear();
    names_ = max_pushes_ = 0;
    unfit_ = refused_ = 0;
    return room_;
  }
  void begin_pass() noexcept { pushes_ = refused_now_ = 0; }
  void end_pass() noexcept { max_pushes_ = larger(max_pushes_, pushes_); }

  /// Returns: false where there is no memory to know the range by; it is not counted then.
  bool push(std::uint32_t range) noexcept {
    if (range >= seen_.size()) {
      if (!seen_.make_room(range + std::size_t{1} - seen_.size())) {
        ++unfit_;
        return false;
      }
      seen_.resize(range + std::size_t{1});
    }
    use& known = seen_[range];
    if (known.last == 0) ++names_;
    known.last = larger(known.last, ++pushes_);
    return true;
  }
  /// CUPTI had no room for the range that was pushed.
  void note_no_room(std::uint32_t range) noexcept {
    seen_[range].refused = true;
    ++unfit_;
  }
  /// CUPTI refused the range that was pushed.
  void note_refused(std::uint32_t range) noexcept {
    seen_[range].refused = true;
    ++refused_;
    ++refused_now_;
  }
  /// CUPTI refused to end a range.
  void note_end_refused() noexcept { ++refused_; }
  /// CUPTI's image lacks so many. Pushes beyond the room count for nothing, even of a known name,
  /// and CUPTI does not tell (H200, CUDA 13.0).
  void note_dropped(std::size_t ranges) noexcept {
    unfit_ += ranges;
    if (max_pushes_ > room_) unfit_ = larger(unfit_, std::uint64_t{max_pushes_ - room_});
  }

  /// Whether CUPTI refused every range of the pass.
  bool all_refused() const noexcept { return refused_now_ != 0 && refused_now_ == pushes_; }
  /// Whether every part of the range was counted. CUPTI does not tell what it dropped; where it
  /// dropped anything, only what came while there was room is sure.
  bool is_whole(std::uint32_t range) const noexcept {
    if (range >= seen_.size()) return false;
    return !seen_[range].refused && (unfit_ == 0 || seen_[range].last <= room_);
  }

  /// Whether the passes had more ranges than room: they should be made again, after another
  /// `begin`, which makes the room. Not for ever: a program may have new ranges in every step.
  bool should_repeat() const noexcept { return is_full() && repeats_ < max_repeats; }
  /// They will be.
  void repeat() noexcept {
    ++repeats_;
    repeating_ = true;
    if (is_full()) needed_ = larger(2 * room_, max_pushes_ + 32);
  }
  /// They will not.
  void accept() noexcept { repeats_ = 0; }
  /// They do not count, and what they lost is not lost.
  void forgive() noexcept { refused_ = unfit_ = 0; }

  std::size_t room() const noexcept { return room_; }
  /// Without room, in this configuration.
  std::uint64_t unfit() const noexcept { return unfit_; }
  /// Pushes and pops that CUPTI refused, in this configuration.
  std::uint64_t refused() const noexcept { return refused_; }
  /// Both, in all configurations that were not repeated.
  std::uint64_t lost() const noexcept { return lost_ + refused_ + unfit_; }

 private:
  static constexpr unsigned max_repeats = 2;

  /// What is known of a range's pushes.
  struct use {
    std::size_t last = 0;  // its last place in a pass; from 1 on, 0: never
    bool refused = false;
  };

  bool is_full() const noexcept { return names_ > room_ || unfit_ != 0; }

  vec<use> seen_;                // by range
  std::size_t room_ = 0;         // different ranges in an image
  std::size_t needed_ = 0;       // that were seen
  std::size_t names_ = 0;        // different ranges
  std::size_t pushes_ = 0;       // of this pass
  std::size_t max_pushes_ = 0;   // of a pass
  std::size_t refused_now_ = 0;  // of this pass
  std::uint64_t refused_ = 0;
  std::uint64_t unfit_ = 0;
  std::uint64_t lost_ = 0;  // in earlier configurations
  unsigned repeats_ = 0;
  bool repeating_ = false;
};

/// Takes the values of a counted range.
using counted_sink = callback<void(std::uint32_t range, vec<double> const& values)>;

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
    device_ = device;
    std::string const old = too_old();
    if (!old.empty()) return {errc::not_supported, old};
    close_abandoned();
    status done = outcome("cuptiProfilerInitialize", library.initialize());
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
    vec<std::uint8_t> image(available.image_size, 0);
    available.image = image.data();
    done = outcome("cuptiProfilerGetCounterAvailability",
                   call(library.api.counter_availability, available));
    if (!done) return done;
    images_ = {std::move(image), static_cast<std::size_t>(device)};
    context_ = context;
    return enable();
  }

  bool is_open() const noexcept { return object_ != nullptr; }
  std::string const& chip() const noexcept { return chip_; }
  counter_images& images() noexcept { return images_; }

  /// Sets the counters of the next passes, with room for this many different ranges, or for those
  /// that were seen to need it. CUPTI keeps the first configuration of an object: another one needs
  /// a new object.
  status configure(metric_config& config, std::size_t most_ranges) {
    if (configured_) {
      close();
      status const enabled = enable();
      if (!enabled) return enabled;
    }
    configured_ = true;
    most_ranges = pushed_.begin(most_ranges);
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
    config_ = config.image();
    set.config = config_.data();
    set.config_size = config_.size();
    set.counter_data = data_.data();
    set.counter_data_size = data_.size();
    set.range = cupti::profiler::range_mode::user;
    set.replay = cupti::profiler::replay_mode::user;
    set.max_ranges_per_pass = most_ranges;
    return outcome("cuptiRangeProfilerSetConfig", call(library_->api.set_config, set));
  }

  status start() {
    cupti::profiler::start_params params;
    params.object = object_;
    pushed_.begin_pass();
    status const done = outcome("cuptiRangeProfilerStart", call(library_->api.start, params));
    pass_ = done.ok() ? pass_state::between_ranges : pass_state::stopped;
    return done;
  }

  /// Ends a pass; `complete` tells whether it was the last one of the configuration. Errors: also
  /// where CUPTI refused every range of the pass, or to end one.
  status stop(bool& complete) {
    cupti::profiler::stop_params params;
    params.object = object_;
    bool const broken = std::exchange(pass_, pass_state::stopped) == pass_state::broken;
    status const done = outcome("cuptiRangeProfilerStop", call(library_->api.stop, params));
    complete = params.all_passes_submitted != 0;
    pushed_.end_pass();
    if (!done) return done;
    if (broken) return outcome("cuptiRangeProfilerPopRange", refusal_);
    if (pushed_.all_refused()) return outcome("cuptiRangeProfilerPushRange", refusal_);
    return {};
  }

  void push(std::uint32_t range) noexcept {
    if (pass_ == pass_state::broken || !pushed_.push(range)) return;
    char name[longest_number + 1];
    *digits_text(name, range) = '\0';
    cupti::profiler::push_range_params params;
    params.object = object_;
    params.name = name;
    cupti::result const code = call(library_->api.push_range, params);
    if (code == cupti::result::success) {
      pass_ = pass_state::in_range;
      return;
    }
    if (pass_ == pass_state::in_range) pass_ = pass_state::between_ranges;
    if (code == cupti::result::max_limit_reached) {
      pushed_.note_no_room(range);
    } else {
      pushed_.note_refused(range);
      refusal_ = code;
    }
  }

  /// Ends the range that is pushed, if one is.
  void pop() noexcept {
    if (pass_ != pass_state::in_range) return;
    cupti::profiler::pop_range_params params;
    params.object = object_;
    cupti::result const code = call(library_->api.pop_range, params);
    pass_ = code == cupti::result::success ? pass_state::between_ranges : pass_state::broken;
    if (code == cupti::result::success) return;
    pushed_.note_end_refused();
    refusal_ = code;
  }

  /// The ranges of the passes since `configure`.
  pushed_ranges& pushed() noexcept { return pushed_; }
  pushed_ranges const& pushed() const noexcept { return pushed_; }

  /// One sentence on what was lost since `configure`; ok where nothing was.
  status problem() const {
    if (pushed_.unfit() != 0) {
      return {errc::limit,
              sentence("counters: CUPTI dropped ")
                  << pushed_.unfit() << " ranges of a pass, with room for " << pushed_.room()
                  << ": they have no values; use fewer different range names and indices"};
    }
    if (pushed_.refused() == 0) return {};
    status const why = outcome("cuptiRangeProfilerPushRange", refusal_);
    return {why.code(),
            sentence("counters: ")
                << pushed_.refused()
                << " ranges have no values, since CUPTI refused them: " << why.message()};
  }

  /// Hands the values of every counted range to `sink(range, values)`, in the order of the
  /// configuration's names. A range of which a part may be missing is left out.
  status read(metric_config& config, counted_sink sink) {
    cupti::profiler::decode_params decode;
    decode.object = object_;
    status done = outcome("cuptiRangeProfilerDecodeData", call(library_->api.decode, decode));
    if (!done) return done;
    pushed_.note_dropped(decode.ranges_dropped);
    cupti::profiler::counter_data_info_params info;
    info.image = data_.data();
    info.size = data_.size();
    done = outcome("cuptiRangeProfilerGetCounterDataInfo",
                   call(library_->api.counter_data_info, info));
    vec<double> values;
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
      std::string_view const name = range.name == nullptr ? "" : range.name;
      bool const named = done && read_number(name.substr(0, name.find('/')), number);
      if (named && pushed_.is_whole(number)) sink(number, values);
    }
    return done;
  }

  /// Leaves CUPTI alone, also its pass that is under way, until a profiler is opened again: for a
  /// moment at which a stream captures, since to stop would wait for the device.
  /// Without memory it stays where it is, and open.
  void abandon() noexcept {
    if (object_ == nullptr) return;
    (void)if_memory_allows([this] {
      vec<range_profiler*>& all = abandoned();
      all.reserve(all.size() + 1);
      all.push_back(new range_profiler(std::move(*this)));
      object_ = nullptr;
    });
  }

  /// Its context is gone, and with it all objects of CUPTI in it.
  void forget() noexcept { object_ = nullptr; }

  void close() noexcept {
    if (object_ == nullptr) return;
    cupti::profiler::disable_params params;
    params.object = object_;
    (void)call(library_->api.disable, params);
    object_ = nullptr;
  }

  /// Requires: no capture is open.
  static void close_abandoned() {
    for (range_profiler* const profiler : abandoned()) {
      if (capture_guard::lives(profiler->context_)) {
        context_scope const here(profiler->context_);
        bool complete = false;
        profiler->pop();
        if (profiler->pass_ != pass_state::stopped) (void)profiler->stop(complete);
        profiler->close();
      }
      delete profiler;
    }
    abandoned().clear();
  }

 private:
  enum class pass_state : std::uint8_t {
    stopped,
    between_ranges,
    in_range,
    broken  // a range did not end: whatever is pushed now would lie within it
  };

  /// CUPTI writes into their images until they are closed.
  static vec<range_profiler*>& abandoned() {
    static auto* const all = static_cast<vec<range_profiler*>*>(shared_object(
        process_object::abandoned_profilers, []() -> void* { return new vec<range_profiler*>; }));
    return *all;
  }

  status enable() {
    cupti::profiler::enable_params params;
    params.context = context_;
    status const done = outcome("cuptiRangeProfilerEnable", call(library_->api.enable, params));
    object_ = params.object;
    return done;
  }

  status outcome(char const* what, cupti::result code) const {
    if (code == cupti::result::success) return {};
    std::string text = library_->describe(what, code);
    if (driver_library::get().attribute(device_, mps_enabled) != 0)
      text += "; this GPU is shared through MPS, under which counters do not work: stop it";
    return {errc_of(code), std::move(text)};
  }

  /// Why a device is too old; empty when it is not.
  std::string too_old() const {
    driver_library const& driver = driver_library::get();
    int const major = driver.attribute(device_, driver::attribute::compute_capability_major, 99);
    int const minor = driver.attribute(device_, driver::attribute::compute_capability_minor);
    if (major > 7 || (major == 7 && minor >= 5)) return {};
    return sentence("counters need a GPU of compute capability 7.5 or later; this one has ")
           << major << '.' << minor;
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
  counter_images images_;
  vec<std::uint8_t> config_;
  vec<std::uint8_t> data_;
  pushed_ranges pushed_;
  int device_ = 0;
  cupti::result refusal_ = cupti::result::success;  // the last one
  pass_state pass_ = pass_state::stopped;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_RANGE_PROFILER_HPP
