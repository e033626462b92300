// llama.cpp with Strata: a prompt in one batch, then one token a step, always the likeliest.
//
//   llama_strata MODEL.gguf [--mode coarse|per-op|none] [--prompt N] [--decode N] [--gpu-layers N]
//                [--threads N] [--flash-attention]
//
// Prints the rate and the tokens; with STRATA=trace (or host) the report follows.

#include <llama.h>

#include <strata/strata.hpp>
#include "adapters/ggml.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct options {
  char const* model = nullptr;
  std::string mode = "coarse";
  int prompt = 64;
  int decode = 32;
  int gpu_layers = 999;
  int threads = 1;
  bool flash_attention = false;
};

[[noreturn]] void fail(char const* what, char const* which = "") {
  std::fprintf(stderr, "llama_strata: %s%s\n", what, which);
  std::exit(1);
}

int number(char const* text, int least, int most) {
  char* end = nullptr;
  long const value = text == nullptr ? 0 : std::strtol(text, &end, 10);
  if (text == nullptr || *text == '\0' || *end != '\0' || value < least || value > most)
    fail("not a number in its range: ", text == nullptr ? "(nothing)" : text);
  return static_cast<int>(value);
}

options read_options(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    char const* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name.rfind("--", 0) != 0) {
      o.model = argv[i];
      continue;
    }
    if (name == "--flash-attention") {
      o.flash_attention = true;
      continue;
    }
    if (name == "--mode") {
      o.mode = value == nullptr ? "" : value;
    } else if (name == "--prompt") {
      o.prompt = number(value, 1, 2000);
    } else if (name == "--decode") {
      o.decode = number(value, 0, 100000);
    } else if (name == "--gpu-layers") {
      o.gpu_layers = number(value, 0, 100000);
    } else if (name == "--threads") {
      o.threads = number(value, 1, 1024);
    } else {
      fail("unknown argument ", argv[i]);
    }
    ++i;
  }
  if (o.model == nullptr) fail("give the path of a model (make_gguf.py makes a tiny one)");
  if (o.mode != "coarse" && o.mode != "per-op" && o.mode != "none")
    fail("--mode is coarse, per-op or none, not ", o.mode.c_str());
  return o;
}

std::vector<llama_token> tokens_of(llama_vocab const* vocab, int count) {
  static constexpr char text[] = "the ranges of a model tell where its time goes ";
  std::string prompt;
  while (prompt.size() < static_cast<std::size_t>(count) * 8) prompt += text;
  std::vector<llama_token> tokens(prompt.size() + 8);
  int const made = llama_tokenize(vocab, prompt.data(), static_cast<int>(prompt.size()),
                                  tokens.data(), static_cast<int>(tokens.size()), true, false);
  if (made < count) fail("the tokenizer gave fewer tokens than the prompt has to have");
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

llama_token likeliest(llama_context* context, int vocab_size) {
  float const* const logits = llama_get_logits_ith(context, -1);
  return static_cast<llama_token>(std::max_element(logits, logits + vocab_size) - logits);
}

/// Feeds tokens to the model as one range, `prefill` or `decode`, and waits for the result.
llama_token feed(strata::ggml_ranges& ranges, llama_context* context, std::vector<llama_token>& in,
                 int vocab_size, char const* name = "") {
  int const count = static_cast<int>(in.size());
  {
    auto const batch = ranges.batch(count, name);
    if (llama_decode(context, llama_batch_get_one(in.data(), count)) != 0)
      fail("llama_decode failed");
    llama_synchronize(context);
  }
  STRATA_RANGE("sample");
  return likeliest(context, vocab_size);
}

}  // namespace

int main(int argc, char** argv) {
  options const o = read_options(argc, argv);
  llama_log_set(
      [](ggml_log_level level, char const* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();

  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = o.gpu_layers;
  llama_model* const model = llama_model_load_from_file(o.model, model_params);
  if (model == nullptr) fail("cannot load ", o.model);
  llama_vocab const* const vocab = llama_model_get_vocab(model);
  int const vocab_size = llama_vocab_n_tokens(vocab);

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(o.prompt + o.decode + 1);
  params.n_batch = params.n_ubatch = static_cast<unsigned>(o.prompt);
  params.n_threads = params.n_threads_batch = o.threads;
  params.flash_attn_type =
      o.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  strata::ggml_ranges ranges(o.mode == "per-op" ? strata::ggml_mode::per_op
                                                : strata::ggml_mode::coarse);
  if (o.mode != "none") ranges.attach(params);  // the one line that a program adds
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) fail("cannot make a context");

  std::vector<llama_token> const prompt = tokens_of(vocab, o.prompt);
  {
    STRATA_RANGE("warm_up");  // the first graph is slow everywhere, and the ranges learn from it
    std::vector<llama_token> in(prompt.begin(), prompt.begin() + 1);
    (void)feed(ranges, context, in, vocab_size, "first");
    llama_memory_clear(llama_get_memory(context), true);
  }

  std::vector<llama_token> in = prompt;
  llama_token next = feed(ranges, context, in, vocab_size);
  std::vector<llama_token> out{next};
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < o.decode; ++i) {
    STRATA_STEP();
    in.assign(1, next);
    next = feed(ranges, context, in, vocab_size);
    out.push_back(next);
  }
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  std::printf("decode: %.2f tokens/s\ntokens:", o.decode / seconds.count());
  for (llama_token const token : out) std::printf(" %d", token);
  std::printf("\n");

  llama_free(context);
  llama_model_free(model);
  llama_backend_free();
}
