#include "jit/x86/backend.h"

#include <xbyak/xbyak.h>

#include <exception>
#include <stdexcept>

#include "jit/x86/decoders/packed.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class X86Backend final : public Backend {
public:
    explicit constexpr X86Backend(Isa isa) : isa_(isa) {}

    Target target() const override { return isa_; }
    RowFormat activation_format(DType weight, Activations activations) const override {
        return x86::activation_format(weight, activations, isa_);
    }
    uint32_t row_bytes(RowFormat format, uint32_t width) const override { return activation_row_bytes(format, width); }
    uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) const override {
        return x86::packed_bytes(type, rows, width);
    }
    uint64_t key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override {
        return x86::key_page_bytes(type, kv_heads, head_dim);
    }
    uint64_t value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override {
        return x86::value_page_bytes(type, kv_heads, head_dim);
    }
    Result<void> supports(const KernelSpec& spec) const override {
        const auto* matmul = std::get_if<MatmulSpec>(&spec);
        if (const auto* experts = std::get_if<ExpertMatmulSpec>(&spec)) matmul = &experts->product;
        const bool is_out_of_order = matmul != nullptr && matmul->order != KOrder::sequence;
        const bool is_of_gpus = std::holds_alternative<FusedMatmulSpec>(spec) ||
                                std::holds_alternative<SideBySideSpec>(spec) ||
                                std::holds_alternative<HighestSpec>(spec);
        if (is_out_of_order || is_of_gpus)
            return fail(ErrorKind::Unsupported, "{}: no kernel for {}", name(target()), describe(spec));
        return {};
    }
    Result<CodeObject> compile(const KernelSpec& spec) const override {
        RIFTJIT_TRY_VOID(validate(spec));
        RIFTJIT_TRY_VOID(supports(spec));
        try {
            return write_x86_object(kernel_name(spec), isa_,
                                    std::visit([&](const auto& op) { return generate(op, isa_); }, spec));
        } catch (const std::exception& exception) {  // Xbyak::Error is one
            return fail(ErrorKind::Encoding, "{} for {}: {}", kernel_name(spec), name(isa_), exception.what());
        }
    }

private:
    Isa isa_;
};

}  // namespace

// Launches are calls here: supports() refuses what would save them.
MachineCode generate(OpOf<FusedMatmulSpec>, const FusedMatmulSpec&, Isa) { throw std::logic_error("fused matmul"); }
MachineCode generate(OpOf<SideBySideSpec>, const SideBySideSpec&, Isa) { throw std::logic_error("side by side"); }
// Nor is there a bus: the sampler reads rows where they are.
MachineCode generate(OpOf<HighestSpec>, const HighestSpec&, Isa) { throw std::logic_error("highest"); }

const Backend& backend(Isa isa) {
    static const std::vector<X86Backend> kBackends(all_isas().begin(), all_isas().end());
    return kBackends.at(size_t(isa));
}

Result<CodeObject> compile(const KernelSpec& spec, Target target) { return backend(isa_of(target)).compile(spec); }

}  // namespace riftjit::x86
