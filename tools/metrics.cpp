// strata metrics: what a chip and this CPU can count, with the passes that it takes.
#include "metric_lists.hpp"

#include <string>

#include "arguments.hpp"
#include "command.hpp"
#include "perfworks.hpp"

namespace tools {
namespace {

/// CUPTI's name for the chip of the first device, such as GH100; empty without one.
std::string chip_of_device() {
  namespace detail = strata::detail;
  detail::profiler_library const& library = detail::profiler_library::get();
  if (!detail::driver_library::get().ok() || !library.ok()) return {};
  if (library.initialize() != detail::cupti::result::success) return {};
  detail::cupti::profiler::chip_name_params chip;
  if (call(library.api.chip_name, chip) != detail::cupti::result::success || chip.name == nullptr)
    return {};
  return chip.name;
}

class metrics_command final : public subcommand {
 public:
  char const* name() const override { return "metrics"; }
  char const* about() const override { return "List what a chip can count"; }
  std::string details() const override {
    return "Needs the libcupti of CUDA, and no GPU. Without a driver, that of 13.2 or later is "
           "asked "
           "by the\nlibnvperf_host.so beside it. What each metric is: strata help KEY.";
  }
  void declare(arguments& takes) override {
    takes.optional("CHIP", chip_,
                   "a chip or a product, such as GB202 or \"RTX 5090\": this machine's");
  }
  exit_code run() override {
    (void)perfworks::stand_in(strata::detail::profiler_library::get());
    if (chip_.empty()) chip_ = chip_of_device();
    if (chip_.empty())
      return refuse(name(), "CHIP", "there is no GPU here: name a chip, as in strata metrics H200");
    std::string const listed = strata::list_metrics(chip_);
    print("%s\n%s", listed.c_str(), strata::list_cpu_metrics().c_str());
    bool const refused = listed.compare(0, 2, "No") == 0;
    return refused ? exit_code::unusable : exit_code::fine;
  }

 private:
  std::string chip_;
};

}  // namespace

subcommand_pointer make_metrics() { return std::make_unique<metrics_command>(); }

}  // namespace tools
