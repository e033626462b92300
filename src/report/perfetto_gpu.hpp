#include <strata/version.hpp>
#ifndef STRATA_REPORT_PERFETTO_GPU_HPP
#define STRATA_REPORT_PERFETTO_GPU_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include "perfetto_fields.hpp"
#include "protobuf.hpp"
#include "trace.hpp"
#include "trace_events.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// What Perfetto's own tracks of GPUs and its compute tabs read, beside what all tracks have.

STRATA_BEGIN
namespace detail {

/// Arguments that the tabs want and no other format has.
namespace gpu_keys {
inline constexpr trace_key device{24, ",\"device\":"};
inline constexpr trace_key thread_count{25, ",\"thread_count\":"};
}  // namespace gpu_keys

/// The name by which the tabs find an argument of a launch.
constexpr std::string_view gpu_argument(trace_key const& key) noexcept {
  switch (key.number) {
    case trace_keys::grid.number:
      return "grid_size";
    case trace_keys::block.number:
      return "workgroup_size";
    case trace_keys::registers.number:
      return "registers_per_thread";
    case trace_keys::static_shared_bytes.number:
      return "shared_mem_static";
    case trace_keys::dynamic_shared_bytes.number:
      return "shared_mem_dynamic";
    default:
      return key.name();
  }
}

/// The stages of a GPU's work. Streams have the numbers after them.
enum class gpu_stage : std::uint8_t { kernel = 1, copy = 2 };
inline constexpr std::uint32_t last_gpu_stage = 2;

/// Kernels and copies that are written: how they are launched, and what names them.
struct gpu_work {
  proto_message launch;
  gpu_stage stage = gpu_stage::kernel;
  std::uint32_t name = 0;     ///< these three by their numbers in the texts
  std::uint32_t whole = 0;    ///< with types
  std::uint32_t mangled = 0;  ///< if asked for
  std::uint64_t blocks = 0;

  void begin(std::uint32_t called, gpu_stage kind) {
    launch.clear();
    stage = kind;
    name = called;
    whole = mangled = 0;
    blocks = 0;
  }
  /// Returns: whether the text is one of a kernel's names, which its launches do not repeat.
  bool takes_name(trace_key const& key, std::uint32_t number) noexcept {
    if (key.number == trace_keys::kernel.number) whole = number;
    if (key.number == trace_keys::mangled.number) mangled = number;
    return key.number == trace_keys::kernel.number || key.number == trace_keys::mangled.number;
  }
};

/// The GPUs of a profile with their contexts, streams and uses.
class perfetto_gpus {
 public:
  static constexpr std::uint32_t use_number = 1;  ///< of the one use that a sequence has

  explicit perfetto_gpus(profile const& source) noexcept : source_(source) {}

  /// The number of work that an arrow leads to, and of work without one.
  std::uint64_t event_of(std::uint64_t arrow) const noexcept { return own(2 * arrow); }
  std::uint64_t event_without_arrow(std::uint64_t index) const noexcept {
    return own(2 * index + 1);
  }

  /// A packet with the names of the GPUs, by which Perfetto shows them.
  void describe(proto_message& packets) const {
    inner_message const packet(packets, perfetto::trace_packet);
    inner_message const info(packets, perfetto::packet_gpu_info);
    std::uint32_t next = 0;
    for (profile_device const& device : source_.environment.devices) {
      if (device.ordinal != next++) return;  // Perfetto takes the position for the number
      inner_message const gpu(packets, perfetto::info_gpus);
      packets.text(perfetto::gpu_name, trace_names(source_).of_process(next));
      packets.text(perfetto::gpu_vendor, "NVIDIA");
      packets.text(perfetto::gpu_model, device.name);
      packets.text(perfetto::gpu_architecture, architecture(device.ordinal));
    }
  }

  /// `sm_90`
  std::string architecture(std::uint32_t ordinal) const {
    for (profile_device const& device : source_.environment.devices)
      if (device.ordinal == ordinal && device.capability() != 0)
        return sentence("sm_") << device.capability();
    return {};
  }

  /// What the numbers in work of a stream mean, and those numbers.
  void stream(trace_track::identity const& line, std::uint32_t number, std::string_view name,
              proto_message& interned, proto_message& numbers) const {
    std::uint32_t const context = line.context == 0 ? no_context : line.context;
    std::uint32_t const queue = last_gpu_stage + number;
    {
      inner_message const entry(interned, perfetto::interned_graphics_contexts);
      interned.integer(perfetto::entry_iid, context);
      interned.integer(perfetto::context_pid, trace_process(source_, 0));
      interned.integer(perfetto::context_api, perfetto::CUDA);
    }
    specify(interned, queue, own(name), perfetto::OTHER);
    specify(interned, static_cast<std::uint32_t>(gpu_stage::kernel), "kernel", perfetto::COMPUTE);
    specify(interned, static_cast<std::uint32_t>(gpu_stage::copy), "copy", perfetto::OTHER);
    numbers.integer(perfetto::work_gpu_id, line.process - 1);
    numbers.integer(perfetto::work_context, context);
    numbers.integer(perfetto::work_hw_queue_iid, queue);
  }

  /// What the values of a use mean. They are means of ranges, not of kernels: they are in no group
  /// that the tabs take for counters of the kernel at that time.
  void use(std::uint32_t device, std::string_view name, proto_message& interned) const {
    inner_message const entry(interned, perfetto::interned_gpu_counter_descriptors);
    interned.integer(perfetto::entry_iid, use_number);
    {
      inner_message const descriptor(interned, perfetto::counters_descriptor);
      inner_message const counter(interned, perfetto::descriptor_specs);
      interned.integer(perfetto::counter_id, use_number);
      interned.text(perfetto::counter_name, own(name));
      interned.integer(perfetto::counter_numerator_units, perfetto::PERCENT);
      interned.integer(perfetto::counter_value_direction, perfetto::FORWARDS_LOOKING);
    }
    interned.integer(perfetto::counters_gpu_id, device);
  }

 private:
  static constexpr std::uint32_t no_context = 0xffffffffu;  // Perfetto knows no number 0

  static void specify(proto_message& interned, std::uint32_t number, std::string_view name,
                      std::uint64_t category) {
    inner_message const entry(interned, perfetto::interned_gpu_specifications);
    interned.integer(perfetto::entry_iid, number);
    interned.text(perfetto::entry_name, name);
    interned.integer(perfetto::specification_category, category);
  }

  /// Apart from those of other ranks, whose traces may be in the same file.
  std::uint64_t own(std::uint64_t event) const noexcept {
    return event ^ static_cast<std::uint64_t>(source_.environment.rank + 1) << 48;
  }
  std::string own(std::string_view name) const {
    if (source_.environment.rank < 0) return std::string(name);
    return sentence("rank ") << source_.environment.rank << ", " << name;
  }

  profile const& source_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PERFETTO_GPU_HPP
