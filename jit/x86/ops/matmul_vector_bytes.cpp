// The vector form by quads: activations of 8 bits, so half the dot products of the other, and half the unpacking. Sums
// and their order are those of the tile form (matmul_tile_bytes.cpp); quads are not raised but where they are signed,
// since zero points cost less at the sums.
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/byte_sums.h"
#include "jit/x86/ops/matmul_vector.h"

namespace riftjit::x86 {

namespace {

class ByteVectorMatmul final : public VectorMatmul {
public:
    ByteVectorMatmul(const MatmulSpec& spec, Isa isa) : VectorMatmul(spec, isa, Elements::quads) {}

private:
    const I8Row row_{spec_.width};
    const uint32_t quads_ = traits_.group / 4u;  // of a group
    const uint32_t summable_ = summable_quads(traits_);

    // One per half of the panel: the segment's sum and the minima's, or the total; for one half at a time: a group's
    // sum, and of words where they are summed first. `scales` runs along the groups' scales.
    Xmm segment_sum(int half) const { return vector(half); }
    Xmm minima_sum(int half) const { return vector(2 + half); }
    const Xmm group_sum = vector(4), words = vector(5), scratch = vector(6);
    const Opmask negative = k1;

    const bool is_one_group_per_segment_ = is_one_group_per_segment(traits_);
    int from_scales(I8Row::Array array) const { return row_.from_scales(array, traits_.group); }

    Xmm sum_of_step(int half) const override { return segment_sum(half); }
    void point_at_row() override {
        mov(codes, x_row);
        lea(scales, ptr[x_row + static_cast<int>(row_.array_offset_bytes(I8Row::Array::scales, traits_.group))]);
    }
    void point_at_next_step() override {
        add(codes, kStepElements);
        add(scales, kStepElements / traits_.group * 4);
    }

    void multiply_step(uint32_t blocks) override {
        const uint32_t group_count = groups(blocks), groups_per_segment = traits_.segment / traits_.group;
        const bool has_integer_minima = traits_.minimum == Minimum::integer;
        for (int half = 0; half < halves(); ++half) {
            if (is_one_group_per_segment_) load(*this, segment_sum(half), total(half));
            if (has_integer_minima) set_zero(*this, minima_sum(half));
        }
        for (uint32_t group = 0; group < group_count; ++group) {
            prefetch_share(group, group_count, blocks);
            const bool is_first = group % groups_per_segment == 0, is_last = (group + 1) % groups_per_segment == 0;
            for (int half = 0; half < halves(); ++half) {
                if (is_first && !is_one_group_per_segment_) set_zero(*this, segment_sum(half));
                sum_group(group, half);
                finish_group(group, half);
                if (is_last && !is_one_group_per_segment_) finish_segment(group / groups_per_segment, half);
                if (has_integer_minima) add_minimum(group, half, minima_sum(half));
            }
        }
        for (int half = 0; half < halves(); ++half) {
            if (has_integer_minima) {
                if (!is_one_group_per_segment_) load(*this, segment_sum(half), total(half));
                decoder_.minimum_scale(site(half), scratch);
                vfnmadd231ps(segment_sum(half), minima_sum(half), scratch);
            }
            if (has_integer_minima || is_one_group_per_segment_) store(*this, total(half), segment_sum(half));
        }
    }

    // ---- group_sum = the integers of a group ----

    void sum_group(uint32_t group, int half) {
        start_group(group);
        const auto activation = [&](uint32_t quad) { return codes + group * traits_.group + quad * 4; };
        decoder_.unpack(site(half), group, [&](const Xmm& quad, uint32_t index) {
            if (has_vnni(isa_)) return sum_by_dwords(quad, activation(index));
            traits_.is_signed ? sum_signed(quad, activation(index)) : sum_in_words(quad, activation(index));
        });
        if (summed_in_words_ > 0) add_words();
    }

    void start_group(uint32_t group) {
        const Address offset = ptr[scales + group * 4 + from_scales(I8Row::Array::offsets)];
        if (traits_.is_signed && has_vnni(isa_)) return vpbroadcastd(group_sum, offset);
        if (traits_.zero_point == 0) return set_zero(*this, group_sum);
        vpbroadcastd(group_sum, offset);
        vpsrad(group_sum, group_sum, static_cast<uint8_t>(zero_point_shift(traits_)));
    }

    void sum_by_dwords(const Xmm& quad, const Xbyak::RegExp& activation) {
        if (traits_.is_signed) raise(*this, quad);
        if (has_avx512(isa_)) return vpdpbusd(group_sum, quad, ptr_b[activation]);
        vpbroadcastd(shared, ptr[activation]);
        vpdpbusd(group_sum, quad, shared, Xbyak::VexEncoding);
    }
    uint32_t summed_in_words_ = 0;  // quads, so far
    void sum_in_words(const Xmm& quad, const Xbyak::RegExp& activation) {
        vpbroadcastd(shared, ptr[activation]);
        vpmaddubsw(summed_in_words_ == 0 ? words : scratch, quad, shared);
        if (summed_in_words_ > 0) vpaddw(words, words, scratch);
        if (++summed_in_words_ == summable_) add_words();
    }
    void add_words() {
        vpmaddwd(words, words, word_ones(*this));
        vpaddd(group_sum, group_sum, words);
        summed_in_words_ = 0;
    }

    void sum_signed(const Xmm& quad, const Xbyak::RegExp& activation) {
        vpbroadcastd(shared, ptr[activation]);
        vpabsb(scratch, quad);
        if (has_avx512(isa_)) {  // which has no VPSIGNB
            vpmovb2m(negative, quad);
            set_zero(*this, words);
            vpsubb(shared | negative, words, shared);
        } else {
            vpsignb(shared, shared, quad);
        }
        vpmaddubsw(scratch, scratch, shared);
        vpmaddwd(scratch, scratch, word_ones(*this));
        vpaddd(group_sum, group_sum, scratch);
    }

    // ---- floats ----

    void finish_group(uint32_t group, int half) {
        if (traits_.sub_scale == SubScale::integer) {
            decoder_.sub_scale(site(half), group, scratch);
            vpmulld(group_sum, group_sum, scratch);
        }
        vcvtdq2ps(group_sum, group_sum);
        vbroadcastss(shared, ptr[scales + group * 4]);
        if (!is_one_group_per_segment_) return vfmadd231ps(segment_sum(half), group_sum, shared);
        vmulps(group_sum, group_sum, shared);
        decoder_.scale(site(half), group, scratch);
        vfmadd231ps(segment_sum(half), group_sum, scratch);
        if (traits_.minimum == Minimum::real) add_minimum(group, half, segment_sum(half));
    }

    void finish_segment(uint32_t segment, int half) {
        decoder_.scale(site(half), segment, scratch);
        vfmadd213ps(segment_sum(half), scratch, total(half));
        store(*this, total(half), segment_sum(half));
    }

    void add_minimum(uint32_t group, int half, const Xmm& sum) {
        decoder_.minimum(site(half), group, scratch);
        if (traits_.minimum == Minimum::integer) vcvtdq2ps(scratch, scratch);
        vbroadcastss(shared, ptr[scales + group * 4 + from_scales(I8Row::Array::sums)]);
        vfmadd231ps(sum, scratch, shared);
    }
};

}  // namespace

MachineCode generate_byte_vector_matmul(const MatmulSpec& spec, Isa isa) {
    return ByteVectorMatmul(spec, isa).finish();
}

}  // namespace riftjit::x86
