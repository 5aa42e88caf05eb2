// The state behind MemorySystem: who has stored what that others do not see yet, whose caches may be stale, and which
// accesses are ordered.
//
// When a load gets its value: at issue. The machine withholds it until a sufficient wait, so nothing can use it early;
// that it might have been read later instead is covered by the vector clocks, which hold a load for unfinished until
// its wait and report whoever may write its bytes before. Stores are withheld from all other waves until a wait proves
// them complete, the wave ends, or chance delivers them, in an order of the seed's choosing; stores of one wave to the
// same line keep their order, and the wave itself sees its own. In CU mode so does its workgroup.
//
// With every check off there is none of this: loads and stores go to memory at once. Only then do several host threads
// run groups at the same time; they share the allocation map (allocations for scratch are published when complete),
// memory itself, where atomics use host atomics, and the sums of finished waves, under a lock.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/rdna/emulator/checks/races.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/group.h"
#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/emulator/memory/caches.h"
#include "jit/rdna/emulator/memory/memory_map.h"
#include "jit/rdna/emulator/memory/memory_op.h"

namespace riftjit::rdna::emulator {
namespace memory {

enum class Space : uint8_t { global, lds, scratch };

// One lane's bytes, within bounds. For scratch the offset is the lane's own.
struct Place {
    Region* region = nullptr;  // null: there is nothing here, and that has been reported
    uint64_t offset = 0;
    Space space{};
    Allocation* allocation = nullptr;  // of global memory
};

// Lanes one after another, whose elements lie one behind another.
struct Run {
    Space space;
    uint64_t address;  // of the first lane's
    unsigned lanes;
    unsigned count;  // bytes of an element: whole words

    uint64_t bytes() const { return uint64_t{lanes} * count; }
};

inline constexpr unsigned kMaxPieceBytes = 16;
inline constexpr unsigned kMaxLanes = 64;

// Lanes of one instruction that are in the same memory, whole words or a part of a word each.
struct Lanes {
    Space space;
    uint64_t active;
    const uint64_t* address;  // by lane
    uint64_t offset;          // that is added to each
    unsigned bytes;

    unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
};

template <class Function>
void for_each_lane(uint64_t mask, const Function& function) {
    for (; mask != 0; mask &= mask - 1) function(std::countr_zero(mask));
}

struct StoredPiece {
    Allocation* allocation;
    uint64_t offset;
    size_t first, count;  // of the store's bytes
};

// A store, or an atomic that returns nothing, that other waves do not see yet.
struct WithheldStore {
    uint32_t token = 0;
    uint32_t release = 0;                                // index into MemoryModel::releases
    uint64_t lowest = ~uint64_t{0}, beyond_highest = 0;  // addresses
    std::vector<StoredPiece> pieces;
    std::vector<std::byte> bytes;
    std::vector<std::byte> undefined;  // as long as the bytes, a bit per bit; empty: all are defined

    bool meets(uint64_t begin, uint64_t end) const { return begin < beyond_highest && lowest < end; }
    void add(Allocation& allocation, uint64_t offset, std::span<const std::byte> values,
             const std::byte* values_undefined);
    void clear();
};

struct InFlight {
    uint32_t token;
    Counter counter;
};
// What the values that an access read were published with; the wave has it once they have come.
struct Acquired {
    uint32_t token;
    SharedClock clock;
};

// What a wave's store or atomic publishes: all that the wave knew, and of its own accesses the completed ones (and how
// many it issued). The two are joined when someone acquires it: then wave is 0.
struct Release {
    uint32_t wave = 0;
    Times done{};
    SharedClock seen;
};

// What the waves that signalled a barrier's phase release; complete, and not changed again, when one passes it.
struct BarrierClock {
    uint64_t phase = 0;
    std::shared_ptr<Clock> clock;
};

}  // namespace memory

struct WaveMemory {
    uint32_t id = 0;    // within the launch, plus one
    uint32_t time = 0;  // memory instructions so far
    memory::Times done{};
    memory::SharedClock seen;      // what was acquired; loads that pass by the caches may rely on it
    memory::SharedClock l1_clean;  // `seen` at the last invalidation of L1
    memory::SharedClock l0_clean;  // what cached loads may rely on
    memory::SharedClock scalar_clean;
    memory::Times scalar_clean_own{};  // the same for own accesses
    bool accessed_before = false;
    uint32_t release = 0;  // index of the release that still says what a store now would publish; 0: none does
    std::vector<memory::InFlight> in_flight;  // by token, ascending
    std::vector<memory::Acquired> acquired;
    std::vector<std::unique_ptr<memory::WithheldStore>> withheld;  // by token, ascending
    std::array<uint32_t, memory::kCounters> outstanding{};         // how many of in_flight
    std::array<uint32_t, kBarriers> signals{};

    GroupMemory* group = nullptr;
    uint32_t l0 = 0;  // index into the group's
    memory::Allocation* scratch = nullptr;
    // One bit per bit, unlike other memory: lane masks are spilled with bits that nobody will use undefined.
    std::unique_ptr<std::byte[]> scratch_undefined;
    Counts counts;
};

struct GroupMemory {
    memory::Region lds;
    std::unique_ptr<std::byte[]> lds_bytes;
    uint64_t lds_capacity = 0;
    // Real sizes: L0 16 or 32 KB per CU, L1 128 or 256 KB, scalar cache 16 KB.
    std::array<memory::LineCache, 2> l0 = {memory::LineCache(256), memory::LineCache(256)};  // a WGP's CUs
    memory::LineCache l1{2048};
    memory::LineCache scalar{128};
    std::array<std::array<memory::BarrierClock, 2>, kBarriers> barriers;

    void renew(uint64_t lds_size);  // as a new workgroup finds it, but for what LDS holds
};

namespace memory {

class MemoryModel;

// The undefined bits of a lane's bytes: one bit per bit.
using UndefinedBits = std::array<std::byte, kMaxPieceBytes>;

// An instruction being executed.
struct Issue {
    MemoryModel& model;
    WaveState& wave;
    WaveMemory& memory;
    const MemoryOp& op;
    uint32_t token = 0;
    SharedClock acquired;
    std::unique_ptr<WithheldStore> store;  // of what may store or publish
    Allocation* recent = nullptr;          // that a lane accessed
    uint64_t reported_before = 0;          // findings
};

class MemoryModel {
public:
    MemoryModel(const MemoryConfiguration& configuration, Findings& findings);

    const MemoryConfiguration configuration;
    const bool checked;  // some check needs per-lane work
    Findings& findings;
    MemoryMap map;
    LaunchShape shape{};
    std::mutex mutex;  // of the next four
    std::unordered_map<const WaveState*, std::unique_ptr<WaveMemory>> waves;
    std::unordered_map<const Group*, std::unique_ptr<GroupMemory>> groups;
    std::vector<std::unique_ptr<GroupMemory>> spare_groups;  // their caches cost more to make than to use again
    Counts counts;
    std::vector<const Op*> sites;  // by MemoryOp::site

    void begin_launch(const LaunchShape& new_shape);
    // Whether all waves of a workgroup are on one CU.
    bool has_one_l0() const { return shape.workgroup_mode == WorkgroupMode::cu; }

    // ---- One instruction (memory_model.cpp). Everything between begin and finish belongs to it.
    Issue begin(WaveState& wave, const MemoryOp& op);
    void finish(Issue& issue, MemoryEffect& effect);
    void complete(WaveMemory& wave, uint32_t token);
    void deliver_all(WaveMemory& wave);

    // ---- One lane (memory_access.cpp).
    Place locate(Issue& issue, int lane, Space space, uint64_t address, unsigned bytes);
    // `undefined` is as long as the bytes, or null with that check off.
    void read(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes, std::byte* undefined);
    void write(Issue& issue, int lane, const Place& place, unsigned count, const std::byte* bytes,
               const std::byte* undefined);
    // All of `lanes` lanes at once, whose `count` bytes each, whole aligned words, lie one behind another; what the
    // lanes one by one would do. `undefined` has a word of bits for each word. False, with nothing done, where a lane
    // may have to be reported for what the memory holds, or its place.
    bool read_run(Issue& issue, int first_lane, const Run& run, std::byte* bytes, uint32_t* undefined);
    // The same of lanes that go anywhere in one allocation or LDS, to aligned words or parts of a word. Word d of a
    // lane goes to to[lane * dwords + d], its undefined bits likewise; what is undefined is told by the result.
    enum class LanesRead : uint8_t { no, all_defined, some_undefined };
    LanesRead read_lanes(Issue& issue, const Lanes& lanes, uint32_t* to, uint32_t* undefined);
    bool write_lanes(Issue& issue, const Lanes& lanes, const uint32_t* from, const uint32_t* undefined);
    bool write_run(Issue& issue, int first_lane, const Run& run, const std::byte* bytes, const uint32_t* undefined);
    // Returns the old value; `undefined` comes in as that of the operands, and leaves as that of the old value.
    uint64_t modify(Issue& issue, int lane, const Place& place, AtomicWidth width, uint64_t first, uint64_t second,
                    uint32_t& undefined);
    // Reports, and says false, if an address that must be a multiple of `alignment` is not.
    bool aligned(Issue& issue, int lane, uint64_t address, unsigned alignment);
    // Bytes of one allocation, if they are of any; only while a launch counts lines.
    void touch(WaveMemory& wave, Touch how, uint64_t address, uint64_t bytes) {
        if (const Allocation* allocation = map.find(address, bytes); allocation != nullptr && allocation->touched)
            allocation->touched->touch(how, address, bytes, wave.counts);
    }

    // ---- Order of accesses (memory_order.cpp).
    void note(Issue& issue, int lane, const Place& place, unsigned count, AccessKind kind);
    // The same for lanes whose `count` bytes each, whole aligned words, lie one behind another from `run` on.
    void note_run(Issue& issue, int first_lane, const Place& run, unsigned lanes, unsigned count, AccessKind kind);
    void invalidate(Issue& issue);
    void barrier_signal(WaveState& wave, unsigned barrier);
    void barrier_wait_done(WaveState& wave, unsigned barrier);

private:
    friend class OrderJudge;
    size_t note_words(Issue& issue, int lane, const Place& place, std::span<uint32_t> words,
                      const AccessRecord& access);
    uint32_t random(uint32_t below);
    void deliver(WaveMemory& wave, size_t index);
    void deliver_overlapping(WaveMemory& wave, uint64_t begin, uint64_t end);
    void deliver_to(const Issue& issue, uint64_t begin, uint64_t end);
    void deliver_neighbours(const WaveMemory& wave, uint64_t begin, uint64_t end);
    void deliver_by_chance();
    void put(WaveMemory& wave, std::unique_ptr<WithheldStore> store);
    void read_scratch(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes,
                      std::byte* undefined);
    uint32_t read_shared(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes);
    void write_scratch(Issue& issue, int lane, const Place& place, unsigned count, const std::byte* bytes,
                       const std::byte* undefined);
    std::optional<Place> locate_range(Issue& issue, Space space, uint64_t address, uint64_t bytes);
    std::optional<Place> locate_lanes(Issue& issue, const Lanes& lanes);
    void note_lanes(Issue& issue, const Place& place, const Lanes& lanes, AccessKind kind);
    bool read_global_lanes(Issue& issue, const Place& place, const Lanes& lanes, uint32_t* to, uint32_t* undefined);
    void read_global_run(Issue& issue, const Place& place, uint64_t count, std::byte* bytes, uint32_t* undefined);
    void read_global(Issue& issue, const Place& place, unsigned count, std::byte* bytes, uint32_t& undefined);
    CacheLine* cached_line(Issue& issue, const Allocation& allocation, uint64_t address);
    AtomicDenormals denormals(const Issue& issue, Space space) const;
    void release_and_acquire(Issue& issue, const Place& place, unsigned count);
    void acquire(Issue& issue, const Place& place, unsigned count);
    Times released_by(const WaveMemory& wave) const;
    uint32_t release_of(WaveMemory& wave);
    const SharedClock& clock_of(uint32_t release);

    std::vector<WaveMemory*> withholding_;  // waves that have withheld stores
    std::vector<std::unique_ptr<WithheldStore>> spare_stores_;
    std::vector<Release> releases_;  // index 0 is none
    uint64_t random_state_;
};

uint32_t new_site();  // for MemoryOp::site

// "global_store_b32 v1, v0, s[2:3] at kernel+0x40, group 1, wave 0"
std::string describe(const MemoryModel& model, const AccessRecord& access);
// Where FLAT sees LDS and scratch: 4 GiB from each.
inline constexpr uint64_t kSharedBase = uint64_t{1} << 48, kPrivateBase = uint64_t{2} << 48;

std::string describe_address(const MemoryModel& model, uint64_t address);

}  // namespace memory

struct MemoryAccessor {
    static memory::MemoryModel& model(MemorySystem& system);
};

}  // namespace riftjit::rdna::emulator
