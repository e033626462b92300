#include <strata/version.hpp>
#ifndef STRATA_SESSION_OPTIONS_READER_HPP
#define STRATA_SESSION_OPTIONS_READER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>
#include <strata/profile/row_order.hpp>
#include <strata/session/report_formats.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Reads the text of STRATA into options, in one pass.
class options_reader {
 public:
  options_reader(options& target, vec<std::string>& problems)
      : options_(&target), problems_(&problems) {}

  void read(std::string_view text) {
    bool const is_given = !text.empty();
    while (!text.empty()) {
      std::size_t const comma = text.find(',');
      std::string_view const item = trimmed(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
      if (item.empty()) continue;
      std::size_t const equals = item.find_first_of("=:");
      bool const has_value = equals != std::string_view::npos;
      set(trimmed(item.substr(0, equals)),
          has_value ? trimmed(item.substr(equals + 1)) : std::string_view{}, has_value);
    }
    if (!options_->chip.empty() && !options_->list_metrics)
      problems_->push_back(sentence("STRATA: \"chip=")
                           << quoted(options_->chip)
                           << "\" is ignored: it names the chip of list-metrics.");
    if (is_given && known_ + unknown_ == 0) {
      options_->enabled = false;
      problems_->push_back(
          "STRATA: there is no key in it, so that nothing is recorded; STRATA=trace records, "
          "STRATA=help prints the keys.");
    }
    if (unknown_ == 0 || known_ != 0) return;
    options_->enabled = false;
    problems_->back() += " Nothing is recorded.";
  }

  /// What `help` prints: the keys.
  static std::string help() {
    std::string text = "STRATA=trace,out=run1 ./program\n\n";
    for (key_row const& row : keys) {
      std::string line = std::string("  ") + row.key + row.value;
      if (row.key == std::string_view(formats_key)) line += format_names("+");
      line.resize(larger<std::size_t>(line.size() + 2, 41), ' ');
      text += line + row.meaning;
      text += *row.fallback == '\0' ? "\n" : std::string(" (") + row.fallback + ")\n";
    }
    return text + "\nIn brackets: the default.\n";
  }

 private:
  struct key_row {
    char const* key;
    char const* value;  // as in `out=DIRECTORY`
    char const* meaning;
    char const* fallback;  // where the key is not given
  };
  static constexpr char formats_key[] = "formats";
  static constexpr key_row keys[] = {
      {"trace", "[=kernels+copies+memory+waits+managed]",
       "collect GPU activity by CUPTI, besides the ranges, all of it or these kinds", "on"},
      {"host", "", "ranges and host times only", ""},
      {"off", "", "nothing is recorded or printed", ""},
      {"out", "=DIRECTORY", "where the files go", "strata-out"},
      {formats_key, "=", "what is written, or none", "the first four"},
      {"sort", "=cost|order|name", "ranges below one: the longest first, as they ran, or by name",
       "cost"},
      {"step", "=NAME|graph|sync|auto",
       "the calls of these ranges are the steps; or launches of the main CUDA graph, the periodic "
       "wait, or the period that is found",
       ""},
      {"skip", "=N", "steps that are not recorded, before each window", "0"},
      {"warmup", "=N", "steps of a window that are recorded and dropped", "0"},
      {"active", "=N", "steps of a window that are kept", "all that follow"},
      {"repeat", "=N", "how many windows; 0: until the program ends", "1"},
      {"every", "=N", "a window of warmup + active steps at the end of each N steps", ""},
      {"trigger", "=FILE", "each touch of this file records warmup + active steps and reports them",
       ""},
      {"keep", "=N", "with every or trigger: each window has a report, and the last N stay", ""},
      {"for", "=S", "the report comes after S seconds, and the program continues", ""},
      {"attach", "=start|window",
       "when CUPTI comes into the process: at the start, or with the first window", "start"},
      {"adopt", "=on|off",
       "GPU work of threads in no range belongs to the range of the thread that drives the steps",
       "on"},
      {"only", "=NAME+...", "rows for these ranges and what is below them", ""},
      {"collectives", "=KERNEL+...",
       "kernels in which GPUs wait for each other, beside those whose names are known", ""},
      {"counters", "=hbm+l1+...", "hardware counters of the GPU, in the steps after the timed ones",
       ""},
      {"kernels", "=NAME+...",
       "with counters: the kernels of these ranges, and below them, are counted one by one", ""},
      {"ceilings", "=FILE", "measured roofs of this device, as strata ceilings keeps them; or off",
       "those of the cache"},
      {"sync", "", "wait for the GPU at the end of every range", ""},
      {"nvtx", "=in+out", "in: NVTX ranges become rows; out: ranges become NVTX ranges; or off",
       ""},
      {"log", "=MB", "memory limit of ranges, launches and names", "256"},
      {"buffers", "=MB", "memory limit of GPU activity and its sums", "512"},
      {"drain", "=MS", "how long the end waits for a GPU that does not answer", "1000"},
      {"watchdog", "=S", "says where the program is after S seconds without any progress; 0: never",
       "0"},
      {"verbose", "", "says what is opened, and when windows begin and end", ""},
      {"strict", "", "exit code 3 when the program exits by itself and there was any problem", ""},
      {"list-metrics", "", "print the metrics and presets of a chip with their passes", ""},
      {"chip", "=NAME", "the chip of list-metrics, such as GH100 for an H100 or H200",
       "this machine's"},
      {"library", "=FILE", "set by strata run --library, for the next command of an answer", ""},
      {"help", "", "print these lines on stdout; record nothing", ""},
  };

  // Names for the types of the fields: nvcc writes parentheses around them that g++ warns of.
  using number_field = std::uint32_t options::*;
  using text_field = std::string options::*;

  struct number_row {
    std::string_view key;
    number_field field;
    std::uint32_t least;
    char const* unit;
  };
  static constexpr number_row numbers[] = {
      {"skip", &options::skip, 0, ""},
      {"warmup", &options::warmup, 0, ""},
      {"active", &options::active, 1, ""},
      {"repeat", &options::repeat, 0, ""},
      {"every", &options::every, 1, ""},
      {"keep", &options::keep, 1, ""},
      {"for", &options::for_s, 1, " of s"},
      {"log", &options::log_mb, 1, " of MB"},
      {"buffers", &options::buffers_mb, 16, " of MB"},
      {"drain", &options::drain_ms, 1, " of ms"},
      {"watchdog", &options::watchdog_s, 0, " of s"},
  };

  struct flag_row {
    std::string_view name;
    flag_field field;
  };
  static constexpr flag_row flags[] = {
      {"sync", &options::synchronize}, {"verbose", &options::verbose},
      {"strict", &options::strict},    {"list-metrics", &options::list_metrics},
      {"help", &options::help},        {"adopt", &options::adopt},
  };
  static constexpr flag_row all_kinds[] = {
      {"kernels", &options::trace_kernels}, {"copies", &options::trace_copies},
      {"memory", &options::trace_memory},   {"waits", &options::trace_waits},
      {"managed", &options::trace_managed},
  };

  struct text_row {
    std::string_view key;
    text_field field;
    std::string_view wanted;  // where nothing is given; empty: that is fine
  };
  static constexpr text_row texts[] = {
      {"out", &options::out, "a directory, as in out=run1"},
      {"step", &options::step, "the name of a range, as in step=Train step"},
      {"trigger", &options::trigger, "a file, as in trigger=/tmp/profile-now"},
      {"ceilings", &options::ceilings, "a file, or off"},
      {"chip", &options::chip, {}},
      {"library", &options::library, {}},
  };

  /// The bit of the row with this name; 0 where there is none.
  template <class Row, std::size_t Count>
  static std::uint32_t bit_of(Row const (&rows)[Count], std::string_view name) {
    for (std::size_t i = 0; i < Count; ++i)
      if (rows[i].name == name) return 1u << i;
    return 0;
  }
  template <class Row, std::size_t Count>
  void set_flags(Row const (&rows)[Count], std::uint32_t chosen) {
    for (std::size_t i = 0; i < Count; ++i) options_->*rows[i].field = (chosen >> i & 1u) != 0;
  }

  /// What was given, fit for one line of a message.
  static std::string quoted(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string line(text.substr(0, most));
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return line + (text.size() > most ? "..." : "");
  }

  /// The keys that say whether anything is recorded, and whether of the device.
  bool set_whether(std::string_view key, std::string_view value, bool has_value) {
    if (key == "trace") {
      bool is_flag = value.empty();
      for (std::string_view const word : {"1", "0", "on", "off"})
        is_flag = is_flag || value == word;
      if (!is_flag) {
        device_kinds(value);
        return true;
      }
      bool on = options_->trace;
      if (flag(key, value, on)) options_->enabled = options_->enabled || on;
      options_->trace = on;
      return true;
    }
    if (key == "host") {
      bool only_host = !options_->trace;
      (void)flag(key, value, only_host);
      options_->trace = !only_host;
      return true;
    }
    bool const on = key == "on" || key == "1";
    bool const off = key == "off" || key == "0";
    if (!on && !off) return false;
    if (has_value) {
      wrong(key, value, "no value");
    } else {
      options_->enabled = on;
    }
    return true;
  }

  void set(std::string_view key, std::string_view value, bool has_value) {
    ++known_;
    if (set_whether(key, value, has_value)) return;
    if (key == "attach") {
      if (value != "start" && value != "window") return wrong(key, value, "start or window");
      options_->attach_in_window = value == "window";
      return;
    }
    if (key == "counters") return counters(value);
    if (key == "formats") return formats(value);
    if (key == "sort") return sort(value);
    if (key == "only") return patterns(key, value, options_->only);
    if (key == "kernels") return patterns(key, value, options_->kernels);
    if (key == "collectives")
      return patterns(key, value, options_->collectives,
                      "names of kernels joined by +, as in collectives=my_all_reduce+exchange*");
    for (text_row const& row : texts) {
      if (key != row.key) continue;
      if (value.empty() && !row.wanted.empty()) return wrong(key, value, row.wanted);
      return (void)(options_->*row.field).assign(value);
    }
    for (number_row const& row : numbers)
      if (key == row.key) return number(value, row);
    for (flag_row const& row : flags)
      if (key == row.name) return (void)flag(key, value, options_->*row.field);
    if (key == "nvtx") return nvtx(value);
    --known_;
    ++unknown_;
    problems_->push_back(no_key(key));
  }

  /// `, did you mean NAME?`, or `otherwise` where no name is near.
  static std::string meant(nearest_names& nearest, char const* otherwise = ":") {
    vec<std::string> const best = nearest.best(1);
    if (best.empty()) return otherwise;
    return sentence(", did you mean ") << best.front() << '?';
  }

  static std::string no_key(std::string_view key) {
    nearest_names nearest(key);
    std::string all;
    for (key_row const& row : keys) {
      nearest.consider(row.key);
      add_part(all, row.key);
    }
    std::string const text = sentence("STRATA: there is no key \"") << quoted(key) << '"';
    if (key.find_first_of(" \t;|&") != key.npos)
      return text + ": keys are separated by commas, as in STRATA=trace,skip=1.";
    if (bit_of(report_formats, key) != 0)
      return text + ": formats are joined by +, as in formats=table+html.";
    for (std::string_view const yes : {"yes", "true"})
      if (key == yes) return text + ", did you mean on?";
    for (std::string_view const no : {"no", "false"})
      if (key == no) return text + ", did you mean off?";
    std::string const hint = meant(nearest, "");
    if (hint.empty()) return text + "; the keys are " + all + '.';
    return text + hint + " STRATA=help prints the keys.";
  }

  void wrong(std::string_view key, std::string_view value, std::string_view wanted,
             std::string_view hint = ":") {
    std::string text = "STRATA: \"";
    text.append(key).append("=").append(quoted(value)).append("\" is ignored").append(hint);
    text.append(" ").append(key).append(" takes ").append(wanted).append(".");
    problems_->push_back(std::move(text));
  }

  void number(std::string_view value, number_row const& row) {
    std::uint32_t read = 0;
    if (read_number(value, read) && read >= row.least) {
      options_->*row.field = read;
      return;
    }
    std::string_view const digits = value.substr(0, value.find_first_not_of("0123456789"));
    if (!value.empty() && digits.size() == value.size() && read == 0 && value.size() > 9)
      return wrong(row.key, value, "4294967295 at most", ", since it is too large:");
    std::string wanted = sentence("a whole number") << row.unit;
    if (row.least != 0) wanted = sentence(wanted) << " from " << row.least;
    wrong(row.key, value, wanted);
  }

  bool flag(std::string_view key, std::string_view value, bool& setting) {
    if (value.empty() || value == "1" || value == "on") {
      setting = true;
    } else if (value == "0" || value == "off") {
      setting = false;
    } else {
      wrong(key, value, "1 or 0");
      return false;
    }
    return true;
  }

  /// Takes the next item off a list joined by +; false at its end.
  static bool take(std::string_view& list, std::string_view& item) {
    for (item = {}; item.empty() && !list.empty();) {
      std::size_t const plus = list.find('+');
      item = trimmed(list.substr(0, plus));
      list = plus == std::string_view::npos ? std::string_view{} : list.substr(plus + 1);
    }
    return !item.empty();
  }

  void formats(std::string_view value) {
    std::uint32_t chosen = 0;
    bool any_known = false;
    bool none = false;
    std::string_view left = value;
    std::string const wanted = format_names(", ") + ", joined by +, or none";
    for (std::string_view format; take(left, format);) {
      std::uint32_t const bit = bit_of(report_formats, format);
      none = none || format == "none";
      bool const known = bit != 0 || format == "none";
      if (!known) wrong("formats", format, wanted);
      any_known = any_known || known;
      chosen |= bit;
    }
    if (none && chosen != 0)
      problems_->push_back(sentence("STRATA: in \"formats=")
                           << quoted(value) << "\" none is ignored: it stands by itself.");
    if (any_known) {
      set_flags(report_formats, chosen);
    } else if (trimmed(value).find_first_not_of("+ \t") == value.npos) {
      wrong("formats", value, wanted);
    }
  }

  void sort(std::string_view value) {
    nearest_names nearest(value);
    for (std::size_t i = 0; i < std::size(row_order_names); ++i) {
      if (value == row_order_names[i])
        return (void)(options_->sort = static_cast<options::order>(static_cast<row_order>(i)));
      nearest.consider(row_order_names[i]);
    }
    wrong("sort", value, "cost, order or name", meant(nearest));
  }

  void device_kinds(std::string_view value) {
    std::uint32_t chosen = 0;
    std::string_view left = value;
    for (std::string_view kind; take(left, kind);) {
      std::uint32_t const bit = bit_of(all_kinds, kind);
      if (bit == 0)
        return wrong("trace", value,
                     "1, 0, or kernels, copies, memory, waits and managed joined by +");
      chosen |= bit;
    }
    set_flags(all_kinds, chosen);
    options_->trace = options_->enabled = true;
  }

  void counters(std::string_view value) {
    if (value.empty())
      return wrong("counters", value, "presets or metrics joined by +, as in counters=hbm+l1+cpu");
    options_->counters.clear();
    options_->cpu_counters.clear();
    for (std::string_view item; take(value, item);) {
      bool const of_cpu = item == "cpu" || item.substr(0, 4) == "cpu_";
      std::string& list = of_cpu ? options_->cpu_counters : options_->counters;
      add_part(list, item, "+");
    }
    if (!options_->counters.empty()) options_->trace = true;  // the CPU's need none
  }

  void patterns(std::string_view key, std::string_view value, vec<std::string>& setting,
                std::string wanted = {}) {
    vec<std::string> read;
    std::string_view left = value;
    for (std::string_view pattern; take(left, pattern);) read.emplace_back(pattern);
    if (read.empty()) {
      if (wanted.empty())
        wanted = sentence("names of ranges joined by +, as in ") << key << "=attention+mlp";
      return wrong(key, value, wanted);
    }
    setting = std::move(read);
  }

  void nvtx(std::string_view value) {
    using mode = options::nvtx_mode;
    bool in = false;
    bool out = false;
    bool off = false;
    bool known = true;
    std::string_view left = value;
    for (std::string_view way; take(left, way);) {
      if (way == "in") {
        in = true;
      } else if (way == "out" || way == "1" || way == "on") {
        out = true;
      } else if (way == "off" || way == "0") {
        off = true;
      } else {
        known = false;
      }
    }
    if (!known || off == (in || out)) return wrong("nvtx", value, "in, out, in+out, or off");
    options_->nvtx = off ? mode::off : !out ? mode::in : in ? mode::in_and_out : mode::out;
  }

  options* options_;
  vec<std::string>* problems_;
  std::size_t known_ = 0;
  std::size_t unknown_ = 0;  // keys
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_OPTIONS_READER_HPP
