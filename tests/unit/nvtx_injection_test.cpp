// Strata as the tool that NVTX loads, without NVTX: the program's module is one of the tests'.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <strata/base/containers.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <thread>
#include <vector>

#include "nvtx_module.hpp"

namespace nvtx_injection_test {

using nvtx_calls::registered_event;
using nvtx_calls::text_event;
using strata::profile;
using strata::detail::nvtx_injection;
using strata::detail::nvtx_source;
namespace nvtx = strata::detail::nvtx;

namespace {

/// Strata is the tool while this lives.
struct program : nvtx_calls::module {
  program() { REQUIRE(attach(&nvtx_injection::attach) == 1); }
  ~program() {
    strata::detail::block().nvtx_from.store(nvtx_source::none);
    strata::detail::block().nvtx_ignored.store(false);
  }
};

struct recorded : strata::session {
  explicit recorded(std::string const& more = "") : session(read("host,formats=none" + more)) {
    REQUIRE(start().ok());
  }
  static strata::options read(std::string const& text) {
    strata::vec<std::string> problems;
    return strata::options::parse(text, problems);
  }
};

double bytes(profile const& p, std::string const& path) {
  strata::call_tree const tree(p);
  for (strata::range_row const& row : tree.rows())
    if (row.path == path) return row.collective_bytes;
  return -1.0;
}

std::uint64_t calls(profile const& p, std::string const& path) {
  strata::call_tree const tree(p);
  for (strata::range_row const& row : tree.rows()) {
    if (row.path == path) return row.host.count();
  }
  return 0;
}

}  // namespace

TEST_CASE("calls of an attached module are ranges, by themselves") {
  program the;
  recorded s;
  CHECK(the.push("a") == 0);
  CHECK(the.push(L"b") == 1);
  {
    STRATA_RANGE("own");
    CHECK(the.push(text_event("c")) == 2);
    CHECK(the.pop() == 2);
  }
  CHECK(the.pop() == 1);
  CHECK(the.pop() == 0);
  CHECK(the.pop() == nvtx::no_level);
  profile const& p = s.profile();
  CHECK(p.problems.empty());
  CHECK(calls(p, "a") == 1);
  CHECK(calls(p, "a/b") == 1);
  CHECK(calls(p, "a/b/own") == 1);
  CHECK(calls(p, "a/b/own/c") == 1);
}

TEST_CASE("a number at the end of a text is the range's index") {
  using strata::detail::split_index;
  struct {
    char const* text;
    char const* name;
    std::int64_t index;
  } const texts[] = {{"block[3]", "block", 3},
                     {"Train step 120", "Train step", 120},
                     {"model.layers.31", "model.layers", 31},
                     {"layer[0]", "layer", 0},
                     {"nvtx:block[12]", "nvtx:block", 12},
                     {"step 999999999", "step", 999999999},
                     {"step 1234567890", "step 1234567890", strata::no_index},
                     {"v1.5", "v1.5", strata::no_index},
                     {"float16", "float16", strata::no_index},
                     {"fp_16", "fp_16", strata::no_index},
                     {"a[3", "a[3", strata::no_index},
                     {"a[]", "a[]", strata::no_index},
                     {"a 3]", "a 3]", strata::no_index},
                     {"a[-1]", "a[-1]", strata::no_index},
                     {"[3]", "[3]", strata::no_index},
                     {"]", "]", strata::no_index},
                     {"12", "12", strata::no_index},
                     {".5", ".5", strata::no_index},
                     {"", "", strata::no_index}};
  for (auto const& given : texts) {
    CAPTURE(given.text);
    CHECK(split_index(given.text).name == given.name);
    CHECK(split_index(given.text).index == given.index);
  }
  program the;
  recorded s;
  for (int step = 0; step < 3; ++step) {
    the.push(("Train step " + std::to_string(step)).c_str());
    the.push("layers[7]");
    the.pop();
    the.pop();
  }
  profile const& p = s.profile();
  CHECK(calls(p, "Train step[1]") == 1);
  CHECK(calls(p, "Train step[2]/layers[7]") == 1);
}

TEST_CASE("of the metadata behind a name of XLA's the first value stays") {
  struct {
    char const* text;
    char const* name;
  } const texts[] = {{"XlaModule:#hlo_module=jit_update,program_id=4634#", "XlaModule:jit_update"},
                     {"Thunk:#hlo_op=fusion_3,unique_hlo_op_id=8589934593#", "Thunk:fusion_3"},
                     {"XlaCompile:#module=jit_stage#", "XlaCompile:jit_stage"},
                     {"Execute:#a=,b=2#", "Execute:"},
                     {"Execute:##", "Execute:##"},
                     {"Execute:#key#", "Execute:#key#"},
                     {"#key=value#", "#key=value#"},
                     {"a:#b=c", "a:#b=c"},
                     {"C#", "C#"},
                     {"#", "#"},
                     {":#=#", ":"}};
  program the;
  recorded s;
  auto const domain = the.create("TSL");
  for (auto const& given : texts) {
    the.push(given.text);
    the.pop();
    the.push(domain, text_event(given.text));
    the.pop(domain);
    the.push(domain, registered_event(the.enlist(domain, given.text)));
    the.pop(domain);
  }
  // What is cut has no metadata behind it any more; what is long by its metadata is not cut.
  std::string const long_name = std::string(2000, 'x') + ":#a=b#";
  the.push(long_name.c_str());
  the.pop();
  std::string const long_metadata = "Thunk:#hlo_op=add,source=" + std::string(2000, 'x') + "#";
  the.push(long_metadata.c_str());
  the.pop();
  profile const& p = s.profile();
  CHECK(calls(p, "Thunk:add") == 1);
  for (auto const& given : texts) {
    CAPTURE(given.text);
    CHECK(calls(p, given.name) == 1);
    CHECK(calls(p, std::string("TSL:") + given.name) == 2);
  }
  CHECK(calls(p, std::string(strata::detail::name_table::longest - 3, 'x') + "\u2026") == 1);
}

TEST_CASE("domains and strings are distinguished by their texts") {
  program the;
  recorded s;
  auto const one = the.create("one");
  auto const two = the.create(L"two");
  CHECK(one != two);
  CHECK(one == the.create("one"));
  auto const name = the.enlist(one, "name");
  CHECK(name == the.enlist(one, L"name"));
  CHECK(name != the.enlist(two, "name"));
  CHECK(the.push(one, registered_event(name)) == 0);
  CHECK(the.push(two, registered_event(the.enlist(two, "name"))) == 1);
  CHECK(the.pop(nullptr) == nvtx::no_level);
  CHECK(the.pop(two) == 1);
  CHECK(the.pop(one) == 0);
  the.mark(one, registered_event(name));
  the.mark(registered_event(nullptr));
  profile const& p = s.profile();
  CHECK(calls(p, "one:name") == 1);
  CHECK(calls(p, "one:name/two:name") == 1);
  REQUIRE(p.spans.size() == 2);
  CHECK(p.names[p.spans[0].name] == "name");
  CHECK(p.names[p.spans[0].domain] == "one");
  CHECK(p.names[p.spans[1].name] == "[no text]");
  CHECK(p.spans[1].domain == 0);
}

TEST_CASE("start and end have numbers of their own") {
  program the;
  recorded s;
  auto const domain = the.create("d");
  auto const a = the.start("a");
  auto const b = the.start(L"b");
  auto const c = the.start(text_event("c"));
  auto const d = the.start(domain, text_event("d"));
  std::vector<nvtx::range_id> const ids{a, b, c, d};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(ids[i] != ids[j]);
  }
  the.end(domain, d);
  the.end(b);
  std::thread([&] { the.end(a); }).join();
  the.end(0);
  profile const& p = s.profile();
  REQUIRE(p.spans.size() == 3);
  CHECK(p.names[p.spans[0].name] == "a");
  CHECK(p.names[p.spans[1].name] == "b");
  CHECK(p.names[p.spans[2].name] == "d");
  CHECK(p.spans[0].thread != p.spans[0].end_thread);
  CHECK(p.losses.spans_left_open == 1);
}

TEST_CASE("nvtx=off and nvtx=out leave NVTX alone, and no session hears nothing") {
  program the;
  CHECK(the.push("outside") == 0);
  for (char const* const way : {",nvtx=off", ",nvtx=out"}) {
    recorded s(way);
    the.push("x");
    the.mark("x");
    the.end(the.start("x"));
    the.pop();
    profile const& p = s.profile();
    CHECK(calls(p, "x") == 0);
    CHECK(p.spans.empty());
  }
  CHECK(the.pop() == 0);
}

TEST_CASE("nvtx=in asks for nothing more where Strata is the tool") {
  program the;
  recorded s(",nvtx=in");
  the.push("x");
  the.pop();
  CHECK(s.profile().problems.empty());
  CHECK(calls(s.profile(), "x") == 1);
  CHECK(std::getenv("NVTX_INJECTION64_PATH") == nullptr);
}

TEST_CASE("spans beyond the memory limit are counted") {
  program the;
  recorded s(",log=1");
  constexpr int many = 100'000;
  for (int i = 0; i < many; ++i) the.mark("m");
  profile const& p = s.profile();
  CHECK(p.spans.size() > 10'000);
  CHECK(p.spans.size() < many);
  CHECK(p.spans.size() + p.losses.spans_dropped == many);
}

TEST_CASE("more open ranges than a thread may have") {
  program the;
  recorded s;
  std::thread([&] {
    constexpr int most = 1 << 20;
    int wrong = 0;
    for (int i = 0; i < most; ++i) wrong += the.push("deep") != i;
    CHECK(wrong == 0);
    CHECK(the.push("one more") == nvtx::no_level);
    CHECK(the.push("one more") == nvtx::no_level);
    CHECK(the.pop() == nvtx::no_level);
    CHECK(the.pop() == nvtx::no_level);
    CHECK(the.pop() == most - 1);
    CHECK(the.push("again") == most - 1);
  }).join();
}

TEST_CASE("a schema says where a payload of NCCL has the bytes, else the layouts that it has had") {
  program the;
  std::intptr_t slots[8] = {};
  nvtx::extension_segment segment{0, 8, slots};
  nvtx::extension extension{};
  extension.struct_size = sizeof extension;
  extension.which = nvtx::payload_extension;
  extension.segment_count = 1;
  extension.segments = &segment;
  REQUIRE(nvtx_injection::attach_extension(&extension) == 1);
  REQUIRE(slots[0] != 0);
  auto const add_schema =
      reinterpret_cast<std::uint64_t (*)(void const*, nvtx::schema const*)>(slots[0]);
  auto const nccl = the.create("NCCL");
  auto const other = the.create("other");
  auto const reduce = the.enlist(nccl, "ncclAllReduce");
  auto const foreign = the.enlist(other, "ncclAllReduce");
  constexpr std::uint64_t first = nvtx::first_schema;
  constexpr std::uint64_t gather = first + 4, all_reduce = first + 5, split = first + 13;
  constexpr std::uint64_t unheard = first + 40;
  // Of a later NCCL: the bytes are the third.
  std::uint64_t const later[] = {1, 2, 3000, 4};
  nvtx::schema_entry const entries[] = {
      {0, nvtx::uint64_entry, "communicator", nullptr, 0, 0, nullptr, nullptr},
      {0, nvtx::uint64_entry, "rank", nullptr, 0, 8, nullptr, nullptr},
      {0, nvtx::size_entry, "Message size [bytes]", nullptr, 0, 16, nullptr, nullptr}};
  nvtx::schema schema{};
  schema.entries = entries;
  schema.entry_count = 3;
  schema.size = sizeof later;
  schema.id = unheard;
  std::uint64_t const bare[] = {500};
  std::uint64_t const older[] = {7000, 1};
  std::uint64_t const newer[] = {0xABCDEF, 20'000, 1};
  recorded s;
  auto const call = [&](nvtx_calls::domain in, nvtx_calls::string name, std::uint64_t which,
                        std::size_t size, void const* data) {
    nvtx::payload_data const payload{which, size, data};
    the.push(in, nvtx_calls::described_event(name, payload));
    the.pop(in);
  };
  std::uint64_t expected = 0;
  {
    STRATA_RANGE("step");
    call(nccl, reduce, unheard, sizeof later, later);  // nothing is known of it yet
    CHECK(add_schema(other, &schema) == unheard);      // another library's
    call(nccl, reduce, unheard, sizeof later, later);
    CHECK(add_schema(nccl, &schema) == unheard);
    call(nccl, reduce, unheard, sizeof later, later);
    call(nccl, reduce, unheard, 16, later);  // too short for it
    expected += 3000;
    call(nccl, reduce, gather, sizeof bare, bare);
    call(nccl, reduce, gather, 16, newer);
    expected += 500 + 20'000;
    call(nccl, reduce, all_reduce, sizeof older, older);
    call(nccl, reduce, all_reduce, sizeof newer, newer);
    expected += 7000 + 20'000;
    call(nccl, reduce, split, sizeof newer, newer);  // has none
    call(nccl, reduce, all_reduce, 4, newer);
    call(nccl, reduce, all_reduce, sizeof newer, nullptr);
    call(nccl, reduce, all_reduce, ~std::size_t{0}, newer);
    call(nccl, reduce, 5, sizeof newer, newer);
    call(other, foreign, all_reduce, sizeof newer, newer);
    nvtx::event none = registered_event(reduce);
    none.payload_kind = nvtx::extended_payload;
    the.push(nccl, none);
    the.pop(nccl);
  }
  CHECK(add_schema(nccl, nullptr) == 0);
  profile const& p = s.profile();
  CHECK(calls(p, "step/NCCL:ncclAllReduce") == 14);
  CHECK(bytes(p, "step/NCCL:ncclAllReduce") == static_cast<double>(expected));
  CHECK(bytes(p, "step") == static_cast<double>(expected));
  CHECK(bytes(p, "") == static_cast<double>(expected));
  CHECK(std::isnan(bytes(p, "step/other:ncclAllReduce")));
  strata::call_tree const tree(p);
  for (strata::range_row const& row : tree.rows()) CHECK(std::isnan(row.bytes));
}

TEST_CASE("what is no NVTX is refused") {
  CHECK(nvtx_injection::attach(nullptr) == 0);
  CHECK(nvtx_injection::attach([](std::uint32_t) -> void const* { return nullptr; }) == 0);
  CHECK(nvtx_injection::attach([](std::uint32_t) -> void const* {
          static nvtx::export_callbacks const small{8, nullptr};
          return &small;
        }) == 0);
  CHECK(nvtx_injection::attach([](std::uint32_t) -> void const* {
          static nvtx::export_callbacks const without{
              sizeof(nvtx::export_callbacks),
              [](nvtx::module_id, nvtx::function***, unsigned*) { return 0; }};
          return &without;
        }) == 0);
  // A table that is shorter than today's is filled as far as it goes.
  CHECK(nvtx_injection::attach([](std::uint32_t) -> void const* {
          static nvtx::export_callbacks const older{
              sizeof(nvtx::export_callbacks),
              [](nvtx::module_id, nvtx::function*** to, unsigned* last) {
                static nvtx::function functions[3] = {};
                static nvtx::function* table[3] = {&functions[0], &functions[1], &functions[2]};
                *to = table;
                *last = 2;
                return 1;
              }};
          return &older;
        }) == 1);
  strata::detail::block().nvtx_from.store(nvtx_source::none);
}

}  // namespace nvtx_injection_test
