#!/usr/bin/env python3
"""programs.py NAME [STEPS]: Python programs with a loop, without a range and without a word of Strata. Run by benchmarks/loops.py.

Each prints a sum of what it computed, and the seconds of its loop without the first quarter. NAME `list` prints the names, the
steps of their loops and what they need."""

import os
import sys
import time


def timed(steps, step):
    """Calls step(index) for each; seconds of the last three quarters, a call."""
    begin = 0.0
    for index in range(steps):
        if index == steps // 4:
            begin = time.perf_counter()
        step(index)
    return (time.perf_counter() - begin) / (steps - steps // 4)


def report(value, seconds):
    print(f"sum {value:.6e}")
    print(f"step {seconds * 1e6:.2f} us")


def torch_model(width=512, layers=6, dtype=None):
    import torch
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    return torch, model.to("cuda", dtype or torch.float32)


def decode_item(steps):
    """Each token is read back before the next one begins."""
    import torch
    torch, model = torch_model(dtype=torch.bfloat16)
    model.eval()
    x = torch.randn(1, 32, 512, device="cuda", dtype=torch.bfloat16)
    tokens = []

    def step(_):
        y = model(x)
        tokens.append(int(y[0, -1].argmax().item()))
        x[0, -1, tokens[-1]] += 0.01

    with torch.no_grad():
        seconds = timed(steps, step)
    report(sum(tokens), seconds)


def decode_graph(steps):
    """The same in one CUDA graph a token."""
    import torch
    torch, model = torch_model(dtype=torch.bfloat16)
    model.eval()
    x = torch.randn(1, 32, 512, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        tokens = []

        def step(_):
            graph.replay()
            tokens.append(int(y[0, -1].argmax().item()))

        seconds = timed(steps, step)
    report(sum(tokens), seconds)


def triton_loop(steps):
    import torch
    import triton
    from triton_kernels import scale, shift
    x = torch.ones(1 << 22, device="cuda")
    grid = (triton.cdiv(x.numel(), 1024),)

    def step(index):
        scale[grid](x, 1.0 + 1e-4 * (index % 3), x.numel(), BLOCK=1024)
        shift[grid](x, 1e-3, x.numel(), BLOCK=1024)
        torch.cuda.synchronize()

    seconds = timed(steps, step)
    report(float(x.double().sum()), seconds)


def cupy_power(steps):
    import cupy
    cupy.random.seed(1)
    a = cupy.random.rand(2048, 2048, dtype=cupy.float32)
    state = {"x": cupy.ones(2048, dtype=cupy.float32), "norm": 0.0}

    def step(_):
        y = a @ state["x"]
        state["norm"] = float(cupy.linalg.norm(y))
        state["x"] = y / state["norm"]

    seconds = timed(steps, step)
    report(state["norm"], seconds)


def generate(steps):
    """transformers' own loop, twice."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=8, n_embd=512, n_head=8)).to("cuda", torch.bfloat16).eval()
    prompt = torch.arange(1, 33, device="cuda").reshape(1, 32)
    total, begin = 0, 0.0
    for turn in range(2):
        begin = time.perf_counter()
        out = model.generate(prompt, max_new_tokens=steps // 2, min_new_tokens=steps // 2, do_sample=False, pad_token_id=0)
        total += int(out.sum().item())
    report(total, (time.perf_counter() - begin) / (steps // 2))


def small_llama():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    config = LlamaConfig(num_hidden_layers=8, hidden_size=512, intermediate_size=1536, num_attention_heads=8,
                         num_key_value_heads=8, vocab_size=8192)
    return torch, LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()


def generate_static(steps):
    """transformers' own loop with a static cache, for which it may compile the model."""
    torch, model = small_llama()
    prompt = torch.arange(1, 33, device="cuda").reshape(1, 32)
    total, begin = 0, 0.0
    for turn in range(3):  # the first compiles
        begin = time.perf_counter()
        out = model.generate(prompt, max_new_tokens=steps // 3, min_new_tokens=steps // 3, do_sample=False,
                             pad_token_id=0, cache_implementation="static")
        total += int(out.sum().item())
    report(total, (time.perf_counter() - begin) / (steps // 3))


def generate_graph(steps):
    """transformers' model with its static cache: one CUDA graph a token, which is read back."""
    from transformers import StaticCache
    torch, model = small_llama()
    torch.backends.cuda.enable_cudnn_sdp(False)  # in a graph it does not give the same tokens twice
    cache = StaticCache(config=model.config, max_cache_len=steps + 64)
    tokens = []
    with torch.no_grad():
        out = model(torch.arange(1, 33, device="cuda").reshape(1, 32), past_key_values=cache, use_cache=True,
                    cache_position=torch.arange(32, device="cuda"))
        token = out.logits[:, -1:].argmax(-1)
        place = torch.tensor([32], device="cuda")

        def forward():
            logits = model(token, past_key_values=cache, use_cache=True, cache_position=place, position_ids=place[None]).logits
            token.copy_(logits[:, -1:].argmax(-1))
            place.add_(1)

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                forward()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            forward()

        def step(_):
            graph.replay()
            tokens.append(int(token.item()))

        seconds = timed(steps, step)
    report(sum(tokens), seconds)


def train(steps):
    torch, model = torch_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(8, 16, 128, 512, device="cuda")
    last = {}

    def step(index):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = (model(data[index % 8]) - data[(index + 1) % 8]).square().mean()
        loss.backward()
        optimizer.step()
        last["loss"] = loss

    seconds = timed(steps, step)
    report(float(last["loss"]), seconds)


def compiled(steps):
    """torch.compile with its own CUDA graphs."""
    import torch
    torch, model = torch_model(layers=4, dtype=torch.bfloat16)
    model.eval()
    run = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(4, 64, 512, device="cuda", dtype=torch.bfloat16)
    values = []
    with torch.no_grad():
        seconds = timed(steps, lambda _: values.append(float(run(x).float().sum())))
    report(values[-1], seconds)


def loaders(steps):
    """Training under DistributedDataParallel with workers that load."""
    torch, model = torch_model(layers=3)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.distributed.init_process_group("nccl", rank=0, world_size=1)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(torch.randn(steps * 4, 64, 512))
    batches = iter(torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True))
    last = {}

    def step(_):
        batch = next(batches)[0].to("cuda", non_blocking=True)
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        last["loss"] = loss

    seconds = timed(steps, step)
    report(float(last["loss"]), seconds)
    torch.distributed.destroy_process_group()


def jax_model():
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # the same kernels in each process
    import jax
    import jax.numpy as jnp
    keys = jax.random.split(jax.random.PRNGKey(1), 6)
    weights = [jax.random.normal(key, (1024, 1024), jnp.float32) * 0.03 for key in keys]

    def forward(weights, x):
        for weight in weights:
            x = x + jax.nn.gelu(x @ weight)
        return x

    return jax, jnp, weights, forward


def jax_train(steps):
    """A jitted step of training; the host never waits."""
    jax, jnp, weights, forward = jax_model()
    x = jax.random.normal(jax.random.PRNGKey(2), (256, 1024))

    @jax.jit
    def update(weights, x):
        loss, slopes = jax.value_and_grad(lambda w: jnp.mean(forward(w, x) ** 2))(weights)
        return [w - 1e-3 * slope for w, slope in zip(weights, slopes)], loss

    state = {"weights": weights}

    def step(_):
        state["weights"], state["loss"] = update(state["weights"], x)

    seconds = timed(steps, step)
    report(float(state["loss"]), seconds)


def jax_waits(steps):
    """Inference whose result is read in each step."""
    jax, _, weights, forward = jax_model()
    x = jax.random.normal(jax.random.PRNGKey(2), (64, 1024))
    run = jax.jit(forward)
    values = []
    seconds = timed(steps, lambda _: values.append(float(run(weights, x).sum())))
    report(values[-1], seconds)


def random_operations(steps):
    """Work without a period."""
    import random
    import torch
    torch.manual_seed(1)
    chance = random.Random(1)
    x = torch.randn(512, 512, device="cuda")
    operations = [torch.relu, torch.tanh, torch.sin, lambda t: t @ t / 512, lambda t: t.softmax(-1), lambda t: t.cumsum(0) / 512,
                  lambda t: t.sort(0).values, lambda t: t.t().contiguous(), lambda t: t.abs().sqrt(), torch.sigmoid]

    def step(_):
        nonlocal x
        for _ in range(chance.randint(1, 9)):
            x = chance.choice(operations)(x)
        if chance.random() < 0.2:
            x[0, 0].item()

    seconds = timed(steps, step)
    report(float(x.sum()), seconds)


def one_product(_):
    import torch
    torch.manual_seed(1)
    a = torch.randn(4096, 4096, device="cuda")
    report(float((a @ a).sum()), 0.0)


def growing(steps):
    """Work that is never the same: each turn launches more."""
    import torch
    x = torch.ones(1 << 16, device="cuda")

    def step(index):
        for _ in range(index):
            x.mul_(1.0001)
        for _ in range(index % 7):
            x.add_(0.1)

    seconds = timed(steps, step)
    report(float(x.double().sum()), seconds)


PROGRAMS = {
    "decode_item": (decode_item, 600, "torch"),
    "decode_graph": (decode_graph, 1500, "torch"),
    "triton_loop": (triton_loop, 600, "triton"),
    "cupy_power": (cupy_power, 600, "cupy"),
    "generate": (generate, 240, "transformers"),
    "generate_static": (generate_static, 600, "transformers"),
    "generate_graph": (generate_graph, 1500, "transformers"),
    "train": (train, 160, "torch"),
    "compiled": (compiled, 600, "torch"),
    "loaders": (loaders, 200, "torch"),
    "jax_train": (jax_train, 600, "jax"),
    "jax_waits": (jax_waits, 600, "jax"),
    "random_operations": (random_operations, 800, "torch"),
    "one_product": (one_product, 0, "torch"),
    "growing": (growing, 120, "torch"),
}

if __name__ == "__main__":
    if sys.argv[1] == "list":
        for name, (_, steps, needs) in PROGRAMS.items():
            print(name, steps, needs)
    else:
        program, steps, _ = PROGRAMS[sys.argv[1]]
        program(int(sys.argv[2]) if len(sys.argv) > 2 else steps)
