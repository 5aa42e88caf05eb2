#include "tests/hip_stand_in/ptx/ptx.h"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/table/inline_floats.h"
#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/text.h"
#include "tests/hip_stand_in/ptx/operations.h"

namespace riftjit::hip_stand_in {
namespace {

using namespace rdna;

constexpr unsigned kScalars = 128;  // vcc, null, m0 and exec among them
constexpr unsigned kNull = 125;     // of gfx10

struct PlacedInstruction {
    uint64_t address;
    Instruction instruction;
    uint64_t branch_target() const {
        return address + instruction.size + uint64_t(int64_t{static_cast<int16_t>(instruction.simm16)} * 4);
    }
};

bool is_branch(const InstructionInfo& row) {
    return row.format == Format::SOPP && row.sources == 1 && row.operands[0].type == OperandType::label;
}

std::string register_name(unsigned code) {
    return code >= Operand::kFirstVgpr ? fmt::format("v{}", code - Operand::kFirstVgpr) : fmt::format("s{}", code);
}

class Translation {
public:
    Translation(const LoadedObject& object, const LoadedKernel& kernel) : object_(object), kernel_(kernel) {}

    Result<std::string> run() {
        RIFTJIT_TRY_VOID(check_settings());
        RIFTJIT_TRY_VOID(decode_all());
        begin();
        for (const PlacedInstruction& placed : code_) {
            if (labels_.contains(placed.address)) {
                line("L{:x}:", placed.address);
                last_lds_ = MemoryKind::none;
            }
            RIFTJIT_TRY_VOID(translate(placed));
        }
        return text_ + "}\n";
    }

private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }

    std::unexpected<Error> refuse(std::string_view what) const {
        return fail(ErrorKind::Unsupported, "{}: no PTX for {}", kernel_.name, what);
    }
    std::unexpected<Error> refuse(const Instruction& instruction) const {
        return refuse(print(object_.target, WaveSize::wave32, instruction));
    }

    Result<void> check_settings() const {
        const KernelDescriptor& descriptor = kernel_.descriptor;
        if (generation(object_.target) != Generation::gfx10) return refuse("a target that is not of gfx10");
        if (descriptor.wave_size != WaveSize::wave32) return refuse("waves of 64 lanes");
        if (descriptor.scratch_bytes != 0) return refuse("scratch");
        if (descriptor.float_modes != FloatModes{}) return refuse("a rounding or denormals that are not the default");
        if (descriptor.user_sgprs != UserSgprs{.kernarg_ptr = true}) return refuse("its user SGPRs");
        if (descriptor.workgroup_ids != WorkgroupIds{} || descriptor.work_item_ids != WorkItemIds::x ||
            descriptor.workgroup_info)
            return refuse("a grid of more than one dimension");
        return {};
    }

    Result<void> decode_all() {
        const std::span<const std::byte> bytes = object_.bytes(kernel_.code);
        std::vector<uint32_t> words(bytes.size() / 4);
        std::memcpy(words.data(), bytes.data(), words.size() * 4);
        for (size_t at = 0; at < words.size();) {
            const Decoded decoded = decode(object_.target, WaveSize::wave32, std::span(words).subspan(at));
            if (!decoded.ok) return refuse(reason(object_.target, WaveSize::wave32, decoded));
            code_.push_back({kernel_.code.address + at * 4, decoded.instruction});
            if (is_branch(info(decoded.instruction.opcode))) labels_.insert(code_.back().branch_target());
            at += decoded.instruction.size / 4;
        }
        return {};
    }

    void begin() {
        line(".version 7.8\n.target sm_70\n.address_size 64\n.extern .shared .align 16 .b8 lds[];");
        line(".visible .entry {}(.param .align 64 .b8 args[{}])", kernel_.name, ptx_parameter_bytes(kernel_));
        line(".maxntid {}, 1, 1\n{{", kernel_.metadata.max_flat_workgroup_size);
        line(".reg .b32 s<{}>, v<{}>, t<5>, c<3>, r, lane, lane_bit, row, lds_base;", kScalars, kMaxVgprs);
        line(".reg .b64 a<2>;\n.reg .f64 d<4>;\n.reg .b16 h<3>;\n.reg .pred p<5>, p, x, scc;");
        line("mov.b32 lane, %laneid;\nmov.b32 lane_bit, %lanemask_eq;\nand.b32 row, lane, 16;\nmov.b32 lds_base, lds;");
        line("mov.b64 a0, args;\ncvta.param.u64 a0, a0;\nmov.b64 {{s0, s1}}, a0;");
        line("mov.b32 s{}, %ctaid.x;\nmov.b32 v0, %tid.x;", kernel_.descriptor.user_sgpr_count);
        line("mov.b32 s126, 0xffffffff;\nmov.b32 s{}, 0;\nsetp.eq.u32 x, lane, lane;", kNull);
    }

    // A source as a register; constants and what has modifiers in c0 to c2.
    Result<std::string> source(const Instruction& instruction, unsigned i) {
        const Operand& operand = instruction.source(i);
        const OperandInfo& type = info(instruction.opcode).source_operands()[i];
        const bool is_literal = type.type == OperandType::k32 || operand.is_literal();
        if (type.dwords != 1 && !is_literal) return refuse(instruction);
        std::string value = fmt::format("c{}", i);
        if (is_literal)
            line("mov.b32 {}, {:#x};", value, instruction.literal);
        else if (operand.code >= 128 && operand.code <= 208)
            line("mov.b32 {}, {};", value, operand.code <= 192 ? operand.code - 128 : 192 - operand.code);
        else if (operand.is_inline_constant() && type.type != OperandType::f16)
            line("mov.b32 {}, {:#x};", value, inline_float_bits(FloatFormat::f32, operand.code));
        else if (operand.is_vgpr() || operand.is_scalar_register())
            value = register_name(operand.code);
        else
            return refuse(instruction);
        if (i == 0 && instruction.encoding == Encoding::dpp16) RIFTJIT_TRY_VOID(route(instruction, value));
        modify("and.b32", 0x7fffffff, instruction.abs, i, value);
        modify("xor.b32", 0x80000000, instruction.neg, i, value);
        return value;
    }

    void modify(std::string_view operation, uint32_t mask, unsigned sources, unsigned i, std::string& value) {
        if ((sources >> i & 1) == 0) return;
        line("{} c{}, {}, {:#x};", operation, i, value, mask);
        value = fmt::format("c{}", i);
    }

    // DPP, as far as kernels have it: c0 becomes the other lane's `value`, 0 where that lane is off.
    Result<void> route(const Instruction& instruction, std::string& value) {
        const Dpp& dpp = instruction.dpp;
        if (dpp.row_mask != 15 || dpp.bank_mask != 15 || !(dpp.bound_control || dpp.fetch_inactive))
            return refuse(instruction);
        line("{} c0, {}{};", dpp.fetch_inactive ? "mov.b32" : "selp.b32", value, dpp.fetch_inactive ? "" : ", 0, x");
        if (dpp.control <= 0xFF) {  // quad_perm: two bits for each lane of four
            line("and.b32 t0, lane, 3;\nshl.b32 t0, t0, 1;\nmov.b32 t1, {:#x};\nshr.u32 t1, t1, t0;", dpp.control);
            line("and.b32 t1, t1, 3;\nand.b32 t0, lane, 28;\nor.b32 t0, t0, t1;");
        } else if (dpp.control >> 4 == 0x15) {  // row_share
            line("or.b32 t0, row, {};", dpp.control & 15);
        } else if (dpp.control >> 4 == 0x16) {  // row_xmask
            line("xor.b32 t0, lane, {};", dpp.control & 15);
        } else {
            return refuse(instruction);
        }
        line("shfl.sync.idx.b32 c0, c0, t0, 0x1f, 0xffffffff;");
        value = "c0";
        return {};
    }

    Result<void> translate(const PlacedInstruction& placed) {
        const Instruction& instruction = placed.instruction;
        const InstructionInfo& row = info(instruction.opcode);
        if (is_branch(row)) return branch(placed);
        if (row.wait) {  // here what other lanes of the wave stored is there
            line("bar.warp.sync 0xffffffff;");
            if (instruction.opcode == Opcode::s_waitcnt_vscnt) line("fence.acq_rel.gpu;");
            return {};
        }
        switch (instruction.opcode) {
            case Opcode::s_endpgm:
                line("ret;");
                return {};
            case Opcode::s_barrier:
                line("bar.sync 0;");
                return {};
            case Opcode::buffer_gl0_inv:
            case Opcode::buffer_gl1_inv:
                line("fence.acq_rel.gpu;");
                return {};
            case Opcode::s_clause:
            case Opcode::s_code_end:
                return {};
            case Opcode::s_mov_b64:
                return move_pair(instruction);
            default:
                break;
        }
        if (row.format == Format::SMEM) return scalar_load(instruction);
        if (row.format == Format::DS || row.format == Format::GLOBAL) return memory(instruction);
        return compute(instruction);
    }

    Result<void> branch(const PlacedInstruction& placed) {
        const char* condition = "";
        switch (placed.instruction.opcode) {
            case Opcode::s_branch:
                break;
            case Opcode::s_cbranch_scc1:
                condition = "@scc ";
                break;
            case Opcode::s_cbranch_execz:
                condition = "@!p0 ";
                line("setp.ne.u32 p0, s126, 0;");
                break;
            default:
                return refuse(placed.instruction);
        }
        line("{}bra.uni L{:x};", condition, placed.branch_target());
        return {};
    }

    Result<void> move_pair(const Instruction& instruction) {
        const Operand to = instruction.destination(), from = instruction.source(0);
        if (!from.is_scalar_register() || to.code >= Operand::kVcc) return refuse(instruction);
        line("mov.b64 a0, {{s{}, s{}}};\nmov.b64 {{s{}, s{}}}, a0;", from.code, from.code + 1, to.code, to.code + 1);
        return {};
    }

    Result<void> compute(const Instruction& instruction) {
        const InstructionInfo& row = info(instruction.opcode);
        const bool is_vector = is_valu(row.format), compares = row.format == Format::VOPC;
        std::string operation = compares    ? compare_operation(instruction.opcode)
                                : is_vector ? vector_operation(instruction.opcode)
                                            : scalar_operation(instruction.opcode);
        const bool is_known_form = instruction.encoding == Encoding::native || instruction.encoding == Encoding::e64 ||
                                   instruction.encoding == Encoding::dpp16;
        const bool fetches_others = !row.permlane || (instruction.op_sel & 1) != 0;
        const bool is_plain = row.format != Format::VOP3P || instruction.op_sel_hi == default_op_sel_hi(row);
        if (operation.empty() || !is_known_form || instruction.clamp || instruction.omod != 0 || !fetches_others ||
            !is_plain || (instruction.op_sel != 0 && !row.permlane) || (row.format == Format::VOP3P && instruction.neg))
            return refuse(instruction);

        for (unsigned i = 0; i < std::min<unsigned>(row.sources, 3); ++i) {
            const std::string name = fmt::format("${}", i);
            if (operation.find(name) == std::string::npos) continue;
            RIFTJIT_TRY(value, source(instruction, i));
            replace_all(operation, name, value);
        }
        const bool has_result = row.destinations != 0;
        const std::string to = has_result ? register_name(instruction.destination().code) : "";
        replace_all(operation, "$d", to);
        replace_all(operation, "; ", ";\n");
        line("{}", operation);
        if (compares) {
            store_mask(instruction.destination());
        } else if (has_result) {
            line("{}mov.b32 {}, r;", instruction.destination().is_vgpr() ? "@x " : "", to);
            if (row.destinations == 2) store_mask(instruction.destination(1));
        }
        if (row.writes_exec || (has_result && instruction.destination().code == Operand::kExec))
            line("and.b32 t0, s126, lane_bit;\nsetp.ne.u32 x, t0, 0;");
        return {};
    }

    void store_mask(const Operand& to) {
        if (to.code == kNull) return;
        line("and.pred p, p, x;\nvote.sync.ballot.b32 s{}, p, 0xffffffff;", to.code);
    }

    static void replace_all(std::string& text, std::string_view what, std::string_view by) {
        for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
            text.replace(at, what.size(), by);
    }

    Result<void> scalar_load(const Instruction& instruction) {
        const InstructionInfo& row = info(instruction.opcode);
        const Address& address = instruction.address;
        if (row.destinations != 1 || row.operands[1].type != OperandType::base) return refuse(instruction);
        line("mov.b64 a0, {{s{}, s{}}};", address.saddr.code, address.saddr.code + 1);
        if (address.soffset.exists() && address.soffset.code != kNull) {
            if (!address.soffset.is_scalar_register()) return refuse(instruction);
            line("cvt.u64.u32 a1, s{};\nadd.u64 a0, a0, a1;", address.soffset.code);
        }
        line("add.u64 a0, a0, {};\nand.b64 a0, a0, -4;", address.offset);
        for (unsigned i = 0; i < row.operands[0].dwords; ++i)  // arguments lie elsewhere than memory: generic
            line("ld.b32 s{}, [a0+{}];", instruction.destination().code + i, i * 4);
        return {};
    }

    // A dword at a time, since RDNA asks for no more alignment.
    Result<void> memory(const Instruction& instruction) {
        const InstructionInfo& row = info(instruction.opcode);
        if (instruction.address.lds || instruction.address.gds || row.two_offsets || row.thread_addressed ||
            row.half_register || row.stores_high)
            return refuse(instruction);
        const bool is_lds = row.format == Format::DS;
        const std::string_view space = is_lds ? "shared" : "global";
        const std::string at = is_lds ? lds_address(instruction, row.memory) : global_address(instruction);
        switch (row.memory) {
            case MemoryKind::load: {
                const OperandInfo& to = row.operands[0];
                if (instruction.opcode == Opcode::global_load_u16) {
                    line("@x ld.global.u16 {}, [{}];", register_name(instruction.destination().code), at);
                    return {};
                }
                if (!moves_dwords(row.name)) return refuse(instruction);
                for (unsigned i = 0; i < to.dwords; ++i)
                    line("@x ld.{}.b32 {}, [{}+{}];", space, register_name(instruction.destination().code + i), at,
                         i * 4);
                return {};
            }
            case MemoryKind::store: {
                const unsigned from = instruction.operands[1].code;
                if (row.stores != 0) {
                    line("@x st.{}.b{} [{}], {};", space, row.stores, at, register_name(from));
                    return {};
                }
                for (unsigned i = 0; i < row.operands[1].dwords; ++i)
                    line("@x st.{}.b32 [{}+{}], {};", space, at, i * 4, register_name(from + i));
                return {};
            }
            default:
                return atomic(instruction, at);
        }
    }

    static bool moves_dwords(std::string_view name) {
        return name.ends_with("_b32") || name.ends_with("_b64") || name.ends_with("_b96") || name.ends_with("_b128");
    }

    Result<void> atomic(const Instruction& instruction, const std::string& at) {
        if (instruction.opcode == Opcode::ds_add_u32) {
            line("@x red.shared.add.u32 [{}], {};", at, register_name(instruction.operands[1].code));
        } else if (instruction.opcode == Opcode::global_atomic_inc_u32) {
            line("@x atom.global.inc.u32 r, [{}], {};", at, register_name(instruction.operands[2].code));
            if (instruction.address.cache.glc) line("@x mov.b32 {}, r;", register_name(instruction.operands[0].code));
        } else {
            return refuse(instruction);
        }
        return {};
    }

    // A wave's accesses to LDS are done in order; lanes of a warp are not bound to that.
    std::string lds_address(const Instruction& instruction, MemoryKind kind) {
        if (kind != last_lds_) line("bar.warp.sync 0xffffffff;");
        last_lds_ = kind;
        line("add.u32 t0, {}, {};\nadd.u32 t0, t0, lds_base;", register_name(instruction.address.vaddr.code),
             instruction.address.offset);
        return "t0";
    }

    std::string global_address(const Instruction& instruction) {
        const Address& address = instruction.address;
        const unsigned lanes = address.vaddr.code;
        if (address.saddr.exists() && address.saddr.code != kNull) {
            line("mov.b64 a0, {{s{}, s{}}};", address.saddr.code, address.saddr.code + 1);
            line("cvt.u64.u32 a1, {};\nadd.u64 a0, a0, a1;", register_name(lanes));
        } else {
            line("mov.b64 a0, {{{}, {}}};", register_name(lanes), register_name(lanes + 1));
        }
        line("add.u64 a0, a0, {};", address.offset);
        return "a0";
    }

    const LoadedObject& object_;
    const LoadedKernel& kernel_;
    std::string text_;
    std::vector<PlacedInstruction> code_;
    std::set<uint64_t> labels_;
    MemoryKind last_lds_ = MemoryKind::none;  // of this stretch without a label
};

}  // namespace

Result<std::string> ptx_of(const LoadedObject& object, const LoadedKernel& kernel) {
    return Translation(object, kernel).run();
}

}  // namespace riftjit::hip_stand_in
