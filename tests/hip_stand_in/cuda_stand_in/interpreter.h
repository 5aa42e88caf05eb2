// Runs the PTX that ptx.h writes, on the host: what of the language that uses, read from its manual ("Parallel Thread
// Execution ISA"). Slow, and no judge of PTX; but a translation that computes something else shows without a GPU.
// Self-contained, since a shared library is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace riftjit::hip_stand_in {

inline constexpr unsigned kWarpLanes = 32;
using LaneFunction = uint64_t (*)(uint64_t, uint64_t, uint64_t);

struct PtxOperand {
    int slot = -1;        // of a register; -1: none
    uint64_t number = 0;  // without a slot the value; of memory what is added to it
};

struct PtxOp {
    enum class Kind : uint8_t {
        lanewise,
        split,
        join,
        load,
        store,
        add,
        increment,
        shuffle,
        ballot,
        branch,
        barrier,
        nothing,
        end
    } kind = Kind::nothing;
    int guard = -1;  // the slot of the predicate; -1: none
    bool guard_negated = false;
    LaneFunction function = nullptr;
    uint8_t bytes = 4;  // of memory; split, join: of a part
    bool is_shared = false;
    PtxOperand to[2], from[3];
    std::string target;  // of a branch
    size_t next = 0;
};

// One kernel.
class PtxProgram {
public:
    // Throws std::runtime_error with the line that is not known.
    explicit PtxProgram(const std::string& text);

    const std::string& name() const { return name_; }
    uint32_t parameter_bytes() const { return parameter_bytes_; }
    // One-dimensional. Workgroups run one after the other, waves of a group in turns, from barrier to barrier.
    void run(uint32_t groups, uint32_t lanes, uint32_t lds_bytes, const std::vector<std::byte>& parameters) const;

private:
    struct Warp;

    void parse_line(std::string line);
    void parse_instruction(const std::string& line);
    PtxOperand operand(const std::string& text);
    int slot(const std::string& name);
    void run_until_barrier(Warp& warp, std::vector<std::byte>& lds) const;
    void step(const PtxOp& op, uint32_t on, Warp& warp, std::vector<std::byte>& lds) const;

    std::string name_;
    uint32_t parameter_bytes_ = 0;
    std::vector<PtxOp> ops_;
    std::map<std::string, int> slots_;
    std::map<std::string, size_t> labels_;
};

}  // namespace riftjit::hip_stand_in
