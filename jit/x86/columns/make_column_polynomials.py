#!/usr/bin/env python3
# Coefficients of the polynomials in column_functions.cpp (needs mpmath): interpolation at Chebyshev nodes in 60 digits,
# rounded to f64.
# Prints them with the largest error of the function that they approximate, coefficients as rounded.
from mpmath import atanh, cos, exp, floor, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt

mp.dps = 60


def fit(f, low, high, degree):
    n = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    system = matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            system[i, j] = x**j
    return [float(c) for c in lu_solve(system, matrix([f(x) for x in nodes]))]


def value(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + mpf(c)
    return total


def report(name, f, low, high, degree, error):
    c = fit(f, low, high, degree)
    points = [low + (high - low) * (i + mpf(1) / 3) / 2000 for i in range(2000)]
    worst = max(abs(error(x, value(c, x) - f(x))) for x in points)
    print(f"{name}: error 2^{float(log(worst, 2)):.1f}")
    print(", ".join(x.hex() for x in c))


half_ln2 = log(mpf(2)) / 2 * (1 + mpf(2) ** -20)
report("exp", lambda r: (exp(r) - 1 - r) / r**2 if abs(r) > mpf(10) ** -20 else mpf(1) / 2 + r / 6, -half_ln2, half_ln2, 10, lambda r, e: e * r**2 / exp(r))
z_max = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * (1 + mpf(2) ** -20)
report("log", lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf(0) + mpf(10)**-40, z_max, 6,
       lambda z, e: e * z)  # relative to s, whose sign and half size log has
report("log tail", lambda z: ((2 * atanh(sqrt(z)) / sqrt(z) - 2) / z - mpf(2) / 3) / z, mpf(10)**-20, z_max, 7,
       lambda z, e: e * z**2 / 2)
r_max = (pi / 4 + mpf(1) / 256) ** 2
report("sin", lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, mpf(10)**-30, r_max, 6, lambda z, e: e * z)
report("cos", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(10)**-20, r_max, 5, lambda z, e: e * z**2)
ln2 = log(mpf(2))
ln2_short = floor(ln2 * 2**42) / 2**42
print("ln 2, its rest:", float(ln2).hex(), float(ln2 - mpf(float(ln2))).hex())
print("ln 2 to 42 bits, its rest:", float(ln2_short).hex(), float(ln2 - ln2_short).hex())
print("log2 e, 2 / pi, sqrt(1/2):", float(1 / ln2).hex(), float(2 / pi).hex(), float(sqrt(mpf(1) / 2)).hex())
rest = pi / 2
for part in ("pi / 2", "its rest", "and the rest of that"):
    print(part, float(rest).hex())
    rest -= mpf(float(rest))
