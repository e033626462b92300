#include <strata/version.hpp>
#ifndef STRATA_STATUS_HPP
#define STRATA_STATUS_HPP

#include <strata/base/macros.hpp>

#include <string>
#include <utility>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN

/// What kind of thing went wrong; every code has one fix, which its message names.
enum class errc : unsigned char {
  ok,
  unavailable,    ///< no driver, no device, no libcupti, a missing symbol
  busy,           ///< another profiler or a second session holds what is needed
  not_permitted,  ///< privileges
  not_supported,  ///< this device, driver or platform cannot do it
  bad_argument,   ///< a name, a key, a value
  input_output,   ///< a file or a directory
  limit,          ///< a cap was reached; something was counted instead of kept
  internal        ///< an answer that the library did not expect
};

/// The outcome of a call: a code, and one sentence with the fix where it is not `ok`.
class status {
 public:
  status() = default;
  status(errc code, std::string&& message) noexcept : code_(code), message_(std::move(message)) {}
  status(errc code, std::string const& message) : code_(code), message_(message) {}
  status(errc code, char const* message)
      : code_(code), message_(message == nullptr ? "" : message) {}

  bool ok() const noexcept { return code_ == errc::ok; }
  explicit operator bool() const noexcept { return ok(); }
  errc code() const noexcept { return code_; }
  /// One sentence: what happened, then what to do. Empty when ok.
  std::string const& message() const noexcept { return message_; }

 private:
  errc code_ = errc::ok;
  std::string message_;
};

STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_STATUS_HPP
