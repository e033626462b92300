// The word by which the parts of a program find each other.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <strata/annotate/process.hpp>

#include <sys/mman.h>

namespace process_block_test {

using strata::detail::is_block;
using strata::detail::process_block;

TEST_CASE("what is not the address of a block is not followed") {
  CHECK(is_block(&strata::detail::block()));
  auto const is_block_at = [](std::uintptr_t word) {
    return is_block(reinterpret_cast<process_block const*>(word));
  };
  CHECK_FALSE(is_block_at(reinterpret_cast<std::uintptr_t>(&strata::detail::block()) + 1));
  CHECK_FALSE(is_block_at(8));
  std::uintptr_t text = 0;
  std::memcpy(&text, "PATH=/us", sizeof text);
  CHECK_FALSE(is_block_at(text));

  auto* const pages = static_cast<unsigned char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  auto const at = reinterpret_cast<std::uintptr_t>(pages);
  CHECK_FALSE(is_block_at(at));  // zeros
  auto const write = [&](std::uint32_t abi, std::uint32_t size) {
    std::memcpy(pages, &abi, sizeof abi);
    std::memcpy(pages + sizeof abi, &size, sizeof size);
    return is_block_at(at);
  };
  CHECK(write(strata::detail::process_abi, sizeof(process_block)));
  CHECK_FALSE(write(strata::detail::process_abi, sizeof(process_block) + 8));
  CHECK(write(strata::detail::process_abi + 1'000'000, sizeof(process_block) + 8));  // a later one
  CHECK_FALSE(write(7, 100));
  REQUIRE(munmap(pages, 8192) == 0);
  CHECK_FALSE(is_block_at(at));
}

}  // namespace process_block_test
