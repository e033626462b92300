// Strata for programs that know nothing of it: a library that the CUDA driver loads
// (CUDA_INJECTION64_PATH), that NVTX loads (NVTX_INJECTION64_PATH), or the dynamic linker
// (LD_PRELOAD). The session begins when the program makes its first CUDA context, or with its first
// range, and reports when the process ends. Without STRATA nothing begins.
#include <strata/collect/nvtx/nvtx_injection.hpp>
#include <strata/implementation.hpp>

#include <dlfcn.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <exception>
#include <string>

#if !STRATA_ENABLED
#error "With STRATA_ENABLED=0 there is nothing to inject."
#endif

namespace {

namespace cupti = strata::detail::cupti;
using strata::detail::cupti_library;
using strata::detail::environment_session;
using strata::detail::process_block;
using session_starter = bool (*)() noexcept;

enum class stage { idle, subscribing, subscribed, begun };

/// CUPTI's subscriber from cuInit on, which a session takes over.
struct early_subscriber {
  cupti_library library;
  cupti::subscriber_handle handle = nullptr;
  void* user = nullptr;
  std::atomic<cupti::callback_function*> session{nullptr};
};

std::atomic<stage> now{stage::idle};

early_subscriber& early() noexcept {
  static early_subscriber& only = *new early_subscriber;
  return only;
}

strata::options wanted() {
  char const* const text = std::getenv("STRATA");
  strata::vec<std::string> told_by_the_session;
  strata::options how = strata::options::parse(text == nullptr ? "" : text, told_by_the_session);
  how.enabled = how.enabled && text != nullptr && *text != '\0';
  return how;
}

/// Gives the session the subscription that is there already.
cupti::result take_over(cupti::subscriber_handle* out, cupti::callback_function* callback,
                        void* user) {
  early_subscriber& ours = early();
  *out = ours.handle;
  ours.user = user;
  ours.session.store(callback, std::memory_order_release);
  (void)ours.library.api.enable_callback(
      0, ours.handle, cupti::domain::resource,
      static_cast<std::uint32_t>(cupti::resource_id::context_created));
  return cupti::result::success;
}

/// This library may have a C++ library of its own. An exception that leaves main is told to the
/// program's, so that one has to lead here, and from here back.
class terminate_link {
 public:
  terminate_link() noexcept {
    void* const theirs = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (theirs == nullptr) return;
    auto const get =
        reinterpret_cast<std::terminate_handler (*)()>(dlsym(theirs, "_ZSt13get_terminatev"));
    set_ = reinterpret_cast<setter*>(dlsym(theirs, "_ZSt13set_terminatePFvvE"));
    // By the functions: two libraries can have one handler, of the first that was loaded.
    if (get == nullptr || set_ == static_cast<setter*>(&std::set_terminate)) set_ = nullptr;
    if (set_ == nullptr) return;
    std::set_terminate(get());
  }
  ~terminate_link() {
    if (set_ != nullptr) (void)set_(std::get_terminate());
  }
  terminate_link(terminate_link const&) = delete;
  terminate_link& operator=(terminate_link const&) = delete;

 private:
  using setter = std::terminate_handler(std::terminate_handler) noexcept;
  setter* set_ = nullptr;
};

/// Begins the session of the environment, once.
bool begin_session() noexcept {
  stage before = now.load();
  do {
    if (before == stage::begun || before == stage::subscribing) return true;
  } while (!now.compare_exchange_weak(before, stage::begun));
  if (before == stage::subscribed) {
    cupti_library& library = cupti_library::get();
    if (library.api.enable_callback == early().library.api.enable_callback)
      library.api.subscribe = &take_over;
  }
  terminate_link const link;
  return environment_session::start();
}

void on_callback(void*, cupti::domain where, std::uint32_t id, void const* data) {
  early_subscriber& ours = early();
  if (auto* const session = ours.session.load(std::memory_order_acquire))
    return session(ours.user, where, id, data);
  if (where == cupti::domain::resource &&
      static_cast<cupti::resource_id>(id) == cupti::resource_id::context_created)
    (void)begin_session();
}

/// The driver is about to be there, and may not be called before cuInit returns; CUPTI may. So the
/// session waits for the first context, which comes before all work.
void subscribe() {
  stage before = stage::idle;
  if (!now.compare_exchange_strong(before, stage::subscribing)) return;
  early_subscriber& ours = early();
  strata::detail::driver_library const not_called;
  ours.library.load(not_called);
  static std::string& problem = *new std::string(ours.library.problem);
  if (problem.empty()) {
    cupti::table const& api = ours.library.api;
    char const* call = "cuptiSubscribe";
    cupti::result code = api.subscribe(&ours.handle, &on_callback, nullptr);
    if (code == cupti::result::success) {
      call = "cuptiEnableCallback";
      code = api.enable_callback(1, ours.handle, cupti::domain::resource,
                                 static_cast<std::uint32_t>(cupti::resource_id::context_created));
      if (code != cupti::result::success) (void)api.unsubscribe(ours.handle);
    }
    if (code != cupti::result::success) problem = ours.library.describe(call, code);
  }
  now.store(problem.empty() ? stage::subscribed : stage::idle);
  if (problem.empty()) return;
  // A range of the program may still begin a session, which then tells it.
  static unsigned long const process = strata::detail::process_id();
  std::atexit([] {
    if (now.load() != stage::begun && process == strata::detail::process_id())
      strata::detail::say(("nothing was recorded: " + problem).c_str());
  });
}

std::string own_path() {
  Dl_info own{};
  char whole[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&subscribe), &own) == 0 || own.dli_fname == nullptr ||
      realpath(own.dli_fname, whole) == nullptr)
    return {};
  return whole;
}

session_starter starter_of_program = nullptr;

/// Before anything else of this library: what the program has brought; and the driver and NVTX are
/// shown the way here, whoever loaded it. It writes to the environment.
__attribute__((constructor(101))) void before_registration() {
  process_block& block = strata::detail::block();
  starter_of_program = block.start_session;
  strata::detail::deciding_in_this_thread() = true;  // nothing may begin within cuInit
  if (!wanted().enabled) return;
  std::string const path = own_path();
  if (path.empty()) return;
  for (char const* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    char const* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') (void)setenv(variable, path.c_str(), 1);
  }
}

/// After the headers have registered their way to start a session: ours takes its place, unless the
/// program has one.
bool const registered = [] {
  strata::detail::deciding_in_this_thread() = false;
  process_block& block = strata::detail::block();
  strata::detail::spin_lock const lock(block.mutex);
  block.start_session = starter_of_program != nullptr ? starter_of_program : &begin_session;
  return true;
}();

/// Whether a session of this library is wanted here.
bool is_ours() {
  process_block& block = strata::detail::block();
  // Another version was here first, or somebody decided that nothing be recorded.
  if (strata::detail::stands_back.load() || strata::detail::active_listener() == nullptr)
    return false;
  {
    strata::detail::spin_lock const lock(block.mutex);
    if (block.start_session == &begin_session) return true;
  }
  strata::detail::say(
      "this program has Strata built in: libstrata_inject.so leaves the session to it");
  return false;
}

}  // namespace

/// Called by the driver within cuInit.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  strata::options const how = wanted();
  if (!how.enabled || now.load() != stage::idle || !is_ours()) return 1;
  if (how.trace || how.list_metrics) {
    subscribe();
  } else {
    (void)begin_session();
  }
  return 1;  // 0 would keep the program from CUDA
}

/// Called by NVTX at the first call in each module of the program.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    strata::detail::nvtx::export_table_function* get_table) {
  return wanted().enabled ? strata::detail::nvtx_injection::attach(get_table) : 0;
}
