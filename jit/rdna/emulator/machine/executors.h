// The cut between the machine (decoding, scalar unit, waits, checks, schedules), the vector ALU and memory.
//
// A program is decoded once. For each instruction the machine asks the unit that executes it to prepare it; what comes
// back is a function and its data, called once per execution with nothing left to decide but values.
//
// Vector ALU (valu*.cpp; VOP1, VOP2, VOPC, VOP3, VOP3P, VOPD, DPP, SDWA, readlane, WMMA):
//   - run(wave, data) reads registers, exec, mode, and writes destinations: VGPRs in active lanes, masks (vcc, an SGPR
//     pair, exec) as the hardware does, readlane's SGPR. It does not touch next, undefined bits or tracking, and
//     reports nothing but register_index (movrel) and wmma_replication (gfx11, when wave.tracking is set).
//   - It may be called with exec = 0.
//   - null and inline constants are resolved in prepare(). Both halves of VOPD read before either writes.
//   - The machine propagates undefined bits and checks waits, hazards and register limits before it calls run().
//
// Memory (memory*.cpp, lds*.cpp, ...; SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, with atomics and cache controls;
// ds_swizzle, ds_permute and ds_bpermute too):
//   - execute() does the access at issue, and puts what a load or returning atomic gives into MemoryEffect. The machine
//     holds that back until a sufficient wait (checks on), or has passed the register file itself (checks off).
//   - The machine owns the counters and knows which one each instruction raises (waits.h). When a wait proves that an
//     access with a token is complete, it calls complete(): a withheld store becomes visible.
//   - Address and data registers' undefined bits are in WaveState. The machine reports undefined_address for the
//   address
//     registers of active lanes, and undefined_store for stored data, before execute() is called; memory keeps the
//     undefined bits of bytes and LDS words, and gives them back with loads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

// What is looked for. Bounds are always checked, since a stray access would be one of this process.
struct Checks {
    bool waits = true;               // loaded values are withheld; use and overwriting before the wait are reported
    bool undefined = true;           // bits that nothing wrote, in registers, LDS and memory
    bool registers = true;           // declared counts
    bool overlap = true;             // destinations that must not overlap sources; compilers break mad_u64's rule
    bool hazards = true;             // instruction sequences
    bool sgpr_read_hazard = true;    // gfx12's; LLVM before 20 does not know it, so code of such compilers breaks it
    bool mask_rewrite = true;        // gfx11's in wave64; LLVM 22 knows it, LLVM 19 does not
    bool partial_forwarding = true;  // gfx11's in wave64; LLVM loses it on some loops, visiting each block once
    bool vopd_interlock = true;      // gfx11's; found in 2026, so code of most compilers breaks it
    bool wmma = true;                // exec, replication
    bool races = true;               // vector clocks on LDS and global memory
    bool visibility = true;          // stores withheld until waited for, caches' rules

    static constexpr Checks none() {
        return {false, false, false, false, false, false, false, false, false, false, false, false};
    }
    bool any() const { return *this != none(); }
    bool operator==(const Checks&) const = default;
};

// ---- Vector ALU ----------------------------------------------------------------------------------------------------

struct ValuCall {
    void (*run)(WaveState& wave, const void* data) = nullptr;
    const void* data = nullptr;  // owned by the ValuUnit, valid as long as it
};

// valu.h. One per program and wave size; prepare() is called while decoding, by one thread.
class ValuUnit {
public:
    ValuUnit(Target target, WaveSize wave_size);
    ~ValuUnit();
    ValuUnit(const ValuUnit&) = delete;
    ValuUnit& operator=(const ValuUnit&) = delete;

    // Unsupported, naming the instruction, if it cannot be executed.
    Result<ValuCall> prepare(const Instruction& instruction);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// ---- Memory --------------------------------------------------------------------------------------------------------

inline constexpr unsigned kMaxLoadedDwords = 32;  // global_load_block

// In: where the result goes. Out: what came.
struct MemoryEffect {
    // values[dword * lanes + lane] for a vector destination, values[dword] for SMEM; only lanes that the access loads
    // are written. With checks off it is the register file itself, so all addresses and data of a lane must be read
    // before its result is written, and all addresses before any result when the destination may overlap them.
    uint32_t* values = nullptr;
    // The same layout; null unless undefined bits are tracked. Whoever writes a value also writes its undefined bits.
    uint32_t* undefined = nullptr;

    uint64_t lanes = 0;   // that got a value
    uint32_t bits = ~0u;  // of each dword that are replaced: 0xFFFF or 0xFFFF0000 for d16
    uint32_t token = 0;   // not 0: complete() is wanted when the access is known to be done
};

// A memory instruction prepared: `run` is the executor for its opcode.
class MemorySystem;
struct MemoryCall {
    void (*run)(MemorySystem& memory, WaveState& wave, const void* data, MemoryEffect& effect) = nullptr;
    const void* data = nullptr;  // owned by the MemoryUnit, valid as long as it
};

// memory_unit.h: the decoding half; one per program and wave size.
class MemoryUnit {
public:
    MemoryUnit(Target target, WaveSize wave_size);
    ~MemoryUnit();
    MemoryUnit(const MemoryUnit&) = delete;
    MemoryUnit& operator=(const MemoryUnit&) = delete;
    Result<MemoryCall> prepare(const Instruction& instruction);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

enum class MemoryAccess : uint8_t { read_only, read_write };
// given: the caller fills them at once. undefined: garbage that is reported when it matters. zeros: memory of the host
// that is touched as far as it is used.
enum class InitialBytes : uint8_t { given, undefined, zeros };

// With Checks::visibility. stale: a cached line lives until something invalidates it; random: or until chance does.
enum class CacheModel : uint8_t { coherent, random, stale };
// LDS and buffer accesses: `any` is what the runtime sets up, where only atomics must be aligned.
enum class AlignmentMode : uint8_t { any, natural };

struct MemoryConfiguration {
    Target target;
    WaveSize wave_size;
    Checks checks;
    uint64_t seed = 1;          // of garbage, and of the order in which withheld stores are delivered
    uint32_t host_threads = 1;  // more than one only with checks off: then execute() runs for several groups at once
    CacheModel caches = CacheModel::stale;
    AlignmentMode alignment = AlignmentMode::any;
};

struct LaunchShape {
    uint32_t lds_bytes;      // per workgroup, static and dynamic
    uint32_t scratch_bytes;  // per lane
    uint32_t waves_per_group;
    uint32_t groups;
    WorkgroupMode workgroup_mode = WorkgroupMode::wgp;  // in CU mode a workgroup shares one L0
    bool counts_lines = false;
};

// memory_system.h. The device's memory and the model of who sees what. It outlives programs and launches.
//
// Life of a launch: begin_launch, then for each group begin_group (LDS undefined) and for each of its waves begin_wave;
// execute/complete/events; end_wave, end_group; end_launch (all stores delivered, clocks joined: a launch boundary).
class MemorySystem {
public:
    MemorySystem(const MemoryConfiguration& configuration, Findings& findings);
    ~MemorySystem();
    MemorySystem(const MemorySystem&) = delete;
    MemorySystem& operator=(const MemorySystem&) = delete;

    // Allocations lie apart, so that an access beyond one is never inside another. The address is 256-aligned.
    uint64_t allocate(std::string name, uint64_t size, MemoryAccess access, InitialBytes initial);
    // At an address that must be free: the segments of a code object.
    Result<uint64_t> allocate_at(uint64_t address, std::string name, uint64_t size, MemoryAccess access);
    void release(uint64_t address);
    // Host access between launches. write() makes the bytes defined. Refuses what lies outside an allocation.
    Result<void> write(uint64_t address, std::span<const std::byte> bytes);
    Result<std::vector<std::byte>> read(uint64_t address, uint64_t size) const;

    void begin_launch(const LaunchShape& shape);
    void begin_group(Group& group);
    void begin_wave(WaveState& wave);  // sets wave.memory, shared_base, private_base
    // The buffer resource of the wave's scratch, for kernels of gfx10 that get one in SGPRs; the wave's offset to add
    // is 0, since it is this wave's alone.
    std::array<uint32_t, 4> scratch_resource(const WaveState& wave) const;
    // The same for the "flat scratch init" SGPRs: the address of the wave's scratch.
    uint64_t flat_scratch(const WaveState& wave) const;
    void end_wave(WaveState& wave);
    void end_group(Group& group);
    Counts end_launch();  // the memory part

    void execute(WaveState& wave, const MemoryCall& call, MemoryEffect& effect) {
        call.run(*this, wave, call.data, effect);
    }
    void complete(WaveState& wave, uint32_t token);

    // Memory-model events. A barrier's signal releases LDS and, what the wave has completed, global memory to the
    // waves that pass its wait; `barrier` is the number within the group (0: the workgroup's).
    void barrier_signal(WaveState& wave, unsigned barrier);
    void barrier_wait_done(WaveState& wave, unsigned barrier);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    friend struct MemoryAccessor;  // how the executors of memory*.cpp reach Impl
};

}  // namespace riftjit::rdna::emulator
