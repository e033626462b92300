// What the fake profiler remembers, apart from the rest of the fake CUPTI.
#ifndef STRATA_TESTS_FAKE_FAKE_PROFILER_STATE_HPP
#define STRATA_TESTS_FAKE_FAKE_PROFILER_STATE_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fake_profiler.hpp"
#include "fake_state.hpp"

namespace fake {

namespace api = strata::detail::cupti::profiler;

struct cupti_host {
  std::vector<std::string> names;
  bool poisoned = false;       // by a name that was refused
  std::uint8_t device = 0;     // of the availability image, as device_byte has it
  bool hides_links = false;    // by that image
  bool hides_c2c = false;      // by any
  std::uint8_t evaluates = 0;  // the device that it evaluated first; 0: none yet
};

/// What a configuration image stands for.
struct profiler_config {
  std::vector<std::string> names;
  std::vector<std::size_t> pass_of;  // by name; none: a constant
  std::size_t passes = 0;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

struct profiled_range {
  std::string name;
  std::vector<double> values;
  std::set<std::size_t> passes;  // in which it was seen
};

struct profiler_object {
  void* context = nullptr;
  std::uint8_t* image = nullptr;
  std::size_t image_size = 0;
  std::size_t room = 0;
  std::size_t config = 0;  // position + 1
  bool spoiled = false;    // by a second SetConfig
  bool started = false;
  bool open = false;     // a range is pushed
  bool ignored = false;  // and there was no room for it
  std::size_t at = 0;    // of the ranges
  std::size_t pass = 0;
  std::size_t pushes = 0;  // in this pass
  std::size_t dropped = 0;
  std::vector<profiled_range> ranges;
};

/// What the client's counter data holds: the head, then `room` times a name and the values.
struct image_head {
  std::uint64_t magic;
  std::uint64_t config;
  std::uint64_t room;
  std::uint64_t ranges;
  std::uint64_t values;  // of a range
  std::uint64_t device;  // as device_byte has it
};
constexpr std::uint64_t data_magic = 0x61746164656B6166;
constexpr std::uint64_t config_magic = 0x666E6F63656B6166;
constexpr std::size_t name_size = 32;
constexpr std::size_t config_image_size = 64;

struct scripted_failure {
  std::size_t after = 0;
  std::size_t count = 0;
  int code = 0;
};

struct profiler_settings {
  std::set<std::string> lacking;
  std::size_t metrics_per_pass = 1000;
  std::map<std::uint8_t, std::size_t> metrics_per_pass_of;  // by device_byte
  std::map<std::string, double> weights;
  std::set<std::pair<std::string, std::string>> without_value;
  std::map<std::string, scripted_failure> failures;
  fake_full full = fake_full::drop;
  bool count_pushes = false;
  std::size_t drop = 0;
  std::map<std::size_t, std::string> chips;  // by device
  bool supported = true;
  std::string unsupported;
  std::size_t pushes = 0;
  std::size_t passes = 0;
  std::size_t room = 0;
};

struct profiler_state : profiler_settings {
  bool initialized = false;
  std::map<void*, std::unique_ptr<cupti_host>> hosts;
  std::map<void*, std::unique_ptr<profiler_object>> objects;
  std::vector<profiler_config> configs;
};

/// Tells devices apart, by their contexts; never 0.
inline std::uint8_t device_byte(void const* context) {
  return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(context) / 16);
}

/// Instrumented code counts in a pass of its own.
inline bool is_sass(std::string const& name) { return name.find("_sass_") != std::string::npos; }
inline bool is_of_sms(std::string const& name) {
  return name.compare(0, 2, "sm") == 0 || name.compare(0, 5, "l1tex") == 0;
}
/// A constant of the device takes no pass.
inline bool is_constant(std::string const& name) {
  return name.find(".peak_sustained") != std::string::npos;
}

/// Guarded by the mutex of the_state().
profiler_state& the_profiler();

/// A kernel ran: it counts in the range that is pushed. With the mutex held.
void profile_kernel(state& s, fake_kernel const& kernel);

/// Whether a launch in this context does not come back before all of its work has ended: in a range
/// that is pushed, where what is counted instruments kernels; between Start and Stop, where they
/// are counted one by one (H200, CUDA 13.0). With the mutex held.
bool serialises_kernels(std::uint32_t context);

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_FAKE_PROFILER_STATE_HPP
