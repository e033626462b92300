// Each column of the CSV files has its own amount: in these samples no two columns are equal, so
// that a swapped one changes a golden file.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/csv.hpp>
#include "analyse/column_meanings.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../word_list.hpp"
#include "report_sample.hpp"

namespace columns_test {

using namespace report_test;

namespace {

/// Another number each time, far from the others.
struct distinct_numbers {
  std::uint64_t last = 1000;

  template <class Integer>
  void next(Integer& to) {
    last += 37;
    to = static_cast<Integer>(last);
  }
};

/// Calls of 101, 203, ... ns: minimum, quantiles, mean and deviation differ.
duration_statistics distinct_durations(std::int64_t first) {
  duration_statistics made;
  for (std::int64_t i = 0; i < 40; ++i) made.add(first + 3 * i * i);
  return made;
}

void fill(device_work& work, distinct_numbers& numbers) {
  numbers.next(work.launches);
  numbers.next(work.launch_ns);
  numbers.next(work.kernels);
  numbers.next(work.kernel_ns);
  numbers.next(work.copies);
  numbers.next(work.copy_ns);
  numbers.next(work.host_to_device_bytes);
  numbers.next(work.device_to_host_bytes);
  numbers.next(work.device_to_device_bytes);
  numbers.next(work.other_bytes);
  numbers.next(work.set_bytes);
  numbers.next(work.synchronizations);
  numbers.next(work.synchronization_ns);
  numbers.next(work.allocations);
  numbers.next(work.allocated_bytes);
  numbers.next(work.releases);
  numbers.next(work.released_bytes);
  numbers.next(work.graph_kernels);
  numbers.next(work.graph_kernel_ns);
  numbers.next(work.adopted_kernels);
  numbers.next(work.adopted_ns);
  work.peer_copies = work.copies + 1'000'000;
  work.peer_bytes = work.peer_copies + 1;
  work.peer_ns = work.copy_ns + 2'000'000;
}

range_row distinct_range(distinct_numbers& numbers) {
  range_row row;
  row.parent = 1;
  row.depth = 2;
  row.name = "attention";
  row.index = 5;
  row.path = "block/attention[5]";
  row.path_id = 17;
  row.host = distinct_durations(101);
  numbers.next(row.host_total_ns);
  numbers.next(row.host_self_ns);
  row.other_threads_ns = 987'654;
  row.thread = "thread loader";
  numbers.next(row.first_step_calls);
  numbers.next(row.first_step_host_ns);
  numbers.next(row.first_step_tokens);
  row.step_share = 0.75;
  fill(row.self, numbers);
  fill(row.total, numbers);
  numbers.next(row.gpu_busy_ns);
  numbers.next(row.device_busy_ns);
  numbers.next(row.span_ns);
  numbers.next(row.peak_bytes);
  numbers.next(row.migrated_to_device_bytes);
  numbers.next(row.migrated_to_host_bytes);
  numbers.next(row.gpu_page_faults);
  numbers.next(row.migration_ns);
  numbers.next(row.flops);
  numbers.next(row.bytes);
  numbers.next(row.tokens);
  row.collective_bytes = 13'579;
  row.shape = "4x64x768";
  row.note = "causal";
  row.step_busy_share = {0.75, 0.5};
  return row;
}

kernel_row distinct_kernel(distinct_numbers& numbers) {
  kernel_row row;
  row.path_id = 17;
  row.path = "block/attention[5]";
  row.name = 1;
  row.mangled = "_Z7softmaxIfEvPT_";
  row.demangled = "void softmax<float>(float*)";
  row.short_name = "softmax";
  numbers.next(row.count);
  row.duration = distinct_durations(5001);
  numbers.next(row.blocks_min);
  numbers.next(row.blocks_max);
  numbers.next(row.blocks_mean);
  numbers.next(row.blocks_median);
  numbers.next(row.block_threads_min);
  numbers.next(row.block_threads_max);
  numbers.next(row.warps_per_block);
  numbers.next(row.registers_per_thread);
  numbers.next(row.static_shared_bytes);
  numbers.next(row.dynamic_shared_bytes);
  row.sm_utilisation = 0.5;
  row.gpu_utilisation = 0.25;
  row.collective = {collective_operation::all_gather, "nvls", "simple"};
  row.first_step_count = 71;
  row.first_step_ns = 72;
  return row;
}

allocation_row distinct_allocation(distinct_numbers& numbers) {
  allocation_row row;
  row.path_id = 17;
  row.path = "block/attention[5]";
  row.address = 0x7f0000200000;
  numbers.next(row.bytes);
  row.kind = memory_kind::managed;
  row.asynchronous = true;
  numbers.next(row.device);
  numbers.next(row.stream);
  numbers.next(row.allocated_at);
  numbers.next(row.released_at);
  row.released_in = "free batch";
  row.purpose = 1;
  return row;
}

/// Tables of a row each, in addition to the root.
report_sample distinct_sample() {
  distinct_numbers numbers;
  report_sample made;
  made.source.traced = true;
  made.source.has_steps = true;
  made.source.has_migrations = true;
  made.source.environment.rank = 3;
  made.source.nodes.push_back({0, 0, no_index, 0, true});
  made.source.names = {"", "decode", "nccl"};
  made.tree.resize(2);
  made.tree[1].path_id = 11;
  made.tree[1].path = made.tree[1].name = "block";
  made.tree[1].depth = 1;
  made.tree.push_back(distinct_range(numbers));
  made.kernels.push_back(distinct_kernel(numbers));
  made.memory.purposes.resize(2);
  made.memory.purposes[1].name = "weights";
  made.memory.allocations.push_back(distinct_allocation(numbers));
  span_record span{};
  numbers.next(span.begin);
  span.end = span.begin + 5000;
  span.name = 1;
  span.domain = 2;
  numbers.next(span.step);
  numbers.next(span.thread);
  numbers.next(span.end_thread);
  span.kind = span_kind::range;
  made.source.spans.push_back(span);
  return made;
}

using rows = std::vector<std::vector<std::string>>;

/// Cells without quotes, as these samples have them.
rows cells_of(std::string const& text) {
  rows made;
  for (std::string const& line : lines(text)) {
    made.emplace_back(1);
    for (char const c : line) {
      if (c == ',')
        made.back().emplace_back();
      else
        made.back().back() += c;
    }
  }
  return made;
}

/// No two columns of the last row are equal, and none is empty.
void check_columns(std::string const& text) {
  rows const table = cells_of(text);
  REQUIRE(table.size() >= 2);
  std::vector<std::string> const& names = table[0];
  std::vector<std::string> const& values = table.back();
  REQUIRE(names.size() == values.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(values[i] != "");
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(names[j]);
      CHECK(values[i] != values[j]);
    }
  }
}

}  // namespace

TEST_CASE("no two columns of ranges.csv, kernels.csv, memory.csv and spans.csv are confused") {
  report_sample const sample = distinct_sample();
  report_input const input(sample.source, sample.tree, sample.folded,
                           folded_rows_of(sample.tree, sample.folded), sample.kernels,
                           sample.memory);
  struct {
    char const* golden_name;
    void (*write)(detail::text_writer&, table_input const&);
  } const files[] = {{"columns_ranges.csv", write_ranges_csv},
                     {"columns_kernels.csv", write_kernels_csv},
                     {"columns_memory.csv", write_memory_csv},
                     {"columns_spans.csv", write_spans_csv}};
  for (auto const& file : files) {
    CAPTURE(file.golden_name);
    std::string const text = text_of([&](detail::text_writer& out) { file.write(out, input); });
    check_columns(text);
    CHECK(text == golden(file.golden_name, text));
  }
}

TEST_CASE("each column of ranges.csv is known to add up, or not to") {
  std::vector<std::string> const amounts = test::listed(
      "calls, host_total_ns, host_self_ns, launches_self, launches, launch_self_ns, launch_ns, "
      "kernels_self, kernels, gpu_kernel_self_ns, gpu_kernel_ns, gpu_busy_ns, span_ns, "
      "copies_self, copies, gpu_copy_self_ns, gpu_copy_ns, h2d_bytes, d2h_bytes, d2d_bytes, "
      "other_copy_bytes, set_bytes, synchronizations, synchronization_ns, allocations, "
      "allocated_bytes, releases, released_bytes, graph_kernels, graph_kernel_ns, "
      "migrated_bytes_h2d, migrated_bytes_d2h, gpu_page_faults, migration_ns, adopted_kernels, "
      "adopted_ns, p2p_copies, p2p_bytes, p2p_ns, flops, bytes, tokens, other_threads_ns, "
      "collective_bytes");
  std::vector<std::string> found;
  for (detail::column_meaning const& each : detail::range_meanings)
    if (each.sum == detail::column_sum::amount) found.emplace_back(each.key);
  CHECK(found == amounts);
  auto const sum_of = [](char const* key) {
    return detail::meaning_of(detail::range_meanings, key)->sum;
  };
  CHECK(sum_of("peak_bytes") == detail::column_sum::call);
  CHECK(sum_of("first_step_gpu_busy_ns") == detail::column_sum::first_step);
  CHECK(sum_of("step_share") == detail::column_sum::identity);
}

namespace {

using nlohmann::ordered_json;

/// What kind of value each column has, and which have none in some row.
class kinds_of_cells final : public detail::cell_sink {
 public:
  void absent(char const* key) override { nullable_.insert(key); }
  void text(char const* key, std::string_view) override { kinds_[key].insert("string"); }
  void exact(char const* key, std::string_view value) override { text(key, value); }
  void number(char const* key, double value) override {
    if (!detail::is_finite(value)) absent(key);
    kinds_[key].insert("number");
  }
  void whole(char const* key, std::uint64_t, bool) override { kinds_[key].insert("integer"); }

  /// What is measured in a unit is a number, whole or not.
  ordered_json type(std::string const& key, bool is_measured) const {
    std::vector<std::string> all(kinds_.at(key).begin(), kinds_.at(key).end());
    if (is_measured) all = {"number"};
    if (nullable_.count(key) > 0) all.push_back("null");
    return all.size() == 1 ? ordered_json(all[0]) : ordered_json(all);
  }

 private:
  std::map<std::string, std::set<std::string>> kinds_;
  std::set<std::string> nullable_;
};

/// The texts of documents that the columns make.
class column_documents {
 public:
  column_documents() {
    known_.source.environment.rank = 3;
    unknown_.source.traced = false;
    unknown_.source.has_migrations = false;
    unknown_.source.environment.rank = -1;
  }

  /// The list of a section of docs/reference/files.md, and the rows of docs/schema/profile.json.
  template <class Row, std::size_t Count>
  void add(std::string& files, ordered_json& rows, char const* file,
           detail::column_list<Row> columns, detail::column_meaning const (&meanings)[Count],
           std::vector<Row> const& samples) const {
    add_list(files, file, columns, meanings);
    kinds_of_cells kinds;
    for (report_sample const* const sample : {&known_, &unknown_}) {
      report_input const input(sample->source, sample->tree, sample->folded,
                               folded_rows_of(sample->tree, sample->folded), sample->kernels,
                               sample->memory);
      for (Row const& row : samples) columns.write(kinds, input, row);
    }
    ordered_json properties;
    for (detail::column_meaning const& column : meanings) {
      std::string const unit = column.unit.empty() ? "" : ", in " + std::string(column.unit);
      std::string const key(column.key);
      properties[key] = {{"type", kinds.type(key, !unit.empty())},
                         {"description", std::string(column.meaning) + unit}};
    }
    rows["items"]["properties"] = properties;
  }
  /// An item of a list in lines of at most 110 letters.
  static std::string wrapped(std::string text) {
    std::size_t begin = 0;
    while (text.size() - begin > 110) {
      std::size_t const blank = text.rfind(' ', begin + 110);
      text.replace(blank, 1, "\n  ");
      begin = blank + 1;
    }
    return text + "\n";
  }
  /// Replaces the first list of the section of that name.
  template <class Row, std::size_t Count>
  static void add_list(std::string& files, std::string const& file,
                       detail::column_list<Row> columns,
                       detail::column_meaning const (&meanings)[Count]) {
    std::size_t const section = files.find("\n## " + file + "\n");
    REQUIRE(section != files.npos);
    std::size_t const begin = files.find("\n- ", section) + 1;
    std::size_t const end = files.find("\n\n", begin) + 1;
    std::string list;
    detail::column_meaning const* next = meanings;
    for (auto const& column : columns) {
      REQUIRE(next != meanings + Count);
      CHECK(next->key == column.key);
      if (column.in_csv)
        list += wrapped(std::string("- `") + column.key + "`: " + std::string(next->meaning));
      ++next;
    }
    CHECK(next == meanings + Count);
    files.replace(begin, end - begin, list);
  }

 private:
  report_sample known_ = distinct_sample();
  report_sample unknown_ = distinct_sample();
};

}  // namespace

TEST_CASE("documents have the names and meanings of the columns") {
  std::string const folder = STRATA_TEST_DATA "/golden/";
  std::string const files = "../../../docs/reference/files.md";  // beside the golden files
  std::string const schema = "../../../docs/schema/profile.json";
  std::string made = read_file(folder + files);
  ordered_json all = ordered_json::parse(read_file(folder + schema));
  ordered_json& rows = all["properties"];
  distinct_numbers numbers;
  column_documents const documents;
  range_row any = distinct_range(numbers);
  any.index = any_index;
  kernel_row unsized = distinct_kernel(numbers);  // of a device that is not known
  unsized.gpu_utilisation = std::numeric_limits<double>::quiet_NaN();
  allocation_row kept = distinct_allocation(numbers);
  kept.released_at = -1;
  span_record outside{};
  outside.step = no_step;
  documents.add(made, rows["ranges"], "ranges.csv", detail::range_columns, detail::range_meanings,
                {distinct_range(numbers), any, range_row()});
  documents.add(made, rows["kernels"], "kernels.csv", detail::kernel_columns,
                detail::kernel_meanings, {distinct_kernel(numbers), unsized, kernel_row()});
  documents.add(made, rows["memory"]["properties"]["allocations"], "memory.csv",
                detail::allocation_columns, detail::allocation_meanings,
                {distinct_allocation(numbers), kept});
  documents.add(made, rows["spans"], "spans.csv", detail::span_columns, detail::span_meanings,
                {span_record(), outside});
  column_documents::add_list(made, "counters.csv", detail::counter_columns,
                             detail::counter_meanings);
  bool const is_in_files = made == golden(files.c_str(), made);
  CHECK_MESSAGE(is_in_files, "STRATA_UPDATE_GOLDEN=1 writes docs/reference/files.md");
  made = all.dump(1) + "\n";
  bool const is_in_schema = made == golden(schema.c_str(), made);
  CHECK_MESSAGE(is_in_schema, "STRATA_UPDATE_GOLDEN=1 writes docs/schema/profile.json");
}

}  // namespace columns_test
