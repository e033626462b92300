// A recording whose form is right and whose content is anything: it is refused by a sentence, or
// one of the things that the command makes of it is made. Nothing is written outside of the folder,
// JSON and CSV are well-formed, and nothing that a recording names controls a terminal or a shell.
#include <strata/session/report_files.hpp>
#include "analyse/compare.hpp"
#include "analyse/ledger.hpp"
#include "analyse/rank_comparison.hpp"
#include "live/attribution.hpp"
#include "recording/recording.hpp"
#include "report/comparison_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "../../tools/compare_markdown.hpp"
#include "../../tools/explanation.hpp"
#include "../../tools/profile_json.hpp"
#include "../unit/all_reports.hpp"
#include "fuzz.hpp"
#include "hostile_profile.hpp"
#include "outputs.hpp"

namespace {

namespace fs = std::filesystem;
using fuzz::require;
using fuzz::text_of;

/// A folder in which another one is the only place that anything is written to. Its name is the
/// same in each run: what the fuzzer sees compared goes into its inputs.
class guarded_folder {
 public:
  guarded_folder() : path_("guarded") {
    fs::remove_all(path_);
    fs::create_directories(path_ / "inner");
  }
  ~guarded_folder() { fs::remove_all(path_); }

  std::string out() const { return (path_ / "inner/out").string(); }

  /// All files, which have names of a fixed alphabet.
  void check() const {
    for (fs::directory_entry const& entry : fs::directory_iterator(path_))
      require(entry.path().filename() == "inner", "nothing is written outside",
              entry.path().string());
    for (fs::directory_entry const& entry : fs::directory_iterator(path_ / "inner")) {
      std::string const name = entry.path().filename().string();
      require(name == "out" || name == "out-latest", "nothing is written beside the folder", name);
    }
    if (!fs::exists(out())) return;
    for (fs::directory_entry const& entry : fs::recursive_directory_iterator(out())) {
      std::string const name = entry.path().filename().string();
      for (char const c : name)
        require(strata::detail::is_name_character(c) || c == '.', "names of files are plain", name);
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string const text{std::istreambuf_iterator<char>(file), {}};
      std::string const kind = entry.path().extension().string();
      if (kind == ".csv") fuzz::check_csv(text);
      if (kind == ".json") fuzz::check_json(text, "a file that ends in .json is JSON");
    }
  }

 private:
  fs::path path_;
};

void make_report_files(strata::profile const& read, char const* format) {
  guarded_folder const folder;
  strata::vec<std::string> problems;
  strata::options wanted =
      strata::options::parse((std::string("formats=") + format).c_str(), problems);
  wanted.out = folder.out();
  strata::detail::report_files::surroundings around;
  around.spare = folder.out();
  (void)strata::detail::report_files(wanted, around).write(read);
  folder.check();
}

void explain(strata::profile const& read, char const* format) {
  std::string const text = tools::bounded_explanation(read, "a folder/x.strata", format);
  require(text.size() <= tools::max_explained_bytes, "an explanation is bounded", text);
  fuzz::check_console(text);
  if (format != std::string_view("json")) return;
  auto const json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded(), "an explanation is JSON", text);
  for (auto const& command : json["next"]) {
    bool quoted = false;
    std::string const line = command.get<std::string>();
    for (std::size_t i = 0; i < line.size(); ++i) {
      bool const is_escaped = !quoted && line[i] == '\\' && line.substr(i, 2) == "\\'";
      if (is_escaped) ++i;
      if (!is_escaped && line[i] == '\'') quoted = !quoted;
      require(quoted || is_escaped ||
                  std::string("`$&|;<>()\n\"!#~").find(line[i]) == std::string::npos,
              "a shell does nothing but run the command", line);
    }
    require(!quoted, "quotes are closed", line);
  }
}

std::string json_of(strata::profile const& read) {
  strata::profile_tables tables(read);
  strata::report_input input(std::move(tables.input()));
  input.find_answer(tables.folded());
  return text_of([&](auto& out) { write_json(out, input); });
}

void compare(strata::profile const& read) {
  std::string const json = json_of(read);
  fuzz::check_json(json, "profile.json is JSON");
  strata::run_tables file;
  std::string const problem = tools::read_profile_json(json, file);
  require(problem.empty(), "a profile.json of ours is readable", problem + json);
  strata::comparison const made = strata::compare(file, file);
  fuzz::check_json(text_of([&](auto& out) { write_comparison_json(out, made, {}); }),
                   "a comparison is JSON");
  fuzz::check_markdown(text_of([&](auto& out) { tools::write_comparison_markdown(out, made); }), 6);
}

void rank(strata::profile const& read) {
  if (!strata::has_rank_steps(read)) return;
  std::vector<strata::rank_run> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(strata::read_rank(read));
    runs.back().rank = i;
  }
  if (runs[0].recorded_steps != 0) (void)strata::compare_ranks(runs);
}

/// Its samples as those of a program without a trace, by a map of itself.
void map(strata::profile const& read) {
  strata::profile alone = read;
  alone.traced = false;
  strata::status const outcome = strata::live::attribute_by_map(alone, read);
  require(outcome.ok() || !outcome.message().empty(), "a map is refused by a sentence");
  fuzz::check_console(report_test::report_of(alone, 0));
}

void make_ledger(strata::profile const& read) {
  strata::byte_ledger const made = strata::make_ledger(read, {});
  fuzz::check_json(strata::ledger_json(made), "a ledger is JSON");
  fuzz::check_console(strata::ledger_text(made));
}

void print(strata::profile const& read) { fuzz::check_console(report_test::report_of(read, 0)); }

/// What is made of an input.
using product = void (*)(strata::profile const& read);
constexpr product products[] = {
    [](strata::profile const& read) { make_report_files(read, "csv"); },
    [](strata::profile const& read) { make_report_files(read, "json"); },
    [](strata::profile const& read) { make_report_files(read, "html"); },
    [](strata::profile const& read) { make_report_files(read, "trace"); },
    [](strata::profile const& read) { make_report_files(read, "trace.json"); },
    [](strata::profile const& read) { make_report_files(read, "openmetrics"); },
    [](strata::profile const& read) { make_report_files(read, "recording"); },
    [](strata::profile const& read) { make_report_files(read, "csv+json+html"); },
    [](strata::profile const& read) { explain(read, "text"); },
    [](strata::profile const& read) { explain(read, "markdown"); },
    [](strata::profile const& read) { explain(read, "json"); },
    compare,
    rank,
    make_ledger,
    map,
    print};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Many records take most of the time: one input in so many has them.
  constexpr std::size_t rarely = 128;
  std::size_t const chosen = fuzz::choose(data, size, std::size(products) * rarely);
  fuzz::input from(data, size);
  strata::profile const hostile =
      fuzz::hostile_profile(from, chosen % rarely == 0 ? 20'000 : 256).take();
  std::string const bytes = text_of([&](auto& out) { write_recording(out, hostile); });
  strata::profile read;
  strata::status const outcome = strata::read_recording(bytes, read);
  if (!outcome.ok()) {
    require(!outcome.message().empty(), "a recording is refused by a sentence");
    fuzz::check_console(outcome.message());
    return 0;
  }
  products[chosen / rarely](read);
  return 0;
}
