// What the software machine finds wrong with a program, and what it counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace riftjit::rdna::emulator {

// The name is what a report prints: FINDING(kind, "text").
enum class FindingKind : uint8_t {
#define FINDING(kind, text) kind,
#include "jit/rdna/emulator/machine/findings.def"
#undef FINDING
    count,
};
std::string_view name(FindingKind kind);

// A fault ends its wave: going on would mean nothing. The other kinds are reported, and the wave goes on as the
// hardware might.
bool is_fault(FindingKind kind);

inline constexpr int kNoLane = -1;

struct Finding {
    FindingKind kind{};
    std::string kernel = {};
    uint64_t code_offset = 0;      // bytes from the kernel's first instruction
    std::string instruction = {};  // as the disassembler prints it
    uint32_t group = 0;            // linear number of the workgroup
    uint32_t wave = 0;             // within the workgroup
    int lane = kNoLane;            // the first lane concerned
    std::string detail = {};       // one line: which register or address, and why
    uint64_t times = 1;            // occurrences at this offset; the other fields are those of the first

    std::string text() const;  // "kernel+0x40: v_add_f32_e32 v0, v1, v2: use-before-wait: ..."
};

// Of the register with this operand code, as a listing spells it: "s7", "vcc_lo".
std::string scalar_name(unsigned code);

struct WaveState;

// Gathers findings, one per kind and code address. Reporting may be slow; it happens only when something is wrong.
// Thread-safe.
//
// Workgroups that several host threads run side by side report in any order. Kept apart, their findings are pending
// until somebody commits the groups in the order in which one thread would have run them: what is taken is then the
// same.
class Findings {
public:
    enum class Order : uint8_t { as_reported, by_committed_group };
    void keep(Order order);
    void commit(uint32_t group);
    void drop_pending();  // of groups that one thread would not have come to

    void report(FindingKind kind, const WaveState& wave, int lane, std::string detail);
    void report(Finding finding);  // of a scheduler; by its group if groups are kept apart
    std::vector<Finding> take();   // in the order of their first occurrence
    bool empty() const;
    // Occurrences that waves have reported since the machine was made.
    uint64_t reported() const { return reported_.load(std::memory_order_relaxed); }

private:
    static constexpr uint64_t kNoKey = 0;  // of a finding that stands for itself
    struct List {
        std::vector<Finding> findings;
        std::vector<uint64_t> keys;                  // of kind and address, for each
        std::unordered_map<uint64_t, size_t> known;  // key -> index

        bool count_again(uint64_t key, uint64_t times);
        void add(Finding finding, uint64_t key);
    };
    List& list_of(uint32_t group);

    mutable std::mutex mutex_;
    std::atomic<uint64_t> reported_ = 0;
    Order order_ = Order::as_reported;
    List findings_;
    std::unordered_map<uint32_t, List> pending_;  // by workgroup
    std::atomic<bool> any_pending_ = false;       // ever; most runs have nothing to commit
};

enum class InstructionClass : uint8_t {
    salu,
    valu,
    transcendental,
    wmma,
    scalar_memory,
    vector_load,
    vector_store,
    vector_atomic,
    lds,
    scratch,
    branch,
    wait,
    barrier,
    other,
    count,
};
std::string_view name(InstructionClass kind);

// Every generation's vector caches have lines of this size.
inline constexpr uint64_t kCountedLineBytes = 128;

// Sums over all waves of a launch. The memory part is counted by MemorySystem.
struct Counts {
    std::array<uint64_t, static_cast<size_t>(InstructionClass::count)> instructions{};
    uint64_t global_bytes_loaded = 0, global_bytes_stored = 0;
    uint64_t lds_bytes_loaded = 0, lds_bytes_stored = 0;
    uint64_t scalar_bytes_loaded = 0;
    uint64_t scratch_bytes_loaded = 0, scratch_bytes_stored = 0;
    uint64_t lds_bank_conflicts = 0;  // further cycles, over one per instruction and half wave
    uint64_t cache_lines = 0;         // distinct 128-byte lines, summed over vector memory instructions
    // Distinct 128-byte lines of global memory, of the whole launch, vector and scalar (LaunchOptions::counts_lines).
    uint64_t lines_loaded = 0, lines_stored = 0;
    uint64_t lines_loaded_of_own = 0;  // of the former, stored before by the launch itself: memory need not give them

    uint64_t& operator[](InstructionClass kind) { return instructions[static_cast<size_t>(kind)]; }
    uint64_t operator[](InstructionClass kind) const { return instructions[static_cast<size_t>(kind)]; }
    uint64_t total_instructions() const;
    Counts& operator+=(const Counts& other);
};

}  // namespace riftjit::rdna::emulator
