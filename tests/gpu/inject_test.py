"""The library of tools/inject on a real device: an unmodified CUDA binary and unmodified PyTorch scripts, each
against a run without it and against a bare CUPTI client; and another client after a session that has ended."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

from _gpu import bare_client, injected, number, nvcc, root, rows, skip

steps = 4

BINARY = r"""
#include <cstdio>
#include <vector>

__global__ void scale(float* x, int n, float by) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void add(float* x, float const* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}

int main() {
  int const n = 1 << 20;
  std::vector<float> host(n, 1.0f);
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int i = 0; i < 3; ++i) scale<<<n / 256, 256>>>(x, n, 2.0f);
  for (int i = 0; i < 5; ++i) add<<<n / 256, 256>>>(x, y, n);
  cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%.1f %.1f %s\n", host[0], host[n - 1], cudaGetErrorString(cudaGetLastError()));
  return host[0] == 8.0f ? 3 : 1;
}
"""

# A session in code that ends while the process continues: for ctypes and dlopen.
SESSION = r"""
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>

#include <strata/session.hpp>

namespace {
strata::session* running = nullptr;
}

extern "C" __attribute__((visibility("default"))) int session_begin() {
  strata::vec<std::string> problems;
  running = new strata::session(strata::options::parse("trace,formats=none", problems));
  return running->start().ok() ? 1 : 0;
}
/// How many kernels it has, or -1 where there was a problem.
extern "C" __attribute__((visibility("default"))) long session_end() {
  running->stop();
  bool const whole = running->problems().empty();
  long const kernels = static_cast<long>(running->profile().kernels.size());
  delete running;
  return whole ? kernels : -1;
}
"""

# Then another client of CUPTI's activity API in the same process: what torch.profiler is, without PyTorch.
AFTER = r"""
#include <dlfcn.h>

#include <cstdio>

__global__ void within(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void afterwards(float* x) { x[threadIdx.x] += 1.0f; }

void* function_of(char const* library, char const* name) {
  void* const handle = dlopen(library, RTLD_NOW);
  void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  return found;
}

int main(int, char** argv) {
  auto const begin = reinterpret_cast<int (*)()>(function_of(argv[1], "session_begin"));
  auto const end = reinterpret_cast<long (*)()>(function_of(argv[1], "session_end"));
  if (begin == nullptr || end == nullptr) return 1;
  float* x = nullptr;
  cudaMalloc(&x, 32 * sizeof(float));
  for (int session = 0; session < 2; ++session) {
    int const good = begin();
    for (int i = 0; i < 300; ++i) within<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    std::printf("session %d: %ld kernels\n", good, end());
  }
  auto const client = reinterpret_cast<int (*)()>(function_of(argv[2], "InitializeInjection"));
  if (client == nullptr || client() != 1) return 1;
  for (int i = 0; i < 500; ++i) afterwards<<<1, 32>>>(x);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
"""

TORCH_AFTER = """
import ctypes
import sys
import torch

library = ctypes.CDLL(sys.argv[1])
library.session_end.restype = ctypes.c_long
x = torch.zeros(1024, device="cuda")
torch.cuda.synchronize()
for _ in range(2):
    good = library.session_begin()
    for _ in range(300):
        x.add_(1)
    torch.cuda.synchronize()
    print(f"session {good}: {library.session_end()} kernels")
kinds = torch.profiler.ProfilerActivity
with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as p:
    for _ in range(500):
        x.add_(1)
    torch.cuda.synchronize()
print(sum(1 for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA and "elementwise" in e.name),
      x[0].item())
"""

TORCH = f"""
import os
import sys
import torch
from torch.cuda import nvtx

torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False


class Block(torch.nn.Module):
    def __init__(self, c, heads):
        super().__init__()
        self.ln1, self.ln2 = torch.nn.LayerNorm(c), torch.nn.LayerNorm(c)
        self.attention = torch.nn.MultiheadAttention(c, heads, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(c, 4 * c), torch.nn.GELU(), torch.nn.Linear(4 * c, c))

    def forward(self, x):
        nvtx.range_push("attention")
        h = self.ln1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        nvtx.range_pop()
        with nvtx.range("mlp"):
            return x + self.mlp(self.ln2(x))


def main():
    model = Block(256, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(4, 64, 256, device="cuda")
    for step in range({steps}):
        with nvtx.range("step"):
            with nvtx.range("forward"):
                loss = model(x).square().mean()
            with nvtx.range("backward"):
                loss.backward()
            with nvtx.range("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
        print(f"loss {{loss.item():.3f}}")


if "profiler" in sys.argv:
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as p:
        main()
        torch.cuda.synchronize()
    found = sum(1 for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA)
    print(f"events of the device in torch.profiler: {{found}}", file=sys.stderr)
else:
    main()
loaded = {{os.path.realpath(l.split()[-1]) for l in open("/proc/self/maps") if "/libcupti" in l}}
print("libcupti:", *sorted(loaded), file=sys.stderr)
print("done")
"""


def run(command, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA") and "_INJECTION64_PATH" not in k}
    environment.update({k: str(v) for k, v in more.items()})
    return subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True, timeout=120)


def session_library():
    pathlib.Path("session.cpp").write_text(SESSION)
    library = pathlib.Path("libsession.so").resolve()
    subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{root / 'include'}",
                    "session.cpp", "-o", library, "-ldl", "-pthread"], check=True)
    return library


def after_session(session, client, has_torch, check):
    """Another CUPTI client after two sessions of a process that continues: it gets every kernel of its own."""
    sessions = "session 1: 300 kernels\n" * 2
    text = pathlib.Path("out-after.txt").resolve()
    text.unlink(missing_ok=True)
    ended = run(["./after", session, client], BARE_CLIENT_OUT=text)
    seen = text.read_text() if text.exists() else ""
    check(ended.returncode == 0 and ended.stdout == sessions + "no error\n",
          f"sessions and then another client: exit code {ended.returncode}\n{ended.stdout}{ended.stderr[-2000:]}")
    check(seen.startswith("500 ") and "afterwards" in seen and seen.count("\n") == 1,
          f"a CUPTI client after a session saw\n{seen}and not 500 kernels")
    print("a CUPTI client after two sessions:", seen.strip())
    if not has_torch:
        print("LEFT OUT: torch.profiler after a session: no PyTorch that uses a GPU here")
        return
    pathlib.Path("after.py").write_text(TORCH_AFTER)
    ended = run([sys.executable, "after.py", session])
    check(ended.returncode == 0 and ended.stdout == sessions + "500 1100.0\n",
          f"torch.profiler after two sessions: exit code {ended.returncode}\n{ended.stdout}{ended.stderr[-2000:]}")
    print("torch.profiler after two sessions:", ended.stdout.splitlines()[-1:])


class Profile:
    """What one process left."""

    def __init__(self, folder):
        self.ranges = {r["path"]: r for r in rows(folder / "ranges.csv")}
        self.all = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
        self.kernels = {}
        for row in self.all["kernels"]:
            self.kernels[row["mangled"]] = self.kernels.get(row["mangled"], 0) + row["count"]

    def of(self, path, column):
        return number(self.ranges[path][column]) if path in self.ranges else 0

    def trouble(self):
        return {"losses": {k: v for k, v in self.all["losses"].items() if v}, "problems": self.all["problems"]}


def main():
    if not pathlib.Path(nvcc).exists():
        skip("no nvcc here")
    failures = []

    def check(good, what):
        if not good:
            failures.append(what)

    pathlib.Path("binary.cu").write_text(BINARY)
    pathlib.Path("script.py").write_text(TORCH)
    pathlib.Path("after.cu").write_text(AFTER)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = [pool.submit(subprocess.run, [nvcc, "-O1", "-arch=sm_80", "binary.cu", "-o", "binary"], check=True),
                pool.submit(bare_client), pool.submit(session_library),
                pool.submit(subprocess.run, [nvcc, "-O1", "-arch=sm_80", "after.cu", "-o", "after", "-ldl"], check=True)]
        has_torch = pool.submit(run, [sys.executable, "-c", "import torch; assert torch.cuda.is_available()"])
        made[0].result()
        client, session = made[1].result(), made[2].result()
        made[3].result()

    binary = ["./binary"]
    if run(binary).returncode != 3:
        skip("the CUDA program does not run here: " + run(binary).stdout)
    script = [sys.executable, "script.py"]
    jobs = {"binary": (binary, {}), "binary by the driver": (binary, {"CUDA_INJECTION64_PATH": injected}),
            "binary preloaded": (binary, {"LD_PRELOAD": injected}),
            "binary, bare": (binary, {"CUDA_INJECTION64_PATH": client})}
    if has_torch.result().returncode == 0:
        jobs.update({"torch": (script, {}), "torch by the driver": (script, {"CUDA_INJECTION64_PATH": injected}),
                     "torch preloaded": (script, {"LD_PRELOAD": injected}),
                     "torch, bare": (script, {"CUDA_INJECTION64_PATH": client}),
                     "torch.profiler": (script + ["profiler"], {}),
                     "torch.profiler by the driver": (script + ["profiler"], {"CUDA_INJECTION64_PATH": injected})})
    else:
        print("LEFT OUT: PyTorch:", has_torch.result().stderr.strip().splitlines()[-1:])

    def start(name):
        command, more = jobs[name]
        folder = pathlib.Path("out-" + name.replace(" ", "-")).resolve()
        shutil.rmtree(folder, ignore_errors=True)
        if injected in more.values():
            more = {**more, "STRATA": f"trace,out={folder},formats=csv+json+trace"}
        elif more:
            more = {**more, "BARE_CLIENT_OUT": folder.with_suffix(".txt")}
        return run(command, **more), folder

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = dict(zip(jobs, pool.map(start, jobs)))

    for name, (ended, folder) in done.items():
        plain = done[name.split(" ")[0].rstrip(",")][0]
        check(ended.returncode == plain.returncode, f"{name}: exit code {ended.returncode}, without {plain.returncode}"
                                                    f"\n{ended.stderr[-2000:]}")
        check(ended.stdout == plain.stdout, f"{name}: its output changed:\n{ended.stdout}instead of\n{plain.stdout}")
    check(done["binary"][0].returncode == 3, "the binary alone fails")

    for what in ("binary", "torch"):
        if what not in done:
            continue
        check(what == "binary" or done[what][0].returncode == 0, f"{what} alone fails: {done[what][0].stderr[-2000:]}")
        reference = {}
        text = done[f"{what}, bare"][1].with_suffix(".txt")
        for line in text.read_text().splitlines() if text.exists() else []:
            count, name = line.split(" ", 1)
            reference[name] = int(count)
        for way in ("by the driver", "preloaded"):
            ended, folder = done[f"{what} {way}"]
            if not (folder / "profile.json").exists():
                failures.append(f"{what} {way}: no report\n{ended.stderr[-2000:]}")
                continue
            seen = Profile(folder)
            different = {n: (seen.kernels.get(n, 0), reference.get(n, 0)) for n in {*seen.kernels, *reference}
                         if seen.kernels.get(n, 0) != reference.get(n, 0)}
            check(not different, f"{what} {way}: kernels (Strata, bare client): {different}")
            check(seen.trouble() == {"losses": {}, "problems": []}, f"{what} {way}: {seen.trouble()}")
            check(f"wrote {folder}" in ended.stderr, f"{what} {way}: not told where it is\n{ended.stderr[-2000:]}")
            print(f"{what} {way}: {sum(seen.kernels.values())} kernels of {len(seen.kernels)} names, a bare client saw "
                  f"{sum(reference.values())}; {seen.of('', 'copies')} copies")
            if what == "binary":
                named = {n: c for n, c in seen.kernels.items() if "scale" in n or "add" in n}
                check(sorted(named.values()) == [3, 5] and len(seen.kernels) == 2, f"{way}: kernels {seen.kernels}")
                for column, value in (("kernels", 8), ("h2d_bytes", 4 << 20), ("d2h_bytes", 4 << 20),
                                      ("set_bytes", 4 << 20), ("allocated_bytes", 8 << 20)):
                    check(seen.of("", column) == value, f"{way}: {column} {seen.of('', column)}, not {value}")
                continue
            print(f"  {'path':40} {'calls':>6} {'kernels':>8} {'GPU busy us':>12}")
            for path, row in seen.ranges.items():
                print(f"  {path or '(all)':40} {row['calls']:>6} {row['kernels'] or '0':>8} "
                      f"{number(row['gpu_busy_ns']) / 1000:12.1f}")
            for path in ("step", "step/forward", "step/forward/attention", "step/forward/mlp", "step/backward",
                         "step/optimizer"):
                check(seen.of(path, "calls") == steps, f"{way}: {path}: {seen.of(path, 'calls')} calls, not {steps}")
                # The backward pass may run in a thread of PyTorch's own, outside this thread's ranges.
                check(path == "step/backward" or seen.of(path, "kernels") >= steps, f"{way}: no kernels in {path}")
            for line in ended.stderr.splitlines():
                if line.startswith("libcupti:"):
                    print(" ", line)
                    check(len(line.split()) == 2, f"{way}: two libcuptis in one process: {line}")
    for name in ("torch", "torch.profiler", "torch.profiler by the driver"):
        if name in done:
            told = [l for l in done[name][0].stderr.splitlines() if l.startswith(("libcupti:", "events of", "ERROR"))]
            print(f"{name}:", "; ".join(told))
    if "torch.profiler by the driver" in done:
        folder = done["torch.profiler by the driver"][1]
        check((folder / "profile.json").exists() and sum(Profile(folder).kernels.values()) > 0,
              "a script that uses torch.profiler has no kernels in Strata's report")
    after_session(session, client, has_torch.result().returncode == 0, check)
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


main()
