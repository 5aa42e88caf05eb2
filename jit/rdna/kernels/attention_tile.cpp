// Tile form: a wave has rows of its own, from queries to outputs, and goes through the positions block by block; waves
// of a workgroup meet in the cache.
#include <functional>

#include "jit/rdna/kernels/attention_kernel.h"
#include "jit/rdna/kernels/numerics.h"

namespace riftjit::rdna::kernels {
namespace {

class TileAttention final : public AttentionKernel {
public:
    TileAttention(KernelTarget target, const AttentionSpec& spec, std::string_view)
        : TileAttention(target, spec, attention_shape(spec)) {}

private:
    TileAttention(KernelTarget target, const AttentionSpec& spec, const AttentionShape& shape)
        : AttentionKernel(target, spec, kRowBytes, kRowBytes * shape.rows() * shape.waves) {}

    static constexpr uint32_t kRowBytes = kAttentionBlock * 4;  // of probabilities

    // Of all segments before: sums and maxima. Its outputs are where the quotients will be; between merge() and the
    // next segment they are in the part's registers.
    const State total{{}, registers(rows), vgpr()};
    std::vector<Sgpr> query_rows_;
    const Vgpr probability_first = vgpr();  // of the block, of a lane's share

    void number_tile(Sgpr, Sgpr, Sgpr) override {}
    void divide_tile(Sgpr tile_rows, Sgpr first_token, Sgpr part_of_head) override {
        const Sgpr in_wave = sgpr();
        s_divide_u32(first_token, in_wave, wave, shape.wave_parts);
        s_mul_i32(first_token, first_token, shape.tokens);
        s_mul_i32(part_of_head, part_of_head, shape.wave_parts);
        s_add_co_u32(part_of_head, part_of_head, in_wave);
        s_cmp_ge_u32(first_token, tile_rows);
        s_cbranch_scc1(done);
    }
    void locate_lanes() override {
        const Sgpr base = sgpr();
        s_mul_i32(base, wave, shape.rows() * kRowBytes);
        v_lshl_add_u32(probability_out, lane, 2, base);
        v_add_nc_u32(probability_first, base, share_bytes);
        s_mov_b32(base, 0);
        v_mov_b32(element, lane);
        locate_values(base);
        locate_queries();
        s_advance(out, first_row, spec_.out_stride * sizeof(float));
        s_advance(out, first_head, head_bytes());
    }
    void locate_queries() {
        for (uint32_t token = 0; token < shape.tokens; ++token) {
            const Sgpr row = sgpr();
            s_sub_co_u32(row, positions_[token], positions_[0]);
            s_add_co_u32(row, row, first_row);
            for (uint32_t head = 0; head < shape.heads; ++head) {
                query_rows_.push_back(sgpr(2));
                const Sgpr& address = query_rows_.back();
                s_mov_b64(address, q);
                s_advance(address, row, spec_.q_stride * sizeof(float));
                s_advance(address, first_head, head_bytes());
                if (head != 0) s_add_u64(address, address, head * head_bytes());
            }
        }
    }
    Vector load_queries(Vgpr share) override {
        const Vector queries = registers(rows);
        for (uint32_t row = 0; row < queries.size(); ++row) global_load_b32(queries[row], share, query_rows_[row]);
        return queries;
    }

    void attend() override {
        const Label next = label(), ends = label();
        begin(total);
        s_mov_b32(group_first, 0);
        if (has_window()) {
            find_first_block(group_first);
            begin(part);
            for_each_output([&](uint32_t row, Sgpr address) { store_row(row, address, part.outputs, {}); });
        }
        bind(next);
        enter_page();
        compute_segment();
        add_to_total();
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(ends);
        for_each_output([&](uint32_t row, Sgpr address) { store_row(row, address, part.outputs, {}); });
        s_branch(next);
        bind(ends);
        const Vgpr inverse = invert(total.sums, total.maxima);
        for_each_output([&](uint32_t row, Sgpr address) { store_row(row, address, part.outputs, inverse); });
    }
    void compute_segment() {
        const Label next_block = label();
        begin(part);
        bind(next_block);
        s_mov_b32(block_first, group_first);
        clear(scores_);
        multiply_keys();
        const Vgpr largest = mask_scores(), old = vgpr(), corrections = vgpr();
        v_mov_b32(old, part.maxima);
        v_max_num_f32(part.maxima, largest, part.maxima);
        v_sub_f32(old, old, part.maxima);
        emit_exp(*this, corrections, old, ExpDomain::not_positive);
        compute_probabilities(part.maxima);
        v_mov_b32(probability_in, probability_first);
        multiply_values(corrections);
        s_cmp_gt_u32(group_first, last_position);
        const Label segment_ends = label();
        s_cbranch_scc1(segment_ends);
        s_and_b32(block_first, kKvPage - 1, group_first);
        s_cbranch_scc1(next_block);
        bind(segment_ends);  // group_first becomes where the next one begins
        s_add_co_u32(group_first, group_first, kKvPage - 1);
        s_and_b32(group_first, group_first, ~(kKvPage - 1));
    }
    // The first segment is the total as it is; with a window each is merged, the first with a total of zeros.
    void add_to_total() {
        if (has_window()) return merge();
        const Label is_first = label(), is_total = label();
        s_cmp_ge_u32(kKvPage, group_first);
        s_cbranch_scc1(is_first);
        merge();
        s_branch(is_total);
        bind(is_first);
        for (uint32_t row = 0; row < rows; ++row) v_mov_b32(total.sums[row], part.sums[row]);
        v_mov_b32(total.maxima, part.maxima);
        bind(is_total);
    }
    // total = total and part, for the tokens that see something of the segment before group_first.
    void merge() {
        const Factors factors = merge_maxima(total.maxima, part.maxima);
        const Sgpr segment = sgpr();
        s_sub_co_u32(segment, group_first, kKvPage);
        for_each_output([&](uint32_t row, Sgpr address) {
            const Label is_merged = label();
            const Vector outputs = registers(vectors);
            for (uint32_t vector = 0; vector < vectors; ++vector) load_output(outputs[vector], vector, address);
            if (row / shape.heads + 1 < shape.tokens) {  // the last one sees every segment that the wave comes to
                s_cmp_lt_u32(positions_[row / shape.heads], segment);
                s_cbranch_scc1(is_merged);
            }
            merge_number(factors, total.sums[row], part.sums[row], row);
            for (uint32_t i = 0; i < vectors; ++i)
                merge_number(factors, outputs[i], part.outputs[row * vectors + i], row);
            bind(is_merged);
            for (uint32_t i = 0; i < vectors; ++i) v_mov_b32(part.outputs[row * vectors + i], outputs[i]);
        });
    }
    void load_output(Vgpr value, uint32_t vector, Sgpr address) {
        const Vgpr offset = output_offset(vector);
        if (may_exceed(vector)) v_min_u32(offset, head_bytes() - 4, offset);
        global_load_b32(value, offset, address);
    }

    // The rows of the tile's tokens.
    void for_each_output(const std::function<void(uint32_t row, Sgpr address)>& visit) {
        const Label ends = label();
        const Sgpr address = sgpr(2);
        for (uint32_t row = 0; row < rows; ++row) {
            const uint32_t token = row / shape.heads, head = row % shape.heads;
            if (token != 0 && head == 0) {
                s_cmp_le_u32(tokens, token);
                s_cbranch_scc1(ends);
            }
            s_add_u64(address, out, token * spec_.out_stride * uint32_t(sizeof(float)) + head * head_bytes());
            visit(row, address);
        }
        bind(ends);
    }
};

}  // namespace

Result<KernelProgram> tile_attention(KernelTarget target, const AttentionSpec& spec, PassOptions options) {
    return assemble<TileAttention>(target, spec, "attention", options);
}

}  // namespace riftjit::rdna::kernels
