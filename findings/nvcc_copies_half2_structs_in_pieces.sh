#!/usr/bin/env bash
# nvcc 13.0.88 (nvidia-cuda-nvcc), cuda_fp16.h and cuda_bf16.h of nvidia-cuda-runtime 13.0.96.
#
# Guess: an aligned struct of 16 bytes is loaded and stored by one instruction of 16 bytes, whatever its members are:
# struct alignas(16) four { __nv_bfloat162 v[4]; } is what kernels of LLMs move their vectors in.
# Behaviour: of float it is; of __half2 and __nv_bfloat162 it is copied member by member, since these have copy
# constructors of their own. A warp then takes four instructions of stride 16, each of which uses a quarter of the
# sectors that it touches. As uint4 the same bytes are one load.
# Seen, in the PTX of a copy: float: ld.global.v4.f32, st.global.v4.f32; __half2 and __nv_bfloat162: four times
# ld.global.u32, st.global.u32; uint4: ld.global.v4.u32, st.global.v4.u32
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-deps --target "$folder/w" nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 \
  nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
cat >"$folder/copy.cu" <<'C'
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T> struct alignas(16) four { T v[4]; };
template <class T> __device__ void copy(T const* from, T* to) { to[threadIdx.x] = from[threadIdx.x]; }
extern "C" {
__global__ void of_float(four<float> const* from, four<float>* to) { copy(from, to); }
__global__ void of_half2(four<__half2> const* from, four<__half2>* to) { copy(from, to); }
__global__ void of_bfloat162(four<__nv_bfloat162> const* from, four<__nv_bfloat162>* to) { copy(from, to); }
__global__ void of_uint4(uint4 const* from, uint4* to) { copy(from, to); }
}
C
toolkit=$folder/w/nvidia/cu13
chmod +x "$toolkit"/bin/* "$toolkit"/nvvm/bin/* 2>/dev/null || true
"$toolkit/bin/nvcc" -O3 -std=c++17 -arch=sm_90 -ptx -o "$folder/copy.ptx" "$folder/copy.cu"
awk '/\.entry/ { sub(/\(.*/, "", $3); kernel = $3 } /(ld|st)\.global/ { print kernel ": " $1 }' "$folder/copy.ptx" |
  sort | uniq -c | awk '{ print $2, $1, "x", $3 }' >"$folder/seen"
cat "$folder/seen"
for line in 'of_float: 1 x ld.global.v4.f32' 'of_half2: 4 x ld.global.u32' 'of_bfloat162: 4 x ld.global.u32' \
  'of_half2: 4 x st.global.u32' 'of_bfloat162: 4 x st.global.u32' 'of_uint4: 1 x ld.global.v4.u32' \
  'of_float: 1 x st.global.v4.f32' 'of_uint4: 1 x st.global.v4.u32'; do
  grep -qx "$line" "$folder/seen"
done
