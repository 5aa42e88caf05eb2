// A code object's text, decoded once: every instruction with its executor resolved, ready to be walked through.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emulator/checks/footprint.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/report.h"
#include "jit/rdna/object/loader.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

class Program;

enum class OpKind : uint8_t {
    valu,
    scalar,  // SALU without effect on control flow
    memory,
    branch,          // to a known place
    jump,            // s_setpc and its kin, s_call
    subvector_loop,  // a branch that takes turns with the halves of exec
    control,         // waits, barriers, messages, sleep: the interpreter's own
    end,
    fault,  // cannot be executed: `fault` and `detail` say why
    link,   // no instruction: the next one lies elsewhere
};

enum class BranchCondition : uint8_t { always, scc0, scc1, vccz, vccnz, execz, execnz };

using ScalarFunction = void (*)(WaveState& wave, const Op& op);

// How the scalar unit finds an operand.
struct ScalarSource {
    int16_t code = -1;  // of the first register; -1: the constant
    uint64_t constant = 0;
};

struct OpChecks;  // checks.h: what the checked loop needs of an instruction

struct Op {
    OpKind kind = OpKind::fault;
    InstructionClass counted_as = InstructionClass::other;
    BranchCondition condition = BranchCondition::always;
    uint8_t destination_dwords = 0;
    int16_t destination = -1;  // code of the first scalar written; -1: none
    FindingKind fault = FindingKind::illegal_instruction;
    ScalarFunction scalar = nullptr;
    ValuCall valu;
    MemoryCall memory;
    const Op* target = nullptr;  // of a branch, a call or a link
    ScalarSource sources[3];
    const OpChecks* checks = nullptr;
    uint64_t address = 0;
    Instruction instruction;
    uint32_t word = 0;  // the first, for what could not be decoded
    const Program* program = nullptr;
    std::string detail;  // of a fault

    uint64_t end_address() const { return address + instruction.size; }
    std::string text() const;
};

struct CodeLocation {
    std::string_view function;
    uint64_t offset;
};

class Program {
public:
    // Decodes all text of `object`, which must outlive the program. What cannot be decoded or executed becomes a fault
    // that is reported if it is ever reached.
    Program(const LoadedObject& object, WaveSize wave_size);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // Null where no decoded instruction starts.
    const Op* at(uint64_t address) const;
    CodeLocation locate(uint64_t address) const;
    Target target() const { return target_; }
    WaveSize wave_size() const { return wave_size_; }
    // One more than the highest VGPR that an instruction names.
    uint32_t vgpr_end() const { return vgpr_end_; }

private:
    struct Text {
        AddressRange range;
        std::vector<const Op*> ops;  // by (address - start) / 4
    };

    void decode_text(Text& text, std::span<const uint32_t> words);
    void decode_from(Text& text, std::span<const uint32_t> words, uint64_t address);
    Op* append(uint64_t address);
    Op* append_fault(uint64_t address, uint32_t word, FindingKind kind, std::string detail);
    void resolve(Op& op);
    template <class Call>
    static void resolve_call(Op& op, OpKind kind, Call& call, const Result<Call>& prepared);
    static void refuse(Op& op, FindingKind kind, std::string detail);
    void resolve_salu(Op& op);
    void resolve_scalar(Op& op);
    void link_branches();
    bool is_function_end(uint64_t address) const;

    const LoadedObject& object_;
    Target target_;
    WaveSize wave_size_;
    ValuUnit valu_;
    MemoryUnit memory_;
    std::vector<Text> texts_;
    // Runs of consecutive instructions: op + 1 is the next one. A run never grows once another is begun.
    std::deque<std::vector<Op>> runs_;
    std::deque<OpChecks> checks_;
    uint32_t vgpr_end_ = 0;
    std::vector<uint64_t> pending_;  // branch targets still to be decoded
};

}  // namespace riftjit::rdna::emulator
