#!/usr/bin/env python3
"""Writes a model of the llama architecture as GGUF: random weights, for timing and tests, not for talking.

    python3 make_gguf.py tiny.gguf [--layers 4] [--width 256] [--heads 4] [--experts 0] [--types mixed]
    python3 make_gguf.py 1b.gguf --layers 16 --width 2048 --heads 32 --kv-heads 8 --ffn 8192 --vocabulary 16384 --types q4_k_m

By default matrices are Q8_0 and Q4_0, norms F32, the embedding F16; the vocabulary is bytes, letters and groups of letters.
--types q4_k_m gives each matrix the type that llama.cpp's quantisation of that name gives it: Q4_K, and Q6_K for the output
and in half of the layers for values and down. Needs nothing but Python.
"""
import argparse
import itertools
import random
import struct

U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5  # kinds of values
TENSOR = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14}
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, what):
    if kind == STRING:
        return text(what)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], what)


def pair(key, kind, what):
    if isinstance(what, list):
        return text(key) + struct.pack("<IIQ", ARRAY, kind, len(what)) + b"".join(value(kind, w) for w in what)
    return text(key) + struct.pack("<I", kind) + value(kind, what)


def vocabulary(size):
    tokens = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]  # kinds: 1 normal, 2 unknown, 3 control, 6 byte
    tokens += [(f"<0x{b:02X}>", 6) for b in range(256)]
    letters = "\u2581etaoinshrdlucmwfgypbvkxjqz"
    words = itertools.chain(letters, (a + "".join(b) for n in (1, 2, 3) for a in letters
                                      for b in itertools.product(letters[1:], repeat=n)))
    return tokens + [(word, 1) for word in itertools.islice(words, size - len(tokens))]


class Model:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = []

    def numbers(self, count, scale):
        """Random bytes would do for a clock; these keep the activations finite."""
        return [self.random.gauss(0, scale) for _ in range(count)]

    def quantised(self, kind, count, most):
        """Blocks with one scale: random quants, evenly distributed up to `most`."""
        half = lambda number: struct.pack("<e", number)
        random = self.random.randbytes
        if kind == "Q8_0":
            return b"".join(half(most / 127) + random(32) for _ in range(count // 32))
        if kind == "Q4_0":
            return b"".join(half(most / 8) + random(16) for _ in range(count // 32))
        if kind == "Q4_K":  # eight scales and eight minima of 6 bits, all 1: quants less 7.5
            head = half(most / 8) + half(7.5 * most / 8) + b"\1" * 8 + b"\x11" * 4
            return b"".join(head + random(128) for _ in range(count // 256))
        tail = b"\1" * 16 + half(most / 32)
        return b"".join(random(192) + tail for _ in range(count // 256))

    def add(self, name, kind, *shape):
        """shape: ggml's order, the contiguous dimension first."""
        count = 1
        for n in shape:
            count *= n
        scale = shape[0] ** -0.5
        if kind == "F32":
            data = struct.pack(f"<{count}f", *([1.0] * count))
        elif kind == "F16":
            data = struct.pack(f"<{count}e", *self.numbers(count, 1.0))
        else:
            data = self.quantised(kind, count, scale * 1.7)
        self.tensors.append((name, TENSOR[kind], shape, data))


def types(options, layer):
    """Of each matrix of a layer; what is not named is the first."""
    if options.types == "mixed":
        return {"": "Q8_0", "attn_output": "Q4_0", "ffn_gate": "Q4_0", "ffn_up": "Q4_0"}
    layers = options.layers
    more = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    return {"": "Q4_K", **({"attn_v": "Q6_K", "ffn_down": "Q6_K"} if more else {})}


def build(options):
    width, heads, layers = options.width, options.heads, options.layers
    kv_heads, hidden, experts = options.kv_heads or heads // 2, options.ffn or width * 2, options.experts
    tokens = vocabulary(options.vocabulary)
    mixed = options.types == "mixed"
    model = Model(options.seed)
    model.add("token_embd.weight", "F16" if mixed else "Q4_K", width, len(tokens))
    kv_width = width // heads * kv_heads
    for layer in range(layers):
        block, kinds = f"blk.{layer}.", types(options, layer)
        def matrix(name, *shape, suffix=""):
            model.add(f"{block}{name}{suffix}.weight", kinds.get(name, kinds[""]), *shape)
        model.add(block + "attn_norm.weight", "F32", width)
        matrix("attn_q", width, width)
        matrix("attn_k", width, kv_width)
        matrix("attn_v", width, kv_width)
        matrix("attn_output", width, width)
        model.add(block + "ffn_norm.weight", "F32", width)
        if experts:
            model.add(block + "ffn_gate_inp.weight", "Q8_0" if mixed else "F32", width, experts)
        of, suffix = ([experts], "_exps") if experts else ([], "")
        matrix("ffn_gate", width, hidden, *of, suffix=suffix)
        matrix("ffn_up", width, hidden, *of, suffix=suffix)
        matrix("ffn_down", hidden, width, *of, suffix=suffix)
    model.add("output_norm.weight", "F32", width)
    model.add("output.weight", "Q8_0" if mixed else "Q6_K", width, len(tokens))

    pairs = [
        pair("general.architecture", STRING, "llama"),
        pair("general.name", STRING, "tiny random llama"),
        pair("general.alignment", U32, ALIGNMENT),
        pair("llama.context_length", U32, 2048),
        pair("llama.embedding_length", U32, width),
        pair("llama.block_count", U32, layers),
        pair("llama.feed_forward_length", U32, hidden),
        pair("llama.attention.head_count", U32, heads),
        pair("llama.attention.head_count_kv", U32, kv_heads),
        pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        pair("llama.rope.dimension_count", U32, width // heads),
        pair("llama.vocab_size", U32, len(tokens)),
        pair("tokenizer.ggml.model", STRING, "llama"),
        pair("tokenizer.ggml.tokens", STRING, [t for t, _ in tokens]),
        pair("tokenizer.ggml.scores", F32, [-float(i) for i in range(len(tokens))]),
        pair("tokenizer.ggml.token_type", I32, [k for _, k in tokens]),
        pair("tokenizer.ggml.unknown_token_id", U32, 0),
        pair("tokenizer.ggml.bos_token_id", U32, 1),
        pair("tokenizer.ggml.eos_token_id", U32, 2),
    ]
    if experts:
        pairs += [pair("llama.expert_count", U32, experts), pair("llama.expert_used_count", U32, 2)]
    return pairs, model.tensors


def padded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def write(path, pairs, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs)
    offset = 0
    for name, kind, shape, data in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)
        offset += padded(len(data))
    with open(path, "wb") as file:
        file.write(head.ljust(padded(len(head)), b"\0"))
        for _, _, _, data in tensors:
            file.write(data.ljust(padded(len(data)), b"\0"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=0, help="half of --heads")
    parser.add_argument("--ffn", type=int, default=0, help="twice --width")
    parser.add_argument("--vocabulary", type=int, default=512)
    parser.add_argument("--types", choices=["mixed", "q4_k_m"], default="mixed")
    parser.add_argument("--experts", type=int, default=0, help="a mixture of experts, two used for each token")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.width % 64 or options.heads % 2 or options.width % options.heads:
        parser.error("--width has to be a multiple of 64 and of --heads, --heads even")
    if options.types == "q4_k_m" and (options.width % 256 or options.ffn % 256):
        parser.error("--width and --ffn have to be multiples of 256 with --types q4_k_m")
    if not 300 <= options.vocabulary <= 400000 or options.kv_heads and options.heads % options.kv_heads:
        parser.error("--vocabulary has to be 300 to 400000, --heads a multiple of --kv-heads")
    write(options.path, *build(options))


if __name__ == "__main__":
    main()
