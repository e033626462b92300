#ifndef STRATA_ANNOTATE_PROCESS_HPP
#define STRATA_ANNOTATE_PROCESS_HPP

#include <strata/base/console.hpp>
#include <strata/base/environment.hpp>

#include <new>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

struct strata_detail_c_calls;

STRATA_BEGIN_LIGHT
namespace detail {

struct range_attributes;

struct range_owner;

/// A range in progress; empty where no session ran when it began.
struct range_token {
  range_owner* owner = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t serial = 0;  // differs from other ranges at this depth
};

/// Who ends a range that it began; the first member of a thread's recorder.
struct range_owner {
  void (*end)(range_token range) noexcept;
};

/// The number of the name that a place in the source gave last: the low half, and in the high half
/// the low half of the text's address, since the name may be an element of an array of names.
using name_cache = atomic<std::uint64_t>;

/// What listens to ranges: constant tables of functions, so that installing one is one store.
struct listener {
  range_token (*begin)(name_cache* cached, char const* name, std::size_t length, std::int64_t index,
                       range_attributes const* attributes, bool pushed) noexcept;
  void (*pop)() noexcept;
  bool (*step_begin)() noexcept;
  void (*step_end)() noexcept;
  std::uint32_t (*current)() noexcept;  // a handle of the node that the thread is in, 0 of the root
  range_token (*inherit)(std::uint32_t handle) noexcept;  // places the thread below it
  bool (*listens)() noexcept;  // whether a range of this thread would be recorded, counted or shown
};

/// Copies that differ in this share nothing.
inline constexpr std::uint32_t process_abi = STRATA_DETAIL_PROCESS_ABI;
inline constexpr std::size_t max_copies = 64;

/// How the program's NVTX calls come to Strata, if they do.
enum class nvtx_source : unsigned char { none, cupti, injection };

/// The objects that a process has once, however many modules have an implementation.
enum class process_object : unsigned char {
  recorder,
  driver,
  cupti,
  early_subscription,
  profiler,
  abandoned_profilers,
  activity,
  activity_buffers,
  captures,
  nvtx_registry,
  nvtx_handles,
  exit_hooks,
  count
};

/// What Strata may still do in this process. A forked child records nothing, prints nothing and
/// calls neither CUDA nor CUPTI, whoever started the session.
enum class process_phase : unsigned char {
  running,
  ending,    // a thread writes the last report
  reported,  // the last report was written
  child
};

/// Where the process keeps one of them. The first module that asks for it makes it.
struct process_slot {
  spin_mutex mutex{held_over::calls};  // while the driver or CUPTI is opened, say
  void* object = nullptr;
};

/// The threads of Strata's that are not to outlive those of the program.
struct thread_account {
  atomic<std::size_t> begun{0};
  atomic<std::size_t> ended{0};
  atomic<bool> exits{false};  // one of them ends the process
};

/// What all source files and shared objects of a process have in common. The first module that
/// asks for it makes it, and each lends it its listener slot. It is never destroyed.
struct process_block {
  std::uint32_t abi = process_abi;
  std::uint32_t size = sizeof(process_block);
  atomic<strata_detail_c_calls const*> c_calls{nullptr};  // for units of <strata/c.h>
  spin_mutex mutex;                                       // of what is not atomic below
  spin_mutex decision_mutex{held_over::calls};  // held while the first range chooses the listener
  atomic<process_phase> phase{process_phase::running};
  atomic<unsigned long> owner{0};              // the process that has started a session
  atomic<void (*)()> report_at_exit{nullptr};  // for who is destroyed before the exit handlers end
  atomic<listener const*>* slots[max_copies] = {};
  std::size_t slot_count = 0;
  bool decided = false;           // the listener is chosen; else the next range chooses it
  char const* request = nullptr;  // the text of STRATA when the first range read it
  listener const* installed = nullptr;
  bool (*start_session)() noexcept =
      nullptr;  // registered by the implementation: reads STRATA, true when a session runs
  listener const* nvtx_listener = nullptr;  // registered by nvtx.hpp
  void (*nvtx_push)(char const* name, std::size_t length) noexcept = nullptr;
  void (*nvtx_pop)() noexcept = nullptr;
  bool wanted_session = false;  // STRATA was set when no session was linked in
  atomic<nvtx_source> nvtx_from{nvtx_source::none};
  atomic<bool> nvtx_ignored{false};  // by this session
  atomic<bool> said_late{false};
  atomic<std::uint64_t> interrupting_ranges{0};  // of signal handlers
  atomic<std::uint64_t> values_refused{0};       // of flops, bytes and tokens
  thread_account own_threads;
  process_slot objects[static_cast<std::size_t>(process_object::count)] = {};
};

STRATA_DETAIL_OF_MODULE extern listener const bootstrap_listener;

/// The one word that an idle range reads.
STRATA_DETAIL_OF_MODULE inline atomic<listener const*> listener_slot{&bootstrap_listener};
/// The block where modules do not find each other.
STRATA_DETAIL_OF_MODULE inline process_block own_block{};
STRATA_DETAIL_OF_MODULE inline atomic<process_block*> adopted_block{nullptr};
/// Another version was in the process first.
STRATA_DETAIL_OF_MODULE inline atomic<bool> other_version_first{false};

STRATA_DETAIL_OF_MODULE inline listener const* active_listener() noexcept {
  return listener_slot.load(memory_order_acquire);
}

inline unsigned long process_id() noexcept { return static_cast<unsigned long>(getpid()); }

/// Replaces control characters (C0, C1 of UTF-8) by `?`, for a line of a terminal.
inline void hide_controls(char* text, std::size_t size) noexcept {
  bool after_c2 = false;  // the first byte of U+0080 to U+00BF
  for (std::size_t i = 0; i < size; ++i) {
    auto const byte = static_cast<unsigned char>(text[i]);
    bool const c1 = after_c2 && byte >= 0x80 && byte < 0xa0;
    if (c1) text[i - 1] = '?';
    if (c1 || byte < 0x20 || byte == 0x7f) text[i] = '?';
    after_c2 = byte == 0xc2;
  }
}

/// Prints one sentence on stderr, truncated to 4 KiB. Control characters become `?`, since a name
/// or a path that it quotes may hold anything.
STRATA_DETAIL_COLD inline void say(char const* message) noexcept {
  char line[4096];
  int const length = std::snprintf(line, sizeof line, "strata: %s\n", message);
  if (length < 0) return;
  bool const fits = static_cast<std::size_t>(length) < sizeof line;
  std::size_t const size = fits ? static_cast<std::size_t>(length) : sizeof line - 1;
  hide_controls(line, size - 1);
  line[size - 1] = '\n';
  console::print(line, size, console::sentence_ms);
}

/// The end of the first stack by the system's list of mappings, where the name of the program's
/// file is elsewhere in it: a dynamic loader that was started by name (`ld.so ./program`) says its
/// argument. 0 where it is not known. Cost: a file is read, in such programs alone.
STRATA_DETAIL_COLD inline std::size_t find_stack_end(char const* within) noexcept {
  auto const at = reinterpret_cast<std::size_t>(within);
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  unsigned long begin = 0;
  unsigned long end = 0;
  char line[512];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps) != nullptr)
    found = std::sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= at && at < end;
  (void)std::fclose(maps);
  if (!found || std::strstr(line, "[stack]") == nullptr) return 0;
  auto const* const last = reinterpret_cast<char const*>(end) - sizeof(void*);
  return last[-1] == '\0' && last[-2] != '\0' ? end : 0;  // behind a name
}

/// Whether a word may be the address of a block, of any version: else it is something else's.
inline bool is_block(process_block const* found) noexcept {
  constexpr std::size_t page = 4096;
  constexpr std::size_t largest = 1 << 16;
  auto const at = reinterpret_cast<std::size_t>(found);
  if (at % alignof(process_block) != 0) return false;
  unsigned char resident[2] = {};
  std::size_t const first = at / page * page;
  std::size_t const size = at - first + 2 * sizeof(std::uint32_t);
  if (mincore(reinterpret_cast<void*>(first), size, resident) != 0) return false;  // not mapped
  return found->size >= sizeof(void*) && found->size <= largest && found->abi >= 1'000'000 &&
         (found->abi != process_abi || found->size == sizeof(process_block));
}

/// A word of the process that is nobody's, whatever is linked or loaded: Linux leaves it empty at
/// the end of the first stack, behind the name of the program's file, and makes it anew for each
/// program. It is the address of the block. Null where the stack ends otherwise, in an emulator
/// say: there modules do not find each other.
inline atomic<process_block*>* block_word() noexcept {
  constexpr std::size_t page = 4096;
  auto const* const name = reinterpret_cast<char const*>(getauxval(AT_EXECFN));
  if (name == nullptr) return nullptr;
  auto const word_before = [](std::size_t end) {
    auto* const word = reinterpret_cast<atomic<process_block*>*>(end - sizeof(void*));
    process_block const* const found = word->load(memory_order_acquire);
    return found == nullptr || is_block(found) ? word : nullptr;
  };
  std::size_t const end =
      reinterpret_cast<std::size_t>(name) + std::strlen(name) + 1 + sizeof(void*);
  atomic<process_block*>* const word = end % page == 0 ? word_before(end) : nullptr;
  if (word != nullptr) return word;
  std::size_t const found = find_stack_end(name);
  return found == 0 ? nullptr : word_before(found);
}

/// One in each module, whatever the linker merges.
STRATA_DETAIL_OF_MODULE inline char module_mark = 0;

/// Keeps the module that has this address loaded: the process has pointers into it from now on.
inline void pin_module(void const* address) noexcept {
  Dl_info own{};
  Dl_info program{};
  if (dladdr(const_cast<void*>(address), &own) == 0 || own.dli_fname == nullptr) return;
  auto* const headers = reinterpret_cast<void*>(getauxval(AT_PHDR));
  if (dladdr(headers, &program) != 0 && program.dli_fbase == own.dli_fbase) return;
  (void)dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// Keeps this module loaded.
STRATA_DETAIL_OF_MODULE inline void pin_this_module() noexcept { pin_module(&module_mark); }

/// Another version's block is in the process: the ranges of this module idle.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline void give_way(std::uint32_t abi) noexcept {
  listener_slot.store(nullptr, memory_order_release);
  char const* const wish = variable("STRATA");
  if (other_version_first.exchange(true) || wish == nullptr || *wish == '\0') return;
  char text[200];
  unsigned const theirs = abi % 1'000'000;
  std::snprintf(text, sizeof text,
                "the ranges of the parts built with Strata %d.%d are not recorded, because Strata "
                "%u.%u is in this process already: build all parts with one version",
                STRATA_VERSION_MAJOR, STRATA_VERSION_MINOR, theirs / 100, theirs % 100);
  say(text);
}

/// The block of the process, made by the first module that asks; else this module's own.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline process_block* find_block() noexcept {
  atomic<process_block*>* const word = block_word();
  if (word == nullptr) return &own_block;
  process_block* found = word->load(memory_order_acquire);
  if (found == nullptr) {
    // On the heap, where a leak checker follows what the block points to.
    void* const memory = std::malloc(sizeof(process_block));
    if (memory == nullptr) return &own_block;
    auto* const made = new (memory) process_block;
    if (word->compare_exchange_strong(found, made, memory_order_acq_rel)) return made;
    std::free(memory);
  }
  if (found->abi == process_abi) return found;
  give_way(found->abi);
  return &own_block;
}

/// The block of the process, which knows this module's listener slot from now on.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline process_block& block() noexcept {
  if (process_block* known = adopted_block.load(memory_order_acquire)) return *known;
  process_block* const found = find_block();
  process_block* expected = nullptr;
  if (!adopted_block.compare_exchange_strong(expected, found, memory_order_acq_rel))
    return *expected;
  spin_lock lock(found->mutex);
  if (found->slot_count < max_copies) {
    found->slots[found->slot_count++] = &listener_slot;
    if (found->decided) listener_slot.store(found->installed, memory_order_release);
  } else {
    listener_slot.store(nullptr, memory_order_release);  // one copy too many idles
  }
  return *found;
}

/// The process's one object of this kind; never destroyed. All modules that share a block have the
/// same layout of it. Cost: a lock; callers keep the address.
inline void* shared_object(process_object which, void* (*make)()) {
  process_slot& slot = block().objects[static_cast<std::size_t>(which)];
  spin_lock const lock(slot.mutex);
  if (slot.object == nullptr) slot.object = make();
  return slot.object;
}

/// What the block has of this module, besides its slot.
struct lent_functions {
  bool (*start_session)() noexcept = nullptr;
  listener const* nvtx_listener = nullptr;
};
STRATA_DETAIL_OF_MODULE inline lent_functions lent{};

/// The module is unloaded, or the process ends: takes back what the block has of it. Where another
/// thread has the block's lock for long, a child was forked meanwhile.
__attribute__((destructor(101), used, visibility("hidden"))) inline void leave_block() noexcept {
  constexpr unsigned max_turns = 100;
  process_block* const ours = adopted_block.load(memory_order_acquire);
  if (ours == nullptr || ours == &own_block) return;
  for (unsigned turn = 0; !ours->mutex.try_lock(); ++turn) {
    if (turn == max_turns) return;
    wait_a_turn(turn);
  }
  for (std::size_t i = 0; i < ours->slot_count; ++i)
    if (ours->slots[i] == &listener_slot) ours->slots[i--] = ours->slots[--ours->slot_count];
  if (lent.start_session != nullptr && ours->start_session == lent.start_session) {
    ours->start_session = nullptr;
    ours->c_calls.store(nullptr, memory_order_release);
  }
  if (lent.nvtx_listener != nullptr && ours->nvtx_listener == lent.nvtx_listener) {
    ours->nvtx_listener = nullptr;
    ours->nvtx_push = nullptr;
    ours->nvtx_pop = nullptr;
  }
  ours->mutex.unlock();
}

/// Whether this process was forked from one that had started a session: then nothing of Strata acts
/// here. A child that was made without the C library's fork is known by its process number.
inline bool in_forked_child() noexcept {
  process_block& ours = block();
  unsigned long const owner = ours.owner.load(memory_order_relaxed);
  return ours.phase.load(memory_order_relaxed) == process_phase::child ||
         (owner != 0 && owner != process_id());
}

/// Makes `next` the listener of every copy; null: ranges idle. Requires: the block's mutex, but in
/// a forked child, where its owner may not exist.
inline void store_listener(process_block& ours, listener const* next) noexcept {
  ours.installed = next;
  ours.decided = true;
  for (std::size_t i = 0; i < ours.slot_count; ++i)
    ours.slots[i]->store(next, memory_order_release);
}

/// In a forked child: all ranges idle.
inline void silence_child() noexcept {
  process_block& ours = block();
  ours.phase.store(process_phase::child);
  store_listener(ours, nullptr);
}

/// A range that nobody can record any more: one sentence a process.
STRATA_DETAIL_COLD inline void say_late() noexcept {
  if (block().said_late.exchange(true)) return;
  say("a range began while its thread or the program was ending, in an exit handler or in the "
      "destructor of a static or thread_local object: such ranges are not recorded");
}

/// As store_listener, with its lock.
inline void install_listener(listener const* next) noexcept {
  process_block& ours = block();
  spin_lock lock(ours.mutex);
  store_listener(ours, next);
}

/// Whether a tool other than Strata receives NVTX. libcupti is none: it passes NVTX on to its
/// client, which is Strata, here or in the process that began this one.
inline bool has_nvtx_tool(process_block const& ours) noexcept {
  char const* const tool = variable("NVTX_INJECTION64_PATH");
  return tool != nullptr && *tool != '\0' && std::strstr(tool, "libcupti.so") == nullptr &&
         ours.nvtx_from.load(memory_order_relaxed) == nvtx_source::none;
}

/// The listener while no session runs: NVTX where a tool asked for it, else none.
inline listener const* idle_listener(process_block const& ours) noexcept {
  return has_nvtx_tool(ours) ? ours.nvtx_listener : nullptr;
}

STRATA_DETAIL_OF_MODULE inline bool& deciding_in_this_thread() noexcept {
  static thread_local bool deciding = false;
  return deciding;
}

inline constexpr char const* no_implementation = STRATA_DETAIL_NO_IMPLEMENTATION;

/// STRATA asks for a session and no part of the program can start one yet: says so at exit, unless
/// one comes.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline void want_session(process_block& ours) noexcept {
  {
    spin_lock lock(ours.mutex);
    ours.wanted_session = true;
  }
  pin_this_module();
  static atomic<bool> registered{false};
  if (registered.exchange(true)) return;
  static unsigned long const process = process_id();
  std::atexit([] {
    if (block().wanted_session && process == process_id()) {
      say(no_implementation);
    }
  });
}

/// Lets everything idle, unless a session has begun in the meantime.
inline void make_idle(process_block& ours) noexcept {
  listener const* idle = nullptr;
  {
    spin_lock const lock(ours.mutex);
    if (ours.decided) return;
    idle = idle_listener(ours);
  }
  // Not under the lock, which a library's constructor takes that has the dynamic loader's.
  if (idle != nullptr) pin_module(idle);
  spin_lock const lock(ours.mutex);
  if (!ours.decided) store_listener(ours, idle_listener(ours) == idle ? idle : nullptr);
}

/// STRATA is set and is not obeyed: one sentence a process.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline void say_foreign_environment() noexcept {
  static atomic<bool> said{false};
  char const* const wish = std::getenv("STRATA");
  if (wish == nullptr || *wish == '\0' || said.exchange(true)) return;
  say("STRATA and the other variables are not read, since this program has more rights than the "
      "user who began it (setuid, setgid or capabilities): begin it as the user that it becomes");
}

/// Whether STRATA asks for a session. The text is read once and kept, since the program may change
/// its environment at any time.
inline bool read_request(process_block& ours) noexcept {
  if (has_foreign_environment()) say_foreign_environment();
  char const* const wish = ours.request == nullptr ? variable("STRATA") : nullptr;
  if (wish != nullptr && *wish != '\0') {
    std::size_t const size = std::strlen(wish) + 1;
    if (auto* const copy = static_cast<char*>(std::malloc(size)))
      ours.request = static_cast<char*>(std::memcpy(copy, wish, size));
    else
      say("STRATA is not read, since memory is short");
  }
  return ours.request != nullptr;
}

/// Takes the mutex of the decision, or waits in vain: for whoever starts the session opens
/// libraries with it, and needs the dynamic loader's lock, which this thread may have, in a
/// constructor of a library that it is loading. Each thread waits once.
STRATA_DETAIL_OF_MODULE inline bool take_decision(process_block& ours) noexcept {
  // A heuristic: 5 s in turns of 0.2 ms at least. CUDA starts in less on all but large machines.
  constexpr unsigned max_turns = 25'000;
  static thread_local bool in_vain = false;
  for (unsigned turn = 0; turn < (in_vain ? 1 : max_turns); ++turn) {
    if (ours.decision_mutex.try_lock()) return true;
    wait_a_turn(turn);
  }
  in_vain = true;
  return false;
}

/// Starts the session that STRATA asks for, else lets all idle. Requires: the decision's mutex.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline void decide_now(process_block& ours) noexcept {
  deciding_in_this_thread() = true;
  if (read_request(ours)) {
    bool (*start)() noexcept = nullptr;
    {
      spin_lock reading(ours.mutex);
      start = ours.start_session;
    }
    if (start == nullptr) {
      want_session(ours);
    } else {
      (void)start();
    }
  }
  make_idle(ours);
  deciding_in_this_thread() = false;
}

/// The first range of the process comes here. errno stays as the program has it.
STRATA_DETAIL_OF_MODULE STRATA_DETAIL_COLD inline listener const* decide_listener() noexcept {
  if (deciding_in_this_thread()) return nullptr;
  int const error = errno;
  process_block& ours = block();
  listener const* now = active_listener();
  if (now != &bootstrap_listener) return now;
  locks_of_this_thread() += ours.decision_mutex.weight();
  bool const taken = take_decision(ours);
  if (taken && active_listener() == &bootstrap_listener) decide_now(ours);
  if (taken) ours.decision_mutex.unlock();
  locks_of_this_thread() -= ours.decision_mutex.weight();
  errno = error;
  now = active_listener();
  return now == &bootstrap_listener ? nullptr : now;
}

/// The text of STRATA where no range has read it yet, else null.
STRATA_DETAIL_OF_MODULE inline char const* unread_request() noexcept {
  bool const unread = active_listener() == &bootstrap_listener && !deciding_in_this_thread();
  char const* const wish = unread ? variable("STRATA") : nullptr;
  return wish == nullptr || *wish == '\0' ? nullptr : wish;
}

/// Called by the implementation before main: the next range may start a session.
STRATA_DETAIL_OF_MODULE inline bool register_session(
    bool (*start)() noexcept, strata_detail_c_calls const* c_calls) noexcept {
  if (filled_variable("STRATA") != nullptr) pin_this_module();  // it may be unloaded before that
  process_block& ours = block();
  ours.c_calls.store(c_calls, memory_order_release);
  spin_lock lock(ours.mutex);
  ours.start_session = start;
  lent.start_session = start;
  if (ours.wanted_session) {
    ours.wanted_session = false;
    ours.decided = false;
    for (std::size_t i = 0; i < ours.slot_count; ++i)
      ours.slots[i]->store(&bootstrap_listener, memory_order_release);
  }
  return true;
}

/// Called by nvtx.hpp before main.
STRATA_DETAIL_OF_MODULE inline bool register_nvtx(listener const* idle,
                                                  void (*push)(char const* name,
                                                               std::size_t length) noexcept,
                                                  void (*pop)() noexcept) noexcept {
  process_block& ours = block();
  spin_lock lock(ours.mutex);
  ours.nvtx_listener = idle;
  lent.nvtx_listener = idle;
  ours.nvtx_push = push;
  ours.nvtx_pop = pop;
  return true;
}

STRATA_DETAIL_OF_MODULE inline range_token bootstrap_begin(name_cache* cached, char const* name,
                                                           std::size_t length, std::int64_t index,
                                                           range_attributes const* attributes,
                                                           bool pushed) noexcept {
  listener const* next = decide_listener();
  return next == nullptr ? range_token{}
                         : next->begin(cached, name, length, index, attributes, pushed);
}
STRATA_DETAIL_OF_MODULE inline void bootstrap_pop() noexcept {
  if (listener const* next = decide_listener()) next->pop();
}
STRATA_DETAIL_OF_MODULE inline bool bootstrap_step_begin() noexcept {
  listener const* next = decide_listener();
  return next != nullptr && next->step_begin();
}
STRATA_DETAIL_OF_MODULE inline void bootstrap_step_end() noexcept {
  if (listener const* next = decide_listener()) next->step_end();
}

/// No range was recorded yet, so there is nothing to inherit.
inline std::uint32_t no_current() noexcept { return 0; }
inline range_token no_inherit(std::uint32_t) noexcept { return {}; }
STRATA_DETAIL_OF_MODULE inline bool bootstrap_listens() noexcept {
  listener const* next = decide_listener();
  return next != nullptr && next->listens();
}

STRATA_DETAIL_OF_MODULE inline constexpr listener bootstrap_listener{
    &bootstrap_begin, &bootstrap_pop, &bootstrap_step_begin, &bootstrap_step_end,
    &no_current,      &no_inherit,    &bootstrap_listens};

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_ANNOTATE_PROCESS_HPP
