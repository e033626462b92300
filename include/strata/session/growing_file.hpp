#ifndef STRATA_SESSION_GROWING_FILE_HPP
#define STRATA_SESSION_GROWING_FILE_HPP

#include <strata/annotate/process.hpp>
#include <strata/recording/format.hpp>
#include <strata/session/output_directory.hpp>

STRATA_BEGIN
namespace detail {

/// profile.strata as it grows: called profile.strata.part until it is complete. What was written
/// stays, whatever happens afterwards. Threads: one at a time.
class growing_file : uncopied {
 public:
  static constexpr char const* name = recording_name;

  /// Errors: input_output: nothing stays there.
  status begin(output_directory const& directory) {
    directory_ = directory;
    status const begun = directory_.begin(name, file_);
    if (!begun.ok()) {
      directory_.remove_empty();
      return begun;
    }
    std::uint64_t const room = directory_.room();
    kept_room_ = room / 2 < max_kept_room ? room / 2 : max_kept_room;
    out_.emplace(file_);
    begin_recording(*out_);
    quiet_writes const quiet;
    (void)out_->flush();  // so that it is a recording already, which has nothing yet
    return {};
  }

  /// Removes what was begun, and its directory.
  void abandon() {
    out_.reset();
    (void)directory_.end(name, std::exchange(file_, nullptr), ECANCELED);
    directory_.remove_empty();
  }

  /// Whether it continues; given up where its number is now that of a file of the program.
  bool is_open() {
    if (file_ != nullptr && !out_->has_file()) give_up(text_writer::file_lost);
    return file_ != nullptr;
  }
  /// The same, and the disk has room for more. Requires: nothing is written.
  bool has_room() {
    if (is_open() && directory_.room() < kept_room_) give_up(ENOSPC);
    return file_ != nullptr;
  }

  /// Adds a piece. Returns: whether the file continues.
  bool write(profile_piece& piece) {
    write_piece(*out_, piece);
    if (!out_->flush()) {
      give_up(out_->error());
      return false;
    }
    has_piece_ = true;
    return true;
  }

  /// Adds what the session reports, and gives the file its name. Returns: whether it is there.
  bool complete(profile const& reported) {
    if (!is_open()) return false;
    std::uint64_t const report_begin = out_->bytes();
    end_recording(*out_, reported, recording_part::unfinished);
    if (out_->flush() && out_->has_file()) mark_finished(report_begin);
    return close();
  }

  /// Gives the file its name. Returns: whether it is there.
  bool close() {
    if (!is_open()) return false;
    if (out_ && !out_->flush()) {
      give_up(out_->error());
      return false;
    }
    out_.reset();
    problem_ = directory_.end(name, std::exchange(file_, nullptr), 0);
    if (!problem_.ok()) say(problem_.message().c_str());
    return problem_.ok();
  }

  /// Memory is short: what was written stays, under the name that says that it is not whole.
  void end_early() noexcept {
    bool const there = file_ != nullptr && out_ && out_->has_file();
    out_.reset();
    if (there) std::fclose(file_);
    file_ = nullptr;
    constexpr char const* short_of_memory =
        "the recording ends early, since memory is short: free some, or lower log= and buffers=; "
        "the session continues";
    (void)if_memory_allows([this] { problem_ = {errc::limit, short_of_memory}; });
    say(short_of_memory);
  }

  /// Whether what was written is not there any more: its directory has gone, or was replaced.
  bool has_gone() const {
    bool const begun = file_ != nullptr && out_->has_file();
    return directory_.gone() || (begun && directory_.lacks(name, file_));
  }
  output_directory const& directory() const noexcept { return directory_; }
  /// Why the file ends early; it was said.
  status const& problem() const noexcept { return problem_; }

 private:
  /// Bytes of the disk that this file leaves to the smaller ones, which are written at the end. A
  /// heuristic: tables, findings and profile.json rarely have more.
  static constexpr std::uint64_t max_kept_room = std::uint64_t{64} << 20;

  /// The report that begins there is whole: from now on it is read, and not the pieces alone.
  void mark_finished(std::uint64_t report_begin) {
    constexpr auto kind = static_cast<char>(recording_part::profile);
    if (pwrite(fileno(file_), &kind, 1, static_cast<off_t>(report_begin)) != 1) out_->fail(errno);
  }

  /// The disk is full, say: what was written stays, under the name that says that it is not whole.
  void give_up(int error) {
    bool const there = error != text_writer::file_lost && out_->has_file();
    if (!there) out_->fail(text_writer::file_lost);
    out_.reset();
    std::FILE* const file = std::exchange(file_, nullptr);
    if (there && !has_piece_) {  // nothing of it can be read
      problem_ = directory_.end(name, file, error);
    } else {
      if (there) (void)std::fclose(file);
      problem_ = {
          errc::input_output,
          sentence("cannot continue ")
              << directory_.path() << "/" << recording_part_name << ": "
              << (there ? std::strerror(error) : "the program closed its file")
              << "; the recording ends there: free space, raise ulimit -f, or choose another out="};
    }
    say(problem_.message().c_str());
  }

  output_directory directory_;
  std::FILE* file_ = nullptr;
  maybe<text_writer> out_;
  std::uint64_t kept_room_ = 0;
  bool has_piece_ = false;  // that is whole
  status problem_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_GROWING_FILE_HPP
