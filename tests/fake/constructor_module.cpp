// A library whose constructor calls the function of the program that IN_CONSTRUCTOR has the address
// of: the thread holds the dynamic loader's lock meanwhile.
#include <cstdlib>

namespace {

__attribute__((constructor)) void load() {
  char const* const address = std::getenv("IN_CONSTRUCTOR");
  if (address == nullptr) return;
  reinterpret_cast<void (*)()>(std::strtoull(address, nullptr, 16))();
}

}  // namespace
