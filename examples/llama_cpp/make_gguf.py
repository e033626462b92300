#!/usr/bin/env python3
"""Writes a tiny model of the llama architecture as GGUF: random weights, for timing and tests, not for talking.

    python3 make_gguf.py tiny.gguf [--layers 4] [--width 256] [--heads 4] [--experts 0]

Matrices are Q8_0 and Q4_0, norms F32, the embedding F16; the vocabulary is 512 tokens (bytes, letters, a few pairs).
Needs nothing but Python.
"""
import argparse
import itertools
import random
import struct

U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5  # kinds of values
TENSOR = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8}
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


def vocabulary():
    tokens = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]  # kinds: 1 normal, 2 unknown, 3 control, 6 byte
    tokens += [(f"<0x{b:02X}>", 6) for b in range(256)]
    letters = "\u2581etaoinshrdlucmwfgypbvkxjqz"
    words = itertools.chain(letters, (a + b for a in letters for b in letters[1:]))
    return tokens + [(word, 1) for word in itertools.islice(words, 512 - len(tokens))]


class Model:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = []

    def numbers(self, count, scale):
        """Random bytes would do for a clock; these keep the activations finite."""
        return [self.random.gauss(0, scale) for _ in range(count)]

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
        else:  # blocks of 32 with one scale: random quants, evenly distributed
            quants = 32 if kind == "Q8_0" else 16
            step = struct.pack("<e", scale * 1.7 / (127 if kind == "Q8_0" else 8))
            data = b"".join(step + self.random.randbytes(quants) for _ in range(count // 32))
        self.tensors.append((name, TENSOR[kind], shape, data))


def build(options):
    width, heads, layers = options.width, options.heads, options.layers
    hidden, experts = width * 2, options.experts
    tokens = vocabulary()
    model = Model(options.seed)
    model.add("token_embd.weight", "F16", width, len(tokens))
    kv_width = width // 2
    for layer in range(layers):
        block = f"blk.{layer}."
        model.add(block + "attn_norm.weight", "F32", width)
        model.add(block + "attn_q.weight", "Q8_0", width, width)
        model.add(block + "attn_k.weight", "Q8_0", width, kv_width)
        model.add(block + "attn_v.weight", "Q8_0", width, kv_width)
        model.add(block + "attn_output.weight", "Q4_0", width, width)
        model.add(block + "ffn_norm.weight", "F32", width)
        if experts:
            model.add(block + "ffn_gate_inp.weight", "Q8_0", width, experts)
            model.add(block + "ffn_gate_exps.weight", "Q4_0", width, hidden, experts)
            model.add(block + "ffn_up_exps.weight", "Q4_0", width, hidden, experts)
            model.add(block + "ffn_down_exps.weight", "Q8_0", hidden, width, experts)
        else:
            model.add(block + "ffn_gate.weight", "Q4_0", width, hidden)
            model.add(block + "ffn_up.weight", "Q4_0", width, hidden)
            model.add(block + "ffn_down.weight", "Q8_0", hidden, width)
    model.add("output_norm.weight", "F32", width)
    model.add("output.weight", "Q8_0", width, len(tokens))

    pairs = [
        pair("general.architecture", STRING, "llama"),
        pair("general.name", STRING, "tiny random llama"),
        pair("general.alignment", U32, ALIGNMENT),
        pair("llama.context_length", U32, 2048),
        pair("llama.embedding_length", U32, width),
        pair("llama.block_count", U32, layers),
        pair("llama.feed_forward_length", U32, hidden),
        pair("llama.attention.head_count", U32, heads),
        pair("llama.attention.head_count_kv", U32, heads // 2),
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
    parser.add_argument("--experts", type=int, default=0, help="a mixture of experts, two used for each token")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.width % 64 or options.heads % 2 or options.width % options.heads:
        parser.error("--width has to be a multiple of 64 and of --heads, --heads even")
    write(options.path, *build(options))


if __name__ == "__main__":
    main()
