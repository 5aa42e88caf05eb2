// What must stay in order among lines that no fence separates (schedule.h), before allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"

namespace riftjit::rdna {

struct Dependence {
    uint32_t before, after;  // lines of the run, counted from its start
    bool carries_value;      // `after` reads what `before` writes
};

class DependenceFinder {
public:
    DependenceFinder(const Program& program, const std::vector<VirtualRegister>& registers);
    // A line that nothing is moved across.
    bool is_fence(size_t line) const;
    // Of lines [begin, end), none of which is a fence; until the next call. As many as there are accesses, not pairs of
    // lines.
    const std::vector<Dependence>& find(size_t begin, size_t end);

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Resource {  // a dword of a register, or scc
        uint32_t writer = kNone;
        std::vector<uint32_t> readers;  // since the last write
    };
    struct Memory {
        uint32_t last_write = kNone;  // or what counts as one
        std::vector<uint32_t> reads;  // since then
    };

    void add_registers(uint32_t number, size_t line);
    void add_memory(uint32_t number, const Instruction& instruction, Memory& memory);
    void read(uint32_t number, uint32_t resource);
    void write(uint32_t number, uint32_t resource);
    void depend(uint32_t before, uint32_t after, bool carries_value);
    uint32_t resource_of(RegisterPart part, uint32_t dword) const;
    Resource& touched(uint32_t resource);

    const Program& program_;
    const std::vector<VirtualRegister>& registers_;
    std::vector<Effects> hardware_;         // by line, of what it names or implies beside virtual registers
    std::vector<uint32_t> first_resource_;  // by virtual register
    std::vector<Resource> resources_;       // hardware codes, then the dwords of virtual registers
    std::vector<uint32_t> touched_;
    Memory lds_, rest_;
    std::vector<Dependence> found_;
};

}  // namespace riftjit::rdna
