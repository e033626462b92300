"""Operations of llama.cpp's CUDA backend, through the C functions of ggml: quantised products of one token and of many,
experts, norms, rotation, softmax, activations, look-ups, copies.

GGML_LIBRARIES is the folder with libggml-base.so and libggml-cuda.so, which the user builds:
    cmake -S llama.cpp/ggml -B build -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 && cmake --build build
"""

import ctypes
import os
import pathlib
import random
import sys

FOLDER = os.environ.get("GGML_LIBRARIES")
if not FOLDER:
    sys.exit("kernels_llama.py: GGML_LIBRARIES names no folder with libggml-base.so and libggml-cuda.so: nothing is run")
os.environ.setdefault("GGML_CUDA_DISABLE_GRAPHS", "1")  # beside graphs nothing that instruments is counted


def library(name):
    found = next(pathlib.Path(FOLDER).rglob(f"lib{name}.so"))
    return ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)


BASE, CUDA = library("ggml-base"), library("ggml-cuda")
F32, F16, Q4_0, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, I32, BF16, MXFP4 = 0, 1, 2, 6, 8, 12, 13, 14, 26, 30, 39
TYPES = {"q4_0": Q4_0, "q5_0": Q5_0, "q8_0": Q8_0, "q4_k": Q4_K, "q5_k": Q5_K, "q6_k": Q6_K, "mxfp4": MXFP4, "f16": F16, "bf16": BF16}


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def function(of_library, name, result, *arguments):
    call = getattr(of_library, name)
    call.restype = result
    call.argtypes = arguments
    return call


POINTER, LONG, INT, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_float
init = function(BASE, "ggml_init", POINTER, InitParams)
free = function(BASE, "ggml_free", None, POINTER)
new_graph = function(BASE, "ggml_new_graph", POINTER, POINTER)
expand = function(BASE, "ggml_build_forward_expand", None, POINTER, POINTER)
new_tensor = function(BASE, "ggml_new_tensor", POINTER, POINTER, INT, INT, ctypes.POINTER(LONG))
nbytes = function(BASE, "ggml_nbytes", ctypes.c_size_t, POINTER)
quantise = function(BASE, "ggml_quantize_chunk", ctypes.c_size_t, INT, POINTER, POINTER, LONG, LONG, LONG, POINTER)
mul_mat = function(BASE, "ggml_mul_mat", POINTER, POINTER, POINTER, POINTER)
mul_mat_id = function(BASE, "ggml_mul_mat_id", POINTER, POINTER, POINTER, POINTER, POINTER)
rms_norm = function(BASE, "ggml_rms_norm", POINTER, POINTER, POINTER, FLOAT)
rope_ext = function(BASE, "ggml_rope_ext", POINTER, POINTER, POINTER, POINTER, POINTER, INT, INT, INT, *[FLOAT] * 6)
soft_max_ext = function(BASE, "ggml_soft_max_ext", POINTER, POINTER, POINTER, POINTER, FLOAT, FLOAT)
swiglu = function(BASE, "ggml_swiglu", POINTER, POINTER, POINTER)
add = function(BASE, "ggml_add", POINTER, POINTER, POINTER, POINTER)
cast = function(BASE, "ggml_cast", POINTER, POINTER, POINTER, INT)
get_rows = function(BASE, "ggml_get_rows", POINTER, POINTER, POINTER, POINTER)
total = function(BASE, "ggml_sum", POINTER, POINTER, POINTER)
allocate = function(BASE, "ggml_backend_alloc_ctx_tensors", POINTER, POINTER, POINTER)
buffer_free = function(BASE, "ggml_backend_buffer_free", None, POINTER)
set_data = function(BASE, "ggml_backend_tensor_set", None, POINTER, POINTER, ctypes.c_size_t, ctypes.c_size_t)
compute = function(BASE, "ggml_backend_graph_compute", INT, POINTER, POINTER)
wait = function(BASE, "ggml_backend_synchronize", None, POINTER)
cuda_init = function(CUDA, "ggml_backend_cuda_init", POINTER, INT)

BACKEND = None
HELD = []
MAKERS = {}
NOISE = (FLOAT * (1 << 22))()


def synchronise():
    wait(BACKEND)


def release():
    """Gives back what the last operation held."""
    while HELD:
        memory, buffer = HELD.pop()
        buffer_free(buffer)
        free(memory)


class Graph:
    """Tensors with their data, and the one operation that reads them."""

    def __init__(self):
        self.memory = init(InitParams(16 << 20, None, True))
        self.filled = []

    def tensor(self, kind, *shape, below=None):
        """Random values; of indices, whole numbers below `below`."""
        made = new_tensor(self.memory, kind, len(shape), (LONG * len(shape))(*shape))
        self.filled.append((made, kind, shape, below))
        return made

    def runs(self, result):
        graph = new_graph(self.memory)
        expand(graph, result)
        buffer = allocate(self.memory, BACKEND)
        if not buffer:
            raise MemoryError("no room on the device")
        HELD.append((self.memory, buffer))
        for made, kind, shape, below in self.filled:
            fill(made, kind, shape, below)

        def call():
            if compute(BACKEND, graph) != 0:
                raise RuntimeError("ggml_backend_graph_compute failed")
        return call


def fill(made, kind, shape, below):
    """The same rows again and again: quantising takes long."""
    size = nbytes(made)
    count = 1
    for extent in shape:
        count *= extent
    if kind == I32:
        # The experts of a token differ.
        rows = [random.sample(range(below), shape[0]) for _ in range(count // shape[0])]
        data = (ctypes.c_int32 * count)(*[index for row in rows for index in row])
        set_data(made, data, 0, size)
        return
    rows = max(1, min(count, len(NOISE)) // shape[0])
    part = size * rows * shape[0] // count
    data = ctypes.create_string_buffer(part)
    if kind == F32:
        ctypes.memmove(data, NOISE, part)
    else:
        quantise(kind, NOISE, data, 0, rows, shape[0], None)
    for offset in range(0, size, part):
        set_data(made, data, offset, min(part, size - offset))


def operation(make):
    MAKERS["llama_" + make.__name__] = make
    return make


def product(kind, tokens):
    def make():
        graph = Graph()
        return graph.runs(mul_mat(graph.memory, graph.tensor(TYPES[kind], 8192, 16384), graph.tensor(F32, 8192, tokens)))
    MAKERS[f"llama_mul_mat_{kind}_{tokens}"] = make


for one in TYPES:
    product(one, 1)
for one in ("q4_0", "q8_0", "q4_k", "q6_k", "mxfp4", "f16", "bf16"):
    product(one, 512)
for one in ("q4_k", "q8_0"):
    product(one, 8)
    product(one, 32)


def experts(kind, tokens):
    def make():
        graph = Graph()
        weights = graph.tensor(TYPES[kind], 4096, 2048, 32)
        return graph.runs(mul_mat_id(graph.memory, weights, graph.tensor(F32, 4096, 1, tokens),
                                     graph.tensor(I32, 4, tokens, below=32)))
    MAKERS[f"llama_experts_{kind}_{tokens}"] = make


experts("q4_k", 1)
experts("q4_k", 256)
experts("mxfp4", 256)


@operation
def rms_norm_rows():
    graph = Graph()
    return graph.runs(rms_norm(graph.memory, graph.tensor(F32, 8192, 4096), 1e-5))


@operation
def rope():
    graph = Graph()
    heads, positions = graph.tensor(F32, 128, 64, 2048), graph.tensor(I32, 2048, below=4096)
    return graph.runs(rope_ext(graph.memory, heads, positions, None, 128, 0, 4096, 10000.0, 1.0, 0.0, 1.0, 32.0, 1.0))


@operation
def softmax():
    graph = Graph()
    return graph.runs(soft_max_ext(graph.memory, graph.tensor(F32, 2048, 512, 32), None, 0.088, 0.0))


@operation
def swiglu_split():
    graph = Graph()
    return graph.runs(swiglu(graph.memory, graph.tensor(F32, 28672, 1024)))


@operation
def add_rows():
    graph = Graph()
    return graph.runs(add(graph.memory, graph.tensor(F32, 8192, 4096), graph.tensor(F32, 8192, 4096)))


@operation
def cast_f16():
    graph = Graph()
    return graph.runs(cast(graph.memory, graph.tensor(F32, 8192, 4096), F16))


@operation
def look_up_rows():
    graph = Graph()
    return graph.runs(get_rows(graph.memory, graph.tensor(Q8_0, 4096, 32768), graph.tensor(I32, 8192, below=32768)))


def flusher():
    graph = Graph()
    call = graph.runs(total(graph.memory, graph.tensor(F32, 8192, 8192)))
    HELD.pop()  # it stays
    return call


def operations():
    global BACKEND
    BACKEND = cuda_init(0)
    if not BACKEND:
        sys.exit("kernels_llama.py: ggml finds no CUDA device")
    random.seed(1)
    for index in range(len(NOISE)):
        NOISE[index] = random.gauss(0.0, 1.0)
    return MAKERS
