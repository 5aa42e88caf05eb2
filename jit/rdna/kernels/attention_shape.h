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
    // Of the rows a wave has the outputs of so many vectors of 32 elements. In tile form those are all; in vector form,
    // where each wave takes a block of the segment's positions and then outputs, the first vector_shares waves of the
    // workgroup have them: a value is read once.
    uint32_t output_vectors, vector_shares;

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
        shape.output_vectors = (vectors + shape.waves - 1) / shape.waves;
        shape.vector_shares = (vectors + shape.output_vectors - 1) / shape.output_vectors;
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
    shape.output_vectors = vectors;
    shape.vector_shares = 1;
    return shape;
}

// What a workgroup leaves of a segment, in whole cache lines: outputs [row][element], the sums of 16 lanes [row][lane],
// maxima [row]. Vector form.
constexpr uint64_t attention_part_bytes(const AttentionSpec& spec) {
    if (spec.form == MatmulForm::tile) return 0;
    return round_up(uint64_t(attention_shape(spec).heads) * (spec.head_dim + 16 + 1) * sizeof(float), 128);
}

}  // namespace riftjit::rdna::kernels
