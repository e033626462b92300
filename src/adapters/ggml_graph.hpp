#ifndef STRATA_ADAPTERS_GGML_GRAPH_HPP
#define STRATA_ADAPTERS_GGML_GRAPH_HPP

#include <ggml-backend.h>
#include <ggml.h>

#include <strata/annotate/attributes.hpp>

#include <cstdio>
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

  static ggml_label parse(std::string_view text) noexcept {
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
    std::size_t length = 0;
    for (; length < text.size() && length < 9 && digit(text[length]); ++length)
      number = number * 10 + text[length] - '0';
    return length == 0 ? no_index : number;
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

/// A part, and how the names of its tensors begin.
struct ggml_role_rule {
  template <std::size_t Count>
  constexpr ggml_role_rule(std::string_view part, std::string_view const (&names)[Count]) noexcept
      : role(part), first(names), last(names + Count) {}

  std::string_view role;
  std::string_view const* first;
  std::string_view const* last;
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

  static std::string_view find(ggml_label const& label) noexcept {
    std::string_view base = label.base;
    if (base.empty()) return {};
    if (starts(base, "mtp_")) base.remove_prefix(4);
    if (is_norm(base)) {
      if (label.layer != no_index) return norm;
      for (std::string_view const first : {"inp", "emb", "tok", "pos", "enc_input"})
        if (starts(base, first)) return embedding;
      return output;
    }
    for (std::string_view const name : {"q", "k", "v", "wo"})
      if (base == name) return attention;
    for (ggml_role_rule const& rule : rules)
      for (std::string_view const* name = rule.first; name != rule.last; ++name)
        if (starts(base, *name)) return rule.role;
    return {};
  }

  /// Whether layers have this part.
  static bool in_layer(std::string_view role) noexcept {
    return role == attention || role == mlp || role == norm || role == recurrent;
  }

  /// Whether a tensor of this name is known to end its part, in graphs that were not seen before.
  static bool ends(ggml_label const& label, std::string_view role) noexcept {
    std::string_view const base = label.base;
    if (role == norm) return base != "norm" && base != "norm_w";
    for (std::string_view const last : {"embd", "inp_embd", "ffn_inp", "l_out", "result_output"})
      if (base == last) return true;
    return false;
  }

 private:
  static constexpr std::string_view of_output[] = {"result", "output", "lm_head",
                                                   "lmhead", "logits", "cls"};
  static constexpr std::string_view of_embedding[] = {
      "inp", "emb", "token_embd", "tok_embd", "pos_embd", "position_embd", "token_types"};
  static constexpr std::string_view of_recurrent[] = {
      "cache_r", "cache_s",     "conv", "q_conv", "k_conv",   "v_conv", "ssm",      "mamba",
      "kda",     "linear_attn", "dnet", "wkv",    "time_mix", "state",  "shortconv"};
  static constexpr std::string_view of_attention[] = {
      "ffn_inp", "attn", "Q",    "K",      "V",      "q_",  "k_",    "v_",      "kq",  "kv",
      "qkv",     "qr",   "wqkv", "cache_", "sa_out", "mla", "fattn", "indexer", "rope"};
  static constexpr std::string_view of_mlp[] = {
      "ffn",           "l_out", "l_last",      "layer_out", "moe",      "router",
      "shared_expert", "mlp",   "channel_mix", "post_moe",  "post_ffn", "exp_probs"};
  // The first that fits holds.
  static constexpr ggml_role_rule rules[] = {{output, of_output},
                                             {embedding, of_embedding},
                                             {recurrent, of_recurrent},
                                             {attention, of_attention},
                                             {mlp, of_mlp}};

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

inline std::string_view ggml_name(ggml_tensor const* tensor) noexcept {
  return {tensor->name, strnlen(tensor->name, sizeof tensor->name)};
}

/// Where in the model, and on which device, a node of a graph is.
struct ggml_part {
  std::string_view role;
  std::int64_t layer = no_index;
  void const* device = nullptr;  // null is the host

  /// What the node's name leaves open is taken from its weight's name, then from the node before.
  static ggml_part locate(ggml_tensor const* node, ggml_label const& label,
                          ggml_part const& before) noexcept {
    ggml_part found{ggml_role::find(label), label.layer, device_of(node)};
    for (ggml_tensor const* const source : {node->src[0], node->src[1]}) {
      if (source == nullptr || (!found.role.empty() && found.layer != no_index)) continue;
      ggml_label const weight = ggml_label::parse(ggml_name(source));
      if (!weight.weight) continue;
      if (found.role.empty()) found.role = ggml_role::find(weight);
      if (found.layer == no_index) found.layer = weight.layer;
    }
    if (found.role.empty()) found.role = before.role.empty() ? ggml_role::unknown : before.role;
    if (found.layer == no_index && found.role == before.role) found.layer = before.layer;
    if (!ggml_role::in_layer(found.role)) found.layer = no_index;
    return found;
  }

  bool operator!=(ggml_part const& other) const noexcept {
    return role != other.role || layer != other.layer || device != other.device;
  }

 private:
  static void const* device_of(ggml_tensor const* node) noexcept {
    ggml_backend_buffer* const in =
        node->view_src == nullptr ? node->buffer : node->view_src->buffer;
    return in == nullptr || ggml_backend_buffer_is_host(in) ? nullptr
                                                            : ggml_backend_buffer_get_type(in);
  }
};

/// The operation, and the tensor's name without its layer: `MUL_MAT ffn_up`.
class ggml_operation {
 public:
  ggml_operation(ggml_tensor const* node, ggml_label const& label) noexcept {
    int const length = std::snprintf(text_, sizeof text_, "%s%s%.*s", ggml_op_desc(node),
                                     label.base.empty() ? "" : " ",
                                     static_cast<int>(label.base.size()), label.base.data());
    if (length > 0) length_ = static_cast<std::size_t>(length);
    if (length_ >= sizeof text_) length_ = sizeof text_ - 1;
  }
  std::string_view name() const noexcept { return {text_, length_}; }

 private:
  char text_[128];
  std::size_t length_ = 0;
};

/// Whether a node is only another view of what is there.
inline bool ggml_only_views(ggml_tensor const* node) noexcept {
  switch (node->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
      return true;
    default:
      return false;
  }
}

/// Whether computing this node does nothing: views, and tensors without elements.
inline bool ggml_idles(ggml_tensor const* node) noexcept {
  return ggml_only_views(node) || ggml_is_empty(node);
}

/// What nodes of a graph have to do, summed, as attributes of a range.
/// Units: floating-point operations of matrix products and flash attention, a multiply-add counts
/// two; bytes that each node reads and writes once, quantised types as they are stored; the shape
/// is the last node's, the outermost dimension first.
class ggml_work {
 public:
  void add(ggml_tensor const* node) noexcept {
    flops_ += flops_of(node);
    bytes_ += bytes_of(node);
    last_ = node;
  }
  bool empty() const noexcept { return last_ == nullptr; }

  /// For ranges. The nodes still have to exist.
  void apply(range_attributes& attributes) const noexcept {
    if (empty()) return;
    if (flops_ > 0) attributes.record.flops = flops_;
    attributes.record.bytes = bytes_;
    unsigned rank = GGML_MAX_DIMS;
    while (rank > 1 && last_->ne[rank - 1] == 1) --rank;
    attributes.record.rank = rank;
    for (unsigned i = 0; i < rank; ++i)
      attributes.record.dimensions[i] = static_cast<std::uint32_t>(last_->ne[rank - 1 - i]);
  }

  static double flops_of(ggml_tensor const* node) noexcept {
    ggml_tensor const* const a = node->src[0];
    ggml_tensor const* const b = node->src[1];
    if (a == nullptr || b == nullptr) return 0;
    switch (node->op) {
      case GGML_OP_MUL_MAT:     // each element of the result is a dot product along a's rows;
      case GGML_OP_MUL_MAT_ID:  // the result has the chosen experts only
        return 2.0 * elements(node) * static_cast<double>(a->ne[0]);
      case GGML_OP_OUT_PROD:
        return 2.0 * elements(node) * static_cast<double>(a->ne[1]);
      case GGML_OP_FLASH_ATTN_EXT: {  // q k^T, and its product with v
        ggml_tensor const* const v = node->src[2];
        double const inner = static_cast<double>(a->ne[0] + (v == nullptr ? 0 : v->ne[0]));
        return 2.0 * static_cast<double>(a->ne[1] * a->ne[2] * a->ne[3]) *
               static_cast<double>(b->ne[1]) * inner;
      }
      default:
        return 0;
    }
  }

  static double bytes_of(ggml_tensor const* node) noexcept {
    if (ggml_idles(node)) return 0;
    double sum = written_bytes(node);
    for (int i = 0; i < GGML_MAX_SRC; ++i) sum += read_bytes(node, i);
    return sum;
  }

  /// Of these, what is read of the device's tensors that no node computes and that are no input: of
  /// weights, and of the cache of keys and values.
  static double kept_bytes_of(ggml_tensor const* node) noexcept {
    if (ggml_idles(node)) return 0;
    double sum = 0;
    for (int i = 0; i < GGML_MAX_SRC; ++i)
      if (node->src[i] != nullptr && is_kept(node->src[i])) sum += read_bytes(node, i);
    return sum;
  }

 private:
  static bool is_kept(ggml_tensor const* tensor) noexcept {
    ggml_tensor const* const root = tensor->view_src == nullptr ? tensor : tensor->view_src;
    bool const is_of_host = root->buffer != nullptr && ggml_backend_buffer_is_host(root->buffer);
    return root->op == GGML_OP_NONE && (root->flags & GGML_TENSOR_FLAG_INPUT) == 0 && !is_of_host;
  }
  /// What a node writes: of a table into which rows are put, these.
  static double written_bytes(ggml_tensor const* node) noexcept {
    bool const puts_rows = node->op == GGML_OP_SET_ROWS && node->src[0] != nullptr;
    return puts_rows ? row_bytes(node, node->ne[0]) * rows(node->src[0]) : stored(node);
  }
  /// What a node reads of its i-th source: of a table only the rows that are named, of experts as
  /// many as can be different, and nothing of where the result goes.
  static double read_bytes(ggml_tensor const* node, int i) noexcept {
    ggml_tensor const* const source = node->src[i];
    if (source == nullptr) return 0;
    switch (node->op) {
      case GGML_OP_GET_ROWS:
        return i == 0 ? row_bytes(source, source->ne[0]) * rows(node) : stored(source);
      case GGML_OP_SET_ROWS:
        return i < 2 ? stored(source) : 0;
      case GGML_OP_CPY:
        return i == 0 ? stored(source) : 0;
      case GGML_OP_MUL_MAT_ID:
        return i == 0 ? stored(source) * used_experts(node) : stored(source);
      default:
        return stored(source);
    }
  }
  /// Their part of all, of a product whose third source names them.
  static double used_experts(ggml_tensor const* node) noexcept {
    if (node->src[2] == nullptr) return 1;
    double const all = static_cast<double>(node->src[0]->ne[2]);
    double const named = elements(node->src[2]);
    return named < all ? named / all : 1;
  }
  static double elements(ggml_tensor const* tensor) noexcept {
    return static_cast<double>(ggml_nelements(tensor));
  }
  static double rows(ggml_tensor const* tensor) noexcept {
    return static_cast<double>(ggml_nrows(tensor));
  }
  /// As ggml_row_size, which asserts that rows are whole blocks; those of a view may not be.
  static double row_bytes(ggml_tensor const* tensor, std::int64_t length) noexcept {
    return static_cast<double>(ggml_type_size(tensor->type)) * static_cast<double>(length) /
           static_cast<double>(ggml_blck_size(tensor->type));
  }
  /// Without the gaps of a strided view, and once what a broadcast repeats.
  static double stored(ggml_tensor const* tensor) noexcept {
    double const packed = row_bytes(tensor, tensor->ne[0]) * rows(tensor);
    double const span = static_cast<double>(ggml_nbytes(tensor));
    return packed < span ? packed : span;
  }

  double flops_ = 0;
  double bytes_ = 0;
  ggml_tensor const* last_ = nullptr;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ADAPTERS_GGML_GRAPH_HPP
