#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/accesses.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

struct RowForm {
    Opcode opcode = Opcode::count;
    Encoding encoding{};
    bool exists() const { return opcode != Opcode::count; }
};

// What an opcode number means, for every format of one generation.
class NumberTable {
public:
    explicit NumberTable(Generation generation) {
        for (const InstructionInfo& row : all_instructions()) {
            add(generation, row, Encoding::native);
            add(generation, row, Encoding::e64);
        }
        for (const DualInfo& dual : dual_instructions()) {
            if (generation < dual.first || generation > dual.last) continue;
            if (dual.x.exists()) dual_[0][dual.x.value] = dual.opcode;
            if (dual.y.exists()) dual_[1][dual.y.value] = dual.opcode;
        }
    }
    RowForm find(Layout layout, uint32_t number) const {
        const auto& rows = rows_[static_cast<size_t>(layout)];
        return number < rows.size() ? rows[number] : RowForm{};
    }
    Opcode half(unsigned half, uint32_t number) const { return dual_[half][number]; }

private:
    void add(Generation generation, const InstructionInfo& row, Encoding encoding) {
        const EncodingPlan& plan = encoding_plan(generation, row.opcode, encoding);
        if (!plan.exists) return;
        const Layout layout = plan.base == Layout::VOP3_sdst ? Layout::VOP3 : plan.base;
        auto& rows = rows_[static_cast<size_t>(layout)];
        if (rows.size() <= plan.number) rows.resize(plan.number + 1u);
        check(!rows[plan.number].exists(), "instructions.def: two rows have one number");
        rows[plan.number] = {row.opcode, encoding};
    }

    std::array<std::vector<RowForm>, kLayoutCount> rows_;
    std::array<std::array<Opcode, 32>, 2> dual_ = [] {
        std::array<std::array<Opcode, 32>, 2> none{};
        for (auto& half : none) half.fill(Opcode::count);
        return none;
    }();
};

const NumberTable& number_table(Generation generation) {
    static const std::array<NumberTable, 3> tables = {NumberTable(Generation::gfx10), NumberTable(Generation::gfx11),
                                                      NumberTable(Generation::gfx12)};
    return tables[static_cast<size_t>(generation)];
}

// The format of a first word. Those with the longest prefix come first; the rest are disjoint.
constexpr Layout kOrder[] = {Layout::SOP1, Layout::SOPC, Layout::SOPP,   Layout::SOPK,    Layout::SOP2, Layout::VOP1,
                             Layout::VOPC, Layout::VOP2, Layout::VOP3,   Layout::VOP3P,   Layout::VOPD, Layout::SMEM,
                             Layout::DS,   Layout::FLAT, Layout::GLOBAL, Layout::SCRATCH, Layout::MUBUF};

class LayoutTable {
public:
    // The first nine bits tell all formats apart but those of gfx10's and gfx11's FLAT.
    explicit LayoutTable(Generation generation) {
        for (uint32_t bits = 0; bits < layouts_.size(); ++bits) layouts_[bits] = search(generation, bits << 23);
    }
    Layout find(Generation generation, uint32_t word) const {
        const Layout layout = layouts_[word >> 23];
        if (layout != Layout::FLAT || generation == Generation::gfx12) return layout;
        for (const Layout flat : {Layout::GLOBAL, Layout::FLAT, Layout::SCRATCH})
            if (matches(layout_info(flat, generation), word)) return flat;
        return Layout::none;
    }

private:
    static bool matches(const LayoutInfo& layout, uint32_t word) {
        return layout.words != 0 && (word & layout.prefix_mask) == layout.prefix;
    }
    static Layout search(Generation generation, uint32_t word) {
        for (const Layout layout : kOrder)
            if (matches(layout_info(layout, generation), word)) return layout;
        return Layout::none;
    }
    std::array<Layout, 512> layouts_;
};

const LayoutTable& layout_table(Generation generation) {
    static const std::array<LayoutTable, 3> tables = {LayoutTable(Generation::gfx10), LayoutTable(Generation::gfx11),
                                                      LayoutTable(Generation::gfx12)};
    return tables[static_cast<size_t>(generation)];
}

int32_t sign_extended(uint32_t value, unsigned width) {
    const uint32_t sign = 1u << (width - 1);
    return static_cast<int32_t>((value ^ sign) - sign);
}

Operand operand(uint32_t code) { return {static_cast<uint16_t>(code)}; }

class Unpacker {
public:
    Unpacker(const EncodingContext& context, std::span<const uint32_t> words) : context_(context), words_(words) {}

    Decoded decode() {
        if (words_.empty()) return refused(truncated());
        const Layout layout = layout_table(context_.generation).find(context_.generation, words_[0]);
        if (layout == Layout::none) return refused(refuse_format(context_.generation, words_[0]));
        const LayoutInfo& form = layout_info(layout, context_.generation);
        if (!read_fields(form, words_, values_)) return refused(truncated());
        count_ = form.words;
        if (const Refusal refusal = layout == Layout::VOPD ? unpack_dual() : unpack(layout)) return refused(refusal);
        return check();
    }

private:
    Decoded refused(const Refusal& refusal) const {
        Decoded decoded;
        decoded.instruction = instruction_;  // as far as it was read, for the message
        decoded.refusal = refusal;
        return decoded;
    }
    static Refusal truncated() { return {.why = "needs more words", .kind = DecodeError::truncated}; }

    Refusal unpack(Layout layout) {
        const RowForm form = number_table(context_.generation).find(layout, values_[Field::op]);
        if (!form.exists() || !has(context_.target, form.opcode))
            return refuse_number(context_.generation, layout, values_[Field::op]);
        instruction_.opcode = form.opcode;
        instruction_.encoding = form.encoding;
        row_ = &info(form.opcode);
        if (layout == Layout::VOP3 && row_->destinations == 2) {
            // The second destination lies where the other instructions have these.
            values_[Field::abs] = values_[Field::op_sel] = 0;
            read_fields(layout_info(Layout::VOP3_sdst, context_.generation), words_, values_);
        }
        const bool is_vector = row_->format >= Format::VOP1 && row_->format <= Format::VOP3P;
        if (is_vector)
            if (const Refusal refusal = find_word_form()) return refusal;
        plan_ = &encoding_plan(context_.generation, instruction_.opcode, instruction_.encoding);
        if (!plan_->exists) return refuse_form("this target has no such form of it");
        if (plan_->extra != Layout::none) {
            if (!read_fields(layout_info(plan_->extra, context_.generation), words_.subspan(count_), values_))
                return truncated();
            ++count_;
        }
        if (plan_->uses_simm16) instruction_.simm16 = static_cast<uint16_t>(values_[Field::simm16]);
        if (is_vector) unpack_modifiers();
        if (row_->format == Format::SMEM || row_->format >= Format::DS) unpack_address();
        for (unsigned i = 0; i < plan_->operand_count; ++i) {
            instruction_.operands[i] = unpack_operand(i);
            if (plan_->slots[i].half) unpack_half(i);
        }
        fill_copies();
        return unpack_literal();
    }

    // src0 says whether a DPP or SDWA word follows.
    Refusal find_word_form() {
        if (row_->destinations + row_->sources == 0) return {};
        const bool is_long = instruction_.encoding == Encoding::e64;
        switch (values_[Field::src0]) {
            case kDpp16Follows:
                instruction_.encoding = is_long ? Encoding::e64_dpp16 : Encoding::dpp16;
                return {};
            case kDpp8Follows:
            case kDpp8FollowsFetchInactive:
                instruction_.dpp.fetch_inactive = values_[Field::src0] == kDpp8FollowsFetchInactive;
                instruction_.encoding = is_long ? Encoding::e64_dpp8 : Encoding::dpp8;
                return {};
            case kSdwaFollows:
                if (instruction_.encoding != Encoding::native) return refuse_form("names SDWA in a VOP3 word");
                instruction_.encoding = Encoding::sdwa;
                return {};
            default:
                return {};
        }
    }

    Operand unpack_operand(unsigned i) const {
        const OperandSlot slot = plan_->slots[i];
        switch (slot.place) {
            case Place::none:
            case Place::constant:
            case Place::tied:
            case Place::swapped:
                return {};
            case Place::vcc:
                return {Operand::kVcc};
            case Place::exec:
                return {Operand::kExec};
            case Place::immediate:
                return operand(values_[slot.field]);
            case Place::vector:
                return is_unwritten(i) ? Operand{} : vgpr(values_[slot.field]);
            case Place::scalar:
                if (plan_->extra == Layout::SDWA_compare && values_[Field::has_sdst] == 0) return {Operand::kVcc};
                return operand(values_[slot.field]);
            case Place::source:
                return instruction_.encoding == Encoding::sdwa ? unpack_sdwa_source(slot.field)
                                                               : operand(values_[slot.field]);
        }
        return {};
    }

    void unpack_half(unsigned i) {
        constexpr uint16_t kHigh = 128;
        Operand& operand = instruction_.operands[i];
        if (!operand.is_vgpr() || (operand.vgpr() & kHigh) == 0) return;
        operand.code -= kHigh;
        instruction_.op_sel |= static_cast<uint8_t>(1u << half_bit(*row_, i));
    }

    bool is_unwritten(unsigned i) const {
        if (row_->format < Format::DS || i >= row_->destinations) return false;
        if (instruction_.address.lds) return true;
        if (row_->memory != MemoryKind::atomic || row_->format == Format::DS) return false;
        return row_->format == Format::MUBUF ||
               !returns_old_value(context_.generation, *row_, instruction_.address.cache);
    }

    Operand unpack_sdwa_source(Field field) const {
        const bool is_scalar = values_[field == Field::word_src0 ? Field::scalar0 : Field::scalar1] != 0;
        return is_scalar ? operand(values_[field]) : vgpr(values_[field]);
    }

    // Registers that the fields imply.
    void fill_copies() {
        for (unsigned i = 0; i < plan_->operand_count; ++i) {
            if (plan_->slots[i].place == Place::tied) instruction_.operands[i] = instruction_.operands[0];
            if (plan_->slots[i].place == Place::swapped) instruction_.operands[i] = instruction_.operands[2];
        }
        if (row_->format == Format::DS && row_->destinations == 2)
            instruction_.operands[1] = instruction_.address.vaddr;
    }

    Refusal unpack_literal() {
        bool has_literal = plan_->has_immediate_literal;
        for (unsigned i = row_->destinations; i < plan_->operand_count; ++i) {
            const Place place = plan_->slots[i].place;
            const bool is_source = place == Place::source || place == Place::scalar;
            has_literal |= is_source && instruction_.operands[i].is_literal();
        }
        return has_literal ? read_literal() : Refusal{};
    }
    Refusal read_literal() {
        if (count_ >= words_.size()) return truncated();
        instruction_.literal = words_[count_++];
        instruction_.has_literal = true;
        return {};
    }

    void unpack_modifiers() {
        Instruction& to = instruction_;
        const bool is_long =
            plan_->base == Layout::VOP3 || plan_->base == Layout::VOP3_sdst || plan_->base == Layout::VOP3P;
        to.neg = static_cast<uint8_t>(is_long ? values_[Field::neg]
                                              : values_[Field::word_neg0] | values_[Field::word_neg1] << 1);
        to.abs = static_cast<uint8_t>(is_long ? values_[Field::abs]
                                              : values_[Field::word_abs0] | values_[Field::word_abs1] << 1);
        to.clamp = values_[Field::clamp] != 0;
        to.omod = static_cast<uint8_t>(values_[Field::omod]);
        to.op_sel = static_cast<uint8_t>(values_[Field::op_sel]);
        to.op_sel_hi = static_cast<uint8_t>(values_[Field::op_sel_hi01] | values_[Field::op_sel_hi2] << 2);
        if (plan_->extra == Layout::DPP16) unpack_dpp16();
        if (plan_->extra == Layout::DPP8) to.dpp.selectors = values_[Field::selectors];
        if (to.encoding == Encoding::sdwa) unpack_sdwa();
    }

    void unpack_dpp16() {
        Dpp& dpp = instruction_.dpp;
        dpp.control = static_cast<uint16_t>(values_[Field::dpp_control]);
        dpp.row_mask = static_cast<uint8_t>(values_[Field::row_mask]);
        dpp.bank_mask = static_cast<uint8_t>(values_[Field::bank_mask]);
        dpp.bound_control = values_[Field::bound_control] != 0;
        dpp.fetch_inactive = values_[Field::fetch_inactive] != 0;
    }

    void unpack_sdwa() {
        Sdwa& sdwa = instruction_.sdwa;
        if (plan_->extra == Layout::SDWA) {
            sdwa.destination_select = static_cast<uint8_t>(values_[Field::destination_select]);
            sdwa.destination_unused = static_cast<uint8_t>(values_[Field::destination_unused]);
        }
        sdwa.source_select[0] = static_cast<uint8_t>(values_[Field::source_select0]);
        const bool has_second = row_->format != Format::VOP1;
        if (has_second) sdwa.source_select[1] = static_cast<uint8_t>(values_[Field::source_select1]);
        sdwa.sign_extend = static_cast<uint8_t>(values_[Field::sign_extend0] | values_[Field::sign_extend1] << 1);
    }

    void unpack_address() {
        Address& address = instruction_.address;
        unpack_cache_policy();
        address.gds = values_[Field::gds] != 0;
        address.tfe = values_[Field::tfe] != 0;
        address.lds = values_[Field::lds] != 0;
        unpack_offset();
        switch (row_->format) {
            case Format::SMEM:
                return unpack_scalar_address();
            case Format::DS:
                if (plan_->has_vaddr) address.vaddr = vgpr(values_[Field::vaddr]);
                return;
            case Format::MUBUF:
                return unpack_buffer_address();
            default:
                return unpack_flat_address();
        }
    }

    void unpack_cache_policy() {
        CachePolicy& cache = instruction_.address.cache;
        cache.glc = values_[Field::glc] != 0;
        cache.slc = values_[Field::slc] != 0;
        cache.dlc = values_[Field::dlc] != 0;
        cache.temporal_hint = static_cast<uint8_t>(values_[Field::temporal_hint]);
        cache.scope = static_cast<uint8_t>(values_[Field::scope]);
    }

    void unpack_offset() {
        Address& address = instruction_.address;
        const uint32_t raw = values_[Field::offset];
        const bool is_gfx12 = context_.generation == Generation::gfx12;
        switch (row_->format) {
            case Format::SMEM:
                address.offset = sign_extended(raw, is_gfx12 ? 24 : 21);
                return;
            case Format::DS:
                address.offset = static_cast<int32_t>(row_->two_offsets ? raw : raw | values_[Field::offset1] << 8);
                if (row_->two_offsets) address.offset1 = static_cast<uint8_t>(values_[Field::offset1]);
                return;
            case Format::MUBUF:
                address.offset = static_cast<int32_t>(raw);
                return;
            default:
                break;
        }
        const bool is_unsigned = row_->format == Format::FLAT && !is_gfx12;
        const unsigned width = is_gfx12 ? 24 : context_.generation == Generation::gfx10 ? 12 : 13;
        address.offset = is_unsigned ? static_cast<int32_t>(raw) : sign_extended(raw, width);
    }

    void unpack_scalar_address() {
        Address& address = instruction_.address;
        const bool has_sbase = plan_->has_base || plan_->has_resource;
        if (has_sbase) address.saddr = operand(2 * values_[Field::sbase]);
        address.soffset =
            has_sbase || plan_->is_prefetch ? operand(values_[Field::soffset]) : null_register(context_.generation);
    }

    void unpack_buffer_address() {
        Address& address = instruction_.address;
        address.index_enable = values_[Field::index_enable] != 0;
        address.offset_enable = values_[Field::offset_enable] != 0;
        if (!plan_->has_addr) return;
        const bool is_gfx12 = context_.generation == Generation::gfx12;
        address.vaddr = vgpr(values_[Field::vaddr]);
        address.resource = operand(is_gfx12 ? values_[Field::resource] : 4 * values_[Field::resource]);
        address.soffset = operand(values_[Field::soffset]);
    }

    void unpack_flat_address() {
        Address& address = instruction_.address;
        const Operand null = null_register(context_.generation), saddr = operand(values_[Field::saddr]);
        if (row_->format != Format::FLAT && plan_->has_addr) address.saddr = saddr;
        bool has_vaddr = plan_->has_vaddr;
        if (row_->format == Format::SCRATCH) {
            address.vaddr_enable = values_[Field::vaddr_enable] != 0;
            has_vaddr = context_.generation == Generation::gfx10 ? saddr == null : address.vaddr_enable;
            if (context_.generation == Generation::gfx10 && saddr.code == kScratchOff) address.saddr = null;
        }
        if (has_vaddr) address.vaddr = vgpr(values_[Field::vaddr]);
    }

    Refusal unpack_dual() {
        const NumberTable& table = number_table(context_.generation);
        const Opcode x = table.half(0, values_[Field::op_x]), y = table.half(1, values_[Field::op_y]);
        for (const auto& [opcode, field] : {std::pair(x, Field::op_x), std::pair(y, Field::op_y)})
            if (opcode == Opcode::count) return refuse_number(context_.generation, Layout::VOPD, values_[field]);
        instruction_.opcode = x;
        instruction_.encoding = Encoding::vopd;
        auto& [half_x, half_y] = instruction_.dual;
        half_x = {x, {vgpr(values_[Field::vdst_x]), operand(values_[Field::src0_x]), vgpr(values_[Field::vsrc1_x])}};
        const unsigned y_is_odd = (values_[Field::vdst_x] & 1) ^ 1;
        half_y = {y,
                  {vgpr(2 * values_[Field::vdst_y] + y_is_odd), operand(values_[Field::src0_y]),
                   vgpr(values_[Field::vsrc1_y])}};
        bool has_literal = false;
        for (VopdHalf& half : instruction_.dual) {
            if (half.opcode == Opcode::v_mov_b32) half.operands[2] = {};
            has_literal |= half.operands[1].is_literal() || half.opcode == Opcode::v_fmaak_f32 ||
                           half.opcode == Opcode::v_fmamk_f32;
        }
        return has_literal ? read_literal() : Refusal{};
    }

    // What encode would refuse is refused, and what it would write otherwise has bits that mean nothing.
    Decoded check() const {
        EncodedInstruction again;
        if (const Refusal refusal = pack(context_, instruction_, again)) return refused(refusal);
        for (unsigned i = 0; i < count_; ++i)
            if (const uint32_t bits = again.words[i] ^ words_[i]; bits != 0) return refused(reserved_bits(i, bits));
        Decoded decoded;
        decoded.instruction = instruction_;
        decoded.instruction.size = static_cast<uint8_t>(4 * count_);
        decoded.ok = true;
        return decoded;
    }

    static Refusal reserved_bits(unsigned word, uint32_t bits) {
        return {.why = "mean nothing",
                .kind = DecodeError::reserved_bits,
                .word = static_cast<uint8_t>(word),
                .value = bits};
    }

    const EncodingContext context_;
    const std::span<const uint32_t> words_;
    FieldValues values_;
    Instruction instruction_;
    const InstructionInfo* row_ = nullptr;
    const EncodingPlan* plan_ = nullptr;
    unsigned count_ = 0;
};

}  // namespace

Decoded decode(Target target, WaveSize wave, std::span<const uint32_t> words) {
    return Unpacker(EncodingContext(target, wave), words).decode();
}

}  // namespace riftjit::rdna
