#!/usr/bin/env python3
"""The reference networks in Brian2: rates and CV of intervals as one JSON object per line.

    bench/networks_brian2.py brunel-ai|brunel-sr|cuba|coba|pd14 [--seed N] [--scale S] [--duration MS] [--spikes FILE.npz]
"""
import argparse
import json
import time

import numpy as np
from brian2 import (Network, NeuronGroup, PoissonInput, SpikeMonitor, Synapses, defaultclock, ms, mV, prefs, second,
                    seed, siemens, nS, pF, pA, Hz)

parser = argparse.ArgumentParser()
parser.add_argument("network", choices=["brunel-ai", "brunel-sr", "cuba", "coba", "pd14"])
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--scale", type=float, default=0.2, help="of pd14")
parser.add_argument("--duration", type=float, help="ms")
parser.add_argument("--spikes", help="write ids and steps there")
arguments = parser.parse_args()
seed(arguments.seed)
np.random.seed(arguments.seed)
defaultclock.dt = 0.1 * ms


def statistics(spikes, populations, start_ms, end_ms, least_intervals, rate_from_ms):
    """Rate over [rate_from, end); CV of intervals over [start, end), mean over neurons with enough intervals."""
    ids, times = np.asarray(spikes.i), np.asarray(spikes.t / ms)
    found = []
    for name, first, size in populations:
        mine = (ids >= first) & (ids < first + size)
        in_rate = mine & (times >= rate_from_ms)
        window = mine & (times >= start_ms)
        cvs = []
        order = np.lexsort((times[window], ids[window]))
        i, t = ids[window][order], times[window][order]
        for chunk in np.split(t, np.flatnonzero(np.diff(i)) + 1):
            intervals = np.diff(chunk)
            if len(intervals) >= least_intervals:
                cvs.append(intervals.std() / intervals.mean())
        found.append({"name": name, "rate_hz": float(in_rate.sum() / size / (end_ms - rate_from_ms) * 1e3),
                      "cv": float(np.mean(cvs)) if cvs else None})
    return found


def brunel(g, eta):
    excitatory, inhibitory, weight = 10000, 2500, 0.1
    neurons = NeuronGroup(12500, "dv/dt = -v / (20*ms) : volt (unless refractory)", threshold="v > 20*mV",
                          reset="v = 10*mV", refractory=2 * ms, method="exact")
    objects = [neurons]
    random = np.random.default_rng(arguments.seed)
    for low, size, degree, w in ((0, excitatory, 1000, weight), (excitatory, inhibitory, 250, -g * weight)):
        synapses = Synapses(neurons, neurons, on_pre=f"v_post += {w}*mV", delay=1.5 * ms)
        synapses.connect(i=low + random.integers(0, size, 12500 * degree), j=np.repeat(np.arange(12500), degree))
        objects.append(synapses)
    objects.append(PoissonInput(neurons, "v", 1000, eta * 10 * Hz, weight * mV))
    return objects, neurons, [("all", 0, 12500)], arguments.duration or 700, 200, 2, 200


def vogels_abbott(is_cuba):
    if is_cuba:
        equations = """dv/dt = (ge + gi - (v + 49*mV)) / (20*ms) : volt (unless refractory)
                       dge/dt = -ge / (5*ms) : volt
                       dgi/dt = -gi / (10*ms) : volt"""
        weights, method = ("ge += 1.62*mV", "gi -= 9*mV"), "exact"
    else:
        equations = """dv/dt = (10*nS*(-60*mV - v) + ge*(0*mV - v) + gi*(-80*mV - v)) / (200*pF) : volt (unless refractory)
                       dge/dt = -ge / (5*ms) : siemens
                       dgi/dt = -gi / (10*ms) : siemens"""
        weights, method = ("ge += 6*nS", "gi += 67*nS"), "exponential_euler"
    neurons = NeuronGroup(4000, equations, threshold="v > -50*mV", reset="v = -60*mV", refractory=5 * ms, method=method)
    neurons.v = "-60*mV + rand()*10*mV"
    if not is_cuba:
        neurons.ge = "(randn()*15 + 40)*nS"
        neurons.gi = "(randn()*120 + 200)*nS"
    from_e = Synapses(neurons, neurons, on_pre=weights[0])
    from_e.connect("i < 3200", p=0.02)
    from_i = Synapses(neurons, neurons, on_pre=weights[1])
    from_i.connect("i >= 3200", p=0.02)
    return [neurons, from_e, from_i], neurons, [("all", 0, 4000)], arguments.duration or 1000, 200, 5, 0


def pd14(scale):
    names = ["L23E", "L23I", "L4E", "L4I", "L5E", "L5I", "L6E", "L6I"]
    full = np.array([20683, 5834, 21915, 5479, 4850, 1065, 14395, 2948])
    external = np.array([1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100])
    start_mean = np.array([-68.28, -63.16, -63.33, -63.45, -63.11, -61.66, -66.72, -61.43])
    start_sd = np.array([5.36, 4.57, 4.74, 4.94, 4.94, 4.55, 5.46, 4.48])
    rates = np.array([0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829])
    p = np.array([[0.1009, 0.1689, 0.0437, 0.0818, 0.0323, 0, 0.0076, 0],
                  [0.1346, 0.1371, 0.0316, 0.0515, 0.0755, 0, 0.0042, 0],
                  [0.0077, 0.0059, 0.0497, 0.1350, 0.0067, 0.0003, 0.0453, 0],
                  [0.0691, 0.0029, 0.0794, 0.1597, 0.0033, 0, 0.1057, 0],
                  [0.1004, 0.0622, 0.0505, 0.0057, 0.0831, 0.3726, 0.0204, 0],
                  [0.0548, 0.0269, 0.0257, 0.0022, 0.0600, 0.3158, 0.0086, 0],
                  [0.0156, 0.0066, 0.0211, 0.0166, 0.0572, 0.0197, 0.0396, 0.2252],
                  [0.0364, 0.0010, 0.0034, 0.0005, 0.0277, 0.0080, 0.0658, 0.1443]])
    weight, tau_syn = 87.81, 0.5
    counts = np.round(full * scale).astype(int)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    pairs = np.outer(full, full).astype(float)
    synapses_full = np.round(np.log(1 - p) / np.log((pairs - 1) / pairs))
    weights = np.tile(np.where(np.arange(8) % 2 == 0, weight, -4 * weight), (8, 1))
    weights[0, 2] *= 2
    direct = tau_syn / 1000 * external * 8 * weight  # pA, in place of the Poisson drive
    if scale < 1:
        recurrent = (weights * synapses_full / full[:, None] * rates).sum(axis=1)
        direct = direct * np.sqrt(scale) + tau_syn / 1000 * (1 - np.sqrt(scale)) * (recurrent + external * 8 * weight)
    neurons = NeuronGroup(int(counts.sum()), """dv/dt = (-65*mV - v) / (10*ms) + (i_syn + i_ext) / (250*pF) : volt (unless refractory)
                          di_syn/dt = -i_syn / (0.5*ms) : amp
                          i_ext : amp (constant)""", threshold="v > -50*mV", reset="v = -65*mV", refractory=2 * ms,
                          method="exact")
    random = np.random.default_rng(arguments.seed)
    objects = [neurons]
    for target in range(8):
        mine = slice(first[target], first[target] + counts[target])
        neurons.i_ext[mine] = direct[target] * pA
        neurons.v[mine] = random.normal(start_mean[target], start_sd[target], counts[target]) * mV
    synapses = Synapses(neurons, neurons, "w : amp", on_pre="i_syn_post += w")
    sources, targets, w, delays = [], [], [], []
    for target in range(8):
        for source in range(8):
            n = int(round(synapses_full[target, source] * scale * scale))
            if n == 0:
                continue
            mean = weights[target, source] / np.sqrt(scale)
            drawn = random.normal(mean, abs(mean) * 0.1, n)
            delay_mean = 1.5 if source % 2 == 0 else 0.75
            delay = random.normal(delay_mean, delay_mean / 2, n)
            while (bad := np.sign(drawn) != np.sign(mean)).any():
                drawn[bad] = random.normal(mean, abs(mean) * 0.1, bad.sum())
            while (bad := delay < 0.05).any():
                delay[bad] = random.normal(delay_mean, delay_mean / 2, bad.sum())
            sources.append(first[source] + random.integers(0, counts[source], n))
            targets.append(first[target] + random.integers(0, counts[target], n))
            w.append(drawn)
            delays.append(np.round(delay / 0.1) * 0.1)
    synapses.connect(i=np.concatenate(sources), j=np.concatenate(targets))
    synapses.w = np.concatenate(w) * pA
    synapses.delay = np.concatenate(delays) * ms
    objects.append(synapses)
    return (objects, neurons, [(n, int(f), int(c)) for n, f, c in zip(names, first, counts)],
            arguments.duration or 1500, 500, 5, 500)


built = time.perf_counter()
if arguments.network.startswith("brunel"):
    made = brunel(5, 2) if arguments.network == "brunel-ai" else brunel(3, 2)
elif arguments.network == "pd14":
    made = pd14(arguments.scale)
else:
    made = vogels_abbott(arguments.network == "cuba")
objects, neurons, populations, duration, start, least_intervals, rate_from = made
monitor = SpikeMonitor(neurons)
network = Network(objects + [monitor])
network.run(0 * ms)
started = time.perf_counter()
network.run(duration * ms)
finished = time.perf_counter()
if arguments.spikes:
    np.savez(arguments.spikes, id=np.asarray(monitor.i, np.uint32), step=np.rint(monitor.t / ms / 0.1).astype(np.uint32))
print(json.dumps({"network": arguments.network, "seed": arguments.seed, "duration_ms": duration,
                  "build_seconds": started - built, "run_seconds": finished - started,
                  "spikes": int(monitor.num_spikes),
                  "populations": statistics(monitor, populations, start, duration, least_intervals, rate_from)}))
