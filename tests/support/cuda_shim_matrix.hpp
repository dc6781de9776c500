// What the prelude's functions for matrix units do, on the host: each lane has all of a tile, and does all of it.
//
// So lanes that do not come are not waited for: `shim_tiles` counts for each thread how often it came. Elements lie in an order
// that nothing but these functions knows. Sums of floats are added from the last term to the first, and in f32.
#pragma once

static unsigned shim_tiles[1024];
extern "C" unsigned const* shim_tile_counts() { return shim_tiles; }
static inline void shim_comes() { ++shim_tiles[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)]; }

template <class T, int Rows, int Columns>
struct shim_fragment {
  T hidden[Rows * Columns];
  static int place(int i, int j) { return ((i * Columns + j) * 37 + 11) % (Rows * Columns); }  // 37: odd
  T& at(int i, int j) { return hidden[place(i, j)]; }
  T const& at(int i, int j) const { return hidden[place(i, j)]; }
  void load(T const* p, int rows, int columns) {
    shim_comes();
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) at(i, j) = p[i * rows + j * columns];
  }
  void store(T* p, int rows, int columns) const {
    shim_comes();
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) p[i * rows + j * columns] = at(i, j);
  }
};
struct shim_f16 {
  static float wide(unsigned short b) { return (float)shim_bits<_Float16>(b); }
  static unsigned short narrow(float x) { return shim_bits<unsigned short>((_Float16)x); }
};
struct shim_bf16 {
  static float wide(unsigned short b) { return shim_bits<float>((unsigned)b << 16); }
};
struct shim_tf32 {  // cvt.rna: the last bit that is kept is the nearest, away from zero in the middle
  static float wide(float x) { return shim_bits<float>((shim_bits<unsigned>(x) + 0x1000u) & 0xffffe000u); }
};
struct shim_int {
  static int wide(int x) { return x; }
  static int narrow(int x) { return x; }
};
struct shim_float {
  static float wide(float x) { return x; }
  static float narrow(float x) { return x; }
};
template <class Operand, class Sum, class C, class A, class B>
static inline void shim_multiply(C& c, A const& a, B const& b, int terms) {
  shim_comes();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      auto sum = Sum::wide(c.at(i, j));
      for (int k = terms; k-- > 0;) sum += Operand::wide(a.at(i, k)) * Operand::wide(b.at(k, j));
      c.at(i, j) = Sum::narrow(sum);
    }
}
#define SHIM_MATRIX(name, operand, operand_type, sum, sum_type, terms)                                                                  \
  typedef shim_fragment<operand, 16, terms> name##_a;                                                                                   \
  typedef shim_fragment<operand, terms, 16> name##_b;                                                                                   \
  typedef shim_fragment<sum, 16, 16> name##_c;                                                                                          \
  [[gnu::unused]] static void name##_fill(name##_c& c, sum v) { shim_comes(); for (sum& x : c.hidden) x = v; }                          \
  [[gnu::unused]] static void name##_load_a_row(name##_a& f, operand const* p, int stride) { f.load(p, stride, 1); }                    \
  [[gnu::unused]] static void name##_load_a_col(name##_a& f, operand const* p, int stride) { f.load(p, 1, stride); }                    \
  [[gnu::unused]] static void name##_load_b_row(name##_b& f, operand const* p, int stride) { f.load(p, stride, 1); }                    \
  [[gnu::unused]] static void name##_load_b_col(name##_b& f, operand const* p, int stride) { f.load(p, 1, stride); }                    \
  [[gnu::unused]] static void name##_multiply_row_row(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms); } \
  [[gnu::unused]] static void name##_multiply_row_col(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms); } \
  [[gnu::unused]] static void name##_multiply_col_row(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms); } \
  [[gnu::unused]] static void name##_multiply_col_col(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms); } \
  [[gnu::unused]] static void name##_store_row(sum* p, name##_c const& c, int stride) { c.store(p, stride, 1); }                        \
  [[gnu::unused]] static void name##_store_col(sum* p, name##_c const& c, int stride) { c.store(p, 1, stride); }
SHIM_MATRIX(weft_wmma_f16_f32, unsigned short, shim_f16, float, shim_float, 16)
SHIM_MATRIX(weft_wmma_f16_f16, unsigned short, shim_f16, unsigned short, shim_f16, 16)
SHIM_MATRIX(weft_wmma_bf16_f32, unsigned short, shim_bf16, float, shim_float, 16)
SHIM_MATRIX(weft_wmma_tf32_f32, float, shim_tf32, float, shim_float, 8)
SHIM_MATRIX(weft_wmma_s8_s32, signed char, shim_int, int, shim_int, 16)
SHIM_MATRIX(weft_wmma_u8_s32, unsigned char, shim_int, int, shim_int, 16)
