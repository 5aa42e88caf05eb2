#include "jit/x86/ops/matmul.h"

#include <stdexcept>

#include "jit/x86/backend.h"
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

MatmulEmitter::MatmulEmitter(const MatmulSpec& spec, Isa isa) : X86Kernel(spec, isa) {
    // Two panels, or a tile of rows, are addressed from one register by 32-bit displacements.
    constexpr uint64_t kMaxBytes = 1u << 27;
    if (packed_panel_bytes(spec.weight, spec.width) > kMaxBytes)
        throw std::length_error(fmt::format("matmul: width {} makes a panel of more than 128 MiB", spec.width));
}

void MatmulEmitter::dot_pair(const Xmm& sum, const Xmm& pair, const Xbyak::RegExp& activation, const Xmm& scratch) {
    if (has_avx512(isa_) && has_vnni(isa_)) return vpdpwssd(sum, pair, ptr_b[activation]);
    vpbroadcastd(scratch, ptr[activation]);
    dot_broadcast(sum, pair, scratch, scratch);
}

void MatmulEmitter::dot_broadcast(const Xmm& sum, const Xmm& pair, const Xmm& activation, const Xmm& scratch) {
    if (has_vnni(isa_))
        return vpdpwssd(sum, pair, activation, has_avx512(isa_) ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
    vpmaddwd(scratch, pair, activation);
    vpaddd(sum, sum, scratch);
}

void MatmulEmitter::multiply_broadcast(const Xmm& out, const Xmm& value, const Xbyak::RegExp& factor,
                                       const Xmm& scratch) {
    if (has_avx512(isa_)) return vpmulld(out, value, ptr_b[factor]);
    vpbroadcastd(scratch, ptr[factor]);
    vpmulld(out, value, scratch);
}

void MatmulEmitter::broadcast_as_float(const Xmm& out, const Xbyak::RegExp& from) {
    if (has_avx512(isa_)) return vcvtdq2ps(out, ptr_b[from]);
    vpbroadcastd(out, ptr[from]);
    vcvtdq2ps(out, out);
}

void MatmulEmitter::store_row(const Xbyak::RegExp& out, const Xmm& value, int half, const Reg32& panel,
                              const Reg64& args, const Reg64& bias, const Xmm& scratch) {
    const Address to = ptr[out + half * 32];
    if (spec_.bias == Presence::present) {
        load_bias(scratch, half, panel, args, bias);
        vaddps(value, value, scratch);
    }
    if (spec_.epilogue == Epilogue::accumulate) vaddps(value, value, to);
    vmovups(to, value);
}

// A bias has exactly spec.rows values: the last panel's load is masked so that it reads nothing beyond them.
void MatmulEmitter::load_bias(const Xmm& out, int half, const Reg32& panel, const Reg64& args, const Reg64& bias) {
    const Reg64 panel64(panel.getIdx());
    const auto address = [&] { return ptr[bias + half * 32]; };
    const auto point_at_bias = [&] {  // a panel's 64 bytes
        mov(bias, panel64);
        shl(bias, 6);
        add(bias, ptr[args + offsetof(MatmulArgs, bias)]);
    };
    if (spec_.rows % kPanelRows == 0) {
        point_at_bias();
        return vmovups(out, address());
    }
    VectorConstant masks[2];  // all lanes; the last panel's lanes
    for (uint32_t lane = 0; lane < kPanelRows; ++lane) {
        masks[0][lane] = ~0u;
        masks[1][lane] = lane < spec_.rows % kPanelRows ? ~0u : 0;
    }
    Label is_chosen;
    lea(bias, constant_bytes(masks, sizeof masks));
    cmp(panel, last_panel());
    jne(is_chosen);
    add(bias, sizeof masks[0]);
    L(is_chosen);
    vmovups(out, address());
    if (has_avx512(isa_)) vpmovd2m(k1, out);
    point_at_bias();
    if (has_avx512(isa_))
        vmovups(out | k1 | T_z, address());
    else
        vmaskmovps(out, out, address());
}

void MatmulEmitter::for_each_token_tile(const Reg32& tokens_left, int most,
                                        const std::function<void(int tokens)>& multiply,
                                        const std::function<void(int tokens)>& advance) {
    Label again, rest, is_one_more, done;
    L(again);
    cmp(tokens_left, most);
    jb(rest);
    if (most > 2) {
        cmp(tokens_left, most + 1);
        je(is_one_more);
    }
    multiply(most);
    advance(most);
    sub(tokens_left, most);
    jmp(again);
    L(rest);
    for (int tokens = most - 1; tokens > 0; --tokens) {
        Label is_fewer;
        cmp(tokens_left, tokens);
        jb(is_fewer);
        if (tokens == most - 1 && most > 2) {
            L(is_one_more);
            multiply(tokens);
            advance(tokens);
            sub(tokens_left, tokens);
            jnz(rest);
        } else {
            multiply(tokens);
        }
        jmp(done);
        L(is_fewer);
    }
    L(done);
}

MachineCode generate(OpOf<MatmulSpec>, const MatmulSpec& spec, Isa isa) {
    if (spec.weight == DType::BF16 && has_amx(isa)) return generate_amx_bf16_matmul(spec, isa);
    if (find_decoder(spec.weight) == nullptr) return generate_float_matmul(spec, isa);
    const bool is_vector = spec.form == MatmulForm::vector;
    switch (activation_format(spec.weight, spec.activations, isa)) {
        case RowFormat::i8:
            return is_vector ? generate_byte_vector_matmul(spec, isa) : generate_byte_tile_matmul(spec, isa);
        case RowFormat::i16:
            return is_vector ? generate_word_vector_matmul(spec, isa) : generate_word_tile_matmul(spec, isa);
        default:
            return is_vector ? generate_word_vector_matmul(spec, isa) : generate_amx_matmul(spec, isa);
    }
}

}  // namespace riftjit::x86
