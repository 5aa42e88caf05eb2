// Causal attention with grouped queries over the KV cache: what jit/x86/ops/attention.cpp defines, to the bit.
//
// Lanes are positions where queries meet keys, 64 of a block in two registers, and elements where probabilities meet
// values. What all lanes need alike, a row's query or its probabilities, lies in registers by 16 elements or positions,
// in either half of the wave, and comes from there within the instruction that multiplies (DPP row_share). What there
// is one of for each row (maxima, corrections, factors) lies so too, in the lane of the row's number.
//
// Tile form: a wave has rows of its own, from queries to outputs, and goes through the positions block by block; waves
// of a workgroup meet in the cache. Vector form: the four waves of a workgroup take the four blocks of a segment, then
// exchange maxima and probabilities, then each adds up outputs of its own over the whole segment, whose positions are
// in order for every output.
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/attention_shape.h"
#include "jit/rdna/kernels/cache_writer.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr float kNoScore = -0x1p126f;  // where a row's maximum starts: finite, so that no difference is of infinities
constexpr uint32_t kShare = 16;        // lanes that share
constexpr uint32_t kGroup = 16;        // positions, between two looks at what is visible
constexpr uint32_t kBatchVectors = 4;  // vectors whose values wait in registers together

class AttentionKernel final : public RdnaKernel<AttentionSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = shape.waves * lanes();
        locate_unit();
        locate_lanes();
        locate_queries();
        locate_outputs();
        is_tile() ? attend_to_tile() : attend_to_segment();
        store_quotients();
        bind(done);
    }

private:
    using Vector = std::vector<Vgpr>;

    const AttentionShape shape = attention_shape(spec_);
    const uint32_t vectors = shape.output_vectors, output_rows = shape.output_rows;

    bool is_tile() const { return spec_.form == MatmulForm::tile; }
    Vector registers(uint32_t count) {
        Vector result;
        for (uint32_t i = 0; i < count; ++i) result.push_back(vgpr());
        return result;
    }
    void clear(const Vector& values) {
        for (const Vgpr& value : values) v_mov_b32(value, 0);
    }
    void move(const Vector& to, const Vector& from) {
        for (size_t i = 0; i < to.size(); ++i) v_mov_b32(to[i], from[i]);
    }

    const BoundArguments<AttentionArgs> bound = bind_arguments<AttentionArgs>(
        {field("q", &AttentionArgs::q), field("keys", &AttentionArgs::keys), field("values", &AttentionArgs::values),
         field("out", &AttentionArgs::out), field("batch", &AttentionArgs::batch)});
    const Sgpr q = bound[&AttentionArgs::q], keys = bound[&AttentionArgs::keys], values = bound[&AttentionArgs::values],
               out = bound[&AttentionArgs::out], batch = bound[&AttentionArgs::batch];
    const Sgpr workgroup = launch_workgroup(), wave = sgpr();
    const Label done = label();

    // Of the wave: its first row of the batch, its tokens, its first query head.
    const Sgpr first_row = sgpr(), tokens = sgpr(), first_head = sgpr(), kv_head = sgpr();
    const Sgpr pages = sgpr(2);         // of the sequence
    const Sgpr last_position = sgpr();  // that any of its tokens sees
    std::vector<Sgpr> positions_, query_rows_;
    // In vector form: the parts, first all of them and then the row's, and the row's counter.
    const Sgpr parts = sgpr(2), finished = sgpr(2), first_part = sgpr();
    // Of the segment.
    const Sgpr page_keys = sgpr(2), page_values = sgpr(2), page_scales = sgpr(2);
    // Positions from group_first on have yet to be multiplied by values; page_values and page_scales are theirs.
    const Sgpr group_first = sgpr(), block_first = sgpr();

    const Vgpr lane = vgpr(), share_bytes = vgpr();  // within the wave; 4 bytes for each of 16 lanes
    const Vgpr key_offset = vgpr(), scale_offset = vgpr();
    Vector value_offsets_;
    std::vector<Sgpr> scale_offsets_;
    const Vgpr element = vgpr();     // of the wave's first vector
    const Sgpr output_row = sgpr();  // the first one of the wave's

    // Of a segment, and of all before it. In tile form the total's outputs are where the quotients will be; between
    // merge() and the next segment they are in the part's registers.
    struct State {
        std::vector<Vgpr> quads;  // of all that follows
        Vector outputs, sums;     // [row][vector]; by row, of 16 lanes
        Vgpr maxima;              // by lane
    };
    State state(bool has_outputs) {
        const uint32_t outputs = has_outputs ? output_rows * vectors : 0, count = outputs + output_rows + 1;
        std::vector<Vgpr> quads;
        for (uint32_t i = 0; i < count; i += 4) quads.push_back(vgpr(4));
        const auto number = [&](uint32_t index) { return quads[index / 4][index % 4]; };
        State result{quads, {}, {}, number(outputs + output_rows)};
        for (uint32_t i = 0; i < outputs; ++i) result.outputs.push_back(number(i));
        for (uint32_t i = 0; i < output_rows; ++i) result.sums.push_back(number(outputs + i));
        return result;
    }
    void begin(const State& state) {
        for (const Vgpr& quad : state.quads)
            for (unsigned i = 0; i < 4; ++i) v_mov_b32(quad[i], 0);
        v_mov_b32(state.maxima, kNoScore);
    }
    const State part = state(true), total = state(!is_tile());
    const Vector scores_ = registers(2 * shape.rows());  // [row][half of the block]

    // LDS. Probabilities [row][position]; in vector form what is exchanged beside them, [block][row].
    const uint32_t probability_row = (is_tile() ? kAttentionBlock : kKvPage) * 4;
    const uint32_t probabilities =
        lds(probability_row * (is_tile() ? shape.waves * shape.rows() : shape.row_shares * output_rows));
    // Of those that a wave reads or writes.
    uint32_t probability_rows() const { return is_tile() ? shape.rows() : shape.row_shares * output_rows; }
    static constexpr uint32_t kExchangeRow = 32 * 4, kQuadBytes = 32 * 16;
    const uint32_t block_maxima = is_tile() ? 0 : lds(shape.waves * kExchangeRow);
    const uint32_t new_maxima = is_tile() ? 0 : lds(shape.waves * kExchangeRow);
    const uint32_t block_corrections = is_tile() ? 0 : lds(shape.waves * kExchangeRow);
    const uint32_t count_at = is_tile() ? 0 : lds(4);
    const Vgpr probability_out = vgpr(), probability_in = vgpr();  // addresses: of a lane's own, of a lane's share
    const Vgpr probability_first = vgpr();                         // of the segment or block, of a lane's share
    const Vgpr quad_offset = vgpr();                               // of a lane's share of a part
    const Vgpr output_share = vgpr();                              // bytes of the row of the lane's share

    // ---- where everything lies
    uint32_t groups() const { return spec_.kv_heads * shape.grid_parts; }
    uint32_t head_bytes() const { return spec_.head_dim * sizeof(float); }

    void locate_unit() {
        const Sgpr unit = sgpr(), in_group = sgpr(), tiles = sgpr(2), tile = sgpr(4), pages_per_sequence = sgpr();
        if (!is_tile()) s_load_b64(parts, batch, offsetof(BatchState, parts));
        if (!is_tile()) s_load_b64(finished, batch, offsetof(BatchState, finished));
        s_load_b64(tiles, batch, is_tile() ? offsetof(BatchState, tile) : offsetof(BatchState, single));
        s_load_b64(pages, batch, offsetof(BatchState, pages));
        s_load_b32(pages_per_sequence, batch, offsetof(BatchState, pages_per_sequence));
        s_divide_u32(unit, in_group, workgroup, groups());
        if (!is_tile()) locate_segment(unit, in_group, pages_per_sequence);
        s_advance(tiles, unit, sizeof(BatchTile));
        s_load_b128(tile, tiles, 0);
        const Sgpr tile_row = tile[offsetof(BatchTile, first_row) / 4], tile_rows = tile[offsetof(BatchTile, rows) / 4],
                   sequence = tile[offsetof(BatchTile, sequence) / 4],
                   position = tile[offsetof(BatchTile, position) / 4];
        const Vgpr wave_lanes = vgpr();
        v_lshrrev_b32(wave_lanes, std::countr_zero(lanes()), launch_lane());
        v_readfirstlane_b32(wave, wave_lanes);

        const Sgpr part_of_head = sgpr(), first_token = sgpr();
        s_divide_u32(kv_head, part_of_head, in_group, shape.grid_parts);
        s_mov_b32(first_token, 0);
        if (is_tile()) {
            const Sgpr in_wave = sgpr();
            s_divide_u32(first_token, in_wave, wave, shape.wave_parts);
            s_mul_i32(first_token, first_token, shape.tokens);
            s_mul_i32(part_of_head, part_of_head, shape.wave_parts);
            s_add_co_u32(part_of_head, part_of_head, in_wave);
            s_cmp_ge_u32(first_token, tile_rows);
            s_cbranch_scc1(done);
        }
        s_mul_i32(first_head, kv_head, spec_.heads / spec_.kv_heads);
        s_mul_i32(part_of_head, part_of_head, shape.heads);
        s_add_co_u32(first_head, first_head, part_of_head);
        s_add_co_u32(first_row, tile_row, first_token);
        s_sub_co_u32(tokens, tile_rows, first_token);
        s_min_u32(tokens, tokens, shape.tokens);
        locate_tokens(position, first_token);
        if (!is_tile()) {
            s_cmp_gt_u32(group_first, last_position);
            s_cbranch_scc1(done);
        }
        s_mul_i32(sequence, sequence, pages_per_sequence);
        s_advance(pages, sequence, sizeof(uint32_t));
    }
    // Units of the vector form are segments: of each row as many as LaunchShape::segments_for() says.
    void locate_segment(Sgpr unit, Sgpr in_group, Sgpr pages_per_sequence) {
        const Sgpr bits = sgpr(), row = sgpr();
        s_lshl_b32(bits, pages_per_sequence, 1);
        s_sub_co_u32(bits, bits, 1);
        s_clz_i32_u32(bits, bits);
        s_sub_co_u32(bits, 31, bits);
        s_lshr_b32(row, unit, bits);
        s_lshl_b32(first_part, row, bits);
        s_sub_co_u32(group_first, unit, first_part);
        s_lshl_b32(group_first, group_first, std::countr_zero(kKvPage));
        s_mul_i32(first_part, first_part, groups());
        s_add_co_u32(first_part, first_part, in_group);
        s_mov_b32(unit, row);
        s_mul_i32(row, row, groups());
        s_add_co_u32(row, row, in_group);
        s_advance(finished, row, sizeof(uint32_t));
    }
    // Tokens that the tile lacks are taken to be its last one; their outputs are not stored.
    void locate_tokens(Sgpr position, Sgpr first_token) {
        s_add_co_u32(position, position, first_token);
        s_add_co_u32(last_position, position, tokens);
        s_sub_co_u32(last_position, last_position, 1);
        for (uint32_t token = 0; token < shape.tokens; ++token) {
            positions_.push_back(sgpr());
            s_add_co_u32(positions_.back(), position, token);
            if (token != 0) s_min_u32(positions_.back(), positions_.back(), last_position);
        }
    }
    void locate_lanes() {
        v_and_b32(lane, lanes() - 1, launch_lane());
        v_and_b32(share_bytes, kShare - 1, launch_lane());
        v_lshlrev_b32(share_bytes, 2, share_bytes);
        v_lshlrev_b32(key_offset, std::countr_zero(kKeyChunkBytes), lane);
        v_lshlrev_b32(scale_offset, std::countr_zero(kCacheScaleBytes), lane);

        const Sgpr vector_share = sgpr(), base = sgpr();
        s_divide_u32(output_row, vector_share, wave, is_tile() ? shape.waves : shape.vector_shares);
        if (is_tile()) {
            s_mov_b32(vector_share, 0);
            s_mul_i32(base, wave, shape.rows() * probability_row);
        } else {
            s_mul_i32(output_row, output_row, output_rows);
            s_mul_i32(base, wave, kAttentionBlock * 4);
        }
        v_lshl_add_u32(probability_out, lane, 2, base);
        if (!is_tile()) s_mul_i32(base, output_row, probability_row);
        v_add_nc_u32(probability_first, base, share_bytes);
        s_lshl_b32(base, output_row, 2);
        v_add_nc_u32(output_share, base, share_bytes);

        if (!is_tile()) {
            s_mul_i32(base, wave, uint32_t(part.quads.size()) * kQuadBytes);
            v_lshl_add_u32(quad_offset, lane, std::countr_zero(kQuadBytes / lanes()), base);
        }
        s_mul_i32(vector_share, vector_share, vectors);
        s_lshl_b32(base, vector_share, 5);
        v_add_nc_u32(element, base, lane);
        for (uint32_t vector = 0; vector < vectors; ++vector) locate_values(vector, vector_share);
    }
    // Lanes beyond the head take its last element again; it is stored once.
    bool may_exceed(uint32_t vector) const {
        const uint32_t last = (shape.vector_shares - 1) * vectors + vector;
        return (last + 1) * lanes() > spec_.head_dim;
    }
    void locate_values(uint32_t vector, Sgpr first_vector) {
        const Vgpr offset = vgpr();
        v_add_nc_u32(offset, vector * lanes(), element);
        if (may_exceed(vector)) v_min_u32(offset, spec_.head_dim - 1, offset);
        v_lshlrev_b32(offset, std::countr_zero(value_chunk_bytes(spec_.value_type)), offset);
        value_offsets_.push_back(offset);
        if (spec_.value_type != DType::Q8_0) return;
        const Sgpr scales = sgpr();
        s_add_co_u32(scales, first_vector, vector);
        s_min_u32(scales, scales, attention_vectors(spec_) - 1);
        s_mul_i32(scales, scales, kKvPage * kCacheScaleBytes);
        scale_offsets_.push_back(scales);
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
    void locate_outputs() {  // of the wave's first row
        s_advance(out, first_row, spec_.out_stride * sizeof(float));
        s_advance(out, first_head, head_bytes());
        if (!is_tile()) s_advance(out, output_row, head_bytes());
    }
    void enter_page() {
        const Sgpr number = sgpr(), page = sgpr(), address = sgpr(2);
        s_mov_b64(address, pages);
        s_lshr_b32(number, group_first, std::countr_zero(kKvPage));
        s_advance(address, number, sizeof(uint32_t));
        s_load_b32(page, address, 0);
        const uint32_t key_bytes = uint32_t(key_head_bytes(spec_.key_type, spec_.head_dim));
        s_mov_b64(page_keys, keys);
        s_advance(page_keys, page, spec_.kv_heads * key_bytes);
        s_advance(page_keys, kv_head, key_bytes);
        const uint32_t value_bytes = uint32_t(value_head_bytes(spec_.value_type, spec_.head_dim));
        s_mov_b64(page_values, values);
        s_advance(page_values, page, spec_.kv_heads * value_bytes);
        s_advance(page_values, kv_head, value_bytes);
        if (spec_.value_type == DType::Q8_0)
            s_add_u64(page_scales, page_values, uint32_t(value_scales_offset_bytes(spec_.value_type, spec_.head_dim)));
    }

    // ---- segments
    void attend_to_tile() {
        const Label next = label(), ends = label();
        begin(total);
        s_mov_b32(group_first, 0);
        bind(next);
        enter_page();
        compute_tile_segment();
        add_to_total();
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(ends);
        for_each_output([&](uint32_t row, Sgpr address) { store_row(row, address, part.outputs, {}); });
        s_branch(next);
        bind(ends);
    }
    void attend_to_segment() {
        const Label next = label();
        enter_page();
        compute_vector_segment();
        leave_part();
        begin(total);
        s_mov_b32(group_first, 0);
        s_advance(parts, first_part, part_bytes());
        bind(next);
        load_next_part();
        add_to_total();
        s_cmp_le_u32(group_first, last_position);
        s_cbranch_scc1(next);
    }
    // The first segment is the total as it is.
    void add_to_total() {
        const Label is_first = label(), is_total = label();
        s_cmp_ge_u32(kKvPage, group_first);
        s_cbranch_scc1(is_first);
        merge();
        s_branch(is_total);
        bind(is_first);
        move(total.sums, part.sums);
        if (!is_tile()) move(total.outputs, part.outputs);
        v_mov_b32(total.maxima, part.maxima);
        bind(is_total);
    }
    void compute_tile_segment() {
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
        bind(segment_ends);
        end_segment();
    }
    // group_first is where the next segment begins.
    void end_segment() {
        s_add_co_u32(group_first, group_first, kKvPage - 1);
        s_and_b32(group_first, group_first, ~(kKvPage - 1));
    }
    void compute_vector_segment() {
        const Label is_invisible = label(), next_block = label();
        begin(part);
        s_lshl_b32(block_first, wave, std::countr_zero(kAttentionBlock));
        s_add_co_u32(block_first, block_first, group_first);
        clear(scores_);
        s_cmp_gt_u32(block_first, last_position);
        s_cbranch_scc1(is_invisible);
        multiply_keys();
        bind(is_invisible);
        const Vgpr largest = mask_scores(), address = vgpr();
        const Sgpr exchange = sgpr();
        s_lshl_b32(exchange, wave, std::countr_zero(kExchangeRow));
        v_lshl_add_u32(address, lane, 2, exchange);
        ds_store_b32(address, largest, block_maxima);
        barrier();
        const Vgpr old = vgpr(), fresh = vgpr(), corrections = vgpr();
        v_mov_b32(old, kNoScore);
        for (uint32_t block = 0; block + 1 < shape.waves; ++block) {
            const Vgpr other = vgpr();
            const Sgpr is_before = lane_mask();
            ds_load_b32(other, share_bytes, block_maxima + block * kExchangeRow);
            s_cmp_gt_u32(wave, block);
            s_cselect_b32(is_before, -1, 0);
            v_cndmask_b32(other, kNoScore, other, is_before);
            v_max_num_f32(old, old, other);
        }
        v_max_num_f32(fresh, largest, old);
        v_sub_f32(old, old, fresh);
        emit_exp(*this, corrections, old, ExpDomain::not_positive);
        ds_store_b32(address, fresh, new_maxima);
        ds_store_b32(address, corrections, block_corrections);
        compute_probabilities(fresh);
        barrier();
        ds_load_b32(part.maxima, output_share, new_maxima + (shape.waves - 1) * kExchangeRow);
        const Vgpr correction_address = vgpr(), block_correction = vgpr();
        v_mov_b32(correction_address, output_share);
        v_mov_b32(probability_in, probability_first);
        bind(next_block);
        ds_load_b32(block_correction, correction_address, block_corrections);
        v_add_nc_u32(correction_address, kExchangeRow, correction_address);
        multiply_values(block_correction);
        const Label segment_ends = label();
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(segment_ends);
        s_and_b32(block_first, kKvPage - 1, group_first);
        s_cbranch_scc1(next_block);
        bind(segment_ends);
        end_segment();
    }

    // ---- scores
    void multiply_keys() {
        const Sgpr chunk = sgpr(2), scales = sgpr(2), first = sgpr(), round = sgpr();
        const Vgpr query_offset = vgpr();
        s_and_b32(first, block_first, kKvPage - 1);
        s_lshl_b32(first, first, std::countr_zero(kKeyChunkBytes));
        s_add_u64(chunk, page_keys, first);
        if (spec_.key_type == DType::Q8_0) {
            s_lshr_b32(first, first, std::countr_zero(kKeyChunkBytes / kCacheScaleBytes));
            s_add_u64(scales, page_keys, first);
            s_add_u64(scales, scales, uint32_t(key_scales_offset_bytes(spec_.key_type, spec_.head_dim)));
        }
        v_mov_b32(query_offset, share_bytes);
        const uint32_t body = spec_.key_type == DType::F32 ? 16 : 32, whole = spec_.head_dim / body;
        const auto multiply = [&](uint32_t elements) {
            Vector key_scales;
            if (spec_.key_type == DType::Q8_0) key_scales = load_key_scales(scales);
            for (uint32_t d = 0; d < elements; d += 16)
                multiply_key_chunks(std::min(16u, elements - d), chunk, query_offset, key_scales);
        };
        if (whole == 1) multiply(body);
        if (whole > 1) loop(round, 0, whole, 1, [&] { multiply(body); });
        if (spec_.head_dim % body == 0) return;
        multiply(spec_.head_dim % body);
    }
    Vector load_key_scales(Sgpr scales) {
        const Vector result = registers(2);
        for (uint32_t half = 0; half < 2; ++half) {
            global_load_u16(result[half], scale_offset, scales, half * lanes() * kCacheScaleBytes);
            v_cvt_f32_f16(result[half], result[half]);
        }
        s_add_u64(scales, scales, kKvPage * kCacheScaleBytes);
        return result;
    }
    // scores += queries times keys for 16 elements or the last few.
    void multiply_key_chunks(uint32_t elements, Sgpr chunk, Vgpr query_offset, const Vector& key_scales) {
        const uint32_t chunk_elements = key_chunk_elements(spec_.key_type);
        Vector codes;  // [chunk][half of the block]
        for (uint32_t d = 0; d < elements; d += chunk_elements) {
            for (uint32_t half = 0; half < 2; ++half) {
                codes.push_back(vgpr(4));
                global_load_b128(codes.back(), key_offset, chunk, half * lanes() * kKeyChunkBytes);
            }
            s_add_u64(chunk, chunk, kKvPage * kKeyChunkBytes);
        }
        if (elements < kShare) v_min_u32(query_offset, head_bytes() - 4, query_offset);
        Vector queries;
        for (const Sgpr& row : query_rows_) {
            queries.push_back(vgpr());
            global_load_b32(queries.back(), query_offset, row);
        }
        v_add_nc_u32(query_offset, kShare * 4, query_offset);
        for (uint32_t d = 0; d < elements; ++d)
            for (uint32_t half = 0; half < 2; ++half) {
                const Vgpr code = codes[d / chunk_elements * 2 + half];
                const Vgpr key = decode(spec_.key_type, code, d % chunk_elements);
                if (spec_.key_type == DType::Q8_0) v_mul_f32(key, key, key_scales[half]);
                for (uint32_t row = 0; row < shape.rows(); ++row)
                    v_fmac_f32(scores_[2 * row + half], queries[row], key, row_share(d));
            }
    }
    // Number `index` of the codes side by side in `codes`, as f32.
    Vgpr decode(DType type, Vgpr codes, uint32_t index) {
        if (type == DType::F32) return codes[index];
        const Vgpr value = vgpr();
        if (type == DType::F16) {
            if (index % 2 == 0) {
                v_cvt_f32_f16(value, codes[index / 2]);
            } else {
                v_lshrrev_b32(value, 16, codes[index / 2]);
                v_cvt_f32_f16(value, value);
            }
            return value;
        }
        if (index % 4 == 3)
            v_ashrrev_i32(value, 24, codes[index / 4]);
        else
            v_bfe_i32(value, codes[index / 4], 8 * (index % 4), 8);
        v_cvt_f32_i32(value, value);
        return value;
    }
    // Scales the scores, makes those behind each token's position -infinity, and returns each row's largest.
    Vgpr mask_scores() {
        const Vgpr largest = vgpr();
        v_mov_b32(largest, kNoScore);
        for (uint32_t token = 0; token < shape.tokens; ++token) {
            const Sgpr limit = sgpr(), visible[2] = {lane_mask(), lane_mask()};
            s_sub_co_u32(limit, positions_[token], block_first);
            v_cmp_ge_i32(visible[0], limit, lane);
            s_sub_co_u32(limit, limit, lanes());
            v_cmp_ge_i32(visible[1], limit, lane);
            for (uint32_t head = 0; head < shape.heads; ++head) {
                const uint32_t row = token * shape.heads + head;
                for (uint32_t half = 0; half < 2; ++half) {
                    const Vgpr score = scores_[2 * row + half];
                    v_mul_f32(score, spec_.scale, score);
                    v_cndmask_b32(score, -std::numeric_limits<float>::infinity(), score, visible[half]);
                }
                const Vgpr row_largest = vgpr(), other = vgpr();
                v_max_num_f32(row_largest, scores_[2 * row], scores_[2 * row + 1]);
                wave_max_f32(row_largest, other);
                place(largest, row_largest, row);
            }
        }
        return largest;
    }
    // The lanes of number `row` in either half of `by_row` = value.
    void place(Vgpr by_row, Vgpr value, uint32_t row) {
        const Sgpr is_row = lane_mask();
        s_mov_b32(is_row, 0x0001'0001u << row);
        v_cndmask_b32(by_row, by_row, value, is_row);
    }
    // To LDS.
    void compute_probabilities(Vgpr row_maxima) {
        for (uint32_t row = 0; row < shape.rows(); ++row)
            for (uint32_t half = 0; half < 2; ++half) {
                const Vgpr difference = vgpr(), probability = vgpr();
                v_subrev_f32(difference, row_maxima, scores_[2 * row + half], row_share(row));
                emit_exp(*this, probability, difference, ExpDomain::not_positive);
                const uint32_t end = row + 1 == shape.rows() ? probability_rows() : row + 1;
                for (uint32_t to = row; to < end; ++to)  // what is beyond the last row is read, not stored
                    ds_store_b32(probability_out, probability,
                                 probabilities + to * probability_row + half * lanes() * 4);
            }
    }

    // ---- outputs
    // The wave's outputs and sums times the block's corrections, and with what its positions from group_first on add,
    // as far as any token sees them.
    void multiply_values(Vgpr corrections) {
        for (uint32_t row = 0; row < output_rows; ++row) {
            v_mul_f32(part.sums[row], corrections, part.sums[row], row_share(row));
            for (uint32_t vector = 0; vector < vectors; ++vector) {
                const Vgpr output = part.outputs[row * vectors + vector];
                v_mul_f32(output, corrections, output, row_share(row));
            }
        }
        const Label next = label(), is_partial = label(), is_added = label(), ends = label();
        bind(next);
        Vector shares;
        for (uint32_t row = 0; row < output_rows; ++row) {
            shares.push_back(vgpr());
            ds_load_b32(shares[row], probability_in, probabilities + row * probability_row);
            v_add_f32(part.sums[row], part.sums[row], shares[row]);
        }
        v_add_nc_u32(probability_in, kGroup * 4, probability_in);
        const Sgpr last = sgpr();
        s_add_co_u32(last, group_first, kGroup - 1);
        s_cmp_gt_u32(last, positions_[0]);
        s_cbranch_scc1(is_partial);
        add_group(shares, {});
        s_branch(is_added);
        bind(is_partial);
        std::vector<Sgpr> visible;  // the number of the last position that a token sees, maybe negative or beyond
        for (const Sgpr& position : positions_) {
            visible.push_back(sgpr());
            s_sub_co_u32(visible.back(), position, group_first);
        }
        add_group(shares, visible);
        bind(is_added);
        s_add_co_u32(group_first, group_first, kGroup);
        if (spec_.value_type == DType::Q8_0) s_add_u64(page_scales, page_scales, kGroup * kCacheScaleBytes);
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(ends);
        s_and_b32(last, kAttentionBlock - 1, group_first);
        s_cbranch_scc1(next);
        bind(ends);
    }

    // Values beyond a token's position are not even multiplied by 0. `visible`: empty where all tokens see all.
    void add_group(const Vector& shares, const std::vector<Sgpr>& visible) {
        const uint32_t chunk_bytes = spec_.head_dim * value_chunk_bytes(spec_.value_type);
        for (uint32_t first = 0; first < kGroup; first += kValueChunkPositions) {
            for (uint32_t vector = 0; vector < vectors; vector += kBatchVectors)
                add_chunk(first, vector, std::min(kBatchVectors, vectors - vector), shares, visible);
            s_add_u64(page_values, page_values, chunk_bytes);
        }
    }
    void add_chunk(uint32_t first, uint32_t first_vector, uint32_t count, const Vector& shares,
                   const std::vector<Sgpr>& visible) {
        std::vector<Vgpr> codes;
        std::vector<Sgpr> scales;
        for (uint32_t vector = first_vector; vector < first_vector + count; ++vector) {
            codes.push_back(load_values(vector));
            if (spec_.value_type != DType::Q8_0) continue;
            scales.push_back(sgpr(4));
            s_load_b128(scales.back(), page_scales, scale_offsets_[vector], first * kCacheScaleBytes);
        }
        for (uint32_t position = 0; position < kValueChunkPositions; ++position) {
            Vector decoded;
            for (uint32_t i = 0; i < count; ++i) {
                decoded.push_back(decode(spec_.value_type, codes[i], position));
                if (spec_.value_type == DType::Q8_0)
                    v_mul_f32(decoded[i], value_scale(scales[i], position), decoded[i]);
            }
            const uint32_t tokens_apart = visible.empty() ? 1 : uint32_t(visible.size());
            const uint32_t rows_together = output_rows / tokens_apart;
            for (uint32_t token = 0; token < tokens_apart; ++token) {
                const Label skip = label();
                if (!visible.empty()) {
                    s_cmp_lt_i32(visible[token], first + position);
                    s_cbranch_scc1(skip);
                }
                for (uint32_t row = token * rows_together; row < (token + 1) * rows_together; ++row)
                    for (uint32_t i = 0; i < count; ++i)
                        v_fmac_f32(part.outputs[row * vectors + first_vector + i], shares[row], decoded[i],
                                   row_share(first + position));
                bind(skip);
            }
        }
    }
    Vgpr load_values(uint32_t vector) {
        const Vgpr offset = value_offsets_[vector];
        if (spec_.value_type == DType::F32) {
            const Vgpr codes = vgpr(8);
            for (uint32_t half = 0; half < 2; ++half)
                global_load_b128(codes.part(4 * half, 4), offset, page_values, 16 * half);
            return codes;
        }
        const Vgpr codes = vgpr(spec_.value_type == DType::F16 ? 4 : 2);
        spec_.value_type == DType::F16 ? global_load_b128(codes, offset, page_values)
                                       : global_load_b64(codes, offset, page_values);
        return codes;
    }
    Vgpr value_scale(Sgpr scales, uint32_t position) {
        const Vgpr scale = vgpr();
        if (position % 2 == 0) {
            v_cvt_f32_f16(scale, scales[position / 2]);
        } else {
            const Sgpr high = sgpr();
            s_lshr_b32(high, scales[position / 2], 16);
            v_cvt_f32_f16(scale, high);
        }
        return scale;
    }

    // ---- segments made one: total = total and part, for the tokens that see something of the segment before
    // group_first
    void merge() {
        const Vgpr largest = vgpr(), total_difference = vgpr(), part_difference = vgpr();
        const Vgpr total_factors = vgpr(), part_factors = vgpr();
        v_max_num_f32(largest, total.maxima, part.maxima);
        v_sub_f32(total_difference, total.maxima, largest);
        v_sub_f32(part_difference, part.maxima, largest);
        v_mov_b32(total.maxima, largest);
        emit_exp(*this, total_factors, total_difference, ExpDomain::not_positive);
        emit_exp(*this, part_factors, part_difference, ExpDomain::not_positive);
        const auto merge_number = [&](Vgpr into, Vgpr from, uint32_t row) {
            v_mul_f32(into, total_factors, into, row_share(row));
            v_fmac_f32(into, part_factors, from, row_share(row));
        };
        if (!is_tile()) {
            for (uint32_t row = 0; row < output_rows; ++row) {
                merge_number(total.sums[row], part.sums[row], row);
                for (uint32_t i = row * vectors; i < (row + 1) * vectors; ++i)
                    merge_number(total.outputs[i], part.outputs[i], row);
            }
            return;
        }
        const Sgpr segment = sgpr();
        s_sub_co_u32(segment, group_first, kKvPage);
        for_each_output([&](uint32_t row, Sgpr address) {
            const Label is_merged = label();
            Vector outputs = registers(vectors);
            for (uint32_t vector = 0; vector < vectors; ++vector) load_output(outputs[vector], vector, address);
            if (row / shape.heads + 1 < shape.tokens) {  // the last one sees every segment that the wave comes to
                s_cmp_lt_u32(positions_[row / shape.heads], segment);
                s_cbranch_scc1(is_merged);
            }
            merge_number(total.sums[row], part.sums[row], row);
            for (uint32_t i = 0; i < vectors; ++i) merge_number(outputs[i], part.outputs[row * vectors + i], row);
            bind(is_merged);
            for (uint32_t i = 0; i < vectors; ++i) v_mov_b32(part.outputs[row * vectors + i], outputs[i]);
        });
    }

    // ---- a segment that is a workgroup's alone: whoever finishes a row's last one merges all
    uint32_t part_bytes() const { return uint32_t(attention_part_bytes(spec_)); }
    // address = the wave's share of a part.
    void for_each_quad(Sgpr address, const std::function<void(Vgpr quad, uint32_t offset)>& visit) {
        constexpr uint32_t kReach = 2048;  // whose bytes gfx10 can add to an address
        for (uint32_t i = 0; i < part.quads.size(); ++i) {
            if (i != 0 && i * kQuadBytes % kReach == 0) s_add_u64(address, address, kReach);
            visit(part.quads[i], i * kQuadBytes % kReach);
        }
    }
    void leave_part() {
        const Sgpr address = sgpr(2), number = sgpr(), last_segment = sgpr();
        const Vgpr zero = vgpr(), last = vgpr(), finished_before = vgpr();
        s_mov_b64(address, parts);
        s_advance(address, workgroup, part_bytes());
        for_each_quad(address,
                      [&](Vgpr quad, uint32_t offset) { global_store_b128(quad_offset, quad, address, offset); });
        v_mov_b32(zero, 0);
        s_lshr_b32(last_segment, last_position, std::countr_zero(kKvPage));
        v_mov_b32(last, last_segment);
        release_memory(Scope::device);
        barrier(Exchange::nothing);
        const Label is_counted = label();
        s_cmp_lg_u32(wave, 0);
        s_cbranch_scc1(is_counted);
        v_cmp_eq_u32(vcc(), 0, lane);
        if_lanes(vcc(), [&] {
            // Counts to the row's last segment and is 0 behind it, for the next launch.
            global_atomic_inc_u32(finished_before, zero, last, finished, atomic_policy(Scope::device));
            ds_store_b32(zero, finished_before, count_at);
        });
        bind(is_counted);
        barrier();
        ds_load_b32(finished_before, zero, count_at);
        v_readfirstlane_b32(number, finished_before);
        s_cmp_lg_u32(number, last_segment);
        s_cbranch_scc1(done);
        acquire_memory(Scope::device);
    }
    void load_next_part() {
        const Sgpr address = sgpr(2);
        s_mov_b64(address, parts);
        for_each_quad(address,
                      [&](Vgpr quad, uint32_t offset) { global_load_b128(quad, quad_offset, address, offset); });
        s_add_u64(parts, parts, groups() * part_bytes());
        s_add_co_u32(group_first, group_first, kKvPage);
    }

    // ---- the end: outputs divided by the sums
    // The rows that are to be stored: of the tile's tokens, or of the wave's share of heads.
    void for_each_output(const std::function<void(uint32_t row, Sgpr address)>& visit) {
        const Label ends = label();
        const Sgpr address = sgpr(2);
        for (uint32_t row = 0; row < output_rows; ++row) {
            const uint32_t token = is_tile() ? row / shape.heads : 0, head = is_tile() ? row % shape.heads : row;
            if (is_tile() && token != 0 && head == 0) {
                s_cmp_le_u32(tokens, token);
                s_cbranch_scc1(ends);
            }
            if (!is_tile()) {
                const Sgpr number = sgpr();
                s_add_co_u32(number, output_row, row);
                s_cmp_ge_u32(number, shape.heads);
                s_cbranch_scc1(ends);
            }
            s_add_u64(address, out, token * spec_.out_stride * uint32_t(sizeof(float)) + head * head_bytes());
            visit(row, address);
        }
        bind(ends);
    }
    void store_quotients() {
        const Vgpr all = vgpr(), inverse = vgpr();
        v_mov_b32(all, 1.0f);
        for (uint32_t row = 0; row < output_rows; ++row) {
            const Vgpr sum = total.sums[row];
            for (const unsigned distance : {8u, 4u, 2u, 1u}) v_add_f32(sum, sum, sum, row_xmask(distance));
            place(all, sum, row);
        }
        emit_divide(*this, inverse, 1.0f, all);
        for_each_output([&](uint32_t row, Sgpr address) {
            store_row(row, address, is_tile() ? part.outputs : total.outputs, inverse);
        });
    }
    // `factors`: by row, if there are any.
    void store_row(uint32_t row, Sgpr address, const Vector& outputs, std::optional<Vgpr> factors) {
        for (uint32_t vector = 0; vector < vectors; ++vector) {
            Vgpr value = outputs[row * vectors + vector];
            if (factors) {
                value = vgpr();
                v_mul_f32(value, *factors, outputs[row * vectors + vector], row_share(row));
            }
            const Vgpr offset = output_offset(vector);
            if (!may_exceed(vector)) {
                global_store_b32(offset, value, address);
                continue;
            }
            const Sgpr is_inside = lane_mask();
            v_cmp_gt_u32(is_inside, head_bytes(), offset);
            if_lanes(is_inside, [&] { global_store_b32(offset, value, address); });
        }
    }
    void load_output(Vgpr value, uint32_t vector, Sgpr address) {
        const Vgpr offset = output_offset(vector);
        if (may_exceed(vector)) v_min_u32(offset, head_bytes() - 4, offset);
        global_load_b32(value, offset, address);
    }
    Vgpr output_offset(uint32_t vector) {
        const Vgpr offset = vgpr();
        v_lshlrev_b32(offset, 2, element);
        if (vector != 0) v_add_nc_u32(offset, vector * lanes() * 4, offset);
        return offset;
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const AttentionSpec& spec) {
    constexpr uint32_t kMaxElements = 1024;  // whose outputs a wave has in registers
    RIFTJIT_TRY_VOID(check_wave32("attention", target.wave_size));
    RIFTJIT_TRY_VOID(refuse_if(spec.head_dim > kMaxElements, "attention",
                               fmt::format("heads of {}, more than {}", spec.head_dim, kMaxElements)));
    const AttentionShape shape = attention_shape(spec);
    return LaunchShape{shape.waves * lanes(target.wave_size), spec.kv_heads * shape.grid_parts, 1,
                       attention_part_bytes(spec)};
}

Result<KernelProgram> program_of(KernelTarget target, const AttentionSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<AttentionKernel>(target, spec, "attention", options);
}

}  // namespace riftjit::rdna::kernels
