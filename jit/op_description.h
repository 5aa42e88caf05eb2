// What the descriptions of ops (model_ops.h, simulator_ops.h) are written with. For kernel_spec.cpp and tests.
//
// An op describes itself once, in OpTraits<Spec>:
//   kName        as names, texts and refusals begin
//   fields()     every field of the spec; structured bindings see to it that none is forgotten
//   arguments()  the pointers of its Args struct, if plans launch it
//   units(), cost(), check(), text()
// From fields() follow the kernel's name and the bytes that keys are made of; from arguments() a plan's barriers, the
// layout of weights, the binding of addresses and the search for values that are no numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "jit/formats/cache_format.h"
#include "jit/kernel_spec.h"

namespace riftjit {

template <class Spec>
struct OpTraits;

// ---- words ----------------------------------------------------------------------------------------------------------

// Of each enumeration in a spec, as kernel names show it; empty for the value that goes without saying.
inline std::string_view text(RowFormat format) {
    static constexpr std::array<std::string_view, kRowFormats> kTexts = {"f32",      "i16",       "bf16",
                                                                         "i16_bf16", "i16_bytes", "i8"};
    return kTexts.at(size_t(format));
}
inline std::string_view text(MatmulForm form) { return form == MatmulForm::vector ? "vector" : "tile"; }
inline std::string_view text(RopePairing pairing) { return pairing == RopePairing::adjacent ? "adjacent" : "half"; }
inline std::string_view text(ReduceKind kind) { return kind == ReduceKind::argmax ? "argmax" : "collect_above"; }
inline std::string_view text(ElementwiseOp op) {
    static constexpr std::array<std::string_view, 8> kTexts = {"add",    "scale",    "softcap", "multiply",
                                                               "divide", "at_least", "at_most", "square_root"};
    return kTexts.at(size_t(op));
}
inline std::string_view text(Activation activation) {
    static constexpr std::array<std::string_view, 8> kTexts = {
        "", "gelu_tanh", "gelu_erf", "relu", "relu_squared", "clamped_silu", "sigmoid", "xielu"};
    return kTexts.at(size_t(activation));
}
inline std::string_view text(Sight sight) { return sight == Sight::causal ? "" : "whole"; }
inline std::string_view text(Addend addend) { return addend == Addend::none ? "" : "residual"; }
inline std::string_view text(Epilogue epilogue) { return epilogue == Epilogue::store ? "" : "accumulate"; }
inline std::string_view text(RowSource source) { return source == RowSource::quantize ? "quantize" : "rms_norm"; }
inline std::string_view text(Gating gating) { return gating == Gating::none ? "" : "silu"; }
inline std::string_view text(Activations activations) { return activations == Activations::i13 ? "" : "i8"; }
inline std::string_view text(KOrder order) { return order == KOrder::sequence ? "" : "lanes64"; }
inline std::string_view text(ConvolutionGates gates) { return gates == ConvolutionGates::none ? "" : "gated"; }
inline std::string_view text(HeadOrder order) { return order == HeadOrder::grouped ? "grouped" : "tiled"; }
inline std::string_view text(WkvRule rule) { return rule == WkvRule::v6 ? "v6" : "v7"; }
inline std::string_view text(HighestStage stage) {
    return stage == HighestStage::whole ? "" : stage == HighestStage::parts ? "parts" : "merge";
}
inline std::string_view text(Scoring scoring) {
    static constexpr std::array<std::string_view, 4> kTexts = {"softmax", "sigmoid", "softmax_of_chosen",
                                                               "sparse_mixer"};
    return kTexts.at(size_t(scoring));
}
inline std::string_view text(HeadRows rows) {
    return rows == HeadRows::by_head ? "" : rows == HeadRows::by_token ? "by_token" : "zeros";
}
inline std::string_view text(DType type) { return name(type); }
inline std::string_view text(Precision precision) { return name(precision); }

inline std::string_view when(bool condition, std::string_view words) { return condition ? words : ""; }
inline bool is_present(Presence presence) { return presence == Presence::present; }
inline Presence present_if(bool condition) { return condition ? Presence::present : Presence::absent; }

// ---- arguments ------------------------------------------------------------------------------------------------------

inline constexpr Access kRead = Access::read, kWrite = Access::write, kUpdate = Access::update;

// f32 rows `stride` floats apart.
inline Argument f32_rows(std::string_view name, size_t offset, Access access, uint32_t width, uint32_t stride) {
    return {name,
            uint32_t(offset),
            Role::rows,
            access,
            Presence::present,
            RowFormat::f32,
            width,
            stride * uint32_t(sizeof(float))};
}
inline Argument f32_rows(std::string_view name, size_t offset, Access access, uint32_t width) {
    return f32_rows(name, offset, access, width, uint32_t(round_up(width, 16)));
}
inline Argument rows_in(RowFormat format, std::string_view name, size_t offset, Access access, uint32_t width) {
    const uint32_t stride_bytes = format == RowFormat::f32 ? f32_row_bytes(width) : 0;
    return {name, uint32_t(offset), Role::rows, access, Presence::present, format, width, stride_bytes};
}
// Rows of which each token has `count`.
inline Argument pairs(Argument argument, uint32_t count) {
    argument.rows_each = count;
    return argument;
}
inline Argument other(Role role, std::string_view name, size_t offset, Access access = Access::read,
                      Presence presence = Presence::present) {
    return {name, uint32_t(offset), role, access, presence};
}
inline Argument vector_of(uint32_t width, std::string_view name, size_t offset, Presence presence) {
    Argument argument = other(Role::vector, name, offset, Access::read, presence);
    argument.width = width;
    return argument;
}
// What an op keeps of each sequence, `numbers` for each channel.
inline Argument state_of(uint32_t channels, uint32_t numbers, size_t offset) {
    Argument argument = other(Role::state, "state", offset, Access::update);
    argument.width = channel_blocks(channels) * kChannelBlock * numbers;
    return argument;
}
inline Argument only_if(bool condition, Argument argument) {
    argument.presence = present_if(condition);
    return argument;
}

// ---- limits ---------------------------------------------------------------------------------------------------------

// A row of this many floats is 1 GiB: every offset within a row stays a positive 32-bit displacement.
inline constexpr uint32_t kMaxRowElements = 1u << 28;
// tokens * heads must stay a 32-bit unit index for batches of up to 65535 tokens.
inline constexpr uint32_t kMaxHeads = 1u << 16;
// Kernels keep a whole head on the stack. All heads together stay within kMaxRowElements.
inline constexpr uint32_t kMaxHeadDim = 1u << 12;

// Refuses what no back end can generate, with the op, the field and the value. Remembers the first refusal; later
// claims are not looked at, so each may rely on those before it.
class Claims {
public:
    explicit Claims(std::string_view op) : op_(op) {}

    Claims& positive(std::string_view field, uint32_t value, uint32_t limit = kMaxRowElements) {
        if (is_fine() && value == 0) refuse("{} 0", field);
        if (is_fine() && value > limit) refuse("{} {} is above {}", field, value, limit);
        return *this;
    }
    Claims& at_least(std::string_view field, uint64_t value, std::string_view bound_text, uint64_t bound) {
        if (is_fine() && value < bound) refuse("{} {} is below {}, which is {}", field, value, bound_text, bound);
        if (is_fine() && value > kMaxRowElements) refuse("{} {} is above {}", field, value, kMaxRowElements);
        return *this;
    }
    Claims& multiple(std::string_view field, uint32_t value, uint32_t factor, std::string_view reason) {
        if (is_fine() && value % factor != 0) refuse("{} {} is not a multiple of {}, {}", field, value, factor, reason);
        return *this;
    }
    Claims& finite(std::string_view field, float value) {
        if (is_fine() && !std::isfinite(value)) refuse("{} is {}, not a finite number", field, value);
        return *this;
    }
    Claims& epsilon(float value) {
        finite("epsilon", value);
        if (is_fine() && value < 0) refuse("epsilon {} is negative", value);
        return *this;
    }
    Claims& weight(DType type, uint32_t width) {
        if (is_fine() && !traits(type).is_weight) refuse("weight type {} has no kernels", name(type));
        return multiple("width", width, traits(type).block_elements, fmt::format("the block of {}", name(type)));
    }
    Claims& cache_type(std::string_view field, DType type, uint32_t head_dim) {
        if (is_fine() && !is_cache_type(type)) refuse("{} {} is none of {}", field, name(type), cache_type_names());
        return multiple("head_dim", head_dim, traits(type).block_elements, fmt::format("the block of {}", name(type)));
    }
    Claims& head_dim(uint32_t value) {
        return positive("head_dim", value, kMaxHeadDim).multiple("head_dim", value, 2, "a rotary pair");
    }

    bool is_fine() const { return result_.has_value(); }
    template <class... Args>
    void refuse(fmt::format_string<Args...> format, Args&&... args) {
        result_ = fail(ErrorKind::Unsupported, "{}: {}", op_, fmt::format(format, std::forward<Args>(args)...));
    }
    Result<void> result() const { return result_; }

private:
    std::string_view op_;
    Result<void> result_;
};

}  // namespace riftjit
