// The loops of math_gcc.cpp with vectors of 256 bits.
#define BENCH_GCC(name) gcc256_##name
#include "math_gcc.cpp"
