#include <algorithm>
#include <optional>
#include <vector>

#include "jit/rdna/encoding.h"
#include "jit/rdna/format_bits.h"
#include "jit/rdna/operand_rules.h"
#include "jit/rdna/operand_slots.h"
#include "jit/rdna/syntax.h"

namespace riftjit::rdna {
namespace {

using namespace bits;

constexpr size_t kFormats = static_cast<size_t>(Format::MUBUF) + 1;
constexpr uint16_t kNoRow = 0xFFFF;

// Rows by generation, format and number; the VOP3 table also holds the long forms of the short formats.
class OpcodeTables {
public:
    OpcodeTables() {
        for (const InstructionInfo& row : all_instructions()) {
            for (size_t g = 0; g < 3; ++g) {
                const OpcodeNumber number = row.number[g];
                if (!number.exists()) continue;
                const auto opcode = static_cast<uint16_t>(row.opcode);
                if (number.vop3_only || row.format == Format::VOP3) {
                    put(g, Format::VOP3, number.value, opcode);
                    continue;
                }
                put(g, row.format, number.value, opcode);
                if (row.modifiers[g].no_e64) continue;
                if (row.format == Format::VOPC) put(g, Format::VOP3, vop3::kVopcBase + number.value, opcode);
                if (row.format == Format::VOP2) put(g, Format::VOP3, vop3::kVop2Base + number.value, opcode);
                if (row.format == Format::VOP1) put(g, Format::VOP3, vop3::kVop1Base + number.value, opcode);
            }
        }
    }
    std::optional<Opcode> find(Generation generation, Format format, uint32_t number) const {
        const auto& table = tables_[static_cast<size_t>(generation)][static_cast<size_t>(format)];
        if (number >= table.size() || table[number] == kNoRow) return std::nullopt;
        return static_cast<Opcode>(table[number]);
    }

private:
    void put(size_t generation, Format format, uint32_t number, uint16_t opcode) {
        auto& table = tables_[generation][static_cast<size_t>(format)];
        if (table.size() <= number) table.resize(number + 1, kNoRow);
        table[number] = opcode;
    }
    std::vector<uint16_t> tables_[3][kFormats];
};

const OpcodeTables& tables() {
    static const OpcodeTables all;
    return all;
}

class Unpacker {
public:
    Unpacker(Target target, WaveSize wave, std::span<const uint32_t> words)
        : target_(target), generation_(generation(target)), wave_(wave), input_(words) {
        std::copy_n(words.begin(), std::min<size_t>(words.size(), words_.words.size()), words_.words.begin());
    }

    Decoded unpack() {
        if (input_.empty()) return error(DecodeError::truncated);
        if (const auto failed = unpack_format()) return error(*failed);
        if (const auto failed = unpack_literal()) return error(*failed);
        if (count_ > input_.size()) return error(DecodeError::truncated);
        instruction_.size = static_cast<uint8_t>(4 * count_);
        if (instruction_.encoding != Encoding::vopd &&
            (!has(target_, instruction_.opcode) ||
             !has_form(target_, info(instruction_.opcode), instruction_.encoding)))
            return error(has(target_, instruction_.opcode) ? DecodeError::form : DecodeError::unknown_opcode);
        // What the encoder refuses is no instruction; a bit that it would write otherwise is a reserved one.
        const Result<EncodedInstruction> again = encode(target_, wave_, instruction_);
        if (!again) return error(DecodeError::operand);
        if (again->count != count_ || !std::equal(again->words.begin(), again->words.begin() + count_, input_.begin()))
            return error(DecodeError::reserved_bits);
        Decoded decoded;
        decoded.instruction = instruction_;
        decoded.ok = true;
        return decoded;
    }

private:
    using Failure = std::optional<DecodeError>;
    static Decoded error(DecodeError why) {
        Decoded decoded;
        decoded.error = why;
        return decoded;
    }
    uint32_t get(Field field) const { return words_.get(field); }
    bool is_gfx10() const { return generation_ == Generation::gfx10; }
    bool is_gfx12() const { return generation_ == Generation::gfx12; }
    const InstructionInfo& row() const { return info(instruction_.opcode); }
    void put(uint8_t slot, Operand operand) {
        if (slot != kNoOperand) instruction_.operands[slot] = operand;
    }
    static Operand any(uint32_t code) { return {static_cast<uint16_t>(code)}; }
    static Operand vector(uint32_t index) { return vgpr(index); }

    Failure find(Format format, uint32_t number) {
        const auto opcode = tables().find(generation_, format, number);
        if (!opcode) return DecodeError::unknown_opcode;
        instruction_.opcode = *opcode;
        slots_ = slots_of(*opcode);
        return std::nullopt;
    }

    Failure unpack_format() {
        const uint32_t top9 = get(sop1::prefix), top6 = get(smem::prefix);
        if (top9 == sop1::kPrefix) return unpack_sop1();
        if (top9 == sopc::kPrefix) return unpack_sopc();
        if (top9 == sopp::kPrefix) return unpack_sopp();
        if (get(sopk::prefix) == sopk::kPrefix) return unpack_sopk();
        if (get(sop2::prefix) == sop2::kPrefix) return unpack_sop2();
        if (get(vop2::prefix) == vop2::kPrefix) {
            const uint32_t top7 = get(vop1::prefix);
            if (top7 == vop1::kPrefix) return unpack_vop1();
            return top7 == vopc::kPrefix ? unpack_vopc() : unpack_vop2();
        }
        if (top9 == vop3p::kPrefix) return unpack_vop3p();
        if (top6 == smem::kPrefix) return unpack_smem();
        if (top6 == vop3::kPrefix) return unpack_vop3();
        if (top6 == ds::kPrefix) return unpack_ds();
        if (is_gfx12()) {
            const uint32_t top8 = get(flat12::prefix);
            if (top8 == flat12::kFlat) return unpack_flat12(Format::FLAT);
            if (top8 == flat12::kScratch) return unpack_flat12(Format::SCRATCH);
            if (top8 == flat12::kGlobal) return unpack_flat12(Format::GLOBAL);
            if (top6 == mubuf12::kPrefix) return unpack_mubuf12();
        } else {
            if (top6 == flat::kPrefix) return unpack_flat();
            if (top6 == mubuf::kPrefix) return unpack_mubuf();
        }
        if (!is_gfx10() && top6 == vopd::kPrefix) return unpack_vopd();
        return DecodeError::family_left_out;  // MIMG, MTBUF, EXP, VINTERP, LDSDIR, or nothing at all
    }

    Failure unpack_sop2() {
        if (const auto failed = find(Format::SOP2, get(sop2::op))) return failed;
        put(slots_.destination, any(get(sop2::sdst)));
        put(slots_.source[0], any(get(sop2::ssrc0)));
        put(slots_.source[1], any(get(sop2::ssrc1)));
        return std::nullopt;
    }
    Failure unpack_sopk() {
        if (const auto failed = find(Format::SOPK, get(sopk::op))) return failed;
        put(slots_.destination, any(get(sopk::sdst)));
        instruction_.simm16 = static_cast<uint16_t>(get(sopk::simm16));
        return std::nullopt;
    }
    Failure unpack_sop1() {
        if (const auto failed = find(Format::SOP1, get(sop1::op))) return failed;
        put(slots_.destination, any(get(sop1::sdst)));
        put(slots_.immediate != kNoOperand ? slots_.immediate : slots_.source[0], any(get(sop1::ssrc0)));
        return std::nullopt;
    }
    Failure unpack_sopc() {
        if (const auto failed = find(Format::SOPC, get(sopc::op))) return failed;
        put(slots_.source[0], any(get(sopc::ssrc0)));
        put(slots_.source[1], any(get(sopc::ssrc1)));
        return std::nullopt;
    }
    Failure unpack_sopp() {
        if (const auto failed = find(Format::SOPP, get(sopp::op))) return failed;
        instruction_.simm16 = static_cast<uint16_t>(get(sopp::simm16));
        return std::nullopt;
    }

    // --- vector ALU ---

    Failure unpack_vop1() {
        if (const auto failed = find(Format::VOP1, get(vop1::op))) return failed;
        const bool is_scalar = slots_.destination != kNoOperand && row().destinations > 0 &&
                               row().operands[0].registers == RegisterClass::sgpr;
        put(slots_.destination, is_scalar ? any(get(vop1::vdst)) : vector(get(vop1::vdst)));
        return unpack_src0(get(vop1::src0), false);
    }
    Failure unpack_vop2() {
        if (const auto failed = find(Format::VOP2, get(vop2::op))) return failed;
        put(slots_.destination, vector(get(vop2::vdst)));
        put(slots_.source[1], vector(get(vop2::vsrc1)));
        put(slots_.mask_destination, any(Operand::kVcc));
        put(slots_.mask_source, any(Operand::kVcc));
        return unpack_src0(get(vop2::src0), false);
    }
    Failure unpack_vopc() {
        if (const auto failed = find(Format::VOPC, get(vopc::op))) return failed;
        put(slots_.mask_destination, any(Operand::kVcc));
        put(slots_.source[1], vector(get(vopc::vsrc1)));
        return unpack_src0(get(vopc::src0), false);
    }

    // The source field of word 0 or 1, or a marker for an extra word.
    Failure unpack_src0(uint32_t field, bool is_long) {
        const bool is_short_row = row().format >= Format::VOP1 && row().format <= Format::VOPC;
        const bool is_e64 = is_long && is_short_row;
        instruction_.encoding = is_e64 ? Encoding::e64 : Encoding::native;
        if (slots_.source[0] == kNoOperand) return field == 0 ? Failure() : DecodeError::reserved_bits;
        switch (field) {
            case kSdwaMarker:
                if (is_long || !is_gfx10()) return DecodeError::form;
                instruction_.encoding = Encoding::sdwa;
                return unpack_sdwa();
            case kDpp16Marker:
                instruction_.encoding = is_e64 ? Encoding::e64_dpp16 : Encoding::dpp16;
                return unpack_dpp16(is_long);
            case kDpp8Marker:
            case kDpp8FetchInactiveMarker:
                instruction_.encoding = is_e64 ? Encoding::e64_dpp8 : Encoding::dpp8;
                instruction_.dpp.fetch_inactive = field == kDpp8FetchInactiveMarker;
                return unpack_dpp8();
            default:
                put(slots_.source[0], any(field));
                return std::nullopt;
        }
    }

    Failure take_extra(Words& extra) {
        if (count_ >= input_.size()) return DecodeError::truncated;
        extra.words[0] = input_[count_++];
        return std::nullopt;
    }

    Failure unpack_dpp16(bool is_long) {
        Words extra;
        if (const auto failed = take_extra(extra)) return failed;
        Dpp& dpp = instruction_.dpp;
        put(slots_.source[0], vector(extra.get(dpp::vsrc0)));
        dpp.control = static_cast<uint16_t>(extra.get(dpp::control));
        dpp.fetch_inactive = extra.get(dpp::fetch_inactive) != 0;
        dpp.bound_control = extra.get(dpp::bound_control) != 0;
        dpp.bank_mask = static_cast<uint8_t>(extra.get(dpp::bank_mask));
        dpp.row_mask = static_cast<uint8_t>(extra.get(dpp::row_mask));
        if (is_long) return std::nullopt;
        instruction_.neg = static_cast<uint8_t>(extra.get(dpp::neg0) | extra.get(dpp::neg1) << 1);
        instruction_.abs = static_cast<uint8_t>(extra.get(dpp::abs0) | extra.get(dpp::abs1) << 1);
        return std::nullopt;
    }
    Failure unpack_dpp8() {
        Words extra;
        if (const auto failed = take_extra(extra)) return failed;
        put(slots_.source[0], vector(extra.get(dpp::vsrc0)));
        instruction_.dpp.selectors = extra.get(dpp::selectors);
        return std::nullopt;
    }
    Failure unpack_sdwa() {
        Words extra;
        if (const auto failed = take_extra(extra)) return failed;
        Sdwa& sdwa = instruction_.sdwa;
        const auto source = [&](Field scalar, uint32_t code) {
            return extra.get(scalar) != 0 ? any(code) : vector(code);
        };
        put(slots_.source[0], source(sdwa::src0_scalar, extra.get(sdwa::vsrc0)));
        if (row().format == Format::VOPC) {
            if (extra.get(sdwa::has_sdst) != 0) put(slots_.mask_destination, any(extra.get(sdwa::sdst)));
        } else {
            sdwa.destination_select = static_cast<uint8_t>(extra.get(sdwa::dst_sel));
            sdwa.destination_unused = static_cast<uint8_t>(extra.get(sdwa::dst_unused));
            instruction_.clamp = extra.get(sdwa::clamp) != 0;
            instruction_.omod = static_cast<uint8_t>(extra.get(sdwa::omod));
        }
        sdwa.source_select[0] = static_cast<uint8_t>(extra.get(sdwa::src0_sel));
        sdwa.sign_extend = static_cast<uint8_t>(extra.get(sdwa::src0_sext));
        instruction_.neg = static_cast<uint8_t>(extra.get(sdwa::src0_neg));
        instruction_.abs = static_cast<uint8_t>(extra.get(sdwa::src0_abs));
        if (slots_.source[1] == kNoOperand) return std::nullopt;
        const uint32_t src1 = row().format == Format::VOPC ? get(vopc::vsrc1) : get(vop2::vsrc1);
        put(slots_.source[1], source(sdwa::src1_scalar, src1));
        sdwa.source_select[1] = static_cast<uint8_t>(extra.get(sdwa::src1_sel));
        sdwa.sign_extend |= static_cast<uint8_t>(extra.get(sdwa::src1_sext) << 1);
        instruction_.neg |= static_cast<uint8_t>(extra.get(sdwa::src1_neg) << 1);
        instruction_.abs |= static_cast<uint8_t>(extra.get(sdwa::src1_abs) << 1);
        return std::nullopt;
    }

    Failure unpack_vop3() {
        if (const auto failed = find(Format::VOP3, get(vop3::op))) return failed;
        count_ = 2;
        const InstructionInfo& row = this->row();
        if (row.format == Format::VOPC) {
            put(slots_.mask_destination, any(get(vop3::vdst)));
        } else {
            const bool is_scalar = row.destinations > 0 && row.operands[0].registers == RegisterClass::sgpr;
            put(slots_.destination, is_scalar ? any(get(vop3::vdst)) : vector(get(vop3::vdst)));
        }
        const bool has_sdst = slots_.mask_destination != kNoOperand && row.format != Format::VOPC;
        if (has_sdst) {
            put(slots_.mask_destination, any(get(vop3::sdst)));
        } else {
            instruction_.op_sel = static_cast<uint8_t>(get(vop3::op_sel));
            instruction_.abs = static_cast<uint8_t>(get(vop3::abs));
        }
        instruction_.clamp = get(vop3::clamp) != 0;
        instruction_.neg = static_cast<uint8_t>(get(vop3::neg));
        instruction_.omod = static_cast<uint8_t>(get(vop3::omod));
        put(slots_.source[1], any(get(vop3::src1)));
        put(slots_.mask_source != kNoOperand ? slots_.mask_source : slots_.source[2], any(get(vop3::src2)));
        return unpack_src0(get(vop3::src0), true);
    }

    Failure unpack_vop3p() {
        if (const auto failed = find(Format::VOP3P, get(vop3p::op))) return failed;
        count_ = 2;
        put(slots_.destination, vector(get(vop3p::vdst)));
        instruction_.clamp = get(vop3p::clamp) != 0;
        instruction_.op_sel = static_cast<uint8_t>(get(vop3p::op_sel));
        instruction_.op_sel_hi = static_cast<uint8_t>(get(vop3p::op_sel_hi01) | get(vop3p::op_sel_hi2) << 2);
        instruction_.neg = static_cast<uint8_t>(get(vop3p::neg_lo));
        instruction_.abs = static_cast<uint8_t>(get(vop3p::neg_hi));
        put(slots_.source[1], any(get(vop3p::src1)));
        put(slots_.source[2], any(get(vop3p::src2)));
        return unpack_src0(get(vop3p::src0), true);
    }

    Failure unpack_vopd() {
        count_ = 2;
        instruction_.encoding = Encoding::vopd;
        VopdHalf &x = instruction_.dual[0], &y = instruction_.dual[1];
        bool has_x = false, has_y = false;
        for (const DualInfo& dual : dual_instructions()) {
            if (generation_ < dual.first || generation_ > dual.last) continue;
            if (dual.x.exists() && dual.x.value == get(vopd::op_x)) x.opcode = dual.opcode, has_x = true;
            if (dual.y.exists() && dual.y.value == get(vopd::op_y)) y.opcode = dual.opcode, has_y = true;
        }
        if (!has_x || !has_y) return DecodeError::unknown_opcode;
        instruction_.opcode = x.opcode;
        const uint32_t vdst_x = get(vopd::vdst_x);
        x.operands[0] = vector(vdst_x);
        y.operands[0] = vector(2 * get(vopd::vdst_y_half) + (vdst_x % 2 == 0 ? 1 : 0));
        x.operands[1] = any(get(vopd::src0_x));
        y.operands[1] = any(get(vopd::src0_y));
        if (x.opcode != Opcode::v_mov_b32) x.operands[2] = vector(get(vopd::vsrc1_x));
        if (y.opcode != Opcode::v_mov_b32) y.operands[2] = vector(get(vopd::vsrc1_y));
        return std::nullopt;
    }

    bool names_literal() const {
        if (instruction_.encoding == Encoding::vopd) {
            for (const VopdHalf& half : instruction_.dual)
                if (half.operands[1].is_literal() || half.opcode == Opcode::v_fmaak_f32 ||
                    half.opcode == Opcode::v_fmamk_f32)
                    return true;
            return false;
        }
        const InstructionInfo& row = this->row();
        if (slots_.constant != kNoOperand) return true;
        if (row.format > Format::SOPP && (row.format < Format::VOP1 || row.format > Format::VOP3P)) return false;
        for (unsigned i = 0; i < row.sources; ++i) {
            const unsigned index = row.destinations + i;
            if (row.operands[index].type == OperandType::literal) return true;
            if (row.operands[index].type != OperandType::imm && instruction_.operands[index].is_literal()) return true;
        }
        return false;
    }
    Failure unpack_literal() {
        if (!names_literal()) return std::nullopt;
        if (count_ >= input_.size()) return DecodeError::truncated;
        instruction_.literal = input_[count_++];
        instruction_.has_literal = true;
        return std::nullopt;
    }

    // --- memory ---

    Failure unpack_smem() {
        if (const auto failed = find(Format::SMEM, get(is_gfx12() ? smem::op12 : smem::op10))) return failed;
        count_ = 2;
        Address& address = instruction_.address;
        bool has_base = false, has_offset = false;
        for (const OperandInfo& source : row().source_operands()) {
            has_base |= source.type == OperandType::base || source.type == OperandType::rsrc;
            has_offset |= source.type == OperandType::length;
        }
        has_offset |= has_base;
        put(slots_.immediate != kNoOperand ? slots_.immediate : slots_.destination, any(get(smem::sdata)));
        if (has_base) address.saddr = any(2 * get(smem::sbase));
        if (!has_offset) return std::nullopt;
        address.soffset = any(get(smem::soffset));
        if (is_gfx12()) {
            address.offset = words_.get_signed(smem::offset12);
            address.cache.temporal_hint = static_cast<uint8_t>(get(smem::th12));
            address.cache.scope = static_cast<uint8_t>(get(smem::scope12));
        } else {
            address.offset = words_.get_signed(smem::offset10);
            address.cache.glc = get(is_gfx10() ? smem::glc10 : smem::glc11) != 0;
            address.cache.dlc = get(is_gfx10() ? smem::dlc10 : smem::dlc11) != 0;
        }
        return std::nullopt;
    }

    bool has_address() const {
        for (const OperandInfo& source : row().source_operands())
            if (source.type == OperandType::addr) return true;
        return false;
    }

    Failure unpack_ds() {
        if (const auto failed = find(Format::DS, get(ds::op))) return failed;
        count_ = 2;
        Address& address = instruction_.address;
        address.gds = get(ds::gds) != 0;
        if (is_two_address(row())) {
            address.offset = static_cast<int32_t>(get(ds::offset0));
            address.offset1 = static_cast<uint8_t>(get(ds::offset1));
        } else {
            address.offset = static_cast<int32_t>(get(ds::offset));
        }
        if (has_address()) address.vaddr = vector(get(ds::addr));
        put(slots_.destination, vector(get(ds::vdst)));
        put(slots_.source[0], vector(get(ds::data0)));
        put(slots_.source[1], vector(get(ds::data1)));
        return std::nullopt;
    }

    // The fields that FLAT, GLOBAL and SCRATCH share at every generation.
    void unpack_flat_operands(uint32_t vdst, uint32_t data, uint32_t vaddr, uint32_t saddr, bool vaddr_enable) {
        Address& address = instruction_.address;
        const InstructionInfo& row = this->row();
        const bool returns = row.memory != MemoryKind::atomic || address.cache.glc || (address.cache.temporal_hint & 1);
        if (returns) put(slots_.destination, vector(vdst));
        put(slots_.source[0], vector(data));
        if (!has_address()) return;
        if (row.format == Format::SCRATCH) {
            const bool has_neither = is_gfx10() && saddr == flat::kScratchWithoutBase10;
            const bool has_vaddr = is_gfx10() ? saddr == null_register(generation_).code : vaddr_enable;
            address.saddr = has_neither ? null_register(generation_) : any(saddr);
            address.vaddr_enable = vaddr_enable;
            if (has_vaddr) address.vaddr = vector(vaddr);
            return;
        }
        if (row.format == Format::GLOBAL) address.saddr = any(saddr);
        if (row.name.find("addtid") == std::string_view::npos) address.vaddr = vector(vaddr);
    }

    Failure unpack_flat() {
        const uint32_t segment = get(is_gfx10() ? flat::segment10 : flat::segment11);
        if (segment > flat::kGlobal) return DecodeError::unknown_opcode;
        const Format format = segment == flat::kFlat     ? Format::FLAT
                              : segment == flat::kGlobal ? Format::GLOBAL
                                                         : Format::SCRATCH;
        if (const auto failed = find(format, get(flat::op))) return failed;
        count_ = 2;
        Address& address = instruction_.address;
        const bool is_flat = format == Format::FLAT;
        const Field offset = is_gfx10() ? flat::offset10 : flat::offset11;
        address.offset = is_flat ? static_cast<int32_t>(get(offset)) : words_.get_signed(offset);
        address.cache.slc = get(is_gfx10() ? flat::slc10 : flat::slc11) != 0;
        address.cache.glc = get(is_gfx10() ? flat::glc10 : flat::glc11) != 0;
        address.cache.dlc = get(is_gfx10() ? flat::dlc10 : flat::dlc11) != 0;
        unpack_flat_operands(get(flat::vdst), get(flat::data), get(flat::addr), get(flat::saddr),
                             !is_gfx10() && get(flat::sve11) != 0);
        return std::nullopt;
    }
    Failure unpack_flat12(Format format) {
        if (const auto failed = find(format, get(flat12::op))) return failed;
        count_ = 3;
        Address& address = instruction_.address;
        address.offset = words_.get_signed(flat12::offset);
        address.cache.temporal_hint = static_cast<uint8_t>(get(flat12::th));
        address.cache.scope = static_cast<uint8_t>(get(flat12::scope));
        unpack_flat_operands(get(flat12::vdst), get(flat12::data), get(flat12::addr), get(flat12::saddr),
                             get(flat12::sve) != 0);
        return std::nullopt;
    }

    void unpack_buffer_data(uint32_t vdata) {
        if (row().memory == MemoryKind::load) {
            if (!instruction_.address.lds) put(slots_.destination, vector(vdata));
        } else {
            put(slots_.source[0], vector(vdata));
        }
    }
    Failure unpack_mubuf() {
        if (const auto failed = find(Format::MUBUF, get(is_gfx10() ? mubuf::op10 : mubuf::op11))) return failed;
        count_ = 2;
        if (!has_address()) return std::nullopt;
        Address& address = instruction_.address;
        address.offset = static_cast<int32_t>(get(mubuf::offset));
        address.cache.glc = get(is_gfx10() ? mubuf::glc10 : mubuf::glc11) != 0;
        address.cache.dlc = get(is_gfx10() ? mubuf::dlc10 : mubuf::dlc11) != 0;
        address.cache.slc = get(is_gfx10() ? mubuf::slc10 : mubuf::slc11) != 0;
        address.tfe = get(is_gfx10() ? mubuf::tfe10 : mubuf::tfe11) != 0;
        address.index_enable = get(is_gfx10() ? mubuf::idxen10 : mubuf::idxen11) != 0;
        address.offset_enable = get(is_gfx10() ? mubuf::offen10 : mubuf::offen11) != 0;
        address.lds = is_gfx10() && get(mubuf::lds10) != 0;
        address.resource = any(4 * get(mubuf::srsrc));
        address.soffset = any(get(mubuf::soffset));
        address.vaddr = vector(get(mubuf::vaddr));
        unpack_buffer_data(get(mubuf::vdata));
        return std::nullopt;
    }
    Failure unpack_mubuf12() {
        if (const auto failed = find(Format::MUBUF, get(mubuf12::op))) return failed;
        count_ = 3;
        Address& address = instruction_.address;
        address.offset = words_.get_signed(mubuf12::offset);
        address.tfe = get(mubuf12::tfe) != 0;
        address.index_enable = get(mubuf12::idxen) != 0;
        address.offset_enable = get(mubuf12::offen) != 0;
        address.cache.temporal_hint = static_cast<uint8_t>(get(mubuf12::th));
        address.cache.scope = static_cast<uint8_t>(get(mubuf12::scope));
        address.resource = any(get(mubuf12::rsrc));
        address.soffset = any(get(mubuf12::soffset));
        address.vaddr = vector(get(mubuf12::vaddr));
        unpack_buffer_data(get(mubuf12::vdata));
        return std::nullopt;
    }

    Target target_;
    Generation generation_;
    WaveSize wave_;
    std::span<const uint32_t> input_;
    Words words_;
    size_t count_ = 1;
    Instruction instruction_;
    OperandSlots slots_;
};

}  // namespace

Decoded decode(Target target, WaveSize wave, std::span<const uint32_t> words) {
    return Unpacker(target, wave, words).unpack();
}

std::string_view name(DecodeError error) {
    constexpr std::string_view kNames[] = {"truncated",     "family left out", "unknown opcode",
                                           "reserved bits", "operand",         "form"};
    return kNames[static_cast<size_t>(error)];
}

}  // namespace riftjit::rdna
