// What all vector memory formats share once the lanes' addresses are known.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {

struct LaneTargets {
    uint64_t active = 0;
    std::array<uint64_t, kMaxLanes> address;
    std::array<Space, kMaxLanes> space;
    // Bytes of a lane that lie further than this are read as 0 and not written, as buffer resources demand.
    std::array<uint8_t, kMaxLanes> bytes_in_range;
    uint32_t dword_step = 4;  // between the dwords of a lane; more in swizzled buffers
    bool checks_range = false;
    // The whole wave goes to one memory, and a lane's element, of whole words, lies behind that of the lane before.
    bool consecutive = false;

    void find_pattern(const MemoryOp& op, unsigned lanes);
};

// Loads, stores or updates element `element` (DS with two addresses has a second) of every active lane. All addresses
// must be known before, since results may replace the registers that they came from.
void perform(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, unsigned element);

// What a lane has loaded, as its register gets it; `undefined` has a bit per bit.
void put_part(MemoryEffect& effect, size_t at, const MemoryShape& shape, uint32_t value, uint32_t undefined);

// Several lanes at once (vmem_runs.cpp), where all of a lane's bytes lie together and lanes do not differ in what they
// may see.
bool goes_by_runs(const Issue& issue, const LaneTargets& targets);
// All of them, if they go to one memory. False, with nothing done, if they must be taken one by one.
bool load_all_lanes(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, unsigned element);
bool store_all_lanes(Issue& issue, const LaneTargets& targets, unsigned element);
// Lanes from `lane` on whose elements lie one behind another, or that read the same bytes of one memory:
unsigned consecutive_lanes(const MemoryOp& op, const LaneTargets& targets, int lane);
unsigned lanes_that_read_the_same(const LaneTargets& targets, int lane);
// False, with nothing done, if the lanes must be taken one by one.
bool load_run(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, int first_lane, unsigned lanes,
              unsigned element);
bool store_run(Issue& issue, const LaneTargets& targets, int first_lane, unsigned lanes, unsigned element);

// Lanes that go to LDS.
struct LdsLanes {
    uint64_t active;
    unsigned bytes;  // of each
    std::array<uint32_t, kMaxLanes> address;
};
// Cycles beyond those that the access takes without conflicts (lds_banks.cpp).
uint64_t bank_conflicts(const LdsLanes& lanes, unsigned wave_lanes);

// Counters, once per instruction.
void count_access(Issue& issue, const LaneTargets& targets);

void run_flat(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_global(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_scratch(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_buffer(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_lds(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_lds_counter(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_swizzle(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_permute(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_bpermute(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_scalar_load(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_scalar_buffer_load(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_clock(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_cache_control(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);
void run_nothing(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect);

// Without checks: the common loads and stores of whole dwords. Null where there is none for the operation.
using MemoryFunction = void (*)(MemorySystem&, WaveState&, const void*, MemoryEffect&);
MemoryFunction fast_global(const MemoryOp& op);
MemoryFunction fast_lds(const MemoryOp& op);

}  // namespace riftjit::rdna::emulator::memory
