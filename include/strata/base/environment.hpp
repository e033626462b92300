#ifndef STRATA_BASE_ENVIRONMENT_HPP
#define STRATA_BASE_ENVIRONMENT_HPP

#include <strata/base/macros.hpp>

#include <cstdlib>
#include <cstring>

#include <sys/auxv.h>
#include <unistd.h>

STRATA_BEGIN_LIGHT
namespace detail {

/// Whether the program has more rights than the user who began it: setuid, setgid, or capabilities
/// of its file. Its environment is that user's.
inline bool has_foreign_environment() noexcept { return getauxval(AT_SECURE) != 0; }

/// A variable of the environment; null where it is unset, or where the environment is not to be
/// trusted. All of Strata reads the environment here.
inline char const* variable(char const* name) noexcept {
  return has_foreign_environment() ? nullptr : std::getenv(name);
}

/// The same, null where it is empty.
inline char const* filled_variable(char const* name) noexcept {
  char const* const value = variable(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

/// Gives a variable a value, or with null takes it away. Unlike setenv it frees nothing that getenv
/// of another thread may be reading: the old list of variables stays as it is. Threads: any that
/// does not meet a setenv. Returns: false where memory is short.
STRATA_DETAIL_OF_MODULE inline bool set_variable(char const* name, char const* value) noexcept {
  std::size_t const length = std::strlen(name);
  std::size_t const size = value == nullptr ? 0 : std::strlen(value) + 1;
  std::size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  std::size_t const list_size = (count + 3) * sizeof(char*);
  auto** const block = static_cast<char**>(std::malloc(list_size + length + 1 + size));
  if (block == nullptr) return false;
  auto* const entry = reinterpret_cast<char*>(block) + list_size;  // behind the list
  std::memcpy(entry, name, length);
  entry[length] = '=';
  if (value != nullptr) std::memcpy(entry + length + 1, value, size);
  static char** latest = nullptr;  // whoever drops the list or the entry: no leak
  *block = reinterpret_cast<char*>(__atomic_exchange_n(&latest, block, __ATOMIC_ACQ_REL));
  char** const all = block + 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    char* const old = environ[i];
    if (std::strncmp(old, entry, length + 1) != 0) all[kept++] = old;
  }
  if (value != nullptr) all[kept++] = entry;
  all[kept] = nullptr;
  __atomic_store_n(&environ, all, __ATOMIC_RELEASE);
  return true;
}

/// Takes a variable away where its text is this one. No memory is allocated: fit for a forked
/// child, where no other thread reads the list.
inline void drop_variable(char const* text) noexcept {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strcmp(*entry, text) != 0) continue;
    for (char** at = entry; (*at = at[1]) != nullptr; ++at) continue;
    return;
  }
}

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_ENVIRONMENT_HPP
