"""Prints include/weft/expr/math/coefficients.hpp: the polynomials behind weft's math functions.

    python3 -m venv venv && venv/bin/pip install mpmath
    venv/bin/python scripts/math_coefficients.py > include/weft/expr/math/coefficients.hpp

Each is the polynomial of least weighted maximum error on a grid of Chebyshev points, found by the exchange algorithm
(E. Remez, 1934; as in Muller, Elementary Functions, 3rd ed., section 3.6). The coefficients are then rounded one
after the other, the most important (lowest) first; after each the others are fitted anew, so that they take up what
rounding left. `names on the command line`: only these.
"""

import sys
from math import frexp
from random import Random

from mpmath import (atan, atanh, cos, erf, erfc, exp, expm1, fabs, floor, inf, ldexp, log, log1p, lu_solve, matrix, mp, mpf,
                    pi, sin, sqrt, tan, tanh)

mp.prec = 220


def chebyshev(a, b, count):
    return [(a + b) / 2 + (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / count) for i in range(count)][::-1]


def rounded(c, bits):
    """c as a float of so many bits."""
    if c == 0:
        return mpf(0)
    saved, mp.prec = mp.prec, bits
    r = +c
    mp.prec = saved
    return r


def extrema_of(errors):
    """One for each stretch of equal sign."""
    found = []
    for i, e in enumerate(errors):
        if found and (errors[found[-1]] > 0) == (e > 0):
            if fabs(e) > fabs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    return found


def best(points, values, weights, powers):
    """Coefficients of x^p, p in powers, of least max |weight * (value - polynomial)|, and that maximum."""
    n = len(powers)
    rows = [[x**p for p in powers] for x in points]
    picked = [round(i * (len(points) - 1) / n) for i in range(n + 1)]
    for _ in range(60):
        a, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for k, i in enumerate(picked):
            for j in range(n):
                a[k, j] = rows[i][j] * weights[i]
            a[k, n] = (-1)**k
            b[k] = values[i] * weights[i]
        c = lu_solve(a, b)
        level = fabs(c[n])
        errors = [weights[i] * (values[i] - sum(c[j] * rows[i][j] for j in range(n))) for i in range(len(points))]
        extrema = extrema_of(errors)
        while len(extrema) > n + 1:
            drop = 0 if fabs(errors[extrema[0]]) < fabs(errors[extrema[-1]]) else -1
            if len(extrema) > n + 2:  # two neighbours, so that the signs go on alternating
                k = min(range(len(extrema) - 1),
                        key=lambda i: max(fabs(errors[extrema[i]]), fabs(errors[extrema[i + 1]])))
                del extrema[k:k + 2]
                continue
            del extrema[drop]
        worst = max(fabs(e) for e in errors)
        if len(extrema) < n + 1 or worst <= level * (1 + mpf(10)**-6):
            return [c[j] for j in range(n)], worst
        picked = extrema
    return [c[j] for j in range(n)], worst


def fit(f, weight, a, b, count, bits, step=1, fixed=()):
    """Coefficients c_0.. of sum c_k x^(k * step); the first ones may be given."""
    points = chebyshev(mpf(a), mpf(b), max(30 * count, 200))
    values, weights = [f(x) for x in points], [weight(x) for x in points]
    done = []
    rest = [v - sum(c * x**(k * step) for k, c in enumerate(fixed)) for v, x in zip(values, points)]
    _, ideal = best(points, rest, weights, [k * step for k in range(len(fixed), count)])
    for k in range(count):
        if k < len(fixed):
            c = fixed[k]
        else:
            c, _ = best(points, values, weights, [j * step for j in range(k, count)])
            c = c[0]
        size = bits[k] if isinstance(bits, (list, tuple)) else bits
        c = rounded(mpf(c), size)
        done.append(c)
        values = [v - c * x**(k * step) for v, x in zip(values, points)]
    worst = max(fabs(w * v) for v, w in zip(values, weights))
    return done, worst, ideal


def polished(c, f, weight, a, b, bits):
    """`c` after small steps, of some coefficients at a time, that lower the error: where the last terms count, rounding one after
    the other leaves a third of it."""
    points = [float(x) for x in chebyshev(mpf(a), mpf(b), 300)]
    values, weights = [float(f(mpf(x))) for x in points], [float(weight(mpf(x))) for x in points]

    def error_of(c):
        worst = 0.0
        for x, v, w in zip(points, values, weights):
            p = 0.0
            for k in reversed(c):
                p = p * x + k
            worst = max(worst, abs(w * (v - p)))
        return worst

    chosen, best_error, dice = [float(x) for x in c], error_of([float(x) for x in c]), Random(1)
    for _ in range(40000):
        tried = list(chosen)
        for _ in range(dice.randint(1, 3)):
            k = dice.randrange(len(c))
            unit = 2.0**(frexp(tried[k])[1] - bits)
            tried[k] = float(rounded(mpf(tried[k] + unit * dice.choice((-1, 1)) * 2**dice.randrange(15)), bits))
        error = error_of(tried)
        if error < best_error:
            chosen, best_error = tried, error
    return [mpf(x) for x in chosen], mpf(best_error)


def rational(f, a, b, above, below, bits):
    """p, q of least maximum relative error of (1 - x p(x)) / (1 - x q(x)), by the exchange algorithm; then rounded."""
    size = above + below + 1
    points = chebyshev(mpf(a), mpf(b), 40 * size)
    values = [f(x) for x in points]
    ends = [(a + b) / 2 - (b - a) / 2 * cos(pi * k / (size - 1)) for k in range(size)]
    picked = [min(range(len(points)), key=lambda i: fabs(points[i] - x)) for x in ends]
    level = mpf(0)

    def errors_of(p, q):
        return [(1 + sum(c * x**(k + 1) for k, c in enumerate(p))) / (1 + sum(c * x**(k + 1) for k, c in enumerate(q))) / v - 1
                for x, v in zip(points, values)]

    for _ in range(12):
        for _ in range(8):  # the level is a factor of what is solved for
            m, right = matrix(size, size), matrix(size, 1)
            for k, i in enumerate(picked):
                for j in range(above):
                    m[k, j] = points[i]**(j + 1)
                for j in range(below):
                    m[k, above + j] = -values[i] * (1 + (-1)**k * level) * points[i]**(j + 1)
                m[k, size - 1] = -values[i] * (-1)**k
                right[k] = values[i] - 1
            c = lu_solve(m, right)
            level = c[size - 1]
        p, q = [c[j] for j in range(above)], [c[above + j] for j in range(below)]
        errors = errors_of(p, q)
        extrema = extrema_of(errors)
        if len(extrema) != size:
            break
        picked = extrema
    ideal = max(fabs(e) for e in errors)
    p, q = [rounded(c, bits) for c in p], [rounded(c, bits) for c in q]
    worst = max(fabs(e) for e in errors_of(p, q))
    return [-c for c in p], [-c for c in q], worst, ideal


def print_array(what, kind, name, items):
    print(f"// {what}")
    lines, line = [], "   "
    for i, item in enumerate(items):
        item += "," if i + 1 < len(items) else "};"
        if len(line) + 1 + len(item) > 118:
            lines.append(line)
            line = "   "
        line += " " + item
    lines.append(line)
    print(f"inline constexpr {kind} {name}[] = {{\n" + "\n".join(lines), flush=True)


def hexadecimal(c):
    """C's hexadecimal notation of a float of at most 53 bits."""
    return float(c).hex()


half_ln2 = log(2) / 2 * (1 + ldexp(1, -10))
third = mpf(1) / 3


def by_series(f, series):
    """f, but where |x| is so small that it would cancel, its series."""
    return lambda x: series(x) if fabs(x) < ldexp(1, -30) else f(x)


exp_tail = by_series(lambda r: (expm1(r) - r) / r**2, lambda r: mpf(1) / 2 + r / 6 + r**2 / 24)
expm1_weight = by_series(lambda r: r**2 / fabs(expm1(r)), fabs)
def exp_weight(r):
    return r**2 / exp(r)


exp2_tail = by_series(lambda r: (2**r - 1) / r, lambda r: log(2) + log(2)**2 / 2 * r + log(2)**3 / 6 * r * r)
log_tail = by_series(lambda f: (log1p(f) - f) / f**2, lambda f: -mpf(1) / 2 + f / 3 - f * f / 4)
log_weight = by_series(lambda f: f**2 / fabs(log1p(f)), fabs)

def log_weight_of_2(f):
    return log_weight(f) * log(2)


atanh_tail = by_series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: mpf(2) / 3 + 2 * z / 5)
root_z = (sqrt(2) - 1) / (sqrt(2) + 1)  # s at the ends of the interval of m

tanh_tail = by_series(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: -mpf(1) / 3 + 2 * z / 15)


def odd_weight(f):
    """For f(x) = x + x z p(z), z = x^2, relative to f."""
    return by_series(lambda z: z * sqrt(z) / f(sqrt(z)), lambda z: z)


scaled_tanh = by_series(lambda z: mpf(27) / 16 * tanh(sqrt(z)) / sqrt(z), lambda z: mpf(27) / 16 * (1 - z / 3))


def scaled_tanh_weight(z):
    """What an error of the polynomial makes of e^2w = (1 + tanh w) / (1 - tanh w), relative to it."""
    w = sqrt(z)
    return 2 * w / (1 - tanh(w)**2) * 16 / 27


def parts(value, sizes):
    """`value` as a sum of positive floats of so many bits each."""
    found = []
    for size in sizes:
        unit = ldexp(1, int(floor(log(value, 2))) + 1 - size)
        found.append(floor(value / unit) * unit)
        value -= found[-1]
    return found


sin_tail = by_series(lambda z: (1 - sin(sqrt(z)) / sqrt(z)) / z, lambda z: mpf(1) / 6 - z / 120)
tan_part = by_series(lambda z: tan(sqrt(z)) / sqrt(z), lambda z: 1 + z / 3)
quarter_turn = (pi / 4 * (1 + ldexp(1, -20)))**2
atan_tail = by_series(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: -mpf(1) / 3 + z / 5)
erf_tail = by_series(lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: 2 / sqrt(pi) * (1 - z / 3) - 1)


def erf_weight(z):
    return sqrt(z) / erf(sqrt(z)) if z > 0 else sqrt(pi) / 2


def erfc_root(k, t):
    return erfc(t)**(mpf(1) / k)


def erfc_start(k, bits):
    """A float t a little below 1 where (erfc t)^(1 / k) and its square are almost floats, and those two."""
    def off(t):
        root = rounded(erfc_root(k, t), bits)
        return fabs(root / erfc_root(k, t) - 1) + fabs(rounded(root**2, bits) / root**2 - 1)
    t = min((1 - i * ldexp(1, -20) for i in range(1, 1000)), key=off)
    root = rounded(erfc_root(k, t), bits)
    return [t, root, rounded(root**2, bits)]


def erfc_rest(k, bits):
    t, root, _ = erfc_start(k, bits)
    return lambda u: (erfc_root(k, t + u) - root) / u


def erfc_weight(k, bits):
    """What an error of the rest makes of erf."""
    t = erfc_start(k, bits)[0]
    return lambda u: u * k * erfc(t + u)**(1 - mpf(1) / k) / erf(t + u)


def gelu_tail(pole):
    """y = (t - k) / (t + k) -> Phi(-t) e^(t^2 / 2) (t + k)"""
    def f(y):
        t = pole * (1 + y) / (1 - y)
        return erfc(t / sqrt(mpf(2))) / 2 * exp(t * t / 2) * (t + pole)
    return f


def gelu_range(pole, t):
    return (mpf(t) - pole) / (mpf(t) + pole)


log2_tail = by_series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z)) / log(2), lambda z: (2 + 2 * z / 3) / log(2))
log2_third = by_series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2 - 2 * z / 3) / log(2) / z**2,
                       lambda z: (mpf(2) / 5 + 2 * z / 7) / log(2))

PARTS = {
    # name: (what it is, value, bits of each part)
    "half_pi_f32": ("pi / 2 in parts, for fma: products with integers need not be exact", pi / 2, [24, 24, 24]),
    "half_pi_f64": ("the same for f64", pi / 2, [53, 53, 53]),
    "log2_first": ("2 / log 2", 2 / log(2), [53, 53]),
    "log2_second": ("2 / 3 / log 2", mpf(2) / 3 / log(2), [53, 53]),
    "half_pi_exact": ("pi / 2 in parts whose products with integers below 2^26 are exact; the last as it comes", pi / 2,
                      [27, 27, 27, 53]),
}

POLYNOMIALS = {
    # name: (what it is, function, weight, from, to, count, bits[, step])
    "exp_f32": ("exp(r) = 1 + r + r^2 p(r), |r| < 0.347", exp_tail, exp_weight, -half_ln2, half_ln2, 5, 24),
    "exp_f64": ("the same", exp_tail, exp_weight, -half_ln2, half_ln2, 10, 53),
    "exp2_f32": ("2^r = 1 + r p(r), |r| <= 1/2", exp2_tail, lambda r: fabs(r) / 2**r, -0.5, 0.5, 6, 24),
    "exp2_short_f32": ("2^r = 1 + r p(r), |r| <= 1/2", exp2_tail, lambda r: fabs(r) / 2**r, -0.5, 0.5, 5, 24),
    "exp2_wide_f32": ("the same, for f32 in f64", exp2_tail, lambda r: fabs(r) / 2**r, -0.5, 0.5, 6, 53),
    "exp2_f64": ("the same", exp2_tail, lambda r: fabs(r) / 2**r, -0.5, 0.5, 11, 53),
    "log_f32": ("log(1 + f) = f + f^2 p(f), |f| <= 1/3", log_tail, log_weight, -third, third, 9, 24),
    "log2_tail_f32": ("log2(1 + f) = f log2 e + f^2 p(f), sqrt(1/2) <= 1 + f <= sqrt 2", lambda f: log_tail(f) / log(2),
                      log_weight_of_2, sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 9, 24),
    "tanh_f32": ("tanh x = x + x z p(z), z = x^2, |x| < 0.9375", tanh_tail, odd_weight(tanh), 0, mpf("0.8789"), 7, 24),
    "scaled_tanh_f32": ("27/16 tanh w = w p(z), z = w^2, |w| < 0.174", scaled_tanh, scaled_tanh_weight, 0, (half_ln2 / 2)**2,
                        3, 24),
    "sin_f32": ("sin x = x - x z p(z), z = x^2, |x| <= pi / 4", sin_tail, odd_weight(sin), 0, quarter_turn, 3, 24),
    "sin_wide_f32": ("the same, for f32 in f64", sin_tail, odd_weight(sin), 0, quarter_turn, 3, 53),
    "sin_f64": ("the same", sin_tail, odd_weight(sin), 0, quarter_turn, 6, 53),
    "atan_f32": ("atan x = x + x z p(z), z = x^2, |x| <= 1", atan_tail, odd_weight(atan), 0, 1, 9, 24),
    "atan_f64": ("the same", atan_tail, odd_weight(atan), 0, 1, 19, 53),
    "erf_f32": ("erf x = x + x p(x^2), |x| <= 1", erf_tail, erf_weight, 0, 1, 7, 24),
    "erf_f64": ("the same", erf_tail, erf_weight, 0, 1, 13, 53),
    "erfc_f32": ("erfc t = (b + u p(u))^4, u = t - a, 1 <= t <= 3.95", erfc_rest(4, 24), erfc_weight(4, 24),
                 1 - erfc_start(4, 24)[0], mpf("3.95") - erfc_start(4, 24)[0], 9, 24),
    "erfc_f64": ("erfc t = (b + u p(u))^8, u = t - a, 1 <= t <= 5.95", erfc_rest(8, 53), erfc_weight(8, 53),
                 1 - erfc_start(8, 53)[0], mpf("5.95") - erfc_start(8, 53)[0], 18, 53),
    "gelu_f32": ("Phi(-t) e^(t^2 / 2) = p(y) / (t + 4), y = (t - 4) / (t + 4), t < 14.6", gelu_tail(4),
                 lambda y: 1 / gelu_tail(4)(y), -1, gelu_range(4, "14.6"), 10, 24),
    "gelu_f64": ("Phi(-t) e^(t^2 / 2) = p(y) / (t + 5), y = (t - 5) / (t + 5), t < 38.8", gelu_tail(5),
                 lambda y: 1 / gelu_tail(5)(y), -1, gelu_range(5, "38.8"), 23, 53),
    "log2_f32": ("log2((1 + s) / (1 - s)) = s p(z), z = s^2 <= 0.0295, for f32 in f64", log2_tail, lambda z: mpf(1) / 3, 0,
                 root_z**2 * (1 + ldexp(1, -10)), 5, 53),
    "log2_f64": ("log2((1 + s) / (1 - s)) = (2 s + 2 s z / 3) / log 2 + s z^2 p(z)", log2_third, lambda z: z**2 / 3, 0,
                 root_z**2 * (1 + ldexp(1, -10)), 7, 53),
    "log_f64": ("log((1 + s) / (1 - s)) = 2 s + s z p(z), z = s^2 <= 0.0295", atanh_tail, lambda z: z / 2, 0,
                root_z**2 * (1 + ldexp(1, -10)), 7, 53),
}


POLISHED = {"exp2_short_f32"}

RATIONALS = {
    # name: (what it is, function, from, to, count above, count below, bits)
    "tan_f32": ("tan x = x (1 - z p(z)) / (1 - z q(z)), z = x^2, |x| <= pi / 4", tan_part, 0, quarter_turn, 2, 2, 24),
    "tan_wide_f32": ("the same, for f32 in f64", tan_part, 0, quarter_turn, 2, 2, 53),
    "tan_f64": ("the same", tan_part, 0, quarter_turn, 3, 3, 53),
}


def main():
    wanted = sys.argv[1:]
    print("// Generated by scripts/math_coefficients.py, which says how; for the .ipp files of this folder.")
    print("#pragma once\n\n#include <cstdint>\n\n#include \"weft/config.hpp\"\n")
    print("namespace weft::inline WEFT_ABI {\nnamespace detail::math {\n")
    for name, (what, value, sizes) in PARTS.items():
        print_array(what, "double", name, [hexadecimal(x) for x in parts(value, sizes)])
    print_array("a, b, b^2", "double", "erfc_start_f32", [hexadecimal(x) for x in erfc_start(4, 24)])
    print_array("the same", "double", "erfc_start_f64", [hexadecimal(x) for x in erfc_start(8, 53)])
    saved, mp.prec = mp.prec, 1600
    bits = int(floor(ldexp(1 / pi, 20 * 64)))
    mp.prec = saved
    print_array("1 / pi behind its point, 64 bits each", "std::uint64_t", "inverse_pi",
                [f"0x{bits >> 64 * (19 - i) & (2**64 - 1):016x}" for i in range(20)])
    for name, (what, f, weight, a, b, count, bits, *rest) in POLYNOMIALS.items():
        if wanted and name not in wanted:
            continue
        c, worst, ideal = fit(f, weight, a, b, count, bits, *rest)
        if name in POLISHED:
            c, worst = polished(c, f, weight, a, b, bits)
        errors = f"error 2^{float(log(worst, 2)):.1f} (2^{float(log(ideal, 2)):.1f} before rounding)"
        print_array(f"{what}; {errors}", "double", name, [hexadecimal(x) for x in c])
        print(f"{name}: {float(log(worst, 2)):.2f} ideal {float(log(ideal, 2)):.2f}", file=sys.stderr)
    for name, (what, f, a, b, above, below, bits) in RATIONALS.items():
        if wanted and name not in wanted:
            continue
        p, q, worst, ideal = rational(f, mpf(a), mpf(b), above, below, bits)
        errors = f"error 2^{float(log(worst, 2)):.1f} (2^{float(log(ideal, 2)):.1f} before rounding)"
        print_array(f"{what}; {errors}; p", "double", f"{name[:3]}_above{name[3:]}", [hexadecimal(x) for x in p])
        print_array("q", "double", f"{name[:3]}_below{name[3:]}", [hexadecimal(x) for x in q])
        print(f"{name}: {float(log(worst, 2)):.2f} ideal {float(log(ideal, 2)):.2f}", file=sys.stderr)
    print("\n}  // namespace detail::math\n}  // namespace weft::inline WEFT_ABI")


if __name__ == "__main__":
    main()
