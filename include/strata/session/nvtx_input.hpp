#ifndef STRATA_SESSION_NVTX_INPUT_HPP
#define STRATA_SESSION_NVTX_INPUT_HPP

#include <strata/collect/cuda/activity.hpp>
#include <strata/options.hpp>

STRATA_BEGIN
namespace detail {

/// A variable that the environment has between two calls. It is this process's: forked children do
/// not have it. What another process is started from meanwhile otherwise, as by posix_spawn, does.
/// Threads: one. Source: the environment is the one way in which NVTX finds its tool.
class borrowed_variable : uncopied {
 public:
  ~borrowed_variable() { give_back(); }

  /// Returns: false where memory is short. Requires: it is not set.
  bool set(char const* name, std::string const& value) {
    give_back();
    text_ = sentence(name) << "=" << value;
    if (!set_variable(name, value.c_str())) return false;
    name_ = name;
    set_now().store(text_.c_str());
    static int const at_fork = pthread_atfork(nullptr, nullptr, [] {
      if (char const* const text = set_now().load()) drop_variable(text);
    });
    (void)at_fork;
    return true;
  }

  /// Where the program has changed it, it stays.
  void give_back() noexcept {
    char const* const name = std::exchange(name_, nullptr);
    if (name == nullptr) return;
    set_now().store(nullptr);
    char const* const value = variable(name);
    if (value != nullptr && text_.compare(std::strlen(name) + 1, text_.npos, value) == 0)
      (void)set_variable(name, nullptr);
  }

 private:
  static atomic<char const*>& set_now() noexcept {
    static atomic<char const*> text{nullptr};
    return text;
  }

  char const* name_ = nullptr;  // null: it is not set
  std::string text_;
};

/// `nvtx=in`: lets the program's NVTX calls come to the session, by way of CUPTI unless Strata
/// itself is the tool that NVTX loaded. Threads: the session's.
class nvtx_input {
 public:
  /// NVTX reads the environment at the first call in each module of the program, so that this comes
  /// before. It writes to the environment, until `give_back`. Errors: unavailable.
  /// Requires: the activity session is open if `tracing`.
  status open(options const& wanted, bool tracing) {
    process_block& ours = block();
    bool const injected = is_the_tool();
    ours.nvtx_ignored.store(wanted.nvtx == options::nvtx_mode::automatic ? !injected
                                                                         : !wanted.nvtx_in());
    waits_ = false;
    other_tool_.clear();
    if (!wanted.nvtx_in() || injected) return {};
    char const* const tool = detail::variable(variable);
    bool const named = tool != nullptr && *tool != '\0';
    other_tool_ = named && !is_named(tool, "libcupti") ? tool : "";
    if (!other_tool_.empty()) return {};
    if (!tracing) {
      return {
          errc::unavailable,
          "nvtx=in: NVTX calls do not arrive: they come by CUPTI, which needs trace, a device and "
          "libcupti; without these, run the program under libstrata_inject.so (LD_PRELOAD)"};
    }
    std::string library;
    status const heard = activity_collector::instance().receive_nvtx(library);
    if (!heard.ok()) return heard;
    if (!named && !borrowed_.set(variable, library))
      return {errc::internal,
              "nvtx=in: the environment is full: set NVTX_INJECTION64_PATH to " + library};
    ours.nvtx_from.store(nvtx_source::cupti);
    (void)nvtx_ranges::heard();
    waits_ = true;
    return {};
  }

  /// Whether NVTX calls come by CUPTI, which the program's NVTX loads at its first call.
  static bool needs_cupti(options const& wanted) {
    return wanted.nvtx_in() && wanted.trace && !is_the_tool();
  }

  /// Whether NVTX loads this module as its tool, or has done so.
  static bool is_the_tool() {
    process_block& ours = block();
    char const* const tool = detail::variable(variable);
    Dl_info own{};
    if (tool != nullptr && *tool != '\0' && dladdr(static_cast<void*>(&module_mark), &own) != 0 &&
        own.dli_fname != nullptr) {
      char* const named = realpath(tool, nullptr);
      char* const here = realpath(own.dli_fname, nullptr);
      if (named != nullptr && here != nullptr && std::string_view(named) == here)
        ours.nvtx_from.store(nvtx_source::injection);
      std::free(named);
      std::free(here);
    }
    return ours.nvtx_from.load() == nvtx_source::injection;
  }

  /// The environment is as it was.
  void give_back() noexcept { borrowed_.give_back(); }

  /// Whether anything came. Errors: unavailable; busy (another tool receives NVTX).
  status close() {
    // The tool may be another copy of Strata, which NVTX loads at the program's first call.
    if (!other_tool_.empty() && !is_named(other_tool_, "libstrata_inject") && !is_the_tool()) {
      return {errc::busy, sentence("nvtx=in: NVTX calls go to ")
                              << other_tool_
                              << ", which NVTX_INJECTION64_PATH names: unset it to see them here"};
    }
    if (!waits_ || nvtx_ranges::heard()) return {};
    return {
        errc::unavailable,
        "nvtx=in: no NVTX call arrived; if the program makes any, its first one came before "
        "the session: begin the session earlier, or by STRATA=, or set NVTX_INJECTION64_PATH to "
        "libcupti from outside"};
  }

 private:
  static constexpr char const* variable = "NVTX_INJECTION64_PATH";

  static bool is_named(std::string_view path, std::string_view library) noexcept {
    return path.substr(path.rfind('/') + 1).substr(0, library.size()) == library;
  }

  borrowed_variable borrowed_;
  std::string other_tool_;  // than CUPTI and this module
  bool waits_ = false;
};

/// `nvtx=out`, or a tool of NVTX in the process: ranges go there too. Errors: unavailable.
inline status send_to_nvtx(options const& wanted) {
  process_block const& ours = block();
  bool const by_itself = wanted.nvtx == options::nvtx_mode::automatic;
  if (!wanted.nvtx_out() && !(by_itself && has_nvtx_tool(ours))) return {};
  if (ours.nvtx_push == nullptr)
    return {errc::unavailable,
            "ranges do not go to NVTX: no source file includes <strata/nvtx.hpp>, which needs "
            "NVTX's headers (they come with the CUDA toolkit)"};
  pin_module(reinterpret_cast<void const*>(ours.nvtx_push));
  recorder_state& state = recorder::instance().state();
  state.forward_begin.store(ours.nvtx_push);
  state.forward_end.store(ours.nvtx_pop);
  return {};
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_NVTX_INPUT_HPP
