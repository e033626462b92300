#include "recording.hpp"

#include <strata/base/text.hpp>
#include <strata/profile/early_steps.hpp>
#include <strata/recording/format.hpp>
#include <strata/session/report_files.hpp>
#include "../live/attribution.hpp"
#include "check.hpp"
#include "input_file.hpp"
#include "limits.hpp"
#include "parts.hpp"
#include "reader.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

#if STRATA_ENABLED

STRATA_BEGIN

namespace detail {

std::string describe_cut(profile const& cut) {
  std::int64_t const tenths = cut.end / 100'000'000;
  return sentence(
             "The recording has no end: the program runs, was killed or could not write on, or "
             "this is more than 1 GiB. ")
         << "It has the first " << tenths / 10 << "." << tenths % 10
         << " s, without counters, NVTX spans and losses.";
}

namespace {

std::string describe_left_out(std::uint64_t events) {
  return sentence("The recording leaves out ")
         << count_text(events)
         << " events that came faster than they could be written; trace fewer kinds (trace=) or "
            "fewer steps (active=) to see them.";
}

std::string describe_refused(std::uint64_t records) {
  return sentence("The recording leaves out ")
         << count_text(records)
         << " of its records, which have impossible times: it was changed, or an older "
            "Strata wrote it; record the program again.";
}

/// Replaces what a session kept by all that it had written. What was in sums alone is in records.
void take_records(profile& reported, profile& streamed) {
  reported.steps = std::move(streamed.steps);
  reported.early_steps = {};
  reported.ranges = std::move(streamed.ranges);
  reported.attributes = std::move(streamed.attributes);
  reported.launches = std::move(streamed.launches);
  reported.kernels = std::move(streamed.kernels);
  reported.copies = std::move(streamed.copies);
  reported.memory = std::move(streamed.memory);
  reported.synchronizations = std::move(streamed.synchronizations);
  reported.summed_ranges = {};
  reported.summed_steps = {};
  reported.device = {};
}

/// Reads the parts of a recording.
status read_parts(recording_parts parts, std::size_t size, profile& target, recording_view wanted) {
  recording_reader reader(size);
  profile streamed;
  profile reported;
  bool has_pieces = false;
  bool has_report = false;
  bool sound = true;
  std::uint64_t left_out = 0;
  recording_parts::part part;
  auto state = parts.next(part);
  for (; sound && state == recording_parts::state::part; state = parts.next(part)) {
    has_report = part.kind == recording_part::profile;
    has_pieces = has_pieces || !has_report;
    profile_piece piece{streamed};
    sound = has_report ? reader.read(part.content, reported) : reader.read(part.content, piece);
    left_out = has_report ? left_out : piece.left_out;
  }
  if (sound && state == recording_parts::state::unusable)
    return {errc::bad_argument, "It is not whole, or was changed: copy it again as binary data."};
  if (sound && !has_report && !has_pieces)
    return {errc::bad_argument,
            "It has nothing whole: the program ended in its first second, by _exit or a signal, or "
            "could not write on: let it run longer or end by exit; else remove it."};
  profile& made = has_report ? reported : streamed;
  bool const has_records = has_pieces && (!has_report || wanted == recording_view::timeline);
  if (has_report && has_records) take_records(made, streamed);
  std::uint64_t const refused = made.losses.records_refused;
  if (sound) recording_repair(made).run();
  if (sound) set_early_steps_apart(made);
  if (!sound || !recording_check(made).is_sound() || !recording_limits::allow_devices(made))
    return {errc::bad_argument, "Its content is not that of a profile: record it again."};
  recording_limits const limits(size);
  if (!limits.allow_paths(made))
    return {errc::bad_argument,
            "The paths of its ranges are too long for a report: give ranges shorter names, or nest "
            "fewer."};
  live::attribute_samples(made);
  limits.drop_counters(made);
  if (has_records && left_out != 0) made.problems.push_back(describe_left_out(left_out));
  if (made.losses.records_refused != refused)
    made.problems.push_back(describe_refused(made.losses.records_refused - refused));
  if (!has_report) made.problems.push_back(describe_cut(made));
  target = std::move(made);
  return {};
}

}  // namespace
}  // namespace detail

status read_recording(std::string_view bytes, profile& target, recording_view wanted) {
  std::size_t line = 0;
  int version = 0;
  status const known = detail::read_first_line(bytes, line, version);
  if (!known.ok()) return known;
  detail::recording_parts const parts(bytes.substr(0, line), bytes.substr(line), version);
  return detail::read_parts(parts, bytes.size(), target, wanted);
}

namespace detail {
namespace {

/// Reads the first line of a recording and what is wanted of the rest, at most so many bytes.
/// Errors: bad_argument: it is no recording. input_output.
status read_wanted(input_file const& file, recording_view wanted, std::size_t limit,
                   std::string& text) {
  text = file.first_bytes();
  status readable;
  if (text.empty()) readable = file.read_rest(limit, text);
  if (!readable.ok()) return readable;
  std::size_t size = 0;
  int version = 0;
  status const known = read_first_line(text, size, version);
  if (!known.ok()) {
    std::string_view const kind = kind_of_file(text);
    bool const is_other = text.compare(0, recording_magic.size(), recording_magic) != 0;
    if (!is_other || kind.empty()) return known;
    return {errc::bad_argument, sentence("It is no recording of Strata, it seems to be ")
                                    << kind << ": formats=recording writes one."};
  }
  text.resize(size);
  std::int64_t const report =
      wanted == recording_view::report ? report_position(file.get()) : std::int64_t{0};
  std::int64_t const begin = report != 0 ? report : static_cast<std::int64_t>(size);
  if (!go_to(file.get(), begin)) return input_file::cannot_read();
  int const part = std::fgetc(file.get());
  (void)std::ungetc(part, file.get());
  bool const has_pieces = part == static_cast<char>(recording_part::piece);
  if (!has_pieces && file.size() > static_cast<std::uint64_t>(begin) + limit)
    return {errc::input_output, "It has more than 1 GiB: record fewer steps."};
  return file.read_rest(limit, text);
}

}  // namespace

status read_recording_file(std::string const& path, profile& target, recording_view wanted,
                           std::size_t limit) {
  input_file file;
  status outcome = file.open(path);
  std::string text;
  if (outcome.ok()) outcome = read_wanted(file, wanted, limit, text);
  if (!outcome.ok()) return outcome;
  if (text.size() > limit) text.resize(limit);  // of pieces
  return read_recording(text, target, wanted);
}

}  // namespace detail

status read_recording_file(std::string const& path, profile& target, recording_view wanted) {
  return detail::read_recording_file(path, target, wanted, std::size_t{1} << 30);
}

status report_recording(profile& recorded, options const& wanted) {
  return detail::report_files(wanted).write(recorded);
}

STRATA_END

#endif  // STRATA_ENABLED
