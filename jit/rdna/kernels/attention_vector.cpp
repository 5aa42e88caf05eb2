// Vector form: a workgroup has a segment of a single row. Its four waves take the four blocks and exchange maxima and
// probabilities; then as many of them as there are vectors of 32 elements add up outputs of their own over the whole
// segment, whose positions are in order for every output. What is asked of memory is asked once: queries lie in LDS, a
// value is read by one wave, and of what a workgroup leaves behind each number is written by one lane and, but for
// maxima, read by one.
#include <algorithm>
#include <functional>

#include "jit/rdna/kernels/attention_kernel.h"
#include "jit/rdna/kernels/numerics.h"

namespace riftjit::rdna::kernels {
namespace {

class VectorAttention final : public AttentionKernel {
public:
    VectorAttention(KernelTarget target, const AttentionSpec& spec, std::string_view)
        : VectorAttention(target, spec, attention_shape(spec)) {}

private:
    // Queries lie where probabilities will.
    VectorAttention(KernelTarget target, const AttentionSpec& spec, const AttentionShape& shape)
        : AttentionKernel(target, spec, kRowBytes,
                          std::max<uint32_t>(kRowBytes * shape.heads, shape.heads * spec.head_dim * 4)) {}

    static constexpr uint32_t kRowBytes = kKvPage * 4;  // of probabilities
    static constexpr uint32_t kExchangeRow = 32 * 4;
    // In LDS, [block][row].
    const uint32_t block_maxima = lds(shape.waves * kExchangeRow), new_maxima = lds(shape.waves * kExchangeRow);
    const uint32_t block_corrections = lds(shape.waves * kExchangeRow);
    const uint32_t inverses = block_maxima;  // [row], of the sums
    const uint32_t counts_at = lds(2 * 4);

    // Of segments so far; sums lie in the lower half of a wave, that which sees to them.
    const State total{registers(rows * vectors), registers(rows), vgpr()};
    const Sgpr parts = sgpr(2), finished = sgpr(2), first_part = sgpr();  // all parts and then the row's; its counter
    // Where the wave's segment begins, and the first that counts; how many follow the latter.
    const Sgpr own_segment = sgpr(), first_segment = sgpr(), last_segment = sgpr();

    void number_tile(Sgpr unit, Sgpr in_group, Sgpr pages_per_sequence) override {
        const Sgpr bits = sgpr(), row = sgpr();
        s_load_b64(parts, batch, offsetof(BatchState, parts));
        s_load_b64(finished, batch, offsetof(BatchState, finished));
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
    void divide_tile(Sgpr, Sgpr, Sgpr) override {}
    void locate_lanes() override {
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(done);
        s_mov_b32(own_segment, group_first);
        s_lshr_b32(last_segment, last_position, std::countr_zero(kKvPage));
        s_mov_b32(first_segment, 0);
        if (has_window()) skip_unseen();
        bring_queries();
        const Sgpr base = sgpr();
        s_mul_i32(base, wave, kAttentionBlock * 4);
        v_lshl_add_u32(probability_out, lane, 2, base);
        const Sgpr first_vector = sgpr();
        s_mul_i32(first_vector, wave, vectors);
        s_lshl_b32(base, first_vector, 5);
        v_add_nc_u32(element, base, lane);
        locate_values(first_vector);
        s_advance(out, first_row, spec_.out_stride * sizeof(float));
        s_advance(out, first_head, head_bytes());
    }

    // Segments before the window are not there at all; in its first one nothing is before its block.
    void skip_unseen() {
        const Sgpr first_block = sgpr(), unseen = sgpr();
        find_first_block(first_block);
        s_max_u32(group_first, group_first, first_block);
        s_and_b32(first_segment, first_block, ~(kKvPage - 1));
        s_cmp_lt_u32(own_segment, first_segment);
        s_cbranch_scc1(done);
        s_lshr_b32(unseen, first_segment, std::countr_zero(kKvPage));
        s_sub_co_u32(last_segment, last_segment, unseen);
    }

    // ---- queries: from memory to LDS by the whole workgroup
    void bring_queries() {
        const uint32_t bytes = shape.heads * head_bytes(), width = bytes % 16 == 0 ? 16 : 8;  // heads are even
        const uint32_t round = shape.waves * lanes() * width;
        const Sgpr address = sgpr(2);
        const Vgpr offset = vgpr();
        s_mov_b64(address, q);
        s_advance(address, first_row, spec_.q_stride * sizeof(float));
        s_advance(address, first_head, head_bytes());
        v_lshlrev_b32(offset, std::countr_zero(width), launch_lane());
        for (uint32_t first = 0; first < bytes; first += round) {
            const auto copy = [&] {
                const Vgpr queries = vgpr(width / 4);
                emit(width == 16 ? Opcode::global_load_b128 : Opcode::global_load_b64, {queries, offset, address});
                emit(width == 16 ? Opcode::ds_store_b128 : Opcode::ds_store_b64,
                     {offset, queries, probabilities + first});
            };
            if (first + round <= bytes) {
                copy();
            } else {
                const Sgpr is_inside = lane_mask();
                v_cmp_gt_u32(is_inside, bytes - first, offset);
                if_lanes(is_inside, copy);
            }
            if (first + round < bytes) s_add_u64(address, address, round);
        }
    }
    Vector load_queries(Vgpr share) override {
        const Vector queries = registers(rows);
        for (uint32_t row = 0; row < queries.size(); ++row)
            ds_load_b32(queries[row], share, probabilities + row * head_bytes());
        return queries;
    }

    void attend() override {
        const Label next = label(), all_are_there = label(), ends = label(), is_idle = label();
        enter_page();
        barrier();
        compute_segment();
        s_cmp_eq_u32(last_segment, 0);
        s_cbranch_scc1(all_are_there);
        leave_part();
        bind(all_are_there);
        begin(total);
        skip_if_idle(is_idle);
        s_mov_b32(group_first, first_segment);
        s_advance(parts, first_part, part_bytes());
        if (has_window()) {
            const Sgpr unseen = sgpr();
            s_lshr_b32(unseen, first_segment, std::countr_zero(kKvPage));
            s_advance(parts, unseen, groups() * part_bytes());
        } else {
            add_segment(true);
            s_cmp_gt_u32(group_first, last_position);
            s_cbranch_scc1(ends);
        }
        bind(next);
        add_segment(false);
        s_cmp_le_u32(group_first, last_position);
        s_cbranch_scc1(next);
        bind(ends);
        for_first_wave([&] {
            const Vgpr inverse = invert(total.sums, total.maxima);
            for_lower_lanes([&] { ds_store_b32(share_bytes, inverse, inverses); });
        });
        bind(is_idle);
        if (shape.vector_shares > 1) barrier();
        skip_if_idle(done);
        store_quotients();
    }
    // Waves without outputs of their own.
    void skip_if_idle(Label to) {
        if (shape.vector_shares == shape.waves) return;
        s_cmp_ge_u32(wave, shape.vector_shares);
        s_cbranch_scc1(to);
    }
    // Which sees to what there is one of for each row.
    void for_first_wave(const std::function<void()>& body) {
        const Label skip = label();
        s_cmp_lg_u32(wave, 0);
        s_cbranch_scc1(skip);
        body();
        bind(skip);
    }
    void compute_segment() {
        const Label is_invisible = label(), next_block = label();
        begin(part);
        s_lshl_b32(block_first, wave, std::countr_zero(kAttentionBlock));
        s_add_co_u32(block_first, block_first, own_segment);
        clear(scores_);
        s_cmp_gt_u32(block_first, last_position);
        s_cbranch_scc1(is_invisible);
        if (has_window()) {
            s_cmp_lt_u32(block_first, group_first);
            s_cbranch_scc1(is_invisible);
        }
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
        const Label segment_ends = label();
        skip_if_idle(segment_ends);
        ds_load_b32(part.maxima, share_bytes, new_maxima + (shape.waves - 1) * kExchangeRow);
        const Vgpr correction_address = vgpr(), block_correction = vgpr();
        v_mov_b32(correction_address, share_bytes);
        v_mov_b32(probability_in, share_bytes);
        if (has_window()) {
            const Sgpr blocks = sgpr();
            s_sub_co_u32(blocks, group_first, own_segment);
            v_lshl_add_u32(probability_in, blocks, 2, probability_in);
            s_lshr_b32(blocks, blocks, std::countr_zero(kAttentionBlock));
            v_lshl_add_u32(correction_address, blocks, std::countr_zero(kExchangeRow), correction_address);
        }
        bind(next_block);
        ds_load_b32(block_correction, correction_address, block_corrections);
        v_add_nc_u32(correction_address, kExchangeRow, correction_address);
        multiply_values(block_correction);
        s_cmp_gt_u32(group_first, last_position);
        s_cbranch_scc1(segment_ends);
        s_and_b32(block_first, kKvPage - 1, group_first);
        s_cbranch_scc1(next_block);
        bind(segment_ends);
    }

    // ---- parts in memory, as attention_part_bytes() has them
    uint32_t part_bytes() const { return uint32_t(attention_part_bytes(spec_)); }
    uint32_t sums_offset() const { return shape.heads * head_bytes(); }
    uint32_t maxima_offset() const { return sums_offset() + rows * kSumsBytes; }
    static constexpr uint32_t kSumsBytes = kShare * 4;  // of a row
    void for_each_row(Sgpr first, const std::function<void(uint32_t row, Sgpr address)>& visit) {
        const Sgpr address = sgpr(2);
        s_mov_b64(address, first);
        for (uint32_t row = 0; row < rows; ++row) {
            if (row != 0) s_add_u64(address, address, head_bytes());
            visit(row, address);
        }
    }
    // The lanes whose share is a row: of maxima.
    void for_lanes_of_rows(const std::function<void()>& body) {
        const Sgpr has_row = lane_mask();
        v_cmp_gt_u32(has_row, rows * 4, share_bytes);
        if_lanes(has_row, body);
    }
    void for_lower_lanes(const std::function<void()>& body) {
        const Sgpr is_lower = lane_mask();
        s_mov_b32(is_lower, (1u << kShare) - 1);
        if_lanes(is_lower, body);
    }
    void store_part() {
        const Sgpr address = sgpr(2);
        s_mov_b64(address, parts);
        s_advance(address, workgroup, part_bytes());
        for_each_row(address, [&](uint32_t row, Sgpr at) { store_row(row, at, part.outputs, {}); });
        for_first_wave([&] {
            const Sgpr maxima = sgpr(2);
            s_add_u64(maxima, address, maxima_offset());
            s_add_u64(address, address, sums_offset());
            for_lower_lanes([&] {
                for (uint32_t row = 0; row < rows; ++row)
                    global_store_b32(share_bytes, part.sums[row], address, row * kSumsBytes);
            });
            v_cmp_gt_u32(vcc(), rows * 4, share_bytes);
            s_and_b32(vcc(), vcc(), (1u << kShare) - 1);
            if_lanes(vcc(), [&] { global_store_b32(share_bytes, part.maxima, maxima); });
        });
    }
    // total = total and the segment at group_first, the wave's own or one that lies in memory. The first one is the
    // total as it is, but with a window, where each is merged (jit/x86/ops/attention.cpp).
    void add_segment(bool is_first) {
        const Label is_own = label(), has_maxima = label(), has_own = label(), is_added = label();
        const Vgpr maxima = vgpr();
        const Sgpr address = sgpr(2);
        v_mov_b32(maxima, kNoScore);
        s_cmp_eq_u32(group_first, own_segment);
        s_cbranch_scc1(is_own);
        s_add_u64(address, parts, maxima_offset());
        for_lanes_of_rows([&] { global_load_b32(maxima, share_bytes, address); });
        s_branch(has_maxima);
        bind(is_own);
        v_mov_b32(maxima, part.maxima);
        bind(has_maxima);
        Add add = [this](Vgpr into, Vgpr from, uint32_t) { v_mov_b32(into, from); };
        if (is_first) {
            v_mov_b32(total.maxima, maxima);
        } else {
            const Factors factors = merge_maxima(total.maxima, maxima);
            add = [=, this](Vgpr into, Vgpr from, uint32_t row) { merge_number(factors, into, from, row); };
        }
        s_cmp_eq_u32(group_first, own_segment);
        s_cbranch_scc1(has_own);
        add_part_in_memory(add);
        s_branch(is_added);
        bind(has_own);
        add_own_part(add);
        bind(is_added);
        s_add_u64(parts, parts, groups() * part_bytes());
        s_add_co_u32(group_first, group_first, kKvPage);
    }
    using Add = std::function<void(Vgpr into, Vgpr from, uint32_t row)>;
    void add_part_in_memory(const Add& add) {
        for_each_row(parts, [&](uint32_t row, Sgpr address) {
            for (uint32_t vector = 0; vector < vectors; ++vector)
                for_lanes_of_head(vector, [&] {
                    const Vgpr value = vgpr();
                    global_load_b32(value, output_offset(vector), address);
                    add(total.outputs[row * vectors + vector], value, row);
                });
        });
        for_first_wave([&] {
            const Vector sums = load_sums();
            for (uint32_t row = 0; row < rows; ++row) add(total.sums[row], sums[row], row);
        });
    }
    void add_own_part(const Add& add) {
        for (uint32_t row = 0; row < rows; ++row) {
            add(total.sums[row], part.sums[row], row);
            for (uint32_t i = row * vectors; i < (row + 1) * vectors; ++i) add(total.outputs[i], part.outputs[i], row);
        }
    }
    Vector load_sums() {
        const Vector sums = registers(rows);
        const Sgpr address = sgpr(2);
        clear(sums);
        s_add_u64(address, parts, sums_offset());
        for_lower_lanes([&] {
            for (uint32_t row = 0; row < rows; ++row)
                global_load_b32(sums[row], share_bytes, address, row * kSumsBytes);
        });
        return sums;
    }

    // ---- whoever finishes a row's last segment merges all; the others end here
    // Whoever finds that all others have left their parts needs not leave its own, and goes on with it in registers.
    void leave_part() {
        const Label others_are_there = label(), all_are_there = label();
        const Sgpr number = sgpr();
        const Vgpr zero = vgpr(), last_number = vgpr();
        v_mov_b32(zero, 0);
        v_mov_b32(last_number, last_segment);
        ask_counter(number, counts_at,
                    [&](Vgpr count) { global_load_b32(count, zero, finished, load_policy(Scope::device)); });
        s_cmp_eq_u32(number, last_segment);
        s_cbranch_scc1(others_are_there);
        const Label is_left = label();
        skip_if_idle(is_left);
        store_part();
        bind(is_left);
        release_memory(Scope::device);
        barrier(Exchange::nothing);
        // Counts to the row's last segment and is 0 behind it, for the next launch.
        ask_counter(number, counts_at + 4, [&](Vgpr before) {
            global_atomic_inc_u32(before, zero, last_number, finished, atomic_policy(Scope::device));
        });
        s_cmp_lg_u32(number, last_segment);
        s_cbranch_scc1(done);
        s_branch(all_are_there);
        bind(others_are_there);
        in_first_lane([&] { global_atomic_inc_u32(zero, last_number, finished, atomic_policy(Scope::device)); });
        bind(all_are_there);
        acquire_memory(Scope::device);
    }
    void in_first_lane(const std::function<void()>& body) {
        for_first_wave([&] {
            v_cmp_eq_u32(vcc(), 0, lane);
            if_lanes(vcc(), body);
        });
    }
    void ask_counter(Sgpr number, uint32_t at, const std::function<void(Vgpr count)>& ask) {
        const Vgpr count = vgpr(), zero = vgpr();
        v_mov_b32(zero, 0);
        in_first_lane([&] {
            ask(count);
            ds_store_b32(zero, count, at);
        });
        barrier();
        ds_load_b32(count, zero, at);
        v_readfirstlane_b32(number, count);
    }

    // ---- the end: outputs divided by the sums, of which one wave has those of a row
    void store_quotients() {
        const Vgpr inverse = vgpr();
        ds_load_b32(inverse, share_bytes, inverses);
        for_each_row(out, [&](uint32_t row, Sgpr at) { store_row(row, at, total.outputs, inverse); });
    }
};

}  // namespace

Result<KernelProgram> vector_attention(KernelTarget target, const AttentionSpec& spec, PassOptions options) {
    return assemble<VectorAttention>(target, spec, "attention", options);
}

}  // namespace riftjit::rdna::kernels
