#include "jit/x86/ops/matmul_vector.h"

#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/byte_sums.h"

namespace riftjit::x86 {

VectorMatmul::VectorMatmul(const MatmulSpec& spec, Isa isa, Elements elements)
    : MatmulEmitter(spec, isa),
      decoder_(*find_decoder(spec.weight)),
      traits_(decoder_.traits()),
      layout_(panel_layout(spec.weight, spec.width)),
      row_bytes_(activation_row_bytes(activation_format(spec.weight, spec.activations, isa), spec.width)),
      decoder_registers_{.elements = elements, .table = table} {
    const size_t constants = decoder_.constants(isa, elements).size(),
                 temporaries = decoder_.temporaries(isa, elements);
    check(constants + temporaries <= max_decoder_registers(isa), "a decoder keeps to its registers");
    int next = kFirstDecoderRegister;
    for (size_t i = 0; i < constants; ++i) decoder_registers_.constants.push_back(next++);
    for (size_t i = 0; i < temporaries; ++i) decoder_registers_.temporaries.push_back(next++);
}

void VectorMatmul::generate() {
    prologue({rbx, r12, r13, r14, r15}, /*stack_bytes=*/64);
    decoder_.prepare(site(0));
    mov(panel, panel);  // clears the upper half
    mov(base.cvt32(), panel);
    imul(base, base, static_cast<int>(layout_.panel_bytes));
    add(base, ptr[args + offsetof(MatmulArgs, weights)]);
    for_units(panel, end, [&] {
        Label again;
        mov(x_row, ptr[args + offsetof(MatmulArgs, batch)]);
        mov(tokens, ptr[x_row + offsetof(BatchState, rows)]);
        mov(x_row, ptr[args + offsetof(MatmulArgs, x)]);
        mov(out_row.cvt32(), panel);
        shl(out_row, 6);
        add(out_row, ptr[args + offsetof(MatmulArgs, out)]);
        L(again);
        multiply_row();
        add(x_row, row_bytes_);
        add(out_row, spec_.out_stride * 4);
        dec(tokens);
        jnz(again);
        add(base, static_cast<uint32_t>(layout_.panel_bytes));
    });
    epilogue();
}

void VectorMatmul::multiply_row() {
    lea(header, ptr[base + static_cast<int>(layout_.header_offset)]);
    lea(body, ptr[base + static_cast<int>(layout_.body_offset)]);
    point_at_row();
    set_zero(*this, shared);
    for (int half = 0; half < halves(); ++half) store(*this, total(half), shared);
    if (layout_.full_steps > 0) multiply_full_steps();
    if (layout_.tail_blocks > 0) multiply_step(layout_.tail_blocks);
    for (int half = 0; half < halves(); ++half) {
        load(*this, sum_of_step(half), total(half));
        store_row(out_row, sum_of_step(half), half, panel, args, codes, shared);
    }
}

void VectorMatmul::multiply_full_steps() {
    Label again;
    mov(steps, layout_.full_steps);
    L(again);
    multiply_step(layout_.blocks_per_step);
    add(header, static_cast<uint32_t>(layout_.header_stride));
    add(body, static_cast<uint32_t>(layout_.body_stride));
    point_at_next_step();
    dec(steps);
    jnz(again);
}

void VectorMatmul::prefetch_share(uint32_t group, uint32_t group_count, uint32_t blocks) {
    const uint32_t lines = static_cast<uint32_t>(layout_.body_stride) / 64 * blocks / layout_.blocks_per_step;
    for (uint32_t line = group * lines / group_count; line < (group + 1) * lines / group_count; ++line) {
        const int offset = static_cast<int>(line) * 64;
        prefetcht1(ptr[body + offset + kFarBytes]);
        prefetcht0(ptr[body + offset + kNearBytes]);
    }
}

namespace {

// By pairs, or by quads and digits: the same integers.
class WordVectorMatmul final : public VectorMatmul {
public:
    WordVectorMatmul(const MatmulSpec& spec, Isa isa)
        : VectorMatmul(spec, isa, vector_takes_digits(spec.weight, isa) ? Elements::quads : Elements::pairs) {}

private:
    const I16Row row_{spec_.width, activation_format(spec_.weight, spec_.activations, isa_)};
    const bool has_quads_ = vector_takes_digits(spec_.weight, isa_);
    // Quads that are signed are raised by 128 for VPDPBUSD.
    const int zero_point_ = has_quads_ && traits_.is_signed ? 128 : traits_.zero_point;

    // One per half of the panel: the group's sum, the segment's sum, the step's sum. By quads there are a group's sum
    // of low and one of high digits, for one half at a time.
    Xmm group_sum(int half) const { return vector(half); }
    const Xmm low_sum = vector(0), high_sum = vector(1);
    Xmm segment_sum(int half) const { return vector(2 + half); }
    Xmm block_sum(int half) const { return vector(4 + half); }
    const Xmm scratch = vector(6);

    Xmm sum_of_step(int half) const override { return block_sum(half); }
    void point_at_row() override {
        lea(codes, ptr[x_row + static_cast<int>(has_quads_ ? row_.bytes_offset(I16Row::Digit::low)
                                                           : row_.codes_offset_bytes())]);
        lea(scales, ptr[x_row + static_cast<int>(row_.scales_offset_bytes())]);
        lea(sums, ptr[x_row +
                      static_cast<int>(traits_.group == 16 ? row_.sums16_offset_bytes() : row_.sums32_offset_bytes())]);
    }
    void point_at_next_step() override {
        add(codes, kStepElements * (has_quads_ ? 1 : 2));
        add(scales, 4);
        add(sums, kStepElements / traits_.group * 4);
    }
    void multiply_step(uint32_t blocks) override {
        const uint32_t group_count = groups(blocks);
        const uint32_t groups_per_segment = traits_.segment / traits_.group;
        for (int half = 0; half < halves(); ++half) set_zero(*this, block_sum(half));
        for (uint32_t group = 0; group < group_count; ++group) {
            prefetch_share(group, group_count, blocks);
            const bool is_first = group % groups_per_segment == 0;
            if (!has_quads_) sum_pairs(group);
            for (int half = 0; half < halves(); ++half) {
                if (has_quads_) sum_quads(group, half);
                add_to_segment(group, half, has_quads_ ? low_sum : group_sum(half), is_first);
            }
            if ((group + 1) % groups_per_segment == 0) finish_segment(group / groups_per_segment);
            if (traits_.minimum == Minimum::real) add_real_minimum(group);
        }
        if (traits_.minimum == Minimum::integer) subtract_integer_minimum(group_count);
        scale_step();
    }

    void sum_pairs(uint32_t group) {
        if (zero_point_ != 0) load_zero_points(shared, group);
        for (int half = 0; half < halves(); ++half) {
            if (zero_point_ != 0)
                vmovaps(group_sum(half), shared);
            else
                set_zero(*this, group_sum(half));
            decoder_.unpack(site(half), group, [&](const Xmm& pair, uint32_t index) {
                dot_pair(group_sum(half), pair, codes + (group * traits_.group + 2 * index) * 2, scratch);
            });
        }
    }
    void load_zero_points(const Xmm& out, uint32_t group) {  // -zero_point * sum(a)
        vpbroadcastd(out, ptr[sums + group * 4]);
        vpmulld(out, out, splat_u32(static_cast<uint32_t>(-zero_point_)));
    }

    // low_sum = the group's sum.
    void sum_quads(uint32_t group, int half) {
        if (has_vnni(isa_)) start_quads(group);
        bool is_first = true;
        decoder_.unpack(site(half), group, [&](const Xmm& quad, uint32_t index) {
            if (traits_.is_signed) raise(*this, quad);
            for (const auto& [digit, sum] : {std::pair{I16Row::Digit::low, low_sum}, {I16Row::Digit::high, high_sum}}) {
                const auto activation = codes + (group * traits_.group + 4 * index + row_.bytes_offset(digit) -
                                                 row_.bytes_offset(I16Row::Digit::low));
                has_vnni(isa_) ? dot_quad(sum, quad, activation) : add_words(sum, quad, activation, is_first);
            }
            is_first = false;
        });
        if (has_vnni(isa_)) {
            vpslld(high_sum, high_sum, 7);
        } else {
            vpmaddwd(low_sum, low_sum, word_ones(*this));
            vpmaddwd(high_sum, high_sum, splat_words(*this, 128));
        }
        vpaddd(low_sum, low_sum, high_sum);
        if (has_vnni(isa_) || zero_point_ == 0) return;
        load_zero_points(shared, group);
        vpaddd(low_sum, low_sum, shared);
    }
    void start_quads(uint32_t group) {
        set_zero(*this, high_sum);
        if (zero_point_ == 128) {
            vpbroadcastd(low_sum, ptr[sums + group * 4]);
            vpsubd(high_sum, high_sum, low_sum);
        }
        if (zero_point_ != 0 && zero_point_ != 128)
            load_zero_points(low_sum, group);
        else
            set_zero(*this, low_sum);
    }
    void dot_quad(const Xmm& sum, const Xmm& quad, const Xbyak::RegExp& activation) {
        if (has_avx512(isa_)) return vpdpbusd(sum, quad, ptr_b[activation]);
        vpbroadcastd(shared, ptr[activation]);
        vpdpbusd(sum, quad, shared, Xbyak::VexEncoding);
    }
    void add_words(const Xmm& sum, const Xmm& quad, const Xbyak::RegExp& activation, bool is_first) {
        vpbroadcastd(shared, ptr[activation]);
        vpmaddubsw(is_first ? sum : scratch, quad, shared);
        if (!is_first) vpaddw(sum, sum, scratch);
    }

    void add_to_segment(uint32_t group, int half, const Xmm& sum, bool is_first) {
        if (traits_.sub_scale == SubScale::integer) {
            decoder_.sub_scale(site(half), group, scratch);
            vpmulld(sum, sum, scratch);
        }
        if (is_first)
            vmovaps(segment_sum(half), sum);
        else
            vpaddd(segment_sum(half), segment_sum(half), sum);
    }

    void finish_segment(uint32_t segment) {
        for (int half = 0; half < halves(); ++half) {
            vcvtdq2ps(segment_sum(half), segment_sum(half));
            decoder_.scale(site(half), segment, scratch);
            vfmadd231ps(block_sum(half), segment_sum(half), scratch);
        }
    }

    void add_real_minimum(uint32_t group) {
        broadcast_as_float(shared, sums + group * 4);
        for (int half = 0; half < halves(); ++half) {
            decoder_.minimum(site(half), group, scratch);
            vfmadd231ps(block_sum(half), shared, scratch);
        }
    }

    void subtract_integer_minimum(uint32_t group_count) {
        for (int half = 0; half < halves(); ++half) {
            const Xmm minima = group_sum(half);
            set_zero(*this, minima);
            for (uint32_t group = 0; group < group_count; ++group) {
                decoder_.minimum(site(half), group, scratch);
                multiply_broadcast(scratch, scratch, sums + group * 4, shared);
                vpaddd(minima, minima, scratch);
            }
            vcvtdq2ps(minima, minima);
            decoder_.minimum_scale(site(half), scratch);
            vfnmadd231ps(block_sum(half), minima, scratch);
        }
    }

    void scale_step() {  // total += block_sum * activation scale
        vbroadcastss(shared, ptr[scales]);
        for (int half = 0; half < halves(); ++half) {
            vfmadd213ps(block_sum(half), shared, total(half));
            store(*this, total(half), block_sum(half));
        }
    }
};

}  // namespace

bool vector_takes_digits(DType weight, Isa isa) {
    const Decoder* decoder = find_decoder(weight);
    if (decoder == nullptr) return false;
    const DecoderTraits& traits = decoder->traits();
    return has_vnni(isa) || (!traits.is_signed && summable_quads(traits, I16Row::kMostDigit) >= traits.group / 4u);
}

MachineCode generate_word_vector_matmul(const MatmulSpec& spec, Isa isa) {
    return WordVectorMatmul(spec, isa).finish();
}

}  // namespace riftjit::x86
