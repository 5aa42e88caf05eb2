// What is asked of every spec, answered from the op's own description.
#include "jit/kernel_spec.h"

#include <xxhash.h>

#include "jit/model_ops.h"
#include "jit/simulator_ops.h"

namespace riftjit {

namespace {

// Calls ask(traits, spec) with the description of the spec's op.
template <class Ask>
auto ask_op(const KernelSpec& kernel, Ask&& ask) {
    return std::visit([&]<class Spec>(const Spec& spec) { return ask(OpTraits<Spec>{}, spec); }, kernel);
}

// Appends fields little-endian at their declared width; a vector is its length and its elements.
class FieldWriter {
public:
    void operator()(std::string_view, const auto& field) { put(field); }
    void operator()(std::string_view, const auto& field, const auto&) { put(field); }
    void rest(const auto&... fields) { (put(fields), ...); }
    std::vector<std::byte> take() { return std::move(bytes_); }

    template <class Integer>
        requires std::is_integral_v<Integer>
    void put(Integer value) {
        for (size_t byte = 0; byte < sizeof(Integer); ++byte)
            bytes_.push_back(std::byte(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * byte))));
    }

private:
    template <class Enum>
        requires std::is_enum_v<Enum>
    void put(Enum value) {
        put(static_cast<std::underlying_type_t<Enum>>(value));
    }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    void put(float value) { put(std::bit_cast<uint32_t>(value)); }
    void put(const std::optional<DType>& type) {
        put(type.has_value());
        put(type.value_or(DType::F32));
    }
    void put(const ColumnStep& step) {
        const auto& [op, a, b, c, index, number] = step;
        rest(op, a, b, c, index, number);
    }
    void put(const ElementwiseInput& input) {
        const auto& [row_stride, column] = input;
        rest(row_stride, column);
    }
    void put(const ElementwiseStep& step) {
        const auto& [op, left, right, constant] = step;
        rest(op, left, right, constant);
    }
    void put(const SideBySidePart& part) {
        put(static_cast<uint8_t>(part.index()));
        std::visit([&]<class Spec>(const Spec& spec) { OpTraits<Spec>::fields(spec, *this); }, part);
    }
    template <class Element>
    void put(const std::vector<Element>& elements) {
        put(static_cast<uint32_t>(elements.size()));
        for (const Element& element : elements) put(element);
    }

    std::vector<std::byte> bytes_;
};

// In [a-z0-9_], so that perf, gdb and shells take names as they are. A float is its eight hexadecimal bits; a field is
// left out at the value that goes without saying; what has no short text shows in a hash of the whole spec.
class NameWriter {
public:
    void operator()(std::string_view tag, const auto& field) { put(tag, field); }
    void operator()(std::string_view tag, uint32_t field, uint32_t usual) {
        if (field != usual) put(tag, field);
    }
    void operator()(std::string_view tag, float field, float usual) {
        if (field != usual) put(tag, field);
    }
    void operator()(std::string_view tag, Presence field, Presence usual) {
        if (field != usual) fields_.append(is_present(field) ? "_" : "_no_").append(tag);
    }
    void rest(const auto&...) { has_rest_ = true; }

    std::string finish(std::string_view op, const KernelSpec& spec) const {
        std::string name = fmt::format("rj_{}{}", op, fields_);
        if (!has_rest_) return name;
        const std::vector<std::byte> bytes = serialize(spec);
        return name + fmt::format("_{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
    }

private:
    void put(std::string_view tag, uint32_t value) { fields_ += fmt::format("_{}{}", tag, value); }
    void put(std::string_view tag, float value) {
        fields_ += fmt::format("_{}{:08x}", tag, std::bit_cast<uint32_t>(value));
    }
    void put(std::string_view tag, Presence presence) {
        if (is_present(presence)) fields_.append("_").append(tag);
    }
    void put(std::string_view tag, const std::optional<DType>& type) {
        if (type) fields_ += fmt::format("_{}_{}", tag, text(*type));
    }
    template <class Enum>
        requires std::is_enum_v<Enum>
    void put(std::string_view, Enum value) {
        if (const std::string_view word = text(value); !word.empty()) fields_.append("_").append(word);
    }

    std::string fields_;
    bool has_rest_ = false;
};

}  // namespace

Signature signature(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto& op_spec) { return op.arguments(op_spec); });
}

std::string kernel_name(const KernelSpec& spec) {
    return ask_op(spec, [&](auto op, const auto& op_spec) {
        NameWriter writer;
        op.fields(op_spec, writer);
        return writer.finish(op.kName, spec);
    });
}

std::string describe(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto& op_spec) { return op.text(op_spec); });
}

std::vector<std::byte> serialize(const KernelSpec& spec) {
    FieldWriter writer;
    writer.put(static_cast<uint8_t>(spec.index()));
    ask_op(spec, [&](auto op, const auto& op_spec) { op.fields(op_spec, writer); });
    return writer.take();
}

Result<void> validate(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto& op_spec) {
        Claims claims(op.kName);
        op.check(op_spec, claims);
        return claims.result();
    });
}

uint32_t unit_count(const KernelSpec& spec, uint32_t rows) {
    return ask_op(spec, [&](auto op, const auto& op_spec) { return op.units(op_spec, rows); });
}

uint32_t unit_grain(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto& op_spec) -> uint32_t {
        if constexpr (requires { op.grain(op_spec); }) return op.grain(op_spec);
        return 1;
    });
}

bool walks_runs(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto&) { return requires { op.kWalksRuns; }; });
}

KernelCost cost(const KernelSpec& spec) {
    return ask_op(spec, [](auto op, const auto& op_spec) { return op.cost(op_spec); });
}

}  // namespace riftjit
