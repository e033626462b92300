// Any records of CUPTI, in any order, with any numbers and kinds; times are within some hours,
// sizes and grids those that a device may have. All is joined, summed up and recorded, and one of
// the reports is made of it.
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/host/recorder.hpp>
#include "recording/recording.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "../unit/all_reports.hpp"
#include "fuzz.hpp"

namespace {

using namespace strata;
namespace cupti = detail::cupti;

constexpr char const* names[] = {"gemm", "", "_ZN3llm4gemmIfEEvPT_", "\xff\x1b[2J</script>"};

char const* name_of(std::uint8_t number) {
  std::size_t const choice = number % 5;
  return choice < 4 ? names[choice] : nullptr;
}

/// A session of the host log, and a store that gets what the fuzzer makes.
class traced_bytes {
 public:
  traced_bytes() {
    host_.begin_session(1 << 20);
    host_.record(true);
    budget_.set(1 << 20);
    store_.clear();
    detail::recorder_state& state = host_.state();
    for (std::uint32_t& node : nodes_)
      node = state.nodes.child(root_node, state.names.intern("range", {}), &node - nodes_);
  }
  traced_bytes(traced_bytes const&) = delete;
  ~traced_bytes() {
    host_.record(false);
    host_.begin_session(0);
  }

  void add(fuzz::input& from) {
    auto const kind = from.take<std::uint8_t>();
    switch (kind % 10) {
      case 0:
        return launch(from);
      case 1:
        return named_record<cupti::kernel_record>(cupti::activity_kind::concurrent_kernel, from);
      case 2:
        return record<cupti::copy_record>(cupti::activity_kind::copy, from);
      case 3:
        return record<cupti::peer_copy_record>(cupti::activity_kind::peer_copy, from);
      case 4:
        return record<cupti::set_record>(cupti::activity_kind::set, from);
      case 5:
        return named_record<cupti::memory_record>(cupti::activity_kind::memory, from);
      case 6:
        return record<cupti::synchronization_record>(cupti::activity_kind::synchronization, from);
      case 7:
        return record<cupti::overhead_record>(cupti::activity_kind::overhead, from);
      case 8:
        return record<cupti::context_record>(cupti::activity_kind::context, from);
      default:
        return record<cupti::unified_memory_record>(cupti::activity_kind::unified_memory, from);
    }
  }

  profile take() {
    host_.record(false);
    // The recorder's own takes 2 ms, for an exact rate.
    std::int64_t const now = host_.clock().now();
    detail::tick_converter const ticks({now, 0}, {now + 1'000'000, 1'000'000});
    profile made;
    store_.take(made, {}, ticks);
    host_.move_to(made);
    made.traced = true;
    return made;
  }

 private:
  void launch(fuzz::input& from) {
    driver_call_record made{};
    made.begin = host_.clock().now();
    made.end = made.begin + from.take<std::uint16_t>();
    made.correlation = ++launched_;
    made.node = nodes_[from.take<std::uint8_t>() % 4];
    made.kind = static_cast<api_kind>(from.take<std::uint8_t>() %
                                      (static_cast<unsigned>(api_kind::graph_launch) + 1));
    made.flags = from.take<std::uint8_t>() &
                 (driver_call_record::in_warmup | driver_call_record::in_capture);
    (void)host_.state().launches.add(made);
  }

  template <class Record>
  void record(cupti::activity_kind kind, fuzz::input& from) {
    auto made = from.take<Record>();
    hand_in(made, kind, from);
  }
  template <class Record>
  void named_record(cupti::activity_kind kind, fuzz::input& from) {
    auto made = from.take<Record>();
    made.name = name_of(from.take<std::uint8_t>());
    hand_in(made, kind, from);
  }
  static void limit(std::uint64_t& number, unsigned bits) {
    number &= (std::uint64_t{1} << bits) - 1;
  }
  template <class Record>
  static void limit_times(Record& made) {
    constexpr unsigned hours = 44;  // bits
    limit(made.start_ns, hours);
    limit(made.end_ns, hours);
  }
  static void limit_times(cupti::memory_record& made) {
    limit(made.timestamp_ns, 44);
    limit(made.size_bytes, 49);
  }
  static void limit_times(cupti::context_record&) {}

  /// A machine has few devices.
  static void limit_devices(cupti::unified_memory_record& made) {
    made.source_id &= 0xff;
    made.destination_id &= 0xff;
  }
  template <class Record>
  static auto limit_device(Record& made, int) -> decltype(made.device_id, void()) {
    made.device_id &= 0xff;
  }
  template <class Record>
  static void limit_device(Record&, long) {}
  template <class Record>
  static void limit_devices(Record& made) {
    limit_device(made, 0);
  }

  template <class Record>
  void hand_in(Record& made, cupti::activity_kind kind, fuzz::input& from) {
    made.kind = kind;
    limit_times(made);
    limit_devices(made);
    if constexpr (std::is_same_v<Record, cupti::kernel_record>) {
      for (std::int32_t* const blocks : {&made.grid_x, &made.grid_y, &made.grid_z})
        *blocks &= 0xffff;
    }
    if constexpr (std::is_same_v<Record, cupti::copy_record> ||
                  std::is_same_v<Record, cupti::peer_copy_record> ||
                  std::is_same_v<Record, cupti::set_record>)
      limit(made.size_bytes, 49);
    if constexpr (std::is_same_v<Record, cupti::unified_memory_record>) limit(made.value, 49);
    if constexpr (!std::is_same_v<Record, cupti::overhead_record> &&
                  !std::is_same_v<Record, cupti::context_record> &&
                  !std::is_same_v<Record, cupti::unified_memory_record>) {
      // Most belong to a call that was made.
      auto const call = from.take<std::uint8_t>();
      if (call < 240 && launched_ != 0) made.correlation_id = 1 + call % launched_;
    }
    store_.try_add(reinterpret_cast<cupti::record const&>(made));
  }

  detail::recorder& host_ = detail::recorder::instance();
  detail::memory_budget budget_;
  detail::graph_captures captures_;
  detail::activity_store store_{budget_, captures_};
  std::uint32_t nodes_[4] = {};
  std::uint32_t launched_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input from(data, size);
  traced_bytes session;
  while (!from.empty()) session.add(from);
  profile const made = session.take();
  // What was collected can be recorded, and read back.
  std::string const bytes = report_test::recording_of(made);
  profile again;
  status const read = read_recording(bytes, again);
  fuzz::require(read.ok(), "what was collected is a sound profile", read.message());
  (void)report_test::report_of(again, fuzz::choose(data, size, report_test::report_count));
  return 0;
}
