#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/matmul_tile.h"

namespace riftjit::x86 {

WordTileMatmul::WordTileMatmul(const MatmulSpec& spec, Isa isa)
    : TileMatmul(spec, isa, Elements::pairs, has_avx512(isa) ? FloatSums::registers : FloatSums::memory),
      row_{spec.width, activation_format(spec.weight, spec.activations, isa)} {}

void WordTileMatmul::point_at_rows() {
    mov(codes, variable(Variable::x_block));
    mov(eax, step);
    lea(rbx, ptr[codes + rax * 4 + static_cast<int>(row_.scales_offset_bytes())]);
    mov(variable(Variable::scales), rbx);
    const bool has_sums16 = traits_.group == 16;
    imul(ebx, eax, has_sums16 ? 64 : 32);
    lea(rbx, ptr[codes + rbx + static_cast<int>(has_sums16 ? row_.sums16_offset_bytes() : row_.sums32_offset_bytes())]);
    mov(variable(Variable::sums), rbx);
    shl(rax, 9);
    add(codes, rax);
}

void WordTileMatmul::multiply_tile(int columns, int tokens) {
    Label next_segment;
    mov(segments_left, variable32(Variable::segments));
    mov(weights, rsp);
    mov(tile_codes, codes);
    lea(scale, ptr[rsp + decoded_step_.scales]);
    if (traits_.minimum != Minimum::none) mov(sums, variable(Variable::sums));
    start_float_sums(columns, tokens);
    L(next_segment);
    sum_segment(columns, tokens);
    float_sums_ == FloatSums::memory ? finish_segment_in_memory(columns, tokens) : finish_segment(columns, tokens);
    add(scale, line_bytes());
    dec(segments_left);
    jnz(next_segment);
    if (traits_.minimum == Minimum::integer) subtract_integer_minimum(columns, tokens);
    if (traits_.minimum != Minimum::none) add(variable(Variable::sums), tokens * static_cast<int>(row_bytes_));
    add_to_totals(columns, tokens);
    xor_(ahead, ahead);
}

void WordTileMatmul::start_float_sums(int columns, int tokens) {
    if (float_sums_ == FloatSums::registers)
        return for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, block_sum(c, t)); });
    if (is_one_segment()) return;
    set_zero(*this, scratch());
    for_each_sum(columns, tokens, [&](int c, int t) { vmovaps(float_sum(c, t), scratch()); });
}

void WordTileMatmul::sum_segment(int columns, int tokens) {
    const uint32_t elements = std::min<uint32_t>(traits_.segment, kChunkElements);
    Label again;
    for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
    const bool is_loop = traits_.segment > kChunkElements;
    if (is_loop) mov(chunks_left, traits_.segment / kChunkElements);
    L(again);
    prefetch_ahead(columns, elements);
    for (int pair = 0; pair < static_cast<int>(elements) / 2; ++pair) {
        if (pair < tokens) prefetcht0(ptr[tile_codes + row_offset(tokens + pair)]);  // of the next tile
        multiply_pair(columns, tokens, pair);
    }
    add(weights, elements / 2 * static_cast<uint32_t>(line_bytes()));
    add(tile_codes, elements * 2);
    if (is_loop) {
        dec(chunks_left);
        jnz(again);
    }
}

void WordTileMatmul::multiply_pair(int columns, int tokens, int pair) {
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[weights + pair * line_bytes() + column_offset(c)]);
    for (int t = 0; t < tokens; ++t) {
        vpbroadcastd(activation(), ptr[tile_codes + row_offset(t) + pair * 4]);
        for (int c = 0; c < columns; ++c)
            dot_broadcast(sum(c, t), weight(c), activation(), c == columns - 1 ? activation() : scratch());
    }
}

void WordTileMatmul::finish_segment(int columns, int tokens) {
    for_each_sum(columns, tokens, [&](int c, int t) {
        vcvtdq2ps(sum(c, t), sum(c, t));
        vfmadd231ps(block_sum(c, t), sum(c, t), ptr[scale + column_offset(c)]);
    });
    if (traits_.minimum == Minimum::real) add_real_minimum(columns, tokens);
}

// Leaves the sums in registers as well.
void WordTileMatmul::finish_segment_in_memory(int columns, int tokens) {
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[scale + column_offset(c)]);
    for_each_sum(columns, tokens, [&](int c, int t) {
        vcvtdq2ps(sum(c, t), sum(c, t));
        if (is_one_segment())
            vmulps(sum(c, t), sum(c, t), weight(c));
        else
            vfmadd213ps(sum(c, t), weight(c), float_sum(c, t));
    });
    if (traits_.minimum == Minimum::real) add_real_minimum(columns, tokens);
    if (!is_one_segment() || traits_.minimum == Minimum::integer)
        for_each_sum(columns, tokens, [&](int c, int t) { vmovaps(float_sum(c, t), sum(c, t)); });
}

void WordTileMatmul::add_real_minimum(int columns, int tokens) {
    const int minima = decoded_step_.minima - decoded_step_.scales;
    for (int t = 0; t < tokens; ++t) {
        broadcast_as_float(activation(), sums + row_offset(t));
        for (int c = 0; c < columns; ++c)
            vfmadd231ps(block_sum(c, t), activation(), ptr[scale + minima + column_offset(c)]);
    }
    add(sums, 4);
}

void WordTileMatmul::subtract_integer_minimum(int columns, int tokens) {
    Label again;
    const Reg64 minimum = scale;
    const Reg32 groups_left = chunks_left;
    for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
    lea(minimum, ptr[rsp + decoded_step_.minima]);
    mov(groups_left, kStepElements / traits_.group);
    L(again);
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[minimum + column_offset(c)]);
    for (int t = 0; t < tokens; ++t)
        for (int c = 0; c < columns; ++c) {
            multiply_broadcast(scratch(), weight(c), sums + row_offset(t), activation());
            vpaddd(sum(c, t), sum(c, t), scratch());
        }
    add(minimum, line_bytes());
    add(sums, 4);
    dec(groups_left);
    jnz(again);
    const bool is_in_memory = float_sums_ == FloatSums::memory;
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[rsp + decoded_step_.minimum_scale + column_offset(c)]);
    for_each_sum(columns, tokens, [&](int c, int t) {
        vcvtdq2ps(sum(c, t), sum(c, t));
        is_in_memory ? vfnmadd213ps(sum(c, t), weight(c), float_sum(c, t))
                     : vfnmadd231ps(block_sum(c, t), sum(c, t), weight(c));
    });
}

// total += block_sum * activation scale
void WordTileMatmul::add_to_totals(int columns, int tokens) {
    mov(row_scales, variable(Variable::scales));
    add(variable(Variable::scales), tokens * static_cast<int>(row_bytes_));
    for (int t = 0; t < tokens; ++t) {
        vbroadcastss(activation(), ptr[row_scales + row_offset(t)]);
        for (int c = 0; c < columns; ++c) vfmadd213ps(block_sum(c, t), activation(), total(c, t));
    }
    keep_or_store(columns, tokens);
}

MachineCode generate_word_tile_matmul(const MatmulSpec& spec, Isa isa) { return WordTileMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
