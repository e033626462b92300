#ifndef STRATA_SESSION_OPTIONS_READER_HPP
#define STRATA_SESSION_OPTIONS_READER_HPP

#include <strata/session/report_side.hpp>

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
      std::string_view const part = trimmed(take_until(text, ","));
      if (part.empty()) continue;
      std::size_t const equals = part.find_first_of("=:");
      bool const has_value = equals != std::string_view::npos;
      set({trimmed(part.substr(0, equals)),
           has_value ? trimmed(part.substr(equals + 1)) : std::string_view{}, has_value});
    }
    if (options_->live && !asks_for_trace_) options_->trace = false;
    if (options_->interval_us != 0 && !options_->live)
      problems_->push_back("STRATA: \"interval=\" is ignored: it is the time of a sample of live.");
    if (options_->live && asks_for_host_ && !options_->trace) {
      options_->live = false;
      problems_->push_back(
          "STRATA: \"live\" is ignored with host, which uses neither the driver nor CUPTI: leave "
          "one of the two out.");
    }
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
      if (row.key == std::string_view("formats")) line += format_names("+");
      line.resize(larger<std::size_t>(line.size() + 2, 41), ' ');
      text += line + row.meaning;
      text += *row.fallback == '\0' ? "\n" : std::string(" (") + row.fallback + ")\n";
    }
    return text + "\nIn brackets: the default.\n";
  }

 private:
  /// An item of the text.
  struct item {
    std::string_view key;
    std::string_view value;
    bool has_value;
  };
  /// A key: what `help` says of it, and how it is read.
  struct key_row {
    char const* key;
    char const* value;  // as in `out=DIRECTORY`
    char const* meaning;
    char const* fallback;  // where the key is not given
    void (options_reader::*read)(key_row const& row, item const& given);
    char const* takes;  // in the message about another value
  };

  struct flag_row {
    std::string_view name;
    flag_field field;
  };
  static constexpr flag_row all_kinds[] = {
      {"kernels", &options::trace_kernels}, {"copies", &options::trace_copies},
      {"memory", &options::trace_memory},   {"waits", &options::trace_waits},
      {"managed", &options::trace_managed},
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

  void set(item const& given) {
    // These words are the values of a key that has no name.
    bool const is_switch = given.key == "on" || given.key == "1" || given.key == "0";
    std::string_view const name = is_switch ? "off" : given.key;
    for (key_row const& row : keys) {
      if (name != row.key) continue;
      ++known_;
      return (this->*row.read)(row, given);
    }
    ++unknown_;
    problems_->push_back(no_key(given.key));
  }

  // What the rows are read by.

  /// Whether anything is recorded.
  void whether(key_row const& row, item const& given) {
    if (given.has_value) return wrong(given, row.takes);
    options_->enabled = given.key == "on" || given.key == "1";
    asks_for_trace_ = asks_for_trace_ || options_->enabled;
  }
  /// Whether anything of the device is.
  void trace(key_row const& row, item const& given) {
    bool is_flag = given.value.empty();
    for (std::string_view const word : {"1", "0", "on", "off"})
      is_flag = is_flag || given.value == word;
    if (!is_flag) return device_kinds(row, given);
    bool on = options_->trace;
    if (read_flag(given, on)) options_->enabled = options_->enabled || on;
    options_->trace = asks_for_trace_ = on;
  }
  void live(key_row const&, item const& given) {
    if (read_flag(given, options_->live)) options_->enabled = options_->enabled || options_->live;
  }
  void interval(key_row const& row, item const& given) {
    std::uint32_t read = 0;
    if (!read_number(given.value, read) || read < 20 || read > 1000) return wrong(given, row.takes);
    options_->interval_us = read;
  }
  void host(key_row const&, item const& given) {
    bool only_host = !options_->trace;
    (void)read_flag(given, only_host);
    options_->trace = !only_host;
    asks_for_host_ = only_host;
  }
  void attach(key_row const& row, item const& given) {
    bool const in_window = given.value == "window";
    if (!in_window && given.value != "start") return wrong(given, row.takes);
    options_->attach_in_window = in_window;
  }
  template <auto Field>
  void text(key_row const& row, item const& given) {
    if (given.value.empty() && *row.takes != '\0') return wrong(given, row.takes);
    (options_->*Field).assign(given.value);
  }
  template <auto Field, std::uint32_t Min>
  void number(key_row const& row, item const& given) {
    read_number_from(Min, row, given, options_->*Field);
  }
  template <auto Field>
  void flag(key_row const&, item const& given) {
    (void)read_flag(given, options_->*Field);
  }
  template <auto Field>
  void patterns(key_row const& row, item const& given) {
    vec<std::string> read;
    std::string_view left = given.value;
    for (std::string_view pattern; take(left, pattern);) read.emplace_back(pattern);
    if (read.empty()) return wrong_patterns(row, given);
    options_->*Field = std::move(read);
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

  void wrong(item const& given, std::string_view wanted, std::string_view hint = ":") {
    std::string text = "STRATA: \"";
    text.append(given.key).append("=").append(quoted(given.value)).append("\" is ignored");
    text.append(hint).append(" ").append(given.key).append(" takes ").append(wanted).append(".");
    problems_->push_back(std::move(text));
  }

  void wrong_patterns(key_row const& row, item const& given) {
    if (*row.takes != '\0') return wrong(given, row.takes);
    std::string const wanted = sentence("names of ranges joined by +, as in ")
                               << row.key << "=attention+mlp";
    wrong(given, wanted);
  }

  void read_number_from(std::uint32_t min, key_row const& row, item const& given,
                        std::uint32_t& setting) {
    std::uint32_t read = 0;
    std::string_view const value = given.value;
    if (read_number(value, read) && read >= min) {
      setting = read;
      return;
    }
    std::string_view const digits = value.substr(0, value.find_first_not_of("0123456789"));
    if (!value.empty() && digits.size() == value.size() && read == 0 && value.size() > 9)
      return wrong(given, "4294967295 at most", ", since it is too large:");
    std::string_view const unit = row.value;
    std::string wanted = "a whole number";
    wanted += unit == "=S" ? " of s" : unit == "=MS" ? " of ms" : unit == "=MB" ? " of MB" : "";
    if (min != 0) wanted = sentence(wanted) << " from " << min;
    wrong(given, wanted);
  }

  bool read_flag(item const& given, bool& setting) {
    bool const on = given.value.empty() || given.value == "1" || given.value == "on";
    if (on || given.value == "0" || given.value == "off") {
      setting = on;
      return true;
    }
    wrong(given, "1 or 0");
    return false;
  }

  /// Takes the next item off a list joined by +; false at its end.
  static bool take(std::string_view& list, std::string_view& item) {
    for (item = {}; item.empty() && !list.empty();) item = trimmed(take_until(list, "+"));
    return !item.empty();
  }

  void formats(key_row const&, item const& given) {
    std::uint32_t chosen = 0;
    bool any_known = false;
    bool none = false;
    std::string_view left = given.value;
    std::string const wanted = format_names(", ") + ", joined by +, or none";
    for (std::string_view format; take(left, format);) {
      std::uint32_t const bit = bit_of(report_formats, format);
      none = none || format == "none";
      bool const known = bit != 0 || format == "none";
      if (!known) wrong({given.key, format, true}, wanted);
      any_known = any_known || known;
      chosen |= bit;
    }
    if (none && chosen != 0)
      problems_->push_back(sentence("STRATA: in \"formats=")
                           << quoted(given.value)
                           << "\" none is ignored: it cannot be combined with others.");
    if (any_known) {
      set_flags(report_formats, chosen);
    } else if (given.value.find_first_not_of("+ \t") == given.value.npos) {
      wrong(given, wanted);
    }
  }

  void sort(key_row const& row, item const& given) {
    nearest_names nearest(given.value);
    for (std::size_t i = 0; i < std::size(row_order_names); ++i) {
      if (given.value == row_order_names[i])
        return (void)(options_->sort = static_cast<options::order>(static_cast<row_order>(i)));
      nearest.consider(row_order_names[i]);
    }
    wrong(given, row.takes, meant(nearest));
  }

  void device_kinds(key_row const& row, item const& given) {
    std::uint32_t chosen = 0;
    std::string_view left = given.value;
    for (std::string_view kind; take(left, kind);) {
      std::uint32_t const bit = bit_of(all_kinds, kind);
      if (bit == 0) return wrong(given, row.takes);
      chosen |= bit;
    }
    set_flags(all_kinds, chosen);
    options_->trace = options_->enabled = asks_for_trace_ = true;
  }

  void counters(key_row const& row, item const& given) {
    std::string_view value = given.value;
    if (value.empty()) return wrong(given, row.takes);
    options_->counters.clear();
    options_->cpu_counters.clear();
    for (std::string_view counted; take(value, counted);) {
      bool const of_cpu = counted == "cpu" || counted.substr(0, 4) == "cpu_";
      std::string& list = of_cpu ? options_->cpu_counters : options_->counters;
      add_part(list, counted, "+");
    }
    if (!options_->counters.empty())
      options_->trace = asks_for_trace_ = true;  // the CPU's need none
  }

  void nvtx(key_row const& row, item const& given) {
    using mode = options::nvtx_mode;
    bool in = false;
    bool out = false;
    bool off = false;
    bool known = true;
    std::string_view left = given.value;
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
    if (!known || off == (in || out)) return wrong(given, row.takes);
    options_->nvtx = off ? mode::off : !out ? mode::in : in ? mode::in_and_out : mode::out;
  }

  static constexpr key_row keys[] = {
      {"trace", "[=kernels+copies+memory+waits+managed]",
       "collect GPU activity by CUPTI, besides the ranges, all of it or these kinds", "on",
       &options_reader::trace, "1, 0, or kernels, copies, memory, waits and managed joined by +"},
      {"host", "", "ranges and host times only", "", &options_reader::host, ""},
      {"live", "",
       "experimental: sample the GPU's traffic; with trace the ranges have it, else the steps", "",
       &options_reader::live, ""},
      {"interval", "=US", "with live: the time of a sample, 20 to 1000 us", "309",
       &options_reader::interval, "a whole number of us from 20 to 1000"},
      {"off", "", "nothing is recorded or printed", "", &options_reader::whether, "no value"},
      {"out", "=DIRECTORY", "where the files go", "strata-out",
       &options_reader::text<&options::out>, "a directory, as in out=run1"},
      {"formats", "=", "what is written, or none", "the first four", &options_reader::formats, ""},
      {"sort", "=cost|order|name", "ranges below one: the longest first, as they ran, or by name",
       "cost", &options_reader::sort, "cost, order or name"},
      {"step", "=NAME|graph|sync|auto",
       "the calls of these ranges are the steps; or launches of the main CUDA graph, the periodic "
       "wait, or the period that is found",
       "", &options_reader::text<&options::step>, "the name of a range, as in step=Train step"},
      {"skip", "=N", "steps that are not recorded, before each window", "0",
       &options_reader::number<&options::skip, 0>, ""},
      {"warmup", "=N", "steps of a window that are recorded and dropped", "0",
       &options_reader::number<&options::warmup, 0>, ""},
      {"active", "=N", "steps of a window that are kept", "all that follow",
       &options_reader::number<&options::active, 1>, ""},
      {"repeat", "=N", "how many windows; 0: until the program ends", "1",
       &options_reader::number<&options::repeat, 0>, ""},
      {"every", "=N", "a window of warmup + active steps at the end of each N steps", "",
       &options_reader::number<&options::every, 1>, ""},
      {"trigger", "=FILE", "each touch of this file records warmup + active steps and reports them",
       "", &options_reader::text<&options::trigger>, "a file, as in trigger=/tmp/profile-now"},
      {"slower", "=PERCENT", "with trigger: also where steps take that much longer than before", "",
       &options_reader::number<&options::slower, 1>, ""},
      {"keep", "=N", "with every or trigger: each window has a report, and the last N stay", "",
       &options_reader::number<&options::keep, 1>, ""},
      {"for", "=S", "the report comes after S seconds, and the program continues", "",
       &options_reader::number<&options::for_s, 1>, ""},
      {"attach", "=start|window",
       "when CUPTI comes into the process: at the start, or with the first window", "start",
       &options_reader::attach, "start or window"},
      {"adopt", "=on|off",
       "GPU work of threads in no range belongs to the range of the thread that drives the steps",
       "on", &options_reader::flag<&options::adopt>, ""},
      {"only", "=NAME+...", "rows for these ranges and what is below them", "",
       &options_reader::patterns<&options::only>, ""},
      {"collectives", "=KERNEL+...",
       "kernels in which GPUs wait for each other, beside those whose names are known", "",
       &options_reader::patterns<&options::collectives>,
       "names of kernels joined by +, as in collectives=my_all_reduce+exchange*"},
      {"counters", "=hbm+l1+...", "hardware counters of the GPU, in the steps after the timed ones",
       "", &options_reader::counters, "presets or metrics joined by +, as in counters=hbm+l1+cpu"},
      {"kernels", "=NAME+...",
       "with counters: the kernels of these ranges, and below them, are counted one by one; all; "
       "off",
       "with findings: of ranges with several kernels",
       &options_reader::patterns<&options::kernels>, ""},
      {"ceilings", "=FILE", "measured roofs of this device, as strata ceilings keeps them; or off",
       "those of the cache", &options_reader::text<&options::ceilings>, "a file, or off"},
      {"sync", "", "wait for the GPU at the end of every range", "",
       &options_reader::flag<&options::synchronize>, ""},
      {"nvtx", "=in+out", "in: NVTX ranges become rows; out: ranges become NVTX ranges; or off", "",
       &options_reader::nvtx, "in, out, in+out, or off"},
      {"log", "=MB", "memory limit of ranges, launches and names", "256",
       &options_reader::number<&options::log_mb, 1>, ""},
      {"buffers", "=MB", "memory limit of GPU activity and its sums", "512",
       &options_reader::number<&options::buffers_mb, 16>, ""},
      {"drain", "=MS", "how long the end waits for a GPU that does not answer", "1000",
       &options_reader::number<&options::drain_ms, 1>, ""},
      {"watchdog", "=S", "says where the program is after S seconds without any progress; 0: never",
       "0", &options_reader::number<&options::watchdog_s, 0>, ""},
      {"verbose", "", "says what is opened, and when windows begin and end", "",
       &options_reader::flag<&options::verbose>, ""},
      {"strict", "", "exit code 3 when the program exits by itself and there was any problem", "",
       &options_reader::flag<&options::strict>, ""},
      {"library", "=FILE", "set by strata run --library, for the next command of an answer", "",
       &options_reader::text<&options::library>, ""},
      {"help", "", "print these lines on stdout; record nothing", "",
       &options_reader::flag<&options::help>, ""},
  };

  options* options_;
  vec<std::string>* problems_;
  bool asks_for_trace_ = false;  // by a key
  bool asks_for_host_ = false;
  std::size_t known_ = 0;
  std::size_t unknown_ = 0;  // keys
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_OPTIONS_READER_HPP
