#include "jit/rdna/text/parse_modifiers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/expression.h"
#include "jit/rdna/text/parse_address.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

struct DppControl {
    std::string_view name;
    uint16_t base;
    uint8_t first, last;  // of the value
};
constexpr DppControl kDppControls[] = {{"row_shl", 0x100, 1, 15},
                                       {"row_shr", 0x110, 1, 15},
                                       {"row_ror", 0x120, 1, 15},
                                       {"row_share", 0x150, 0, 15},
                                       {"row_xmask", 0x160, 0, 15}};

constexpr std::string_view kSdwaSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
constexpr std::string_view kSdwaUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

Result<unsigned> bounded(const LineModifier& modifier, unsigned first, unsigned last) {
    const std::optional<int64_t> value = parse_number(modifier.value);
    if (!value || *value < first || *value > last)
        return fail(ErrorKind::Usage, "{}:{} is not between {} and {}", modifier.name, modifier.value, first, last);
    return static_cast<unsigned>(*value);
}

Result<std::vector<unsigned>> list_of(const LineModifier& modifier, unsigned last, size_t min_size, size_t max_size) {
    std::vector<unsigned> values;
    for (const std::string_view item : list_items(modifier.value)) {
        const std::optional<int64_t> value = parse_number(item);
        if (!value || *value < 0 || *value > last)
            return fail(ErrorKind::Usage, "{}: '{}' is not between 0 and {}", modifier.name, item, last);
        values.push_back(static_cast<unsigned>(*value));
    }
    if (values.size() < min_size || values.size() > max_size)
        return fail(ErrorKind::Usage, "{}: {} has {} values, not {}", modifier.name, modifier.value, values.size(),
                    max_size);
    return values;
}

template <size_t N>
Result<uint8_t> one_of(const LineModifier& modifier, const std::string_view (&names)[N]) {
    const auto* const found = std::ranges::find(names, modifier.value);
    if (found == std::end(names))
        return fail(ErrorKind::Usage, "{}: '{}' is none of its values", modifier.name, modifier.value);
    return static_cast<uint8_t>(found - std::begin(names));
}

class AluModifier {
public:
    AluModifier(Generation generation, const LineModifier& modifier, Instruction& instruction)
        : generation_(generation),
          modifier_(modifier),
          instruction_(instruction),
          row_(info(instruction.opcode)),
          allowed_(row_.modifiers[static_cast<size_t>(generation)]),
          sources_(written_sources(row_).count) {}

    Result<void> apply() {
        const std::string_view name = modifier_.name;
        if (name == "clamp" || name == "mul" || name == "div") return apply_output();
        if (name == "op_sel" || name == "op_sel_hi" || name == "neg_lo" || name == "neg_hi") return apply_bits();
        if (name == "index_key") return apply_index_key();
        if (name == "byte_sel") return apply_byte_select();
        if (name.ends_with("_sel") || name == "dst_unused") return apply_sdwa();
        return apply_dpp();
    }

private:
    std::unexpected<Error> refuse() const { return fail(ErrorKind::Usage, "takes no {}", modifier_.name); }
    bool is_vop3() const { return is_vop3_word(row_, generation_, instruction_.encoding); }

    Result<void> apply_output() {
        if (!is_vop3() && instruction_.encoding != Encoding::sdwa) return refuse();
        if (modifier_.name == "clamp") {
            if (!allowed_.clamp) return refuse();
            instruction_.clamp = true;
            return {};
        }
        if (!allowed_.omod) return refuse();
        if (modifier_.name == "mul" && modifier_.value == "1") return {};
        if (modifier_.name == "div" && modifier_.value == "1") return {};
        if (modifier_.name == "mul" && modifier_.value == "2") return instruction_.omod = 1, Result<void>();
        if (modifier_.name == "mul" && modifier_.value == "4") return instruction_.omod = 2, Result<void>();
        if (modifier_.name == "div" && modifier_.value == "2") return instruction_.omod = 3, Result<void>();
        return fail(ErrorKind::Usage, "{}:{} is none of mul:2, mul:4, div:2", modifier_.name, modifier_.value);
    }

    Result<void> apply_bits() {
        const bool is_packed = row_.format == Format::VOP3P;
        if (!is_vop3()) return refuse();
        const bool has_destination = row_.destinations != 0 && row_.operands[0].type != OperandType::exec;
        const bool has_destination_bit = modifier_.name == "op_sel" && !is_packed && !row_.permlane && has_destination;
        const unsigned sources = has_destination_bit ? op_sel_sources(row_) : sources_;
        RIFTJIT_TRY(values, list_of(modifier_, 1, 1, sources + (has_destination_bit ? 1u : 0u)));
        unsigned bits = 0;
        for (size_t i = 0; i < values.size(); ++i) bits |= values[i] << (has_destination_bit && i == sources ? 3 : i);
        const auto byte = static_cast<uint8_t>(bits);
        if (modifier_.name == "op_sel") {
            if (op_sel_bits(generation_, row_) == 0 || row_.byte_select) return refuse();
            instruction_.op_sel = byte;
            // The accumulator is the destination, and has no bit of its own.
            if (row_.opcode == Opcode::v_fmac_f16 && (byte >> 3 & 1) == (byte >> 2 & 1)) instruction_.op_sel &= 0xB;
            return {};
        }
        if (!is_packed) return refuse();
        if (modifier_.name == "op_sel_hi") {
            if (allowed_.op_sel_hi == 0) return refuse();
            const unsigned fields = default_op_sel_hi(row_) & ~((1u << sources_) - 1);
            instruction_.op_sel_hi = static_cast<uint8_t>(byte | fields);
            return {};
        }
        const bool is_low = modifier_.name == "neg_lo";
        if (row_.mixed || (is_low ? allowed_.neg : allowed_.abs) == 0) return refuse();
        (is_low ? instruction_.neg : instruction_.abs) = byte;
        return {};
    }

    Result<void> apply_index_key() {
        if (!row_.sparse || allowed_.op_sel == 0) return refuse();
        RIFTJIT_TRY(key, bounded(modifier_, 0, 1));
        instruction_.op_sel = static_cast<uint8_t>(key);
        return {};
    }

    Result<void> apply_byte_select() {
        if (!row_.byte_select || !is_vop3()) return refuse();
        RIFTJIT_TRY(byte, bounded(modifier_, 0, 3));
        instruction_.op_sel = op_sel_of_byte(row_, byte);
        return {};
    }

    Result<void> apply_sdwa() {
        if (instruction_.encoding != Encoding::sdwa) return refuse();
        Sdwa& sdwa = instruction_.sdwa;
        const std::string_view name = modifier_.name;
        const bool names_destination = name == "dst_unused" || name == "dst_sel";
        if (names_destination && row_.format == Format::VOPC) return refuse();
        if (name == "src1_sel" && row_.format == Format::VOP1) return refuse();
        if (name == "dst_unused") {
            RIFTJIT_TRY(unused, one_of(modifier_, kSdwaUnused));
            sdwa.destination_unused = unused;
            return {};
        }
        RIFTJIT_TRY(select, one_of(modifier_, kSdwaSelects));
        if (name == "dst_sel") sdwa.destination_select = select;
        if (name == "src0_sel") sdwa.source_select[0] = select;
        if (name == "src1_sel") sdwa.source_select[1] = select;
        return {};
    }

    Result<void> apply_dpp() {
        Dpp& dpp = instruction_.dpp;
        const std::string_view name = modifier_.name;
        const bool is_eight = is_dpp8(instruction_.encoding), is_sixteen = is_dpp16(instruction_.encoding);
        if (name == "dpp8" && is_eight) {
            RIFTJIT_TRY(lanes, list_of(modifier_, 7, 8, 8));
            for (unsigned i = 0; i < 8; ++i) dpp.selectors |= lanes[i] << 3 * i;
            return {};
        }
        if (name == "fi" && (is_eight || is_sixteen)) {
            RIFTJIT_TRY(value, bounded(modifier_, 0, 1));
            dpp.fetch_inactive = value != 0;
            return {};
        }
        return is_sixteen ? apply_dpp16(dpp) : refuse();
    }

    Result<void> apply_dpp16(Dpp& dpp) {
        const std::string_view name = modifier_.name;
        if (name == "row_mask" || name == "bank_mask") {
            RIFTJIT_TRY(mask, bounded(modifier_, 0, 15));
            (name == "row_mask" ? dpp.row_mask : dpp.bank_mask) = static_cast<uint8_t>(mask);
            return {};
        }
        if (name == "bound_ctrl") {
            RIFTJIT_TRY(value, bounded(modifier_, 0, 1));
            // bound_ctrl:0 was once the spelling of a set bit, and gfx10 keeps to it.
            dpp.bound_control = value != 0 || generation_ == Generation::gfx10;
            return {};
        }
        if (name == "row_mirror" || name == "row_half_mirror") {
            dpp.control = name == "row_mirror" ? 0x140 : 0x141;
            return {};
        }
        if (name == "quad_perm") {
            RIFTJIT_TRY(lanes, list_of(modifier_, 3, 4, 4));
            dpp.control = 0;
            for (unsigned i = 0; i < 4; ++i) dpp.control |= static_cast<uint16_t>(lanes[i] << 2 * i);
            return {};
        }
        for (const DppControl& control : kDppControls) {
            if (control.name != name) continue;
            RIFTJIT_TRY(value, bounded(modifier_, control.first, control.last));
            dpp.control = static_cast<uint16_t>(control.base + value);
            return {};
        }
        return refuse();
    }

    Generation generation_;
    const LineModifier& modifier_;
    Instruction& instruction_;
    const InstructionInfo& row_;
    const Modifiers& allowed_;
    unsigned sources_;
};

}  // namespace

ModifierFamily modifier_family(const std::vector<LineModifier>& modifiers) {
    for (const LineModifier& modifier : modifiers) {
        const std::string_view name = modifier.name;
        if (name == "dpp8") return ModifierFamily::dpp8;
        if (name == "quad_perm" || name.starts_with("row_") || name == "bank_mask" || name == "bound_ctrl")
            return ModifierFamily::dpp16;
        if (name.starts_with("dst_") || name == "src0_sel" || name == "src1_sel") return ModifierFamily::sdwa;
    }
    return ModifierFamily::none;
}

Result<void> apply_modifier(Generation generation, const LineModifier& modifier, Instruction& instruction) {
    const Format format = info(instruction.opcode).format;
    if (format >= Format::VOP1 && format <= Format::VOP3P)
        return AluModifier(generation, modifier, instruction).apply();
    if (format == Format::SMEM || format >= Format::DS)
        return apply_address_modifier(generation, modifier, instruction);
    return fail(ErrorKind::Usage, "takes no {}", modifier.name);
}

}  // namespace riftjit::rdna
