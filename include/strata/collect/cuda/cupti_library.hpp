#ifndef STRATA_COLLECT_CUDA_CUPTI_LIBRARY_HPP
#define STRATA_COLLECT_CUDA_CUPTI_LIBRARY_HPP

#include <strata/base/clock.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile/records.hpp>

#include <link.h>

STRATA_BEGIN
namespace detail {
namespace cupti {

/// Oldest version whose records Strata reads: CUPTI 12.0.
inline constexpr std::uint32_t oldest_version = 18;

/// From this version on a buffer request may be declined with a null buffer; before, CUPTI crashes.
inline constexpr std::uint32_t null_buffer_version = 27;

/// From this version on, CUPTI 12.5, the record of a context says whether it is a green one.
inline constexpr std::uint32_t green_context_version = 23;

/// Folder of a loaded shared object whose file name begins with `prefix`, or an empty string.
inline std::string folder_of_loaded(char const* prefix) {
  struct search {
    std::string_view prefix;
    std::string folder;
  };
  search wanted{prefix, {}};
  loader_use const use;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) -> int {
        auto& into = *static_cast<search*>(data);
        const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        const std::size_t slash = path.rfind('/');
        if (path.empty() || path[0] != '/') return 0;
        if (path.substr(slash + 1, into.prefix.size()) != into.prefix) return 0;
        into.folder = std::string(path.substr(0, slash));
        return 1;
      },
      &wanted);
  return std::move(wanted.folder);
}

/// Folders that may hold a libcupti, best first. All are absolute.
inline vec<std::string> folders() {
  vec<std::string> list;
  const std::string runtime = folder_of_loaded("libcudart.so");
  if (!runtime.empty()) {
    list.push_back(runtime);
    list.push_back(runtime + "/../extras/CUPTI/lib64");
    list.push_back(runtime + "/../../../extras/CUPTI/lib64");
    list.push_back(runtime + "/../../cuda_cupti/lib");
  }
#if defined(__aarch64__)
  char const* const target = "/targets/sbsa-linux/lib";
#else
  char const* const target = "/targets/x86_64-linux/lib";
#endif
  for (char const* root : {filled_variable("CUDA_HOME"), filled_variable("CUDA_PATH"),
                           static_cast<char const*>("/usr/local/cuda")}) {
    if (root == nullptr || *root != '/') continue;
    list.push_back(std::string(root) + "/extras/CUPTI/lib64");
    list.push_back(std::string(root) + "/lib64");
    list.push_back(std::string(root) + target);
  }
  list.push_back("/opt/cuda/extras/CUPTI/lib64");
  list.push_back("/opt/cuda/lib64");
  return list;
}

/// File names for a driver of this major version: its own CUPTI, then older ones, then newer.
inline vec<std::string> file_names(int driver_major) {
  vec<std::string> list;
  auto const add = [&](int major) { list.push_back(sentence("libcupti.so.") << major); };
  if (driver_major > 13) add(driver_major);
  if (driver_major != 12) add(13);
  add(12);
  if (driver_major == 12) add(13);
  list.push_back("libcupti.so");
  return list;
}

}  // namespace cupti

/// A libcupti: where it lies, its version, and the words of its codes.
struct cupti_file {
  std::uint32_t version = 0;  // CUPTI_API_VERSION of the library
  std::string path;           // file that was loaded
  std::string problem;        // why its functions are of no use; empty when they are

  [[nodiscard]] bool ok() const noexcept { return problem.empty(); }

  /// Opens libcupti, without a driver. Errors: false, and `problem` says why.
  bool open(dynamic_library& library, int driver_major) {
    vec<std::string> const names = cupti::file_names(driver_major);
    if (open_loaded(library, names) || open_chosen(library, names)) return found(library);
    if (!problem.empty()) return false;
    vec<std::string> const places = cupti::folders();
    for (std::string const& name : names) {
      if (library.open(name.c_str())) return found(library);
      for (std::string const& folder : places) {
        if (library.open((folder + '/' + name).c_str())) return found(library);
      }
    }
    problem =
        "libcupti was not found: install CUPTI (CUDA toolkit, or the wheel nvidia-cuda-cupti), or "
        "set STRATA_CUPTI to the library or its folder";
    return false;
  }

 protected:
  cupti::result (*result_string_)(cupti::result code, char const** text) = nullptr;

  /// "<call>: <CUPTI_ERROR_...> (<code>): <fix>".
  [[nodiscard]] std::string describe(char const* call, cupti::result code,
                                     std::string const& fix) const {
    char const* name = nullptr;
    if (result_string_ != nullptr) (void)result_string_(code, &name);
    return sentence(call) << ": " << (name != nullptr ? name : "CUPTI error") << " ("
                          << static_cast<int>(code) << "): " << fix;
  }

  /// Binds functions that have to be there. Errors: false, and `problem` names one that is not.
  bool bind_all(dynamic_library const& library, library_function const* functions,
                std::size_t count, char const* fix) {
    library.bind("cuptiGetResultString", result_string_);
    for (std::size_t i = 0; i < count; ++i) {
      if (!library.bind(functions[i]))
        problem = sentence(path) << " lacks " << functions[i].name << ": " << fix;
    }
    return problem.empty();
  }

 private:
  bool found(dynamic_library const& library) {
    path = library.path_of("cuptiGetVersion");
    return true;
  }

  bool open_loaded(dynamic_library& library, vec<std::string> const& names) {
    for (std::string const& name : names) {
      if (library.open_loaded(name.c_str())) return true;
    }
    for (char const* minor : {"8", "7", "6", "5", "4", "3", "2"}) {
      const std::string name = std::string("libcupti.so.11.") + minor;
      if (library.open_loaded(name.c_str())) return true;
    }
    return false;
  }

  /// STRATA_CUPTI, if set: it is this library or none.
  bool open_chosen(dynamic_library& library, vec<std::string> const& names) {
    char const* chosen = filled_variable("STRATA_CUPTI");
    if (chosen == nullptr) return false;
    const std::string setting = sentence("STRATA_CUPTI=") << chosen << ": ";
    if (!dynamic_library::acceptable(chosen)) {
      problem = setting + "give an absolute path or a bare file name";
      return false;
    }
    std::string reason;
    if (library.open(chosen, reason)) return true;
    if (*chosen == '/') {
      for (std::string const& name : names) {
        if (library.open((std::string(chosen) + '/' + name).c_str())) return true;
      }
    }
    problem = setting + reason;
    return false;
  }
};

/// CUPTI's objects until the exit of the program destroys them: a callback that calls CUPTI
/// afterwards crashes. Threads: any.
class cupti_presence {
 public:
  bool has_ended() const noexcept { return ended_.load(); }
  /// Waits for the callbacks that call CUPTI just now, in threads that still run during the exit.
  void end() noexcept {
    constexpr std::int64_t longest_ns = 500'000'000;  // this thread may have interrupted one
    ended_.store(true);
    deadline patience(longest_ns);
    for (unsigned turn = 0; uses_.load() != 0 && patience.lasts(); ++turn) wait_a_turn(turn);
  }

  /// While it lasts CUPTI may be called, if it is true.
  class use : uncopied {
   public:
    explicit use(cupti_presence& presence) noexcept : presence_(presence) {
      presence_.uses_.fetch_add(1);
    }
    ~use() { presence_.uses_.fetch_sub(1); }
    explicit operator bool() const noexcept { return !presence_.has_ended(); }

   private:
    cupti_presence& presence_;
  };

 private:
  atomic<bool> ended_{false};
  atomic<std::uint32_t> uses_{0};
};

/// CUPTI: found and opened at first use, once a process, never closed.
///
/// Nothing of it is called unless the driver works and has a device. A libcupti that the process
/// has already is taken, since two in one process collide; then the library of the driver's own
/// major version is preferred, wherever it lies. The working directory is never searched by Strata.
/// Environment: STRATA_CUPTI is a file or folder (absolute) or a bare file name; CUDA_HOME and
/// CUDA_PATH are toolkits. All are ignored when setuid.
/// Threads: get() from any; the members are constant afterwards.
struct cupti_library : cupti_file {
  cupti::table api;

  /// Whether a buffer request may be answered with a null buffer.
  [[nodiscard]] bool takes_null_buffers() const noexcept {
    return version >= cupti::null_buffer_version;
  }

  /// Ticks with CUPTI's clock, or with the system's where CUPTI does not tell its own.
  /// Source: cuptiGetTimestamp.
  [[nodiscard]] clock_sample sample_clocks(tick_source const& ticks) const noexcept {
    return sample_clock(ticks, [get = api.get_timestamp] {
      std::uint64_t now = 0;
      if (get != nullptr && get(&now) == cupti::result::success)
        return static_cast<std::int64_t>(now);
      return realtime_ns();
    });
  }

  /// The id of a graph's node in records; 0, which no node has, where CUPTI does not tell.
  [[nodiscard]] std::uint64_t graph_node_id(cupti::graph_node_handle node) const noexcept {
    std::uint64_t id = 0;
    bool const is_known = api.get_graph_node_id != nullptr &&
                          api.get_graph_node_id(node, &id) == cupti::result::success;
    return is_known ? id : 0;
  }

  /// "<call>: <CUPTI_ERROR_...> (<code>): <fix>".
  [[nodiscard]] std::string describe(char const* call, cupti::result code) const {
    return cupti_file::describe(call, code, cupti::meaning_of(code).fix);
  }

  /// Name of the client that owns CUPTI, or an empty string when CUPTI does not tell (before 13.0).
  ///
  /// To be called once, after `subscribe` returned multiple_subscribers_not_supported.
  [[nodiscard]] std::string other_client() const {
    if (api.subscribe_v2 == nullptr) return {};
    char name[128] = {};
    for (const std::size_t size : {std::size_t{40}, std::size_t{32}}) {
      cupti::subscriber_params params{};
      params.struct_size = size;
      params.subscriber_name = "Strata";
      params.old_subscriber_name = name;
      params.old_subscriber_capacity = sizeof(name) - 1;
      cupti::subscriber_handle mine = nullptr;
      auto const ignore = [](void*, cupti::domain, std::uint32_t, void const*) {};
      const cupti::result code = api.subscribe_v2(&mine, ignore, nullptr, &params);
      if (code == cupti::result::success) (void)api.unsubscribe(mine);
      if (code != cupti::result::invalid_parameter) break;
    }
    return name;
  }

  void load(driver_library const& driver) {
    problem.clear();
    if (!driver.ok()) {
      problem = driver.problem;
      return;
    }
    dynamic_library library;
    if (!open(library, driver.major())) return;
    if (!bind(library)) return;
    const cupti::result code = api.get_version(&version);
    if (code != cupti::result::success) {
      problem = describe("cuptiGetVersion", code);
    } else if (version < cupti::oldest_version) {
      problem = path + " is from CUDA 11 or earlier: Strata needs CUPTI 12.0 or later";
    }
  }

  static cupti_library& get() {
    static auto* const library =
        static_cast<cupti_library*>(shared_object(process_object::cupti, []() -> void* {
          auto* fresh = new cupti_library;
          fresh->load(driver_library::get());
          return fresh;
        }));
    return *library;
  }

  /// Becomes CUPTI's subscriber, or takes over what `subscribe_early` has subscribed.
  cupti::result subscribe(cupti::subscriber_handle* out, cupti::callback_function* callback,
                          void* user) const;

  /// Subscribes while the driver loads an injected library, within cuInit: the driver may not be
  /// called then, CUPTI may. `first_context` is called when the program makes a CUDA context, which
  /// comes before all work. Returns why there is no subscription, or nothing. Threads: one.
  static std::string subscribe_early(void (*first_context)());

 private:
  static constexpr auto context_created =
      static_cast<std::uint32_t>(cupti::resource_id::context_created);

  /// The subscription that an injected library has made, until a session takes it over.
  struct early_subscription;

  /// Fills the table.
  bool bind(dynamic_library const& library) {
    const library_function needed[] = {{"cuptiActivityFlushAll", &api.flush_all},
                                       {"cuptiActivityGetNextRecord", &api.get_next_record},
                                       {"cuptiActivityDisable", &api.activity_disable},
                                       {"cuptiActivityEnable", &api.activity_enable},
                                       {"cuptiActivityRegisterCallbacks", &api.register_callbacks},
                                       {"cuptiGetCallbackName", &api.get_callback_name},
                                       {"cuptiEnableCallback", &api.enable_callback},
                                       {"cuptiUnsubscribe", &api.unsubscribe},
                                       {"cuptiSubscribe", &api.subscribe},
                                       {"cuptiGetVersion", &api.get_version}};
    const library_function optional[] = {
        {"cuptiSubscribe_v2", &api.subscribe_v2},
        {"cuptiActivityEnableAndDump", &api.activity_enable_and_dump},
        {"cuptiGetTimestamp", &api.get_timestamp},
        {"cuptiActivityGetNumDroppedRecords", &api.get_dropped_records},
        {"cuptiActivityFlushPeriod", &api.flush_period},
        {"cuptiActivityConfigureUnifiedMemoryCounter", &api.configure_unified_memory},
        {"cuptiActivitySetAttribute", &api.set_attribute},
        {"cuptiGetGraphNodeId", &api.get_graph_node_id}};
    for (library_function const& function : optional) library.bind(function);
    return bind_all(library, needed, sizeof needed / sizeof *needed,
                    "use the libcupti of CUDA 12.0 or later");
  }
};

struct cupti_library::early_subscription {
  cupti_library library;
  atomic<cupti::subscriber_handle> handle{nullptr};  // null: none, or taken over
  void (*first_context)() = nullptr;
  void* user = nullptr;  // the session's
  atomic<cupti::callback_function*> session{nullptr};

  static early_subscription& instance() {
    static auto* const only = static_cast<early_subscription*>(shared_object(
        process_object::early_subscription, []() -> void* { return new early_subscription; }));
    return *only;
  }

  static void on_callback(void*, cupti::domain where, std::uint32_t id, void const* data) {
    early_subscription& early = instance();
    if (auto* const session = early.session.load(memory_order_acquire))
      return session(early.user, where, id, data);
    if (where == cupti::domain::resource && id == context_created) early.first_context();
  }
};

inline cupti::result cupti_library::subscribe(cupti::subscriber_handle* out,
                                              cupti::callback_function* callback,
                                              void* user) const {
  early_subscription& early = early_subscription::instance();
  // Another libcupti's subscription is of no use here.
  cupti::subscriber_handle const handle =
      early.library.api.subscribe == api.subscribe ? early.handle.exchange(nullptr) : nullptr;
  if (handle == nullptr) return api.subscribe(out, callback, user);
  *out = handle;
  early.user = user;
  early.session.store(callback, memory_order_release);
  (void)api.enable_callback(0, handle, cupti::domain::resource, context_created);
  return cupti::result::success;
}

inline std::string cupti_library::subscribe_early(void (*first_context)()) {
  early_subscription& early = early_subscription::instance();
  driver_library const not_called;
  early.library.load(not_called);
  if (!early.library.ok()) return early.library.problem;
  cupti::table const& api = early.library.api;
  early.first_context = first_context;
  cupti::subscriber_handle handle = nullptr;
  cupti::result code = api.subscribe(&handle, &early_subscription::on_callback, nullptr);
  if (code != cupti::result::success) return early.library.describe("cuptiSubscribe", code);
  early.handle.store(handle);
  code = api.enable_callback(1, handle, cupti::domain::resource, context_created);
  if (code == cupti::result::success) return {};
  early.handle.store(nullptr);
  (void)api.unsubscribe(handle);
  return early.library.describe("cuptiEnableCallback", code);
}

namespace cupti {

using strata::api_kind;

/// Kind of the driver function with this name; its suffixes (_v2, _ptsz, ...) do not matter.
constexpr api_kind classify_api(std::string_view name) noexcept {
  struct rule {
    std::string_view prefix;
    api_kind kind;
  };
  constexpr rule rules[] = {
      {"cuLaunchKernel", api_kind::launch},  // cuLaunchKernelEx too
      {"cuLaunchCooperativeKernel", api_kind::launch},
      {"cuLaunchGrid", api_kind::launch},
      {"cuGraphLaunch", api_kind::graph_launch},
      {"cuMemcpy", api_kind::copy},
      {"cuMemset", api_kind::set},
      {"cuMemAlloc", api_kind::allocate},  // ...Host, ...Pitch, ...Managed, ...Async, ...FromPool
      {"cuMemHostAlloc", api_kind::allocate},
      {"cuMemCreate", api_kind::allocate},  // of virtual memory
      {"cuMemFree", api_kind::release},     // ...Host, ...Async
      {"cuMemRelease", api_kind::release},
      {"cuMemUnmap", api_kind::release},
      {"cuCtxSynchronize", api_kind::wait},
      {"cuStreamSynchronize", api_kind::wait},
      {"cuEventSynchronize", api_kind::wait},
      {"cuStreamBeginCapture", api_kind::begin_capture},           // ...ToGraph, ...ToCig
      {"cuStreamBeginRecaptureToGraph", api_kind::begin_capture},  // 13.5
      {"cuStreamEndCapture", api_kind::end_capture},               // also of a recapture
      {"cuGraphInstantiate", api_kind::instantiate},               // ...WithFlags, ...WithParams
      {"cuGraphExecDestroy", api_kind::graph_change},
      {"cuGraphExecUpdate", api_kind::graph_change},
      // Of nodes that may wait for something outside of the device then: not of copies and fills.
      {"cuGraphExecKernelNodeSet", api_kind::graph_change},
      {"cuGraphExecHostNodeSet", api_kind::graph_change},
      {"cuGraphExecChildGraphNodeSet", api_kind::graph_change},
      {"cuGraphExecEventWaitNodeSet", api_kind::graph_change},
      {"cuGraphExecExternalSemaphoresWaitNodeSet", api_kind::graph_change},
      {"cuGraphExecBatchMemOpNodeSet", api_kind::graph_change},
      {"cuGraphExecNodeSet", api_kind::graph_change},  // any node
      {"cuGraphNodeSetEnabled", api_kind::graph_change},
      {"cuGraphDestroy", api_kind::graph_change},
      {"cuGraphUpload", api_kind::graph_change},
  };
  if (name == "cuLaunch") return api_kind::launch;    // cuLaunchHostFunc launches nothing
  if (name == "cuMemMap") return api_kind::allocate;  // cuMemMapArrayAsync maps tiles of textures
  for (rule const& candidate : rules) {
    if (name.substr(0, candidate.prefix.size()) == candidate.prefix) return candidate.kind;
  }
  return api_kind::none;
}

/// Whether a driver function allocates managed memory.
constexpr bool is_managed_allocation(std::string_view name) noexcept {
  return name == "cuMemAllocManaged";
}

/// What a driver function means where launches and waits are steps. `launch_by_config` has the
/// kernel as its second argument, the other launches as their first.
enum class step_call : unsigned char { none, launch, launch_by_config, graph_launch, wait };

/// A copy to the host that blocks is a wait.
constexpr step_call classify_step_call(std::string_view name) noexcept {
  constexpr std::string_view by_config = "cuLaunchKernelEx";
  constexpr std::string_view to_host = "cuMemcpyDtoH";
  bool const is_async = name.find("Async") != name.npos;
  switch (classify_api(name)) {
    case api_kind::launch:
      if (name.substr(0, by_config.size()) == by_config) return step_call::launch_by_config;
      return step_call::launch;
    case api_kind::graph_launch:
      return step_call::graph_launch;
    case api_kind::wait:
      return step_call::wait;
    case api_kind::copy:
      if (name.substr(0, to_host.size()) == to_host && !is_async) return step_call::wait;
      return step_call::none;
    default:
      return step_call::none;
  }
}

/// What a driver function makes a stream wait for that the device does not do: a value in memory or
/// a semaphore, which the host, another device or another interface writes, or a function of the
/// program on the host.
enum class stream_wait : unsigned char { none, memory, host_function };

constexpr stream_wait classify_stream_wait(std::string_view name) noexcept {
  struct rule {
    std::string_view prefix;
    stream_wait waits;
  };
  constexpr rule rules[] = {
      {"cuStreamWaitValue", stream_wait::memory},  // ...32, ...64
      {"cuStreamBatchMemOp", stream_wait::memory},
      {"cuWaitExternalSemaphores", stream_wait::memory},
      {"cuLaunchHostFunc", stream_wait::host_function},
      {"cuStreamAddCallback", stream_wait::host_function},
  };
  for (rule const& candidate : rules)
    if (name.substr(0, candidate.prefix.size()) == candidate.prefix) return candidate.waits;
  return stream_wait::none;
}

struct api_call {
  std::uint32_t id;
  api_kind kind;
  step_call of_steps = step_call::none;
};

struct stream_wait_call {
  std::uint32_t id;
  stream_wait waits;
};

/// Whether a driver function makes an executable graph with flags.
constexpr bool is_instantiation(std::string_view name) noexcept {
  constexpr std::string_view with = "cuGraphInstantiateWith";  // ...Flags, ...Params, ..._ptsz
  return name.substr(0, with.size()) == with;
}

/// The driver functions worth a callback, and what each of them does.
class api_list {
 public:
  /// Asks CUPTI for the name of every driver callback id. Cost: some 900 calls, once a process.
  static api_list read(table const& api) {
    constexpr std::uint32_t last_id = 4096;  // 876 in CUPTI 13.5
    constexpr int patience = 32;             // ids end where this many in a row have no name
    api_list list;
    int nameless = 0;
    for (std::uint32_t id = 1; id <= last_id && nameless < patience; ++id) {
      char const* name = nullptr;
      if (api.get_callback_name(domain::driver_api, id, &name) != result::success ||
          name == nullptr) {
        ++nameless;
        continue;
      }
      nameless = 0;
      if (const api_kind kind = classify_api(name); kind != api_kind::none)
        list.add({id, kind, classify_step_call(name)});
      if (stream_wait const waits = classify_stream_wait(name); waits != stream_wait::none)
        list.stream_waits_.push_back({id, waits});
      if (is_managed_allocation(name)) list.managed_ = id;
    }
    return list;
  }

  /// Kind of a driver callback id. Cost: one load; fit for a callback.
  [[nodiscard]] api_kind kind_of(std::uint32_t id) const noexcept {
    return id < kinds_.size() ? kinds_[id] : api_kind::none;
  }
  [[nodiscard]] step_call step_call_of(std::uint32_t id) const noexcept {
    return id < of_steps_.size() ? of_steps_[id] : step_call::none;
  }
  [[nodiscard]] stream_wait stream_wait_of(std::uint32_t id) const noexcept {
    for (stream_wait_call const& call : stream_waits_)
      if (call.id == id) return call.waits;
    return stream_wait::none;
  }

  [[nodiscard]] vec<api_call> const& calls() const& noexcept { return calls_; }
  vec<api_call> const& calls() && = delete;
  [[nodiscard]] vec<stream_wait_call> const& stream_waits() const& noexcept {
    return stream_waits_;
  }
  vec<stream_wait_call> const& stream_waits() && = delete;
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }

  /// The id of cuMemAllocManaged, 0 where it has none.
  [[nodiscard]] std::uint32_t managed_id() const noexcept { return managed_; }

 private:
  void add(api_call const& call) {
    kinds_.resize(std::size_t{call.id} + 1, api_kind::none);
    of_steps_.resize(std::size_t{call.id} + 1, step_call::none);
    kinds_[call.id] = call.kind;
    of_steps_[call.id] = call.of_steps;
    calls_.push_back(call);
  }

  vec<api_call> calls_;
  vec<stream_wait_call> stream_waits_;
  vec<api_kind> kinds_;
  vec<step_call> of_steps_;
  std::uint32_t managed_ = 0;
};

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_LIBRARY_HPP
