#include <strata/version.hpp>
#ifndef STRATA_PROFILE_FORMULA_HPP
#define STRATA_PROFILE_FORMULA_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Part of `text` before the first `mark`; `text` becomes what follows it.
inline std::string_view take_until(std::string_view& text, std::string_view marks) noexcept {
  std::size_t const at = text.find_first_of(marks);
  std::string_view const head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return head;
}

inline std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Calls f(name, optional) for each name in a formula.
template <class Function>
void for_each_name(std::string_view formula, Function&& f) {
  std::size_t i = 0;
  bool optional = false;
  while (i < formula.size()) {
    char const c = formula[i];
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool const digit = (c >= '0' && c <= '9') || c == '.';
    std::size_t end = i + 1;
    if (letter || digit) {
      end = formula.find_first_of(" +*/()?|", i);
      if (end == std::string_view::npos) end = formula.size();
    }
    if (letter) f(formula.substr(i, end - i), optional);
    optional = c == '?';
    i = end;
  }
}

/// Evaluates sums, products and quotients of numbers and names: `100 * (a + 2 * b) / c`.
/// value_of(name) gives a name's value, NaN where there is none. NaN is the result then, except
/// that `?name` counts as 0, and where a divisor is 0.
/// Cost: linear in the text; nothing is allocated.
template <class Value>
class formula_evaluator {
 public:
  formula_evaluator(std::string_view text, Value value_of)
      : text_(text), value_of_(std::move(value_of)) {}

  double run() {
    double const result = sum();
    skip();
    return text_.empty() ? result : none();
  }

 private:
  static double none() { return std::numeric_limits<double>::quiet_NaN(); }

  void skip() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }

  bool take(char wanted) {
    skip();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  double sum() {
    double result = product();
    while (take('+')) result += product();
    return result;
  }

  double product() {
    double result = factor();
    for (;;) {
      if (take('*')) {
        result *= factor();
      } else if (take('/')) {
        double const divisor = factor();
        result = divisor == 0.0 ? none() : result / divisor;
      } else {
        return result;
      }
    }
  }

  double factor() {
    if (take('(')) {
      double const result = sum();
      return take(')') ? result : none();
    }
    bool const optional = take('?');
    skip();
    std::size_t const end = text_.find_first_of(" +*/()?|");
    std::string_view const word = text_.substr(0, end);
    text_.remove_prefix(word.size());
    if (word.empty()) return none();
    if (word[0] >= '0' && word[0] <= '9') return number(word);
    double const value = value_of_(word);
    return optional && value != value ? 0.0 : value;
  }

  /// Digits with an optional power of ten, as 32 or 1e9.
  static double number(std::string_view word) {
    double result = 0.0;
    int exponent = 0;
    bool in_exponent = false;
    for (char const c : word) {
      if (c == 'e' && !in_exponent) {
        in_exponent = true;
      } else if (c < '0' || c > '9') {
        return none();
      } else if (in_exponent) {
        exponent = exponent < 400 ? exponent * 10 + (c - '0') : 400;
      } else {
        result = result * 10 + (c - '0');
      }
    }
    for (int i = 0; i < exponent; ++i) result *= 10;
    return result;
  }

  std::string_view text_;
  Value value_of_;
};

template <class Value>
double evaluate_formula(std::string_view formula, Value value_of) {
  return formula_evaluator<Value>(formula, std::move(value_of)).run();
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_FORMULA_HPP
