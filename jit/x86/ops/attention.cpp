// Attention with grouped queries over the KV cache, with an online softmax.
//
// Both forms are one algorithm over rows (query heads of tokens that share a KV head): the vector form has one token's
// rows, the tile form those of several. Positions are visited in segments of a page and within these in blocks of 64,
// which start at multiples of their length, whatever the batch; within a block every row takes the same operations in
// the same order in both forms. A masked score is -infinity, its probability exactly 0; a block that a row does not see
// at all leaves that row's state as it was (its correction is exp(0) = 1). Values beyond a token's own position are not
// even multiplied by 0, so that neither infinities there nor signs of zeros can reach it.
//
// A segment begins with a fresh state: a maximum, sums, outputs. States are merged in the order of their segments: the
// first is the total as it is, and with each of the others
//     N = max(M, m);  total = exp(M - N) * total + exp(m - N) * part,  one fused multiply-add per number;  M = N,
// but for rows that see nothing of the segment, whose total is left as it is (0 times a part would make +0 of -0). So
// a part depends on nothing outside its segment, and no bit shows who computed it and when: in vector form a unit is a
// row with all its segments, or one of them (BatchState::parts), and then whoever finishes a row's last merges all.
//
// With a window a row sees nothing of the first segments, and the rows of a tile begin in different ones. The total is
// then that of no position at all at first (no score, zeros) and every segment is merged into it: for a row, segments
// before its window change nothing in a total of zeros, so that again no bit shows where its tile began. Units are
// whole rows. A sink takes part in the softmax at the very end.
//
// Where queries see their whole text, the end of the text takes the place of the end of what a token sees; with a
// window its tokens see different ends again, each as far behind it as half the window is long. Units are whole rows.
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

#include "host/thread_pool.h"
#include "jit/alibi.h"
#include "jit/x86/backend.h"
#include "jit/x86/emit/math.h"
#include "jit/x86/ops/attention_products.h"

namespace riftjit::x86 {

namespace {

// Where a row's maximum starts: finite, so that no difference of maxima is infinity - infinity.
constexpr float kNoScore = -0x1p126f;
constexpr uint32_t kMaxFrameBytes = ThreadPool::kBodyStackBytes;
constexpr int kPageBits = std::countr_zero(kKvPage);

class AttentionKernel final : public AttentionProducts {
    using AttentionProducts::AttentionProducts;

    // Register map. Of the unit: first_position is that of the tile's first row.
    const Reg64 queries = r15;
    const Reg32 unit = esi, first_position = r12d;
    // Of the block: its first position, its keys and its values.
    const Reg32 block_start = r13d;
    const Reg64 keys = rbx, values = r14;
    const Reg64 state = rdi;  // of the segment, later the total
    const int group = int(spec_.heads / spec_.kv_heads);
    const int tile_tokens = spec_.form == MatmulForm::vector ? 1 : int(kMaxTileRows);
    const int rows = group * tile_tokens;
    const bool has_window = spec_.window != 0 || spec_.chunk != 0, has_sinks = spec_.sinks == Presence::present;
    const bool has_slopes = spec_.alibi != 0;
    const bool has_parts = cuts_rows(spec_);
    const bool sees_whole = spec_.sight == Sight::whole;
    // With a window, a token sees so many positions before its own and so many behind it.
    const uint32_t before = sees_whole ? spec_.window / 2 : spec_.window - 1;
    const int ahead = sees_whole ? int(spec_.window / 2) : 0;
    static constexpr int page_panels = kKvPage / kPanel;

    // Within a phase.
    const KeyRegisters key_registers = {rcx, rdx, r8, rax, r9};
    const ValueRegisters value_registers = {rcx, rdx, r9, r8, rax};
    const Ahead values_ahead = {r10, lines_a_step(kBlock* value_bytes(), score_steps(rows))};
    const Ahead keys_ahead = {r10, lines_a_step(kBlock / kPanel * panel_bytes(), output_steps(rows))};

    // While one product computes, the memory that the other reads next comes nearer.
    static int lines_a_step(uint32_t block_bytes, int steps) {
        return (int(block_bytes / kLineBytes) + steps - 1) / steps;
    }

    // The frame at rsp: rows of floats, then what has no register.
    int frame_bytes_ = 0;
    int reserve(uint64_t bytes) {
        const uint64_t begin = uint64_t(frame_bytes_);
        if (begin + bytes > kMaxFrameBytes)
            throw std::length_error(fmt::format("{} rows of head_dim {} need more than {} bytes of stack", rows,
                                                spec_.head_dim, kMaxFrameBytes));
        frame_bytes_ = int(round_up(begin + bytes, 64));
        return int(begin);
    }
    const uint64_t padded_rows = round_up(uint64_t(rows), kPanel);
    const int scores_at = reserve(uint64_t(rows) * score_row_bytes());  // then probabilities
    const int corrections_at = reserve(padded_rows * sizeof(float));    // of a merge: the total's factors
    const int part_factors_at = reserve(padded_rows * sizeof(float));
    const int queries_at = reserve(tile_tokens == 1 ? 0 : uint64_t(rows) * query_row_bytes() + 64);
    const int decoded_at =  // a block's keys, then its values, of packed types
        reserve(packed_keys || packed_values ? uint64_t(kBlock) * query_row_bytes() : 0);
    const uint64_t state_bytes = attention_part_bytes(uint32_t(rows), spec_.head_dim);
    const int total_at = reserve(state_bytes), part_at = reserve(state_bytes);
    const int slots_at = reserve(17 * sizeof(uint64_t));
    // A state: outputs, sums of probabilities (16 lanes a row), maxima.
    const int outputs_at = 0;
    const int sums_at = outputs_at + rows * int(output_row_bytes());
    const int maxima_at = sums_at + rows * int(kPanel * sizeof(float));
    Address slot(int index) { return qword[rsp + slots_at + 8 * index]; }
    Address slot32(int index) { return dword[rsp + slots_at + 8 * index]; }
    const Address end = slot32(0), tokens = slot32(1), row_blocks = slot32(2), positions = slot32(3);
    const Address out = slot(4), first_value = slot(5);
    // The head's part of page 0, and where the sequence's table names the page after this one.
    const Address head_keys = slot(6), head_values = slot(7), next_page = slot(8);
    // Where a unit is a segment: what counts the finished ones of its row, or null; the row's first part and last
    // segment.
    const Address saved_args = slot(9), finished = slot(10), first_part = slot(11), last_segment = slot32(12);
    const Address head_sinks = slot(13), head_slopes = slot(14);
    const Address text_end = slot32(15);   // where the unit sees its whole text
    const Address own_place = slot32(16);  // a token's own position less the block's first, where it has another limit

    void generate() override {
        check(uint64_t(maxima_at) + padded_rows * sizeof(float) == state_bytes, "a part is a state");
        prologue({rbx, r12, r13, r14, r15}, uint32_t(frame_bytes_));
        mov(saved_args, rdi);
        mov(end, edx);
        set_partial_mask();
        for_units(unit, end, [&] {
            Label next_segment, is_total, done;
            locate_unit();
            if (tile_tokens > 1) copy_queries();
            if (has_window) {
                reset_rows();
                lea(state, ptr[rsp + part_at]);
            }
            L(next_segment);
            compute_segment();
            if (has_parts) merge_if_last(is_total, done);
            add_to_total();
            compare_with_end();
            jb(next_segment);
            lea(state, ptr[rsp + total_at]);
            L(is_total);
            store_outputs();
            L(done);
        });
        epilogue();
    }

    // ---- a unit: a KV head and a tile of tokens, or a segment of a token
    void locate_unit() {
        const Reg64 args = rbx, kv_head = rdx, token = rcx, tile = r9, batch = r10, table = r11;
        mov(args, saved_args);
        mov(eax, unit);
        xor_(edx, edx);
        mov(ecx, spec_.kv_heads);
        div(ecx);
        mov(batch, ptr[args + offsetof(AttentionArgs, batch)]);
        lea(state, ptr[rsp + total_at]);
        xor_(block_start, block_start);
        if (has_parts) {
            locate_single(tile, kv_head, batch);
        } else {
            imul(tile, rax, sizeof(BatchTile));
            add(tile, ptr[batch + (tile_tokens > 1 ? offsetof(BatchState, tile) : offsetof(BatchState, single))]);
        }
        if (has_window) find_first_block(tile);
        mov(table.cvt32(), ptr[batch + offsetof(BatchState, pages_per_sequence)]);
        mov(eax, ptr[tile + offsetof(BatchTile, sequence)]);
        imul(table, rax);
        mov(eax, block_start);
        shr(eax, kPageBits);
        add(table, rax);
        shl(table, 2);
        add(table, ptr[batch + offsetof(BatchState, pages)]);
        mov(next_page, table);
        mov(first_position, ptr[tile + offsetof(BatchTile, position)]);
        mov(eax, ptr[tile + offsetof(BatchTile, rows)]);
        mov(tokens, eax);
        mov(token.cvt32(), ptr[tile + offsetof(BatchTile, first_row)]);
        if (sees_whole) {
            mov(rax, ptr[batch + offsetof(BatchState, text_end)]);
            mov(eax, ptr[rax + token * 4]);
            mov(text_end, eax);
        }
        locate_rows(args, kv_head, token);
        locate_cache(args, kv_head);
    }
    // The block of the first position that the tile's first row sees.
    void find_first_block(const Reg64& tile) {
        const Reg32 zero = r11d;
        xor_(zero, zero);
        mov(block_start, ptr[tile + offsetof(BatchTile, position)]);
        if (spec_.chunk != 0) {
            and_(block_start, ~(spec_.chunk - 1));
        } else {
            sub(block_start, before);
            cmovb(block_start, zero);
        }
        and_(block_start, ~(kBlock - 1));
    }
    // The single row of number rax or, where rows are cut, the one that has segment rax of all rows' segments: with
    // that segment, its part and its row's counter.
    void locate_single(const Reg64& tile, const Reg64& kv_head, const Reg64& batch) {
        const Reg64 parts = r8, part = r11;
        const Reg32 segment = eax, last = ecx;
        Label is_whole, next_row, found, located;
        mov(tile, ptr[batch + offsetof(BatchState, single)]);
        mov(parts, ptr[batch + offsetof(BatchState, parts)]);
        test(parts, parts);
        jz(is_whole);
        L(next_row);
        mov(last, ptr[tile + offsetof(BatchTile, position)]);
        shr(last, kPageBits);
        cmp(segment, last);
        jbe(found);
        sub(segment, last);
        dec(segment);
        add(tile, sizeof(BatchTile));
        jmp(next_row);
        L(found);
        mov(last_segment, last);
        mov(block_start, segment);
        shl(block_start, kPageBits);
        mov(part.cvt32(), unit);
        imul(part, part, int(state_bytes));
        lea(state, ptr[parts + part]);
        imul(rax, rax, int(spec_.kv_heads));
        imul(rax, rax, int(state_bytes));
        mov(part, state);
        sub(part, rax);
        mov(first_part, part);
        mov(rax, tile);
        sub(rax, ptr[batch + offsetof(BatchState, single)]);
        static_assert(sizeof(BatchTile) == 16);
        shr(rax, 4);
        imul(rax, rax, int(spec_.kv_heads));
        add(rax, kv_head);
        shl(rax, 2);
        add(rax, ptr[batch + offsetof(BatchState, finished)]);
        mov(finished, rax);
        jmp(located);
        L(is_whole);
        imul(rax, rax, sizeof(BatchTile));
        add(tile, rax);
        mov(finished, 0);
        L(located);
    }
    void locate_rows(const Reg64& args, const Reg64& kv_head, const Reg64& token) {
        const Reg64 row = r8;
        imul(rax, kv_head, group * query_row_bytes());
        imul(queries, token, spec_.q_stride * uint32_t(sizeof(float)));
        add(queries, rax);
        add(queries, ptr[args + offsetof(AttentionArgs, q)]);
        imul(row, token, spec_.out_stride * uint32_t(sizeof(float)));
        add(row, rax);
        add(row, ptr[args + offsetof(AttentionArgs, out)]);
        mov(out, row);
    }
    void locate_cache(const Reg64& args, const Reg64& kv_head) {
        imul(rax, kv_head, page_panels * panel_bytes());
        add(rax, ptr[args + offsetof(AttentionArgs, keys)]);
        mov(head_keys, rax);
        imul(rax, kv_head, int(kKvPage) * value_bytes());
        add(rax, ptr[args + offsetof(AttentionArgs, values)]);
        mov(head_values, rax);
        if (has_sinks) {
            imul(rax, kv_head, group * int(sizeof(float)));
            add(rax, ptr[args + offsetof(AttentionArgs, sinks)]);
            mov(head_sinks, rax);
        }
        if (has_slopes) {
            std::vector<float> slopes(spec_.heads);
            for (uint32_t head = 0; head < spec_.heads; ++head)
                slopes[head] = float(alibi_slope(head, spec_.heads, spec_.alibi));
            lea(rax, constant_bytes(slopes.data(), slopes.size() * sizeof(float), sizeof(float)));
            imul(r8, kv_head, group * int(sizeof(float)));
            add(rax, r8);
            mov(head_slopes, rax);
        }
    }
    void enter_next_page() {
        const Reg64 page = rcx;
        mov(rax, next_page);
        mov(page.cvt32(), ptr[rax]);
        add(rax, sizeof(uint32_t));
        mov(next_page, rax);
        mov(keys, key_page_bytes(spec_.key_type, spec_.kv_heads, spec_.head_dim));
        imul(keys, page);
        add(keys, head_keys);
        mov(values, value_page_bytes(spec_.value_type, spec_.kv_heads, spec_.head_dim));
        imul(values, page);
        add(values, head_values);
        if (!has_window) return;
        const Reg64 offset = rax;  // the first segment's first block may not be the page's
        mov(offset.cvt32(), block_start);
        and_(offset.cvt32(), kKvPage - 1);
        static_assert(kBlock % kPanel == 0);
        imul(page, offset, panel_bytes() / int(kPanel));
        add(keys, page);
        imul(offset, offset, value_bytes());
        add(values, offset);
    }
    // Runs `body` with `token` = 0, 1, ... below `limit`, at least once; with `head` counting the group's heads down.
    void for_each_token(const Reg32& token, const Xbyak::Operand& limit, const std::function<void()>& body) {
        Label next;
        xor_(token, token);
        L(next);
        body();
        inc(token);
        cmp(token, limit);
        jb(next);
    }
    void for_each_head(const Reg32& head, const std::function<void()>& body) {
        Label next;
        mov(head, group);
        L(next);
        body();
        dec(head);
        jnz(next);
    }
    // The tile's query rows, one after the other; zeros for tokens that the batch does not have.
    void copy_queries() {
        const Reg64 source = queries, copy = r10, offset = rax;
        const Reg32 token = ecx, all_tokens = edx;
        const uint32_t width = uint32_t(group) * spec_.head_dim;
        lea(copy, ptr[rsp + queries_at]);
        mov(all_tokens, tile_tokens);
        for_each_token(token, all_tokens, [&] {
            Label is_missing, copied;
            cmp(token, tokens);
            jae(is_missing);
            for_each_group(offset, width, 2, [&](int index, uint32_t count) {
                load_lanes(wide(0), source + offset + 64 * index, count);
                vmovups(lanes_at(copy + offset + 64 * index), wide(0));
            });
            jmp(copied);
            L(is_missing);
            vxorps(wide(0), wide(0), wide(0));
            for_each_group(offset, width, 2,
                           [&](int index, uint32_t) { vmovups(lanes_at(copy + offset + 64 * index), wide(0)); });
            L(copied);
            add(source, spec_.q_stride * uint32_t(sizeof(float)));
            add(copy, width * uint32_t(sizeof(float)));
        });
        lea(queries, ptr[rsp + queries_at]);
    }
    void reset_rows() {
        vxorps(wide(0), wide(0), wide(0));
        fill(outputs_at, uint32_t(maxima_at - outputs_at), wide(0));  // and the sums
        vbroadcastss(wide(0), constant(kNoScore));
        fill(maxima_at, uint32_t(padded_rows * sizeof(float)), wide(0));
    }
    void fill(int begin, uint32_t bytes, const Wide& value) {
        for_count(rax, bytes / 64, 64, [&] { vmovups(lanes_at(state + rax + begin), value); });
    }
    void compute_segment() {
        Label next, done;
        enter_next_page();
        reset_rows();
        L(next);
        if (packed_keys) decode_block(Operand::keys);
        multiply_all_keys();
        find_maxima();
        compute_corrections();
        compute_probabilities();
        if (packed_values) decode_block(Operand::values);
        multiply_common_values();
        if (tile_tokens > 1 && (!sees_whole || has_window)) multiply_own_values();
        add(block_start, kBlock);
        compare_with_end();
        jae(done);
        test(block_start, kKvPage - 1);
        jz(done);
        add(keys, int(kBlock / kPanel) * panel_bytes());
        add(values, int(kBlock) * value_bytes());
        jmp(next);
        L(done);
    }
    // limit = the position behind the last that a token at `position` sees.
    void find_limit(const Reg32& limit, const Xbyak::RegExp& position) {
        if (sees_whole && !has_window) return mov(limit, text_end);
        lea(limit, ptr[position + (1 + ahead)]);
        if (!sees_whole) return;
        cmp(limit, text_end);
        cmova(limit, text_end);
    }
    void find_tile_limit() {  // eax, of the tile's last token
        mov(eax, tokens);
        find_limit(eax, r12 + rax - 1);
    }
    // Whether the tile sees positions from block_start on (jb) or not (jae).
    void compare_with_end() {
        find_tile_limit();
        cmp(block_start, eax);
    }

    // What the tile sees of the block's keys or values; what is behind that in its last panel is masked, as ever.
    enum class Operand : uint8_t { keys, values };
    void decode_block(Operand operand) {
        const bool are_keys = operand == Operand::keys;
        const DecodeRegisters r = {rcx, rdx, r8};
        find_tile_limit();
        sub(eax, block_start);
        mov(ecx, kBlock);
        cmp(eax, ecx);
        cmova(eax, ecx);
        if (are_keys) {
            add(eax, kPanel - 1);
            shr(eax, std::countr_zero(kPanel));
        }
        imul(r.count, rax, spec_.head_dim / PackedCache::kElements);
        mov(r.source, are_keys ? keys : values);
        lea(r.target, ptr[rsp + decoded_at]);
        are_keys ? decode_keys(r) : decode_values(r);
    }

    // ---- scores
    // Panels behind the last token's hold anything, or nothing yet: they are left out where that is cheap, else masked.
    void multiply_all_keys() {
        const Blocking blocking = score_blocking(rows);
        const int panels = blocking.vectors / halves();
        Label done;
        mov(values_ahead.next, values);
        for (int first = 0; first < int(kBlock / kPanel); first += panels) {
            if (first != 0) {
                find_tile_limit();
                sub(eax, block_start);
                cmp(eax, first * int(kPanel));
                jle(done);
            }
            lea(key_registers.panels, packed_keys ? ptr[rsp + decoded_at + first * operand_panel_bytes()]
                                                  : ptr[keys + first * panel_bytes()]);
            mov(key_registers.query, queries);
            lea(key_registers.scores, ptr[rsp + scores_at + first * int(kPanel * sizeof(float))]);
            for_row_blocks(rows, blocking, [&](const Blocking& block) {
                multiply_keys(block, key_registers, values_ahead);
                add(key_registers.query, block.rows * query_row_bytes());
                add(key_registers.scores, block.rows * score_row_bytes());
            });
        }
        L(done);
    }
    // Runs `body` for blocks of blocking.rows rows and then for the rows that are left.
    void for_row_blocks(int row_count, const Blocking& blocking, const std::function<void(const Blocking&)>& body) {
        const int blocks = row_count / blocking.rows, rest = row_count % blocking.rows;
        if (blocks > 1) {
            Label next;
            mov(row_blocks, blocks);
            L(next);
            body(blocking);
            dec(row_blocks);
            jnz(next);
        } else if (blocks == 1) {
            body(blocking);
        }
        if (rest != 0) body({rest, blocking.vectors});
    }

    // ---- softmax. Rows are visited token by token; `row` counts bytes into the arrays of one float a row.
    const Reg64 score_row = rdx, row = r8, sums_row = r9;
    Xbyak::RegExp maximum() const { return state + row + maxima_at; }
    Xbyak::RegExp correction() const { return rsp + row + corrections_at; }

    // Scales and masks the scores; then each row's new maximum, and the difference from the old one in place of its
    // correction.
    void find_maxima() {
        const Reg32 token = ecx, visible = eax, head = r9d, all_tokens = r10d;
        const Xmm largest = xmm_of(wide(6));
        vbroadcastss(nothing, constant(-std::numeric_limits<float>::infinity()));
        lea(score_row, ptr[rsp + scores_at]);
        xor_(row.cvt32(), row.cvt32());
        mov(all_tokens, tile_tokens);
        for_each_token(token, all_tokens, [&] {
            if (sees_whole && (has_window || has_slopes)) {
                lea(visible, ptr[r12 + rcx]);
                sub(visible, block_start);
                mov(own_place, visible);
            }
            find_limit(visible, r12 + rcx);
            sub(visible, block_start);
            vmovd(xmm_of(limit), visible);
            vbroadcastss(limit, xmm_of(limit));
            if (has_slopes) mov(slope, head_slopes);
            for_each_head(head, [&] {
                mask_row(largest);
                if (has_slopes) add(slope, uint32_t(sizeof(float)));
                update_maximum(largest);
                add(score_row, score_row_bytes());
                add(row, sizeof(float));
            });
        });
    }
    const Wide nothing = wide(2), limit = wide(3);
    const Reg64 slope = r11;
    // score = scale * score, capped, or -infinity from position number `limit` of the block on and before the window;
    // the largest in lane 0.
    void mask_row(const Xmm& largest) {
        const Wide score = wide(0), largest_lanes = wide(1), window_start = wide(7);
        const LaneMask is_visible = lane_mask(0, wide(4));
        for (int panel = 0; panel < int(kBlock / kPanel); ++panel) {
            vmovups(score, lanes_at(score_row + 64 * panel));
            vmulps(score, score, splat(spec_.softcap == 0 ? spec_.scale : spec_.scale / spec_.softcap));
            if (spec_.softcap != 0) {
                emit_tanh(*this, score, score, wide(5),
                          ExpScratch<Wide, LaneMask>{wide(6), wide(7), lane_mask(0, wide(4))});
                vmulps(score, score, splat(spec_.softcap));
            }
            if (has_slopes) add_bias(score, positions_of(panel));
            compare_greater_i32(is_visible, limit, positions_of(panel));
            select(score, is_visible, score, nothing);
            if (has_window) {
                if (spec_.chunk != 0) {
                    find_chunk(window_start);
                } else {
                    if (sees_whole) vbroadcastss(window_start, own_place);
                    vpsubd(window_start, sees_whole ? window_start : limit,
                           splat_u32(sees_whole ? before : spec_.window));
                }
                compare_greater_i32(is_visible, window_start, positions_of(panel));
                select(score, is_visible, nothing, score);
            }
            vmovups(lanes_at(score_row + 64 * panel), score);
            panel == 0 ? vmovaps(largest_lanes, score) : vmaxps(largest_lanes, largest_lanes, score);
        }
        fold(largest, largest_lanes, xmm_of(wide(7)),
             [this](const Xmm& to, const Xmm& left, const Xmm& right) { vmaxps(to, left, right); });
    }
    // Where in the block the row's chunk begins: its position, limit - 1 + block_start, without the lowest bits, from
    // the block's start on.
    void find_chunk(const Wide& chunk_start) {
        const Wide start = wide(5);
        vmovd(xmm_of(start), block_start);
        vbroadcastss(start, xmm_of(start));
        vpaddd(chunk_start, limit, start);
        vpaddd(chunk_start, chunk_start, splat_u32(~0u));
        vandps(chunk_start, chunk_start, splat_u32(~(spec_.chunk - 1)));
        vpsubd(chunk_start, chunk_start, start);
    }
    // score -= slope * distance, from the row's own position, which is limit - 1 where nothing behind it is seen
    void add_bias(const Wide& score, const WideConstant& positions) {
        const Wide distance = wide(5), factor = wide(6);
        if (sees_whole) {
            vbroadcastss(distance, own_place);
            vpsubd(distance, distance, positions);
            vxorps(factor, factor, factor);
            vpsubd(factor, factor, distance);
            vpminsd(distance, distance, factor);
        } else {
            vxorps(distance, distance, distance);
            vpsubd(distance, distance, limit);
            vpaddd(distance, distance, positions);
            vpaddd(distance, distance, splat_u32(1));
        }
        vcvtdq2ps(distance, distance);
        vbroadcastss(factor, ptr[slope]);
        vfmadd231ps(score, distance, factor);
    }
    void update_maximum(const Xmm& largest) {
        const Xmm old_maximum = xmm_of(wide(5));
        vmovss(old_maximum, ptr[maximum()]);
        vmaxss(largest, largest, old_maximum);
        vmovss(ptr[maximum()], largest);
        vsubss(old_maximum, old_maximum, largest);
        vmovss(ptr[correction()], old_maximum);
    }
    WideConstant positions_of(int panel) {
        std::array<int32_t, kPanel> numbers;
        for (int lane = 0; lane < int(kPanel); ++lane) numbers[lane] = panel * int(kPanel) + lane;
        return wide_constant(numbers.data());
    }
    void compute_corrections() {
        const ExpScratch<Wide, LaneMask> scratch = {wide(2), wide(3), lane_mask(0, wide(2))};
        for_count(row, padded_rows / kPanel, 64, [&] {
            vmovups(wide(0), lanes_at(correction()));
            emit_exp(*this, wide(1), wide(0), scratch, ExpDomain::not_positive);
            vmovups(lanes_at(correction()), wide(1));
        });
    }
    // Lane i of a row's sum adds the probabilities of the positions i modulo 16, in order.
    void compute_probabilities() {
        const Wide difference = wide(0), probability = wide(1), maximum_lanes = wide(4), sum = wide(5),
                   factor = wide(6);
        const ExpScratch<Wide, LaneMask> scratch = {wide(2), wide(3), lane_mask(0, wide(2))};
        lea(score_row, ptr[rsp + scores_at]);
        lea(sums_row, ptr[state + sums_at]);
        for_count(row, uint64_t(rows), sizeof(float), [&] {
            vbroadcastss(maximum_lanes, ptr[maximum()]);
            vbroadcastss(factor, ptr[correction()]);
            vmulps(sum, factor, lanes_at(sums_row));
            for (int panel = 0; panel < int(kBlock / kPanel); ++panel) {
                vmovups(difference, lanes_at(score_row + 64 * panel));
                vsubps(difference, difference, maximum_lanes);
                emit_exp(*this, probability, difference, scratch, ExpDomain::not_positive);
                vmovups(lanes_at(score_row + 64 * panel), probability);
                vaddps(sum, sum, probability);
            }
            vmovups(lanes_at(sums_row), sum);
            add(score_row, score_row_bytes());
            add(sums_row, 64);
        });
    }

    // ---- outputs
    // The positions of the block that all tokens of the tile see: those up to the first token's limit.
    void multiply_common_values() {
        find_limit(eax, r12);
        sub(eax, block_start);
        xor_(ecx, ecx);
        test(eax, eax);
        cmovs(eax, ecx);
        mov(ecx, kBlock);
        cmp(eax, ecx);
        cmova(eax, ecx);
        mov(positions, eax);
        if (packed_values) lea(rax, ptr[rsp + decoded_at]);
        mov(first_value, packed_values ? rax : values);
        lea(rcx, ptr[rsp + scores_at]);
        lea(rdx, ptr[state + outputs_at]);
        lea(r9, ptr[rsp + corrections_at]);
        lea(keys_ahead.next, ptr[keys + int(kBlock / kPanel) * panel_bytes()]);
        multiply_values_of(rows, Rescale::yes);
    }
    // Then, token by token, the positions from the first token's limit on that it sees.
    void multiply_own_values() {
        const Reg32 token = r10d, begin = r11d;
        Label next, done;
        find_limit(begin, r12);
        cmp(begin, block_start);
        cmovb(begin, block_start);  // begin = max(block_start, the first token's limit)
        xor_(token, token);
        L(next);
        inc(token);
        cmp(token, tokens);
        jae(done);
        find_limit(eax, r12 + r10);
        lea(ecx, ptr[r13 + kBlock]);
        cmp(eax, ecx);
        cmova(eax, ecx);  // the end: min(block_start + kBlock, the token's limit)
        sub(eax, begin);
        jbe(next);
        mov(positions, eax);
        mov(eax, begin);
        sub(eax, block_start);
        imul(rcx, rax, operand_value_bytes());
        packed_values ? lea(rcx, ptr[rsp + rcx + decoded_at]) : add(rcx, values);
        mov(first_value, rcx);
        imul(ecx, token, group * score_row_bytes());
        lea(rcx, ptr[rcx + rax * 4]);
        lea(rcx, ptr[rsp + rcx + scores_at]);
        imul(edx, token, group * output_row_bytes());
        lea(rdx, ptr[state + rdx + outputs_at]);
        multiply_values_of(group, Rescale::no);
        jmp(next);
        L(done);
    }
    // The rows from score row rcx and output row rdx (corrections r9) on, at `positions` positions from first_value.
    void multiply_values_of(int row_count, Rescale rescale) {
        const ValueRegisters& r = value_registers;
        const Blocking blocking = output_blocking(row_count);
        for (int first = 0; first < output_vectors(); first += blocking.vectors) {
            const int vectors = std::min(blocking.vectors, output_vectors() - first);
            for_row_blocks(row_count, {blocking.rows, vectors}, [&](const Blocking& block) {
                mov(r.positions.cvt32(), positions);
                mov(r.values, first_value);
                multiply_values(block, first, rescale, r, rescale == Rescale::yes ? keys_ahead : Ahead{r10, 0});
                mov(eax, positions);
                shl(rax, 2);
                sub(r.scores, rax);
                add(r.scores, block.rows * score_row_bytes());
                add(r.output, block.rows * output_row_bytes());
                if (rescale == Rescale::yes) add(r.corrections, block.rows * int(sizeof(float)));
            });
            sub(r.scores, row_count * score_row_bytes());
            sub(r.output, row_count * output_row_bytes());
            if (rescale == Rescale::yes) sub(r.corrections, row_count * int(sizeof(float)));
        }
    }

    // ---- segments made one
    // After a segment of the unit's own: its state is the first, which the total begins as, or is merged into the
    // total. The next one's state is beside it.
    void add_to_total() {
        const Reg64 total = rax, part = r11;
        Label is_first;
        lea(total, ptr[rsp + total_at]);
        if (!has_window) {
            cmp(state, total);
            je(is_first);
        }
        mov(part, state);
        mov(state, total);
        merge(part);
        L(is_first);
        lea(state, ptr[rsp + part_at]);
    }
    // After a segment that is a unit: to `done` while others of its row are missing, else with the total to `is_total`.
    // Falls through where a unit is a whole row.
    //
    // Writes become visible in program order on x86, and XADD with LOCK is ordered with all before and behind it: who
    // counts last sees all parts. The counter is ready for the next launch, from which a barrier divides this one.
    void merge_if_last(const Label& is_total, const Label& done) {
        const Reg64 counter = rax, part = r11;
        Label is_whole, next_part;
        mov(counter, finished);
        test(counter, counter);
        jz(is_whole);
        mov(ecx, 1);
        lock();
        xadd(dword[counter], ecx);
        cmp(ecx, last_segment);
        jne(done);
        mov(dword[counter], 0);
        mov(state, first_part);
        mov(part, state);
        L(next_part);
        dec(last_segment);
        js(is_total);
        mov(rax, uint64_t(spec_.kv_heads) * state_bytes);
        add(part, rax);
        merge(part);
        jmp(next_part);
        L(is_whole);
    }
    // state = state and part. block_start is behind the part's segment.
    void merge(const Reg64& part) {
        const Reg64 total_row = rdx, part_row = rcx, sums_offset = r9;
        const Wide maximum_lanes = wide(0), part_maximum = wide(1), largest = wide(4), result = wide(5);
        const ExpScratch<Wide, LaneMask> scratch = {wide(2), wide(3), lane_mask(0, wide(2))};
        for_count(row, padded_rows / kPanel, 64, [&] {
            vmovups(maximum_lanes, lanes_at(maximum()));
            vmovups(part_maximum, lanes_at(part + row + maxima_at));
            vmaxps(largest, maximum_lanes, part_maximum);
            vmovups(lanes_at(maximum()), largest);
            vsubps(maximum_lanes, maximum_lanes, largest);
            vsubps(part_maximum, part_maximum, largest);
            emit_exp(*this, result, maximum_lanes, scratch, ExpDomain::not_positive);
            vmovups(lanes_at(correction()), result);
            emit_exp(*this, result, part_maximum, scratch, ExpDomain::not_positive);
            vmovups(lanes_at(rsp + row + part_factors_at), result);
        });
        Label next;
        find_first_token();
        imul(total_row, rax, group * int(output_row_bytes()));
        lea(part_row, ptr[part + total_row + outputs_at]);
        lea(total_row, ptr[state + total_row + outputs_at]);
        imul(sums_offset, rax, group * 64);
        imul(row, rax, group * int(sizeof(float)));
        L(next);
        vbroadcastss(wide(0), ptr[correction()]);
        vbroadcastss(wide(1), ptr[rsp + row + part_factors_at]);
        merge_lanes(state + sums_offset + sums_at, part + sums_offset + sums_at);
        for_count(rax, output_row_bytes() / 64, 64, [&] { merge_lanes(total_row + rax, part_row + rax); });
        add(total_row, output_row_bytes());
        add(part_row, output_row_bytes());
        add(sums_offset, 64);
        add(row, sizeof(float));
        cmp(row, rows * int(sizeof(float)));
        jb(next);
    }
    void merge_lanes(const Xbyak::RegExp& total, const Xbyak::RegExp& part) {
        vmulps(wide(2), wide(0), lanes_at(total));
        vfmadd231ps(wide(2), wide(1), lanes_at(part));
        vmovups(lanes_at(total), wide(2));
    }
    // rax = the first token that sees something of the segment before block_start.
    void find_first_token() {
        xor_(eax, eax);
        if (tile_tokens == 1 || (sees_whole && !has_window)) return;
        lea(ecx, ptr[r13 - 1]);
        and_(ecx, ~(kKvPage - 1));
        sub(ecx, first_position);
        if (ahead != 0) sub(ecx, ahead);
        cmovg(eax, ecx);
    }

    // ---- the end: outputs divided by the sums
    void store_outputs() {
        const Reg64 output_row = rdx, target = r8, sums = r9, target_row = r10;
        const Reg32 token = ecx, head = r11d;
        lea(output_row, ptr[state + outputs_at]);
        lea(sums, ptr[state + sums_at]);
        lea(maxima, ptr[state + maxima_at]);
        mov(target_row, out);
        for_each_token(token, tokens, [&] {
            mov(target, target_row);
            if (has_sinks) mov(sink, head_sinks);
            for_each_head(head, [&] {
                store_output(target, output_row, sums);
                add(output_row, output_row_bytes());
                add(sums, kPanel * uint32_t(sizeof(float)));
                add(target, query_row_bytes());
                if (!has_sinks) return;
                add(sink, uint32_t(sizeof(float)));
                add(maxima, uint32_t(sizeof(float)));
            });
            add(target_row, spec_.out_stride * uint32_t(sizeof(float)));
        });
    }
    const Reg64 maxima = rbx, sink = r13;  // no block is begun any more
    void store_output(const Reg64& target, const Reg64& output_row, const Reg64& sums) {
        const Reg64 offset = rax;
        const Xmm total = xmm_of(wide(1)), inverse = xmm_of(wide(2));
        const Wide factor = wide(3), value = wide(4), spare = wide(5);
        if (has_sinks) weigh_sink();
        vmovups(wide(0), lanes_at(sums));
        fold_sum(total, wide(0), inverse);
        vmovss(inverse, constant(1.0f));
        if (has_sinks) {
            vmovaps(inverse, xmm_of(row_weight));
            vfmadd213ss(total, inverse, xmm_of(sink_weight));
        }
        vdivss(inverse, inverse, total);
        vbroadcastss(factor, inverse);
        for_each_group(offset, spec_.head_dim, 2, [&](int index, uint32_t count) {
            vmulps(value, factor, lanes_at(output_row + offset + 64 * index));
            store_lanes(target + offset + 64 * index, value, count, spare);
        });
    }
    // With the sink's score among those of the row, all weights are relative to the larger of the two maxima.
    const Wide sink_weight = wide(6), row_weight = wide(7);
    void weigh_sink() {
        const Wide row_maximum = wide(0), sink_score = wide(1), largest = wide(4);
        const ExpScratch<Wide, LaneMask> scratch = {wide(2), wide(3), lane_mask(0, wide(2))};
        vbroadcastss(row_maximum, ptr[maxima]);
        vbroadcastss(sink_score, ptr[sink]);
        vmaxps(largest, row_maximum, sink_score);
        vsubps(row_maximum, row_maximum, largest);
        vsubps(sink_score, sink_score, largest);
        emit_exp(*this, sink_weight, sink_score, scratch, ExpDomain::not_positive);
        emit_exp(*this, row_weight, row_maximum, scratch, ExpDomain::not_positive);
    }
};

}  // namespace

MachineCode generate(OpOf<AttentionSpec>, const AttentionSpec& spec, Isa isa) {
    return AttentionKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
