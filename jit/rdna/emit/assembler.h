// Emits instructions with virtual registers, checks them, gives them hardware registers and links the kernel.
//
// Kernels derive from RdnaKernel (rdna_kernel.h) and call one method per row of instructions.def, named by the newest
// generation's mnemonic: destinations, then sources, then options. Memory rows take, after the data operands of their
// row: `global_load_b32(destination, offset, base)` with a 32-bit offset VGPR and a base SGPR pair, or
// `global_load_b32(destination, address)` with an address VGPR pair; an integer at the end is the offset in bytes.
// Encodings (e32, e64, DPP), literals and inline constants follow from the operands. Waits, hazard cures and scheduling
// hints are inserted afterwards (passes.h).
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "jit/rdna/emit/arguments.h"
#include "jit/rdna/object/code_object.h"
#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"
#include "jit/rdna/passes/work.h"

namespace riftjit::rdna {

struct KernelTarget {
    Target target;
    WaveSize wave_size = WaveSize::wave32;
    bool is_part = false;  // of a kernel that several are joined to (join.h)
};

// A kernel that is to be joined with others: its registers are virtual still, and where its arguments lie and which of
// its workgroups it is stands in registers that the joined kernel sets.
struct KernelPart {
    std::vector<VirtualRegister> registers;
    std::vector<Line> lines;
    size_t labels;
    KernelCode header;
    RegisterPart vcc, launch_args, launch_workgroup, launch_lane;
};

// A kernel ready to be encoded: instructions with hardware registers, and what describe() needs beside them.
struct KernelProgram {
    Program program;
    KernelCode header;                      // code and register counts are filled in by link()
    std::shared_ptr<KernelPart> part = {};  // of a target that asks for a part: then this is all there is
};
// Resolves labels, encodes, counts registers.
Result<KernelCode> link(const KernelProgram& kernel);

class Assembler {
public:
    Assembler(KernelTarget target, std::string name);
    Assembler(const Assembler&) = delete;
    Assembler& operator=(const Assembler&) = delete;

    // --- registers
    Sgpr sgpr(unsigned dwords = 1, std::source_location where = std::source_location::current());
    Vgpr vgpr(unsigned dwords = 1, std::source_location where = std::source_location::current());
    Sgpr lane_mask(std::source_location where = std::source_location::current());  // one bit per lane
    Sgpr fixed_sgpr(unsigned first, unsigned dwords, std::source_location where = std::source_location::current());
    Vgpr fixed_vgpr(unsigned first, unsigned dwords, std::source_location where = std::source_location::current());
    // Later uses are errors.
    void release(Sgpr reg) { release(reg.whole()); }
    void release(Vgpr reg) { release(reg.whole()); }

    Sgpr vcc() const { return vcc_; }
    Operand exec() const { return {Operand::kExec}; }
    Operand m0() const { return m0_register(generation()); }
    Operand null() const { return null_register(generation()); }

    Sgpr launch_args() const { return launch_args_; }            // address of the arguments
    Sgpr launch_workgroup() const { return launch_workgroup_; }  // number of the workgroup
    Vgpr launch_lane() const { return launch_lane_; }            // number of the lane in its workgroup

    // --- control flow
    Label label();
    void bind(Label label);

    // --- memory shared by the workgroup; returns the offset of the region
    uint32_t lds(uint32_t bytes, uint32_t align = 16);

    // The next instruction waits until these counters are zero.
    void drain(CounterSet counters);

    void emit(Opcode opcode, std::initializer_list<Argument> arguments);

#define RIFTJIT_ROW(format, mnemonic, ...)                \
    template <class... Arguments>                         \
    void mnemonic(const Arguments&... arguments) {        \
        emit(Opcode::mnemonic, {Argument(arguments)...}); \
    }
#include "jit/rdna/table/instruction_rows.def"

    Target target() const { return target_.target; }
    WaveSize wave_size() const { return target_.wave_size; }
    unsigned lanes() const { return rdna::lanes(target_.wave_size); }
    Generation generation() const { return rdna::generation(target_.target); }
    bool has(Opcode opcode) const { return rdna::has(target_.target, opcode); }

    // Checks the register map, allocates, runs the passes. Throws AssemblyError.
    KernelProgram finish(PassOptions options);
    // Instead of finish().
    KernelPart take_part();
    const Work& work() const { return work_; }  // of finish(), up to allocation

protected:
    // The part's code, which ends its waves. Before it stands what set_launch() emits, which gets the registers of the
    // part's arguments and workgroup.
    void append(const KernelPart& part, const std::function<void(Sgpr args, Sgpr workgroup)>& set_launch);

    KernelCode header_;  // kernels set arguments and what they need of the launch

private:
    RegisterPart declare(VirtualRegister reg);
    void release(RegisterPart part);
    void add_line(Line line);
    void check_whole() const;

    KernelTarget target_;
    std::vector<VirtualRegister> registers_;
    std::vector<Line> lines_;
    std::vector<Label> pending_labels_;
    std::vector<bool> bound_;
    CounterSet pending_drain_;
    Sgpr vcc_, launch_args_, launch_workgroup_;
    Vgpr launch_lane_;
    Work work_;
};

}  // namespace riftjit::rdna
