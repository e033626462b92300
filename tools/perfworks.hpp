// CUPTI's host functions from libnvperf_host.so, the library beside libcupti. From 13.2 on libcupti
// answers nothing about chips where there is no driver, and this library does.
//
// Source: nvperf_host.h and nvperf_cuda_host.h of the wheels 12.6.80 to 13.5.25, whose layouts are
// the same in all of them. The declarations below are our own.
#ifndef TOOLS_PERFWORKS_HPP
#define TOOLS_PERFWORKS_HPP

#include <strata/base/dynamic_library.hpp>
#include <strata/collect/counters/profiler_library.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tools {

/// Answers for the functions of libcupti that need no device: chips, names, properties, passes.
/// Threads: one at a time.
class perfworks {
  using api = strata::detail::cupti::profiler::table;
  using code = strata::detail::cupti::result;

 public:
  /// Lets `library` answer by the libnvperf_host.so beside it, where libcupti itself needs a driver
  /// to answer. Leaves it as it is where it needs none, or where that library cannot be opened.
  static bool stand_in(strata::detail::profiler_library& library) {
    std::string const folder = library.path.substr(0, library.path.rfind('/') + 1);
    if (!library.needs_driver || !get().open(folder)) return false;
    std::string const path = folder + file;
    library = strata::detail::profiler_library{};  // 13.2 ends the process whatever is called
    library.path = path;
    library.host_library = true;
    api& answers = library.api;
    answers.supported_chips = supported_chips;
    answers.host_initialize = initialize;
    answers.host_deinitialize = deinitialize;
    answers.base_metrics = base_metrics;
    answers.metric_properties = metric_properties;
    answers.add_metrics = add_metrics;
    answers.config_image_size = image_size;
    answers.config_image = image;
    answers.pass_count = pass_count;
    return true;
  }

  /// The counters that a throughput of NVIDIA's consists of, such as sm__throughput on a chip; none
  /// where the library or the chip has it not. `folder` ends with a slash.
  static std::vector<std::string> breakdown(std::string const& folder, std::string const& chip,
                                            std::string const& throughput) {
    if (!get().open(folder)) return {};
    std::shared_ptr<chip_names> const made = names_of(chip.c_str());
    if (made == nullptr) return {};
    std::vector<std::string> counters;
    std::vector<std::string> pending{throughput};
    for (std::size_t next = 0; next < pending.size(); ++next) {
      auto const found = made->metrics.find(pending[next]);
      if (found == made->metrics.end()) continue;
      parts_call call;
      call.evaluator = made->evaluator;
      call.index = found->second.second;
      if (!ask(get().parts_, call)) continue;
      for (std::size_t i = 0; i < call.counter_count; ++i)
        counters.emplace_back(made->names[0][call.counters[i]]);
      for (std::size_t i = 0; i < call.part_count; ++i)
        pending.emplace_back(made->names[2][call.parts[i]]);
    }
    return counters;
  }

 private:
  static constexpr char const* file = "libnvperf_host.so";

  // ---- what the library takes: each begins with its size up to the end of its last member ----

  struct head {
    std::size_t size = 0;
    void* reserved = nullptr;
  };
  struct chip_names_call : head {
    char const* const* names = nullptr;
    std::size_t count = 0;
  };
  struct scratch_size_call : head {
    char const* chip = nullptr;
    std::uint8_t const* availability = nullptr;
    std::size_t bytes = 0;
  };
  struct evaluator_call : head {
    std::uint8_t* scratch = nullptr;
    std::size_t bytes = 0;
    char const* chip = nullptr;
    std::uint8_t const* availability = nullptr;
    std::uint8_t const* counter_data = nullptr;
    std::size_t counter_data_size = 0;
    void* evaluator = nullptr;
  };
  struct object_call : head {
    void* object = nullptr;
  };
  struct names_call : head {
    void* evaluator = nullptr;
    std::uint8_t type = 0;
    char const* text = nullptr;
    std::size_t const* begins = nullptr;
    std::size_t count = 0;
  };
  /// A metric with its rollup, as the library numbers it.
  struct request {
    std::size_t index = 0;
    std::uint8_t type = 0;
    std::uint8_t rollup = 0;
    std::uint16_t submetric = 0;
  };
  static constexpr std::size_t request_size = 12;
  struct request_call : head {
    void* evaluator = nullptr;
    char const* name = nullptr;
    request* made = nullptr;
    std::size_t bytes = request_size;
  };
  struct properties_call : head {
    void* evaluator = nullptr;
    std::size_t index = 0;
    char const* description = nullptr;
    std::uint32_t unit = 0;
    static constexpr std::size_t bytes = 36;
  };
  struct parts_call : head {
    void* evaluator = nullptr;
    std::size_t index = 0;
    char const* description = nullptr;
    std::uint32_t unit = 0;
    std::size_t counter_count = 0;
    std::size_t const* counters = nullptr;
    std::size_t part_count = 0;
    std::size_t const* parts = nullptr;
  };
  struct unit_call : head {
    void* evaluator = nullptr;
    std::uint32_t unit = 0;
    char const* name = nullptr;
  };
  struct dimension {
    std::uint32_t unit = 0;
    std::int8_t exponent = 0;
  };
  struct dimensions_call : head {
    void* evaluator = nullptr;
    request const* metric = nullptr;
    std::size_t bytes = request_size;
    dimension* made = nullptr;
    std::size_t count = 0;
    std::size_t factor_bytes = 5;
  };
  struct dimension_name_call : head {
    void* evaluator = nullptr;
    std::uint32_t unit = 0;
    char const* singular = nullptr;
    char const* plural = nullptr;
  };
  struct inputs_call : head {
    void* evaluator = nullptr;
    request const* metrics = nullptr;
    std::size_t count = 0;
    std::size_t bytes = request_size;
    std::size_t stride = sizeof(request);
    char const** names = nullptr;
    std::size_t name_count = 0;
    char const** optional = nullptr;
    std::size_t optional_count = 0;
  };
  /// A counter of the hardware that a metric is made from.
  struct raw_request : head {
    char const* name = nullptr;
    std::uint8_t isolated = 1;
    std::uint8_t keeps_instances = 1;
    static constexpr std::size_t bytes = 26;
  };
  struct config_call : head {
    int activity = 1;  // the profiler's
    char const* chip = nullptr;
    std::uint8_t const* availability = nullptr;
    void* config = nullptr;
  };
  struct group_call : head {
    void* config = nullptr;
    std::size_t max_passes = 0;  // any
  };
  struct add_call : head {
    void* config = nullptr;
    raw_request const* counters = nullptr;
    std::size_t count = 0;
  };
  struct generate_call : head {
    void* config = nullptr;
    std::uint8_t merges_groups = 0;
    static constexpr std::size_t bytes = 25;
  };
  struct passes_call : head {
    void const* config = nullptr;
    std::size_t passes = 0;
  };

  template <class Call>
  using function = int (*)(Call*);

  template <class Call>
  static bool ask(function<Call> ask_it, Call& with, std::size_t size = sizeof(Call)) {
    with.size = size;
    return ask_it(&with) == 0;
  }

  /// A chip with its names, which take milliseconds to list.
  struct chip_names {
    explicit chip_names(std::string name) : chip(std::move(name)) {}
    chip_names(chip_names const&) = delete;
    chip_names& operator=(chip_names const&) = delete;
    ~chip_names() {
      object_call call;
      call.object = evaluator;
      if (evaluator != nullptr) (void)ask(get().evaluator_end_, call);
    }

    std::string chip;
    std::vector<std::uint8_t> scratch;
    void* evaluator = nullptr;
    std::map<std::string, std::pair<int, std::size_t>> metrics;  ///< type and index by name
    std::vector<std::vector<char const*>> names{3};              ///< by type
  };

  /// What a host object is: one chip, and what was asked of it.
  struct chip_object {
    std::shared_ptr<chip_names> names;
    std::string dimension;  ///< of the last question
    std::size_t passes = 0;
  };
  static chip_object& of(strata::detail::cupti::profiler::host_object* object) {
    return *reinterpret_cast<chip_object*>(object);
  }

  static perfworks& get() {
    static perfworks one;
    return one;
  }

  bool open(std::string const& folder) {
    strata::detail::dynamic_library library;
    if (!library.open((folder + file).c_str()) && !library.open(file)) return false;
    function<head> start = nullptr;
    strata::detail::library_function const needed[] = {
        {"NVPW_InitializeHost", &start},
        {"NVPW_GetSupportedChipNames", &chip_names_},
        {"NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", &scratch_size_},
        {"NVPW_CUDA_MetricsEvaluator_Initialize", &evaluator_},
        {"NVPW_MetricsEvaluator_Destroy", &evaluator_end_},
        {"NVPW_MetricsEvaluator_GetMetricNames", &metric_names_},
        {"NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", &request_},
        {"NVPW_MetricsEvaluator_GetCounterProperties", &properties_},
        {"NVPW_MetricsEvaluator_GetThroughputMetricProperties", &parts_},
        {"NVPW_MetricsEvaluator_HwUnitToString", &unit_},
        {"NVPW_MetricsEvaluator_GetMetricDimUnits", &dimensions_},
        {"NVPW_MetricsEvaluator_DimUnitToString", &dimension_name_},
        {"NVPW_MetricsEvaluator_GetMetricRawDependencies", &inputs_},
        {"NVPW_CUDA_RawMetricsConfig_Create_V2", &config_},
        {"NVPW_RawMetricsConfig_Destroy", &config_end_},
        {"NVPW_RawMetricsConfig_BeginPassGroup", &group_},
        {"NVPW_RawMetricsConfig_EndPassGroup", &group_end_},
        {"NVPW_RawMetricsConfig_AddMetrics", &add_},
        {"NVPW_RawMetricsConfig_GenerateConfigImage", &generate_},
        {"NVPW_RawMetricsConfig_GetNumPasses_V2", &passes_}};
    for (strata::detail::library_function const& one : needed)
      if (!library.bind(one)) return false;
    head call;
    return ask(start, call);
  }

  static code supported_chips(strata::detail::cupti::profiler::supported_chips_params* params) {
    chip_names_call call;
    if (!ask(get().chip_names_, call)) return code::unknown;
    params->names = call.names;
    params->count = call.count;
    return code::success;
  }

  /// The chip with a name, which is kept until another one is asked for; null where there is none.
  static std::shared_ptr<chip_names> names_of(char const* chip) {
    static std::shared_ptr<chip_names> last;
    if (last != nullptr && last->chip == chip) return last;
    auto made = std::make_shared<chip_names>(chip);
    scratch_size_call size;
    size.chip = chip;
    if (!ask(get().scratch_size_, size)) return nullptr;
    made->scratch.resize(size.bytes);
    evaluator_call call;
    call.scratch = made->scratch.data();
    call.bytes = made->scratch.size();
    call.chip = chip;
    if (!ask(get().evaluator_, call)) return nullptr;
    made->evaluator = call.evaluator;
    for (std::uint8_t type = 0; type < 3; ++type) {
      names_call list;
      list.evaluator = made->evaluator;
      list.type = type;
      if (!ask(get().metric_names_, list)) continue;
      for (std::size_t i = 0; i < list.count; ++i) {
        char const* const name = list.text + list.begins[i];
        made->names[type].push_back(name);
        made->metrics[name] = {type, i};
      }
    }
    last = made;
    return made;
  }

  static code initialize(strata::detail::cupti::profiler::host_initialize_params* params) {
    if (params->chip == nullptr) return code::invalid_parameter;
    auto made = std::make_unique<chip_object>();
    made->names = names_of(params->chip);
    if (made->names == nullptr) return code::invalid_chip_name;
    params->object =
        reinterpret_cast<strata::detail::cupti::profiler::host_object*>(made.release());
    return code::success;
  }

  static code deinitialize(strata::detail::cupti::profiler::host_deinitialize_params* params) {
    delete &of(params->object);
    return code::success;
  }

  static code base_metrics(strata::detail::cupti::profiler::base_metrics_params* params) {
    std::vector<char const*>& names =
        of(params->object).names->names[static_cast<std::size_t>(params->type)];
    params->names = names.data();
    params->count = names.size();
    return code::success;
  }

  static code metric_properties(strata::detail::cupti::profiler::metric_properties_params* params) {
    chip_object& chip = of(params->object);
    std::string const name = params->metric;
    auto const found = chip.names->metrics.find(name.substr(0, name.find('.', name.find("__"))));
    if (name.empty() || found == chip.names->metrics.end()) return code::invalid_metric_name;
    params->type = static_cast<strata::detail::cupti::profiler::metric_type>(found->second.first);
    request asked;
    bool const whole = get().make_request(chip, name, asked);
    if (!whole && name != found->first) return code::invalid_metric_name;
    if (whole) params->dimension = get().dimension_of(chip, asked);
    if (found->second.first != 0) return code::success;
    properties_call call;
    call.evaluator = chip.names->evaluator;
    call.index = found->second.second;
    if (!ask(get().properties_, call, properties_call::bytes)) return code::unknown;
    params->description = call.description;
    unit_call unit;
    unit.evaluator = chip.names->evaluator;
    unit.unit = call.unit;
    if (ask(get().unit_, unit)) params->hardware_unit = unit.name;
    return code::success;
  }

  bool make_request(chip_object const& chip, std::string const& name, request& made) const {
    request_call call;
    call.evaluator = chip.names->evaluator;
    call.name = name.c_str();
    call.made = &made;
    return ask(request_, call);
  }

  /// "byte", or "byte/second" where there are two; null where there is none.
  char const* dimension_of(chip_object& chip, request const& metric) const {
    dimensions_call call;
    call.evaluator = chip.names->evaluator;
    call.metric = &metric;
    if (!ask(dimensions_, call) || call.count == 0) return nullptr;
    std::vector<dimension> factors(call.count);
    call.made = factors.data();
    if (!ask(dimensions_, call)) return nullptr;
    chip.dimension.clear();
    for (dimension const& factor : factors) {
      dimension_name_call name;
      name.evaluator = chip.names->evaluator;
      name.unit = factor.unit;
      if (!ask(dimension_name_, name)) return nullptr;
      if (!chip.dimension.empty()) chip.dimension += factor.exponent < 0 ? "/" : " ";
      chip.dimension += name.singular;
    }
    return chip.dimension.c_str();
  }

  /// All counters of one call share passes, as with CUPTI.
  static code add_metrics(strata::detail::cupti::profiler::add_metrics_params* params) {
    chip_object& chip = of(params->object);
    std::vector<request> requests(params->count);
    for (std::size_t i = 0; i < params->count; ++i)
      if (!get().make_request(chip, params->names[i], requests[i])) return code::invalid_parameter;
    inputs_call inputs;
    inputs.evaluator = chip.names->evaluator;
    inputs.metrics = requests.data();
    inputs.count = requests.size();
    if (!ask(get().inputs_, inputs)) return code::invalid_parameter;
    std::vector<char const*> names(inputs.name_count);
    inputs.names = names.data();
    inputs.optional_count = 0;
    if (!ask(get().inputs_, inputs)) return code::unknown;
    std::vector<raw_request> counters(inputs.name_count);
    for (std::size_t i = 0; i < counters.size(); ++i) {
      counters[i].size = raw_request::bytes;
      counters[i].name = names[i];
    }
    return get().schedule(chip, counters);
  }

  code schedule(chip_object& chip, std::vector<raw_request> const& counters) const {
    config_call config;
    config.chip = chip.names->chip.c_str();
    if (!ask(config_, config)) return code::unknown;
    object_call end;
    end.object = config.config;
    group_call group;
    group.config = config.config;
    add_call add;
    add.config = config.config;
    add.counters = counters.data();
    add.count = counters.size();
    object_call group_end;
    group_end.object = config.config;
    generate_call generate;
    generate.config = config.config;
    passes_call count;
    count.config = config.config;
    bool const done = ask(group_, group) && ask(add_, add) && ask(group_end_, group_end) &&
                      ask(generate_, generate, generate_call::bytes) && ask(passes_, count);
    (void)ask(config_end_, end);
    if (!done) return code::not_supported;
    chip.passes += count.passes;
    return code::success;
  }

  // An image is never given to a device: it has the number of passes alone.
  static code image_size(strata::detail::cupti::profiler::config_image_size_params* params) {
    params->size = sizeof(std::size_t);
    return code::success;
  }
  static code image(strata::detail::cupti::profiler::config_image_params* params) {
    std::memcpy(params->image, &of(params->object).passes, sizeof(std::size_t));
    return code::success;
  }
  static code pass_count(strata::detail::cupti::profiler::pass_count_params* params) {
    std::memcpy(&params->passes, params->image, sizeof(std::size_t));
    return code::success;
  }

  function<chip_names_call> chip_names_ = nullptr;
  function<scratch_size_call> scratch_size_ = nullptr;
  function<evaluator_call> evaluator_ = nullptr;
  function<object_call> evaluator_end_ = nullptr;
  function<names_call> metric_names_ = nullptr;
  function<request_call> request_ = nullptr;
  function<properties_call> properties_ = nullptr;
  function<parts_call> parts_ = nullptr;
  function<unit_call> unit_ = nullptr;
  function<dimensions_call> dimensions_ = nullptr;
  function<dimension_name_call> dimension_name_ = nullptr;
  function<inputs_call> inputs_ = nullptr;
  function<config_call> config_ = nullptr;
  function<object_call> config_end_ = nullptr;
  function<group_call> group_ = nullptr;
  function<object_call> group_end_ = nullptr;
  function<add_call> add_ = nullptr;
  function<generate_call> generate_ = nullptr;
  function<passes_call> passes_ = nullptr;
};

}  // namespace tools

#endif  // TOOLS_PERFWORKS_HPP
