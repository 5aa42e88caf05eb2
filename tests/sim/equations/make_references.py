#!/usr/bin/env python3
"""Writes references.inc: values that the equations' tests compare with, from mpmath (50 digits) and scipy's DOP853
(relative tolerance 1e-13). Needs mpmath, numpy and scipy; the tests do not."""
import pathlib

import mpmath
import numpy
from scipy.integrate import solve_ivp

mpmath.mp.dps = 50
lines = ["// Written by make_references.py: do not edit.", ""]


def matrix_case(name, rates, step):
    """exp(A h) and its integral over 0..h, from the exponential of ((A, 1), (0, 0)) in 50 digits."""
    size = len(rates)
    block = mpmath.zeros(2 * size)
    for i in range(size):
        for j in range(size):
            block[i, j] = mpmath.mpf(rates[i][j]) * mpmath.mpf(step)
        block[i, size + i] = mpmath.mpf(step)
    exponential = mpmath.expm(block, method="taylor")
    def text(offset):
        values = [exponential[i, offset + j] for i in range(size) for j in range(size)]
        return ", ".join(mpmath.nstr(value, 25) + "L" if value else "0" for value in values)
    flat = ", ".join(repr(float(value)) for row in rates for value in row)
    lines.append(f'{{"{name}", {size}, {step!r}, {{{flat}}},')
    lines.append(f" {{{text(0)}}},")
    lines.append(f" {{{text(size)}}}}},")


lines.append("#ifdef PROPAGATOR_CASES")
tenth, fifth = -0.125, -0.5  # rates that are exact in binary
matrix_case("exponential current", [[tenth, 0.00390625], [0, fifth]], 0.125)
matrix_case("equal time constants", [[tenth, 0.00390625], [0, tenth]], 0.125)
matrix_case("nearly equal time constants", [[tenth, 0.00390625], [0, tenth * (1 + 2**-30)]], 0.125)
matrix_case("alpha current", [[tenth, 0.00390625, 0], [0, fifth, 1], [0, 0, fifth]], 0.125)
matrix_case("alpha current, equal", [[fifth, 0.00390625, 0], [0, fifth, 1], [0, 0, fifth]], 0.125)
matrix_case("fast", [[tenth, 0.00390625], [0, -64.0]], 1.0)
matrix_case("no leak", [[0, 0.00390625], [0, fifth]], 1.0)
matrix_case("large coupling", [[tenth, 1048576.0], [0, fifth]], 1.0)
matrix_case("no rates", [[0, 0], [0, 0]], 0.5)
lines.append("#endif")


def trajectory(name, derivative, start, times, **options):
    solution = solve_ivp(derivative, (0, times[-1]), start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times,
                         max_step=0.05, **options)
    assert solution.success
    rows = ",\n ".join("{" + ", ".join([repr(float(t))] + [repr(float(v)) for v in solution.y[:, i]]) + "}"
                      for i, t in enumerate(solution.t))
    lines.append(f"inline constexpr std::array<std::array<double, {len(start) + 1}>, {len(times)}> {name} = {{{{")
    lines.append(" " + rows + "}};")


lines.append("#ifdef TRAJECTORIES  // each row: ms, then the states in the model's order")
TIMES = [2.0, 10.0, 20.0]


def iaf_cond_exp(_, state):
    v, g_ex, g_in = state
    return [(16.6667 * (-70 - v) + g_ex * (0 - v) + g_in * (-85 - v) + 100) / 250, -g_ex / 0.2, -g_in / 2]


trajectory("kIafCondExp", iaf_cond_exp, [-70, 20, 15], TIMES)


def lif_coba(_, state):
    v, g_ex, g_in = state
    return [(10 * (-60 - v) + g_ex * (0 - v) + g_in * (-80 - v)) / 200, -g_ex / 5, -g_in / 10]


trajectory("kLifCoba", lif_coba, [-60, 6, 67], TIMES)


def aeif_cond_exp(_, state):
    v, w, g_ex, g_in = state
    u = min(v, 0)
    spike = 30 * 2 * numpy.exp((u + 50.4) / 2)
    return [(30 * (-70.6 - u) + spike - w + g_ex * (0 - u) + g_in * (-85 - u) + 400) / 281,
            (4 * (u + 70.6) - w) / 144, -g_ex / 0.2, -g_in / 2]


trajectory("kAeifCondExp", aeif_cond_exp, [-70.6, 20, 30, 10], TIMES)


def exprel(x):
    return numpy.expm1(x) / x if x != 0 else 1.0


def hodgkin_huxley(_, state):
    v, m, h, n, g_ex, g_in = state
    u = v + 63
    current = (10 * (-60 - v) + 20000 * m**3 * h * (50 - v) + 6000 * n**4 * (-90 - v) + g_ex * (0 - v)
               + g_in * (-80 - v) + 500)
    alpha_m, beta_m = 0.32 * 4 / exprel((13 - u) / 4), 0.28 * 5 / exprel((u - 40) / 5)
    alpha_h, beta_h = 0.128 * numpy.exp((17 - u) / 18), 4 / (1 + numpy.exp((40 - u) / 5))
    alpha_n, beta_n = 0.032 * 5 / exprel((15 - u) / 5), 0.5 * numpy.exp((10 - u) / 40)
    return [current / 200, alpha_m * (1 - m) - beta_m * m, alpha_h * (1 - h) - beta_h * h,
            alpha_n * (1 - n) - beta_n * n, -g_ex / 5, -g_in / 10]


# 500 pA fires it: at 20 ms there have been spikes, and the potential between them is compared.
trajectory("kHodgkinHuxley", hodgkin_huxley, [-60, 0.05, 0.9, 0.1, 5, 2], [1.0, 2.0, 20.0])


def izhikevich(_, state):
    v, u = state
    return [0.04 * v * v + 5 * v + 140 - u + 3.5, 0.02 * (0.2 * v - u)]


trajectory("kIzhikevich", izhikevich, [-65, -13], TIMES)
lines.append("#endif")


def spike_times(name, derivative, start, event, reset, until):
    """Times at which `event` falls or rises through 0; unless `reset` is None, the states are reset after each."""
    times, state, now = [], list(start), 0.0
    event.terminal = reset is not None
    while True:
        solution = solve_ivp(derivative, (now, until), state, method="DOP853", rtol=1e-12, atol=1e-12, events=event,
                             max_step=0.05)
        assert solution.success
        if reset is None:
            times = [float(time) for time in solution.t_events[0]]
        if solution.status != 1:
            break
        now = float(solution.t_events[0][0])
        times.append(now)
        state = reset(list(solution.y_events[0][0]))
    lines.append(f"inline constexpr std::array<double, {len(times)}> {name} = {{{', '.join(map(repr, times))}}};")


lines.append("#ifdef SPIKE_TIMES  // ms")


def adaptive(_, state):
    v, w = state
    u = min(v, 0)
    return [(30 * (-70.6 - u) + 60 * numpy.exp((u + 50.4) / 2) - w + 900) / 281, (4 * (u + 70.6) - w) / 144]


def runs_away(_, state):  # from -20 mV the exponential takes 3e-6 ms to V_peak, in steps that doubles cannot resolve
    return state[0] + 20


runs_away.direction = 1
spike_times("kAeifSpikes", adaptive, [-70.6, 0], runs_away, lambda s: [-60, s[1] + 80.5], 300)


def izhikevich_10(_, state):
    v, u = state
    return [0.04 * v * v + 5 * v + 140 - u + 10, 0.02 * (0.2 * v - u)]


def reaches_30(_, state):
    return state[0] - 30


reaches_30.direction = 1
spike_times("kIzhikevichSpikes", izhikevich_10, [-65, -13], reaches_30, lambda s: [-65, s[1] + 8], 300)


def peak(t, state):  # of a spike: the potential stops rising, above -33 mV
    return hodgkin_huxley(t, state)[0] if state[0] >= -33 else 1.0


peak.direction = -1
spike_times("kHodgkinHuxleyPeaks", hodgkin_huxley, [-60, 0.05, 0.9, 0.1, 5, 2], peak, None, 60)
lines.append("#endif")

pathlib.Path(__file__).with_name("references.inc").write_text("\n".join(lines) + "\n")
