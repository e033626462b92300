#ifndef STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP
#define STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP

#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_call.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

#include <limits>

STRATA_BEGIN
namespace detail {

/// Whether a device is shared through MPS, under which CUPTI counts nothing.
inline constexpr auto mps_enabled = static_cast<driver::attribute>(133);

/// Which kind of failure a CUPTI code is.
constexpr errc errc_of(cupti::result code) noexcept { return cupti::meaning_of(code).kind; }

/// CUPTI's profiling functions, from the same libcupti as everything else, also without a driver.
///
/// The host API (names of metrics, passes, evaluation) works without a driver and a GPU up to
/// 13.1: 13.2 recurses without end then, whatever is called, and later ones answer with an error.
/// The other functions must not be called unless `initialize` returned success. libcupti opens
/// libnvperf_host.so by its bare name, which fails where libcupti came by a path; so the one beside
/// it is opened before.
/// Cost: 32 MB of address space and 10 to 60 ms at the first get().
/// Threads: get() from any; the members are constant afterwards.
struct profiler_library : cupti_file {
  cupti::profiler::table api;
  bool host_library = false;  // libnvperf_host.so was found beside libcupti or by the linker
  bool needs_driver = false;  // it needs one to answer about chips, and `problem` says so

  /// "<call>: <CUPTI_ERROR_...> (<code>): <fix>".
  [[nodiscard]] std::string describe(char const* call, cupti::result code) const {
    cupti::code_meaning const meaning = cupti::meaning_of(code);
    if (code == cupti::result::not_initialized && !host_library)
      return cupti_file::describe(call, code,
                                  sentence("libnvperf_host.so was not found beside ")
                                      << path << ": install all of CUPTI");
    return cupti_file::describe(
        call, code, meaning.when_counting != nullptr ? meaning.when_counting : meaning.fix);
  }

  /// What a call's code says. Errors: by errc_of, in the words of describe().
  status outcome(char const* what, cupti::result code) const {
    if (code == cupti::result::success) return {};
    return {errc_of(code), describe(what, code)};
  }

  /// Begins CUPTI's profiling in this process, for all that profiles in it. Nobody ends it:
  /// CUPTI does not count who uses it, and an end would take it from the others too.
  [[nodiscard]] cupti::result initialize() const noexcept {
    cupti::profiler::initialize_params params;
    return call(api.initialize, params);
  }

  /// Opens libcupti by the search of cupti_library.
  /// `driver_major` is 0 without a driver: then the newest library is taken.
  void load(int driver_major) {
    dynamic_library library;
    if (!open(library, driver_major)) return;
    open_host_library();
    if (!bind(library)) return;
    (void)library.bind("cuptiPmSamplingGetCounterAvailability", api.device_availability);
    if (driver_major == 0 && is_13_2(library)) {
      needs_driver = true;
      problem = path +
                " is from CUDA 13.2 or later, which knows no metrics without a driver: run "
                "\"strata metrics CHIP\", which asks the libnvperf_host.so beside it";
      return;
    }
    cupti::result (*get_version)(std::uint32_t*) = nullptr;
    if (library.bind("cuptiGetVersion", get_version)) (void)get_version(&version);
  }

  static profiler_library& get() {
    static auto* const library =
        static_cast<profiler_library*>(shared_object(process_object::profiler, []() -> void* {
          auto* fresh = new profiler_library;
          driver_library const& driver = driver_library::get();
          fresh->load(driver.ok() ? driver.major() : 0);
          return fresh;
        }));
    return *library;
  }

 private:
  /// Whether it is 13.2 or later, by a function that came then.
  static bool is_13_2(dynamic_library const& library) noexcept {
    void (*newer)() = nullptr;
    return library.bind("cuptiProfilerHostGetSinglePassSets", newer);
  }

  void open_host_library() {
    dynamic_library host;
    std::size_t const slash = path.rfind('/');
    std::string const beside =
        slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
    host_library =
        host.open((beside + "libnvperf_host.so").c_str()) || host.open("libnvperf_host.so");
  }

  /// Fills the table.
  bool bind(dynamic_library const& library) {
    const library_function needed[] = {
        {"cuptiProfilerInitialize", &api.initialize},
        {"cuptiProfilerDeviceSupported", &api.device_supported},
        {"cuptiDeviceGetChipName", &api.chip_name},
        {"cuptiProfilerGetCounterAvailability", &api.counter_availability},
        {"cuptiProfilerHostInitialize", &api.host_initialize},
        {"cuptiProfilerHostDeinitialize", &api.host_deinitialize},
        {"cuptiProfilerHostGetSupportedChips", &api.supported_chips},
        {"cuptiProfilerHostGetBaseMetrics", &api.base_metrics},
        {"cuptiProfilerHostGetMetricProperties", &api.metric_properties},
        {"cuptiProfilerHostConfigAddMetrics", &api.add_metrics},
        {"cuptiProfilerHostGetConfigImageSize", &api.config_image_size},
        {"cuptiProfilerHostGetConfigImage", &api.config_image},
        {"cuptiProfilerHostGetNumOfPasses", &api.pass_count},
        {"cuptiProfilerHostEvaluateToGpuValues", &api.evaluate},
        {"cuptiRangeProfilerEnable", &api.enable},
        {"cuptiRangeProfilerDisable", &api.disable},
        {"cuptiRangeProfilerStart", &api.start},
        {"cuptiRangeProfilerStop", &api.stop},
        {"cuptiRangeProfilerPushRange", &api.push_range},
        {"cuptiRangeProfilerPopRange", &api.pop_range},
        {"cuptiRangeProfilerSetConfig", &api.set_config},
        {"cuptiRangeProfilerDecodeData", &api.decode},
        {"cuptiRangeProfilerGetCounterDataSize", &api.counter_data_size},
        {"cuptiRangeProfilerCounterDataImageInitialize", &api.counter_data_initialize},
        {"cuptiRangeProfilerGetCounterDataInfo", &api.counter_data_info},
        {"cuptiRangeProfilerCounterDataGetRangeInfo", &api.range_info}};
    return bind_all(library, needed, sizeof needed / sizeof *needed,
                    "counters need the libcupti of CUDA 12.6U2 or later");
  }
};

/// Which counters there are, as CUPTI's images of them.
class counter_images {
 public:
  /// No image: the chip counts as whole.
  counter_images() = default;
  /// That of a context: the counters of its part of the device (MIG, vGPU). It hides NVLink where
  /// it is there: each nvlrx and nvltx is refused with an error (two H200, CUDA 13.0).
  counter_images(vec<std::uint8_t> of_context, std::size_t device)
      : context_(std::move(of_context)), device_(device) {}

  vec<std::uint8_t> const& of_context() const noexcept { return context_; }
  /// That of the whole device: with NVLink where it is there, without C2C where it is not. With no
  /// image CUPTI takes what is not there, and its values are NaN. Empty where CUPTI gives none.
  /// Cost: 0.1 s the first time (H200). Requires: the library was initialised.
  vec<std::uint8_t> const& of_device(profiler_library const& library) {
    if (device_ == none || library.api.device_availability == nullptr) return whole_;
    cupti::profiler::device_availability_params wanted;
    wanted.device_index = std::exchange(device_, none);
    if (call(library.api.device_availability, wanted) != cupti::result::success) return whole_;
    whole_.assign(wanted.image_size, 0);
    wanted.image = whole_.data();
    if (call(library.api.device_availability, wanted) != cupti::result::success) whole_.clear();
    return whole_;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  vec<std::uint8_t> context_;
  vec<std::uint8_t> whole_;
  std::size_t device_ = none;  ///< whose image was not asked for yet
};

/// One object of CUPTI's Profiler Host API: the knowledge of a chip, and the metrics added to it.
/// After a metric was refused the object must not be used again.
/// Cost: 0.5 to 5 ms to open.
class cupti_host {
 public:
  cupti_host() = default;
  cupti_host(cupti_host&& from) noexcept
      : library_(from.library_), object_(std::exchange(from.object_, nullptr)) {}
  cupti_host& operator=(cupti_host&& from) noexcept {
    std::swap(library_, from.library_);
    std::swap(object_, from.object_);
    return *this;
  }
  ~cupti_host() {
    if (object_ == nullptr) return;
    cupti::profiler::host_deinitialize_params params;
    params.object = object_;
    (void)call(library_->api.host_deinitialize, params);
  }

  /// `availability` is the device's image of counters, or empty: then the chip counts as whole.
  /// Errors: bad_argument where the library does not know the chip.
  status open(profiler_library const& library, std::string const& chip,
              vec<std::uint8_t> const& availability,
              cupti::profiler::profiler_type type = cupti::profiler::profiler_type::range) {
    cupti::profiler::host_initialize_params params;
    params.type = type;
    params.chip = chip.c_str();
    params.availability = availability.empty() ? nullptr : availability.data();
    cupti::result const code = call(library.api.host_initialize, params);
    if (code != cupti::result::success) {
      return {errc_of(code), library.describe("cuptiProfilerHostInitialize", code)};
    }
    library_ = &library;
    object_ = params.object;
    return {};
  }

  cupti::profiler::host_object* get() const noexcept { return object_; }
  profiler_library const& library() const noexcept { return *library_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  status add(vec<char const*>& names) {
    cupti::profiler::add_metrics_params params;
    params.object = object_;
    params.names = names.data();
    params.count = names.size();
    return library_->outcome("cuptiProfilerHostConfigAddMetrics",
                             call(library_->api.add_metrics, params));
  }

  /// The image with which a device is configured, and the passes that it takes.
  status make_image(vec<std::uint8_t>& image, std::size_t& passes) {
    cupti::profiler::config_image_size_params size;
    size.object = object_;
    status made = library_->outcome("cuptiProfilerHostGetConfigImageSize",
                                    call(library_->api.config_image_size, size));
    if (!made) return made;
    image.assign(size.size, 0);
    cupti::profiler::config_image_params fill;
    fill.object = object_;
    fill.size = image.size();
    fill.image = image.data();
    made = library_->outcome("cuptiProfilerHostGetConfigImage",
                             call(library_->api.config_image, fill));
    if (!made) return made;
    cupti::profiler::pass_count_params count;
    count.size = image.size();
    count.image = image.data();
    made =
        library_->outcome("cuptiProfilerHostGetNumOfPasses", call(library_->api.pass_count, count));
    passes = count.passes;
    return made;
  }

 private:
  profiler_library const* library_ = nullptr;
  cupti::profiler::host_object* object_ = nullptr;
};

/// Counters in the form that CUPTI takes: their image, their passes, and the way back to values.
/// The names have stable addresses as long as the object lives, also when it is moved.
class metric_config {
 public:
  metric_config() = default;
  metric_config(cupti_host host, vec<std::string> names)
      : host_(std::move(host)), names_(std::move(names)) {
    for (std::string const& name : names_) pointers_.push_back(name.c_str());
  }

  vec<std::string> const& names() const noexcept { return names_; }
  /// The names as CUPTI takes them, names().size() of them.
  char const** c_names() noexcept { return pointers_.data(); }
  vec<std::uint8_t> const& image() const noexcept { return image_; }
  std::size_t passes() const noexcept { return passes_; }

  /// Values of all names for one range of a decoded counter-data image.
  /// Units: of the names. Errors: `values` is NaN throughout.
  /// Cost: 1 to 10 us a name.
  status evaluate(vec<std::uint8_t> const& counter_data, std::size_t range, vec<double>& values) {
    values.assign(names_.size(), std::numeric_limits<double>::quiet_NaN());
    if (!host_ || counter_data.empty()) return {errc::bad_argument, "no counter data to evaluate"};
    cupti::profiler::evaluate_params params;
    params.object = host_.get();
    params.counter_data = counter_data.data();
    params.counter_data_size = counter_data.size();
    params.range = range;
    params.names = pointers_.data();
    params.count = pointers_.size();
    params.values = values.data();
    status done = host_.library().outcome("cuptiProfilerHostEvaluateToGpuValues",
                                          call(host_.library().api.evaluate, params));
    if (!done) values.assign(names_.size(), std::numeric_limits<double>::quiet_NaN());
    return done;
  }

  /// Adds all names in one call, since only that lets them share passes, and makes the image.
  status build() {
    if (names_.empty()) return {errc::bad_argument, "no counters to configure"};
    status done = host_.add(pointers_);
    return done ? host_.make_image(image_, passes_) : done;
  }

 private:
  cupti_host host_;
  vec<std::string> names_;
  vec<char const*> pointers_;
  vec<std::uint8_t> image_;
  std::size_t passes_ = 0;
};

/// Makes the configuration of counters that are counted together, by the image of the context, or
/// where that refuses them by the device's. Errors: those of the first.
inline status configure_counters(profiler_library const& library, std::string const& chip,
                                 counter_images& images, vec<std::string> const& names,
                                 metric_config& made) {
  auto const configure_with = [&](vec<std::uint8_t> const& image) {
    cupti_host fresh;
    status opened = fresh.open(library, chip, image);
    if (!opened) return opened;
    made = metric_config(std::move(fresh), names);
    return made.build();
  };
  status done = configure_with(images.of_context());
  if (done.code() != errc_of(cupti::result::unknown)) return done;
  vec<std::uint8_t> const& whole = images.of_device(library);
  if (!whole.empty() && configure_with(whole).ok()) done = {};
  return done;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP
