#!/usr/bin/env python3
"""Writes brian2.inc: potentials of single neurons in Brian2 (2.9.0) before each step's synapses, to compare the order of
a step with. Needs brian2; the tests do not."""
import pathlib

from brian2 import (Network, NeuronGroup, SpikeGeneratorGroup, SpikeMonitor, StateMonitor, Synapses, TimedArray,
                    defaultclock, ms, mV, nS, pF, prefs, second)

prefs.codegen.target = "numpy"
defaultclock.dt = 0.1 * ms
STEPS = 60
lines = ["// Written by make_brian2_references.py: do not edit."]


def write(name, equations, target, weight, kicks, start, threshold, reset, method, refractory):
    """Spikes at all steps of `kicks` (step -> weight) reach `target` without delay."""
    group = NeuronGroup(1, equations, threshold=threshold, reset=reset, method=method,
                        refractory=refractory * ms if refractory is not None else False)
    for variable, value in start.items():
        setattr(group, variable, value)
    source = SpikeGeneratorGroup(1, [0] * len(kicks), [step * 0.1 for step in kicks] * ms)
    weights = TimedArray([kicks.get(step, 0) for step in range(STEPS)] * weight, dt=0.1 * ms)
    synapses = Synapses(source, group, on_pre=f"{target}_post += weights(t)", namespace={"weights": weights})
    synapses.connect()
    states = StateMonitor(group, "v", record=True, when="before_synapses")
    spikes = SpikeMonitor(group)
    Network(group, source, synapses, states, spikes).run(STEPS * 0.1 * ms)
    potentials = ", ".join(repr(float(v / mV)) for v in states.v[0])
    fired = ", ".join(str(round(t / (0.1 * ms))) for t in spikes.t)
    lines.append(f'{{"{name}", {{{potentials}}},')
    lines.append(f" {{{fired}}}}},")


KICKS = {2: 10.0, **{step: 0.5 for step in range(3, 30)}, 40: 30.0, 41: 2.0}
for refractory in (None, 0.1, 0.3):
    flag = "" if refractory is None else "(unless refractory)"
    write(f"delta, {refractory}", f"dv/dt = (-60*mV - v) / (10*ms) : volt {flag}", "v", mV, KICKS, {"v": -60 * mV},
          "v > -55*mV", "v = -70*mV", "exact", refractory)
write("coba, 0.5", """dv/dt = (10*nS*(-60*mV - v) + g*(0*mV - v)) / (200*pF) : volt (unless refractory)
                      dg/dt = -g / (5*ms) : siemens""",
      "g", nS, {2: 300.0, 20: 100.0, 30: 50.0}, {"v": -60 * mV}, "v > -50*mV", "v = -60*mV", "exponential_euler", 0.5)

pathlib.Path(__file__).with_name("brian2.inc").write_text("\n".join(lines) + "\n")
