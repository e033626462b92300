#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include "gains.hpp"
#include "kernel_class.hpp"
#include "kernel_look.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The rules of data that need not be moved, or need not be made.

STRATA_BEGIN
namespace detail {
namespace {

/// At most what reads a range's results in a step: the work of the ranges below it, around it and
/// after it, and copies from the device. NaN where some of it was not counted, or there is none.
double read_after(rule_context const& run, std::size_t row) noexcept {
  double bytes = 0.0;
  bool has_work = false;
  auto const add = [&](std::size_t other) {
    device_work const& work = run.rows[other].self;
    bytes +=
        run.own_launches_per_step(other, work.device_to_host_bytes + work.device_to_device_bytes);
    if (work.kernels == 0) return;
    has_work = true;
    bytes += run.own(other, "hbm_read_bytes");
  };
  for (std::size_t later = row + 1; later < run.rows.size(); ++later) add(later);
  for (std::size_t inner = row; inner != 0; inner = run.rows[inner].parent)
    add(run.rows[inner].parent);
  return has_work ? bytes : not_a_number;
}

/// No counter shows maxima, selections and hashes: the kernel's name does (relu, clamp, hash).
bool may_compute(rule_context const& run, std::size_t row) {
  kernel_row const* const kernel = kernel_of(run, row);
  auto const has = [&](char const* word) {
    return kernel->demangled.find(word) != std::string::npos;
  };
  if (kernel == nullptr || has("index") || has("gather")) return false;
  return class_of(*kernel) == kernel_class::elementwise || results_are_integers(*kernel);
}

}  // namespace

/// Kernels that move data as it is. Each step needs some of them: only those that take long are
/// findings.
rule_result copying_kernel(rule_context const& run) {
  constexpr double least_of_step = 0.1;  // chosen
  // Instructions of threads for each byte loaded, and for each load or store. Copies have 3 to 8
  // for each access, gathers 14 for their addresses, a hash of four words about 20 (H200). Chosen.
  constexpr double most_by_byte = 4.0;
  constexpr double most_by_access = 16.0;
  return look_at_counted(
      run, "predicated_on_instructions",
      [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const loads = run.own(row, "global_load_bytes");
        double const stores = run.own(row, "global_store_bytes");
        double const instructions = run.own(row, "predicated_on_instructions");
        double const accesses = warp_threads * run.own(row, "lsu_instructions");
        bool const has_few =
            instructions <= most_by_byte * loads &&
            !(instructions > most_by_access * accesses);  // also where accesses were not counted
        // Divisions of integers compute addresses: what they bound is a cause of its own.
        thread_arithmetic const done = arithmetic_of(run, row);
        bool const divides = done.dividing > 0.0 && !is_bound_by_instructions(run, row);
        if (!moves_values(run, row) || !(has_few || divides) || may_compute(run, row) ||
            ns < least_of_step * run.step_ns)
          return std::nullopt;
        double const gain = run.gains.gain(row, fix_of_kernels().replaces_all(0.0));
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "Data is moved as it is, unless integers are computed from it: " + bytes_text(loads) +
                " a step are loaded and " + bytes_text(stores) +
                " stored, without floating-point arithmetic or conversions of values" +
                (done.constants > 0.0 ? " (its multiply-adds of half precision, about one for each "
                                        "division of integers, are taken for constants of these)"
                                      : "") +
                "; what reads a copy could read the original, by its indices");
        run.prove_own(seen, "global_load_bytes", "B");
        run.prove_own(seen, "global_store_bytes", "B");
        run.prove_own(seen, "predicated_on_instructions", "instructions");
        return seen;
      });
}

/// Products whose results are hardly read. They are too large for L2, so that each reader takes
/// them from device memory. What the next step reads of them is not seen, and the title says so.
rule_result unread_results(rule_context const& run) {
  constexpr double times_l2 = 3.0;    // chosen
  constexpr double most_read = 0.1;   // of what was written; chosen
  constexpr double most_times = 1.5;  // a step
  double const l2_bytes = run.worked.empty() ? 0.0 : static_cast<double>(run.worked[0]->l2_bytes);
  return look_at_counted(
      run, "hbm_write_bytes", [&](std::size_t row, double) -> std::optional<candidate> {
        double const written = run.own(row, "hbm_write_bytes");
        if (!is_tensor_kernel(run, row) || !(l2_bytes > 0.0) || written < times_l2 * l2_bytes)
          return std::nullopt;
        // Another kernel of the range, or the product's next run, may read what it wrote.
        if (run.own_launches_per_step(row, run.rows[row].self.kernels) > most_times)
          return std::nullopt;
        double const read = read_after(run, row);
        if (!(read <= most_read * written)) return std::nullopt;
        fix_of_kernels fix;
        for (gpu_unit const unit : {gpu_unit::tensor, gpu_unit::tma, gpu_unit::l1, gpu_unit::shared,
                                    gpu_unit::lsu, gpu_unit::issue, gpu_unit::l2, gpu_unit::hbm})
          fix.leaves(unit, most_read);
        fix.ends_waits(run.load(row).time_ns * (1.0 - most_read));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "A product writes " + bytes_text(written) +
                " to device memory, of which the rest of the step reads " + bytes_text(read) +
                " at most: unless the next step reads it, most of it is computed for nothing");
        run.prove_own(seen, "hbm_write_bytes", "B");
        seen.prove("hbm_read_bytes", read, "B");
        return seen;
      });
}

}  // namespace detail
STRATA_END
