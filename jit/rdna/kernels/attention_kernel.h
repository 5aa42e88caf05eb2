// Causal attention with grouped queries over the KV cache: what jit/x86/ops/attention.cpp defines, to the bit.
//
// Lanes are positions where queries meet keys, 64 of a block in two registers, and elements where probabilities meet
// values. What all lanes need alike, a row's query or its probabilities, lies in registers by 16 elements or positions,
// in either half of the wave, and comes from there within the instruction that multiplies (DPP row_share). What there
// is one of for each row (maxima, corrections, factors) lies so too, in the lane of the row's number.
//
// Here is what both forms have in common: a block's scores and probabilities, and what they add to outputs.
#pragma once

#include <bit>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/attention_shape.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/kv_layout.h"

namespace riftjit::rdna::kernels {

class AttentionKernel : public RdnaKernel<AttentionSpec> {
public:
    void generate() override;

protected:
    using Vector = std::vector<Vgpr>;

    static constexpr float kNoScore = -0x1p126f;  // where a row's maximum starts: no difference is of infinities
    static constexpr uint32_t kShare = 16;        // lanes that share
    static constexpr uint32_t kGroup = 16;        // positions, between two looks at what is visible

    // A wave's probabilities lie in LDS as [row][position], in rows of so many bytes, within a region that both forms
    // make as large as they want.
    AttentionKernel(KernelTarget target, const AttentionSpec& spec, uint32_t probability_row_bytes, uint32_t lds_bytes);

    // What forms do each in their own way. A batch's tile or single row `unit` of what the grid's number says:
    virtual void number_tile(Sgpr unit, Sgpr in_group, Sgpr pages_per_sequence) = 0;
    // From the workgroup's to the wave's: its first token, 0 so far, and which part of a KV head's query heads.
    virtual void divide_tile(Sgpr tile_rows, Sgpr first_token, Sgpr part_of_head) = 0;
    virtual void locate_lanes() = 0;  // the wave's outputs, and its probabilities
    virtual void attend() = 0;
    // 16 elements of the rows' queries, of which each lane's share lies so many bytes behind a row's beginning.
    virtual Vector load_queries(Vgpr share) = 0;

    Vector registers(uint32_t count);
    void clear(const Vector& values);

    uint32_t head_bytes() const { return spec_.head_dim * sizeof(float); }

    // ---- where everything lies
    uint32_t groups() const { return spec_.kv_heads * shape.grid_parts; }
    void locate_values(Sgpr first_vector);  // of the wave's vectors
    void enter_page();
    // Lanes beyond the head take its last element again; it is stored once.
    bool may_exceed(uint32_t vector) const;

    // ---- a block
    void multiply_keys();
    // Scales, caps and biases the scores, makes those that a token does not see -infinity, and returns each row's
    // largest.
    Vgpr mask_scores();
    void compute_probabilities(Vgpr row_maxima);  // to LDS
    // The wave's outputs and sums times the block's corrections, and with what its positions from group_first on add,
    // as far as any token sees them.
    void multiply_values(Vgpr corrections);
    // The lanes of number `row` in either half of `by_row` = value.
    void place(Vgpr by_row, const Argument& value, uint32_t row);

    // ---- windows and chunks: what is before them is not seen, in blocks before them nothing is looked at
    bool has_window() const { return spec_.window != 0 || spec_.chunk != 0; }
    void find_first_seen(Sgpr first, Sgpr position);  // by a token at `position`; maybe negative
    // Of the block in which the wave's first token begins to see.
    void find_first_block(Sgpr first_position);

    // ---- segments made one
    // What a total and a part of these maxima are multiplied by, in the lane of each row; total = larger.
    struct Factors {
        Vgpr total, part;
    };
    Factors merge_maxima(Vgpr total, Vgpr part);
    void merge_number(const Factors& factors, Vgpr into, Vgpr from, uint32_t row);
    // 1 / sum, a sink's share included, in the lane of each row; clobbers the sums.
    Vgpr invert(const Vector& sums, Vgpr maxima);

    // ---- rows of f32 outputs at an address: of an output, or of what is left in memory meanwhile
    Vgpr output_offset(uint32_t vector);
    void for_lanes_of_head(uint32_t vector, const std::function<void()>& body);
    // `factors`: by row, if there are any.
    void store_row(uint32_t row, Sgpr address, const Vector& outputs, std::optional<Vgpr> factors);

    const AttentionShape shape = attention_shape(spec_);
    const uint32_t vectors = shape.output_vectors, rows = shape.rows();

    const BoundArguments<AttentionArgs> bound = bind_fields();
    const Sgpr q = bound[&AttentionArgs::q], keys = bound[&AttentionArgs::keys], values = bound[&AttentionArgs::values],
               out = bound[&AttentionArgs::out], batch = bound[&AttentionArgs::batch];
    const Sgpr workgroup = launch_workgroup(), wave = sgpr();
    const Label done = label();

    // Of the wave: its first row of the batch, its tokens, its first query head.
    const Sgpr first_row = sgpr(), tokens = sgpr(), first_head = sgpr(), kv_head = sgpr();
    const Sgpr pages = sgpr(2);         // of the sequence
    const Sgpr last_position = sgpr();  // that any of its tokens sees
    std::vector<Sgpr> positions_;
    // Of the segment.
    const Sgpr page_keys = sgpr(2), page_values = sgpr(2), page_scales = sgpr(2);
    // Positions from group_first on have yet to be multiplied by values; page_values and page_scales are theirs.
    const Sgpr group_first = sgpr(), block_first = sgpr();

    const Vgpr lane = vgpr(), share_bytes = vgpr();                // within the wave; 4 bytes for each of 16 lanes
    const Vgpr element = vgpr();                                   // of the wave's first vector
    const Vgpr probability_out = vgpr(), probability_in = vgpr();  // addresses: of a lane's own, of a lane's share

    // Of a segment, and of all before it.
    struct State {
        Vector outputs, sums;  // [row][vector]; by row, of 16 lanes
        Vgpr maxima;           // by lane
    };
    void begin(const State& state);
    const State part{registers(rows * vectors), registers(rows), vgpr()};
    const Vector scores_ = registers(2 * rows);  // [row][half of the block]

private:
    BoundArguments<AttentionArgs> bind_fields();
    void locate_unit();
    void find_slopes();
    void find_slopes(uint32_t first, uint32_t count, Sgpr number, Label found);
    void scale(Vgpr score);
    // Of a half of the block, in which the token's own position has the number `limit`: how far each position is from
    // it, negative where it is seen.
    Vgpr distance(Sgpr limit);
    void hide_before(Sgpr position, std::span<const Sgpr, 2> visible);
    Vgpr sinks_by_row();
    void locate_tokens(Sgpr position, Sgpr first_token);
    Vector load_key_scales(Sgpr scales);
    void multiply_key_chunks(uint32_t elements, Sgpr chunk, Vgpr query_offset, const Vector& key_scales);
    Vgpr decode(DType type, Vgpr codes, uint32_t index);
    void add_group(const Vector& shares, const std::vector<Sgpr>& visible);
    void add_chunk(uint32_t first, uint32_t first_vector, uint32_t count, const Vector& shares,
                   const std::vector<Sgpr>& visible);
    Vgpr load_values(uint32_t vector);
    Vgpr value_scale(Sgpr scales, uint32_t position);

    const uint32_t probability_row_bytes_;

protected:
    const uint32_t probabilities;  // in LDS

private:
    const Vgpr key_offset_ = vgpr(), scale_offset_ = vgpr();
    std::vector<Sgpr> slopes_;  // by head of the wave
    Vector value_offsets_;
    std::vector<Sgpr> scale_offsets_;
};

// The two forms, of a spec that shape_of() takes.
Result<KernelProgram> tile_attention(KernelTarget target, const AttentionSpec& spec, PassOptions options);
Result<KernelProgram> vector_attention(KernelTarget target, const AttentionSpec& spec, PassOptions options);

}  // namespace riftjit::rdna::kernels
