#include "jit/rdna/kernels/attention_kernel.h"

#include <limits>

#include "jit/alibi.h"
#include "jit/rdna/kernels/activation.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {
constexpr uint32_t kBatchVectors = 4;  // vectors whose values wait in registers together
}

AttentionKernel::AttentionKernel(KernelTarget target, const AttentionSpec& spec, uint32_t probability_row_bytes,
                                 uint32_t lds_bytes)
    : RdnaKernel(target, spec, "attention"),
      probability_row_bytes_(probability_row_bytes),
      probabilities(lds(lds_bytes)) {}

BoundArguments<AttentionArgs> AttentionKernel::bind_fields() {
    const ArgumentField q_field = field("q", &AttentionArgs::q), keys_field = field("keys", &AttentionArgs::keys),
                        values_field = field("values", &AttentionArgs::values),
                        out_field = field("out", &AttentionArgs::out),
                        batch_field = field("batch", &AttentionArgs::batch);
    if (spec_.sinks == Presence::absent)
        return bind_arguments<AttentionArgs>({q_field, keys_field, values_field, out_field, batch_field});
    return bind_arguments<AttentionArgs>(
        {q_field, keys_field, values_field, out_field, batch_field, field("sinks", &AttentionArgs::sinks)});
}

void AttentionKernel::generate() {
    header_.max_flat_workgroup_size = shape.waves * lanes();
    locate_unit();
    v_and_b32(lane, lanes() - 1, launch_lane());
    v_and_b32(share_bytes, kShare - 1, launch_lane());
    v_lshlrev_b32(share_bytes, 2, share_bytes);
    v_lshlrev_b32(key_offset_, std::countr_zero(kKeyChunkBytes), lane);
    v_lshlrev_b32(scale_offset_, std::countr_zero(kCacheScaleBytes), lane);
    if (spec_.alibi != 0) find_slopes();
    locate_lanes();
    attend();
    bind(done);
}

AttentionKernel::Vector AttentionKernel::registers(uint32_t count) {
    Vector result;
    for (uint32_t i = 0; i < count; ++i) result.push_back(vgpr());
    return result;
}

void AttentionKernel::clear(const Vector& values) {
    for (const Vgpr& value : values) v_mov_b32(value, 0);
}

void AttentionKernel::begin(const State& state) {
    clear(state.outputs);
    clear(state.sums);
    v_mov_b32(state.maxima, kNoScore);
}

// ---- where everything lies

void AttentionKernel::locate_unit() {
    const Sgpr unit = sgpr(), in_group = sgpr(), tiles = sgpr(2), tile = sgpr(4), pages_per_sequence = sgpr();
    const bool is_tile = spec_.form == MatmulForm::tile;
    s_load_b64(tiles, batch, is_tile ? offsetof(BatchState, tile) : offsetof(BatchState, single));
    s_load_b64(pages, batch, offsetof(BatchState, pages));
    s_load_b32(pages_per_sequence, batch, offsetof(BatchState, pages_per_sequence));
    s_divide_u32(unit, in_group, workgroup, groups());
    number_tile(unit, in_group, pages_per_sequence);
    s_advance(tiles, unit, sizeof(BatchTile));
    s_load_b128(tile, tiles, 0);
    const Sgpr tile_row = tile[offsetof(BatchTile, first_row) / 4], tile_rows = tile[offsetof(BatchTile, rows) / 4],
               sequence = tile[offsetof(BatchTile, sequence) / 4], position = tile[offsetof(BatchTile, position) / 4];
    const Vgpr wave_lanes = vgpr();
    v_lshrrev_b32(wave_lanes, std::countr_zero(lanes()), launch_lane());
    v_readfirstlane_b32(wave, wave_lanes);

    const Sgpr part_of_head = sgpr(), first_token = sgpr();
    s_divide_u32(kv_head, part_of_head, in_group, shape.grid_parts);
    s_mov_b32(first_token, 0);
    divide_tile(tile_rows, first_token, part_of_head);
    s_mul_i32(first_head, kv_head, spec_.heads / spec_.kv_heads);
    s_mul_i32(part_of_head, part_of_head, shape.heads);
    s_add_co_u32(first_head, first_head, part_of_head);
    s_add_co_u32(first_row, tile_row, first_token);
    s_sub_co_u32(tokens, tile_rows, first_token);
    s_min_u32(tokens, tokens, shape.tokens);
    locate_tokens(position, first_token);
    s_mul_i32(sequence, sequence, pages_per_sequence);
    s_advance(pages, sequence, sizeof(uint32_t));
}

// Heads of a wave begin at a multiple of their number: a branch for each, found by halves.
void AttentionKernel::find_slopes() {
    const Label found = label();
    const Sgpr number = sgpr();
    for (uint32_t head = 0; head < shape.heads; ++head) slopes_.push_back(sgpr());
    s_divide_u32(number, first_head, shape.heads);
    find_slopes(0, spec_.heads / shape.heads, number, found);
    bind(found);
}

void AttentionKernel::find_slopes(uint32_t first, uint32_t count, Sgpr number, Label found) {
    if (count == 1) {
        for (uint32_t head = 0; head < shape.heads; ++head)
            s_mov_b32(slopes_[head], float(alibi_slope(first * shape.heads + head, spec_.heads, spec_.alibi)));
        return;
    }
    const Label is_upper = label();
    s_cmp_ge_u32(number, first + count / 2);
    s_cbranch_scc1(is_upper);
    find_slopes(first, count / 2, number, found);
    s_branch(found);
    bind(is_upper);
    find_slopes(first + count / 2, count - count / 2, number, found);
}

void AttentionKernel::find_first_seen(Sgpr first, Sgpr position) {
    if (spec_.chunk != 0) return s_and_b32(first, position, ~(spec_.chunk - 1));
    s_sub_co_u32(first, position, spec_.window - 1);
}

void AttentionKernel::find_first_block(Sgpr first_position) {
    find_first_seen(first_position, positions_[0]);
    s_max_i32(first_position, first_position, 0);
    s_and_b32(first_position, first_position, ~(kAttentionBlock - 1));
}

// Tokens that the tile lacks are taken to be its last one; their outputs are not stored.
void AttentionKernel::locate_tokens(Sgpr position, Sgpr first_token) {
    s_add_co_u32(position, position, first_token);
    s_add_co_u32(last_position, position, tokens);
    s_sub_co_u32(last_position, last_position, 1);
    for (uint32_t token = 0; token < shape.tokens; ++token) {
        positions_.push_back(sgpr());
        s_add_co_u32(positions_.back(), position, token);
        if (token != 0) s_min_u32(positions_.back(), positions_.back(), last_position);
    }
}

bool AttentionKernel::may_exceed(uint32_t vector) const {
    const uint32_t last = (shape.vector_shares - 1) * vectors + vector;
    return (last + 1) * lanes() > spec_.head_dim;
}

void AttentionKernel::locate_values(Sgpr first_vector) {
    for (uint32_t vector = 0; vector < vectors; ++vector) {
        const Vgpr offset = vgpr();
        v_add_nc_u32(offset, vector * lanes(), element);
        if (may_exceed(vector)) v_min_u32(offset, spec_.head_dim - 1, offset);
        v_lshlrev_b32(offset, std::countr_zero(value_chunk_bytes(spec_.value_type)), offset);
        value_offsets_.push_back(offset);
        if (spec_.value_type != DType::Q8_0) continue;
        const Sgpr scales = sgpr();
        s_add_co_u32(scales, first_vector, vector);
        s_min_u32(scales, scales, attention_vectors(spec_) - 1);
        s_mul_i32(scales, scales, kKvPage * kCacheScaleBytes);
        scale_offsets_.push_back(scales);
    }
}

void AttentionKernel::enter_page() {
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
    if (!has_window()) return;
    const Sgpr chunks = sgpr();  // before group_first: a window's first block may not be the page's
    s_and_b32(chunks, group_first, kKvPage - 1);
    if (spec_.value_type == DType::Q8_0) s_advance(page_scales, chunks, kCacheScaleBytes);
    s_lshr_b32(chunks, chunks, std::countr_zero(kValueChunkPositions));
    s_advance(page_values, chunks, spec_.head_dim * value_chunk_bytes(spec_.value_type));
}

// ---- scores

void AttentionKernel::multiply_keys() {
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

AttentionKernel::Vector AttentionKernel::load_key_scales(Sgpr scales) {
    const Vector result = registers(2);
    for (uint32_t half = 0; half < 2; ++half) {
        global_load_u16(result[half], scale_offset_, scales, half * lanes() * kCacheScaleBytes);
        v_cvt_f32_f16(result[half], result[half]);
    }
    s_add_u64(scales, scales, kKvPage * kCacheScaleBytes);
    return result;
}

// scores += queries times keys for 16 elements or the last few.
void AttentionKernel::multiply_key_chunks(uint32_t elements, Sgpr chunk, Vgpr query_offset, const Vector& key_scales) {
    const uint32_t chunk_elements = key_chunk_elements(spec_.key_type);
    Vector codes;  // [chunk][half of the block]
    for (uint32_t d = 0; d < elements; d += chunk_elements) {
        for (uint32_t half = 0; half < 2; ++half) {
            codes.push_back(vgpr(4));
            global_load_b128(codes.back(), key_offset_, chunk, half * lanes() * kKeyChunkBytes);
        }
        s_add_u64(chunk, chunk, kKvPage * kKeyChunkBytes);
    }
    if (elements < kShare) v_min_u32(query_offset, head_bytes() - 4, query_offset);
    const Vector queries = load_queries(query_offset);
    v_add_nc_u32(query_offset, kShare * 4, query_offset);
    for (uint32_t d = 0; d < elements; ++d)
        for (uint32_t half = 0; half < 2; ++half) {
            const Vgpr code = codes[d / chunk_elements * 2 + half];
            const Vgpr key = decode(spec_.key_type, code, d % chunk_elements);
            if (spec_.key_type == DType::Q8_0) v_mul_f32(key, key, key_scales[half]);
            for (uint32_t row = 0; row < rows; ++row)
                v_fmac_f32(scores_[2 * row + half], queries[row], key, row_share(d));
        }
}

// Number `index` of the codes side by side in `codes`, as f32.
Vgpr AttentionKernel::decode(DType type, Vgpr codes, uint32_t index) {
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

Vgpr AttentionKernel::mask_scores() {
    const Vgpr largest = vgpr();
    v_mov_b32(largest, kNoScore);
    for (uint32_t token = 0; token < shape.tokens; ++token) {
        const Sgpr limit = sgpr(), visible[2] = {lane_mask(), lane_mask()};
        Vector distances;
        s_sub_co_u32(limit, positions_[token], block_first);
        for (uint32_t half = 0; half < 2; ++half) {
            if (half != 0) s_sub_co_u32(limit, limit, lanes());
            v_cmp_ge_i32(visible[half], limit, lane);
            if (spec_.alibi != 0) distances.push_back(distance(limit));
        }
        if (has_window()) hide_before(positions_[token], visible);
        for (uint32_t head = 0; head < shape.heads; ++head) {
            const uint32_t row = token * shape.heads + head;
            for (uint32_t half = 0; half < 2; ++half) {
                const Vgpr score = scores_[2 * row + half];
                scale(score);
                if (spec_.alibi != 0) v_fmac_f32(score, slopes_[head], distances[half]);
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

void AttentionKernel::scale(Vgpr score) {
    if (spec_.softcap == 0) return v_mul_f32(score, spec_.scale, score);
    const Vgpr quotient = vgpr();
    v_mul_f32(quotient, spec_.scale / spec_.softcap, score);
    emit_tanh(*this, score, quotient);
    v_mul_f32(score, spec_.softcap, score);
}

Vgpr AttentionKernel::distance(Sgpr limit) {
    const Vgpr result = vgpr();
    v_sub_nc_u32(result, lane, limit);
    v_cvt_f32_i32(result, result);
    return result;
}

void AttentionKernel::hide_before(Sgpr position, std::span<const Sgpr, 2> visible) {
    const Sgpr first = sgpr(), is_inside = lane_mask();
    find_first_seen(first, position);
    s_sub_co_u32(first, first, block_first);
    for (uint32_t half = 0; half < 2; ++half) {
        if (half != 0) s_sub_co_u32(first, first, lanes());
        v_cmp_le_i32(is_inside, first, lane);
        s_and_mask(visible[half], visible[half], is_inside);
    }
}

void AttentionKernel::place(Vgpr by_row, const Argument& value, uint32_t row) {
    const Sgpr is_row = lane_mask();
    s_mov_b32(is_row, 0x0001'0001u << row);
    v_cndmask_b32(by_row, by_row, value, is_row);
}

void AttentionKernel::compute_probabilities(Vgpr row_maxima) {
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t half = 0; half < 2; ++half) {
            const Vgpr difference = vgpr(), probability = vgpr();
            v_subrev_f32(difference, row_maxima, scores_[2 * row + half], row_share(row));
            emit_exp(*this, probability, difference, ExpDomain::not_positive);
            ds_store_b32(probability_out, probability,
                         probabilities + row * probability_row_bytes_ + half * lanes() * 4);
        }
}

// ---- outputs

void AttentionKernel::multiply_values(Vgpr corrections) {
    for (uint32_t row = 0; row < rows; ++row) {
        v_mul_f32(part.sums[row], corrections, part.sums[row], row_share(row));
        for (uint32_t vector = 0; vector < vectors; ++vector) {
            const Vgpr output = part.outputs[row * vectors + vector];
            v_mul_f32(output, corrections, output, row_share(row));
        }
    }
    const Label next = label(), is_partial = label(), is_added = label(), ends = label();
    bind(next);
    Vector shares;
    for (uint32_t row = 0; row < rows; ++row) {
        shares.push_back(vgpr());
        ds_load_b32(shares[row], probability_in, probabilities + row * probability_row_bytes_);
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
void AttentionKernel::add_group(const Vector& shares, const std::vector<Sgpr>& visible) {
    const uint32_t chunk_bytes = spec_.head_dim * value_chunk_bytes(spec_.value_type);
    for (uint32_t first = 0; first < kGroup; first += kValueChunkPositions) {
        for (uint32_t vector = 0; vector < vectors; vector += kBatchVectors)
            add_chunk(first, vector, std::min(kBatchVectors, vectors - vector), shares, visible);
        s_add_u64(page_values, page_values, chunk_bytes);
    }
}

void AttentionKernel::add_chunk(uint32_t first, uint32_t first_vector, uint32_t count, const Vector& shares,
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
            if (spec_.value_type == DType::Q8_0) v_mul_f32(decoded[i], value_scale(scales[i], position), decoded[i]);
        }
        const uint32_t tokens_apart = visible.empty() ? 1 : uint32_t(visible.size());
        const uint32_t rows_together = rows / tokens_apart;
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

Vgpr AttentionKernel::load_values(uint32_t vector) {
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

Vgpr AttentionKernel::value_scale(Sgpr scales, uint32_t position) {
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

// ---- segments made one

AttentionKernel::Factors AttentionKernel::merge_maxima(Vgpr total, Vgpr part_maxima) {
    const Vgpr largest = vgpr(), total_difference = vgpr(), part_difference = vgpr();
    const Factors factors{vgpr(), vgpr()};
    v_max_num_f32(largest, total, part_maxima);
    v_sub_f32(total_difference, total, largest);
    v_sub_f32(part_difference, part_maxima, largest);
    v_mov_b32(total, largest);
    emit_exp(*this, factors.total, total_difference, ExpDomain::not_positive);
    emit_exp(*this, factors.part, part_difference, ExpDomain::not_positive);
    return factors;
}

void AttentionKernel::merge_number(const Factors& factors, Vgpr into, Vgpr from, uint32_t row) {
    v_mul_f32(into, factors.total, into, row_share(row));
    v_fmac_f32(into, factors.part, from, row_share(row));
}

Vgpr AttentionKernel::invert(const Vector& sums, Vgpr maxima) {
    const Vgpr all = vgpr(), inverse = vgpr();
    v_mov_b32(all, 1.0f);
    for (uint32_t row = 0; row < rows; ++row) {
        for (const unsigned distance : {8u, 4u, 2u, 1u})
            v_add_f32(sums[row], sums[row], sums[row], row_xmask(distance));
        place(all, sums[row], row);
    }
    if (spec_.sinks == Presence::absent) {
        emit_divide(*this, inverse, 1.0f, all);
        return inverse;
    }
    // With the sink's score among those of the row, all weights are relative to the larger of the two maxima.
    const Vgpr sinks = sinks_by_row();
    const Factors weights = merge_maxima(maxima, sinks);
    v_fma_f32(all, all, weights.total, weights.part);
    emit_divide(*this, inverse, weights.total, all);
    return inverse;
}

Vgpr AttentionKernel::sinks_by_row() {
    const Vgpr by_row = vgpr();
    const Sgpr first = sgpr(2);
    v_mov_b32(by_row, 0);
    s_mov_b64(first, bound[&AttentionArgs::sinks]);
    s_advance(first, first_head, sizeof(float));
    for (uint32_t head = 0; head < shape.heads; ++head) {
        const Sgpr sink = sgpr();
        s_load_b32(sink, first, head * uint32_t(sizeof(float)));
        for (uint32_t token = 0; token < shape.tokens; ++token) place(by_row, sink, token * shape.heads + head);
    }
    return by_row;
}

void AttentionKernel::store_row(uint32_t row, Sgpr address, const Vector& outputs, std::optional<Vgpr> factors) {
    for (uint32_t vector = 0; vector < vectors; ++vector) {
        Vgpr value = outputs[row * vectors + vector];
        if (factors) {
            value = vgpr();
            v_mul_f32(value, *factors, outputs[row * vectors + vector], row_share(row));
        }
        for_lanes_of_head(vector, [&] { global_store_b32(output_offset(vector), value, address); });
    }
}

void AttentionKernel::for_lanes_of_head(uint32_t vector, const std::function<void()>& body) {
    if (!may_exceed(vector)) return body();
    const Sgpr is_inside = lane_mask();
    v_cmp_gt_u32(is_inside, head_bytes(), output_offset(vector));
    if_lanes(is_inside, body);
}

Vgpr AttentionKernel::output_offset(uint32_t vector) {
    const Vgpr offset = vgpr();
    v_lshlrev_b32(offset, 2, element);
    if (vector != 0) v_add_nc_u32(offset, vector * lanes() * 4, offset);
    return offset;
}

Result<LaunchShape> shape_of(KernelTarget target, const AttentionSpec& spec) {
    constexpr uint32_t kMaxElements = 1024;  // whose outputs a wave has in registers
    RIFTJIT_TRY_VOID(check_wave32("attention", target.wave_size));
    for (const DType type : {spec.key_type, spec.value_type}) RIFTJIT_TRY_VOID(check_cache_type("attention", type));
    RIFTJIT_TRY_VOID(refuse_if(spec.head_dim > kMaxElements, "attention",
                               fmt::format("heads of {}, more than {}", spec.head_dim, kMaxElements)));
    RIFTJIT_TRY_VOID(refuse_if(spec.sight == Sight::whole, "attention", "queries that see what follows them"));
    const AttentionShape shape = attention_shape(spec);
    return LaunchShape{shape.waves * lanes(target.wave_size), spec.kv_heads * shape.grid_parts, 1,
                       attention_part_bytes(spec)};
}

Result<KernelProgram> program_of(KernelTarget target, const AttentionSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return spec.form == MatmulForm::tile ? tile_attention(target, spec, options)
                                         : vector_attention(target, spec, options);
}

}  // namespace riftjit::rdna::kernels
