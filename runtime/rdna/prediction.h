// What one token costs a GPU, counted and not measured: the plan of one row runs once in the software machine, whose
// counts are exact, and what a card could do at best follows from them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/cache/kernel_cache.h"
#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/table/target.h"
#include "runtime/session.h"

namespace riftjit::runtime {

// By AMD's data sheets; none was at hand.
struct Card {
    std::string_view name;
    rdna::Target chip;
    uint32_t compute_units;
    double ghz, gb_per_second;  // the clock that the sheet calls boost

    uint32_t simds() const { return 2 * compute_units; }
    // That must be under way for the memory to be busy, at a latency of 700 ns.
    double bytes_in_flight() const { return gb_per_second * 700; }
};
std::span<const Card> cards();

// A kernel of the plan with all its launches of one token.
struct PredictedKernel {
    std::string name, text;
    uint32_t launches = 0, waves = 0;  // the latter of one launch
    uint64_t least_bytes = 0;          // what its arguments hold, each byte read or written once
    rdna::emulator::Counts counts;     // of all launches
    uint32_t vgprs = 0, lds_bytes = 0, scratch_bytes = 0, waves_per_simd = 0;
    uint32_t bytes_in_flight = 0;  // most that a wave has asked for before it waits, along its code as it stands

    // By instructions, whatever then comes from a cache.
    uint64_t bytes_asked_for() const;
    // Of the 128-byte lines that these are in, each counted once in a launch for loads and once for stores; what a
    // launch loads of its own stores is left out. As if caches held all of a launch and nothing from one to the next.
    uint64_t line_bytes() const;
    // Of the unit of a SIMD that has most to do.
    uint64_t busiest_slots() const;
    uint64_t issued() const;  // instructions of all waves
    // On this card, where nothing but its launch runs.
    double bytes_in_flight_on(const Card& card) const;
};

// In microseconds: no card can be faster.
struct TimeBound {
    double memory = 0, issue = 0, either = 0;  // a sum's `either` is that of the larger of both, kernel by kernel
};
TimeBound time_bound(const PredictedKernel& kernel, const Card& card);
TimeBound time_bound(std::span<const PredictedKernel> kernels, const Card& card);

// Of a token at the last position of the context, which attends to all before it. What the cache holds does not matter,
// so it holds zeros. In the order of the plan. On one thread: which workgroup of attention ends last decides what it
// asks for, and counts are to repeat.
Result<std::vector<PredictedKernel>> predict_token(const graph::Graph& graph, const SessionOptions& options,
                                                   rdna::Target chip, KernelCache& kernels);

}  // namespace riftjit::runtime
