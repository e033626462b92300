#include "ceilings.hpp"

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/devices.hpp>
#include <strata/session/ceilings_file.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/output_directory.hpp>
#include <strata/status.hpp>
#include "../analyse/device_peaks.hpp"
#include "../analyse/roofline.hpp"
#include "ceiling_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

void judge_ceiling(device_ceiling& ceiling) {
  if (!ceiling.refused.empty() || ceiling.theory <= 0.0) return;
  double const part = ceiling.rate / ceiling.theory;
  std::string const share =
      fixed_string(100.0 * part, 0) + " % of what the device's attributes allow";
  if (part > 1.02) ceiling.refused = "it is " + share + ": a clock or the work is wrong";
  if (part < 0.5)
    ceiling.refused =
        "it is " + share + ": something else ran, or the kernel does not fit this architecture";
}

/// Measures all ceilings of one device.
class ceilings_bench {
 public:
  explicit ceilings_bench(measured_ceilings& ceilings) : ceilings_(ceilings) {}

  void run(int device) {
    std::int64_t const begin = monotonic_ns();
    ceiling_runs runs;
    if (!runs.open(device)) {
      ceilings_.outcome = status(errc::unavailable, runs.problem());
      return;
    }
    driver_library const& driver = driver_library::get();
    ceilings_.device = machine::describe_device(driver, runs.device());
    if (ceilings_.device.multiprocessors == 0) {
      ceilings_.outcome =
          status(errc::unavailable, "libcuda does not tell how many SMs the device has");
      return;
    }
    ceilings_.driver_version = static_cast<std::uint32_t>(driver.version);
    capability_ = ceilings_.device.capability();
    runs_ = &runs;
    measure_compute("warm-up", kernel::fma("f32"), fma_work(1));  // clocks rise
    ceilings_.device.ceilings.clear();
    measure_memory();
    measure_compute("FP32", kernel::fma("f32"), fma_work(1));
    measure_compute("FP64", kernel::fma("f64"), fma_work(1));
    measure_compute("FP16", kernel::fma("f16x2"), fma_work(2));
    bool const large = capability_ >= 90;
    double const f64 = large ? 2.0 * 16 * 8 * 16 : 2.0 * 8 * 8 * 4;
    if (device_peak(ceilings_.device, "FP64 tensor") > 0.0)
      measure_compute("FP64 tensor", kernel::mma_f64(large), mma_work(f64));
    for (tensor_kind const& kind : tensor_kinds) measure_tensor(kind);
    ceilings_.device.measured_at = machine::time_text(realtime_ns());
    ceilings_.seconds = 1e-9 * static_cast<double>(monotonic_ns() - begin);
  }

 private:
  using kernel = ceiling_kernel;

  static double fma_work(double numbers) {
    return 2.0 * numbers * kernel::fma_round * kernel::threads;
  }
  static double mma_work(double flops) { return flops * kernel::mma_round * kernel::threads / 32; }

  void measure(std::string_view name, bool memory, ceiling_work const& work) {
    device_ceiling made;
    made.name = std::string(name);
    made.memory = memory;
    made.theory = device_peak(ceilings_.device, roof_of(name));
    runs_->measure(work, made);
    if (work.distance > 0 && made.samples > 0) runs_->measure_copy(made);
    judge_ceiling(made);
    ceilings_.device.ceilings.push_back(std::move(made));
  }

  void measure_compute(std::string_view name, std::string&& text, double of_block,
                       std::uint32_t dynamic_shared = 0) {
    ceiling_work work;
    work.text = std::move(text);
    work.of_block = of_block;
    work.dynamic_shared = dynamic_shared;
    measure(name, false, work);
  }

  void refuse(std::string_view name, bool memory, std::string&& why) {
    device_ceiling made;
    made.name = std::string(name);
    made.memory = memory;
    made.refused = std::move(why);
    ceilings_.device.ceilings.push_back(std::move(made));
  }

  void measure_memory() {
    // The depths and blocks with the highest rates (H200, CUDA 13.0).
    struct stream {
      std::string_view direction;
      std::string text;
      std::uint32_t depth;
      std::uint32_t blocks_of_sm;
    };
    std::uint64_t const all = runs_->size();
    // The writes come first: they fill the buffer.
    stream const streams[] = {{"write", kernel::write(false, 1), 1, 0},
                              {"read", kernel::read("cg", 8), 8, 0},
                              {"copy", kernel::write(true, 1), 1, 16}};
    for (stream const& traffic : streams) {
      std::string const name =
          std::string(memory_name(ceilings_.device)) + ' ' + std::string(traffic.direction);
      bool const copies = traffic.direction == "copy";
      ceiling_work work;
      work.text = traffic.text;
      work.start = traffic.depth * kernel::row;
      work.of_block = static_cast<double>(work.start) * (copies ? 2.0 : 1.0);
      work.size = copies ? all / 2 : all;
      work.distance = copies ? all / 2 : 0;
      work.blocks_of_sm = traffic.blocks_of_sm;
      if (all >= 8 * ceilings_.device.l2_bytes)
        measure(name, true, work);
      else
        refuse(name, true, "there is too little free memory: it takes 32 times the L2 cache");
    }
    ceiling_work work;
    work.step = 4 * kernel::row;
    work.of_block = static_cast<double>(work.step);
    // Each block has lines of its own: what SMs read at a time is merged on its way to L2.
    work.text = kernel::read("cg", 4);
    work.blocks_of_sm = 4;
    work.size = work.step;
    while (24 * ceilings_.device.multiprocessors * work.size <= ceilings_.device.l2_bytes)
      work.size *= 2;
    work.start = work.size;
    measure("L2 read", true, work);
    work.blocks_of_sm = 0;
    work.size = 2 * work.step;
    work.start = 0;
    work.text = kernel::read("ca", 4);
    measure("L1 read", true, work);
    work.text = kernel::read("shared", 4);
    measure("shared read", true, work);
    for (device_ceiling& ceiling : ceilings_.device.ceilings)
      if (ceiling.name == "L2 read") judge_l2(ceiling);
  }

  /// No attribute tells its speed: it lies between those of device memory and L1.
  void judge_l2(device_ceiling& l2) {
    if (!l2.refused.empty()) return;
    double const l1 = measured_peak(ceilings_.device, "L1");
    std::string_view const memory = memory_name(ceilings_.device);
    if (l2.rate < measured_peak(ceilings_.device, memory))
      l2.refused = "it is slower than " + std::string(memory) + ": something else ran";
    else if (l1 > 0.0 && l2.rate > 0.75 * l1)
      l2.refused = "it is nearly as fast as L1: the loads did not go to L2";
  }

  void measure_tensor(tensor_kind const& kind) {
    if (has_newer_tensor_cores(capability_)) {
      refuse(kind.roof, false, "mma.sync stays below tcgen05, for which there is no kernel here");
    } else if (capability_ < kind.capability) {
      refuse(kind.roof, false,
             "the kernel needs compute capability " + fixed_string(kind.capability / 10.0, 1));
    } else if (capability_ == 90) {
      measure_compute(kind.roof, kernel::wgmma(kind),
                      kernel::wgmma_round * 2 * 2.0 * 64 * 256 * kind.wgmma_k,
                      kernel::wgmma_shared);
    } else {
      measure_compute(kind.roof, kernel::mma(kind), mma_work(2.0 * 16 * 8 * kind.mma_k));
    }
  }

  measured_ceilings& ceilings_;
  ceiling_runs* runs_ = nullptr;
  std::uint32_t capability_ = 0;
};

/// Samples of a loop on the CPU; `work`: its bytes or operations.
template <class Loop>
device_ceiling cpu_ceiling(char const* name, bool memory, double work, Loop&& loop) {
  device_ceiling made;
  made.name = name;
  made.memory = memory;
  vec<double> rates;
  loop();  // pages and clocks
  for (std::uint32_t i = 0; i < ceiling_runs::samples; ++i) {
    std::int64_t const begin = monotonic_ns();
    loop();
    rates.push_back(work / static_cast<double>(monotonic_ns() - begin) * 1e9);
  }
  fill_ceiling(std::move(rates), made);
  return made;
}

}  // namespace detail

measured_ceilings measure_ceilings(int device) {
  measured_ceilings made;
  detail::ceilings_bench(made).run(device);
  return made;
}

measured_ceilings measure_cpu_ceilings() {
  measured_ceilings made;
  std::int64_t const begin = detail::monotonic_ns();
  made.cpu = true;
  made.device.measured_at = detail::machine::time_text(detail::realtime_ns());
  constexpr std::size_t count = std::size_t{8} << 20;
  vec<float> a(count, 1.0f);
  vec<float> b(count, 2.0f);
  vec<float> c(count, 3.0f);
  constexpr double moved = count * sizeof(float);
  vec<device_ceiling>& list = made.device.ceilings;
  float* const target = a.data();
  float const* const from = b.data();
  float const* const other = c.data();
  list.push_back(detail::cpu_ceiling("CPU copy", true, 2.0 * moved,
                                     [&] { std::memcpy(target, from, count * sizeof(float)); }));
  list.push_back(detail::cpu_ceiling("CPU triad", true, 3.0 * moved, [&] {
    for (std::size_t i = 0; i < count; ++i) target[i] = from[i] + 0.5f * other[i];
  }));
  constexpr std::size_t lanes = 64;
  constexpr std::size_t rounds = 200'000;
  list.push_back(detail::cpu_ceiling("CPU FP32", false, 2.0 * lanes * rounds, [&] {
    float sums[lanes];
    float const factor = other[0] / 4.0f;  // not known to the compiler
    for (std::size_t i = 0; i < lanes; ++i) sums[i] = from[i];
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < lanes; ++i) sums[i] = sums[i] * factor + 0.25f;
    for (std::size_t i = 0; i < lanes; ++i) target[i] = sums[i];
  }));
  made.seconds = 1e-9 * static_cast<double>(detail::monotonic_ns() - begin);
  return made;
}

std::string ceilings_text(measured_ceilings const& ceilings) {
  if (!ceilings.outcome.ok()) return ceilings.outcome.message() + "\n";
  std::string text =
      ceilings.cpu ? "one thread of the CPU, as this program was compiled" : ceilings.device.name;
  text += ", " + ceilings.device.measured_at + ", " + detail::fixed_string(ceilings.seconds, 2) +
          " s\n";
  char line[160];
  std::snprintf(line, sizeof line, "%-13s %12s %12s %7s %9s %8s\n", "", "measured", "theory",
                "share", "clock", "spread");
  text += line;
  auto const rate_of = [&ceilings](device_ceiling const& ceiling, double rate) {
    if (rate <= 0.0) return std::string("-");
    if (ceilings.cpu)
      return detail::fixed_string(rate / 1e9, 1) + (ceiling.memory ? " GB/s" : " GFLOP/s");
    if (ceiling.memory) return detail::fixed_string(rate / 1e9, 0) + " GB/s";
    return detail::fixed_string(rate / 1e12, 2) +
           (ceiling.name == "INT8 tensor" ? " TOP/s" : " TFLOP/s");
  };
  for (device_ceiling const& ceiling : ceilings.device.ceilings) {
    std::string const share =
        ceiling.theory > 0.0 ? detail::fixed_string(100.0 * ceiling.rate / ceiling.theory, 1) + " %"
                             : "-";
    std::string const clock = ceiling.clock_hertz > 0.0
                                  ? detail::fixed_string(ceiling.clock_hertz / 1e6, 0) + " MHz"
                                  : "-";
    std::snprintf(line, sizeof line, "%-13s %12s %12s %7s %9s %6.1f %%\n", ceiling.name.c_str(),
                  rate_of(ceiling, ceiling.rate).c_str(), rate_of(ceiling, ceiling.theory).c_str(),
                  share.c_str(), clock.c_str(), 100.0 * ceiling.spread);
    text += line;
  }
  for (device_ceiling const& ceiling : ceilings.device.ceilings)
    if (!ceiling.refused.empty())
      text += "refused: " + ceiling.name + ": " + ceiling.refused + "\n";
  return text;
}

namespace detail {
namespace {

std::string number_text(double value) {
  char text[longest_number];
  return std::string(text, double_text(text, value));
}

/// Replaces a file at once: a reader sees the old one or the new one, and so does another writer.
bool replace_file(std::string const& path, std::string const& text) {
  std::string const parent = output_directory::parent_of(path);
  if (!open_folder::objection(parent).empty()) return false;
  open_folder const folder(parent);
  std::string const name = output_directory::name_of(path);
  std::string const part = sentence(name) << "." << monotonic_ns() << ".part";
  std::FILE* const file = folder.error() == 0 ? folder.create(part) : nullptr;
  if (file == nullptr) return false;
  bool const whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  bool const closed = std::fclose(file) == 0;
  if (whole && closed && folder.rename(part, name) == 0) return true;
  folder.remove(part);
  return false;
}

}  // namespace

/// The lines of a file about this device.
std::string ceilings_lines(profile_device const& device, std::uint32_t driver_version) {
  std::string text = sentence(ceilings_file::schema)
                     << "\nuuid " << device.uuid << "\ndevice " << device.name << "\ndriver "
                     << driver_version << "\nclock_khz " << device.clock_khz
                     << "\nmemory_clock_khz " << device.memory_clock_khz << "\ndate "
                     << device.measured_at
                     << "\n# ceiling: rate unit theory spread clock_Hz samples name\n";
  for (device_ceiling const& ceiling : device.ceilings) {
    if (!ceiling.refused.empty()) {
      text += sentence("refused ") << ceiling.name << ": " << ceiling.refused << "\n";
      continue;
    }
    text +=
        sentence("ceiling ") << number_text(ceiling.rate) << (ceiling.memory ? " B/s " : " op/s ")
                             << number_text(ceiling.theory) << ' ' << number_text(ceiling.spread)
                             << ' ' << number_text(ceiling.clock_hertz) << ' ' << ceiling.samples
                             << ' ' << ceiling.name << '\n';
  }
  return text + "end\n";
}

}  // namespace detail

status write_ceilings(measured_ceilings const& ceilings, std::string path) {
  if (!ceilings.outcome.ok()) return ceilings.outcome;
  if (ceilings.cpu)
    return {errc::not_supported, "ceilings of a CPU are not kept: no roof is made of them"};
  if (path.empty()) {
    path = detail::ceilings_file::path_of(ceilings.device);
    if (path.empty())
      return {errc::input_output,
              "the ceilings are not kept: set XDG_CACHE_HOME or HOME to an absolute path"};
    detail::output_directory::make_parents(path);
  }
  std::string const text = detail::ceilings_lines(ceilings.device, ceilings.driver_version);
  if (detail::replace_file(path, text)) return {};
  return {errc::input_output, "cannot write " + path + ": the ceilings are not kept"};
}

STRATA_END
