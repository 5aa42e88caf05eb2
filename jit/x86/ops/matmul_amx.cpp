// Matrix times many rows by AMX tiles: 16 rows ("tokens") by 16 rows of two panels, for quantised weights.
//
// The sums are the exact integers of every other level, in two ways:
//
//   one scale per 32 (Q8_0): TDPBF16PS on 128 * high, then on low. Weights have at most 8 bits and digits 7, so all are
//     bf16; the sums of 128 * high are multiples of 128 and the whole is below 2^24 (decoder_bounds_test.cpp), so no
//     addition rounds, in whatever order, and the tile holds float(I).
//   longer segments: TDPBSSD on bytes. A weight w = 128 * h + l as a code is, and with three products instead of four,
//     high * h, low * l and (high + low) * (h + l), I = 2^14 * hh + 2^7 * (ss - hh - ll) + ll modulo 2^32. Weights that
//     are bytes take two. Minima n * sum(a) are TDPBF16PS of n and the sums' digits, exact too: 512 * high + low
//     rounds once, as the integer does.
//
// A panel's step is decoded as the other tile form does it, and rearranged so that four consecutive elements, or a pair
// of bf16, make a dword. A block's last rows are taken together with some before them that are computed already, so
// that every tile has 16; batches of fewer than 16 take the other tile form, which is here too.
#include <map>

#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/emit/tiles.h"
#include "jit/x86/ops/matmul_tile.h"

namespace riftjit::x86 {

namespace {

class AmxMatmul final : public WordTileMatmul {
public:
    using WordTileMatmul::WordTileMatmul;

private:
    static constexpr int kPanels = 2, kRowBytes = kPanels * 64;  // of totals

    bool has_bytes() const { return row_.format == RowFormat::i16_bytes; }
    bool has_minima() const { return traits_.minimum == Minimum::integer; }
    int segment_count() const { return static_cast<int>(kStepElements / traits_.segment); }
    // Products of one segment and panel, each summed in a tile of its own.
    int products() const { return !has_bytes() ? 1 : traits_.fits_byte ? 2 : 3; }

    // Digits of a token block stay in the second-level cache while the panels pass by.
    uint32_t tile_block() const {
        constexpr uint32_t kBytes = 1280 * 1024, kMin = 96, kMax = 256;
        return std::clamp(kBytes / (row_.blocks() * (has_bytes() ? 768 : 1024)), kMin, kMax) & ~(kTileRows - 1);
    }

    // ---- stack frame: behind that of the other tile form, whose decoded step and totals serve here too ----

    // One tile more than the block's: see multiply_bytes().
    uint32_t max_total_lines() const override { return std::max(token_block(), tile_block() + kTileRows); }
    int weights_offset() const { return static_cast<int>(round_up(TileMatmul::frame_bytes(), 64)); }
    int weights_bytes() const { return (has_bytes() && !traits_.fits_byte ? 3 : 1) * kPanels * panel_weights_bytes(); }
    int minima_offset() const { return weights_offset() + weights_bytes(); }  // [panel][low, high] tiles
    int minima_bytes() const { return has_minima() ? kPanels * 2 * kTileBytes : 0; }
    int results_offset() const { return minima_offset() + minima_bytes(); }
    int results_bytes() const {
        if (!has_bytes()) return 2 * kPanels * kTileBytes;  // of two segments
        return (segment_count() * products() + (has_minima() ? 2 : 0)) * kPanels * kTileBytes;
    }
    int spilled_offset() const { return results_offset() + results_bytes(); }
    uint32_t amx_frame_bytes() const { return static_cast<uint32_t>(spilled_offset()) + kSpilled * 64; }

    // ---- register map, while tiles are multiplied (args, panel, end, group_panels and step as elsewhere) ----

    const Reg64 digits = r8;        // of the tile's first row, this step
    const Reg64 row_stride = r11;   // row_.bytes()
    const Reg64 line_stride = rbx;  // 64
    const Reg64 tile_totals = r12;
    const Reg64 tile_scales = r13;  // of the tile's first row, this step
    const Reg64 tile_sums = r14;    // likewise: sums of 32, or the digits of sums
    const Reg64 tile_row = r15;     // bytes from the block's first row to the tile's
    const Reg64 advance = rax;      // bytes to the next tile's first row
    const Reg32 tiles_left = ecx;

    // While a step is decoded: pairs whose partner is to come, by index.
    static constexpr int kFirstWaiting = StepDecoder::kFreeRegister, kMostWaiting = 8;
    std::map<uint32_t, int> waiting_;
    // And what they are rearranged by: bytes; bf16.
    const Zmm even_bytes = zmm31, sixty_fours_of_words = zmm30, seven_bits = zmm29, sixty_fours = zmm28;
    const Zmm sign_and_f16_bits = zmm31;

    void generate() override {
        Label has_few_rows;
        prologue({rbx, r12, r13, r14, r15}, amx_frame_bytes());
        leave_without_panels();
        mov(rax, ptr[args + offsetof(MatmulArgs, batch)]);
        cmp(dword[rax + offsetof(BatchState, rows)], kTileRows);
        jb(has_few_rows);
        const TileConfiguration configuration;
        ldtilecfg(constant_bytes(&configuration, sizeof configuration));
        clear_what_is_never_written();
        start_token_blocks();
        Label next_block, next_group;
        L(next_block);
        start_tile_block();
        L(next_group);
        start_group();
        multiply_group([this] { multiply_step(); });
        store_totals();
        cmp(panel, end);
        jb(next_group);
        leave_block(next_block, tile_block());
        tilerelease();
        epilogue();
        L(has_few_rows);
        multiply_blocks();
        epilogue();
    }

    // ---- blocks ----

    // A tile begins no later than that its last row is the block's last: before the block where that has fewer than 16,
    // and the rows before it are in the block before.
    void start_tile_block() {
        start_block(tile_block());
        mov(eax, variable32(Variable::block_tokens));
        lea(ecx, ptr[rax + 2 * kTileRows - 1]);
        and_(ecx, ~(kTileRows - 1));
        mov(variable32(Variable::total_lines), ecx);
        sub(rax, kTileRows);
        imul(rax, rax, static_cast<int>(row_.bytes()));
        mov(variable(Variable::last_row), rax);
    }

    // Totals go out in order of tokens; the last tile's first lines are of tokens before its own.
    void store_totals() {
        const Reg64 line = r12, out = r13;
        const Reg32 left = ecx;
        Label rest;
        lea(line, ptr[rsp + totals_offset() + kTileRows * kRowBytes]);
        mov(out, variable(Variable::out));
        mov(left, variable32(Variable::total_lines));
        sub(left, 2 * kTileRows);
        jz(rest);
        mov(r8d, left);
        store_lines(line, out, left);
        mov(left, r8d);
        L(rest);  // left: tokens that are stored
        lea(eax, ptr[rcx + kTileRows]);
        sub(eax, variable32(Variable::block_tokens));
        shl(rax, 7);
        static_assert(kRowBytes == 1 << 7);
        add(line, rax);
        sub(left, variable32(Variable::block_tokens));
        neg(left);
        store_lines(line, out, left);
    }
    void store_lines(const Reg64& line, const Reg64& out, const Reg32& left) {
        Label again;
        L(again);
        for (int p = 0; p < kPanels; ++p) {
            Label is_absent;
            if (p > 0) {
                cmp(group_panels, p);
                je(is_absent);
            }
            vmovaps(zmm0, ptr[line + p * 64]);
            if (spec_.bias == Presence::present) vaddps(zmm0, zmm0, ptr[rsp + bias_offset() + p * 64]);
            if (spec_.epilogue == Epilogue::accumulate) vaddps(zmm0, zmm0, ptr[out + p * 64]);
            vmovups(ptr[out + p * 64], zmm0);
            L(is_absent);
        }
        add(line, kRowBytes);
        add(out, spec_.out_stride * 4);
        dec(left);
        jnz(again);
    }

    // ---- one step ----

    void multiply_step() {
        lea(arranged, ptr[rsp + weights_offset()]);
        start_arranging();
        decode_step([this](const Xmm& pair, uint32_t index) { arrange(Zmm(pair.getIdx()), index); },
                    panel_weights_bytes());
        check(waiting_.empty(), "pairs come by twos");
        if (layout_.tail_blocks > 0) clear_missing_scales();
        if (has_minima()) arrange_minima();
        start_tiles();
        if (has_bytes())
            multiply_bytes();
        else
            multiply_bf16();
    }

    // The last step's elements beyond the row: their codes are 0, so that any finite weight and scale does.
    void clear_missing_scales() {
        Label is_whole;
        if (layout_.full_steps > 0) {
            cmp(step, layout_.full_steps);
            jb(is_whole);
        }
        vpxord(zmm0, zmm0, zmm0);
        for (int p = 0; p < kPanels; ++p)
            for (uint32_t segment = segments(layout_.tail_blocks); segment < kStepElements / traits_.segment;
                 ++segment) {
                vmovaps(ptr[rsp + decoded_line(decoded_step_.scales, segment, p)], zmm0);
                if (traits_.minimum == Minimum::real)
                    vmovaps(ptr[rsp + decoded_line(decoded_step_.minima, segment, p)], zmm0);
            }
        L(is_whole);
    }
    int decoded_line(int first, uint32_t index, int p) const {
        return first + static_cast<int>(index) * line_bytes() + p * 64;
    }
    // Rows of minima tiles between and behind the digits', and bf16 weights (no NaN) where there is no whole step.
    void clear_what_is_never_written() {
        const int weights = !has_bytes() && layout_.full_steps == 0 ? weights_bytes() : 0;
        if (weights + minima_bytes() == 0) return;
        vpxord(zmm0, zmm0, zmm0);
        for (int offset = 0; offset < weights; offset += 64) vmovdqa32(ptr[rsp + weights_offset() + offset], zmm0);
        for (int offset = 0; offset < minima_bytes(); offset += 64)
            vmovdqa32(ptr[rsp + minima_offset() + offset], zmm0);
    }

    // ---- decoded pairs to tiles; vectors from StepDecoder::kFreeRegister on ----

    int panel_weights_bytes() const { return has_bytes() ? 4096 : 8192; }
    void arrange(const Zmm& pair, uint32_t index) {
        if (!has_bytes()) return arrange_bf16(pair, index);
        const uint32_t partner = index ^ 1;
        if (const auto found = waiting_.find(partner); found != waiting_.end()) {
            const Zmm other(found->second);
            waiting_.erase(found);
            return index % 2 == 0 ? arrange_bytes(pair, other, index / 2) : arrange_bytes(other, pair, index / 2);
        }
        int free = kFirstWaiting;
        while (std::ranges::count(waiting_, free, &std::pair<const uint32_t, int>::second) > 0) ++free;
        check(free < kFirstWaiting + kMostWaiting, "few pairs wait for their partners");
        vmovdqa32(Zmm(free), pair);
        waiting_[index] = free;
    }

    void start_arranging() {
        if (!has_bytes()) return vpbroadcastd(sign_and_f16_bits, constant_u32(0x8FFF8FFFu));
        vpbroadcastd(even_bytes, constant_u32(0x00FF00FFu));
        if (traits_.fits_byte) return;
        vpbroadcastd(sixty_fours_of_words, constant_u32(0x00400040u));
        vpbroadcastd(seven_bits, constant_u32(0x7F7F7F7Fu));
        vpbroadcastd(sixty_fours, constant_u32(0x40404040u));
    }

    // [digit][panel][four elements][16 rows] dwords; clobbers both. Of four elements the order is that of quads
    // (decoders/decoder.h), as in rows of digits: words of the second pair go between those of the first.
    void arrange_bytes(const Zmm& first, const Zmm& second, uint32_t line) {
        const Zmm low(26), high(27);
        const auto store_digit = [&](int digit, const Zmm& bytes) {
            vmovdqa32(ptr[arranged + digit * kPanels * 4096 + static_cast<int>(line) * 64], bytes);
        };
        // odd = the even bytes of `even`, and its own odd ones.
        const auto interleave = [&](const Zmm& odd, const Zmm& even) {
            constexpr uint8_t kThirdPicksSecond = 0xD8;
            vpternlogd(odd, even, even_bytes, kThirdPicksSecond);
        };
        if (traits_.fits_byte) {
            vpsllw(second, second, 8);
            interleave(second, first);
            return store_digit(0, second);
        }
        // (w + 64) mod 128 - 64 and (w + 64) div 128.
        vpaddw(first, first, sixty_fours_of_words);
        vpaddw(second, second, sixty_fours_of_words);
        vpsllw(low, second, 8);
        interleave(low, first);
        vpandd(low, low, seven_bits);
        vpsubb(low, low, sixty_fours);
        store_digit(0, low);
        vpsrlw(first, first, 7);
        vpsllw(high, second, 1);
        interleave(high, first);
        store_digit(1, high);
        vpaddb(low, low, high);
        store_digit(2, low);
    }

    // [panel][pair][16 rows] dwords; clobbers the pair. Integers of at most eight bits are exact as f16, whose bits,
    // three places down, are those of a bf16 2^112 times smaller: the digits that it meets are as much larger.
    void arrange_bf16(const Zmm& pair, uint32_t index) {
        vcvtw2ph(pair, pair);
        vpsraw(pair, pair, 3);
        vpandd(pair, pair, sign_and_f16_bits);
        vmovdqa32(ptr[arranged + static_cast<int>(index) * 64], pair);
    }
    // first = pairs of bf16 from integers of at most eight bits, whose f32 have zeros in the lower half.
    void merge_to_bf16(const Zmm& first, const Zmm& second) {
        vcvtdq2ps(first, first);
        vcvtdq2ps(second, second);
        vpsrld(first, first, 16);
        vpord(first, first, second);
    }

    // The rows of digits hold low digits, then high ones; each is multiplied by a tile whose other rows are zero.
    int sums_per_step() const { return static_cast<int>(kStepElements) / traits_.group; }
    void arrange_minima() {
        for (int p = 0; p < kPanels; ++p)
            for (int pair = 0; pair < sums_per_step() / 2; ++pair) {
                const int line = decoded_line(decoded_step_.minima, static_cast<uint32_t>(2 * pair), p);
                vmovdqa32(zmm0, ptr[rsp + line]);
                vmovdqa32(zmm1, ptr[rsp + line + line_bytes()]);
                merge_to_bf16(zmm0, zmm1);
                const int low = minima_tile(p, 0) + pair * 64,
                          high = minima_tile(p, 1) + (sums_per_step() / 2 + pair) * 64;
                vmovdqa32(ptr[rsp + low], zmm0);
                vmovdqa32(ptr[rsp + high], zmm0);
            }
    }
    int minima_tile(int p, int digit) const { return minima_offset() + (2 * p + digit) * kTileBytes; }

    // ---- tiles ----

    void start_tiles() {
        xor_(eax, eax);
        mov(tile_row, variable(Variable::last_row));
        test(tile_row, tile_row);
        cmovg(tile_row, rax);
        mov(digits, variable(Variable::x_block));
        add(digits, tile_row);
        mov(eax, step);
        lea(tile_scales, ptr[digits + rax * 4 + static_cast<int>(row_.scales_offset_bytes())]);
        if (has_minima() || traits_.minimum == Minimum::real) {
            mov(tile_sums, rax);
            shl(tile_sums, has_minima() ? 6 : 5);
            add(tile_sums, digits);
            add(tile_sums, has_minima() ? row_.sum_digits_offset_bytes(traits_.group) : row_.sums32_offset_bytes());
        }
        shl(rax, 8);
        lea(digits, ptr[digits + rax + static_cast<int>(row_.tiles_offset_bytes())]);
        mov(row_stride, row_.bytes());
        mov(line_stride, 64);
        lea(tile_totals, ptr[rsp + totals_offset()]);
        mov(tiles_left, variable32(Variable::total_lines));
        shr(tiles_left, 4);
        dec(tiles_left);
    }
    void point_at_next_tile() {
        lea(advance, ptr[tile_row + static_cast<int>(kTileRows * row_.bytes())]);
        cmp(advance, variable(Variable::last_row));
        cmovg(advance, variable(Variable::last_row));
        sub(advance, tile_row);
        add(tile_row, advance);
        add(digits, advance);
        if (has_minima() || traits_.minimum == Minimum::real) add(tile_sums, advance);
    }
    Address activation_tile(uint32_t offset_in_row) {
        return ptr[digits + row_stride + static_cast<int>(offset_in_row - row_.tiles_offset_bytes())];
    }
    Address frame_tile(int offset) { return ptr[rsp + line_stride + offset]; }
    Address result(int tile, uint32_t token) {
        return ptr[rsp + results_offset() + tile * kTileBytes + static_cast<int>(token) * 64];
    }
    Address total(uint32_t token, int p) { return ptr[tile_totals + static_cast<int>(token) * kRowBytes + p * 64]; }
    Address of_row(const Reg64& first, uint32_t token, int offset = 0) {
        return ptr[first + row_offset(static_cast<int>(token)) + offset];
    }
    void multiply_add_totals(uint32_t token, int p, const Zmm& block, const Zmm& scale_of_row) {
        vfmadd213ps(block, scale_of_row, total(token, p));
        vmovaps(total(token, p), block);
    }

    // ---- bytes ----

    // What is left to do behind a tile's products, 16 times: from the integers to the totals.
    class Rest {
    public:
        explicit Rest(AmxMatmul& kernel) : kernel_(kernel) {}
        void emit_until(uint32_t token) {
            for (; token_ < token; ++token_) kernel_.finish_token(token_);
        }

    private:
        AmxMatmul& kernel_;
        uint32_t token_ = 0;
    };
    const Zmm step_scale(int p) const { return Zmm(28 + p); }
    const Zmm minimum_scale(int p) const { return Zmm(26 + p); }
    const Zmm two_to_9 = zmm31;

    // With one segment per step, the results of a tile are finished between the products of the next. The first tile
    // comes after none: it finishes what lies in the results into totals that nobody reads.
    void multiply_bytes() {
        Label again;
        const bool is_interleaved = segment_count() == 1;
        for (int p = 0; p < kPanels; ++p) {
            if (is_interleaved) vmovaps(step_scale(p), ptr[rsp + decoded_line(decoded_step_.scales, 0, p)]);
            if (has_minima()) vmovaps(minimum_scale(p), ptr[rsp + decoded_line(decoded_step_.minimum_scale, 0, p)]);
        }
        if (has_minima()) vbroadcastss(two_to_9, constant(512.0f));
        if (is_interleaved)
            xor_(advance.cvt32(), advance.cvt32());
        else
            add(tile_totals, kTileRows * kRowBytes);
        L(again);
        Rest rest(*this);
        multiply_byte_tiles(is_interleaved ? &rest : nullptr);
        if (!is_interleaved) {
            rest.emit_until(kTileRows);
            point_at_next_tile();
            add(tile_scales, advance);
        } else {
            add(tile_scales, advance);
            point_at_next_tile();
        }
        add(tile_totals, kTileRows * kRowBytes);
        dec(tiles_left);
        jnz(again, T_NEAR);
        if (is_interleaved) Rest(*this).emit_until(kTileRows);
    }

    void multiply_byte_tiles(Rest* rest) {
        const int depth = traits_.segment / 64;  // tiles along k
        for (int segment = 0; segment < segment_count(); ++segment) {
            for (int tile = 0; tile < products() * kPanels; ++tile) tilezero(Tmm(tile));
            for (int k = 0; k < depth; ++k) {
                for (int product = 0; product < products(); ++product) {
                    const int position = (segment * depth + k) * 64;
                    tileloaddt1(tmm6, activation_tile(row_.bytes_offset(I16Row::Digit(product)) + uint32_t(position)));
                    for (int p = 0; p < kPanels; ++p) {
                        const int digit = traits_.fits_byte ? 0 : product;
                        tileloadd(tmm7, frame_tile(weights_offset() + (digit * kPanels + p) * 4096 + position * 16));
                        tdpbssd(Tmm(product * kPanels + p), tmm6, tmm7);
                    }
                    if (rest)
                        rest->emit_until(kTileRows * uint32_t(k * products() + product + 1) /
                                         uint32_t(depth * products()));
                }
            }
            for (int tile = 0; tile < products() * kPanels; ++tile)
                tilestored(frame_tile(results_offset() + (segment * products() * kPanels + tile) * kTileBytes),
                           Tmm(tile));
        }
        if (has_minima()) multiply_minima();
    }
    int first_minimum_result() const { return segment_count() * products() * kPanels; }
    void multiply_minima() {
        tileloadd(tmm6, ptr[tile_sums + row_stride]);
        for (int tile = 0; tile < 2 * kPanels; ++tile) {  // [digit][panel]
            tilezero(Tmm(tile));
            tileloadd(tmm7, frame_tile(minima_tile(tile % kPanels, tile / kPanels)));
            tdpbf16ps(Tmm(tile), tmm6, tmm7);
        }
        for (int tile = 0; tile < 2 * kPanels; ++tile)
            tilestored(frame_tile(results_offset() + (first_minimum_result() + tile) * kTileBytes), Tmm(tile));
    }

    void finish_token(uint32_t token) {
        const Zmm row_scale = zmm0;
        vbroadcastss(row_scale, of_row(tile_scales, token));
        for (int p = 0; p < kPanels; ++p) {
            const Zmm block(1 + 8 * p);
            for (int segment = 0; segment < segment_count(); ++segment) {
                const Zmm integer(2 + 8 * p);
                combine_products(token, segment * products() * kPanels + p, integer, Zmm(3 + 8 * p), Zmm(4 + 8 * p));
                vcvtdq2ps(integer, integer);
                if (segment_count() == 1) {
                    vmulps(block, integer, step_scale(p));
                } else {
                    const Address scale = ptr[rsp + decoded_line(decoded_step_.scales, uint32_t(segment), p)];
                    if (segment == 0)
                        vmulps(block, integer, scale);
                    else
                        vfmadd231ps(block, integer, scale);
                }
            }
            if (has_minima()) {
                const Zmm minimum(5 + 8 * p);
                vmovaps(minimum, result(first_minimum_result() + kPanels + p, token));
                vfmadd213ps(minimum, two_to_9, result(first_minimum_result() + p, token));
                vfnmadd231ps(block, minimum, minimum_scale(p));
            }
            multiply_add_totals(token, p, block, row_scale);
        }
    }
    // The integer of a segment, from its products' tiles `first`, `first` + 2 ...
    void combine_products(uint32_t token, int first, const Zmm& out, const Zmm& low, const Zmm& high) {
        vmovdqa32(low, result(first, token));
        if (products() == 2) {  // low, high
            vpslld(out, result_of(high, first + kPanels, token), 7);
            return vpaddd(out, out, low);
        }
        vmovdqa32(high, result(first + kPanels, token));
        vmovdqa32(out, result(first + 2 * kPanels, token));
        vpsubd(out, out, high);
        vpsubd(out, out, low);
        vpslld(high, high, 7);
        vpaddd(out, out, high);
        vpslld(out, out, 7);
        vpaddd(out, out, low);
    }
    const Zmm& result_of(const Zmm& out, int tile, uint32_t token) {
        vmovdqa32(out, result(tile, token));
        return out;
    }

    // ---- bf16 ----

    // 32 block sums, of which registers hold all but two.
    static constexpr int kSpilled = 2, kSums = static_cast<int>(kTileRows) * kPanels;
    static int sum_index(uint32_t token, int p) { return p * static_cast<int>(kTileRows) + static_cast<int>(token); }
    static bool is_spilled(int index) { return index >= kSums - kSpilled; }
    Address spilled(int index) { return ptr[rsp + spilled_offset() + (index - (kSums - kSpilled)) * 64]; }
    const Zmm factor = zmm30, spare = zmm31;

    void multiply_bf16() {
        Label again;
        add(tile_totals, kTileRows * kRowBytes);
        L(again);
        for (int segment = 0; segment < segment_count(); ++segment) {
            multiply_segment(segment);
            if (segment > 0) finish_segment(segment - 1);
        }
        finish_segment(segment_count() - 1);
        add_blocks_to_totals();
        point_at_next_tile();
        add(tile_scales, advance);
        add(tile_totals, kTileRows * kRowBytes);
        dec(tiles_left);
        jnz(again, T_NEAR);
    }
    int segment_result(int segment, int p) const { return segment % 2 * kPanels + p; }
    void multiply_segment(int segment) {
        const uint32_t high = row_.quarter_offset_bytes(uint32_t(segment) / 2) + uint32_t(segment) % 2 * 128;
        tileloadd(tmm4, activation_tile(high));
        tileloadd(tmm5, activation_tile(high + 64));
        for (int p = 0; p < kPanels; ++p) {
            const Tmm sum(segment_result(segment, p)), weight(6 + p);
            tilezero(sum);
            tileloadd(weight, frame_tile(weights_offset() + p * 8192 + segment * kTileBytes));
            tdpbf16ps(sum, tmm4, weight);
            tdpbf16ps(sum, tmm5, weight);
        }
        for (int p = 0; p < kPanels; ++p)
            tilestored(frame_tile(results_offset() + segment_result(segment, p) * kTileBytes),
                       Tmm(segment_result(segment, p)));
    }
    void finish_segment(int segment) {
        for (int p = 0; p < kPanels; ++p) {
            vmovaps(factor, ptr[rsp + decoded_line(decoded_step_.scales, uint32_t(segment), p)]);
            for (uint32_t token = 0; token < kTileRows; ++token)
                change_sum(
                    token, p, spare,
                    [&](const Zmm& sum) {
                        const Address value = result(segment_result(segment, p), token);
                        if (segment == 0)
                            vmulps(sum, factor, value);
                        else
                            vfmadd231ps(sum, factor, value);
                    },
                    segment > 0);
        }
        if (traits_.minimum == Minimum::real) add_real_minimum(segment);
    }
    void add_real_minimum(int segment) {
        for (uint32_t token = 0; token < kTileRows; ++token) {
            vcvtdq2ps(factor, ptr_b[tile_sums + row_offset(static_cast<int>(token)) + segment * 4]);
            for (int p = 0; p < kPanels; ++p)
                change_sum(token, p, spare, [&](const Zmm& sum) {
                    vfmadd231ps(sum, factor, ptr[rsp + decoded_line(decoded_step_.minima, uint32_t(segment), p)]);
                });
        }
    }
    template <class Body>
    void change_sum(uint32_t token, int p, const Zmm& copy, const Body& emit_change, bool is_read = true) {
        const int index = sum_index(token, p);
        if (!is_spilled(index)) return emit_change(Zmm(index));
        if (is_read) vmovaps(copy, spilled(index));
        emit_change(copy);
        vmovaps(spilled(index), copy);
    }
    void add_blocks_to_totals() {
        for (uint32_t token = 0; token < kTileRows; ++token) {
            vbroadcastss(factor, of_row(tile_scales, token));
            for (int p = 0; p < kPanels; ++p) {
                const int index = sum_index(token, p);
                const Zmm block = is_spilled(index) ? spare : Zmm(index);
                if (is_spilled(index)) vmovaps(block, spilled(index));
                multiply_add_totals(token, p, block, factor);
            }
        }
    }
};

}  // namespace

RowFormat activation_format(DType weight, Activations activations, Isa isa) {
    if (weight == DType::F32 || weight == DType::F16) return RowFormat::f32;
    if (weight == DType::BF16) return has_bf16(isa) ? RowFormat::bf16 : RowFormat::f32;
    if (activations == Activations::i8) return RowFormat::i8;
    const Decoder* decoder = find_decoder(weight);
    if (isa < Isa::amx_int8 || decoder == nullptr) return RowFormat::i16;
    const DecoderTraits& traits = decoder->traits();
    if (traits.segment == 32 && traits.sub_scale == SubScale::none) return RowFormat::i16_bf16;
    if (traits.segment >= 64 && traits.minimum != Minimum::real) return RowFormat::i16_bytes;
    return RowFormat::i16;  // NVFP4, whose scales change every 16 elements
}

MachineCode generate_amx_matmul(const MatmulSpec& spec, Isa isa) { return AmxMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
