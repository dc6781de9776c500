// What the prelude's functions for matrix units do, on the host: a fragment's elements are spread over the lanes of a warp.
//
// Which lane has which element is drawn from the order of the launch, for operands and sums each, as no manual says it: a text that relies on
// an element's lane is wrong in nearly all orders. Lanes that do not come to load or store leave elements out; to multiply they meet, as
// each has some of the operands. `shim_tiles` counts for each thread how often it came. Sums of floats are added from the last term to the
// first, and in f32.
#pragma once

static unsigned shim_tiles[1024];
extern "C" unsigned const* shim_tile_counts() { return shim_tiles; }
static unsigned shim_linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static inline void shim_comes() { ++shim_tiles[shim_linear()]; }

/// Shows 32 bytes at most to the warp; when all have come, `shim_mail_of(lane)` is what another one shows. `what` tells instructions apart.
static void shim_meet(void const* given, unsigned bytes, int what) {
  shim_unseen const own;
  shim_comes();
  shim_fiber& f = *shim_now;
  __builtin_memcpy(f.mail[++f.mails & 1], given, bytes);
  f.distance = 32 * what;
  shim_leave(f, false);
}
static unsigned char const* shim_mail_of(unsigned lane) {
  shim_fiber const& f = shim_fibers[shim_linear() / 32 * 32 + lane];
  return f.mail[shim_now->mails & 1];  // all have shown as many
}

/// The places of `Count` elements, lane by lane, and the element of each place.
template <int Which, int Count>
struct shim_lots {
  static unsigned short element[Count], place[Count];
  static void draw(unsigned long long& state) {
    for (int i = 0; i < Count; ++i) {
      int const other = (int)(shim_random(state) % (unsigned)(i + 1));
      element[i] = element[other];
      element[other] = (unsigned short)i;
    }
    for (int i = 0; i < Count; ++i) place[element[i]] = (unsigned short)i;
  }
};
template <int Which, int Count>
unsigned short shim_lots<Which, Count>::element[Count];
template <int Which, int Count>
unsigned short shim_lots<Which, Count>::place[Count];
static void shim_draw_lanes(unsigned order) {
  unsigned long long state = order + 1000003ULL;
  shim_lots<'a', 256>::draw(state), shim_lots<'b', 256>::draw(state), shim_lots<'c', 256>::draw(state);
  shim_lots<'a', 128>::draw(state), shim_lots<'b', 128>::draw(state);
}

template <int Which, class T, int Rows, int Columns>
struct shim_fragment {
  using lots = shim_lots<Which, Rows * Columns>;
  static constexpr int each = Rows * Columns / 32;
  T x[each];
  void load(T const* p, int rows, int columns) {
    shim_comes();
    unsigned short const* const mine = lots::element + shim_linear() % 32 * each;
    for (int e = 0; e < each; ++e) x[e] = p[mine[e] / Columns * rows + mine[e] % Columns * columns];
  }
  void store(T* p, int rows, int columns) const {
    shim_comes();
    unsigned short const* const mine = lots::element + shim_linear() % 32 * each;
    for (int e = 0; e < each; ++e) p[mine[e] / Columns * rows + mine[e] % Columns * columns] = x[e];
  }
  /// Of an element that the warp shows, behind `offset` bytes.
  static T shown(int i, int j, int offset) {
    int const at = lots::place[i * Columns + j];
    T v;
    __builtin_memcpy(&v, shim_mail_of((unsigned)(at / each)) + offset + at % each * (int)sizeof(T), sizeof v);
    return v;
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
static inline void shim_multiply(C& c, A const& a, B const& b, int terms, int what) {
  unsigned char mail[sizeof a + sizeof b];
  static_assert(sizeof mail <= 32, "what a lane shows");
  __builtin_memcpy(mail, &a, sizeof a);
  __builtin_memcpy(mail + sizeof a, &b, sizeof b);
  shim_meet(mail, sizeof mail, what);
  shim_unseen const own;
  unsigned short const* const mine = C::lots::element + shim_linear() % 32 * C::each;
  for (int e = 0; e < C::each; ++e) {
    int const i = mine[e] / 16, j = mine[e] % 16;
    auto sum = Sum::wide(c.x[e]);
    for (int k = terms; k-- > 0;) sum += Operand::wide(A::shown(i, k, 0)) * Operand::wide(B::shown(k, j, sizeof a));
    c.x[e] = Sum::narrow(sum);
  }
}
/// Of shared memory ptxas loads by ldmatrix: whatever does not begin at multiples of 16 bytes there ends the run, as it does on a GPU.
template <class T>
static inline void shim_rows_of_ldmatrix(T const* p, int stride) {
  if (reinterpret_cast<unsigned long long>(p) % 16 != 0 || (unsigned)stride * sizeof(T) % 16 != 0) __builtin_trap();
  if ((unsigned char const*)p < weft_shared || (unsigned char const*)p >= weft_shared + shim_shared_limit) __builtin_trap();
}
#define SHIM_MATRIX(name, operand, operand_type, sum, sum_type, terms, what) \
  typedef shim_fragment<'a', operand, 16, terms> name##_a; \
  typedef shim_fragment<'b', operand, terms, 16> name##_b; \
  typedef shim_fragment<'c', sum, 16, 16> name##_c; \
  [[gnu::unused]] static void name##_fill(name##_c& c, sum v) { shim_comes(); for (sum& x : c.x) x = v; } \
  [[gnu::unused]] static void name##_load_a_row(name##_a& f, operand const* p, int stride) { f.load(p, stride, 1); } \
  [[gnu::unused]] static void name##_load_a_row_shared(name##_a& f, operand const* p, int stride) { shim_rows_of_ldmatrix(p, stride); f.load(p, stride, 1); } \
  [[gnu::unused]] static void name##_load_a_col(name##_a& f, operand const* p, int stride) { f.load(p, 1, stride); } \
  [[gnu::unused]] static void name##_load_a_col_shared(name##_a& f, operand const* p, int stride) { shim_rows_of_ldmatrix(p, stride); f.load(p, 1, stride); } \
  [[gnu::unused]] static void name##_load_b_row(name##_b& f, operand const* p, int stride) { f.load(p, stride, 1); } \
  [[gnu::unused]] static void name##_load_b_row_shared(name##_b& f, operand const* p, int stride) { shim_rows_of_ldmatrix(p, stride); f.load(p, stride, 1); } \
  [[gnu::unused]] static void name##_load_b_col(name##_b& f, operand const* p, int stride) { f.load(p, 1, stride); } \
  [[gnu::unused]] static void name##_load_b_col_shared(name##_b& f, operand const* p, int stride) { shim_rows_of_ldmatrix(p, stride); f.load(p, 1, stride); } \
  [[gnu::unused]] static void name##_multiply_row_row(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms, what); } \
  [[gnu::unused]] static void name##_multiply_row_col(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms, what); } \
  [[gnu::unused]] static void name##_multiply_col_row(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms, what); } \
  [[gnu::unused]] static void name##_multiply_col_col(name##_c& c, name##_a const& a, name##_b const& b) { shim_multiply<operand_type, sum_type>(c, a, b, terms, what); } \
  [[gnu::unused]] static void name##_store_row(sum* p, name##_c const& c, int stride) { c.store(p, stride, 1); } \
  [[gnu::unused]] static void name##_store_col(sum* p, name##_c const& c, int stride) { c.store(p, 1, stride); }
SHIM_MATRIX(weft_wmma_f16_f32, unsigned short, shim_f16, float, shim_float, 16, 9)
SHIM_MATRIX(weft_wmma_f16_f16, unsigned short, shim_f16, unsigned short, shim_f16, 16, 10)
SHIM_MATRIX(weft_wmma_bf16_f32, unsigned short, shim_bf16, float, shim_float, 16, 11)
SHIM_MATRIX(weft_wmma_tf32_f32, float, shim_tf32, float, shim_float, 8, 12)
SHIM_MATRIX(weft_wmma_s8_s32, signed char, shim_int, int, shim_int, 16, 13)
SHIM_MATRIX(weft_wmma_u8_s32, unsigned char, shim_int, int, shim_int, 16, 14)
