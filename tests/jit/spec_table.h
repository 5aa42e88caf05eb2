// One spec per op, and for every field variations that differ in that field alone: what keys and names must tell apart.
#pragma once

#include <algorithm>
#include <vector>

#include "jit/model_ops.h"
#include "jit/simulator_ops.h"
#include "tests/kernel_cases.h"

namespace riftjit {

inline const EmbedSpec kEmbed{DType::Q4_K, 1024};
inline const RmsNormSpec kRmsNorm{1024, 1e-6f, Presence::present, Addend::none, RowFormat::i16};
inline const GatherRowsSpec kGatherRows{1024};
inline const QuantizeSpec kQuantize{1024, RowFormat::i16};
inline const MatmulSpec kMatmul{DType::Q4_K, 4096, 4096, 4096, MatmulForm::vector, Epilogue::store, Presence::absent};
inline const RopeSpec kRope{16, 128, 128, 2048, RopePairing::half, Presence::absent, 1e-6f, DType::F16};
inline const ValueStoreSpec kValueStore{8, 128, 1024, DType::F16};
inline const AttentionSpec kAttention{16, 8, 128, 2048, 2048, DType::F16, DType::F16, 0.125f, MatmulForm::vector};
inline const SwigluSpec kSwiglu{3072, 6144, RowFormat::i16};
inline const ElementwiseSpec kElementwise{
    1024, 1024, {{1024}, {0}}, {{ElementwiseOp::add, 0, 1, 0.0f}, {ElementwiseOp::scale, 2, 0, 2.0f}}};
inline const FusedMatmulSpec kFusedMatmul{kMatmul, RowSource::rms_norm, 1e-6f, Presence::present, Gating::none};
inline const SideBySideSpec kSideBySide{{kFusedMatmul, kRope, kValueStore}};
inline const HighestSpec kHighestLogits{151936, HighestStage::parts};
inline const ReduceSpec kReduce{ReduceKind::argmax, 151936};

// Column 0 += draw 1 * scalar 1, and fires where that reaches 1.
inline const ColumnProgramSpec kColumnProgram{Precision::f64,
                                              2,
                                              {ColumnType::f64, ColumnType::u8},
                                              {{ColumnOp::load},
                                               {ColumnOp::uniform, 0, 0, 0, 1},
                                               {ColumnOp::scalar, 0, 0, 0, 1},
                                               {ColumnOp::fused_multiply_add, 1, 2, 0},
                                               {ColumnOp::constant, 0, 0, 0, 0, 1.0},
                                               {ColumnOp::less_equal, 4, 3},
                                               {ColumnOp::store, 3},
                                               {ColumnOp::fire, 5}}};

// Of an op without words of its own above: the first of its cases.
inline std::vector<KernelSpec> valid_specs() {
    std::vector<KernelSpec> specs = {kEmbed,         kRmsNorm,    kQuantize,    kMatmul,      kRope,
                                     kValueStore,    kAttention,  kSwiglu,      kElementwise, kReduce,
                                     kColumnProgram, kGatherRows, kFusedMatmul, kSideBySide,  kHighestLogits};
    for (const KernelSpec& spec : kernel_cases::all())
        if (std::ranges::none_of(specs, [&](const KernelSpec& known) { return known.index() == spec.index(); }))
            specs.push_back(spec);
    return specs;
}

template <class Spec, class Change>
Spec with(Spec spec, Change change) {
    change(spec);
    return spec;
}

// Changes one field of a spec to a near value; the elements of lists are varied below.
class FieldChanger {
public:
    explicit FieldChanger(size_t index) : index_(index) {}
    void operator()(std::string_view, auto& field) { change_if_next(field); }
    void operator()(std::string_view, auto& field, const auto&) { change_if_next(field); }
    void rest(auto&... fields) { (change_if_next(fields), ...); }
    bool has_changed() const { return seen_ > index_; }

private:
    void change_if_next(auto& field) {
        if (seen_++ == index_) change(field);
    }
    template <class Number>
        requires std::is_arithmetic_v<Number>
    static void change(Number& field) {
        field = static_cast<Number>(field + Number(1));
    }
    template <class Enum>
        requires std::is_enum_v<Enum>
    static void change(Enum& field) {  // the other value of two
        field = static_cast<Enum>(static_cast<std::underlying_type_t<Enum>>(field) ^ 1);
    }
    static void change(std::optional<DType>& field) { field.reset(); }
    template <class Element>
    static void change(std::vector<Element>& field) {
        field.pop_back();
    }

    size_t index_, seen_ = 0;
};

template <class Spec>
void append_variations(const Spec& base, std::vector<KernelSpec>& specs) {
    for (size_t field = 0;; ++field) {
        Spec changed = base;
        FieldChanger changer(field);
        OpTraits<Spec>::fields(changed, changer);
        if (!changer.has_changed()) return;
        specs.push_back(changed);
    }
}

// Every spec of the table is distinct. Not all are valid: keys must not collide even for what is refused.
inline std::vector<KernelSpec> distinct_specs() {
    std::vector<KernelSpec> specs = valid_specs();
    for (const KernelSpec& base : valid_specs())
        std::visit([&](const auto& spec) { append_variations(spec, specs); }, base);
    const auto vary = [&](const auto& base, auto... changes) { (specs.push_back(with(base, changes)), ...); };
    vary(kRmsNorm, [](auto& s) { s.epsilon = -1.0f; }, [](auto& s) { s.output = RowFormat::bf16; });
    vary(kQuantize, [](auto& s) { s.output = RowFormat::bf16; });
    vary(kRope, [](auto& s) { s.key_cache = DType::Q8_0; });
    vary(
        kElementwise, [](auto& s) { s.inputs[1].row_stride = 1024; }, [](auto& s) { s.inputs.push_back({0}); },
        [](auto& s) { s.steps[0].op = ElementwiseOp::scale; }, [](auto& s) { s.steps[0].left = 1; },
        [](auto& s) { s.steps[0].right = 0; }, [](auto& s) { s.steps[1].constant = 3.0f; });
    vary(
        kColumnProgram, [](auto& s) { s.columns[1] = ColumnType::u16; },
        [](auto& s) { s.steps[1].op = ColumnOp::normal; }, [](auto& s) { s.steps[3].a = 2; },
        [](auto& s) { s.steps[3].b = 1; }, [](auto& s) { s.steps[3].c = 2; }, [](auto& s) { s.steps[1].index = 2; },
        [](auto& s) { s.steps[4].number = 2.0; });
    return specs;
}

}  // namespace riftjit
