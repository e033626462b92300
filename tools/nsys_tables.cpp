#include "nsys_tables.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/dynamic_library.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/tables/columns.hpp>
#include "report/cuda_words.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tools {
namespace {

using strata::profile;

/// SQLite as sqlite3.h declares it, opened when a database is to be written, so that the command
/// starts where there is none.
struct sqlite_library {
  strata::detail::dynamic_library file;
  int (*open)(char const*, void**, int, char const*) = nullptr;
  int (*execute)(void*, char const*, void*, void*, char**) = nullptr;
  int (*prepare)(void*, char const*, int, void**, char const**) = nullptr;
  int (*bind_integer)(void*, int, std::int64_t) = nullptr;
  int (*bind_text)(void*, int, char const*, int, void (*)(void*)) = nullptr;
  int (*bind_null)(void*, int) = nullptr;
  int (*step)(void*) = nullptr;
  int (*reset)(void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*close)(void*) = nullptr;
  char const* (*message)(void*) = nullptr;

  bool load() {
    return file.open("libsqlite3.so.0") && file.bind("sqlite3_open_v2", open) &&
           file.bind("sqlite3_exec", execute) && file.bind("sqlite3_prepare_v2", prepare) &&
           file.bind("sqlite3_bind_int64", bind_integer) &&
           file.bind("sqlite3_bind_text", bind_text) && file.bind("sqlite3_bind_null", bind_null) &&
           file.bind("sqlite3_step", step) && file.bind("sqlite3_reset", reset) &&
           file.bind("sqlite3_finalize", finalize) && file.bind("sqlite3_close_v2", close) &&
           file.bind("sqlite3_errmsg", message);
  }
};

/// A database that is written once. The first error is kept; what follows it does nothing.
class database {
 public:
  database(sqlite_library const& sqlite, std::string const& path) : sqlite_(sqlite) {
    constexpr int read_write_create = 0x2 | 0x4;
    check(sqlite_.open(path.c_str(), &handle_, read_write_create, nullptr));
  }
  ~database() { (void)sqlite_.close(handle_); }
  database(database const&) = delete;
  database& operator=(database const&) = delete;

  void execute(char const* text) {
    if (problem_.empty()) check(sqlite_.execute(handle_, text, nullptr, nullptr, nullptr));
  }
  std::string const& problem() const noexcept { return problem_; }

 private:
  friend class insertion;

  void check(int result) {
    constexpr int row = 100;
    constexpr int done = 101;
    if (result == 0 || result == row || result == done || !problem_.empty()) return;
    problem_ = sqlite_.message(handle_);
  }

  sqlite_library const& sqlite_;
  void* handle_ = nullptr;
  std::string problem_;
};

using cell = std::optional<std::int64_t>;  ///< nothing is NULL

/// Rows for one table.
class insertion {
 public:
  insertion(database& into, char const* statement) : into_(into) {
    if (into_.problem_.empty())
      into_.check(into_.sqlite_.prepare(into_.handle_, statement, -1, &statement_, nullptr));
  }
  ~insertion() { (void)into_.sqlite_.finalize(statement_); }
  insertion(insertion const&) = delete;
  insertion& operator=(insertion const&) = delete;

  template <class... Cells>
  void row(Cells const&... cells) {
    if (!into_.problem_.empty()) return;
    int place = 0;
    (bind(++place, cells), ...);
    into_.check(into_.sqlite_.step(statement_));
    into_.check(into_.sqlite_.reset(statement_));
  }

 private:
  void bind(int place, cell const& value) {
    into_.check(value ? into_.sqlite_.bind_integer(statement_, place, *value)
                      : into_.sqlite_.bind_null(statement_, place));
  }
  void bind(int place, std::string const& text) {
    // A null destructor: the text outlives the row.
    into_.check(into_.sqlite_.bind_text(statement_, place, text.c_str(),
                                        static_cast<int>(text.size()), nullptr));
  }

  database& into_;
  void* statement_ = nullptr;
};

/// The columns that readers of Nsight Systems' exports ask for, of the schema of its version 2025.
constexpr char const* schema = R"sql(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL PRIMARY KEY, name TEXT, busLocation TEXT,
  l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER,
  smCount INTEGER, uuid TEXT, chipName TEXT, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL,
  pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL,
  gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
  blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
  srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL,
  rangeId INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER);
CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (0, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN', 'Unknown'),
  (1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', 'Event sync'),
  (2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', 'Stream wait event'),
  (3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE', 'Stream sync'),
  (4, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE', 'Context sync');
)sql";

/// Writes the rows of one run.
class nsys_export {
 public:
  nsys_export(database& into, strata::table_input const& input)
      : into_(into),
        input_(input),
        source_(input.source),
        process_(static_cast<std::int64_t>(input.source.environment.process_id & 0xffffff) << 24) {
    for (strata::profile_thread const& thread : source_.threads)
      threads_[thread.ordinal] = process_ | static_cast<std::int64_t>(thread.os_id & 0xffffff);
  }

  void write() {
    targets();
    device_work();
    calls();
    ranges();
    strings();
  }

 private:
  std::int64_t string_id(std::string text) {
    auto const place = strings_.try_emplace(std::move(text), strings_.size() + 1);
    return static_cast<std::int64_t>(place.first->second);
  }
  std::int64_t thread_id(std::uint32_t ordinal) const {
    auto const found = threads_.find(ordinal);
    return found == threads_.end() ? process_ | ordinal : found->second;
  }
  void targets() {
    strata::profile_environment const& e = source_.environment;
    insertion facts(into_, "INSERT INTO META_DATA_EXPORT VALUES (?, ?)");
    facts.row(std::string("EXPORT_PRODUCT"), std::string("Strata"));
    insertion began(into_, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)");
    began.row(cell(e.started_at_unix_ns));
    insertion gpus(into_,
                   "INSERT INTO TARGET_INFO_GPU VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, '', ?, ?)");
    insertion devices(into_, "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, ?, ?)");
    for (strata::profile_device const& d : e.devices) {
      // Twice the clock: a transfer at each edge.
      std::int64_t const bandwidth =
          std::int64_t{2000} * d.memory_clock_khz * d.memory_bus_bits / 8;
      gpus.row(cell(d.ordinal), d.name, cell(d.l2_bytes), cell(d.memory_bytes), cell(bandwidth),
               cell(std::int64_t{1000} * d.clock_khz), cell(d.multiprocessors), d.uuid,
               cell(d.compute_capability_major), cell(d.compute_capability_minor));
      devices.row(cell(d.ordinal), cell(d.ordinal), cell(e.process_id), d.uuid,
                  cell(d.multiprocessors));
    }
    insertion names(into_, "INSERT INTO ThreadNames VALUES (?, 0, ?)");
    for (strata::profile_thread const& thread : source_.threads)
      if (!thread.name.empty())
        names.row(cell(string_id(thread.name)), cell(thread_id(thread.ordinal)));
  }

  struct kernel_names {
    std::int64_t full = 0;
    std::int64_t brief = 0;
    std::int64_t mangled = 0;
  };

  void device_work() {
    std::unordered_map<std::uint32_t, kernel_names> names;
    for (strata::kernel_row const& row : input_.kernels)
      names[row.name] = {string_id(row.demangled), string_id(row.short_name),
                         string_id(row.mangled)};
    insertion kernels(into_,
                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                      "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t const nameless = string_id("kernel without a name");
    for (strata::kernel_record const& k : source_.kernels) {
      if (k.begin == strata::lost_time) continue;
      auto const found = names.find(k.name);
      kernel_names const name =
          found == names.end() ? kernel_names{nameless, nameless, nameless} : found->second;
      kernels.row(cell(k.begin), cell(k.end), cell(k.device), cell(k.context), cell(k.stream),
                  cell(k.correlation), cell(process_), cell(name.full), cell(name.brief),
                  cell(name.mangled), cell(k.registers), cell(k.grid_x), cell(k.grid_y),
                  cell(k.grid_z), cell(k.block_x), cell(k.block_y), cell(k.block_z),
                  cell(k.static_shared_bytes), cell(k.dynamic_shared_bytes));
    }
    insertion copies(into_,
                     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
                     "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insertion fills(into_,
                    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (strata::copy_record const& c : source_.copies) {
      if (c.begin == strata::lost_time) continue;
      auto const bytes = strata::detail::signed_bytes(c.bytes);
      if (c.kind == strata::copy_kind::set)
        fills.row(cell(c.begin), cell(c.end), cell(c.device), cell(c.context), cell(c.stream),
                  cell(c.correlation), cell(process_), cell(bytes));
      else
        copy(copies, c, bytes);
    }
    insertion waits(into_,
                    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, ?, ?, ?, ?)");
    for (strata::synchronization_record const& wait : source_.synchronizations) {
      if (wait.begin == strata::lost_time) continue;
      waits.row(cell(wait.begin), cell(wait.end),
                wait.stream == strata::detail::no_stream ? cell() : cell(wait.stream),
                cell(wait.correlation), cell(process_), cell(static_cast<int>(wait.kind)));
    }
  }

  /// CUPTI's numbers of the direction and of the memory at both ends.
  void copy(insertion& copies, strata::copy_record const& c, std::int64_t bytes) {
    constexpr int unknown_direction = 0;
    constexpr int directions[] = {unknown_direction, 1, 2, 8, 9, 10};
    constexpr int not_known = 0;
    constexpr int pageable = 1;
    constexpr int pinned = 2;
    constexpr int of_device = 3;
    bool const reads_host =
        c.kind == strata::copy_kind::host_to_device || c.kind == strata::copy_kind::host_to_host;
    bool const writes_host =
        c.kind == strata::copy_kind::device_to_host || c.kind == strata::copy_kind::host_to_host;
    int const host = c.pageable != 0 ? pageable : pinned;
    int const device = c.kind == strata::copy_kind::unknown ? not_known : of_device;
    cell from;
    cell to;
    if (c.kind == strata::copy_kind::peer && c.peer.device != 0) {
      std::int64_t const other = c.peer.device - 1;
      from = c.peer.receives != 0 ? other : c.device;
      to = c.peer.receives != 0 ? c.device : other;
    }
    auto const kind = static_cast<std::size_t>(c.kind);
    copies.row(cell(c.begin), cell(c.end), cell(c.device), cell(c.context), cell(c.stream),
               cell(c.correlation), cell(process_), cell(bytes),
               cell(kind < std::size(directions) ? directions[kind] : unknown_direction),
               cell(reads_host ? host : device), cell(writes_host ? host : device), from, to);
  }

  void calls() {
    strata::detail::call_names const names(source_);
    insertion rows(into_, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)");
    for (strata::driver_call_record const& call : source_.launches) {
      if (call.is_left_out()) continue;
      rows.row(cell(call.begin), cell(call.end), cell(thread_id(call.thread)),
               cell(call.correlation), cell(string_id(std::string(names.of(call)))));
    }
  }

  /// Steps and ranges as push/pop ranges, marks and start/end ranges as themselves.
  void ranges() {
    constexpr int mark = 34;
    constexpr int push_pop = 59;
    constexpr int start_end = 60;
    insertion rows(into_, "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, ?, ?, ?, NULL, 0)");
    for (auto const* const steps : {&source_.early_steps, &source_.steps})
      for (strata::step_record const& step : *steps)
        rows.row(cell(step.begin), cell(step.end), cell(push_pop),
                 std::string(strata::detail::sentence("step ") << step.step),
                 cell(thread_id(step.thread)), cell());
    for (strata::range_record const& range : source_.ranges) {
      if (range.node >= source_.nodes.size()) continue;
      strata::profile_node const& node = source_.nodes[range.node];
      rows.row(cell(range.begin), cell(range.end), cell(push_pop),
               strata::detail::name_with_index(source_.names[node.name], node.index),
               cell(thread_id(range.thread)), cell());
    }
    for (strata::span_record const& span : source_.spans) {
      bool const is_mark = span.kind == strata::span_kind::mark;
      rows.row(cell(span.begin), is_mark ? cell() : cell(span.end),
               cell(is_mark ? mark : start_end),
               std::string(strata::detail::name_text(source_, span.name)),
               cell(thread_id(span.thread)), cell(thread_id(span.end_thread)));
    }
  }

  void strings() {
    insertion rows(into_, "INSERT INTO StringIds VALUES (?, ?)");
    for (auto const& [text, number] : strings_)
      rows.row(cell(static_cast<std::int64_t>(number)), text);
  }

  database& into_;
  strata::table_input const& input_;
  profile const& source_;
  std::int64_t process_;  ///< as Nsight Systems packs it: above 24 bits of the thread
  std::unordered_map<std::uint32_t, std::int64_t> threads_;  ///< by ordinal
  std::map<std::string, std::size_t> strings_;
};

}  // namespace

std::string write_nsys_tables(std::string const& path, strata::table_input const& input) {
  sqlite_library sqlite;
  if (!sqlite.load()) return "SQLite is not here; install it (Debian: libsqlite3-0)";
  database into(sqlite, path);
  into.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  into.execute(schema);
  nsys_export(into, input).write();
  into.execute("COMMIT");
  return into.problem();
}

}  // namespace tools
