// What surrounds the products of experts: the choice, the order of pairs, their rows, and the sum of what came out.
#include <algorithm>
#include <array>
#include <limits>

#include "jit/x86/backend.h"
#include "jit/x86/emit/wide.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

constexpr float kLowestScore = -std::numeric_limits<float>::infinity();

class RouteKernel final : public X86Kernel<RouteSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. logits and choices point to the token's; offset counts bytes into arrays of the frame.
    const Reg64 args = rdi, logits = r8, choices = r9, offset = rax, slot = r10, found = rcx, place = r11;
    const Reg32 token = esi, end = edx, high_bits = r11d;
    const std::array<Wide, 2> partial = {wide(0), wide(1)};
    const Wide value = wide(2), exponent = wide(3), total = wide(4);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(5))};
    const LaneMask matches = lane_mask(0, wide(5));

    // The frame: scores by which experts are chosen, what they weigh, the chosen ones' weights, and of each group of
    // experts its score, then whether it is one of the used.
    const uint32_t width_ = uint32_t(round_up(spec_.experts, kWideLanes));
    const uint32_t used_width_ = uint32_t(round_up(spec_.used, kWideLanes));
    const uint32_t groups_width_ = spec_.groups > 1 ? uint32_t(round_up(spec_.groups, kWideLanes)) : 0;
    const uint32_t scores_at = 0, weights_at = width_ * 4, chosen_at = 2 * width_ * 4;
    const uint32_t groups_at = chosen_at + used_width_ * 4, is_used_at = groups_at + groups_width_ * 4;
    const uint32_t frame_bytes = is_used_at + groups_width_ * 4;

    Xbyak::RegExp frame(uint32_t at) const { return rsp + int(at); }

    void generate() override {
        prologue({}, frame_bytes);
        for_units(token, end, [&] {
            locate();
            score();
            if (spec_.groups > 1) keep_groups();
            choose();
            weigh();
            store();
        });
        epilogue();
    }
    void locate() {
        mov(logits.cvt32(), token);
        imul(choices, logits, spec_.used * uint32_t(sizeof(ExpertChoice)));
        imul(logits, logits, int(f32_row_bytes(spec_.experts)));
        add(logits, ptr[args + offsetof(RouteArgs, logits)]);
        add(choices, ptr[args + offsetof(RouteArgs, choices)]);
    }

    // ---- scores

    // Lanes of `value` beyond `count` = -infinity.
    void lower_rest(const Wide& lanes, uint32_t count) {
        if (count == 16) return;
        std::array<float, 16> lowest{};
        std::fill(lowest.begin() + count, lowest.end(), kLowestScore);
        clear_lanes_from(lanes, count);
        vorps(lanes, lanes, wide_constant(lowest.data()));
    }
    void score() {
        if (spec_.scoring == Scoring::softmax) find_largest_logit();
        vxorps(total, total, total);
        for_each_group(offset, spec_.experts, 1, [&](int, uint32_t count) {
            load_lanes(value, logits + offset, count);
            switch (spec_.scoring) {
                case Scoring::softmax:
                    vsubps(exponent, value, partial[0]);
                    emit_exp(*this, value, exponent, exp_scratch, ExpDomain::not_positive);
                    clear_lanes_from(value, count);
                    vaddps(total, total, value);
                    break;
                case Scoring::sigmoid:
                    vxorps(exponent, value, splat_u32(0x8000'0000));
                    vbroadcastss(partial[0], constant(1.0f));
                    emit_gated_by_exp(*this, value, partial[0], exponent, exp_scratch);
                    break;
                case Scoring::softmax_of_chosen:
                case Scoring::sparse_mixer:
                    break;
            }
            vmovups(lanes_at(frame(weights_at) + offset), value);
        });
        if (spec_.scoring == Scoring::softmax) {
            fold_sum(xmm_of(exponent), total, xmm_of(value));
            vbroadcastss(total, xmm_of(exponent));
        }
        if (spec_.bias == Presence::present) mov(place, ptr[args + offsetof(RouteArgs, bias)]);
        for_each_group(offset, spec_.experts, 1, [&](int, uint32_t count) {
            vmovups(value, lanes_at(frame(weights_at) + offset));
            if (spec_.scoring == Scoring::softmax) {
                vdivps(value, value, total);
                vmovups(lanes_at(frame(weights_at) + offset), value);
            }
            if (spec_.bias == Presence::present) vaddps(value, value, lanes_at(place + offset));
            lower_rest(value, count);
            vmovups(lanes_at(frame(scores_at) + offset), value);
        });
    }
    void find_largest_logit() {
        vbroadcastss(partial[0], constant(kLowestScore));
        for_each_group(offset, spec_.experts, 1, [&](int, uint32_t count) {
            load_lanes(value, logits + offset, count);
            lower_rest(value, count);
            vmaxps(partial[0], value, partial[0]);  // the second operand, if the first is NaN
        });
        spread_largest();
    }
    // partial[0] = the largest of its lanes, in all of them.
    void spread_largest() {
        fold(xmm_of(value), partial[0], xmm_of(exponent),
             [this](const Xmm& to, const Xmm& left, const Xmm& right) { vmaxps(to, left, right); });
        vbroadcastss(partial[0], xmm_of(value));
    }

    // found = the first of the highest among `count` scores in the frame, whose rest is -infinity; 0 if all are NaN.
    // It becomes -infinity.
    void take_highest(uint32_t at, uint32_t count) {
        Label is_found, done;
        vbroadcastss(partial[0], constant(kLowestScore));
        const uint32_t width = uint32_t(round_up(count, kWideLanes));
        for_each_group(offset, width, 1, [&](int, uint32_t) {
            vmovups(value, lanes_at(frame(at) + offset));
            vmaxps(partial[0], value, partial[0]);
        });
        spread_largest();
        for_each_group(offset, width, 1, [&](int, uint32_t) {
            vmovups(value, lanes_at(frame(at) + offset));
            compare(matches, value, partial[0], Compare::equal);
            if (has_avx512(isa_)) {
                kmovw(found.cvt32(), matches.bits);
            } else {
                vmovmskps(found.cvt32(), Ymm(matches.words.low.getIdx()));
                vmovmskps(high_bits, Ymm(matches.words.high.getIdx()));
                shl(high_bits, 8);
                or_(found.cvt32(), high_bits);
            }
            test(found.cvt32(), found.cvt32());
            jnz(is_found);
        });
        xor_(found.cvt32(), found.cvt32());
        jmp(done);
        L(is_found);
        bsf(found.cvt32(), found.cvt32());
        shr(offset, 2);
        add(found.cvt32(), offset.cvt32());
        xor_(offset.cvt32(), offset.cvt32());
        cmp(found.cvt32(), count);  // a lane beyond, where scores are NaN and -infinity alone
        cmovae(found.cvt32(), offset.cvt32());
        L(done);
        mov(dword[frame(at) + found * 4], std::bit_cast<uint32_t>(kLowestScore));
    }

    // ---- groups of experts

    // -infinity for the scores of those that are not used.
    void keep_groups() {
        const uint32_t size = spec_.experts / spec_.groups;
        const Xmm first = xmm_of(wide(0)), second = xmm_of(wide(1)), next = xmm_of(value), spare = xmm_of(exponent);
        vbroadcastss(value, constant(kLowestScore));
        vxorps(exponent, exponent, exponent);
        for (uint32_t at = 0; at < groups_width_ * 4; at += 64) {
            vmovups(lanes_at(frame(groups_at + at)), value);
            vmovups(lanes_at(frame(is_used_at + at)), exponent);
        }
        lea(place, ptr[frame(scores_at)]);
        for_count(slot, spec_.groups, 4, [&] {
            vmovss(first, constant(kLowestScore));
            vmovaps(second, first);
            for_count(offset, size, 4, [&] {
                vmovss(next, ptr[place + offset]);
                vminss(spare, next, first);
                vmaxss(second, spare, second);
                vmaxss(first, next, first);
            });
            if (spec_.scoring == Scoring::sigmoid) vaddss(first, first, second);
            vmovss(ptr[frame(groups_at) + slot], first);
            add(place, size * 4);
        });
        for_count(slot, spec_.groups_used, 1, [&] {
            take_highest(groups_at, spec_.groups);
            mov(dword[frame(is_used_at) + found * 4], 1);
        });
        lea(place, ptr[frame(scores_at)]);
        for_count(slot, spec_.groups, 4, [&] {
            Label is_used;
            cmp(dword[frame(is_used_at) + slot], 0);
            jne(is_used);
            for_count(offset, size, 4, [&] { mov(dword[place + offset], std::bit_cast<uint32_t>(kLowestScore)); });
            L(is_used);
            add(place, size * 4);
        });
    }

    // ---- the chosen

    void choose() {
        const bool is_softmax = spec_.scoring == Scoring::softmax_of_chosen;
        vbroadcastss(value, constant(is_softmax ? kLowestScore : 0.0f));
        vmovups(lanes_at(frame(chosen_at + (used_width_ - kWideLanes) * 4)), value);
        for_count(slot, spec_.used, 4, [&] {
            take_highest(scores_at, spec_.experts);
            lea(place, ptr[slot + slot * 2]);
            mov(ptr[choices + place + offsetof(ExpertChoice, expert)], found.cvt32());
            if (spec_.scoring == Scoring::sparse_mixer) return weigh_among_near();
            mov(found.cvt32(), ptr[frame(weights_at) + found * 4]);
            mov(ptr[frame(chosen_at) + slot], found.cvt32());
        });
        static_assert(sizeof(ExpertChoice) == 12);
    }
    // Of the logit that was just taken, which is in partial[0]: 1 / (1 + sum of exp(l - it) over those near it).
    void weigh_among_near() {
        const Wide distance = partial[1];
        vxorps(total, total, total);
        for_each_group(offset, width_, 1, [&](int, uint32_t) {
            vmovups(value, lanes_at(frame(scores_at) + offset));
            vsubps(exponent, value, partial[0]);
            vandps(distance, value, splat_u32(0x7fff'ffff));
            vmaxps(distance, distance, partial[0]);
            vdivps(distance, exponent, distance);
            emit_exp(*this, value, exponent, exp_scratch, ExpDomain::not_positive);
            compare(matches, distance, splat(-kMixedDistance), Compare::not_less);
            keep(value, matches, value);
            vaddps(total, total, value);
        });
        const Xmm sum = xmm_of(exponent), share = xmm_of(value);
        fold_sum(sum, total, share);
        vaddss(sum, sum, constant(1.0f));
        vmovss(share, constant(1.0f));
        vdivss(share, share, sum);
        vmovss(ptr[frame(chosen_at) + slot], share);
    }
    void weigh() {
        const bool is_softmax = spec_.scoring == Scoring::softmax_of_chosen;
        const auto each = [&](const auto& change) {
            for_each_group(offset, used_width_, 1, [&](int, uint32_t) {
                vmovups(value, lanes_at(frame(chosen_at) + offset));
                change();
                vmovups(lanes_at(frame(chosen_at) + offset), value);
            });
        };
        if (is_softmax) {
            vbroadcastss(partial[0], dword[frame(chosen_at)]);
            each([&] {
                vsubps(exponent, value, partial[0]);
                emit_exp(*this, value, exponent, exp_scratch, ExpDomain::any);
            });
        }
        if (is_softmax || spec_.normed == Presence::present) {
            vxorps(total, total, total);
            each([&] { vaddps(total, total, value); });
            fold_sum(xmm_of(exponent), total, xmm_of(value));
            if (!is_softmax) vmaxss(xmm_of(exponent), xmm_of(exponent), constant(kLeastRouteSum));
            vbroadcastss(total, xmm_of(exponent));
            each([&] { vdivps(value, value, total); });
        }
        if (spec_.scale != 1) each([&] { vmulps(value, value, splat(spec_.scale)); });
    }
    void store() {
        for_count(slot, spec_.used, 4, [&] {
            lea(place, ptr[slot + slot * 2]);
            mov(found.cvt32(), ptr[frame(chosen_at) + slot]);
            mov(ptr[choices + place + offsetof(ExpertChoice, weight)], found.cvt32());
            if (spec_.scales == Presence::absent) return;
            const Xmm weight = xmm_of(value);
            mov(found.cvt32(), ptr[choices + place + offsetof(ExpertChoice, expert)]);
            mov(offset, ptr[args + offsetof(RouteArgs, scales)]);
            vmovss(weight, ptr[choices + place + offsetof(ExpertChoice, weight)]);
            vmulss(weight, weight, ptr[offset + found * 4]);
            vmovss(ptr[choices + place + offsetof(ExpertChoice, weight)], weight);
        });
    }
};

class GroupPairsKernel final : public X86Kernel<GroupPairsSpec> {
    using X86Kernel::X86Kernel;

    // Register map. The frame has a number for each expert: how many pairs it has, then the next one's row.
    const Reg64 args = rdi, choice = r8, last_choice = r9, groups = r10, tokens = r11, expert = rax;
    const Reg32 begin = esi, end = edx, count = ecx, first = esi, slot = ebx, pair = ecx;

    void generate() override {
        Label done;
        prologue({rbx, r12}, spec_.experts * 4);
        cmp(begin, end);
        jae(done);
        clear_counts();
        mov(r12, ptr[args + offsetof(GroupPairsArgs, choices)]);
        mov(rax, ptr[args + offsetof(GroupPairsArgs, batch)]);
        mov(last_choice.cvt32(), ptr[rax + offsetof(BatchState, rows)]);
        imul(last_choice, last_choice, spec_.used * uint32_t(sizeof(ExpertChoice)));
        add(last_choice, r12);
        for_each_choice([&] { inc(dword[rsp + expert * 4]); });
        make_groups();
        place_pairs();
        L(done);
        epilogue();
    }
    void clear_counts() {
        xor_(ecx, ecx);
        for_count(rax, spec_.experts, 1, [&] { mov(ptr[rsp + rax * 4], ecx); });
    }
    void for_each_choice(const std::function<void()>& body) {
        Label again;
        mov(choice, r12);
        L(again);
        mov(expert.cvt32(), ptr[choice + offsetof(ExpertChoice, expert)]);
        body();
        add(choice, uint32_t(sizeof(ExpertChoice)));
        cmp(choice, last_choice);
        jb(again);
    }
    void make_groups() {
        mov(groups, ptr[args + offsetof(GroupPairsArgs, groups)]);
        mov(choice, groups);
        add(groups, uint32_t(sizeof(ExpertGroups)));
        xor_(first, first);
        xor_(slot, slot);  // groups so far
        for_count(expert, spec_.experts, 1, [&] {
            Label is_empty;
            mov(count, ptr[rsp + expert * 4]);
            test(count, count);
            jz(is_empty);
            mov(ptr[rsp + expert * 4], first);
            mov(ptr[groups + offsetof(ExpertGroup, expert)], expert.cvt32());
            mov(ptr[groups + offsetof(ExpertGroup, first)], first);
            mov(ptr[groups + offsetof(ExpertGroup, count)], count);
            add(groups, uint32_t(sizeof(ExpertGroup)));
            add(first, count);
            inc(slot);
            L(is_empty);
        });
        mov(ptr[choice + offsetof(ExpertGroups, count)], slot);
    }
    void place_pairs() {
        mov(tokens, ptr[args + offsetof(GroupPairsArgs, tokens)]);
        xor_(slot, slot);
        xor_(edx, edx);  // the token
        for_each_choice([&] {
            Label same_token;
            mov(pair, ptr[rsp + expert * 4]);
            inc(dword[rsp + expert * 4]);
            mov(ptr[choice + offsetof(ExpertChoice, pair)], pair);
            mov(ptr[tokens + rcx * 4], edx);
            inc(slot);
            cmp(slot, spec_.used);
            jb(same_token);
            xor_(slot, slot);
            inc(edx);
            L(same_token);
        });
    }
};

class GatherPairsKernel final : public X86Kernel<GatherPairsSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. x and out point to the rows copied from and to; offset counts bytes into them.
    const Reg64 args = rdi, x = rcx, out = r8, tokens = r9, offset = rax;
    const Reg32 pair = esi, end = edx;

    void generate() override {
        const uint32_t row_bytes = activation_row_bytes(spec_.format, spec_.width);
        check(row_bytes % 64 == 0, "rows are whole lines");
        prologue({});
        mov(tokens, ptr[args + offsetof(GatherPairsArgs, tokens)]);
        for_units(pair, end, [&] {
            mov(out.cvt32(), pair);
            mov(x.cvt32(), ptr[tokens + out * sizeof(uint32_t)]);
            imul(x, x, int(row_bytes));
            imul(out, out, int(row_bytes));
            add(x, ptr[args + offsetof(GatherPairsArgs, x)]);
            add(out, ptr[args + offsetof(GatherPairsArgs, out)]);
            for_each_group(offset, row_bytes / 4, 4, [&](int group, uint32_t) {
                vmovups(wide(0), lanes_at(x + offset + 64 * group));
                vmovups(lanes_at(out + offset + 64 * group), wide(0));
            });
        });
        epilogue();
    }
};

class WeighPairsKernel final : public X86Kernel<WeighPairsSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. choice points to the token's, one after the other; row to a pair's.
    const Reg64 args = rdi, choice = r8, row = rcx, pair = r9, offset = rax, slot = r10;
    const Reg32 token = esi, end = edx;
    const Wide weight = wide(4);

    void generate() override {
        prologue({});
        for_units(token, end, [&] {
            mov(choice.cvt32(), token);
            imul(choice, choice, spec_.used * uint32_t(sizeof(ExpertChoice)));
            add(choice, ptr[args + offsetof(WeighPairsArgs, choices)]);
            for_count(slot, spec_.used, 1, [&] {
                vbroadcastss(weight, dword[choice + offsetof(ExpertChoice, weight)]);
                mov(pair.cvt32(), ptr[choice + offsetof(ExpertChoice, pair)]);
                imul(pair, pair, int(f32_row_bytes(spec_.width)));
                weigh(offsetof(WeighPairsArgs, first));
                weigh(offsetof(WeighPairsArgs, second));
                mov(dword[choice + offsetof(ExpertChoice, weight)], std::bit_cast<uint32_t>(1.0f));
                add(choice, int(sizeof(ExpertChoice)));
            });
        });
        epilogue();
    }
    void weigh(size_t rows) {  // which are padded to 16
        mov(row, ptr[args + int(rows)]);
        add(row, pair);
        for_each_group(offset, spec_.width, 4, [&](int group, uint32_t) {
            vmulps(wide(group), weight, lanes_at(row + offset + 64 * group));
            vmovups(lanes_at(row + offset + 64 * group), wide(group));
        });
    }
};

class CombineKernel final : public X86Kernel<CombineSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. The frame has the address of each chosen pair's row.
    const Reg64 args = rdi, choices = r8, shared = r9, out = r10, row = rcx, offset = rax, slot = r11;
    const Reg32 token = esi, end = edx;
    const Wide weight = wide(4), gate = wide(5), scratch = wide(6);
    static constexpr int kUnroll = 4;

    void generate() override {
        prologue({}, spec_.used * uint32_t(sizeof(void*)));
        for_units(token, end, [&] {
            locate();
            // A longer list of experts would make long code of four groups at once.
            for_each_group(offset, spec_.width, spec_.used > 16 ? 1 : kUnroll,
                           [&](int group, uint32_t count) { add_up(group, count); });
        });
        epilogue();
    }
    void locate() {
        const auto row_bytes = int(f32_row_bytes(spec_.width));
        mov(out.cvt32(), token);
        imul(choices, out, spec_.used * uint32_t(sizeof(ExpertChoice)));
        add(choices, ptr[args + offsetof(CombineArgs, choices)]);
        if (spec_.gate == Presence::present) load_gate();
        imul(out, out, row_bytes);
        if (spec_.shared == Presence::present) {
            mov(shared, ptr[args + offsetof(CombineArgs, shared)]);
            add(shared, out);
        }
        add(out, ptr[args + offsetof(CombineArgs, out)]);
        for_count(slot, spec_.used, 4, [&] {
            lea(row, ptr[slot + slot * 2]);
            mov(row.cvt32(), ptr[choices + row + offsetof(ExpertChoice, pair)]);
            imul(row, row, row_bytes);
            add(row, ptr[args + offsetof(CombineArgs, pairs)]);
            mov(ptr[rsp + slot * 2], row);
        });
    }
    void load_gate() {  // 1 / (1 + exp(-x))
        mov(row, out);
        shl(row, 6);
        add(row, ptr[args + offsetof(CombineArgs, gate)]);
        vbroadcastss(scratch, dword[row]);
        vxorps(scratch, scratch, splat_u32(0x8000'0000));
        vbroadcastss(weight, constant(1.0f));
        const ExpScratch<Wide, LaneMask> exp_scratch = {wide(0), wide(1), lane_mask(0, wide(0))};
        emit_gated_by_exp(*this, gate, weight, scratch, exp_scratch);
    }
    void add_up(int group, uint32_t count) {
        const Wide sum = wide(group);
        const int ahead = 64 * group;
        if (spec_.shared == Presence::present) {
            vmovups(sum, lanes_at(shared + offset + ahead));
            if (spec_.gate == Presence::present) vmulps(sum, sum, gate);
        } else {
            vxorps(sum, sum, sum);
        }
        for (uint32_t i = 0; i < spec_.used; ++i) {
            mov(row, ptr[rsp + int(i * sizeof(void*))]);
            vbroadcastss(weight, dword[choices + int(i * sizeof(ExpertChoice) + offsetof(ExpertChoice, weight))]);
            vfmadd231ps(sum, weight, lanes_at(row + offset + ahead));
        }
        static_cast<void>(count);  // rows are padded to 16
        vmovups(lanes_at(out + offset + ahead), sum);
    }
};

}  // namespace

MachineCode generate(OpOf<RouteSpec>, const RouteSpec& spec, Isa isa) { return RouteKernel(spec, isa).finish(); }
MachineCode generate(OpOf<GroupPairsSpec>, const GroupPairsSpec& spec, Isa isa) {
    return GroupPairsKernel(spec, isa).finish();
}
MachineCode generate(OpOf<GatherPairsSpec>, const GatherPairsSpec& spec, Isa isa) {
    return GatherPairsKernel(spec, isa).finish();
}
MachineCode generate(OpOf<WeighPairsSpec>, const WeighPairsSpec& spec, Isa isa) {
    return WeighPairsKernel(spec, isa).finish();
}
MachineCode generate(OpOf<CombineSpec>, const CombineSpec& spec, Isa isa) { return CombineKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
