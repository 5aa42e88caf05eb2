// What the matrix kernels share: the dot-product instruction by level, biases, and stored rows.
//
// All forms compute the same sums in the same order (decoder.h), so a token's row does not depend on the form, the
// level, or how many tokens share a batch.
#pragma once

#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"
#include "jit/x86/decoders/packed.h"

namespace riftjit::x86 {

class MatmulEmitter : public X86Kernel<MatmulSpec> {
public:
    MatmulEmitter(const MatmulSpec& spec, Isa isa);

protected:
    // sum += pair . (two i16 at `activation`, the same for every lane). Clobbers scratch except at levels that read the
    // broadcast from memory.
    void dot_pair(const Xmm& sum, const Xmm& pair, const Xbyak::RegExp& activation, const Xmm& scratch);
    // The same with the activation pair already in every lane; clobbers scratch at levels without VNNI.
    void dot_broadcast(const Xmm& sum, const Xmm& pair, const Xmm& activation, const Xmm& scratch);
    // out = value * (i32 at `factor`, the same for every lane); clobbers scratch.
    void multiply_broadcast(const Xmm& out, const Xmm& value, const Xbyak::RegExp& factor, const Xmm& scratch);
    // out = i32 at `from` in every lane, as f32.
    void broadcast_as_float(const Xmm& out, const Xbyak::RegExp& from);

    // out = the bias of lanes() rows of `panel`. Clobbers bias, k1.
    void load_bias(const Xmm& out, int half, const Reg32& panel, const Reg64& args, const Reg64& bias);
    // value (+ bias) (+ what is at `out`) to `out`, for lanes() rows: half `half` of `panel`, at half * 32 bytes from
    // `out`. Clobbers value, scratch, bias, k1.
    void store_row(const Xbyak::RegExp& out, const Xmm& value, int half, const Reg32& panel, const Reg64& args,
                   const Reg64& bias, const Xmm& scratch);

    // Tiles of `most` tokens while as many are left, and then of the rest. A tile of one token has a load for every dot
    // product and more, so where one would be left behind others, the last two tiles are of most - 1 tokens and two.
    void for_each_token_tile(const Reg32& tokens_left, int most, const std::function<void(int tokens)>& multiply,
                             const std::function<void(int tokens)>& advance);

private:
    uint32_t last_panel() const { return (spec_.rows - 1) / kPanelRows; }
};

// One generator per form and kind of weights.
MachineCode generate_word_vector_matmul(const MatmulSpec& spec, Isa isa);
MachineCode generate_byte_vector_matmul(const MatmulSpec& spec, Isa isa);
MachineCode generate_word_tile_matmul(const MatmulSpec& spec, Isa isa);
MachineCode generate_byte_tile_matmul(const MatmulSpec& spec, Isa isa);
MachineCode generate_amx_matmul(const MatmulSpec& spec, Isa isa);  // tile form, rows with digits
MachineCode generate_amx_bf16_matmul(const MatmulSpec& spec, Isa isa);
MachineCode generate_float_matmul(const MatmulSpec& spec, Isa isa);

}  // namespace riftjit::x86
