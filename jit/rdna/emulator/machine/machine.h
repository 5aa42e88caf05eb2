// The software RDNA machine: runs the bytes of a code object, and reports what is wrong with them.
//
// It knows the instruction table, the code-object format and AMD's rules; nothing of the assembler or its passes. How
// the parts meet is in executors.h: program.* decodes, salu*.* is the scalar unit, valu*.* the vector ALU, memory*.*,
// lds*.* and atomics*.* memory, checks*.*, undefined*.*, hazards*.* and waits.* what is reported, scheduler.* who runs
// next, group_ledger.* what several host threads add up to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/object/loader.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna::emulator {

enum class Schedule : uint8_t {
    lock_step,    // one instruction per wave in turn
    long_quanta,  // a wave runs to its next barrier, sleep or end, a group until some wave of it sleeps or spins
    random,       // a random wave for a random number of instructions
    reversed,     // as long_quanta, last wave and last group first
};
std::optional<Schedule> schedule_from_name(std::string_view name);
std::string_view name(Schedule schedule);

enum class Residency : uint8_t {
    all,        // every workgroup of the launch takes part at once
    occupancy,  // as many as one device of `work_group_processors` holds; the next starts when one ends
    one,        // one after the other, or as if, on several host threads when checks are off
};

struct MachineOptions {
    Checks checks;
    uint64_t seed = 1;          // of garbage, random schedules and the order of stores
    uint32_t host_threads = 1;  // used with Residency::one and Checks::none()
};

struct LaunchOptions {
    Schedule schedule = Schedule::long_quanta;
    Residency residency = Residency::all;
    uint32_t work_group_processors = 1;  // of the device that Residency::occupancy imitates
    // Over all waves: a launch that goes beyond counts as endless. With Residency::one a single workgroup that comes to
    // the limit is stopped there; what earlier ones executed tells only when one has ended.
    uint64_t instruction_limit = 2'000'000'000;
    uint32_t dynamic_lds_bytes = 0;
    bool counts_lines = false;      // Counts::lines_*; costs time
    std::ostream* trace = nullptr;  // a line per instruction: group, wave, offset, text, what changed
    // Called whenever a workgroup has ended; by several threads at once where several run.
    std::function<void()> group_ended = {};
    // Asked every few thousand instructions, by several threads at once where several run: true ends the launch.
    std::function<bool()> is_interrupted = {};
};

struct Dimensions {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t count() const {  // UINT64_MAX where there are more
        uint64_t product = 0;
        return __builtin_mul_overflow(uint64_t{x} * y, uint64_t{z}, &product) ? UINT64_MAX : product;
    }
};

struct RunReport {
    std::vector<Finding> findings = {};
    Counts counts = {};
    uint64_t seed = 0;
    bool completed = false;           // every wave reached its end
    std::string interrupted_at = {};  // where the waves stood when LaunchOptions::is_interrupted ended the launch
};

class Machine {
public:
    Machine(Target target, const MachineOptions& options);
    ~Machine();
    Machine(Machine&&) noexcept;
    Machine& operator=(Machine&&) noexcept;

    // Puts an object's segments in memory; its kernels can then be launched by name. An object of another target, or
    // a kernel name that is there already, is refused.
    Result<void> load(std::span<const std::byte> code_object);
    const LoadedKernel* find(std::string_view kernel) const;

    // Device memory. A size of 0 is legal. Bytes that are not given are garbage, and undefined.
    uint64_t allocate(std::string name, std::span<const std::byte> bytes);
    uint64_t allocate(std::string name, uint64_t size);
    uint64_t allocate_zeros(std::string name, uint64_t size);  // takes of the host what is then written
    Result<void> write(uint64_t address, std::span<const std::byte> bytes);
    Result<std::vector<std::byte>> read(uint64_t address, uint64_t size) const;
    void release(uint64_t address);

    // `args` are the bytes of the explicit arguments, laid out as the kernel's metadata says; hidden arguments are
    // filled in. Refused: no such kernel, too large a group, arguments that do not fit, no room on the device.
    Result<RunReport> launch(std::string_view kernel, Dimensions grid_in_groups, Dimensions group_in_items,
                             std::span<const std::byte> args, const LaunchOptions& options = {});

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit::rdna::emulator
