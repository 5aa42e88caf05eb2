// Kernels that nothing but the tests needs: of the shapes that strain liveness, scheduling and allocation.
#pragma once

#include "jit/rdna/emit/matrix_tile.h"
#include "tests/jit/rdna/kernels/kernel_cases.h"

namespace riftjit::rdna::kernels {

// C = A B', f16 in and f32 out, for any m and n and a k that is a multiple of 8: a wave per 16 rows and 64 columns, two
// steps of 16 k per round. Tails are loaded and stored under masks; what is masked off counts as zero.
struct MaskedMatmulArgs {
    const uint16_t *a, *b;
    float* c;
};
struct MaskedMatmulSpec {
    uint32_t m, n, k;
};
class MaskedMatmulKernel final : public RdnaKernel<MaskedMatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 32;
        locate();
        for (unsigned i = 0; i < kTiles * MatrixTile::kSums; ++i) v_mov_b32(sums[i], 0);
        loop(k, 0, spec_.k, kSteps * MatrixTile::kDepth, [&] {
            for (unsigned step = 0; step < kSteps; ++step) accumulate(step * MatrixTile::kDepth);
        });
        store();
    }

private:
    static constexpr unsigned kTiles = 4, kSteps = 2, kRow = 48, kOperand = MatrixTile::kSize * kRow;

    const BoundArguments<MaskedMatmulArgs> bound = bind_arguments<MaskedMatmulArgs>(
        {field("a", &MaskedMatmulArgs::a), field("b", &MaskedMatmulArgs::b), field("c", &MaskedMatmulArgs::c)});
    const Sgpr a = bound[&MaskedMatmulArgs::a], b = bound[&MaskedMatmulArgs::b], c = bound[&MaskedMatmulArgs::c];
    const Sgpr first_row = sgpr(), k = sgpr();
    const Vgpr row = vgpr(), part = vgpr(), stage = vgpr(), zero = vgpr(), rows_address = vgpr(),
               columns_address = vgpr();
    const Vgpr sums = vgpr(kTiles * MatrixTile::kSums);
    const uint32_t staged_a = lds(kOperand), staged_b = lds(kTiles * kOperand);
    MatrixTile tile{*this, kRow};

    // A lane carries 8 halves of one row: row lane / 2, part lane % 2.
    void locate() {
        const Vgpr lane = launch_lane();
        s_lshl_b32(first_row, launch_workgroup(), 4);
        v_lshrrev_b32(row, 1, lane);
        v_and_b32(part, 1, lane);
        v_lshlrev_b32(part, 3, part);
        v_mul_u32_u24(stage, kRow, row);
        v_lshl_add_u32(stage, part, 1, stage);
        v_mov_b32(zero, 0);
        tile.locate_lane(lane);
        tile.locate_rows(rows_address, zero);
        tile.locate_columns(columns_address, zero);
    }
    void accumulate(unsigned step) {
        const Vgpr first_k = vgpr();
        v_add_nc_u32(first_k, k, part);
        v_add_nc_u32(first_k, step, first_k);
        const Vgpr a_row = vgpr();
        v_add_nc_u32(a_row, first_row, row);
        stage_rows(a, a_row, spec_.m, first_k, staged_a);
        for (unsigned t = 0; t < kTiles; ++t) {
            const Vgpr b_row = vgpr();
            v_add_nc_u32(b_row, t * MatrixTile::kSize, row);
            stage_rows(b, b_row, spec_.n, first_k, staged_b + t * kOperand);
        }
        barrier();
        for (unsigned t = 0; t < kTiles; ++t)
            tile.multiply_add(sums.part(t * MatrixTile::kSums, MatrixTile::kSums), rows_address, staged_a,
                              columns_address, staged_b + t * kOperand);
        barrier();
    }
    void stage_rows(Sgpr matrix, Vgpr matrix_row, uint32_t rows, Vgpr first_k, uint32_t staged) {
        const Vgpr values = vgpr(4), offset = vgpr();
        const Sgpr inside = lane_mask(), inside_k = lane_mask();
        for (unsigned i = 0; i < 4; ++i) v_mov_b32(values[i], 0);
        v_cmp_gt_u32(inside, rows, matrix_row);
        v_cmp_gt_u32(inside_k, spec_.k, first_k);
        s_and_mask(inside, inside, inside_k);
        if_lanes(inside, [&] {
            v_mad_u32_u24(offset, matrix_row, spec_.k, first_k);
            v_lshlrev_b32(offset, 1, offset);
            global_load_b128(values, offset, matrix);
        });
        ds_store_b128(stage, values, staged);
    }
    void store() {
        const Vgpr first = vgpr(), column = vgpr();
        v_mov_b32(first, first_row);
        tile.row_of_first_sum(row, first);
        tile.column_of_sums(column, zero);
        for (unsigned t = 0; t < kTiles; ++t) {
            for (unsigned i = 0; i < MatrixTile::kSums; ++i) {
                const Vgpr c_row = vgpr(), c_column = vgpr(), offset = vgpr();
                const Sgpr inside = lane_mask(), inside_row = lane_mask();
                v_add_nc_u32(c_row, i * tile.row_step(), row);
                v_add_nc_u32(c_column, t * MatrixTile::kSize, column);
                v_cmp_gt_u32(inside_row, spec_.m, c_row);
                v_cmp_gt_u32(inside, spec_.n, c_column);
                s_and_mask(inside, inside, inside_row);
                if_lanes(inside, [&] {
                    v_mad_u32_u24(offset, c_row, spec_.n, c_column);
                    v_lshlrev_b32(offset, 2, offset);
                    global_store_b32(offset, sums[t * MatrixTile::kSums + i], c);
                });
            }
        }
    }
};

// One query over keys and values of 64 floats, cut into splits of 64 positions, a wave each: the largest score, the sum
// of the exponentials (base two) and the weighted sum of the values go to out[split][2 + 64], for another kernel to
// join.
struct SplitAttentionArgs {
    const float *query, *keys, *values;
    float* out;
};
struct SplitAttentionSpec {
    uint32_t length;
};
class SplitAttentionKernel final : public RdnaKernel<SplitAttentionSpec> {
public:
    static constexpr unsigned kWidth = 64, kSplit = 64, kOut = kWidth + 2;
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = 32;
        for (unsigned i = 0; i < kWidth; i += 16) s_load_b512(q.part(i, 16), bound[&SplitAttentionArgs::query], 4 * i);
        v_lshlrev_b32(dimension, 3, lane);
        v_lshlrev_b32(exchange, 2, lane);
        v_mov_b32(largest, -1e30f);
        for (const Vgpr& value : {sum, output[0], output[1]}) v_mov_b32(value, 0);
        s_lshl_b32(first, launch_workgroup(), 6);
        loop(round, 0, kSplit, 32, [&] {
            score_positions();
            rescale();
            add_values();
            s_add_co_u32(first, first, 32);
        });
        store();
    }

private:
    const BoundArguments<SplitAttentionArgs> bound = bind_arguments<SplitAttentionArgs>(
        {field("query", &SplitAttentionArgs::query), field("keys", &SplitAttentionArgs::keys),
         field("values", &SplitAttentionArgs::values), field("out", &SplitAttentionArgs::out)});
    const Vgpr lane = launch_lane();
    const Sgpr q = sgpr(kWidth), first = sgpr(), round = sgpr();
    const Vgpr dimension = vgpr(), exchange = vgpr(), largest = vgpr(), sum = vgpr(), output = vgpr(2);
    const Vgpr score = vgpr(), other = vgpr();
    const uint32_t shared = lds(32 * 4);

    void score_positions() {  // a lane has a position
        const Vgpr position = vgpr(), offset = vgpr();
        const Sgpr inside = lane_mask();
        v_add_nc_u32(position, first, lane);
        v_cmp_gt_u32(inside, spec_.length, position);
        v_mov_b32(score, -1e30f);
        if_lanes(inside, [&] {
            v_lshlrev_b32(offset, 8, position);
            v_mov_b32(score, 0);
            for (unsigned i = 0; i < kWidth; i += 4) {
                const Vgpr key = vgpr(4);
                global_load_b128(key, offset, bound[&SplitAttentionArgs::keys], 4 * i);
                for (unsigned j = 0; j < 4; ++j) v_fmac_f32(score, q[i + j], key[j]);
            }
        });
    }
    void rescale() {
        const Vgpr before = vgpr(), row_sum = vgpr(), scale = vgpr(), total = vgpr();
        v_mov_b32(before, largest);
        v_mov_b32(total, score);
        wave_max_f32(total, other);
        v_max_num_f32(largest, largest, total);
        v_sub_f32(scale, before, largest);
        v_exp_f32(scale, scale);
        v_sub_f32(score, score, largest);
        v_exp_f32(score, score);
        ds_store_b32(exchange, score, shared);
        v_mov_b32(row_sum, score);
        wave_sum_f32(row_sum, other);
        v_fma_f32(sum, sum, scale, row_sum);
        for (unsigned i = 0; i < 2; ++i) v_mul_f32(output[i], output[i], scale);
        barrier();
    }
    void add_values() {  // a lane has two of the dimensions
        const Sgpr base = sgpr(2), bytes = sgpr();
        const Vgpr zero = vgpr();
        s_lshl_b32(bytes, first, 8);
        s_add_u64(base, bound[&SplitAttentionArgs::values], bytes);
        v_mov_b32(zero, 0);
        for (unsigned position = 0; position < 32; position += 4) {
            const Vgpr weights = vgpr(4);
            ds_load_b128(weights, zero, shared + 4 * position);
            for (unsigned i = 0; i < 4; ++i) {
                const Vgpr value = vgpr(2);
                global_load_b64(value, dimension, base, 4 * kWidth * i);
                for (unsigned j = 0; j < 2; ++j) v_fmac_f32(output[j], weights[i], value[j]);
            }
            s_add_u64(base, base, 4 * 4 * kWidth);
        }
        barrier();
    }
    void store() {
        const Sgpr out = sgpr(2), bytes = sgpr(), is_first = lane_mask();
        s_mul_i32(bytes, launch_workgroup(), kOut * 4);
        s_add_u64(out, bound[&SplitAttentionArgs::out], bytes);
        global_store_b64(dimension, output, out, 8);
        v_cmp_eq_u32(is_first, 0, lane);
        if_lanes(is_first, [&] {
            const Vgpr both = vgpr(2);
            v_mov_b32(both[0], largest);
            v_mov_b32(both[1], sum);
            global_store_b64(dimension, both, out);
        });
    }
};

// Halves that are small integers, so that every sum is exact.
inline std::vector<uint16_t> small_halves(size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values) value = float_to_half(static_cast<float>(static_cast<int>(generator() % 9) - 4));
    return values;
}

inline KernelCase masked_matmul_case() {
    constexpr MaskedMatmulSpec kSpec{23, 55, 40};
    const auto a = small_halves(kSpec.m * kSpec.k, 1), b = small_halves(kSpec.n * kSpec.k, 2);
    return {"masked_matmul",
            [=](KernelTarget t, PassOptions o) { return assemble<MaskedMatmulKernel>(t, kSpec, "masked_matmul", o); },
            {bytes_of(a), bytes_of(b), zeros(kSpec.m * kSpec.n * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}},
            2,
            always(32),
            [=](const std::vector<Bytes>& after) {
                std::vector<float> expected(kSpec.m * kSpec.n, 0);
                for (size_t i = 0; i < kSpec.m; ++i)
                    for (size_t j = 0; j < kSpec.n; ++j)
                        for (size_t k = 0; k < kSpec.k; ++k)
                            expected[i * kSpec.n + j] +=
                                half_to_float(a[i * kSpec.k + k]) * half_to_float(b[j * kSpec.k + k]);
                return compare_exactly(values_of<float>(after[2]), expected);
            },
            false};
}

inline KernelCase split_attention_case() {
    using Kernel = SplitAttentionKernel;
    constexpr uint32_t kLength = 150, kSplits = 3;
    const auto query = random_floats(Kernel::kWidth, -1, 1, 1);
    const auto keys = random_floats(kLength * Kernel::kWidth, -1, 1, 2);
    auto values = random_floats(kLength * Kernel::kWidth, -1, 1, 3);
    values.resize(kSplits * Kernel::kSplit * Kernel::kWidth);  // what is masked off is loaded, and weighs nothing
    return {"split_attention",
            [=](KernelTarget t, PassOptions o) {
                return assemble<Kernel>(t, SplitAttentionSpec{kLength}, "split_attention", o);
            },
            {bytes_of(query), bytes_of(keys), bytes_of(values), zeros(kSplits * Kernel::kOut * 4)},
            {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, BufferIndex{3}},
            kSplits,
            always(32),
            [=](const std::vector<Bytes>& after) {
                const auto got = values_of<float>(after[3]);
                std::vector<double> expected(Kernel::kWidth, 0), bound(Kernel::kWidth), joined(Kernel::kWidth, 0);
                const auto weight = [&](size_t position) {
                    double score = 0;
                    for (size_t i = 0; i < Kernel::kWidth; ++i)
                        score += double{query[i]} * keys[position * Kernel::kWidth + i];
                    return std::exp2(score);
                };
                double total = 0, joined_total = 0;
                for (size_t position = 0; position < kLength; ++position) {
                    total += weight(position);
                    for (size_t i = 0; i < Kernel::kWidth; ++i)
                        expected[i] += weight(position) * values[position * Kernel::kWidth + i];
                }
                for (size_t split = 0; split < kSplits; ++split) {
                    const float* part = got.data() + split * Kernel::kOut;
                    joined_total += std::exp2(double{part[0]}) * part[1];
                    for (size_t i = 0; i < Kernel::kWidth; ++i) joined[i] += std::exp2(double{part[0]}) * part[2 + i];
                }
                std::vector<float> result(Kernel::kWidth);
                for (size_t i = 0; i < Kernel::kWidth; ++i) {
                    expected[i] /= total;
                    result[i] = static_cast<float>(joined[i] / joined_total);
                    // A score of 64 products below 1 is off by at most 64 * 64 ulp of absolute size 1, its exponential
                    // by as much relatively; the sums of 64 terms below 1 by 64 ulp more, and the quotient by both
                    // twice.
                    bound[i] = 2 * (64 * 64 + 64 + 16) * kUlp;
                }
                return compare(result, expected, bound);
            },
            false};
}

}  // namespace riftjit::rdna::kernels
