#include "trace.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/columns.hpp>
#include "trace_events.hpp"
#include "trace_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// A sink: Chrome trace events, one a line.
class trace_json final : public trace_sink {
 public:
  /// `texts`: what is given by number. The trace begins at `origin`: viewers drop times below zero.
  trace_json(text_writer& out, vec<std::string> const& texts, std::int64_t origin)
      : out_(out), origin_(origin) {
    quoted_.resize(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      text_writer quoted(quoted_[i]);
      write_json_string(quoted, texts[i]);
    }
  }

  std::uint64_t count() const override { return count_; }
  bool has_async() const override { return true; }

  void process(std::uint32_t process, std::string_view name) override {
    set_track(process, 0);
    metadata("process_name", name);
    sort_index("process_sort_index", process);
  }

  void track(trace_track_kind kind, std::uint32_t process, std::uint32_t number,
             std::string_view name) override {
    bool const named = kind == trace_track_kind::thread || kind == trace_track_kind::lane;
    set_track(process, named ? number : 0);
    if (!named) counter_.assign(name);
    if (!named) return;
    metadata("thread_name", name);
    sort_index("thread_sort_index", number);
  }

  bool stream(trace_track::identity const&, std::uint32_t, std::string_view) override {
    return false;
  }

  void begin(std::uint32_t name, trace_category const& category) override {
    separate();
    out_.write("{\"name\":");
    out_.write(quoted_[name]);
    within(category);
  }
  void begin(std::string_view name, trace_category const& category) override {
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, name);
    within(category);
  }

  void integer(trace_key const& name, std::int64_t value) override {
    key(name);
    out_.integer(value);
  }
  void number(trace_key const& name, double value) override {
    key(name);
    out_.number(value);
  }
  void text(trace_key const& name, std::uint32_t number) override {
    key(name);
    out_.write(quoted_[number]);
  }
  void text(trace_key const& name, std::string_view text) override {
    key(name);
    write_json_string(out_, text);
  }
  void flag(trace_key const& name) override {
    key(name);
    out_.write("true");
  }
  void extent(trace_key const& name, std::uint32_t const* sizes, std::uint32_t count) override {
    key(name);
    for (std::uint32_t i = 0; i < count; ++i) {
      out_.put(i == 0 ? '"' : 'x');
      out_.integer(sizes[i]);
    }
    out_.put('"');
  }

  void slice(std::int64_t begin, std::int64_t end, trace_arrows const& arrows) override {
    out_.write("},\"ph\":\"X\"");
    out_.write(track_);
    time(",\"ts\":", begin - origin_);
    time(",\"dur\":", end - begin);
    out_.put('}');
    for (std::uint32_t i = arrows.first; i <= arrows.last; ++i) {
      separate();
      out_.write("{\"name\":\"launch\",\"cat\":\"launch\",\"ph\":\"");
      out_.write(arrows.begins ? "s\",\"id\":" : "f\",\"bp\":\"e\",\"id\":");
      out_.integer(arrows.number(i));
      end_at(arrows.time);
    }
  }

  void async(std::int64_t begin, std::int64_t end, std::uint64_t number,
             std::string_view name) override {
    out_.write("},\"ph\":\"b\"");
    local_id(number);
    end_at(begin);
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, name);
    out_.write(",\"cat\":\"nvtx\",\"ph\":\"e\"");
    local_id(number);
    end_at(end);
  }

  void instant(std::int64_t time) override {
    out_.write("},\"ph\":\"i\",\"s\":\"p\"");
    end_at(time);
  }

  /// A mark across all tracks, on a track of its own.
  void remark(std::string_view text, std::int64_t time) override {
    metadata("thread_name", "trace");
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, text);
    out_.write(",\"ph\":\"i\",\"s\":\"g\"");
    end_at(time);
  }

  void counter(std::int64_t time, std::int64_t bytes) override {
    begin_counter(time);
    out_.write("\"bytes\":");
    out_.integer(bytes);
    out_.write("}}");
  }
  void use(std::int64_t time, double percent) override {
    begin_counter(time);
    out_.write("\"percent\":");
    out_.number(percent);
    out_.write("}}");
  }

 private:
  void set_track(std::uint32_t process, std::uint32_t thread) {
    track_ = sentence(",\"pid\":") << process << ",\"tid\":" << thread;
  }

  void begin_counter(std::int64_t timestamp) {
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, counter_);
    out_.write(",\"ph\":\"C\"");
    out_.write(track_);
    time(",\"ts\":", timestamp - origin_);
    out_.write(",\"args\":{");
  }

  void separate() {
    out_.write(count_ == 0 ? "\n" : ",\n");
    ++count_;
  }

  void time(std::string_view key, std::int64_t ns) {
    out_.write(key);
    out_.microseconds(ns);
  }

  /// Of this process: a global one has no process.
  void local_id(std::uint64_t number) {
    out_.write(",\"id2\":{\"local\":");
    out_.integer(number);
    out_.put('}');
  }

  void end_at(std::int64_t ns) {
    out_.write(track_);
    time(",\"ts\":", ns - origin_);
    out_.put('}');
  }

  void metadata(std::string_view what) {
    separate();
    out_.write("{\"name\":\"");
    out_.write(what);
    out_.write("\",\"ph\":\"M\"");
    out_.write(track_);
    out_.write(",\"args\":");
  }
  void metadata(std::string_view what, std::string_view name) {
    metadata(what);
    out_.write("{\"name\":");
    write_json_string(out_, name);
    out_.write("}}");
  }
  void sort_index(std::string_view what, std::uint32_t index) {
    metadata(what);
    out_.write("{\"sort_index\":");
    out_.integer(index);
    out_.write("}}");
  }

  void within(trace_category const& category) {
    out_.write(",\"cat\":\"");
    out_.write(category.name);
    out_.write("\",\"args\":{");
    comma_ = 1;
  }

  void key(trace_key const& key) {
    out_.write(key.json.substr(comma_));
    comma_ = 0;
  }

  text_writer& out_;
  std::int64_t origin_;
  vec<std::string> quoted_;
  std::string track_;
  std::string counter_;  ///< the name of the counter that follows
  std::uint64_t count_ = 0;
  std::size_t comma_ = 0;  ///< 1 before the first argument, which has no comma
};

}  // namespace detail

trace_summary write_trace(detail::text_writer& out, table_input const& input,
                          trace_options const& options) {
  profile const& source = input.source;
  detail::trace_labels const labels(input, options.mangled_names);
  detail::trace_plan plan(input, labels, options.max_events);
  detail::trace_json sink(out, labels.texts(), plan.origin());
  out.write("{\"displayTimeUnit\":\"ns\",");
  if (std::int64_t const began_at = source.environment.started_at_unix_ns; began_at != 0) {
    out.write("\"baseTimeNanoseconds\":");
    out.integer(began_at + plan.origin());
    out.put(',');
  }
  out.write("\"traceEvents\":[");
  trace_summary const summary = detail::write_events(sink, input, labels, plan, options);
  out.write("\n],\n\"otherData\":");
  detail::json_writer json(out);
  json.object();
  json.text("strata", detail::version_text());
  json.text("host", source.environment.host);
  json.text("command", source.environment.command);
  json.text("started_at", source.environment.started_at);
  json.integer("events_left_out", summary.left_out);
  json.integer("records_without_time", summary.without_time);
  json.array("problems");
  for (std::string const& problem : source.problems) json.text({}, problem);
  if (!summary.problem.empty()) json.text({}, summary.problem);
  json.end_array();
  json.end_object();
  out.write("}\n");
  return summary;
}

STRATA_END
