#include <strata/version.hpp>
#ifndef STRATA_C_H
#define STRATA_C_H

// Ranges and steps for C99, and for C++ units that may include no C++ header. This header is all
// that they need to compile and link. One C++ source file of the program is the implementation:
//
//   #define STRATA_IMPLEMENTATION
//   #include <strata/strata.hpp>
//
// The calls do nothing without one. With STRATA_ENABLED=0 every call compiles to nothing.

#include <strata/base/macros.hpp>

#if STRATA_ENABLED

/// The implementation's functions for units of C.
struct strata_detail_c_calls {
  void (*push)(char const* name);
  void (*push_indexed)(char const* name, long long index);
  void (*pop)(void);
  void (*step_begin)(void);
  void (*step_end)(void);
};

// A unit of C finds the implementation when it runs, wherever that is: in the program, in a shared
// object, or in libstrata_inject.so. So it links without one.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A variable, null where the environment is of a user with fewer rights than the program.
static inline char const* strata_detail_c_variable(char const* name) {
  return getauxval(AT_SECURE) != 0 ? 0 : getenv(name);
}

/// The beginning of what all copies of Strata in a process share.
struct strata_detail_c_block {
  unsigned abi;
  unsigned size;
  struct strata_detail_c_calls const* calls;
};

// Weak: the units of a program or shared object have one in common.
#define STRATA_DETAIL_C_SHARED __attribute__((weak, visibility("hidden")))

/// What has the implementation, null until a call of this program or shared object has found it.
extern struct strata_detail_c_block const* strata_detail_c_found;
STRATA_DETAIL_C_SHARED struct strata_detail_c_block const* strata_detail_c_found = 0;
/// How many calls idle before the next one looks again.
extern int strata_detail_c_rest;
STRATA_DETAIL_C_SHARED int strata_detail_c_rest = 0;
extern int strata_detail_c_process;
STRATA_DETAIL_C_SHARED int strata_detail_c_process = 0;

static inline void strata_detail_c_nothing(void) {}
static inline void strata_detail_c_no_push(char const* name) { (void)name; }
static inline void strata_detail_c_no_index(char const* name, long long index) {
  (void)name;
  (void)index;
}
extern struct strata_detail_c_calls strata_detail_c_idle;
STRATA_DETAIL_C_SHARED struct strata_detail_c_calls strata_detail_c_idle = {
    strata_detail_c_no_push, strata_detail_c_no_index, strata_detail_c_nothing,
    strata_detail_c_nothing, strata_detail_c_nothing};

/// The block that the process's first copy of Strata has made, null where there is none: see
/// annotate/process.hpp, block_word.
struct strata_detail_c_block const* strata_detail_c_published(void);
STRATA_DETAIL_C_SHARED struct strata_detail_c_block const* strata_detail_c_published(void) {
  char const* const name = (char const*)getauxval(AT_EXECFN);
  struct strata_detail_c_block const* found = 0;
  size_t at = 0;
  if (name == 0) return 0;
  at = (size_t)name + strlen(name) + 1;
  if ((at + sizeof(void*)) % 4096 != 0) return 0;
  found = __atomic_load_n((struct strata_detail_c_block const**)at, __ATOMIC_ACQUIRE);
  return found != 0 && found->abi == STRATA_DETAIL_PROCESS_ABI ? found : 0;
}

/// One in a process, where the linker merges it: only one unit says the sentence.
extern int strata_detail_c_told;
__attribute__((weak, visibility("default"))) int strata_detail_c_told = 0;

void strata_detail_c_tell(void);
STRATA_DETAIL_C_SHARED void strata_detail_c_tell(void) {
  if (strata_detail_c_found != 0 || strata_detail_c_process != (int)getpid()) return;
  if (__atomic_exchange_n(&strata_detail_c_told, 1, __ATOMIC_RELAXED) != 0) return;
  if (strata_detail_c_published() != 0) return; /* a unit of C++ says it */
  fprintf(stderr, "strata: %s\n", STRATA_DETAIL_NO_IMPLEMENTATION);
}

struct strata_detail_c_calls const* strata_detail_c_find(void);
STRATA_DETAIL_C_SHARED struct strata_detail_c_calls const* strata_detail_c_find(void) {
  struct strata_detail_c_block const* const block = strata_detail_c_published();
  struct strata_detail_c_calls const* calls =
      block == 0 ? 0 : __atomic_load_n(&block->calls, __ATOMIC_ACQUIRE);
  char const* const wish = strata_detail_c_variable("STRATA");
  if (calls == 0 && wish != 0 && *wish != '\0') { /* it may still be loaded */
    int nobody = 0;
    if (__atomic_compare_exchange_n(&strata_detail_c_process, &nobody, (int)getpid(), 0,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      atexit(strata_detail_c_tell);
    return &strata_detail_c_idle;
  }
  if (calls == 0) { /* a session in code may come later: the 64th call looks again */
    __atomic_store_n(&strata_detail_c_rest, 64, __ATOMIC_RELAXED);
    return &strata_detail_c_idle;
  }
  __atomic_store_n(&strata_detail_c_found, block, __ATOMIC_RELEASE);
  return calls;
}

static inline struct strata_detail_c_calls const* strata_detail_c(void) {
  struct strata_detail_c_block const* const found =
      __atomic_load_n(&strata_detail_c_found, __ATOMIC_ACQUIRE);
  struct strata_detail_c_calls const* const calls = /* null again when it was unloaded */
      found != 0 ? __atomic_load_n(&found->calls, __ATOMIC_ACQUIRE) : 0;
  int const rest = calls != 0 ? 0 : __atomic_load_n(&strata_detail_c_rest, __ATOMIC_RELAXED);
  if (rest <= 0) return calls != 0 ? calls : strata_detail_c_find();
  __atomic_store_n(&strata_detail_c_rest, rest - 1, __ATOMIC_RELAXED);
  return &strata_detail_c_idle;
}

/// Begins a range that the next `strata_pop` of this thread ends; the name is copied. Cost: an
/// indirect call, two loads and a branch while no session runs; else the name is looked up each
/// time.
static inline void strata_push(char const* name) { strata_detail_c()->push(name); }

/// The same with an index: rows `block[0]`, `block[1]`, ...
static inline void strata_push_indexed(char const* name, long long index) {
  strata_detail_c()->push_indexed(name, index);
}

/// Ends the range that the last push of this thread began.
static inline void strata_pop(void) { strata_detail_c()->pop(); }

/// Begins a step of the program's loop: schedules and counter passes count steps. A step that this
/// thread has left open, by `continue` say, ends first. Threads: one drives the steps.
static inline void strata_step_begin(void) { strata_detail_c()->step_begin(); }

/// Ends the step that this thread began; where there is none it does nothing.
static inline void strata_step_end(void) { strata_detail_c()->step_end(); }

#ifdef __cplusplus
}
#endif

#else

static inline void strata_push(char const* name) { (void)name; }
static inline void strata_push_indexed(char const* name, long long index) {
  (void)name;
  (void)index;
}
static inline void strata_pop(void) {}
static inline void strata_step_begin(void) {}
static inline void strata_step_end(void) {}

#endif

#endif  // STRATA_C_H
