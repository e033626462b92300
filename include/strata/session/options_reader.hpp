#include <strata/version.hpp>
#ifndef STRATA_SESSION_OPTIONS_READER_HPP
#define STRATA_SESSION_OPTIONS_READER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>

#include <charconv>
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
  options_reader(options& to, vec<std::string>& problems) : to_(&to), problems_(&problems) {}

  void read(std::string_view text) {
    while (!text.empty()) {
      std::size_t const comma = text.find(',');
      std::string_view const item = trim(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
      if (item.empty()) continue;
      std::size_t const equals = item.find_first_of("=:");
      bool const has_value = equals != std::string_view::npos;
      set(trim(item.substr(0, equals)),
          has_value ? trim(item.substr(equals + 1)) : std::string_view{}, has_value);
    }
  }

 private:
  static constexpr std::string_view keys =
      "trace, host, off, out, formats, skip, warmup, active, repeat, only, counters, kernels, "
      "sync, nvtx, "
      "verbose, strict, log, buffers, list-metrics, chip";

  static std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    while (!text.empty() && blanks.find(text.front()) != blanks.npos) text.remove_prefix(1);
    while (!text.empty() && blanks.find(text.back()) != blanks.npos) text.remove_suffix(1);
    return text;
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

  void set(std::string_view key, std::string_view value, bool has_value) {
    if (key == "trace") {
      bool on = to_->trace;
      if (flag(key, value, on)) to_->enabled = to_->enabled || on;
      to_->trace = on;
      return;
    }
    if (key == "host") {
      bool only_host = !to_->trace;
      (void)flag(key, value, only_host);
      to_->trace = !only_host;
      return;
    }
    if ((key == "on" || key == "1") && !has_value) {
      to_->enabled = true;
      return;
    }
    if ((key == "off" || key == "0") && !has_value) {
      to_->enabled = false;
      return;
    }
    if (key == "on" || key == "1" || key == "off" || key == "0")
      return wrong(key, value, "no value");
    if (key == "out") {
      if (value.empty()) return wrong(key, value, "a directory, as in out=run1");
      to_->out = std::string(value);
      return;
    }
    if (key == "counters") return counters(value);
    if (key == "list-metrics") return (void)flag(key, value, to_->list_metrics);
    if (key == "chip") {
      to_->chip = std::string(value);
      return;
    }
    if (key == "formats") return formats(value);
    if (key == "only") return patterns(key, value, to_->only);
    if (key == "kernels") return patterns(key, value, to_->kernels);
    if (key == "skip") return number(key, value, to_->skip, 0);
    if (key == "warmup") return number(key, value, to_->warmup, 0);
    if (key == "active") return number(key, value, to_->active, 1);
    if (key == "repeat") return number(key, value, to_->repeat, 0);
    if (key == "log") return number(key, value, to_->log_mb, 1);
    if (key == "buffers") return number(key, value, to_->buffers_mb, 16);
    if (key == "sync") return (void)flag(key, value, to_->synchronize);
    if (key == "verbose") return (void)flag(key, value, to_->verbose);
    if (key == "strict") return (void)flag(key, value, to_->strict);
    if (key == "nvtx") return nvtx(value);
    problems_->push_back("STRATA: there is no key \"" + quoted(key) + "\"; the keys are " +
                         std::string(keys) + ".");
  }

  void wrong(std::string_view key, std::string_view value, std::string_view wanted) {
    problems_->push_back("STRATA: \"" + std::string(key) + "=" + quoted(value) + "\" is ignored: " +
                         std::string(key) + " takes " + std::string(wanted) + ".");
  }

  void number(std::string_view key, std::string_view value, std::uint32_t& to,
              std::uint32_t least) {
    std::uint32_t read = 0;
    auto const end = value.data() + value.size();
    auto const result = std::from_chars(value.data(), end, read);
    if (result.ec != std::errc{} || result.ptr != end || read < least) {
      return wrong(key, value,
                   least == 0 ? "a whole number" : "a whole number from " + std::to_string(least));
    }
    to = read;
  }

  bool flag(std::string_view key, std::string_view value, bool& to) {
    if (value.empty() || value == "1" || value == "on") {
      to = true;
    } else if (value == "0" || value == "off") {
      to = false;
    } else {
      wrong(key, value, "1 or 0");
      return false;
    }
    return true;
  }

  template <class Sink>
  static void each(std::string_view list, Sink sink) {
    while (!list.empty()) {
      std::size_t const plus = list.find('+');
      std::string_view const item = trim(list.substr(0, plus));
      if (!item.empty()) sink(item);
      list = plus == std::string_view::npos ? std::string_view{} : list.substr(plus + 1);
    }
  }

  void formats(std::string_view value) {
    options chosen = *to_;
    chosen.table = chosen.csv = chosen.json = chosen.chrome_trace = false;
    bool any_known = false;
    constexpr std::string_view wanted = "table, csv, json and trace joined by +, or none";
    each(value, [&](std::string_view format) {
      bool known = true;
      if (format == "table") {
        chosen.table = true;
      } else if (format == "csv") {
        chosen.csv = true;
      } else if (format == "json") {
        chosen.json = true;
      } else if (format == "trace") {
        chosen.chrome_trace = true;
      } else if (format != "none") {
        known = false;
        wrong("formats", format, wanted);
      }
      any_known = any_known || known;
    });
    if (any_known) {
      *to_ = chosen;
    } else if (trim(value).find_first_not_of("+ \t") == value.npos) {
      wrong("formats", value, wanted);
    }
  }

  void counters(std::string_view value) {
    if (value.empty())
      return wrong("counters", value, "presets or metrics joined by +, as in counters=hbm+l1+cpu");
    to_->counters.clear();
    to_->cpu_counters.clear();
    each(value, [&](std::string_view item) {
      bool const of_cpu = item == "cpu" || item.substr(0, 4) == "cpu_";
      std::string& list = of_cpu ? to_->cpu_counters : to_->counters;
      list.append(list.empty() ? "" : "+").append(item);
    });
    if (!to_->counters.empty()) to_->trace = true;  // the CPU's need none
  }

  void patterns(std::string_view key, std::string_view value, vec<std::string>& to) {
    vec<std::string> read;
    each(value, [&](std::string_view pattern) { read.emplace_back(pattern); });
    if (read.empty()) {
      return wrong(key, value,
                   "names of ranges joined by +, as in " + std::string(key) + "=attention+mlp");
    }
    to = std::move(read);
  }

  void nvtx(std::string_view value) {
    using mode = options::nvtx_mode;
    bool in = false;
    bool out = false;
    bool off = false;
    bool known = true;
    each(value, [&](std::string_view way) {
      if (way == "in") {
        in = true;
      } else if (way == "out" || way == "1" || way == "on") {
        out = true;
      } else if (way == "off" || way == "0") {
        off = true;
      } else {
        known = false;
      }
    });
    if (!known || off == (in || out)) return wrong("nvtx", value, "in, out, in+out, or off");
    to_->nvtx = off ? mode::off : !out ? mode::in : in ? mode::in_and_out : mode::out;
  }

  options* to_;
  vec<std::string>* problems_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_OPTIONS_READER_HPP
