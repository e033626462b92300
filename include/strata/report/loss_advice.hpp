#include <strata/version.hpp>
#ifndef STRATA_REPORT_LOSS_ADVICE_HPP
#define STRATA_REPORT_LOSS_ADVICE_HPP

#include <strata/base/humanize.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// A power of two in MB with room for twice as much as was asked for.
inline std::string proposed_megabytes(std::uint64_t bytes) {
  std::uint64_t megabytes = 512;
  while (megabytes < 65536 && megabytes << 20 < 2 * bytes) megabytes *= 2;
  return std::to_string(megabytes);
}

/// What was lost, one text each kind: how many, what follows from it, and the cure.
inline vec<std::string> loss_advice(profile const& source) {
  profile_losses const& l = source.losses;
  vec<std::string> advice;
  auto const say = [&advice](std::uint64_t count, char const* what, std::string const& then) {
    if (count > 0) advice.push_back(what + (": " + human_count(count).text() + ". ") + then);
  };
  std::uint64_t const unlogged = 32 * (l.ranges_folded + l.launches_dropped);
  std::string const log = "log=" + proposed_megabytes(source.cost.log_bytes + unlogged) + " (MB)";
  std::uint64_t const refused = 64 * (l.activity_dropped + l.activity_refused);
  std::string const buffers =
      "buffers=" + proposed_megabytes(source.cost.activity_bytes + refused) + " (MB)";

  say(l.ranges_folded, "range calls kept in the sums only",
      "They are missing in the trace: the range log was full. Raise it with " + log +
          ", or record fewer steps.");
  say(l.ranges_left_open, "ranges still open at the end",
      "They are counted up to there in the thread that ended the session and missing in others. "
      "End them "
      "before the session.");
  say(l.ranges_ended_elsewhere, "ranges ended by another thread than the one that began them",
      "They are not counted. Begin and end a range in one thread.");
  say(l.ranges_too_deep, "range calls nested too deep",
      "They are counted in [deeper]. Check that each push has its pop.");
  say(l.names_refused, "range calls with one name too many",
      "They are counted in [other names]. Give a number as an index beside the name, not in it.");
  say(l.indices_refused, "range calls with one index too many",
      "They are counted in [*]. Use fewer distinct indices.");
  say(l.nodes_refused, "range calls with one place in the tree too many",
      "They are counted in [other ranges]. Use fewer distinct names and indices.");
  say(l.pops_without_push, "pops without a push", "Nothing was ended. Check that each has one.");
  say(l.launches_dropped, "driver calls beyond the memory limit",
      "Their kernels are outside ranges. Raise it with " + log + ", or record fewer steps.");
  say(l.activity_dropped, "records of device work dropped by CUPTI",
      "Device times are too small. Give it room with " + buffers + ", or record fewer steps.");
  say(l.activity_refused, "records of device work beyond the memory limit",
      "Device times are too small. Raise it with " + buffers + ", or record fewer steps.");
  say(l.buffers_refused, "buffers refused to CUPTI at the memory limit",
      "Raise it with " + buffers + ".");
  say(l.uncorrelated, "kernels and copies without a known launch",
      "They are outside ranges: launched before the recording began, or by a dropped call.");
  say(l.timestamps_lost, "kernels and copies whose times the device lost",
      "They are counted with a time of 0 and are missing in the trace.");
  say(l.counter_ranges_lost, "ranges that CUPTI refused or dropped while it counted",
      "They have no values. Use fewer different range names and indices.");
  say(l.spans_dropped, "NVTX spans beyond the memory limit",
      "They are missing in spans.csv and in the trace. Raise it with " + log +
          ", or leave fewer open at a time.");
  say(l.spans_left_open, "NVTX spans still open at the end",
      "They are missing. End them before the session.");
  say(l.threads_refused, "threads beyond the limit",
      "Their ranges are missing. Use a pool of threads.");
  return advice;
}

/// What Strata itself cost the program, in one sentence.
inline std::string cost_text(profile const& source) {
  profile_cost const& c = source.cost;
  auto const times = [](std::uint64_t count, double ns) {
    return human_count(count).text() + " x " + human_time(ns).text();
  };
  double const ranges = static_cast<double>(c.ranges) * c.range_ns;
  double const callbacks = static_cast<double>(c.callbacks) * c.callback_ns;
  std::string text = times(c.ranges, c.range_ns) + " in ranges";
  if (c.callbacks > 0) text += ", " + times(c.callbacks, c.callback_ns) + " in launch callbacks";
  if (c.counter_reads > 0)
    text += ", " + times(c.counter_reads, c.counter_read_ns) + " in readings of CPU counters";
  double const readings = static_cast<double>(c.counter_reads) * c.counter_read_ns;
  text += " = " + human_time(ranges + callbacks + readings).text();
  std::string const share = human_percent(ranges + callbacks + readings, c.seconds_in_window * 1e9);
  if (!share.empty()) text += " (" + share + " % of the recorded time)";
  if (c.flush_seconds > 0.0) text += "; flush " + human_time(c.flush_seconds * 1e9).text();
  if (c.start_seconds > 0.0) text += "; start " + human_time(c.start_seconds * 1e9).text();
  if (c.activity_seconds > 0.0)
    text += "; " + human_time(c.activity_seconds * 1e9).text() + " in CUPTI's threads";
  text += "; memory " + human_bytes(static_cast<double>(c.log_bytes + c.activity_bytes)).text();
  return text;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_LOSS_ADVICE_HPP
