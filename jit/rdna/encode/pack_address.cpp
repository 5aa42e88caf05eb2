#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

struct OffsetRange {
    int32_t first, last;
};

OffsetRange offset_range(Generation generation, const InstructionInfo& row, const EncodingPlan& plan) {
    const bool is_gfx12 = generation == Generation::gfx12;
    constexpr int32_t kSigned24 = 1 << 23, kSigned21 = 1 << 20;
    switch (row.format) {
        case Format::SMEM:
            // Into a buffer, too, no offset is negative: LLVM 22 says so of gfx12, LLVM 19 of the others alone.
            if (is_gfx12) return {plan.has_resource ? 0 : -kSigned24, kSigned24 - 1};
            return {plan.has_resource ? 0 : -kSigned21, kSigned21 - 1};
        case Format::DS:
            return {0, row.two_offsets ? 255 : 65535};
        case Format::MUBUF:
            return {0, is_gfx12 ? kSigned24 - 1 : 4095};
        default:
            break;
    }
    if (is_gfx12) return {-kSigned24, kSigned24 - 1};
    const int32_t limit = generation == Generation::gfx10 ? 2048 : 4096;
    return {row.format == Format::FLAT ? 0 : -limit, limit - 1};
}

class AddressPacker {
public:
    AddressPacker(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                  FieldValues& values)
        : context_(context),
          address_(instruction.address),
          row_(info(instruction.opcode)),
          plan_(plan),
          values_(values),
          null_(null_register(context.generation)) {}

    Refusal pack() {
        if (const Refusal refusal = pack_cache_policy()) return refusal;
        if (const Refusal refusal = pack_flags()) return refusal;
        if (const Refusal refusal = pack_offset()) return refusal;
        switch (row_.format) {
            case Format::SMEM:
                return pack_scalar();
            case Format::DS:
                return pack_lds();
            case Format::MUBUF:
                return pack_buffer();
            default:
                return pack_flat();
        }
    }

private:
    bool is_gfx12() const { return context_.generation == Generation::gfx12; }
    bool takes_policy() const {
        if (row_.format == Format::DS || plan_.is_prefetch) return false;
        if (row_.format == Format::SMEM) return row_.destinations != 0 && (plan_.has_base || plan_.has_resource);
        return plan_.has_addr || row_.format == Format::GLOBAL;
    }

    Refusal pack_cache_policy() {
        const CachePolicy& cache = address_.cache;
        if (is_gfx12() ? cache.glc || cache.slc || cache.dlc : cache.temporal_hint != 0 || cache.scope != 0)
            return refuse_part("cache policy", "belongs to another generation");
        if (!takes_policy()) return cache == CachePolicy{} ? Refusal{} : refuse_part("cache policy", "is not taken");
        const unsigned hints = row_.format == Format::SMEM ? 3 : 7;
        if (cache.temporal_hint > hints) return refuse_part("th", "does not fit its field");
        if (cache.scope > 3) return refuse_part("scope", "does not fit its field");
        if (row_.format == Format::SMEM && cache.slc) return refuse_part("slc", "is not taken");
        if (cache.dlc && row_.format == Format::MUBUF && row_.memory == MemoryKind::atomic &&
            context_.generation == Generation::gfx10)
            return refuse_part("dlc", "is not taken by atomics");
        values_[Field::glc] = cache.glc;
        values_[Field::slc] = cache.slc;
        values_[Field::dlc] = cache.dlc;
        values_[Field::temporal_hint] = cache.temporal_hint;
        values_[Field::scope] = cache.scope;
        return {};
    }

    Refusal pack_flags() {
        const bool is_buffer = row_.format == Format::MUBUF && plan_.has_addr;
        if (address_.gds && (row_.format != Format::DS || is_gfx12() || row_.no_gds))
            return refuse_part("gds", "is not taken");
        if (needs_gds() && !address_.gds) return refuse_part("gds", "must be set");
        if (address_.tfe && !(is_buffer && row_.memory == MemoryKind::load && !address_.lds))
            return refuse_part("tfe", "is not taken");
        if (address_.lds && !(context_.generation == Generation::gfx10 && can_load_to_lds()))
            return refuse_part("lds", "is not taken");
        if ((address_.index_enable || address_.offset_enable) && !is_buffer)
            return refuse_part("idxen, offen", "belong to buffer instructions");
        if (address_.vaddr_enable && (row_.format != Format::SCRATCH || context_.generation == Generation::gfx10))
            return refuse_part("vaddr_enable", "belongs to scratch instructions of gfx11 and gfx12");
        if (address_.data_format != 0) return refuse_part("format", "is not taken by untyped buffer instructions");
        values_[Field::gds] = address_.gds;
        values_[Field::tfe] = address_.tfe;
        values_[Field::lds] = address_.lds;
        values_[Field::index_enable] = address_.index_enable;
        values_[Field::offset_enable] = address_.offset_enable;
        values_[Field::vaddr_enable] = address_.vaddr_enable;
        return {};
    }

    bool needs_gds() const {
        return row_.format == Format::DS && (row_.name.starts_with("ds_gws_") || row_.name.ends_with("_gs_reg_rtn") ||
                                             row_.opcode == Opcode::ds_ordered_count);
    }

    // One dword or less goes straight to LDS.
    bool can_load_to_lds() const {
        if (row_.memory != MemoryKind::load || row_.half_register) return false;
        const std::string_view name = row_.name;
        const bool is_plain = name.ends_with("load_u8") || name.ends_with("load_i8") || name.ends_with("load_u16") ||
                              name.ends_with("load_i16") || name.ends_with("load_b32");
        return (row_.format == Format::MUBUF && (is_plain || name == "buffer_load_format_x")) ||
               (row_.format == Format::GLOBAL && is_plain);
    }

    bool has_offset() const {
        if (row_.format == Format::SMEM) return plan_.has_base || plan_.has_resource || plan_.is_prefetch;
        if (row_.format == Format::DS) return row_.opcode != Opcode::ds_nop;
        return plan_.has_addr;
    }

    Refusal pack_offset() {
        if (!has_offset())
            return address_.offset != 0 || address_.offset1 != 0 ? refuse_part("offset", "is not taken") : Refusal{};
        const OffsetRange range = offset_range(context_.generation, row_, plan_);
        if (address_.offset < range.first || address_.offset > range.last)
            return refuse_offset(range.first, range.last);
        const bool is_pair = row_.two_offsets;
        if (!is_pair && address_.offset1 != 0) return refuse_part("offset1", "is not taken");
        values_[Field::offset] = static_cast<uint32_t>(address_.offset);
        if (row_.format == Format::DS)
            values_[Field::offset1] = is_pair ? address_.offset1 : static_cast<uint32_t>(address_.offset) >> 8;
        return {};
    }

    bool is_group(const Operand& operand, unsigned dwords) const {
        return operand.is_scalar_register() && is_scalar_group(context_.generation, operand.code, dwords);
    }

    Refusal put_vaddr(unsigned dwords) {
        if (!address_.vaddr.is_vgpr()) return refuse_part("vaddr", "must be a VGPR");
        if (address_.vaddr.code > 511 || address_.vaddr.vgpr() + dwords > 256)
            return refuse_part("vaddr", "reaches past v255");
        values_[Field::vaddr] = address_.vaddr.vgpr();
        return {};
    }

    Refusal pack_scalar() {
        if (address_.vaddr.exists() || address_.resource.exists())
            return refuse_part("vaddr", "belongs to vector memory instructions");
        const bool has_sbase = plan_.has_base || plan_.has_resource;
        if (has_sbase) {
            const bool is_null = address_.saddr == null_;
            if (!is_null && !is_group(address_.saddr, plan_.has_resource ? 4 : 2))
                return refuse_part("sbase", "is no aligned group of SGPRs of its size");
            // The field has no lowest bit, which null of gfx10 needs.
            if (is_null && (plan_.has_resource || context_.generation == Generation::gfx10))
                return refuse_part("sbase", "must not be null");
            values_[Field::sbase] = address_.saddr.code / 2u;
        } else if (address_.saddr.exists()) {
            return refuse_part("sbase", "is not taken");
        }
        const Operand soffset = address_.soffset.exists() ? address_.soffset : null_;
        if (!has_offset()) return soffset == null_ ? Refusal{} : refuse_part("soffset", "is not taken");
        if (!soffset.is_scalar_register()) return refuse_part("soffset", "must be an SGPR or null");
        values_[Field::soffset] = soffset.code;
        return {};
    }

    Refusal check_no_scalars() const {
        if (address_.saddr.exists() || address_.soffset.exists() || address_.resource.exists())
            return refuse_part("saddr", "is not taken");
        return {};
    }

    Refusal pack_lds() {
        if (const Refusal refusal = check_no_scalars()) return refusal;
        if (plan_.has_vaddr) return put_vaddr(1);
        return address_.vaddr.exists() ? refuse_part("vaddr", "is not taken") : Refusal{};
    }

    Refusal pack_flat() {
        if (address_.soffset.exists() || address_.resource.exists()) return refuse_part("soffset", "is not taken");
        const bool has_saddr = address_.saddr.exists() && address_.saddr != null_;
        values_[Field::saddr] = has_saddr ? address_.saddr.code : null_.code;
        if (has_saddr) {
            if (row_.format == Format::FLAT || !plan_.has_addr) return refuse_part("saddr", "is not taken");
            const unsigned dwords = row_.format == Format::SCRATCH ? 1 : 2;
            if (!is_group(address_.saddr, dwords))
                return refuse_part("saddr", "is no aligned group of SGPRs of its size");
            if (dwords == 1 && address_.saddr.code == kScratchOff) return refuse_part("saddr", "must not be exec_hi");
        }
        if (row_.format == Format::SCRATCH) return pack_scratch(has_saddr);
        if (!plan_.has_vaddr) return address_.vaddr.exists() ? refuse_part("vaddr", "is not taken") : Refusal{};
        return put_vaddr(row_.format == Format::GLOBAL && has_saddr ? 1 : 2);
    }

    // gfx10 tells by saddr which registers count: null the VGPR, exec_hi none, else the SGPR alone.
    Refusal pack_scratch(bool has_saddr) {
        if (context_.generation != Generation::gfx10) {
            if (address_.vaddr_enable) return put_vaddr(1);
            return address_.vaddr.exists() ? refuse_part("vaddr", "needs vaddr_enable") : Refusal{};
        }
        if (!address_.vaddr.exists()) {
            if (!has_saddr) values_[Field::saddr] = kScratchOff;
            return {};
        }
        if (has_saddr) return refuse_part("vaddr", "cannot stand beside saddr on this target");
        return put_vaddr(1);
    }

    Refusal pack_buffer() {
        if (address_.saddr.exists()) return refuse_part("saddr", "is not taken");
        if (!plan_.has_addr)
            return address_.vaddr.exists() || address_.resource.exists() || address_.soffset.exists()
                       ? refuse_part("address", "is not taken")
                       : Refusal{};
        if (address_.resource == null_ || !is_group(address_.resource, 4))
            return refuse_part("srsrc", "is no aligned group of four SGPRs");
        values_[Field::resource] = is_gfx12() ? address_.resource.code : address_.resource.code / 4u;
        values_[Field::data_format] = kUntypedFormat;
        const Operand soffset = address_.soffset;
        if (!soffset.is_scalar_register() && (is_gfx12() || !is_special_source(soffset.code)))
            return refuse_part("soffset", !is_gfx12() && is_source_left_out(soffset.code)
                                              ? "is a source that is left out"
                                              : "must be an SGPR, or before gfx12 an inline constant");
        values_[Field::soffset] = soffset.code;
        if (address_.offset_enable || address_.index_enable) return put_vaddr(vaddr_dwords(row_, address_));
        if (address_.vaddr.exists() && address_.vaddr != vgpr(0)) return refuse_part("vaddr", "needs idxen or offen");
        return {};
    }

    const EncodingContext& context_;
    const Address& address_;
    const InstructionInfo& row_;
    const EncodingPlan& plan_;
    FieldValues& values_;
    const Operand null_;
};

}  // namespace

Refusal pack_address(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                     FieldValues& values) {
    return AddressPacker(context, instruction, plan, values).pack();
}

}  // namespace riftjit::rdna
