// The tile form by quads: activations of 8 bits. Every group has its own scale of activations, so its integers become
// floats at once, times the sub-scale, which is exact (jit/kernel_spec.h, RowFormat::i8).
//
// With VNNI weights are unsigned, where need be raised by 128, which the sums begin without. Below, VPMADDUBSW sums two
// products in 16 bits and saturates: codes of few bits are summed there as long as none can, and signed ones lend their
// sign to the activations.
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/byte_sums.h"
#include "jit/x86/ops/matmul_tile.h"

namespace riftjit::x86 {

namespace {

class ByteTileMatmul final : public TileMatmul {
public:
    ByteTileMatmul(const MatmulSpec& spec, Isa isa) : TileMatmul(spec, isa, Elements::quads, FloatSums::registers) {}

private:
    const I8Row row_{spec_.width};
    const uint32_t quads_ = traits_.group / 4u;  // of a group
    // Quads that VPMADDUBSW's sums of 16 bits hold.
    const uint32_t summable_ = summable_quads(traits_);

    const bool is_one_group_per_segment_ = is_one_group_per_segment(traits_);
    // From `sums`, which runs along the scales of the groups.
    int from_scales(I8Row::Array array) const { return row_.from_scales(array, traits_.group); }
    // From `scale`, which runs along their lines.
    int from_scale_lines(int lines) const { return lines - decoded_step_.scales; }

    Xmm zero() const { return vector(vector_registers() - 1); }  // AVX-512 only
    Opmask negative(int column) const { return Opmask(1 + column); }

    void point_at_rows() override {
        mov(codes, variable(Variable::x_block));
        mov(eax, step);
        imul(ebx, eax, static_cast<int>(kStepElements / traits_.group * 4));
        lea(rbx, ptr[codes + rbx + static_cast<int>(row_.array_offset_bytes(I8Row::Array::scales, traits_.group))]);
        mov(variable(Variable::sums), rbx);
        shl(rax, 8);
        add(codes, rax);
    }

    void multiply_tile(int columns, int tokens) override {
        Label next_segment, next_group;
        mov(segments_left, variable32(Variable::segments));
        mov(weights, rsp);
        mov(tile_codes, codes);
        lea(scale, ptr[rsp + decoded_step_.scales]);
        mov(sums, variable(Variable::sums));
        if (is_one_group_per_segment_)
            for_each_sum(columns, tokens, [&](int c, int t) { vmovaps(block_sum(c, t), total(c, t)); });
        L(next_segment);
        if (!is_one_group_per_segment_) {
            for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, block_sum(c, t)); });
            mov(chunks_left, traits_.segment / traits_.group);
        }
        L(next_group);
        prefetch_ahead(columns, traits_.group);
        sum_group(columns, tokens);
        finish_group(columns, tokens);
        add(weights, static_cast<int>(quads_) * line_bytes());
        add(tile_codes, traits_.group);
        add(sums, 4);
        add(scale, line_bytes());
        if (!is_one_group_per_segment_) {
            dec(chunks_left);
            jnz(next_group);
            finish_segment(columns, tokens);
        }
        dec(segments_left);
        if (is_one_group_per_segment_) {
            jnz(next_segment);
        } else {
            Label is_last;
            jz(is_last);
            for_each_sum(columns, tokens, [&](int c, int t) { vmovaps(total(c, t), block_sum(c, t)); });
            jmp(next_segment);
            L(is_last);
        }
        if (traits_.minimum == Minimum::integer) subtract_integer_minimum(columns, tokens);
        add(variable(Variable::sums), tokens * static_cast<int>(row_bytes_));
        keep_or_store(columns, tokens);
        xor_(ahead, ahead);
    }

    // ---- sum(c, t) = the integers of a group ----

    void sum_group(int columns, int tokens) {
        if (has_vnni(isa_)) return sum_by_dwords(columns, tokens);
        if (traits_.is_signed) return sum_signed(columns, tokens);
        summable_ >= quads_ ? sum_in_words(columns, tokens) : sum_pairs_of_quads(columns, tokens);
    }

    int quad_line(uint32_t quad, int column) const {
        return static_cast<int>(quad) * line_bytes() + column_offset(column);
    }
    void load_weights(int columns, uint32_t quad) {
        for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[weights + quad_line(quad, c)]);
    }
    void load_activation(int token, uint32_t quad) {
        vpbroadcastd(activation(), ptr[tile_codes + row_offset(token) + static_cast<int>(quad) * 4]);
    }
    void prefetch_next_tile(int tokens, uint32_t quad) {
        if (static_cast<int>(quad) < tokens) prefetcht0(ptr[tile_codes + row_offset(tokens + static_cast<int>(quad))]);
    }

    void sum_by_dwords(int columns, int tokens) {
        const bool is_raised = quad_offset(traits_, isa_) != 0;
        const auto encoding = has_avx512(isa_) ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
        for_each_sum(columns, tokens, [&](int c, int t) {
            if (is_raised)
                vpbroadcastd(sum(c, t), ptr[sums + row_offset(t) + from_scales(I8Row::Array::offsets)]);
            else
                set_zero(*this, sum(c, t));
        });
        for (uint32_t quad = 0; quad < quads_; ++quad) {
            prefetch_next_tile(tokens, quad);
            load_weights(columns, quad);
            for (int t = 0; t < tokens; ++t) {
                load_activation(t, quad);
                for (int c = 0; c < columns; ++c) vpdpbusd(sum(c, t), weight(c), activation(), encoding);
            }
        }
    }

    // activation() = -zero_point * sum(a) of a group, in every lane.
    void load_zero_point_sum(int token) {
        vpbroadcastd(activation(), ptr[sums + row_offset(token) + from_scales(I8Row::Array::offsets)]);
        vpsrad(activation(), activation(), static_cast<uint8_t>(zero_point_shift(traits_)));
    }
    void start_at_zero_points(int columns, int tokens) {
        for (int t = 0; t < tokens; ++t) {
            if (traits_.zero_point != 0) load_zero_point_sum(t);
            for (int c = 0; c < columns; ++c)
                traits_.zero_point != 0 ? vmovaps(sum(c, t), activation()) : set_zero(*this, sum(c, t));
        }
    }

    void sum_in_words(int columns, int tokens) {
        for (uint32_t quad = 0; quad < quads_; ++quad) {
            prefetch_next_tile(tokens, quad);
            load_weights(columns, quad);
            for (int t = 0; t < tokens; ++t) {
                load_activation(t, quad);
                for (int c = 0; c < columns; ++c) {
                    vpmaddubsw(quad == 0 ? sum(c, t) : scratch(), weight(c), activation());
                    if (quad > 0) vpaddw(sum(c, t), sum(c, t), scratch());
                }
            }
        }
        for (int t = 0; t < tokens; ++t) {
            if (traits_.zero_point != 0) load_zero_point_sum(t);
            for (int c = 0; c < columns; ++c) {
                vpmaddwd(sum(c, t), sum(c, t), word_ones(*this));
                if (traits_.zero_point != 0) vpaddd(sum(c, t), sum(c, t), activation());
            }
        }
    }

    void sum_pairs_of_quads(int columns, int tokens) {
        check(summable_ >= 2, "two quads fit 16 bits");
        start_at_zero_points(columns, tokens);
        for (uint32_t quad = 0; quad < quads_; quad += 2) {
            prefetch_next_tile(tokens, quad);
            prefetch_next_tile(tokens, quad + 1);
            for (int c = 0; c < columns; ++c) {
                for (int i = 0; i < 2; ++i) load(*this, weight(i), ptr[weights + quad_line(quad + uint32_t(i), c)]);
                for (int t = 0; t < tokens; ++t) {
                    load_activation(t, quad);
                    vpmaddubsw(scratch(), weight(0), activation());
                    load_activation(t, quad + 1);
                    vpmaddubsw(activation(), weight(1), activation());
                    vpaddw(scratch(), scratch(), activation());
                    vpmaddwd(scratch(), scratch(), word_ones(*this));
                    vpaddd(sum(c, t), sum(c, t), scratch());
                }
            }
        }
    }

    void sum_signed(int columns, int tokens) {
        check(traits_.zero_point == 0, "signed codes have no zero point");
        for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
        if (has_avx512(isa_)) set_zero(*this, zero());
        for (uint32_t quad = 0; quad < quads_; ++quad) {
            prefetch_next_tile(tokens, quad);
            for (int c = 0; c < columns; ++c) {
                vpabsb(weight(c), ptr[weights + quad_line(quad, c)]);
                if (!has_avx512(isa_)) continue;
                vmovdqa32(scratch(), ptr[weights + quad_line(quad, c)]);
                vpmovb2m(negative(c), scratch());
            }
            for (int t = 0; t < tokens; ++t) {
                load_activation(t, quad);
                for (int c = 0; c < columns; ++c) {
                    if (has_avx512(isa_)) {  // which has no VPSIGNB
                        vmovdqa32(scratch(), activation());
                        vpsubb(scratch() | negative(c), zero(), activation());
                    } else {
                        vpsignb(scratch(), activation(), ptr[weights + quad_line(quad, c)]);
                    }
                    vpmaddubsw(scratch(), weight(c), scratch());
                    vpmaddwd(scratch(), scratch(), word_ones(*this));
                    vpaddd(sum(c, t), sum(c, t), scratch());
                }
            }
        }
    }

    // ---- floats ----

    void finish_group(int columns, int tokens) {
        const bool has_multiplier = traits_.sub_scale == SubScale::integer;
        for (int t = 0; t < tokens; ++t) {
            vbroadcastss(activation(), ptr[sums + row_offset(t)]);
            for (int c = 0; c < columns; ++c) {
                vcvtdq2ps(sum(c, t), sum(c, t));
                if (has_multiplier)
                    vmulps(sum(c, t), sum(c, t),
                           ptr[scale + from_scale_lines(decoded_step_.multipliers) + column_offset(c)]);
                if (is_one_group_per_segment_) {
                    vmulps(sum(c, t), sum(c, t), activation());
                    vfmadd231ps(block_sum(c, t), sum(c, t), ptr[scale + column_offset(c)]);
                } else {
                    vfmadd231ps(block_sum(c, t), sum(c, t), activation());
                }
            }
        }
        if (traits_.minimum == Minimum::real) add_real_minimum(columns, tokens);
    }

    void add_real_minimum(int columns, int tokens) {
        check(is_one_group_per_segment_, "real minima belong to segments of one group");
        for (int t = 0; t < tokens; ++t) {
            vbroadcastss(activation(), ptr[sums + row_offset(t) + from_scales(I8Row::Array::sums)]);
            for (int c = 0; c < columns; ++c)
                vfmadd231ps(block_sum(c, t), activation(),
                            ptr[scale + from_scale_lines(decoded_step_.minima) + column_offset(c)]);
        }
    }

    void finish_segment(int columns, int tokens) {  // block_sum = the total; scale is one line past the segment's
        for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[scale - line_bytes() + column_offset(c)]);
        for_each_sum(columns, tokens, [&](int c, int t) { vfmadd213ps(block_sum(c, t), weight(c), total(c, t)); });
    }

    void subtract_integer_minimum(int columns, int tokens) {
        Label again;
        const Reg64 minimum = scale;
        const Reg32 groups_left = chunks_left;
        for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
        lea(minimum, ptr[rsp + decoded_step_.minima]);
        mov(sums, variable(Variable::sums));
        mov(groups_left, kStepElements / traits_.group);
        L(again);
        for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[minimum + column_offset(c)]);
        for (int t = 0; t < tokens; ++t) {
            vbroadcastss(activation(), ptr[sums + row_offset(t) + from_scales(I8Row::Array::sums)]);
            for (int c = 0; c < columns; ++c) vfmadd231ps(sum(c, t), weight(c), activation());
        }
        add(minimum, line_bytes());
        add(sums, 4);
        dec(groups_left);
        jnz(again);
        for_each_sum(columns, tokens, [&](int c, int t) {
            vfnmadd231ps(block_sum(c, t), sum(c, t), ptr[rsp + decoded_step_.minimum_scale + column_offset(c)]);
        });
    }
};

}  // namespace

MachineCode generate_byte_tile_matmul(const MatmulSpec& spec, Isa isa) { return ByteTileMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
