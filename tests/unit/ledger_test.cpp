// Synthetic counts with ledgers computed by hand. Bytes of one step.
#include "analyse/ledger.hpp"
#include <doctest/doctest.h>
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sample_profile.hpp"

namespace ledger_test {

using namespace strata;

namespace {

/// A step with ranges below the root, and what was counted in each.
struct counted_step {
  vec<range_row> rows{1};
  steps_summary steps;
  counter_table counters;
  double l2_size = 0;

  counted_step() {
    for (char const* key : {"hbm_read_bytes", "hbm_write_bytes", "hbm_bytes", "l2_bytes",
                            "l1_bytes", "l2_read_sectors", "l2_write_sectors", "l2_atomic_sectors",
                            "l1_global_load_sectors", "l1_global_load_requests",
                            "l1_global_store_sectors", "global_load_bytes", "global_store_bytes"}) {
      counter_metric made;
      made.key = key;
      counters.metrics.push_back(std::move(made));
    }
    counters.rows = 1;
    counters.values.resize(counters.metrics.size() * 2);
  }
  std::size_t add(std::string const& path, int calls = 1, std::uint32_t depth = 1) {
    range_row made;
    made.path = path;
    made.depth = depth;
    for (int i = 0; i < calls; ++i) made.host.add(10);
    rows.push_back(made);
    counters.rows = rows.size();
    counters.values.resize(counters.rows * counters.metrics.size() * 2);
    return rows.size() - 1;
  }
  void set(std::size_t row, char const* key, double value) {
    std::size_t const at = counters.find(key);
    REQUIRE(at != counter_table::none);
    counters.values[(row * counters.metrics.size() + at) * 2 + 1].value = value;
  }
  /// Of a range, and added to the step.
  void hbm(std::size_t row, double read, double write) {
    set(row, "hbm_read_bytes", read);
    set(row, "hbm_write_bytes", write);
    set(row, "hbm_bytes", read + write);
    all += read + write;
    set(0, "hbm_bytes", all);
  }
  byte_ledger ledger(vec<byte_need> const& needs) const {
    return make_ledger(rows, steps, &counters, needs, l2_size);
  }
  double all = 0;
};

byte_need need(char const* path, double weights, double activations, double written = 0) {
  byte_need made;
  made.path = path;
  made.weights = weights;
  made.activations = activations;
  made.written = written;
  return made;
}

double of(ledger_row const& row, std::string_view name) {
  double sum = 0;
  for (ledger_residual const& each : row.residuals)
    if (each.name == name) sum += each.bytes;
  return sum;
}

llm::model small_model() {
  llm::model m;
  m.width = 64;
  m.vocabulary = 1000;
  m.kinds[0].count = 3;
  m.kinds[0].heads = m.kinds[0].kv_heads = 4;
  m.kinds[0].head_size = 16;
  m.kinds[0].ffn = 256;
  return m;
}

/// Need, residuals and the rest are what was counted.
void adds_up(byte_ledger const& made) {
  auto const check = [](ledger_row const& row) {
    double sum = row.need_bytes + row.unexplained_bytes;
    for (ledger_residual const& each : row.residuals) sum += each.bytes;
    CHECK(sum == doctest::Approx(row.hbm_bytes));
  };
  for (ledger_row const& each : made.rows) check(each);
  check(made.step);
}

}  // namespace

TEST_CASE("what was counted is what the model needs: nothing is left") {
  counted_step s;
  std::size_t const mlp = s.add("block[*]/mlp", 32);
  s.hbm(mlp, 900e6, 110e6);
  byte_ledger const made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  REQUIRE(made.rows.size() == 1);
  CHECK(made.rows[0].by_model);
  CHECK(made.rows[0].need_bytes == 1000e6);
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(10e6));
  CHECK(made.unexplained_share == doctest::Approx(10.0 / 1010));
  CHECK(made.closes);
  CHECK(made.step.need.weights == 800e6);
  adds_up(made);
}

TEST_CASE("re-reads: L2 was asked for more than the need and did not keep it") {
  counted_step s;
  std::size_t const mlp = s.add("mlp");
  s.hbm(mlp, 1500e6, 100e6);
  s.set(mlp, "l2_read_sectors", 4000e6 / 32);
  s.set(mlp, "l2_write_sectors", 100e6 / 32);
  byte_ledger made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  CHECK(of(made.rows[0], "re-reads") == doctest::Approx(600e6));
  CHECK(made.rows[0].residuals.size() == 1);
  CHECK(made.closes);
  adds_up(made);
  // L2 was asked for 1000e6 - 100e6 and 200e6 more: no more can have been read again.
  s.set(mlp, "l2_read_sectors", 1100e6 / 32);
  made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  CHECK(of(made.rows[0], "re-reads") == doctest::Approx(200e6));
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(400e6));
  CHECK_FALSE(made.closes);
  CHECK(made.verdict ==
        "the sum does not close: 25.0 % of the counted bytes is unexplained, most of it in mlp");
  adds_up(made);
  made = s.ledger({need("mlp", 4800e6, 200e6, 100e6)});
  CHECK(made.unexplained_share > 1.0);
  CHECK(made.verdict.find(" times the counted bytes is unexplained") != std::string::npos);
  CHECK(made.verdict.find(" %") == std::string::npos);
}

TEST_CASE("workspace and split-K: more is written than the result, and read again") {
  for (bool const atomics : {false, true}) {
    counted_step s;
    std::size_t const mlp = s.add("mlp");
    s.hbm(mlp, 900e6 + 300e6, 100e6 + 300e6);
    s.set(mlp, "l2_write_sectors", (atomics ? 100e6 : 400e6) / 32);
    if (atomics) s.set(mlp, "l2_atomic_sectors", 300e6 / 32);
    byte_ledger const made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
    CHECK(of(made.rows[0], atomics ? "split-K" : "workspace") == doctest::Approx(600e6));
    CHECK(made.rows[0].residuals.size() == 1);
    adds_up(made);
  }
}

TEST_CASE("write-back: device memory is written with what an earlier range stored") {
  counted_step s;
  std::size_t const mlp = s.add("mlp");
  s.hbm(mlp, 900e6, 250e6);
  s.set(mlp, "l2_write_sectors", 100e6 / 32);
  byte_ledger const made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  CHECK(of(made.rows[0], "write-back") == doctest::Approx(150e6));
  CHECK(made.rows[0].residuals.size() == 1);
  adds_up(made);
}

TEST_CASE("uncoalesced: sectors that no thread asked for, by bytes or by sectors a request") {
  counted_step s;
  std::size_t const mlp = s.add("mlp");
  s.hbm(mlp, 2000e6, 100e6);
  s.set(mlp, "l1_global_load_sectors", 2000e6 / 32);
  s.set(mlp, "global_load_bytes", 1000e6);
  byte_ledger made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  CHECK(of(made.rows[0], "uncoalesced") == doctest::Approx(1000e6));  // half of what was read
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(100e6));
  adds_up(made);
  // Without the bytes that threads asked for: 32 sectors a request are twice the most of use.
  s.set(mlp, "global_load_bytes", std::nan(""));
  s.set(mlp, "l1_global_load_requests", 2000e6 / 32 / 32);
  made = s.ledger({need("mlp", 800e6, 200e6, 100e6)});
  CHECK(of(made.rows[0], "uncoalesced") == doctest::Approx(1000e6));
  s.set(mlp, "l1_global_load_requests", 2000e6 / 32 / 16);  // 16 bytes a thread
  CHECK(s.ledger({need("mlp", 800e6, 200e6, 100e6)}).rows[0].residuals.empty());
}

TEST_CASE("less than the need: activations stay in L2, weights only where all fits") {
  counted_step s;
  std::size_t const mlp = s.add("mlp");
  s.hbm(mlp, 700e6, 0);
  byte_ledger made = s.ledger({need("mlp", 800e6, 200e6)});
  CHECK(of(made.rows[0], "kept in L2") == doctest::Approx(-200e6));
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(-100e6));  // weights have to be read
  CHECK_FALSE(made.closes);
  adds_up(made);
  s.l2_size = 2000e6;
  made = s.ledger({need("mlp", 800e6, 200e6)});
  CHECK(of(made.rows[0], "kept in L2") == doctest::Approx(-300e6));
  CHECK(made.closes);
  adds_up(made);
}

TEST_CASE("less than what is declared: what L2 holds in each call, and was asked for") {
  counted_step s;
  std::size_t const gelu = s.add("gelu", 12);
  s.rows[gelu].bytes = 72e6;
  s.hbm(gelu, 1e6, 16e6);
  s.l2_size = 60e6;
  byte_ledger made = s.ledger({});  // 6e6 a call
  CHECK(of(made.rows[0], "kept in L2") == doctest::Approx(-55e6));
  CHECK(made.closes);
  adds_up(made);
  s.l2_size = 2e6;
  made = s.ledger({});
  CHECK(of(made.rows[0], "kept in L2") == doctest::Approx(-24e6));
  CHECK_FALSE(made.closes);
  adds_up(made);
  // A declaration of too much: L2 was asked for no more than 40e6, of which HBM moved 17e6.
  s.l2_size = 60e6;
  s.set(gelu, "l2_read_sectors", 20e6 / 32);
  s.set(gelu, "l2_write_sectors", 20e6 / 32);
  made = s.ledger({});
  CHECK(of(made.rows[0], "kept in L2") == doctest::Approx(-23e6));
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(-32e6));
  adds_up(made);
}

TEST_CASE("ranges that match one need share it, a range above others has none, the rest is named") {
  counted_step s;
  std::size_t const block = s.add("block[*]", 32, 1);
  std::size_t const one = s.add("block[*]/attention", 24, 2);
  std::size_t const two = s.add("cross/attention", 8, 1);
  s.rows[block].bytes = 5e9;  // what the parts below declare again
  s.hbm(one, 300e6, 0);
  s.hbm(two, 100e6, 0);
  s.set(0, "hbm_bytes", 450e6);
  byte_ledger const made = s.ledger({need("attention", 400e6, 0)});
  REQUIRE(made.rows.size() == 3);
  CHECK(made.rows[0].need_bytes == doctest::Approx(300e6));
  CHECK(made.rows[1].need_bytes == doctest::Approx(100e6));
  CHECK(made.rows[2].path == "(other ranges)");
  CHECK(made.rows[2].hbm_bytes == doctest::Approx(50e6));
  CHECK(made.unexplained_share == doctest::Approx(50.0 / 450));
  adds_up(made);
  // A need of the whole step covers them.
  byte_ledger const whole = s.ledger({need("attention", 400e6, 0), need("", 440e6, 0)});
  CHECK(whole.rows[2].need_bytes == doctest::Approx(40e6));
  CHECK(whole.unexplained_share == doctest::Approx(10.0 / 450));
  CHECK(whole.closes);
}

TEST_CASE("a range without a need of the model has what it declares") {
  counted_step s;
  std::size_t const norm = s.add("norm");
  s.rows[norm].bytes = 90e6;
  s.hbm(norm, 50e6, 50e6);
  byte_ledger const made = s.ledger({});
  REQUIRE(made.rows.size() == 1);
  CHECK_FALSE(made.rows[0].by_model);
  CHECK(made.rows[0].need_bytes == 90e6);
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(10e6));
  adds_up(made);
}

TEST_CASE("without counts the ledger says what to run") {
  counted_step s;
  s.add("mlp");
  byte_ledger const made = s.ledger({need("mlp", 1, 1)});
  CHECK(made.rows.empty());
  CHECK_FALSE(made.closes);
  CHECK(ledger_text(made) ==
        "no bytes of device memory were counted: run with "
        "counters=memory+instructions+l2_atomic_sectors\n");
}

TEST_CASE("where nothing has a need the ledger says so") {
  counted_step s;
  s.hbm(s.add("mlp"), 1e6, 0);
  byte_ledger const made = s.ledger({});
  CHECK_FALSE(made.closes);
  CHECK(made.verdict ==
        "no range has a need: give ranges bytes() or a cost as attribute, or needs of a model");
  REQUIRE(made.rows.size() == 1);
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(1e6));
  CHECK(s.ledger({need("mlp", 1e6, 0)}).closes);
}

TEST_CASE("the table and the JSON rows") {
  counted_step s;
  std::size_t const mlp = s.add("mlp");
  double const mib = 1024 * 1024;
  s.hbm(mlp, 12 * mib, 2 * mib);
  s.set(mlp, "l2_bytes", 40 * mib);
  s.set(mlp, "l2_read_sectors", 38 * mib / 32);
  s.set(mlp, "l2_write_sectors", 2 * mib / 32);
  byte_ledger const made = s.ledger({need("mlp", 8 * mib, 4 * mib, 2 * mib)});
  CHECK(
      ledger_text(made) ==
      "range                 need    declared         HBM          L2          L1  HBM beside the "
      "need\n"
      "mlp               12.0 MiB           -    14.0 MiB    40.0 MiB           -  re-reads +2.00 "
      "MiB, unexplained 0 B\n"
      "step              12.0 MiB           -    14.0 MiB           -           -  re-reads +2.00 "
      "MiB, unexplained 0 B\n"
      "the sum closes: 0.0 % of the counted bytes is unexplained\n");
  nlohmann::json const rows = nlohmann::json::parse(ledger_json(made));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["path"] == "mlp");
  CHECK(rows[0]["weight_bytes"] == 8 * mib);
  CHECK(rows[0]["residuals"][0]["name"] == "re-reads");
  CHECK(rows[0]["residuals"][0]["bytes"] == 2 * mib);
  CHECK(rows[0]["l1_bytes"].is_null());
  CHECK(rows[1]["path"] == "");
}

TEST_CASE("a path does no harm on a terminal") {
  counted_step s;
  s.hbm(s.add("\x1b[31mmlp\n"), 1e6, 0);
  std::string const text = ledger_text(s.ledger({need("*mlp*", 0.5e6, 0)}));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\n\\x1b[31mmlp\\n ") != std::string::npos);
  CHECK(text.find("most of it in \\x1b[31mmlp\\n\n") != std::string::npos);
}

TEST_CASE("the needs of a model are those of its parts") {
  llm::model const m = small_model();
  llm::pass const p = llm::decode(2, 100);
  vec<byte_need> const needs = needs_of(m, p);
  REQUIRE(needs.size() == 4);
  CHECK(needs[1].all() == doctest::Approx(3 * llm::attention(m, p).bytes()));
  CHECK(needs[2].weights == doctest::Approx(3 * llm::mlp(m, p).weight_bytes));
  CHECK(needs[3].all() == doctest::Approx(llm::head(m, p).bytes()));
  CHECK(needs[3].logits == doctest::Approx(2 * 1000 * m.bits.logits / 8));
}

TEST_CASE("the need of the head goes to the ranges of that name, not to heads of attention") {
  llm::model const m = small_model();
  llm::pass const p = llm::decode(2, 100);
  for (char const* name : {"lm_head", "head", "decode/head[*]"}) {
    CAPTURE(name);
    counted_step s;
    std::size_t const attention = s.add("attention[*]", 3);
    s.add("attention[*]/head", 12, 2);
    s.add("attention[*]/head[*]", 12, 2);
    s.add("attention[*]/rotary/embedding", 3, 2);
    s.add("overhead", 3);
    s.add("multi_head", 3);
    s.hbm(attention, 5e6, 0);
    s.hbm(s.add(name), 1e6, 0);
    byte_ledger const made = s.ledger(needs_of(m, p));
    REQUIRE(made.rows.size() == 2);
    CHECK(made.rows[0].path == "attention[*]");
    CHECK(made.rows[0].need_bytes == doctest::Approx(3 * llm::attention(m, p).bytes()));
    CHECK(made.rows[1].path == name);
    CHECK(made.rows[1].need_bytes == doctest::Approx(llm::head(m, p).bytes()));
  }
}

TEST_CASE("a need within a range of another need leaves that one without a row") {
  counted_step s;
  std::size_t const block = s.add("block", 1, 1);
  std::size_t const inner = s.add("block/mlp", 1, 2);
  std::size_t const own = s.add("block/norm", 1, 2);
  s.hbm(inner, 100e6, 0);
  s.hbm(own, 40e6, 0);
  s.set(block, "hbm_bytes", 140e6);
  byte_ledger const made = s.ledger({need("block", 140e6, 0), need("mlp", 100e6, 0)});
  REQUIRE(made.rows.size() == 2);
  CHECK(made.rows[0].path == "block/mlp");
  CHECK(made.rows[0].need_bytes == doctest::Approx(100e6));  // its own alone
  CHECK(made.rows[1].path == "(other ranges)");
  CHECK(made.rows[1].need_bytes == 0);  // that of the block is not split up
  CHECK(made.rows[1].hbm_bytes == doctest::Approx(40e6));
  CHECK_FALSE(made.closes);
  adds_up(made);
  // The rest of the block's need is declared in a separate range.
  byte_ledger const apart = s.ledger({need("norm", 40e6, 0), need("mlp", 100e6, 0)});
  REQUIRE(apart.rows.size() == 2);
  CHECK(apart.closes);
  adds_up(apart);
}

TEST_CASE("alternatives of a need are whole names or patterns") {
  counted_step s;
  s.hbm(s.add("ffn"), 1e6, 0);
  s.hbm(s.add("block[*]/mlp"), 1e6, 0);
  s.hbm(s.add("premlp"), 1e6, 0);
  byte_ledger const made = s.ledger({need("ffn||block[*]/mlp|", 2e6, 0)});
  REQUIRE(made.rows.size() == 3);
  CHECK(made.rows[0].path == "ffn");
  CHECK(made.rows[1].path == "block[*]/mlp");
  CHECK(made.rows[2].path == "(other ranges)");
}

/// Four steps of one range that declares 1000 bytes.
static sample::maker declared_steps(double read, double written) {
  sample::maker p;
  std::uint32_t const mlp = p.node(0, "mlp");
  p.made.traced = p.made.has_steps = true;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::int64_t const begin = 1000 * i;
    p.made.steps.push_back({begin, begin + 900, i, 0});
    range_record& call = p.call(mlp, begin + 10, begin + 800);
    call.step = i;
    p.describe(call).bytes = 1000;
  }
  p.made.end = 4000;
  counter_set& set = p.made.add_counters(counter_set::gpu);
  set.passes = set.passes_done = 1;
  set.metrics = resolve_metrics(expand_metrics("hbm"), [](std::string const&) { return true; });
  set.names = set.metrics.counters();
  auto const count = [&](char const* name, double value) {
    auto const at = static_cast<std::uint32_t>(set.names.index_of(name));
    REQUIRE(at < set.names.size());
    set.values.push_back({mlp, at, value});
  };
  count("dram__bytes_read.sum", read);
  count("dram__bytes_write.sum", written);
  return p;
}

TEST_CASE("from a profile: counts of one step, declared bytes of a mean one") {
  sample::maker const p = declared_steps(900, 140);
  byte_ledger const made = make_ledger(p.made, {});
  REQUIRE(made.rows.size() == 1);
  CHECK(made.rows[0].declared_bytes == 1000);
  CHECK(made.rows[0].hbm_bytes == 1040);
  CHECK(made.rows[0].unexplained_bytes == doctest::Approx(40));
  CHECK(made.closes);
}

TEST_CASE("from a profile: what L2 kept is bounded by the L2 of the devices that worked") {
  sample::maker p = declared_steps(100, 0);
  for (std::uint64_t const bytes : {1000u, 300u}) {
    profile_device device;
    device.ordinal = static_cast<std::uint32_t>(p.made.environment.devices.size());
    device.l2_bytes = bytes;
    p.made.environment.devices.push_back(device);
  }
  p.kernel(p.launch(1, 20, 30), 40, 50).device = 1;
  byte_ledger const made = make_ledger(p.made, {});
  REQUIRE(made.rows.size() == 1);
  REQUIRE(made.rows[0].residuals.size() == 1);
  CHECK(made.rows[0].residuals[0].bytes == -300);
}

}  // namespace ledger_test
