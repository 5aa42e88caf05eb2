#include "jit/rdna/encoding.h"
#include "jit/rdna/format_bits.h"
#include "jit/rdna/operand_rules.h"
#include "jit/rdna/operand_slots.h"
#include "jit/rdna/syntax.h"

namespace riftjit::rdna {
namespace {

using namespace bits;

class Packer {
public:
    Packer(Target target, const Instruction& instruction)
        : target_(target),
          generation_(generation(target)),
          instruction_(instruction),
          row_(info(instruction.opcode)),
          slots_(slots_of(instruction.opcode)),
          number_(row_.number[static_cast<size_t>(generation_)].value) {}

    Result<EncodedInstruction> pack() {
        if (const Result<void> packed = pack_format(); !packed) return std::unexpected(packed.error());
        if (instruction_.has_literal) append(instruction_.literal);
        EncodedInstruction encoded;
        encoded.words = words_.words;
        encoded.count = words_.count;
        return encoded;
    }

private:
    template <class... Args>
    std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
        return fail(ErrorKind::Encoding, "{} ({}): {}", mnemonic(row_.opcode, generation_), name(target_),
                    fmt::format(format, std::forward<Args>(args)...));
    }
    void set(Field field, uint32_t value) { words_.set(field, value); }
    void append(uint32_t word) { words_.words[words_.count++] = word; }
    uint32_t code(uint8_t slot) const { return slot == kNoOperand ? 0 : instruction_.operands[slot].code; }
    // The eight bits of a field that holds only VGPRs.
    uint32_t vgpr(uint8_t slot) const { return code(slot) & 0xFF; }
    bool is_gfx10() const { return generation_ == Generation::gfx10; }
    bool is_gfx12() const { return generation_ == Generation::gfx12; }

    Result<void> pack_format() {
        if (instruction_.encoding == Encoding::vopd) return pack_vopd();
        switch (row_.format) {
            case Format::SOP2:
                set(sop2::prefix, sop2::kPrefix);
                set(sop2::op, number_);
                set(sop2::sdst, code(slots_.destination));
                set(sop2::ssrc0, code(slots_.source[0]));
                set(sop2::ssrc1, code(slots_.source[1]));
                return {};
            case Format::SOPK:
                set(sopk::prefix, sopk::kPrefix);
                set(sopk::op, number_);
                set(sopk::sdst, code(slots_.destination));
                set(sopk::simm16, instruction_.simm16);
                return {};
            case Format::SOP1:
                set(sop1::prefix, sop1::kPrefix);
                set(sop1::op, number_);
                set(sop1::sdst, code(slots_.destination));
                set(sop1::ssrc0, code(slots_.immediate != kNoOperand ? slots_.immediate : slots_.source[0]));
                return {};
            case Format::SOPC:
                set(sopc::prefix, sopc::kPrefix);
                set(sopc::op, number_);
                set(sopc::ssrc0, code(slots_.source[0]));
                set(sopc::ssrc1, code(slots_.source[1]));
                return {};
            case Format::SOPP:
                set(sopp::prefix, sopp::kPrefix);
                set(sopp::op, number_);
                set(sopp::simm16, instruction_.simm16);
                return {};
            case Format::SMEM:
                return pack_smem();
            case Format::DS:
                return pack_ds();
            case Format::FLAT:
            case Format::GLOBAL:
            case Format::SCRATCH:
                return is_gfx12() ? pack_flat12() : pack_flat();
            case Format::MUBUF:
                return is_gfx12() ? pack_mubuf12() : pack_mubuf();
            case Format::VOP3P:
                return pack_vop3p();
            default:
                return is_vop3_word(row_, generation_, instruction_.encoding) ? pack_vop3() : pack_short();
        }
    }

    // --- vector ALU ---

    // src0, or the marker of an extra word which then holds it.
    uint32_t src0_field() const {
        switch (instruction_.encoding) {
            case Encoding::sdwa:
                return kSdwaMarker;
            case Encoding::dpp16:
            case Encoding::e64_dpp16:
                return kDpp16Marker;
            case Encoding::dpp8:
            case Encoding::e64_dpp8:
                return instruction_.dpp.fetch_inactive ? kDpp8FetchInactiveMarker : kDpp8Marker;
            default:
                return code(slots_.source[0]);
        }
    }

    Result<void> pack_short() {
        switch (row_.format) {
            case Format::VOP1:
                set(vop1::prefix, vop1::kPrefix);
                set(vop1::op, number_);
                // v_readfirstlane's destination is an SGPR in the same bits.
                set(vop1::vdst, vgpr(slots_.destination));
                set(vop1::src0, src0_field());
                break;
            case Format::VOP2:
                set(vop2::op, number_);
                set(vop2::vdst, vgpr(slots_.destination));
                set(vop2::vsrc1, vgpr(slots_.source[1]));
                set(vop2::src0, src0_field());
                break;
            default:
                set(vopc::prefix, vopc::kPrefix);
                set(vopc::op, number_);
                set(vopc::vsrc1, vgpr(slots_.source[1]));
                set(vopc::src0, src0_field());
        }
        return pack_extra_word(/*signs_in_extra_word=*/true);
    }

    uint32_t vop3_number() const {
        if (is_vop3_only(row_, generation_)) return number_;
        const uint32_t base = row_.format == Format::VOPC   ? vop3::kVopcBase
                              : row_.format == Format::VOP2 ? vop3::kVop2Base
                                                            : vop3::kVop1Base;
        return base + number_;
    }

    Result<void> pack_vop3() {
        words_.count = 2;
        set(vop3::prefix, vop3::kPrefix);
        set(vop3::op, vop3_number());
        set(vop3::clamp, instruction_.clamp);
        if (row_.format == Format::VOPC) {
            set(vop3::vdst, slots_.mask_destination == kNoOperand ? vop3::kExec : code(slots_.mask_destination));
        } else {
            set(vop3::vdst, vgpr(slots_.destination));
            if (slots_.mask_destination != kNoOperand) set(vop3::sdst, code(slots_.mask_destination));
        }
        set(vop3::op_sel, instruction_.op_sel);
        set(vop3::abs, instruction_.abs);
        set(vop3::neg, instruction_.neg);
        set(vop3::omod, instruction_.omod);
        set(vop3::src0, src0_field());
        set(vop3::src1, code(slots_.source[1]));
        set(vop3::src2, code(slots_.mask_source != kNoOperand ? slots_.mask_source : slots_.source[2]));
        return pack_extra_word(/*signs_in_extra_word=*/false);
    }

    Result<void> pack_vop3p() {
        words_.count = 2;
        set(vop3p::prefix, vop3p::kPrefix);
        set(vop3p::op, number_);
        set(vop3p::clamp, instruction_.clamp);
        set(vop3p::op_sel, instruction_.op_sel);
        set(vop3p::op_sel_hi01, instruction_.op_sel_hi & 3u);
        set(vop3p::op_sel_hi2, instruction_.op_sel_hi >> 2);
        set(vop3p::neg_lo, instruction_.neg);
        set(vop3p::neg_hi, instruction_.abs);
        set(vop3p::vdst, vgpr(slots_.destination));
        set(vop3p::src0, src0_field());
        set(vop3p::src1, code(slots_.source[1]));
        set(vop3p::src2, code(slots_.source[2]));
        return pack_extra_word(/*signs_in_extra_word=*/false);
    }

    Result<void> pack_extra_word(bool signs_in_extra_word) {
        if (instruction_.encoding == Encoding::sdwa) return pack_sdwa();
        Words extra;
        const Dpp& dpp = instruction_.dpp;
        if (is_dpp16(instruction_.encoding)) {
            if (!is_dpp_control(dpp.control)) return refuse("DPP control {:#x} does not exist", dpp.control);
            extra.set(dpp::vsrc0, vgpr(slots_.source[0]));
            extra.set(dpp::control, dpp.control);
            extra.set(dpp::fetch_inactive, dpp.fetch_inactive);
            extra.set(dpp::bound_control, dpp.bound_control);
            extra.set(dpp::bank_mask, dpp.bank_mask);
            extra.set(dpp::row_mask, dpp.row_mask);
            if (signs_in_extra_word) {
                extra.set(dpp::neg0, instruction_.neg & 1u);
                extra.set(dpp::abs0, instruction_.abs & 1u);
                extra.set(dpp::neg1, instruction_.neg >> 1 & 1u);
                extra.set(dpp::abs1, instruction_.abs >> 1 & 1u);
            }
            append(extra.words[0]);
        } else if (is_dpp8(instruction_.encoding)) {
            extra.set(dpp::vsrc0, vgpr(slots_.source[0]));
            extra.set(dpp::selectors, dpp.selectors);
            append(extra.words[0]);
        }
        return {};
    }

    // Rows of 16 lanes: quad_perm, shifts and rotations by 1 to 15, mirrors, share, xmask.
    static bool is_dpp_control(unsigned control) {
        if (control <= 0xFF) return true;
        const unsigned group = control >> 4, amount = control & 15;
        if (group == 0x10 || group == 0x11 || group == 0x12) return amount != 0;
        return control == 0x140 || control == 0x141 || group == 0x15 || group == 0x16;
    }

    Result<void> pack_sdwa() {
        Words extra;
        const Sdwa& sdwa = instruction_.sdwa;
        if (sdwa.destination_select > 6 || sdwa.source_select[0] > 6 || sdwa.source_select[1] > 6 ||
            sdwa.destination_unused > 2)
            return refuse("an SDWA select is out of range");
        const bool has_src1 = slots_.source[1] != kNoOperand;
        extra.set(sdwa::vsrc0, vgpr(slots_.source[0]));
        extra.set(sdwa::src0_scalar, code(slots_.source[0]) < Operand::kFirstVgpr);
        if (row_.format == Format::VOPC) {
            const bool is_vcc = slots_.mask_destination == kNoOperand || code(slots_.mask_destination) == Operand::kVcc;
            if (!is_vcc) extra.set(sdwa::sdst, code(slots_.mask_destination));
            extra.set(sdwa::has_sdst, !is_vcc);
            if (instruction_.clamp || instruction_.omod != 0) return refuse("SDWA compares take no output modifier");
        } else {
            extra.set(sdwa::dst_sel, sdwa.destination_select);
            extra.set(sdwa::dst_unused, sdwa.destination_unused);
            extra.set(sdwa::clamp, instruction_.clamp);
            extra.set(sdwa::omod, instruction_.omod);
        }
        extra.set(sdwa::src0_sel, sdwa.source_select[0]);
        extra.set(sdwa::src0_sext, sdwa.sign_extend & 1u);
        extra.set(sdwa::src0_neg, instruction_.neg & 1u);
        extra.set(sdwa::src0_abs, instruction_.abs & 1u);
        if (has_src1) {
            extra.set(sdwa::src1_sel, sdwa.source_select[1]);
            extra.set(sdwa::src1_sext, sdwa.sign_extend >> 1 & 1u);
            extra.set(sdwa::src1_neg, instruction_.neg >> 1 & 1u);
            extra.set(sdwa::src1_abs, instruction_.abs >> 1 & 1u);
            extra.set(sdwa::src1_scalar, code(slots_.source[1]) < Operand::kFirstVgpr);
        }
        append(extra.words[0]);
        return {};
    }

    Result<void> pack_vopd() {
        words_.count = 2;
        const VopdHalf &x = instruction_.dual[0], &y = instruction_.dual[1];
        set(vopd::prefix, vopd::kPrefix);
        for (const DualInfo& dual : dual_instructions()) {
            if (dual.opcode == x.opcode) set(vopd::op_x, dual.x.value);
            if (dual.opcode == y.opcode) set(vopd::op_y, dual.y.value);
        }
        const auto low_bits = [](Operand operand) { return operand.exists() ? operand.code & 0xFFu : 0u; };
        set(vopd::vdst_x, low_bits(x.operands[0]));
        set(vopd::vdst_y_half, low_bits(y.operands[0]) / 2);
        set(vopd::src0_x, x.operands[1].code);
        set(vopd::src0_y, y.operands[1].code);
        set(vopd::vsrc1_x, low_bits(x.operands[2]));
        set(vopd::vsrc1_y, low_bits(y.operands[2]));
        return {};
    }

    // --- memory ---

    Result<void> check_offset(int32_t offset, unsigned bits, bool is_signed) const {
        const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
        const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
        if (offset < low || offset > high) return refuse("offset {} is not between {} and {}", offset, low, high);
        return {};
    }
    Result<void> check_policy() const {
        const CachePolicy& cache = instruction_.address.cache;
        if (is_gfx12() ? cache.glc || cache.dlc || cache.slc : cache.temporal_hint != 0 || cache.scope != 0)
            return refuse("the cache policy is that of another generation");
        return {};
    }
    uint32_t scalar_or_null(Operand operand) const {
        return operand.exists() ? operand.code : null_register(generation_).code;
    }

    Result<void> check_base(Operand base, unsigned dwords) const {
        const bool is_aligned = base.exists() && base.is_scalar_register() && base.code % dwords == 0 &&
                                (base.code + dwords <= 108u || (base.code >= 108 && base.code + dwords <= 124u));
        if (!is_aligned) return refuse("the base must be {} aligned SGPRs", dwords);
        return {};
    }

    Result<void> pack_smem() {
        words_.count = 2;
        RIFTJIT_TRY_VOID(check_policy());
        const Address& address = instruction_.address;
        set(smem::prefix, smem::kPrefix);
        set(is_gfx12() ? smem::op12 : smem::op10, number_);
        bool has_base = false, has_offset = false, is_buffer = false;
        for (const OperandInfo& source : row_.source_operands()) {
            is_buffer |= source.type == OperandType::rsrc;
            has_base |= source.type == OperandType::base || source.type == OperandType::rsrc;
            has_offset |= source.type == OperandType::length;
        }
        has_offset |= has_base;
        if (slots_.immediate != kNoOperand) {
            if (code(slots_.immediate) > 127) return refuse("the immediate {} does not fit", code(slots_.immediate));
            set(smem::sdata, code(slots_.immediate));
        } else {
            set(smem::sdata, code(slots_.destination));
        }
        if (has_base) {
            RIFTJIT_TRY_VOID(check_base(address.saddr, is_buffer ? 4 : 2));
            set(smem::sbase, address.saddr.code / 2u);
        }
        if (!has_offset) return {};
        if (address.soffset.exists() && !address.soffset.is_scalar_register())
            return refuse("the offset register must be an SGPR");
        set(smem::soffset, scalar_or_null(address.soffset));
        if (is_gfx12()) {
            RIFTJIT_TRY_VOID(check_offset(address.offset, 24, true));
            set(smem::offset12, static_cast<uint32_t>(address.offset));
            set(smem::th12, address.cache.temporal_hint);
            set(smem::scope12, address.cache.scope);
            if (address.cache.temporal_hint > 3) return refuse("scalar loads have temporal hints up to 3");
            return {};
        }
        RIFTJIT_TRY_VOID(is_buffer ? check_offset(address.offset, 20, false) : check_offset(address.offset, 21, true));
        set(smem::offset10, static_cast<uint32_t>(address.offset));
        set(is_gfx10() ? smem::glc10 : smem::glc11, address.cache.glc);
        set(is_gfx10() ? smem::dlc10 : smem::dlc11, address.cache.dlc);
        if (address.cache.slc) return refuse("scalar loads have no slc");
        return {};
    }

    bool has_address() const {
        for (const OperandInfo& source : row_.source_operands())
            if (source.type == OperandType::addr) return true;
        return false;
    }
    bool is_thread_addressed() const { return row_.name.find("addtid") != std::string_view::npos; }

    Result<void> check_vaddr(unsigned dwords) const {
        const Operand vaddr = instruction_.address.vaddr;
        if (!vaddr.is_vgpr() || vaddr.vgpr() + dwords > 256) return refuse("the address must be {} VGPRs", dwords);
        return {};
    }

    Result<void> pack_ds() {
        words_.count = 2;
        const Address& address = instruction_.address;
        set(ds::prefix, ds::kPrefix);
        set(ds::op, number_);
        if (address.gds && (is_gfx12() || row_.no_gds)) return refuse("has no gds form");
        set(ds::gds, address.gds);
        if (is_two_address(row_)) {
            RIFTJIT_TRY_VOID(check_offset(address.offset, 8, false));
            set(ds::offset0, static_cast<uint32_t>(address.offset));
            set(ds::offset1, address.offset1);
        } else {
            RIFTJIT_TRY_VOID(check_offset(address.offset, 16, false));
            set(ds::offset, static_cast<uint32_t>(address.offset));
        }
        if (has_address()) {
            RIFTJIT_TRY_VOID(check_vaddr(1));
            set(ds::addr, address.vaddr.vgpr());
        }
        set(ds::vdst, vgpr(slots_.destination));
        set(ds::data0, vgpr(slots_.source[0]));
        set(ds::data1, vgpr(slots_.source[1]));
        return {};
    }

    // The address registers of FLAT, GLOBAL and SCRATCH.
    struct FlatAddress {
        uint32_t vaddr, saddr;
        bool vaddr_enable;
    };
    Result<FlatAddress> flat_address() const {
        const Address& address = instruction_.address;
        const uint32_t null = null_register(generation_).code;
        const uint32_t saddr = scalar_or_null(address.saddr);
        if (row_.format == Format::SCRATCH) {
            const bool has_vaddr = is_gfx10() ? address.vaddr.exists() : address.vaddr_enable;
            if (has_vaddr) RIFTJIT_TRY_VOID(check_vaddr(1));
            if (saddr != null && (saddr >= 126 || !address.saddr.is_scalar_register()))
                return refuse("the base must be an SGPR");
            if (is_gfx10() && has_vaddr && saddr != null) return refuse("takes a VGPR or an SGPR, not both");
            const uint32_t neither = is_gfx10() ? flat::kScratchWithoutBase10 : null;
            return FlatAddress{has_vaddr ? address.vaddr.vgpr() : 0, saddr == null && !has_vaddr ? neither : saddr,
                               has_vaddr && !is_gfx10()};
        }
        if (!has_address()) return FlatAddress{0, is_gfx12() ? null : 0, false};
        if (row_.format == Format::FLAT) {
            RIFTJIT_TRY_VOID(check_vaddr(2));
            return FlatAddress{address.vaddr.vgpr(), null, false};
        }
        if (saddr != null) RIFTJIT_TRY_VOID(check_base(address.saddr, 2));
        if (is_thread_addressed()) return FlatAddress{0, saddr, false};
        RIFTJIT_TRY_VOID(check_vaddr(saddr == null ? 2 : 1));
        return FlatAddress{address.vaddr.vgpr(), saddr, false};
    }

    // An atomic that returns nothing leaves its destination field empty.
    Result<bool> writes_destination(bool returns) const {
        if (row_.memory != MemoryKind::atomic) return slots_.destination != kNoOperand;
        if (returns && !instruction_.operands[slots_.destination].exists())
            return refuse("returns a value but names no destination");
        return returns;
    }

    Result<void> pack_flat() {
        words_.count = 2;
        RIFTJIT_TRY_VOID(check_policy());
        const Address& address = instruction_.address;
        const CachePolicy& cache = address.cache;
        RIFTJIT_TRY(where, flat_address());
        RIFTJIT_TRY(writes, writes_destination(cache.glc));
        set(flat::prefix, flat::kPrefix);
        set(flat::op, number_);
        const uint32_t segment = row_.format == Format::FLAT     ? flat::kFlat
                                 : row_.format == Format::GLOBAL ? flat::kGlobal
                                                                 : flat::kScratch;
        const bool is_flat = row_.format == Format::FLAT;
        if (is_gfx10()) {
            RIFTJIT_TRY_VOID(is_flat ? check_offset(address.offset, 11, false)
                                     : check_offset(address.offset, 12, true));
            set(flat::segment10, segment), set(flat::offset10, static_cast<uint32_t>(address.offset));
            set(flat::slc10, cache.slc), set(flat::glc10, cache.glc), set(flat::dlc10, cache.dlc);
        } else {
            RIFTJIT_TRY_VOID(is_flat ? check_offset(address.offset, 12, false)
                                     : check_offset(address.offset, 13, true));
            set(flat::segment11, segment), set(flat::offset11, static_cast<uint32_t>(address.offset));
            set(flat::slc11, cache.slc), set(flat::glc11, cache.glc), set(flat::dlc11, cache.dlc);
            set(flat::sve11, where.vaddr_enable);
        }
        if (writes) set(flat::vdst, vgpr(slots_.destination));
        set(flat::saddr, where.saddr);
        set(flat::data, vgpr(slots_.source[0]));
        set(flat::addr, where.vaddr);
        return {};
    }

    Result<void> pack_flat12() {
        words_.count = 3;
        RIFTJIT_TRY_VOID(check_policy());
        const Address& address = instruction_.address;
        RIFTJIT_TRY(where, flat_address());
        RIFTJIT_TRY(writes, writes_destination((address.cache.temporal_hint & 1) != 0));
        set(flat12::prefix, row_.format == Format::FLAT     ? flat12::kFlat
                            : row_.format == Format::GLOBAL ? flat12::kGlobal
                                                            : flat12::kScratch);
        set(flat12::op, number_);
        set(flat12::saddr, where.saddr);
        set(flat12::sve, where.vaddr_enable);
        set(flat12::scope, address.cache.scope);
        set(flat12::th, address.cache.temporal_hint);
        if (writes) set(flat12::vdst, vgpr(slots_.destination));
        set(flat12::data, vgpr(slots_.source[0]));
        RIFTJIT_TRY_VOID(check_offset(address.offset, 24, true));
        set(flat12::offset, static_cast<uint32_t>(address.offset));
        set(flat12::addr, where.vaddr);
        return {};
    }

    Result<void> check_buffer() const {
        const Address& address = instruction_.address;
        RIFTJIT_TRY_VOID(check_base(address.resource, 4));
        const unsigned dwords = address.offset_enable && address.index_enable ? 2 : 1;
        if (address.offset_enable || address.index_enable) RIFTJIT_TRY_VOID(check_vaddr(dwords));
        const Operand soffset = address.soffset;
        const bool is_fine =
            !soffset.exists() || soffset.is_scalar_register() || (!is_gfx12() && soffset.is_inline_constant());
        if (!is_fine) return refuse("the offset must be an SGPR{}", is_gfx12() ? "" : " or an inline constant");
        return {};
    }
    uint32_t buffer_vaddr() const {
        const Address& address = instruction_.address;
        return address.offset_enable || address.index_enable ? address.vaddr.vgpr() : 0;
    }
    // A value that an atomic returns lands in its data registers.
    uint32_t buffer_data() const {
        if (row_.memory == MemoryKind::load) return instruction_.address.lds ? 0 : vgpr(slots_.destination);
        return vgpr(slots_.source[0]);
    }

    Result<void> pack_mubuf() {
        words_.count = 2;
        RIFTJIT_TRY_VOID(check_policy());
        const Address& address = instruction_.address;
        const CachePolicy& cache = address.cache;
        set(mubuf::prefix, mubuf::kPrefix);
        set(is_gfx10() ? mubuf::op10 : mubuf::op11, number_);
        if (!has_address()) return {};
        RIFTJIT_TRY_VOID(check_buffer());
        RIFTJIT_TRY_VOID(check_offset(address.offset, 12, false));
        set(mubuf::offset, static_cast<uint32_t>(address.offset));
        set(is_gfx10() ? mubuf::glc10 : mubuf::glc11, cache.glc);
        set(is_gfx10() ? mubuf::dlc10 : mubuf::dlc11, cache.dlc);
        set(is_gfx10() ? mubuf::slc10 : mubuf::slc11, cache.slc);
        set(is_gfx10() ? mubuf::tfe10 : mubuf::tfe11, address.tfe);
        set(is_gfx10() ? mubuf::idxen10 : mubuf::idxen11, address.index_enable);
        set(is_gfx10() ? mubuf::offen10 : mubuf::offen11, address.offset_enable);
        if (address.lds && !is_gfx10()) return refuse("has no lds form");
        if (is_gfx10()) set(mubuf::lds10, address.lds);
        set(mubuf::srsrc, address.resource.code / 4u);
        set(mubuf::soffset, scalar_or_null(address.soffset));
        set(mubuf::vaddr, buffer_vaddr());
        set(mubuf::vdata, buffer_data());
        return {};
    }

    Result<void> pack_mubuf12() {
        words_.count = 3;
        RIFTJIT_TRY_VOID(check_policy());
        const Address& address = instruction_.address;
        set(mubuf12::prefix, mubuf12::kPrefix);
        set(mubuf12::op, number_);
        if (address.lds) return refuse("has no lds form");
        RIFTJIT_TRY_VOID(check_buffer());
        RIFTJIT_TRY_VOID(check_offset(address.offset, 23, false));
        set(mubuf12::offset, static_cast<uint32_t>(address.offset));
        set(mubuf12::tfe, address.tfe);
        set(mubuf12::idxen, address.index_enable);
        set(mubuf12::offen, address.offset_enable);
        set(mubuf12::format, mubuf12::kFormat);
        set(mubuf12::th, address.cache.temporal_hint);
        set(mubuf12::scope, address.cache.scope);
        set(mubuf12::rsrc, address.resource.code);
        set(mubuf12::soffset, scalar_or_null(address.soffset));
        set(mubuf12::vaddr, buffer_vaddr());
        set(mubuf12::vdata, buffer_data());
        return {};
    }

    Target target_;
    Generation generation_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    const OperandSlots& slots_;
    uint32_t number_;
    Words words_;
};

}  // namespace

Result<EncodedInstruction> encode(Target target, WaveSize wave, const Instruction& instruction) {
    RIFTJIT_TRY_VOID(check_instruction(target, wave, instruction));
    return Packer(target, instruction).pack();
}

}  // namespace riftjit::rdna
