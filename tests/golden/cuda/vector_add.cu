static __device__ __forceinline__ float weft_add_f32(float a, float b) {
  return __fadd_rn(a, b);
}

extern "C" __global__ void __launch_bounds__(256)
vector_add_kernel(
    float const* __restrict__ A,
    float const* __restrict__ B,
    float* __restrict__ C,
    long long n) {
  long long const i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    C[i] = weft_add_f32(A[i], B[i]);
  }
}
