#include "models/gguf/gguf_data_check.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "jit/formats/weight_format.h"

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
uint64_t load_bits(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

// What is wrong with one of a block's floats.
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

// ---- the floats of a block ----

struct BlockFloat {
    const BitField* field;
    NumberFormat format;
};

// A block of a weight type has one scale, and at most one minimum.
using BlockFloats = FixedList<BlockFloat, 2>;

// Left out: NVFP4's, whose every byte is a number.
BlockFloats floats_of(DType type) {
    BlockFloats floats;
    if (!traits(type).is_weight) return floats;
    const WeightFormat& format = weight_format(type);
    for (const LaneStep& step : format.steps) {
        if (step.op != LaneOp::number || NumberFormat(step.index) == NumberFormat::ue4m3) continue;
        floats.push_back({&format.fields[format.steps[step.a].index], NumberFormat(step.index)});
    }
    return floats;
}

uint32_t bits_of(const BitField& field, const std::byte* block) {
    const BitPlane& plane = field.planes[0];
    const std::byte* const first = block + plane.first_bit / 8;
    if (field.planes.size() == 1 && plane.bits == 16) return load_bits<uint16_t>(first);
    if (field.planes.size() == 1 && plane.bits == 32) return load_bits<uint32_t>(first);
    return read_value(field, block, 0);
}

std::optional<Fault> inspect(const BlockFloat& block_float, const std::byte* block) {
    const uint32_t bits = bits_of(*block_float.field, block);
    const FieldRole role = block_float.field->role;
    FloatClass kind = FloatClass::ordinary;
    switch (block_float.format) {
        case NumberFormat::f32:
            kind = classify(bits, 8, 23);
            break;
        case NumberFormat::f16:
            kind = classify_f16(bits);
            break;
        case NumberFormat::bf16:
            kind = classify(bits, 8, 7);
            break;
        case NumberFormat::e8m0_half:
            return bits == 255 ? fault_of("exponent 255", FloatClass::nan) : std::nullopt;
        case NumberFormat::ue4m3:
            break;
    }
    if (role == FieldRole::element) return plain_fault(kind);
    return fault_of(role == FieldRole::scale ? "scale" : "minimum", kind);
}

std::optional<Fault> inspect_block(DType type, const BlockFloats& floats, const std::byte* block) {
    switch (type) {  // those that no weights have (GGUF specification, ggml-common.h)
        case DType::F64:
            return plain_fault(classify(load_bits<uint64_t>(block), 11, 52));
        case DType::Q8_1:
            return worse(fault_of("scale", classify_f16(load_bits<uint16_t>(block))),
                         fault_of("minimum", classify_f16(load_bits<uint16_t>(block + 2))));
        case DType::Q8_K:
            return fault_of("scale", classify(load_bits<uint32_t>(block), 8, 23));
        default:
            break;
    }
    std::optional<Fault> fault;
    for (const BlockFloat& block_float : floats) fault = worse(fault, inspect(block_float, block));
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
        const BlockFloats floats = floats_of(tensor_.type);
        for (uint64_t i = 0; i < blocks; ++i) {
            const auto fault = inspect_block(tensor_.type, floats, tensor_.data.data() + i * block_bytes_);
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
