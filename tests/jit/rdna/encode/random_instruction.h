// Random instructions over the whole table: every row, form, operand kind and modifier that a target has.
#pragma once

#include <random>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/table/instruction.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {

class RandomInstructions {
public:
    RandomInstructions(Target target, WaveSize wave, uint32_t seed)
        : target_(target), generation_(generation(target)), wave_(wave), random_(seed) {
        for (const InstructionInfo& row : all_instructions())
            if (has(target, row.opcode) && row.opcode != Opcode::ds_bvh_stack_rtn_b32) rows_.push_back(&row);
        for (const DualInfo& dual : dual_instructions()) {
            if (dual.first > generation_ || dual.last < generation_) continue;
            if (dual.x.exists()) x_.push_back(dual.opcode);
            if (dual.y.exists()) y_.push_back(dual.opcode);
        }
    }

    // One that encode() accepts.
    Instruction next() {
        while (true) {
            if (chance(12) && !x_.empty() && wave_ == WaveSize::wave32)
                if (const auto dual = keep(random_dual())) return *dual;
            const InstructionInfo& row = *rows_[below(rows_.size())];
            for (int attempt = 0; attempt < 20; ++attempt)
                if (const auto made = keep(make(row, pick(forms(row))))) return *made;
        }
    }

    // Some instruction of that row and form, if twenty attempts make one.
    std::optional<Instruction> next(const InstructionInfo& row, Encoding form) {
        for (int attempt = 0; attempt < 200; ++attempt)
            if (const auto made = keep(make(row, form))) return made;
        return std::nullopt;
    }

    const std::vector<const InstructionInfo*>& rows() const { return rows_; }

    std::vector<Encoding> forms(const InstructionInfo& row) const {
        const Modifiers& modifiers = row.modifiers[static_cast<size_t>(generation_)];
        std::vector<Encoding> forms;
        const bool has_two = row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
        if (!has_two) {
            forms.push_back(Encoding::native);
            if (modifiers.e64_dpp) forms.insert(forms.end(), {Encoding::dpp16, Encoding::dpp8});
            return forms;
        }
        const bool is_long_only = is_vop3_only(row, generation_);
        if (!is_long_only) forms.push_back(Encoding::native);
        if (is_long_only || !modifiers.no_e64) forms.push_back(Encoding::e64);
        if (modifiers.sdwa) forms.push_back(Encoding::sdwa);
        if (modifiers.dpp && !is_long_only) forms.insert(forms.end(), {Encoding::dpp16, Encoding::dpp8});
        if (modifiers.e64_dpp) forms.insert(forms.end(), {Encoding::e64_dpp16, Encoding::e64_dpp8});
        return forms;
    }

private:
    uint32_t below(size_t limit) {
        return static_cast<uint32_t>(std::uniform_int_distribution<size_t>(0, limit - 1)(random_));
    }
    bool chance(unsigned one_in) { return below(one_in) == 0; }
    uint32_t bits(unsigned count) { return static_cast<uint32_t>(random_()) & (count == 32 ? ~0u : (1u << count) - 1); }
    template <class T>
    T pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }

    std::optional<Instruction> keep(Instruction instruction) const {
        const Result<EncodedInstruction> encoded = encode(target_, wave_, instruction);
        if (!encoded) return std::nullopt;
        instruction.size = static_cast<uint8_t>(4 * encoded->count);
        return instruction;
    }

    Operand random_vgpr(unsigned dwords) { return vgpr(below(vgprs_ + 1 - std::max(dwords, 1u))); }
    Operand random_sgpr(unsigned dwords) {
        dwords = std::max(dwords, 1u);
        if (dwords <= 2 && chance(4)) {
            static constexpr uint16_t kSpecial[] = {106, 124, 125, 126, 108, 114};
            return {kSpecial[below(6)]};
        }
        const unsigned step = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
        return sgpr(below((106 - dwords) / step + 1) * step);
    }

    // Where exec may not stand: results of scalar loads, masks that are read.
    static Operand without_exec(Operand operand) { return operand.code == Operand::kExec ? sgpr(10) : operand; }

    // A literal that no inline constant could stand for, in any of the types.
    uint32_t random_literal(OperandType type) {
        const bool is_half = type == OperandType::i16 || type == OperandType::f16 || type == OperandType::bf16 ||
                             type == OperandType::k16;
        return is_half ? 0x5000u + bits(10) : 0x12340000u + bits(18);
    }

    Operand random_constant(Instruction& instruction, OperandType type) {
        if (chance(3)) {
            if (!instruction.has_literal) instruction.literal = random_literal(type);
            instruction.has_literal = true;
            return {Operand::kLiteral};
        }
        // An integer operand of 16 bits spells a float constant by its bits, which read back as a literal.
        if (chance(2) && type != OperandType::i16) return {static_cast<uint16_t>(240 + below(9))};
        return {static_cast<uint16_t>(128 + below(81))};
    }

    Operand random_source(Instruction& instruction, const OperandInfo& type, bool takes_scalar) {
        const unsigned dwords = type.size(wave_);
        if (type.registers == RegisterClass::vgpr || !takes_scalar) return random_vgpr(dwords);
        if (type.type == OperandType::mask) return without_exec(random_sgpr(dwords));
        const bool is_salu = info(instruction.opcode).format <= Format::SOPC;
        const bool is_scalar_only = type.registers == RegisterClass::sgpr || is_salu;
        const bool is_matrix = info(instruction.opcode).name.find("mma") != std::string_view::npos;
        const unsigned kind = (dwords > 2 && !is_salu) || is_matrix ? 5 : below(6);
        const bool takes_constant = type.type != OperandType::b32 && type.type != OperandType::b64;
        if (kind == 0) return random_sgpr(dwords);
        if (kind <= 2 && takes_constant) return random_constant(instruction, type.type);
        if (kind == 3 && chance(4) && dwords <= 2) return {static_cast<uint16_t>(chance(2) ? 253 : 235 + below(4))};
        return is_scalar_only ? random_sgpr(dwords) : random_vgpr(dwords);
    }

    Instruction make(const InstructionInfo& row, Encoding form) {
        Instruction made;
        made.opcode = row.opcode;
        made.encoding = form;
        if (row.format >= Format::DS || row.format == Format::SMEM) {
            make_memory(made, row);
        } else {
            make_alu(made, row);
        }
        return made;
    }

    void make_alu(Instruction& made, const InstructionInfo& row) {
        const bool is_valu = row.format >= Format::VOP1;
        const bool is_long = is_vop3_word(row, generation_, made.encoding);
        const bool has_dpp = is_dpp8(made.encoding) || is_dpp16(made.encoding);
        // The short forms of 16-bit instructions name halves of v0 to v127 from gfx11 on.
        const bool has_halves = generation_ != Generation::gfx10 && row.halves != 0;
        vgprs_ = has_halves && !is_long ? 128 : 256;
        for (unsigned i = 0; i < static_cast<unsigned>(row.destinations + row.sources); ++i) {
            const OperandType type = row.operands[i].type;
            if (type == OperandType::simm16 || type == OperandType::hwreg || type == OperandType::label)
                made.simm16 = static_cast<uint16_t>(chance(2) ? bits(16) : bits(7));
        }
        for (unsigned i = 0; i < static_cast<unsigned>(row.destinations + row.sources); ++i) {
            const OperandInfo& type = row.operands[i];
            const unsigned dwords = type.size(wave_);
            switch (type.type) {
                case OperandType::imm:
                    made.operands[i] = {static_cast<uint16_t>(chance(2) ? 128 + below(7) : below(256))};
                    continue;
                case OperandType::barrier:
                    made.operands[i] =
                        chance(3) ? m0_register(generation_) : Operand{static_cast<uint16_t>(193 + below(4))};
                    continue;
                case OperandType::k16:
                case OperandType::k32:
                case OperandType::literal:
                    if (!made.has_literal) made.literal = random_literal(type.type);
                    made.has_literal = true;
                    continue;
                case OperandType::simm16:
                case OperandType::hwreg:
                case OperandType::label:
                case OperandType::exec:
                    continue;
                default:
                    break;
            }
            if (i < row.destinations) {
                const bool is_scalar =
                    !is_valu || type.type == OperandType::mask || type.registers == RegisterClass::sgpr;
                made.operands[i] = is_scalar ? random_sgpr(dwords) : random_vgpr(dwords);
                if (row.format == Format::VOP3 && type.registers == RegisterClass::sgpr)
                    made.operands[i] = without_exec(made.operands[i]);
                continue;
            }
            const unsigned source = i - row.destinations;
            bool takes_scalar = true;
            if (is_valu && !is_long && (source == 1 || has_dpp)) takes_scalar = made.encoding == Encoding::sdwa;
            if (has_dpp && source == 0) takes_scalar = false;
            if (has_dpp && source == 2 && row.format == Format::VOP3P) takes_scalar = false;
            if (has_dpp && source == 1)
                takes_scalar = row.format != Format::VOP3P && has(target_, Feature::dpp_src1_sgpr) && is_long;
            made.operands[i] = random_source(made, type, takes_scalar);
        }
        fix_implied(made, row, is_long);
        if (is_valu) make_modifiers(made, row, is_long);
    }

    // Operands that the form does not encode.
    void fix_implied(Instruction& made, const InstructionInfo& row, bool is_long) {
        const Operand vcc{Operand::kVcc};
        for (unsigned i = 0; i < static_cast<unsigned>(row.destinations + row.sources); ++i) {
            if (row.operands[i].type == OperandType::mask && !is_long &&
                !(made.encoding == Encoding::sdwa && row.format == Format::VOPC))
                made.operands[i] = vcc;
            if (row.operands[i].tied) made.operands[i] = made.operands[0];
        }
        if (row.destinations == 2 && row.format == Format::VOP1) {  // v_swap
            made.operands[1] = made.operands[2];
            made.operands[3] = made.operands[0];
        }
    }

    void make_modifiers(Instruction& made, const InstructionInfo& row, bool is_long) {
        const Modifiers& allowed = row.modifiers[static_cast<size_t>(generation_)];
        const auto some = [&](uint8_t mask) { return static_cast<uint8_t>(chance(2) ? 0 : bits(8) & mask); };
        const bool has_fields = is_long || made.encoding == Encoding::sdwa || made.encoding == Encoding::dpp16;
        if (has_fields) made.neg = some(allowed.neg), made.abs = some(allowed.abs);
        if (is_long || made.encoding == Encoding::sdwa) {
            made.clamp = allowed.clamp && chance(3);
            // SDWA scales no integer result.
            const bool is_integer = row.name.starts_with("v_frexp_exp") ||
                                    (row.name.starts_with("v_cvt_") && !row.name.substr(6).starts_with("f"));
            if (allowed.omod && !(is_integer && made.encoding == Encoding::sdwa))
                made.omod = static_cast<uint8_t>(chance(2) ? 0 : bits(2));
        }
        if (is_long) {
            made.op_sel = some(allowed.op_sel);
            made.op_sel_hi = default_op_sel_hi(row);
            if (row.format == Format::VOP3P && allowed.op_sel_hi != 0 && chance(2))
                made.op_sel_hi =
                    static_cast<uint8_t>((made.op_sel_hi & ~allowed.op_sel_hi) | (bits(8) & allowed.op_sel_hi));
        }
        for (unsigned i = 0; i < static_cast<unsigned>(row.destinations + row.sources); ++i)
            if (names_half(generation_, row, i) && made.operands[i].is_vgpr() && chance(4))
                made.op_sel |= static_cast<uint8_t>(1u << half_bit(row, i));
        if (is_dpp16(made.encoding)) make_dpp16(made.dpp);
        if (is_dpp8(made.encoding)) made.dpp = {.fetch_inactive = chance(2), .selectors = bits(24)};
        if (made.encoding == Encoding::sdwa) make_sdwa(made, row);
    }

    void make_dpp16(Dpp& dpp) {
        static constexpr uint16_t kRows[] = {0x101, 0x111, 0x121, 0x150, 0x160};
        dpp.control = static_cast<uint16_t>(bits(8));
        if (chance(2)) dpp.control = static_cast<uint16_t>(kRows[below(5)] + below(15));
        if (chance(8)) dpp.control = static_cast<uint16_t>(0x140 + bits(1));
        dpp.row_mask = static_cast<uint8_t>(bits(4));
        dpp.bank_mask = static_cast<uint8_t>(bits(4));
        dpp.bound_control = chance(2);
        dpp.fetch_inactive = chance(2);
    }

    void make_sdwa(Instruction& made, const InstructionInfo& row) {
        Sdwa& sdwa = made.sdwa;
        if (row.format != Format::VOPC) {
            sdwa.destination_select = static_cast<uint8_t>(below(7));
            sdwa.destination_unused = static_cast<uint8_t>(below(3));
        }
        sdwa.source_select[0] = static_cast<uint8_t>(below(7));
        if (row.format != Format::VOP1) sdwa.source_select[1] = static_cast<uint8_t>(below(7));
        const Modifiers& allowed = row.modifiers[static_cast<size_t>(generation_)];
        const WrittenSources sources = written_sources(row);
        for (unsigned i = 0; i < std::min<unsigned>(sources.count, 2); ++i) {
            const OperandType type = row.operands[sources.index[i]].type;
            const bool is_integer = type == OperandType::i16 || type == OperandType::i32;
            const bool takes_sign = is_integer && row.opcode != Opcode::v_movreld_b32;
            if (takes_sign && (allowed.neg >> i & 1) == 0 && chance(3))
                sdwa.sign_extend |= static_cast<uint8_t>(1u << i);
        }
    }

    int32_t random_offset(const InstructionInfo& row) {
        if (chance(3)) return 0;
        const bool is_gfx12 = generation_ == Generation::gfx12;
        const auto signed_bits = [&](unsigned count) { return static_cast<int32_t>(bits(count)) - (1 << (count - 1)); };
        switch (row.format) {
            case Format::SMEM:
                return signed_bits(is_gfx12 ? 24 : 21);
            case Format::DS:
                return static_cast<int32_t>(bits(row.two_offsets ? 8 : 16));
            case Format::MUBUF:
                return static_cast<int32_t>(bits(is_gfx12 ? 23 : 12));
            case Format::FLAT:
                if (!is_gfx12) return static_cast<int32_t>(bits(generation_ == Generation::gfx10 ? 11 : 12));
                break;
            default:
                break;
        }
        return signed_bits(is_gfx12 ? 24 : generation_ == Generation::gfx11 ? 13 : 12);
    }

    void make_cache(Instruction& made, const InstructionInfo& row) {
        CachePolicy& cache = made.address.cache;
        const bool has_none = row.format == Format::DS || row.name.starts_with("s_atc_probe");
        if (has_none || chance(3)) return;
        if (generation_ == Generation::gfx12) {
            cache.scope = static_cast<uint8_t>(bits(2));
            cache.temporal_hint = static_cast<uint8_t>(bits(row.format == Format::SMEM ? 2 : 3));
        } else {
            const bool has_dlc =
                generation_ != Generation::gfx10 || row.format != Format::MUBUF || row.memory != MemoryKind::atomic;
            cache.glc = chance(2), cache.dlc = has_dlc && chance(2);
            cache.slc = row.format != Format::SMEM && chance(2);
        }
    }

    void make_memory(Instruction& made, const InstructionInfo& row) {
        Address& address = made.address;
        vgprs_ = 256;
        make_cache(made, row);
        address.offset = random_offset(row);
        if (row.two_offsets) address.offset1 = static_cast<uint8_t>(bits(8));
        if (row.format == Format::DS && generation_ != Generation::gfx12)
            address.gds = row.name.find("_g") != std::string_view::npos || row.opcode == Opcode::ds_ordered_count ||
                          (!row.no_gds && chance(4));
        const bool returns = address.cache.glc || (address.cache.temporal_hint & 1) != 0;
        const bool is_atomic = row.memory == MemoryKind::atomic;
        if (row.format == Format::MUBUF && !is_atomic && chance(6)) address.tfe = true;
        for (unsigned i = 0; i < static_cast<unsigned>(row.destinations + row.sources); ++i) {
            const OperandInfo& type = row.operands[i];
            const bool is_scalar = row.format == Format::SMEM;
            const unsigned dwords = type.size(wave_) + (address.tfe ? 1u : 0u);
            if (type.type == OperandType::addr || type.type == OperandType::base || type.type == OperandType::rsrc)
                continue;
            if (type.type == OperandType::length || type.type == OperandType::imm) {
                made.operands[i] = {static_cast<uint16_t>(below(32))};
                continue;
            }
            if (row.format == Format::SMEM && i >= row.destinations) continue;  // soffset
            made.operands[i] = is_scalar ? without_exec(random_sgpr(dwords)) : random_vgpr(dwords);
        }
        if (is_atomic && row.format != Format::DS && row.destinations != 0) {
            if (!returns) made.operands[0] = {};
            if (row.format == Format::MUBUF && returns) made.operands[0] = made.operands[2];
        }
        make_address(made, row);
    }

    void make_address(Instruction& made, const InstructionInfo& row) {
        Address& address = made.address;
        const Operand null = null_register(generation_);
        bool has_address = false;
        for (const OperandInfo& source : row.source_operands()) has_address |= source.type == OperandType::addr;
        switch (row.format) {
            case Format::SMEM:
                for (const OperandInfo& source : row.source_operands()) {
                    if (source.type == OperandType::base) address.saddr = sgpr(2 * below(53));
                    if (source.type == OperandType::rsrc) address.saddr = sgpr(4 * below(26));
                }
                address.soffset = chance(2) ? null : random_sgpr(1);
                if (!address.saddr.exists() && row.sources == 0) address.offset = 0, address.soffset = {};
                break;
            case Format::DS:
                if (has_address) address.vaddr = random_vgpr(1);
                break;
            case Format::FLAT:
                address.vaddr = random_vgpr(2);
                break;
            case Format::GLOBAL:
            case Format::SCRATCH:
                if (!has_address) {
                    address.offset = 0;
                    break;
                }
                address.saddr = chance(2) ? null : random_sgpr(row.format == Format::GLOBAL ? 2 : 1);
                make_vaddr(made, row);
                break;
            case Format::MUBUF:
                if (!has_address) {
                    address.offset = 0, address.cache = {};
                    break;
                }
                address.offset_enable = chance(2), address.index_enable = chance(2);
                address.vaddr =
                    address.offset_enable || address.index_enable ? random_vgpr(vaddr_dwords(row, address)) : vgpr(0);
                address.resource = sgpr(4 * below(26));
                address.soffset = generation_ != Generation::gfx12 && chance(3)
                                      ? Operand{static_cast<uint16_t>(128 + below(81))}
                                      : random_sgpr(1);
                break;
            default:
                break;
        }
    }

    void make_vaddr(Instruction& made, const InstructionInfo& row) {
        Address& address = made.address;
        if (row.name.find("addtid") != std::string_view::npos) return;
        if (row.format == Format::GLOBAL) {
            address.vaddr = random_vgpr(vaddr_dwords(row, address));
            return;
        }
        if (chance(2)) return;
        address.vaddr = random_vgpr(1);
        address.vaddr_enable = generation_ != Generation::gfx10;
    }

    Instruction random_dual() {
        Instruction made;
        made.encoding = Encoding::vopd;
        vgprs_ = 256;
        made.dual[0] = random_half(made, pick(x_));
        made.dual[1] = random_half(made, pick(y_));
        made.dual[1].operands[0] =
            vgpr((made.dual[1].operands[0].vgpr() & ~1u) | (~made.dual[0].operands[0].vgpr() & 1u));
        made.opcode = made.dual[0].opcode;
        return made;
    }

    VopdHalf random_half(Instruction& made, Opcode opcode) {
        VopdHalf half{.opcode = opcode};
        half.operands[0] = random_vgpr(1);
        half.operands[1] = random_source(made, info(opcode).operands[1], true);
        if (opcode != Opcode::v_mov_b32) half.operands[2] = random_vgpr(1);
        if (opcode == Opcode::v_fmaak_f32 || opcode == Opcode::v_fmamk_f32) {
            if (!made.has_literal) made.literal = random_literal(OperandType::k32);
            made.has_literal = true;
        }
        return half;
    }

    Target target_;
    Generation generation_;
    WaveSize wave_;
    std::mt19937 random_;
    unsigned vgprs_ = 256;  // that the form at hand can name
    std::vector<const InstructionInfo*> rows_;
    std::vector<Opcode> x_, y_;
};

}  // namespace riftjit::rdna
