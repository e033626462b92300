#ifndef STRATA_TABLES_COLLECTIVES_HPP
#define STRATA_TABLES_COLLECTIVES_HPP

#include <strata/tables/kernel_names.hpp>
#include <strata/tables/range_rows.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN

/// What a kernel does together with other GPUs, which it waits for.
enum class collective_operation : std::uint8_t {
  none,  ///< it works alone
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  send_receive,
  dispatch,  ///< of tokens to the experts of other GPUs
  combine,   ///< of what these computed
  barrier,
  other  ///< its name does not tell
};

/// A collective as the name of its kernel has it; what the name does not tell is empty.
struct collective_kind {
  collective_operation operation = collective_operation::none;
  std::string_view algorithm;  ///< ring, tree, nvls, one_shot, ...
  std::string_view protocol;   ///< ll, ll128, simple, lamport

  explicit operator bool() const noexcept { return operation != collective_operation::none; }
};

/// The name of an operation in files; empty for none.
constexpr std::string_view to_string(collective_operation operation) noexcept {
  constexpr std::string_view names[] = {
      "",        "all_reduce", "all_gather",   "reduce_scatter", "broadcast", "reduce",  "gather",
      "scatter", "all_to_all", "send_receive", "dispatch",       "combine",   "barrier", "other"};
  return names[static_cast<std::size_t>(operation)];
}

namespace detail {

/// A name as words: of `oneShotAllReduceKernel` and `one_shot_all_reduce_kernel` one, shot, all,
/// reduce and kernel. A number at the end of a word belongs to it.
class name_words {
 public:
  explicit name_words(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      char const letter = name[i];
      if (!is_letter(letter) && !is_digit(letter)) continue;
      if (i == 0 || begins_word(name, i)) begins_.push_back(letters_.size());
      letters_ += lower(letter);
    }
    begins_.push_back(letters_.size());
  }

  /// Whether these letters are whole words, however they are parted: `allreduce` of AllReduce,
  /// all_reduce and allreduce2. Not where the word before them is in `not_after`.
  bool has(std::string_view wanted, std::initializer_list<std::string_view> not_after = {}) const {
    for (std::size_t word = 0; word + 1 < begins_.size(); ++word) {
      std::size_t const begin = begins_[word];
      if (letters_[begin] != wanted[0] || !continues_with(letters_, begin, wanted)) continue;
      std::size_t const end = begin + wanted.size();
      if (!is_end(end)) continue;
      if (word == 0 || !is_among(between(begins_[word - 1], begin), not_after)) return true;
    }
    return false;
  }
  bool has_any(std::initializer_list<std::string_view> list) const {
    for (std::string_view const wanted : list)
      if (has(wanted)) return true;
    return false;
  }

 private:
  static bool is_among(std::string_view word,
                       std::initializer_list<std::string_view> words) noexcept {
    for (std::string_view const other : words)
      if (word == other) return true;
    return false;
  }
  static bool is_letter(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || is_upper(letter);
  }
  static bool is_upper(char letter) noexcept { return letter >= 'A' && letter <= 'Z'; }
  /// `i` > 0 is a letter or a digit.
  static bool begins_word(std::string_view name, std::size_t i) noexcept {
    char const before = name[i - 1];
    if (!is_letter(before) && !is_digit(before)) return true;
    if (!is_upper(name[i])) return false;
    bool const is_small = !is_upper(before) && is_letter(before);
    bool const ends_capitals = i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    return is_small || ends_capitals;
  }
  std::string_view between(std::size_t begin, std::size_t end) const noexcept {
    return std::string_view(letters_).substr(begin, end - begin);
  }
  bool is_end(std::size_t end) const noexcept {
    if (end < letters_.size() && is_digit(letters_[end]) && !is_digit(letters_[end - 1]))
      return true;
    return begins_.contains(end);
  }

  std::string letters_;
  vec<std::size_t> begins_;  // of words, and the end
};

/// What the words of a name say of an operation between GPUs.
inline collective_operation operation_of(name_words const& words) {
  struct phrase {
    std::string_view letters;
    collective_operation operation;
  };
  using op = collective_operation;
  // Of libraries whose every kernel talks to other GPUs. Longer ones first.
  constexpr phrase phrases[] = {{"allreduce", op::all_reduce},
                                {"crossdevicereduce", op::all_reduce},
                                {"allgather", op::all_gather},
                                {"fcollect", op::all_gather},
                                {"reducescatter", op::reduce_scatter},
                                {"alltoall", op::all_to_all},
                                {"alltoallv", op::all_to_all},
                                {"sendrecv", op::send_receive},
                                {"broadcast", op::broadcast},
                                {"barrier", op::barrier},
                                {"dispatch", op::dispatch},
                                {"combine", op::combine},
                                {"a2a", op::all_to_all},
                                {"rdxn", op::all_reduce},
                                {"send", op::send_receive},
                                {"recv", op::send_receive},
                                {"put", op::send_receive},
                                {"get", op::send_receive},
                                {"pushsend", op::send_receive},
                                {"pushrecv", op::send_receive},
                                {"reduce", op::reduce},
                                {"gather", op::gather},
                                {"scatter", op::scatter},
                                {"sync", op::barrier}};
  for (phrase const& known : phrases)
    if (words.has(known.letters)) return known.operation;
  return op::other;
}

/// Whether a kernel belongs to a library, or to a part of one, that only communicates with other
/// GPUs. `name` is short, `whole` has its namespaces, mangled or not.
inline bool is_of_communication(std::string_view name, std::string_view whole,
                                name_words const& words) {
  if (begins_with(name, "nccl") || begins_with(name, "mscclKernel") || begins_with(name, "nvshmem"))
    return true;
  auto const is_in = [whole](std::string_view scope) { return whole.find(scope) != whole.npos; };
  if (words.has("onstream") &&
      words.has_any({"barrier", "sync", "alltoall", "broadcast", "fcollect", "rdxn", "reduce",
                     "reducescatter", "signal"}))
    return true;  // NVSHMEM's, called by the host
  if (words.has_any({"userbuffers", "kuserbuffers", "multimem"})) return true;
  if (is_in("deep_ep") && words.has_any({"dispatch", "combine", "notify", "barrier"})) return true;
  if (is_in("mscclpp") || is_in("nvshmem_extension")) return true;
  return is_in("symmetric_memory") && words.has_any({"barrier", "signal"});
}

/// What a kernel does together with other GPUs, by its name. A kernel that also computes,
/// like a matrix product with its reduction, is work.
/// `name` is short, `whole` has its namespaces, mangled or not.
inline collective_operation operation_of(std::string_view name, std::string_view whole) {
  using op = collective_operation;
  name_words const words(name);
  if (is_of_communication(name, whole, words)) return operation_of(words);
  if (words.has_any({"gemm", "gemv", "matmul", "attention", "prepare"})) return op::none;
  // Inductor's, which are named after the operations around them.
  if (begins_with(name, "triton_") && words.has("fused")) return op::none;
  // In which threads of one GPU meet.
  std::initializer_list<std::string_view> const local = {
      "block", "warp", "cta", "thread", "lane", "wave", "quad", "grid", "cluster", "subgroup"};
  struct phrase {
    std::string_view letters;
    op operation;
  };
  constexpr phrase phrases[] = {
      {"allreduce", op::all_reduce}, {"crossdevicereduce", op::all_reduce},
      {"allgather", op::all_gather}, {"reducescatter", op::reduce_scatter},
      {"alltoall", op::all_to_all},  {"alltoallv", op::all_to_all}};
  for (phrase const& known : phrases)
    if (words.has(known.letters, local)) return known.operation;
  if (words.has("a2a") && words.has("dispatch")) return op::dispatch;
  if (words.has("a2a") && words.has("combine")) return op::combine;
  if (words.has("a2a") && words.has_any({"send", "recv"})) return op::all_to_all;
  bool const waits = words.has("lamport") && !words.has_any({"init", "initialize", "clear"});
  return waits ? op::other : op::none;
}

/// NCCL names most kernels RING_LL, whatever algorithm and protocol they run: that says nothing,
/// and LL behind TREE nothing of the protocol.
/// Source: best_kernel of NCCL's src/device/generate.py.
inline void add_algorithm(std::string_view name, name_words const& words, collective_kind& kind) {
  struct phrase {
    std::string_view letters;
    std::string_view meaning;
  };
  constexpr phrase algorithms[] = {{"nvlstree", "nvls_tree"},
                                   {"nvls", "nvls"},
                                   {"collnetdirect", "collnet_direct"},
                                   {"collnetchain", "collnet_chain"},
                                   {"collnet", "collnet"},
                                   {"pat", "pat"},
                                   {"tree", "tree"},
                                   {"ring", "ring"},
                                   {"multimem", "nvls"},
                                   {"oneshot", "one_shot"},
                                   {"1stage", "one_shot"},
                                   {"twoshot", "two_shot"},
                                   {"2stage", "two_shot"}};
  constexpr phrase protocols[] = {
      {"ll128", "ll128"}, {"simple", "simple"}, {"lamport", "lamport"}, {"ll", "ll"}};
  auto const add = [&words](std::string_view& meaning, auto const& phrases) {
    for (phrase const& known : phrases)
      if (meaning.empty() && words.has(known.letters)) meaning = known.meaning;
  };
  add(kind.algorithm, algorithms);
  add(kind.protocol, protocols);
  bool const is_named_alike = begins_with(name, "nccl") && !begins_with(name, "ncclSym");
  if (!is_named_alike || kind.protocol != "ll") return;
  kind.protocol = {};
  if (kind.algorithm == "ring") kind.algorithm = {};
}

/// The innermost range of a path that is one of NCCL's own; empty if none is.
inline std::string_view nccl_range(std::string_view path) noexcept {
  for (std::size_t begin = path.size(); begin != 0;) {
    begin = path.rfind('/', begin - 1);
    std::size_t const name = begin == path.npos ? 0 : begin + 1;
    if (begins_with(path.substr(name), nccl_domain)) return path.substr(name + nccl_domain.size());
    if (begin == path.npos) break;
  }
  return {};
}

/// Whether a kernel is a collective, and which, by its name, or by the patterns that the user gave,
/// joined by `+`, which are of its short name or of the whole of it.
inline collective_kind collective_named(std::string_view name, std::string_view whole,
                                        std::string_view listed) {
  collective_kind kind;
  kind.operation = operation_of(name, whole);
  while (!listed.empty() && !kind) {
    std::string_view const pattern = take_until(listed, "+");
    if (matches(name, pattern) || matches(whole, pattern))
      kind.operation = operation_of(name_words(name));
  }
  if (kind) add_algorithm(name, name_words(name), kind);
  return kind;
}
/// The same of a kernel in a range: in NCCL's own ranges every kernel is one.
inline collective_kind collective_in(std::string_view path, collective_kind kind) {
  std::string_view const call = kind ? std::string_view() : nccl_range(path);
  if (!call.empty()) kind.operation = operation_of(name_words(call));
  return kind;
}

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_TABLES_COLLECTIVES_HPP
