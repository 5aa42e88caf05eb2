#!/usr/bin/env python3
"""The ramp network in PyTorch (f64, CPU): what `riftjit sim --neurons N` is compared with (bench/compare-ramp).

ramp_torch.py NEURONS STEPS THREADS      prints: spikes, hash of the counts or -, seconds to build, seconds to run
"""
import sys
import time

import numpy
import torch


def targets_of(n):
    with numpy.errstate(over="ignore"):
        synapse = numpy.arange(4 * n, dtype=numpy.uint64)
        z = numpy.uint64(0xDEADBEEF12345678) + synapse * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        target = ((z ^ (z >> numpy.uint64(31))) % numpy.uint64(n)).astype(numpy.int64)
    source = numpy.arange(4 * n, dtype=numpy.int64) // 4
    loop = target == source
    target[loop] = (target[loop] + 1) % n
    return torch.from_numpy(target.reshape(n, 4))


def main():
    n, steps, threads = (int(argument) for argument in sys.argv[1:4])
    torch.set_num_threads(threads)
    start = time.perf_counter()
    targets = targets_of(n)
    excitatory = n * 4 // 5
    f64 = {"dtype": torch.float64}
    v, s_exc, s_inh = torch.full((n,), -65.0, **f64), torch.zeros(n, **f64), torch.zeros(n, **f64)
    refractory, count = torch.zeros(n, dtype=torch.uint8), torch.zeros(n, dtype=torch.int16)
    drive = 45.0 + torch.arange(n, **f64) * (20.0 / n)
    weight = torch.where(torch.arange(n) < excitatory, 0.2, 0.3).to(torch.float64)
    built = time.perf_counter()
    with torch.inference_mode():
        for _ in range(steps):
            s_exc -= s_exc * 0.01
            s_inh -= s_inh * 0.02
            resting = refractory > 0
            v.add_((-65.0 - v + drive + s_exc - s_inh) * 0.01)
            fires = (v >= -50.0) & ~resting
            v.masked_fill_(fires | resting, -70.0)
            refractory -= resting.to(torch.uint8)
            refractory.masked_fill_(fires, 20)
            count += fires.to(torch.int16)
            fired = fires.nonzero().squeeze(1)
            exc = fired[fired < excitatory]
            reached = targets[exc].reshape(-1)
            s_exc.index_add_(0, reached, weight[reached])
            reached = targets[fired[len(exc):]].reshape(-1)
            s_inh.index_add_(0, reached, torch.full((len(reached),), 0.3, **f64))
    done = time.perf_counter()
    value = 1469598103934665603
    text = "-"
    if n <= 1_000_000:
        for spikes in count.tolist():
            value = (value ^ spikes) * 1099511628211 % 2**64
        text = f"{value:016x}"
    print(int(count.sum(dtype=torch.int64)), text, f"{built - start:.3f}", f"{done - built:.3f}")


main()
