// What ldmatrix and mma.sync do, on the host: each lane has the elements that the PTX manual gives it, and all of a warp come together.
//
// The layouts are written down here from the manual's formulas (mma.m16n8k8, m16n8k16, m16n8k32, "matrix fragments"), as functions from
// an element to its lane; the texts that run against this have them the other way round.
#pragma once

static unsigned long long shim_ldmatrix_phases[2];  // all, and those in which two rows want the same bank
extern "C" unsigned long long const* shim_ldmatrix_counts() { return shim_ldmatrix_phases; }

/// What the lanes of the warp show; the first one counts the phases in which they are read.
static void shim_rows_of_warp(unsigned char const* (&rows)[32]) {
  shim_unseen const own;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned long long its;
    __builtin_memcpy(&its, shim_mail_of(lane), sizeof its);
    rows[lane] = reinterpret_cast<unsigned char const*>(its);
  }
  // A phase reads 8 rows of 16 bytes: once each of the 32 banks of 4 bytes, or in turns.
  for (unsigned m = 0; m < 4 && shim_linear() % 32 == 0; ++m) {
    unsigned used = 0;
    for (unsigned r = 0; r < 8; ++r) used |= 1u << reinterpret_cast<unsigned long long>(rows[m * 8 + r]) / 16 % 8;
    ++shim_ldmatrix_phases[0];
    shim_ldmatrix_phases[1] += used != 0xff;
  }
}
[[gnu::unused]] static void shim_ldmatrix(unsigned (&x)[4], void const* row, bool turned) {
  auto const at = reinterpret_cast<unsigned long long>(row);
  if (at % 16 != 0) __builtin_trap();
  if ((unsigned char const*)row < weft_shared || (unsigned char const*)row >= weft_shared + shim_shared_limit) __builtin_trap();
  shim_meet(&at, sizeof at, turned ? 2 : 1);
  unsigned const lane = shim_linear() % 32;
  unsigned char const* rows[32];
  shim_rows_of_warp(rows);
  for (unsigned m = 0; m < 4; ++m) {
    unsigned short halves[2];
    for (unsigned h = 0; h < 2; ++h) {
      unsigned const r = turned ? lane % 4 * 2 + h : lane / 4, c = turned ? lane / 4 : lane % 4 * 2 + h;
      __builtin_memcpy(&halves[h], rows[m * 8 + r] + 2 * c, 2);
    }
    __builtin_memcpy(&x[m], halves, 4);
  }
}
[[gnu::unused]] static unsigned shim_f32_to_tf32(unsigned bits) { return (bits + 0x1000u) & 0xffffe000u; }  // to nearest, away from zero in the middle

struct shim_mma_f16 {
  static constexpr int size = 2;
  static float wide(unsigned char const* p) { return shim_f16::wide(p[0] | p[1] << 8); }
};
struct shim_mma_bf16 {
  static constexpr int size = 2;
  static float wide(unsigned char const* p) { return shim_bf16::wide((unsigned short)(p[0] | p[1] << 8)); }
};
struct shim_mma_tf32 {
  static constexpr int size = 4;
  static float wide(unsigned char const* p) {  // the unit does not look at the other bits
    unsigned bits;
    __builtin_memcpy(&bits, p, 4);
    return shim_bits<float>(bits & 0xffffe000u);
  }
};
struct shim_mma_s8 {
  static constexpr int size = 1;
  static int wide(unsigned char const* p) { return (signed char)*p; }
};
struct shim_mma_u8 {
  static constexpr int size = 1;
  static int wide(unsigned char const* p) { return *p; }
};
/// Two instructions of 16 x 8 sums, of `terms`: sum(i, j), i of 16 and j of 8, is element j % 2 + 2 (i / 8) of lane i % 8 * 4 + j / 2.
template <class Operand, class Sum>
static void shim_mma(Sum (&c)[8], unsigned const (&a)[4], unsigned const (&b)[4], int terms, int what) {
  unsigned mail[8];
  for (int r = 0; r < 4; ++r) mail[r] = a[r], mail[4 + r] = b[r];
  shim_meet(mail, sizeof mail, what);
  shim_unseen const own;
  int const packed = 4 / Operand::size, group = 4 * packed;  // terms of four lanes
  auto const element = [&](int line, int k, int reg) {
    return Operand::wide(shim_mail_of((unsigned)(line % 8 * 4 + k % group / packed)) + 4 * reg + k % packed * Operand::size);
  };
  int const lane = (int)(shim_linear() % 32);
  for (int e = 0; e < 8; ++e) {
    int const i = lane / 4 + (e / 2 % 2) * 8, j = lane % 4 * 2 + e % 2 + e / 4 * 8;
    auto sum = c[e];
    for (int k = terms; k-- > 0;) sum += element(i, k, i / 8 + 2 * (k / group)) * element(j, k, 4 + k / group + 2 * (j / 8));
    c[e] = sum;
  }
}
#define SHIM_MMA(name, operand, sum, terms, what) \
  [[gnu::unused]] static void shim_mma_##name(sum (&c)[8], unsigned const (&a)[4], unsigned const (&b)[4]) { shim_mma<operand>(c, a, b, terms, what); }
SHIM_MMA(f16_f32, shim_mma_f16, float, 16, 3)
SHIM_MMA(bf16_f32, shim_mma_bf16, float, 16, 4)
SHIM_MMA(tf32_f32, shim_mma_tf32, float, 8, 5)
SHIM_MMA(s8_s32, shim_mma_s8, int, 32, 6)
SHIM_MMA(u8_s32, shim_mma_u8, int, 32, 7)
/// Sums of f16 two in a register, the left one below: of columns 0 to 7 rows 0 to 7 and 8 to 15, then of columns 8 to 15.
[[gnu::unused]] static void shim_mma_f16_f16(unsigned (&c)[4], unsigned const (&a)[4], unsigned const (&b)[4]) {
  float wide[8];
  for (int e = 0; e < 8; ++e) wide[e] = shim_f16::wide((unsigned short)(c[e / 2] >> e % 2 * 16));
  shim_mma<shim_mma_f16>(wide, a, b, 16, 8);
  for (int r = 0; r < 4; ++r) c[r] = shim_f16::narrow(wide[2 * r]) | (unsigned)shim_f16::narrow(wide[2 * r + 1]) << 16;
}

// --- wgmma: four warps multiply what their block shares, later than they say so ---------------------------------------
// What a thread is told waits until it settles: memory that is filled again before that, or a sum that is read, is wrong here as it is on a GPU. Where elements stand is decoded from
// the descriptors, by the manual's layouts of rows of 128 bytes that are swizzled.
struct shim_product {
  float* sums;
  unsigned long long left, right;
  int tile;
  bool row, bf16;
};
static shim_product shim_products[1024][128];
static unsigned shim_product_count[1024];
[[gnu::unused]] static unsigned shim_place_in_shared(void const* p) {
  if ((unsigned char const*)p < weft_shared || (unsigned char const*)p >= weft_shared + shim_shared_limit) __builtin_trap();
  return (unsigned)((unsigned char const*)p - weft_shared);
}
static float shim_of_matrix(unsigned long long matrix, int along, int terms, bool turned, bool bf16) {
  unsigned const begin = (unsigned)(matrix & 0x3fff) << 4, panel = (unsigned)(matrix >> 16 & 0x3fff) << 4, rows = (unsigned)(matrix >> 32 & 0x3fff) << 4;
  if (matrix >> 62 != 1) __builtin_trap();
  unsigned const r = (unsigned)(turned ? terms : along), c = (unsigned)(turned ? along : terms);
  unsigned at = begin + (turned ? c / 64 * panel : 0) + r / 8 * rows + r % 8 * 128 + (turned ? c % 64 : c) * 2;
  at ^= (at >> 7 & 7) << 4;
  unsigned char const* const e = weft_shared + at;
  return bf16 ? shim_mma_bf16::wide(e) : shim_mma_f16::wide(e);
}
[[gnu::unused]] static void shim_wgmma(float (&c)[8], unsigned long long left, unsigned long long right, int tile, bool row, bool bf16) {
  unsigned& n = shim_product_count[shim_linear()];
  if (n == 128) __builtin_trap();
  shim_products[shim_linear()][n++] = {c, left, right, tile, row, bf16};
  shim_comes();
}
[[gnu::unused]] static void shim_wgmma_f16_f32(float (&c)[8], unsigned long long a, unsigned long long b, int tile, bool row) { shim_wgmma(c, a, b, tile, row, false); }
[[gnu::unused]] static void shim_wgmma_bf16_f32(float (&c)[8], unsigned long long a, unsigned long long b, int tile, bool row) { shim_wgmma(c, a, b, tile, row, true); }
[[gnu::unused]] static void shim_wgmma_settle() {
  shim_unseen const own;
  int const thread = (int)shim_linear(), lane = thread % 32, warp = thread / 32 % 4;
  for (unsigned p = 0; p < shim_product_count[thread]; ++p) {
    shim_product const& it = shim_products[thread][p];
    for (int e = 0; e < 8; ++e) {
      int const i = warp * 16 + lane / 4 + (e / 2 % 2) * 8, j = it.tile * 16 + lane % 4 * 2 + e % 2 + e / 4 * 8;
      float sum = it.sums[e];
      for (int k = 16; k-- > 0;) sum += shim_of_matrix(it.left, i, k, false, it.bf16) * shim_of_matrix(it.right, j, k, it.row, it.bf16);
      it.sums[e] = sum;
    }
  }
  shim_product_count[thread] = 0;
}
