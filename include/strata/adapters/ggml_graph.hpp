#include <strata/version.hpp>
#ifndef STRATA_ADAPTERS_GGML_GRAPH_HPP
#define STRATA_ADAPTERS_GGML_GRAPH_HPP

#include <strata/base/macros.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// The name of a tensor in its parts: `Qcur-12 (reshaped)` is Qcur of layer 12, and so is
/// `blk.12.attn_q.weight` attn_q, a weight, and `cache_k_l12` cache_k. Numbered names (`node_7`)
/// are none.
struct ggml_label {
  std::string_view base;
  std::int64_t layer = no_index;
  bool weight = false;

  static ggml_label of(std::string_view text) noexcept {
    ggml_label found;
    text = text.substr(0, text.find(" ("));
    if (text.substr(0, 4) == "blk.") {
      text.remove_prefix(4);
      found.layer = leading_number(text);
      found.weight = true;
    }
    for (std::string_view const end : {std::string_view(".weight"), std::string_view(".bias")}) {
      if (text.size() <= end.size() || text.substr(text.size() - end.size()) != end) continue;
      text.remove_suffix(end.size());
      found.weight = true;
    }
    if (std::size_t const dot = text.rfind('.'); dot != std::string_view::npos)
      text.remove_prefix(dot + 1);
    if (std::int64_t const number = cut_number(text, "-"); number != no_index)
      found.layer = number;
    else if (std::int64_t const cache = cut_number(text, "_l"); cache != no_index)
      found.layer = cache;
    std::string_view numbered = text;
    if (cut_number(numbered, "_") == no_index || (numbered != "node" && numbered != "leaf"))
      found.base = text;
    return found;
  }

 private:
  static bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

  static std::int64_t leading_number(std::string_view text) noexcept {
    std::int64_t number = 0;
    std::size_t at = 0;
    for (; at < text.size() && at < 9 && digit(text[at]); ++at)
      number = number * 10 + text[at] - '0';
    return at == 0 ? no_index : number;
  }

  /// Takes `mark` and the number behind it off the end of the text.
  static std::int64_t cut_number(std::string_view& text, std::string_view mark) noexcept {
    std::size_t first = text.size();
    while (first > 0 && digit(text[first - 1])) --first;
    if (first == text.size() || text.size() - first > 9 || first < mark.size() ||
        text.substr(first - mark.size(), mark.size()) != mark)
      return no_index;
    std::int64_t const number = leading_number(text.substr(first));
    text.remove_suffix(text.size() - first + mark.size());
    return number;
  }
};

/// A name, or how it begins, and the part that it tells.
struct ggml_role_rule {
  std::string_view text;
  std::string_view role;
  bool whole = false;
};

/// The part of a model that a tensor belongs to; empty where its name does not tell.
/// Source: the names that llama.cpp gives to the tensors of its graphs and to weights.
class ggml_role {
 public:
  static constexpr std::string_view attention = "attention";
  static constexpr std::string_view mlp = "mlp";
  static constexpr std::string_view norm = "norm";
  static constexpr std::string_view recurrent = "recurrent";
  static constexpr std::string_view embedding = "embedding";
  static constexpr std::string_view output = "output";
  static constexpr std::string_view unknown = "graph";

  static std::string_view of(ggml_label const& label) noexcept {
    std::string_view base = label.base;
    if (base.empty()) return {};
    if (starts(base, "mtp_")) base.remove_prefix(4);
    if (is_norm(base)) {
      if (label.layer != no_index) return norm;
      for (std::string_view const first : {"inp", "emb", "tok", "pos", "enc_input"})
        if (starts(base, first)) return embedding;
      return output;
    }
    for (ggml_role_rule const& r : rules) {
      if (r.whole ? base == r.text : starts(base, r.text)) return r.role;
    }
    return {};
  }

  /// Whether layers have this part.
  static bool in_layer(std::string_view role) noexcept {
    return role == attention || role == mlp || role == norm || role == recurrent;
  }

  /// Whether a tensor of this name is known to be the last of its part; for graphs that have not
  /// been seen before.
  static bool ends(ggml_label const& label, std::string_view role) noexcept {
    std::string_view const base = label.base;
    if (role == norm) return base != "norm" && base != "norm_w";
    for (std::string_view const last : {"embd", "inp_embd", "ffn_inp", "l_out", "result_output"})
      if (base == last) return true;
    return false;
  }

 private:
  // The first that fits holds.
  static constexpr ggml_role_rule rules[] = {
      {"result", output},
      {"output", output},
      {"lm_head", output},
      {"lmhead", output},
      {"logits", output},
      {"cls", output},
      {"inp", embedding},
      {"emb", embedding},
      {"token_embd", embedding},
      {"tok_embd", embedding},
      {"pos_embd", embedding},
      {"position_embd", embedding},
      {"token_types", embedding},
      {"cache_r", recurrent},
      {"cache_s", recurrent},
      {"conv", recurrent},
      {"q_conv", recurrent},
      {"k_conv", recurrent},
      {"v_conv", recurrent},
      {"ssm", recurrent},
      {"mamba", recurrent},
      {"kda", recurrent},
      {"linear_attn", recurrent},
      {"dnet", recurrent},
      {"wkv", recurrent},
      {"time_mix", recurrent},
      {"state", recurrent},
      {"shortconv", recurrent},
      {"ffn_inp", attention},
      {"attn", attention},
      {"Q", attention},
      {"K", attention},
      {"V", attention},
      {"q", attention, true},
      {"k", attention, true},
      {"v", attention, true},
      {"q_", attention},
      {"k_", attention},
      {"v_", attention},
      {"kq", attention},
      {"kv", attention},
      {"qkv", attention},
      {"qr", attention},
      {"wqkv", attention},
      {"wo", attention, true},
      {"cache_", attention},
      {"sa_out", attention},
      {"mla", attention},
      {"fattn", attention},
      {"indexer", attention},
      {"rope", attention},
      {"ffn", mlp},
      {"l_out", mlp},
      {"l_last", mlp},
      {"layer_out", mlp},
      {"moe", mlp},
      {"router", mlp},
      {"shared_expert", mlp},
      {"mlp", mlp},
      {"channel_mix", mlp},
      {"post_moe", mlp},
      {"post_ffn", mlp},
      {"exp_probs", mlp},
  };

  static bool starts(std::string_view text, std::string_view first) noexcept {
    return !text.empty() && text[0] == first[0] && text.substr(0, first.size()) == first;
  }

  /// A norm between the parts of a layer, not one within attention, experts or a recurrent part.
  static bool is_norm(std::string_view base) noexcept {
    if (base.find("norm") == std::string_view::npos) return false;
    for (std::string_view const inside :
         {"Q", "K", "V", "q", "k", "attn_q", "attn_k", "attn_sub", "ffn_sub", "ffn_moe", "ssm",
          "mamba", "time_mix", "wkv", "g_", "indexer"}) {
      if (starts(base, inside)) return false;
    }
    return true;
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ADAPTERS_GGML_GRAPH_HPP
