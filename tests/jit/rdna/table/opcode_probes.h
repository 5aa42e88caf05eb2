// Machine words that try every opcode number of every format, with operands of each kind that some instruction takes:
// what a disassembler makes of them tells which numbers it knows.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "jit/rdna/encode/pack.h"
#include "jit/rdna/table/formats.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::test {

// A number of a format (VOP3 for both of its layouts), alone or with a DPP or SDWA word; for VOPD of one half.
struct OpcodeKey {
    Layout layout = Layout::none, extra = Layout::none;
    uint16_t number = 0;
    uint8_t half = 0;  // VOPD: 0 is X
    auto operator<=>(const OpcodeKey&) const = default;
};

struct OpcodeProbe {
    OpcodeKey key;
    std::vector<uint32_t> words;
    Layout layout = Layout::none;  // key.layout, or VOP3_sdst
    FieldValues values;
};

class OpcodeProbes {
public:
    explicit OpcodeProbes(Generation generation) : generation_(generation), null_(null_register(generation).code) {}

    // Every number of every format.
    std::vector<OpcodeProbe> numbers() {
        scalar();
        vector();
        memory();
        if (generation_ != Generation::gfx10) dual();
        return std::exchange(probes_, {});
    }

    // What becomes of vector instructions with a DPP or SDWA word.
    std::vector<OpcodeProbe> forms(std::span<const OpcodeProbe> accepted) {
        for (const OpcodeProbe& probe : accepted) {
            const bool is_short = probe.key.layout >= Layout::VOP1 && probe.key.layout <= Layout::VOPC;
            const bool is_long = probe.key.layout == Layout::VOP3 || probe.key.layout == Layout::VOP3P;
            if (!is_short && (!is_long || generation_ == Generation::gfx10)) continue;
            add_form(probe, Layout::DPP16);
            add_form(probe, Layout::DPP8);
            if (is_short) add_form(probe, Layout::SDWA);
        }
        return std::exchange(probes_, {});
    }

private:
    struct Setting {
        Field field;
        uint32_t value;
    };
    using Shape = std::vector<Setting>;
    enum class Literal : uint8_t { no, yes };
    static constexpr uint32_t kVgpr = Operand::kFirstVgpr, kExecLow = Operand::kExec;
    static constexpr uint32_t kLiteral = 0x1234;  // no inline constant, and of 16 bits

    void scalar() {
        using enum Field;
        for (const Literal literal : {Literal::no, Literal::yes}) {
            add(Layout::SOP2, {{sdst, 4}, {ssrc1, 8}, {ssrc0, 2}}, literal);
            for (const uint32_t destination : {4u, 0u, null_})
                add(Layout::SOPK, {{sdst, destination}, {simm16, 0x801}}, literal);
        }
        constexpr uint32_t kMinusOne = 193, kZero = 128;  // a barrier, a message
        for (const uint32_t source : {8u, 0u, kMinusOne, kZero})
            for (const uint32_t destination : {4u, 0u}) add(Layout::SOP1, {{sdst, destination}, {ssrc0, source}});
        add(Layout::SOPC, {{ssrc1, 8}, {ssrc0, 4}});
        add(Layout::SOPP, {});
        for (const uint32_t base : {0u, 1u, 2u}) add(Layout::SMEM, {{sdata, 4}, {sbase, base}, {soffset, null_}});
        for (const uint32_t offset : {0u, null_}) add(Layout::SMEM, {{soffset, offset}});
    }

    void vector() {
        using enum Field;
        for (const uint32_t source : {kVgpr + 2, 4u}) add(Layout::VOP1, {{vdst, 4}, {src0, source}});
        add(Layout::VOP1, {});
        add(Layout::VOPC, {{vsrc1, 3}, {src0, kVgpr + 2}});
        for (const Literal literal : {Literal::no, Literal::yes})
            add(Layout::VOP2, {{vdst, 4}, {vsrc1, 3}, {src0, kVgpr + 2}}, literal);
        // Up to three sources, the later ones in VGPRs or SGPRs.
        const Setting first{src0, kVgpr + 4}, second{src1, kVgpr + 12}, third{src2, kVgpr + 20};
        const Setting second_scalar{src1, 4}, third_scalar{src2, 8};
        for (const Shape& sources :
             {Shape{first, second, third}, Shape{first, second}, Shape{first, second, third_scalar}}) {
            add_with(Layout::VOP3, sources, {{vdst, 4}});
            add_with(Layout::VOP3_sdst, sources, {{vdst, 4}, {sdst, 6}});
            add_with(Layout::VOP3P, sources, {{vdst, 4}, {op_sel_hi01, 3}, {op_sel_hi2, 1}});
        }
        for (const Shape& sources :
             {Shape{first}, Shape{first, second_scalar}, Shape{first, second_scalar, third_scalar}, Shape{}})
            add_with(Layout::VOP3, sources, {{vdst, 4}});
        add(Layout::VOP3, {{vdst, kExecLow}, first, second});
        add(Layout::VOP3, {});
    }

    void add_form(const OpcodeProbe& probe, Layout extra) {
        using enum Field;
        const bool is_compare = extra == Layout::SDWA && probe.key.layout == Layout::VOPC;
        const LayoutInfo& word = layout_info(is_compare ? Layout::SDWA_compare : extra, generation_);
        if (word.words == 0) return;
        FieldValues values = probe.values;
        values[src0] = extra == Layout::DPP16 ? kDpp16Follows : extra == Layout::DPP8 ? kDpp8Follows : kSdwaFollows;
        values[word_src0] = 5;
        values[row_mask] = values[bank_mask] = 15;
        constexpr uint32_t kDword = 6;
        values[destination_select] = values[source_select0] = kDword;
        if (probe.key.layout != Layout::VOP1) values[source_select1] = kDword;
        EncodedInstruction encoded;
        write_fields(layout_info(probe.layout, generation_), values, encoded);
        write_fields(word, values, encoded);
        keep({probe.key.layout, extra, probe.key.number}, probe.layout, values, encoded);
    }

    void memory() {
        using enum Field;
        for (const uint32_t global : {0u, 1u})
            for (const Shape& shape :
                 {Shape{{vdst, 4}, {data1, 3}, {data0, 2}, {vaddr, 10}}, Shape{{vdst, 4}, {data0, 2}, {vaddr, 10}},
                  Shape{{vdst, 4}, {vaddr, 10}}, Shape{{data1, 3}, {data0, 2}, {vaddr, 10}},
                  Shape{{data0, 2}, {vaddr, 10}}, Shape{{vaddr, 10}}, Shape{}, Shape{{vdst, 4}}, Shape{{data0, 2}},
                  Shape{{vdst, 4}, {data0, 2}}})
                add_with(Layout::DS, shape, {{gds, global}});
        for (const Layout layout : {Layout::FLAT, Layout::GLOBAL, Layout::SCRATCH})
            for (const uint32_t returns : {0u, 1u})
                for (const Shape& shape : {Shape{{vdst, 4}, {vaddr, 2}}, Shape{{data0, 8}, {vaddr, 2}},
                                           Shape{{vdst, 4}, {data0, 8}, {vaddr, 2}}, Shape{}})
                    add_with(layout, shape,
                             {{saddr, null_},
                              {glc, returns},
                              {temporal_hint, returns},
                              {vaddr_enable, layout == Layout::SCRATCH && !shape.empty()}});
        const uint32_t four = generation_ == Generation::gfx12 ? 4 : 1;  // s[4:7]
        for (const Shape& shape : {Shape{{data0, 4}, {resource, four}, {soffset, null_}},
                                   Shape{{resource, four}, {soffset, null_}}, Shape{}})
            add_with(Layout::MUBUF, shape, {{data_format, generation_ == Generation::gfx12 ? kUntypedFormat : 0}});
        add(Layout::MUBUF, {{soffset, null_}});
    }

    // Each half beside a move.
    void dual() {
        using enum Field;
        constexpr uint32_t kMove = 8;
        for (uint32_t number = 0; number < 32; ++number)
            for (const Literal literal : {Literal::no, Literal::yes}) {
                const uint32_t second = number == kMove ? 0 : 5;
                const Shape shape = {{src0_x, kVgpr + 4}, {vdst_x, 2}, {src0_y, kVgpr + 9}, {vdst_y, 3}};
                if (number < 16) add_dual(shape, {{op_x, number}, {vsrc1_x, second}, {op_y, kMove}}, 0, literal);
                add_dual(shape, {{op_x, kMove}, {op_y, number}, {vsrc1_y, second}}, 1, literal);
            }
    }
    void add_dual(const Shape& shape, const Shape& more, uint8_t half, Literal literal) {
        const FieldValues values = values_of(shape, more);
        EncodedInstruction encoded;
        write_fields(layout_info(Layout::VOPD, generation_), values, encoded);
        if (literal == Literal::yes) encoded.words[encoded.count++] = kLiteral;
        const auto number = static_cast<uint16_t>(values[half == 0 ? Field::op_x : Field::op_y]);
        keep({Layout::VOPD, Layout::none, number, half}, Layout::VOPD, values, encoded);
    }

    static FieldValues values_of(const Shape& shape, const Shape& more = {}) {
        FieldValues values;
        for (const Setting& setting : shape) values[setting.field] = setting.value;
        for (const Setting& setting : more) values[setting.field] = setting.value;
        return values;
    }

    void add_with(Layout layout, Shape shape, const Shape& more) {
        shape.insert(shape.end(), more.begin(), more.end());
        add(layout, shape);
    }

    // The shape with every opcode number that the format's field holds.
    void add(Layout layout, const Shape& shape, Literal literal = Literal::no) {
        const LayoutInfo& form = layout_info(layout, generation_);
        const auto op = std::ranges::find(form.fields, Field::op, &FieldPlace::field);
        FieldValues values = values_of(shape);
        for (uint32_t number = 0; number < 1u << op->width; ++number) {
            values[Field::op] = number;
            EncodedInstruction encoded;
            write_fields(form, values, encoded);
            if (!is_of(layout, encoded.words[0])) continue;
            if (literal == Literal::yes) encoded.words[encoded.count++] = kLiteral;
            keep({layout == Layout::VOP3_sdst ? Layout::VOP3 : layout, Layout::none, static_cast<uint16_t>(number)},
                 layout, values, encoded);
        }
    }

    // Some formats lie in the opcodes of another, VOP1 in those of VOP2: the longest prefix counts.
    bool is_of(Layout layout, uint32_t word) const {
        const uint32_t mask = layout_info(layout, generation_).prefix_mask;
        for (size_t i = 0; i < static_cast<size_t>(Layout::DPP16); ++i) {
            const LayoutInfo& other = layout_info(static_cast<Layout>(i), generation_);
            if (other.words != 0 && (word & other.prefix_mask) == other.prefix && other.prefix_mask > mask)
                return false;
        }
        return true;
    }

    void keep(OpcodeKey key, Layout layout, const FieldValues& values, const EncodedInstruction& encoded) {
        probes_.push_back({key, {encoded.span().begin(), encoded.span().end()}, layout, values});
    }

    Generation generation_;
    uint32_t null_;
    std::vector<OpcodeProbe> probes_;
};

}  // namespace riftjit::rdna::test
