// Rows of a token table: the panel that holds a row is decoded step by step and one lane of it is kept.
//
// Values are those of the file's decoder, bit for bit: a product of scale, sub-scale and code is exact in f32, so that
// one fused rounding after the minimum is the only one.
#include <stdexcept>

#include "jit/kernel_spec.h"
#include "jit/x86/backend.h"
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/decoders/decoder_step.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

// Common to both kinds: which panel and lane a token's id names, and the loop over tokens.
class EmbedEmitter : public X86Kernel<EmbedSpec> {
public:
    using X86Kernel::X86Kernel;

protected:
    // Register map: panel points at the panel, lane is the row within it (0 to 15), out at the row being written.
    const Reg64 args = rdi, ids = r8, panel = r9, lane = r10, out = r11;
    const Reg32 token = esi, end = edx;

    uint32_t out_row_bytes() const { return activation_row_bytes(RowFormat::f32, spec_.width); }

    template <class Body>
    void for_each_token(const Body& emit_row) {
        mov(token, token);  // clears the upper half
        mov(ids, ptr[args + offsetof(EmbedArgs, ids)]);
        mov(out.cvt32(), token);
        imul(out, out, static_cast<int>(out_row_bytes()));
        add(out, ptr[args + offsetof(EmbedArgs, out)]);
        for_units(token, end, [&] {
            movsxd(lane, dword[ids + rsi * 4]);
            mov(panel, lane);
            shr(panel, 4);
            imul(panel, panel, static_cast<int>(packed_panel_bytes(spec_.weight, spec_.width)));
            add(panel, ptr[args + offsetof(EmbedArgs, table)]);
            and_(lane, 15);
            emit_row();
        });
    }
};

class DecodedEmbed final : public EmbedEmitter {
public:
    DecodedEmbed(const EmbedSpec& spec, Isa isa)
        : EmbedEmitter(spec, isa),
          decoder_(*find_decoder(spec.weight)),
          traits_(decoder_.traits()),
          layout_(panel_layout(spec.weight, spec.width)) {}

private:
    const Decoder& decoder_;
    const DecoderTraits& traits_;
    const PanelLayout layout_;
    const DecodedStep decoded_ = DecodedStep::at(0, kLineBytes, traits_, Elements::pairs);
    static constexpr int kLineBytes = 64;
    static constexpr uint32_t kGatherElements = 16;

    const Reg64 header = rax, body = rcx, table = r12, decoded = rsp, lane_values = r13, steps = r14, gather_base = r15;
    // Vectors of the second half, after decoding; numbers below 16 so that VEX forms reach them.
    const Xmm values = vector(0), high_values = vector(1), scale = vector(2), minimum = vector(3),
              minimum_scale = vector(4);
    const Ymm line_offsets = ymm5, gathered = ymm6, gather_mask = ymm7;

    void generate() override {
        prologue({r12, r13, r14, r15, rbx}, static_cast<uint32_t>(decoded_.end()));
        for_each_token([&] { write_row(); });
        epilogue();
    }

    void write_row() {
        lea(header, ptr[panel + static_cast<int>(layout_.header_offset)]);
        lea(body, ptr[panel + static_cast<int>(layout_.body_offset)]);
        if (layout_.full_steps > 0) write_full_steps();
        if (layout_.tail_blocks > 0) write_step(layout_.tail_blocks);
    }
    void write_full_steps() {
        Label again;
        mov(steps, layout_.full_steps);
        L(again);
        write_step(layout_.blocks_per_step);
        add(header, static_cast<uint32_t>(layout_.header_stride));
        add(body, static_cast<uint32_t>(layout_.body_stride));
        dec(steps);
        jnz(again);
    }

    void write_step(uint32_t blocks) {
        StepDecoder step_decoder(*this, decoder_, Elements::pairs, table);
        step_decoder.prepare();
        step_decoder.emit_step(blocks, header, body, decoded, decoded_);
        lea(lane_values, ptr[rsp + lane * 4]);
        load_line_offsets();
        const uint32_t elements = blocks * riftjit::traits(spec_.weight).block_elements;
        for (uint32_t first = 0; first < elements; first += kGatherElements) write_elements(first);
        add(out, elements * 4);
    }
    void load_line_offsets() {
        VectorConstant offsets{};
        for (uint32_t i = 0; i < 8; ++i) offsets[i] = i * kLineBytes;
        vmovdqa(line_offsets, constant_bytes(offsets.data(), sizeof offsets));
    }

    // 16 elements: the lane's dwords of eight lines.
    void write_elements(uint32_t first) {
        lea(gather_base, ptr[lane_values + decoded_.elements + static_cast<int>(first) / 2 * kLineBytes]);
        vpcmpeqd(gather_mask, gather_mask, gather_mask);
        vpgatherdd(gathered, ptr[gather_base + line_offsets], gather_mask);
        const int segment = static_cast<int>(first / traits_.segment), group = static_cast<int>(first / traits_.group);
        vbroadcastss(scale, ptr[lane_values + decoded_.scales + segment * kLineBytes]);
        if (traits_.minimum != Minimum::none) load_minimum(group);
        if (has_avx512(isa_)) {
            vpmovsxwd(values, gathered);
        } else {
            vpmovsxwd(values, Xmm(gathered.getIdx()));
            vextracti128(Xmm(gathered.getIdx()), gathered, 1);
            vpmovsxwd(high_values, Xmm(gathered.getIdx()));
        }
        for (int half = 0; half < halves(); ++half) {
            const Xmm& value = half == 0 ? values : high_values;
            vcvtdq2ps(value, value);
            add_minimum(value);
            vmovups(ptr[out + (first * 4 + half * 32)], value);
        }
    }
    void load_minimum(int group) {
        vbroadcastss(minimum, ptr[lane_values + decoded_.minima + group * kLineBytes]);
        if (traits_.minimum == Minimum::real) return;
        vbroadcastss(minimum_scale, ptr[lane_values + decoded_.minimum_scale]);
        vcvtdq2ps(minimum, minimum);
        vmulps(minimum, minimum, minimum_scale);  // exact: 11 and 6 bits
    }
    void add_minimum(const Xmm& value) {  // value * scale (+ or - minimum)
        switch (traits_.minimum) {
            case Minimum::none:
                return vmulps(value, value, scale);
            case Minimum::real:
                return vfmadd213ps(value, scale, minimum);
            case Minimum::integer:
                return vfmsub213ps(value, scale, minimum);
        }
    }
};

// One lane of [k][16] (f32, f16) or [k / 2][16][2] (bf16), gathered as dwords.
class FloatEmbed final : public EmbedEmitter {
public:
    using EmbedEmitter::EmbedEmitter;

private:
    const Reg64 source = rax, to = rcx, elements_left = r12;
    const Ymm line_offsets = ymm0, values = ymm1, mask = ymm2, high = ymm3, low = ymm4;
    const Xmm odd_lane_shift = xmm5;

    bool is_bf16() const { return spec_.weight == DType::BF16; }
    bool is_f16() const { return spec_.weight == DType::F16; }
    int line_bytes() const { return is_f16() ? 32 : 64; }
    uint32_t line_elements() const { return is_bf16() ? 2 : 1; }
    uint32_t gather_elements() const { return 8 * line_elements(); }

    void generate() override {
        prologue({r12});
        VectorConstant offsets{};
        for (uint32_t i = 0; i < 8; ++i) offsets[i] = i * static_cast<uint32_t>(line_bytes());
        vmovdqa(line_offsets, constant_bytes(offsets.data(), sizeof offsets));
        for_each_token([&] { write_row(); });
        epilogue();
    }

    void write_row() {
        point_at_lane();
        mov(to, out);
        if (const uint32_t gathers = spec_.width / gather_elements(); gathers > 0) {
            Label again;
            mov(elements_left, gathers);
            L(again);
            gather(8);
            write_gathered();
            dec(elements_left);
            jnz(again);
        }
        if (const uint32_t rest = spec_.width % gather_elements(); rest > 0) {
            gather((rest + line_elements() - 1) / line_elements());
            write_gathered();  // beyond the width, which the row's padding allows
        }
        add(out, out_row_bytes());
    }
    // f16 lanes are gathered as the aligned dwords that hold them, and odd lanes shifted down.
    void point_at_lane() {
        if (!is_f16()) return lea(source, ptr[panel + lane * 4]);
        mov(source, lane);
        and_(source, 14);
        lea(source, ptr[panel + source * 2]);
        and_(lane, 1);
        shl(lane, 4);
        vmovq(odd_lane_shift, lane);
    }

    // Dwords of `count` lines; the others read as zero.
    void gather(uint32_t count) {
        VectorConstant lanes{};
        for (uint32_t i = 0; i < count; ++i) lanes[i] = ~0u;
        vmovdqa(mask, constant_bytes(lanes.data(), sizeof lanes));
        vpxor(values, values, values);
        vpgatherdd(values, ptr[source + line_offsets], mask);
        add(source, 8 * line_bytes());
    }
    void write_gathered() {
        if (is_bf16()) return write_bf16_pairs();
        if (is_f16()) {
            vpsrld(values, values, odd_lane_shift);
            vpslld(values, values, 16);
            vpsrld(values, values, 16);
            vextracti128(Xmm(high.getIdx()), values, 1);
            vpackusdw(Xmm(values.getIdx()), Xmm(values.getIdx()), Xmm(high.getIdx()));
            vcvtph2ps(values, Xmm(values.getIdx()));
        }
        vmovups(ptr[to], values);
        add(to, 32);
    }
    void write_bf16_pairs() {
        vpermq(values, values, 0b11'01'10'00);  // so that the unpacked halves are consecutive
        vpxor(mask, mask, mask);
        vpunpcklwd(low, mask, values);  // words become the high halves of dwords
        vpunpckhwd(high, mask, values);
        vmovups(ptr[to], low);
        vmovups(ptr[to + 32], high);
        add(to, 64);
    }
};

}  // namespace

MachineCode generate(OpOf<EmbedSpec>, const EmbedSpec& spec, Isa isa) {
    constexpr uint64_t kMaxPanelBytes = 1u << 30;
    if (packed_panel_bytes(spec.weight, spec.width) > kMaxPanelBytes)
        throw std::length_error(fmt::format("embed: width {} makes a panel of more than 1 GiB", spec.width));
    if (find_decoder(spec.weight) != nullptr) return DecodedEmbed(spec, isa).finish();
    return FloatEmbed(spec, isa).finish();
}

}  // namespace riftjit::x86
