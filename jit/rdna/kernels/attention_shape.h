// How attention spreads its rows over waves. A row is one query head of one token; waves of 32 lanes.
#pragma once

#include <algorithm>
#include <bit>

#include "host/round_up.h"
#include "jit/kernel_spec.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kAttentionBlock = 64;  // positions between two rescalings; blocks begin at multiples of it

struct AttentionShape {
    // Rows whose scores a wave has. Their keys are read once for all.
    uint32_t heads, tokens;
    // Query heads of a KV head are divided among so many waves of a workgroup, and so many workgroups.
    uint32_t wave_parts, grid_parts;
    uint32_t waves;  // of a workgroup
    // Rows and vectors of 32 elements whose outputs a wave has. In tile form the waves' rows are theirs alone; in
    // vector form each takes a block of the segment's positions and then a share of outputs, row_shares times
    // vector_shares.
    uint32_t output_rows, output_vectors, row_shares, vector_shares;

    constexpr uint32_t rows() const { return heads * tokens; }
};

constexpr uint32_t attention_vectors(const AttentionSpec& spec) { return (spec.head_dim + 31) / 32; }

constexpr AttentionShape attention_shape(const AttentionSpec& spec) {
    constexpr uint32_t kMaxRows = 8, kMaxOutputs = 32;  // registers of a wave, in tile form twice as many
    const uint32_t group = spec.heads / spec.kv_heads, vectors = attention_vectors(spec);
    AttentionShape shape{};
    if (spec.form == MatmulForm::vector) {
        shape.tokens = 1;
        for (uint32_t heads = 1; heads <= kMaxRows; ++heads)
            if (group % heads == 0) shape.heads = heads;
        shape.waves = kKvPage / kAttentionBlock;
        shape.wave_parts = 1;
        shape.grid_parts = group / shape.heads;
        shape.vector_shares = vectors >= 3 ? 4 : vectors;
        shape.row_shares = shape.waves / shape.vector_shares;
        shape.output_rows = (shape.heads + shape.row_shares - 1) / shape.row_shares;
        shape.output_vectors = (vectors + shape.vector_shares - 1) / shape.vector_shares;
        return shape;
    }
    // All heads of the KV head if there is room for them, and as many tokens as there is room for then.
    const uint32_t most_rows = std::clamp(kMaxOutputs / vectors, 1u, kMaxRows);
    for (uint32_t heads = 1; heads <= most_rows; ++heads)
        if (group % heads == 0) shape.heads = heads;
    shape.tokens = std::bit_floor(most_rows / shape.heads);
    const uint32_t parts = group / shape.heads;
    shape.wave_parts = parts & (~parts + 1);  // a power of two, as the lanes of a workgroup are
    if (shape.wave_parts > 4) shape.wave_parts = 4;
    shape.grid_parts = parts / shape.wave_parts;
    shape.waves = kMaxTileRows / shape.tokens * shape.wave_parts;
    shape.output_rows = shape.rows();
    shape.output_vectors = vectors;
    shape.row_shares = shape.vector_shares = 1;
    return shape;
}

// What a workgroup leaves of a segment: outputs, sums and maxima of each wave, in registers of 32 lanes, by four.
// Vector form.
constexpr uint64_t attention_part_bytes(const AttentionSpec& spec) {
    if (spec.form == MatmulForm::tile) return 0;
    const AttentionShape shape = attention_shape(spec);
    return shape.waves * round_up(shape.output_rows * (shape.output_vectors + 1) + 1, 4) * 32 * sizeof(float);
}

}  // namespace riftjit::rdna::kernels
