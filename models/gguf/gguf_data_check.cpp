#include "models/gguf/gguf_data_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace riftjit::models {

namespace {

// ---- floats as bits ----

enum class FloatClass : uint8_t { ordinary, subnormal, negative_zero, infinite, nan };

// `bits` holds sign, `exponent_bits`, `mantissa_bits`.
FloatClass classify(uint64_t bits, int exponent_bits, int mantissa_bits) {
    const uint64_t mantissa = bits & ((1ull << mantissa_bits) - 1);
    const uint64_t all_ones = (1ull << exponent_bits) - 1;
    const uint64_t exponent = (bits >> mantissa_bits) & all_ones;
    const bool is_negative = (bits >> (mantissa_bits + exponent_bits)) & 1;
    if (exponent == all_ones) return mantissa != 0 ? FloatClass::nan : FloatClass::infinite;
    if (exponent == 0 && mantissa != 0) return FloatClass::subnormal;
    if (exponent == 0 && is_negative) return FloatClass::negative_zero;
    return FloatClass::ordinary;
}

FloatClass classify_f16(uint64_t bits) { return classify(bits, 5, 10); }

template <class T>
uint64_t load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

// ---- where the scales of a block are (GGUF specification, ggml-common.h) ----

constexpr uint16_t kAbsent = 0xffff;
struct ScalePlaces {
    DType type;
    std::array<uint16_t, 2> offsets;  // of f16 values in the block: scale, and minimum where there is one
};
using enum DType;
constexpr auto kF16Scales = std::to_array<ScalePlaces>({
    {Q4_0, {0, kAbsent}},    {Q4_1, {0, 2}},          {Q5_0, {0, kAbsent}},   {Q5_1, {0, 2}},
    {Q8_0, {0, kAbsent}},    {Q8_1, {0, 2}},          {IQ4_NL, {0, kAbsent}}, {Q1_0, {0, kAbsent}},
    {Q2_0, {0, kAbsent}},    {Q2_K, {80, 82}},        {Q3_K, {108, kAbsent}}, {Q4_K, {0, 2}},
    {Q5_K, {0, 2}},          {Q6_K, {208, kAbsent}},  {IQ4_XS, {0, kAbsent}}, {TQ1_0, {52, kAbsent}},
    {TQ2_0, {64, kAbsent}},  {IQ2_XXS, {0, kAbsent}}, {IQ2_XS, {0, kAbsent}}, {IQ2_S, {0, kAbsent}},
    {IQ3_XXS, {0, kAbsent}}, {IQ3_S, {0, kAbsent}},   {IQ1_S, {0, kAbsent}},
});

// IQ1_M spreads its scale over the top nibbles of four u16 at byte 48, lowest first.
uint64_t iq1_m_scale(const std::byte* block) {
    uint64_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= (load<uint16_t>(block + 48 + 2 * i) >> 12) << (4 * i);
    return bits;
}

struct Fault {
    std::string_view what;  // "value", "scale", "minimum"
    FloatClass kind;
};

std::optional<Fault> fault_of(std::string_view what, FloatClass kind) {
    if (kind == FloatClass::ordinary) return std::nullopt;
    return Fault{what, kind};
}

std::optional<Fault> worse(std::optional<Fault> left, std::optional<Fault> right) {
    if (!left || (right && right->kind > left->kind)) return right;
    return left;
}

// Plain values are faulty only when they are no numbers: subnormals and -0 are ordinary weights.
std::optional<Fault> plain_fault(FloatClass kind) {
    return kind >= FloatClass::infinite ? fault_of("value", kind) : std::nullopt;
}

const ScalePlaces* f16_scales(DType type) {
    const auto places = std::ranges::find(kF16Scales, type, &ScalePlaces::type);
    return places == kF16Scales.end() ? nullptr : &*places;
}

std::optional<Fault> inspect_block(DType type, const ScalePlaces* places, const std::byte* block) {
    switch (type) {
        case F32:
            return plain_fault(classify(load<uint32_t>(block), 8, 23));
        case F16:
            return plain_fault(classify_f16(load<uint16_t>(block)));
        case BF16:
            return plain_fault(classify(load<uint16_t>(block), 8, 7));
        case F64:
            return plain_fault(classify(load<uint64_t>(block), 11, 52));
        case Q8_K:
            return fault_of("scale", classify(load<uint32_t>(block), 8, 23));
        case MXFP4:
            return load<uint8_t>(block) == 255 ? fault_of("exponent 255", FloatClass::nan) : std::nullopt;
        case IQ1_M:
            return fault_of("scale", classify_f16(iq1_m_scale(block)));
        default:
            break;
    }
    if (places == nullptr) return std::nullopt;  // integers; NVFP4, whose every scale byte is a number
    auto fault = fault_of("scale", classify_f16(load<uint16_t>(block + places->offsets[0])));
    if (places->offsets[1] != kAbsent)
        fault = worse(fault, fault_of("minimum", classify_f16(load<uint16_t>(block + places->offsets[1]))));
    return fault;
}

std::string_view text_of(FloatClass kind) {
    switch (kind) {
        case FloatClass::nan:
            return "NaN";
        case FloatClass::infinite:
            return "infinite";
        case FloatClass::subnormal:
            return "subnormal";
        case FloatClass::negative_zero:
            return "negative zero";
        case FloatClass::ordinary:
            break;
    }
    return "ordinary";
}

// ---- one tensor ----

class TensorCheck {
public:
    TensorCheck(const Gguf& file, const GgufTensor& tensor, std::vector<Finding>& findings)
        : file_(file), tensor_(tensor), findings_(findings), block_bytes_(traits(tensor.type).block_bytes) {}

    void run() {
        check_values();
        check_zeros();
    }

private:
    void check_values() {
        struct Tally {
            uint64_t count = 0, first_block = 0;
            Fault fault = {};
        } errors, notes;
        const uint64_t blocks = tensor_.size_bytes / block_bytes_;
        const ScalePlaces* places = f16_scales(tensor_.type);
        for (uint64_t i = 0; i < blocks; ++i) {
            const auto fault = inspect_block(tensor_.type, places, tensor_.data.data() + i * block_bytes_);
            if (!fault) continue;
            Tally& tally = fault->kind >= FloatClass::infinite ? errors : notes;
            if (tally.count++ == 0) tally = {1, i, *fault};
        }
        const auto report = [&](FindingLevel level, const Tally& tally) {
            if (tally.count == 0) return;
            add(level, fmt::format("block {} (at byte {}): {} is {}; {} of {} blocks are affected", tally.first_block,
                                   file_byte(tally.first_block * block_bytes_), tally.fault.what,
                                   text_of(tally.fault.kind), tally.count, blocks));
        };
        report(FindingLevel::error, errors);
        report(FindingLevel::note, notes);
    }

    // Interrupted downloads leave whole pages of zeros; a tensor of nothing but zeros is reported whatever its size.
    void check_zeros() {
        const uint64_t shortest = std::min<uint64_t>(4096, tensor_.size_bytes);
        const auto is_zero = [](std::byte value) { return value == std::byte{0}; };
        auto position = tensor_.data.begin();
        while (position != tensor_.data.end()) {
            const auto begin = std::find_if(position, tensor_.data.end(), is_zero);
            const auto end = std::find_if_not(begin, tensor_.data.end(), is_zero);
            const auto length = static_cast<uint64_t>(end - begin);
            const auto offset = static_cast<uint64_t>(begin - tensor_.data.begin());
            if (length > 0 && length >= shortest)
                add(FindingLevel::warning,
                    fmt::format("blocks {} to {} (bytes {} to {}) are all zero, which may be a hole in the download",
                                offset / block_bytes_, (offset + length - 1) / block_bytes_, file_byte(offset),
                                file_byte(offset + length - 1)));
            position = end;
        }
    }

    uint64_t file_byte(uint64_t offset) const { return tensor_.data_offset_bytes + offset; }

    void add(FindingLevel level, const std::string& message) {
        findings_.push_back({level, std::string(tensor_.name), file_.place_of(tensor_) + ": " + message});
    }

    const Gguf& file_;
    const GgufTensor& tensor_;
    std::vector<Finding>& findings_;
    const uint64_t block_bytes_;
};

}  // namespace

std::vector<Finding> check_tensors(const Gguf& file) {
    std::vector<Finding> findings;
    for (const GgufTensor& tensor : file.tensors()) TensorCheck(file, tensor, findings).run();
    return findings;
}

}  // namespace riftjit::models
