// Matrix times few rows: weights are decoded in registers, once per row, in one sequential read of the panels.
//
// The bound is memory bandwidth, so there is one stream per thread (panels follow each other in memory) and an explicit
// prefetch for each of its lines. Instruction-level parallelism comes from the groups of 16 or 32 elements: each has
// an accumulator that starts afresh, so successive groups overlap in the reorder buffer.
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class VectorMatmul final : public MatmulEmitter {
public:
    VectorMatmul(const MatmulSpec& spec, Isa isa)
        : MatmulEmitter(spec, isa),
          decoder_(*find_decoder(spec.weight)),
          traits_(decoder_.traits()),
          layout_(panel_layout(spec.weight, spec.width)) {
        assign_decoder_registers();
    }

private:
    // Ahead of the body that is being decoded; the prefetch runs over the end of a panel into the next. With 4 KiB a Xeon
    // of 2024 reads 5 to 25 % more per second than with 1 KiB, and a Zen 3 up to 20 % more of what takes work to decode.
    static constexpr int kPrefetchBytes = 4096;

    const Decoder& decoder_;
    const DecoderTraits& traits_;
    const PanelLayout layout_;
    const I16Row row_{spec_.width, activation_format(spec_.weight, isa_)};

    // Register map. Pointers: base of the panel; header, body, codes, scales, sums of the current step.
    const Reg64 args = rdi, base = rax, header = rcx, body = r8, codes = r9, scales = r10, sums = r11;
    const Reg64 x_row = r12, out_row = r13, table = r15;
    const Reg32 panel = esi, end = edx, steps = ebx, tokens = r14d;
    // Vectors, one per half of the panel: the group's sum, the segment's sum, the step's sum. `total` is in memory.
    Xmm group_sum(int half) const { return vector(half); }
    Xmm segment_sum(int half) const { return vector(2 + half); }
    Xmm block_sum(int half) const { return vector(4 + half); }
    const Xmm scratch = vector(6), shared = vector(7);  // shared: the same for both halves
    static constexpr int kFirstDecoderRegister = 8;
    DecodeSite::Registers decoder_registers_{.table = table};

    void assign_decoder_registers() {
        const size_t constants = decoder_.constants(isa_).size(), temporaries = decoder_.temporaries(isa_);
        check(constants + temporaries <= max_decoder_registers(isa_), "a decoder keeps to its registers");
        int next = kFirstDecoderRegister;
        for (size_t i = 0; i < constants; ++i) decoder_registers_.constants.push_back(next++);
        for (size_t i = 0; i < temporaries; ++i) decoder_registers_.temporaries.push_back(next++);
    }
    DecodeSite site(int half) {
        return {*this, traits_, decoder_registers_, {.header = header, .body = body, .half = half}};
    }

    void generate() override {
        prologue({rbx, r12, r13, r14, r15}, /*stack_bytes=*/64);
        decoder_.prepare(site(0));
        mov(panel, panel);  // clears the upper half
        mov(base.cvt32(), panel);
        imul(base, base, static_cast<int>(layout_.panel_bytes));
        add(base, ptr[args + offsetof(MatmulArgs, weights)]);
        for_units(panel, end, [&] {
            for_each_token([&] { multiply_row(); });
            add(base, static_cast<uint32_t>(layout_.panel_bytes));
        });
        epilogue();
    }

    template <class Body>
    void for_each_token(const Body& emit_body) {
        Label again;
        mov(x_row, ptr[args + offsetof(MatmulArgs, batch)]);
        mov(tokens, ptr[x_row + offsetof(BatchState, rows)]);
        mov(x_row, ptr[args + offsetof(MatmulArgs, x)]);
        mov(out_row.cvt32(), panel);
        shl(out_row, 6);
        add(out_row, ptr[args + offsetof(MatmulArgs, out)]);
        L(again);
        emit_body();
        add(x_row, row_.bytes());
        add(out_row, spec_.out_stride * 4);
        dec(tokens);
        jnz(again);
    }

    void multiply_row() {
        point_at_first_step();
        set_zero(*this, scratch);
        for (int half = 0; half < halves(); ++half) store(*this, total(half), scratch);
        if (layout_.full_steps > 0) multiply_full_steps();
        if (layout_.tail_blocks > 0) multiply_step(layout_.tail_blocks);
        for (int half = 0; half < halves(); ++half) {
            load(*this, block_sum(half), total(half));
            store_row(out_row, block_sum(half), half, panel, args, codes, scratch);
        }
    }
    Address total(int half) { return ptr[rsp + half * 32]; }

    void point_at_first_step() {
        lea(header, ptr[base + static_cast<int>(layout_.header_offset)]);
        lea(body, ptr[base + static_cast<int>(layout_.body_offset)]);
        lea(codes, ptr[x_row + static_cast<int>(row_.codes_offset_bytes())]);
        lea(scales, ptr[x_row + static_cast<int>(row_.scales_offset_bytes())]);
        lea(sums, ptr[x_row + static_cast<int>(sums_offset_bytes())]);
    }
    uint32_t sums_offset_bytes() const {
        return traits_.group == 16 ? row_.sums16_offset_bytes() : row_.sums32_offset_bytes();
    }

    void multiply_full_steps() {
        Label again;
        mov(steps, layout_.full_steps);
        L(again);
        multiply_step(layout_.blocks_per_step);
        add(header, static_cast<uint32_t>(layout_.header_stride));
        add(body, static_cast<uint32_t>(layout_.body_stride));
        add(codes, kStepElements * 2);
        add(scales, 4);
        add(sums, kStepElements / traits_.group * 4);
        dec(steps);
        jnz(again);
    }
    void multiply_step(uint32_t blocks) {
        const uint32_t groups = blocks * riftjit::traits(spec_.weight).block_elements / traits_.group;
        const uint32_t groups_per_segment = traits_.segment / traits_.group;
        for (int half = 0; half < halves(); ++half) set_zero(*this, block_sum(half));
        for (uint32_t group = 0; group < groups; ++group) {
            prefetch_share(group, groups, blocks);
            sum_group(group);
            add_to_segment(group, group % groups_per_segment == 0);
            if ((group + 1) % groups_per_segment == 0) finish_segment(group / groups_per_segment);
            if (traits_.minimum == Minimum::real) add_real_minimum(group);
        }
        if (traits_.minimum == Minimum::integer) subtract_integer_minimum(groups);
        scale_step();
    }

    // The lines that this group takes its part of, spread evenly over the step.
    void prefetch_share(uint32_t group, uint32_t groups, uint32_t blocks) {
        const uint32_t lines = static_cast<uint32_t>(layout_.body_stride) / 64 * blocks / layout_.blocks_per_step;
        for (uint32_t line = group * lines / groups; line < (group + 1) * lines / groups; ++line)
            prefetcht0(ptr[body + static_cast<int>(line) * 64 + kPrefetchBytes]);
    }

    void sum_group(uint32_t group) {
        if (traits_.zero_point != 0) {  // the sum starts at -zero_point * sum(a)
            vpbroadcastd(shared, ptr[sums + group * 4]);
            vpmulld(shared, shared, splat_u32(static_cast<uint32_t>(-traits_.zero_point)));
        }
        for (int half = 0; half < halves(); ++half) {
            if (traits_.zero_point != 0)
                vmovaps(group_sum(half), shared);
            else
                set_zero(*this, group_sum(half));
            decoder_.unpack(site(half), group, [&](const Xmm& pair, uint32_t index) {
                dot_pair(group_sum(half), pair, codes + (group * traits_.group + 2 * index) * 2, scratch);
            });
        }
    }

    void add_to_segment(uint32_t group, bool is_first) {
        for (int half = 0; half < halves(); ++half) {
            if (traits_.sub_scale == SubScale::integer) {
                decoder_.sub_scale(site(half), group, scratch);
                vpmulld(group_sum(half), group_sum(half), scratch);
            }
            if (is_first)
                vmovaps(segment_sum(half), group_sum(half));
            else
                vpaddd(segment_sum(half), segment_sum(half), group_sum(half));
        }
    }

    void finish_segment(uint32_t segment) {
        for (int half = 0; half < halves(); ++half) {
            vcvtdq2ps(segment_sum(half), segment_sum(half));
            decoder_.scale(site(half), segment, scratch);
            vfmadd231ps(block_sum(half), segment_sum(half), scratch);
        }
    }

    void add_real_minimum(uint32_t group) {
        broadcast_as_float(shared, sums + group * 4);
        for (int half = 0; half < halves(); ++half) {
            decoder_.minimum(site(half), group, scratch);
            vfmadd231ps(block_sum(half), shared, scratch);
        }
    }

    void subtract_integer_minimum(uint32_t groups) {
        for (int half = 0; half < halves(); ++half) {
            const Xmm minima = group_sum(half);
            set_zero(*this, minima);
            for (uint32_t group = 0; group < groups; ++group) {
                decoder_.minimum(site(half), group, scratch);
                multiply_broadcast(scratch, scratch, sums + group * 4, shared);
                vpaddd(minima, minima, scratch);
            }
            vcvtdq2ps(minima, minima);
            decoder_.minimum_scale(site(half), scratch);
            vfnmadd231ps(block_sum(half), minima, scratch);
        }
    }

    void scale_step() {  // total += block_sum * activation scale
        vbroadcastss(shared, ptr[scales]);
        for (int half = 0; half < halves(); ++half) {
            vfmadd213ps(block_sum(half), shared, total(half));
            store(*this, total(half), block_sum(half));
        }
    }
};

}  // namespace

MachineCode generate_vector_matmul(const MatmulSpec& spec, Isa isa) { return VectorMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
