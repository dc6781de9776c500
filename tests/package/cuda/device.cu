// What nvcc compiles; it does not see weft.
__global__ void double_all(float* x, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= 2.0f;
}

/// Doubles x on the first GPU; false when the machine has none.
bool double_on_device(float* x, int n) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  float* there = nullptr;
  auto const bytes = static_cast<std::size_t>(n) * sizeof(float);
  cudaMalloc(&there, bytes);
  cudaMemcpy(there, x, bytes, cudaMemcpyHostToDevice);
  double_all<<<(n + 127) / 128, 128>>>(there, n);
  cudaMemcpy(x, there, bytes, cudaMemcpyDeviceToHost);
  cudaFree(there);
  return cudaGetLastError() == cudaSuccess;
}
