// Matrix products with f32, f16 and bf16 weights, vector and tile form: panels by tokens of float sums.
//
// A sum is one chain of fused multiply-adds in order of k (bf16 at avx512_bf16: of VDPBF16PS on pairs), whatever the
// form; different panels and tokens give the instruction-level parallelism.
#include <algorithm>

#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class FloatMatmul final : public MatmulEmitter {
public:
    using MatmulEmitter::MatmulEmitter;

private:
    // A line holds one k of 16 rows, or one pair of them (bf16).
    bool is_bf16() const { return spec_.weight == DType::BF16; }
    bool has_dot() const { return is_bf16() && has_bf16(isa_); }
    uint32_t line_elements() const { return is_bf16() ? 2 : 1; }
    uint32_t lines() const { return (spec_.width + line_elements() - 1) / line_elements(); }
    int line_bytes() const { return spec_.weight == DType::F16 ? 32 : 64; }
    int activation_bytes() const { return has_dot() || !is_bf16() ? 4 : 8; }  // per line
    uint32_t row_bytes() const {
        return activation_row_bytes(activation_format(spec_.weight, spec_.activations, isa_), spec_.width);
    }
    int panel_bytes() const { return static_cast<int>(packed_panel_bytes(spec_.weight, spec_.width)); }

    // Vector form: four chains at least. Tile form: as many sums as registers allow, with two loads of weights for
    // each.
    bool is_vector() const { return spec_.form == MatmulForm::vector; }
    int max_panels() const { return is_vector() || has_avx512(isa_) ? 2 : 1; }
    int max_tokens() const { return is_vector() ? 1 : has_avx512(isa_) ? 10 : 5; }
    static constexpr uint32_t kUnrolledLines = 8;
    static constexpr int kPrefetchBytes = 1024;

    // Register map. weights and activations move along k; the others stay for the tile.
    const Reg64 args = rdi, base = rax, weights = rcx, x_row = r8, activations = r9, out_row = r10, bias = r11;
    const Reg32 panel = esi, end = edx, tokens_left = ebx, lines_left = r12d;
    // Columns are panels, or halves of a panel.
    Xmm sum(int column, int token) const { return vector(column * max_tokens() + token); }
    Xmm weight(int column) const { return vector(max_panels() * halves() * max_tokens() + column); }
    Xmm activation() const { return vector(vector_registers() - 2); }
    Xmm high_mask() const { return vector(vector_registers() - 1); }

    void generate() override {
        prologue({rbx, r12});
        if (is_bf16() && !has_dot()) vpbroadcastd(high_mask(), constant_u32(0xffff0000));
        mov(panel, panel);  // clears the upper half
        mov(base.cvt32(), panel);
        imul(base, base, panel_bytes());
        add(base, ptr[args + offsetof(MatmulArgs, weights)]);
        for (int panels = max_panels(); panels > 0; --panels) for_each_group(panels);
        epilogue();
    }

    // All groups of `panels` panels that fit before `end`.
    void for_each_group(int panels) {
        Label again, done;
        L(again);
        lea(weights.cvt32(), ptr[rsi + panels]);
        cmp(weights.cvt32(), end);
        ja(done);
        point_at_first_token();
        for_each_tile(panels);
        add(base, panels * panel_bytes());
        add(panel, panels);
        jmp(again);
        L(done);
    }
    void point_at_first_token() {
        mov(x_row, ptr[args + offsetof(MatmulArgs, batch)]);
        mov(tokens_left, ptr[x_row + offsetof(BatchState, rows)]);
        mov(x_row, ptr[args + offsetof(MatmulArgs, x)]);
        mov(out_row.cvt32(), panel);
        shl(out_row, 6);
        add(out_row, ptr[args + offsetof(MatmulArgs, out)]);
    }

    void for_each_tile(int panels) {
        for_each_token_tile(
            tokens_left, max_tokens(), [&](int tokens) { multiply_tile(panels, tokens); },
            [&](int tokens) {
                add(x_row, static_cast<uint32_t>(tokens) * row_bytes());
                add(out_row, static_cast<uint32_t>(tokens) * spec_.out_stride * 4);
            });
    }

    void multiply_tile(int panels, int tokens) {
        const int columns = panels * halves();
        for (int c = 0; c < columns; ++c)
            for (int t = 0; t < tokens; ++t) set_zero(*this, sum(c, t));
        mov(weights, base);
        mov(activations, x_row);
        const uint32_t whole_lines = spec_.width / line_elements();
        multiply_lines(columns, tokens, whole_lines);
        // An odd last element of a bf16 pair has no partner in an f32 row; bf16 rows are padded with zeros.
        if (lines() > whole_lines && has_dot()) multiply_line(columns, tokens, 0);
        if (lines() > whole_lines && !has_dot()) multiply_element(columns, tokens, 0, 0);
        store_tile(panels, tokens);
    }

    void multiply_lines(int columns, int tokens, uint32_t count) {
        const uint32_t unrolled = std::min(count, kUnrolledLines);
        if (count / kUnrolledLines > 1) {
            Label again;
            mov(lines_left, count / kUnrolledLines);
            L(again);
            multiply_unrolled(columns, tokens, kUnrolledLines);
            dec(lines_left);
            jnz(again);
        } else if (unrolled == kUnrolledLines) {
            multiply_unrolled(columns, tokens, kUnrolledLines);
        }
        if (count % kUnrolledLines != 0) multiply_unrolled(columns, tokens, count % kUnrolledLines);
    }
    void multiply_unrolled(int columns, int tokens, uint32_t count) {
        for (uint32_t line = 0; line < count; ++line) {
            const int offset = static_cast<int>(line) * line_bytes();
            if (is_vector() && offset % 64 == 0)
                for (int c = 0; c < columns; c += halves())
                    prefetcht1(ptr[weights + column_offset(c) + offset + kPrefetchBytes]);
            multiply_line(columns, tokens, static_cast<int>(line));
        }
        add(weights, static_cast<int>(count) * line_bytes());
        add(activations, static_cast<int>(count) * activation_bytes());
    }

    int column_offset(int column) const {
        return column / halves() * panel_bytes() + column % halves() * line_bytes() / 2;
    }
    Address weight_line(int column, int line) { return ptr[weights + line * line_bytes() + column_offset(column)]; }
    Address activation_at(int token, int line, int element) {
        return ptr[activations + token * static_cast<int>(row_bytes()) + line * activation_bytes() + element * 4];
    }

    void multiply_line(int columns, int tokens, int line) {
        if (has_dot()) return multiply_bf16_pairs(columns, tokens, line);
        for (int element = 0; element < static_cast<int>(line_elements()); ++element)
            multiply_element(columns, tokens, line, element);
    }
    void multiply_bf16_pairs(int columns, int tokens, int line) {
        for (int c = 0; c < columns; ++c) load(*this, weight(c), weight_line(c, line));
        for (int t = 0; t < tokens; ++t) {
            vpbroadcastd(activation(), activation_at(t, line, 0));
            for (int c = 0; c < columns; ++c) vdpbf16ps(sum(c, t), weight(c), activation());
        }
    }
    void multiply_element(int columns, int tokens, int line, int element) {
        for (int c = 0; c < columns; ++c) load_weight(weight(c), weight_line(c, line), element);
        for (int t = 0; t < tokens; ++t) {
            vbroadcastss(activation(), activation_at(t, line, element));
            for (int c = 0; c < columns; ++c) vfmadd231ps(sum(c, t), weight(c), activation());
        }
    }
    void load_weight(const Xmm& out, const Address& from, int element) {
        if (spec_.weight == DType::F16) return vcvtph2ps(out, from);
        if (is_bf16() && element == 1) return bit_and(*this, out, high_mask(), from);
        load(*this, out, from);
        if (is_bf16()) vpslld(out, out, 16);
    }

    // Token by token, panel by panel; leaves `panel` as it was.
    void store_tile(int panels, int tokens) {
        for (int p = 0; p < panels; ++p) {
            for (int t = 0; t < tokens; ++t)
                for (int half = 0; half < halves(); ++half)
                    store_row(out_row + (t * static_cast<int>(spec_.out_stride) * 4 + p * 64),
                              sum(p * halves() + half, t), half, panel, args, bias, activation());
            if (p + 1 < panels) inc(panel);
        }
        if (panels > 1) sub(panel, panels - 1);
    }
};

}  // namespace

MachineCode generate_float_matmul(const MatmulSpec& spec, Isa isa) { return FloatMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
