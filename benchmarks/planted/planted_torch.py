#!/usr/bin/env python3
"""planted_torch.py CASE [STEPS]: programs of PyTorch with a known fault, and sound ones. Run by planted.py with
libstrata_inject.so; steps and ranges come from the corpus's libmarkers.so (CORPUS_MARKERS)."""

import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "corpus"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from runner import Markers  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = DEVICE == "cpu"  # a try of the calls
BF16 = torch.bfloat16
markers = Markers()


@contextlib.contextmanager
def span(name):
    markers.range_push(name.encode())
    try:
        yield
    finally:
        markers.range_pop()


def normal(*shape):
    return torch.randn(*[max(16, n // 64) if SMALL and n >= 1024 else n for n in shape], device=DEVICE, dtype=BF16)


def attention(kinds):
    """Flash attention and its like have few warps by design, and share the time among tensor cores, exp and shared memory."""
    q, k, v = [normal(16, 16, 4096, 128) for _ in range(3)]

    def step():
        for name, kind in kinds.items():
            with span(name), sdpa_kernel(kind):
                F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return step


def sound_attention():
    return attention({"flash": SDPBackend.FLASH_ATTENTION})


def sound_attention_others():
    return attention({"cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION})


def sound_library():
    """A convolution of cuDNN, and a softmax and a norm that read once and write once."""
    image = normal(32, 256, 56, 56).to(memory_format=torch.channels_last)
    filters = normal(256, 256, 3, 3).to(memory_format=torch.channels_last)
    x, w, b = normal(32768, 8192), normal(8192), normal(8192)

    def step():
        with span("convolution"):
            F.conv2d(image, filters, padding=1)
        with span("softmax"):
            F.softmax(x, -1)
        with span("norm"):
            F.layer_norm(x, w.shape, w, b)
    return step


class Block(torch.nn.Module):
    def __init__(self, index, width, heads):
        super().__init__()
        self.name, self.heads = f"block[{index}]", heads
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width) for _ in range(2)])
        self.inputs, self.output = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.inputs(self.norms[0](x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        return x + self.output(mixed)

    def attend_past(self, x, keys, values):
        """A token beside keys and values that are there already."""
        batch, length, width = x.shape
        query = self.inputs(self.norms[0](x))[..., :width].view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(query, keys, values).transpose(1, 2).reshape(batch, length, width)
        return x + self.output(mixed)

    def feed(self, x):
        return x + self.down(F.gelu(self.up(self.norms[1](x))))

    def forward(self, x):
        with span(self.name):
            with span("attention"):
                x = self.attend(x)
            with span("mlp"):
                return self.feed(x)

    def decode(self, x, keys, values):
        with span(self.name):
            with span("attention"):
                x = self.attend_past(x, keys, values)
            with span("mlp"):
                return self.feed(x)


def training(width, layers, batch, length, reads_each_loss):
    """Autograd has a thread of its own, whose kernels belong to the range that waits for it."""
    x = normal(batch, length, width)
    width = x.shape[2]
    model = torch.nn.Sequential(*[Block(index, width, max(1, width // 64)) for index in range(layers)]).to(DEVICE, BF16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not SMALL)

    def step():
        with span("forward"):
            loss = model(x).float().square().mean()
        with span("backward"):
            loss.backward()
        with span("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        if reads_each_loss:
            with span("log"):
                for parameter in model.parameters():
                    parameter.detach().float().norm().item()
    return step


def training_backward():
    return training(2048, 6, 4, 1024, reads_each_loss=False)


def training_attention():
    """So many tokens that attention takes most of the step."""
    return training(1024, 6, 1, 16384, reads_each_loss=False)


def decode_graph():
    """A token against keys and values of 4,096 before it, as one CUDA graph, whose kernels belong to the ranges of its capture."""
    width, heads, layers, past = 4096, 32, 8, 4096
    blocks = [Block(index, width, heads).to(DEVICE, BF16) for index in range(layers)]
    width = blocks[0].inputs.in_features
    keys, values = [normal(1, heads, past, width // heads) for _ in range(2)]
    x = normal(1, 1, width)

    def token():
        y = x
        for block in blocks:
            y = block.decode(y, keys, values)
        return y

    if SMALL:
        return token
    with torch.no_grad():
        token()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            token()

    def step():
        with span("token"):
            graph.replay()
    return step


def training_small():
    """Kernels of some microseconds, each launched by Python."""
    return training(128, 12, 2, 128, reads_each_loss=False)


def training_logged():
    """The norm of each parameter comes back to the host in each step."""
    return training(1024, 6, 4, 1024, reads_each_loss=True)


CASES = {made.__name__: made for made in (sound_attention, sound_attention_others, sound_library, training_backward,
                                          training_attention, training_small, training_logged,
                                          decode_graph)}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in CASES:
        sys.exit(__doc__ + "\n" + " ".join(CASES))
    torch.manual_seed(1)
    step = CASES[sys.argv[1]]()
    wait = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
    for _ in range(3):  # plans are made, modules loaded
        step()
    wait()
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 40):
        markers.step_begin()
        step()
        wait()
        markers.step_end()


main()
