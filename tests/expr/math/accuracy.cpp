// Math functions against MPFR, which knows the truth to as many bits as one likes.
#include <doctest/doctest.h>

#if WEFT_TEST_MPFR

#include <mpfr.h>

#include <cstdio>
#include <cstdlib>

#include "expr/math/bounds.hpp"
#include "expr/math/kernel.hpp"
#include "expr/math/samples.hpp"
#include "weft/compile.hpp"

namespace {
using weft::op;
using namespace weft_test;

struct real {
  mpfr_t value;
  explicit real(mpfr_prec_t bits) { mpfr_init2(value, bits); }
  ~real() { mpfr_clear(value); }
  real(real const&) = delete;
  real& operator=(real const&) = delete;
};

/// What has no MPFR function of its own is made of some; where that is not a number though the limit is, it is said.
void truth(op o, mpfr_t r, mpfr_t x, mpfr_t y) {
  auto const nearest = MPFR_RNDN;
  switch (o) {
    case op::exp: mpfr_exp(r, x, nearest); return;
    case op::exp2: mpfr_exp2(r, x, nearest); return;
    case op::expm1: mpfr_expm1(r, x, nearest); return;
    case op::log: mpfr_log(r, x, nearest); return;
    case op::log2: mpfr_log2(r, x, nearest); return;
    case op::log1p: mpfr_log1p(r, x, nearest); return;
    case op::pow: mpfr_pow(r, x, y, nearest); return;
    case op::sqrt: mpfr_sqrt(r, x, nearest); return;
    case op::rsqrt:  // mpfr_rec_sqrt(-0) is inf
      mpfr_sqrt(r, x, nearest);
      mpfr_ui_div(r, 1, r, nearest);
      return;
    case op::sin: mpfr_sin(r, x, nearest); return;
    case op::cos: mpfr_cos(r, x, nearest); return;
    case op::tan: mpfr_tan(r, x, nearest); return;
    case op::atan: mpfr_atan(r, x, nearest); return;
    case op::atan2: mpfr_atan2(r, x, y, nearest); return;
    case op::tanh: mpfr_tanh(r, x, nearest); return;
    case op::sigmoid:
      mpfr_neg(r, x, nearest);
      mpfr_exp(r, r, nearest);
      mpfr_add_ui(r, r, 1, nearest);
      mpfr_ui_div(r, 1, r, nearest);
      return;
    case op::erf: mpfr_erf(r, x, nearest); return;
    case op::gelu:
      if (mpfr_inf_p(x) && mpfr_signbit(x)) {
        mpfr_set_zero(r, -1);
        return;
      }
      mpfr_sqrt_ui(r, 2, nearest);
      mpfr_div(r, x, r, nearest);
      mpfr_neg(r, r, nearest);
      mpfr_erfc(r, r, nearest);
      mpfr_mul(r, r, x, nearest);
      mpfr_div_ui(r, r, 2, nearest);
      return;
    case op::rem: mpfr_fmod(r, x, y, nearest); return;
    case op::floor: mpfr_floor(r, x); return;
    case op::ceil: mpfr_ceil(r, x); return;
    case op::trunc: mpfr_trunc(r, x); return;
    case op::round: mpfr_roundeven(r, x); return;
    case op::abs: mpfr_abs(r, x, nearest); return;
    default: std::abort();
  }
}

/// |got - exact| in units of the last place of T at `exact`; infinite where one is NaN and the other not, or signs
/// differ. As IEEE 754 rounds, infinity stands for the power of two behind the largest number. Spoils `exact`.
template <class T>
double error_of(T got, mpfr_t exact) {
  using limits = std::numeric_limits<T>;
  bool const none = mpfr_nan_p(exact) != 0;
  if (none && std::isnan(got)) return 0;
  if (none || std::isnan(got) || std::signbit(got) != (mpfr_signbit(exact) != 0)) return HUGE_VAL;
  long power = mpfr_zero_p(exact) ? limits::min_exponent : mpfr_get_exp(exact);
  if (mpfr_inf_p(exact) || power > limits::max_exponent) {
    mpfr_set_si_2exp(exact, std::signbit(got) ? -1 : 1, limits::max_exponent, MPFR_RNDN);
    power = limits::max_exponent;
  }
  if (power < limits::min_exponent) power = limits::min_exponent;
  if (std::isinf(got)) {
    mpfr_t limit;
    mpfr_init2(limit, 2);
    mpfr_set_si_2exp(limit, got < 0 ? -1 : 1, limits::max_exponent, MPFR_RNDN);
    mpfr_sub(exact, exact, limit, MPFR_RNDN);
    mpfr_clear(limit);
  } else {
    mpfr_sub_d(exact, exact, static_cast<double>(got), MPFR_RNDN);
  }
  mpfr_mul_2si(exact, exact, limits::digits - power, MPFR_RNDN);
  return std::fabs(mpfr_get_d(exact, MPFR_RNDN));
}

struct found {
  double ulp = -1, a = 0, b = 0, got = 0;
};

std::int64_t sample_count() {
  char const* const wanted = std::getenv("WEFT_TEST_SAMPLES");
  return wanted != nullptr ? std::atol(wanted) : 10000;
}

/// With fma and without, on the same operands.
template <class T>
void check(math_function const& f, bound const& allowed, std::uint64_t seed) {
  constexpr std::int64_t block = 10000;
  bool const is_float = sizeof(T) == 4;
  weft::target machine[2] = {weft::host(), weft::host()};
  machine[1].fma = false;
  int const lanes = weft::host().vector_bytes / static_cast<int>(sizeof(T));
  std::vector<math_kernel> kernels;
  for (weft::target const& m : machine)
    kernels.emplace_back(f.o, is_float ? weft::dtype::f32 : weft::dtype::f64, m, block, lanes);
  real x(64), y(64), exact(200), copy(200);
  found worst[2];
  sampler<T> samples(seed);
  for (std::int64_t done = 0; done < sample_count(); done += block) {
    operands<T> const in = samples.draw(block);
    std::vector<T> got[2];
    for (int m = 0; m < 2; ++m) {
      got[m].resize(block);
      kernels[static_cast<std::size_t>(m)](in.a.data(), in.b.data(), got[m].data());
    }
    for (std::size_t n = 0; n < block; ++n) {
      auto const a = static_cast<double>(in.a[n]), b = static_cast<double>(in.b[n]);
      mpfr_set_d(x.value, a, MPFR_RNDN);
      mpfr_set_d(y.value, b, MPFR_RNDN);
      truth(f.o, exact.value, x.value, y.value);
      for (int m = 0; m < 2; ++m) {
        mpfr_set(copy.value, exact.value, MPFR_RNDN);
        double const ulp = error_of(got[m][n], copy.value);
        if (ulp > worst[m].ulp) worst[m] = {ulp, a, b, static_cast<double>(got[m][n])};
      }
    }
  }
  for (int m = 0; m < 2; ++m) {
    if (m == 0 && !weft::host().fma) continue;
    char line[200];
    std::snprintf(line, sizeof line, "%s %s %s: %.4f ulp at %a %a, got %a", std::string(weft::name(f.o)).c_str(),
                  is_float ? "f32" : "f64", m == 0 ? "with fma" : "without", worst[m].ulp, worst[m].a,
                  weft::arity(f.o) == 2 ? worst[m].b : 0.0, worst[m].got);
    if (sample_count() > block) MESSAGE(line);
    INFO("seed " << seed << ": " << line);
    CHECK(worst[m].ulp <= (m == 0 ? allowed.fused : allowed.plain));
  }
}

}  // namespace

TEST_CASE("math functions are as near to the truth as docs/math.md says, with fma and without") {
  // A result that MPFR would write with a huge exponent is beyond every bound anyway.
  mpfr_set_emin(-1100000);
  mpfr_set_emax(1100000);
  std::uint64_t const seed = std::getenv("WEFT_TEST_SEED") != nullptr ? std::strtoull(std::getenv("WEFT_TEST_SEED"), nullptr, 0) : 1;
  for (math_function const& f : math_functions) {
    check<float>(f, f.f32, seed);
    check<double>(f, f.f64, seed);
  }
}

#else

TEST_CASE("math functions against MPFR") { MESSAGE("[skip] no MPFR here: apt-get install libmpfr-dev"); }

#endif
